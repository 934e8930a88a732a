//! Lists of blocks, and of the transactions of a block.

use std::ops::Range;

use silica_protocol::{BlockHash, BlockNumber, DsBlockNumber, Receipt, Transaction, TxBlockHeader, TxHash};
use silica_state::ArchiveError;

use super::Snapshot;

/// Number of blocks on a page of a listing.
const LISTING_PAGE: u64 = 10;
/// Number of transactions on a page of a block.
const PAGE: u32 = TxBlockHeader::TRANSACTIONS_PER_PAGE;

/// A page of a listing of blocks, the latest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing<N> {
    /// Number and hash of each block.
    pub blocks: Vec<(N, BlockHash)>,
    /// Number of the last page.
    pub pages: u64,
}

/// A page of the transactions of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionsPage {
    /// Number of the page, from 0.
    pub page: u64,
    /// Number of pages.
    pub pages: u64,
    /// Hashes of the transactions on the page, for each shard in order. The DS committee comes last.
    pub by_shard: Vec<Vec<TxHash>>,
}

/// The positions of a page of transactions in a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PositionsPage {
    /// Number of the page, from 0.
    pub page: u64,
    /// Number of pages.
    pub pages: u64,
    /// Positions of the transactions of the page.
    pub positions: Range<u32>,
}

impl Snapshot {
    /// Returns page `page` of the Tx blocks, the latest first. Pages start at 1.
    ///
    /// # Errors
    ///
    /// [`ListingError`]: the page does not exist, or a block could not be read.
    pub fn tx_block_listing(&self, page: u64) -> Result<Listing<BlockNumber>, ListingError> {
        let latest = self.published.head.number().get();
        let hash = |number| self.tx_block_hash(BlockNumber::new(number));
        Ok(listing(latest, page, hash)?.numbered(BlockNumber::new))
    }

    /// Returns page `page` of the DS blocks, the latest first. Pages start at 1.
    ///
    /// # Errors
    ///
    /// [`ListingError`]: the page does not exist, or a block could not be read.
    pub fn ds_block_listing(&self, page: u64) -> Result<Listing<DsBlockNumber>, ListingError> {
        let latest = self.latest_ds_block().header.number.get();
        let hash = |number| {
            self.published.state.ds_header(DsBlockNumber::new(number)).map(|header| header.map(|header| header.hash()))
        };
        Ok(listing(latest, page, hash)?.numbered(DsBlockNumber::new))
    }

    /// Returns the hashes of the transactions of a block, for each shard in order. The DS committee comes last.
    ///
    /// # Errors
    ///
    /// [`BlockTransactionsError`]: the block does not exist, has no transactions, or could not be read.
    pub fn block_transactions(&self, number: BlockNumber) -> Result<Vec<Vec<TxHash>>, BlockTransactionsError> {
        let header = self.published.state.tx_header(number)?;
        if header.is_some_and(|header| header.tx_count == 0) {
            return Err(BlockTransactionsError::Empty);
        }
        let micro_blocks = self.published.state.micro_blocks_of(number)?;
        let micro_blocks = micro_blocks.ok_or(BlockTransactionsError::UnknownBlock { number })?;
        let by_shard: Vec<Vec<TxHash>> = micro_blocks.into_iter().map(|block| block.tx_hashes).collect();
        if by_shard.iter().all(Vec::is_empty) {
            return Err(BlockTransactionsError::Empty);
        }
        Ok(by_shard)
    }

    /// Returns page `page` of the transactions of a block. Pages start at 0.
    ///
    /// # Errors
    ///
    /// [`BlockTransactionsError`]: the block does not exist or could not be read, or the page has no transactions.
    pub fn block_transactions_page(
        &self,
        number: BlockNumber,
        page: u64,
    ) -> Result<TransactionsPage, BlockTransactionsError> {
        let by_shard = self.block_transactions(number)?;
        let size = usize::try_from(PAGE).unwrap_or(usize::MAX);
        let count: usize = by_shard.iter().map(Vec::len).sum();
        let pages = u64::try_from(count.div_ceil(size)).unwrap_or(u64::MAX);
        let first = usize::try_from(page).ok().and_then(|page| page.checked_mul(size)).filter(|first| *first < count);
        let mut skip = first.ok_or(BlockTransactionsError::Empty)?;
        let mut take = size;
        let page_of = |hashes: Vec<TxHash>| {
            let part: Vec<TxHash> = hashes.iter().skip(skip).take(take).copied().collect();
            skip = skip.saturating_sub(hashes.len());
            take = take.saturating_sub(part.len());
            part
        };
        Ok(TransactionsPage { page, pages, by_shard: by_shard.into_iter().map(page_of).collect() })
    }

    /// Returns the positions of the transactions of a block that are on page `page`. Pages start at 0. Without a page,
    /// returns all positions.
    ///
    /// # Errors
    ///
    /// [`BlockTransactionsError`]: the block does not exist or could not be read, or the page has no transactions.
    pub fn block_positions(
        &self,
        number: BlockNumber,
        page: Option<u64>,
    ) -> Result<PositionsPage, BlockTransactionsError> {
        let header = self.published.state.tx_header(number)?;
        let header = header.ok_or(BlockTransactionsError::UnknownBlock { number })?;
        let (count, pages) = (header.tx_count, u64::from(header.page_count()));
        let all = if page.is_some() { PAGE } else { count };
        let first = u32::try_from(page.unwrap_or(0)).ok().and_then(|page| page.checked_mul(all));
        let first = first.filter(|first| *first < count).ok_or(BlockTransactionsError::Empty)?;
        let positions = first..first.saturating_add(all).min(count);
        Ok(PositionsPage { page: page.unwrap_or(0), pages, positions })
    }

    /// Returns the transactions at some positions of a block with their receipts, in the order of its micro blocks.
    /// Positions after the last transaction are ignored.
    ///
    /// # Errors
    ///
    /// [`BlockTransactionsError`]: the block does not exist or could not be read.
    pub fn block_bodies(
        &self,
        number: BlockNumber,
        positions: Range<u32>,
    ) -> Result<Vec<(Transaction, Receipt)>, BlockTransactionsError> {
        let bodies = self.published.state.transactions(number, positions)?;
        bodies.ok_or(BlockTransactionsError::UnknownBlock { number })
    }
}

impl Listing<u64> {
    fn numbered<N>(self, number: impl Fn(u64) -> N) -> Listing<N> {
        let blocks = self.blocks.into_iter().map(|(block, hash)| (number(block), hash)).collect();
        Listing { blocks, pages: self.pages }
    }
}

fn listing(
    latest: u64,
    page: u64,
    hash: impl Fn(u64) -> Result<Option<BlockHash>, ArchiveError>,
) -> Result<Listing<u64>, ListingError> {
    let pages = (latest / LISTING_PAGE).saturating_add(1);
    let before = page.checked_sub(1).filter(|before| *before < pages);
    let skipped = before.ok_or(ListingError::Page { got: page, last: pages })?.saturating_mul(LISTING_PAGE);
    let first = latest.saturating_sub(skipped);
    let mut blocks = Vec::new();
    for number in (0..=first).rev().zip(0..LISTING_PAGE).map(|(number, _)| number) {
        if let Some(hash) = hash(number)? {
            blocks.push((number, hash));
        }
    }
    Ok(Listing { blocks, pages })
}

/// Reason why a listing of blocks has no page.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListingError {
    /// The page is 0 or above the last page.
    #[error("Pages out of limit")]
    Page {
        /// The requested page.
        got: u64,
        /// The last page.
        last: u64,
    },
    /// A read of blocks failed.
    #[error("failed to read blocks")]
    Archive(#[from] ArchiveError),
}

/// Reason why the transactions of a block cannot be listed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BlockTransactionsError {
    /// The block does not exist.
    #[error("Tx Block does not exist")]
    UnknownBlock {
        /// The requested number.
        number: BlockNumber,
    },
    /// The block or the page has no transactions.
    #[error("TxBlock has no transactions")]
    Empty,
    /// A read of blocks failed.
    #[error("failed to read blocks")]
    Archive(#[from] ArchiveError),
}
