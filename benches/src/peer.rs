//! `eth_trie` over sled, with which the benchmarks compare the trie of this project.
//!
//! An error ends the benchmark by a panic.
#![expect(clippy::missing_panics_doc, reason = "said once, above")]

use std::{
    collections::BTreeMap,
    fmt,
    fs::File,
    path::Path,
    sync::{Arc, PoisonError, RwLock},
};

use eth_trie::{DB, EthTrie, Trie};
use silica_protocol::Address;
use silica_state::StateDiff;

/// Number of accounts that are loaded in one step.
const STEP: usize = 50_000;

/// The nodes of a trie, by their hashes.
///
/// New nodes are in memory until a flush writes them as one batch in the order of their keys. Nodes are never removed.
/// A node of an old root can also belong to a new root. In addition, proofs against the roots of the latest fifty
/// blocks must work.
struct Nodes {
    db: sled::Db,
    /// A second descriptor of the file of sled, for `fdatasync`, because the flush of sled does not call it.
    file: File,
    fresh: RwLock<BTreeMap<Vec<u8>, Vec<u8>>>,
}

impl DB for Nodes {
    type Error = sled::Error;

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, sled::Error> {
        if let Some(node) = self.fresh.read().unwrap_or_else(PoisonError::into_inner).get(key) {
            return Ok(Some(node.clone()));
        }
        Ok(self.db.get(key)?.map(|node| node.to_vec()))
    }

    fn insert(&self, key: &[u8], value: Vec<u8>) -> Result<(), sled::Error> {
        self.fresh.write().unwrap_or_else(PoisonError::into_inner).insert(key.to_vec(), value);
        Ok(())
    }

    fn remove(&self, _: &[u8]) -> Result<(), sled::Error> {
        Ok(())
    }

    fn flush(&self) -> Result<(), sled::Error> {
        let fresh = std::mem::take(&mut *self.fresh.write().unwrap_or_else(PoisonError::into_inner));
        let mut batch = sled::Batch::default();
        for (key, node) in fresh {
            batch.insert(key, node);
        }
        self.db.apply_batch(batch)?;
        self.db.flush()?;
        Ok(self.file.sync_data()?)
    }
}

/// Accounts in a trie of `eth_trie` over sled, with the default cache of sled.
pub struct Peer {
    nodes: Arc<Nodes>,
    trie: EthTrie<Nodes>,
    root: [u8; 32],
    /// The latest durable root.
    durable: [u8; 32],
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peer").field("root", &self.root).finish_non_exhaustive()
    }
}

impl Peer {
    /// Creates a durable trie of accounts in an empty directory.
    pub fn new(dir: &Path, accounts: &StateDiff) -> Self {
        let db = sled::Config::new().path(dir).flush_every_ms(None).open().expect("a new database opens");
        let file = File::open(dir.join("db")).expect("sled keeps its log in this file");
        let nodes = Arc::new(Nodes { db, file, fresh: RwLock::default() });
        let mut peer = Self { trie: EthTrie::new(Arc::clone(&nodes)), nodes, root: [0; 32], durable: [0; 32] };
        let mut rest = accounts.accounts.iter().peekable();
        while rest.peek().is_some() {
            for (address, account) in rest.by_ref().take(STEP) {
                insert(&mut peer.trie, address, &account.encode());
            }
            peer.compute_root();
            peer.flush();
        }
        peer
    }

    /// Changes accounts in memory, and returns the new root.
    pub fn apply(&mut self, diff: &StateDiff) -> [u8; 32] {
        for (address, account) in &diff.accounts {
            insert(&mut self.trie, address, &account.encode());
        }
        self.compute_root()
    }

    fn compute_root(&mut self) -> [u8; 32] {
        self.root = self.trie.root_hash().expect("the nodes are there").0;
        self.root
    }

    /// Writes the changes to disk.
    pub fn flush(&mut self) {
        self.nodes.flush().expect("the database takes writes");
        self.durable = self.root;
    }

    /// Discards the changes since the last flush.
    pub fn discard(&mut self) {
        self.nodes.fresh.write().unwrap_or_else(PoisonError::into_inner).clear();
        self.root = self.durable;
        self.trie = EthTrie::from(Arc::clone(&self.nodes), self.root.into()).expect("the root is there");
    }

    /// Returns the nodes that prove an account.
    pub fn proof(&mut self, address: &Address) -> Vec<Vec<u8>> {
        self.trie.get_proof(address.to_string().as_bytes()).expect("the nodes are there")
    }

    /// Verifies a proof, and returns the value of the account, or `None` if the proof shows that it does not exist.
    pub fn verify(&self, root: [u8; 32], address: &Address, proof: Vec<Vec<u8>>) -> Option<Vec<u8>> {
        self.trie.verify_proof(root.into(), address.to_string().as_bytes(), proof).expect("the proof is whole")
    }

    /// Returns the number of bytes of the database on disk.
    pub fn size_on_disk(&self) -> u64 {
        self.nodes.db.size_on_disk().expect("the files are there")
    }
}

fn insert(trie: &mut EthTrie<Nodes>, address: &Address, account: &[u8]) {
    trie.insert(address.to_string().as_bytes(), account).expect("the nodes are there");
}
