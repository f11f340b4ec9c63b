// The client's side of a player: starts its Web Worker and turns requests and answers into calls.
import type { Portion } from "./games";
import type { Backend, CheckRows } from "./inference";
import type { MatchPart } from "./match";
import type { Duty, FromPlayer, Slot, ToPlayer } from "./player";

/** Games of an assignment, or pairs of a match. */
export interface Task {
  key: string;
  first: number;
  count: number;
  isMatch: boolean;
}

type Answer<T extends FromPlayer["type"]> = FromPlayer & { type: T };

export class Player {
  /** What it plays, or prepares to. */
  task: Task | null = null;
  /** Of the weights that it has loaded. */
  readonly versions = new Map<Slot, string>();
  /** Work that no sent game has taken along yet. */
  owed = { simulations: 0, inferences: 0, inferenceSeconds: 0, wallSeconds: 0 };
  private waiting: {
    type: FromPlayer["type"];
    resolve: (answer: never) => void;
    reject: (error: Error) => void;
  } | null = null;

  private constructor(
    private readonly worker: Worker,
    private readonly isWatched: boolean,
    private readonly tell: (message: FromPlayer) => void,
  ) {
    worker.onmessage = ({ data }: MessageEvent<FromPlayer>) => this.heard(data);
    worker.onerror = ({ message }) => this.heard({ type: "fault", of: "start", message: message || "a worker failed" });
  }

  /** A worker with the core loaded. `tell` gets what is no answer to a request. */
  static async begin(
    module: WebAssembly.Module,
    duty: Duty,
    isWatched: boolean,
    tell: (message: FromPlayer) => void,
  ): Promise<Player> {
    const worker = new Worker(new URL("./player.ts", import.meta.url), { type: "module" });
    const player = new Player(worker, isWatched, tell);
    await player.ask("started", { type: "start", module, duty });
    return player;
  }

  async signatures(): Promise<Record<string, string>> {
    return (await this.ask("signatures", { type: "signatures" })).signatures;
  }

  async load(
    slot: Slot,
    onnx: Uint8Array,
    check: CheckRows,
    backend: Backend,
    version: string,
  ): Promise<Answer<"weights">> {
    this.versions.delete(slot);
    const answer = await this.ask("weights", { type: "weights", onnx, check, backend, numThreads: 1, slot });
    this.versions.set(slot, version);
    return answer;
  }

  play(portion: Portion): void {
    this.post({ type: "play", portion, isWatched: this.isWatched });
  }

  playMatch(part: MatchPart): void {
    this.post({ type: "match", part, isWatched: this.isWatched });
  }

  cancel(): void {
    this.post({ type: "cancel" });
  }

  setDuty(duty: Duty): void {
    this.post({ type: "duty", duty });
  }

  setPaused(isPaused: boolean): void {
    this.post({ type: "pause", isPaused });
  }

  end(): void {
    this.worker.terminate();
  }

  private post(message: ToPlayer): void {
    this.worker.postMessage(message);
  }

  private ask<T extends FromPlayer["type"]>(type: T, message: ToPlayer): Promise<Answer<T>> {
    return new Promise((resolve, reject) => {
      this.waiting = { type, resolve, reject };
      this.post(message);
    });
  }

  private heard(message: FromPlayer): void {
    const { waiting } = this;
    if (waiting !== null && message.type === waiting.type) {
      this.waiting = null;
      waiting.resolve(message as never);
    } else if (waiting !== null && message.type === "fault") {
      this.waiting = null;
      waiting.reject(new Error(message.message));
    } else {
      this.tell(message);
    }
  }
}
