// Gomoku and tic-tac-toe: a move is a stone on a cell.
import { percent } from "../parts/format";
import type { BoardProps, GridSeen } from "./board";
import { isPress, useRoving } from "./focus";
import { Heat, LEAST_SHARE, WinningLine, type Places } from "./grid_marks";
import { cellName, columnLetter, moveFocus, starPoints, stoneAt, stoneOfCell, winningLine } from "./grid_model";
import "./boards.css";

const UNIT = 40;
/** Of a board's side, for its coordinates. */
const MARGIN = 0.05;
/** Smaller boards are drawn as cells with marks, larger ones as lines with stones. */
const LEAST_LINES = 6;

export default function GridBoard(props: BoardProps<GridSeen>) {
  const { seen, legal, last, heat, hint, names, onPlay, options, toMove } = props;
  const rows = seen.board;
  const size = rows.length;
  const hasLines = size >= LEAST_LINES;
  const actions = new Map(legal.map((each) => [each.action, each]));
  const fresh = stoneOfCell(rows, last);
  const won = toMove === "over" ? winningLine(rows, Number(options["line"] ?? size), fresh) : [];
  const middle = Math.floor(size / 2);
  const roving = useRoving(middle * size + middle);
  const isPlayable = onPlay !== null && legal.length > 0;

  const margin = size * UNIT * MARGIN;
  const x = (column: number): number => margin + (column + 0.5) * UNIT;
  const y = (row: number): number => (row + 0.5) * UNIT + 6;
  const width = margin + size * UNIT + 6;
  const height = size * UNIT + margin + 6;

  const onKeyDown = (event: KeyboardEvent, row: number, column: number): void => {
    const next = moveFocus({ row, column }, event.key, size, size);
    if (next !== null) {
      event.preventDefault();
      event.stopPropagation();
      roving.focus(next.row * size + next.column);
    } else if (isPress(event)) {
      event.preventDefault();
      play(row * size + column);
    }
  };
  const play = (action: number): void => {
    if (actions.has(action)) onPlay?.([action]);
  };
  const owner = (stone: string): string => (stone === "X" ? names[0] : stone === "O" ? names[1] : "empty");

  return (
    <svg
      class={`board board-grid${hasLines ? "" : " is-small"}${isPlayable ? " is-playable" : ""} next-${toMove}`}
      viewBox={`0 0 ${width} ${height}`}
      style={{ "--wide-text": `${(13 * width) / (hasLines ? 600 : 416)}px`, "--narrow-text": `${width / 30}px` }}
      role="grid"
      aria-label={`Board of ${size} by ${size}`}
    >
      <g aria-hidden="true">
        <rect class="board-wood" x={margin} y={6} width={size * UNIT} height={size * UNIT} rx={5} />
        <Lines size={size} hasLines={hasLines} x={x} y={y} />
        {rows.map((_, row) => (
          <text key={row} class="board-coordinate" x={0.73 * margin} y={y(row)} dy="0.35em" text-anchor="end">
            {size - row}
          </text>
        ))}
        {[...(rows[0] ?? "")].map((_, column) => (
          <text key={column} class="board-coordinate" x={x(column)} y={height - 0.3 * margin} text-anchor="middle">
            {columnLetter(column)}
          </text>
        ))}
      </g>
      {rows.map((text, row) => (
        <g key={row} role="row">
          {[...text].map((stone, column) => {
            const action = row * size + column;
            const share = heat?.get(action) ?? 0;
            const isLegal = actions.has(action);
            const name = `${cellName(rows, row, column)}, ${owner(stone)}`;
            return (
              <g
                key={column}
                {...roving.place(action)}
                role="gridcell"
                class={`cell${isLegal ? " is-legal" : ""}`}
                aria-label={share >= LEAST_SHARE ? `${name}, policy ${percent(share)}` : name}
                aria-disabled={isPlayable && !isLegal}
                data-action={action}
                onClick={() => play(action)}
                onKeyDown={(event) => onKeyDown(event, row, column)}
              >
                <rect class="cell-area" x={x(column) - UNIT / 2} y={y(row) - UNIT / 2} width={UNIT} height={UNIT} />
                {stone === "." ? (
                  <>
                    {isLegal && <Mark x={x(column)} y={y(row)} player={toMove} isStone={hasLines} isGhost />}
                    {share >= LEAST_SHARE && <Heat x={x(column)} y={y(row)} share={share} />}
                    {hint.includes(action) && <circle class="board-hint" cx={x(column)} cy={y(row)} r={15} />}
                  </>
                ) : (
                  <Mark x={x(column)} y={y(row)} player={stone === "X" ? 0 : 1} isStone={hasLines} />
                )}
              </g>
            );
          })}
        </g>
      ))}
      <g aria-hidden="true" class="board-marks">
        {won.length === 0 && fresh && (
          <circle
            class={hasLines ? `last-stone on-${stoneAt(rows, fresh.row, fresh.column)}` : "last-mark"}
            cx={x(fresh.column)}
            cy={y(fresh.row)}
            r={hasLines ? 5 : 18}
          />
        )}
        <WinningLine won={won} x={x} y={y} />
      </g>
    </svg>
  );
}

function Lines({ size, hasLines, x, y }: Places & { size: number; hasLines: boolean }) {
  const shift = hasLines ? 0 : UNIT / 2;
  const number = hasLines ? size : size - 1;
  const from = hasLines ? 0 : -UNIT / 2;
  return (
    <>
      {Array.from({ length: number }, (_, each) => (
        <g key={each}>
          <path class="board-line" d={`M${x(0) + from} ${y(each) + shift}H${x(size - 1) - from}`} />
          <path class="board-line" d={`M${x(each) + shift} ${y(0) + from}V${y(size - 1) - from}`} />
        </g>
      ))}
      {starPoints(size).map(({ row, column }) => (
        <circle key={`${row},${column}`} class="board-star" cx={x(column)} cy={y(row)} r={3.5} />
      ))}
    </>
  );
}

interface MarkProps {
  x: number;
  y: number;
  player: 0 | 1 | "chance" | "over";
  isStone: boolean;
  isGhost?: boolean;
}

function Mark({ x, y, player, isStone, isGhost = false }: MarkProps) {
  const kind = `stone stone-${player}${isGhost ? " is-ghost" : ""}`;
  if (isStone) return <circle class={kind} cx={x} cy={y} r={17} />;
  if (player === 0) {
    return <path class={`${kind} stone-drawn`} d={`M${x - 10} ${y - 10}l20 20M${x + 10} ${y - 10}l-20 20`} />;
  }
  return <circle class={`${kind} stone-drawn`} cx={x} cy={y} r={11} />;
}
