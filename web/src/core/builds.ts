// Addresses of the core's builds by name; empty where they are not built.
import plain from "core:plain";
import simd from "core:simd";

export const cores: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries({ "zerofleet.wasm": simd, "zerofleet-plain.wasm": plain }).map(([name, address]) => [
    name,
    address && new URL(address, location.href).href,
  ]),
);
