// The weights that the gateway names: fetched when a game needs them, checked against their SHA-256.
import type { Whole, WeightsUpdate } from "./messages";
import type { KeptWeights } from "./store";

/** They cannot be had now, perhaps later. */
export class Unreachable extends Error {}

/** Versions whose place is remembered beside those that are needed: far more than assignments and matches name. */
const MAX_NAMED = 64;

export class WeightsOfRun {
  private readonly updates = new Map<string, WeightsUpdate>();
  private readonly loaded = new Map<string, Promise<KeptWeights>>();

  constructor(
    private readonly serverUrl: string,
    private readonly token: string,
    private readonly keep: (weights: KeptWeights) => void,
  ) {}

  /** Where a version is. */
  name(update: WeightsUpdate): void {
    const name = String(update.version);
    this.updates.delete(name); // the newest named are last
    this.updates.set(name, update);
  }

  /** A version that this browser has kept. */
  put(kept: KeptWeights): void {
    this.name(kept.update);
    this.loaded.set(String(kept.update.version), Promise.resolve(kept));
  }

  /**
   * Of a version; others than `needed` are forgotten. `isKept`: this browser keeps them for its next start.
   * Unreachable where they cannot be fetched now.
   */
  of(version: Whole, needed: readonly Whole[], isKept = true): Promise<KeptWeights> {
    const name = String(version);
    const known = this.loaded.get(name);
    if (known !== undefined) return known;
    const update = this.updates.get(name);
    if (update === undefined)
      return Promise.reject(new Error(`the gateway names weights ${name}, but not where they are`));
    const others = new Set(needed.map(String));
    for (const old of this.loaded.keys()) if (!others.has(old)) this.loaded.delete(old);
    for (const old of this.updates.keys()) {
      if (this.updates.size <= MAX_NAMED) break;
      if (old !== name && !others.has(old)) this.updates.delete(old);
    }
    const loading = this.fetched(update, isKept);
    this.loaded.set(name, loading);
    loading.catch(() => this.loaded.delete(name));
    return loading;
  }

  private async fetched(update: WeightsUpdate, isKept: boolean): Promise<KeptWeights> {
    const address = new URL(update.url, this.serverUrl).href;
    const onnx = await fetchBytes(address, this.token).catch((error: unknown) => {
      throw new Unreachable(`weights ${update.version} could not be loaded: ${error}`);
    });
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", onnx));
    const sha256 = [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    if (sha256 !== update.sha256) {
      throw new Error(`weights ${update.version} refused: sha256 is ${sha256}, expected ${update.sha256}`);
    }
    const kept = { update, onnx };
    if (isKept) this.keep(kept);
    return kept;
  }
}

async function fetchBytes(address: string, token: string): Promise<Uint8Array<ArrayBuffer>> {
  const answer = await fetch(address, { headers: { authorization: `Bearer ${token}` } });
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  return new Uint8Array(await answer.arrayBuffer());
}
