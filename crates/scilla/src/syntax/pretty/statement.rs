//! Printing of components and statements.

use super::{Op, Printer};
use crate::{
    name::Ident,
    syntax::ast::{ChainRead, Component, ComponentKind, Statement, StatementClause, StatementKind, Want},
};

impl Printer<'_> {
    pub(super) fn component(&mut self, component: &Component) {
        self.at(component.span);
        self.text(match component.kind {
            ComponentKind::Procedure => "procedure ",
            ComponentKind::Transition => "transition ",
        });
        self.ident(&component.name);
        self.text(" ");
        self.parameters(&component.parameters);
        if let Some(result) = &component.result {
            self.text(" : ");
            // The grammar would read an upper-case name after the type as a type argument, so the type gets
            // parentheses.
            self.bracketed(component.body.first().is_some_and(begins_upper), result);
        }
        self.op(Op::Indent);
        self.block(&component.body);
        self.at_end_of(component.span);
        self.op(Op::Dedent);
        self.op(Op::Hard);
        self.text("end");
    }

    /// Prints statements, each on a line of its own.
    fn block(&mut self, statements: &[Statement]) {
        for (index, statement) in statements.iter().enumerate() {
            if index > 0 {
                self.text(";");
            }
            self.op(Op::Hard);
            if index == 0 {
                self.at(statement.span);
            } else {
                self.start_at(statement.span);
            }
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Statement) {
        match &statement.kind {
            StatementKind::Accept => self.text("accept"),
            StatementKind::Bind { to, value } => {
                self.ident(to);
                self.value(*value);
            }
            StatementKind::Call { to, procedure, arguments } => {
                self.op(Op::Open);
                if let Some(to) = to {
                    self.ident(to);
                    self.text(" = ");
                }
                self.ident(procedure);
                self.arguments(arguments);
                self.op(Op::Close);
            }
            StatementKind::Cast { to, address, ty, kind_span: _ } => {
                self.reading(to, "&");
                self.ident(address);
                self.text(" as ");
                self.address(ty);
            }
            StatementKind::Event(value) => self.with_keyword("event ", value),
            StatementKind::ForEach { list, procedure } => {
                self.with_keyword("forall ", list);
                self.text(" ");
                self.ident(procedure);
            }
            StatementKind::Load { to, field } => {
                self.reading(to, "");
                self.ident(field);
            }
            StatementKind::MapDelete { map, keys } => {
                self.with_keyword("delete ", map);
                self.keys(keys);
            }
            StatementKind::MapGet { to, map, keys, want } => {
                self.reading(to, if *want == Want::Existence { "exists " } else { "" });
                self.ident(map);
                self.keys(keys);
            }
            StatementKind::MapPut { map, keys, value } => {
                self.ident(map);
                self.keys(keys);
                self.text(" := ");
                self.ident(value);
            }
            StatementKind::Match { scrutinee, clauses } => {
                self.matching_statement(scrutinee, clauses);
                self.at_end_of(statement.span);
                self.text("end");
            }
            StatementKind::ReadChain { to, what } => self.chain_read(to, what),
            StatementKind::RemoteLoad { to, address, field } => {
                self.reading(to, "&");
                self.remote(address, field);
            }
            StatementKind::RemoteMapGet { to, address, map, keys, want } => {
                self.reading(to, if *want == Want::Existence { "&exists " } else { "&" });
                self.remote(address, map);
                self.keys(keys);
            }
            StatementKind::Return(value) => {
                self.text("_return := ");
                self.name(&value.name);
            }
            StatementKind::Send(value) => self.with_keyword("send ", value),
            StatementKind::Store { field, value } => {
                self.ident(field);
                self.text(" := ");
                self.ident(value);
            }
            StatementKind::Throw(None) => self.text("throw"),
            StatementKind::Throw(Some(value)) => self.with_keyword("throw ", value),
        }
    }

    fn with_keyword(&mut self, keyword: &'static str, ident: &Ident) {
        self.text(keyword);
        self.ident(ident);
    }

    /// Prints the left side of a statement that reads a value.
    fn reading(&mut self, to: &Ident, behind: &'static str) {
        self.ident(to);
        self.text(" <- ");
        if !behind.is_empty() {
            self.text(behind);
        }
    }

    fn remote(&mut self, address: &Ident, field: &Ident) {
        self.ident(address);
        self.text(".");
        self.ident(field);
    }

    fn keys(&mut self, keys: &[Ident]) {
        for key in keys {
            self.text("[");
            self.ident(key);
            self.text("]");
        }
    }

    fn chain_read(&mut self, to: &Ident, what: &ChainRead) {
        self.reading(to, "&");
        match what {
            ChainRead::BlockNumber => self.text("BLOCKNUMBER"),
            ChainRead::ChainId => self.text("CHAINID"),
            ChainRead::Timestamp(block) => {
                self.text("TIMESTAMP(");
                self.ident(block);
                self.text(")");
            }
        }
    }

    fn matching_statement(&mut self, scrutinee: &Ident, clauses: &[StatementClause]) {
        self.text("match ");
        self.ident(scrutinee);
        self.text(" with");
        self.op(Op::Hard);
        for clause in clauses {
            self.clause_head(&clause.pattern);
            self.op(Op::Indent);
            self.block(&clause.body);
            self.op(Op::Dedent);
            self.op(Op::Hard);
        }
    }
}

/// Returns whether a statement begins with an upper-case name.
fn begins_upper(statement: &Statement) -> bool {
    let StatementKind::Call { to: None, procedure, .. } = &statement.kind else { return false };
    procedure.name.base().starts_with(|first: char| first.is_ascii_uppercase())
}
