// A network in ONNX Runtime Web under node, in WebAssembly with one thread, for bench/tab/inference.py.
//
//   node bench/tab/inference.mjs speed ONNX ROW_BYTES BATCH SECONDS   microseconds of CPU time per row
//   node bench/tab/inference.mjs operators ONNX ROW_BYTES BATCH RUNS  the runtime's profile, as it writes it
import { readFile } from "node:fs/promises";

const folder = new URL("../../web/node_modules/onnxruntime-web/dist/", import.meta.url);
const { InferenceSession, Tensor, env } = await import(new URL("ort.wasm.min.mjs", folder).href);
env.wasm.numThreads = 1;
env.wasm.wasmPaths = folder.href;

const [mode, path, ...numbers] = process.argv.slice(2);
const [rowBytes, batch, amount] = numbers.map(Number);
const isProfiled = mode === "operators";
const options = { executionProviders: ["wasm"], logSeverityLevel: 3, enableProfiling: isProfiled };
const session = await InferenceSession.create(new Uint8Array(await readFile(path)), options);
const rows = Uint8Array.from({ length: batch * rowBytes }, (_, index) => index % 3);
const run = () =>
  session.run({ observations: new Tensor("uint8", rows, [batch, rowBytes]) }, ["policy_logits", "outcomes"]);

if (isProfiled) {
  for (let index = 0; index < amount; ++index) await run();
  session.endProfiling();
} else {
  // The engine first compiles its fast code.
  const warmUntil = performance.now() + 5000;
  while (performance.now() < warmUntil) await run();
  const startedAt = process.cpuUsage();
  let numRuns = 0;
  let spent = 0;
  while (spent < 1e6 * amount) {
    await run();
    ++numRuns;
    const { user, system } = process.cpuUsage(startedAt);
    spent = user + system;
  }
  console.log(spent / numRuns / batch);
}
