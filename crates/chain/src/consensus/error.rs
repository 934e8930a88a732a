//! The errors of an engine and of its application.

use silica_protocol::BlockNumber;

use super::SealError;
use crate::{executor::EditError, stage::BuildError};

/// Reason why an engine did not do what follows from its input.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// More blocks were demanded than are made at once.
    #[error("requested blocks: expected at most {most}, got {got}")]
    Demand {
        /// The requested number of blocks.
        got: u64,
        /// Maximum for one request.
        most: u64,
    },
    /// The state is not edited.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// No block was proposed.
    #[error(transparent)]
    Propose(#[from] ProposeError),
    /// A block was not sealed.
    #[error(transparent)]
    BlockSigner(#[from] SealError),
    /// A block was not committed.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// Empty blocks were not made.
    #[error(transparent)]
    Pass(#[from] PassError),
}

/// Reason why no block was proposed.
#[derive(Debug, thiserror::Error)]
#[error("building a block")]
pub struct ProposeError(#[from] pub BuildError);

/// Reason why a block was not committed.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// The block does not follow the head.
    #[error("block {number} does not follow block {head}")]
    NotNext {
        /// The block.
        number: BlockNumber,
        /// Number of the head.
        head: BlockNumber,
    },
    /// The store could not be written.
    #[error("writing block {number}")]
    Store {
        /// The block.
        number: BlockNumber,
        /// The error of the store.
        source: silica_state::CommitError,
    },
}

/// Reason why empty blocks were not made together.
#[derive(Debug, thiserror::Error)]
pub enum PassError {
    /// They could not be built.
    #[error("building empty blocks")]
    Build(#[from] BuildError),
    /// They could not be committed.
    #[error(transparent)]
    Commit(#[from] CommitError),
}
