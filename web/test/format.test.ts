import { expect, test } from "vitest";
import { clockTick } from "../src/charts/curves";
import {
  ago,
  asTitle,
  bytes,
  count,
  duration,
  elo,
  gameText,
  gameTitle,
  percent,
  playerText,
  plural,
  short,
  signed,
  tickLabels,
  winnerText,
} from "../src/parts/format";

test("large numbers keep three digits", () => {
  expect([0, 0.004, 0.25, 12.34, 999.4, 1234, 45_678, 1_234_567].map((value) => short(value))).toEqual([
    "0",
    "0.0040",
    "0.25",
    "12.3",
    "999",
    "1,234",
    "45.7 k",
    "1.23 M",
  ]);
});

test("labels of an axis are exact and have the digits that one of them needs", () => {
  expect(tickLabels([0, 50, 100, 1000], short)).toEqual(["0", "50", "100", "1,000"]);
  expect(tickLabels([12_500, 15_000], short)).toEqual(["12.5 k", "15.0 k"]);
  expect(tickLabels([12_340_000, 12_345_000], short)).toEqual(["12.340 M", "12.345 M"]);
  expect(tickLabels([-1.755, -1.7525, -1.75], short)).toEqual(["−1.7550", "−1.7525", "−1.7500"]);
  expect(tickLabels([0, 0.1 + 0.2], short)).toEqual(["0", "0.3"]);
  expect(tickLabels([0.995, 1], percent)).toEqual(["99.5 %", "100.0 %"]);
  expect(tickLabels([-0.5, 0, 1000], elo)).toEqual(["−0.5", "0", "+1,000"]);
  expect(tickLabels([50, 60, 90], clockTick)).toEqual(["50 s", "1 min", "1:30"]);
});

test("negative numbers have a true minus sign", () => {
  expect([elo(-12.4), elo(30), elo(0), elo(-0.2), percent(-0.5), count(-1200)]).toEqual([
    "−12",
    "+30",
    "0",
    "0",
    "−50 %",
    "−1,200",
  ]);
  expect([signed(-0.3), signed(0.3), signed(-0.001), signed(0)]).toEqual(["−0.30", "+0.30", "0.00", "0.00"]);
});

test("lengths of time round down to what matters", () => {
  expect([9, 75, 7500, 7200, 400_000].map(duration)).toEqual(["9 s", "1 min", "2 h 5 min", "2 h", "4 days"]);
  expect([ago(2), ago(61)]).toEqual(["just now", "1 min ago"]);
});

test("sizes, counts of things and players read as people say them", () => {
  expect([bytes(12), bytes(3_400_000), bytes(999_600)]).toEqual(["12 B", "3.4 MB", "1.0 MB"]);
  expect([plural(1, "game"), plural(2000, "ply", "plies")]).toEqual(["1 game", "2,000 plies"]);
  expect(["run:c4@1894", "run:c4", "heuristic"].map(playerText)).toEqual(["c4, step 1,894", "c4", "heuristic"]);
});

test("a name of the code is shown as a title", () => {
  expect(["card_destination", "policy"].map(asTitle)).toEqual(["Card destination", "Policy"]);
});

test("a game is named with its options, a custom one by its file", () => {
  expect(gameText("gomoku", { size: "9", rule: "freestyle" })).toBe("Gomoku, size 9, rule freestyle");
  expect(gameTitle("games/sticks.py:Sticks")).toBe("sticks");
});

test("a game's winner is named from the first player's outcome", () => {
  expect([winnerText("win", 1), winnerText("loss", -1), winnerText("draw", 0)]).toEqual([
    "First player",
    "Second player",
    "Draw",
  ]);
  expect([winnerText("lose gammon", -2), winnerText("win single", 1)]).toEqual([
    "Second player, gammon",
    "First player, single",
  ]);
  expect(winnerText("truncated", null)).toBe("Truncated");
});
