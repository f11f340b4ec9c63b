// Community: what all browsers together have given to the run, who gave most, and how it went.
import { useState } from "preact/hooks";
import type { components } from "../api";
import { Chart } from "../charts/chart";
import type { Line } from "../charts/lines";
import { useGet } from "../client";
import { LendTabs, LendingIsOff, useEvery } from "../lend/tabs";
import { Choice } from "../parts/controls";
import { Figures, type Figure } from "../parts/figures";
import { count, elo, percent, short } from "../parts/format";
import { Empty, ErrorNote, Loading, PageHead, Section } from "../parts/page";
import { Table, type Column } from "../parts/table";
import { Link, pathTo } from "../router";
import "../styles/charts.css";
import "../styles/lend.css";

type Community = components["schemas"]["Community"];
type User = Community["users"][number];
type Device = Community["devices"][number];
type By = "user" | "device";

const day = new Intl.DateTimeFormat("en", { month: "short", day: "numeric" });
const clock = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
const time = new Intl.DateTimeFormat("en", clock);
const hour = new Intl.DateTimeFormat("en", { month: "short", day: "numeric", ...clock });
/** A curve of less than two days names hours, not days. */
const SHORT_SECONDS = 2 * 24 * 3600;
const HOUR_TICKS = [1, 3, 6, 12, 24, 48, 168].map((hours) => 3600 * hours);

export default function CommunityPage() {
  const community = useGet("/api/v1/lend/community");
  useEvery(10, community.reload);
  const { data, error } = community;
  return (
    <>
      <PageHead
        title="Community"
        below={
          data ? (
            <>
              All browsers that play for <Link href={pathTo("runs", data.run)}>{data.run}</Link>.
            </>
          ) : (
            "All browsers that play for the run."
          )
        }
      />
      <LendTabs />
      {error?.code === "off" ? <LendingIsOff reason="" /> : error && <ErrorNote error={error} />}
      {data === null ? community.isLoading && <Loading /> : <Shown community={data} />}
    </>
  );
}

function Shown({ community }: { community: Community }) {
  const [by, setBy] = useState<By>("user");
  const { history } = community;
  const isShort = history.length > 0 && history.at(-1)!.time - history[0]!.time < SHORT_SECONDS;
  return (
    <>
      <Section title="Together">
        <Figures figures={totals(community)} />
      </Section>
      <Section
        title="Leaderboard"
        note="By games that were accepted; users by games times the share that came back."
        controls={
          <Choice
            label="Leaderboard by"
            value={by}
            options={[
              { value: "user", text: "Users" },
              { value: "device", text: "Devices" },
            ]}
            onChange={setBy}
          />
        }
      >
        {community.users.length === 0 ? (
          <Empty title="No games yet">The first browser that lends stands here.</Empty>
        ) : by === "user" ? (
          <Table caption="Users" columns={userColumns} rows={community.users} rowKey={({ rank }) => rank} />
        ) : (
          <Table caption="Devices" columns={deviceColumns} rows={community.devices} rowKey={({ rank }) => rank} />
        )}
      </Section>
      <Section title="History">
        <Chart
          title="Games per hour"
          lines={history.length < 2 ? [] : [gamesPerHour(history)]}
          formatX={(at) => hour.format(1000 * at)}
          tickX={(at) => (isShort ? time : day).format(1000 * at)}
          ticksX={HOUR_TICKS}
          formatY={(games) => (games < 10_000 ? count(games) : short(games))}
          range={[0, null]}
          syncKey="community"
          empty={history.length === 0 ? "Nothing yet." : "The curve begins with the second hour."}
        />
      </Section>
    </>
  );
}

function gamesPerHour(history: Community["history"]): Line {
  const x = history.map(({ time }) => time);
  return { name: "Games", colorIndex: 0, x, y: history.map(({ num_games }) => num_games) };
}

function totals({ totals }: Community): Figure[] {
  const { rating } = totals;
  return [
    { label: "Games", value: count(totals.num_games), unit: `${count(totals.games_per_hour)} in the last hour` },
    { label: "Samples", value: short(totals.num_samples) },
    { label: "Users", value: count(totals.num_users) },
    { label: "Devices", value: count(totals.num_devices), unit: `${count(totals.num_online)} connected` },
    { label: "Weights", value: totals.version === null ? "–" : count(totals.version) },
    ...(rating ? ratingFigures(rating) : []),
  ];
}

type Rating = NonNullable<Community["totals"]["rating"]>;

/** Elo, and the score against GnuBG where that is the opponent. */
function ratingFigures(rating: Rating): Figure[] {
  const figures: Figure[] = [];
  if (rating.elo !== null) figures.push({ label: "Elo", value: elo(rating.elo), unit: "random play is 0" });
  if (rating.opponent.startsWith("gnubg")) {
    const interval = `${percent(rating.score_low)} to ${percent(rating.score_high)}`;
    figures.push({ label: `Against ${rating.opponent}`, value: percent(rating.score), unit: interval });
  }
  return figures;
}

const userColumns: Column<User>[] = [
  { title: "Rank", isNumber: true, cell: ({ rank }) => rank },
  { title: "User", isHead: true, cell: ({ name }) => name },
  { title: "Games", isNumber: true, cell: ({ num_games }) => count(num_games) },
  { title: "Samples", isNumber: true, cell: ({ num_samples }) => count(num_samples) },
  { title: "Reliability", isNumber: true, cell: ({ reliability }) => percent(reliability) },
  { title: "Contribution", isNumber: true, cell: ({ contribution }) => count(contribution) },
];

const deviceColumns: Column<Device>[] = [
  { title: "Rank", isNumber: true, cell: ({ rank }) => rank },
  { title: "User", isHead: true, cell: ({ name }) => name },
  { title: "Device", cell: ({ device }) => device },
  { title: "Network", cell: ({ backend }) => (backend === "webgpu" ? "WebGPU" : "WebAssembly") },
  { title: "Games", isNumber: true, cell: ({ num_games }) => count(num_games) },
  { title: "Samples", isNumber: true, cell: ({ num_samples }) => count(num_samples) },
];
