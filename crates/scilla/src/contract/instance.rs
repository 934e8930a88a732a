//! A deployed contract in memory, and its calls.

use std::{collections::btree_map::Entry, fmt, sync::Arc};

use silica_protocol::{Address, Gas, Qa};

use super::{Contract, DEFAULT_GAS_LIMIT, LARGEST_GAS_LIMIT, ParamError, Params, params::IntoParams};
use crate::{
    argument::{Argument, IncomingMessage},
    eval::{Failed, Observer, Settings},
    gas::Meter,
    host::{MemoryHost, StateField},
    json::{Builder, ListForm},
    report::Failure,
    types::{Primitive, Width},
    value::{BNum, Message, Value},
};

/// Block of a deployment in memory.
const CREATION_BLOCK: u64 = 1;

/// Reason why a deployment failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeployError {
    /// A library, the constraint or the initial value of a field failed, or the gas did not suffice.
    #[error(transparent)]
    Failed(Failure),
    /// The parameters do not match the contract.
    #[error(transparent)]
    Params(#[from] ParamError),
}

/// Reason why a call failed. The state of the contract has not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The sum of the balance and the amount of the call exceeds 2^128 - 1 Qa.
    #[error("the balance of {balance} Qa and the amount of {amount} Qa together exceed 2^128 - 1 Qa")]
    Balance {
        /// Balance of the contract before the call.
        balance: Qa,
        /// Amount of the call.
        amount: Qa,
    },
    /// The transition failed, or the gas did not suffice.
    #[error("{failure}")]
    Failed {
        /// The errors, as in a receipt.
        failure: Failure,
        /// The gas that the interpreter used.
        gas_used: Gas,
    },
    /// A message or an event of the transition does not have the labels that a node requires.
    #[error("a message of the transition is invalid: {0}")]
    Message(String),
    /// The parameters do not match the transition.
    #[error(transparent)]
    Params(#[from] ParamError),
    /// The contract has no transition of this name.
    #[error("the contract has no transition {0}")]
    UnknownTransition(String),
}

/// A deployed contract with its state in memory.
///
/// Each call has a separate gas limit. A failed call does not change the state. The instance does not deliver messages,
/// so the caller reads them from the [`CallOutcome`].
#[derive(Clone, Debug)]
pub struct Instance {
    contract: Contract,
    init: Vec<Argument>,
    host: MemoryHost,
    balance: Qa,
    gas_used: Gas,
}

impl Instance {
    pub(super) fn deploy(contract: Contract, params: Params) -> Result<Self, DeployError> {
        let compiled = &*contract.0;
        let implicit = [
            ("_creation_block", Value::BNum(BNum::from_u64(CREATION_BLOCK))),
            ("_scilla_version", Value::from(0_u32)),
            ("_this_address", Value::from(compiled.address)),
        ];
        let mut init: Vec<_> = implicit.map(argument).into();
        init.extend(params.read(&compiled.summary.parameters, &compiled.data_types)?);
        let failed = |failed: Failed| DeployError::Failed(failed.failure);
        let loaded = compiled.code.load(contract.settings(), Meter::with_limit(DEFAULT_GAS_LIMIT)).map_err(failed)?;
        let deployment = loaded.deploy(&init, None).map_err(failed)?;
        let gas_used = used(DEFAULT_GAS_LIMIT, deployment.gas);
        let host = MemoryHost { fields: deployment.fields, chain_id: Some(1), ..MemoryHost::default() };
        Ok(Self { contract, init, host, balance: Qa::ZERO, gas_used })
    }

    /// Returns the contract.
    pub const fn contract(&self) -> &Contract {
        &self.contract
    }

    /// Returns the gas that the interpreter used for the deployment, without the gas of the
    /// [check](Contract::gas_used).
    pub const fn gas_used(&self) -> Gas {
        self.gas_used
    }

    /// Returns the balance of the contract.
    pub const fn balance(&self) -> Qa {
        self.balance
    }

    /// Sets the balance of the contract.
    pub const fn set_balance(&mut self, balance: Qa) {
        self.balance = balance;
    }

    /// Returns the state that calls read and write. Other accounts belong in [`MemoryHost::accounts`], for contracts
    /// that read fields of other contracts or take values of address types.
    ///
    /// The chain id is 1. [`Call::block`] replaces the block number during each call. The contract itself is not among
    /// the accounts, so a check of the contract's own address against an address type fails. A call does not change the
    /// accounts, so the balance of a sender among them stays the same.
    pub const fn host_mut(&mut self) -> &mut MemoryHost {
        &mut self.host
    }

    /// Returns the value of a field, or `None` if the contract has no such field.
    pub fn field(&self, name: &str) -> Option<&Value> {
        self.host.fields.iter().find(|field| *field.name == *name).map(|field| &field.value)
    }

    /// Returns balance and fields as a JSON object. The fields have the order of their declarations.
    pub fn state_json(&self) -> String {
        let mut builder = Builder::new();
        builder.begin_object().member("_balance", self.balance.get());
        for declared in &self.contract.0.summary.fields {
            if let Some(value) = self.field(&declared.name) {
                builder.key(&declared.name).value(value, ListForm::Array);
            }
        }
        builder.end();
        builder.finish().root().compact().to_string()
    }

    /// Returns a call of a transition. [`Call::run`] runs it.
    pub fn call<'a>(&'a mut self, transition: &str, params: impl IntoParams) -> Call<'a> {
        Call {
            instance: self,
            transition: transition.into(),
            params: params.into_params(),
            sender: Address::new([1; 20]),
            origin: None,
            amount: Qa::ZERO,
            gas_limit: DEFAULT_GAS_LIMIT,
            block: CREATION_BLOCK + 1,
            observer: None,
        }
    }
}

impl Contract {
    fn settings(&self) -> Settings {
        Settings { rules: self.0.rules, ..Settings::default() }
    }
}

fn argument((name, value): (&str, Value)) -> Argument {
    Argument { name: name.into(), value }
}

/// Returns the fields of an account without code.
fn account(balance: Qa) -> Vec<StateField> {
    let nonce = Value::from(1_u64);
    let field = |name: &str, ty: Primitive, value| StateField { name: name.into(), ty: ty.into(), value };
    vec![
        field("_balance", Primitive::Uint(Width::W128), balance.into()),
        field("_nonce", Primitive::Uint(Width::W64), nonce),
    ]
}

/// Returns the gas that a successful run used, as a whole number: at least one.
fn used(limit: u64, left: Meter) -> Gas {
    Gas::new(limit.saturating_sub(left.gas_of_success(limit)))
}

/// A call of a transition that has not run yet.
#[must_use = "a call has no effect until `run`"]
pub struct Call<'a> {
    instance: &'a mut Instance,
    transition: Arc<str>,
    params: Params,
    sender: Address,
    origin: Option<Address>,
    amount: Qa,
    gas_limit: u64,
    block: u64,
    observer: Option<&'a mut dyn Observer>,
}

impl fmt::Debug for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("transition", &self.transition)
            .field("sender", &self.sender)
            .field("amount", &self.amount)
            .finish_non_exhaustive()
    }
}

impl<'a> Call<'a> {
    /// Sets the sender. Each of the 20 bytes of the default is 1.
    pub const fn sender(mut self, sender: Address) -> Self {
        self.sender = sender;
        self
    }

    /// Sets the signer of the transaction. The default is the sender. An origin that is neither the sender nor among
    /// the [accounts](MemoryHost::accounts) has a balance of 0 Qa.
    pub const fn origin(mut self, origin: Address) -> Self {
        self.origin = Some(origin);
        self
    }

    /// Sets the offered amount. The default is 0 Qa. A sender that is not among the [accounts](MemoryHost::accounts)
    /// has exactly this amount.
    pub const fn amount(mut self, amount: Qa) -> Self {
        self.amount = amount;
        self
    }

    /// Sets the gas limit. The default is [`DEFAULT_GAS_LIMIT`]. The largest limit is `u64::MAX / 8`, and a larger
    /// number has the same effect.
    pub const fn gas_limit(mut self, gas: u64) -> Self {
        self.gas_limit = if gas < LARGEST_GAS_LIMIT { gas } else { LARGEST_GAS_LIMIT };
        self
    }

    /// Sets the number of the current block. The default is 2. The deployment was in block 1. This number replaces the
    /// [block number of the host](MemoryHost::block_number).
    pub const fn block(mut self, block: u64) -> Self {
        self.block = block;
        self
    }

    /// Sends each statement to the observer, for example to a [`Trace`](super::Trace).
    pub fn observe(mut self, observer: &'a mut dyn Observer) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Runs the transition. If it succeeds, the instance has the new state and the new balance.
    ///
    /// # Errors
    ///
    /// [`CallError`]. The instance has then not changed.
    pub fn run(self) -> Result<CallOutcome, CallError> {
        let Self { instance, transition, params, gas_limit, .. } = self;
        let contract = instance.contract.clone();
        let compiled = &*contract.0;
        let declared = compiled.summary.transitions.iter().find(|declared| declared.name == transition);
        let declared = declared.ok_or_else(|| CallError::UnknownTransition(transition.to_string()))?;
        let (balance, amount) = (instance.balance, self.amount);
        if balance.get().checked_add(amount.get()).is_none() {
            return Err(CallError::Balance { balance, amount });
        }
        let origin = self.origin.unwrap_or(self.sender);
        let implicit = [
            ("_amount", Value::from(self.amount)),
            ("_origin", Value::from(origin)),
            ("_sender", Value::from(self.sender)),
        ];
        let mut entries: Vec<_> = implicit.map(argument).into();
        entries.extend(params.read(&declared.parameters, &compiled.data_types)?);
        let message = IncomingMessage { tag: transition, entries };

        let failed = |Failed { failure, gas }: Failed| {
            let gas_used = Gas::new(gas_limit.saturating_sub(gas.gas()));
            CallError::Failed { failure, gas_used }
        };
        let loaded = compiled.code.load(contract.settings(), Meter::with_limit(gas_limit)).map_err(failed)?;
        let mut host = MemoryHost { block_number: Some(BNum::from_u64(self.block)), ..instance.host.clone() };
        let mut added = Vec::new();
        for (address, balance) in [(self.sender, amount), (origin, Qa::ZERO)] {
            if let Entry::Vacant(place) = host.accounts.entry(address) {
                place.insert(account(balance));
                added.push(address);
            }
        }
        let outcome = loaded.call_observed(&instance.init, &message, balance.get(), &mut host, self.observer);
        let outcome = outcome.map_err(failed)?;
        let done = CallOutcome {
            accepted: outcome.accepted,
            balance: Qa::new(outcome.balance),
            messages: outcome.messages.iter().map(|message| OutMessage::of(message)).collect::<Result<_, _>>()?,
            events: outcome.events.iter().rev().map(|event| Event::of(event)).collect::<Result<_, _>>()?,
            gas_used: used(gas_limit, outcome.gas),
        };
        host.accounts.retain(|address, _| !added.contains(address));
        (instance.host, instance.balance) = (host, done.balance);
        Ok(done)
    }
}

/// The result of a successful call.
///
/// The gas in the receipt of a transaction is larger than [`gas_used`](Self::gas_used), which has only the gas of this
/// run. A node also charges for the start of the interpreter, for each byte of the message, and for the further calls
/// of the transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallOutcome {
    /// Whether the contract accepted the amount.
    pub accepted: bool,
    /// The balance of the contract. It includes an accepted amount, and excludes the amounts of sent messages.
    pub balance: Qa,
    /// The sent messages, the oldest first.
    pub messages: Vec<OutMessage>,
    /// The events, the oldest first.
    pub events: Vec<Event>,
    /// The gas that the interpreter used, in whole gas. The interpreter counts eighths of a gas, and a successful call
    /// uses at least one gas.
    pub gas_used: Gas,
}

impl CallOutcome {
    /// Returns the first event of this name, or `None` if the transition emitted no such event.
    pub fn event(&self, name: &str) -> Option<&Event> {
        self.events.iter().find(|event| *event.name == *name)
    }
}

/// A message that a contract sent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutMessage {
    /// Name of the transition to call. In a payment to an account without a contract, the tag has no effect.
    pub tag: Arc<str>,
    /// The account that gets the message.
    pub recipient: Address,
    /// The amount that the contract sends.
    pub amount: Qa,
    /// The parameters, in the order of the source.
    pub params: Vec<Argument>,
}

/// An event that a contract emitted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// Name of the event.
    pub name: Arc<str>,
    /// The parameters, in the order of the source.
    pub params: Vec<Argument>,
}

/// Returns the entries of a message, except the entries with these labels.
fn params_of(message: &Message, labels: &[&str]) -> Vec<Argument> {
    let entries = message.entries().iter().filter(|entry| !labels.contains(&&*entry.label));
    entries.map(|entry| Argument { name: Arc::clone(&entry.label), value: entry.value.clone() }).collect()
}

impl OutMessage {
    fn of(message: &Message) -> Result<Self, CallError> {
        let read = || {
            let tag = Arc::clone(message.get("_tag")?.as_string()?);
            let recipient = Address::try_from(message.get("_recipient")?).ok()?;
            let amount = Qa::try_from(message.get("_amount")?).ok()?;
            Some(Self { tag, recipient, amount, params: params_of(message, &["_tag", "_recipient", "_amount"]) })
        };
        read().ok_or_else(|| {
            CallError::Message(
                "expected _tag, _recipient and _amount, got a message that lacks one of them, or has another type"
                    .to_owned(),
            )
        })
    }

    /// Returns the value of a parameter, or `None` if the message has no such parameter.
    pub fn param(&self, name: &str) -> Option<&Value> {
        param(&self.params, name)
    }
}

impl Event {
    fn of(event: &Message) -> Result<Self, CallError> {
        let name = event.get("_eventname").and_then(Value::as_string);
        let name =
            name.ok_or_else(|| CallError::Message("expected _eventname, got a message without this entry".to_owned()))?;
        Ok(Self { name: Arc::clone(name), params: params_of(event, &["_eventname"]) })
    }

    /// Returns the value of a parameter, or `None` if the event has no such parameter.
    pub fn param(&self, name: &str) -> Option<&Value> {
        param(&self.params, name)
    }
}

fn param<'a>(params: &'a [Argument], name: &str) -> Option<&'a Value> {
    params.iter().find(|param| *param.name == *name).map(|param| &param.value)
}

fn write_params(params: &[Argument], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("(")?;
    for (index, Argument { name, value }) in params.iter().enumerate() {
        write!(f, "{}{name}: {value}", if index == 0 { "" } else { ", " })?;
    }
    f.write_str(")")
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        write_params(&self.params, f)
    }
}

impl fmt::Display for OutMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {} with {} Qa", self.tag, self.recipient, self.amount)?;
        write_params(&self.params, f)
    }
}
