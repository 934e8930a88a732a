//! The verdict of a member on an entry of another member.

use std::sync::Arc;

use silica_chain::{InvalidBlock, scilla::rules::Rules};
use silica_protocol::{BlockNumber, DecodeError, Timestamp};

use crate::entry::{EntryId, Height, SealError};

/// An entry: its id, and its canonical bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The id, on which members vote.
    pub id: EntryId,
    /// The canonical bytes.
    pub bytes: Arc<[u8]>,
}

/// Whether the clock of the member matters for a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The first proposal of the entry: the proposer names no earlier round with a quorum of prevotes.
    FirstProposal {
        /// Round of the height.
        round: u32,
        /// The clock of the member.
        now: Timestamp,
    },
    /// A proposal that names an earlier round with a quorum of prevotes for the entry.
    Repeated {
        /// The clock of the member.
        now: Timestamp,
    },
    /// A decided or stored entry. A quorum has accepted its timestamp, so the clock of one member does not matter.
    Accepted,
}

/// The verdict of a member on an entry.
#[derive(Debug)]
pub enum Verdict {
    /// The entry is valid at the next height of this member.
    Valid(EntryId),
    /// The entry is invalid. Every correct member with the same chain and network file has this verdict, at all times.
    Invalid {
        /// The id that the bytes have.
        id: EntryId,
        /// The reason.
        reason: InvalidEntry,
    },
    /// The timestamp is in the future. The caller judges the entry again at this time.
    Later(Timestamp),
    /// The member has no verdict, and does not vote for the entry in this round.
    Withheld(Withheld),
}

/// Reason why an entry is invalid.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidEntry {
    /// The bytes are not the canonical bytes of an entry at this height, or exceed a limit.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The timestamp is not after the head.
    #[error("Body.timestamp: expected later than {head}, got {got}")]
    Timestamp {
        /// Timestamp of the head.
        head: Timestamp,
        /// Timestamp of the body.
        got: Timestamp,
    },
    /// The body has other Scilla rules than the network file of this member gives its block.
    #[error(
        "Body.scilla_rules: expected {expected} in block {block}, as in the network file of this member, got {got}"
    )]
    Rules {
        /// The block.
        block: BlockNumber,
        /// The rules of the block in the network file.
        expected: Rules,
        /// The rules of the body.
        got: Rules,
    },
    /// The body is not the next block of the chain.
    #[error(transparent)]
    Block(#[from] InvalidBlock),
    /// The committee did not sign the decided body.
    #[error(transparent)]
    Seal(#[from] SealError),
}

/// Reason why a member has no verdict. Another member can have a verdict, and this member can have one later.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Withheld {
    /// The height is not the next height of this member.
    #[error("height: expected {}, got {got}", due(*.expected))]
    Height {
        /// The next height; `None` at the end of the range.
        expected: Option<Height>,
        /// The height of the entry.
        got: Height,
    },
    /// The timestamp is too old for a first proposal.
    #[error("Body.timestamp: expected a time near the clock {now}, got {got}")]
    Old {
        /// The clock of the member.
        now: Timestamp,
        /// Timestamp of the body.
        got: Timestamp,
    },
    /// The body has no transactions, is not vacuous, and the longest time without a block is not over.
    #[error("Body.transactions: expected at least one before {due}, got none")]
    Empty {
        /// The earliest timestamp of a body without transactions.
        due: Timestamp,
    },
    /// This node could not execute the body, for example because its disk failed.
    #[error("failed to execute the body")]
    Chain(#[source] InvalidBlock),
}

/// Returns the text of the next height in an error.
pub(super) fn due(height: Option<Height>) -> String {
    height.map_or_else(|| "none at the end of the range".to_owned(), |height| height.to_string())
}
