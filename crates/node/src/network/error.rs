//! Errors of the commands.

use std::{io, path::PathBuf};

use silica_council::NetworkFileError;

use crate::data_dir::DataDirError;

/// Reason why a command failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum NetworkError {
    /// A file or directory cannot be read or written.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// The operation that failed.
        action: &'static str,
        /// Path of the file or directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file has invalid content.
    #[error("{}", path.display())]
    File {
        /// Path of the network file.
        path: PathBuf,
        /// The first fault of the file.
        source: NetworkFileError,
    },
    /// An accounts file has invalid content.
    #[error("{}: expected accounts, got an invalid file: {reason}", path.display())]
    Accounts {
        /// Path of the accounts file.
        path: PathBuf,
        /// The fault of the file.
        reason: String,
    },
    /// The keys of the member have another name in the network file, or the name has other keys.
    #[error("{}: member {name:?}: expected {field} {expected}, got {got}", path.display())]
    OtherMember {
        /// Path of the network file.
        path: PathBuf,
        /// Name of the member in the file.
        name: String,
        /// The field with a difference.
        field: &'static str,
        /// The value of the data directory or of the command line.
        expected: String,
        /// The value in the file.
        got: String,
    },
    /// The network file has no room for a new member.
    #[error("{}: expected at most {most} members, got {got} with the new one", path.display())]
    Full {
        /// Path of the network file.
        path: PathBuf,
        /// Largest number of members.
        most: usize,
        /// Number of members with the new member.
        got: usize,
    },
    /// A directory for new files has files.
    #[error("{}: expected a new or empty directory, got a directory with {found:?}", path.display())]
    NotEmpty {
        /// Path of the directory.
        path: PathBuf,
        /// Name of an entry of the directory.
        found: String,
    },
    /// The ports of the members exceed the largest port.
    #[error("{option}: expected at most {most} with {members} members, got {got}")]
    Ports {
        /// Name of the option.
        option: &'static str,
        /// The largest first port.
        most: u16,
        /// Number of members.
        members: u16,
        /// The given first port.
        got: u16,
    },
    /// This program has no consensus engine.
    #[error(
        "expected a program with the feature `network`, got a program without this feature; build the program with \
         `cargo build --release --features network`"
    )]
    NoEngine,
    /// A validator has ended by itself, or its orderly stop has failed.
    #[error("member {name} has ended with {status}; stopped the other members")]
    Ended {
        /// Name of the member.
        name: String,
        /// Exit status of its process.
        status: String,
    },
    /// The data directory of a member cannot be used.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
}

impl NetworkError {
    /// Returns a function that adds an action and a path to an error of the operating system.
    pub(super) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }
}
