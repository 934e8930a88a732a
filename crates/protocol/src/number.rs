//! Counters that do not mix: block numbers, nonces, shards and time.

use std::{fmt, num::ParseIntError, str::FromStr};

macro_rules! counter {
    ($(#[$meta:meta])* $name:ident, $int:ty) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name($int);

        impl $name {
            /// Wraps a plain number.
            pub const fn new(value: $int) -> Self {
                Self(value)
            }

            /// Returns the plain number.
            pub const fn get(self) -> $int {
                self.0
            }

            /// Returns the following number, or `None` at the end of the range.
            pub const fn next(self) -> Option<Self> {
                match self.0.checked_add(1) {
                    Some(value) => Some(Self(value)),
                    None => None,
                }
            }

            /// Returns the preceding number, or `None` at zero.
            pub const fn previous(self) -> Option<Self> {
                match self.0.checked_sub(1) {
                    Some(value) => Some(Self(value)),
                    None => None,
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = ParseIntError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                text.parse().map(Self)
            }
        }
    };
}

counter! {
    /// Number of a Tx block, counted from 0 (genesis). Also the number of a Tx epoch.
    BlockNumber, u64
}
counter! {
    /// Number of a DS block, counted from 0 (genesis). Also the number of a DS epoch.
    DsBlockNumber, u64
}
counter! {
    /// Number of transactions of an account executed so far, or, in a transaction, its place among its sender's.
    Nonce, u64
}
counter! {
    /// A virtual shard; the DS committee counts as the shard after the last.
    ShardId, u32
}
counter! {
    /// Microseconds since 1970-01-01 UTC.
    Timestamp, u64
}

impl BlockNumber {
    /// The number by which clients recognise a block that does not exist (`INIT_BLOCK_NUMBER` of the C++ node).
    pub const MISSING: Self = Self(u64::MAX);
}

impl DsBlockNumber {
    /// The number by which clients recognise a block that does not exist (`INIT_BLOCK_NUMBER` of the C++ node).
    pub const MISSING: Self = Self(u64::MAX);
}
