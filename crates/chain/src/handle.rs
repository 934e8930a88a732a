//! `Chain`, a handle that can be cloned: it admits transactions, and returns snapshots.

use std::sync::Arc;

use silica_protocol::{
    Account, Address, BlockNumber, SimulationRequest, Timestamp, Transaction, TransactionKind, TxHash,
};
use silica_scilla::cache::CacheUsage;
use silica_state::{ArchiveError, StateError};

use crate::{
    admission::{AdmissionContext, AdmissionError, Routing, VerifiedTransaction},
    config::{ChainConfig, NoncePolicy},
    executor::{CallTree, Tracer},
    pool::{self, Contents, Exported, Pool, PoolError, PoolImportError},
    shared::{Published, Shared},
    simulation::{GasEstimate, Simulation, SimulationError, Simulator},
    snapshot::Snapshot,
};

/// Maximum of attempts of a simulation: each one fails if later blocks remove its state.
const SIMULATION_ATTEMPTS: u32 = 3;

/// The reading and submitting end of a chain.
#[derive(Clone, Debug)]
pub struct Chain {
    shared: Arc<Shared>,
}

/// A transaction that waits in the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submitted {
    /// Its hash.
    pub hash: TxHash,
    /// Where it goes, and why.
    pub routing: Routing,
    /// The contract that it creates, if it is a deployment.
    pub contract: Option<Address>,
}

/// The result of the import of a pool file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolImport {
    /// Transactions that wait again.
    pub admitted: usize,
    /// Transactions that are not admissible any more.
    pub refused: usize,
    /// Transactions that cannot be read, since their bytes are damaged.
    pub damaged: usize,
}

impl Chain {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// The parameters of the chain.
    pub fn config(&self) -> &ChainConfig {
        &self.shared.network.config
    }

    /// Checks a transaction against the latest state. `priority` requests the DS committee.
    ///
    /// Nothing is reserved: whether the sender can pay is checked again when a block is built. No lock is held while
    /// the signature is verified.
    ///
    /// # Errors
    ///
    /// [`AdmissionError`]: the first check that the transaction does not pass.
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

    /// Checks a transaction without a signature for its sender. Its nonce follows the used nonces and the pending
    /// transactions of the sender. Only networks whose [configuration](ChainConfig::edits) permits edits allow this.
    ///
    /// The signature is zero, and the field of the key [contains the sender](silica_protocol::PublicKey::in_place_of).
    /// Without a given gas limit, a payment gets the gas of a payment, and other transactions get the maximum.
    ///
    /// For two transactions of one sender, the caller must [submit](Self::submit) the first before it creates the
    /// second. Otherwise both have the same nonce.
    ///
    /// # Errors
    ///
    /// [`AdmissionError`]: the first check that the transaction does not pass.
    pub fn impersonate(&self, request: &SimulationRequest) -> Result<VerifiedTransaction, AdmissionError> {
        let simulator = Simulator::new(&self.shared);
        let mut transaction = simulator.full_transaction(request)?;
        if request.gas_limit.is_none() && transaction.kind() == Some(TransactionKind::Payment) {
            // A block counts the gas limits of its transactions, not the used gas. A higher limit would only waste
            // space.
            transaction.gas_limit = self.config().rules.payment_gas;
        }
        let last = self.shared.last_nonce(&request.sender)?;
        transaction.nonce = last.next().unwrap_or(last);
        let published = self.shared.published();
        self.admission_context(&published, published.nonces).impersonate(transaction, request.sender, request.priority)
    }

    /// Executes a transaction without a signature against the latest state, as the next block would, and returns the
    /// outcome. Nothing changes.
    ///
    /// It takes as long as executing the transaction does, of which its gas limit is the only bound. It blocks no other
    /// caller.
    ///
    /// # Errors
    ///
    /// [`SimulationError`]: the transaction would not get into a block.
    pub fn simulate(&self, request: &SimulationRequest) -> Result<Simulation, SimulationError> {
        self.at_latest(|simulator| simulator.simulate(request, None))
    }

    /// Simulates a transaction, and tells what contracts do in it, statement by statement.
    ///
    /// # Errors
    ///
    /// As [`simulate`](Self::simulate).
    pub fn trace_call(&self, request: &SimulationRequest) -> Result<(Simulation, CallTree), SimulationError> {
        self.at_latest(|simulator| {
            let tracer = Tracer::new();
            let simulation = simulator.simulate(request, Some(&tracer))?;
            Ok((simulation, tracer.finish()))
        })
    }

    /// Finds the lowest gas limit with which a transaction succeeds against the latest state, by executing it with
    /// several; some twenty where it takes most.
    ///
    /// The gas limit of the request, or else the highest that its committee takes and the sender can pay, is the
    /// highest that is tried.
    ///
    /// # Errors
    ///
    /// [`SimulationError`]: the transaction would not get into a block, or does not succeed with the highest limit.
    pub fn estimate_gas(&self, request: &SimulationRequest) -> Result<GasEstimate, SimulationError> {
        self.at_latest(|simulator| simulator.estimate_gas(request))
    }

    /// Runs `work` at the latest head. If later blocks removed the state meanwhile, runs it again at a later head.
    fn at_latest<T>(&self, work: impl Fn(&Simulator<'_>) -> Result<T, SimulationError>) -> Result<T, SimulationError> {
        for _ in 1..SIMULATION_ATTEMPTS {
            match work(&Simulator::new(&self.shared)) {
                Err(SimulationError::State(StateError::Expired)) => {}
                done => return done,
            }
        }
        work(&Simulator::new(&self.shared))
    }

    /// Lets a transaction wait for a block from the time `at`.
    ///
    /// # Errors
    ///
    /// [`PoolError`]: it waits already, the pool is full, or another one with its nonce pays more. [`StateError`]: the
    /// sender's account could not be read.
    pub fn submit(&self, transaction: VerifiedTransaction, at: Timestamp) -> Result<Submitted, SubmissionError> {
        let submitted = Submitted {
            hash: transaction.hash(),
            routing: transaction.routing(),
            contract: transaction.transaction().contract_address(),
        };
        self.with_sender(&transaction.sender(), |pool, account, epoch| pool.insert(transaction, account, epoch, at))??;
        Ok(submitted)
    }

    /// Calls `work` with the pool, and with a sender's account and the Tx epoch at the published head.
    fn with_sender<T>(
        &self,
        sender: &Address,
        work: impl FnOnce(&mut Pool, &Account, BlockNumber) -> T,
    ) -> Result<T, StateError> {
        loop {
            let published = self.shared.published();
            let account = published.state.account(sender);
            let mut pool = self.shared.lock_pool();
            // The data from before the lock can be out of date: the pool may have settled the block.
            if Arc::ptr_eq(&published, &self.shared.published()) {
                return Ok(work(&mut pool, &account?.unwrap_or_default(), published.epoch()));
            }
        }
    }

    /// Returns an immutable view of the chain at the latest head.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.shared.published(), Arc::clone(&self.shared))
    }

    /// Fails when the file of the record was deleted or replaced since the chain was opened, upon which no block is
    /// accepted.
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

    /// Number of waiting transactions.
    pub fn waiting(&self) -> usize {
        self.shared.lock_pool().len()
    }

    /// Removes a pending transaction from the pool as [`DropReason::Withdrawn`](crate::DropReason::Withdrawn). Returns
    /// whether the pool had it.
    pub fn withdraw(&self, hash: &TxHash, at: Timestamp) -> bool {
        let epoch = self.shared.published().epoch();
        self.shared.lock_pool().withdraw(hash, epoch, at)
    }

    /// Takes all waiting transactions out of the pool, as [`DropReason::Withdrawn`](crate::DropReason::Withdrawn), and
    /// returns how many there were.
    pub fn withdraw_all(&self, at: Timestamp) -> usize {
        let epoch = self.shared.published().epoch();
        self.shared.lock_pool().withdraw_all(epoch, at)
    }

    /// The waiting transactions as bytes, to be kept while the node is stopped.
    pub fn export_pool(&self) -> Vec<u8> {
        self.export_oldest(usize::MAX, u64::MAX).0
    }

    /// Exports as [`export_pool`](Self::export_pool), but at most the oldest `most` transactions, in at most `longest`
    /// bytes. Also returns the number of exported transactions.
    pub fn export_oldest(&self, most: usize, longest: u64) -> (Vec<u8>, usize) {
        pool::export(&self.shared.lock_pool(), most, longest)
    }

    /// Admits the transactions that were pending at the last stop as new ones, but with their age. Gapped transactions
    /// are accepted under each [policy](NoncePolicy), because the policy at their first admission may have been another
    /// one.
    ///
    /// # Errors
    ///
    /// [`PoolImportError`]: the bytes have nothing that [`export_pool`](Self::export_pool) wrote. Then none is
    /// admitted.
    pub fn import_pool(&self, bytes: &[u8], at: Timestamp) -> Result<PoolImport, PoolImportError> {
        let Contents { entries, damaged } = pool::import(bytes)?;
        let mut report = PoolImport { damaged, ..PoolImport::default() };
        for Exported { transaction, inserted, priority } in entries {
            let published = self.shared.published();
            let admitted = self.admission_context(&published, NoncePolicy::Queue).admit_again(transaction, priority);
            let admitted = admitted.is_ok_and(|transaction| {
                let restored = self.with_sender(&transaction.sender(), |pool, account, epoch| {
                    pool.restore(transaction, account, inserted.min(epoch), at)
                });
                matches!(restored, Ok(Ok(())))
            });
            let count = if admitted { &mut report.admitted } else { &mut report.refused };
            *count = count.saturating_add(1);
        }
        Ok(report)
    }
}

/// Reason why an admitted transaction is not pending.
#[derive(Debug, thiserror::Error)]
pub enum SubmissionError {
    /// The pool refused it.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// The sender's account could not be read.
    #[error("failed to read state")]
    State(#[from] StateError),
}
