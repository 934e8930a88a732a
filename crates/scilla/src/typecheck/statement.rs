//! Type check of statements.

use std::collections::HashMap;

use super::{Checker, Outcome};
use crate::{
    diagnosis::Cause,
    implicit,
    name::{Ident, Name},
    source::{Location, Span},
    syntax::ast::{ChainRead, Component, ComponentKind, Parameter, Statement, StatementClause, StatementKind, Want},
    types::{AddressType, Primitive, Type, Width, usage::Use},
    vocabulary::Vocabulary,
};

/// The context of the statements of a contract, in addition to the names in scope.
#[derive(Debug, Default)]
pub(super) struct Scope {
    /// Types of the fields, including `_balance`, or `None` if a field is invalid. In this case, fields are looked up
    /// among the other names, as in the reference.
    pub(super) fields: Option<HashMap<Name, Type>>,
    /// The procedures that are declared before the component.
    pub(super) procedures: HashMap<Name, Signature>,
}

/// The types of the parameters and the result of a procedure.
#[derive(Clone, Debug)]
pub(super) struct Signature {
    parameters: Vec<Type>,
    result: Option<Type>,
    /// Declaration of the procedure, for output for people.
    declared: Declared,
}

/// The declaration of a procedure. It is empty unless the output is for people.
#[derive(Clone, Debug, Default)]
struct Declared {
    place: Location,
    parameters: Vec<String>,
}

impl Checker<'_> {
    /// Checks the types of a component. Returns the types of its parameters and of its result.
    pub(super) fn component(&mut self, component: &Component, scope: &Scope) -> Outcome<Signature> {
        let (what, for_use) = match component.kind {
            ComponentKind::Procedure => ("procedure", Use::ProcedureParameter),
            ComponentKind::Transition => ("transition", Use::TransitionParameter),
        };
        if let Some(result) = component.result.as_ref().filter(|result| !result.is_legal(for_use, self.known)) {
            let result = result.as_written();
            return self.error(component.name.span, format!("Type {what} is not a legal return type: {result}"));
        }
        for parameter in &component.parameters {
            if !parameter.ty.is_legal(for_use, self.known) {
                let ty = parameter.ty.as_written();
                return self.error(parameter.name.span, format!("Type cannot be used as {what} parameter: {ty}"));
            }
        }
        let before = self.environment.mark();
        for (name, ty) in implicit::message_parameters() {
            self.environment.bind(&Name::simple(name), ty);
        }
        for parameter in &component.parameters {
            self.bind(&parameter.name, parameter.ty.clone());
        }
        self.statements(&component.body, component, scope)?;
        self.environment.restore(before);
        let parameters = component.parameters.iter().map(|parameter| parameter.ty.clone()).collect();
        Ok(Signature { parameters, result: component.result.clone(), declared: self.declared(component) })
    }

    fn declared(&self, component: &Component) -> Declared {
        if self.vocabulary().is_none() {
            return Declared::default();
        }
        let parameter = |it: &Parameter| format!("{} : {}", it.name.name.base(), it.ty.as_written());
        let parameters = component.parameters.iter().map(parameter).collect();
        Declared { place: self.text.source.start(component.name.span), parameters }
    }

    fn statements(&mut self, statements: &[Statement], component: &Component, scope: &Scope) -> Outcome<()> {
        let before = self.environment.mark();
        // As in the reference, the arguments of `throw` are checked after the later statements, the last `throw` first.
        let mut thrown = Vec::new();
        for statement in statements {
            if let StatementKind::Throw(exception) = &statement.kind {
                thrown.push((exception.as_ref(), self.environment.mark()));
            } else if let StatementKind::Match { scrutinee, clauses } = &statement.kind {
                self.match_statement(scrutinee, clauses, component, scope)?;
            } else {
                self.statement(statement, component, scope)?;
            }
        }
        for (exception, mark) in thrown.into_iter().rev() {
            self.environment.restore(mark);
            if let Some(exception) = exception {
                self.expect(exception, &Primitive::Exception.into())?;
            }
        }
        self.environment.restore(before);
        Ok(())
    }

    /// Checks a statement that is neither a match nor a throw.
    ///
    /// [`Self::statements`] checks matches and throws, because its stack frame is smaller, and the check of nested
    /// matches recurses.
    fn statement(&mut self, statement: &Statement, component: &Component, scope: &Scope) -> Outcome<()> {
        match &statement.kind {
            StatementKind::Accept | StatementKind::Match { .. } | StatementKind::Throw(_) => {}
            StatementKind::Bind { to, value } => {
                let ty = self.expression(*value)?;
                self.bind(to, ty);
            }
            StatementKind::Call { to, procedure, arguments } => {
                self.call(to.as_ref(), procedure, arguments, statement.span, scope)?;
            }
            StatementKind::Cast { to, address, ty, .. } => {
                self.expect(address, &Type::bystr(20))?;
                self.bind(to, Type::option(Type::Address(ty.clone())));
            }
            StatementKind::Event(event) => self.expect(event, &Primitive::Event.into())?,
            StatementKind::ForEach { list, procedure } => self.for_each(list, procedure, scope)?,
            StatementKind::Load { to, field } => {
                let ty = self.field(field, scope)?;
                self.bind(to, ty);
            }
            StatementKind::MapDelete { map, keys } => {
                self.map_access(map, keys, scope)?;
            }
            StatementKind::MapGet { to, map, keys, want } => {
                let found = self.map_access(map, keys, scope)?;
                self.bind(to, want.answer(found));
            }
            StatementKind::MapPut { map, keys, value } => {
                let expected = self.map_access(map, keys, scope)?;
                self.expect(value, &expected)?;
            }
            StatementKind::ReadChain { to, what } => {
                let ty = self.chain_read(what)?;
                self.bind(to, ty);
            }
            StatementKind::RemoteLoad { to, address, field } => {
                let ty = self.remote_field(address, field)?;
                self.bind(to, ty);
            }
            StatementKind::RemoteMapGet { to, address, map, keys, want } => {
                let ty = self.remote_field(address, map)?;
                let found = self.index(&ty, keys)?;
                self.bind(to, want.answer(found));
            }
            StatementKind::Return(value) => self.return_statement(value, statement.span, component)?,
            StatementKind::Send(messages) => self.expect(messages, &Type::list(Primitive::Message.into()))?,
            StatementKind::Store { field, value } => {
                let expected = self.field(field, scope)?;
                self.expect(value, &expected)?;
            }
        }
        Ok(())
    }

    /// Looks up a name, and checks its type.
    fn expect(&mut self, ident: &Ident, expected: &Type) -> Outcome<()> {
        let actual = self.resolve(ident)?;
        self.expect_assignable(expected, &actual, ident.span)
    }

    fn field(&mut self, field: &Ident, scope: &Scope) -> Outcome<Type> {
        let Some(fields) = &scope.fields else {
            return self.resolve(field);
        };
        if let Some(ty) = fields.get(&field.name) {
            self.record(field.span, ty);
            return Ok(ty.clone());
        }
        let text = format!("Couldn't resolve identifier: {}", field.name.as_written());
        self.error_because(field.span, text, |known| Some(known.unknown_field(field)))
    }

    fn map_access(&mut self, map: &Ident, keys: &[Ident], scope: &Scope) -> Outcome<Type> {
        let ty = self.field(map, scope)?;
        self.index(&ty, keys)
    }

    /// Returns the type of the value that these keys select in a nested map.
    fn index(&mut self, map: &Type, keys: &[Ident]) -> Outcome<Type> {
        let mut rest = map;
        for key in keys {
            let Type::Map(expected, value) = rest else {
                let name = key.name.as_written();
                return self.error(key.span, format!("Type failure in map access. Cannot index into key: {name}"));
            };
            self.expect(key, expected)?;
            rest = value;
        }
        Ok(rest.clone())
    }

    fn remote_field(&mut self, address: &Ident, field: &Ident) -> Outcome<Type> {
        let of = self.resolve(address)?;
        let ty = match (field.name.base().as_ref(), &of) {
            ("_balance", Type::Address(_)) => Primitive::Uint(Width::W128).into(),
            ("_codehash", Type::Address(AddressType::Code | AddressType::Contract(_) | AddressType::Library)) => {
                Type::bystr(32)
            }
            (name, Type::Address(AddressType::Contract(fields))) => {
                let Some(ty) = fields.get(name) else {
                    let (name, of) = (field.name.as_written(), of.global());
                    let text = format!("Field is not declared in address type: {name} is not declared in {of}");
                    return self.error(address.span, text);
                };
                ty.clone()
            }
            _ => {
                let (name, of) = (field.name.global(), of.global());
                return self.error(address.span, format!("Invalid field read: {name} from {of}"));
            }
        };
        self.record(field.span, &ty);
        Ok(ty)
    }

    fn chain_read(&mut self, what: &ChainRead) -> Outcome<Type> {
        match what {
            ChainRead::BlockNumber => Ok(Primitive::BNum.into()),
            ChainRead::ChainId => Ok(Primitive::Uint(Width::W32).into()),
            ChainRead::Timestamp(block) => {
                self.expect(block, &Primitive::BNum.into())?;
                Ok(Type::option(Primitive::Uint(Width::W64).into()))
            }
        }
    }

    fn match_statement(
        &mut self,
        scrutinee: &Ident,
        clauses: &[StatementClause],
        component: &Component,
        scope: &Scope,
    ) -> Outcome<()> {
        let of = self.scrutinee(scrutinee, clauses)?;
        for clause in clauses {
            let before = self.environment.mark();
            self.pattern(&clause.pattern, &of)?;
            self.statements(&clause.body, component, scope)?;
            self.environment.restore(before);
        }
        Ok(())
    }

    fn scrutinee(&mut self, scrutinee: &Ident, clauses: &[StatementClause]) -> Outcome<Type> {
        if clauses.is_empty() {
            // The reference appends a dump of its tree to this text.
            let name = scrutinee.name.as_written();
            let text = format!("List of clauses for pattern matching statement is empty: match {name} with end");
            return self.error(Span::NOWHERE, text);
        }
        self.resolve(scrutinee)
    }

    fn call(
        &mut self,
        to: Option<&Ident>,
        procedure: &Ident,
        arguments: &[Ident],
        at: Span,
        scope: &Scope,
    ) -> Outcome<()> {
        let Some(signature) = scope.procedures.get(&procedure.name) else {
            let name = procedure.name.as_written();
            let text = format!("Procedure not found: {name}");
            let place = self.text.source.start(procedure.span);
            let help = |known: &Vocabulary| Some(known.unknown_procedure(procedure, &place, true));
            return self.error_because(procedure.span, text, help);
        };
        let given = self.resolve_all(arguments)?;
        for (expected, actual) in signature.parameters.iter().zip(&given) {
            self.expect_assignable(expected, actual, at)?;
        }
        if signature.parameters.len() != given.len() {
            let Declared { place, parameters } = &signature.declared;
            let cause = |_: &Vocabulary| {
                Some(Cause::Arity {
                    procedure: procedure.name.as_written().to_string(),
                    parameters: parameters.clone(),
                    found: given.len(),
                    declared: place.clone(),
                })
            };
            return self.error_because(at, "Incorrect number of arguments to procedure", cause);
        }
        match (to, &signature.result) {
            (None, _) => {}
            (Some(to), Some(result)) => self.bind(to, result.clone()),
            (Some(_), None) => {
                let name = procedure.name.as_written();
                return self.error(procedure.span, format!("Procedure does not return a value: {name}"));
            }
        }
        Ok(())
    }

    fn for_each(&mut self, list: &Ident, procedure: &Ident, scope: &Scope) -> Outcome<()> {
        let actual = self.resolve(list)?;
        let reason = match scope.procedures.get(&procedure.name) {
            Some(Signature { parameters, result: None, .. }) if parameters.len() == 1 => {
                let elements = parameters.iter().cloned().map(Type::list);
                return elements
                    .into_iter()
                    .try_for_each(|expected| self.expect_assignable(&expected, &actual, list.span));
            }
            Some(Signature { result: Some(_), .. }) => {
                "Procedures with a return type cannot be used in forall statements"
            }
            Some(_) | None => "Procedure not found or has incorrect argument type",
        };
        let text = format!("{reason}: {}", procedure.name.as_written());
        self.error_because(procedure.span, text, |known| {
            let place = self.text.source.start(procedure.span);
            let unknown = !scope.procedures.contains_key(&procedure.name);
            unknown.then(|| known.unknown_procedure(procedure, &place, true))
        })
    }

    fn return_statement(&mut self, value: &Ident, at: Span, component: &Component) -> Outcome<()> {
        match (component.kind, &component.result) {
            (ComponentKind::Transition, _) => self.error(at, "Return statements in transition are prohibited"),
            (ComponentKind::Procedure, None) => {
                let name = component.name.name.as_written();
                self.error(at, format!("Procedure {name} cannot return because it doesn't have a return type"))
            }
            (ComponentKind::Procedure, Some(expected)) => self.expect(value, expected),
        }
    }
}

impl Want {
    /// Returns the type of the result of a map read, for an entry of the type `entry`.
    fn answer(self, entry: Type) -> Type {
        match self {
            Self::Existence => Type::bool(),
            Self::Value => Type::option(entry),
        }
    }
}
