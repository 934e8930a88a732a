//! Writes a version of the tries to disk as a checkpoint.
//!
//! A page has two slots. A checkpoint writes each page that changed since the previous checkpoint, into the slot that
//! the previous checkpoint does not use. It writes pages before their parents, and the manifest last. The manifest has
//! the slot of the root. So the previous checkpoint stays complete if the process crashes at any point. It also stays
//! complete after the new checkpoint: views of versions between the two checkpoints keep their pages until the next
//! checkpoint begins.
//!
//! The checkpoint finds the pages of the previous checkpoint only through the node pages on disk, never in memory.

use silica_proof::trie::EMPTY_ROOT;
use silica_protocol::{Address, BlockNumber};

use super::{
    key::{Owner, Prefix, Slot},
    leaf_page::{LEAF_PAGE, LeafPage},
    page::{Entry, entries_of, write_leaf_page, write_node},
    pages::{Checkpoint, Manifest, PageStore, RootPointer},
    tree::{Body, Branch, Link, Top},
};
use crate::{codec::Writer, error::StateError, layout::space, version::Version};

/// The number of pages that a checkpoint has written, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Written {
    pub pages: u64,
    pub bytes: u64,
}

/// Writes the state after a block, and returns when it is durable. Only one checkpoint may be written at a time.
pub(crate) fn write(pages: &PageStore, block: BlockNumber, top: &Top) -> Result<Written, StateError> {
    let version = block.get().saturating_add(1);
    let before = pages.manifest();
    let number = before.current.as_ref().map_or(0, |current| current.origin.checkpoint);
    begin(pages, &before, number)?;
    let mut walk = Walk {
        pages,
        number: number.saturating_add(1),
        version,
        since: before.current.as_ref().map_or(0, Checkpoint::version),
        contracts: Vec::new(),
        written: Written::default(),
    };
    let old = before.current.as_ref().map(|current| current.origin.clone());
    let origin = walk.write_trie(&Owner::Accounts, top, old.as_ref())?;
    // After the account trie, whose walk finds the contracts with changed storage.
    walk.write_contracts()?;
    let written = walk.written;
    // Before the manifest: the index must have all keys of a readable checkpoint.
    pages.keys().write_checkpoint(origin.checkpoint, version)?;
    pages.write_manifest(Manifest { current: Some(Checkpoint { block, origin }), previous: before.current })?;
    Ok(written)
}

/// Drops the previous checkpoint, whose slots the new checkpoint reuses. Removes the pages and keys that only the
/// previous checkpoint used.
fn begin(pages: &PageStore, before: &Manifest, number: u64) -> Result<(), StateError> {
    let Some(current) = &before.current else { return Ok(()) };
    // Before the removal of pages: a view of an older version must get an error, and never a page of the new
    // checkpoint.
    pages.raise_floor(current.version());
    if before.previous.is_some() {
        pages.write_manifest(Manifest { current: before.current.clone(), previous: None })?;
    }
    let orphans = pages.db().scan(vec![space::ORPHANS]..vec![space::ORPHANS.saturating_add(1)]);
    for orphan in orphans {
        let (marker, value) = orphan?;
        // An unfinished checkpoint may have marked a page for removal that the current checkpoint uses.
        let finished = value.first_chunk().is_some_and(|bytes| u64::from_be_bytes(*bytes) <= number);
        if let Some((_, key)) = marker.split_first().filter(|_| finished) {
            pages.remove(key)?;
        }
        pages.db().remove(&marker)?;
    }
    pages.note_damage(pages.keys().begin_checkpoint(number, current.version()))
}

struct Walk<'a> {
    pages: &'a PageStore,
    /// Number of this checkpoint.
    number: u64,
    version: Version,
    /// The version of the previous checkpoint.
    since: Version,
    /// Contracts with storage tries to write.
    contracts: Vec<(Address, Top)>,
    written: Written,
}

/// The page of the previous checkpoint at a prefix.
#[derive(Clone, Copy)]
enum Old {
    Nothing,
    Page { slot: Slot, node: bool },
}

impl Old {
    fn of(entry: &Entry) -> Self {
        Self::Page { slot: entry.slot, node: entry.is_node() }
    }

    fn slot(self) -> Option<Slot> {
        match self {
            Self::Nothing => None,
            Self::Page { slot, .. } => Some(slot),
        }
    }
}

impl Walk<'_> {
    /// Writes a trie and returns its root pointer.
    fn write_trie(&mut self, owner: &Owner, top: &Top, old: Option<&RootPointer>) -> Result<RootPointer, StateError> {
        let old_record = old.filter(|old| old.root != EMPTY_ROOT);
        let old_root = old_record
            .map_or(Old::Nothing, |old| Old::Page { slot: old.slot, node: !old.leaf && old.weight > LEAF_PAGE });
        let mut prefix = Prefix::default();
        let tree = match (top, old_record) {
            // The trie was not loaded since the previous checkpoint, so it has not changed.
            (Top::Root(root), Some(old)) if old.root == *root => {
                return Ok(RootPointer { checkpoint: self.number, ..old.clone() });
            }
            _ => self.pages.top(owner, top, self.version)?,
        };
        let Some(tree) = tree else {
            self.orphan(owner, &mut prefix, old_root)?;
            return Ok(RootPointer {
                checkpoint: self.number,
                root: EMPTY_ROOT,
                slot: Slot::A,
                weight: 0,
                leaf: false,
            });
        };
        let slot = self.write_tree(owner, &mut prefix, &tree, old_root)?;
        Ok(RootPointer {
            checkpoint: self.number,
            root: tree.root(),
            slot,
            weight: tree.weight(),
            leaf: tree.is_leaf(),
        })
    }

    /// Writes the storage tries of the contracts that the walk over the account trie found.
    fn write_contracts(&mut self) -> Result<(), StateError> {
        let mut contracts = std::mem::take(&mut self.contracts);
        contracts.sort_unstable_by_key(|(address, _)| *address);
        for (address, top) in contracts {
            // Root pointers of an unfinished checkpoint are not in use.
            let live = self.pages.read_pointer(&address)?;
            let live = live.iter().filter(|origin| origin.checkpoint < self.number);
            let live = live.max_by_key(|origin| origin.checkpoint).cloned();
            let origin = self.write_trie(&Owner::Contract(address), &top, live.as_ref())?;
            self.pages.write_pointer(&address, [origin].into_iter().chain(live).collect())?;
        }
        Ok(())
    }

    /// Writes the changed pages of a prefix and below it. Returns the slot of the page of the prefix.
    fn write_tree(&mut self, owner: &Owner, prefix: &mut Prefix, tree: &Link, old: Old) -> Result<Slot, StateError> {
        match (tree.body(), old) {
            (Body::Stored(stored), _) => return Ok(stored.slot),
            (_, Old::Page { slot, .. }) if tree.born() <= self.since => {
                tree.set_slot_tag(slot);
                return Ok(slot);
            }
            _ => {}
        }
        let slot = old.slot().map_or(Slot::A, Slot::other);
        let key = owner.record_key(prefix.as_slice(), slot);
        let body = match tree.body() {
            Body::LeafPage(leaf_page) => {
                self.orphan_parts(owner, prefix, old)?;
                self.write_leaf_page(owner, leaf_page, &key)?
            }
            Body::Branch(branch) => self.write_node(owner, prefix, branch, old, &key)?,
            Body::Stored(stored) => return Ok(stored.slot),
        };
        tree.set_slot_tag(slot);
        let loadable = tree.with_body(body);
        loadable.set_slot_tag(slot);
        self.pages.remember(&key, loadable);
        Ok(slot)
    }

    /// Writes a leaf page, and returns it in the form of a loaded page.
    fn write_leaf_page(&mut self, owner: &Owner, leaf_page: &LeafPage, key: &[u8]) -> Result<Body, StateError> {
        for leaf in leaf_page.leaves() {
            if let Some(top @ Top::Tree(storage)) = leaf.storage
                && storage.born() > self.since
            {
                self.contracts.extend(leaf.key.to_address().map(|address| (address, top.clone())));
            }
        }
        self.put(key, write_leaf_page(leaf_page, owner))?;
        Ok(Body::LeafPage(leaf_page.clean()))
    }

    /// Writes a node page and the pages below it. Returns the branch in the form of a loaded page.
    fn write_node(
        &mut self,
        owner: &Owner,
        prefix: &mut Prefix,
        branch: &Branch,
        old: Old,
        key: &[u8],
    ) -> Result<Body, StateError> {
        let old_entries = self.entries(owner, prefix, old)?;
        let old_at = |digit| old_entries.iter().find(|entry| entry.digit == digit).map_or(Old::Nothing, Old::of);
        let mut slots = Vec::with_capacity(16);
        for digit in 0..16 {
            prefix.push(digit);
            match branch.child(digit) {
                Some(child) => slots.push(self.write_tree(owner, prefix, child, old_at(digit))?),
                None => self.orphan(owner, prefix, old_at(digit))?,
            }
            prefix.pop();
        }
        self.put(key, write_node(&entries_of(branch, &slots)))?;
        Ok(Body::Branch(branch.with_stubs(slots.into_iter())))
    }

    fn put(&mut self, key: &[u8], body: Writer) -> Result<(), StateError> {
        let body = body.finish();
        self.written.pages = self.written.pages.saturating_add(1);
        self.written.bytes = self.written.bytes.saturating_add(body.len() as u64);
        self.pages.write(key, &body)
    }

    fn entries(&self, owner: &Owner, prefix: &Prefix, old: Old) -> Result<Vec<Entry>, StateError> {
        match old {
            Old::Page { slot, node: true } => self.pages.read_entries(owner, prefix, slot),
            Old::Page { node: false, .. } | Old::Nothing => Ok(Vec::new()),
        }
    }

    /// Marks the page of a prefix and the pages below it for removal. The next checkpoint removes them.
    fn orphan(&mut self, owner: &Owner, prefix: &mut Prefix, old: Old) -> Result<(), StateError> {
        let Some(slot) = old.slot() else { return Ok(()) };
        self.orphan_parts(owner, prefix, old)?;
        let marker = [&[space::ORPHANS], &*owner.record_key(prefix.as_slice(), slot)].concat();
        Ok(self.pages.db().insert(&marker, &self.number.to_be_bytes())?)
    }

    fn orphan_parts(&mut self, owner: &Owner, prefix: &mut Prefix, old: Old) -> Result<(), StateError> {
        for entry in self.entries(owner, prefix, old)? {
            prefix.push(entry.digit);
            self.orphan(owner, prefix, Old::of(&entry))?;
            prefix.pop();
        }
        Ok(())
    }
}
