//! Reads pages from disk through a cache, and verifies each page by the hash in its parent.

use std::{
    fmt,
    path::PathBuf,
    sync::{
        Arc, Once,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::RwLock;
use silica_proof::trie::EMPTY_ROOT;
use silica_protocol::{Address, BlockNumber};

use super::{
    cache::Cache,
    key::{Key, Owner, Prefix, Slot},
    page::{self, Entry, Page},
    tree::{Body, Link, Load, Top, Tree},
};
use crate::{
    codec::{Malformed, Reader, Writer, seal, unseal},
    db::{Db, MAX_VALUE, Value},
    error::StateError,
    file::create_anew,
    keys::Keys,
    layout::PART,
    version::Version,
};

/// The tries in the derived database.
pub(crate) struct PageStore {
    db: Db,
    trees: Arc<Cache<Link>>,
    pointers: Arc<Cache<Arc<[RootPointer]>>>,
    keys: Keys,
    manifest: RwLock<Manifest>,
    /// The lowest version whose views are readable. A checkpoint reuses slots of pages of earlier versions.
    floor: AtomicU64,
    /// The version of the newest finished checkpoint, or 0 without a checkpoint.
    durable: AtomicU64,
    marker: Option<PathBuf>,
    marked: Once,
}

/// The root of a trie in a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RootPointer {
    /// Number of the checkpoint.
    pub checkpoint: u64,
    pub root: [u8; 32],
    pub slot: Slot,
    /// Weight of the leaves. Together with `leaf` it determines whether the root is a leaf page or a node page.
    pub weight: u64,
    pub leaf: bool,
}

/// A finished checkpoint: its block, and the root pointer of the account trie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    pub block: BlockNumber,
    /// Root pointer of the account trie.
    pub origin: RootPointer,
}

/// The readable checkpoints.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Manifest {
    pub current: Option<Checkpoint>,
    /// The previous checkpoint. `None` from the beginning of the next checkpoint on, because the next checkpoint reuses
    /// the slots.
    pub previous: Option<Checkpoint>,
}

/// First byte of the value of a page that is stored in parts.
const PARTS_KIND: u8 = 3;
/// Layout number of the derived database. Opening rebuilds a database of an earlier layout, and rejects a database of a
/// later layout.
const LAYOUT: u8 = 3;

impl PageStore {
    /// Opens the tries of a database. `marker` is the file that a read creates when it finds damage. After an error for
    /// a damaged manifest, the caller must rebuild the database.
    pub(crate) fn open(db: Db, cache_bytes: u64, marker: Option<PathBuf>) -> Result<Self, StateError> {
        let manifest = Manifest::read(&db)?;
        let durable = manifest.current.as_ref().map_or(0, Checkpoint::version);
        let floor = match &manifest.previous {
            Some(previous) => previous.version(),
            None if manifest.is_first() => 0,
            None => durable,
        };
        Ok(Self {
            keys: Keys::new(db.clone()),
            db,
            trees: Arc::new(Cache::new(cache_bytes)),
            pointers: Arc::new(Cache::new(cache_bytes / 16)),
            manifest: RwLock::new(manifest),
            floor: AtomicU64::new(floor),
            durable: AtomicU64::new(durable),
            marker,
            marked: Once::new(),
        })
    }

    /// Returns the same tries with the handle `db` and the key index of an earlier version. Returns `None` if the undo
    /// log of the key index does not reach back to that version. The caller must have retired the handle of `self`, and
    /// must not write a checkpoint with `self` afterwards.
    ///
    /// Both values share the caches, because each read verifies a cached page by its hash.
    pub(crate) fn back_at(&self, version: Version, db: Db) -> Option<Self> {
        Some(Self {
            keys: self.keys.back_at(version, db.clone())?,
            db,
            trees: Arc::clone(&self.trees),
            pointers: Arc::clone(&self.pointers),
            manifest: RwLock::new(self.manifest()),
            floor: AtomicU64::new(self.floor()),
            durable: AtomicU64::new(self.durable()),
            marker: self.marker.clone(),
            marked: Once::new(),
        })
    }

    pub(crate) fn db(&self) -> &Db {
        &self.db
    }

    /// Returns the key index.
    pub(crate) const fn keys(&self) -> &Keys {
        &self.keys
    }

    /// Returns the version of the newest finished checkpoint, or 0 without a checkpoint.
    pub(crate) fn durable(&self) -> Version {
        self.durable.load(Ordering::Acquire)
    }

    pub(crate) fn manifest(&self) -> Manifest {
        self.manifest.read().clone()
    }

    /// Returns the tree of a whole trie, or `None` if the trie is empty.
    pub(crate) fn top(&self, owner: &Owner, top: &Top, version: Version) -> Result<Option<Link>, StateError> {
        match top {
            Top::Empty => Ok(None),
            Top::Tree(tree) => Ok(Some(Arc::clone(tree))),
            Top::Root(root) if *root == EMPTY_ROOT => Ok(None),
            Top::Root(root) => self.load_root(owner, root, version).map(Some),
        }
    }

    fn load_root(&self, owner: &Owner, root: &[u8; 32], version: Version) -> Result<Link, StateError> {
        let whole = Prefix::default();
        let Some(slot) = self.slot_of_root(owner, root)? else {
            return Err(self.fail(owner, &whole, version, "no checkpoint has this root"));
        };
        let key = owner.record_key(&[], slot);
        let fits = |tree: &Link| tree.at() == 0 && tree.root() == *root;
        if let Some(tree) = self.trees.get(&key).filter(fits) {
            return Ok(tree);
        }
        self.read(owner, &whole, &key, version, |tree| {
            Tree::hang_as_root(tree);
            fits(tree)
        })
    }

    fn slot_of_root(&self, owner: &Owner, root: &[u8; 32]) -> Result<Option<Slot>, StateError> {
        let find =
            |origins: &[RootPointer]| origins.iter().find(|origin| origin.root == *root).map(|origin| origin.slot);
        match owner {
            Owner::Accounts => {
                let Manifest { current, previous } = self.manifest();
                let origins: Vec<RootPointer> =
                    current.into_iter().chain(previous).map(|checkpoint| checkpoint.origin).collect();
                Ok(find(&origins))
            }
            Owner::Contract(address) => {
                if let Some(slot) = self.pointers.get(&owner.pointer_key()).and_then(|origins| find(&origins)) {
                    return Ok(Some(slot));
                }
                Ok(find(&self.read_pointer(address)?))
            }
        }
    }

    /// Reads the root pointers of the storage trie of a contract, one for each readable checkpoint.
    pub(crate) fn read_pointer(&self, contract: &Address) -> Result<Arc<[RootPointer]>, StateError> {
        let owner = Owner::Contract(*contract);
        let key = owner.pointer_key();
        let Some(value) = self.stored(self.db.get(&key))? else { return Ok([].into()) };
        let damaged = |reason| self.damaged(format!("pointer to {owner}"), reason);
        let body = unseal(&key, &value).ok_or_else(|| damaged("wrong checksum"))?;
        let origins: Arc<[RootPointer]> = RootPointer::read_all(body).map_err(|malformed| damaged(malformed.0))?.into();
        self.remember_pointer(&key, Arc::clone(&origins));
        Ok(origins)
    }

    fn remember_pointer(&self, key: &[u8], origins: Arc<[RootPointer]>) {
        let bytes = size_of::<RootPointer>().saturating_mul(origins.len());
        self.pointers.insert(key, origins, bytes);
    }

    /// Writes the root pointers of the storage trie of a contract.
    pub(crate) fn write_pointer(&self, contract: &Address, origins: Arc<[RootPointer]>) -> Result<(), StateError> {
        let key = Owner::Contract(*contract).pointer_key();
        let mut value = Writer::new();
        origins.iter().for_each(|origin| origin.write(&mut value));
        self.db.insert(&key, &seal(&key, value.as_slice()))?;
        self.remember_pointer(&key, origins);
        Ok(())
    }

    /// Loads the page of a stub, from the cache or from disk.
    pub(crate) fn load(
        &self,
        owner: &Owner,
        prefix: &Prefix,
        stub: &Tree,
        version: Version,
    ) -> Result<Link, StateError> {
        let Body::Stored(stored) = stub.body() else {
            return Err(self.damaged(format!("{owner} at {prefix}"), "a tree in memory has no page"));
        };
        let key = owner.record_key(prefix.as_slice(), stored.slot);
        let digit = prefix.as_slice().last().copied().unwrap_or(0);
        let fits = |tree: &mut Link| {
            Tree::hang_as(tree, stub, digit);
            tree.reference() == stub.reference() && tree.is_leaf() == stub.is_leaf()
        };
        if let Some(mut tree) = self.trees.get(&key)
            && fits(&mut tree)
        {
            return Ok(tree);
        }
        self.read(owner, prefix, &key, version, fits)
    }

    /// Reads a page, and puts it into the cache if `fits` accepts it.
    fn read(
        &self,
        owner: &Owner,
        prefix: &Prefix,
        key: &[u8],
        version: Version,
        fits: impl FnOnce(&mut Link) -> bool,
    ) -> Result<Link, StateError> {
        let fail = |reason| self.fail(owner, prefix, version, reason);
        let bytes = self.read_bytes(key)?.ok_or_else(|| fail("page is missing"))?;
        let body = unseal(key, &bytes).ok_or_else(|| fail("wrong checksum"))?;
        let page = page::read(body, owner, prefix.as_slice()).map_err(|malformed| fail(malformed.0))?;
        let mut tree = page.into_tree(prefix.as_slice()).ok_or_else(|| fail("page makes no tree"))?;
        if !fits(&mut tree) {
            return Err(fail("hash differs from the hash in the parent"));
        }
        if let Some(slot) = key.last().copied().and_then(Slot::from_byte) {
            tree.set_slot_tag(slot);
        }
        self.trees.insert(key, Arc::clone(&tree), memory_size(&tree));
        Ok(tree)
    }

    /// Reads the entries of a node page of the newest checkpoint. Returns no entries for a leaf page.
    pub(crate) fn read_entries(&self, owner: &Owner, prefix: &Prefix, slot: Slot) -> Result<Vec<Entry>, StateError> {
        let key = owner.record_key(prefix.as_slice(), slot);
        let damaged = |reason| self.damaged(format!("{owner} at {prefix}"), reason);
        let bytes = self.read_bytes(&key)?.ok_or_else(|| damaged("page is missing"))?;
        let body = unseal(&key, &bytes).ok_or_else(|| damaged("wrong checksum"))?;
        match page::read(body, owner, prefix.as_slice()).map_err(|malformed| damaged(malformed.0))? {
            Page::Node(entries) => Ok(entries),
            Page::LeafPage(_) => Ok(Vec::new()),
        }
    }

    /// Reads a page with its checksum, and joins its parts. Returns `None` if the page or a part is missing.
    fn read_bytes(&self, key: &[u8]) -> Result<Option<Bytes>, StateError> {
        let Some(value) = self.stored(self.db.get(key))? else { return Ok(None) };
        let [PARTS_KIND, high, low] = *value else { return Ok(Some(Bytes::Whole(value))) };
        let mut bytes = Vec::new();
        for part in 0..u16::from_be_bytes([high, low]) {
            match self.stored(self.db.get(&part_key(key, part)))? {
                Some(part) => bytes.extend_from_slice(&part),
                None => return Ok(None),
            }
        }
        Ok(Some(Bytes::Parts(bytes)))
    }

    /// Writes a page, in parts if it is too long for one value.
    pub(crate) fn write(&self, key: &[u8], body: &[u8]) -> Result<(), StateError> {
        let value = seal(key, body);
        let parts = if value.len() <= MAX_VALUE { 0 } else { value.len().div_ceil(PART) };
        let parts = u16::try_from(parts).map_err(|_| StateError::TooLarge { bytes: body.len() })?;
        for (part, bytes) in (0..parts).zip(value.chunks(PART)) {
            self.db.insert(&part_key(key, part), bytes)?;
        }
        let [high, low] = parts.to_be_bytes();
        let in_parts = [PARTS_KIND, high, low];
        let old = self.db.replace(key, if parts == 0 { &value } else { &in_parts })?;
        self.remove_parts(key, old.as_deref(), parts)
    }

    /// Removes the parts of a page from part `kept` on. `value` is the value under the key of the page.
    fn remove_parts(&self, key: &[u8], value: Option<&[u8]>, kept: u16) -> Result<(), StateError> {
        if let Some([PARTS_KIND, high, low]) = value {
            for part in kept..u16::from_be_bytes([*high, *low]) {
                self.db.remove(&part_key(key, part))?;
            }
        }
        Ok(())
    }

    /// Removes a page and its parts.
    pub(crate) fn remove(&self, key: &[u8]) -> Result<(), StateError> {
        let value = self.stored(self.db.get(key))?;
        self.remove_parts(key, value.as_deref(), 0)?;
        Ok(self.db.remove(key)?)
    }

    /// Puts the tree of a written page into the cache.
    pub(crate) fn remember(&self, key: &[u8], tree: Link) {
        let bytes = memory_size(&tree);
        self.trees.insert(key, tree, bytes);
    }

    /// Replaces the manifest. Readers get the new manifest when it is durable.
    pub(crate) fn write_manifest(&self, manifest: Manifest) -> Result<(), StateError> {
        let key = Owner::Accounts.pointer_key();
        let mut value = Writer::new();
        value.byte(LAYOUT);
        for checkpoint in manifest.current.iter().chain(&manifest.previous) {
            value.number(checkpoint.block.get());
            checkpoint.origin.write(&mut value);
        }
        // The pages first: the manifest must not become durable before them.
        self.db.flush()?;
        self.db.insert(&key, &seal(&key, value.as_slice()))?;
        self.db.flush()?;
        let durable = manifest.current.as_ref().map_or(0, Checkpoint::version);
        *self.manifest.write() = manifest;
        self.durable.store(durable, Ordering::Release);
        Ok(())
    }

    /// Makes views of versions before `version` unreadable. The caller must call this function before it reuses slots
    /// of these versions.
    pub(crate) fn raise_floor(&self, version: Version) {
        self.floor.fetch_max(version, Ordering::SeqCst);
    }

    /// Returns the lowest version whose views are readable.
    pub(crate) fn floor(&self) -> Version {
        self.floor.load(Ordering::SeqCst)
    }

    /// Returns the error for a page that does not match its reference. For a view below the floor, the error is
    /// [`StateError::Expired`], otherwise [`StateError::Damaged`].
    fn fail(&self, owner: &Owner, prefix: &Prefix, version: Version, reason: &'static str) -> StateError {
        if version < self.floor() {
            return StateError::Expired;
        }
        self.damaged(format!("{owner} at {prefix}"), reason)
    }

    /// Writes the marker file, so that the next opening rebuilds the derived database. Returns the error.
    pub(crate) fn damaged(&self, what: String, reason: &'static str) -> StateError {
        self.mark(&format!("{what}: {reason}"));
        StateError::Damaged { what, reason }
    }

    /// Writes the marker file if `result` is an error that means damage. Other modules call this function for errors
    /// that they find.
    pub(crate) fn note_damage<T>(&self, result: Result<T, StateError>) -> Result<T, StateError> {
        if let Err(error) = &result
            && error.is_damage()
        {
            self.mark(&error.to_string());
        }
        result
    }

    fn mark(&self, text: &str) {
        self.marked.call_once(|| {
            if let Some(path) = &self.marker {
                // An error is ignored: without the marker, the next read of the damaged page tries again.
                let _: std::io::Result<()> =
                    create_anew(path).and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()));
            }
        });
    }

    fn stored<T>(&self, result: Result<T, crate::db::DbError>) -> Result<T, StateError> {
        result.map_err(|error| {
            if error.is_damage() {
                self.mark(&error.to_string());
            }
            StateError::Db(error)
        })
    }
}

impl fmt::Debug for PageStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageStore").field("manifest", &self.manifest).finish_non_exhaustive()
    }
}

enum Bytes {
    Whole(Value),
    Parts(Vec<u8>),
}

impl std::ops::Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Whole(value) => value,
            Self::Parts(bytes) => bytes,
        }
    }
}

fn part_key(key: &[u8], part: u16) -> Vec<u8> {
    [key, &part.to_be_bytes()].concat()
}

impl RootPointer {
    fn write(&self, out: &mut Writer) {
        out.number(self.checkpoint);
        out.raw(&self.root);
        out.byte(self.slot.to_byte());
        out.byte(u8::from(self.leaf));
        out.number(self.weight);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            checkpoint: reader.number("checkpoint")?,
            root: reader.array("root")?,
            slot: Slot::from_byte(reader.byte("slot")?).ok_or(Malformed("slot"))?,
            leaf: reader.byte("kind of root")? != 0,
            weight: reader.number("weight")?,
        })
    }

    fn read_all(body: &[u8]) -> Result<Vec<Self>, Malformed> {
        let mut reader = Reader::new(body);
        let mut origins = Vec::new();
        while !reader.is_empty() {
            origins.push(Self::read(&mut reader)?);
        }
        Ok(origins)
    }
}

impl Checkpoint {
    pub(crate) fn version(&self) -> Version {
        self.block.get().saturating_add(1)
    }
}

impl Manifest {
    /// Returns whether the newest checkpoint is the first checkpoint of the database. Earlier versions then need no
    /// pages, because they start from the empty state.
    pub(crate) fn is_first(&self) -> bool {
        self.current.as_ref().is_some_and(|current| current.origin.checkpoint == 1)
    }

    fn read(db: &Db) -> Result<Self, StateError> {
        let key = Owner::Accounts.pointer_key();
        let Some(value) = db.get(&key)? else { return Ok(Self::default()) };
        let damaged = |Malformed(reason)| StateError::Damaged { what: "manifest of the state".to_owned(), reason };
        let body = unseal(&key, &value).ok_or(Malformed("wrong checksum")).map_err(damaged)?;
        match body.first() {
            Some(&got) if got > LAYOUT => Err(StateError::NewerLayout { got, supported: LAYOUT }),
            _ => Self::decode(body).map_err(damaged),
        }
    }

    fn decode(body: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        if reader.byte("layout")? != LAYOUT {
            return Err(Malformed("layout of another version"));
        }
        let mut next = || -> Result<Option<Checkpoint>, Malformed> {
            if reader.is_empty() {
                return Ok(None);
            }
            let block = BlockNumber::new(reader.number("block")?);
            Ok(Some(Checkpoint { block, origin: RootPointer::read(&mut reader)? }))
        };
        let manifest = Self { current: next()?, previous: next()? };
        reader.finish("more than two checkpoints")?;
        Ok(manifest)
    }
}

/// Returns the approximate memory of a tree in bytes, with its stubs.
fn memory_size(tree: &Tree) -> usize {
    let stub = size_of::<Tree>().saturating_add(16);
    let more = match tree.body() {
        Body::LeafPage(leaf_page) => leaf_page.memory_size(),
        Body::Branch(branch) => {
            let stubs = branch.children().count().saturating_mul(stub);
            branch.memory_size().saturating_add(stubs)
        }
        Body::Stored(_) => 0,
    };
    stub.saturating_add(more)
}

/// The pages of one trie for a view of one version.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub pages: &'a PageStore,
    pub owner: Owner,
    pub version: Version,
}

impl Source<'_> {
    /// Returns the tree itself, or the loaded tree of a stub.
    pub(crate) fn resolve(&self, tree: &Link, prefix: &Prefix) -> Result<Link, StateError> {
        match tree.body() {
            Body::Stored(_) => self.pages.load(&self.owner, prefix, tree, self.version),
            Body::LeafPage(_) | Body::Branch(_) => Ok(Arc::clone(tree)),
        }
    }
}

impl Load for Source<'_> {
    type Error = StateError;

    fn load(&self, stub: &Link, key: &Key, depth: usize) -> Result<Link, StateError> {
        self.pages.load(&self.owner, &Prefix::of(key, depth), stub, self.version)
    }
}
