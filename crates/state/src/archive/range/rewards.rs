//! The rewards of the blocks of an empty block range.

use silica_protocol::{BlockNumber, Qa};

use super::{EmptyBlockRange, StoredRange};
use crate::archive::view::BlockRewards;

impl StoredRange {
    /// Returns the rewards in the header of a block of the range, and the fees of its DS epoch up to the block. Returns
    /// `None` if the block is not in the range. Computes no hash.
    pub(in crate::archive) fn rewards_of(&self, number: BlockNumber) -> Option<BlockRewards> {
        let EmptyBlockRange { template, parts } = &self.range;
        let (part, at) = self.range.find(number)?;
        let closing = part.closing.filter(|_| at == part.plain);
        let in_header = closing.map_or(template.tx_block.rewards, |closing| closing.rewards);
        let mut up_to_part = parts.iter().take_while(|other| other.start <= part.start);
        let is_same_epoch = up_to_part.all(|other| other.opening.is_none());
        let ds_epoch_fees = if is_same_epoch { self.before.ds_epoch_fees } else { Qa::ZERO };
        Some(BlockRewards { in_header, ds_epoch_fees })
    }
}
