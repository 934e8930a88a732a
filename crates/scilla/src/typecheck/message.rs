//! Type check of messages, events and exceptions.

use super::{Checker, Outcome};
use crate::{
    source::Span,
    syntax::ast::{MessageEntry, Payload},
    types::{Primitive, Type, Width, relation::assignable, usage::Use},
};

/// The labels that determine the kind of a message literal, in order of priority.
const KINDS: [(&str, Primitive); 4] = [
    ("_tag", Primitive::Message),
    ("_eventname", Primitive::Event),
    ("_exception", Primitive::Exception),
    ("_replicate_contract", Primitive::ReplicateContract),
];

/// Returns the kind of a literal with these entries: message, event, exception, or request to replicate a contract.
/// Returns `None` if no label determines the kind.
pub(crate) fn kind_of(entries: &[MessageEntry]) -> Option<Primitive> {
    let has = |label: &str| entries.iter().any(|entry| *entry.label == *label);
    KINDS.into_iter().find_map(|(label, ty)| has(label).then_some(ty))
}

/// Returns the required type of the value with this label, or `None` if the label permits any type.
fn mandatory_type(label: &str) -> Option<Type> {
    match label {
        "_amount" => Some(Primitive::Uint(Width::W128).into()),
        "_recipient" => Some(Type::bystr(20)),
        "_tag" => Some(Primitive::String.into()),
        _ => None,
    }
}

impl Checker<'_> {
    pub(super) fn message(&mut self, entries: &[MessageEntry], at: Span) -> Outcome<Type> {
        let Some(ty) = kind_of(entries) else {
            return self.error(at, "Invalid message construct.");
        };
        entries.iter().try_for_each(|entry| self.payload(entry, at))?;
        Ok(ty.into())
    }

    fn payload(&mut self, entry: &MessageEntry, at: Span) -> Outcome<()> {
        match &entry.value {
            Payload::Literal(literal) => self.expect_mandatory(&entry.label, &literal.ty(), at),
            Payload::Variable(variable) => {
                let ty = self.resolve(variable)?;
                self.expect_mandatory(&entry.label, &ty, at)?;
                if ty.is_legal(Use::Payload, self.known) {
                    return Ok(());
                }
                let ty = ty.as_written();
                self.error(variable.span, format!("Cannot serialize values of type: {ty}"))
            }
        }
    }

    fn expect_mandatory(&self, label: &str, actual: &Type, at: Span) -> Outcome<()> {
        match mandatory_type(label) {
            Some(expected) if !assignable(&expected, actual) => {
                let (expected, actual) = (expected.as_written(), actual.as_written());
                self.error(
                    at,
                    format!("Type mismatch for Message field: {label}. Expected {expected} but got {actual}"),
                )
            }
            _ => Ok(()),
        }
    }
}
