// Prints each game's signature as WebAssembly computes it, to be compared with the golden ones.
import { loadCore } from "./core.mjs";

const core = await loadCore();
for (const game of core.names()) console.log(game, core.signature(game));
