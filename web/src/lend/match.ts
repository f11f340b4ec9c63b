// Plays pairs of a match to their end, all games at once. The same seed, pair and players give the same games as a
// rater plays (zerofleet.arena.pairs), as far as the networks' answers are the same.
import { CHANCE, OVER, type Core, type Evaluator, type Game, type Position, type Search } from "../core/core.js";
import { choiceSeed, dealSeed, drawnAmong, drawnOutcome } from "./draws";
import { plain, type Work } from "./games";
import type { Network } from "./inference";

export interface Side {
  kind: "network" | "playout" | "random";
  settings: Record<string, unknown>;
}

/** Pairs of a match; `sides` are the player named first and the other. */
export interface MatchPart {
  /** Of the match. */
  key: string;
  /** Index of the first pair in its message. */
  first: number;
  game: string;
  options: Record<string, number | string>;
  seed: number | bigint;
  sides: [Side, Side];
  pairs: { pair: number; opening: number[] }[];
}

/** Leaves that a search with an evaluator of the core takes at a time. */
const LEAVES_AT_ONCE = 64;

/** One game. `firstSeat` is the seat of the player named first. */
class MatchGame {
  readonly ids: number[] = [];
  private readonly position: Position;
  private state: ReturnType<Position["state"]>;
  private numRolls = 0;
  private search: Search | null = null;

  constructor(
    game: Game,
    private readonly seed: bigint,
    private readonly pair: number,
    private readonly firstSeat: number,
    opening: readonly number[],
  ) {
    this.position = game.newPosition(dealSeed(seed, pair));
    this.state = this.position.state();
    for (const id of opening) this.play(id);
    this.roll();
  }

  get isOver(): boolean {
    return this.state.to_move === OVER || this.state.truncated;
  }

  waitsFor(named: number): boolean {
    return !this.isOver && this.state.to_move === (this.firstSeat ^ named);
  }

  /** The search of this decision; null where it needs none, and then it is made. */
  deciding(side: Side, evaluator: Evaluator): Search | null {
    if (this.search !== null) return this.search;
    const actions = this.state.actions.map(({ id }) => id);
    const seed = choiceSeed(this.seed, this.pair, this.firstSeat, this.ids.length);
    if (actions.length > 1 && side.kind !== "random") {
      this.search = this.position.search({ settings: plain(side.settings), evaluator, seed });
      return this.search;
    }
    this.choose(side.kind === "random" ? drawnAmong(actions, seed) : actions[0]!);
    return null;
  }

  /** Plays the best action of the search that has finished. Returns its simulations. */
  decide(): number {
    const { best_action, num_simulations } = this.search!.result();
    this.search!.free();
    this.search = null;
    this.choose(best_action);
    return num_simulations;
  }

  text(): string {
    return this.position.toText();
  }

  free(): void {
    this.search?.free();
    this.position.free();
  }

  private choose(id: number): void {
    this.play(id);
    this.roll();
  }

  private play(id: number): void {
    this.position.play(id);
    this.ids.push(id);
    this.state = this.position.state();
  }

  private roll(): void {
    while (this.state.to_move === CHANCE && !this.state.truncated) {
      this.play(drawnOutcome(this.state.chance_outcomes, this.seed, this.pair, this.numRolls));
      this.numRolls += 1;
    }
  }
}

export class PartOfMatch {
  private readonly game: Game;
  private readonly all: MatchGame[];
  private simulations = 0;
  private inferences = 0;
  inferenceSeconds = 0;
  private reportedSeconds = 0;

  /** Without a network a side of kind network plays with the core's `hash` evaluator. */
  constructor(
    core: Core,
    readonly part: MatchPart,
    private readonly networks: readonly (Network | null)[],
  ) {
    this.game = core.game(part.game, part.options);
    const seed = BigInt(part.seed);
    this.all = part.pairs.flatMap(({ pair, opening }) =>
      [0, 1].map((seat) => new MatchGame(this.game, seed, pair, seat, opening)),
    );
  }

  /** One batch of leaves of each player. */
  async step(): Promise<void> {
    for (const named of [0, 1] as const) {
      const side = this.part.sides[named];
      const network = side.kind === "network" ? (this.networks[named] ?? null) : null;
      const evaluator: Evaluator = network !== null ? "" : side.kind === "network" ? "hash" : "playout";
      const games: MatchGame[] = [];
      const searches: Search[] = [];
      for (const game of this.all) {
        if (!game.waitsFor(named)) continue;
        const search = game.deciding(side, evaluator);
        if (search === null) continue;
        games.push(game);
        searches.push(search);
      }
      if (network !== null) await this.evaluate(network, searches);
      else for (const search of searches) search.run(LEAVES_AT_ONCE);
      searches.forEach((search, index) => {
        if (search.finished()) this.simulations += games[index]!.decide();
      });
    }
  }

  /** The next leaves of all searches, in one batch. */
  private async evaluate(network: Network, searches: readonly Search[]): Promise<void> {
    const leaves = searches.map((search) => search.gather());
    const numRows = leaves.reduce((sum, each) => sum + each.numRows, 0);
    if (numRows === 0) return;
    const rowBytes = this.game.facts.observation_bytes;
    const observations = new Uint8Array(numRows * rowBytes);
    let row = 0;
    for (const each of leaves) {
      observations.set(each.observations, row * rowBytes);
      row += each.numRows;
    }
    const begunAt = performance.now();
    const { policyLogits, outcomes } = await network.evaluate(observations, numRows);
    this.inferenceSeconds += (performance.now() - begunAt) / 1000;
    this.inferences += numRows;
    const numActions = this.game.facts.num_actions;
    const numOutcomes = this.game.facts.outcomes.length;
    row = 0;
    searches.forEach((search, index) => {
      const next = row + leaves[index]!.numRows;
      if (next > row)
        search.absorb(
          policyLogits.subarray(row * numActions, next * numActions),
          outcomes.subarray(row * numOutcomes, next * numOutcomes),
        );
      row = next;
    });
  }

  finished(): boolean {
    return this.all.every((game) => game.isOver);
  }

  /** Actions and chance outcomes of each game, two games of each pair. */
  games(): number[][] {
    return this.all.map((game) => game.ids);
  }

  /** Where the first game stands that is not over. */
  watched(): string {
    return (this.all.find((game) => !game.isOver) ?? this.all[0]!).text();
  }

  /** What was done since the last call. */
  work(): Work {
    const work = {
      simulations: this.simulations,
      inferences: this.inferences,
      inferenceSeconds: this.inferenceSeconds - this.reportedSeconds,
    };
    this.simulations = 0;
    this.inferences = 0;
    this.reportedSeconds = this.inferenceSeconds;
    return work;
  }

  free(): void {
    for (const game of this.all) game.free();
    this.game.free();
  }
}
