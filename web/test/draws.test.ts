// Draws of a match: the same as zerofleet.arena.draws gives.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { choiceSeed, dealSeed, drawnAmong, drawnOutcome } from "../src/lend/draws";

const golden = JSON.parse(readFileSync(new URL("../../tests/golden/draws.json", import.meta.url), "utf8")) as Record<
  "seed" | "deal",
  string
> &
  Record<"pair" | "ply", number> &
  Record<"outcomes" | "among", number[]> & { choices: string[] };

describe("draws of a match", () => {
  const seed = BigInt(golden.seed);
  const { pair, ply } = golden;

  it("are those that Python gives", () => {
    expect(String(dealSeed(seed, pair))).toBe(golden.deal);
    expect([0, 1].map((seat) => String(choiceSeed(seed, pair, seat, ply)))).toEqual(golden.choices);
    const outcomes = Array.from({ length: 21 }, (_, id) => ({ id, probability: 1 / 21 }));
    const tenTimes = [...Array(10).keys()];
    expect(tenTimes.map((before) => drawnOutcome(outcomes, seed, pair, before))).toEqual(golden.outcomes);
    const options = [0, 1, 2, 3, 4, 5, 6];
    expect(tenTimes.map((more) => drawnAmong(options, seed + BigInt(more)))).toEqual(golden.among);
  });
});
