// Loads the WebAssembly build of the core under node and gives its functions with texts in and out.
import { readFile } from "node:fs/promises";

const BINARY = new URL("../../build/wasm/zerofleet.wasm", import.meta.url);

export async function loadCore() {
  // The core writes no files; what its C library could call is refused.
  const refuse = () => 8;
  const imports = { wasi_snapshot_preview1: { fd_close: refuse, fd_seek: refuse, fd_write: refuse } };
  const { instance } = await WebAssembly.instantiate(await readFile(BINARY), imports);
  const core = instance.exports;
  core._initialize();

  // Calls an export whose arguments are texts (address and length each) or numbers.
  const call = (name, ...values) => {
    const addresses = [];
    const passed = values.flatMap((value) => {
      if (typeof value === "number") return [value];
      const bytes = new TextEncoder().encode(value);
      const address = core.zf_allocate(bytes.length + 1);
      new Uint8Array(core.memory.buffer).set(bytes, address);
      addresses.push(address);
      return [address, bytes.length];
    });
    const start = core[name](...passed);
    addresses.forEach((address) => core.zf_release(address));
    const memory = new Uint8Array(core.memory.buffer);
    return new TextDecoder().decode(memory.subarray(start, memory.indexOf(0, start)));
  };

  return {
    names: () => call("zf_names").split(" "),
    signature: (game) => call("zf_signature", game),
    show: (game, text) => call("zf_show", game, text),
    bestAction: (game, text, simulations, seed = 1) => call("zf_best_action", game, text, simulations, seed),
  };
}
