//! Amounts of money on the command line. The default unit is ZIL. The client rejects an amount that is not a whole
//! number of Qa.

use std::fmt;

use silica_protocol::Qa;

/// The units that an amount can end with, and the number of decimals of each unit.
const UNITS: [(&str, u32); 3] = [("zil", 12), ("li", 6), ("qa", 0)];

/// Maximum length of an amount, in bytes: 27 digits of ZIL, the point, 12 decimals, and some zeros.
const LONGEST: usize = 64;

/// Reason why a text is not an amount.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AmountError {
    /// The text is not digits with an optional point and a unit.
    #[error("expected an amount of ZIL, like 1.5, or with its unit, like 1.5zil, 500li or 7qa")]
    Form,
    /// The text has more decimals than its unit has.
    #[error("expected at most {most} decimals of {unit}, got {got}: a Qa cannot be divided")]
    Decimals {
        /// Name of the unit.
        unit: &'static str,
        /// The number of decimals of the unit.
        most: u32,
        /// The number of decimals in the text.
        got: usize,
    },
    /// The text has no unit, where a unit is required.
    #[error("expected a unit, as in 2000li, 0.002zil or 2000000000qa")]
    Unit,
    /// The amount in Qa is 2^128 or more.
    #[error("expected at most {} ZIL", Zil(Qa::MAX))]
    Range,
}

/// Parses an amount: digits, an optional point with decimals, and an optional unit in any letter case.
///
/// # Errors
///
/// [`AmountError`] has the expected form.
pub(super) fn parse_amount(text: &str) -> Result<Qa, AmountError> {
    if text.len() > LONGEST {
        return Err(AmountError::Form);
    }
    let lower = text.to_ascii_lowercase();
    let with_unit = UNITS.iter().find_map(|(unit, decimals)| Some((lower.strip_suffix(unit)?, *unit, *decimals)));
    let (number, unit, decimals) = with_unit.unwrap_or((&lower, "zil", 12));
    let (whole, part) = match number.split_once('.') {
        Some((_, "")) => return Err(AmountError::Form),
        Some(parts) => parts,
        None => (number, ""),
    };
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_digits(whole) || !is_digits(part) {
        return Err(AmountError::Form);
    }
    let missing = usize::try_from(decimals).ok().and_then(|decimals| decimals.checked_sub(part.len()));
    let missing = missing.ok_or(AmountError::Decimals { unit, most: decimals, got: part.len() })?;
    let qa = format!("{whole}{part}{}", "0".repeat(missing));
    qa.parse().map(Qa::new).map_err(|_| AmountError::Range)
}

/// Parses a gas price, which is an amount with its unit. Prices in Li, Qa and ZIL are all common. A wrong unit would
/// change the price by a factor of at least 10^6.
///
/// # Errors
///
/// [`AmountError`] has the expected form.
pub(super) fn parse_price(text: &str) -> Result<Qa, AmountError> {
    let price = parse_amount(text)?;
    if text.ends_with(|last: char| last.is_ascii_digit()) { Err(AmountError::Unit) } else { Ok(price) }
}

/// An amount that is shown in ZIL, without zeros at the end.
pub(super) struct Zil(pub(super) Qa);

impl fmt::Display for Zil {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.to_zil_string();
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: u128) {
        assert_eq!(parse_amount(text), Ok(Qa::new(expected)), "{text}");
    }

    #[test]
    fn amounts_are_zil_unless_a_unit_is_named() {
        check("1", 1_000_000_000_000);
        check("1.5", 1_500_000_000_000);
        check("0.000000000001", 1);
        check("1.5zil", 1_500_000_000_000);
        check("1.5ZIL", 1_500_000_000_000);
        check("2000li", 2_000_000_000);
        check("0.5Li", 500_000);
        check("7qa", 7);
        check("0", 0);
        check("007", 7_000_000_000_000);
        check("340282366920938463463374607.431768211455", u128::MAX);
        check("340282366920938463463374607431768211455qa", u128::MAX);
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        let long = "1".repeat(65);
        for text in [
            "", ".", "1.", ".5", "-1", "+1", "1e3", "1,5", "1_000", " 1", "1 zil", "zil", "1.2.3", "0x1", "١", "1.5q",
            "nan", &long,
        ] {
            assert_eq!(parse_amount(text), Err(AmountError::Form), "{text:?}");
        }
        let decimals = |unit, most, got| Err(AmountError::Decimals { unit, most, got });
        assert_eq!(parse_amount("1.0000000000000"), decimals("zil", 12, 13));
        assert_eq!(parse_amount("1.0000000li"), decimals("li", 6, 7));
        assert_eq!(parse_amount("1.5qa"), decimals("qa", 0, 1));
        for text in ["340282366920938463463374607.431768211456", "340282366920938463463374607431768211456qa"] {
            assert_eq!(parse_amount(text), Err(AmountError::Range));
        }
        assert_eq!(AmountError::Range.to_string(), "expected at most 340282366920938463463374607.431768211455 ZIL");
    }

    #[test]
    fn prices_name_their_unit() {
        for (text, expected) in [
            ("2000li", Ok(2_000_000_000)),
            ("0.002zil", Ok(2_000_000_000)),
            ("2000000000QA", Ok(2_000_000_000)),
            ("2", Err(AmountError::Unit)),
            ("0.002", Err(AmountError::Unit)),
            ("0", Err(AmountError::Unit)),
            ("", Err(AmountError::Form)),
            ("li", Err(AmountError::Form)),
        ] {
            assert_eq!(parse_price(text), expected.map(Qa::new), "{text}");
        }
    }

    #[test]
    fn zil_have_no_noughts_at_the_end() {
        let shown = |qa| Zil(Qa::new(qa)).to_string();
        assert_eq!([shown(0), shown(10_000_000_000_000), shown(1_500_000_000_000)], ["0", "10", "1.5"]);
    }

    proptest! {
        #[test]
        fn amounts_are_read_back(qa: u128) {
            let qa = Qa::new(qa);
            prop_assert_eq!(parse_amount(&Zil(qa).to_string()), Ok(qa));
            prop_assert_eq!(parse_amount(&qa.to_zil_string()), Ok(qa));
            prop_assert_eq!(parse_amount(&format!("{qa}qa")), Ok(qa));
        }

        #[test]
        fn no_text_panics(text in "[0-9.]{0,70}(zil|li|qa|)", other: String) {
            drop((parse_amount(&text), parse_amount(&other)));
        }
    }
}
