//! Packs: the rows of older blocks, which the store moves from the database to the page file of the record
//! (`docs/adr/0025-packs.md`).
//!
//! A block of the record never changes, and a revert removes only blocks after the newest checkpoint. So the rows of
//! table `10` of the blocks before it need no database. A pack has these rows of up to 1,024 blocks. The database has
//! one row for each pack. Therefore the size of the database, its memory and the time of its opening hardly depend on
//! the number of blocks, and a block takes only its own bytes on disk.
//!
//! ```text
//! database   18  first Tx block (8)         blocks after the first, counts of blocks and rows, position, length
//! pack       slot of each block (8)         block less the first block of the pack (4), offset of its part (4)
//! part       rows (4), checksum over all lengths; for each row: section (1) part (4) length (2); then the values
//! ```
//!
//! The values are the values of the rows, with their checksums. All numbers of a pack are big endian.

use std::{
    ops::{Deref, Range},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
};

use parking_lot::{Mutex, RwLock};

use super::{
    error::{AppendError, ArchiveError},
    section::{Kind, Place, Section},
};
use crate::{
    codec::{Malformed, Reader, SEAL_LEN, Writer, seal, unseal},
    db::{Db, DbError, Value},
};

/// Table of the packs in the database.
const TABLE: u8 = 0x18;
/// A pack ends with the block with which its rows reach this number of bytes.
const BYTES: usize = 4 << 20;
/// Bytes of a slot.
const SLOT: usize = 8;
/// Bytes of the lengths of one row.
const LENGTHS: usize = 7;
/// Bytes that a reader of one row reads first. The part of a block with few transactions is smaller.
const FIRST_READ: usize = 4096;

/// A pack in the page file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pack {
    first: u64,
    last: u64,
    blocks: u64,
    rows: u64,
    /// First byte of the pack in the page file.
    position: u64,
    len: u32,
}

impl Pack {
    const fn end(&self) -> u64 {
        self.position.saturating_add(self.len as u64)
    }

    const fn is_dense(&self) -> bool {
        self.last.saturating_sub(self.first).saturating_add(1) == self.blocks
    }

    fn key(first: u64) -> [u8; 9] {
        let mut key = [TABLE; 9];
        let [_, number @ ..] = &mut key;
        *number = first.to_be_bytes();
        key
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = Writer::new();
        out.number(self.last.saturating_sub(self.first));
        for number in [self.blocks, self.rows, self.position, self.len.into()] {
            out.number(number);
        }
        seal(&Self::key(self.first), out.as_slice())
    }

    fn decode(key: &[u8], value: &[u8]) -> Result<Self, ArchiveError> {
        let first = Section::number_of(key).unwrap_or_default();
        let payload = unseal(key, value).ok_or_else(|| damaged(first, "checksum is wrong"))?;
        let mut reader = Reader::new(payload);
        let mut read = || {
            let last = first.checked_add(reader.number("blocks")?).ok_or(Malformed("blocks"))?;
            let (blocks, rows) = (reader.number("count of blocks")?, reader.number("count of rows")?);
            let (position, len) = (reader.number("position")?, reader.number("length")?);
            reader.finish("pack").map(|()| Self { first, last, blocks, rows, position, len })
        };
        read().map_err(ArchiveError::malformed(Place::pack(first)))
    }
}

fn damaged(first: u64, reason: &str) -> ArchiveError {
    ArchiveError::damaged(Place::pack(first), reason)
}

/// The packs of a record.
#[derive(Debug, Default)]
struct Packs {
    /// All packs, the oldest first. Their blocks ascend.
    list: RwLock<Arc<Vec<Pack>>>,
    /// Locked while a pack is written.
    work: Mutex<()>,
    /// Number of readers that need the rows where they are.
    holders: AtomicUsize,
    /// Number of blocks below which the record had too few rows for a pack.
    searched: AtomicU64,
    /// Whether the record has a pack, or is about to get one.
    any: AtomicBool,
    /// Whether the database may have rows that are also in a pack.
    unclean: AtomicBool,
}

/// The rows of the record: the database, and the packs.
#[derive(Debug)]
pub(super) struct Rows {
    db: Db,
    packs: Arc<Packs>,
}

impl Deref for Rows {
    type Target = Db;

    fn deref(&self) -> &Db {
        &self.db
    }
}

/// As long as the value exists, no rows are moved to a pack.
#[derive(Debug)]
pub(super) struct Hold(Arc<Packs>);

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.holders.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The part of one block in a pack.
struct Part {
    number: u64,
    /// Section, part and length of each row.
    rows: Vec<(u8, u32, usize)>,
    /// Position of the first value in the page file.
    values: u64,
    /// The first of the values, as far as they are read.
    read: Vec<u8>,
}

impl Rows {
    /// Reads the list of packs. `is_packed` states whether the format of the record permits packs.
    pub(super) fn open(db: Db, is_packed: bool) -> Result<Self, ArchiveError> {
        let mut list: Vec<Pack> = Vec::new();
        for row in db.scan(vec![TABLE]..vec![TABLE.saturating_add(1)]) {
            let (key, value) = row?;
            let pack = Pack::decode(&key, &value)?;
            let (next, position) = list.last().map_or((0, 0), |before| (before.last.saturating_add(1), before.end()));
            if pack.first < next || pack.position != position {
                return Err(damaged(pack.first, "does not follow the pack before"));
            }
            list.push(pack);
        }
        if let Some(pack) = list.last()
            && db.read_page(pack.end().saturating_sub(1), 1)?.is_none()
        {
            return Err(damaged(pack.first, "the page file is too short"));
        }
        let is_packed = is_packed || !list.is_empty();
        let (any, unclean) = (AtomicBool::new(is_packed), AtomicBool::new(is_packed));
        let packs = Packs { list: RwLock::new(Arc::new(list)), any, unclean, ..Packs::default() };
        Ok(Self { db, packs: Arc::new(packs) })
    }

    /// Returns the same rows with another handle of the database.
    pub(super) fn with(&self, db: Db) -> Self {
        Self { db, packs: Arc::clone(&self.packs) }
    }

    /// Returns whether the record has a pack, or is about to get one.
    pub(super) fn is_packed(&self) -> bool {
        self.packs.any.load(Ordering::SeqCst)
    }

    /// Returns the newest block that is in a pack.
    pub(super) fn newest_packed(&self) -> Option<u64> {
        self.list().last().map(|pack| pack.last)
    }

    /// Returns the number of packs, and of the rows in them.
    pub(super) fn counts(&self) -> (u64, u64) {
        let list = self.list();
        let rows = list.iter().map(|pack| pack.rows).fold(0, u64::saturating_add);
        (u64::try_from(list.len()).unwrap_or(u64::MAX), rows)
    }

    /// Returns the keys of the rows in the database that belong to blocks after all packs, and of later tables.
    pub(super) fn keys_after_packs(&self, end: u8) -> Range<Vec<u8>> {
        let next = self.newest_packed().map_or(0, |newest| newest.saturating_add(1));
        Section::keys_from(Kind::Entry, next).start..vec![end]
    }

    /// Removes rows from the database that are also in a pack. A crash can leave such rows.
    pub(super) fn clean(&self) -> Result<(), ArchiveError> {
        let _work = self.packs.work.lock();
        self.remove_packed()
    }

    fn remove_packed(&self) -> Result<(), ArchiveError> {
        if self.packs.unclean.load(Ordering::SeqCst) {
            for row in self.db.scan(vec![Kind::Entry.table()]..self.keys_after_packs(0).start) {
                self.db.remove(&row?.0)?;
            }
            self.packs.unclean.store(false, Ordering::SeqCst);
        }
        Ok(())
    }

    /// Waits for the pack in progress, and begins no pack until the result is dropped.
    pub(super) fn hold(&self) -> Hold {
        self.packs.holders.fetch_add(1, Ordering::SeqCst);
        let hold = Hold(Arc::clone(&self.packs));
        drop(self.packs.work.lock());
        hold
    }

    fn list(&self) -> Arc<Vec<Pack>> {
        Arc::clone(&self.packs.list.read())
    }

    /// Returns the value of a row, or `None` if the record has no such row.
    pub(super) fn get(&self, key: &[u8]) -> Result<Option<Value>, ArchiveError> {
        let Some((number, section, part)) = of_block(key) else { return Ok(self.db.get(key)?) };
        let is_packed = || self.newest_packed().is_some_and(|newest| number <= newest);
        if !is_packed() {
            let value = self.db.get(key)?;
            // The row can have moved to a pack before the read.
            if value.is_some() || !is_packed() {
                return Ok(value);
            }
        }
        let Some(of_block) = self.part_of(number)? else { return Ok(None) };
        let mut start = 0_usize;
        for (found_section, found_part, len) in &of_block.rows {
            let end = start.saturating_add(*len);
            if (*found_section, *found_part) == (section, part) {
                if let Some(value) = of_block.read.get(start..end) {
                    return Ok(Some(Value::from(value)));
                }
                let position = of_block.values.saturating_add(u64::try_from(start).unwrap_or(u64::MAX));
                let value = self.db.read_page(position, *len)?;
                return value.map_or_else(|| Err(too_short(number)), |value| Ok(Some(Value::from(&*value))));
            }
            start = end;
        }
        Ok(None)
    }

    /// Returns the number of rows of a block in table `10`, or `None` if the block is in no pack.
    pub(super) fn packed_rows_of(&self, number: u64) -> Result<Option<u64>, ArchiveError> {
        let part = self.part_of(number)?;
        Ok(part.map(|part| u64::try_from(part.rows.len()).unwrap_or(u64::MAX)))
    }

    /// Returns the part of a block in its pack, or `None` if no pack has the block.
    fn part_of(&self, number: u64) -> Result<Option<Part>, ArchiveError> {
        let list = self.list();
        let at = list.partition_point(|pack| pack.first <= number).checked_sub(1);
        let Some(pack) = at.and_then(|at| list.get(at)).filter(|pack| number <= pack.last) else { return Ok(None) };
        let distance = number.saturating_sub(pack.first);
        let slot_at = if pack.is_dense() { Some(distance) } else { self.find_slot(pack, distance)? };
        let Some(slot_at) = slot_at else { return Ok(None) };
        let is_last = slot_at.saturating_add(1) >= pack.blocks;
        let slots = self.read(pack, slot_at.saturating_mul(SLOT as u64), if is_last { SLOT } else { 2 * SLOT })?;
        let (slots, _) = slots.as_chunks::<SLOT>();
        let (found, start) = slots.first().map_or((u64::MAX, 0), |bytes| slot(*bytes));
        let end = slots.get(1).map_or(u64::from(pack.len), |next| slot(*next).1);
        if found != distance {
            return Err(damaged(pack.first, "a slot is wrong"));
        }
        let len = usize::try_from(end.saturating_sub(start)).unwrap_or(usize::MAX);
        let mut bytes = self.read(pack, start, len.min(FIRST_READ))?;
        let head = head_len(&bytes);
        if head > len {
            return Err(damaged(pack.first, "the lengths of a block are wrong"));
        }
        if head > bytes.len() {
            bytes = self.read(pack, start, head)?;
        }
        let rows =
            decode_lengths(number, &bytes).ok_or_else(|| damaged(pack.first, "the lengths of a block are wrong"))?;
        let values = pack.position.saturating_add(start).saturating_add(u64::try_from(head).unwrap_or(u64::MAX));
        bytes.drain(..head.min(bytes.len()));
        Ok(Some(Part { number, rows, values, read: bytes }))
    }

    /// Returns the place of a block in a pack that lacks blocks, which are in empty block ranges.
    fn find_slot(&self, pack: &Pack, distance: u64) -> Result<Option<u64>, ArchiveError> {
        let len = usize::try_from(pack.blocks).unwrap_or(usize::MAX).saturating_mul(SLOT);
        let bytes = self.read(pack, 0, len)?;
        let found = bytes.as_chunks::<SLOT>().0.binary_search_by_key(&distance, |bytes| slot(*bytes).0);
        Ok(found.ok().and_then(|at| u64::try_from(at).ok()))
    }

    fn read(&self, pack: &Pack, offset: u64, len: usize) -> Result<Vec<u8>, ArchiveError> {
        let len = len.min(usize::try_from(u64::from(pack.len).saturating_sub(offset)).unwrap_or(0));
        let bytes = self.db.read_page(pack.position.saturating_add(offset), len)?;
        bytes.ok_or_else(|| damaged(pack.first, "the page file is too short"))
    }

    /// Returns the rows of all packs in the order of their keys. The caller [holds](Rows::hold) the packs.
    pub(super) fn packed_rows(&self) -> impl Iterator<Item = Result<(Value, Value), ArchiveError>> + use<> {
        let rows = self.with(self.db.clone());
        let list = self.list();
        (0..list.len()).flat_map(move |at| {
            let of_pack = list.get(at).map_or(Ok(Vec::new()), |pack| rows.rows_of(pack));
            let (rows, error) = of_pack.map_or_else(|error| (Vec::new(), Some(error)), |rows| (rows, None));
            rows.into_iter().map(Ok).chain(error.map(Err))
        })
    }

    fn rows_of(&self, pack: &Pack) -> Result<Vec<(Value, Value)>, ArchiveError> {
        let mut rows = Vec::new();
        let len = usize::try_from(pack.blocks).unwrap_or(usize::MAX).saturating_mul(SLOT);
        let slots = self.read(pack, 0, len)?;
        for (distance, _) in slots.as_chunks::<SLOT>().0.iter().copied().map(slot) {
            let missing = || damaged(pack.first, "a block is missing");
            let part = self.part_of(pack.first.saturating_add(distance))?.ok_or_else(missing)?;
            let len = part.rows.iter().map(|(_, _, len)| *len).fold(0, usize::saturating_add);
            let all = if part.read.len() < len { self.db.read_page(part.values, len)? } else { Some(part.read) };
            let all = all.ok_or_else(|| too_short(part.number))?;
            let mut rest = &*all;
            for (section, number, len) in part.rows {
                let (value, after) = rest.split_at_checked(len).ok_or_else(missing)?;
                rows.push((Value::from(&row_key(part.number, section, number)[..]), Value::from(value)));
                rest = after;
            }
        }
        Ok(rows)
    }

    /// Moves the rows of up to `most` blocks below `limit` to a pack, if there are enough of them. The record never
    /// removes a block below `limit`. Calls `mark` before the first pack of the record. Returns whether the function has
    /// made a pack.
    pub(super) fn pack(
        &self,
        limit: u64,
        most: u64,
        mark: impl FnOnce() -> Result<(), AppendError>,
    ) -> Result<bool, AppendError> {
        let _work = self.packs.work.lock();
        self.remove_packed()?;
        let next = self.newest_packed().map_or(0, |newest| newest.saturating_add(1));
        let begun = next.max(self.packs.searched.load(Ordering::SeqCst));
        let is_held = self.packs.holders.load(Ordering::SeqCst) > 0;
        if limit.saturating_sub(begun) < most || is_held || !self.db.is_flushed() {
            return Ok(false);
        }
        let Some((blocks, rows)) = self.collect(next, limit, most)? else {
            self.packs.searched.store(limit, Ordering::SeqCst);
            return Ok(false);
        };
        let position = self.list().last().map_or(0, Pack::end);
        let Some((pack, bytes)) = encode(&blocks, rows, position) else { return Ok(false) };
        if !self.packs.any.swap(true, Ordering::SeqCst) {
            mark().inspect_err(|_| self.packs.any.store(false, Ordering::SeqCst))?;
        }
        self.store(pack, &bytes).map_err(ArchiveError::from)?;
        self.remove_packed()?;
        Ok(true)
    }

    /// Writes a pack, and publishes it to readers.
    fn store(&self, pack: Pack, bytes: &[u8]) -> Result<(), DbError> {
        self.db.write_page(pack.position, bytes)?;
        // The pack first: the database must not name a pack that a power failure can lose.
        self.db.flush()?;
        self.db.insert(&Pack::key(pack.first), &pack.encode())?;
        // From here on, the row can be on disk.
        self.packs.unclean.store(true, Ordering::SeqCst);
        self.db.flush()?;
        let list = self.list().iter().copied().chain([pack]).collect();
        *self.packs.list.write() = Arc::new(list);
        Ok(())
    }

    /// Returns the rows of the first blocks from `next` on and below `limit`, and their number. Returns `None` if there
    /// are too few rows for a pack.
    fn collect(&self, next: u64, limit: u64, most: u64) -> Result<Option<(Vec<Block>, u64)>, ArchiveError> {
        let (mut blocks, mut count, mut bytes) = (Vec::<Block>::new(), 0_u64, 0_usize);
        let (Range { start, .. }, Range { start: end, .. }) =
            (Section::keys_from(Kind::Entry, next), Section::keys_from(Kind::Entry, limit));
        let is_full = |blocks: &[Block], bytes| blocks.len() as u64 >= most || bytes >= BYTES;
        for row in self.db.scan(start..end) {
            let (key, value) = row?;
            let (number, section, part) = of_block(&key).ok_or_else(|| damaged(next, "a row has a wrong key"))?;
            if unseal(&key, &value).is_none() {
                return Err(damaged(next, "the checksum of a row is wrong"));
            }
            if blocks.last().is_none_or(|(last, _)| *last != number) {
                let first = blocks.first().map_or(number, |(first, _)| *first);
                if is_full(&blocks, bytes) || u32::try_from(number.saturating_sub(first)).is_err() {
                    return Ok(Some((blocks, count)));
                }
                blocks.push((number, Vec::new()));
            }
            bytes = bytes.saturating_add(value.len());
            if let Some((_, rows)) = blocks.last_mut() {
                rows.push((section, part, value));
            }
            count = count.saturating_add(1);
        }
        Ok(is_full(&blocks, bytes).then_some((blocks, count)))
    }
}

/// Number and rows of a block.
type Block = (u64, Vec<Row>);

/// Section, part and value of a row.
type Row = (u8, u32, Value);

/// Returns a pack and its bytes, or `None` if a length is too large.
fn encode(blocks: &[Block], rows: u64, position: u64) -> Option<(Pack, Vec<u8>)> {
    let ((first, _), (last, _)) = (blocks.first()?, blocks.last()?);
    let (mut slots, mut parts) = (Vec::new(), Vec::new());
    let before = blocks.len().checked_mul(SLOT)?;
    for (number, rows) in blocks {
        slots.extend(u32::try_from(number.checked_sub(*first)?).ok()?.to_be_bytes());
        slots.extend(u32::try_from(before.checked_add(parts.len())?).ok()?.to_be_bytes());
        let mut lengths = Vec::new();
        for (section, part, value) in rows {
            lengths.push(*section);
            lengths.extend(part.to_be_bytes());
            lengths.extend(u16::try_from(value.len()).ok()?.to_be_bytes());
        }
        parts.extend(u32::try_from(rows.len()).ok()?.to_be_bytes());
        let sealed = seal(&Pack::key(*number), &lengths);
        // The checksum comes before the lengths, so that its place does not depend on them.
        let (lengths, checksum) = sealed.split_at_checked(lengths.len())?;
        parts.extend([checksum, lengths].concat());
        for (_, _, value) in rows {
            parts.extend_from_slice(value);
        }
    }
    slots.append(&mut parts);
    let blocks = u64::try_from(blocks.len()).ok()?;
    let pack = Pack { first: *first, last: *last, blocks, rows, position, len: u32::try_from(slots.len()).ok()? };
    Some((pack, slots))
}

/// Returns the block less the first block of the pack, and the offset of the part.
fn slot(bytes: [u8; SLOT]) -> (u64, u64) {
    let both = u64::from_be_bytes(bytes);
    (both >> 32, both & u64::from(u32::MAX))
}

/// Returns the number of bytes before the values of a part, from its first bytes.
fn head_len(bytes: &[u8]) -> usize {
    let rows = bytes.first_chunk().map_or(u32::MAX, |rows| u32::from_be_bytes(*rows));
    usize::try_from(rows).unwrap_or(usize::MAX).saturating_mul(LENGTHS).saturating_add(4 + SEAL_LEN)
}

/// Returns section, part and length of each row, or `None` if the checksum is wrong.
fn decode_lengths(number: u64, bytes: &[u8]) -> Option<Vec<(u8, u32, usize)>> {
    let (checksum, lengths) = bytes.get(4..head_len(bytes))?.split_at_checked(SEAL_LEN)?;
    let sealed = [lengths, checksum].concat();
    let lengths = unseal(&Pack::key(number), &sealed)?;
    let row = |[section, a, b, c, d, e, f]: &[u8; LENGTHS]| {
        (*section, u32::from_be_bytes([*a, *b, *c, *d]), u16::from_be_bytes([*e, *f]).into())
    };
    Some(lengths.as_chunks::<LENGTHS>().0.iter().map(row).collect())
}

fn too_short(number: u64) -> ArchiveError {
    ArchiveError::damaged(Place::KEYS, format!("the page file is too short for block {number}"))
}

/// Returns block, section and part of a key of table `10`, or `None` for another key.
fn of_block(key: &[u8]) -> Option<(u64, u8, u32)> {
    let (table, rest) = key.split_first()?;
    let (number, rest) = rest.split_first_chunk()?;
    let (section, part) = rest.split_first()?;
    let part = <[u8; 4]>::try_from(part).ok()?;
    (*table == Kind::Entry.table()).then(|| (u64::from_be_bytes(*number), *section, u32::from_be_bytes(part)))
}

fn row_key(number: u64, section: u8, part: u32) -> Vec<u8> {
    [&[Kind::Entry.table()][..], &number.to_be_bytes(), &[section], &part.to_be_bytes()].concat()
}
