// Play: a new game, or the one that the address names.
import { GameInPlay } from "../play/game";
import { Setup } from "../play/setup";
import type { PageProps } from "../router";

export default function PlayPage({ params, query }: PageProps) {
  const id = params["id"];
  return id === undefined ? <Setup query={query} /> : <GameInPlay id={id} />;
}
