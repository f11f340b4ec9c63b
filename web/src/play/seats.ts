// How players are named and placed on a page.
import type { components } from "../api";
import { meaning, moveOf, speciesOf } from "../boards/beastybar_model";
import { YOU, other, type LastTurn, type Player, type Seen } from "../boards/board";

export type Play = components["schemas"]["PlayAnswer"];
export type Turn = components["schemas"]["Turn"];
export type GameLine = components["schemas"]["GameLine"];
export type PlayerLine = components["schemas"]["PlayerLine"];
export type Analysis = components["schemas"]["AnalysisAnswer"];
export type Outcome = components["schemas"]["Outcome"];

export const HUMAN = "human";
export const SIDES = ["First", "Second"] as const;

/** A person who plays alone is "You"; two of the same name are told apart by their side. */
export function namesOf(play: Play): readonly [string, string] {
  const numHumans = play.seats.filter((seat) => seat.player === HUMAN).length;
  const named = play.seats.map((seat, side) => {
    if (seat.player === HUMAN) return numHumans === 1 ? YOU : (SIDES[side] ?? "");
    return seat.title;
  });
  const [first = "", second = ""] = named;
  return first === second ? [`${first} (first)`, `${second} (second)`] : [first, second];
}

/** Who sits at the near side: the person; of two persons the one to move, where the board has a near side. */
export function nearOf(play: Play): Player {
  if (play.view !== "all") return play.view === "0" ? 0 : 1;
  const isShared = play.seats.every((seat) => seat.player === HUMAN);
  const hasSides = play.seen.kind === "backgammon" || play.seen.kind === "beastybar";
  return isShared && hasSides && play.to_move === 1 ? 1 : 0;
}

function playerTurns(play: Play): readonly Turn[] {
  return play.turns.filter((turn) => turn.player !== "chance");
}

/** The last turn of a player; `before` is what was shown before it, if that is what `shown` showed. */
export function lastTurnOf(play: Play, shown: Play | null): LastTurn | null {
  const turns = playerTurns(play);
  const turn = turns[turns.length - 1];
  if (turn === undefined || turn.player === "chance") return null;
  const follows = shown !== null && shown.id === play.id && playerTurns(shown).length === turns.length - 1;
  const before: Seen | null = follows ? shown.seen : null;
  return { player: turn.player, actions: turn.actions, texts: turn.texts, steps: turn.steps, before };
}

/** What a move is called: in Beasty Bar its numbers are explained by the queue, elsewhere its notation says all. */
export function moveText(seen: Seen, names: readonly [string, string]): (text: string) => string {
  if (seen.kind !== "beastybar") return (text) => text;
  return (text) => {
    const move = moveOf({ action: 0, text });
    const means = meaning(move, seen.queue, names);
    return means ? `${move.animal}: ${means}` : text;
  };
}

/** A turn of Beasty Bar by what its card did; elsewhere in its notation. */
function turnText(turn: Turn): string {
  const [entry] = turn.steps;
  if (!entry?.animal) return turn.text;
  const as = entry.acts_as ? ` as ${entry.acts_as}` : "";
  const out = entry.thats_it.length ? `, out: ${entry.thats_it.map(speciesOf).join(", ")}` : "";
  return `${speciesOf(entry.animal)}${as}${out}`;
}

/** A row of the moves list: a player's turn with the roll before it. */
export interface MoveRow {
  readonly player: Player;
  readonly roll: string;
  readonly text: string;
  /** Plies played after it. */
  readonly ply: number;
}

/** Turns with their rolls; a roll after which its player could not move is a row of its own. */
export function moveRows(turns: readonly Turn[]): readonly MoveRow[] {
  const rows: MoveRow[] = [];
  let roll: Turn | null = null;
  for (const turn of turns) {
    if (turn.player !== "chance") {
      const ply = turn.ply + turn.actions.length;
      rows.push({ player: turn.player, roll: roll?.text ?? "", text: turnText(turn), ply });
      roll = null;
      continue;
    }
    if (roll !== null) {
      const before = rows[rows.length - 1];
      const player = before === undefined ? 0 : other(before.player);
      rows.push({ player, roll: roll.text, text: "no move", ply: turn.ply });
    }
    roll = turn;
  }
  return rows;
}

/** The address of a position. */
export function positionLink(game: string, options: Readonly<Record<string, string>>, position: string): string {
  const search = new URLSearchParams({ game, position });
  for (const [name, value] of Object.entries(options)) search.append("option", `${name}=${value}`);
  return `/play?${search}`;
}
