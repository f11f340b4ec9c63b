// A game against an agent that thinks in this tab: rules, dice and search in a Web Worker, without a server.
import type { LastTurn, Legal, LegalTurn, Mover, Player, Seen } from "../boards/board";
import { CHANCE, OVER, loadCore, type Core, type Game, type Position } from "../core/core.js";
import { moverOf, seenOf } from "../core/seen";
import { Network } from "../lend/inference";
import { rest, yieldToMessages } from "../lend/pace";
import type { Chances } from "../play/chances";
import type { Turn } from "../play/seats";
import { withWeights } from "./onnx_file";

export interface TabStart {
  core: string;
  game: string;
  options: Record<string, string>;
  person: Player;
  /** Addresses of the shipped weights; null: the agent plays by random playouts. */
  weights: { graph: string; tensors: string } | null;
  numThreads: number;
}

export type ToThinker =
  | { type: "start"; start: TabStart }
  | { type: "act"; actions: readonly number[] }
  | { type: "takeBack" }
  | { type: "think"; simulations: number };

/** The game as the person sees it. */
export interface TabView {
  seen: Seen;
  toMove: Mover;
  legal: Legal[];
  legalTurns: LegalTurn[] | null;
  last: LastTurn | null;
  turns: Turn[];
  canTakeBack: boolean;
  /** How it ended for the person; null while it is played. */
  reward: number | null;
}

export interface Thought {
  chances: Chances;
  simulations: number;
  seconds: number;
}

export type FromThinker = { type: "view"; view: TabView; thought: Thought | null } | { type: "fault"; message: string };

interface Played {
  player: Player | "chance";
  action: number;
  text: string;
  steps: Turn["steps"];
}

let core: Core;
let game: Game;
let position: Position;
let person: Player = 0;
let network: Network | null = null;
let played: Played[] = [];
let last: Promise<void> = Promise.resolve();

const tell = (message: FromThinker) => postMessage(message);

onmessage = ({ data }: MessageEvent<ToThinker>) => {
  last = last
    .then(() => carryOut(data))
    .catch((error: unknown) =>
      tell({ type: "fault", message: error instanceof Error ? error.message : String(error) }),
    );
};

async function carryOut(request: ToThinker): Promise<void> {
  let thought: Thought | null = null;
  switch (request.type) {
    case "start":
      await start(request.start);
      break;
    case "act":
      for (const action of request.actions) play(action);
      break;
    case "takeBack":
      takeBack();
      break;
    case "think":
      thought = await think(request.simulations);
      break;
  }
  tell({ type: "view", view: view(), thought });
}

async function start({ core: address, game: name, options, person: seat, weights, numThreads }: TabStart) {
  core = await loadCore(fetch(address));
  game = core.game(name, options);
  person = seat;
  if (weights !== null) {
    const [graph, tensors] = await Promise.all([fetchBytes(weights.graph), fetchBytes(weights.tensors)]);
    network = await Network.load(withWeights(graph, tensors), "wasm", numThreads);
  }
  position = game.newPosition(crypto.getRandomValues(new BigUint64Array(1))[0]!);
  played = [];
  roll();
}

async function fetchBytes(address: string): Promise<Uint8Array> {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`the weights could not be loaded: ${address} answered ${answer.status}`);
  return new Uint8Array(await answer.arrayBuffer());
}

// ---- rules

function play(action: number): void {
  const mover = position.state().to_move === 1 ? 1 : 0;
  const text = position.actionText(action);
  const steps = position.steps(action).map((step) => ({ animal: null, acts_as: step["as"] ?? null, ...step }));
  position.play(action);
  played.push({ player: mover, action, text, steps: steps as unknown as Turn["steps"] });
  roll();
}

function roll(): void {
  for (let state = position.state(); state.to_move === CHANCE && !state.truncated; state = position.state()) {
    let drawn = (crypto.getRandomValues(new Uint32Array(1))[0]! + 0.5) / 2 ** 32;
    const outcomes = state.chance_outcomes;
    const outcome = outcomes.find(({ probability }) => (drawn -= probability) < 0) ?? outcomes.at(-1)!;
    position.play(outcome.id);
    played.push({ player: "chance", action: outcome.id, text: outcome.text, steps: [] });
  }
}

/** To the person's last turn; the dice stay as they were. */
function takeBack(): void {
  let end = played.length;
  while (end > 0 && played[end - 1]!.player !== person) --end;
  while (end > 0 && played[end - 1]!.player === person) --end;
  position.undo(played.length - end);
  played = played.slice(0, end);
}

// ---- what the page shows

/** Null before the first turn of a player. */
function lastTurn(): LastTurn | null {
  const turn = turns().findLast(({ player }) => player !== "chance");
  if (turn === undefined || turn.player === "chance") return null;
  return { player: turn.player, actions: turn.actions, texts: turn.texts, steps: turn.steps, before: null };
}

function view(): TabView {
  const state = position.state();
  const isOver = state.to_move === OVER || state.truncated;
  const isPersonToMove = !isOver && state.to_move === person;
  const outcome = state.outcomes === null ? null : game.facts.outcomes[state.outcomes[person]]!;
  const canTakeBack = played.some(({ player }) => player === person) && !(game.facts.hidden && isOver);
  return {
    seen: seenOf(position, game.facts.hidden && !isOver ? person : undefined),
    toMove: isOver ? "over" : moverOf(state.to_move),
    legal: isPersonToMove ? state.actions.map(({ id, text }) => ({ action: id, text })) : [],
    legalTurns: isPersonToMove && game.facts.name === "backgammon" ? turnsFrom(position) : null,
    last: lastTurn(),
    turns: turns(),
    canTakeBack,
    reward: isOver ? (outcome?.reward ?? 0) : null,
  };
}

/** All actions of one player in a row, or one roll. */
function turns(): Turn[] {
  const found: Turn[] = [];
  played.forEach(({ player, action, text, steps }, ply) => {
    const before = found.at(-1);
    if (before !== undefined && player !== "chance" && before.player === player) {
      before.text += ` ${text}`;
      before.actions.push(action);
      before.texts.push(text);
      before.steps.push(...steps);
    } else {
      found.push({ player, text, actions: [action], texts: [text], steps: [...steps], ply });
    }
  });
  return found;
}

/** All turns of the mover, each result once. */
function turnsFrom(start: Position): LegalTurn[] {
  const mover = start.state().to_move;
  const known = new Set<string>();
  const found: LegalTurn[] = [];
  const walk = (here: Position, actions: number[], texts: string[]): void => {
    for (const { id, text } of here.state().actions) {
      const next = here.copy();
      next.play(id);
      const isOn = next.state().to_move === mover;
      const key = `${isOn} ${next.toText()}`;
      if (!known.has(key)) {
        known.add(key);
        const [all, words] = [
          [...actions, id],
          [...texts, text],
        ];
        if (isOn) walk(next, all, words);
        else found.push({ actions: all, text: words.join(" ") });
      }
      next.free();
    }
  };
  walk(start, [], []);
  return found;
}

// ---- thinking

/** The agent takes its whole turn. */
async function think(simulations: number): Promise<Thought | null> {
  const mover = position.state().to_move;
  const begunAt = performance.now();
  let thought: Thought | null = null;
  while (position.state().to_move === mover && !position.state().truncated) {
    const { result, numSimulations } = await search(simulations);
    const seconds = (performance.now() - begunAt) / 1000;
    thought = { chances: chancesOf(result.outcomes_to_move, mover), simulations: numSimulations, seconds };
    play(result.best_action);
  }
  await rest(Math.max(0, 300 - (performance.now() - begunAt)));
  return thought;
}

async function search(simulations: number) {
  const settings = { ...core.analysisSettings(), num_simulations: simulations, max_leaves: network === null ? 1 : 8 };
  const seed = crypto.getRandomValues(new BigUint64Array(1))[0]!;
  const searching = position.search({ settings, evaluator: network === null ? "playout" : "", seed });
  while (!searching.finished()) {
    if (network === null) {
      searching.run(200);
      await yieldToMessages();
      continue;
    }
    const { numRows, observations } = searching.gather();
    if (numRows === 0) continue;
    const { policyLogits, outcomes } = await network.evaluate(observations, numRows);
    searching.absorb(policyLogits, outcomes);
  }
  const result = searching.result();
  searching.free();
  return { result, numSimulations: result.num_simulations };
}

/** For the person. */
function chancesOf(outcomesToMove: readonly number[], mover: number): Chances {
  const sum = (isOf: (reward: number) => boolean): number =>
    game.facts.outcomes.reduce((total, { reward }, index) => total + (isOf(reward) ? outcomesToMove[index]! : 0), 0);
  const [better, worse] = [sum((reward) => reward > 0), sum((reward) => reward < 0)];
  const draw = sum((reward) => reward === 0);
  return mover === person ? { win: better, draw, loss: worse } : { win: worse, draw, loss: better };
}
