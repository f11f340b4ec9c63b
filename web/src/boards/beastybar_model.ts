// Beasty Bar as data: the animals, what a move means, and the frames of a turn.
// A card is written as the core writes it: its species and its owner, `lion0`.

import { capital } from "../parts/format";
import { YOU, doing, type BeastyBarSeen, type Cards, type Legal, type Player, type Step } from "./board";

export type Species =
  | "lion"
  | "hippo"
  | "crocodile"
  | "snake"
  | "giraffe"
  | "zebra"
  | "seal"
  | "chameleon"
  | "monkey"
  | "kangaroo"
  | "parrot"
  | "skunk";

export interface SpeciesFacts {
  readonly strength: number;
  readonly points: number;
  /** The ability in a word or two, for the card. */
  readonly word: string;
  readonly ability: string;
  /** Acts again in every later turn. */
  readonly recurs: boolean;
}

function facts(strength: number, points: number, word: string, ability: string, recurs = false): SpeciesFacts {
  return { strength, points, word, ability, recurs };
}

/** Strongest first. A test compares strengths and points with what the core counts. */
export const SPECIES: Readonly<Record<Species, SpeciesFacts>> = {
  lion: facts(12, 2, "leads", "Goes to the front and scares monkeys away. A second lion is bounced."),
  hippo: facts(11, 2, "pushes", "Each turn: passes all weaker animals ahead of it, up to a zebra.", true),
  crocodile: facts(10, 3, "eats", "Each turn: eats all weaker animals ahead of it, up to a zebra.", true),
  snake: facts(9, 2, "sorts", "Sorts the queue, the strongest to the front."),
  giraffe: facts(8, 3, "steps over", "Each turn: steps over the animal ahead of it, if that is weaker.", true),
  zebra: facts(7, 4, "blocks", "Hippos cannot pass it, crocodiles are stopped by it."),
  seal: facts(6, 2, "reverses", "Reverses the queue."),
  chameleon: facts(5, 3, "copies", "Does what an animal of your choice in the queue does."),
  monkey: facts(4, 3, "gangs up", "With another monkey: both go to the front; hippos and crocodiles flee."),
  kangaroo: facts(3, 4, "hops", "Hops over the last one or two animals, as you choose."),
  parrot: facts(2, 4, "expels", "Drives off one animal of your choice."),
  skunk: facts(1, 4, "stinks", "Drives off the two strongest species in the queue, but never skunks."),
};

/** Strongest first. */
export const SPECIES_NAMES = Object.keys(SPECIES) as readonly Species[];

/** The bar opens when the queue has this many cards. */
export const CARDS_TO_OPEN = 5;

// ---- cards

export function speciesOf(card: string): Species {
  return card.slice(0, -1) as Species;
}

export function ownerOf(card: string): Player {
  return card.endsWith("1") ? 1 : 0;
}

export function cardName(card: string, names: readonly [string, string]): string {
  const owner = names[ownerOf(card)];
  return owner === YOU ? `your ${speciesOf(card)}` : `${owner}’s ${speciesOf(card)}`;
}

export function listed(cards: readonly string[], names: readonly [string, string]): string {
  const texts = cards.map((card) => cardName(card, names));
  const last = texts.pop() ?? "nobody";
  return texts.length ? `${texts.join(", ")} and ${last}` : last;
}

// ---- the table

export function count(cards: Cards): number {
  return typeof cards === "number" ? cards : cards.length;
}

/** Strongest first, as a hand is shown. */
export function sorted(cards: readonly string[]): readonly string[] {
  return [...cards].sort((one, two) => SPECIES[speciesOf(two)].strength - SPECIES[speciesOf(one)].strength);
}

/** What a player has in the bar: "7 points", or "3 animals" where animals count. */
export function scoreOf(bar: readonly string[], player: Player, scoring: string): string {
  const own = bar.filter((card) => ownerOf(card) === player);
  const points = own.reduce((sum, card) => sum + SPECIES[speciesOf(card)].points, 0);
  const [number, what] = scoring === "animals" ? [own.length, "animal"] : [points, "point"];
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}

// ---- moves

/** `chameleon 1 0` is its animal and its choices. */
export interface Move {
  readonly action: number;
  readonly animal: Species;
  readonly choices: readonly number[];
}

export function moveOf(legal: Legal): Move {
  const [animal, ...choices] = legal.text.split(" ");
  return { action: legal.action, animal: animal as Species, choices: choices.map(Number) };
}

/** The legal moves of each animal in the hand. */
export function movesByAnimal(legal: readonly Legal[]): ReadonlyMap<Species, readonly Move[]> {
  const found = new Map<Species, Move[]>();
  for (const each of legal) {
    const move = moveOf(each);
    found.set(move.animal, [...(found.get(move.animal) ?? []), move]);
  }
  return found;
}

/** What a move's choices mean in this queue: parrot 1 is "drives off your lion". */
export function meaning(move: Move, queue: readonly string[], names: readonly [string, string]): string {
  const [first, second] = move.choices;
  if (first === undefined) return "";
  if (move.animal !== "chameleon") return chosen(move.animal, first, queue, names);
  const copied = queue[first];
  if (copied === undefined) return "";
  const as = `copies ${cardName(copied, names)}`;
  return second === undefined ? as : `${as}: ${chosen(speciesOf(copied), second, queue, names)}`;
}

function chosen(animal: Species, number: number, queue: readonly string[], names: readonly [string, string]): string {
  if (animal === "kangaroo") return `hops over ${listed(queue.slice(-number).reverse(), names)}`;
  return `drives off ${listed(queue.slice(number, number + 1), names)}`;
}

// ---- a turn as frames

/** The open cards at one moment of a turn, and what has just happened. */
export interface Frame {
  readonly queue: readonly string[];
  readonly bar: readonly string[];
  readonly thatsIt: readonly string[];
  /** The card that acts; null when the bar opens. */
  readonly actor: string | null;
  readonly text: string;
}

/** The frames of a turn: the card joins the queue, then each step that changes something. */
export function framesOf(
  before: BeastyBarSeen,
  steps: readonly Step[],
  names: readonly [string, string],
): readonly Frame[] {
  let now: Frame = { queue: before.queue, bar: before.bar, thatsIt: before.thats_it, actor: null, text: "" };
  const frames: Frame[] = [];
  const add = (next: Frame): void => {
    now = next;
    if (next.text) frames.push(next);
  };
  for (const step of steps) {
    if (step.step === "entry" && step.animal !== null) {
      const sends = doing(names[ownerOf(step.animal)], "send");
      const text = `${sends} the ${speciesOf(step.animal)} to the back of the queue.`;
      add({ ...now, queue: [...now.queue, step.animal], actor: step.animal, text });
    }
    add({
      queue: step.queue,
      bar: [...now.bar, ...step.bar],
      thatsIt: [...now.thatsIt, ...step.thats_it],
      actor: step.step === "bar" ? null : step.animal,
      text: stepText(step, now.queue, names),
    });
  }
  return frames;
}

/** What one step did to the queue before it; empty if it changed nothing. */
function stepText(step: Step, before: readonly string[], names: readonly [string, string]): string {
  const gone = step.thats_it;
  const animal = step.animal;
  if (step.step === "bar" || animal === null) {
    const bounced = gone.length ? ` ${begin(listed(gone, names))} is bounced.` : "";
    return `Five in the queue: ${listed(step.bar, names)} enter the bar (${gains(step.bar, names)}).${bounced}`;
  }
  const actsAs = (step.acts_as ?? speciesOf(animal)) as Species;
  const copy = step.acts_as ? `, as a ${step.acts_as},` : "";
  const again = step.step === "recurring" ? " acts again and" : "";
  const name = `${begin(cardName(animal, names))}${copy}${again}`;
  if (gone.includes(animal)) return `${name} is bounced: a lion is in the queue already.`;
  const parts: string[] = [];
  if (gone.length) parts.push(`${actsAs === "crocodile" ? "eats" : "drives off"} ${listed(gone, names)}`);
  const stayed = before.filter((card) => !gone.includes(card));
  if (!sameCards(step.queue, stayed)) parts.push(movement(actsAs, animal, stayed, step.queue, names));
  if (parts.length) return `${name} ${parts.join(", and ")}.`;
  return step.acts_as ? `${begin(cardName(animal, names))} copies a ${step.acts_as}, which changes nothing.` : "";
}

function movement(
  actsAs: Species,
  animal: string,
  before: readonly string[],
  after: readonly string[],
  names: readonly [string, string],
): string {
  if (actsAs === "snake") return "sorts the queue, the strongest to the front";
  if (actsAs === "seal") return "reverses the queue";
  if (actsAs === "monkey") return "leads the monkeys to the front";
  const passed = before.slice(after.indexOf(animal), before.indexOf(animal)).reverse();
  const front = after[0] === animal ? ", to the front" : "";
  return `${actsAs === "kangaroo" ? "hops over" : "passes"} ${listed(passed, names)}${front}`;
}

/** "You +2, zerofleet +4" */
function gains(entered: readonly string[], names: readonly [string, string]): string {
  const gained = (owner: Player): number =>
    entered.filter((card) => ownerOf(card) === owner).reduce((sum, card) => sum + SPECIES[speciesOf(card)].points, 0);
  return `${names[0]} +${gained(0)}, ${names[1]} +${gained(1)}`;
}

function sameCards(one: readonly string[], two: readonly string[]): boolean {
  return one.length === two.length && one.every((card, place) => card === two[place]);
}

/** The start of a sentence; a player's name stays as it is written. */
function begin(text: string): string {
  return text.startsWith("your ") ? capital(text) : text;
}
