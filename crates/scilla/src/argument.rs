//! The inputs of a run: arguments and messages.

use std::sync::Arc;

use crate::{host::StateField, value::Value};

/// A value with the name of its parameter, as input of a deployment or of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Name of the parameter.
    pub name: Arc<str>,
    /// Value of the parameter.
    pub value: Value,
}

impl From<StateField> for Argument {
    /// Drops the type, because a check has already compared it with the value.
    fn from(StateField { name, value, ty: _ }: StateField) -> Self {
        Self { name, value }
    }
}

/// A message to a contract.
#[derive(Clone, Debug)]
pub struct IncomingMessage {
    /// Name of the called transition.
    pub tag: Arc<str>,
    /// `_amount`, `_origin`, `_sender` and the parameters of the transition, in the order of the message.
    pub entries: Vec<Argument>,
}
