//! The state after one block, to be read.

use std::sync::Arc;

use silica_protocol::{Account, Address, BlockNumber, StateRoot, StorageKey, VariableHash};

use crate::{
    error::StateError,
    forest::{
        key::{Key, Owner},
        leaf::{Leaf, Tail},
        records::{Records, Source},
        tree::Top,
    },
    transition::{State, storage_key},
};

/// The state after one block. Cheap to clone, and the same for as long as it is held.
///
/// A view may be asked while the store goes on, up to when its block leaves the window; then a question may end in
/// [`StateError::Expired`], and never in a wrong answer.
#[derive(Clone, Debug)]
pub struct StateView {
    records: Arc<Records>,
    state: State,
}

impl StateView {
    pub(crate) const fn new(records: Arc<Records>, state: State) -> Self {
        Self { records, state }
    }

    /// Returns the block after which this is the state, or `None` for the empty state before genesis.
    pub fn block(&self) -> Option<BlockNumber> {
        self.state.block()
    }

    /// Returns the root of the account trie.
    pub fn root(&self) -> StateRoot {
        self.state.root()
    }

    /// Returns an account, or `None` when there is none at the address.
    ///
    /// # Errors
    ///
    /// [`StateError::Expired`] when the block has left the window, [`StateError::Damaged`] and [`StateError::Db`] when
    /// the account cannot be read.
    pub fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        match self.accounts_source().leaf(&self.state.top, &Key::account(address))? {
            Some(leaf) => self.decode(&leaf).map(Some),
            None => Ok(None),
        }
    }

    /// Returns the value of an entry of contract storage, or `None` when there is no such entry, contract or account.
    ///
    /// # Errors
    ///
    /// As [`StateView::account`].
    pub fn storage_value(&self, contract: &Address, entry: &VariableHash) -> Result<Option<Vec<u8>>, StateError> {
        let Some(storage) = self.storage_of(contract)? else { return Ok(None) };
        let leaf = self.source(Owner::Contract(*contract)).leaf(&storage, &Key::variable(entry))?;
        Ok(leaf.map(|leaf| leaf.value.to_vec()))
    }

    /// Returns the nodes that prove what the account at an address is, or that there is none: those on the way from
    /// the root, in ascending order of their bytes (formats page, section 7).
    ///
    /// # Errors
    ///
    /// As [`StateView::account`].
    pub fn account_proof(&self, address: &Address) -> Result<Vec<Vec<u8>>, StateError> {
        self.accounts_source().proof(&self.state.top, &Key::account(address)).map(crate::trie::Proof::into_nodes)
    }

    /// Returns the nodes that prove the value of an entry of contract storage, or its absence; `None` when the account
    /// has no storage.
    ///
    /// # Errors
    ///
    /// As [`StateView::account`].
    pub fn storage_proof(&self, contract: &Address, entry: &VariableHash) -> Result<Option<Vec<Vec<u8>>>, StateError> {
        let Some(storage) = self.storage_of(contract)? else { return Ok(None) };
        let proof = self.source(Owner::Contract(*contract)).proof(&storage, &Key::variable(entry))?;
        Ok(Some(proof.into_nodes()))
    }

    /// Iterates over all accounts, in the order of their addresses. Takes memory for one record at a time.
    pub fn accounts(&self) -> impl Iterator<Item = Result<(Address, Account), StateError>> + '_ {
        self.accounts_source().leaves(&self.state.top).map(|leaf| {
            let leaf = leaf?;
            let address = leaf.key.to_address().ok_or_else(|| self.unreadable(&leaf))?;
            Ok((address, self.decode(&leaf)?))
        })
    }

    /// Iterates over the entries of a contract's storage, in the order of the hashes of their keys. Takes memory for one
    /// record at a time.
    ///
    /// # Errors
    ///
    /// As [`StateView::account`], for the contract's account.
    pub fn storage(
        &self,
        contract: &Address,
    ) -> Result<impl Iterator<Item = Result<(StorageKey, Vec<u8>), StateError>> + '_, StateError> {
        let storage = self.storage_of(contract)?.unwrap_or(Top::Empty);
        let contract = *contract;
        Ok(self.source(Owner::Contract(contract)).leaves(&storage).map(move |leaf| {
            let leaf = leaf?;
            match leaf.tail.as_deref() {
                Some(Tail::Plain(plain)) => Ok((storage_key(&contract, plain), leaf.value.to_vec())),
                Some(Tail::Storage(_)) | None => Err(self.unreadable(&leaf)),
            }
        }))
    }

    fn storage_of(&self, contract: &Address) -> Result<Option<Top>, StateError> {
        let leaf = self.accounts_source().leaf(&self.state.top, &Key::account(contract))?;
        Ok(leaf.and_then(|leaf| match leaf.tail.as_deref() {
            Some(Tail::Storage(storage)) => Some(storage.clone()),
            Some(Tail::Plain(_)) | None => None,
        }))
    }

    fn decode(&self, leaf: &Leaf) -> Result<Account, StateError> {
        Account::decode(&leaf.value).map_err(|_| self.unreadable(leaf))
    }

    fn unreadable(&self, leaf: &Leaf) -> StateError {
        self.records.damaged(format!("leaf {:?}", leaf.key), "not an account")
    }

    fn accounts_source(&self) -> Source<'_> {
        self.source(Owner::Accounts)
    }

    fn source(&self, owner: Owner) -> Source<'_> {
        Source { records: &self.records, owner, version: self.state.version }
    }
}
