//! Tests of the printer and the formatter.
//!
//! A small grammar generates texts from random bytes, with blanks and comments between tokens. So the parser, the
//! printer and the formatter also get unusual texts.

use proptest::prelude::*;

use super::*;
use crate::syntax::{parse_contract, parse_expression, parse_library};

/// Returns the tree of a contract without source positions.
fn tree(text: &str) -> String {
    let module = parse_contract("c.scilla", text.as_bytes()).unwrap_or_else(|failure| panic!("{failure}\n{text}"));
    let ContractModule { source: _, version, imports, library, contract, arena } = module;
    without_spans(&format!("{version:?} {imports:?} {library:?} {contract:?} {arena:?}"))
}

fn without_spans(debug: &str) -> String {
    let mut rest = debug;
    let mut kept = String::new();
    while let Some((before, after)) = rest.split_once("Span {") {
        kept.push_str(before);
        rest = after.split_once('}').expect("a span ends").1;
    }
    kept + rest
}

/// Returns the comments of a text, in order.
fn comments(text: &str) -> Vec<&str> {
    text.match_indices("(*").map(|(at, _)| &text[at..at + text[at..].find("*)").expect("comments end") + 2]).collect()
}

/// Generates texts from random bytes. If no bytes are left, the writer chooses the shortest texts.
struct Writer<'a> {
    choices: std::slice::Iter<'a, u8>,
    text: String,
    /// Whether the text has comments and unusual blanks.
    messy: bool,
    comments: usize,
}

impl Writer<'_> {
    fn choose(&mut self, among: usize) -> usize {
        usize::from(*self.choices.next().unwrap_or(&0)) % among
    }

    /// Writes the tokens of a text, with blanks between them.
    fn put(&mut self, tokens: &str) {
        for token in tokens.split(' ') {
            self.text.push_str(token);
            self.blank();
        }
    }

    fn blank(&mut self) {
        self.text.push(' ');
        if !self.messy {
            return;
        }
        for _ in 0..self.choose(6).saturating_sub(3) {
            match self.choose(8) {
                0 | 1 => self.text.push('\n'),
                2 => self.text.push_str("\n\n"),
                3 => self.text.push_str("\r\n"),
                4 => self.text.push('\t'),
                5 => {
                    self.comments += 1;
                    let comment = format!("(* {} *)", self.comments);
                    self.text.push_str(&comment);
                }
                6 => {
                    self.comments += 1;
                    let comment = format!("(* {}\n   of two lines *)\n", self.comments);
                    self.text.push_str(&comment);
                }
                _ => {
                    self.comments += 1;
                    let comment = format!("\n  (* {} *)\n", self.comments);
                    self.text.push_str(&comment);
                }
            }
        }
    }

    fn one_of(&mut self, texts: &[&str]) {
        let text = texts[self.choose(texts.len())];
        self.put(text);
    }

    fn some(&mut self, least: usize, mut write: impl FnMut(&mut Self)) {
        for _ in 0..least + self.choose(4) {
            write(self);
        }
    }

    fn list(&mut self, separator: &str, mut write: impl FnMut(&mut Self)) {
        for index in 0..self.choose(4) {
            if index > 0 {
                self.put(separator);
            }
            write(self);
        }
    }

    fn name(&mut self) {
        self.one_of(&["x", "y", "a_rather_long_name_for_a_value", "_sender", "Ns . x"]);
    }

    fn ty(&mut self, depth: usize) {
        match self.choose(if depth == 0 { 4 } else { 10 }) {
            0 => self.one_of(&["Uint128", "String", "ByStr20", "Message"]),
            1 => self.one_of(&["Bool", "Ns . T", "0xAb . T"]),
            2 => self.put("'A"),
            3 => self.one_of(&["ByStr20 with end", "ByStr20 with _codehash end", "ByStr20 with library end"]),
            4 => {
                self.put("List (");
                self.ty(depth - 1);
                self.put(")");
            }
            5 => {
                self.put("Map");
                self.one_of(&["ByStr20", "( Uint32 )", "( ByStr20 with end )"]);
                self.map_value(depth - 1);
            }
            6 => {
                self.put("( (");
                self.ty(depth - 1);
                self.put(") ->");
                self.ty(depth - 1);
                self.put(")");
            }
            7 => {
                self.put("( forall 'B .");
                self.ty(depth - 1);
                self.put(")");
            }
            8 => {
                self.put("ByStr20 with contract");
                if self.choose(2) == 1 {
                    self.put("field f :");
                    self.ty(depth - 1);
                    self.put(", field admin_of_the_contract :");
                    self.ty(depth - 1);
                }
                self.put("end");
            }
            _ => {
                self.put("Pair (");
                self.ty(depth - 1);
                self.put(") Uint32");
            }
        }
    }

    fn map_value(&mut self, depth: usize) {
        match self.choose(if depth == 0 { 1 } else { 4 }) {
            0 => self.one_of(&["Uint128", "Bool", "ByStr20 with end", "List Bool", "( Option ( List Uint32 ) )"]),
            1 => {
                self.put("Map ByStr20");
                self.map_value(depth - 1);
            }
            2 => {
                self.put("( Pair Bool (");
                self.map_value(depth - 1);
                self.put(") )");
            }
            _ => {
                self.put("(");
                self.map_value(depth - 1);
                self.put(")");
            }
        }
    }

    fn argument_kind(&mut self) {
        self.put("(");
        self.ty(2);
        self.put(")");
    }

    fn literal(&mut self) {
        self.one_of(&[
            "Uint32 7",
            "Int128 -0012",
            "BNum 5",
            "0xAB0c",
            "0x",
            "\"a\\\"b\\\\c\\n\\/\"",
            "\"\"",
            "\"a\tb\"",
            "String 12",
        ]);
    }

    fn empty_map(&mut self) {
        self.put("Emp Uint32");
        self.map_value(2);
    }

    fn expression(&mut self, depth: usize) {
        match self.choose(if depth == 0 { 9 } else { 14 }) {
            0 | 1 => self.name(),
            2 => {
                self.name();
                self.some(1, Self::name);
            }
            3 => self.literal(),
            4 => {
                self.one_of(&["Nil", "Ns . Cons", "0xab . Some"]);
                if self.choose(2) == 1 {
                    self.put("{");
                    self.some(0, Self::argument_kind);
                    self.put("}");
                }
                self.some(0, Self::name);
            }
            5 => {
                self.put("{");
                self.list(";", |writer| {
                    writer.name();
                    writer.put(":");
                    match writer.choose(3) {
                        0 => writer.name(),
                        1 => writer.literal(),
                        _ => writer.empty_map(),
                    }
                });
                self.put("}");
            }
            6 => {
                self.put("@");
                self.name();
                self.some(1, Self::argument_kind);
            }
            7 => {
                self.put("builtin add");
                if self.choose(2) == 1 {
                    self.put("( )");
                } else {
                    self.some(1, Self::name);
                }
            }
            8 => self.empty_map(),
            9 | 10 => {
                self.put("let x");
                if self.choose(3) == 1 {
                    self.put(":");
                    self.ty(2);
                }
                self.put("=");
                self.expression(depth - 1);
                self.put("in");
                self.expression(depth - 1);
            }
            11 => {
                self.put("fun ( a :");
                self.ty(2);
                self.put(") =>");
                self.expression(depth - 1);
            }
            12 => {
                self.put("tfun 'A =>");
                self.expression(depth - 1);
            }
            _ => {
                self.put("match");
                self.name();
                self.put("with");
                self.some(0, |writer| {
                    writer.put("|");
                    writer.pattern(2);
                    writer.put("=>");
                    writer.expression(depth - 1);
                });
                self.put("end");
            }
        }
    }

    fn pattern(&mut self, depth: usize) {
        match self.choose(if depth == 0 { 3 } else { 4 }) {
            0 => self.put("_"),
            1 => self.put("z"),
            2 => self.one_of(&["Nil", "Ns . Nil", "0xab . Nil"]),
            _ => {
                self.put("Pair (");
                self.pattern(depth - 1);
                self.put(") _ (");
                self.pattern(depth - 1);
                self.put(")");
            }
        }
    }

    fn keys(&mut self) {
        self.some(1, |writer| {
            writer.put("[");
            writer.name();
            writer.put("]");
        });
    }

    fn statements(&mut self, depth: usize) {
        self.list(";", |writer| writer.statement(depth));
    }

    fn statement(&mut self, depth: usize) {
        match self.choose(if depth == 0 { 16 } else { 17 }) {
            0 => self.one_of(&["accept", "throw", "x <- f", "f := x", "x <- Ns . f", "p", "P x y"]),
            1..=3 => {
                self.put("x =");
                self.expression(2);
            }
            4 => {
                self.put("x <- f");
                self.keys();
            }
            5 => {
                self.put("x <- exists f");
                self.keys();
            }
            6 => {
                self.put("f");
                self.keys();
                self.put(":=");
                self.name();
            }
            7 => {
                self.put("delete f");
                self.keys();
            }
            8 => self.one_of(&["x <- & BLOCKNUMBER", "x <- & CHAINID", "x <- & TIMESTAMP ( y )", "x <- & a . f"]),
            9 => self.one_of(&["x <- & _sender . _balance", "x <- & a . Ns . f", "_return := x"]),
            10 => {
                self.put("x <- & a . f");
                self.keys();
            }
            11 => {
                self.put("x <- & exists a . f");
                self.keys();
            }
            12 => {
                self.put("x <- &");
                self.name();
                self.put("as ByStr20 with contract field f :");
                self.ty(2);
                self.put("end");
            }
            13 => {
                self.one_of(&["send", "event", "throw"]);
                self.name();
            }
            14 => {
                self.put("forall");
                self.name();
                self.one_of(&["p", "P"]);
            }
            15 => {
                self.put("p");
                self.some(0, Self::name);
            }
            _ => {
                self.put("match");
                self.name();
                self.put("with");
                self.some(0, |writer| {
                    writer.put("|");
                    writer.pattern(2);
                    writer.put("=>");
                    writer.statements(depth - 1);
                });
                self.put("end");
            }
        }
    }

    fn library(&mut self) {
        self.put("library L");
        self.some(0, |writer| {
            if writer.choose(3) > 0 {
                writer.put("let v");
                if writer.choose(2) == 1 {
                    writer.put(":");
                    writer.ty(2);
                }
                writer.put("=");
                writer.expression(3);
                return;
            }
            writer.put("type T");
            if writer.choose(2) == 1 {
                writer.put("=");
                writer.some(1, |writer| {
                    writer.put("| C");
                    if writer.choose(2) == 1 {
                        writer.put("of");
                        writer.some(1, Self::argument_kind);
                    }
                });
            }
        });
    }

    fn parameters(&mut self) {
        self.put("(");
        self.list(",", |writer| {
            writer.put("a_parameter :");
            writer.ty(2);
        });
        self.put(")");
    }

    fn head(&mut self) {
        self.blank();
        self.put("scilla_version 0");
        self.one_of(&["import", "import A B as N", "import ListUtils"]);
    }

    fn contract(&mut self) {
        self.head();
        if self.choose(2) == 1 {
            self.library();
        }
        self.put("contract C");
        self.parameters();
        if self.choose(2) == 1 {
            self.put("with");
            self.expression(2);
            self.put("=>");
        }
        self.some(0, |writer| {
            writer.put("field f :");
            writer.ty(2);
            writer.put("=");
            writer.expression(1);
        });
        self.some(0, |writer| {
            let returns = writer.choose(3);
            writer.one_of(&[["transition T", "procedure p"][returns.min(1)]]);
            writer.parameters();
            if returns == 2 {
                writer.put(": (");
                writer.ty(1);
                writer.put(")");
            }
            writer.statements(2);
            writer.put("end");
        });
    }
}

fn write<'a>(choices: &'a [u8], messy: bool, what: impl FnOnce(&mut Writer<'a>)) -> String {
    let mut writer = Writer { choices: choices.iter(), text: String::new(), messy, comments: 0 };
    what(&mut writer);
    writer.text
}

proptest! {
    #[test]
    fn printed_source_parses_to_the_same_tree(choices in prop::collection::vec(any::<u8>(), 0..600)) {
        let text = write(&choices, false, Writer::contract);
        let module = parse_contract("c.scilla", text.as_bytes()).map_err(|failure| failure.to_string());
        let printed = print_contract(&module.expect(&text));
        prop_assert_eq!(tree(&printed), tree(&text), "{}", printed);
    }

    #[test]
    fn the_formatter_keeps_meaning_and_comments_and_settles_at_once(
        choices in prop::collection::vec(any::<u8>(), 0..1200),
    ) {
        let text = write(&choices, true, Writer::contract);
        let once = format_contract("c.scilla", text.as_bytes()).map_err(|failure| failure.to_string()).expect(&text);
        prop_assert_eq!(tree(&once), tree(&text), "{}", once);
        prop_assert_eq!(comments(&once), comments(&text), "{}\n=====\n{}", text, once);
        let twice = format_contract("c.scilla", once.as_bytes()).map_err(|failure| failure.to_string()).expect(&once);
        prop_assert_eq!(&twice, &once, "{}", text);
        prop_assert!(once.lines().all(|line| line.trim_end_matches(' ') == line || line.contains("(*")), "{}", once);
    }

    #[test]
    fn libraries_and_expressions_are_formatted_alike(choices in prop::collection::vec(any::<u8>(), 0..600)) {
        let text = write(&choices, true, |writer| {
            writer.head();
            writer.library();
        });
        let once = format_library("l.scillib", text.as_bytes()).map_err(|failure| failure.to_string()).expect(&text);
        prop_assert_eq!(format_library("l.scillib", once.as_bytes()).ok(), Some(once.clone()), "{}", text);
        prop_assert_eq!(comments(&once), comments(&text));
        let text = write(&choices, true, |writer| writer.expression(4));
        let once = format_expression("e.scilexp", text.as_bytes()).map_err(|failure| failure.to_string()).expect(&text);
        prop_assert_eq!(format_expression("e.scilexp", once.as_bytes()).ok(), Some(once.clone()), "{}", text);
        prop_assert_eq!(comments(&once), comments(&text));
    }
}

/// Checks the formatted text of a contract. The formatter must not change a formatted text.
fn check(text: &str, expected: &str) {
    let formatted = format_contract("c.scilla", text.as_bytes()).unwrap_or_else(|failure| panic!("{failure}\n{text}"));
    assert_eq!(formatted, expected);
    assert_eq!(format_contract("c.scilla", expected.as_bytes()).expect("it parses"), expected);
}

#[test]
fn a_contract_gets_one_style() {
    check(
        "scilla_version 0 import BoolUtils ListUtils as L library Shop
         let one = Uint32 1 let two : Uint32 = Uint32 2
         let f = tfun 'A => fun (x : 'A) => fun (y : Option (Map ByStr20 Uint32)) => let z = g x in match z with
         | Some (Pair a _) => let q = a in q | None => let w = match a with end in x end
         type Item = | Book of ByStr20 (List Uint32) | Nothing
         contract Shop (owner : ByStr20, price : Uint128) with builtin lt price one => field stock : Map ByStr20
         (Map Uint32 String) = Emp ByStr20 (Map Uint32 String) field open : Bool = True
         transition Buy (item : String) x <- stock[_sender][item]; match x with | Some _ => accept; msg = { _tag : \"\";
         _recipient : owner; _amount : price; a_label_of_some_length : item }; send msgs | None => end; p end
         procedure p () : Uint32 _return := one end",
        "scilla_version 0

import BoolUtils ListUtils as L

library Shop

let one = Uint32 1
let two : Uint32 = Uint32 2

let f =
  tfun 'A =>
  fun (x : 'A) =>
  fun (y : Option (Map ByStr20 Uint32)) =>
    let z = g x in
    match z with
    | Some (Pair a _) =>
      let q = a in
      q
    | None =>
      let w =
        match a with
        end
      in
      x
    end

type Item =
  | Book of ByStr20 (List Uint32)
  | Nothing

contract Shop (owner : ByStr20, price : Uint128)
with
  builtin lt price one
=>

field stock : Map ByStr20 (Map Uint32 String) = Emp ByStr20 (Map Uint32 String)
field open : Bool = True

transition Buy (item : String)
  x <- stock[_sender][item];
  match x with
  | Some _ =>
    accept;
    msg =
      {
        _tag : \"\";
        _recipient : owner;
        _amount : price;
        a_label_of_some_length : item
      };
    send msgs
  | None =>
  end;
  p
end

procedure p () : Uint32
  _return := one
end
",
    );
}

#[test]
fn comments_stay_where_they_stood() {
    check(
        "(* head *)\n\nscilla_version 0 (* zero *)\n(* lib *)\nlibrary L\n\n\n(* apart *)\n\n(* one *)\nlet one = Uint32 1 (* 1 *)
         let two = Uint32 (* inside *) 2\ncontract C (a : Uint32, (* first *)\nb : Uint32)
         (* field *) field f : Uint32 = a\ntransition T () (* begins *)\n\naccept; (* done *)\n\n(* own *)
         match a with\n(* clause *)\n| A => (* none *)\nend\n(* last *)\nend (* T *) (* of C *)\n(* end *)",
        "(* head *)

scilla_version 0 (* zero *)

(* lib *)
library L

(* apart *)

(* one *)
let one = Uint32 1 (* 1 *)
let two = (* inside *) Uint32 2

contract C (
  a : Uint32, (* first *)
  b : Uint32
)

(* field *) field f : Uint32 = a

transition T () (* begins *)
  accept; (* done *)

  (* own *)
  match a with
  (* clause *)
  | A => (* none *)
  end
  (* last *)
end (* T *) (* of C *)
(* end *)
",
    );
}

#[test]
fn the_type_of_a_result_does_not_swallow_what_follows() {
    check(
        "scilla_version 0 contract C () procedure p () : (Bool) P end procedure q () : (Bool) p end",
        "scilla_version 0

contract C ()

procedure p () : (Bool)
  P
end

procedure q () : Bool
  p
end
",
    );
}

#[test]
fn long_arguments_of_constructors_have_a_line_each() {
    check(
        "scilla_version 0 library L type T = | A of (ByStr20 with contract field balances : Map ByStr20 Uint128,
         field open : Option Bool end) Uint32 | B of (List Uint32) (ByStr20 with end) contract C ()",
        "scilla_version 0

library L

type T =
  | A of
    (ByStr20 with contract
      field balances : Map ByStr20 Uint128,
      field open : Option Bool
    end)
    Uint32
  | B of (List Uint32) (ByStr20 with end)

contract C ()
",
    );
}

#[test]
fn an_empty_line_between_statements_is_kept_and_several_are_one() {
    check(
        "scilla_version 0 contract C () transition T ()\n\naccept;\n\n\n\nsend x;\nevent y\n\nend",
        "scilla_version 0

contract C ()

transition T ()
  accept;

  send x;
  event y
end
",
    );
}

#[test]
fn a_wrong_text_is_not_formatted() {
    assert!(format_contract("c.scilla", b"scilla_version 0").is_err());
    assert!(format_library("l.scillib", b"scilla_version 0").is_err());
    assert!(format_expression("e.scilexp", b"let").is_err());
}

#[test]
fn libraries_and_expressions_are_printed() {
    let module = parse_library("l.scillib", b"scilla_version 1 library L let x=y").expect("it parses");
    assert_eq!(print_library(&module), "scilla_version 1\n\nlibrary L\n\nlet x = y\n");
    let module = parse_expression("e.scilexp", b"let  x=y in 0xAB").expect("it parses");
    assert_eq!(print_expression(&module), "let x = y in\n0xab\n");
}

#[test]
fn deep_chains_are_laid_out_in_bounded_space() {
    let chain = "fun (x : Uint32) => let y = x in ".repeat(20_000) + "y";
    let printed = format_expression("e.scilexp", chain.as_bytes()).expect("it parses");
    assert!(printed.len() < 100 * 40_000);
}
