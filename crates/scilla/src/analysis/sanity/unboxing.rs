//! Options from map lookups that the contract never matches on.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{NAMES, Subject, Warnings};
use crate::{
    analysis::call_graph::CallGraph,
    name::{Ident, Name},
    syntax::ast::{Component, ExprId, ExpressionKind, LibraryEntry, Statement, StatementKind, Want},
    types::Type,
};

/// For each analysed function and procedure, a flag for each argument: whether the argument is an option on which the
/// body matches.
type Matched = HashMap<Name, Vec<bool>>;

struct Pass<'a> {
    subject: Subject<'a>,
    fields: HashSet<&'a Name>,
    /// The values of the library. Of several values with the same name, the map has the first one.
    values: HashMap<&'a Name, ExprId>,
    /// The procedures. Of several procedures with the same name, the map has the first one.
    procedures: HashMap<&'a Name, &'a Component>,
    matched: Matched,
}

/// Warns of options from map lookups that the contract neither matches on nor passes to other code.
pub(super) fn contract(subject: Subject<'_>, graph: &CallGraph, warnings: &mut Warnings) {
    let mut pass = Pass::of(subject);
    for name in followed(graph) {
        if let Some(matched) = pass.matched_by_value(name).or_else(|| pass.matched_by_procedure(name)) {
            pass.matched.insert(name.clone(), matched);
        }
    }
    for component in subject.contract.components.iter().rev() {
        for ident in pass.left_boxed(component) {
            let name = ident.name.global();
            let text = format!(
                "Variable {name} has the Option type, but it wasn't unboxed. Probably, you should match it before \
                 using it."
            );
            warnings.add(NAMES, subject.start(ident.span), text);
        }
    }
}

/// Returns the components and functions that do not call a type function, directly or through other functions. Each
/// name comes after the names of the functions that it calls.
fn followed(graph: &CallGraph) -> Vec<&Name> {
    let mut reaches = vec![false; graph.nodes().len()];
    let mut found = Vec::new();
    for index in graph.callees_first() {
        let Some(node) = graph.nodes().get(index) else { continue };
        let is_type_function =
            |called: &usize| graph.nodes().get(*called).is_some_and(|called| called.kind.is_type_function());
        let does =
            node.calls.iter().any(|called| is_type_function(called) || reaches.get(*called).is_some_and(|does| *does));
        if let Some(reaches) = reaches.get_mut(index) {
            *reaches = does;
        }
        if !does && !node.kind.is_type_function() {
            found.push(&node.name);
        }
    }
    found
}

fn is_option(ty: &Type) -> bool {
    matches!(ty, Type::Adt(name, _) if name.name == Name::simple("Option"))
}

impl<'a> Pass<'a> {
    fn of(subject: Subject<'a>) -> Self {
        let mut values = HashMap::new();
        for entry in subject.library.into_iter().flat_map(|library| &library.entries) {
            if let LibraryEntry::Value { name, body, .. } = entry {
                values.entry(&name.name).or_insert(*body);
            }
        }
        let mut procedures = HashMap::new();
        for component in subject.contract.components.iter().filter(|component| component.is_procedure()) {
            procedures.entry(&component.name.name).or_insert(component);
        }
        let fields = subject.contract.fields.iter().map(|field| &field.name.name).collect();
        Self { subject, fields, values, procedures, matched: Matched::new() }
    }

    fn matched_by_value(&self, function: &Name) -> Option<Vec<bool>> {
        let body = *self.values.get(function)?;
        let mut parameters = Vec::new();
        let mut rest = body;
        while let ExpressionKind::Function { parameter, body, .. }
        | ExpressionKind::Fixpoint { name: parameter, body, .. } = &self.subject.text.arena.get(rest).kind
        {
            let is_option = self.subject.typing.ident(parameter).is_some_and(is_option);
            parameters.push((&parameter.name, is_option));
            rest = *body;
        }
        let mut matches = Vec::new();
        self.matches_in_expression(rest, &mut matches);
        Some(flags(&parameters, &matches))
    }

    fn matched_by_procedure(&self, procedure: &Name) -> Option<Vec<bool>> {
        let found = self.procedures.get(procedure)?;
        let parameters = found.parameters.iter();
        let parameters: Vec<_> = parameters.map(|parameter| (&parameter.name.name, is_option(&parameter.ty))).collect();
        let mut matches = Vec::new();
        found.body.iter().for_each(|statement| self.matches_in_statement(statement, &mut matches));
        Some(flags(&parameters, &matches))
    }

    /// Collects the variables on which an expression matches, or on which a function that the expression calls matches.
    fn matches_in_expression(&self, root: ExprId, found: &mut Vec<&'a Name>) {
        let arena = self.subject.text.arena;
        arena.visit(root, |_, part| match &part.kind {
            ExpressionKind::Match { scrutinee, .. } => found.push(&scrutinee.name),
            ExpressionKind::Apply { function, arguments } => self.matched_arguments(function, arguments, found),
            _ => {}
        });
    }

    fn matches_in_statement(&self, statement: &'a Statement, found: &mut Vec<&'a Name>) {
        statement.visit(&mut |statement| match &statement.kind {
            StatementKind::Bind { value, .. } => self.matches_in_expression(*value, found),
            StatementKind::Match { scrutinee, .. } => found.push(&scrutinee.name),
            StatementKind::Call { procedure, arguments, .. } => self.matched_arguments(procedure, arguments, found),
            _ => {}
        });
    }

    fn matched_arguments(&self, called: &Ident, arguments: &'a [Ident], found: &mut Vec<&'a Name>) {
        if let Some(matched) = self.matched.get(&called.name) {
            let pairs = arguments.iter().zip(matched);
            found.extend(pairs.filter(|(_, matched)| **matched).map(|(argument, _)| &argument.name));
        }
    }

    /// Collects arguments of constructors and of functions that are not analysed, because other code may match on them.
    fn handed_on_in_expression(&self, root: ExprId, found: &mut Vec<&'a Name>) {
        let arena = self.subject.text.arena;
        arena.visit(root, |_, part| match &part.kind {
            ExpressionKind::Apply { function, arguments } if !self.matched.contains_key(&function.name) => {
                found.extend(arguments.iter().map(|argument| &argument.name));
            }
            ExpressionKind::Construct { arguments, .. } => {
                found.extend(arguments.iter().map(|argument| &argument.name));
            }
            _ => {}
        });
    }

    fn handed_on(&self, statement: &'a Statement, found: &mut Vec<&'a Name>) {
        statement.visit(&mut |statement| match &statement.kind {
            StatementKind::Bind { value, .. } => self.handed_on_in_expression(*value, found),
            StatementKind::Call { procedure, arguments, .. } if !self.matched.contains_key(&procedure.name) => {
                found.extend(arguments.iter().map(|argument| &argument.name));
            }
            StatementKind::Store { field, value } if self.fields.contains(&field.name) => found.push(&value.name),
            StatementKind::MapPut { map, keys, value } if self.fields.contains(&map.name) => {
                found.push(&value.name);
                found.extend(keys.iter().map(|key| &key.name));
            }
            StatementKind::MapDelete { map, keys } if self.fields.contains(&map.name) => {
                found.extend(keys.iter().map(|key| &key.name));
            }
            _ => {}
        });
    }

    /// Returns the variables whose value is an option from a map lookup, if the component neither matches on the
    /// variable nor passes it to other code.
    fn left_boxed(&self, component: &'a Component) -> Vec<&'a Ident> {
        let mut boxed = Boxed::default();
        for statement in &component.body {
            let mut gone = Vec::new();
            self.matches_in_statement(statement, &mut gone);
            self.handed_on(statement, &mut gone);
            for name in gone {
                boxed.remove(name);
            }
            if let StatementKind::MapGet { to, want: Want::Value, .. }
            | StatementKind::RemoteMapGet { to, want: Want::Value, .. } = &statement.kind
            {
                boxed.put_first(to);
            }
            if let StatementKind::Bind { to, value } = &statement.kind
                && let ExpressionKind::Variable(of) = &self.subject.text.arena.get(*value).kind
                && boxed.places.contains_key(&of.name)
            {
                boxed.put_last(to);
            }
        }
        boxed.in_order.into_values().collect()
    }
}

/// Variables that hold options, in the order of the report.
#[derive(Default)]
struct Boxed<'a> {
    in_order: BTreeMap<i64, &'a Ident>,
    places: HashMap<&'a Name, Vec<i64>>,
}

impl<'a> Boxed<'a> {
    fn put_first(&mut self, ident: &'a Ident) {
        self.put(self.in_order.first_key_value().map_or(0, |(place, _)| place.saturating_sub(1)), ident);
    }

    fn put_last(&mut self, ident: &'a Ident) {
        self.put(self.in_order.last_key_value().map_or(0, |(place, _)| place.saturating_add(1)), ident);
    }

    fn put(&mut self, place: i64, ident: &'a Ident) {
        self.in_order.insert(place, ident);
        self.places.entry(&ident.name).or_default().push(place);
    }

    fn remove(&mut self, name: &Name) {
        for place in self.places.remove(name).unwrap_or_default() {
            self.in_order.remove(&place);
        }
    }
}

/// Returns, for each parameter, whether the parameter is an option on which the body matches. If several parameters
/// have the same name, only the last one counts.
fn flags(parameters: &[(&Name, bool)], matches: &[&Name]) -> Vec<bool> {
    let last = |index: usize, name: &Name| !parameters.iter().skip(index + 1).any(|(other, is)| *is && *other == name);
    let flag =
        |(index, (name, is_option)): (usize, &(&Name, bool))| *is_option && last(index, name) && matches.contains(name);
    parameters.iter().enumerate().map(flag).collect()
}
