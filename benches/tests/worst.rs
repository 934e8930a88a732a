//! Tests the receipts of the slowest known programs, without and with work limits. No result depends on time.

use silica_benches::worst::{LIMIT, Measured, Prepared, TEMPLATES, Template};
use silica_protocol::Gas;

/// Programs that fail without work limits too.
const WRONG: &[&str] = &["an exception after many procedures", "deployment that is wrong in many places"];

/// Programs that exceed the work limit.
const TOO_MUCH: &[&str] = &[
    "keccak256hash of a tree of equal halves",
    "sha256hash of a tree of equal halves",
    "ripemd160hash of a tree of equal halves",
    "keccak256hash of a small tree",
    "keccak256hash of a long text",
    "ripemd160hash of a long text",
    "ripemd160hash of a short text",
    "substr of a long text",
    "to_uint256 of a long text",
    "to_bystr33 of long bytes",
    "badd of a long block number",
    "badd and sha256hash of a long block number",
    "bsub of long block numbers",
    "eq of long block numbers",
    "a map with a long block number as its key",
    "alt_bn128_pairing_product of pairs",
    "alt_bn128_pairing_product of one pair",
    "alt_bn128_pairing_product of nothing",
    "ecdsa_recover_pk",
    "get of a map of a large type",
    "contains of a map in a map with a large type",
    "a construction of many arguments",
    "a wide pattern that binds",
    "a function that captures much",
    "a type that is put together",
    "a construction of a large type",
    "a message of many entries",
    "a message with a value of a large type",
    "calls of a procedure of many arguments",
    "stores to a field",
    "stores of an empty map",
    "removals of an entry of a map",
    "stores to many entries of a map",
    "removals of entries that are not there",
    "loads of a deep value",
    "stores of a deep value",
    "times of a block of many digits",
    "events with a tree of equal halves",
    "reads of a field of another",
    "casts of an address",
    "casts to a contract of many fields",
    "deployment with many fields",
    "deployment with a large type in many places",
];

/// Executes a program twice: the proposed block compiles the program if no setup call did, and the committed block
/// finds it in the contract cache. `Net::measure` asserts that both receipts are equal.
fn run(template: &Template, rules: &str) -> Measured {
    let rules = rules.parse().unwrap_or_else(|error| panic!("{rules}: {error}"));
    let mut prepared =
        Prepared::new((template.case)(&template.shape), rules).unwrap_or_else(|why| panic!("{}: {why}", template.name));
    prepared.measure(template.shape.times, LIMIT, 1).unwrap_or_else(|why| panic!("{}: {why}", template.name))
}

#[test]
fn programs_without_limits_of_work_succeed() {
    for template in TEMPLATES {
        let Measured { receipt, .. } = run(template, "0.13/2");
        assert_eq!(receipt.success, !WRONG.contains(&template.name), "{}: {receipt:?}", template.name);
    }
}

#[test]
fn programs_beyond_their_limit_of_work_take_all_gas() {
    for template in TEMPLATES {
        let name = template.name;
        let Measured { receipt, .. } = run(template, "0.13/3");
        assert_eq!(receipt, run(template, "0.13/3").receipt, "{name}: the outcome is always the same");
        let is_too_much = TOO_MUCH.contains(&name);
        assert_eq!(receipt.success, !is_too_much && !WRONG.contains(&name), "{name}: {receipt:?}");
        if is_too_much {
            assert_eq!(receipt.cumulative_gas, Gas::new(LIMIT), "{name}: {receipt:?}");
        }
    }
    let named = TOO_MUCH.iter().chain(WRONG).filter(|name| TEMPLATES.iter().any(|template| template.name == **name));
    assert_eq!(named.count(), TOO_MUCH.len() + WRONG.len(), "each name is that of a program");
}
