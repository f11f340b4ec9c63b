// Marks on boards of stones: the policy's heat map and the winning line.
import type { Stone } from "./grid_model";

/** Actions below this probability are not drawn. */
export const LEAST_SHARE = 0.005;
const LEAST_TEXT = 0.04;

/** The middle of a cell. */
export interface Places {
  x: (column: number) => number;
  y: (row: number) => number;
}

export function Heat({ x, y, share }: { x: number; y: number; share: number }) {
  return (
    <g aria-hidden="true" class="heat">
      <circle class="heat-spot" cx={x} cy={y} r={8 + 11 * Math.sqrt(share)} opacity={0.15 + 0.85 * Math.sqrt(share)} />
      {share >= LEAST_TEXT && (
        <text class="heat-text" x={x} y={y + 4} text-anchor="middle">
          {Math.round(share * 100)}
        </text>
      )}
    </g>
  );
}

export function WinningLine({ won, x, y }: Places & { won: readonly Stone[] }) {
  const [first, final] = [won[0], won[won.length - 1]];
  if (first === undefined || final === undefined) return null;
  return <path class="winning-line" d={`M${x(first.column)} ${y(first.row)}L${x(final.column)} ${y(final.row)}`} />;
}
