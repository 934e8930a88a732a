//! The work of built-in functions in nanoseconds, above the work that their gas covers.

use super::serialize::serialized_len;
use crate::{
    value::{Integer, Map, Value},
    work::weight,
};

/// Largest work for the length of the arguments, in nanoseconds, that the gas of any call covers. A digit of a block
/// number counts as one nanosecond.
const SHORT: u64 = 256;

/// Returns the work for the lengths of texts, bytes and digits, or 0 if it is at most [`SHORT`]. A map lookup counts
/// the lengths once for each level of the map.
pub(super) fn long(arguments: &[Value]) -> u64 {
    let length = |value: &Value| match value {
        Value::BNum(number) => (number.len() as u64).saturating_mul(weight::DIGIT),
        Value::ByStr(bytes) | Value::ByStrX(bytes) => (bytes.len() as u64).saturating_mul(weight::BYTE),
        Value::String(text) => (text.len() as u64).saturating_mul(weight::BYTE),
        Value::Adt(_)
        | Value::Closure(_)
        | Value::Integer(_)
        | Value::Map(_)
        | Value::Message(_)
        | Value::TypeClosure(_) => 0,
    };
    let long = arguments.iter().map(length).fold(0, u64::saturating_add);
    if long <= SHORT {
        return 0;
    }
    let entries = arguments.first().and_then(Value::as_map).map_or(0, Map::len);
    long.saturating_mul(u64::from(entries.checked_ilog2().unwrap_or(0)).saturating_add(1))
}

fn hash(arguments: &[Value], byte: u64) -> u64 {
    arguments.iter().map(serialized_len).fold(0, u64::saturating_add).saturating_mul(byte).saturating_add(weight::HASH)
}

pub(super) fn keccak256(arguments: &[Value]) -> u64 {
    hash(arguments, weight::KECCAK256_BYTE)
}

pub(super) fn ripemd160(arguments: &[Value]) -> u64 {
    hash(arguments, weight::RIPEMD160_BYTE)
}

pub(super) fn sha256(arguments: &[Value]) -> u64 {
    hash(arguments, weight::SHA256_BYTE)
}

/// Returns the work of a signature, including the hash of the message.
pub(super) fn signature(arguments: &[Value]) -> u64 {
    sha256(arguments).saturating_add(weight::SIGNATURE)
}

/// Returns the work of an addition to a block number, with the conversion of the new digits to text. Returns 0 for at
/// most [`SHORT`] digits.
pub(super) fn badd(arguments: &[Value]) -> u64 {
    let digits = match arguments.first() {
        Some(Value::BNum(number)) => number.len() as u64,
        Some(_) | None => 0,
    };
    if digits <= SHORT { 0 } else { digits.saturating_mul(weight::NEW_DIGIT) }
}

/// Returns the work of a conversion to `Nat`. The size of the result is proportional to the converted number.
pub(super) fn to_nat(arguments: &[Value]) -> u64 {
    let number = arguments.first().and_then(Value::as_integer).and_then(Integer::to_u32);
    u64::from(number.unwrap_or(0)).saturating_mul(weight::NUMERAL)
}

pub(super) fn pairings(arguments: &[Value]) -> u64 {
    let pairs = arguments.iter().map(|list| list.elements().count() as u64).fold(0, u64::saturating_add);
    pairs.saturating_mul(weight::PAIR).saturating_add(weight::PAIRING)
}
