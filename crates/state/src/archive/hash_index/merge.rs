//! Maintenance: merges segments of similar sizes, and removes the rows of an earlier format.

use std::{iter::Peekable, ops::Range, sync::atomic::Ordering, vec};

use super::{
    Index, State, damaged,
    entry::Entry,
    segment::{MOST_ENTRIES, Segment, SegmentWriter, Shape},
};
use crate::{archive::error::ArchiveError, db::Db, merge_policy::to_merge};

/// Table of the buckets of format 1 in the derived database.
pub(super) const OLD_BUCKETS: u8 = 0xf1;

/// A segment is merged if it has at most this many times as many entries as all smaller segments together. A lookup
/// reads a bucket of each segment, and a merge is a sequential copy. So a small number of segments is worth the
/// additional merges.
const FACTOR: u64 = 3;

/// State of the maintaining thread.
#[derive(Debug, Default)]
pub(super) struct Upkeep {
    pub(super) next_segment: u32,
    pub(super) merge: Option<Merge>,
    /// Whether the database can have rows of format 1.
    pub(super) has_old_rows: bool,
}

impl Upkeep {
    pub(super) fn take_id(&mut self) -> u32 {
        let id = self.next_segment;
        self.next_segment = id.wrapping_add(1);
        id
    }

    /// Returns the places of the file that a new segment must not use.
    pub(super) fn used<'a>(&'a self, segments: impl IntoIterator<Item = &'a Segment>) -> Vec<Range<u64>> {
        let output = self.merge.iter().map(|merge| merge.output.shape().place());
        segments.into_iter().map(|segment| segment.shape.place()).chain(output).collect()
    }
}

/// A merge in progress.
#[derive(Debug)]
pub(super) struct Merge {
    inputs: Vec<Input>,
    output: SegmentWriter,
}

/// A segment whose buckets a merge reads in order.
#[derive(Debug)]
struct Input {
    segment: Segment,
    next_bucket: u32,
    /// The entries of the previous bucket that are in no output bucket yet.
    rest: Peekable<vec::IntoIter<Entry>>,
}

impl Input {
    fn new(segment: Segment) -> Self {
        Self { segment, next_bucket: 0, rest: Vec::new().into_iter().peekable() }
    }

    /// Appends the entries of a bucket of the output to `content`. Returns the number of reads. An input has at most as
    /// many buckets as the output. So all entries of an output bucket are in one bucket of the input.
    fn take(
        &mut self,
        db: &Db,
        output: &SegmentWriter,
        bucket: u32,
        content: &mut Vec<Entry>,
    ) -> Result<u32, ArchiveError> {
        let output = output.shape();
        let shift = output.bits.saturating_sub(self.segment.shape.bits);
        let mut reads = 0;
        if bucket.checked_shr(shift).unwrap_or(0) == self.next_bucket {
            let entries = |bytes: &[_]| bytes.iter().map(Entry::from_bytes).collect::<Vec<_>>();
            self.rest = self.segment.visit(db, self.next_bucket, entries)?.into_iter().peekable();
            self.next_bucket = self.next_bucket.saturating_add(1);
            reads = 1;
        }
        while let Some(entry) = self.rest.next_if(|entry| output.bucket_of(entry.prefix) == bucket) {
            content.push(entry);
        }
        Ok(reads)
    }

    fn is_exhausted(&mut self) -> bool {
        self.next_bucket == self.segment.shape.buckets() && self.rest.peek().is_none()
    }
}

impl Merge {
    /// Begins a merge into a segment with this id.
    fn new(id: u32, inputs: Vec<Segment>, used: Vec<Range<u64>>) -> Self {
        let mut shape = Shape::new(id, entries_of(&inputs));
        // An input can have more buckets than its entries require, because an earlier merge has removed equal entries.
        // The output needs at least as many buckets as each input.
        shape.bits = inputs.iter().map(|input| input.shape.bits).fold(shape.bits, u32::max);
        let output = SegmentWriter::new(shape.at_free_place(used));
        Self { inputs: inputs.into_iter().map(Input::new).collect(), output }
    }

    /// Merges buckets until `budget` is spent or the output has all buckets. Returns the number of reads and writes.
    fn advance(&mut self, db: &Db, budget: u32) -> Result<u32, ArchiveError> {
        let mut spent = 0_u32;
        while spent < budget
            && let Some(bucket) = self.output.next_bucket()
        {
            let mut content = Vec::new();
            for input in &mut self.inputs {
                spent = spent.saturating_add(input.take(db, &self.output, bucket, &mut content)?);
            }
            content.sort_unstable();
            content.dedup();
            self.output.add(db, &content)?;
            spent = spent.saturating_add(1);
        }
        Ok(spent)
    }
}

impl Index {
    /// Merges segments, and then removes old rows, with up to `budget` reads and writes. Returns whether work remains.
    pub(crate) fn tidy(&self, budget: u32) -> Result<bool, ArchiveError> {
        if self.merge(budget)? {
            return Ok(true);
        }
        let mut upkeep = self.upkeep();
        if upkeep.has_old_rows {
            upkeep.has_old_rows = self.remove_old_rows(budget)? == budget;
        }
        Ok(upkeep.has_old_rows)
    }

    /// Merges segments with up to `budget` reads and writes. Returns whether work remains.
    pub(crate) fn merge(&self, budget: u32) -> Result<bool, ArchiveError> {
        let mut upkeep = self.upkeep();
        let mut left = budget;
        while left > 0 {
            let state = self.state();
            let Some(mut merge) = upkeep.merge.take() else {
                let Some(inputs) = mergeable(&state.segments) else { return Ok(false) };
                let id = upkeep.take_id();
                upkeep.merge = Some(Merge::new(id, inputs, upkeep.used(&state.segments)));
                left = left.saturating_sub(1);
                continue;
            };
            // After an error, the merge begins again.
            let step = merge.advance(&self.db, left).inspect_err(|error| {
                if error.is_damage() {
                    self.damaged.store(true, Ordering::Relaxed);
                }
                self.trim(&upkeep, &state.segments);
            })?;
            if merge.output.next_bucket().is_some() {
                upkeep.merge = Some(merge);
            } else {
                self.finish_merge(&upkeep, &state, merge)?;
            }
            left = left.saturating_sub(step.max(1));
        }
        Ok(true)
    }

    fn finish_merge(&self, upkeep: &Upkeep, state: &State, merge: Merge) -> Result<(), ArchiveError> {
        let Merge { mut inputs, output } = merge;
        if !inputs.iter_mut().all(Input::is_exhausted) {
            self.damaged.store(true, Ordering::Relaxed);
            return Err(damaged("an entry is in a wrong bucket"));
        }
        let output = output.finish(&self.db)?;
        let is_input = |segment: &Segment| inputs.iter().any(|input| input.segment.shape == segment.shape);
        let mut segments = state.segments.clone();
        let first = segments.iter().position(is_input).unwrap_or(0);
        segments.retain(|segment| !is_input(segment));
        segments.insert(first, output);
        self.publish(upkeep, segments, state.covered, 0)
    }

    /// Removes up to `budget` rows of format 1. Returns the number of removed rows.
    fn remove_old_rows(&self, budget: u32) -> Result<u32, ArchiveError> {
        let rows = self.db.scan(old_rows()).take(usize::try_from(budget).unwrap_or(usize::MAX));
        let keys = rows.map(|row| row.map(|(key, _)| key)).collect::<Result<Vec<_>, _>>()?;
        for key in &keys {
            self.db.remove(key)?;
        }
        Ok(u32::try_from(keys.len()).unwrap_or(u32::MAX))
    }
}

/// Returns the keys of the buckets of format 1.
pub(super) fn old_rows() -> Range<Vec<u8>> {
    vec![OLD_BUCKETS]..vec![OLD_BUCKETS.saturating_add(1)]
}

/// Returns the segments to merge, or `None` if no merge is due.
pub(super) fn mergeable(segments: &[Segment]) -> Option<Vec<Segment>> {
    let positions = to_merge_within(MOST_ENTRIES, segments.iter().map(|segment| segment.shape.entries))?;
    Some(positions.into_iter().filter_map(|position| segments.get(position).cloned()).collect())
}

/// Returns the positions of the segments to merge, or `None` if no merge is due. `sizes` are the numbers of entries of
/// the segments. Leaves out segments that are too large for a merge into a segment of at most `most` entries.
fn to_merge_within(most: u64, sizes: impl Iterator<Item = u64>) -> Option<Vec<usize>> {
    let mut candidates: Vec<(usize, u64)> = sizes.enumerate().collect();
    loop {
        let chosen = to_merge(FACTOR, candidates.iter().map(|(_, entries)| *entries))?;
        let inputs: Vec<_> = chosen.into_iter().filter_map(|at| candidates.get(at).copied()).collect();
        if inputs.iter().map(|(_, entries)| *entries).fold(0, u64::saturating_add) <= most {
            return Some(inputs.into_iter().map(|(position, _)| position).collect());
        }
        let largest = inputs.into_iter().max_by_key(|(_, entries)| *entries)?;
        candidates.retain(|candidate| *candidate != largest);
    }
}

fn entries_of(segments: &[Segment]) -> u64 {
    segments.iter().map(|segment| segment.shape.entries).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_that_are_too_large_are_not_merged() {
        for (most, sizes, merged) in [
            (18, &[9, 5, 4][..], Some(&[0, 1, 2][..])),
            (17, &[9, 5, 4], Some(&[1, 2])),
            (8, &[9, 5, 4], None),
            (8, &[9, 5, 4, 1, 2], Some(&[3, 4, 2])),
            (u64::MAX, &[u64::MAX, u64::MAX], Some(&[1, 0])),
        ] {
            let found = to_merge_within(most, sizes.iter().copied());
            let sorted = |list: &[usize]| {
                let mut list = list.to_vec();
                list.sort_unstable();
                list
            };
            assert_eq!(found.as_deref().map(sorted), merged.map(sorted), "{most} {sizes:?}");
        }
    }
}
