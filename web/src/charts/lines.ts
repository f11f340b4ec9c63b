// The data of a chart: lines that may each have x values of their own.

export interface Line {
  name: string;
  x: readonly number[];
  y: readonly (number | null)[];
  /** Ends of each point's interval. */
  low?: readonly (number | null)[];
  high?: readonly (number | null)[];
  /** Which of the design's series colours. */
  colorIndex: number;
  isDashed?: boolean;
}

/** One ascending list of all x values, then per line its y there, undefined where it has none. */
export function joined(lines: readonly Line[]): (number | null | undefined)[][] {
  const along = [...new Set(lines.flatMap((line) => line.x))].sort((a, b) => a - b);
  const place = new Map(along.map((x, index) => [x, index]));
  const columns = lines.map((line) => {
    const column = new Array<number | null | undefined>(along.length).fill(undefined);
    line.x.forEach((x, index) => {
      const at = place.get(x);
      if (at !== undefined) column[at] = line.y[index] ?? null;
    });
    return column;
  });
  return [along, ...columns];
}

/** The line's value at or before `x`: what a reader sees above a cursor. Without `x`, its last value. */
export function valueAt(line: Line, x?: number): number | null {
  for (let index = line.x.length - 1; index >= 0; index--) {
    const here = line.x[index];
    const value = line.y[index] ?? null;
    if (value !== null && here !== undefined && (x === undefined || here <= x)) return value;
  }
  return null;
}
