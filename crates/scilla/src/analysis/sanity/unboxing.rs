//! Options from maps that nobody looks into.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::{NAMES, Subject, Warnings};
use crate::{
    analysis::call_graph::CallGraph,
    name::{Ident, Name},
    syntax::ast::{Component, ExprId, ExpressionKind, LibraryEntry, Statement, StatementKind, Want},
    types::Type,
};

/// For each function and procedure that is followed, which of its arguments are options that it matches on.
type Matched = HashMap<Name, Vec<bool>>;

struct Pass<'a> {
    subject: Subject<'a>,
    fields: HashSet<&'a Name>,
    matched: Matched,
}

/// Warns of variables that come from a map and are neither matched on nor handed on.
pub(super) fn contract(subject: Subject<'_>, graph: &CallGraph, warnings: &mut Warnings) {
    let fields = subject.contract.fields.iter().map(|field| &field.name.name).collect();
    let mut pass = Pass { subject, fields, matched: Matched::new() };
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

/// Returns the components and functions that do not come to call a type function, each after those that it calls.
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

fn is_option(kind: &Type) -> bool {
    matches!(kind, Type::Adt(name, _) if name.name == Name::simple("Option"))
}

impl<'a> Pass<'a> {
    fn matched_by_value(&self, function: &Name) -> Option<Vec<bool>> {
        let entries = self.subject.library?.entries.iter();
        let body = entries.into_iter().find_map(|entry| match entry {
            LibraryEntry::Value { name, body, .. } if name.name == *function => Some(*body),
            LibraryEntry::Type { .. } | LibraryEntry::Value { .. } => None,
        })?;
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
        let mut components = self.subject.contract.components.iter();
        let found = components.find(|component| component.is_procedure() && component.name.name == *procedure)?;
        let parameters = found.parameters.iter();
        let parameters: Vec<_> =
            parameters.map(|parameter| (&parameter.name.name, is_option(&parameter.kind))).collect();
        let mut matches = Vec::new();
        found.body.iter().for_each(|statement| self.matches_in_statement(statement, &mut matches));
        Some(flags(&parameters, &matches))
    }

    /// Collects what is matched on, here or by what is called.
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

    /// Collects arguments of what is not followed, which may look into them, and of constructors.
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

    /// Returns the variables from maps that are left at the end of a component.
    fn left_boxed(&self, component: &'a Component) -> Vec<&'a Ident> {
        let mut boxed: Vec<&Ident> = Vec::new();
        for statement in &component.body {
            let mut gone = Vec::new();
            self.matches_in_statement(statement, &mut gone);
            self.handed_on(statement, &mut gone);
            let gone: BTreeSet<_> = gone.into_iter().collect();
            boxed.retain(|ident| !gone.contains(&ident.name));
            if let StatementKind::MapGet { to, want: Want::Value, .. }
            | StatementKind::RemoteMapGet { to, want: Want::Value, .. } = &statement.kind
            {
                boxed.insert(0, to);
            }
            if let StatementKind::Bind { to, value } = &statement.kind
                && let ExpressionKind::Variable(of) = &self.subject.text.arena.get(*value).kind
                && boxed.iter().any(|ident| ident.name == of.name)
            {
                boxed.push(to);
            }
        }
        boxed
    }
}

/// Says for each parameter whether it is an option that is matched on; of several with one name the last is meant.
fn flags(parameters: &[(&Name, bool)], matches: &[&Name]) -> Vec<bool> {
    let last = |index: usize, name: &Name| !parameters.iter().skip(index + 1).any(|(other, is)| *is && *other == name);
    let flag =
        |(index, (name, is_option)): (usize, &(&Name, bool))| *is_option && last(index, name) && matches.contains(name);
    parameters.iter().enumerate().map(flag).collect()
}
