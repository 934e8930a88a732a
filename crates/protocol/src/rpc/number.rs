//! The rules of the C++ node for numbers: JSON numbers, and text with a number.
//!
//! Clients rely on few of these rules. But each rule decides between a result and an error, so this module has all of
//! them (Reference: interface#request, interface#decimal-number, interface#amount-in-a-request).

/// Returns the value of an integral JSON number. Returns `None` if the number has a fraction, or is outside the range
/// from -2^63 to 2^64 - 1. The JSON library of the C++ node has the same range.
///
/// # Examples
///
/// ```
/// use silica_protocol::rpc::number::integral;
/// assert_eq!(integral("1.0"), Some(1));
/// assert_eq!(integral("12e2"), Some(1200));
/// assert_eq!(integral("1.5"), None);
/// ```
pub fn integral(json: &str) -> Option<i128> {
    let (negative, unsigned) = match json.strip_prefix('-') {
        Some(unsigned) => (true, unsigned),
        None => (false, json),
    };
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = || whole.bytes().chain(fraction.bytes());
    if !digits().all(|digit| digit.is_ascii_digit()) || whole.is_empty() {
        return None;
    }
    if digits().all(|digit| digit == b'0') {
        return Some(0);
    }
    // The position of the point among the digits. An exponent outside of `i64` gives `None`, because no text has enough
    // digits to bring the number into the range.
    let point = i64::try_from(whole.len()).ok()?.checked_add(exponent.parse().ok()?)?;
    let point = usize::try_from(point).ok()?;
    if digits().skip(point).any(|digit| digit != b'0') {
        return None;
    }
    let padded = digits().chain(core::iter::repeat(b'0')).take(point);
    let mut value = 0i128;
    for digit in padded {
        value = value.checked_mul(10)?.checked_add(i128::from(digit.checked_sub(b'0')?))?;
    }
    let value = if negative { value.checked_neg()? } else { value };
    (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&value).then_some(value)
}

/// Reads an unsigned number of 64 bits like `strtoull` of C with base 0 (Reference: interface#number-of-any-base):
///
/// - The prefix `0x` means hexadecimal digits, and the prefix `0` octal digits.
/// - White space and a sign can precede the digits, and any text can follow them.
/// - A text without digits is 0. A number above 2^64 - 1 becomes 2^64 - 1, with any sign. With a minus sign, any other
///   number is subtracted from 2^64.
///
/// # Examples
///
/// ```
/// use silica_protocol::rpc::number::c_unsigned;
/// assert_eq!(c_unsigned("50"), 50);
/// assert_eq!(c_unsigned("0x32"), 50);
/// assert_eq!(c_unsigned("062"), 50);
/// assert_eq!(c_unsigned("fifty"), 0);
/// ```
pub fn c_unsigned(text: &str) -> u64 {
    let (negative, unsigned) = split_sign(text);
    let hexadecimal = unsigned.strip_prefix("0x").or(unsigned.strip_prefix("0X"));
    let (radix, digits) = match hexadecimal {
        Some(digits) if digits.starts_with(|first: char| first.is_ascii_hexdigit()) => (16, digits),
        _ if unsigned.starts_with('0') => (8, unsigned),
        _ => (10, unsigned),
    };
    match leading_number(digits, radix) {
        Number::Fits(value) if negative => value.wrapping_neg(),
        Number::Fits(value) => value,
        Number::Missing => 0,
        Number::TooLarge => u64::MAX,
    }
}

/// Reads an unsigned number of 128 bits with the rules of the C++ node for amounts and prices. The prefix `0x` means
/// hexadecimal digits, and the prefix `0` octal digits. An empty text is 0, and so is a prefix without digits. Returns
/// `None` for a text with any other character, and for a number above 2^128 - 1.
///
/// The C++ node wraps numbers above 2^128 - 1, and accepts a minus sign. No client can intend these results.
///
/// # Examples
///
/// ```
/// use silica_protocol::rpc::number::amount;
/// assert_eq!(amount("1000000000000"), Some(1_000_000_000_000));
/// assert_eq!(amount("0x10"), Some(16));
/// assert_eq!(amount("010"), Some(8));
/// assert_eq!(amount(""), Some(0));
/// assert_eq!(amount("1.5"), None);
/// ```
pub fn amount(text: &str) -> Option<u128> {
    let hexadecimal = text.strip_prefix("0x").or(text.strip_prefix("0X"));
    let (radix, digits) = match (hexadecimal, text.strip_prefix('0')) {
        (Some(digits), _) => (16, digits),
        (None, Some(digits)) => (8, digits),
        (None, None) => (10, text),
    };
    digits.chars().try_fold(0u128, |value, digit| {
        value.checked_mul(u128::from(radix))?.checked_add(u128::from(digit.to_digit(radix)?))
    })
}

/// Removes leading white space and a sign. Returns whether the sign is a minus, and the rest of the text.
fn split_sign(text: &str) -> (bool, &str) {
    let text = text.trim_start_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r']);
    match text.strip_prefix('-') {
        Some(unsigned) => (true, unsigned),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

enum Number {
    Missing,
    Fits(u64),
    TooLarge,
}

/// Reads the digits at the start of `text`.
fn leading_number(text: &str, radix: u32) -> Number {
    let mut digits = text.chars().map_while(|digit| digit.to_digit(radix)).peekable();
    if digits.peek().is_none() {
        return Number::Missing;
    }
    let value =
        digits.try_fold(0u64, |value, digit| value.checked_mul(u64::from(radix))?.checked_add(u64::from(digit)));
    value.map_or(Number::TooLarge, Number::Fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integral_numbers_have_no_fraction_and_fit_64_bits() {
        let check = |json: &str, expected: Option<i128>| assert_eq!(integral(json), expected, "{json}");
        check("0", Some(0));
        check("-0.0", Some(0));
        check("0e99999999999999999999", Some(0));
        check("7", Some(7));
        check("-7.000", Some(-7));
        check("1.20e1", Some(12));
        check("120E-1", Some(12));
        check("1e+2", Some(100));
        check("0.001e3", Some(1));
        check("18446744073709551615", Some(i128::from(u64::MAX)));
        check("-9223372036854775808", Some(i128::from(i64::MIN)));
        check("18446744073709551616", None);
        check("-9223372036854775809", None);
        check("1.5", None);
        check("125e-1", None);
        check("1e-400", None);
        check("1e400", None);
        check("1e2147483647", None);
        check("1e99999999999999999999", None);
        check("1e-99999999999999999999", None);
        check("", None);
        check("NaN", None);
    }

    #[test]
    fn c_numbers_have_an_automatic_base_and_no_errors() {
        let check = |text: &str, expected: u64| assert_eq!(c_unsigned(text), expected, "{text:?}");
        check("", 0);
        check("0", 0);
        check("0x", 0);
        check("0xg", 0);
        check("0XfF", 255);
        check("017", 15);
        check("08", 0);
        check(" \t+9z", 9);
        check("-1", u64::MAX);
        check("18446744073709551615", u64::MAX);
        check("18446744073709551616", u64::MAX);
        check("-18446744073709551616", u64::MAX);
        check("50.5", 50);
        check("٣", 0);
    }

    #[test]
    fn amounts_are_digits_throughout() {
        let check = |text: &str, expected| assert_eq!(amount(text), expected, "{text:?}");
        check("0", Some(0));
        check("340282366920938463463374607431768211455", Some(u128::MAX));
        check("340282366920938463463374607431768211456", None);
        check("0xffffffffffffffffffffffffffffffff", Some(u128::MAX));
        check("0x100000000000000000000000000000000", None);
        check("08", None);
        check("-1", None);
        check("+1", None);
        check(" 1", None);
        check("1 ", None);
        check("1e3", None);
        check("0xg", None);
    }
}
