// Boards of stones: Gomoku and tic-tac-toe (an action is a cell), Connect Four (an action is a column).

import type { LastTurn } from "./board";

export interface Stone {
  readonly row: number;
  readonly column: number;
}

export function stoneAt(rows: readonly string[], row: number, column: number): string {
  return rows[row]?.[column] ?? "";
}

/** a1 is at the bottom left, as in `position.action_text`. */
export function cellName(rows: readonly string[], row: number, column: number): string {
  return `${columnLetter(column)}${rows.length - row}`;
}

export function columnLetter(column: number): string {
  return String.fromCharCode("a".charCodeAt(0) + column);
}

/** Where a piece dropped into this column comes to rest; null if the column is full. */
export function landingRow(rows: readonly string[], column: number): number | null {
  for (let row = rows.length - 1; row >= 0; row -= 1) {
    if (stoneAt(rows, row, column) === ".") return row;
  }
  return null;
}

/** The stone that the last action put on a board of cells. */
export function stoneOfCell(rows: readonly string[], last: LastTurn | null): Stone | null {
  const action = last?.actions[last.actions.length - 1];
  const width = rows[0]?.length ?? 1;
  return action === undefined ? null : { row: Math.floor(action / width), column: action % width };
}

/** The piece that the last action dropped: the topmost of its column. */
export function pieceOfColumn(rows: readonly string[], last: LastTurn | null): Stone | null {
  const column = last?.actions[last.actions.length - 1];
  if (column === undefined) return null;
  const row = rows.findIndex((text) => text[column] !== ".");
  return row < 0 ? null : { row, column };
}

export function cells(rows: readonly string[]): readonly Stone[] {
  return rows.flatMap((text, row) => [...text].map((_, column) => ({ row, column })));
}

const DIRECTIONS = [
  [0, 1],
  [1, 0],
  [1, 1],
  [1, -1],
] as const;

/** The stones of the longest unbroken line of at least `length` through `last`, or of any if null. */
export function winningLine(rows: readonly string[], length: number, last: Stone | null): readonly Stone[] {
  const starts = last === null ? cells(rows) : [last];
  let best: readonly Stone[] = [];
  for (const start of starts) {
    const stone = stoneAt(rows, start.row, start.column);
    if (stone !== "X" && stone !== "O") continue;
    for (const [down, right] of DIRECTIONS) {
      const line = lineThrough(rows, start, down, right);
      if (line.length >= length && line.length > best.length) best = line;
    }
  }
  return best;
}

function lineThrough(rows: readonly string[], start: Stone, down: number, right: number): readonly Stone[] {
  const stone = stoneAt(rows, start.row, start.column);
  const along = (sign: number): Stone[] => {
    const found: Stone[] = [];
    for (let step = 1; ; step += 1) {
      const row = start.row + sign * step * down;
      const column = start.column + sign * step * right;
      if (stoneAt(rows, row, column) !== stone) return found;
      found.push({ row, column });
    }
  };
  return [...along(-1).reverse(), start, ...along(1)];
}

/** Where to draw the dots of a board of stones; none on small boards. */
export function starPoints(size: number): readonly Stone[] {
  if (size < 9) return [];
  const edge = size < 13 ? 2 : 3;
  const middle = (size - 1) / 2;
  const lines = Number.isInteger(middle) ? [edge, middle, size - 1 - edge] : [edge, size - 1 - edge];
  return lines.flatMap((row) =>
    lines.filter((column) => (row === middle) === (column === middle)).map((column) => ({ row, column })),
  );
}

/** The cell that an arrow key leads to; the same one at an edge. */
export function moveFocus(at: Stone, key: string, numRows: number, numColumns: number): Stone | null {
  const clamp = (value: number, most: number): number => Math.min(Math.max(value, 0), most - 1);
  const to = (row: number, column: number): Stone => ({
    row: clamp(row, numRows),
    column: clamp(column, numColumns),
  });
  switch (key) {
    case "ArrowUp":
      return to(at.row - 1, at.column);
    case "ArrowDown":
      return to(at.row + 1, at.column);
    case "ArrowLeft":
      return to(at.row, at.column - 1);
    case "ArrowRight":
      return to(at.row, at.column + 1);
    case "Home":
      return to(at.row, 0);
    case "End":
      return to(at.row, numColumns - 1);
    default:
      return null;
  }
}
