//! The room of a block, which its committees share.

use std::num::NonZeroUsize;

/// Room for transactions in a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Room {
    /// Nanoseconds of [work](silica_scilla::work).
    pub(crate) work: u64,
    /// Bytes of encoded transactions.
    pub(crate) bytes: usize,
}

impl Room {
    /// Returns the room that is left without a reserve.
    pub(crate) fn without(self, reserve: Self) -> Self {
        let Self { work, bytes } = self;
        Self { work: work.saturating_sub(reserve.work), bytes: bytes.saturating_sub(reserve.bytes) }
    }

    /// Returns the share of one of `sharers` committees.
    pub(crate) fn share(self, sharers: NonZeroUsize) -> Self {
        let count = u64::try_from(sharers.get()).unwrap_or(u64::MAX);
        Self { work: self.work.checked_div(count).unwrap_or(self.work), bytes: self.bytes / sharers }
    }
}
