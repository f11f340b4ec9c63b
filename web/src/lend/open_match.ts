// A match that this tab was given: its pairs, split among the workers, and the games that came of them.
import type { MatchPart } from "./match";
import type { EvalResult, PlayMatch, Whole } from "./messages";
import type { Task } from "./player_handle";

export class OpenMatch {
  readonly key: string;
  private readonly games: (number[] | null)[];
  private readonly deadlineMs: number;

  constructor(readonly given: PlayMatch) {
    this.key = given.match;
    this.games = new Array<number[] | null>(2 * given.pairs.length).fill(null);
    this.deadlineMs = Date.now() + 1000 * given.deadline_s;
  }

  isLate(): boolean {
    return Date.now() >= this.deadlineMs;
  }

  /** Of the weights that it needs. */
  versions(): Whole[] {
    const { weights, opponent } = this.given;
    return [weights.version, opponent.version].filter((version) => version != null);
  }

  tasks(numWorkers: number): Task[] {
    const numPairs = this.given.pairs.length;
    const most = Math.ceil(numPairs / numWorkers);
    const tasks: Task[] = [];
    for (let first = 0; first < numPairs; first += most)
      tasks.push({ key: this.key, first, count: Math.min(most, numPairs - first), isMatch: true });
    return tasks;
  }

  part({ first, count }: Task): MatchPart {
    const { game, options, seed, weights, opponent, pairs } = this.given;
    return {
      key: this.key,
      first,
      game,
      options: options as Record<string, number | string>,
      seed,
      sides: [sideOf(weights), sideOf(opponent)],
      pairs: pairs
        .slice(first, first + count)
        .map(({ pair, opening }) => ({ pair: Number(pair), opening: opening.map(Number) })),
    };
  }

  /** The games of a part, none where it was cancelled. */
  take({ first }: MatchPart, games: readonly number[][]): void {
    games.forEach((ids, index) => (this.games[2 * first + index] = ids));
  }

  /** Whether all games are there, in time. */
  isComplete(): boolean {
    return !this.isLate() && this.games.every((ids) => ids !== null);
  }

  result(): EvalResult {
    return { type: "EVAL_RESULT", match: this.key, games: this.games as number[][] };
  }

  /** Of its games: the seed and their number. */
  ids(): [Whole, Whole][] {
    return this.given.pairs.flatMap(({ pair }) =>
      [0, 1].map((seat): [Whole, Whole] => [this.given.seed, 2 * Number(pair) + seat]),
    );
  }
}

function sideOf({ kind, settings }: PlayMatch["weights"]): MatchPart["sides"][0] {
  return { kind, settings: settings ?? {} };
}
