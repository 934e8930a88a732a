//! The hash index: finds the positions of transactions in the record by their hashes (`docs/adr/0017-hash-index.md`).
//!
//! The index is in the derived database, and can be made again from the record. It maps the first eight bytes of a hash
//! to the positions of transactions with such a hash. The caller reads these transactions and compares the whole hash.
//!
//! The index is a log-structured merge tree. Entries of recent blocks are in the memtable. Other entries are in
//! segments, in a data file of the database. A segment is a sorted set of entries, which is written once. The leading
//! bits of the hash divide the segment into buckets of 128 to 256 entries on average. Hashes are uniformly distributed,
//! so the hash determines the bucket, and a lookup takes one read for each segment. Segments of similar sizes are
//! merged. Therefore the number of segments grows with the logarithm of the number of transactions.
//!
//! A row of the database has the manifest: the list of segments with their places in the file. After a merge, new
//! segments can use the places of the merged segments. Each bucket has a checksum, also an empty bucket. So a bucket
//! with other bytes is damage, and never means that a transaction does not exist. The index can be rebuilt from the
//! record at any time, also during reads.

mod entry;
mod manifest;
mod memtable;
mod merge;
mod segment;

use std::{
    cmp::Reverse,
    collections::BTreeSet,
    ops::RangeInclusive,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::{Mutex, MutexGuard, RwLock};
use silica_protocol::{BlockHash, BlockNumber};

pub(super) use self::entry::{Entry, Kind, Position};
use self::{
    entry::prefix,
    manifest::{MANIFEST, Manifest, read_manifest, write_manifest},
    memtable::Memtable,
    merge::{Upkeep, old_rows},
    segment::Segment,
};
use super::{error::ArchiveError, section::Place};
use crate::{
    codec::unseal,
    db::{DataFile, Db, DbError},
};

/// Number of entries of a segment when the index is rebuilt from the record.
const REBUILD: usize = 1 << 20;

/// The state that readers use. A change replaces it as a whole.
#[derive(Clone, Debug, Default)]
struct State {
    segments: Vec<Segment>,
    /// Memtables whose entries are being written to a segment. After a failed write, the memtable stays here.
    frozen: Vec<Arc<RwLock<BTreeSet<Entry>>>>,
    /// The memtable: entries of blocks after `frozen`.
    recent: Arc<RwLock<BTreeSet<Entry>>>,
    /// The blocks whose entries are in `segments`.
    covered: Extent,
    /// A counter that increases with every change of `segments`.
    generation: u64,
}

/// The index. Any number of threads can read. One thread adds blocks, and one thread maintains the segments.
#[derive(Debug)]
pub(super) struct Index {
    db: Db,
    state: RwLock<Arc<State>>,
    /// Locked while a block is added, so that no memtable is frozen with half a block.
    memtable: Mutex<Memtable>,
    upkeep: Mutex<Upkeep>,
    damaged: AtomicBool,
}

/// The first blocks of the chain, from block 0 on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Extent {
    /// Number of blocks.
    pub(super) blocks: u64,
    /// Hash of the newest block, or `None` for an empty extent.
    pub(super) newest: Option<BlockHash>,
}

impl Index {
    /// Opens the index with the segments of its manifest. If the manifest or the table of a segment is missing or
    /// damaged, the index is empty.
    pub(super) fn open(db: Db) -> Result<Self, DbError> {
        let manifest = db.get(&[MANIFEST])?;
        let manifest = manifest.and_then(|value| read_manifest(unseal(&[MANIFEST], &value)?).ok());
        let (mut state, mut upkeep) = (State::default(), Upkeep::default());
        if let Some(Manifest { segments, covered, next_segment }) = manifest {
            upkeep.next_segment = next_segment;
            let opened = segments.iter().map(|shape| Segment::open(&db, *shape)).collect::<Result<Option<_>, _>>()?;
            if let Some(segments) = opened {
                state = State { segments, covered, ..State::default() };
            }
        }
        upkeep.has_old_rows = db.scan(old_rows()).next().transpose()?.is_some();
        let index = Self {
            db,
            memtable: Mutex::new(Memtable { extent: state.covered, undo: None }),
            state: RwLock::new(Arc::new(state)),
            upkeep: Mutex::new(upkeep),
            damaged: AtomicBool::new(false),
        };
        index.trim(&index.upkeep(), &index.state().segments);
        Ok(index)
    }

    /// Removes all entries from the index.
    pub(super) fn reset(&self) -> Result<(), DbError> {
        let mut upkeep = self.upkeep();
        // The removal must be durable before new segments use the places of the old segments.
        self.db.remove(&[MANIFEST])?;
        self.flush()?;
        upkeep.merge = None;
        self.change(|state| *state = State { generation: state.generation.wrapping_add(1), ..State::default() });
        *self.memtable() = Memtable::default();
        Ok(())
    }

    /// Makes all writes durable. With relaxed durability, they survive the end of the process.
    fn flush(&self) -> Result<(), DbError> {
        self.db.flush()?;
        self.db.write_out()
    }

    /// Returns the blocks whose entries are on disk.
    pub(super) fn covered(&self) -> Extent {
        self.state().covered
    }

    /// Returns whether a read found damage since the index was opened or rebuilt.
    pub(super) fn is_damaged(&self) -> bool {
        self.damaged.load(Ordering::Relaxed)
    }

    /// Returns the positions of transactions that can have this hash, the oldest first. The transactions are in blocks
    /// up to `newest`.
    pub(super) fn find(&self, kind: Kind, hash: &[u8; 32], newest: BlockNumber) -> Result<Vec<Position>, ArchiveError> {
        self.find_hash(kind, hash, newest, usize::MAX)
    }

    /// Returns positions like [`find`](Self::find), but ends the search after the first segment with a position. In
    /// almost all cases, no two transactions have the same first bytes, so this is the position of the hash.
    pub(super) fn find_some(
        &self,
        kind: Kind,
        hash: &[u8; 32],
        newest: BlockNumber,
    ) -> Result<Vec<Position>, ArchiveError> {
        self.find_hash(kind, hash, newest, 1)
    }

    fn find_hash(
        &self,
        kind: Kind,
        hash: &[u8; 32],
        newest: BlockNumber,
        enough: usize,
    ) -> Result<Vec<Position>, ArchiveError> {
        let prefix = prefix(hash);
        let visible = |entry: &Entry| entry.kind() == kind && entry.position().block <= newest.get();
        self.find_from(self.state(), &(prefix..=prefix), visible, Bounds { most: usize::MAX, enough })
    }

    /// Returns the positions of up to `most` transactions whose hashes have first bytes in `prefixes`, in the order of
    /// these bytes. The transactions are in blocks up to `newest`. The number of reads grows with `most` and with the
    /// number of segments, and not with the number of hashes in the range.
    pub(super) fn find_between(
        &self,
        kind: Kind,
        prefixes: RangeInclusive<u64>,
        newest: BlockNumber,
        most: usize,
    ) -> Result<Vec<Position>, ArchiveError> {
        let visible = |entry: &Entry| entry.kind() == kind && entry.position().block <= newest.get();
        self.find_from(self.state(), &prefixes, visible, Bounds { most, enough: usize::MAX })
    }

    /// Returns the positions of up to `most` visible entries with these prefixes, from `state` or from a newer state.
    fn find_from(
        &self,
        mut state: Arc<State>,
        prefixes: &RangeInclusive<u64>,
        visible: impl Fn(&Entry) -> bool,
        bounds: Bounds,
    ) -> Result<Vec<Position>, ArchiveError> {
        loop {
            match self.find_in(&state, prefixes, &visible, bounds) {
                Ok(mut entries) => {
                    entries.sort_unstable();
                    entries.dedup();
                    return Ok(entries.into_iter().take(bounds.most).map(Entry::position).collect());
                }
                // After this function read `state`, a new segment may have taken the place of a merged segment. Damage
                // is certain only if `state` has not changed.
                Err(error) => {
                    let now = self.state();
                    if now.generation == state.generation {
                        if error.is_damage() {
                            self.damaged.store(true, Ordering::Relaxed);
                        }
                        return Err(error);
                    }
                    state = now;
                }
            }
        }
    }

    /// Returns the visible entries with these prefixes: at least the [`most`](Bounds::most) lowest entries of each set.
    fn find_in(
        &self,
        state: &State,
        prefixes: &RangeInclusive<u64>,
        visible: impl Fn(&Entry) -> bool,
        Bounds { most, enough }: Bounds,
    ) -> Result<Vec<Entry>, ArchiveError> {
        let range = Entry { prefix: *prefixes.start(), place: 0 }..=Entry { prefix: *prefixes.end(), place: u64::MAX };
        let mut found = Vec::new();
        for set in state.frozen.iter().chain([&state.recent]) {
            found.extend(set.read().range(range.clone()).copied().filter(&visible).take(most));
        }
        // A revert retires the handle before it removes entries from these sets. So a reader of the old chain gets an
        // error here, and not an empty result.
        self.db.require_service()?;
        // The largest segment has the entry of most hashes.
        let mut segments: Vec<_> = state.segments.iter().collect();
        segments.sort_by_key(|segment| Reverse(segment.shape.entries));
        for segment in segments {
            if found.len() >= enough {
                break;
            }
            let before = found.len();
            let bucket_of = |prefix: &u64| segment.shape.bucket_of(*prefix);
            for bucket in bucket_of(prefixes.start())..=bucket_of(prefixes.end()) {
                segment.visit(&self.db, bucket, |entries| {
                    let below = entries.partition_point(|bytes| Entry::from_bytes(bytes) < *range.start());
                    let from = entries.iter().skip(below).map(Entry::from_bytes);
                    found.extend(from.take_while(|entry| entry <= range.end()).filter(&visible));
                })?;
                if found.len().saturating_sub(before) >= most {
                    break;
                }
            }
        }
        Ok(found)
    }

    /// Writes all entries in memory to a new segment. Removes the undo log.
    pub(super) fn store(&self) -> Result<(), ArchiveError> {
        let mut upkeep = self.upkeep();
        let extent = {
            let mut memtable = self.memtable();
            memtable.undo = None;
            self.change(|state| {
                let recent = std::mem::take(&mut state.recent);
                state.frozen.push(recent);
            });
            memtable.extent
        };
        let state = self.state();
        let mut entries = BTreeSet::new();
        for set in &state.frozen {
            entries.extend(set.read().iter().copied());
        }
        let mut segments = state.segments.clone();
        if !entries.is_empty() {
            segments.push(self.write_segment(upkeep.take_id(), &entries, upkeep.used(&segments))?);
        }
        self.publish(&upkeep, segments, extent, state.frozen.len())
    }

    /// Writes new segments for the blocks of `extent`, and then replaces the present segments. `entries_of` returns the
    /// entries of a block. Readers use the present segments until then.
    pub(super) fn rebuild(
        &self,
        extent: Extent,
        mut entries_of: impl FnMut(u64) -> Result<Vec<Entry>, ArchiveError>,
    ) -> Result<(), ArchiveError> {
        let mut upkeep = self.upkeep();
        upkeep.merge = None;
        let old = self.state();
        let (mut segments, mut entries) = (Vec::new(), BTreeSet::new());
        for block in 0..extent.blocks {
            entries.extend(entries_of(block)?);
            if entries.len() >= REBUILD || block.saturating_add(1) == extent.blocks && !entries.is_empty() {
                let used = upkeep.used(old.segments.iter().chain(&segments));
                segments.push(self.write_segment(upkeep.take_id(), &entries, used)?);
                entries.clear();
            }
        }
        self.publish(&upkeep, segments, extent, 0)?;
        let mut memtable = self.memtable();
        if memtable.extent.blocks < extent.blocks {
            *memtable = Memtable { extent, undo: None };
        }
        self.damaged.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Verifies every bucket of every segment. Returns the number of entries on disk and in memory.
    pub(super) fn check(&self) -> Result<u64, ArchiveError> {
        self.check_from(self.state())
    }

    /// Verifies the segments of a state. If a newer state exists, the damage can be that of a new segment in the place
    /// of a merged segment. Then the function verifies the newer state.
    fn check_from(&self, mut state: Arc<State>) -> Result<u64, ArchiveError> {
        loop {
            let (checked, now) = (self.check_segments(&state), self.state());
            if checked.is_ok() || now.generation == state.generation {
                return checked;
            }
            state = now;
        }
    }

    fn check_segments(&self, state: &State) -> Result<u64, ArchiveError> {
        let mut total = u64::try_from(self.memtable_len()).unwrap_or(u64::MAX);
        for segment in &state.segments {
            let mut newest = None;
            for bucket in 0..segment.shape.buckets() {
                let entries = |bytes: &[_]| bytes.iter().map(Entry::from_bytes).collect::<Vec<_>>();
                for entry in segment.visit(&self.db, bucket, entries)? {
                    if segment.shape.bucket_of(entry.prefix) != bucket || newest >= Some(entry) {
                        return Err(damaged("entries are out of order"));
                    }
                    newest = Some(entry);
                }
            }
            total = total.saturating_add(segment.shape.entries);
        }
        Ok(total)
    }

    fn state(&self) -> Arc<State> {
        Arc::clone(&self.state.read())
    }

    fn upkeep(&self) -> MutexGuard<'_, Upkeep> {
        self.upkeep.lock()
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.write();
        let mut changed = State::clone(&state);
        change(&mut changed);
        *state = Arc::new(changed);
    }

    /// Writes the manifest and publishes its segments to readers. The segments replace the oldest `thawed` frozen
    /// memtables.
    fn publish(
        &self,
        upkeep: &Upkeep,
        segments: Vec<Segment>,
        covered: Extent,
        thawed: usize,
    ) -> Result<(), ArchiveError> {
        // The segments are flushed first, because the manifest must not become durable before them.
        self.flush()?;
        self.db.insert(&[MANIFEST], &write_manifest(&segments, covered, upkeep.next_segment))?;
        // The manifest must be durable before new segments use the places of segments that it no longer names.
        self.flush()?;
        self.change(|state| {
            state.segments = segments;
            state.covered = covered;
            state.generation = state.generation.wrapping_add(1);
            state.frozen.drain(..thawed);
        });
        self.trim(upkeep, &self.state().segments);
        Ok(())
    }

    /// Cuts the file after the last segment. A failure is ignored: the next call tries again.
    fn trim(&self, upkeep: &Upkeep, segments: &[Segment]) {
        let end = upkeep.used(segments).into_iter().map(|place| place.end).max().unwrap_or(0);
        let _: Result<(), DbError> = self.db.truncate(DataFile::Hashes, end);
    }
}

/// The bounds of a search.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// Maximum number of positions that the search returns. It reads at least this number of entries of each set, if
    /// the set has them.
    most: usize,
    /// Number of entries after which the search reads no further segment.
    enough: usize,
}

fn damaged(reason: &str) -> ArchiveError {
    ArchiveError::damaged(Place::INDEX, reason)
}

#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, clippy::cast_possible_truncation, reason = "an overflow fails the test")]
mod tests {
    use proptest::{collection::vec, prelude::*, sample::Index as Pick};
    use silica_protocol::sha256;

    use super::{
        merge::{OLD_BUCKETS, mergeable},
        segment::Shape,
        *,
    };
    use crate::db::Disk;

    /// Returns the hash of a test object. Every fiftieth position has the same first eight bytes.
    fn hash(block: u64, position: u32) -> [u8; 32] {
        let mut hash = sha256(&[&block.to_be_bytes(), &position.to_be_bytes()]);
        if position % 50 == 49 {
            hash[..8].fill(0xab);
        }
        hash
    }

    fn entries(block: u64, count: u32) -> Vec<Entry> {
        let entry = |position| {
            let kind = if position % 9 == 8 { Kind::MicroBlock } else { Kind::Transaction };
            Entry::new(kind, &hash(block, position), Position { block, position }).unwrap()
        };
        (0..count).map(entry).collect()
    }

    fn block_hash(block: u64) -> BlockHash {
        BlockHash::new(sha256(&[b"block", &block.to_be_bytes()]))
    }

    fn open(disk: &Disk, counts: &[u32]) -> Index {
        let index = Index::open(Db::on_disk(disk)).unwrap();
        let covered = index.covered();
        assert_eq!(covered.newest, covered.blocks.checked_sub(1).map(block_hash));
        for block in covered.blocks..counts.len() as u64 {
            index.add(block_hash(block), &entries(block, counts[block as usize]));
        }
        index
    }

    #[track_caller]
    fn check(index: &Index, counts: &[u32], block: u64, position: u32) {
        let count = counts.get(block as usize).copied().unwrap_or(0);
        let kind = if position % 9 == 8 { Kind::MicroBlock } else { Kind::Transaction };
        let newest = counts.len() as u64;
        let own = Position { block, position };
        let found = index.find(kind, &hash(block, position), BlockNumber::new(newest)).unwrap();
        assert_eq!(found.contains(&own), position < count, "{own:?}");
        let alike = |at: &Position| hash(at.block, at.position)[..8] == hash(block, position)[..8];
        assert!(found.iter().all(alike), "only what begins alike is found");
        let some = index.find_some(kind, &hash(block, position), BlockNumber::new(newest)).unwrap();
        assert!(
            some.is_empty() == found.is_empty() && some.iter().all(|at| found.contains(at)),
            "{some:?} of {found:?}"
        );
        let expected = (0..newest).flat_map(|block| entries(block, counts[block as usize]));
        let expected = expected.filter(|entry| entry.kind() == kind && alike(&entry.position())).count();
        assert_eq!(found.len(), expected);
        let own_prefix = prefix(&hash(block, position));
        for bits in [4, 12, 63] {
            let rest = u64::MAX >> bits;
            let range = own_prefix & !rest..=own_prefix | rest;
            let all = (0..newest).flat_map(|block| entries(block, counts[block as usize]));
            let mut expected: Vec<_> =
                all.filter(|entry| entry.kind() == kind && range.contains(&entry.prefix)).collect();
            expected.sort_unstable();
            for most in [1, 3, usize::MAX] {
                let found = index.find_between(kind, range.clone(), BlockNumber::new(newest), most).unwrap();
                assert!(
                    found.into_iter().eq(expected.iter().take(most).map(|entry| entry.position())),
                    "{bits} {most}"
                );
            }
        }
        let other = if kind == Kind::MicroBlock { Kind::Transaction } else { Kind::MicroBlock };
        assert!(!index.find(other, &hash(block, position), BlockNumber::new(newest)).unwrap().contains(&own));
        if let Some(before) = block.checked_sub(1) {
            let earlier = index.find(kind, &hash(block, position), BlockNumber::new(before)).unwrap();
            assert!(!earlier.contains(&own), "a block is not seen before it");
        }
    }

    #[derive(Clone, Debug)]
    enum Op {
        Add(u32),
        Back(Pick),
        Crash(usize),
        Fail(u64, usize),
        Find(Pick, u32),
        Rebuild,
        Remember,
        Store,
        Tidy(u32),
    }

    fn op() -> impl Strategy<Value = Op> {
        prop_oneof![
            6 => prop_oneof![0u32..5, 100..700u32].prop_map(Op::Add),
            1 => (0..40_usize).prop_map(Op::Crash),
            3 => (0..60_u64, 0..40_usize).prop_map(|(writes, kept)| Op::Fail(writes, kept)),
            8 => (any::<Pick>(), 0u32..700).prop_map(|(block, position)| Op::Find(block, position)),
            3 => any::<Pick>().prop_map(Op::Back),
            1 => Just(Op::Rebuild),
            3 => Just(Op::Remember),
            3 => Just(Op::Store),
            4 => prop_oneof![1u32..10, Just(1000)].prop_map(Op::Tidy),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

        #[test]
        fn added_entries_are_found_after_any_operations(ops in vec(op(), 1..60)) {
            let (disk, mut counts) = (Disk::default(), Vec::new());
            let mut index = open(&disk, &counts);
            // The undo log has entries of the blocks from this number on.
            let mut since = None;
            // Number of blocks at the last change of the manifest that has succeeded.
            let mut stored = 0;
            for op in ops {
                match op {
                    Op::Add(count) => {
                        let block = counts.len() as u64;
                        index.add(block_hash(block), &entries(block, count));
                        counts.push(count);
                    }
                    Op::Back(to) => {
                        let to = to.index(counts.len() + 1);
                        let (blocks, db) = (to as u64, Db::on_disk(&disk));
                        let extent = Extent { blocks, newest: blocks.checked_sub(1).map(block_hash) };
                        let back = index.back_at(extent, db);
                        prop_assert_eq!(back.is_some(), since.is_some_and(|since| since <= to));
                        if let Some(back) = back {
                            index.db.retire();
                            let found = index.find(Kind::Transaction, &hash(0, 0), BlockNumber::new(0));
                            prop_assert!(matches!(found, Err(ArchiveError::Db(DbError::Retired))), "{:?}", found);
                            index = back;
                            counts.truncate(to);
                        }
                    }
                    Op::Crash(kept) => {
                        disk.crash(kept);
                        prop_assert_eq!(Index::open(Db::on_disk(&disk)).unwrap().covered().blocks, stored);
                        index = open(&disk, &counts);
                        since = None;
                    }
                    Op::Fail(writes, kept) => {
                        disk.fail_after(writes);
                        let (was_stored, _) = (index.store().is_ok(), index.tidy(1000));
                        stored = if was_stored { counts.len() as u64 } else { stored };
                        disk.crash(kept);
                        let covered = Index::open(Db::on_disk(&disk)).unwrap().covered().blocks;
                        // A failed change of the manifest can be durable.
                        prop_assert!(covered == stored || !was_stored && covered == counts.len() as u64);
                        stored = covered;
                        index = open(&disk, &counts);
                        since = None;
                        prop_assert_eq!(index.check().unwrap(), counts.iter().copied().map(u64::from).sum::<u64>());
                    }
                    Op::Find(block, position) => check(&index, &counts, block.index(counts.len() + 1) as u64, position),
                    Op::Rebuild => {
                        let extent = index.covered();
                        prop_assert_eq!(extent.blocks, stored);
                        index.rebuild(extent, |block| Ok(entries(block, counts[block as usize]))).unwrap();
                    }
                    Op::Remember => {
                        index.remember();
                        since.get_or_insert(counts.len());
                    }
                    Op::Store => {
                        index.store().unwrap();
                        (since, stored) = (None, counts.len() as u64);
                        prop_assert_eq!((index.covered().blocks, index.memtable_len()), (counts.len() as u64, 0));
                    }
                    Op::Tidy(budget) => drop(index.tidy(budget).unwrap()),
                }
            }
            prop_assert_eq!(index.check().unwrap(), counts.iter().copied().map(u64::from).sum::<u64>());
            index.store().unwrap();
            while index.tidy(100).unwrap() {}
            let segments = index.state().segments.clone();
            prop_assert!(mergeable(&segments).is_none(), "{:?}", segments);
            let mut places: Vec<_> = segments.iter().map(|segment| segment.shape.place()).collect();
            places.sort_by_key(|place| place.start);
            prop_assert!(places.is_sorted_by(|first, next| first.end <= next.start), "{:?}", places);
            for (block, count) in counts.iter().enumerate() {
                (0..*count).step_by(97).for_each(|position| check(&index, &counts, block as u64, position));
            }
        }
    }

    #[test]
    fn a_hash_of_the_largest_segment_needs_one_read() {
        let (disk, counts) = (Disk::default(), [100, 700, 200, 40]);
        let index = open(&disk, &[]);
        for (block, count) in (0..).zip(counts) {
            index.add(block_hash(block), &entries(block, count));
            if block < 3 {
                index.store().unwrap();
            }
        }
        let reads = |block, position| {
            let (before, newest) = (disk.reads(), BlockNumber::new(3));
            let found = index.find_some(Kind::Transaction, &hash(block, position), newest).unwrap();
            assert_eq!(found, [Position { block, position }]);
            disk.reads() - before
        };
        // The entries of the last block are in memory.
        assert_eq!([reads(1, 5), reads(2, 5), reads(0, 5), reads(3, 5)], [1, 2, 3, 0]);
        let absent = index.find_some(Kind::Transaction, &hash(9, 0), BlockNumber::new(3)).unwrap();
        assert_eq!(absent, []);
    }

    #[test]
    fn number_of_segments_is_logarithmic() {
        let (disk, mut counts) = (Disk::default(), Vec::new());
        let index = open(&disk, &counts);
        for block in 0..500 {
            index.add(block_hash(block), &entries(block, 20));
            counts.push(20);
            index.store().unwrap();
            while index.tidy(1000).unwrap() {}
            assert!(index.state().segments.len() <= 10);
        }
        check(&index, &counts, 17, 3);
    }

    #[test]
    fn file_does_not_grow_without_new_entries() {
        let disk = Disk::default();
        let index = open(&disk, &[]);
        for block in 0..300 {
            index.add(block_hash(block), &entries(block, 100));
            index.store().unwrap();
            while index.tidy(1000).unwrap() {}
        }
        let used: u64 =
            index.state().segments.iter().map(|segment| segment.shape.place()).map(|at| at.end - at.start).sum();
        let mut size = 0;
        disk.damage_file(DataFile::Hashes, |file| size = file.len() as u64);
        assert!(size < 3 * used, "{size} bytes of the file for {used} bytes of segments");
        for _ in 0..5 {
            index.rebuild(index.covered(), |block| Ok(entries(block, 100))).unwrap();
        }
        disk.damage_file(DataFile::Hashes, |file| assert!((file.len() as u64) < 4 * used));
        index.reset().unwrap();
        index.add(block_hash(0), &entries(0, 100));
        index.store().unwrap();
        index.db.flush().unwrap();
        disk.damage_file(DataFile::Hashes, |file| assert!((file.len() as u64) < used / 20));
    }

    /// A failed merge leaves bytes after the segments, for example on a full disk. An unfinished merge of a killed
    /// process does too.
    #[test]
    fn file_has_no_bytes_of_an_unfinished_merge() {
        let disk = Disk::default();
        let index = open(&disk, &[]);
        for block in 0..2 {
            index.add(block_hash(block), &entries(block, 5000));
            index.store().unwrap();
        }
        let end = || {
            let mut end = 0;
            disk.damage_file(DataFile::Hashes, |file| end = file.len());
            end
        };
        let segments = end();
        assert!(index.tidy(30).unwrap());
        index.db.flush().unwrap();
        assert!(end() > segments);
        let reopened = Index::open(Db::on_disk(&disk)).unwrap();
        reopened.db.flush().unwrap();
        assert_eq!(end(), segments);
        // After a failed read, the file has no such bytes either.
        assert!(reopened.tidy(30).unwrap());
        disk.damage_file(DataFile::Hashes, |file| file[segments - 9] ^= 1);
        let damaged = Index::open(Db::on_disk(&disk)).unwrap();
        while damaged.tidy(30).is_ok_and(|remains| remains) {}
        assert!(damaged.is_damaged());
        damaged.db.flush().unwrap();
        assert_eq!(end(), segments);
    }

    #[test]
    fn segment_at_the_place_of_another_one_is_not_valid() {
        let index = open(&Disk::default(), &[]);
        let store = |block: u64| {
            index.add(block_hash(block), &entries(block, 100));
            index.store().unwrap();
        };
        store(0);
        let old = index.state();
        let read = || old.segments[0].visit(&index.db, 0, <[_]>::len);
        assert_eq!(read().unwrap(), 100);
        store(1);
        while index.tidy(100).unwrap() {}
        store(2);
        assert_eq!(index.state().segments[1].shape.place(), old.segments[0].shape.place());
        assert!(read().unwrap_err().is_damage());
        assert!(index.check_segments(&old).unwrap_err().is_damage());
        assert_eq!(index.check_from(Arc::clone(&old)).unwrap(), 300);
        let prefix = prefix(&hash(0, 5));
        let found = index
            .find_from(old, &(prefix..=prefix), |_| true, Bounds { most: usize::MAX, enough: usize::MAX })
            .unwrap();
        assert_eq!(found, [Position { block: 0, position: 5 }]);
        assert!(!index.is_damaged());
    }

    /// The manifest must not become durable before its segments.
    #[test]
    fn interrupted_store_leaves_a_whole_index() {
        for (writes, kept) in (0..30).flat_map(|writes| [(writes, 0), (writes, 100)]) {
            let disk = Disk::default();
            let index = open(&disk, &[]);
            index.add(block_hash(0), &entries(0, 1000));
            index.store().unwrap();
            disk.fail_after(writes);
            index.add(block_hash(1), &entries(1, 700));
            let was_stored = index.store().is_ok();
            disk.crash(kept);
            let entries = Index::open(Db::on_disk(&disk)).unwrap().check().unwrap();
            assert!(entries == 1700 || entries == 1000 && !was_stored, "{writes} {kept}: {entries}");
            assert!(was_stored || writes < 29);
        }
    }

    /// The manifest must not name places that new segments overwrite.
    #[test]
    fn reset_index_is_empty_after_a_crash() {
        for writes in 0..8 {
            let disk = Disk::default();
            let index = open(&disk, &[]);
            index.add(block_hash(0), &entries(0, 1000));
            index.store().unwrap();
            disk.fail_after(writes);
            let was_reset = index.reset().is_ok();
            index.add(block_hash(7), &entries(7, 900));
            let was_stored = index.store().is_ok();
            disk.crash(0);
            let index = Index::open(Db::on_disk(&disk)).unwrap();
            let expected = match (was_reset, was_stored) {
                (_, true) => 900,
                (true, false) => 0,
                (false, false) => 1000,
            };
            assert_eq!(index.check().unwrap(), expected, "{writes}");
        }
    }

    /// A merge of equal segments makes a segment with more buckets than its entries require.
    #[test]
    fn merge_of_segments_with_equal_entries_loses_nothing() {
        let index = open(&Disk::default(), &[]);
        let add = |block: u64| {
            let (mut segments, mut upkeep) = (index.state().segments.clone(), index.upkeep());
            let (id, set) = (upkeep.take_id(), entries(block, 300).into_iter().collect());
            segments.push(index.write_segment(id, &set, upkeep.used(&segments)).unwrap());
            index.publish(&upkeep, segments, Extent { blocks: 1, newest: Some(block_hash(0)) }, 0).unwrap();
        };
        (0..4).for_each(|_| add(0));
        while index.tidy(100).unwrap() {}
        assert_eq!(index.check().unwrap(), 300);
        add(1);
        while index.tidy(100).unwrap() {}
        assert_eq!((index.check().unwrap(), index.state().segments.len()), (600, 1));
    }

    #[test]
    fn new_segment_takes_the_first_place_with_enough_room() {
        let shape = Shape::new(0, 300);
        let len = shape.place().end;
        for (used, expected) in [
            (&[][..], 0),
            (&[(0, 10)], 10),
            (&[(len, len + 1)], 0),
            (&[(len - 1, len + 5), (0, 1)], len + 5),
            (&[(2 * len, 3 * len), (0, len)], len),
            (&[(2 * len - 1, 3 * len), (0, len)], 3 * len),
            (&[(0, 9), (3, 7)], 9),
        ] {
            let places = used.iter().map(|(start, end)| *start..*end).collect();
            assert_eq!(shape.at_free_place(places).position, expected, "{used:?}");
        }
    }

    #[test]
    fn hashes_with_the_same_first_bytes_are_in_one_bucket() {
        let index = open(&Disk::default(), &[]);
        let alike = |position| Entry::new(Kind::Transaction, &[7; 32], Position { block: 0, position }).unwrap();
        let all: Vec<_> = (0..2000).map(alike).collect();
        index.add(block_hash(0), &all);
        index.store().unwrap();
        assert_eq!(index.find(Kind::Transaction, &[7; 32], BlockNumber::new(0)).unwrap().len(), 2000);
        assert_eq!(index.check().unwrap(), 2000);
    }

    /// A damaged table is found at opening, and a damaged bucket at the next read.
    #[test]
    fn damage_of_each_byte_is_found() {
        let disk = Disk::default();
        let index = open(&disk, &[]);
        let counts = [90, 300];
        for (block, count) in (0..).zip(counts) {
            index.add(block_hash(block), &entries(block, count));
            index.store().unwrap();
        }
        let (mut len, expected) = (0, index.check().unwrap());
        disk.damage_file(DataFile::Hashes, |file| len = file.len());
        for at in 0..len {
            disk.damage_file(DataFile::Hashes, |file| file[at] ^= 1 << (at % 8));
            let index = Index::open(Db::on_disk(&disk)).unwrap();
            assert!(index.covered().blocks == 0 || index.check().unwrap_err().is_damage(), "byte {at}");
            disk.damage_file(DataFile::Hashes, |file| file[at] ^= 1 << (at % 8));
        }
        let index = Index::open(Db::on_disk(&disk)).unwrap();
        assert_eq!(index.check().unwrap(), expected);
        disk.damage_file(DataFile::Hashes, |file| file[len - 9] ^= 1);
        let index = Index::open(Db::on_disk(&disk)).unwrap();
        let all = 0..=u64::MAX;
        let found = index.find_between(Kind::Transaction, all, BlockNumber::new(9), usize::MAX);
        assert!(found.unwrap_err().is_damage() && index.is_damaged());
        disk.damage_file(DataFile::Hashes, |file| file.truncate(len - 1));
        assert_eq!(Index::open(Db::on_disk(&disk)).unwrap().covered().blocks, 0);
    }

    #[test]
    fn rows_of_an_earlier_format_are_removed() {
        let disk = Disk::default();
        for number in 0..50 {
            disk.damage(&[OLD_BUCKETS, number], |_| Some(vec![1, 2]));
        }
        let index = open(&disk, &[20]);
        while index.tidy(7).unwrap() {}
        index.store().unwrap();
        assert_eq!(disk.keys(), [[MANIFEST]]);
        check(&index, &[20], 0, 3);
    }

    #[test]
    fn readers_do_not_notice_merges() {
        let counts = vec![300; 40];
        let index = Index::open(Db::in_memory()).unwrap();
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                for (block, count) in (0..).zip(&counts) {
                    index.add(block_hash(block), &entries(block, *count));
                    index.store().unwrap();
                    while index.tidy(7).unwrap() {}
                }
            });
            while !writer.is_finished() {
                let covered = index.covered().blocks;
                for block in 0..covered {
                    let found = index.find(Kind::Transaction, &hash(block, 5), BlockNumber::new(block)).unwrap();
                    assert_eq!(found, [Position { block, position: 5 }]);
                }
            }
            writer.join().unwrap();
        });
        check(&index, &counts, 39, 299);
    }

    #[test]
    fn entries_have_bounds() {
        let entry = |block, position| Entry::new(Kind::Transaction, &[1; 32], Position { block, position });
        let largest = entry((1 << 40) - 1, (1 << 23) - 1).unwrap();
        assert_eq!(largest.position(), Position { block: (1 << 40) - 1, position: (1 << 23) - 1 });
        assert_eq!(Entry::from_bytes(&largest.to_bytes()), largest);
        assert_eq!(entry(1 << 40, 0), None);
        assert_eq!(entry(0, 1 << 23), None);
    }
}
