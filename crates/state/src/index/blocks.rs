//! The entries of blocks, read from the record.

use std::collections::BTreeMap;

use silica_protocol::{BlockHash, BlockNumber};

use super::{
    damaged,
    entry::{IndexKinds, Key, add_block, add_transactions},
};
use crate::archive::{ArchiveError, ArchiveView};

/// The entries of consecutive blocks.
#[derive(Debug)]
pub(crate) struct BlockEntries {
    pub(super) first: BlockNumber,
    /// The last block, and its hash.
    pub(crate) last: BlockNumber,
    pub(super) hash: BlockHash,
    pub(super) entries: BTreeMap<Key, u8>,
}

/// Number of entries after which [`read_blocks`] reads no further block.
const MANY_ENTRIES: usize = 1 << 13;
/// Number of blocks that [`read_blocks`] reads at most. A part of an empty block range counts as one block, if the index
/// has no entries for it.
const MANY_BLOCKS: usize = 1 << 10;

/// Reads the entries of the blocks from `first` on, below `end`. Returns `None` if the record has no block `first`.
pub(crate) fn read_blocks(
    view: &ArchiveView,
    kinds: IndexKinds,
    first: BlockNumber,
    end: u64,
) -> Result<Option<BlockEntries>, ArchiveError> {
    let head = view.head().map(|head| head.number);
    let newest = end.checked_sub(1).map(BlockNumber::new).min(head);
    let Some(newest) = newest.filter(|newest| first <= *newest) else { return Ok(None) };
    let (mut next, mut entries) = (first, BTreeMap::new());
    for _ in 0..MANY_BLOCKS {
        let number = next;
        let range_end = view.range_end(number)?;
        let last = match range_end {
            Some(end) if !kinds.blocks => end.min(newest),
            _ => number,
        };
        if range_end.is_none() {
            let transactions = view.transactions(number, 0..u32::MAX)?.unwrap_or_default();
            add_transactions(kinds, number, &transactions, &mut entries)
                .ok_or_else(|| damaged(format!("block {number} has too many transactions")))?;
        }
        let hash = view.hash_of(last)?.ok_or_else(|| damaged(format!("the record has no block {last}")))?;
        add_block(kinds, last, &hash, &mut entries);
        if last >= newest || entries.len() >= MANY_ENTRIES {
            return Ok(Some(BlockEntries { first, last, hash, entries }));
        }
        next = BlockNumber::new(last.get().saturating_add(1));
    }
    let last = next.previous().unwrap_or(next);
    let hash = view.hash_of(last)?.ok_or_else(|| damaged(format!("the record has no block {last}")))?;
    Ok(Some(BlockEntries { first, last, hash, entries }))
}
