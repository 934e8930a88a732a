//! The interface between the chain and the consensus of its nodes.
//!
//! An [`Engine`] is a state machine without I/O. It gets events from the node, and calls the [`Application`] to
//! propose, verify and commit blocks. Then the engine returns the effects for the node. The chain never calls the
//! engine.

mod error;
mod seal;
mod solo;

use std::{ops::RangeInclusive, sync::Arc};

use silica_protocol::{BlockNumber, Timestamp, TxBlock};

pub(crate) use self::seal::{Signed, seal_as};
pub use self::{
    error::{CommitError, EngineError, PassError, ProposeError},
    seal::{SealError, range_signer, seal_alone, seal_with},
    solo::Solo,
};
use crate::{
    admission::VerifiedTransaction,
    edit::Edit,
    executor::EditError,
    pool::DropReason,
    stage::{CommittedBlock, ExecutedBlock, InvalidBlock, Proposal, SealedBlock},
};

/// The functions of the chain that an engine calls.
pub trait Application {
    /// Returns the Tx block on top of which the next block is built.
    fn head(&self) -> Arc<TxBlock>;

    /// Builds the next block on top of the head, with pending transactions, at the time `at`.
    ///
    /// The timestamp is the later of `at` and one microsecond after the timestamp of the head. The function drops
    /// transactions that can never be executed. If the block has no transactions, and all written blocks are flushed,
    /// the dropped transactions leave the pool at once, so that no empty block has to be committed. Otherwise, they
    /// leave the pool at the commit of the block.
    ///
    /// # Errors
    ///
    /// [`ProposeError`]: the store could not be read, an earlier write failed, or the chain has reached the highest
    /// block number or timestamp.
    fn propose(&mut self, at: Timestamp, cause: Cause) -> Result<ExecutedBlock, ProposeError>;

    /// Builds a block with an edit of the state and without transactions. If a vacuous block is due, the function
    /// builds the vacuous block instead, and only checks the edit.
    ///
    /// # Errors
    ///
    /// [`EditError`]: the edit is invalid, or the block could not be built.
    fn propose_edit(&mut self, at: Timestamp, edit: &Edit) -> Result<ExecutedBlock, EditError>;

    /// Executes the block of another node on top of the head, and compares its headers with the result.
    ///
    /// The timestamp has to be later than the timestamp of the head. The engine compares the timestamp with the clock.
    ///
    /// # Errors
    ///
    /// [`InvalidBlock`]: the first difference, or the reason why this node could not execute the block.
    fn verify(&mut self, proposal: &Proposal) -> Result<ExecutedBlock, InvalidBlock>;

    /// Makes a block durable, and then visible.
    ///
    /// # Errors
    ///
    /// [`CommitError`]: the block does not follow the head, or the store could not be written.
    fn commit(&mut self, block: SealedBlock) -> Result<Arc<CommittedBlock>, CommitError>;

    /// Writes a block without a flush. The next proposal builds on top of this block.
    ///
    /// Until [`flush`](Self::flush) returns, no reader can read the block, its transactions stay in the pool, and a
    /// crash may remove it. Therefore a caller that writes a block with transactions calls `flush` before it proposes
    /// the next block.
    ///
    /// # Errors
    ///
    /// [`CommitError`]: the block does not follow the head, or the store could not be written.
    fn write(&mut self, block: SealedBlock) -> Result<(), CommitError>;

    /// Makes all written blocks durable with one flush, and then visible. Returns these blocks in order.
    ///
    /// # Errors
    ///
    /// [`CommitError`]: the store could not be written.
    fn flush(&mut self) -> Result<Vec<Arc<CommittedBlock>>, CommitError>;

    /// Makes `blocks` empty blocks durable, and then visible, and returns their numbers. The result is the same as
    /// proposing, sealing and committing them one after another at the time `at`. The caller has flushed all written
    /// blocks, and has checked that there are no [candidates](Self::has_candidates).
    ///
    /// The blocks have no signatures on disk: the [signer](silica_state::Store::set_signer) of the store signs a block
    /// when a caller reads the block. The function makes no block and returns `None` if the store has no signer, the
    /// committee has several members, or `blocks` is 0.
    ///
    /// # Errors
    ///
    /// [`PassError`]: the store could not be read or written, or the chain has reached the highest block number or
    /// timestamp.
    fn pass(&mut self, at: Timestamp, blocks: u64) -> Result<Option<RangeInclusive<BlockNumber>>, PassError>;

    /// Returns whether the pool has a transaction that the next block can try to execute.
    fn has_candidates(&self) -> bool;
}

/// The cause of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A request for blocks. Such a block always increases the logical block number.
    Demand,
    /// A transaction, the interval timer, or an edit. [`Numbering`](crate::config::Numbering) decides whether such a
    /// block increases the logical block number.
    Event,
}

/// A consensus algorithm, as a state machine.
pub trait Engine {
    /// Processes `input`, and returns its effects in order.
    ///
    /// # Errors
    ///
    /// [`EngineError`]: the chain failed to process the input. Blocks that were committed before the error stay. The
    /// caller does not get their effects.
    fn step(&mut self, input: Input, application: &mut dyn Application) -> Result<Vec<Effect>, EngineError>;
}

/// An input of an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// New transactions are in the pool at this time. The engine produces blocks until no pending transaction can be
    /// executed.
    ///
    /// The engine produces no empty block, except a vacuous block that is due before a transaction can be executed.
    Arrival(Timestamp),
    /// A request for a number of blocks, with or without transactions.
    Demand {
        /// The present time. The timestamps of the blocks are not earlier.
        at: Timestamp,
        /// Number of blocks, at most [`MAX_DEMAND`].
        blocks: u64,
    },
    /// A request for a block with an edit of the state.
    Edit {
        /// The present time. The timestamp of the block is not earlier.
        at: Timestamp,
        /// The edit.
        edit: Edit,
    },
    /// Bytes from another member of the committee.
    Message(Vec<u8>),
    /// The interval timer requests one block, with or without transactions.
    Tick(Timestamp),
}

/// Maximum number of blocks that the chain makes for one request.
pub const MAX_DEMAND: u64 = 10_000_000;

/// A change of the chain that the node publishes.
#[derive(Clone, Debug)]
pub enum Effect {
    /// A block was committed.
    Committed(Arc<CommittedBlock>),
    /// An empty block range with these numbers was committed.
    Passed(RangeInclusive<BlockNumber>),
    /// The pool dropped these transactions, and no block was produced.
    Dropped(Vec<(VerifiedTransaction, DropReason)>),
}
