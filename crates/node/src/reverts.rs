//! How often a chain was taken back, and how far, for those who follow it.

use silica_protocol::BlockNumber;

/// The latest Tx block, as one who follows the chain sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tip {
    /// Its number.
    pub(crate) number: BlockNumber,
    /// How often the chain was taken back before.
    pub(crate) reverts: u64,
}

/// Entries that are kept at most.
const MOST: usize = 1_024;

/// How often the chain was taken back, and to which blocks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reverts {
    count: u64,
    /// The ordinals of those that went further back than all after them, with their blocks; both ascend.
    lowest: Vec<(u64, BlockNumber)>,
}

impl Reverts {
    /// How often the chain was taken back.
    pub(crate) const fn count(&self) -> u64 {
        self.count
    }

    /// The same after the chain was taken back to a block.
    pub(crate) fn after(&self, to: BlockNumber) -> Self {
        let count = self.count.saturating_add(1);
        let mut lowest: Vec<_> = self.lowest.iter().copied().filter(|(_, block)| *block < to).collect();
        lowest.push((count, to));
        if lowest.len() > MOST {
            // Who has not noticed for so long goes back further than needed.
            let (_, block) = lowest.remove(0);
            if let Some((_, next)) = lowest.first_mut() {
                *next = block;
            }
        }
        Self { count, lowest }
    }

    /// The lowest block to which the chain was taken back since it had been taken back `seen` times, if it was.
    pub(crate) fn since(&self, seen: u64) -> Option<BlockNumber> {
        self.lowest.iter().find(|(ordinal, _)| *ordinal > seen).map(|(_, block)| *block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lowest_block_since_is_that_of_all_since() {
        let (mut reverts, mut blocks, mut random) = (Reverts::default(), Vec::new(), 1_u64);
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
    fn old_entries_are_merged_towards_the_lower_block() {
        let mut reverts = Reverts::default();
        for block in 1..=5_000 {
            reverts = reverts.after(BlockNumber::new(block));
        }
        assert_eq!(reverts.lowest.len(), MOST);
        assert_eq!(reverts.since(0), Some(BlockNumber::new(1)));
        assert_eq!(reverts.since(3_000), Some(BlockNumber::new(1)));
        assert_eq!(reverts.since(4_990), Some(BlockNumber::new(4_991)));
        assert_eq!(reverts.since(5_000), None);
    }
}
