//! Every question a reader may ask, answered at one head.

use std::{ops::Range, sync::Arc};

use silica_protocol::{
    Account, Address, BlockHash, BlockNumber, DsBlock, DsBlockNumber, GasPrice, Nonce, PublicKey, Qa, Receipt, ShardId,
    ShardMember, Timestamp, Transaction, TxBlock, TxBlockHeader, TxHash, VariableHash,
};
use silica_state::{ArchiveError, FoundTransaction, RecordRow, StateError, StoredTransaction};

use crate::{
    builder::shard_member,
    config::Numbering,
    error::{BlockTransactionsError, ListingError, MinerInfoError, ProofError},
    genesis::{GENESIS_TOKENS, MINING_RESERVE},
    network::Network,
    pool::{StatusRecord, TxStatus},
    shared::{Published, Shared},
};

/// Blocks on a page of a listing.
const LISTING_PAGE: u64 = 10;
/// Transactions on a page of a block.
const PAGE: u32 = TxBlockHeader::TRANSACTIONS_PER_PAGE;
/// Longest length of a list of pending transactions (`PENDING_TXN_QUERY_MAX_RESULTS`).
const PENDING_MOST: usize = 1_000;

/// The chain at one head. A clone is cheap; nothing that is committed later changes an answer.
///
/// Only the questions about waiting transactions look at the pool, which is of the moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    published: Arc<Published>,
    shared: Arc<Shared>,
}

/// The figures from which the statistics of the network are computed. Rates are left to who can divide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// Number of the latest Tx block.
    pub latest_tx_block: BlockNumber,
    /// Number of the latest DS block.
    pub latest_ds_block: DsBlockNumber,
    /// Transactions in blocks 1 to the latest.
    pub transactions: u64,
    /// Transactions in the latest Tx block.
    pub in_tx_epoch: u32,
    /// Transactions in the Tx blocks of the latest DS epoch.
    pub in_ds_epoch: u64,
    /// Timestamp of the latest Tx block.
    pub tx_block_time: Timestamp,
    /// Timestamp of the Tx block before it, once there is one.
    pub previous_tx_block_time: Option<Timestamp>,
    /// Timestamp of Tx block 1, once it exists.
    pub first_tx_block_time: Option<Timestamp>,
    /// Timestamp of the latest DS block.
    pub ds_block_time: Timestamp,
    /// Timestamp of DS block 1, once it exists.
    pub first_ds_block_time: Option<Timestamp>,
    /// Members of all shards and of the DS committee.
    pub peers: u64,
    /// Members of each shard.
    pub shard_sizes: Vec<u32>,
}

/// A page of a listing of blocks, the latest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing<N> {
    /// Number and hash of each block.
    pub blocks: Vec<(N, BlockHash)>,
    /// The last page there is.
    pub pages: u64,
}

/// A page of the transactions of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionsPage {
    /// The page, counted from 0.
    pub page: u64,
    /// Number of pages.
    pub pages: u64,
    /// Hashes of the page, by the shard of their micro block; the DS committee comes last.
    pub by_shard: Vec<Vec<TxHash>>,
}

/// Where a page of the transactions of a block stands in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PositionsPage {
    /// The page, counted from 0.
    pub page: u64,
    /// Number of pages.
    pub pages: u64,
    /// Positions of the transactions of the page.
    pub positions: Range<u32>,
}

/// Where a transaction stands that was submitted.
#[derive(Clone, Debug)]
pub struct TransactionStatus {
    /// The transaction.
    pub transaction: Arc<Transaction>,
    /// Its hash.
    pub hash: TxHash,
    /// Address of its sender.
    pub sender: Address,
    /// Where it stands.
    pub status: TxStatus,
    /// Whether it is in a block and took effect.
    pub success: bool,
    /// Tx epoch in which it was accepted. Of a confirmed transaction only that of its block is kept.
    pub inserted: BlockNumber,
    /// Tx epoch in which the status last changed.
    pub updated: BlockNumber,
    /// When the status last changed.
    pub modified: Timestamp,
}

/// Who mined during a DS epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MinerInfo {
    /// Keys of the DS committee, in its order.
    pub ds_committee: Vec<PublicKey>,
    /// Keys of each shard's members.
    pub shards: Vec<Vec<PublicKey>>,
}

/// Trie nodes that prove a contract variable, or its absence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateProof {
    /// Nodes from the state root to the account.
    pub account: Vec<Vec<u8>>,
    /// Nodes from the contract's storage root to the variable, or to where its path ends.
    pub storage: Vec<Vec<u8>>,
}

impl Snapshot {
    pub(crate) fn new(published: Arc<Published>, shared: Arc<Shared>) -> Self {
        Self { published, shared }
    }

    /// The store at this head.
    pub(crate) fn state(&self) -> &silica_state::Snapshot {
        &self.published.state
    }

    /// The state at this head.
    pub(crate) fn view(&self) -> &silica_state::StateView {
        self.published.state.state()
    }

    /// What the record has of the latest Tx block.
    pub fn record_head(&self) -> Option<&silica_state::Head> {
        self.state().head()
    }

    /// The rows of the record of all blocks up to the latest, to be carried to another store.
    pub fn record_rows(&self) -> impl Iterator<Item = Result<RecordRow, ArchiveError>> + use<> {
        self.state().record_rows()
    }

    /// The latest Tx block.
    pub fn latest_tx_block(&self) -> &Arc<TxBlock> {
        &self.published.head.tx_block
    }

    /// The hash of the latest Tx block.
    pub fn latest_tx_block_hash(&self) -> BlockHash {
        self.published.head.hash
    }

    /// The latest DS block.
    pub fn latest_ds_block(&self) -> &Arc<DsBlock> {
        &self.published.head.ds_block
    }

    /// The Tx epoch in progress: the number that the next block will have.
    pub fn current_epoch(&self) -> BlockNumber {
        self.published.epoch()
    }

    /// Which blocks move the logical block number.
    pub fn numbering(&self) -> Numbering {
        self.published.numbering
    }

    /// The block number that the transactions of the next block read, and that their receipts have. It is the
    /// [number of that block](Self::current_epoch) less the repeats of logical block numbers.
    pub fn next_logical_number(&self) -> BlockNumber {
        self.published.head.next_logical_number
    }

    /// Whether `block` is the last of its DS epoch, whose header names the reward and not fees.
    pub fn is_vacuous(&self, block: BlockNumber) -> bool {
        self.shared.network.epochs.is_vacuous(block)
    }

    /// The lowest price at which transactions are admitted.
    pub fn minimum_gas_price(&self) -> GasPrice {
        self.published.minimum_gas_price()
    }

    /// The account at `address`, or `None` when there is none.
    ///
    /// # Errors
    ///
    /// The state could not be read.
    pub fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        self.published.state.account(address)
    }

    /// The account at `address` after Tx block `block`, or `None` when there was none.
    ///
    /// # Errors
    ///
    /// [`ProofError::NotMined`] and [`ProofError::Expired`]: the block is still to come, or its state is no longer kept;
    /// or the state could not be read.
    pub fn account_at(&self, address: &Address, block: BlockNumber) -> Result<Option<Account>, ProofError> {
        if block == self.published.head.number() {
            return Ok(self.account(address)?);
        }
        let view = self.published.state.at(self.proof_block(Some(block))?)?;
        let account = view.account(address);
        if let Err(StateError::Expired) = account {
            // The block left the window while its state was read.
            let head = self.shared.published().head.number();
            return Err(ProofError::Expired { earliest: self.shared.earliest_proof(head) });
        }
        Ok(account?)
    }

    /// Tx block `number`, or `None` when it is beyond the latest.
    ///
    /// # Errors
    ///
    /// The block could not be read.
    pub fn tx_block(&self, number: BlockNumber) -> Result<Option<Arc<TxBlock>>, ArchiveError> {
        if number == self.published.head.number() {
            return Ok(Some(Arc::clone(self.latest_tx_block())));
        }
        self.published.state.tx_block(number)
    }

    /// The hash of Tx block `number`, or `None` when it is beyond the latest.
    ///
    /// # Errors
    ///
    /// The block could not be read.
    pub fn tx_block_hash(&self, number: BlockNumber) -> Result<Option<BlockHash>, ArchiveError> {
        self.published.state.hash_of(number)
    }

    /// DS block `number`, or `None` when it is beyond the latest.
    ///
    /// # Errors
    ///
    /// The block could not be read.
    pub fn ds_block(&self, number: DsBlockNumber) -> Result<Option<Arc<DsBlock>>, ArchiveError> {
        if number == self.latest_ds_block().header.number {
            return Ok(Some(Arc::clone(self.latest_ds_block())));
        }
        self.published.state.ds_block(number)
    }

    /// Page `page` of the Tx blocks, counted from 1, the latest blocks first.
    ///
    /// # Errors
    ///
    /// [`ListingError`]: there is no such page, or a block could not be read.
    pub fn tx_block_listing(&self, page: u64) -> Result<Listing<BlockNumber>, ListingError> {
        let latest = self.published.head.number().get();
        let hash = |number| self.tx_block_hash(BlockNumber::new(number));
        Ok(listing(latest, page, hash)?.numbered(BlockNumber::new))
    }

    /// Page `page` of the DS blocks, counted from 1, the latest blocks first.
    ///
    /// # Errors
    ///
    /// [`ListingError`]: there is no such page, or a block could not be read.
    pub fn ds_block_listing(&self, page: u64) -> Result<Listing<DsBlockNumber>, ListingError> {
        let latest = self.latest_ds_block().header.number.get();
        let hash = |number| {
            self.published.state.ds_header(DsBlockNumber::new(number)).map(|header| header.map(|header| header.hash()))
        };
        Ok(listing(latest, page, hash)?.numbered(DsBlockNumber::new))
    }

    /// Hashes of the transactions of a block by the shard of their micro block; the DS committee comes last.
    ///
    /// # Errors
    ///
    /// [`BlockTransactionsError`]: there is no such block, it has no transactions, or it could not be read.
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

    /// Page `page` of the transactions of a block, counted from 0.
    ///
    /// # Errors
    ///
    /// [`BlockTransactionsError`]: there is no such block, the page has no transactions, or it could not be read.
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

    /// Positions of page `page` of the transactions of a block, counted from 0, or of all.
    ///
    /// # Errors
    ///
    /// [`BlockTransactionsError`]: there is no such block, the page has no transactions, or it could not be read.
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

    /// The transactions at some positions of a block with their receipts, in the order of its micro blocks; fewer, if there
    /// are no more.
    ///
    /// # Errors
    ///
    /// [`BlockTransactionsError`]: there is no such block, or it could not be read.
    pub fn block_bodies(
        &self,
        number: BlockNumber,
        positions: Range<u32>,
    ) -> Result<Vec<(Transaction, Receipt)>, BlockTransactionsError> {
        let bodies = self.published.state.transactions(number, positions)?;
        bodies.ok_or(BlockTransactionsError::UnknownBlock { number })
    }

    /// A transaction with its receipt, or `None` when it is in no block.
    ///
    /// # Errors
    ///
    /// The transaction could not be read.
    pub fn transaction(&self, hash: &TxHash) -> Result<Option<StoredTransaction>, ArchiveError> {
        self.published.state.transaction(hash)
    }

    /// Finds a transaction without reading it, for those who have to know how large it is.
    ///
    /// # Errors
    ///
    /// The record could not be read.
    pub fn find_transaction(&self, hash: &TxHash) -> Result<FoundTransaction, ArchiveError> {
        self.published.state.find_transaction(hash)
    }

    /// The figures from which the statistics of the network are computed.
    pub fn statistics(&self) -> Statistics {
        let Published { head, times, state, .. } = &*self.published;
        let totals = state.head().map(|head| head.totals).unwrap_or_default();
        let shards = self.shared.network.config.shards;
        Statistics {
            latest_tx_block: head.number(),
            latest_ds_block: head.ds_block.header.number,
            transactions: totals.transactions,
            in_tx_epoch: head.tx_block.header.tx_count,
            in_ds_epoch: totals.ds_epoch_transactions,
            tx_block_time: head.tx_block.timestamp,
            previous_tx_block_time: times.previous_tx,
            first_tx_block_time: times.first_tx,
            ds_block_time: head.ds_block.timestamp,
            first_ds_block_time: times.first_ds,
            peers: u64::from(shards).saturating_add(1),
            shard_sizes: (0..shards).map(|_| 1).collect(),
        }
    }

    /// Keys of the DS committee, in its order.
    pub fn ds_committee(&self) -> Vec<PublicKey> {
        vec![self.shared.network.member]
    }

    /// Members of a shard, or `None` when there is no such shard.
    pub fn shard_members(&self, shard: ShardId) -> Option<Vec<ShardMember>> {
        let Network { member, config, .. } = &self.shared.network;
        (shard.get() < config.shards).then(|| vec![shard_member(*member)])
    }

    /// Who mined during the DS epoch of DS block `number`.
    ///
    /// # Errors
    ///
    /// [`MinerInfoError`]: the DS block is still to come.
    pub fn miner_info(&self, number: DsBlockNumber) -> Result<MinerInfo, MinerInfoError> {
        let latest = self.latest_ds_block().header.number;
        if number > latest {
            return Err(MinerInfoError { got: number, latest });
        }
        let member = self.shared.network.member;
        let shards = (0..self.shared.network.config.shards).map(|_| vec![member]).collect();
        Ok(MinerInfo { ds_committee: vec![member], shards })
    }

    /// Hashes of the newest transactions, at most 100, the newest first.
    ///
    /// The reference forgets them when it stops; here they outlive a restart like everything else.
    pub fn recent_transactions(&self) -> &[TxHash] {
        &self.published.recent
    }

    /// Waiting transactions, at most 1,000, the latest change of status first.
    ///
    /// The reference tells those of which its nodes reported something in the last three Tx epochs, and they report at each
    /// block all that goes on waiting (execution.md 3.5): whatever is not told any more has gone. Here it is known what waits.
    pub fn pending(&self) -> Vec<(TxHash, TxStatus)> {
        self.shared.lock_pool().pending(PENDING_MOST)
    }

    /// Nonce after which the next transaction of an account comes: the last that is used, or that waits behind it without a
    /// gap.
    ///
    /// # Errors
    ///
    /// The account could not be read.
    pub fn last_nonce(&self, address: &Address) -> Result<Nonce, StateError> {
        self.shared.last_nonce(address)
    }

    /// Where a transaction stands, or `None` when nothing is known about it.
    ///
    /// # Errors
    ///
    /// The transaction could not be read.
    pub fn status(&self, hash: &TxHash) -> Result<Option<TransactionStatus>, ArchiveError> {
        self.status_of(&self.find_transaction(hash)?)
    }

    /// The same of a transaction that was looked for at this head.
    ///
    /// # Errors
    ///
    /// The transaction could not be read.
    pub fn status_of(&self, found: &FoundTransaction) -> Result<Option<TransactionStatus>, ArchiveError> {
        let hash = found.hash();
        let record = self.shared.lock_pool().record(hash).cloned();
        // The chain is asked last, since a transaction leaves the pool for a block, and it has the last word: what is
        // in a block may have come in a second time while the block was made.
        let newest = self.shared.published();
        let same = Arc::ptr_eq(&newest, &self.published);
        let stored = if same { found.read()? } else { newest.state.transaction(hash)? };
        let Some(stored) = stored else { return Ok(record.map(Into::into)) };
        let made = newest.state.time_of(stored.block)?;
        Ok(Some(TransactionStatus {
            hash: *hash,
            sender: stored.transaction.sender(),
            status: TxStatus::Confirmed,
            success: stored.receipt.success,
            inserted: stored.block,
            updated: stored.block,
            modified: made.unwrap_or_default(),
            transaction: Arc::new(stored.transaction),
        }))
    }

    /// Proves the variable `variable` of the contract at `address`, or that it is not there, in the state after the Tx
    /// block `block`; `None` is the latest.
    ///
    /// # Errors
    ///
    /// [`ProofError`]: the block is outside the window for which proofs are served, there is no such contract, or the
    /// state could not be read.
    pub fn state_proof(
        &self,
        address: &Address,
        variable: &VariableHash,
        block: Option<BlockNumber>,
    ) -> Result<StateProof, ProofError> {
        let block = self.proof_block(block)?;
        let proof = self.prove(address, variable, block);
        if let Err(ProofError::State(StateError::Expired)) = proof {
            // The block left the window while its state was read.
            let head = self.shared.published().head.number();
            return Err(ProofError::Expired { earliest: self.shared.earliest_proof(head) });
        }
        proof
    }

    fn prove(&self, address: &Address, variable: &VariableHash, block: BlockNumber) -> Result<StateProof, ProofError> {
        let view = self.published.state.at(block)?;
        let account = view.account(address)?.ok_or(ProofError::UnknownAccount)?;
        let contract = account.contract.ok_or(ProofError::NotAContract)?;
        contract.storage_root.ok_or(ProofError::NoStorage)?;
        let storage = view.storage_proof(address, variable)?.ok_or(ProofError::NoStorage)?;
        Ok(StateProof { account: view.account_proof(address)?, storage })
    }

    /// The block for which a proof is asked, `None` being the latest, if it is in the window for which they are served.
    ///
    /// # Errors
    ///
    /// [`ProofError::NotMined`] or [`ProofError::Expired`]: it is not. [`state_proof`](Self::state_proof) says so too, but
    /// callers have more to check between this and the rest.
    pub fn proof_block(&self, block: Option<BlockNumber>) -> Result<BlockNumber, ProofError> {
        let latest = self.published.head.number();
        let block = block.unwrap_or(latest);
        let earliest = self.shared.earliest_proof(latest);
        match block {
            block if block > latest => Err(ProofError::NotMined { block }),
            block if block < earliest => Err(ProofError::Expired { earliest }),
            block => Ok(block),
        }
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// The oldest and the latest block whose states are kept, at this head.
    pub(crate) fn kept(&self) -> (BlockNumber, BlockNumber) {
        let latest = self.published.head.number();
        (self.shared.earliest_proof(latest), latest)
    }

    /// The same at the newest head, which may have given up what this one had.
    pub(crate) fn kept_now(&self) -> (BlockNumber, BlockNumber) {
        let latest = self.shared.published().head.number();
        (self.shared.earliest_proof(latest), latest)
    }

    /// Money in circulation: all there is, without what the null account holds (execution.md 1.4).
    ///
    /// # Errors
    ///
    /// The state could not be read.
    pub fn coin_supply(&self) -> Result<Qa, StateError> {
        let reserve = self.account(&Address::ZERO)?.unwrap_or_default().balance;
        let all = MINING_RESERVE.checked_add(GENESIS_TOKENS).unwrap_or(Qa::MAX);
        Ok(all.checked_sub(reserve).unwrap_or(Qa::ZERO))
    }
}

impl From<StatusRecord> for TransactionStatus {
    fn from(record: StatusRecord) -> Self {
        let StatusRecord { transaction, status, inserted, updated, modified } = record;
        Self {
            hash: transaction.hash(),
            sender: transaction.sender(),
            transaction: Arc::clone(transaction.transaction()),
            status,
            success: false,
            inserted,
            updated,
            modified,
        }
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
