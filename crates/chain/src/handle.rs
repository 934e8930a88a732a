//! [`Chain`], a handle that can be cloned. It admits and submits transactions, and returns snapshots.

use std::sync::Arc;

use silica_protocol::{Address, BlockNumber, SimulationRequest, Timestamp, Transaction, TransactionKind, TxHash};
use silica_scilla::cache::CacheUsage;
use silica_state::{ArchiveError, StateError};

use crate::{
    admission::{AdmissionContext, AdmissionError, Routing, VerifiedTransaction},
    config::{ChainConfig, NoncePolicy},
    executor::{CallTree, Tracer},
    pool::{self, Arrival, Contents, Exported, PoolError, PoolImportError},
    shared::{Published, Shared},
    simulation::{GasEstimate, Simulation, SimulationError, Simulator},
    snapshot::Snapshot,
};

/// Maximum number of attempts of a simulation. An attempt fails if later blocks remove its state.
const SIMULATION_ATTEMPTS: u32 = 3;

/// A handle of a chain that admits and submits transactions, and returns snapshots. A clone is cheap.
#[derive(Clone, Debug)]
pub struct Chain {
    shared: Arc<Shared>,
}

/// A transaction that the pool has accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submitted {
    /// The hash of the transaction.
    pub hash: TxHash,
    /// The committee of the transaction, and the reason for this committee.
    pub routing: Routing,
    /// The address of the new contract; `None` if the transaction is not a deployment.
    pub contract: Option<Address>,
}

/// The result of the import of a pool file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolImport {
    /// Number of transactions that are pending again.
    pub admitted: usize,
    /// Number of transactions that admission or the pool rejected.
    pub refused: usize,
    /// Number of transactions whose bytes are damaged.
    pub damaged: usize,
}

impl Chain {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// Sets the function that the chain calls after each publication of a head, on the thread of the producer. The
    /// function must neither block nor call the chain, because the producer can hold the lock of the pool. Only the
    /// first call of this method has an effect.
    pub fn on_publish(&self, listener: impl Fn() + Send + Sync + 'static) {
        self.shared.listen(Box::new(listener));
    }

    /// Returns the parameters of the chain.
    pub fn config(&self) -> &ChainConfig {
        &self.shared.network.config
    }

    /// Checks a transaction against the latest state. `priority` requests the DS committee.
    ///
    /// Admission reserves nothing: the builder of a block checks again whether the sender can pay. No lock is held
    /// during the verification of the signature.
    ///
    /// # Errors
    ///
    /// [`AdmissionError`]: the first check that the transaction fails.
    pub fn admit(&self, transaction: Transaction, priority: bool) -> Result<VerifiedTransaction, AdmissionError> {
        let published = self.shared.published();
        self.admission_context(&published, published.nonces).admit(transaction, priority)
    }

    fn admission_context<'a>(
        &'a self,
        published: &'a Published,
        nonces: NoncePolicy,
    ) -> AdmissionContext<'a, silica_state::Snapshot> {
        let (config, minimum_price) = (self.config(), published.minimum_gas_price());
        AdmissionContext { config, minimum_price, nonces, accounts: &published.state }
    }

    /// Checks a transaction without a signature. Its nonce follows the used nonces and the pending transactions of the
    /// sender. Only chains that permit [edits](ChainConfig::edits) accept such a transaction.
    ///
    /// The signature is zero, and the field of the key [contains the sender](silica_protocol::PublicKey::in_place_of).
    /// Without a given gas limit, a payment gets the gas of a payment as its limit. Other transactions get the highest
    /// limit that the committee accepts and the sender can pay.
    ///
    /// For two transactions of one sender, the caller must [submit](Self::submit) the first before it creates the
    /// second. Otherwise both have the same nonce.
    ///
    /// # Errors
    ///
    /// [`AdmissionError`]: the first check that the transaction fails.
    pub fn impersonate(&self, request: &SimulationRequest) -> Result<VerifiedTransaction, AdmissionError> {
        let simulator = Simulator::new(&self.shared);
        let mut transaction = simulator.full_transaction(request)?;
        if request.gas_limit.is_none() && transaction.kind() == Some(TransactionKind::Payment) {
            // The gas limit must fit into the gas that earlier transactions have left. With a higher limit, the payment
            // could wait for a later block.
            transaction.gas_limit = self.config().rules.payment_gas;
        }
        let last = self.shared.last_nonce(&request.sender)?;
        transaction.nonce = last.next().unwrap_or(last);
        let published = self.shared.published();
        self.admission_context(&published, published.nonces).impersonate(transaction, request.sender, request.priority)
    }

    /// Executes a transaction without a signature on the latest state, as the next block would, and returns the result.
    /// The state does not change.
    ///
    /// The execution may use the whole gas limit or work limit of the transaction. It blocks no other caller.
    ///
    /// # Errors
    ///
    /// [`SimulationError`]: the transaction would not be in a block, or the state could not be read.
    pub fn simulate(&self, request: &SimulationRequest) -> Result<Simulation, SimulationError> {
        self.at_latest(|simulator| simulator.simulate(request, None))
    }

    /// Simulates a transaction, and also returns the statements that its contracts execute.
    ///
    /// # Errors
    ///
    /// The errors of [`simulate`](Self::simulate).
    pub fn trace_call(&self, request: &SimulationRequest) -> Result<(Simulation, CallTree), SimulationError> {
        self.at_latest(|simulator| {
            let tracer = Tracer::new(None);
            let simulation = simulator.simulate(request, Some(&tracer))?;
            Ok((simulation, tracer.finish()))
        })
    }

    /// Returns the lowest gas limit with which a transaction succeeds against the latest state. The function executes
    /// the transaction several times, each time with a different limit.
    ///
    /// The highest of these limits is the gas limit of the request. Without a gas limit in the request, the search uses
    /// the highest limit that the committee accepts and the sender can pay.
    ///
    /// # Errors
    ///
    /// [`SimulationError`]: the transaction would not be in a block, it fails with the highest limit, or the state
    /// could not be read.
    pub fn estimate_gas(&self, request: &SimulationRequest) -> Result<GasEstimate, SimulationError> {
        self.at_latest(|simulator| simulator.estimate_gas(request))
    }

    /// Runs `work` at the latest head. If later blocks removed the state during the run, `work` runs again at a later
    /// head. The maximum is [`SIMULATION_ATTEMPTS`] runs.
    fn at_latest<T>(&self, work: impl Fn(&Simulator<'_>) -> Result<T, SimulationError>) -> Result<T, SimulationError> {
        for _ in 1..SIMULATION_ATTEMPTS {
            match work(&Simulator::new(&self.shared)) {
                Err(SimulationError::State(StateError::Expired)) => {}
                done => return done,
            }
        }
        work(&Simulator::new(&self.shared))
    }

    /// Adds a transaction to the pool at the time `at`.
    ///
    /// # Errors
    ///
    /// [`PoolError`]: the transaction is pending already, the pool is full, the sender has too many transactions, or a
    /// pending transaction with the same sender and nonce has a better rank. [`StateError`]: the account of the sender
    /// could not be read.
    pub fn submit(&self, transaction: VerifiedTransaction, at: Timestamp) -> Result<Submitted, SubmissionError> {
        let submitted = Submitted {
            hash: transaction.hash(),
            routing: transaction.routing(),
            contract: transaction.transaction().contract_address(),
        };
        self.add_to_pool(transaction, None, at)?;
        Ok(submitted)
    }

    /// Adds a transaction to the pool. All new transactions of the pool pass through this function. A revert replaces
    /// the whole pool with the pool of the savepoint, whose transactions passed through this function earlier.
    ///
    /// `pending_since` is the Tx epoch of a transaction that was pending when the node stopped; `None` for a new
    /// transaction.
    fn add_to_pool(
        &self,
        transaction: VerifiedTransaction,
        pending_since: Option<BlockNumber>,
        at: Timestamp,
    ) -> Result<(), SubmissionError> {
        loop {
            let published = self.shared.published();
            // Read the account before the lock, because the read can wait for the disk.
            let account = published.state.account(&transaction.sender());
            let mut pool = self.shared.lock_pool();
            // The account can differ if a block was published after the read. The producer publishes a block and
            // updates the pool under the lock of the pool. So the head cannot change until this function releases the
            // lock.
            if Arc::ptr_eq(&published, &self.shared.published()) {
                let now = published.epoch();
                let epoch = pending_since.map_or(now, |since| since.min(now));
                let arrival = Arrival { epoch, at, restored: pending_since.is_some() };
                return Ok(pool.insert(transaction, &account?.unwrap_or_default(), arrival)?);
            }
        }
    }

    /// Returns an immutable view of the chain at the latest head.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.shared.published(), Arc::clone(&self.shared))
    }

    /// Checks that the file of the record was not deleted or replaced after the chain was opened. After such a change,
    /// the store accepts no block.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] names the file.
    pub fn require_in_place(&self) -> Result<(), ArchiveError> {
        self.shared.published().state.require_in_place()
    }

    /// Returns the number and the size of the programs in the contract cache of block production.
    pub fn code_cache(&self) -> CacheUsage {
        self.shared.network.contract_cache.usage()
    }

    /// Returns the number of pending transactions.
    pub fn waiting(&self) -> usize {
        self.shared.lock_pool().len()
    }

    /// Returns whether the pool has a transaction that the next block can try to execute.
    pub fn has_candidates(&self) -> bool {
        self.shared.lock_pool().has_candidates()
    }

    /// Removes a pending transaction from the pool as [`DropReason::Withdrawn`](crate::DropReason::Withdrawn). Returns
    /// whether the transaction was pending.
    pub fn withdraw(&self, hash: &TxHash, at: Timestamp) -> bool {
        let epoch = self.shared.published().epoch();
        self.shared.lock_pool().withdraw(hash, epoch, at)
    }

    /// Removes all pending transactions from the pool as [`DropReason::Withdrawn`](crate::DropReason::Withdrawn).
    /// Returns their number.
    pub fn withdraw_all(&self, at: Timestamp) -> usize {
        let epoch = self.shared.published().epoch();
        self.shared.lock_pool().withdraw_all(epoch, at)
    }

    /// Returns the pending transactions as bytes, for a file that outlives the process.
    pub fn export_pool(&self) -> Vec<u8> {
        self.export_oldest(usize::MAX, u64::MAX).0
    }

    /// Returns the oldest pending transactions as bytes, at most `most` transactions in at most `longest` bytes, and
    /// their number.
    pub fn export_oldest(&self, most: usize, longest: u64) -> (Vec<u8>, usize) {
        pool::export(&self.shared.lock_pool(), most, longest)
    }

    /// Admits the transactions that were pending at the last stop, and adds them to the pool with the epoch of their
    /// first arrival. Accepts gapped transactions under each [policy](NoncePolicy), because the policy before the stop
    /// may have been [`NoncePolicy::Queue`].
    ///
    /// # Errors
    ///
    /// [`PoolImportError`]: the bytes are not from [`export_pool`](Self::export_pool). Then the pool does not change.
    pub fn import_pool(&self, bytes: &[u8], at: Timestamp) -> Result<PoolImport, PoolImportError> {
        let Contents { entries, damaged } = pool::import(bytes)?;
        let mut report = PoolImport { damaged, ..PoolImport::default() };
        for Exported { transaction, inserted, priority } in entries {
            let published = self.shared.published();
            let admitted = self.admission_context(&published, NoncePolicy::Queue).admit_again(transaction, priority);
            let admitted = admitted.is_ok_and(|transaction| self.add_to_pool(transaction, Some(inserted), at).is_ok());
            let count = if admitted { &mut report.admitted } else { &mut report.refused };
            *count = count.saturating_add(1);
        }
        Ok(report)
    }
}

/// Reason why a verified transaction is not pending after its submission.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SubmissionError {
    /// The pool rejected the transaction.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// A read of the sender's account failed.
    #[error("failed to read state")]
    State(#[from] StateError),
}
