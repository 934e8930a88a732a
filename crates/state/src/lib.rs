//! Accounts, tries with proofs and the archive of a Zilliqa chain, over sled.
#![warn(clippy::arithmetic_side_effects)]

mod archive;
mod checkpointer;
mod codec;
mod db;
mod diff;
mod error;
mod forest;
mod snapshot;
mod store;
mod transition;
pub mod trie;
mod view;
mod window;

pub use crate::{
    archive::{
        AppendError, ArchiveError, ArchiveReport, BlockRecord, Head, OpenArchiveError, Place, StoredTransaction, Totals,
    },
    db::Durability,
    diff::{StateDiff, StorageDiff},
    error::{CloseError, CommitError, DbError, HistoryError, OpenError, StateError},
    snapshot::Snapshot,
    store::{CheckReport, OpenOutcome, PreparedState, Store, StoreOptions, StoreReader},
    view::StateView,
};
