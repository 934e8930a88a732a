//! Contracts, and their parameters: those of their creation, and those of their messages and events.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::text::{Dec, Hex};
use crate::{address::Address, contract::ContractParam, number::BlockNumber};

/// The program of a contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContractCode {
    /// Its text.
    pub code: String,
}

/// A contract of a user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SmartContract {
    /// Where it is.
    pub address: Hex<Address>,
}

/// A page of the state of a contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StatePage")]
pub struct StatePageJson {
    /// Number of the Tx block after which this is the state.
    pub block: Dec<BlockNumber>,
    /// The entries, in the order of the bytes of their stored keys.
    pub entries: Vec<StateEntryJson>,
    /// The cursor of the next page; null when this is the last.
    pub next: Option<String>,
}

/// A field of a contract, or an entry of its map.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StateEntry")]
pub struct StateEntryJson {
    /// Keys of the map, as text without quotes, from the outermost; empty for a whole field.
    pub indices: Vec<String>,
    /// The value in the JSON form of the contract language. A map that is empty is an object without members; any other
    /// map has an entry for each of its innermost values.
    pub value: Value,
    /// Name of the field.
    pub variable: String,
}

/// A named and typed value of the contract language.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ContractParam")]
pub struct ContractParamJson {
    /// Type, as the contract language prints it.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Value: text for numbers, strings and bytes, arrays and objects for the rest.
    pub value: Value,
    /// Name.
    #[serde(rename = "vname")]
    pub name: String,
}

impl From<ContractParam> for ContractParamJson {
    fn from(ContractParam { name, type_name, value }: ContractParam) -> Self {
        Self { type_name, value, name }
    }
}
