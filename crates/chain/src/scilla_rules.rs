//! The rules of the contract language, as a parameter that the record keeps.
//!
//! Blocks do not name the rules by which they were executed, and other rules give other receipts. So the record has
//! them as its label, from before block 0 on. A record without label was made before rules had a name and continues by
//! [`Rules::UNNAMED`].

use silica_protocol::BlockNumber;
use silica_scilla::rules::{Rules, UnknownRules};
use silica_state::{ArchiveError, Store};

/// Compares the rules of a record with those of the configuration, which an empty record gets.
///
/// # Errors
///
/// [`RulesError`]: the record has other rules, or cannot be read or written.
pub(crate) fn keep(store: &Store, configured: Rules) -> Result<(), RulesError> {
    check(store, configured)?;
    if configured != Rules::UNNAMED && store.label()?.is_none() {
        store.set_label(&configured.to_string())?;
    }
    Ok(())
}

/// Compares the rules of a record with those of the configuration. An empty record may get any.
///
/// # Errors
///
/// [`RulesError`]: the record has other rules, or cannot be read.
pub fn check(store: &Store, configured: Rules) -> Result<(), RulesError> {
    let stored = match store.label()? {
        Some(label) => label.parse().map_err(RulesError::Unknown)?,
        None if store.record(BlockNumber::new(0))?.is_none() => return Ok(()),
        None => Rules::UNNAMED,
    };
    if stored == configured { Ok(()) } else { Err(RulesError::Other { stored, configured }) }
}

/// Reason why a chain cannot continue with the configured Scilla rules.
#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    /// Its blocks were made by other rules.
    #[error("the data directory holds blocks made by the Scilla rules {stored}, expected {configured}")]
    Other {
        /// The rules of the record.
        stored: Rules,
        /// The rules of the configuration.
        configured: Rules,
    },
    /// The record has rules that this version does not know.
    #[error("the blocks in the data directory")]
    Unknown(#[source] UnknownRules),
    /// The record cannot be read or written.
    #[error("Scilla rules of the record")]
    Archive(#[from] ArchiveError),
}
