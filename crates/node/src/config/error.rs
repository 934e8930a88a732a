//! Why there is no configuration.

use std::{io, path::PathBuf};

use super::{FileLocation, Origin};

/// Reason why options give no configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The TOML file cannot be read.
    #[error("cannot read configuration file {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is not TOML.
    #[error("{place}: expected TOML: {reason}")]
    Syntax {
        /// Where.
        place: FileLocation,
        /// What is wrong.
        reason: String,
    },
    /// There is no option of this name.
    #[error("{place}: unknown key {key:?}{}", nearest.as_ref().map(|near| format!("; did you mean {near:?}?")).unwrap_or_default())]
    Unknown {
        /// Where.
        place: FileLocation,
        /// The name.
        key: String,
        /// The most similar name that there is.
        nearest: Option<String>,
    },
    /// An option cannot have this value.
    #[error("{place}: {key}: {wrong}")]
    Value {
        /// Where.
        place: FileLocation,
        /// The option.
        key: String,
        /// What was expected and what came.
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
    #[error("{option} (by {origin}) means nothing without {needed}")]
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
