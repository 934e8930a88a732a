//! The macro that declares types with a fixed number of bytes, and its functions for hexadecimal text.

use alloc::{
    format,
    string::{String, ToString},
};
use core::fmt;

use crate::hex::{digits, value};

/// Reason why text is not the hexadecimal form of a fixed number of bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HexError {
    /// The text does not have two digits for each byte.
    #[error("expected {expected} hexadecimal digits, got {got}")]
    Length {
        /// Expected number of digits.
        expected: usize,
        /// Number of given characters, without the optional `0x`.
        got: usize,
    },
    /// The text has a character that is not a hexadecimal digit.
    #[error("expected a hexadecimal digit as character {}, got {got:?}", position.saturating_add(1))]
    Digit {
        /// Position of the first invalid character, counted from 0 after the optional `0x`.
        position: usize,
        /// The invalid character.
        got: char,
    },
}

impl HexError {
    /// Returns the expected value, for an error text.
    pub fn expected(&self) -> String {
        match self {
            Self::Length { expected, .. } => format!("{expected} hexadecimal digits"),
            Self::Digit { position, .. } => format!("a hexadecimal digit as character {}", position.saturating_add(1)),
        }
    }

    /// Returns the given value, for an error text.
    pub fn got(&self) -> String {
        match self {
            Self::Length { got, .. } => format!("{got} characters"),
            Self::Digit { got, .. } => got.to_string(),
        }
    }
}

/// Returns `text` without a leading `0x`.
pub(crate) fn strip_prefix(text: &str) -> &str {
    text.strip_prefix("0x").unwrap_or(text)
}

/// Reads exactly `N` bytes of hexadecimal text in any letter case, with or without `0x`.
pub(crate) fn from_hex<const N: usize>(text: &str) -> Result<[u8; N], HexError> {
    let digits = strip_prefix(text);
    if let Some(bytes) = decode(digits.as_bytes()) {
        return Ok(bytes);
    }
    let (expected, got) = (N.saturating_mul(2), digits.chars().count());
    match digits.chars().enumerate().find(|(_, digit)| !digit.is_ascii_hexdigit()) {
        Some((position, digit)) if got == expected => Err(HexError::Digit { position, got: digit }),
        Some(_) | None => Err(HexError::Length { expected, got }),
    }
}

/// Reads two digits for each byte without a branch, because requests have many hexadecimal digits. Returns `None` for
/// another length, or another character.
fn decode<const N: usize>(digits: &[u8]) -> Option<[u8; N]> {
    let (pairs, rest) = digits.as_chunks();
    let (mut bytes, mut all) = ([0; N], 0);
    if pairs.len() != N || !rest.is_empty() {
        return None;
    }
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        let (high, low) = (value(*high), value(*low));
        all |= high | low;
        *byte = high << 4 | low;
    }
    (all < 16).then_some(bytes)
}

/// Writes lower-case hexadecimal, with `0x` in the alternate form.
pub(crate) fn fmt_lower(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    fmt_hex(bytes, f, b"0123456789abcdef")
}

/// Writes upper-case hexadecimal, with `0x` in the alternate form.
pub(crate) fn fmt_upper(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    fmt_hex(bytes, f, b"0123456789ABCDEF")
}

/// Writes up to 128 digits at once, because responses have many digits, and each call of a formatter is slow.
fn fmt_hex(bytes: &[u8], f: &mut fmt::Formatter<'_>, alphabet: &[u8; 16]) -> fmt::Result {
    if f.alternate() {
        f.write_str("0x")?;
    }
    let mut buffer = [[0; 2]; 64];
    for chunk in bytes.chunks(64) {
        let (pairs, _) = buffer.split_at_mut(chunk.len());
        for (pair, byte) in pairs.iter_mut().zip(chunk) {
            *pair = digits(*byte, alphabet);
        }
        f.write_str(core::str::from_utf8(pairs.as_flattened()).expect("digits are ASCII"))?;
    }
    Ok(())
}

/// Declares a type that wraps `[u8; N]`.
///
/// `Display`, `Debug` and `LowerHex` write lower-case hexadecimal digits without prefix. `UpperHex` writes upper-case
/// digits. The alternate forms `{:#}`, `{:#x}` and `{:#X}` begin with `0x`. `FromStr` accepts digits in any letter
/// case, with an optional `0x`.
macro_rules! fixed_bytes {
    ($(#[$meta:meta])* $name:ident, $len:literal) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; $len]);

        impl $name {
            /// Number of bytes of each value.
            pub const LEN: usize = $len;
            /// The value whose bytes are all zero.
            pub const ZERO: Self = Self([0; $len]);

            /// Wraps bytes without a check.
            pub const fn new(bytes: [u8; $len]) -> Self {
                Self(bytes)
            }

            /// Returns a reference to the bytes.
            pub const fn as_bytes(&self) -> &[u8; $len] {
                &self.0
            }

            /// Returns a copy of the bytes.
            pub const fn to_bytes(self) -> [u8; $len] {
                self.0
            }

            /// Returns whether all bytes are zero.
            pub fn is_zero(&self) -> bool {
                self.0 == [0; $len]
            }
        }

        impl Default for $name {
            /// Returns [`Self::ZERO`].
            fn default() -> Self {
                Self::ZERO
            }
        }

        impl From<[u8; $len]> for $name {
            fn from(bytes: [u8; $len]) -> Self {
                Self(bytes)
            }
        }

        impl From<$name> for [u8; $len] {
            fn from(value: $name) -> Self {
                value.0
            }
        }

        impl TryFrom<&[u8]> for $name {
            type Error = core::array::TryFromSliceError;

            /// Copies a slice whose length is [`Self::LEN`].
            fn try_from(bytes: &[u8]) -> Result<Self, Self::Error> {
                bytes.try_into().map(Self)
            }
        }

        impl AsRef<[u8]> for $name {
            fn as_ref(&self) -> &[u8] {
                &self.0
            }
        }

        impl core::fmt::LowerHex for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                $crate::bytes::fmt_lower(&self.0, f)
            }
        }

        impl core::fmt::UpperHex for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                $crate::bytes::fmt_upper(&self.0, f)
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                $crate::bytes::fmt_lower(&self.0, f)
            }
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }

        impl core::str::FromStr for $name {
            type Err = $crate::bytes::HexError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $crate::bytes::from_hex(text).map(Self)
            }
        }
    };
}
pub(crate) use fixed_bytes;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::address::Address;

    /// Returns 40 characters that end with `tail`.
    fn forty(tail: &str) -> String {
        format!("{tail:0>40}")
    }

    #[track_caller]
    fn check_refused(text: &str, expected: &HexError) {
        assert_eq!(text.parse::<Address>().as_ref(), Err(expected));
    }

    #[test]
    fn text_is_read_in_any_case_with_or_without_prefix() {
        let mut bytes = [0; 20];
        bytes[17..].copy_from_slice(&[0xbc, 0xde, 0xf0]);
        for digits in ["bcdef0", "BCDEF0", "bCdEf0"] {
            assert_eq!(forty(digits).parse(), Ok(Address::new(bytes)));
            assert_eq!(format!("0x{}", forty(digits)).parse(), Ok(Address::new(bytes)));
        }
    }

    #[test]
    fn errors_have_length_or_position() {
        let length = |got| HexError::Length { expected: 40, got };
        check_refused("", &length(0));
        check_refused("0x", &length(0));
        check_refused(&forty("")[1..], &length(39));
        check_refused(&format!("0{}", forty("")), &length(41));
        // The parser removes one lower-case prefix only.
        check_refused(&format!("0x0x{}", forty("")), &length(42));
        check_refused(&format!("0X{}", forty("")), &length(42));
        check_refused(&forty("g"), &HexError::Digit { position: 39, got: 'g' });
        check_refused(&forty(" 0"), &HexError::Digit { position: 38, got: ' ' });
        // The first text has 40 bytes but fewer characters, and the second has 40 characters but more bytes.
        check_refused(&format!("{}é€", "0".repeat(35)), &length(37));
        check_refused(&forty("é"), &HexError::Digit { position: 39, got: 'é' });
    }

    #[test]
    fn bytes_are_printed_as_digits() {
        let address: Address = forty("abcd1f").parse().unwrap();
        let (lower, upper) = (forty("abcd1f"), forty("ABCD1F"));
        assert_eq!(address.to_string(), lower);
        assert_eq!(format!("{address:x} {address:X}"), format!("{lower} {upper}"));
        assert_eq!(format!("{address:#x} {address:#}"), format!("0x{lower} 0x{lower}"));
        assert_eq!(format!("{address:?} {address:#?}"), format!("Address({lower}) Address({lower})"));
    }

    #[test]
    fn slices_must_have_the_length() {
        assert_eq!(Address::try_from(&[1; 20][..]).unwrap(), Address::new([1; 20]));
        assert!(Address::try_from(&[1; 19][..]).is_err());
        assert!(Address::try_from(&[1; 21][..]).is_err());
        assert_eq!(<[u8; 20]>::from(Address::from([1; 20])), [1; 20]);
        assert_eq!(Address::default(), Address::ZERO);
        assert!(Address::ZERO.is_zero());
        assert!(!Address::try_from(&[&[0; 19][..], &[1]].concat()[..]).unwrap().is_zero());
    }

    proptest! {
        #[test]
        fn digits_are_those_of_the_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            struct Digits<'a>(&'a [u8]);
            impl fmt::LowerHex for Digits<'_> {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    fmt_lower(self.0, f)
                }
            }
            impl fmt::UpperHex for Digits<'_> {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    fmt_upper(self.0, f)
                }
            }
            let digits = Digits(&bytes);
            prop_assert_eq!(format!("{digits:x}"), hex::encode(&bytes));
            prop_assert_eq!(format!("{digits:X}"), hex::encode_upper(&bytes));
            prop_assert_eq!(format!("{digits:#x}"), format!("0x{}", hex::encode(&bytes)));
            prop_assert_eq!(format!("{digits:#X}"), format!("0x{}", hex::encode_upper(&bytes)));
        }

        #[test]
        fn arbitrary_text_does_not_panic(text in "(0x)?[0-9a-fA-Fé]{0,12}") {
            if let Ok(bytes) = from_hex::<4>(&text) {
                prop_assert_eq!(hex::encode(bytes), strip_prefix(&text).to_lowercase());
            }
        }
    }
}
