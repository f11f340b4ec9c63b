// The board of a game, loaded when it is first shown.
import { useEffect, useState } from "preact/hooks";
import { Loading } from "../parts/page";
import type { Board, BoardProps, Seen } from "./board";

type Loader = () => Promise<{ default: unknown }>;

/** A board of stones whose actions are columns is dropped into, not placed on. */
function loaderOf(game: string, kind: Seen["kind"]): Loader {
  switch (kind) {
    case "grid":
      return game === "connect4" ? () => import("./drop_board") : () => import("./grid_board");
    case "backgammon":
      return () => import("./backgammon_board");
    case "beastybar":
      return () => import("./beastybar_board");
    case "text":
      return () => import("./text_board");
  }
}

/** Draws any game's position. */
export function AnyBoard(props: BoardProps) {
  const { game, seen } = props;
  const [loaded, setLoaded] = useState<{ key: string; Board: Board } | null>(null);
  const [fault, setFault] = useState(false);
  const key = `${seen.kind}:${game}`;
  useEffect(() => {
    let isWanted = true;
    loaderOf(game, seen.kind)().then(
      (module) => isWanted && setLoaded({ key, Board: module.default as Board }),
      () => isWanted && setFault(true),
    );
    return () => {
      isWanted = false;
    };
  }, [key]);
  if (fault) return <p class="note note-alert">The board could not be loaded. Reload to try again.</p>;
  if (loaded === null || loaded.key !== key) return <Loading />;
  return <loaded.Board {...props} />;
}

type Position = Pick<BoardProps, "game" | "options" | "seen" | "toMove">;

/** Draws a position to look at: nothing is played here, and no player is at this page. */
export function StillBoard(position: Position) {
  return (
    <AnyBoard
      {...position}
      near={0}
      names={["First", "Second"]}
      legal={[]}
      legalTurns={null}
      last={null}
      heat={null}
      hint={[]}
      onPlay={null}
      isLive={false}
    />
  );
}
