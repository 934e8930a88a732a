//! Queries about contracts: code, fields, and creators.

use std::ops::ControlFlow;

use silica_protocol::{Address, CodeHash, DeployedContract, MapKey, StorageKey, rpc::contract_state::StateWriter};
use silica_state::{Entries, StateError};

use crate::{
    accounts::StateReader,
    config::ChainConfig,
    executor::{
        CheckError, CheckRequest, ContractCache, ContractInterface, InterfaceError, Overlay, SourceCheck, check_source,
        contract_interface, declares_library,
    },
    snapshot::Snapshot,
};

/// Names of the entries that the node writes in addition to the fields.
pub(crate) const METADATA: [&str; 5] = ["_addr", "_depth", "_hasmap", "_type", "_version"];

/// Metadata whose keys have the name of a field as index, without quotes.
const BY_FIELD: [&str; 3] = ["_depth", "_hasmap", "_type"];

/// Returns the storage key of a contract's field, or of an entry of its map. `indices` has the keys of the map as text
/// without quotes, outermost first.
///
/// `name` can also be the name of metadata: `_addr`, `_version`, or `_depth`, `_hasmap` and `_type` with the name of a
/// field as index.
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
        return StorageKey::metadata(contract, name, indices.iter().map(String::as_str));
    }
    StorageKey::map_entry(contract, name, indices.iter().map(|index| MapKey::string(index)))
}

impl Snapshot {
    /// Returns the texts of the contract or library at `address`, or `None` if the account has no code.
    ///
    /// # Errors
    ///
    /// The state or the record cannot be read, or the texts do not have the hash of the account.
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

    /// Returns the contracts that `creator` deployed, in the order of the deployments, without libraries. The time is
    /// proportional to the number of deployments, not of transactions.
    ///
    /// # Errors
    ///
    /// A read of the state or of the record failed.
    pub fn contracts_of(&self, creator: &Address) -> Result<Vec<Address>, StateError> {
        let mut contracts = Vec::new();
        for address in self.state().deployed_by(creator)? {
            if !self.is_library(&address)? {
                contracts.push(address);
            }
        }
        Ok(contracts)
    }

    /// Returns the interface of the contract or library at `address`: parameters, fields, transitions, procedures,
    /// events and data types, with their documentation. The call parses and checks the text, which takes some
    /// milliseconds for a long contract.
    ///
    /// # Errors
    ///
    /// [`InterfaceError`]: the address has no contract or library, its text is invalid under the present Scilla rules,
    /// or the state cannot be read.
    pub fn contract_interface(&self, address: &Address) -> Result<ContractInterface, InterfaceError> {
        contract_interface(address, &self.simulated(), &mut Overlay::new(self.state().clone()))
    }

    /// Checks the text of a contract or library as a deployment with the highest gas limit would check it. The call
    /// takes at most about as long as such a deployment, or twice as long if the text has errors.
    ///
    /// # Errors
    ///
    /// [`CheckError`]: the text is too long, there are too many libraries, a library does not exist or cannot be used,
    /// or the state cannot be read. Errors in the text are in the result.
    pub fn check_source(&self, request: &CheckRequest) -> Result<SourceCheck, CheckError> {
        let ChainConfig { rules, shard_gas_limit, ds_gas_limit, .. } = &self.shared().network.config;
        let gas = (*shard_gas_limit).max(*ds_gas_limit);
        let mut overlay = Overlay::new(self.state().clone());
        check_source(request, gas, rules, &self.simulated(), &mut overlay)
    }

    /// Returns the contract cache for the rules of the next block.
    fn simulated(&self) -> ContractCache {
        self.shared().simulated_for(self.current_epoch())
    }

    fn is_library(&self, address: &Address) -> Result<bool, StateError> {
        Ok(self.contract(address)?.is_some_and(|contract| declares_library(&contract.init_data)))
    }

    /// Returns the entries of all fields of a contract.
    ///
    /// # Errors
    ///
    /// A read of the state failed.
    pub fn contract_fields(&self, contract: &Address) -> Result<ContractEntries, StateError> {
        let prefix = StorageKey::from_text(format!("{contract}{}", StorageKey::SEPARATOR));
        let entries = self.view().entries(contract, &prefix, None)?;
        Ok(ContractEntries { entries, prefix: StorageKey::SEPARATOR.len_utf8(), all: true })
    }

    /// Returns the JSON text of all fields of a contract, and its balance as `_balance`. Returns `None` if no contract
    /// has this address. [`contract_fields`](Self::contract_fields) reads a large state in parts.
    ///
    /// # Errors
    ///
    /// A read of the state failed.
    pub fn contract_state_json(&self, contract: &Address) -> Result<Option<String>, StateError> {
        let Some(account) = self.account(contract)?.filter(|account| account.contract.is_some()) else {
            return Ok(None);
        };
        let (mut writer, mut text) = (StateWriter::of_fields(Some(account.balance)), Vec::new());
        let mut add = |path: &[&str], value: &[u8]| {
            writer.add(path, value, &mut text);
            ControlFlow::Continue(())
        };
        let _: ControlFlow<()> = self.contract_fields(contract)?.visit(&mut add)?;
        writer.finish(&mut text);
        Ok(Some(String::from_utf8_lossy(&text).into_owned()))
    }

    /// Returns a field of a contract, or the part of its map below the keys `indices`. Returns `None` if the contract
    /// has no such field or entry.
    ///
    /// # Errors
    ///
    /// A read of the state failed.
    pub fn contract_field(
        &self,
        contract: &Address,
        name: &str,
        indices: &[String],
    ) -> Result<Option<ContractField>, StateError> {
        let view = self.view();
        let read = |key: &StorageKey| view.storage_value(contract, &key.variable_hash());
        let depth = read(&StorageKey::depth(contract, name))?;
        let depth = depth.and_then(|depth| std::str::from_utf8(&depth).ok()?.parse().ok());
        if METADATA.contains(&name) || depth.is_none_or(|depth: usize| indices.len() > depth) {
            return Ok(None);
        }
        let key = variable_key(contract, name, indices);
        if let Some(value) = read(&key)? {
            return Ok(Some(ContractField::Value(value)));
        }
        // The first entry shows whether the map has any entries. If the last key names an innermost entry of the map,
        // there are no entries below it.
        let below = view.entries(contract, &key, None)?.next().transpose()?;
        if depth == Some(indices.len()) || below.is_none() {
            return Ok(None);
        }
        let prefix = key.as_str().len().saturating_sub(contract.to_string().len());
        let entries = view.entries(contract, &key, None)?;
        Ok(Some(ContractField::Map(ContractEntries { entries, prefix, all: false })))
    }
}

/// The name of the balance in the state of a contract. No field can have this name.
const BALANCE: &str = "_balance";

/// A field of a contract, or a part of its map.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a value lives for one query, so a box saves nothing")]
pub enum ContractField {
    /// The stored value of a field that is not a map, or of an innermost entry of a map.
    Value(Vec<u8>),
    /// The entries of a map, or of a map inside it.
    Map(ContractEntries),
}

/// The remaining entries of the state of a contract, or of a part of the state, in the order of the bytes of their
/// stored keys. All entries belong to the same state, so later blocks do not change them.
#[derive(Debug)]
pub struct ContractEntries {
    entries: Entries,
    /// Number of bytes at the start of each key that are not part of the path.
    prefix: usize,
    /// Whether these are the entries of all fields, and so include metadata.
    all: bool,
}

impl ContractEntries {
    /// Calls `visit` with the path and the stored value of each entry, until `visit` returns [`ControlFlow::Break`].
    /// The path has the parts of the stored key below the contract, the field or the map.
    ///
    /// Returns [`ControlFlow::Continue`] after the last entry. After a break, the next call begins with the next entry.
    ///
    /// # Errors
    ///
    /// The state cannot be read, or the node does not keep it.
    pub fn visit(
        &mut self,
        mut visit: impl FnMut(&[&str], &[u8]) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, StateError> {
        while let Some((plain, value)) = self.entries.next_plain()? {
            let path = plain.get(self.prefix..).unwrap_or_default().split_terminator(StorageKey::SEPARATOR);
            let path: Vec<_> = path.collect();
            let is_metadata = self.all && path.first().is_some_and(|name| METADATA.contains(name) || *name == BALANCE);
            if !is_metadata && visit(&path, value).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::{Map, Value as Json};
    use silica_protocol::{Account, ContractAccount, PublicKey, Qa, Timestamp, rpc::contract_state::StateWriter};
    use silica_state::{BlockRecord, StateDiff, Store, StoreOptions};

    use super::*;

    const CONTRACT: Address = Address::new([7; 20]);

    fn stored(entries: &BTreeMap<StorageKey, Vec<u8>>) -> silica_state::Snapshot {
        let store = Store::ephemeral(StoreOptions::default());
        let contract = ContractAccount { code_hash: CodeHash::new([1; 32]), storage_root: None };
        let account = Account { contract: Some(contract), ..Account::default() };
        let entries = entries.iter().map(|(key, value)| (key.clone(), Some(value.clone()))).collect();
        let diff = StateDiff { accounts: [(CONTRACT, account)].into(), storage: [(CONTRACT, entries)].into() };
        let state = store.extend(store.prepare(), &diff).unwrap();
        let member = PublicKey::new([2; 33]);
        let block = BlockRecord::genesis(state.root(), member, Timestamp::new(0));
        store.commit(&block, state).unwrap()
    }

    /// Writes entries in chunks of at least `about` bytes each, except the last.
    fn written(mut entries: ContractEntries, mut writer: StateWriter, about: usize) -> String {
        let mut text = Vec::new();
        let mut chunks = 0;
        loop {
            let mut chunk = Vec::new();
            let visited = entries.visit(|path, value| {
                writer.add(path, value, &mut chunk);
                if chunk.len() < about { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
            let is_last = visited.unwrap().is_continue();
            if is_last {
                writer.finish(&mut chunk);
            }
            chunks += 1;
            text.extend(chunk);
            if is_last {
                break;
            }
        }
        assert!(chunks <= 3 + text.len() / about, "{chunks} chunks of at least {about} bytes");
        String::from_utf8(text).unwrap()
    }

    fn entries(state: &silica_state::Snapshot, prefix: &StorageKey, field: Option<usize>) -> ContractEntries {
        let entries = state.state().entries(&CONTRACT, prefix, None).unwrap();
        ContractEntries { entries, prefix: field.unwrap_or(1), all: field.is_none() }
    }

    /// Fields with the keys and values that stored fields can have. A field is a value, a map, or a map of maps.
    fn fields() -> impl Strategy<Value = BTreeMap<String, Json>> {
        let text = prop_oneof!["[a-c !\"\\\\\n\u{1}é]{0,3}", "0x[0-9]{2}"];
        let value = prop_oneof![
            text.clone().prop_map(Json::from),
            Just(Json::Object(Map::new())),
            text.clone().prop_map(
                |text| serde_json::json!({"constructor": "Some", "argtypes": ["String"], "arguments": [text]})
            ),
            prop::collection::vec(text.clone().prop_map(Json::from), 0..3).prop_map(Json::from),
        ];
        let map = |value: BoxedStrategy<Json>| {
            prop::collection::btree_map(text.clone(), value, 0..6)
                .prop_map(|map| Json::Object(map.into_iter().collect()))
                .boxed()
        };
        let value = value.boxed();
        let nested = map(map(value.clone()));
        prop::collection::btree_map("_?[a-d][A-Z]?", prop_oneof![value.clone(), map(value), nested], 0..6)
    }

    /// Adds the entries of a value. An object with the member `constructor` is one value, and not a map.
    fn store(field: &str, key: &[MapKey], value: &Json, entries: &mut BTreeMap<StorageKey, Vec<u8>>) {
        let stored = StorageKey::map_entry(&CONTRACT, field, key);
        match value {
            Json::Object(map) if map.is_empty() => drop(entries.insert(stored, StorageKey::EMPTY_MAP.to_vec())),
            Json::Object(map) if !map.contains_key("constructor") => {
                for (name, value) in map {
                    store(field, &[key, &[MapKey::string(name)]].concat(), value, entries);
                }
            }
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) | Json::Object(_) => {
                drop(entries.insert(stored, value.to_string().into_bytes()));
            }
        }
    }

    proptest! {
        #[test]
        fn state_is_written_as_it_is_stored(fields in fields(), about in 1..100_usize) {
            let mut stored_entries = BTreeMap::new();
            for (name, value) in &fields {
                store(name, &[], value, &mut stored_entries);
                stored_entries.insert(StorageKey::depth(&CONTRACT, name), b"1".to_vec());
            }
            let state = stored(&stored_entries);
            let all = StorageKey::from_text(CONTRACT.to_string());
            let mut expected: Map<String, Json> = fields.clone().into_iter().collect();
            let text = written(entries(&state, &all, None), StateWriter::of_fields(None), about);
            prop_assert_eq!(serde_json::from_str::<Json>(&text).unwrap(), Json::Object(expected.clone()));
            prop_assert_eq!(&text, &written(entries(&state, &all, None), StateWriter::of_fields(None), usize::MAX >> 1));
            expected.insert(BALANCE.to_owned(), "5".into());
            let with_balance = StateWriter::of_fields(Some(Qa::new(5)));
            let text = written(entries(&state, &all, None), with_balance, about);
            prop_assert_eq!(serde_json::from_str::<Json>(&text).unwrap(), Json::Object(expected.clone()));
            // Blanks, exclamation marks and escapes can change the order of stored keys. Without them, the members
            // are in the order of their names.
            let is_ordinary = |byte: u8| !b" !\\\"".contains(&byte) && byte > b' ';
            if stored_entries.keys().all(|key| key.as_str().replace([StorageKey::SEPARATOR, '"'], "").bytes().all(is_ordinary)) {
                prop_assert_eq!(text, Json::Object(expected).to_string());
            }
            for (name, value) in &fields {
                let is_map = value.as_object().is_some_and(|map| !map.is_empty() && !map.contains_key("constructor"));
                if is_map {
                    let prefix = StorageKey::field(&CONTRACT, name);
                    let length = prefix.as_str().len() - CONTRACT.to_string().len();
                    let writer = StateWriter::below([name.as_str(), "a\"b"]);
                    let text = written(entries(&state, &prefix, Some(length)), writer, about);
                    prop_assert_eq!(serde_json::from_str::<Json>(&text).unwrap(), serde_json::json!({name: {"a\"b": value}}));
                }
            }
        }
    }

    #[test]
    fn nothing_is_an_object_without_members() {
        let state = stored(&BTreeMap::new());
        let all = StorageKey::from_text(CONTRACT.to_string());
        assert_eq!(written(entries(&state, &all, None), StateWriter::of_fields(None), 10), "{}");
        let with_balance = StateWriter::of_fields(Some(Qa::new(0)));
        assert_eq!(written(entries(&state, &all, None), with_balance, 10), r#"{"_balance":"0"}"#);
    }
}
