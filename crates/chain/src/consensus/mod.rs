//! The seam between the chain and the way its nodes agree on blocks.
//!
//! Consensus calls the chain, not the reverse. An [`Engine`] is a state machine without input or output. It gets each
//! input, calls the [`Application`] to propose, verify and commit, and returns effects for the node.

mod error;
mod seal;
mod solo;

use std::{ops::RangeInclusive, sync::Arc};

use silica_protocol::{BlockNumber, Timestamp};

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
    /// Builds the next block on top of the head, with the transactions that wait, at the time `at`.
    ///
    /// The timestamp is `at`, or one microsecond after the timestamp of the head if that is later. Building finds
    /// transactions that can no longer be executed. If the block has no transactions, they leave the pool at once, so
    /// that no empty block has to be committed. Otherwise they leave the pool when the block is committed.
    ///
    /// # Errors
    ///
    /// [`ProposeError`]: the store could not be read, or the chain is at the end of its numbers.
    fn propose(&mut self, at: Timestamp, cause: Cause) -> Result<ExecutedBlock, ProposeError>;

    /// Builds a block with an edit of the state and without transactions. If a vacuous block is due, the function
    /// builds that block, and only checks the edit.
    ///
    /// # Errors
    ///
    /// [`EditError`]: the edit is refused, or no block could be built.
    fn propose_edit(&mut self, at: Timestamp, edit: &Edit) -> Result<ExecutedBlock, EditError>;

    /// Executes another node's block on top of the head and compares everything in its headers.
    ///
    /// This checks only that its time is later than that of the head. The engine gets the time of the clock and checks
    /// the rest.
    ///
    /// # Errors
    ///
    /// [`InvalidBlock`] names the first thing that is not as it must be.
    fn verify(&mut self, proposal: &Proposal) -> Result<ExecutedBlock, InvalidBlock>;

    /// Makes a block durable, and then visible.
    ///
    /// # Errors
    ///
    /// [`CommitError`]: the block does not follow the head, or the store could not be written.
    fn commit(&mut self, block: SealedBlock) -> Result<Arc<CommittedBlock>, CommitError>;

    /// Makes a block the head on which the next one is built, without waiting for the disk.
    ///
    /// Until [`flush`](Self::flush) returns, no reader sees the block, a crash may undo it, and its transactions stay
    /// in the pool. So a caller that writes a block with transactions flushes before it proposes the next block.
    ///
    /// # Errors
    ///
    /// [`CommitError`]: the block does not follow the head, or the store could not be written.
    fn write(&mut self, block: SealedBlock) -> Result<(), CommitError>;

    /// Makes the blocks durable that were written, all at once, and then visible. Returns them in their order.
    ///
    /// # Errors
    ///
    /// [`CommitError`]: the store could not be written.
    fn flush(&mut self) -> Result<Vec<Arc<CommittedBlock>>, CommitError>;

    /// Makes the given number of empty blocks durable, and then visible, as proposing, sealing and committing one after
    /// the other at the time `at` would. Nothing may have been written that is not flushed. Returns their numbers.
    ///
    /// Their signatures are made when a block is read, by the
    /// [sealer](silica_state::Store::set_signer) of the store. Without a sealer no block is made, and `None` is
    /// returned. No transaction is executed: the caller has checked that there are no
    /// [candidates](Self::has_candidates).
    ///
    /// # Errors
    ///
    /// [`PassError`]: the store could not be read or written, or the chain is at the end of its numbers.
    fn pass(&mut self, at: Timestamp, blocks: u64) -> Result<Option<RangeInclusive<BlockNumber>>, PassError>;

    /// Whether a block made now might hold a transaction.
    fn has_candidates(&self) -> bool;
}

/// Why a block is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Blocks were demanded. Such a block always moves the logical block number.
    Demand,
    /// A transaction arrived, its time has come, or the state is edited. Whether such a block moves the logical block
    /// number is a matter of the [policy](crate::config::Numbering).
    Event,
}

/// A way to agree on blocks.
pub trait Engine {
    /// Takes note of `input`, and does what follows from it.
    ///
    /// # Errors
    ///
    /// [`EngineError`]: the chain failed to process the input. Blocks that were committed before the error stay; the
    /// caller does not get their effects.
    fn step(&mut self, input: Input, application: &mut dyn Application) -> Result<Vec<Effect>, EngineError>;
}

/// An input of an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Transactions arrived at this time, and shall not wait: blocks are made until none is left that can be executed.
    ///
    /// No empty block is made, except a vacuous one that is due before a transaction can be executed.
    Arrival(Timestamp),
    /// A request for a number of blocks, with or without transactions.
    Demand {
        /// The time.
        at: Timestamp,
        /// Number of blocks, at most [`MAX_DEMAND`].
        blocks: u64,
    },
    /// A developer edits the state, in a separate block.
    Edit {
        /// The time.
        at: Timestamp,
        /// The edit.
        edit: Edit,
    },
    /// Bytes from another member of the committee.
    Message(Vec<u8>),
    /// It is time for a block, whether there are transactions or not.
    Tick(Timestamp),
}

/// Most blocks that can be demanded at once.
pub const MAX_DEMAND: u64 = 10_000_000;

/// Something that happened, and of which the node tells others.
#[derive(Clone, Debug)]
pub enum Effect {
    /// A block was committed.
    Committed(Arc<CommittedBlock>),
    /// Empty blocks with these numbers were committed together.
    Passed(RangeInclusive<BlockNumber>),
    /// Transactions left the pool although no block was made.
    Dropped(Vec<(VerifiedTransaction, DropReason)>),
}
