// A new game: which, with what options, against whom and how strong; or from a position that was pasted.
import { useEffect, useState } from "preact/hooks";
import { StillBoard } from "../boards";
import { ApiError, post, useGet } from "../client";
import { Button, Choice, Field, Select } from "../parts/controls";
import { asTitle, gameTitle } from "../parts/format";
import { ErrorNote, Loading, PageHead } from "../parts/page";
import { go, pathTo } from "../router";
import { Animals, Rules } from "./rules";
import { PlayerFields, seatOf, strongest, type Chosen } from "./setup_player";
import { HUMAN, type GameLine } from "./seats";
import type { components } from "../api";
import "./play.css";

type Position = components["schemas"]["PositionAnswer"];
type Who = "first" | "second" | "watch" | "both";

/** Who may sit where. Where dice or the deal decide who begins, the seat is no choice. */
function seatings(game: GameLine): readonly { value: Who; text: string }[] {
  const isSeatFree = game.name === "backgammon" || game.name === "beastybar";
  return [
    { value: "first", text: isSeatFree ? "You play" : "You begin" },
    ...(isSeatFree ? [] : [{ value: "second", text: "You are second" } as const]),
    { value: "watch", text: "Watch two agents" },
    ...(game.is_hidden ? [] : [{ value: "both", text: "Two people" } as const]),
  ];
}

/** The position that a game starts from, to be shown; null where there is none to show. */
function startText(game: string, options: Readonly<Record<string, string>>): string | null {
  if (game === "gomoku" || game === "tictactoe" || game === "connect4") return "";
  return game === "backgammon" && options["checkers"] === "15" ? "4HPwATDgc/ABMA" : null;
}

const PASTED: Readonly<Record<string, string>> = {
  backgammon: "GnuBG position ID, such as 4HPwATDgc/ABMA",
  gomoku: "Moves, such as h8 i9 g7, or SGF",
  connect4: "Columns, such as 4453",
};

export function Setup({ query }: { query: URLSearchParams }) {
  const games = useGet("/api/v1/games");
  if (games.error) return <ErrorNote error={games.error} />;
  if (games.data === null) return <Loading />;
  const name = query.get("game");
  const wanted = games.data.find((each) => each.name === name);
  const known = games.data.map((each) => each.name).join(", ");
  const isUnknown = name !== null && wanted === undefined;
  return (
    <>
      <PageHead title="Play" below="Choose a game and an opponent. Everything runs on this machine." />
      {isUnknown && <ErrorNote error={new ApiError("unknown", `unknown game ${name}; known: ${known}`, 404)} />}
      <SetupForm
        games={games.data}
        wanted={wanted ?? games.data[0]!}
        query={isUnknown ? new URLSearchParams() : query}
      />
    </>
  );
}

interface FormProps {
  games: readonly GameLine[];
  wanted: GameLine;
  query: URLSearchParams;
}

function SetupForm({ games, wanted, query }: FormProps) {
  const [name, setName] = useState(wanted.name);
  const game = games.find((each) => each.name === name) ?? wanted;
  const [options, setOptions] = useState<Record<string, string>>(() => givenOptions(query));
  const [who, setWho] = useState<Who>("first");
  const [agents, setAgents] = useState<readonly [Chosen | null, Chosen | null]>([null, null]);
  const [text, setText] = useState(query.get("position") ?? "");
  const [error, setError] = useState<ApiError | null>(null);
  const [isStarting, setStarting] = useState(false);
  const given = Object.fromEntries(game.options.map((option) => [option.name, options[option.name] ?? option.default]));
  const players = useGet("/api/v1/players", {
    query: { game: name, option: Object.entries(given).map(([key, value]) => `${key}=${value}`) },
  });
  const preview = usePreview(name, given, text);

  const agent = (index: 0 | 1): Chosen | null => {
    const chosen = agents[index];
    const known = chosen !== null && players.data?.some((each) => each.text === chosen.player);
    return known ? chosen : strongest(players.data);
  };
  const choose = (name: string): void => {
    setName(name);
    setOptions({});
    setWho("first");
    setText("");
    setError(null);
  };
  const start = async (event: Event): Promise<void> => {
    event.preventDefault();
    const [first, second] = [agent(0), agent(1)];
    if (first === null || second === null) return;
    setStarting(true);
    try {
      const human = { player: HUMAN };
      const seats = {
        first: [human, seatOf(first)],
        second: [seatOf(first), human],
        watch: [seatOf(first), seatOf(second)],
        both: [human, human],
      }[who];
      const body = { game: name, options: given, seats, moves: [], position: text.trim() || null };
      const play = await post("/api/v1/plays", { body });
      go(pathTo("play", play.id));
    } catch (fault) {
      setError(fault instanceof ApiError ? fault : new ApiError("unknown", String(fault), 0));
      setStarting(false);
    }
  };

  return (
    <form class="setup" onSubmit={start}>
      <div class="setup-form">
        <fieldset class="setup-games">
          <legend class="field-label">Game</legend>
          {games.map((each) => (
            <label key={each.name} class="setup-game">
              <input type="radio" name="game" checked={each.name === name} onChange={() => choose(each.name)} />
              <span>{gameTitle(each.name)}</span>
            </label>
          ))}
        </fieldset>
        {game.options.length > 0 && (
          <div class="setup-row">
            {game.options.map((option) => (
              <Select
                key={option.name}
                label={asTitle(option.name)}
                value={given[option.name] ?? option.default}
                options={option.allowed.map((value) => ({ value, text: value }))}
                onChange={(value) => setOptions({ ...options, [option.name]: value })}
              />
            ))}
          </div>
        )}
        <Choice label="Who plays" title="Who plays" value={who} options={seatings(game)} onChange={setWho} />
        {who !== "both" &&
          (players.data ? (
            <>
              <PlayerFields
                label={who === "watch" ? "First player" : "Opponent"}
                players={players.data}
                chosen={agent(0)}
                onChange={(next) => setAgents([next, agents[1]])}
              />
              {who === "watch" && (
                <PlayerFields
                  label="Second player"
                  players={players.data}
                  chosen={agent(1)}
                  onChange={(next) => setAgents([agents[0], next])}
                />
              )}
            </>
          ) : (
            <Loading />
          ))}
        {!game.is_hidden && (
          <Field
            label="Start from a position (optional)"
            value={text}
            placeholder={PASTED[name] ?? "A position as its class writes it"}
            onInput={setText}
          />
        )}
        {(error ?? players.error ?? (text.trim() ? preview.error : null)) && (
          <ErrorNote error={(error ?? players.error ?? preview.error)!} />
        )}
        <div>
          <Button tone="main" type="submit" disabled={isStarting || players.data === null}>
            {who === "watch" ? "Watch" : "Play"}
          </Button>
        </div>
        <Rules key={name} game={game} isOpenFirst={game.species.length > 0} hasLegend={false} />
      </div>
      {game.species.length > 0 && (
        <div class="setup-preview">
          <Animals />
        </div>
      )}
      {preview.position && (
        <div class="setup-preview">
          <StillBoard
            game={name}
            options={preview.position.options}
            seen={preview.position.seen}
            toMove={preview.position.seen.to_move}
          />
          {text.trim() !== "" && <p class="setup-note">Read as {preview.position.notation}.</p>}
        </div>
      )}
    </form>
  );
}

/** The pasted position, or the one that the game starts from. */
function usePreview(game: string, options: Record<string, string>, text: string) {
  const [shown, setShown] = useState<{ position: Position | null; error: ApiError | null }>({
    position: null,
    error: null,
  });
  const key = JSON.stringify([game, options, text.trim()]);
  useEffect(() => {
    let isWanted = true;
    const given = text.trim() || startText(game, options);
    if (given === null) {
      setShown({ position: null, error: null });
      return;
    }
    const body = { game, options, text: given };
    const timer = setTimeout(() => {
      post("/api/v1/positions", { body }).then(
        (position) => isWanted && setShown({ position, error: null }),
        (error: unknown) => isWanted && setShown({ position: null, error: error instanceof ApiError ? error : null }),
      );
    }, 150);
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [key]);
  return shown;
}

/** `?option=size=9` of a link. */
function givenOptions(query: URLSearchParams): Record<string, string> {
  return Object.fromEntries(
    query.getAll("option").map((each): [string, string] => {
      const at = each.indexOf("=");
      return [each.slice(0, at), each.slice(at + 1)];
    }),
  );
}
