//! Compares the versioned trie with the trie in memory.

use std::{collections::BTreeMap, sync::Arc};

use silica_proof::trie::{MemoryTrie, verify};
use silica_protocol::{
    Account, Address, BlockNumber, CodeHash, ContractAccount, Nonce, Qa, StorageRoot, VariableHash, sha256,
};

use super::{
    checkpoint,
    key::{Key, Owner},
    leaf::{Bytes, Change, Leaf, Tail},
    pages::{PageStore, RootPointer, Source},
    tree::Top,
    update::Update,
};
use crate::{
    db::{DataFile, Db, Disk},
    error::StateError,
    keys::KeyChanges,
    version::Version,
};

/// A generator of numbers that are the same in each run of the test.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// Returns an address with a random number of leading digits in common with other addresses.
    fn address(&mut self) -> Address {
        let mut bytes = [0; 20];
        let shared = self.below(40);
        for at in 0..40 {
            let digit = if at < shared { 5 } else { [1, 5, 9, 10, 15][self.below(5) as usize] };
            bytes[at as usize / 2] |= if at % 2 == 0 { digit << 4 } else { digit };
        }
        Address::new(bytes)
    }
}

/// The expected trie.
#[derive(Clone, Default)]
struct Model {
    trie: MemoryTrie,
    leaves: BTreeMap<String, Vec<u8>>,
}

impl Model {
    fn set(&mut self, key: &Key, value: Option<&[u8]>) {
        let text = hex::encode(key.as_slice());
        if let Some(value) = value {
            self.trie.insert(text.as_bytes(), value);
            self.leaves.insert(text, value.to_vec());
        } else {
            self.trie.remove(text.as_bytes());
            self.leaves.remove(&text);
        }
    }
}

/// A trie and its model on a disk.
struct Fixture {
    disk: Disk,
    pages: PageStore,
    owner: Owner,
    model: Model,
    versions: Vec<(Top, Model)>,
    /// The account trie of the newest version.
    accounts: Top,
}

impl Fixture {
    fn new(owner: Owner) -> Self {
        let disk = Disk::default();
        let pages = open(&disk);
        let model = Model::default();
        Self { disk, pages, owner, versions: vec![(Top::Empty, model.clone())], model, accounts: Top::Empty }
    }

    fn version(&self) -> Version {
        self.versions.len() as u64 - 1
    }

    fn source(&self, version: Version) -> Source<'_> {
        Source { pages: &self.pages, owner: self.owner, version }
    }

    fn update(&mut self, changes: BTreeMap<Key, Option<Leaf>>) {
        for (key, leaf) in &changes {
            self.model.set(key, leaf.as_ref().map(|leaf| &*leaf.value));
        }
        let changes: Vec<_> = changes.into_iter().map(|(key, leaf)| Arc::new(Change::new(key, leaf))).collect();
        let version = self.version();
        let old = &self.versions.last().unwrap().0;
        let old = old.released(self.pages.durable()).unwrap_or_else(|| old.clone());
        let top = self.apply(self.owner, &old, &changes);
        self.accounts = match self.owner {
            Owner::Accounts => top.clone(),
            Owner::Contract(address) => {
                let contract =
                    ContractAccount { code_hash: CodeHash::ZERO, storage_root: Some(StorageRoot::new(top.root())) };
                let account = Account { contract: Some(contract), ..Account::default() };
                let tail = Some(Box::new(Tail::Storage(top.clone())));
                let leaf = Leaf { key: Key::account(&address), value: Bytes::new(&account.encode()), tail };
                self.apply(Owner::Accounts, &self.accounts, &[Arc::new(Change::new(leaf.key, Some(leaf)))])
            }
        };
        assert_eq!(top.root(), self.model.trie.root(), "version {}", version + 1);
        self.versions.push((top, self.model.clone()));
    }

    fn apply(&self, owner: Owner, old: &Top, changes: &[Arc<Change>]) -> Top {
        let version = self.version();
        let source = Source { owner, ..self.source(version) };
        let tree = self.pages.top(&owner, old, version).unwrap();
        let update = Update { load: &source, born: version + 1, durable: self.pages.durable() };
        update.apply(tree.as_ref(), changes).unwrap()
    }

    fn check_key(&self, version: Version, key: &Key) {
        let (top, model) = &self.versions[version as usize];
        let text = hex::encode(key.as_slice());
        let expected = model.leaves.get(&text).cloned();
        let found = self.source(version).leaf(top, key).unwrap().map(|leaf| leaf.value.to_vec());
        assert_eq!(found, expected);
        let proof = self.source(version).proof(top, key).unwrap().into_nodes();
        assert_eq!(proof, model.trie.proof(text.as_bytes()).into_nodes(), "version {version} key {text}");
        assert_eq!(verify(&model.trie.root(), text.as_bytes(), &proof).unwrap(), expected);
    }

    fn check_all(&self, version: Version) {
        let (top, model) = &self.versions[version as usize];
        let leaves = self.source(version).leaves(top, None).map(|leaf| leaf.unwrap());
        let found: BTreeMap<_, _> =
            leaves.map(|leaf| (hex::encode(leaf.key.as_slice()), leaf.value.to_vec())).collect();
        assert_eq!(found, model.leaves);
        for first in model.leaves.keys().step_by(1 + model.leaves.len() / 7) {
            let bytes = hex::decode(first).unwrap();
            let key = Key::join(&[], &bytes, bytes.len()).unwrap();
            // The iterations begin at the key itself, and at similar keys that need not exist.
            let neighbours = (0..key.digits()).step_by(5).map(|depth| key.with_digit(depth, key.digit(depth) ^ 1));
            for from in neighbours.chain([key]) {
                let leaves = self.source(version).leaves(top, Some(from)).map(|leaf| leaf.unwrap());
                let found: Vec<_> = leaves.map(|leaf| hex::encode(leaf.key.as_slice())).collect();
                assert!(
                    found.iter().eq(model.leaves.range(hex::encode(from.as_slice())..).map(|(key, _)| key)),
                    "{from:?}"
                );
            }
        }
    }

    fn checkpoint(&mut self) {
        let version = self.version();
        checkpoint::write(&self.pages, BlockNumber::new(version - 1), &self.accounts).unwrap();
    }

    /// Ends the process. Starts a new process, which has only the newest checkpoint.
    fn reopen(&mut self, kept: usize) {
        self.disk.crash(kept);
        self.pages = open(&self.disk);
        let version = self.pages.durable();
        self.versions.truncate(version as usize + 1);
        let (top, model) = self.versions.last_mut().unwrap();
        *top = Top::Root(model.trie.root());
        self.model = model.clone();
        let current = self.pages.manifest().current;
        self.accounts = current.map_or(Top::Empty, |checkpoint| Top::Root(checkpoint.origin.root));
    }
}

fn open(disk: &Disk) -> PageStore {
    PageStore::open(Db::on_disk(disk), 1 << 16, None).unwrap()
}

fn account(random: &mut Random) -> Leaf {
    let account =
        Account { balance: Qa::new(random.next().into()), nonce: Nonce::new(random.below(300)), contract: None };
    Leaf { key: Key::account(&random.address()), value: Bytes::new(&account.encode()), tail: None }
}

fn entry(random: &mut Random, contract: &Address) -> Leaf {
    let text = format!("\u{16}field\u{16}{}\u{16}", random.below(600));
    let hash = VariableHash::new(sha256(&[contract.to_string().as_bytes(), text.as_bytes()]));
    let len = [1, 3, 40, 200, 3000, 9000][random.below(6) as usize];
    let value = vec![random.next() as u8 | 1; len];
    Leaf { key: Key::variable(&hash), value: Bytes::new(&value), tail: Some(Box::new(Tail::Plain(text.into()))) }
}

fn changes(random: &mut Random, count: u64, remove: bool, owner: &Owner) -> BTreeMap<Key, Option<Leaf>> {
    let leaves = (0..count).map(|_| {
        let leaf = match owner {
            Owner::Accounts => account(random),
            Owner::Contract(address) => entry(random, address),
        };
        let removed = remove && random.below(3) > 0;
        (leaf.key, (!removed).then_some(leaf))
    });
    leaves.collect()
}

fn check_random_history(owner: Owner, seed: u64) {
    let mut random = Random(seed);
    let mut fixture = Fixture::new(owner);
    let mut kept_from = 0;
    for round in 0..60 {
        let count = [1, 2, 7, 30, 150][random.below(5) as usize];
        let remove = random.below(3) == 0;
        let changes = changes(&mut random, count, remove, &owner);
        fixture.update(changes);
        for _ in 0..3 {
            let version = kept_from + random.below(fixture.version() + 1 - kept_from);
            let key = match owner {
                Owner::Accounts => account(&mut random).key,
                Owner::Contract(address) => entry(&mut random, &address).key,
            };
            fixture.check_key(version, &key);
        }
        match random.below(12) {
            0 | 1 => {
                kept_from = fixture.pages.durable();
                fixture.checkpoint();
            }
            2 => {
                let kept = random.below(fixture.disk.unflushed() as u64 + 1) as usize;
                fixture.reopen(kept);
                kept_from = fixture.version();
            }
            _ => {}
        }
        if round % 10 == 9 {
            checkpoint::check_space(&fixture.pages).unwrap();
            fixture.check_all(kept_from);
            fixture.check_all(fixture.version());
        }
    }
}

#[test]
fn accounts_agree_with_the_model() {
    for seed in 1..=12 {
        check_random_history(Owner::Accounts, seed * 0x9e37_79b9);
    }
}

#[test]
fn storage_agrees_with_the_model() {
    for seed in 1..=6 {
        check_random_history(Owner::Contract(Address::new([7; 20])), seed * 0x9e37_79b9);
    }
}

#[test]
fn checkpoint_survives_a_crash_after_any_write() {
    let mut random = Random(0x5eed);
    let mut fixture = Fixture::new(Owner::Accounts);
    let first = changes(&mut random, 400, false, &Owner::Accounts);
    fixture.update(first);
    fixture.checkpoint();
    let second = changes(&mut random, 200, false, &Owner::Accounts);
    fixture.update(second);
    for cut in 0.. {
        fixture.disk.fail_after(cut);
        let result = checkpoint::write(&fixture.pages, BlockNumber::new(1), &fixture.versions[2].0);
        let done = result.is_ok();
        let kept = random.below(fixture.disk.unflushed() as u64 + 1) as usize;
        let versions = fixture.versions.clone();
        fixture.reopen(kept);
        assert!(!done || fixture.version() == 2);
        fixture.check_all(fixture.version());
        checkpoint::check_space(&fixture.pages).unwrap();
        if fixture.version() == 2 {
            assert!(cut > 20, "a checkpoint of many records was finished after {cut} writes");
            return;
        }
        // Starts again from the first checkpoint, whose root is only on disk.
        let second: BTreeMap<_, _> = {
            let source = fixture.source(1);
            let old = versions[2].0.clone();
            source.leaves(&old, None).map(|leaf| leaf.unwrap()).map(|leaf| (leaf.key, Some(leaf))).collect()
        };
        fixture.update(second);
    }
}

#[test]
fn damage_is_found_or_harmless() {
    let mut random = Random(0xdead);
    for _ in 0..60 {
        let mut fixture = Fixture::new(Owner::Accounts);
        let first = changes(&mut random, 300, false, &Owner::Accounts);
        fixture.update(first);
        fixture.checkpoint();
        let at = random.next() as usize;
        let what = if random.below(4) == 0 {
            let keys = fixture.disk.keys();
            let key = &keys[random.below(keys.len() as u64) as usize];
            let kind = random.below(3);
            fixture.disk.damage(key, |value| {
                let mut value = value.unwrap();
                match kind {
                    0 => {
                        let at = at % value.len();
                        value[at] ^= 1 << (at % 8);
                    }
                    1 => value.truncate(at % value.len()),
                    _ => return None,
                }
                Some(value)
            });
            format!("row {key:x?}")
        } else {
            let (_, places) = checkpoint::places(&fixture.pages).unwrap();
            let place = places[random.below(places.len() as u64) as usize];
            let first = place.position() as usize;
            let is_cut = random.below(4) == 0;
            fixture.disk.damage_file(DataFile::Pages, |file| {
                let at = first + at % place.len();
                file[at] ^= 1 << (at % 8);
                if is_cut {
                    file.truncate(at);
                }
            });
            format!("page at {place:?}")
        };
        let Ok(pages) = PageStore::open(Db::on_disk(&fixture.disk), 1 << 20, None) else { continue };
        if pages.durable() == 0 {
            // The manifest was removed, so the state looks like a state that was never written.
            continue;
        }
        let (_, model) = &fixture.versions[1];
        let source = Source { pages: &pages, owner: Owner::Accounts, version: 1 };
        let mut damaged = false;
        for leaf in source.leaves(&Top::Root(model.trie.root()), None) {
            match leaf {
                Ok(leaf) => {
                    assert_eq!(
                        model.leaves.get(&hex::encode(leaf.key.as_slice())).map(|value| &**value),
                        Some(&*leaf.value)
                    );
                }
                Err(StateError::Damaged { .. }) => damaged = true,
                Err(other) => panic!("{other}"),
            }
        }
        assert!(damaged, "the {what} was damaged");
    }
}

/// A checkpoint that a crash ends can have written root pointers. The next checkpoint has the same number.
#[test]
fn root_pointer_of_an_unfinished_checkpoint_is_removed_at_opening() {
    let (disk, contract) = (Disk::default(), Address::new([7; 20]));
    let pages = open(&disk);
    checkpoint::write(&pages, BlockNumber::new(0), &Top::Empty).unwrap();
    let origin = pages.manifest().current.unwrap().origin;
    let pointer = |checkpoint, root| RootPointer { checkpoint, root: [root; 32], ..origin.clone() };
    pages.write_pointer(&contract, [pointer(2, 2), pointer(1, 1)].into()).unwrap();
    pages.db().flush().unwrap();
    assert_eq!(*open(&disk).read_pointer(&contract).unwrap(), [pointer(1, 1)]);
}

/// An unfinished first checkpoint has listed a key for removal, and a later block adds the key again.
#[test]
fn list_of_an_unfinished_first_checkpoint_removes_no_key() {
    let (disk, contract) = (Disk::default(), Address::new([7; 20]));
    let key = || vec![(contract, "a".into())];
    let pages = open(&disk);
    pages.keys().note(1, KeyChanges { added: key(), gone: Vec::new() });
    pages.keys().note(2, KeyChanges { added: Vec::new(), gone: key() });
    pages.keys().write_checkpoint(1, 2).unwrap();
    pages.db().flush().unwrap();
    let pages = open(&disk);
    pages.keys().note(3, KeyChanges { added: key(), gone: Vec::new() });
    for block in [2, 3] {
        checkpoint::write(&pages, BlockNumber::new(block), &Top::Empty).unwrap();
    }
    let mut keys = Vec::new();
    pages.keys().visit(&contract, |key, _| keys.push(key.to_owned())).unwrap();
    assert_eq!(keys, ["a"]);
}
