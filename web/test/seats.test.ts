import { describe, expect, test } from "vitest";
import { chancesFor } from "../src/play/chances";
import { lastTurnOf, moveRows, namesOf, nearOf, positionLink, type Play, type Turn } from "../src/play/seats";

function turn(player: Turn["player"], text: string, ply: number, numActions = 1): Turn {
  const actions = Array.from({ length: numActions }, () => 0);
  return { player, text, actions, texts: text.split(" "), steps: [], ply };
}

function play(change: Partial<Play>): Play {
  const seat = { num_simulations: null, seconds: null, difficulty: null };
  return {
    id: "a",
    game: "connect4",
    options: {},
    seats: [
      { ...seat, player: "human", title: "You" },
      { ...seat, player: "random", title: "random" },
    ],
    seats_asked: [{ player: "human" }, { player: "random" }],
    view: "0",
    ply: 0,
    to_move: 0,
    is_human_to_move: true,
    seen: { kind: "grid", board: ["."], to_move: 0, roller: null },
    start: { kind: "grid", board: ["."], to_move: 0, roller: null },
    legal: [],
    legal_turns: null,
    turns: [],
    can_take_back: false,
    is_over: false,
    is_truncated: false,
    rewards: null,
    outcome_text: "",
    position_text: null,
    is_busy: false,
    ...change,
  };
}

describe("players", () => {
  test("a person who plays alone is You; two of one name are told apart", () => {
    const { seats } = play({});
    expect(namesOf(play({}))).toEqual(["You", "random"]);
    expect(namesOf(play({ seats: [seats[0]!, seats[0]!] }))).toEqual(["First", "Second"]);
    expect(namesOf(play({ seats: [seats[1]!, seats[1]!] }))).toEqual(["random (first)", "random (second)"]);
  });

  test("the person sits at the near side", () => {
    expect(nearOf(play({ view: "1" }))).toBe(1);
    expect(nearOf(play({ view: "all" }))).toBe(0);
  });
});

describe("turns", () => {
  test("a roll stands before its turn, and one without a move is a row of its own", () => {
    const rows = moveRows([
      turn("chance", "42", 0),
      turn(1, "8/4 6/4", 1, 2),
      turn("chance", "66", 3),
      turn("chance", "31", 4),
      turn(1, "8/5 6/5", 5, 2),
    ]);
    expect(rows).toEqual([
      { player: 1, roll: "42", text: "8/4 6/4", ply: 3 },
      { player: 0, roll: "66", text: "no move", ply: 4 },
      { player: 1, roll: "31", text: "8/5 6/5", ply: 7 },
    ]);
  });

  test("a card is named with what it copied and whom it removed", () => {
    const step = { step: "entry", queue: [], bar: [], animal: "chameleon1", acts_as: "parrot" } as const;
    const [row] = moveRows([
      { ...turn(1, "chameleon 1 0", 0), steps: [{ ...step, queue: [], bar: [], thats_it: ["lion0"] }] },
    ]);
    expect(row?.text).toBe("chameleon as parrot, out: lion");
  });

  test("what was shown before a turn is known only if nothing lay between", () => {
    const first = play({});
    const next = play({ turns: [turn(0, "4", 0)] });
    const later = play({ turns: [turn(0, "4", 0), turn(1, "4", 1)] });
    expect(lastTurnOf(next, first)?.before).toBe(first.seen);
    expect(lastTurnOf(later, first)?.before).toBeNull();
    expect(lastTurnOf(first, null)).toBeNull();
  });
});

test("chances are summed for the near player, whoever is to move", () => {
  const outcomes = [
    { name: "win gammon", reward: 2 },
    { name: "win single", reward: 1 },
    { name: "lose single", reward: -1 },
  ];
  const found = { "win gammon": 0.1, "win single": 0.5, "lose single": 0.4 };
  expect(chancesFor(0, 0, found, outcomes)).toEqual({ win: 0.6, draw: 0, loss: 0.4 });
  expect(chancesFor(0, 1, found, outcomes)).toEqual({ win: 0.4, draw: 0, loss: 0.6 });
});

test("a position's link holds the game, its options and the position", () => {
  expect(positionLink("gomoku", { size: "9" }, "e5 d4")).toBe("/play?game=gomoku&position=e5+d4&option=size%3D9");
});
