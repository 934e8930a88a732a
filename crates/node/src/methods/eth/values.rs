//! Numbers, money and bytes in the text forms of Ethereum.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use silica_protocol::Qa;

/// Wei for each Qa. With this factor, one Zil is 10^18 wei, as one ether is.
const WEI: u64 = 1_000_000;

/// A number as `0x` and hexadecimal digits without leading zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Quantity(u64);

impl From<u64> for Quantity {
    fn from(number: u64) -> Self {
        Self(number)
    }
}

/// An amount of money in wei, in the text form of a [`Quantity`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wei {
    /// The amount is `high` × 2^64 + `low`.
    high: u128,
    low: u64,
}

impl From<Qa> for Wei {
    fn from(amount: Qa) -> Self {
        // Neither product overflows: the factors have at most 64 and 20 bits.
        let [high, low] = [amount.get() >> 64, amount.get() & u128::from(u64::MAX)];
        let low = low.saturating_mul(WEI.into());
        let high = high.saturating_mul(WEI.into()).saturating_add(low >> 64);
        Self { high, low: u64::try_from(low & u128::from(u64::MAX)).unwrap_or_default() }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl fmt::Display for Wei {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.high {
            0 => write!(f, "{:#x}", self.low),
            high => write!(f, "{high:#x}{:016x}", self.low),
        }
    }
}

/// Bytes as `0x` and hexadecimal digits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bytes(Vec<u8>);

impl Bytes {
    /// Returns the bytes.
    pub(super) fn as_slice(&self) -> &[u8] {
        &self.0
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{}", hex::encode(&self.0))
    }
}

macro_rules! written {
    ($($name:ident $pattern:literal)*) => {
        $(impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                concat!("Eth", stringify!($name)).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "pattern": $pattern })
            }
        })*
    };
}

written! {
    Quantity "^0x(0|[1-9a-f][0-9a-f]*)$"
    Wei "^0x(0|[1-9a-f][0-9a-f]*)$"
    Bytes "^0x([0-9a-f]{2})*$"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_no_leading_noughts() {
        let check = |number: u64, expected: &str| assert_eq!(Quantity(number).to_string(), expected);
        check(0, "0x0");
        check(0x80de, "0x80de");
        check(u64::MAX, "0xffffffffffffffff");
    }

    #[test]
    fn money_is_a_million_times_as_many_wei() {
        let check = |qa: u128, expected: &str| assert_eq!(Wei::from(Qa::new(qa)).to_string(), expected, "{qa}");
        check(0, "0x0");
        check(1, "0xf4240");
        check(1_000_000_000_000, "0xde0b6b3a7640000");
        check(2_000_000_000, "0x71afd498d0000");
        check(900_000_000_000_000_000_000_000, "0xb5c0e8d21d902d61fa0000000");
        // 2^64 and 2^128 - 1, times 10^6.
        check(1 << 64, "0xf42400000000000000000");
        check(u128::MAX, "0xf423ffffffffffffffffffffffffffff0bdc0");
    }
}
