// What a lent tab needs beside a browser: ids of episodes, pauses between tries, duty cycles, messages.
import { describe, expect, it } from "vitest";
import { firstMessage } from "../src/lend/outbox";
import { pauseMs } from "../src/lend/connection";
import { episodeId } from "../src/lend/episode";
import { decodeMessage, encodeMessage, idText, whole } from "../src/lend/messages";
import { Pace } from "../src/lend/pace";
import type { WaitingGame } from "../src/lend/store";
import { Unreachable, WeightsOfRun } from "../src/lend/weights";
import type { WeightsUpdate } from "../src/lend/messages";

const bytesOf = (hex: string): Uint8Array => Uint8Array.from(hex.match(/../g)!, (pair) => parseInt(pair, 16));

describe("the id of an episode", () => {
  it("is read behind the game's name and options", () => {
    const connect4 = "5a46450108636f6e6e656374340003000000000000402b0000000000000000";
    expect(episodeId(bytesOf(connect4))).toEqual([2n ** 62n + 3n, 43n]);
    const gomoku =
      "5a46450106676f6d6f6b75030473697a65023135046c696e6501350472756c6509667265657374796c65" +
      "03000000000000400500000000000000";
    expect(episodeId(bytesOf(gomoku))).toEqual([2n ** 62n + 3n, 5n]);
  });

  it("is refused where the bytes are no episode", () => {
    expect(() => episodeId(bytesOf("5a464502"))).toThrow(/no episode/);
    expect(() => episodeId(bytesOf("5a46450108"))).toThrow();
  });
});

describe("the pause before the next try", () => {
  it("doubles up to a minute and is drawn between its half and all of it", () => {
    for (const [tries, most] of [
      [0, 1000],
      [3, 8000],
      [20, 60000],
    ] as const) {
      expect(pauseMs(tries, () => 0)).toBe(most / 2);
      expect(pauseMs(tries, () => 1)).toBe(most);
    }
  });
});

describe("a duty cycle", () => {
  it("rests as long as the share demands", () => {
    const pace = new Pace();
    pace.owe(100, 25);
    expect(pace.due()).toBeCloseTo(300);
    expect(pace.due()).toBe(0);
    pace.owe(1000, 100);
    expect(pace.due()).toBe(0);
  });
});

describe("messages", () => {
  it("keep whole numbers of 64 bits", () => {
    const bytes = encodeMessage({ type: "HEARTBEAT", playing: 2n ** 53n - 1n });
    const back = decodeMessage(bytes.slice().buffer) as unknown as { playing: bigint };
    expect(back.playing).toBe(2n ** 53n - 1n);
    expect(idText(3, 2n ** 60n)).toBe(idText(3n, 2n ** 60n));
    expect(whole(2 ** 32 + 0.4)).toBe(2n ** 32n);
  });

  it("are refused without a type", () => {
    expect(() => decodeMessage(Uint8Array.of(0x93, 1, 2, 3).buffer)).toThrow(/no type/);
  });
});

describe("what one message carries", () => {
  const game = (assignment: number, size: number): WaitingGame => ({
    id: `${assignment}:${size}`,
    assignment,
    bytes: new Uint8Array(size),
    simulations: 0,
    inferences: 0,
    wallSeconds: 0,
    inferenceSeconds: 0,
  });

  it("is of one assignment and within its bound, but at least one game", () => {
    expect(firstMessage([])).toEqual([]);
    expect(firstMessage([game(1, 10), game(1, 20), game(2, 5)])).toHaveLength(2);
    expect(firstMessage([game(1, 2 << 20), game(1, 1)])).toHaveLength(1);
  });
});

describe("the weights that a gateway names", () => {
  const check = {
    num_rows: 0,
    observations: new Uint8Array(),
    policy_logits: new Uint8Array(),
    outcomes: new Uint8Array(),
  };
  const named = (version: number): WeightsUpdate => ({
    type: "WEIGHTS_UPDATE",
    version,
    url: "/none",
    sha256: "",
    size_bytes: 0,
    check,
  });

  it("are forgotten when many newer ones were named, unless they are needed", async () => {
    const weights = new WeightsOfRun("http://127.0.0.1:1", "t", () => undefined);
    for (let version = 0; version < 200; ++version) weights.name(named(version));
    await expect(weights.of(199, [3, 199])).rejects.toThrow(Unreachable);
    await expect(weights.of(3, [3])).rejects.toThrow(Unreachable);
    await expect(weights.of(150, [150])).rejects.toThrow(Unreachable);
    await expect(weights.of(4, [4])).rejects.toThrow("not where they are");
  });
});
