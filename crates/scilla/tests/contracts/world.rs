//! A small chain in memory, whose effects are lines of text.
//!
//! Accounts have names. The address of an account is the letters of its name, followed by zeros. The output lists the
//! effects of a transaction in their order, and then the changed state:
//!
//! ```text
//! token: event TransferSuccess(sender: alice, recipient: bob, amount: 5)
//! token: send bob RecipientAcceptTransfer(sender: alice, recipient: bob, amount: 5)
//! token.balances[alice] = 95
//! token.balances[bob] = 5
//! ```
//!
//! Messages between contracts run as on the chain: depth first, and either all messages have an effect or none.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::PathBuf,
    rc::Rc,
    sync::Arc,
};

use silica_scilla::{
    check::{self, ContractSummary, Options},
    code::Code,
    eval::{Argument, Failed, IncomingMessage, Loaded, Settings},
    gas::Meter,
    host::{MemoryHost, StateField},
    report::Failure,
    resolve::{self, FoundLibrary, LibrarySource, Origin, Program},
    stdlib,
    syntax::{ast::ContractModule, parse_contract},
    types::{Primitive, Type, Width},
    value::{BNum, Integer, IntegerType, Message as Sent, Value},
};

use crate::model::{End, costs};

/// Gas limit of a call. Every call of the examples needs less.
const LIMIT: u64 = 100_000;

/// Returns the directory of the example contracts.
pub(crate) fn directory() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/contracts"))
}

/// Names of parameters, with their values.
pub(crate) type Arguments<'a> = &'a [(&'a str, &'a str)];

/// A chain: accounts and contracts by name.
#[derive(Clone, Debug)]
pub(crate) struct World {
    /// Number of the block in which the next call runs.
    pub(crate) block: u64,
    balances: BTreeMap<String, u128>,
    contracts: BTreeMap<String, Contract>,
    /// Results that this world and its copies have collected.
    seen: Rc<RefCell<Seen>>,
}

/// The results in the tests of an example.
#[derive(Debug, Default)]
struct Seen {
    /// Transitions that have succeeded, with the names of their contracts' directories.
    successes: BTreeSet<(String, String)>,
    /// Error texts of failed transactions.
    failures: BTreeSet<String>,
}

#[derive(Clone, Debug)]
struct Contract {
    example: String,
    program: Arc<Program<ContractModule>>,
    summary: Arc<ContractSummary>,
    code: Arc<Code>,
    loaded: Loaded,
    init: Vec<Argument>,
    fields: Vec<StateField>,
}

/// The result of a transaction.
#[derive(Debug)]
#[must_use = "what is expected has to be said"]
pub(crate) struct Response {
    result: Result<Vec<String>, String>,
    /// Gas units that the first contract used.
    units: u64,
}

impl Response {
    /// Checks that the transaction succeeded and had these effects.
    #[track_caller]
    pub(crate) fn gives(&self, expected: &[&str]) -> &Self {
        match &self.result {
            Ok(lines) => assert_eq!(lines.join("\n"), expected.join("\n")),
            Err(failure) => panic!("this failed: {failure}"),
        }
        self
    }

    /// Checks that the transaction succeeded. Ignores its effects.
    #[track_caller]
    pub(crate) fn succeeds(&self) {
        if let Err(failure) = &self.result {
            panic!("this failed: {failure}");
        }
    }

    /// Checks that the transaction failed with this error text.
    #[track_caller]
    pub(crate) fn fails(&self, expected: &str) {
        match &self.result {
            Ok(lines) => panic!("this succeeded:\n{}", lines.join("\n")),
            Err(failure) => assert_eq!(failure, expected),
        }
    }

    /// Checks the gas used, in units. Eight units are one gas.
    #[track_caller]
    pub(crate) fn costs(&self, units: u64) {
        assert_eq!(self.units, units, "units of gas");
    }
}

/// A message that remains to be delivered.
struct Delivery {
    sender: String,
    recipient: String,
    amount: u128,
    message: IncomingMessage,
}

impl World {
    /// Returns a world at block 100, in which each of these accounts has 1,000 Qa.
    pub(crate) fn with(accounts: &[&str]) -> Self {
        Self {
            block: 100,
            balances: accounts.iter().map(|name| ((*name).to_owned(), 1000)).collect(),
            contracts: BTreeMap::new(),
            seen: Rc::default(),
        }
    }

    /// Deploys an example contract under a name. Panics if the deployment fails.
    #[track_caller]
    pub(crate) fn deploy(&mut self, name: &str, example: &str, arguments: Arguments<'_>) {
        self.try_deploy(name, example, arguments)
            .unwrap_or_else(|failure| panic!("{name} was not deployed: {failure}"));
    }

    /// Deploys an example contract under a name, or returns the error text of the failure.
    pub(crate) fn try_deploy(&mut self, name: &str, example: &str, arguments: Arguments<'_>) -> Result<(), String> {
        let Compiled { program, code, summary } = compile(example, &address_text(name));
        let loaded = code.load(Settings::default(), Meter::with_limit(LIMIT)).map_err(|failed| error_of(&failed))?;
        let implicit = [
            ("_scilla_version", Value::from(0_u32)),
            ("_this_address", address_value(name)),
            ("_creation_block", Value::BNum(BNum::from_u64(self.block))),
        ];
        let given = arguments.iter().map(|(name, text)| {
            let parameter = summary.parameters.iter().find(|parameter| *parameter.name == **name);
            (*name, value(text, &parameter.unwrap_or_else(|| panic!("no parameter {name}")).ty))
        });
        let init: Vec<_> =
            implicit.into_iter().chain(given).map(|(name, value)| Argument { name: name.into(), value }).collect();
        let initial = loaded.initial_fields(&init).map_err(|failed| error_of(&failed))?;
        let mut host = MemoryHost { fields: initial.fields, ..self.host() };
        loaded.deploy(&init, Some(&mut host)).map_err(|failed| error_of(&failed))?;
        self.balances.insert(name.to_owned(), 0);
        let example = example.to_owned();
        let contract = Contract { example, program, summary, code, loaded, init, fields: host.fields };
        self.contracts.insert(name.to_owned(), contract);
        Ok(())
    }

    /// Calls a transition without an amount.
    pub(crate) fn call(
        &mut self,
        sender: &str,
        contract: &str,
        transition: &str,
        arguments: Arguments<'_>,
    ) -> Response {
        self.pay(sender, 0, contract, transition, arguments)
    }

    /// Calls a transition with an amount.
    pub(crate) fn pay(
        &mut self,
        sender: &str,
        amount: u128,
        contract: &str,
        transition: &str,
        arguments: Arguments<'_>,
    ) -> Response {
        let summary = &self.contract(contract).summary;
        let component = summary.transitions.iter().find(|it| *it.name == *transition);
        let component = component.unwrap_or_else(|| panic!("{contract} has no transition {transition}"));
        let entries = arguments.iter().map(|(name, text)| {
            let parameter = component.parameters.iter().find(|parameter| *parameter.name == **name);
            let parameter = parameter.unwrap_or_else(|| panic!("{transition} has no parameter {name}"));
            Argument { name: (*name).into(), value: value(text, &parameter.ty) }
        });
        let message = IncomingMessage { tag: transition.into(), entries: entries.collect() };
        let delivery = Delivery { sender: sender.to_owned(), recipient: contract.to_owned(), amount, message };
        let before = self.clone();
        let (mut lines, mut units) = (Vec::new(), 0);
        let result = self.deliver(delivery, sender, &mut lines, &mut units);
        if let Err(failure) = result {
            *self = before;
            self.seen.borrow_mut().failures.insert(failure.clone());
            return Response { result: Err(failure), units };
        }
        lines.extend(changes(&before.state(), &self.state()));
        Response { result: Ok(lines), units }
    }

    fn contract(&self, name: &str) -> &Contract {
        self.contracts.get(name).unwrap_or_else(|| panic!("no contract {name}"))
    }

    /// Runs the contract that a message calls, and all chained calls.
    fn deliver(
        &mut self,
        Delivery { sender, recipient, amount, message }: Delivery,
        origin: &str,
        lines: &mut Vec<String>,
        first: &mut u64,
    ) -> Result<(), String> {
        let contract = self.contract(&recipient).clone();
        let mut host = MemoryHost { fields: contract.fields.clone(), ..self.host() };
        let known =
            [("_amount", Value::from(amount)), ("_origin", address_value(origin)), ("_sender", address_value(&sender))];
        let known = known.map(|(name, value)| Argument { name: name.into(), value });
        let message = IncomingMessage { entries: known.into_iter().chain(message.entries).collect(), ..message };
        let balance = self.balances.get(&recipient).copied().unwrap_or_default();
        check_costs(&contract, &message, balance, &host);
        let outcome = contract.loaded.call(&contract.init, &message, balance, &mut host);
        let left = outcome.as_ref().map_or_else(|failed| failed.gas, |outcome| outcome.gas);
        if *first == 0 {
            *first = Meter::with_limit(LIMIT).units() - left.units();
        }
        let outcome = outcome.map_err(|failed| error_of(&failed))?;
        self.contracts.get_mut(&recipient).expect("it was called").fields = host.fields;
        self.seen.borrow_mut().successes.insert((contract.example, message.tag.to_string()));
        if outcome.accepted && amount > 0 {
            lines.push(format!("{recipient}: accept {amount} of {sender}"));
            self.transfer(&sender, &recipient, amount)?;
        }
        for event in outcome.events.iter().rev() {
            lines.push(format!("{recipient}: event {}", call_text("_eventname", event)));
        }
        for sent in &outcome.messages {
            self.send(&recipient, sent, origin, lines, first)?;
        }
        Ok(())
    }

    fn send(
        &mut self,
        sender: &str,
        sent: &Sent,
        origin: &str,
        lines: &mut Vec<String>,
        first: &mut u64,
    ) -> Result<(), String> {
        let recipient = text(sent.get("_recipient").expect("messages have recipients"));
        let amount = sent.get("_amount").and_then(Value::as_integer).and_then(Integer::to_u128);
        let amount = amount.expect("messages have amounts");
        let with = if amount == 0 { String::new() } else { format!(" {amount}") };
        lines.push(format!("{sender}: send {recipient}{with} {}", call_text("_tag", sent)));
        if !self.contracts.contains_key(&recipient) {
            return self.transfer(sender, &recipient, amount);
        }
        let parameters = sent.entries().iter().filter(|entry| !entry.label.starts_with('_'));
        let entries = parameters.map(|entry| Argument { name: Arc::clone(&entry.label), value: entry.value.clone() });
        let tag = sent.get("_tag").and_then(Value::as_string).expect("messages have tags");
        let message = IncomingMessage { tag: Arc::clone(tag), entries: entries.collect() };
        self.deliver(Delivery { sender: sender.to_owned(), recipient, amount, message }, origin, lines, first)
    }

    fn transfer(&mut self, from: &str, to: &str, amount: u128) -> Result<(), String> {
        let held = self.balances.entry(from.to_owned()).or_default();
        *held = held.checked_sub(amount).ok_or_else(|| format!("{from} has not so much money"))?;
        *self.balances.entry(to.to_owned()).or_default() += amount;
        Ok(())
    }

    /// Returns the host of a run, with all accounts.
    fn host(&self) -> MemoryHost {
        let field = |name: &str, ty: Type, value: Value| StateField { name: name.into(), ty, value };
        let account = |(name, balance): (&String, &u128)| {
            let mut fields = vec![
                field("_balance", Primitive::Uint(Width::W128).into(), Value::from(*balance)),
                field("_nonce", Primitive::Uint(Width::W64).into(), Value::Integer(Integer::from_u64(0))),
            ];
            if let Some(contract) = self.contracts.get(name) {
                fields.push(field("_this_address", Type::bystr(20), address_value(name)));
                fields.push(field("_codehash", Type::bystr(32), Value::bystrx([0; 32])));
                fields.extend(contract.fields.iter().cloned());
            }
            (silica_protocol::Address::new(address(name)), fields)
        };
        MemoryHost {
            accounts: self.balances.iter().map(account).collect(),
            block_number: Some(BNum::from_u64(self.block)),
            ..MemoryHost::default()
        }
    }

    /// Returns the whole state: the values of entries by their paths.
    fn state(&self) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        for (name, contract) in &self.contracts {
            for field in &contract.fields {
                flatten(format!("{name}.{}", field.name), &field.value, &mut all);
            }
        }
        all.extend(self.balances.iter().map(|(name, balance)| (format!("balance of {name}"), balance.to_string())));
        all
    }
}

/// Checks the gas of a call, and the end of calls with less gas, against the model of the rules.
fn check_costs(contract: &Contract, message: &IncomingMessage, balance: u128, host: &MemoryHost) {
    let expected = match costs(&contract.program, &contract.init, message, balance, host) {
        Ok(expected) => expected,
        Err(beyond) => return assert_eq!(beyond, "a number of more than 127 bits"),
    };
    let run = |units| {
        let loaded = contract.code.load(Settings::default(), Meter::with_units(units));
        End::of(loaded.and_then(|it| it.call(&contract.init, message, balance, &mut host.clone())).as_ref())
    };
    let (units, limit) = (expected.units(), Meter::with_limit(LIMIT).units());
    let end = run(limit);
    assert_eq!(limit - end.left, units, "{}", message.tag);
    assert_eq!(end.failure.is_some(), expected.fails, "{}", message.tag);
    let limits = if expected.is_refused() { vec![] } else { vec![units / 3, units - units / 4, units - 1] };
    for less in limits {
        assert_eq!(Some(run(less)), expected.end_with(less), "{less} units of {units} for {}", message.tag);
    }
}

/// A transition, and the calls that cover all its cases.
pub(crate) type Scenario = (&'static str, fn(&mut World));

/// Runs a scenario for each transition of an example contract, each in a new world.
///
/// There must be a scenario for every transition, and every transition must succeed at least once. Every error that
/// has a code in the contract must occur.
pub(crate) fn check_scenarios(example: &str, prepare: fn() -> World, scenarios: &[Scenario]) {
    let summary = compile(example, "0x").summary;
    let transitions: Vec<_> = summary.transitions.iter().map(|transition| &*transition.name).collect();
    let named: Vec<_> = scenarios.iter().map(|(transition, _)| *transition).collect();
    assert_eq!(named, transitions, "the transitions of {example}, in order");
    let mut failures = BTreeSet::new();
    for (transition, scenario) in scenarios {
        let mut world = prepare();
        scenario(&mut world);
        let mut seen = world.seen.borrow_mut();
        let run = (example.to_owned(), (*transition).to_owned());
        assert!(seen.successes.contains(&run), "{transition} of {example} never succeeded");
        failures.append(&mut seen.failures);
    }
    let errors = summary.data_types.iter().find(|data_type| &**data_type.name.base() == "Error");
    for code in 1..=errors.map_or(0, |errors| errors.constructors.len()) {
        assert!(failures.contains(&format!("Error(code: -{code})")), "{example} never failed with {code}");
    }
}

/// Returns the interface of a contract: its transitions with their parameters, one on each line.
pub(crate) fn interface(example: &str) -> String {
    let summary = compile(example, "0x").summary;
    let mut lines = String::new();
    for transition in &summary.transitions {
        let parameters = transition.parameters.iter();
        let parameters: Vec<_> = parameters.map(|it| format!("{}: {}", it.name, it.ty.as_written())).collect();
        writeln!(lines, "{}({})", transition.name, parameters.join(", ")).expect("a String accepts every write");
    }
    lines
}

/// A source with the standard library, and with the libraries of the examples.
struct Libraries;

impl LibrarySource for Libraries {
    fn find(&self, target: &str) -> Result<Option<FoundLibrary>, Failure> {
        let found = |text: Vec<u8>| FoundLibrary {
            file: format!("{target}.scillib").into(),
            text: text.into(),
            origin: Origin::default(),
        };
        let own = directory().join(target.to_lowercase()).join(format!("{target}.scillib"));
        let standard = || stdlib::text(target).map(|text| text.as_bytes().to_vec());
        Ok(fs::read(own).ok().or_else(standard).map(found))
    }
}

/// A checked contract and its code.
struct Compiled {
    program: Arc<Program<ContractModule>>,
    code: Arc<Code>,
    summary: Arc<ContractSummary>,
}

fn compile(example: &str, address: &str) -> Compiled {
    let file = format!("{example}.scilla");
    let source = fs::read(directory().join(example).join(&file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    let module = parse_contract(&file, &source).unwrap_or_else(|failure| panic!("{failure}"));
    let origin = Origin { address: Some(address.into()), ..Origin::default() };
    let program = resolve::contract(module, &origin, &Libraries).unwrap_or_else(|error| panic!("{error}"));
    let checked = check::contract(&program, &Options::with_limit(LIMIT));
    let checked = checked.unwrap_or_else(|rejected| panic!("{rejected}"));
    let (code, summary) = (Arc::new(Code::of_contract(&checked)), Arc::new(checked.summary));
    Compiled { program: Arc::new(program), code, summary }
}

fn address(name: &str) -> [u8; 20] {
    let mut bytes = [0; 20];
    bytes.iter_mut().zip(name.bytes()).for_each(|(byte, letter)| *byte = letter);
    bytes
}

fn address_value(name: &str) -> Value {
    Value::bystrx(address(name))
}

fn address_text(name: &str) -> String {
    hex(&address(name))
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::from("0x");
    for byte in bytes {
        write!(text, "{byte:02x}").expect("a String accepts every write");
    }
    text
}

/// Returns the account name of an address.
fn account_text(bytes: &[u8]) -> String {
    let letters = bytes.iter().copied().take_while(|byte| *byte != 0);
    let name: String = letters.map(char::from).collect();
    if name.is_empty() { "null".to_owned() } else { name }
}

/// Parses a value: a name, digits, a text without quotes, `[a, b]` or `(a, b)`.
fn value(text: &str, ty: &Type) -> Value {
    read(text, ty).unwrap_or_else(|| panic!("{text} is no {}", ty.global()))
}

fn read(text: &str, ty: &Type) -> Option<Value> {
    Some(match ty {
        Type::Address(_) | Type::Primitive(Primitive::ByStrX(20)) if text == "null" => address_value(""),
        Type::Address(_) | Type::Primitive(Primitive::ByStrX(20)) => address_value(text),
        Type::Primitive(Primitive::String) => Value::string(text).expect("the text is ASCII"),
        Type::Primitive(Primitive::BNum) => Value::BNum(BNum::parse(text)?),
        Type::Primitive(Primitive::Uint(width)) => Value::Integer(Integer::parse(IntegerType::Uint(*width), text)?),
        Type::Adt(name, of) => match (&**name.name.base(), &**of) {
            ("List", [of]) => {
                let parts = parts(text, '[', ']')?;
                Value::list(of.clone(), parts.into_iter().map(|part| value(part, of)))
            }
            ("Pair", [first, second]) => {
                let [one, other] = parts(text, '(', ')')?.try_into().ok()?;
                Value::pair((first.clone(), value(one, first)), (second.clone(), value(other, second)))
            }
            _ => return None,
        },
        Type::Forall(..) | Type::Function(..) | Type::Map(..) | Type::Primitive(_) | Type::Unit | Type::Variable(_) => {
            return None;
        }
    })
}

/// Splits the text between two brackets at its commas. Ignores commas inside further brackets. An empty text has no
/// parts.
fn parts(text: &str, open: char, close: char) -> Option<Vec<&str>> {
    let inner = text.strip_prefix(open)?.strip_suffix(close)?;
    let mut depth = 0;
    let parts = inner.split(|letter| {
        depth += i32::from(matches!(letter, '[' | '(')) - i32::from(matches!(letter, ']' | ')'));
        letter == ',' && depth == 0
    });
    Some(if inner.is_empty() { Vec::new() } else { parts.map(str::trim).collect() })
}

/// Returns a value in the form of [`value`], but with texts in quotes.
fn text(value: &Value) -> String {
    match value {
        Value::ByStrX(bytes) if bytes.len() == 20 => account_text(bytes),
        Value::ByStrX(bytes) | Value::ByStr(bytes) => hex(bytes),
        Value::BNum(number) => number.to_string(),
        Value::Integer(number) => number.to_string(),
        Value::String(text) => format!("{text:?}"),
        Value::Adt(adt) => {
            let arguments: Vec<_> = adt.arguments().iter().map(text).collect();
            match &**adt.constructor().name.base() {
                "Nil" | "Cons" => format!("[{}]", value.elements().map(text).collect::<Vec<_>>().join(", ")),
                "Pair" => format!("({})", arguments.join(", ")),
                name if arguments.is_empty() => name.to_owned(),
                name => format!("{name}({})", arguments.join(", ")),
            }
        }
        Value::Closure(_) | Value::Map(_) | Value::Message(_) | Value::TypeClosure(_) => value.literal().to_string(),
    }
}

/// Returns a message, event or exception in the form of a call. The value of the entry `label` is the name.
fn call_text(label: &str, message: &Sent) -> String {
    let name = message.get(label).and_then(Value::as_string).expect("it has a name");
    let parameters = message.entries().iter().filter(|entry| !entry.label.starts_with('_'));
    let parameters: Vec<_> = parameters.map(|entry| format!("{}: {}", entry.label, text(&entry.value))).collect();
    format!("{name}({})", parameters.join(", "))
}

/// Returns the first error text of a failure. An exception has the form of a call.
fn error_of(failed: &Failed) -> String {
    let message = failed.failure.entries().first().map_or("", |entry| &entry.message);
    let Some(exception) = message.strip_prefix("Exception thrown: (Message [(_exception : (String \"") else {
        return message.to_owned();
    };
    let (name, rest) = exception.split_once("\"))").expect("an exception has a name");
    let parameters = rest.trim_end_matches("])").split(" ; (").skip(1).map(|entry| {
        let (label, value) = entry.split_once(" : (").expect("an entry has a label");
        let (ty, value) = value.trim_end_matches(')').split_once(' ').expect("a value has a type");
        let address = || (0..20).map(|at| u8::from_str_radix(&value[2 + 2 * at..4 + 2 * at], 16).expect("hex"));
        let value = if ty == "ByStr20" { account_text(&address().collect::<Vec<_>>()) } else { value.to_owned() };
        format!("{label}: {value}")
    });
    format!("{name}({})", parameters.collect::<Vec<_>>().join(", "))
}

/// Collects the entries of nested maps by their paths. Other values are single entries.
fn flatten(path: String, value: &Value, all: &mut BTreeMap<String, String>) {
    let Some(map) = value.as_map() else {
        all.insert(path, text(value));
        return;
    };
    for (key, value) in map {
        flatten(format!("{path}[{}]", text(key.value())), value, all);
    }
}

/// Returns the differences between two states, in the order of their paths.
fn changes(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<String> {
    let paths: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let change = |path: &String| match (before.get(path), after.get(path)) {
        (one, other) if one == other => None,
        (_, Some(value)) => Some(format!("{path} = {value}")),
        (_, None) => Some(format!("{path} is gone")),
    };
    paths.into_iter().filter_map(change).collect()
}
