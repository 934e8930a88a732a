//! What a run gave out, as receipts show it.

use std::sync::Arc;

use serde_json::Value as Json;
use silica_protocol::{Address, ContractMessage, ContractParam, Qa, ReceiptError};
use silica_scilla::{
    eval::Outcome,
    json::ListForm,
    value::{Message, Value},
};

use super::outcome::Halt;

/// How deep values in messages and events may nest. Receipts are read back by a reader that has a limit.
const MAX_VALUE_DEPTH: usize = 100;

/// What a run gave out, in the form of receipts; `None` stands for what lacks a part.
pub(super) struct Effects {
    pub(super) events: Vec<Option<(String, Vec<ContractParam>)>>,
    pub(super) messages: Vec<Option<ContractMessage>>,
}

impl Effects {
    /// # Errors
    ///
    /// A value nests too deep for the documents of the chain.
    pub(super) fn of(outcome: &Outcome) -> Result<Self, Halt> {
        let event = |event: &Arc<Message>| {
            let params = params(event, &["_eventname"])?;
            Ok(text(event, "_eventname").map(|name| (name, params)))
        };
        let message = |message: &Arc<Message>| {
            let params = params(message, &["_tag", "_amount", "_recipient"])?;
            Ok(read_message(message, params))
        };
        Ok(Self {
            events: outcome.events.iter().map(event).collect::<Result<_, Halt>>()?,
            messages: outcome.messages.iter().map(message).collect::<Result<_, Halt>>()?,
        })
    }
}

fn read_message(message: &Message, params: Vec<ContractParam>) -> Option<ContractMessage> {
    let amount = message.get("_amount")?.as_integer()?.to_u128()?;
    let recipient = message.get("_recipient")?.as_bytes().and_then(|bytes| <[u8; 20]>::try_from(&**bytes).ok())?;
    let tag = text(message, "_tag")?;
    Some(ContractMessage { amount: Qa::new(amount), recipient: Address::new(recipient), tag, params })
}

fn text(message: &Message, label: &str) -> Option<String> {
    if let Value::String(text) = message.get(label)? { Some(text.to_string()) } else { None }
}

/// The entries of a message besides its labels.
fn params(message: &Message, labels: &[&str]) -> Result<Vec<ContractParam>, Halt> {
    let entries = message.entries().iter().filter(|entry| !labels.contains(&&*entry.label));
    let param = |entry: &silica_scilla::value::MessageEntry| {
        let value = json(&entry.value).ok_or(Halt::with(ReceiptError::JsonOutputCorrupted))?;
        Ok(ContractParam { name: entry.label.to_string(), type_name: entry.kind.global().to_string(), value })
    };
    entries.map(param).collect()
}

/// A value as it stands in receipts, or `None` when it nests too deep.
fn json(value: &Value) -> Option<Json> {
    // Nearly all are strings, which need no document.
    if let Some(text) = value.json_string() {
        return Some(Json::String(text));
    }
    let text = value.to_json(ListForm::Array).root().compact().to_string();
    serde_json::from_str(&text).ok().filter(|value| is_shallow(value, MAX_VALUE_DEPTH))
}

/// Whether a value nests no deeper than so many containers. It was read by a reader with a limit.
fn is_shallow(value: &Json, depth: usize) -> bool {
    let below = |value: &Json| depth.checked_sub(1).is_some_and(|depth| is_shallow(value, depth));
    match value {
        Json::Array(elements) => elements.iter().all(below),
        Json::Object(members) => members.values().all(below),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => true,
    }
}
