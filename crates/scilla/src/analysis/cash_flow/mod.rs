//! Finds the fields, parameters and constructor arguments that hold money.
//!
//! The analysis begins with known facts. The balance and the amounts of messages are money. Names and addresses in
//! messages, keys of maps, and facts of the chain are not money. Then the analysis follows each use of a value. For
//! example, a value that is added to money is money. A value that is stored in a field has the tag of the field.
//!
//! A round walks the whole contract from its end to its beginning. The tags of one round are the start of the next
//! round. The rounds end when a round adds no tag, or at a limit of steps. The analysis does not follow calls into
//! functions, procedures and other contracts, so a tag is a hint and not a proof.
//!
//! Source of the rules and of their order, which determines the tags where uses clash:
//! `Zilliqa/scilla: src/base/Cashflow.ml`.

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

/// Largest number of expressions and statements that the rounds analyse together. It suffices for hundreds of rounds
/// through the longest contract that can be deployed. Typical contracts need fewer than ten rounds.
const MAX_STEPS: usize = 20_000_000;

/// The names of fields and parameters that hold money. For a map, the values hold the money.
pub type TokenFields = BTreeSet<String>;

/// The fields, parameters and constructor arguments that hold money.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CashFlow {
    /// Tags of the parameters of the contract, and then of its fields, in the order of the source.
    pub variables: Vec<(Arc<str>, Tag)>,
    /// Data types that have arguments with tags, in the order in which the types were added.
    pub data_types: Vec<DataTypeTags>,
}

/// The tags of the constructors of a data type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataTypeTags {
    /// Name of the data type.
    pub name: Name,
    /// Constructors that have arguments with tags, in the order of the source.
    pub constructors: Vec<ConstructorTags>,
}

/// The tags of the arguments of a constructor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConstructorTags {
    /// Name of the constructor.
    pub name: Name,
    /// One tag for each argument. The tag is `None` if the type of the argument is a data type or an address type,
    /// because the analysis does not follow these types inside data types. The tag is also `None` if the type of the
    /// argument is a parameter of the data type, because the tag then belongs to the value.
    pub arguments: Vec<Option<Tag>>,
}

/// Returns the tags of a contract. `tokens` has the names of the fields and parameters that the caller declares as
/// money.
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

/// The state of the analysis of a contract.
struct Analysis<'a> {
    arena: &'a Arena,
    known: &'a DataTypes,
    environment: Environment,
    /// Number of expressions and statements that have been analysed.
    steps: usize,
}

impl<'a> Analysis<'a> {
    /// Records the first facts: the declared fields and parameters, and the first values of fields.
    fn begin(&mut self, contract: &'a Contract, tokens: &TokenFields) {
        let first = |field: &'a Field| {
            (&field.name, self.expression(field.initial, declared_tag(&field.name, &field.ty, tokens)))
        };
        let fields: Vec<_> = contract.fields.iter().map(first).collect();
        // Only the tags of the first values are kept. The tags of names inside their expressions are dropped.
        self.environment = Environment::new(State::new(self.known));
        let state = &mut self.environment.state;
        for parameter in &contract.parameters {
            state.set_parameter(&parameter.name, declared_tag(&parameter.name, &parameter.ty, tokens));
        }
        for (field, tag) in fields {
            state.set_field(field, tag);
        }
    }

    /// Runs rounds until a round adds no tag, or until the limit of steps.
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

/// Returns the tag of a field or parameter that `tokens` declares as money. For any other name, returns `NoInfo`.
fn declared_tag(ident: &Ident, ty: &Type, tokens: &TokenFields) -> Tag {
    if !tokens.contains(&**ident.name.base()) {
        return Tag::NoInfo;
    }
    Tag::maps(ty.map_depth() as usize, Tag::Money)
}
