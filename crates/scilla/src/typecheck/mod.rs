//! The type checker for expressions, statements, components and libraries.
//!
//! Source of the rules and of the texts: `Zilliqa/scilla: src/base/TypeChecker.ml` and `TypeUtil.ml`.

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

/// The types of the expressions and names of one module.
#[derive(Clone, Debug, Default)]
pub struct Typing {
    expressions: HashMap<ExprId, Type>,
    places: HashMap<u32, Type>,
}

impl Typing {
    /// Returns the type of an expression, or `None` if it has not been typed.
    pub fn expression(&self, id: ExprId) -> Option<&Type> {
        self.expressions.get(&id)
    }

    /// Returns the type of a name at its source position, or `None` if the checker has not recorded a type.
    pub fn ident(&self, ident: &Ident) -> Option<&Type> {
        self.place(ident.span)
    }

    /// Returns the type at the start of a span, or `None` if the checker has not recorded a type. A type variable has
    /// the type of the expression that binds it.
    pub fn place(&self, span: Span) -> Option<&Type> {
        self.places.get(&span.start)
    }
}

/// The source of a module, and its expressions.
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

/// Reason why the type check stops.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The program has an error.
    Error(Entry),
    /// The gas is exhausted. This ends the whole check.
    Exhausted,
}

impl Fault {
    /// Returns the error for exhausted gas.
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

/// Checks the types of a program, one module after the other.
#[derive(Debug)]
pub(crate) struct Checker<'a> {
    known: &'a DataTypes,
    text: Text<'a>,
    typing: Typing,
    environment: Environment,
    meter: Meter,
    /// Remaining units at the beginning of the check.
    start: u64,
    /// Number of nodes of types that the checker has read without a gas charge.
    nodes: Cell<u64>,
    /// Names for suggestions, or `None` if errors have no suggestions.
    vocabulary: Option<&'a Vocabulary>,
}

/// Number of nodes of types that the checker may read without a gas charge. Each used unit of the interpreter permits
/// [`NODES_PER_UNIT`] more nodes.
///
/// Each use of a name reads its type. The reference reads it too, but has no such limit. Only instantiation makes types
/// larger than their written form. The program pays for an instantiation once, and can use the type many times.
const FREE_NODES: u64 = 5_000_000;
const NODES_PER_UNIT: u64 = 8;

impl<'a> Checker<'a> {
    /// Returns a checker for the module of a text. The recursion principles are in scope.
    pub(crate) fn new(known: &'a DataTypes, text: Text<'a>, meter: Meter, vocabulary: Option<&'a Vocabulary>) -> Self {
        let mut environment = Environment::default();
        for (name, ty) in principles::types() {
            environment.bind(&name, ty);
        }
        let start = meter.units();
        let typing = Typing::default();
        Self { known, text, typing, environment, meter, start, nodes: Cell::new(0), vocabulary }
    }

    /// Continues with another module. Returns the types of the previous module.
    pub(crate) fn turn_to(&mut self, text: Text<'a>) -> Typing {
        self.text = text;
        std::mem::take(&mut self.typing)
    }

    /// Returns the types of the last module, and the meter.
    pub(crate) fn finish(self) -> (Typing, Meter) {
        let meter = self.meter();
        (self.typing, meter)
    }

    /// Returns the meter, with the work for the nodes of types that were read.
    pub(crate) fn meter(&self) -> Meter {
        let mut meter = self.meter;
        // If these nodes reach the limit of work, the meter has no gas left, so the result can be ignored.
        meter.spend(self.nodes.get().saturating_mul(weight::TYPE_NODE)).ok();
        meter
    }

    fn error<T>(&self, at: Span, message: impl Into<String>) -> Outcome<T> {
        Err(Fault::Error(self.text.error(at, message)))
    }

    /// Reports an error with a cause. The cause is computed only if errors have suggestions.
    fn error_because<T>(
        &self,
        at: Span,
        message: impl Into<String>,
        cause: impl FnOnce(&Vocabulary) -> Option<Cause>,
    ) -> Outcome<T> {
        Err(Fault::Error(self.text.error(at, message).because(self.vocabulary().and_then(cause))))
    }

    /// Returns the names for suggestions, or `None` if they do not belong to the source text of this module.
    fn vocabulary(&self) -> Option<&'a Vocabulary> {
        self.vocabulary.filter(|known| known.is_of(self.text.source))
    }

    fn record(&mut self, at: Span, ty: &Type) {
        if !at.is_nowhere() {
            self.typing.places.insert(at.start, ty.clone());
        }
    }

    /// Looks up a name, and records its type at its source position.
    fn resolve(&mut self, ident: &Ident) -> Outcome<Type> {
        match self.environment.get(&ident.name).cloned() {
            Some(ty) => {
                self.record(ident.span, &ty);
                Ok(ty)
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

    /// Binds a name, and records its type at its source position.
    fn bind(&mut self, ident: &Ident, ty: Type) {
        self.record(ident.span, &ty);
        self.environment.bind(&ident.name, ty);
    }

    fn expect_assignable(&self, expected: &Type, actual: &Type, at: Span) -> Outcome<()> {
        if assignable(expected, actual) {
            return Ok(());
        }
        let (expected, actual) = (expected.global(), actual.global());
        self.error(at, format!("Type unassignable: {expected} expected, but {actual} provided"))
    }

    fn expect_formed(&self, ty: &Type) -> Outcome<()> {
        let environment = &self.environment;
        let size = ty
            .check_formation(self.known, |variable| environment.has_type_variable(variable))
            .map_err(|malformed| Fault::Error(malformed_entry(self.text, &malformed, self.vocabulary())))?;
        self.go_through(size)
    }

    /// Counts nodes of types that the checker reads. Their number must be in proportion to the gas used.
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

/// Returns the error for a malformed type. The position of the error is the position of the wrong name, if there is
/// such a name.
pub(crate) fn malformed_entry(text: Text<'_>, malformed: &Malformed, vocabulary: Option<&Vocabulary>) -> Entry {
    let at = malformed.ident().map_or(Span::NOWHERE, |ident| ident.span);
    let cause = vocabulary.and_then(|known| match malformed {
        Malformed::UnknownDataType(ident) => Some(known.unknown_type(ident)),
        Malformed::Arity { .. } | Malformed::Unbound { .. } | Malformed::TooDeep => None,
    });
    text.error(at, malformed.to_string()).because(cause)
}
