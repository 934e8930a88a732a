//! The handle `Chain`, which can be cloned. It admits transactions and returns snapshots.

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

/// Most attempts of a simulation. An attempt fails if later blocks remove its state.
const SIMULATION_ATTEMPTS: u32 = 3;

/// The handle of a chain for queries and submissions.
#[derive(Clone, Debug)]
pub struct Chain {
    shared: Arc<Shared>,
}

/// A pending transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submitted {
    /// Hash of the transaction.
    pub hash: TxHash,
    /// The committee of the transaction, and the reason.
    pub routing: Routing,
    /// Address of the new contract, if the transaction is a deployment.
    pub contract: Option<Address>,
}

/// The result of the import of a pool file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolImport {
    /// Number of transactions that are pending again.
    pub admitted: usize,
    /// Number of transactions that admission or the pool rejected.
    pub refused: usize,
    /// Number of transactions with damaged bytes.
    pub damaged: usize,
}

impl Chain {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// Returns the parameters of the chain.
    pub fn config(&self) -> &ChainConfig {
        &self.shared.network.config
    }

    /// Checks a transaction against the latest state. `priority` requests the DS committee.
    ///
    /// Admission reserves no money: the builder checks again whether the sender can pay. The function holds no lock
    /// while it verifies the signature.
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
    /// Without a given gas limit, a payment gets the gas of a payment, and other transactions get the highest possible
    /// limit.
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
            // A block counts the gas limits of its transactions, not the used gas. A higher limit would leave less room
            // for others.
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
    /// The call takes as long as the execution of the transaction, which only the gas limit bounds. It blocks no other
    /// caller.
    ///
    /// # Errors
    ///
    /// [`SimulationError`]: the transaction would not be in a block.
    pub fn simulate(&self, request: &SimulationRequest) -> Result<Simulation, SimulationError> {
        self.at_latest(|simulator| simulator.simulate(request, None))
    }

    /// Simulates a transaction, and returns a trace of its contracts, statement by statement.
    ///
    /// # Errors
    ///
    /// The errors of [`simulate`](Self::simulate).
    pub fn trace_call(&self, request: &SimulationRequest) -> Result<(Simulation, CallTree), SimulationError> {
        self.at_latest(|simulator| {
            let tracer = Tracer::new();
            let simulation = simulator.simulate(request, Some(&tracer))?;
            Ok((simulation, tracer.finish()))
        })
    }

    /// Finds the lowest gas limit with which a transaction succeeds on the latest state. The search executes the
    /// transaction with different limits, at most about 40 times.
    ///
    /// The highest limit that the search tries is the gas limit of the request. Without it, the search starts at the
    /// highest limit that the committee permits and the sender can pay.
    ///
    /// # Errors
    ///
    /// [`SimulationError`]: the transaction would not be in a block, or fails with the highest limit.
    pub fn estimate_gas(&self, request: &SimulationRequest) -> Result<GasEstimate, SimulationError> {
        self.at_latest(|simulator| simulator.estimate_gas(request))
    }

    /// Runs `work` at the latest head. If later blocks removed the state during the run, `work` runs again at a later
    /// head.
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
    /// [`PoolError`]: the transaction is already pending, the pool or the share of the sender is full, or a pending
    /// transaction with the same nonce has a better rank. [`StateError`]: the account of the sender could not be read.
    pub fn submit(&self, transaction: VerifiedTransaction, at: Timestamp) -> Result<Submitted, SubmissionError> {
        let submitted = Submitted {
            hash: transaction.hash(),
            routing: transaction.routing(),
            contract: transaction.transaction().contract_address(),
        };
        self.add_to_pool(transaction, None, at)?;
        Ok(submitted)
    }

    /// Adds a transaction to the pool. No other function does. A revert restores the pool of the savepoint as a whole,
    /// whose transactions this function has added before.
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
            // Read the account before the lock: the read may wait for the disk.
            let account = published.state.account(&transaction.sender());
            let mut pool = self.shared.lock_pool();
            // A block that the pool has settled since may have changed the account. A block is published and settled
            // under the lock, so the head stays the same from here on.
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

    /// Fails if the file of the record was deleted or replaced after the chain was opened. In this case the chain
    /// accepts no block.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] names the file.
    pub fn require_in_place(&self) -> Result<(), ArchiveError> {
        self.shared.published().state.require_in_place()
    }

    /// Returns the size of the contract cache.
    pub fn code_cache(&self) -> CacheUsage {
        self.shared.network.contract_cache.usage()
    }

    /// Returns the number of pending transactions.
    pub fn waiting(&self) -> usize {
        self.shared.lock_pool().len()
    }

    /// Removes a pending transaction from the pool as [`DropReason::Withdrawn`](crate::DropReason::Withdrawn). Returns
    /// whether the pool had it.
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

    /// Returns the pending transactions as bytes. The node stores the bytes while it is stopped.
    pub fn export_pool(&self) -> Vec<u8> {
        self.export_oldest(usize::MAX, u64::MAX).0
    }

    /// Returns the oldest pending transactions as bytes, and their number: at most `most` transactions and at most
    /// `longest` bytes.
    pub fn export_oldest(&self, most: usize, longest: u64) -> (Vec<u8>, usize) {
        pool::export(&self.shared.lock_pool(), most, longest)
    }

    /// Admits the transactions that were pending at the last stop. They pass admission again, and keep the Tx epoch of
    /// their arrival. Gapped transactions are accepted under each [policy](NoncePolicy), because another policy may
    /// have been in force at their first admission.
    ///
    /// # Errors
    ///
    /// [`PoolImportError`]: the bytes have no readable transaction of [`export_pool`](Self::export_pool). Then no
    /// transaction is admitted.
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

/// Reason why an admitted transaction did not become pending.
#[derive(Debug, thiserror::Error)]
pub enum SubmissionError {
    /// The pool rejected the transaction.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// The account of the sender could not be read.
    #[error("failed to read state")]
    State(#[from] StateError),
}
