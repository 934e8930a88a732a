//! Warnings about missing and repeated `accept` statements.
//!
//! Source of [`contract`]: `Zilliqa/scilla: src/base/Accept.ml`. [`unaccepted`] is not part of the reference.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    fmt::Write as _,
};

use super::{
    sanity::{Subject, USE, Warnings},
    shown,
};
use crate::{
    name::{Ident, Name},
    report::Warning,
    source::{Location, Span},
    syntax::ast::{Component, ExprId, ExpressionKind, LibraryEntry, Literal, Payload, Statement, StatementKind},
    types::{Primitive, Type, Width},
};

/// Largest number of analysed paths through a component. Each match with two branches doubles the number of paths.
const MAX_PATHS: usize = 256;

/// Largest number of accepts on one path that a warning lists.
const MAX_ACCEPTS: usize = 64;

/// Warns of paths through a component that accept more than once, and of contracts that may send money but never
/// accept an amount.
pub(crate) fn contract(subject: Subject<'_>, warnings: &mut Warnings) {
    let mut accepts = false;
    for component in &subject.contract.components {
        for path in paths(&component.body, vec![vec![]]) {
            accepts |= !path.is_empty();
            if let [first, .., last] = path.as_slice() {
                warnings.push(twice(subject, component, &path, *first, *last));
            }
        }
    }
    if !accepts && may_send(subject) {
        let contract = &subject.contract.name;
        let text = format!("No transition in contract {} contains an accept statement\n", shown(contract));
        warnings.add(USE, subject.start(contract.span), text);
    }
}

fn twice(subject: Subject<'_>, component: &Component, path: &[Span], first: Span, last: Span) -> Warning {
    let name = shown(&component.name);
    let mut message = format!("transition {name} has a potential code path with duplicate accept statements:\n");
    for at in path {
        let Location { file, line, column } = subject.start(*at);
        // A write to a `String` cannot fail.
        let _ = writeln!(message, "  Accept at {file}:{line}:{column}");
    }
    let end = subject.start(last);
    let end = Location { column: end.column.saturating_add(6), ..end };
    Warning { message, start: subject.start(first), end, id: USE }
}

/// Returns the accepts on each path through statements. Each path begins with a path in `seen`.
fn paths(statements: &[Statement], mut seen: Vec<Vec<Span>>) -> Vec<Vec<Span>> {
    for statement in statements {
        match &statement.kind {
            StatementKind::Accept => {
                let unfilled = seen.iter_mut().filter(|path| path.len() < MAX_ACCEPTS);
                unfilled.for_each(|path| path.push(statement.span));
            }
            StatementKind::Match { clauses, .. } => {
                seen = clauses.iter().flat_map(|clause| paths(&clause.body, seen.clone())).take(MAX_PATHS).collect();
            }
            _ => {}
        }
    }
    seen
}

/// Returns whether the contract may send an amount above zero. Also returns true if no component builds a message with
/// an amount.
fn may_send(subject: Subject<'_>) -> bool {
    let zeros = zeros(subject);
    let mut amounts = Vec::new();
    for statement in subject.contract.components.iter().flat_map(|component| &component.body) {
        statement.visit(&mut |statement| {
            let StatementKind::Bind { value, .. } = &statement.kind else { return };
            subject.text.arena.visit(*value, |_, part| {
                if let ExpressionKind::Message(entries) = &part.kind {
                    amounts.extend(entries.iter().filter(|entry| *entry.label == *"_amount").map(|entry| &entry.value));
                }
            });
        });
    }
    amounts.is_empty()
        || amounts.into_iter().any(|amount| match amount {
            Payload::Literal(literal) => !is_zero(literal),
            Payload::Variable(variable) => !zeros.contains(&variable.name),
        })
}

/// Returns the names of the library values that are the literal `Uint128 0`.
fn zeros(subject: Subject<'_>) -> HashSet<&Name> {
    let entries = subject.library.into_iter().flat_map(|library| &library.entries);
    let zero = |entry| match entry {
        &LibraryEntry::Value { ref name, body, .. } => match &subject.text.arena.get(body).kind {
            ExpressionKind::Literal(literal) if is_zero(literal) => Some(&name.name),
            _ => None,
        },
        LibraryEntry::Type { .. } => None,
    };
    entries.filter_map(zero).collect()
}

fn is_zero(literal: &Literal) -> bool {
    matches!(literal, Literal::Integer(Primitive::Uint(Width::W128), digits) if **digits == *"0")
}

/// A store of a value that depends on inputs of a component.
#[derive(Clone, Debug)]
struct Credit {
    /// Source position of the statement that stores the value.
    at: Span,
    field: Name,
    /// The inputs on which the value depends: `_amount` and parameters.
    sources: Sources,
}

/// Inputs of a component on which a value depends.
type Sources = BTreeSet<Name>;

/// The uses of the amount and of the parameters in a component.
#[derive(Debug, Default)]
struct Flow {
    accepts: bool,
    credits: Vec<Credit>,
    /// The inputs on which the result of the procedure depends.
    returned: Sources,
}

/// Largest number of stores that are recorded for one component. A transition needs only one store for a warning. A
/// procedure needs more stores, because its callers may pass different values.
const MAX_CREDITS: usize = 64;

/// Warns of transitions that store the amount of the message without accepting it.
///
/// A transition gets a warning if two conditions hold. First, neither the transition nor a procedure that it calls has
/// an `accept`. Second, the transition or such a procedure stores a value in a field, and the value depends on
/// `_amount`.
///
/// A value depends on `_amount` if its expression, or the procedure that returns it, uses `_amount` or a value that
/// depends on `_amount`. A value of type `Bool` does not depend on `_amount`, so comparisons do not count. A value that
/// is read from a field does not depend on `_amount` either. A value that is sent or emitted is not stored.
///
/// Returns the warning of the last transition first, as the lists of other warnings do.
pub(crate) fn unaccepted(subject: Subject<'_>) -> Vec<Warning> {
    let amount = Name::simple("_amount");
    let mut procedures = HashMap::new();
    let mut found = Vec::new();
    for component in &subject.contract.components {
        let flow =
            FlowWalk { subject, procedures: &procedures, depends: HashMap::new(), flow: Flow::default() }.of(component);
        if component.is_procedure() {
            procedures.insert(&component.name.name, (component, flow));
            continue;
        }
        let credit = flow.credits.iter().find(|credit| credit.sources.contains(&amount));
        if let Some(credit) = credit.filter(|_| !flow.accepts) {
            let (field, name) = (credit.field.as_written(), shown(&component.name));
            let message = format!(
                "`{field}` is credited with `_amount`, but transition `{name}` never accepts it\nwithout `accept`, the \
                 amount stays with the sender"
            );
            found.push(Warning { message, start: subject.start(credit.at), end: Location::default(), id: USE });
        }
    }
    found.reverse();
    found
}

/// The analysis of one component. The procedures above the component have been analysed.
struct FlowWalk<'a, 'p> {
    subject: Subject<'a>,
    procedures: &'p HashMap<&'a Name, (&'a Component, Flow)>,
    /// The inputs on which each name depends.
    depends: HashMap<&'a Name, Sources>,
    flow: Flow,
}

impl<'a> FlowWalk<'a, '_> {
    fn of(mut self, component: &'a Component) -> Flow {
        for parameter in &component.parameters {
            let name = &parameter.name.name;
            self.depends.insert(name, BTreeSet::from([name.clone()]));
        }
        self.statements(&component.body);
        self.flow
    }

    fn sources(&self, name: &Name) -> Sources {
        match self.depends.get(name) {
            Some(sources) => sources.clone(),
            None if **name.base() == *"_amount" => BTreeSet::from([name.clone()]),
            None => Sources::new(),
        }
    }

    fn statements(&mut self, statements: &'a [Statement]) {
        for statement in statements {
            let mut bound = Sources::new();
            match &statement.kind {
                StatementKind::Accept => self.flow.accepts = true,
                StatementKind::Bind { value, .. } => bound = self.expression(*value),
                StatementKind::Call { procedure, arguments, .. } => {
                    let given: Vec<_> = arguments.iter().map(|argument| self.sources(&argument.name)).collect();
                    bound = self.call(&procedure.name, &given);
                }
                StatementKind::ForEach { list, procedure } => {
                    let given = self.sources(&list.name);
                    self.call(&procedure.name, &[given]);
                }
                StatementKind::MapPut { map: field, value, .. } | StatementKind::Store { field, value } => {
                    self.credit(statement.span, &field.name, self.sources(&value.name));
                }
                StatementKind::Match { scrutinee, clauses } => {
                    let sources = self.sources(&scrutinee.name);
                    for clause in clauses {
                        for binder in clause.pattern.binders() {
                            self.depends.insert(&binder.name, sources.clone());
                        }
                        self.statements(&clause.body);
                    }
                }
                StatementKind::Return(value) => {
                    let returned = self.sources(&value.name);
                    self.flow.returned.extend(returned);
                }
                _ => {}
            }
            if let Some(to) = statement.bound() {
                self.hide(to, bound, &mut Vec::new());
            }
        }
    }

    /// Returns the inputs on which the value of an expression depends.
    fn expression(&mut self, value: ExprId) -> Sources {
        let mut hidden = Vec::new();
        let found = self.value(value, &mut hidden);
        for (name, before) in hidden.into_iter().rev() {
            match before {
                Some(before) => self.depends.insert(name, before),
                None => self.depends.remove(name),
            };
        }
        found
    }

    /// Analyses an expression. The names that the expression binds hide outer names. `hidden` stores the outer names
    /// with their inputs.
    fn value(&mut self, root: ExprId, hidden: &mut Vec<(&'a Name, Option<Sources>)>) -> Sources {
        let arena = self.subject.text.arena;
        let mut at = root;
        loop {
            let node = arena.get(at);
            match &node.kind {
                ExpressionKind::Let { name, value, body, .. } => {
                    let found = self.value(*value, hidden);
                    self.hide(name, found, hidden);
                    at = *body;
                }
                ExpressionKind::Fixpoint { body, .. }
                | ExpressionKind::Function { body, .. }
                | ExpressionKind::TypeFunction { body, .. } => at = *body,
                ExpressionKind::Match { scrutinee, clauses } => {
                    let sources = self.sources(&scrutinee.name);
                    let mut found = Sources::new();
                    for clause in clauses {
                        for binder in clause.pattern.binders() {
                            self.hide(binder, sources.clone(), hidden);
                        }
                        found.extend(self.value(clause.body, hidden));
                    }
                    return found;
                }
                _ => return node.uses().into_iter().flat_map(|used| self.sources(&used.name)).collect(),
            }
        }
    }

    fn hide(&mut self, ident: &'a Ident, sources: Sources, hidden: &mut Vec<(&'a Name, Option<Sources>)>) {
        let is_bool = self.subject.typing.ident(ident).is_some_and(is_bool);
        let before = self.depends.insert(&ident.name, if is_bool { Sources::new() } else { sources });
        hidden.push((&ident.name, before));
    }

    /// Adds the effects of a procedure whose arguments depend on `given`. Returns the inputs on which the result of
    /// the procedure depends.
    fn call(&mut self, procedure: &Name, given: &[Sources]) -> Sources {
        let Some((component, flow)) = self.procedures.get(procedure) else { return Sources::new() };
        let caller = |sources: &Sources| -> Sources {
            let parameters = component.parameters.iter().zip(given);
            let through = parameters.filter(|(parameter, _)| sources.contains(&parameter.name.name));
            let amount = sources.iter().filter(|name| **name.base() == *"_amount").cloned();
            through.flat_map(|(_, given)| given.iter().cloned()).chain(amount).collect()
        };
        self.flow.accepts |= flow.accepts;
        for credit in &flow.credits {
            self.credit(credit.at, &credit.field, caller(&credit.sources));
        }
        caller(&flow.returned)
    }

    fn credit(&mut self, at: Span, field: &Name, sources: Sources) {
        if !sources.is_empty() && self.flow.credits.len() < MAX_CREDITS {
            self.flow.credits.push(Credit { at, field: field.clone(), sources });
        }
    }
}

fn is_bool(ty: &Type) -> bool {
    *ty == Type::bool()
}
