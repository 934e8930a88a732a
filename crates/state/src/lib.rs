//! Stores the blocks, accounts and contract storage of a Zilliqa chain on disk, with tries and proofs.
//!
//! A [`Store`] has one writer. The writer [prepares](Store::prepare) the state after a block, puts its root into the
//! header of the block, and [commits](Store::commit) both. Each reader takes a [`Snapshot`], which does not change
//! while blocks are made. A snapshot returns accounts, entries of contract storage, proofs, blocks and transactions.
//!
//! # Examples
//!
//! The example writes an account, reads it, and verifies a proof of it. The store needs a block for each state, so the
//! example makes the first block:
//!
//! ```
//! use silica_state::{
//!     BlockRecord, StateDiff, Store, StoreOptions,
//!     protocol::{Account, Address, PublicKey, Qa, Timestamp},
//! };
//!
//! let store = Store::ephemeral(StoreOptions::default());
//! let address = Address::new([0x2a; 20]);
//! let account = Account::with_balance(Qa::new(1_000));
//! let state = store.extend(store.prepare(), &StateDiff::from_iter([(address, account)]))?;
//! let genesis = BlockRecord::genesis(state.root(), PublicKey::new([2; 33]), Timestamp::new(0));
//! let snapshot = store.commit(&genesis, state)?;
//!
//! let view = snapshot.state();
//! assert_eq!(view.account(&address)?, Some(account));
//! assert_eq!(view.account_proof(&address)?.verify_account(&view.root(), &address)?, Some(account));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Items by task
//!
//! | Task | Item |
//! |---|---|
//! | Open or create a store | [`Store::open`], [`Store::ephemeral`], [`StoreOptions`] |
//! | Write a block and its state | [`Store::prepare`], [`Store::extend`], [`Store::commit`], [`BlockRecord`] |
//! | Read blocks and transactions | [`Snapshot`] |
//! | Read accounts and contract storage of a block | [`Snapshot::state`], [`StateView`] |
//! | Find the transactions of an address, or a block by its hash | [`Snapshot::index`], [`StoreOptions::index`] |
//! | Find the balance of an address after an earlier block | [`IndexView::balance`], [`Store::set_balance_rules`] |
//! | Make a proof | [`StateView::account_proof`], [`StateView::storage_proof`] |
//! | Verify a proof, or use a trie without a store | the crate [`proof`] |
//! | Return to an earlier block | [`Savepoint`] |
//!
//! # Modules
//!
//! Layers, lowest first:
//!
//! - `codec`, `file`, `layout`, `merge_policy`, `version`:
//!   - `codec` encodes and decodes stored values.
//!   - `file` has file functions that `std` lacks.
//!   - `layout` has the paths and tables of a store.
//!   - `merge_policy` chooses the sorted sets that a log-structured merge tree merges.
//!   - `version` has version numbers.
//! - `db`, `diff`: `db` is the engine, and `diff` has state diffs.
//! - `archive`: the record of blocks.
//! - `index`: the history index, which finds transactions by address and event, blocks by hash, and balances.
//! - `error`: the errors of the store.
//! - `keys`: the key index, which has the plain keys of contract storage in their order.
//! - `versioned_trie`: the account trie and the storage tries, with versions in memory and pages on disk.
//! - `transition`: computes the next version from a version and a state diff.
//! - `savepoints`, `view`, `window`:
//!   - `savepoints` has the savepoints.
//!   - `view` has the queries to one version.
//!   - `window` has the state history.
//! - `checkpointer`, `snapshot`:
//!   - `checkpointer` is the thread that writes checkpoints.
//!   - `snapshot` has the queries to the chain at one block.
//! - `indexer`: the thread that adds blocks to the history index, and the rules by which a record changes balances.
//! - `store`: the writer, which uses all other modules.
//!
//! # Limits of the crate
//!
//! The crate has no rules for gas, fees, signatures or the contents of a block. It reads no clock and no configuration,
//! and writes no log. Return values contain all results and errors.
#![warn(clippy::arithmetic_side_effects)]

mod archive;
mod checkpointer;
mod codec;
mod db;
mod diff;
mod error;
mod file;
mod index;
mod indexer;
mod keys;
mod layout;
mod merge_policy;
mod savepoints;
mod snapshot;
mod store;
#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, clippy::cast_possible_truncation, reason = "an overflow fails the test")]
mod tests;
mod transition;
mod version;
mod versioned_trie;
mod view;
mod window;

pub use silica_proof as proof;
pub use silica_protocol as protocol;

pub use crate::{
    archive::{
        AppendError, ArchiveError, ArchiveReport, BlockOutline, BlockRecord, BlockRewards, BlockSigner, CheckedBlocks,
        EmptyBlockRange, FoundTransaction, Head, OpenArchiveError, Place, RangeBuilder, RangeDsBlock, RangeTemplate,
        RangeVacuousBlock, RecordImport, RecordRow, StoredTransaction, Totals, TransactionGroup,
    },
    db::{DbError, Durability, is_engine_panic},
    diff::{StateDiff, StorageDiff},
    error::{CloseError, CommitError, HistoryError, OpenError, RecoverError, RevertError, StateError},
    index::{
        IndexFailure, IndexKey, IndexKinds, IndexKindsError, IndexLost, IndexOrder, IndexPosition, IndexProgress,
        IndexView,
    },
    indexer::{BalanceChanges, BalanceRules},
    savepoints::Savepoint,
    snapshot::Snapshot,
    store::{Append, CheckReport, OpenOutcome, PreparedState, Store, StoreOptions, StoreReader},
    view::{Entries, StateView},
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
