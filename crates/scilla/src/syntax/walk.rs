//! Visitors of expressions, statements and patterns.

use super::ast::{
    Arena, ChainRead, ExprId, Expression, ExpressionKind, MessageEntry, Pattern, PatternKind, Payload, Statement,
    StatementKind,
};
use crate::{name::Ident, types::Type};

impl Arena {
    /// Visits an expression and all its parts. An expression comes before its parts, and parts are in the order of
    /// the text.
    pub(crate) fn visit<'a>(&'a self, root: ExprId, mut visitor: impl FnMut(ExprId, &'a Expression)) {
        let mut pending = vec![root];
        while let Some(id) = pending.pop() {
            let expression = self.get(id);
            visitor(id, expression);
            let first = pending.len();
            pending.extend(expression.parts());
            if let Some(added) = pending.get_mut(first..) {
                added.reverse();
            }
        }
    }
}

impl Expression {
    /// Returns the immediate inner expressions, in the order of the text.
    pub(crate) fn parts(&self) -> Vec<ExprId> {
        match &self.kind {
            ExpressionKind::Fixpoint { body, .. }
            | ExpressionKind::Function { body, .. }
            | ExpressionKind::TypeFunction { body, .. } => vec![*body],
            ExpressionKind::Let { value, body, .. } => vec![*value, *body],
            ExpressionKind::Match { clauses, .. } => clauses.iter().map(|clause| clause.body).collect(),
            ExpressionKind::Apply { .. }
            | ExpressionKind::Builtin { .. }
            | ExpressionKind::Construct { .. }
            | ExpressionKind::Instantiate { .. }
            | ExpressionKind::Literal(_)
            | ExpressionKind::Message(_)
            | ExpressionKind::Variable(_) => vec![],
        }
    }

    /// Returns the variables that the node itself reads, in the order of the text. Excludes inner expressions.
    pub(crate) fn uses(&self) -> Vec<&Ident> {
        match &self.kind {
            ExpressionKind::Apply { function, arguments } => std::iter::once(function).chain(arguments).collect(),
            ExpressionKind::Builtin { arguments, .. } | ExpressionKind::Construct { arguments, .. } => {
                arguments.iter().collect()
            }
            ExpressionKind::Instantiate { function: variable, .. }
            | ExpressionKind::Match { scrutinee: variable, .. }
            | ExpressionKind::Variable(variable) => vec![variable],
            ExpressionKind::Message(entries) => entries.iter().filter_map(MessageEntry::variable).collect(),
            ExpressionKind::Fixpoint { .. }
            | ExpressionKind::Function { .. }
            | ExpressionKind::Let { .. }
            | ExpressionKind::Literal(_)
            | ExpressionKind::TypeFunction { .. } => vec![],
        }
    }

    /// Returns the types that the node itself contains. Excludes types in literals.
    pub(crate) fn types(&self) -> &[Type] {
        match &self.kind {
            ExpressionKind::Builtin { types, .. }
            | ExpressionKind::Construct { types, .. }
            | ExpressionKind::Instantiate { types, .. } => types,
            ExpressionKind::Fixpoint { ty, .. } | ExpressionKind::Function { ty, .. } => std::slice::from_ref(ty),
            ExpressionKind::Let { annotation, .. } => annotation.as_slice(),
            ExpressionKind::Apply { .. }
            | ExpressionKind::Literal(_)
            | ExpressionKind::Match { .. }
            | ExpressionKind::Message(_)
            | ExpressionKind::TypeFunction { .. }
            | ExpressionKind::Variable(_) => &[],
        }
    }
}

impl MessageEntry {
    /// Returns the variable, or `None` if the value is a literal.
    pub(crate) const fn variable(&self) -> Option<&Ident> {
        match &self.value {
            Payload::Literal(_) => None,
            Payload::Variable(variable) => Some(variable),
        }
    }
}

impl Pattern {
    /// Returns the variables that the pattern binds, from left to right.
    pub(crate) fn binders(&self) -> Vec<&Ident> {
        let mut found = Vec::new();
        self.visit(&mut |pattern| {
            if let PatternKind::Binder(ident) = &pattern.kind {
                found.push(ident);
            }
        });
        found
    }

    /// Visits the pattern and its parts. A pattern comes before its parts.
    pub(crate) fn visit<'a>(&'a self, visitor: &mut impl FnMut(&'a Self)) {
        visitor(self);
        if let PatternKind::Constructor(_, parts) = &self.kind {
            for part in parts {
                part.visit(visitor);
            }
        }
    }
}

impl Statement {
    /// Visits the statement and its inner statements. A statement comes before its inner statements.
    pub(crate) fn visit<'a>(&'a self, visitor: &mut impl FnMut(&'a Self)) {
        visitor(self);
        if let StatementKind::Match { clauses, .. } = &self.kind {
            for inner in clauses.iter().flat_map(|clause| &clause.body) {
                inner.visit(visitor);
            }
        }
    }

    /// Returns the variables that the statement itself reads, in the order of the text. For an expression, the result
    /// has only the variables of the outermost node.
    pub(crate) fn uses<'a>(&'a self, arena: &'a Arena) -> Vec<&'a Ident> {
        let then = |first: &'a [Ident], last: &'a Ident| first.iter().chain([last]).collect();
        match &self.kind {
            StatementKind::Bind { value, .. } => arena.get(*value).uses(),
            StatementKind::Call { arguments, .. } => arguments.iter().collect(),
            StatementKind::MapDelete { keys, .. } | StatementKind::MapGet { keys, .. } => keys.iter().collect(),
            StatementKind::MapPut { keys, value, .. } => then(keys, value),
            StatementKind::RemoteMapGet { address, keys, .. } => std::iter::once(address).chain(keys).collect(),
            StatementKind::Cast { address: variable, .. }
            | StatementKind::Event(variable)
            | StatementKind::ForEach { list: variable, .. }
            | StatementKind::Match { scrutinee: variable, .. }
            | StatementKind::ReadChain { what: ChainRead::Timestamp(variable), .. }
            | StatementKind::RemoteLoad { address: variable, .. }
            | StatementKind::Return(variable)
            | StatementKind::Send(variable)
            | StatementKind::Store { value: variable, .. }
            | StatementKind::Throw(Some(variable)) => vec![variable],
            StatementKind::Accept
            | StatementKind::Load { .. }
            | StatementKind::ReadChain { what: ChainRead::BlockNumber | ChainRead::ChainId, .. }
            | StatementKind::Throw(None) => vec![],
        }
    }

    /// Returns the variable that the statement binds for later statements, if there is one.
    pub(crate) const fn bound(&self) -> Option<&Ident> {
        match &self.kind {
            StatementKind::Bind { to, .. }
            | StatementKind::Cast { to, .. }
            | StatementKind::Load { to, .. }
            | StatementKind::MapGet { to, .. }
            | StatementKind::ReadChain { to, .. }
            | StatementKind::RemoteLoad { to, .. }
            | StatementKind::RemoteMapGet { to, .. } => Some(to),
            StatementKind::Call { to, .. } => to.as_ref(),
            StatementKind::Accept
            | StatementKind::Event(_)
            | StatementKind::ForEach { .. }
            | StatementKind::MapDelete { .. }
            | StatementKind::MapPut { .. }
            | StatementKind::Match { .. }
            | StatementKind::Return(_)
            | StatementKind::Send(_)
            | StatementKind::Store { .. }
            | StatementKind::Throw(_) => None,
        }
    }
}
