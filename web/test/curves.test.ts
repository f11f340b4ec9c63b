import { describe, expect, test } from "vitest";
import type { components } from "../src/api";
import { clock, curve, eloLine, formatAlong, ratedSteps, scoreLines, speed, waitingShare } from "../src/charts/curves";
import { joined, valueAt } from "../src/charts/lines";
import { appended } from "../src/run/data";

type Metrics = components["schemas"]["Metrics"];
type RatingPoint = components["schemas"]["RatingPoint"];

const look = { name: "c4", colorIndex: 0 };

function metrics(columns: Metrics["columns"]): Metrics {
  return { kind: "status", columns, num_records: columns["step"]?.length ?? 0 };
}

function rating(step: number, opponent: string, elo: number | null): RatingPoint {
  const interval = { elo_low: elo === null ? null : elo - 50, elo_high: elo === null ? null : elo + 50 };
  const score = { score: 0.5, score_low: 0.4, score_high: 0.6 };
  return {
    step,
    version: step,
    opponent,
    ...score,
    elo,
    ...interval,
    num_games: 60,
    trained_s: step / 10,
    run_games: 9 * step,
  };
}

describe("curves", () => {
  test("a counter's speed is its growth over training time, between neighbouring records", () => {
    const table = metrics({ step: [0, 1, 2], trained_s: [0, 10, 30], games: [0, 50, 70] });
    expect(speed(table, "games", "time", look)).toEqual({ ...look, x: [10, 30], y: [5, 1] });
  });

  test("a counter that began again, or that a record lacks, has no speed there", () => {
    const table = metrics({ step: [0, 1, 2, 3], trained_s: [0, 10, 20, 30], games: [40, 50, 10, null] });
    expect(speed(table, "games", "time", look).y).toEqual([1, null, null]);
  });

  test("the waiting share is waiting time over waiting and working time", () => {
    const table = metrics({ step: [0, 1], trained_s: [0, 10], waited: [0, 2], searched: [0, 5], inferred: [0, 1] });
    expect(waitingShare(table, "waited", ["searched", "inferred"], "step", look)).toEqual({
      ...look,
      x: [1],
      y: [0.25],
    });
  });

  test("of several records at one step the last counts, and x ascends", () => {
    const table = metrics({ step: [5, 5, 3], trained_s: [1, 2, 3], loss: [9, 8, 7] });
    expect(curve(table, "loss", "step", look)).toEqual({ ...look, x: [3, 5], y: [7, 8] });
  });

  test("the Elo line has one point per rated step, with its interval", () => {
    const ratings = [rating(10, "random", 100), rating(20, "random", 180), rating(20, "start", 180)];
    const line = eloLine([...ratings, rating(30, "x", null)], "games", look);
    expect(line.x).toEqual([90, 180]);
    expect(line.y).toEqual([100, 180]);
    expect(line.low).toEqual([50, 130]);
  });

  test("the newest step has no Elo until it has met as many opponents as the one before", () => {
    const full = [rating(10, "random", 100), rating(10, "start", 100)];
    const steps = (ratings: RatingPoint[]) => ratedSteps(ratings).map((point) => point.step);
    expect(steps([...full, rating(20, "random", 40)])).toEqual([10]);
    expect(steps([...full, rating(20, "random", 140), rating(20, "start", 140)])).toEqual([10, 20]);
  });

  test("an opponent has a line of scores once it was met twice", () => {
    const ratings = [rating(10, "random", 100), rating(10, "heuristic", 100), rating(20, "random", 180)];
    expect(scoreLines(ratings, "step").map((line) => [line.name, line.x])).toEqual([["random", [10, 20]]]);
  });

  test("times read as people say them", () => {
    const texts = ["40 s", "1 min", "1:05 min", "59:59 min", "1 h", "1:30 h", "28 h"];
    expect([40, 59.7, 65, 3599, 3600, 5400, 100_800].map(clock)).toEqual(texts);
    expect(formatAlong("games")(12_000)).toBe("12.0 k games");
  });
});

describe("lines", () => {
  const first = { name: "a", colorIndex: 0, x: [1, 3], y: [10, 30] };
  const second = { name: "b", colorIndex: 1, x: [2, 3], y: [null, 31] };

  test("lines with x values of their own share one axis", () => {
    expect(joined([first, second])).toEqual([
      [1, 2, 3],
      [10, undefined, 30],
      [undefined, null, 31],
    ]);
  });

  test("the value at a cursor is the newest one at or before it", () => {
    expect([valueAt(first, 2), valueAt(first), valueAt(second, 2)]).toEqual([10, 30, null]);
  });
});

test("newer records replace those of the same step and follow the older ones", () => {
  const before = metrics({ step: [0, 5, 5], loss: [3, 2, 2] });
  const after = metrics({ step: [5, 5, 5, 9], loss: [2, 2, 2, 1], gpu_busy: [null, null, null, 0.5] });
  expect(appended(before, after, 4).columns).toEqual({
    step: [0, 5, 5, 5, 9],
    loss: [3, 2, 2, 2, 1],
    gpu_busy: [null, null, null, null, 0.5],
  });
});
