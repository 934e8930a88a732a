//! Accounts, tries with proofs and the archive of a Zilliqa chain, over sled.
#![warn(clippy::arithmetic_side_effects)]

mod archive;
mod codec;
mod db;
mod error;
pub mod trie;

pub use crate::{
    archive::{
        AppendError, ArchiveError, ArchiveReport, BlockRecord, Head, OpenArchiveError, Place, StoredTransaction, Totals,
    },
    db::Durability,
    error::DbError,
};
