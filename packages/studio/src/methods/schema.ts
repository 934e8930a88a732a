// Forms from the JSON schemas of the OpenRPC document: which input a schema has, and the value of its text.

/** The part of JSON Schema that the document uses. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  examples?: unknown[];
  default?: unknown;
  const?: unknown;
  enum?: unknown[];
  oneOf?: Schema[];
  anyOf?: Schema[];
  allOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  minimum?: number;
  maximum?: number;
}

export interface Parameter {
  name: string;
  description?: string;
  required?: boolean;
  schema: Schema;
}

export interface Method {
  name: string;
  summary?: string;
  description?: string;
  params: Parameter[];
  result?: { schema?: Schema };
  "x-for-developers"?: boolean;
  "x-weight"?: number;
}

export interface Document {
  methods: Method[];
  components?: { schemas?: Record<string, Schema> };
}

export type Schemas = Record<string, Schema>;

interface Common {
  description: string | undefined;
  example: string | undefined;
  /** Whether null and an absent value are the same. */
  nullable: boolean;
}

/** What a form shows for a schema. */
export type Input = Common &
  (
    | { kind: "text" | "json" | "boolean" }
    | { kind: "number"; integer: boolean; minimum: number | undefined; maximum: number | undefined }
    | { kind: "select"; choices: Array<{ value: unknown; description: string | undefined }> }
    | { kind: "object"; members: Array<{ name: string; required: boolean; schema: Schema }> }
  );

/** References that a schema follows at most. A document with a circle of references has no form beyond. */
const mostReferences = 8;

/** Replaces a reference by its schema. Other members of the reference take precedence. */
function resolve(schema: Schema, schemas: Schemas): Schema {
  let found = schema;
  for (let count = 0; found.$ref && count < mostReferences; count++) {
    const { $ref, ...own } = found;
    found = { ...schemas[$ref.split("/").at(-1)!], ...own };
  }
  const whole = found.allOf?.length === 1 ? { ...resolve(found.allOf[0]!, schemas), ...found } : found;
  delete whole.allOf;
  return whole;
}

const isNull = (schema: Schema): boolean => schema.type === "null" || schema.const === null;

/** Returns the input for a schema. */
export function inputOf(schema: Schema, schemas: Schemas): Input {
  let resolved = resolve(schema, schemas);
  let nullable = false;
  const choices = resolved.anyOf ?? resolved.oneOf;
  const others = choices?.filter((choice) => !isNull(resolve(choice, schemas)));
  if (choices && others && others.length < choices.length) nullable = true;
  if (others?.length === 1) {
    const { anyOf: _anyOf, oneOf: _oneOf, ...own } = resolved;
    resolved = { ...resolve(others[0]!, schemas), ...own };
  }
  const types = (Array.isArray(resolved.type) ? resolved.type : [resolved.type]).filter((type) => type !== undefined);
  if (types.includes("null")) nullable = true;
  const [type, ...further] = types.filter((type) => type !== "null");
  const common: Common = {
    description: schema.description ?? resolved.description,
    example: resolved.examples?.length ? asText(resolved.examples[0]) : undefined,
    nullable,
  };
  if (others && others.length > 1) {
    const constants = others.map((choice) => resolve(choice, schemas));
    if (!constants.every((choice) => choice.const !== undefined)) return { ...common, kind: "json" };
    return { ...common, kind: "select", choices: constants.map((choice) => ({ value: choice.const, description: choice.description })) };
  }
  if (resolved.enum) return { ...common, kind: "select", choices: resolved.enum.map((value) => ({ value, description: undefined })) };
  if (further.length) return { ...common, kind: "json" };
  switch (type) {
    case "string":
      return { ...common, kind: "text" };
    case "boolean":
      return { ...common, kind: "boolean" };
    case "integer":
    case "number":
      return { ...common, kind: "number", integer: type === "integer", minimum: resolved.minimum, maximum: resolved.maximum };
  }
  const properties = Object.entries(resolved.properties ?? {});
  if (!properties.length) return { ...common, kind: "json" };
  const members = properties.map(([name, member]) => ({ name, required: resolved.required?.includes(name) ?? false, schema: member }));
  return { ...common, kind: "object", members };
}

const asText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

/** The texts of a form by the path of the input, for example `0.limit`. */
export type Texts = Record<string, string>;

/** An input that has no value for its schema. */
export class InputError extends Error {
  constructor(
    readonly path: string,
    message: string,
  ) {
    super(message);
    this.name = "InputError";
  }
}

/** Returns the value of an input; undefined if it is absent. */
function valueOf(schema: Schema, required: boolean, path: string, texts: Texts, schemas: Schemas): unknown {
  const input = inputOf(schema, schemas);
  if (input.kind === "object") {
    const members = input.members.flatMap(({ name, required: needed, schema: member }): Array<[string, unknown]> => {
      // The members of an absent object are absent too.
      const value = valueOf(member, needed && (required || hasText(path, texts)), `${path}.${name}`, texts, schemas);
      return value === undefined ? [] : [[name, value]];
    });
    return members.length || required ? Object.fromEntries(members) : undefined;
  }
  const text = texts[path] ?? "";
  if (text === "") {
    if (!required) return undefined;
    // An empty text can be a value.
    if (input.kind === "text") return "";
    throw new InputError(path, "expected a value");
  }
  switch (input.kind) {
    case "text":
      return text;
    case "boolean":
      return text === "true";
    case "select":
      return input.choices[Number(text)]?.value;
    case "number":
      return numberOf(text, input, path);
    case "json":
      try {
        return JSON.parse(text) as unknown;
      } catch (error) {
        throw new InputError(path, `expected JSON, for example "text" or [1, 2]: ${(error as Error).message}`);
      }
  }
}

function numberOf(text: string, { integer, minimum, maximum }: { integer: boolean; minimum: number | undefined; maximum: number | undefined }, path: string): number {
  const trimmed = text.trim();
  const value = Number(trimmed);
  const fits = (minimum === undefined || value >= minimum) && (maximum === undefined || value <= maximum);
  if (/^-?\d+(?:\.\d+)?$/.test(trimmed) && fits && (!integer || Number.isSafeInteger(value))) return value;
  const range = [minimum !== undefined && `from ${minimum}`, maximum !== undefined && `to ${maximum}`].filter(Boolean).join(" ");
  throw new InputError(path, `expected ${integer ? "a whole number" : "a number"}${range && ` ${range}`}, got ${JSON.stringify(text)}`);
}

const hasText = (path: string, texts: Texts): boolean => Object.entries(texts).some(([name, text]) => name.startsWith(`${path}.`) && text !== "");

/** Returns the parameters of a method by position. Absent parameters at the end are left out, and others are null. */
export function paramsOf(method: Method, texts: Texts, schemas: Schemas): unknown[] {
  const values = method.params.map(({ schema, required = false }, index) => valueOf(schema, required, String(index), texts, schemas));
  const end = values.findLastIndex((value) => value !== undefined) + 1;
  return values.slice(0, end).map((value) => (value === undefined ? null : value));
}
