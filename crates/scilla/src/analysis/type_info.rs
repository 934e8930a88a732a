//! The types of all names of a module, for use in editors.

use crate::{
    name::Ident,
    source::{Location, Span},
    syntax::ast::{
        Arena, ChainRead, Contract, ExprId, ExpressionKind, Library, LibraryEntry, Statement, StatementKind,
    },
    typecheck::{Text, Typing},
    types::Type,
};

/// A name with its source position and its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeInfo {
    /// Name as written.
    pub name: String,
    /// Type of the name. A type variable has the type of the expression that binds it. The definition of a data type
    /// or a constructor has the unit type.
    pub ty: Type,
    /// Source position of the first character.
    pub start: Location,
    /// Source position after the last character. It is on the line of `start`.
    pub end: Location,
}

pub(crate) struct Collector<'a> {
    text: Text<'a>,
    typing: &'a Typing,
    found: Vec<TypeInfo>,
}

/// Returns the types of the names of a contract and its own library.
pub(crate) fn contract(
    text: Text<'_>,
    typing: &Typing,
    library: Option<&Library>,
    contract: &Contract,
) -> Vec<TypeInfo> {
    let mut collector = Collector { text, typing, found: Vec::new() };
    if let Some(library) = library {
        collector.library(library);
    }
    collector.idents(contract.parameters.iter().map(|parameter| &parameter.name));
    collector.expression(contract.constraint);
    for field in &contract.fields {
        collector.ident(&field.name);
        collector.expression(field.initial);
    }
    for component in &contract.components {
        collector.idents(component.parameters.iter().map(|parameter| &parameter.name));
        collector.statements(&component.body);
    }
    collector.found
}

/// Returns the types of the names of a library.
pub(crate) fn library(text: Text<'_>, typing: &Typing, library: &Library) -> Vec<TypeInfo> {
    let mut collector = Collector { text, typing, found: Vec::new() };
    collector.library(library);
    collector.found
}

/// Returns the types of the names of an expression.
pub(crate) fn expression(text: Text<'_>, typing: &Typing, root: ExprId) -> Vec<TypeInfo> {
    let mut collector = Collector { text, typing, found: Vec::new() };
    collector.expression(root);
    collector.found
}

impl<'a> Collector<'a> {
    fn ident(&mut self, ident: &Ident) {
        let name = ident.name.as_written().to_string();
        let ty = self.typing.ident(ident).cloned().unwrap_or(Type::Unit);
        self.place(name, ty, ident.span);
    }

    fn place(&mut self, name: String, ty: Type, span: Span) {
        let start = self.text.source.start(span);
        let length = u32::try_from(name.len()).unwrap_or(u32::MAX);
        let end = Location { column: start.column.saturating_add(length), ..start.clone() };
        self.found.push(TypeInfo { name, ty, start, end });
    }

    fn idents<'i>(&mut self, idents: impl IntoIterator<Item = &'i Ident>) {
        idents.into_iter().for_each(|ident| self.ident(ident));
    }

    fn library(&mut self, library: &Library) {
        for entry in &library.entries {
            match entry {
                LibraryEntry::Value { name, body, .. } => {
                    self.ident(name);
                    self.expression(*body);
                }
                LibraryEntry::Type { name, constructors } => {
                    self.ident(name);
                    self.idents(constructors.iter().map(|constructor| &constructor.name));
                }
            }
        }
    }

    fn expression(&mut self, root: ExprId) {
        enum Step<'a> {
            Binders(Vec<&'a Ident>),
            Expression(ExprId),
        }
        let arena: &'a Arena = self.text.arena;
        let mut pending = vec![Step::Expression(root)];
        while let Some(step) = pending.pop() {
            let id = match step {
                Step::Expression(id) => id,
                Step::Binders(binders) => {
                    self.idents(binders.into_iter().rev());
                    continue;
                }
            };
            let expression = arena.get(id);
            match &expression.kind {
                ExpressionKind::Let { name, .. }
                | ExpressionKind::Function { parameter: name, .. }
                | ExpressionKind::Fixpoint { name, .. } => self.ident(name),
                ExpressionKind::TypeFunction { parameter, parameter_span, .. } => {
                    let ty = self.typing.place(*parameter_span).cloned().unwrap_or(Type::Unit);
                    self.place(parameter.to_string(), ty, *parameter_span);
                }
                ExpressionKind::Match { scrutinee, clauses } => {
                    self.ident(scrutinee);
                    for clause in clauses.iter().rev() {
                        pending.push(Step::Expression(clause.body));
                        pending.push(Step::Binders(clause.pattern.binders()));
                    }
                    continue;
                }
                _ => self.idents(expression.uses()),
            }
            pending.extend(expression.parts().into_iter().rev().map(Step::Expression));
        }
    }

    fn statements(&mut self, statements: &[Statement]) {
        for statement in statements {
            match &statement.kind {
                StatementKind::Load { to: first, field: second }
                | StatementKind::Store { value: first, field: second }
                | StatementKind::Cast { to: first, address: second, .. } => self.idents([first, second]),
                StatementKind::RemoteLoad { to, address, field } => self.idents([to, address, field]),
                StatementKind::Bind { to, value } => {
                    self.ident(to);
                    self.expression(*value);
                }
                StatementKind::MapDelete { map, keys } => self.idents([map].into_iter().chain(keys)),
                StatementKind::MapPut { map, keys, value } => {
                    self.idents([map].into_iter().chain(keys).chain([value]));
                }
                StatementKind::MapGet { to, map, keys, .. } => self.idents([to, map].into_iter().chain(keys)),
                StatementKind::RemoteMapGet { to, address, map, keys, .. } => {
                    self.idents([to, address, map].into_iter().chain(keys));
                }
                StatementKind::Match { scrutinee, clauses } => {
                    self.ident(scrutinee);
                    for clause in clauses {
                        self.idents(clause.pattern.binders().into_iter().rev());
                        self.statements(&clause.body);
                    }
                }
                StatementKind::Call { to, arguments, .. } => self.idents(to.iter().chain(arguments)),
                StatementKind::ReadChain { to, what: ChainRead::Timestamp(block) } => self.idents([to, block]),
                StatementKind::ReadChain { to: ident, .. }
                | StatementKind::Event(ident)
                | StatementKind::ForEach { list: ident, .. }
                | StatementKind::Return(ident)
                | StatementKind::Send(ident)
                | StatementKind::Throw(Some(ident)) => self.ident(ident),
                StatementKind::Accept | StatementKind::Throw(None) => {}
            }
        }
    }
}
