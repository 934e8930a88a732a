//! The tags of names.

use std::collections::HashMap;

use super::{constructor::ConstructorTable, tag::Tag};
use crate::{
    name::{Ident, Name},
    syntax::ast::{Component, ExprId},
    types::adt::DataTypes,
};

/// The tags that one round passes to the next round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    /// Tags by source position: of names at their bindings, of names without a binding, and of matches.
    notes: HashMap<u32, Tag>,
    literals: HashMap<ExprId, Tag>,
    parameters: HashMap<Name, Tag>,
    fields: HashMap<Name, Tag>,
    pub(super) constructors: ConstructorTable,
}

impl State {
    /// Returns the first state, in which only the balance is money.
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

    /// Returns the tag that is recorded at the source position of a name, or `NoInfo` if no tag is recorded.
    pub(super) fn note(&self, ident: &Ident) -> Tag {
        self.notes.get(&ident.span.start).cloned().unwrap_or_default()
    }

    pub(super) fn set_note(&mut self, ident: &Ident, tag: Tag) {
        self.notes.insert(ident.span.start, tag);
    }

    /// Joins a tag into the recorded tag of a literal, and returns the joined tag.
    pub(super) fn expect_literal(&mut self, id: ExprId, tag: &Tag) -> Tag {
        let known = self.literals.entry(id).or_default();
        *known = known.join(tag);
        known.clone()
    }
}

/// The tags of the names in scope at the current position of the analysis.
///
/// The tag of a name belongs to the innermost open binding. Without such a binding, the tag belongs to the parameter of
/// the contract with this name. Without such a parameter, the tag belongs to the source position of the name. So the
/// analysis does not connect different uses of a name from a library or from another contract.
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

    /// Begins a component. Binds only the implicit parameters of messages and the parameters of the component.
    pub(super) fn enter(&mut self, component: &Component) {
        self.locals.clear();
        for (name, tag) in [("_amount", Tag::Money), ("_origin", Tag::NotMoney), ("_sender", Tag::NotMoney)] {
            self.push(&Name::simple(name), tag);
        }
        component.parameters.iter().for_each(|parameter| self.open(&parameter.name));
    }

    /// Ends a component, and closes the bindings of its parameters.
    pub(super) fn leave(&mut self, component: &Component) {
        for parameter in component.parameters.iter().rev() {
            self.close(&parameter.name);
        }
        self.locals.clear();
    }

    /// Opens a binding with its recorded tag.
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

    /// Closes the innermost binding of a name. Records the tag of the binding at the source position of the binder, and
    /// returns the tag.
    pub(super) fn close(&mut self, binder: &Ident) -> Tag {
        let tag = self.bound(binder);
        self.forget(&binder.name);
        self.state.set_note(binder, tag.clone());
        tag
    }

    /// Returns the tag of the innermost binding of a name, or the recorded tag of the binder if none is open.
    pub(super) fn bound(&self, binder: &Ident) -> Tag {
        self.local(&binder.name).cloned().unwrap_or_else(|| self.state.note(binder))
    }

    /// Closes the innermost binding of a name, if one is open.
    pub(super) fn forget(&mut self, name: &Name) {
        if let Some(tags) = self.locals.get_mut(name) {
            tags.pop();
        }
    }

    /// Returns the tag of the innermost binding of a name, or `None` if none is open.
    pub(super) fn local(&self, name: &Name) -> Option<&Tag> {
        self.locals.get(name)?.last()
    }

    /// Returns the tag of a name, from its binding, its parameter or its source position.
    pub(super) fn get(&self, ident: &Ident) -> Tag {
        let home = self.local(&ident.name).or_else(|| self.state.parameters.get(&ident.name));
        home.cloned().unwrap_or_else(|| self.state.note(ident))
    }

    /// Replaces the tag of a name, at its binding, its parameter or its source position.
    pub(super) fn set(&mut self, ident: &Ident, tag: Tag) {
        let local = self.locals.get_mut(&ident.name).and_then(|tags| tags.last_mut());
        match local.or_else(|| self.state.parameters.get_mut(&ident.name)) {
            Some(home) => *home = tag,
            None => self.state.set_note(ident, tag),
        }
    }

    /// Joins a tag into the tag of a name, and returns the new tag.
    pub(super) fn learn(&mut self, ident: &Ident, tag: &Tag) -> Tag {
        let known = self.get(ident).join(tag);
        self.set(ident, known.clone());
        known
    }
}
