//! The rules and the block production of a Zilliqa chain of the generation 8.1: admission, pool, execution of payments
//! and contracts, blocks, DS epochs, and the interface of consensus.
//!
//! # Example
//!
//! This example runs a network with one node and a store in memory. The caller passes the time.
//!
//! ```
//! use silica_chain::{
//!     Chain, ChainConfig, Genesis, PUBLISHED_ACCOUNTS, Producer, Routing,
//!     consensus::{Effect, Engine, Input, Solo},
//!     open,
//! };
//! use silica_crypto::KeyPair;
//! use silica_protocol::{Address, Qa, Timestamp, Transaction};
//! use silica_state::{Store, StoreOptions};
//!
//! let key = KeyPair::from_hex(&"01".repeat(32))?;
//! let (store, config) = (Store::ephemeral(StoreOptions::default()), ChainConfig::isolated());
//! let (chain, mut producer) =
//!     open(store, config, &Genesis::default(), key.public_key(), Timestamp::new(1_700_000_000_000_000))?;
//! let mut engine = Solo::new(key);
//!
//! // One of the published test accounts pays.
//! let sender = KeyPair::from_hex(PUBLISHED_ACCOUNTS[0].secret_key())?;
//! let recipient = Address::new([7; 20]);
//! let payment = Transaction::payment(recipient, Qa::new(1_000)).chain_id(chain.config().chain_id).nonce(1);
//!
//! let now = Timestamp::new(1_700_000_001_000_000);
//! let submitted = chain.submit(chain.admit(payment.sign(&sender)?, false)?, now)?;
//! assert_eq!(submitted.routing, Routing::Payment);
//! let effects = engine.step(Input::Arrival(now), &mut producer)?;
//! assert!(matches!(&effects[..], [Effect::Committed(block)] if block.transactions().len() == 1));
//! assert_eq!(chain.snapshot().account(&recipient)?.unwrap().balance, Qa::new(1_000));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Items by task
//!
//! | Task | Items |
//! |---|---|
//! | test a program or a contract against a chain | `TestChain`, with the feature `test-util` |
//! | start or open a chain | [`open`], [`ChainConfig`], [`Genesis`] |
//! | submit a transaction, simulate it, estimate its gas | [`Chain::submit`], [`Chain::simulate`], [`Chain::estimate_gas`] |
//! | read accounts, contracts, blocks and receipts | [`Chain::snapshot`], [`Snapshot`] |
//! | make blocks alone, or write a consensus | [`consensus::Solo`], [`consensus::Engine`], [`consensus::Application`] |
//! | verify a block of another node | [`consensus::Application::verify`], [`consensus::seal_with`], [`Proposal`] |
//! | revert to an earlier block | [`Producer::save`], [`Producer::revert`] |
//! | check or execute a stored chain again | [`check()`], [`check_balances`], [`rebuild`] |
//! | read all changes of balances | [`Snapshot::transfers`] |
//!
//! # The life of a transaction
//!
//! ```text
//!            Chain                                   Producer, driven by an Engine
//! Transaction ─▶ VerifiedTransaction ─▶ pool ─▶ ExecutedBlock ─▶ SealedBlock ─▶ CommittedBlock ─▶ Snapshot
//!     admission                       pool    builder, executor   consensus      producer         snapshot
//! ```
//!
//! Each type has one module that creates its values, after the check or the action that the type guarantees. The
//! `verifier` checks a block of another node. It executes the `Proposal`, compares each member of the headers with the
//! result, and returns an `ExecutedBlock`.
//!
//! # Modules
//!
//! Layers, lowest first:
//!
//! - `accounts`, `accounts_file`, `committee`, [`difficulty`], `drop_reason`, `epoch`, [`gas_price`], `parallel`,
//!   `reserve_log`, `revert_log`, [`reward`], `room`:
//!   - `accounts` reads accounts, and `accounts_file` reads the file of the first accounts.
//!   - `committee` has the members of each DS epoch.
//!   - `difficulty`, `epoch`, `gas_price` and `reward` compute values of DS epochs.
//!   - `room` has the work and the bytes that are left in a block.
//!   - `drop_reason` has the statuses of dropped transactions.
//!   - `parallel` divides work among threads.
//!   - `reserve_log` has the balances of the null account.
//!   - `revert_log` has the reverts of the chain.
//! - [`config`], `genesis`: the parameters of a chain, and its first state.
//! - `admission`, `scilla_rules`:
//!   - `admission` has the checks of a transaction before it enters the pool.
//!   - `scilla_rules` reads and writes the Scilla rules in the record.
//! - `pool`: pending transactions and their order.
//! - `stage`: the stages of a block.
//! - `executor`: the execution of one transaction on the running state of a block.
//! - `network`, `state_delta`:
//!   - `network` has the context of a block: the constant parameters and the head.
//!   - `state_delta` encodes the changes of a block for headers and for the store.
//! - `builder`, `shared`, `epoch_accounting`:
//!   - `builder` makes the next block from the head and transactions.
//!   - `shared` has the state that all handles share.
//!   - `epoch_accounting` computes the fees and prices of a DS epoch.
//! - `edit`, `verifier`, `range`, `snapshot`, `transfer`:
//!   - `edit` makes the blocks with edits by developers.
//!   - `verifier` verifies blocks of other nodes.
//!   - `range` plans empty block ranges.
//!   - `snapshot` has the queries of readers.
//!   - `transfer` derives the changes of balances from the record.
//! - `transaction_search`: walks over the transactions of the record.
//! - `transfer_parts`: finds the parts of blocks with transfers of some addresses in the history index.
//! - `account_list`, `address_history`, `balance_at`, `balance_rules`, `block_list`, [`consensus`], `event_list`,
//!   `transaction_list`, `transfer_list`:
//!   - `account_list` lists accounts.
//!   - `address_history` lists the transactions of an address.
//!   - `balance_at` has the balances after earlier blocks.
//!   - `balance_rules` gives the changes of balances to the history index.
//!   - `block_list` lists blocks, and `transaction_list` lists transactions.
//!   - `consensus` is the interface of consensus.
//!   - `event_list` lists events, and `transfer_list` lists transfers.
//! - `contract`, `contract_list`:
//!   - `contract` has the queries about a contract.
//!   - `contract_list` lists contracts, and finds them by name.
//! - `balance_check`, `replay`, `simulation`, `state_page`:
//!   - `balance_check` compares balances with transfers.
//!   - `replay` executes stored blocks again.
//!   - `simulation` has simulations and gas estimates.
//!   - `state_page` returns pages of contract state.
//! - `handle`, `holders`, `load`, `tokens`, `trace`:
//!   - `handle` has the handle for queries and submissions.
//!   - `holders` lists the holders of a token.
//!   - `load` reads the stored head.
//!   - `tokens` lists the tokens of a holder.
//!   - `trace` returns the statements that a transaction executed.
//! - `producer`: the only writer of a chain.
//! - `open`, `savepoint`: `open` opens or creates a chain, and `savepoint` reverts it to an earlier block.
//! - `test_chain`: a chain for tests, behind the feature `test-util`.
//!
//! # Invariants
//!
//! - The crate has no clock, no random numbers and no floating point, and no result depends on the order of a hash map.
//!   A block is a function of the head, the pool and the time, which is an argument.
//! - After each block, the balances of all accounts plus the uncredited fees of the DS epoch equal the supply of the
//!   genesis plus the changes by edits.
//! - Blocks are made at intervals, on request, for an edit, or at the arrival of transactions. A block for an arrival
//!   is not empty, except a vacuous block. If a vacuous block is due, it comes first, and the transaction goes into the
//!   next block.
//! - The timestamp of a block is the given time, or one microsecond after the previous block if that is later.
//! - No thread holds a lock of this crate while it verifies a signature, executes a transaction or writes a block.
//! - A head is published as a whole, and only after its blocks are durable. A store with
//!   [`Durability::Relaxed`](silica_state::Durability) is the exception: a flush of this store does nothing.
//! - The crate has no HTTP, no RPC method and no error code. Some error texts, such as those of [`AdmissionError`], are
//!   the texts of the reference, because clients compare them. The store reads and writes all files.
//! - A failed deployment or call changes only the balance and the nonce of its sender. If the interpreter panics on a
//!   contract, the transaction is dropped without a fee.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

mod account_list;
mod accounts;
mod accounts_file;
mod address_history;
mod admission;
mod balance_at;
mod balance_check;
mod balance_rules;
mod block_list;
mod builder;
mod committee;
pub mod config;
pub mod consensus;
mod contract;
mod contract_list;
pub mod difficulty;
mod drop_reason;
mod edit;
mod epoch;
mod epoch_accounting;
mod event_list;
mod executor;
pub mod gas_price;
mod genesis;
mod handle;
mod holders;
mod load;
mod network;
mod open;
mod parallel;
mod pool;
mod producer;
mod range;
mod replay;
mod reserve_log;
mod revert_log;
pub mod reward;
mod room;
mod savepoint;
mod scilla_rules;
mod shared;
mod simulation;
mod snapshot;
mod stage;
mod state_delta;
mod state_page;
#[cfg(feature = "test-util")]
mod test_chain;
#[cfg(test)]
mod testing;
mod tokens;
mod trace;
mod transaction_list;
mod transaction_search;
mod transfer;
mod transfer_list;
mod transfer_parts;
mod verifier;

#[cfg(feature = "test-util")]
pub use crate::test_chain::{
    Deployed, Executed, Replica, ReplicaError, TestChain, TestChainBuilder, TestChainError, TestSnapshot,
};
#[doc(no_inline)]
pub use silica_crypto as crypto;
#[doc(no_inline)]
pub use silica_protocol as protocol;
#[doc(no_inline)]
pub use silica_scilla as scilla;
#[doc(no_inline)]
pub use silica_state as state;

pub use crate::{
    account_list::AddressPage,
    accounts_file::{AccountEntry, AccountsFile, GenesisError},
    address_history::{AddressRole, AddressTransaction, HistoryPage, HistoryRequest},
    admission::{AdmissionError, InvalidTransaction, Routing, VerifiedTransaction},
    balance_at::BalanceAtError,
    balance_check::{BalanceError, check_balances},
    balance_rules::set_balance_rules,
    block_list::{BlockListPage, BlockRow},
    committee::Committees,
    config::{ChainConfig, ConfigError},
    consensus::{CommitError, EngineError, PassError, ProposeError, SealError},
    contract::{ContractEntries, ContractField, variable_key},
    contract_list::{ContractRow, TokenDescription},
    drop_reason::DropReason,
    edit::Edit,
    epoch::Epochs,
    event_list::{EventCursor, EventListPage, EventListRequest, ListedEvent},
    executor::{
        CallTree, CheckError, CheckRequest, ContractInterface, Diagnostic, EditError, InterfaceError, Position,
        SourceCheck, TokenStandard, TraceWindow, TracedCall, TracedRun, TracedStep, TracedValue,
    },
    gas_price::GasPriceError,
    genesis::{
        GENESIS_TOKENS, Genesis, GenesisWarning, MINING_RESERVE, PUBLISHED_ACCOUNTS, PUBLISHED_BALANCE,
        PublishedAccount,
    },
    handle::{Chain, PoolImport, SubmissionError, Submitted},
    holders::{Holder, HoldersError, HoldersPage, TokenKind},
    load::OpenError,
    open::open,
    pool::{ModificationState, PoolError, PoolImportError, TxStatus},
    producer::{Producer, RecoverError},
    replay::{ReplayError, check, rebuild},
    revert_log::ChainTip,
    savepoint::{ChainSavepoint, RevertError},
    scilla_rules::{RulesError, check as check_rules},
    simulation::{AccountChange, GasEstimate, Simulation, SimulationError, VariableChange},
    snapshot::{
        BlockTransactionsError, Listing, ListingError, MinerInfo, MinerInfoError, PoolPage, PositionsPage, ProofError,
        Snapshot, Statistics, TransactionStatus, TransactionsPage,
    },
    stage::{BuildError, CommittedBlock, ExecutedBlock, InvalidBlock, Proposal, SealedBlock},
    state_page::{PastStateError, StateEntry, StatePage, StatePageError, StatePageRequest},
    tokens::{HeldToken, TokensPage},
    trace::{TraceError, TransactionTrace},
    transaction_list::{TransactionListPage, TransactionListRequest, TransactionSummary},
    transaction_search::{BlockSpan, HistoryOrder, HistoryPlace},
    transfer::{BlockPart, Transfer, TransferAmount, TransferKind, TransferPlace},
    transfer_list::{TransferPage, TransferRequest},
};

#[cfg(all(doctest, feature = "test-util"))]
#[doc = include_str!("../README.md")]
struct Readme;
