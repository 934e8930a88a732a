//! The message literals of a contract, each with the source position for reports.
//!
//! Source: `Zilliqa/scilla: src/base/ContractUtil.ml`.

use crate::{
    source::Span,
    syntax::ast::{Arena, Contract, ExprId, ExpressionKind, Library, LibraryEntry, MessageEntry, StatementKind},
};

/// A message literal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MessageLiteral<'a> {
    /// Entries of the literal.
    pub(crate) entries: &'a [MessageEntry],
    /// Source position of the variable that is bound to the literal, or of the variable of the enclosing match.
    pub(crate) at: Span,
}

/// Returns the literals in the library and in the components of a contract, in order. As in the reference, the result
/// excludes literals in fields and in the constraint.
pub(crate) fn literals<'a>(
    arena: &'a Arena,
    library: Option<&'a Library>,
    contract: &'a Contract,
) -> Vec<MessageLiteral<'a>> {
    let mut found = Vec::new();
    for entry in library.into_iter().flat_map(|library| &library.entries) {
        if let LibraryEntry::Value { name, body, .. } = entry {
            collect(arena, *body, name.span, &mut found);
        }
    }
    for statement in contract.components.iter().flat_map(|component| &component.body) {
        statement.visit(&mut |statement| {
            if let StatementKind::Bind { to, value } = &statement.kind {
                collect(arena, *value, to.span, &mut found);
            }
        });
    }
    found
}

fn collect<'a>(arena: &'a Arena, root: ExprId, at: Span, found: &mut Vec<MessageLiteral<'a>>) {
    let mut pending = vec![(root, at)];
    while let Some((id, at)) = pending.pop() {
        match &arena.get(id).kind {
            ExpressionKind::Message(entries) => found.push(MessageLiteral { entries, at }),
            ExpressionKind::Let { name, value, body, .. } => pending.extend([(*body, at), (*value, name.span)]),
            ExpressionKind::Function { body, .. } | ExpressionKind::TypeFunction { body, .. } => {
                pending.push((*body, at));
            }
            ExpressionKind::Match { scrutinee, clauses } => {
                pending.extend(clauses.iter().rev().map(|clause| (clause.body, scrutinee.span)));
            }
            _ => {}
        }
    }
}
