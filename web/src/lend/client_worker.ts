// The Web Worker in which the client runs. Of all tabs of a browser one lends: games and device are the browser's.
import { LendClient, NOTHING, type LendChoice, type LendStart, type LendState } from "./client";

export type ToClient =
  | { type: "start"; start: LendStart }
  | { type: "choose"; choice: LendChoice }
  | { type: "pause"; isPaused: boolean; note: string }
  | { type: "stop" };

const LOCK = "zerofleet-lend";

let client: LendClient | null = null;
let release: (() => void) | null = null;
const tell = (state: LendState) => postMessage(state);

onmessage = ({ data }: MessageEvent<ToClient>) => {
  switch (data.type) {
    case "start":
      void begin(data.start);
      break;
    case "choose":
      client?.choose(data.choice);
      break;
    case "pause":
      client?.setPaused(data.isPaused, data.note);
      break;
    case "stop":
      void client?.stop().then(() => {
        release?.();
        close();
      });
      break;
  }
};

async function begin(start: LendStart): Promise<void> {
  await navigator.locks
    .request(LOCK, { ifAvailable: true }, async (lock) => {
      if (lock === null) {
        tell({ ...NOTHING, phase: "refused", note: "Another tab of this browser lends already." });
        return;
      }
      const held = new Promise<void>((resolve) => (release = resolve));
      client = await LendClient.begin(start, tell);
      await held;
    })
    .catch((error: unknown) => tell({ ...NOTHING, phase: "failed", note: String(error) }));
}
