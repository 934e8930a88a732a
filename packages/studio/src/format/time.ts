// Times of blocks: microseconds since 1970 in decimal digits. The formats of `Intl` would take 20 ms of the first page.
import { formatNumber } from "./amount.ts";

const units: Array<[one: string, many: string, size: number]> = [
  ["sec.", "sec.", 60],
  ["min.", "min.", 60],
  ["hr.", "hr.", 24],
  ["day", "days", 365],
  ["yr.", "yr.", Infinity],
];

export const toDate = (microseconds: string): Date => new Date(Number(BigInt(microseconds) / 1000n));

const twoDigits = (value: number): string => String(value).padStart(2, "0");

/** Returns the date and the time of day in the time zone of the browser, for example "2026-01-31 18:05:00". */
export function formatTime(microseconds: string): string {
  const date = toDate(microseconds);
  const day = [date.getFullYear(), twoDigits(date.getMonth() + 1), twoDigits(date.getDate())].join("-");
  return `${day} ${[date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits).join(":")}`;
}

/** Returns how long ago a time was, for example "5 min. ago". */
export function formatAge(microseconds: string, now: number): string {
  const seconds = (toDate(microseconds).getTime() - now) / 1000;
  let amount = Math.abs(seconds);
  for (const [one, many, size] of units) {
    // A rounded amount can reach the next unit.
    const whole = Math.round(amount);
    if (whole < size) {
      if (whole === 0) return "now";
      const text = `${formatNumber(whole)} ${whole === 1 ? one : many}`;
      return seconds < 0 ? `${text} ago` : `in ${text}`;
    }
    amount /= size;
  }
  return "";
}
