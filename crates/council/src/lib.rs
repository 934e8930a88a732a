//! The agreement of several validators of a Zilliqa network, without connections and files. The crate has the network
//! file as text, the entries that a committee decides, and the state machine of a member.
//!
//! The crate is a library. `silica network` makes and checks network files with it, and the crate `silica-network` runs
//! a network with it.
//!
//! # The life of a block
//!
//! ```text
//!             height 2t − 1                             height 2t
//! pool ─▶ body ─▶ candidate ─▶ decided body ─▶ session ─▶ seal ─▶ committed block
//!         propose  judge       decide          messages   judge   decide
//! ```
//!
//! A [`Council`] is one member. Its caller runs the agreement on the ids of entries. The caller broadcasts entries,
//! sends votes, keeps a journal, and calls the council on the thread that owns the chain.
//!
//! # Modules
//!
//! Layers, lowest first:
//!
//! - `bounds`, `wire`:
//!   - `bounds` has the largest sizes of messages and committees.
//!   - `wire` has the primitives of canonical bytes.
//! - `batch`, `network`:
//!   - `batch` has [`TransactionBatch`], the transactions that a member sends to the other members.
//!   - `network` has [`NetworkFile`], the parameters and members of a network, and [`NetworkId`].
//! - `entry`: [`Body`] and [`Seal`], with their canonical bytes and their [`EntryId`]s.
//! - `new_files`, `proposer`, `record`, `time`, `vote`:
//!   - `new_files` has [`NewFiles`], the rule for a member that can have lost its agreement files.
//!   - `proposer` has the rule for the proposer of a round.
//!   - `record` reads the entries of committed blocks.
//!   - `time` has the rule for the timestamp of a body.
//!   - `vote` has the bytes that members sign.
//! - `cosign`: [`Session`], the part of a member in the co-signature of a body.
//! - `council`: [`Council`], the state machine of a member.
//!
//! # Invariants
//!
//! - The crate has no clock, no socket and no random numbers of its own. No result depends on the order of a hash map.
//! - A value has one byte form only. A decoder rejects every other form, and never panics.
//! - The verdict [`Verdict::Invalid`] is a function of the chain, the network file and the bytes. A clock or a failure
//!   of this node leads to another verdict.
//! - A member answers no challenge before it has decided the body of the session.
//! - A block of the chain is the result of two decisions: of its body, and of its seal. No rule of this crate
//!   changes a byte of these two entries.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

mod batch;
mod bounds;
mod cosign;
mod council;
mod entry;
mod network;
mod new_files;
mod proposer;
mod record;
#[cfg(test)]
mod testing;
mod time;
mod vote;
mod wire;

pub use crate::{
    batch::{MAX_BATCH, MAX_TRANSACTION, TransactionBatch},
    bounds::{MAX_COSIGN_MESSAGE, MAX_MEMBERS},
    cosign::{
        CoSignMessage, CoSignRound, CoSignTask, Content, EarlyReadys, Effect, ItemHashes, MAX_ATTEMPTS, Recipient,
        Rejected, Session, SessionFailure, SessionId, SignedReady, Timer, TimerKind,
    },
    council::{Council, DecideError, Decided, Entry, InvalidEntry, NotMember, ProposalError, Rule, Verdict, Withheld},
    entry::{BlocksError, Body, BodyLimits, EntryId, EntryKind, Height, ItemSignatures, Seal, SealError},
    network::{
        AccountsFile, AccountsFileError, BlockTiming, Member, MemberAddress, NetworkDraft, NetworkFile,
        NetworkFileError, NetworkId, Parameters, PeerId, PeerIdError, is_host_and_port, is_network_name,
    },
    new_files::NewFiles,
    proposer::proposer,
    record::{RecordError, entry_bytes},
    time::{TimeRule, TimeVerdict, judge_decided, judge_first_proposal, next_timestamp, propose_timeout_of},
    vote::{EntryProposal, Vote, VoteKind},
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
