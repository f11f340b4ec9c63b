// Backgammon as data: places, checker moves, and turns that a person makes in any order.
//
// The core has one sequence of actions for each result of a turn. A person may reach the same result in another
// order; the board accepts whatever leads to a legal result, and then plays the core's own sequence.
import type { BackgammonSeen, LegalTurn, Player } from "./board";

export const NUM_POINTS = 24;
/** Places are numbered from a player's own side: 1 to 24, then the bar; 0 is off the board. */
export const BAR = 25;
export const OFF = 0;
const HOME = 6;

export interface Checkers {
  readonly points: readonly number[];
  readonly bar: readonly number[];
  readonly off: readonly number[];
}

export interface CheckerMove {
  readonly from: number;
  readonly to: number;
}

export interface DieMove extends CheckerMove {
  readonly die: number;
}

/** 13/11, bar/22, 6/off */
export function moveOf(text: string): CheckerMove {
  const [from, to] = text.split("/");
  return { from: from === "bar" ? BAR : Number(from), to: to === "off" ? OFF : Number.parseInt(to ?? "", 10) };
}

/** A place in the other player's numbering. */
export function fromOtherSide(place: number): number {
  return place === BAR || place === OFF ? place : NUM_POINTS + 1 - place;
}

function indexOf(player: Player, place: number): number {
  return player === 0 ? place - 1 : NUM_POINTS - place;
}

/** How many checkers a player has at a place of its own numbering. */
export function checkersAt(checkers: Checkers, player: Player, place: number): number {
  if (place === BAR) return checkers.bar[player] ?? 0;
  if (place === OFF) return checkers.off[player] ?? 0;
  const found = checkers.points[indexOf(player, place)] ?? 0;
  return Math.max(player === 0 ? found : -found, 0);
}

/** The distance that a player's checkers still have to go. */
export function pipCount(checkers: Checkers, player: Player): number {
  let pips = 0;
  for (let place = 1; place <= BAR; place += 1) pips += place * checkersAt(checkers, player, place);
  return pips;
}

/** The checkers after a move; one alone at the end of it is hit. */
export function afterMove(checkers: Checkers, player: Player, { from, to }: CheckerMove): Checkers {
  const sign = player === 0 ? 1 : -1;
  const points = [...checkers.points];
  const bar = [...checkers.bar];
  const off = [...checkers.off];
  const change = (list: number[], at: number, by: number): void => {
    list[at] = (list[at] ?? 0) + by;
  };
  if (from === BAR) change(bar, player, -1);
  else change(points, indexOf(player, from), -sign);
  if (to === OFF) {
    change(off, player, 1);
  } else {
    const at = indexOf(player, to);
    if (points[at] === -sign) {
      points[at] = 0;
      change(bar, 1 - player, 1);
    }
    change(points, at, sign);
  }
  return { points, bar, off };
}

/** Whether one checker may move so with one die, whatever the rest of the turn needs. */
function isPossible(checkers: Checkers, player: Player, from: number, die: number): boolean {
  if (checkersAt(checkers, player, from) === 0) return false;
  if (from !== BAR && checkersAt(checkers, player, BAR) > 0) return false;
  const to = from - die;
  if (to > 0) return checkersAt(checkers, player === 0 ? 1 : 0, fromOtherSide(to)) < 2;
  const highest = highestPlace(checkers, player);
  return highest <= HOME && (to === 0 || from === highest);
}

function highestPlace(checkers: Checkers, player: Player): number {
  for (let place = BAR; place > 0; place -= 1) if (checkersAt(checkers, player, place) > 0) return place;
  return 0;
}

function keyOf(checkers: Checkers): string {
  return [...checkers.points, ...checkers.bar, ...checkers.off].join(",");
}

/** A turn in the making. */
export interface Draft {
  readonly checkers: Checkers;
  readonly dice: readonly number[];
  readonly moves: readonly DieMove[];
}

/** What a person may do in one turn. */
export class TurnBuilder {
  private readonly player: Player;
  private readonly start: Draft;
  private readonly results = new Map<string, LegalTurn>();
  private readonly leads = new Map<string, boolean>();

  constructor(seen: BackgammonSeen, player: Player, turns: readonly LegalTurn[]) {
    this.player = player;
    this.start = { checkers: seen, dice: seen.dice, moves: [] };
    for (const turn of turns) {
      let checkers: Checkers = seen;
      for (const text of turn.text.split(" ")) checkers = afterMove(checkers, player, moveOf(text));
      this.results.set(keyOf(checkers), turn);
    }
  }

  begin(): Draft {
    return this.start;
  }

  /** The core's turn with this result; null while checkers are still to be moved. */
  finished(draft: Draft): LegalTurn | null {
    return this.results.get(keyOf(draft.checkers)) ?? null;
  }

  /** The next checker moves that can still end in a legal turn. */
  next(draft: Draft): readonly DieMove[] {
    if (this.finished(draft)) return [];
    return this.possible(draft).filter((move) => this.isLeading(this.after(draft, move)));
  }

  after(draft: Draft, move: DieMove): Draft {
    const dice = [...draft.dice];
    dice.splice(dice.indexOf(move.die), 1);
    return {
      checkers: afterMove(draft.checkers, this.player, move),
      dice,
      moves: [...draft.moves, move],
    };
  }

  private possible(draft: Draft): readonly DieMove[] {
    const found: DieMove[] = [];
    for (const die of new Set(draft.dice)) {
      for (let from = BAR; from > 0; from -= 1) {
        if (!isPossible(draft.checkers, this.player, from, die)) continue;
        found.push({ from, to: Math.max(from - die, OFF), die });
      }
    }
    return found;
  }

  private isLeading(draft: Draft): boolean {
    if (this.finished(draft)) return true;
    const key = `${keyOf(draft.checkers)}:${draft.dice.join("")}`;
    let leads = this.leads.get(key);
    if (leads === undefined) {
      leads = this.possible(draft).some((move) => this.isLeading(this.after(draft, move)));
      this.leads.set(key, leads);
    }
    return leads;
  }
}
