// A chart with its title and the values under the cursor, or the newest ones. uPlot itself arrives when it is needed.
import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { Format } from "../parts/format";
import { onThemeChange } from "../theme";
import { joined, valueAt, type Line } from "./lines";
import type { Plot } from "./plot";

interface ChartProps {
  title: string;
  lines: readonly Line[];
  formatX: (x: number) => string;
  /** Labels of the x axis; default: as `formatX`. */
  tickX?: Format;
  /** Distances between the ticks of the x axis to choose from; default: 1, 2, 5, 10 and so on. */
  ticksX?: number[] | undefined;
  formatY: Format;
  /** The least y range shown; null leaves that end to the data. */
  range?: readonly [number | null, number | null];
  height?: number;
  /** Charts with the same name share their cursor. */
  syncKey?: string;
  /** What to say while there is nothing to draw. */
  empty?: string;
}

const roundTicks = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10].flatMap((power) => [1, 2, 5].map((digit) => digit * 10 ** power));
const free: readonly [null, null] = [null, null];

export function Chart(props: ChartProps) {
  const {
    title,
    lines,
    formatX,
    tickX = formatX,
    ticksX,
    formatY,
    range = free,
    height = 168,
    syncKey = "run",
    empty,
  } = props;
  const place = useRef<HTMLDivElement>(null);
  const drawn = useRef<Plot | null>(null);
  const [cursor, setCursor] = useState<number | null>(null);
  const id = useId();
  const filled = lines.filter((line) => line.y.some((value) => value !== null));
  const latest = useRef({ filled, tickX, ticksX, formatY, range });
  latest.current = { filled, tickX, ticksX, formatY, range };
  // A chart is made anew when its lines are other lines; new values are only handed over.
  const shape = filled.map((line) => [line.name, line.colorIndex, line.low !== undefined].join(" ")).join("|");

  useEffect(() => {
    if (shape === "") return;
    let isWanted = true;
    const draw = async () => {
      const { plot } = await import("./plot");
      if (!isWanted || place.current === null) return;
      drawn.current?.end();
      drawn.current = plot(place.current, {
        lines: latest.current.filled,
        height,
        tickX: (x, fraction) => latest.current.tickX(x, fraction),
        ticksX: () => latest.current.ticksX ?? roundTicks,
        formatY: (y, fraction) => latest.current.formatY(y, fraction),
        range: latest.current.range,
        syncKey,
        onCursor: setCursor,
      });
    };
    void draw();
    const endTheme = onThemeChange(() => void draw());
    return () => {
      isWanted = false;
      endTheme();
      drawn.current?.end();
      drawn.current = null;
    };
  }, [shape, height, syncKey]);

  useEffect(() => drawn.current?.update(filled), [lines]);

  const along = joined(filled)[0] ?? [];
  const x = cursor === null ? undefined : (along[cursor] ?? undefined);
  return (
    <figure class="chart" aria-labelledby={id}>
      <figcaption class="chart-head">
        <span class="chart-title" id={id}>
          {title}
        </span>
        <span class="chart-values">
          {x !== undefined && <span class="chart-x">{formatX(x)}</span>}
          {filled.map((line) => (
            <Value key={line.name} line={line} x={x} isNamed={filled.length > 1} format={formatY} />
          ))}
        </span>
      </figcaption>
      {filled.length === 0 ? (
        <p class="chart-empty">{empty ?? "No values yet."}</p>
      ) : (
        <div
          class="chart-place"
          ref={place}
          role="img"
          aria-label={summary(title, filled, formatX, formatY)}
          tabIndex={0}
          onKeyDown={(event) => {
            const steps = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
            if (steps === undefined) return;
            event.preventDefault();
            drawn.current?.moveCursor(steps);
          }}
        />
      )}
    </figure>
  );
}

interface ValueProps {
  line: Line;
  x: number | undefined;
  isNamed: boolean;
  format: (y: number) => string;
}

function Value({ line, x, isNamed, format }: ValueProps) {
  const value = valueAt(line, x);
  return (
    <span class="chart-value">
      {isNamed && (
        <>
          <i class={`swatch swatch-${(line.colorIndex % 5) + 1}`} />
          {line.name}{" "}
        </>
      )}
      <b>{value === null ? "–" : format(value)}</b>
    </span>
  );
}

/** The chart in words, for those who do not see it. */
function summary(
  title: string,
  lines: readonly Line[],
  formatX: (x: number) => string,
  formatY: (y: number) => string,
): string {
  const parts = lines.map((line) => {
    const first = line.y.findIndex((value) => value !== null);
    const last = line.y.findLastIndex((value) => value !== null);
    const [from, to] = [line.y[first] ?? 0, line.y[last] ?? 0];
    const end = formatX(line.x[last] ?? 0);
    const name = lines.length > 1 ? `${line.name} ` : "";
    return first === last
      ? `${name}${formatY(to)} at ${end}`
      : `${name}from ${formatY(from)} to ${formatY(to)} at ${end}`;
  });
  return `${title}: ${parts.join("; ")}`;
}
