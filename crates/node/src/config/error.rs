//! Errors of options.

use std::{io, path::PathBuf};

use super::{FileLocation, Origin};

/// Reason why the options are invalid.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ConfigError {
    /// A read of the TOML file failed.
    #[error("cannot read configuration file {}", path.display())]
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file is not TOML.
    #[error("{place}: expected TOML: {reason}")]
    Syntax {
        /// File and line of the fault.
        place: FileLocation,
        /// The error of the TOML parser.
        reason: String,
    },
    /// The file has a key that is not an option.
    #[error("{place}: unknown key {key:?}{}", nearest.as_ref().map(|near| format!("; did you mean {near:?}?")).unwrap_or_default())]
    Unknown {
        /// File and line of the fault.
        place: FileLocation,
        /// The unknown key.
        key: String,
        /// The most similar name of an option; `None` if no name is similar.
        nearest: Option<String>,
    },
    /// The file has an invalid value of an option.
    #[error("{place}: {key}: {wrong}")]
    Value {
        /// File and line of the fault.
        place: FileLocation,
        /// Name of the option.
        key: String,
        /// The expected and the actual value.
        wrong: String,
    },
    /// Two options from the same source exclude each other, or an option excludes the command.
    #[error("{first} cannot be used with {second}")]
    Exclusive {
        /// The first option, and its source.
        first: String,
        /// The second option and its source, or the command.
        second: String,
    },
    /// An option requires another option.
    #[error("{option} (by {origin}) requires {needed}")]
    MissingCompanion {
        /// Name of the option.
        option: &'static str,
        /// Source of the option.
        origin: Origin,
        /// The required option.
        needed: &'static str,
    },
    /// The parser of the command line rejects the options.
    #[error(transparent)]
    Clap(#[from] clap::Error),
}
