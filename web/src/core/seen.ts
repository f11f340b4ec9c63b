// A position of the core as the boards draw it: what the server's `seen` gives, made in the tab.
import type { Mover, Player, Seen } from "../boards/board";
import { CHANCE, OVER, type Position } from "./core.js";

/** Everything, or only what a player may see. */
export function seenOf(position: Position, player?: Player): Seen {
  const name = position.game.facts.name;
  const described = position.describe(player);
  if (name === "connect4" || name === "gomoku") return { ...described, kind: "grid" } as Seen;
  if (name === "backgammon" || name === "beastybar") return { ...described, kind: name } as Seen;
  return { kind: "text", picture: position.picture() };
}

export function moverOf(toMove: number): Mover {
  if (toMove === CHANCE) return "chance";
  return toMove === OVER ? "over" : toMove === 0 ? 0 : 1;
}
