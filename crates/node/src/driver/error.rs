//! The errors of the driver.

use silica_chain::{AdmissionError, DropReason, SubmissionError};

/// Reason why a submitted transaction is not accepted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SubmitError {
    /// The pool rejected the transaction.
    #[error(transparent)]
    Submission(#[from] SubmissionError),
    /// The pool accepted the transaction, and dropped it before a block included it.
    #[error("transaction was dropped: {0:?}")]
    Dropped(DropReason),
    /// The transaction does not fit a message between the members of a network.
    #[cfg(feature = "network")]
    #[error("transaction: expected at most {most} bytes on a network of several validators, got {got}")]
    TooLarge {
        /// Largest number of bytes.
        most: usize,
        /// Number of bytes.
        got: usize,
    },
    /// The driver failed, or is paused or stopping. The transaction may be pending.
    #[error(transparent)]
    Driver(#[from] DriverError),
}

/// Reason why a transaction without a signature is not accepted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ImpersonationError {
    /// An admission check rejected the transaction.
    #[error(transparent)]
    Admission(#[from] AdmissionError),
    /// The submission failed.
    #[error(transparent)]
    Submission(#[from] SubmitError),
}

/// Reason why the driver did not complete an event or a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DriverError {
    /// The store or the engine failed, or the chain has no status of a submitted transaction. The log has the reason.
    #[error("the node failed to complete the request; an earlier log line has the reason")]
    Failed,
    /// The node is paused.
    #[error("the node is paused")]
    Paused,
    /// The node is stopping.
    #[error("the node is stopping")]
    Stopping,
}
