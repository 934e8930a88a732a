//! Co-signature sessions: how the members sign the items of a decided body together.
//!
//! ```text
//!    member                              leader
//!      │ 1 Ready: hashes of all points      │
//!      ├───────────────────────────────────▶│
//!      │ 2 Set: signers, all hashes         │   the signers are fixed before a point is known
//!      │◀───────────────────────────────────┤
//!      │ 3 Points of round 1                │
//!      ├───────────────────────────────────▶│
//!      │ 4 Challenge: points of all signers │   the member computes the challenge itself
//!      │◀───────────────────────────────────┤
//!      │ 5 Responses of round 1             │
//!      ├───────────────────────────────────▶│
//!      │ 6 First: signatures of round 1     │   the message of round 2 is fixed
//!      │◀───────────────────────────────────┤
//!      │ 7 Points, 8 Challenge, 9 Responses │   as 3 to 5
//! ```
//!
//! The leader excludes a member that is silent or sends false messages, and starts another attempt with new nonces. A
//! message `Ready` of the leader starts an attempt: the members answer with a `Ready` of their own. If the session
//! fails, the next round of the height has another leader. In its later rounds of the height, a leader begins without
//! the members that it has excluded. If the other members are too few for a quorum, the leader includes the excluded
//! members again.

mod early;
mod error;
mod leader;
mod member;
mod message;
mod session;
mod set;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

pub use self::{
    early::EarlyReadys,
    error::{Rejected, SessionFailure},
    message::{CoSignMessage, CoSignRound, Content, ItemHashes, SessionId, SignedReady},
    session::{Effect, MAX_ATTEMPTS, Recipient, Session, Timer, TimerKind},
    set::CoSignTask,
};
