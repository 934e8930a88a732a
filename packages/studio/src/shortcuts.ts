// Keys: `/` for the search, `?` for the list of keys, `g` and a letter for a page. They can be switched off.
import { signal } from "@preact/signals";
import { load, save } from "./storage.ts";
import { go } from "./router.ts";

export const shortcutsOn = signal(load("shortcuts") !== "off");
export const helpOpen = signal(false);

/** The pages of `g` and a letter. */
export const destinations: Record<string, { path: string[]; title: string }> = {
  h: { path: [], title: "Home" },
  b: { path: ["blocks"], title: "Blocks" },
  t: { path: ["transactions"], title: "Transactions" },
  c: { path: ["contracts"], title: "Contracts" },
  a: { path: ["accounts"], title: "Accounts" },
  d: { path: ["deploy"], title: "Deploy" },
  n: { path: ["node"], title: "Node" },
};

export function setShortcuts(on: boolean): void {
  shortcutsOn.value = on;
  save("shortcuts", on ? "on" : "off");
}

export function followShortcuts(): void {
  let afterG = false;
  addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    const typing = target.closest("input, textarea, select, [contenteditable]") !== null;
    if (!shortcutsOn.value || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const destination = afterG ? destinations[event.key] : undefined;
    afterG = event.key === "g";
    if (destination) go(destination.path);
    else if (event.key === "/") {
      event.preventDefault();
      document.getElementById("search")?.focus();
    } else if (event.key === "?") helpOpen.value = true;
  });
}
