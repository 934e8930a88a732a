//! Writes a version of the tries to disk as a checkpoint.
//!
//! A checkpoint writes each page that changed since the previous checkpoint, into free space of the page file. It
//! writes pages before their parents, which have the places of the pages, and the manifest last, which has the place of
//! the root. The previous checkpoint stays complete if the process crashes at any point. It also stays complete after
//! the new checkpoint: views of versions between the two checkpoints keep their pages until the next checkpoint begins.
//!
//! The checkpoint finds the pages of the previous checkpoint only through the node pages on disk, never in memory.

use silica_proof::trie::EMPTY_ROOT;
use silica_protocol::{Address, BlockNumber};

use super::{
    key::{Owner, Prefix},
    leaf_page::{LEAF_PAGE, LeafPage},
    page::{Entry, write_leaf_page, write_node},
    pages::{Checkpoint, Manifest, PageStore, RootPointer},
    space::PagePlace,
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
    let number = before.number();
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
    // The storage tries follow the account trie, whose walk finds the contracts with changed storage.
    walk.write_contracts()?;
    let written = walk.written;
    // The key index is written before the manifest, because it must have all keys of a readable checkpoint.
    pages.keys().write_checkpoint(origin.checkpoint, version)?;
    pages.write_space(origin.checkpoint)?;
    pages.finish_checkpoint(Some(Checkpoint { block, origin }), before.current)?;
    Ok(written)
}

/// Drops the previous checkpoint, whose space the new checkpoint reuses. Removes the keys that only the previous
/// checkpoint used.
fn begin(pages: &PageStore, before: &Manifest, number: u64) -> Result<(), StateError> {
    let floor = before.current.as_ref().map_or(0, Checkpoint::version);
    // The floor is raised before space is reused, because a view of an older version must get an error, and never a
    // page of the new checkpoint.
    pages.raise_floor(floor);
    if before.previous.is_some() {
        pages.write_manifest(Manifest { previous: None, ..before.clone() })?;
    }
    // This also runs before the first checkpoint: an unfinished checkpoint can have listed keys under the same number.
    pages.note_damage(pages.keys().begin_checkpoint(number, floor))?;
    pages.begin_pages();
    Ok(())
}

/// Compares the maps of the page file with the pages of the newest checkpoint.
pub(crate) fn check_space(pages: &PageStore) -> Result<(), StateError> {
    let (number, places) = places(pages)?;
    pages.check_space(number, places)
}

/// Returns the number of the newest checkpoint, and the places of its pages.
pub(crate) fn places(pages: &PageStore) -> Result<(u64, Vec<PagePlace>), StateError> {
    let manifest = pages.manifest();
    let (number, mut places) = (manifest.number(), Vec::new());
    if let Some(current) = &manifest.current {
        list(pages, &Owner::Accounts, &mut Prefix::default(), Old::root(&current.origin), &mut places)?;
    }
    for row in pages.db().scan(vec![space::POINTERS]..vec![space::POINTERS.saturating_add(1)]) {
        let (key, _) = row?;
        let Some(contract) = key.get(1..).and_then(|address| Address::try_from(address).ok()) else {
            return Err(pages.damaged("pointer".to_owned(), "its key has no address"));
        };
        if let Some(origin) = finished(&pages.read_pointer(&contract)?, number) {
            list(pages, &Owner::Contract(contract), &mut Prefix::default(), Old::root(&origin), &mut places)?;
        }
    }
    Ok((number, places))
}

/// Returns the root pointer of the newest finished checkpoint. Root pointers of an unfinished checkpoint are not in
/// use.
fn finished(origins: &[RootPointer], number: u64) -> Option<RootPointer> {
    let finished = origins.iter().filter(|origin| origin.checkpoint <= number);
    finished.max_by_key(|origin| origin.checkpoint).cloned()
}

/// Lists the places of the page of a prefix and of the pages below it.
fn list(
    pages: &PageStore,
    owner: &Owner,
    prefix: &mut Prefix,
    page: Old,
    places: &mut Vec<PagePlace>,
) -> Result<(), StateError> {
    let Old::Page { place, node } = page else { return Ok(()) };
    places.push(place);
    if node {
        for entry in pages.read_entries(owner, prefix, place)? {
            prefix.push(entry.digit);
            list(pages, owner, prefix, Old::of(&entry), places)?;
            prefix.pop();
        }
    }
    Ok(())
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
    Page { place: PagePlace, node: bool },
}

impl Old {
    fn of(entry: &Entry) -> Self {
        Self::Page { place: entry.place, node: entry.is_node() }
    }

    fn root(origin: &RootPointer) -> Self {
        if origin.root == EMPTY_ROOT {
            return Self::Nothing;
        }
        Self::Page { place: origin.place, node: !origin.leaf && origin.weight > LEAF_PAGE }
    }
}

impl Walk<'_> {
    /// Writes a trie and returns its root pointer.
    fn write_trie(&mut self, owner: &Owner, top: &Top, old: Option<&RootPointer>) -> Result<RootPointer, StateError> {
        let old_record = old.filter(|old| old.root != EMPTY_ROOT);
        let old_root = old.map_or(Old::Nothing, Old::root);
        let mut prefix = Prefix::default();
        let tree = match (top, old_record) {
            // The trie was not loaded since the previous checkpoint, so it has not changed.
            (Top::Root(root), Some(old)) if old.root == *root => {
                return Ok(RootPointer { checkpoint: self.number, ..old.clone() });
            }
            _ => self.pages.top(owner, top, self.version)?,
        };
        let Some(tree) = tree else {
            self.free(owner, &mut prefix, old_root)?;
            return Ok(RootPointer {
                checkpoint: self.number,
                root: EMPTY_ROOT,
                place: PagePlace::NONE,
                weight: 0,
                leaf: false,
            });
        };
        let place = self.write_tree(owner, &mut prefix, &tree, old_root)?;
        Ok(RootPointer {
            checkpoint: self.number,
            root: tree.root(),
            place,
            weight: tree.weight(),
            leaf: tree.is_leaf(),
        })
    }

    /// Writes the storage tries of the contracts that the walk over the account trie found.
    fn write_contracts(&mut self) -> Result<(), StateError> {
        let mut contracts = std::mem::take(&mut self.contracts);
        contracts.sort_unstable_by_key(|(address, _)| *address);
        for (address, top) in contracts {
            let live = finished(&self.pages.read_pointer(&address)?, self.number.saturating_sub(1));
            let origin = self.write_trie(&Owner::Contract(address), &top, live.as_ref())?;
            self.pages.write_pointer(&address, [origin].into_iter().chain(live).collect())?;
        }
        Ok(())
    }

    /// Writes the changed pages of a prefix and below it. Returns the place of the page of the prefix.
    fn write_tree(
        &mut self,
        owner: &Owner,
        prefix: &mut Prefix,
        tree: &Link,
        old: Old,
    ) -> Result<PagePlace, StateError> {
        let (place, loadable) = match (tree.body(), old) {
            (Body::Stored(stored), _) => return Ok(stored.place),
            (_, Old::Page { place, .. }) if tree.born() <= self.since => {
                tree.set_place(place);
                return Ok(place);
            }
            (Body::LeafPage(leaf_page), _) => {
                self.free(owner, prefix, old)?;
                self.note_contracts(leaf_page);
                let place = self.put(owner, prefix, &write_leaf_page(leaf_page, owner))?;
                // Most leaf pages have no storage tries in memory. Then the cache shares the page with the version.
                let clean = leaf_page.without_storage().map(|clean| tree.with_body(Body::LeafPage(clean)));
                (place, clean.unwrap_or_else(|| Link::clone(tree)))
            }
            (Body::Branch(branch), _) => {
                let (place, body) = self.write_node(owner, prefix, branch, old)?;
                (place, tree.with_body(body))
            }
        };
        tree.set_place(place);
        loadable.set_place(place);
        self.pages.remember(place, loadable);
        Ok(place)
    }

    /// Notes the contracts of a leaf page whose storage the checkpoint must write.
    fn note_contracts(&mut self, leaf_page: &LeafPage) {
        for (key, top) in leaf_page.storage_tries() {
            if let Top::Tree(storage) = top
                && storage.born() > self.since
            {
                self.contracts.extend(key.to_address().map(|address| (address, top.clone())));
            }
        }
    }

    /// Writes a node page and the pages below it. Returns the place of the node page, and the branch in the form of a
    /// loaded page.
    fn write_node(
        &mut self,
        owner: &Owner,
        prefix: &mut Prefix,
        branch: &Branch,
        old: Old,
    ) -> Result<(PagePlace, Body), StateError> {
        let old_entries = self.entries(owner, prefix, old)?;
        let old_at = |digit| old_entries.iter().find(|entry| entry.digit == digit).map_or(Old::Nothing, Old::of);
        let mut places = Vec::with_capacity(16);
        for digit in 0..16 {
            prefix.push(digit);
            match (branch.stored_child(digit), branch.child(digit)) {
                (Some(place), _) => places.push(place),
                (None, Some(child)) => places.push(self.write_tree(owner, prefix, &child, old_at(digit))?),
                (None, None) => self.free(owner, prefix, old_at(digit))?,
            }
            prefix.pop();
        }
        if let Old::Page { place, .. } = old {
            self.pages.free(place);
        }
        let place = self.put(owner, prefix, &write_node(&branch.entries(&places)))?;
        Ok((place, Body::Branch(branch.with_stubs(&places))))
    }

    fn put(&mut self, owner: &Owner, prefix: &Prefix, body: &Writer) -> Result<PagePlace, StateError> {
        let body = body.as_slice();
        self.written.pages = self.written.pages.saturating_add(1);
        self.written.bytes = self.written.bytes.saturating_add(body.len() as u64);
        self.pages.write(owner, prefix, body)
    }

    fn entries(&self, owner: &Owner, prefix: &Prefix, old: Old) -> Result<Vec<Entry>, StateError> {
        match old {
            Old::Page { place, node: true } => self.pages.read_entries(owner, prefix, place),
            Old::Page { node: false, .. } | Old::Nothing => Ok(Vec::new()),
        }
    }

    /// Frees the page of a prefix and the pages below it, which the new checkpoint does not have.
    fn free(&mut self, owner: &Owner, prefix: &mut Prefix, old: Old) -> Result<(), StateError> {
        for entry in self.entries(owner, prefix, old)? {
            prefix.push(entry.digit);
            self.free(owner, prefix, Old::of(&entry))?;
            prefix.pop();
        }
        if let Old::Page { place, .. } = old {
            self.pages.free(place);
        }
        Ok(())
    }
}
