//! The log of reverts, with which a follower of the chain finds the block from which it has to read again.

use silica_protocol::BlockNumber;

/// The number of the latest Tx block, and the number of reverts before this block became the latest. If the chain was
/// reverted between two tips with the same block number, their numbers of reverts differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainTip {
    /// The number of the latest Tx block.
    pub number: BlockNumber,
    /// The number of reverts since the chain was opened.
    pub reverts: u64,
}

/// The maximum number of entries of a log. With 16 bytes for an entry, each head has at most 16 KiB for its log.
const MAX_ENTRIES: usize = 1_024;

/// How often the chain was reverted since it was opened, and to which blocks.
///
/// A recovery of the store counts as a revert to the head, because older snapshots can return errors after both.
#[derive(Clone, Debug, Default)]
pub(crate) struct RevertLog {
    count: u64,
    /// The ordinal number and the block of each revert whose block is lower than the blocks of all later reverts. Both
    /// numbers ascend in this list.
    lowest: Vec<(u64, BlockNumber)>,
}

impl RevertLog {
    /// Returns the number of reverts.
    pub(crate) const fn count(&self) -> u64 {
        self.count
    }

    /// Returns the log with one more revert, to block `to`.
    pub(crate) fn after(&self, to: BlockNumber) -> Self {
        let count = self.count.saturating_add(1);
        let mut lowest: Vec<_> = self.lowest.iter().copied().filter(|(_, block)| *block < to).collect();
        lowest.push((count, to));
        if lowest.len() > MAX_ENTRIES {
            // Merge the two oldest entries. If a follower missed more reverts than the log contains, the follower reads
            // more blocks again than needed.
            let (_, block) = lowest.remove(0);
            if let Some((_, next)) = lowest.first_mut() {
                *next = block;
            }
        }
        Self { count, lowest }
    }

    /// Returns the number of the lowest block of all reverts after the first `seen` reverts, or `None` if there were no
    /// more.
    pub(crate) fn since(&self, seen: u64) -> Option<BlockNumber> {
        self.lowest.iter().find(|(ordinal, _)| *ordinal > seen).map(|(_, block)| *block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lowest_block_since_a_revert_is_the_lowest_of_all_later_reverts() {
        let (mut reverts, mut blocks, mut random) = (RevertLog::default(), Vec::new(), 1_u64);
        for _ in 0..100 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            blocks.push(random >> 58);
            reverts = reverts.after(BlockNumber::new(random >> 58));
            for seen in 0..=blocks.len() {
                let lowest = blocks[seen..].iter().min().copied().map(BlockNumber::new);
                assert_eq!(reverts.since(u64::try_from(seen).unwrap()), lowest);
            }
            assert_eq!(reverts.count(), u64::try_from(blocks.len()).unwrap());
        }
    }

    #[test]
    fn full_log_merges_its_oldest_entries_into_the_lower_block() {
        let mut reverts = RevertLog::default();
        for block in 1..=5_000 {
            reverts = reverts.after(BlockNumber::new(block));
        }
        assert_eq!(reverts.lowest.len(), MAX_ENTRIES);
        assert_eq!(reverts.since(0), Some(BlockNumber::new(1)));
        assert_eq!(reverts.since(3_000), Some(BlockNumber::new(1)));
        assert_eq!(reverts.since(4_990), Some(BlockNumber::new(4_991)));
        assert_eq!(reverts.since(5_000), None);
    }
}
