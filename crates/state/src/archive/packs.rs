//! Packs: the rows of older blocks, which the store moves from the database to the page file of the record
//! (`docs/adr/0025-packs.md`).
//!
//! A block of the record never changes, and a revert or a recovery removes only blocks after the previous checkpoint.
//! So the rows of table `10` of the blocks up to this checkpoint can be outside of the database. A pack has these rows
//! of up to 1,024 blocks. The database has one row for each pack. Therefore the size of the database, its memory and
//! the time of its opening hardly depend on the number of blocks. On disk, a packed block takes only its own bytes.

use std::{
    ops::Range,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use parking_lot::{Mutex, MutexGuard, RwLock};

use super::{
    error::ArchiveError,
    pack::{BlockRows, Pack, RowPlace, SLOT, TABLE, decode_lengths, encode, head_len, of_block, slot},
    section::{Kind, Place, Section},
};
use crate::{
    codec::unseal,
    db::{Batch, DataFile, Db, Value},
};

/// The block whose values bring a pack to this number of bytes is the last block of the pack.
const BYTES: usize = if cfg!(test) { 128 << 10 } else { 4 << 20 };
/// Free bytes of the disk below which the record gets no packs. A pack needs space, and sled does not free the space of
/// the rows that move to the pack.
const FREE: u64 = 64 * BYTES as u64;
/// Bytes that a reader of one row reads first. The part of a block with few transactions is smaller.
const FIRST_READ: usize = 4096;

/// The packs of a record.
#[derive(Debug, Default)]
struct Packs {
    /// All packs with a valid row, the oldest first. Their blocks and positions ascend.
    list: RwLock<Arc<Vec<Pack>>>,
    /// Damage of the list: the first block of the damaged pack, and the fault. The row of the pack is damaged, the row
    /// before is missing, or the page file ends before the end of the pack.
    damage: Option<(u64, String)>,
    /// Locked while a pack is written.
    work: Mutex<()>,
    /// Number of values of [`Hold`]. While it is above 0, no rows move to a pack.
    holders: AtomicUsize,
    /// The `limit` of the latest search for a pack that has found too few rows.
    searched: AtomicU64,
    /// Description of the failure that has ended packing.
    failure: OnceLock<String>,
}

/// The rows of the record: the database, and the packs.
#[derive(Debug)]
pub(super) struct Rows {
    db: Db,
    packs: Arc<Packs>,
}

/// As long as the value exists, no rows move to a pack.
#[derive(Debug)]
pub(super) struct Hold(Arc<Packs>);

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.holders.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A pack that is not in the list yet. As long as the value exists, no other pack is made.
pub(super) struct NewPack<'r> {
    pack: Pack,
    bytes: Vec<u8>,
    _work: MutexGuard<'r, ()>,
}

impl NewPack<'_> {
    /// Adds the row of the pack to a batch.
    pub(super) fn write_row(&self, batch: &mut Batch) {
        batch.insert(Pack::key(self.pack.first), self.pack.encode());
    }
}

/// The part of one block in a pack.
struct Part {
    pack: Pack,
    number: u64,
    rows: Vec<RowPlace>,
    /// Position of the first value in the page file.
    values: u64,
    /// The bytes of the first values, up to the end of the read.
    read: Vec<u8>,
}

/// A reader of rows. It decodes the part of a block once for consecutive rows of the block.
pub(super) struct RowReader<'r> {
    rows: &'r Rows,
    part: Option<Part>,
}

impl RowReader<'_> {
    /// Returns the value of a row, or `None` if the record has no such row.
    pub(super) fn get(&mut self, key: &[u8]) -> Result<Option<Value>, ArchiveError> {
        let rows = self.rows;
        let Some((number, section, part)) = of_block(key) else { return Ok(rows.db.get(key)?) };
        if self.part.as_ref().is_none_or(|part| part.number != number) {
            let is_packed = || rows.newest_packed().is_some_and(|newest| number <= newest);
            if !is_packed() {
                let value = rows.db.get(key)?;
                // The row can have moved to a pack before the read.
                if value.is_some() || !is_packed() {
                    return Ok(value);
                }
            }
            self.part = rows.part_of(number)?;
        }
        self.part.as_ref().map_or(Ok(None), |found| rows.value(found, section, part))
    }
}

impl Rows {
    /// Reads the list of packs. A damaged row of a pack is not an error of this function. Reads of its blocks fail, and
    /// the record gets no further pack.
    pub(super) fn open(db: Db) -> Result<Self, ArchiveError> {
        let (mut list, mut damage) = (Vec::<Pack>::new(), None);
        for row in db.scan(vec![TABLE]..vec![TABLE.saturating_add(1)]) {
            let (key, value) = row?;
            let (next, position) = list.last().map_or((0, 0), |before| (before.last.saturating_add(1), before.end()));
            match Pack::decode(&key, &value) {
                Ok(pack) => {
                    if pack.position != position && damage.is_none() {
                        damage = Some((pack.first, "it does not follow the pack before".to_owned()));
                    }
                    if pack.position >= position && pack.first >= next {
                        list.push(pack);
                    }
                }
                Err(ArchiveError::Damaged { reason, .. }) => {
                    damage = Some((Section::number_of(&key).unwrap_or_default(), reason));
                }
                Err(error) => return Err(error),
            }
        }
        if let Some(last) = list.last()
            && db.read_at(DataFile::Pages, last.end().saturating_sub(1), 1)?.is_none()
        {
            damage.get_or_insert((last.first, "the page file is too short".to_owned()));
        }
        let packs = Packs { list: RwLock::new(Arc::new(list)), damage, ..Packs::default() };
        Ok(Self { db, packs: Arc::new(packs) })
    }

    /// Returns the same rows with another handle of the database.
    pub(super) fn with(&self, db: Db) -> Self {
        Self { db, packs: Arc::clone(&self.packs) }
    }

    /// Returns the database. It lacks the rows of table `10` that are in packs.
    pub(super) const fn db(&self) -> &Db {
        &self.db
    }

    fn list(&self) -> Arc<Vec<Pack>> {
        Arc::clone(&self.packs.list.read())
    }

    /// Returns whether the record has a pack.
    pub(super) fn is_packed(&self) -> bool {
        self.packs.damage.is_some() || !self.list().is_empty()
    }

    /// Returns the newest block that is in a pack.
    pub(super) fn newest_packed(&self) -> Option<u64> {
        self.list().last().map(|pack| pack.last)
    }

    /// Returns an error if the list of packs is damaged: the row of a pack is damaged, a row is missing, or the page
    /// file is too short.
    pub(super) fn require_all_packs(&self) -> Result<(), ArchiveError> {
        let error = |(first, reason): &(u64, String)| ArchiveError::damaged(Place::pack(*first), reason.as_str());
        self.packs.damage.as_ref().map_or(Ok(()), |damage| Err(error(damage)))
    }

    /// Reads all packs. Returns the number of packs, and the number of rows in them.
    pub(super) fn count_packed(&self) -> Result<(u64, u64), ArchiveError> {
        self.require_all_packs()?;
        let (mut packs, mut rows) = (0_u64, 0_u64);
        for pack in &*self.list() {
            let of_pack = u64::try_from(self.rows_of(pack)?.len()).unwrap_or(u64::MAX);
            (packs, rows) = (packs.saturating_add(1), rows.saturating_add(of_pack));
        }
        Ok((packs, rows))
    }

    /// Returns the first key in table `10` of the database that belongs to a block after all packs.
    pub(super) fn first_key_after_packs(&self) -> Vec<u8> {
        let next = self.newest_packed().map_or(0, |newest| newest.saturating_add(1));
        Section::keys_from(Kind::Entry, next).start
    }

    /// Removes from the database the rows that are also in a pack, including rows that a crash has left there.
    pub(super) fn remove_packed(&self) -> Result<(), ArchiveError> {
        for row in self.db.scan(vec![Kind::Entry.table()]..self.first_key_after_packs()) {
            self.db.remove(&row?.0)?;
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

    /// Returns a reader for several rows of one block.
    pub(super) const fn reader(&self) -> RowReader<'_> {
        RowReader { rows: self, part: None }
    }

    fn value(&self, of_block: &Part, section: u8, part: u32) -> Result<Option<Value>, ArchiveError> {
        let mut start = 0_usize;
        for row in &of_block.rows {
            let end = start.saturating_add(row.len);
            if (row.section, row.part) == (section, part) {
                if let Some(value) = of_block.read.get(start..end) {
                    return Ok(Some(Value::from(value)));
                }
                let position = of_block.values.saturating_add(u64::try_from(start).unwrap_or(u64::MAX));
                let value = self.db.read_at(DataFile::Pages, position, row.len)?;
                return value.map_or_else(|| Err(too_short(&of_block.pack)), |value| Ok(Some(Value::from(&*value))));
            }
            start = end;
        }
        Ok(None)
    }

    /// Returns the part of a block in its pack, or `None` if no pack has the block.
    fn part_of(&self, number: u64) -> Result<Option<Part>, ArchiveError> {
        let list = self.list();
        let at = list.partition_point(|pack| pack.first <= number).checked_sub(1);
        let Some(pack) = at.and_then(|at| list.get(at)).filter(|pack| number <= pack.last) else { return Ok(None) };
        let Some(start) = self.offset_of(pack, number)? else { return Ok(None) };
        let wrong = || pack.damaged("the lengths of a block are wrong");
        let mut bytes = self.read(pack, start, FIRST_READ)?;
        let head = head_len(&bytes);
        if head > bytes.len() {
            bytes = self.read(pack, start, head)?;
        }
        let rows = decode_lengths(number, &bytes).ok_or_else(wrong)?;
        let values = pack.position.saturating_add(start).saturating_add(u64::try_from(head).unwrap_or(u64::MAX));
        bytes.drain(..head.min(bytes.len()));
        Ok(Some(Part { pack: *pack, number, rows, values, read: bytes }))
    }

    /// Returns the offset of the part of a block. Returns `None` if the pack lacks the block, because the block is in
    /// an empty block range.
    fn offset_of(&self, pack: &Pack, number: u64) -> Result<Option<u64>, ArchiveError> {
        let distance = number.saturating_sub(pack.first);
        if !pack.is_dense() {
            let slots = pack.slots(&self.read(pack, 0, pack.slots_len())?)?;
            let found = slots.binary_search_by_key(&distance, |(block, _)| *block);
            return Ok(found.ok().and_then(|at| slots.get(at)).map(|(_, offset)| *offset));
        }
        let bytes = self.read(pack, distance.saturating_mul(SLOT as u64), SLOT)?;
        let found = bytes.first_chunk().map(|bytes| slot(*bytes)).filter(|(block, _)| *block == distance);
        found.map(|(_, offset)| Some(offset)).ok_or_else(|| pack.damaged("a slot is wrong"))
    }

    /// Returns up to `len` bytes of a pack from an offset on. Returns fewer bytes if the pack ends before.
    fn read(&self, pack: &Pack, offset: u64, len: usize) -> Result<Vec<u8>, ArchiveError> {
        let len = len.min(usize::try_from(u64::from(pack.len).saturating_sub(offset)).unwrap_or(0));
        let bytes = self.db.read_at(DataFile::Pages, pack.position.saturating_add(offset), len)?;
        bytes.ok_or_else(|| too_short(pack))
    }

    /// Returns the rows of all packs in the order of their keys. The caller [holds](Rows::hold) the packs.
    pub(super) fn packed_rows(&self) -> impl Iterator<Item = Result<(Value, Value), ArchiveError>> + use<> {
        let (rows, list) = (self.with(self.db.clone()), self.list());
        let damage = self.require_all_packs().err();
        let of_packs = (0..list.len()).flat_map(move |at| {
            let of_pack = list.get(at).map_or(Ok(Vec::new()), |pack| rows.rows_of(pack));
            let (rows, error) = of_pack.map_or_else(|error| (Vec::new(), Some(error)), |rows| (rows, None));
            rows.into_iter().map(Ok).chain(error.map(Err))
        });
        damage.into_iter().map(Err).chain(of_packs)
    }

    fn rows_of(&self, pack: &Pack) -> Result<Vec<(Value, Value)>, ArchiveError> {
        pack.rows(&self.read(pack, 0, usize::try_from(pack.len).unwrap_or(usize::MAX))?)
    }

    /// Returns a pack of the next blocks below `limit`, with up to `count` blocks. Returns `None` if there are too few
    /// blocks or rows, or if packing has failed or must not begin.
    pub(super) fn next_pack(&self, limit: u64, count: u64) -> Result<Option<NewPack<'_>>, ArchiveError> {
        if self.failure().is_some() || !self.db.is_flushed() {
            return Ok(None);
        }
        let work = self.packs.work.lock();
        // With a damaged pack in the list, another pack could remove or overwrite the only rows of the blocks in the
        // damaged pack.
        self.require_all_packs()?;
        let next = self.newest_packed().map_or(0, |newest| newest.saturating_add(1));
        let begun = next.max(self.packs.searched.load(Ordering::SeqCst));
        let is_due = limit.saturating_sub(begun) >= count && self.packs.holders.load(Ordering::SeqCst) == 0;
        if !is_due || self.db.free_space()? < FREE {
            return Ok(None);
        }
        let Some(blocks) = self.collect(next, limit, count)? else {
            self.packs.searched.store(limit, Ordering::SeqCst);
            return Ok(None);
        };
        let packed = encode(&blocks, self.list().last().map_or(0, Pack::end));
        Ok(packed.map(|(pack, bytes)| NewPack { pack, bytes, _work: work }))
    }

    /// Writes a pack to the page file, and returns when the pack is durable. The pack overwrites the rest of a pack
    /// that was not written completely.
    pub(super) fn write(&self, new: &NewPack<'_>) -> Result<(), ArchiveError> {
        let position = new.pack.position;
        self.db.write_at(DataFile::Pages, position, &new.bytes).inspect_err(|_| {
            // On a full disk, the part that was written would take space that other files need.
            drop(self.db.truncate(DataFile::Pages, position));
        })?;
        Ok(self.db.flush()?)
    }

    /// Publishes a pack to readers, after its row is durable.
    pub(super) fn publish(&self, new: &NewPack<'_>) {
        let list = self.list().iter().copied().chain([new.pack]).collect();
        *self.packs.list.write() = Arc::new(list);
    }

    /// Returns the description of the failure that has ended packing.
    pub(super) fn failure(&self) -> Option<&str> {
        self.packs.failure.get().map(String::as_str)
    }

    /// Ends packing until the record is opened again. Keeps the description of the failure from the first call.
    pub(super) fn end_packing(&self, failure: String) {
        self.packs.failure.get_or_init(|| failure);
    }

    /// Returns the rows of up to `count` blocks from `next` on and below `limit`. Returns `None` if there are too few
    /// blocks and bytes for a pack.
    fn collect(&self, next: u64, limit: u64, count: u64) -> Result<Option<Vec<BlockRows>>, ArchiveError> {
        let (mut blocks, mut bytes) = (Vec::<BlockRows>::new(), 0_usize);
        let (Range { start, .. }, Range { start: end, .. }) =
            (Section::keys_from(Kind::Entry, next), Section::keys_from(Kind::Entry, limit));
        let is_full = |blocks: &[BlockRows], bytes| {
            u64::try_from(blocks.len()).is_ok_and(|blocks| blocks >= count) || bytes >= BYTES
        };
        for row in self.db.scan(start..end) {
            let (key, value) = row?;
            let wrong = |what| ArchiveError::damaged(Place::KEYS, format!("{what} of key {:02x?} is wrong", &*key));
            let (number, section, part) = of_block(&key).ok_or_else(|| wrong("length"))?;
            unseal(&key, &value).ok_or_else(|| wrong("checksum"))?;
            if blocks.last().is_none_or(|(last, _)| *last != number) {
                let first = blocks.first().map_or(number, |(first, _)| *first);
                if is_full(&blocks, bytes) || u32::try_from(number.saturating_sub(first)).is_err() {
                    return Ok(Some(blocks));
                }
                blocks.push((number, Vec::new()));
            }
            bytes = bytes.saturating_add(value.len());
            if let Some((_, rows)) = blocks.last_mut() {
                rows.push((section, part, value));
            }
        }
        Ok(is_full(&blocks, bytes).then_some(blocks))
    }
}

fn too_short(pack: &Pack) -> ArchiveError {
    pack.damaged("the page file is too short")
}
