import { describe, expect, test } from "vitest";
import { framesOf, meaning, moveOf, movesByAnimal, scoreOf, sorted } from "../src/boards/beastybar_model";
import type { BeastyBarSeen, Step } from "../src/boards/board";

const NAMES = ["You", "zerofleet"] as const;

function table(queue: string[], bar: string[] = [], out: string[] = []): BeastyBarSeen {
  return { kind: "beastybar", queue, bar, thats_it: out, hands: [[], 4], piles: [0, 0], points: [0, 0] };
}

function step(kind: Step["step"], animal: string | null, queue: string[], rest: Partial<Step> = {}): Step {
  return { step: kind, animal, acts_as: null, queue, bar: [], thats_it: [], ...rest };
}

describe("a turn as frames", () => {
  test("a card joins the back, acts, and the crocodile eats again", () => {
    const frames = framesOf(
      table(["crocodile1", "snake0", "chameleon1", "zebra0"]),
      [
        step("entry", "seal1", ["seal1", "zebra0", "chameleon1", "snake0", "crocodile1"]),
        step("recurring", "crocodile1", ["seal1", "zebra0", "crocodile1"], { thats_it: ["snake0", "chameleon1"] }),
      ],
      NAMES,
    );
    expect(frames.map(({ text }) => text)).toEqual([
      "zerofleet sends the seal to the back of the queue.",
      "zerofleet’s seal reverses the queue.",
      "zerofleet’s crocodile acts again and eats your snake and zerofleet’s chameleon.",
    ]);
    expect(frames[0]?.queue).toEqual(["crocodile1", "snake0", "chameleon1", "zebra0", "seal1"]);
    expect(frames[2]?.thatsIt).toEqual(["snake0", "chameleon1"]);
  });

  test("a step that changes nothing has no frame", () => {
    const frames = framesOf(
      table(["crocodile1"]),
      [step("entry", "snake0", ["crocodile1", "snake0"]), step("recurring", "crocodile1", ["crocodile1", "snake0"])],
      NAMES,
    );
    expect(frames.map(({ text }) => text)).toEqual(["You send the snake to the back of the queue."]);
  });

  test("the bar opens: two enter with their points, the last is bounced", () => {
    const queue = ["lion0", "seal1", "zebra0", "crocodile1"];
    const [, opened] = framesOf(
      table(queue),
      [
        step("entry", "zebra1", [...queue, "zebra1"]),
        step("bar", null, ["zebra0", "crocodile1"], { bar: ["lion0", "seal1"], thats_it: ["zebra1"] }),
      ],
      NAMES,
    );
    expect(opened?.text).toBe(
      "Five in the queue: your lion and zerofleet’s seal enter the bar (You +2, zerofleet +2). " +
        "zerofleet’s zebra is bounced.",
    );
    expect(opened?.bar).toEqual(["lion0", "seal1"]);
  });

  test("a chameleon says what it copies", () => {
    const frames = framesOf(
      table(["lion1", "crocodile0"]),
      [step("entry", "chameleon0", ["lion1", "crocodile0"], { acts_as: "lion", thats_it: ["chameleon0"] })],
      NAMES,
    );
    expect(frames[1]?.text).toBe("Your chameleon, as a lion, is bounced: a lion is in the queue already.");
  });
});

test("a chameleon that changes nothing still says what it copied", () => {
  const frames = framesOf(
    table(["giraffe0"]),
    [step("entry", "chameleon1", ["giraffe0", "chameleon1"], { acts_as: "giraffe" })],
    NAMES,
  );
  expect(frames[1]?.text).toBe("zerofleet’s chameleon copies a giraffe, which changes nothing.");
});

describe("moves", () => {
  const queue = ["lion0", "parrot1", "seal0"];

  test("the numbers of a move are explained by the queue", () => {
    const said = (text: string) => meaning(moveOf({ action: 0, text }), queue, NAMES);
    expect(said("lion")).toBe("");
    expect(said("parrot 1")).toBe("drives off zerofleet’s parrot");
    expect(said("kangaroo 2")).toBe("hops over your seal and zerofleet’s parrot");
    expect(said("chameleon 0")).toBe("copies your lion");
    expect(said("chameleon 1 0")).toBe("copies zerofleet’s parrot: drives off your lion");
  });

  test("moves are grouped by the animal that is played", () => {
    const moves = movesByAnimal([
      { action: 3, text: "monkey" },
      { action: 14, text: "parrot 0" },
      { action: 15, text: "parrot 1" },
    ]);
    expect([...moves.keys()]).toEqual(["monkey", "parrot"]);
    expect(moves.get("parrot")).toHaveLength(2);
  });

  test("a hand is shown strongest first, and scores count what is in the bar", () => {
    expect(sorted(["skunk0", "lion0", "seal0"])).toEqual(["lion0", "seal0", "skunk0"]);
    expect(scoreOf(["lion0", "zebra0", "seal1"], 0, "points")).toBe("6 points");
    expect(scoreOf(["lion0", "zebra0", "seal1"], 1, "animals")).toBe("1 animal");
  });
});
