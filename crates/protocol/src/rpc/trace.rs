//! Traces: the steps of a transaction in contracts, for `silica_traceTransaction` and `silica_traceCall`.

use alloc::{string::String, vec::Vec};

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    receipt::ReceiptJson,
    simulation::{AccountChangeJson, SimulationJson},
    text::{Dec, Hex},
};
use crate::{address::Address, amount::Qa, gas::Gas, hash::TxHash, number::BlockNumber};

/// The trace of a transaction in a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "TransactionTrace"))]
pub struct TransactionTraceJson {
    /// Number of the Tx block with the transaction.
    pub block: Dec<BlockNumber>,
    /// The call of a contract, with all calls that it causes; null for payments and deployments.
    pub call: Option<TracedCallJson>,
    /// The accounts that changed, by address. Variables of contracts are in the order of names and keys.
    pub changes: Vec<AccountChangeJson>,
    /// Hash of the transaction.
    pub hash: Hex<TxHash>,
    /// The place of the page in the trace; absent for a request without options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<TracePageJson>,
    /// The receipt of the transaction.
    pub receipt: ReceiptJson,
    /// Whether the trace omits statements or values because of its limits.
    pub truncated: bool,
}

/// The place of a page in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", schemars(rename = "TracePage"))]
pub struct TracePageJson {
    /// `fromStep` of the next page; null on the last page.
    pub next_step: Option<u64>,
    /// Number of statements of the whole trace.
    pub steps: u64,
}

/// The trace of a simulated transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "CallTrace"))]
pub struct CallTraceJson {
    /// The call of a contract, with all calls that it would cause; null for payments and deployments.
    pub call: Option<TracedCallJson>,
    /// The result of the simulated transaction.
    pub simulation: SimulationJson,
    /// Whether the trace omits statements or values because of its limits.
    pub truncated: bool,
}

/// A call of a contract, or a message of a contract that caused no run. Such a message has no tag, goes to an account
/// without a contract, or was not delivered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "TracedCall"))]
pub struct TracedCallJson {
    /// Money of the call, in Qa.
    pub amount: Dec<Qa>,
    /// The messages that the contract sent, in order, each with the calls that it caused.
    pub calls: Vec<Self>,
    /// The parameters of the message. Deeply nested values are text. Null if the parameters are too large for a trace.
    pub params: Value,
    /// Address of the called contract or account.
    pub recipient: Hex<Address>,
    /// The run of the contract; null if the message caused no run.
    pub run: Option<TracedRunJson>,
    /// Address of the account or contract that sent the message.
    pub sender: Hex<Address>,
    /// The tag of the message, even if the message caused no run.
    pub tag: String,
}

/// A run of the interpreter for one contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", schemars(rename = "TracedRun"))]
pub struct TracedRunJson {
    /// Whether the contract accepted the money.
    pub accepted: bool,
    /// Whether the run completed without an error.
    pub completed: bool,
    /// Gas that was left after the run, before the calls that it caused, in gas units.
    pub gas_after: Dec<Gas>,
    /// Gas that was left before the run, in gas units.
    pub gas_before: Dec<Gas>,
    /// The statements in the order of their execution.
    pub steps: Vec<TracedStepJson>,
}

/// An executed statement. A `match` or `forall` is a statement itself, and its inner statements follow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", schemars(rename = "TracedStep"))]
pub struct TracedStepJson {
    /// The variable that the statement bound; null if it bound none or failed.
    pub bound: Option<TracedValueJson>,
    /// Column in the source, in bytes from 1.
    pub column: u32,
    /// Name of the transition or procedure with the statement.
    pub component: String,
    /// Number of active components: 1 in the transition, and one more in each called procedure.
    pub depth: usize,
    /// Whether the statement failed, which ended the run.
    pub failed: bool,
    /// Line in the source of the contract, from 1.
    pub line: u32,
    /// The source of the statement, up to the end of its first line.
    pub text: String,
    /// Interpreter units that were left after the statement. Eight units are one gas.
    pub units_after: u64,
    /// Interpreter units that were left before the statement.
    pub units_before: u64,
    /// The variables that the statement used, in the order of the source.
    pub used: Vec<TracedValueJson>,
}

/// A variable of a statement, with its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "TracedValue"))]
pub struct TracedValueJson {
    /// Name of the variable in the source.
    pub name: String,
    /// The value in the JSON form of Scilla. A message is an object of its entries. A deeply nested value is the text
    /// of this JSON. Null if the value is too large for a trace.
    pub value: Option<Value>,
}
