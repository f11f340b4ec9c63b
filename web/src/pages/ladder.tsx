// Ratings of all rated steps and baselines, a ladder per game, and who met whom.
import { useState } from "preact/hooks";
import type { components } from "../api";
import { DotPlot } from "../charts/dot_plot";
import { useGet } from "../client";
import { Button, Select } from "../parts/controls";
import { count, gameText, gameTitle, percent, playerText } from "../parts/format";
import { Empty, ErrorNote, Loading, PageHead, Section } from "../parts/page";
import { Table, type Column } from "../parts/table";
import { go, withQuery, type PageProps } from "../router";
import "../styles/ladder.css";

type Ladder = components["schemas"]["Ladder"];
type RunLine = components["schemas"]["RunLine"];
type LadderPair = components["schemas"]["LadderPair"];

const numShownFirst = 20;
const maxOpponents = 6;

export default function LadderPage({ query }: PageProps) {
  const run = query.get("run");
  const game = query.get("game");
  const ladders = useGet("/api/v1/ladder", { query: { run, game } });
  const runs = useGet("/api/v1/runs");
  const games = [...new Set((runs.data ?? []).map((each) => each.game))];
  const choose = (name: string) => (value: string) => go(withQuery({ [name]: value === "" ? null : value }));
  const rated = (ladders.data ?? []).filter((ladder) => ladder.players.length > 0);
  return (
    <>
      <PageHead title="Ladder" below="Elo fitted to all rating matches; bars are 95 % intervals.">
        <div class="ladder-filters">
          <Select
            label="Game"
            value={game ?? ""}
            options={[
              { value: "", text: "all games" },
              ...games.map((each) => ({ value: each, text: gameTitle(each) })),
            ]}
            onChange={choose("game")}
          />
          <Select
            label="Run"
            value={run ?? ""}
            options={[
              { value: "", text: "all runs" },
              ...(runs.data ?? []).map((each) => ({ value: each.name, text: each.name })),
            ]}
            onChange={choose("run")}
          />
        </div>
      </PageHead>
      {ladders.error && <ErrorNote error={ladders.error} />}
      {ladders.data === null ? (
        ladders.isLoading && <Loading />
      ) : rated.length === 0 ? (
        <Empty
          title="No ratings yet"
          command={rateCommand(runs.data?.find(({ name }) => name === run) ?? runs.data?.[0])}
        >
          Training rates a run every rating.interval_minutes and when it ends. To rate players by themselves:
        </Empty>
      ) : (
        rated.map((ladder) => <OneLadder key={gameText(ladder.game, ladder.options)} ladder={ladder} />)
      )}
    </>
  );
}

/** Rates the newest weights of a run beside the ladder, or shipped ones where there is no run. */
function rateCommand(line: RunLine | undefined): string {
  if (line === undefined) return "zerofleet rate connect4 best heuristic random";
  const options = Object.entries(line.options).map(([name, value]) => ` --option ${name}=${value}`);
  return `zerofleet rate ${line.game} run:${line.name} random${options.join("")}`;
}

function OneLadder({ ladder }: { ladder: Ladder }) {
  const [showsAll, setShowsAll] = useState(false);
  const players = showsAll ? ladder.players : ladder.players.slice(0, numShownFirst);
  return (
    <Section title={gameText(ladder.game, ladder.options)} note={`${playerText(ladder.anchor)} is 0.`}>
      <DotPlot players={players} />
      {ladder.players.length > players.length && (
        <Button tone="quiet" onClick={() => setShowsAll(true)}>
          All {count(ladder.players.length)} players
        </Button>
      )}
      {ladder.unconnected.length > 0 && (
        <p class="section-note">
          Not rated, since no chain of matches connects them with {playerText(ladder.anchor)}:{" "}
          {ladder.unconnected.map(playerText).join(", ")}.
        </p>
      )}
      <h3 class="ladder-title">Head to head</h3>
      <p class="section-note ladder-note">
        The row's score against the column; below it the 95 % interval and the number of games.
      </p>
      <HeadToHead names={players.map((player) => player.name)} pairs={ladder.pairs} />
    </Section>
  );
}

interface Met {
  score: number;
  low: number;
  high: number;
  numGames: number;
}

/** Rows are players, columns the opponents whom most of them have met. */
function HeadToHead({ names, pairs }: { names: readonly string[]; pairs: readonly LadderPair[] }) {
  const met = new Map<string, Map<string, Met>>();
  const note = (first: string, second: string, match: Met) =>
    met.set(first, (met.get(first) ?? new Map<string, Met>()).set(second, match));
  for (const { first, second, score, low, high, num_games: numGames } of pairs) {
    note(first, second, { score, low, high, numGames });
    note(second, first, { score: 1 - score, low: 1 - high, high: 1 - low, numGames });
  }
  const opponents = frequent(pairs.map((pair) => pair.second)).slice(0, maxOpponents);
  const rows = names.filter((name) => opponents.some((opponent) => met.get(name)?.has(opponent)));
  const columns: Column<string>[] = [
    { title: "Player", isHead: true, cell: playerText },
    ...opponents.map((opponent) => ({
      title: playerText(opponent),
      isNumber: true,
      cell: (name: string) => <Score match={met.get(name)?.get(opponent)} />,
    })),
  ];
  return <Table caption="Head to head" columns={columns} rows={rows} rowKey={(name) => name} narrow="scroll" />;
}

function Score({ match }: { match: Met | undefined }) {
  if (match === undefined) return <span class="soft">–</span>;
  const { score, low, high, numGames } = match;
  return (
    <>
      {percent(score)}
      <div class="soft score-more">
        {(100 * low).toFixed(0)}–{(100 * high).toFixed(0)} · {count(numGames)}
      </div>
    </>
  );
}

/** Each name once, the most frequent first. */
function frequent(names: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]).map(([name]) => name);
}
