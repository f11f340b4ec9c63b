// Numbers as people read them: grouped, rounded to what matters, with a true minus sign; names as titles.

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** 1234567 is `1,234,567`. */
export function count(value: number): string {
  return minus(grouped.format(value));
}

/** Three significant digits, with k and M: 1234567 is `1.23 M`. */
export function short(value: number): string {
  const size = Math.abs(value);
  if (size >= 999_500) return minus(`${digits(value / 1e6)} M`);
  if (size >= 9_995) return minus(`${digits(value / 1e3)} k`);
  if (size >= 999.5) return count(value);
  return minus(digits(value));
}

function digits(value: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  return value.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.01 ? 2 : 4);
}

/** `+12`, `−30`, `0`: a rating, which is a difference. */
export function elo(value: number): string {
  const rounded = Math.round(value);
  return rounded > 0 ? `+${count(rounded)}` : count(rounded);
}

/** 0.413 is `41 %`. */
export function percent(share: number, fraction = 0): string {
  return minus(`${(100 * share).toFixed(fraction)} %`);
}

/** A probability or value with a sign where it can be negative. */
export function signed(value: number, fraction = 2): string {
  return minus(value > 0 ? `+${value.toFixed(fraction)}` : value.toFixed(fraction));
}

/** A length of time: `12 s`, `3 min`, `2 h 5 min`, `4 days`. */
export function duration(seconds: number): string {
  if (seconds < 60) return `${Math.max(0, Math.floor(seconds))} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} days`;
}

/** How long ago: `just now`, `3 min ago`. */
export function ago(seconds: number): string {
  return seconds < 5 ? "just now" : `${duration(seconds)} ago`;
}

/** 3_400_000 bytes are `3.4 MB`. */
export function bytes(size: number): string {
  if (size < 1000) return `${size} B`;
  for (const [unit, scale] of [
    ["kB", 1e3],
    ["MB", 1e6],
    ["GB", 1e9],
  ] as const) {
    if (size < 999.5 * scale) return `${(size / scale).toFixed(size < 9.95 * scale ? 1 : 0)} ${unit}`;
  }
  return `${(size / 1e12).toFixed(1)} TB`;
}

/** One of something, or several: `plural(1, "game")`, `plural(3, "ply", "plies")`. */
export function plural(number: number, one: string, several = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : several}`;
}

/** Who won, and how where there is more than one way: `First player`, `Second player, gammon`, `Draw`. */
export function winnerText(resultFirstPlayer: string, rewardFirstPlayer: number | null): string {
  if (rewardFirstPlayer === null) return "Truncated";
  if (rewardFirstPlayer === 0) return "Draw";
  const how = resultFirstPlayer.replace(/^(win|lose|loss)\b ?/, "");
  return `${rewardFirstPlayer > 0 ? "First player" : "Second player"}${how === "" ? "" : `, ${how}`}`;
}

/** A player for people: `run:c4@894` is `c4, step 894`. */
export function playerText(text: string): string {
  const [, run, step] = /^run:(.+?)(?:@(\d+))?$/.exec(text) ?? [];
  if (run === undefined) return text;
  return step === undefined ? run : `${run}, step ${count(Number(step))}`;
}

function minus(text: string): string {
  return text.replace("-", "\u2212");
}

/** `card_destination` is `Card destination`. */
export function asTitle(name: string): string {
  return capital(name.replaceAll("_", " "));
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
