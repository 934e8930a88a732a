//! The type checker for expressions, statements, components and libraries.
//!
//! Source of the rules and of the texts: `Zilliqa/scilla: src/base/TypeChecker.ml`, `TypeUtil.ml`.

mod advice;
mod contract;
mod environment;
mod expression;
mod library;
mod message;
mod pattern;
mod principles;
mod statement;

use std::{cell::Cell, collections::HashMap};

use self::environment::Environment;
pub(crate) use self::{library::Aborted, message::kind_of};
use crate::{
    diagnosis::Cause,
    gas::{Exhausted, Meter},
    name::Ident,
    report::Entry,
    source::{Source, Span},
    syntax::ast::{Arena, ExprId},
    types::{Type, adt::DataTypes, formation::Malformed, relation::assignable},
    vocabulary::Vocabulary,
    work::weight,
};

/// The types in one module, stored next to its tree.
#[derive(Clone, Debug, Default)]
pub struct Typing {
    expressions: HashMap<ExprId, Type>,
    places: HashMap<u32, Type>,
}

impl Typing {
    /// Returns the type of an expression.
    pub fn expression(&self, id: ExprId) -> Option<&Type> {
        self.expressions.get(&id)
    }

    /// Returns the type of a name at its place: bound, read, or given as an argument.
    pub fn ident(&self, ident: &Ident) -> Option<&Type> {
        self.place(ident.span)
    }

    /// Returns the type at a place. A type variable has the type of the expression that binds it.
    pub fn place(&self, span: Span) -> Option<&Type> {
        self.places.get(&span.start)
    }
}

/// The text of a module and its expressions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<'a> {
    pub(crate) source: &'a Source,
    pub(crate) arena: &'a Arena,
}

impl Text<'_> {
    pub(crate) fn error(&self, at: Span, message: impl Into<String>) -> Entry {
        Entry::at(self.source.start(at), message)
    }
}

/// Reason why typing stops.
#[derive(Debug)]
pub(crate) enum Fault {
    /// There is an error.
    Error(Entry),
    /// The gas is exhausted, which ends the whole check.
    Exhausted,
}

impl Fault {
    /// Returns the error that reports exhausted gas.
    pub(crate) fn exhausted() -> Entry {
        Entry::nowhere("Insufficient gas")
    }
}

impl From<Exhausted> for Fault {
    fn from(Exhausted: Exhausted) -> Self {
        Self::Exhausted
    }
}

type Outcome<T> = Result<T, Fault>;

/// Types the parts of a program, one module after the other.
#[derive(Debug)]
pub(crate) struct Checker<'a> {
    known: &'a DataTypes,
    text: Text<'a>,
    typing: Typing,
    environment: Environment,
    meter: Meter,
    /// The gas units at the beginning.
    start: u64,
    /// Number of nodes of types that were read without a gas charge.
    nodes: Cell<u64>,
    /// Names for suggestions; `None` if the output is for programs.
    vocabulary: Option<&'a Vocabulary>,
}

/// Nodes of types that may be read without a gas charge. Each unit of gas used permits more.
///
/// Each use of a name reads its type. The reference does so too, but has no such limit. Types grow beyond their written
/// form only by instantiation, which is paid for once.
const FREE_NODES: u64 = 5_000_000;
const NODES_PER_UNIT: u64 = 8;

impl<'a> Checker<'a> {
    /// Returns a checker that knows the recursion principles, for the module of a text.
    pub(crate) fn new(known: &'a DataTypes, text: Text<'a>, meter: Meter, vocabulary: Option<&'a Vocabulary>) -> Self {
        let mut environment = Environment::default();
        for (name, kind) in principles::types() {
            environment.bind(&name, kind);
        }
        let start = meter.units();
        let typing = Typing::default();
        Self { known, text, typing, environment, meter, start, nodes: Cell::new(0), vocabulary }
    }

    /// Continues with another module. Returns the types of the previous one.
    pub(crate) fn turn_to(&mut self, text: Text<'a>) -> Typing {
        self.text = text;
        std::mem::take(&mut self.typing)
    }

    /// Returns the types of the last module, and the gas that is left.
    pub(crate) fn finish(self) -> (Typing, Meter) {
        let meter = self.meter();
        (self.typing, meter)
    }

    /// Returns the gas that is left.
    pub(crate) fn meter(&self) -> Meter {
        let mut meter = self.meter;
        // If the work limit is reached, no gas is left.
        meter.spend(self.nodes.get().saturating_mul(weight::TYPE_NODE)).ok();
        meter
    }

    fn error<T>(&self, at: Span, message: impl Into<String>) -> Outcome<T> {
        Err(Fault::Error(self.text.error(at, message)))
    }

    /// Reports an error with a cause. The cause is computed only if the output is for people.
    fn error_because<T>(
        &self,
        at: Span,
        message: impl Into<String>,
        cause: impl FnOnce(&Vocabulary) -> Option<Cause>,
    ) -> Outcome<T> {
        Err(Fault::Error(self.text.error(at, message).because(self.vocabulary().and_then(cause))))
    }

    /// Returns names for suggestions about this text.
    fn vocabulary(&self) -> Option<&'a Vocabulary> {
        self.vocabulary.filter(|known| known.is_of(self.text.source))
    }

    fn record(&mut self, at: Span, kind: &Type) {
        if !at.is_nowhere() {
            self.typing.places.insert(at.start, kind.clone());
        }
    }

    /// Looks up a name, and records its type at its place.
    fn resolve(&mut self, ident: &Ident) -> Outcome<Type> {
        match self.environment.get(&ident.name).cloned() {
            Some(kind) => {
                self.record(ident.span, &kind);
                Ok(kind)
            }
            None => self.unresolved(ident),
        }
    }

    fn unresolved<T>(&self, ident: &Ident) -> Outcome<T> {
        let text = format!("Couldn't resolve identifier: {}", ident.name.as_written());
        self.error_because(ident.span, text, |known| Some(known.unknown_value(ident, self.environment.locals())))
    }

    fn resolve_all(&mut self, idents: &[Ident]) -> Outcome<Vec<Type>> {
        idents.iter().map(|ident| self.resolve(ident)).collect()
    }

    /// Binds a name at its place.
    fn bind(&mut self, ident: &Ident, kind: Type) {
        self.record(ident.span, &kind);
        self.environment.bind(&ident.name, kind);
    }

    fn expect_assignable(&self, expected: &Type, actual: &Type, at: Span) -> Outcome<()> {
        if assignable(expected, actual) {
            return Ok(());
        }
        let (expected, actual) = (expected.global(), actual.global());
        self.error(at, format!("Type unassignable: {expected} expected, but {actual} provided"))
    }

    fn expect_formed(&self, kind: &Type) -> Outcome<()> {
        let environment = &self.environment;
        let size = kind
            .check_formation(self.known, |variable| environment.has_type_variable(variable))
            .map_err(|malformed| Fault::Error(malformed_entry(self.text, &malformed, self.vocabulary())))?;
        self.go_through(size)
    }

    /// Counts nodes of types that are read. Their number must be in proportion to the gas used.
    fn go_through(&self, nodes: u64) -> Outcome<()> {
        let done = self.nodes.get().saturating_add(nodes);
        self.nodes.set(done);
        let used = self.start.saturating_sub(self.meter.units());
        let allowed = FREE_NODES.saturating_add(used.saturating_mul(NODES_PER_UNIT));
        if done.saturating_mul(weight::TYPE_NODE) > self.meter.work().left() {
            return Err(Fault::Exhausted);
        }
        if done > allowed {
            return self.error(Span::NOWHERE, format!("Types of more than {allowed} nodes for little gas"));
        }
        Ok(())
    }
}

/// Returns the error for a malformed type, at the place of the name if the error is about a name.
pub(crate) fn malformed_entry(text: Text<'_>, malformed: &Malformed, vocabulary: Option<&Vocabulary>) -> Entry {
    let at = malformed.ident().map_or(Span::NOWHERE, |ident| ident.span);
    let cause = vocabulary.and_then(|known| match malformed {
        Malformed::UnknownDataType(ident) => Some(known.unknown_type(ident)),
        Malformed::Arity { .. } | Malformed::Unbound { .. } | Malformed::TooDeep => None,
    });
    text.error(at, malformed.to_string()).because(cause)
}
