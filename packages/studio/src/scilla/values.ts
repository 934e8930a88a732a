// Values of forms: what a person types for a value of Scilla, its check, and its conversion from and to the JSON of
// messages.
import { parseAddress } from "../format/address.ts";
import { parseAmount, type Unit } from "../format/amount.ts";
import type { DataType } from "../rpc/types.ts";
import { messageType, parseType, printType, substitute, type Type } from "./types.ts";

export type Form =
  /** The text of a number, string, byte string or address. An amount has a unit. */
  | { kind: "text"; text: string; unit?: Unit }
  | { kind: "bool"; on: boolean }
  | { kind: "list"; rows: Row[] }
  | { kind: "map"; entries: Entry[] }
  /** A constructor with its arguments; the name is empty before the choice. */
  | { kind: "adt"; name: string; arguments: Form[] }
  /** JSON as it was typed, and the form that it replaces. */
  | { kind: "json"; text: string; form: Form };

/** An element of a list. The number identifies the element when it moves. */
export interface Row {
  id: number;
  form: Form;
}

/** An entry of a map. */
export interface Entry {
  id: number;
  key: Form;
  value: Form;
}

let lastId = 0;
export const newId = (): number => ++lastId;

/** A form that has no value, with the place of the wrong part. */
export class FormError extends Error {
  constructor(
    readonly problem: string,
    readonly path: Array<string | number> = [],
  ) {
    super(path.length ? `${path.join(" › ")}: ${problem}` : problem);
    this.name = "FormError";
  }

  /** The same problem, seen from the value that contains the part. */
  inside(part: string | number): FormError {
    return new FormError(this.problem, [part, ...this.path]);
  }
}

interface Definition {
  parameters: string[];
  constructors: Array<{ name: string; arguments: Type[] }>;
}

export type DataTypes = Map<string, Definition>;

const builtIn: DataType[] = [
  { tname: "Bool", tparams: [], tmap: [{ cname: "True", argtypes: [] }, { cname: "False", argtypes: [] }] },
  { tname: "Nat", tparams: [], tmap: [{ cname: "Zero", argtypes: [] }, { cname: "Succ", argtypes: ["Nat"] }] },
  { tname: "Option", tparams: ["'A"], tmap: [{ cname: "Some", argtypes: ["'A"] }, { cname: "None", argtypes: [] }] },
  { tname: "List", tparams: ["'A"], tmap: [{ cname: "Cons", argtypes: ["'A", "List ('A)"] }, { cname: "Nil", argtypes: [] }] },
  { tname: "Pair", tparams: ["'A", "'B"], tmap: [{ cname: "Pair", argtypes: ["'A", "'B"] }] },
];

/** Returns the data types of an interface, and the built-in data types. */
export function dataTypes(known: DataType[]): DataTypes {
  return new Map(
    [...builtIn, ...known].map(({ tname, tparams, tmap }) => [
      tname,
      {
        parameters: tparams,
        constructors: tmap.map(({ cname, argtypes }) => ({ name: cname, arguments: argtypes.map(parseType) })),
      },
    ]),
  );
}

/** Returns the constructors of a data type, with the types of their arguments. */
export function constructorsOf(type: Type & { kind: "adt" }, known: DataTypes): Array<{ name: string; arguments: Type[] }> {
  const definition = known.get(type.name);
  if (!definition) return [];
  const variables = new Map(definition.parameters.map((name, place) => [name, type.arguments[place]!]));
  return definition.constructors.map(({ name, arguments: types }) => ({
    name,
    arguments: variables.size ? types.map((argument) => substitute(argument, variables)) : types,
  }));
}

/** The part of a constructor's name after its module. */
export const shortName = (name: string): string => name.slice(name.lastIndexOf(".") + 1);

// A data type can contain another one many times, at each level. So an empty form ends at this level.
const openLevels = 3;

/** Returns the form before a person typed. */
export function emptyForm(type: Type, known: DataTypes, unit?: Unit, level = 0): Form {
  if (type.kind === "map") return { kind: "map", entries: [] };
  if (type.kind !== "adt") {
    if (type.kind === "opaque" || type.kind === "variable") return { kind: "json", text: "", form: { kind: "text", text: "" } };
    return unit ? { kind: "text", text: "", unit } : { kind: "text", text: "" };
  }
  if (type.name === "Bool") return { kind: "bool", on: false };
  if (type.name === "List") return { kind: "list", rows: [] };
  if (type.name === "Option") return { kind: "adt", name: "None", arguments: [] };
  const constructors = constructorsOf(type, known);
  const only = constructors[0];
  if (!only) return { kind: "json", text: "", form: { kind: "adt", name: "", arguments: [] } };
  if (constructors.length > 1 || level === openLevels) return { kind: "adt", name: "", arguments: [] };
  return withConstructor(only, known, level);
}

/** Returns the empty form of a constructor. */
export const withConstructor = (of: { name: string; arguments: Type[] }, known: DataTypes, level = 0): Form => ({
  kind: "adt",
  name: of.name,
  arguments: of.arguments.map((argument) => emptyForm(argument, known, undefined, level + 1)),
});

/** The least and the greatest value of an integer type. */
export function range({ signed, bits }: { signed: boolean; bits: number }): [least: bigint, greatest: bigint] {
  return signed ? [-(1n << BigInt(bits - 1)), (1n << BigInt(bits - 1)) - 1n] : [0n, (1n << BigInt(bits)) - 1n];
}

/** Quotes what a person typed, for an error. */
function quote(text: string): string {
  return text === "" ? "nothing" : JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}

/** Converts the text of a number, string, byte string or address to its JSON. Throws a `FormError`. */
export function textValue(type: Type, text: string, unit?: Unit): string {
  const trimmed = text.trim();
  switch (type.kind) {
    case "integer": {
      const [least, greatest] = range(type);
      const wrong = () => new FormError(`expected a whole number from ${least} to ${greatest}, got ${quote(text)}`);
      // No number of this length is in range, and its conversion would take long.
      if (trimmed.length > 200) throw wrong();
      let value: bigint;
      if (unit && unit !== "Qa") {
        try {
          value = parseAmount(trimmed, unit);
        } catch (error) {
          throw new FormError(trimmed ? (error as Error).message : `expected an amount in ${unit}, got nothing`);
        }
      } else {
        if (!/^[+-]?\d+$/.test(trimmed)) throw wrong();
        value = BigInt(trimmed.replace("+", ""));
      }
      if (value < least || value > greatest) throw wrong();
      return value.toString();
    }
    case "bnum":
      if (!/^\d+$/.test(trimmed)) throw new FormError(`expected the digits of a block number, got ${quote(text)}`);
      return trimmed;
    case "string": {
      const wrong = /[^ -~\b\f\n\r\t]/u.exec(text);
      if (!wrong) return text;
      const code = wrong[0].codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0");
      throw new FormError(`expected printable ASCII and line breaks, got U+${code} at character ${wrong.index + 1}`);
    }
    case "address":
      return address(text);
    case "bytes": {
      if (type.width === 20 && /^zil1/i.test(trimmed)) return address(text);
      const digits = trimmed.replace(/^0x/, "");
      const expected = type.width === 20 ? "an address as zil1…, or 20 bytes as 40 hexadecimal digits" : type.width === null ? "bytes as hexadecimal digits" : `${type.width} bytes as ${2 * type.width} hexadecimal digits`;
      if (!/^[0-9a-fA-F]*$/.test(digits) || (trimmed === "" && type.width !== 0)) throw new FormError(`expected ${expected}, got ${quote(text)}`);
      if (digits.length % 2) throw new FormError(`expected ${expected}, got an odd number of digits: ${digits.length}`);
      if (type.width !== null && digits.length !== 2 * type.width) throw new FormError(`expected ${expected}, got ${digits.length / 2} bytes`);
      return `0x${digits.toLowerCase()}`;
    }
    default:
      throw new FormError(`expected JSON, because a value of ${printType(type)} has no other form`);
  }
}

function address(text: string): string {
  const found = parseAddress(text);
  if (found) return `0x${found}`;
  const wrong = /^\s*zil1/i.test(text) ? "a text with a wrong checksum or length: " : "";
  throw new FormError(`expected an address as zil1… or 40 hexadecimal digits, got ${wrong}${quote(text)}`);
}

const objectOf = (type: Type & { kind: "adt" }, name: string, values: unknown[]) => ({
  constructor: name,
  argtypes: type.arguments.map(printType),
  arguments: values,
});

/** Adds the place of a part to the error of its conversion. */
function within<T>(part: string | number, convert: () => T): T {
  try {
    return convert();
  } catch (error) {
    throw error instanceof FormError ? error.inside(part) : error;
  }
}

/** Converts a form to the JSON of a value. Throws a `FormError` with the place of the wrong part. */
export function toJson(type: Type, form: Form, known: DataTypes): unknown {
  if (form.kind === "json") {
    try {
      return JSON.parse(form.text) as unknown;
    } catch (error) {
      throw new FormError(form.text.trim() ? `expected JSON: ${(error as Error).message}` : "expected JSON, got nothing");
    }
  }
  if (type.kind === "map" && form.kind === "map") {
    const places = new Map<string, number>();
    return form.entries.map((entry, place) => {
      const key = within(`key ${place + 1}`, () => toJson(type.key, entry.key, known));
      const before = places.get(JSON.stringify(key));
      if (before !== undefined) throw new FormError(`expected different keys, got the key of entry ${before}`, [`key ${place + 1}`]);
      places.set(JSON.stringify(key), place + 1);
      return { key, val: within(`value ${place + 1}`, () => toJson(type.value, entry.value, known)) };
    });
  }
  if (type.kind !== "adt") {
    if (form.kind !== "text") throw new FormError(`expected a value of ${printType(type)}`);
    return textValue(type, form.text, form.unit);
  }
  if (form.kind === "bool") return objectOf(type, form.on ? "True" : "False", []);
  if (form.kind === "list") {
    const element = type.arguments[0]!;
    return form.rows.map((row, place) => within(place + 1, () => toJson(element, row.form, known)));
  }
  if (form.kind !== "adt" || form.name === "") throw new FormError(`expected a choice of ${shortName(type.name)}, got nothing`);
  const chosen = constructorsOf(type, known).find(({ name }) => name === form.name);
  if (!chosen) throw new FormError(`expected a constructor of ${printType(type)}, got ${quote(form.name)}`);
  const values = chosen.arguments.map((argument, place) =>
    within(place + 1, () => toJson(argument, form.arguments[place]!, known)),
  );
  return objectOf(type, form.name, values);
}

// A deeper value would need too many inputs and levels of calls.
const deepestForm = 100;

/** Converts the JSON of a value to a form. Throws a `FormError` if the form cannot show the value. */
export function fromJson(type: Type, json: unknown, known: DataTypes, level = 0): Form {
  if (level > deepestForm) throw new FormError(`expected at most ${deepestForm} levels`);
  if (type.kind === "map") {
    if (!Array.isArray(json)) throw new FormError(`expected an array of objects with key and val, got ${kindOf(json)}`);
    const entries = json.map((entry: unknown, place) => {
      if (!isObject(entry) || !("key" in entry) || !("val" in entry)) {
        throw new FormError(`expected an object with key and val, got ${kindOf(entry)}`, [place + 1]);
      }
      const key = within(`key ${place + 1}`, () => fromJson(type.key, entry["key"], known, level + 1));
      const value = within(`value ${place + 1}`, () => fromJson(type.value, entry["val"], known, level + 1));
      return { id: newId(), key, value };
    });
    return { kind: "map", entries };
  }
  if (type.kind !== "adt") {
    if (typeof json !== "string") throw new FormError(`expected a value of ${printType(type)} as text, got ${kindOf(json)}`);
    return { kind: "text", text: textValue(type, json) };
  }
  if (type.name === "List") return { kind: "list", rows: listFrom(type, json, known, level) };
  const { chosen, values } = constructorFrom(type, json, known);
  if (type.name === "Bool") return { kind: "bool", on: chosen.name === "True" };
  const forms = chosen.arguments.map((argument, place) =>
    within(place + 1, () => fromJson(argument, values[place], known, level + 1)),
  );
  return { kind: "adt", name: chosen.name, arguments: forms };
}

/** Reads a list as an array or as nested constructors, without a call for each element. */
function listFrom(type: Type & { kind: "adt" }, json: unknown, known: DataTypes, level: number): Row[] {
  const elements: unknown[] = [];
  let rest = json;
  while (!Array.isArray(rest)) {
    const { chosen, values } = constructorFrom(type, rest, known);
    if (chosen.name === "Nil") {
      rest = [];
      break;
    }
    elements.push(values[0]);
    rest = values[1];
  }
  for (const element of rest as unknown[]) elements.push(element);
  return elements.map((element, place) => ({
    id: newId(),
    form: within(place + 1, () => fromJson(type.arguments[0]!, element, known, level + 1)),
  }));
}

function constructorFrom(type: Type & { kind: "adt" }, json: unknown, known: DataTypes) {
  if (!isObject(json) || typeof json["constructor"] !== "string") {
    throw new FormError(`expected an object with constructor, argtypes and arguments, got ${kindOf(json)}`);
  }
  const name = json["constructor"];
  const chosen = constructorsOf(type, known).find((one) => one.name === name);
  if (!chosen) throw new FormError(`expected a constructor of ${printType(type)}, got ${quote(name)}`);
  const types = Array.isArray(json["argtypes"]) ? (json["argtypes"] as unknown[]) : null;
  const expected = type.arguments.map(printType);
  const same = types?.length === expected.length && types.every((text, place) => sameType(text, expected[place]!));
  if (!same) throw new FormError(`expected argtypes ${JSON.stringify(expected)}, got ${quote(JSON.stringify(json["argtypes"]) ?? "")}`);
  const values = Array.isArray(json["arguments"]) ? (json["arguments"] as unknown[]) : null;
  if (values?.length !== chosen.arguments.length) {
    throw new FormError(`expected ${chosen.arguments.length} arguments of ${shortName(name)}, got ${values ? values.length : kindOf(json["arguments"])}`);
  }
  return { chosen, values };
}

function sameType(text: unknown, expected: string): boolean {
  if (text === expected) return true;
  try {
    return typeof text === "string" && printType(parseType(text)) === expected;
  } catch {
    return false;
  }
}

// `JSON.parse` makes plain objects, so an own property decides: each object inherits a `constructor`.
const isObject = (json: unknown): json is Record<string, unknown> =>
  typeof json === "object" && json !== null && !Array.isArray(json);

function kindOf(json: unknown): string {
  if (json === null) return "null";
  if (json === undefined) return "nothing";
  return Array.isArray(json) ? "an array" : typeof json === "object" ? "an object" : `a ${typeof json}`;
}

/** A parameter in the JSON of init data and messages. */
export interface Param {
  vname: string;
  type: string;
  value: unknown;
}

/** Converts a form to a parameter. Throws a `FormError` that begins with the name of the parameter. */
export function toParam(vname: string, type: Type, form: Form, known: DataTypes): Param {
  const declared = messageType(type);
  return { vname, type: printType(declared), value: within(vname, () => toJson(declared, form, known)) };
}

/** Whether a parameter is an amount of money, so that it can have a unit. */
export const isMoney = (name: string, type: Type): boolean =>
  type.kind === "integer" && !type.signed && type.bits === 128 && /amount/i.test(name);
