//! Admission, pool, execution, blocks and the consensus seam of a Zilliqa chain, generation 8.1.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

mod accounts;
mod admission;
mod builder;
pub mod config;
pub mod consensus;
pub mod difficulty;
mod epoch;
mod error;
mod executor;
pub mod gas_price;
mod genesis;
mod handle;
mod judge;
mod open;
mod pool;
mod producer;
mod replay;
pub mod reward;
mod snapshot;
mod stage;
mod terms;
#[cfg(test)]
mod testing;

pub use crate::{
    admission::{Routing, VerifiedTransaction},
    config::ChainConfig,
    epoch::Epochs,
    error::{
        AdmissionError, BlockTransactionsError, BuildError, CommitError, ConfigError, EngineError, GasPriceError,
        GenesisError, InvalidBlock, InvalidTransaction, ListingError, MinerInfoError, OpenError, PoolError,
        PoolImportError, ProofError, ProposeError, ReplayError, SealError,
    },
    genesis::{
        GENESIS_TOKENS, Genesis, GenesisWarning, MINING_RESERVE, PUBLISHED_ACCOUNTS, PUBLISHED_BALANCE,
        PublishedAccount,
    },
    handle::{Chain, PoolImport, Submitted},
    open::open,
    pool::{DropReason, ModificationState, TxStatus},
    producer::Producer,
    replay::{check, rebuild},
    snapshot::{
        BodiesPage, Listing, MinerInfo, Snapshot, StateProof, Statistics, TRANSACTIONS_PER_PAGE, TransactionStatus,
        TransactionsPage,
    },
    stage::{CommittedBlock, ExecutedBlock, Proposal, SealedBlock},
};
