//! Tags that follow from statements.

use super::{Analysis, tag::Tag};
use crate::{
    name::Ident,
    syntax::ast::{Statement, StatementClause, StatementKind, Want},
};

impl<'a> Analysis<'a> {
    /// Analyses statements from the last one to the first, because the use of a value determines the tag of its origin.
    pub(super) fn statements(&mut self, statements: &'a [Statement]) {
        statements.iter().filter_map(followed).for_each(|binder| self.environment.open(binder));
        for statement in statements.iter().rev() {
            self.steps += 1;
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &'a Statement) {
        match &statement.kind {
            StatementKind::Bind { to, value } => {
                let used = self.environment.close(to);
                let tag = self.expression(*value, used.clone()).join(&used);
                self.environment.state.set_note(to, tag);
            }
            StatementKind::Load { to, field } => {
                let tag = self.environment.bound(to).join(&self.environment.state.field(field));
                self.environment.state.set_field(field, tag.clone());
                self.environment.forget(&to.name);
                self.environment.state.set_note(to, tag);
            }
            StatementKind::Store { field, value } => {
                let tag = self.environment.learn(value, &self.environment.state.field(field));
                self.environment.state.set_field(field, tag);
            }
            StatementKind::MapGet { to, map, keys, want } => self.map_get(to, map, keys, *want),
            StatementKind::MapPut { map, keys, value } => self.map_put(map, keys, value),
            StatementKind::MapDelete { map, keys } => {
                self.map_holds(map, keys, &Tag::NoInfo);
                self.are_no_money(keys);
            }
            StatementKind::ReadChain { to, .. } => {
                let used = self.environment.close(to);
                self.environment.state.set_note(to, used.join(&Tag::NotMoney));
            }
            StatementKind::Match { scrutinee, clauses } => self.match_statement(scrutinee, clauses),
            StatementKind::Event(ident) | StatementKind::Send(ident) | StatementKind::Throw(Some(ident)) => {
                self.are_no_money([ident]);
            }
            // As in the reference, these statements close a binding without opening one. So an outer variable of the
            // same name loses its binding.
            StatementKind::Cast { to, .. }
            | StatementKind::RemoteLoad { to, .. }
            | StatementKind::RemoteMapGet { to, .. } => self.environment.forget(&to.name),
            // The analysis does not follow a call into the procedure.
            StatementKind::Accept
            | StatementKind::Call { .. }
            | StatementKind::ForEach { .. }
            | StatementKind::Return(_)
            | StatementKind::Throw(None) => {}
        }
    }

    fn are_no_money<'i>(&mut self, idents: impl IntoIterator<Item = &'i Ident>) {
        for ident in idents {
            self.environment.learn(ident, &Tag::NotMoney);
        }
    }

    fn map_get(&mut self, to: &Ident, map: &Ident, keys: &[Ident], want: Want) {
        let used = self.environment.bound(to);
        let value = match want {
            Want::Existence => Tag::NoInfo,
            Want::Value => used.held().unwrap_or(Tag::Inconsistent),
        };
        let found = self.map_holds(map, keys, &value);
        self.environment.forget(&to.name);
        self.are_no_money(keys);
        let tag = match want {
            Want::Existence => Tag::NotMoney,
            Want::Value => used.join(&Tag::option(found)),
        };
        self.environment.state.set_note(to, tag);
    }

    fn map_put(&mut self, map: &Ident, keys: &[Ident], value: &Ident) {
        let tag = self.map_holds(map, keys, &self.environment.get(value));
        self.are_no_money(keys);
        // As in the reference, a value that is also a key loses the tag `NotMoney` of the key.
        self.environment.set(value, tag);
    }

    /// Joins a tag into the tag of the values that a field has under these keys. Returns the new tag.
    fn map_holds(&mut self, map: &Ident, keys: &[Ident], value: &Tag) -> Tag {
        let state = &mut self.environment.state;
        let tag = state.field(map).join(&Tag::maps(keys.len(), value.clone()));
        state.set_field(map, tag.clone());
        tag.value(keys.len()).unwrap_or(&Tag::Inconsistent).join(value)
    }

    fn match_statement(&mut self, scrutinee: &Ident, clauses: &'a [StatementClause]) {
        for clause in clauses.iter().rev() {
            self.open_pattern(&clause.pattern);
            self.statements(&clause.body);
            self.close_pattern(&clause.pattern);
        }
        // In a statement, earlier tags of the matched variable take effect in the next round. In an expression, they
        // take effect in the same round.
        let known = self.environment.state.note(scrutinee);
        self.learn_from_patterns(scrutinee, clauses.iter().map(|clause| &clause.pattern));
        for clause in clauses {
            self.inform(&clause.pattern, &known);
        }
    }
}

/// Returns the variable that a statement binds, if the analysis opens a binding for it.
const fn followed(statement: &Statement) -> Option<&Ident> {
    match &statement.kind {
        StatementKind::Bind { to, .. }
        | StatementKind::Load { to, .. }
        | StatementKind::MapGet { to, .. }
        | StatementKind::ReadChain { to, .. } => Some(to),
        _ => None,
    }
}
