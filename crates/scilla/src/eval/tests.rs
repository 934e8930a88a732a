//! Tests of the evaluator.

use std::{collections::BTreeMap, sync::Arc};

use silica_protocol::Address;

use super::*;
use crate::{
    code::{Code, DeclaredField},
    gas::Meter,
    host::{Host, HostError, MemoryHost, Remote, RemoteWant, StateField},
    report::Failure,
    resolve::{self, FoundLibrary, LibrarySource, Origin},
    stdlib::Standard,
    syntax::{parse_contract, parse_expression},
    types::{Primitive, Type},
    value::{BNum, Key, Map, Value},
};

const LIMIT: u64 = 100_000;

fn load(code: Code, units: u64) -> Result<Loaded, Failed> {
    Arc::new(code).load(Settings::default(), Meter::with_units(units))
}

/// Evaluates an expression with these libraries. `units` is the gas for the expression and the recursion principles, in
/// units.
fn evaluate_with(libraries: &[&str], text: &str, units: u64) -> Result<Evaluated, Failed> {
    let module = parse_expression("test.scilexp", text.as_bytes()).unwrap();
    let program = resolve::expression(module, libraries, &Standard).unwrap();
    load(Code::of_expression_unchecked(&program), units)?.evaluate()
}

/// Returns the value of an expression, and its cost in units without the recursion principles.
fn evaluate(text: &str) -> (String, u64) {
    let done = evaluate_with(&[], text, LIMIT).unwrap();
    (done.value.literal().to_string(), LIMIT - PRINCIPLES - done.gas.units())
}

/// Cost of the recursion principles, in units.
const PRINCIPLES: u64 = 5;

fn check(text: &str, value: &str, units: u64) {
    assert_eq!(evaluate(text), (value.to_owned(), units), "{text}");
}

/// Checks the text, the line and the column of a failure.
fn check_failure(text: &str, message: &str, place: (u32, u32)) {
    let failed = evaluate_with(&[], text, LIMIT).unwrap_err();
    let [entry] = failed.failure.entries() else { panic!("one entry was expected") };
    assert_eq!((entry.message.as_str(), (entry.start.line, entry.start.column)), (message, place), "{text}");
}

#[test]
fn every_node_is_charged() {
    check("Uint32 1", "(Uint32 1)", 1);
    check("\"a\"", "(String \"a\")", 1);
    check("let x = Uint32 1 in x", "(Uint32 1)", 3);
    check("let x = True in match x with | False => x | True => let y = Zero in y end", "(Nat 0)", 7);
    check("let f = fun (x : Uint32) => x in f", "<closure>", 3);
    check("let f = tfun 'A => fun (x : 'A) => x in let g = @f Uint32 in g", "<closure>", 6);
    check("let x = Uint32 1 in builtin add x x", "(Uint32 2)", 6);
    check(
        "let a = \"E\" in { _exception : a; n : Uint32 1 }",
        "(Message [(_exception : (String \"E\")) ; (n : (Uint32 1))])",
        3,
    );
    check("Emp Uint32 String", "(Map Uint32 String [])", 1);
}

#[test]
fn each_argument_but_the_last_leads_to_a_function() {
    let three = |body: &str| {
        let function = "let f = fun (a : Uint32) => fun (b : Uint32) => fun (c : Uint32) => c in";
        let numbers = "let x = Uint32 1 in let y = Uint32 2 in let z = Uint32 3 in";
        format!("{function} {numbers} {body}")
    };
    // The `let`s and their values cost 8 units, the application 1, each inner function 1, and the body 1.
    check(&three("f x y z"), "(Uint32 3)", 12);
    check(&three("f x"), "<closure>", 10);
    check(&three("let g = f x in g y z"), "(Uint32 3)", 14);
    check(&three("let g = f x in let h = g y in let a = h z in h x"), "(Uint32 1)", 19);
}

#[test]
fn a_function_of_a_function_takes_the_rest() {
    let text = "let f = fun (a : Uint32) => let g = fun (b : Uint32) => a in g in
        let x = Uint32 1 in let y = Uint32 2 in f x y";
    check(text, "(Uint32 1)", 11);
}

#[test]
fn closures_keep_what_they_saw() {
    let text = "let x = Uint32 1 in let f = fun (y : Uint32) => x in let x = Uint32 2 in f x";
    assert_eq!(evaluate(text).0, "(Uint32 1)");
    let deep = "let x = Uint32 7 in
        let f = fun (a : Uint32) => let g = fun (b : Uint32) => let h = fun (c : Uint32) => x in h in g in
        let n = Uint32 0 in f n n n";
    assert_eq!(evaluate(deep).0, "(Uint32 7)");
}

#[test]
fn types_are_put_into_constructors_without_addresses() {
    let module = "let f = tfun 'A => fun (x : 'A) => Some {(Pair 'A (ByStr20 with end))} x in
        let g = @f Uint32 in let x = Uint32 1 in g x";
    let done = evaluate_with(&[], module, LIMIT).unwrap();
    assert_eq!(done.value.ty().unwrap().global().to_string(), "Option (Pair (Uint32) (ByStr20))");
    let hidden = "let f = tfun 'A => tfun 'A => None {'A} in @f Uint32 String";
    let done = evaluate_with(&[], hidden, LIMIT).unwrap();
    assert_eq!(done.value.ty().unwrap().global().to_string(), "Option (String)");
    let map = "let f = tfun 'A => let m = Emp Uint32 (Option (ByStr20 with end)) in m in @f Uint32";
    assert_eq!(evaluate(map).0, "(Map Uint32 Option (ByStr20) [])");
}

/// Returns the cost of a fold over a list of this many elements, in units.
fn fold(name: &str, step: &str, elements: u32) -> u64 {
    let mut text = String::from("let nil = Nil {Uint32} in let e = Uint32 1 in let z = Uint32 0 in let l = nil in ");
    for _ in 0..elements {
        text.push_str("let l = Cons {Uint32} e l in ");
    }
    let before = evaluate(&format!("{text} let f = {step} in let fold = @{name} Uint32 Uint32 in z")).1;
    evaluate(&format!("{text} let f = {step} in let fold = @{name} Uint32 Uint32 in fold f z l")).1 - before + 1
}

#[test]
fn folds_cost_seven_and_seven_more_for_each_element() {
    // The step costs 2 units: the inner function and its body.
    let first = "fun (a : Uint32) => fun (b : Uint32) => a";
    for elements in [0, 1, 5] {
        assert_eq!(fold("list_foldl", first, elements), 7 + u64::from(elements) * 9);
        assert_eq!(fold("list_foldr", first, elements), 7 + u64::from(elements) * 9);
    }
}

#[test]
fn principles_are_instantiated_for_two_or_three_units() {
    check("let f = @nat_fold Uint32 in f", "<closure>", 4);
    check("let f = @list_foldl Uint32 Uint32 in f", "<closure>", 5);
}

#[test]
fn folds_go_in_their_directions() {
    let with = |name: &str, step: &str| {
        format!(
            "let nil = Nil {{String}} in let b = \"b\" in let a = \"a\" in let l = Cons {{String}} b nil in
             let l = Cons {{String}} a l in let z = \"\" in let f = {step} in
             let fold = @{name} String String in fold f z l"
        )
    };
    let acc_first = "fun (z : String) => fun (x : String) => builtin concat z x";
    let acc_last = "fun (x : String) => fun (z : String) => builtin concat z x";
    assert_eq!(evaluate(&with("list_foldl", acc_first)).0, "(String \"ab\")");
    assert_eq!(evaluate(&with("list_foldr", acc_last)).0, "(String \"ba\")");
    let stop = "fun (z : String) => fun (x : String) => fun (k : String -> String) => x";
    assert_eq!(evaluate(&with("list_foldk", stop)).0, "(String \"a\")");
    let go_on = "fun (z : String) => fun (x : String) => fun (k : String -> String) =>
        let y = builtin concat z x in k y";
    assert_eq!(evaluate(&with("list_foldk", go_on)).0, "(String \"ab\")");
    let nat = "let n = Uint32 3 in let n = builtin to_nat n in let z = Nil {Nat} in
        let f = fun (l : List Nat) => fun (m : Nat) => Cons {Nat} m l in
        let fold = @nat_fold (List Nat) in fold f z n";
    assert_eq!(evaluate(nat).0, "(List (Nat 0), (Nat 1), (Nat 2), (Nil))");
    let natk = "let n = Uint32 3 in let n = builtin to_nat n in let z = Nil {Nat} in
        let f = fun (l : List Nat) => fun (m : Nat) => fun (k : List Nat -> List Nat) =>
            let l = Cons {Nat} m l in k l in
        let fold = @nat_foldk (List Nat) in fold f z n";
    assert_eq!(evaluate(natk).0, "(List (Nat 1), (Nat 2), (Nat 3), (Nil))");
}

#[test]
fn a_fold_may_be_applied_bit_by_bit() {
    let text = |last: &str| {
        format!(
            "let nil = Nil {{Uint32}} in let e = Uint32 1 in let l = Cons {{Uint32}} e nil in
             let l = Cons {{Uint32}} e l in let z = Uint32 0 in
             let f = fun (a : Uint32) => fun (b : Uint32) => builtin add a b in
             let fold = @list_foldl Uint32 Uint32 in {last}"
        )
    };
    let at_once = evaluate(&text("fold f z l"));
    let in_two = evaluate(&text("let g = fold f z in g l"));
    let in_three = evaluate(&text("let g = fold f in let h = g z in h l"));
    assert_eq!(at_once.0, "(Uint32 2)");
    assert_eq!(in_two, (at_once.0.clone(), at_once.1 + 2));
    assert_eq!(in_three, (at_once.0, at_once.1 + 4));
}

#[test]
fn failures_say_what_and_where() {
    check_failure("let x = Uint32 1 in\n  y", "Identifier is not bound in environment: y", (2, 3));
    check_failure("let x = Uint32 1 in x x", "Trying to apply a non-functional value: (Uint32 1)", (0, 0));
    check_failure("let x = Uint32 1 in @x Uint32", "Trying to type-apply a non-type closure: (Uint32 1)", (0, 0));
    check_failure(
        "let x = Zero in match x with | Succ n => n end",
        "Match expression failed. No clause matched.",
        (1, 17),
    );
    check_failure(
        "let x = Uint32 1 in Some {Uint32}",
        "Constructor arity mismatch: Some expects 1 arguments, but got 0.",
        (1, 21),
    );
    check_failure("Nowhere", "No data type with this constructor found: Nowhere", (1, 1));
    let text = "let x = Uint32 1 in let y = Int32 1 in\nbuiltin add x y";
    let message = "Type error: cannot apply \"add\" built-in to argument(s) of type(s):  [Uint32; Int32]";
    check_failure(text, message, (2, 9));
    let text = "let x = Uint32 1 in builtin add {Uint32} x x";
    let message = "Type error: cannot apply \"add\" built-in to argument(s) of type(s): {[Uint32]}  [Uint32; Uint32]";
    check_failure(text, message, (1, 29));
    let text = "let x = Uint32 0 in builtin div x x";
    let ty = "Cannot apply built-in Uint.div: Division by zero / UintOverflow error occurred";
    check_failure(text, &format!("{ty} to a list of arguments: [  (Uint32 0),\n  (Uint32 0)]"), (0, 0));
    let text = "let f = fun (x : Uint32) => x in builtin eq f f";
    check_failure(text, "Cannot type runtime closure", (0, 0));
    let text = "let f = tfun 'A => fun (x : 'A) => x in builtin eq f f";
    check_failure(text, "Cannot type runtime type function", (0, 0));
    let text = "let m = Emp Uint32 Uint32 in { _exception : \"E\"; m : m }";
    check_failure(text, "Cannot serialize literal: (Map Uint32 Uint32 [])", (0, 0));
}

#[test]
fn gas_runs_out_where_it_is_spent() {
    let text = "let x = Uint32 1 in\nlet y = x in\nbuiltin add x y";
    let whole = evaluate(text).1 + PRINCIPLES;
    assert_eq!(whole, 13);
    let places = [(9, 0, 0), (8, 2, 9), (7, 2, 1), (6, 1, 9), (5, 1, 1), (4, 1, 1), (0, 1, 1)];
    for (units, line, column) in places {
        let failed = evaluate_with(&[], text, units).unwrap_err();
        let entry = &failed.failure.entries()[0];
        assert_eq!(entry.message, "Insufficient gas");
        assert_eq!((entry.start.line, entry.start.column), (line, column), "{units} units");
        let unpaid = if units > 8 { units - 9 } else { 0 };
        assert_eq!(failed.gas.units(), unpaid);
    }
    assert_eq!(evaluate_with(&[], text, whole).unwrap().gas.units(), 0);
}

#[test]
fn libraries_are_charged_each_time_and_evaluated_once() {
    let module = parse_expression("test.scilexp", b"True").unwrap();
    let program = resolve::expression(module, &["BoolUtils", "ListUtils"], &Standard).unwrap();
    let code = Arc::new(Code::of_expression_unchecked(&program));
    let load = |units| code.load(Settings::default(), Meter::with_units(units));
    for _ in 0..2 {
        assert_eq!(load(100).unwrap().gas.units(), 100 - 5 - 8 - 20);
    }
    let failed = load(12).unwrap_err();
    let entry = &failed.failure.entries()[0];
    assert_eq!((entry.message.as_str(), &*entry.start.file), ("Insufficient gas", "stdlib/BoolUtils.scillib"));
    assert_eq!(failed.gas.units(), 0);
}

#[test]
fn trace_has_the_final_bindings() {
    let text = "let x = Uint32 1 in let y = let hidden = x in hidden in let o = Some {Uint32} y in
        match o with | Some x => let z = x in z | None => x end";
    let done = evaluate_with(&[], text, LIMIT).unwrap();
    let names: Vec<&str> = done.bindings.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["z", "x", "o", "y"]);
}

#[test]
fn a_long_chain_of_lets_and_a_deep_fold_do_not_recurse() {
    let mut text = String::from("let x = Uint32 1 in ");
    for _ in 0..20_000 {
        text.push_str("let x = builtin add x x in let x = Uint32 1 in ");
    }
    text.push('x');
    let done = evaluate_with(&[], &text, 10_000_000).unwrap();
    assert_eq!(done.value, Value::from(1_u32));
    let fold = "let n = Uint32 50000 in let n = builtin to_nat n in let nil = Nil {Nat} in
        let zero = Zero in let push = fun (l : List Nat) => fun (m : Nat) => Cons {Nat} zero l in
        let fold = @nat_fold (List Nat) in let l = fold push nil n in
        let count = fun (m : Nat) => fun (s : Uint32) => let one = Uint32 1 in builtin add s one in
        let fold = @list_foldr Nat Uint32 in let z = Uint32 0 in fold count z l";
    let done = evaluate_with(&[], fold, 10_000_000).unwrap();
    assert_eq!(done.value, Value::from(50_000_u32));
}

#[test]
fn endless_recursion_of_an_unchecked_program_ends_with_the_gas() {
    let text = "let f = fun (x : Uint32) => x x in f f";
    let failed = evaluate_with(&[], text, 100_000).unwrap_err();
    assert_eq!(failed.failure.entries()[0].message, "Insufficient gas");
    let growing = "let f = tfun 'A => fun (x : Uint32) => let g = @x (Pair 'A 'A) in g x in let g = @f Uint32 in g f";
    let failed = evaluate_with(&[], growing, 100_000).unwrap_err();
    assert_eq!(failed.failure.entries()[0].message, "Type is too large");
}

/// Libraries in which each library imports the previous library twice. Only the first library may have a value.
struct Doubling {
    first: &'static str,
}

impl LibrarySource for Doubling {
    fn find(&self, target: &str) -> Result<Option<FoundLibrary>, Failure> {
        let number: u32 = target.trim_start_matches('L').parse().unwrap();
        let imports = number.checked_sub(1).map(|before| format!("import L{before} as A L{before} as B"));
        let (imports, values) = imports.map_or((String::new(), self.first), |imports| (imports, ""));
        let text = format!("scilla_version 0 {imports} library {target} {values}");
        Ok(Some(FoundLibrary { file: target.into(), text: text.into_bytes().into(), origin: Origin::default() }))
    }
}

#[test]
fn a_library_is_evaluated_as_often_as_it_is_imported_and_gas_limits_that() {
    let load = |depth: u32, first| {
        let text = format!("scilla_version 0 import L{depth} contract C ()");
        let module = parse_contract("test.scilla", text.as_bytes()).unwrap();
        let program = resolve::contract(module, &Origin::default(), &Doubling { first }).unwrap();
        load(Code::of_contract_unchecked(&program), LIMIT)
            .map(|loaded| LIMIT - loaded.gas.units())
            .map_err(|failed| failed.gas.units())
    };
    assert_eq!(load(10, "let one = Uint32 1"), Ok(PRINCIPLES + 1024));
    assert_eq!(load(60, "let one = Uint32 1"), Err(0));
    assert_eq!(load(60, ""), Ok(PRINCIPLES));
}

/// A contract that is deployed in memory.
struct World {
    code: Arc<Code>,
    init: Vec<Argument>,
    host: MemoryHost,
    balance: u128,
}

const SENDER: [u8; 20] = [1; 20];

impl World {
    fn new(text: &str, parameters: &[(&str, Value)]) -> Result<Self, Failed> {
        let module = parse_contract("test.scilla", text.as_bytes()).unwrap();
        let program =
            resolve::contract(module, &Origin { address: Some("0x05".into()), ..Origin::default() }, &Standard);
        let code = Arc::new(Code::of_contract_unchecked(&program.unwrap()));
        let implicit = [
            ("_creation_block", Value::BNum(BNum::from_u64(7))),
            ("_scilla_version", Value::from(0_u32)),
            ("_this_address", Value::bystrx([5; 20])),
        ];
        let entries = implicit.into_iter().chain(parameters.iter().cloned());
        let init: Vec<_> = entries.map(|(name, value)| Argument { name: name.into(), value }).collect();
        let field = |name: &str, value: Value| StateField { name: name.into(), ty: value.ty().unwrap(), value };
        let sender = vec![
            field("_balance", Value::from(1_000_u128)),
            field("_nonce", Value::Integer(crate::value::Integer::from_u64(1))),
        ];
        let loaded = code.load(Settings::default(), Meter::with_units(LIMIT))?;
        let fields = loaded.deploy(&init, None)?.fields;
        let accounts = BTreeMap::from([(Address::new(SENDER), sender)]);
        let host = MemoryHost { fields, accounts, block_number: Some(BNum::from_u64(9)), ..MemoryHost::default() };
        Ok(Self { code, init, host, balance: 0 })
    }

    /// Calls a transition. `units` is the gas for the transition itself, in units.
    fn call_with(
        &mut self,
        tag: &str,
        amount: u128,
        arguments: &[(&str, Value)],
        units: u64,
    ) -> Result<Outcome, Failed> {
        let mut host = std::mem::take(&mut self.host);
        let outcome = self.call_on(&mut host, tag, amount, arguments, units);
        self.host = host;
        outcome
    }

    fn call_on(
        &self,
        host: &mut dyn Host,
        tag: &str,
        amount: u128,
        arguments: &[(&str, Value)],
        units: u64,
    ) -> Result<Outcome, Failed> {
        let mut loaded = self.code.load(Settings::default(), Meter::with_units(LIMIT))?;
        loaded.gas = Meter::with_units(units);
        let implicit =
            [("_amount", Value::from(amount)), ("_origin", Value::bystrx(SENDER)), ("_sender", Value::bystrx(SENDER))];
        let entries = implicit.into_iter().chain(arguments.iter().cloned());
        let entries = entries.map(|(name, value)| Argument { name: name.into(), value }).collect();
        loaded.call(&self.init, &IncomingMessage { tag: tag.into(), entries }, self.balance, host)
    }

    fn call(&mut self, tag: &str, arguments: &[(&str, Value)]) -> Result<Outcome, Failed> {
        self.call_with(tag, 10, arguments, LIMIT)
    }

    fn field(&self, name: &str) -> String {
        let field = self.host.fields.iter().find(|field| *field.name == *name).unwrap();
        field.value.literal().to_string()
    }
}

/// Runs statements as the transition `T` of a contract with some fields. Returns the world and the outcome.
fn run(statements: &str) -> (World, Result<Outcome, Failed>) {
    let text = format!(
        "scilla_version 0
library L
let none = None {{Uint32}}
contract C (limit : Uint32)
field n : Uint32 = Uint32 5
field s : String = \"\"
field m : Map Uint32 (Map Uint32 String) = Emp Uint32 (Map Uint32 String)
procedure Set(value : Uint32)
  n := value
end
procedure twice(value : Uint32) : Uint32
  sum = builtin add value value;
  _return := sum
end
procedure Fail(value : Uint32)
  e = {{ _exception : \"E\"; value : value }};
  throw e
end
transition T(k : Uint32, l : List Uint32)
{statements}
end"
    );
    let mut world = World::new(&text, &[("limit", Value::from(3_u32))]).unwrap();
    let list = Value::list(Type::from(Primitive::Uint(crate::types::Width::W32)), [1_u32, 2].map(Value::from));
    let outcome = world.call("T", &[("k", Value::from(4_u32)), ("l", list)]);
    (world, outcome)
}

/// Checks the cost of statements in units, and the value of a field after them.
fn check_statements(statements: &str, units: u64, field: &str, expected: &str) {
    let (world, outcome) = run(statements);
    assert_eq!(LIMIT - outcome.unwrap().gas.units(), units, "{statements}");
    assert_eq!(world.field(field), expected, "{statements}");
}

fn check_statement_failure(statements: &str, expected: &[(&str, u32)]) {
    let failed = run(statements).1.unwrap_err();
    let entries: Vec<_> =
        failed.failure.entries().iter().map(|entry| (entry.message.as_str(), entry.start.line)).collect();
    assert_eq!(entries, expected, "{statements}");
}

#[test]
fn statements_do_and_cost_what_they_should() {
    check_statements("", 0, "n", "(Uint32 5)");
    check_statements("n := k", 4, "n", "(Uint32 4)");
    check_statements("x <- n; y = builtin add x limit; n := y", 4 + 5 + 4, "n", "(Uint32 8)");
    check_statements("x <- s", 20, "s", "(String \"\")");
    let one =
        "(Map Uint32 Map (Uint32) (String) [((Uint32 4) => (Map Uint32 String [((Uint32 4) => (String \"a\"))]))])";
    check_statements("a = \"a\"; m[k][k] := a", 2 + 22, "m", one);
    check_statements("a = \"a\"; m[k][k] := a; delete m[k][k]; delete m[k]", 24 + 2 + 1, "m", {
        "(Map Uint32 Map (Uint32) (String) [])"
    });
    check_statements("delete m[k][k]", 2, "m", "(Map Uint32 Map (Uint32) (String) [])");
    check_statements("x <- m[k][k]; y <- exists m[k]", 3 + 2, "n", "(Uint32 5)");
    check_statements("a = \"a\"; m[k][k] := a; x <- m[k][k]; y <- m[k]; z <- m", 24 + 22 + 25 + 28, "n", "(Uint32 5)");
    check_statements("Set k", 1 + 4, "n", "(Uint32 4)");
    check_statements("x = twice k; n := x", 1 + 5 + 1 + 4, "n", "(Uint32 8)");
    check_statements("forall l Set", 2 + 8, "n", "(Uint32 2)");
    check_statements("match k with | x => n := x | _ => end", 2 + 4, "n", "(Uint32 4)");
    check_statements("b <- & BLOCKNUMBER", 1, "n", "(Uint32 5)");
    check_statements("x <- _balance", 16, "n", "(Uint32 5)");
    check_statements("o <- & _sender as ByStr20 with end", 2, "n", "(Uint32 5)");
    check_statements(
        "o <- & _sender as ByStr20 with contract field a : Uint32, field b : Uint32 end",
        5,
        "n",
        "(Uint32 5)",
    );
    check_statements("x <- & _sender._balance", 16, "n", "(Uint32 5)");
    let event = "e = { _eventname : \"E\" }; event e";
    check_statements(event, 2 + 40, "n", "(Uint32 5)");
}

#[test]
fn money_and_the_chain_cost_what_they_should() {
    check_statements("accept; accept", 2, "n", "(Uint32 5)");
    check_statements("b <- & BLOCKNUMBER; t <- & TIMESTAMP(b)", 2, "n", "(Uint32 5)");
    let send = "m = { _tag : \"\"; _recipient : _sender; _amount : Uint128 0 }; z = Nil {Message};
        o = Cons {Message} m z; send o";
    let message = 3 * 20 + 20 + 20 + 16;
    check_statements(send, 3 * 2 + message + 1, "n", "(Uint32 5)");
    let units = |statements| LIMIT - run(statements).1.unwrap_err().gas.units();
    assert_eq!(units("throw"), 1);
    assert_eq!(units("e = { _exception : \"E\" }; throw e"), 2 + 20 + 20);
}

#[test]
fn reads_of_other_contracts_cost_what_those_of_fields_do() {
    let check = |statement: &str, units: u64, expected: &str| {
        let mut world = world_with_accounts(&format!(
            "scilla_version 0 contract C () field seen : Uint32 = Uint32 0
             transition T(a : ByStr20, k : Uint32) {statement}; seen := x end"
        ));
        let mut map = Map::new(Type::from(Primitive::Uint(crate::types::Width::W32)), Primitive::String.into());
        map.insert(Key::new(Value::from(1_u32)).unwrap(), Value::of_text("a"));
        let value = Value::Map(map);
        let field = StateField { name: "m".into(), ty: value.ty().unwrap(), value };
        world.host.accounts.get_mut(&Address::new(CONTRACT)).unwrap().push(field);
        let arguments = [("a", Value::bystrx(CONTRACT)), ("k", Value::from(1_u32))];
        let outcome = world.call("T", &arguments).unwrap();
        assert_eq!(world.field("seen"), expected, "{statement}");
        let stored = world.host.fields[0].value.size();
        assert_eq!(LIMIT - outcome.gas.units() - stored, units, "{statement}");
    };
    check("x <- & a.n", 4, "(Uint32 1)");
    check("x <- & a._codehash", 32, &format!("(ByStr32 0x{})", "00".repeat(32)));
    check("x <- & a.m", 24, "(Map Uint32 String [((Uint32 1) => (String \"a\"))])");
    check("x <- & a.m[k]", 1 + 20, "(Some (String \"a\"))");
    check("z = Uint32 2; x <- & a.m[z]", 2 + 1 + 1, "(None)");
    check("x <- & exists a.m[k]", 1 + 1, "(True)");
    check("z = Uint32 2; x <- & exists a.m[z]", 2 + 1 + 1, "(False)");
    check("x <- & exists a.o[k]", 1 + 1, "(False)");
}

#[test]
fn a_name_bound_in_a_branch_is_forgotten_behind_it() {
    let statements = "x = Uint32 1; match k with | y => x = Uint32 2 end; n := x";
    check_statements(statements, 2 + 1 + 2 + 4, "n", "(Uint32 1)");
}

#[test]
fn money_is_accepted_once_and_sent_at_the_end() {
    let message = |amount: u128| {
        format!(
            "accept; accept; m1 = {{ _tag : \"\"; _recipient : _sender; _amount : Uint128 {amount} }};
             nil = Nil {{Message}}; one = Cons {{Message}} m1 nil; send one"
        )
    };
    let outcome = run(&message(4)).1.unwrap();
    assert!(outcome.accepted);
    assert_eq!(outcome.balance, 6);
    assert_eq!(outcome.messages.len(), 1);
    let text =
        "The balance is too low to transfer all the funds in the messages: balance = 10, amount to transfer = 11";
    check_statement_failure(&message(11), &[(text, 0)]);
    let poor = "x <- & _sender._balance; accept; y <- & _sender._balance; a = builtin sub x y; b = builtin to_uint32 a;
        match b with | Some c => n := c | None => end";
    assert_eq!(run(poor).0.field("n"), "(Uint32 10)");
}

#[test]
fn events_are_listed_newest_first() {
    let statements = "e = { _eventname : \"A\" }; event e; e = { _eventname : \"B\" }; event e";
    let events = run(statements).1.unwrap().events;
    let names: Vec<_> = events.iter().map(|event| event.get("_eventname").unwrap().literal().to_string()).collect();
    assert_eq!(names, ["(String \"B\")", "(String \"A\")"]);
}

#[test]
fn an_exception_names_the_running_component() {
    let thrown = "Exception thrown: (Message [(_exception : (String \"E\")) ; (value : (Uint32 4))])";
    check_statement_failure("Set k;\nFail k", &[(thrown, 17), ("Raised from Fail", 15), ("Raised from T", 19)]);
    check_statement_failure("throw", &[("Exception thrown", 20), ("Raised from T", 19)]);
}

#[test]
fn statements_that_were_not_checked_fail_with_these_texts() {
    check_statement_failure("Absent k", &[("Procedure not found: Absent", 0)]);
    check_statement_failure("Set k k", &[("Attempting to bind different number of keys and values in environment", 0)]);
    check_statement_failure("x = y", &[("Identifier is not bound in environment: y", 20)]);
    check_statement_failure("n := y", &[("Identifier is not bound in environment: y", 0)]);
    check_statement_failure("x <- & k.f", &[("Expected remote load address to be ByStr20 value", 0)]);
    check_statement_failure("x <- & _sender._codehash", &[("Error loading field: _codehash", 20)]);
    check_statement_failure("event k", &[("Incorrect event parameter(s): (Uint32 4)", 0)]);
    let text = "Event is missing a mandatory field or has duplicate fields: (Message [(_exception : (String \"E\"))])";
    check_statement_failure("e = { _exception : \"E\" };\nevent e", &[(text, 0)]);
    let text = "Message is missing a mandatory field or has duplicate fields: (Message [(_tag : (String \"T\"))])";
    check_statement_failure("e = { _tag : \"T\" }; z = Nil {Message}; l = Cons {Message} e z; send l", &[(text, 0)]);
    let text = "Unable to fetch type for field at address: field g, address 0x0101010101010101010101010101010101010101";
    check_statement_failure("a = _sender; x <- & a.g[k]", &[(text, 0)]);
}

#[test]
fn gas_runs_out_at_the_statement() {
    let text = "scilla_version 0 contract C ()\nfield n : Uint32 = Uint32 5\ntransition T()\n x <- n;\n n := x\nend";
    let mut world = World::new(text, &[]).unwrap();
    assert_eq!(world.call_with("T", 0, &[], 8).unwrap().gas.units(), 0);
    for (units, line, left) in [(7, 5, 3), (4, 5, 0), (3, 4, 3)] {
        let failed = world.call_with("T", 0, &[], units).unwrap_err();
        let entry = &failed.failure.entries()[0];
        assert_eq!(entry.message, "Ran out of gas after evaluating statement");
        assert_eq!((entry.start.line, failed.gas.units()), (line, left));
    }
}

#[test]
fn deployment_and_messages_are_held_to_their_parameters() {
    let text = "scilla_version 0 contract C (owner : ByStr20) with let z = _this_address in builtin eq z z =>
        field n : Uint32 = Uint32 5 transition T(a : ByStr20 with end) end transition U() end";
    let text_of = |failed: Failed| failed.failure.entries()[0].message.clone();
    let deploy = |parameters: &[(&str, Value)]| World::new(text, parameters).map_err(text_of);
    let owner = || ("owner", Value::bystrx([2; 20]));
    let mut world = deploy(&[owner()]).unwrap();
    assert_eq!(deploy(&[]).err().unwrap(), "No init entry found matching contract parameter: owner");
    assert_eq!(deploy(&[owner(), owner()]).err().unwrap(), "Duplicate init arguments entries found");
    assert_eq!(deploy(&[owner(), ("more", Value::from(1_u32))]).err().unwrap(), {
        "Parameter is not specified in the contract: more"
    });
    assert_eq!(deploy(&[("owner", Value::bystrx([2]))]).err().unwrap(), {
        "Type unassignable: ByStr20 expected, but ByStr1 provided"
    });
    let mut call = |tag, arguments: &[(&str, Value)]| world.call(tag, arguments).map_err(text_of);
    let address = |byte| ("a", Value::bystrx([byte; 20]));
    assert_eq!(call("T", &[address(1)]).unwrap().gas.units(), LIMIT - 2);
    let unused = "Address not in use: 0x0202020202020202020202020202020202020202";
    assert_eq!(call("T", &[address(2)]).unwrap_err(), unused);
    assert_eq!(call("V", &[]).unwrap_err(), "No contract transition for tag found: V");
    assert_eq!(call("T", &[]).unwrap_err(), "No message entry found matching parameter: a");
    assert_eq!(call("U", &[address(1)]).unwrap_err(), "No parameter found matching message entry: a");
    assert_eq!(call("T", &[address(1), address(1)]).unwrap_err(), "Duplicate message entries found");
}

#[test]
fn a_constraint_must_hold_and_fields_hold_no_functions() {
    let deploy =
        |text: &str| World::new(text, &[]).map(|_| ()).map_err(|failed| failed.failure.entries()[0].message.clone());
    assert_eq!(deploy("scilla_version 0 contract C () with False =>"), Err("Contract constraint violation".into()));
    let text = "scilla_version 0 contract C () field f : Uint32 = fun (x : Uint32) => x";
    assert_eq!(deploy(text), Err("Closure cannot be stored in a field: f".into()));
}

#[test]
fn the_last_address_of_the_last_parameter_is_checked_first() {
    let text = "scilla_version 0 contract C ()
        transition T(a : ByStr20 with end, l : List (ByStr20 with library end)) end";
    let mut world = World::new(text, &[]).unwrap();
    let list = Value::list(Type::bystr(20), [3, 4].map(|byte| Value::bystrx([byte; 20])));
    let failed = world.call("T", &[("a", Value::bystrx([2; 20])), ("l", list)]).unwrap_err();
    let text = "No library found at address: 0x0404040404040404040404040404040404040404";
    assert_eq!(failed.failure.entries()[0].message, text);
    assert_eq!(failed.gas.units(), LIMIT - 2);
}

#[test]
fn an_inner_map_is_one_entry_of_a_field_in_memory() {
    let (world, outcome) =
        run("a = \"a\"; m[k][k] := a; m[k][limit] := a; delete m[k][k]; x = Uint32 9; delete m[x][x]");
    outcome.unwrap();
    let expected =
        "(Map Uint32 Map (Uint32) (String) [((Uint32 4) => (Map Uint32 String [((Uint32 3) => (String \"a\"))]))])";
    assert_eq!(world.field("m"), expected);
}

#[test]
fn storing_a_field_moves_it_to_the_front() {
    let (world, outcome) = run("a = \"a\"; s := a; m[k][k] := a");
    outcome.unwrap();
    let names: Vec<&str> = world.host.fields.iter().map(|field| &*field.name).collect();
    assert_eq!(names, ["s", "n", "m"]);
}

#[test]
fn versions_must_agree() {
    let world = |version: &str| World::new(&format!("scilla_version {version} contract C ()"), &[]).unwrap();
    let check = |version: &str, stated: u32| {
        let loaded = world(version).code.load(Settings::default(), Meter::with_units(100)).unwrap();
        loaded.check_version(Some(&Value::from(stated))).map_err(|failed| failed.gas.units())
    };
    assert_eq!(check("0", 0), Ok(()));
    assert_eq!(check("1", 0), Err(u64::MAX - 1));
    assert_eq!(check("0", 1), Err(u64::MAX - 1));
}

/// Returns a world with the sender, a library and a contract.
fn world_with_accounts(text: &str) -> World {
    let mut world = World::new(text, &[]).unwrap();
    let field = |name: &str, value: Value| StateField { name: name.into(), ty: value.ty().unwrap(), value };
    let code = || field("_codehash", Value::bystrx([0; 32]));
    world.host.accounts.insert(Address::new(LIBRARY), vec![code()]);
    let contract = vec![code(), field("_this_address", Value::bystrx(CONTRACT)), field("n", Value::from(1_u32))];
    world.host.accounts.insert(Address::new(CONTRACT), contract);
    world
}

const LIBRARY: [u8; 20] = [2; 20];
const CONTRACT: [u8; 20] = [3; 20];
const UNUSED: [u8; 20] = [4; 20];

/// Address types and accounts, with the cost of each check in units, and the text of its failure.
const CLAIMS: [(&str, [u8; 20], u64, Option<&str>); 13] = [
    ("ByStr20 with end", SENDER, 2, None),
    ("ByStr20 with end", LIBRARY, 2, None),
    ("ByStr20 with end", UNUSED, 2, Some("Address not in use: 0x0404040404040404040404040404040404040404")),
    ("ByStr20 with _codehash end", LIBRARY, 2, None),
    ("ByStr20 with _codehash end", CONTRACT, 2, None),
    ("ByStr20 with _codehash end", SENDER, 2, {
        Some("No code (library or contract) found at address: 0x0101010101010101010101010101010101010101")
    }),
    ("ByStr20 with library end", LIBRARY, 2, None),
    ("ByStr20 with library end", CONTRACT, 2, {
        Some("No library found at address: 0x0303030303030303030303030303030303030303")
    }),
    ("ByStr20 with contract end", CONTRACT, 3, None),
    ("ByStr20 with contract end", LIBRARY, 3, {
        Some("No contract found at address: 0x0202020202020202020202020202020202020202")
    }),
    ("ByStr20 with contract field n : Uint32 end", CONTRACT, 4, None),
    ("ByStr20 with contract field n : String end", CONTRACT, 4, {
        Some(
            "Address does not satisfy type: address is 0x0303030303030303030303030303030303030303, expected type is \
             ByStr20 with contract field n : String end",
        )
    }),
    ("ByStr20 with contract field n : Uint32, field o : Uint32 end", CONTRACT, 5, {
        Some(
            "Address does not satisfy type: address is 0x0303030303030303030303030303030303030303, expected type is \
             ByStr20 with contract field n : Uint32, field o : Uint32 end",
        )
    }),
];

#[test]
fn addresses_given_to_a_transition_are_what_they_claim_to_be() {
    for (ty, address, units, expected) in CLAIMS {
        let mut world = world_with_accounts(&format!("scilla_version 0 contract C () transition T(a : {ty}) end"));
        let (gas, message) = match world.call("T", &[("a", Value::bystrx(address))]) {
            Ok(outcome) => (outcome.gas, None),
            Err(failed) => (failed.gas, Some(failed.failure.entries()[0].message.clone())),
        };
        assert_eq!(message.as_deref(), expected, "{ty}");
        assert_eq!(LIMIT - gas.units(), units, "{ty}");
    }
}

#[test]
fn too_little_gas_for_an_address_gains_no_gas() {
    let mut world = world_with_accounts("scilla_version 0 contract C () transition T(a : ByStr20 with end) end");
    let mut call = |address, units| {
        let failed = world.call_with("T", 0, &[("a", Value::bystrx(address))], units).unwrap_err();
        (failed.failure.entries()[0].message.clone(), failed.gas.units())
    };
    assert_eq!(call(SENDER, 1), ("Insufficient gas".to_owned(), 0));
    // If the run fails for another reason too, the reference reports that reason instead of missing gas.
    let unused = "Address not in use: 0x0404040404040404040404040404040404040404".to_owned();
    assert_eq!(call(UNUSED, 1), (unused, u64::MAX));
    assert_eq!(world.call_with("T", 0, &[("a", Value::bystrx(SENDER))], 2).unwrap().gas.units(), 0);
}

#[test]
fn a_cast_of_an_address_that_is_something_else_gives_none() {
    for (ty, address, units, expected) in CLAIMS {
        let mut world = world_with_accounts(&format!(
            "scilla_version 0 contract C () field n : Uint32 = Uint32 0
             transition T(a : ByStr20)
               o <- & a as {ty};
               match o with | Some x => y = Uint32 1; n := y | None => y = Uint32 2; n := y end
             end"
        ));
        let outcome = world.call("T", &[("a", Value::bystrx(address))]).unwrap();
        assert_eq!(LIMIT - outcome.gas.units(), units + 2 + 2 + 4, "{ty}");
        let answer = if expected.is_none() { "(Uint32 1)" } else { "(Uint32 2)" };
        assert_eq!(world.field("n"), answer, "{ty}");
    }
}

#[test]
fn the_state_holds_the_fields_of_the_contract() {
    let text = "scilla_version 0 contract C ()
        field n : Uint32 = Uint32 0 field s : String = \"\" field b : Bool = False";
    let world = World::new(text, &[]).unwrap();
    let loaded = world.code.load(Settings::default(), Meter::with_units(LIMIT)).unwrap();
    let field = |name: &str, value: Value| StateField { name: name.into(), ty: value.ty().unwrap(), value };
    let state = |fields: Vec<StateField>| {
        let joined = local_state(&loaded, world.host.fields.clone(), fields);
        let names = |fields: Vec<StateField>| fields.iter().map(|field| field.name.to_string()).collect::<Vec<_>>();
        joined.map(names).map_err(|failure| failure.entries()[0].message.clone())
    };
    assert_eq!(state(vec![field("s", Value::of_text("x"))]).unwrap(), ["n", "b", "s"]);
    assert_eq!(state(vec![field("x", Value::from(1_u32))]).unwrap_err(), {
        "Field not defined in the contract: field x of type Uint32"
    });
    assert_eq!(state(vec![field("n", Value::of_text("x"))]).unwrap_err(), {
        "State type of field does not match the declared type: Field n : String does not match the declared type Uint32"
    });
    let twice = vec![field("n", Value::from(1_u32)), field("n", Value::from(1_u32))];
    assert_eq!(state(twice).unwrap_err(), "Duplicate field entries found");
    let nat = StateField { name: "b".into(), ty: Type::bool(), value: Value::nat(0) };
    let foreign = "Literal constructor does not belong to expected type: Zero does not belong to Bool";
    assert_eq!(state(vec![nat]).unwrap_err(), foreign);
    let missing = Value::adt(crate::value::Constructor::some(), Arc::from([]), []);
    let malformed = World::new("scilla_version 0 contract C (o : Option Bool)", &[("o", missing)]).err().unwrap();
    assert_eq!(malformed.failure.entries()[0].message, "Malformed ADT literal: (Some)");
}

#[test]
fn a_parameter_of_the_transition_hides_that_of_the_contract_from_procedures() {
    let text = "scilla_version 0 contract C (limit : Uint32) field n : Uint32 = Uint32 0
        procedure P() n := limit end
        transition T(limit : Uint32) P end
        transition U() P end";
    let mut world = World::new(text, &[("limit", Value::from(3_u32))]).unwrap();
    world.call("T", &[("limit", Value::from(4_u32))]).unwrap();
    assert_eq!(world.field("n"), "(Uint32 4)");
    world.call("U", &[]).unwrap();
    assert_eq!(world.field("n"), "(Uint32 3)");
}

#[test]
fn more_than_the_sender_has_is_not_accepted() {
    let mut world = World::new("scilla_version 0 contract C () transition T() accept end", &[]).unwrap();
    let failed = world.call_with("T", 1_001, &[], LIMIT).unwrap_err();
    assert_eq!(failed.failure.entries()[0].message, {
        "Insufficient sender balance for acceptance: Incoming vs sender_balance: 1001 vs 1000"
    });
    assert_eq!(world.call_with("T", 1_000, &[], LIMIT).unwrap().balance, 1_000);
    world.host.accounts.clear();
    let failed = world.call("T", &[]).unwrap_err();
    assert_eq!(failed.failure.entries()[0].message, "Error loading field: _balance");
}

#[test]
fn values_of_wrong_types_are_errors() {
    let no_clause = "Value does not match any clause of pattern matching statement: (List (Uint32 1), (Uint32 2), \
                     (Nil))\ndoes not match any clause.";
    check_statement_failure("match l with | Nil => end", &[(no_clause, 0)]);
    check_statement_failure("x <- & k.f[k]", &[("Expected address to be ByStr20 value", 0)]);
    check_statement_failure("x <- & k as ByStr20 with end", &[("Expected address or ByStr20 in type cast", 0)]);
    let text = "Timestamp argument of incorrect type. Expected BNum.: (Uint32 4)";
    check_statement_failure("x <- & TIMESTAMP(k)", &[(text, 20)]);
    let text = "Map key is not of a primitive type: (List (Uint32 1), (Uint32 2), (Nil))";
    check_statement_failure("m[l] := k", &[(text, 0)]);
    check_statement_failure("send l", &[("Literal is not a message, cannot be sent: (Uint32 1)", 0)]);
    check_statement_failure("send k", &[("eval_gas_charge: Can only take length of Maps and Lists", 0)]);
    check_statement_failure("forall k Set", &[("eval_gas_charge: Can only take length of Maps and Lists", 0)]);
    let message = "e = { _tag : \"\"; _recipient : _sender; _amount : k };
        z = Nil {Message}; o = Cons {Message} e z; send o";
    check_statement_failure(message, &[("Message contents have no \"_amount\" field", 0)]);
    let text = "scilla_version 0 contract C () procedure p() : Uint32 end transition T() x = p end";
    let failed = World::new(text, &[]).unwrap().call("T", &[]).unwrap_err();
    assert_eq!(failed.failure.entries()[0].message, "Trying to bind to a procedure that doesn't return: x");
}

#[test]
fn errors_of_unreachable_fields_point_to_their_names() {
    check_statement_failure("g := k", &[("StateService: Field \"g\" not found.\n", 20)]);
    check_statement_failure("x <- g", &[("Error loading field: g", 20)]);
    let too_many = |name| format!("StateService: Cannot index into map {name}. Too many index keys.");
    check_statement_failure("x <- n[k]", &[(&too_many("n"), 20)]);
    check_statement_failure("a = \"a\"; m[k][k] := a;\nx <- m[k][k][k]", &[(&too_many("m"), 21)]);
    let no_map = |name| format!("StateService: Cannot index into map {name} due to non-map type");
    check_statement_failure("n[k] := k", &[(&no_map("n"), 20)]);
    check_statement_failure("m[k][k][k] := k", &[(&no_map("m"), 20)]);
    check_statement_failure("delete n[k]", &[("StateService: Cannot remove non-map value n from state", 20)]);
    check_statement_failure("x <- & CHAINID", &[("fetch_bcinfo: query_name CHAINID not found", 0)]);
}

/// Returns an expression of 2⁴⁰ parts and size 0: nested pairs with empty maps at the bottom. The test does not check
/// its types. A checked program can make as many parts with nested lists.
fn huge() -> String {
    let pairs: String = (0..40).map(|_| "let x = Pair {Uint32 Uint32} x x in ").collect();
    format!("let x = Emp Uint32 Uint32 in {pairs}x")
}

fn check_too_much<T>(outcome: Result<T, Failed>) {
    let failed = outcome.err().expect("there is too much");
    let text = &failed.failure.entries()[0].message;
    assert!(text.starts_with("Data of more than ") && text.ends_with(" parts for little gas"), "{text}");
}

#[test]
fn a_value_that_shares_without_end_does_not_leave() {
    check_too_much(evaluate_with(&[], &huge(), LIMIT));
    check_too_much(evaluate_with(&[], &format!("let h = {} in let z = Zero in z", huge()), LIMIT));
    check_too_much(World::new(&format!("scilla_version 0 contract C () field f : Nat = {}", huge()), &[]));
    for last in [
        "s := v",
        "m[k][k] := v",
        "e = { _eventname : \"E\"; v : v }; event e",
        "e = { _exception : \"E\"; v : v }; throw e",
        "a = Uint128 0; nil = Nil {Message}; \
         msg = { _tag : \"T\"; _recipient : _sender; _amount : a; v : v }; \
         msgs = Cons {Message} msg nil; send msgs",
        "h = builtin sha256hash v",
        "h = builtin keccak256hash v",
        "h = builtin ripemd160hash v",
    ] {
        check_too_much(run(&format!("v = {};\n{last}", huge())).1);
    }
}

/// Emits an event that contains the same value 2¹⁰ times. The name of its constructor has `length` letters.
fn raise_with_name(length: usize) -> Result<Outcome, Failed> {
    let name = "N".repeat(length);
    let text = format!(
        "scilla_version 0 library L type T = | {name} contract C () transition T() v = {name}; {}
        e = {{ _eventname : \"E\"; v : v }}; event e end",
        "v = Pair {Uint32 Uint32} v v; ".repeat(10)
    );
    World::new(&text, &[]).unwrap().call("T", &[])
}

#[test]
fn long_names_count_as_data() {
    raise_with_name(20).unwrap();
    check_too_much(raise_with_name(20_000));
}

#[test]
fn little_leaves_for_little_gas() {
    let store = |doublings| {
        let pairs = "let x = Pair {Uint32 Uint32} x x in ".repeat(doublings);
        run(&format!("v = let x = Emp Uint32 Uint32 in {pairs} x;\ns := v")).1
    };
    assert!(store(11).is_ok());
    check_too_much(store(12));
}

#[test]
fn a_value_that_shares_without_end_can_be_worked_with() {
    let (_, outcome) = run(&format!("v = {};\nv = match v with | Pair left _ => left end;\nn := k", huge()));
    assert!(outcome.is_ok());
    let (_, outcome) = run(&format!("v = {};\nw = builtin add v v", huge()));
    assert!(outcome.unwrap_err().to_string().len() < 1000);
}

#[test]
fn gas_pays_for_large_values() {
    let bools: String = (0..12).map(|_| "let l = double l in ").collect();
    let double = "fun (l : List Bool) => let append = @list_append Bool in append l l";
    let text = format!(
        "let t = True in let n = Nil {{Bool}} in let l = Cons {{Bool}} t n in let double = {double} in {bools} l"
    );
    let done = evaluate_with(&["ListUtils"], &text, 10 * LIMIT).unwrap();
    assert_eq!(done.value.elements().count(), 1 << 12);
}

#[test]
fn types_that_grow_without_end_are_refused() {
    let mut text = String::from("let f = tfun 'A => None {'A} in ");
    for _ in 0..40 {
        text.push_str("let f = tfun 'A => @f (Pair 'A 'A) in ");
    }
    let failed = evaluate_with(&[], &format!("{text} @f Uint32"), LIMIT).unwrap_err();
    assert_eq!(failed.to_string(), "Type is too large");
}

#[test]
fn large_types_in_a_loop_are_refused() {
    // Each round costs nine units, and constructs a type of about 2,000 nodes.
    let large = (0..10).fold("'A".to_owned(), |half, _| format!("(Pair {half} {half})"));
    let text = format!(
        "let f = tfun 'A => fun (count : Nat) => None {{{large}}} in let g = @f Uint32 in let n = Uint32 10000 in \
         let n = builtin to_nat n in let z = None {{Uint32}} in let fold = @nat_fold (Option Uint32) in \
         let step = fun (acc : Option Uint32) => fun (n : Nat) => g n in fold step z n"
    );
    check_too_much(evaluate_with(&[], &text, 100 * LIMIT));
}

#[test]
fn values_of_large_types_in_a_loop_are_refused() {
    let large = (0..11).fold("Uint32".to_owned(), |half, _| format!("(Pair {half} {half})"));
    let text = format!(
        "let n = Uint32 10000 in let n = builtin to_nat n in let z = Zero in let fold = @nat_fold Nat in
         let step = fun (acc : Nat) => fun (n : Nat) => let v = None {{{large}}} in acc in fold step z n"
    );
    check_too_much(evaluate_with(&[], &text, 100 * LIMIT));
}

#[test]
fn values_from_the_state_are_checked_for_size() {
    let mut world =
        World::new("scilla_version 0 contract C () field f : Nat = Zero transition T() x <- f end", &[]).unwrap();
    // A value of size 0 with 2²⁰ parts.
    let empty = Value::Map(Map::new(Type::nat(), Type::nat()));
    let value = (0..18).fold(empty, |half, _| Value::pair((Type::nat(), half.clone()), (Type::nat(), half)));
    world.host.fields.iter_mut().for_each(|field| field.value = value.clone());
    check_too_much(world.call("T", &[]));
}

#[test]
fn large_functions_and_messages_in_a_loop_are_refused() {
    let each = |count: u32, text: fn(u32) -> String| (0..count).map(text).collect::<Vec<_>>().concat();
    let lets = each(2_000, |number| format!("let x{number} = n in "));
    let all = each(2_000, |number| format!("let y = x{number} in "));
    let looped = |body: &str, before: &str| {
        format!(
            "let n = Uint32 10000 in {before} let n = builtin to_nat n in let z = Zero in let fold = @nat_fold Nat in \
             let step = fun (acc : Nat) => fun (n : Nat) => {body} in fold step z n"
        )
    };
    let captures = format!("let f = fun (a : Nat) => {all} acc in acc");
    check_too_much(evaluate_with(&[], &looped(&captures, &lets), 100 * LIMIT));
    let entries = each(500, |number| format!("; e{number} : n"));
    check_too_much(evaluate_with(&[], &looped(&format!("let m = {{ _tag : n {entries} }} in acc"), ""), 100 * LIMIT));
}

#[test]
fn with_less_gas_a_run_stops_at_the_first_charge_that_cannot_be_paid() {
    let text = "scilla_version 0
        library L
        let sum = fun (numbers : List Uint32) =>
          let fold = @list_foldl Uint32 Uint32 in
          let step = fun (so_far : Uint32) => fun (number : Uint32) => builtin add so_far number in
          let zero = Uint32 0 in
          fold step zero numbers
        contract C ()
        field n : Uint32 = Uint32 0
        field m : Map Uint32 String = Emp Uint32 String
        procedure Note(key : Uint32)
          text = \"noted\"; m[key] := text
        end
        transition T(numbers : List Uint32)
          total = sum numbers;
          n := total;
          forall numbers Note;
          seen <- m[total];
          match seen with | Some text => delete m[total] | None => accept end;
          e = { _eventname : \"Total\"; total : total };
          event e
        end";
    let numbers = Value::list(Type::from(Primitive::Uint(crate::types::Width::W32)), [1_u32, 2, 3].map(Value::from));
    let run = |units| World::new(text, &[]).unwrap().call_with("T", 0, &[("numbers", numbers.clone())], units);
    let used = LIMIT - run(LIMIT).unwrap().gas.units();
    let mut left_before = None;
    for units in 0..used {
        let failed = run(units).unwrap_err();
        let message = &failed.failure.entries()[0].message;
        assert!(["Insufficient gas", "Ran out of gas after evaluating statement"].contains(&&**message), "{message}");
        // The additional unit remains, or it pays for the charge that failed.
        let left = failed.gas.units();
        assert!(left == 0 || left_before.is_some_and(|before| left == before + 1), "{units}: {left}");
        left_before = Some(left);
    }
    assert_eq!(run(used).unwrap().gas.units(), 0);
}

/// A host that returns a value only if the gas suffices for it.
struct Sparing {
    world: MemoryHost,
    units: u64,
    refused: u32,
}

impl Sparing {
    fn allowed<T>(&mut self, found: Option<T>, value: impl Fn(&T) -> Option<&Value>) -> Result<Option<T>, HostError> {
        if found.as_ref().and_then(value).is_none_or(|value| value.size() <= self.units) {
            return Ok(found);
        }
        self.refused += 1;
        Err(HostError::too_large())
    }
}

impl Host for Sparing {
    fn limit(&mut self, units: u64, _work: u64) {
        self.units = units;
    }

    fn load(&mut self, field: &DeclaredField, keys: &[Key]) -> Result<Option<Value>, HostError> {
        let found = self.world.load(field, keys)?;
        self.allowed(found, |value| Some(value))
    }

    fn exists(&mut self, field: &DeclaredField, keys: &[Key]) -> Result<bool, HostError> {
        self.world.exists(field, keys)
    }

    fn store(&mut self, field: &DeclaredField, keys: &[Key], value: Value) -> Result<(), HostError> {
        self.world.store(field, keys, value)
    }

    fn delete(&mut self, field: &DeclaredField, keys: &[Key]) -> Result<(), HostError> {
        self.world.delete(field, keys)
    }

    fn remote(
        &mut self,
        address: &Address,
        name: &str,
        keys: &[Key],
        want: RemoteWant,
    ) -> Result<Option<Remote>, HostError> {
        let found = self.world.remote(address, name, keys, want)?;
        self.allowed(found, |remote| remote.value.as_ref())
    }

    fn block_number(&mut self) -> Result<BNum, HostError> {
        self.world.block_number()
    }

    fn chain_id(&mut self) -> Result<u32, HostError> {
        self.world.chain_id()
    }

    fn timestamp(&mut self, block: &BNum) -> Option<u64> {
        self.world.timestamp(block)
    }
}

#[test]
fn value_is_not_read_without_gas_for_it() {
    let uint = || Type::from(Primitive::Uint(crate::types::Width::W32));
    let entries = |count: u32| {
        let mut map = Map::new(uint(), uint());
        (0..count).for_each(|key| drop(map.insert(Key::new(Value::from(key)).unwrap(), Value::from(key))));
        Value::Map(map)
    };
    let mut outer = Map::new(uint(), Type::map(uint(), uint()));
    outer.insert(Key::new(Value::from(0_u32)).unwrap(), entries(9));
    for statement in ["x <- m", "x <- n[zero]", "x <- & at.m", "x <- & at.n[zero]"] {
        let text = format!(
            "scilla_version 0 contract C () field m : Map Uint32 Uint32 = Emp Uint32 Uint32
            field n : Map Uint32 (Map Uint32 Uint32) = Emp Uint32 (Map Uint32 Uint32)
            transition T() zero = Uint32 0; at = _sender; {statement} end"
        );
        let mut world = World::new(&text, &[]).unwrap();
        for (name, ty, value) in
            [("m", Type::map(uint(), uint()), entries(10)), ("n", outer.ty(), Value::Map(outer.clone()))]
        {
            let field = StateField { name: name.into(), ty: ty.clone(), value: value.clone() };
            world.host.store(&DeclaredField { name: name.into(), ty }, &[], value).unwrap();
            world.host.accounts.values_mut().for_each(|account| account.push(field.clone()));
        }
        let run = |units: u64, sparing: bool| {
            let mut host = Sparing { world: world.host.clone(), units: 0, refused: 0 };
            let on: &mut dyn Host = if sparing { &mut host } else { &mut host.world };
            let outcome = world.call_on(on, "T", 0, &[], units);
            (outcome.map(|done| done.gas).map_err(|failed| (failed.failure, failed.gas)), host.refused)
        };
        let (refused, paid): (Vec<u64>, Vec<u64>) = (0..300).partition(|units| {
            let (outcome, refused) = run(*units, true);
            assert_eq!(outcome, run(*units, false).0, "{statement} with {units}");
            refused > 0
        });
        assert!(refused.len() > 50, "{statement}");
        assert!(run(*paid.last().unwrap(), true).0.is_ok(), "{statement}");
    }
}

#[test]
fn libraries_that_are_kept_fail_as_those_that_are_evaluated() {
    let make = || {
        let module = parse_expression("test.scilexp", b"True").unwrap();
        let program = resolve::expression(module, &["IntUtils", "ListUtils"], &Standard).unwrap();
        Arc::new(Code::of_expression_unchecked(&program))
    };
    let load = |code: &Arc<Code>, units| {
        let loaded = code.load(Settings::default(), Meter::with_units(units));
        loaded.map(|loaded| loaded.gas.units()).map_err(|failed| (failed.failure, failed.gas))
    };
    let (kept, new) = (make(), make());
    let all = 5 + 196 + 20;
    assert_eq!(load(&kept, all), Ok(0));
    for units in 0..all {
        let failed = load(&new, units);
        assert!(failed.is_err());
        assert_eq!(load(&kept, units), failed, "{units}");
    }
}
