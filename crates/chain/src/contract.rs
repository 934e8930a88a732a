//! Questions about contracts: their texts, their fields, and whose they are.

use serde_json::{Map, Value as Json};
use silica_protocol::{Account, Address, CodeHash, DeployedContract, InitData, Nonce, StorageKey};
use silica_scilla::json::quoted;
use silica_state::{StateError, StateView};

use crate::{accounts::World, executor::Facts, snapshot::Snapshot};

/// Names under which the node keeps what is no field.
const METADATA: [&str; 5] = ["_addr", "_depth", "_hasmap", "_type", "_version"];

/// Entries of the node that stand under the plain name of a field.
const BY_FIELD: [&str; 3] = ["_depth", "_hasmap", "_type"];

/// The storage key of a contract's variable, or of an entry of its map below the keys `indices`, which are given as
/// text without quotes, as clients write them.
///
/// Among the variables are those that the node keeps: `_addr`, `_version`, and `_depth` and `_type` with the name of a
/// field as their index.
///
/// # Examples
///
/// ```
/// use silica_protocol::Address;
/// let bridge: Address = "6d84363526a2d764835f8cf52dfeefe80a360fac".parse()?;
/// let key = silica_chain::variable_key(&bridge, "zilToPolyTxHashMap", &["0".to_owned()]);
/// let expected = "a0bd91de66d97e6930118179ba4f1836c366c4cb3309a6b354d26f52abb2aac6";
/// assert_eq!(key.variable_hash().to_string(), expected);
/// # Ok::<(), silica_protocol::HexError>(())
/// ```
pub fn variable_key(contract: &Address, name: &str, indices: &[String]) -> StorageKey {
    if BY_FIELD.contains(&name) {
        return StorageKey::entry(contract, name, indices);
    }
    let texts: Vec<String> = indices.iter().map(|index| in_quotes(index)).collect();
    StorageKey::entry(contract, name, &texts)
}

impl Snapshot {
    /// The texts of the contract or library at `address`, or `None` when there is none.
    ///
    /// # Errors
    ///
    /// The state or the record could not be read.
    pub fn contract(&self, address: &Address) -> Result<Option<DeployedContract>, StateError> {
        let Some(contract) = self.account(address)?.and_then(|account| account.contract) else { return Ok(None) };
        let source = self.state().source(address)?;
        let source = source.filter(|source| source.hash() == contract.code_hash);
        let source = source.ok_or_else(|| StateError::Damaged {
            what: format!("contract {address}"),
            reason: "its texts are not found, or do not have the hash of its account",
        })?;
        let code_hash: CodeHash = contract.code_hash;
        Ok(Some(DeployedContract { code_hash, code: source.code.to_string(), init_data: source.init.to_string() }))
    }

    /// The contracts that `creator` deployed, in the order of their nonces, without libraries.
    ///
    /// # Errors
    ///
    /// The state or the record could not be read.
    pub fn contracts_of(&self, creator: &Address) -> Result<Vec<Address>, StateError> {
        let nonces = self.account(creator)?.map_or(0, |account| account.nonce.get());
        let mut contracts = Vec::new();
        for nonce in 0..nonces {
            let address = Address::of_contract(creator, Nonce::new(nonce));
            let is_contract = |account: Account| account.contract.is_some();
            if self.account(&address)?.is_some_and(is_contract) && !self.is_library(&address)? {
                contracts.push(address);
            }
        }
        Ok(contracts)
    }

    fn is_library(&self, address: &Address) -> Result<bool, StateError> {
        let init = self.contract(address)?.and_then(|contract| InitData::parse(&contract.init_data).ok());
        Ok(init.and_then(|init| Facts::of(&init)).is_some_and(|facts| facts.is_library))
    }

    /// All fields of a contract by their names, with their values in the form in which clients read them: maps are
    /// objects, whose keys are without quotes.
    ///
    /// # Errors
    ///
    /// The state could not be read.
    pub fn contract_fields(&self, contract: &Address) -> Result<Map<String, Json>, StateError> {
        let mut fields = Map::new();
        let prefix = contract.to_string();
        for entry in self.view().storage(contract)? {
            let (key, value) = entry?;
            let path = key.as_str().strip_prefix(&prefix).and_then(|path| path.strip_prefix(StorageKey::SEPARATOR));
            let path: Vec<_> = path.unwrap_or_default().split_terminator(StorageKey::SEPARATOR).collect();
            if path.first().is_some_and(|name| !METADATA.contains(name)) {
                place(&mut fields, &path, &value);
            }
        }
        Ok(fields)
    }

    /// The value of a field of a contract, or of an entry of a map below the keys `indices`, nested in these; `None`
    /// when there is no such field or entry.
    ///
    /// # Errors
    ///
    /// The state could not be read.
    pub fn contract_field(
        &self,
        contract: &Address,
        name: &str,
        indices: &[String],
    ) -> Result<Option<Json>, StateError> {
        let view = self.view();
        let read = |key: &StorageKey| view.storage_value(contract, &key.variable_hash());
        let depth = read(&StorageKey::depth(contract, name))?;
        let depth = depth.and_then(|depth| std::str::from_utf8(&depth).ok()?.parse().ok());
        if METADATA.contains(&name) || depth.is_none_or(|depth: usize| indices.len() > depth) {
            return Ok(None);
        }
        let key = variable_key(contract, name, indices);
        let found = match read(&key)? {
            Some(value) => Some(leaf(&value)),
            None if depth == Some(indices.len()) => None,
            None => below(view, contract, &key)?,
        };
        Ok(found.map(|value| {
            let nest = |value, index: &String| Json::Object(Map::from_iter([(index.clone(), value)]));
            indices.iter().rev().fold(value, nest)
        }))
    }
}

/// The map below a key, or `None` when there are no entries.
fn below(view: &StateView, contract: &Address, prefix: &StorageKey) -> Result<Option<Json>, StateError> {
    let mut map = Map::new();
    for entry in view.storage(contract)? {
        let (key, value) = entry?;
        if let Some(path) = key.as_str().strip_prefix(prefix.as_str()) {
            // Keys of a map are placed like names of fields, and come in quotes.
            let path: Vec<_> = path.split_terminator(StorageKey::SEPARATOR).collect();
            place(&mut map, &path, &value);
        }
    }
    Ok(if map.is_empty() { None } else { Some(Json::Object(map)) })
}

/// Puts a value into nested maps. A place is either a map or a value in all entries of a contract.
fn place(map: &mut Map<String, Json>, path: &[&str], value: &[u8]) {
    let Some((first, rest)) = path.split_first() else { return };
    let name = without_quotes(first);
    if rest.is_empty() {
        map.insert(name, leaf(value));
        return;
    }
    let inner = map.entry(name).or_insert_with(|| Json::Object(Map::new()));
    if let Json::Object(inner) = inner {
        place(inner, rest, value);
    }
}

/// A stored value as JSON.
fn leaf(value: &[u8]) -> Json {
    if value == StorageKey::EMPTY_MAP {
        return Json::Object(Map::new());
    }
    // What nests deeper than the reader goes is shown as text.
    serde_json::from_slice(value).unwrap_or_else(|_| Json::String(String::from_utf8_lossy(value).into_owned()))
}

/// The text of a key of a map, which is a JSON string; the name of a field is none, and stays.
fn without_quotes(part: &str) -> String {
    serde_json::from_str(part).unwrap_or_else(|_| part.to_owned())
}

fn in_quotes(index: &str) -> String {
    let mut text = String::new();
    // A `String` accepts every write.
    let _ = quoted(index, &mut text);
    text
}
