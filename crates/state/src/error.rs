//! The errors of the store, one type for each operation.

use std::{io, path::PathBuf, sync::Arc};

use silica_protocol::{Address, BlockNumber, StateRoot};

use crate::{
    archive::{AppendError, ArchiveError, OpenArchiveError},
    db::DbError,
    layout::LARGEST_LEAF,
    version::Version,
};

/// Reason why a query to the state failed, or a state was not computed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// An operation of the storage engine failed.
    #[error(transparent)]
    Db(#[from] DbError),
    /// A value of the derived database is missing or malformed, or its checksum or hash is wrong. The next opening
    /// rebuilds the database if [`StoreOptions::repair`](crate::StoreOptions::repair) is true.
    #[error("damaged state: {what}: {reason}")]
    Damaged {
        /// The damaged value.
        what: String,
        /// Description of the damage.
        reason: &'static str,
    },
    /// The state history does not contain the state of the view.
    #[error("the state history does not contain this block")]
    Expired,
    /// The diff changes the storage of an address that has no contract.
    #[error("expected a contract for a change of storage, got the account {address}")]
    NotContract {
        /// Address of the account.
        address: Address,
    },
    /// A storage key in a diff or a query belongs to another contract.
    #[error("expected a storage key of contract {address}, got {key}")]
    ForeignKey {
        /// Address of the expected contract.
        address: Address,
        /// The key of the entry.
        key: String,
    },
    /// A single entry of contract storage is too large to be stored.
    #[error("entry of contract storage: expected at most {LARGEST_LEAF} bytes, got {bytes} bytes")]
    TooLarge {
        /// Bytes of key and value of the entry.
        bytes: usize,
    },
    /// The derived database was written by a later version of this program.
    #[error("expected a derived state of layout {supported} or lower, got layout {got}")]
    NewerLayout {
        /// Layout number of the database.
        got: u8,
        /// Highest layout number that this program reads.
        supported: u8,
    },
    /// A read of the record of blocks failed.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The stored state diff of a block cannot be decoded.
    #[error("malformed state diff of block {number}")]
    MalformedDiff {
        /// Number of the block.
        number: BlockNumber,
    },
    /// The thread that writes checkpoints has panicked.
    #[error("the thread that writes checkpoints has panicked")]
    CheckpointPanicked,
}

impl StateError {
    /// Returns whether the operation failed because a revert or a recovery of the store retired its handle.
    pub const fn is_retired(&self) -> bool {
        matches!(self, Self::Db(DbError::Retired) | Self::Archive(ArchiveError::Db(DbError::Retired)))
    }

    /// Returns whether the derived database is damaged.
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

/// Reason why the state after a block is not available.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// The chain does not have the block yet.
    #[error("the chain does not have this block yet{}", newest(*.head))]
    Future {
        /// The newest block. `None` before genesis.
        head: Option<BlockNumber>,
    },
    /// The block is before the state history.
    #[error("the state history does not contain this block; the oldest block of the state history is {earliest}")]
    Expired {
        /// The oldest block in the state history.
        earliest: BlockNumber,
    },
    /// The state cannot be computed again after a restart or a revert.
    #[error(transparent)]
    State(#[from] StateError),
}

impl HistoryError {
    /// Returns the error for a state before version `earliest`.
    pub(crate) fn expired(earliest: Version) -> Self {
        Self::Expired { earliest: BlockNumber::new(earliest.saturating_sub(1)) }
    }
}

fn newest(head: Option<BlockNumber>) -> String {
    head.map_or_else(String::new, |head| format!(", the newest is {head}"))
}

fn executed(at: Option<BlockNumber>) -> String {
    at.map_or_else(|| "no block".to_owned(), |at| format!("block {at}"))
}

/// Reason why a block was not committed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommitError {
    /// The block cannot be appended to the record.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// The prepared states do not begin after the newest block, or do not end at the last block to append.
    #[error("expected a state for block {expected}, got one for block {prepared}")]
    Stale {
        /// The block number for which the state was prepared.
        prepared: BlockNumber,
        /// The number of the next block.
        expected: BlockNumber,
    },
    /// The state root in the header differs from the root of the prepared state.
    #[error("expected state root {expected} of the header, got {got}")]
    Root {
        /// State root in the header.
        expected: StateRoot,
        /// State root of the prepared state.
        got: StateRoot,
    },
    /// The store executes the blocks of the record again, and has not reached the newest block.
    #[error("the store has not executed all stored blocks: expected block {head}, got {}", executed(*.at))]
    Replaying {
        /// The newest block that was executed again. `None` if no block was executed.
        at: Option<BlockNumber>,
        /// The newest block of the record.
        head: BlockNumber,
    },
    /// The state includes the newest block, or the record does not have the last block of the prepared states.
    #[error(
        "no block to execute again: the state includes the newest block, or the prepared states end after this block"
    )]
    NotReplaying,
    /// A read of the record failed.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// A checkpoint cannot be written. The store rejects further blocks, because their changes would fill the memory.
    #[error("cannot write a checkpoint")]
    Checkpoint(#[source] Arc<StateError>),
}

/// Reason why a store did not revert to an earlier block.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RevertError {
    /// The chain does not have the block, or an empty block range continues after it.
    #[error(
        "cannot revert to block {number}: the chain does not have this block, or an empty block range continues after it"
    )]
    NotThere {
        /// Number of the block of the savepoint.
        number: BlockNumber,
    },
    /// A checkpoint has failed, or the newest checkpoint is of a later block.
    #[error("cannot revert to block {number}: the store does not have the state of this block")]
    Passed {
        /// Number of the block of the savepoint.
        number: BlockNumber,
    },
    /// The store is before genesis, has blocks that are not flushed, or executes blocks again.
    #[error("the store has no block, or has blocks that are not flushed or not executed")]
    Busy,
    /// The blocks cannot be read. Nothing has changed.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The later blocks cannot be removed. The store rejects writes until it is opened again. The store then opens at
    /// the old head or at the new head.
    #[error("cannot remove the blocks after the savepoint")]
    Append(#[source] AppendError),
    /// The later blocks are removed, but the store cannot be opened again.
    #[error("cannot open the store again")]
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

/// Reason why a store did not recover from a failed write. The attempt changed no acknowledged block.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecoverError {
    /// The disk has no space for the writes of an opening. Reads continue to work.
    #[error("no disk space to write to {}", path.display())]
    NoRoom {
        /// The file that could not be written.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The state is damaged, or its writer panicked. The next opening in another process rebuilds the state if
    /// necessary.
    #[error("this process cannot write the state; restart the process")]
    Damaged(#[source] Arc<StateError>),
    /// The newest acknowledged block is not in the record.
    #[error("block {number} was acknowledged, but is not in the record")]
    Lost {
        /// Number of the acknowledged block.
        number: BlockNumber,
    },
    /// An engine cannot be opened again.
    #[error(transparent)]
    Db(#[from] DbError),
    /// A read of blocks failed.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The blocks after the newest acknowledged block cannot be removed.
    #[error("cannot remove the blocks after the newest acknowledged block")]
    Append(#[source] AppendError),
    /// The store failed to open again.
    #[error("cannot open the store again")]
    Open(#[from] OpenError),
}

/// Reason why the state was not written when the store was closed. The record has all blocks.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the state before closing")]
pub struct CloseError(#[source] pub(crate) Arc<StateError>);

/// Reason why a store was not opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The directory cannot be created, read or cleared.
    #[error("cannot use {}", path.display())]
    Directory {
        /// Path of the directory or file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The record is of a later format, is damaged, or differs from the head marker, or one of its files cannot be
    /// used.
    #[error("cannot open the record of blocks")]
    Record(#[from] OpenArchiveError),
    /// The database of the record cannot be opened.
    #[error("cannot open the record of blocks")]
    RecordDb(#[source] DbError),
    /// The derived database cannot be opened, for another reason than damage.
    #[error("cannot open the derived state")]
    StateDb(#[source] DbError),
    /// The derived state is damaged, and [`StoreOptions::repair`](crate::StoreOptions::repair) is false.
    #[error("the derived state is damaged: {reason}")]
    Damaged {
        /// Description of the damage.
        reason: String,
    },
    /// The state cannot be computed from the record.
    #[error("cannot compute the state from the record of blocks")]
    State(#[source] StateError),
    /// The operating system cannot start a thread.
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
