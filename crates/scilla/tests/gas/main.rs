//! Compares the gas of the evaluator for random programs with a model of the documented rules.

mod model;
mod programs;

use std::{collections::BTreeMap, sync::Arc};

use proptest::prelude::*;
use silica_scilla::{
    check::{self, Options},
    code::Code,
    eval::{Argument, IncomingMessage, Settings},
    gas::Meter,
    host::{MemoryHost, StateField},
    resolve::{self, Origin, Program},
    stdlib::Standard,
    syntax::{ast::ContractModule, format_contract, parse_contract},
    types::{Primitive, Type, Width},
    value::{BNum, Integer, Key, Map, Value},
};

use self::model::{Costs, End, costs};

const LIMIT: u64 = 1_000_000_000;
const SENDER: [u8; 20] = [1; 20];
const OTHER: [u8; 20] = [2; 20];
const AMOUNT: u128 = 30;

fn uint32() -> Type {
    Primitive::Uint(Width::W32).into()
}

fn init() -> Vec<Argument> {
    let entries = [
        ("_creation_block", Value::BNum(BNum::from_u64(1))),
        ("_scilla_version", Value::from(0_u32)),
        ("_this_address", Value::bystrx([5; 20])),
    ];
    entries.map(|(name, value)| Argument { name: name.into(), value }).into()
}

fn message() -> IncomingMessage {
    let entries = [
        ("_amount", Value::from(AMOUNT)),
        ("_origin", Value::bystrx(SENDER)),
        ("_sender", Value::bystrx(SENDER)),
        ("number", Value::from(3_u32)),
        ("text", Value::string("seven and twenty letters, no").expect("the text is ASCII")),
        ("who", Value::bystrx(OTHER)),
        ("numbers", Value::list(uint32(), [3_u32, 1, 4].map(Value::from))),
        ("other", Value::bystrx(OTHER)),
    ];
    let entries = entries.map(|(name, value)| Argument { name: name.into(), value });
    IncomingMessage { tag: "Go".into(), entries: entries.into() }
}

/// Returns a host with the sender, and with a contract whose fields can be read.
fn host(fields: Vec<StateField>) -> MemoryHost {
    let field =
        |name: &str, value: Value| StateField { name: name.into(), ty: value.ty().expect("no functions"), value };
    let account =
        || vec![field("_balance", Value::from(100_u128)), field("_nonce", Value::Integer(Integer::from_u64(0)))];
    let mut map = Map::new(uint32(), Primitive::String.into());
    for (key, text) in [(1_u32, "one"), (3, "a text of more than twenty letters")] {
        map.insert(
            Key::new(Value::from(key)).expect("numbers are keys"),
            Value::string(text).expect("the text is ASCII"),
        );
    }
    let mut other = account();
    other.extend([
        field("_this_address", Value::bystrx(OTHER)),
        field("_codehash", Value::bystrx([9; 32])),
        field("n", Value::from(7_u32)),
        field("m", Value::Map(map)),
    ]);
    MemoryHost {
        fields,
        accounts: BTreeMap::from([
            (silica_protocol::Address::new(SENDER), account()),
            (silica_protocol::Address::new(OTHER), other),
        ]),
        block_number: Some(BNum::from_u64(9)),
        chain_id: Some(2),
        timestamps: Some([("9".to_owned(), 1_000)].into()),
    }
}

/// A program and its deployed contract.
struct Subject {
    program: Program<ContractModule>,
    code: Arc<Code>,
    fields: Vec<StateField>,
}

impl Subject {
    /// Deploys the contract. Returns `None` if a library or the first value of a field fails.
    fn new(text: &str) -> Option<Self> {
        let module = parse_contract("random.scilla", text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let origin = Origin { address: Some("0x05".into()), ..Origin::default() };
        let program = resolve::contract(module, &origin, &Standard).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let checked = check::contract(&program, &Options::with_limit(LIMIT));
        let code = Arc::new(Code::of_contract(&checked.unwrap_or_else(|rejected| panic!("{rejected}\n{text}"))));
        let loaded = code.load(Settings::default(), Meter::with_units(LIMIT)).ok()?;
        let fields = loaded.deploy(&init(), None).ok()?.fields;
        Some(Self { program, code, fields })
    }

    /// Runs the program with this number of units. The units also pay for the libraries of the program.
    fn run(&self, units: u64) -> End {
        self.call(units, &mut host(self.fields.clone()))
    }

    fn call(&self, units: u64, host: &mut MemoryHost) -> End {
        let loaded = self.code.load(Settings::default(), Meter::with_units(units));
        let outcome = loaded.and_then(|loaded| loaded.call(&init(), &message(), 50, host));
        End::of(outcome.as_ref())
    }

    fn costs(&self) -> Result<Costs, String> {
        costs(&self.program, &init(), &message(), 50, &host(self.fields.clone()))
    }
}

/// Returns a field with the same value. If the value is a map, its entries are inserted in reverse order.
fn filled_backwards(field: &StateField) -> StateField {
    let Value::Map(map) = &field.value else { return field.clone() };
    let mut filled = Map::new(map.key_type().clone(), map.value_type().clone());
    for (key, value) in map.iter().collect::<Vec<_>>().into_iter().rev() {
        filled.insert(key.clone(), value.clone());
    }
    StateField { value: Value::Map(filled), ..field.clone() }
}

/// Checks the program of a seed. Each limit is in thousandths of the units that the program uses. Returns `false` if
/// the program cannot be deployed, or if the model does not support it.
fn check(seed: u64, thousandths: &[u64]) -> bool {
    let text = programs::contract(seed);
    let Some(subject) = Subject::new(&text) else { return false };
    let Ok(costs) = subject.costs() else { return false };
    let units = costs.units();
    let end = subject.run(LIMIT);
    assert_eq!(LIMIT - end.left, units, "{:?}, in\n{text}", end.failure);
    // A run without missing gas can still fail, because the balance is too small at its end.
    assert!(!costs.fails || end.failure.is_some(), "in\n{text}");
    assert!(!costs.is_refused(), "in\n{text}");
    let limits = thousandths.iter().map(|part| units * part / 1_000).chain([units.saturating_sub(1), units]);
    for limit in limits {
        let found = subject.run(limit);
        match costs.end_with(limit) {
            Some(expected) => assert_eq!(found, expected, "with {limit} units of {units}, in\n{text}"),
            None => assert_eq!((found.left, found.failure), (limit - units, end.failure.clone()), "in\n{text}"),
        }
    }
    true
}

#[test]
fn most_programs_can_be_checked() {
    let checked = (0..20).filter(|seed| check(*seed, &[])).count();
    assert!(checked > 10, "only {checked}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, failure_persistence: None, max_shrink_iters: 0, ..ProptestConfig::default() })]

    #[test]
    fn a_program_that_is_formatted_does_the_same(seed: u64) {
        let text = programs::contract(seed);
        let format = |text: &str| format_contract("random.scilla", text.as_bytes()).expect("it parses");
        let formatted = format(&text);
        prop_assert_eq!(&format(&formatted), &formatted);
        let (one, other) = (Subject::new(&text), Subject::new(&formatted));
        prop_assert_eq!(one.is_some(), other.is_some());
        if let Some((one, other)) = one.zip(other) {
            let (one, other) = (one.run(LIMIT), other.run(LIMIT));
            prop_assert_eq!(one.left, other.left, "{}", formatted);
            prop_assert_eq!(one.failure.map(|failed| failed.0), other.failure.map(|failed| failed.0));
        }
    }

    #[test]
    fn runs_do_not_depend_on_the_order_of_map_insertions(seed: u64) {
        let Some(subject) = Subject::new(&programs::contract(seed)) else { return Ok(()) };
        let mut once = host(subject.fields.clone());
        let first = subject.call(LIMIT, &mut once);
        prop_assert_eq!(&subject.call(LIMIT, &mut host(subject.fields.clone())), &first);
        // These maps have the same entries, but the entries were inserted in another order.
        let mut again = host(once.fields.iter().map(filled_backwards).collect());
        prop_assert_eq!(&again.fields, &once.fields);
        prop_assert_eq!(subject.call(LIMIT, &mut again), subject.call(LIMIT, &mut once));
        prop_assert_eq!(again.fields, once.fields);
    }

    #[test]
    fn random_programs_cost_the_gas_of_the_rules(seed: u64, thousandths in proptest::collection::vec(0..1_000_u64, 6)) {
        check(seed, &thousandths);
    }
}
