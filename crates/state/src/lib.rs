//! Stores the blocks, accounts and contract storage of a Zilliqa chain on disk, with tries and proofs.
//!
//! A [`Store`] has one writer. The writer [prepares](Store::prepare) the state after a block, puts its root into the
//! header of the block, and [commits](Store::commit) both. Each reader takes a [`Snapshot`], which does not change
//! while blocks are made. A snapshot returns accounts, entries of contract storage, proofs, blocks and transactions.
//!
//! # Examples
//!
//! From an address to a proved value:
//!
//! ```
//! use silica_protocol::{
//!     Account, Address, CoSignatures, DsBlock, DsBlockHeader, MbInfoHash, Nonce, PublicKey, Qa, Timestamp, TxBlock,
//!     TxBlockHeader,
//! };
//! use silica_state::{BlockRecord, StateDiff, Store, StoreOptions, trie::verify_proof};
//!
//! let store = Store::ephemeral(StoreOptions::default());
//! let address = Address::new([0x2a; 20]);
//! let account = Account { balance: Qa::new(1_000), nonce: Nonce::new(1), contract: None };
//! let diff = StateDiff { accounts: [(address, account)].into(), ..StateDiff::default() };
//! let state = store.extend(store.prepare(), &diff)?;
//!
//! let member = PublicKey::new([2; 33]);
//! let header = TxBlockHeader {
//!     state_root: state.root(),
//!     mb_info_hash: MbInfoHash::of(&[]),
//!     ..TxBlockHeader::genesis(member)
//! };
//! let (cosignatures, timestamp) = (CoSignatures::unsigned(1), Timestamp::new(0));
//! let genesis = BlockRecord {
//!     tx_block: TxBlock { header, micro_blocks: Vec::new(), cosignatures: cosignatures.clone(), timestamp },
//!     micro_blocks: Vec::new(),
//!     ds_block: Some(DsBlock { header: DsBlockHeader::genesis(member), cosignatures, timestamp }),
//!     transactions: Vec::new(),
//!     edits: StateDiff::default(),
//!     repeats_number: false,
//! };
//! let snapshot = store.commit(&genesis, state)?;
//!
//! assert_eq!(snapshot.account(&address)?, Some(account));
//! let proof = snapshot.state().account_proof(&address)?;
//! let proved = verify_proof(&snapshot.state().root().to_bytes(), address.to_string().as_bytes(), &proof)?;
//! assert_eq!(proved, Some(account.encode()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Modules
//!
//! Layers, lowest first:
//!
//! - `codec`, `file`, `layout`, [`trie`], `version`: the bytes of stored values; file functions that `std` lacks; paths
//!   and tables of a store; the Merkle-Patricia trie as pure functions; version numbers.
//! - `db`, `diff`, `proof`: the engine; state diffs; the verification of proofs.
//! - `archive`: the record of blocks.
//! - `error`: the errors of the store.
//! - `keys`: the key index, which has the plain keys of contract storage in their order.
//! - `versioned_trie`: the account trie and the storage tries, with versions in memory and pages on disk.
//! - `transition`: the next version, from a version and a state diff.
//! - `savepoints`, `view`, `window`: the savepoints; queries to one version; the state history.
//! - `checkpointer`, `snapshot`: the thread that writes checkpoints; queries to the chain at one block.
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
mod keys;
mod layout;
mod proof;
mod savepoints;
mod snapshot;
mod store;
#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, clippy::cast_possible_truncation, reason = "an overflow fails the test")]
mod tests;
mod transition;
pub mod trie;
mod version;
mod versioned_trie;
mod view;
mod window;

pub use crate::{
    archive::{
        AppendError, ArchiveError, ArchiveReport, BlockRecord, BlockSigner, EmptyBlockRange, FoundTransaction, Head,
        OpenArchiveError, Place, RangeBuilder, RangeDsBlock, RangeTemplate, RangeVacuousBlock, RecordImport, RecordRow,
        StoredTransaction, Totals, TransactionGroup,
    },
    db::{DbError, Durability, is_engine_panic},
    diff::{StateDiff, StorageDiff},
    error::{CloseError, CommitError, HistoryError, OpenError, RecoverError, RevertError, StateError},
    proof::{ProvenState, StateProofError, verify_account_proof, verify_state_proof},
    savepoints::Savepoint,
    snapshot::Snapshot,
    store::{Append, CheckReport, OpenOutcome, PreparedState, Store, StoreOptions, StoreReader},
    view::{Entries, StateView},
};
