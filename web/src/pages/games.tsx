// The games of a run: newest, longest, most surprising, lost by the favourite; by version and worker; page by page.
import { useEffect, useState } from "preact/hooks";
import type { components } from "../api";
import { useGet } from "../client";
import { useLive } from "../live";
import { Button, Select } from "../parts/controls";
import { count, percent, plural, winnerText } from "../parts/format";
import { Empty, ErrorNote, Loading } from "../parts/page";
import { Table, type Column } from "../parts/table";
import { Tabs } from "../parts/tabs";
import { Tooltip } from "../parts/tooltip";
import { go, Link, pathTo, withQuery, type PageProps } from "../router";
import { RunHead } from "../run/head";
import "../styles/games.css";

type EpisodeLine = components["schemas"]["EpisodeLine"];
type EpisodeList = components["schemas"]["EpisodeList"];
type Order = "newest" | "longest" | "surprising" | "upset";

const orders: readonly { value: Order; text: string }[] = [
  { value: "newest", text: "Newest" },
  { value: "longest", text: "Longest" },
  { value: "surprising", text: "Most surprising" },
  { value: "upset", text: "Lost by the favourite" },
];

const pageSize = 50;

export default function GamesPage({ params, query }: PageProps) {
  const run = params["run"] ?? "";
  const order = orders.find(({ value }) => value === query.get("order"))?.value ?? "newest";
  const version = query.get("version");
  const worker = query.get("worker");
  const offset = Math.max(0, Number(query.get("from") ?? 0) || 0);
  const detail = useGet("/api/v1/runs/{run}", { path: { run } });
  const games = useGet("/api/v1/runs/{run}/episodes", {
    path: { run },
    query: { order, version: version === null ? null : Number(version), worker, offset, limit: pageSize },
  });
  const [numPlayed, setNumPlayed] = useState<number | null>(null);
  const reload = () => {
    setNumPlayed(null);
    games.reload();
  };
  useLive(
    detail.data === null ? null : run,
    (message) => {
      if (message.type !== "status") return;
      detail.update((shown) => ({ ...shown, ...message.data }));
      setNumPlayed(message.data.totals.games);
    },
    reload,
  );

  // Until all games are indexed the list grows by itself.
  const list = games.data;
  const isGrowing = list !== null && !list.is_complete;
  useEffect(() => {
    if (!isGrowing) return;
    const timer = setTimeout(games.reload, 1000); // after each answer: asking again ends a question in flight
    return () => clearTimeout(timer);
  }, [list, isGrowing]);

  useEffect(() => scrollTo(0, 0), [offset]);

  const isFiltered = version !== null || worker !== null;
  const isWholeNewest = order === "newest" && !isFiltered && list !== null && list.is_complete;
  const numNewer = isWholeNewest && numPlayed !== null ? numPlayed - list.num_played : 0;
  return (
    <>
      <RunHead name={run} run={detail.data} page="games" />
      {(games.error ?? detail.error) && (
        <div class="section">
          <ErrorNote error={(games.error ?? detail.error)!} />
        </div>
      )}
      {list === null ? (
        games.isLoading && (
          <div class="section">
            <Loading />
          </div>
        )
      ) : list.total === 0 && !isFiltered && list.is_complete ? (
        <div class="section">
          <Empty title="No finished games yet" command={`zerofleet train ${detail.data?.game ?? "GAME"} --run ${run}`}>
            Games appear here as soon as self-play finishes the first ones.
          </Empty>
        </div>
      ) : (
        <>
          <div class="games-bar">
            <Tabs
              label="Order of the games"
              tabs={orders.map(({ value, text }) => ({
                text,
                href: withQuery({ order: value === "newest" ? null : value, from: null }),
                isCurrent: value === order,
              }))}
            />
            <Filters list={list} version={version} worker={worker} />
          </div>
          {!list.is_complete && (
            <p class="section-note games-note" role="status">
              Reading the games: {count(list.num_indexed)} so far; the list grows until all are read.
            </p>
          )}
          {numNewer > 0 && <Button onClick={reload}>{plural(numNewer, "newer game")}</Button>}
          {list.episodes.length > 0 && (
            <>
              <Table caption="Games" columns={columns(run)} rows={list.episodes} rowKey={(game) => game.id} />
              <Paging offset={offset} list={list} />
            </>
          )}
          {list.total > 0 && list.episodes.length === 0 && (
            <Empty title={`The list ends after ${plural(list.total, "game")}`}>
              <Link href={withQuery({ from: null })}>Show the first ones</Link>
            </Empty>
          )}
          {list.total === 0 && list.is_complete && (
            <Empty title="No game matches">
              <Link href={withQuery({ version: null, worker: null, from: null })}>Show all games</Link>
            </Empty>
          )}
        </>
      )}
    </>
  );
}

function columns(run: string): readonly Column<EpisodeLine>[] {
  return [
    {
      title: "Game",
      isHead: true,
      cell: (game) => <Link href={pathTo("runs", run, "games", game.id)}>Game {count(game.number)}</Link>,
    },
    { title: "Winner", cell: (game) => winnerText(game.result_first_player, game.reward_first_player) },
    { title: "Plies", isNumber: true, cell: (game) => count(game.num_plies) },
    { title: "Weights", isNumber: true, cell: (game) => `step ${count(game.version)}` },
    {
      title: (
        <Tooltip text="The largest divergence of a search's policy from the network's, in nats.">Surprise</Tooltip>
      ),
      label: "Surprise",
      isNumber: true,
      cell: (game) => game.surprise.toFixed(2),
    },
    {
      title: (
        <Tooltip text="How sure the player who did not win once was to win, by the search's own estimate.">
          Favourite lost
        </Tooltip>
      ),
      label: "Favourite lost",
      isNumber: true,
      cell: (game) => (game.favourite_lost > 0 ? percent(game.favourite_lost) : <span class="soft">–</span>),
    },
    { title: "Worker", isNumber: true, cell: (game) => <code class="soft">{game.worker.slice(0, 8)}</code> },
  ];
}

interface FiltersProps {
  list: EpisodeList;
  version: string | null;
  worker: string | null;
}

function Filters({ list, version, worker }: FiltersProps) {
  const choose = (name: string) => (value: string) =>
    go(withQuery({ [name]: value === "" ? null : value, from: null }));
  const versions = list.versions.map((each) => ({ value: String(each), text: `step ${count(each)}` }));
  const workers = list.workers.map((each) => ({ value: each, text: each.slice(0, 8) }));
  return (
    <div class="games-filters">
      <Select
        label="Weights"
        value={version ?? ""}
        options={[{ value: "", text: "all steps" }, ...versions]}
        onChange={choose("version")}
      />
      <Select
        label="Worker"
        value={worker ?? ""}
        options={[{ value: "", text: "all workers" }, ...workers]}
        onChange={choose("worker")}
      />
    </div>
  );
}

function Paging({ offset, list }: { offset: number; list: EpisodeList }) {
  const end = offset + list.episodes.length;
  const at = (from: number) => withQuery({ from: from <= 0 ? null : String(from) });
  return (
    <nav class="paging" aria-label="Pages of the list">
      <span class="soft">
        {count(offset + 1)}–{count(end)} of {plural(list.total, "game")}
      </span>
      {offset > 0 && <Link href={at(offset - pageSize)}>Previous</Link>}
      {end < list.total && <Link href={at(end)}>Next</Link>}
    </nav>
  );
}
