// Lending as the pages see it: one for the whole document, so that it continues while other pages are shown.
import { useEffect, useState } from "preact/hooks";
import { cores } from "../core/builds";
import type { ToClient } from "./client_worker";
import { readPower, watchPower, type Power } from "./power";
import { NOTHING, type LendChoice, type LendState } from "./state";
import { LendStore } from "./store";

const TOKEN = "zerofleet.lend.token";
const CHOICE = "zerofleet.lend.choice";

export interface PageChoice extends LendChoice {
  pausesOnBattery: boolean;
  pausesOnMetered: boolean;
}

export interface Lent {
  client: LendState;
  /** By the person or by the power; empty where it is not paused. */
  pauseReason: string;
  /** Who alone can resume it; a pause by the power ends with its cause, or by the choice. */
  isPausedByPerson: boolean;
  /** Unix time in ms; null while nothing is lent. */
  startedAt: number | null;
  choice: PageChoice;
}

export const mostWorkers = Math.max(1, navigator.hardwareConcurrency || 1);

const DEFAULT_CHOICE: PageChoice = {
  duty: { cpu: 50, gpu: 50 },
  numWorkers: Math.max(1, Math.floor(mostWorkers / 2)),
  batch: 8,
  simulations: null,
  pausesOnBattery: true,
  pausesOnMetered: true,
};

const PAUSED_BY_PERSON = "Paused.";

class Lender {
  private worker: Worker | null = null;
  private power: Power = { isOnBattery: false, isMetered: false };
  private readonly listeners = new Set<(lent: Lent) => void>();
  lent: Lent = { client: NOTHING, pauseReason: "", isPausedByPerson: false, startedAt: null, choice: readChoice() };

  constructor() {
    watchPower((power) => {
      this.power = power;
      this.applyPause();
    });
  }

  start(token: string, socketPath: string): void {
    if (this.worker !== null) return;
    const worker = new Worker(new URL("./client_worker.ts", import.meta.url), { type: "module" });
    this.worker = worker;
    worker.onmessage = ({ data }: MessageEvent<LendState>) => {
      if (this.worker !== worker) return;
      const isOver = data.phase === "stopped" || data.phase === "failed" || data.phase === "refused";
      this.change({ client: data, startedAt: isOver ? null : this.lent.startedAt });
      if (isOver) this.endWorker();
    };
    worker.onerror = ({ message }) => {
      this.change({
        client: { ...NOTHING, phase: "failed", note: message || "The worker could not be started." },
        startedAt: null,
      });
      this.endWorker();
    };
    const socketUrl = new URL(socketPath, location.href.replace(/^http/, "ws")).href;
    this.change({ startedAt: Date.now(), client: { ...NOTHING, phase: "starting" } });
    this.tell({ type: "start", start: { socketUrl, token, cores, choice: this.lent.choice } });
    void readPower().then((power) => {
      this.power = power;
      this.applyPause();
    });
  }

  pause(isPaused: boolean): void {
    this.change({ isPausedByPerson: isPaused });
    this.applyPause();
  }

  /** What is finished stays stored; what is not, the next start continues. */
  stop(): void {
    this.tell({ type: "stop" });
  }

  choose(change: Partial<PageChoice>): void {
    const choice = { ...this.lent.choice, ...change };
    localStorage.setItem(CHOICE, JSON.stringify(choice));
    this.change({ choice });
    this.tell({ type: "choose", choice });
    this.applyPause();
  }

  listen(listener: (lent: Lent) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private applyPause(): void {
    const { pausesOnBattery, pausesOnMetered } = this.lent.choice;
    const pauseReason = this.lent.isPausedByPerson
      ? PAUSED_BY_PERSON
      : pausesOnBattery && this.power.isOnBattery
        ? "Paused while the device runs on battery."
        : pausesOnMetered && this.power.isMetered
          ? "Paused on a metered link."
          : "";
    if (this.worker === null || pauseReason === this.lent.pauseReason) return;
    this.change({ pauseReason });
    this.tell({ type: "pause", isPaused: pauseReason !== "", note: pauseReason });
  }

  private endWorker(): void {
    this.worker?.terminate();
    this.worker = null;
    this.change({ pauseReason: "", isPausedByPerson: false });
  }

  private tell(message: ToClient): void {
    this.worker?.postMessage(message);
  }

  private change(change: Partial<Lent>): void {
    this.lent = { ...this.lent, ...change };
    for (const listener of this.listeners) listener(this.lent);
  }
}

export const lender = new Lender();

export function useLent(): Lent {
  const [lent, setLent] = useState(lender.lent);
  useEffect(() => lender.listen(setLent), []);
  return lent;
}

function readChoice(): PageChoice {
  try {
    const stored = JSON.parse(localStorage.getItem(CHOICE) ?? "{}") as Partial<PageChoice>;
    const choice = { ...DEFAULT_CHOICE, ...stored };
    return { ...choice, numWorkers: Math.max(1, Math.min(choice.numWorkers, mostWorkers)) };
  } catch {
    return DEFAULT_CHOICE;
  }
}

// ---- the account of this browser

export function readToken(): string | null {
  return localStorage.getItem(TOKEN);
}

export function keepToken(token: string): void {
  localStorage.setItem(TOKEN, token);
}

/** Everything about lending that this browser keeps. */
export async function forgetAll(): Promise<void> {
  localStorage.removeItem(TOKEN);
  localStorage.removeItem(CHOICE);
  await LendStore.erase();
}
