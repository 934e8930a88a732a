//! Pieces of components and statements.

use super::{Group, Piece, Writer};
use crate::{
    name::Ident,
    syntax::ast::{ChainRead, Component, ComponentKind, Parameter, Statement, StatementKind, Want},
};

impl Writer<'_> {
    pub(super) fn component(&mut self, component: &Component) {
        self.begin(Group::Record);
        self.member("comp_type", |writer| {
            writer.word(match component.kind {
                ComponentKind::Procedure => "CompProc",
                ComponentKind::Transition => "CompTrans",
            });
        });
        self.member("comp_name", |writer| writer.ident(&component.name));
        self.member("comp_params", |writer| writer.parameters(&component.parameters));
        self.member("comp_body", |writer| writer.statements(&component.body));
        self.member("comp_return", |writer| writer.maybe_kind(component.result.as_ref()));
        self.end();
    }

    pub(super) fn parameters(&mut self, parameters: &[Parameter]) {
        self.list(parameters, |writer, parameter| {
            writer.begin(Group::List);
            writer.ident(&parameter.name);
            writer.ty(&parameter.ty);
            writer.end();
        });
    }

    fn statements(&mut self, statements: &[Statement]) {
        self.list(statements, |writer, statement| {
            writer.begin(Group::List);
            writer.statement(&statement.kind);
            writer.place(statement.span);
            writer.end();
        });
    }

    fn statement(&mut self, statement: &StatementKind) {
        match statement {
            StatementKind::Accept => self.word("AcceptPayment"),
            StatementKind::Bind { to, value } => self.variant("Bind", |writer| {
                writer.ident(to);
                writer.expression(*value);
            }),
            StatementKind::Call { to, procedure, arguments } => self.variant("CallProc", |writer| {
                writer.maybe_ident(to.as_ref());
                writer.ident(procedure);
                writer.idents(arguments);
            }),
            StatementKind::Cast { to, address, ty, kind_span: _ } => self.variant("TypeCast", |writer| {
                writer.ident(to);
                writer.ident(address);
                writer.address(ty);
            }),
            StatementKind::Event(value) => self.of_idents("CreateEvnt", [value]),
            StatementKind::ForEach { list, procedure } => self.of_idents("Iterate", [list, procedure]),
            StatementKind::Load { to, field } => self.of_idents("Load", [to, field]),
            StatementKind::MapDelete { map, keys } => self.map_update(map, keys, None),
            StatementKind::MapGet { to, map, keys, want } => self.map_get("MapGet", &[to, map], keys, *want),
            StatementKind::MapPut { map, keys, value } => self.map_update(map, keys, Some(value)),
            StatementKind::Match { scrutinee, clauses } => self.variant("MatchStmt", |writer| {
                writer.ident(scrutinee);
                writer.list(clauses, |writer, clause| {
                    writer.begin(Group::List);
                    writer.pattern(&clause.pattern);
                    writer.statements(&clause.body);
                    writer.end();
                });
            }),
            StatementKind::ReadChain { to, what } => self.variant("ReadFromBC", |writer| {
                writer.ident(to);
                match what {
                    ChainRead::BlockNumber => writer.word("CurBlockNum"),
                    ChainRead::ChainId => writer.word("ChainID"),
                    ChainRead::Timestamp(block) => writer.of_idents("Timestamp", [block]),
                }
            }),
            StatementKind::RemoteLoad { to, address, field } => self.of_idents("RemoteLoad", [to, address, field]),
            StatementKind::RemoteMapGet { to, address, map, keys, want } => {
                self.map_get("RemoteMapGet", &[to, address, map], keys, *want);
            }
            StatementKind::Return(value) => self.of_idents("Return", [value]),
            StatementKind::Send(value) => self.of_idents("SendMsgs", [value]),
            StatementKind::Store { field, value } => self.of_idents("Store", [field, value]),
            StatementKind::Throw(value) => self.variant("Throw", |writer| writer.maybe_ident(value.as_ref())),
        }
    }

    fn of_idents<const N: usize>(&mut self, name: &'static str, idents: [&Ident; N]) {
        self.variant(name, |writer| {
            for ident in idents {
                writer.ident(ident);
            }
        });
    }

    fn map_update(&mut self, map: &Ident, keys: &[Ident], value: Option<&Ident>) {
        self.variant("MapUpdate", |writer| {
            writer.ident(map);
            writer.idents(keys);
            writer.maybe_ident(value);
        });
    }

    fn map_get(&mut self, name: &'static str, idents: &[&Ident], keys: &[Ident], want: Want) {
        self.variant(name, |writer| {
            for ident in idents {
                writer.ident(ident);
            }
            writer.idents(keys);
            writer.pieces.push(Piece::Truth(want == Want::Value));
        });
    }
}
