// A duty cycle: so much work, then so much rest. A page cannot read how busy a CPU or GPU is, but it can rest.

/** Work is done for about so long before the rest that it owes. */
const SLICE_MS = 80;

export class Pace {
  private owedMs = 0;

  /** A rest for this work; 100 % rests never. */
  owe(workMs: number, percent: number): void {
    const share = Math.max(1, Math.min(100, percent)) / 100;
    this.owedMs += workMs * (1 / share - 1);
  }

  /** How long to rest now, in ms: nothing until it is worth it. */
  due(): number {
    if (this.owedMs < SLICE_MS / 4) return 0;
    const due = this.owedMs;
    this.owedMs = 0;
    return due;
  }
}

/** Lets messages in; unlike a timer it is not delayed. */
export function yieldToMessages(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}

export function rest(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
