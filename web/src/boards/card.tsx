// A card of Beasty Bar: strength, points, the animal and its ability in a word; its frame has its owner's colour.
import { Animal } from "./animals";
import { SPECIES, ownerOf, speciesOf, type Species } from "./beastybar_model";
import type { Player } from "./board";

export const CARD_WIDTH = 92;
export const CARD_HEIGHT = 132;

interface CardProps {
  card: string;
  /** What a screen reader says; none where the card stands in a button that says it. */
  label?: string;
}

export function Card({ card, label }: CardProps) {
  const species = speciesOf(card);
  const { strength, points, word, recurs } = SPECIES[species];
  return (
    <svg
      class={`card card-${ownerOf(card)}`}
      viewBox={`0 0 ${CARD_WIDTH} ${CARD_HEIGHT}`}
      {...(label ? { role: "img", "aria-label": label } : { "aria-hidden": true })}
    >
      <rect class="card-face" x={1.5} y={1.5} width={CARD_WIDTH - 3} height={CARD_HEIGHT - 3} rx={8} />
      <path class="card-band" d={`M1.5 108h${CARD_WIDTH - 3}v14.5a8 8 0 0 1-8 8h-${CARD_WIDTH - 19}a8 8 0 0 1-8-8z`} />
      <text class="card-strength" x={9} y={24}>
        {strength}
      </text>
      <g class="card-points">
        {Array.from({ length: points }, (_, index) => (
          <circle key={index} cx={CARD_WIDTH - 12 - index * 9} cy={16} r={3.4} />
        ))}
      </g>
      <g transform="translate(17 28) scale(0.9)">
        <Animal species={species} />
      </g>
      <text class="card-name" x={CARD_WIDTH / 2} y={101} text-anchor="middle">
        {species}
      </text>
      <text class="card-word" x={CARD_WIDTH / 2} y={123} text-anchor="middle">
        {recurs ? `↻ ${word}` : word}
      </text>
    </svg>
  );
}

/** A card face down. */
export function CardBack({ owner, label }: { owner: Player; label?: string }) {
  return (
    <svg
      class={`card card-${owner} card-back`}
      viewBox={`0 0 ${CARD_WIDTH} ${CARD_HEIGHT}`}
      {...(label ? { role: "img", "aria-label": label } : { "aria-hidden": true })}
    >
      <rect class="card-face" x={1.5} y={1.5} width={CARD_WIDTH - 3} height={CARD_HEIGHT - 3} rx={8} />
      <rect class="card-lining" x={9} y={9} width={CARD_WIDTH - 18} height={CARD_HEIGHT - 18} rx={4} />
      <g class="card-paw" transform={`translate(${CARD_WIDTH / 2} ${CARD_HEIGHT / 2 + 4})`}>
        <ellipse cx={0} cy={8} rx={13} ry={11} />
        <circle cx={-16} cy={-5} r={5.5} />
        <circle cx={-6} cy={-13} r={5.5} />
        <circle cx={6} cy={-13} r={5.5} />
        <circle cx={16} cy={-5} r={5.5} />
      </g>
    </svg>
  );
}

/** A small round token, for cards that have left the queue. */
export function Token({ card, label }: { card: string; label: string }) {
  return (
    <svg class={`token token-${ownerOf(card)}`} viewBox="0 0 72 72" role="img" aria-label={label}>
      <circle class="token-face" cx={36} cy={36} r={34} />
      <g transform="translate(13 12) scale(0.72)">
        <Animal species={speciesOf(card)} />
      </g>
    </svg>
  );
}

/** What a screen reader says of a card: everything that is printed on it. */
export function cardLabel(species: Species, whose: string): string {
  const { strength, points, ability } = SPECIES[species];
  return `${whose}: strength ${strength}, ${points} points. ${ability}`;
}
