//! The label of a chain: a text in the record that the caller chooses.
//!
//! ```text
//! key    17
//! value  the text in UTF-8; CRC-32C of key and text (4)
//! ```

use super::{error::ArchiveError, section::Place};
use crate::{
    codec::{seal, unseal},
    db::{Batch, Db},
};

/// Database key of the label.
const KEY: [u8; 1] = [0x17];

/// Returns whether a row of the record is the label.
pub(super) fn is_label(key: &[u8]) -> bool {
    *key == KEY
}

/// Returns the label, or `None` if the record has no label.
pub(super) fn read(db: &Db) -> Result<Option<String>, ArchiveError> {
    let Some(value) = db.get(&KEY)? else { return Ok(None) };
    let damaged = |reason: &str| ArchiveError::damaged(Place::LABEL, reason);
    let text = unseal(&KEY, &value).ok_or_else(|| damaged("checksum is wrong"))?;
    String::from_utf8(text.to_vec()).map(Some).map_err(|_| damaged("is not UTF-8"))
}

/// Writes the label and flushes it.
pub(super) fn write(db: &Db, text: &str) -> Result<(), ArchiveError> {
    let mut batch = Batch::default();
    batch.insert(KEY, seal(&KEY, text.as_bytes()));
    db.apply(batch)?;
    Ok(db.flush()?)
}
