//! Traces: the statements of a transaction, from a repeated execution.
//!
//! ```text
//! state before the block ─▶ edits and earlier transactions of the block ─▶ transaction with a tracer ─▶ trace
//! ```
//!
//! The new receipts must equal the recorded receipts. So the trace shows the execution in the block, not a different
//! execution.

use silica_protocol::{Account, Address, BlockNumber, Receipt, StorageKey, Timestamp, TxHash};
use silica_state::{
    ArchiveError, BlockRecord, HistoryError, Snapshot as Store, StateError, StateView, StoredTransaction,
};

use crate::{
    accounts::{Accounts, Source, StateReader, Visitor, visit},
    admission::VerifiedTransaction,
    executor::{
        self, CallTree, Context, ContractCache, NOTHING_LOADED, Outcome, Overlay, Recorded, TraceWindow, Tracer,
    },
    shared::Shared,
    simulation::{AccountChange, account_change},
    snapshot::Snapshot,
    state_delta::state_diff,
    state_page::PastStateError,
};

/// The trace of a transaction in a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionTrace {
    /// Number of the block of the transaction.
    pub block: BlockNumber,
    /// The receipt of the transaction.
    pub receipt: Receipt,
    /// The calls of the transaction, and their statements.
    pub calls: CallTree,
    /// The accounts that the transaction changed, ascending by address.
    pub changes: Vec<AccountChange>,
}

/// The state after a block, and the record, which can have later blocks.
struct Past {
    view: StateView,
    record: Store,
}

impl Accounts for Past {
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        self.view.account(address)
    }
}

impl StateReader for Past {
    fn entry(&self, contract: &Address, key: &StorageKey) -> Result<Option<Vec<u8>>, StateError> {
        self.view.storage_value(contract, &key.variable_hash())
    }

    fn visit_entries(
        &self,
        contract: &Address,
        prefix: &StorageKey,
        from: Option<&StorageKey>,
        visitor: Visitor<'_>,
    ) -> Result<(), StateError> {
        visit(&self.view, contract, prefix, from, visitor)
    }

    /// Returns the texts of a contract, or `None` if the account does not exist in this state. The record can have
    /// texts from later blocks. The check of the account excludes these texts.
    fn source(&self, contract: &Address) -> Result<Option<Source>, StateError> {
        let is_there = self.view.account(contract)?.is_some();
        if is_there { StateReader::source(&self.record, contract) } else { Ok(None) }
    }

    /// Returns the timestamp of a block up to the block of this state, and `None` for later blocks. The comparison with
    /// the logical number `block` is safe, because a logical number is never above the number of its block.
    fn block_time(&self, block: BlockNumber) -> Result<Option<Timestamp>, StateError> {
        let is_past = self.view.block().is_some_and(|newest| block <= newest);
        if is_past { StateReader::block_time(&self.record, block) } else { Ok(None) }
    }
}

impl Snapshot {
    /// Returns the trace of a transaction. The call takes as long as the execution of this transaction and of the
    /// earlier transactions in its block.
    ///
    /// # Errors
    ///
    /// [`TraceError`]: no block has the transaction, the state history has no state before its block, the repeated
    /// execution gives another receipt, or the data could not be read.
    pub fn trace(&self, hash: &TxHash) -> Result<TransactionTrace, TraceError> {
        self.traced(hash, None)
    }

    /// Returns a page of the trace of a transaction. Each page executes the whole transaction.
    ///
    /// # Errors
    ///
    /// The errors of [`trace`](Self::trace).
    pub fn trace_page(&self, hash: &TxHash, window: TraceWindow) -> Result<TransactionTrace, TraceError> {
        self.traced(hash, Some(window))
    }

    fn traced(&self, hash: &TxHash, window: Option<TraceWindow>) -> Result<TransactionTrace, TraceError> {
        let stored = self.transaction(hash)?.ok_or(TraceError::Unknown)?;
        let (earliest, latest) = self.kept();
        let outside = |earliest: BlockNumber| TraceError::Outside {
            block: stored.block,
            earliest: earliest.next().unwrap_or(earliest),
            latest,
        };
        let before = stored.block.previous().filter(|before| *before >= earliest).ok_or_else(|| outside(earliest))?;
        let view = self.view_at(before).map_err(TraceError::from_past(&outside))?;
        let past = || Past { view: view.clone(), record: self.state().clone() };
        match self.execute_again(&stored, window, past) {
            // The state left the state history while the function read it.
            Err(TraceError::State(StateError::Expired)) => Err(outside(self.kept_now().0)),
            traced => traced,
        }
    }

    fn execute_again(
        &self,
        stored: &StoredTransaction,
        window: Option<TraceWindow>,
        past: impl Fn() -> Past,
    ) -> Result<TransactionTrace, TraceError> {
        let BlockRecord { micro_blocks, transactions, edits, .. } =
            self.state().record(stored.block)?.ok_or(TraceError::Unknown)?;
        let committees =
            micro_blocks.iter().flat_map(|block| block.tx_hashes.iter().map(move |hash| (block.header.shard, *hash)));
        let mut line =
            committees.zip(transactions).zip(0..).map(|(((committee, hash), (transaction, receipt)), position)| {
                let verified =
                    VerifiedTransaction::recorded(transaction, hash, committee, &self.shared().network.config);
                verified.map(|verified| (verified, receipt, position)).ok_or(TraceError::Differs)
            });
        let contract_cache = self.shared().simulated_for(stored.block);
        let mut overlay = Overlay::new(past());
        overlay.edit(&edits)?;
        let last = loop {
            let (transaction, receipt, position) = line.next().ok_or(TraceError::Differs)??;
            if position == stored.position {
                break transaction;
            }
            execute(self.shared(), &contract_cache, &transaction, &receipt, None, &mut overlay)?;
        };
        let before = state_diff(&overlay.changes()?);
        overlay.next_phase();
        let tracer = Tracer::new(window);
        execute(self.shared(), &contract_cache, &last, &stored.receipt, Some(&tracer), &mut overlay)?;
        let base = past();
        let old = |contract: &Address, key: &StorageKey| {
            let changed = before.storage.get(contract).and_then(|entries| entries.get(key));
            changed.map_or_else(|| base.entry(contract, key), |changed| Ok(changed.clone()))
        };
        let changes = overlay.phase_changes()?;
        let changes = changes.iter().map(|change| account_change(change, old)).collect::<Result<_, _>>()?;
        let receipt = stored.receipt.clone();
        Ok(TransactionTrace { block: stored.block, receipt, calls: tracer.finish(), changes })
    }
}

/// Executes a transaction of the record. Fails if the new receipt differs from `recorded`.
fn execute(
    shared: &Shared,
    contract_cache: &ContractCache,
    transaction: &VerifiedTransaction,
    recorded: &Receipt,
    tracer: Option<&Tracer>,
    overlay: &mut Overlay<Past>,
) -> Result<(), TraceError> {
    let config = &shared.network.config;
    let ds = transaction.committee().get() == config.shards;
    let context = Context {
        block: recorded.epoch,
        gas_limit: if ds { config.ds_gas_limit } else { config.shard_gas_limit },
        // The minimum gas price of the block can differ from the current one. The transaction passed the check of its
        // block.
        minimum_price: None,
        chain_id: config.chain_id,
        rules: &config.rules,
        contract_cache,
        // The block had enough work left for its transactions.
        work_limit: u64::MAX,
        loaded: &NOTHING_LOADED,
        tracer,
    };
    match executor::execute(transaction, context, overlay)?.outcome {
        Outcome::Recorded(Recorded { receipt, fee: _ }) if receipt == *recorded => Ok(()),
        Outcome::Recorded(_) | Outcome::Dropped(_) | Outcome::Full => Err(TraceError::Differs),
    }
}

/// Reason why there is no trace of a transaction.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// No block has the transaction.
    #[error("Txn Hash not Present")]
    Unknown,
    /// The state history has no state before the block.
    #[error("expected a transaction of Tx blocks {earliest} to {latest}, got one of Tx block {block}")]
    Outside {
        /// The block of the transaction.
        block: BlockNumber,
        /// The oldest block whose transactions can be traced.
        earliest: BlockNumber,
        /// The latest block.
        latest: BlockNumber,
    },
    /// The repeated execution gives a receipt that differs from the recorded receipt, or the recorded block cannot be
    /// executed.
    #[error("the repeated execution of the block does not give the recorded receipt")]
    Differs,
    /// The computation of the state before the block failed.
    #[error("failed to read the state of a block")]
    History(#[source] HistoryError),
    /// A read of the record failed.
    #[error("failed to read the record")]
    Archive(#[from] ArchiveError),
    /// A read of the state failed.
    #[error("failed to read state")]
    State(#[from] StateError),
}

impl TraceError {
    /// Converts the error of a past state into the error of a trace. `outside` gets the oldest block in the state
    /// history.
    pub(crate) fn from_past(outside: &impl Fn(BlockNumber) -> Self) -> impl FnOnce(PastStateError) -> Self {
        move |error| match error {
            PastStateError::Outside { earliest, .. } => outside(earliest),
            PastStateError::History(error) => Self::History(error),
        }
    }
}
