//! Execution of one transaction against the running state of a block.
//!
//! The result is a receipt, or a reason to drop the transaction without a change of state. It depends only on the
//! arguments, and not on a clock, on randomness or on the order of a hash map.

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
#[cfg(test)]
mod oracle;
mod outcome;
mod overlay;
mod payment;
mod run;
#[cfg(test)]
mod share;
mod source_check;
mod standard;
mod storage;
mod text;
mod tracer;

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use silica_protocol::{BlockNumber, ChainId, CodeHash, Gas, GasPrice, Qa, Receipt, TransactionKind};
use silica_scilla::{
    gas::{Exhausted, UNITS_PER_GAS},
    work::{EVALUATION_PER_GAS, End, TRANSACTION, Work},
};
use silica_state::StateError;

use self::module::{LoadError, Module};
pub use self::{
    edit::EditError,
    interface::{ContractInterface, InterfaceError},
    source_check::{CheckError, CheckRequest, Diagnostic, Position, SourceCheck},
    standard::TokenStandard,
    tracer::{CallTree, TraceWindow, TracedCall, TracedRun, TracedStep, TracedValue},
};
pub(crate) use self::{
    edit::{FieldEdit, edit_field},
    interface::contract_interface,
    module::{ContractCache, InitFacts, LoadedContract, declares_library},
    nesting::readable,
    overlay::{Change, Overlay},
    source_check::check_source,
    tracer::Tracer,
};
use crate::{accounts::StateReader, admission::VerifiedTransaction, config::Rules, pool::DropReason};

/// The context of an execution: the micro block and the rules.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context<'a> {
    /// Logical number of the Tx block that is being built.
    pub(crate) block: BlockNumber,
    /// Gas limit of the micro block.
    pub(crate) gas_limit: Gas,
    /// Minimum gas price, or `None` if the execution does not check the price. The verification of a block does not
    /// check it if operators may set the price. A repeated execution for a trace does not check it either.
    pub(crate) minimum_price: Option<GasPrice>,
    /// Chain id of the network.
    pub(crate) chain_id: ChainId,
    /// Rules of execution.
    pub(crate) rules: &'a Rules,
    /// The contract cache.
    pub(crate) contract_cache: &'a ContractCache,
    /// The [work](silica_scilla::work) that is left in the block.
    pub(crate) work_limit: u64,
    /// The contracts that earlier transactions of the block have called. The block keeps them, because the cache can
    /// evict them.
    pub(crate) loaded: &'a BTreeMap<CodeHash, LoadedContract>,
    /// The recorder of a trace, if any.
    pub(crate) tracer: Option<&'a Tracer>,
}

/// An execution: its outcome, and its costs for the block.
#[derive(Clone, Debug)]
pub(crate) struct Executed {
    pub(crate) outcome: Outcome,
    /// The work of the execution, in nanoseconds. It is at least the fixed work of a transaction plus the work that its
    /// gas pays for.
    pub(crate) work: u64,
    /// The contracts that the transaction called.
    pub(crate) loaded: BTreeMap<CodeHash, LoadedContract>,
}

/// The outcome of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The transaction is in the block. The sender has paid the fee, and the nonce is used.
    Recorded(Recorded),
    /// The transaction was dropped, without a change of state.
    Dropped(DropReason),
    /// The transaction needs more work than is left in the block. The state is unchanged.
    Full,
}

/// A transaction that a block contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Recorded {
    /// The receipt of the transaction.
    pub(crate) receipt: Receipt,
    /// The fee that the sender paid.
    pub(crate) fee: Qa,
}

/// The work of a transaction so far.
struct Effort<'a> {
    work: Work,
    /// The contracts that the transaction called.
    loaded: BTreeMap<CodeHash, LoadedContract>,
    /// The contracts that earlier transactions of the block have called.
    before: &'a BTreeMap<CodeHash, LoadedContract>,
}

impl<'a> Effort<'a> {
    /// Returns the effort of a transaction before its start.
    fn begin(context: Context<'a>) -> Self {
        let limited = context.contract_cache.rules().limits_work();
        let work = if limited { Work::limited(context.work_limit) } else { Work::UNLIMITED };
        Self { work, loaded: BTreeMap::new(), before: context.loaded }
    }

    /// Counts units of the interpreter that the node charges. If a limit is reached, the next step of the execution
    /// returns the error.
    fn pay(&mut self, units: u64) {
        let _ = self.work.pay(units);
    }

    /// Returns whether the charged gas and `texts` nanoseconds cover the work so far. For a successful deployment and
    /// for some failures, the reference charges less gas than the transaction used.
    fn is_paid(&mut self, limit: Gas, left: u64, texts: u64) -> bool {
        let units = limit.get().saturating_sub(left).saturating_mul(UNITS_PER_GAS);
        self.work.end_unless_paid(units, texts).is_ok()
    }

    /// Returns a compiled contract with its parameters. The first call in a transaction counts its texts. The first
    /// call in a block also counts the work to read and compile them.
    fn ready<W: StateReader>(
        &mut self,
        module: &Arc<Module>,
        context: Context<'_>,
        overlay: &mut Overlay<W>,
    ) -> Result<LoadedContract, LoadError> {
        if let Some(ready) = self.loaded.get(&module.hash) {
            return Ok(ready.clone());
        }
        let ready = if let Some(ready) = self.before.get(&module.hash) {
            self.work.load(ready.bytes(), false)?;
            ready.clone()
        } else {
            let mut loading = Loading { work: &mut self.work, fresh: true };
            context.contract_cache.ready(module, overlay, |bytes| loading.count(bytes))?
        };
        // Without a work limit, only the gas of a block would bound the memory of these programs.
        if context.contract_cache.rules().limits_work() {
            self.loaded.insert(module.hash, ready.clone());
        }
        Ok(ready)
    }

    /// Returns the counter for the libraries of a deployment. Each deployment reads its libraries again.
    fn deploying(&mut self) -> Loading<'_> {
        Loading { work: &mut self.work, fresh: true }
    }

    /// Returns the work that counts for the block.
    fn total(&self, outcome: &Outcome) -> u64 {
        let gas = match outcome {
            Outcome::Recorded(recorded) => recorded.receipt.cumulative_gas,
            Outcome::Dropped(_) | Outcome::Full => Gas::ZERO,
        };
        self.work.total().max(gas.get().saturating_mul(EVALUATION_PER_GAS).saturating_add(TRANSACTION))
    }
}

/// Counts the work of loading contracts and libraries, in proportion to the bytes of their texts.
struct Loading<'a> {
    work: &'a mut Work,
    fresh: bool,
}

impl Loading<'_> {
    fn count(&mut self, bytes: u64) -> Result<(), Exhausted> {
        self.work.load(bytes, self.fresh)
    }
}

/// The loaded contracts before the first transaction of a block.
pub(crate) static NOTHING_LOADED: BTreeMap<CodeHash, LoadedContract> = BTreeMap::new();

/// Reason why an execution ends early.
enum DropOrFatal {
    Drop(DropReason),
    Fatal(StateError),
    Full,
}

impl From<StateError> for DropOrFatal {
    fn from(error: StateError) -> Self {
        Self::Fatal(error)
    }
}

impl From<DropReason> for DropOrFatal {
    fn from(reason: DropReason) -> Self {
        Self::Drop(reason)
    }
}

/// Executes a transaction that has the next nonce of its sender.
///
/// # Errors
///
/// [`StateError`]: the state could not be read. In this case the block cannot be built.
pub(crate) fn execute<W: StateReader>(
    transaction: &VerifiedTransaction,
    context: Context<'_>,
    overlay: &mut Overlay<W>,
) -> Result<Executed, StateError> {
    let mut effort = Effort::begin(context);
    let outcome = outcome(transaction, context, &mut effort, overlay)?;
    let work = effort.total(&outcome);
    Ok(Executed { outcome, work, loaded: effort.loaded })
}

fn outcome<'a, W: StateReader>(
    transaction: &VerifiedTransaction,
    context: Context<'a>,
    effort: &mut Effort<'a>,
    overlay: &mut Overlay<W>,
) -> Result<Outcome, StateError> {
    let checked = check_still_valid(transaction, context).map_err(DropOrFatal::Drop);
    let result = checked.and_then(|()| match transaction.kind() {
        TransactionKind::Payment => {
            effort.pay(context.rules.payment_gas.get().saturating_mul(UNITS_PER_GAS));
            if effort.work.end() == Some(End::Block) {
                return Err(DropOrFatal::Full);
            }
            payment::execute(transaction, context, overlay)
        }
        // A chain without contracts executes payments only.
        TransactionKind::Deployment | TransactionKind::Call if !context.rules.contracts => {
            Err(DropOrFatal::Drop(DropReason::IncorrectType))
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
        Err(DropOrFatal::Drop(reason)) => Ok(Outcome::Dropped(reason)),
        Err(DropOrFatal::Full) => Ok(Outcome::Full),
        Err(DropOrFatal::Fatal(error)) => Err(error),
    }
}

/// Executes a deployment or a call. Reverts all writes if the transaction is not recorded.
///
/// A panic is an internal error, which must not stop other transactions. The transaction is dropped.
fn undone_unless_recorded<'a, W: StateReader>(
    effort: &mut Effort<'a>,
    overlay: &mut Overlay<W>,
    execute: impl FnOnce(&mut Effort<'a>, &mut Overlay<W>) -> Result<Recorded, DropOrFatal>,
) -> Result<Recorded, DropOrFatal> {
    let before = overlay.begin();
    // The journal has each write. So an undo can revert all writes after a panic at any place.
    let result = catch_unwind(AssertUnwindSafe(|| execute(effort, overlay)));
    let result = match result.unwrap_or(Err(DropOrFatal::Drop(DropReason::Internal))) {
        Ok(_) | Err(DropOrFatal::Drop(_)) if effort.work.end() == Some(End::Block) => Err(DropOrFatal::Full),
        result => result,
    };
    if result.is_err() {
        overlay.revert(before);
    }
    overlay.end();
    result
}

/// Repeats the admission checks whose result may have changed since admission
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
