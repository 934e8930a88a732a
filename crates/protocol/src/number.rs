//! Counters: block numbers, nonces, shard numbers and times, each with its own type.

use alloc::string::String;
use core::{fmt, str::FromStr};

/// Reason why text is not a number of the expected type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NumberError {
    /// The text is not a sequence of decimal digits.
    #[error("expected decimal digits, got {got:?}")]
    Digits {
        /// The first 64 characters of the text.
        got: String,
    },
    /// The number is above the maximum.
    #[error("expected a number up to {max}, got {got:?}")]
    Range {
        /// The largest number of the type.
        max: u128,
        /// The first 64 characters of the text.
        got: String,
    },
}

/// Reads a number up to `max` in decimal digits, without sign, space or separator.
pub(crate) fn parse_decimal<T: TryFrom<u128> + Into<u128>>(text: &str, max: T) -> Result<T, NumberError> {
    // An error has at most 64 characters of the text, because the text can be as long as a request.
    let got = || text.chars().take(64).collect();
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(NumberError::Digits { got: got() });
    }
    let number: Option<u128> = text.parse().ok();
    number.and_then(|number| number.try_into().ok()).ok_or_else(|| NumberError::Range { max: max.into(), got: got() })
}

/// Declares a type that wraps an integer. A counter has no arithmetic except the next and previous number.
macro_rules! counter {
    ($(#[$meta:meta])* $name:ident, $int:ty) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name($int);

        impl $name {
            /// Wraps a number. All values of the integer type are valid.
            pub const fn new(value: $int) -> Self {
                Self(value)
            }

            /// Returns the number as an integer.
            pub const fn get(self) -> $int {
                self.0
            }

            /// Returns the next number, or `None` at the end of the range.
            pub const fn next(self) -> Option<Self> {
                match self.0.checked_add(1) {
                    Some(value) => Some(Self(value)),
                    None => None,
                }
            }

            /// Returns the previous number, or `None` at zero.
            pub const fn previous(self) -> Option<Self> {
                match self.0.checked_sub(1) {
                    Some(value) => Some(Self(value)),
                    None => None,
                }
            }
        }

        impl From<$int> for $name {
            fn from(value: $int) -> Self {
                Self(value)
            }
        }

        impl From<$name> for $int {
            fn from(value: $name) -> Self {
                value.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = NumberError;

            /// Reads decimal digits, without sign or space.
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                parse_decimal(text, <$int>::MAX).map(Self)
            }
        }
    };
}

counter! {
    /// Number of a Tx block, counted from 0 (genesis). Also the number of a Tx epoch.
    ///
    /// # Examples
    ///
    /// ```
    /// use silica_protocol::BlockNumber;
    /// let number: BlockNumber = "3167".parse()?;
    /// assert_eq!(number.next(), Some(BlockNumber::new(3168)));
    /// assert_eq!(number.to_string(), "3167");
    /// # Ok::<(), silica_protocol::NumberError>(())
    /// ```
    BlockNumber, u64
}
counter! {
    /// Number of a DS block, counted from 0 (genesis). Also the number of a DS epoch.
    DsBlockNumber, u64
}
counter! {
    /// Nonce of a transaction or of an account. The next transaction of an account has the nonce of the account plus 1.
    /// The nonce of an account starts at 0, unless the genesis sets it. A developer can also increase it with an edit.
    Nonce, u64
}
counter! {
    /// Number of a shard. The DS committee has the number after the last shard.
    ShardId, u32
}
counter! {
    /// Microseconds since 1970-01-01 UTC.
    Timestamp, u64
}

impl BlockNumber {
    /// The number in the block that the C++ node returns if the requested block does not exist (`INIT_BLOCK_NUMBER`).
    pub const MISSING: Self = Self(u64::MAX);
}

impl DsBlockNumber {
    /// The number in the block that the C++ node returns if the requested block does not exist (`INIT_BLOCK_NUMBER`).
    pub const MISSING: Self = Self(u64::MAX);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_decimal_digits() {
        assert_eq!("007".parse(), Ok(Nonce::new(7)));
        assert_eq!(BlockNumber::MISSING.to_string().parse(), Ok(BlockNumber::MISSING));
        assert_eq!("+7".parse::<Nonce>(), Err(NumberError::Digits { got: "+7".to_owned() }));
        let got = "4294967296".to_owned();
        assert_eq!(got.parse::<ShardId>(), Err(NumberError::Range { max: u32::MAX.into(), got }));
    }

    #[test]
    fn neighbours_end_at_the_range() {
        assert_eq!(BlockNumber::new(4).next(), Some(BlockNumber::new(5)));
        assert_eq!(BlockNumber::new(4).previous(), Some(BlockNumber::new(3)));
        assert_eq!(BlockNumber::MISSING.next(), None);
        assert_eq!(Nonce::new(0).previous(), None);
    }

    #[test]
    fn errors_say_what_was_expected_and_what_came() {
        let message = |text: &str| text.parse::<ShardId>().unwrap_err().to_string();
        assert_eq!(message("x"), "expected decimal digits, got \"x\"");
        assert_eq!(message("4294967296"), "expected a number up to 4294967295, got \"4294967296\"");
    }
}
