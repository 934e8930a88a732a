//! The block mode, which decides when a node makes blocks (`--block-mode`, `silica_setBlockMode`).

use std::{fmt, str::FromStr, time::Duration};

use silica_chain::config::{NoncePolicy, Numbering};

/// The events that cause a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockMode {
    /// A block for each transaction, before the node acknowledges the transaction.
    Instant,
    /// As in `Instant`, and an empty block at regular intervals.
    InstantAndInterval(Duration),
    /// A block at regular intervals, even if it is empty.
    Interval(Duration),
    /// A block when a client requests it, for example with `IncreaseBlocknum`.
    Manual,
    /// As in `Instant`, but only requested blocks (`IncreaseBlocknum`) increment the logical block number. The isolated
    /// server of the reference does the same with `-t 0`.
    ManualImmediate,
    /// A block when the committee of a network agrees on it.
    Committee,
}

impl BlockMode {
    /// Returns which nonces the chain accepts. The result is `at_once` in modes with a block for each transaction. In
    /// the other modes, transactions with a nonce gap stay in the pool.
    pub(crate) const fn nonces(self, at_once: NoncePolicy) -> NoncePolicy {
        match self {
            Self::Instant | Self::InstantAndInterval(_) | Self::ManualImmediate => at_once,
            Self::Interval(_) | Self::Manual | Self::Committee => NoncePolicy::Queue,
        }
    }

    /// Returns which blocks increment the logical block number.
    pub(crate) const fn numbering(self) -> Numbering {
        match self {
            Self::ManualImmediate => Numbering::OnDemand,
            Self::Instant | Self::InstantAndInterval(_) | Self::Interval(_) | Self::Manual | Self::Committee => {
                Numbering::EveryBlock
            }
        }
    }

    /// Returns whether the node makes a block for each transaction before it acknowledges the transaction.
    pub(crate) const fn is_instant(self) -> bool {
        matches!(self, Self::Instant | Self::InstantAndInterval(_) | Self::ManualImmediate)
    }

    /// Returns the time between two blocks of a regular interval; `None` if the mode has no interval.
    pub(crate) const fn interval(self) -> Option<Duration> {
        match self {
            Self::InstantAndInterval(interval) | Self::Interval(interval) => Some(interval),
            Self::Instant | Self::Manual | Self::ManualImmediate | Self::Committee => None,
        }
    }
}

impl fmt::Display for BlockMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Instant => f.write_str("instant"),
            Self::InstantAndInterval(interval) => write!(f, "instant+interval={}", interval.as_millis()),
            Self::Interval(interval) => write!(f, "interval={}", interval.as_millis()),
            Self::Manual => f.write_str("manual"),
            Self::ManualImmediate => f.write_str("manual-immediate"),
            Self::Committee => f.write_str("committee"),
        }
    }
}

/// The text is not a block mode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected instant, interval=MS or instant+interval=MS with 1 to 86400000 milliseconds, manual, or manual-immediate, got {got:?}"
)]
pub struct BlockModeError {
    got: String,
}

impl FromStr for BlockMode {
    type Err = BlockModeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let interval = |digits: &str| {
            let milliseconds = digits.parse().ok().filter(|ms| (1..=86_400_000).contains(ms));
            milliseconds.map(Duration::from_millis)
        };
        match (text, text.split_once('=')) {
            ("instant", _) => Some(Self::Instant),
            ("manual", _) => Some(Self::Manual),
            ("manual-immediate", _) => Some(Self::ManualImmediate),
            (_, Some(("interval", digits))) => interval(digits).map(Self::Interval),
            (_, Some(("instant+interval", digits))) => interval(digits).map(Self::InstantAndInterval),
            _ => None,
        }
        .ok_or_else(|| BlockModeError { got: text.chars().take(64).collect() })
    }
}
