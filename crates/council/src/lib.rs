//! The agreement of several validators of a Zilliqa network, as far as it is pure: the network file, and
//! the entries that a committee decides.
//!
//! The crate is a library. The node does not use it, and there is no program that runs a network.
//!
//! # Modules
//!
//! Layers, lowest first:
//!
//! - `bounds`, `wire`:
//!   - `bounds` has the largest sizes of messages and committees.
//!   - `wire` has the primitives of canonical bytes.
//! - `network`: [`NetworkFile`], the parameters and members of a network, and [`NetworkId`].
//! - `entry`: [`Body`] and [`Seal`], with their canonical bytes and their [`EntryId`]s.
//!
//! # Invariants
//!
//! - The crate has no clock, no socket and no random numbers of its own. No result depends on the order of a hash map.
//! - A value has one byte form only. A decoder rejects every other form, and never panics.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

mod bounds;
mod entry;
mod network;
#[cfg(test)]
mod testing;
mod wire;

pub use crate::{
    bounds::{MAX_COSIGN_MESSAGE, MAX_MEMBERS},
    entry::{Blocks, BlocksError, Body, BodyLimits, EntryId, EntryKind, Height, ItemSignatures, Seal, SealError},
    network::{
        AccountsFile, BlockTiming, Member, MemberAddress, NetworkFile, NetworkFileError, NetworkId, Parameters, PeerId,
        PeerIdError,
    },
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
