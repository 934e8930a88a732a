//! One run of the interpreter, with the charges and the report of the generation 8.1.

use std::sync::Arc;

use silica_protocol::{Address, Exception};
use silica_scilla::{
    check::{self, Options, Rejected},
    code::Code,
    eval::{Failed, Observer, Outcome, Settings},
    gas::Meter,
    host::Host,
    json::{InputError, MessageInput, read_document},
    report::{Entry, Failure},
    resolve::{self, ResolveError},
    rules::Rules,
    syntax::{parse_contract, parse_library},
    value::Message,
    work::{Work, weight},
};

use super::module::{CONTRACT_FILE, LIBRARY_FILE, Libraries, LoadedContract, MESSAGE_FILE, origin, parameters};
use crate::accounts::Source;

/// A run that failed.
#[derive(Debug)]
pub(super) struct RunFailure {
    pub(super) failure: Failure,
    /// The gas that is left, if the run reports it.
    pub(super) gas: Option<u64>,
    /// The work of the transaction so far.
    pub(super) work: Work,
}

impl RunFailure {
    /// Returns a failure that reports the gas that is left.
    fn new(failure: Failure, gas: Meter) -> Self {
        Self { failure, gas: Some(gas.gas()), work: gas.work() }
    }

    /// Returns a failure that does not report the gas that is left.
    fn without_gas(failure: Failure, gas: Meter) -> Self {
        Self { gas: None, ..Self::new(failure, gas) }
    }

    fn exhausted(message: impl Into<String>, work: Work) -> Self {
        Self::new(Failure::of(Entry::nowhere(message)), Meter::with_units(0).with_work(work))
    }

    fn input(error: InputError, gas: Meter) -> Self {
        match error {
            InputError::Rejected(failure) => Self::new(failure, gas),
            InputError::Internal(text) => Self::without_gas(Failure::of(Entry::nowhere(text)), gas),
        }
    }

    /// Returns the failure for invalid init data. This failure does not report the gas that is left.
    pub(super) fn origin(error: InputError, gas: Meter) -> Self {
        Self { gas: None, ..Self::input(error, gas) }
    }

    fn resolving(error: ResolveError, gas: Meter) -> Self {
        match error {
            ResolveError::Import(failure) => Self::without_gas(failure, gas),
            ResolveError::Names(failure) => Self::new(failure, gas),
        }
    }

    fn rejected(Rejected { failure, meter, reports_gas, .. }: Rejected) -> Self {
        if reports_gas { Self::new(failure, meter) } else { Self::without_gas(failure, meter) }
    }

    /// Returns the exceptions for the receipt.
    pub(super) fn exceptions(self) -> Vec<Exception> {
        let exception = |entry: Entry| Exception { line: entry.start.line, message: entry.message };
        self.failure.into_entries().into_iter().map(exception).collect()
    }
}

impl From<Failed> for RunFailure {
    fn from(Failed { failure, gas }: Failed) -> Self {
        Self::new(failure, gas)
    }
}

/// An accepted program, and the costs of its check.
pub(super) struct Accepted {
    pub(super) gas: u64,
    pub(super) work: Work,
    /// Name, type and depth of each field.
    pub(super) fields: Vec<(Arc<str>, String, u32)>,
    pub(super) code: Arc<Code>,
}

/// Returns the options of a check. Counts the work to parse and check the texts.
pub(super) fn options(source: &Source, limit: u64, work: Work) -> Result<Options, RunFailure> {
    let mut options = Options::with_limit(limit);
    options.meter = options.meter.with_work(work);
    let bytes = text_units(source);
    let counted = options.meter.spend(bytes.saturating_mul(weight::CHECKED_BYTE));
    // The gas covers the work for common programs. The slowest programs take three times as long. This additional work
    // counts only for the block.
    match counted.and_then(|()| options.meter.load(bytes.saturating_mul(2), true)) {
        Ok(()) => Ok(options),
        Err(exhausted) => Err(RunFailure::exhausted(exhausted.to_string(), options.meter.work())),
    }
}

/// Counts the work for the imports of a program, for which no gas is charged: the loading of the standard library, and
/// the check of all libraries. The check counts half the bytes of all libraries.
pub(super) fn load_imports(options: &mut Options, libraries: &Libraries, bytes: u64) -> Result<(), RunFailure> {
    let loaded = bytes.saturating_sub(libraries.bytes()).saturating_add(bytes / 2);
    let counted = options.meter.load(loaded, true);
    counted.map_err(|exhausted| RunFailure::exhausted(exhausted.to_string(), options.meter.work()))
}

/// Checks a contract with a gas limit, and compiles it.
pub(super) fn check_contract(
    source: &Source,
    libraries: &Libraries,
    limit: u64,
    work: Work,
) -> Result<Accepted, RunFailure> {
    let mut options = options(source, limit, work)?;
    let origin = origin(&source.init, libraries.rules).map_err(|error| RunFailure::origin(error, options.meter))?;
    let module = parse_contract(CONTRACT_FILE, source.code.as_bytes())
        .map_err(|failure| RunFailure::new(failure, options.meter))?;
    let program =
        resolve::contract(module, &origin, libraries).map_err(|error| RunFailure::resolving(error, options.meter))?;
    load_imports(&mut options, libraries, program.imported_bytes())?;
    let checked = check::contract(&program, &options).map_err(RunFailure::rejected)?;
    let fields = checked.summary.fields.iter();
    Ok(Accepted {
        gas: checked.meter.gas_of_success(limit),
        work: checked.meter.work(),
        fields: fields.map(|it| (Arc::clone(&it.name), it.ty.global().to_string(), it.depth)).collect(),
        code: Arc::new(Code::of_contract(&checked)),
    })
}

/// Checks a library with a gas limit, and compiles it.
pub(super) fn check_library(
    source: &Source,
    libraries: &Libraries,
    limit: u64,
    work: Work,
) -> Result<Accepted, RunFailure> {
    let mut options = options(source, limit, work)?;
    let origin = origin(&source.init, libraries.rules).map_err(|error| RunFailure::origin(error, options.meter))?;
    let module = parse_library(LIBRARY_FILE, source.code.as_bytes())
        .map_err(|failure| RunFailure::new(failure, options.meter))?;
    let program =
        resolve::library(module, &origin, libraries).map_err(|error| RunFailure::resolving(error, options.meter))?;
    load_imports(&mut options, libraries, program.imported_bytes())?;
    let checked = check::library(&program, &options).map_err(RunFailure::rejected)?;
    Ok(Accepted {
        gas: checked.meter.gas_of_success(limit),
        work: checked.meter.work(),
        fields: Vec::new(),
        code: Arc::new(Code::of_library(&checked)),
    })
}

fn settings(rules: Rules) -> Settings {
    Settings { rules, ..Settings::default() }
}

/// Returns the units of the interpreter for the texts of a deployment: one for each byte.
pub(super) fn text_units(source: &Source) -> u64 {
    u64::try_from(source.code.len().saturating_add(source.init.len())).unwrap_or(u64::MAX)
}

/// Charges the gas for the texts of a deployment.
fn charged_for_texts(source: &Source, limit: u64, work: Work) -> Result<Meter, RunFailure> {
    let mut gas = Meter::with_limit(limit);
    match gas.charge(text_units(source)) {
        // The work for the texts was counted before the check.
        Ok(()) => Ok(gas.with_work(work)),
        Err(_) => Err(RunFailure::exhausted("Insufficient gas to parse contract/init files", work)),
    }
}

/// Deploys an accepted contract. The host gets the initial values of the fields. Returns the gas that the run reports
/// as left.
///
/// As in the reference, a success reports units of the interpreter, eight of which are one gas
/// (Reference: scilla#units). Callers must limit the result to the gas that was left before.
pub(super) fn deploy_contract(
    source: &Source,
    code: &Arc<Code>,
    rules: Rules,
    limit: u64,
    work: Work,
    host: &mut dyn Host,
) -> Result<(u64, Work), RunFailure> {
    let gas = charged_for_texts(source, limit, work)?;
    let loaded = code.load(settings(rules), gas)?;
    let init = parameters(&source.init, code).map_err(|error| RunFailure::input(error, loaded.gas))?;
    let version = init.iter().find(|entry| &*entry.name == "_scilla_version").map(|entry| &entry.value);
    loaded.check_version(version)?;
    let gas = loaded.deploy(&init, Some(host))?.gas;
    Ok((gas.units(), gas.work()))
}

/// Deploys an accepted library, and evaluates its values. Returns the gas that is left.
pub(super) fn deploy_library(
    source: &Source,
    code: &Arc<Code>,
    rules: Rules,
    limit: u64,
    work: Work,
) -> Result<(u64, Work), RunFailure> {
    let gas = charged_for_texts(source, limit, work)?;
    let loaded = code.load(settings(rules), gas)?;
    let init = parameters(&source.init, code).map_err(|error| RunFailure::input(error, loaded.gas))?;
    let version = init.iter().find(|entry| &*entry.name == "_scilla_version").map(|entry| &entry.value);
    loaded.check_version(version)?;
    Ok((loaded.gas.gas_of_success(limit), loaded.gas.work()))
}

/// The message of a run.
pub(super) enum Input<'m> {
    /// The message of a signed transaction as styled JSON.
    Text(&'m str),
    /// A message of another contract.
    Sent {
        /// The values of the message.
        message: &'m Message,
        /// The length of the message as styled JSON, in bytes.
        bytes: usize,
        sender: Address,
        origin: Address,
    },
}

impl Input<'_> {
    /// Returns the length of the message as styled JSON, in bytes. The charge includes the white space, because the
    /// message file of the reference has the layout of a receipt.
    fn bytes(&self) -> u64 {
        let bytes = match self {
            Self::Text(text) => text.len(),
            Self::Sent { bytes, .. } => *bytes,
        };
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// Charges the gas for the message.
    fn charge(&self, mut gas: Meter) -> Result<Meter, RunFailure> {
        let bytes = self.bytes();
        match gas.charge(bytes).and_then(|()| gas.spend(bytes.saturating_mul(weight::JSON_BYTE))) {
            Ok(()) => Ok(gas),
            Err(_) => Err(RunFailure::exhausted("Insufficient gas to parse message", gas.work())),
        }
    }

    fn read(&self, code: &Code) -> Result<MessageInput, InputError> {
        let known = code.data_types();
        match self {
            Self::Text(text) => {
                let document = read_document(MESSAGE_FILE, text.as_bytes())?;
                MessageInput::read(MESSAGE_FILE, document.root(), known)
            }
            Self::Sent { message, sender, origin, .. } => {
                MessageInput::of_sent(MESSAGE_FILE, message, [*sender, *origin], known)
            }
        }
    }
}

/// Sends a message to a library, which ignores the message. Returns an empty outcome, and the gas that the run reports
/// as left, in units, as for a deployment (`Zilliqa/scilla` 308af35, `src/eval/Runner.ml`, messages to libraries).
pub(super) fn call_library(input: &Input<'_>, balance: u128, limit: Meter) -> Result<(Outcome, u64), RunFailure> {
    let gas = input.charge(limit)?;
    let outcome = Outcome { accepted: false, balance, messages: Vec::new(), events: Vec::new(), gas };
    Ok((outcome, gas.units()))
}

/// Sends a message to a contract. Returns the outcome and the gas that is left. The observer gets the steps.
pub(super) fn call(
    ready: &LoadedContract,
    input: &Input<'_>,
    balance: u128,
    rules: Rules,
    limit: Meter,
    host: &mut dyn Host,
    observer: Option<&mut dyn Observer>,
) -> Result<(Outcome, u64), RunFailure> {
    let mut gas = input.charge(limit)?;
    // Each call compares the init parameters of the contract with their types.
    let parts = ready.init().iter().map(|entry| entry.value.parts()).fold(0, u64::saturating_add);
    let spent = gas.spend(parts.saturating_mul(weight::PART));
    spent.map_err(|exhausted| RunFailure::exhausted(exhausted.to_string(), gas.work()))?;
    let loaded = ready.code.load(settings(rules), gas)?;
    let message = input.read(&ready.code).map_err(|error| RunFailure::input(error, loaded.gas))?;
    let outcome = loaded.call_observed(ready.init(), &message.into(), balance, host, observer)?;
    let left = outcome.gas.gas_of_success(limit.gas());
    Ok((outcome, left))
}
