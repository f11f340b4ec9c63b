// A Web Worker that plays: the core and a network in one thread. The client gives it weights and portions of games; it
// gives back finished games. Weights change between portions only, so never within a game.
import { loadCore, type Core } from "../core/core.js";
import { moverOf, seenOf } from "../core/seen";
import type { Mover, Seen } from "../boards/board";
import { PortionOfGames, type Portion, type Work } from "./games";
import { Network, TOLERANCES, type Backend, type CheckRows } from "./inference";
import { Pace, rest, yieldToMessages } from "./pace";

/** Percent of the time that is worked. */
export interface Duty {
  cpu: number;
  gpu: number;
}

export type ToPlayer =
  | { type: "start"; module: WebAssembly.Module; duty: Duty }
  | { type: "signatures" }
  | { type: "weights"; onnx: Uint8Array; check: CheckRows | null; backend: Backend; numThreads: number }
  | { type: "play"; portion: Portion; isWatched: boolean }
  | { type: "duty"; duty: Duty }
  | { type: "pause"; isPaused: boolean };

/** A game of the portion as it stands. */
export interface Watched {
  game: string;
  options: Record<string, number | string>;
  seen: Seen;
  toMove: Mover;
}

export type FromPlayer =
  | { type: "started" }
  | { type: "signatures"; signatures: Record<string, string> }
  | { type: "weights"; difference: number; isUsable: boolean }
  | { type: "games"; portion: Portion; episodes: Uint8Array[]; work: Work; wallSeconds: number; isEnd: boolean }
  | { type: "watched"; watched: Watched }
  | { type: "fault"; of: ToPlayer["type"]; message: string };

const WATCH_EVERY_MS = 700;
const REPORT_EVERY_MS = 1000;
const LISTEN_EVERY_MS = 50;

let core: Core | null = null;
let network: Network | null = null;
let duty: Duty = { cpu: 100, gpu: 100 };
let isPaused = false;
let resume: (() => void) | null = null;
/** Requests are carried out one after another. */
let last: Promise<void> = Promise.resolve();

const tell = (message: FromPlayer) => postMessage(message);

onmessage = ({ data }: MessageEvent<ToPlayer>) => {
  if (data.type === "duty") {
    duty = data.duty;
  } else if (data.type === "pause") {
    isPaused = data.isPaused;
    if (!isPaused) resume?.();
  } else {
    last = last
      .then(() => carryOut(data))
      .catch((error: unknown) =>
        tell({ type: "fault", of: data.type, message: error instanceof Error ? error.message : String(error) }),
      );
  }
};

async function carryOut(request: ToPlayer): Promise<void> {
  switch (request.type) {
    case "start":
      core = await loadCore(request.module);
      duty = request.duty;
      tell({ type: "started" });
      break;
    case "signatures":
      tell({ type: "signatures", signatures: await signatures(loaded(core)) });
      break;
    case "weights": {
      await network?.release();
      network = await Network.load(request.onnx, request.backend, request.numThreads);
      const difference = request.check === null ? 0 : await network.difference(request.check);
      tell({ type: "weights", difference, isUsable: difference <= TOLERANCES[request.backend] });
      break;
    }
    case "play":
      await play(loaded(core), request.portion, request.isWatched);
      break;
  }
}

function loaded(core: Core | null): Core {
  if (core === null) throw new Error("the core is not loaded yet");
  return core;
}

/** Of every game; each takes about a second. */
async function signatures(core: Core): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const { name } of core.games()) {
    const game = core.game(name);
    found[name] = game.signature();
    game.free();
    await yieldToMessages();
  }
  return found;
}

/** When a game was last shown: portions may be shorter than the time between two looks. */
let watchedAt = -Infinity;

async function play(core: Core, portion: Portion, isWatched: boolean): Promise<void> {
  const games = new PortionOfGames(core, portion, network);
  const pace = new Pace();
  let listenedAt = performance.now();
  let reportedAt = performance.now();
  let episodes: Uint8Array[] = [];
  try {
    while (!games.finished()) {
      const begunAt = performance.now();
      const inferenceBefore = games.inferenceSeconds;
      episodes.push(...(await games.step()));
      const now = performance.now();
      const inferenceMs = 1000 * (games.inferenceSeconds - inferenceBefore);
      const isOnGpu = network?.backend === "webgpu";
      pace.owe(now - begunAt - (isOnGpu ? inferenceMs : 0), duty.cpu);
      if (isOnGpu) pace.owe(inferenceMs, duty.gpu);
      if (isWatched && now - watchedAt >= WATCH_EVERY_MS) {
        watchedAt = now;
        tell({ type: "watched", watched: watchedOf(core, games) });
      }
      if (episodes.length > 0 || now - reportedAt >= REPORT_EVERY_MS) {
        const wallSeconds = (now - reportedAt) / 1000;
        tell({ type: "games", portion, episodes, work: games.work(), wallSeconds, isEnd: games.finished() });
        episodes = [];
        reportedAt = now;
      }
      const due = pace.due();
      if (due > 0) await rest(due);
      if (due > 0 || performance.now() - listenedAt >= LISTEN_EVERY_MS) {
        await yieldToMessages();
        listenedAt = performance.now();
      }
      if (isPaused) {
        await new Promise<void>((resolve) => (resume = resolve));
        reportedAt = performance.now();
      }
    }
  } finally {
    games.free();
  }
}

function watchedOf(core: Core, games: PortionOfGames): Watched {
  const { game: name, options } = games.portion;
  const game = core.game(name, options);
  const position = game.fromText(games.watched());
  const watched = { game: name, options, seen: seenOf(position), toMove: moverOf(position.state().to_move) };
  position.free();
  game.free();
  return watched;
}
