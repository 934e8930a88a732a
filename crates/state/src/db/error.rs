//! The errors of the engine.

use std::{io, path::PathBuf};

/// Reason why an operation of the engine failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DbError {
    /// Another process, or another store of this one, has the database open.
    #[error("database {} is in use by another process", path.display())]
    Locked {
        /// Directory of the database.
        path: PathBuf,
    },
    /// The operating system reported an error.
    #[error("database input or output")]
    Io(#[from] io::Error),
    /// The engine found its file to be damaged.
    #[error("database {} is damaged: {reason}", path.display())]
    Damaged {
        /// Directory of the database.
        path: PathBuf,
        /// What the engine found.
        reason: String,
    },
    /// The engine panicked, which it does over damaged files.
    #[error("database {} is damaged: its engine panicked: {reason}", path.display())]
    Panicked {
        /// Directory of the database.
        path: PathBuf,
        /// Message of the panic.
        reason: String,
    },
    /// An earlier write panicked, or did not reach the disk, and none is accepted since.
    #[error("database takes no writes since its engine panicked, or the disk failed")]
    Broken,
    /// It was closed after an operation had failed, and could not be opened again yet.
    #[error("database is closed since an operation failed, until it can be opened again")]
    Closed,
    /// The chain was reverted to an earlier block after the read had begun.
    #[error("the chain was taken back to an earlier block meanwhile")]
    Retired,
    /// The file was written by another version of the engine, or with other parameters.
    #[error("database {} is damaged, or was written by another version of its engine: {reason}", path.display())]
    Unsupported {
        /// Directory of the database.
        path: PathBuf,
        /// What the engine found.
        reason: String,
    },
    /// The file was deleted or replaced while the database was open. The next opening would not find later writes.
    #[error("{} was deleted or replaced while it was in use", path.display())]
    Displaced {
        /// The file.
        path: PathBuf,
    },
    /// A key or value is above the limits that keep the engine's pages in its synced log.
    #[error("key of {key} bytes with a value of {value} bytes is too large for the database")]
    TooLarge {
        /// Length of the key.
        key: usize,
        /// Length of the value.
        value: usize,
    },
}

impl DbError {
    /// Returns whether the error means damage of stored data, and not a failure to read them.
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
