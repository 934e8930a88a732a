//! Functions for strings: length, reversal and conversions.

use super::{MISUSE, Refusal};
use crate::{
    types::{Primitive, Type},
    value::{Hex, Value, is_text_byte},
};

fn size_of_one(arguments: &[Value], fits: fn(&Value) -> bool) -> Option<u64> {
    match arguments {
        [of] if fits(of) => Some(of.size()),
        _ => None,
    }
}

pub(super) fn strlen_cost(arguments: &[Value]) -> Option<u64> {
    size_of_one(arguments, |of| matches!(of, Value::String(_) | Value::ByStr(_)))
}

pub(super) fn strlen(arguments: &[Value]) -> Result<Value, Refusal> {
    let length = match arguments {
        [Value::String(text)] => text.len(),
        [Value::ByStr(bytes)] => bytes.len(),
        _ => return Err(MISUSE),
    };
    Ok(Value::from(u32::try_from(length).unwrap_or(u32::MAX)))
}

pub(super) fn strrev_cost(arguments: &[Value]) -> Option<u64> {
    size_of_one(arguments, |of| matches!(of, Value::String(_) | Value::ByStr(_) | Value::ByStrX(_)))
}

pub(super) fn strrev(arguments: &[Value]) -> Result<Value, Refusal> {
    match arguments {
        [Value::String(text)] => Ok(Value::of_text(text.chars().rev().collect::<String>())),
        [Value::ByStr(bytes)] => Ok(Value::ByStr(bytes.iter().rev().copied().collect())),
        [Value::ByStrX(bytes)] => Ok(Value::ByStrX(bytes.iter().rev().copied().collect())),
        _ => Err(MISUSE),
    }
}

pub(super) fn to_string_cost(arguments: &[Value]) -> Option<u64> {
    size_of_one(arguments, |of| matches!(of, Value::Integer(_) | Value::ByStr(_) | Value::ByStrX(_)))
}

pub(super) fn to_string(arguments: &[Value]) -> Result<Value, Refusal> {
    match arguments {
        [Value::Integer(integer)] => Ok(Value::of_text(integer.to_string())),
        [Value::ByStr(bytes) | Value::ByStrX(bytes)] => Ok(Value::of_text(Hex(bytes).to_string())),
        _ => Err(MISUSE),
    }
}

pub(super) fn to_ascii_cost(arguments: &[Value]) -> Option<u64> {
    size_of_one(arguments, |of| matches!(of, Value::ByStr(_) | Value::ByStrX(_)))
}

pub(super) fn to_ascii(arguments: &[Value]) -> Result<Value, Refusal> {
    let [Value::ByStr(bytes) | Value::ByStrX(bytes)] = arguments else { return Err(MISUSE) };
    match std::str::from_utf8(bytes) {
        Ok(text) if bytes.iter().copied().all(is_text_byte) => Ok(Value::of_text(text)),
        _ => Err(Refusal::Text("String.to_ascii: Not printable")),
    }
}

pub(super) fn from_bech32_cost(arguments: &[Value]) -> Option<u64> {
    match arguments {
        [prefix @ Value::String(_), address @ Value::String(_)] => Some(4 * (prefix.size() + address.size())),
        _ => None,
    }
}

pub(super) fn from_bech32(arguments: &[Value]) -> Result<Value, Refusal> {
    let [Value::String(prefix), Value::String(address)] = arguments else { return Err(MISUSE) };
    let bytes = (**prefix == *bech32::PREFIX).then(|| bech32::decode(address)).flatten();
    Ok(Value::option(Type::bystr(20), bytes.map(Value::bystrx)))
}

pub(super) fn to_bech32_cost(arguments: &[Value]) -> Option<u64> {
    match arguments {
        [prefix @ Value::String(_), address @ Value::ByStrX(bytes)] if bytes.len() == 20 => {
            Some(4 * (prefix.size() + address.size()))
        }
        _ => None,
    }
}

pub(super) fn to_bech32(arguments: &[Value]) -> Result<Value, Refusal> {
    let [Value::String(prefix), Value::ByStrX(bytes)] = arguments else { return Err(MISUSE) };
    let text = (**prefix == *bech32::PREFIX).then(|| bech32::encode(bytes));
    Ok(Value::option(Type::Primitive(Primitive::String), text.map(Value::of_text)))
}

/// Bech32 as in the reference: one prefix, and then letters in lower, upper or mixed case.
mod bech32 {
    pub(super) const PREFIX: &str = "zil";
    const ALPHABET: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
    /// The prefix in the input of the checksum: the high bits of each letter, a zero, and the low bits.
    const EXPANDED: [u8; 7] = [3, 3, 3, 0, 26, 9, 12];
    const CHECKSUM: usize = 6;

    fn polymod(values: impl Iterator<Item = u8>) -> u32 {
        const GENERATOR: [u32; 5] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
        values.fold(1, |sum, value| {
            let top = sum >> 25;
            let shifted = (sum & 0x01ff_ffff) << 5 ^ u32::from(value);
            (GENERATOR.iter().enumerate().filter(|(bit, _)| top >> bit & 1 == 1))
                .fold(shifted, |sum, (_, part)| sum ^ part)
        })
    }

    /// Regroups bits from groups of `from` bits into groups of `to` bits. The last group is padded with zeros.
    fn regroup(values: impl Iterator<Item = u8>, from: u32, to: u32) -> Vec<u8> {
        let (mut kept, mut bits, mut groups) = (0_u32, 0, Vec::new());
        for value in values {
            kept = kept << from | u32::from(value);
            bits += from;
            while bits >= to {
                bits -= to;
                groups.push(u8::try_from(kept >> bits & ((1 << to) - 1)).unwrap_or(u8::MAX));
            }
            kept &= (1 << bits) - 1;
        }
        if bits > 0 {
            groups.push(u8::try_from(kept << (to - bits)).unwrap_or(u8::MAX));
        }
        groups
    }

    pub(super) fn decode(address: &str) -> Option<Vec<u8>> {
        let data = address.strip_prefix(PREFIX)?.strip_prefix('1')?;
        let place = |letter: u8| ALPHABET.iter().position(|known| *known == letter.to_ascii_lowercase());
        let values: Option<Vec<u8>> = data.bytes().map(|letter| u8::try_from(place(letter)?).ok()).collect();
        let values = values.filter(|values| values.len() == 32 + CHECKSUM)?;
        let (payload, _) = values.split_at_checked(32)?;
        let right = polymod(EXPANDED.into_iter().chain(values.iter().copied())) == 1;
        right.then(|| regroup(payload.iter().copied(), 5, 8))
    }

    pub(super) fn encode(bytes: &[u8]) -> String {
        let payload = regroup(bytes.iter().copied(), 8, 5);
        let padded = EXPANDED.into_iter().chain(payload.iter().copied()).chain([0; CHECKSUM]);
        let sum = polymod(padded) ^ 1;
        let checksum = (0..CHECKSUM).rev().map(|place| (sum >> (5 * place) & 31) as u8);
        let letters = payload.iter().copied().chain(checksum);
        let text: String =
            letters.filter_map(|value| ALPHABET.get(usize::from(value)).copied()).map(char::from).collect();
        format!("{PREFIX}1{text}")
    }
}
