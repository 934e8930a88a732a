//! Hexadecimal digits of bytes of any length, without a prefix.
//!
//! ```
//! use silica_protocol::hex;
//! assert_eq!((hex::encode([0xab, 1]), hex::encode_upper([0xab, 1])), ("ab01".to_owned(), "AB01".to_owned()));
//! assert_eq!(hex::decode("aB01"), Ok(vec![0xab, 1]));
//! assert_eq!(hex::decode("0xab").unwrap_err().to_string(), "expected a hexadecimal digit as character 2, got 'x'");
//! ```

use alloc::{string::String, vec, vec::Vec};

/// Reason why text is not hexadecimal digits of bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HexTextError {
    /// The text does not have two digits for each byte.
    #[error("expected an even number of digits, got {got}")]
    Odd {
        /// Number of given characters.
        got: usize,
    },
    /// The text does not have the length of the bytes to fill.
    #[error("expected {expected} digits, got {got}")]
    Length {
        /// Expected number of digits.
        expected: usize,
        /// Number of given characters.
        got: usize,
    },
    /// The text has a character that is not a hexadecimal digit.
    #[error("expected a hexadecimal digit as character {}, got {got:?}", position.saturating_add(1))]
    Digit {
        /// Position of the first such character, counted from 0.
        position: usize,
        /// The invalid character.
        got: char,
    },
}

/// Returns two lower-case digits for each byte.
pub fn encode(bytes: impl AsRef<[u8]>) -> String {
    text(bytes.as_ref(), b"0123456789abcdef")
}

/// Returns two upper-case digits for each byte.
pub fn encode_upper(bytes: impl AsRef<[u8]>) -> String {
    text(bytes.as_ref(), b"0123456789ABCDEF")
}

fn text(bytes: &[u8], alphabet: &[u8; 16]) -> String {
    let mut text = String::with_capacity(bytes.len().saturating_mul(2));
    for byte in bytes {
        text.extend(digits(*byte, alphabet).map(char::from));
    }
    text
}

/// Returns the digits of a byte.
#[expect(clippy::indexing_slicing, reason = "a number of four bits is below 16")]
pub(crate) fn digits(byte: u8, alphabet: &[u8; 16]) -> [u8; 2] {
    [alphabet[usize::from(byte >> 4)], alphabet[usize::from(byte & 15)]]
}

/// Reads digits in any letter case.
///
/// # Errors
///
/// [`HexTextError::Odd`] or [`HexTextError::Digit`].
pub fn decode(text: &str) -> Result<Vec<u8>, HexTextError> {
    if !text.len().is_multiple_of(2) && text.is_ascii() {
        return Err(HexTextError::Odd { got: text.len() });
    }
    let mut bytes = vec![0; text.len() / 2];
    decode_to_slice(text, &mut bytes)?;
    Ok(bytes)
}

/// Reads digits in any letter case into `bytes`. After an error, `bytes` is unchanged.
///
/// # Errors
///
/// [`HexTextError::Length`] or [`HexTextError::Digit`].
pub fn decode_to_slice(text: &str, bytes: &mut [u8]) -> Result<(), HexTextError> {
    if let Some((position, got)) = text.chars().enumerate().find(|(_, character)| !character.is_ascii_hexdigit()) {
        return Err(HexTextError::Digit { position, got });
    }
    let (pairs, rest) = text.as_bytes().as_chunks();
    if pairs.len() != bytes.len() || !rest.is_empty() {
        return Err(HexTextError::Length { expected: bytes.len().saturating_mul(2), got: text.len() });
    }
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = value(*high) << 4 | value(*low);
    }
    Ok(())
}

/// Returns the value of a hexadecimal digit, or 255 for any other character.
pub(crate) const fn value(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit.wrapping_sub(b'0'),
        b'a'..=b'f' => digit.wrapping_sub(b'a' - 10),
        b'A'..=b'F' => digit.wrapping_sub(b'A' - 10),
        _ => u8::MAX,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn errors_have_position_or_length() {
        let error = |text| decode(text).unwrap_err().to_string();
        assert_eq!(decode(""), Ok(vec![]));
        assert_eq!(error("abc"), "expected an even number of digits, got 3");
        assert_eq!(error("abXc"), "expected a hexadecimal digit as character 3, got 'X'");
        assert_eq!(error("a\u{e9}"), "expected a hexadecimal digit as character 2, got 'é'");
        assert_eq!(error("a\u{e9}b"), "expected a hexadecimal digit as character 2, got 'é'");
        assert_eq!(decode_to_slice("ab", &mut [0; 2]), Err(HexTextError::Length { expected: 4, got: 2 }));
    }

    proptest! {
        #[test]
        fn digits_are_those_of_the_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..70)) {
            prop_assert_eq!(encode(&bytes), ::hex::encode(&bytes));
            prop_assert_eq!(encode_upper(&bytes), ::hex::encode_upper(&bytes));
            prop_assert_eq!(decode(&encode(&bytes)), Ok(bytes.clone()));
            prop_assert_eq!(decode(&encode_upper(&bytes)), Ok(bytes));
        }

        #[test]
        fn arbitrary_text_is_read_as_another_reader_does(text in "[0-9a-fA-Fxé]{0,6}") {
            prop_assert_eq!(decode(&text).ok(), ::hex::decode(&text).ok());
        }
    }
}
