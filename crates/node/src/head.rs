//! The published head of the chain: what queries read, what followers of the chain see, and the log of reverts.

use std::sync::{Arc, OnceLock};

use hyper::body::Bytes;
use silica_chain::{Chain, Snapshot};
use silica_protocol::{BlockNumber, ChainId, rpc::error::RpcError};

/// What a query reads. The driver makes one for each head. A request takes one and keeps it until it is answered.
#[derive(Debug)]
pub(crate) struct Context {
    /// The chain at this head.
    pub(crate) snapshot: Snapshot,
    /// The identity of the network.
    pub(crate) chain_id: ChainId,
    /// The reverts before this head.
    pub(crate) reverts: Arc<RevertLog>,
    /// The answers that do not change until the next head, by the position of their method in the table. The first request
    /// for such an answer allocates the slots.
    answers: OnceLock<Box<[OnceLock<Bytes>]>>,
}

impl Context {
    /// Takes a snapshot of the chain.
    pub(crate) fn new(chain: &Chain, reverts: Arc<RevertLog>) -> Self {
        Self { snapshot: chain.snapshot(), chain_id: chain.config().chain_id, reverts, answers: OnceLock::new() }
    }

    /// Returns the latest Tx block and the count of reverts before it.
    pub(crate) fn tip(&self) -> ChainTip {
        ChainTip { number: self.head(), reverts: self.reverts.count() }
    }

    /// Returns the number of the latest Tx block.
    pub(crate) fn head(&self) -> BlockNumber {
        self.snapshot.latest_tx_block().header.number
    }

    /// Returns the answer in the slot at `position`, one of `slots`. The first call computes it with `render`.
    ///
    /// # Errors
    ///
    /// The error of `render`, which is not cached; an internal error where there is no slot at `position`.
    pub(crate) fn per_head(
        &self,
        (position, slots): (usize, usize),
        render: fn(&Self) -> Result<Bytes, RpcError>,
    ) -> Result<&Bytes, RpcError> {
        let answers = self.answers.get_or_init(|| (0..slots).map(|_| OnceLock::new()).collect());
        let answer = answers.get(position).ok_or(RpcError::INTERNAL_ERROR)?;
        if let Some(answer) = answer.get() {
            return Ok(answer);
        }
        let rendered = render(self)?;
        Ok(answer.get_or_init(|| rendered))
    }
}

/// The latest Tx block, and how many reverts preceded it. Two tips with one number differ if the chain was reverted
/// between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChainTip {
    /// The number of the block.
    pub(crate) number: BlockNumber,
    /// The count of reverts before it.
    pub(crate) reverts: u64,
}

/// The maximum of entries in the log of reverts.
const MOST: usize = 1_024;

/// The log of reverts: how many there were, and to which blocks.
///
/// A follower of the chain that missed some reverts asks for the lowest block since, and continues from there.
#[derive(Clone, Debug, Default)]
pub(crate) struct RevertLog {
    count: u64,
    /// Ordinal and block of each revert that went to a lower block than all later reverts. Both ascend.
    lowest: Vec<(u64, BlockNumber)>,
}

impl RevertLog {
    /// Returns the count of reverts.
    pub(crate) const fn count(&self) -> u64 {
        self.count
    }

    /// Returns the log with one more revert, to block `to`.
    pub(crate) fn after(&self, to: BlockNumber) -> Self {
        let count = self.count.saturating_add(1);
        let mut lowest: Vec<_> = self.lowest.iter().copied().filter(|(_, block)| *block < to).collect();
        lowest.push((count, to));
        if lowest.len() > MOST {
            // Merge the two oldest entries. A follower that missed so many reverts goes back further than needed.
            let (_, block) = lowest.remove(0);
            if let Some((_, next)) = lowest.first_mut() {
                *next = block;
            }
        }
        Self { count, lowest }
    }

    /// Returns the lowest block of all reverts after the first `seen`; `None` if there were no others.
    pub(crate) fn since(&self, seen: u64) -> Option<BlockNumber> {
        self.lowest.iter().find(|(ordinal, _)| *ordinal > seen).map(|(_, block)| *block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lowest_block_since_is_that_of_all_since() {
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
    fn old_entries_are_merged_towards_the_lower_block() {
        let mut reverts = RevertLog::default();
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
