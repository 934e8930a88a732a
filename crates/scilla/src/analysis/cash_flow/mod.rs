//! Finds the fields, parameters and constructor arguments that hold money.
//!
//! The analysis begins with certain facts. The amounts of messages are money, and so is the balance. Names and
//! addresses in messages, keys of maps, and facts of the chain are not. Then it follows each use of a value: a value
//! that is added to money is money, and a value that is stored in a field has the tag of the field.
//!
//! A round walks the whole contract from its end to its beginning. Its tags pass from place to place and to the next
//! round. The last round is one that adds no tag. Functions, procedures and other contracts are not followed, so the
//! tags are hints and no proof.
//!
//! Source of the rules and of their order, which determines the tags where uses clash: `Zilliqa/scilla:
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

/// Most expressions and statements that are analysed before the rounds end. It is enough for hundreds of rounds through
/// the longest contract that can be deployed. Contracts need a handful.
const MAX_STEPS: usize = 20_000_000;

/// The names of fields and parameters that hold money. A map holds it in its values.
pub type TokenFields = BTreeSet<String>;

/// The fields, parameters and constructor arguments that hold money.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CashFlow {
    /// The parameters of the contract, then its fields, in order.
    pub variables: Vec<(Arc<str>, Tag)>,
    /// The data types with arguments that have tags, in the order in which they were added.
    pub data_types: Vec<DataTypeTags>,
}

/// The tags of the constructors of a data type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataTypeTags {
    /// The data type.
    pub name: Name,
    /// Its constructors with arguments that have tags, in order.
    pub constructors: Vec<ConstructorTags>,
}

/// The tags of the arguments of a constructor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConstructorTags {
    /// The constructor.
    pub name: Name,
    /// A tag for each argument. `None` for data types, which are not followed, and for arguments whose type is a
    /// parameter of the data type, because the tag belongs to the value.
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

/// The state of the analysis.
struct Analysis<'a> {
    arena: &'a Arena,
    known: &'a DataTypes,
    environment: Environment,
    /// Expressions and statements analysed so far.
    steps: usize,
}

impl<'a> Analysis<'a> {
    /// Adds the first facts: the given parameters and fields, and the first values of fields.
    fn begin(&mut self, contract: &'a Contract, tokens: &TokenFields) {
        let first = |field: &'a Field| {
            (&field.name, self.expression(field.initial, declared_tag(&field.name, &field.kind, tokens)))
        };
        let fields: Vec<_> = contract.fields.iter().map(first).collect();
        // Only the tags of the first values count.
        self.environment = Environment::new(State::new(self.known));
        let state = &mut self.environment.state;
        for parameter in &contract.parameters {
            state.set_parameter(&parameter.name, declared_tag(&parameter.name, &parameter.kind, tokens));
        }
        for (field, tag) in fields {
            state.set_field(field, tag);
        }
    }

    /// Runs rounds until one adds no tag.
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

/// Returns the tag of a given field or parameter. A field or parameter that is not given has the tag without
/// information.
fn declared_tag(ident: &Ident, kind: &Type, tokens: &TokenFields) -> Tag {
    if !tokens.contains(&**ident.name.base()) {
        return Tag::NoInfo;
    }
    Tag::maps(kind.map_depth() as usize, Tag::Money)
}
