// What the tests of the WebAssembly build share: both builds loaded, and the native build of the same code.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import { CHANCE, OVER, loadCore } from "../../web/src/core/core.js";

export const BUILDS = ["zerofleet.wasm", "zerofleet-plain.wasm"];

export function readBuild(build = BUILDS[0]) {
  return readFile(new URL(`../../build/wasm/${build}`, import.meta.url));
}

export async function load(build, limits) {
  return loadCore(await readBuild(build), limits);
}

// What cpp/bind/reference.cc prints for these arguments.
export function native(...values) {
  const tool = fileURLToPath(new URL("../../build/native/zerofleet_reference", import.meta.url));
  if (!existsSync(tool)) throw new Error(`${tool} is missing; make test-wasm builds it`);
  return execFileSync(tool, values.map(String), { encoding: "utf8", maxBuffer: 1 << 28 }).trim();
}

// Plays up to so many plies, chosen by a fixed sequence of numbers; stops where a player has a choice.
export function playSome(position, numPlies, seed) {
  let number = seed;
  for (let ply = 0; ; ++ply) {
    const state = position.state();
    if (state.to_move === OVER || (ply >= numPlies && state.actions.length > 1)) return state;
    const choices = state.to_move === CHANCE ? state.chance_outcomes : state.actions;
    number = (number * 1103515245 + 12345) % 2 ** 31;
    position.play(choices[(number >> 8) % choices.length].id);
  }
}

export const toHex = (bytes) => Buffer.from(bytes).toString("hex");
