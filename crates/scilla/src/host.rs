//! The interface through which a run reads and writes state, and an implementation in memory.

use std::{collections::BTreeMap, sync::Arc};

use silica_protocol::Address;

use crate::{
    code::DeclaredField,
    types::{Primitive, Type, Width},
    value::{BNum, Key, Map, Value},
};

/// The state that a running contract can read and change.
///
/// Keys address the entries of maps, so a host need not load a whole map to return one entry. If there are fewer keys
/// than nested maps, the call concerns an inner map.
///
/// A run does not undo its changes. If the run fails, the caller must drop the changes.
pub trait Host {
    /// Sets the remaining units of the interpreter and the remaining [work](crate::work) in nanoseconds for the next
    /// call. The run fails if a map has more entries than the remaining units, or takes more than the remaining work.
    /// The host may then return [`HostError::too_large`].
    fn limit(&mut self, _units: u64, _work: u64) {}

    /// Returns the [work](crate::work) of the calls since the last call of [`Self::limit`], in nanoseconds.
    fn worked(&self) -> u64 {
        0
    }

    /// Returns the value of a field or entry, or `None` if the entry does not exist.
    ///
    /// # Errors
    ///
    /// If the host cannot read the value.
    fn load(&mut self, field: &DeclaredField, keys: &[Key]) -> Result<Option<Value>, HostError>;

    /// Returns whether an entry exists.
    ///
    /// # Errors
    ///
    /// If the host cannot read the map.
    fn exists(&mut self, field: &DeclaredField, keys: &[Key]) -> Result<bool, HostError>;

    /// Replaces the value of a field or entry. Creates missing inner maps.
    ///
    /// # Errors
    ///
    /// If the change cannot be made.
    fn store(&mut self, field: &DeclaredField, keys: &[Key], value: Value) -> Result<(), HostError>;

    /// Removes an entry or an inner map. Has no effect if neither exists. The host decides whether the surrounding
    /// map exists afterwards.
    ///
    /// # Errors
    ///
    /// If the change cannot be made.
    fn delete(&mut self, field: &DeclaredField, keys: &[Key]) -> Result<(), HostError>;

    /// Returns a field or entry of another account, or `None` if the account, field or entry does not exist.
    ///
    /// The name is a field of the contract, or one of `_balance`, `_nonce`, `_this_address` and `_codehash`.
    ///
    /// # Errors
    ///
    /// If the host cannot read the account.
    fn remote(
        &mut self,
        address: &Address,
        name: &str,
        keys: &[Key],
        want: RemoteWant,
    ) -> Result<Option<Remote>, HostError>;

    /// Returns the number of the current block.
    ///
    /// # Errors
    ///
    /// If the host does not have the number.
    fn block_number(&mut self) -> Result<BNum, HostError>;

    /// Returns the chain id.
    ///
    /// # Errors
    ///
    /// If the host does not have the id.
    fn chain_id(&mut self) -> Result<u32, HostError>;

    /// Returns the time of a block in microseconds, or `None` if the host does not have it.
    fn timestamp(&mut self, block: &BNum) -> Option<u64>;
}

/// The part of a remote field that a call needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteWant {
    /// Only the type of the field. A result shows that the field exists.
    Type,
    /// The type and the value.
    Value,
}

/// A field of another account.
#[derive(Clone, Debug)]
pub struct Remote {
    /// Type of the whole field.
    pub ty: Type,
    /// Value of the field or entry, or `None` if the call needs only the type.
    pub value: Option<Value>,
}

/// Reason why a call of the host failed. The text is part of the receipt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct HostError {
    /// Text of the error.
    pub message: String,
    /// Whether the failure has the source position of the field's name.
    pub at_field: bool,
    /// Whether the value exceeds a [limit](Host::limit), by its size or its work. The run then fails with exhausted
    /// gas.
    pub is_too_large: bool,
}

impl HostError {
    /// Returns an error without a source position.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), at_field: false, is_too_large: false }
    }

    /// Returns the error for a value that exceeds a [limit](Host::limit), by its size or its work.
    pub const fn too_large() -> Self {
        Self { message: String::new(), at_field: false, is_too_large: true }
    }

    /// Returns an error with the source position of the field's name.
    pub fn at_field(message: impl Into<String>) -> Self {
        Self { message: message.into(), at_field: true, is_too_large: false }
    }
}

/// A named value with its type: a field, or an entry of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateField {
    /// Name of the field or entry.
    pub name: Arc<str>,
    /// Type of the value.
    pub ty: Type,
    /// Value of the field or entry.
    pub value: Value,
}

/// A host in memory. The command line fills this host from the input files.
#[derive(Clone, Debug, Default)]
pub struct MemoryHost {
    /// Fields of the contract. A store of a whole field moves the field to the front, as in the reference. A store of a
    /// map entry does not change the order.
    pub fields: Vec<StateField>,
    /// Fields of other accounts.
    pub accounts: BTreeMap<Address, Vec<StateField>>,
    /// Number of the current block, if known.
    pub block_number: Option<BNum>,
    /// Chain id, if known.
    pub chain_id: Option<u32>,
    /// Times of blocks in microseconds, by the block number as text, or `None` if no times are given.
    pub timestamps: Option<BTreeMap<String, u64>>,
}

impl MemoryHost {
    fn field(&mut self, name: &str) -> Result<&mut StateField, HostError> {
        let missing = || HostError::at_field(format!("StateService: Field \"{name}\" not found.\n"));
        self.fields.iter_mut().find(|field| *field.name == *name).ok_or_else(missing)
    }
}

impl Host for MemoryHost {
    fn load(&mut self, field: &DeclaredField, keys: &[Key]) -> Result<Option<Value>, HostError> {
        look_up(&self.field(&field.name)?.value, keys, &field.name)
    }

    fn exists(&mut self, field: &DeclaredField, keys: &[Key]) -> Result<bool, HostError> {
        Ok(self.load(field, keys)?.is_some())
    }

    fn store(&mut self, field: &DeclaredField, keys: &[Key], value: Value) -> Result<(), HostError> {
        let stored = self.field(&field.name)?;
        if let Some((last, path)) = keys.split_last() {
            let Value::Map(map) = &mut stored.value else { return Err(no_map(&field.name)) };
            return put(map, path, last, value, &field.name);
        }
        stored.value = value;
        let position = self.fields.iter().position(|stored| stored.name == field.name).unwrap_or_default();
        if let Some(front) = self.fields.get_mut(..=position) {
            front.rotate_right(1);
        }
        Ok(())
    }

    fn delete(&mut self, field: &DeclaredField, keys: &[Key]) -> Result<(), HostError> {
        let stored = self.field(&field.name)?;
        match (keys.split_last(), &mut stored.value) {
            (Some((last, path)), Value::Map(map)) => delete(map, path, last, &field.name),
            _ => {
                Err(HostError::at_field(format!("StateService: Cannot remove non-map value {} from state", field.name)))
            }
        }
    }

    fn remote(
        &mut self,
        address: &Address,
        name: &str,
        keys: &[Key],
        want: RemoteWant,
    ) -> Result<Option<Remote>, HostError> {
        let fields = self.accounts.get(address);
        let Some(field) = fields.and_then(|fields| fields.iter().find(|field| *field.name == *name)) else {
            return Ok(None);
        };
        let value = look_up(&field.value, keys, name)?;
        let wanted = |value| Some(value).filter(|_| want == RemoteWant::Value);
        Ok(value.map(|value| Remote { ty: field.ty.clone(), value: wanted(value) }))
    }

    fn block_number(&mut self) -> Result<BNum, HostError> {
        self.block_number.clone().ok_or_else(|| absent("BLOCKNUMBER"))
    }

    fn chain_id(&mut self) -> Result<u32, HostError> {
        self.chain_id.ok_or_else(|| absent("CHAINID"))
    }

    fn timestamp(&mut self, block: &BNum) -> Option<u64> {
        self.timestamps.as_ref()?.get(&*block.digits()).copied()
    }
}

fn absent(name: &str) -> HostError {
    HostError::new(format!("fetch_bcinfo: query_name {name} not found"))
}

fn too_many_keys(name: &str) -> HostError {
    HostError::at_field(format!("StateService: Cannot index into map {name}. Too many index keys."))
}

fn no_map(name: &str) -> HostError {
    HostError::at_field(format!("StateService: Cannot index into map {name} due to non-map type"))
}

fn look_up(value: &Value, keys: &[Key], name: &str) -> Result<Option<Value>, HostError> {
    let mut value = value;
    for key in keys {
        let map = value.as_map().ok_or_else(|| too_many_keys(name))?;
        match map.get(key) {
            Some(found) => value = found,
            None => return Ok(None),
        }
    }
    Ok(Some(value.clone()))
}

/// Puts an entry into nested maps. During the change, the function removes each inner map from its outer map.
/// Otherwise, a change of the shared inner map would copy the inner map.
fn put(map: &mut Map, path: &[Key], last: &Key, value: Value, name: &str) -> Result<(), HostError> {
    let Some((first, rest)) = path.split_first() else {
        map.insert(last.clone(), value);
        return Ok(());
    };
    let inner = if let Some(inner) = map.remove(first) {
        inner
    } else if let Type::Map(key, value) = map.value_type() {
        Value::Map(Map::new(Type::clone(key), Type::clone(value)))
    } else {
        return Err(no_map(name));
    };
    let Value::Map(mut inner) = inner else { return Err(too_many_keys(name)) };
    put(&mut inner, rest, last, value, name)?;
    map.insert(first.clone(), Value::Map(inner));
    Ok(())
}

fn delete(map: &mut Map, path: &[Key], last: &Key, name: &str) -> Result<(), HostError> {
    let Some((first, rest)) = path.split_first() else {
        map.remove(last);
        return Ok(());
    };
    match map.remove(first) {
        None => Ok(()),
        Some(Value::Map(mut inner)) => {
            delete(&mut inner, rest, last, name)?;
            map.insert(first.clone(), Value::Map(inner));
            Ok(())
        }
        Some(_) => Err(too_many_keys(name)),
    }
}

/// Returns the type of the values that a nested map has under `keys` keys, or `None` if the type has fewer nested maps.
pub fn type_behind(ty: &Type, keys: usize) -> Option<&Type> {
    (0..keys).try_fold(ty, |ty, _| if let Type::Map(_, value) = ty { Some(&**value) } else { None })
}

/// The type of balances.
pub(crate) const BALANCE: Type = Type::Primitive(Primitive::Uint(Width::W128));
