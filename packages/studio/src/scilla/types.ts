// Types of Scilla as text: `Map (ByStr20) (Uint128)`, `0x….Colour`, `ByStr20 with contract field f : Bool end`.

export type Type =
  | { kind: "integer"; signed: boolean; bits: 32 | 64 | 128 | 256 }
  | { kind: "bnum" }
  | { kind: "string" }
  /** Bytes of a width, or of any width with null. */
  | { kind: "bytes"; width: number | null }
  /** An address type, with its text. */
  | { kind: "address"; text: string }
  | { kind: "map"; key: Type; value: Type }
  /** A data type with its full name: `Option`, `0x….Colour`. */
  | { kind: "adt"; name: string; arguments: Type[] }
  | { kind: "variable"; name: string }
  /** A type whose values have no JSON: a function, a message, a polymorphic type. */
  | { kind: "opaque"; text: string };

/** The deepest nesting of parentheses that the parser accepts. */
const deepest = 200;

interface Token {
  text: string;
  start: number;
  end: number;
}

/** Parses the text of a type. Throws an error with the text and the reason. */
export function parseType(text: string): Type {
  const tokens: Token[] = [];
  let end = 0;
  for (const match of text.matchAll(/\s+|->|[().,:]|[\w'.-]+/g)) {
    if (match.index !== end) break;
    end = match.index + match[0].length;
    if (match[0].trim()) tokens.push({ text: match[0], start: match.index, end });
  }
  const fail = (reason: string): never => {
    const shown = text.length > 200 ? `${text.slice(0, 200)}…` : text;
    throw new Error(`expected a type of Scilla, got ${JSON.stringify(shown)}: ${reason}`);
  };
  if (end !== text.length) fail(`unexpected character at ${end + 1}`);

  let place = 0;
  const peek = () => tokens[place]?.text;
  const expect = (wanted: string) => {
    if (peek() !== wanted) fail(`expected ${wanted}, got ${peek() ?? "the end"}`);
    place += 1;
  };
  const span = (first: number) => text.slice(tokens[first]!.start, tokens[place - 1]!.end);

  const whole = (depth: number): Type => {
    if (depth > deepest) fail(`more than ${deepest} nested types`);
    const first = place;
    if (peek() === "forall") {
      // The body has no values, so its form does not matter.
      while (peek() !== undefined && peek() !== ")") skipGroup(depth);
      return { kind: "opaque", text: span(first) };
    }
    const type = applied(depth);
    if (peek() !== "->") return type;
    place += 1;
    whole(depth + 1);
    return { kind: "opaque", text: span(first) };
  };
  const skipGroup = (depth: number) => {
    if (depth > deepest) fail(`more than ${deepest} nested types`);
    if (peek() !== "(") return void (place += 1);
    place += 1;
    while (peek() !== ")") {
      if (peek() === undefined) fail("expected ), got the end");
      skipGroup(depth + 1);
    }
    place += 1;
  };
  const applied = (depth: number): Type => {
    const name = peek();
    if (name === undefined) return fail("expected a type, got the end");
    if (!/^['\w]/.test(name) || isPrimitive(name) || name.startsWith("'")) return atom(depth);
    place += 1;
    const args: Type[] = [];
    while (peek() !== undefined && ![")", "->", ",", "end"].includes(peek()!)) args.push(atom(depth + 1));
    if (name !== "Map") return { kind: "adt", name, arguments: args };
    const [key, value] = args;
    if (!key || !value || args.length > 2) return fail(`Map has 2 arguments, got ${args.length}`);
    return { kind: "map", key, value };
  };
  const atom = (depth: number): Type => {
    const first = place;
    const name = peek();
    if (name === undefined) return fail("expected a type, got the end");
    if (name === "(") {
      place += 1;
      if (peek() === ")") {
        place += 1;
        return { kind: "opaque", text: "()" };
      }
      const type = whole(depth + 1);
      expect(")");
      return type;
    }
    if (!/^['\w]/.test(name)) return fail(`unexpected ${name}`);
    place += 1;
    if (name.startsWith("'")) return { kind: "variable", name };
    if (name === "ByStr20" && peek() === "with") {
      for (let open = 0; ; ) {
        const next = peek();
        if (next === undefined) return fail("expected end, got the end of the text");
        place += 1;
        if (next === "with") open += 1;
        if (next === "end") open -= 1;
        if (open === 0) break;
      }
      return { kind: "address", text: span(first) };
    }
    return primitive(name) ?? { kind: "adt", name, arguments: [] };
  };

  const type = whole(0);
  if (place !== tokens.length) fail(`unexpected ${peek()}`);
  return type;
}

const isPrimitive = (name: string): boolean => primitive(name) !== null;

function primitive(name: string): Type | null {
  const integer = /^(I|Ui)nt(32|64|128|256)$/.exec(name);
  if (integer) return { kind: "integer", signed: integer[1] === "I", bits: Number(integer[2]) as 32 | 64 | 128 | 256 };
  const bytes = /^ByStr(\d{0,9})$/.exec(name);
  if (bytes) return { kind: "bytes", width: bytes[1] ? Number(bytes[1]) : null };
  if (name === "BNum") return { kind: "bnum" };
  if (name === "String") return { kind: "string" };
  if (["Message", "Event", "Exception"].includes(name)) return { kind: "opaque", text: name };
  return null;
}

/** Returns the text of a type as the node prints it. */
export function printType(type: Type): string {
  switch (type.kind) {
    case "integer":
      return `${type.signed ? "Int" : "Uint"}${type.bits}`;
    case "bnum":
      return "BNum";
    case "string":
      return "String";
    case "bytes":
      return `ByStr${type.width ?? ""}`;
    case "map":
      return `Map (${printType(type.key)}) (${printType(type.value)})`;
    case "adt":
      return type.name + type.arguments.map((argument) => ` (${printType(argument)})`).join("");
    case "variable":
      return type.name;
    default:
      return type.text;
  }
}

/** Returns a type with other types at some places. `at` returns undefined where the type stays. */
function replace(type: Type, at: (type: Type) => Type | undefined): Type {
  const other = at(type);
  if (other) return other;
  if (type.kind === "map") return { ...type, key: replace(type.key, at), value: replace(type.value, at) };
  if (type.kind === "adt") return { ...type, arguments: type.arguments.map((argument) => replace(argument, at)) };
  return type;
}

/** Returns the type that a message declares. Messages cannot contain address types, so these become `ByStr20`. */
export const messageType = (type: Type): Type =>
  replace(type, (part) => (part.kind === "address" ? { kind: "bytes", width: 20 } : undefined));

/** Returns a type with types in place of its variables. */
export const substitute = (type: Type, variables: Map<string, Type>): Type =>
  replace(type, (part) => (part.kind === "variable" ? variables.get(part.name) : undefined));

/** Returns the innermost value type of a field, after this number of maps. */
export function innermost(type: Type, depth = Infinity): Type {
  let inner = type;
  for (let level = 0; level < depth && inner.kind === "map"; level += 1) inner = inner.value;
  return inner;
}

/** Returns the types of the keys of nested maps, the outermost first. */
export function keyTypes(type: Type): Type[] {
  const keys: Type[] = [];
  for (let inner = type; inner.kind === "map"; inner = inner.value) keys.push(inner.key);
  return keys;
}
