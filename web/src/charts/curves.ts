// The lines of a run's charts, derived from its metrics and ratings. Nothing here draws.
import type { components } from "../api";
import { short } from "../parts/format";
import type { Line } from "./lines";

type Metrics = components["schemas"]["Metrics"];
type RatingPoint = components["schemas"]["RatingPoint"];
type Columns = Metrics["columns"];
type Values = (number | null)[];

/** What the x axis of all charts of a run counts. */
export type Along = "time" | "games" | "step";

/** A run's line in a chart that may show two: its name there and its colour. */
export interface Look {
  name: string;
  colorIndex: number;
}

export function formatAlong(along: Along): (x: number) => string {
  return along === "time" ? clock : (x) => `${short(x)} ${along === "games" ? "games" : "steps"}`;
}

/** Distances between ticks that are round in that unit; undefined where powers of ten are. */
export function ticksAlong(along: Along): number[] | undefined {
  if (along !== "time") return undefined;
  const hours = [1, 2, 3, 6, 12, 24, 48, 96, 168, 336, 672];
  return [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, ...hours.map((hour) => 3600 * hour)];
}

/** Training time on an axis: `40 s`, `3 min`, `3:30 min`, `2:30 h`. */
export function clock(seconds: number): string {
  if (seconds < 59.5) return `${Math.round(seconds)} s`;
  if (seconds < 3599.5) return `${inSixtieths(seconds)} min`;
  return `${inSixtieths(seconds / 60)} h`;
}

/** The same in short, beside ticks that name the unit: `1:30`. */
export function clockTick(seconds: number): string {
  return clock(seconds).replace(/(:\d\d) .*/, "$1");
}

/** 90 is `1:30`, 120 is `2`. */
function inSixtieths(parts: number): string {
  const rounded = Math.round(parts);
  const [whole, rest] = [Math.floor(rounded / 60), rounded % 60];
  return rest === 0 ? String(whole) : `${whole}:${String(rest).padStart(2, "0")}`;
}

function xs(columns: Columns, along: Along): Values {
  return columns[along === "time" ? "trained_s" : along] ?? [];
}

/** One column of the metrics as a line. */
export function curve(metrics: Metrics, name: string, along: Along, look: Look): Line {
  return line(xs(metrics.columns, along), metrics.columns[name] ?? [], look);
}

/** How fast a counter grows, per second of training time, between neighbouring records. */
export function speed(metrics: Metrics, counter: string, along: Along, look: Look): Line {
  const seconds = gains(metrics.columns["trained_s"] ?? []);
  const gained = gains(metrics.columns[counter] ?? []);
  const perSecond = gained.map((gain, index) => ratio(gain, seconds[index] ?? null));
  return line(xs(metrics.columns, along).slice(1), perSecond, look);
}

/** The share of its time that a side waits, from the counters of waiting and working seconds. */
export function waitingShare(
  metrics: Metrics,
  waiting: string,
  working: readonly string[],
  along: Along,
  look: Look,
): Line {
  const waited = gains(metrics.columns[waiting] ?? []);
  const worked = working.map((name) => gains(metrics.columns[name] ?? []));
  const shares = waited.map((seconds, index) => {
    const parts = worked.map((gained) => gained[index] ?? 0);
    return ratio(seconds, (seconds ?? 0) + parts.reduce((sum, part) => sum + part, 0));
  });
  return line(xs(metrics.columns, along).slice(1), shares, look);
}

/**
 * A rating of each step, in their order. The newest step is left out while it has met fewer opponents than the one
 * before: its rating is still being played, and says little.
 */
export function ratedSteps(ratings: readonly RatingPoint[]): RatingPoint[] {
  const steps = new Map<number, RatingPoint[]>();
  for (const point of ratings) {
    if (point.elo !== null) steps.set(point.step, [...(steps.get(point.step) ?? []), point]);
  }
  const ascending = [...steps].sort((a, b) => a[0] - b[0]).map(([, points]) => points);
  const numOpponents = (points: RatingPoint[] | undefined) => new Set(points?.map((point) => point.opponent)).size;
  if (numOpponents(ascending.at(-1)) < numOpponents(ascending.at(-2))) ascending.pop();
  return ascending.flatMap((points) => points.slice(-1));
}

/** Elo of each rated step with its interval. */
export function eloLine(ratings: readonly RatingPoint[], along: Along, look: Look): Line {
  const points = ratedSteps(ratings);
  return {
    name: look.name,
    colorIndex: look.colorIndex,
    x: points.map((point) => ratingX(point, along)),
    y: points.map((point) => point.elo),
    low: points.map((point) => point.elo_low),
    high: points.map((point) => point.elo_high),
  };
}

/** The score against each opponent with its interval, one line per opponent that was met more than once. */
export function scoreLines(ratings: readonly RatingPoint[], along: Along): Line[] {
  const opponents = [...new Set(ratings.map((point) => point.opponent))];
  return opponents
    .map((opponent) => ({ opponent, points: ratings.filter((point) => point.opponent === opponent) }))
    .filter(({ points }) => points.length > 1)
    .map(({ opponent, points }, index) => ({
      name: opponent,
      colorIndex: index,
      x: points.map((point) => ratingX(point, along)),
      y: points.map((point) => point.score),
      low: points.map((point) => point.score_low),
      high: points.map((point) => point.score_high),
    }));
}

function ratingX(point: RatingPoint, along: Along): number {
  return along === "time" ? point.trained_s : along === "games" ? point.run_games : point.step;
}

/** Growth from each record to the next; null where either lacks the value or the counter began again. */
function gains(counter: readonly (number | null)[]): Values {
  return counter.slice(1).map((after, index) => {
    const before = counter[index] ?? null;
    return before === null || after === null || after < before ? null : after - before;
  });
}

function ratio(part: number | null, whole: number | null): number | null {
  return part === null || whole === null || whole <= 0 ? null : part / whole;
}

/** Points without an x are left out, and of several at one x the last counts. */
function line(x: Values, y: Values, look: Look): Line {
  const points = new Map<number, number | null>();
  x.forEach((at, index) => {
    if (at !== null) points.set(at, y[index] ?? null);
  });
  const ascending = [...points].sort((a, b) => a[0] - b[0]);
  return {
    name: look.name,
    colorIndex: look.colorIndex,
    x: ascending.map(([at]) => at),
    y: ascending.map(([, value]) => value),
  };
}
