// What a lent tab and the gateway say to one another: generated from zerofleet.web.lend.messages by
// scripts/write-api-types. A whole number beyond 32 bits is a bigint.

export const PROTOCOL = 2;
export const SOCKET_PATH = "/lend/v1/socket";
export const MAX_EPISODES = 64;
export const MAX_MESSAGE_BYTES = 4194304;

export type Whole = number | bigint;

export interface Features {
  simd: boolean;
  threads: boolean;
  webgpu: boolean;
}

export interface WorkerReady {
  type: "WORKER_READY";
  protocol: Whole;
  token: string;
  id: Uint8Array;
  backend: "wasm" | "webgpu";
  signatures: Record<string, string>;
  features: Features;
  num_simulations?: Whole;
  games_at_once?: Whole;
}

export interface Stats {
  simulations?: Whole;
  inferences?: Whole;
  wall_s?: number;
  inference_s?: number;
}

export interface GamesComplete {
  type: "GAMES_COMPLETE";
  assignment: Whole;
  episodes: Uint8Array[];
  stats?: Stats;
}

export interface EvalResult {
  type: "EVAL_RESULT";
  match: string;
  games: Whole[][];
}

export interface Heartbeat {
  type: "HEARTBEAT";
  playing?: Whole | null;
}

export interface CheckRows {
  num_rows: Whole;
  observations: Uint8Array;
  policy_logits: Uint8Array;
  outcomes: Uint8Array;
}

export interface WeightsUpdate {
  type: "WEIGHTS_UPDATE";
  version: Whole;
  url: string;
  sha256: string;
  size_bytes: Whole;
  check: CheckRows;
}

export interface PlayGames {
  type: "PLAY_GAMES";
  assignment: Whole;
  game: string;
  options: Record<string, Whole | string>;
  settings: Record<string, unknown>;
  version: Whole;
  worker: Whole;
  first_sequence: Whole;
  count: Whole;
  seed: Whole;
  deadline_s: number;
}

export interface MatchPlayer {
  kind: "network" | "playout" | "random";
  version?: Whole | null;
  settings?: Record<string, unknown>;
}

export interface MatchPair {
  pair: Whole;
  opening: Whole[];
}

export interface PlayMatch {
  type: "PLAY_MATCH";
  match: string;
  game: string;
  options: Record<string, Whole | string>;
  weights: MatchPlayer;
  opponent: MatchPlayer;
  pairs: MatchPair[];
  seed: Whole;
  deadline_s: number;
}

export interface GamesAccepted {
  type: "GAMES_ACCEPTED";
  ids: [Whole, Whole][];
}

export interface GamesRefused {
  type: "GAMES_REFUSED";
  ids: [Whole, Whole][];
  code: string;
  reason: string;
}

export interface Pause {
  type: "PAUSE";
  reason: string;
}

export interface Drain {
  type: "DRAIN";
  reason: string;
}

export interface Refused {
  type: "REFUSED";
  code: string;
  message: string;
}

export type FromTab =
  | WorkerReady
  | GamesComplete
  | EvalResult
  | Heartbeat;

export type FromGateway =
  | WeightsUpdate
  | PlayGames
  | PlayMatch
  | GamesAccepted
  | GamesRefused
  | Pause
  | Drain
  | Refused;
