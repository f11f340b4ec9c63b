// What a search thinks of a game in play: a hint, the reasons of the opponent's last move, the winning chances.
import { useEffect, useState } from "preact/hooks";
import { ApiError, post } from "../client";
import { chancesFor, type Chances } from "./chances";
import { HUMAN, nearOf, namesOf, type Analysis, type Outcome, type Play } from "./seats";
import type { Player } from "../boards/board";

const KEY = "zerofleet.chances";

export interface ShownThoughts {
  readonly title: string;
  readonly analysis: Analysis;
  readonly played: number | null;
}

export interface ThoughtsState {
  readonly chances: Chances | null;
  /** Actions to mark on the board. */
  readonly hint: readonly number[];
  readonly shown: ShownThoughts | null;
  readonly error: ApiError | null;
  readonly isAsking: boolean;
  readonly askHint: () => void;
  /** Null where the last move was no agent's, or its position would show what is hidden. */
  readonly askWhy: (() => void) | null;
  readonly isFollowing: boolean;
  readonly toggleFollowing: () => void;
}

export function useThoughts(play: Play | null, before: Play | null, outcomes: readonly Outcome[]): ThoughtsState {
  const [analysis, setAnalysis] = useState<{ ply: number; found: Analysis } | null>(null);
  const [why, setWhy] = useState<{ ply: number; found: Analysis } | null>(null);
  const [isHinting, setHinting] = useState(false);
  const [isAsking, setAsking] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const [isFollowing, setFollowing] = useState(localStorage.getItem(KEY) !== "off");
  const ply = play?.ply ?? -1;
  const canAsk = play !== null && !play.is_over && (play.view === "all" || play.is_human_to_move);

  const ask = async (work: () => Promise<void>): Promise<void> => {
    setAsking(true);
    try {
      await work();
      setError(null);
    } catch (fault) {
      setError(fault instanceof ApiError ? fault : new ApiError("unknown", String(fault), 0));
    } finally {
      setAsking(false);
    }
  };
  const analyse = (): Promise<void> =>
    ask(async () => {
      if (play === null) return;
      const found = await post("/api/v1/plays/{play}/analysis", { path: { play: play.id }, body: {} });
      setAnalysis({ ply: play.ply, found });
    });

  // An agent's turn is not held up: chances are asked for where a person is to move, or only watches.
  const isPersonToMove = play?.is_human_to_move ?? false;
  const isWatched = play?.seats.every(({ player }) => player !== HUMAN) ?? false;
  useEffect(() => {
    setHinting(false);
    setWhy(null);
    if (isFollowing && canAsk && (isPersonToMove || isWatched)) void analyse();
  }, [play?.id, ply, isFollowing, isPersonToMove]);

  const found = analysis?.ply === ply ? analysis.found : null;
  const last = lastAgentTurn(play);
  const from = before?.position_text ?? null;
  const canExplain = play !== null && last !== null && from !== null && before !== null && before.ply === last.ply;

  return {
    // While an agent thinks, the last ones known stay.
    chances: play && analysis && (found !== null || !isPersonToMove) ? chancesOf(play, analysis.found, outcomes) : null,
    hint: isHinting && play && found ? proposed(play, found) : [],
    shown:
      play && why && why.ply === ply && last
        ? { title: `Why ${namesOf(play)[last.player]} played ${last.text}`, analysis: why.found, played: last.action }
        : isHinting && found
          ? { title: "Hint", analysis: found, played: null }
          : null,
    error,
    isAsking,
    askHint: () => {
      setHinting(true);
      setWhy(null);
      if (found === null) void analyse();
    },
    askWhy: canExplain
      ? () => {
          setHinting(false);
          void ask(async () => {
            const { game, options } = play;
            const body = { game, options, position: from, player: last.agent };
            setWhy({ ply, found: await post("/api/v1/analysis", { body }) });
          });
        }
      : null,
    isFollowing,
    toggleFollowing: () => {
      localStorage.setItem(KEY, isFollowing ? "off" : "on");
      setFollowing(!isFollowing);
    },
  };
}

/** The best action, or the whole turn that the principal line begins with. */
function proposed(play: Play, found: Analysis): readonly number[] {
  const line = `${found.principal_variation.join(" ")} `;
  const turn = play.legal_turns?.find(({ text }) => line.startsWith(`${text} `));
  return turn?.actions ?? found.actions.slice(0, 1).map(({ action }) => action);
}

/** For the near player. */
function chancesOf(play: Play, found: Analysis, outcomes: readonly Outcome[]): Chances | null {
  if (found.to_move !== 0 && found.to_move !== 1) return null;
  return chancesFor(nearOf(play), found.to_move, found.outcomes_to_move, outcomes);
}

interface AgentTurn {
  readonly player: Player;
  readonly agent: string;
  readonly text: string;
  readonly action: number | null;
  readonly ply: number;
}

function lastAgentTurn(play: Play | null): AgentTurn | null {
  const turn = play?.turns.filter((each) => each.player !== "chance").pop();
  if (!play || !turn || turn.player === "chance") return null;
  const seat = play.seats[turn.player];
  if (seat === undefined || seat.player === HUMAN) return null;
  return { player: turn.player, agent: seat.player, text: turn.text, action: turn.actions[0] ?? null, ply: turn.ply };
}
