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

/// The interface of a contract or library: parameters, fields, transitions, events and data types, as the Scilla
/// checker reports them. Types have the form in which Scilla prints them. The documentation of a part is the comments
/// directly before the part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ContractInterface"))]
pub struct ContractInterfaceJson {
    /// Data types that the contract defines or uses.
    #[serde(rename = "ADTs")]
    pub data_types: Vec<DataTypeJson>,
    /// Documentation of the contract or library; null if there is none.
    pub documentation: Option<String>,
    /// Events that the contract can emit.
    pub events: Vec<EventInfoJson>,
    /// Fields of the contract.
    pub fields: Vec<FieldInfoJson>,
    /// Whether this is the interface of a library, which has only data types.
    pub library: bool,
    /// Parameters that a deployment has to set.
    pub params: Vec<TypedNameJson>,
    /// Procedures: only components of the contract can call them.
    pub procedures: Vec<ComponentJson>,
    /// Major version of Scilla that the contract declares.
    pub scilla_major_version: String,
    /// Standards of tokens whose required fields and transitions the contract has. The node does not verify the
    /// behaviour of the contract.
    pub standards: Vec<TokenStandardJson>,
    /// Transitions: transactions and messages can call them.
    pub transitions: Vec<ComponentJson>,
    /// Name of the contract or library.
    #[serde(rename = "vname")]
    pub name: String,
}

/// A standard of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "TokenStandard"))]
pub enum TokenStandardJson {
    /// Non-fungible tokens, with the numbers of tokens in `owned_token_count`.
    #[serde(rename = "ZRC-1")]
    Zrc1,
    /// Fungible tokens, with the amounts in `balances`.
    #[serde(rename = "ZRC-2")]
    Zrc2,
    /// Non-fungible tokens, with the numbers of tokens in `balances`.
    #[serde(rename = "ZRC-6")]
    Zrc6,
}

/// A position in a source text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "SourcePosition"))]
pub struct SourcePositionJson {
    /// Column in bytes, from 1.
    pub column: u32,
    /// Line, from 1.
    pub line: u32,
}

/// A part of a source text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "SourceSpan"))]
pub struct SourceSpanJson {
    /// Position after the last character of the part.
    pub end: SourcePositionJson,
    /// Position of the first character of the part.
    pub start: SourcePositionJson,
}

/// The result of the check of a source text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ContractCheck"))]
pub struct ContractCheckJson {
    /// Errors, then warnings; at most 100.
    pub diagnostics: Vec<DiagnosticJson>,
    /// The interface; null if the text has an error. Data types of the text have the prefix `contract.` or `library.`
    /// instead of an address.
    pub interface: Option<ContractInterfaceJson>,
    /// Whether there are further diagnostics.
    pub truncated: bool,
}

/// An error or a warning about a source text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Diagnostic"))]
pub struct DiagnosticJson {
    /// Position after the wrong part; null if it is unknown.
    pub end: Option<SourcePositionJson>,
    /// The imported library with the problem; null for the text itself.
    pub file: Option<String>,
    /// Advice for the correction; null if there is none.
    pub help: Option<String>,
    /// The text of the error or warning.
    pub message: String,
    /// Further facts about the problem.
    pub notes: Vec<String>,
    /// Whether the problem is an error. A text with an error cannot be deployed.
    pub severity: SeverityJson,
    /// Position of the wrong part; null if it is unknown.
    pub start: Option<SourcePositionJson>,
}

/// The severity of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", schemars(rename = "Severity"))]
pub enum SeverityJson {
    /// The text cannot be deployed.
    Error,
    /// The text can be deployed.
    Warning,
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
    /// Documentation of the field; null if there is none.
    pub documentation: Option<String>,
    /// Type of the field.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Name of the field.
    #[serde(rename = "vname")]
    pub name: String,
}

/// A transition or procedure, with its parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ContractComponent"))]
pub struct ComponentJson {
    /// Documentation of the component; null if there is none.
    pub documentation: Option<String>,
    /// The parameters, in the order of the source.
    pub params: Vec<TypedNameJson>,
    /// The part of the source from the keyword to `end`.
    pub span: SourceSpanJson,
    /// Name of the component.
    #[serde(rename = "vname")]
    pub name: String,
}

/// An event, with its parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ContractEvent"))]
pub struct EventInfoJson {
    /// The parameters, in the order of the source.
    pub params: Vec<TypedNameJson>,
    /// Name of the event.
    #[serde(rename = "vname")]
    pub name: String,
}

/// A data type of Scilla.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "DataType"))]
pub struct DataTypeJson {
    /// Documentation of a data type of the contract or library itself; null if there is none.
    pub documentation: Option<String>,
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
