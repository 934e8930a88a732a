//! Removal of secret keys from texts.

/// Minimum number of hexadecimal digits of a text that may be a secret key. A key has 64 digits, but a user can omit or
/// repeat some by mistake. An address has 40 digits, and stays visible.
const LIKE_A_KEY: usize = 48;

/// Returns the text without parts that may be secret keys. A user can type a key in a wrong place.
pub(crate) fn hide_keys(text: &str) -> String {
    let is_digit = |c: char| c.is_ascii_hexdigit();
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_digit) {
        let (before, digits) = rest.split_at(start);
        let (digits, after) = digits.split_at(digits.find(|c| !is_digit(c)).unwrap_or(digits.len()));
        shown.push_str(before);
        shown.push_str(if digits.len() < LIKE_A_KEY { digits } else { "(hidden, as it may be a key)" });
        rest = after;
    }
    shown.push_str(rest);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "e53d1c3edaffc7a7bab5418eb836cf75819a82872b4a1a0f1c7fcf5c3e020b89";

    #[test]
    fn text_that_may_be_a_key_is_hidden() {
        const HIDDEN: &str = "(hidden, as it may be a key)";
        let check = |text: &str, expected: &str| assert_eq!(hide_keys(text), expected);
        check("", "");
        check("invalid value 'x' for 'é'", "invalid value 'x' for 'é'");
        check(&KEY[..40], &KEY[..40]);
        check(KEY, HIDDEN);
        check(&format!("'0X{}0' [a", KEY.to_uppercase()), &format!("'0X{HIDDEN}' [a"));
        check(&format!("key={},{KEY}é", &KEY[..48]), &format!("key={HIDDEN},{HIDDEN}é"));
    }
}
