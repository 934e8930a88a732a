//! The error of the network file.

/// Reason why a text is not a network file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkFileError {
    /// The text is not TOML.
    #[error("line {line}: {reason}")]
    Syntax {
        /// The line, from 1.
        line: usize,
        /// The reason of the TOML parser.
        reason: String,
    },
    /// A field is missing, unknown, or has an invalid value.
    #[error("line {line}: {field}: expected {expected}, got {got}")]
    Field {
        /// The line, from 1. The line of a missing field is the line of its table.
        line: usize,
        /// The table and the name of the field, for example `network.shards`.
        field: String,
        /// The expected value or range.
        expected: String,
        /// The given value.
        got: String,
    },
}
