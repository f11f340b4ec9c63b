// Connect Four: a move drops a piece into a column.
import { percent } from "../parts/format";
import type { BoardProps, GridSeen } from "./board";
import { isPress, useRoving } from "./focus";
import { Heat, LEAST_SHARE, WinningLine } from "./grid_marks";
import { landingRow, moveFocus, pieceOfColumn, stoneAt, winningLine } from "./grid_model";
import "./boards.css";

const UNIT = 56;
const TOP = 26;
const RADIUS = 22;
const LINE = 4;

export default function DropBoard(props: BoardProps<GridSeen>) {
  const { seen, legal, last, heat, hint, names, onPlay, toMove } = props;
  const rows = seen.board;
  const numRows = rows.length;
  const numColumns = rows[0]?.length ?? 0;
  const open = new Set(legal.map((each) => each.action));
  const fresh = pieceOfColumn(rows, last);
  const won = toMove === "over" ? winningLine(rows, LINE, fresh) : [];
  const roving = useRoving(Math.floor(numColumns / 2));
  const isPlayable = onPlay !== null && legal.length > 0;

  const x = (column: number): number => 8 + (column + 0.5) * UNIT;
  const y = (row: number): number => TOP + 8 + (row + 0.5) * UNIT;
  const width = numColumns * UNIT + 16;
  const height = TOP + numRows * UNIT + 16;

  const play = (column: number): void => {
    if (open.has(column)) onPlay?.([column]);
  };
  const onKeyDown = (event: KeyboardEvent, column: number): void => {
    const next = moveFocus({ row: 0, column }, event.key, 1, numColumns);
    const digit = Number.parseInt(event.key, 10) - 1;
    if (next !== null) {
      event.preventDefault();
      event.stopPropagation();
      roving.focus(next.column);
    } else if (isPress(event)) {
      event.preventDefault();
      play(column);
    } else if (digit >= 0 && digit < numColumns) {
      roving.focus(digit);
      play(digit);
    }
  };

  return (
    <svg
      class={`board board-drop${isPlayable ? " is-playable" : ""} next-${toMove}`}
      viewBox={`0 0 ${width} ${height}`}
      style={{ "--wide-text": `${(13 * width) / 576}px`, "--narrow-text": `${width / 30}px` }}
      role="group"
      aria-label={`Board of ${numColumns} columns with ${numRows} cells each`}
    >
      <rect class="drop-frame" x={0} y={TOP} width={width} height={height - TOP} rx={10} />
      {Array.from({ length: numColumns }, (_, column) => {
        const landing = landingRow(rows, column);
        const isOpen = open.has(column);
        const share = heat?.get(column) ?? 0;
        return (
          <g
            key={column}
            {...roving.place(column)}
            role="button"
            class={`column${isOpen ? " is-legal" : ""}`}
            aria-label={columnLabel(rows, column, names, share)}
            aria-disabled={!isOpen}
            data-action={column}
            onClick={() => play(column)}
            onKeyDown={(event) => onKeyDown(event, column)}
          >
            <rect class="column-area" x={x(column) - UNIT / 2} y={0} width={UNIT} height={height} rx={6} />
            <rect class="column-glow" x={x(column) - UNIT / 2} y={TOP} width={UNIT} height={height - TOP} />
            <text class="board-coordinate" x={x(column)} y={17} text-anchor="middle" aria-hidden="true">
              {column + 1}
            </text>
            {rows.map((_, row) => (
              <Piece key={row} stone={stoneAt(rows, row, column)} x={x(column)} y={y(row)} />
            ))}
            {landing !== null && (
              <g aria-hidden="true">
                {isOpen && (
                  <circle class={`piece piece-${toMove} is-ghost`} cx={x(column)} cy={y(landing)} r={RADIUS} />
                )}
                {share >= LEAST_SHARE && <Heat x={x(column)} y={y(landing)} share={share} />}
                {hint.includes(column) && <circle class="board-hint" cx={x(column)} cy={y(landing)} r={RADIUS - 2} />}
              </g>
            )}
          </g>
        );
      })}
      <g aria-hidden="true" class="board-marks">
        {won.length === 0 && fresh && <circle class="last-piece" cx={x(fresh.column)} cy={y(fresh.row)} r={6} />}
        <WinningLine won={won} x={x} y={y} />
      </g>
    </svg>
  );
}

function Piece({ stone, x, y }: { stone: string; x: number; y: number }) {
  if (stone === ".") return <circle class="hole" cx={x} cy={y} r={RADIUS} />;
  const player = stone === "X" ? 0 : 1;
  return (
    <g>
      <circle class={`piece piece-${player}`} cx={x} cy={y} r={RADIUS} />
      <circle class={`piece-rim piece-rim-${player}`} cx={x} cy={y} r={RADIUS - 6} pathLength={96} />
    </g>
  );
}

/** What a screen reader says of a column: its pieces from the bottom up. */
export function columnLabel(
  rows: readonly string[],
  column: number,
  names: readonly [string, string],
  share: number,
): string {
  const stones = rows
    .map((_, row) => stoneAt(rows, rows.length - 1 - row, column))
    .filter((stone) => stone !== ".")
    .map((stone) => (stone === "X" ? names[0] : names[1]));
  const held =
    stones.length === rows.length ? "full" : stones.length ? `from the bottom ${stones.join(", ")}` : "empty";
  return `Column ${column + 1}, ${held}${share >= LEAST_SHARE ? `, policy ${percent(share)}` : ""}`;
}
