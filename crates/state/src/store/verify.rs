//! Verifies all stored data.

use std::sync::Arc;

use silica_proof::trie::{Builder, Nibbles};
use silica_protocol::{Address, BlockNumber, StorageRoot, VariableHash};

use super::{INDEX_CACHE, Progress, Store};
use crate::{
    archive::{ArchiveError, ArchiveReport, CheckedBlocks},
    db::{Db, DbOptions},
    error::StateError,
    index::{self, IndexKinds, SumBefore},
    indexer::EntrySource,
    snapshot::Snapshot,
    transition::{State, storage_key},
    versioned_trie::{checkpoint, key::Owner},
    view::StateView,
};

/// The counts from a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// Counts of the record.
    pub record: ArchiveReport,
    /// Number of accounts in the newest checkpoint.
    pub accounts: u64,
    /// Number of entries of contract storage in the newest checkpoint.
    pub entries: u64,
    /// Number of entries of the history index. 0 without such an index.
    pub index_entries: u64,
}

impl Store {
    /// Reads all stored data and compares them with every hash, number and sum. Also computes the roots of the tries
    /// from the leaves only. The caller must not commit, replay or revert blocks during the check. Calls `progress`
    /// with the number of checked blocks, and the number of all blocks.
    ///
    /// # Errors
    ///
    /// [`StateError`]: the first damage that the check finds.
    pub fn check(&self, progress: Progress<'_>) -> Result<CheckReport, StateError> {
        let first = BlockNumber::new(0);
        self.check_after(CheckedBlocks::default(), first, &mut |checked, all| progress(checked.blocks, all))
    }

    /// Checks the store like [`Store::check`], but only the blocks after `checked`, and only the entries of the history
    /// index for the blocks from `first_indexed` on. Checks the whole state. The caller has compared the hash of the
    /// last block of `checked` with the record. Calls `progress` with the checked blocks, and the number of all blocks.
    /// The checked blocks are a valid argument of a later call.
    ///
    /// # Errors
    ///
    /// The errors of [`Store::check`].
    pub fn check_after(
        &self,
        checked: CheckedBlocks,
        first_indexed: BlockNumber,
        progress: &mut dyn FnMut(&CheckedBlocks, u64),
    ) -> Result<CheckReport, StateError> {
        let mut report = CheckReport { record: self.core.archive.check(checked, progress)?, ..CheckReport::default() };
        report.index_entries = self.check_index(first_indexed)?;
        // A checkpoint in progress writes keys of entries that the checkpoint before it does not have.
        self.checkpointer.wait();
        let Some(checkpoint) = self.core.pages.manifest().current else { return Ok(report) };
        let view = StateView::new(Arc::clone(&self.core.pages), State::of(&checkpoint));
        let mut trie = Builder::new();
        for account in view.accounts() {
            let (address, account) = account?;
            report.accounts = report.accounts.saturating_add(1);
            self.add_leaf(&mut trie, &address.to_string(), account.encode())?;
            if let Some(root) = account.contract.and_then(|contract| contract.storage_root) {
                report.entries = report.entries.saturating_add(self.check_storage(&view, &address, root)?);
            }
        }
        self.check_root(trie, &Owner::Accounts, view.root().to_bytes())?;
        checkpoint::check_space(&self.core.pages)?;
        Ok(report)
    }

    /// Compares the entries of the blocks from `first` on in the history index on disk with the record, also if the
    /// store is open without the index.
    fn check_index(&self, first: BlockNumber) -> Result<u64, ArchiveError> {
        let window = self.snapshot().window().clone();
        let chain = Snapshot::new(&self.core, self.core.archive.view(), window);
        let hash_of = |number| chain.hash_of(number);
        let mut read = |kinds: IndexKinds, first, end, sum_before: &SumBefore<'_>| {
            let rules = self.rules.get().map(|rules| &**rules).filter(|_| kinds.balances);
            if rules.is_none() && kinds.balances {
                return Err(index::damaged("the rules of balances are not set, so the balances cannot be checked"));
            }
            EntrySource { chain: &chain, rules, kinds }.read(first, end, sum_before)
        };
        if let Some(index) = &self.core.index {
            return index.check(first, hash_of, &mut read);
        }
        match self.databases.layout.index.as_ref().filter(|path| path.exists()) {
            Some(path) => {
                let options = DbOptions { cache_bytes: INDEX_CACHE, durability: self.options.durability };
                index::check(&Db::open(path, options)?, first, hash_of, &mut read)
            }
            None => Ok(0),
        }
    }

    /// Verifies the storage of a contract. Returns the number of its entries.
    fn check_storage(&self, view: &StateView, contract: &Address, root: StorageRoot) -> Result<u64, StateError> {
        let (mut trie, mut entries, mut sum) = (Builder::new(), 0_u64, KeySum::default());
        for entry in view.storage(contract)? {
            let (key, value) = entry?;
            entries = entries.saturating_add(1);
            let hash = key.variable_hash();
            sum.add(&hash);
            self.add_leaf(&mut trie, &hash.to_string(), value)?;
        }
        self.check_root(trie, &Owner::Contract(*contract), root.to_bytes())?;
        self.check_keys(view, contract, &sum)?;
        Ok(entries)
    }

    /// Compares the keys of a contract in the key index with the keys of its storage trie, by a [`KeySum`] over each.
    fn check_keys(&self, view: &StateView, contract: &Address, expected: &KeySum) -> Result<(), StateError> {
        let (mut sum, mut doubtful) = (KeySum::default(), Vec::new());
        let visited = self.core.pages.keys().visit(contract, |plain, is_doubtful| {
            if is_doubtful {
                doubtful.push(plain.to_owned());
            } else {
                sum.add(&storage_key(contract, plain).variable_hash());
            }
        });
        self.core.pages.note_damage(visited)?;
        for plain in doubtful {
            let hash = storage_key(contract, &plain).variable_hash();
            if view.storage_value(contract, &hash)?.is_some() {
                sum.add(&hash);
            }
        }
        if sum == *expected {
            return Ok(());
        }
        let what = format!("key index of {contract}");
        Err(self.core.pages.damaged(what, "its keys differ from those of the storage trie"))
    }

    fn add_leaf(&self, trie: &mut Builder<'_, Vec<u8>>, key: &str, value: Vec<u8>) -> Result<(), StateError> {
        let pushed = trie.push(Nibbles::of_key(key.as_bytes()).as_slice(), value);
        pushed.map_err(|_| self.core.pages.damaged(format!("leaf {key}"), "leaves are not in order"))
    }

    /// Compares a root with the root that the plain Merkle-Patricia trie computes from the leaves.
    fn check_root(&self, trie: Builder<'_, Vec<u8>>, owner: &Owner, root: [u8; 32]) -> Result<(), StateError> {
        if trie.finish().root() == root {
            return Ok(());
        }
        Err(self.core.pages.damaged(owner.to_string(), "its leaves have another root"))
    }
}

/// A sum over keys that does not depend on their order. Different keys have different sums with overwhelming
/// probability.
#[derive(Debug, Default, PartialEq, Eq)]
struct KeySum {
    keys: u64,
    hashes: u128,
}

impl KeySum {
    fn add(&mut self, hash: &VariableHash) {
        let (half, _) = hash.as_bytes().split_first_chunk().unwrap_or((&[0; 16], &[]));
        self.keys = self.keys.wrapping_add(1);
        self.hashes = self.hashes.wrapping_add(u128::from_be_bytes(*half));
    }
}
