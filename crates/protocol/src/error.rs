//! The error of the decoders of binary messages.

use alloc::string::String;

/// Reason why bytes are not the expected message.
///
/// An error names a field with the name of its message, a dot, and the name of the field in the protobuf definition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes are not a protobuf message with the expected fields.
    #[error("malformed {message}: {reason}")]
    Malformed {
        /// The name of the expected message.
        message: &'static str,
        /// The error of the protobuf decoder.
        reason: String,
    },
    /// A required field is absent.
    #[error("{field} is missing")]
    Missing {
        /// The name of the field.
        field: &'static str,
    },
    /// A field has the wrong length.
    #[error("{field}: expected {expected} bytes, got {got}")]
    Length {
        /// The name of the field.
        field: &'static str,
        /// The expected length, in bytes.
        expected: usize,
        /// The given length, in bytes.
        got: usize,
    },
    /// A text field is not UTF-8.
    #[error("{field}: expected UTF-8 text, got an invalid byte at position {position}")]
    Text {
        /// The name of the field.
        field: &'static str,
        /// Position of the first byte that is not UTF-8, from 0.
        position: usize,
    },
    /// A field has an invalid value.
    #[error("{field}: expected {expected}, got {got}")]
    Value {
        /// The name of the field.
        field: &'static str,
        /// The expected value or range.
        expected: String,
        /// The given value.
        got: String,
    },
    /// The message is readable, but not in canonical form. It has unknown or repeated fields, another order of fields,
    /// or longer forms of numbers. Its hash would differ from the hash of the canonical form.
    #[error("{message}: expected the canonical form, got a difference at byte {position}")]
    NotCanonical {
        /// The name of the expected message.
        message: &'static str,
        /// Position of the first byte that differs from the canonical form, from 0.
        position: usize,
    },
}
