// A game in play: the board first, beside it who stands how, what was played, and what can be asked.
import { useMemo, useState } from "preact/hooks";
import { AnyBoard } from "../boards";
import { YOU, other } from "../boards/board";
import { ApiError, post, useGet } from "../client";
import { Button } from "../parts/controls";
import { gameTitle } from "../parts/format";
import { ErrorNote, Loading, PageHead } from "../parts/page";
import { Link, go, pathTo } from "../router";
import { ChancesBar, Thoughts } from "./chances";
import { MovesList } from "./moves_list";
import { Rules } from "./rules";
import { HUMAN, lastTurnOf, moveText, namesOf, nearOf, positionLink, type GameLine, type Play } from "./seats";
import { useThoughts } from "./use_thoughts";
import { usePlay } from "./use_play";
import "./play.css";

export function GameInPlay({ id }: { id: string }) {
  const state = usePlay(id);
  const { play, shown, error, isThinking, isPaused } = state;
  const games = useGet("/api/v1/games");
  const game = games.data?.find((each) => each.name === play?.game) ?? null;
  const thoughts = useThoughts(play, shown, game?.outcomes ?? []);
  const last = useMemo(() => play && lastTurnOf(play, shown), [play]);
  if (play === null) return error ? <Missing error={error} /> : <Loading />;
  const names = namesOf(play);
  const near = nearOf(play);
  const isWatched = play.seats.every((seat) => seat.player !== HUMAN);

  return (
    <>
      <PageHead
        title={gameTitle(play.game)}
        below={[`${names[near]} against ${names[other(near)]}`, ...unusualOptions(play, game)].join(", ")}
      />
      <div class="table-side">
        <div class="table-board">
          <AnyBoard
            game={play.game}
            options={play.options}
            seen={play.seen}
            toMove={play.is_over ? "over" : play.to_move}
            near={near}
            names={names}
            legal={play.legal}
            legalTurns={play.legal_turns}
            last={last}
            heat={null}
            hint={thoughts.hint}
            onPlay={play.is_human_to_move ? state.act : null}
            isLive
          />
        </div>
        <div class="table-aside">
          <p class="standing" role="status">
            {standing(play, names, isThinking)}
          </p>
          {error && <ErrorNote error={error} />}
          {thoughts.error && <ErrorNote error={thoughts.error} />}
          {!play.is_over && <ChancesBar chances={thoughts.chances} names={names} near={near} />}
          <div class="controls">
            {isWatched && !play.is_over && (
              <>
                <Button onClick={() => state.setPaused(!isPaused)}>{isPaused ? "Resume" : "Pause"}</Button>
                <Button disabled={!isPaused || isThinking} onClick={state.step}>
                  One turn
                </Button>
              </>
            )}
            {!isWatched && (
              <>
                <Button disabled={!play.can_take_back || isThinking} onClick={state.takeBack}>
                  Take back
                </Button>
                <Button disabled={!play.is_human_to_move || thoughts.isAsking} onClick={thoughts.askHint}>
                  Hint
                </Button>
              </>
            )}
            {thoughts.askWhy && (
              <Button disabled={thoughts.isAsking} onClick={thoughts.askWhy}>
                Why its move?
              </Button>
            )}
          </div>
          {!play.is_over && (
            <label class="switch">
              <input type="checkbox" checked={thoughts.isFollowing} onChange={thoughts.toggleFollowing} />
              <span>Winning chances after every move</span>
            </label>
          )}
          {thoughts.shown && (
            <section class="thoughts-box">
              <h2>{thoughts.shown.title}</h2>
              <Thoughts
                analysis={thoughts.shown.analysis}
                textOf={moveText(play.seen, names)}
                played={thoughts.shown.played}
              />
            </section>
          )}
          <MovesList turns={play.turns} names={names} />
          <Ending play={play} />
        </div>
      </div>
      {game && <Rules game={game} />}
    </>
  );
}

function Missing({ error }: { error: ApiError }) {
  return (
    <>
      <PageHead title="Play" />
      <ErrorNote error={error} />
      <p class="setup-note">
        Games in play are kept while the server runs. <Link href="/play">Start a new one</Link>
      </p>
    </>
  );
}

/** The options that differ from the game's defaults: "size 9". */
function unusualOptions(play: Play, game: GameLine | null): readonly string[] {
  return (game?.options ?? [])
    .filter(({ name, default: usual }) => (play.options[name] ?? usual) !== usual)
    .map(({ name }) => `${name} ${play.options[name]}`);
}

/** What is going on, in a sentence. */
function standing(play: Play, names: readonly [string, string], isThinking: boolean): string {
  if (play.is_over) return sentence(play.outcome_text);
  if (play.to_move !== 0 && play.to_move !== 1) return "Rolling.";
  const name = names[play.to_move];
  if (play.is_human_to_move) return name === YOU ? "Your move." : `${name} to move.`;
  return isThinking ? `${name} is thinking.` : `${name} to move.`;
}

/** "You win." A player's name stays as it is written. */
function sentence(text: string): string {
  return `${text.replace(/^(you|a) /, (word) => word.charAt(0).toUpperCase() + word.slice(1))}.`;
}

/** What can be done with the game: link to its position, save it, play again. */
function Ending({ play }: { play: Play }) {
  const [note, setNote] = useState("");
  const [error, setError] = useState<ApiError | null>(null);
  const attempt = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work();
      setError(null);
    } catch (fault) {
      setError(fault instanceof ApiError ? fault : new ApiError("unknown", String(fault), 0));
    }
  };
  const copyLink = async (): Promise<void> => {
    const href = positionLink(play.game, play.options, play.position_text ?? "");
    await navigator.clipboard.writeText(new URL(href, location.href).href);
    setNote("Link copied.");
  };
  const save = (): Promise<void> =>
    attempt(async () => {
      const saved = await post("/api/v1/plays/{play}/episode", { path: { play: play.id } });
      go(pathTo("played", saved.id));
    });
  const again = (swapped: boolean): Promise<void> =>
    attempt(async () => {
      const seats = swapped ? [...play.seats_asked].reverse() : play.seats_asked;
      const body = { game: play.game, options: play.options, seats, moves: [] };
      go(pathTo("play", (await post("/api/v1/plays", { body })).id));
    });
  return (
    <div class="ending">
      {error && <ErrorNote error={error} />}
      {play.is_over && (
        <div class="controls ending-controls">
          <Button tone="main" onClick={save}>
            Save and step through
          </Button>
          <Button onClick={() => again(false)}>Again</Button>
          <Button onClick={() => again(true)}>Change sides</Button>
        </div>
      )}
      <div class="ending-links">
        {play.position_text !== null && (
          <>
            <Link href={positionLink(play.game, play.options, play.position_text)}>This position</Link>
            <button type="button" onClick={() => void copyLink().catch(() => setNote("The link could not be copied."))}>
              Copy its link
            </button>
          </>
        )}
        <Link href={`/play?game=${encodeURIComponent(play.game)}`}>New game</Link>
      </div>
      <p class="setup-note" role="status">
        {note}
      </p>
    </div>
  );
}
