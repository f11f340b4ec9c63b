// Many games at once in WebAssembly: the episodes equal native ones bit by bit.
import assert from "node:assert/strict";
import test from "node:test";

import { BUILDS, load, native, toHex } from "./support.mjs";

const NUM_EPISODES = 12;
const SETTINGS = {
  puct: { num_simulations: 24, full_search_probability: 0.5, fast_simulations: 6, cache_bytes: 1 << 20 },
  gumbel: { num_simulations: 12, root: "gumbel", cache_bytes: 0 },
  afterstates: { afterstates: true, turn_ahead_probability: 0.1 },
};

// The first episodes that finish.
function play(game, settings, evaluator, numEpisodes, seed) {
  const selfPlay = game.selfPlay({ settings, evaluator, numGroups: 2, gamesPerGroup: 3, seed });
  const episodes = [];
  while (episodes.length < numEpisodes) {
    selfPlay.run();
    episodes.push(...selfPlay.takeEpisodes());
  }
  const counts = selfPlay.counts();
  selfPlay.free();
  return { episodes: episodes.slice(0, numEpisodes), counts };
}

for (const build of BUILDS) {
  const core = await load(build);
  for (const { name } of core.games()) {
    for (const [kind, settings] of Object.entries(SETTINGS)) {
      if (kind === "afterstates" && name !== "backgammon") continue;
      test(`${build}, ${name}, ${kind}: episodes equal native ones bit by bit`, () => {
        for (const [evaluator, seed] of [["hash", 1], ["hash", 2n ** 63n + 5n], ["playout", 3]]) {
          const { episodes } = play(core.game(name), settings, evaluator, NUM_EPISODES, seed);
          const asked = [name, JSON.stringify(settings), evaluator, 2, 3, seed, NUM_EPISODES];
          const expected = native("selfplay", ...asked).split("\n");
          assert.deepEqual(episodes.map(toHex), expected, evaluator);
        }
      });
    }
  }
}

const core = await load();

// Answers as the core's uniform evaluator gives them.
function submitUniform(selfPlay, { group, numRows }, version = 0) {
  const { num_actions, outcomes } = selfPlay.game.facts;
  const logits = new Float32Array(numRows * num_actions);
  selfPlay.submit(group, logits, new Float32Array(numRows * outcomes.length).fill(1 / outcomes.length), version);
}

for (const { name } of core.games()) {
  test(`${name}: games whose leaves the caller evaluates equal the native games`, () => {
    const settings = { num_simulations: 16, cache_bytes: 1 << 20 };
    const game = core.game(name);
    const selfPlay = game.selfPlay({ settings, numGroups: 1, gamesPerGroup: 4, seed: 6 });
    const episodes = [];
    while (episodes.length < 6) {
      const batch = selfPlay.next();
      if (batch) {
        assert.equal(batch.observations.length, batch.numRows * game.facts.observation_bytes);
        submitUniform(selfPlay, batch);
      }
      episodes.push(...selfPlay.takeEpisodes());
    }
    const asked = [name, JSON.stringify(settings), "uniform", 1, 4, 6, 60];
    const expected = new Set(native("selfplay", ...asked).split("\n"));
    for (const episode of episodes) assert.ok(expected.has(toHex(episode)));
  });
}

test("two groups are in flight at once, and masks say which logits are read", () => {
  const game = core.game("connect4");
  const selfPlay = game.selfPlay({ settings: { num_simulations: 8 }, numGroups: 2, gamesPerGroup: 5, seed: 1 });
  const first = selfPlay.next();
  const second = selfPlay.next();
  assert.deepEqual([first.group, second.group].sort(), [0, 1]);
  assert.equal(selfPlay.next(), null);
  assert.deepEqual([...selfPlay.actionMasks(first.group)], Array(5).fill(0b1111111));
  submitUniform(selfPlay, second);
  submitUniform(selfPlay, first);
  assert.throws(() => submitUniform(selfPlay, first), /no batch in flight/);
  assert.equal(selfPlay.next().group, second.group);
});

test("an episode replays to its end, and undo steps back through the game", () => {
  for (const { name } of core.games()) {
    const game = core.game(name);
    const { episodes, counts } = play(game, { num_simulations: 4 }, "hash", 4, 8);
    assert.ok(counts.num_episodes >= 4 && counts.num_simulations > 0);
    const position = game.fromEpisode(episodes[0]);
    const { num_played, outcomes, truncated } = position.state();
    assert.ok(outcomes !== null || truncated);
    position.undo(num_played);
    assert.equal(position.state().num_played, 0);
  }
});

test("the first game can be watched while it is played", () => {
  for (const { name } of core.games()) {
    const game = core.game(name);
    const settings = { num_simulations: 4, cache_bytes: 0 };
    const selfPlay = game.selfPlay({ settings, evaluator: "hash", gamesPerGroup: 2, seed: 3 });
    const seen = new Set();
    for (let turn = 0; turn < 6; ++turn) {
      const position = game.fromText(selfPlay.watchedPosition());
      assert.equal(position.toText(), selfPlay.watchedPosition());
      seen.add(position.toText());
      position.free();
      selfPlay.run(1);
    }
    assert.ok(seen.size > 1, name);
    selfPlay.free();
  }
});

test("damaged and foreign episodes are refused in words", () => {
  const { episodes } = play(core.game("connect4"), { num_simulations: 4 }, "hash", 1, 8);
  const [episode] = episodes;
  const damaged = episode.slice();
  damaged[20] ^= 1;
  assert.throws(() => core.game("connect4").fromEpisode(damaged), /hash|checksum|damaged/);
  assert.throws(() => core.game("connect4").fromEpisode(episode.slice(0, 9)), /./);
  assert.throws(() => core.game("gomoku").fromEpisode(episode), /connect4/);
});

test("an answer that is not finite ends these games with its row, not the core", () => {
  const game = core.game("connect4");
  const selfPlay = game.selfPlay({ settings: { num_simulations: 8 }, gamesPerGroup: 2, seed: 1 });
  const { group, numRows } = selfPlay.next();
  const logits = new Float32Array(numRows * 7);
  logits[8] = Number.POSITIVE_INFINITY;
  selfPlay.submit(group, logits, new Float32Array(numRows * 3).fill(1 / 3), 12);
  assert.throws(() => selfPlay.next(), /row 1 .*weights 12.* not finite/);
  selfPlay.free();
  assert.equal(core.game("connect4").newPosition().state().to_move, 0);
});

test("settings that do not fit are refused by the core's own table", () => {
  const start = { gamesPerGroup: 2, seed: 1 };
  const refused = (name, settings, reason) =>
    assert.throws(() => core.game(name).selfPlay({ ...start, settings }), reason);
  refused("connect4", { simulations: 3 }, /num_simulations/);
  refused("connect4", { temperature: -1 }, /temperature must be/);
  refused("connect4", { reuse_tree: 1 }, /reuse_tree must be/);
  refused("connect4", { max_leaves: 2 }, /unknown|max_leaves/);
  refused("beastybar", { afterstates: true }, /nothing is hidden/);
  refused("backgammon", { turn_ahead_probability: 0.5 }, /needs afterstates/);
  assert.throws(() => core.game("connect4").selfPlay({ gamesPerGroup: 0, seed: 1 }), /at least 1/);
  const { selfplay, search } = core.settings();
  assert.ok(selfplay.some(({ name }) => name === "temperature"));
  assert.ok(search.some(({ name, kind }) => name === "root" && kind === "choice"));
});
