//! The evaluator: a deployment and messages, with checked and unchecked programs.
//!
//! The parts of an input: `init` is an init file, each `message` is a message, and `world` is a state file. Of `world`,
//! only the accounts in `_external` are used. Missing parts are generated from the types of the parameters, with two
//! calls of each transition.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::json;
use silica_scilla::{
    check::{self, Options},
    code::Code,
    eval::{Argument, Deployment, Failed, IncomingMessage, Loaded, Outcome, Settings, local_state},
    gas::Meter,
    host::{MemoryHost, StateField},
    json::{Document, ListForm, MessageInput, RunReport, StateInput, parse, read_init},
    report::Failure,
    resolve::{self, Origin, Program},
    syntax::{
        ast::{ComponentKind, ContractModule},
        parse_contract, parse_expression, print_contract,
    },
    types::{Primitive, Width},
    value::{BNum, Value},
};

use super::{
    Parts,
    samples::{CONTRACT, OTHER, SENDER, Samples},
};

/// Gas limit of the deployment and of each message, in interpreter units.
const LIMIT: u64 = 80_000;
/// Largest number of messages.
const MOST_MESSAGES: usize = 12;
/// Balance of the contract, in Qa.
const BALANCE: u128 = 1_000_000;

/// Error texts that a program cannot cause if the checker accepted it.
const EXCLUDED: [&str; 14] = [
    "Attempting to bind different number",
    "Cannot index into map",
    "Cannot serialize literal",
    "Internal error",
    "Map key is not of a primitive type",
    "No data type with this constructor",
    "Procedure not found",
    "StateService",
    "Trying to apply a non-functional value",
    "Trying to bind to a procedure that doesn't return",
    "Trying to type-apply",
    "Type failure in map access",
    "does not match any clause",
    "eval_gas_charge",
];

/// Runs a text as a contract and as an expression.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let parts = Parts::of(text);
    check_expression(&parts);
    let Ok(module) = parse_contract("c.scilla", parts.main.as_bytes()) else { return };
    let origin = Origin { address: Some(CONTRACT.into()), ..Origin::default() };
    let Ok(program) = resolve::contract(module, &origin, &parts) else { return };
    let is_checked = check::contract(&program, &Options::with_limit(LIMIT)).is_ok();
    let code = Arc::new(Code::of_contract_unchecked(&program));
    let Some(mut inputs) = Inputs::of(&program, &code, &parts, data) else { return };
    inputs.keeps_types = is_checked && !print_contract(&program.main).contains("ByStr20 with");

    let steps = inputs.run(&code, |_| LIMIT);
    assert_eq!(inputs.run(&code, |_| LIMIT), steps, "the same again, the libraries being known");
    let anew = Arc::new(Code::of_contract_unchecked(&program));
    assert_eq!(inputs.run(&anew, |_| LIMIT), steps, "the same from the beginning");
    check_gas(&inputs, &code, &steps);
    if is_checked {
        for failure in steps.iter().filter_map(|step| step.failure.as_ref()) {
            check_failure(failure);
        }
    }
}

/// Checks that a run with the used gas as its limit has the same result, and that a lower limit fails.
fn check_gas(inputs: &Inputs, code: &Arc<Code>, steps: &[Step]) {
    for step in steps {
        assert!(step.left <= LIMIT, "gas is used, not made");
    }
    let used = |index: usize| steps.get(index).filter(|step| step.failure.is_none()).map(|step| LIMIT - step.left);
    let exact = inputs.run(code, |index| used(index).unwrap_or(LIMIT));
    for (exact, step) in exact.iter().zip(steps) {
        assert_eq!((&exact.result_with, &exact.failure), (&step.result_with, &step.failure), "what was used is enough");
        assert!(step.failure.is_some() || exact.left == 0);
    }
    assert_eq!(exact.len(), steps.len());
    let last = steps.iter().rposition(|step| step.failure.is_none());
    if let Some((last, units)) = last.and_then(|last| Some((last, used(last)?.checked_sub(1)?))) {
        let short = inputs.run(code, |index| if index == last { units } else { LIMIT });
        assert!(short[last].failure.is_some(), "less than what was used is not enough: {}", short[last].result_with);
    }
}

/// Checks that the failure of a checked program has none of the excluded texts.
fn check_failure(failure: &Failure) {
    for entry in failure.entries() {
        assert!(!EXCLUDED.iter().any(|text| entry.message.contains(text)), "a checked program failed: {failure}");
    }
}

fn check_expression(parts: &Parts<'_>) {
    let Ok(module) = parse_expression("e.scilexp", parts.main.as_bytes()) else { return };
    let libraries = ["BoolUtils", "NatUtils", "PairUtils"];
    let Ok(program) = resolve::expression(module, &libraries, parts) else { return };
    let evaluate = |units: u64| {
        let loaded =
            Arc::new(Code::of_expression_unchecked(&program)).load(Settings::default(), Meter::with_units(units))?;
        loaded.evaluate()
    };
    let result_with = |units: u64| {
        evaluate(units)
            .map(|evaluated| (evaluated.value.size() < 1 << 20).then(|| evaluated.value.literal().to_string()))
    };
    let first = result_with(LIMIT);
    assert_eq!(result_with(LIMIT), first, "evaluation is determined");
    match evaluate(LIMIT) {
        Ok(evaluated) => {
            let used = LIMIT.checked_sub(evaluated.gas.units()).expect("gas is used, not made");
            assert_eq!(result_with(used), first, "what was used is enough");
            assert!(used == 0 || evaluate(used - 1).is_err(), "less than what was used is not enough");
        }
        Err(failed) => {
            assert!(failed.gas.units() <= LIMIT);
            if check::expression(&program, &Options::with_limit(LIMIT)).is_ok() {
                check_failure(&failed.failure);
            }
        }
    }
}

/// The inputs of a contract.
struct Inputs {
    init: Vec<Argument>,
    messages: Vec<IncomingMessage>,
    world: MemoryHost,
    /// Whether values must have the types of their fields. The value is true if the checker accepted the program, and
    /// the program has no address type with requirements (`ByStr20 with`). Files do not have such types.
    keeps_types: bool,
}

/// The result of a deployment or a message.
#[derive(Clone, Debug, PartialEq)]
struct Step {
    /// Messages, events and state after the step.
    result_with: String,
    failure: Option<Failure>,
    /// Interpreter units that are left after the step.
    left: u64,
}

impl Inputs {
    fn of(program: &Program<ContractModule>, code: &Code, parts: &Parts<'_>, seed: &[u8]) -> Option<Self> {
        let known = code.data_types();
        let mut samples = Samples::from_bytes(seed);
        let contract = &program.main.contract;
        let init = match parts.named("init").next() {
            Some(text) => text.to_owned(),
            None => {
                let mut entries = vec![
                    json!({"vname": "_scilla_version", "type": "Uint32", "value": "0"}),
                    json!({"vname": "_this_address", "type": "ByStr20", "value": CONTRACT}),
                    json!({"vname": "_creation_block", "type": "BNum", "value": "1"}),
                ];
                for parameter in &contract.parameters {
                    entries.push(samples.entry(parameter.name.name.base(), &parameter.ty)?);
                }
                serde_json::Value::from(entries).to_string()
            }
        };
        let init = read_init("init", document(&init)?.root(), known).ok()?;
        let init = init.into_iter().map(Argument::from).collect();

        let mut messages: Vec<String> = parts.named("message").map(str::to_owned).collect();
        if messages.is_empty() {
            let transitions = || contract.components.iter().filter(|it| it.kind == ComponentKind::Transition);
            for transition in transitions().chain(transitions()) {
                let parameters = transition.parameters.iter();
                let parameters = parameters.map(|it| samples.entry(it.name.name.base(), &it.ty));
                let Some(parameters) = parameters.collect::<Option<Vec<_>>>() else { continue };
                let amount = ["0", "5", "1000000"][samples.choose(3)];
                let sender = [SENDER, OTHER][samples.choose(2)];
                let tag = &**transition.name.name.base();
                messages.push(
                    json!({"_tag": tag, "_amount": amount, "_sender": sender, "_origin": SENDER, "params": parameters})
                        .to_string(),
                );
            }
        }
        let read = |text: &String| {
            let document = document(text)?;
            MessageInput::read("message", document.root(), known).ok().map(IncomingMessage::from)
        };
        let messages = messages.iter().take(MOST_MESSAGES).filter_map(read).collect();

        let world = parts.named("world").next().unwrap_or(WORLD);
        let state = StateInput::read("world", document(world)?.root(), known).ok()?;
        let account = |account: &silica_scilla::json::Account| {
            let bytes: [u8; 20] = hex::decode(account.address.strip_prefix("0x")?).ok()?.try_into().ok()?;
            Some((silica_protocol::Address::new(bytes), account.fields.clone()))
        };
        let world = MemoryHost {
            fields: vec![],
            accounts: state.accounts.iter().filter_map(account).collect(),
            block_number: BNum::parse("100"),
            chain_id: Some(1),
            timestamps: Some(BTreeMap::from([("99".to_owned(), 12_218), ("100".to_owned(), 12_219)])),
        };
        Some(Self { init, messages, world, keeps_types: false })
    }

    /// Deploys the contract, and sends it the messages. `units` returns the gas limit of each step, in interpreter
    /// units.
    fn run(&self, code: &Arc<Code>, units: impl Fn(usize) -> u64) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut host = self.world.clone();
        let deployed = code
            .load(Settings::default(), Meter::with_units(units(0)))
            .and_then(|loaded| Ok((loaded.deploy(&self.init, None)?, loaded)));
        let loaded = match deployed {
            Ok((Deployment { fields, gas }, loaded)) => {
                host.fields = fields;
                steps.push(Step::of_success(&report(None, &host.fields, BALANCE), gas));
                if self.keeps_types {
                    check_state(&loaded, code, &host.fields);
                }
                loaded
            }
            Err(failed) => return vec![Step::of_failure(failed)],
        };
        let mut balance = BALANCE;
        for (index, message) in self.messages.iter().enumerate() {
            let mut tried = host.clone();
            let meter = Meter::with_units(units(index + 1));
            let called = code
                .load(Settings::default(), meter)
                .and_then(|loaded| loaded.call(&self.init, message, balance, &mut tried));
            match called {
                Ok(outcome) => {
                    (host, balance) = (tried, outcome.balance);
                    let result_with = report(Some(&outcome), &host.fields, balance);
                    steps.push(Step::of_success(&result_with, outcome.gas));
                    if self.keeps_types {
                        check_state(&loaded, code, &host.fields);
                    }
                }
                Err(failed) => steps.push(Step::of_failure(failed)),
            }
        }
        steps
    }
}

impl Step {
    fn of_success(report: &Document, gas: Meter) -> Self {
        Self { result_with: report.root().compact().to_string(), failure: None, left: gas.units() }
    }

    fn of_failure(Failed { failure, gas }: Failed) -> Self {
        Self { result_with: String::new(), failure: Some(failure), left: gas.units() }
    }
}

fn report(outcome: Option<&Outcome>, fields: &[StateField], balance: u128) -> Document {
    let ty = Primitive::Uint(Width::W128).into();
    let balance = StateField { name: "_balance".into(), ty, value: Value::from(balance) };
    let states: Vec<_> = std::iter::once(balance).chain(fields.iter().cloned()).collect();
    RunReport {
        gas_remaining: 0,
        accepted: outcome.is_some_and(|outcome| outcome.accepted),
        messages: outcome.map(|outcome| outcome.messages.as_slice()),
        states: &states,
        events: outcome.map(|outcome| outcome.events.as_slice()).unwrap_or_default(),
        lists: ListForm::Array,
    }
    .to_json()
}

/// Checks that a written state reads as the same state.
fn check_state(loaded: &Loaded, code: &Code, fields: &[StateField]) {
    let report = report(None, fields, BALANCE);
    let states = report.root().member("states").expect("a report has states");
    let state = StateInput::read("state", states, code.data_types()).expect("it was written from a state");
    assert_eq!(state.balance, BALANCE);
    let state = local_state(loaded, fields.to_vec(), state.fields);
    assert_eq!(state.as_deref(), Ok(fields), "the state is not of the types of the fields");
}

fn document(text: &str) -> Option<Document> {
    parse(text.as_bytes()).ok()
}

/// A state file with two other accounts. One of them has code and state.
const WORLD: &str = r#"[
  { "vname": "_balance", "type": "Uint128", "value": "0" },
  { "vname": "_external", "type": "Unit", "value": [
    { "address": "0x1234567890123456789012345678901234567890", "state": [
      { "vname": "_balance", "type": "Uint128", "value": "1000" },
      { "vname": "_nonce", "type": "Uint64", "value": "1" } ] },
    { "address": "0x00000000000000000000000000000000000000aa", "state": [
      { "vname": "_balance", "type": "Uint128", "value": "5000000" },
      { "vname": "_nonce", "type": "Uint64", "value": "0" },
      { "vname": "_this_address", "type": "ByStr20", "value": "0x00000000000000000000000000000000000000aa" },
      { "vname": "_codehash", "type": "ByStr32",
        "value": "0x1212121212121212121212121212121212121212121212121212121212121212" },
      { "vname": "total", "type": "Uint128", "value": "7" },
      { "vname": "balances", "type": "Map ByStr20 (Map String Uint128)", "value": [
        { "key": "0x1234567890123456789012345678901234567890", "val": [ { "key": "a", "val": "9" } ] } ] } ] } ] } ]"#;

/// Returns the programs of this directory, one with files, and expressions.
pub fn seeds() -> Vec<Vec<u8>> {
    let expressions = [
        "let x = Uint32 20 in builtin add x x",
        "let f = @list_foldr Uint32 (List String) in let g = fun (x : Uint32) => fun (l : List String) =>
         let s = builtin to_string x in Cons {String} s l in let e = Nil {String} in let one = Uint32 1 in let n = Nil {Uint32} in let l = Cons {Uint32} one n in f g e l",
        "let fold = @nat_fold Uint128 in let two = Uint128 2 in let n = Uint32 9 in let n = builtin to_nat n in
         let f = fun (a : Uint128) => fun (n : Nat) => builtin mul a two in fold f two n",
        "let a = Int32 7 in let b = Int32 0 in builtin div a b",
        "let m = Emp Uint32 String in let k = Uint32 1 in let v = \"a\" in let m = builtin put m k v in builtin to_list m",
    ];
    let files = format!(
        "{}\n%% init\n{}\n%% message\n{}\n%% message\n{}\n%% world\n{WORLD}",
        super::PROGRAMS[6],
        super::INIT,
        super::MESSAGE,
        r#"{"_tag":"Greet","_amount":"1","_sender":"0x1234567890123456789012345678901234567890","_origin":"0x12","params":[]}"#,
    );
    super::bytes(super::PROGRAMS.into_iter().chain(expressions).chain([&*files]))
}
