//! Legal uses of values by type: stored, sent, or passed as parameters.
//!
//! Source: `Zilliqa/scilla: src/base/TypeUtil.ml`.

use super::{
    AddressType, Primitive, Type,
    adt::{DataType, DataTypes},
};

/// A use of values that a type permits or forbids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// A parameter of a contract.
    ContractParameter,
    /// A value of a field, including the fields in address types.
    Field,
    /// An argument of a hash function.
    HashArgument,
    /// An entry of a message, event or exception.
    Payload,
    /// A parameter or result of a procedure.
    ProcedureParameter,
    /// A parameter of a transition.
    TransitionParameter,
}

impl Use {
    const ALL: [Self; 6] = [
        Self::ContractParameter,
        Self::Field,
        Self::HashArgument,
        Self::Payload,
        Self::ProcedureParameter,
        Self::TransitionParameter,
    ];

    const fn takes_maps(self) -> bool {
        matches!(self, Self::ContractParameter | Self::Field | Self::HashArgument)
    }

    const fn takes_messages(self) -> bool {
        matches!(self, Self::HashArgument | Self::ProcedureParameter)
    }

    const fn looks_into_addresses(self) -> bool {
        !matches!(self, Self::HashArgument | Self::Payload)
    }
}

impl Type {
    /// Returns whether values of the type are legal for this use.
    ///
    /// Functions are never legal. `Event` and `Exception` are legal where `Message` is not, because the check of the
    /// reference for these two types cannot fail.
    pub fn is_legal(&self, for_use: Use, known: &DataTypes) -> bool {
        is_legal(self, for_use, None, known)
    }
}

/// The legal uses of values of a data type, as far as its constructors determine them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Uses(u8);

impl Uses {
    /// Computes the legal uses of a data type. The uses of other types in it must be known already.
    pub(super) fn of(data_type: &DataType, known: &DataTypes) -> Self {
        let takes = |for_use| {
            let mut arguments = data_type.constructors.iter().flat_map(|constructor| &constructor.arguments);
            arguments.all(|argument| is_legal(argument, for_use, Some(data_type), known))
        };
        let legal = Use::ALL.into_iter().filter(|for_use| takes(*for_use));
        Self(legal.fold(0, |uses, for_use| uses | Self::bit(for_use)))
    }

    const fn contains(self, for_use: Use) -> bool {
        self.0 & Self::bit(for_use) != 0
    }

    const fn bit(for_use: Use) -> u8 {
        1 << for_use as u8
    }
}

/// Returns whether a type is legal for a use. `within` is the data type whose definition contains the type. Inside the
/// definition, the parameters of the data type are legal.
fn is_legal(of: &Type, for_use: Use, within: Option<&DataType>, known: &DataTypes) -> bool {
    let legal = |part: &Type| is_legal(part, for_use, within, known);
    match of {
        Type::Adt(name, arguments) => {
            let is_itself = within.is_some_and(|within| within.name == name.name);
            let allowed = is_itself || known.uses(&name.name).is_some_and(|uses| uses.contains(for_use));
            allowed && arguments.iter().all(legal)
        }
        Type::Address(AddressType::Contract(fields)) => {
            let fits = |field: &Type| is_legal(field, Use::Field, within, known);
            !for_use.looks_into_addresses() || fields.values().all(fits)
        }
        Type::Address(_) => true,
        Type::Map(key, value) => for_use.takes_maps() && legal(key) && legal(value),
        Type::Primitive(Primitive::Message) => for_use.takes_messages(),
        Type::Primitive(_) => true,
        Type::Variable(variable) => within.is_some_and(|within| within.parameters.contains(variable)),
        Type::Forall(..) | Type::Function(..) | Type::Unit => false,
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, sync::Arc};

    use super::*;
    use crate::{
        name::{Ident, Name},
        types::adt::Constructor,
    };

    /// Returns data types with `Handler`, which contains a function, and `Letter`, which contains a message.
    fn known() -> DataTypes {
        let mut known = DataTypes::built_in();
        let mut add = |name: &str, argument: Type| {
            let constructors = vec![Constructor { name: Name::simple(name), arguments: vec![argument] }];
            known.add(DataType { name: Name::simple(name), parameters: vec![], constructors }).expect("new");
        };
        add("Handler", Type::function(Type::bool(), Type::bool()));
        add("Letter", Primitive::Message.into());
        known
    }

    fn check(of: &Type, legal: &[Use]) {
        let known = known();
        for use_ in Use::ALL {
            assert_eq!(of.is_legal(use_, &known), legal.contains(&use_), "{} as {use_:?}", of.global());
        }
    }

    fn adt(name: &str) -> Type {
        Type::Adt(Ident::nowhere(name), Arc::from([]))
    }

    #[test]
    fn plain_data_may_be_used_everywhere() {
        check(&Type::list(Type::pair(Type::bystr(20), Type::bool())), &Use::ALL);
        check(&Type::nat(), &Use::ALL);
    }

    #[test]
    fn maps_are_neither_sent_nor_passed() {
        let map = || Type::map(Type::bystr(20), Type::bool());
        check(&map(), &[Use::ContractParameter, Use::Field, Use::HashArgument]);
        check(&Type::option(map()), &[Use::ContractParameter, Use::Field, Use::HashArgument]);
    }

    #[test]
    fn messages_go_to_procedures_only() {
        check(&Primitive::Message.into(), &[Use::HashArgument, Use::ProcedureParameter]);
        check(&adt("Letter"), &[Use::HashArgument, Use::ProcedureParameter]);
    }

    #[test]
    fn events_pass_where_messages_do_not() {
        check(&Primitive::Event.into(), &Use::ALL);
        check(&Primitive::Exception.into(), &Use::ALL);
    }

    #[test]
    fn functions_are_of_no_use_even_inside() {
        check(&Type::function(Type::bool(), Type::bool()), &[]);
        check(&Type::list(adt("Handler")), &[]);
        check(&Type::Variable("'A".into()), &[]);
        check(&Type::Unit, &[]);
    }

    #[test]
    fn fields_of_an_address_are_fields() {
        let with = |ty: Type| {
            let fields = BTreeMap::from([(Arc::from("f"), ty)]);
            Type::Address(AddressType::Contract(Arc::new(fields)))
        };
        check(&with(Type::map(Type::bystr(20), Type::bool())), &Use::ALL);
        check(&with(adt("Handler")), &[Use::HashArgument, Use::Payload]);
        check(&with(Primitive::Message.into()), &[Use::HashArgument, Use::Payload]);
    }

    #[test]
    fn types_may_hold_others_by_the_thousand() {
        let mut known = DataTypes::built_in();
        let mut below = Type::bool();
        for level in 0..100_000 {
            let name = Name::simple(format!("T{level}"));
            let constructors = vec![Constructor { name: name.clone(), arguments: vec![below.clone(), below] }];
            known.add(DataType { name: name.clone(), parameters: vec![], constructors }).expect("new");
            below = adt(name.base());
        }
        assert!(below.is_legal(Use::Field, &known));
        assert!(!Type::map(below.clone(), below).is_legal(Use::Payload, &known));
    }
}
