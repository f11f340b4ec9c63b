// A game in play: what the server says of it, and what a person does to it. The server has the rules and the dice.
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, get, post } from "../client";
import type { Play } from "./seats";

/** Between two turns when agents play each other. */
const WATCH_PAUSE_MS = 700;
/** Before the game is asked for again while another page's request lets the agent think. */
const BUSY_PAUSE_MS = 500;

export interface PlayState {
  readonly play: Play | null;
  /** What was shown before. */
  readonly shown: Play | null;
  readonly error: ApiError | null;
  readonly isThinking: boolean;
  readonly isPaused: boolean;
  readonly act: (actions: readonly number[]) => void;
  readonly takeBack: () => void;
  readonly setPaused: (isPaused: boolean) => void;
  /** One turn of the agent to move, while paused. */
  readonly step: () => void;
}

export function usePlay(id: string): PlayState {
  const [{ play, shown }, setShown] = useState<{ play: Play | null; shown: Play | null }>({ play: null, shown: null });
  const [error, setError] = useState<ApiError | null>(null);
  const [isThinking, setThinking] = useState(false);
  const [isPaused, setPaused] = useState(false);
  const [numTries, setNumTries] = useState(0);
  const isBusy = useRef(false);

  const show = (next: Play): void => setShown((last) => ({ play: next, shown: last.play }));

  /** Runs one request at a time; after a refusal the game is read again, since it may be elsewhere. */
  const run = async (ask: () => Promise<Play>): Promise<void> => {
    if (isBusy.current) return;
    isBusy.current = true;
    try {
      show(await ask());
      setError(null);
    } catch (fault) {
      const isElsewhere = fault instanceof ApiError && fault.code === "busy";
      if (isElsewhere) await new Promise((resolve) => setTimeout(resolve, BUSY_PAUSE_MS));
      else setError(fault instanceof ApiError ? fault : new ApiError("unknown", String(fault), 0));
      setNumTries((tries) => tries + 1);
      await get("/api/v1/plays/{play}", { path: { play: id } }).then(show, () => undefined);
    } finally {
      isBusy.current = false;
    }
  };
  const letAgentMove = (): void => {
    setThinking(true);
    void run(() => post("/api/v1/plays/{play}/agent", { path: { play: id } })).finally(() => setThinking(false));
  };

  useEffect(() => {
    void run(() => get("/api/v1/plays/{play}", { path: { play: id } }));
  }, [id]);

  const isAgentToMove = play !== null && !play.is_over && !play.is_human_to_move;
  const isWatched = play !== null && play.seats.every((seat) => seat.player !== "human");
  useEffect(() => {
    if (!isAgentToMove || isPaused || error !== null) return;
    const timer = setTimeout(letAgentMove, isWatched ? WATCH_PAUSE_MS : 0);
    return () => clearTimeout(timer);
  }, [isAgentToMove, isPaused, play?.ply, error, numTries]);

  return {
    play,
    shown,
    error,
    isThinking,
    isPaused,
    setPaused: (next) => {
      setError(null);
      setPaused(next);
    },
    step: letAgentMove,
    takeBack: () => {
      setError(null);
      void run(() => post("/api/v1/plays/{play}/take-back", { path: { play: id } }));
    },
    act: (actions) => {
      void run(async () => {
        let next = play;
        for (const action of actions) {
          const body = { action, ply: next?.ply ?? null };
          next = await post("/api/v1/plays/{play}/actions", { path: { play: id }, body });
        }
        if (next === null) throw new ApiError("unknown", "there is nothing to play", 0);
        return next;
      });
    },
  };
}
