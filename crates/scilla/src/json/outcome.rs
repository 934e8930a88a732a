//! Results of a run as JSON.

use std::sync::Arc;

use super::{
    document::{Builder, Document},
    value::ListForm,
};
use crate::{host::StateField, value::Message, version::VERSION};

/// The result of a run of a contract.
#[derive(Clone, Debug)]
pub struct RunReport<'a> {
    /// The remaining gas. For a deployment, the number is in units, as in the reference; eight units are one gas.
    pub gas_remaining: u64,
    /// Whether the contract accepted the amount.
    pub accepted: bool,
    /// Messages in the order in which they were sent, or `None` for a deployment.
    pub messages: Option<&'a [Arc<Message>]>,
    /// Balance and fields after the run.
    pub states: &'a [StateField],
    /// The events, the newest first.
    pub events: &'a [Arc<Message>],
    /// JSON form of lists.
    pub lists: ListForm,
}

impl RunReport<'_> {
    /// Returns the report as JSON.
    pub fn to_json(&self) -> Document {
        let mut builder = Builder::new();
        builder.begin_object().member("scilla_major_version", VERSION).member("gas_remaining", self.gas_remaining);
        builder.member("_accepted", self.accepted).key("messages");
        match self.messages {
            None => drop(builder.null()),
            Some(messages) => {
                const LABELS: &[&str] = &["_tag", "_amount", "_recipient"];
                labelled(&mut builder, messages, LABELS, self.lists);
            }
        }
        builder.key("states").begin_array();
        for state in self.states {
            builder.begin_object().member("vname", &state.name).member("type", state.ty.global());
            builder.key("value").value(&state.value, self.lists).end();
        }
        builder.end().key("events");
        labelled(&mut builder, self.events, &["_eventname"], self.lists);
        builder.end();
        builder.finish()
    }
}

/// Returns the result of a message to a library. Such a message has no effect.
///
/// `units` is the remaining gas in units, as in the reference. Eight units are one gas.
pub fn library_message(units: u64) -> Document {
    let mut builder = Builder::new();
    builder.begin_object().member("gas_remaining", units).member("_accepted", false);
    builder.key("messages").begin_array().end().key("events").begin_array().end().end();
    builder.finish()
}

/// Returns the result of the deployment of a library.
pub fn library_deployment(gas_remaining: u64) -> Document {
    let mut builder = Builder::new();
    builder.begin_object().member("gas_remaining", gas_remaining).end();
    builder.finish()
}

/// Adds messages or events. The labels in `labels` come first, and all other entries are parameters.
fn labelled(builder: &mut Builder, messages: &[Arc<Message>], labels: &[&str], lists: ListForm) {
    builder.begin_array();
    for message in messages {
        builder.begin_object();
        for label in labels {
            if let Some(value) = message.get(label) {
                builder.key(label).value(value, lists);
            }
        }
        builder.key("params").begin_array();
        for entry in message.entries().iter().filter(|entry| !labels.contains(&&*entry.label)) {
            builder.begin_object().member("vname", &entry.label).member("type", entry.ty.global());
            builder.key("value").value(&entry.value, lists).end();
        }
        builder.end().end();
    }
    builder.end();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        types::{Primitive, Type, Width},
        value::{MessageEntry, Value},
    };

    fn entry(label: &str, ty: Primitive, value: Value) -> MessageEntry {
        MessageEntry { label: label.into(), ty: ty.into(), value }
    }

    #[test]
    fn outcome_of_a_run_has_the_form_of_the_reference() {
        let message = Message::new(vec![
            entry("a", Primitive::Uint(Width::W32), Value::from(1_u32)),
            entry("_recipient", Primitive::ByStrX(20), Value::bystrx([0x12])),
            entry("_tag", Primitive::String, Value::of_text("Go")),
            entry("_amount", Primitive::Uint(Width::W128), Value::from(7_u128)),
        ]);
        let event = Message::new(vec![entry("_eventname", Primitive::String, Value::of_text("E"))]);
        let ty = Type::list(Type::nat());
        let states = [StateField { name: "f".into(), value: Value::list(Type::nat(), []), ty }];
        let report = RunReport {
            gas_remaining: 5,
            accepted: true,
            messages: Some(&[Arc::new(message)]),
            states: &states,
            events: &[Arc::new(event)],
            lists: ListForm::Array,
        };
        assert_eq!(
            report.to_json().root().compact().to_string(),
            concat!(
                r#"{"scilla_major_version":"0","gas_remaining":"5","_accepted":"true","#,
                r#""messages":[{"_tag":"Go","_amount":"7","_recipient":"0x12","#,
                r#""params":[{"vname":"a","type":"Uint32","value":"1"}]}],"#,
                r#""states":[{"vname":"f","type":"List (Nat)","value":[]}],"#,
                r#""events":[{"_eventname":"E","params":[]}]}"#
            )
        );
        let deployment = RunReport { messages: None, accepted: false, events: &[], states: &[], ..report };
        assert_eq!(
            deployment.to_json().root().compact().to_string(),
            r#"{"scilla_major_version":"0","gas_remaining":"5","_accepted":"false","messages":null,"states":[],"events":[]}"#
        );
    }

    #[test]
    fn libraries_give_little() {
        assert_eq!(library_deployment(5).root().compact().to_string(), r#"{"gas_remaining":"5"}"#);
        assert_eq!(
            library_message(5).root().compact().to_string(),
            r#"{"gas_remaining":"5","_accepted":"false","messages":[],"events":[]}"#
        );
    }
}
