use super::*;
use crate::syntax::{
    ast::{ExpressionKind, LibraryEntry, Literal, PatternKind, StatementKind},
    print_contract, print_expression, print_library,
};

/// Returns the errors of a text, each with its line and column in front.
fn shown(failure: &Failure) -> Vec<String> {
    let show = |entry: &Entry| {
        assert_eq!(entry.end, Location::default());
        format!("{}:{}: {}", entry.start.line, entry.start.column, entry.message)
    };
    failure.entries().iter().map(show).collect()
}

fn expression_errors(text: &str) -> Vec<String> {
    shown(&parse_expression("e.scilexp", text.as_bytes()).expect_err("the text is wrong"))
}

fn contract_errors(text: &str) -> Vec<String> {
    shown(&parse_contract("c.scilla", text.as_bytes()).expect_err("the text is wrong"))
}

fn library_errors(text: &str) -> Vec<String> {
    shown(&parse_library("l.scillib", text.as_bytes()).expect_err("the text is wrong"))
}

fn statement_errors(text: &str) -> Vec<String> {
    shown(&parse_statements("s.scilla", text.as_bytes()).expect_err("the text is wrong"))
}

/// Checks that an expression parses to the expected text on one line.
fn expression(text: &str, expected: &str) {
    let module = parse_expression("e.scilexp", text.as_bytes()).unwrap_or_else(|failure| panic!("{failure}: {text}"));
    assert_eq!(on_one_line(&print_expression(&module)), expected);
}

/// Checks that statements parse to the expected text on one line.
fn statements(text: &str, expected: &str) {
    parse_statements("s.scilla", text.as_bytes()).unwrap_or_else(|failure| panic!("{failure}: {text}"));
    let text = format!("scilla_version 0 contract C () transition T () {text} end");
    contract(&text, &on_one_line(&format!("scilla_version 0 contract C () transition T () {expected} end")));
}

fn contract(text: &str, expected: &str) {
    let module = parse_contract("c.scilla", text.as_bytes()).unwrap_or_else(|failure| panic!("{failure}: {text}"));
    assert_eq!(on_one_line(&print_contract(&module)), expected);
}

fn library(text: &str, expected: &str) {
    let module = parse_library("l.scillib", text.as_bytes()).unwrap_or_else(|failure| panic!("{failure}: {text}"));
    assert_eq!(on_one_line(&print_library(&module)), expected);
}

fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Checks that a type parses to the expected text, in the form of JSON.
fn ty(text: &str, expected: &str) {
    let ty = parse_type(text).unwrap_or_else(|failure| panic!("{failure}: {text}"));
    assert_eq!(ty.global().to_string(), expected);
}

/// Checks that an expression has this error, and no other.
fn expression_error(text: &str, expected: &str) {
    assert_eq!(expression_errors(text), [expected], "{text}");
}

/// Checks that a list of statements has this error, and no other.
fn statement_error(text: &str, expected: &str) {
    assert_eq!(statement_errors(text), [expected], "{text}");
}

fn kind_error(text: &str, expected: &str) {
    assert_eq!(shown(&parse_type(text).expect_err("the type is wrong")), [expected], "{text}");
}

#[test]
fn types_of_every_form_are_read() {
    ty("Uint128", "Uint128");
    ty("ByStr007", "ByStr7");
    ty("T", "T");
    ty("0xAb.T", "0xab.T");
    ty("Lib.T", "Lib.T");
    ty("List Uint32", "List (Uint32)");
    ty("Pair (List 'A) 'B", "Pair (List ('A)) ('B)");
    ty("Uint32 Int", "Uint32 (Int)");
    ty("A -> B -> C", "A -> B -> C");
    ty("(A -> B) -> C", "(A -> B) -> C");
    ty("forall 'A. 'A -> forall 'B. 'B -> 'A", "forall 'A. 'A -> forall 'B. 'B -> 'A");
    ty("(forall 'A. 'A) -> B", "(forall 'A. 'A) -> B");
    ty("((A))", "A");
    ty("List (Map Uint32 String) Bool", "List (Map (Uint32) (String)) (Bool)");
    ty("Pair Map Uint32 String", "Pair (Map (Uint32) (String))");
}

#[test]
fn map_types_of_every_form_are_read() {
    ty("Map Uint32 String", "Map (Uint32) (String)");
    ty("Map (ByStr20) T", "Map (ByStr20) (T)");
    ty("Map ByStr20 with end Bool", "Map (ByStr20 with end) (Bool)");
    ty("Map (ByStr20 with end) (ByStr20 with end)", "Map (ByStr20 with end) (ByStr20 with end)");
    ty("Map Uint32 ByStr20 with library end", "Map (Uint32) (ByStr20 with library end)");
    ty("Map Uint32 Map BNum Bool", "Map (Uint32) (Map (BNum) (Bool))");
    ty("Map Uint32 (Map BNum (Option Bool))", "Map (Uint32) (Map (BNum) (Option (Bool)))");
    ty("Map Uint32 Pair Bool (List Bool)", "Map (Uint32) (Pair (Bool) (List (Bool)))");
    ty(
        "Map Uint32 (Pair (Map BNum Bool) Map BNum Bool)",
        "Map (Uint32) (Pair (Map (BNum) (Bool)) (Map (BNum) (Bool)))",
    );
    ty("Map Uint32 ((Bool))", "Map (Uint32) (Bool)");
    ty("Map Uint32 (Option (ByStr20 with end))", "Map (Uint32) (Option (ByStr20 with end))");
    ty("Map Uint32 0xab.T", "Map (Uint32) (0xab.T)");
    ty("Pair Map Uint32 Bool 'A", "Pair (Map (Uint32) (Bool)) ('A)");
}

#[test]
fn address_types_of_every_form_are_read() {
    ty("ByStr20 with end", "ByStr20 with end");
    ty("ByStr20 with _codehash end", "ByStr20 with _codehash end");
    ty("ByStr20 with library end", "ByStr20 with library end");
    ty("ByStr20 with contract end", "ByStr20 with contract end");
    ty(
        "ByStr20 with contract field b : Uint32, field a : List (ByStr20 with end) end",
        "ByStr20 with contract field a : List (ByStr20 with end), field b : Uint32 end",
    );
    ty("List ByStr20 with end", "List (ByStr20 with end)");
}

#[test]
fn wrong_types_are_reported_in_the_prelude() {
    let failure = parse_type("List (").expect_err("it ends too early");
    assert_eq!(&*failure.entries()[0].start.file, "Prelude");
    kind_error("", "1:1: Syntax error: expected a type, but found the end of the text");
    kind_error("List (", "1:7: Syntax error: expected a type, but found the end of the text");
    kind_error("(A", "1:3: Syntax error: expected `)` behind the type, but found the end of the text");
    kind_error("A, B", "1:3: Syntax error: expected the end of the type, but found `,`");
    kind_error("forall A. A", "1:9: Syntax error: expected a type variable such as 'A, but found `A`");
    kind_error("forall 'A 'A", "1:13: Syntax error: expected `.`, but found `'A`");
    kind_error("A ->", "1:5: Syntax error: expected a type, but found the end of the text");
    kind_error(
        "0xab",
        "1:5: Syntax error: expected `.` and the name of a type or constructor, but found the end of the text",
    );
    kind_error("N.t", "1:4: Syntax error: expected the name of a type or constructor in the namespace, but found `t`");
    kind_error("Map", "1:4: Syntax error: expected the type of the keys of a map, but found the end of the text");
    kind_error("Map 'A B", "1:7: Syntax error: expected the type of the keys of a map, but found `'A`");
    kind_error(
        "Map Uint32",
        "1:11: Syntax error: expected the type of the values of a map, but found the end of the text",
    );
    kind_error("Map Uint32 'A", "1:14: Syntax error: expected the type of the values of a map, but found `'A`");
    kind_error("Map (Uint32 A", "1:14: Syntax error: expected `)` behind the type of the keys, but found `A`");
    kind_error("Map Uint32 (A -> B)", "1:17: Syntax error: expected `)` behind the type of the values, but found `->`");
    kind_error(
        "Map Uint32 Option ByStr20 with end",
        "1:31: Syntax error: expected the end of the type, but found the keyword `with`",
    );
}

#[test]
fn map_keys_are_primitive() {
    for (text, name, column) in [
        ("Map T Bool", "T", 5),
        ("Map (T) Bool", "T", 6),
        ("Map Message Bool", "Message", 5),
        ("Map Event Bool", "Event", 5),
        ("Map N.T Bool", "N.T", 5),
        ("Map 0xAb.Uint32 Bool", "0xab.Uint32", 5),
        ("Map Uint32 (Map Bool Bool)", "Bool", 17),
    ] {
        kind_error(text, &format!("1:{column}: Syntax error: Invalid map key type {name}"));
    }
    // The token after the key determines the error, before the key itself is checked.
    kind_error("Map T 'A", "1:9: Syntax error: expected the type of the values of the map, but found `'A`");
}

#[test]
fn address_types_that_mean_nothing_are_reported_at_their_name() {
    kind_error("List (T with end)", "1:7: Syntax error: Invalid type");
    kind_error("ByStr32 with library end", "1:1: Syntax error: Invalid type");
    kind_error("ByStr20 with _balance end", "1:1: Syntax error: Invalid type");
    kind_error("T with contract field a : B end", "1:1: Syntax error: Invalid type");
    kind_error(
        "ByStr20 with contract field a : A, field a : B end",
        "1:1: Syntax error: Duplicate field name a in address type",
    );
    kind_error(
        "ByStr20 with contract (a : A) field b : B end",
        "1:1: Syntax error: Contract parameters in address types not yet supported",
    );
    kind_error("T with contract () end", "1:1: Syntax error: Invalid type");
}

#[test]
fn broken_address_types_are_reported() {
    kind_error(
        "ByStr20 with T",
        "1:15: Syntax error: expected `end`, `contract`, `library` or `_codehash`, but found `T`",
    );
    kind_error("ByStr20 with library", "1:21: Syntax error: expected `end`, but found the end of the text");
    kind_error("ByStr20 with contract a", "1:24: Syntax error: expected `field`, `(` or `end`, but found `a`");
    kind_error("ByStr20 with contract () a", "1:27: Syntax error: expected `field` or `end`, but found `a`");
    kind_error(
        "ByStr20 with contract field _a : A end",
        "1:31: Syntax error: expected the name of a field, but found `_a`",
    );
    kind_error(
        "ByStr20 with contract field a A end",
        "1:32: Syntax error: expected `:` and the type of the field, but found `A`",
    );
    kind_error("ByStr20 with contract field a : A; end", "1:35: Syntax error: expected `,` or `end`, but found `;`");
    kind_error(
        "ByStr20 with contract field a : A, end",
        "1:39: Syntax error: expected `field`, but found the keyword `end`",
    );
    kind_error("N.T with end", "1:9: Syntax error: expected the end of the type, but found the keyword `with`");
}

#[test]
fn expressions_of_every_form_are_read() {
    expression("x", "x");
    expression("_sender", "_sender");
    expression("N.x", "N.x");
    expression("f x N.y _z", "f x N.y _z");
    expression("N.f x", "N.f x");
    expression("let x = y in z", "let x = y in z");
    expression("let x : Uint32 = y in z", "let x : Uint32 = y in z");
    expression("let x = let y = z in y in x", "let x = let y = z in y in x");
    expression("fun (x : Uint32) => x", "fun (x : Uint32) => x");
    expression("tfun 'A => fun (x : 'A) => x", "tfun 'A => fun (x : 'A) => x");
    expression("@f Uint32 (List 'A)", "@f Uint32 (List 'A)");
    expression("@N.f Map Uint32 Bool", "@N.f (Map Uint32 Bool)");
    expression("builtin add x y", "builtin add x y");
    expression("builtin add {Uint32} x", "builtin add {Uint32} x");
    expression("builtin add ()", "builtin add ()");
    expression("builtin to_bystr20 x", "builtin to_bystr20 x");
    expression("None", "None");
    expression("Some {(List Bool)} x", "Some {(List Bool)} x");
    expression("N.Some x", "N.Some x");
    expression("0xAb.Some x", "0xab.Some x");
    expression("Nil {}", "Nil");
    expression("match x with end", "match x with end");
    expression("match x with | _ => y | z => z end", "match x with | _ => y | z => z end");
    expression(
        "match N.x with | A => match y with | B => z end | C => w end",
        "match N.x with | A => match y with | B => z end | C => w end",
    );
    expression("{ }", "{ }");
    expression("{ _tag : \"a\"; x : y; N.z : N.w }", "{ _tag : \"a\"; x : y; N.z : N.w }");
    expression(
        "{ a : Uint32 1; b : 0xff; c : Emp Uint32 Bool; d : _x }",
        "{ a : Uint32 1; b : 0xff; c : Emp Uint32 Bool; d : _x }",
    );
}

#[test]
fn literals_of_every_form_are_read() {
    let literal = |text: &str| {
        let module = parse_expression("e.scilexp", text.as_bytes()).unwrap_or_else(|failure| panic!("{failure}"));
        match &module.arena.get(module.root).kind {
            ExpressionKind::Literal(literal) => literal.clone(),
            other => panic!("not a literal: {other:?}"),
        }
    };
    let integer = |name: &str, digits: &str| {
        Literal::Integer(crate::types::Primitive::from_name(name).expect("a primitive type"), digits.into())
    };
    assert_eq!(literal("Uint32 4294967295"), integer("Uint32", "4294967295"));
    assert_eq!(literal("Int64 -9223372036854775808"), integer("Int64", "-9223372036854775808"));
    assert_eq!(literal("Int256 -0"), integer("Int256", "0"));
    assert_eq!(literal("Uint128 007"), integer("Uint128", "7"));
    assert_eq!(literal("BNum 012345678901234567890123456789"), Literal::BNum("12345678901234567890123456789".into()));
    assert_eq!(literal("String 5"), Literal::String("5".into()));
    assert_eq!(literal("\"a\\\\\\/\\b\\f\\n\\r\\t\\\"\""), Literal::String("a\\/\u{8}\u{c}\n\r\t\"".into()));
    assert_eq!(literal("0xFf00"), Literal::Bytes([0xff, 0].as_slice().into()));
    assert_eq!(literal("0x"), Literal::Bytes([].as_slice().into()));
    expression("Emp Uint32 Map BNum Bool", "Emp Uint32 (Map BNum Bool)");
}

#[test]
fn literals_that_do_not_fit_are_reported_at_their_type() {
    for (text, message) in [
        ("Uint32 4294967296", "Invalid Uint32 literal 4294967296"),
        ("Uint32 -1", "Invalid Uint32 literal -1"),
        ("Int32 -2147483649", "Invalid Int32 literal -2147483649"),
        ("Int32 002147483648", "Invalid Int32 literal 2147483648"),
        ("BNum -1", "Invalid BNum literal -1"),
        ("ByStr 5", "Invalid ByStr literal 5"),
        ("ByStr20 5", "Invalid ByStr20 literal 5"),
        ("Message 5", "Invalid Message literal 5"),
        ("Event 5", "Invalid Event literal 5"),
        ("Bool 5", "Invalid primitive type"),
    ] {
        expression_error(&format!("let x = {text} in x"), &format!("1:9: Syntax error: {message}"));
        expression_error(&format!("{{ a : {text} }}"), &format!("1:7: Syntax error: {message}"));
    }
}

#[test]
fn a_string_of_what_cannot_be_printed_is_reported_at_its_closing_quote() {
    expression_error("\n \"a\u{1}\"", "2:5: Syntax error: Invalid String literal a\u{1}");
    expression_error("\"a\u{7f}\"", "1:4: Syntax error: Invalid String literal a\u{7f}");
    expression_error("\"é\"", "1:4: Syntax error: Invalid String literal é");
    expression("\"a\tb\"", "\"a\\tb\"");
}

#[test]
fn a_line_break_in_a_string_is_not_counted() {
    expression_error("let x = \"a\nb\" in\n$", "2:2: Lexical error: Unexpected character: $");
    expression_error("let x = \"a\nb\" $", "1:16: Lexical error: Unexpected character: $");
}

#[test]
fn a_builtin_must_exist() {
    expression_error("let x = builtin foo a in x", "1:17: Syntax error: \"foo\" is not a builtin");
    expression_error("builtin to_bystrx ()", "1:9: Syntax error: \"to_bystrx\" is not a builtin");
    // The reference looks up the name at the end of the expression.
    expression_error(
        "builtin foo a 5",
        "1:16: Syntax error: expected the end of the expression, but found the number 5 (arguments are names: bind the value to a name first)",
    );
}

#[test]
fn broken_expressions_are_reported() {
    let check = |text: &str, expected: &str| expression_error(text, &format!("1:{expected}"));
    check("", "1: Syntax error: expected an expression, but found the end of the text");
    check("with", "5: Syntax error: expected an expression, but found the keyword `with`");
    check("x ;", "4: Syntax error: expected the end of the expression, but found `;`");
    check("let X = y in x", "6: Syntax error: expected the name to bind, but found `X`");
    check("let x y", "8: Syntax error: expected `:` or `=`, but found `y`");
    check("let x : A in y", "13: Syntax error: expected `=` and the value, but found the keyword `in`");
    check("let x = y", "10: Syntax error: expected `in` behind the value of the `let`, but found the end of the text");
    check("fun x", "6: Syntax error: expected `(` and the parameter of the function, but found `x`");
    check("fun (X", "7: Syntax error: expected the name of the parameter, but found `X`");
    check("fun (x)", "8: Syntax error: expected `:` and the type of the parameter, but found `)`");
    check("fun (x : A =>", "14: Syntax error: expected `)` behind the type of the parameter, but found `=>`");
    check("fun (x : A) x", "14: Syntax error: expected `=>` and the body of the function, but found `x`");
    check("tfun A", "7: Syntax error: expected a type variable such as 'A, but found `A`");
    check("tfun 'A x", "10: Syntax error: expected `=>` and the body of the type function, but found `x`");
    check(
        "@F",
        "3: Syntax error: expected `.` and a name, but found the end of the text (types, constructors and namespaces, which begin with a capital letter, are no values)",
    );
    check("@f", "3: Syntax error: expected a type, but found the end of the text");
    check("builtin", "8: Syntax error: expected the name of a builtin, but found the end of the text");
    check("builtin add", "12: Syntax error: expected an argument, or `()`, but found the end of the text");
    check("builtin add (x)", "15: Syntax error: expected `)`, since arguments stand without brackets, but found `x`");
    check("builtin add {x}", "15: Syntax error: expected a type or `}`, but found `x`");
    check("Some {x}", "8: Syntax error: expected a type or `}`, but found `x`");
    check("N.", "3: Syntax error: expected a name in the namespace, but found the end of the text");
    check("f N.", "5: Syntax error: expected a name in the namespace, but found the end of the text");
    check("0xab.x", "7: Syntax error: expected the name of a type or constructor in the namespace, but found `x`");
    check(
        "f (x)",
        "4: Syntax error: expected the end of the expression, but found `(` (arguments are names: bind the value to a name first)",
    );
    check(
        "match X with end",
        "13: Syntax error: expected `.` and a name, but found the keyword `with` (types, constructors and namespaces, which begin with a capital letter, are no values)",
    );
    check("match x |", "10: Syntax error: expected `with`, but found `|`");
    check("match x with A => b end", "15: Syntax error: expected `|` or `end`, but found `A`");
    check("match x with | 5 => b end", "17: Syntax error: expected a pattern, but found the number 5");
    check("match x with | A (b => c end", "23: Syntax error: expected `)` behind the pattern, but found `=>`");
    check("match x with | A b", "19: Syntax error: expected `=>` behind the pattern, but found the end of the text");
    check("match x with | A => b", "22: Syntax error: expected `|` or `end`, but found the end of the text");
    check("{ 5 }", "4: Syntax error: expected a label or `}`, but found the number 5");
    check("{ a }", "6: Syntax error: expected `:` and the value of the label, but found `}`");
    check("{ a : A }", "10: Syntax error: expected a number of this type, or `.` and a name, but found `}`");
    check("{ a : }", "8: Syntax error: expected a literal or a name, but found `}`");
    check("{ a : b, }", "9: Syntax error: expected `;` or `}`, but found `,`");
    check("{ a : b; }", "11: Syntax error: expected a label, but found `}`");
    check("{ a : f b }", "10: Syntax error: expected `;` or `}`, but found `b`");
}

#[test]
fn long_tokens_are_cut_in_reports() {
    let text = format!("x ;{}", "a".repeat(100));
    assert_eq!(expression_errors(&text), ["1:4: Syntax error: expected the end of the expression, but found `;`"]);
    let text = format!("let x {}", "a".repeat(100));
    let expected = format!("1:107: Syntax error: expected `:` or `=`, but found `{}…`", "a".repeat(40));
    assert_eq!(expression_errors(&text), [expected]);
}

#[test]
fn lexical_errors_come_when_the_token_is_looked_at() {
    expression_error("let x = 'a in x", "1:10: Lexical error: Unexpected character: '");
    expression_error("f \"a", "1:5: Lexical error: String is not terminated");
    expression_error("f (* a", "1:3: Lexical error: Comment unfinished");
    // A literal is complete before the parser reads the token after it.
    assert_eq!(expression_errors("Uint32 -1 #")[0], "1:1: Syntax error: Invalid Uint32 literal -1");
    // A lexical error comes first, because the arguments of the built-in function are not complete.
    assert_eq!(expression_errors("builtin foo a #")[0], "1:16: Lexical error: Unexpected character: #");
    assert_eq!(expression_errors("builtin foo () #")[0], "1:9: Syntax error: \"foo\" is not a builtin");
}

#[test]
fn patterns_of_every_form_are_read() {
    let pattern = |text: &str, expected: &str| {
        let text = format!("match x with | {text} => y end");
        expression(&text, &format!("match x with | {expected} => y end"));
    };
    pattern("_", "_");
    pattern("a", "a");
    pattern("A", "A");
    pattern("N.A", "N.A");
    pattern("0xAB.A b", "0xab.A b");
    pattern("Cons a (Cons (Some _) rest)", "Cons a (Cons (Some _) rest)");
    pattern("Pair A N.B", "Pair A N.B");
    pattern("Pair (A) (_)", "Pair A _");
}

#[test]
fn statements_of_every_form_are_read() {
    for text in [
        "",
        "accept",
        "x <- f",
        "x <- N.f",
        "x <- _balance",
        "f := x",
        "f := N.x",
        "x = y",
        "x = f y",
        "x <- f[k]",
        "x <- f[k][N.l]",
        "x <- exists f[k]",
        "f[k] := v",
        "f[k][l] := N.v",
        "delete f[k]",
        "delete f[k][_sender]",
        "x <- &BLOCKNUMBER",
        "x <- &CHAINID",
        "x <- &TIMESTAMP(b)",
        "x <- &a.f",
        "x <- &a.N.f",
        "x <- &a._f",
        "x <- &_sender._balance",
        "x <- &a.f[k]",
        "x <- &exists a.f[k][l]",
        "x <- &a as ByStr20 with end",
        "x <- &_sender as ByStr20 with end",
        "x <- &N.a as ByStr20 with library end",
        "send x",
        "event N.x",
        "throw",
        "throw x",
        "throw N.x",
        "match x with end",
        "match x with | A => end",
        "match x with | A => accept; send x | _ => match y with | B => throw end; accept end",
        "p",
        "P",
        "p x N.y _z",
        "P x",
        "forall l p",
        "forall N.l P",
        "_return := x",
        "accept; accept",
    ] {
        statements(text, text);
    }
    statements("x <- & BLOCKNUMBER(a, b)", "x <- &BLOCKNUMBER");
    statements("x <- &CHAINID(a)", "x <- &CHAINID");
}

#[test]
fn statements_that_mean_nothing_are_reported() {
    statement_error("accept; x <- &FOO", "1:9: Syntax error: Unknown blockchain fetch operation FOO");
    statement_error("x <- &FOO(a); accept", "1:1: Syntax error: Unknown blockchain fetch operation FOO");
    statement_error(
        "x <- &REPLICATE_CONTRACT(a, b)",
        "1:1: Syntax error: Unknown blockchain fetch operation REPLICATE_CONTRACT",
    );
    let takes_one = "1:1: Syntax error: TIMESTAMP takes a single blocknumber argument";
    statement_error("x <- &TIMESTAMP", takes_one);
    statement_error("x <- &TIMESTAMP(a, b)", takes_one);
    statement_error("accept; _x := y", "1:9: Syntax error: Illegal assignment to _x");
    statement_error("x <- &a.(b)", "1:7: Syntax error: Remote fetch of contract parameters not yet supported");
    // The parser reports the wrong token after the name, and not the unknown name.
    statement_error("x <- &FOO x", "1:12: Syntax error: expected `(`, `.`, or the end of the statement, but found `x`");
}

#[test]
fn broken_statements_are_reported() {
    let check = |text: &str, expected: &str| statement_error(text, &format!("1:{expected}"));
    check(
        "accept;",
        "8: Syntax error: expected a statement, but found the end of the text (no `;` stands behind the last statement)",
    );
    check("accept x", "9: Syntax error: expected `;` or `end`, but found `x`");
    check("accept +", "9: Lexical error: Unexpected character: +");
    check("x <-", "5: Syntax error: expected the name of a field, `exists` or `&`, but found the end of the text");
    check("x <- exists F", "14: Syntax error: expected the name of a field, but found `F`");
    check("x <- exists f", "14: Syntax error: expected `[` and a key, but found the end of the text");
    check("x <- f[", "8: Syntax error: expected the name of a key, but found the end of the text");
    check("x <- f[k", "9: Syntax error: expected `]` behind the key, but found the end of the text");
    check("f[k] x", "7: Syntax error: expected `[` or `:=`, but found `x`");
    check("f[k] :=", "8: Syntax error: expected the name of what is stored, but found the end of the text");
    check("f := 5", "7: Syntax error: expected the name of what is stored, but found the number 5");
    check("f : 5", "4: Syntax error: expected `=`, `<-`, `:=`, `[`, or the arguments of a procedure, but found `:`");
    check("delete F", "9: Syntax error: expected the name of a field, but found `F`");
    check("delete f", "9: Syntax error: expected `[` and a key, but found the end of the text");
    check("send", "5: Syntax error: expected the name of a list of messages, but found the end of the text");
    check("event 5", "8: Syntax error: expected the name of an event, but found the number 5");
    check(
        "throw 5",
        "8: Syntax error: expected `;` or `end`, but found the number 5 (arguments are names: bind the value to a name first)",
    );
    check("forall 5", "9: Syntax error: expected the name of a list, but found the number 5");
    check("forall l 5", "11: Syntax error: expected the name of a procedure, but found the number 5");
    check("_x = y", "5: Syntax error: expected `:=` and what the procedure returns, but found `=`");
    check("_return := 5", "13: Syntax error: expected the name of what is returned, but found the number 5");
    check(
        "x <- &",
        "7: Syntax error: expected a read of the chain, the name of an address, or `exists`, but found the end of the text",
    );
    check(
        "x <- &a",
        "8: Syntax error: expected `.` and a field, or `as` and an address type, but found the end of the text",
    );
    check(
        "x <- &_a",
        "9: Syntax error: expected `.` and a field, or `as` and an address type, but found the end of the text",
    );
    check("x <- &_a.b", "11: Syntax error: expected a field such as `_balance`, but found `b`");
    check("x <- &N.A", "10: Syntax error: expected a name in the namespace, but found `A`");
    check("x <- &N.a", "10: Syntax error: expected `as` and an address type, but found the end of the text");
    check("x <- &a as B", "13: Syntax error: expected `with`, but found the end of the text");
    check(
        "x <- &a as (ByStr20 with end)",
        "13: Syntax error: expected an address type such as `ByStr20 with end`, but found `(`",
    );
    check("x <- &exists A", "15: Syntax error: expected the name of an address, but found `A`");
    check("x <- &exists a", "15: Syntax error: expected `.` and the name of a field, but found the end of the text");
    check("x <- &exists a.F", "17: Syntax error: expected the name of a field, but found `F`");
    check("x <- &exists a.f", "17: Syntax error: expected `[` and a key, but found the end of the text");
    check("x <- &a.(5)", "11: Syntax error: expected the name of a parameter, but found the number 5");
    check("x <- &BLOCKNUMBER()", "20: Syntax error: expected the name of an argument, but found `)`");
    check("x <- &BLOCKNUMBER(a b)", "22: Syntax error: expected `,` or `)`, but found `b`");
    check("match x with accept", "20: Syntax error: expected `|` or `end`, but found the keyword `accept`");
    check(
        "match x with | A => accept",
        "27: Syntax error: expected a statement, `|` or `end`, but found the end of the text",
    );
}

#[test]
fn modules_of_every_form_are_read() {
    contract("scilla_version 0 contract C ()", "scilla_version 0 contract C ()");
    contract("scilla_version -007 import contract C ()", "scilla_version -7 contract C ()");
    contract(
        "scilla_version 0 import A B as N library L contract C () with x =>",
        "scilla_version 0 import A B as N library L contract C () with x =>",
    );
    contract(
        "scilla_version 0 contract C (a : A, b : B) field f : A = a field g : B = f b transition T (x : X) end
         procedure p () : List X accept end procedure P () end transition t () end",
        "scilla_version 0 contract C (a : A, b : B) field f : A = a field g : B = f b transition T (x : X) end \
         procedure p () : List X accept end procedure P () end transition t () end",
    );
    library(
        "scilla_version 0 import A library L let x = y let z : A = b type T type U = | A | B of C (List D) let w = v",
        "scilla_version 0 import A library L let x = y let z : A = b type T type U = | A | B of C (List D) let w = v",
    );
    library("scilla_version 1 library L", "scilla_version 1 library L");
}

#[test]
fn the_type_of_a_result_goes_as_far_as_it_can() {
    let module = parse_contract("c.scilla", b"scilla_version 0 contract C () procedure p () : List P end").unwrap();
    let component = &module.contract.components[0];
    assert_eq!(component.result.as_ref().unwrap().global().to_string(), "List (P)");
    assert!(component.body.is_empty());
}

#[test]
fn broken_modules_are_reported() {
    let check = |text: &str, expected: &str| {
        assert_eq!(contract_errors(text)[0], format!("1:{expected}"), "{text}");
    };
    check("", "1: Syntax error: expected `scilla_version`, but found the end of the text");
    check("scilla_version x", "17: Syntax error: expected the number of the version, but found `x`");
    check(
        "scilla_version 0",
        "17: Syntax error: expected `import`, `library` or `contract`, but found the end of the text",
    );
    check(
        "scilla_version 0 import a",
        "26: Syntax error: expected the name of a library, `library` or `contract`, but found `a`",
    );
    check(
        "scilla_version 0 import A a",
        "28: Syntax error: expected the name of a library, `as`, `library` or `contract`, but found `a`",
    );
    check(
        "scilla_version 0 import A as B as C",
        "34: Syntax error: expected the name of a library, `library` or `contract`, but found the keyword `as`",
    );
    check(
        "scilla_version 0 import A as b",
        "31: Syntax error: expected a namespace, which begins with a capital letter, but found `b`",
    );
    check(
        "scilla_version 0 library l",
        "27: Syntax error: expected the name of the library, which begins with a capital letter, but found `l`",
    );
    check(
        "scilla_version 0 library L",
        "27: Syntax error: expected `let`, `type` or `contract`, but found the end of the text",
    );
    check(
        "scilla_version 0 contract c",
        "28: Syntax error: expected the name of the contract, which begins with a capital letter, but found `c`",
    );
    check(
        "scilla_version 0 contract C",
        "28: Syntax error: expected `(` and the parameters, but found the end of the text",
    );
    check("scilla_version 0 contract C (A", "31: Syntax error: expected the name of a parameter or `)`, but found `A`");
    check(
        "scilla_version 0 contract C (a,",
        "32: Syntax error: expected `:` and the type of the parameter, but found `,`",
    );
    check("scilla_version 0 contract C (a : A b", "37: Syntax error: expected `,` or `)`, but found `b`");
    check("scilla_version 0 contract C (a : A,)", "37: Syntax error: expected the name of a parameter, but found `)`");
    check(
        "scilla_version 0 contract C () with x field",
        "44: Syntax error: expected `=>` behind the constraint, but found the keyword `field`",
    );
    check(
        "scilla_version 0 contract C () x",
        "33: Syntax error: expected `with`, `field`, `transition` or `procedure`, but found `x`",
    );
    check(
        "scilla_version 0 contract C () field F",
        "39: Syntax error: expected the name of the field, which begins with a small letter, but found `F`",
    );
    check(
        "scilla_version 0 contract C () field f =",
        "41: Syntax error: expected `:` and the type of the field, but found `=`",
    );
    check(
        "scilla_version 0 contract C () field f : A :=",
        "46: Syntax error: expected `=` and the first value of the field, but found `:=`",
    );
    check(
        "scilla_version 0 contract C () field f : A = a;",
        "48: Syntax error: expected `field`, `transition` or `procedure`, but found `;`",
    );
    check(
        "scilla_version 0 contract C () field f : A = a =>",
        "50: Syntax error: expected the end of the expression, but found `=>`",
    );
    check("scilla_version 0 contract C () transition () end", "44: Syntax error: expected a name, but found `(`");
    check(
        "scilla_version 0 contract C () transition T end",
        "48: Syntax error: expected `(` and the parameters, but found the keyword `end`",
    );
    check(
        "scilla_version 0 contract C () transition T () : A end",
        "49: Syntax error: expected a statement or `end`, but found `:`",
    );
    check(
        "scilla_version 0 contract C () transition T () accept",
        "54: Syntax error: expected `end`, but found the end of the text",
    );
    check(
        "scilla_version 0 contract C () transition T () end;",
        "52: Syntax error: expected `transition`, `procedure` or the end of the text, but found `;` (no `;` stands behind `end`)",
    );
    check(
        "scilla_version 0 contract C () transition T () end field",
        "57: Syntax error: expected `transition`, `procedure` or the end of the text, but found the keyword `field` (fields stand in front of all transitions and procedures)",
    );
}

#[test]
fn broken_libraries_are_reported() {
    let check = |text: &str, expected: &str| {
        assert_eq!(library_errors(text)[0], format!("1:{expected}"), "{text}");
    };
    check(
        "scilla_version 0 contract",
        "26: Syntax error: expected `import` or `library`, but found the keyword `contract`",
    );
    check(
        "scilla_version 0 import A contract",
        "35: Syntax error: expected `library`, but found the keyword `contract`",
    );
    check(
        "scilla_version 0 library L contract",
        "36: Syntax error: expected `let`, `type` or the end of the text, but found the keyword `contract`",
    );
    check(
        "scilla_version 0 library L let X",
        "33: Syntax error: expected the name of the value, which begins with a small letter, but found `X`",
    );
    check("scilla_version 0 library L let x", "33: Syntax error: expected `:` or `=`, but found the end of the text");
    check(
        "scilla_version 0 library L let x : A",
        "37: Syntax error: expected `=` and the value, but found the end of the text",
    );
    check(
        "scilla_version 0 library L let x = y in z",
        "40: Syntax error: expected the next entry of the library, but found the keyword `in`",
    );
    check(
        "scilla_version 0 library L type t",
        "34: Syntax error: expected the name of the type, which begins with a capital letter, but found `t`",
    );
    check(
        "scilla_version 0 library L type T x",
        "36: Syntax error: expected `=` and the constructors of the type, but found `x`",
    );
    check("scilla_version 0 library L type T = A", "38: Syntax error: expected `|` and a constructor, but found `A`");
    check(
        "scilla_version 0 library L type T = | a",
        "40: Syntax error: expected the name of a constructor, but found `a`",
    );
    check(
        "scilla_version 0 library L type T = | A B",
        "42: Syntax error: expected `of`, `|`, or the next entry of the library, but found `B`",
    );
    check(
        "scilla_version 0 library L type T = | A of",
        "43: Syntax error: expected a type, but found the end of the text",
    );
    check(
        "scilla_version 0 library L type T = | A of B x",
        "47: Syntax error: expected a type, `|`, or the next entry of the library, but found `x`",
    );
}

#[test]
fn nodes_stand_where_reports_expect_them() {
    let text = "scilla_version 0
import A B as N
library L
let v : T = x
type U =
  | C of D
contract K (p : P)
field f : F = f a
transition T (q : Q)
  x = builtin add a b;
  m[k] := v;
  y <- & a as ByStr20 with end;
  _return := r;
  call a
end";
    let module = parse_contract("c.scilla", text.as_bytes()).expect("it parses");
    let place = |span: Span| {
        let place = module.source.start(span);
        (place.line, place.column)
    };
    assert_eq!(place(module.imports[0].library.span), (2, 8));
    assert_eq!(place(module.imports[1].library.span), (2, 10));
    assert_eq!(place(module.imports[1].namespace.as_ref().unwrap().span), (2, 15));
    let library = module.library.as_ref().unwrap();
    assert_eq!(place(library.name.span), (3, 1), "the keyword");
    assert_eq!(place(library.name_span), (3, 9));
    let LibraryEntry::Value { name, annotation: Some(Type::Adt(ty, _)), body } = &library.entries[0] else { panic!() };
    assert_eq!((place(name.span), place(ty.span)), ((4, 5), (4, 9)));
    assert_eq!(place(module.arena.get(*body).span), (4, 13));
    let LibraryEntry::Type { name, constructors } = &library.entries[1] else { panic!() };
    assert_eq!(place(name.span), (5, 1), "the keyword");
    assert_eq!(place(constructors[0].name.span), (6, 3), "the bar");
    assert_eq!(place(constructors[0].name_span), (6, 5));
    assert_eq!(place(module.contract.name.span), (7, 10));
    assert_eq!(place(module.contract.parameters[0].name.span), (7, 13));
    assert_eq!(place(module.arena.get(module.contract.constraint).span), (0, 0));
    assert_eq!(place(module.contract.fields[0].name.span), (8, 7));
    let component = &module.contract.components[0];
    assert_eq!((place(component.span), place(component.name.span)), ((9, 1), (9, 12)));
    assert_eq!(component.span.end as usize, text.len());
    let starts: Vec<_> = component.body.iter().map(|statement| place(statement.span)).collect();
    assert_eq!(starts, [(10, 3), (11, 3), (12, 3), (13, 3), (14, 3)]);
    let StatementKind::Bind { to, value } = &component.body[0].kind else { panic!() };
    assert_eq!((place(to.span), place(module.arena.get(*value).span)), ((10, 3), (10, 7)));
    let ExpressionKind::Builtin { name, arguments, .. } = &module.arena.get(*value).kind else { panic!() };
    assert_eq!((place(name.span), place(arguments[1].span)), ((10, 15), (10, 21)));
    let StatementKind::MapPut { keys, value, .. } = &component.body[1].kind else { panic!() };
    assert_eq!((place(keys[0].span), place(value.span)), ((11, 5), (11, 11)));
    let StatementKind::Cast { address, kind_span, .. } = &component.body[2].kind else { panic!() };
    assert_eq!((place(address.span), place(*kind_span)), ((12, 10), (12, 15)));
    let StatementKind::Return(value) = &component.body[3].kind else { panic!() };
    assert_eq!(place(value.span), (13, 3), "the keyword");
    let StatementKind::Call { procedure, .. } = &component.body[4].kind else { panic!() };
    assert_eq!(place(procedure.span), (14, 3));
}

#[test]
fn patterns_and_clauses_have_places() {
    let module = parse_expression("e.scilexp", b"match x with | A (b) => c end").expect("it parses");
    let ExpressionKind::Match { scrutinee, clauses } = &module.arena.get(module.root).kind else { panic!() };
    assert_eq!(scrutinee.span.start, 6);
    assert_eq!(clauses[0].pattern.span.start, 15);
    let PatternKind::Constructor(constructor, parts) = &clauses[0].pattern.kind else { panic!() };
    assert_eq!((constructor.span.start, parts[0].span.start), (15, 18));
    assert_eq!(module.arena.get(module.root).span, Span { start: 0, end: 29 });
}

#[test]
fn a_binding_of_a_procedure_with_result_is_a_call() {
    let module = parse_contract(
        "c.scilla",
        b"scilla_version 0 contract C ()
          transition T () x = p; x = p a; x = q; x = N.p; match a with | A => x = p end end
          procedure p () : Bool _return := a end
          procedure q () accept end",
    )
    .expect("it parses");
    let body = &module.contract.components[0].body;
    let is_call = |index: usize| matches!(&body[index].kind, StatementKind::Call { to: Some(_), .. });
    assert_eq!([is_call(0), is_call(1), is_call(2), is_call(3)], [true, true, false, false]);
    let StatementKind::Match { clauses, .. } = &body[4].kind else { panic!() };
    assert!(matches!(clauses[0].body[0].kind, StatementKind::Bind { .. }), "not within a match, as in the reference");
    let StatementKind::Call { procedure, arguments, .. } = &body[1].kind else { panic!() };
    assert_eq!((&**procedure.name.base(), arguments.len()), ("p", 1));
}

#[test]
fn several_errors_are_reported_at_once() {
    let text = "scilla_version 0
library L
let a = fun x => x
let b = let c = d
let e = builtin foo x
type T = | | X
let f = Uint32 -1
contract C (x)
field f : Map = x
field g : Uint32 = g
transition A ()
  x = f (y);
  x <- 5;
  match x with
  | A => z <- &NONE; accept accept
  | B (=> accept
  end;
  y = match z with | A => b end;
  w = match z with | A => ! end;
  accept;
end
transition B (x
end
procedure c ()
  y = #
end";
    let places: Vec<_> =
        contract_errors(text).iter().map(|error| error.split(": ").next().unwrap().to_owned()).collect();
    assert_eq!(
        places,
        [
            "3:14", "5:4", "5:17", "6:13", "7:9", "8:15", "9:16", "12:10", "13:9", "15:10", "15:35", "16:10", "19:28",
            "21:4", "23:4", "25:8"
        ]
    );
}

#[test]
fn errors_behind_the_first_do_not_multiply() {
    let one = |text: &str| assert_eq!(contract_errors(text).len(), 1, "{text}: {:?}", contract_errors(text));
    one("scilla_version 0 library L let x = f (y) type T contract C () transition T () accept end");
    one("scilla_version 0 library L\nlet x =\n  let y = in y\nlet z = x contract C ()");
    one(
        "scilla_version 0 library L let x = fun (a : ByStr20 with contract field f : A, field g : B end => a let y = x contract C ()",
    );
    one("scilla_version 0 contract C () field f : A = g h ( field g : A = h transition T () end");
    one("scilla_version 0 contract C () transition T () match x with | A => 5 | B => accept end; accept end");
    one("scilla_version 0 contract C () transition T () x = match y with | 5 => a | B => b end; accept end");
    one("scilla_version 0 contract C () transition T () x <- & a as ByStr20 with contract field 5 : A end; accept end");
    one("scilla_version 0 contract C () transition T (a b) accept end transition U () end");
    one("scilla_version 0 contract C () transition T () accept; transition U () end");
    one("scilla_version 0 contract C () transition T () x := # ; accept end");
    one("scilla_version 0 contract C () transition T () end end transition U () end");
}

#[test]
fn errors_have_an_end() {
    let text = "5; ".repeat(100_000);
    assert!(statement_errors(&format!("accept; {text}")).len() <= MAX_ERRORS);
    let text = "x = 'a; ".repeat(1000);
    assert_eq!(statement_errors(&text).len(), MAX_ERRORS);
    let text = format!("accept; x = \"{}\"", r"\x".repeat(100_000));
    assert_eq!(statement_errors(&text).len(), MAX_ERRORS);
}

#[test]
fn error_of_a_text_of_strange_bytes_is_short() {
    let entry = contract_errors_of_bytes(&vec![0xbf; 100_000]);
    assert_eq!(entry.message, "Lexical error: Unexpected character: \u{fffd}\u{fffd}\u{fffd}\u{fffd}");
}

#[test]
fn depth_is_bounded_where_it_must_be() {
    let within = MAX_NESTING - 1;
    let nested = |open: &str, core: &str, close: &str, depth: usize| {
        format!("{}{core}{}", open.repeat(depth), close.repeat(depth))
    };
    let message = "Syntax error: nested more than 256 levels deep";
    for (open, core, close) in [("let x = ", "y", " in x"), ("match x with | _ => ", "y", " end")] {
        assert!(parse_expression("e", nested(open, core, close, within).as_bytes()).is_ok());
        let errors = expression_errors(&nested(open, core, close, 100_000));
        assert!(errors[0].ends_with(message), "{errors:?}");
    }
    for (open, core, close) in [("(", "A", ")"), ("List (", "A", ")"), ("A -> ", "A", ""), ("forall 'A. ", "A", "")] {
        assert!(parse_type(&nested(open, core, close, within)).is_ok(), "{open}");
        let failure = parse_type(&nested(open, core, close, 100_000)).expect_err("it is too deep");
        assert_eq!(failure.entries()[0].message, message, "{open}");
    }
    for (open, close) in [("Map Uint32 ", ""), ("Map Uint32 (", ")"), ("ByStr20 with contract field f : ", " end")] {
        let failure = parse_type(&nested(open, "A", close, 100_000)).expect_err("it is too deep");
        assert_eq!(failure.entries()[0].message, message, "{open}");
    }
    let pattern = nested("A (", "_", ")", 100_000);
    assert!(expression_errors(&format!("match x with | {pattern} => y end"))[0].ends_with(message));
    let statement = nested("match x with | _ => ", "accept", " end", 100_000);
    assert!(statement_errors(&statement)[0].ends_with(message));
    let statement = nested("match x with | _ => ", "accept", " end", within);
    assert!(parse_statements("s", statement.as_bytes()).is_ok());
}

#[test]
fn chains_may_be_long() {
    for link in ["let x = y in ", "fun (x : A) => ", "tfun 'A => ", "let x = y in fun (x : A) => tfun 'A => "] {
        let text = link.repeat(30_000) + "x";
        assert!(parse_expression("e", text.as_bytes()).is_ok(), "{link}");
    }
}

#[test]
fn large_and_hostile_texts_end_in_an_error() {
    let size = 64 << 10;
    for byte in [b'\0', b'(', b'"', b'a', b'0', b'\n', b'|', 0xff, b'\\', b'\''] {
        let text = vec![byte; size];
        assert!(contract_errors_of_bytes(&text).start.line > 0, "{byte}");
    }
    let text = "(*".repeat(size / 2);
    assert_eq!(contract_errors_of_bytes(text.as_bytes()).message, "Lexical error: Comment unfinished");
    let text = format!("scilla_version 0 contract C () transition T () {}", "match ".repeat(size / 6));
    assert!(parse_contract("c", text.as_bytes()).is_err());
    let text = format!("scilla_version 0 library L {}", "let x = ".repeat(size / 8));
    assert!(parse_library("c", text.as_bytes()).is_err());
}

fn contract_errors_of_bytes(text: &[u8]) -> Entry {
    let failure = parse_contract("c.scilla", text).expect_err("it is no contract");
    failure.into_entries().remove(0)
}
