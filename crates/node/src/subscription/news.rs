//! What happened in a Tx block, worked out once for all who want to know.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use silica_chain::{BlockTransactionsError, Snapshot};
use silica_protocol::{
    Address, BlockNumber, Receipt, Transaction, TransactionKind,
    rpc::{
        block::TransactionsByShard,
        subscription::{EventNews, NewBlock, TransactionNews},
    },
};
use tokio::{
    sync::{Mutex, OnceCell},
    task::spawn_blocking,
};

use crate::methods::tx_block;

/// Blocks whose news are kept for those who ask a little later.
const KEPT: usize = 4;

/// What happened in a Tx block.
#[derive(Debug)]
pub(crate) struct BlockNews {
    pub(super) block: NewBlock,
    /// Events of successful calls by contract, in the order of transactions and receipts.
    pub(super) events: BTreeMap<Address, Vec<EventNews>>,
    /// Every transaction, in the order of the block.
    transactions: Vec<TransactionNews>,
    /// Positions of the transactions that an account sent or received.
    by_account: BTreeMap<Address, Vec<usize>>,
}

impl BlockNews {
    /// Reads a block that is at most the head of the snapshot.
    ///
    /// # Errors
    ///
    /// The block could not be read.
    pub(super) fn read(snapshot: &Snapshot, number: BlockNumber) -> Result<Self, BlockTransactionsError> {
        let block = snapshot.tx_block(number)?.ok_or(BlockTransactionsError::UnknownBlock { number })?;
        let (hashes, bodies) = if block.header.tx_count == 0 {
            (TransactionsByShard::default(), Vec::new())
        } else {
            (tx_block::by_shard(snapshot.block_transactions(number)?), snapshot.block_bodies(number)?)
        };
        let block = NewBlock { block: tx_block::shape(&block, snapshot), transactions: hashes };
        let mut news = Self { block, events: BTreeMap::new(), transactions: Vec::new(), by_account: BTreeMap::new() };
        for (transaction, receipt) in bodies {
            news.add(&transaction, receipt);
        }
        Ok(news)
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
                self.events.entry(event.address).or_default().push(event.into());
            }
        }
    }

    /// Transactions that an account sent or received, in the order of the block.
    pub(super) fn transactions_of(&self, account: &Address) -> impl Iterator<Item = &TransactionNews> {
        let positions = self.by_account.get(account).map_or(&[][..], Vec::as_slice);
        positions.iter().filter_map(|position| self.transactions.get(*position))
    }
}

/// News of a block, once somebody asked for them.
type Page = Arc<OnceCell<Arc<BlockNews>>>;

/// The news of the latest blocks that somebody asked for.
#[derive(Debug, Default)]
pub(crate) struct Newspaper {
    pages: Mutex<VecDeque<(BlockNumber, Page)>>,
}

impl Newspaper {
    /// The news of a block, which are read on a thread that may block unless they were asked for just before.
    ///
    /// # Errors
    ///
    /// The block could not be read; the log says why.
    pub(super) async fn of(&self, snapshot: &Snapshot, number: BlockNumber) -> Result<Arc<BlockNews>, Unread> {
        let page = self.page(number).await;
        let read = async {
            let snapshot = snapshot.clone();
            let news = spawn_blocking(move || BlockNews::read(&snapshot, number)).await.map_err(|_| Unread)?;
            news.map(Arc::new).map_err(|error| {
                tracing::error!(%number, error = &error as &dyn std::error::Error, "no news of a block");
                Unread
            })
        };
        page.get_or_try_init(|| read).await.map(Arc::clone)
    }

    async fn page(&self, number: BlockNumber) -> Page {
        let mut pages = self.pages.lock().await;
        if let Some((_, page)) = pages.iter().find(|(of, _)| *of == number) {
            return Arc::clone(page);
        }
        let page = Page::default();
        pages.push_back((number, Arc::clone(&page)));
        if pages.len() > KEPT {
            pages.pop_front();
        }
        page
    }
}

/// The news of a block are not to be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unread;
