//! Edits of contract fields. The new value must be a value that the contract itself could store.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use silica_protocol::{Address, Nonce, Qa};
use silica_scilla::{
    host::type_behind,
    json::{self, Document, JsonError, ValueError, ValueReader},
    types::Type,
    value::Key,
};
use silica_state::StateError;

use super::{
    ContractCache, Overlay,
    module::LoadError,
    storage::{MAX_KEYS, MAX_WRITTEN, StorageFault, StorageQuota, StoredField},
};
use crate::{accounts::StateReader, stage::BuildError};

/// Maximum number of characters of an unknown field name in an error.
const MAX_SHOWN: usize = 64;

/// An edit of a field, or of an entry of a map.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldEdit<'a> {
    pub(crate) contract: &'a Address,
    pub(crate) field: &'a str,
    /// Keys of the entry as texts, the outermost first.
    pub(crate) keys: &'a [String],
    /// The value in the JSON form of Scilla, or `None` to remove the entry.
    pub(crate) value: Option<&'a str>,
}

/// Writes a field, or an entry of a map.
///
/// A panic is an internal error and must not end block production. After an error, the caller discards the overlay.
pub(crate) fn edit_field<W: StateReader>(
    edit: FieldEdit<'_>,
    contract_cache: &ContractCache,
    overlay: &mut Overlay<W>,
) -> Result<(), EditError> {
    catch_unwind(AssertUnwindSafe(|| write(edit, contract_cache, overlay))).unwrap_or(Err(EditError::Unusable))
}

fn write<W: StateReader>(
    edit: FieldEdit<'_>,
    contract_cache: &ContractCache,
    overlay: &mut Overlay<W>,
) -> Result<(), EditError> {
    let FieldEdit { contract, field: name, keys, value } = edit;
    overlay.account(contract)?.ok_or(EditError::UnknownAccount)?;
    let module =
        contract_cache.get(contract, overlay)?.filter(|module| !module.is_library).ok_or(EditError::NotAContract)?;
    let ready = contract_cache.ready(&module, overlay, |_| Ok(())).map_err(|load_error| match load_error {
        LoadError::State(error) => EditError::State(error),
        LoadError::Exhausted | LoadError::Libraries | LoadError::Unusable => EditError::Unusable,
    })?;
    let found = ready.code.fields().find(|field| &*field.name == name);
    let field = found.ok_or_else(|| EditError::UnknownField {
        got: name.chars().take(MAX_SHOWN).collect(),
        known: ready.code.fields().map(|field| field.name.to_string()).collect(),
    })?;
    let known = Arc::clone(ready.code.data_types());
    let mut reader = ValueReader::exact(&known);
    let (keys, ty) = read_keys(&field.ty, keys, &mut reader)?;
    let mut quota = StorageQuota::new();
    let stored = StoredField { contract, name, ty: &field.ty, known: &known };
    let done = match value {
        Some(text) => {
            let document = json::parse(text.as_bytes()).map_err(EditError::NotJson)?;
            let value = reader.read(document.root(), ty).map_err(EditError::Value)?;
            stored.store(overlay, &keys, &value, &mut quota)
        }
        None if keys.is_empty() => return Err(EditError::FieldRemoved),
        None => stored.delete(overlay, &keys, &mut quota),
    };
    done.map_err(|fault| match fault {
        StorageFault::State(error) => EditError::State(error),
        StorageFault::NoRoom
        | StorageFault::LookedUpTooMuch
        | StorageFault::ReadTooMuch
        | StorageFault::KeysTooLong
        | StorageFault::TooLarge => EditError::TooLarge,
        StorageFault::TooManyKeys | StorageFault::Unreadable => EditError::Unusable,
    })
}

/// Reads keys with the key types of their maps. Returns the keys, and the type of the value under these keys.
fn read_keys<'t>(
    field: &'t Type,
    texts: &[String],
    reader: &mut ValueReader<'_>,
) -> Result<(Vec<Key>, &'t Type), EditError> {
    let mut keys = Vec::new();
    for (position, text) in texts.iter().enumerate() {
        let Some(Type::Map(ty, _)) = type_behind(field, position) else {
            return Err(EditError::TooManyKeys { got: texts.len(), most: position });
        };
        let key = reader.read(Document::of_text(text).root(), ty).map_err(EditError::Key)?;
        keys.push(Key::new(key).map_err(|_| EditError::Unusable)?);
    }
    let ty = type_behind(field, keys.len()).ok_or(EditError::TooManyKeys { got: texts.len(), most: 0 })?;
    Ok((keys, ty))
}

/// Reason why an edit failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The null account has the mining reserve and pays the rewards, so it cannot be edited.
    #[error("the null account cannot be edited: it holds the reserve")]
    NullAccount,
    /// The requested balance is above the maximum.
    #[error("balance: expected at most {most} Qa, got {got}")]
    Balance {
        /// The requested balance.
        got: Qa,
        /// The maximum, [`Edit::MOST_BALANCE`](crate::Edit::MOST_BALANCE).
        most: Qa,
    },
    /// The balance after the addition would be above the maximum.
    #[error("amount: expected at most {most} Qa for this account, got {got}")]
    Amount {
        /// The amount to add.
        got: Qa,
        /// Largest amount that an edit can add to this account.
        most: Qa,
    },
    /// The requested nonce is below the nonce of the account. A lower nonce would permit a second execution of earlier
    /// transactions.
    #[error("nonce: expected at least {least}, the nonce of the account, got {got}")]
    NonceTooLow {
        /// The requested nonce.
        got: Nonce,
        /// Nonce of the account.
        least: Nonce,
    },
    /// The requested nonce is above the maximum.
    #[error("nonce: expected at most {most}, got {got}")]
    NonceTooHigh {
        /// The requested nonce.
        got: Nonce,
        /// The maximum, [`Edit::MOST_NONCE`](crate::Edit::MOST_NONCE).
        most: Nonce,
    },
    /// The account is a contract, which sends no transactions.
    #[error("a contract has no nonce")]
    NonceOfContract,
    /// The account does not exist.
    #[error("Address does not exist")]
    UnknownAccount,
    /// The account has no contract.
    #[error("Address not contract address")]
    NotAContract,
    /// The contract has no such field.
    #[error("field: expected one of {}, got {got:?}", listed(.known))]
    UnknownField {
        /// The requested name, or its beginning.
        got: String,
        /// Fields of the contract.
        known: Vec<String>,
    },
    /// The edit removes a field. Only entries of maps can be removed.
    #[error("value: expected a value, because only entries of maps can be removed")]
    FieldRemoved,
    /// The type of the field has fewer nested maps than there are keys.
    #[error("keys: expected at most {most}, got {got}")]
    TooManyKeys {
        /// Number of requested keys.
        got: usize,
        /// Number of nested maps in the type.
        most: usize,
    },
    /// A key does not have the key type of its map.
    #[error("keys: {0}")]
    Key(#[source] ValueError),
    /// The text of the value is not JSON.
    #[error("value: {0}")]
    NotJson(#[source] JsonError),
    /// The value does not have the type of the field.
    #[error("value: {0}")]
    Value(#[source] ValueError),
    /// The value and its keys have more bytes than a transaction may write, or the keys alone are too long.
    #[error(
        "value: expected at most {MAX_WRITTEN} bytes of value and keys, and at most {MAX_KEYS} bytes of keys, got more"
    )]
    TooLarge,
    /// The contract is invalid under the rules of the next block, its storage is invalid, or the edit panicked.
    #[error("failed to load the contract or to write the edit")]
    Unusable,
    /// A read of the state failed.
    #[error("failed to read state")]
    State(#[from] StateError),
    /// The node failed to build the block with the edit.
    #[error("failed to build a block")]
    Build(#[from] BuildError),
}

impl EditError {
    /// Returns whether the edit itself is invalid. If not, the error is internal.
    pub const fn is_refusal(&self) -> bool {
        !matches!(self, Self::Unusable | Self::State(_) | Self::Build(_))
    }
}

/// Joins names with commas, and truncates the text after 160 characters.
fn listed(names: &[String]) -> String {
    const MOST: usize = 160;
    let all = names.join(", ");
    match all.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", all.get(..end).unwrap_or_default()),
        None => all,
    }
}
