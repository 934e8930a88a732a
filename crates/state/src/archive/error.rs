//! The errors of the record.

use std::io;

use silica_protocol::{BlockHash, BlockNumber, DsBlockNumber, PublicKey};

use super::section::Place;
use crate::{codec::Malformed, db::DbError};

/// Reason why a query for blocks or transactions failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// The engine failed.
    #[error(transparent)]
    Db(#[from] DbError),
    /// A stored value is missing or differs from the written value.
    #[error("damaged record: {place}: {reason}")]
    Damaged {
        /// The damaged value.
        place: Place,
        /// The fault.
        reason: String,
    },
    /// The files of the changes of state can not be read or removed.
    #[error("changes of state")]
    Changes(#[source] io::Error),
    /// The block is in an empty block range, and the key that signs it is missing.
    #[error("block {number} is signed when it is asked for, and the key of {member} is not there")]
    NoSeal {
        /// Number of the Tx block.
        number: BlockNumber,
        /// The key that must sign it.
        member: PublicKey,
    },
}

impl ArchiveError {
    /// Returns whether the error means damage of stored data, and not a failure to read them.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Db(error) => error.is_damage(),
            Self::Damaged { .. } => true,
            Self::Changes(_) | Self::NoSeal { .. } => false,
        }
    }

    /// Returns whether the chain was reverted to an earlier block during the read.
    pub const fn is_retired(&self) -> bool {
        matches!(self, Self::Db(DbError::Retired))
    }

    pub(super) fn damaged(place: Place, reason: impl Into<String>) -> Self {
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
    /// Data that opening needs can not be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The record ends before a block that was acknowledged.
    #[error("acknowledged blocks are missing: the record ends {}, but block {witnessed} was acknowledged", end(.head.as_ref()))]
    LostBlocks {
        /// The newest block that was acknowledged.
        witnessed: BlockNumber,
        /// The newest block of the record.
        head: Option<BlockNumber>,
    },
    /// The newest block is not the one that was acknowledged under its number.
    #[error("block {number} is {got}, but {expected} was acknowledged under this number")]
    OtherBlock {
        /// Number of the block.
        number: BlockNumber,
        /// Hash of the block that was acknowledged.
        expected: BlockHash,
        /// Hash of the block in the record.
        got: BlockHash,
    },
    /// The record was written by a later version of this program.
    #[error("record has format {got}, this program reads up to {supported}")]
    Newer {
        /// Format of the record.
        got: u64,
        /// Newest format that can be read.
        supported: u64,
    },
    /// The files of the changes of state can not be read.
    #[error("changes of state")]
    Changes(#[source] io::Error),
    /// The witness file can not be read or made.
    #[error("witness file {}", path.display())]
    HeadMarker {
        /// The file.
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
    /// The record could not be written, or the block before could not be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// An earlier append failed. Which of its data the engine has is unknown until the record is opened again.
    #[error("record takes no more blocks since one failed to be written")]
    Broken,
    /// The block does not follow the newest one.
    #[error("expected block {expected}, got {got}")]
    Number {
        /// Number of the block that may be appended.
        expected: BlockNumber,
        /// Number of the block that came.
        got: BlockNumber,
    },
    /// The block names another block as the one before it.
    #[error("expected a block after {expected}, got one after {got}")]
    PrevHash {
        /// Hash of the newest block.
        expected: BlockHash,
        /// Hash that the block names.
        got: BlockHash,
    },
    /// The DS block does not follow the newest one.
    #[error("expected DS block {expected}, got {got}")]
    DsNumber {
        /// Number of the DS block that may be appended.
        expected: DsBlockNumber,
        /// Number of the DS block that came.
        got: DsBlockNumber,
    },
    /// A run changes the state in other blocks than it was given changes for.
    #[error("run of blocks from {first} and its changes of state do not fit")]
    RangeChanges {
        /// The first block of the run.
        first: BlockNumber,
    },
    /// The first block came without a DS block.
    #[error("block 0 comes with DS block 0")]
    NoDsBlock,
    /// The parts of the block do not belong together.
    #[error("micro blocks, transactions and Tx block disagree on {what}")]
    Inconsistent {
        /// The value on which they disagree.
        what: &'static str,
    },
    /// The block has more transactions or bytes than the record can number.
    #[error("block has too many {what}")]
    TooLarge {
        /// The values that are too many.
        what: &'static str,
    },
    /// The state diff could not be written to its file.
    #[error("changes of state")]
    Changes(#[source] io::Error),
    /// The witness file could not be written. The block is on disk, but it is not acknowledged.
    #[error("witness file")]
    HeadMarker(#[source] io::Error),
}
