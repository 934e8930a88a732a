//! The error of decoders of binary messages.

/// Reason why bytes do not contain the requested message.
///
/// Fields have the names of the protocol's definition, after the name of their message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes are not a protobuf message of this shape.
    #[error("malformed {message}: {reason}")]
    Malformed {
        /// The message that was expected.
        message: &'static str,
        /// The fault that the protobuf decoder found.
        reason: String,
    },
    /// A field that is always written is not there.
    #[error("{field} is missing")]
    Missing {
        /// The field.
        field: &'static str,
    },
    /// A field of fixed length has another length.
    #[error("{field}: expected {expected} bytes, got {got}")]
    Length {
        /// The field.
        field: &'static str,
        /// Length that was expected.
        expected: usize,
        /// The given length.
        got: usize,
    },
    /// A field does not hold UTF-8 text.
    #[error("{field}: expected UTF-8 text, got byte {position} that is not")]
    Text {
        /// The field.
        field: &'static str,
        /// Position of the first wrong byte.
        position: usize,
    },
    /// A field has a value that it cannot have here.
    #[error("{field}: expected {expected}, got {got}")]
    Value {
        /// The field.
        field: &'static str,
        /// Value or range that was expected.
        expected: String,
        /// The given value.
        got: String,
    },
    /// The message is readable, yet not written as the protocol writes it: unknown or repeated fields, another order,
    /// or longer forms of numbers. Such bytes have another hash than the message they seem to hold.
    #[error("{message} is not in its canonical form from byte {position} on")]
    NotCanonical {
        /// The message that was expected.
        message: &'static str,
        /// Position of the first byte that differs from the canonical form.
        position: usize,
    },
}
