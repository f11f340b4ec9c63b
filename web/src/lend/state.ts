// What the page asks of the client, and what the client tells the page.
import type { Backend } from "./inference";
import type { Duty, Watched } from "./player";

export interface LendChoice {
  duty: Duty;
  numWorkers: number;
  /** Games that a worker searches at once. */
  batch: number;
  /** Per search; null: as many as the run says. */
  simulations: number | null;
}

export interface LendStart {
  /** Of the WebSocket. */
  socketUrl: string;
  token: string;
  /** Addresses of the core by the name of its build. */
  cores: Readonly<Record<string, string>>;
  choice: LendChoice;
}

export type Phase = "starting" | "connecting" | "waiting" | "playing" | "paused" | "refused" | "failed" | "stopped";

/** What the page shows. Counts are those since the start. */
export interface LendState {
  phase: Phase;
  /** Why, in a sentence; may be empty. */
  note: string;
  backend: Backend | null;
  /** The largest difference from the recorded answers. */
  difference: number | null;
  version: string | null;
  numFinished: number;
  numAccepted: number;
  numRefused: number;
  /** Stored here, not yet on the gateway's disk. */
  numWaiting: number;
  simulations: number;
  inferences: number;
  inferenceSeconds: number;
  /** Of all workers together, without pauses. */
  workSeconds: number;
  watched: Watched | null;
}

export const NOTHING: LendState = {
  phase: "stopped",
  note: "",
  backend: null,
  difference: null,
  version: null,
  numFinished: 0,
  numAccepted: 0,
  numRefused: 0,
  numWaiting: 0,
  simulations: 0,
  inferences: 0,
  inferenceSeconds: 0,
  workSeconds: 0,
  watched: null,
};
