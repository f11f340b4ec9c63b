// Backgammon: points, bar, dice and the tray of borne-off checkers, numbered from the near player's side.
//
// A move is made by choosing a checker's place and then where it goes. Checkers can be moved in any order; the turn is
// played when the person says so.
import { useEffect, useMemo, useState } from "preact/hooks";
import { Button } from "../parts/controls";
import { Arrows, BarPlace, Dice, FarTray, Ground, HEIGHT, NearTray, Point, Side, WIDTH } from "./backgammon_drawing";
import {
  BAR,
  OFF,
  TurnBuilder,
  checkersAt,
  fromOtherSide,
  moveOf,
  type CheckerMove,
  type Checkers,
  type DieMove,
  type Draft,
} from "./backgammon_model";
import { YOU, other, type BackgammonSeen, type BoardProps, type Player } from "./board";
import { isPress, useRoving } from "./focus";
import "./boards.css";

export default function BackgammonBoard(props: BoardProps<BackgammonSeen>) {
  const { seen, toMove, near, names, legalTurns, last, onPlay, hint, isLive } = props;
  const mover = toMove === 0 || toMove === 1 ? toMove : null;
  const builder = useMemo(
    () => (mover !== null && onPlay !== null && legalTurns ? new TurnBuilder(seen, mover, legalTurns) : null),
    [seen, mover, legalTurns, onPlay === null],
  );
  const [drafts, setDrafts] = useState<readonly Draft[]>([]);
  const [chosen, setChosen] = useState<number | null>(null);
  useEffect(() => {
    setDrafts([]);
    setChosen(null);
  }, [builder]);

  const draft = builder && (drafts[drafts.length - 1] ?? builder.begin());
  const checkers: Checkers = draft?.checkers ?? seen;
  const next = builder && draft ? builder.next(draft) : [];
  const finished = builder && draft && draft.moves.length ? builder.finished(draft) : null;
  const sources = new Set(next.map((move) => move.from));
  const targets = new Map(next.filter((move) => move.from === chosen).map((move) => [move.to, move]));
  const arrived = new Set(marked(last, near));
  const roving = useRoving(13);

  const onPlace = (place: number): void => {
    const move = targets.get(place);
    if (move && builder && draft) {
      setDrafts([...drafts, builder.after(draft, move)]);
      setChosen(null);
    } else if (sources.has(place)) {
      setChosen(place === chosen ? null : place);
    } else {
      setChosen(null);
    }
  };
  const onKeyDown = (event: KeyboardEvent, place: number): void => {
    const following = neighbour(place, event.key);
    if (following !== null) {
      event.preventDefault();
      event.stopPropagation();
      roving.focus(following);
    } else if (isPress(event)) {
      event.preventDefault();
      onPlace(place);
    } else if (event.key === "Escape") {
      setChosen(null);
    }
  };
  /** Attributes of a place in the near player's numbering, which is the mover's when a person moves. */
  const placeProps = (place: number, name: string) => ({
    ...roving.place(place),
    role: "button" as const,
    class: `place${sources.has(place) ? " is-source" : ""}${place === chosen ? " is-chosen" : ""}${
      targets.has(place) ? " is-target" : ""
    }${arrived.has(place) && drafts.length === 0 ? " is-last" : ""}`,
    "aria-label": placeLabel(name, checkers, near, place, names, targets.has(place), sources.has(place)),
    "aria-pressed": place === chosen,
    "aria-disabled": !sources.has(place) && !targets.has(place),
    "data-place": place,
    onClick: () => onPlace(place),
    onKeyDown: (event: KeyboardEvent) => onKeyDown(event, place),
  });

  return (
    <div class="backgammon">
      <Side checkers={checkers} player={other(near)} names={names} isToMove={mover === other(near)} />
      <svg
        class={`board board-backgammon${builder ? " is-playable" : ""}`}
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        style={{ "--wide-text": "13px", "--narrow-text": `${WIDTH / 40}px` }}
        role="group"
        aria-label={`Backgammon board, points numbered for ${names[near] === YOU ? "you" : names[near]}`}
      >
        <Ground />
        {Array.from({ length: 24 }, (_, index) => {
          const place = index + 1;
          return (
            <g key={place} {...placeProps(place, `Point ${place}`)}>
              <Point place={place} checkers={checkers} near={near} />
            </g>
          );
        })}
        <g {...placeProps(BAR, "Bar")}>
          <BarPlace checkers={checkers} near={near} />
        </g>
        <g {...placeProps(OFF, "Off the board")}>
          <NearTray checkers={checkers} near={near} />
        </g>
        <FarTray checkers={checkers} near={near} />
        <Dice rolled={seen.dice} left={draft?.dice ?? seen.dice} isNear={mover === null || mover === near} />
        {drafts.length === 0 && hint.length > 0 && mover !== null && (
          <Arrows moves={movesOf(props, hint)} isNear={mover === near} />
        )}
      </svg>
      <Side checkers={checkers} player={near} names={names} isToMove={mover === near} />
      {isLive && (
        <div class="bg-actions">
          {builder && (
            <>
              <Button tone="main" disabled={!finished} onClick={() => finished && onPlay?.(finished.actions)}>
                Play this turn
              </Button>
              <Button
                disabled={drafts.length === 0}
                onClick={() => {
                  setDrafts(drafts.slice(0, -1));
                  setChosen(null);
                }}
              >
                Undo checker
              </Button>
              <span class="bg-say" role="status">
                {guidance(draft, next, chosen, finished !== null)}
              </span>
            </>
          )}
        </div>
      )}
    </div>
  );
}

function guidance(draft: Draft | null, next: readonly DieMove[], chosen: number | null, isFinished: boolean): string {
  if (isFinished) return "Turn complete.";
  if (chosen !== null) return "Choose where this checker goes.";
  if (next.length === 0) return "";
  return draft && draft.moves.length ? "Choose the next checker." : "Choose a checker to move.";
}

/** The moves of these actions, as far as the legal actions or turns name them. */
function movesOf(props: BoardProps<BackgammonSeen>, actions: readonly number[]): readonly CheckerMove[] {
  const whole = props.legalTurns?.find((turn) => turn.actions.join() === actions.join());
  if (whole) return whole.text.split(" ").map(moveOf);
  return actions.flatMap((action) =>
    props.legal.filter((each) => each.action === action).map((each) => moveOf(each.text)),
  );
}

/** The places, in the near player's numbering, where the last turn's checkers arrived. */
function marked(last: BoardProps<BackgammonSeen>["last"], near: Player): readonly number[] {
  if (last === null) return [];
  const places = last.texts.map((text) => moveOf(text).to);
  return last.player === near ? places : places.filter((place) => place !== OFF).map(fromOtherSide);
}

function placeLabel(
  name: string,
  checkers: Checkers,
  near: Player,
  place: number,
  names: readonly [string, string],
  isTarget: boolean,
  isSource: boolean,
): string {
  const own = checkersAt(checkers, near, place);
  const theirs = place === OFF ? 0 : checkersAt(checkers, other(near), fromOtherSide(place));
  const held = [own && `${own} of ${names[near]}`, theirs && `${theirs} of ${names[other(near)]}`].filter(Boolean);
  const use = isTarget ? ", move here" : isSource ? ", can move" : "";
  return `${name}, ${held.join(" and ") || "empty"}${use}`;
}

/** Where an arrow key leads: along the row of points, across the board, or onto the bar. */
function neighbour(place: number, key: string): number | null {
  const rows = [
    [13, 14, 15, 16, 17, 18, BAR, 19, 20, 21, 22, 23, 24, OFF],
    [12, 11, 10, 9, 8, 7, BAR, 6, 5, 4, 3, 2, 1, OFF],
  ];
  const row = place === BAR || place === OFF || place <= 12 ? 1 : 0;
  const line = rows[row] ?? [];
  const at = line.indexOf(place);
  if (key === "ArrowLeft") return line[at - 1] ?? place;
  if (key === "ArrowRight") return line[at + 1] ?? place;
  if (key === "ArrowUp") return rows[0]?.[at] ?? place;
  if (key === "ArrowDown") return rows[1]?.[at] ?? place;
  return null;
}
