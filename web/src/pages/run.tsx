// One run, live: strength, losses, who waits for whom, settings, events; with ?beside=OTHER two runs in one page.
import { useEffect, useRef } from "preact/hooks";
import type { components } from "../api";
import { ratedSteps, type Along } from "../charts/curves";
import { useGet } from "../client";
import { useLive } from "../live";
import { Choice, Select } from "../parts/controls";
import { count, duration, elo, short } from "../parts/format";
import { Figures, type Figure } from "../parts/figures";
import { Empty, ErrorNote, Loading, Section } from "../parts/page";
import { go, withQuery, type PageProps } from "../router";
import { Losses, Strength, Throughput, type Shown } from "../run/curves";
import { useRunData, type RunData } from "../run/data";
import { Events } from "../run/events";
import { RunHead } from "../run/head";
import { Settings } from "../run/settings";
import { MachineUse, Stages } from "../run/stages";
import "../styles/charts.css";
import "../styles/run.css";

type RunDetail = components["schemas"]["RunDetail"];

const alongs: readonly { value: Along; text: string }[] = [
  { value: "time", text: "Time" },
  { value: "games", text: "Games" },
  { value: "step", text: "Steps" },
];

export default function RunPage({ params, query }: PageProps) {
  const name = params["run"] ?? "";
  const besideName = query.get("beside");
  const along = alongs.find(({ value }) => value === query.get("x"))?.value ?? "time";
  const data = useRunData(name);
  const other = useRunData(besideName);
  useLive(data.detail.data === null ? null : name, data.take, data.reload);
  // A run that ends writes nothing more: only asking tells.
  useReloadEvery(data.detail.data?.is_training ? 15 : null, data.detail.reload);
  useReloadEvery(other.detail.data?.is_training ? 10 : null, other.reload);

  const run = data.detail.data;
  const beside = other.detail.data;
  if (run === null) {
    return (
      <>
        <RunHead name={name} run={null} page="overview" />
        <div class="section">{data.detail.error ? <ErrorNote error={data.detail.error} /> : <Loading />}</div>
      </>
    );
  }
  const runs = [shown(name, 0, data), ...(besideName !== null && beside !== null ? [shown(besideName, 1, other)] : [])];
  const details = beside === null ? [run] : [run, beside];
  return (
    <>
      <RunHead name={name} run={run} page="overview">
        <BesideSelect name={name} beside={besideName} />
      </RunHead>
      {[run.fault, beside?.fault ?? ""].map((fault) => fault !== "" && <p class="note note-alert section">{fault}</p>)}
      {other.detail.error && (
        <div class="section">
          <ErrorNote error={other.detail.error} />
        </div>
      )}
      <div class="section">
        {details.map((each, index) => (
          <div key={each.name} class="run-figures">
            {beside !== null && <RunName name={each.name} index={index} />}
            <Figures figures={figures(each, runs[index])} />
          </div>
        ))}
      </div>
      {!run.is_training && run.totals.steps === 0 && run.totals.games === 0 && (
        <div class="section">
          <Empty title="Nothing played yet" command={`zerofleet train ${run.game} --run ${run.name}`}>
            Start or resume the run; this page follows it.
          </Empty>
        </div>
      )}
      <Section
        title="Pipeline"
        note={run.is_training ? "Over the last seconds." : "As it was when the run last trained."}
      >
        <div class={beside !== null ? "two-columns" : run.is_training ? "pipeline pipeline-with-machine" : "pipeline"}>
          {details.map((each, index) => (
            <div key={each.name}>
              {beside !== null && <RunName name={each.name} index={index} />}
              <Stages stages={each.stages} isTraining={each.is_training} />
            </div>
          ))}
          {run.is_training && <MachineUse machine={run.machine} />}
        </div>
      </Section>
      <div class="along">
        <span class="soft">Charts over</span>
        <Choice
          label="What the charts run along"
          value={along}
          options={alongs}
          onChange={(value) => go(withQuery({ x: value === "time" ? null : value }), { replace: true })}
        />
      </div>
      <Strength runs={runs} along={along} />
      <Losses runs={runs} along={along} />
      <Throughput runs={runs} along={along} />
      <Settings run={run} beside={beside} />
      <Events events={data.events.data ?? []} />
    </>
  );
}

function shown(name: string, colorIndex: number, data: RunData): Shown {
  return { name, colorIndex, train: data.train, status: data.status, ratings: data.ratings.data ?? [] };
}

/** Totals of a run and its newest rating. */
function figures(run: RunDetail, curves: Shown | undefined): Figure[] {
  const rating = ratedSteps(curves?.ratings ?? []).at(-1);
  const interval =
    rating === undefined || rating.elo_low === null || rating.elo_high === null
      ? undefined
      : `${elo(rating.elo_low)} to ${elo(rating.elo_high)}`;
  return [
    { label: "Elo", value: rating?.elo == null ? "–" : elo(rating.elo), ...(interval ? { unit: interval } : {}) },
    { label: "Step", value: count(run.totals.steps) },
    { label: "Games", value: count(run.totals.games) },
    { label: "Rows", value: short(run.totals.rows) },
    { label: "Samples", value: short(run.totals.samples) },
    {
      label: "Weights",
      value: run.version === null ? "–" : `step ${count(run.version)}`,
      unit: `${count(run.num_versions)} kept`,
    },
    { label: "Trained", value: duration(run.totals.trained_s) },
  ];
}

function RunName({ name, index }: { name: string; index: number }) {
  return (
    <h3 class="run-name">
      <i class={`swatch swatch-${index + 1}`} />
      {name}
    </h3>
  );
}

/** Chooses the run to show beside this one. */
function BesideSelect({ name, beside }: { name: string; beside: string | null }) {
  const runs = useGet("/api/v1/runs");
  const others = (runs.data ?? []).filter((run) => run.name !== name);
  if (others.length === 0) return null;
  return (
    <Select
      label="Beside it"
      value={beside ?? ""}
      options={[{ value: "", text: "no other run" }, ...others.map((run) => ({ value: run.name, text: run.name }))]}
      onChange={(other) => go(withQuery({ beside: other === "" ? null : other }))}
    />
  );
}

function useReloadEvery(seconds: number | null, reload: () => void): void {
  const newest = useRef(reload);
  newest.current = reload;
  useEffect(() => {
    if (seconds === null) return;
    const timer = setInterval(() => newest.current(), 1000 * seconds);
    return () => clearInterval(timer);
  }, [seconds]);
}
