// Games and positions in WebAssembly: what a page needs to play.
import assert from "node:assert/strict";
import test from "node:test";

import { CHANCE, OVER, CoreError, moduleName } from "../../web/src/core/core.js";
import { CoreModule } from "../../web/src/core/module.js";
import { load, playSome, readBuild } from "./support.mjs";

const core = await load();
const GAMES = ["backgammon", "beastybar", "connect4", "gomoku", "tictactoe"];

test("all games are there, with their options", () => {
  assert.deepEqual(core.games().map(({ name }) => name), GAMES);
  const gomoku = core.games().find(({ name }) => name === "gomoku");
  assert.ok(gomoku.options.some(({ name, allowed }) => name === "size" && allowed.includes("15")));
});

test("a game's facts are those that a network needs", () => {
  const { facts } = core.game("gomoku", { size: 9 });
  assert.equal(facts.num_actions, 81);
  assert.equal(facts.options.size, "9");
  assert.equal(core.game("beastybar").facts.hidden, true);
  assert.deepEqual(core.game("connect4").facts.outcomes.map(({ reward }) => reward), [1, 0, -1]);
});

test("a position is shown as a picture", () => {
  const rows = core.game("connect4").fromText("4453").picture().split("\n");
  assert.equal(rows[5], " 1 . . O X X . .");
  assert.match(core.game("backgammon").fromText("4HPwATDgc/ABMA 31").picture(), /X|O/);
});

test("a game is played to its end by ids and by texts", () => {
  const position = core.game("connect4").newPosition();
  assert.deepEqual(position.state().actions.map(({ text }) => text), ["1", "2", "3", "4", "5", "6", "7"]);
  for (const text of ["1", "2", "1", "2", "1", "2"]) position.play(position.actionFromText(text));
  position.playFromText("1");
  const { to_move, outcomes, actions } = position.state();
  assert.equal(to_move, OVER);
  assert.deepEqual(outcomes, [0, 2]);
  assert.deepEqual(actions, []);
});

test("before a roll, chance is to move and its outcomes have texts and probabilities", () => {
  const { to_move, roller, chance_outcomes } = core.game("backgammon").newPosition(1).state();
  assert.equal(to_move, CHANCE);
  assert.ok(roller === 0 || roller === 1);
  const sum = chance_outcomes.reduce((total, { probability }) => total + probability, 0);
  assert.ok(Math.abs(sum - 1) < 1e-12);
  assert.match(chance_outcomes[0].text, /[1-6]/);
});

for (const name of GAMES) {
  test(`${name}: undo gives back each position before, and texts give back the position`, () => {
    const game = core.game(name);
    const position = game.newPosition(7);
    const start = position.toText();
    playSome(position, 12, 3);
    const { num_played } = position.state();
    const text = position.toText();
    assert.equal(game.fromText(text).toText(), text);
    const copy = position.copy();
    position.undo(num_played);
    assert.equal(position.toText(), start);
    assert.equal(copy.toText(), text);
    assert.throws(() => position.undo(), CoreError);
  });
}

test("a player's description and observation do not show the other hand", () => {
  const game = core.game("beastybar");
  const position = game.newPosition(5);
  playSome(position, 4, 1);
  const whole = JSON.stringify(position.describe());
  const seen = JSON.stringify(position.describe(0));
  assert.notEqual(seen, whole);
  assert.ok(seen.length < whole.length);
  assert.equal(position.observe(0).length, game.facts.observation_bytes);
  assert.notDeepEqual(position.observe(0), position.observe(1));
});

test("the steps of an action are given where a game has them", () => {
  const position = core.game("beastybar").newPosition(5);
  const [{ id }] = position.state().actions;
  assert.ok(position.steps(id).length > 0);
  assert.deepEqual(core.game("connect4").newPosition().steps(3), []);
});

test("bad input gets an error that names what is right", () => {
  assert.throws(() => core.game("conect4"), /connect4/);
  assert.throws(() => core.game("gomoku", { size: 99 }), /size must be/);
  assert.throws(() => core.game("connect4").fromText("4448"), /1-7/);
  const position = core.game("connect4").newPosition();
  assert.throws(() => position.play(7), /not legal|is not/);
  assert.throws(() => position.play(0.5), /whole number/);
  assert.throws(() => position.play(2 ** 32), /whole number/);
  assert.throws(() => position.describe(2), /player must be/);
  assert.equal(position.state().num_played, 0);
});

test("text that is no flat JSON object is refused with the place", async () => {
  const module = await CoreModule.load(await readBuild());
  const bad = ["", "[]", "{", '{"size"}', '{"size":}', '{"size":[9]}', '{"size":9', '{"size":9}x', '{"size":nan}'];
  bad.push('{"size":1e999}', '{"size":9,}', '{"si\\u007ae":9}', `{"size":${"9".repeat(1000)}}`, '{"size":--9}');
  for (const text of bad) {
    const options = new TextEncoder().encode(text);
    assert.throws(() => module.call("zf_game_new", "gomoku", options), /JSON object is wrong at character \d+/, text);
  }
  module.call("zf_game_new", "gomoku", ' { "size" : 9 ,\n"line":"5"} ');
});

test("what was freed is refused, never another object", () => {
  const game = core.game("connect4");
  const position = game.newPosition();
  position.free();
  game.newPosition();
  assert.throws(() => position.play(0), /there is no position/);
  assert.throws(() => position.free(), /there is no position/);
  game.free();
  assert.throws(() => game.newPosition(), /there is no game/);
});

test("a freed game leaves its positions playable", () => {
  const game = core.game("connect4");
  const position = game.newPosition();
  game.free();
  position.play(3);
  assert.equal(position.state().to_move, 1);
});

test("node loads the build with SIMD", () => {
  assert.equal(moduleName(), "zerofleet.wasm");
});
