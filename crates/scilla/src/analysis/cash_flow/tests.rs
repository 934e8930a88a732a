use super::*;
use crate::{
    check::{self, Options},
    report::Failure,
    resolve::{self, FoundLibrary, LibrarySource, Origin},
    syntax,
};

struct NoLibraries;

impl LibrarySource for NoLibraries {
    fn find(&self, _: &str) -> Result<Option<FoundLibrary>, Failure> {
        Ok(None)
    }
}

fn cash_flow(text: &str, tokens: &[&str]) -> CashFlow {
    let module = syntax::parse_contract("test.scilla", text.as_bytes()).expect("the text parses");
    let program = resolve::contract(module, &Origin::default(), &NoLibraries).expect("the names resolve");
    let tokens = tokens.iter().map(|&name| name.to_owned()).collect();
    let options = Options { money: Some(tokens), ..Options::with_limit(1_000_000) };
    let checked = check::contract(&program, &options).unwrap_or_else(|rejected| panic!("{rejected}\n{text}"));
    checked.summary.cash_flow.expect("it was asked for")
}

/// Checks the tags of the parameters and fields of a contract, in the form `name: tag, name: tag`. The tags of
/// constructors follow.
fn check_module(parts: &str, tokens: &[&str], expected: &str) {
    let text = format!("scilla_version 0\n{parts}");
    let found = cash_flow(&text, tokens);
    let mut tags_found: Vec<_> = found.variables.iter().map(|(name, tag)| format!("{name}: {tag}")).collect();
    for constructor in found.data_types.iter().flat_map(|of| &of.constructors) {
        let tags = constructor.arguments.iter().map(|tag| tag.as_ref().map_or_else(|| "_".into(), Tag::to_string));
        tags_found.push(format!("{}: {}", constructor.name.as_written(), tags.collect::<Vec<_>>().join(" ")));
    }
    assert_eq!(tags_found.join(", "), expected, "{text}");
}

/// Checks the tags of a contract with these fields and a transition with these statements. In the statements, `a` is
/// an amount, `b` an address, and `c` the address of a contract.
fn check(fields: &str, statements: &str, expected: &str) {
    let transition = "transition T (a : Uint128, b : ByStr20, c : ByStr20 with contract field n : Uint128 end)";
    check_module(&format!("contract C ()\n{fields}\n{transition}\n{statements}\nend"), &[], expected);
}

fn repeat(times: usize, part: impl Fn(usize) -> String) -> String {
    (0..times).map(part).collect::<Vec<_>>().concat()
}

const F: &str = "field f : Uint128 = Uint128 0";
const FG: &str = "field f : Uint128 = Uint128 0 field g : Uint128 = Uint128 0";
const OPTIONS: &str = "field f : Option Uint128 = None {Uint128} field g : Option Uint128 = None {Uint128}";
const MAP: &str = "field f : Uint128 = Uint128 0 field m : Map ByStr20 Uint128 = Emp ByStr20 Uint128";

#[test]
fn amount_and_balance_are_money() {
    check(F, "f := _amount", "f: Money");
    check(F, "x <- _balance; f := x", "f: Money");
    check("field f : ByStr20 = 0x1234567890123456789012345678901234567890", "f := _sender", "f: NotMoney");
    check("field f : ByStr20 = 0x1234567890123456789012345678901234567890", "f := _origin", "f: NotMoney");
    check(F, "f := a", "f: NoInfo");
    check(F, "accept", "f: NoInfo");
}

#[test]
fn entries_of_a_message_are_money_or_not_money() {
    check(
        "field f : Uint128 = Uint128 0 field r : ByStr20 = 0x1234567890123456789012345678901234567890 \
         field t : String = \"\" field o : Uint128 = Uint128 0",
        "x <- f; y <- r; z <- t; w <- o; m = { _tag : z; _recipient : y; _amount : x; other : w }",
        "f: Money, r: NotMoney, t: NotMoney, o: NoInfo",
    );
}

#[test]
fn block_number_is_not_money() {
    check("field f : BNum = BNum 0", "x <- & BLOCKNUMBER; f := x", "f: NotMoney");
}

#[test]
fn uses_that_do_not_go_together_are_inconsistent() {
    let fields = "field f : Uint128 = Uint128 0 field m : Map Uint128 Bool = Emp Uint128 Bool";
    check(fields, "x <- f; delete m[x]; f := _amount", "f: Inconsistent, m: (Map NoInfo)");
}

#[test]
fn a_variable_ties_the_fields_it_is_read_from_and_stored_in() {
    check(FG, "x <- f; g := x; g := _amount", "f: Money, g: Money");
    check(FG, "f := a; g := a; f := _amount", "f: Money, g: Money");
    check(FG, "x = Uint128 5; f := x; g := x; f := _amount", "f: Money, g: Money");
    check(FG, "x <- f; g := _amount", "f: NoInfo, g: Money");
}

#[test]
fn tag_spreads_over_a_chain_of_variables_in_rounds() {
    let links = repeat(50, |n| format!("x{} = x{n};\n", n + 1));
    check(F, &format!("x0 = _amount;\n{links}f := x50"), "f: Money");
}

#[test]
fn a_name_that_is_bound_again_is_another() {
    check(FG, "x <- f; x = a; g := x; g := _amount", "f: NoInfo, g: Money");
    check(FG, "x <- f; y = let x = a in x; g := x; g := _amount", "f: Money, g: Money");
}

#[test]
fn maps_are_followed_through_their_values() {
    check(MAP, "m[b] := _amount", "f: NoInfo, m: (Map Money)");
    check(MAP, "m[b] := a; f := a; f := _amount", "f: Money, m: (Map Money)");
    check(MAP, "m[b] := _amount; o <- m[b]; match o with | Some v => f := v | None => end", "f: Money, m: (Map Money)");
    check(MAP, "o <- m[b]; match o with | Some v => f := v | None => end; f := _amount", "f: Money, m: (Map Money)");
    let nested = "field m : Map ByStr20 (Map ByStr20 Uint128) = Emp ByStr20 (Map ByStr20 Uint128)";
    check(nested, "m[b][b] := _amount", "m: (Map (Map Money))");
    check(nested, "n <- m; m[b][b] := _amount; x = builtin get n b", "m: (Map (Map Money))");
}

#[test]
fn keys_and_existence_are_no_amounts() {
    let fields = "field k : ByStr20 = 0x1234567890123456789012345678901234567890 field e : Bool = True \
                  field m : Map ByStr20 Uint128 = Emp ByStr20 Uint128";
    check(fields, "x <- k; delete m[x]", "k: NotMoney, e: NotMoney, m: (Map NoInfo)");
    check(fields, "x <- k; y <- m[x]", "k: NotMoney, e: NotMoney, m: (Map NoInfo)");
    check(fields, "x <- k; y <- exists m[x]; e := y", "k: NotMoney, e: NotMoney, m: (Map NoInfo)");
    check(fields, "x <- k; m[x] := a", "k: NotMoney, e: NotMoney, m: (Map NoInfo)");
}

#[test]
fn value_that_is_also_a_key_has_no_tag() {
    let fields = "field f : Uint128 = Uint128 0 field m : Map Uint128 Uint128 = Emp Uint128 Uint128";
    check(fields, "x <- f; m[x] := x", "f: NoInfo, m: (Map NoInfo)");
}

#[test]
fn patterns_say_what_they_fit_and_learn_what_it_is() {
    let pair = "field f : Pair ByStr20 Uint128 = let b = 0x1234567890123456789012345678901234567890 in \
                let n = Uint128 0 in Pair {ByStr20 Uint128} b n field g : Uint128 = Uint128 0";
    check(
        pair,
        "x <- f; match x with | Pair to n => m = { _tag : \"\"; _recipient : to; _amount : n } end",
        "f: (Pair NotMoney Money), g: NoInfo",
    );
    check(
        pair,
        "x <- f; match x with | Pair to n => g := n end; y = Pair {ByStr20 Uint128} b _amount; f := y",
        "f: (Pair NoInfo Money), g: Money",
    );
    check(
        pair,
        "x <- f; n = match x with | Pair to n => n end; g := n; g := _amount",
        "f: (Pair NoInfo Money), g: Money",
    );
    check(OPTIONS, "x <- f; match x with | y => g := y end", "f: (Option NoInfo), g: (Option NoInfo)");
    check(
        "field f : List (Option Uint128) = Nil {(Option Uint128)} field g : Uint128 = Uint128 0",
        "x <- f; match x with | Cons (Some y) _ => g := y | _ => end; g := _amount",
        "f: (List (Option Money)), g: Money",
    );
}

#[test]
fn clauses_of_an_expression_forget_what_they_learn_of_its_scrutinee() {
    let money = "x <- f; y = Some {Uint128} _amount; g := y";
    check(
        OPTIONS,
        &format!("{money}; match x with | Some z => g := x | None => end"),
        "f: (Option Money), g: (Option Money)",
    );
    check(
        OPTIONS,
        &format!("{money}; z = match x with | Some z => x | None => x end; g := z"),
        "f: (Option NoInfo), g: (Option Money)",
    );
}

#[test]
fn values_of_expressions_are_followed() {
    check(FG, "x = let y = a in y; f := x; g := a; f := _amount", "f: Money, g: Money");
    check(FG, "x = let y = _amount in y; f := x", "f: Money, g: NoInfo");
    check(FG, "x <- f; y = builtin add x a; g := y; g := _amount", "f: Money, g: Money");
    check(FG, "x <- f; y <- g; z = builtin mul x y; w = builtin sub z _amount", "f: NoInfo, g: NoInfo");
    check(FG, "x <- f; y <- g; z = builtin div x y; w = builtin sub z _amount", "f: Money, g: NotMoney");
}

#[test]
fn result_of_a_function_has_its_tag() {
    check(F, "h = fun (n : Uint128) => _amount; x = h a; f := x", "f: Money");
    check(FG, "x <- g; h = fun (n : Uint128) => x; y = h a; f := y; f := _amount", "f: Money, g: Money");
    check(F, "x = let h = tfun 'A => fun (n : Uint128) => _amount in let i = @h Uint128 in i a; f := x", "f: Money");
    check(FG, "x <- g; h = fun (n : Uint128) => n; y = h x; f := y; f := _amount", "f: Money, g: NoInfo");
}

#[test]
fn a_function_of_two_arguments_gives_a_function() {
    check(F, "h = fun (n : Uint128) => fun (o : Uint128) => _amount; x = h a a; f := x", "f: (Map Money)");
}

#[test]
fn a_tag_that_grows_with_every_round_ends_up_inconsistent() {
    check(F, "x <- f; h = fun (n : Uint128) => fun (o : Uint128) => x; y = h a a; f := y", "f: Inconsistent");
}

#[test]
fn constructors_are_followed_through_their_arguments() {
    let parts = |statements: &str| {
        format!(
            "library L type Purse = | Empty | Purse of Uint128 ByStr20 Bool type Colour = | Red | Green\n\
             contract C () field f : Purse = Empty field g : Uint128 = Uint128 0 field h : Colour = Red\n\
             transition T () {statements} end"
        )
    };
    let check = |statements: &str, expected: &str| check_module(&parts(statements), &[], expected);
    check("accept", "f: (Purse ), g: NoInfo, h: NotMoney, Purse: NoInfo NoInfo _");
    check(
        "t = True; x = Purse _amount _sender t; f := x",
        "f: (Purse ), g: NoInfo, h: NotMoney, Purse: Money NotMoney _",
    );
    check(
        "x <- f; match x with | Purse n _ _ => g := n | Empty => end; g := _amount",
        "f: (Purse ), g: Money, h: NotMoney, Purse: Money NoInfo _",
    );
    check(
        "x <- f; match x with | Purse n _ _ => g := n | Empty => end; t = True; y = Purse _amount _sender t",
        "f: (Purse ), g: NoInfo, h: NotMoney, Purse: Money NotMoney _",
    );
}

#[test]
fn first_values_say_what_they_are() {
    check_module(
        "contract C (p : Uint128) field o : Option Uint128 = None {Uint128} field b : Bool = False field n : Nat = Zero \
         field m : Map ByStr20 Uint128 = Emp ByStr20 Uint128 field q : Uint128 = p",
        &[],
        "p: NoInfo, o: (Option NoInfo), b: NotMoney, n: (Nat ), m: NoInfo, q: NoInfo",
    );
}

#[test]
fn parameters_of_the_contract_are_followed() {
    check_module(
        "contract C (p : Uint128, q : ByStr20, r : Bool) with r => field f : Map ByStr20 Uint128 = Emp ByStr20 Uint128 \
         transition T () f[q] := p; f[q] := _amount end",
        &[],
        "p: Money, q: NotMoney, r: NotMoney, f: (Map Money)",
    );
}

#[test]
fn fields_of_other_contracts_have_no_tag() {
    check(FG, "x <- & c.n; f := x; g := x; f := _amount", "f: Money, g: NoInfo");
    check(FG, "x <- f; x <- & c.n; g := _amount", "f: NoInfo, g: Money");
}

#[test]
fn a_name_that_is_read_of_another_contract_below_is_not_followed_above() {
    check(FG, "x <- f; g := x; g := _amount", "f: Money, g: Money");
    check(FG, "x <- f; g := x; x <- & c.n; g := _amount", "f: NoInfo, g: Money");
}

#[test]
fn procedures_are_not_followed_from_where_they_are_called() {
    check_module(
        "contract C () field f : Uint128 = Uint128 0 field g : Uint128 = Uint128 0 field h : Uint128 = Uint128 0\n\
         procedure pay (n : Uint128) : Uint128 f := n; g := n; _return := _amount end\n\
         transition T () x = _amount; y = pay x; h := y end\n\
         transition S () f := _amount end",
        &[],
        "f: Money, g: Money, h: NoInfo",
    );
}

#[test]
fn each_component_has_its_own_sender() {
    check_module(
        "contract C () field f : ByStr20 = 0x1234567890123456789012345678901234567890\n\
         field m : Map ByStr20 Uint128 = Emp ByStr20 Uint128\n\
         transition T () f := _sender end\n\
         transition S () m[_sender] := _amount end",
        &[],
        "f: NotMoney, m: (Map Money)",
    );
}

#[test]
fn fields_and_parameters_can_be_declared_as_money() {
    let parts = "contract C (p : Uint128) field f : Uint128 = Uint128 0 field g : Uint128 = Uint128 0\n\
         field m : Map ByStr20 (Map ByStr20 Uint128) = Emp ByStr20 (Map ByStr20 Uint128)\n\
         transition T () x <- f; g := x end";
    check_module(parts, &[], "p: NoInfo, f: NoInfo, g: NoInfo, m: NoInfo");
    check_module(parts, &["g", "m", "p"], "p: Money, f: Money, g: Money, m: (Map (Map Money))");
    check_module(parts, &["x", "T"], "p: NoInfo, f: NoInfo, g: NoInfo, m: NoInfo");
}

#[test]
fn long_and_deep_programs_are_followed() {
    let links = repeat(20_000, |n| format!("let x{} = x{n} in\n", n + 1));
    check(F, &format!("y = let x0 = _amount in\n{links}x20000;\nf := y"), "f: Money");
    let functions = repeat(200, |n| format!("fun (n{n} : Uint128) =>\n"));
    check(F, &format!("y = {functions}_amount"), "f: NoInfo");
    let matches = "match t with | _ => ".repeat(200);
    check(F, &format!("t = True;\n{matches} f := _amount {}", "end ".repeat(200)), "f: Money");
    check(F, &format!("t = True;\ny = {matches} _amount {};\nf := y", "end ".repeat(200)), "f: Money");
}
