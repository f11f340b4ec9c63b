// What is drawn in a match, as zerofleet.arena.draws draws it: each draw depends on the seed of the match and on what
// it is for, not on draws before it.

const WORD = (number: bigint) => BigInt.asUintN(64, number);
/** Seeds have 63 bits. */
const SEED = (number: bigint) => BigInt.asUintN(63, number);

const DEAL = 0n;
const DICE = 1n;
const CHOICES = 2n;

/** One step of splitmix64. */
export function mix64(number: bigint): bigint {
  number = WORD(number + 0x9e3779b97f4a7c15n);
  number = WORD((number ^ (number >> 30n)) * 0xbf58476d1ce4e5b9n);
  number = WORD((number ^ (number >> 27n)) * 0x94d049bb133111ebn);
  return number ^ (number >> 31n);
}

/** The seed of an independent stream. */
export function derived(seed: bigint, ...salts: bigint[]): bigint {
  return salts.reduce((from, salt) => mix64(mix64(from) ^ salt), seed);
}

/** With which both games of a pair are dealt. */
export function dealSeed(seed: bigint, pair: number): bigint {
  return SEED(derived(seed, BigInt(pair), DEAL));
}

/** With which the player to move chooses. */
export function choiceSeed(seed: bigint, pair: number, firstSeat: number, ply: number): bigint {
  return SEED(derived(seed, BigInt(pair), CHOICES + BigInt(firstSeat), BigInt(ply)));
}

/** A chance outcome by its probability; `numBefore` were drawn before it in its game. */
export function drawnOutcome(
  outcomes: readonly { id: number; probability: number }[],
  seed: bigint,
  pair: number,
  numBefore: number,
): number {
  let left = Number(derived(seed, BigInt(pair), DICE, BigInt(numBefore)) >> 11n) * 2 ** -53;
  for (const { id, probability } of outcomes) {
    left -= probability;
    if (left < 0) return id;
  }
  return outcomes.at(-1)!.id;
}

/** One of them, uniformly. */
export function drawnAmong(options: readonly number[], seed: bigint): number {
  return options[Number((mix64(seed) * BigInt(options.length)) >> 64n)]!;
}
