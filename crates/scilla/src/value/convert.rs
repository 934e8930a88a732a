//! Conversions between values and the types of Rust.

use std::sync::Arc;

use silica_protocol::{Address, Qa};

use super::{BNum, Integer, IntegerType, Map, Value, is_text_byte};
use crate::types::{Primitive, Type, Width};

/// A text that a Scilla `String` cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected printable ASCII or BS, FF, LF, CR, TAB, got the byte {byte:#04x} at offset {offset}")]
pub struct TextError {
    /// The first byte that is not allowed.
    pub byte: u8,
    /// Offset of the byte from the beginning of the text, in bytes.
    pub offset: usize,
}

/// A value of another type than the conversion expects.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a value of type {expected}, got {got}")]
pub struct UnexpectedType {
    /// The type that the conversion expects.
    pub expected: Type,
    /// The type of the value, or the reason why the value has no type.
    pub got: String,
}

impl UnexpectedType {
    fn of(value: &Value, expected: impl Into<Type>) -> Self {
        let got = value.ty().map_or_else(|untyped| untyped.to_string(), |ty| ty.to_string());
        Self { expected: expected.into(), got }
    }
}

impl Value {
    /// Returns a value of type `String`.
    ///
    /// # Errors
    ///
    /// [`TextError`] if a byte of the text is neither printable ASCII nor BS, FF, LF, CR or TAB.
    pub fn string(text: impl Into<Arc<str>>) -> Result<Self, TextError> {
        let text = text.into();
        match text.bytes().enumerate().find(|(_, byte)| !is_text_byte(*byte)) {
            Some((offset, byte)) => Err(TextError { byte, offset }),
            None => Ok(Self::String(text)),
        }
    }

    fn to_unsigned(&self, width: Width) -> Result<u128, UnexpectedType> {
        let integer = self.as_integer().filter(|integer| integer.ty() == IntegerType::Uint(width));
        let number = integer.and_then(Integer::to_u128);
        number.ok_or_else(|| UnexpectedType::of(self, Primitive::Uint(width)))
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Self::bool(truth)
    }
}

impl From<u32> for Value {
    /// Returns a value of type `Uint32`.
    fn from(number: u32) -> Self {
        Self::Integer(Integer::from_u32(number))
    }
}

impl From<u64> for Value {
    /// Returns a value of type `Uint64`.
    fn from(number: u64) -> Self {
        Self::Integer(Integer::from_u64(number))
    }
}

impl From<u128> for Value {
    /// Returns a value of type `Uint128`.
    fn from(number: u128) -> Self {
        Self::Integer(Integer::from_u128(number))
    }
}

impl From<Qa> for Value {
    /// Returns a value of type `Uint128`.
    fn from(amount: Qa) -> Self {
        amount.get().into()
    }
}

impl From<Address> for Value {
    /// Returns a value of type `ByStr20`.
    fn from(address: Address) -> Self {
        Self::bystrx(*address.as_bytes())
    }
}

impl From<BNum> for Value {
    fn from(number: BNum) -> Self {
        Self::BNum(number)
    }
}

impl From<Map> for Value {
    fn from(map: Map) -> Self {
        Self::Map(map)
    }
}

impl TryFrom<&str> for Value {
    type Error = TextError;

    /// Returns a value of type `String`.
    fn try_from(text: &str) -> Result<Self, TextError> {
        Self::string(text)
    }
}

impl TryFrom<&Value> for bool {
    type Error = UnexpectedType;

    fn try_from(value: &Value) -> Result<Self, UnexpectedType> {
        value.as_bool().ok_or_else(|| UnexpectedType::of(value, Type::bool()))
    }
}

impl TryFrom<&Value> for u32 {
    type Error = UnexpectedType;

    fn try_from(value: &Value) -> Result<Self, UnexpectedType> {
        let number = value.to_unsigned(Width::W32)?;
        Self::try_from(number).map_err(|_| UnexpectedType::of(value, Primitive::Uint(Width::W32)))
    }
}

impl TryFrom<&Value> for u64 {
    type Error = UnexpectedType;

    fn try_from(value: &Value) -> Result<Self, UnexpectedType> {
        let number = value.to_unsigned(Width::W64)?;
        Self::try_from(number).map_err(|_| UnexpectedType::of(value, Primitive::Uint(Width::W64)))
    }
}

impl TryFrom<&Value> for u128 {
    type Error = UnexpectedType;

    fn try_from(value: &Value) -> Result<Self, UnexpectedType> {
        value.to_unsigned(Width::W128)
    }
}

impl TryFrom<&Value> for Qa {
    type Error = UnexpectedType;

    fn try_from(value: &Value) -> Result<Self, UnexpectedType> {
        value.to_unsigned(Width::W128).map(Self::new)
    }
}

impl<'a> TryFrom<&'a Value> for &'a str {
    type Error = UnexpectedType;

    fn try_from(value: &'a Value) -> Result<Self, UnexpectedType> {
        value.as_string().map(|text| &**text).ok_or_else(|| UnexpectedType::of(value, Primitive::String))
    }
}

impl TryFrom<&Value> for Address {
    type Error = UnexpectedType;

    fn try_from(value: &Value) -> Result<Self, UnexpectedType> {
        let bytes = if let Value::ByStrX(bytes) = value { Self::try_from(&**bytes).ok() } else { None };
        bytes.ok_or_else(|| UnexpectedType::of(value, Type::bystr(20)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_convert_to_rust_and_back() {
        assert_eq!(u32::try_from(&Value::from(7_u32)), Ok(7));
        assert_eq!(u64::try_from(&Value::from(u64::MAX)), Ok(u64::MAX));
        assert_eq!(u128::try_from(&Value::from(u128::MAX)), Ok(u128::MAX));
        assert_eq!(Qa::try_from(&Value::from(Qa::new(5))), Ok(Qa::new(5)));
        assert_eq!(bool::try_from(&Value::from(true)), Ok(true));
        let address = Address::new([7; 20]);
        assert_eq!(Address::try_from(&Value::from(address)), Ok(address));
        assert_eq!(<&str>::try_from(&Value::try_from("a\tb").unwrap()), Ok("a\tb"));
    }

    #[test]
    fn another_type_is_an_error_with_both_types() {
        let error = |result: Result<u32, UnexpectedType>| result.unwrap_err().to_string();
        assert_eq!(error((&Value::from(7_u64)).try_into()), "expected a value of type Uint32, got Uint64");
        assert_eq!(
            error((&Value::list(Type::bool(), [])).try_into()),
            "expected a value of type Uint32, got List (Bool)"
        );
        let short = Address::try_from(&Value::bystrx([1; 19])).unwrap_err();
        assert_eq!(short.to_string(), "expected a value of type ByStr20, got ByStr19");
    }

    #[test]
    fn a_string_has_only_the_bytes_of_the_language() {
        assert_eq!(Value::string("a\0").unwrap_err(), TextError { byte: 0, offset: 1 });
        let error = Value::string("ab😀").unwrap_err();
        assert_eq!(error.offset, 2);
        assert!(error.to_string().ends_with("got the byte 0xf0 at offset 2"), "{error}");
    }

    #[test]
    fn values_and_types_have_a_text() {
        assert_eq!(Value::from(7_u32).to_string(), "(Uint32 7)");
        for text in ["Uint32", "Map (ByStr20) (List (Uint128))", "forall 'A. 'A -> 'A", "ByStr20 with end"] {
            assert_eq!(text.parse::<Type>().unwrap().to_string(), text);
        }
        assert!("Map".parse::<Type>().is_err());
    }
}
