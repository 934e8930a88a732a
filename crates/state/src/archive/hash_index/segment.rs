//! Segments: sorted sets of entries in the file `hashes` of the derived database. A segment is written once, and is
//! divided into buckets.
//!
//! ```text
//! table     for each bucket, the number of entries up to its end (4); CRC-32C (4)
//! buckets   entries of 16 bytes; CRC-32C (4)
//! ```
//!
//! A checksum covers the id of the segment and the number of the bucket too. For the table, the number is the count of
//! buckets. So the bytes of another segment at the same place are not valid.

use std::{collections::BTreeSet, mem::size_of, ops::Range, sync::Arc};

use super::{
    Index, damaged,
    entry::{ENTRY, Entry},
};
use crate::{
    archive::error::ArchiveError,
    codec::{SEAL_LEN, seal, unseal},
    db::{DataFile, Db, DbError},
};

/// Minimum number of entries of a bucket, on average over the segment. A segment with fewer entries has one bucket.
const MEAN: u64 = 128;
/// Number of adjacent bytes that are written together. With fewer bytes, the tests interrupt more writes.
const BUFFER: usize = if cfg!(test) { 1 << 10 } else { 256 << 10 };
/// Maximum number of entries of a segment.
pub(super) const MOST_ENTRIES: u64 = u32::MAX as u64;
/// Maximum of [`Shape::bits`].
pub(super) const MOST_BITS: u32 = 31;

/// The place and the size of a segment, as in the manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) id: u32,
    /// Binary logarithm of the number of buckets.
    pub(super) bits: u32,
    pub(super) entries: u64,
    /// Position of the first byte in the file.
    pub(super) position: u64,
}

impl Shape {
    /// Returns the shape of a segment with up to `entries` entries at the beginning of the file.
    pub(super) fn new(id: u32, entries: u64) -> Self {
        let bits = entries.checked_div(MEAN).and_then(u64::checked_ilog2).unwrap_or(0);
        Self { id, bits: bits.min(MOST_BITS), entries, position: 0 }
    }

    /// Returns the shape at the lowest position of the file where it overlaps none of the places in `used`.
    pub(super) fn at_free_place(mut self, mut used: Vec<Range<u64>>) -> Self {
        used.sort_unstable_by_key(|place| place.start);
        self.position = 0;
        for place in used {
            if self.place().end <= place.start {
                break;
            }
            self.position = self.position.max(place.end);
        }
        self
    }

    pub(super) fn bucket_of(&self, prefix: u64) -> u32 {
        let shifted = prefix.checked_shr(u64::BITS.saturating_sub(self.bits)).unwrap_or(0);
        u32::try_from(shifted).unwrap_or(u32::MAX)
    }

    pub(super) const fn buckets(&self) -> u32 {
        1 << self.bits
    }

    /// Returns the positions of all bytes of the segment.
    pub(super) fn place(&self) -> Range<u64> {
        self.position..self.bucket_at(self.buckets(), self.entries)
    }

    /// Returns the position of a bucket. `entries` is the number of entries in all earlier buckets.
    fn bucket_at(&self, bucket: u32, entries: u64) -> u64 {
        let table = size_of_table(self.buckets());
        let checksums = u64::from(bucket).saturating_mul(SEAL_LEN as u64);
        let entries = entries.saturating_mul(ENTRY as u64);
        self.position.saturating_add(table).saturating_add(checksums).saturating_add(entries)
    }

    /// Returns the bytes that the checksum of a bucket covers before the content of the bucket.
    fn key(&self, bucket: u32) -> [u8; 8] {
        (u64::from(self.id) << 32 | u64::from(bucket)).to_be_bytes()
    }
}

fn size_of_table(buckets: u32) -> u64 {
    u64::from(buckets).saturating_add(1).saturating_mul(size_of::<u32>() as u64)
}

/// A sorted set of entries on disk that never changes.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    pub(super) shape: Shape,
    /// For each bucket, the number of entries up to its end.
    ends: Arc<[u32]>,
}

impl Segment {
    /// Reads the table of a segment. Returns `None` if the table is damaged.
    pub(super) fn open(db: &Db, shape: Shape) -> Result<Option<Self>, DbError> {
        // The last byte is read first, because a damaged shape must not cause a large allocation.
        let end = shape.place().end;
        let is_there = i64::try_from(end).is_ok() && db.read_at(DataFile::Hashes, end.saturating_sub(1), 1)?.is_some();
        let Some(len) = usize::try_from(size_of_table(shape.buckets())).ok().filter(|_| is_there) else {
            return Ok(None);
        };
        let table = db.read_at(DataFile::Hashes, shape.position, len)?;
        let table = table.as_deref().and_then(|table| unseal(&shape.key(shape.buckets()), table));
        let Some(table) = table else { return Ok(None) };
        let (ends, _) = table.as_chunks();
        let ends: Arc<[u32]> = ends.iter().map(|end| u32::from_be_bytes(*end)).collect();
        let is_whole = ends.is_sorted() && ends.last().copied().map(u64::from) == Some(shape.entries);
        Ok(is_whole.then_some(Self { shape, ends }))
    }

    /// Calls `visit` with the entries of a bucket, in ascending order.
    pub(super) fn visit<T>(
        &self,
        db: &Db,
        bucket: u32,
        visit: impl FnOnce(&[[u8; ENTRY]]) -> T,
    ) -> Result<T, ArchiveError> {
        let end_of = |bucket: u32| usize::try_from(bucket).ok().and_then(|bucket| self.ends.get(bucket).copied());
        let end = end_of(bucket).ok_or_else(|| damaged("a bucket is missing"))?;
        let start = bucket.checked_sub(1).and_then(end_of).unwrap_or(0);
        let len = usize::try_from(end.saturating_sub(start)).unwrap_or(usize::MAX);
        let len = len.saturating_mul(ENTRY).saturating_add(SEAL_LEN);
        let position = self.shape.bucket_at(bucket, start.into());
        let bytes = db.read_at(DataFile::Hashes, position, len)?.ok_or_else(|| damaged("a bucket is missing"))?;
        let content = unseal(&self.shape.key(bucket), &bytes).ok_or_else(|| damaged("checksum is wrong"))?;
        Ok(visit(content.as_chunks().0))
    }
}

/// A writer of a segment, bucket by bucket.
#[derive(Debug)]
pub(super) struct SegmentWriter {
    /// The shape of the segment, with the maximum number of entries.
    shape: Shape,
    ends: Vec<u32>,
    /// Bytes that are not written, and their position.
    buffer: Vec<u8>,
    position: u64,
}

impl SegmentWriter {
    /// Begins a segment. The place of this shape must not overlap the place of another segment.
    pub(super) fn new(shape: Shape) -> Self {
        Self { shape, ends: Vec::new(), buffer: Vec::new(), position: shape.bucket_at(0, 0) }
    }

    pub(super) const fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Returns the number of the next bucket, or `None` after the last one.
    pub(super) fn next_bucket(&self) -> Option<u32> {
        u32::try_from(self.ends.len()).ok().filter(|bucket| *bucket < self.shape.buckets())
    }

    /// Writes the next bucket. The entries must ascend.
    pub(super) fn add(&mut self, db: &Db, entries: &[Entry]) -> Result<(), ArchiveError> {
        let Some(bucket) = self.next_bucket() else { return Ok(()) };
        let before = self.ends.last().copied().unwrap_or(0);
        let end = u32::try_from(entries.len()).ok().and_then(|more| before.checked_add(more));
        let end = end.ok_or_else(|| damaged("a segment has too many entries"))?;
        let content: Vec<u8> = entries.iter().flat_map(|entry| entry.to_bytes()).collect();
        self.buffer.extend(seal(&self.shape.key(bucket), &content));
        self.ends.push(end);
        if self.buffer.len() >= BUFFER { self.write(db) } else { Ok(()) }
    }

    fn write(&mut self, db: &Db) -> Result<(), ArchiveError> {
        db.write_at(DataFile::Hashes, self.position, &self.buffer)?;
        self.position = self.position.saturating_add(u64::try_from(self.buffer.len()).unwrap_or(u64::MAX));
        self.buffer.clear();
        Ok(())
    }

    /// Writes the rest of the segment, after its last bucket.
    pub(super) fn finish(mut self, db: &Db) -> Result<Segment, ArchiveError> {
        self.write(db)?;
        let Self { shape, ends, .. } = self;
        let table: Vec<u8> = ends.iter().flat_map(|end| end.to_be_bytes()).collect();
        db.write_at(DataFile::Hashes, shape.position, &seal(&shape.key(shape.buckets()), &table))?;
        let entries = ends.last().copied().unwrap_or(0).into();
        Ok(Segment { shape: Shape { entries, ..shape }, ends: ends.into() })
    }
}

impl Index {
    /// Writes entries to a new segment, outside of the places in `used`.
    pub(super) fn write_segment(
        &self,
        id: u32,
        entries: &BTreeSet<Entry>,
        used: Vec<Range<u64>>,
    ) -> Result<Segment, ArchiveError> {
        let count = u64::try_from(entries.len()).unwrap_or(u64::MAX);
        let mut writer = SegmentWriter::new(Shape::new(id, count).at_free_place(used));
        let mut rest = entries.iter().copied().peekable();
        while let Some(bucket) = writer.next_bucket() {
            let shape = *writer.shape();
            let content: Vec<_> =
                std::iter::from_fn(|| rest.next_if(|entry| shape.bucket_of(entry.prefix) == bucket)).collect();
            writer.add(&self.db, &content)?;
        }
        writer.finish(&self.db)
    }
}
