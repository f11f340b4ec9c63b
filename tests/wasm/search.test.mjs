// One search in WebAssembly: it plays well, and gives the native result bit by bit.
import assert from "node:assert/strict";
import test from "node:test";

import { BUILDS, load, native, playSome } from "./support.mjs";

const core = await load();

function best(game, text, settings) {
  const search = core.game(game).fromText(text).search({ settings, evaluator: "playout" });
  while (!search.finished()) search.run(1000);
  return search.result();
}

test("a win in one is chosen from both seats, with its line and value", () => {
  const settings = { ...core.analysisSettings(), num_simulations: 200 };
  for (const [text, action] of [["121212", 0], ["1212127", 1]]) {
    const result = best("connect4", text, settings);
    assert.equal(result.best_action, action);
    assert.equal(result.value_to_move, 1);
    assert.deepEqual(result.principal_variation, [action]);
    assert.ok(result.solved);
  }
});

for (const build of BUILDS) {
  for (const root of ["puct", "gumbel"]) {
    test(`${build}, ${root}: the result of a search equals the native one in every number`, async () => {
      const built = await load(build);
      for (const { name } of built.games()) {
        const position = built.game(name).newPosition(11);
        for (const evaluator of ["hash", "playout"]) {
          playSome(position, 3, 5);
          const settings = { num_simulations: 300, root };
          const search = position.search({ settings, evaluator, seed: 9 });
          while (!search.finished()) search.run(50);
          const expected = native("search", name, position.toText(), JSON.stringify(settings), evaluator, 9);
          assert.deepEqual(search.result(), JSON.parse(expected), `${name} ${evaluator}`);
        }
      }
    });
  }
}

// Of each game a position that its solver knows: by alpha-beta, by threats, by an ending, by a table built here.
const SOLVED = {
  connect4: "4444455553322",
  gomoku: "i8 a1 j8 a15 h9 o1 h10 o15",
  beastybar: "player=0 queue=lion1,seal1,snake0,skunk0 hand0=parrot,seal",
  backgammon: "xAAAgAoAAAAAAA 21",
};

test("a search that asks the solver proves what it proves natively", () => {
  const settings = { num_simulations: 50, use_endgame_solver: true };
  for (const [game, text] of Object.entries(SOLVED)) {
    const search = core.game(game).fromText(text).search({ settings, evaluator: "uniform", seed: 9 });
    while (!search.finished()) search.run(50);
    const result = search.result();
    assert.ok(result.solved, game);
    const expected = native("search", game, text, JSON.stringify(settings), "uniform", 9);
    assert.deepEqual(result, JSON.parse(expected), game);
  }
});

test("leaves that the caller evaluates give the same search as the core's own evaluator", () => {
  for (const { name } of core.games()) {
    const game = core.game(name);
    const position = game.newPosition(3);
    playSome(position, 5, 2);
    const settings = { num_simulations: 400 };
    const own = position.search({ settings, evaluator: "uniform", seed: 4 });
    while (!own.finished()) own.run(100);
    const asked = position.search({ settings, seed: 4 });
    while (!asked.finished()) {
      const { numRows, observations } = asked.gather();
      assert.equal(observations.length, numRows * game.facts.observation_bytes);
      const numOutcomes = game.facts.outcomes.length;
      asked.absorb(
        new Float32Array(numRows * game.facts.num_actions),
        new Float32Array(numRows * numOutcomes).fill(1 / numOutcomes),
      );
    }
    assert.deepEqual(asked.result(), own.result(), name);
  }
});

test("several leaves of one search are in flight at once", () => {
  const game = core.game("gomoku");
  const search = game.newPosition().search({ settings: { num_simulations: 64, max_leaves: 8 } });
  const sizes = [];
  while (!search.finished()) {
    const { numRows } = search.gather();
    sizes.push(numRows);
    search.absorb(new Float32Array(numRows * 225), new Float32Array(numRows * 3).fill(1 / 3));
  }
  assert.equal(Math.max(...sizes), 8);
});

test("a search is stopped, and its result so far is given", () => {
  const search = core.game("gomoku").newPosition().search({ evaluator: "hash", settings: { num_simulations: 1e6 } });
  assert.deepEqual(search.result().actions, []);
  search.run(500);
  search.stop();
  assert.ok(search.finished());
  assert.ok(search.result().num_simulations <= 500);
});

test("wrong settings, answers and calls are refused in words", () => {
  const position = core.game("connect4").newPosition();
  assert.throws(() => position.search({ settings: { num_simulation: 3 } }), /num_simulations/);
  assert.throws(() => position.search({ settings: { num_simulations: 0 } }), /from 1 to/);
  assert.throws(() => position.search({ settings: { root: "best" } }), /puct or gumbel/);
  assert.throws(() => position.search({ settings: { c_puct: Number.NaN } }), /JSON/);
  assert.throws(() => position.search({ evaluator: "hush" }), /hash/);
  const search = position.search();
  assert.throws(() => search.run(1), /no evaluator/);
  const { numRows } = search.gather();
  assert.throws(() => search.gather(), /wait for absorb/);
  assert.throws(() => search.absorb(new Float32Array(6), new Float32Array(3)), /policyLogits must have 7/);
  assert.throws(
    () => search.absorb(new Float32Array(numRows * 7).fill(Number.NaN), new Float32Array(numRows * 3)),
    /row 0 .* not finite/,
  );
  assert.throws(() => core.game("connect4").fromText("1212121").search(), /the game is over/);
});
