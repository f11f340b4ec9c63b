// Assignments in WebAssembly, and one decision of an episode searched again alone.
import assert from "node:assert/strict";
import test from "node:test";

import { BUILDS, load, toHex } from "./support.mjs";

const SETTINGS = {
  puct: { num_simulations: 16, full_search_probability: 0.5, fast_simulations: 4, reuse_tree: false },
  gumbel: { num_simulations: 8, root: "gumbel" },
  afterstates: { afterstates: true, turn_ahead_probability: 0.1 },
};
const IDS = { seed: 2n ** 63n + 9n, worker: 2n ** 64n - 3n, version: 11 };

function play(game, settings, firstSequence, numGames) {
  const start = { settings: { ...settings, cache_bytes: 1 << 20 }, evaluator: "hash", gamesPerGroup: 2, ...IDS };
  const selfPlay = game.selfPlay({ ...start, firstSequence, numGames });
  while (!selfPlay.finished()) selfPlay.run();
  const episodes = selfPlay.takeEpisodes();
  selfPlay.free();
  return episodes;
}

for (const build of BUILDS) {
  const core = await load(build);
  for (const { name } of core.games()) {
    for (const [kind, settings] of Object.entries(SETTINGS)) {
      if (kind === "afterstates" && name !== "backgammon") continue;
      test(`${build}, ${name}, ${kind}: a decision searched again equals the stored one`, () => {
        const game = core.game(name);
        const episodes = play(game, settings, 2n ** 50n, 3);
        assert.equal(episodes.length, 3);
        let numSearched = 0;
        for (let event = 0; event < 12; ++event) {
          let search;
          try {
            search = game.searchAgain(episodes[0], { event, settings, evaluator: "hash", ...IDS });
          } catch (error) {
            assert.match(error.message, /has no search/);
            continue;
          }
          while (!search.finished()) search.run(1000);
          assert.equal(toHex(search.episode()), toHex(episodes[0]));
          assert.throws(() => search.episode(), /given once/);
          assert.throws(() => search.result(), /of an episode/);
          search.free();
          ++numSearched;
        }
        assert.ok(numSearched > 0);
        const foreign = { ...IDS, version: 12, event: 0, settings, evaluator: "hash" };
        assert.throws(() => game.searchAgain(episodes[0], foreign), /weights 11 played, not 12/);
      });
    }
  }
}
