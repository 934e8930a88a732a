//! Keys on disk in pages. The place of a page is the first item that the page can have. The items of a page are before
//! the place of the next page.
//!
//! ```text
//! table | contract (20)                   | place of the page, empty for the first page
//! long  | SHA-256 of contract, slices (20)| the same, for the rest of keys that begin with the slices
//! ```
//!
//! An *item* of a page is the rest of a key, if the rest has at most 200 bytes. Otherwise, the item is the next 200
//! bytes of the key and `ff`. Such an item stands for all keys that continue with these bytes.

use std::collections::{BTreeMap, BTreeSet};

use silica_protocol::Address;

use super::{
    Limit, Span, Taken,
    layer::{Descent, Extent, LAYER, SLICE, Tables, damaged, item, successor},
};
use crate::{
    codec::{Malformed, Reader, Writer, seal, unseal},
    db::{Db, Scan, Value},
    error::StateError,
};

/// The pages of a pair of tables.
#[derive(Clone, Copy)]
pub(super) struct Pages<'a> {
    pub db: &'a Db,
    pub tables: Tables,
}

/// Maximum bytes of a page.
const PAGE: usize = 4096;
/// Approximate bytes of the pages into which a larger page is divided. Such pages have space for further items.
const PART: usize = 3072;

/// Items to add (`true`) and to remove (`false`).
type Edits = BTreeMap<Vec<u8>, bool>;

impl<'a> Pages<'a> {
    /// Adds keys, and the items that stand for longer keys.
    pub(super) fn insert<'k>(&self, keys: impl Iterator<Item = (&'k Address, &'k str)>) -> Result<(), StateError> {
        let mut layers: BTreeMap<Vec<u8>, Edits> = BTreeMap::new();
        for (contract, key) in keys {
            for (layer, rest) in self.tables.way(contract, key.as_bytes()) {
                layers.entry(layer).or_default().insert(item(rest), true);
            }
        }
        layers.into_iter().try_for_each(|(layer, edits)| self.edit(&layer, edits))
    }

    /// Removes keys. Also removes items that stand for longer keys, if no such key is left.
    pub(super) fn remove<'k>(&self, keys: impl Iterator<Item = (&'k Address, &'k str)>) -> Result<(), StateError> {
        let mut layers: BTreeMap<Vec<u8>, Edits> = BTreeMap::new();
        for (contract, key) in keys {
            let mut way: Vec<_> = self.tables.way(contract, key.as_bytes()).collect();
            let Some((layer, rest)) = way.pop() else { continue };
            if way.is_empty() {
                layers.entry(layer).or_default().insert(item(rest), false);
            } else {
                self.remove_long(layer, rest, way)?;
            }
        }
        layers.into_iter().try_for_each(|(layer, edits)| self.edit(&layer, edits))
    }

    fn remove_long(&self, layer: Vec<u8>, rest: &[u8], mut way: Vec<(Vec<u8>, &[u8])>) -> Result<(), StateError> {
        self.edit(&layer, [(item(rest), false)].into())?;
        let mut below = layer;
        while let Some((layer, rest)) = way.pop() {
            if self.db.scan(below.clone()..successor(below)).next().transpose()?.is_some() {
                return Ok(());
            }
            self.edit(&layer, [(item(rest), false)].into())?;
            below = layer;
        }
        Ok(())
    }

    /// Adds and removes items in the pages of a layer.
    fn edit(&self, layer: &[u8], mut edits: Edits) -> Result<(), StateError> {
        while let Some((first, _)) = edits.first_key_value() {
            let place = [layer, first].concat();
            let row = self.covering(layer, &place)?;
            let at = row.as_ref().map_or_else(|| layer.to_vec(), |(at, _)| at.to_vec());
            let next = self.db.scan([&*at, &[0]].concat()..successor(layer.to_vec())).next().transpose()?;
            let next = next.map(|(next, _)| next.get(LAYER..).unwrap_or_default().to_vec());
            let later = next.as_ref().map(|next| edits.split_off(next)).unwrap_or_default();
            let mut items = match row {
                Some((at, value)) => Page::open(&at, value, next)?.items()?,
                None => BTreeSet::new(),
            };
            for (item, is_added) in std::mem::replace(&mut edits, later) {
                if is_added {
                    items.insert(item);
                } else {
                    items.remove(&item);
                }
            }
            self.write(at, &items)?;
        }
        Ok(())
    }

    /// Returns the page of a layer that contains a place: the last page that begins at this place or before it. Returns
    /// `None` if no such page exists.
    fn covering(&self, layer: &[u8], place: &[u8]) -> Result<Option<(Value, Value)>, StateError> {
        let range = layer.to_vec()..[place, &[0]].concat();
        Ok(self.db.scan(range).next_back().transpose()?)
    }

    /// Writes the items of a page, or removes a page without items. Divides a page above [`PAGE`], and writes the last
    /// part first, so that no item is missing at any time. After an interruption, the first part also has the items of
    /// the other parts. Readers ignore these items, because another page begins at their place.
    fn write(&self, at: Vec<u8>, items: &BTreeSet<Vec<u8>>) -> Result<(), StateError> {
        if items.is_empty() {
            self.trim_before(&at)?;
            return Ok(self.db.remove(&at)?);
        }
        let layer = at.get(..LAYER).unwrap_or_default().to_vec();
        let whole = encode(items.iter());
        if whole.len() <= PAGE {
            return Ok(self.db.insert(&at, &seal(&at, &whole))?);
        }
        let (mut pages, mut part, mut bytes) = (Vec::new(), (at, Vec::new()), 0_usize);
        for item in items {
            if bytes >= PART {
                pages.push(std::mem::replace(&mut part, ([&*layer, item].concat(), Vec::new())));
                bytes = 0;
            }
            bytes = bytes.saturating_add(added_bytes(part.1.last().copied().unwrap_or_default(), item));
            part.1.push(&**item);
        }
        pages.push(part);
        for (at, items) in pages.iter().rev() {
            self.db.insert(at, &seal(at, &encode(items.iter())))?;
        }
        Ok(())
    }

    /// Removes the items from place `at` on from the previous page. An interrupted division can leave such items.
    /// Without this function, the removal of the page at `at` would make the items valid.
    fn trim_before(&self, at: &[u8]) -> Result<(), StateError> {
        let layer = at.get(..LAYER).unwrap_or_default().to_vec();
        let Some((before, value)) = self.db.scan(layer..at.to_vec()).next_back().transpose()? else { return Ok(()) };
        let place = at.get(LAYER..).unwrap_or_default();
        let mut items = Page::open(&before, value, None)?.items()?;
        if items.split_off(place).is_empty() { Ok(()) } else { self.write(before.to_vec(), &items) }
    }

    /// Iterates over the keys of a span.
    pub(super) fn scan(self, span: Span<'a>) -> Result<KeyScan<'a>, StateError> {
        let mut scan =
            KeyScan { pages: self, way: Descent::new(self.tables, span), layers: Vec::new(), key: Vec::new() };
        scan.descend()?;
        Ok(scan)
    }

    /// Returns the first keys of a span, up to the key before `until` if it is given.
    pub(super) fn take(&self, span: Span<'a>, until: Option<&str>, limit: Limit) -> Result<Taken, StateError> {
        let mut taken = Taken::new(limit);
        let mut scan = self.scan(span)?;
        while let Some(key) = scan.next_key()?.filter(|key| until.is_none_or(|until| *key < until)) {
            if !taken.has_room() {
                break;
            }
            taken.push(key);
        }
        Ok(taken)
    }
}

/// An iterator over the keys of a span. In memory, the iterator has one key, and at most two pages for each layer of
/// the key.
pub(super) struct KeyScan<'a> {
    pages: Pages<'a>,
    /// The position of the last of `layers`.
    way: Descent<'a>,
    layers: Vec<LayerScan>,
    /// The current key, if it has slices.
    key: Vec<u8>,
}

/// The unread part of a layer.
struct LayerScan {
    rows: Scan,
    /// The page after `page`.
    next: Option<(Value, Value)>,
    page: Option<Page>,
    /// The current item.
    item: Vec<u8>,
    /// The first bound (inclusive) and the second bound (exclusive) of the items in the span.
    bounds: (Vec<u8>, Vec<u8>),
}

/// A page during a read.
struct Page {
    value: Value,
    /// Number of bytes of the value without the checksum, and number of bytes that were read.
    len: usize,
    read: usize,
    /// Place of the next page, or `None` for the last page. Items from this place on are ignored.
    end: Option<Vec<u8>>,
}

impl Page {
    fn open(at: &[u8], value: Value, end: Option<Vec<u8>>) -> Result<Self, StateError> {
        let len = unseal(at, &value).ok_or_else(|| damaged("wrong checksum"))?.len();
        Ok(Self { value, len, read: 0, end })
    }

    /// Returns all valid items of the page.
    fn items(mut self) -> Result<BTreeSet<Vec<u8>>, StateError> {
        let (mut items, mut item) = (Vec::with_capacity(self.len / 16), Vec::new());
        while self.step(&mut item).map_err(|Malformed(reason)| damaged(reason))? {
            items.push(item.clone());
        }
        Ok(items.into_iter().collect())
    }

    /// Replaces `item` by the next item. Returns whether the page has a next item.
    fn step(&mut self, item: &mut Vec<u8>) -> Result<bool, Malformed> {
        let mut reader = Reader::new(self.value.get(self.read..self.len).unwrap_or_default());
        if reader.is_empty() {
            return Ok(false);
        }
        let before = if self.read == 0 { 0 } else { item.len() };
        let common: usize = reader.number("item")?;
        let rest = reader.bytes("item")?;
        if common > before {
            return Err(Malformed("item"));
        }
        item.truncate(common);
        item.extend_from_slice(rest);
        self.read = self.len.saturating_sub(reader.len());
        Ok(self.end.as_ref().is_none_or(|end| *item < *end))
    }
}

impl LayerScan {
    /// Moves to the next item. Returns whether the layer has a next item in the span.
    fn step(&mut self) -> Result<bool, StateError> {
        loop {
            if let Some(page) = &mut self.page {
                if page.step(&mut self.item).map_err(|Malformed(reason)| damaged(reason))? {
                    if self.item < self.bounds.0 {
                        continue;
                    }
                    return Ok(self.item < self.bounds.1);
                }
                self.page = None;
            }
            let Some((at, value)) = self.next.take() else { return Ok(false) };
            self.next = self.rows.next().transpose()?;
            let end = self.next.as_ref().and_then(|(next, _)| next.get(LAYER..)).map(<[u8]>::to_vec);
            self.page = Some(Page::open(&at, value, end)?);
        }
    }
}

impl KeyScan<'_> {
    /// Begins the scan of the layer at the current position.
    fn descend(&mut self) -> Result<(), StateError> {
        let Extent { rows: layer, first, prefix } = self.way.extent();
        let begin = self.pages.covering(&layer, &[&*layer, &first].concat())?;
        let begin = begin.map_or_else(|| layer.clone(), |(at, _)| at.to_vec());
        let end = successor([&*layer, &prefix].concat());
        let mut rows = self.pages.db.scan(begin..end.clone());
        let next = rows.next().transpose()?;
        // Without a prefix, the span has all items up to the end of the layer, so the bound is larger than any item.
        let last =
            if prefix.is_empty() { vec![u8::MAX; SLICE + 2] } else { end.get(LAYER..).unwrap_or_default().to_vec() };
        let bounds = (first, last);
        self.layers.push(LayerScan { rows, next, page: None, item: Vec::new(), bounds });
        Ok(())
    }

    /// Returns the next key, or `None` at the end.
    pub(super) fn next_key(&mut self) -> Result<Option<&str>, StateError> {
        match self.advance() {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(error) => {
                self.layers.clear();
                return Err(error);
            }
        }
        let item = self.layers.last().map_or(&[][..], |layer| &layer.item);
        let slices = self.way.slices();
        let key = if slices.is_empty() {
            item
        } else {
            self.key.clear();
            self.key.extend_from_slice(slices);
            self.key.extend_from_slice(item);
            &self.key
        };
        std::str::from_utf8(key).map(Some).map_err(|_| damaged("key is not UTF-8"))
    }

    /// Moves to the next item that ends a key. Returns whether the span has such an item.
    fn advance(&mut self) -> Result<bool, StateError> {
        while let Some(layer) = self.layers.last_mut() {
            if !layer.step()? {
                self.layers.pop();
                self.way.up();
            } else if layer.item.len() > SLICE {
                self.way.down(layer.item.get(..SLICE).unwrap_or_default());
                self.descend()?;
            } else {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Encodes the items of a page. Each item has the number of first bytes in common with the previous item, and the
/// remaining bytes.
fn encode<'i>(items: impl Iterator<Item = &'i (impl AsRef<[u8]> + 'i + ?Sized)>) -> Vec<u8> {
    let mut out = Writer::with_capacity(PAGE);
    let mut before: &[u8] = &[];
    for item in items.map(AsRef::as_ref) {
        let common = common(before, item);
        out.len(common);
        out.bytes(item.get(common..).unwrap_or_default());
        before = item;
    }
    out.finish()
}

/// Returns the maximum bytes that an item takes after another item.
fn added_bytes(before: &[u8], item: &[u8]) -> usize {
    item.len().saturating_sub(common(before, item)).saturating_add(4)
}

fn common(left: &[u8], right: &[u8]) -> usize {
    left.iter().zip(right).take_while(|(left, right)| left == right).count()
}
