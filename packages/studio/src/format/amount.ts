// Amounts of money: 1 ZIL = 10^6 Li = 10^12 Qa. All arithmetic uses BigInt.

export type Unit = "ZIL" | "Li" | "Qa";

const digits: Record<Unit, number> = { ZIL: 12, Li: 6, Qa: 0 };

// `Intl.NumberFormat` would take 10 ms of the first page.
const group = (integer: string): string => integer.replace(/\B(?=(?:\d{3})+$)/g, ",");

/** Returns an amount in a unit, with separators between thousands and without zeros at the end. */
export const formatAmount = (qa: string | bigint, unit: Unit = "ZIL"): string => `${formatDecimal(qa, digits[unit])} ${unit}`;

/** Returns a number of the smallest unit in a unit with `places` digits after the point, as of a token. */
export function formatDecimal(smallest: string | bigint, places: number): string {
  const value = BigInt(smallest);
  const scale = 10n ** BigInt(places);
  const sign = value < 0n ? "−" : "";
  const magnitude = value < 0n ? -value : value;
  const fraction = (magnitude % scale).toString().padStart(places, "0").replace(/0+$/, "");
  return `${sign}${group(String(magnitude / scale))}${fraction && places ? `.${fraction}` : ""}`;
}

/** Parses an amount in a unit. Throws an error with the expected form if the text is not an exact amount in Qa. */
export function parseAmount(text: string, unit: Unit): bigint {
  const match = /^(\d+)(?:\.(\d+))?$/.exec(text.trim().replaceAll(",", ""));
  const places = digits[unit];
  if (!match) throw new Error(`expected an amount in ${unit}, for example 1.5, got ${JSON.stringify(text)}`);
  const fraction = (match[2] ?? "").replace(/0+$/, "");
  if (fraction.length > places) {
    throw new Error(`expected at most ${places} digits after the point in ${unit}, got ${fraction.length}`);
  }
  return BigInt(match[1]! + fraction.padEnd(places, "0"));
}

/** Returns an integer with separators between thousands. */
export const formatNumber = (value: string | number | bigint): string => group(String(typeof value === "string" ? BigInt(value) : value));
