use super::*;
use crate::{
    resolve::{self, FoundLibrary, LibrarySource, Origin},
    syntax,
};

/// A source of libraries with these names and texts.
struct Libraries(&'static [(&'static str, &'static str)]);

impl LibrarySource for Libraries {
    fn find(&self, target: &str) -> Result<Option<FoundLibrary>, Failure> {
        let found = self.0.iter().find(|(name, _)| *name == target);
        Ok(found.map(|(name, text)| FoundLibrary {
            file: format!("{name}.scillib").into(),
            text: text.as_bytes().into(),
            origin: Origin::default(),
        }))
    }
}

const NONE: Libraries = Libraries(&[]);

fn try_contract(text: &str, libraries: &Libraries, gas: u64) -> Result<CheckedContract<'static>, Rejected> {
    let module = syntax::parse_contract("test.scilla", text.as_bytes()).expect("the text parses");
    let program = resolve::contract(module, &Origin::default(), libraries).expect("the names resolve");
    // A checked contract refers to its program.
    contract(Box::leak(Box::new(program)), &Options::with_limit(gas))
}

#[test]
fn only_a_checked_contract_becomes_code() {
    let text = |value| format!("scilla_version 0\ncontract C ()\nfield a : Uint32 = {value}");
    let rejected = try_contract(&text("Uint64 1"), &NONE, 1000).map(|checked| Code::of_contract(&checked));
    let expected = "3:7 Type unassignable: Uint32 expected, but Uint64 provided";
    assert_eq!(errors_of(rejected), [expected]);
    let code = try_contract(&text("Uint32 1"), &NONE, 1000).map(|checked| Code::of_contract(&checked));
    assert_eq!(code.unwrap().fields().count(), 1);
}

fn errors_of(outcome: Result<impl Sized, Rejected>) -> Vec<String> {
    let entries = outcome.err().map(|rejected| rejected.failure.into_entries()).unwrap_or_default();
    entries.iter().map(|entry| format!("{}:{} {}", entry.start.line, entry.start.column, entry.message)).collect()
}

/// Checks the errors of a contract. The first line of `parts` is line 2 of the text.
fn check(parts: &str, expected: &[&str]) {
    let text = format!("scilla_version 0\n{parts}");
    assert_eq!(errors_of(try_contract(&text, &NONE, 1000)), expected, "{text}");
}

/// Checks the errors of a transition `t` with these statements, which begin in line 4.
fn check_statements(statements: &str, expected: &[&str]) {
    let fields = "field n : Uint32 = Uint32 0 field m : Map ByStr20 (Map String Bool) = Emp ByStr20 (Map String Bool)";
    check(
        &format!(
            "contract C () {fields}\ntransition t (a : ByStr20 with contract field f : Bool end)\n{statements}\nend"
        ),
        expected,
    );
}

/// Checks the type of an expression, or its error.
fn check_expression(text: &str, expected: &str) {
    let module = syntax::parse_expression("test.scilexp", text.as_bytes()).expect("the text parses");
    let program = resolve::expression(module, &[], &NONE).expect("the names resolve");
    let found = match expression(&program, &Options::with_limit(1000)) {
        Ok(checked) => checked.summary.global().to_string(),
        Err(rejected) => errors_of(Err::<(), _>(rejected)).join("; "),
    };
    assert_eq!(found, expected, "{text}");
}

#[test]
fn functions_take_what_fits() {
    check_expression("fun (x : Uint32) => x", "Uint32 -> Uint32");
    check_expression(
        "let f = fun (x : ByStr20) => x in fun (a : ByStr20 with end) => f a",
        "ByStr20 with end -> ByStr20",
    );
    check_expression(
        "let f = fun (x : Uint32) => x in let s = \"a\" in f s",
        "1:49 Type unassignable: Uint32 expected, but String provided",
    );
    check_expression(
        "let f = fun (x : Uint32) => x in let u = Uint32 1 in f u u",
        "1:54 Ill-typed function application: The type\nUint32\ndoesn't apply, as a function, to the arguments of types\n[Uint32].",
    );
}

#[test]
fn an_annotation_is_checked_and_forgotten() {
    check_expression("let x : ByStr20 = 0x0102030405060708090a0b0c0d0e0f1011121314 in x", "ByStr20");
    check_expression("let x : Uint32 = Int32 1 in x", "1:18 Type unassignable: Uint32 expected, but Int32 provided");
    // The name keeps the inferred type, which has more requirements than the annotation.
    check_expression(
        "fun (a : ByStr20 with end) => let b : ByStr20 = a in let f = fun (c : ByStr20 with end) => c in f b",
        "ByStr20 with end -> ByStr20 with end",
    );
}

#[test]
fn names_must_be_known() {
    check_expression("x", "1:1 Couldn't resolve identifier: x");
    check_expression("fun (x : Colour) => x", "1:10 ADT not found: Colour");
    check_expression(
        "fun (x : Pair Bool) => x",
        "1:10 ADT type constructor arity mismatch: ADT type Pair expects 2 arguments but got 1",
    );
    check_expression("fun (x : 'A) => x", "0:0 Unbound type variable in type 'A: 'A");
    check_expression("let r = Red in r", "1:9 No data type with this constructor found: Red");
}

#[test]
fn constructors_take_their_arguments() {
    check_expression("let t = True in Some {Bool} t", "Option (Bool)");
    check_expression(
        "let t = True in Some t",
        "1:17 Constructor type arguments arity mismatch: Some expects 1 type arguments, but got 0.",
    );
    check_expression("Some {Bool}", "1:1 Constructor arity mismatch: Some expects 1 arguments, but got 0.");
    check_expression("let t = True in Some {Nat} t", "1:17 Type unassignable: Nat expected, but Bool provided");
}

#[test]
fn type_functions_take_types() {
    check_expression("tfun 'A => fun (x : 'A) => x", "forall 'A. 'A -> 'A");
    check_expression("let id = tfun 'A => fun (x : 'A) => x in @id Bool", "Bool -> Bool");
    check_expression("tfun 'A => tfun 'A => True", "1:17 Type variable is already in use: 'A");
    check_expression(
        "let id = tfun 'A => fun (x : 'A) => x in @id Bool Nat",
        "1:42 Cannot elaborate type application: Expression of type\nBool -> Bool\napplied, as a type function, to type arguments\n[Nat].",
    );
}

#[test]
fn a_type_is_renamed_before_it_is_caught() {
    check_expression(
        "let k = tfun 'A => tfun 'B => fun (a : 'A) => fun (b : 'B) => a in tfun 'B => @k 'B",
        "forall 'B. forall 'B1. 'B -> 'B1 -> 'B",
    );
}

#[test]
fn branches_have_one_type() {
    check_expression("fun (b : Bool) => match b with | True => Zero | False => Zero end", "Bool -> Nat");
    check_expression(
        "fun (b : Bool) => match b with | True => Zero | False => b end",
        "1:19 Not all types of pattern matching branches are equivalent: [Nat; Bool]",
    );
    check_expression(
        "fun (b : Bool) => match b with | Zero => b end",
        "1:34 Wrong constructor in pattern matching: Expected a constructor of type Bool, but a constructor of type Nat is given",
    );
    check_expression("fun (n : Uint32) => match n with | Zero => n end", "1:36 Not an algebraic data type: Uint32");
    check_expression(
        "fun (n : Nat) => match n with | Succ => n end",
        "1:33 Constructor type arguments arity mismatch: Succ expects 1 type arguments, but got 0.",
    );
}

#[test]
fn sub_patterns_are_judged_from_the_right() {
    check_expression(
        "fun (p : Pair Uint32 Uint32) => match p with | Pair (Some x) (Some y) => p end",
        "1:63 Not an algebraic data type: Uint32",
    );
}

#[test]
fn matches_cover_everything_and_nothing_twice() {
    let wrapper = "1:18 Type error in pattern matching on `n` of type Nat (or one of its branches):\n";
    let missing = format!("{wrapper}Non-exhaustive pattern match.");
    check_expression("fun (n : Nat) => match n with | Zero => n | Succ (Succ m) => n end", &missing);
    let unreachable = format!("{wrapper}Pattern is unreachable: 3");
    check_expression("fun (n : Nat) => match n with | Zero => n | Succ m => m | _ => n end", &unreachable);
    check_expression(
        "fun (n : Nat) => match n with | Succ (Succ m) => n | Zero => n | Succ Zero => n end",
        "Nat -> Nat",
    );
}

#[test]
fn pairs_of_constructors_are_distinguished() {
    let over = |clauses: &str| format!("fun (p : Pair Bool (Option Bool)) => match p with {clauses} end");
    let wrapped = |text: &str| {
        format!(
            "1:38 Type error in pattern matching on `p` of type Pair (Bool) (Option (Bool)) (or one of its branches):\n{text}"
        )
    };
    let fine = "Pair (Bool) (Option (Bool)) -> Pair (Bool) (Option (Bool))";
    check_expression(
        &over("| Pair True (Some False) => p | Pair _ (Some True) => p | Pair False _ => p | Pair True None => p"),
        fine,
    );
    check_expression(
        &over("| Pair True (Some False) => p | Pair _ (Some True) => p | Pair False _ => p"),
        &wrapped("Non-exhaustive pattern match."),
    );
    check_expression(
        &over("| Pair True _ => p | Pair _ (Some True) => p | Pair True None => p | Pair False _ => p"),
        &wrapped("Pattern is unreachable: 3"),
    );
}

#[test]
fn messages_match_their_labels() {
    check_expression("let z = Uint128 0 in { _tag : \"\"; _amount : z }", "Message");
    check_expression("{ _eventname : \"e\"; _exception : \"x\" }", "Event");
    check_expression("{ _exception : \"x\"; n : Uint32 1 }", "Exception");
    check_expression("{ n : Uint32 1 }", "1:1 Invalid message construct.");
    check_expression(
        "{ _eventname : \"e\"; _amount : Int32 1 }",
        "1:1 Type mismatch for Message field: _amount. Expected Uint128 but got Int32",
    );
    check_expression(
        "fun (m : Map String Bool) => { _eventname : \"e\"; m : m }",
        "1:54 Cannot serialize values of type: Map (String) (Bool)",
    );
}

#[test]
fn built_in_functions_take_what_fits() {
    check_expression("fun (x : Uint32) => builtin add x x", "Uint32 -> Uint32");
    check_expression(
        "fun (x : Uint32) => fun (s : String) => builtin add x s",
        "1:49 Type error: cannot apply \"add\" built-in to argument(s) of type(s): [Uint32; String]",
    );
    check_expression(
        "fun (x : Uint32) => builtin add {Uint32} x x",
        "1:29 Type error: cannot apply \"add\" built-in to argument(s) of type(s): {[Uint32]} [Uint32; Uint32]",
    );
}

#[test]
fn only_type_applications_cost_gas() {
    let units = |text: &str| {
        let module = syntax::parse_expression("test.scilexp", text.as_bytes()).expect("the text parses");
        let program = resolve::expression(module, &[], &NONE).expect("the names resolve");
        let checked = expression(&program, &Options::with_limit(1000)).expect("the types are right");
        8000 - checked.meter.units()
    };
    assert_eq!(units("let id = tfun 'A => fun (x : 'A) => x in id"), 0);
    assert_eq!(units("let id = tfun 'A => fun (x : 'A) => x in @id Bool"), 3);
    assert_eq!(units("let id = tfun 'A => fun (x : 'A) => x in @id (Pair Bool Bool)"), 7);
    assert_eq!(units("let fold = @list_foldl Bool Nat in fold"), 25);
}

#[test]
fn types_that_grow_end_with_the_gas() {
    let doubling: Vec<_> = (0..40).map(|n| format!("let f{} = tfun 'A => @f{n} ('A -> 'A) in ", n + 1)).collect();
    let text = format!("let f0 = tfun 'A => fun (x : 'A) => x in {} f40", doubling.concat());
    check_expression(&text, "0:0 Insufficient gas");
}

#[test]
fn visits_of_large_types_are_proportional_to_the_gas() {
    let with = |uses: usize| {
        let mut text = String::from("let f = tfun 'A => fun (x : 'A) => x in ");
        text += &"let f = tfun 'A => @f ('A -> 'A) in ".repeat(12);
        text += "let large = @f Uint32 in let n = Uint32 1 in let give = fun (x : Uint32) => large in ";
        text += &"let y = give n in ".repeat(uses);
        text + "n"
    };
    let check = |text: &str| {
        let module = syntax::parse_expression("test.scilexp", text.as_bytes()).expect("the text parses");
        let program = resolve::expression(module, &[], &NONE).expect("the names resolve");
        errors_of(expression(&program, &Options::with_limit(100_000)))
    };
    assert_eq!(check(&with(100)), [""; 0]);
    let [error] = <[String; 1]>::try_from(check(&with(1000))).expect("one error");
    assert!(error.starts_with("0:0 Types of more than "), "{error}");
}

#[test]
fn long_chains_are_typed() {
    let lets: Vec<_> = (0..10_000).map(|n| format!("let x{} = x{n} in ", n + 1)).collect();
    check_expression(&format!("fun (x0 : Bool) => {} x10000", lets.concat()), "Bool -> Bool");
}

#[test]
fn nested_matches_do_not_overflow() {
    let nested =
        |inner: &str, depth: usize| format!("{}{inner}{}", "match b with | _ => ".repeat(depth), " end".repeat(depth));
    let statements = nested(&format!("x = {}", nested("b", 100)), 140);
    check(&format!("contract C ()\ntransition t (b : Bool)\n{statements}\nend"), &[]);
    check_expression(&format!("fun (b : Bool) => {}", nested("b", 240)), "Bool -> Bool");
    let lets = format!("{}b{}", "let x = ".repeat(240), " in x".repeat(240));
    check_expression(&format!("fun (b : Bool) => {lets}"), "Bool -> Bool");
}

#[test]
fn functions_of_too_many_parameters_are_refused() {
    let chain = |n: usize| "fun (x : Bool) => ".repeat(n) + "x";
    check_expression(
        &chain(crate::types::formation::MAX_DEPTH - 1),
        &("Bool -> ".repeat(crate::types::formation::MAX_DEPTH - 1) + "Bool"),
    );
    check_expression(&chain(20_000), "1:1 Type is nested too deeply");
}

#[test]
fn fields_are_read_and_written_with_their_types() {
    check_statements("x <- n; n := x", &[]);
    check_statements("x = True; n := x", &["4:16 Type unassignable: Uint32 expected, but Bool provided"]);
    check_statements("x <- nothing", &["4:6 Couldn't resolve identifier: nothing"]);
    check_statements("x <- _balance; y = builtin add x x", &[]);
}

#[test]
fn entries_of_maps_are_reached_by_keys() {
    check_statements(
        "k = \"k\"; x <- m[_sender][k]; match x with | Some b => m[a][k] := b | None => delete m[a] end",
        &[],
    );
    check_statements("k = \"k\"; x <- exists m[k]", &["4:24 Type unassignable: ByStr20 expected, but String provided"]);
    check_statements("k = \"k\"; x <- m[a][k][k]", &["4:23 Type failure in map access. Cannot index into key: k"]);
    check_statements(
        "k = \"k\"; m[a] := k",
        &["4:18 Type unassignable: Map (String) (Bool) expected, but String provided"],
    );
}

#[test]
fn addresses_are_read_as_far_as_they_are_known() {
    check_statements("x <- & a.f; y <- & a._balance; z <- & _sender._balance", &[]);
    check_statements(
        "x <- & a.g",
        &["4:8 Field is not declared in address type: g is not declared in ByStr20 with contract field f : Bool end"],
    );
    check_statements("x <- & _sender._codehash", &["4:8 Invalid field read: _codehash from ByStr20 with end"]);
    check_statements("x <- & _this_address._balance", &["4:8 Invalid field read: _balance from ByStr20"]);
    check_statements("x <- & _sender as ByStr20 with contract field f : Bool end", &[]);
    check_statements(
        "s = \"\"; x <- & s as ByStr20 with end",
        &["4:16 Type unassignable: ByStr20 expected, but String provided"],
    );
}

#[test]
fn a_throw_is_judged_after_what_follows() {
    check_statements("s = \"\"; throw s; n := s", &["4:23 Type unassignable: Uint32 expected, but String provided"]);
    check_statements("s = \"\"; throw s; x <- n", &["4:15 Type unassignable: Exception expected, but String provided"]);
}

#[test]
fn bindings_of_a_branch_end_with_it() {
    check_statements(
        "b = True; match b with | True => x = b | False => end; y = x",
        &["4:60 Couldn't resolve identifier: x"],
    );
}

#[test]
fn chain_reads_have_their_types() {
    check_statements("b <- & BLOCKNUMBER; t <- & TIMESTAMP(b); c <- & CHAINID; n := c", &[]);
    check_statements(
        "c <- & CHAINID; t <- & TIMESTAMP(c)",
        &["4:34 Type unassignable: BNum expected, but Uint32 provided"],
    );
}

#[test]
fn procedures_are_called_from_below_with_what_they_take() {
    let with = |call: &str| {
        format!(
            "contract C ()\nprocedure p (x : Bool)\nend\nprocedure r (x : Bool) : Bool\n_return := x\nend\ntransition t (x : Bool, l : List Bool)\n{call}\nend"
        )
    };
    check(&with("p x; forall l p; y = r x"), &[]);
    check(&with("p l"), &["9:1 Type unassignable: Bool expected, but List (Bool) provided"]);
    check(&with("p x x"), &["9:1 Incorrect number of arguments to procedure"]);
    check(&with("forall x p"), &["9:8 Type unassignable: List (Bool) expected, but Bool provided"]);
    check(&with("forall l r"), &["9:10 Procedures with a return type cannot be used in forall statements: r"]);
    check(&with("y = p x"), &["9:5 Couldn't resolve identifier: p"]);
    check(&with("forall l q"), &["9:10 Procedure not found or has incorrect argument type: q"]);
    check(&with("_return := x"), &["9:1 Return statements in transition are prohibited"]);
    check(&with("q x"), &["2:10 Type error(s) in contract: C", "9:1 Procedure is not in scope: q"]);
}

#[test]
fn a_wrong_procedure_is_not_known_below() {
    check(
        "contract C ()\nprocedure p (m : Map String Bool)\nend\ntransition t (b : Bool)\np b\nend",
        &["3:14 Type cannot be used as procedure parameter: Map (String) (Bool)", "6:1 Procedure not found: p"],
    );
}

#[test]
fn parameters_and_fields_accept_storable_types_only() {
    check(
        "contract C (f : Bool -> Bool, m : Map String Bool)\nfield g : Bool -> Bool = fun (x : Bool) => x\n\
         transition t (m : Message)\nend\nprocedure p (m : Message) : Message\n_return := m\nend",
        &[
            "2:13 Type cannot be used as a contract parameter: Bool -> Bool",
            "3:7 Values of this type cannot be stored: Bool -> Bool",
            "4:15 Type cannot be used as transition parameter: Message",
        ],
    );
}

#[test]
fn after_a_wrong_field_no_field_is_known() {
    check(
        "contract C ()\nfield a : Bool = True\nfield b : Bool = Zero\ntransition t ()\nx <- a\nend",
        &["4:7 Type unassignable: Bool expected, but Nat provided", "6:6 Couldn't resolve identifier: a"],
    );
}

#[test]
fn the_constraint_is_a_truth_value() {
    check("contract C (x : Bool) with x =>", &[]);
    check("contract C (x : Nat) with x =>", &["2:27 Type unassignable: Bool expected, but Nat provided"]);
    check("contract C () with x =>", &["2:20 Couldn't resolve identifier: x"]);
}

#[test]
fn a_contract_without_constraint_in_whose_scope_true_is_no_truth_value_is_rejected() {
    let rejected = ["0:0 Type unassignable: Bool expected, but test.Q provided"];
    check("library L type Q = | True contract C ()", &rejected);
    check(
        "library L type Bool = | True | False contract C ()",
        &["0:0 Type unassignable: Bool expected, but test.Bool provided"],
    );
    // The checker checks the constraint of a contract.
    check(
        "library L type Q = | True let yes = let one = Uint32 1 in builtin eq one one contract C () with yes =>",
        &[],
    );
    let library = Libraries(&[("Lb", "scilla_version 0 library Lb type Q = | True")]);
    let text = "scilla_version 0 import Lb contract C ()";
    assert_eq!(errors_of(try_contract(text, &library, 1000)).len(), 1);
    let text = "scilla_version 0 import Lb as M contract C ()";
    assert_eq!(errors_of(try_contract(text, &library, 1000)), [""; 0]);
}

#[test]
fn variable_of_a_failed_entry_stays_in_scope() {
    // The body of the function is invalid, but its parameter stays in scope for the next entry.
    check(
        "library L\nlet f = fun (x : Bool) => builtin add x x\nlet g = x\ncontract C ()",
        &["3:35 Type error: cannot apply \"add\" built-in to argument(s) of type(s): [Bool; Bool]"],
    );
}

#[test]
fn an_entry_that_uses_a_wrong_one_is_not_looked_at() {
    check(
        "library L\nlet f = y\nlet g = f\nlet h = z\ncontract C ()",
        &["3:9 Couldn't resolve identifier: y", "5:9 Couldn't resolve identifier: z"],
    );
}

#[test]
fn the_gas_of_a_wrong_annotation_is_given_back() {
    let text = "scilla_version 0\nlibrary L\nlet id = tfun 'A => fun (x : 'A) => x\n\
                let f : Nat = @id (Pair Bool Bool)\ncontract C ()";
    let rejected = try_contract(text, &NONE, 1000).expect_err("the annotation is wrong");
    assert_eq!((rejected.meter.units(), rejected.reports_gas), (8000, true));
}

#[test]
fn data_types_are_defined_once_and_in_order() {
    let within = |entries: &str| format!("library L\n{entries}\ncontract C ()");
    check(&within("type T = | A of Bool | B of (List Nat)\ntype U = | D of T"), &[]);
    let headers =
        |line: usize| ["2:1 Type error in library: L".to_owned(), format!("{line}:1 Type error in library type: T")];
    let check_first = |entries: &str, error: &str| {
        let [library, entry] = headers(3);
        check(&within(entries), &["4:10 Type error(s) in contract: C", &library, &entry, error]);
    };
    check_first("type T = | A of T", "3:17 ADT not found: T");
    check_first("type T = | A of 'A", "3:10 Type variables not allowed in type definitions");
    check_first("type T = | A of (forall 'A. Bool)", "3:10 Type variables not allowed in type definitions");
}

#[test]
fn errors_of_the_first_phase_are_listed_by_part() {
    check(
        "library L\nlet x = Red\ncontract C (p : Colour)",
        &[
            "4:10 Type error(s) in contract: C",
            "2:1 Type error in library: L",
            "3:5 Type error in library variable: x",
            "3:9 No data type with this constructor found: Red",
            "4:17 ADT not found: Colour",
        ],
    );
}

#[test]
fn patterns_are_checked_part_by_part() {
    check(
        "library L\nlet f = fun (b : Bool) => match b with | True => b end\ncontract C ()\n\
         field g : Bool = let t = True in let u = match t with | _ => t | True => t end in u\n\
         transition t (n : Nat)\nmatch n with | Zero => end\nend",
        &[
            "4:10 Type error(s) in contract: C\n",
            "3:5 Error during pattern-match checking of library: f",
            "3:27 Type error in pattern matching on `b` of type Bool (or one of its branches):\nNon-exhaustive pattern match.",
            "5:7 Error during pattern-match checking of field: g\n",
            "5:42 Type error in the initialiser of `u`:\nType error in pattern matching on `t` of type Bool (or one of its branches):\nPattern is unreachable: 2",
            "6:12 Error during pattern-match checking of component: transition t:\n",
            "7:1 Type error in pattern matching on `n` (or one of its branches):\nNon-exhaustive pattern match.",
        ],
    );
}

#[test]
fn names_are_used_once() {
    check(
        "contract C (x : Bool, x : Bool)\nfield f : Bool = True field f : Bool = True\n\
         transition t (y : Bool, y : Bool, y : Bool)\nend\nprocedure t ()\nend",
        &[
            "2:13 Identifier used more than once: x",
            "3:7 Identifier used more than once: f",
            "4:12 Identifier used more than once: t",
            "4:15 Identifier used more than once: y",
            "4:25 Identifier used more than once: y",
        ],
    );
}

#[test]
fn messages_are_complete() {
    check_statements("m = { _tag : \"\"; _amount : Uint128 0 }", &["4:1 Missing _amount or _recipient in Message"]);
    check_statements(
        "e = { _eventname : \"\"; x : Uint32 0; x : Uint32 0 }",
        &["4:1 Identifier used more than once: x"],
    );
    check_statements(
        "e = let f = fun (b : Bool) => match b with | _ => { _tag : \"\" } end in f",
        &["4:37 Missing _amount or _recipient in Message"],
    );
}

#[test]
fn procedures_return_at_the_end_of_every_way() {
    let with = |body: &str| format!("contract C ()\nprocedure p (b : Bool) : Bool\n{body}\nend");
    check(&with("match b with | True => _return := b | False => _return := b end"), &[]);
    check(&with("_return := b; c = b"), &["4:1 Found unreachable code after the return statement"]);
    check(
        &with("match b with | True => _return := b | False => end"),
        &["4:7 Every arm of the match statement must return because one of the arms returns"],
    );
    check(
        &with("match b with | _ => _return := b end; c = b"),
        &["4:1 Found unreachable code after the match statement whose arms return"],
    );
    check(&with("c = b"), &["3:11 Procedure with return value doesn't return: p"]);
    // Statements after a match that returns in no branch are not checked.
    check(&with("match b with | _ => end; _return := b"), &["3:11 Procedure with return value doesn't return: p"]);
}

#[test]
fn events_of_one_name_carry_the_same() {
    let two = |second: &str| {
        format!("e = {{ _eventname : \"e\"; x : Uint32 0; a : a }}; f = {{ _eventname : \"e\"; {second} }}")
    };
    check_statements(&two("a : _sender; x : Uint32 1"), &[]);
    check_statements(
        &two("x : Uint32 1"),
        &["4:48 Parameter mismatch for event e: [(x : Uint32); (a : ByStr20); ] vs [(x : Uint32); ]"],
    );
    check_statements("s = \"\"; e = { _eventname : s }", &["4:9 Error determining event name\n"]);
}

#[test]
fn other_versions_are_refused_last() {
    let rejected = try_contract("scilla_version 7\ncontract C ()", &NONE, 1000).expect_err("another version");
    assert!(!rejected.reports_gas);
    assert_eq!(errors_of(Err::<(), _>(rejected)), ["0:0 Scilla version mismatch. Expected 0 vs Contract 7\n"]);
}

#[test]
fn imported_libraries_are_checked_once_and_before_the_contract() {
    let libraries = Libraries(&[
        ("A", "scilla_version 0\nimport B\nlibrary A\nlet y = let f = @id Bool in let t = True in f t"),
        ("B", "scilla_version 0\nlibrary B\nlet id = tfun 'A => fun (x : 'A) => x\nlet w = @id Nat\ntype T = | K"),
    ]);
    let text = "scilla_version 0\nimport A B\nlibrary L\nlet z = builtin eq y y\ncontract C (t : T)";
    let rejected = try_contract(text, &libraries, 1000).expect_err("there is no such function");
    assert_eq!((rejected.meter.units(), rejected.reports_gas), (8000 - 3 - 3, true));
    assert_eq!(
        errors_of(Err::<(), _>(rejected)),
        ["4:17 Type error: cannot apply \"eq\" built-in to argument(s) of type(s): [Bool; Bool]"],
    );
}

#[test]
fn out_of_gas_ends_the_check() {
    let text = "scilla_version 0\nlibrary L\nlet id = tfun 'A => fun (x : 'A) => x\nlet f = y\n\
                let g = @id (Pair (Pair Bool Bool) (Pair Bool Bool))\ncontract C ()";
    let rejected = try_contract(text, &NONE, 1).expect_err("a gas is eight units");
    assert_eq!((rejected.meter.units(), rejected.reports_gas), (0, true));
    assert_eq!(errors_of(Err::<(), _>(rejected)), ["4:9 Couldn't resolve identifier: y", "0:0 Insufficient gas"]);
}

#[test]
fn a_contract_is_summarised() {
    let text = "scilla_version 0\nlibrary L\ntype T = | K of Uint32\ncontract C (p : Bool)\n\
                field f : Map ByStr20 (Map String T) = Emp ByStr20 (Map String T)\n\
                procedure q ()\ne = { _eventname : \"e\"; n : Uint32 1 }; event e\nend\n\
                transition t (a : ByStr20 with end)\nq\nend";
    let summary = try_contract(text, &NONE, 1000).expect("nothing is wrong").summary;
    assert_eq!(*summary.name, *"C");
    let fields: Vec<_> = summary.fields.iter().map(|field| (field.ty.global().to_string(), field.depth)).collect();
    assert_eq!(fields, [("Map (ByStr20) (Map (String) (test.T))".to_owned(), 2)]);
    let parameters = summary.transitions.iter().flat_map(|transition| &transition.parameters);
    let parameters: Vec<_> = parameters.map(|parameter| parameter.ty.global().to_string()).collect();
    assert_eq!(parameters, ["ByStr20 with end"]);
    assert_eq!(summary.procedures.len(), 1);
    assert_eq!(summary.events.iter().map(|event| event.name.as_ref()).collect::<Vec<_>>(), ["e"]);
    assert_eq!(summary.data_types.len(), 6);
    let graph = summary.call_graph.to_string();
    assert!(graph.contains("t -> q [style=\"solid\", ];"), "{graph}");
}

/// Returns the warnings about a contract, the oldest first.
fn warnings(parts: &str) -> Vec<String> {
    let checked = try_contract(&format!("scilla_version 0\n{parts}"), &NONE, 1000).expect("nothing is wrong");
    let errors_of = checked.warnings.iter().rev();
    errors_of.map(|warning| format!("{}:{} {}", warning.start.line, warning.start.column, warning.message)).collect()
}

#[test]
fn shadowed_names_get_warnings() {
    let found = warnings(
        "contract C (x : Bool)\nfield f : Bool = x\ntransition t (y : Bool)\nx = y; f = x; f := f;\n\
         z = x; match z with | True => y <- f; z = y; f := z | False => end\nend",
    );
    assert_eq!(
        found,
        [
            "5:1 Name x shadows a contract parameter.",
            "5:8 Name f shadows a field declaration.",
            "6:31 Name y shadows a transition parameter.",
            "6:39 z is a new variable. It does not reassign the previously defined variable.",
        ],
    );
}

#[test]
fn unused_items_get_warnings() {
    let found = warnings(
        "library L\nlet a = True\ntype T = | K | J\nlet b = let c = a in K\n\
         contract C (p : Bool)\nfield r : Bool = True field w : Bool = True field n : Bool = True\n\
         procedure q (b : Bool)\nend\ntransition t (o : Option Bool)\nx <- r; y = x; w := y; z <- r;\n\
         match o with | Some s => | None => end\nend",
    );
    assert_eq!(
        found,
        [
            "8:14 Unused procedure parameter: b",
            "12:21 Unused match bound: s",
            "11:24 Unused load statement to: z",
            "6:13 Unused contract parameter: p",
            "8:11 Unused procedure: q",
            "5:5 Unused library value: b",
            "5:13 Unused let expression: c",
            "4:14 Unused ADT constructor: J",
            "3:5 Unused library value: a",
            "11:29 Read only field, consider making it a contract parameter: r",
            "11:16 Write only field: w",
            "7:51 Unused field: n",
        ],
    );
}

#[test]
fn boxed_options_and_whole_maps_get_warnings() {
    let found = warnings(
        "contract C ()\nfield m : Map String Bool = Emp String Bool\nfield c : Option Bool = None {Bool}\n\
         transition t (k : String)\nx <- m[k]; y <- m[k]; c := y; n <- m; m := n\nend",
    );
    assert_eq!(
        found,
        [
            "6:36 Consider using in-place Map access",
            "6:1 Variable x has the Option type, but it wasn't unboxed. Probably, you should match it before using it.",
            "6:1 Unused map get statement to: x",
            "6:23 Write only field: c",
        ],
    );
}

#[test]
fn accepts_are_reported_on_request() {
    let text = "scilla_version 0\ncontract C ()\ntransition t (b : Bool)\naccept; match b with | True => accept | False => end\nend";
    let module = syntax::parse_contract("test.scilla", text.as_bytes()).expect("the text parses");
    let program = resolve::contract(module, &Origin::default(), &NONE).expect("the names resolve");
    let options = Options { money: Some(TokenFields::new()), ..Options::with_limit(1000) };
    let checked = contract(&program, &options).expect("nothing is wrong");
    let errors_of: Vec<_> = checked.warnings.iter().map(|warning| warning.message.as_str()).collect();
    let expected = "transition t has a potential code path with duplicate accept statements:\n  \
                    Accept at test.scilla:4:1\n  Accept at test.scilla:4:32\n";
    assert_eq!(errors_of, [expected]);
}

#[test]
fn a_library_is_checked() {
    let try_library = |text: &str| {
        let module = syntax::parse_library("Lib.scillib", text.as_bytes()).expect("the text parses");
        let program = resolve::library(module, &Origin::default(), &NONE).expect("the names resolve");
        library(&program, &Options::with_limit(1000)).map(|checked| checked.summary)
    };
    assert!(try_library("scilla_version 0\nlibrary Lib\nlet x = True").is_ok());
    assert_eq!(
        errors_of(try_library("scilla_version 0\nlibrary Lib\ntype T = | A of T")),
        ["2:1 Type error(s) in library: Lib", "2:1 Internal error in typing library module."],
    );
    assert_eq!(
        errors_of(try_library("scilla_version 0\nlibrary Lib\nlet x = fun (b : Bool) => match b with | True => b end")),
        [
            "3:5 Error during pattern-match checking of library: x",
            "3:27 Type error in pattern matching on `b` of type Bool (or one of its branches):\nNon-exhaustive pattern match.",
        ],
    );
}

#[test]
fn unused_bindings_get_warnings() {
    let found = warnings(
        "contract C ()\nprocedure p () : Bool\nr = True; _return := r\nend\n\
         transition t (a : ByStr20 with contract field f : Map String Bool, field g : Bool, field h : Bool end)\n\
         b = \"\";\nx <- & a.g;\nx <- & a.f[b];\nx <- & BLOCKNUMBER;\nx <- & a as ByStr20 with end;\nx = b;\nx = p\nend",
    );
    assert_eq!(
        found,
        [
            "9:1 Variable x has the Option type, but it wasn't unboxed. Probably, you should match it before using it.",
            "13:1 Unused local binding: x",
            "11:1 Unused type cast statement to: x",
            "10:1 Unused Read From BC statement to: x",
            "9:1 Unused remote map get statement to: x",
            "8:1 Unused remote load statement to: x",
            "6:90 Unused field in contract address type: h",
        ],
    );
    assert_eq!(warnings("contract C ()\ntransition t ()\nx = True\nend"), ["4:1 Unused bind statement to: x"]);
}

/// The reference does not end the use of a name at a call or at a read of the chain.
#[test]
fn an_earlier_binding_of_a_call_or_of_a_chain_read_gets_no_warning() {
    let found = |second: &str| {
        warnings(&format!(
            "contract C ()\nprocedure p () : BNum\nb = BNum 1; _return := b\nend\n\
             transition t ()\nx = BNum 0;\n{second};\ne = {{ _eventname : \"E\"; x : x }};\nevent e\nend"
        ))
    };
    let unused = "7:1 Unused bind statement to: x".to_owned();
    let unused_in =
        |found: Vec<String>| found.into_iter().filter(|text| text.contains("Unused bind")).collect::<Vec<_>>();
    assert_eq!(unused_in(found("y = p;\nx = y")), [unused]);
    assert_eq!(unused_in(found("x = p")), [""; 0]);
    assert_eq!(unused_in(found("x <- & BLOCKNUMBER")), [""; 0]);
}

#[test]
fn unused_data_types_get_warnings() {
    let found = warnings(
        "library L\ntype T = | A | B\ntype U = | D\nlet f = fun (t : T) => match t with | A => t | B => t end\n\
         contract C ()\nfield g : Bool = let t = A in let u = f t in match u with | A => True | B => False end\n",
    );
    assert_eq!(
        found,
        [
            "4:1 Unused library ADT: U",
            "3:14 Unused ADT constructor: B",
            "5:48 Unreachable pattern B",
            "7:7 Unused field: g",
        ],
    );
}

#[test]
fn unused_libraries_get_warnings() {
    let libraries = Libraries(&[("Lib", "scilla_version 0 library Lib let a = True")]);
    let errors_of = |text: &str| {
        let checked = try_contract(text, &libraries, 1000).expect("nothing is wrong");
        checked.warnings.iter().map(|warning| warning.message.clone()).collect::<Vec<_>>()
    };
    assert_eq!(errors_of("scilla_version 0 import Lib contract C ()"), ["Unused imported library: Lib"]);
    assert_eq!(errors_of("scilla_version 0 import Lib contract C () with a =>"), [""; 0]);
}

#[test]
fn odd_messages_hashes_and_patterns_get_warnings() {
    let found = warnings(
        "library L\nlet f = fun (p : Pair Bool Bool) => match p with | Pair x x => x end\n\
         contract C ()\ntransition t (l : List Bool)\n\
         z = Uint128 0;\nm = { _tag : \"\"; _recipient : _sender; _amount : z };\nh = builtin sha256hash l;\n\
         e = { _eventname : \"E\"; h : h };\nevent e;\nn = Nil {Message};\no = Cons {Message} m n;\nsend o\nend",
    );
    assert_eq!(
        found,
        [
            "7:1 Consider using \"AddFunds\" tag instead of empty tag as suggested by ZRC-5",
            "3:59 Deprecated: variable x shadows a previous binding in the same pattern.",
            "8:24 A hashing builtin is applied to argument \"l\" whose compound type makes it prone to hash collisions. Consider using values of more primitive types in your hashing scheme.",
            "3:5 Unused library value: f",
        ],
    );
}

#[test]
fn calls_that_all_callers_repeat_get_warnings() {
    let found = warnings(
        "contract C ()\nprocedure check ()\ne = { _exception : \"E\" };\nthrow e\nend\n\
         procedure work ()\ncheck\nend\ntransition t ()\ncheck;\nwork\nend",
    );
    assert_eq!(found, ["8:1 Redundant call to procedure check. This call can be safely removed."]);
}

#[test]
fn contracts_that_send_and_never_accept_money_get_warnings() {
    let errors_of = |amount: &str| {
        let text = format!(
            "scilla_version 0\nlibrary L let zero = Uint128 0\ncontract C ()\ntransition t ()\n\
             m = {{ _tag : \"T\"; _recipient : _sender; _amount : {amount} }}; n = Nil {{Message}};\n\
             o = Cons {{Message}} m n; send o\nend"
        );
        let module = syntax::parse_contract("test.scilla", text.as_bytes()).expect("the text parses");
        let program = resolve::contract(module, &Origin::default(), &NONE).expect("the names resolve");
        let options = Options { money: Some(TokenFields::new()), ..Options::with_limit(1000) };
        let checked = contract(&program, &options).expect("nothing is wrong");
        checked.warnings.iter().any(|it| it.message == "No transition in contract C contains an accept statement\n")
    };
    assert!(errors_of("Uint128 1"));
    assert!(!errors_of("Uint128 0"));
    assert!(!errors_of("zero"));
    assert!(errors_of("_amount"));
}

#[test]
fn return_values_of_procedures_are_checked() {
    let with = |result: &str, body: &str| format!("contract C ()\nprocedure p () {result}\n{body}\nend\n");
    let map = with(": Map String Bool", "");
    check(&map, &["3:11 Type procedure is not a legal return type: Map (String) (Bool)"]);
    check(
        &with("", "t = True; _return := t"),
        &["4:11 Procedure p cannot return because it doesn't have a return type"],
    );
    check(
        "contract C ()\ntransition t ()\nt = True; _return := t\nend",
        &["4:11 Return statements in transition are prohibited"],
    );
}

#[test]
fn a_match_has_clauses() {
    check_expression(
        "let t = True in match t with end",
        "1:17 List of pattern matching clauses is empty: match t with end",
    );
    check_statements(
        "match a with end",
        &["0:0 List of clauses for pattern matching statement is empty: match a with end"],
    );
}

#[test]
fn a_binding_whose_match_is_wrong_is_named() {
    check(
        "contract C ()\ntransition t (b : Bool)\nx = match b with | True => b end\nend",
        &[
            "2:10 Type error(s) in contract: C\n",
            "3:12 Error during pattern-match checking of component: transition t:\n",
            "4:5 Type error in the binding to into `x`:\nType error in pattern matching on `b` of type Bool (or one of its branches):\nNon-exhaustive pattern match.",
        ],
    );
}

#[test]
fn data_types_may_hold_others_by_the_thousand() {
    let types = (1..5_000).map(|level| format!("type T{level} = | C{level} of T{0} T{0}\n", level - 1));
    let types = types.collect::<String>();
    check(
        &format!(
            "library L\ntype T0 = | C0\n{types}contract C (x : T4999)\ntransition t (y : T4999)\ne = {{ _eventname : \"E\"; y : y }}; event e\nend"
        ),
        &[],
    );
}
