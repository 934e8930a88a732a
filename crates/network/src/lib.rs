//! The agreement of the validators of a Zilliqa network: the consensus engine Malachite on the state machine of
//! [`silica_council`].
//!
//! Only this crate depends on the engine and its network library. [`silica_council::Council`] decides whether an entry
//! is valid. The agreement has a runtime of its own, so that requests of clients do not occupy its threads.
//!
//! ```text
//!  other members ◀──▶ engine ──requests───▶ host ──work──▶ thread of the chain: Council, Application
//!                        ▲                   │                         │
//!                        └──────replies──────┴◀────────results─────────┘
//! ```
//!
//! The engine requests proposals and verdicts, and does not wait for the replies. The host turns each request into
//! [`Work`] for the thread that owns the chain, and replies when the work is done.
//!
//! # Durability
//!
//! An entry is in the journal before the engine votes for it. The decision of a body is in the journal before the
//! engine continues. The seal of a block is durable with the block. Then the journal is empty again. See `journal`.
//!
//! # Modules
//!
//! Layers, lowest first:
//!
//! - `first_start`: the time of the first start with new files.
//! - `journal`, `places`, `timeouts`, `types`:
//!   - `journal` has the entries for which this member can have voted.
//!   - `places` limits the messages of each member that wait for the thread of the chain.
//!   - `timeouts` has the timeouts of a height.
//!   - `types` has the votes, proposals and members in the form of the engine.
//! - `part`, `scheme`:
//!   - `part` has the messages of this crate, and collects the parts of entries.
//!   - `scheme` has the signature scheme.
//! - `context`: the types of this network in the form that the engine requires.
//! - `codec`, `signer`:
//!   - `codec` has the encodings of messages and of the engine's log.
//!   - `signer` signs and verifies votes.
//! - `certificates`, `log`, `own`:
//!   - `certificates` has the certificates of decided entries.
//!   - `log` checks the engine's log.
//!   - `own` finds votes that another process has sent with the key of this member.
//! - `table`: the entries of the current heights.
//! - `shared`: the state that the parts of the agreement share.
//! - `answer`: the replies to the requests of the engine.
//! - `ballot`, `host`, `peers`:
//!   - `ballot` drops votes that this member must not send.
//!   - `host` takes the requests of the engine.
//!   - `peers` notes which members are connected, and which certificates they have.
//! - `config`: the configuration of the engine.
//! - `agreement`: [`start`] and [`Agreement`].

mod agreement;
mod answer;
mod ballot;
mod certificates;
mod codec;
mod config;
mod context;
mod first_start;
mod host;
mod journal;
mod log;
mod own;
mod part;
mod peers;
mod places;
mod scheme;
mod shared;
mod signer;
#[cfg(test)]
mod simulation;
mod table;
mod timeouts;
mod types;

pub use crate::{
    agreement::{Agreement, Settings, StartError, check_member, start},
    config::AddressError,
    journal::JournalError,
    log::LogError,
    shared::{Driver, Status, Work},
};
