//! Errors in options.

use std::{io, path::PathBuf};

use super::{FileLocation, Origin};

/// Reason why the options are invalid.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The TOML file cannot be read.
    #[error("cannot read configuration file {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file is not TOML.
    #[error("{place}: expected TOML: {reason}")]
    Syntax {
        /// The line.
        place: FileLocation,
        /// The fault.
        reason: String,
    },
    /// There is no option of this name.
    #[error("{place}: unknown key {key:?}{}", nearest.as_ref().map(|near| format!("; did you mean {near:?}?")).unwrap_or_default())]
    Unknown {
        /// The line.
        place: FileLocation,
        /// The name.
        key: String,
        /// The most similar name of an option.
        nearest: Option<String>,
    },
    /// An option cannot have this value.
    #[error("{place}: {key}: {wrong}")]
    Value {
        /// The line.
        place: FileLocation,
        /// The option.
        key: String,
        /// The expected and the actual value.
        wrong: String,
    },
    /// Two options from the same source exclude each other.
    #[error("{first} cannot be used with {second}")]
    Exclusive {
        /// One of them, and its source.
        first: String,
        /// The other, and its source.
        second: String,
    },
    /// An option has no meaning without another.
    #[error("{option} (by {origin}) requires {needed}")]
    MissingCompanion {
        /// The option.
        option: &'static str,
        /// Its source.
        origin: Origin,
        /// The other.
        needed: &'static str,
    },
    /// Options that are valid alone cannot be used together.
    #[error(transparent)]
    Clap(#[from] clap::Error),
}
