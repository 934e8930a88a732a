//! The one macro that declares byte newtypes: parsing, formatting and conversion in one place.

use std::fmt;

/// Reason why text is not the hexadecimal form of a fixed number of bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HexError {
    /// The text does not have two digits for each byte.
    #[error("expected {expected} hexadecimal digits, got {got}")]
    Length {
        /// Digits that were expected.
        expected: usize,
        /// Characters that came, the optional `0x` left out.
        got: usize,
    },
    /// The text holds a character that is not a hexadecimal digit.
    #[error("character {position} is not a hexadecimal digit")]
    Digit {
        /// Position of the first wrong character, counted from 0 after the optional `0x`.
        position: usize,
    },
}

/// Returns `text` without a leading `0x`.
pub(crate) fn strip_prefix(text: &str) -> &str {
    text.strip_prefix("0x").unwrap_or(text)
}

/// Reads exactly `N` bytes of hexadecimal text in any letter case, with or without `0x`.
pub(crate) fn from_hex<const N: usize>(text: &str) -> Result<[u8; N], HexError> {
    let digits = strip_prefix(text);
    if digits.len() != 2 * N {
        return Err(HexError::Length { expected: 2 * N, got: digits.chars().count() });
    }
    let mut bytes = [0; N];
    match hex::decode_to_slice(digits, &mut bytes) {
        Ok(()) => Ok(bytes),
        Err(_) => {
            Err(HexError::Digit { position: digits.bytes().position(|byte| !byte.is_ascii_hexdigit()).unwrap_or(0) })
        }
    }
}

pub(crate) fn fmt_lower(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

pub(crate) fn fmt_upper(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02X}"))
}

/// Declares a newtype over `[u8; N]`.
///
/// `Display`, `Debug` and `LowerHex` print lower-case hexadecimal without prefix, `UpperHex` upper case;
/// `FromStr` takes any letter case and an optional `0x`.
macro_rules! fixed_bytes {
    ($(#[$meta:meta])* $name:ident, $len:literal) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; $len]);

        impl $name {
            /// Length in bytes.
            pub const LEN: usize = $len;
            /// The value whose bytes are all zero.
            pub const ZERO: Self = Self([0; $len]);

            /// Wraps raw bytes.
            pub const fn new(bytes: [u8; $len]) -> Self {
                Self(bytes)
            }

            /// Copies a slice, or returns `None` when its length is not [`Self::LEN`].
            pub fn from_slice(bytes: &[u8]) -> Option<Self> {
                bytes.try_into().ok().map(Self)
            }

            /// Borrows the raw bytes.
            pub const fn as_bytes(&self) -> &[u8; $len] {
                &self.0
            }

            /// Returns the raw bytes.
            pub const fn to_bytes(self) -> [u8; $len] {
                self.0
            }

            /// Whether every byte is zero.
            pub fn is_zero(&self) -> bool {
                self.0 == [0; $len]
            }
        }

        impl AsRef<[u8]> for $name {
            fn as_ref(&self) -> &[u8] {
                &self.0
            }
        }

        impl std::fmt::LowerHex for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                $crate::bytes::fmt_lower(&self.0, f)
            }
        }

        impl std::fmt::UpperHex for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                $crate::bytes::fmt_upper(&self.0, f)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                $crate::bytes::fmt_lower(&self.0, f)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::bytes::HexError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $crate::bytes::from_hex(text).map(Self)
            }
        }
    };
}
pub(crate) use fixed_bytes;
