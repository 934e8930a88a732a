//! Contracts: init parameters, stored init data, code hash and storage keys.

/// A named and typed value: an init parameter, or a parameter of a message or event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContractParam {
    /// Name (`vname`).
    pub name: String,
    /// Type, as Scilla prints it (`type`).
    pub type_name: String,
    /// Value in Scilla's JSON form (`value`).
    pub value: serde_json::Value,
}
