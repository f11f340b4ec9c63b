// What a tab keeps in IndexedDB: finished games until the gateway has them on its disk, games that it was given to
// play, the newest weights, and the id of this device. A closed tab loses nothing that was finished.
import type { PlayGames, WeightsUpdate } from "./messages";

export interface WaitingGame {
  /** idText of the episode. */
  id: string;
  assignment: number | bigint;
  bytes: Uint8Array;
  simulations: number;
  inferences: number;
  wallSeconds: number;
  inferenceSeconds: number;
}

export interface OpenAssignment {
  /** As text: a key may be no bigint. */
  key: string;
  given: PlayGames;
  /** Unix time in ms. */
  deadlineMs: number;
  /** Sequence numbers that are played, as distances from the first. */
  played: number[];
}

export function isLate(assignment: OpenAssignment): boolean {
  return Date.now() >= assignment.deadlineMs;
}

export interface KeptWeights {
  update: WeightsUpdate;
  onnx: Uint8Array;
}

const NAME = "zerofleet-lend";
const STORES = ["games", "assignments", "weights", "device"] as const;
type StoreName = (typeof STORES)[number];

export class LendStore {
  private constructor(private readonly database: IDBDatabase) {}

  static async open(): Promise<LendStore> {
    const asked = indexedDB.open(NAME, 1);
    asked.onupgradeneeded = () => {
      const { result } = asked;
      // In the order in which they came.
      result.createObjectStore("games", { autoIncrement: true }).createIndex("id", "id", { unique: true });
      result.createObjectStore("assignments", { keyPath: "key" });
      result.createObjectStore("weights");
      result.createObjectStore("device");
    };
    return new LendStore(await done(asked));
  }

  /** Forgets everything of this browser. */
  static async erase(): Promise<void> {
    await done(indexedDB.deleteDatabase(NAME));
  }

  close(): void {
    this.database.close();
  }

  /** Drawn once and kept. */
  async deviceId(): Promise<Uint8Array> {
    const known = (await done(this.on("device", "readonly").get("id"))) as Uint8Array | undefined;
    if (known !== undefined) return known;
    const drawn = crypto.getRandomValues(new Uint8Array(16));
    await done(this.on("device", "readwrite").put(drawn, "id"));
    return drawn;
  }

  // ---- games

  /** Keeps finished games and what is played of their assignment, both or neither. Known games stay as they are. */
  async addGames(games: readonly WaitingGame[], assignment: OpenAssignment | null): Promise<void> {
    const change = this.database.transaction(["games", "assignments"], "readwrite", { durability: "strict" });
    const kept = change.objectStore("games");
    for (const game of games) {
      const known = kept.index("id").getKey(game.id);
      known.onsuccess = () => {
        if (known.result === undefined) kept.add(game);
      };
    }
    if (assignment !== null) change.objectStore("assignments").put(assignment);
    await finished(change);
  }

  /** The oldest games. */
  async waitingGames(atMost: number): Promise<WaitingGame[]> {
    return (await done(this.on("games", "readonly").getAll(null, atMost))) as WaitingGame[];
  }

  numWaiting(): Promise<number> {
    return done(this.on("games", "readonly").count());
  }

  async forgetGames(ids: Iterable<string>): Promise<void> {
    const change = this.database.transaction("games", "readwrite", { durability: "strict" });
    const kept = change.objectStore("games");
    for (const id of ids) {
      const known = kept.index("id").getKey(id);
      known.onsuccess = () => {
        if (known.result !== undefined) kept.delete(known.result);
      };
    }
    await finished(change);
  }

  // ---- assignments and weights

  async putAssignment(assignment: OpenAssignment): Promise<void> {
    await done(this.on("assignments", "readwrite").put(assignment));
  }

  async assignments(): Promise<OpenAssignment[]> {
    return (await done(this.on("assignments", "readonly").getAll())) as OpenAssignment[];
  }

  async forgetAssignment(key: string): Promise<void> {
    await done(this.on("assignments", "readwrite").delete(key));
  }

  async weights(): Promise<KeptWeights | null> {
    return ((await done(this.on("weights", "readonly").get("newest"))) as KeptWeights | undefined) ?? null;
  }

  async putWeights(weights: KeptWeights): Promise<void> {
    await done(this.on("weights", "readwrite").put(weights, "newest"));
  }

  private on(name: StoreName, mode: IDBTransactionMode): IDBObjectStore {
    return this.database.transaction(name, mode).objectStore(name);
  }
}

function done<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(storeFault(request.error));
  });
}

function finished(change: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    change.oncomplete = () => resolve();
    change.onabort = () => reject(storeFault(change.error));
  });
}

function storeFault(error: DOMException | null): Error {
  return new Error(`this browser could not store the games: ${error?.message ?? "no reason given"}`);
}
