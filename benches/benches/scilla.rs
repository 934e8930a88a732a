//! Scilla: parsing and checking a contract, calls of a fungible token, and evaluation alone.
//!
//! The host of these calls reads and writes hash maps. So the results do not include the tries of a chain and their
//! hashes.

use std::{
    cell::{LazyCell, RefCell},
    collections::HashMap,
    hint::black_box,
    sync::Arc,
    time::{Duration, Instant},
};

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use silica_protocol::Address;
use silica_scilla::{
    cache::{CodeCache, CodeKey},
    check,
    code::{Code, DeclaredField},
    eval::{Argument, IncomingMessage, Outcome, Settings},
    gas::Meter,
    host::{Host, HostError, Remote, RemoteWant},
    json::{ListForm, MessageInput, RunReport, read_document},
    report::Failure,
    resolve::{self, FoundLibrary, LibrarySource, Origin, Program},
    stdlib,
    syntax::{ast::ContractModule, parse_contract},
    types::{Primitive, Type, Width},
    value::{BNum, Key, Value},
};

const TOKEN: &str = include_str!("../../contracts/fungible_token/fungible_token.scilla");
/// Further transitions, so that the token has 500 lines.
const MORE: &str = include_str!("scilla/more_transitions.scilla");
/// Expressions that call library functions in loops.
const LOOPS: &str = include_str!("scilla/loops.scilla");

/// Gas limit of each call.
const GAS: u64 = 1_000_000;
const SENDER: Address = Address::new([1; 20]);
const RECIPIENT: Address = Address::new([2; 20]);
/// Number of list elements in the loops.
const ELEMENTS: u32 = 10_000;

/// The source of the standard library.
struct Standard;

impl LibrarySource for Standard {
    fn find(&self, target: &str) -> Result<Option<FoundLibrary>, Failure> {
        Ok(stdlib::text(target).map(|text| FoundLibrary {
            file: format!("{target}.scillib").into(),
            text: text.as_bytes().into(),
            origin: Origin::default(),
        }))
    }
}

/// A state in memory. Each field is a plain value or a map without nested maps.
#[derive(Clone, Default)]
struct Memory {
    fields: HashMap<Arc<str>, Value>,
    entries: HashMap<Address, Value>,
}

impl Memory {
    /// Returns the state of a token with `holders` holders.
    fn of_token(holders: u32) -> Self {
        let mut memory = Self::default();
        memory.entries.extend((0..holders).map(|number| (holder(number), Value::from(1_000_u128))));
        memory.entries.insert(SENDER, Value::from(u128::MAX / 2));
        memory.entries.insert(RECIPIENT, Value::from(5_u128));
        memory
    }
}

fn holder(number: u32) -> Address {
    let mut address = [0; 20];
    for (byte, digit) in address.iter_mut().zip(number.wrapping_mul(2_654_435_761).to_be_bytes()) {
        *byte = digit;
    }
    Address::new(address)
}

/// Returns the address that is the key of a map entry, or `None` if the keys are not one address.
fn address(keys: &[Key]) -> Option<Address> {
    let [key] = keys else { return None };
    Address::try_from(key.value()).ok()
}

impl Host for Memory {
    fn load(&mut self, field: &DeclaredField, keys: &[Key]) -> Result<Option<Value>, HostError> {
        Ok(match address(keys) {
            Some(address) => self.entries.get(&address).cloned(),
            None => self.fields.get(&field.name).cloned(),
        })
    }

    fn exists(&mut self, field: &DeclaredField, keys: &[Key]) -> Result<bool, HostError> {
        self.load(field, keys).map(|found| found.is_some())
    }

    fn store(&mut self, field: &DeclaredField, keys: &[Key], value: Value) -> Result<(), HostError> {
        match address(keys) {
            Some(address) => self.entries.insert(address, value),
            None => self.fields.insert(Arc::clone(&field.name), value),
        };
        Ok(())
    }

    fn delete(&mut self, _: &DeclaredField, keys: &[Key]) -> Result<(), HostError> {
        address(keys).and_then(|address| self.entries.remove(&address));
        Ok(())
    }

    fn remote(&mut self, _: &Address, _: &str, _: &[Key], _: RemoteWant) -> Result<Option<Remote>, HostError> {
        Ok(None)
    }

    fn block_number(&mut self) -> Result<BNum, HostError> {
        Ok(BNum::from_u64(1))
    }

    fn chain_id(&mut self) -> Result<u32, HostError> {
        Ok(1)
    }

    fn timestamp(&mut self, _: &BNum) -> Option<u64> {
        None
    }
}

fn parse(text: &str) -> Program<ContractModule> {
    let module = parse_contract("contract.scilla", text.as_bytes()).expect("the contract is well formed");
    let origin = Origin { address: Some("0x0505050505050505050505050505050505050505".into()), ..Origin::default() };
    resolve::contract(module, &origin, &Standard).expect("its names are known")
}

fn make(text: &str) -> Code {
    Code::of_contract(&check(&parse(text)))
}

fn check(program: &Program<ContractModule>) -> check::CheckedContract<'_> {
    check::contract(program, &check::Options::with_limit(GAS)).expect("the contract is right")
}

/// A contract with its init parameters.
struct Deployed {
    code: Arc<Code>,
    init: Vec<Argument>,
}

impl Deployed {
    fn new(text: &str, parameters: Vec<(&str, Value)>) -> Self {
        let implicit = [
            ("_creation_block", Value::BNum(BNum::from_u64(1))),
            ("_scilla_version", Value::from(0_u32)),
            ("_this_address", Value::bystrx([5; 20])),
        ];
        let entries = implicit.into_iter().chain(parameters);
        let init = entries.map(|(name, value)| Argument { name: name.into(), value }).collect();
        Self { code: Arc::new(make(text)), init }
    }

    fn token() -> Self {
        let parameters = vec![
            ("contract_owner", Value::from(SENDER)),
            ("name", Value::string("Token").expect("the text is ASCII")),
            ("symbol", Value::string("TOK").expect("the text is ASCII")),
            ("decimals", Value::from(12_u32)),
            ("init_supply", Value::from(1_000_000_u128)),
            ("default_operators", Value::list(Type::bystr(20), [])),
        ];
        Self::new(TOKEN, parameters)
    }

    fn call(&self, message: &IncomingMessage, host: &mut dyn Host) -> Outcome {
        let loaded = self.code.load(Settings::default(), Meter::with_limit(GAS)).expect("the libraries are right");
        loaded.call(&self.init, message, 0, host).expect("the transition succeeds")
    }
}

fn message(tag: &str, parameters: Vec<(&str, Value)>) -> IncomingMessage {
    let implicit =
        [("_amount", Value::from(0_u128)), ("_origin", Value::from(SENDER)), ("_sender", Value::from(SENDER))];
    let entries = implicit.into_iter().chain(parameters);
    IncomingMessage {
        tag: tag.into(),
        entries: entries.map(|(name, value)| Argument { name: name.into(), value }).collect(),
    }
}

fn transfer_to(recipient: Address) -> IncomingMessage {
    message("Transfer", vec![("to", Value::from(recipient)), ("amount", Value::from(1_u128))])
}

fn transfer() -> IncomingMessage {
    transfer_to(RECIPIENT)
}

fn loading(criterion: &mut Criterion) {
    let text = format!("{TOKEN}{MORE}");
    assert_eq!(text.lines().count(), 500);
    let program = parse(&text);
    let checked = check(&program);
    let mut group = criterion.benchmark_group("scilla/500_lines");
    group.bench_function("parse", |bencher| bencher.iter(|| parse(black_box(&text))));
    group.bench_function("parse_and_check", |bencher| bencher.iter(|| check(&parse(black_box(&text))).meter));
    group.bench_function("lower", |bencher| bencher.iter(|| Code::of_contract(black_box(&checked))));
    group.bench_function("cold_load", |bencher| {
        bencher.iter(|| {
            let program = parse(black_box(&text));
            Code::of_contract(&check(&program))
        });
    });
    group.finish();
}

fn calls(criterion: &mut Criterion) {
    let (token, message) = (Deployed::token(), transfer());
    let mut group = criterion.benchmark_group("scilla/transfer");
    for holders in [10, 1_000_000] {
        let host = LazyCell::new(|| RefCell::new(Memory::of_token(holders)));
        group.bench_function(format!("{holders}_holders"), |bencher| {
            let mut host = host.borrow_mut();
            bencher.iter(|| token.call(black_box(&message), &mut *host));
        });
    }
    let mut host = Memory::of_token(10);
    let (cache, key) = (CodeCache::with_bound(64 << 20), CodeKey::new([7; 32]));
    group.bench_function("cached", |bencher| {
        bencher.iter(|| {
            let code = cache.get_or_make(black_box(key), || Ok::<_, Failure>(make(TOKEN))).expect("it is right");
            Deployed { code, init: token.init.clone() }.call(&message, &mut host)
        });
    });
    group.bench_function("cold", |bencher| {
        bencher.iter(|| {
            let code = Arc::new(make(black_box(TOKEN)));
            Deployed { code, init: token.init.clone() }.call(&message, &mut host)
        });
    });
    let known = Arc::clone(token.code.data_types());
    let text = concat!(
        r#"{"_tag":"Transfer","_amount":"0","_origin":"0x0101010101010101010101010101010101010101","#,
        r#""_sender":"0x0101010101010101010101010101010101010101","params":["#,
        r#"{"vname":"to","type":"ByStr20","value":"0x0202020202020202020202020202020202020202"},"#,
        r#"{"vname":"amount","type":"Uint128","value":"1"}]}"#
    );
    group.bench_function("read_message", |bencher| {
        bencher.iter(|| {
            let document = read_document("message", black_box(text).as_bytes()).expect("it is JSON");
            MessageInput::read("message", document.root(), &known).expect("it is a message")
        });
    });
    let outcome = token.call(&message, &mut host);
    group.bench_function("write_outcome", |bencher| {
        bencher.iter(|| {
            let report = RunReport {
                gas_remaining: outcome.gas.gas(),
                accepted: outcome.accepted,
                messages: Some(&outcome.messages),
                states: &[],
                events: &outcome.events,
                lists: ListForm::Array,
            };
            report.to_json().root().compact().to_string()
        });
    });
    group.bench_function("load_libraries", |bencher| {
        bencher.iter(|| black_box(&token.code).load(Settings::default(), Meter::with_limit(GAS)));
    });
    group.finish();
}

fn evaluation(criterion: &mut Criterion) {
    let loops = Deployed::new(LOOPS, vec![]);
    let mut host = Memory::default();
    let uint = Type::Primitive(Primitive::Uint(Width::W32));
    host.fields.insert("numbers".into(), Value::list(uint, (0..ELEMENTS).map(Value::from)));
    let mut group = criterion.benchmark_group("scilla/evaluation");
    for tag in ["FoldLeft", "FoldRight", "MapFilter"] {
        let message = message(tag, vec![]);
        group.throughput(Throughput::Elements(ELEMENTS.into()));
        group.bench_function(format!("{tag}_10000"), |bencher| {
            bencher.iter_batched(|| host.clone(), |mut host| loops.call(&message, &mut host), BatchSize::LargeInput);
        });
    }
    // All steps of this loop cost one unit, so the number of units is the number of steps.
    let message = message("Steps", vec![]);
    let steps = GAS * 8 - loops.call(&message, &mut host).gas.units();
    group.throughput(Throughput::Elements(steps));
    group.bench_function("steps", |bencher| bencher.iter(|| loops.call(black_box(&message), &mut host)));
    group.finish();
}

/// Measures transfers among few and among many holders in turns, so that other load slows both equally. The recipients
/// are spread over all holders.
#[expect(clippy::print_stdout, reason = "criterion prints its results there too")]
fn turn_by_turn(_: &mut Criterion) {
    const TURNS: u32 = 400;
    const CALLS: u32 = 100;
    let token = Deployed::token();
    let mut worlds = [10, 1_000_000].map(|holders| (holders, Memory::of_token(holders), Vec::new()));
    for turn in 0..TURNS {
        for (holders, host, times) in &mut worlds {
            let recipient = |call: u32| holder((turn * CALLS + call).wrapping_mul(1_000_003) % *holders);
            let messages: Vec<_> = (0..CALLS).map(|call| transfer_to(recipient(call))).collect();
            let start = Instant::now();
            for message in &messages {
                black_box(token.call(message, host));
            }
            times.push(start.elapsed() / CALLS);
        }
    }
    let [few, many] = worlds.map(|(_, _, times)| median(times));
    let permille = many.as_nanos() * 1000 / few.as_nanos();
    println!("turn by turn, medians: a transfer among 10 holders {few:?}, among 1,000,000 {many:?}, {permille} : 1000");
}

fn median(mut times: Vec<Duration>) -> Duration {
    let middle = times.len() / 2;
    *times.select_nth_unstable(middle).1
}

criterion_group!(benches, loading, calls, evaluation, turn_by_turn);
criterion_main!(benches);
