//! The events that a contract may emit, with their parameters.
//!
//! Source: `Zilliqa/scilla: src/base/EventInfo.ml`.

use std::{collections::HashMap, fmt::Write as _, sync::Arc};

use super::messages::MessageLiteral;
use crate::{
    report::Entry,
    source::Span,
    syntax::ast::{Literal, MessageEntry, Payload},
    typecheck::{Text, Typing},
    types::{Type, relation::assignable},
};

/// An event with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventInfo {
    /// Name of the event.
    pub name: Arc<str>,
    /// Labels and types of the parameters. An address type is shown as `ByStr20`.
    pub parameters: Vec<(Arc<str>, Type)>,
}

/// Returns the events in the reverse order of the source. An event without a literal name is an error, and so are two
/// literals of one event with different parameters.
pub(crate) fn events(
    literals: &[MessageLiteral<'_>],
    text: Text<'_>,
    typing: &Typing,
) -> Result<Vec<EventInfo>, Entry> {
    let mut events: Vec<EventInfo> = Vec::new();
    let mut by_name: HashMap<Arc<str>, usize> = HashMap::new();
    for literal in literals {
        let Some(event) = event(literal, text, typing)? else { continue };
        if let Some(known) = by_name.get(&event.name).and_then(|&index| events.get(index)) {
            expect_match(known, &event, literal.at, text)?;
        } else {
            by_name.insert(Arc::clone(&event.name), events.len());
            events.push(event);
        }
    }
    events.reverse();
    Ok(events)
}

fn event(literal: &MessageLiteral<'_>, text: Text<'_>, typing: &Typing) -> Result<Option<EventInfo>, Entry> {
    let is_name = |entry: &&MessageEntry| *entry.label == *"_eventname";
    let Some(entry) = literal.entries.iter().find(is_name) else {
        return Ok(None);
    };
    let Payload::Literal(Literal::String(name)) = &entry.value else {
        return Err(text.error(literal.at, "Error determining event name\n"));
    };
    let parameters = literal.entries.iter().filter(|entry| !is_name(entry));
    let parameters = parameters.map(|entry| (Arc::clone(&entry.label), payload_type(entry, typing))).collect();
    Ok(Some(EventInfo { name: Arc::clone(name), parameters }))
}

fn payload_type(entry: &MessageEntry, typing: &Typing) -> Type {
    let ty = match &entry.value {
        Payload::Literal(literal) => literal.ty(),
        Payload::Variable(variable) => typing.ident(variable).cloned().unwrap_or(Type::Unit),
    };
    if matches!(ty, Type::Address(_)) { Type::bystr(20) } else { ty }
}

/// Checks that two literals of the same event have the same parameters.
fn expect_match(known: &EventInfo, other: &EventInfo, at: Span, text: Text<'_>) -> Result<(), Entry> {
    let mut by_label: HashMap<&str, Vec<&Type>> = HashMap::new();
    for (label, ty) in &other.parameters {
        by_label.entry(label).or_default().push(ty);
    }
    let fits = |(label, actual): &(Arc<str>, Type)| {
        by_label.get(label.as_ref()).into_iter().flatten().any(|expected| assignable(expected, actual))
    };
    if known.parameters.len() == other.parameters.len() && known.parameters.iter().all(fits) {
        return Ok(());
    }
    let (name, known, other) = (&known.name, list(&known.parameters), list(&other.parameters));
    Err(text.error(at, format!("Parameter mismatch for event {name}: {known} vs {other}")))
}

fn list(parameters: &[(Arc<str>, Type)]) -> String {
    let mut text = String::from("[");
    for (label, ty) in parameters {
        // A write to a `String` cannot fail.
        let _ = write!(text, "({label} : {}); ", ty.global());
    }
    text.push(']');
    text
}
