//! Which fields, parameters and arguments of constructors hold money.
//!
//! The analysis knows a few things for certain: the amounts of messages are money, and so is the balance; names and
//! addresses in messages, keys of maps, and what is read of the chain are not. From there it goes on through every use
//! of a value: what is added to money is money, and what is put into a field has the tag of the field.
//!
//! A round goes through the whole contract, from its end to its beginning, and takes what is known from place to place
//! and to the next round. The rounds end with one that teaches nothing. Functions, procedures and other contracts are
//! not followed, so that the tags are hints and no proof.
//!
//! Source of the rules and of their order, on which tags depend where uses clash: `Zilliqa/scilla:
//! src/base/Cashflow.ml`.

mod builtin;
mod constructor;
mod environment;
mod expression;
mod pattern;
mod statement;
mod tag;
#[cfg(test)]
mod tests;

use std::{collections::BTreeSet, sync::Arc};

use self::environment::{Environment, State};
pub use self::tag::{DataTag, Tag};
use crate::{
    name::{Ident, Name},
    syntax::ast::{Arena, Contract, Field},
    types::{Type, adt::DataTypes},
};

/// How many expressions and statements are looked at before the rounds end in any case. Hundreds of rounds through the
/// longest contract that can be deployed, where a handful do.
const MAX_STEPS: usize = 20_000_000;

/// The names of fields and parameters that are known to hold money: maps to it, if they are maps.
pub type TokenFields = BTreeSet<String>;

/// Which fields, parameters and arguments of constructors hold money.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CashFlow {
    /// The parameters of the contract, then its fields, in order.
    pub variables: Vec<(Arc<str>, Tag)>,
    /// The data types with arguments that have tags, in the order in which they became known.
    pub data_types: Vec<DataTypeTags>,
}

/// What is known of the arguments of the constructors of a data type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataTypeTags {
    /// The data type.
    pub name: Name,
    /// Its constructors with arguments that have tags, in order.
    pub constructors: Vec<ConstructorTags>,
}

/// What is known of the arguments of a constructor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConstructorTags {
    /// The constructor.
    pub name: Name,
    /// A tag for each argument; none for data types, which are not followed, and for what is of the type of a parameter
    /// of the data type, where the tag belongs to the value.
    pub arguments: Vec<Option<Tag>>,
}

/// Follows the money through a contract.
pub(crate) fn contract(arena: &Arena, contract: &Contract, known: &DataTypes, tokens: &TokenFields) -> CashFlow {
    let mut analysis = Analysis { arena, known, environment: Environment::new(State::new(known)), steps: 0 };
    analysis.begin(contract, tokens);
    analysis.run(contract);
    let state = &analysis.environment.state;
    let name = |ident: &Ident| Arc::clone(ident.name.base());
    let parameters =
        contract.parameters.iter().map(|parameter| (name(&parameter.name), state.parameter(&parameter.name)));
    let fields = contract.fields.iter().map(|field| (name(&field.name), state.field(&field.name)));
    CashFlow { variables: parameters.chain(fields).collect(), data_types: state.constructors.report(known) }
}

/// What is being found out.
struct Analysis<'a> {
    arena: &'a Arena,
    known: &'a DataTypes,
    environment: Environment,
    /// How many expressions and statements have been looked at.
    steps: usize,
}

impl<'a> Analysis<'a> {
    /// Takes in what is known at first: what is said of parameters and fields, and the first values of fields.
    fn begin(&mut self, contract: &'a Contract, tokens: &TokenFields) {
        let first =
            |field: &'a Field| (&field.name, self.expression(field.initial, said(&field.name, &field.kind, tokens)));
        let fields: Vec<_> = contract.fields.iter().map(first).collect();
        // Of the first values nothing counts but their tags.
        self.environment = Environment::new(State::new(self.known));
        let state = &mut self.environment.state;
        for parameter in &contract.parameters {
            state.set_parameter(&parameter.name, said(&parameter.name, &parameter.kind, tokens));
        }
        for (field, tag) in fields {
            state.set_field(field, tag);
        }
    }

    /// Goes round until nothing new comes up.
    fn run(&mut self, contract: &'a Contract) {
        while self.steps < MAX_STEPS {
            let before = self.environment.state.clone();
            self.round(contract);
            if self.environment.state == before {
                break;
            }
        }
    }

    fn round(&mut self, contract: &'a Contract) {
        self.expression(contract.constraint, Tag::NotMoney);
        for component in contract.components.iter().rev() {
            self.environment.enter(component);
            self.statements(&component.body);
            self.environment.leave(component);
        }
    }
}

/// Returns the tag of a field or parameter that is said to hold money; that of one of which nothing is said tells
/// nothing.
fn said(ident: &Ident, kind: &Type, tokens: &TokenFields) -> Tag {
    if !tokens.contains(&**ident.name.base()) {
        return Tag::NoInfo;
    }
    Tag::maps(kind.map_depth() as usize, Tag::Money)
}
