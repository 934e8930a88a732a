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

/// What a contract offers: its parameters, fields, transitions and events, as the checker of the contract language tells it.
/// Types are written as the contract language prints them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ContractInterface")]
pub struct ContractInterfaceJson {
    /// Data types that it defines or uses.
    #[serde(rename = "ADTs")]
    pub data_types: Vec<DataTypeJson>,
    /// Events that it may write.
    pub events: Vec<ComponentJson>,
    /// Fields.
    pub fields: Vec<FieldInfoJson>,
    /// Parameters of the deployment.
    pub params: Vec<TypedNameJson>,
    /// What only the contract itself can call.
    pub procedures: Vec<ComponentJson>,
    /// Version of the contract language.
    pub scilla_major_version: String,
    /// What messages can call.
    pub transitions: Vec<ComponentJson>,
    /// Name of the contract.
    #[serde(rename = "vname")]
    pub name: String,
}

/// A name and its type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TypedName")]
pub struct TypedNameJson {
    /// The type.
    #[serde(rename = "type")]
    pub type_name: String,
    /// The name.
    #[serde(rename = "vname")]
    pub name: String,
}

/// A field of a contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FieldInfo")]
pub struct FieldInfoJson {
    /// How many maps lie within each other, with which its type begins.
    pub depth: u32,
    /// Its type.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Its name.
    #[serde(rename = "vname")]
    pub name: String,
}

/// A transition, a procedure or an event, and its parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ContractComponent")]
pub struct ComponentJson {
    /// Its parameters, in their order.
    pub params: Vec<TypedNameJson>,
    /// Its name.
    #[serde(rename = "vname")]
    pub name: String,
}

/// A data type of the contract language.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DataType")]
pub struct DataTypeJson {
    /// Its constructors.
    #[serde(rename = "tmap")]
    pub constructors: Vec<ConstructorJson>,
    /// Its name.
    #[serde(rename = "tname")]
    pub name: String,
    /// Its type parameters.
    #[serde(rename = "tparams")]
    pub parameters: Vec<String>,
}

/// A constructor of a data type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DataTypeConstructor")]
pub struct ConstructorJson {
    /// The types of its arguments.
    #[serde(rename = "argtypes")]
    pub arguments: Vec<String>,
    /// Its name.
    #[serde(rename = "cname")]
    pub name: String,
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
