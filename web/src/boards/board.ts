// What every board is given and gives back. A board draws what `position.describe(view)` says and knows nothing of
// where that came from: the play page and the viewer use the same boards. The types fit the API's answers.
import type { FunctionComponent } from "preact";

export type Player = 0 | 1;

/** Who is to move: a player, the dice, or nobody any more. */
export type Mover = Player | "chance" | "over";

export interface GridSeen {
  readonly kind: "grid";
  /** Rows from the top: `.` empty, X player 0, O player 1. */
  readonly board: readonly string[];
}

export interface BackgammonSeen {
  readonly kind: "backgammon";
  /** Entry i is point i + 1 of player 0; positive: checkers of player 0, negative: of player 1. */
  readonly points: readonly number[];
  readonly bar: readonly number[];
  readonly off: readonly number[];
  /** Still to play. */
  readonly dice: readonly number[];
}

/** Cards, or only their number where they are hidden. */
export type Cards = readonly string[] | number;

export interface BeastyBarSeen {
  readonly kind: "beastybar";
  /** Front first. A card is its species and owner: lion0. */
  readonly queue: readonly string[];
  readonly bar: readonly string[];
  readonly thats_it: readonly string[];
  readonly hands: readonly Cards[];
  readonly piles: readonly Cards[];
  readonly points: readonly number[];
}

export interface TextSeen {
  readonly kind: "text";
  readonly picture: string;
}

export type Seen = GridSeen | BackgammonSeen | BeastyBarSeen | TextSeen;
export type Kind = Seen["kind"];

export interface Legal {
  readonly action: number;
  readonly text: string;
}

/** A whole turn in a game where a turn has several actions. */
export interface LegalTurn {
  readonly actions: readonly number[];
  readonly text: string;
}

/** What an action of Beasty Bar does, step by step. */
export interface Step {
  readonly step: "entry" | "recurring" | "bar";
  readonly animal: string | null;
  /** The species that a chameleon copies. */
  readonly acts_as: string | null;
  readonly queue: readonly string[];
  readonly bar: readonly string[];
  readonly thats_it: readonly string[];
}

/** The last turn, so that a board can mark or animate it. */
export interface LastTurn<S extends Seen = Seen> {
  readonly player: Player;
  readonly actions: readonly number[];
  /** One per action. */
  readonly texts: readonly string[];
  readonly steps: readonly Step[];
  /** What the page showed before this turn; null where it showed something else. */
  readonly before: S | null;
}

export interface BoardProps<S extends Seen = Seen> {
  readonly game: string;
  readonly options: Readonly<Record<string, string>>;
  readonly seen: S;
  readonly toMove: Mover;
  /** The player at the near side, whose hand is open in a game with hidden hands. */
  readonly near: Player;
  /** By player; a person at this page is "You". */
  readonly names: readonly [string, string];
  /** Empty where nothing can be played here. */
  readonly legal: readonly Legal[];
  readonly legalTurns: readonly LegalTurn[] | null;
  readonly last: LastTurn<S> | null;
  /** Probabilities of actions, drawn as a heat map. */
  readonly heat: ReadonlyMap<number, number> | null;
  /** Actions that a hint proposes. */
  readonly hint: readonly number[];
  readonly onPlay: ((actions: readonly number[]) => void) | null;
  /** A game in play shows each turn to its end; a viewer that steps on shows the newest one at once. */
  readonly isLive: boolean;
}

export type Board<S extends Seen = Seen> = FunctionComponent<BoardProps<S>>;

/** How a person at this page is named; texts then say "your lion" and "you roll". */
export const YOU = "You";

export function other(player: Player): Player {
  return player === 0 ? 1 : 0;
}

/** "You play", "zerofleet plays" */
export function doing(name: string, verb: string): string {
  return name === YOU ? `You ${verb}` : `${name} ${verb}s`;
}
