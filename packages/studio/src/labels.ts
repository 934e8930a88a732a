// Names of addresses, in the local storage of the browser. They never leave it, except in an exported file.
import { signal } from "@preact/signals";
import { parseAddress } from "./format/address.ts";
import { load, save } from "./storage.ts";

export type Labels = Record<string, string>;

/** Maximum length of a name in characters. */
export const labelLength = 60;

/**
 * Parses names: a JSON object from addresses in any spelling to names. Throws an error that names the wrong part.
 */
export function parseLabels(text: string): Labels {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error("expected a JSON object from addresses to names, got text that is not JSON");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Error("expected a JSON object from addresses to names");
  }
  const labels: Labels = {};
  for (const [key, name] of Object.entries(value)) {
    const address = parseAddress(key);
    if (!address) throw new Error(`expected an address as bech32 or 40 hexadecimal digits, got ${JSON.stringify(key)}`);
    if (typeof name !== "string" || !name.trim() || name.length > labelLength) {
      throw new Error(`name of ${key}: expected a text from 1 to ${labelLength} characters, got ${JSON.stringify(name)}`);
    }
    labels[address] = name.trim();
  }
  return labels;
}

function stored(): Labels {
  try {
    return parseLabels(load("labels") ?? "{}");
  } catch {
    // Another program changed the storage, or a later version of the page.
    return {};
  }
}

/** The names by the 40 lower-case digits of their addresses. */
export const labels = signal<Labels>(stored());

/** Sets the name of an address. An empty name removes it. */
export function setLabel(hex: string, name: string): void {
  const { [hex]: _, ...others } = labels.value;
  saveLabels(name.trim() ? { ...others, [hex]: name.trim().slice(0, labelLength) } : others);
}

/** Adds names. A name of a known address replaces the old one. */
export const addLabels = (more: Labels): void => saveLabels({ ...labels.value, ...more });

function saveLabels(next: Labels): void {
  labels.value = next;
  save("labels", JSON.stringify(next));
}
