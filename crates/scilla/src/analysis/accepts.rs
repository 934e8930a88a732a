//! Whether transitions accept money, and whether they do so twice.
//!
//! Source: `Zilliqa/scilla: src/base/Accept.ml`.

use std::{collections::HashSet, fmt::Write as _};

use super::{
    sanity::{Subject, USE, Warnings},
    shown,
};
use crate::{
    name::Name,
    report::Warning,
    source::{Location, Span},
    syntax::ast::{Component, ExpressionKind, LibraryEntry, Literal, Payload, Statement, StatementKind},
    types::{Primitive, Width},
};

/// How many ways through a component are looked at. They double with every match of two branches.
const MAX_PATHS: usize = 256;

/// How many accepts on one way are told.
const MAX_ACCEPTS: usize = 64;

/// Warns of ways through a component that accept twice, and of contracts that never accept though they send money.
pub(crate) fn contract(subject: Subject<'_>, warnings: &mut Warnings) {
    let mut accepts = false;
    for component in &subject.contract.components {
        for path in paths(&component.body, vec![vec![]]) {
            accepts |= !path.is_empty();
            if let [first, .., last] = path.as_slice() {
                warnings.push(twice(subject, component, &path, *first, *last));
            }
        }
    }
    if !accepts && may_send(subject) {
        let contract = &subject.contract.name;
        let text = format!("No transition in contract {} contains an accept statement\n", shown(contract));
        warnings.add(USE, subject.start(contract.span), text);
    }
}

fn twice(subject: Subject<'_>, component: &Component, path: &[Span], first: Span, last: Span) -> Warning {
    let name = shown(&component.name);
    let mut message = format!("transition {name} has a potential code path with duplicate accept statements:\n");
    for at in path {
        let Location { file, line, column } = subject.start(*at);
        // Writing to a string succeeds.
        let _ = writeln!(message, "  Accept at {file}:{line}:{column}");
    }
    let end = subject.start(last);
    let end = Location { column: end.column.saturating_add(6), ..end };
    Warning { message, start: subject.start(first), end, id: USE }
}

/// Returns the accepts on each way through statements, after those on the ways that lead to them.
fn paths(statements: &[Statement], mut seen: Vec<Vec<Span>>) -> Vec<Vec<Span>> {
    for statement in statements {
        match &statement.kind {
            StatementKind::Accept => {
                let unfilled = seen.iter_mut().filter(|path| path.len() < MAX_ACCEPTS);
                unfilled.for_each(|path| path.push(statement.span));
            }
            StatementKind::Match { clauses, .. } => {
                seen = clauses.iter().flat_map(|clause| paths(&clause.body, seen.clone())).take(MAX_PATHS).collect();
            }
            _ => {}
        }
    }
    seen
}

/// Says whether the contract has no messages, or one with an amount that may not be nought.
fn may_send(subject: Subject<'_>) -> bool {
    let zeros = zeros(subject);
    let mut amounts = Vec::new();
    for statement in subject.contract.components.iter().flat_map(|component| &component.body) {
        statement.visit(&mut |statement| {
            let StatementKind::Bind { value, .. } = &statement.kind else { return };
            subject.text.arena.visit(*value, |_, part| {
                if let ExpressionKind::Message(entries) = &part.kind {
                    amounts.extend(entries.iter().filter(|entry| *entry.label == *"_amount").map(|entry| &entry.value));
                }
            });
        });
    }
    amounts.is_empty()
        || amounts.into_iter().any(|amount| match amount {
            Payload::Literal(literal) => !is_zero(literal),
            Payload::Variable(variable) => !zeros.contains(&variable.name),
        })
}

/// Returns the library values that are nought.
fn zeros(subject: Subject<'_>) -> HashSet<&Name> {
    let entries = subject.library.into_iter().flat_map(|library| &library.entries);
    let zero = |entry| match entry {
        &LibraryEntry::Value { ref name, body, .. } => match &subject.text.arena.get(body).kind {
            ExpressionKind::Literal(literal) if is_zero(literal) => Some(&name.name),
            _ => None,
        },
        LibraryEntry::Type { .. } => None,
    };
    entries.filter_map(zero).collect()
}

fn is_zero(literal: &Literal) -> bool {
    matches!(literal, Literal::Integer(Primitive::Uint(Width::W128), digits) if **digits == *"0")
}
