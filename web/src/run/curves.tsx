// The charts of a run, or of two in the same panels: strength, losses, throughput.
import type { components } from "../api";
import { Chart } from "../charts/chart";
import {
  clockTick,
  curve,
  eloLine,
  formatAlong,
  scoreLines,
  speed,
  ticksAlong,
  waitingShare,
  type Along,
} from "../charts/curves";
import type { Line } from "../charts/lines";
import { asTitle, elo, percent, short } from "../parts/format";
import { Section } from "../parts/page";

type Schemas = components["schemas"];

/** A run as it appears in charts. */
export interface Shown {
  name: string;
  colorIndex: number;
  train: Schemas["Metrics"] | null;
  status: Schemas["Metrics"] | null;
  ratings: readonly Schemas["RatingPoint"][];
}

interface CurvesProps {
  runs: readonly Shown[];
  along: Along;
}

/** The names that the charts of diagnostics have. */
const diagnostics: Record<string, string> = {
  policy_kl: "Policy KL to its target",
  target_entropy: "Entropy of the target policy",
  policy_entropy: "Entropy of the policy",
  policy_accuracy: "Policy accuracy",
  value_error: "Value error",
  grad_norm: "Gradient norm",
  learning_rate: "Learning rate",
};

export function Strength({ runs, along }: CurvesProps) {
  const axis = xAxis(along);
  const scores = runs.length === 1 && runs[0] ? scoreLines(runs[0].ratings, along) : [];
  return (
    <Section
      title="Strength"
      note="Elo fitted over all rating matches of the run, random play is 0; bars are 95 % intervals."
    >
      <div class={scores.length > 0 ? "charts charts-wide" : ""}>
        <Chart
          title="Elo"
          lines={runs.map((run) => eloLine(run.ratings, along, run))}
          {...axis}
          formatY={elo}
          height={260}
          syncKey="ratings"
          empty="No ratings yet: the run is rated every rating.interval_minutes."
        />
        {scores.length > 0 && (
          <Chart
            title="Score against"
            lines={scores}
            {...axis}
            formatY={percent}
            range={[0, 1]}
            height={260}
            syncKey="ratings"
          />
        )}
      </div>
    </Section>
  );
}

export function Losses({ runs, along }: CurvesProps) {
  const names = new Set(runs.flatMap((run) => Object.keys(run.train?.columns ?? {})));
  const losses = [...names].filter((name) => name === "loss" || name.startsWith("loss/"));
  const others = [...names].filter((name) => name in diagnostics);
  const chart = (name: string, title: string) => (
    <Chart
      key={name}
      title={title}
      lines={each(runs, "train", (metrics, run) => curve(metrics, name, along, run))}
      {...xAxis(along)}
      formatY={short}
    />
  );
  return (
    <Section title="Losses">
      {losses.length === 0 ? (
        <p class="section-note">Curves appear with the first training steps.</p>
      ) : (
        <div class={losses.length % 4 === 0 ? "charts charts-four" : "charts"}>
          {losses.map((name) => chart(name, name === "loss" ? "Total" : asTitle(name.slice("loss/".length))))}
        </div>
      )}
      {others.length > 0 && (
        <details class="more">
          <summary>Diagnostics</summary>
          <div class="charts">{others.map((name) => chart(name, diagnostics[name] ?? name))}</div>
        </details>
      )}
    </Section>
  );
}

export function Throughput({ runs, along }: CurvesProps) {
  const axis = xAxis(along);
  const uses = [
    { column: "cpu_busy", title: "CPU use" },
    { column: "gpu_busy", title: "GPU use" },
  ].filter(({ column }) => runs.some((run) => run.status?.columns[column] !== undefined));
  const speeds = [
    { counter: "games", title: "Games/s" },
    { counter: "inferences", title: "Inferences/s" },
    { counter: "samples", title: "Samples/s" },
  ];
  const waits = [
    { title: "Self-play waits", waiting: "waiting_to_play_s", working: ["inference_s", "search_s"] },
    { title: "Trainer waits", waiting: "waiting_to_train_s", working: ["training_s", "intake_s"] },
  ];
  const share = { ...axis, formatY: percent, range: [0, 1] as const };
  return (
    <Section title="Throughput">
      <div class="charts">
        {speeds.map(({ counter, title }) => (
          <Chart
            key={counter}
            title={title}
            lines={each(runs, "status", (metrics, run) => speed(metrics, counter, along, run))}
            {...axis}
            formatY={short}
            range={[0, null]}
          />
        ))}
        {waits.map(({ title, waiting, working }) => (
          <Chart
            key={title}
            title={title}
            lines={each(runs, "status", (metrics, run) => waitingShare(metrics, waiting, working, along, run))}
            {...share}
          />
        ))}
        <Chart
          title="Inference busy"
          lines={each(runs, "status", (metrics, run) => speed(metrics, "device_busy_s", along, run))}
          {...share}
        />
        {uses.map(({ column, title }) => (
          <Chart
            key={column}
            title={title}
            lines={each(runs, "status", (metrics, run) => curve(metrics, column, along, run))}
            {...share}
          />
        ))}
      </div>
    </Section>
  );
}

function xAxis(along: Along) {
  return {
    formatX: formatAlong(along),
    tickX: along === "time" ? clockTick : short,
    ticksX: ticksAlong(along),
  };
}

function each(
  runs: readonly Shown[],
  kind: "train" | "status",
  draw: (metrics: Schemas["Metrics"], run: Shown) => Line,
): Line[] {
  return runs.flatMap((run) => {
    const metrics = run[kind];
    return metrics === null ? [] : [draw(metrics, run)];
  });
}
