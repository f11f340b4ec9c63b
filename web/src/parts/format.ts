// Numbers as people read them: grouped, rounded to what matters, with a true minus sign; names as titles.

/** Writes a value, with at most so many digits after the point where that is asked. */
export type Format = (value: number, fraction?: number) => string;

/** 1234567 is `1,234,567`. */
export function count(value: number, fraction = 0): string {
  return minus(value.toLocaleString("en", { maximumFractionDigits: fraction }));
}

/** Three significant digits, with k and M: 1234567 is `1.23 M`. */
export function short(value: number, fraction?: number): string {
  const size = Math.abs(value);
  if (size >= 999_500) return minus(`${digits(value / 1e6, fraction)} M`);
  if (size >= 9_995) return minus(`${digits(value / 1e3, fraction)} k`);
  if (size >= 999.5) return count(value, fraction);
  return minus(digits(value, fraction));
}

function digits(value: number, fraction?: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  return value.toFixed(fraction ?? (size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.01 ? 2 : 4));
}

/** Labels of an axis: exact, since ticks are round, all with as many digits after the point as one of them needs. */
export function tickLabels(ticks: readonly number[], format: Format): string[] {
  const needed = ticks.map((tick) => /\.(\d*?)0*(?=\D|$)/.exec(format(tick, 8))?.[1]?.length ?? 0);
  return ticks.map((tick) => format(tick, Math.max(...needed)));
}

/** `+12`, `−30`, `0`: a rating, which is a difference. */
export function elo(value: number, fraction = 0): string {
  const text = count(value, fraction).replace(/^\u22120$/, "0");
  return value > 0 && text !== "0" ? `+${text}` : text;
}

/** 0.413 is `41 %`. */
export function percent(share: number, fraction = 0): string {
  return minus(`${(100 * share).toFixed(fraction)} %`);
}

/** A probability or value with a sign where it can be negative. */
export function signed(value: number, fraction = 2): string {
  const text = value.toFixed(fraction);
  if (Number(text) === 0) return text.replace("-", "");
  return minus(value > 0 ? `+${text}` : text);
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

const GAMES: Readonly<Record<string, string>> = {
  gomoku: "Gomoku",
  tictactoe: "Tic-tac-toe",
  connect4: "Connect Four",
  backgammon: "Backgammon",
  beastybar: "Beasty Bar",
};

/** A game's name as people write it; a custom game's is its file's. */
export function gameTitle(name: string): string {
  return GAMES[name] ?? (name.split("/").pop() ?? name).replace(/\.(py|h)(:.*)?$/, "");
}

/** A game with its options: `Gomoku, size 9`. */
export function gameText(game: string, options: Readonly<Record<string, string>>): string {
  const chosen = Object.entries(options).map(([name, value]) => `${name.replaceAll("_", " ")} ${value}`);
  return [gameTitle(game), ...chosen].join(", ");
}

/** `card_destination` is `Card destination`. */
export function asTitle(name: string): string {
  return capital(name.replaceAll("_", " "));
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
