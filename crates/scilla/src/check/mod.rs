//! The checker: verifies that a contract, a library or an expression may run. Returns its types and its summary.
//!
//! ```text
//! Program ─▶ recursion ─▶ types ─▶ patterns ─▶ sanity ─▶ events ─▶ version ─▶ Checked
//! ```
//!
//! A phase with an error ends the check. Only the type phase costs gas.

use std::collections::HashSet;

use crate::{
    analysis::{
        accepts, cash_flow, dead_code, events, messages,
        patterns::Patterns,
        recursion::{self, Recursion},
        sanity::{self, Subject, Warnings},
        summary, type_info,
    },
    code::Code,
    gas::Meter,
    report::{Entry, Failure, Warning},
    resolve::{Imported, Program},
    syntax::ast::{ContractModule, ExpressionModule, Library, LibraryModule},
    typecheck::{Aborted, Checker, Fault, Text},
    types::{Type, adt::DataTypes},
    version::VERSION,
    vocabulary::Vocabulary,
};
pub use crate::{
    analysis::{
        call_graph::CallGraph,
        cash_flow::{CashFlow, ConstructorTags, DataTag, DataTypeTags, Tag, TokenFields},
        events::EventInfo,
        summary::{ComponentSummary, ContractSummary, FieldSummary, ParameterSummary},
        type_info::TypeInfo,
    },
    typecheck::Typing,
};

/// Options of a check.
#[derive(Clone, Debug)]
pub struct Options {
    /// Limits of the gas and the work of the check.
    pub meter: Meter,
    /// Whether to search for suspicious code. Some errors are found only by this search. Nodes always set this option.
    pub sanity: bool,
    /// Names of fields and parameters that are known to hold money, or `None` to skip the analysis of money. The
    /// analysis finds fields that hold money, contracts that send money but accept none, and components that accept an
    /// amount twice.
    pub money: Option<TokenFields>,
    /// Whether to collect the types of all names.
    pub type_info: bool,
    /// Whether the output is for people. Errors then have causes, and there are further warnings. Verdict, error
    /// texts and gas do not depend on this option.
    pub advice: bool,
}

impl Options {
    /// Returns the options of nodes, with a limit in gas.
    pub const fn with_limit(gas: u64) -> Self {
        Self { meter: Meter::with_limit(gas), sanity: true, money: None, type_info: false, advice: false }
    }
}

/// A program that the check accepts, with the results of the check.
///
/// Only the check makes this value. So [`Code`] compiled from this value has no type errors.
#[derive(Clone, Debug)]
pub struct Checked<'a, M, S> {
    program: &'a Program<M>,
    /// The remaining gas, and the work of the check.
    pub meter: Meter,
    /// Warnings, the newest first.
    pub warnings: Vec<Warning>,
    /// Further warnings, which the reference does not have, the last one of the source first. The list is empty unless
    /// [`Options::advice`] is set.
    pub advice: Vec<Warning>,
    /// Types of the expressions and names in the module.
    pub typing: Typing,
    /// All data types that the program can use.
    pub data_types: DataTypes,
    /// Types of all names, for editors. The list is empty unless [`Options::type_info`] is set.
    pub type_info: Vec<TypeInfo>,
    /// Summary of the program.
    pub summary: S,
}

/// A contract that the check accepts. The result has its summary.
pub type CheckedContract<'a> = Checked<'a, ContractModule, ContractSummary>;

/// A library that the check accepts.
pub type CheckedLibrary<'a> = Checked<'a, LibraryModule, ()>;

/// An expression that the check accepts. The summary is its type.
pub type CheckedExpression<'a> = Checked<'a, ExpressionModule, Type>;

impl Code {
    /// Compiles a checked contract.
    ///
    /// A program that was not checked has no such code:
    ///
    /// ```compile_fail,E0308
    /// # use silica_scilla::{code::Code, resolve::{self, Origin}, stdlib::Standard, syntax::parse_contract};
    /// let text = b"scilla_version 0 contract Wrong () field a : Uint32 = Uint64 1";
    /// let module = parse_contract("wrong.scilla", text).unwrap();
    /// let program = resolve::contract(module, &Origin::default(), &Standard).unwrap();
    /// let code = Code::of_contract(&program);
    /// ```
    pub fn of_contract(checked: &CheckedContract<'_>) -> Self {
        Self::of_contract_unchecked(checked.program)
    }

    /// Compiles a checked library.
    pub fn of_library(checked: &CheckedLibrary<'_>) -> Self {
        Self::of_library_unchecked(checked.program)
    }

    /// Compiles a checked expression.
    pub fn of_expression(checked: &CheckedExpression<'_>) -> Self {
        Self::of_expression_unchecked(checked.program)
    }
}

/// A program that the check rejects.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{failure}")]
pub struct Rejected {
    /// Errors of the first phase that has errors.
    pub failure: Failure,
    /// Warnings, the newest first.
    pub warnings: Vec<Warning>,
    /// The remaining gas, and the work of the check.
    pub meter: Meter,
    /// Whether a report of the failure has the remaining gas.
    pub reports_gas: bool,
}

/// Checks a contract.
///
/// # Errors
///
/// If the contract is invalid. The errors are those of the first phase that has errors.
pub fn contract<'a>(program: &'a Program<ContractModule>, options: &Options) -> Result<CheckedContract<'a>, Rejected> {
    let module = &program.main;
    let contract = &module.contract;
    let text = Text { source: &module.source, arena: &module.arena };
    let imports = in_order(&program.imports);
    let reject = |errors, meter, warnings| Rejected::of(errors, meter, warnings);

    let vocabulary = options.advice.then(|| Vocabulary::of_contract(program));
    let vocabulary = vocabulary.as_ref();

    let known = contract_definitions(module, &imports, vocabulary)
        .map_err(|errors| reject(errors, options.meter, Warnings::default()))?;

    let typed = contract_types(module, &imports, &known, options.meter, vocabulary);
    let Typed { main: typing, imports: typings, mut meter } =
        typed.map_err(|(errors, meter)| reject(errors, meter, Warnings::default()))?;

    contract_patterns(module, &imports, &known, &typing, &typings, &mut meter, options)
        .map_err(|errors| unless_exhausted(errors, meter))
        .map_err(|errors| reject(errors, meter, Warnings::default()))?;

    let mut warnings = Warnings::default();
    let subject = Subject { text, typing: &typing, library: module.library.as_ref(), contract };
    let call_graph = CallGraph::of(&module.arena, module.library.as_ref(), contract);
    let events = match look_over(program, &imports, subject, &call_graph, options, &mut warnings) {
        Ok(events) => events,
        Err(errors) => return Err(reject(errors, meter, warnings)),
    };
    if *module.version != *VERSION {
        let message = format!("Scilla version mismatch. Expected {VERSION} vs Contract {}\n", module.version);
        let rejected = Rejected::of(vec![Entry::nowhere(message)], meter, warnings);
        return Err(Rejected { reports_gas: false, ..rejected });
    }
    let cash_flow = options.money.as_ref().map(|tokens| cash_flow::contract(&module.arena, contract, &known, tokens));
    Ok(Checked {
        program,
        meter,
        warnings: warnings.into_newest_first(),
        advice: if options.advice { accepts::unaccepted(subject) } else { Vec::new() },
        type_info: requested_types(options, || type_info::contract(text, &typing, module.library.as_ref(), contract)),
        summary: summary::summary(contract, events, call_graph, cash_flow, &known),
        typing,
        data_types: known,
    })
}

/// Registers the data types of a contract and its libraries.
fn contract_definitions(
    module: &ContractModule,
    imports: &[&Imported],
    vocabulary: Option<&Vocabulary>,
) -> Result<DataTypes, Vec<Entry>> {
    let text = Text { source: &module.source, arena: &module.arena };
    let mut known = DataTypes::built_in();
    let mut errors = imported_definitions(imports, &mut known);
    let mut recursion = Recursion { known: &mut known, text, vocabulary };
    errors.extend(module.library.iter().flat_map(|library| recursion.library(library)));
    errors.extend(recursion.contract(&module.contract));
    if errors.is_empty() { Ok(known) } else { Err(recursion::contract_header(text, &module.contract, errors)) }
}

/// Runs the phases after the patterns on a contract: warnings about accepts, sanity, unused code, and events.
fn look_over(
    program: &Program<ContractModule>,
    imports: &[&Imported],
    subject: Subject<'_>,
    call_graph: &CallGraph,
    options: &Options,
    warnings: &mut Warnings,
) -> Result<Vec<EventInfo>, Vec<Entry>> {
    let module = &program.main;
    if options.money.is_some() {
        accepts::contract(subject, warnings);
    }
    let literals = messages::literals(&module.arena, module.library.as_ref(), &module.contract);
    if options.sanity {
        let libraries: Vec<_> = imports.iter().map(|library| (library.text(), &library.module.library)).collect();
        sanity::contract(subject, &literals, &libraries, call_graph, warnings)?;
        let libraries = program.imports.iter().map(|import| &import.module.library).collect();
        dead_code::contract(subject, &dead_code::Imports { imports: &module.imports, libraries }, warnings);
    }
    events::events(&literals, subject.text, subject.typing).map_err(|error| vec![error])
}

/// Checks a library.
///
/// # Errors
///
/// If the library is invalid. The errors are those of the first phase that has errors.
pub fn library<'a>(program: &'a Program<LibraryModule>, options: &Options) -> Result<CheckedLibrary<'a>, Rejected> {
    let module = &program.main;
    let text = Text { source: &module.source, arena: &module.arena };
    let imports = in_order(&program.imports);
    let reject = |errors, meter| Rejected::of(errors, meter, Warnings::default());

    let mut known = DataTypes::built_in();
    let mut errors = imported_definitions(&imports, &mut known);
    let vocabulary = options.advice.then(|| Vocabulary::of_library(program));
    let vocabulary = vocabulary.as_ref();
    let own = Recursion { known: &mut known, text, vocabulary }.library(&module.library);
    let is_own = !own.is_empty();
    errors.extend(own);
    if !errors.is_empty() {
        let errors = recursion::library_header(text, &module.library, is_own, errors);
        return Err(reject(errors, options.meter));
    }

    let typed = library_types(module, &imports, &known, options.meter, vocabulary);
    let Typed { main: typing, imports: typings, mut meter } = typed.map_err(|(errors, meter)| reject(errors, meter))?;

    import_patterns(&imports, &known, &typings, &mut meter)
        .and_then(|()| Patterns::new(&known, text, &typing, &mut meter, options.advice).library(&module.library))
        .map_err(|errors| unless_exhausted(errors, meter))
        .map_err(|errors| reject(errors, meter))?;

    let mut warnings = Warnings::default();
    if options.sanity {
        let libraries = imports.iter().map(|library| (library.text(), &library.module.library));
        let libraries: Vec<_> = libraries.chain([(text, &module.library)]).collect();
        sanity::library(&libraries, &mut warnings);
    }
    Ok(Checked {
        program,
        meter,
        warnings: warnings.into_newest_first(),
        advice: Vec::new(),
        type_info: requested_types(options, || type_info::library(text, &typing, &module.library)),
        typing,
        data_types: known,
        summary: (),
    })
}

/// Checks an expression. The summary is its type.
///
/// # Errors
///
/// If the expression or an imported library is invalid. The errors are those of the first phase that has errors.
pub fn expression<'a>(
    program: &'a Program<ExpressionModule>,
    options: &Options,
) -> Result<CheckedExpression<'a>, Rejected> {
    let module = &program.main;
    let text = Text { source: &module.source, arena: &module.arena };
    let imports = in_order(&program.imports);
    let reject = |errors, meter| Rejected::of(errors, meter, Warnings::default());

    let mut known = DataTypes::built_in();
    let mut errors = imported_definitions(&imports, &mut known);
    let vocabulary = options.advice.then(|| Vocabulary::of_expression(program));
    let vocabulary = vocabulary.as_ref();
    errors.extend(Recursion { known: &mut known, text, vocabulary }.root(module.root));
    if !errors.is_empty() {
        return Err(reject(errors, options.meter));
    }

    let mut checker = Checker::new(&known, text, options.meter, vocabulary);
    let typings = match import_types(&mut checker, &imports) {
        Ok((typings, errors)) if errors.is_empty() => typings,
        Ok((_, errors)) | Err(Aborted(errors)) => return Err(reject(errors, checker.meter())),
    };
    checker.turn_to(text);
    let ty = match checker.root(module.root) {
        Ok(ty) => ty,
        Err(Fault::Error(error)) => return Err(reject(vec![error], checker.meter())),
        Err(Fault::Exhausted) => return Err(reject(vec![Fault::exhausted()], checker.meter())),
    };
    let (typing, mut meter) = checker.finish();
    import_patterns(&imports, &known, &typings, &mut meter)
        .and_then(|()| Patterns::new(&known, text, &typing, &mut meter, options.advice).expression(module.root))
        .map_err(|errors| unless_exhausted(errors, meter))
        .map_err(|errors| reject(errors, meter))?;
    Ok(Checked {
        program,
        meter,
        warnings: vec![],
        advice: vec![],
        type_info: requested_types(options, || type_info::expression(text, &typing, module.root)),
        typing,
        data_types: known,
        summary: ty,
    })
}

fn requested_types(options: &Options, types: impl FnOnce() -> Vec<TypeInfo>) -> Vec<TypeInfo> {
    if options.type_info { types() } else { Vec::new() }
}

impl Rejected {
    fn of(errors: Vec<Entry>, meter: Meter, warnings: Warnings) -> Self {
        let failure = Failure::from_entries(errors).unwrap_or_else(|| Failure::of(Entry::nowhere("")));
        Self { failure, warnings: warnings.into_newest_first(), meter, reports_gas: true }
    }
}

impl Imported {
    fn text(&self) -> Text<'_> {
        Text { source: &self.module.source, arena: &self.module.arena }
    }
}

/// Returns the imported libraries without duplicates. Each library comes after its own imports. Libraries with the same
/// file are duplicates.
fn in_order(imports: &[std::sync::Arc<Imported>]) -> Vec<&Imported> {
    fn collect<'a>(
        imports: &'a [std::sync::Arc<Imported>],
        seen: &mut HashSet<&'a str>,
        found: &mut Vec<&'a Imported>,
    ) {
        for import in imports {
            if seen.insert(import.module.source.file()) {
                collect(&import.imports, seen, found);
                found.push(import);
            }
        }
    }
    let mut found = Vec::new();
    collect(imports, &mut HashSet::new(), &mut found);
    found
}

/// Registers the data types of the imported libraries.
fn imported_definitions(imports: &[&Imported], known: &mut DataTypes) -> Vec<Entry> {
    let of =
        |import: &&Imported| Recursion { known, text: import.text(), vocabulary: None }.library(&import.module.library);
    imports.iter().flat_map(of).collect()
}

/// The types of a module and of its imports, and the remaining gas.
struct Typed {
    main: Typing,
    imports: Vec<Typing>,
    meter: Meter,
}

type TypedOr = Result<Typed, (Vec<Entry>, Meter)>;

fn contract_types(
    module: &ContractModule,
    imports: &[&Imported],
    known: &DataTypes,
    meter: Meter,
    vocabulary: Option<&Vocabulary>,
) -> TypedOr {
    let text = Text { source: &module.source, arena: &module.arena };
    let mut checker = Checker::new(known, text, meter, vocabulary);
    let outcome = import_types(&mut checker, imports).and_then(|(typings, mut errors)| {
        checker.turn_to(text);
        if let Some(library) = &module.library {
            // Errors of the contract's own library replace the errors of imported libraries.
            let own = checker.library(library)?;
            if !own.is_empty() {
                errors = own;
            }
        }
        Ok((typings, checker.contract(&module.contract, errors)?))
    });
    finish(checker, outcome)
}

fn library_types(
    module: &LibraryModule,
    imports: &[&Imported],
    known: &DataTypes,
    meter: Meter,
    vocabulary: Option<&Vocabulary>,
) -> TypedOr {
    let text = Text { source: &module.source, arena: &module.arena };
    let mut checker = Checker::new(known, text, meter, vocabulary);
    let outcome = import_types(&mut checker, imports).and_then(|(typings, errors)| {
        if !errors.is_empty() {
            return Ok((typings, errors));
        }
        checker.turn_to(text);
        Ok((typings, checker.library(&module.library)?))
    });
    finish(checker, outcome)
}

fn import_types<'a>(checker: &mut Checker<'a>, imports: &[&'a Imported]) -> Result<(Vec<Typing>, Vec<Entry>), Aborted> {
    let (mut typings, mut errors) = (Vec::new(), Vec::new());
    for import in imports {
        checker.turn_to(import.text());
        errors.extend(checker.library(&import.module.library)?);
        typings.push(checker.turn_to(import.text()));
    }
    Ok((typings, errors))
}

fn finish(checker: Checker<'_>, outcome: Result<(Vec<Typing>, Vec<Entry>), Aborted>) -> TypedOr {
    let (main, meter) = checker.finish();
    match outcome {
        Ok((imports, errors)) if errors.is_empty() => Ok(Typed { main, imports, meter }),
        Ok((_, errors)) | Err(Aborted(errors)) => Err((errors, meter)),
    }
}

/// Returns the errors. If the search for errors exceeded a limit of work, returns only the error for exhausted gas.
fn unless_exhausted(errors: Vec<Entry>, meter: Meter) -> Vec<Entry> {
    if meter.work().end().is_some() { vec![Fault::exhausted()] } else { errors }
}

/// Returns the first error in the patterns of imported libraries.
fn import_patterns(
    imports: &[&Imported],
    known: &DataTypes,
    typings: &[Typing],
    meter: &mut Meter,
) -> Result<(), Vec<Entry>> {
    imports.iter().zip(typings).try_for_each(|(import, typing)| {
        Patterns::new(known, import.text(), typing, meter, false).library(&import.module.library)
    })
}

fn contract_patterns(
    module: &ContractModule,
    imports: &[&Imported],
    known: &DataTypes,
    typing: &Typing,
    typings: &[Typing],
    meter: &mut Meter,
    options: &Options,
) -> Result<(), Vec<Entry>> {
    let text = Text { source: &module.source, arena: &module.arena };
    let errors = if let Err(errors) = import_patterns(imports, known, typings, meter) {
        errors
    } else {
        let mut patterns = Patterns::new(known, text, typing, meter, options.advice);
        let own = |library: &Library| patterns.library(library).err().unwrap_or_default();
        let errors = module.library.as_ref().map(own).unwrap_or_default();
        patterns.contract(&module.contract, errors)
    };
    if errors.is_empty() {
        return Ok(());
    }
    Err(recursion::contract_header_with_line_feed(text, &module.contract, errors))
}

#[cfg(test)]
mod tests;
