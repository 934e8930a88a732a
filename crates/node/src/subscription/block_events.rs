//! The events of a Tx block, and a cache of them for all sessions.

use std::{
    collections::{BTreeMap, VecDeque},
    io,
    sync::Arc,
};

use parking_lot::Mutex;
use serde::Serialize;
use silica_chain::{BlockTransactionsError, ChainTip, HistoryPlace, Snapshot, Transfer};
use silica_protocol::{
    Address, BlockHash, BlockNumber, Receipt, Transaction, TransactionKind, TxBlock, TxHash,
    rpc::{
        block::TransactionsByShard,
        list::TransferJson,
        subscription::{EventNews, NewBlock, TransactionNews},
    },
};
use tokio::sync::OnceCell;

use crate::{
    driver::NodeHandle,
    methods::{transfer::transfer_json, tx_block},
};

/// Limits of the cache: number of blocks, and bytes of JSON. The latest block stays in the cache even if its events
/// exceed the bytes.
const KEPT: usize = 4;
const KEPT_BYTES: usize = 4 << 20;

/// Maximum size of the events of a block as JSON, in bytes. If the events are larger, the node disconnects the
/// subscribers of events. One transaction can have 10 MB of events.
const MOST_EVENTS: usize = 32 << 20;

/// Maximum number of transfers in a block. If a block has more transfers, the node disconnects the subscribers of
/// transfers. A block with the usual gas limits has fewer transfers.
const MOST_TRANSFERS: usize = MOST_EVENTS / TRANSFER_BYTES;

/// Number of transactions in one read. The number bounds memory.
const READ_AT_ONCE: u32 = 4;

/// Upper bounds of the JSON size of a transaction, in bytes: its hash in a list, and the transaction in a notification.
const HASH_BYTES: usize = 80;
const TRANSACTION_BYTES: usize = 512;

/// Upper bound of the JSON size of a transfer in a notification, in bytes.
const TRANSFER_BYTES: usize = 512;

/// The events of a Tx block.
#[derive(Debug)]
pub(crate) struct BlockEvents {
    pub(super) tx_block: Arc<TxBlock>,
    /// Hash of the block.
    pub(super) hash: BlockHash,
    pub(super) block: NewBlock,
    /// Size of the JSON of `block` without the hashes of transactions, in bytes.
    header_bytes: usize,
    /// Events of successful calls, for each contract in the order of transactions and receipts; `None` if they exceed
    /// [`MOST_EVENTS`].
    pub(super) events: Option<BTreeMap<Address, Emitted>>,
    /// For each event, its contract and its index among the events of the contract, in the order of transactions and
    /// receipts.
    order: Vec<(Address, usize)>,
    /// Size of the JSON of all events, in bytes.
    event_bytes: usize,
    /// All transactions of the block, in the order of the block.
    transactions: Vec<TransactionNews>,
    /// For each account, the positions of the transactions that it sent or received.
    pub(super) by_account: BTreeMap<Address, Vec<usize>>,
    /// The transfers of the block; empty until the first session with the topic `Transfers` has read them.
    transfers: OnceCell<Arc<BlockTransfers>>,
}

/// The parts of a block that a session needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Detail {
    /// The block without its events, for a replay.
    Block,
    /// The block with its events and transactions.
    Events,
    /// The block with its events, transactions and transfers.
    Transfers,
}

/// The transfers of a Tx block.
#[derive(Debug, Default)]
pub(super) struct BlockTransfers {
    /// All transfers in the order of execution; empty if they exceed [`MOST_TRANSFERS`].
    transfers: Vec<TransferJson>,
    /// For each account, the positions of the transfers from or to it.
    pub(super) by_account: BTreeMap<Address, Vec<usize>>,
    /// Number of transfers of the block.
    count: usize,
}

/// The events of one contract.
#[derive(Debug, Default)]
pub(super) struct Emitted {
    pub(super) events: Vec<EventNews>,
    /// For each event, the position of its transaction, and the size of its JSON in bytes.
    places: Vec<(u32, usize)>,
    /// Size of the JSON of these events, in bytes.
    bytes: usize,
}

/// An event of a Tx block with its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlacedEvent<'a> {
    pub(super) contract: Address,
    pub(super) event: &'a EventNews,
    /// Hash of the transaction, and its position in the block.
    pub(super) transaction: (TxHash, u32),
    /// Size of the JSON of the event, in bytes.
    pub(super) bytes: usize,
}

impl BlockEvents {
    /// Reads a block and its events.
    ///
    /// # Errors
    ///
    /// The block is not in the snapshot, or cannot be read.
    pub(super) fn read(snapshot: &Snapshot, number: BlockNumber) -> Result<Self, BlockTransactionsError> {
        let mut news = Self::read_block(snapshot, number)?;
        let (mut first, count) = (0, news.block.block.header.tx_count);
        while first < count {
            let end = first.saturating_add(READ_AT_ONCE);
            for (transaction, receipt) in snapshot.block_bodies(number, first..end)? {
                news.add(&transaction, receipt);
            }
            first = end;
        }
        Ok(news)
    }

    /// Reads a block with the hashes of its transactions, and without its events.
    ///
    /// # Errors
    ///
    /// See [`read`](Self::read).
    fn read_block(snapshot: &Snapshot, number: BlockNumber) -> Result<Self, BlockTransactionsError> {
        let block = snapshot.tx_block(number)?.ok_or(BlockTransactionsError::UnknownBlock { number })?;
        let hashes = if block.header.tx_count == 0 {
            TransactionsByShard::default()
        } else {
            tx_block::by_shard(snapshot.block_transactions(number)?)
        };
        let news = NewBlock { block: tx_block::shape(&block, snapshot), transactions: hashes };
        Ok(Self::of(block, news))
    }

    /// Creates the value for a block, without any transactions or events of the block.
    pub(super) fn of(tx_block: Arc<TxBlock>, block: NewBlock) -> Self {
        let (header_bytes, events, by_account) = (json_bytes(&block.block), Some(BTreeMap::new()), BTreeMap::new());
        let hash = tx_block.header.hash();
        Self {
            tx_block,
            hash,
            block,
            header_bytes,
            events,
            order: Vec::new(),
            event_bytes: 0,
            transactions: Vec::new(),
            by_account,
            transfers: OnceCell::new(),
        }
    }

    /// Returns the transfers of the block, or `None` if no session has read them.
    pub(super) fn transfers(&self) -> Option<&BlockTransfers> {
        self.transfers.get().map(|transfers| &**transfers)
    }

    fn add(&mut self, transaction: &Transaction, receipt: Receipt) {
        let (from, to) = (transaction.sender(), transaction.to);
        let position = self.transactions.len();
        let in_block = u32::try_from(position).unwrap_or(u32::MAX);
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
                self.add_event(event.address, event.into(), in_block);
            }
        }
    }

    /// Adds an event of the transaction at a position.
    pub(super) fn add_event(&mut self, contract: Address, event: EventNews, position: u32) {
        let Some(events) = &mut self.events else { return };
        let bytes = json_bytes(&event);
        self.event_bytes = self.event_bytes.saturating_add(bytes);
        let of_contract = events.entry(contract).or_default();
        of_contract.bytes = of_contract.bytes.saturating_add(bytes);
        self.order.push((contract, of_contract.events.len()));
        of_contract.events.push(event);
        of_contract.places.push((position, bytes));
        if self.event_bytes > MOST_EVENTS {
            tracing::warn!(
                bytes = self.event_bytes,
                "the events of a block exceed 32 MiB; the node disconnects their subscribers"
            );
            self.events = None;
            self.order = Vec::new();
        }
    }

    /// Returns the events of the block from the event `number` on, with their numbers. Returns `None` if the events
    /// exceed [`MOST_EVENTS`].
    pub(super) fn events_from(&self, number: usize) -> Option<impl Iterator<Item = (u32, PlacedEvent<'_>)>> {
        let events = self.events.as_ref()?;
        let first = u32::try_from(number).unwrap_or(u32::MAX);
        let placed = move |(contract, index): &(Address, usize)| {
            let of_contract = events.get(contract)?;
            let (event, (position, bytes)) = (of_contract.events.get(*index)?, *of_contract.places.get(*index)?);
            let transaction = self.transactions.get(usize::try_from(position).ok()?)?;
            Some(PlacedEvent { contract: *contract, event, transaction: (transaction.id.0, position), bytes })
        };
        let rest = self.order.iter().skip(number).map(placed);
        Some((first..).zip(rest).filter_map(|(number, event)| Some((number, event?))))
    }

    /// Returns the approximate size of the block as JSON, in bytes.
    pub(super) fn block_bytes(&self) -> usize {
        self.header_bytes.saturating_add(self.transactions.len().saturating_mul(HASH_BYTES))
    }

    /// Returns the approximate size of block, events and transactions as JSON, in bytes.
    fn bytes(&self) -> usize {
        let transfers = self.transfers().map_or(0, |transfers| transfers.transfers.len());
        let transactions = transactions_bytes(self.transactions.len()).saturating_add(transfers_bytes(transfers));
        self.block_bytes().saturating_add(self.event_bytes).saturating_add(transactions)
    }

    /// Returns the transactions at `positions`. Ignores positions that do not exist.
    pub(super) fn at(&self, positions: &[usize]) -> impl Iterator<Item = &TransactionNews> {
        positions.iter().filter_map(|position| self.transactions.get(*position))
    }
}

impl BlockTransfers {
    /// Reads the transfers of a block.
    ///
    /// # Errors
    ///
    /// See [`BlockEvents::read`].
    fn read(snapshot: &Snapshot, number: BlockNumber) -> Result<Self, BlockTransactionsError> {
        let block = snapshot.tx_block(number)?.ok_or(BlockTransactionsError::UnknownBlock { number })?;
        let (before, after) = snapshot.transfers_around(number)?;
        let mut transfers = Self::default();
        transfers.add(before);
        let mut first = 0;
        while first < block.header.tx_count {
            let end = first.saturating_add(READ_AT_ONCE);
            for (position, (transaction, receipt)) in (first..).zip(snapshot.block_bodies(number, first..end)?) {
                let place = HistoryPlace { block: number, position };
                transfers.add(snapshot.transfers_of(place, &transaction, &receipt)?);
            }
            first = end;
        }
        transfers.add(after);
        Ok(transfers)
    }

    fn add(&mut self, transfers: Vec<Transfer>) {
        self.count = self.count.saturating_add(transfers.len());
        if !self.is_complete() {
            (self.transfers, self.by_account) = (Vec::new(), BTreeMap::new());
            return;
        }
        for transfer in transfers {
            let position = self.transfers.len();
            let to = transfer.to.filter(|to| transfer.from != Some(*to));
            for address in [transfer.from, to].into_iter().flatten() {
                self.by_account.entry(address).or_default().push(position);
            }
            self.transfers.push(transfer_json(&transfer));
        }
    }

    /// Returns `false` if the block has more than [`MOST_TRANSFERS`] transfers. This value then has none of them.
    pub(super) const fn is_complete(&self) -> bool {
        self.count <= MOST_TRANSFERS
    }

    /// Returns the transfers at `positions`. Ignores positions that do not exist.
    pub(super) fn at(&self, positions: &[usize]) -> impl Iterator<Item = &TransferJson> {
        positions.iter().filter_map(|position| self.transfers.get(*position))
    }
}

impl Emitted {
    /// Returns an upper bound of the JSON size of these events with their envelope, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.saturating_add(self.events.len()).saturating_add(TRANSACTION_BYTES)
    }
}

/// Returns the approximate JSON size of `count` transactions in a notification, in bytes.
pub(super) fn transactions_bytes(count: usize) -> usize {
    count.saturating_mul(TRANSACTION_BYTES)
}

/// Returns an upper bound, in bytes, for the JSON of `count` transfers of an account in a notification.
pub(super) const fn transfers_bytes(count: usize) -> usize {
    count.saturating_mul(TRANSFER_BYTES).saturating_add(TRANSACTION_BYTES)
}

/// Returns the size of a value as JSON, in bytes.
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
    // Ignore the error of a value without a JSON form: the notification of this value reports it.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

/// The events of a block; empty until the first session has read them.
type Page = Arc<OnceCell<Arc<BlockEvents>>>;

/// A cache of the events of the latest blocks, for all sessions.
#[derive(Debug, Default)]
pub(crate) struct BlockEventCache {
    pages: Mutex<VecDeque<(ChainTip, Page)>>,
}

impl BlockEventCache {
    /// Returns the events of a block from the cache, or reads them on a blocking thread. Sessions that need the same
    /// block share one read. Reads the transfers only if the caller needs them. A read with [`Detail::Block`] does not
    /// use the cache, because other sessions do not need the old block of a replay.
    pub(super) async fn of(
        &self,
        node: &NodeHandle,
        block: ChainTip,
        detail: Detail,
    ) -> Result<Arc<BlockEvents>, Unread> {
        if detail == Detail::Block {
            return read_at(node, block, BlockEvents::read_block).await;
        }
        let page = self.page(block);
        let news = page.get_or_try_init(|| read_at(node, block, BlockEvents::read)).await.map(Arc::clone)?;
        if detail == Detail::Transfers {
            news.transfers.get_or_try_init(|| read_at(node, block, BlockTransfers::read)).await?;
        }
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

    /// Removes the oldest pages until the cache is within its limits, or has one page.
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
    /// A revert has started or ended since the session read the head.
    Gone,
    /// A read of the block failed; the log has the reason.
    Failed,
}

/// A function that reads a block, or a part of it.
type Read<T> = fn(&Snapshot, BlockNumber) -> Result<T, BlockTransactionsError>;

/// Reads a block, or a part of it, on a blocking thread.
async fn read_at<T: Send + 'static>(node: &NodeHandle, block: ChainTip, read: Read<T>) -> Result<Arc<T>, Unread> {
    let queried = node.clone();
    let reading = node.blocking().query(move || read_now(&queried, block, read));
    reading.await.unwrap_or(Err(Unread::Failed)).map(Arc::new)
}

fn read_now<T>(node: &NodeHandle, ChainTip { number, reverts }: ChainTip, read: Read<T>) -> Result<T, Unread> {
    let at = node.context();
    if at.snapshot.tip().reverts != reverts {
        return Err(Unread::Gone);
    }
    read(&at.snapshot, number).map_err(|error| {
        if let BlockTransactionsError::Archive(error) = &error
            && error.is_retired()
        {
            return Unread::Gone;
        }
        tracing::error!(
            %number,
            error = &error as &dyn std::error::Error,
            "failed to read the events of a block; the node closes the session"
        );
        Unread::Failed
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{block_mode::BlockMode, rpc::tests::fixture};

    #[tokio::test]
    async fn transfers_are_read_for_the_first_session_that_needs_them() {
        let fixture = fixture(BlockMode::Manual);
        let (cache, node) = (BlockEventCache::default(), &fixture.node());
        let block = node.context().snapshot.tip();
        let events = cache.of(node, block, Detail::Events).await.unwrap();
        assert!(events.transfers().is_none(), "no session has the topic Transfers");
        let with_transfers = cache.of(node, block, Detail::Transfers).await.unwrap();
        assert!(Arc::ptr_eq(&events, &with_transfers), "the sessions share the events");
        let transfers = events.transfers().unwrap();
        assert_eq!(transfers.transfers.len(), transfers.by_account.len());
        assert_eq!(transfers.transfers[0].to.map(|to| to.0), Some(Address::ZERO), "the genesis has the reserve");
        let replayed = cache.of(node, block, Detail::Block).await.unwrap();
        assert!(!Arc::ptr_eq(&events, &replayed) && replayed.transfers().is_none());
    }
}
