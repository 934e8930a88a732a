//! Tx blocks, their transactions, and the epochs that they end.

use std::{ops::Range, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use silica_chain::{BlockTransactionsError, Snapshot, config::Numbering};
use silica_protocol::{
    BlockHash, BlockNumber, Receipt, ShardId, Transaction, TxBlock, TxHash,
    rpc::{
        block::{
            BlockListing, BlockListingEntry, RawBlock, RewardKind, TransactionsByShard, TransactionsPage, TxBlockJson,
        },
        error::RpcError,
        text::Dec,
        transaction::TransactionJson,
    },
};
use silica_state::StateError;

use crate::{
    head::Context,
    http::Chunks,
    rpc::{
        CallError, ChunkedResult, Entry, Method, RESULT_CHUNK, Streamed,
        params::{AnyBase, Decimal, Integral, NumberFault, PageText, Text},
    },
    statistics,
};

/// Rows of the method table for the methods in this file.
pub(super) const ENTRIES: &[Entry] = &[
    Entry::per_head::<GetCurrentMiniEpoch>(),
    Entry::per_head::<GetLatestTxBlock>(),
    Entry::per_head::<GetNumTransactions>(),
    Entry::per_head::<GetNumTxBlocks>(),
    Entry::per_head::<GetNumTxnsDsEpoch>(),
    Entry::per_head::<GetNumTxnsTxEpoch>(),
    Entry::of::<GetRawTxBlock>(),
    Entry::per_head::<GetTransactionRate>(),
    Entry::of::<GetTransactionsForTxBlock>().of_weight(5),
    Entry::of::<GetTransactionsForTxBlockEx>().of_weight(5),
    Entry::of::<GetTxBlock>(),
    Entry::per_head::<GetTxBlockRate>(),
    Entry::of::<GetTxBlockVerbose>(),
    Entry::streamed::<GetTxnBodiesForTxBlock>().of_weight(20),
    Entry::streamed::<GetTxnBodiesForTxBlockEx>().of_weight(20),
    Entry::of::<TxBlockListing>().of_weight(5),
];

/// Returns the error for a text that is not a block number.
const fn invalid_number(fault: NumberFault) -> RpcError {
    fault.with_text("Invalid argument")
}

/// A Tx block by its number.
///
/// If the block does not exist, the result is a block with number 18446744073709551615.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetTxBlock {
    /// Number of the block.
    number: Text<Decimal>,
}

impl Method for GetTxBlock {
    const NAME: &'static str = "GetTxBlock";
    type Output = TxBlockJson;

    fn call(self, at: &Context) -> Result<TxBlockJson, CallError> {
        let Decimal(number) = self.number.get().map_err(invalid_number)?;
        let block = at.snapshot.tx_block(BlockNumber::new(number))?;
        Ok(block.map_or_else(TxBlockJson::missing, |block| shape(&block, &at.snapshot)))
    }
}

/// A Tx block by its number, with all parts that its committee signed.
///
/// If the block does not exist, the result is a block with number 18446744073709551615.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetTxBlockVerbose {
    /// Number of the block.
    number: Text<Decimal>,
}

impl Method for GetTxBlockVerbose {
    const NAME: &'static str = "GetTxBlockVerbose";
    type Output = TxBlockJson;

    fn call(self, at: &Context) -> Result<TxBlockJson, CallError> {
        let Decimal(number) = self.number.get().map_err(invalid_number)?;
        let number = BlockNumber::new(number);
        let verbose = |block: Arc<TxBlock>| TxBlockJson::verbose(&block, rewards(number, &at.snapshot));
        Ok(at.snapshot.tx_block(number)?.map_or_else(TxBlockJson::missing_verbose, verbose))
    }
}

/// A Tx block by its number, in the serialized form of the network.
///
/// If the block does not exist, the result is a block with number 18446744073709551615.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetRawTxBlock {
    /// Number of the block.
    number: Text<Decimal>,
}

impl Method for GetRawTxBlock {
    const NAME: &'static str = "GetRawTxBlock";
    type Output = RawBlock;

    fn call(self, at: &Context) -> Result<RawBlock, CallError> {
        // The reference has this misspelling in the methods of DS blocks and in this method.
        let Decimal(number) = self.number.get().map_err(|fault| fault.with_text("Invalid arugment"))?;
        let block = at.snapshot.tx_block(BlockNumber::new(number))?;
        Ok(RawBlock::new(&block.map_or_else(TxBlock::encode_missing, |block| block.encode())))
    }
}

/// The latest Tx block. The method is not available in the block mode `manual-immediate`.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetLatestTxBlock {}

impl Method for GetLatestTxBlock {
    const NAME: &'static str = "GetLatestTxBlock";
    type Output = TxBlockJson;

    fn call(self, at: &Context) -> Result<TxBlockJson, CallError> {
        require_one_number(at)?;
        Ok(shape(at.snapshot.latest_tx_block(), &at.snapshot))
    }
}

/// Rejects a method on a chain where only requests increase the logical block number. Clients use the result of such a
/// method as the current block number.
///
/// In the block mode `manual-immediate`, the isolated server of the reference does not have these methods
/// (`IsolatedServer.cpp` of v8.1.2, lines 36 to 141). Clients of this server read the number from receipts or with
/// `GetBlocknum`.
fn require_one_number(at: &Context) -> Result<(), CallError> {
    match at.snapshot.numbering() {
        Numbering::EveryBlock => Ok(()),
        Numbering::OnDemand => Err(RpcError::METHOD_NOT_FOUND.into()),
    }
}

pub(crate) fn shape(block: &TxBlock, at: &Snapshot) -> TxBlockJson {
    TxBlockJson::new(block, rewards(block.header.number, at))
}

/// Returns the meaning of the member `Rewards` of a block.
fn rewards(block: BlockNumber, at: &Snapshot) -> RewardKind {
    if at.is_vacuous(block) { RewardKind::Coinbase } else { RewardKind::Fees }
}

/// Numbers and hashes of Tx blocks, the latest block first, 10 blocks per page.
#[derive(Debug, Deserialize, JsonSchema)]
struct TxBlockListing {
    /// Number of the page, from 1.
    page: Integral,
}

impl Method for TxBlockListing {
    const NAME: &'static str = "TxBlockListing";
    type Output = BlockListing;

    fn call(self, at: &Context) -> Result<BlockListing, CallError> {
        let listing = at.snapshot.tx_block_listing(self.page.0.into())?;
        let entry =
            |(number, hash): (BlockNumber, BlockHash)| BlockListingEntry { number: number.get(), hash: hash.into() };
        Ok(BlockListing { blocks: listing.blocks.into_iter().map(entry).collect(), last_page: listing.pages })
    }
}

/// Hashes of the transactions of a Tx block, one array for each shard. The last array belongs to the DS committee.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetTransactionsForTxBlock {
    /// Number of the block.
    number: Text<AnyBase>,
}

impl Method for GetTransactionsForTxBlock {
    const NAME: &'static str = "GetTransactionsForTxBlock";
    type Output = TransactionsByShard;

    fn call(self, at: &Context) -> Result<Self::Output, CallError> {
        all_hashes(self.number, at)
    }
}

/// One page of the transaction hashes of a Tx block.
///
/// A page has at most 2500 transactions. The array of a shard without transactions on the page is empty.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetTransactionsForTxBlockEx {
    /// Number of the block.
    number: Text<AnyBase>,
    /// Number of the page, from 0. If it is an empty text, the result is the result of `GetTransactionsForTxBlock`.
    #[serde(default)]
    page: Text<PageText>,
}

/// A page, or all transactions.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum PageOrAll {
    /// One page.
    Page(TransactionsPage<TransactionsByShard>),
    /// All transactions, for an empty page number.
    All(TransactionsByShard),
}

impl Method for GetTransactionsForTxBlockEx {
    const NAME: &'static str = "GetTransactionsForTxBlockEx";
    type Output = PageOrAll;

    fn call(self, at: &Context) -> Result<PageOrAll, CallError> {
        let PageText(Some(page)) = self.page.value() else {
            return all_hashes(self.number, at).map(PageOrAll::All);
        };
        let AnyBase(number) = self.number.value();
        let page = at.snapshot.block_transactions_page(BlockNumber::new(number), page)?;
        Ok(PageOrAll::Page(page_of(page.page, page.pages, by_shard(page.by_shard))))
    }
}

fn all_hashes(number: Text<AnyBase>, at: &Context) -> Result<TransactionsByShard, CallError> {
    let AnyBase(number) = number.value();
    Ok(by_shard(at.snapshot.block_transactions(BlockNumber::new(number))?))
}

pub(crate) fn by_shard(hashes: Vec<Vec<TxHash>>) -> TransactionsByShard {
    (0..).map(ShardId::new).zip(hashes).collect()
}

fn page_of<T>(page: u64, pages: u64, transactions: T) -> TransactionsPage<T> {
    TransactionsPage { page, page_count: u32::try_from(pages).unwrap_or(u32::MAX), transactions }
}

/// The transactions of a Tx block.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetTxnBodiesForTxBlock {
    /// Number of the block.
    number: Text<AnyBase>,
}

impl Streamed for GetTxnBodiesForTxBlock {
    const NAME: &'static str = "GetTxnBodiesForTxBlock";
    type Output = Vec<TransactionJson>;

    fn begin(self, at: &Context) -> Result<ChunkedResult, CallError> {
        let AnyBase(number) = self.number.value();
        let number = BlockNumber::new(number);
        let all = at.snapshot.block_positions(number, None)?;
        let bodies = Bodies { snapshot: at.snapshot.clone(), number, positions: all.positions };
        let text = BodiesText { head: "[".to_owned(), bodies, tail: "]".to_owned() };
        Ok(ChunkedResult::begin(Self::NAME, text)?)
    }
}

/// One page of the transactions of a Tx block, with at most 2500 transactions.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetTxnBodiesForTxBlockEx {
    /// Number of the block.
    number: Text<AnyBase>,
    /// Number of the page, from 0.
    #[serde(default)]
    page: Text<PageText>,
}

impl Streamed for GetTxnBodiesForTxBlockEx {
    const NAME: &'static str = "GetTxnBodiesForTxBlockEx";
    type Output = TransactionsPage<Vec<TransactionJson>>;

    fn begin(self, at: &Context) -> Result<ChunkedResult, CallError> {
        let (AnyBase(number), PageText(page)) = (self.number.value(), self.page.value());
        let number = BlockNumber::new(number);
        let page = at.snapshot.block_positions(number, Some(page.unwrap_or(0)))?;
        let around = json!(page_of(page.page, page.pages, Vec::<TransactionJson>::new())).to_string();
        let (head, tail) = around.split_once("[]").unwrap_or_default();
        let bodies = Bodies { snapshot: at.snapshot.clone(), number, positions: page.positions };
        let text = BodiesText { head: format!("{head}["), bodies, tail: format!("]{tail}") };
        Ok(ChunkedResult::begin(Self::NAME, text)?)
    }
}

/// JSON text with the transactions of a Tx block in an array. The block has at least one transaction.
#[derive(Debug)]
pub(super) struct BodiesText {
    /// The text before the next transaction.
    pub(super) head: String,
    pub(super) bodies: Bodies,
    /// The text after the last transaction.
    pub(super) tail: String,
}

impl Chunks for BodiesText {
    type Error = StateError;

    fn next_chunk(&mut self, out: &mut Vec<u8>) -> Result<bool, StateError> {
        let end = out.len().saturating_add(RESULT_CHUNK);
        while out.len() < end {
            let next = self.bodies.next()?;
            if next.is_empty() {
                out.extend(self.tail.as_bytes());
                return Ok(false);
            }
            for body in next {
                let before = std::mem::replace(&mut self.head, ",".to_owned());
                out.extend(before.as_bytes());
                write_json(out, "a transaction", &body)?;
            }
        }
        Ok(true)
    }
}

/// Appends a part of a response in chunks. `what` names the part in the error.
pub(super) fn write_json(out: &mut Vec<u8>, what: &str, value: &impl Serialize) -> Result<(), StateError> {
    let formless = |_| StateError::Damaged { what: what.to_owned(), reason: "it has no JSON form" };
    serde_json::to_writer(out, value).map_err(formless)
}

/// The transactions of a Tx block that the response does not have yet.
#[derive(Debug)]
pub(super) struct Bodies {
    pub(super) snapshot: Snapshot,
    pub(super) number: BlockNumber,
    pub(super) positions: Range<u32>,
}

/// Maximum number of transactions in one read. The number bounds memory, because a transaction and its receipt can have
/// 10 MB together.
const READ_AT_ONCE: u32 = 4;

impl Bodies {
    /// Reads the next transactions. Returns an empty list after the last one.
    fn next(&mut self) -> Result<Vec<TransactionJson>, StateError> {
        let first = self.positions.start;
        let end = first.saturating_add(READ_AT_ONCE).min(self.positions.end);
        self.positions.start = end;
        if first >= end {
            return Ok(Vec::new());
        }
        let shape = |(transaction, receipt): (Transaction, Receipt)| {
            TransactionJson::new(transaction.hash(), transaction, receipt)
        };
        match self.snapshot.block_bodies(self.number, first..end) {
            Ok(bodies) => Ok(bodies.into_iter().map(shape).collect()),
            Err(error) => Err(match error {
                BlockTransactionsError::Archive(error) => error.into(),
                // The chain was reverted to an earlier block while the response was sent.
                BlockTransactionsError::UnknownBlock { .. } | BlockTransactionsError::Empty => StateError::Expired,
                _ => StateError::Expired,
            }),
        }
    }
}

/// Number of the next Tx block.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetCurrentMiniEpoch {}

impl Method for GetCurrentMiniEpoch {
    const NAME: &'static str = "GetCurrentMiniEpoch";
    type Output = Dec<BlockNumber>;

    fn call(self, at: &Context) -> Result<Self::Output, CallError> {
        Ok(at.snapshot.current_epoch().into())
    }
}

/// Number of Tx blocks, including the genesis block. The method is not available in the block mode `manual-immediate`.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetNumTxBlocks {}

impl Method for GetNumTxBlocks {
    const NAME: &'static str = "GetNumTxBlocks";
    type Output = Dec<u64>;

    fn call(self, at: &Context) -> Result<Self::Output, CallError> {
        require_one_number(at)?;
        Ok(statistics::tx_blocks(&at.snapshot.statistics()).into())
    }
}

/// Number of transactions in all Tx blocks after the genesis block.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetNumTransactions {}

impl Method for GetNumTransactions {
    const NAME: &'static str = "GetNumTransactions";
    type Output = Dec<u64>;

    fn call(self, at: &Context) -> Result<Self::Output, CallError> {
        Ok(at.snapshot.statistics().transactions.into())
    }
}

/// Number of transactions in the Tx blocks of the latest DS epoch.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetNumTxnsDsEpoch {}

impl Method for GetNumTxnsDsEpoch {
    const NAME: &'static str = "GetNumTxnsDSEpoch";
    type Output = Dec<u64>;

    fn call(self, at: &Context) -> Result<Self::Output, CallError> {
        Ok(at.snapshot.statistics().in_ds_epoch.into())
    }
}

/// Number of transactions in the latest Tx block.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetNumTxnsTxEpoch {}

impl Method for GetNumTxnsTxEpoch {
    const NAME: &'static str = "GetNumTxnsTxEpoch";
    const ALIASES: &'static [&'static str] = &["GetNumTxnsTXEpoch"];
    type Output = Dec<u32>;

    fn call(self, at: &Context) -> Result<Self::Output, CallError> {
        Ok(at.snapshot.statistics().in_tx_epoch.into())
    }
}

/// Transactions per second between the two latest Tx blocks.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetTransactionRate {}

impl Method for GetTransactionRate {
    const NAME: &'static str = "GetTransactionRate";
    type Output = f64;

    fn call(self, at: &Context) -> Result<f64, CallError> {
        Ok(statistics::transaction_rate(&at.snapshot.statistics()))
    }
}

/// Tx blocks per second since Tx block 1.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetTxBlockRate {}

impl Method for GetTxBlockRate {
    const NAME: &'static str = "GetTxBlockRate";
    type Output = f64;

    fn call(self, at: &Context) -> Result<f64, CallError> {
        Ok(statistics::tx_block_rate(&at.snapshot.statistics()))
    }
}
