// The colours: light, dark, or as the system has them. The choice is kept in the browser.
import { signal } from "@preact/signals";
import { load, save } from "./storage.ts";

const themes = ["auto", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

export const theme = signal<Theme>(themes.find((name) => name === load("theme")) ?? "auto");

export function applyTheme(): void {
  document.documentElement.dataset["theme"] = theme.value;
}

/** Selects the next theme. */
export function nextTheme(): void {
  theme.value = themes[(themes.indexOf(theme.value) + 1) % themes.length]!;
  save("theme", theme.value);
  applyTheme();
}
