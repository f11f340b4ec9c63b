// The Web Worker in which the client runs. Of all tabs of a browser one lends: games and device are the browser's.
import { LendClient } from "./client";
import { NOTHING, type LendChoice, type LendStart, type LendState } from "./state";

export type ToClient =
  | { type: "start"; start: LendStart }
  | { type: "choose"; choice: LendChoice }
  | { type: "pause"; isPaused: boolean; note: string }
  | { type: "stop" };

const LOCK = "zerofleet-lend";

let begun: (client: LendClient) => void;
/** What the page asks for before the client has begun, such as a pause on battery, waits for it. */
const client = new Promise<LendClient>((resolve) => (begun = resolve));
let release: (() => void) | null = null;
const tell = (state: LendState) => postMessage(state);

onmessage = ({ data }: MessageEvent<ToClient>) => {
  if (data.type === "start") void begin(data.start);
  else void client.then((client) => obey(client, data));
};

function obey(client: LendClient, asked: Exclude<ToClient, { type: "start" }>): void {
  switch (asked.type) {
    case "choose":
      client.choose(asked.choice);
      break;
    case "pause":
      client.setPaused(asked.isPaused, asked.note);
      break;
    case "stop":
      void client.stop().then(() => {
        release?.();
        close();
      });
      break;
  }
}

async function begin(start: LendStart): Promise<void> {
  await navigator.locks
    .request(LOCK, { ifAvailable: true }, async (lock) => {
      if (lock === null) {
        tell({ ...NOTHING, phase: "refused", note: "Another tab of this browser lends already." });
        return;
      }
      const held = new Promise<void>((resolve) => (release = resolve));
      begun(await LendClient.begin(start, tell));
      await held;
    })
    .catch((error: unknown) => tell({ ...NOTHING, phase: "failed", note: String(error) }));
}
