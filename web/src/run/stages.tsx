// The pipeline: a row per stage with its throughput, and who waits for whom.
import type { components } from "../api";
import { percent, short } from "../parts/format";
import { Meter } from "../parts/meter";
import { Table, type Column } from "../parts/table";

type Stage = components["schemas"]["Stage"];
type Machine = components["schemas"]["Machine"];

/** While the run trains, a stage that should move and does not. */
export function standsStill(stage: Stage, isTraining: boolean): boolean {
  return isTraining && stage.rate === 0;
}

const columns: readonly Column<Stage>[] = [
  {
    title: "Stage",
    isHead: true,
    cell: (stage) => (
      <>
        {capital(stage.name)}
        {stage.note !== "" && <div class="stage-note">{stage.note}</div>}
      </>
    ),
  },
  {
    title: "Throughput",
    isNumber: true,
    isWide: true,
    cell: (stage) => (stage.rate === null ? "–" : `${short(stage.rate)} ${stage.unit}`),
  },
  {
    title: "Waiting",
    isWide: true,
    cell: (stage) =>
      stage.waiting_share === null ? (
        <span class="soft">–</span>
      ) : (
        <Meter
          label={`${stage.name} waits`}
          share={stage.waiting_share}
          text={`${percent(stage.waiting_share)}${stage.waits_for === null ? "" : ` for ${stage.waits_for}`}`}
        />
      ),
  },
];

export function Stages({ stages, isTraining }: { stages: readonly Stage[]; isTraining: boolean }) {
  return (
    <Table
      caption="Stages of the pipeline"
      columns={columns}
      rows={stages}
      rowKey={(stage) => stage.name}
      isAlert={(stage) => standsStill(stage, isTraining)}
    />
  );
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Use of the machine now. */
export function MachineUse({ machine }: { machine: Machine }) {
  const rows = [
    { name: "CPU", share: machine.cpu_share, more: `${machine.num_cpus} cores` },
    share("Memory", machine.memory_bytes, machine.memory_total_bytes),
    {
      name: "GPU",
      share: machine.gpu_share,
      more: machine.gpu_watts === null ? "" : `${Math.round(machine.gpu_watts)} W`,
    },
    share("GPU memory", machine.gpu_memory_bytes, machine.gpu_memory_total_bytes),
  ].filter((row) => row.share !== null);
  return (
    <dl class="machine">
      {rows.map((row) => (
        <div key={row.name}>
          <dt>
            {row.name} <span class="soft">{row.more}</span>
          </dt>
          <dd>
            <Meter label={row.name} share={row.share ?? 0} text={percent(row.share ?? 0)} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function share(name: string, used: number | null, total: number | null) {
  const isKnown = used !== null && total !== null && total > 0;
  return {
    name,
    share: isKnown ? used / total : null,
    more: isKnown ? `${(used / 2 ** 30).toFixed(1)} of ${(total / 2 ** 30).toFixed(0)} GiB` : "",
  };
}
