// Times of blocks: microseconds since 1970 in decimal digits.

const absolute = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" });
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });
const steps: Array<[Intl.RelativeTimeFormatUnit, number]> = [
  ["second", 60],
  ["minute", 60],
  ["hour", 24],
  ["day", 365],
  ["year", Infinity],
];

export const toDate = (microseconds: string): Date => new Date(Number(BigInt(microseconds) / 1000n));

/** Returns the date and the time of day in the time zone of the browser. */
export const formatTime = (microseconds: string): string => absolute.format(toDate(microseconds));

/** Returns how long ago a time was, for example "5 min. ago". */
export function formatAge(microseconds: string, now: number): string {
  let amount = (toDate(microseconds).getTime() - now) / 1000;
  for (const [unit, size] of steps) {
    if (Math.abs(amount) < size) return relative.format(Math.round(amount), unit);
    amount /= size;
  }
  return "";
}
