import assert from "node:assert/strict";
import test from "node:test";

import { loadCore } from "./core.mjs";

const core = await loadCore();

test("all games are there", () => {
  assert.deepEqual(core.names(), ["backgammon", "beastybar", "connect4", "gomoku", "tictactoe"]);
});

test("a position is shown as a picture", () => {
  const rows = core.show("connect4", "4453").split("\n");
  assert.equal(rows[5], " 1 . . O X X . .");
  assert.match(core.show("backgammon", "4HPwATDgc/ABMA 31"), /X|O/);
});

test("a win in one is chosen from both seats", () => {
  assert.equal(core.bestAction("connect4", "121212", 200), "1");
  assert.equal(core.bestAction("connect4", "1212127", 200), "2");
});

test("bad input gets an error that names what is right", () => {
  assert.match(core.show("conect4", ""), /^error: .*connect4/);
  assert.match(core.show("connect4", "4448"), /^error: .*1-7/);
});
