// The memory of the WebAssembly build: bounded, given back, and never a trap.
import assert from "node:assert/strict";
import test from "node:test";

import { CoreError } from "../../web/src/core/core.js";
import { CoreModule } from "../../web/src/core/module.js";
import { load, readBuild } from "./support.mjs";

test("the limit is within what 32-bit addresses hold", async () => {
  for (const memoryMebibytes of [0, 63, 2049, -1])
    await assert.rejects(load(undefined, { memoryMebibytes }), /from 64 to 2048/);
});

test("sizes beyond the limit are refused before anything is taken", async () => {
  const core = await load(undefined, { memoryMebibytes: 256 });
  const game = core.game("beastybar");
  const before = core.memoryUsed();
  const settings = { cache_bytes: 1 << 20, num_simulations: 200 };
  const start = (changed, gamesPerGroup = 4, numGroups = 1) => () =>
    game.selfPlay({ settings: { ...settings, ...changed }, gamesPerGroup, numGroups, seed: 1 });
  assert.throws(start({ cache_bytes: 2 ** 30 }), /cache_bytes must be at most/);
  assert.throws(start({ max_bytes: 2 ** 40 }), /max_bytes must be at most/);
  assert.throws(start({}, 10000), /10000 games at once are too many here; at most \d+ of beastybar/);
  assert.throws(start({}, 2 ** 31 - 1, 2 ** 31 - 1), /too many/);
  assert.throws(() => game.newPosition().search({ settings: { max_bytes: 2 ** 31 } }), /max_bytes must be at most/);
  assert.ok(core.memoryUsed() - before < 1 << 16);
  start({})().free();
});

test("games whose trees outgrow the limit end with an error, and the core lives on", async () => {
  const core = await load(undefined, { memoryMebibytes: 128 });
  const game = core.game("gomoku");
  const start = (num_simulations, gamesPerGroup) =>
    game.selfPlay({
      settings: { num_simulations, max_bytes: 32 << 20, cache_bytes: 0 },
      evaluator: "hash",
      gamesPerGroup,
      seed: 1,
    });
  const many = start(1_000_000, 8);
  assert.throws(() => many.run(1_000_000), /the next step may need .* the limit is 128 MiB: hold fewer games/);
  many.free();
  start(4, 1).run(10);
});

test("a full tree ends its search early and says so", async () => {
  const core = await load();
  const search = core.game("gomoku").newPosition().search({
    settings: { num_simulations: 1_000_000, max_bytes: 4 << 20 },
    evaluator: "hash",
  });
  while (!search.finished()) search.run(10_000);
  const { memory_full, num_bytes } = search.result();
  assert.ok(memory_full);
  assert.ok(num_bytes <= 4 << 20);
});

test("what is freed is given back: a thousand searches take no more than one", async () => {
  const core = await load();
  const game = core.game("connect4");
  const position = game.newPosition();
  const once = () => {
    const search = position.search({ settings: { num_simulations: 50 }, evaluator: "hash" });
    search.run(1000);
    search.free();
    game.selfPlay({ settings: { cache_bytes: 1 << 16 }, gamesPerGroup: 2, seed: 1 }).free();
  };
  once();
  const before = core.memoryUsed();
  for (let i = 0; i < 1000; ++i) once();
  assert.ok(core.memoryUsed() - before < 4096, `${core.memoryUsed() - before} bytes more`);
});

test("memory that is not given is an error of the call", async () => {
  const core = await load(undefined, { memoryMebibytes: 64 });
  const game = core.game("connect4");
  assert.throws(() => game.fromEpisode(new Uint8Array(65 << 20)), CoreError);
  assert.equal(game.newPosition().state().to_move, 0);
});

test("a module that has trapped refuses every later call and says so", async () => {
  const module = await CoreModule.load(await readBuild());
  const outside = 2 ** 31 - 4;
  assert.throws(() => module.call("zf_game_new", outside, 100, outside, 100), /the core stopped in zf_game_new/);
  assert.throws(() => module.call("zf_games"), /load it again/);
});

test("positions that a page never frees are refused at the limit", async () => {
  const core = await load(undefined, { memoryMebibytes: 64 });
  const game = core.game("gomoku");
  const position = game.newPosition();
  for (let id = 0; id < 60; id += 2) position.play(id);
  assert.throws(() => {
    for (let i = 0; i < 100_000; ++i) position.copy();
  }, /a position may need .* the limit is 64 MiB/);
  position.undo(30);
});
