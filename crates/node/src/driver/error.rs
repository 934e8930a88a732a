//! Why the driver did not do something.

use silica_chain::{AdmissionError, DropReason, SubmissionError};

/// Reason why a transaction is in no block.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SubmitError {
    /// The pool rejected it.
    #[error(transparent)]
    Submission(#[from] SubmissionError),
    /// The block builder dropped it.
    #[error("transaction was dropped: {0:?}")]
    Dropped(DropReason),
    /// The driver made no block.
    #[error(transparent)]
    Driver(#[from] DriverError),
}

/// Reason why a transaction without signature was not accepted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ImpersonationError {
    /// A check rejected it.
    #[error(transparent)]
    Admission(#[from] AdmissionError),
    /// It is in no block, and not in the pool.
    #[error(transparent)]
    Submission(#[from] SubmitError),
}

/// Reason why the driver did not handle an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DriverError {
    /// The engine failed; the log says why.
    #[error("no block could be made")]
    Failed,
    /// The node is paused.
    #[error("the node is paused")]
    Paused,
    /// The node is stopping.
    #[error("the node is stopping")]
    Stopping,
}
