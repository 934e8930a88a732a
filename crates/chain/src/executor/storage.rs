//! Values of fields as entries of contract storage (Reference: formats#storage-trie). Each innermost value of a map is
//! one entry. A plain key has a separator after each part:
//!
//! ```text
//! field m : Map K1 (Map K2 V)          keys, after the address, with a separator behind each part
//!   m = { }                            m            12 00
//!   m = { a: { } }                     m "a"        12 00
//!   m = { a: { b: v } }                m "a" "b"    v
//! ```
//!
//! An empty map has a marker as its entry. A write of an entry removes the markers on its path. The removal of the last
//! entry of a map writes the marker again.
//!
//! The removal of a missing entry also writes a marker. The reference checks only whether the surrounding map has
//! entries after the removal (C++ v8.1.2, `ContractStorage::UpdateStateValue`). If `m[a]` does not exist,
//! `delete m[a][b]` makes `m[a]` an empty map, and `exists m[a]` then returns true. This removal writes no entry, so
//! the marker of an empty `m` stays next to the new marker. A map with a marker can therefore have entries below it,
//! and all of them are markers.

use std::{collections::BTreeMap, ops::ControlFlow, sync::Arc};

use silica_protocol::{Address, MapKey, StorageKey};
use silica_scilla::{
    host::type_behind,
    json::{self, ValueReader},
    types::{Type, adt::DataTypes},
    value::{Key, Map, Value},
    work::weight,
};
use silica_state::StateError;

use super::{Overlay, text::text_of};
use crate::accounts::StateReader;

/// Maximum number of bytes that a transaction may write, in keys and values together.
///
/// The gas of a key does not depend on its length. With ten texts, a transaction can make a thousand keys of a map with
/// three levels. A common entry costs at least ten units of the interpreter and has about 150 bytes. So common entries
/// have less than 50 MB together at the largest gas limit. The nodes of the network cannot send a state delta above 10
/// MB (`MAX_READ_WATERMARK_IN_BYTES` of constants.xml, v8.1.2).
pub(super) const MAX_WRITTEN: usize = 64_000_000;

/// Maximum number of bytes in the keys that a transaction reads or removes. The first [`COMMON_KEY`] bytes of each key
/// do not count.
pub(super) const MAX_LOOKED_UP: usize = 64_000_000;

/// Maximum number of bytes that a transaction may read, in keys and values together. The gas of a read depends on the
/// number of parts of a value. A part that costs one unit of the interpreter can have a long text.
pub(super) const MAX_READ: usize = 256_000_000;

/// Maximum number of bytes in the keys of one value together.
pub(super) const MAX_KEYS: usize = 100_000;

/// Number of bytes in a key for which the gas of a read or removal pays. Two addresses and the name of a field have
/// less than half of this length.
const COMMON_KEY: usize = 256;

/// The bytes that a transaction has left, and the work of its current query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StorageQuota {
    written: usize,
    looked_up: usize,
    read: usize,
    /// The work of the current query of a contract so far. `work` is the limit of the query.
    worked: u64,
    work: u64,
}

impl StorageQuota {
    /// Returns the limits at the beginning of a transaction.
    pub(super) const fn new() -> Self {
        Self { written: MAX_WRITTEN, looked_up: MAX_LOOKED_UP, read: MAX_READ, worked: 0, work: u64::MAX }
    }

    /// Begins a query with the limit `work`.
    pub(super) const fn begin(&mut self, work: u64) {
        (self.worked, self.work) = (0, work);
    }

    /// Returns the work of the last query.
    pub(super) const fn worked(&self) -> u64 {
        self.worked
    }

    /// Adds `work` to the work of the query. The caller counts the work before it does the work.
    pub(super) fn spend(&mut self, work: u64) -> Result<(), StorageFault> {
        self.worked = self.worked.saturating_add(work);
        if self.worked <= self.work {
            return Ok(());
        }
        Err(self.exceed())
    }

    /// Returns the error of a query above its work limit. Sets the work to the limit plus one, so that this work does
    /// not depend on the order of reads.
    const fn exceed(&mut self) -> StorageFault {
        self.worked = self.work.saturating_add(1);
        StorageFault::TooLarge
    }

    /// Returns whether the query has a work limit.
    const fn limits_work(&self) -> bool {
        self.work < u64::MAX
    }

    fn spend_bytes(&mut self, bytes: usize, weight: u64) -> Result<(), StorageFault> {
        self.spend(u64::try_from(bytes).unwrap_or(u64::MAX).saturating_mul(weight))
    }

    fn write(&mut self, bytes: usize) -> Result<(), StorageFault> {
        self.spend_bytes(bytes, weight::WRITTEN_BYTE)?;
        self.written = self.written.checked_sub(bytes).ok_or(StorageFault::NoRoom)?;
        Ok(())
    }

    fn read(&mut self, bytes: usize) -> Result<(), StorageFault> {
        self.spend_bytes(bytes, weight::READ_BYTE)?;
        self.read = self.read.checked_sub(bytes).ok_or(StorageFault::ReadTooMuch)?;
        Ok(())
    }

    fn seek(&mut self, key: &StorageKey) -> Result<(), StorageFault> {
        self.spend(weight::LOOKUP)?;
        self.spend_bytes(key.as_str().len(), weight::KEY_BYTE)?;
        let beyond = key.as_str().len().saturating_sub(COMMON_KEY);
        self.looked_up = self.looked_up.checked_sub(beyond).ok_or(StorageFault::LookedUpTooMuch)?;
        Ok(())
    }
}

/// A field of a contract.
#[derive(Clone, Copy)]
pub(super) struct StoredField<'a> {
    pub(super) contract: &'a Address,
    pub(super) name: &'a str,
    pub(super) ty: &'a Type,
    /// The data types that values of the field can have.
    pub(super) known: &'a DataTypes,
}

/// Reason why a value was not read or written.
#[derive(Debug)]
pub(super) enum StorageFault {
    /// The transaction would write more than [`MAX_WRITTEN`] bytes.
    NoRoom,
    /// The transaction would use more than [`MAX_LOOKED_UP`] bytes of keys.
    LookedUpTooMuch,
    /// The transaction would read more than [`MAX_READ`] bytes.
    ReadTooMuch,
    /// The keys of one value have more than [`MAX_KEYS`] bytes.
    KeysTooLong,
    /// A map has more entries than the caller permits, or the query needs more work than its limit.
    TooLarge,
    /// The type has fewer nested maps than there are keys.
    TooManyKeys,
    /// The stored bytes are not a value of the type.
    Unreadable,
    /// A read of the state failed.
    State(StateError),
}

impl From<StateError> for StorageFault {
    fn from(error: StateError) -> Self {
        Self::State(error)
    }
}

impl StoredField<'_> {
    /// Returns the value under `keys`, or `None` if it does not exist. Fails with [`StorageFault::TooLarge`] at a map
    /// with more than `most` + 1 entries, and does not read the rest of the map.
    pub(super) fn load<W: StateReader>(
        self,
        overlay: &mut Overlay<W>,
        keys: &[Key],
        most: u64,
        quota: &mut StorageQuota,
    ) -> Result<Option<Value>, StorageFault> {
        let (ty, indices) = (self.type_below(keys)?, texts(keys)?);
        let key = self.looked_up(&indices, quota)?;
        let stored = overlay.entry(self.contract, &key)?;
        quota.read(stored.as_ref().map_or(0, |value| value.len()))?;
        let empties = empties(ty);
        let Some(empty) = empties.first() else {
            return stored.map(|value| read(&mut ValueReader::new(self.known), &value, ty)).transpose();
        };
        // A key has a size of at least 1, except the empty byte string. So the size of a map is at least the number of
        // its entries minus one.
        let most = usize::try_from(most).unwrap_or(usize::MAX).saturating_add(1);
        let entries = entries_below(overlay, self.contract, &key, most, quota)?;
        if entries.is_empty() {
            return Ok(stored.map(|_| Value::Map(empty.clone())));
        }
        let entries: Vec<_> = entries
            .iter()
            .map(|(path, value)| (path.split_terminator(StorageKey::SEPARATOR).collect(), value))
            .collect();
        let mut reader = ValueReader::new(self.known);
        Self::read_map(&mut reader, &empties, ty, &entries, 0).map(|map| Some(Value::Map(map)))
    }

    /// Returns whether a value exists under `keys`.
    pub(super) fn exists<W: StateReader>(
        self,
        overlay: &mut Overlay<W>,
        keys: &[Key],
        quota: &mut StorageQuota,
    ) -> Result<bool, StorageFault> {
        let ty = self.type_below(keys)?;
        let key = self.looked_up(&texts(keys)?, quota)?;
        if overlay.entry(self.contract, &key)?.is_some() {
            return Ok(true);
        }
        Ok(matches!(ty, Type::Map(..)) && overlay.has_below(self.contract, &key)?)
    }

    /// Replaces the value under `keys`, and removes the markers on the path.
    pub(super) fn store<W: StateReader>(
        self,
        overlay: &mut Overlay<W>,
        keys: &[Key],
        value: &Value,
        quota: &mut StorageQuota,
    ) -> Result<(), StorageFault> {
        let (ty, mut indices) = (self.type_below(keys)?, texts(keys)?);
        if matches!(ty, Type::Map(..)) {
            self.clear(overlay, &indices, quota)?;
        }
        for outer in 0..indices.len() {
            let marker = self.looked_up(indices.get(..outer).unwrap_or_default(), quota)?;
            overlay.set_entry(self.contract, &marker, None)?;
        }
        self.write(overlay, &mut indices, ty, value, quota)
    }

    /// Removes the value under `keys`. If the surrounding map has no entries afterwards, the function writes a marker
    /// for this map, even if the map did not exist before.
    pub(super) fn delete<W: StateReader>(
        self,
        overlay: &mut Overlay<W>,
        keys: &[Key],
        quota: &mut StorageQuota,
    ) -> Result<(), StorageFault> {
        let indices = texts(keys)?;
        if self.exists(overlay, keys, quota)? {
            self.clear(overlay, &indices, quota)?;
        }
        let Some((_, outer)) = indices.split_last() else { return Ok(()) };
        let parent = self.looked_up(outer, quota)?;
        if overlay.entry(self.contract, &parent)?.is_none() && !overlay.has_below(self.contract, &parent)? {
            quota.spend(weight::WRITTEN)?;
            quota.write(parent.as_str().len())?;
            overlay.set_entry(self.contract, &parent, Some(&StorageKey::EMPTY_MAP))?;
        }
        Ok(())
    }

    fn type_below(&self, keys: &[Key]) -> Result<&Type, StorageFault> {
        type_behind(self.ty, keys.len()).ok_or(StorageFault::TooManyKeys)
    }

    fn key(&self, indices: &[MapKey]) -> StorageKey {
        StorageKey::map_entry(self.contract, self.name, indices)
    }

    /// Returns the storage key of a value, and counts the bytes of this key for a read or removal.
    fn looked_up(&self, indices: &[MapKey], quota: &mut StorageQuota) -> Result<StorageKey, StorageFault> {
        let key = self.key(indices);
        quota.seek(&key)?;
        Ok(key)
    }

    /// Removes the entry at `indices`, and for a map all entries below.
    fn clear<W: StateReader>(
        self,
        overlay: &mut Overlay<W>,
        indices: &[MapKey],
        quota: &mut StorageQuota,
    ) -> Result<(), StorageFault> {
        quota.spend(weight::WRITTEN)?;
        let prefix = self.key(indices);
        let is_map = type_behind(self.ty, indices.len()).is_some_and(|ty| matches!(ty, Type::Map(..)));
        if is_map {
            count_removed(overlay, self.contract, &prefix, quota)?;
            return Ok(overlay.remove_all(self.contract, &prefix)?);
        }
        Ok(overlay.set_entry(self.contract, &prefix, None)?)
    }

    /// Writes a value. The caller has removed the entries of an earlier map. The depth of the recursion is the nesting
    /// of maps in the type, which the checker limits.
    fn write<W: StateReader>(
        self,
        overlay: &mut Overlay<W>,
        indices: &mut Vec<MapKey>,
        ty: &Type,
        value: &Value,
        quota: &mut StorageQuota,
    ) -> Result<(), StorageFault> {
        if let (Type::Map(_, value_type), Value::Map(map)) = (ty, value)
            && map.iter().next().is_some()
        {
            for (key, value) in map {
                indices.push(key_text(key, indices)?);
                self.write(overlay, indices, value_type, value, quota)?;
                indices.pop();
            }
            return Ok(());
        }
        let key = self.key(indices);
        quota.spend(weight::WRITTEN)?;
        quota.write(key.as_str().len())?;
        if matches!(value, Value::Map(_)) {
            return Ok(overlay.set_entry(self.contract, &key, Some(&StorageKey::EMPTY_MAP))?);
        }
        let text = text_of(value, quota.written).ok_or(StorageFault::NoRoom)?;
        quota.write(text.len())?;
        Ok(overlay.set_entry(self.contract, &key, Some(text.as_bytes()))?)
    }

    /// Reads a map from its sorted entries, whose paths have the first `depth` keys in common. `empties` has the empty
    /// maps of this depth and below.
    fn read_map(
        reader: &mut ValueReader<'_>,
        empties: &[Map],
        ty: &Type,
        entries: &[(Vec<&str>, &Arc<[u8]>)],
        depth: usize,
    ) -> Result<Map, StorageFault> {
        let (Type::Map(key_type, value_type), Some((empty, inner))) = (ty, empties.split_first()) else {
            return Err(StorageFault::Unreadable);
        };
        let mut map = empty.clone();
        for group in entries.chunk_by(|(left, _), (right, _)| left.get(depth) == right.get(depth)) {
            let Some((path, value)) = group.first() else { continue };
            // An entry without a key at this depth is the marker of the map, and not an entry of the map.
            let Some(index) = path.get(depth) else { continue };
            let key = Key::new(read(reader, index.as_bytes(), key_type)?).map_err(|_| StorageFault::Unreadable)?;
            let value = match &**value_type {
                Type::Map(..) => Value::Map(Self::read_map(reader, inner, value_type, group, depth.saturating_add(1))?),
                Type::Address(_)
                | Type::Adt(..)
                | Type::Forall(..)
                | Type::Function(..)
                | Type::Primitive(_)
                | Type::Unit
                | Type::Variable(_) => read(reader, value, value_type)?,
            };
            map.insert(key, value);
        }
        Ok(map)
    }
}

fn read(reader: &mut ValueReader<'_>, text: &[u8], ty: &Type) -> Result<Value, StorageFault> {
    let document = json::parse(text).map_err(|_| StorageFault::Unreadable)?;
    reader.read(document.root(), ty).map_err(|_| StorageFault::Unreadable)
}

/// Returns an empty map for each nested map of a type, the outermost first. The list is empty if the type is not a map.
/// All maps of one depth share an empty map, because the creation of an empty map takes time in proportion to the size
/// of the type.
fn empties(ty: &Type) -> Vec<Map> {
    let maps = std::iter::successors(Some(ty), |ty| type_behind(ty, 1));
    let empty = |ty: &Type| match ty {
        Type::Map(key, value) => Some(Map::new(Type::clone(key), Type::clone(value))),
        Type::Address(_)
        | Type::Adt(..)
        | Type::Forall(..)
        | Type::Function(..)
        | Type::Primitive(_)
        | Type::Unit
        | Type::Variable(_) => None,
    };
    maps.map_while(empty).collect()
}

fn texts(keys: &[Key]) -> Result<Vec<MapKey>, StorageFault> {
    let mut texts = Vec::with_capacity(keys.len());
    for key in keys {
        texts.push(key_text(key, &texts)?);
    }
    Ok(texts)
}

/// Returns the text of a key. Fails if this text and the texts in `before` have more than [`MAX_KEYS`] bytes together.
fn key_text(key: &Key, before: &[MapKey]) -> Result<MapKey, StorageFault> {
    let used: usize = before.iter().map(|key| key.as_str().len()).sum();
    let text = text_of(key.value(), MAX_KEYS.saturating_sub(used)).ok_or(StorageFault::KeysTooLong)?;
    MapKey::from_json(text).map_err(|_| StorageFault::Unreadable)
}

/// Counts the work to remove the entries of a map. The node reads each entry, and removes it from the trie at the end
/// of the block. Without a work limit the function reads nothing.
fn count_removed<W: StateReader>(
    overlay: &mut Overlay<W>,
    contract: &Address,
    prefix: &StorageKey,
    quota: &mut StorageQuota,
) -> Result<(), StorageFault> {
    let mut fits = Ok(());
    if quota.limits_work() {
        overlay.visit_below(contract, prefix, &mut |_, value| {
            fits = quota.spend(weight::WRITTEN).and_then(|()| quota.spend_bytes(value.len(), weight::READ_BYTE));
            if fits.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
    }
    fits
}

/// Returns the entries below `prefix`, by the rest of their keys. The entry of `prefix` itself is not among them.
///
/// # Errors
///
/// [`StorageFault::TooLarge`]: there are more than `most` entries, or the query is above its work limit. The order of
/// the entries depends on earlier reads of the block. Therefore both errors set the same work.
fn entries_below<W: StateReader>(
    overlay: &mut Overlay<W>,
    contract: &Address,
    prefix: &StorageKey,
    most: usize,
    quota: &mut StorageQuota,
) -> Result<BTreeMap<String, Arc<[u8]>>, StorageFault> {
    let mut entries = BTreeMap::new();
    let mut fits = Ok(());
    overlay.visit_below(contract, prefix, &mut |key, value| {
        if let Some(path) = key.as_str().strip_prefix(prefix.as_str()).filter(|path| !path.is_empty()) {
            fits = quota.spend(weight::ENTRY).and_then(|()| quota.read(path.len().saturating_add(value.len())));
            entries.insert(path.to_owned(), Arc::from(value));
        }
        if fits.is_err() || entries.len() > most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    fits?;
    if entries.len() > most { Err(quota.exceed()) } else { Ok(entries) }
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, rc::Rc};

    use silica_protocol::{Account, BlockNumber, Timestamp};
    use silica_scilla::json::parse_type;

    use super::*;
    use crate::accounts::{Accounts, Source, Visitor};

    const CONTRACT: Address = Address::new([0xc0; 20]);

    impl StoredField<'_> {
        /// Parses a value of the type that the field has under this number of keys.
        fn read(&self, text: &str, keys: usize) -> Value {
            let ty = type_behind(self.ty, keys).unwrap();
            read(&mut ValueReader::new(self.known), text.as_bytes(), ty).unwrap()
        }
    }

    struct Field {
        overlay: Overlay<BTreeMap<Address, Account>>,
        ty: Type,
        known: DataTypes,
    }

    impl Field {
        fn new(ty: &str, initial: &str) -> Self {
            let overlay = Overlay::new(BTreeMap::from([(CONTRACT, crate::testing::contract())]));
            let mut field = Self { overlay, ty: parse_type(ty).unwrap(), known: DataTypes::built_in() };
            field.store(&[], initial);
            field
        }

        fn field(&self) -> StoredField<'_> {
            StoredField { contract: &CONTRACT, name: "m", ty: &self.ty, known: &self.known }
        }

        fn keys(keys: &[&str]) -> Vec<Key> {
            keys.iter().map(|key| Key::new(Value::string(*key).unwrap()).unwrap()).collect()
        }

        fn store(&mut self, keys: &[&str], value: &str) {
            let (ty, known) = (self.ty.clone(), self.known.clone());
            let field = StoredField { contract: &CONTRACT, name: "m", ty: &ty, known: &known };
            let keys = Self::keys(keys);
            let value = field.read(value, keys.len());
            field.store(&mut self.overlay, &keys, &value, &mut StorageQuota::new()).unwrap();
        }

        fn delete(&mut self, keys: &[&str]) {
            let (ty, known) = (self.ty.clone(), self.known.clone());
            let field = StoredField { contract: &CONTRACT, name: "m", ty: &ty, known: &known };
            field.delete(&mut self.overlay, &Self::keys(keys), &mut StorageQuota::new()).unwrap();
        }

        fn load(&mut self, keys: &[&str]) -> Option<String> {
            let (ty, known) = (self.ty.clone(), self.known.clone());
            let field = StoredField { contract: &CONTRACT, name: "m", ty: &ty, known: &known };
            let keys = Self::keys(keys);
            let value = field.load(&mut self.overlay, &keys, u64::MAX, &mut StorageQuota::new()).unwrap();
            assert_eq!(field.exists(&mut self.overlay, &keys, &mut StorageQuota::new()).unwrap(), value.is_some());
            value.map(|value| text_of(&value, usize::MAX).unwrap())
        }

        /// Returns the entries with `/` for separators, and without the contract.
        fn entries(&mut self) -> Vec<(String, String)> {
            let changes = self.overlay.changes().unwrap();
            let entries = changes.iter().flat_map(|change| &change.storage);
            let text = |(key, value): (&StorageKey, &super::super::entries::Entry)| {
                let key = key.as_str()[40..].replace(StorageKey::SEPARATOR, "/");
                Some((key, String::from_utf8_lossy(value.as_deref()?).into_owned()))
            };
            entries.filter_map(text).collect()
        }

        #[track_caller]
        fn check(&mut self, expected: &[(&str, &str)]) {
            let expected: Vec<_> =
                expected.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
            assert_eq!(self.entries(), expected);
        }
    }

    const MARKER: &str = "\u{12}\0";

    #[test]
    fn a_plain_field_is_one_entry() {
        let mut field = Field::new("Uint32", r#""420""#);
        field.check(&[("/m/", r#""420""#)]);
        assert_eq!(field.field().type_below(&[]).unwrap(), &field.ty);
        assert_eq!(field.load(&[]).as_deref(), Some(r#""420""#));
        field.store(&[], r#""7""#);
        field.check(&[("/m/", r#""7""#)]);
    }

    #[test]
    fn values_have_the_text_of_the_interpreter() {
        let mut field = Field::new("Bool", r#"{ "constructor": "True", "argtypes": [], "arguments": [] }"#);
        field.check(&[("/m/", r#"{"constructor":"True","argtypes":[],"arguments":[]}"#)]);
        let mut field = Field::new("List String", r#"["a\"b", "c"]"#);
        field.check(&[("/m/", r#"["a\"b","c"]"#)]);
    }

    #[test]
    fn the_marker_of_an_empty_map_goes_and_comes_back() {
        let mut field = Field::new("Map String String", "[]");
        field.check(&[("/m/", MARKER)]);
        assert_eq!(field.load(&[]).as_deref(), Some("[]"));
        assert_eq!(field.load(&["a"]), None);
        field.store(&["a"], r#""1""#);
        field.store(&["b"], r#""2""#);
        field.check(&[(r#"/m/"a"/"#, r#""1""#), (r#"/m/"b"/"#, r#""2""#)]);
        assert_eq!(field.load(&[]).as_deref(), Some(r#"[{"key":"a","val":"1"},{"key":"b","val":"2"}]"#));
        field.delete(&["a"]);
        field.delete(&["absent"]);
        field.check(&[(r#"/m/"b"/"#, r#""2""#)]);
        field.delete(&["b"]);
        field.check(&[("/m/", MARKER)]);
    }

    #[test]
    fn nested_maps_have_markers_at_each_depth() {
        let mut field = Field::new("Map String (Map String String)", "[]");
        field.store(&["a", "b"], r#""1""#);
        field.store(&["c"], "[]");
        field.check(&[(r#"/m/"a"/"b"/"#, r#""1""#), (r#"/m/"c"/"#, MARKER)]);
        assert_eq!(field.load(&["c"]).as_deref(), Some("[]"));
        assert_eq!(field.load(&["d"]), None);
        assert_eq!(field.load(&["a"]).as_deref(), Some(r#"[{"key":"b","val":"1"}]"#));
        assert_eq!(
            field.load(&[]).as_deref(),
            Some(r#"[{"key":"a","val":[{"key":"b","val":"1"}]},{"key":"c","val":[]}]"#)
        );
        field.delete(&["a", "b"]);
        field.check(&[(r#"/m/"a"/"#, MARKER), (r#"/m/"c"/"#, MARKER)]);
        field.delete(&["a"]);
        field.delete(&["c"]);
        field.check(&[("/m/", MARKER)]);
    }

    #[test]
    fn removing_what_is_not_there_leaves_the_map_around_it() {
        let mut field = Field::new("Map String (Map String (Map String String))", "[]");
        field.delete(&["x"]);
        field.check(&[("/m/", MARKER)]);
        field.delete(&["a", "x"]);
        field.check(&[("/m/", MARKER), (r#"/m/"a"/"#, MARKER)]);
        assert_eq!(field.load(&["a"]).as_deref(), Some("[]"));
        assert_eq!(field.load(&[]).as_deref(), Some(r#"[{"key":"a","val":[]}]"#));
        field.delete(&["a", "b", "x"]);
        field.check(&[("/m/", MARKER), (r#"/m/"a"/"#, MARKER), (r#"/m/"a"/"b"/"#, MARKER)]);
        assert_eq!(field.load(&["a"]).as_deref(), Some(r#"[{"key":"b","val":[]}]"#));
        assert_eq!(field.load(&[]).as_deref(), Some(r#"[{"key":"a","val":[{"key":"b","val":[]}]}]"#));
        // Only the innermost missing map gets a marker, and not the map around it.
        field.delete(&["c", "d", "x"]);
        assert_eq!(field.load(&["c"]).as_deref(), Some(r#"[{"key":"d","val":[]}]"#));
        field.delete(&["c", "d"]);
        field.check(&[("/m/", MARKER), (r#"/m/"a"/"#, MARKER), (r#"/m/"a"/"b"/"#, MARKER), (r#"/m/"c"/"#, MARKER)]);
        // A write removes the markers on its path, and no others.
        field.store(&["a", "b", "k"], r#""1""#);
        field.check(&[(r#"/m/"a"/"b"/"k"/"#, r#""1""#), (r#"/m/"c"/"#, MARKER)]);
        field.delete(&["a"]);
        field.delete(&["c"]);
        field.check(&[("/m/", MARKER)]);
    }

    #[test]
    fn whole_maps_replace_what_was_there() {
        let mut field = Field::new("Map String (Map String String)", "[]");
        field.store(&["a", "b"], r#""1""#);
        field.store(&["a"], r#"[{"key":"x","val":"2"}]"#);
        field.check(&[(r#"/m/"a"/"x"/"#, r#""2""#)]);
        field.store(&[], r#"[{"key":"k","val":[]}]"#);
        field.check(&[(r#"/m/"k"/"#, MARKER)]);
        field.store(&[], "[]");
        field.check(&[("/m/", MARKER)]);
    }

    #[test]
    fn names_that_begin_alike_are_kept_apart() {
        let mut field = Field::new("Map String String", "[]");
        let other = StorageKey::map_entry(&CONTRACT, "ma", [MapKey::string("a")]);
        field.overlay.set_entry(&CONTRACT, &other, Some(b"1")).unwrap();
        field.store(&[], "[]");
        assert_eq!(field.load(&[]).as_deref(), Some("[]"));
        field.check(&[("/m/", MARKER), (r#"/ma/"a"/"#, "1")]);
    }

    #[test]
    fn no_more_of_a_map_is_read_than_can_be_paid_for() {
        // All values and one key of each map have size 0.
        let three = |value: &str| {
            let entry = |key| format!(r#"{{"key":"{key}","val":{value}}}"#);
            format!("[{}]", ["0x", "0x01", "0x02"].map(entry).join(","))
        };
        let mut field = Field::new("Map ByStr (Map ByStr (Map ByStr Uint32))", &three(&three("[]")));
        let (ty, known) = (field.ty.clone(), field.known.clone());
        let stored = StoredField { contract: &CONTRACT, name: "m", ty: &ty, known: &known };
        for (keys, size) in [(vec![], 8), (vec![Key::new(Value::ByStr([1].into())).unwrap()], 2)] {
            for most in 0..=size {
                match stored.load(&mut field.overlay, &keys, most, &mut StorageQuota::new()) {
                    Ok(value) => assert_eq!((value.unwrap().size(), most), (size, size)),
                    Err(fault) => assert!(matches!(fault, StorageFault::TooLarge) && most < size, "{fault:?}"),
                }
            }
        }
    }

    #[test]
    fn no_more_is_written_than_there_is_room_for() {
        let value = r#"[{"key":"a","val":"1"},{"key":"b","val":[]}]"#.replace(r#""1""#, r#"[{"key":"x","val":"1"}]"#);
        let mut field = Field::new("Map String (Map String String)", &value);
        let written = field.overlay.changes().unwrap();
        let written = written.iter().flat_map(|change| &change.storage);
        // The marker of an empty map does not count.
        let bytes: usize =
            written.map(|(key, value)| key.as_str().len() + value.as_ref().map_or(0, |it| it.len())).sum();
        let bytes = bytes - 2;
        let ty = field.ty.clone();
        let known = DataTypes::built_in();
        let stored = StoredField { contract: &CONTRACT, name: "m", ty: &ty, known: &known };
        let value = stored.read(&value, 0);
        for (written, left) in [(bytes + 5, Some(5)), (bytes, Some(0)), (bytes - 1, None), (0, None)] {
            let mut quota = StorageQuota { written, ..StorageQuota::new() };
            match stored.store(&mut field.overlay, &[], &value, &mut quota) {
                Ok(()) => assert_eq!((Some(quota.written), quota.looked_up), (left, MAX_LOOKED_UP)),
                Err(fault) => assert!(matches!(fault, StorageFault::NoRoom) && left.is_none(), "{fault:?}"),
            }
        }
    }

    #[test]
    fn each_place_is_paid_for_that_is_looked_at() {
        let (name, rest) = ("k".repeat(1_000), "l".repeat(500));
        let keys = Field::keys(&[&name, &rest]);
        let (ty, known) = (parse_type("Map String (Map String String)").unwrap(), DataTypes::built_in());
        let stored = StoredField { contract: &CONTRACT, name: "m", ty: &ty, known: &known };
        // `whole` has the address, the field and two texts in quotes, each with a separator. `outer` is without the
        // second text.
        let (whole, outer) = (40 + 1 + 2 + 1_003 + 503 - COMMON_KEY, 40 + 1 + 2 + 1_003 - COMMON_KEY);
        let costs = |looked_up: usize, written: usize, act: &dyn Fn(&mut Overlay<_>, &mut StorageQuota) -> bool| {
            for (less, enough) in [((0, 0), true), ((1, 0), looked_up == 0), ((0, 1), written == 0)] {
                let mut overlay = Overlay::new(BTreeMap::from([(CONTRACT, crate::testing::contract())]));
                let bytes = (looked_up.saturating_sub(less.0), written.saturating_sub(less.1));
                let mut quota = StorageQuota { looked_up: bytes.0, written: bytes.1, read: 0, ..StorageQuota::new() };
                assert_eq!(act(&mut overlay, &mut quota), enough, "{looked_up} {written} {less:?}");
                assert!(!enough || (quota.looked_up, quota.written) == (0, 0), "{quota:?}");
            }
        };
        costs(whole, 0, &|overlay, quota| stored.load(overlay, &keys, 1, quota).is_ok());
        costs(whole, 0, &|overlay, quota| stored.exists(overlay, &keys, quota).is_ok());
        costs(outer, whole + COMMON_KEY + 3, &|overlay, quota| {
            stored.store(overlay, &keys, &Value::string("v").unwrap(), quota).is_ok()
        });
        // The marker of the surrounding map is written.
        costs(whole + outer, outer + COMMON_KEY, &|overlay, quota| stored.delete(overlay, &keys, quota).is_ok());
    }

    #[test]
    fn no_more_is_read_than_there_is_room_for() {
        let mut field = Field::new("Map String String", r#"[{"key":"a","val":"12"},{"key":"b","val":"3"}]"#);
        let (ty, known) = (field.ty.clone(), DataTypes::built_in());
        let stored = StoredField { contract: &CONTRACT, name: "m", ty: &ty, known: &known };
        // A part of a key has quotes and a separator, a value has quotes.
        for (keys, bytes) in [(vec![], 4 + 4 + 4 + 3), (Field::keys(&["a"]), 4), (Field::keys(&["c"]), 0)] {
            for read in 0..=bytes {
                let mut quota = StorageQuota { read, ..StorageQuota::new() };
                match stored.load(&mut field.overlay, &keys, 100, &mut quota) {
                    Ok(_) => assert_eq!((read, quota.read), (bytes, 0)),
                    Err(fault) => assert!(matches!(fault, StorageFault::ReadTooMuch) && read < bytes, "{fault:?}"),
                }
            }
        }
    }

    /// Storage with `count` entries of a map under `m`, each with 1,000 bytes, that counts the entries that are read.
    struct Counting {
        count: usize,
        visited: Rc<Cell<usize>>,
    }

    impl Counting {
        const BYTES: usize = 1_000;

        fn text() -> Vec<u8> {
            format!("\"{}\"", "x".repeat(Self::BYTES - 2)).into_bytes()
        }
    }

    impl Accounts for Counting {
        fn account(&self, _address: &Address) -> Result<Option<Account>, StateError> {
            Ok(Some(crate::testing::contract()))
        }
    }

    impl StateReader for Counting {
        fn entry(&self, _contract: &Address, _key: &StorageKey) -> Result<Option<Vec<u8>>, StateError> {
            Ok(None)
        }

        fn visit_entries(
            &self,
            contract: &Address,
            _prefix: &StorageKey,
            from: Option<&StorageKey>,
            visit: Visitor<'_>,
        ) -> Result<(), StateError> {
            let keys = (0..self.count)
                .map(|number| StorageKey::map_entry(contract, "m", [MapKey::string(&format!("{number:03}"))]));
            for key in keys.filter(|key| from.is_none_or(|from| key >= from)) {
                self.visited.set(self.visited.get() + 1);
                if visit(&key, &Self::text()).is_break() {
                    break;
                }
            }
            Ok(())
        }

        fn source(&self, _contract: &Address) -> Result<Option<Source>, StateError> {
            Ok(None)
        }

        fn block_time(&self, _block: BlockNumber) -> Result<Option<Timestamp>, StateError> {
            Ok(None)
        }
    }

    type Query<'a> = &'a dyn Fn(&mut Overlay<Counting>, &mut StorageQuota) -> Result<(), StorageFault>;

    #[test]
    fn read_beyond_the_work_limit_stops_at_the_bytes_of_its_entries() {
        let (ty, known) = (parse_type("Map String String").unwrap(), DataTypes::built_in());
        let stored = StoredField { contract: &CONTRACT, name: "m", ty: &ty, known: &known };
        let delete = |overlay: &mut Overlay<_>, quota: &mut StorageQuota| stored.clear(overlay, &[], quota);
        let load =
            |overlay: &mut Overlay<_>, quota: &mut StorageQuota| stored.load(overlay, &[], u64::MAX, quota).map(drop);
        for query in [&load as Query<'_>, &delete] {
            let run = |work: u64| {
                let visited = Rc::new(Cell::new(0));
                let state = Counting { count: 100, visited: Rc::clone(&visited) };
                let mut quota = StorageQuota::new();
                quota.begin(work);
                let result = query(&mut Overlay::new(state), &mut quota);
                (result, quota.worked(), visited.get())
            };
            let (result, all, visited) = run(u64::MAX - 1);
            result.unwrap();
            assert_eq!(visited, 100);
            // The bytes of the values are most of the work. So a run with half of the work reads about half of the
            // entries.
            let bytes = u64::try_from(100 * Counting::BYTES).unwrap() * weight::READ_BYTE;
            assert!(bytes < all && all < bytes * 2, "{bytes} {all}");
            let (result, worked, visited) = run(all / 2);
            assert!(matches!(result, Err(StorageFault::TooLarge)), "{result:?}");
            assert_eq!(worked, all / 2 + 1);
            assert!((40..=60).contains(&visited), "{visited} entries were read");
            assert!(run(all).0.is_ok() && run(all - 1).0.is_err());
        }
    }

    #[test]
    fn keys_to_one_place_have_a_limit() {
        let mut field = Field::new("Map String (Map String String)", "[]");
        let (ty, known) = (field.ty.clone(), DataTypes::built_in());
        let stored = StoredField { contract: &CONTRACT, name: "m", ty: &ty, known: &known };
        let half = "k".repeat(MAX_KEYS / 2 - 2);
        for (last, fits) in [(half.clone(), true), (format!("{half}k"), false)] {
            let keys = Field::keys(&[&half, &last]);
            let whole = format!(r#"[{{"key":"{half}","val":[{{"key":"{last}","val":"v"}}]}}]"#);
            let whole = stored.read(&whole, 0);
            let (overlay, quota) = (&mut field.overlay, &mut StorageQuota::new());
            let result = [
                stored.load(overlay, &keys, 1, quota).map(drop),
                stored.exists(overlay, &keys, quota).map(drop),
                stored.store(overlay, &keys, &Value::string("v").unwrap(), quota),
                stored.delete(overlay, &keys, quota),
                stored.store(overlay, &[], &whole, quota),
            ];
            for result in result {
                assert_eq!(result.is_ok(), fits);
                assert!(fits || matches!(result, Err(StorageFault::KeysTooLong)), "{result:?}");
            }
        }
    }

    #[test]
    fn too_many_keys_are_an_error() {
        let mut field = Field::new("Uint32", r#""1""#);
        let ty = field.ty.clone();
        let known = DataTypes::built_in();
        let stored = StoredField { contract: &CONTRACT, name: "m", ty: &ty, known: &known };
        let load = stored.load(&mut field.overlay, &Field::keys(&["a"]), u64::MAX, &mut StorageQuota::new());
        assert!(matches!(load, Err(StorageFault::TooManyKeys)));
    }
}
