//! The list of Tx blocks, in which consecutive blocks without transactions are one row.

use silica_protocol::{BlockHash, BlockNumber, DsBlockNumber, Gas, Qa, Timestamp};
use silica_state::ArchiveError;

use crate::{snapshot::Snapshot, transaction_search::HistoryOrder};

/// A page of the list of Tx blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockListPage {
    /// The rows in the requested order.
    pub rows: Vec<BlockRow>,
    /// The first block of the next page, or `None` on the last page.
    pub next: Option<BlockNumber>,
}

/// A block with transactions, or consecutive blocks without transactions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockRow {
    /// Number of the first block of the row.
    pub first: BlockNumber,
    /// Number of the last block. The following members describe this block.
    pub last: BlockNumber,
    /// Hash of the block.
    pub hash: BlockHash,
    /// Timestamp of the block.
    pub timestamp: Timestamp,
    /// Number of the DS block in force at the block.
    pub ds_block: DsBlockNumber,
    /// Number of transactions in the block; 0 for blocks without transactions.
    pub transactions: u32,
    /// Gas that the transactions used.
    pub gas_used: Gas,
    /// Fees of the transactions.
    pub fees: Qa,
}

impl Snapshot {
    /// Returns a page of at most `limit` rows, from block `from` on. Without `from`, the first page begins at the head
    /// or at block 0. A `limit` of 0 means 1.
    ///
    /// The cost of a row grows with the logarithm of the number of its blocks.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`]: the record could not be read.
    pub fn block_list(
        &self,
        order: HistoryOrder,
        from: Option<BlockNumber>,
        limit: usize,
    ) -> Result<BlockListPage, ArchiveError> {
        let head = self.latest_tx_block().header.number;
        let mut next = match order {
            HistoryOrder::NewestFirst => Some(from.unwrap_or(head).min(head)),
            HistoryOrder::OldestFirst => Some(from.unwrap_or(BlockNumber::new(0))).filter(|from| *from <= head),
        };
        let mut rows = Vec::new();
        while let Some(block) = next
            && rows.len() < limit.max(1)
        {
            let (first, last) = match order {
                HistoryOrder::NewestFirst => (self.first_alike(block)?, block),
                HistoryOrder::OldestFirst => (block, self.last_alike(block, head)?),
            };
            rows.extend(self.block_row(first, last)?);
            next = match order {
                HistoryOrder::NewestFirst => first.previous(),
                HistoryOrder::OldestFirst => last.next().filter(|next| *next <= head),
            };
        }
        Ok(BlockListPage { rows, next })
    }

    /// Returns the first block of the row that ends with `block`.
    fn first_alike(&self, block: BlockNumber) -> Result<BlockNumber, ArchiveError> {
        let newest = self.state().newest_with_transactions(block)?;
        let after = newest.filter(|newest| *newest < block).and_then(BlockNumber::next);
        Ok(after.unwrap_or_else(|| if newest.is_some() { block } else { BlockNumber::new(0) }))
    }

    /// Returns the last block of the row that begins with `block`.
    fn last_alike(&self, block: BlockNumber, head: BlockNumber) -> Result<BlockNumber, ArchiveError> {
        if self.state().newest_with_transactions(block)? == Some(block) {
            return Ok(block);
        }
        let next = self.next_with_transactions(block, || {})?;
        Ok(next.and_then(BlockNumber::previous).unwrap_or(head))
    }

    fn block_row(&self, first: BlockNumber, last: BlockNumber) -> Result<Option<BlockRow>, ArchiveError> {
        let Some(header) = self.state().tx_header(last)? else { return Ok(None) };
        let (hash, timestamp) = (self.state().hash_of(last)?, self.state().time_of(last)?);
        // The header of a vacuous block has the coinbase reward in place of the fees.
        let fees = if self.is_vacuous(last) { Qa::ZERO } else { header.rewards };
        Ok(Some(BlockRow {
            first,
            last,
            hash: hash.unwrap_or(BlockHash::ZERO),
            timestamp: timestamp.unwrap_or_default(),
            ds_block: header.ds_block,
            transactions: header.tx_count,
            gas_used: header.gas_used,
            fees,
        }))
    }
}
