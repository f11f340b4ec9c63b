// Simulations per second of CPU time of self-play in the WebAssembly build, for the same work as
// `zerofleet_reference speed`.
//
//   node bench/wasm/speed.mjs BUILD GAME SETTINGS EVALUATOR GROUPS GAMES_PER_GROUP SEED SECONDS
import { readFile } from "node:fs/promises";

import { loadCore } from "../../web/src/core/core.js";

const [build, name, settings, evaluator, ...numbers] = process.argv.slice(2);
const [numGroups, gamesPerGroup, seed, seconds] = numbers.map(Number);

const core = await loadCore(await readFile(new URL(`../../build/wasm/${build}`, import.meta.url)));
const start = { settings: JSON.parse(settings), evaluator, numGroups, gamesPerGroup, seed };
const selfPlay = core.game(name).selfPlay(start);
// Every game has trees, and the engine has compiled its fast code, before the clock starts.
selfPlay.run(200);
const before = selfPlay.counts().num_simulations;
const startedAt = process.cpuUsage();
let spent = 0;
while (spent < seconds) {
  selfPlay.run(10);
  selfPlay.takeEpisodes();
  const { user, system } = process.cpuUsage(startedAt);
  spent = (user + system) / 1e6;
}
console.log(Math.round((selfPlay.counts().num_simulations - before) / spent));
