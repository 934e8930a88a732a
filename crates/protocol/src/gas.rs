//! Gas, gas prices, and fees in Qa.

use core::{fmt, str::FromStr};

use crate::{
    amount::Qa,
    number::{NumberError, parse_decimal},
};

/// An amount of gas, in gas units.
///
/// # Examples
///
/// ```
/// use silica_protocol::{Gas, GasPrice, Qa};
/// let gas: Gas = "50".parse()?;
/// let price = GasPrice::new(Qa::new(2_000_000_000));
/// assert_eq!(gas.checked_cost(price).unwrap().to_zil_string(), "0.100000000000");
/// # Ok::<(), silica_protocol::NumberError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gas(u64);

impl Gas {
    /// The amount of 0 gas units.
    pub const ZERO: Self = Self(0);

    /// Wraps a number of gas units.
    pub const fn new(units: u64) -> Self {
        Self(units)
    }

    /// Returns the number of gas units.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the sum, or `None` if it exceeds 64 bits.
    pub const fn checked_add(self, other: Self) -> Option<Self> {
        match self.0.checked_add(other.0) {
            Some(units) => Some(Self(units)),
            None => None,
        }
    }

    /// Returns the difference, or `None` if `other` is larger.
    pub const fn checked_sub(self, other: Self) -> Option<Self> {
        match self.0.checked_sub(other.0) {
            Some(units) => Some(Self(units)),
            None => None,
        }
    }

    /// Returns the fee for this gas at `price`, or `None` if it exceeds 128 bits.
    pub fn checked_cost(self, price: GasPrice) -> Option<Qa> {
        u128::from(self.0).checked_mul(price.get().get()).map(Qa::new)
    }
}

impl From<u64> for Gas {
    fn from(units: u64) -> Self {
        Self(units)
    }
}

impl From<Gas> for u64 {
    fn from(gas: Gas) -> Self {
        gas.0
    }
}

impl fmt::Display for Gas {
    /// Writes the number of gas units in decimal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Gas {
    type Err = NumberError;

    /// Reads a number of gas units in decimal digits, without sign or space.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse_decimal(text, u64::MAX).map(Self)
    }
}

/// A gas price: Qa per gas unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GasPrice(Qa);

impl GasPrice {
    /// Wraps a price in Qa per gas unit.
    pub const fn new(qa: Qa) -> Self {
        Self(qa)
    }

    /// Returns the price in Qa per gas unit.
    pub const fn get(self) -> Qa {
        self.0
    }
}

impl From<Qa> for GasPrice {
    fn from(qa: Qa) -> Self {
        Self(qa)
    }
}

impl From<GasPrice> for Qa {
    fn from(price: GasPrice) -> Self {
        price.0
    }
}

impl fmt::Display for GasPrice {
    /// Writes the number of Qa in decimal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for GasPrice {
    type Err = NumberError;

    /// Reads a number of Qa in decimal digits, without sign, space or unit.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_is_gas_times_price() {
        let price = GasPrice::new(Qa::new(2_000_000_000));
        assert_eq!(Gas::new(50).checked_cost(price), Some(Qa::new(100_000_000_000)));
        assert_eq!(Gas::ZERO.checked_cost(GasPrice::new(Qa::MAX)), Some(Qa::ZERO));
        assert_eq!(Gas::new(1).checked_cost(GasPrice::new(Qa::MAX)), Some(Qa::MAX));
        assert_eq!(Gas::new(2).checked_cost(GasPrice::new(Qa::MAX)), None);
    }

    #[test]
    fn arithmetic_is_checked() {
        assert_eq!(Gas::new(u64::MAX).checked_add(Gas::new(1)), None);
        assert_eq!(Gas::new(1).checked_sub(Gas::new(2)), None);
        assert_eq!(Gas::new(3).checked_add(Gas::new(4)), Some(Gas::new(7)));
        assert_eq!(Gas::new(3).checked_sub(Gas::new(3)), Some(Gas::ZERO));
    }

    #[test]
    fn text_is_decimal_digits() {
        assert_eq!("18446744073709551615".parse(), Ok(Gas::new(u64::MAX)));
        let got = "18446744073709551616".to_owned();
        assert_eq!(got.parse::<Gas>(), Err(NumberError::Range { max: u64::MAX.into(), got }));
        assert_eq!("-1".parse::<Gas>(), Err(NumberError::Digits { got: "-1".to_owned() }));
        assert_eq!("7".parse(), Ok(GasPrice::new(Qa::new(7))));
        assert_eq!(GasPrice::new(Qa::new(7)).to_string(), "7");
    }
}
