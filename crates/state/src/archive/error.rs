//! The errors of the record.

use std::io;

use silica_protocol::{BlockHash, BlockNumber, DsBlockNumber, PublicKey};

use super::section::Place;
use crate::{codec::Malformed, db::DbError};

/// Reason why a query for blocks or transactions failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// An operation of the storage engine failed.
    #[error(transparent)]
    Db(#[from] DbError),
    /// A stored value is missing, or differs from the written value.
    #[error("damaged record: {place}: {reason}")]
    Damaged {
        /// The damaged value.
        place: Place,
        /// Description of the damage.
        reason: String,
    },
    /// A read, flush or removal of the files of state diffs failed.
    #[error("cannot read, flush or remove the files of state diffs")]
    Changes(#[source] io::Error),
    /// The block is in an empty block range, and the store has no signer that can sign the block with the key of the
    /// range.
    #[error("cannot sign block {number} without the secret key of {member}")]
    NoSeal {
        /// Number of the Tx block in the empty block range.
        number: BlockNumber,
        /// Public key of the missing signer.
        member: PublicKey,
    },
}

impl ArchiveError {
    /// Returns whether stored data are damaged.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Db(error) => error.is_damage(),
            Self::Damaged { .. } => true,
            Self::Changes(_) | Self::NoSeal { .. } => false,
        }
    }

    /// Returns whether the operation failed because a revert or a recovery of the store retired its handle.
    pub const fn is_retired(&self) -> bool {
        matches!(self, Self::Db(DbError::Retired))
    }

    pub(crate) fn damaged(place: Place, reason: impl Into<String>) -> Self {
        Self::Damaged { place, reason: reason.into() }
    }

    pub(super) fn malformed(place: Place) -> impl Fn(Malformed) -> Self {
        move |malformed| Self::damaged(place, malformed.to_string())
    }
}

/// Reason why the record was not opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenArchiveError {
    /// Data of the record cannot be read or written.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The record ends before the newest acknowledged block.
    #[error("acknowledged blocks are missing: the record ends {}, but block {witnessed} was acknowledged", end(.head.as_ref()))]
    LostBlocks {
        /// The newest acknowledged block, from the head marker.
        witnessed: BlockNumber,
        /// The newest block of the record. `None` if the record has no blocks.
        head: Option<BlockNumber>,
    },
    /// The record and the head marker have different hashes for the newest acknowledged block.
    #[error("block {number} of the record: expected the acknowledged hash {expected}, got {got}")]
    OtherBlock {
        /// Number of the newest acknowledged block.
        number: BlockNumber,
        /// Hash of the acknowledged block, from the head marker.
        expected: BlockHash,
        /// Hash of the block in the record.
        got: BlockHash,
    },
    /// A later version of this program wrote the record.
    #[error("expected a record of format {supported} or lower, got format {got}")]
    Newer {
        /// Format number of the record.
        got: u64,
        /// Highest format number that this program reads.
        supported: u64,
    },
    /// A read of the files of state diffs failed.
    #[error("cannot read the files of state diffs")]
    Changes(#[source] io::Error),
    /// A read, the creation, or a write of the head marker failed.
    #[error("cannot read or write the head marker {}", path.display())]
    HeadMarker {
        /// Path of the head marker.
        path: std::path::PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

fn end(head: Option<&BlockNumber>) -> String {
    head.map_or_else(|| "before block 0".to_owned(), |number| format!("at block {number}"))
}

/// Reason why a block was not appended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AppendError {
    /// The record cannot be written, or the previous block cannot be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// An earlier write or flush failed, or the record was shut. The caller must open the record again.
    #[error("the record rejects blocks after a failed write; open the record again")]
    Broken,
    /// The number of the given block is not the number after the newest block.
    #[error("expected block {expected}, got {got}")]
    Number {
        /// The number after the newest block.
        expected: BlockNumber,
        /// Number of the given block.
        got: BlockNumber,
    },
    /// The previous block hash of the given block is not the hash of the newest block.
    #[error("expected previous block hash {expected}, got {got}")]
    PrevHash {
        /// Hash of the newest block.
        expected: BlockHash,
        /// Previous block hash of the given block.
        got: BlockHash,
    },
    /// The number of the given DS block is not the number after the newest DS block.
    #[error("expected DS block {expected}, got {got}")]
    DsNumber {
        /// The number after the newest DS block.
        expected: DsBlockNumber,
        /// Number of the given DS block.
        got: DsBlockNumber,
    },
    /// A single block needs one state diff, and got another number of them.
    #[error("block {number}: expected one state diff, got {got}")]
    BlockChanges {
        /// Number of the block to append.
        number: BlockNumber,
        /// Number of the given state diffs.
        got: usize,
    },
    /// The given state diffs do not belong to the given empty block range, or their number is wrong. A range needs one
    /// diff for each vacuous block.
    #[error(
        "expected the state diffs of the vacuous blocks of the empty block range from {first}, got state diffs of other blocks"
    )]
    RangeChanges {
        /// The first block of the range.
        first: BlockNumber,
    },
    /// The given block is block 0, and has no DS block.
    #[error("expected DS block 0 together with Tx block 0, got no DS block")]
    NoDsBlock,
    /// The parts of the block do not match each other.
    #[error("the micro blocks, the transactions and the Tx block do not match in {what}")]
    Inconsistent {
        /// Name of the parts that differ.
        what: &'static str,
    },
    /// The blocks have more transactions, bytes, fees or range parts than the record can store.
    #[error("block has too many {what}")]
    TooLarge {
        /// Name of the count that is too large.
        what: &'static str,
    },
    /// A write of the state diff to its file failed.
    #[error("cannot write the state diff")]
    Changes(#[source] io::Error),
    /// The head marker cannot be written. The block is on disk, but it is not acknowledged.
    #[error("cannot write the head marker")]
    HeadMarker(#[source] io::Error),
}
