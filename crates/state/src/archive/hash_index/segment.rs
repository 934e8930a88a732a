//! Segments: sorted sets of entries on disk. A segment is written once, and divided into buckets.

use std::{collections::BTreeSet, ops::Range};

use super::{
    Index, damaged,
    entry::{ENTRY, Entry},
};
use crate::{
    archive::error::ArchiveError,
    codec::{SEAL_LEN, Writer, seal, unseal},
    db::{Db, DbError, MAX_VALUE},
};

/// Table of the buckets in the derived database.
pub(super) const BUCKETS: u8 = 0xf1;
/// Maximum number of entries in one part of a bucket.
pub(super) const PART: usize = (MAX_VALUE - SEAL_LEN - 1) / ENTRY;
/// Minimum number of entries of a bucket, on average over the segment. A segment with fewer entries has one bucket.
pub(super) const MEAN: u64 = 128;

/// A sorted set of entries on disk that never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) id: u32,
    /// Binary logarithm of the number of buckets.
    pub(super) bits: u32,
    pub(super) entries: u64,
}

impl Segment {
    pub(super) fn new(id: u32, entries: u64) -> Self {
        let bits = entries.checked_div(MEAN).and_then(u64::checked_ilog2).unwrap_or(0);
        Self { id, bits: bits.min(31), entries }
    }

    pub(super) fn bucket_of(&self, prefix: u64) -> u32 {
        let shifted = prefix.checked_shr(u64::BITS.saturating_sub(self.bits)).unwrap_or(0);
        u32::try_from(shifted).unwrap_or(u32::MAX)
    }

    pub(super) const fn buckets(&self) -> u32 {
        1 << self.bits
    }
}

pub(super) fn key(segment: u32, bucket: u32, part: u16) -> [u8; 11] {
    let mut key = [0; 11];
    let bytes =
        [BUCKETS].into_iter().chain(segment.to_be_bytes()).chain(bucket.to_be_bytes()).chain(part.to_be_bytes());
    key.iter_mut().zip(bytes).for_each(|(slot, byte)| *slot = byte);
    key
}

impl Index {
    pub(super) fn write_segment(&self, id: u32, entries: &BTreeSet<Entry>) -> Result<Segment, ArchiveError> {
        let segment = Segment::new(id, u64::try_from(entries.len()).unwrap_or(u64::MAX));
        let mut rest = entries.iter().copied().peekable();
        for bucket in 0..segment.buckets() {
            let content: Vec<_> =
                std::iter::from_fn(|| rest.next_if(|entry| segment.bucket_of(entry.prefix) == bucket)).collect();
            self.write_bucket(segment, bucket, &content)?;
        }
        Ok(segment)
    }

    pub(super) fn write_bucket(&self, segment: Segment, bucket: u32, entries: &[Entry]) -> Result<(), ArchiveError> {
        let mut rest = entries;
        for part in 0..=u16::MAX {
            let (content, after) = rest.split_at_checked(PART).unwrap_or((rest, &[]));
            let mut payload = Writer::new();
            payload.byte(u8::from(!after.is_empty()));
            for entry in content {
                payload.raw(&entry.to_bytes());
            }
            let key = key(segment.id, bucket, part);
            self.db.insert(&key, &seal(&key, payload.as_slice()))?;
            if after.is_empty() {
                return Ok(());
            }
            rest = after;
        }
        Err(damaged("too many hashes have the same first bytes"))
    }

    pub(super) fn read_bucket(&self, segment: Segment, bucket: u32) -> Result<Vec<Entry>, ArchiveError> {
        let mut entries = Vec::new();
        self.visit_bucket(segment, bucket, |part| entries.extend(part.iter().map(Entry::from_bytes)))?;
        Ok(entries)
    }

    /// Calls `visit` with each part of a bucket. Entries ascend within a part and from part to part.
    pub(super) fn visit_bucket(
        &self,
        segment: Segment,
        bucket: u32,
        mut visit: impl FnMut(&[[u8; ENTRY]]),
    ) -> Result<(), ArchiveError> {
        for part in 0..=u16::MAX {
            let key = key(segment.id, bucket, part);
            let value = self.db.get(&key)?.ok_or_else(|| damaged("a part of a bucket is missing"))?;
            let payload = unseal(&key, &value).ok_or_else(|| damaged("checksum is wrong"))?;
            let (more, content) = payload.split_first().ok_or_else(|| damaged("a part of a bucket is empty"))?;
            let (content, rest) = content.as_chunks();
            if !rest.is_empty() {
                return Err(damaged("length is wrong"));
            }
            visit(content);
            if *more == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Removes up to `budget` values of a segment that is not in the manifest. Returns the number of removed values.
    pub(super) fn remove_some(&self, segment: u32, budget: u32) -> Result<u32, ArchiveError> {
        let keys = self.db.scan(segment_keys(segment)).take(usize::try_from(budget).unwrap_or(usize::MAX));
        let keys = keys.map(|entry| entry.map(|(key, _)| key)).collect::<Result<Vec<_>, _>>()?;
        for key in &keys {
            self.db.remove(key)?;
        }
        Ok(u32::try_from(keys.len()).unwrap_or(u32::MAX))
    }
}

pub(super) fn segment_keys(segment: u32) -> Range<Vec<u8>> {
    let end = segment
        .checked_add(1)
        .map_or(vec![BUCKETS.wrapping_add(1)], |next| [&[BUCKETS], &next.to_be_bytes()[..]].concat());
    [&[BUCKETS], &segment.to_be_bytes()[..]].concat()..end
}

/// Returns the ids of all segments on disk. Reads one key of each.
pub(super) fn stored_segments(db: &Db) -> Result<Vec<u32>, DbError> {
    let mut segments = Vec::new();
    let mut from = vec![BUCKETS];
    while let Some(entry) = db.scan(from..vec![BUCKETS.wrapping_add(1)]).next() {
        let (key, _) = entry?;
        let Some(segment) = key.get(1..).and_then(<[u8]>::first_chunk).map(|segment| u32::from_be_bytes(*segment))
        else {
            break;
        };
        segments.push(segment);
        from = segment_keys(segment).end;
        if from.len() == 1 {
            break;
        }
    }
    Ok(segments)
}
