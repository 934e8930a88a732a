//! Effects of statements: accepted amounts, messages, events and exceptions.

use std::{collections::BTreeSet, sync::Arc};

use silica_protocol::Address;

use super::{
    super::machine::{Evaluation, failure, internal},
    Execution, length,
};
use crate::{
    code::{ComponentCode, Place, Variable},
    host::BALANCE,
    report::{Entry, Failure},
    rules::Exceptions,
    types::{Primitive, Type},
    value::{Integer, Message, Value},
    work::weight,
};

/// Bytes of completed procedures that an exception lists without regard to gas.
const FREE_LISTED: u64 = 16_384;
/// Further bytes for each unit of the interpreter that the run used. A completed procedure has used at least one unit.
const LISTED_PER_UNIT: u64 = 128;
/// Largest number of bytes that an exception lists.
const MOST_LISTED: u64 = 10_000_000;
/// Bytes of an entry in a receipt, in addition to the name.
const LISTED_ENTRY: u64 = 64;

impl<'c> Execution<'_, 'c, '_> {
    /// Accepts the amount of the message. A second call has no effect.
    pub(super) fn accept(&mut self) -> Evaluation<()> {
        if self.accepted {
            return Ok(());
        }
        let [sender, _, amount] = self.machine.message.as_slice() else { return Err(internal("no message")) };
        let bytes = sender.as_bytes().and_then(|bytes| Address::try_from(&**bytes).ok());
        let amount = amount.as_integer().and_then(Integer::to_u128);
        let (Some(sender), Some(amount)) = (bytes, amount) else {
            let text = self.machine.settings.print(sender);
            return Err(failure(format!("Incorrect type of _sender in environment: {text}")));
        };
        let balance = self.remote_load(&sender, "_balance", None)?;
        let Some(balance) = balance.as_integer().and_then(Integer::to_u128) else {
            let text = self.machine.settings.print(&balance);
            return Err(failure(format!("Unrecognized balance literal at sender: {text}")));
        };
        if amount > balance {
            let text = "Insufficient sender balance for acceptance: Incoming vs sender_balance";
            return Err(failure(format!("{text}: {amount} vs {balance}")));
        }
        self.balance = self.balance.wrapping_add(amount);
        self.accepted = true;
        Ok(())
    }

    pub(super) fn send(&mut self, messages: &Value) -> Evaluation<()> {
        length(messages)?;
        for message in messages.elements() {
            let Value::Message(sent) = message else {
                let text = self.machine.settings.print(message);
                return Err(failure(format!("Literal is not a message, cannot be sent: {text}")));
            };
            if !has_each_once(sent, &["_tag", "_amount", "_recipient"]) {
                let text = self.machine.settings.print(message);
                let ty = "Message is missing a mandatory field or has duplicate fields";
                return Err(failure(format!("{ty}: {text}")));
            }
            self.messages.push(Arc::clone(sent));
        }
        Ok(())
    }

    pub(super) fn event(&mut self, event: &Value) -> Evaluation<()> {
        let text = || self.machine.settings.print(event);
        let Value::Message(created) = event else {
            return Err(failure(format!("Incorrect event parameter(s): {}", text())));
        };
        if !has_each_once(created, &["_eventname"]) {
            let ty = "Event is missing a mandatory field or has duplicate fields";
            return Err(failure(format!("{ty}: {}", text())));
        }
        self.events.push(Arc::clone(created));
        Ok(())
    }

    /// Returns the failure of an exception, with the components that the rules list.
    pub(super) fn throw(&mut self, exception: Option<Variable>, place: Place) -> Evaluation<Failure> {
        let message = if let Some(exception) = exception {
            let value = self.charge_size(exception, 0, place)?;
            format!("Exception thrown: {}", self.machine.settings.print(&value))
        } else {
            self.charge(1, place)?;
            "Exception thrown".to_owned()
        };
        let bytes = (message.len() as u64).saturating_mul(weight::JSON_BYTE);
        self.machine.gas.spend(bytes).map_err(|_| self.out_of_gas(place))?;
        let exception = Failure::of(Entry::at(self.location(place), message));
        Ok(match self.machine.settings.rules.exceptions() {
            Exceptions::CallStack => {
                self.running.iter().rev().map(|component| self.raised(component)).fold(exception, Failure::followed_by)
            }
            Exceptions::CompletedProcedures => {
                let listed = self.listed();
                let bytes: u64 = listed.iter().map(|component| bytes_of(component)).sum();
                self.machine.gas.spend(bytes.saturating_mul(weight::JSON_BYTE)).map_err(|_| self.out_of_gas(place))?;
                let raised = |component| self.raised(component);
                let transition = self.running.first();
                let listed = listed.into_iter().chain(transition.copied());
                listed.map(raised).fold(exception, Failure::followed_by)
            }
        })
    }

    fn raised(&self, component: &ComponentCode) -> Entry {
        Entry::at(self.location(component.place), format!("Raised from {}", component.name.as_written()))
    }

    /// Returns the completed procedures, the newest first, up to the limit for the gas used.
    fn listed(&self) -> Vec<&'c ComponentCode> {
        let used = self.units.saturating_sub(self.machine.gas.units());
        let mut left = used.saturating_mul(LISTED_PER_UNIT).saturating_add(FREE_LISTED).min(MOST_LISTED);
        let fits =
            |component: &&&'c ComponentCode| left.checked_sub(bytes_of(component)).map(|rest| left = rest).is_some();
        self.completed.iter().rev().take_while(fits).copied().collect()
    }
}

/// Returns the bytes that a component takes in the list of an exception.
fn bytes_of(component: &ComponentCode) -> u64 {
    LISTED_ENTRY.saturating_add(component.name.base().len() as u64)
}

/// Returns whether a message has each of these labels, and no label twice.
fn has_each_once(message: &Message, labels: &[&str]) -> bool {
    let mut seen = BTreeSet::new();
    labels.iter().all(|label| message.get(label).is_some())
        && message.entries().iter().all(|entry| seen.insert(&*entry.label))
}

/// Returns the sum of the amounts of messages. The sum wraps at 128 bits, as in the reference.
pub(in super::super) fn total_amount(messages: &[Arc<Message>]) -> Evaluation<u128> {
    messages.iter().try_fold(0, |sum: u128, message| {
        let amount = message.get("_amount").and_then(Value::as_integer);
        let amount = amount.filter(|amount| Type::from(Primitive::from(amount.ty())) == BALANCE);
        let amount =
            amount.and_then(Integer::to_u128).ok_or_else(|| failure("Message contents have no \"_amount\" field"))?;
        Ok(sum.wrapping_add(amount))
    })
}
