//! The storage of a contract in the model: whole values for the program, and in addition the entries of the trie.
//! Separate rules write the entries.

use std::collections::BTreeMap;

use silica_protocol::{Address, MapKey, StorageKey};
use silica_scilla::{
    code::DeclaredField,
    host::{Host, HostError, MemoryHost, Remote, RemoteWant},
    json::ListForm,
    value::{BNum, Key, Map, Value},
};

/// The marker of a map without entries.
const EMPTY: [u8; 2] = [0x12, 0];

/// The entries of the fields of a contract by their keys.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entries(pub(crate) BTreeMap<StorageKey, Vec<u8>>);

impl Entries {
    /// Replaces all entries at and below a key by a value, and removes the markers of empty maps above the key.
    pub(crate) fn store(&mut self, contract: &Address, field: &str, keys: &[Key], value: &Value) {
        let mut path = map_keys(keys);
        let prefix = StorageKey::map_entry(contract, field, &path);
        self.0.retain(|key, _| !is_within(key, &prefix) && (key == &prefix || !is_within(&prefix, key)));
        self.flatten(contract, field, &mut path, value);
    }

    /// Removes all entries at and below a key. If the surrounding map has no entries afterwards, writes its marker.
    fn delete(&mut self, contract: &Address, field: &str, keys: &[Key]) {
        let path = map_keys(keys);
        let prefix = StorageKey::map_entry(contract, field, &path);
        self.0.retain(|key, _| !is_within(key, &prefix));
        let map = StorageKey::map_entry(contract, field, &path[..path.len() - 1]);
        if !self.0.keys().any(|key| is_within(key, &map)) {
            self.0.insert(map, EMPTY.to_vec());
        }
    }

    /// Adds the entries of a value. The keys of nested maps extend `path`.
    fn flatten(&mut self, contract: &Address, field: &str, path: &mut Vec<MapKey>, value: &Value) {
        let key = StorageKey::map_entry(contract, field, path.iter());
        let Some(map) = value.as_map() else {
            self.0.insert(key, compact(value).into_bytes());
            return;
        };
        if map.is_empty() {
            self.0.insert(key, EMPTY.to_vec());
        }
        for (key, value) in map {
            path.push(map_key(key));
            self.flatten(contract, field, path, value);
            path.pop();
        }
    }
}

fn is_within(key: &StorageKey, prefix: &StorageKey) -> bool {
    key.as_str().starts_with(prefix.as_str())
}

fn map_keys(keys: &[Key]) -> Vec<MapKey> {
    keys.iter().map(map_key).collect()
}

fn map_key(key: &Key) -> MapKey {
    MapKey::from_json(compact(key.value())).unwrap()
}

pub(crate) fn compact(value: &Value) -> String {
    value.to_json(ListForm::Array).root().compact().to_string()
}

/// The host of a running contract.
pub(crate) struct ModelHost<'a> {
    pub(crate) contract: &'a Address,
    pub(crate) values: MemoryHost,
    pub(crate) entries: Entries,
}

impl ModelHost<'_> {
    /// Creates the missing maps on the path to an entry.
    fn make_maps(&mut self, field: &DeclaredField, keys: &[Key]) -> Result<(), HostError> {
        for depth in 1..keys.len() {
            let place = &keys[..depth];
            if self.values.load(field, place)?.is_none() {
                let around = self.values.load(field, &place[..depth - 1])?.unwrap();
                let silica_scilla::types::Type::Map(key, value) = around.as_map().unwrap().value_type() else {
                    panic!("{} has maps of that depth", field.name)
                };
                let empty = Map::new((**key).clone(), (**value).clone());
                self.values.store(field, place, Value::Map(empty))?;
            }
        }
        Ok(())
    }
}

impl Host for ModelHost<'_> {
    fn load(&mut self, field: &DeclaredField, keys: &[Key]) -> Result<Option<Value>, HostError> {
        self.values.load(field, keys)
    }

    fn exists(&mut self, field: &DeclaredField, keys: &[Key]) -> Result<bool, HostError> {
        self.values.exists(field, keys)
    }

    fn store(&mut self, field: &DeclaredField, keys: &[Key], value: Value) -> Result<(), HostError> {
        self.entries.store(self.contract, &field.name, keys, &value);
        self.values.store(field, keys, value)
    }

    fn delete(&mut self, field: &DeclaredField, keys: &[Key]) -> Result<(), HostError> {
        self.entries.delete(self.contract, &field.name, keys);
        self.make_maps(field, keys)?;
        self.values.delete(field, keys)
    }

    fn remote(
        &mut self,
        address: &Address,
        name: &str,
        keys: &[Key],
        want: RemoteWant,
    ) -> Result<Option<Remote>, HostError> {
        self.values.remote(address, name, keys, want)
    }

    fn block_number(&mut self) -> Result<BNum, HostError> {
        self.values.block_number()
    }

    fn chain_id(&mut self) -> Result<u32, HostError> {
        self.values.chain_id()
    }

    fn timestamp(&mut self, block: &BNum) -> Option<u64> {
        self.values.timestamp(block)
    }
}
