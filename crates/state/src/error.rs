//! The errors of the store, one type for each operation that fails in its own way.

use std::{io, path::PathBuf};

/// Reason why the engine did not do what it was asked.
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
    #[error("database is damaged: {reason}")]
    Damaged {
        /// What the engine found.
        reason: String,
    },
    /// The engine panicked, which it does over damaged files.
    #[error("database engine panicked: {reason}")]
    Panicked {
        /// Message of the panic.
        reason: String,
    },
    /// An earlier write panicked, and none is accepted since.
    #[error("database takes no writes since its engine panicked")]
    Broken,
    /// The file was written by another version of the engine, or with other parameters.
    #[error("database can not be opened by this version: {reason}")]
    Unsupported {
        /// What the engine found.
        reason: String,
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
    /// Whether the error shows that what is stored is damaged, as opposed to unreachable.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Damaged { .. } | Self::Panicked { .. } | Self::Unsupported { .. } => true,
            Self::Locked { .. } | Self::Io(_) | Self::Broken | Self::TooLarge { .. } => false,
        }
    }
}
