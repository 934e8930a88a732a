//! Views: queries to the state after one block.

use std::sync::Arc;

use silica_proof::StateProof;
use silica_protocol::{Account, Address, BlockNumber, StateRoot, StorageKey, VariableHash, sha256};

use crate::{
    error::StateError,
    keys::{Gap, KeyList, Limit, Span},
    transition::{State, plain_key, storage_key},
    versioned_trie::{
        key::{Key, Owner},
        leaf::{Bytes, Leaf, LeafView, Tail},
        pages::{PageStore, Source},
        parallel,
        tree::{Link, Top},
    },
};

/// The state after one block, or the empty state before genesis. A view is cheap to clone, and never changes.
///
/// Queries work while the store commits later blocks, as long as the state history contains the block of the view.
/// After that, a query may return [`StateError::Expired`], but never a wrong result.
#[derive(Clone, Debug)]
pub struct StateView {
    pages: Arc<PageStore>,
    state: State,
}

impl StateView {
    pub(crate) const fn new(pages: Arc<PageStore>, state: State) -> Self {
        Self { pages, state }
    }

    /// Returns the block of the state, or `None` for the empty state before genesis.
    pub fn block(&self) -> Option<BlockNumber> {
        self.state.block()
    }

    /// Returns the root of the account trie.
    pub fn root(&self) -> StateRoot {
        self.state.root()
    }

    /// Returns an account, or `None` if the address has none.
    ///
    /// # Errors
    ///
    /// - [`StateError::Expired`]: the state history does not contain the block.
    /// - [`StateError::Damaged`], [`StateError::Db`]: the account cannot be read.
    pub fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        match self.accounts_source().leaf(&self.state.top, &Key::account(address))? {
            Some(leaf) => self.decode(&leaf).map(Some),
            None => Ok(None),
        }
    }

    /// Returns the value of an entry of contract storage, or `None` if the entry, the contract or the account does not
    /// exist.
    ///
    /// # Errors
    ///
    /// The errors of [`StateView::account`].
    pub fn storage_value(&self, contract: &Address, entry: &VariableHash) -> Result<Option<Vec<u8>>, StateError> {
        let Some(storage) = self.storage_of(contract)? else { return Ok(None) };
        let leaf = self.source(Owner::Contract(*contract)).leaf(&storage, &Key::variable(entry))?;
        Ok(leaf.map(|leaf| leaf.value.to_vec()))
    }

    /// Returns the proof of the account at an address, or of its absence. The list `account` has the nodes on the path
    /// from the root, in ascending order of their bytes (Reference: formats#state-proof). The list `state` is empty.
    ///
    /// # Errors
    ///
    /// The errors of [`StateView::account`].
    pub fn account_proof(&self, address: &Address) -> Result<StateProof, StateError> {
        let proof = self.accounts_source().proof(&self.state.top, &Key::account(address))?;
        Ok(StateProof { account: proof.into_nodes(), state: Vec::new() })
    }

    /// Returns the proof of an account and of an entry of its contract storage, or of their absence. The list `state`
    /// is empty if the account has no storage.
    ///
    /// # Errors
    ///
    /// The errors of [`StateView::account`].
    pub fn storage_proof(&self, contract: &Address, entry: &VariableHash) -> Result<StateProof, StateError> {
        let proof = self.account_proof(contract)?;
        let Some(storage) = self.storage_of(contract)? else { return Ok(proof) };
        let nodes = self.source(Owner::Contract(*contract)).proof(&storage, &Key::variable(entry))?.into_nodes();
        Ok(StateProof { state: nodes, ..proof })
    }

    /// Iterates over all accounts in the order of their addresses. Needs memory for a few pages of the trie.
    pub fn accounts(&self) -> impl Iterator<Item = Result<(Address, Account), StateError>> + '_ {
        self.accounts_from(Address::ZERO)
    }

    /// Iterates over the accounts in the order of their addresses, from the address `first` on. Reads no earlier page
    /// of the trie.
    pub fn accounts_from(&self, first: Address) -> impl Iterator<Item = Result<(Address, Account), StateError>> + '_ {
        self.accounts_source().leaves(&self.state.top, Some(Key::account(&first))).map(|leaf| {
            let leaf = leaf?;
            let address = leaf.key.to_address().ok_or_else(|| self.unreadable(&leaf))?;
            Ok((address, self.decode(&leaf)?))
        })
    }

    /// Iterates over the entries of a contract's storage in the order of the hashes of their keys. Needs memory for a
    /// few pages of the trie.
    ///
    /// # Errors
    ///
    /// The errors of [`StateView::account`] for the account of the contract.
    pub fn storage(
        &self,
        contract: &Address,
    ) -> Result<impl Iterator<Item = Result<(StorageKey, Vec<u8>), StateError>> + '_, StateError> {
        let storage = self.storage_of(contract)?.unwrap_or(Top::Empty);
        let contract = *contract;
        Ok(self.source(Owner::Contract(contract)).leaves(&storage, None).map(move |leaf| {
            let leaf = leaf?;
            match leaf.tail.as_deref() {
                Some(Tail::Plain(plain)) => Ok((storage_key(&contract, plain), leaf.value.to_vec())),
                Some(Tail::Storage(_)) | None => Err(self.unreadable(&leaf)),
            }
        }))
    }

    /// Iterates over the entries of a contract's storage whose keys begin with `prefix`, in the order of their keys.
    /// Starts at `from`, if given. If the iterator covers all entries of the contract, and the key index lacks a key,
    /// the iterator ends with [`StateError::Damaged`].
    ///
    /// # Errors
    ///
    /// [`StateError::ForeignKey`]: `prefix` or `from` does not begin with the contract's address. Other errors are
    /// those of [`StateView::account`].
    pub fn entries(
        &self,
        contract: &Address,
        prefix: &StorageKey,
        from: Option<&StorageKey>,
    ) -> Result<Entries, StateError> {
        let text = contract.to_string();
        let prefix = plain_key(&text, contract, prefix)?;
        // Keys before the prefix are not read, so the recorded gap of absent keys must not include them.
        let first = from.map_or(Ok(prefix), |from| plain_key(&text, contract, from))?.max(prefix);
        let top = self.storage_of(contract)?.unwrap_or(Top::Empty);
        let tree = self.pages.top(&Owner::Contract(*contract), &top, self.state.version)?;
        Ok(Entries {
            view: self.clone(),
            contract: *contract,
            address: text.clone(),
            tree,
            prefix: prefix.to_owned(),
            whole: prefix.is_empty() && first.is_empty(),
            next: Some(first.to_owned()),
            gap: Gap::new(first.to_owned()),
            keys: FIRST_WINDOW,
            window: Window::default(),
            weight: 0,
        })
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
        self.pages.damaged(format!("leaf {:?}", leaf.key), "not an account")
    }

    fn accounts_source(&self) -> Source<'_> {
        self.source(Owner::Accounts)
    }

    fn source(&self, owner: Owner) -> Source<'_> {
        Source { pages: &self.pages, owner, version: self.state.version }
    }
}

/// An iterator over the entries of a contract's storage below a prefix, in the order of their plain keys.
///
/// The iterator reads one batch of entries at a time, and has only this batch in memory. A batch has at most eight
/// times as many keys as the previous batch.
#[derive(Debug)]
pub struct Entries {
    view: StateView,
    contract: Address,
    /// The text of the contract's address.
    address: String,
    /// The storage trie. `None` if it is empty, and after the last batch or an error.
    tree: Option<Link>,
    prefix: String,
    /// The first key of the next batch, or `None` after the last batch.
    next: Option<String>,
    /// The keys without an entry immediately before `next`.
    gap: Gap,
    keys: usize,
    window: Window,
    /// Whether the iterator returns all entries of the contract.
    whole: bool,
    /// Weight of the entries that the iterator has read.
    weight: u64,
}

/// A batch of keys with their values. A key without an entry has no value.
#[derive(Debug, Default)]
struct Window {
    keys: KeyList,
    values: Vec<Option<Bytes>>,
    /// Number of keys that the iterator has passed.
    passed: usize,
}

impl Window {
    /// Moves to the next entry, and returns its position. Returns `None` if the batch has no more entries.
    fn pass(&mut self) -> Option<usize> {
        let ahead = self.values.get(self.passed..)?.iter().position(Option::is_some);
        let at = self.passed.saturating_add(ahead?);
        self.passed = at.saturating_add(1);
        Some(at)
    }

    fn entries(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.values.iter().enumerate().filter_map(|(at, value)| Some((self.keys.get(at)?, &**value.as_ref()?)))
    }
}

/// Number of keys in the first batch. It is small, because some callers need only the first entry.
const FIRST_WINDOW: usize = 2;
/// Maximum number of keys in a batch. Each batch reads each page of the trie at most once.
const LARGEST_WINDOW: usize = 1 << 16;
/// Maximum bytes of all keys of a batch, and maximum bytes of all its values. The values of a batch of [`FIRST_WINDOW`]
/// keys have no limit.
const WINDOW_BYTES: usize = 16 << 20;

impl Entries {
    /// Returns the next entry, or `None` after the last entry. The key is without the contract's address.
    ///
    /// # Errors
    ///
    /// The errors of [`StateView::account`]. After an error, the iterator returns no further entries.
    pub fn next_plain(&mut self) -> Result<Option<(&str, &[u8])>, StateError> {
        loop {
            if let Some(at) = self.window.pass() {
                return Ok(self.window.keys.get(at).zip(self.window.values.get(at).and_then(Option::as_deref)));
            }
            // There is no trie if the storage is empty, all batches were read, or an error ended the iterator.
            if self.tree.is_none() {
                return Ok(None);
            }
            if let Err(error) = self.advance() {
                self.tree = None;
                return Err(error);
            }
        }
    }

    /// Reads the next batch. If the values of the batch are too large, reads no entries, and reduces the number of keys
    /// for the next call. After the last batch, checks the weight of all entries.
    fn advance(&mut self) -> Result<(), StateError> {
        let Some(from) = self.next.take() else { return self.finish() };
        let Some(tree) = &self.tree else { return Ok(()) };
        let pages = &self.view.pages;
        let span = Span { contract: &self.contract, prefix: &self.prefix, from: &from };
        let limit = Limit { keys: self.keys, bytes: WINDOW_BYTES };
        let State { version, older, .. } = &self.view.state;
        let candidates = pages.keys().candidates(span, *version, older.as_deref(), limit);
        let candidates = pages.note_damage(candidates)?;
        // A checkpoint removes keys that only views below the floor need. The version of this view is below the floor,
        // so keys may be missing.
        if *version < pages.floor() {
            return Err(StateError::Expired);
        }
        let keys = self.hashed(&candidates.keys);
        let source = self.view.source(Owner::Contract(self.contract));
        let most = if self.keys > FIRST_WINDOW { WINDOW_BYTES } else { usize::MAX };
        let Some(found) = source.values(tree, &keys, most)? else {
            self.keys = FIRST_WINDOW.max(self.keys / 8);
            self.next = Some(from);
            return Ok(());
        };
        drop(keys);
        let mut values = vec![None; candidates.keys.len()];
        for (at, value) in found {
            if let Some(place) = values.get_mut(at) {
                *place = Some(value);
            }
        }
        let has_entry = |at| values.get(at).is_some_and(Option::is_some);
        let note = |from: &str, end: &str| pages.keys().note_absent(&self.contract, from, end, *version);
        self.gap.pass(&candidates.keys, has_entry, note);
        self.window = Window { keys: candidates.keys, values, passed: 0 };
        for (plain, value) in self.window.entries() {
            let key = Key::variable(&VariableHash::new([0; 32]));
            let leaf = LeafView { key, value, plain, storage: None };
            self.weight = self.weight.saturating_add(leaf.weight());
        }
        self.keys = LARGEST_WINDOW.min(self.keys.saturating_mul(8));
        self.next = candidates.next;
        Ok(())
    }

    /// Returns the trie keys of plain keys with their positions, in the order of the trie keys.
    fn hashed(&self, plain: &KeyList) -> Vec<(Key, usize)> {
        let parts: Vec<_> = (0..plain.len()).step_by(HASHED_AT_ONCE).collect();
        let hashed = parallel::map(&parts, |part| {
            let places = *part..part.saturating_add(HASHED_AT_ONCE).min(plain.len());
            let hash = |at| sha256(&[self.address.as_bytes(), plain.get(at).unwrap_or_default().as_bytes()]);
            places.map(|at| (Key::variable(&VariableHash::new(hash(at))), at)).collect::<Vec<_>>()
        });
        let mut keys = hashed.concat();
        keys.sort_unstable();
        keys
    }

    /// Compares the weight of all entries with the weight of the trie, if the iterator has read all entries of the
    /// contract.
    fn finish(&mut self) -> Result<(), StateError> {
        match self.tree.take().filter(|_| self.whole) {
            Some(tree) if tree.weight() != self.weight => {
                let what = format!("key index of {}", self.contract);
                Err(self.view.pages.damaged(what, "it does not have all keys"))
            }
            _ => Ok(()),
        }
    }
}

/// Number of keys that one thread hashes at once.
const HASHED_AT_ONCE: usize = 4096;

impl Iterator for Entries {
    type Item = Result<(StorageKey, Vec<u8>), StateError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut key = self.address.clone();
        let entry = self.next_plain().transpose()?;
        Some(entry.map(|(plain, value)| {
            key.push_str(plain);
            (StorageKey::from_text(key), value.to_vec())
        }))
    }
}
