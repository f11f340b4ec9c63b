// The core in a tab: games, positions, searches and self-play, as classes over module.js.
//
//     const core = await loadCore(fetch("/zerofleet.wasm"));
//     const game = core.game("connect4");
//     const position = game.newPosition();
//     position.play(3);
//     const search = position.search({ settings: core.analysisSettings(), evaluator: "playout" });
//     while (!search.finished()) search.run(1000);
//     position.play(search.result().best_action);
//
// Every object holds memory of the core until free() is called. All calls run in the caller's thread, so a page
// calls them from a Web Worker. Data that the core gives keeps the core's names.
// @ts-check

import { CoreError, CoreModule, moduleName } from "./module.js";

export { CoreError, moduleName };

// Who acts next where it is not player 0 or 1.
export const CHANCE = 2;
export const OVER = 3;

/** @typedef {bigint | number} Whole a whole number of 64 bits */
/** @typedef {Record<string, string | number | boolean>} Settings */
/** @typedef {"" | "uniform" | "hash" | "playout"} Evaluator the core's own; with "" the caller evaluates */
/** @typedef {{ name: string, default: string, allowed: string[] }} GameOption */
/** @typedef {{ name: string, reward: number, opposite: number }} Outcome */
/**
 * @typedef {object} Facts
 * @property {string} name
 * @property {Record<string, string>} options
 * @property {number} num_actions
 * @property {number} num_chance_outcomes
 * @property {number} observation_bytes
 * @property {number} max_plies
 * @property {boolean} hidden
 * @property {Outcome[]} outcomes
 */
/**
 * @typedef {object} Setting
 * @property {string} name
 * @property {"int" | "float" | "bool" | "choice"} kind
 * @property {string | number | boolean} default
 * @property {number} [min]
 * @property {number} [max]
 * @property {string[]} [choices]
 * @property {boolean} selfplay
 * @property {string} doc
 */
/** @typedef {{ id: number, text: string }} ActionWithText */
/**
 * @typedef {object} State
 * @property {number} to_move 0, 1, CHANCE or OVER
 * @property {number | null} roller who is about to roll, where chance is to move
 * @property {number} num_played what undo can take back
 * @property {boolean} truncated the game reached max_plies
 * @property {ActionWithText[]} actions the legal ones
 * @property {(ActionWithText & { probability: number })[]} chance_outcomes
 * @property {[number, number] | null} outcomes of player 0 and 1, once the game is over
 */
/**
 * @typedef {object} SearchResult lists are in the order of `actions`
 * @property {number[]} actions
 * @property {number[]} visits
 * @property {number[]} values_to_move
 * @property {number[]} priors
 * @property {number[]} policy
 * @property {number[]} target
 * @property {number[]} outcomes_to_move
 * @property {number[]} principal_variation
 * @property {number} best_action
 * @property {number} value_to_move
 * @property {number} num_simulations
 * @property {number} depth
 * @property {number} num_bytes
 * @property {boolean} solved
 * @property {boolean} memory_full
 */
/**
 * @typedef {object} Counts
 * @property {number} num_simulations
 * @property {number} num_decisions
 * @property {number} num_leaves
 * @property {number} num_episodes
 * @property {number} largest_tree_bytes
 */

/** @param {Whole} number */
const whole = (number) => BigInt.asUintN(64, BigInt(number));

/**
 * Loads the core. `memoryMebibytes` is what it may take: 64 to 2048, by default 1024.
 * @param {import("./module.js").Source} source
 * @param {{ memoryMebibytes?: number }} [limits]
 */
export async function loadCore(source, { memoryMebibytes } = {}) {
  const module = await CoreModule.load(source);
  if (memoryMebibytes !== undefined) module.call("zf_limit_memory", memoryMebibytes);
  return new Core(module);
}

/** Something in the core's memory, by its handle. */
class Held {
  /** @type {CoreModule} */ module;
  /** @type {number} */ handle;
  /** @type {string} */ #kind;

  /** @param {CoreModule} module @param {string} kind @param {number} handle */
  constructor(module, kind, handle) {
    this.module = module;
    this.#kind = kind;
    this.handle = handle;
  }

  /** Gives its memory back; it cannot be used afterwards. */
  free() {
    this.module.call(`zf_${this.#kind}_free`, this.handle);
  }
}

export class Core {
  /** @type {CoreModule} */ #module;

  /** @param {CoreModule} module */
  constructor(module) {
    this.#module = module;
  }

  /** @returns {{ name: string, options: GameOption[] }[]} */
  games() {
    this.#module.call("zf_games");
    return this.#module.json();
  }

  /** The settings of a search and of self-play. @returns {{ search: Setting[], selfplay: Setting[] }} */
  settings() {
    this.#module.call("zf_settings");
    const { search, selfplay } = this.#module.json();
    return { search, selfplay };
  }

  /** Where a search for analysis or play differs from the defaults: it does not explore. @returns {Settings} */
  analysisSettings() {
    this.#module.call("zf_settings");
    return this.#module.json().analysis;
  }

  /** @param {string} name @param {Settings} [options] */
  game(name, options = {}) {
    return new Game(this.#module, this.#module.call("zf_game_new", name, JSON.stringify(options)));
  }

  /** Bytes that everything in the core takes. */
  memoryUsed() {
    return this.#module.number("zf_memory_used");
  }
}

export class Game extends Held {
  /** @type {Facts} */ facts;

  /** @param {CoreModule} module @param {number} handle */
  constructor(module, handle) {
    super(module, "game", handle);
    module.call("zf_game_facts", handle);
    this.facts = module.json();
  }

  /** A hash of fixed games, the same on every machine unless play differs. Takes about a second. */
  signature() {
    this.module.call("zf_game_signature", this.handle);
    return this.module.text();
  }

  /** A fresh game, dealt from the seed. @param {Whole} [seed] */
  newPosition(seed = 0) {
    return this.#position(this.module.call("zf_position_new", this.handle, whole(seed)));
  }

  /** @param {string} text */
  fromText(text) {
    return this.#position(this.module.call("zf_position_from_text", this.handle, text));
  }

  /** The last position of an episode; undo steps back through its game. @param {Uint8Array} bytes */
  fromEpisode(bytes) {
    return this.#position(this.module.call("zf_position_from_episode", this.handle, bytes));
  }

  /**
   * Many games at once. Without an evaluator the caller evaluates, by next and submit. `version` is that of the
   * weights that evaluate first. Games are numbered from `firstSequence` on; after `numGames` of them it has finished
   * (0: never).
   * @param {{ settings?: Settings, evaluator?: Evaluator, numGroups?: number, gamesPerGroup: number, seed: Whole,
   *   worker?: Whole, version?: Whole, firstSequence?: Whole, numGames?: Whole }} start
   */
  selfPlay(start) {
    const { settings = {}, evaluator = "", numGroups = 1, gamesPerGroup } = start;
    const { seed, worker = 0, version = 0, firstSequence = 0, numGames = 0 } = start;
    const sizes = [numGroups, gamesPerGroup];
    const ids = [seed, worker, version, firstSequence, numGames].map(whole);
    const named = [JSON.stringify(settings), evaluator];
    return new SelfPlay(this, this.module.call("zf_selfplay_new", this.handle, ...named, ...sizes, ...ids));
  }

  /**
   * Searches one event of an episode again, as selfPlay with the same settings, seed, worker and version did. Its
   * `episode` is the same bytes if the search agrees.
   * @param {Uint8Array} episode
   * @param {{ event: number, settings?: Settings, evaluator?: Evaluator, seed: Whole, worker?: Whole, version?: Whole }}
   *   claim
   */
  searchAgain(episode, { event, settings = {}, evaluator = "", seed, worker = 0, version = 0 }) {
    const named = [JSON.stringify(settings), evaluator];
    const ids = [seed, worker, version].map(whole);
    return new Search(this.module, this.module.call("zf_search_again", this.handle, ...named, episode, event, ...ids));
  }

  /** @param {number} handle */
  #position(handle) {
    return new Position(this, handle);
  }
}

/** A position that remembers what was played, so that it can be taken back. */
export class Position extends Held {
  /** @type {Game} */ game;

  /** @param {Game} game @param {number} handle */
  constructor(game, handle) {
    super(game.module, "position", handle);
    this.game = game;
  }

  copy() {
    return new Position(this.game, this.module.call("zf_position_copy", this.handle));
  }

  /** @returns {State} */
  state() {
    this.module.call("zf_position_state", this.handle);
    return this.module.json();
  }

  /** Plays an action, or a chance outcome where chance is to move. @param {number} id */
  play(id) {
    this.module.call("zf_position_play", this.handle, id);
  }

  /** Takes a whole turn as people write it. @param {string} text */
  playFromText(text) {
    this.module.call("zf_position_play_from_text", this.handle, text);
  }

  /** Takes back the last plays; a whole turn of playFromText is one. */
  undo(count = 1) {
    this.module.call("zf_position_undo", this.handle, count);
  }

  /** Everything, or only what a player may see. @param {0 | 1} [player] @returns {Record<string, unknown>} */
  describe(player) {
    this.module.call("zf_position_describe", this.handle, player ?? -1);
    return this.module.json();
  }

  /** What happens, in order, when a legal action is played. @param {number} id @returns {Record<string, unknown>[]} */
  steps(id) {
    this.module.call("zf_position_steps", this.handle, id);
    return this.module.json();
  }

  /** A short text that Game.fromText reads. */
  toText() {
    this.module.call("zf_position_text", this.handle);
    return this.module.text();
  }

  /** A picture in letters. */
  picture() {
    this.module.call("zf_position_picture", this.handle);
    return this.module.text();
  }

  /** What this player may know: observation_bytes bytes. @param {0 | 1} player */
  observe(player) {
    this.module.call("zf_position_observe", this.handle, player);
    return this.module.view().slice();
  }

  /** @param {number} id */
  actionText(id) {
    this.module.call("zf_position_action_text", this.handle, id);
    return this.module.text();
  }

  /** @param {string} text */
  actionFromText(text) {
    return this.module.call("zf_position_action_from_text", this.handle, text);
  }

  /**
   * Begins a search of this position. With an evaluator of the core, run searches; else the caller evaluates, by
   * gather and absorb.
   * @param {{ settings?: Settings, evaluator?: Evaluator, seed?: Whole }} [start]
   */
  search({ settings = {}, evaluator = "", seed = 1 } = {}) {
    const named = [JSON.stringify(settings), evaluator];
    return new Search(this.module, this.module.call("zf_search_new", this.handle, whole(seed), ...named));
  }
}

export class Search extends Held {
  /** @param {CoreModule} module @param {number} handle */
  constructor(module, handle) {
    super(module, "search", handle);
  }

  finished() {
    return this.module.call("zf_search_finished", this.handle) === 1;
  }

  /** Starts no further simulation (`onlySolved`: only if the value is proven). */
  stop(onlySolved = false) {
    this.module.call("zf_search_stop", this.handle, onlySolved ? 1 : 0);
  }

  /** Searches with the core's evaluator for at most so many leaves. @param {number} numLeaves */
  run(numLeaves) {
    this.module.call("zf_search_run", this.handle, numLeaves);
  }

  /** The observations of the next leaves, [B, observation_bytes]. None: call again unless it has finished. */
  gather() {
    const numRows = this.module.call("zf_search_gather", this.handle);
    return { numRows, observations: this.module.view().slice() };
  }

  /** The evaluations of those leaves. @param {Float32Array} policyLogits @param {Float32Array} outcomes */
  absorb(policyLogits, outcomes) {
    this.module.call("zf_search_logits", this.handle);
    this.module.fill("policyLogits", policyLogits);
    this.module.call("zf_search_outcomes", this.handle);
    this.module.fill("outcomes", outcomes);
    this.module.call("zf_search_absorb", this.handle);
  }

  /** @returns {SearchResult} */
  result() {
    this.module.call("zf_search_result", this.handle);
    return this.module.json();
  }

  /** Of a search again, once it has finished: the episode with the event as this search gives it. */
  episode() {
    this.module.call("zf_search_episode", this.handle);
    return this.module.view().slice();
  }
}

export class SelfPlay extends Held {
  /** @type {Game} */ game;

  /** @param {Game} game @param {number} handle */
  constructor(game, handle) {
    super(game.module, "selfplay", handle);
    this.game = game;
  }

  /**
   * The observations of one group's leaves, [B, observation_bytes]; null where no game reached a leaf within its
   * share of work: call again unless it has finished.
   */
  next() {
    const group = this.module.call("zf_selfplay_next", this.handle);
    if (group < 0) return null;
    const observations = this.module.view().slice();
    return { group, numRows: observations.length / this.game.facts.observation_bytes, observations };
  }

  /** Which logits of the group's leaves will be read: bit a % 8 of byte a / 8 of each row. @param {number} group */
  actionMasks(group) {
    this.module.call("zf_selfplay_masks", this.handle, group);
    return this.module.view().slice();
  }

  /**
   * The evaluations of those leaves by the weights of this version.
   * @param {number} group @param {Float32Array} policyLogits @param {Float32Array} outcomes @param {Whole} version
   */
  submit(group, policyLogits, outcomes, version) {
    this.module.call("zf_selfplay_logits", this.handle, group);
    this.module.fill("policyLogits", policyLogits);
    this.module.call("zf_selfplay_outcomes", this.handle, group);
    this.module.fill("outcomes", outcomes);
    this.module.call("zf_selfplay_submit", this.handle, group, whole(version));
  }

  /** With an evaluator of the core: advances groups so many times. */
  run(numTurns = 1) {
    this.module.call("zf_selfplay_run", this.handle, numTurns);
  }

  /** Whether all games are over; their episodes may still wait to be taken. */
  finished() {
    return this.module.call("zf_selfplay_finished", this.handle) === 1;
  }

  /** The episodes finished since the last call. @returns {Uint8Array[]} */
  takeEpisodes() {
    const count = this.module.call("zf_selfplay_take", this.handle);
    const packed = this.module.view();
    const lengths = new DataView(packed.buffer, packed.byteOffset);
    const episodes = [];
    for (let at = 0; episodes.length < count;) {
      const length = lengths.getUint32(at, true);
      episodes.push(packed.slice(at + 4, at + 4 + length));
      at += 4 + length;
    }
    return episodes;
  }

  /** Where the first game stands now, as a text that Game.fromText reads. */
  watchedPosition() {
    this.module.call("zf_selfplay_watched", this.handle);
    return this.module.text();
  }

  /** What was done since the start. @returns {Counts} */
  counts() {
    this.module.call("zf_selfplay_counts", this.handle);
    return this.module.json();
  }
}
