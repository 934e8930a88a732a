//! Deployments of contracts and libraries (Reference: execution#deployments).

use silica_protocol::{
    Account, Address, CodeHash, ContractAccount, Exception, InitData, Receipt, ReceiptError, StorageKey,
};
use silica_scilla::{
    eval::VERSION,
    gas::{Exhausted, UNITS_PER_GAS},
    work::{FREE_SEARCH, PER_TEXT_BYTE, weight},
};

use super::{
    Context, DropOrFatal, Effort, Overlay, Recorded,
    host::ContractHost,
    module::{InitFacts, Libraries, LoadError},
    outcome::{CallFailure, Deposit, transfer},
    run::{self, Accepted, RunFailure},
    storage::StorageQuota,
};
use crate::{
    accounts::{Source, StateReader},
    admission::VerifiedTransaction,
    pool::DropReason,
};

/// A deployment before its run.
struct Deployment<'a, 'c, W> {
    context: Context<'c>,
    overlay: &'a mut Overlay<W>,
    address: Address,
    source: Source,
    facts: InitFacts,
    /// The libraries of the program, or an error if their search exceeded the work limit.
    libraries: Result<Libraries, Exhausted>,
    /// The gas that is left.
    gas: u64,
    effort: &'a mut Effort<'c>,
}

/// Executes a deployment. The steps have the order of the reference (Reference: execution#deployments).
pub(super) fn execute<'c, W: StateReader>(
    transaction: &VerifiedTransaction,
    context: Context<'c>,
    effort: &mut Effort<'c>,
    overlay: &mut Overlay<W>,
) -> Result<Recorded, DropOrFatal> {
    let (tx, rules, signer) = (transaction.transaction(), context.rules, transaction.sender());
    let (deposit, sender) = Deposit::of(transaction, rules, overlay)?;
    let gas = tx.gas_limit.checked_sub(rules.checker_gas).ok_or(DropReason::InsufficientGas)?.get();
    let address = Address::of_contract(&signer, sender.nonce);
    // The address can have money from an earlier payment. Only another contract at the address is an error.
    let before = overlay.account(&address)?.unwrap_or_default();
    if before.contract.is_some() {
        return Err(DropReason::AddressTaken.into());
    }
    let sent = InitData::parse(&tx.data).map_err(|_| DropReason::Libraries)?;
    let language = context.contract_cache.rules();
    let facts = InitFacts::of(&sent, language).ok_or(DropReason::Libraries)?;
    let init = sent.deployed(context.block, &address).to_styled_json();
    let mut loading = effort.deploying();
    let libraries = match Libraries::find(&facts, context.contract_cache, overlay, |bytes| loading.count(bytes)) {
        Ok(libraries) => Ok(libraries),
        Err(LoadError::Exhausted) => Err(Exhausted),
        Err(LoadError::State(error)) => return Err(DropOrFatal::Fatal(error)),
        // A dropped transaction pays nothing. So a long search for libraries fails with a receipt instead.
        Err(LoadError::Libraries) if language.limits_work() && effort.work.loaded() > FREE_SEARCH => Err(Exhausted),
        Err(LoadError::Libraries | LoadError::Unusable) => return Err(DropReason::Libraries.into()),
    };
    if language.node_compares_version() && !facts.is_supported() {
        return Err(DropReason::Preparation.into());
    }

    deposit.take(overlay)?;
    let frame = overlay.mark();
    let source = Source { code: tx.code.as_str().into(), init: init.into() };
    let contract = ContractAccount { code_hash: CodeHash::of(&source.code, &source.init), storage_root: None };
    overlay.set(&address, Account { contract: Some(contract), ..before })?;
    overlay.set_source(&address, source.clone());
    // The gas of the run or the size charge of a failure always covers the texts.
    effort.pay(run::text_units(&source).saturating_add(rules.checker_gas.get().saturating_mul(UNITS_PER_GAS)));
    let texts = run::text_units(&source).saturating_mul(PER_TEXT_BYTE);
    let mut deployment = Deployment { context, overlay, address, source, facts, libraries, gas, effort };
    let mut result = deployment.run();
    let mut left = deployment.gas;
    // A success reports less gas than it used (Reference: scilla#units).
    if result.is_ok() && !effort.is_paid(tx.gas_limit, left, texts) {
        result = Err(Failure::of(CallFailure::with(ReceiptError::GasNotSufficient), ReceiptError::RunnerFailed));
    }
    let mut receipt = Receipt::payment(tx.gas_limit, context.block);
    match result {
        Ok(()) => {
            if !transfer(&signer, &address, tx.amount, overlay)? {
                return Err(DropReason::Arithmetic.into());
            }
        }
        Err(Failure::Fatal(error)) => return Err(DropOrFatal::Fatal(error)),
        Err(Failure::Recorded { errors, exceptions }) => {
            overlay.revert(frame);
            left = deposit.left_of_failure(left);
            if !effort.is_paid(tx.gas_limit, left, texts) {
                left = 0;
            }
            receipt.success = false;
            receipt.errors.insert(0, errors);
            receipt.exceptions = exceptions;
        }
    }
    let (used, fee) = deposit.settle(left, overlay)?;
    receipt.cumulative_gas = used;
    Ok(Recorded { receipt, fee })
}

/// Reason why a deployment fails.
enum Failure {
    Fatal(silica_state::StateError),
    Recorded { errors: Vec<ReceiptError>, exceptions: Vec<Exception> },
}

impl Failure {
    /// Returns the failure of a stage. In the receipt, the code of the stage follows the code of the error.
    fn of(call_failure: CallFailure, stage: ReceiptError) -> Self {
        match call_failure {
            CallFailure::Fatal(error) => Self::Fatal(error),
            CallFailure::Failed(error, exceptions) => Self::Recorded { errors: vec![error, stage], exceptions },
        }
    }
}

impl<W: StateReader> Deployment<'_, '_, W> {
    fn run(&mut self) -> Result<(), Failure> {
        let accepted = self.check().map_err(|call_failure| Failure::of(call_failure, ReceiptError::CheckerFailed))?;
        let fields =
            self.initialise(&accepted).map_err(|call_failure| Failure::of(call_failure, ReceiptError::RunnerFailed));
        fields?;
        if self.effort.work.spend(work_of_metadata(&accepted)).is_err() {
            self.gas = 0;
            return Err(Failure::of(CallFailure::with(ReceiptError::GasNotSufficient), ReceiptError::RunnerFailed));
        }
        self.write_metadata(&accepted).map_err(Failure::Fatal)
    }

    fn check(&mut self) -> Result<Accepted, CallFailure> {
        let check = if self.facts.is_library { run::check_library } else { run::check_contract };
        let Ok(libraries) = &self.libraries else {
            self.gas = 0;
            return Err(CallFailure::with(ReceiptError::GasNotSufficient));
        };
        let checked = check(&self.source, libraries, self.gas, self.effort.work);
        let accepted = checked.map_err(|stopped| self.stopped(stopped, ReceiptError::CheckerFailed))?;
        self.gas = self.gas.min(accepted.gas);
        self.effort.work = accepted.work;
        Ok(accepted)
    }

    fn initialise(&mut self, accepted: &Accepted) -> Result<(), CallFailure> {
        let start = self.context.rules.runner_gas.get();
        self.gas = self.gas.checked_sub(start).ok_or(CallFailure::with(ReceiptError::GasNotSufficient))?;
        self.effort.pay(start.saturating_mul(UNITS_PER_GAS));
        let rules = self.context.contract_cache.rules();
        if self.facts.is_library {
            return match run::deploy_library(&self.source, &accepted.code, rules, self.gas, self.effort.work) {
                Ok((left, work)) => {
                    self.effort.work = work;
                    self.gas = self.gas.min(left);
                    Ok(())
                }
                Err(stopped) => match self.stopped(stopped, ReceiptError::CreateContractFailed) {
                    // If the rules compare versions, the result of a library run counts only for its gas, and not for
                    // its success.
                    CallFailure::Failed(ReceiptError::CreateContractFailed, _)
                        if rules.node_compares_version() && self.effort.work.end().is_none() =>
                    {
                        Ok(())
                    }
                    call_failure @ (CallFailure::Failed(..) | CallFailure::Fatal(_)) => Err(call_failure),
                },
            };
        }
        let mut host = ContractHost {
            overlay: &mut *self.overlay,
            context: self.context,
            contract: self.address,
            known: std::sync::Arc::clone(accepted.code.data_types()),
            units: 0,
            quota: StorageQuota::new(),
            fault: None,
        };
        let deployed = run::deploy_contract(&self.source, &accepted.code, rules, self.gas, self.effort.work, &mut host);
        if let Some(fault) = host.fault {
            return Err(CallFailure::Fatal(fault));
        }
        let deployed = deployed.map_err(|stopped| self.stopped(stopped, ReceiptError::CreateContractFailed));
        let (left, work) = deployed?;
        self.effort.work = work;
        self.gas = self.gas.min(left);
        Ok(())
    }

    /// Counts the gas of a failed stage, and returns its failure.
    fn stopped(&mut self, stopped: RunFailure, error: ReceiptError) -> CallFailure {
        self.effort.work = stopped.work;
        let Some(left) = stopped.gas else {
            self.gas = self.gas.saturating_sub(self.context.rules.deployment_gas.get());
            return CallFailure::with(ReceiptError::NoGasRemainingFound);
        };
        self.gas = self.gas.min(left);
        CallFailure::Failed(error, stopped.exceptions())
    }

    /// Writes the metadata of a contract (Reference: execution#contract-metadata).
    fn write_metadata(&mut self, accepted: &Accepted) -> Result<(), silica_state::StateError> {
        let (contract, overlay) = (&self.address, &mut *self.overlay);
        overlay.set_entry(contract, &StorageKey::version(contract), Some(VERSION.as_bytes()))?;
        overlay.set_entry(contract, &StorageKey::address(contract), Some(contract.as_bytes()))?;
        for (name, ty, depth) in &accepted.fields {
            let depth = depth.to_string();
            overlay.set_entry(contract, &StorageKey::depth(contract, name), Some(depth.as_bytes()))?;
            overlay.set_entry(contract, &StorageKey::type_of(contract, name), Some(ty.as_bytes()))?;
        }
        Ok(())
    }
}

/// Returns the work of writing the metadata of a contract: two entries, and two for each field.
fn work_of_metadata(accepted: &Accepted) -> u64 {
    let bytes = accepted.fields.iter().map(|(name, ty, _)| name.len().saturating_mul(2).saturating_add(ty.len()));
    let bytes = u64::try_from(bytes.fold(0, usize::saturating_add)).unwrap_or(u64::MAX);
    let entries = u64::try_from(accepted.fields.len()).unwrap_or(u64::MAX).saturating_add(1).saturating_mul(2);
    entries.saturating_mul(weight::WRITTEN).saturating_add(bytes.saturating_mul(weight::WRITTEN_BYTE))
}
