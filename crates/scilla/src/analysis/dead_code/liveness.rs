//! Variables, data types and constructors that later code uses.

use std::collections::BTreeSet;

use super::Pass;
use crate::{
    name::{Ident, Name},
    syntax::ast::{ChainRead, Clause, ExprId, ExpressionKind, Literal, Pattern, Statement, StatementKind},
    types::Type,
};

/// The names that later code uses.
#[derive(Clone, Debug, Default)]
pub(super) struct Live<'a> {
    pub(super) names: BTreeSet<&'a Name>,
    pub(super) types: BTreeSet<&'a Name>,
    pub(super) constructors: BTreeSet<&'a Name>,
}

impl<'a> Live<'a> {
    pub(super) fn extend(&mut self, other: Self) {
        // The smaller set is merged into the larger set, so that the cost of a long chain of `let` does not grow with
        // the square of its length.
        for (mine, theirs) in [
            (&mut self.names, other.names),
            (&mut self.types, other.types),
            (&mut self.constructors, other.constructors),
        ] {
            let mut smaller = theirs;
            if smaller.len() > mine.len() {
                std::mem::swap(mine, &mut smaller);
            }
            mine.extend(smaller);
        }
    }

    fn uses(&mut self, idents: impl IntoIterator<Item = &'a Ident>) {
        self.names.extend(idents.into_iter().map(|ident| &ident.name));
    }
}

/// Returns the names of the data types in a type. Ignores address types and type functions.
pub(super) fn type_names(ty: &Type) -> impl Iterator<Item = &Name> + Clone {
    let mut found = Vec::new();
    let mut pending = vec![ty];
    while let Some(ty) = pending.pop() {
        match ty {
            Type::Adt(name, arguments) => {
                found.push(&name.name);
                pending.extend(arguments.iter());
            }
            Type::Map(first, second) | Type::Function(first, second) => pending.extend([first.as_ref(), second]),
            Type::Address(_) | Type::Forall(..) | Type::Primitive(_) | Type::Unit | Type::Variable(_) => {}
        }
    }
    found.into_iter()
}

impl<'a> Pass<'a, '_> {
    /// Returns the names that an expression uses, and warns of unused variables in the expression.
    pub(super) fn expression(&mut self, root: ExprId) -> Live<'a> {
        let arena = self.subject.text.arena;
        let mut chain = Vec::new();
        let mut at = root;
        let mut live = loop {
            let expression = arena.get(at);
            match &expression.kind {
                ExpressionKind::Let { body, .. }
                | ExpressionKind::Function { body, .. }
                | ExpressionKind::Fixpoint { body, .. }
                | ExpressionKind::TypeFunction { body, .. } => {
                    chain.push(expression);
                    at = *body;
                }
                _ => break self.leaf(&expression.kind, expression.uses()),
            }
        };
        for expression in chain.into_iter().rev() {
            match &expression.kind {
                ExpressionKind::Let { name, value, .. } => {
                    if live.names.remove(&name.name) {
                        live.extend(self.expression(*value));
                    } else {
                        self.warn("Unused let expression: ", name);
                    }
                }
                ExpressionKind::Function { parameter: name, ty, .. } | ExpressionKind::Fixpoint { name, ty, .. } => {
                    live.names.remove(&name.name);
                    live.types.extend(type_names(ty));
                }
                _ => {}
            }
        }
        live
    }

    fn leaf(&mut self, kind: &'a ExpressionKind, uses: Vec<&'a Ident>) -> Live<'a> {
        let mut live = Live::default();
        live.uses(uses);
        match kind {
            ExpressionKind::Literal(Literal::EmptyMap { key, value }) => {
                live.types.extend(type_names(key));
                live.types.extend(type_names(value));
            }
            ExpressionKind::Construct { constructor, types, .. } => {
                live.constructors.insert(&constructor.name);
                live.types.extend(types.iter().flat_map(type_names));
            }
            ExpressionKind::Builtin { types, .. } | ExpressionKind::Instantiate { types, .. } => {
                live.types.extend(types.iter().flat_map(type_names));
            }
            ExpressionKind::Match { clauses, .. } => {
                for Clause { pattern, body } in clauses {
                    let mut inner = self.expression(*body);
                    self.pattern(pattern, &mut inner);
                    live.extend(inner);
                }
            }
            _ => {}
        }
        live
    }

    /// Removes the variables of a pattern from the used names, and warns of unused variables.
    fn pattern(&mut self, pattern: &'a Pattern, live: &mut Live<'a>) {
        let mut binders = pattern.binders();
        binders.reverse();
        for binder in &binders {
            if !live.names.contains(&binder.name) {
                self.warn("Unused match bound: ", binder);
            }
        }
        for binder in binders {
            live.names.remove(&binder.name);
        }
    }

    /// Returns the names that statements use, and warns of unused variables. Reads the statements from the last one to
    /// the first.
    pub(super) fn statements(&mut self, statements: &'a [Statement]) -> Live<'a> {
        let mut live = Live::default();
        for statement in statements.iter().rev() {
            self.statement(statement, &mut live);
        }
        live
    }

    fn statement(&mut self, statement: &'a Statement, live: &mut Live<'a>) {
        match &statement.kind {
            StatementKind::Load { to, field } => {
                self.reads(field);
                self.takes(to, "Unused load statement to: ", live);
            }
            StatementKind::RemoteLoad { to, address, field } => {
                self.reads(field);
                if self.takes(to, "Unused remote load statement to: ", live) {
                    live.uses([address]);
                }
            }
            StatementKind::MapGet { to, map, keys, .. } => {
                self.reads(map);
                if self.takes(to, "Unused map get statement to: ", live) {
                    live.uses(keys);
                }
            }
            StatementKind::RemoteMapGet { to, address, map, keys, .. } => {
                self.reads(map);
                if self.takes(to, "Unused remote map get statement to: ", live) {
                    live.uses([address].into_iter().chain(keys));
                }
            }
            StatementKind::Store { field, value } => {
                self.writes(field);
                live.uses([value]);
            }
            StatementKind::MapPut { map, keys, value } => {
                self.writes(map);
                live.uses([map, value].into_iter().chain(keys));
            }
            StatementKind::MapDelete { map, keys } => {
                self.writes(map);
                live.uses([map].into_iter().chain(keys));
            }
            StatementKind::ReadChain { to, what } => {
                // The reference keeps the name as used, so an earlier binding of the same name gets no warning.
                if !live.names.contains(&to.name) {
                    self.warn("Unused Read From BC statement to: ", to);
                }
                if let ChainRead::Timestamp(block) = what {
                    live.uses([block]);
                }
            }
            StatementKind::Cast { to, address, .. } => {
                self.takes(to, "Unused type cast statement to: ", live);
                live.uses([address]);
            }
            StatementKind::Bind { to, value } => {
                self.takes(to, "Unused bind statement to: ", live);
                live.extend(self.expression(*value));
            }
            StatementKind::Call { to, procedure, arguments } => {
                self.called.insert(&procedure.name);
                // As in the reference, the name counts as used before the call.
                if let Some(to) = to
                    && live.names.insert(&to.name)
                {
                    self.warn("Unused local binding: ", to);
                }
                live.uses(arguments);
            }
            StatementKind::ForEach { list, procedure } => {
                self.called.insert(&procedure.name);
                live.uses([list]);
            }
            StatementKind::Match { scrutinee, clauses } => {
                for clause in clauses {
                    let mut inner = self.statements(&clause.body);
                    self.pattern(&clause.pattern, &mut inner);
                    live.extend(inner);
                }
                live.uses([scrutinee]);
            }
            StatementKind::Event(ident)
            | StatementKind::Return(ident)
            | StatementKind::Send(ident)
            | StatementKind::Throw(Some(ident)) => live.uses([ident]),
            StatementKind::Accept | StatementKind::Throw(None) => {}
        }
    }

    /// Removes from the used names the variable that a statement binds. If the variable is unused, adds a warning and
    /// returns `false`.
    fn takes(&mut self, to: &'a Ident, unused: &str, live: &mut Live<'a>) -> bool {
        let is_used = live.names.remove(&to.name);
        if !is_used {
            self.warn(unused, to);
        }
        is_used
    }

    fn reads(&mut self, field: &'a Ident) {
        if self.is_field(field) {
            self.read.entry(&field.name).or_insert(field.span);
        }
    }

    fn writes(&mut self, field: &'a Ident) {
        if self.is_field(field) {
            self.written.entry(&field.name).or_insert(field.span);
        }
    }

    fn is_field(&self, ident: &Ident) -> bool {
        self.fields.contains(&ident.name)
    }
}
