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
#[cfg(test)]
mod share;
mod storage;
mod text;
mod tracer;

use std::{
    collections::BTreeSet,
    panic::{AssertUnwindSafe, catch_unwind},
};

use silica_protocol::{BlockNumber, ChainId, CodeHash, Gas, GasPrice, Qa, Receipt, TransactionKind};
use silica_scilla::{
    gas::{Exhausted, UNITS_PER_GAS},
    work::{EVALUATION_PER_GAS, End, TRANSACTION, Work},
};
use silica_state::StateError;

pub use self::{
    edit::EditError,
    interface::InterfaceError,
    tracer::{CallTree, TracedCall, TracedRun, TracedStep, TracedValue},
};
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
    /// The [work](silica_scilla::work) that the block has room for.
    pub(crate) room: u64,
    /// Contracts that earlier transactions of the block have called.
    pub(crate) loaded: &'a BTreeSet<CodeHash>,
    /// Who takes notes of what contracts do, if anybody does.
    pub(crate) tracer: Option<&'a Tracer>,
}

/// An execution: its outcome, and what counts for the block whatever the outcome is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Executed {
    pub(crate) outcome: Outcome,
    /// The work, but at least that of the evaluation that the gas pays for.
    pub(crate) work: u64,
    /// The contracts that it called.
    pub(crate) loaded: BTreeSet<CodeHash>,
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
}

/// The work of a transaction so far.
struct Effort<'a> {
    work: Work,
    /// The contracts that it called.
    loaded: BTreeSet<CodeHash>,
    /// The contracts that earlier transactions of the block have called.
    before: &'a BTreeSet<CodeHash>,
}

impl<'a> Effort<'a> {
    /// The work of a transaction, before it does any.
    fn begin(context: Context<'a>) -> Self {
        let limited = context.modules.rules().limits_work();
        let work = if limited { Work::limited(context.room) } else { Work::UNLIMITED };
        Self { work, loaded: BTreeSet::new(), before: context.loaded }
    }

    /// Counts units of gas that the node takes. A limit that this reaches ends the next step of the transaction.
    fn pay(&mut self, units: u64) {
        let _ = self.work.pay(units);
    }

    /// Returns how the parts of a contract count that is about to run, or `None` if the transaction has called it before.
    fn loading(&mut self, contract: CodeHash) -> Option<Loading<'_>> {
        let fresh = !self.before.contains(&contract);
        self.loaded.insert(contract).then_some(Loading { work: &mut self.work, fresh })
    }

    /// Returns how the libraries of a deployment count. A deployment reads them again in each transaction.
    fn deploying(&mut self) -> Loading<'_> {
        Loading { work: &mut self.work, fresh: true }
    }

    /// Returns what counts for the block.
    fn total(&self, outcome: &Outcome) -> u64 {
        let gas = match outcome {
            Outcome::Recorded(recorded) => recorded.receipt.cumulative_gas,
            Outcome::Dropped(_) | Outcome::Full => Gas::ZERO,
        };
        self.work.total().max(gas.get().saturating_mul(EVALUATION_PER_GAS).saturating_add(TRANSACTION))
    }
}

/// Counts the texts that are read to make a contract ready.
struct Loading<'a> {
    work: &'a mut Work,
    fresh: bool,
}

impl Loading<'_> {
    fn count(&mut self, bytes: u64) -> Result<(), Exhausted> {
        self.work.load(bytes, self.fresh)
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
) -> Result<Executed, StateError> {
    let mut effort = Effort::begin(context);
    let outcome = outcome(transaction, context, &mut effort, overlay)?;
    let work = effort.total(&outcome);
    Ok(Executed { outcome, work, loaded: effort.loaded })
}

fn outcome<'a, W: World>(
    transaction: &VerifiedTransaction,
    context: Context<'a>,
    effort: &mut Effort<'a>,
    overlay: &mut Overlay<W>,
) -> Result<Outcome, StateError> {
    let checked = check_still_valid(transaction, context).map_err(Stop::Drop);
    let result = checked.and_then(|()| match transaction.kind() {
        TransactionKind::Payment => {
            effort.pay(context.rules.payment_gas.get().saturating_mul(UNITS_PER_GAS));
            if effort.work.end() == Some(End::Block) {
                return Err(Stop::Full);
            }
            payment::execute(transaction, context, overlay)
        }
        // A chain without contracts knows neither of these kinds.
        TransactionKind::Deployment | TransactionKind::Call if !context.rules.contracts => {
            Err(Stop::Drop(DropReason::IncorrectType))
        }
        TransactionKind::Deployment => {
            undone_unless_recorded(effort, overlay, |effort, it| deploy::execute(transaction, context, effort, it))
        }
        TransactionKind::Call => {
            undone_unless_recorded(effort, overlay, |effort, it| call::execute(transaction, context, effort, it))
        }
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
fn undone_unless_recorded<'a, W: World>(
    effort: &mut Effort<'a>,
    overlay: &mut Overlay<W>,
    execute: impl FnOnce(&mut Effort<'a>, &mut Overlay<W>) -> Result<Recorded, Stop>,
) -> Result<Recorded, Stop> {
    let before = overlay.begin();
    // Whatever state the panic leaves the running state in is taken back, entry by entry.
    let result = catch_unwind(AssertUnwindSafe(|| execute(effort, overlay)));
    let result = match result.unwrap_or(Err(Stop::Drop(DropReason::Internal))) {
        Ok(_) | Err(Stop::Drop(_)) if effort.work.end() == Some(End::Block) => Err(Stop::Full),
        result => result,
    };
    if result.is_err() {
        overlay.revert(before);
    }
    overlay.end();
    result
}

/// Repeats the checks of the entrance whose answers may have changed since
/// (Reference: execution#checks-before-execution).
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
