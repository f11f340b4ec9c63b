// The table of Beasty Bar: both hands, the queue from the front to the back, the bar, and That's It.
//
// A turn is shown step by step, one sentence each; with reduced motion its end is shown at once, with all sentences.
import { useState } from "preact/hooks";
import { Button } from "../parts/controls";
import { capital, percent, plural } from "../parts/format";
import { useFrames, useGlide } from "./beastybar_motion";
import {
  CARDS_TO_OPEN,
  SPECIES,
  SPECIES_NAMES,
  cardName,
  count,
  meaning,
  movesByAnimal,
  scoreOf,
  sorted,
  speciesOf,
  type Move,
  type Species,
} from "./beastybar_model";
import { YOU, other, type BeastyBarSeen, type BoardProps, type Cards, type Player } from "./board";
import { Card, CardBack, Token, cardLabel } from "./card";
import { isPress, useRoving } from "./focus";
import "./boards.css";
import "./beastybar.css";

export default function BeastyBarBoard(props: BoardProps<BeastyBarSeen>) {
  const { seen, toMove, near, names, legal, heat, hint, onPlay, options, isLive } = props;
  const { frame, isMoving, sentences, skip, again } = useFrames(props);
  const table = useGlide(frame);
  const far = other(near);
  const shown = frame ?? { queue: seen.queue, bar: seen.bar, thatsIt: seen.thats_it, actor: null, text: "" };
  const isTurn = onPlay !== null && legal.length > 0 && !isMoving;
  const moves = movesByAnimal(legal);
  const [chosen, setChosen] = useState<string | null>(null);
  const targets = isTurn && chosen ? targetsOf(moves.get(speciesOf(chosen)) ?? []) : new Map<number, number>();
  const play = (action: number): void => {
    setChosen(null);
    onPlay?.([action]);
  };
  const score = (player: Player): string => scoreOf(shown.bar, player, options["scoring"] ?? "points");
  const hand = (player: Player) => (
    <Hand
      key={player}
      cards={seen.hands[player] ?? 0}
      player={player}
      names={names}
      moves={player === toMove ? moves : null}
      heat={player === toMove ? heat : null}
      hint={player === toMove ? hint : []}
      queue={seen.queue}
      chosen={chosen}
      onChoose={setChosen}
      onPlay={player === toMove && isTurn ? play : null}
      keepsRoom={isLive && player === near}
    />
  );

  return (
    <div class="bb" ref={table}>
      <Side player={far} name={names[far]} score={score(far)} pile={seen.piles[far] ?? 0} isToMove={toMove === far}>
        {hand(far)}
      </Side>
      <div class="bb-street">
        <Place title="The bar" note="scores" cards={shown.bar} names={names} kind="bar" />
        <div class="bb-queue">
          <p class="bb-ends" aria-hidden="true">
            <span>← Heaven’s Gate</span>
            <span>back</span>
          </p>
          <ol class="bb-slots" aria-label={`Queue, front first: ${plural(shown.queue.length, "card")}`}>
            {Array.from({ length: Math.max(CARDS_TO_OPEN, shown.queue.length) }, (_, place) => {
              const card = shown.queue[place];
              return (
                <li key={place} class={`bb-slot bb-slot-${place}`}>
                  {card ? (
                    <div
                      key={card}
                      data-card={card}
                      class={`bb-card${card === shown.actor ? " is-acting" : ""}${targets.has(place) ? " is-target" : ""}`}
                      onClick={targets.has(place) ? () => play(targets.get(place) ?? 0) : undefined}
                    >
                      <Card card={card} label={cardLabel(speciesOf(card), cardName(card, names))} />
                    </div>
                  ) : (
                    <span class="bb-empty" aria-hidden="true">
                      {place < 2 ? "goes in" : place === CARDS_TO_OPEN - 1 ? "is bounced" : ""}
                    </span>
                  )}
                </li>
              );
            })}
          </ol>
        </div>
        <Place title="That’s It" note="out of the game" cards={shown.thatsIt} names={names} kind="out" />
      </div>
      <div class="bb-story">
        <div class="bb-sentences" aria-live="polite">
          {isMoving ? <p>{shown.text}</p> : sentences.map((text, index) => <p key={index}>{text}</p>)}
          {!isMoving && sentences.length === 0 && (
            <p class="bb-hushed">When five stand in the queue, the first two enter and the last one is bounced.</p>
          )}
        </div>
        {isMoving ? (
          <Button tone="quiet" onClick={skip}>
            Skip
          </Button>
        ) : (
          again && (
            <Button tone="quiet" onClick={again}>
              Show again
            </Button>
          )
        )}
      </div>
      <Side
        player={near}
        name={names[near]}
        score={score(near)}
        pile={seen.piles[near] ?? 0}
        isToMove={toMove === near}
      >
        {hand(near)}
      </Side>
    </div>
  );
}

/** Cards of the queue that stand for a choice by themselves; the buttons below the hand offer all choices. */
function targetsOf(moves: readonly Move[]): ReadonlyMap<number, number> {
  const found = new Map<number, number>();
  for (const { animal, choices, action } of moves) {
    const [place, ...more] = choices;
    if (place !== undefined && more.length === 0 && animal !== "kangaroo") found.set(place, action);
  }
  return found;
}

interface SideProps {
  player: Player;
  name: string;
  score: string;
  pile: Cards;
  isToMove: boolean;
  children: preact.ComponentChildren;
}

function Side({ player, name, score, pile, isToMove, children }: SideProps) {
  return (
    <section class={`bb-side bb-side-${player}${isToMove ? " is-to-move" : ""}`} aria-label={name} data-side={player}>
      <p class="bb-who">
        <span class={`bb-colour bb-colour-${player}`} aria-hidden="true" />
        <span class="bb-name">{name}</span>
        <span>{score}</span>
        <span class="bb-pile">{count(pile)} in the pile</span>
      </p>
      {children}
    </section>
  );
}

interface PlaceProps {
  title: string;
  note: string;
  cards: readonly string[];
  names: readonly [string, string];
  kind: "bar" | "out";
}

function Place({ title, note, cards, names, kind }: PlaceProps) {
  return (
    <section class={`bb-place bb-place-${kind}`}>
      <h2>
        {title} <span>{note}</span>
      </h2>
      <ul class="bb-tokens">
        {cards.map((card) => (
          <li key={card} data-card={card} title={cardName(card, names)}>
            <Token card={card} label={cardName(card, names)} />
            {kind === "bar" && <span class="bb-gain">{SPECIES[speciesOf(card)].points}</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}

interface HandProps {
  cards: Cards;
  player: Player;
  names: readonly [string, string];
  /** Null where this player is not to move. */
  moves: ReadonlyMap<Species, readonly Move[]> | null;
  heat: ReadonlyMap<number, number> | null;
  hint: readonly number[];
  queue: readonly string[];
  chosen: string | null;
  onChoose: (card: string | null) => void;
  onPlay: ((action: number) => void) | null;
  /** Whether the room for choices stays while there is nothing to choose. */
  keepsRoom: boolean;
}

/** A hand: face down where it is hidden; a card is chosen first, and played by what it is to do. */
function Hand({ cards, player, names, moves, heat, hint, queue, chosen, onChoose, onPlay, keepsRoom }: HandProps) {
  const open = typeof cards === "number" ? [] : sorted(cards);
  const roving = useRoving(0, open.length);
  if (typeof cards === "number") {
    return (
      <div class="bb-hand bb-hand-hidden" role="img" aria-label={`${plural(cards, "card")}, face down`}>
        {Array.from({ length: cards }, (_, index) => (
          <CardBack key={index} owner={player} />
        ))}
      </div>
    );
  }
  const options = chosen === null ? [] : (moves?.get(speciesOf(chosen)) ?? []);
  const isHere = chosen !== null && open.includes(chosen) && onPlay !== null;
  const onKeyDown = (event: KeyboardEvent, index: number): void => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (by !== 0) {
      event.preventDefault();
      event.stopPropagation();
      roving.focus(Math.min(Math.max(index + by, 0), open.length - 1));
    } else if (isPress(event)) {
      event.preventDefault();
      event.currentTarget instanceof HTMLElement && event.currentTarget.click();
    }
  };
  return (
    <>
      <div class="bb-hand" role="group" aria-label={names[player] === YOU ? "Your hand" : `Hand of ${names[player]}`}>
        {open.map((card, index) => {
          const own = moves?.get(speciesOf(card)) ?? [];
          const share = own.reduce((sum, move) => sum + (heat?.get(move.action) ?? 0), 0);
          const isHinted = own.some((move) => hint.includes(move.action));
          const label = cardLabel(speciesOf(card), speciesOf(card));
          return (
            <div key={card} class="bb-held" data-card={card}>
              {onPlay ? (
                <button
                  {...roving.place(index)}
                  type="button"
                  class={`bb-pick${card === chosen ? " is-chosen" : ""}${isHinted ? " is-hinted" : ""}`}
                  aria-label={label}
                  aria-pressed={card === chosen}
                  onClick={() => onChoose(card === chosen ? null : card)}
                  onKeyDown={(event) => onKeyDown(event, index)}
                >
                  <Card card={card} />
                </button>
              ) : (
                <Card card={card} label={label} />
              )}
              {heat && own.length > 0 && <span class="bb-share">{percent(share)}</span>}
            </div>
          );
        })}
        {open.length === 0 && <p class="bb-hushed">No cards left.</p>}
      </div>
      {(onPlay || keepsRoom) && (
        <div class="bb-choice">
          {isHere && chosen ? (
            <>
              <p>
                <strong>{capital(speciesOf(chosen))}.</strong> {SPECIES[speciesOf(chosen)].ability}
              </p>
              <div class="bb-moves">
                {options.map((move) => (
                  <Button
                    key={move.action}
                    tone={options.length === 1 || hint.includes(move.action) ? "main" : "plain"}
                    data-action={move.action}
                    onClick={() => onPlay?.(move.action)}
                  >
                    {capital(meaning(move, queue, names) || `Play the ${move.animal}`)}
                  </Button>
                ))}
              </div>
            </>
          ) : (
            onPlay && <p class="bb-hushed">Choose a card to see what it does.</p>
          )}
        </div>
      )}
    </>
  );
}

/** All animals, strongest first, for the legend of the rules. */
export function Legend() {
  return (
    <div class="bb-legend">
      <p>
        The number is an animal’s strength, each dot a point that it scores in the bar. ↻ marks animals that act again
        in every turn.
      </p>
      <ul>
        {SPECIES_NAMES.map((species) => (
          <li key={species}>
            <Card card={`${species}0`} label={species} />
            <p>
              <strong>{capital(species)}</strong> {SPECIES[species].ability}
            </p>
          </li>
        ))}
      </ul>
    </div>
  );
}
