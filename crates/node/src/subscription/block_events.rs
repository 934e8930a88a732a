//! The events of a Tx block, which are read once for all sessions.

use std::{
    collections::{BTreeMap, VecDeque},
    io,
    sync::Arc,
};

use parking_lot::Mutex;
use serde::Serialize;
use silica_chain::{BlockTransactionsError, Snapshot};
use silica_protocol::{
    Address, BlockNumber, Receipt, Transaction, TransactionKind,
    rpc::{
        block::TransactionsByShard,
        subscription::{EventNews, NewBlock, TransactionNews},
    },
};
use tokio::sync::OnceCell;

use crate::{driver::NodeHandle, head::ChainTip, methods::tx_block};

/// Blocks whose events the cache keeps for sessions that read them a little later, and bytes above which it keeps only
/// the latest block.
const KEPT: usize = 4;
const KEPT_BYTES: usize = 4 << 20;

/// Bytes of JSON of a block's events above which sessions get none of them. One transaction may have ten million.
const MOST_EVENTS: usize = 32 << 20;

/// Transactions that are read at once.
const READ_AT_ONCE: u32 = 4;

/// Upper bounds of the bytes of JSON for a transaction in a list of hashes, and for one in a notification.
const HASH_BYTES: usize = 80;
const TRANSACTION_BYTES: usize = 512;

/// The events of a Tx block.
#[derive(Debug)]
pub(crate) struct BlockEvents {
    pub(super) block: NewBlock,
    /// Bytes of its JSON without the hashes of transactions.
    header_bytes: usize,
    /// Events of successful calls by contract, in the order of transactions and receipts; `None` when they are too
    /// many.
    pub(super) events: Option<BTreeMap<Address, Events>>,
    /// Bytes of their JSON.
    event_bytes: usize,
    /// Every transaction, in the order of the block.
    transactions: Vec<TransactionNews>,
    /// Positions of the transactions that an account sent or received.
    pub(super) by_account: BTreeMap<Address, Vec<usize>>,
}

/// Events of a contract.
#[derive(Debug, Default)]
pub(super) struct Events {
    pub(super) events: Vec<EventNews>,
    /// Bytes of their JSON.
    bytes: usize,
}

impl BlockEvents {
    /// Reads a block that is at most the head of the snapshot.
    ///
    /// # Errors
    ///
    /// The block could not be read.
    pub(super) fn read(snapshot: &Snapshot, number: BlockNumber) -> Result<Self, BlockTransactionsError> {
        let block = snapshot.tx_block(number)?.ok_or(BlockTransactionsError::UnknownBlock { number })?;
        let count = block.header.tx_count;
        let hashes = if count == 0 {
            TransactionsByShard::default()
        } else {
            tx_block::by_shard(snapshot.block_transactions(number)?)
        };
        let block = NewBlock { block: tx_block::shape(&block, snapshot), transactions: hashes };
        let mut news = Self::of(block);
        let mut first = 0;
        while first < count {
            let end = first.saturating_add(READ_AT_ONCE);
            for (transaction, receipt) in snapshot.block_bodies(number, first..end)? {
                news.add(&transaction, receipt);
            }
            first = end;
        }
        Ok(news)
    }

    /// The events of a block without transactions.
    pub(super) fn of(block: NewBlock) -> Self {
        let (header_bytes, events, by_account) = (json_bytes(&block.block), Some(BTreeMap::new()), BTreeMap::new());
        Self { block, header_bytes, events, event_bytes: 0, transactions: Vec::new(), by_account }
    }

    fn add(&mut self, transaction: &Transaction, receipt: Receipt) {
        let (from, to) = (transaction.sender(), transaction.to);
        let position = self.transactions.len();
        self.by_account.entry(from).or_default().push(position);
        if to != from {
            self.by_account.entry(to).or_default().push(position);
        }
        self.transactions.push(TransactionNews {
            id: transaction.hash().into(),
            amount: transaction.amount.into(),
            from: from.into(),
            success: receipt.success,
            to: to.into(),
        });
        if receipt.success && transaction.kind() == Some(TransactionKind::Call) {
            for event in receipt.event_logs {
                self.add_event(event.address, event.into());
            }
        }
    }

    pub(super) fn add_event(&mut self, contract: Address, event: EventNews) {
        let Some(events) = &mut self.events else { return };
        let bytes = json_bytes(&event);
        self.event_bytes = self.event_bytes.saturating_add(bytes);
        let of_contract = events.entry(contract).or_default();
        of_contract.bytes = of_contract.bytes.saturating_add(bytes);
        of_contract.events.push(event);
        if self.event_bytes > MOST_EVENTS {
            tracing::warn!(
                bytes = self.event_bytes,
                "the events of a block exceed 32 MiB; their subscribers are disconnected"
            );
            self.events = None;
        }
    }

    /// Returns the approximate bytes of the block as JSON.
    pub(super) fn block_bytes(&self) -> usize {
        self.header_bytes.saturating_add(self.transactions.len().saturating_mul(HASH_BYTES))
    }

    /// Returns the approximate bytes of everything as JSON.
    fn bytes(&self) -> usize {
        self.block_bytes().saturating_add(self.event_bytes).saturating_add(transactions_bytes(self.transactions.len()))
    }

    /// Returns the transactions at some positions.
    pub(super) fn at(&self, positions: &[usize]) -> impl Iterator<Item = &TransactionNews> {
        positions.iter().filter_map(|position| self.transactions.get(*position))
    }
}

impl Events {
    /// Returns an upper bound of the bytes of JSON of these events, with their envelope.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.saturating_add(self.events.len()).saturating_add(TRANSACTION_BYTES)
    }
}

/// Returns the approximate bytes of JSON of a number of transactions in a notification.
pub(super) fn transactions_bytes(count: usize) -> usize {
    count.saturating_mul(TRANSACTION_BYTES)
}

/// Returns the bytes of a value as JSON.
fn json_bytes(value: &impl Serialize) -> usize {
    struct Count(usize);

    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.saturating_add(bytes.len());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut count = Count(0);
    // A value without a JSON form causes an error when it is written.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

/// The events of a block, once a session has read them.
type Page = Arc<OnceCell<Arc<BlockEvents>>>;

/// The events of the latest blocks that sessions have read.
#[derive(Debug, Default)]
pub(crate) struct BlockEventCache {
    pages: Mutex<VecDeque<(ChainTip, Page)>>,
}

impl BlockEventCache {
    /// Returns the events of a block, from the cache or from the chain. They are read on a blocking thread.
    pub(super) async fn of(&self, node: &NodeHandle, block: ChainTip) -> Result<Arc<BlockEvents>, Unread> {
        let page = self.page(block);
        let read = async {
            let queried = node.clone();
            node.blocking().query(move || read_at(&queried, block)).await.unwrap_or(Err(Unread::Failed)).map(Arc::new)
        };
        let news = page.get_or_try_init(|| read).await.map(Arc::clone)?;
        self.tidy();
        Ok(news)
    }

    fn page(&self, block: ChainTip) -> Page {
        let mut pages = self.pages.lock();
        if let Some((_, page)) = pages.iter().find(|(of, _)| *of == block) {
            return Arc::clone(page);
        }
        let page = Page::default();
        pages.push_back((block, Arc::clone(&page)));
        page
    }

    /// Removes the oldest pages above the bounds.
    fn tidy(&self) {
        let mut pages = self.pages.lock();
        let bytes = |(_, page): &(ChainTip, Page)| page.get().map_or(0, |news| news.bytes());
        let mut sum: usize = pages.iter().map(bytes).sum();
        while pages.len() > 1 && (pages.len() > KEPT || sum > KEPT_BYTES) {
            let oldest = pages.pop_front();
            sum = sum.saturating_sub(oldest.as_ref().map_or(0, bytes));
        }
    }
}

/// Reason why the events of a block are not available.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// The chain was reverted since the session read its head, or is being reverted.
    Gone,
    /// The block could not be read; the log has the reason.
    Failed,
}

fn read_at(node: &NodeHandle, ChainTip { number, reverts }: ChainTip) -> Result<BlockEvents, Unread> {
    let at = Arc::clone(&node.context());
    if at.reverts.count() != reverts {
        return Err(Unread::Gone);
    }
    let news = BlockEvents::read(&at.snapshot, number);
    news.map_err(|error| {
        if let BlockTransactionsError::Archive(error) = &error
            && error.is_retired()
        {
            return Unread::Gone;
        }
        tracing::error!(%number, error = &error as &dyn std::error::Error, "failed to read the events of a block");
        Unread::Failed
    })
}
