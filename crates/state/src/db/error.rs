//! The errors of the engine.

use std::{io, path::PathBuf};

use super::{MAX_KEY, MAX_VALUE};

/// Reason why an operation of the engine failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DbError {
    /// Another process, or another store of this process, has the database open.
    #[error("database {} is in use by another process, or by another store of this process", path.display())]
    Locked {
        /// Directory of the database.
        path: PathBuf,
    },
    /// The operating system reported an error.
    #[error("failed to read or write the files of the database")]
    Io(#[from] io::Error),
    /// The engine has found damage in its file.
    #[error("database {} is damaged: {reason}", path.display())]
    Damaged {
        /// Directory of the database.
        path: PathBuf,
        /// Description of the damage by the engine.
        reason: String,
    },
    /// The engine panicked. Panics of the engine come from damaged files.
    #[error("database {} is damaged: its engine panicked: {reason}", path.display())]
    Panicked {
        /// Directory of the database.
        path: PathBuf,
        /// Message of the panic.
        reason: String,
    },
    /// An earlier write panicked or did not reach the disk. The database rejects writes until the process ends.
    #[error("database rejects writes after a panic of its engine or a failure of the disk")]
    Broken,
    /// The database was closed, for example after a failed operation, and is not open again.
    #[error("database is closed")]
    Closed,
    /// A revert or a recovery of the store has retired the handle of the operation.
    #[error("the chain was reverted to an earlier block during the read")]
    Retired,
    /// The engine cannot open the file: the file is damaged, or another version of the engine or an engine with other
    /// parameters wrote the file.
    #[error("database {} is damaged, or was written by another version of its engine: {reason}", path.display())]
    Unsupported {
        /// Directory of the database.
        path: PathBuf,
        /// Reason of the engine.
        reason: String,
    },
    /// The file was deleted or replaced while the database was open. The next opening would not find later writes.
    #[error("{} was deleted or replaced while it was in use", path.display())]
    Displaced {
        /// Path of the file.
        path: PathBuf,
    },
    /// A key or value is longer than the limits of the database. The limits keep all pages of the engine in its log.
    #[error(
        "expected a key of at most {MAX_KEY} bytes and a value of at most {MAX_VALUE} bytes, got {key} and {value} bytes"
    )]
    TooLarge {
        /// Length of the key in bytes.
        key: usize,
        /// Length of the value in bytes.
        value: usize,
    },
}

impl DbError {
    /// Returns whether the cause of the error is in the stored data: damage, or a form that the engine cannot read.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Damaged { .. } | Self::Panicked { .. } | Self::Unsupported { .. } => true,
            Self::Locked { .. }
            | Self::Io(_)
            | Self::Broken
            | Self::Closed
            | Self::Retired
            | Self::Displaced { .. }
            | Self::TooLarge { .. } => false,
        }
    }
}
