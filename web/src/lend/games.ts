// Plays the games of an assignment, or a part of them, to their end. The same assignment with the same weights gives
// the same games, in any tab.
import type { Core, Game, SelfPlay, Settings } from "../core/core.js";
import type { Answers, Network } from "./inference";

/** Games first…first + count − 1 of an assignment. */
export interface Portion {
  assignment: number | bigint;
  game: string;
  options: Record<string, number | string>;
  settings: Record<string, unknown>;
  version: number | bigint;
  worker: number | bigint;
  seed: number | bigint;
  firstSequence: number | bigint;
  count: number;
  /** Games that are searched at once; their leaves are one batch. */
  batch: number;
}

/** What was done since the last time that it was asked. */
export interface Work {
  simulations: number;
  inferences: number;
  inferenceSeconds: number;
}

/** Of the core's memory; the games stay the same, whatever it is. */
const CACHE_BYTES = 32 << 20;
/** The core's own evaluator answers a batch in microseconds, less than a step costs. */
const OWN_BATCHES = 32;

export class PortionOfGames {
  private readonly game: Game;
  private readonly selfPlay: SelfPlay;
  private readonly numGroups: number;
  private readonly asked: { group: number; answers: Promise<Answers> }[] = [];
  private counted = 0;
  private inferences = 0;
  inferenceSeconds = 0;
  private reportedSeconds = 0;

  /** Without a network the core's `hash` evaluator plays, whose games equal native ones bit by bit. */
  constructor(
    core: Core,
    readonly portion: Portion,
    private readonly network: Network | null,
  ) {
    this.game = core.game(portion.game, plain(portion.options));
    // While a GPU answers one group, the core searches the other.
    this.numGroups = network?.backend === "webgpu" ? 2 : 1;
    this.selfPlay = this.game.selfPlay({
      settings: { ...plain(portion.settings), cache_bytes: CACHE_BYTES },
      evaluator: network === null ? "hash" : "",
      numGroups: this.numGroups,
      gamesPerGroup: Math.max(1, Math.min(portion.batch, portion.count)),
      seed: portion.seed,
      worker: portion.worker,
      version: portion.version,
      firstSequence: portion.firstSequence,
      numGames: portion.count,
    });
  }

  /** One batch of leaves, or OWN_BATCHES without a network. Returns the games that ended, if any. */
  async step(): Promise<Uint8Array[]> {
    if (this.network === null) this.selfPlay.run(OWN_BATCHES);
    else await this.evaluateNext(this.network);
    return this.selfPlay.takeEpisodes();
  }

  private async evaluateNext(network: Network): Promise<void> {
    const batch = this.selfPlay.next();
    const begunAt = performance.now();
    if (batch !== null) {
      this.asked.push({ group: batch.group, answers: network.evaluate(batch.observations, batch.numRows) });
      this.inferences += batch.numRows;
    }
    const isFull = this.asked.length === this.numGroups;
    const oldest = isFull || batch === null ? this.asked.shift() : undefined;
    if (oldest === undefined) return;
    const { policyLogits, outcomes } = await oldest.answers;
    this.inferenceSeconds += (performance.now() - begunAt) / 1000;
    this.selfPlay.submit(oldest.group, policyLogits, outcomes, this.portion.version);
  }

  finished(): boolean {
    return this.selfPlay.finished();
  }

  /** Where the first game stands. */
  watched(): string {
    return this.selfPlay.watchedPosition();
  }

  /** What was done since the last call. */
  work(): Work {
    const { num_simulations } = this.selfPlay.counts();
    const work = {
      simulations: num_simulations - this.counted,
      inferences: this.inferences,
      inferenceSeconds: this.inferenceSeconds - this.reportedSeconds,
    };
    this.counted = num_simulations;
    this.inferences = 0;
    this.reportedSeconds = this.inferenceSeconds;
    return work;
  }

  free(): void {
    this.selfPlay.free();
    this.game.free();
  }
}

/** Settings as JSON can hold them: the wire gives large numbers as bigint. */
export function plain(settings: Record<string, unknown>): Settings {
  const entries = Object.entries(settings);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, typeof value === "bigint" ? Number(value) : (value as string | number)]),
  );
}
