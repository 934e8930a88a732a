//! Reads pages from disk through a cache, and verifies each page by the hash in its parent.

use std::{
    fmt,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::{Mutex, RwLock};
use silica_proof::trie::EMPTY_ROOT;
use silica_protocol::{Address, BlockNumber};

use super::{
    cache::{Cache, Class},
    key::{Key, Owner, Prefix},
    page::{self, Entry, Page},
    space::{PagePlace, Run, Space},
    tree::{Body, Link, Load, Top, Tree},
};
use crate::{
    codec::{Malformed, Reader, Writer, seal, unseal},
    db::{DataFile, Db},
    error::StateError,
    file::create_anew,
    keys::Keys,
    layout::{LARGEST_LEAF, space},
    version::Version,
};

/// The tries in the derived database.
pub(crate) struct PageStore {
    db: Db,
    trees: Arc<Cache<PagePlace, Link>>,
    /// Limit of the cache without changes in memory, in bytes.
    cache_bytes: u64,
    pointers: Arc<Cache<Address, Arc<[RootPointer]>>>,
    /// The space of the page file. Only checkpoints change it.
    space: Arc<Mutex<Space>>,
    keys: Keys,
    manifest: RwLock<Manifest>,
    /// The lowest version whose views are readable. A checkpoint reuses the space of pages of earlier versions.
    floor: AtomicU64,
    /// The version of the newest finished checkpoint, or 0 without a checkpoint.
    durable: AtomicU64,
    marker: Option<PathBuf>,
    /// Whether the marker file is written.
    marked: Mutex<bool>,
}

/// The root of a trie in a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RootPointer {
    /// Number of the checkpoint.
    pub checkpoint: u64,
    pub root: [u8; 32],
    pub place: PagePlace,
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
    /// its space.
    pub previous: Option<Checkpoint>,
    /// Number of regions of the page file at the end of the newest checkpoint.
    pub regions: u32,
}

/// Maximum bytes of a page. The largest page is a leaf page with a single leaf.
const LARGEST_PAGE: usize = LARGEST_LEAF + 64;
/// Approximate bytes of memory for one byte of a state diff. With 10,000,000 accounts, an update takes 45 bytes of a
/// state diff. In memory, the update takes about 3 KB: the leaf page, and its part of the node pages above it.
const MEMORY_PER_CHANGE: u64 = 64;
/// Layout number of the derived database. Opening converts layout 3, rebuilds a database of a layout before 3, and
/// rejects a database of a later layout.
const LAYOUT: u8 = 4;

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
        let (number, can_be_unfinished) = (manifest.number(), manifest.previous.is_none());
        let pages = Self {
            keys: Keys::new(db.clone()),
            space: Arc::new(Mutex::new(Space::read(&db, &manifest)?)),
            db,
            trees: Arc::new(Cache::new(cache_bytes)),
            cache_bytes,
            pointers: Arc::new(Cache::new(cache_bytes / 16)),
            manifest: RwLock::new(manifest),
            floor: AtomicU64::new(floor),
            durable: AtomicU64::new(durable),
            marker,
            marked: Mutex::new(false),
        };
        if can_be_unfinished {
            pages.remove_unfinished_pointers(number)?;
        }
        Ok(pages)
    }

    /// Removes the root pointers of a checkpoint after checkpoint `number`, which a crash has ended. The next
    /// checkpoint has the same number, and does not write the pointer of a contract whose storage is again that of
    /// checkpoint `number`. Without this function, the old pointer would then be valid.
    fn remove_unfinished_pointers(&self, number: u64) -> Result<(), StateError> {
        for row in self.db.scan(vec![space::POINTERS]..vec![space::POINTERS.saturating_add(1)]) {
            let (key, _) = row?;
            let contract = key.get(1..).and_then(|address| Address::try_from(address).ok());
            let contract = contract.ok_or_else(|| self.damaged("pointer".to_owned(), "its key has no address"))?;
            let origins = self.read_pointer(&contract)?;
            let finished: Arc<[_]> = origins.iter().filter(|origin| origin.checkpoint <= number).cloned().collect();
            if finished.len() < origins.len() {
                self.write_pointer(&contract, finished)?;
            }
        }
        Ok(())
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
            cache_bytes: self.cache_bytes,
            pointers: Arc::clone(&self.pointers),
            space: Arc::clone(&self.space),
            manifest: RwLock::new(self.manifest()),
            floor: AtomicU64::new(self.floor()),
            durable: AtomicU64::new(self.durable()),
            marker: self.marker.clone(),
            marked: Mutex::new(false),
        })
    }

    /// Lowers the limit of the cache by the approximate memory of the changes since the newest checkpoint, at most to a
    /// quarter. `pending` is the size of these changes in state diffs, in bytes.
    pub(crate) fn share_memory(&self, pending: u64) {
        let left = self.cache_bytes.saturating_sub(pending.saturating_mul(MEMORY_PER_CHANGE));
        self.trees.set_limit(left.max(self.cache_bytes / 4));
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
        let Some(place) = self.place_of_root(owner, root)? else {
            return Err(self.fail(owner, &whole, version, "no checkpoint has this root"));
        };
        let fits = |tree: &Link| tree.at() == 0 && tree.root() == *root;
        if let Some(tree) = self.trees.get(&place).filter(fits) {
            return Ok(tree);
        }
        self.read(owner, &whole, place, version, |tree| {
            Tree::hang_as_root(tree);
            fits(tree)
        })
    }

    fn place_of_root(&self, owner: &Owner, root: &[u8; 32]) -> Result<Option<PagePlace>, StateError> {
        let find =
            |origins: &[RootPointer]| origins.iter().find(|origin| origin.root == *root).map(|origin| origin.place);
        match owner {
            Owner::Accounts => {
                let Manifest { current, previous, .. } = self.manifest();
                let origins: Vec<RootPointer> =
                    current.into_iter().chain(previous).map(|checkpoint| checkpoint.origin).collect();
                Ok(find(&origins))
            }
            Owner::Contract(address) => {
                if let Some(place) = self.pointers.get(address).and_then(|origins| find(&origins)) {
                    return Ok(Some(place));
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
        self.remember_pointer(contract, Arc::clone(&origins));
        Ok(origins)
    }

    fn remember_pointer(&self, contract: &Address, origins: Arc<[RootPointer]>) {
        let bytes = size_of::<RootPointer>().saturating_mul(origins.len());
        self.pointers.insert(*contract, origins, (bytes, Class::Leaf));
    }

    /// Writes the root pointers of the storage trie of a contract.
    pub(crate) fn write_pointer(&self, contract: &Address, origins: Arc<[RootPointer]>) -> Result<(), StateError> {
        let key = Owner::Contract(*contract).pointer_key();
        let mut value = Writer::new();
        origins.iter().for_each(|origin| origin.write(&mut value));
        self.db.insert(&key, &seal(&key, value.as_slice()))?;
        self.remember_pointer(contract, origins);
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
        let digit = prefix.as_slice().last().copied().unwrap_or(0);
        let fits = |tree: &mut Link| {
            Tree::hang_as(tree, stub, digit);
            tree.reference() == stub.reference() && tree.is_leaf() == stub.is_leaf()
        };
        if let Some(mut tree) = self.trees.get(&stored.place)
            && fits(&mut tree)
        {
            return Ok(tree);
        }
        self.read(owner, prefix, stored.place, version, fits)
    }

    /// Reads a page, and puts it into the cache if `fits` accepts it.
    fn read(
        &self,
        owner: &Owner,
        prefix: &Prefix,
        place: PagePlace,
        version: Version,
        fits: impl FnOnce(&mut Link) -> bool,
    ) -> Result<Link, StateError> {
        let fail = |reason| self.fail(owner, prefix, version, reason);
        let page = self.read_page(owner, prefix, place)?.map_err(fail)?;
        let mut tree = page.into_tree(prefix.as_slice());
        if !fits(&mut tree) {
            return Err(fail("hash differs from the hash in the parent"));
        }
        tree.set_place(place);
        self.remember(place, Arc::clone(&tree));
        Ok(tree)
    }

    /// Reads the entries of a node page of a readable checkpoint. Returns no entries for a leaf page.
    pub(crate) fn read_entries(
        &self,
        owner: &Owner,
        prefix: &Prefix,
        place: PagePlace,
    ) -> Result<Vec<Entry>, StateError> {
        let damaged = |reason| self.damaged(format!("{owner} at {prefix}"), reason);
        match self.read_page(owner, prefix, place)?.map_err(damaged)? {
            Page::Node(entries) => Ok(entries),
            Page::LeafPage(_) => Ok(Vec::new()),
        }
    }

    /// Reads a page, and verifies its checksum. The inner error is the reason why the place has no such page.
    fn read_page(
        &self,
        owner: &Owner,
        prefix: &Prefix,
        place: PagePlace,
    ) -> Result<Result<Page, &'static str>, StateError> {
        let bytes = match place.len() {
            ..=LARGEST_PAGE => self.stored(self.db.read_at(DataFile::Pages, place.position(), place.len()))?,
            _ => None,
        };
        let page = bytes.ok_or("page is missing").and_then(|bytes| {
            let body = unseal(&owner.page_name(prefix.as_slice()), &bytes).ok_or("wrong checksum")?;
            page::read(body, owner, prefix.as_slice()).map_err(|malformed| malformed.0)
        });
        Ok(page)
    }

    /// Begins a checkpoint: later pages can take the space that the newest checkpoint does not use.
    pub(crate) fn begin_pages(&self) {
        self.space.lock().begin();
    }

    /// Writes a page, and returns its place. The page is readable after [`PageStore::write_space`].
    pub(crate) fn write(&self, owner: &Owner, prefix: &Prefix, body: &[u8]) -> Result<PagePlace, StateError> {
        let page = seal(&owner.page_name(prefix.as_slice()), body);
        let (place, run) = self.space.lock().add(&page)?;
        self.write_run(run)?;
        Ok(place)
    }

    fn write_run(&self, run: Option<Run>) -> Result<(), StateError> {
        run.map_or(Ok(()), |(position, bytes)| Ok(self.db.write_at(DataFile::Pages, position, &bytes)?))
    }

    /// Frees the space of a page that the checkpoint in progress does not have. The next checkpoint can use this space.
    pub(crate) fn free(&self, place: PagePlace) {
        self.space.lock().free(place);
    }

    /// Writes the remaining pages, and the maps of the page file. `number` is the number of the checkpoint.
    pub(crate) fn write_space(&self, number: u64) -> Result<(), StateError> {
        let mut space = self.space.lock();
        self.write_run(space.take_buffer())?;
        space.rows(number).try_for_each(|(key, value)| Ok(self.db.insert(&key, &value)?))
    }

    /// Compares the maps of the page file with the places of all pages of the newest checkpoint, whose number is
    /// `number`.
    ///
    /// # Errors
    ///
    /// [`StateError::Expired`]: the number is not the number of the newest checkpoint any more.
    pub(crate) fn check_space(&self, number: u64, places: Vec<PagePlace>) -> Result<(), StateError> {
        let space = self.space.lock();
        if self.manifest().number() != number {
            return Err(StateError::Expired);
        }
        space.check(places).map_err(|reason| self.damaged("page file".to_owned(), reason))
    }

    /// Returns the bytes of the page file that the newest checkpoint uses.
    #[cfg(test)]
    pub(crate) fn space_used(&self) -> u64 {
        self.space.lock().used()
    }

    /// Puts the tree of a read or written page into the cache.
    pub(crate) fn remember(&self, place: PagePlace, tree: Link) {
        let size = memory_of(&tree);
        self.trees.insert(place, tree, size);
    }

    /// Ends a checkpoint: replaces the manifest, and lets the next checkpoint use the freed space.
    pub(crate) fn finish_checkpoint(
        &self,
        current: Option<Checkpoint>,
        previous: Option<Checkpoint>,
    ) -> Result<(), StateError> {
        // During the lock, no `check_space` compares the new manifest with the old space.
        let mut space = self.space.lock();
        self.write_manifest(Manifest { current, previous, regions: space.regions() })?;
        space.finish();
        Ok(())
    }

    /// Replaces the manifest. Readers get the new manifest when it is durable.
    pub(crate) fn write_manifest(&self, manifest: Manifest) -> Result<(), StateError> {
        let key = Owner::Accounts.pointer_key();
        let mut value = Writer::new();
        value.byte(LAYOUT);
        value.number(manifest.regions);
        for checkpoint in manifest.current.iter().chain(&manifest.previous) {
            value.number(checkpoint.block.get());
            checkpoint.origin.write(&mut value);
        }
        // The pages are flushed first, because the manifest must not become durable before them.
        self.flush()?;
        self.db.insert(&key, &seal(&key, value.as_slice()))?;
        self.flush()?;
        let durable = manifest.current.as_ref().map_or(0, Checkpoint::version);
        *self.manifest.write() = manifest;
        self.durable.store(durable, Ordering::Release);
        Ok(())
    }

    /// Flushes all written pages and rows. With relaxed durability, a page reaches the operating system before the
    /// rows. Without this call, the page file would be newer than the rows after `kill -9`.
    fn flush(&self) -> Result<(), StateError> {
        self.db.flush()?;
        Ok(self.db.write_out()?)
    }

    /// Makes views of versions before `version` unreadable. The caller must call this function before it reuses the
    /// space of these versions.
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
        let Some(path) = &self.marker else { return };
        let mut marked = self.marked.lock();
        if !*marked {
            // An error of the write is ignored, because the caller returns the damage. The next read that finds damage
            // tries again.
            let written = create_anew(path).and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()));
            *marked = written.is_ok();
        }
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

impl RootPointer {
    fn write(&self, out: &mut Writer) {
        out.number(self.checkpoint);
        out.raw(&self.root);
        self.place.write(out);
        out.byte(u8::from(self.leaf));
        out.number(self.weight);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            checkpoint: reader.number("checkpoint")?,
            root: reader.array("root")?,
            place: PagePlace::read(reader)?,
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
    /// Returns the number of the newest checkpoint, or 0 without a checkpoint.
    pub(crate) fn number(&self) -> u64 {
        self.current.as_ref().map_or(0, |current| current.origin.checkpoint)
    }

    /// Returns whether the newest checkpoint is the first checkpoint of the database. Earlier versions then need no
    /// pages, because they start from the empty state.
    pub(crate) fn is_first(&self) -> bool {
        self.number() == 1
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
        let regions = reader.number("number of regions")?;
        let mut next = || -> Result<Option<Checkpoint>, Malformed> {
            if reader.is_empty() {
                return Ok(None);
            }
            let block = BlockNumber::new(reader.number("block")?);
            Ok(Some(Checkpoint { block, origin: RootPointer::read(&mut reader)? }))
        };
        let manifest = Self { current: next()?, previous: next()?, regions };
        reader.finish("more than two checkpoints")?;
        Ok(manifest)
    }
}

/// Returns the approximate memory of a tree in bytes, with its stubs, and its importance for the cache.
fn memory_of(tree: &Tree) -> (usize, Class) {
    let (more, class) = match tree.body() {
        Body::LeafPage(leaf_page) => (leaf_page.memory_size(), Class::Leaf),
        Body::Branch(branch) => (branch.memory_size(), Class::Node),
        Body::Stored(_) => (0, Class::Leaf),
    };
    (size_of::<Tree>().saturating_add(16).saturating_add(more), class)
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
