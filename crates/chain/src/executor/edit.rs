//! Writing a field of a contract by hand: what the contract could have stored itself, and nothing else.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use silica_protocol::Address;
use silica_scilla::{
    host::type_behind,
    json::{self, Document, ValueReader},
    types::Type,
    value::Key,
};

use super::{
    Modules, Overlay,
    module::Unready,
    storage::{Room, StorageFault, StoredField},
};
use crate::{accounts::World, error::EditError};

/// Characters of a wrong name that are told.
const TOLD: usize = 64;

/// A field, or an entry of its map, and what it is to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldEdit<'a> {
    pub(crate) contract: &'a Address,
    pub(crate) field: &'a str,
    /// Keys of the map as text, the outermost first.
    pub(crate) keys: &'a [String],
    /// In the JSON form of the language; `None` removes the entry.
    pub(crate) value: Option<&'a str>,
}

/// Writes a field, or an entry of its map.
///
/// A panic in there is a fault of ours, which must not end who makes the blocks. What was written until then is void.
pub(crate) fn edit_field<W: World>(
    edit: FieldEdit<'_>,
    modules: &Modules,
    overlay: &mut Overlay<W>,
) -> Result<(), EditError> {
    catch_unwind(AssertUnwindSafe(|| write(edit, modules, overlay))).unwrap_or(Err(EditError::Unusable))
}

fn write<W: World>(edit: FieldEdit<'_>, modules: &Modules, overlay: &mut Overlay<W>) -> Result<(), EditError> {
    let FieldEdit { contract, field: name, keys, value } = edit;
    overlay.account(contract)?.ok_or(EditError::UnknownAccount)?;
    let module = modules.get(contract, overlay)?.filter(|module| !module.is_library).ok_or(EditError::NotAContract)?;
    let ready = modules.ready(&module, overlay, |_| Ok(())).map_err(|unready| match unready {
        Unready::State(error) => EditError::State(error),
        Unready::Exhausted | Unready::Libraries | Unready::Unusable => EditError::Unusable,
    })?;
    let found = ready.code.fields().find(|field| &*field.name == name);
    let field = found.ok_or_else(|| EditError::UnknownField {
        got: name.chars().take(TOLD).collect(),
        known: ready.code.fields().map(|field| field.name.to_string()).collect(),
    })?;
    let known = Arc::clone(ready.code.data_types());
    let mut reader = ValueReader::exact(&known);
    let (keys, kind) = read_keys(&field.kind, keys, &mut reader)?;
    let mut room = Room::new();
    let stored = StoredField { contract, name, kind: &field.kind, known: &known };
    let done = match value {
        Some(text) => {
            let document = json::parse(text.as_bytes()).map_err(EditError::NotJson)?;
            let value = reader.read(document.root(), kind).map_err(EditError::Value)?;
            stored.store(overlay, &keys, &value, &mut room)
        }
        None if keys.is_empty() => return Err(EditError::FieldRemoved),
        None => stored.delete(overlay, &keys, &mut room),
    };
    done.map_err(|fault| match fault {
        StorageFault::State(error) => EditError::State(error),
        StorageFault::NoRoom
        | StorageFault::SoughtTooMuch
        | StorageFault::ReadTooMuch
        | StorageFault::KeysTooLong
        | StorageFault::TooLarge => EditError::TooLarge,
        StorageFault::TooManyKeys | StorageFault::Unreadable => EditError::Unusable,
    })
}

/// Reads keys by the types of the maps that they lead into, and returns the type behind them.
fn read_keys<'t>(
    field: &'t Type,
    texts: &[String],
    reader: &mut ValueReader<'_>,
) -> Result<(Vec<Key>, &'t Type), EditError> {
    let mut keys = Vec::new();
    for (position, text) in texts.iter().enumerate() {
        let Some(Type::Map(kind, _)) = type_behind(field, position) else {
            return Err(EditError::TooManyKeys { got: texts.len(), most: position });
        };
        let key = reader.read(Document::of_text(text).root(), kind).map_err(EditError::Key)?;
        keys.push(Key::new(key).map_err(|_| EditError::Unusable)?);
    }
    let kind = type_behind(field, keys.len()).ok_or(EditError::TooManyKeys { got: texts.len(), most: 0 })?;
    Ok((keys, kind))
}
