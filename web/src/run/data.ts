// All that the run page shows about one run: asked for once, then kept up to date by the live connection.
import { useEffect, useRef, useState } from "preact/hooks";
import type { components } from "../api";
import { ApiError, get, useGet, type Resource } from "../client";
import type { LiveMessage } from "../live";

type Schemas = components["schemas"];
type Metrics = Schemas["Metrics"];

/** Points of a curve that are asked for; with what arrives live there are up to twice as many. */
const maxPoints = 400;

export interface RunData {
  detail: Resource<Schemas["RunDetail"]>;
  train: Metrics | null;
  status: Metrics | null;
  ratings: Resource<Schemas["RatingPoint"][]>;
  events: Resource<Schemas["RunEvent"][]>;
  /** Takes in what the server says by itself. */
  take: (message: LiveMessage) => void;
  /** Asks for everything again. */
  reload: () => void;
}

/** Everything about `run`; null asks for nothing. */
export function useRunData(run: string | null): RunData {
  const path = { run: run ?? "" };
  const detail = useGet("/api/v1/runs/{run}", run === null ? null : { path });
  const ratings = useGet("/api/v1/runs/{run}/ratings", run === null ? null : { path });
  const events = useGet("/api/v1/runs/{run}/events", run === null ? null : { path });
  const train = useMetrics(run, "train");
  const status = useMetrics(run, "status");

  const take = (message: LiveMessage) => {
    switch (message.type) {
      case "hello":
        // What was written before the server began to tell.
        status.extend();
        train.extend();
        break;
      case "status":
        detail.update((shown) => ({ ...shown, ...message.data }));
        for (const { after_step, table } of message.data.new_records) {
          (table.kind === "train" ? train : status).append(table, after_step);
        }
        break;
      case "rating":
        ratings.reload(); // Every rating moves the fit of all.
        break;
      case "event":
        events.update((shown) => [message.data, ...shown]);
        if (message.data.kind === "start") {
          train.reload();
          status.reload();
        }
        break;
    }
  };
  const reload = () => {
    for (const each of [detail, ratings, events, train, status]) each.reload();
  };
  return { detail, train: train.data, status: status.data, ratings, events, take, reload };
}

/** A table of metrics that can be extended by the records written since. */
function useMetrics(run: string | null, kind: Metrics["kind"]) {
  const [data, setData] = useState<Metrics | null>(null);
  const shown = useRef<Metrics | null>(null);
  const asked = useRef<string | null>(null);

  const show = (metrics: Metrics | null) => {
    shown.current = metrics;
    setData(metrics);
  };
  const ask = async (afterStep: number) => {
    if (run === null || asked.current === run) return;
    asked.current = run;
    const before = afterStep < 0 ? null : shown.current;
    try {
      const query = { kind, after_step: afterStep, max_points: maxPoints };
      const fresh = await get("/api/v1/runs/{run}/metrics", { path: { run }, query });
      if (asked.current === run) show(before === null ? fresh : appended(before, fresh, afterStep));
    } catch (error) {
      // The page's other requests say what is wrong; a curve only stays as it is.
      if (!(error instanceof ApiError)) throw error;
    } finally {
      if (asked.current === run) asked.current = null;
    }
  };
  const reload = () => void ask(-1);
  // A step may have more records later, as while training waits: its last ones are asked for again.
  const extend = () => {
    const steps = shown.current?.columns["step"] ?? [];
    void ask(steps.length > 2 * maxPoints ? -1 : Math.max(-1, Math.floor(steps.at(-1) ?? 0) - 1));
  };
  const append = (fresh: Metrics, afterStep: number) => {
    const before = shown.current;
    if (before === null) return;
    if ((before.columns["step"]?.length ?? 0) > 2 * maxPoints) reload();
    else show(appended(before, fresh, afterStep));
  };
  useEffect(() => {
    show(null);
    reload();
  }, [run]);
  return { data, reload, extend, append };
}

/** What there was up to a step and then the newer table; a column that one of them lacks is null there. */
export function appended(before: Metrics, after: Metrics, afterStep: number): Metrics {
  const steps = before.columns["step"] ?? [];
  const isKept = steps.map((step) => step !== null && step <= afterStep);
  const numKept = isKept.filter(Boolean).length;
  const numNew = after.columns["step"]?.length ?? 0;
  const names = new Set([...Object.keys(before.columns), ...Object.keys(after.columns)]);
  const columns: Metrics["columns"] = {};
  for (const name of names) {
    const first = before.columns[name]?.filter((_, index) => isKept[index]) ?? Array<null>(numKept).fill(null);
    const second = after.columns[name] ?? Array<null>(numNew).fill(null);
    columns[name] = [...first, ...second];
  }
  return { ...after, columns };
}
