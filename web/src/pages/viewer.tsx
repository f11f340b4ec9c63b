// One game, ply by ply: of a run, or one that was played and saved here.
import { useGet } from "../client";
import { ErrorNote, Loading, PageHead } from "../parts/page";
import { EpisodeViewer } from "../play/episode_viewer";
import { Link, pathTo, type PageProps } from "../router";

type View = "all" | "0" | "1";

export default function ViewerPage({ params, query }: PageProps) {
  const run = params["run"] ?? null;
  const id = params["id"] ?? "";
  const asked = query.get("view");
  const view: View = asked === "0" || asked === "1" ? asked : "all";
  const ofRun = useGet(
    "/api/v1/runs/{run}/episodes/{episode}",
    run === null ? null : { path: { run, episode: id }, query: { view } },
  );
  const played = useGet("/api/v1/played/{saved}", run === null ? { path: { saved: id }, query: { view } } : null);
  const { data, error } = run === null ? played : ofRun;
  const above =
    run === null ? (
      <Link href="/play">Play</Link>
    ) : (
      <>
        <Link href={pathTo("runs", run)}>{run}</Link> / <Link href={pathTo("runs", run, "games")}>Games</Link>
      </>
    );
  if (error) {
    return (
      <>
        <PageHead title="Game" above={above} />
        <ErrorNote error={error} />
      </>
    );
  }
  if (data === null) return <Loading />;
  return <EpisodeViewer episode={data} run={run} above={above} query={query} />;
}
