//! The events that the driver handles, and the jobs that some of them queue.

#[cfg(any(test, feature = "network"))]
use silica_chain::Producer;
use silica_chain::{Edit, EditError, GasPriceError, Submitted, VerifiedTransaction};
use silica_protocol::{BlockNumber, GasPrice, Timestamp};
use tokio::sync::oneshot;

use super::{
    error::{DriverError, SubmitError},
    savepoints::{SavepointFacts, UnknownSavepoint},
};
use crate::{block_mode::BlockMode, clock::ClockError};

/// A task of the driver, with the channel for the reply.
pub(super) enum Event {
    /// Add a transaction to the pool, make blocks for the pending transactions, and reply when these blocks are
    /// committed.
    Arrival { transaction: VerifiedTransaction, reply: oneshot::Sender<Result<Submitted, SubmitError>> },
    /// Queue a job that makes blocks. The reply follows when the blocks are committed.
    ProduceBlocks { blocks: u64, reply: oneshot::Sender<Result<(), DriverError>> },
    /// Begin or end the pause. The reply is whether the node is paused now.
    TogglePause { reply: oneshot::Sender<bool> },
    /// Edit the state.
    Edit { edit: Edit, reply: oneshot::Sender<Result<Edited, DriverError>> },
    /// Change the block mode.
    SetBlockMode { mode: BlockMode, reply: oneshot::Sender<()> },
    /// Queue a job that creates a savepoint. The reply is the number of the savepoint.
    Snapshot { reply: oneshot::Sender<Result<u32, DriverError>> },
    /// List the savepoints.
    ListSnapshots { reply: oneshot::Sender<Vec<SavepointFacts>> },
    /// Queue a job that reverts the chain to a savepoint.
    Revert { to: u32, reply: oneshot::Sender<Result<Reverted, DriverError>> },
    /// Set the time of the next block.
    SetNextTime { time: Timestamp, reply: oneshot::Sender<Result<(), ClockError>> },
    /// Make blocks for a transaction that entered the pool during a change to an instant mode.
    FlushPool,
    /// Set the minimum gas price.
    SetMinimumGasPrice { price: GasPrice, reply: oneshot::Sender<Result<(), GasPriceError>> },
    /// Run work of the agreement of a committee.
    #[cfg(any(test, feature = "network"))]
    Run(Work),
    /// Make the block that is due at the interval of the block mode.
    Tick,
    /// Try again to make blocks after a failure.
    Retry,
    /// Stop the driver.
    Shutdown,
}

#[cfg(any(test, feature = "network"))]
/// Work with the producer, on the thread of the driver. It contains the channel for its result.
pub(crate) type Work = Box<dyn FnOnce(&mut Producer) + Send>;

/// The block of an edit, or the reason why the chain rejected the edit.
pub(super) type Edited = Result<BlockNumber, EditError>;

/// `Ok` after a revert, or an error if no savepoint has the number.
pub(super) type Reverted = Result<(), UnknownSavepoint>;

/// A job of the queue. Jobs run in order of arrival, between other events.
pub(super) enum Job {
    /// Make blocks.
    Blocks { blocks: u64, reply: oneshot::Sender<Result<(), DriverError>> },
    /// Create a savepoint.
    Snapshot { reply: oneshot::Sender<Result<u32, DriverError>> },
    /// Revert the chain.
    Revert { to: u32, reply: oneshot::Sender<Result<Reverted, DriverError>> },
}

impl Job {
    /// Replies with an error.
    pub(super) fn refuse(self, error: DriverError) {
        match self {
            Self::Blocks { reply, .. } => answer(reply, Err(error)),
            Self::Snapshot { reply } => answer(reply, Err(error)),
            Self::Revert { reply, .. } => answer(reply, Err(error)),
        }
    }
}

/// Sends a reply, unless the client has disconnected.
pub(super) fn answer<T>(reply: oneshot::Sender<T>, value: T) {
    drop(reply.send(value));
}
