//! The `serde` form of single values: strings, which programs use in configurations and in JSON of their own.
//!
//! Bytes are `0x` and lower-case digits, as in the JSON of Scilla. Numbers are decimal digits, because many JSON
//! parsers round numbers above 2^53. The members of JSON-RPC have other forms, which the module `rpc` has.

use alloc::{borrow::Cow, string::ToString};
use core::{fmt, marker::PhantomData, str::FromStr};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, Visitor},
};

use crate::{
    address::Address,
    amount::Qa,
    block::Reserved,
    gas::{Gas, GasPrice},
    hash::{
        BlockHash, CodeHash, CommitteeHash, MbInfoHash, ReceiptsHash, ShardingHash, StateDeltaHash, StateRoot,
        StorageRoot, TxHash, TxRoot, VariableHash,
    },
    key::{PublicKey, Signature},
    number::{BlockNumber, DsBlockNumber, Nonce, ShardId, Timestamp},
    version::{ChainId, Version},
};

macro_rules! bytes {
    ($parse:expr; $($name:ident)*) => {
        $(
            impl Serialize for $name {
                /// Writes `0x` and lower-case digits.
                fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    serializer.collect_str(&format_args!("{self:#x}"))
                }
            }

            impl<'de> Deserialize<'de> for $name {
                fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    $parse(&Cow::<str>::deserialize(deserializer)?).map_err(D::Error::custom)
                }
            }
        )*
    };
}

// People write addresses too, in several forms. Programs write the other values.
bytes! { Self::parse; Address }
bytes! {
    Self::from_str;
    BlockHash CodeHash CommitteeHash MbInfoHash PublicKey ReceiptsHash Reserved ShardingHash Signature StateDeltaHash
    StateRoot StorageRoot TxHash TxRoot VariableHash
}

macro_rules! numbers {
    ($($name:ident)*) => {
        $(
            impl Serialize for $name {
                /// Writes decimal digits, as a string.
                fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    serializer.collect_str(self)
                }
            }

            impl<'de> Deserialize<'de> for $name {
                /// Reads a string of decimal digits, or a number below 2^64.
                fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    deserializer.deserialize_any(Digits(PhantomData))
                }
            }
        )*
    };
}

numbers! { BlockNumber ChainId DsBlockNumber Gas GasPrice Nonce Qa ShardId Timestamp Version }

/// The visitor that reads a value from a string of decimal digits, or from a number below 2^64.
struct Digits<T>(PhantomData<T>);

impl<T: FromStr<Err: fmt::Display>> Visitor<'_> for Digits<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("decimal digits")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        // The parser of the text checks the range, which is different for each type.
        self.visit_str(&number.to_string())
    }
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;
    use serde_json::{Value, from_value, json, to_value};

    use super::*;

    #[track_caller]
    fn check<T: Serialize + DeserializeOwned + PartialEq + fmt::Debug>(value: &T, text: &str, others: &[Value]) {
        assert_eq!(to_value(value).unwrap(), text);
        for json in [json!(text)].iter().chain(others) {
            assert_eq!(&from_value::<T>(json.clone()).unwrap(), value, "{json}");
        }
    }

    #[track_caller]
    fn refused<T: DeserializeOwned + fmt::Debug>(json: &Value, reason: &str) {
        assert_eq!(from_value::<T>(json.clone()).unwrap_err().to_string(), reason);
    }

    #[test]
    fn bytes_are_digits_after_0x_and_any_spelling_is_read() {
        let root = "6142ce35237ba92eb734a5442f4d22dbc4f00c7acf88d0ab07333b60e83dd93e";
        let spellings = [json!(root), json!(root.to_uppercase()), json!(format!("0x{}", root.to_uppercase()))];
        check(&root.parse::<StateRoot>().unwrap(), &format!("0x{root}"), &spellings);
        check(&PublicKey::new([2; 33]), &format!("0x{}", "02".repeat(33)), &[]);
        check(&Signature::new([0xab; 64]), &format!("0x{}", "ab".repeat(64)), &[json!("AB".repeat(64))]);
        check(&Reserved::ZERO, &format!("0x{}", "00".repeat(128)), &[]);
        refused::<TxHash>(&json!("0xab"), "expected 64 hexadecimal digits, got 2");
        refused::<TxHash>(&json!(7), "invalid type: integer `7`, expected a string");
    }

    #[test]
    fn address_is_read_in_the_forms_that_people_use() {
        let address = Address::parse("0x4BAF5faDA8e5Db92C3d3242618c5B47133AE003C").unwrap();
        let spellings = [json!(address.to_bech32()), json!(address.to_checksum()), json!(address.to_string())];
        check(&address, "0x4baf5fada8e5db92c3d3242618c5b47133ae003c", &spellings);
        let wrong = address.to_checksum().replace("5B47", "5b47");
        let reason = format!("checksum of address is wrong, expected {}", address.to_checksum());
        refused::<Address>(&json!(wrong), &reason);
        let keys = json!({ address.to_bech32(): "1" });
        let map: std::collections::BTreeMap<Address, Qa> = from_value(keys).unwrap();
        assert_eq!(to_value(&map).unwrap(), json!({ (format!("{address:#x}")): "1" }));
    }

    #[test]
    fn numbers_are_digits_and_json_numbers_are_read() {
        check(&BlockNumber::new(7), "7", &[json!(7), json!("007")]);
        check(&Qa::MAX, "340282366920938463463374607431768211455", &[]);
        check(&Nonce::new(u64::MAX), "18446744073709551615", &[json!(u64::MAX)]);
        check(&GasPrice::new(Qa::new(2_000_000_000)), "2000000000", &[json!(2_000_000_000)]);
        check(&ChainId::MAINNET, "1", &[json!(1)]);
        check(&Version::of_chain(ChainId::TESTNET), "21823489", &[json!(21_823_489)]);
        refused::<ChainId>(&json!(65536), "expected a number up to 65535, got \"65536\"");
        refused::<Qa>(&json!("1.5 ZIL"), "expected decimal digits, got \"1.5 ZIL\"");
        refused::<Gas>(&json!(-1), "invalid type: integer `-1`, expected decimal digits");
        refused::<Gas>(&json!(1.5), "invalid type: floating point `1.5`, expected decimal digits");
        refused::<Gas>(&json!(null), "invalid type: null, expected decimal digits");
    }

    #[test]
    fn numbers_are_keys_of_maps() {
        let map = std::collections::BTreeMap::from([(BlockNumber::new(3), TxHash::ZERO)]);
        let text = serde_json::to_string(&map).unwrap();
        assert_eq!(text, format!("{{\"3\":\"{:#x}\"}}", TxHash::ZERO));
        assert_eq!(serde_json::from_str::<std::collections::BTreeMap<BlockNumber, TxHash>>(&text).unwrap(), map);
    }
}
