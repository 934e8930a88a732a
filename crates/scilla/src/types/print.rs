//! Text form of types, in error messages and in JSON.

use std::fmt;

use super::{AddressType, Type};
use crate::name::Name;

/// A type as text.
#[derive(Clone, Copy, Debug)]
pub struct TypeText<'a> {
    of: &'a Type,
    names: Names,
}

#[derive(Clone, Copy, Debug)]
enum Names {
    Global,
    AsWritten,
}

impl<'a> TypeText<'a> {
    pub(super) const fn global(of: &'a Type) -> Self {
        Self { of, names: Names::Global }
    }

    pub(super) const fn as_written(of: &'a Type) -> Self {
        Self { of, names: Names::AsWritten }
    }

    const fn with(self, of: &'a Type) -> Self {
        Self { of, ..self }
    }

    fn name(self, name: &Name, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.names {
            Names::Global => write!(f, "{}", name.global()),
            Names::AsWritten => write!(f, "{}", name.as_written()),
        }
    }

    fn address(self, address: &AddressType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match address {
            AddressType::Any => f.write_str("ByStr20 with end"),
            AddressType::Code => f.write_str("ByStr20 with _codehash end"),
            AddressType::Library => f.write_str("ByStr20 with library end"),
            AddressType::Contract(fields) => {
                f.write_str("ByStr20 with contract ")?;
                for (index, (name, ty)) in fields.iter().enumerate() {
                    let separator = if index == 0 { "" } else { ", " };
                    write!(f, "{separator}field {name} : {}", TypeText { of: ty, names: self.names })?;
                }
                f.write_str(if fields.is_empty() { "end" } else { " end" })
            }
        }
    }
}

impl fmt::Display for TypeText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.of {
            Type::Primitive(primitive) => write!(f, "{primitive}"),
            Type::Map(key, value) => write!(f, "Map ({}) ({})", self.with(key), self.with(value)),
            Type::Adt(ident, arguments) => {
                self.name(&ident.name, f)?;
                arguments.iter().try_for_each(|argument| write!(f, " ({})", self.with(argument)))
            }
            Type::Function(from, to) => match **from {
                Type::Function(..) | Type::Forall(..) => write!(f, "({}) -> {}", self.with(from), self.with(to)),
                Type::Address(_)
                | Type::Adt(..)
                | Type::Map(..)
                | Type::Primitive(_)
                | Type::Unit
                | Type::Variable(_) => write!(f, "{} -> {}", self.with(from), self.with(to)),
            },
            Type::Variable(variable) => f.write_str(variable),
            Type::Forall(variable, body) => write!(f, "forall {variable}. {}", self.with(body)),
            Type::Unit => f.write_str("()"),
            Type::Address(address) => self.address(address, f),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, sync::Arc};

    use super::*;
    use crate::{
        name::Ident,
        source::Span,
        types::{Primitive, primitive::Width},
    };

    fn check(of: &Type, expected: &str) {
        assert_eq!(of.global().to_string(), expected);
    }

    #[test]
    fn types_print_as_the_reference_prints_them() {
        let uint = || Type::Primitive(Primitive::Uint(Width::W128));
        let variable = || Type::Variable("'A".into());
        check(&Type::map(Type::bystr(20), uint()), "Map (ByStr20) (Uint128)");
        check(&Type::list(Type::pair(Type::bystr(20), uint())), "List (Pair (ByStr20) (Uint128))");
        check(&Type::function(uint(), Type::function(uint(), uint())), "Uint128 -> Uint128 -> Uint128");
        check(&Type::function(Type::function(uint(), uint()), uint()), "(Uint128 -> Uint128) -> Uint128");
        let identity = Type::Forall("'A".into(), Arc::new(Type::function(variable(), variable())));
        check(&identity, "forall 'A. 'A -> 'A");
        check(&Type::function(identity, uint()), "(forall 'A. 'A -> 'A) -> Uint128");
    }

    #[test]
    fn address_types_list_their_fields_by_name() {
        let fields = |list: &[(&str, Type)]| {
            let fields: BTreeMap<_, _> = list.iter().map(|(name, ty)| ((*name).into(), ty.clone())).collect();
            Type::Address(AddressType::Contract(Arc::new(fields)))
        };
        check(&fields(&[]), "ByStr20 with contract end");
        check(
            &fields(&[("b", Type::bool()), ("a", Type::nat())]),
            "ByStr20 with contract field a : Nat, field b : Bool end",
        );
        check(&Type::Address(AddressType::Code), "ByStr20 with _codehash end");
    }

    #[test]
    fn a_name_is_global_or_as_written() {
        let name = Name::qualified("Ns", "T").defined_in("0xab".into());
        let adt = Type::Adt(Ident::new(name, Span::NOWHERE), Arc::from([]));
        assert_eq!(adt.global().to_string(), "0xab.T");
        assert_eq!(adt.as_written().to_string(), "Ns.T");
    }
}
