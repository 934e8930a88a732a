//! The errors of the store, one type for each operation with errors of its own.

use std::{io, path::PathBuf, sync::Arc};

use silica_protocol::{Address, BlockNumber, StateRoot};

use crate::{
    archive::{AppendError, ArchiveError, OpenArchiveError},
    db::DbError,
    version::Version,
};

/// Reason why a query of the state failed, or why a change of it was not computed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// The engine failed.
    #[error(transparent)]
    Db(#[from] DbError),
    /// A value of the derived database is missing, or its hash differs from the hash in its parent. The next opening
    /// rebuilds the database.
    #[error("damaged state: {what}: {reason}")]
    Damaged {
        /// The damaged value.
        what: String,
        /// The fault.
        reason: &'static str,
    },
    /// The view is of a block that is no longer kept.
    #[error("the state of this block is no longer kept")]
    Expired,
    /// A change of storage is of an account that is not a contract.
    #[error("storage of {address} is changed, which is not a contract")]
    NotContract {
        /// The account.
        address: Address,
    },
    /// A change of storage has the key of another contract.
    #[error("storage of {address} is changed under the key of another contract: {key}")]
    ForeignKey {
        /// The contract.
        address: Address,
        /// The key.
        key: String,
    },
    /// A single entry of contract storage is too large to be stored.
    #[error("entry of {bytes} bytes is too large to be stored")]
    TooLarge {
        /// Its size, that of its key included.
        bytes: usize,
    },
    /// The derived database was written by a later version of this program.
    #[error("derived state has layout {got}, this program reads up to {supported}")]
    NewerLayout {
        /// Layout of the database.
        got: u8,
        /// Newest layout that can be read.
        supported: u8,
    },
    /// The record of blocks can not be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The record's change of state of a block can not be read.
    #[error("malformed change of state of block {number}")]
    MalformedDiff {
        /// The block.
        number: BlockNumber,
    },
    /// Writing a checkpoint panicked.
    #[error("writing a checkpoint panicked")]
    CheckpointPanicked,
}

impl StateError {
    /// Returns whether the chain was reverted to an earlier block during the read.
    pub const fn is_retired(&self) -> bool {
        matches!(self, Self::Db(DbError::Retired) | Self::Archive(ArchiveError::Db(DbError::Retired)))
    }

    /// Whether the error shows that the derived database is damaged, as opposed to unreachable or out of date.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Db(error) => error.is_damage(),
            Self::Damaged { .. } => true,
            Self::Expired
            | Self::NotContract { .. }
            | Self::ForeignKey { .. }
            | Self::TooLarge { .. }
            | Self::NewerLayout { .. }
            | Self::Archive(_)
            | Self::MalformedDiff { .. }
            | Self::CheckpointPanicked => false,
        }
    }
}

/// Reason why there is no view of the state after a block.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// The block is not there yet.
    #[error("there is no such block yet{}", newest(*.head))]
    Future {
        /// The newest block.
        head: Option<BlockNumber>,
    },
    /// The block has left the window.
    #[error("the state of this block is no longer kept, the earliest is {earliest}")]
    Expired {
        /// The oldest block whose state is kept.
        earliest: BlockNumber,
    },
    /// The state was to be computed again after a restart, and could not be.
    #[error(transparent)]
    State(#[from] StateError),
}

impl HistoryError {
    /// The state is not kept; those from version `earliest` on are.
    pub(crate) fn expired(earliest: Version) -> Self {
        Self::Expired { earliest: BlockNumber::new(earliest.saturating_sub(1)) }
    }
}

fn newest(head: Option<BlockNumber>) -> String {
    head.map_or_else(String::new, |head| format!(", the newest is {head}"))
}

/// Reason why a block was not committed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommitError {
    /// The block could not be appended to the record.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// The state was prepared on top of another block than the newest.
    #[error("state was prepared for block {prepared}, the next one is {expected}")]
    Stale {
        /// The block that it was prepared for.
        prepared: BlockNumber,
        /// The block that is to be committed next.
        expected: BlockNumber,
    },
    /// The header has another state root.
    #[error("state root is {expected} in the header, and {got} of the state")]
    Root {
        /// Root in the header.
        expected: StateRoot,
        /// Root of the state that was prepared.
        got: StateRoot,
    },
    /// The state is being computed again from the blocks of the record, and has not reached the newest.
    #[error("the state is being rebuilt and is at block {at:?} of {head}")]
    Replaying {
        /// The newest block that was replayed.
        at: Option<BlockNumber>,
        /// The newest block of the record.
        head: BlockNumber,
    },
    /// There is nothing to replay.
    #[error("the state is that of the newest block, nothing is to be replayed")]
    NotReplaying,
    /// The record could not be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The newest checkpoint could not be written, and no block is accepted since, for the changes are held in memory.
    #[error("state could not be written")]
    Checkpoint(#[source] Arc<StateError>),
}

/// Reason why a store did not revert to an earlier block.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RevertError {
    /// The block is not one of the chain, or not one at which a store can end.
    #[error("block {number} is not one to which the chain can be taken back")]
    NotThere {
        /// Number of the block.
        number: BlockNumber,
    },
    /// The newest checkpoint could not be written, or is of a later block.
    #[error("the state of block {number} is no longer kept")]
    Passed {
        /// Number of the block.
        number: BlockNumber,
    },
    /// There are blocks that are not flushed, or the state is behind the blocks.
    #[error("the store is in the middle of something else")]
    Busy,
    /// The blocks could not be read. Nothing was changed.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The blocks after it could not be removed. Nothing can be written until the store is opened again, at either end.
    #[error("the blocks after it could not be removed")]
    Append(#[source] AppendError),
    /// The blocks after it were removed, and the store could not be opened again.
    #[error("the store could not be opened again")]
    Open(#[from] OpenError),
}

impl RevertError {
    /// Returns whether the store is unchanged and continues to work.
    pub const fn leaves_store(&self) -> bool {
        match self {
            Self::NotThere { .. } | Self::Passed { .. } | Self::Busy | Self::Archive(_) => true,
            Self::Append(_) | Self::Open(_) => false,
        }
    }
}

/// Reason why a store did not recover from a failed write. An attempt does not touch acknowledged blocks, and the next
/// attempt may succeed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecoverError {
    /// The disk has no space even for the writes of an opening. Reads still work.
    #[error("there is no room to write to {}", path.display())]
    NoRoom {
        /// Where it was tried.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The state is damaged, or its writer panicked. The next opening in another process rebuilds the state if
    /// necessary.
    #[error("state cannot be written until it is opened by another process")]
    Damaged(#[source] Arc<StateError>),
    /// The newest acknowledged block is not in the record.
    #[error("block {number} was acknowledged, but is not in the record")]
    Lost {
        /// Number of the block.
        number: BlockNumber,
    },
    /// An engine could not be opened again.
    #[error(transparent)]
    Db(#[from] DbError),
    /// The blocks could not be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The blocks after the newest acknowledged block could not be removed.
    #[error("what was written after the newest block could not be removed")]
    Append(#[source] AppendError),
    /// The store could not be opened again.
    #[error("the store could not be opened again")]
    Open(#[from] OpenError),
}

/// Reason why a store was not closed in good order. The blocks are whole nevertheless.
#[derive(Debug, thiserror::Error)]
#[error("state could not be written before closing")]
pub struct CloseError(#[source] pub(crate) Arc<StateError>);

/// Reason why a store was not opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The directory could not be made or cleared.
    #[error("cannot use {}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The record of blocks is in use, of another version, damaged, or does not reach the newest acknowledged block.
    #[error("cannot open the record of blocks")]
    Record(#[from] OpenArchiveError),
    /// The record's database could not be opened.
    #[error("cannot open the record of blocks")]
    RecordDb(#[source] DbError),
    /// The derived database could not be opened, for another reason than damage.
    #[error("cannot open the derived state")]
    StateDb(#[source] DbError),
    /// The derived state is damaged, and was not to be rebuilt.
    #[error("the derived state is damaged: {reason}")]
    Damaged {
        /// The fault.
        reason: String,
    },
    /// The state could not be computed from the record.
    #[error("cannot compute the state from the record of blocks")]
    State(#[source] StateError),
    /// The system gives no thread.
    #[error("cannot start a thread")]
    Thread(#[source] io::Error),
}

impl OpenError {
    /// Returns whether the record of blocks is damaged or incomplete. The record cannot be rebuilt from other data.
    pub fn is_loss(&self) -> bool {
        match self {
            Self::Record(OpenArchiveError::Archive(error)) => error.is_damage(),
            Self::Record(error) => {
                matches!(error, OpenArchiveError::LostBlocks { .. } | OpenArchiveError::OtherBlock { .. })
            }
            Self::RecordDb(error) => error.is_damage(),
            Self::Directory { .. } | Self::StateDb(_) | Self::Damaged { .. } | Self::State(_) | Self::Thread(_) => {
                false
            }
        }
    }
}
