//! Execution of one transaction against the running state of a block.
//!
//! The outcome is a receipt, or a reason to drop the transaction, which then left no trace. It depends on nothing but
//! the arguments: no clock, no randomness, no order of a hash map.

mod call;
#[cfg(test)]
mod confinement;
mod deploy;
mod edit;
mod effects;
mod entries;
mod host;
mod interface;
mod module;
mod nesting;
mod outcome;
mod overlay;
mod payment;
mod run;
mod storage;
mod text;
mod tracer;

use std::{
    collections::BTreeSet,
    panic::{AssertUnwindSafe, catch_unwind},
};

use silica_protocol::{BlockNumber, ChainId, CodeHash, Gas, GasPrice, Qa, Receipt, TransactionKind};
use silica_scilla::work::{EVALUATION_PER_GAS, End, PER_BLOCK, Work};
use silica_state::StateError;

pub use self::tracer::{CallTree, TracedCall, TracedRun, TracedStep, TracedValue};
pub(crate) use self::{
    edit::{FieldEdit, edit_field},
    interface::contract_interface,
    module::{Facts, Modules},
    nesting::readable,
    overlay::{Change, Overlay},
    tracer::Tracer,
};
use crate::{accounts::World, admission::VerifiedTransaction, config::Rules, pool::DropReason};

/// The micro block in which a transaction is executed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context<'a> {
    /// The Tx block that is being built.
    pub(crate) block: BlockNumber,
    /// Gas that the micro block may use.
    pub(crate) gas_limit: Gas,
    /// Lowest price of gas, or `None` where a block is judged whose proposer may have had another one in force.
    pub(crate) minimum_price: Option<GasPrice>,
    /// The network.
    pub(crate) chain_id: ChainId,
    /// Rules of execution.
    pub(crate) rules: &'a Rules,
    /// The contracts that were used lately.
    pub(crate) modules: &'a Modules,
    /// Work that the block has room for.
    pub(crate) work: u64,
    /// Contracts that earlier transactions of the block have called.
    pub(crate) loaded: &'a BTreeSet<CodeHash>,
    /// Who takes notes of what contracts do, if anybody does.
    pub(crate) tracer: Option<&'a Tracer>,
}

/// What became of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is in the block. The sender paid for it and its nonce is used up.
    Recorded(Recorded),
    /// It left no trace.
    Dropped(DropReason),
    /// It left no trace: it takes more work than the block has room for.
    Full,
}

/// A transaction that is in the block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Recorded {
    /// What clients are told.
    pub(crate) receipt: Receipt,
    /// What the sender paid for gas.
    pub(crate) fee: Qa,
    /// What counts for the block: the work of what was executed, but at least that which its gas pays for.
    pub(crate) work: u64,
    /// Contracts that it called.
    pub(crate) loaded: BTreeSet<CodeHash>,
}

impl Context<'_> {
    /// The work of a transaction, before it does any.
    fn begin(&self) -> Work {
        if self.modules.rules().limits_work() { Work::limited(self.work) } else { Work::UNLIMITED }
    }

    /// Returns what a transaction counts for the block that used so much gas.
    fn counted(&self, work: Work, gas: Gas) -> u64 {
        if !self.modules.rules().limits_work() {
            return 0;
        }
        work.total().max(gas.get().saturating_mul(EVALUATION_PER_GAS))
    }

    /// Refuses to record a transaction that has to wait for the next block. In a block of its own it fails instead.
    fn check_room(&self, work: Work) -> Result<(), Stop> {
        if work.end() == Some(End::Block) && self.work < PER_BLOCK { Err(Stop::Full) } else { Ok(()) }
    }
}

/// What a block has loaded before its first transaction.
pub(crate) static NOTHING_LOADED: BTreeSet<CodeHash> = BTreeSet::new();

/// What ends an execution early.
enum Stop {
    Drop(DropReason),
    Fatal(StateError),
    Full,
}

impl From<StateError> for Stop {
    fn from(error: StateError) -> Self {
        Self::Fatal(error)
    }
}

impl From<DropReason> for Stop {
    fn from(reason: DropReason) -> Self {
        Self::Drop(reason)
    }
}

/// Executes a transaction whose nonce is due.
///
/// # Errors
///
/// The state could not be read; the block cannot be built.
pub(crate) fn execute<W: World>(
    transaction: &VerifiedTransaction,
    context: Context<'_>,
    overlay: &mut Overlay<W>,
) -> Result<Outcome, StateError> {
    let result = check_still_valid(transaction, context).map_err(Stop::Drop).and_then(|()| match transaction.kind() {
        TransactionKind::Payment => payment::execute(transaction, context, overlay),
        // A chain without contracts knows neither of these kinds.
        TransactionKind::Deployment | TransactionKind::Call if !context.rules.contracts => {
            Err(Stop::Drop(DropReason::IncorrectType))
        }
        TransactionKind::Deployment => undone_unless_recorded(overlay, |it| deploy::execute(transaction, context, it)),
        TransactionKind::Call => undone_unless_recorded(overlay, |it| call::execute(transaction, context, it)),
    });
    match result {
        Ok(recorded) => Ok(Outcome::Recorded(recorded)),
        Err(Stop::Drop(reason)) => Ok(Outcome::Dropped(reason)),
        Err(Stop::Full) => Ok(Outcome::Full),
        Err(Stop::Fatal(error)) => Err(error),
    }
}

/// Executes a transaction that runs a contract, and takes back what it wrote if it is not recorded.
///
/// A panic in there is a fault of ours, which must not keep others from being executed: the transaction is dropped.
fn undone_unless_recorded<W: World>(
    overlay: &mut Overlay<W>,
    execute: impl FnOnce(&mut Overlay<W>) -> Result<Recorded, Stop>,
) -> Result<Recorded, Stop> {
    let before = overlay.begin();
    // Whatever state the panic leaves the running state in is taken back, entry by entry.
    let result = catch_unwind(AssertUnwindSafe(|| execute(overlay)));
    let result = result.unwrap_or(Err(Stop::Drop(DropReason::Internal)));
    if result.is_err() {
        overlay.revert(before);
    }
    overlay.end();
    result
}

/// Repeats the checks of the entrance whose answers may have changed since (execution.md 3.3).
fn check_still_valid(transaction: &VerifiedTransaction, context: Context<'_>) -> Result<(), DropReason> {
    let tx = transaction.transaction();
    if tx.gas_limit > context.gas_limit {
        return Err(DropReason::HighGasLimit);
    }
    if context.minimum_price.is_some_and(|minimum| tx.gas_price < minimum) {
        return Err(DropReason::InsufficientGas);
    }
    Ok(())
}
