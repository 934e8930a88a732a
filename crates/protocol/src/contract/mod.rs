//! Contracts: init data with their stored form, code hash, and the keys of contract storage.

mod map_key;
mod message;

use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::{borrow::Borrow, fmt, str::FromStr};

use serde_json::{Value, json};

pub use self::{
    map_key::{MapKey, MapKeyError},
    message::{InitDataBuilder, TransitionCall},
};
use crate::{
    address::Address,
    hash::{CodeHash, VariableHash, sha256},
    number::BlockNumber,
    styled_json::to_styled_json,
};

/// A Scilla value with its name and type: an init parameter, or a parameter of a message or event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContractParam {
    /// Name of the parameter (`vname`).
    pub name: String,
    /// Type, in the form in which Scilla prints it (`type`).
    pub type_name: String,
    /// Value in the JSON form of Scilla (`value`).
    pub value: Value,
}

impl ContractParam {
    /// Creates a parameter. The value has the JSON form of Scilla, in which integers are strings.
    pub fn new(name: impl Into<String>, type_name: impl Into<String>, value: impl Into<Value>) -> Self {
        Self { name: name.into(), type_name: type_name.into(), value: value.into() }
    }

    fn to_json(&self) -> Value {
        json!({ "vname": self.name, "type": self.type_name, "value": self.value })
    }

    /// Reads an object with `vname`, `type` and `value`, and ignores other members. The error is the name of the
    /// missing or invalid member.
    pub(crate) fn from_json(value: &Value) -> Result<Self, &'static str> {
        let text = |member| value.get(member).and_then(Value::as_str).map(str::to_owned);
        Ok(Self {
            name: text("vname").ok_or("vname")?,
            type_name: text("type").ok_or("type")?,
            value: value.get("value").cloned().ok_or("value")?,
        })
    }
}

/// The init data of a contract or library: a JSON array of parameters.
///
/// A deployment contains the array of its sender. The node adds two parameters and serialises the array again. The code
/// hash covers this second array, and the contract runs with this array.
///
/// # Examples
///
/// ```
/// use silica_protocol::{Address, BlockNumber, InitData};
/// let sent = InitData::parse(r#"[{"vname":"_scilla_version","type":"Uint32","value":"0"}]"#)?;
/// let stored = sent.deployed(BlockNumber::new(100), &Address::ZERO);
/// let names: Vec<_> = stored.params().into_iter().map(|param| param.name).collect();
/// assert_eq!(names, ["_scilla_version", "_creation_block", "_this_address"]);
/// # Ok::<(), silica_protocol::InitDataError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitData {
    /// The elements of the array, with their additional members. The code hash covers the text of these members too.
    array: Value,
}

/// Reason why text is not the init data of a contract.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InitDataError {
    /// The text is not JSON.
    #[error("init data is not JSON: {reason}")]
    Json {
        /// The error of the JSON parser.
        reason: String,
    },
    /// The text is JSON, but not an array.
    #[error("init data: expected an array, got {got}")]
    NotArray {
        /// The JSON type of the given value.
        got: &'static str,
    },
    /// An element lacks a member, or the member has the wrong type.
    #[error("init data: element {index} has no valid {member}")]
    Element {
        /// Position of the element, counted from 0.
        index: usize,
        /// The name of the member.
        member: &'static str,
    },
}

impl InitData {
    /// Begins init data without parameters.
    pub fn builder() -> InitDataBuilder {
        InitDataBuilder::default()
    }

    /// Reads a JSON array of parameters.
    ///
    /// # Errors
    ///
    /// [`InitDataError`] if the text is not a JSON array, or an element is not a parameter.
    pub fn parse(text: &str) -> Result<Self, InitDataError> {
        let array: Value =
            serde_json::from_str(text).map_err(|source| InitDataError::Json { reason: source.to_string() })?;
        let elements = array.as_array().ok_or_else(|| InitDataError::NotArray { got: kind_of(&array) })?;
        for (index, element) in elements.iter().enumerate() {
            ContractParam::from_json(element).map_err(|member| InitDataError::Element { index, member })?;
        }
        Ok(Self { array })
    }

    /// Returns the parameters, in the order of the array.
    #[expect(clippy::missing_panics_doc, reason = "it does not panic")]
    pub fn params(&self) -> Vec<ContractParam> {
        let param = |element| ContractParam::from_json(element).expect("every element was read as a parameter before");
        self.array.as_array().into_iter().flatten().map(param).collect()
    }

    /// Adds the two parameters of a deployment: `_creation_block`, the number of the block in production, and
    /// `_this_address`, the address of the new contract.
    #[must_use]
    pub fn deployed(mut self, creation_block: BlockNumber, contract: &Address) -> Self {
        self.array.as_array_mut().into_iter().for_each(|elements| {
            elements.extend([
                json!({ "vname": "_creation_block", "type": "BNum", "value": creation_block.to_string() }),
                json!({ "vname": "_this_address", "type": "ByStr20", "value": format!("0x{contract}") }),
            ]);
        });
        self
    }

    /// Returns the text of the init data in the form that the code hash covers (Reference: formats#code-hash,
    /// formats#styled-json).
    pub fn to_styled_json(&self) -> String {
        to_styled_json(&self.array)
    }
}

impl FromStr for InitData {
    type Err = InitDataError;

    /// Reads a JSON array of parameters, as [`InitData::parse`] does.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl fmt::Display for InitData {
    /// Writes JSON without spaces, for the `data` member of a deployment.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.array.fmt(f)
    }
}

const fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

impl CodeHash {
    /// Returns the code hash of a contract, from its code and the text of its stored init data.
    pub fn of(code: &str, stored_init_data: &str) -> Self {
        Self::new(sha256(&[code.as_bytes(), stored_init_data.as_bytes()]))
    }
}

/// The storage key of an entry of contract storage. It has the address of the contract, the name of the variable, and
/// the keys of maps, each with a separator at its end.
///
/// The SHA-256 of the storage key is the key of the entry in the storage trie, and the variable hash of a state proof.
/// A state delta names its changed entries by their storage keys.
///
/// # Examples
///
/// ```
/// use silica_protocol::{Address, MapKey, StorageKey};
/// let contract: Address = "6d84363526a2d764835f8cf52dfeefe80a360fac".parse()?;
/// let key = StorageKey::map_entry(&contract, "zilToPolyTxHashMap", [MapKey::uint(0)]);
/// assert_eq!(
///     key.variable_hash().to_string(),
///     "a0bd91de66d97e6930118179ba4f1836c366c4cb3309a6b354d26f52abb2aac6",
/// );
/// # Ok::<(), silica_protocol::HexError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StorageKey(String);

impl StorageKey {
    /// The character after each part of a key. JSON text escapes this character, and names cannot contain it.
    pub const SEPARATOR: char = '\u{16}';
    /// The stored value of an empty map.
    pub const EMPTY_MAP: [u8; 2] = [0x12, 0];

    /// Returns the key of a field. The keys of all entries in a map begin with the key of its field.
    pub fn field(contract: &Address, name: &str) -> Self {
        let mut key = Self(contract.to_string());
        key.0.push(Self::SEPARATOR);
        key.with_part(name)
    }

    /// Returns the key of an entry of a map field. Nested maps have several keys, the outermost first.
    pub fn map_entry(contract: &Address, field: &str, keys: impl IntoIterator<Item: Borrow<MapKey>>) -> Self {
        keys.into_iter().fold(Self::field(contract, field), |key, part| key.with_part(part.borrow().as_str()))
    }

    fn with_part(mut self, part: &str) -> Self {
        self.0.push_str(part);
        self.0.push(Self::SEPARATOR);
        self
    }

    /// Returns the key of the entry with the address of the contract. This entry makes the storage root of each
    /// contract unique.
    pub fn address(contract: &Address) -> Self {
        Self::field(contract, "_addr")
    }

    /// Returns the key of the entry with the version of Scilla.
    pub fn version(contract: &Address) -> Self {
        Self::field(contract, "_version")
    }

    /// Returns the key of the entry with the map depth of a field.
    pub fn depth(contract: &Address, field: &str) -> Self {
        Self::metadata(contract, "_depth", [field])
    }

    /// Returns the key of the entry with the type of a field.
    pub fn type_of(contract: &Address, field: &str) -> Self {
        Self::metadata(contract, "_type", [field])
    }

    /// Returns the key of an entry that the node writes in addition to the fields. Its parts are names of fields, which
    /// have no quotes.
    pub fn metadata<'a>(contract: &Address, name: &str, fields: impl IntoIterator<Item = &'a str>) -> Self {
        fields.into_iter().fold(Self::field(contract, name), Self::with_part)
    }

    /// Returns the key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the address of the contract; `None` if the text of the key does not begin with an address.
    pub fn contract(&self) -> Option<Address> {
        self.0.split_once(Self::SEPARATOR)?.0.parse().ok()
    }

    /// Returns the key of the entry in the storage trie.
    pub fn variable_hash(&self) -> VariableHash {
        VariableHash::new(sha256(&[self.0.as_bytes()]))
    }

    /// Wraps the text of a key without a check.
    pub const fn from_text(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Display for StorageKey {
    /// Writes the key with the visible character `␖` in place of each separator.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.replace(Self::SEPARATOR, "␖"))
    }
}

/// Returns the value of a storage entry as JSON. An empty map is an object without members. A value that is not JSON,
/// or has more levels than the JSON parser permits, is a string.
pub fn stored_value(value: &[u8]) -> Value {
    if value == StorageKey::EMPTY_MAP {
        return json!({});
    }
    serde_json::from_slice(value).unwrap_or_else(|_| Value::String(String::from_utf8_lossy(value).into_owned()))
}

/// Returns the text of a map key, without quotes, from its part of a storage key. Returns the name of a field
/// unchanged.
pub fn index_text(part: &str) -> String {
    serde_json::from_str(part).unwrap_or_else(|_| part.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_refused(text: &str, expected: &InitDataError) {
        assert_eq!(InitData::parse(text).as_ref(), Err(expected));
    }

    #[test]
    fn init_data_is_an_array_of_parameters() {
        assert!(matches!(InitData::parse(""), Err(InitDataError::Json { .. })));
        assert!(matches!(InitData::parse("[] x"), Err(InitDataError::Json { .. })));
        check_refused("null", &InitDataError::NotArray { got: "null" });
        check_refused("{}", &InitDataError::NotArray { got: "an object" });
        check_refused("[1]", &InitDataError::Element { index: 0, member: "vname" });
        let good = r#"{"vname":"a","type":"T","value":null}"#;
        check_refused(&format!(r#"[{good},{{"vname":"b"}}]"#), &InitDataError::Element { index: 1, member: "type" });
        check_refused(r#"[{"vname":"b","type":"T"}]"#, &InitDataError::Element { index: 0, member: "value" });
        check_refused(r#"[{"vname":"b","type":1,"value":""}]"#, &InitDataError::Element { index: 0, member: "type" });
        assert_eq!(InitData::parse(&format!("[{good}]")).unwrap().params().len(), 1);
    }

    #[test]
    fn other_members_of_parameters_are_kept() {
        let data = InitData::parse(r#"[{"vname":"a","type":"T","value":[],"extra":1}]"#).unwrap();
        assert!(data.to_styled_json().contains("\"extra\" : 1"));
        let param = ContractParam { name: "a".to_owned(), type_name: "T".to_owned(), value: json!([]) };
        assert_eq!(data.params(), [param]);
    }

    #[test]
    fn no_init_data_is_an_empty_array() {
        assert_eq!(InitData::parse(" [ ] ").unwrap().to_styled_json(), "[]");
    }

    #[test]
    fn deep_nesting_is_refused() {
        assert!(matches!(InitData::parse(&"[".repeat(100_000)), Err(InitDataError::Json { .. })));
    }

    #[test]
    fn keys_name_their_contract() {
        let contract = Address::new([0xab; 20]);
        assert_eq!(StorageKey::map_entry(&contract, "m", [MapKey::uint(1)]).contract(), Some(contract));
        for text in ["", "abab", &contract.to_string(), "zz\u{16}m\u{16}"] {
            assert_eq!(StorageKey::from_text(text.to_owned()).contract(), None, "{text}");
        }
    }

    #[test]
    fn keys_show_their_separators() {
        let key = StorageKey::depth(&Address::ZERO, "n");
        assert_eq!(key.to_string(), format!("{}␖_depth␖n␖", Address::ZERO));
    }

    #[test]
    fn fields_and_entries_have_different_keys() {
        let keys = [
            StorageKey::field(&Address::ZERO, "ab"),
            StorageKey::map_entry(&Address::ZERO, "a", [MapKey::string("b")]),
            StorageKey::map_entry(&Address::ZERO, "a", [MapKey::string("b"), MapKey::string("")]),
            StorageKey::address(&Address::ZERO),
            StorageKey::version(&Address::ZERO),
        ];
        let hashes: std::collections::BTreeSet<_> = keys.iter().map(StorageKey::variable_hash).collect();
        assert_eq!(hashes.len(), keys.len());
    }
}
