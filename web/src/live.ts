// The live connection: one WebSocket for the run now shown, opened again with growing pauses when it breaks.
import { useEffect, useRef, useState } from "preact/hooks";
import type { components } from "./api";

type Schemas = components["schemas"];

/** What the server says by itself: LiveMessage of the API's schema, whose text tells what `data` is. */
export type LiveMessage =
  | { type: "hello"; data: Schemas["Hello"] }
  | { type: "status"; data: Schemas["LiveStatus"] }
  | { type: "rating"; data: Schemas["RatingPoint"] }
  | { type: "event"; data: Schemas["RunEvent"] }
  | { type: "fleet"; data: Schemas["FleetAnswer"] };

export type LiveState = "off" | "connecting" | "open" | "away";

/** The pause before the try number `attempt` (from 0): half a second, doubled each time, at most ten. */
export function pauseBefore(attempt: number, random: () => number = Math.random): number {
  return Math.min(10_000, 500 * 2 ** attempt) * (0.8 + 0.4 * random());
}

/** The code with which the server closes a connection that it will not serve: a run that is not there. */
const refused = 1008;

class Live {
  state: LiveState = "off";
  private socket: WebSocket | null = null;
  private run = "";
  private attempt = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly readers = new Set<(message: LiveMessage) => void>();
  private readonly watchers = new Set<(state: LiveState) => void>();

  /** Reads what is said about `run`; returns what ends that. */
  read(run: string, reader: (message: LiveMessage) => void): () => void {
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

  private open(run: string): void {
    this.drop();
    this.run = run;
    this.attempt = 0;
    this.connect("connecting");
  }

  private connect(state: LiveState): void {
    this.setState(state);
    const server = location.origin.replace(/^http/, "ws");
    const socket = new WebSocket(`${server}/api/v1/live?run=${encodeURIComponent(this.run)}`);
    this.socket = socket;
    socket.onmessage = (event: MessageEvent<string>) => {
      const message = JSON.parse(event.data) as LiveMessage;
      if (message.type === "hello") {
        this.attempt = 0;
        this.setState("open");
      }
      for (const reader of this.readers) reader(message);
    };
    socket.onclose = ({ code }) => {
      this.socket = null;
      if (code === refused) return this.setState("off");
      this.setState("away");
      this.timer = setTimeout(() => this.connect("away"), pauseBefore(this.attempt++));
    };
  }

  private drop(): void {
    clearTimeout(this.timer);
    if (this.socket === null) return;
    this.socket.onmessage = this.socket.onclose = null;
    this.socket.close();
    this.socket = null;
  }

  private close(): void {
    this.drop();
    this.run = "";
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
 * Calls `onMessage` for what the server says about `run` (null: of none) while the page is shown, and `onReturn` when
 * the connection is open again after it broke: what was said meanwhile has to be asked for.
 */
export function useLive(run: string | null, onMessage: (message: LiveMessage) => void, onReturn?: () => void): void {
  const latest = useRef({ onMessage, onReturn });
  latest.current = { onMessage, onReturn };
  useEffect(() => {
    if (run === null) return;
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
