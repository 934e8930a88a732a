// The statements of the components of a source text, without a parser of the language: tokens suffice for the places of
// statements, because Scilla separates them with `;`, and has no blocks except the branches of `match`.
import type { SourceSpan } from "../rpc/types.ts";
import { type Token, tokens } from "./highlight.ts";

export interface Statement {
  /** Name of the transition or procedure. */
  component: string;
  /** Lines, and columns in bytes. For a `match`, the part up to `with`. */
  span: SourceSpan;
  /** The source of the statement. */
  text: string;
}

interface Word extends Token, SourceSpan {
  /** Index of the first character. */
  from: number;
}

const utf8 = new TextEncoder();

/** Returns the tokens with meaning, and their places. */
function wordsOf(source: string): Word[] {
  const found: Word[] = [];
  let [line, column, from] = [1, 1, 0];
  for (const { kind, text } of tokens(source)) {
    const start = { line, column };
    const parts = kind === "string" ? [text] : text.split(/\r\n|\r|\n/);
    const bytes = utf8.encode(parts.at(-1)!).length;
    line += parts.length - 1;
    column = parts.length > 1 ? bytes + 1 : column + bytes;
    if (kind !== "space" && kind !== "comment") found.push({ kind, text, from, start, end: { line, column } });
    from += text.length;
  }
  return found;
}

const opening = new Set(["(", "[", "{"]);
const closing = new Set([")", "]", "}"]);

/** Returns the statements in the order of the source. A text with errors has at least the statements before them. */
export function statements(source: string): Statement[] {
  const words = wordsOf(source);
  const found: Statement[] = [];
  let at = 0;

  /** Skips a group in brackets. */
  const skipGroup = () => {
    let depth = 0;
    do {
      if (opening.has(words[at]!.text)) depth += 1;
      if (closing.has(words[at]!.text)) depth -= 1;
      at += 1;
    } while (depth > 0 && at < words.length);
  };
  const skipTo = (text: string) => {
    while (at < words.length && words[at]!.text !== text) at += 1;
    at += 1;
  };
  /** Skips a statement that is not a `match`. It ends before `;`, before the next branch, or before `end`. */
  const skipStatement = () => {
    // The expressions of `match` and the types of addresses end with `end` too.
    let inner = 0;
    let awaitsWith = 0;
    while (at < words.length) {
      const { text, kind } = words[at]!;
      if (inner === 0 && (text === ";" || text === "|" || text === "end")) return;
      if (opening.has(text)) {
        skipGroup();
        continue;
      }
      if (kind === "keyword" && text === "match") {
        inner += 1;
        awaitsWith += 1;
      } else if (kind === "keyword" && text === "with") {
        if (awaitsWith > 0) awaitsWith -= 1;
        else inner += 1;
      } else if (kind === "keyword" && text === "end") inner -= 1;
      at += 1;
    }
  };
  const body = (component: string) => {
    let branches = 0;
    while (at < words.length) {
      const first = at;
      const { text } = words[at]!;
      if (text === ";") {
        at += 1;
        continue;
      }
      if (text === "|") {
        skipTo("=>");
        continue;
      }
      if (text === "end") {
        at += 1;
        if (branches === 0) return;
        branches -= 1;
        continue;
      }
      if (text === "match") {
        branches += 1;
        skipTo("with");
      } else skipStatement();
      // A word that belongs to no statement is an error of the source.
      if (at === first) at += 1;
      const last = words[Math.min(at, words.length) - 1]!;
      const { from, start } = words[first]!;
      found.push({ component, span: { start, end: last.end }, text: source.slice(from, last.from + last.text.length) });
    }
  };

  while (at < words.length) {
    const { kind, text } = words[at]!;
    at += 1;
    if (kind !== "keyword" || (text !== "transition" && text !== "procedure")) continue;
    const component = words[at]?.text ?? "";
    at += 1;
    if (words[at]?.text === "(") skipGroup();
    // The type of the result.
    if (words[at]?.text === ":") {
      at += 1;
      if (words[at]?.text === "(") skipGroup();
      else at += 1;
    }
    body(component);
  }
  return found;
}
