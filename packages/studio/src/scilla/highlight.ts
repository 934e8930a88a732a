// The tokens of Scilla for the highlighting of source texts. The tokens of any text join back to the text, and a text
// with errors has tokens too.

export type TokenKind = "keyword" | "type" | "string" | "comment" | "number" | "name" | "sign" | "space" | "unknown";

export interface Token {
  kind: TokenKind;
  text: string;
}

const keywords = new Set(
  (
    "accept as builtin catch contract delete Emp end event exists field forall fun import in let library Map match of " +
    "procedure scilla_version send tfun throw transition try type with"
  ).split(" "),
);

// Each expression matches at one position only, and none of them can go back, so the time is linear.
const words: Array<[TokenKind, RegExp]> = [
  ["space", /[ \t\r\n]+/y],
  ["name", /[A-Za-z_][A-Za-z0-9_]*/y],
  ["number", /0x(?:[0-9a-fA-F]{2})*|-?[0-9]+/y],
  ["type", /'[A-Z][A-Za-z0-9_]*/y],
  ["sign", /=>|->|<-|:=|[=:&@|{}[\](),.;]/y],
];
const commentEdge = /\(\*|\*\)/g;
const stringEdge = /["\\]/g;

/** Returns the end of the comment that begins at a position. Comments nest. */
function commentEnd(source: string, start: number): number {
  commentEdge.lastIndex = start;
  let depth = 0;
  for (let edge = commentEdge.exec(source); edge; edge = commentEdge.exec(source)) {
    depth += edge[0] === "(*" ? 1 : -1;
    if (depth === 0) return commentEdge.lastIndex;
  }
  return source.length;
}

/** Returns the end of the string literal that begins at a position. */
function stringEnd(source: string, start: number): number {
  stringEdge.lastIndex = start + 1;
  for (let edge = stringEdge.exec(source); edge; edge = stringEdge.exec(source)) {
    if (edge[0] === '"') return stringEdge.lastIndex;
    // A backslash takes the next character.
    stringEdge.lastIndex += 1;
  }
  return source.length;
}

function tokenAt(source: string, start: number): Token {
  if (source.startsWith("(*", start)) return { kind: "comment", text: source.slice(start, commentEnd(source, start)) };
  if (source[start] === '"') return { kind: "string", text: source.slice(start, stringEnd(source, start)) };
  for (const [kind, expression] of words) {
    expression.lastIndex = start;
    const text = expression.exec(source)?.[0];
    if (text === undefined) continue;
    if (kind !== "name") return { kind, text };
    if (keywords.has(text)) return { kind: "keyword", text };
    return { kind: /^[A-Z]/.test(text) ? "type" : "name", text };
  }
  return { kind: "unknown", text: String.fromCodePoint(source.codePointAt(start)!) };
}

/** Returns the tokens of a source text. */
export function tokens(source: string): Token[] {
  const found: Token[] = [];
  for (let at = 0; at < source.length; ) {
    const token = tokenAt(source, at);
    found.push(token);
    at += token.text.length;
  }
  return found;
}

/** Returns the tokens in lines, without the line breaks. `split` cuts the text of a token at its line breaks. */
function inLines(source: string, split: (token: Token) => string[]): Token[][] {
  let line: Token[] = [];
  const lines = [line];
  for (const token of tokens(source)) {
    split(token).forEach((text, index) => {
      if (index > 0) lines.push((line = []));
      if (text) line.push({ kind: token.kind, text });
    });
  }
  return lines;
}

/**
 * Returns the tokens of each line, without the line breaks. As in the positions of the node, a line break in a string
 * literal does not begin a line.
 */
export const tokenLines = (source: string): Token[][] =>
  inLines(source, ({ kind, text }) => (kind === "string" ? [text] : text.split(/\r\n|\r|\n/)));

/** Returns the tokens of each line of a text area, where each line feed begins a line. */
export const editorLines = (source: string): Token[][] => inLines(source, ({ text }) => text.split("\n"));

/** Returns the index in a line of a column, which counts bytes from 1. */
export function indexOfColumn(line: string, column: number): number {
  let bytes = 1;
  let index = 0;
  for (const character of line) {
    if (bytes >= column) break;
    const code = character.codePointAt(0)!;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    index += character.length;
  }
  return index;
}
