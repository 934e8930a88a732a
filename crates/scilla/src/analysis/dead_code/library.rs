//! Warnings about unused library values, data types and constructors, and about patterns for unused constructors.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Pass,
    liveness::{Live, type_names},
};
use crate::{
    name::{Ident, Name},
    syntax::ast::{ConstructorDefinition, ExprId, ExpressionKind, LibraryEntry, Pattern, PatternKind, StatementKind},
};

type Names<'a> = BTreeSet<&'a Name>;

impl<'a> Pass<'a, '_> {
    /// Analyses the library from its last entry to its first. Returns the unused constructors. As in the reference, the
    /// function drops the constructors that it has found before a data type that is unused or belongs to a parameter.
    pub(super) fn library(&mut self, live: &mut Live<'a>, parameter_types: &Names<'a>) -> Vec<&'a Name> {
        let Some(library) = self.subject.library else { return vec![] };
        let definitions = definitions(&library.entries);
        let mut held = held(&definitions);
        held.extend(reached(&definitions, parameter_types));
        let mut reported = Vec::new();
        for entry in library.entries.iter().rev() {
            match entry {
                LibraryEntry::Value { name, annotation, body } => {
                    if !live.names.remove(&name.name) {
                        self.warn("Unused library value: ", name);
                    }
                    live.extend(self.expression(*body));
                    live.types.extend(annotation.iter().flat_map(type_names));
                }
                LibraryEntry::Type { name, constructors } => {
                    let is_parameter = parameter_types.contains(&name.name);
                    let is_used = |constructor: &&ConstructorDefinition| {
                        let name = &constructor.name.name;
                        live.constructors.contains(name) || held.contains(name)
                    };
                    let (used, unused): (Vec<_>, Vec<_>) = constructors.iter().partition(is_used);
                    let is_dead = used.is_empty() && !live.types.contains(&name.name) && !held.contains(&name.name);
                    if is_parameter {
                        reported = vec![];
                    } else if is_dead {
                        self.warn("Unused library ADT: ", name);
                        reported = vec![];
                    } else {
                        for constructor in unused {
                            self.warn("Unused ADT constructor: ", &constructor.name);
                            reported.push(&constructor.name.name);
                        }
                    }
                    live.types.remove(&name.name);
                    for constructor in used {
                        live.types.remove(&constructor.name.name);
                    }
                }
            }
        }
        reported
    }

    /// Warns of patterns for constructors that the program never uses.
    pub(super) fn unreachable_patterns(&mut self, reported: &[&Name]) {
        for entry in self.subject.library.into_iter().flat_map(|library| &library.entries) {
            if let LibraryEntry::Value { body, .. } = entry {
                self.patterns_of_expression(*body, reported);
            }
        }
        for statement in self.subject.contract.components.iter().flat_map(|component| &component.body) {
            match &statement.kind {
                StatementKind::Bind { value, .. } => self.patterns_of_expression(*value, reported),
                StatementKind::Match { clauses, .. } => {
                    for clause in clauses {
                        self.unreachable_pattern(&clause.pattern, reported);
                    }
                }
                _ => {}
            }
        }
    }

    /// Analyses the outermost matches of an expression.
    fn patterns_of_expression(&mut self, root: ExprId, reported: &[&Name]) {
        let mut pending = vec![root];
        while let Some(id) = pending.pop() {
            match &self.subject.text.arena.get(id).kind {
                ExpressionKind::Let { value, body, .. } => pending.extend([*body, *value]),
                ExpressionKind::Function { body, .. } | ExpressionKind::TypeFunction { body, .. } => {
                    pending.push(*body);
                }
                ExpressionKind::Match { clauses, .. } => {
                    for clause in clauses {
                        self.unreachable_pattern(&clause.pattern, reported);
                    }
                }
                _ => {}
            }
        }
    }

    fn unreachable_pattern(&mut self, pattern: &Pattern, reported: &[&Name]) {
        if let PatternKind::Constructor(constructor, parts) = &pattern.kind {
            if reported.contains(&&constructor.name) {
                self.warn("Unreachable pattern ", constructor);
            } else {
                for part in parts {
                    self.unreachable_pattern(part, reported);
                }
            }
        }
    }
}

type Definitions<'a> = BTreeMap<&'a Name, &'a [ConstructorDefinition]>;

fn definitions(entries: &[LibraryEntry]) -> Definitions<'_> {
    let definition = |entry| match entry {
        &LibraryEntry::Type { name: Ident { ref name, .. }, ref constructors } => Some((name, constructors.as_slice())),
        LibraryEntry::Value { .. } => None,
    };
    entries.iter().filter_map(definition).collect()
}

fn types_of(constructors: &[ConstructorDefinition]) -> impl Iterator<Item = &Name> {
    constructors.iter().flat_map(|constructor| constructor.arguments.iter().flat_map(type_names))
}

/// Returns the data types in the arguments of constructors.
fn held<'a>(definitions: &Definitions<'a>) -> Names<'a> {
    let mut held = Names::new();
    for constructors in definitions.values() {
        held.extend(types_of(constructors));
    }
    held
}

/// Returns the data types that these types contain, directly or through constructors, and the constructors of these
/// data types.
fn reached<'a>(definitions: &Definitions<'a>, from: &Names<'a>) -> Names<'a> {
    let mut reached = Names::new();
    let mut pending: Vec<&Name> = from.iter().copied().collect();
    while let Some(name) = pending.pop() {
        for inner in definitions.get(name).into_iter().flat_map(|constructors| types_of(constructors)) {
            let constructors = definitions.get(inner).into_iter().copied().flatten();
            for found in [inner].into_iter().chain(constructors.map(|constructor| &constructor.name.name)) {
                if reached.insert(found) {
                    pending.push(found);
                }
            }
        }
    }
    reached
}
