// All runs of this folder, those in training first.
import { useEffect } from "preact/hooks";
import type { components } from "../api";
import { useGet } from "../client";
import { Badge } from "../parts/badge";
import { ago, bytes, count, gameText } from "../parts/format";
import { Empty, ErrorNote, Loading, PageHead } from "../parts/page";
import { Table, type Column } from "../parts/table";
import { Link, pathTo } from "../router";

type RunLine = components["schemas"]["RunLine"];

const reloadSeconds = 10;

const columns: readonly Column<RunLine>[] = [
  {
    title: "Run",
    isHead: true,
    cell: (run) => (
      <>
        <Link href={pathTo("runs", run.name)}>{run.name}</Link> {run.is_training && <Badge tone="live">training</Badge>}
        {run.fault !== "" && (
          <>
            <Badge tone="alert">damaged</Badge>
            <div class="stage-note">{run.fault}</div>
          </>
        )}
      </>
    ),
  },
  { title: "Game", cell: (run) => gameText(run.game, run.options) },
  { title: "Steps", isNumber: true, cell: (run) => count(run.num_steps) },
  {
    title: "Games",
    isNumber: true,
    cell: (run) => <Link href={pathTo("runs", run.name, "games")}>{count(run.num_games)}</Link>,
  },
  { title: "Size", isNumber: true, cell: (run) => bytes(run.size_bytes) },
  { title: "Created", isNumber: true, cell: (run) => ago(run.age_s) },
];

export default function RunsPage() {
  const runs = useGet("/api/v1/runs");
  useEffect(() => {
    const timer = setInterval(runs.reload, 1000 * reloadSeconds);
    return () => clearInterval(timer);
  }, []);
  return (
    <>
      <PageHead title="Runs" below="Each run trains one network by self-play." />
      {runs.error && <ErrorNote error={runs.error} />}
      {runs.data === null ? (
        runs.isLoading && <Loading />
      ) : runs.data.length === 0 ? (
        <Empty title="No runs yet" command="zerofleet train connect4 --preset fast --minutes 8">
          Train one, and it appears here while it learns. This takes 8 minutes on two cores:
        </Empty>
      ) : (
        <Table caption="Runs" columns={columns} rows={sorted(runs.data)} rowKey={(run) => run.name} />
      )}
    </>
  );
}

function sorted(runs: readonly RunLine[]): RunLine[] {
  return [...runs].sort((a, b) => Number(b.is_training) - Number(a.is_training));
}
