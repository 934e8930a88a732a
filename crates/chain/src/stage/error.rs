//! The errors of building and verifying a block.

use silica_protocol::{BlockNumber, TxHash};
use silica_state::{ArchiveError, StateError};

use crate::admission::InvalidTransaction;

/// Reason why a block could not be built. None of them is the fault of a transaction.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The state could not be read.
    #[error("failed to read state")]
    State(#[from] StateError),
    /// Blocks could not be read.
    #[error("failed to read blocks")]
    Archive(#[from] ArchiveError),
    /// An earlier block could not be written, and the chain has not [recovered](crate::Producer::recover).
    #[error("an earlier block could not be written, and the chain has not recovered from that yet")]
    Failed,
    /// The chain reached the largest block number or timestamp.
    #[error("the block number has reached its maximum")]
    End,
    /// Gas or the number of transactions left the range of the formats.
    #[error("gas of a block exceeds 64 bits")]
    Gas,
    /// Money left the range of the formats, which the supply of the genesis excludes.
    #[error("money of a block exceeds 128 bits")]
    Supply,
}

/// Reason why another node's block is not the next block of this chain.
#[derive(Debug, thiserror::Error)]
pub enum InvalidBlock {
    /// A member of a block is not what executing it yields.
    #[error("{block}: {field}: expected {expected}, got {got}")]
    Field {
        /// The block.
        block: &'static str,
        /// The member.
        field: &'static str,
        /// Its value as computed here.
        expected: String,
        /// The given value.
        got: String,
    },
    /// The number of the block, or its place in time, does not follow the head.
    #[error("Tx block: {field}: expected {expected}, got {got}")]
    Order {
        /// The member.
        field: &'static str,
        /// The value that follows from the head.
        expected: String,
        /// The given value.
        got: String,
    },
    /// A DS block is missing, or there is one where none is made.
    #[error("DS block before Tx block {number}: expected {}, got {}", presence(*.expected), presence(!*.expected))]
    DsBlock {
        /// Number of the Tx block.
        number: BlockNumber,
        /// Whether one is due.
        expected: bool,
    },
    /// There are more or fewer micro blocks than committees.
    #[error("micro blocks: expected {expected}, got {got}")]
    MicroBlocks {
        /// Number of committees.
        expected: usize,
        /// Number of micro blocks.
        got: usize,
    },
    /// There are more or fewer transactions than hashes in the micro blocks.
    #[error("transactions: expected {expected}, got {got}")]
    Transactions {
        /// Number of hashes in the micro blocks.
        expected: usize,
        /// Number of transactions.
        got: usize,
    },
    /// A transaction does not belong where it is.
    #[error("transaction {hash}")]
    Transaction {
        /// The transaction.
        hash: TxHash,
        /// Why not.
        #[source]
        reason: InvalidTransaction,
    },
    /// The state is edited by hand where the network does not let the leader do that, or together with something else.
    #[error("edits of the state: {reason}")]
    Edits {
        /// Why there must be none.
        reason: &'static str,
    },
    /// The logical block number is repeated where the network does not let the leader do that.
    #[error("logical block number: expected one that moves with each block, got one that is repeated")]
    RepeatedNumber,
    /// The block could not be judged.
    #[error("executing a block")]
    Build(#[from] BuildError),
}

fn presence(present: bool) -> &'static str {
    if present { "one" } else { "none" }
}
