//! Adds the defining module to each name of a tree.

use std::{collections::BTreeMap, fmt, sync::Arc};

use super::dictionary::{Dictionary, Sort};
use crate::{
    diagnosis::{Cause, NameKind},
    name::{Ident, Name},
    report::{Entry, Failure},
    rules::UnstatedConstraint,
    source::{Location, Source, Span},
    syntax::ast::{
        Arena, ChainRead, Component, Contract, ExprId, ExpressionKind, Library, LibraryEntry, Literal, Parameter,
        Pattern, PatternKind, Payload, Statement, StatementKind,
    },
    types::{AddressType, Type},
};

/// A name that cannot be resolved, with the source position for the report.
#[derive(Debug)]
pub(super) struct NameError {
    pub(super) kind: NameErrorKind,
    pub(super) span: Span,
}

/// Reason why a name cannot be resolved.
#[derive(Debug)]
pub(super) enum NameErrorKind {
    /// Two imported libraries define the name.
    Clash { sort: Sort, name: Arc<str>, new: Arc<str>, old: Arc<str> },
    /// The name has a namespace where none is permitted.
    Illegal(Name),
    /// The namespace does not contain the name.
    NotInNamespace { name: Arc<str>, namespace: Arc<str>, nearest: Option<String> },
    /// The local library defines the name a second time.
    Redefined { sort: Sort, name: Arc<str>, old: Arc<str> },
    /// No import defines this namespace.
    UnknownNamespace { namespace: Arc<str>, nearest: Option<String> },
}

impl NameError {
    /// Returns the failure for this error, with its source position.
    pub(super) fn at(self, source: &Source) -> Failure {
        let nowhere = matches!(self.kind, NameErrorKind::Illegal(_));
        let start = if nowhere { Location::default() } else { source.start(self.span) };
        let cause = match &self.kind {
            NameErrorKind::NotInNamespace { nearest, .. } => Some((NameKind::Value, nearest)),
            NameErrorKind::UnknownNamespace { nearest, .. } => Some((NameKind::Library, nearest)),
            NameErrorKind::Clash { .. } | NameErrorKind::Illegal(_) | NameErrorKind::Redefined { .. } => None,
        };
        let cause = cause.map(|(kind, nearest)| Cause::unknown(kind, nearest.clone()));
        Failure::of(Entry::at(start, self.kind.to_string()).because(cause))
    }
}

impl fmt::Display for NameErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clash { sort, name, new, old } => {
                write!(f, "{sort} {name} imported from multiple sources: libraries {new} and {old}")
            }
            Self::Illegal(name) => write!(f, "Illegal name: {}", name.as_written()),
            Self::NotInNamespace { name, namespace, .. } => {
                write!(f, "Name {name} is not defined in the namespace {namespace}")
            }
            Self::Redefined { sort, name, old } => {
                let sort = sort.to_string().to_lowercase();
                write!(f, "Multiple declarations of {sort} {name} in library {old}")
            }
            Self::UnknownNamespace { namespace, .. } => write!(f, "Unknown namespace: {namespace}"),
        }
    }
}

type Resolved = Result<(), NameError>;

/// Resolves the names in the trees of a module.
pub(super) struct Resolver<'a> {
    names: Names,
    arena: &'a mut Arena,
    address: Arc<str>,
}

/// The names in scope at one position in a module.
struct Names {
    dictionary: Dictionary,
    /// Local variables in scope, with the number of their bindings. A local variable hides a library value of the same
    /// name.
    locals: BTreeMap<Arc<str>, usize>,
}

/// A remaining step in the resolution of an expression.
enum Step {
    /// Resolve this expression.
    Enter(ExprId),
    /// Resolve this clause of a match.
    Clause(ExprId, usize),
    /// Begin the scope of these local variables.
    Bind(Vec<Arc<str>>),
    /// End the scope of these local variables.
    Release(Vec<Arc<str>>),
}

impl<'a> Resolver<'a> {
    pub(super) const fn new(dictionary: Dictionary, arena: &'a mut Arena, address: Arc<str>) -> Self {
        Self { names: Names { dictionary, locals: BTreeMap::new() }, arena, address }
    }

    /// Resolves the entries of the local library. An entry can use the entries above it.
    pub(super) fn library(&mut self, library: &mut Library) -> Resolved {
        library.entries.iter_mut().try_for_each(|entry| self.entry(entry))
    }

    fn entry(&mut self, entry: &mut LibraryEntry) -> Resolved {
        match entry {
            LibraryEntry::Value { name, annotation, body } => {
                if let Some(annotation) = annotation {
                    self.names.ty(annotation)?;
                }
                self.expression(*body)?;
                self.names.dictionary.define(Sort::Variable, name.name.base(), &self.address);
                self.own(name);
            }
            LibraryEntry::Type { name, constructors } => {
                for ty in constructors.iter_mut().flat_map(|constructor| &mut constructor.arguments) {
                    self.names.ty(ty)?;
                }
                self.define_once(Sort::Type, name)?;
                for constructor in constructors {
                    self.define_once(Sort::Constructor, &mut constructor.name)?;
                }
            }
        }
        Ok(())
    }

    fn define_once(&mut self, sort: Sort, ident: &mut Ident) -> Resolved {
        self.names.dictionary.define_once(sort, ident.name.base(), &self.address, ident.span)?;
        self.own(ident);
        Ok(())
    }

    /// Records this module as the defining module of a name.
    fn own(&self, ident: &mut Ident) {
        ident.name = ident.name.clone().defined_in(Arc::clone(&self.address));
    }

    /// Resolves a contract.
    pub(super) fn contract(&mut self, contract: &mut Contract, unstated: UnstatedConstraint) -> Resolved {
        self.names.parameters(&mut contract.parameters)?;
        let locals = names_of(&contract.parameters);
        self.names.bind(&locals);
        // For a contract without a written constraint, `Zilliqa/scilla` 308af35, `src/base/ScillaParser.mly` lines 74
        // and 553, inserts a `True`. The reference resolves this name like any other, so a constructor of the module
        // may replace it.
        let is_written = !self.arena.get(contract.constraint).span.is_nowhere();
        if is_written || unstated == UnstatedConstraint::InScope {
            self.expression(contract.constraint)?;
        }
        for field in &mut contract.fields {
            self.names.ty(&mut field.ty)?;
            self.expression(field.initial)?;
        }
        contract.components.iter_mut().try_for_each(|component| self.component(component))?;
        self.names.release(&locals);
        Ok(())
    }

    fn component(&mut self, component: &mut Component) -> Resolved {
        self.names.parameters(&mut component.parameters)?;
        if let Some(result) = &mut component.result {
            self.names.ty(result)?;
        }
        let locals = names_of(&component.parameters);
        self.names.bind(&locals);
        self.statements(&mut component.body)?;
        self.names.release(&locals);
        Ok(())
    }

    fn statements(&mut self, statements: &mut [Statement]) -> Resolved {
        let mut locals = Vec::new();
        for statement in statements {
            if let Some(local) = self.statement(statement)? {
                self.names.bind(std::slice::from_ref(&local));
                locals.push(local);
            }
        }
        self.names.release(&locals);
        Ok(())
    }

    /// Resolves a statement. Returns the local variable that the statement binds, or `None` if it binds none.
    fn statement(&mut self, statement: &mut Statement) -> Result<Option<Arc<str>>, NameError> {
        let span = statement.span;
        let names = &self.names;
        match &mut statement.kind {
            StatementKind::Accept | StatementKind::Throw(None) => {}
            StatementKind::Bind { to, value } => {
                self.expression(*value)?;
                return Ok(Some(local(to)));
            }
            StatementKind::Call { to: _, procedure, arguments } => {
                // In the reference, this result does not become a local: a library value of the same name stays
                // visible.
                expect_simple(procedure)?;
                names.values(arguments, span)?;
            }
            StatementKind::Cast { to, address, ty, kind_span: _ } => {
                names.value(address, span)?;
                names.address_type(ty)?;
                return Ok(Some(local(to)));
            }
            StatementKind::Event(value)
            | StatementKind::Return(value)
            | StatementKind::Send(value)
            | StatementKind::Throw(Some(value)) => names.value(value, span)?,
            StatementKind::ForEach { list, procedure } => {
                names.value(list, span)?;
                expect_simple(procedure)?;
            }
            StatementKind::Load { to, field } => {
                expect_simple(field)?;
                return Ok(Some(local(to)));
            }
            StatementKind::MapDelete { map: _, keys } => names.values(keys, span)?,
            StatementKind::MapGet { to, map: _, keys, want: _ } => {
                names.values(keys, span)?;
                return Ok(Some(local(to)));
            }
            StatementKind::MapPut { map: _, keys, value } => {
                names.values(keys, span)?;
                names.value(value, span)?;
            }
            StatementKind::Match { scrutinee, clauses } => {
                names.value(scrutinee, span)?;
                for clause in clauses {
                    let locals = self.names.pattern(&mut clause.pattern)?;
                    self.names.bind(&locals);
                    self.statements(&mut clause.body)?;
                    self.names.release(&locals);
                }
            }
            StatementKind::ReadChain { to, what } => {
                if let ChainRead::Timestamp(block) = what {
                    names.value(block, span)?;
                }
                return Ok(Some(local(to)));
            }
            StatementKind::RemoteLoad { to, address, field } => {
                names.value(address, span)?;
                expect_simple(field)?;
                return Ok(Some(local(to)));
            }
            StatementKind::RemoteMapGet { to, address, map: _, keys, want: _ } => {
                names.value(address, span)?;
                names.values(keys, span)?;
                return Ok(Some(local(to)));
            }
            StatementKind::Store { field: _, value } => names.value(value, span)?,
        }
        Ok(None)
    }

    /// Resolves an expression, with an explicit stack of the remaining steps.
    pub(super) fn expression(&mut self, root: ExprId) -> Resolved {
        let mut steps = vec![Step::Enter(root)];
        while let Some(step) = steps.pop() {
            match step {
                Step::Enter(id) => self.node(id, &mut steps)?,
                Step::Clause(id, index) => self.clause(id, index, &mut steps)?,
                Step::Bind(locals) => self.names.bind(&locals),
                Step::Release(locals) => self.names.release(&locals),
            }
        }
        Ok(())
    }

    /// Resolves the names of one node. Pushes a step for each inner expression, the first one on top.
    fn node(&mut self, id: ExprId, steps: &mut Vec<Step>) -> Resolved {
        let node = self.arena.get_mut(id);
        let span = node.span;
        let names = &self.names;
        match &mut node.kind {
            ExpressionKind::Apply { function, arguments } => {
                names.value(function, span)?;
                names.values(arguments, span)?;
            }
            ExpressionKind::Builtin { name: _, types, arguments } => {
                names.kinds(types)?;
                names.values(arguments, span)?;
            }
            ExpressionKind::Construct { constructor, types, arguments } => {
                names.ident(Sort::Constructor, constructor, span)?;
                names.kinds(types)?;
                names.values(arguments, span)?;
            }
            ExpressionKind::Fixpoint { name, ty, body } | ExpressionKind::Function { parameter: name, ty, body } => {
                names.ty(ty)?;
                push_scope(steps, vec![local(name)], *body);
            }
            ExpressionKind::Instantiate { function, types } => {
                names.value(function, span)?;
                names.kinds(types)?;
            }
            ExpressionKind::Let { name, annotation, value, body } => {
                if let Some(annotation) = annotation {
                    names.ty(annotation)?;
                }
                push_scope(steps, vec![local(name)], *body);
                steps.push(Step::Enter(*value));
            }
            ExpressionKind::Literal(literal) => names.literal(literal)?,
            ExpressionKind::Match { scrutinee, clauses } => {
                names.value(scrutinee, span)?;
                // An error in a clause comes before an error in the pattern of the next clause.
                steps.extend((0..clauses.len()).rev().map(|index| Step::Clause(id, index)));
            }
            ExpressionKind::Message(entries) => {
                for entry in entries {
                    match &mut entry.value {
                        Payload::Literal(literal) => names.literal(literal)?,
                        Payload::Variable(value) => names.value(value, span)?,
                    }
                }
            }
            ExpressionKind::TypeFunction { body, .. } => steps.push(Step::Enter(*body)),
            ExpressionKind::Variable(value) => names.value(value, span)?,
        }
        Ok(())
    }

    /// Resolves the pattern of a clause, and pushes its scope.
    fn clause(&mut self, id: ExprId, index: usize, steps: &mut Vec<Step>) -> Resolved {
        if let ExpressionKind::Match { clauses, .. } = &mut self.arena.get_mut(id).kind
            && let Some(clause) = clauses.get_mut(index)
        {
            let locals = self.names.pattern(&mut clause.pattern)?;
            push_scope(steps, locals, clause.body);
        }
        Ok(())
    }
}

/// Pushes an expression, and the steps that begin and end the scope of these local variables around the expression.
fn push_scope(steps: &mut Vec<Step>, locals: Vec<Arc<str>>, body: ExprId) {
    steps.push(Step::Release(locals.clone()));
    steps.push(Step::Enter(body));
    steps.push(Step::Bind(locals));
}

impl Names {
    fn bind(&mut self, locals: &[Arc<str>]) {
        for local in locals {
            *self.locals.entry(Arc::clone(local)).or_default() += 1;
        }
    }

    fn release(&mut self, locals: &[Arc<str>]) {
        for local in locals {
            if let Some(count) = self.locals.get_mut(local) {
                *count -= 1;
                if *count == 0 {
                    self.locals.remove(local);
                }
            }
        }
    }

    /// Resolves a name. Errors are reported at `span`.
    fn ident(&self, sort: Sort, ident: &mut Ident, span: Span) -> Resolved {
        ident.name = self.dictionary.resolve(sort, &ident.name).map_err(|kind| NameError { kind, span })?;
        Ok(())
    }

    /// Resolves the name of a value. As in the reference, errors have the source position at which the expression or
    /// statement begins.
    fn value(&self, ident: &mut Ident, span: Span) -> Resolved {
        if ident.name.namespace().is_none() && self.locals.contains_key(ident.name.base()) {
            return Ok(());
        }
        self.ident(Sort::Variable, ident, span)
    }

    fn values(&self, idents: &mut [Ident], span: Span) -> Resolved {
        idents.iter_mut().try_for_each(|ident| self.value(ident, span))
    }

    fn parameters(&self, parameters: &mut [Parameter]) -> Resolved {
        parameters.iter_mut().try_for_each(|parameter| self.ty(&mut parameter.ty))
    }

    fn kinds(&self, kinds: &mut [Type]) -> Resolved {
        kinds.iter_mut().try_for_each(|ty| self.ty(ty))
    }

    /// Resolves the names in a type. The parser limits the depth of types, so this function may recurse.
    fn ty(&self, ty: &mut Type) -> Resolved {
        match ty {
            Type::Address(address) => self.address_type(address),
            Type::Adt(ident, arguments) => {
                self.ident(Sort::Type, ident, ident.span)?;
                self.kinds(Arc::make_mut(arguments))
            }
            Type::Forall(_, body) => self.ty(Arc::make_mut(body)),
            Type::Function(from, to) => {
                self.ty(Arc::make_mut(from))?;
                self.ty(Arc::make_mut(to))
            }
            Type::Map(key, value) => {
                self.ty(Arc::make_mut(key))?;
                self.ty(Arc::make_mut(value))
            }
            Type::Primitive(_) | Type::Unit | Type::Variable(_) => Ok(()),
        }
    }

    fn address_type(&self, address: &mut AddressType) -> Resolved {
        match address {
            AddressType::Any | AddressType::Code | AddressType::Library => Ok(()),
            AddressType::Contract(fields) => Arc::make_mut(fields).values_mut().try_for_each(|ty| self.ty(ty)),
        }
    }

    fn literal(&self, literal: &mut Literal) -> Resolved {
        match literal {
            Literal::EmptyMap { key, value } => {
                self.ty(key)?;
                self.ty(value)
            }
            Literal::BNum(_) | Literal::Bytes(_) | Literal::Integer(..) | Literal::String(_) => Ok(()),
        }
    }

    /// Resolves the constructors of a pattern. As in the reference, the function resolves the parts of a pattern from
    /// the last to the first. Returns the variables of the pattern.
    fn pattern(&self, pattern: &mut Pattern) -> Result<Vec<Arc<str>>, NameError> {
        match &mut pattern.kind {
            PatternKind::Binder(ident) => Ok(vec![local(ident)]),
            PatternKind::Constructor(constructor, parts) => {
                self.ident(Sort::Constructor, constructor, constructor.span)?;
                let mut locals = Vec::new();
                for part in parts.iter_mut().rev() {
                    locals.append(&mut self.pattern(part)?);
                }
                Ok(locals)
            }
            PatternKind::Wildcard => Ok(Vec::new()),
        }
    }
}

/// Returns the name that a statement or a pattern binds.
fn local(ident: &Ident) -> Arc<str> {
    Arc::clone(ident.name.base())
}

fn names_of(parameters: &[Parameter]) -> Vec<Arc<str>> {
    parameters.iter().map(|parameter| Arc::clone(parameter.name.name.base())).collect()
}

/// Rejects a field or a procedure with a namespace.
fn expect_simple(ident: &Ident) -> Resolved {
    match ident.name.namespace() {
        None => Ok(()),
        Some(_) => Err(NameError { kind: NameErrorKind::Illegal(ident.name.clone()), span: ident.span }),
    }
}
