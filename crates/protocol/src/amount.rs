//! Money in Qa, the smallest unit, with arithmetic that checks for overflow.

use alloc::{format, string::String};
use core::{fmt, iter::Sum, str::FromStr};

use crate::number::{NumberError, parse_decimal};

/// Units of [`Qa::parse`], and their decimals.
const UNITS: [(&str, u32); 3] = [("zil", 12), ("li", 6), ("qa", 0)];

/// Maximum length of the text of an amount in bytes: 39 digits, the point, a unit, and some zeros.
const MAX_AMOUNT_LEN: usize = 64;

/// Reason why text is not an amount with a unit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AmountError {
    /// The text is not digits with an optional point, followed by a unit.
    #[error("expected an amount with its unit, such as 1.5 ZIL, 2000 Li or 7 Qa")]
    Form,
    /// The text has no unit.
    #[error("expected a unit, as in 2000li, 0.002zil or 2000000000qa")]
    Unit,
    /// The text has more decimals than the unit.
    #[error("expected at most {max} decimals of {unit}, got {got}: a Qa cannot be divided")]
    Decimals {
        /// The unit in lower case.
        unit: &'static str,
        /// Number of decimals of the unit.
        max: u32,
        /// Number of decimals in the text.
        got: usize,
    },
    /// The amount exceeds [`Qa::MAX`].
    #[error("expected at most {} ZIL", Qa::MAX.display_zil())]
    Range,
}

/// An amount of money in Qa. One Li is 10^6 Qa, one Zil is 10^12 Qa.
///
/// # Examples
///
/// ```
/// use silica_protocol::Qa;
/// let amount = Qa::parse("1.5 ZIL")?;
/// assert_eq!(amount, Qa::new(1_500_000_000_000));
/// assert_eq!(Qa::parse("1500000li")?, amount);
/// assert_eq!("1500000000000".parse(), Ok(amount));
/// assert_eq!(format!("{} ZIL", amount.display_zil()), "1.5 ZIL");
/// assert_eq!(amount.to_zil_string(), "1.500000000000");
/// # Ok::<(), silica_protocol::AmountError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Qa(u128);

impl From<u128> for Qa {
    fn from(qa: u128) -> Self {
        Self(qa)
    }
}

impl From<Qa> for u128 {
    fn from(amount: Qa) -> Self {
        amount.0
    }
}

impl Sum<Qa> for Option<Qa> {
    /// Returns the sum, or `None` if it exceeds 128 bits.
    fn sum<I: Iterator<Item = Qa>>(mut amounts: I) -> Self {
        amounts.try_fold(Qa::ZERO, Qa::checked_add)
    }
}

impl Qa {
    /// The amount of 0 Qa.
    pub const ZERO: Self = Self(0);
    /// The largest amount: 2^128 - 1 Qa.
    pub const MAX: Self = Self(u128::MAX);
    /// Number of Qa in one Zil.
    pub const PER_ZIL: u128 = 1_000_000_000_000;
    /// Number of Qa in one Li.
    pub const PER_LI: u128 = 1_000_000;

    /// Wraps a number of Qa.
    pub const fn new(qa: u128) -> Self {
        Self(qa)
    }

    /// Returns the amount of a number of Zil.
    ///
    /// # Errors
    ///
    /// [`AmountError::Range`]: the amount exceeds [`Qa::MAX`].
    pub const fn from_zil(zil: u128) -> Result<Self, AmountError> {
        match zil.checked_mul(Self::PER_ZIL) {
            Some(qa) => Ok(Self(qa)),
            None => Err(AmountError::Range),
        }
    }

    /// Returns the amount of a number of Li.
    ///
    /// # Errors
    ///
    /// [`AmountError::Range`]: the amount exceeds [`Qa::MAX`].
    pub const fn from_li(li: u128) -> Result<Self, AmountError> {
        match li.checked_mul(Self::PER_LI) {
            Some(qa) => Ok(Self(qa)),
            None => Err(AmountError::Range),
        }
    }

    /// Reads an amount with its unit: digits, an optional point with decimals, an optional space, and `ZIL`, `Li` or
    /// `Qa` in any letter case. The function never rounds. [`FromStr`] reads a number of Qa without unit.
    ///
    /// # Errors
    ///
    /// [`AmountError`] names the expected form.
    pub fn parse(text: &str) -> Result<Self, AmountError> {
        if text.len() > MAX_AMOUNT_LEN {
            return Err(AmountError::Form);
        }
        let lower = text.to_ascii_lowercase();
        let split = UNITS.iter().find_map(|(unit, decimals)| Some((lower.strip_suffix(unit)?, *unit, *decimals)));
        let (number, unit, decimals) = split.unwrap_or((&lower, "", 0));
        let number = if unit.is_empty() { number } else { number.strip_suffix(' ').unwrap_or(number) };
        let (whole, part) = match number.split_once('.') {
            Some((_, "")) => return Err(AmountError::Form),
            Some(parts) => parts,
            None => (number, ""),
        };
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !is_digits(whole) || !is_digits(part) {
            return Err(AmountError::Form);
        }
        if unit.is_empty() {
            return Err(AmountError::Unit);
        }
        let missing = usize::try_from(decimals).ok().and_then(|decimals| decimals.checked_sub(part.len()));
        let missing = missing.ok_or(AmountError::Decimals { unit, max: decimals, got: part.len() })?;
        let qa = format!("{whole}{part}{}", "0".repeat(missing));
        qa.parse().map(Self).map_err(|_| AmountError::Range)
    }

    /// Returns the number of Qa.
    pub const fn get(self) -> u128 {
        self.0
    }

    /// Returns whether the amount is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Returns the sum, or `None` if it exceeds 128 bits.
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

    /// Returns the product, or `None` if it exceeds 128 bits.
    pub const fn checked_mul(self, factor: u128) -> Option<Self> {
        match self.0.checked_mul(factor) {
            Some(qa) => Some(Self(qa)),
            None => None,
        }
    }

    /// Returns the number of Qa in 16 bytes, big endian. The protobuf messages have amounts in this form.
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

    /// Returns the amount in Zil without zeros at the end, for people.
    pub fn display_zil(self) -> impl fmt::Display {
        struct Zil(Qa);

        impl fmt::Display for Zil {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.0.to_zil_string().trim_end_matches('0').trim_end_matches('.'))
            }
        }

        Zil(self)
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
    fn sums_and_products_are_checked() {
        let sum = |amounts: &[Qa]| amounts.iter().copied().sum::<Option<Qa>>();
        assert_eq!(sum(&[]), Some(Qa::ZERO));
        assert_eq!(sum(&[Qa::new(1), Qa::new(2)]), Some(Qa::new(3)));
        assert_eq!(sum(&[Qa::MAX, Qa::new(1)]), None);
        assert_eq!(Qa::new(3).checked_mul(4), Some(Qa::new(12)));
        assert_eq!(Qa::MAX.checked_mul(2), None);
    }

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
        assert_eq!(Qa::from_zil(u128::MAX), Err(AmountError::Range));
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

    #[track_caller]
    fn check_amount(text: &str, expected: u128) {
        assert_eq!(Qa::parse(text), Ok(Qa::new(expected)), "{text}");
    }

    #[test]
    fn amount_has_a_unit_in_any_letter_case() {
        check_amount("1.5zil", 1_500_000_000_000);
        check_amount("1.5 ZIL", 1_500_000_000_000);
        check_amount("0.000000000001 Zil", 1);
        check_amount("2000li", 2_000_000_000);
        check_amount("0.5 Li", 500_000);
        check_amount("7qa", 7);
        check_amount("007 Qa", 7);
        check_amount("340282366920938463463374607.431768211455 ZIL", u128::MAX);
        check_amount("340282366920938463463374607431768211455qa", u128::MAX);
        assert_eq!((Qa::from_li(2_000), Qa::from_li(u128::MAX)), (Ok(Qa::new(2_000_000_000)), Err(AmountError::Range)));
    }

    #[test]
    fn text_that_is_no_amount_is_rejected() {
        let long = format!("{}zil", "1".repeat(62));
        for text in [
            "", ".", "1.", ".5", "1.zil", ".5zil", "-1zil", "+1li", "1e3qa", "1,5zil", "1_000qa", " 1zil", "1  zil",
            "zil", " li", "1.2.3zil", "0x1qa", "١zil", "1.5q", "nan", "1 ", "zil 1", &long,
        ] {
            assert_eq!(Qa::parse(text), Err(AmountError::Form), "{text:?}");
        }
        for text in ["0", "1", "1.5", "2000000000"] {
            assert_eq!(Qa::parse(text), Err(AmountError::Unit), "{text:?}");
        }
        let decimals = |unit, max, got| Err(AmountError::Decimals { unit, max, got });
        assert_eq!(Qa::parse("1.0000000000000zil"), decimals("zil", 12, 13));
        assert_eq!(Qa::parse("1.0000000li"), decimals("li", 6, 7));
        assert_eq!(Qa::parse("1.5qa"), decimals("qa", 0, 1));
        for text in ["340282366920938463463374607.431768211456zil", "340282366920938463463374607431768211456qa"] {
            assert_eq!(Qa::parse(text), Err(AmountError::Range));
        }
        assert_eq!(AmountError::Range.to_string(), "expected at most 340282366920938463463374607.431768211455 ZIL");
    }

    #[test]
    fn displayed_zil_have_no_zeros_at_the_end() {
        let shown = |qa| Qa::new(qa).display_zil().to_string();
        assert_eq!([shown(0), shown(10_000_000_000_000), shown(1_500_000_000_000)], ["0", "10", "1.5"]);
    }

    proptest! {
        #[test]
        fn amounts_are_read_back(qa: u128) {
            let qa = Qa::new(qa);
            prop_assert_eq!(Qa::parse(&format!("{} zil", qa.display_zil())), Ok(qa));
            prop_assert_eq!(Qa::parse(&format!("{}ZIL", qa.to_zil_string())), Ok(qa));
            prop_assert_eq!(Qa::parse(&format!("{qa}qa")), Ok(qa));
        }

        #[test]
        fn no_text_panics(text in "[0-9.]{0,70}( )?(zil|li|qa|)", other: String) {
            drop((Qa::parse(&text), Qa::parse(&other)));
        }

        #[test]
        fn text_and_bytes_are_read_back(number: u128) {
            let qa = Qa::new(number);
            prop_assert_eq!(qa.to_string().parse(), Ok(qa));
            prop_assert_eq!(Qa::from_be_bytes(qa.to_be_bytes()), qa);
            prop_assert_eq!(qa.to_zil_string().replace('.', "").parse(), Ok(qa));
        }
    }
}
