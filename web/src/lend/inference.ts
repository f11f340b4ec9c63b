// The network in a Web Worker: ONNX Runtime on WebGPU, or in WebAssembly with SIMD and threads.
//
// An exported network takes observations, uint8 [B, N], and gives policy_logits [B, A] and outcomes [B, O]. After
// each load its answers on fixed rows are compared with recorded ones; a backend that differs is not used.
import type { InferenceSession } from "onnxruntime-web";
import wasmModule from "onnxruntime-web/ort-wasm-simd-threaded.mjs?url";
import wasmBinary from "onnxruntime-web/ort-wasm-simd-threaded.wasm?url";
import gpuModule from "onnxruntime-web/ort-wasm-simd-threaded.asyncify.mjs?url";
import gpuBinary from "onnxruntime-web/ort-wasm-simd-threaded.asyncify.wasm?url";

export type Backend = "wasm" | "webgpu";

/** What a network says of B observations. */
export interface Answers {
  policyLogits: Float32Array;
  outcomes: Float32Array;
}

/** Fixed rows with the answers that the network must give, float32 little-endian. */
export interface CheckRows {
  numRows: number;
  observations: Uint8Array;
  policyLogits: Float32Array;
  outcomes: Float32Array;
}

/** How far answers of a backend may be from the recorded ones: of a probability, and of a logit relative to its size. */
export const TOLERANCES: Readonly<Record<Backend, number>> = { wasm: 1e-3, webgpu: 1e-2 };

/** A log level of ONNX Runtime. It writes its warnings, such as nodes that WebGPU leaves to the CPU, as errors of the page. */
const ERRORS_ONLY = 3;

/** A session of a network. Release it before the next is loaded. */
export class Network {
  private constructor(
    private readonly runtime: typeof import("onnxruntime-web"),
    private readonly session: InferenceSession,
    readonly backend: Backend,
  ) {}

  /** `onnx` holds graph and weights. With several threads the page must be cross-origin isolated. */
  static async load(onnx: Uint8Array, backend: Backend, numThreads = 1): Promise<Network> {
    const runtime = await loadRuntime(backend, numThreads);
    const options = { executionProviders: [backend], logSeverityLevel: ERRORS_ONLY } as const;
    const session = await runtime.InferenceSession.create(onnx, options);
    return new Network(runtime, session, backend);
  }

  async evaluate(observations: Uint8Array, numRows: number): Promise<Answers> {
    const rowBytes = observations.length / numRows;
    // On a GPU every new batch size compiles kernels, so there are few of them.
    const numPadded = this.backend === "webgpu" ? 2 ** Math.ceil(Math.log2(numRows)) : numRows;
    let rows = observations;
    if (numPadded > numRows) {
      rows = new Uint8Array(numPadded * rowBytes);
      rows.set(observations);
    }
    const input = new this.runtime.Tensor("uint8", rows, [numPadded, rowBytes]);
    const given = await this.session.run({ observations: input }, ["policy_logits", "outcomes"]);
    const rowsOf = (name: "policy_logits" | "outcomes"): Float32Array => {
      const all = given[name]!.data as Float32Array;
      return all.subarray(0, (all.length / numPadded) * numRows);
    };
    return { policyLogits: rowsOf("policy_logits"), outcomes: rowsOf("outcomes") };
  }

  /** The largest difference from the recorded answers, as TOLERANCES counts it. */
  async difference(check: CheckRows): Promise<number> {
    const given = await this.evaluate(check.observations, check.numRows);
    return Math.max(
      largest(given.outcomes, check.outcomes, () => 1),
      largest(given.policyLogits, check.policyLogits, (logit) => Math.max(1, Math.abs(logit))),
    );
  }

  async release(): Promise<void> {
    await this.session.release();
  }
}

/** Infinite where a number is missing or not finite. */
function largest(given: Float32Array, wanted: Float32Array, scale: (value: number) => number): number {
  if (given.length !== wanted.length) return Infinity;
  let most = 0;
  for (let index = 0; index < wanted.length; ++index) {
    const far = Math.abs(given[index]! - wanted[index]!) / scale(wanted[index]!);
    if (!(far <= most)) most = Number.isFinite(far) ? far : Infinity;
  }
  return most;
}

/** Floats of the wire: its bytes may begin anywhere. */
export function floatsOf(bytes: Uint8Array): Float32Array {
  return new Float32Array(bytes.slice().buffer);
}

const runtimes = new Map<Backend, Promise<typeof import("onnxruntime-web")>>();

/** Loads the runtime once per worker; the number of threads is that of the first call. */
function loadRuntime(backend: Backend, numThreads: number): Promise<typeof import("onnxruntime-web")> {
  const known = runtimes.get(backend);
  if (known !== undefined) return known;
  const loading = (async () => {
    const runtime = await (backend === "webgpu" ? import("onnxruntime-web/webgpu") : import("onnxruntime-web/wasm"));
    const absolute = (url: string) => new URL(url, import.meta.url).href;
    runtime.env.logLevel = "error";
    runtime.env.wasm.wasmPaths =
      backend === "webgpu"
        ? { mjs: absolute(gpuModule), wasm: absolute(gpuBinary) }
        : { mjs: absolute(wasmModule), wasm: absolute(wasmBinary) };
    runtime.env.wasm.numThreads = globalThis.crossOriginIsolated ? numThreads : 1;
    return runtime;
  })();
  runtimes.set(backend, loading);
  return loading;
}
