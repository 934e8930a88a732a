//! State transitions: applies a state diff to the account trie and the storage tries.

use std::sync::Arc;

use silica_protocol::{Account, Address, BlockNumber, ContractAccount, StateRoot, StorageKey, StorageRoot};

use crate::{
    diff::{StateDiff, StorageDiff},
    error::StateError,
    keys::{KeyChanges, Recent},
    layout::LARGEST_LEAF,
    version::Version,
    versioned_trie::{
        key::{Key, Owner},
        leaf::{Bytes, Change, Leaf, Tail},
        pages::{Checkpoint, PageStore, Source},
        parallel,
        tree::Top,
        update::Update,
    },
};

/// The state after a block, or before genesis.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub top: Top,
    pub version: Version,
    /// For a state that was computed again after a restart: the keys of contract storage that blocks since the previous
    /// checkpoint have added. `None` for other states.
    pub older: Option<Arc<Recent>>,
}

impl State {
    /// The state before the genesis block.
    pub(crate) const EMPTY: Self = Self { top: Top::Empty, version: 0, older: None };

    /// Returns the state of a checkpoint.
    pub(crate) fn of(checkpoint: &Checkpoint) -> Self {
        Self { top: Top::Root(checkpoint.origin.root), version: checkpoint.version(), older: None }
    }

    pub(crate) fn root(&self) -> StateRoot {
        StateRoot::new(self.top.root())
    }

    /// Returns the block of the state, or `None` before genesis.
    pub(crate) fn block(&self) -> Option<BlockNumber> {
        self.version.checked_sub(1).map(BlockNumber::new)
    }

    /// Applies `diff`, and returns the state of `version` with the changed keys of contract storage. The caller must
    /// add these keys to the key index before it publishes the state.
    pub(crate) fn advance(
        &self,
        pages: &PageStore,
        diff: &StateDiff,
        version: Version,
    ) -> Result<(Self, KeyChanges), StateError> {
        let step = Step { pages, base: self, version, durable: pages.durable() };
        let (contracts, mut keys) = (step.contracts(diff)?, KeyChanges::default());
        let contracts = contracts.into_iter().map(|(change, changed)| {
            keys.append(changed);
            change
        });
        let plain = diff
            .accounts
            .iter()
            .filter(|(address, account)| account.contract.is_none() && !diff.storage.contains_key(address));
        let plain = plain.map(|(address, account)| change(address, account, None));
        let mut changes: Vec<Arc<Change>> = plain.chain(contracts).collect();
        changes.sort_unstable_by_key(|change| change.key);
        let top = step.update(Owner::Accounts, &self.top, &changes)?;
        Ok((Self { top, version, older: self.older.clone() }, keys))
    }
}

/// The computation of one state from another.
struct Step<'a> {
    pages: &'a PageStore,
    base: &'a State,
    version: Version,
    durable: Version,
}

impl Step<'_> {
    fn source(&self, owner: Owner) -> Source<'_> {
        Source { pages: self.pages, owner, version: self.base.version }
    }

    fn update(&self, owner: Owner, top: &Top, changes: &[Arc<Change>]) -> Result<Top, StateError> {
        let load = self.source(owner);
        let tree = self.pages.top(&owner, top, self.base.version)?;
        Update { load: &load, born: self.version, durable: self.durable }.apply(tree.as_ref(), changes)
    }

    /// Returns the changes of all contracts whose account or storage the diff changes.
    fn contracts(&self, diff: &StateDiff) -> Result<Vec<(Arc<Change>, KeyChanges)>, StateError> {
        let given = diff.accounts.iter().filter(|(_, account)| account.contract.is_some());
        let mut addresses: Vec<&Address> = given.map(|(address, _)| address).chain(diff.storage.keys()).collect();
        addresses.sort_unstable();
        addresses.dedup();
        parallel::map(&addresses, |address| {
            self.contract(address, diff.accounts.get(address), diff.storage.get(address))
        })
        .into_iter()
        .collect()
    }

    fn contract(
        &self,
        address: &Address,
        account: Option<&Account>,
        entries: Option<&StorageDiff>,
    ) -> Result<(Arc<Change>, KeyChanges), StateError> {
        let old = self.source(Owner::Accounts).leaf(&self.base.top, &Key::account(address))?;
        let storage = match old.as_ref().and_then(|leaf| leaf.tail.as_deref()) {
            Some(Tail::Storage(top)) => top.released(self.durable).unwrap_or_else(|| top.clone()),
            Some(Tail::Plain(_)) | None => Top::Empty,
        };
        let account = match (account, &old) {
            (Some(account), _) => Some(*account),
            (None, Some(leaf)) => Account::decode(&leaf.value).ok(),
            (None, None) => None,
        };
        let Some((account, contract)) = account.and_then(|account| Some((account, account.contract?))) else {
            return Err(StateError::NotContract { address: *address });
        };
        let (storage, keys) = match entries.filter(|entries| !entries.is_empty()) {
            Some(entries) => self.storage(address, &storage, entries)?,
            None => (storage, KeyChanges::default()),
        };
        // A contract without storage has no storage root. A contract that lost all its storage keeps the root of the
        // empty trie.
        let before = old.is_some_and(|leaf| leaf.tail.is_some());
        let root = match &storage {
            Top::Empty if !before && entries.is_none_or(|entries| entries.values().all(Option::is_none)) => None,
            Top::Empty | Top::Root(_) | Top::Tree(_) => Some(StorageRoot::new(storage.root())),
        };
        let contract = ContractAccount { storage_root: root, ..contract };
        let tail = root.map(|_| Tail::Storage(storage));
        Ok((change(address, &Account { contract: Some(contract), ..account }, tail), keys))
    }

    /// Returns the storage trie of a contract after the changes, and its changed keys.
    fn storage(
        &self,
        address: &Address,
        storage: &Top,
        entries: &StorageDiff,
    ) -> Result<(Top, KeyChanges), StateError> {
        let by_plain = entry_changes(address, entries)?;
        let mut changes: Vec<_> = by_plain.iter().map(|(_, change)| Arc::clone(change)).collect();
        changes.sort_unstable_by_key(|change| change.key);
        let top = self.update(Owner::Contract(*address), storage, &changes)?;
        let mut keys = KeyChanges::default();
        for (plain, change) in by_plain {
            if change.leaf.is_none() {
                keys.gone.push((*address, plain.into()));
            } else if change.adds() {
                keys.added.push((*address, plain.into()));
            }
        }
        Ok((top, keys))
    }
}

fn change(address: &Address, account: &Account, tail: Option<Tail>) -> Arc<Change> {
    let key = Key::account(address);
    let leaf = Leaf { key, value: Bytes::new(&account.encode()), tail: tail.map(Box::new) };
    Arc::new(Change::new(key, Some(leaf)))
}

/// Returns the changes of entries, each with its plain key.
fn entry_changes<'a>(address: &Address, entries: &'a StorageDiff) -> Result<Vec<(&'a str, Arc<Change>)>, StateError> {
    let contract = address.to_string();
    entries
        .iter()
        .map(|(key, value)| {
            let plain = plain_key(&contract, address, key)?;
            let bytes = value.as_ref().map_or(0, |value| plain.len().saturating_add(value.len()));
            if bytes > LARGEST_LEAF {
                return Err(StateError::TooLarge { bytes });
            }
            let key = Key::variable(&key.variable_hash());
            let leaf = value.as_deref().filter(|value| !value.is_empty()).map(|value| Leaf {
                key,
                value: Bytes::new(value),
                tail: Some(Box::new(Tail::Plain(plain.into()))),
            });
            Ok((plain, Arc::new(Change::new(key, leaf))))
        })
        .collect()
}

/// Returns the plain key: the part of a storage key after the contract's address. Returns an error for a key of another
/// contract.
pub(crate) fn plain_key<'a>(text: &str, contract: &Address, key: &'a StorageKey) -> Result<&'a str, StateError> {
    let foreign = || StateError::ForeignKey { address: *contract, key: key.to_string() };
    key.as_str().strip_prefix(text).ok_or_else(foreign)
}

/// Returns the storage key of an entry of this contract.
pub(crate) fn storage_key(contract: &Address, plain: &str) -> StorageKey {
    StorageKey::from_text(format!("{contract}{plain}"))
}
