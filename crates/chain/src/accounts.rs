//! The state that admission and execution read.

use std::{ops::ControlFlow, sync::Arc};

use silica_protocol::{Account, Address, BlockNumber, CodeHash, InitData, StorageKey, Timestamp};
use silica_state::{ArchiveError, Snapshot, StateError, StateView};

/// A state that returns accounts.
pub(crate) trait Accounts {
    /// Returns the account at `address`, or `None` if it does not exist.
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError>;
}

/// A state that also returns code, storage entries and block times, which contracts need.
pub(crate) trait StateReader: Accounts {
    /// Returns the value of an entry of contract storage, or `None` if the entry does not exist.
    fn entry(&self, contract: &Address, key: &StorageKey) -> Result<Option<Vec<u8>>, StateError>;

    /// Calls `visit` for the entries of a contract whose keys begin with `prefix`, in the order of their keys. If
    /// `from` is given, entries with lower keys are skipped. The visit ends when `visit` returns `Break`.
    fn visit_entries(
        &self,
        contract: &Address,
        prefix: &StorageKey,
        from: Option<&StorageKey>,
        visit: Visitor<'_>,
    ) -> Result<(), StateError>;

    /// Returns code and init data of a contract or library, or `None` if the address has none.
    fn source(&self, contract: &Address) -> Result<Option<Source>, StateError>;

    /// Returns the timestamp of the block that increased the logical block number above `block`, or `None` if there is
    /// no such block. On a chain without repeats, this is the block with that number.
    fn block_time(&self, block: BlockNumber) -> Result<Option<Timestamp>, StateError>;
}

/// A function that gets entries of contract storage.
pub(crate) type Visitor<'a> = &'a mut dyn FnMut(&StorageKey, &[u8]) -> ControlFlow<()>;

/// The texts of a contract or library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    /// The source code.
    pub(crate) code: Arc<str>,
    /// The init data of the contract or library, with the parameters that the node adds.
    pub(crate) init: Arc<str>,
}

impl Source {
    /// Returns the code hash of the account.
    pub(crate) fn hash(&self) -> CodeHash {
        CodeHash::of(&self.code, &self.init)
    }
}

impl Accounts for Snapshot {
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        Self::account(self, address)
    }
}

impl StateReader for Snapshot {
    fn entry(&self, contract: &Address, key: &StorageKey) -> Result<Option<Vec<u8>>, StateError> {
        self.storage_value(contract, &key.variable_hash())
    }

    fn visit_entries(
        &self,
        contract: &Address,
        prefix: &StorageKey,
        from: Option<&StorageKey>,
        visitor: Visitor<'_>,
    ) -> Result<(), StateError> {
        visit(self.state(), contract, prefix, from, visitor)
    }

    fn source(&self, contract: &Address) -> Result<Option<Source>, StateError> {
        let Some(deployment) = self.deployment(contract)? else { return Ok(None) };
        let sent = InitData::parse(&deployment.transaction.data).map_err(|_| StateError::Damaged {
            what: format!("init data of {contract}"),
            reason: "the init data of the deployment are invalid",
        })?;
        let init = sent.deployed(deployment.receipt.epoch, contract).to_styled_json();
        Ok(Some(Source { code: deployment.transaction.into_unsigned().code.into(), init: init.into() }))
    }

    fn block_time(&self, block: BlockNumber) -> Result<Option<Timestamp>, StateError> {
        Ok(match block_that_moved(self, block)? {
            Some(block) => self.time_of(block)?,
            None => None,
        })
    }
}

/// Returns the number of the block that increased the logical block number above `logical`, or `None` if no such block
/// exists. The function makes a binary search over the repeats.
fn block_that_moved(state: &Snapshot, logical: BlockNumber) -> Result<Option<BlockNumber>, ArchiveError> {
    let Some(head) = state.head() else { return Ok(None) };
    let repeats = head.totals.repeats;
    // Each block adds one either to the logical number or to the sum of repeats.
    let (mut first, mut last) = (logical.get(), logical.get().saturating_add(repeats).min(head.number.get()));
    if head.number.get().checked_sub(repeats).is_none_or(|moved| moved < logical.get()) {
        return Ok(None);
    }
    while first < last {
        let middle = first.midpoint(last);
        let repeats = state.repeats_up_to(BlockNumber::new(middle))?.unwrap_or(0);
        if middle.saturating_sub(repeats) < logical.get() {
            first = middle.saturating_add(1);
        } else {
            last = middle;
        }
    }
    Ok(Some(BlockNumber::new(first)))
}

/// Calls `visitor` with entries of contract storage, in the order of their keys, until `visitor` returns `Break`.
pub(crate) fn visit(
    view: &StateView,
    contract: &Address,
    prefix: &StorageKey,
    from: Option<&StorageKey>,
    visitor: Visitor<'_>,
) -> Result<(), StateError> {
    for entry in view.entries(contract, prefix, from)? {
        let (key, value) = entry?;
        if visitor(&key, &value).is_break() {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
impl Accounts for std::collections::BTreeMap<Address, Account> {
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        Ok(self.get(address).copied())
    }
}

/// A state of accounts without storage and code.
#[cfg(test)]
impl StateReader for std::collections::BTreeMap<Address, Account> {
    fn entry(&self, _: &Address, _: &StorageKey) -> Result<Option<Vec<u8>>, StateError> {
        Ok(None)
    }

    fn visit_entries(
        &self,
        _: &Address,
        _: &StorageKey,
        _: Option<&StorageKey>,
        _: Visitor<'_>,
    ) -> Result<(), StateError> {
        Ok(())
    }

    fn source(&self, _: &Address) -> Result<Option<Source>, StateError> {
        Ok(None)
    }

    fn block_time(&self, block: BlockNumber) -> Result<Option<Timestamp>, StateError> {
        Ok(Some(Timestamp::new(block.get())))
    }
}
