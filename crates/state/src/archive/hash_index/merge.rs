//! Maintenance: merges segments of similar sizes, and removes the segments that a merge has replaced.

use std::sync::atomic::Ordering;

use super::{Index, State, segment::Segment};
use crate::{archive::error::ArchiveError, merge_policy::to_merge};

/// State of the maintaining thread.
#[derive(Debug, Default)]
pub(super) struct Upkeep {
    pub(super) next_segment: u32,
    pub(super) merge: Option<Merge>,
    /// Ids of segments that are on disk, but not in the manifest.
    pub(super) garbage: Vec<u32>,
}

impl Upkeep {
    pub(super) fn take_id(&mut self) -> u32 {
        let id = self.next_segment;
        self.next_segment = id.wrapping_add(1);
        id
    }
}

/// A merge in progress.
#[derive(Debug)]
pub(super) struct Merge {
    pub(super) inputs: Vec<Segment>,
    pub(super) output: Segment,
    pub(super) next_bucket: u32,
    /// Number of entries written by the merge.
    pub(super) entries: u64,
}

impl Index {
    /// Merges segments and removes replaced segments, with up to `budget` reads and writes. Returns whether work
    /// remains.
    pub(crate) fn tidy(&self, budget: u32) -> Result<bool, ArchiveError> {
        let mut upkeep = self.upkeep();
        let mut left = budget;
        while left > 0 {
            let state = self.state();
            let step = if let Some(segment) = upkeep.garbage.last().copied() {
                let removed = self.remove_some(segment, left)?;
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
            } else if let Some(inputs) = mergeable(&state.segments) {
                let entries = inputs.iter().map(|segment| segment.entries).fold(0, u64::saturating_add);
                let output = Segment::new(upkeep.take_id(), entries);
                upkeep.merge = Some(Merge { inputs, output, next_bucket: 0, entries: 0 });
                1
            } else {
                return Ok(false);
            };
            left = left.saturating_sub(step.max(1));
        }
        Ok(true)
    }

    /// Merges buckets until `budget` is spent. Returns the number of reads and writes.
    fn merge_some(&self, merge: &mut Merge, budget: u32) -> Result<u32, ArchiveError> {
        let mut spent = 0_u32;
        while spent < budget && merge.next_bucket < merge.output.buckets() {
            let bucket = merge.next_bucket;
            let mut content = Vec::new();
            for input in &merge.inputs {
                // An input has at most as many buckets as the output. So all entries of an output bucket are in one
                // bucket of each input.
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
        let output = Segment { entries, ..output };
        let mut segments = state.segments.clone();
        let first = segments.iter().position(|segment| inputs.contains(segment)).unwrap_or(0);
        segments.retain(|segment| !inputs.contains(segment));
        segments.insert(first, output);
        self.publish(upkeep, segments, state.covered, 0)?;
        upkeep.garbage.extend(inputs.iter().map(|segment| segment.id));
        Ok(())
    }
}

/// Returns the segments to merge, or `None`.
pub(super) fn mergeable(segments: &[Segment]) -> Option<Vec<Segment>> {
    let positions = to_merge(segments.iter().map(|segment| segment.entries))?;
    Some(positions.into_iter().filter_map(|position| segments.get(position).copied()).collect())
}
