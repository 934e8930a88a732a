//! Calls of contracts, and their chained calls (Reference: execution#calls).
//!
//! ```text
//! first run ─▶ accept ─▶ events ─▶ message 1 ─▶ run of its recipient ─▶ … all its chained calls …
//!                                  message 2 ─▶ …
//! ```
//!
//! A failure at any depth fails the whole transaction.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use silica_protocol::{
    Account, Address, ContractMessage, ContractParam, EventLog, Qa, Receipt, ReceiptError, Transition, to_styled_json,
};
use silica_scilla::{
    eval::{Observer, Outcome},
    gas::{Exhausted, Meter, UNITS_PER_GAS},
    rules::LibraryCalls,
    value::Message,
    work::{FREE_SEARCH, weight},
};

use super::{
    Context, DropOrFatal, Effort, Overlay, Recorded,
    effects::{self, Effects},
    host::ContractHost,
    module::{LoadError, LoadedContract},
    outcome::{CallFailure, Deposit, transfer},
    run::{self, Input, RunFailure},
    storage::StorageQuota,
};
use crate::{accounts::StateReader, admission::VerifiedTransaction, pool::DropReason};

/// The call of a transaction, and all its chained calls.
struct Calls<'a, 'c, W> {
    context: Context<'c>,
    overlay: &'a mut Overlay<W>,
    /// Signer of the transaction.
    origin: Address,
    gas_limit: u64,
    /// The gas that is left.
    gas: u64,
    effort: &'a mut Effort<'c>,
    /// Bytes of all events and messages so far, in the form of receipts.
    emitted_bytes: usize,
    /// The bytes that the transaction has left to read and write.
    quota: StorageQuota,
    /// Number of attempted chained calls.
    edges: u32,
    accepted: Option<bool>,
    event_logs: Vec<EventLog>,
    transitions: Vec<Transition>,
}

/// The recipient of a message that causes a run.
enum Callee {
    Contract(LoadedContract),
    /// A library. Under the rules of the chain, it ignores messages.
    Library,
}

/// A message that causes a run.
struct Call {
    sender: Address,
    contract: Address,
    amount: Qa,
    body: Body,
    depth: u32,
}

/// The body of a message that causes a run.
enum Body {
    /// Styled JSON: the data of the transaction, with the members that the chain sets.
    Signed(String),
    /// The values of a message of a contract, and the length of the message as styled JSON, in bytes.
    Sent { message: Arc<Message>, bytes: usize },
}

/// Executes a call. The steps have the order of the reference (Reference: execution#calls).
pub(super) fn execute<'c, W: StateReader>(
    transaction: &VerifiedTransaction,
    context: Context<'c>,
    effort: &mut Effort<'c>,
    overlay: &mut Overlay<W>,
) -> Result<Recorded, DropOrFatal> {
    let (tx, rules, origin) = (transaction.transaction(), context.rules, transaction.sender());
    let (deposit, _) = Deposit::of(transaction, rules, overlay)?;
    let gas = tx.gas_limit.checked_sub(rules.runner_gas).ok_or(DropReason::InsufficientGas)?.get();
    overlay.account(&tx.to)?.ok_or(DropReason::InvalidRecipient)?;
    let body: Json = serde_json::from_str(&tx.data).map_err(|_| DropReason::Libraries)?;
    if !body.is_object() {
        return Err(DropReason::Libraries.into());
    }
    effort.pay(rules.runner_gas.get().saturating_mul(UNITS_PER_GAS));
    let callee = root(&tx.to, context, effort, overlay)?;

    deposit.take(overlay)?;
    let frame = overlay.mark();
    let mut calls = Calls {
        context,
        overlay,
        origin,
        gas_limit: tx.gas_limit.get(),
        gas,
        effort,
        emitted_bytes: 0,
        quota: StorageQuota::new(),
        edges: 0,
        accepted: None,
        event_logs: Vec::new(),
        transitions: Vec::new(),
    };
    let result = match callee {
        Ok(callee) => {
            if let Some(tracer) = context.tracer {
                tracer.begin(origin, tx.to, tx.amount, &body, gas);
            }
            let body = Body::Signed(styled(body, origin, origin, tx.amount));
            calls.run(&callee, &Call { sender: origin, contract: tx.to, amount: tx.amount, body, depth: 0 })
        }
        Err(Exhausted) => Err(calls.exhausted()),
    };
    let Calls { gas: mut left, edges, accepted, event_logs, transitions, .. } = calls;
    let result = match result {
        Ok(()) if !effort.is_paid(tx.gas_limit, left, 0) => Err(CallFailure::with(ReceiptError::GasNotSufficient)),
        result => result,
    };
    let mut receipt = Receipt { accepted, ..Receipt::payment(tx.gas_limit, context.block) };
    match result {
        Ok(()) => (receipt.event_logs, receipt.transitions) = (event_logs, transitions),
        Err(CallFailure::Fatal(error)) => return Err(DropOrFatal::Fatal(error)),
        Err(CallFailure::Failed(error, exceptions)) => {
            overlay.revert(frame);
            left = deposit.left_of_failure(left);
            if !effort.is_paid(tx.gas_limit, left, 0) {
                left = 0;
            }
            receipt.success = false;
            receipt.errors.insert(edges, vec![error]);
            receipt.exceptions = exceptions;
        }
    }
    let (used, fee) = deposit.settle(left, overlay)?;
    receipt.cumulative_gas = used;
    Ok(Recorded { receipt, fee })
}

/// Loads the contract that a transaction calls. The inner error means that the load exceeds a work limit. The
/// transaction then fails, and the node does not drop it.
fn root<W: StateReader>(
    to: &Address,
    context: Context<'_>,
    effort: &mut Effort<'_>,
    overlay: &mut Overlay<W>,
) -> Result<Result<Callee, Exhausted>, DropOrFatal> {
    let module = context.contract_cache.get(to, overlay)?.ok_or(DropReason::Libraries)?;
    if module.is_library {
        return ignoring_library(context).map(Ok).ok_or(DropReason::Libraries.into());
    }
    match effort.ready(&module, context, overlay) {
        Ok(ready) => Ok(Ok(Callee::Contract(ready))),
        Err(LoadError::Exhausted) => Ok(Err(Exhausted)),
        Err(LoadError::State(error)) => Err(DropOrFatal::Fatal(error)),
        // A dropped transaction pays nothing. So a long load of a contract that later rules make unusable fails with a
        // receipt instead.
        Err(LoadError::Libraries | LoadError::Unusable)
            if context.contract_cache.rules().limits_work() && effort.work.loaded() > FREE_SEARCH =>
        {
            Ok(Err(Exhausted))
        }
        Err(LoadError::Libraries | LoadError::Unusable) => Err(DropReason::Libraries.into()),
    }
}

/// Returns a library as a callee, or `None` if a message to a library is an error under the rules of the chain.
fn ignoring_library(context: Context<'_>) -> Option<Callee> {
    (context.contract_cache.rules().library_calls() == LibraryCalls::Ignored).then_some(Callee::Library)
}

impl<W: StateReader> Calls<'_, '_, W> {
    /// Runs a contract and its chained calls. The limit of chained calls (`edge_limit`) also limits the depth of the
    /// recursion. With a tracer, the caller calls `Tracer::begin` before this function. This function calls
    /// `Tracer::end`.
    fn run(&mut self, callee: &Callee, call: &Call) -> Result<(), CallFailure> {
        let result = self.run_all(callee, call);
        if let Some(tracer) = self.context.tracer {
            tracer.end();
        }
        result
    }

    fn run_all(&mut self, callee: &Callee, call: &Call) -> Result<(), CallFailure> {
        let outcome = self.interpret(callee, call);
        if let Some(tracer) = self.context.tracer {
            tracer.ran(self.gas, outcome.as_ref().ok().map(|outcome| outcome.accepted));
        }
        let outcome = outcome?;
        let Effects { events, messages } = self.effects(&outcome)?;
        if outcome.accepted && !transfer(&call.sender, &call.contract, call.amount, self.overlay)? {
            return Err(CallFailure::with(ReceiptError::BalanceTransferFailed));
        }
        match self.transitions.last_mut() {
            Some(cause) if call.depth > 0 => cause.accepted = Some(outcome.accepted),
            Some(_) | None => self.accepted = Some(outcome.accepted),
        }
        for event in events {
            let (name, params) = event.ok_or(CallFailure::with(ReceiptError::LogEntryInstallFailed))?;
            self.event_logs.push(EventLog { address: call.contract, name, params });
        }
        for (message, values) in messages.into_iter().zip(&outcome.messages) {
            let message = message.ok_or(CallFailure::with(ReceiptError::MessageCorrupted))?;
            self.send(call, message, values)?;
        }
        Ok(())
    }

    fn effects(&mut self, outcome: &Outcome) -> Result<Effects, CallFailure> {
        let allowed = effects::allowance(self.gas_limit.saturating_sub(self.gas));
        let unused = allowed.saturating_sub(self.emitted_bytes);
        let payable = usize::try_from(self.effort.work.left() / weight::JSON_BYTE).unwrap_or(usize::MAX);
        let most = unused.min(payable);
        let mut left = most;
        let effects = Effects::of(outcome, &mut left);
        // The conversion stopped because of the remaining work, and not because of the limit of bytes.
        if effects.is_err() && left == 0 && payable < unused {
            let work = u64::try_from(payable).unwrap_or(u64::MAX).saturating_add(1).saturating_mul(weight::JSON_BYTE);
            self.effort.work.exceed_before(work, 0);
            return Err(self.exhausted());
        }
        // The bytes count after an error too, because the node has converted them.
        let bytes = most.saturating_sub(left);
        self.emitted_bytes = self.emitted_bytes.saturating_add(bytes);
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.effort.work.spend(bytes.saturating_mul(weight::JSON_BYTE)).map_err(|Exhausted| self.exhausted())?;
        effects
    }

    /// Returns the failure of a transaction above its work limit. Such a transaction uses all of its gas.
    const fn exhausted(&mut self) -> CallFailure {
        self.gas = 0;
        CallFailure::with(ReceiptError::GasNotSufficient)
    }

    fn interpret(&mut self, callee: &Callee, call: &Call) -> Result<Outcome, CallFailure> {
        let input = match &call.body {
            Body::Signed(text) => Input::Text(text),
            Body::Sent { message, bytes } => {
                Input::Sent { message, bytes: *bytes, sender: call.sender, origin: self.origin }
            }
        };
        let balance = self.overlay.account(&call.contract)?.unwrap_or_default().balance;
        let result = match callee {
            Callee::Contract(ready) => self.run_contract(ready, call.contract, &input, balance)?,
            Callee::Library => {
                run::call_library(&input, balance.get(), Meter::with_limit(self.gas).with_work(self.effort.work))
            }
        };
        match result {
            Ok((outcome, left)) => {
                self.effort.work = outcome.gas.work();
                self.gas = self.gas.min(left);
                Ok(outcome)
            }
            Err(stopped) => {
                self.effort.work = stopped.work;
                let Some(left) = stopped.gas else {
                    self.gas = self.gas.saturating_sub(self.context.rules.call_gas.get());
                    return Err(CallFailure::with(ReceiptError::NoGasRemainingFound));
                };
                self.gas = self.gas.min(left);
                Err(CallFailure::Failed(ReceiptError::CallContractFailed, stopped.exceptions()))
            }
        }
    }

    fn run_contract(
        &mut self,
        ready: &LoadedContract,
        contract: Address,
        input: &Input<'_>,
        balance: Qa,
    ) -> Result<Result<(Outcome, u64), RunFailure>, CallFailure> {
        let mut host = ContractHost {
            overlay: &mut *self.overlay,
            context: self.context,
            contract,
            known: Arc::clone(ready.code.data_types()),
            units: 0,
            quota: self.quota,
            fault: None,
        };
        let mut tracer = self.context.tracer;
        let observer = tracer.as_mut().map(|tracer| tracer as &mut dyn Observer);
        let rules = self.context.contract_cache.rules();
        let limit = Meter::with_limit(self.gas).with_work(self.effort.work);
        let result = run::call(ready, input, balance.get(), rules, limit, &mut host, observer);
        self.quota = host.quota;
        match host.fault {
            Some(fault) => Err(CallFailure::Fatal(fault)),
            None => Ok(result),
        }
    }

    /// Delivers a message of a contract. `values` are the values of the message.
    fn send(&mut self, from: &Call, message: ContractMessage, values: &Arc<Message>) -> Result<(), CallFailure> {
        let (emitter, recipient, amount) = (from.contract, message.recipient, message.amount);
        let delivered = self.deliver(emitter, &message);
        if let Some(tracer) = self.context.tracer {
            let body = body(&message);
            if matches!(delivered, Ok(Some(_))) {
                tracer.begin(emitter, recipient, amount, &body, self.gas);
            } else {
                tracer.sent(emitter, recipient, amount, &body);
            }
        }
        let callee = delivered?.map(|callee| (callee, self.sent(emitter, &message, values)));
        self.transitions.push(Transition { address: emitter, depth: from.depth, message, accepted: None });
        let Some((callee, body)) = callee else { return Ok(()) };
        let depth = from.depth.saturating_add(1);
        self.run(&callee, &Call { sender: emitter, contract: recipient, amount, body, depth })
    }

    /// Returns the body of a message of a contract.
    fn sent(&self, emitter: Address, message: &ContractMessage, values: &Arc<Message>) -> Body {
        #[cfg(test)]
        if super::oracle::sends_text() {
            return Body::Signed(styled(body(message), emitter, self.origin, message.amount));
        }
        Body::Sent { message: Arc::clone(values), bytes: message.call_len(&emitter, &self.origin) }
    }

    /// Transfers the amount of a message if its recipient is not a contract. Loads and returns the recipient if the
    /// message causes a run, and returns `None` otherwise.
    fn deliver(&mut self, emitter: Address, message: &ContractMessage) -> Result<Option<Callee>, CallFailure> {
        let ContractMessage { recipient, amount, tag, .. } = message;
        if recipient.is_zero() {
            return Err(CallFailure::with(ReceiptError::ReceiptIsNull));
        }
        let account = if let Some(account) = self.overlay.account(recipient)? {
            account
        } else {
            self.overlay.set(recipient, Account::default())?;
            Account::default()
        };
        if account.contract.is_some() {
            return if tag.is_empty() { Ok(None) } else { self.chain(recipient).map(Some) };
        }
        if !transfer(&emitter, recipient, *amount, self.overlay)? {
            return Err(CallFailure::with(ReceiptError::BalanceTransferFailed));
        }
        Ok(None)
    }

    /// Counts and charges a chained call, and loads its contract.
    fn chain(&mut self, callee: &Address) -> Result<Callee, CallFailure> {
        self.edges = self.edges.saturating_add(1);
        let start = self.context.rules.runner_gas.get();
        self.gas = self.gas.checked_sub(start).ok_or(CallFailure::with(ReceiptError::GasNotSufficient))?;
        self.effort.pay(start.saturating_mul(UNITS_PER_GAS));
        if self.edges > self.context.rules.edge_limit {
            return Err(CallFailure::with(ReceiptError::MaxEdgesReached));
        }
        // All deployed contracts have the only supported version of the language.
        let module = self
            .context
            .contract_cache
            .get(callee, self.overlay)?
            .ok_or(CallFailure::with(ReceiptError::InternalError))?;
        if module.is_library {
            return ignoring_library(self.context).ok_or(CallFailure::with(ReceiptError::LibraryAsRecipient));
        }
        let ready = self.effort.ready(&module, self.context, self.overlay);
        ready.map(Callee::Contract).map_err(|load_error| match load_error {
            LoadError::State(error) => CallFailure::Fatal(error),
            LoadError::Exhausted => self.exhausted(),
            LoadError::Libraries => CallFailure::with(ReceiptError::LibraryExtractionFailed),
            LoadError::Unusable => CallFailure::with(ReceiptError::PreparationFailed),
        })
    }
}

/// Returns the text of a message with the members that the chain sets. These members replace members with the same
/// names that the signer set.
fn styled(mut body: Json, sender: Address, origin: Address, amount: Qa) -> String {
    if let Some(members) = body.as_object_mut() {
        members.insert("_sender".to_owned(), json!(format!("0x{sender}")));
        members.insert("_origin".to_owned(), json!(format!("0x{origin}")));
        members.insert("_amount".to_owned(), json!(amount.to_string()));
    }
    to_styled_json(&body)
}

/// Returns the message of a chained call as JSON, for a trace.
fn body(message: &ContractMessage) -> Json {
    let param = |param: &ContractParam| json!({ "vname": param.name, "type": param.type_name, "value": param.value });
    json!({ "_tag": message.tag, "params": message.params.iter().map(param).collect::<Vec<_>>() })
}
