//! Amounts of money on the command line. The default unit is ZIL.

use silica_protocol::{AmountError, Qa};

/// Parses an amount. Without a unit, the number is in ZIL.
///
/// # Errors
///
/// The error text has the expected form.
pub(super) fn parse_amount(text: &str) -> Result<Qa, String> {
    let amount = match Qa::parse(text) {
        Err(AmountError::Unit) => Qa::parse(&format!("{text}zil")),
        amount => amount,
    };
    amount.map_err(|error| {
        if error == AmountError::Form {
            "expected an amount of ZIL, like 1.5, or with its unit, like 1.5zil, 500li or 7qa".to_owned()
        } else {
            error.to_string()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_zil_unless_they_have_a_unit() {
        for (text, expected) in [
            ("1", Ok(1_000_000_000_000)),
            ("1.5", Ok(1_500_000_000_000)),
            ("007", Ok(7_000_000_000_000)),
            ("1.5ZIL", Ok(1_500_000_000_000)),
            ("2000li", Ok(2_000_000_000)),
            ("7qa", Ok(7)),
            ("1.0000000000000", Err("expected at most 12 decimals of zil, got 13: a Qa cannot be divided")),
            ("1.", Err("expected an amount of ZIL, like 1.5, or with its unit, like 1.5zil, 500li or 7qa")),
        ] {
            assert_eq!(parse_amount(text), expected.map(Qa::new).map_err(str::to_owned), "{text}");
        }
        let long = "1".repeat(63);
        assert!(parse_amount(&long).is_err());
    }
}
