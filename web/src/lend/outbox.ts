// Finished games on their way to the gateway: stored first, sent from the store, one message at a time, and forgotten
// only when the gateway has accepted or refused them by their ids. So nothing finished is lost, and a resend is harmless.
import { MAX_EPISODES, whole, type FromTab } from "./messages";
import type { LendStore, OpenAssignment, WaitingGame } from "./store";

/** An answer to games must come within this time, else the connection is dead. */
const ANSWER_MS = 60_000;
const MAX_SENT_BYTES = 1 << 20;

export interface Counts {
  numWaiting: number;
  numAccepted: number;
  numRefused: number;
}

export interface Way {
  /** False where there is no connection. */
  send(message: FromTab): boolean;
  /** No answer came in time. */
  lostAnswer(): void;
  counted(counts: Counts): void;
  failed(error: unknown): void;
}

export class Outbox {
  private sent = new Set<string>();
  /** Games of matches, which are not stored: whoever is not there to answer for them plays them no more. */
  private readonly sentOnce = new Set<string>();
  private isOpen = false;
  private isSending = false;
  private numAccepted = 0;
  private numRefused = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** Changes of the store happen one after another. */
  private storing: Promise<void> = Promise.resolve();

  constructor(
    private readonly store: LendStore,
    private readonly way: Way,
  ) {}

  /** Keeps finished games and what is played of their assignment, then sends. */
  add(games: readonly WaitingGame[], assignment: OpenAssignment | null): void {
    this.change(async () => {
      await this.store.addGames(games, assignment);
      await this.count();
      this.send();
    });
  }

  /** Games that were sent and are not sent again. */
  expect(ids: readonly string[]): void {
    for (const id of ids) this.sentOnce.add(id);
  }

  /** The gateway takes games from now on, those of earlier connections first. */
  open(): void {
    this.isOpen = true;
    this.send();
  }

  /** The connection is gone: what was sent and not answered is sent again over the next. */
  close(): void {
    this.isOpen = false;
    this.sent.clear();
    this.sentOnce.clear();
    clearTimeout(this.timer);
  }

  /** The gateway's word on games; without ids on all that were sent. */
  answered(ids: readonly string[], isAccepted: boolean): void {
    const named = ids.length > 0 ? ids : [...this.sent];
    const numNew = named.filter((id) => this.sent.delete(id) || this.sentOnce.delete(id)).length;
    if (isAccepted) this.numAccepted += numNew;
    else this.numRefused += numNew;
    if (this.sent.size === 0) clearTimeout(this.timer);
    this.change(async () => {
      await this.store.forgetGames(named);
      await this.count();
      this.send();
    });
  }

  /** Changes the store after all changes before. */
  change(work: () => Promise<void>): void {
    this.storing = this.storing.then(work).catch((error: unknown) => this.way.failed(error));
  }

  /** Once all changes are made. */
  async finished(): Promise<void> {
    this.close();
    await this.storing;
  }

  private async count(): Promise<void> {
    const { numAccepted, numRefused } = this;
    this.way.counted({ numWaiting: await this.store.numWaiting(), numAccepted, numRefused });
  }

  /** The oldest stored games of one assignment, unless earlier ones still wait for their answer. */
  private send(): void {
    if (this.isSending || this.sent.size > 0 || !this.isOpen) return;
    this.isSending = true;
    this.change(async () => {
      const oldest = await this.store.waitingGames(MAX_EPISODES);
      this.isSending = false;
      const games = firstMessage(oldest);
      if (games.length === 0 || !this.isOpen || this.sent.size > 0) return;
      if (!this.way.send(messageOf(games))) return;
      this.sent = new Set(games.map(({ id }) => id));
      this.timer = setTimeout(() => this.way.lostAnswer(), ANSWER_MS);
    });
  }
}

/** The first games that fit into one message: of one assignment, within its bounds. */
export function firstMessage(oldest: readonly WaitingGame[]): WaitingGame[] {
  const games: WaitingGame[] = [];
  let numBytes = 0;
  for (const game of oldest) {
    numBytes += game.bytes.length;
    const isFull = games.length > 0 && numBytes > MAX_SENT_BYTES;
    if (isFull || String(game.assignment) !== String(oldest[0]!.assignment)) break;
    games.push(game);
  }
  return games;
}

function messageOf(games: readonly WaitingGame[]): FromTab {
  const sum = (of: (game: WaitingGame) => number) => games.reduce((total, game) => total + of(game), 0);
  return {
    type: "GAMES_COMPLETE",
    assignment: games[0]!.assignment,
    episodes: games.map(({ bytes }) => bytes),
    stats: {
      simulations: whole(sum((game) => game.simulations)),
      inferences: whole(sum((game) => game.inferences)),
      wall_s: sum((game) => game.wallSeconds),
      inference_s: sum((game) => game.inferenceSeconds),
    },
  };
}
