//! From hashes of transactions to their places in the record.
//!
//! The index is derived data and lives in the derived database. It maps the first eight bytes of a hash to the places
//! of what has such a hash; whoever asks looks there and compares. Entries of recent blocks are in memory; others are
//! in *runs*, each written once, in order, and divided by the leading bits of the hash into buckets of some 200
//! entries. Hashes being uniform, the bucket is known without a search, and a run is asked with one read. Runs of
//! similar sizes are merged into one, so that there are few: their number grows with the logarithm of the chain's
//! length.
//!
//! ```text
//! manifest   table (1)                                     format, next run, blocks covered, their newest hash, runs
//! bucket     table (1)  run (4)  bucket (4)  part (2)      more parts follow? (1), entries of 16 bytes
//! ```
//!
//! Every bucket of a run is there, also an empty one, and every value has a checksum: what is damaged is reported,
//! never taken for absence, and the index can be made again from the record at any time, while it is being read.

use std::{
    collections::BTreeSet,
    ops::Range,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
};

use silica_protocol::{BlockHash, BlockNumber};

use super::{error::ArchiveError, section::Place};
use crate::{
    codec::{Malformed, Reader, SEAL_LEN, Writer, seal, unseal},
    db::{Db, DbError, MAX_VALUE},
};

/// Tables of the derived database; the forest uses none from here on.
const MANIFEST: u8 = 0xf0;
const BUCKETS: u8 = 0xf1;

const FORMAT: u64 = 1;
/// Bytes of an entry on disk.
const ENTRY: usize = 16;
/// Entries of one part of a bucket.
const PART: usize = (MAX_VALUE - SEAL_LEN - 1) / ENTRY;
/// A run has as many buckets as leave each, on average, at least this many entries.
const MEAN: u64 = 128;
/// Entries that are put into memory under one lock.
const CHUNK: usize = 256;
/// Entries of a run when the index is made from the whole record.
const REBUILD: usize = 1 << 20;

/// What a hash is the hash of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Of which earlier versions have left entries. Nobody asks for them.
    MicroBlock,
    Transaction,
}

/// Where something is: in which block, and at which position among those of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    pub(super) block: u64,
    pub(super) position: u32,
}

/// A hash, shortened, and a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    prefix: u64,
    /// Block (40 bits), kind (1 bit), position (23 bits).
    place: u64,
}

impl Entry {
    /// Returns the entry of a hash, or `None` when the block or position is beyond what an entry can hold.
    pub(super) fn new(kind: Kind, hash: &[u8; 32], at: Position) -> Option<Self> {
        if at.block >> 40 != 0 || at.position >> 23 != 0 {
            return None;
        }
        let kind = match kind {
            Kind::Transaction => 0,
            Kind::MicroBlock => 1 << 23,
        };
        Some(Self { prefix: prefix(hash), place: at.block << 24 | kind | u64::from(at.position) })
    }

    const fn kind(self) -> Kind {
        if self.place & 1 << 23 == 0 { Kind::Transaction } else { Kind::MicroBlock }
    }

    fn position(self) -> Position {
        let position = u32::try_from(self.place & 0x7f_ffff).unwrap_or(u32::MAX);
        Position { block: self.place >> 24, position }
    }

    fn to_bytes(self) -> [u8; ENTRY] {
        (u128::from(self.prefix) << 64 | u128::from(self.place)).to_be_bytes()
    }

    fn from_bytes(bytes: &[u8; ENTRY]) -> Self {
        let [prefix, place] = [0, 8]
            .map(|at| bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |number| u64::from_be_bytes(*number)));
        Self { prefix, place }
    }
}

fn prefix(hash: &[u8; 32]) -> u64 {
    hash.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// A sorted set of entries on disk, never changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    id: u32,
    /// There are two to this power buckets.
    bits: u32,
    entries: u64,
}

impl Run {
    fn new(id: u32, entries: u64) -> Self {
        let bits = entries.checked_div(MEAN).and_then(u64::checked_ilog2).unwrap_or(0);
        Self { id, bits: bits.min(31), entries }
    }

    fn bucket_of(&self, prefix: u64) -> u32 {
        let shifted = prefix.checked_shr(u64::BITS.saturating_sub(self.bits)).unwrap_or(0);
        u32::try_from(shifted).unwrap_or(u32::MAX)
    }

    const fn buckets(&self) -> u32 {
        1 << self.bits
    }
}

fn key(run: u32, bucket: u32, part: u16) -> [u8; 11] {
    let mut key = [0; 11];
    let bytes = [BUCKETS].into_iter().chain(run.to_be_bytes()).chain(bucket.to_be_bytes()).chain(part.to_be_bytes());
    key.iter_mut().zip(bytes).for_each(|(slot, byte)| *slot = byte);
    key
}

/// What readers see, replaced as a whole.
#[derive(Clone, Debug, Default)]
struct State {
    runs: Vec<Run>,
    /// Entries that are being written to a run, or that could not be.
    frozen: Vec<Arc<RwLock<BTreeSet<Entry>>>>,
    /// Entries since.
    recent: Arc<RwLock<BTreeSet<Entry>>>,
    /// The blocks of `runs`.
    covered: Extent,
    /// Grows with every change of `runs`.
    generation: u64,
}

/// The index. Any number of threads may ask; one adds blocks; one maintains it on disk.
#[derive(Debug)]
pub(super) struct Index {
    db: Db,
    state: RwLock<Arc<State>>,
    /// Held while a block is added, so that no set is frozen with half a block.
    added: Mutex<Added>,
    upkeep: Mutex<Upkeep>,
    damaged: AtomicBool,
}

/// The blocks from block 0 on that something covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Extent {
    /// Their number.
    pub(super) blocks: u64,
    /// Hash of the newest, if there is one.
    pub(super) newest: Option<BlockHash>,
}

/// What was added, whether it is written or not.
#[derive(Debug, Default)]
struct Added {
    extent: Extent,
    /// What is needed to take blocks out again, as long as someone may want to and nothing is written.
    undo: Option<Undo>,
}

/// What was added after the first `since` blocks.
#[derive(Debug)]
struct Undo {
    since: u64,
    /// Those of the oldest block first.
    entries: Vec<Entry>,
}

/// What only the maintaining thread needs.
#[derive(Debug, Default)]
struct Upkeep {
    next_run: u32,
    merge: Option<Merge>,
    /// Runs whose buckets are still on disk although nothing refers to them.
    garbage: Vec<u32>,
}

/// A merge that is under way.
#[derive(Debug)]
struct Merge {
    inputs: Vec<Run>,
    output: Run,
    next_bucket: u32,
    /// Entries written so far.
    entries: u64,
}

impl Index {
    /// Opens the index as far as it is written and whole: when its manifest is missing or damaged, it is empty.
    pub(super) fn open(db: Db) -> Result<Self, DbError> {
        let manifest = db.get(&[MANIFEST])?;
        let manifest = manifest.and_then(|value| read_manifest(unseal(&[MANIFEST], &value)?).ok());
        let (state, next_run) = manifest.unwrap_or_default();
        let mut upkeep = Upkeep { next_run, ..Upkeep::default() };
        for run in stored_runs(&db)? {
            if !state.runs.iter().any(|known| known.id == run) {
                upkeep.garbage.push(run);
                upkeep.next_run = upkeep.next_run.max(run.saturating_add(1));
            }
        }
        Ok(Self {
            db,
            added: Mutex::new(Added { extent: state.covered, undo: None }),
            state: RwLock::new(Arc::new(state)),
            upkeep: Mutex::new(upkeep),
            damaged: AtomicBool::new(false),
        })
    }

    /// Forgets everything, for what is on disk belongs to another record.
    pub(super) fn reset(&self) -> Result<(), DbError> {
        // First, so that it never names a run that is removed.
        self.db.remove(&[MANIFEST])?;
        let mut upkeep = self.upkeep();
        let old = self.state();
        upkeep.garbage.extend(old.runs.iter().map(|run| run.id));
        self.change(|state| *state = State { generation: state.generation.wrapping_add(1), ..State::default() });
        *self.added() = Added::default();
        Ok(())
    }

    /// The blocks whose entries are on disk.
    pub(super) fn covered(&self) -> Extent {
        self.state().covered
    }

    /// Number of entries that are in memory only.
    pub(super) fn recent_len(&self) -> usize {
        let state = self.state();
        let sets = state.frozen.iter().chain([&state.recent]);
        sets.map(|set| set.read().unwrap_or_else(PoisonError::into_inner).len()).fold(0, usize::saturating_add)
    }

    /// Whether a damaged bucket was met since the index was opened or rebuilt.
    pub(super) fn is_damaged(&self) -> bool {
        self.damaged.load(Ordering::Relaxed)
    }

    /// Adds the entries of the next block.
    pub(super) fn add(&self, block: BlockHash, entries: &[Entry]) {
        let mut added = self.added();
        let recent = Arc::clone(&self.state().recent);
        for chunk in entries.chunks(CHUNK) {
            recent.write().unwrap_or_else(PoisonError::into_inner).extend(chunk.iter().copied());
        }
        if let Some(undo) = &mut added.undo {
            undo.entries.extend(entries);
        }
        added.extent = Extent { blocks: added.extent.blocks.saturating_add(1), newest: Some(block) };
    }

    /// Passes over blocks that have no entries, the last of which has a hash.
    pub(super) fn pass(&self, blocks: u64, last: BlockHash) {
        let mut added = self.added();
        added.extent = Extent { blocks: added.extent.blocks.saturating_add(blocks), newest: Some(last) };
    }

    /// Makes it possible to take out again what is added from now on, until what is in memory is written.
    pub(super) fn remember(&self) {
        let mut added = self.added();
        let since = added.extent.blocks;
        added.undo.get_or_insert(Undo { since, entries: Vec::new() });
    }

    /// Returns the index as it was when it had the blocks of `extent` only, by a handle of its own; `None` when that is not
    /// remembered, or others are on disk. This one's handle is to be retired before, and nobody may maintain it any more: the
    /// entries of the other blocks are taken out.
    pub(super) fn back_at(&self, extent: Extent, db: Db) -> Option<Self> {
        let (mut upkeep, mut added, state) = (self.upkeep(), self.added(), self.state());
        let mut undo =
            added.undo.take_if(|undo| undo.since <= extent.blocks && state.covered.blocks <= extent.blocks)?;
        let mut recent = state.recent.write().unwrap_or_else(PoisonError::into_inner);
        while let Some(entry) = undo.entries.pop_if(|entry| entry.position().block >= extent.blocks) {
            recent.remove(&entry);
        }
        drop(recent);
        Some(Self {
            db,
            state: RwLock::new(state),
            added: Mutex::new(Added { extent, undo: Some(undo) }),
            upkeep: Mutex::new(std::mem::take(&mut *upkeep)),
            damaged: AtomicBool::new(self.is_damaged()),
        })
    }

    /// Returns the places of whatever may have this hash, in the blocks up to `newest`; the oldest first.
    pub(super) fn find(&self, kind: Kind, hash: &[u8; 32], newest: BlockNumber) -> Result<Vec<Position>, ArchiveError> {
        let prefix = prefix(hash);
        let mut state = self.state();
        loop {
            match self.find_in(&state, prefix) {
                Ok(entries) => {
                    let visible = |entry: &Entry| entry.kind() == kind && entry.position().block <= newest.get();
                    let mut positions: Vec<_> = entries.into_iter().filter(visible).map(Entry::position).collect();
                    positions.sort_unstable();
                    positions.dedup();
                    return Ok(positions);
                }
                // A run may have been merged and removed since the state was taken.
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

    fn find_in(&self, state: &State, prefix: u64) -> Result<Vec<Entry>, ArchiveError> {
        let range = Entry { prefix, place: 0 }..=Entry { prefix, place: u64::MAX };
        let mut found = Vec::new();
        for set in state.frozen.iter().chain([&state.recent]) {
            found.extend(set.read().unwrap_or_else(PoisonError::into_inner).range(range.clone()));
        }
        // Whoever goes back takes entries out of these sets.
        self.db.require_service()?;
        for run in &state.runs {
            self.visit_bucket(*run, run.bucket_of(prefix), |part| {
                let below = part.partition_point(|bytes| Entry::from_bytes(bytes) < *range.start());
                let from = part.iter().skip(below).map(Entry::from_bytes);
                found.extend(from.take_while(|entry| entry <= range.end()));
            })?;
        }
        Ok(found)
    }

    /// Writes all entries in memory to a new run.
    pub(super) fn store(&self) -> Result<(), ArchiveError> {
        let mut upkeep = self.upkeep();
        let extent = {
            let mut added = self.added();
            added.undo = None;
            self.change(|state| {
                let recent = std::mem::take(&mut state.recent);
                state.frozen.push(recent);
            });
            added.extent
        };
        let state = self.state();
        let mut entries = BTreeSet::new();
        for set in &state.frozen {
            entries.extend(set.read().unwrap_or_else(PoisonError::into_inner).iter().copied());
        }
        let mut runs = state.runs.clone();
        if !entries.is_empty() {
            runs.push(self.write_run(&mut upkeep, &entries)?);
        }
        self.publish(&upkeep, runs, extent, state.frozen.len())
    }

    /// Makes the runs again from the entries of the blocks of `extent`, which `entries_of` returns, and puts them in
    /// the place of the present ones. Those remain in use until then.
    pub(super) fn rebuild(
        &self,
        extent: Extent,
        mut entries_of: impl FnMut(u64) -> Result<Vec<Entry>, ArchiveError>,
    ) -> Result<(), ArchiveError> {
        let mut upkeep = self.upkeep();
        let (mut runs, mut entries) = (Vec::new(), BTreeSet::new());
        for block in 0..extent.blocks {
            entries.extend(entries_of(block)?);
            if entries.len() >= REBUILD {
                runs.push(self.write_run(&mut upkeep, &entries)?);
                entries.clear();
            }
        }
        if !entries.is_empty() {
            runs.push(self.write_run(&mut upkeep, &entries)?);
        }
        let old = self.state();
        self.publish(&upkeep, runs, extent, 0)?;
        let unfinished = upkeep.merge.take().map(|merge| merge.output.id);
        upkeep.garbage.extend(old.runs.iter().map(|run| run.id).chain(unfinished));
        let mut added = self.added();
        if added.extent.blocks < extent.blocks {
            *added = Added { extent, undo: None };
        }
        self.damaged.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Spends up to `budget` reads and writes on merging runs and on removing what they replaced. Returns whether
    /// there is more to do.
    pub(super) fn tidy(&self, budget: u32) -> Result<bool, ArchiveError> {
        let mut upkeep = self.upkeep();
        let mut left = budget;
        while left > 0 {
            let state = self.state();
            let step = if let Some(run) = upkeep.garbage.last().copied() {
                let removed = self.remove_some(run, left)?;
                if removed < left {
                    upkeep.garbage.pop();
                }
                removed
            } else if let Some(merge) = &mut upkeep.merge {
                let step = self.merge_some(merge, left)?;
                if merge.next_bucket == merge.output.buckets() {
                    self.finish_merge(&mut upkeep, &state)?;
                }
                step
            } else if let Some(inputs) = mergeable(&state.runs) {
                let entries = inputs.iter().map(|run| run.entries).fold(0, u64::saturating_add);
                let output = Run::new(upkeep.take_id(), entries);
                upkeep.merge = Some(Merge { inputs, output, next_bucket: 0, entries: 0 });
                1
            } else {
                return Ok(false);
            };
            left = left.saturating_sub(step.max(1));
        }
        Ok(true)
    }

    /// Reads every bucket of every run and returns the number of entries, those in memory included.
    pub(super) fn check(&self) -> Result<u64, ArchiveError> {
        let state = self.state();
        let mut total = u64::try_from(self.recent_len()).unwrap_or(u64::MAX);
        for run in &state.runs {
            let mut entries = 0_u64;
            let mut newest = None;
            for bucket in 0..run.buckets() {
                for entry in self.read_bucket(*run, bucket)? {
                    if run.bucket_of(entry.prefix) != bucket || newest >= Some(entry) {
                        return Err(damaged("entries are out of order"));
                    }
                    newest = Some(entry);
                    entries = entries.saturating_add(1);
                }
            }
            if entries != run.entries {
                return Err(damaged("entries are missing"));
            }
            total = total.saturating_add(entries);
        }
        Ok(total)
    }

    fn state(&self) -> Arc<State> {
        Arc::clone(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn added(&self) -> MutexGuard<'_, Added> {
        self.added.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn upkeep(&self) -> MutexGuard<'_, Upkeep> {
        self.upkeep.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let mut changed = State::clone(&state);
        change(&mut changed);
        *state = Arc::new(changed);
    }

    /// Writes the manifest and lets readers see the runs that it names, in place of the oldest `thawed` sets in memory.
    fn publish(&self, upkeep: &Upkeep, runs: Vec<Run>, covered: Extent, thawed: usize) -> Result<(), ArchiveError> {
        // The manifest must not become durable before what it refers to.
        self.db.flush()?;
        self.db.insert(&[MANIFEST], &write_manifest(&runs, covered, upkeep.next_run))?;
        self.db.flush()?;
        self.change(|state| {
            state.runs = runs;
            state.covered = covered;
            state.generation = state.generation.wrapping_add(1);
            state.frozen.drain(..thawed);
        });
        Ok(())
    }

    fn write_run(&self, upkeep: &mut Upkeep, entries: &BTreeSet<Entry>) -> Result<Run, ArchiveError> {
        let run = Run::new(upkeep.take_id(), u64::try_from(entries.len()).unwrap_or(u64::MAX));
        let mut rest = entries.iter().copied().peekable();
        for bucket in 0..run.buckets() {
            let content: Vec<_> =
                std::iter::from_fn(|| rest.next_if(|entry| run.bucket_of(entry.prefix) == bucket)).collect();
            self.write_bucket(run, bucket, &content)?;
        }
        Ok(run)
    }

    fn write_bucket(&self, run: Run, bucket: u32, entries: &[Entry]) -> Result<(), ArchiveError> {
        let mut rest = entries;
        for part in 0..=u16::MAX {
            let (content, after) = rest.split_at_checked(PART).unwrap_or((rest, &[]));
            let mut payload = Writer::new();
            payload.byte(u8::from(!after.is_empty()));
            for entry in content {
                payload.raw(&entry.to_bytes());
            }
            let key = key(run.id, bucket, part);
            self.db.insert(&key, &seal(&key, payload.as_slice()))?;
            if after.is_empty() {
                return Ok(());
            }
            rest = after;
        }
        Err(damaged("too many hashes begin alike"))
    }

    fn read_bucket(&self, run: Run, bucket: u32) -> Result<Vec<Entry>, ArchiveError> {
        let mut entries = Vec::new();
        self.visit_bucket(run, bucket, |part| entries.extend(part.iter().map(Entry::from_bytes)))?;
        Ok(entries)
    }

    /// Hands the parts of a bucket to `visit`, each ascending and above the one before.
    fn visit_bucket(&self, run: Run, bucket: u32, mut visit: impl FnMut(&[[u8; ENTRY]])) -> Result<(), ArchiveError> {
        for part in 0..=u16::MAX {
            let key = key(run.id, bucket, part);
            let value = self.db.get(&key)?.ok_or_else(|| damaged("a part is missing"))?;
            let payload = unseal(&key, &value).ok_or_else(|| damaged("checksum is wrong"))?;
            let (more, content) = payload.split_first().ok_or_else(|| damaged("a part is empty"))?;
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

    /// Merges buckets until `budget` is spent; returns what was spent.
    fn merge_some(&self, merge: &mut Merge, budget: u32) -> Result<u32, ArchiveError> {
        let mut spent = 0_u32;
        while spent < budget && merge.next_bucket < merge.output.buckets() {
            let bucket = merge.next_bucket;
            let mut content = Vec::new();
            for input in &merge.inputs {
                // An input has at most as many buckets, so that one of its buckets goes into one or more of the output's.
                let shift = merge.output.bits.saturating_sub(input.bits);
                let entries = self.read_bucket(*input, bucket.checked_shr(shift).unwrap_or(0));
                let entries = entries.inspect_err(|error| {
                    if error.is_damage() {
                        self.damaged.store(true, Ordering::Relaxed);
                    }
                })?;
                content.extend(entries.into_iter().filter(|entry| merge.output.bucket_of(entry.prefix) == bucket));
                spent = spent.saturating_add(1);
            }
            content.sort_unstable();
            content.dedup();
            self.write_bucket(merge.output, bucket, &content)?;
            merge.entries = merge.entries.saturating_add(u64::try_from(content.len()).unwrap_or(u64::MAX));
            spent = spent.saturating_add(1);
            merge.next_bucket = bucket.saturating_add(1);
        }
        Ok(spent)
    }

    fn finish_merge(&self, upkeep: &mut Upkeep, state: &State) -> Result<(), ArchiveError> {
        let Some(Merge { inputs, output, entries, .. }) = upkeep.merge.take() else { return Ok(()) };
        let output = Run { entries, ..output };
        let mut runs = state.runs.clone();
        let first = runs.iter().position(|run| inputs.contains(run)).unwrap_or(0);
        runs.retain(|run| !inputs.contains(run));
        runs.insert(first, output);
        self.publish(upkeep, runs, state.covered, 0)?;
        upkeep.garbage.extend(inputs.iter().map(|run| run.id));
        Ok(())
    }

    /// Removes up to `budget` values of a run that nothing refers to; returns how many.
    fn remove_some(&self, run: u32, budget: u32) -> Result<u32, ArchiveError> {
        let keys = self.db.scan(run_keys(run)).take(usize::try_from(budget).unwrap_or(usize::MAX));
        let keys = keys.map(|entry| entry.map(|(key, _)| key)).collect::<Result<Vec<_>, _>>()?;
        for key in &keys {
            self.db.remove(key)?;
        }
        Ok(u32::try_from(keys.len()).unwrap_or(u32::MAX))
    }
}

impl Upkeep {
    fn take_id(&mut self) -> u32 {
        let id = self.next_run;
        self.next_run = id.wrapping_add(1);
        id
    }
}

fn damaged(reason: &str) -> ArchiveError {
    ArchiveError::damaged(Place::INDEX, reason)
}

/// Returns the runs that are worth merging: the largest that is no larger than all smaller ones together, and these.
/// Without such a run, each is larger than the sum of the smaller ones, so that there are few.
fn mergeable(runs: &[Run]) -> Option<Vec<Run>> {
    let mut by_size = runs.to_vec();
    by_size.sort_unstable_by_key(|run| std::cmp::Reverse((run.entries, run.id)));
    let (mut smaller, mut first) = (0_u64, None);
    for (position, run) in by_size.iter().enumerate().rev() {
        if run.entries <= smaller {
            first = Some(position);
        }
        smaller = smaller.saturating_add(run.entries);
    }
    Some(by_size.split_off(first?))
}

fn run_keys(run: u32) -> Range<Vec<u8>> {
    let end =
        run.checked_add(1).map_or(vec![BUCKETS.wrapping_add(1)], |next| [&[BUCKETS], &next.to_be_bytes()[..]].concat());
    [&[BUCKETS], &run.to_be_bytes()[..]].concat()..end
}

/// Returns the runs of which anything is on disk, looking at one key of each.
fn stored_runs(db: &Db) -> Result<Vec<u32>, DbError> {
    let mut runs = Vec::new();
    let mut from = vec![BUCKETS];
    while let Some(entry) = db.scan(from..vec![BUCKETS.wrapping_add(1)]).next() {
        let (key, _) = entry?;
        let Some(run) = key.get(1..).and_then(<[u8]>::first_chunk).map(|run| u32::from_be_bytes(*run)) else { break };
        runs.push(run);
        from = run_keys(run).end;
        if from.len() == 1 {
            break;
        }
    }
    Ok(runs)
}

fn write_manifest(runs: &[Run], covered: Extent, next_run: u32) -> Vec<u8> {
    let mut out = Writer::new();
    out.number(FORMAT);
    out.number(next_run);
    out.number(covered.blocks);
    out.raw(covered.newest.unwrap_or(BlockHash::ZERO).as_bytes());
    out.len(runs.len());
    for run in runs {
        out.number(run.id);
        out.number(run.bits);
        out.number(run.entries);
    }
    seal(&[MANIFEST], out.as_slice())
}

fn read_manifest(payload: &[u8]) -> Result<(State, u32), Malformed> {
    const WHAT: &str = "manifest of index";
    let mut reader = Reader::new(payload);
    if reader.number::<u64>(WHAT)? != FORMAT {
        return Err(Malformed(WHAT));
    }
    let next_run = reader.number(WHAT)?;
    let blocks = reader.number(WHAT)?;
    let newest = Some(BlockHash::new(reader.array(WHAT)?)).filter(|_| blocks > 0);
    let count: usize = reader.number(WHAT)?;
    let mut runs = Vec::new();
    for _ in 0..count {
        let run = Run { id: reader.number(WHAT)?, bits: reader.number(WHAT)?, entries: reader.number(WHAT)? };
        if run.bits > 31 {
            return Err(Malformed(WHAT));
        }
        runs.push(run);
    }
    reader.finish(WHAT)?;
    Ok((State { runs, covered: Extent { blocks, newest }, ..State::default() }, next_run))
}

#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, clippy::cast_possible_truncation, reason = "an overflow fails the test")]
mod tests {
    use proptest::{collection::vec, prelude::*, sample::Index as Pick};
    use silica_protocol::sha256;

    use super::*;
    use crate::db::Disk;

    /// The hash of the position-th thing of a block; every fiftieth begins like all others of its kind.
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
        fn everything_added_is_found_whatever_happens_between(ops in vec(op(), 1..60)) {
            let (disk, mut counts) = (Disk::default(), Vec::new());
            let mut index = open(&disk, &counts);
            // From which block on they can be taken out again.
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
                        prop_assert_eq!((index.covered().blocks, index.recent_len()), (counts.len() as u64, 0));
                    }
                    Op::Tidy(budget) => drop(index.tidy(budget).unwrap()),
                }
            }
            prop_assert_eq!(index.check().unwrap(), counts.iter().copied().map(u64::from).sum::<u64>());
            index.store().unwrap();
            while index.tidy(100).unwrap() {}
            let runs = index.state().runs.clone();
            prop_assert!(mergeable(&runs).is_none(), "{:?}", runs);
            let values: u32 = runs.iter().map(Run::buckets).sum();
            index.db.flush().unwrap();
            let first_parts = disk.keys().iter().filter(|key| key[0] == BUCKETS && key.ends_with(&[0, 0])).count();
            prop_assert_eq!(first_parts, values as usize, "nothing is left of merged runs");
            for (block, count) in counts.iter().enumerate() {
                (0..*count).step_by(97).for_each(|position| check(&index, &counts, block as u64, position));
            }
        }
    }

    #[test]
    fn number_of_runs_is_logarithmic() {
        let (disk, mut counts) = (Disk::default(), Vec::new());
        let index = open(&disk, &counts);
        for block in 0..500 {
            index.add(block_hash(block), &entries(block, 20));
            counts.push(20);
            index.store().unwrap();
            while index.tidy(1000).unwrap() {}
            assert!(index.state().runs.len() <= 10);
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
        let last = key(0, index.state().runs[0].bucket_of(prefix(&[7; 32])), 5);
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
