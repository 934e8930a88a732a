//! Where what is known of names stands.

use std::collections::HashMap;

use super::{constructor::ConstructorTable, tag::Tag};
use crate::{
    name::{Ident, Name},
    syntax::ast::{Component, ExprId},
    types::adt::DataTypes,
};

/// What is known from round to round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    /// What is known of names where they are bound, where nothing binds them, and where they are matched on.
    notes: HashMap<u32, Tag>,
    literals: HashMap<ExprId, Tag>,
    parameters: HashMap<Name, Tag>,
    fields: HashMap<Name, Tag>,
    pub(super) constructors: ConstructorTable,
}

impl State {
    /// What is known at first: that the balance is money.
    pub(super) fn new(known: &DataTypes) -> Self {
        Self {
            notes: HashMap::new(),
            literals: HashMap::new(),
            parameters: HashMap::new(),
            fields: HashMap::from([(Name::simple("_balance"), Tag::Money)]),
            constructors: ConstructorTable::new(known),
        }
    }

    pub(super) fn parameter(&self, ident: &Ident) -> Tag {
        self.parameters.get(&ident.name).cloned().unwrap_or_default()
    }

    pub(super) fn set_parameter(&mut self, ident: &Ident, tag: Tag) {
        self.parameters.insert(ident.name.clone(), tag);
    }

    pub(super) fn field(&self, ident: &Ident) -> Tag {
        self.fields.get(&ident.name).cloned().unwrap_or_default()
    }

    pub(super) fn set_field(&mut self, ident: &Ident, tag: Tag) {
        self.fields.insert(ident.name.clone(), tag);
    }

    /// Returns what is known of a name in just this place.
    pub(super) fn note(&self, ident: &Ident) -> Tag {
        self.notes.get(&ident.span.start).cloned().unwrap_or_default()
    }

    pub(super) fn set_note(&mut self, ident: &Ident, tag: Tag) {
        self.notes.insert(ident.span.start, tag);
    }

    /// Takes note of what a literal is expected to be; returns what it has been expected to be so far.
    pub(super) fn expect_literal(&mut self, id: ExprId, tag: &Tag) -> Tag {
        let known = self.literals.entry(id).or_default();
        *known = known.join(tag);
        known.clone()
    }
}

/// What is known of the names that can be seen from where the analysis stands.
///
/// The home of a name is the innermost binding that is open, else the parameter of the contract, else the place where
/// it stands: what a library defines and what is read from elsewhere is not followed from one place to another.
#[derive(Clone, Debug)]
pub(super) struct Environment {
    pub(super) state: State,
    /// The tags of the open bindings of each name, the innermost last.
    locals: HashMap<Name, Vec<Tag>>,
}

impl Environment {
    pub(super) fn new(state: State) -> Self {
        Self { state, locals: HashMap::new() }
    }

    /// Begins a component: the implicit parameters of messages and the parameters of the component are bound, and
    /// nothing else.
    pub(super) fn enter(&mut self, component: &Component) {
        self.locals.clear();
        for (name, tag) in [("_amount", Tag::Money), ("_origin", Tag::NotMoney), ("_sender", Tag::NotMoney)] {
            self.push(&Name::simple(name), tag);
        }
        component.parameters.iter().for_each(|parameter| self.open(&parameter.name));
    }

    /// Ends a component.
    pub(super) fn leave(&mut self, component: &Component) {
        for parameter in component.parameters.iter().rev() {
            self.close(&parameter.name);
        }
        self.locals.clear();
    }

    /// Opens a binding with what has been noted of it.
    pub(super) fn open(&mut self, binder: &Ident) {
        let tag = self.state.note(binder);
        self.push(&binder.name, tag);
    }

    /// Opens a binding with a tag.
    pub(super) fn push(&mut self, name: &Name, tag: Tag) {
        match self.locals.get_mut(name) {
            Some(tags) => tags.push(tag),
            None => {
                self.locals.insert(name.clone(), vec![tag]);
            }
        }
    }

    /// Closes the innermost binding of a name, and notes at the binder what is known of it by now, which is returned.
    pub(super) fn close(&mut self, binder: &Ident) -> Tag {
        let tag = self.bound(binder);
        self.forget(&binder.name);
        self.state.set_note(binder, tag.clone());
        tag
    }

    /// Returns what is known of the innermost binding of a name; if none is open, what has been noted at the binder.
    pub(super) fn bound(&self, binder: &Ident) -> Tag {
        self.local(&binder.name).cloned().unwrap_or_else(|| self.state.note(binder))
    }

    /// Closes the innermost binding of a name, if one is open.
    pub(super) fn forget(&mut self, name: &Name) {
        if let Some(tags) = self.locals.get_mut(name) {
            tags.pop();
        }
    }

    /// Returns what is known of the innermost binding of a name; none if none is open.
    pub(super) fn local(&self, name: &Name) -> Option<&Tag> {
        self.locals.get(name)?.last()
    }

    /// Returns what is known of a name.
    pub(super) fn get(&self, ident: &Ident) -> Tag {
        let home = self.local(&ident.name).or_else(|| self.state.parameters.get(&ident.name));
        home.cloned().unwrap_or_else(|| self.state.note(ident))
    }

    /// Replaces what is known of a name.
    pub(super) fn set(&mut self, ident: &Ident, tag: Tag) {
        let local = self.locals.get_mut(&ident.name).and_then(|tags| tags.last_mut());
        match local.or_else(|| self.state.parameters.get_mut(&ident.name)) {
            Some(home) => *home = tag,
            None => self.state.set_note(ident, tag),
        }
    }

    /// Learns that a name is used as what has this tag; returns what is known of it then.
    pub(super) fn learn(&mut self, ident: &Ident, tag: &Tag) -> Tag {
        let known = self.get(ident).join(tag);
        self.set(ident, known.clone());
        known
    }
}
