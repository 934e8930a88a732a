//! Contracts: their code, state, interface and parameters.

use alloc::{string::String, vec::Vec};

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::text::{Dec, Hex};
use crate::{address::Address, contract::ContractParam, number::BlockNumber};

/// The source code of a contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ContractCode {
    /// Source code in Scilla.
    pub code: String,
}

/// A contract that an account deployed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct SmartContract {
    /// Address of the contract.
    pub address: Hex<Address>,
}

/// A page of the state of a contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "StatePage"))]
pub struct StatePageJson {
    /// Number of the Tx block. The page has the state after this block.
    pub block: Dec<BlockNumber>,
    /// The entries, in the byte order of their stored keys.
    pub entries: Vec<StateEntryJson>,
    /// The cursor of the next page; null on the last page.
    pub next: Option<String>,
}

/// A field of a contract, or an entry of a map field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "StateEntry"))]
pub struct StateEntryJson {
    /// Keys of nested maps as text without quotes, from the outermost map; empty for a whole field.
    pub indices: Vec<String>,
    /// The value in the JSON form of Scilla. An empty map is an object without members. A map that is not empty has one
    /// entry for each of its innermost values.
    pub value: Value,
    /// Name of the field.
    pub variable: String,
}

/// The interface of a contract: parameters, fields, transitions and events, as the Scilla checker reports them. Types
/// have the form in which Scilla prints them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ContractInterface"))]
pub struct ContractInterfaceJson {
    /// Data types that the contract defines or uses.
    #[serde(rename = "ADTs")]
    pub data_types: Vec<DataTypeJson>,
    /// Events that the contract can emit.
    pub events: Vec<ComponentJson>,
    /// Fields of the contract.
    pub fields: Vec<FieldInfoJson>,
    /// Parameters that a deployment has to set.
    pub params: Vec<TypedNameJson>,
    /// Procedures: only components of the contract can call them.
    pub procedures: Vec<ComponentJson>,
    /// Major version of Scilla that the contract declares.
    pub scilla_major_version: String,
    /// Transitions: transactions and messages can call them.
    pub transitions: Vec<ComponentJson>,
    /// Name of the contract.
    #[serde(rename = "vname")]
    pub name: String,
}

/// A name in a contract with its type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "TypedName"))]
pub struct TypedNameJson {
    /// Type, in the form in which Scilla prints it.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Name in the source of the contract.
    #[serde(rename = "vname")]
    pub name: String,
}

/// A field of a contract, with its type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "FieldInfo"))]
pub struct FieldInfoJson {
    /// Number of nested maps at the start of the type: 2 for `Map Uint32 (Map Uint32 String)`.
    pub depth: u32,
    /// Type of the field.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Name of the field.
    #[serde(rename = "vname")]
    pub name: String,
}

/// A transition, a procedure or an event, with its parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ContractComponent"))]
pub struct ComponentJson {
    /// The parameters, in the order of the source.
    pub params: Vec<TypedNameJson>,
    /// Name of the component or event.
    #[serde(rename = "vname")]
    pub name: String,
}

/// A data type of Scilla.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "DataType"))]
pub struct DataTypeJson {
    /// The constructors of the data type.
    #[serde(rename = "tmap")]
    pub constructors: Vec<ConstructorJson>,
    /// Name of the data type.
    #[serde(rename = "tname")]
    pub name: String,
    /// Type parameters of the data type.
    #[serde(rename = "tparams")]
    pub parameters: Vec<String>,
}

/// A constructor of a data type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "DataTypeConstructor"))]
pub struct ConstructorJson {
    /// Types of the arguments of the constructor.
    #[serde(rename = "argtypes")]
    pub arguments: Vec<String>,
    /// Name of the constructor.
    #[serde(rename = "cname")]
    pub name: String,
}

/// A Scilla value with its name and type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ContractParam"))]
pub struct ContractParamJson {
    /// Type, in the form in which Scilla prints it.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Value: text for numbers, strings and bytes; an array or object for other types.
    pub value: Value,
    /// Name of the parameter.
    #[serde(rename = "vname")]
    pub name: String,
}

impl From<ContractParam> for ContractParamJson {
    fn from(ContractParam { name, type_name, value }: ContractParam) -> Self {
        Self { type_name, value, name }
    }
}
