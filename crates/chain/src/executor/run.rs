//! One run of the interpreter, as a node of generation 8.1 makes it: what it is charged for, and what it reports.

use std::sync::Arc;

use silica_protocol::{Exception, to_styled_json};
use silica_scilla::{
    check::{self, Options},
    code::Code,
    eval::{Failed, Observer, Outcome, Settings},
    gas::{Exhausted, Meter},
    host::Host,
    json::{InputError, MessageInput, read_document},
    report::{Entry, Failure},
    resolve::{self, ResolveError},
    rules::Rules,
    syntax::{parse_contract, parse_library},
    work::{Work, weight},
};

use super::module::{CONTRACT_FILE, LIBRARY_FILE, Libraries, MESSAGE_FILE, Ready, origin, parameters};
use crate::accounts::Source;

/// A run that failed.
#[derive(Debug)]
pub(super) struct Stopped {
    pub(super) failure: Failure,
    /// The gas that is left, where it is told.
    pub(super) gas: Option<u64>,
    /// The work that was done, where it is told.
    pub(super) work: Option<Work>,
}

impl Stopped {
    fn new(failure: Failure, gas: Option<Meter>) -> Self {
        Self { failure, gas: gas.map(Meter::gas), work: gas.map(Meter::work) }
    }

    fn told(message: impl Into<String>, gas: Option<Meter>) -> Self {
        Self::new(Failure::of(Entry::nowhere(message)), gas)
    }

    fn input(error: InputError, gas: Option<Meter>) -> Self {
        match error {
            InputError::Rejected(failure) => Self::new(failure, gas),
            InputError::Internal(text) => Self::told(text, None),
        }
    }

    fn resolving(error: ResolveError, gas: Meter) -> Self {
        match error {
            ResolveError::Import(failure) => Self::new(failure, None),
            ResolveError::Names(failure) => Self::new(failure, Some(gas)),
        }
    }

    /// What a receipt says of the failure.
    pub(super) fn exceptions(self) -> Vec<Exception> {
        let exception = |entry: Entry| Exception { line: entry.start.line, message: entry.message };
        self.failure.into_entries().into_iter().map(exception).collect()
    }
}

impl From<Failed> for Stopped {
    fn from(Failed { failure, gas }: Failed) -> Self {
        Self::new(failure, Some(gas))
    }
}

/// A program that was accepted.
pub(super) struct Accepted {
    pub(super) gas: u64,
    pub(super) work: Work,
    /// Name, type and depth of each field.
    pub(super) fields: Vec<(Arc<str>, String, u32)>,
    pub(super) code: Arc<Code>,
}

/// Counts the bytes that are parsed and checked.
fn options(source: &Source, libraries: &Libraries, limit: u64, work: Work) -> Result<Options, Stopped> {
    let mut options = Options::with_limit(limit);
    options.meter = options.meter.with_work(work);
    let exhausted = |meter| Stopped::told(Exhausted.to_string(), Some(meter));
    options.meter.load(libraries.bytes(), false).map_err(|_| exhausted(options.meter))?;
    options
        .meter
        .spend(text_units(source).saturating_mul(weight::CHECKED_BYTE))
        .map_err(|_| exhausted(options.meter))?;
    Ok(options)
}

/// Checks a contract with a limit of gas, and makes it ready to run.
pub(super) fn check_contract(
    source: &Source,
    libraries: &Libraries,
    limit: u64,
    work: Work,
) -> Result<Accepted, Stopped> {
    let options = options(source, libraries, limit, work)?;
    let origin = origin(&source.init, libraries.rules).map_err(|error| Stopped::input(error, None))?;
    let module = parse_contract(CONTRACT_FILE, source.code.as_bytes())
        .map_err(|failure| Stopped::new(failure, Some(options.meter)))?;
    let program =
        resolve::contract(module, &origin, libraries).map_err(|error| Stopped::resolving(error, options.meter))?;
    let checked =
        check::contract(&program, &options).map_err(|rejected| Stopped::new(rejected.failure, rejected.meter))?;
    let fields = checked.summary.fields.iter();
    Ok(Accepted {
        gas: checked.meter.gas_of_success(limit),
        work: checked.meter.work(),
        fields: fields.map(|it| (Arc::clone(&it.name), it.kind.global().to_string(), it.depth)).collect(),
        code: Arc::new(Code::of_contract(&program)),
    })
}

/// Checks a library with a limit of gas, and makes it ready to run.
pub(super) fn check_library(
    source: &Source,
    libraries: &Libraries,
    limit: u64,
    work: Work,
) -> Result<Accepted, Stopped> {
    let options = options(source, libraries, limit, work)?;
    let origin = origin(&source.init, libraries.rules).map_err(|error| Stopped::input(error, None))?;
    let module = parse_library(LIBRARY_FILE, source.code.as_bytes())
        .map_err(|failure| Stopped::new(failure, Some(options.meter)))?;
    let program =
        resolve::library(module, &origin, libraries).map_err(|error| Stopped::resolving(error, options.meter))?;
    let checked =
        check::library(&program, &options).map_err(|rejected| Stopped::new(rejected.failure, rejected.meter))?;
    Ok(Accepted {
        gas: checked.meter.gas_of_success(limit),
        work: checked.meter.work(),
        fields: Vec::new(),
        code: Arc::new(Code::of_library(&program)),
    })
}

fn settings(rules: Rules) -> Settings {
    Settings { rules, ..Settings::default() }
}

/// The units that the texts of a deployment cost.
pub(super) fn text_units(source: &Source) -> u64 {
    u64::try_from(source.code.len().saturating_add(source.init.len())).unwrap_or(u64::MAX)
}

/// Takes the charge for the texts of a deployment.
fn charged_for_texts(source: &Source, limit: u64, work: Work) -> Result<Meter, Stopped> {
    let mut gas = Meter::with_limit(limit);
    match gas.charge(text_units(source)) {
        // The texts have been counted as paid before they were checked.
        Ok(()) => Ok(gas.with_work(work)),
        Err(_) => Err(Stopped::told(
            "Insufficient gas to parse contract/init files",
            Some(Meter::with_units(0).with_work(work)),
        )),
    }
}

/// Deploys a contract that was accepted: its fields are told to the host. Returns the gas that the run reports as left.
///
/// A success reports units, eight of which are one gas, as the reference does (scilla/gas.md 8); callers never believe
/// that more is left than there was.
pub(super) fn deploy_contract(
    source: &Source,
    code: &Arc<Code>,
    rules: Rules,
    limit: u64,
    work: Work,
    host: &mut dyn Host,
) -> Result<(u64, Work), Stopped> {
    let gas = charged_for_texts(source, limit, work)?;
    let loaded = code.load(settings(rules), gas)?;
    let init = parameters(&source.init, code).map_err(|error| Stopped::input(error, Some(loaded.gas)))?;
    let version = init.iter().find(|entry| &*entry.name == "_scilla_version").map(|entry| &entry.value);
    loaded.check_version(version)?;
    let gas = loaded.deploy(&init, Some(host))?.gas;
    Ok((gas.units(), gas.work()))
}

/// Deploys a library that was accepted: its values are evaluated. Returns the gas that is left.
pub(super) fn deploy_library(
    source: &Source,
    code: &Arc<Code>,
    rules: Rules,
    limit: u64,
    work: Work,
) -> Result<(u64, Work), Stopped> {
    let gas = charged_for_texts(source, limit, work)?;
    let loaded = code.load(settings(rules), gas)?;
    let init = parameters(&source.init, code).map_err(|error| Stopped::input(error, Some(loaded.gas)))?;
    let version = init.iter().find(|entry| &*entry.name == "_scilla_version").map(|entry| &entry.value);
    loaded.check_version(version)?;
    Ok((loaded.gas.gas_of_success(limit), loaded.gas.work()))
}

/// Takes the charge for a message, and returns its text.
fn charged_for_message(message: &serde_json::Value, limit: u64, work: Work) -> Result<(String, Meter), Stopped> {
    // The file of the message is laid out like a receipt, and charged for with its white space.
    let text = to_styled_json(message);
    let mut gas = Meter::with_limit(limit).with_work(work);
    let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
    match gas.charge(bytes).and_then(|()| gas.spend(bytes.saturating_mul(weight::JSON_BYTE))) {
        Ok(()) => Ok((text, gas)),
        Err(_) => {
            Err(Stopped::told("Insufficient gas to parse message", Some(Meter::with_units(0).with_work(gas.work()))))
        }
    }
}

/// Sends a message to a library, which ignores it. Returns that nothing comes of it, and the gas that the run reports
/// as left: units, as for a deployment (`Zilliqa/scilla` 308af35, `src/eval/Runner.ml`, messages to libraries).
pub(super) fn call_library(
    message: &serde_json::Value,
    balance: u128,
    limit: u64,
    work: Work,
) -> Result<(Outcome, u64), Stopped> {
    let (_, gas) = charged_for_message(message, limit, work)?;
    let outcome = Outcome { accepted: false, balance, messages: Vec::new(), events: Vec::new(), gas };
    Ok((outcome, gas.units()))
}

/// Sends a message to a contract. Returns what it leads to, and the gas that is left; the observer sees how.
pub(super) fn call(
    ready: &Ready,
    message: &serde_json::Value,
    balance: u128,
    rules: Rules,
    limit: Meter,
    host: &mut dyn Host,
    observer: Option<&mut dyn Observer>,
) -> Result<(Outcome, u64), Stopped> {
    let (text, mut gas) = charged_for_message(message, limit.gas(), limit.work())?;
    // What the contract was deployed with is compared with its types, in each call.
    let parts = ready.init().iter().map(|entry| entry.value.parts()).fold(0, u64::saturating_add);
    let told = gas.spend(parts.saturating_mul(weight::PART));
    told.map_err(|exhausted| Stopped::told(exhausted.to_string(), Some(gas)))?;
    let loaded = ready.code.load(settings(rules), gas)?;
    let told = |error| Stopped::input(error, Some(loaded.gas));
    let document = read_document(MESSAGE_FILE, text.as_bytes()).map_err(told)?;
    let input = MessageInput::read(MESSAGE_FILE, document.root(), ready.code.data_types()).map_err(told)?;
    let outcome = loaded.call_observed(ready.init(), &input.into(), balance, host, observer)?;
    let left = outcome.gas.gas_of_success(limit.gas());
    Ok((outcome, left))
}
