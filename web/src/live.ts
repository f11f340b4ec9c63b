// The live connection: one WebSocket for the run now shown, opened again with growing pauses when it breaks.
import { useEffect, useRef, useState } from "preact/hooks";

/** What the server says by itself; `data` has the shape that `type` names in the API's schema. */
export interface LiveMessage {
  type: string;
  data: unknown;
}

export type LiveState = "off" | "connecting" | "open" | "away";

/** The pause before the try number `attempt` (from 0): half a second, doubled each time, at most ten. */
export function pauseBefore(attempt: number, random: () => number = Math.random): number {
  return Math.min(10_000, 500 * 2 ** attempt) * (0.8 + 0.4 * random());
}

class Live {
  state: LiveState = "off";
  private socket: WebSocket | null = null;
  private run: string | null = null;
  private attempt = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly readers = new Set<(message: LiveMessage) => void>();
  private readonly watchers = new Set<(state: LiveState) => void>();

  /** Reads what is said about `run`, or about no run in particular; returns what ends that. */
  read(run: string | null, reader: (message: LiveMessage) => void): () => void {
    this.readers.add(reader);
    if (this.state === "off" || this.run !== run) this.open(run);
    return () => {
      this.readers.delete(reader);
      // A page that follows at once keeps the connection.
      setTimeout(() => {
        if (this.readers.size === 0) this.close();
      });
    };
  }

  watch(watcher: (state: LiveState) => void): () => void {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  }

  private open(run: string | null): void {
    this.drop();
    this.run = run;
    this.attempt = 0;
    this.connect("connecting");
  }

  private connect(state: LiveState): void {
    this.setState(state);
    const query = this.run === null ? "" : `?run=${encodeURIComponent(this.run)}`;
    const socket = new WebSocket(`${location.origin.replace(/^http/, "ws")}/api/v1/live${query}`);
    this.socket = socket;
    socket.onopen = () => {
      this.attempt = 0;
      this.setState("open");
    };
    socket.onmessage = (event: MessageEvent<string>) => {
      const message = JSON.parse(event.data) as LiveMessage;
      for (const reader of this.readers) reader(message);
    };
    socket.onclose = () => {
      this.socket = null;
      this.setState("away");
      this.timer = setTimeout(() => this.connect("away"), pauseBefore(this.attempt++));
    };
  }

  private drop(): void {
    clearTimeout(this.timer);
    if (this.socket === null) return;
    this.socket.onopen = this.socket.onmessage = this.socket.onclose = null;
    this.socket.close();
    this.socket = null;
  }

  private close(): void {
    this.drop();
    this.run = null;
    this.setState("off");
  }

  private setState(state: LiveState): void {
    if (state === this.state) return;
    this.state = state;
    for (const watcher of this.watchers) watcher(state);
  }
}

const live = new Live();

/**
 * Calls `onMessage` for what the server says about `run` while the page is shown, and `onReturn` when the connection is
 * open again after it broke: what was said meanwhile has to be asked for.
 */
export function useLive(run: string | null, onMessage: (message: LiveMessage) => void, onReturn?: () => void): void {
  const latest = useRef({ onMessage, onReturn });
  latest.current = { onMessage, onReturn };
  useEffect(() => {
    let wasAway = false;
    const endReading = live.read(run, (message) => latest.current.onMessage(message));
    const endWatching = live.watch((state) => {
      if (state === "away") wasAway = true;
      if (state === "open" && wasAway) {
        wasAway = false;
        latest.current.onReturn?.();
      }
    });
    return () => {
      endReading();
      endWatching();
    };
  }, [run]);
}

/** Whether the live connection has been away for longer than a moment. */
export function useIsAway(): boolean {
  const [isAway, setAway] = useState(false);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const end = live.watch((state) => {
      clearTimeout(timer);
      if (state === "away") timer = setTimeout(() => setAway(true), 1_000);
      else setAway(false);
    });
    return () => {
      clearTimeout(timer);
      end();
    };
  }, []);
  return isAway;
}
