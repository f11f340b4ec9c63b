// A Web Worker that plays: the core and networks in one thread. The client gives it weights and portions of games, or
// parts of a match; it gives back finished games. Weights change between portions only, so never within a game.
import { loadCore, type Core } from "../core/core.js";
import { moverOf, seenOf } from "../core/seen";
import type { Mover, Seen } from "../boards/board";
import { PortionOfGames, type Portion, type Work } from "./games";
import { Network, TOLERANCES, type Backend, type CheckRows } from "./inference";
import { PartOfMatch, type MatchPart } from "./match";
import { Pace, rest, yieldToMessages } from "./pace";

/** Percent of the time that is worked. */
export interface Duty {
  cpu: number;
  gpu: number;
}

/** What a network is for: games that train, or the player named first or second in a match. */
export type Slot = "games" | "first" | "second";

export type ToPlayer =
  | { type: "start"; module: WebAssembly.Module; duty: Duty }
  | { type: "signatures" }
  | { type: "weights"; onnx: Uint8Array; check: CheckRows | null; backend: Backend; numThreads: number; slot?: Slot }
  | { type: "play"; portion: Portion; isWatched: boolean }
  | { type: "match"; part: MatchPart; isWatched: boolean }
  /** Ends the part of a match in hand without its games. */
  | { type: "cancel" }
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
  /** The games come at the end, and none if it was cancelled. */
  | { type: "match"; part: MatchPart; games: number[][]; work: Work; wallSeconds: number; isEnd: boolean }
  | { type: "watched"; watched: Watched }
  | { type: "fault"; of: ToPlayer["type"]; message: string };

const WATCH_EVERY_MS = 700;
const REPORT_EVERY_MS = 1000;
const LISTEN_EVERY_MS = 50;

let core: Core | null = null;
const networks: Record<Slot, Network | null> = { games: null, first: null, second: null };
let duty: Duty = { cpu: 100, gpu: 100 };
let isPaused = false;
let isCancelled = false;
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
  } else if (data.type === "cancel") {
    isCancelled = true;
    resume?.();
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
      const slot = request.slot ?? "games";
      await networks[slot]?.release();
      networks[slot] = null;
      const network = await Network.load(request.onnx, request.backend, request.numThreads);
      networks[slot] = network;
      const difference = request.check === null ? 0 : await network.difference(request.check);
      tell({ type: "weights", difference, isUsable: difference <= TOLERANCES[request.backend] });
      break;
    }
    case "play":
      await play(loaded(core), request.portion, request.isWatched);
      break;
    case "match":
      await playMatch(loaded(core), request.part, request.isWatched);
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
  const games = new PortionOfGames(core, portion, networks.games);
  let episodes: Uint8Array[] = [];
  await toTheEnd(core, games, portion, isWatched, {
    step: async () => {
      episodes.push(...(await games.step()));
      return episodes.length > 0;
    },
    report: (wallSeconds) => {
      tell({ type: "games", portion, episodes, work: games.work(), wallSeconds, isEnd: games.finished() });
      episodes = [];
    },
  });
}

async function playMatch(core: Core, part: MatchPart, isWatched: boolean): Promise<void> {
  isCancelled = false;
  const match = new PartOfMatch(core, part, [networks.first, networks.second]);
  let isEnd = false;
  const report = (wallSeconds: number) => {
    isEnd = isCancelled || match.finished();
    tell({ type: "match", part, games: match.finished() ? match.games() : [], work: match.work(), wallSeconds, isEnd });
  };
  await toTheEnd(core, match, part, isWatched, {
    step: async () => {
      await match.step();
      return isCancelled || match.finished();
    },
    report,
    isCancelled: () => isCancelled,
  });
  if (!isEnd) report(0);
}

interface Loop {
  /** One batch of leaves; whether there is something to report at once. */
  step(): Promise<boolean>;
  report(wallSeconds: number): void;
  isCancelled?(): boolean;
}

/** Plays at the pace that the duty allows. */
async function toTheEnd(
  core: Core,
  games: PortionOfGames | PartOfMatch,
  played: { game: string; options: Record<string, number | string> },
  isWatched: boolean,
  { step, report, isCancelled = () => false }: Loop,
): Promise<void> {
  const pace = new Pace();
  const isOnGpu = Object.values(networks).some((network) => network?.backend === "webgpu");
  let listenedAt = performance.now();
  let reportedAt = performance.now();
  try {
    while (!games.finished() && !isCancelled()) {
      const begunAt = performance.now();
      const inferenceBefore = games.inferenceSeconds;
      const hasNews = await step();
      const now = performance.now();
      const inferenceMs = 1000 * (games.inferenceSeconds - inferenceBefore);
      pace.owe(now - begunAt - (isOnGpu ? inferenceMs : 0), duty.cpu);
      if (isOnGpu) pace.owe(inferenceMs, duty.gpu);
      if (isWatched && now - watchedAt >= WATCH_EVERY_MS) {
        watchedAt = now;
        tell({ type: "watched", watched: watchedOf(core, played, games.watched()) });
      }
      if (hasNews || now - reportedAt >= REPORT_EVERY_MS) {
        report((now - reportedAt) / 1000);
        reportedAt = now;
      }
      const due = pace.due();
      if (due > 0) await rest(due);
      if (due > 0 || performance.now() - listenedAt >= LISTEN_EVERY_MS) {
        await yieldToMessages();
        listenedAt = performance.now();
      }
      if (isPaused && !isCancelled()) {
        await new Promise<void>((resolve) => (resume = resolve));
        reportedAt = performance.now();
      }
    }
  } finally {
    games.free();
  }
}

function watchedOf(
  core: Core,
  { game: name, options }: { game: string; options: Record<string, number | string> },
  text: string,
): Watched {
  const game = core.game(name, options);
  const position = game.fromText(text);
  const watched = { game: name, options, seen: seenOf(position), toMove: moverOf(position.state().to_move) };
  position.free();
  game.free();
  return watched;
}
