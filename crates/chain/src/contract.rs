//! Queries about contracts: code, fields, and creators.

use serde_json::{Map, Value as Json};
use silica_protocol::{Address, CodeHash, DeployedContract, InitData, Qa, StorageKey};
use silica_scilla::json::quoted;
use silica_state::{Entries, StateError};

use crate::{
    accounts::StateReader,
    executor::{InitFacts, InterfaceError, Overlay, contract_interface},
    snapshot::Snapshot,
};

/// Names of the stored entries that are no fields.
pub(crate) const METADATA: [&str; 5] = ["_addr", "_depth", "_hasmap", "_type", "_version"];

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

    /// The contracts that `creator` deployed, in the order of the deployments, without libraries. The time is
    /// proportional to the number of deployments. Other transactions of the account do not count.
    ///
    /// # Errors
    ///
    /// The state or the record could not be read.
    pub fn contracts_of(&self, creator: &Address) -> Result<Vec<Address>, StateError> {
        let mut contracts = Vec::new();
        for address in self.state().deployed_by(creator)? {
            if !self.is_library(&address)? {
                contracts.push(address);
            }
        }
        Ok(contracts)
    }

    /// Returns the interface of the contract at `address`: parameters, fields, transitions, procedures, events and data
    /// types. The result is the text of a JSON object, the `contract_info` of the reference's checker. The node parses
    /// and checks the contract again, which takes some milliseconds for a long one.
    ///
    /// # Errors
    ///
    /// [`InterfaceError`] when there is no contract, or the state could not be read.
    pub fn contract_interface(&self, address: &Address) -> Result<String, InterfaceError> {
        contract_interface(address, &self.shared().simulated, &mut Overlay::new(self.state().clone()))
    }

    fn is_library(&self, address: &Address) -> Result<bool, StateError> {
        let rules = self.shared().network.config.rules.scilla;
        let init = self.contract(address)?.and_then(|contract| InitData::parse(&contract.init_data).ok());
        Ok(init.and_then(|init| InitFacts::of(&init, rules)).is_some_and(|facts| facts.is_library))
    }

    /// Returns all fields of a contract by their names, with its balance if `balance` is given. The result is the text
    /// of a JSON object. Maps are objects, whose keys have no additional quotes. Members are in the order of the bytes
    /// of their stored keys.
    ///
    /// # Errors
    ///
    /// The state could not be read.
    pub fn contract_fields(&self, contract: &Address, balance: Option<Qa>) -> Result<StateDocument, StateError> {
        let prefix = StorageKey::from_text(format!("{contract}{}", StorageKey::SEPARATOR));
        let entries = self.view().entries(contract, &prefix, None)?;
        let mut document = StateDocument::new(Some(entries), 1);
        document.balance = balance;
        Ok(document)
    }

    /// The value of a field of a contract, or of an entry of a map below the keys `indices`, nested in these, as the
    /// text of a JSON object; `None` when there is no such field or entry.
    ///
    /// # Errors
    ///
    /// The state could not be read.
    pub fn contract_field(
        &self,
        contract: &Address,
        name: &str,
        indices: &[String],
    ) -> Result<Option<StateDocument>, StateError> {
        let view = self.view();
        let read = |key: &StorageKey| view.storage_value(contract, &key.variable_hash());
        let depth = read(&StorageKey::depth(contract, name))?;
        let depth = depth.and_then(|depth| std::str::from_utf8(&depth).ok()?.parse().ok());
        if METADATA.contains(&name) || depth.is_none_or(|depth: usize| indices.len() > depth) {
            return Ok(None);
        }
        let key = variable_key(contract, name, indices);
        let path = std::iter::once(name).chain(indices.iter().map(String::as_str));
        if let Some(value) = read(&key)? {
            return Ok(Some(StateDocument::new(None, 0).within(path, Some(&value))));
        }
        // The first entry shows whether the map has any.
        let below = view.entries(contract, &key, None)?.next().transpose()?;
        if depth == Some(indices.len()) || below.is_none() {
            return Ok(None);
        }
        let behind = key.as_str().len().saturating_sub(contract.to_string().len());
        Ok(Some(StateDocument::new(Some(view.entries(contract, &key, None)?), behind).within(path, None)))
    }
}

/// The text of a JSON object with the state of a contract, or a part of it, written in chunks. All chunks are of the
/// same state; later blocks do not change them.
#[derive(Debug)]
pub struct StateDocument {
    /// The remaining entries; `None` after the last entry.
    entries: Option<Entries>,
    /// Bytes at the beginning of a key that are no part of a member's name.
    behind: usize,
    /// The text before the first entry, until it is written.
    head: String,
    /// The text after the last entry.
    tail: String,
    balance: Option<Qa>,
    /// Stored names of the objects that are open, outermost first.
    open: Vec<String>,
    /// Whether the object that is open has members.
    has_members: bool,
}

/// The name under which the state shows the balance, which no field can have.
const BALANCE: &str = "_balance";

impl StateDocument {
    fn new(entries: Option<Entries>, behind: usize) -> Self {
        let (head, tail) = ("{".to_owned(), "}".to_owned());
        Self { entries, behind, head, tail, balance: None, open: Vec::new(), has_members: false }
    }

    /// Puts the object, or a value in its place, into objects with one member each.
    fn within<'a>(mut self, path: impl Iterator<Item = &'a str>, value: Option<&[u8]>) -> Self {
        if let Some(value) = value {
            (self.head, self.tail) = (leaf(value).to_string(), String::new());
        }
        let names: Vec<_> = path.map(|name| Json::from(name).to_string()).collect();
        let head: String = names.iter().flat_map(|name| ["{", name, ":"]).collect();
        self.head.insert_str(0, &head);
        self.tail.push_str(&"}".repeat(names.len()));
        self
    }

    /// Appends the next piece, of at least about so many bytes if there are as many, and returns whether there is more.
    ///
    /// # Errors
    ///
    /// The state could not be read, or the node no longer keeps it. The caller must discard the chunks before the
    /// error.
    pub fn write(&mut self, out: &mut Vec<u8>, about: usize) -> Result<bool, StateError> {
        out.extend(std::mem::take(&mut self.head).as_bytes());
        let end = out.len().saturating_add(about);
        let Some(mut entries) = self.entries.take() else {
            out.extend(std::mem::take(&mut self.tail).as_bytes());
            return Ok(false);
        };
        while out.len() < end {
            let Some((plain, value)) = entries.next_plain()? else {
                self.close(0, out);
                self.add_balance(None, out);
                out.extend(std::mem::take(&mut self.tail).as_bytes());
                return Ok(false);
            };
            let path = plain.get(self.behind..).unwrap_or_default().split_terminator(StorageKey::SEPARATOR);
            self.add(&path.collect::<Vec<_>>(), value, out);
        }
        self.entries = Some(entries);
        Ok(true)
    }

    /// Adds an entry.
    fn add(&mut self, path: &[&str], value: &[u8], out: &mut Vec<u8>) {
        let Some((last, objects)) = path.split_last() else { return };
        // The names tell metadata from fields. Below a field the same names are keys of its map.
        let is_field = self.behind == 1;
        if is_field && path.first().is_some_and(|name| METADATA.contains(name) || *name == BALANCE) {
            return;
        }
        let shared = self.open.iter().zip(objects).take_while(|(open, name)| open == *name).count();
        self.close(shared, out);
        if is_field && shared == 0 {
            self.add_balance(path.first().copied(), out);
        }
        for name in objects.get(shared..).unwrap_or_default() {
            self.open(name, out);
        }
        if value == StorageKey::EMPTY_MAP {
            return self.open(last, out);
        }
        self.add_name(last, out);
        write_leaf(value, out);
    }

    fn open(&mut self, name: &str, out: &mut Vec<u8>) {
        self.add_name(name, out);
        out.push(b'{');
        self.has_members = false;
        self.open.push(name.to_owned());
    }

    /// Closes all objects but the outermost `kept`.
    fn close(&mut self, kept: usize, out: &mut Vec<u8>) {
        let closed = self.open.len().saturating_sub(kept);
        if closed > 0 {
            out.extend(std::iter::repeat_n(b'}', closed));
            self.open.truncate(kept);
            self.has_members = true;
        }
    }

    fn add_name(&mut self, name: &str, out: &mut Vec<u8>) {
        if self.has_members {
            out.push(b',');
        }
        self.has_members = true;
        match name.as_bytes() {
            // The text of a key is that of its member, unless it has escapes that are written in another way.
            [b'"', inner @ .., b'"'] if is_plain(inner) => out.extend(name.as_bytes()),
            _ => out.extend(Json::from(without_quotes(name)).to_string().as_bytes()),
        }
        out.push(b':');
    }

    /// Adds the balance, if it comes before the field given.
    fn add_balance(&mut self, before: Option<&str>, out: &mut Vec<u8>) {
        if before.is_none_or(|name| name > BALANCE)
            && let Some(balance) = self.balance.take()
        {
            self.add_name(BALANCE, out);
            write_leaf(format!("\"{balance}\"").as_bytes(), out);
        }
    }
}

/// Whether text between quotes is the same in all forms of JSON.
fn is_plain(inner: &[u8]) -> bool {
    inner.iter().all(|byte| *byte >= b' ' && !matches!(byte, b'"' | b'\\'))
}

/// Writes a stored value as JSON, as [`leaf`] reads it.
fn write_leaf(value: &[u8], out: &mut Vec<u8>) {
    match value {
        [b'"', inner @ .., b'"'] if is_plain(inner) && std::str::from_utf8(inner).is_ok() => out.extend(value),
        _ => out.extend(leaf(value).to_string().as_bytes()),
    }
}

/// A stored value as JSON.
pub(crate) fn leaf(value: &[u8]) -> Json {
    if value == StorageKey::EMPTY_MAP {
        return Json::Object(Map::new());
    }
    // A value that is deeper than the reader permits is shown as text.
    serde_json::from_slice(value).unwrap_or_else(|_| Json::String(String::from_utf8_lossy(value).into_owned()))
}

/// The text of a key of a map, which is a JSON string; the name of a field is none, and stays.
pub(crate) fn without_quotes(part: &str) -> String {
    serde_json::from_str(part).unwrap_or_else(|_| part.to_owned())
}

fn in_quotes(index: &str) -> String {
    let mut text = String::new();
    // A `String` accepts every write.
    let _ = quoted(index, &mut text);
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use silica_protocol::{
        Account, CoSignatures, ContractAccount, DsBlock, DsBlockHeader, MbInfoHash, PublicKey, Timestamp, TxBlock,
        TxBlockHeader,
    };
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
        let header = TxBlockHeader {
            state_root: state.root(),
            mb_info_hash: MbInfoHash::of(&[]),
            ..TxBlockHeader::genesis(member)
        };
        let (cosignatures, timestamp) = (CoSignatures::unsigned(1), Timestamp::new(0));
        let block = BlockRecord {
            tx_block: TxBlock { header, micro_blocks: Vec::new(), cosignatures: cosignatures.clone(), timestamp },
            micro_blocks: Vec::new(),
            ds_block: Some(DsBlock { header: DsBlockHeader::genesis(member), cosignatures, timestamp }),
            transactions: Vec::new(),
            edits: StateDiff::default(),
            repeats_number: false,
        };
        store.commit(&block, state).unwrap()
    }

    fn written(mut document: StateDocument, about: usize) -> String {
        let mut text = Vec::new();
        let mut pieces = 0;
        loop {
            let mut piece = Vec::new();
            let more = document.write(&mut piece, about).unwrap();
            pieces += 1;
            text.extend(piece);
            if !more {
                break;
            }
        }
        assert!(pieces <= 3 + text.len() / about, "{pieces} pieces of at least {about} bytes");
        String::from_utf8(text).unwrap()
    }

    fn document(state: &silica_state::Snapshot, prefix: &StorageKey, behind: usize) -> StateDocument {
        StateDocument::new(Some(state.state().entries(&CONTRACT, prefix, None).unwrap()), behind)
    }

    /// Fields, each a value or a map of maps, with the keys and values that stored ones may have.
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

    /// The entries of a value that is stored under a key. An object that is no map has members that no map has.
    fn store(key: &[String], value: &Json, entries: &mut BTreeMap<StorageKey, Vec<u8>>) {
        let stored = StorageKey::entry(&CONTRACT, &key[0], &key[1..]);
        match value {
            Json::Object(map) if map.is_empty() => drop(entries.insert(stored, StorageKey::EMPTY_MAP.to_vec())),
            Json::Object(map) if !map.contains_key("constructor") => {
                for (name, value) in map {
                    store(&[key, &[in_quotes(name)]].concat(), value, entries);
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
            let mut entries = BTreeMap::new();
            for (name, value) in &fields {
                store(std::slice::from_ref(name), value, &mut entries);
                entries.insert(StorageKey::depth(&CONTRACT, name), b"1".to_vec());
            }
            let state = stored(&entries);
            let all = StorageKey::from_text(CONTRACT.to_string());
            let mut expected: Map<String, Json> = fields.clone().into_iter().collect();
            let text = written(document(&state, &all, 1), about);
            prop_assert_eq!(serde_json::from_str::<Json>(&text).unwrap(), Json::Object(expected.clone()));
            prop_assert_eq!(&text, &written(document(&state, &all, 1), usize::MAX >> 1));
            expected.insert(BALANCE.to_owned(), "5".into());
            let with_balance = StateDocument { balance: Some(Qa::new(5)), ..document(&state, &all, 1) };
            let text = written(with_balance, about);
            prop_assert_eq!(serde_json::from_str::<Json>(&text).unwrap(), Json::Object(expected.clone()));
            // But for keys with blanks, exclamation marks and escapes, members are in the order of their names.
            let is_ordinary = |byte: u8| !b" !\\\"".contains(&byte) && byte > b' ';
            if entries.keys().all(|key| key.as_str().replace([StorageKey::SEPARATOR, '"'], "").bytes().all(is_ordinary)) {
                prop_assert_eq!(text, Json::Object(expected).to_string());
            }
            for (name, value) in &fields {
                let is_map = value.as_object().is_some_and(|map| !map.is_empty() && !map.contains_key("constructor"));
                if is_map {
                    let prefix = StorageKey::entry(&CONTRACT, name, &[] as &[&str]);
                    let behind = prefix.as_str().len() - CONTRACT.to_string().len();
                    let text = written(document(&state, &prefix, behind).within([name.as_str(), "a\"b"].into_iter(), None), about);
                    prop_assert_eq!(serde_json::from_str::<Json>(&text).unwrap(), serde_json::json!({name: {"a\"b": value}}));
                }
            }
        }
    }

    #[test]
    fn nothing_is_an_object_without_members() {
        let state = stored(&BTreeMap::new());
        let all = StorageKey::from_text(CONTRACT.to_string());
        assert_eq!(written(document(&state, &all, 1), 10), "{}");
        let with_balance = StateDocument { balance: Some(Qa::new(0)), ..document(&state, &all, 1) };
        assert_eq!(written(with_balance, 10), r#"{"_balance":"0"}"#);
    }
}
