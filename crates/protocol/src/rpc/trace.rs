//! The steps of a transaction in contracts, statement by statement: results of `silica_traceTransaction` and
//! `silica_traceCall`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    receipt::ReceiptJson,
    simulation::{AccountChangeJson, SimulationJson},
    text::{Dec, Hex},
};
use crate::{address::Address, amount::Qa, gas::Gas, hash::TxHash, number::BlockNumber};

/// What a transaction of a block did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TransactionTrace")]
pub struct TransactionTraceJson {
    /// Number of the Tx block that holds it.
    pub block: Dec<BlockNumber>,
    /// The call of a contract, with all that followed from it; null for payments and deployments.
    pub call: Option<TracedCallJson>,
    /// The accounts that changed, by address, with variables of contracts by name and keys.
    pub changes: Vec<AccountChangeJson>,
    /// The transaction.
    pub hash: Hex<TxHash>,
    /// What became of it.
    pub receipt: ReceiptJson,
    /// Whether statements or values were left out, since there are too many.
    pub truncated: bool,
}

/// What a simulated transaction would do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CallTrace")]
pub struct CallTraceJson {
    /// The call of a contract, with all that would follow from it; null for payments and deployments.
    pub call: Option<TracedCallJson>,
    /// What would become of the transaction.
    pub simulation: SimulationJson,
    /// Whether statements or values were left out, since there are too many.
    pub truncated: bool,
}

/// A call of a contract, or a message of a contract upon which nothing ran: it was for an account that is none, had no tag, or
/// was not delivered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TracedCall")]
pub struct TracedCallJson {
    /// Money that came with it, in Qa.
    pub amount: Dec<Qa>,
    /// The messages that the contract sent, in order, each with what followed from it.
    pub calls: Vec<Self>,
    /// The parameters, as in the message, with values that nest deep as text; null when they are too large for a trace.
    pub params: Value,
    /// Who was called.
    pub recipient: Hex<Address>,
    /// What was run; null if nothing was.
    pub run: Option<TracedRunJson>,
    /// Who called.
    pub sender: Hex<Address>,
    /// The tag of the message, whether or not anything ran.
    pub tag: String,
}

/// A run of a contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "TracedRun")]
pub struct TracedRunJson {
    /// Whether the contract accepted the money.
    pub accepted: bool,
    /// Whether it ran to its end.
    pub completed: bool,
    /// Gas that was left after it, without the calls that followed.
    pub gas_after: Dec<Gas>,
    /// Gas that was left before it.
    pub gas_before: Dec<Gas>,
    /// The statements in the order of their execution.
    pub steps: Vec<TracedStepJson>,
}

/// A statement that was executed. Of a `match` and a `forall` this is the beginning; the statements within follow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "TracedStep")]
pub struct TracedStepJson {
    /// What it bound; null if nothing, and where it failed.
    pub bound: Option<TracedValueJson>,
    /// Column of the source, in bytes from 1.
    pub column: u32,
    /// The transition or procedure that it is part of.
    pub component: String,
    /// How many components ran: 1 in the transition itself, one more in each procedure.
    pub depth: usize,
    /// Whether it failed, which ended the run.
    pub failed: bool,
    /// Line of the source of the contract, from 1.
    pub line: u32,
    /// The source of the statement, up to the end of its line.
    pub text: String,
    /// The interpreter's units of gas that were left after it, of which eight are one gas.
    pub units_after: u64,
    /// The units that were left before it.
    pub units_before: u64,
    /// The variables that it used, in the order of the text.
    pub used: Vec<TracedValueJson>,
}

/// A variable and its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TracedValue")]
pub struct TracedValueJson {
    /// Its name in the source.
    pub name: String,
    /// The value in the JSON form of the contract language, a message being an object of its entries; the text of that
    /// where it nests deep; null when it is too large for a trace.
    pub value: Option<Value>,
}
