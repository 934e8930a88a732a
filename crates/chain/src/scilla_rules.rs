//! The Scilla rules, as a parameter that the record keeps.
//!
//! Blocks do not contain the rules of their execution, and different rules give different receipts. So the node writes
//! the identifier of the rules to the record before block 0, as the [label](Store::label) of the chain. An opening
//! replaces the label if the configuration has other changes after the newest block. A record without a label has the
//! rules [`Rules::UNNAMED`].
//!
//! ```text
//! 0.13/3                         the rules of all blocks
//! 0.13/3 1200:0.13/4 9000:0.13/5 the rules of the first blocks, and the changes: the block, and its rules
//! ```
//!
//! The configuration can add, move or remove a change only if the rules of all existing blocks stay the same.

use std::fmt;

use silica_protocol::BlockNumber;
use silica_scilla::rules::{Rules, UnknownRules};
use silica_state::{ArchiveError, Store};

use crate::config::{ChainConfig, RuleChange};

/// The rules of all blocks of a chain. The text form is the label of the record.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Schedule {
    first: Rules,
    changes: Vec<RuleChange>,
}

impl Schedule {
    fn of(config: &ChainConfig) -> Self {
        Self { first: config.rules.scilla, changes: config.rule_changes.clone() }
    }

    fn parse(label: &str) -> Result<Self, UnknownRules> {
        let mut parts = label.split(' ');
        let first = parts.next().unwrap_or_default().parse()?;
        let change = |text: &str| {
            let malformed = || UnknownRules::Malformed { got: text.to_owned() };
            let (block, rules) = text.split_once(':').ok_or_else(malformed)?;
            let block = BlockNumber::new(block.parse().map_err(|_| malformed())?);
            Ok(RuleChange { block, scilla: rules.parse()? })
        };
        Ok(Self { first, changes: parts.map(change).collect::<Result<_, _>>()? })
    }

    fn at(&self, block: BlockNumber) -> Rules {
        RuleChange::rules_at(self.first, &self.changes, block)
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.first)?;
        self.changes.iter().try_for_each(|RuleChange { block, scilla }| write!(f, " {block}:{scilla}"))
    }
}

/// Checks the configured rules as [`check`] does, and then writes them to the record as its label. Rules without an
/// identifier are not written.
///
/// # Errors
///
/// [`RulesError`]: the rules differ, or the record could not be read or written.
pub(crate) fn keep(store: &Store, config: &ChainConfig) -> Result<(), RulesError> {
    check(store, config)?;
    let configured = Schedule::of(config).to_string();
    if config.rules.scilla != Rules::UNNAMED && store.label()?.as_ref() != Some(&configured) {
        store.set_label(&configured)?;
    }
    Ok(())
}

/// Compares the rules of the blocks in a record with the configured rules. A record without blocks and without a label
/// fits all rules.
///
/// # Errors
///
/// [`RulesError`]: the rules of a block differ, or the record could not be read.
pub fn check(store: &Store, config: &ChainConfig) -> Result<(), RulesError> {
    let configured = Schedule::of(config);
    let stored = match store.label()? {
        Some(label) => Schedule::parse(&label).map_err(RulesError::Unknown)?,
        None if store.record(BlockNumber::new(0))?.is_none() => return Ok(()),
        None => Schedule { first: Rules::UNNAMED, changes: Vec::new() },
    };
    if stored.first != configured.first {
        return Err(RulesError::Other { stored: stored.first, configured: configured.first });
    }
    // Between two changes, the rules are constant. So the first block that differs is the block of a change.
    let mut blocks: Vec<_> = [&stored, &configured].into_iter().flat_map(|it| &it.changes).map(|it| it.block).collect();
    blocks.sort_unstable();
    for block in blocks {
        let (stored, configured) = (stored.at(block), configured.at(block));
        if stored != configured && store.record(block)?.is_some() {
            return Err(RulesError::Past { block, stored, configured });
        }
    }
    Ok(())
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
    /// The configuration changes the rules of a block that exists.
    #[error(
        "Scilla rules of block {block}: expected {stored}, because the data directory has this block, got {configured}"
    )]
    Past {
        /// The first block with other rules.
        block: BlockNumber,
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
