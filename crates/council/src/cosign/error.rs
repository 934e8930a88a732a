//! The errors of co-signature sessions.

use silica_crypto::{AggregateError, RoundValueError, VerifyError};

use super::message::SessionId;
use crate::entry::EntryId;

/// Reason why a message of a session is rejected. A rejected message has no effect on the session, with two exceptions:
/// a false challenge ends the attempt of a signer, and a leader excludes the sender of false points or responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rejected {
    /// The committee has no member at this position.
    #[error("sender: expected a number below {members}, got {got}")]
    Sender {
        /// Number of members.
        members: usize,
        /// Position of the sender.
        got: usize,
    },
    /// The signature of the sender is false.
    #[error("signature of member {from}: {source}")]
    Signature {
        /// Position of the sender.
        from: usize,
        /// The fault.
        source: VerifyError,
    },
    /// The message belongs to another height, round or attempt.
    #[error("session: expected {expected}, got {got}")]
    Session {
        /// The current attempt.
        expected: SessionId,
        /// The attempt of the message.
        got: SessionId,
    },
    /// The message is about another body.
    #[error("body: expected {expected}, got {got}")]
    Body {
        /// The decided body.
        expected: EntryId,
        /// The body of the message.
        got: EntryId,
    },
    /// Only the leader sends this message.
    #[error("sender: expected the leader {leader}, got {got}")]
    NotLeader {
        /// Position of the leader.
        leader: usize,
        /// Position of the sender.
        got: usize,
    },
    /// The sender is not a signer of this attempt.
    #[error("sender: expected a signer of the attempt, got {got}")]
    NotSigner {
        /// Position of the sender.
        got: usize,
    },
    /// The message is not due. For example, the member has answered it before, or an earlier message is missing.
    #[error("message: expected the next message of the session, got another one")]
    NotDue,
    /// A list has another length.
    #[error("{field}: expected {expected} elements, got {got}")]
    Length {
        /// Name of the list.
        field: &'static str,
        /// Expected length.
        expected: usize,
        /// Given length.
        got: usize,
    },
    /// The set has another number of signers than the quorum, or lacks the leader.
    #[error("signers: expected {expected} with the leader, got {got}")]
    Signers {
        /// The quorum.
        expected: usize,
        /// Number of signers.
        got: usize,
    },
    /// The hashes of this member in the set are not the hashes that the member sent.
    #[error("hashes of this member: expected the sent hashes, got other hashes")]
    OwnHashes,
    /// A point does not match the hash that its signer sent before, or is not a point of the curve.
    #[error("point of member {member}, item {item}: expected the point of the sent hash, got other bytes")]
    Point {
        /// Position of the member.
        member: usize,
        /// Position of the item.
        item: usize,
    },
    /// A response is false.
    #[error("response of member {member}, item {item}: expected a response to the challenge, got another number")]
    Response {
        /// Position of the member.
        member: usize,
        /// Position of the item.
        item: usize,
    },
    /// A signature of the first round is false.
    #[error("first signature of item {item}: {source}")]
    FirstSignature {
        /// Position of the item.
        item: usize,
        /// The fault.
        source: VerifyError,
    },
    /// The points or the keys have no sum.
    #[error(transparent)]
    Aggregate(#[from] AggregateError),
    /// A challenge or a sum is 0.
    #[error(transparent)]
    RoundValue(#[from] RoundValueError),
}

impl Rejected {
    /// Returns whether this reason is usual in a session without faulty members. Messages can come late. A leader also
    /// sends messages for the signers to members that do not sign in this attempt.
    pub const fn is_ordinary(&self) -> bool {
        matches!(self, Self::Session { .. } | Self::NotDue)
    }
}

/// Reason why a leader ends a session without a seal. The next round of the height has another leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionFailure {
    /// Too few members are left after the exclusion of members that are silent or send false messages.
    #[error("members: expected at least {needed}, got {left} that answer")]
    TooFew {
        /// Number of members that are not excluded.
        left: usize,
        /// The quorum.
        needed: usize,
    },
    /// The leader has used all attempts of the round.
    #[error("attempts: expected a seal in {most} attempts, got none")]
    Attempts {
        /// Number of attempts of a round.
        most: u8,
    },
    /// The round ended before the session.
    #[error("round: expected a seal before its end, got none in attempt {attempt}")]
    Ended {
        /// The attempt at the end.
        attempt: u8,
    },
}
