//! The errors of building and verifying a block.

use silica_protocol::{BlockNumber, StateRoot, TxHash};
use silica_state::{ArchiveError, StateError};

use crate::admission::InvalidTransaction;

/// Reason why a block could not be built. No transaction can cause these errors.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A read of the state failed.
    #[error("failed to read state")]
    State(#[from] StateError),
    /// A read of blocks failed.
    #[error("failed to read blocks")]
    Archive(#[from] ArchiveError),
    /// An earlier block could not be written, and the chain has not [recovered](crate::Producer::recover).
    #[error("the chain has not recovered from a failed write of an earlier block")]
    Failed,
    /// The chain reached the largest block number or timestamp.
    #[error("the block number or the timestamp has reached its maximum")]
    End,
    /// The blocks are an empty block range, but the committee has several members, which sign each block separately.
    #[error("empty block range: expected a committee with one member, got several members")]
    EmptyRange,
    /// A sum of gas or a number of transactions is out of the range of its type.
    #[error("block: expected a sum of gas below 2^64 and fewer than 2^32 transactions, got more")]
    Gas,
    /// A sum of money exceeds 128 bits. With a valid genesis, the sum of all money fits into 128 bits.
    #[error("money of a block: expected a sum of at most 2^128 - 1 Qa, got a larger sum")]
    Supply,
}

impl BuildError {
    /// Returns whether the cause is this node, such as a failed read. Every other error is the same on all nodes with
    /// this head.
    pub fn is_local(&self) -> bool {
        match self {
            Self::State(_) | Self::Archive(_) | Self::Failed => true,
            Self::End | Self::EmptyRange | Self::Gas | Self::Supply => false,
        }
    }
}

/// Reason why a block of another node is not the next block of this chain.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidBlock {
    /// A member of a header differs from the result of the execution.
    #[error("{block}: {field}: expected {expected}, got {got}")]
    Field {
        /// Kind of the block.
        block: &'static str,
        /// Name of the member.
        field: &'static str,
        /// The value that the execution gives.
        expected: String,
        /// The given value.
        got: String,
        /// The state root that the execution gives.
        state_root: StateRoot,
    },
    /// The number, the parent hash or the timestamp does not follow the head.
    #[error("Tx block: {field}: expected {expected}, got {got}")]
    Order {
        /// Name of the member.
        field: &'static str,
        /// The value that follows from the head.
        expected: String,
        /// The given value.
        got: String,
    },
    /// A DS block is missing or unexpected.
    #[error("DS block before Tx block {number}: expected {}, got {}", presence(*.expected), presence(!*.expected))]
    DsBlock {
        /// Number of the Tx block.
        number: BlockNumber,
        /// Whether a DS block is due.
        expected: bool,
    },
    /// The number of micro blocks differs from the number of committees.
    #[error("micro blocks: expected {expected}, got {got}")]
    MicroBlocks {
        /// Number of committees.
        expected: usize,
        /// Number of micro blocks.
        got: usize,
    },
    /// The number of transactions differs from the number of hashes in the micro blocks.
    #[error("transactions: expected {expected}, got {got}")]
    Transactions {
        /// Number of hashes in the micro blocks.
        expected: usize,
        /// Number of transactions.
        got: usize,
    },
    /// A transaction is invalid at its position in the block.
    #[error("transaction {hash} is invalid at its position in the block")]
    Transaction {
        /// Hash of the transaction.
        hash: TxHash,
        /// Reason why the transaction is invalid.
        #[source]
        reason: InvalidTransaction,
    },
    /// The block has edits, and the network does not permit edits, or the edit is not alone in its block.
    #[error("edits: expected {expected}, got {got}")]
    Edits {
        /// The edits or the block that the rules permit.
        expected: &'static str,
        /// The given edits or the given block.
        got: String,
    },
    /// The block repeats the logical block number, and the network does not permit this.
    #[error("logical block number: expected an increase with each block, got a repeated number")]
    RepeatedNumber,
    /// The execution of the block failed.
    #[error("failed to execute the block")]
    Build(#[from] BuildError),
}

impl InvalidBlock {
    /// Returns whether the cause is this node, such as a failed read, and not the block. Every other error is the same
    /// on all nodes with this head.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Build(error) => error.is_local(),
            Self::Field { .. }
            | Self::Order { .. }
            | Self::DsBlock { .. }
            | Self::MicroBlocks { .. }
            | Self::Transactions { .. }
            | Self::Transaction { .. }
            | Self::Edits { .. }
            | Self::RepeatedNumber => false,
        }
    }
}

fn presence(present: bool) -> &'static str {
    if present { "one" } else { "none" }
}
