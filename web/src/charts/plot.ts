// uPlot with the design's look: thin lines, a faint grid, intervals as bars. Loaded when a chart is first shown.
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { canvasFont, color, seriesColor } from "../design";
import { tickLabels, type Format } from "../parts/format";
import type { Line } from "./lines";
import { joined } from "./lines";

export interface PlotSpec {
  lines: readonly Line[];
  height: number;
  /** Labels of the x axis. */
  tickX: Format;
  /** Distances between ticks to choose from. */
  ticksX: () => number[];
  formatY: Format;
  /** The least y range shown; null leaves that end to the data. */
  range: readonly [number | null, number | null];
  /** Charts with the same name share their cursor. */
  syncKey: string;
  /** The cursor is on this point of the joined x values, or gone. */
  onCursor: (index: number | null) => void;
}

/** A drawn chart: takes new lines, moves its cursor by keyboard, and is taken away with `end`. */
export interface Plot {
  update: (lines: readonly Line[]) => void;
  moveCursor: (steps: number) => void;
  end: () => void;
}

export function plot(place: HTMLElement, spec: PlotSpec): Plot {
  let lines = spec.lines;
  const font = canvasFont(11);
  const axis: uPlot.Axis = {
    stroke: color("ink-soft"),
    font,
    ticks: { show: false },
    border: { show: false },
  };
  const options: uPlot.Options = {
    width: place.clientWidth,
    height: spec.height,
    padding: [8, 16, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { size: 7 }, drag: { x: false, y: false }, sync: { key: spec.syncKey } },
    scales: { x: { time: false }, y: { range: (_, low, high) => yRange(lines, spec.range, low, high) } },
    axes: [
      {
        ...axis,
        grid: { show: false },
        gap: 4,
        size: 24,
        space: 44,
        incrs: () => spec.ticksX(),
        values: (_, ticks) => tickLabels(ticks, spec.tickX),
      },
      {
        ...axis,
        grid: { stroke: color("line"), width: 1 },
        gap: 6,
        space: 36,
        size: (self, values) => labelWidth(self, values),
        values: (_, ticks) => tickLabels(ticks, spec.formatY),
      },
    ],
    series: [
      {},
      ...lines.map(({ low, colorIndex, isDashed }) => ({
        stroke: seriesColor(colorIndex),
        width: 1.75,
        spanGaps: true,
        points: {
          show: (self: uPlot, index: number) => low !== undefined || isSingle(self.data[index]),
          size: 6,
          fill: seriesColor(colorIndex),
        },
        ...(isDashed ? { dash: [4, 4] } : {}),
      })),
    ],
    hooks: {
      drawSeries: [(self, index) => drawIntervals(self, index, lines)],
      setCursor: [(self) => spec.onCursor(self.cursor.idx ?? null)],
    },
  };
  const self = new uPlot(options, joined(lines) as uPlot.AlignedData, place);
  const observer = new ResizeObserver(() => {
    if (place.clientWidth > 0) self.setSize({ width: place.clientWidth, height: spec.height });
  });
  observer.observe(place);

  return {
    update(next) {
      lines = next;
      self.setData(joined(next) as uPlot.AlignedData);
    },
    moveCursor(steps) {
      const along = self.data[0];
      const last = along.length - 1;
      const from = self.cursor.idx ?? (steps > 0 ? -1 : last + 1);
      const to = Math.max(0, Math.min(last, from + steps));
      const x = along[to];
      if (x !== undefined) self.setCursor({ left: self.valToPos(x, "x"), top: 0 });
    },
    end() {
      observer.disconnect();
      self.destroy();
    },
  };
}

/** Whether only one value is there to draw, which makes no line. */
function isSingle(values: uPlot.AlignedData[number] | undefined): boolean {
  return Array.from(values ?? []).filter((value) => value !== null && value !== undefined).length === 1;
}

/** Room for the widest label of the y axis. */
function labelWidth(self: uPlot, values: string[] | null): number {
  if (values === null) return 40;
  self.ctx.font = canvasFont(11 * devicePixelRatio);
  const widest = Math.max(0, ...values.map((value) => self.ctx.measureText(value ?? "").width));
  return Math.ceil(widest / devicePixelRatio) + 10;
}

/** All values and intervals with a little air, and at least the wanted range. */
function yRange(
  lines: readonly Line[],
  [least, most]: readonly [number | null, number | null],
  low: number | null,
  high: number | null,
): [number, number] {
  const ends = lines.flatMap((line) => [...(line.low ?? []), ...(line.high ?? [])]).filter((end) => end !== null);
  const bottom = Math.min(...ends, low ?? 0, least ?? Infinity);
  const top = Math.max(...ends, high ?? 1, most ?? -Infinity);
  const air = (top - bottom || Math.abs(top) || 1) * 0.06;
  return [bottom === least ? bottom : bottom - air, top === most ? top : top + air];
}

/** A thin bar from low to high at each point of a line that has intervals. */
function drawIntervals(self: uPlot, index: number, lines: readonly Line[]): void {
  const line = lines[index - 1];
  if (line?.low === undefined || line.high === undefined) return;
  const { ctx } = self;
  ctx.save();
  ctx.strokeStyle = seriesColor(line.colorIndex);
  ctx.globalAlpha = 0.55;
  ctx.lineWidth = 1.25 * devicePixelRatio;
  ctx.beginPath();
  line.x.forEach((x, point) => {
    const low = line.low?.[point] ?? null;
    const high = line.high?.[point] ?? null;
    if (low === null || high === null) return;
    const left = Math.round(self.valToPos(x, "x", true));
    ctx.moveTo(left, self.valToPos(low, "y", true));
    ctx.lineTo(left, self.valToPos(high, "y", true));
  });
  ctx.stroke();
  ctx.restore();
}
