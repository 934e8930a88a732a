//! The errors of an engine and of its application.

use silica_protocol::BlockNumber;

use super::SealError;
use crate::{executor::EditError, stage::BuildError};

/// Reason why an engine did not process an input.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The request has more blocks than [`MAX_DEMAND`](super::MAX_DEMAND).
    #[error("requested blocks: expected at most {most}, got {got}")]
    Demand {
        /// The requested number of blocks.
        got: u64,
        /// Maximum for one request.
        most: u64,
    },
    /// The node is a member of a network, and cannot make a block alone.
    #[error("expected a single node, got a member of a network, whose committee makes the blocks")]
    Committee,
    /// An edit failed.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// A proposal failed.
    #[error(transparent)]
    Propose(#[from] ProposeError),
    /// The engine could not sign a block.
    #[error(transparent)]
    BlockSigner(#[from] SealError),
    /// A commit failed.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// The node failed to make an empty block range.
    #[error(transparent)]
    Pass(#[from] PassError),
}

/// Reason why the application could not build a block.
#[derive(Debug, thiserror::Error)]
#[error("failed to build a block")]
pub struct ProposeError(#[from] pub BuildError);

/// Reason why a block was not committed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommitError {
    /// The block does not follow the head.
    #[error("block {number} does not follow block {head}")]
    NotNext {
        /// Number of the block.
        number: BlockNumber,
        /// Number of the head.
        head: BlockNumber,
    },
    /// A write to the store failed.
    #[error("failed to write block {number}")]
    Store {
        /// Number of the block.
        number: BlockNumber,
        /// The error of the store.
        source: silica_state::CommitError,
    },
}

/// Reason why an empty block range was not made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PassError {
    /// The node failed to build the range.
    #[error("failed to build empty blocks")]
    Build(#[from] BuildError),
    /// The commit of the range failed.
    #[error(transparent)]
    Commit(#[from] CommitError),
}
