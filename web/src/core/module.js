// Loads the WebAssembly build of the core and calls its exports: texts, bytes and numbers in and out. It runs in a
// page, in a Web Worker and in node, and imports nothing; core.js has the classes.
//
// How a call is made is written in cpp/bind/wasm.h. A call that the core refuses throws a CoreError with the core's
// own words. Memory that the browser does not give ends the module: every later call throws, and the page loads it
// again.
// @ts-check

/**
 * @typedef {BufferSource | WebAssembly.Module | Response | Promise<Response>} Source
 *   The module's bytes, what fetch gives for them, or a module compiled before (which can be sent to a worker).
 */

/** What the core refused, or that it stopped. */
export class CoreError extends Error {
  /** @override */
  name = "CoreError";
}

// A function that makes a 128-bit vector: a browser without SIMD finds it invalid.
const SIMD_PROBE = Uint8Array.of(
  ...[0, 97, 115, 109, 1, 0, 0, 0], // magic number and version
  ...[1, 5, 1, 96, 0, 1, 123], // one type: () -> v128
  ...[3, 2, 1, 0], // one function of it
  ...[10, 8, 1, 6, 0, 65, 0, 253, 15, 11], // i32.const 0, i8x16.splat
);

/** The file to load: with SIMD, or plain where this browser has none. */
export function moduleName() {
  return WebAssembly.validate(SIMD_PROBE) ? "zerofleet.wasm" : "zerofleet-plain.wasm";
}

/**
 * @param {Source} source
 * @returns {Promise<WebAssembly.Module>}
 */
async function compile(source) {
  const awaited = await source;
  if (awaited instanceof WebAssembly.Module) return awaited;
  if (typeof Response !== "undefined" && awaited instanceof Response) {
    if (!awaited.ok) throw new CoreError(`the core could not be loaded: ${awaited.url} answered ${awaited.status}`);
    return WebAssembly.compile(await awaited.arrayBuffer());
  }
  return WebAssembly.compile(/** @type {BufferSource} */ (awaited));
}

/** A browser would cut other numbers to 32 bits. @param {number} value */
function whole32(value) {
  if (Number.isInteger(value) && Math.abs(value) < 2 ** 31) return value;
  throw new CoreError(`expected a whole number of 32 bits, got ${value}`);
}

/** One instance of the core. */
export class CoreModule {
  /** @type {Record<string, (...values: (number | bigint)[]) => number>} */
  #exports;
  /** @type {WebAssembly.Memory} */
  #memory;
  /** @type {string | null} */
  #stopped = null;

  /** @param {WebAssembly.Instance} instance */
  constructor(instance) {
    const exported = /** @type {any} */ (instance.exports);
    this.#exports = exported;
    this.#memory = exported.memory;
    this.#run("_initialize", []);
  }

  /**
   * @param {Source} source
   */
  static async load(source) {
    // The core writes no files; what its C library could call is refused.
    const refuse = () => 8;
    const imports = { wasi_snapshot_preview1: { fd_close: refuse, fd_seek: refuse, fd_write: refuse } };
    return new CoreModule(await WebAssembly.instantiate(await compile(source), imports));
  }

  /**
   * Calls an export. Texts and bytes are passed as address and length, seeds and versions as bigint.
   * @param {string} name
   * @param {...(number | bigint | string | Uint8Array)} values
   * @returns {number} a handle, a count, or -2 where an export has nothing now
   */
  call(name, ...values) {
    /** @type {number[]} */
    const addresses = [];
    try {
      /** @type {(number | bigint)[]} */
      const passed = [];
      for (const value of values) {
        if (typeof value === "bigint" || typeof value === "number") {
          passed.push(typeof value === "number" ? whole32(value) : value);
          continue;
        }
        const bytes = typeof value === "string" ? new TextEncoder().encode(value) : value;
        const address = this.#run("zf_allocate", [bytes.length]) >>> 0;
        if (address === 0) throw new CoreError(`${bytes.length} bytes are more than the limit of memory leaves`);
        addresses.push(address);
        new Uint8Array(this.#memory.buffer).set(bytes, address);
        passed.push(address, bytes.length);
      }
      const returned = this.#run(name, passed);
      if (returned === -1) throw new CoreError(this.text());
      return returned;
    } finally {
      for (const address of addresses) if (this.#stopped === null) this.#run("zf_release", [address]);
    }
  }

  /** A number that an export gives without an answer. @param {string} name */
  number(name) {
    return this.#run(name, []);
  }

  /** The answer of the last call, as a view: valid until the next call. */
  view() {
    const start = this.#run("zf_answer", []) >>> 0;
    return new Uint8Array(this.#memory.buffer, start, this.#run("zf_answer_bytes", []) >>> 0);
  }

  /** The same as a text. */
  text() {
    return new TextDecoder().decode(this.view());
  }

  /** The same read as JSON. @returns {any} */
  json() {
    return JSON.parse(this.text());
  }

  /**
   * Writes floats into the answer, an array of the core's own.
   * @param {string} what @param {Float32Array} floats
   */
  fill(what, floats) {
    const target = this.view();
    const length = target.length / Float32Array.BYTES_PER_ELEMENT;
    if (floats.length !== length) throw new CoreError(`${what} must have ${length} numbers, got ${floats.length}`);
    if (length > 0) new Float32Array(target.buffer, target.byteOffset, length).set(floats);
  }

  /** @param {string} name @param {(number | bigint)[]} values */
  #run(name, values) {
    if (this.#stopped !== null) throw new CoreError(this.#stopped);
    const exported = this.#exports[name];
    if (!exported) throw new CoreError(`the core has no ${name}: its file is of another version`);
    try {
      return exported(...values);
    } catch (error) {
      if (!(error instanceof WebAssembly.RuntimeError)) throw error;
      this.#stopped = `the core stopped in ${name} (${error.message}), most likely without memory; load it again`;
      throw new CoreError(this.#stopped, { cause: error });
    }
  }
}
