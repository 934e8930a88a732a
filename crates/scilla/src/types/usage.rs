//! Where values of a type may be used: stored, sent, given as parameters.
//!
//! Source: `Zilliqa/scilla: src/base/TypeUtil.ml`.

use std::collections::HashSet;

use super::{
    AddressType, Primitive, Type, TypeVariable,
    adt::{DataType, DataTypes},
};
use crate::name::Name;

/// A use of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Given at deployment.
    ContractParameter,
    /// Stored in a field, or in a field that an address type lists.
    Field,
    /// Hashed.
    HashArgument,
    /// Put into a message, event or exception.
    Payload,
    /// Given to a procedure, or returned by one.
    ProcedureParameter,
    /// Given by a message.
    TransitionParameter,
}

impl Use {
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
    /// Says whether values of the type may be used so.
    ///
    /// Functions never may. Where messages may not, `Event` and `Exception` still may: in the reference, the test that
    /// would refuse them can never fail for them.
    pub fn is_legal(&self, for_use: Use, known: &DataTypes) -> bool {
        Walk { known, seen: HashSet::new() }.is_legal(self, for_use, &[])
    }
}

struct Walk<'a> {
    known: &'a DataTypes,
    /// Data types whose constructors are being looked at or have been; what they take does not depend on arguments.
    /// Those inside an address type are judged as fields, hence apart.
    seen: HashSet<(&'a Name, bool)>,
}

impl<'a> Walk<'a> {
    fn is_legal(&mut self, of: &'a Type, for_use: Use, bound: &[TypeVariable]) -> bool {
        match of {
            Type::Adt(name, arguments) => {
                arguments.iter().all(|argument| self.is_legal(argument, for_use, bound))
                    && self.known.get(&name.name).is_some_and(|of| self.takes_legal_arguments(of, for_use))
            }
            Type::Address(AddressType::Contract(fields)) => {
                !for_use.looks_into_addresses() || fields.values().all(|field| self.is_legal(field, Use::Field, bound))
            }
            Type::Address(_) => true,
            Type::Map(key, value) => {
                for_use.takes_maps() && self.is_legal(key, for_use, bound) && self.is_legal(value, for_use, bound)
            }
            Type::Primitive(Primitive::Message) => for_use.takes_messages(),
            Type::Primitive(_) => true,
            Type::Variable(variable) => bound.contains(variable),
            Type::Forall(..) | Type::Function(..) | Type::Unit => false,
        }
    }

    fn takes_legal_arguments(&mut self, of: &'a DataType, for_use: Use) -> bool {
        !self.seen.insert((&of.name, for_use == Use::Field))
            || of
                .constructors
                .iter()
                .flat_map(|constructor| &constructor.arguments)
                .all(|argument| self.is_legal(argument, for_use, &of.parameters))
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, sync::Arc};

    use super::*;
    use crate::{name::Ident, types::adt::Constructor};

    /// Knows `Handler`, which holds a function, and `Letter`, which holds a message.
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
        for use_ in [
            Use::ContractParameter,
            Use::Field,
            Use::HashArgument,
            Use::Payload,
            Use::ProcedureParameter,
            Use::TransitionParameter,
        ] {
            assert_eq!(of.is_legal(use_, &known), legal.contains(&use_), "{} as {use_:?}", of.global());
        }
    }

    const ALL: [Use; 6] = [
        Use::ContractParameter,
        Use::Field,
        Use::HashArgument,
        Use::Payload,
        Use::ProcedureParameter,
        Use::TransitionParameter,
    ];

    fn adt(name: &str) -> Type {
        Type::Adt(Ident::nowhere(name), Arc::from([]))
    }

    #[test]
    fn plain_data_may_be_used_everywhere() {
        check(&Type::list(Type::pair(Type::bystr(20), Type::bool())), &ALL);
        check(&Type::nat(), &ALL);
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
        check(&Primitive::Event.into(), &ALL);
        check(&Primitive::Exception.into(), &ALL);
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
        let with = |kind: Type| {
            let fields = BTreeMap::from([(Arc::from("f"), kind)]);
            Type::Address(AddressType::Contract(Arc::new(fields)))
        };
        check(&with(Type::map(Type::bystr(20), Type::bool())), &ALL);
        check(&with(adt("Handler")), &[Use::HashArgument, Use::Payload]);
        check(&with(Primitive::Message.into()), &[Use::HashArgument, Use::Payload]);
    }

    #[test]
    fn a_chain_of_types_is_walked_once_each() {
        let mut known = DataTypes::built_in();
        let mut below = Type::bool();
        for level in 0..200 {
            let name = Name::simple(format!("T{level}"));
            let constructors = vec![Constructor { name: name.clone(), arguments: vec![below.clone(), below] }];
            known.add(DataType { name: name.clone(), parameters: vec![], constructors }).expect("new");
            below = adt(name.base());
        }
        assert!(below.is_legal(Use::Field, &known));
    }
}
