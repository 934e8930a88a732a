//! The errors of a member.

use silica_chain::{CommitError, InvalidBlock, SealError};
use silica_protocol::{PublicKey, StateRoot, Timestamp};

use super::verdict::{InvalidEntry, due};
use crate::entry::{BlocksError, EntryId, Height};

/// Reason why a node is not a member of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("key: expected the key of a member of the network file, got {got}")]
pub struct NotMember {
    /// Public key of the node.
    pub got: PublicKey,
}

/// Reason why a member does not propose an entry.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProposalError {
    /// The height is not the next height of this member.
    #[error("height: expected {}, got {got}", due(*.expected))]
    Height {
        /// The next height; `None` at the end of the range.
        expected: Option<Height>,
        /// The given height.
        got: Height,
    },
    /// The chain could not build a block.
    #[error(transparent)]
    Build(#[from] silica_chain::ProposeError),
    /// The chain made a block that a network does not permit. Its configuration is not that of the network file.
    #[error(transparent)]
    Blocks(#[from] BlocksError),
    /// The body exceeds `max-body` of the network file.
    #[error("max-body: expected at most {most} bytes, got {got}")]
    Size {
        /// Largest number of bytes.
        most: usize,
        /// Number of bytes of the body.
        got: usize,
    },
    /// There are no transactions, and the longest time without a block is not over. The caller tries again when a
    /// transaction arrives, or at the time `due`.
    #[error("transactions: expected at least one before {due}, got none")]
    Empty {
        /// The earliest timestamp of a body without transactions.
        due: Timestamp,
    },
    /// The co-signature session of this member has no seal yet.
    #[error("seal: expected a finished session, got none")]
    NoSeal,
}

/// Reason why a member could not process a decided entry.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecideError {
    /// The height is not the next height of this member.
    #[error("height: expected {}, got {got}", due(*.expected))]
    Height {
        /// The next height; `None` at the end of the range.
        expected: Option<Height>,
        /// The given height.
        got: Height,
    },
    /// The member does not have the bytes of the entry. The caller tries again with the bytes.
    #[error("height {height}: expected the bytes of entry {id}, got none")]
    Missing {
        /// The height.
        height: Height,
        /// Id of the entry.
        id: EntryId,
    },
    /// The bytes belong to another entry.
    #[error("height {height}: expected the bytes of entry {expected}, got those of entry {got}")]
    Bytes {
        /// The height.
        height: Height,
        /// Id of the decided entry.
        expected: EntryId,
        /// Id of the bytes.
        got: EntryId,
    },
    /// Another body was decided before at this height.
    #[error("height {height}: expected the decided entry {expected}, got {got}")]
    Conflict {
        /// The height.
        height: Height,
        /// Id of the body that was decided before.
        expected: EntryId,
        /// Id of the other body.
        got: EntryId,
    },
    /// The decided entry is invalid on this node. Either this node or a quorum of the committee has an error.
    #[error(
        "height {height}: the decided entry {id} is invalid here; state root: expected {}, got {}",
        known(*.expected), known(*.got)
    )]
    Invalid {
        /// The height.
        height: Height,
        /// Id of the entry.
        id: EntryId,
        /// State root that the execution on this node gives; `None` if the execution has no result.
        expected: Option<StateRoot>,
        /// State root of the decided body; `None` if its bytes cannot be read.
        got: Option<StateRoot>,
        /// The reason.
        #[source]
        reason: Box<InvalidEntry>,
    },
    /// The member has accepted the seal, but the chain rejects it.
    #[error("height {height}: the chain rejects the seal {id}")]
    Seal {
        /// The height.
        height: Height,
        /// Id of the seal.
        id: EntryId,
        /// The reason.
        #[source]
        reason: SealError,
    },
    /// This node could not execute the body, for example because its disk failed. The caller tries again.
    #[error("height {height}: failed to execute the decided body")]
    Chain {
        /// The height.
        height: Height,
        /// The reason.
        #[source]
        reason: InvalidBlock,
    },
    /// The block could not be written, for example because the disk is full. The caller recovers the chain, and tries
    /// again.
    #[error("height {height}: failed to commit the block")]
    Commit {
        /// The height.
        height: Height,
        /// The reason.
        #[source]
        reason: CommitError,
    },
}

impl DecideError {
    /// Returns whether the member has to stop. After any other error, the caller can call
    /// [`Council::decide`](super::Council::decide) again.
    pub fn is_fatal(&self) -> bool {
        match self {
            Self::Conflict { .. } | Self::Invalid { .. } | Self::Seal { .. } => true,
            Self::Height { .. }
            | Self::Missing { .. }
            | Self::Bytes { .. }
            | Self::Chain { .. }
            | Self::Commit { .. } => false,
        }
    }
}

fn known(state_root: Option<StateRoot>) -> String {
    state_root.map_or_else(|| "none".to_owned(), |root| root.to_string())
}
