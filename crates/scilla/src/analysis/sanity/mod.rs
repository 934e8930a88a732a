//! Errors and suspicious code in a program whose types are correct.
//!
//! Source of the order and of the texts: `Zilliqa/scilla: src/base/SanityChecker.ml`.

mod calls;
mod hashing;
mod returns;
mod shadowing;
mod unboxing;

use std::collections::HashMap;

use super::{call_graph::CallGraph, messages::MessageLiteral, shown};
use crate::{
    name::{Ident, Name},
    report::{Entry, Warning},
    source::{Location, Span},
    syntax::ast::{Contract, Library, Literal, Payload, Statement, StatementKind},
    typecheck::{Text, Typing, kind_of},
    types::Type,
};

/// Family number of the warnings about whole maps and accepts.
pub(crate) const USE: u8 = 1;
/// Family number of the warnings about names, and about options without a match.
pub(crate) const NAMES: u8 = 2;
/// Family number of the warnings about hashes, tags, calls and unused code.
pub(crate) const WASTE: u8 = 3;

/// The warnings of a check, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Warnings(Vec<Warning>);

impl Warnings {
    pub(crate) fn add(&mut self, id: u8, start: Location, message: impl Into<String>) {
        self.0.push(Warning { message: message.into(), start, end: Location::default(), id });
    }

    pub(crate) fn push(&mut self, warning: Warning) {
        self.0.push(warning);
    }

    /// Returns the warnings, the newest first.
    pub(crate) fn into_newest_first(self) -> Vec<Warning> {
        let mut warnings = self.0;
        warnings.reverse();
        warnings
    }
}

/// A typed contract, as the input of this pass.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject<'a> {
    pub(crate) text: Text<'a>,
    pub(crate) typing: &'a Typing,
    pub(crate) library: Option<&'a Library>,
    pub(crate) contract: &'a Contract,
}

impl Subject<'_> {
    pub(crate) fn start(&self, at: Span) -> Location {
        self.text.source.start(at)
    }
}

/// Checks a contract, and returns its errors.
pub(crate) fn contract(
    subject: Subject<'_>,
    literals: &[MessageLiteral<'_>],
    libraries: &[(Text<'_>, &Library)],
    graph: &CallGraph,
    warnings: &mut Warnings,
) -> Result<(), Vec<Entry>> {
    let errors = names_and_messages(subject, literals, warnings);
    full_maps(subject, warnings);
    if !errors.is_empty() {
        return Err(errors);
    }
    for (text, library) in libraries {
        shadowing::library(*text, library, warnings);
    }
    shadowing::contract(subject, warnings);
    hashing::contract(subject, warnings);
    unboxing::contract(subject, graph, warnings);
    returns::contract(subject).map_err(|error| vec![error])?;
    calls::contract(subject, graph, warnings);
    Ok(())
}

/// Warns about a library module and its imports. These checks have no errors.
pub(crate) fn library(libraries: &[(Text<'_>, &Library)], warnings: &mut Warnings) {
    for (text, library) in libraries {
        shadowing::library(*text, library, warnings);
    }
}

fn names_and_messages(subject: Subject<'_>, literals: &[MessageLiteral<'_>], warnings: &mut Warnings) -> Vec<Entry> {
    let Subject { text, contract, .. } = subject;
    let mut errors = Vec::new();
    let mut repeated = |idents: Vec<&Ident>| {
        let named = idents.iter().map(|ident| (&ident.name, ident.span));
        errors.extend(earlier(named).into_iter().map(|(name, at)| used_twice(text, at, name.as_written())));
    };
    repeated(contract.parameters.iter().map(|parameter| &parameter.name).collect());
    repeated(contract.fields.iter().map(|field| &field.name).collect());
    repeated(contract.components.iter().map(|component| &component.name).collect());
    for component in &contract.components {
        repeated(component.parameters.iter().map(|parameter| &parameter.name).collect());
    }
    for literal in literals {
        message(subject, literal, &mut errors, warnings);
    }
    errors.extend(explicit_names(subject));
    errors
}

/// Returns the items whose key occurs again later, in order.
fn earlier<T: Eq + std::hash::Hash + Copy, A>(named: impl Iterator<Item = (T, A)>) -> Vec<(T, A)> {
    let named: Vec<_> = named.collect();
    let mut left: HashMap<T, usize> = HashMap::new();
    for (name, _) in &named {
        *left.entry(*name).or_default() += 1;
    }
    let comes_again = |(name, _): &(T, A)| {
        let left = left.entry(*name).or_default();
        *left = left.saturating_sub(1);
        *left > 0
    };
    let mut comes_again = comes_again;
    named.into_iter().filter(|one| comes_again(one)).collect()
}

fn used_twice(text: Text<'_>, at: Span, name: impl std::fmt::Display) -> Entry {
    text.error(at, format!("Identifier used more than once: {name}"))
}

fn message(subject: Subject<'_>, literal: &MessageLiteral<'_>, errors: &mut Vec<Entry>, warnings: &mut Warnings) {
    let text = subject.text;
    let labels = literal.entries.iter().map(|entry| (entry.label.as_ref(), ()));
    errors.extend(earlier(labels).into_iter().map(|(label, ())| used_twice(text, literal.at, label)));
    let entry = |label: &str| literal.entries.iter().find(|entry| *entry.label == *label);
    if let Some(tag) = entry("_tag") {
        if entry("_amount").is_none() || entry("_recipient").is_none() {
            errors.push(text.error(literal.at, "Missing _amount or _recipient in Message"));
        }
        if matches!(&tag.value, Payload::Literal(Literal::String(tag)) if tag.is_empty()) {
            let text = "Consider using \"AddFunds\" tag instead of empty tag as suggested by ZRC-5";
            warnings.add(WASTE, subject.start(literal.at), text);
        }
    } else if kind_of(literal.entries).is_none() {
        errors.push(text.error(literal.at, "Invalid message construct"));
    }
}

/// Rejects parameters with implicit names. The parser rejects such names too, so a parsed text never gets these errors.
fn explicit_names(subject: Subject<'_>) -> Vec<Entry> {
    let Subject { text, contract, .. } = subject;
    let mut errors = Vec::new();
    for component in &contract.components {
        let is_given = |name: &&Ident| matches!(name.name.base().as_ref(), "_amount" | "_sender" | "_origin");
        if let Some(name) = component.parameters.iter().map(|parameter| &parameter.name).find(is_given) {
            let (name, kind, of) = (shown(name), component.kind_text(), shown(&component.name));
            let message = format!("Parameter {name} in {kind} {of} cannot be explicit.\n");
            errors.push(text.error(component.name.span, message));
        }
    }
    let is_given =
        |name: &&Ident| matches!(name.name.base().as_ref(), "_creation_block" | "_scilla_version" | "_this_address");
    if let Some(name) = contract.parameters.iter().map(|parameter| &parameter.name).find(is_given) {
        errors.push(text.error(name.span, format!("Contract parameter {} cannot be explicit.\n", shown(name))));
    }
    errors
}

/// Warns of statements that load or store whole maps.
fn full_maps(subject: Subject<'_>, warnings: &mut Warnings) {
    let mut judge = |statement: &Statement| {
        let (StatementKind::Load { field: ident, .. }
        | StatementKind::MapGet { to: ident, .. }
        | StatementKind::MapPut { value: ident, .. }) = &statement.kind
        else {
            return;
        };
        if subject.typing.ident(ident).is_some_and(is_map) {
            warnings.add(USE, subject.start(ident.span), "Consider using in-place Map access");
        }
    };
    for statement in subject.contract.components.iter().flat_map(|component| &component.body) {
        statement.visit(&mut judge);
    }
}

/// Returns whether a type is a map, or an option of a map.
fn is_map(ty: &Type) -> bool {
    match ty {
        Type::Map(..) => true,
        Type::Adt(of, arguments) => of.name == Name::simple("Option") && matches!(arguments.as_ref(), [Type::Map(..)]),
        Type::Address(_)
        | Type::Forall(..)
        | Type::Function(..)
        | Type::Primitive(_)
        | Type::Unit
        | Type::Variable(_) => false,
    }
}
