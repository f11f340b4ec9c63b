// The fleet of a run: its roles and their heartbeats, the queue, the weights in use; red where something stands still.
import { useEffect } from "preact/hooks";
import type { components } from "../api";
import { Sparkline } from "../charts/sparkline";
import { useGet } from "../client";
import { useLive } from "../live";
import { Badge } from "../parts/badge";
import { Select } from "../parts/controls";
import { ago, bytes, count, duration, plural, short } from "../parts/format";
import { Figures, type Figure } from "../parts/figures";
import { Empty, ErrorNote, Loading, PageHead, Section, sentence } from "../parts/page";
import { Table, type Column } from "../parts/table";
import { go, withQuery, type PageProps } from "../router";
import "../styles/fleet.css";

type Fleet = components["schemas"]["FleetAnswer"];
type FleetRole = components["schemas"]["FleetRole"];

const reloadSeconds = 10;

export default function FleetPage({ query }: PageProps) {
  const runs = useGet("/api/v1/runs");
  const names = (runs.data ?? []).map((run) => run.name);
  const training = runs.data?.find((run) => run.is_training)?.name;
  const run = query.get("run") ?? training ?? names[0] ?? null;
  return (
    <>
      <PageHead title="Fleet" below="Roles that train one run together, on this machine or many.">
        {names.length > 0 && run !== null && (
          <Select
            label="Run"
            value={run}
            options={names.map((name) => ({ value: name, text: name }))}
            onChange={(name) => go(withQuery({ run: name }))}
          />
        )}
      </PageHead>
      {runs.error && <ErrorNote error={runs.error} />}
      {run !== null ? (
        <OneFleet key={run} run={run} />
      ) : runs.data === null ? (
        runs.isLoading && <Loading />
      ) : (
        <NoFleet reason="There are no runs yet." />
      )}
    </>
  );
}

function OneFleet({ run }: { run: string }) {
  const fleet = useGet("/api/v1/fleet", { query: { run } });
  useLive(run, (message) => message.type === "fleet" && fleet.update(() => message.data), fleet.reload);
  useEffect(() => {
    const timer = setInterval(fleet.reload, 1000 * reloadSeconds);
    return () => clearInterval(timer);
  }, []);
  const { data } = fleet;
  if (data === null) return fleet.error ? <ErrorNote error={fleet.error} /> : <Loading />;
  if (!data.is_reachable) return <NoFleet reason={data.reason} />;
  return (
    <>
      {fleet.error && <ErrorNote error={fleet.error} />}
      <Notices fleet={data} />
      <Figures figures={figures(data)} />
      <Trends trends={data.trends} />
      <Section title="Roles" note={plural(data.roles.length, "role")}>
        {data.roles.length === 0 ? (
          <Empty title="No role is there" command={`zerofleet worker --run ${run}`}>
            Workers, trainer and raters appear here with their first heartbeat.
          </Empty>
        ) : (
          <Table
            caption="Roles of the fleet"
            columns={columns(data)}
            rows={data.roles}
            rowKey={(role) => role.id}
            isAlert={(role) => role.trouble !== ""}
          />
        )}
      </Section>
      <Section title="Weights in use">
        {data.versions.length === 0 ? (
          <p class="section-note">No role uses weights yet.</p>
        ) : (
          <ul class="versions">
            {data.versions.map(({ version, num_roles }) => (
              <li key={version}>
                version {count(version)} <span class="soft">{plural(num_roles, "role")}</span>
              </li>
            ))}
          </ul>
        )}
      </Section>
    </>
  );
}

function NoFleet({ reason }: { reason: string }) {
  return (
    <Empty title="No fleet to show" command="zerofleet fleet local connect4 --preset fast --minutes 8">
      {sentence(reason)} A fleet of processes on this machine is started by:
    </Empty>
  );
}

/** What holds the whole fleet up. */
function Notices({ fleet }: { fleet: Fleet }) {
  const notices = [
    ...(fleet.held === "" ? [] : [`All workers are paused: ${fleet.held}.`]),
    ...(fleet.has_ended ? ["The run has ended."] : []),
    ...(fleet.queue?.grows ? ["The queue grows: games come in faster than the trainer takes them."] : []),
    ...(fleet.allows_play === null && !fleet.has_ended ? ["No trainer says how much may be played."] : []),
  ];
  return (
    <>
      {notices.map((notice) => (
        <p key={notice} class={fleet.has_ended ? "note fleet-notice" : "note note-alert fleet-notice"}>
          {notice}
        </p>
      ))}
    </>
  );
}

function figures(fleet: Fleet): Figure[] {
  const totals = fleet.totals.map((total) => ({
    label: total.name.charAt(0).toUpperCase() + total.name.slice(1),
    value: short(total.total),
    unit: total.per_s === null ? "" : `${short(total.per_s)}/s`,
  }));
  const { queue } = fleet;
  return [
    ...totals,
    ...(queue === null
      ? []
      : [
          {
            label: "Queue",
            value: count(queue.num_episodes),
            unit:
              queue.num_episodes === 0 ? "games" : `games, ${bytes(queue.num_bytes)}, ${duration(queue.oldest_s)} old`,
          },
        ]),
    {
      label: "Weights",
      value: fleet.newest_version === null ? "–" : `version ${count(fleet.newest_version)}`,
      unit: fleet.weights_age_s === null ? "" : ago(fleet.weights_age_s),
    },
    ...(fleet.memory_bytes === null
      ? []
      : [
          {
            label: "Redis",
            value: bytes(fleet.memory_bytes),
            unit: fleet.max_memory_bytes ? `of ${bytes(fleet.max_memory_bytes)}` : "",
          },
        ]),
  ];
}

function Trends({ trends }: { trends: Fleet["trends"] }) {
  const shown = Object.entries(trends).filter(([, values]) => values.length > 1);
  if (shown.length === 0) return null;
  return (
    <div class="trends">
      {shown.map(([name, values]) => (
        <div key={name}>
          <div class="trend-head">
            <span class="soft">{name}</span> <b>{short(values.at(-1) ?? 0)}</b>
          </div>
          <Sparkline label={`${name}, the last minutes`} values={values} />
        </div>
      ))}
    </div>
  );
}

function columns(fleet: Fleet): readonly Column<FleetRole>[] {
  return [
    {
      title: "Role",
      isHead: true,
      cell: (role) => (
        <>
          {role.kind} {role.id !== role.kind && <code class="soft role-id">{role.id.slice(0, 8)}</code>}{" "}
          {role.trouble !== "" && <Badge tone="alert">{role.trouble}</Badge>}
        </>
      ),
    },
    {
      title: "Machine",
      cell: (role) => (
        <>
          {role.host} <span class="soft">{role.device}</span>
        </>
      ),
    },
    { title: "Doing", cell: (role) => role.doing || <span class="soft">–</span> },
    {
      title: "Throughput",
      isNumber: true,
      cell: (role) => (role.per_s === null ? "–" : `${short(role.per_s)} ${role.unit}`),
    },
    {
      title: "Weights",
      isNumber: true,
      cell: (role) =>
        role.version === null ? (
          "–"
        ) : role.version === fleet.newest_version ? (
          count(role.version)
        ) : (
          <span class="soft">{count(role.version)}</span>
        ),
    },
    { title: "Spool", isNumber: true, cell: (role) => (role.spool_bytes === null ? "–" : bytes(role.spool_bytes)) },
    { title: "Heartbeat", isNumber: true, cell: (role) => ago(role.heartbeat_s) },
    { title: "Up", isNumber: true, cell: (role) => duration(role.up_s) },
  ];
}
