//! Money in Qa, the smallest unit, with arithmetic that checks for overflow.

use std::{fmt, str::FromStr};

use crate::number::{NumberError, parse_decimal};

/// An amount of money in Qa. One Li is 10^6 Qa, one Zil is 10^12 Qa.
///
/// # Examples
///
/// ```
/// use silica_protocol::Qa;
/// let amount: Qa = "1500000000000".parse()?;
/// assert_eq!(amount, Qa::from_zil(1).unwrap().checked_add(Qa::new(500_000_000_000)).unwrap());
/// assert_eq!(amount.to_zil_string(), "1.500000000000");
/// # Ok::<(), silica_protocol::NumberError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Qa(u128);

impl Qa {
    /// The amount of 0 Qa.
    pub const ZERO: Self = Self(0);
    /// The largest amount: 2^128 - 1 Qa.
    pub const MAX: Self = Self(u128::MAX);
    /// Number of Qa in one Zil.
    pub const PER_ZIL: u128 = 1_000_000_000_000;

    /// Wraps a number of Qa.
    pub const fn new(qa: u128) -> Self {
        Self(qa)
    }

    /// Returns the amount in Qa for a number of Zil, or `None` if it does not fit 128 bits.
    pub const fn from_zil(zil: u128) -> Option<Self> {
        match zil.checked_mul(Self::PER_ZIL) {
            Some(qa) => Some(Self(qa)),
            None => None,
        }
    }

    /// Returns the number of Qa.
    pub const fn get(self) -> u128 {
        self.0
    }

    /// Returns whether the amount is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Returns the sum, or `None` if it does not fit 128 bits.
    pub const fn checked_add(self, other: Self) -> Option<Self> {
        match self.0.checked_add(other.0) {
            Some(qa) => Some(Self(qa)),
            None => None,
        }
    }

    /// Returns the difference, or `None` if `other` is larger.
    pub const fn checked_sub(self, other: Self) -> Option<Self> {
        match self.0.checked_sub(other.0) {
            Some(qa) => Some(Self(qa)),
            None => None,
        }
    }

    /// Returns 16 bytes, big endian. All formats of the protocol have amounts in this form.
    pub const fn to_be_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }

    /// Reads 16 bytes, big endian.
    pub const fn from_be_bytes(bytes: [u8; 16]) -> Self {
        Self(u128::from_be_bytes(bytes))
    }

    /// Returns the amount in Zil with exactly 12 decimals.
    pub fn to_zil_string(self) -> String {
        format!("{}.{:012}", self.0 / Self::PER_ZIL, self.0 % Self::PER_ZIL)
    }
}

impl fmt::Display for Qa {
    /// Writes the number of Qa in decimal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Qa {
    type Err = NumberError;

    /// Reads a number of Qa in decimal digits, without sign, space or unit.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse_decimal(text, u128::MAX).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_is_decimal_digits() {
        assert_eq!("0".parse(), Ok(Qa::ZERO));
        assert_eq!("340282366920938463463374607431768211455".parse(), Ok(Qa::MAX));
        for text in ["", "+1", "-1", " 1", "1 ", "0x1", "1_000", "1.0", "1e3", "١"] {
            assert_eq!(text.parse::<Qa>(), Err(NumberError::Digits { got: text.to_owned() }));
        }
        let got = "340282366920938463463374607431768211456".to_owned();
        assert_eq!(got.parse::<Qa>(), Err(NumberError::Range { max: u128::MAX, got }));
    }

    #[test]
    fn errors_carry_the_beginning_of_long_text() {
        let Err(NumberError::Range { got, .. }) = "9".repeat(1_000_000).parse::<Qa>() else { panic!() };
        assert_eq!(got.len(), 64);
        let Err(NumberError::Digits { got }) = "é".repeat(1_000_000).parse::<Qa>() else { panic!() };
        assert_eq!(got.chars().count(), 64);
    }

    #[test]
    fn arithmetic_is_checked() {
        assert_eq!(Qa::MAX.checked_add(Qa::new(1)), None);
        assert_eq!(Qa::MAX.checked_add(Qa::ZERO), Some(Qa::MAX));
        assert_eq!(Qa::ZERO.checked_sub(Qa::new(1)), None);
        assert_eq!(Qa::new(5).checked_sub(Qa::new(5)), Some(Qa::ZERO));
        assert_eq!(Qa::from_zil(u128::MAX), None);
        assert!(Qa::ZERO.is_zero());
        assert!(!Qa::new(1).is_zero());
    }

    #[test]
    fn zil_have_twelve_decimals() {
        let check = |qa, expected: &str| assert_eq!(Qa::new(qa).to_zil_string(), expected);
        check(0, "0.000000000000");
        check(1, "0.000000000001");
        check(13_452_081_092_277_490_607_172, "13452081092.277490607172");
        check(u128::MAX, "340282366920938463463374607.431768211455");
    }

    proptest! {
        #[test]
        fn text_and_bytes_are_read_back(number: u128) {
            let qa = Qa::new(number);
            prop_assert_eq!(qa.to_string().parse(), Ok(qa));
            prop_assert_eq!(Qa::from_be_bytes(qa.to_be_bytes()), qa);
            prop_assert_eq!(qa.to_zil_string().replace('.', "").parse(), Ok(qa));
        }
    }
}
