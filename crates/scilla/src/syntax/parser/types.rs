//! The grammar of types.

use std::{collections::BTreeMap, sync::Arc};

use super::{Parsed, Parser};
use crate::{
    name::Ident,
    source::Span,
    syntax::token::{Token, TokenKind},
    types::{AddressType, Primitive, Type},
};

impl Parser<'_> {
    /// Parses the longest type that begins at the next token.
    pub(super) fn parse_type(&mut self) -> Parsed<Type> {
        self.nested(|parser| {
            if parser.maybe(TokenKind::Forall).is_some() {
                return parser.parse_forall();
            }
            let from = parser.parse_type_without_arrow()?;
            if parser.maybe(TokenKind::TypeArrow).is_none() {
                return Ok(from);
            }
            Ok(Type::function(from, parser.parse_type()?))
        })
    }

    fn parse_forall(&mut self) -> Parsed<Type> {
        let variable = self.expect(TokenKind::Tid, "a type variable such as 'A")?;
        let variable = self.shared_text(variable);
        self.expect_fixed(TokenKind::Period)?;
        Ok(Type::Forall(variable, Arc::new(self.parse_type()?)))
    }

    fn parse_type_without_arrow(&mut self) -> Parsed<Type> {
        if !matches!(self.peek().kind, TokenKind::Cid | TokenKind::Hex) {
            return self.parse_type_argument("a type");
        }
        match self.parse_named_type()? {
            Named::Address(address) => Ok(Type::Address(address)),
            Named::Name(name) => {
                let arguments = self.parse_type_arguments()?;
                Ok(apply(name, arguments))
            }
        }
    }

    /// Parses type arguments up to the first other token.
    pub(super) fn parse_type_arguments(&mut self) -> Parsed<Vec<Type>> {
        let mut arguments = Vec::new();
        while self.at_type_argument() {
            arguments.push(self.parse_type_argument("a type")?);
        }
        Ok(arguments)
    }

    fn at_type_argument(&mut self) -> bool {
        use TokenKind::{Cid, Hex, Map, ParenOpen, Tid};
        matches!(self.peek().kind, Cid | Hex | Map | ParenOpen | Tid)
    }

    /// Parses a type that needs no parentheses as an argument.
    pub(super) fn parse_type_argument(&mut self, what: &str) -> Parsed<Type> {
        let token = self.peek();
        match token.kind {
            TokenKind::Cid | TokenKind::Hex => Ok(self.parse_named_type()?.into_type()),
            TokenKind::Map => self.parse_map(),
            TokenKind::ParenOpen => {
                self.bump();
                let ty = self.parse_type()?;
                self.expect(TokenKind::ParenClose, "`)` behind the type")?;
                Ok(ty)
            }
            TokenKind::Tid => {
                self.bump();
                Ok(Type::Variable(self.shared_text(token)))
            }
            _ => Err(self.no_type(what)),
        }
    }

    /// Parses `Map`, the type of the keys and the type of the values.
    fn parse_map(&mut self) -> Parsed<Type> {
        self.bump();
        let (key, value) = self.parse_map_types()?;
        Ok(Type::map(key, value))
    }

    /// Parses the types after `Map` or `Emp`.
    pub(super) fn parse_map_types(&mut self) -> Parsed<(Type, Type)> {
        self.nested(|parser| Ok((parser.parse_map_key()?, parser.parse_map_value()?)))
    }

    fn parse_map_key(&mut self) -> Parsed<Type> {
        let bracketed = self.maybe(TokenKind::ParenOpen).is_some();
        if !matches!(self.peek().kind, TokenKind::Cid | TokenKind::Hex) {
            return Err(self.no_type("the type of the keys of a map"));
        }
        let key = self.parse_named_type()?;
        if bracketed {
            self.expect(TokenKind::ParenClose, "`)` behind the type of the keys")?;
        }
        match key {
            Named::Address(address) => Ok(Type::Address(address)),
            Named::Name(name) => self.check_map_key(&name, bracketed),
        }
    }

    fn check_map_key(&mut self, name: &Ident, bracketed: bool) -> Parsed<Type> {
        match primitive(name) {
            Some(primitive) if !matches!(primitive, Primitive::Event | Primitive::Message) => Ok(primitive.into()),
            _ => {
                // A name without namespace is the type of the keys only if the type of the values follows.
                if !bracketed && name.name.namespace().is_none() && !self.at_map_value() {
                    return Err(self.unexpected("the type of the values of the map"));
                }
                self.report(name.span.start, format!("Syntax error: Invalid map key type {}", name.name.as_written()));
                Ok(Primitive::String.into())
            }
        }
    }

    fn at_map_value(&mut self) -> bool {
        self.at_type_argument() && !self.at(TokenKind::Tid)
    }

    /// Parses the type of the values of a map. The type may have arguments without parentheses. The reference calls
    /// this form deprecated.
    fn parse_map_value(&mut self) -> Parsed<Type> {
        match self.peek().kind {
            TokenKind::Map => self.parse_map(),
            TokenKind::ParenOpen => self.parse_bracketed_map_value(),
            TokenKind::Cid | TokenKind::Hex => match self.parse_named_type()? {
                Named::Address(address) => Ok(Type::Address(address)),
                Named::Name(name) => {
                    let mut arguments = Vec::new();
                    while self.at_map_value() {
                        arguments.push(self.parse_map_value_argument()?);
                    }
                    Ok(apply(name, arguments))
                }
            },
            _ => Err(self.no_type("the type of the values of a map")),
        }
    }

    fn parse_map_value_argument(&mut self) -> Parsed<Type> {
        match self.peek().kind {
            TokenKind::Map => self.parse_map(),
            TokenKind::ParenOpen => self.parse_bracketed_map_value(),
            _ => Ok(apply(self.expect_upper_name("a type")?, Vec::new())),
        }
    }

    fn parse_bracketed_map_value(&mut self) -> Parsed<Type> {
        self.bump();
        let ty = self.nested(Self::parse_map_value)?;
        self.expect(TokenKind::ParenClose, "`)` behind the type of the values")?;
        Ok(ty)
    }

    /// Parses the name of a type, or an address type.
    fn parse_named_type(&mut self) -> Parsed<Named> {
        let token = self.peek();
        let name = self.expect_upper_name("a type")?;
        if name.name.namespace().is_none() && self.maybe(TokenKind::With).is_some() {
            return Ok(Named::Address(self.parse_address_after_with(token)?));
        }
        Ok(Named::Name(name))
    }

    /// Parses an address type, or reports an error.
    pub(super) fn expect_address(&mut self) -> Parsed<(AddressType, Span)> {
        let what = "an address type such as `ByStr20 with end`";
        let token = self.expect(TokenKind::Cid, what)?;
        self.expect_fixed(TokenKind::With)?;
        let address = self.parse_address_after_with(token)?;
        Ok((address, token.span.to(self.last)))
    }

    fn parse_address_after_with(&mut self, name: Token) -> Parsed<AddressType> {
        self.until_end(|parser| parser.parse_address_to_end(name))
    }

    fn parse_address_to_end(&mut self, name: Token) -> Parsed<AddressType> {
        let token = self.peek();
        let address = match token.kind {
            TokenKind::EndWord => AddressType::Any,
            TokenKind::Library => {
                self.bump();
                AddressType::Library
            }
            TokenKind::Spid => {
                self.bump();
                AddressType::Code
            }
            TokenKind::Contract => {
                self.bump();
                return self.nested(|parser| parser.parse_contract_address(name));
            }
            _ => return Err(self.unexpected("`end`, `contract`, `library` or `_codehash`")),
        };
        self.expect_fixed(TokenKind::EndWord)?;
        let known = token.kind != TokenKind::Spid || self.text(token) == "_codehash";
        self.check_address(name, known);
        Ok(address)
    }

    /// Reports an address type that is grammatical but invalid. Returns whether the type is valid.
    fn check_address(&mut self, name: Token, known: bool) -> bool {
        let valid = known && self.text(name) == "ByStr20";
        if !valid {
            self.report(name.span.start, "Syntax error: Invalid type");
        }
        valid
    }

    /// Parses an address type after the word `contract`.
    fn parse_contract_address(&mut self, name: Token) -> Parsed<AddressType> {
        let parameters = self.at(TokenKind::ParenOpen);
        if parameters {
            self.parse_parameters()?;
        }
        let list = self.parse_address_fields(parameters)?;
        if self.check_address(name, true) && parameters {
            let message = "Syntax error: Contract parameters in address types not yet supported";
            self.report(name.span.start, message);
        }
        let mut fields = BTreeMap::new();
        for (field, ty) in list {
            if fields.insert(Arc::clone(field.name.base()), ty).is_some() {
                let message = format!("Syntax error: Duplicate field name {} in address type", field.name.base());
                self.report(name.span.start, message);
            }
        }
        Ok(AddressType::Contract(Arc::new(fields)))
    }

    /// Parses the fields of an address type, and their `end`.
    fn parse_address_fields(&mut self, parameters: bool) -> Parsed<Vec<(Ident, Type)>> {
        let mut fields = Vec::new();
        if self.maybe(TokenKind::EndWord).is_some() {
            return Ok(fields);
        }
        loop {
            let what = match (fields.is_empty(), parameters) {
                (true, false) => "`field`, `(` or `end`",
                (true, true) => "`field` or `end`",
                (false, _) => "`field`",
            };
            self.expect(TokenKind::Field, what)?;
            let name = self.expect_simple(TokenKind::Id, "the name of a field")?;
            self.expect(TokenKind::Colon, "`:` and the type of the field")?;
            fields.push((name, self.parse_type()?));
            if self.maybe(TokenKind::Comma).is_none() {
                self.expect(TokenKind::EndWord, "`,` or `end`")?;
                return Ok(fields);
            }
        }
    }
}

/// A type that begins with a name.
enum Named {
    Address(AddressType),
    Name(Ident),
}

impl Named {
    fn into_type(self) -> Type {
        match self {
            Self::Address(address) => Type::Address(address),
            Self::Name(name) => apply(name, Vec::new()),
        }
    }
}

/// Returns the primitive type of this name, or `None` if there is none. A qualified name is not primitive.
pub(super) fn primitive(name: &Ident) -> Option<Primitive> {
    name.name.namespace().is_none().then(|| Primitive::from_name(name.name.base()))?
}

/// Applies the name of a type to arguments. A primitive name with arguments becomes an algebraic data type, and the
/// checker reports it as unknown.
fn apply(name: Ident, arguments: Vec<Type>) -> Type {
    match primitive(&name) {
        Some(primitive) if arguments.is_empty() => Type::Primitive(primitive),
        _ => Type::Adt(name, arguments.into()),
    }
}
