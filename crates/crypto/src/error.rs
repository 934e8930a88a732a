//! The error types, one for each operation. No error text contains secret bytes.

use silica_protocol::{MbInfoHash, PublicKey};

/// Reason why bytes or a text are not a secret key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SecretKeyError {
    /// The text does not have 64 digits.
    #[error("secret key: expected 64 hexadecimal digits, got {got}")]
    Length {
        /// Number of given characters, without the optional `0x`.
        got: usize,
    },
    /// The text has a character that is not a hexadecimal digit.
    #[error("secret key: expected a hexadecimal digit as character {}, got another character", .position.saturating_add(1))]
    Digit {
        /// Position of the first wrong character, counted from 0 after the optional `0x`.
        position: usize,
    },
    /// The number is 0, or not below the order of the group.
    #[error(
        "secret key: expected a number from 1 to n - 1 (n is the order of secp256k1), got 0 or a number above n - 1"
    )]
    Range,
}

/// The operating system has returned no random numbers.
#[cfg(feature = "getrandom")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot get random numbers of the operating system")]
pub struct RandomError(#[from] getrandom::Error);

/// Reason why a message cannot be signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignError {
    /// The message has no bytes.
    #[error("message is empty")]
    EmptyMessage,
}

/// Reason why a signature does not verify.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The message has no bytes.
    #[error("message is empty")]
    EmptyMessage,
    /// The first half of the signature is 0, or not below the order of the group.
    #[error("signature: expected r from 1 to n - 1 (n is the order of secp256k1), got 0 or a number above n - 1")]
    Challenge,
    /// The second half of the signature is 0, or not below the order of the group.
    #[error("signature: expected s from 1 to n - 1 (n is the order of secp256k1), got 0 or a number above n - 1")]
    Response,
    /// The key is not the compressed form of a point.
    #[error("public key: expected a compressed point of secp256k1, got {key}")]
    Key {
        /// The given key.
        key: PublicKey,
    },
    /// The signature does not match the message and the key.
    #[error("signature does not match message and public key")]
    Mismatch,
}

/// Reason why points have no sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AggregateError {
    /// There are no points.
    #[error("expected at least one point, got none")]
    Empty,
    /// An element is not the compressed form of a point.
    #[error("element {position}: expected a compressed point of secp256k1, got {bytes}")]
    Point {
        /// Position of the element, counted from 0.
        position: usize,
        /// Bytes of the element.
        bytes: PublicKey,
    },
    /// The sum is the point at infinity.
    #[error("the sum of the points is the point at infinity")]
    Infinity,
}

/// Reason why bytes are not a value of a multisignature round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RoundValueError {
    /// A commit point is not the compressed form of a point.
    #[error("commit point: expected a compressed point of secp256k1, got {bytes}")]
    CommitPoint {
        /// The given bytes.
        bytes: PublicKey,
    },
    /// A challenge is 0, or not below the order of the group.
    #[error(
        "challenge: expected a number from 1 to n - 1 (n is the order of secp256k1), got 0 or a number above n - 1"
    )]
    Challenge,
    /// A response, or the sum of the responses, is 0 or not below the order of the group.
    #[error("response: expected a number from 1 to n - 1 (n is the order of secp256k1), got 0 or a number above n - 1")]
    Response,
    /// The message to be signed has no bytes.
    #[error("message is empty")]
    EmptyMessage,
}

/// Reason why a response to a challenge is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResponseError {
    /// The key is not the compressed form of a point.
    #[error("public key: expected a compressed point of secp256k1, got {key}")]
    Key {
        /// The given key.
        key: PublicKey,
    },
    /// The response does not match the challenge, the key and the commit point.
    #[error("response does not match challenge, public key and commit point")]
    Mismatch,
}

/// Reason why a proof of possession is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PossessionError {
    /// The signed submission does not contain the key.
    #[error("submission does not contain the public key {key}")]
    KeyAbsent {
        /// The key without a valid proof of possession.
        key: PublicKey,
    },
    /// The signature over the submission does not verify.
    #[error(transparent)]
    Signature(#[from] VerifyError),
}

/// Reason why a co-signature of a block is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CoSignatureError {
    /// The bitmap does not have one bit for each member.
    #[error("round {round}: expected a bitmap of {expected} bits, got {got}")]
    BitmapLength {
        /// The round, 1 or 2.
        round: u8,
        /// Number of committee members.
        expected: usize,
        /// Number of bits in the bitmap.
        got: usize,
    },
    /// The number of signers is not the required number.
    #[error("round {round}: expected exactly {expected} signers, got {got}")]
    Quorum {
        /// The round, 1 or 2.
        round: u8,
        /// Number of signers that a committee of this size needs.
        expected: usize,
        /// Number of set bits.
        got: usize,
    },
    /// The keys of the signers have no sum. The positions in `source` are positions in the list of signers, not in the
    /// committee.
    #[error("failed to add the keys of the signers of round {round}")]
    Aggregate {
        /// The round, 1 or 2.
        round: u8,
        /// The fault of the keys.
        source: AggregateError,
    },
    /// The collective signature does not verify.
    #[error("failed to verify the collective signature of round {round}")]
    Signature {
        /// The round, 1 or 2.
        round: u8,
        /// The fault of the signature.
        source: VerifyError,
    },
}

/// Reason why a Tx block is not a block of a committee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TxBlockError {
    /// The committee did not sign the header.
    #[error(transparent)]
    CoSignature(#[from] CoSignatureError),
    /// The list of micro blocks is not the list whose hash is in the header.
    #[error("list of micro blocks: expected the hash {expected}, got {got}")]
    MicroBlocks {
        /// The hash in the header.
        expected: MbInfoHash,
        /// The hash of the list.
        got: MbInfoHash,
    },
}

/// Reason why the arguments of an ECDSA function have no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EcdsaError {
    /// The key is not the compressed form of a point.
    #[error("key: expected a compressed point of secp256k1, got other bytes")]
    Key,
    /// The recovery id is above 3.
    #[error("recovery id: expected 0, 1, 2 or 3, got a larger number")]
    RecoveryId,
    /// r or s is not below the order of the group.
    #[error("signature: expected r and s below n (the order of secp256k1), got n or a larger number")]
    Signature,
    /// No public key matches the signature.
    #[error("signature: no public key matches it")]
    Unrecoverable,
}
