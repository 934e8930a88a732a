//! Contracts, and their parameters: those of their creation, and those of their messages and events.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::text::Hex;
use crate::{address::Address, contract::ContractParam};

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
