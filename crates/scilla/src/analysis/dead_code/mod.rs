//! Warns of unused code.
//!
//! A pass over each component, from its last statement to its first, finds the used variables, data types and
//! constructors. The next passes are, in this order: address types, parameters, procedures, library entries (from the
//! last to the first), patterns, imports, fields.
//!
//! Source of the order and of the texts: `Zilliqa/scilla: src/base/DeadCodeDetector.ml`.

mod addresses;
mod library;
mod liveness;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use self::liveness::{Live, type_names};
use super::{
    sanity::{Subject, WASTE, Warnings},
    shown,
};
use crate::{
    name::{Ident, Name},
    source::Span,
    syntax::ast::{Component, ComponentKind, Import, Library, LibraryEntry},
};

/// The imports of a contract, with their source positions, and the imported libraries.
pub(crate) struct Imports<'a> {
    pub(crate) imports: &'a [Import],
    pub(crate) libraries: Vec<&'a Library>,
}

/// The analysis of a contract and its own library.
struct Pass<'a, 'w> {
    subject: Subject<'a>,
    warnings: &'w mut Warnings,
    fields: HashSet<&'a Name>,
    /// The fields that are read and the fields that are written, each with the position that the pass finds first.
    read: BTreeMap<&'a Name, Span>,
    written: BTreeMap<&'a Name, Span>,
    /// The procedures that are called.
    called: HashSet<&'a Name>,
}

/// Warns of unused code in a contract.
pub(crate) fn contract(subject: Subject<'_>, imports: &Imports<'_>, warnings: &mut Warnings) {
    let mut pass = Pass {
        subject,
        warnings,
        fields: subject.contract.fields.iter().map(|field| &field.name.name).collect(),
        read: BTreeMap::new(),
        written: BTreeMap::new(),
        called: HashSet::new(),
    };
    let (mut live, parameter_types) = pass.components();
    addresses::contract(subject, pass.warnings);
    live.extend(pass.expression(subject.contract.constraint));
    for field in &subject.contract.fields {
        live.extend(pass.expression(field.initial));
        live.types.extend(type_names(&field.ty));
    }
    pass.parameters(&mut live);
    pass.procedures();
    let reported = pass.library(&mut live, &parameter_types);
    pass.unreachable_patterns(&reported);
    pass.imports(imports, &live);
    pass.fields();
}

impl<'a> Pass<'a, '_> {
    fn warn(&mut self, what: &str, ident: &Ident) {
        self.warn_at(ident.span, format!("{what}{}", shown(ident)));
    }

    fn warn_at(&mut self, at: Span, text: String) {
        self.warnings.add(WASTE, self.subject.start(at), text);
    }

    /// Returns the names that the components use, and the data types in the parameters of transitions.
    fn components(&mut self) -> (Live<'a>, BTreeSet<&'a Name>) {
        let mut all = Live::default();
        let mut transition_types = BTreeSet::new();
        for component in &self.subject.contract.components {
            let mut live = self.statements(&component.body);
            self.component_parameters(component, &live);
            for parameter in &component.parameters {
                live.names.remove(&parameter.name.name);
            }
            let types = component.parameters.iter().flat_map(|parameter| type_names(&parameter.ty));
            live.types.extend(types.clone());
            if component.kind == ComponentKind::Transition {
                transition_types.extend(types);
            }
            all.extend(live);
        }
        (all, transition_types)
    }

    fn component_parameters(&mut self, component: &'a Component, live: &Live<'a>) {
        for parameter in &component.parameters {
            if !live.names.contains(&parameter.name.name) {
                self.warn(&format!("Unused {} parameter: ", component.kind_text()), &parameter.name);
            }
        }
    }

    fn parameters(&mut self, live: &mut Live<'a>) {
        let parameters = &self.subject.contract.parameters;
        for parameter in parameters {
            if !live.names.contains(&parameter.name.name) {
                self.warn("Unused contract parameter: ", &parameter.name);
            }
        }
        for parameter in parameters {
            live.names.remove(&parameter.name.name);
            live.types.extend(type_names(&parameter.ty));
        }
    }

    fn procedures(&mut self) {
        for component in &self.subject.contract.components {
            if component.is_procedure() && !self.called.contains(&component.name.name) {
                self.warn("Unused procedure: ", &component.name);
            }
        }
    }

    fn imports(&mut self, imports: &Imports<'_>, live: &Live<'_>) {
        for (import, library) in imports.imports.iter().zip(&imports.libraries) {
            let is_used = library.entries.iter().any(|entry| match entry {
                LibraryEntry::Type { name, .. } => live.types.contains(&name.name),
                LibraryEntry::Value { name, .. } => live.names.contains(&name.name),
            });
            if !is_used {
                let text = format!("Unused imported library: {}", shown(&library.name));
                self.warn_at(import.library.span, text);
            }
        }
    }

    fn fields(&mut self) {
        let (read, written) = (std::mem::take(&mut self.read), std::mem::take(&mut self.written));
        for (name, at) in &read {
            if !written.contains_key(name) {
                let name = name.as_written();
                self.warn_at(*at, format!("Read only field, consider making it a contract parameter: {name}"));
            }
        }
        for (name, at) in &written {
            if !read.contains_key(name) {
                self.warn_at(*at, format!("Write only field: {}", name.as_written()));
            }
        }
        for field in &self.subject.contract.fields {
            if !read.contains_key(&field.name.name) && !written.contains_key(&field.name.name) {
                self.warn("Unused field: ", &field.name);
            }
        }
    }
}
