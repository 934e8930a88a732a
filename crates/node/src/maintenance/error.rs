//! The errors of a check or rebuild.

use std::{
    io,
    path::{Path, PathBuf},
};

use silica_chain::{BalanceError, GenesisError, ReplayError};
use silica_state::{CloseError, OpenError, StateError};

use crate::data_dir::{DataDirError, remedy};

/// Reason why a data directory was not checked or rebuilt, or the first fault of its content.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MaintenanceError {
    /// The data directory cannot be used.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The accounts file of the genesis block is invalid.
    #[error("the genesis accounts are invalid")]
    Accounts(#[from] GenesisError),
    /// The store failed to open.
    #[error("cannot open the chain in {}{}", path.display(), remedy(source))]
    Open {
        /// Path of the data directory or of the store.
        path: PathBuf,
        /// The fault of the store.
        source: OpenError,
    },
    /// The state is lost.
    #[error(
        "the state of the newest block is lost: {reason}; to compute this state again, run `silica db rebuild` or start \
         the node"
    )]
    StateLost {
        /// The fault of the state.
        reason: String,
    },
    /// A stored value is damaged, or could not be read.
    #[error("failed to verify the stored data")]
    Check(#[source] StateError),
    /// The blocks could not be executed again, or a result differs from the record.
    #[error("failed to verify the record by execution")]
    Replay(#[from] ReplayError),
    /// A balance differs from the sum of the transfers in the record, or the record or the state could not be read.
    #[error("failed to compare the balances with the transfers in the record")]
    Balances(#[from] BalanceError),
    /// The store cannot be closed without an error.
    #[error("cannot close the chain")]
    Close(#[from] CloseError),
    /// The temporary directory for the repeated execution of the blocks cannot be used.
    #[error("cannot use {}", path.display())]
    Scratch {
        /// Path of the temporary directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl MaintenanceError {
    /// Returns a function that converts an error from opening the store at `path`.
    pub(super) fn open(path: &Path) -> impl FnOnce(OpenError) -> Self {
        let path = path.to_owned();
        |source| Self::Open { path, source }
    }
}
