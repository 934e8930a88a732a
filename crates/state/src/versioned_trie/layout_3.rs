//! Converts the tries of a database of layout 3, in which the pages are rows of the database.
//!
//! A page had one row for each of two slots. Its parent had the slot of the page. A page above 6,144 bytes was divided
//! into further rows.

use silica_proof::trie::EMPTY_ROOT;
use silica_protocol::{Address, BlockNumber};

use super::{
    key::{Owner, Prefix},
    leaf_page::LEAF_PAGE,
    page::{Entry, LAYOUT_3_SLOT, LEAF_PAGE_KIND, NODE_KIND, read_entries_with, write_node},
    pages::{Checkpoint, PageStore, RootPointer},
    space::PagePlace,
};
use crate::{
    codec::{Malformed, Reader, unseal},
    db::Db,
    error::StateError,
    layout::space,
};

/// Number of the layout that this module converts.
const LAYOUT: u8 = 3;
/// The first slot of a page, and the slot with the flag [`LAYOUT_3_SLOT`].
const SLOTS: [u8; 2] = [0x10, 0x11];
/// First byte of the row of a page in several rows.
const PARTS_KIND: u8 = 3;
/// Tables that both layouts have: the key index. The hash index, from table `f0` on, has another format now, so opening
/// makes it again.
const SAME_TABLES: std::ops::Range<u8> = space::KEYS..space::HASH_INDEX;

/// Returns whether a database has layout 3.
pub(crate) fn is_due(db: &Db) -> Result<bool, StateError> {
    let key = Owner::Accounts.pointer_key();
    let value = db.get(&key)?;
    Ok(value.and_then(|value| unseal(&key, &value)?.first().copied()) == Some(LAYOUT))
}

/// Copies the readable checkpoints and the key index of a database of layout 3 into an empty database of the present
/// layout. Calls `progress` with the number of blocks times the converted fraction of the database, and the number of
/// blocks.
pub(crate) fn convert(old: &Db, new: &Db, progress: &mut dyn FnMut(u64, u64)) -> Result<(), StateError> {
    for row in old.scan(vec![SAME_TABLES.start]..vec![SAME_TABLES.end]) {
        let (key, value) = row?;
        new.insert(&key, &value)?;
    }
    let (newest, previous) = read_manifest(old)?;
    let Some((block, root)) = newest else { return Ok(()) };
    let (number, before) = (root.number, previous.as_ref().map(|(_, root)| root.number));
    let pages = PageStore::open(new.clone(), 0, None)?;
    pages.begin_pages();
    let mut tries = vec![(Owner::Accounts, Some(root), previous.as_ref().map(|(_, root)| root.clone()))];
    for row in old.scan(vec![space::POINTERS]..vec![space::POINTERS.saturating_add(1)]) {
        let (key, value) = row?;
        let address = key.get(1..).and_then(|bytes| Address::try_from(bytes).ok());
        let address = address.ok_or(Malformed("contract of a pointer")).map_err(damaged)?;
        let roots = read_pointers(&key, &value).map_err(damaged)?;
        let of = |number: u64| {
            let readable = roots.iter().filter(|root| root.number <= number);
            readable.max_by_key(|root| root.number).cloned()
        };
        tries.push((Owner::Contract(address), of(number), before.and_then(of)));
    }
    let all = tries.iter().filter_map(|(_, newest, _)| Some(newest.as_ref()?.weight)).fold(0, u64::saturating_add);
    let blocks = block.get().saturating_add(1);
    let mut conversion = Conversion { old, pages: &pages, gone: Vec::new(), done: 0, all, blocks, progress };
    let mut checkpoints = Vec::new();
    for (owner, newest, previous) in tries {
        let converted = conversion.convert_trie(&owner, [newest, previous])?;
        match owner {
            Owner::Accounts => checkpoints = converted,
            Owner::Contract(address) => pages.write_pointer(&address, converted.into())?,
        }
    }
    // The present checkpoint does not have these pages, so the next checkpoint can use their space.
    let gone = std::mem::take(&mut conversion.gone);
    (conversion.progress)(blocks, blocks);
    for place in gone {
        pages.free(place);
    }
    pages.write_space(number)?;
    let both = [Some(block), previous.map(|(block, _)| block)].into_iter().flatten();
    let mut checkpoints = both.zip(checkpoints).map(|(block, origin)| Checkpoint { block, origin });
    pages.finish_checkpoint(checkpoints.next(), checkpoints.next())
}

fn damaged(Malformed(reason): Malformed) -> StateError {
    StateError::Damaged { what: "state of layout 3".to_owned(), reason }
}

/// A root pointer of layout 3.
#[derive(Clone)]
struct Root {
    number: u64,
    hash: [u8; 32],
    slot: u8,
    leaf: bool,
    weight: u64,
}

impl Root {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            number: reader.number("checkpoint")?,
            hash: reader.array("root")?,
            slot: reader.byte("slot")?,
            leaf: reader.byte("kind of root")? != 0,
            weight: reader.number("weight")?,
        })
    }

    fn page(&self) -> Option<Page> {
        (self.hash != EMPTY_ROOT).then_some(Page { slot: self.slot, node: !self.leaf && self.weight > LEAF_PAGE })
    }
}

/// The block and the root pointer of a checkpoint.
type OldCheckpoint = (BlockNumber, Root);

/// Returns the newest checkpoint, and the checkpoint before it.
fn read_manifest(old: &Db) -> Result<(Option<OldCheckpoint>, Option<OldCheckpoint>), StateError> {
    let key = Owner::Accounts.pointer_key();
    let value = old.get(&key)?.ok_or(Malformed("no manifest")).map_err(damaged)?;
    let body = unseal(&key, &value).ok_or(Malformed("wrong checksum")).map_err(damaged)?;
    let mut reader = Reader::new(body);
    let mut read = || -> Result<_, Malformed> {
        reader.byte("layout")?;
        let mut next = || -> Result<_, Malformed> {
            if reader.is_empty() {
                return Ok(None);
            }
            Ok(Some((BlockNumber::new(reader.number("block")?), Root::read(&mut reader)?)))
        };
        Ok((next()?, next()?))
    };
    read().map_err(damaged)
}

fn read_pointers(key: &[u8], value: &[u8]) -> Result<Vec<Root>, Malformed> {
    let mut reader = Reader::new(unseal(key, value).ok_or(Malformed("wrong checksum"))?);
    let mut roots = Vec::new();
    while !reader.is_empty() {
        roots.push(Root::read(&mut reader)?);
    }
    Ok(roots)
}

/// A page of layout 3.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Page {
    slot: u8,
    node: bool,
}

/// The pages of a prefix in the newest checkpoint and in the checkpoint before it.
type Pages = [Option<Page>; 2];

struct Conversion<'a> {
    old: &'a Db,
    pages: &'a PageStore,
    /// The pages that only the previous checkpoint has.
    gone: Vec<PagePlace>,
    /// Bytes of the converted leaf pages of the newest checkpoint, at most `all`.
    done: u64,
    /// Weight of all leaves of the newest checkpoint.
    all: u64,
    /// Number of blocks up to the newest checkpoint.
    blocks: u64,
    progress: &'a mut dyn FnMut(u64, u64),
}

impl Conversion<'_> {
    /// Converts a trie in the newest checkpoint and in the checkpoint before it. Returns the root pointers of the trie
    /// in these checkpoints, without duplicates.
    fn convert_trie(&mut self, owner: &Owner, roots: [Option<Root>; 2]) -> Result<Vec<RootPointer>, StateError> {
        let pages = roots.each_ref().map(|root| root.as_ref().and_then(Root::page));
        let places = self.convert(owner, &mut Prefix::default(), pages)?;
        let pointers = roots.into_iter().zip(places).filter_map(|(root, place)| {
            let Root { number: checkpoint, hash: root, leaf, weight, .. } = root?;
            Some(RootPointer { checkpoint, root, place: place.unwrap_or(PagePlace::NONE), weight, leaf })
        });
        let mut pointers: Vec<_> = pointers.collect();
        pointers.dedup();
        Ok(pointers)
    }

    /// Converts the pages of a prefix and below it. Returns the places of the pages of the prefix.
    fn convert(
        &mut self,
        owner: &Owner,
        prefix: &mut Prefix,
        pages: Pages,
    ) -> Result<[Option<PagePlace>; 2], StateError> {
        let [newest, previous] = pages;
        let same = newest == previous;
        let (newest, previous) = (newest.map(|page| (page, 0)), previous.filter(|_| !same).map(|page| (page, 1)));
        let mut bodies: [Vec<u8>; 2] = [Vec::new(), Vec::new()];
        let mut entries: [Vec<(Entry, Page)>; 2] = [Vec::new(), Vec::new()];
        for (page, which) in [newest, previous].into_iter().flatten() {
            let body = self.read(owner, prefix, page)?;
            let found = read_entries(&body).map_err(damaged)?;
            if let (Some(place), Some(list)) = (bodies.get_mut(which), entries.get_mut(which)) {
                (*place, *list) = (body, found);
            }
        }
        for digit in 0..16 {
            let child =
                |list: &[(Entry, Page)]| list.iter().find(|(entry, _)| entry.digit == digit).map(|(_, page)| *page);
            let [new, old] = entries.each_ref().map(|list| child(list));
            // Both checkpoints have the children of a page that is the same in both.
            let children = if same { [new, new] } else { [new, old] };
            if children == [None, None] {
                continue;
            }
            prefix.push(digit);
            let places = self.convert(owner, prefix, children)?;
            prefix.pop();
            for (list, place) in entries.iter_mut().zip(places) {
                let entry = list.iter_mut().find(|(entry, _)| entry.digit == digit);
                if let (Some((entry, _)), Some(place)) = (entry, place) {
                    entry.place = place;
                }
            }
        }
        let mut places = [None; 2];
        for (((place, body), entries), which) in places.iter_mut().zip(&bodies).zip(entries).zip([0, 1]) {
            if body.is_empty() {
                continue;
            }
            let written = if entries.is_empty() {
                self.pages.write(owner, prefix, body)?
            } else {
                let entries: Vec<_> = entries.into_iter().map(|(entry, _)| entry).collect();
                self.pages.write(owner, prefix, write_node(&entries).as_slice())?
            };
            if which == 1 {
                self.gone.push(written);
            } else if body.first() == Some(&LEAF_PAGE_KIND) {
                self.done = self.done.saturating_add(body.len() as u64).min(self.all);
                let part = u128::from(self.blocks).saturating_mul(self.done.into());
                let part = part.checked_div(self.all.into()).unwrap_or_default();
                (self.progress)(u64::try_from(part).unwrap_or(self.blocks), self.blocks);
            }
            *place = Some(written);
        }
        let [newest, previous] = places;
        Ok(if same { [newest, newest] } else { [newest, previous] })
    }

    /// Reads a page, joins its parts, and verifies its checksum.
    fn read(&self, owner: &Owner, prefix: &Prefix, page: Page) -> Result<Vec<u8>, StateError> {
        let missing = || damaged(Malformed("page is missing"));
        let key = [&*owner.page_name(prefix.as_slice()), &[page.slot]].concat();
        let row = self.old.get(&key)?.ok_or_else(missing)?;
        let mut bytes = Vec::new();
        if let [PARTS_KIND, high, low] = *row {
            for part in 0..u16::from_be_bytes([high, low]) {
                let part = self.old.get(&[&*key, &part.to_be_bytes()].concat())?;
                bytes.extend_from_slice(&part.ok_or_else(missing)?);
            }
        } else {
            bytes.extend_from_slice(&row);
        }
        let body = unseal(&key, &bytes).ok_or(Malformed("wrong checksum")).map_err(damaged)?;
        if (body.first() == Some(&NODE_KIND)) != page.node {
            return Err(damaged(Malformed("another kind of page")));
        }
        Ok(body.to_vec())
    }
}

/// Returns the entries of a node page, each with the page of the child. Returns no entries for a leaf page.
fn read_entries(body: &[u8]) -> Result<Vec<(Entry, Page)>, Malformed> {
    let mut reader = Reader::new(body);
    if reader.byte("kind")? != NODE_KIND {
        return Ok(Vec::new());
    }
    let entries = read_entries_with(&mut reader, |flags, _| {
        let [first, second] = SLOTS;
        Ok(if flags & LAYOUT_3_SLOT == 0 { first } else { second })
    })?;
    reader.finish("bytes after the end of the page")?;
    let pages = entries.into_iter().map(|(entry, slot)| {
        let node = entry.is_node();
        (entry, Page { slot, node })
    });
    Ok(pages.collect())
}
