//! Types in the text form of JSON files.

use super::value::ValueError;
use crate::{
    name::Name,
    syntax,
    types::{Primitive, Type},
};

/// Parses a type as JSON files spell it: `Map (ByStr20) (Uint128)`, `0x….Colour`, `ListUtils.T`.
///
/// Names in the type are global: the part before a dot is the module that defines the type.
///
/// # Errors
///
/// [`ValueError::InvalidType`] if the text is not a type.
pub fn parse_type(text: &str) -> Result<Type, ValueError> {
    // A fast path: nearly all types in messages are primitive, and every call reads some of them.
    match Primitive::from_name(text) {
        Some(primitive) => Ok(Type::Primitive(primitive)),
        None => syntax::parse_type(text).map_err(|_| ValueError::InvalidType(text.into())),
    }
}

/// Parses the name of a constructor: `C`, or the defining module, a dot, and `C`.
///
/// # Errors
///
/// [`ValueError::InvalidName`] for more than one dot.
pub(super) fn parse_constructor(text: &str) -> Result<Name, ValueError> {
    match text.split_once('.') {
        None => Ok(Name::simple(text)),
        Some((module, base)) if !base.contains('.') => Ok(Name::qualified(module, base).defined_in(module.into())),
        Some(_) => Err(ValueError::InvalidName(text.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(parse_type(text).map(|ty| ty.global().to_string()), Ok(expected.into()), "{text}");
    }

    #[test]
    fn types_read_back_with_their_modules() {
        check("Map ByStr20 (Uint128)", "Map (ByStr20) (Uint128)");
        check("List (Pair ByStr20 Uint128)", "List (Pair (ByStr20) (Uint128))");
        check("Option (0xABfe.Colour)", "Option (0xabfe.Colour)");
        check("Map ByStr20 (Map Uint32 Lib.T)", "Map (ByStr20) (Map (Uint32) (Lib.T))");
        check("ByStr20 with contract field f : Lib.T end", "ByStr20 with contract field f : Lib.T end");
        check("forall 'A. 'A -> Lib.T", "forall 'A. 'A -> Lib.T");
    }

    #[test]
    fn the_short_way_reads_what_the_parser_does() {
        for text in ["Int32", "Uint256", "String", "BNum", "ByStr", "ByStr20", "ByStr007", "Message", "Event"] {
            let parsed = syntax::parse_type(text).map_err(|_| ());
            assert_eq!(parse_type(text).map_err(|_| ()), parsed, "{text}");
            assert!(parsed.is_ok(), "{text}");
        }
    }

    #[test]
    fn a_module_is_part_of_the_name() {
        let Ok(Type::Adt(name, _)) = parse_type("0xAB.T") else { panic!("this is a type") };
        assert_eq!(name.name.module().map(|module| &**module), Some("0xab"));
    }

    #[test]
    fn invalid_type_is_an_error() {
        for text in ["", "Map", "Uint32)", "uint32", "Map Message Uint32"] {
            let error = parse_type(text).err().map(|error| error.to_string());
            assert_eq!(error, Some(format!("Invalid type in json: {text}")));
        }
    }
}
