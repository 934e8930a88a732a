//! Warns of fields that an address type lists although the contract never reads them.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    analysis::sanity::{Subject, WASTE, Warnings},
    name::Name,
    source::Span,
    syntax::{
        address_fields,
        ast::{Component, LibraryEntry, Parameter, Pattern, PatternKind, Statement, StatementKind},
    },
    types::{AddressType, Type},
};

type FieldNames<'a> = BTreeSet<&'a str>;

/// Warns of unread fields in the types of parameters and of constructor arguments.
pub(super) fn contract(subject: Subject<'_>, warnings: &mut Warnings) {
    parameters(subject, warnings);
    constructors(subject, warnings);
}

fn warn(subject: Subject<'_>, at: Span, field: &str, warnings: &mut Warnings) {
    let text = format!("Unused field in contract address type: {field}");
    warnings.add(WASTE, subject.start(at), text);
}

/// Returns the names of the fields that an address type lists, or `None` for other types.
fn listed(ty: &Type) -> Option<FieldNames<'_>> {
    match ty {
        Type::Address(AddressType::Contract(fields)) => Some(fields.keys().map(AsRef::as_ref).collect()),
        _ => None,
    }
}

/// Returns the address and the field that a statement reads from another contract, or `None` for other statements.
fn remote_read(statement: &Statement) -> Option<(&Name, &str)> {
    match &statement.kind {
        StatementKind::RemoteLoad { address, field, .. } | StatementKind::RemoteMapGet { address, map: field, .. } => {
            Some((&address.name, field.name.base()))
        }
        _ => None,
    }
}

fn parameters(subject: Subject<'_>, warnings: &mut Warnings) {
    let contract = subject.contract;
    // For each address, the fields that the contract reads from it. As in the reference, only the first component that
    // reads from an address counts.
    let mut read_anywhere: BTreeMap<&Name, FieldNames<'_>> = BTreeMap::new();
    for component in &contract.components {
        let read = read_by(component);
        for parameter in &component.parameters {
            component_parameter(subject, parameter, &read, warnings);
        }
        for (address, fields) in read {
            read_anywhere.entry(address).or_insert(fields);
        }
    }
    let mut parameters: Vec<_> = contract.parameters.iter().collect();
    parameters.sort_by(|a, b| a.name.name.cmp(&b.name.name));
    for Parameter { name, ty } in parameters {
        if let (Some(listed), Some(read)) = (listed(ty), read_anywhere.get(&name.name)) {
            listed.difference(read).for_each(|field| warn(subject, name.span, field, warnings));
        }
    }
}

fn read_by(component: &Component) -> BTreeMap<&Name, FieldNames<'_>> {
    let mut read: BTreeMap<_, FieldNames<'_>> = BTreeMap::new();
    for statement in &component.body {
        statement.visit(&mut |statement| {
            if let Some((address, field)) = remote_read(statement) {
                read.entry(address).or_default().insert(field);
            }
        });
    }
    read
}

fn component_parameter(
    subject: Subject<'_>,
    parameter: &Parameter,
    read: &BTreeMap<&Name, FieldNames<'_>>,
    warnings: &mut Warnings,
) {
    let (Some(listed), Some(read)) = (listed(&parameter.ty), read.get(&parameter.name.name)) else { return };
    if listed.len() == read.len() {
        return;
    }
    let places = address_fields(subject.text.source, parameter.name.span.end);
    for field in listed.difference(read) {
        let at = places.iter().find(|(name, _)| name == field).map_or(parameter.name.span, |(_, at)| *at);
        warn(subject, at, field, warnings);
    }
}

/// For each constructor, the indexes of its arguments with an address type, and the fields of that type.
type Taken<'a> = BTreeMap<&'a Name, BTreeMap<usize, FieldNames<'a>>>;

fn constructors(subject: Subject<'_>, warnings: &mut Warnings) {
    let definitions = subject.library.into_iter().flat_map(|library| &library.entries);
    let definitions = definitions.filter_map(|entry| match entry {
        LibraryEntry::Type { constructors, .. } => Some(constructors),
        LibraryEntry::Value { .. } => None,
    });
    let definitions: Vec<_> = definitions.flatten().collect();
    let mut taken = Taken::new();
    for definition in &definitions {
        let places = definition.arguments.iter().enumerate();
        let places: BTreeMap<_, _> = places.filter_map(|(place, ty)| Some((place, listed(ty)?))).collect();
        if !places.is_empty() {
            taken.insert(&definition.name.name, places);
        }
    }
    if taken.is_empty() {
        return;
    }
    let mut pass = Reads { taken: &taken, bound: Vec::new(), read: Taken::new() };
    for statement in subject.contract.components.iter().flat_map(|component| &component.body) {
        pass.statement(statement);
    }
    for definition in definitions {
        let name = &definition.name.name;
        let (Some(taken), Some(read)) = (taken.get(name), pass.read.get(name)) else { continue };
        for (place, listed) in taken {
            if let Some(read) = read.get(place) {
                let unused = listed.difference(read);
                unused.for_each(|field| warn(subject, definition.name.span, field, warnings));
            }
        }
    }
}

/// The variables that a pattern binds to addresses inside constructors: the index of the argument, by constructor and
/// variable.
type Bound<'a> = BTreeMap<&'a Name, BTreeMap<&'a Name, usize>>;

struct Reads<'a, 't> {
    taken: &'t Taken<'a>,
    /// An entry for each enclosing pattern, the innermost last.
    bound: Vec<Bound<'a>>,
    read: Taken<'a>,
}

impl<'a> Reads<'a, '_> {
    fn statement(&mut self, statement: &'a Statement) {
        if let StatementKind::Match { clauses, .. } = &statement.kind {
            for clause in clauses {
                let mut bound = Bound::new();
                self.collect(&clause.pattern, None, &mut bound);
                // As in the reference, branches that bind no address are not analysed.
                if !bound.is_empty() {
                    self.bound.push(bound);
                    clause.body.iter().for_each(|statement| self.statement(statement));
                    self.bound.pop();
                }
            }
        } else if let Some((address, field)) = remote_read(statement)
            && let Some((constructor, place)) = self.find(address)
        {
            self.read.entry(constructor).or_default().entry(place).or_default().insert(field);
        }
    }

    fn find(&self, address: &Name) -> Option<(&'a Name, usize)> {
        let within = |bound: &Bound<'a>| bound.iter().find_map(|(&of, names)| Some((of, *names.get(address)?)));
        self.bound.iter().rev().find_map(within)
    }

    fn collect(&self, pattern: &'a Pattern, place: Option<(&'a Name, usize)>, bound: &mut Bound<'a>) {
        match &pattern.kind {
            PatternKind::Constructor(constructor, parts) => {
                let Some(places) = self.taken.get(&constructor.name) else { return };
                for (index, part) in parts.iter().enumerate() {
                    if places.contains_key(&index) {
                        self.collect(part, Some((&constructor.name, index)), bound);
                    }
                }
            }
            PatternKind::Binder(ident) => {
                if let Some((constructor, index)) = place {
                    bound.entry(constructor).or_default().insert(&ident.name, index);
                }
            }
            PatternKind::Wildcard => {}
        }
    }
}
