//! The Scilla rules, as a parameter that the record keeps.
//!
//! Blocks do not contain the rules of their execution, and different rules give different receipts. So the node writes
//! the name of the rules to the record before block 0, as the [label](Store::label) of the chain. A record without a
//! label has the rules [`Rules::UNNAMED`].

use silica_protocol::BlockNumber;
use silica_scilla::rules::{Rules, UnknownRules};
use silica_state::{ArchiveError, Store};

/// Compares the rules of a record with the configured rules. An empty record gets the configured rules.
///
/// # Errors
///
/// [`RulesError`]: the rules differ, or the record could not be read or written.
pub(crate) fn keep(store: &Store, configured: Rules) -> Result<(), RulesError> {
    check(store, configured)?;
    if configured != Rules::UNNAMED && store.label()?.is_none() {
        store.set_label(&configured.to_string())?;
    }
    Ok(())
}

/// Compares the rules of a record with the configured rules. An empty record fits all rules.
///
/// # Errors
///
/// [`RulesError`]: the rules differ, or the record could not be read.
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
#[non_exhaustive]
pub enum RulesError {
    /// The rules of the record differ from the configuration.
    #[error("Scilla rules of the data directory: expected {configured}, got {stored}")]
    Other {
        /// The rules of the record.
        stored: Rules,
        /// The rules of the configuration.
        configured: Rules,
    },
    /// This version does not support the rules of the record.
    #[error("Scilla rules of the data directory: expected supported rules")]
    Unknown(#[source] UnknownRules),
    /// A read or write of the record failed.
    #[error("failed to read or write the Scilla rules of the record")]
    Archive(#[from] ArchiveError),
}
