import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { load } from "./bundle.mjs";

const { statements } = await load("scilla/statements.ts");
const shown = (source) => statements(source).map(({ component, span, text }) => {
  return `${component} ${span.start.line}:${span.start.column}-${span.end.line}:${span.end.column} ${text.replaceAll(/\s+/g, " ")}`;
});

test("the statements of a contract", () => {
  const source = readFileSync(new URL("../../../contracts/hello_world/hello_world.scilla", import.meta.url), "utf8");
  assert.deepEqual(shown(source), [
    "CountVisit 17:3-17:27 maybe <- visits[_sender]",
    "CountVisit 18:3-22:8 count = match maybe with | Some n => builtin add n one | None => one end",
    "CountVisit 23:3-23:27 visits[_sender] := count",
    "Greet 27:3-27:13 CountVisit",
    "Greet 28:3-28:19 text <- greeting",
    `Greet 29:3-29:61 e = { _eventname : "Greeting"; to : _sender; text : text }`,
    "Greet 30:3-30:10 event e",
    "SetGreeting 34:3-34:38 is_owner = builtin eq owner _sender",
    "SetGreeting 35:3-35:22 match is_owner with",
    "SetGreeting 37:5-37:21 greeting := text",
    `SetGreeting 40:5-40:57 e = { _exception : "NotTheOwner"; caller : _sender }`,
    "SetGreeting 41:5-41:12 throw e",
  ]);
});

test("nested branches, address types, and results", () => {
  const source = `
procedure P (a : ByStr20 with contract field f : Uint32 end) : Option Uint32
end
transition T (xs : List Uint32)
  match xs with | Nil => accept | Cons x rest => match x with | _ => é = "é"; y = 1 end; forall rest P end;
  z <- & a as ByStr20 with contract field f : Uint32 end;
  w = let q = match a with | _ => b end in q;
  delete m[k]
end`;
  assert.deepEqual(shown(source).slice(1), [
    "T 5:3-5:16 match xs with",
    "T 5:26-5:32 accept",
    "T 5:50-5:62 match x with",
    `T 5:70-5:79 é = "é"`,
    "T 5:81-5:86 y = 1",
    "T 5:92-5:105 forall rest P",
    "T 6:3-6:57 z <- & a as ByStr20 with contract field f : Uint32 end",
    "T 7:3-7:45 w = let q = match a with | _ => b end in q",
    "T 8:3-8:14 delete m[k]",
  ]);
});

test("a text with errors ends", () => {
  for (const source of ["transition", "transition T (", "transition T ()", "transition T () a = match", "transition T () ) ) end x", "procedure P () : (", "transition T () | | end"]) {
    assert.ok(Array.isArray(statements(source)), source);
  }
});
