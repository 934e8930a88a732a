// Values of a trace as text.

const plainText = /^(?:-?\d+|0x[0-9a-f]*)$/;

interface Adt {
  constructor: string;
  arguments: unknown[];
}

/** Returns a value in a short form: `Some 1` for an ADT, `[a, b]` for a list, and `{k: v}` for a map or message. */
export function formatValue(value: unknown): string {
  if (value === null || value === undefined) return "not in the trace";
  // Values have at most 60 levels, and deeper parts are text.
  return write(value, false);
}

function write(value: unknown, inner: boolean): string {
  if (typeof value === "string") return plainText.test(value) ? value : JSON.stringify(value);
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) {
    if (value.length && value.every(isEntry)) return braces(value.map(({ key, val }) => [write(key, false), val]));
    return `[${value.map((element) => write(element, false)).join(", ")}]`;
  }
  if (isAdt(value)) {
    const name = value.constructor.split(".").at(-1)!;
    if (!value.arguments.length) return name;
    const text = [name, ...value.arguments.map((argument) => write(argument, true))].join(" ");
    return inner ? `(${text})` : text;
  }
  return braces(Object.entries(value));
}

const braces = (entries: Array<[string, unknown]>): string => `{${entries.map(([key, value]) => `${key}: ${write(value, false)}`).join(", ")}}`;

const isEntry = (value: unknown): value is { key: unknown; val: unknown } =>
  typeof value === "object" && value !== null && "key" in value && "val" in value && Object.keys(value).length === 2;

// Each object has a `constructor` that it inherits.
const isAdt = (value: object): value is Adt =>
  Object.hasOwn(value, "constructor") && Object.hasOwn(value, "arguments") && Array.isArray((value as Adt).arguments) && typeof (value as Adt).constructor === "string";
