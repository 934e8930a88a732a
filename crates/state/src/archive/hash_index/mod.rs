//! The hash index: finds the positions of transactions in the record by their hashes (`docs/adr/0017-hash-index.md`).
//!
//! The index is in the derived database, and can be made again from the record. It maps the first eight bytes of a hash
//! to the positions of transactions with such a hash. The caller reads these transactions and compares the whole hash.
//!
//! The index is a log-structured merge tree. Entries of recent blocks are in the memtable. Other entries are in
//! segments. A segment is a sorted set of entries, which is written once. The leading bits of the hash divide the
//! segment into buckets of 128 to 256 entries on average. Hashes are uniformly distributed, so the hash determines the
//! bucket, and a lookup takes one read for each segment. Segments of similar sizes are merged. Therefore the number of
//! segments grows with the logarithm of the number of transactions.
//!
//! ```text
//! manifest   table (1)                                     format, next segment, blocks covered, newest hash, segments
//! bucket     table (1)  segment (4)  bucket (4)  part (2)  whether more parts follow (1), entries of 16 bytes
//! ```
//!
//! A segment has a value for every bucket, even for an empty bucket, and every value has a checksum. So a missing value
//! is always damage. It does not mean that a transaction does not exist. The index can be rebuilt from the record at
//! any time, also during reads.

mod entry;
mod manifest;
mod memtable;
mod merge;
mod segment;

use std::{
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
    manifest::{MANIFEST, read_manifest, write_manifest},
    memtable::Memtable,
    merge::Upkeep,
    segment::{Segment, stored_segments},
};
use super::{error::ArchiveError, section::Place};
use crate::{
    codec::unseal,
    db::{Db, DbError},
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
    /// Opens the index with the segments of its manifest. If the manifest is missing or damaged, the index is empty.
    pub(super) fn open(db: Db) -> Result<Self, DbError> {
        let manifest = db.get(&[MANIFEST])?;
        let manifest = manifest.and_then(|value| read_manifest(unseal(&[MANIFEST], &value)?).ok());
        let (state, next_segment) = manifest.unwrap_or_default();
        let mut upkeep = Upkeep { next_segment, ..Upkeep::default() };
        for segment in stored_segments(&db)? {
            if !state.segments.iter().any(|known| known.id == segment) {
                upkeep.garbage.push(segment);
                upkeep.next_segment = upkeep.next_segment.max(segment.saturating_add(1));
            }
        }
        Ok(Self {
            db,
            memtable: Mutex::new(Memtable { extent: state.covered, undo: None }),
            state: RwLock::new(Arc::new(state)),
            upkeep: Mutex::new(upkeep),
            damaged: AtomicBool::new(false),
        })
    }

    /// Removes all entries from the index.
    pub(super) fn reset(&self) -> Result<(), DbError> {
        // The manifest first, so that it never names a removed segment.
        self.db.remove(&[MANIFEST])?;
        let mut upkeep = self.upkeep();
        let old = self.state();
        upkeep.garbage.extend(old.segments.iter().map(|segment| segment.id));
        self.change(|state| *state = State { generation: state.generation.wrapping_add(1), ..State::default() });
        *self.memtable() = Memtable::default();
        Ok(())
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
        let prefix = prefix(hash);
        self.find_between(kind, prefix..=prefix, newest, usize::MAX)
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
        let mut state = self.state();
        loop {
            match self.find_in(&state, &prefixes, visible, most) {
                Ok(mut entries) => {
                    entries.sort_unstable();
                    entries.dedup();
                    return Ok(entries.into_iter().take(most).map(Entry::position).collect());
                }
                // A merge may have removed a segment after this function read `state`. Damage is certain only if
                // `state` has not changed.
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

    /// Returns the visible entries with these prefixes: at least the `most` lowest entries of each set.
    fn find_in(
        &self,
        state: &State,
        prefixes: &RangeInclusive<u64>,
        visible: impl Fn(&Entry) -> bool,
        most: usize,
    ) -> Result<Vec<Entry>, ArchiveError> {
        let range = Entry { prefix: *prefixes.start(), place: 0 }..=Entry { prefix: *prefixes.end(), place: u64::MAX };
        let mut found = Vec::new();
        for set in state.frozen.iter().chain([&state.recent]) {
            found.extend(set.read().range(range.clone()).copied().filter(&visible).take(most));
        }
        // A revert retires the handle before it removes entries from these sets. So a reader of the old chain gets an
        // error here, and not an empty result.
        self.db.require_service()?;
        for segment in &state.segments {
            let before = found.len();
            for bucket in segment.bucket_of(*prefixes.start())..=segment.bucket_of(*prefixes.end()) {
                self.visit_bucket(*segment, bucket, |part| {
                    let below = part.partition_point(|bytes| Entry::from_bytes(bytes) < *range.start());
                    let from = part.iter().skip(below).map(Entry::from_bytes);
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
            segments.push(self.write_segment(upkeep.take_id(), &entries)?);
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
        let (mut segments, mut entries) = (Vec::new(), BTreeSet::new());
        for block in 0..extent.blocks {
            entries.extend(entries_of(block)?);
            if entries.len() >= REBUILD {
                segments.push(self.write_segment(upkeep.take_id(), &entries)?);
                entries.clear();
            }
        }
        if !entries.is_empty() {
            segments.push(self.write_segment(upkeep.take_id(), &entries)?);
        }
        let old = self.state();
        self.publish(&upkeep, segments, extent, 0)?;
        let unfinished = upkeep.merge.take().map(|merge| merge.output.id);
        upkeep.garbage.extend(old.segments.iter().map(|segment| segment.id).chain(unfinished));
        let mut memtable = self.memtable();
        if memtable.extent.blocks < extent.blocks {
            *memtable = Memtable { extent, undo: None };
        }
        self.damaged.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Verifies every bucket of every segment. Returns the number of entries on disk and in memory.
    pub(super) fn check(&self) -> Result<u64, ArchiveError> {
        let state = self.state();
        let mut total = u64::try_from(self.memtable_len()).unwrap_or(u64::MAX);
        for segment in &state.segments {
            let mut entries = 0_u64;
            let mut newest = None;
            for bucket in 0..segment.buckets() {
                for entry in self.read_bucket(*segment, bucket)? {
                    if segment.bucket_of(entry.prefix) != bucket || newest >= Some(entry) {
                        return Err(damaged("entries are out of order"));
                    }
                    newest = Some(entry);
                    entries = entries.saturating_add(1);
                }
            }
            if entries != segment.entries {
                return Err(damaged("entries are missing"));
            }
            total = total.saturating_add(entries);
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
        // The segments first: the manifest must not become durable before them.
        self.db.flush()?;
        self.db.insert(&[MANIFEST], &write_manifest(&segments, covered, upkeep.next_segment))?;
        self.db.flush()?;
        self.change(|state| {
            state.segments = segments;
            state.covered = covered;
            state.generation = state.generation.wrapping_add(1);
            state.frozen.drain(..thawed);
        });
        Ok(())
    }
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
        merge::mergeable,
        segment::{BUCKETS, key},
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
                        index = open(&disk, &counts);
                        since = None;
                    }
                    Op::Find(block, position) => check(&index, &counts, block.index(counts.len() + 1) as u64, position),
                    Op::Rebuild => {
                        let extent = index.covered();
                        index.rebuild(extent, |block| Ok(entries(block, counts[block as usize]))).unwrap();
                    }
                    Op::Remember => {
                        index.remember();
                        since.get_or_insert(counts.len());
                    }
                    Op::Store => {
                        index.store().unwrap();
                        since = None;
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
            let values: u32 = segments.iter().map(Segment::buckets).sum();
            index.db.flush().unwrap();
            let first_parts = disk.keys().iter().filter(|key| key[0] == BUCKETS && key.ends_with(&[0, 0])).count();
            prop_assert_eq!(first_parts, values as usize, "nothing is left of merged segments");
            for (block, count) in counts.iter().enumerate() {
                (0..*count).step_by(97).for_each(|position| check(&index, &counts, block as u64, position));
            }
        }
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
    fn full_buckets_span_parts() {
        let disk = Disk::default();
        let index = open(&disk, &[]);
        let alike = |position| Entry::new(Kind::Transaction, &[7; 32], Position { block: 0, position }).unwrap();
        let all: Vec<_> = (0..2000).map(alike).collect();
        index.add(block_hash(0), &all);
        index.store().unwrap();
        assert_eq!(index.find(Kind::Transaction, &[7; 32], BlockNumber::new(0)).unwrap().len(), 2000);
        assert_eq!(index.check().unwrap(), 2000);
        let last = key(0, index.state().segments[0].bucket_of(prefix(&[7; 32])), 5);
        disk.damage(&last, |_| None);
        let index = open(&disk, &[2000]);
        assert!(index.find(Kind::Transaction, &[7; 32], BlockNumber::new(0)).unwrap_err().is_damage());
        assert!(index.is_damaged());
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
