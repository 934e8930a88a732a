//! The types of parameters: addresses, hashes, numbers, block tags (Reference: interface#address-parameter).
//!
//! Reading has two steps, as in the reference. The protocol layer first checks the number and the JSON types of all
//! parameters: [`read`] returns -32602. Then each method checks the texts, in its own order and with its own codes.
//! Therefore a parameter of the right JSON type contains either its value or the fault of its text.

pub(crate) mod options;
#[cfg(test)]
mod tests;

use std::{borrow::Cow, convert::Infallible, fmt, marker::PhantomData};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{self, DeserializeOwned, IgnoredAny, Visitor, value::SeqDeserializer},
};
use serde_json::value::RawValue;
use silica_protocol::{
    Address, AddressError, BlockNumber, HexError, NumberError, Qa, Timestamp, TxHash, VariableHash,
    rpc::{
        error::RpcError,
        number::{c_unsigned, integral},
    },
};

use super::CallError;
use crate::block_mode::{BlockMode, BlockModeError};

/// Reads the parameters of a method: an array with one element of the declared type for each field of `P`. The last
/// fields are optional if they have defaults. A method without fields accepts every value of `params`.
pub(crate) fn read<P: DeserializeOwned>(params: Option<&str>, fields: &[&str]) -> Result<P, RpcError> {
    let json = match params {
        _ if fields.is_empty() => "[]",
        Some(json) if json.starts_with('[') => json,
        _ => return Err(RpcError::INVALID_PARAMS),
    };
    // The general parser returns the same value, or the error.
    let mut texts = [""; PLAIN_TEXTS];
    if let Some(texts) = plain_texts(json, &mut texts)
        && let Ok(read) = P::deserialize(SeqDeserializer::<_, de::value::Error>::new(texts.iter().copied()))
    {
        return Ok(read);
    }
    serde_json::from_str(json).map_err(|error| {
        tracing::debug!(%error, "rejected the parameters of a call");
        RpcError::INVALID_PARAMS
    })
}

/// Maximum number of parameters in a list of plain texts.
const PLAIN_TEXTS: usize = 4;

/// Returns the elements of a valid JSON array if all of them are texts without escapes. Returns `None` for all other
/// arrays. Most calls have such parameters, and the general parser takes longer.
fn plain_texts<'a, 'buffer>(json: &'a str, buffer: &'buffer mut [&'a str; PLAIN_TEXTS]) -> Option<&'buffer [&'a str]> {
    let mut rest = json.strip_prefix('[')?.trim_ascii_start();
    let mut count = 0_usize;
    while rest != "]" {
        let (text, after) = rest.strip_prefix('"')?.split_once('"')?;
        if text.contains('\\') {
            return None;
        }
        *buffer.get_mut(count)? = text;
        count = count.saturating_add(1);
        rest = after.trim_ascii_start();
        rest = rest.strip_prefix(',').map_or(rest, str::trim_ascii_start);
    }
    buffer.get(..count)
}

/// Reads the parameters of a method. The error of a `silica_` method names the wrong parameter. Other methods have the
/// text of the reference.
pub(crate) fn read_for<P: DeserializeOwned>(
    method: &str,
    params: Option<&str>,
    fields: &[&str],
) -> Result<P, RpcError> {
    read(params, fields).map_err(|error| {
        if !method.starts_with("silica_") {
            return error;
        }
        RpcError { message: format!("{}: {}", error.message, misfit::<P>(params, fields)).into(), ..error }
    })
}

/// Returns a text with the name of the wrong parameter, the expected type, and the value of the caller.
fn misfit<P: DeserializeOwned>(params: Option<&str>, fields: &[&str]) -> String {
    let names = fields.join(", ");
    let json = params.unwrap_or_default();
    // Count the elements as `IgnoredAny`, which takes no memory for any number of elements.
    let Ok(counted) = serde_json::from_str::<Vec<IgnoredAny>>(json) else {
        let got = if params.is_some() { beginning(json) } else { "nothing" };
        return format!("expected an array with {names}, got {got}");
    };
    let got = counted.len();
    if got > fields.len() {
        return format!("expected {names}, got {got} parameters");
    }
    let elements: Vec<&RawValue> = serde_json::from_str(json).unwrap_or_default();
    let mut left = elements.iter().copied();
    let mut count = 0_usize;
    let asking = std::iter::from_fn(|| {
        count = count.saturating_add(1);
        left.next()
    });
    let read = P::deserialize(SeqDeserializer::new(asking));
    let at = count.saturating_sub(1);
    match (fields.get(at), elements.get(at), read) {
        (Some(name), Some(element), Err(error)) => {
            let error = error.to_string();
            let error = error.rsplit_once(" at line ").map_or(error.as_str(), |(error, _)| error);
            let expected = error.rsplit_once("expected ").map_or(error, |(_, expected)| expected);
            format!("{name}: expected {}, got {}", expected.trim_end_matches('.'), beginning(element.get()))
        }
        (Some(name), None, Err(_)) => format!("expected {name} as well, got {got} parameters"),
        (None, ..) | (_, _, Ok(_)) => format!("expected {names}"),
    }
}

/// Returns the beginning of a text of a caller: whole characters with at most 80 bytes.
pub(crate) fn beginning(text: &str) -> &str {
    const MAX_SHOWN: usize = 80;
    text.get(..text.floor_char_boundary(MAX_SHOWN)).unwrap_or(text)
}

/// Returns the names of the fields of `P`, in order of position. `P` passes them to its deserializer.
pub(crate) fn fields<P: DeserializeOwned>() -> &'static [&'static str] {
    struct FieldNames<'a>(&'a mut &'static [&'static str]);

    impl<'de> Deserializer<'de> for FieldNames<'_> {
        type Error = de::value::Error;

        fn deserialize_struct<V: Visitor<'de>>(
            self,
            _: &'static str,
            fields: &'static [&'static str],
            _: V,
        ) -> Result<V::Value, Self::Error> {
            *self.0 = fields;
            Err(de::Error::custom("only the names were wanted"))
        }

        fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
            Err(de::Error::custom("parameters are the fields of a struct"))
        }

        serde::forward_to_deserialize_any! {
            bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
            newtype_struct seq tuple tuple_struct map enum identifier ignored_any
        }
    }

    let mut names: &'static [&'static str] = &[];
    // Ignore the error: `FieldNames` returns an error after it has stored the names.
    drop(P::deserialize(FieldNames(&mut names)));
    names
}

/// A parameter that is a JSON string: its value as a `T`, or the fault of its text.
#[derive(Clone, Debug)]
pub(crate) struct Text<T: FromParam>(Result<T, Misread<T::Fault>>);

/// A text with a fault.
#[derive(Clone, Debug)]
struct Misread<F> {
    fault: F,
    /// The beginning of the text, at most 80 bytes, for the error.
    got: Box<str>,
}

/// A type of parameters that are JSON strings.
pub(crate) trait FromParam: Sized {
    /// The faults of a text.
    type Fault: Clone + fmt::Debug;
    /// Name of the schema.
    const NAME: &'static str;
    /// Description of the valid texts.
    const DESCRIPTION: &'static str;
    /// An example for the schema.
    const EXAMPLE: &'static str;

    /// Reads the text.
    ///
    /// # Errors
    ///
    /// The fault of the text.
    fn from_param(text: &str) -> Result<Self, Self::Fault>;
}

impl<T: FromParam> Text<T> {
    /// Wraps a value, for the default of an optional parameter.
    pub(crate) const fn of(value: T) -> Self {
        Self(Ok(value))
    }

    /// Returns the value, or `None` if the text has a fault.
    pub(crate) fn peek(&self) -> Option<&T> {
        self.0.as_ref().ok()
    }

    /// Returns the value, or the fault of the text.
    pub(crate) fn get(self) -> Result<T, T::Fault> {
        self.0.map_err(|Misread { fault, .. }| fault)
    }

    /// Returns the value of a parameter of a `silica_` method. The error has the name of the parameter and its text.
    pub(crate) fn named(self, name: &'static str) -> Result<T, CallError> {
        self.0.map_err(|Misread { got, .. }| {
            let description = T::DESCRIPTION.trim_end_matches('.');
            let (first, rest) = description.split_at_checked(1).unwrap_or_default();
            CallError::parameter(name, &format!("expected {}{rest}, got {got:?}", first.to_ascii_lowercase()))
        })
    }
}

impl<T: FromParam<Fault = Infallible>> Text<T> {
    /// Returns the value of a type that accepts every text.
    pub(crate) fn value(self) -> T {
        match self.0 {
            Ok(value) => value,
            Err(Misread { fault, .. }) => match fault {},
        }
    }
}

impl<'de, T: FromParam> Deserialize<'de> for Text<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor<T>(PhantomData<T>);

        impl<T: FromParam> Visitor<'_> for TextVisitor<T> {
            type Value = Text<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a string, {}", T::DESCRIPTION)
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(T::from_param(text).map_err(|fault| Misread { fault, got: beginning(text).into() })))
            }
        }

        deserializer.deserialize_str(TextVisitor(PhantomData))
    }
}

impl<T: FromParam> JsonSchema for Text<T> {
    fn schema_name() -> Cow<'static, str> {
        T::NAME.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "description": T::DESCRIPTION, "examples": [T::EXAMPLE] })
    }
}

impl FromParam for Address {
    type Fault = AddressError;
    const NAME: &'static str = "Address";
    const DESCRIPTION: &'static str =
        "An account, as bech32 with prefix zil or as forty hexadecimal digits in any letter case, with or without 0x.";
    const EXAMPLE: &'static str = "zil1fwh4ltdguhde9s7nysnp33d5wye6uqpugufkz7";

    fn from_param(text: &str) -> Result<Self, AddressError> {
        if text.starts_with("zil1") { Self::from_bech32(text) } else { Ok(text.parse()?) }
    }
}

/// The fault of the text of a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HashFault {
    /// A character is not hexadecimal.
    Digit,
    /// The number of characters is not 64.
    Size,
}

impl FromParam for TxHash {
    type Fault = HashFault;
    const NAME: &'static str = "TransactionHash";
    const DESCRIPTION: &'static str =
        "The hash of a transaction, 64 hexadecimal digits in any letter case, with or without 0x.";
    const EXAMPLE: &'static str = "cd8727674bc05e0ede405597a218164e1c13c7103b9d0ba43586785f3d8cede5";

    /// Reports a wrong character before a wrong length.
    fn from_param(text: &str) -> Result<Self, HashFault> {
        let digits = text.strip_prefix("0x").unwrap_or(text);
        let hexadecimal = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        text.parse().map_err(|_| if hexadecimal { HashFault::Size } else { HashFault::Digit })
    }
}

/// The hash of a transaction without the prefix `0x`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BareTxHash(pub(crate) TxHash);

impl FromParam for BareTxHash {
    type Fault = HashFault;
    const NAME: &'static str = "BareTransactionHash";
    const DESCRIPTION: &'static str = "Hash of a transaction, 64 hexadecimal digits in any letter case, without 0x.";
    const EXAMPLE: &'static str = TxHash::EXAMPLE;

    /// Reports a wrong length before a wrong character.
    fn from_param(text: &str) -> Result<Self, HashFault> {
        if text.len() != TxHash::LEN.saturating_mul(2) {
            return Err(HashFault::Size);
        }
        text.parse().map(Self).map_err(|_| HashFault::Digit)
    }
}

impl FromParam for VariableHash {
    type Fault = HashFault;
    const NAME: &'static str = "VariableHash";
    const DESCRIPTION: &'static str =
        "SHA-256 of the storage key of a contract variable, 64 hexadecimal digits in any letter case.";
    const EXAMPLE: &'static str = "A0BD91DE66D97E6930118179BA4F1836C366C4CB3309A6B354D26F52ABB2AAC6";

    /// Reports a wrong length before a wrong character.
    fn from_param(text: &str) -> Result<Self, HashFault> {
        text.parse().map_err(|error| match error {
            HexError::Length { .. } => HashFault::Size,
            HexError::Digit { .. } => HashFault::Digit,
        })
    }
}

/// The fault of the text of a decimal number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NumberFault {
    /// The text has no digits after the optional white space and sign.
    Invalid,
    /// The number exceeds 64 bits.
    OutOfRange,
}

/// A number in the form of `stoull` of C++ (Reference: interface#decimal-number). White space and a sign can precede
/// the digits, and any text can follow. A minus sign subtracts the number from 2^64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decimal(pub(crate) u64);

impl FromParam for Decimal {
    type Fault = NumberFault;
    const NAME: &'static str = "DecimalNumber";
    const DESCRIPTION: &'static str = "A block number in decimal digits.";
    const EXAMPLE: &'static str = "9";

    fn from_param(text: &str) -> Result<Self, NumberFault> {
        let text = text.trim_start_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r']);
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(unsigned) => (true, unsigned),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let end = unsigned.find(|digit: char| !digit.is_ascii_digit()).unwrap_or(unsigned.len());
        match unsigned.get(..end) {
            None | Some("") => Err(NumberFault::Invalid),
            Some(digits) => {
                let number: u64 = digits.parse().map_err(|_| NumberFault::OutOfRange)?;
                Ok(Self(if negative { number.wrapping_neg() } else { number }))
            }
        }
    }
}

/// A number in decimal, hexadecimal or octal. Every text is valid (Reference: interface#number-of-any-base).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AnyBase(pub(crate) u64);

impl FromParam for AnyBase {
    type Fault = Infallible;
    const NAME: &'static str = "Number";
    const DESCRIPTION: &'static str = "A number in decimal digits, in hexadecimal after 0x, or in octal after 0.";
    const EXAMPLE: &'static str = "1442201";

    fn from_param(text: &str) -> Result<Self, Infallible> {
        Ok(Self(c_unsigned(text)))
    }
}

/// The number of a page as text. The default is 0. With an empty text, `GetTransactionsForTxBlockEx` returns all
/// transactions (Reference: interface#transactions-of-a-block).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageText(pub(crate) Option<u64>);

impl FromParam for PageText {
    type Fault = Infallible;
    const NAME: &'static str = "PageText";
    const DESCRIPTION: &'static str = "Number of a page, from 0.";
    const EXAMPLE: &'static str = "1";

    fn from_param(text: &str) -> Result<Self, Infallible> {
        Ok(Self((!text.is_empty()).then(|| c_unsigned(text))))
    }
}

impl Default for Text<PageText> {
    fn default() -> Self {
        Self::of(PageText(Some(0)))
    }
}

/// A Tx block, by its number or as the latest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockOrLatest {
    /// The block with this number.
    Number(BlockNumber),
    /// The latest block.
    Latest,
}

impl FromParam for BlockOrLatest {
    type Fault = NumberFault;
    const NAME: &'static str = "BlockNumberOrLatest";
    const DESCRIPTION: &'static str = "A Tx block number in decimal digits, or the word latest.";
    const EXAMPLE: &'static str = "latest";

    fn from_param(text: &str) -> Result<Self, NumberFault> {
        match text {
            "latest" => Ok(Self::Latest),
            _ => Decimal::from_param(text).map(|Decimal(number)| Self::Number(BlockNumber::new(number))),
        }
    }
}

/// A number in decimal digits only, for `silica_` methods.
impl FromParam for BlockNumber {
    type Fault = NumberError;
    const NAME: &'static str = "BlockNumber";
    const DESCRIPTION: &'static str = "Number of a Tx block, in decimal digits.";
    const EXAMPLE: &'static str = "1442201";

    fn from_param(text: &str) -> Result<Self, NumberError> {
        text.parse()
    }
}

impl FromParam for Qa {
    type Fault = NumberError;
    const NAME: &'static str = "Amount";
    const DESCRIPTION: &'static str = "Money in Qa, in decimal digits.";
    const EXAMPLE: &'static str = "1000000000000";

    fn from_param(text: &str) -> Result<Self, NumberError> {
        text.parse()
    }
}

/// A gas price in Qa.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PriceText(pub(crate) u128);

/// The text is not a number of 128 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PriceFault;

impl FromParam for PriceText {
    type Fault = PriceFault;
    const NAME: &'static str = "Price";
    const DESCRIPTION: &'static str = "Price of a unit of gas in Qa, in decimal digits.";
    const EXAMPLE: &'static str = "2000000000";

    fn from_param(text: &str) -> Result<Self, PriceFault> {
        let decimal = text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|_| decimal).map(Self).ok_or(PriceFault)
    }
}

impl FromParam for Timestamp {
    type Fault = NumberError;
    const NAME: &'static str = "Time";
    const DESCRIPTION: &'static str = "A time in microseconds since 1970, in decimal digits, as blocks have it.";
    const EXAMPLE: &'static str = "1700000000000000";

    fn from_param(text: &str) -> Result<Self, NumberError> {
        text.parse()
    }
}

impl FromParam for BlockMode {
    type Fault = BlockModeError;
    const NAME: &'static str = "BlockMode";
    const DESCRIPTION: &'static str = "When blocks are made: instant, interval=MS or instant+interval=MS with 1 to 86400000 \
                                        milliseconds, manual, or manual-immediate.";
    const EXAMPLE: &'static str = "interval=500";

    fn from_param(text: &str) -> Result<Self, BlockModeError> {
        text.parse()
    }
}

/// An integral JSON number of 32 bits without sign; `1.0` is integral.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Integral(pub(crate) u32);

impl<'de> Deserialize<'de> for Integral {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = Box::<RawValue>::deserialize(deserializer)?;
        integral(json.get())
            .and_then(|number| u32::try_from(number).ok())
            .map(Self)
            .ok_or_else(|| de::Error::custom("expected an integral number from 0 to 4294967295"))
    }
}

impl JsonSchema for Integral {
    fn schema_name() -> Cow<'static, str> {
        "Integral".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 0, "maximum": u32::MAX })
    }
}
