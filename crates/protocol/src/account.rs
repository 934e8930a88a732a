//! Accounts: the values of the account trie.

use crate::{
    amount::Qa,
    hash::{CodeHash, StorageRoot},
    number::Nonce,
};

/// The state of one account, without the contents of its contract.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Money of the account.
    pub balance: Qa,
    /// Nonce of the last executed transaction.
    pub nonce: Nonce,
    /// Present iff the account is a contract or library.
    pub contract: Option<ContractAccount>,
}

/// What the account of a contract or library holds beyond money.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContractAccount {
    /// Hash of the code and the stored init data.
    pub code_hash: CodeHash,
    /// Root of the storage trie; `None` before any storage exists.
    pub storage_root: Option<StorageRoot>,
}
