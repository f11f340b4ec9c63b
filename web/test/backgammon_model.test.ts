import { describe, expect, test } from "vitest";
import {
  BAR,
  OFF,
  TurnBuilder,
  afterMove,
  checkersAt,
  moveOf,
  pipCount,
  type Draft,
} from "../src/boards/backgammon_model";
import type { BackgammonSeen, LegalTurn } from "../src/boards/board";

const START = [-2, 0, 0, 0, 0, 5, 0, 3, 0, 0, 0, -5, 5, 0, 0, 0, -3, 0, -5, 0, 0, 0, 0, 2];

function seen(points: readonly number[], dice: readonly number[], bar = [0, 0], off = [0, 0]): BackgammonSeen {
  return { kind: "backgammon", points, bar, off, dice };
}

function turns(...texts: string[]): LegalTurn[] {
  return texts.map((text, index) => ({ actions: [index], text }));
}

/** Makes these moves, each of which must be offered. */
function made(builder: TurnBuilder, ...texts: string[]): Draft {
  return texts.reduce((draft, text) => {
    const { from, to } = moveOf(text);
    const move = builder.next(draft).find((each) => each.from === from && each.to === to);
    if (move === undefined) throw new Error(`${text} is not offered`);
    return builder.after(draft, move);
  }, builder.begin());
}

describe("checkers", () => {
  test("both players have 167 pips at the start", () => {
    expect(pipCount(seen(START, []), 0)).toBe(167);
    expect(pipCount(seen(START, []), 1)).toBe(167);
  });

  test("a single checker that is landed on goes to the bar", () => {
    const points = START.map(() => 0);
    points[5] = 1;
    points[2] = -1;
    const after = afterMove(seen(points, []), 0, { from: 6, to: 3 });
    expect(checkersAt(after, 0, 3)).toBe(1);
    expect(after.bar).toEqual([0, 1]);
  });

  test("player 1 counts points from the other side", () => {
    expect(checkersAt(seen(START, []), 1, 24)).toBe(2);
    const after = afterMove(seen(START, []), 1, moveOf("24/22"));
    expect(after.points[2]).toBe(-1);
  });

  test("places are read from the usual notation", () => {
    expect(moveOf("bar/22")).toEqual({ from: BAR, to: 22 });
    expect(moveOf("6/off")).toEqual({ from: 6, to: OFF });
  });
});

describe("a turn made by hand", () => {
  test("checkers may be moved in another order than the core's", () => {
    const builder = new TurnBuilder(seen(START, [4, 2]), 0, turns("24/22 6/2", "8/4 6/4"));
    const draft = made(builder, "6/2", "24/22");
    expect(builder.finished(draft)?.text).toBe("24/22 6/2");
    expect(builder.next(draft)).toEqual([]);
  });

  test("one checker may go the same way with the smaller die first", () => {
    const builder = new TurnBuilder(seen(START, [4, 2]), 0, turns("24/20 20/18"));
    expect(builder.finished(made(builder, "24/22", "22/18"))?.actions).toEqual([0]);
  });

  test("what cannot end in a legal turn is not offered", () => {
    const builder = new TurnBuilder(seen(START, [4, 2]), 0, turns("8/4 6/4"));
    const offered = builder.next(builder.begin()).map(({ from, to }) => `${from}/${to}`);
    expect(offered.sort()).toEqual(["6/4", "8/4"]);
  });

  test("a checker on the bar enters before others move", () => {
    const points = [...START];
    points[5] = 4;
    const builder = new TurnBuilder(seen(points, [4, 2], [1, 0]), 0, turns("bar/21 6/4", "bar/23 8/4"));
    expect(builder.next(builder.begin()).every(({ from }) => from === BAR)).toBe(true);
  });

  test("a larger die bears off the highest checker", () => {
    const points = START.map(() => 0);
    points[2] = 2;
    const builder = new TurnBuilder(seen(points, [6, 5]), 0, turns("3/off 3/off"));
    const draft = made(builder, "3/off", "3/off");
    expect(builder.finished(draft)).not.toBeNull();
    expect(draft.checkers.off).toEqual([2, 0]);
  });
});
