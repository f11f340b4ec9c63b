// The turns of a game, two in a row; a roll stands before the turn that it was played with.
import { useLayoutEffect, useRef } from "preact/hooks";
import { moveRows, type Turn } from "./seats";

interface MovesListProps {
  turns: readonly Turn[];
  names: readonly [string, string];
}

export function MovesList({ turns, names }: MovesListProps) {
  const list = useRef<HTMLOListElement>(null);
  useLayoutEffect(() => {
    if (list.current) list.current.scrollTop = list.current.scrollHeight;
  }, [turns.length]);
  if (turns.length === 0) return null;
  return (
    <section>
      <h2 class="unseen">Moves</h2>
      <ol class="moves" ref={list} tabIndex={0} aria-label="Moves">
        {moveRows(turns).map(({ player, roll, text, ply }) => (
          <li key={ply} class={`move move-${player}`}>
            <span class="move-who">{names[player]}</span>
            <span>
              {roll && <span class="move-roll">{roll}</span>} {text}
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}
