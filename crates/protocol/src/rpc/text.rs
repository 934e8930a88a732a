//! JSON forms of numbers and bytes as text, one wrapper type for each form.
//!
//! The form of a member is part of the interface (Reference: interface#spelling). Decimal numbers are strings. Hashes
//! and addresses are in lower case, keys and signatures in upper case. Some of these members have the prefix `0x`. The
//! type of a field states the form: `Dec<BlockNumber>` is a block number as decimal text. Deserializers accept any
//! letter case, with or without prefix, because servers write different forms.

use alloc::borrow::Cow;
use core::{fmt, str::FromStr};

#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{
    address::Address,
    block::Reserved,
    bytes::{HexError, fmt_lower, fmt_upper},
    hash::{
        BlockHash, CodeHash, CommitteeHash, MbInfoHash, ShardingHash, StateDeltaHash, StateRoot, TxHash, TxRoot,
        VariableHash,
    },
    key::{PublicKey, Signature},
};

/// A number as decimal text: `"65537"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dec<T>(pub T);

impl<T> From<T> for Dec<T> {
    fn from(number: T) -> Self {
        Self(number)
    }
}

impl<T: fmt::Display> fmt::Display for Dec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: fmt::Display> Serialize for Dec<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de, T: FromStr<Err: fmt::Display>> Deserialize<'de> for Dec<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<str>::deserialize(deserializer)?.parse().map(Self).map_err(de::Error::custom)
    }
}

#[cfg(feature = "schema")]
impl<T> JsonSchema for Dec<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "DecimalText".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[0-9]+$" })
    }
}

/// A type with a fixed number of bytes. Its JSON form is hexadecimal text.
pub trait FixedBytes: AsRef<[u8]> + FromStr<Err = HexError> {
    /// Number of bytes of each value.
    const LEN: usize;
}

macro_rules! fixed_bytes {
    ($($name:ident)*) => {
        $(impl FixedBytes for $name {
            const LEN: usize = Self::LEN;
        })*
    };
}

fixed_bytes! {
    Address BlockHash CodeHash CommitteeHash MbInfoHash PublicKey Reserved ShardingHash Signature StateDeltaHash StateRoot TxHash
    TxRoot VariableHash
}

macro_rules! hexadecimal {
    ($(#[$meta:meta])* $name:ident, $schema:literal, $prefix:literal, $class:literal, $write:path) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name<T>(pub T);

        impl<T> From<T> for $name<T> {
            fn from(bytes: T) -> Self {
                Self(bytes)
            }
        }

        impl<T: AsRef<[u8]>> fmt::Display for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str($prefix)?;
                $write(self.0.as_ref(), f)
            }
        }

        impl<T: AsRef<[u8]>> Serialize for $name<T> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de, T: FixedBytes> Deserialize<'de> for $name<T> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Cow::<str>::deserialize(deserializer)?.parse().map(Self).map_err(de::Error::custom)
            }
        }


#[cfg(feature = "schema")]
        impl<T: FixedBytes> JsonSchema for $name<T> {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                $schema.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let digits = T::LEN.saturating_mul(2);
                json_schema!({ "type": "string", "pattern": alloc::format!("^{}[{}]{{{digits}}}$", $prefix, $class) })
            }
        }
    };
}

hexadecimal! {
    /// Bytes as lower-case hexadecimal digits: `"4baf…"`.
    Hex, "HexText", "", "0-9a-f", fmt_lower
}
hexadecimal! {
    /// Bytes as lower-case hexadecimal digits after `0x`: `"0x4baf…"`.
    PrefixedHex, "PrefixedHexText", "0x", "0-9a-f", fmt_lower
}
hexadecimal! {
    /// Bytes as upper-case hexadecimal digits: `"4BAF…"`.
    UpperHex, "UpperHexText", "", "0-9A-F", fmt_upper
}
hexadecimal! {
    /// Bytes as upper-case hexadecimal digits after `0x`: `"0x4BAF…"`.
    PrefixedUpperHex, "PrefixedUpperHexText", "0x", "0-9A-F", fmt_upper
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;

    use super::*;
    use crate::{amount::Qa, number::BlockNumber};

    fn check<T: Serialize + DeserializeOwned + PartialEq + fmt::Debug + JsonSchema>(
        value: &T,
        expected: &str,
        pattern: &str,
    ) {
        let text = serde_json::to_string(value).unwrap();
        assert_eq!(text, format!("\"{expected}\""));
        assert_eq!(&serde_json::from_str::<T>(&text).unwrap(), value);
        let schema = SchemaGenerator::default().into_root_schema_for::<T>();
        assert_eq!(schema.get("pattern").unwrap(), pattern);
    }

    #[test]
    fn each_wrapper_has_its_spelling() {
        let address = Address::new([0xab; 20]);
        check(&Hex(address), &"ab".repeat(20), "^[0-9a-f]{40}$");
        check(&PrefixedHex(address), &format!("0x{}", "ab".repeat(20)), "^0x[0-9a-f]{40}$");
        check(&UpperHex(address), &"AB".repeat(20), "^[0-9A-F]{40}$");
        check(&PrefixedUpperHex(address), &format!("0x{}", "AB".repeat(20)), "^0x[0-9A-F]{40}$");
        check(&UpperHex(Reserved::ZERO), &"00".repeat(128), "^[0-9A-F]{256}$");
        check(&Dec(BlockNumber::MISSING), "18446744073709551615", "^[0-9]+$");
        check(&Dec(Qa::MAX), "340282366920938463463374607431768211455", "^[0-9]+$");
    }

    #[test]
    fn reading_takes_any_spelling() {
        let expected = TxHash::new([0xcd; 32]);
        for text in ["cd".repeat(32), "CD".repeat(32), format!("0x{}", "Cd".repeat(32))] {
            let json = format!("\"{text}\"");
            assert_eq!(serde_json::from_str::<Hex<TxHash>>(&json).unwrap().0, expected);
            assert_eq!(serde_json::from_str::<PrefixedUpperHex<TxHash>>(&json).unwrap().0, expected);
        }
        for json in ["\"cd\"", "\"\"", "1", "null", &format!("\"{}\"", "zz".repeat(32))] {
            serde_json::from_str::<Hex<TxHash>>(json).unwrap_err();
        }
        for json in ["\"\"", "1", "\"-1\"", "\"18446744073709551616\""] {
            serde_json::from_str::<Dec<BlockNumber>>(json).unwrap_err();
        }
    }
}
