//! Gas of runs under the rules of 0.11 and of later releases.
//!
//! The expected differences are those between builds of Scilla 0.11.1 and 308af35 for these programs.

use std::sync::Arc;

use silica_scilla::{
    check::{self, Options},
    code::Code,
    gas::Meter,
    resolve,
    rules::Edition,
    stdlib::Standard,
    syntax::parse_expression,
};

use crate::world::{UNITS, World, code, settings};

/// Cost of each recursion principle, and of an unwritten constraint, in units.
const PRINCIPLES: u64 = 5;
const TRUE: u64 = 1;

/// Returns a contract whose transition stores one field.
fn contract(library: &str, constraint: &str, initial: &str) -> String {
    format!(
        "scilla_version 0
        {library}
        contract C () {constraint}
        field n : Uint32 = {initial}
        transition T () one = Uint32 1; n := one end"
    )
}

/// Returns the additional units that a deployment and a call cost under the rules of 0.11.
fn more(text: &str) -> (u64, u64) {
    let [early, current, latest] = Edition::ALL.map(|edition| {
        let mut world = World::new(text, edition);
        (world.deployment, world.units_of_call())
    });
    assert_eq!(current, latest, "{text}");
    (early.0 - current.0, early.1 - current.1)
}

fn lets(number: usize, of: &str) -> String {
    format!("{} {of}", "let x = Uint32 1 in ".repeat(number))
}

#[test]
fn each_run_initialises_the_contract_again_under_0_11() {
    assert_eq!(more(&contract("", "", "Uint32 0")), (PRINCIPLES, PRINCIPLES + TRUE + 1));
    let lists = PRINCIPLES + 20;
    assert_eq!(more(&contract("import ListUtils", "", "Uint32 0")), (lists, lists + TRUE + 1));
    let library = format!("library L let one = Uint32 1 {}", "let two = builtin add one one ".repeat(100));
    assert_eq!(more(&contract(&library, "", "Uint32 0")), (406, 406 + TRUE + 1));
    assert_eq!(more(&contract("", "", &lets(100, "x"))), (PRINCIPLES, PRINCIPLES + TRUE + 201));
    let constraint = format!("with {} =>", lets(100, "True"));
    assert_eq!(more(&contract("", &constraint, "Uint32 0")), (PRINCIPLES, PRINCIPLES + 201 + 1));
}

#[test]
fn a_call_that_cannot_pay_for_the_second_initialisation_fails_there() {
    let text = contract("library L let one = Uint32 1", "", "let x = Uint32 1 in x");
    let mut world = World::new(&text, Edition::V0_11);
    let whole = world.units_of_call();
    assert!(world.call(0, whole).is_ok());
    // Costs in units: 6 for the libraries, 6 for their second evaluation, 1 for the constraint, 3 for the field, and
    // then the costs of the transition.
    for (units, line) in [(5, 2), (11, 2), (12, 0), (13, 4), (15, 4)] {
        let failed = world.call(0, units).unwrap_err();
        let entry = &failed.failure.entries()[0];
        assert_eq!((entry.message.as_str(), entry.start.line), ("Insufficient gas", line), "{units}");
    }
    let failed = world.call(0, 16).unwrap_err();
    assert_eq!(failed.failure.entries()[0].message, "Ran out of gas after evaluating statement");
    let failed = World::with_units(&text, Edition::V0_11, 11).err().unwrap();
    assert_eq!(failed.failure.entries()[0].start.line, 2);
}

#[test]
fn a_call_initialises_nothing_that_it_stores() {
    let text = "scilla_version 0 contract C () field n : Uint32 = Uint32 0
        transition T () x <- n; one = Uint32 1; y = builtin add x one; n := y end";
    let mut world = World::new(text, Edition::V0_11);
    world.call(0, UNITS).unwrap();
    world.call(0, UNITS).unwrap();
    assert_eq!(world.field("n"), "(Uint32 2)");
}

/// Returns a chain of `let`s that puts all numbers below `entries` into the map `m`.
fn puts(entries: u32) -> String {
    let puts = (0..entries).map(|key| format!("let k = Uint32 {key} in let m = builtin put m k k in "));
    puts.collect::<Vec<_>>().concat()
}

/// Returns the cost of an expression in units, without the recursion principles.
fn units(text: &str, edition: Edition) -> u64 {
    let module = parse_expression("test.scilexp", text.as_bytes()).unwrap();
    let program = resolve::expression(module, &[], &Standard).unwrap();
    let code = Arc::new(Code::of_expression(&check::expression(&program, &Options::with_limit(UNITS)).unwrap()));
    let loaded = code.load(settings(edition), Meter::with_units(UNITS)).unwrap();
    UNITS - PRINCIPLES - loaded.evaluate().unwrap().gas.units()
}

#[test]
fn built_in_functions_cost_what_they_did() {
    // Costs of a `let` in units: 2 with a literal, 2 with an empty map, and with a `put` 2 plus the number of entries.
    let map = |entries: u32| {
        (
            format!("let m = Emp Uint32 Uint32 in {}", puts(entries)),
            2 + (0..entries).map(|key| 2 + 2 + u64::from(key)).sum::<u64>(),
        )
    };
    let (seven, before) = map(7);
    // A map of seven entries has size 56. Its sort cost is 7 times the logarithm of 7, rounded down.
    let cases = [
        ("let a = Uint256 2 in let n = Uint32 200 in builtin pow a n".to_owned(), 4, 20 * 200 * 4, 20 * 6 * 4),
        ("let a = Uint128 3 in let n = Uint32 5 in builtin pow a n".to_owned(), 4, 20 * 5 * 2, 20 * 2 * 2),
        ("let a = Int32 3 in let n = Uint32 0 in builtin pow a n".to_owned(), 4, 0, 20),
        ("let a = Uint32 0 in builtin isqrt a".to_owned(), 2, 0, 4),
        ("let a = Uint64 100 in builtin isqrt a".to_owned(), 2, 4 * 4, 4 * 5),
        ("let a = Uint256 100 in builtin isqrt a".to_owned(), 2, 4 * 4 * 4, 4 * 5 * 4),
        (format!("{seven} builtin to_list m"), before, 1 + 7, 7 * 3),
        ("let m = Emp Uint32 Uint32 in builtin to_list m".to_owned(), 2, 1, 0),
    ];
    for (text, before, early, current) in cases {
        assert_eq!(units(&text, Edition::V0_11), before + early, "{text}");
        assert_eq!(units(&text, Edition::V0_13), before + current, "{text}");
        assert_eq!(units(&text, Edition::Latest), before + current, "{text}");
    }
}

#[test]
fn hashing_a_map_costs_no_sorting_under_0_11() {
    let keys = puts(300);
    let hash = |name: &str| format!("let m = Emp Uint32 Uint32 in {keys} builtin {name} m");
    // A map of 300 entries of 8 bytes. The logarithm of 300 is 5, rounded down.
    for (name, bytes) in [("sha256hash", 960), ("keccak256hash", 2040), ("ripemd160hash", 640)] {
        let difference = units(&hash(name), Edition::V0_13) - units(&hash(name), Edition::V0_11);
        let expected = (2_400_u64 + 1_500).div_ceil(bytes) - 2_400_u64.div_ceil(bytes);
        assert_eq!(difference, expected, "{name}");
    }
}

#[test]
fn a_multiplication_of_a_point_costs_one_step_less_under_0_11() {
    let point = format!("0x{:064x} in let y = 0x{:064x} in let g = Pair {{ByStr32 ByStr32}} x y in", 1, 2);
    let text = |scalar: u32| format!("let x = {point} let s = 0x{scalar:064x} in builtin alt_bn128_G1_mul g s");
    for scalar in [0, 1, 6, 7, 100] {
        let difference = units(&text(scalar), Edition::Latest) - units(&text(scalar), Edition::V0_11);
        assert_eq!(difference, 20, "{scalar}");
    }
}

#[test]
fn rules_with_other_costs_do_not_share_what_libraries_cost() {
    let text = "scilla_version 0 library L let a = Uint256 2 let n = Uint32 200 let p = builtin pow a n contract C ()";
    for order in [[Edition::V0_11, Edition::Latest], [Edition::Latest, Edition::V0_11]] {
        let code = code(text);
        let used = |edition: Edition| {
            let loaded = code.load(settings(edition), Meter::with_units(UNITS)).unwrap();
            UNITS - loaded.gas.units()
        };
        for edition in order.into_iter().chain(order) {
            let pow = if edition == Edition::V0_11 { 16_000 } else { 480 };
            assert_eq!(used(edition), PRINCIPLES + 2 + pow, "{edition}");
        }
    }
}
