// Steps through a game: the board with the search's policy on it, beside it what the search thought.
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { components } from "../api";
import { AnyBoard } from "../boards";
import type { LastTurn, Player } from "../boards/board";
import { ApiError, post, useGet } from "../client";
import { Button, Choice } from "../parts/controls";
import { count, gameTitle, percent, plural, signed } from "../parts/format";
import { ErrorNote, PageHead } from "../parts/page";
import { Link, go, withQuery } from "../router";
import { ChancesBar, ShareBar, Thoughts, chancesFor } from "./chances";
import { SIDES, moveText, positionLink, type Analysis } from "./seats";
import { ValueCurve } from "./value_curve";
import "./play.css";
import "./viewer.css";

type Episode = components["schemas"]["EpisodeDetail"];
type Ply = components["schemas"]["Ply"];

const VIEWS = [
  { value: "all", text: "Everything" },
  { value: "0", text: "As first player" },
  { value: "1", text: "As second player" },
] as const;
const POLICY_ROWS = 8;
const LEAST_SHARE = 0.005;

interface ViewerProps {
  episode: Episode;
  /** Null: a game that was played here. */
  run: string | null;
  above: ComponentChildren;
  query: URLSearchParams;
}

export function EpisodeViewer({ episode, run, above, query }: ViewerProps) {
  const { plies, positions } = episode;
  const end = plies.length;
  const at = Math.min(Math.max(Math.trunc(Number(query.get("ply") ?? 0)) || 0, 0), end);
  // Keys may come faster than the page is drawn.
  const wanted = useRef(at);
  wanted.current = at;
  const show = (ply: number): void => {
    const next = Math.min(Math.max(ply, 0), end);
    if (next === wanted.current) return;
    wanted.current = next;
    go(withQuery({ ply: String(next) }), { replace: true });
  };
  useStepKeys(wanted, end, show);

  const names = seatNames(episode);
  const seen = positions[at]!;
  const ply = plies[at] ?? null;
  const last = useMemo(() => lastOf(episode, at), [episode, at]);
  const near = episode.view === "1" ? 1 : 0;
  const policy = ply?.policy ?? [];
  const heat = policy.length ? new Map(policy.map(({ action, probability }) => [action, probability])) : null;
  const games = useGet("/api/v1/games", seen.kind === "text" ? {} : null);
  const custom = games.data?.find(({ name }) => name === episode.game);
  const isHidden = seen.kind === "beastybar" || (seen.kind === "text" && custom?.is_hidden !== false);
  const textOf = moveText(seen, names);

  return (
    <>
      <PageHead
        title={run === null ? gameTitle(episode.game) : `Game ${count(episode.number)}`}
        above={above}
        below={run === null ? resultText(episode) : `${gameTitle(episode.game)}, ${resultText(episode)}`}
      >
        {isHidden && (
          <Choice
            label="Who sees it"
            value={episode.view}
            options={VIEWS}
            onChange={(view) => go(withQuery({ view: view === "all" ? null : view }), { replace: true })}
          />
        )}
      </PageHead>
      <div class="table-side viewer">
        <div class="table-board">
          <AnyBoard
            game={episode.game}
            options={episode.options}
            seen={seen}
            toMove={seen.to_move}
            near={near}
            names={names}
            legal={policy}
            legalTurns={null}
            last={last}
            heat={heat}
            hint={ply && ply.player !== "chance" ? [ply.action] : []}
            onPlay={null}
            isLive={false}
          />
        </div>
        <Steps at={at} end={end} show={show} />
        <div class="table-aside">
          <p class="standing" role="status">
            {plyText(ply, names, episode, textOf)}
          </p>
          <ValueCurve episode={episode} at={at} show={show} name={names[0]} />
          {ply && <Decision ply={ply} episode={episode} names={names} near={near} textOf={textOf} />}
          <Search key={`${episode.id}:${at}`} episode={episode} run={run} at={at} ply={ply} textOf={textOf} />
          {episode.position_texts[at] != null && (
            <p>
              <Link href={positionLink(episode.game, episode.options, episode.position_texts[at] ?? "")}>
                Play from this position
              </Link>
            </p>
          )}
        </div>
      </div>
    </>
  );
}

/** Arrow keys, Home and End step through the game, unless they are typed into something else. */
function useStepKeys(at: { current: number }, end: number, show: (ply: number) => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const target = event.target instanceof Element ? event.target : null;
      if (event.altKey || event.ctrlKey || event.metaKey || target?.closest("input, select, textarea")) return;
      const to = { ArrowLeft: at.current - 1, ArrowRight: at.current + 1, Home: 0, End: end }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      show(to);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [end]);
}

function Steps({ at, end, show }: { at: number; end: number; show: (ply: number) => void }) {
  return (
    <div class="steps">
      <Button aria-label="First position" disabled={at === 0} onClick={() => show(0)}>
        <Icon path="M5 4v12M15 4L8 10l7 6" />
      </Button>
      <Button aria-label="One ply back" disabled={at === 0} onClick={() => show(at - 1)}>
        <Icon path="M13 4l-7 6 7 6" />
      </Button>
      <input
        type="range"
        class="steps-range"
        min={0}
        max={end}
        value={at}
        aria-label="Ply"
        aria-valuetext={`ply ${at} of ${end}`}
        onInput={(event) => show(Number(event.currentTarget.value))}
      />
      <Button aria-label="One ply on" disabled={at === end} onClick={() => show(at + 1)}>
        <Icon path="M7 4l7 6-7 6" />
      </Button>
      <Button aria-label="Last position" disabled={at === end} onClick={() => show(end)}>
        <Icon path="M15 4v12M5 4l7 6-7 6" />
      </Button>
      <span class="steps-number">
        {at} / {end}
      </span>
    </div>
  );
}

function Icon({ path }: { path: string }) {
  return (
    <svg class="icon" viewBox="0 0 20 20" aria-hidden="true">
      <path d={path} />
    </svg>
  );
}

interface DecisionProps {
  ply: Ply;
  episode: Episode;
  names: readonly [string, string];
  near: Player;
  textOf: (text: string) => string;
}

/** What the search found before this ply. */
function Decision({ ply, episode, names, near, textOf }: DecisionProps) {
  if (ply.player === "chance") return <p class="thoughts-note">The dice fall by chance.</p>;
  const mover = ply.player;
  const known = Object.keys(ply.outcomes_to_move).length > 0;
  const isShown = (each: Ply["policy"][number]): boolean =>
    each.probability >= LEAST_SHARE || each.action === ply.action;
  const shown = ply.policy.filter(isShown).slice(0, POLICY_ROWS);
  const most = Math.max(...ply.policy.map(({ probability }) => probability), 1e-9);
  const hasVisits = episode.policy_is === "visits";
  const facts = [
    ply.search === "none" ? "no search" : `${ply.search} search, ${plural(ply.num_simulations, "simulation")}`,
    episode.players.some(Boolean) ? "" : `weights of step ${count(ply.version)}`,
    ply.surprise === null ? "" : `surprise ${ply.surprise.toFixed(2)}`,
  ].filter(Boolean);
  return (
    <section class="decision">
      {known && (
        <ChancesBar
          chances={chancesFor(near, mover, ply.outcomes_to_move, episode.outcomes)}
          names={names}
          near={near}
        />
      )}
      {known && episode.outcomes.length > 3 && <Outcomes ply={ply} episode={episode} name={names[mover]} />}
      <p class="thoughts-note">{facts.join(" · ")}</p>
      {ply.policy.length > 0 && (
        <>
          <table class="thoughts-table policy-table">
            <caption class="unseen">Policy of the search</caption>
            <thead>
              <tr>
                <th scope="col">Move</th>
                <th scope="col">Policy</th>
                {hasVisits && <th scope="col">Visits</th>}
              </tr>
            </thead>
            <tbody>
              {shown.map(({ action, text, probability }) => (
                <tr key={action} class={action === ply.action ? "is-played" : ""}>
                  <th scope="row">
                    {textOf(text)}
                    {action === ply.action && <span class="unseen">, played</span>}
                    <ShareBar share={probability / most} />
                  </th>
                  <td>{percent(probability)}</td>
                  {hasVisits && <td>{count(Math.round(probability * ply.num_simulations))}</td>}
                </tr>
              ))}
            </tbody>
          </table>
          <p class="thoughts-note">{policyNote(episode.policy_is, ply.num_simulations)}</p>
        </>
      )}
      {ply.policy.length === 0 && ply.search === "fast" && (
        <p class="thoughts-note">A fast search records no policy target.</p>
      )}
    </section>
  );
}

/** Each outcome by itself, where there are more than win, draw and loss. */
function Outcomes({ ply, episode, name }: { ply: Ply; episode: Episode; name: string }) {
  return (
    <dl class="outcomes" aria-label={`Outcomes for ${name}`}>
      {episode.outcomes.map((outcome) => (
        <div key={outcome.name}>
          <dt>{`${name}: ${outcome.name}`}</dt>
          <dd>
            {percent(ply.outcomes_to_move[outcome.name] ?? 0)}
            <ShareBar share={ply.outcomes_to_move[outcome.name] ?? 0} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

interface SearchProps {
  episode: Episode;
  run: string | null;
  at: number;
  ply: Ply | null;
  textOf: (text: string) => string;
}

/** Searches the position again, for visits, values and the principal line. */
function Search({ episode, run, at, ply, textOf }: SearchProps) {
  const [analysis, setAnalysis] = useState<Analysis | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [isAsking, setAsking] = useState(false);
  if (ply === null || ply.player === "chance") return null;
  if (episode.view !== "all" && episode.view !== String(ply.player) && episode.position_texts[at] == null) return null;
  const ask = async (): Promise<void> => {
    setAsking(true);
    try {
      setAnalysis(
        run === null
          ? await post("/api/v1/played/{saved}/analysis", { path: { saved: episode.id }, body: { ply: at } })
          : await post("/api/v1/runs/{run}/episodes/{episode}/analysis", {
              path: { run, episode: episode.id },
              body: { ply: at },
            }),
      );
      setError(null);
    } catch (fault) {
      setError(fault instanceof ApiError ? fault : new ApiError("unknown", String(fault), 0));
    }
    setAsking(false);
  };
  return (
    <section class="thoughts-box">
      {analysis ? (
        <>
          <h2>Searched again: {signed(analysis.value_to_move)} for the player to move</h2>
          <Thoughts analysis={analysis} textOf={textOf} played={ply.action} />
        </>
      ) : (
        <Button disabled={isAsking} onClick={ask}>
          {isAsking ? "Searching…" : "Search this position"}
        </Button>
      )}
      {error && <ErrorNote error={error} />}
    </section>
  );
}

// ---- words

function policyNote(kind: Episode["policy_is"], numSimulations: number): string {
  if (kind === "visits")
    return `As recorded: each move's share of ${plural(numSimulations, "simulation")}, without forced visits.`;
  return "As recorded: the improved policy of Gumbel search; it keeps no visits of single moves.";
}

function seatNames({ players }: Episode): readonly [string, string] {
  const [first, second] = players;
  if (!first || !second) return SIDES;
  return first === second ? [`${first} (first)`, `${second} (second)`] : [first, second];
}

function lastOf({ plies, positions }: Episode, at: number): LastTurn | null {
  const ply = plies[at - 1];
  if (ply === undefined || ply.player === "chance") return null;
  const before = positions[at - 1] ?? null;
  return { player: ply.player, actions: [ply.action], texts: [ply.text], steps: ply.steps, before };
}

function plyText(
  ply: Ply | null,
  names: readonly [string, string],
  episode: Episode,
  textOf: (text: string) => string,
): string {
  if (ply === null) {
    const reward = episode.reward_first_player;
    if (reward === null) return "The game was truncated.";
    return reward === 0 ? "The game is drawn." : `${reward > 0 ? names[0] : names[1]} wins.`;
  }
  if (ply.player === "chance") return `The dice show ${ply.text.split("").join("-")}.`;
  return `${names[ply.player]} plays ${textOf(ply.text)}.`;
}

function resultText(episode: Episode): string {
  const { result_first_player: result, reward_first_player: reward, plies } = episode;
  const length = plural(plies.length, "ply", "plies");
  if (reward === null) return `${length}, truncated`;
  if (reward === 0) return `${length}, a draw`;
  const kind = result.replace(/^(win|lose|loss)\s*/, "");
  const isNamed = episode.players.some(Boolean);
  const winner = isNamed
    ? seatNames(episode)[reward > 0 ? 0 : 1]
    : reward > 0
      ? "the first player"
      : "the second player";
  return `${length}, won by ${winner}${kind ? ` (${kind})` : ""}`;
}
