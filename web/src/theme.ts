// Light or dark: what the system prefers, unless the reader chose one here.

export type Theme = "system" | "light" | "dark";

const key = "zerofleet.theme";

export function chosenTheme(): Theme {
  const stored = localStorage.getItem(key);
  return stored === "light" || stored === "dark" ? stored : "system";
}

export function chooseTheme(theme: Theme): void {
  if (theme === "system") {
    localStorage.removeItem(key);
    delete document.documentElement.dataset["theme"];
  } else {
    localStorage.setItem(key, theme);
    document.documentElement.dataset["theme"] = theme;
  }
  for (const tell of listeners) tell();
}

export function isDark(): boolean {
  const chosen = chosenTheme();
  return chosen === "system" ? system.matches : chosen === "dark";
}

/** Calls `tell` whenever the colours change; returns what ends that. For what draws on a canvas. */
export function onThemeChange(tell: () => void): () => void {
  listeners.add(tell);
  return () => listeners.delete(tell);
}

const listeners = new Set<() => void>();
const system = matchMedia("(prefers-color-scheme: dark)");
system.addEventListener("change", () => {
  for (const tell of listeners) tell();
});
chooseTheme(chosenTheme());
