//! The one question that admission and execution ask of the state.

use silica_protocol::{Account, Address};
use silica_state::{Snapshot, StateError};

/// A state that can be asked for accounts.
pub(crate) trait Accounts {
    /// The account at `address`, or `None` when there is none.
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError>;
}

impl Accounts for Snapshot {
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        Self::account(self, address)
    }
}

#[cfg(test)]
impl Accounts for std::collections::BTreeMap<Address, Account> {
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        Ok(self.get(address).copied())
    }
}
