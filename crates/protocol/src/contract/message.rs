//! The message of a call, and the builder of init data.

use alloc::{string::String, vec::Vec};
use core::fmt;

use serde_json::{Value, json};

use super::{ContractParam, InitData};

/// The message of a call: the name of a transition and its parameters. Its text is the JSON of the `data` member of a
/// transaction.
///
/// # Examples
///
/// ```
/// use silica_protocol::TransitionCall;
/// let call = TransitionCall::new("Burn").param("amount", "Uint128", "5");
/// let json = r#"{"_tag":"Burn","params":[{"type":"Uint128","value":"5","vname":"amount"}]}"#;
/// assert_eq!(call.to_string(), json);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransitionCall {
    transition: String,
    params: Vec<ContractParam>,
}

impl TransitionCall {
    /// Begins the call of the transition with this name.
    pub fn new(transition: impl Into<String>) -> Self {
        Self { transition: transition.into(), params: Vec::new() }
    }

    /// Adds a parameter. The value has the JSON form of Scilla, in which integers are strings.
    #[must_use]
    pub fn param(mut self, name: impl Into<String>, type_name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.params.push(ContractParam::new(name, type_name, value));
        self
    }

    /// Adds parameters.
    #[must_use]
    pub fn params(mut self, params: impl IntoIterator<Item = ContractParam>) -> Self {
        self.params.extend(params);
        self
    }
}

impl fmt::Display for TransitionCall {
    /// Writes JSON without spaces.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let params: Value = self.params.iter().map(ContractParam::to_json).collect();
        json!({ "_tag": self.transition, "params": params }).fmt(f)
    }
}

/// The parameters of a deployment before they are complete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct InitDataBuilder {
    params: Vec<ContractParam>,
}

impl InitDataBuilder {
    /// Adds an init parameter. The value has the JSON form of Scilla, in which integers are strings.
    pub fn param(mut self, name: impl Into<String>, type_name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.params.push(ContractParam::new(name, type_name, value));
        self
    }

    /// Adds init parameters.
    pub fn params(mut self, params: impl IntoIterator<Item = ContractParam>) -> Self {
        self.params.extend(params);
        self
    }

    /// Returns the init data. Unless a parameter has the name `_scilla_version`, the first element is this parameter,
    /// with the version 0.
    pub fn build(self) -> InitData {
        let version = ContractParam::new("_scilla_version", "Uint32", "0");
        let is_given = self.params.iter().any(|param| param.name == version.name);
        let params = (!is_given).then_some(version).into_iter().chain(self.params);
        InitData { array: params.map(|param| param.to_json()).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn init_data_have_the_version_of_the_language() {
        let built = InitData::builder().param("owner", "String", "me").build();
        let names: Vec<_> = built.params().into_iter().map(|param| param.name).collect();
        assert_eq!(names, ["_scilla_version", "owner"]);
        assert_eq!(InitData::parse(&built.to_string()), Ok(built));
        let other = InitData::builder().param("_scilla_version", "Uint32", "1").build();
        assert_eq!(other.params(), [ContractParam::new("_scilla_version", "Uint32", "1")]);
    }

    #[test]
    fn text_of_a_call_is_escaped() {
        let call = TransitionCall::new("a\"b").param("c", "String", "d\n");
        let json: Value = serde_json::from_str(&call.to_string()).unwrap();
        assert_eq!(json["_tag"], "a\"b");
        assert_eq!(json["params"][0], json!({ "vname": "c", "type": "String", "value": "d\n" }));
    }
}
