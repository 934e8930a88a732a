//! Compares the whole store with a model. The model has accounts and contract storage in maps. For each query,
//! `eth_trie` computes roots and proofs from the maps. The disks of the tests fail and lose power at any write.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    ops::Range,
    path::Path,
    process::Command,
    sync::Arc,
    thread,
};

use eth_trie::{EthTrie, MemoryDB, Trie};
use proptest::{collection::vec, prelude::*};
use silica_proof::trie::{keccak256, verify};
use silica_protocol::{
    Account, Address, BlockHash, BlockNumber, CoSignatures, CodeHash, ContractAccount, DsBlock, DsBlockHeader, MapKey,
    MbInfoHash, Nonce, PublicKey, Qa, StateRoot, StorageKey, StorageRoot, Timestamp, TxBlock, TxBlockHeader,
};

use crate::{
    Append, AppendError, ArchiveError, BlockRecord, CommitError, DbError, Durability, HistoryError, OpenError,
    OpenOutcome, PreparedState, RecordImport, RecoverError, RevertError, Savepoint, StateDiff, StateError, StateView,
    Store, StoreOptions,
    archive::{Files, Memory},
    codec::{seal, unseal},
    db::{DataFile, Db, DbOptions, Disk},
    file::{SYNCED, names_in},
    layout::{LARGEST_LEAF, space},
};

/// A generator of numbers that are the same in each run of the test (xorshift64).
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        let mut random = Self(seed ^ 0x9e37_79b9_7f4a_7c15 | 1 << 63);
        random.next();
        random
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 8) % bound
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

/// Returns one of several hundred addresses, many of which have digits in common.
fn address(random: &mut Random) -> Address {
    let mut bytes = [0x5a; 20];
    bytes[0] = random.one_of(&[0x5a, 0x5b, 0x15, 0xff]);
    bytes[random.one_of(&[1, 10, 19])] = random.below(30) as u8;
    Address::new(bytes)
}

const CONTRACTS: [u8; 4] = [0x5a, 0x5b, 0x77, 0x00];

fn contract(number: usize) -> Address {
    Address::new([CONTRACTS[number % CONTRACTS.len()]; 20])
}

fn storage_key(contract: &Address, number: u64) -> StorageKey {
    let long = |len: u64, number: u64| format!("{}{number}", "long ".repeat(len as usize));
    match (number, number % 6) {
        (0, _) => StorageKey::version(contract),
        // These keys have several slices. Many of them have all slices except the last in common.
        (_, 0) => StorageKey::map_entry(contract, "long", [MapKey::string(&long(30 * (number % 5), number))]),
        (_, 1) => {
            StorageKey::map_entry(contract, "nested", [MapKey::uint((number % 7).into()), MapKey::uint(number.into())])
        }
        _ => StorageKey::map_entry(contract, "map", [MapKey::uint(number.into())]),
    }
}

/// Returns a prefix of storage keys that some entries have.
fn storage_prefix(contract: &Address, random: &mut Random) -> StorageKey {
    let key = storage_key(contract, random.below(300));
    match random.below(6) {
        0 => StorageKey::from_text(contract.to_string()),
        1 => StorageKey::field(contract, random.one_of(&["map", "nested", "long", "none"])),
        2 => StorageKey::map_entry(contract, "nested", [MapKey::uint(random.below(8).into())]),
        3 => key,
        _ => {
            let cut = 40 + random.below(key.as_str().len() as u64 - 39) as usize;
            StorageKey::from_text(key.as_str()[..cut].to_owned())
        }
    }
}

/// The accounts and the contract storage after a block.
#[derive(Clone, Default)]
struct Model {
    accounts: BTreeMap<Address, Account>,
    /// Storage of each contract that ever had an entry.
    storage: BTreeMap<Address, BTreeMap<StorageKey, Vec<u8>>>,
}

/// Returns a new trie with these leaves. The tests use a new trie for each state, because a commit of `eth_trie` can
/// delete a node that still has a second parent.
fn reference(leaves: impl Iterator<Item = (String, Vec<u8>)>) -> EthTrie<MemoryDB> {
    let mut trie = EthTrie::new(Arc::new(MemoryDB::new(false)));
    for (key, value) in leaves {
        trie.insert(key.as_bytes(), &value).unwrap();
    }
    trie.root_hash().unwrap();
    trie
}

fn root_of(trie: &mut EthTrie<MemoryDB>) -> [u8; 32] {
    trie.root_hash().unwrap().0
}

impl Model {
    fn apply(&mut self, diff: &StateDiff) {
        for (address, account) in &diff.accounts {
            let contract = account.contract.map(|contract| ContractAccount { storage_root: None, ..contract });
            self.accounts.insert(*address, Account { contract, ..*account });
        }
        for (address, entries) in &diff.storage {
            let storage = self.storage.entry(*address).or_default();
            for (key, value) in entries {
                match value {
                    Some(value) => storage.insert(key.clone(), value.clone()),
                    None => storage.remove(key),
                };
            }
        }
        let roots: Vec<_> = self
            .storage
            .keys()
            .map(|contract| (*contract, StorageRoot::new(root_of(&mut self.storage_trie(contract)))))
            .collect();
        for (address, root) in roots {
            let contract = self.accounts.get_mut(&address).unwrap().contract.as_mut().unwrap();
            contract.storage_root = Some(root);
        }
    }

    fn accounts_trie(&self) -> EthTrie<MemoryDB> {
        reference(self.accounts.iter().map(|(address, account)| (address.to_string(), account.encode())))
    }

    fn storage_trie(&self, contract: &Address) -> EthTrie<MemoryDB> {
        let entries = self.storage.get(contract).into_iter().flatten();
        reference(entries.map(|(key, value)| (key.variable_hash().to_string(), value.clone())))
    }

    /// Returns a state diff of random size, from nothing to several leaf pages.
    fn diff(&self, seed: u64) -> StateDiff {
        let mut random = Random::new(seed);
        let mut diff = StateDiff::default();
        for _ in 0..random.one_of(&[0, 1, 1, 4, 60]) {
            let address = address(&mut random);
            let account = self.accounts.get(&address).copied().unwrap_or_default();
            let (balance, nonce) = (Qa::new(random.next().into()), Nonce::new(random.below(300)));
            diff.accounts.insert(address, Account { balance, nonce, ..account });
        }
        for _ in 0..random.one_of(&[0, 0, 1, 3]) {
            let address = contract(random.next() as usize);
            let account = self.accounts.get(&address).filter(|account| account.contract.is_some());
            if account.is_none() || random.below(2) == 0 {
                let code_hash = CodeHash::new([random.next() as u8; 32]);
                // A storage root in the diff has no effect.
                let storage_root = (random.below(2) == 0).then(|| StorageRoot::new([9; 32]));
                let contract = Some(ContractAccount { code_hash, storage_root });
                let balance = Qa::new(random.next().into());
                diff.accounts.insert(address, Account { balance, contract, ..Account::default() });
            }
            let present = self.storage.get(&address);
            let removing = random.below(4) == 0;
            let mut entries: BTreeMap<StorageKey, Option<Vec<u8>>> = BTreeMap::new();
            for _ in 0..random.one_of(&[1, 2, 40]) {
                let key = storage_key(&address, random.below(300));
                let len = random.one_of(&[1, 3, 12, 40, 300, 3000, 9000]);
                let value = vec![random.below(0x7f) as u8 + 1; len];
                entries.insert(key, (!removing).then_some(value));
            }
            if removing && random.below(2) == 0 {
                entries.extend(present.into_iter().flatten().map(|(key, _)| (key.clone(), None)));
            }
            // The removal of a missing entry does not give a contract its first storage.
            if present.is_some() || !removing {
                diff.storage.insert(address, entries);
            }
        }
        diff
    }

    fn check_view(&self, view: &StateView, seed: u64) {
        let mut random = Random::new(seed);
        let mut trie = self.accounts_trie();
        assert_eq!(view.root().to_bytes(), root_of(&mut trie));
        let probes = [address(&mut random), address(&mut random), contract(random.next() as usize)];
        let present = self.accounts.keys().nth(random.below(self.accounts.len().max(1) as u64) as usize).copied();
        for address in probes.into_iter().chain(present) {
            let account = self.accounts.get(&address).copied();
            assert_eq!(view.account(&address).unwrap(), account);
            let proof = view.account_proof(&address).unwrap();
            assert_eq!(proof.state, Vec::<Vec<u8>>::new());
            assert_eq!(proof.verify_account(&view.root(), &address), Ok(account));
            let proof = proof.account;
            check_proof(&mut trie, &address.to_string(), proof, account.map(|account| account.encode()).as_deref());
        }
        let address = contract(random.next() as usize);
        let mut trie = self.storage_trie(&address);
        for _ in 0..4 {
            let key = storage_key(&address, random.below(300));
            let (hash, value) = (key.variable_hash(), self.storage.get(&address).and_then(|entries| entries.get(&key)));
            assert_eq!(view.storage_value(&address, &hash).unwrap().as_ref(), value);
            let proof = view.storage_proof(&address, &hash).unwrap();
            let proven = proof.verify(&view.root(), &key).unwrap();
            assert_eq!(proven.value.as_ref().map(silica_proof::StorageValue::as_bytes), value.map(Vec::as_slice));
            assert!(proof.state.is_empty() || self.storage.contains_key(&address));
            check_proof(&mut trie, &hash.to_string(), proof.state, value.map(Vec::as_slice));
        }
        for _ in 0..3 {
            self.check_entries(view, &mut random);
        }
    }

    /// Compares the entries in the order of their keys with the model, from any key on.
    fn check_entries(&self, view: &StateView, random: &mut Random) {
        let address = contract(random.next() as usize);
        let prefix = storage_prefix(&address, random);
        let from = (random.below(3) == 0).then(|| storage_key(&address, random.below(300)));
        let found = view.entries(&address, &prefix, from.as_ref()).unwrap().map(Result::unwrap);
        let found: Vec<_> = found.collect();
        let first = from.map_or(prefix.clone(), |from| from.max(prefix.clone()));
        let expected = self.storage.get(&address).into_iter().flat_map(|entries| entries.range(first.clone()..));
        let expected = expected.take_while(|(key, _)| key.as_str().starts_with(prefix.as_str()));
        assert_eq!(found, expected.map(|(key, value)| (key.clone(), value.clone())).collect::<Vec<_>>());
    }

    /// Compares a view of a state before a revert with the model. Each query returns the right data or an error.
    fn check_left_behind(&self, view: &StateView) {
        let retired = |error: StateError| assert!(error.is_retired(), "{error}");
        for (address, account) in &self.accounts {
            match view.account(address) {
                Ok(found) => assert_eq!(found, Some(*account)),
                Err(error) => retired(error),
            }
        }
        for (address, expected) in &self.storage {
            let all = StorageKey::from_text(address.to_string());
            let entries = view.entries(address, &all, None).and_then(Iterator::collect::<Result<Vec<_>, _>>);
            match entries {
                Ok(found) => assert_eq!(&BTreeMap::from_iter(found), expected),
                Err(error) => retired(error),
            }
        }
    }

    fn check_whole(&self, view: &StateView) {
        let accounts: BTreeMap<_, _> = view.accounts().map(Result::unwrap).collect();
        assert_eq!(accounts, self.accounts);
        for (address, expected) in &self.storage {
            let entries: BTreeMap<_, _> = view.storage(address).unwrap().map(Result::unwrap).collect();
            assert_eq!(&entries, expected);
            let all = StorageKey::from_text(address.to_string());
            let ordered: Vec<_> = view.entries(address, &all, None).unwrap().map(Result::unwrap).collect();
            assert!(ordered.is_sorted());
            assert_eq!(&BTreeMap::from_iter(ordered), expected);
        }
    }
}

/// Compares a proof with the proof of `eth_trie`. Both libraries must verify the proof.
fn check_proof(trie: &mut EthTrie<MemoryDB>, key: &str, proof: Vec<Vec<u8>>, value: Option<&[u8]>) {
    let root = root_of(trie);
    // `eth_trie` does not list nodes that are embedded in their parents.
    let listed: BTreeSet<_> =
        proof.iter().filter(|node| node.len() >= 32 || keccak256(&[node]) == root).cloned().collect();
    assert_eq!(listed, trie.get_proof(key.as_bytes()).unwrap().into_iter().collect());
    assert_eq!(verify(&root, key.as_bytes(), &proof).unwrap().as_deref(), value);
    if !proof.is_empty() {
        assert_eq!(trie.verify_proof(root.into(), key.as_bytes(), proof).unwrap().as_deref(), value);
    }
}

/// Prepares the state after one block.
fn prepare(store: &Store, diff: &StateDiff) -> Result<PreparedState, StateError> {
    store.extend(store.prepare(), diff)
}

fn block(head: Option<(BlockNumber, BlockHash)>, state_root: StateRoot) -> BlockRecord {
    let member = PublicKey::new([2; 33]);
    let (number, prev_hash) = match head {
        Some((number, hash)) => (number.next().unwrap(), hash),
        None => (BlockNumber::new(0), BlockHash::ZERO),
    };
    let mb_info_hash = MbInfoHash::of(&[]);
    let header = TxBlockHeader { number, prev_hash, state_root, mb_info_hash, ..TxBlockHeader::genesis(member) };
    let (cosignatures, timestamp) = (CoSignatures::unsigned(1), Timestamp::new(number.get()));
    BlockRecord {
        tx_block: TxBlock { header, micro_blocks: Vec::new(), cosignatures: cosignatures.clone(), timestamp },
        micro_blocks: Vec::new(),
        ds_block: head.is_none().then(|| DsBlock { header: DsBlockHeader::genesis(member), cosignatures, timestamp }),
        transactions: Vec::new(),
        edits: StateDiff::default(),
        repeats_number: false,
    }
}

/// The unflushed data that survive a crash: the number of writes of each database, and the number of bytes of each file
/// of state diffs. `None` keeps all bytes of these files, because only a power failure loses them.
#[derive(Clone, Copy, Debug)]
struct Kept {
    record: usize,
    state: usize,
    changes: Option<usize>,
}

impl Kept {
    const NONE: Self = Self { record: 0, state: 0, changes: Some(0) };
    /// The unflushed data that survive the end of the process: no writes of the databases, and all bytes of the files.
    const OF_PROCESS: Self = Self { record: 0, state: 0, changes: None };
}

/// The part of a store that is on a disk of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Record,
    Changes,
    State,
}

/// A store on test disks, and its expected contents.
struct Fixture {
    record: Disk,
    changes: Memory,
    state: Disk,
    options: StoreOptions,
    /// `None` only during a restart.
    store: Option<Store>,
    /// The states of all versions, beginning with the state before genesis.
    versions: Vec<Model>,
    diffs: Vec<StateDiff>,
    /// Number of times that blocks had to be executed again.
    replays: u64,
    /// The savepoints, the oldest first.
    holds: Vec<Savepoint>,
}

impl Fixture {
    fn new(history: u64) -> Self {
        let options = StoreOptions {
            history,
            checkpoint_bytes: 3000,
            checkpoint_blocks: 7,
            cache_bytes: 1 << 16,
            ..StoreOptions::default()
        };
        let (record, changes, state) = (Disk::default(), Memory::default(), Disk::default());
        let store = Some(Store::on_disks(&record, &Files::Memory(changes.clone()), &state, options).unwrap());
        let versions = vec![Model::default()];
        let (diffs, holds) = (Vec::new(), Vec::new());
        Self { record, changes, state, options, store, versions, diffs, replays: 0, holds }
    }

    fn cut(&self, part: Part, after: u64) {
        match part {
            Part::Record => self.record.fail_after(after),
            Part::Changes => self.changes.fail_after(after),
            Part::State => self.state.fail_after(after),
        }
    }

    fn store(&self) -> &Store {
        self.store.as_ref().unwrap()
    }

    fn blocks(&self) -> u64 {
        self.diffs.len() as u64
    }

    /// Returns the state after the newest block.
    fn model(&self) -> &Model {
        self.versions.last().unwrap()
    }

    /// Appends a block. After an error, the record may or may not have the block.
    fn commit(&mut self, seed: u64) -> Result<(), CommitError> {
        self.commit_diff(self.model().diff(seed))
    }

    fn commit_diff(&mut self, diff: StateDiff) -> Result<(), CommitError> {
        let mut model = self.model().clone();
        model.apply(&diff);
        let prepared = prepare(self.store(), &diff).unwrap();
        assert_eq!(prepared.root().to_bytes(), root_of(&mut model.accounts_trie()));
        let head = self.store().snapshot().head().map(|head| (head.number, head.hash));
        let block = block(head, prepared.root());
        self.versions.push(model);
        self.diffs.push(diff);
        self.store().commit(&block, prepared).map(drop)
    }

    /// Checks that rejected blocks change nothing.
    fn check_refusals(&self, seed: u64) {
        let before = self.store().snapshot();
        let head = before.head().map(|head| (head.number, head.hash));
        let prepared = prepare(self.store(), &self.model().diff(seed)).unwrap();
        let refused = self.store().commit(&block(head, StateRoot::new([1; 32])), prepared);
        assert!(matches!(refused, Err(CommitError::Root { .. })), "{refused:?}");
        drop(prepare(self.store(), &self.model().diff(seed)).unwrap());
        let after = self.store().snapshot();
        assert_eq!(after.head().map(|head| head.hash), before.head().map(|head| head.hash));
        assert_eq!(after.state().root(), before.state().root());
    }

    fn check_window(&self, seed: u64) {
        let (mut random, snapshot, blocks) = (Random::new(seed), self.store().snapshot(), self.blocks());
        assert_eq!(snapshot.head().map_or(0, |head| head.number.get() + 1), blocks);
        self.model().check_view(snapshot.state(), random.next());
        let oldest = blocks.saturating_sub(self.options.history);
        for number in oldest..blocks {
            let view = snapshot.at(BlockNumber::new(number)).unwrap();
            assert_eq!(view.block(), Some(BlockNumber::new(number)));
            if number == oldest || random.below(8) == 0 {
                self.versions[number as usize + 1].check_view(&view, random.next());
            }
        }
        for number in [blocks, blocks + random.below(100)] {
            assert!(matches!(snapshot.at(BlockNumber::new(number)), Err(HistoryError::Future { .. })));
        }
        self.check_record(&snapshot);
        if let Some(gone) = oldest.checked_sub(1 + random.below(oldest.max(1))) {
            match snapshot.at(BlockNumber::new(gone)) {
                Err(HistoryError::Expired { earliest }) => assert_eq!(earliest.get(), oldest),
                other => panic!("block {gone} of {blocks}: {other:?}"),
            }
        }
    }

    /// Checks that the record has all blocks up to the head, and that an export has their rows in order.
    fn check_record(&self, snapshot: &crate::Snapshot) {
        let mut before = BlockHash::ZERO;
        for number in 0..self.blocks() {
            let block = snapshot.record(BlockNumber::new(number)).unwrap().unwrap();
            assert_eq!((block.tx_block.header.number.get(), block.tx_block.header.prev_hash), (number, before));
            before = block.tx_block.header.hash();
        }
        assert_eq!(snapshot.head().map_or(BlockHash::ZERO, |head| head.hash), before);
        let rows: Vec<_> = snapshot.record_rows().map(Result::unwrap).collect();
        assert!(rows.is_sorted_by(|row, next| row.key() < next.key()));
        let blocks: BTreeSet<_> = rows.iter().filter(|row| row.key()[0] == 0x10).map(|row| &row.key()[..9]).collect();
        assert_eq!(blocks.len() as u64, self.blocks());
    }

    /// Returns the number of packs.
    fn packs(&self) -> usize {
        self.record.keys().iter().filter(|key| key[0] == 0x18).count()
    }

    /// Closes the store and opens it again.
    fn close(&mut self) {
        self.store.take().unwrap().close().unwrap();
        let replays = self.replays;
        self.crash(Kept { record: usize::MAX, state: usize::MAX, changes: Some(0) });
        assert_eq!(self.replays, replays, "a clean stop lost changes of state");
    }

    /// Ends the process and starts another process. Executes the blocks again whose state diffs are lost.
    fn crash(&mut self, kept: Kept) {
        let replays = self.replays;
        self.restart(kept);
        if self.store().replaying().is_some() {
            self.replay(u64::MAX);
            self.replays += 1;
        }
        assert!(kept.changes.is_some() || self.replays == replays, "the end of the process lost changes of state");
    }

    fn restart(&mut self, kept: Kept) {
        self.store = None;
        self.holds.clear();
        self.record.crash(kept.record);
        self.state.crash(kept.state);
        match kept.changes {
            Some(bytes) => self.changes.crash(bytes, bytes % 2 == 0),
            None => self.changes.kill(),
        }
        self.open();
    }

    fn savepoint(&mut self) {
        if self.blocks() > 0 {
            self.holds.push(self.store().savepoint().unwrap());
        }
    }

    /// Makes the next revert open the store again.
    fn forget_states(&self, forgets: bool) {
        if forgets {
            self.holds.iter().for_each(Savepoint::forget_state);
        }
    }

    /// Reverts to a savepoint. Returns `false` if the store has no savepoint. The later savepoints become invalid.
    fn revert(&mut self, which: usize) -> Result<bool, RevertError> {
        let Some(which) = which.checked_rem(self.holds.len()) else { return Ok(false) };
        let savepoint = self.holds.drain(which..).next().unwrap();
        let before = self.store().snapshot();
        let snapshot = self.store.as_mut().unwrap().revert(&savepoint)?;
        assert_eq!(self.store().replaying(), None, "what was held is kept");
        let blocks = savepoint.number().get() as usize + 1;
        assert_eq!(snapshot.head().map(|head| (head.number, head.hash)), Some((savepoint.number(), savepoint.hash())));
        // An older reader gets the old data or an error.
        self.model().check_left_behind(before.state());
        let head = before.head().unwrap();
        match before.record(head.number) {
            Ok(record) => assert_eq!(record.map(|record| record.tx_block.header.hash()), Some(head.hash)),
            Err(error) => assert!(matches!(error, ArchiveError::Db(DbError::Retired)), "{error}"),
        }
        self.diffs.truncate(blocks);
        self.versions.truncate(blocks + 1);
        Ok(true)
    }

    /// Opens the data on the disks. The newest block may be missing if it was not acknowledged.
    fn open(&mut self) {
        let changes = Files::Memory(self.changes.clone());
        let store = Store::on_disks(&self.record, &changes, &self.state, self.options).unwrap();
        let head = match *store.outcome() {
            OpenOutcome::Empty => None,
            OpenOutcome::Ready { head, .. } | OpenOutcome::NeedsReplay { head, .. } => Some(head.get()),
        };
        let blocks = head.map_or(0, |head| head + 1);
        assert!(blocks <= self.blocks(), "there are {blocks} blocks of {}", self.blocks());
        self.diffs.truncate(blocks as usize);
        self.versions.truncate(blocks as usize + 1);
        self.store = Some(store);
    }

    fn replay(&self, most: u64) {
        let Some((first, last)) = self.store().replaying() else { return };
        for number in (first.get()..=last.get()).take(most as usize) {
            let snapshot = self.store().snapshot();
            assert_eq!(snapshot.state().block().map_or(0, |block| block.get() + 1), number);
            let head = snapshot.head().map(|head| (head.number, head.hash));
            let prepared = prepare(self.store(), &StateDiff::default()).unwrap();
            let refused = self.store().commit(&block(head, prepared.root()), prepared);
            assert!(matches!(refused, Err(CommitError::Replaying { .. })), "{refused:?}");
            let state = prepare(self.store(), &self.diffs[number as usize]).unwrap();
            let after = self.store().replay(state).unwrap();
            assert_eq!(after.state().block(), Some(BlockNumber::new(number)));
        }
    }

    /// Commits until an operation fails, and continues with the data on disk.
    fn commit_until_cut(&mut self, blocks: u64, seed: u64, kept: Kept) {
        for number in 0..blocks {
            let acknowledged = self.blocks();
            let done = self.commit(seed.wrapping_add(number));
            self.store().settle();
            if done.is_err() {
                self.crash(kept);
                assert!(self.blocks() >= acknowledged, "an acknowledged block is lost");
                return;
            }
        }
        self.crash(kept);
    }

    /// Commits until an operation fails, and continues with the same store when the disk accepts writes again.
    fn recover_from_cut(&mut self, part: Part, after: u64, seed: u64, kept: Kept) {
        self.cut(part, after);
        let failed = (0..12).any(|number| {
            let done = self.commit(seed.wrapping_add(number));
            self.store().settle();
            done.is_err()
        });
        if failed {
            self.versions.pop();
            self.diffs.pop();
        }
        let before = self.store().snapshot();
        let Some(head) = before.head().cloned() else { return self.crash(kept) };
        assert_eq!(head.number.get() + 1, self.blocks());
        let mut recover = || self.store.as_mut().unwrap().recover(head.number, &head.hash);
        // If the record has nothing of the block, the store has nothing to recover.
        assert!(!failed || part == Part::Changes || recover().is_err());
        match part {
            Part::Record => self.record.crash(if failed { kept.record } else { usize::MAX }),
            Part::State => self.state.crash(if failed { kept.state } else { usize::MAX }),
            Part::Changes => self.changes.kill(),
        }
        let snapshot = recover().unwrap();
        assert_eq!(snapshot.head().map(|head| head.hash), Some(head.hash));
        self.replay(u64::MAX);
        self.model().check_left_behind(before.state());
    }
}

#[derive(Clone, Debug)]
enum Op {
    Ask(u64),
    Blocks(u64, u64),
    Crash(Kept),
    /// Cuts a disk off after a number of writes.
    Cut {
        part: Part,
        after: u64,
        seed: u64,
        kept: Kept,
    },
    /// Cuts a disk off like `Cut`. The process continues when the disk is available again.
    Recover {
        part: Part,
        after: u64,
        seed: u64,
        kept: Kept,
    },
    Close,
    Savepoint,
    /// Reverts to one of the savepoints, in some cases without its state in memory.
    Revert(usize, bool),
    /// Reverts like `Revert`, while a disk is cut off after a number of writes.
    CutRevert {
        part: Part,
        which: usize,
        forgets: bool,
        after: u64,
        kept: Kept,
    },
    /// Loses the state, and interrupts the execution of the blocks after this number of blocks.
    Lose(u64),
}

fn op() -> impl Strategy<Value = Op> {
    let writes = || prop_oneof![Just(0), 1..150_usize, Just(usize::MAX)];
    let bytes = || prop_oneof![2 => Just(None), 1 => Just(Some(0)), 1 => (1..9000_usize).prop_map(Some)];
    let kept = || (writes(), writes(), bytes()).prop_map(|(record, state, changes)| Kept { record, state, changes });
    let part = || prop_oneof![Just(Part::Record), Just(Part::Changes), Just(Part::State)];
    prop_oneof![
        4 => any::<u64>().prop_map(Op::Ask),
        8 => (1..25_u64, any::<u64>()).prop_map(|(count, seed)| Op::Blocks(count, seed)),
        2 => kept().prop_map(Op::Crash),
        4 => (part(), 0..120_u64, any::<u64>(), kept())
            .prop_map(|(part, after, seed, kept)| Op::Cut { part, after, seed, kept }),
        3 => (part(), 0..120_u64, any::<u64>(), kept())
            .prop_map(|(part, after, seed, kept)| Op::Recover { part, after, seed, kept }),
        2 => Just(Op::Close),
        4 => Just(Op::Savepoint),
        4 => any::<(usize, bool)>().prop_map(|(which, forgets)| Op::Revert(which, forgets)),
        4 => (part(), any::<(usize, bool)>(), 0..5_u64, kept())
            .prop_map(|(part, (which, forgets), after, kept)| Op::CutRevert { part, which, forgets, after, kept }),
        1 => (0..200_u64).prop_map(Op::Lose),
    ]
}

/// Generates operations with many reverts, most of them in one process.
fn op_of_tests() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => (1..6_u64, any::<u64>()).prop_map(|(count, seed)| Op::Blocks(count, seed)),
        5 => Just(Op::Savepoint),
        // Few reverts have no state in memory, because this test is about reverts from memory.
        6 => (any::<usize>(), 0..8).prop_map(|(which, lot)| Op::Revert(which, lot == 0)),
        1 => any::<u64>().prop_map(Op::Ask),
        1 => Just(Op::Close),
    ]
}

fn check_history(history: u64, ops: Vec<Op>) {
    let mut fixture = Fixture::new(history);
    for (number, op) in (0_u64..).zip(ops) {
        match op {
            Op::Ask(seed) => {
                fixture.check_window(seed);
                fixture.check_refusals(seed);
            }
            Op::Blocks(count, seed) => {
                for number in 0..count {
                    fixture.commit(seed.wrapping_add(number)).unwrap();
                    // Without this wait, the store writes the checkpoint while the test commits the next blocks.
                    if (seed >> number) & 1 == 0 {
                        fixture.store().settle();
                    }
                }
            }
            Op::Crash(kept) => {
                fixture.crash(kept);
                fixture.check_window(number);
            }
            Op::Cut { part, after, seed, kept } => {
                fixture.cut(part, after);
                fixture.commit_until_cut(12, seed, kept);
                fixture.check_window(seed);
            }
            Op::Recover { part, after, seed, kept } => {
                fixture.recover_from_cut(part, after, seed, kept);
                fixture.check_window(seed);
                fixture.check_refusals(seed);
                fixture.store().check(&mut |_, _| {}).unwrap();
            }
            Op::Close => {
                fixture.close();
                fixture.store().check(&mut |_, _| {}).unwrap();
            }
            Op::Savepoint => fixture.savepoint(),
            Op::Revert(which, forgets) => {
                fixture.forget_states(forgets);
                if fixture.revert(which).unwrap() {
                    fixture.check_window(number);
                    fixture.check_refusals(number);
                    fixture.store().check(&mut |_, _| {}).unwrap();
                }
            }
            Op::CutRevert { part, which, forgets, after, kept } => {
                fixture.forget_states(forgets);
                let held: Vec<u64> = fixture.holds.iter().map(|savepoint| savepoint.number().get() + 1).collect();
                let (before, to) = (fixture.blocks(), which.checked_rem(held.len()).map(|which| held[which]));
                // A pack in progress would use up the permitted writes.
                fixture.store().settle_packs();
                fixture.cut(part, after);
                let reverted = fixture.revert(which);
                assert!(
                    reverted.is_ok() || after < 3 || part != Part::Record,
                    "a batch, a flush, and what opening tidies"
                );
                fixture.crash(kept);
                let blocks = fixture.blocks();
                assert!(blocks == to.unwrap_or(before) || (reverted.is_err() && blocks == before), "{blocks} blocks");
                fixture.check_window(number);
                fixture.store().check(&mut |_, _| {}).unwrap();
            }
            Op::Lose(most) => {
                fixture.store = None;
                fixture.holds.clear();
                fixture.state.clear();
                fixture.restart(Kept::NONE);
                fixture.replay(most);
                fixture.restart(if most % 2 == 0 { Kept::NONE } else { Kept::OF_PROCESS });
                fixture.replay(u64::MAX);
                assert_eq!(fixture.store().replaying(), None);
                fixture.check_window(most);
            }
        }
    }
    fixture.check_window(1);
    fixture.model().check_whole(fixture.store().snapshot().state());
    fixture.crash(Kept::NONE);
    fixture.check_window(2);
    fixture.store().check(&mut |_, _| {}).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn store_agrees_with_the_model(history in prop_oneof![Just(1_u64), Just(3), Just(50)], ops in vec(op(), 1..25)) {
        check_history(history, ops);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn store_that_is_taken_back_often_agrees_with_the_model(
        history in prop_oneof![Just(1_u64), Just(3), Just(50)],
        ops in vec(op_of_tests(), 15..50),
    ) {
        check_history(history, ops);
    }
}

#[test]
fn blocks_of_the_previous_checkpoint_are_packed() {
    let mut fixture = Fixture::new(3);
    for seed in 0..60 {
        fixture.commit(seed).unwrap();
        fixture.store().settle();
    }
    fixture.store().settle_packs();
    let packs = fixture.packs();
    assert!(packs > 10, "{packs} packs of two blocks");
    fixture.check_window(1);
    fixture.store().check(&mut |_, _| {}).unwrap();
    // A recovery removes a block that the newest checkpoint has.
    let head = fixture.store().snapshot().head().unwrap().clone();
    for seed in 60..70 {
        fixture.commit(seed).unwrap();
        fixture.store().settle();
        if fixture.store().durable() > 60 {
            break;
        }
    }
    fixture.store().settle_packs();
    let recovered = fixture.store.as_mut().unwrap().recover(head.number, &head.hash);
    assert!(matches!(recovered, Err(RecoverError::Open(_))), "the next opening rebuilds the state");
    fixture.restart(Kept { record: usize::MAX, ..Kept::OF_PROCESS });
    assert_eq!(fixture.blocks(), 60);
    fixture.replay(u64::MAX);
    fixture.check_window(2);
    // A savepoint stays valid, because the blocks after it are in no pack.
    fixture.savepoint();
    for seed in 0..20 {
        fixture.commit(seed).unwrap();
        fixture.store().settle();
    }
    fixture.store().settle_packs();
    assert!(fixture.revert(0).unwrap());
    fixture.check_window(3);
    fixture.crash(Kept::NONE);
    assert!(fixture.packs() >= packs);
    fixture.check_window(4);
    fixture.store().check(&mut |_, _| {}).unwrap();
}

#[test]
fn failure_ends_packing_and_not_the_chain() {
    let mut fixture = Fixture::new(3);
    fixture.options.checkpoint_blocks = u64::MAX;
    fixture.options.checkpoint_bytes = u64::MAX;
    fixture.restart(Kept::NONE);
    // The close writes the only checkpoint of a process, so the record gets no packs.
    for seed in [0, 20] {
        (seed..seed + 20).for_each(|seed| fixture.commit(seed).unwrap());
        fixture.close();
    }
    assert_eq!(fixture.packs(), 0);
    fixture.store = None;
    let flip = |value: Option<Vec<u8>>| value.map(|value| value.iter().map(|byte| byte ^ 1).collect());
    let key = [&[0x10][..], &7_u64.to_be_bytes(), &[0], &0_u32.to_be_bytes()].concat();
    fixture.record.damage(&key, flip);
    fixture.options.checkpoint_blocks = 4;
    fixture.open();
    for seed in 0..40 {
        fixture.commit(seed).unwrap();
        fixture.store().settle_packs();
    }
    assert_eq!(fixture.packs(), 3, "the blocks before the damaged block");
    let snapshot = fixture.store().snapshot();
    let failure = snapshot.pack_failure().unwrap();
    assert!(failure.starts_with("damaged record: keys: checksum of key"), "{failure}");
    drop(snapshot);
    fixture.store = None;
    fixture.record.damage(&key, flip);
    fixture.crash(Kept::NONE);
    assert_eq!(fixture.store().snapshot().pack_failure(), None);
    for seed in 0..9 {
        fixture.commit(seed).unwrap();
        fixture.store().settle_packs();
    }
    assert!(fixture.packs() > 20);
    fixture.check_window(1);
    fixture.store().check(&mut |_, _| {}).unwrap();
}

/// Returns all rows of the record in a directory.
fn rows_on_disk(dir: &Path) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let options = DbOptions { cache_bytes: 1 << 20, durability: Durability::Flush };
    let db = Db::open(&dir.join("chain"), options).unwrap();
    db.scan(vec![0]..vec![0xff]).map(Result::unwrap).map(|(key, value)| (key.to_vec(), value.to_vec())).collect()
}

/// The format of a record is the first byte of the row of its head.
const HEAD_OF_RECORD: [u8; 1] = [0];

#[test]
fn only_a_chain_that_grows_is_packed() {
    let dir = tempfile::tempdir().unwrap();
    let open = |options| Store::open(dir.path(), options).unwrap();
    let options = StoreOptions { history: 3, checkpoint_blocks: 4, ..StoreOptions::default() };
    // The record has no packs, like a record of an earlier version.
    let store = open(StoreOptions { durability: Durability::Relaxed, ..options });
    let (mut model, mut diffs) = (Model::default(), Vec::new());
    for seed in 0..20 {
        let diff = model.diff(seed);
        commit(&store, &mut model, &diff);
        store.settle_packs();
        diffs.push(diff);
    }
    store.close().unwrap();
    let rows = rows_on_disk(dir.path());
    assert_eq!(rows[&HEAD_OF_RECORD[..]][0], 5);

    let check = |store: Store| {
        store.check(&mut |_, _| {}).unwrap();
        assert_eq!(store.snapshot().record_rows().map(Result::unwrap).count(), rows.len() - 1);
        store.settle_packs();
        store.close().unwrap();
        assert_eq!(rows_on_disk(dir.path()), rows);
        assert!(!dir.path().join("chain").join(DataFile::Pages.name()).exists());
    };
    check(open(options));
    // A rebuild executes all blocks again, and writes checkpoints.
    Store::discard_state(dir.path()).unwrap();
    let store = open(options);
    for diff in &diffs {
        store.replay(prepare(&store, diff).unwrap()).unwrap();
        store.settle_packs();
    }
    assert!(store.durable() > 8);
    check(store);

    let store = open(options);
    for seed in 20..30 {
        let diff = model.diff(seed);
        commit(&store, &mut model, &diff);
        store.settle_packs();
    }
    store.check(&mut |_, _| {}).unwrap();
    store.close().unwrap();
    let packed = rows_on_disk(dir.path());
    assert_eq!(packed[&HEAD_OF_RECORD[..]][0], 7);
    assert!(packed.keys().filter(|key| key[0] == 0x18).count() > 8);
    let store = open(options);
    store.check(&mut |_, _| {}).unwrap();
    model.check_whole(store.snapshot().state());
}

#[test]
fn record_of_an_earlier_version_is_packed_while_it_grows() {
    let unpacked = unpack_layout_3();
    let dir = unpacked.path().join("layout-3");
    let rows = rows_on_disk(&dir);
    assert!(rows[&HEAD_OF_RECORD[..]][0] < 7);
    let options = StoreOptions { checkpoint_blocks: 4, ..LAYOUT_3_OPTIONS() };
    let store = Store::open(&dir, options).unwrap();
    let exported = |store: &Store| {
        let rows = store.snapshot().record_rows().map(Result::unwrap);
        rows.map(|row| (row.key().to_vec(), row.value().to_vec())).collect::<BTreeMap<_, _>>()
    };
    let (before, mut model) = (exported(&store), Model::default());
    for seed in 0..60 {
        let diff = model.diff(seed);
        model.apply(&diff);
    }
    for seed in 60..110 {
        let diff = model.diff(seed);
        commit(&store, &mut model, &diff);
        store.settle_packs();
    }
    store.check(&mut |_, _| {}).unwrap();
    let after = exported(&store);
    assert!(before.iter().all(|(key, value)| after.get(key) == Some(value)));
    store.close().unwrap();
    let packed = rows_on_disk(&dir);
    assert_eq!(packed[&HEAD_OF_RECORD[..]][0], 7);
    assert!(packed.keys().filter(|key| key[0] == 0x18).count() > 30);
    let store = Store::open(&dir, options).unwrap();
    assert_eq!(*store.outcome(), OpenOutcome::Ready { head: BlockNumber::new(109), rebuilt: None });
    store.check(&mut |_, _| {}).unwrap();
    model.check_whole(store.snapshot().state());
}

/// A long chain, whose state history of fifty blocks moves over many checkpoints.
#[test]
fn window_of_fifty_blocks_moves_with_the_chain() {
    let mut fixture = Fixture::new(50);
    for number in 0..260 {
        fixture.commit(number).unwrap();
        if number % 20 == 19 {
            fixture.check_window(number);
        }
    }
    fixture.store().settle();
    assert!(fixture.store().check(&mut |_, _| {}).unwrap().accounts > 50);
    fixture.crash(Kept::NONE);
    fixture.check_window(3);
    fixture.model().check_whole(fixture.store().snapshot().state());
}

/// The state history has states of an earlier process. The checkpoint from which they were to be computed is dropped.
#[test]
fn states_of_an_earlier_process_outlive_what_it_began_with() {
    let mut given_up = 0;
    for (history, before) in (3..10).flat_map(|history| (2..14).map(move |before| (history, before))) {
        let mut fixture = Fixture::new(history);
        for number in 0..before {
            fixture.commit(number).unwrap();
            fixture.store().settle();
        }
        fixture.close();
        let began_with = fixture.store().snapshot().pages().manifest();
        // The oldest state of the state history is then the second newest state of the earlier process. No query has
        // read a state before.
        for number in 0..history - 2 {
            fixture.commit(number).unwrap();
            fixture.store().settle();
        }
        given_up += u32::from(fixture.store().snapshot().pages().manifest() != began_with);
        fixture.check_window(before);
    }
    assert!(given_up > 10, "{given_up} times a checkpoint was written");
}

/// The first request for an older state after a restart does not compute the states of other blocks.
#[test]
fn older_state_is_computed_alone() {
    let mut fixture = Fixture::new(50);
    fixture.options = StoreOptions { checkpoint_bytes: 1 << 30, checkpoint_blocks: 120, ..fixture.options };
    fixture.close();
    for number in 0..200 {
        fixture.commit(number).unwrap();
        fixture.store().settle();
    }
    fixture.close();
    let view = |fixture: &Fixture, number| {
        let view = fixture.store().snapshot().at(BlockNumber::new(number)).unwrap();
        fixture.versions[number as usize + 1].check_view(&view, number);
    };
    // The oldest state of the state history is a checkpoint. So the node computes no earlier blocks.
    assert_eq!(fixture.store().snapshot().pages().manifest().previous.map(|before| before.version()), Some(151));
    view(&fixture, 150);
    assert!(fixture.store().snapshot().recomputed().is_empty());
    view(&fixture, 174);
    assert_eq!(fixture.store().snapshot().recomputed(), [163, 175]);
    // A checkpoint can remove the pages of a state after the check of the caller.
    let snapshot = fixture.store().snapshot();
    assert_eq!(snapshot.pages().floor(), 151);
    assert!(matches!(snapshot.recompute(150), Err(HistoryError::Expired { .. })));
    for number in (151..199).rev() {
        view(&fixture, number);
    }
    fixture.check_window(3);
    // Blocks move the state history over the computed states.
    for number in 0..45 {
        fixture.commit(number).unwrap();
        fixture.check_window(number);
    }
}

#[test]
fn young_chain_that_was_closed_keeps_its_window() {
    let blocks = [Op::Blocks(18, 4_711_291_446_167_416_411), Op::Close, Op::Blocks(23, 0), Op::Blocks(10, 300_713_382)];
    check_history(50, blocks.into_iter().chain([Op::Ask(10_265_888_504_551_680_729)]).collect());
}

/// Opening reads the diffs of both blocks before it applies one of them.
#[test]
fn contract_that_lost_its_storage_is_recovered() {
    let (mut fixture, address) = (Fixture::new(50), contract(0));
    let account = ContractAccount { code_hash: CodeHash::new([3; 32]), storage_root: None };
    let account = Account { contract: Some(account), ..Account::default() };
    fixture.commit_diff(StateDiff { accounts: [(address, account)].into(), ..StateDiff::default() }).unwrap();
    for value in [Some(vec![1]), None, Some(vec![2]), None, None] {
        let entries = [(storage_key(&address, 1), value)].into();
        fixture.commit_diff(StateDiff { storage: [(address, entries)].into(), ..StateDiff::default() }).unwrap();
        fixture.crash(Kept::OF_PROCESS);
        fixture.check_window(1);
    }
    let root = fixture.store().snapshot().account(&address).unwrap().unwrap().contract.unwrap().storage_root;
    assert_eq!(root, Some(StorageRoot::new(silica_proof::trie::EMPTY_ROOT)));
}

/// The first checkpoint is written when the chain has fewer blocks than the state history can have.
#[test]
fn window_of_a_young_chain_outlives_a_restart() {
    for blocks in 1..12 {
        let mut fixture = Fixture::new(50);
        for number in 0..blocks {
            fixture.commit(number).unwrap();
            fixture.store().settle();
        }
        fixture.crash(Kept::NONE);
        fixture.check_window(blocks);
        fixture.close();
        fixture.check_window(blocks);
        fixture.commit(blocks).unwrap();
        fixture.check_window(blocks);
    }
}

/// Every write and flush of each disk fails once. A part of the later writes survives.
#[test]
fn store_survives_a_cut_at_any_write() {
    let cuts = [(Part::Record, 16), (Part::Changes, 16), (Part::State, 10)].map(|(part, blocks)| {
        // Each cut has its own store, so two threads can share the cuts.
        let half = |first: u64| (first..).step_by(2).map_while(|after| replays_after_a_cut(part, blocks, after));
        thread::scope(|scope| {
            let halves = [0, 1].map(|first| scope.spawn(move || half(first).collect::<Vec<_>>()));
            halves.map(|half| half.join().unwrap()).concat()
        })
    });
    assert!(cuts.iter().all(|cuts| cuts.len() > 20), "{cuts:?} writes were cut");
    let (cuts, replays) = (cuts.concat().len() as u64, cuts.iter().flatten().sum::<u64>());
    assert!(replays > 5 && replays < cuts, "blocks were executed again {replays} times");
}

/// Cuts a disk off after a number of writes. Returns how often blocks were executed again, or `None` if all writes
/// succeed.
fn replays_after_a_cut(part: Part, blocks: u64, after: u64) -> Option<u64> {
    let mut fixture = Fixture::new(3);
    let mut random = Random::new(after);
    for number in 0..9 {
        fixture.commit(number * 77 + 5).unwrap();
        fixture.store().settle();
    }
    fixture.cut(part, after);
    let mut failed = false;
    for number in 0..blocks {
        let acknowledged = fixture.blocks();
        let done = fixture.commit(number * 31 + 7);
        fixture.store().settle();
        if done.is_err() {
            failed = true;
            let mut some = |disk: &Disk| random.below(disk.unflushed() as u64 + 1) as usize;
            let (record, state) = (some(&fixture.record), some(&fixture.state));
            let changes = random.one_of(&[None, Some(0), Some(77), Some(1000), Some(usize::MAX)]);
            fixture.crash(Kept { record, state, changes });
            assert!(fixture.blocks() >= acknowledged);
            break;
        }
    }
    fixture.check_window(after);
    if !failed {
        return None;
    }
    let replays = fixture.replays;
    fixture.commit(after).unwrap();
    fixture.check_window(after);
    if after.is_multiple_of(5) {
        fixture.store().check(&mut |_, _| {}).unwrap();
    }
    Some(replays)
}

/// Repeated power failures lose state diffs, also during the execution of blocks. No block is lost, and each state of
/// the state history is readable.
#[test]
fn changes_of_state_that_are_lost_are_made_again() {
    let mut fixture = Fixture::new(5);
    let mut seed = 0;
    for round in 0..40_usize {
        for _ in 0..7 {
            seed += 1;
            fixture.commit(seed).unwrap();
            if seed % 3 == 0 {
                fixture.store().settle();
            }
        }
        let blocks = fixture.blocks();
        match round % 4 {
            0 => fixture.changes.damage(|name, bytes| bytes.truncate(bytes.len() * (name as usize % 3) / 3)),
            1 => fixture.changes.clear(),
            _ => {}
        }
        fixture.restart(Kept { changes: Some(round * 100), ..Kept::NONE });
        fixture.replay(round as u64 % 5);
        fixture.crash(Kept { changes: Some(round * 100 + 1), ..Kept::NONE });
        assert_eq!(fixture.blocks(), blocks);
        fixture.check_window(seed);
        fixture.store().check(&mut |_, _| {}).unwrap();
    }
    assert!(fixture.replays > 10, "{} replays", fixture.replays);
}

/// The storage of one contract grows from its first entry to many thousands, and shrinks again.
#[test]
fn storage_of_a_contract_grows_and_shrinks() {
    let store = Store::ephemeral(StoreOptions { history: 2, checkpoint_bytes: 1, ..StoreOptions::default() });
    let address = contract(0);
    let account = ContractAccount { code_hash: CodeHash::new([3; 32]), storage_root: None };
    let account = Account { contract: Some(account), ..Account::default() };
    let mut model = Model::default();
    let value = |number: u64| Some(format!("\"{number}\"").into_bytes());
    let steps = [0..1, 1..2, 2..40, 40..41, 41..3000, 3000..20_000].map(|range| (range, true));
    for (range, present) in
        steps.into_iter().chain([(1..19_990, false), (19_990..20_000, false), (0..1, false), (0..3, true)])
    {
        let entries = range.map(|number| (storage_key(&address, number), value(number).filter(|_| present)));
        let mut diff = StateDiff { storage: [(address, entries.collect())].into(), ..StateDiff::default() };
        if model.accounts.is_empty() {
            diff.accounts.insert(address, account);
        }
        commit(&store, &mut model, &diff);
        store.settle();
        model.check_view(store.snapshot().state(), 5);
        let report = store.check(&mut |_, _| {}).unwrap();
        assert!(report.accounts <= 1 && report.entries <= 20_000);
    }
    model.check_whole(store.snapshot().state());
}

/// A small value frees the disk space of the large value that it replaces.
#[test]
fn space_of_a_large_value_is_freed_with_it() {
    let mut fixture = Fixture::new(1);
    let address = contract(1);
    let account = ContractAccount { code_hash: CodeHash::new([3; 32]), storage_root: None };
    let mut write = |len: usize| {
        let value = (storage_key(&address, 1), Some(vec![7; len]));
        let mut diff = StateDiff { storage: [(address, [value].into())].into(), ..StateDiff::default() };
        if fixture.blocks() == 0 {
            diff.accounts.insert(address, Account { contract: Some(account), ..Account::default() });
        }
        fixture.commit_diff(diff).unwrap();
        fixture.close();
        fixture.store().space_used()
    };
    let small = [write(10), write(11), write(12)][2];
    assert!(write(90_000) > small + 89_000);
    write(90_001);
    let shorter = [write(40_000), write(40_001)][1];
    assert!(shorter < small + 41_000, "{shorter} bytes, {small} with small values");
    assert_eq!([write(13), write(14), write(15)][2], small);
}

/// A reader of some pages of the key index cannot detect a lost page. A reader of all entries detects it.
#[test]
fn reading_all_entries_finds_a_lost_key() {
    let mut fixture = Fixture::new(2);
    let address = contract(0);
    let account = ContractAccount { code_hash: CodeHash::new([3; 32]), storage_root: None };
    let account = Account { contract: Some(account), ..Account::default() };
    let entries = (0..30).map(|number| (storage_key(&address, number), Some(vec![1; 20]))).collect();
    let diff = StateDiff { accounts: [(address, account)].into(), storage: [(address, entries)].into() };
    fixture.commit_diff(diff).unwrap();
    fixture.close();
    let is_row = |key: &Vec<u8>| key.starts_with(&[space::KEYS]);
    let row = fixture.state.keys().into_iter().find(is_row).unwrap();
    fixture.store = None;
    fixture.state.damage(&row, |_| None);
    fixture.open();
    let all = StorageKey::from_text(address.to_string());
    let last = fixture.store().snapshot().state().entries(&address, &all, None).unwrap().last().unwrap();
    assert!(matches!(last, Err(StateError::Damaged { .. })), "{last:?}");
    assert!(matches!(fixture.store().check(&mut |_, _| {}), Err(StateError::Damaged { .. })));
}

/// A span can begin before its prefix. A reader of the span returns no keys before the prefix.
#[test]
fn keys_before_a_prefix_are_skipped() {
    let mut fixture = Fixture::new(2);
    let address = contract(0);
    let account = ContractAccount { code_hash: CodeHash::new([3; 32]), storage_root: None };
    let account = Account { contract: Some(account), ..Account::default() };
    let key = |field, number: u32| StorageKey::map_entry(&address, field, [MapKey::uint(number.into())]);
    let map = |value: Option<Vec<u8>>| (0..40).map(move |number| (key("map", number), value.clone()));
    let entries = map(Some(vec![1])).chain([(key("list", 1), Some(vec![2]))]).collect();
    let diff = StateDiff { accounts: [(address, account)].into(), storage: [(address, entries)].into() };
    fixture.commit_diff(diff).unwrap();
    // The last entry stays, so that the keys before it form a range without entries.
    let gone = map(None).filter(|(place, _)| *place != key("map", 9)).collect();
    fixture.commit_diff(StateDiff { storage: [(address, gone)].into(), ..StateDiff::default() }).unwrap();
    let snapshot = fixture.store().snapshot();
    let (prefix, from) = (StorageKey::field(&address, "map"), StorageKey::from_text(address.to_string()));
    assert_eq!(snapshot.state().entries(&address, &prefix, Some(&from)).unwrap().count(), 1);
    fixture.model().check_whole(snapshot.state());
}

/// Reads all batches of entries, also with values so large that a batch must become smaller.
#[test]
fn entries_come_in_windows() {
    let store = Store::ephemeral(StoreOptions::default());
    let address = contract(0);
    let account = ContractAccount { code_hash: CodeHash::new([3; 32]), storage_root: None };
    let account = Account { contract: Some(account), ..Account::default() };
    let mut model = Model::default();
    let key = |number: u32| StorageKey::map_entry(&address, "map", [MapKey::string(&format!("{number:05}"))]);
    let entries = (0..3_000).map(|number| (key(number), Some(vec![1; if number < 1_000 { 3 } else { 20_000 }])));
    let diff = StateDiff { accounts: [(address, account)].into(), storage: [(address, entries.collect())].into() };
    let snapshot = commit(&store, &mut model, &diff);
    model.check_whole(snapshot.state());
}

#[test]
fn damage_differs_from_an_expired_view() {
    let mut fixture = Fixture::new(2);
    fixture.commit(3).unwrap();
    let old = fixture.store().snapshot();
    for number in 0..40 {
        fixture.commit(number).unwrap();
        fixture.store().settle();
    }
    let probe = *fixture.versions[1].accounts.keys().next().unwrap_or(&contract(0));
    match old.state().account(&probe) {
        Ok(account) => assert_eq!(account, fixture.versions[1].accounts.get(&probe).copied()),
        Err(error) => assert!(matches!(error, StateError::Expired), "{error}"),
    }
    assert!(matches!(old.at(BlockNumber::new(0)), Err(HistoryError::Expired { .. })));
}

/// Before it commits a block, the store rejects an entry that cannot be stored, because a failed checkpoint ends the
/// chain.
#[test]
fn entry_that_no_checkpoint_can_hold_is_refused() {
    let store = Store::ephemeral(StoreOptions::default());
    let address = contract(0);
    let account = ContractAccount { code_hash: CodeHash::new([3; 32]), storage_root: None };
    let account = Account { contract: Some(account), ..Account::default() };
    let diff = |key: usize, value: usize| {
        let key = StorageKey::from_text(format!("{address}{}", "x".repeat(key)));
        let entries = [(key, Some(vec![0; value]))];
        StateDiff { accounts: [(address, account)].into(), storage: [(address, entries.into())].into() }
    };
    for diff in [diff(10, LARGEST_LEAF - 9), diff(LARGEST_LEAF - 9, 10)] {
        let refused = prepare(&store, &diff);
        assert!(matches!(refused, Err(StateError::TooLarge { bytes }) if bytes == LARGEST_LEAF + 1));
    }
}

#[test]
fn append_rejects_states_of_other_blocks() {
    let store = Store::ephemeral(StoreOptions::default());
    let mut model = Model::default();
    let mut next = |seed| {
        let diff = model.diff(seed);
        model.apply(&diff);
        diff
    };
    let (first, second, third) = (next(1), next(2), next(3));
    let genesis = prepare(&store, &first).unwrap();
    let head = store.commit(&block(None, genesis.root()), genesis).unwrap();
    let head = head.head().map(|head| (head.number, head.hash));
    let one = prepare(&store, &second).unwrap();
    let record = block(head, one.root());
    let append = |state: PreparedState| store.append(Append::Block(&record), state).map(drop).unwrap_err();

    let two = store.extend(prepare(&store, &second).unwrap(), &third).unwrap();
    let error = append(two);
    assert!(matches!(error, CommitError::Stale { prepared, expected } if (prepared.get(), expected.get()) == (2, 1)));
    let none = append(store.prepare());
    assert!(matches!(none, CommitError::Stale { prepared, expected } if (prepared.get(), expected.get()) == (0, 1)));
    let mut skipped = store.prepare();
    skipped.skip(1);
    let unchanged = block(head, skipped.root());
    let error = store.append(Append::Block(&unchanged), skipped).map(drop).unwrap_err();
    assert!(matches!(error, CommitError::Append(AppendError::BlockChanges { .. })), "{error}");
    assert_eq!(error.to_string(), "block 1: expected one state diff, got 0");

    let late = prepare(&store, &second).unwrap();
    store.append(Append::Block(&record), one).unwrap();
    let error = append(late);
    assert!(matches!(error, CommitError::Stale { prepared, expected } if (prepared.get(), expected.get()) == (1, 2)));
    assert!(matches!(store.replay(store.prepare()), Err(CommitError::NotReplaying)));
    let head = store.flush().unwrap();
    assert_eq!(head.head().unwrap().number.get(), 1);
}

/// Makes a store in a directory, with blocks that have accounts and contract storage.
fn fill(dir: &Path, options: StoreOptions) {
    let store = Store::open(dir, options).unwrap();
    let mut model = Model::default();
    for seed in 0..5 {
        let diff = model.diff(seed);
        commit(&store, &mut model, &diff);
    }
    store.close().unwrap();
}

/// Commits a block with a state diff, and applies the diff to the model.
fn commit(store: &Store, model: &mut Model, diff: &StateDiff) -> crate::Snapshot {
    model.apply(diff);
    let state = prepare(store, diff).unwrap();
    let head = store.snapshot().head().map(|head| (head.number, head.hash));
    store.commit(&block(head, state.root()), state).unwrap()
}

/// With relaxed durability, the files of a killed process have a state that opening need not rebuild.
#[test]
fn killed_process_with_relaxed_durability_leaves_a_whole_state() {
    let (dir, mut model) = (tempfile::tempdir().unwrap(), Model::default());
    let options =
        StoreOptions { durability: Durability::Relaxed, history: 1, checkpoint_bytes: 1, ..StoreOptions::default() };
    let store = Store::open(&dir.path().join("store"), options).unwrap();
    for seed in 0..24 {
        let diff = model.diff(seed);
        commit(&store, &mut model, &diff);
        store.settle();
        // The copy has the files as the operating system has them at the end of the process.
        let killed = dir.path().join("killed");
        copy_directory(&dir.path().join("store"), &killed);
        let store = Store::open(&killed, StoreOptions { repair: false, ..options }).unwrap();
        assert!(!matches!(store.outcome(), OpenOutcome::NeedsReplay { .. }), "{seed}: {:?}", store.outcome());
        store.check(&mut |_, _| {}).unwrap();
        drop(store);
        fs::remove_dir_all(killed).unwrap();
    }
    assert!(store.durable() > 20, "{}", store.durable());
}

fn copy_directory(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        if path.is_dir() {
            copy_directory(&path, &to);
        } else {
            let _bytes = fs::copy(path, to).unwrap();
        }
    }
}

/// Changes a sealed value of a database.
fn reseal(dir: &Path, key: &[u8], change: impl FnOnce(&mut Vec<u8>)) {
    let db = Db::open(dir, DbOptions { cache_bytes: 1 << 20, durability: Durability::Relaxed }).unwrap();
    let mut payload = unseal(key, &db.get(key).unwrap().unwrap()).unwrap().to_vec();
    change(&mut payload);
    db.insert(key, &seal(key, &payload)).unwrap();
    db.flush().unwrap();
}

/// If opening rejects the record, the state stays, even if it is damaged or its removal was requested.
#[test]
fn record_that_is_refused_leaves_the_state_alone() {
    let dir = tempfile::tempdir().unwrap();
    fill(dir.path(), StoreOptions::default());
    let options = StoreOptions { durability: Durability::Relaxed, ..StoreOptions::default() };
    let (chain, state) = (dir.path().join("chain"), dir.path().join("state"));
    let (marker, head_marker) = (dir.path().join("state.damaged"), dir.path().join("witness"));
    let manifest = || {
        let db = Db::open(&state, DbOptions { cache_bytes: 1 << 20, durability: Durability::Relaxed }).unwrap();
        db.get(&[space::MANIFEST]).unwrap().map(|value| value.to_vec())
    };
    let before = manifest();
    assert!(before.is_some());
    let refused = |text: &str| {
        fs::write(&marker, "a reason").unwrap();
        let Err(OpenError::Record(error)) = Store::open(dir.path(), options) else { panic!("{text}: it was opened") };
        assert!(error.to_string().contains(text), "{error}");
        assert_eq!(manifest(), before, "{text}: the state was removed");
        fs::remove_file(&marker).unwrap();
    };
    let mut format = 0;
    reseal(&chain, &[0], |head| format = std::mem::replace(&mut head[0], 0x7f));
    refused("got format 127");
    reseal(&chain, &[0], |head| head[0] = format);

    let names = fs::read(&head_marker).unwrap();
    let later = seal(b"silica witness", &[&99_u64.to_be_bytes()[..], &[7; 32]].concat());
    fs::write(&head_marker, [&names[..44], &later].concat()).unwrap();
    refused("acknowledged blocks are missing");
    fs::write(&head_marker, names).unwrap();

    let store = Store::open(dir.path(), options).unwrap();
    assert_eq!(*store.outcome(), OpenOutcome::Ready { head: BlockNumber::new(4), rebuilt: None });
}

#[test]
fn head_marker_is_absent_with_relaxed_durability_and_names_the_head_without() {
    let dir = tempfile::tempdir().unwrap();
    fill(dir.path(), StoreOptions::default());
    let head_marker = dir.path().join("witness");
    let before = fs::read(&head_marker).unwrap();
    let relaxed = StoreOptions { durability: Durability::Relaxed, ..StoreOptions::default() };
    // A start that fails keeps the marker.
    fs::write(dir.path().join("state.damaged"), "a reason").unwrap();
    Store::open(dir.path(), StoreOptions { repair: false, ..relaxed }).unwrap_err();
    fs::remove_file(dir.path().join("state.damaged")).unwrap();
    assert_eq!(fs::read(&head_marker).unwrap(), before);
    drop(Store::open(dir.path(), relaxed).unwrap());
    assert!(!head_marker.exists());
    drop(Store::open(dir.path(), StoreOptions::default()).unwrap());
    let newest = |bytes: &[u8]| bytes.chunks(44).max().unwrap().to_vec();
    assert_eq!(newest(&fs::read(&head_marker).unwrap()), newest(&before), "it names the head again");
}

#[test]
fn state_of_a_later_layout_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let options = StoreOptions { durability: Durability::Relaxed, ..StoreOptions::default() };
    fill(dir.path(), options);
    let state = dir.path().join("state");
    let mut layout = 0;
    reseal(&state, &[space::MANIFEST], |manifest| layout = std::mem::replace(&mut manifest[0], 0x7f));
    let refused = Store::open(dir.path(), options).map(drop);
    assert!(matches!(refused, Err(OpenError::State(StateError::NewerLayout { got: 0x7f, .. }))), "{refused:?}");
    reseal(&state, &[space::MANIFEST], |manifest| manifest[0] = layout);
    let store = Store::open(dir.path(), options).unwrap();
    assert_eq!(*store.outcome(), OpenOutcome::Ready { head: BlockNumber::new(4), rebuilt: None });
}

#[test]
fn block_that_is_held_is_one_the_checkpoints_do_not_pass() {
    let mut fixture = Fixture::new(3);
    let commit = |fixture: &mut Fixture, blocks: u64| {
        for seed in 0..blocks {
            fixture.commit(seed).unwrap();
            fixture.store().settle();
        }
    };
    commit(&mut fixture, 20);
    fixture.savepoint();
    let durable = fixture.store().durable();
    commit(&mut fixture, 40);
    assert_eq!(fixture.store().durable(), durable);
    assert!(!fixture.store().holds_too_much());
    assert!(fixture.revert(0).unwrap());
    assert_eq!(fixture.blocks(), 20);
    fixture.check_window(1);
    // No savepoint exists.
    commit(&mut fixture, 20);
    assert!(fixture.store().durable() > 20);
    fixture.savepoint();
    commit(&mut fixture, 10);
    fixture.holds.clear();
    commit(&mut fixture, 10);
    assert!(fixture.store().durable() > 40);
    fixture.close();
    fixture.check_window(2);
    fixture.store().check(&mut |_, _| {}).unwrap();
}

#[test]
fn reverted_head_is_not_recovered() {
    let mut fixture = Fixture::new(3);
    (0..4).for_each(|seed| fixture.commit(seed).unwrap());
    fixture.savepoint();
    (4..8).for_each(|seed| fixture.commit(seed).unwrap());
    let gone = fixture.store().snapshot().head().unwrap().clone();
    assert!(fixture.revert(0).unwrap());
    let head = fixture.store().snapshot().head().unwrap().clone();
    let mut recover = |number, hash| fixture.store.as_mut().unwrap().recover(number, hash);
    assert!(matches!(recover(gone.number, &gone.hash), Err(RecoverError::Lost { number }) if number == gone.number));
    assert!(matches!(recover(head.number, &gone.hash), Err(RecoverError::Lost { number }) if number == head.number));
    assert_eq!(recover(head.number, &head.hash).unwrap().head().map(|head| head.hash), Some(head.hash));
    fixture.commit(9).unwrap();
    // Recovery removes a block that was flushed but not acknowledged.
    let recovered = fixture.store.as_mut().unwrap().recover(head.number, &head.hash).unwrap();
    assert_eq!(recovered.head().map(|head| head.hash), Some(head.hash));
}

/// The revert takes the state from memory. Opening the store would find that the state diffs are lost, and would
/// require a replay.
#[test]
fn savepoint_keeps_the_state_without_replay() {
    let mut fixture = Fixture::new(3);
    fixture.options.checkpoint_blocks = 1_000;
    fixture.options.checkpoint_bytes = 1 << 20;
    fixture.restart(Kept::NONE);
    let commit = |fixture: &mut Fixture, blocks: u64| (0..blocks).for_each(|seed| fixture.commit(seed).unwrap());
    commit(&mut fixture, 9);
    for _ in 0..3 {
        fixture.savepoint();
        commit(&mut fixture, 4);
        fixture.savepoint();
        commit(&mut fixture, 3);
        fixture.changes.damage(|_, bytes| bytes.fill(0));
        for which in [1, 0] {
            assert!(fixture.revert(which).unwrap());
            fixture.model().check_view(fixture.store().snapshot().state(), 1);
            fixture.check_refusals(1);
        }
        commit(&mut fixture, 1);
    }
}

/// Only a few savepoints have their states in memory.
#[test]
fn any_of_many_holds_is_gone_back_to() {
    let mut fixture = Fixture::new(3);
    for seed in 0..40 {
        fixture.commit(seed).unwrap();
        fixture.savepoint();
    }
    assert_eq!(fixture.holds.iter().filter(|savepoint| savepoint.state().is_some()).count(), 8);
    for (which, blocks) in [(38, 39), (20, 21), (3, 4), (0, 1)] {
        assert!(fixture.revert(which).unwrap());
        assert_eq!(fixture.blocks(), blocks);
        fixture.check_window(blocks);
        fixture.check_refusals(blocks);
        fixture.store().check(&mut |_, _| {}).unwrap();
        fixture.commit(blocks).unwrap();
        fixture.check_window(blocks);
    }
    fixture.close();
    fixture.check_window(1);
}

/// The key index records keys with the version of their block. After a revert, another block has this version.
#[test]
fn keys_of_undone_blocks_are_not_remembered() {
    let mut fixture = Fixture::new(2);
    let address = contract(0);
    let account = ContractAccount { code_hash: CodeHash::new([3; 32]), storage_root: None };
    let account = Account { contract: Some(account), ..Account::default() };
    let entries = |numbers: Range<u64>, value: Option<u8>| {
        let keys = numbers.map(|number| (storage_key(&address, number), value.map(|value| vec![value])));
        StateDiff { storage: [(address, keys.collect())].into(), ..StateDiff::default() }
    };
    let accounts = [(address, account)].into();
    fixture.commit_diff(StateDiff { accounts, ..entries(0..60, Some(1)) }).unwrap();
    // The first iteration has these keys in a checkpoint, and the second has them in memory.
    for settled in [true, false] {
        if settled {
            fixture.close();
        }
        fixture.savepoint();
        let lines =
            [[entries(0..50, None), entries(80..90, Some(2))], [entries(30..70, Some(3)), entries(0..40, None)]];
        for line in lines {
            for diff in line {
                fixture.commit_diff(diff).unwrap();
                fixture.model().check_whole(fixture.store().snapshot().state());
            }
            assert!(fixture.revert(0).unwrap());
            fixture.model().check_whole(fixture.store().snapshot().state());
            fixture.store().check(&mut |_, _| {}).unwrap();
            fixture.savepoint();
        }
        fixture.holds.clear();
        fixture.commit_diff(entries(100..140, Some(4))).unwrap();
    }
}

#[test]
fn savepoint_writes_a_checkpoint_if_many_blocks_are_in_memory() {
    let mut fixture = Fixture::new(3);
    // With these limits, no commit begins a checkpoint.
    fixture.options = StoreOptions { checkpoint_bytes: 1 << 20, checkpoint_blocks: 64, ..fixture.options };
    fixture.restart(Kept::NONE);
    let commit = |fixture: &mut Fixture, blocks: u64| (0..blocks).for_each(|seed| fixture.commit(seed).unwrap());
    let held = |fixture: &mut Fixture| {
        fixture.savepoint();
        (fixture.store().durable(), fixture.store().indexed())
    };
    commit(&mut fixture, 4);
    assert_eq!(held(&mut fixture), (0, 0), "it is not much");
    commit(&mut fixture, 6);
    assert_eq!(held(&mut fixture), (0, 0), "it would pass the block that is held");
    fixture.holds.clear();
    assert_eq!(held(&mut fixture), (10, 10));
    for _ in 0..3 {
        commit(&mut fixture, 2);
        assert!(fixture.revert(0).unwrap());
        fixture.check_window(1);
        assert_eq!(held(&mut fixture), (10, 10), "nothing has changed since");
    }
    fixture.holds.clear();
    // The state history needs the previous checkpoint for some blocks.
    fixture.options.history = 20;
    fixture.restart(Kept::NONE);
    commit(&mut fixture, 12);
    assert_eq!(held(&mut fixture).0, 10);
    fixture.holds.clear();
    commit(&mut fixture, 8);
    assert_eq!(held(&mut fixture), (30, 30));
    commit(&mut fixture, 5);
    assert!(fixture.revert(0).unwrap());
    fixture.check_window(2);
    fixture.close();
    fixture.check_window(3);
    fixture.store().check(&mut |_, _| {}).unwrap();
}

#[test]
fn savepoints_report_that_they_hold_too_much() {
    // With the second value, a block above the limit also waits for a checkpoint.
    for checkpoint_bytes in [3000, 300] {
        let mut fixture = Fixture::new(3);
        fixture.options = StoreOptions { checkpoint_bytes, held_bytes: 10_000, ..fixture.options };
        fixture.restart(Kept::NONE);
        fixture.commit(1).unwrap();
        fixture.store().settle();
        fixture.savepoint();
        let durable = fixture.store().durable();
        let mut seed = 0;
        while !fixture.store().holds_too_much() {
            assert_eq!(fixture.store().durable(), durable, "the block is passed without a report");
            seed += 1;
            assert!(seed < 1_000);
            fixture.commit(seed).unwrap();
        }
        assert!(seed > 1);
        // A later savepoint does not stop checkpoints. The newest checkpoint is then of a later block.
        fixture.savepoint();
        let blocks = fixture.blocks();
        for seed in 0..12 {
            fixture.commit(seed).unwrap();
            fixture.store().settle();
        }
        assert!(fixture.store().durable() > blocks && fixture.store().indexed() > blocks);
        assert!(fixture.store().holds_too_much());
        assert!(matches!(fixture.revert(0), Err(RevertError::Passed { .. })));
        fixture.model().check_whole(fixture.store().snapshot().state());
        // After all savepoints are dropped, new savepoints take effect again.
        assert!(fixture.holds.is_empty() && !fixture.store().holds_too_much());
        fixture.savepoint();
        fixture.commit(1).unwrap();
        assert!(fixture.revert(0).unwrap());
    }
}

#[test]
fn changes_that_were_taken_back_leave_nothing_on_disk() {
    let mut fixture = Fixture::new(3);
    fixture.options.checkpoint_bytes = u64::MAX;
    fixture.options.checkpoint_blocks = u64::MAX;
    fixture.restart(Kept::NONE);
    fixture.commit(1).unwrap();
    for round in 0..20 {
        fixture.savepoint();
        let before = fixture.changes.lengths();
        for seed in 0..4 {
            fixture.commit(seed).unwrap();
        }
        assert!(fixture.changes.lengths().len() > before.len());
        assert!(fixture.revert(0).unwrap());
        fixture.holds.clear();
        assert_eq!(fixture.changes.lengths(), before, "round {round}");
        fixture.commit_diff(StateDiff::default()).unwrap();
    }
}

#[test]
fn other_chains_blocks_are_not_gone_back_to() {
    let mut fixture = Fixture::new(3);
    assert!(matches!(fixture.store().savepoint(), Err(RevertError::Busy)));
    fixture.commit(1).unwrap();
    fixture.savepoint();
    fixture.commit(2).unwrap();
    let later = fixture.store().savepoint().unwrap();
    assert!(fixture.revert(0).unwrap());
    let store = fixture.store.as_mut().unwrap();
    assert!(matches!(store.revert(&later), Err(RevertError::NotThere { .. })));
    fixture.commit(2).unwrap();
    fixture.commit(3).unwrap();
    // Reverts to the same block again.
    assert!(fixture.store.as_mut().unwrap().revert(&later).is_ok());
    fixture.diffs.truncate(2);
    fixture.versions.truncate(3);
    fixture.check_window(1);
    assert!(fixture.revert(0).is_ok_and(|reverted| !reverted));
    fixture.commit(7).unwrap();
    assert!(fixture.store.as_mut().unwrap().revert(&later).is_ok());
}

#[test]
fn directory_opens_after_a_revert() {
    let dir = tempfile::tempdir().unwrap();
    let options = StoreOptions { durability: Durability::Relaxed, ..StoreOptions::default() };
    let mut store = Store::open(dir.path(), options).unwrap();
    let (mut head, mut model, mut savepoint) = (None, Model::default(), None);
    for seed in 0..20 {
        let diff = model.diff(seed);
        model.apply(&diff);
        let prepared = prepare(&store, &diff).unwrap();
        let block = block(head, prepared.root());
        let snapshot = store.commit(&block, prepared).unwrap();
        head = snapshot.head().map(|head| (head.number, head.hash));
        if seed == 7 {
            savepoint = Some(store.savepoint().unwrap());
        }
    }
    let reader = store.reader();
    let savepoint = savepoint.unwrap();
    store.revert(&savepoint).unwrap();
    assert_eq!(reader.snapshot().head().map(|head| head.hash), Some(savepoint.hash()));
    drop((store, reader));
    // The head marker has the same block.
    let store = Store::open(dir.path(), options).unwrap();
    assert_eq!(*store.outcome(), OpenOutcome::Ready { head: savepoint.number(), rebuilt: None });
    store.check(&mut |_, _| {}).unwrap();
    store.close().unwrap();
}

#[test]
fn a_label_stays_with_the_record() {
    let dir = tempfile::tempdir().unwrap();
    let options = StoreOptions { durability: Durability::Relaxed, ..StoreOptions::default() };
    let open = || Store::open(dir.path(), options).unwrap();
    let store = open();
    assert_eq!(store.label().unwrap(), None);
    store.set_label("rules 1").unwrap();
    store.close().unwrap();
    let mut store = open();
    assert_eq!(*store.outcome(), OpenOutcome::Empty);
    assert_eq!(store.label().unwrap().as_deref(), Some("rules 1"));
    let mut fixture = Fixture::new(3);
    for seed in 0..3 {
        fixture.commit(seed).unwrap();
    }
    for (number, diff) in (0..).map(BlockNumber::new).zip(&fixture.diffs) {
        let block = fixture.store().record(number).unwrap().unwrap();
        store.commit(&block, prepare(&store, diff).unwrap()).unwrap();
    }
    store.check(&mut |_, _| {}).unwrap();
    let savepoint = store.savepoint().unwrap();
    store.revert(&savepoint).unwrap();
    assert_eq!(store.label().unwrap().as_deref(), Some("rules 1"));
}

#[test]
fn rows_of_a_record_make_the_same_record_elsewhere() {
    let dir = tempfile::tempdir().unwrap();
    let mut fixture = Fixture::new(3);
    assert_eq!(fixture.store().snapshot().record_rows().count(), 0);
    let commit = |fixture: &mut Fixture, seeds: Range<u64>| seeds.for_each(|seed| fixture.commit(seed).unwrap());
    commit(&mut fixture, 0..12);
    let snapshot = fixture.store().snapshot();
    fixture.store().set_label("rules 1").unwrap();
    // The rows do not include the rows of these blocks.
    commit(&mut fixture, 12..20);
    let mut import = RecordImport::create(dir.path()).unwrap();
    for row in snapshot.record_rows() {
        let row = row.unwrap();
        assert!(import.add(row.key(), row.value()).unwrap());
        assert!(!import.add(row.key(), &row.value()[1..]).unwrap());
    }
    for table in [0x00, 0x12, 0x0f, 0x17, 0xff] {
        let added = import.add(&[table, 1], &seal(&[table, 1], b"value")).unwrap();
        assert_eq!(added, table == 0x12, "whether it is of the chain is found out later");
    }
    let head = snapshot.head().unwrap();
    import.finish(head.number, &head.hash).unwrap();
    let options = StoreOptions { durability: Durability::Relaxed, ..StoreOptions::default() };
    let store = Store::open(dir.path(), options).unwrap();
    let outcome = store.outcome();
    assert!(matches!(outcome, OpenOutcome::NeedsReplay { head, .. } if head.get() == 11), "{outcome:?}");
    assert_eq!(store.label().unwrap().as_deref(), Some("rules 1"));
    for diff in &fixture.diffs[..12] {
        store.replay(prepare(&store, diff).unwrap()).unwrap();
    }
    assert_eq!(store.snapshot().state().root(), snapshot.state().root());
    for number in (0..13).map(BlockNumber::new) {
        assert_eq!(store.record(number).unwrap(), snapshot.record(number).unwrap());
    }
    let error = store.check(&mut |_, _| {}).unwrap_err();
    assert!(error.to_string().contains("expected 15 values"), "{error}");
}

#[test]
fn names_of_the_files_are_durable_before_the_first_block() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    let open = |durability| Store::open(&store, StoreOptions { durability, ..StoreOptions::default() }).unwrap();
    SYNCED.take();
    drop(open(Durability::Relaxed));
    assert!(SYNCED.take().is_empty());
    fs::remove_dir_all(&store).unwrap();
    let opened = open(Durability::Flush);
    let synced = SYNCED.take();
    let when_synced = |path: &Path| {
        let last = synced.iter().rfind(|(synced, _)| synced == path);
        last.unwrap_or_else(|| panic!("{} is not synced", path.display())).1.clone()
    };
    let chain = store.join("chain");
    when_synced(&chain.join("conf"));
    assert_eq!(when_synced(dir.path()), ["store"]);
    assert_eq!(when_synced(&chain), ["blobs", "conf", "db"]);
    // From here on, blocks can be acknowledged. So all directory entries of the record must already be flushed.
    let prepared = prepare(&opened, &Model::default().diff(1)).unwrap();
    opened.commit(&block(None, prepared.root()), prepared).unwrap();
    assert_eq!(names_in(&chain), when_synced(&chain));
    // Derived data, and files that only make later openings possible, may be lost.
    let derived = ["changes", "reserve", "state"];
    let kept = |names: Vec<String>| names.into_iter().filter(|name| !derived.contains(&&**name)).collect::<Vec<_>>();
    assert_eq!(kept(when_synced(&store)), ["chain", "witness"]);
    assert_eq!(kept(names_in(&store)), ["chain", "witness"]);
}

/// The store does not acknowledge a block in files that a later start would not find. It creates no files in their
/// place.
#[cfg(unix)]
#[test]
fn directory_that_was_deleted_or_replaced_takes_no_block() {
    let parent = tempfile::tempdir().unwrap();
    let (dir, away) = (parent.path().join("store"), parent.path().join("away"));
    let mut store = Store::open(&dir, StoreOptions::default()).unwrap();
    let (mut head, mut model) = (None, Model::default());
    let mut commit = |store: &Store, seed, head: &mut Option<(BlockNumber, BlockHash)>| {
        let diff = model.diff(seed);
        let prepared = prepare(store, &diff).unwrap();
        let snapshot = store.commit(&block(*head, prepared.root()), prepared)?;
        model.apply(&diff);
        *head = snapshot.head().map(|head| (head.number, head.hash));
        Ok::<_, CommitError>(())
    };
    commit(&store, 1, &mut head).unwrap();
    let (number, hash) = head.unwrap();
    fs::rename(&dir, &away).unwrap();
    for replaced in [false, true] {
        if replaced {
            fs::create_dir_all(dir.join("chain")).unwrap();
            fs::copy(away.join("chain/db"), dir.join("chain/db")).unwrap();
        }
        let refused = commit(&store, 2, &mut head).unwrap_err();
        assert!(format!("{refused}").ends_with("db was deleted or replaced while it was in use"), "{refused}");
        assert!(matches!(
            store.recover(number, &hash),
            Err(RecoverError::Archive(ArchiveError::Db(DbError::Displaced { .. }))
                | RecoverError::Db(DbError::Displaced { .. }))
        ));
        assert!(store.snapshot().require_in_place().is_err());
        assert_eq!(dir.exists(), replaced);
    }
    fs::remove_dir_all(&dir).unwrap();
    fs::rename(&away, &dir).unwrap();
    store.recover(number, &hash).unwrap();
    commit(&store, 2, &mut head).unwrap();
    fs::remove_dir_all(&dir).unwrap();
    drop(store);
    assert!(!dir.exists());
}

/// Unpacks a store of layout 3, which an earlier version has written.
fn unpack_layout_3() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let archive = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/layout-3.tar.gz");
    let status = Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(dir.path()).status().unwrap();
    assert!(status.success(), "tar unpacks the directory");
    dir
}

/// The options for the store of layout 3. Its state history begins at its older checkpoint.
const LAYOUT_3_OPTIONS: fn() -> StoreOptions = || StoreOptions { history: 20, ..StoreOptions::default() };

/// Opens the store of layout 3, and compares all its readable states with the model. Then adds blocks.
fn check_layout_3(dir: &Path) -> Vec<(u64, u64)> {
    let mut models = vec![Model::default()];
    for seed in 0..60 {
        let mut model = models.last().unwrap().clone();
        model.apply(&models.last().unwrap().diff(seed));
        models.push(model);
    }
    let mut progress = Vec::new();
    let store = Store::open_with_progress(dir, LAYOUT_3_OPTIONS(), &mut |done, all| progress.push((done, all)));
    let store = store.unwrap();
    assert_eq!(*store.outcome(), OpenOutcome::Ready { head: BlockNumber::new(59), rebuilt: None });
    store.check(&mut |_, _| {}).unwrap();
    for number in (40..60).rev() {
        let view = store.snapshot().at(BlockNumber::new(number)).unwrap();
        let model = &models[number as usize + 1];
        model.check_view(&view, number);
        model.check_whole(&view);
    }
    let mut model = models.pop().unwrap();
    for seed in 60..63 {
        let diff = model.diff(seed);
        commit(&store, &mut model, &diff);
    }
    store.close().unwrap();
    let store = Store::open(dir, LAYOUT_3_OPTIONS()).unwrap();
    assert_eq!(*store.outcome(), OpenOutcome::Ready { head: BlockNumber::new(62), rebuilt: None });
    model.check_whole(store.snapshot().state());
    store.check(&mut |_, _| {}).unwrap();
    store.close().unwrap();
    let names: Vec<_> = names_in(dir).into_iter().filter(|name| name.starts_with("state")).collect();
    assert_eq!(names, ["state"]);
    assert!(dir.join("state").join(DataFile::Pages.name()).exists());
    progress
}

#[test]
fn state_of_layout_3_is_converted_without_loss() {
    let unpacked = unpack_layout_3();
    let progress = check_layout_3(&unpacked.path().join("layout-3"));
    // The last 60 reports are about the new hash index. The reports before them are about the conversion of the state.
    let (state, index) = progress.split_at(progress.len() - 60);
    assert!(state.len() > 10 && state.is_sorted(), "{progress:?}");
    assert_eq!(state.last(), Some(&(60, 60)));
    assert!(index.iter().copied().eq((1..=60).map(|block| (block, 60))), "{progress:?}");
}

/// Makes the files of a conversion that a crash has ended, from a store and a directory with the whole result.
type Crash = fn(&Path, &Path);

/// The conversion ends after each of its steps, and the next opening continues.
#[test]
fn conversion_of_layout_3_survives_a_crash() {
    let converted = unpack_layout_3();
    let converted = converted.path().join("layout-3");
    Store::open(&converted, LAYOUT_3_OPTIONS()).unwrap().close().unwrap();
    let steps: [Crash; 4] = [
        |dir, whole| {
            fs::rename(whole, dir.join("state.converting")).unwrap();
            let pages = dir.join("state.converting").join(DataFile::Pages.name());
            fs::OpenOptions::new().write(true).open(pages).unwrap().set_len(777).unwrap();
        },
        |dir, whole| fs::rename(whole, dir.join("state.converted")).unwrap(),
        |dir, whole| {
            fs::rename(whole, dir.join("state.converted")).unwrap();
            fs::remove_file(dir.join("state/db")).unwrap();
        },
        |dir, whole| {
            fs::rename(whole, dir.join("state.converted")).unwrap();
            fs::remove_dir_all(dir.join("state")).unwrap();
        },
    ];
    for (number, crash) in steps.into_iter().enumerate() {
        let unpacked = unpack_layout_3();
        let dir = unpacked.path().join("layout-3");
        let whole = unpacked.path().join("whole");
        let copied = Command::new("cp").arg("-r").arg(converted.join("state")).arg(&whole).status().unwrap();
        assert!(copied.success());
        crash(&dir, &whole);
        let progress = check_layout_3(&dir);
        assert_eq!(progress.is_empty(), number > 0, "only the first step is done again");
    }
}

/// The conversion finds damage. Then the state is made again from the state diffs, as after damage of the present
/// layout.
#[test]
fn damaged_state_of_layout_3_is_rebuilt() {
    let unpacked = unpack_layout_3();
    let dir = unpacked.path().join("layout-3");
    let db = Db::open(&dir.join("state"), DbOptions { cache_bytes: 1 << 20, durability: Durability::Flush }).unwrap();
    let (key, value) = db.scan(vec![space::ACCOUNTS]..vec![space::STORAGE]).last().unwrap().unwrap();
    let mut value = value.to_vec();
    value[9] ^= 1;
    db.insert(&key, &value).unwrap();
    drop(db);
    let error = Store::open(&dir, StoreOptions { repair: false, ..LAYOUT_3_OPTIONS() }).unwrap_err();
    assert!(matches!(&error, OpenError::Damaged { reason } if reason.contains("layout 3")), "{error}");
    let names: Vec<_> = names_in(&dir).into_iter().filter(|name| name.starts_with("state")).collect();
    assert_eq!(names, ["state"], "the incomplete conversion is removed");
    let store = Store::open(&dir, LAYOUT_3_OPTIONS()).unwrap();
    assert!(matches!(store.outcome(), OpenOutcome::Ready { rebuilt: Some(_), .. }), "{:?}", store.outcome());
    let mut model = Model::default();
    for seed in 0..60 {
        let diff = model.diff(seed);
        model.apply(&diff);
    }
    model.check_whole(store.snapshot().state());
}

/// A reader detects each flipped bit in a page, and the next opening rebuilds the state.
#[test]
fn flipped_bit_in_the_page_file_is_detected() {
    let whole = tempfile::tempdir().unwrap();
    let options = StoreOptions { durability: Durability::Relaxed, ..StoreOptions::default() };
    fill(whole.path(), options);
    let file = whole.path().join("state").join(DataFile::Pages.name());
    let bytes = fs::read(&file).unwrap();
    let mut found = 0;
    for bit in (0..bytes.len() * 8).step_by(bytes.len() * 8 / 40) {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        fs::write(&file, &damaged).unwrap();
        let Ok(store) = Store::open(whole.path(), StoreOptions { repair: false, ..options }) else {
            found += 1;
            continue;
        };
        let checked = store.check(&mut |_, _| {});
        drop(store);
        let is_marked = whole.path().join("state.damaged").exists();
        assert_eq!(checked.is_err(), is_marked, "{checked:?}");
        if is_marked {
            found += 1;
            let refused = Store::open(whole.path(), StoreOptions { repair: false, ..options }).unwrap_err();
            assert!(matches!(refused, OpenError::Damaged { .. }), "{refused}");
            fs::remove_file(whole.path().join("state.damaged")).unwrap();
        }
    }
    assert!(found > 10, "{found} flips were in pages");
    fs::write(whole.path().join("state.damaged"), "a reason").unwrap();
    let store = Store::open(whole.path(), options).unwrap();
    let rebuilt = Some("a reason".to_owned());
    assert_eq!(*store.outcome(), OpenOutcome::Ready { head: BlockNumber::new(4), rebuilt });
    store.check(&mut |_, _| {}).unwrap();
}

/// The write of the mark fails at the first read of damage, and succeeds at the second read.
#[test]
fn failed_mark_of_damage_is_written_again() {
    let whole = tempfile::tempdir().unwrap();
    let options = StoreOptions { durability: Durability::Relaxed, ..StoreOptions::default() };
    fill(whole.path(), options);
    let (file, mark) = (whole.path().join("state").join(DataFile::Pages.name()), whole.path().join("state.damaged"));
    let store = Store::open(whole.path(), options).unwrap();
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, vec![0; bytes.len()]).unwrap();
    // A directory has the name of the mark, so the mark cannot be written.
    fs::create_dir(&mark).unwrap();
    store.check(&mut |_, _| {}).unwrap_err();
    fs::remove_dir(&mark).unwrap();
    store.check(&mut |_, _| {}).unwrap_err();
    assert!(mark.is_file());
    drop(store);
    let store = Store::open(whole.path(), options).unwrap();
    assert!(matches!(store.outcome(), OpenOutcome::Ready { rebuilt: Some(_), .. }), "{:?}", store.outcome());
}

/// A checkpoint that a power failure ends has written root pointers. In the next checkpoint, the storage of a contract
/// can be again that of the checkpoint before these two checkpoints.
#[test]
fn root_pointers_of_an_unfinished_checkpoint_are_not_used() {
    let kept = Kept { record: 0, state: 30, changes: None };
    let cut = Op::Recover { part: Part::State, after: 64, seed: 5_856_608_027_073_686_551, kept };
    check_history(3, vec![Op::Blocks(12, 6_644_952_655_729_764_356), cut, Op::Blocks(1, 14_027_910_711_773_708_414)]);
}
