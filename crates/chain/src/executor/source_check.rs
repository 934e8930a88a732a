//! The check of a source text that is not deployed.
//!
//! The check has the limits of gas and work of a deployment with the highest gas limit. So it ends for every text.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use silica_protocol::{Address, Gas, InitData};
use silica_scilla::{
    check::{self, Rejected},
    diagnosis::{Diagnosis, diagnose, word_at},
    gas::{Exhausted, UNITS_PER_GAS},
    report::{Entry, Failure, Warning},
    resolve::{self, ResolveError},
    syntax::{is_library, parse_contract, parse_library},
    work::{PER_BLOCK, Work},
};
use silica_state::StateError;

use super::{
    ContractCache, Overlay,
    interface::ContractInterface,
    module::{InitFacts, Libraries, LoadError, origin},
    run::{self, RunFailure},
};
use crate::{accounts::StateReader, config::Rules};

/// File names in reports. The name without its extension is the prefix of the data types of the text.
const CONTRACT: &str = "contract.scilla";
const LIBRARY: &str = "library.scillib";
/// Maximum number of libraries of a request.
pub(crate) const MOST_LIBRARIES: usize = 100;
/// Maximum number of diagnostics of a result.
const MOST_DIAGNOSTICS: usize = 100;
/// Maximum number of errors with advice. The search for similar names takes time for each error.
const MOST_EXPLAINED: usize = 20;
/// Maximum number of notes of a diagnostic.
const MOST_NOTES: usize = 10;
/// Maximum number of characters of a message, a note or a help text.
const LONGEST_TEXT: usize = 1000;

/// A request to check a source text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckRequest {
    /// The text of a contract or library.
    pub source: String,
    /// The addresses of imported libraries by their names, as in the init data `_extlibs`.
    pub libraries: BTreeMap<String, Address>,
}

/// The result of a check.
#[derive(Clone, Debug)]
pub struct SourceCheck {
    /// Errors in the order of the report, then warnings in the order of the check. At most 100.
    pub diagnostics: Vec<Diagnostic>,
    /// Whether there are further diagnostics.
    pub truncated: bool,
    /// The interface, or `None` if the text has an error. Data types of the text have the prefix `contract.` or
    /// `library.` instead of an address.
    pub interface: Option<ContractInterface>,
}

/// An error or a warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Whether the diagnostic is an error. If not, it is a warning.
    pub is_error: bool,
    /// The text of the error or warning.
    pub message: String,
    /// The file of an imported library with the problem; `None` for the checked text.
    pub file: Option<String>,
    /// The position of the wrong part, or `None` if it is unknown.
    pub start: Option<Position>,
    /// The position after the wrong part, or `None` if it is unknown.
    pub end: Option<Position>,
    /// Further facts about the problem.
    pub notes: Vec<String>,
    /// Advice for the correction, or `None` if there is none.
    pub help: Option<String>,
}

/// A position in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line from 1.
    pub line: u32,
    /// Column from 1 in bytes.
    pub column: u32,
}

/// A check that ended with an error.
struct Stopped {
    failure: Failure,
    warnings: Vec<Warning>,
    /// Whether the parser reported the error.
    is_parse_error: bool,
    /// Whether another check with advice finds the same errors, within the limits.
    is_repeatable: bool,
}

impl Stopped {
    fn early(failure: Failure) -> Self {
        Self { failure, warnings: Vec::new(), is_parse_error: false, is_repeatable: false }
    }

    fn unparsed(failure: Failure) -> Self {
        Self { is_parse_error: true, ..Self::early(failure) }
    }
}

impl From<RunFailure> for Stopped {
    fn from(RunFailure { failure, .. }: RunFailure) -> Self {
        Self::early(failure)
    }
}

impl From<ResolveError> for Stopped {
    fn from(error: ResolveError) -> Self {
        let (ResolveError::Import(failure) | ResolveError::Names(failure)) = error;
        Self::early(failure)
    }
}

impl From<Rejected> for Stopped {
    fn from(Rejected { failure, mut warnings, meter, .. }: Rejected) -> Self {
        warnings.reverse();
        let is_exhausted = meter.units() == 0 || meter.work().end().is_some();
        let is_repeatable = !is_exhausted && failure.entries().len() <= MOST_EXPLAINED;
        Self { failure, warnings, is_parse_error: false, is_repeatable }
    }
}

/// The program of a check.
struct Task<'a> {
    source: crate::accounts::Source,
    is_library: bool,
    libraries: &'a Libraries,
    gas: u64,
    work: Work,
}

impl Task<'_> {
    /// Checks the program. Returns its interface, and the warnings in the order of the check.
    fn check(&self, advice: bool) -> Result<(ContractInterface, Vec<Warning>), Stopped> {
        let mut options = run::options(&self.source, self.gas, self.work)?;
        options.advice = advice;
        let origin = origin(&self.source.init, self.libraries.rules)
            .map_err(|error| RunFailure::origin(error, options.meter))?;
        let text = self.source.code.as_bytes();
        let (interface, mut warnings) = if self.is_library {
            let module = parse_library(LIBRARY, text).map_err(Stopped::unparsed)?;
            let program = resolve::library(module, &origin, self.libraries)?;
            run::load_imports(&mut options, self.libraries, program.imported_bytes())?;
            let checked = check::library(&program, &options)?;
            (ContractInterface::of_library(&program, &checked.data_types), checked.warnings)
        } else {
            let module = parse_contract(CONTRACT, text).map_err(Stopped::unparsed)?;
            let program = resolve::contract(module, &origin, self.libraries)?;
            run::load_imports(&mut options, self.libraries, program.imported_bytes())?;
            let checked = check::contract(&program, &options)?;
            (ContractInterface::of_contract(&program, checked.summary), checked.warnings)
        };
        warnings.reverse();
        Ok((interface, warnings))
    }
}

/// Checks a source text. `gas` is the highest gas limit of a deployment.
pub(crate) fn check_source<W: StateReader>(
    request: &CheckRequest,
    gas: Gas,
    rules: &Rules,
    contract_cache: &ContractCache,
    overlay: &mut Overlay<W>,
) -> Result<SourceCheck, CheckError> {
    let CheckRequest { source, libraries } = request;
    let (got, most) = (source.len(), rules.max_code_bytes);
    if u64::try_from(got).is_ok_and(|got| got > most) {
        return Err(CheckError::TooLong { got, most });
    }
    if libraries.len() > MOST_LIBRARIES {
        return Err(CheckError::TooManyLibraries { got: libraries.len() });
    }
    let is_library = is_library(source.as_bytes());
    let init = init_data(libraries, is_library).to_string();
    let facts = InitData::parse(&init).ok().and_then(|init| InitFacts::of(&init, contract_cache.rules()));
    let facts = facts.ok_or(CheckError::Unusable)?;
    let source = crate::accounts::Source { code: source.as_str().into(), init: init.into() };
    // As for a deployment, the gas for the texts and for the start of the checker permits work.
    let mut work = Work::limited(PER_BLOCK);
    let paid = rules.checker_gas.get().saturating_mul(UNITS_PER_GAS);
    let counted = work.pay(run::text_units(&source).saturating_add(paid));
    let found = counted
        .map_err(LoadError::from)
        .and_then(|()| Libraries::find(&facts, contract_cache, overlay, |bytes| work.load(bytes, true)));
    let found = match found {
        Ok(found) => found,
        Err(LoadError::State(error)) => return Err(error.into()),
        Err(LoadError::Exhausted) => {
            let exhausted = Failure::of(Entry::nowhere(Exhausted.to_string()));
            return Ok(result(Err(Stopped::early(exhausted)), &source.code));
        }
        Err(LoadError::Libraries | LoadError::Unusable) => return Err(no_library(libraries, contract_cache, overlay)?),
    };
    let gas = gas.get().saturating_sub(rules.checker_gas.get());
    let task = Task { source, is_library, libraries: &found, gas, work };
    let checked = match task.check(false) {
        Err(stopped) if stopped.is_repeatable => task.check(true),
        checked => checked,
    };
    Ok(result(checked, &task.source.code))
}

/// Returns the init data of a deployment with these libraries.
fn init_data(libraries: &BTreeMap<String, Address>, is_library: bool) -> Json {
    let pair = |(name, address): (&String, &Address)| {
        let arguments = json!([name, format!("0x{address}")]);
        json!({"constructor": "Pair", "argtypes": ["String", "ByStr20"], "arguments": arguments})
    };
    let value = libraries.iter().map(pair).collect::<Json>();
    let mut init = vec![json!({"vname": "_scilla_version", "type": "Uint32", "value": "0"})];
    if !libraries.is_empty() {
        init.push(json!({"vname": "_extlibs", "type": "List(Pair String ByStr20)", "value": value}));
    }
    if is_library {
        let yes = json!({"constructor": "True", "argtypes": [], "arguments": []});
        init.push(json!({"vname": "_library", "type": "Bool", "value": yes}));
    }
    Json::Array(init)
}

/// Returns the error for the first address that has no library.
fn no_library<W: StateReader>(
    libraries: &BTreeMap<String, Address>,
    contract_cache: &ContractCache,
    overlay: &mut Overlay<W>,
) -> Result<CheckError, StateError> {
    for (name, address) in libraries {
        if contract_cache.get(address, overlay)?.is_none_or(|module| !module.is_library) {
            return Ok(CheckError::NoLibrary { name: short(name), address: *address });
        }
    }
    Ok(CheckError::Unusable)
}

fn result(checked: Result<(ContractInterface, Vec<Warning>), Stopped>, text: &str) -> SourceCheck {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let lines: Vec<&str> = text.split('\n').collect();
    let (errors, warnings, is_parse_error, interface) = match checked {
        Ok((interface, warnings)) => (Vec::new(), warnings, false, Some(interface)),
        Err(Stopped { failure, warnings, is_parse_error, .. }) => (diagnose(&failure), warnings, is_parse_error, None),
    };
    let errors = errors.iter().map(|error| diagnostic(error, true, is_parse_error && error.is_at_end(), &lines));
    let warnings = warnings.iter().map(|warning| diagnostic(&Diagnosis::from(warning), false, false, &lines));
    let mut all = errors.chain(warnings);
    let diagnostics = all.by_ref().take(MOST_DIAGNOSTICS).collect();
    let truncated = all.next().is_some();
    SourceCheck { diagnostics, truncated, interface }
}

/// Returns a diagnostic. If `ends` is true, the known position is the end of the wrong part.
fn diagnostic(shown: &Diagnosis, is_error: bool, ends: bool, lines: &[&str]) -> Diagnostic {
    let Diagnosis { title, place, label, others, notes, help, .. } = shown;
    let is_own = [CONTRACT, LIBRARY].contains(&&*place.file);
    let file = (!is_own && !place.file.is_empty()).then(|| place.file.to_string());
    let at = |column| Position { line: place.line, column };
    let index = usize::try_from(place.line).ok().and_then(|line| line.checked_sub(1));
    let line = index.filter(|_| is_own).and_then(|index| lines.get(index)).copied();
    // A line break inside a string literal does not count in positions. Then `line` can be another line.
    let line =
        line.filter(|line| usize::try_from(place.column).is_ok_and(|column| column <= line.len().saturating_add(1)));
    let range = line.map(|line| word_at(line, place.column, ends));
    let column = |offset: usize| at(u32::try_from(offset.saturating_add(1)).unwrap_or(u32::MAX));
    let elsewhere = others.iter().map(|(at, label)| format!("{}:{}: {label}", at.line, at.column));
    let notes = label.iter().cloned().chain(elsewhere).chain(notes.iter().cloned());
    Diagnostic {
        is_error,
        message: short(title),
        file,
        start: (place.line > 0).then(|| range.as_ref().map_or(at(place.column), |range| column(range.start))),
        end: range.map(|range| column(range.end)),
        notes: notes.take(MOST_NOTES).map(|note| short(&note)).collect(),
        help: help.as_deref().map(short),
    }
}

/// Returns the first [`LONGEST_TEXT`] characters of a text.
fn short(text: &str) -> String {
    text.trim().chars().take(LONGEST_TEXT).collect()
}

/// Reason why a source text cannot be checked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// The text is longer than the code of a deployment may be.
    #[error("expected at most {most} bytes, got {got}")]
    TooLong {
        /// Length of the text, in bytes.
        got: usize,
        /// Maximum length of the code of a deployment, in bytes.
        most: u64,
    },
    /// There are too many libraries.
    #[error("expected at most {MOST_LIBRARIES} libraries, got {got}")]
    TooManyLibraries {
        /// Number of libraries in the request.
        got: usize,
    },
    /// No library has this address.
    #[error("expected the address of a library for {name:?}, got {address}")]
    NoLibrary {
        /// Name of the library.
        name: String,
        /// Address in the request.
        address: Address,
    },
    /// A library has another Scilla version than the source text, or is invalid under the present rules.
    #[error("expected libraries that have the Scilla version of the source text and are valid under the present rules")]
    Unusable,
    /// A read of the state or of the record failed.
    #[error("failed to read state")]
    State(#[from] StateError),
}
