//! Compiles transitions, procedures and their statements.

use std::{collections::HashMap, sync::Arc};

use super::Lowering;
use crate::{
    code::{
        ComponentCode, FieldCode, FieldUse, Pattern, Statement, StatementKind, StatementNames, Statements, Variable,
    },
    name::{Ident, Name},
    syntax::ast::{self, Arena, ChainRead, Component, ComponentKind},
};

/// The fields and procedures by name.
struct Known<'a> {
    arena: &'a Arena,
    fields: HashMap<&'a str, u32>,
    procedures: HashMap<Name, u32>,
}

impl Lowering {
    pub(super) fn components(
        &mut self,
        arena: &Arena,
        fields: &[FieldCode],
        components: &[Component],
    ) -> Vec<ComponentCode> {
        let numbered = fields.iter().zip(0..).map(|(code, index)| (&*code.field.name, index));
        let mut known = Known { arena, fields: numbered.collect(), procedures: HashMap::new() };
        let mut ready = Vec::new();
        for (component, index) in components.iter().zip(0..) {
            ready.push(self.component(&known, component));
            // Components below a procedure can call it. A procedure hides an earlier procedure of the same name.
            if component.kind == ComponentKind::Procedure {
                known.procedures.insert(component.name.name.clone(), index);
            }
        }
        ready
    }

    fn component(&mut self, known: &Known<'_>, component: &Component) -> ComponentCode {
        let parameters: Vec<_> = (component.parameters.iter())
            .map(|parameter| (parameter.name.name.clone(), parameter.ty.clone()))
            .collect();
        let names: Vec<Name> = parameters.iter().map(|(name, _)| name.clone()).collect();
        self.scope.open(None, &names);
        let body = self.statements(known, &component.body);
        self.scope.close(None);
        let place = self.place(component.name.span);
        ComponentCode { kind: component.kind, name: component.name.name.clone(), place, parameters, body }
    }

    /// Compiles statements. Later statements can use the variables that a statement binds. The scope ends with the
    /// last statement.
    fn statements(&mut self, known: &Known<'_>, statements: &[ast::Statement]) -> Statements {
        let mut bound = Vec::new();
        let ready: Vec<Statement> =
            statements.iter().map(|statement| self.statement(known, statement, &mut bound)).collect();
        for name in bound.iter().rev() {
            self.scope.unbind(name);
        }
        ready.into()
    }

    fn statement(&mut self, known: &Known<'_>, statement: &ast::Statement, bound: &mut Vec<Name>) -> Statement {
        use ast::StatementKind as Ast;
        // The names in a statement refer to earlier bindings. Therefore these names are looked up before the statement
        // binds its own name.
        let used = statement.uses(known.arena).into_iter().filter_map(|name| self.named(name)).collect();
        let mut bind = |lowering: &mut Self, to: &Ident| {
            bound.push(to.name.clone());
            lowering.scope.bind(&to.name)
        };
        let kind = match &statement.kind {
            Ast::Accept => StatementKind::Accept,
            Ast::Bind { to, value } => {
                let value = self.expression(known.arena, *value);
                StatementKind::Bind { slot: bind(self, to), value }
            }
            Ast::Call { to, procedure, arguments } => {
                let arguments = self.variables(arguments);
                let slot = to.as_ref().map(|to| (bind(self, to), to.name.clone()));
                StatementKind::Call { slot, procedure: known.procedure(procedure), arguments }
            }
            Ast::Cast { to, address, ty, .. } => {
                let address = self.variable(address);
                StatementKind::Cast { slot: bind(self, to), address, ty: ty.clone() }
            }
            Ast::Event(event) => StatementKind::Event(self.variable(event)),
            Ast::ForEach { list, procedure } => {
                StatementKind::ForEach { list: self.variable(list), procedure: known.procedure(procedure) }
            }
            Ast::Load { to, field } if &**field.name.base() == "_balance" => {
                StatementKind::LoadBalance { slot: bind(self, to) }
            }
            Ast::Load { to, field } => {
                let field = self.field(known, field);
                StatementKind::Load { slot: bind(self, to), field }
            }
            Ast::MapDelete { map, keys } => {
                StatementKind::MapDelete { map: self.field(known, map), keys: self.variables(keys) }
            }
            Ast::MapGet { to, map, keys, want } => {
                let (map, keys) = (self.field(known, map), self.variables(keys));
                StatementKind::MapGet { slot: bind(self, to), map, keys, want: *want }
            }
            Ast::MapPut { map, keys, value } => {
                let (map, keys) = (self.field(known, map), self.variables(keys));
                StatementKind::MapPut { map, keys, value: self.variable(value) }
            }
            Ast::Match { scrutinee, clauses } => StatementKind::Match {
                scrutinee: self.variable(scrutinee),
                clauses: clauses.iter().map(|clause| self.statement_clause(known, clause)).collect(),
            },
            Ast::ReadChain { to, what } => self.read_chain(what, |lowering| bind(lowering, to)),
            Ast::RemoteLoad { to, address, field } => {
                let (address, field) = (self.variable(address), self.field(known, field));
                StatementKind::RemoteLoad { slot: bind(self, to), address, field }
            }
            Ast::RemoteMapGet { to, address, map, keys, want } => {
                let (address, map) = (self.variable(address), self.field(known, map));
                let keys = self.variables(keys);
                StatementKind::RemoteMapGet { slot: bind(self, to), address, map, keys, want: *want }
            }
            Ast::Return(value) => StatementKind::Return(self.variable(value)),
            Ast::Send(messages) => StatementKind::Send(self.variable(messages)),
            Ast::Store { field, value } => {
                StatementKind::Store { field: self.field(known, field), value: self.variable(value) }
            }
            Ast::Throw(exception) => StatementKind::Throw(exception.as_ref().map(|exception| self.variable(exception))),
        };
        let bound = statement.bound().and_then(|name| self.named(name));
        Statement { kind, place: self.place(statement.span), names: Box::new(StatementNames { used, bound }) }
    }

    fn named(&mut self, name: &Ident) -> Option<(Name, Variable)> {
        Some((name.name.clone(), self.scope.find(&name.name)?))
    }

    fn statement_clause(&mut self, known: &Known<'_>, clause: &ast::StatementClause) -> (Pattern, Statements) {
        let mut names = Vec::new();
        let pattern = self.pattern(&clause.pattern, &mut names);
        for name in &names {
            self.scope.bind(name);
        }
        let body = self.statements(known, &clause.body);
        for name in names.iter().rev() {
            self.scope.unbind(name);
        }
        (pattern, body)
    }

    fn read_chain(&mut self, what: &ChainRead, bind: impl FnOnce(&mut Self) -> u32) -> StatementKind {
        match what {
            ChainRead::BlockNumber => StatementKind::BlockNumber { slot: bind(self) },
            ChainRead::ChainId => StatementKind::ChainId { slot: bind(self) },
            ChainRead::Timestamp(block) => {
                let block: Variable = self.variable(block);
                StatementKind::Timestamp { slot: bind(self), block }
            }
        }
    }

    fn field(&self, known: &Known<'_>, field: &Ident) -> FieldUse {
        let name = Arc::clone(field.name.base());
        FieldUse { field: known.fields.get(&*name).copied(), name, place: self.place(field.span) }
    }
}

impl Known<'_> {
    fn procedure(&self, name: &Ident) -> Result<u32, Name> {
        self.procedures.get(&name.name).copied().ok_or_else(|| name.name.clone())
    }
}
