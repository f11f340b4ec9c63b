// The WebSocket to the gateway: it connects again by itself, after a pause that doubles and is drawn at random, so
// that tabs that lost the gateway together do not come back together.
import { decodeMessage, encodeMessage, type FromGateway, type FromTab } from "./messages";

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
/** A connection that lasted so long was a good one: the next pause is short again. */
const GOOD_AFTER_MS = 30_000;
export const HEARTBEAT_MS = 15_000;

/** Before the next try, the number `tries` of them having failed in a row: between half and all of the doubled pause. */
export function pauseMs(tries: number, random: () => number = Math.random): number {
  const longest = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** tries);
  return longest * (0.5 + random() / 2);
}

export interface Listener {
  /** The first message of every connection. */
  hello(): FromTab;
  heartbeat(): FromTab;
  heard(message: FromGateway): void;
  opened(): void;
  /** `retryMs` until the next try. */
  lost(retryMs: number): void;
}

export class Connection {
  private socket: WebSocket | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private heart: ReturnType<typeof setInterval> | undefined;
  private tries = 0;
  private openedAt = 0;
  private isEnded = false;

  constructor(
    private readonly url: string,
    private readonly listener: Listener,
  ) {
    addEventListener("online", this.hurry);
    this.connect();
  }

  send(message: FromTab): boolean {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(encodeMessage(message));
    return true;
  }

  /** Ends this connection and makes another. */
  again(): void {
    const { socket } = this;
    if (socket === null) return;
    this.drop(socket);
  }

  end(): void {
    this.isEnded = true;
    removeEventListener("online", this.hurry);
    clearTimeout(this.timer);
    clearInterval(this.heart);
    this.socket?.close(1000);
    this.socket = null;
  }

  private connect(): void {
    if (this.isEnded) return;
    const socket = new WebSocket(this.url);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    socket.onopen = () => {
      this.openedAt = Date.now();
      socket.send(encodeMessage(this.listener.hello()));
      this.heart = setInterval(() => this.send(this.listener.heartbeat()), HEARTBEAT_MS);
      this.listener.opened();
    };
    socket.onmessage = ({ data }: MessageEvent<ArrayBuffer>) => {
      if (this.socket === socket) this.listener.heard(decodeMessage(data));
    };
    socket.onclose = () => {
      if (this.socket === socket) this.drop(socket);
    };
  }

  private drop(socket: WebSocket): void {
    this.socket = null;
    clearInterval(this.heart);
    socket.onclose = null;
    socket.close();
    if (this.isEnded) return;
    const wasGood = this.openedAt > 0 && Date.now() - this.openedAt >= GOOD_AFTER_MS;
    this.openedAt = 0;
    this.tries = wasGood ? 0 : this.tries + 1;
    const pause = pauseMs(this.tries - (wasGood ? 0 : 1));
    this.timer = setTimeout(() => this.connect(), pause);
    this.listener.lost(pause);
  }

  /** The link is back: it need not wait out a long pause, only its jitter. */
  private readonly hurry = () => {
    if (this.socket !== null || this.isEnded) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.connect(), pauseMs(0));
  };
}
