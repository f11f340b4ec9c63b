// Prints each game's signature as WebAssembly computes it, to be compared with the golden ones; with an argument, by
// that build: zerofleet-plain.wasm.
import { load } from "./support.mjs";

const core = await load(process.argv[2]);
for (const { name } of core.games()) console.log(name, core.game(name).signature());
