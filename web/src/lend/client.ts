// Lends this browser: talks with the gateway, gives games to the players, keeps what they finish until the gateway has
// it on disk. Rating games come before games that train, and end with the connection: others play them then. It runs in
// a Web Worker, since a hidden tab's own timers are slowed down.
import { moduleName } from "../core/core.js";
import { Connection, type Listener } from "./connection";
import { episodeId } from "./episode";
import { floatsOf, type Backend } from "./inference";
import type { Work } from "./games";
import { OpenMatch } from "./open_match";
import {
  PROTOCOL,
  idText,
  type FromGateway,
  type FromTab,
  type PlayGames,
  type PlayMatch,
  type Whole,
} from "./messages";
import { Outbox } from "./outbox";
import type { FromPlayer, Slot } from "./player";
import { Player, type Task } from "./player_handle";
import { hasWebGpu } from "./power";
import { NOTHING, type LendChoice, type LendStart, type LendState, type Phase } from "./state";
import { LendStore, isLate, type OpenAssignment, type WaitingGame } from "./store";
import { Unreachable, WeightsOfRun } from "./weights";
import { Workload } from "./workload";

/** Refusals that waiting does not cure. */
const FINAL_CODES = new Set(["protocol", "quarantined", "revoked", "signature", "wrong_token"]);
/** Before weights that could not be fetched are asked for again. */
const FETCH_AGAIN_MS = 5_000;

export class LendClient implements Listener {
  private state: LendState = { ...NOTHING, phase: "starting" };
  private players: Player[] = [];
  private connection: Connection | null = null;
  private backend: Backend = "wasm";
  private device = new Uint8Array(16);
  private signatures: Record<string, string> = {};
  private features = { simd: false, threads: false, webgpu: false };
  private readonly workload: Workload;
  private isGreeted = false;
  /** The signatures are known, so it may connect. */
  private isPrepared = false;
  private isPaused = false;
  private isEnded = false;
  private readonly weights: WeightsOfRun;
  private readonly outbox: Outbox;

  private constructor(
    private readonly start: LendStart,
    private readonly store: LendStore,
    private readonly tell: (state: LendState) => void,
  ) {
    this.outbox = new Outbox(store, {
      send: (message) => this.connection?.send(message) ?? false,
      lostAnswer: () => this.connection?.again(),
      counted: (counts) => {
        this.show(counts);
        this.leaveIfPaused();
      },
      failed: (error) => this.fail(error),
    });
    this.workload = new Workload(start.choice.numWorkers, (key) =>
      this.outbox.change(() => store.forgetAssignment(key)),
    );
    const serverUrl = start.socketUrl.replace(/^ws/, "http");
    this.weights = new WeightsOfRun(serverUrl, start.token, (kept) => this.outbox.change(() => store.putWeights(kept)));
  }

  static async begin(start: LendStart, tell: (state: LendState) => void): Promise<LendClient> {
    const client = new LendClient(start, await LendStore.open(), tell);
    client.run().catch((error: unknown) => client.fail(error));
    return client;
  }

  private async run(): Promise<void> {
    this.show({ note: "Loading the core and computing its signatures." });
    const name = moduleName();
    const address = this.start.cores[name];
    if (!address) throw new Error("this installation has no WebAssembly core; make wasm and make web build it");
    const answer = await fetch(address);
    if (!answer.ok) throw new Error(`the core could not be loaded: ${answer.status}`);
    const module = await WebAssembly.compile(await answer.arrayBuffer());
    this.device = (await this.store.deviceId()).slice();
    const canUseGpu = await hasWebGpu();
    this.features = { simd: name === "zerofleet.wasm", threads: crossOriginIsolated, webgpu: canUseGpu };
    this.backend = canUseGpu && this.start.choice.duty.gpu > 0 ? "webgpu" : "wasm";
    this.show({ backend: this.backend, numWaiting: await this.store.numWaiting() });
    const { numWorkers, duty } = this.start.choice;
    const players = await Promise.all(
      Array.from({ length: numWorkers }, (_, index) =>
        Player.begin(module, duty, index === 0, (message) => this.played(message, index)),
      ),
    );
    if (this.isEnded) {
      for (const player of players) player.end();
      return;
    }
    this.players = players;
    if (this.isPaused) this.setPaused(true, this.state.note);
    this.signatures = await players[0]!.signatures();
    await this.resume();
    this.isPrepared = true;
    this.connect();
  }

  private connect(): void {
    if (this.isEnded || !this.isPrepared || this.connection !== null) return;
    if (this.isPaused) {
      this.show({ phase: "paused" });
    } else {
      this.show({ phase: "connecting", note: "" });
      this.connection = new Connection(this.start.socketUrl, this);
    }
  }

  /** A paused tab leaves once the gateway has what it finished, so that it is given nothing that it would not play. */
  private leaveIfPaused(): void {
    if (!this.isPaused || this.state.numWaiting > 0) return;
    this.connection?.end();
    this.connection = null;
    this.isGreeted = false;
    this.outbox.close();
    this.dropMatches();
  }

  /** What an earlier tab had not finished, if there is time for it and its weights are here. */
  private async resume(): Promise<void> {
    const kept = await this.store.weights();
    for (const assignment of await this.store.assignments()) {
      const isPossible =
        kept !== null && String(kept.update.version) === String(assignment.given.version) && !isLate(assignment);
      if (!isPossible) {
        await this.store.forgetAssignment(assignment.key);
        continue;
      }
      this.weights.put(kept);
      this.workload.add(assignment);
    }
    this.dispatch();
  }

  // ---- what the page asks for

  /** The number of workers counts from the next start on. */
  choose(choice: LendChoice): void {
    const before = this.start.choice;
    this.start.choice = { ...choice, numWorkers: before.numWorkers };
    for (const player of this.players) player.setDuty(choice.duty);
    const isOtherWork = choice.simulations !== before.simulations || choice.batch !== before.batch;
    if (isOtherWork && this.isGreeted) this.connection?.again();
  }

  setPaused(isPaused: boolean, note: string): void {
    this.isPaused = isPaused;
    for (const player of this.players) player.setPaused(isPaused);
    if (isPaused) this.leaveIfPaused();
    else this.dispatch();
    this.show({ note });
    this.connect();
  }

  async stop(): Promise<void> {
    this.end("stopped", "");
    await this.outbox.finished();
    this.store.close();
  }

  private fail(error: unknown): void {
    this.end("failed", error instanceof Error ? error.message : String(error));
  }

  private end(phase: Phase, note: string): void {
    if (this.isEnded) return;
    this.isEnded = true;
    this.outbox.close();
    this.connection?.end();
    for (const player of this.players) player.end();
    this.state = { ...this.state, phase, note, watched: null };
    this.tell(this.state);
  }

  private show(change: Partial<LendState>): void {
    if (this.isEnded) return;
    const next = { ...this.state, ...change };
    if (next.phase !== "starting" && next.phase !== "connecting") {
      next.phase = this.isPaused
        ? "paused"
        : this.players.some((player) => player.task !== null)
          ? "playing"
          : "waiting";
    }
    this.state = next;
    this.tell(next);
  }

  // ---- the gateway

  hello(): FromTab {
    const { simulations, numWorkers, batch } = this.start.choice;
    return {
      type: "WORKER_READY",
      protocol: PROTOCOL,
      token: this.start.token,
      id: this.device,
      backend: this.backend,
      signatures: this.signatures,
      features: this.features,
      num_simulations: simulations ?? 0,
      games_at_once: numWorkers * batch,
    };
  }

  heartbeat(): FromTab {
    const task = this.players.find((player) => player.task !== null)?.task;
    const playing = task ? (this.workload.assignment(task.key)?.given.assignment ?? null) : null;
    return { type: "HEARTBEAT", playing };
  }

  opened(): void {
    this.isGreeted = false;
    this.outbox.close();
  }

  lost(retryMs: number): void {
    this.isGreeted = false;
    this.outbox.close();
    this.dropMatches();
    const seconds = Math.max(1, Math.round(retryMs / 1000));
    this.show({ phase: "connecting", note: `The server does not answer. Next try in ${seconds} s.` });
  }

  heard(message: FromGateway): void {
    if (message.type === "REFUSED") {
      if (FINAL_CODES.has(message.code)) this.end("refused", message.message);
      else this.show({ note: message.message });
      return;
    }
    if (!this.isGreeted) {
      this.isGreeted = true;
      this.show({ phase: "waiting", note: this.isPaused ? this.state.note : "" });
      this.outbox.open();
    }
    switch (message.type) {
      case "WEIGHTS_UPDATE":
        this.weights.name(message);
        break;
      case "PLAY_GAMES":
        this.given(message);
        break;
      case "GAMES_ACCEPTED":
        this.outbox.answered(textsOf(message.ids), true);
        break;
      case "GAMES_REFUSED":
        this.show({ note: `Games were refused: ${message.reason}` });
        this.outbox.answered(textsOf(message.ids), false);
        break;
      case "PAUSE":
        this.show({ note: message.reason });
        break;
      case "DRAIN":
        this.show({ note: message.reason });
        break;
      case "PLAY_MATCH":
        this.givenMatch(message);
        break;
    }
  }

  // ---- assignments

  private given(message: PlayGames): void {
    const key = String(message.assignment);
    if (this.workload.assignment(key) !== null) return;
    const deadlineMs = Date.now() + 1000 * message.deadline_s;
    const assignment: OpenAssignment = { key, given: message, deadlineMs, played: [] };
    this.outbox.change(() => this.store.putAssignment(assignment));
    this.workload.add(assignment);
    this.show({ note: this.isPaused ? this.state.note : "" });
    this.dispatch();
  }

  /** Gives idle players something to play. */
  private dispatch(): void {
    if (this.isEnded || this.isPaused) return;
    for (const player of this.players) {
      if (player.task !== null) continue;
      const task = this.workload.next();
      if (task === null) break;
      player.task = task;
      const playing = task.isMatch ? this.playMatch(player, task) : this.playOn(player, task);
      playing.catch((error: unknown) => this.fail(error));
    }
    this.show({});
  }

  private async playOn(player: Player, task: Task): Promise<void> {
    const { given } = this.workload.assignment(task.key)!;
    if (!(await this.load(player, task, "games", given.version, true))) return;
    player.play({
      assignment: given.assignment,
      game: given.game,
      options: given.options as Record<string, number | string>,
      settings: given.settings,
      version: given.version,
      worker: given.worker,
      seed: given.seed,
      firstSequence: BigInt(given.first_sequence) + BigInt(task.first),
      count: task.count,
      batch: this.start.choice.batch,
    });
    this.show({});
  }

  /** Loads weights where a player has others. False where the task must wait, or another backend plays it. */
  private async load(player: Player, task: Task, slot: Slot, version: Whole, isKept: boolean): Promise<boolean> {
    const name = String(version);
    if (player.versions.get(slot) === name) return true;
    const kept = await this.weights.of(version, this.workload.versions(), isKept).catch((error: unknown) => {
      if (!(error instanceof Unreachable)) throw error;
      this.show({ note: error.message });
      return null;
    });
    if (kept === null) {
      this.putBack(player, task);
      return false;
    }
    const { check } = kept.update;
    const rows = {
      numRows: Number(check.num_rows),
      observations: check.observations,
      policyLogits: floatsOf(check.policy_logits),
      outcomes: floatsOf(check.outcomes),
    };
    const { difference, isUsable } = await player.load(slot, kept.onnx, rows, this.backend, name);
    this.show(slot === "games" ? { difference, version: name } : { difference });
    if (!isUsable) this.refuseBackend(difference);
    return isUsable;
  }

  // ---- matches

  private givenMatch(message: PlayMatch): void {
    this.workload.addMatch(new OpenMatch(message));
    this.show({ note: this.isPaused ? this.state.note : "" });
    this.dispatch();
  }

  private async playMatch(player: Player, task: Task): Promise<void> {
    const match = this.workload.match(task.key)!;
    const { weights, opponent } = match.given;
    const slots: [Slot, typeof weights][] = [
      ["first", weights],
      ["second", opponent],
    ];
    for (const [slot, { version }] of slots)
      if (version != null && !(await this.load(player, task, slot, version, false))) return;
    if (this.workload.match(match.key) !== null) {
      player.playMatch(match.part(task));
      this.show({});
    } else {
      player.task = null;
      this.dispatch();
    }
  }

  private matched(message: FromPlayer & { type: "match" }, player: Player): void {
    const { part, games, work, wallSeconds, isEnd } = message;
    this.count(work, wallSeconds, games.length);
    if (!isEnd) return;
    const match = this.workload.match(part.key);
    match?.take(part, games);
    if (match?.isComplete()) {
      this.outbox.expect(match.ids().map(([worker, sequence]) => idText(worker, sequence)));
      this.connection?.send(match.result());
    }
    if (match?.isComplete() || match?.isLate()) this.workload.dropMatch(match.key);
    player.task = null;
    this.dispatch();
  }

  /** Whoever gave them gives them to others. */
  private dropMatches(): void {
    this.workload.dropMatches();
    for (const player of this.players) if (player.task?.isMatch) player.cancel();
  }

  /** The weights are not to be had now: it is tried again until the deadline. */
  private putBack(player: Player, task: Task): void {
    setTimeout(() => {
      player.task = null;
      this.workload.putBack(task);
      this.dispatch();
    }, FETCH_AGAIN_MS);
  }

  /** WebGPU gave wrong numbers: WebAssembly plays instead, and the gateway learns of it. */
  private refuseBackend(difference: number): void {
    const far = difference.toExponential(1);
    if (this.backend === "wasm") {
      throw new Error(
        `the network's answers in this browser differ from the recorded ones by ${far}; nothing is played`,
      );
    }
    this.backend = "wasm";
    for (const player of this.players) player.versions.clear();
    for (const player of this.players) {
      if (player.task === null) continue;
      this.workload.putBack(player.task);
      player.task = null;
    }
    this.show({ backend: "wasm", note: `WebGPU's answers differ by ${far}, so WebAssembly plays.` });
    this.connection?.again();
    this.dispatch();
  }

  // ---- finished games

  private played(message: FromPlayer, index: number): void {
    if (this.isEnded) return;
    switch (message.type) {
      case "watched":
        this.show({ watched: message.watched });
        break;
      case "games":
        this.finished(message, this.players[index]!);
        break;
      case "match":
        this.matched(message, this.players[index]!);
        break;
      case "fault":
        this.fail(new Error(message.message));
        break;
    }
  }

  private count(work: Work, wallSeconds: number, numGames: number): void {
    this.show({
      numFinished: this.state.numFinished + numGames,
      simulations: this.state.simulations + work.simulations,
      inferences: this.state.inferences + work.inferences,
      inferenceSeconds: this.state.inferenceSeconds + work.inferenceSeconds,
      workSeconds: this.state.workSeconds + wallSeconds,
    });
  }

  private finished(message: FromPlayer & { type: "games" }, player: Player): void {
    const { episodes, work, wallSeconds, portion } = message;
    this.count(work, wallSeconds, episodes.length);
    player.owed = {
      simulations: player.owed.simulations + work.simulations,
      inferences: player.owed.inferences + work.inferences,
      inferenceSeconds: player.owed.inferenceSeconds + work.inferenceSeconds,
      wallSeconds: player.owed.wallSeconds + wallSeconds,
    };
    const key = String(portion.assignment);
    const assignment = this.workload.assignment(key);
    if (episodes.length > 0) {
      const share = 1 / episodes.length;
      const games = episodes.map((bytes): WaitingGame => {
        const [worker, sequence] = episodeId(bytes);
        assignment?.played.push(Number(sequence - BigInt(assignment.given.first_sequence)));
        return {
          id: idText(worker, sequence),
          assignment: portion.assignment,
          bytes,
          simulations: player.owed.simulations * share,
          inferences: player.owed.inferences * share,
          wallSeconds: player.owed.wallSeconds * share,
          inferenceSeconds: player.owed.inferenceSeconds * share,
        };
      });
      player.owed = { simulations: 0, inferences: 0, inferenceSeconds: 0, wallSeconds: 0 };
      const kept = assignment && { ...assignment, played: [...assignment.played] };
      this.outbox.add(games, kept);
    }
    if (assignment !== null && assignment.played.length >= Number(assignment.given.count)) this.workload.drop(key);
    if (message.isEnd) {
      player.task = null;
      this.dispatch();
    }
  }
}

function textsOf(ids: readonly [Whole, Whole][]): string[] {
  return ids.map(([worker, sequence]) => idText(worker, sequence));
}
