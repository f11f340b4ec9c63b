// The head of a run's pages: its name, what it trains, and the way between overview and games.
import type { ComponentChildren } from "preact";
import type { components } from "../api";
import { Badge } from "../parts/badge";
import { ago, gameText } from "../parts/format";
import { PageHead } from "../parts/page";
import { Tabs } from "../parts/tabs";
import { Link, pathTo } from "../router";

type RunDetail = components["schemas"]["RunDetail"];

interface RunHeadProps {
  name: string;
  run: RunDetail | null;
  page: "overview" | "games";
  children?: ComponentChildren;
}

export function RunHead({ name, run, page, children }: RunHeadProps) {
  return (
    <>
      <PageHead
        title={name}
        above={<Link href="/runs">Runs</Link>}
        beside={run && <RunState run={run} />}
        below={run && described(run)}
      >
        {children}
      </PageHead>
      <Tabs
        label={`Pages of ${name}`}
        tabs={[
          { href: pathTo("runs", name), text: "Overview", isCurrent: page === "overview" },
          { href: pathTo("runs", name, "games"), text: "Games", isCurrent: page === "games" },
        ]}
      />
    </>
  );
}

function RunState({ run }: { run: RunDetail }) {
  if (run.fault !== "") return <Badge tone="alert">damaged</Badge>;
  return run.is_training ? <Badge tone="live">training</Badge> : <Badge>not training</Badge>;
}

function described(run: RunDetail): string {
  const numChanged = run.differs_from_preset.length;
  const changes = numChanged === 0 ? "" : `, ${numChanged} ${numChanged === 1 ? "setting" : "settings"} changed`;
  return [
    gameText(run.game, run.options),
    ...(run.preset === "" ? [] : [`preset ${run.preset}${changes}`]),
    `created ${ago(Date.now() / 1000 - run.created)}`,
  ].join(" · ");
}
