//! Queries for blocks and transactions up to one block.

use std::{
    ops::{Range, RangeInclusive},
    sync::Arc,
};

use silica_protocol::{
    Address, BlockHash, BlockNumber, DsBlock, DsBlockHeader, DsBlockNumber, MicroBlock, Qa, Receipt, Timestamp,
    Transaction, TxBlock, TxBlockHeader, TxHash,
};

use super::{
    Archive, ArchiveError, BlockRecord, Head, Totals, deployments,
    entry::{Entry, Located},
    hash_index::{self, Position},
    packs::Hold,
    ranges::damaged_range,
    section::{Kind, Place, Section},
    transactions::unpack,
};
use crate::{
    codec::Reader,
    db::{Scan, Value},
    diff::StateDiff,
};

/// A transaction in the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredTransaction {
    /// The transaction.
    pub transaction: Transaction,
    /// The receipt of the transaction.
    pub receipt: Receipt,
    /// Number of the Tx block that contains the transaction.
    pub block: BlockNumber,
    /// Position among the transactions of the block.
    pub position: u32,
}

/// The positions in the record at which the transaction with a given hash may be. The transaction is not read yet.
#[derive(Clone, Debug)]
pub struct FoundTransaction {
    pub(super) view: ArchiveView,
    pub(super) hash: TxHash,
    /// Block and position of the first transactions that the index has with the same prefix as `hash`. In almost all
    /// cases, this is the transaction. The index has only prefixes, so other transactions can have the same prefix.
    pub(super) places: Vec<(Arc<Entry>, u32)>,
    pub(super) bytes: usize,
}

impl FoundTransaction {
    /// Returns the hash of the transaction.
    pub const fn hash(&self) -> &TxHash {
        &self.hash
    }

    /// Returns the number of bytes that [`read`](Self::read) reads, or 0 if no transaction matches. If several
    /// transactions have hashes with the same first eight bytes, `read` can read the groups of the others too.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the block up to which the record was searched, or `None` if no transaction matches. The transaction is
    /// in this block or in an earlier one.
    pub(crate) fn newest_block(&self) -> Option<BlockNumber> {
        let newest = self.view.newest.as_ref().filter(|_| !self.places.is_empty());
        newest.map(|entry| entry.number())
    }

    /// Reads the transaction. Returns `None` if no transaction has the hash.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`]: the record cannot be read, or is damaged.
    pub fn read(&self) -> Result<Option<StoredTransaction>, ArchiveError> {
        match self.read_from(&self.places)? {
            // The search ended at a transaction with the same prefix.
            None if !self.places.is_empty() => self.read_from(&self.view.entries_at(self.view.places_of(&self.hash)?)?),
            found => Ok(found),
        }
    }

    fn read_from(&self, places: &[(Arc<Entry>, u32)]) -> Result<Option<StoredTransaction>, ArchiveError> {
        for (entry, position) in places {
            let found = self.view.archive.transactions(entry, *position..position.saturating_add(1))?;
            if let Some((transaction, receipt)) = found.into_iter().next()
                && transaction.hash() == self.hash
            {
                let (block, position) = (entry.number(), *position);
                return Ok(Some(StoredTransaction { transaction, receipt, block, position }));
            }
        }
        Ok(None)
    }
}

/// Transactions of a Tx block that are stored and read together.
///
/// A group has at most 32 transactions, and ends with the transaction that brings it to 4,096 bytes or more. Therefore
/// only its last transaction can be large.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionGroup {
    /// Positions of the transactions in the block.
    pub positions: Range<u32>,
    /// Bytes of the group in the record.
    pub bytes: usize,
}

/// The parts of a Tx block that can change balances, without their content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockOutline {
    /// Number of transactions.
    pub transactions: u32,
    /// Whether the block has edits.
    pub has_edits: bool,
    /// The blocks of the empty block range with this block, or `None` if the record has the block separately.
    pub empty_range: Option<RangeInclusive<BlockNumber>>,
}

/// The rewards of a Tx block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRewards {
    /// The rewards in the header, in Qa: the fees of the block, or the coinbase reward for a vacuous block.
    pub in_header: Qa,
    /// The fees of the DS epoch up to and including the block, in Qa.
    pub ds_epoch_fees: Qa,
}

/// The record up to one block. It does not contain later blocks.
#[derive(Clone, Debug)]
pub(crate) struct ArchiveView {
    archive: Arc<Archive>,
    newest: Option<Arc<Entry>>,
}

impl ArchiveView {
    pub(super) const fn new(archive: Arc<Archive>, newest: Option<Arc<Entry>>) -> Self {
        Self { archive, newest }
    }

    /// Returns the rows of a range of keys. The rows can belong to blocks after the newest block of the view.
    pub(super) fn scan_record(&self, keys: Range<Vec<u8>>) -> Scan {
        self.archive.rows.db().scan(keys)
    }

    /// Returns the rows of all packs in the order of their keys. As long as the first value exists, no row moves to a
    /// pack.
    pub(super) fn packed_rows(&self) -> (Hold, impl Iterator<Item = Result<(Value, Value), ArchiveError>> + use<>) {
        let hold = self.archive.rows.hold();
        (hold, self.archive.rows.packed_rows())
    }

    /// Returns the first key in table `10` of the database that belongs to a block after all packs.
    pub(super) fn first_key_after_packs(&self) -> Vec<u8> {
        self.archive.rows.first_key_after_packs()
    }

    /// Returns the newest block, or `None` before genesis.
    pub(crate) fn head(&self) -> Option<&Head> {
        self.newest.as_ref().map(|entry| &entry.head)
    }

    /// Returns a signed Tx block, or `None` if no block has this number yet.
    pub(crate) fn tx_block(&self, number: BlockNumber) -> Result<Option<Arc<TxBlock>>, ArchiveError> {
        self.entry(number)?.map(|entry| self.archive.tx_block(&entry)).transpose()
    }

    /// Returns the fields of a Tx block that most queries need, or `None` if no block has this number yet. Signs no
    /// block.
    pub(crate) fn head_at(&self, number: BlockNumber) -> Result<Option<Head>, ArchiveError> {
        Ok(self.entry(number)?.map(|entry| entry.head.clone()))
    }

    /// Returns the header of a Tx block, or `None` if no block has this number yet. Signs no block.
    pub(crate) fn tx_header(&self, number: BlockNumber) -> Result<Option<TxBlockHeader>, ArchiveError> {
        Ok(self.entry(number)?.map(|entry| entry.tx_block.header.clone()))
    }

    /// Returns the hash of a Tx block, or `None` if no block has this number yet. Signs no block.
    pub(crate) fn hash_of(&self, number: BlockNumber) -> Result<Option<BlockHash>, ArchiveError> {
        self.has(number).then(|| self.archive.hash_at(number)).transpose()
    }

    /// Returns the timestamp of a Tx block, or `None` if no block has this number yet. Signs no block.
    pub(crate) fn time_of(&self, number: BlockNumber) -> Result<Option<Timestamp>, ArchiveError> {
        self.has(number).then(|| self.archive.time_at(number)).transpose()
    }

    /// Returns an error if a revert or a recovery of the store has retired the handles of the view.
    pub(crate) fn require_service(&self) -> Result<(), ArchiveError> {
        Ok(self.archive.rows.db().require_service()?)
    }

    fn has(&self, number: BlockNumber) -> bool {
        self.head().is_some_and(|head| number <= head.number)
    }

    /// Returns the totals up to a Tx block, or `None` if no block has this number yet.
    pub(crate) fn totals(&self, number: BlockNumber) -> Result<Option<Totals>, ArchiveError> {
        Ok(self.entry(number)?.map(|entry| entry.head.totals))
    }

    /// Returns the number of transactions up to a Tx block, or `None` if no block has this number yet. Does not compute
    /// a block of an empty block range.
    pub(crate) fn transactions_up_to(&self, number: BlockNumber) -> Result<Option<u64>, ArchiveError> {
        self.has(number).then(|| self.archive.transactions_up_to(number)).transpose()
    }

    /// Returns the sum of repeats up to a Tx block, or `None` if no block has this number yet. Does not compute a block
    /// of an empty block range.
    pub(crate) fn repeats_up_to(&self, number: BlockNumber) -> Result<Option<u64>, ArchiveError> {
        self.has(number).then(|| self.archive.repeats_up_to(number)).transpose()
    }

    /// Returns the number of the newest block that has transactions and is not after a Tx block. Returns `None` if no
    /// such block exists, or no block has this number yet. Does not compute a block of an empty block range.
    pub(crate) fn newest_with_transactions(&self, number: BlockNumber) -> Result<Option<BlockNumber>, ArchiveError> {
        if self.has(number) { self.archive.newest_with_transactions_at(number) } else { Ok(None) }
    }

    /// Returns the parts of a Tx block, or `None` if no block has this number yet. Does not compute a block of an empty
    /// block range.
    pub(crate) fn outline(&self, number: BlockNumber) -> Result<Option<BlockOutline>, ArchiveError> {
        let Some(head) = self.head().filter(|head| number <= head.number) else { return Ok(None) };
        let mut outline = self.archive.outline_at(number)?;
        outline.empty_range = outline.empty_range.map(|range| *range.start()..=*range.end().min(&head.number));
        Ok(Some(outline))
    }

    /// Returns the rewards of a Tx block, or `None` if no block has this number yet. Does not compute a block of an
    /// empty block range.
    pub(crate) fn rewards_of(&self, number: BlockNumber) -> Result<Option<BlockRewards>, ArchiveError> {
        self.has(number).then(|| self.archive.rewards_at(number)).transpose()
    }

    /// Returns the edits of a Tx block, or `None` if no block has this number yet.
    pub(crate) fn edits_of(&self, number: BlockNumber) -> Result<Option<StateDiff>, ArchiveError> {
        self.entry(number)?.map(|entry| self.archive.edits(&entry)).transpose()
    }

    /// Returns a signed DS block, or `None` if no DS block has this number yet.
    pub(crate) fn ds_block(&self, number: DsBlockNumber) -> Result<Option<Arc<DsBlock>>, ArchiveError> {
        match self.head() {
            Some(head) if number <= head.ds_number => self.archive.ds_block(number).map(Some),
            _ => Ok(None),
        }
    }

    /// Returns the header of a DS block, or `None` if no DS block has this number yet. Signs no block.
    pub(crate) fn ds_header(&self, number: DsBlockNumber) -> Result<Option<DsBlockHeader>, ArchiveError> {
        match self.head() {
            Some(head) if number <= head.ds_number => self.archive.ds_header(number).map(Some),
            _ => Ok(None),
        }
    }

    /// Returns the micro blocks of a Tx block in the order of its list, or `None` if no block has this number yet.
    pub(crate) fn micro_blocks_of(&self, number: BlockNumber) -> Result<Option<Vec<MicroBlock>>, ArchiveError> {
        self.entry(number)?.map(|entry| self.archive.micro_blocks(&entry)).transpose()
    }

    /// Finds the positions in the record at which the transaction with a hash may be. Does not read the transaction.
    pub(crate) fn find_transaction(&self, hash: &TxHash) -> Result<FoundTransaction, ArchiveError> {
        let positions = match &self.newest {
            Some(newest) => {
                let (kind, newest) = (hash_index::Kind::Transaction, newest.number());
                self.archive.index.find_some(kind, hash.as_bytes(), newest)?
            }
            None => Vec::new(),
        };
        let places = self.entries_at(positions)?;
        let groups = places.iter().filter_map(|(entry, position)| entry.group_of(*position));
        let bytes = groups.map(|group| group.bytes.len()).fold(0, usize::saturating_add);
        Ok(FoundTransaction { view: self.clone(), hash: *hash, places, bytes })
    }

    /// Returns the blocks of positions, without the positions of blocks that do not exist yet.
    fn entries_at(&self, positions: Vec<Position>) -> Result<Vec<(Arc<Entry>, u32)>, ArchiveError> {
        let mut places = Vec::new();
        for Position { block, position } in positions {
            places.extend(self.entry(BlockNumber::new(block))?.map(|entry| (entry, position)));
        }
        Ok(places)
    }

    /// Returns up to `most` transactions whose hashes begin with these lower-case hexadecimal digits, in the order of
    /// their first eight bytes. Returns none for other texts.
    pub(crate) fn transactions_with_prefix(
        &self,
        digits: &str,
        most: usize,
    ) -> Result<Vec<(TxHash, BlockNumber, u32)>, ArchiveError> {
        let Some(newest) = &self.newest else { return Ok(Vec::new()) };
        let Some(prefixes) = prefixes(digits) else { return Ok(Vec::new()) };
        // All hashes with the same first eight bytes are candidates for longer digits.
        let candidates = if digits.len() > PREFIX_DIGITS { usize::MAX } else { most };
        let kind = hash_index::Kind::Transaction;
        let positions = self.archive.index.find_between(kind, prefixes, newest.number(), candidates)?;
        let mut found = Vec::new();
        for Position { block, position } in positions {
            let block = BlockNumber::new(block);
            let read = self.transactions(block, position..position.saturating_add(1))?.unwrap_or_default();
            let hash = read.first().map(|(transaction, _)| transaction.hash());
            let hash = hash.filter(|hash| hash.to_string().starts_with(digits));
            found.extend(hash.map(|hash| (hash, block, position)));
        }
        found.truncate(most);
        Ok(found)
    }

    /// Returns the group that contains the transaction at a position of a Tx block, or `None` if the block or the
    /// position does not exist.
    pub(crate) fn transaction_group(
        &self,
        number: BlockNumber,
        position: u32,
    ) -> Result<Option<TransactionGroup>, ArchiveError> {
        let Some(entry) = self.entry(number)? else { return Ok(None) };
        Ok(entry.group_of(position).map(|Located { first, count, bytes }| TransactionGroup {
            positions: first..first.saturating_add(count),
            bytes: bytes.len(),
        }))
    }

    /// Returns the transaction that deployed a contract or library, or `None` if the address has no deployment.
    pub(crate) fn deployment(&self, contract: &Address) -> Result<Option<StoredTransaction>, ArchiveError> {
        let Some(Position { block, position }) = deployments::find(self.archive.rows.db(), contract)? else {
            return Ok(None);
        };
        let block = BlockNumber::new(block);
        let Some(found) = self.transactions(block, position..position.saturating_add(1))? else { return Ok(None) };
        match found.into_iter().next() {
            Some((transaction, receipt)) if transaction.contract_address() == Some(*contract) => {
                Ok(Some(StoredTransaction { transaction, receipt, block, position }))
            }
            _ => Err(ArchiveError::damaged(Place::DEPLOYMENT, "its transaction deployed another contract")),
        }
    }

    /// Returns block and position of the deployment of a contract or library, or `None` if the address has no
    /// deployment.
    pub(crate) fn deployment_place(&self, contract: &Address) -> Result<Option<(BlockNumber, u32)>, ArchiveError> {
        let found = deployments::find(self.archive.rows.db(), contract)?;
        let place = found.map(|Position { block, position }| (BlockNumber::new(block), position));
        Ok(place.filter(|(block, _)| self.has(*block)))
    }

    /// Returns up to `limit` contracts and libraries with the block and the position of their deployment, in the order
    /// of their addresses. The first address is after `after` if it is given.
    pub(crate) fn deployments(
        &self,
        after: Option<&Address>,
        limit: usize,
    ) -> Result<Vec<(Address, BlockNumber, u32)>, ArchiveError> {
        let Some(head) = self.head() else { return Ok(Vec::new()) };
        let rows = deployments::list(self.archive.rows.db(), after, head.number, limit)?;
        Ok(rows.into_iter().map(|(address, at)| (address, BlockNumber::new(at.block), at.position)).collect())
    }

    /// Returns the contracts and libraries that an account deployed, in the order of the transactions. Reads only the
    /// rows of this account.
    pub(crate) fn deployed_by(&self, sender: &Address) -> Result<Vec<Address>, ArchiveError> {
        let Some(head) = self.head() else { return Ok(Vec::new()) };
        deployments::of_sender(self.archive.rows.db(), sender, head.number)
    }

    /// Returns the transactions of a Tx block in a range of positions, or `None` if no block has this number yet.
    /// Positions after the last transaction are ignored.
    pub(crate) fn transactions(
        &self,
        number: BlockNumber,
        range: Range<u32>,
    ) -> Result<Option<Vec<(Transaction, Receipt)>>, ArchiveError> {
        self.entry(number)?.map(|entry| self.archive.transactions(&entry, range)).transpose()
    }

    /// Returns the hashes of the transactions at a range of positions in a Tx block, or `None` if no block has this
    /// number yet. Ignores positions after the last transaction.
    pub(crate) fn transaction_hashes(
        &self,
        number: BlockNumber,
        range: Range<u32>,
    ) -> Result<Option<Vec<TxHash>>, ArchiveError> {
        let transactions = self.transactions(number, range)?;
        Ok(transactions.map(|transactions| transactions.iter().map(|(transaction, _)| transaction.hash()).collect()))
    }

    /// Returns the hashes of the newest transactions, the newest first. Returns at most `limit` hashes.
    pub(crate) fn recent_transactions(&self, limit: usize) -> Result<Vec<TxHash>, ArchiveError> {
        let mut hashes = Vec::new();
        let mut next = self.newest.clone();
        while let Some(entry) = next.take()
            && hashes.len() < limit
            && let Some(number) = entry.newest_with_transactions
            && let Some(entry) = self.entry(number)?
        {
            let missing = u32::try_from(limit.saturating_sub(hashes.len())).unwrap_or(u32::MAX);
            let count = entry.transaction_count();
            let of_block = self.archive.transactions(&entry, count.saturating_sub(missing)..count)?;
            hashes.extend(of_block.iter().rev().map(|(transaction, _)| transaction.hash()));
            next = number.previous().map(|before| self.entry(before)).transpose()?.flatten();
        }
        Ok(hashes)
    }

    /// Returns all data that were appended as one block, or `None` if no block has this number yet.
    pub(crate) fn record(&self, number: BlockNumber) -> Result<Option<BlockRecord>, ArchiveError> {
        self.entry(number)?.map(|entry| self.archive.record(&entry)).transpose()
    }

    fn entry(&self, number: BlockNumber) -> Result<Option<Arc<Entry>>, ArchiveError> {
        match &self.newest {
            Some(newest) if number == newest.number() => Ok(Some(Arc::clone(newest))),
            Some(newest) if number < newest.number() => self.archive.entry(number).map(Some),
            _ => Ok(None),
        }
    }

    /// Returns the positions of all transactions whose hash has the same prefix as `hash`.
    fn places_of(&self, hash: &TxHash) -> Result<Vec<Position>, ArchiveError> {
        let Some(newest) = &self.newest else { return Ok(Vec::new()) };
        self.archive.index.find(hash_index::Kind::Transaction, hash.as_bytes(), newest.number())
    }
}

/// Number of hexadecimal digits of the hash prefixes in the index.
const PREFIX_DIGITS: usize = 16;

/// Returns the range of the first eight bytes of all hashes that begin with these hexadecimal digits. Returns `None`
/// for a text that is empty or has another character.
fn prefixes(digits: &str) -> Option<RangeInclusive<u64>> {
    let all_hexadecimal = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let first = digits.get(..PREFIX_DIGITS.min(digits.len())).filter(|first| !first.is_empty() && all_hexadecimal)?;
    let number = |fill: &str| {
        let fill = fill.repeat(PREFIX_DIGITS.saturating_sub(first.len()));
        u64::from_str_radix(&format!("{first}{fill}"), 16).ok()
    };
    Some(number("0")?..=number("f")?)
}

/// Functions that read blocks and parts of blocks by number or entry. They do not check whether a view may return the
/// block.
impl Archive {
    pub(super) fn entry(&self, number: BlockNumber) -> Result<Arc<Entry>, ArchiveError> {
        if let Some(entry) = self.entries.get(number.get()) {
            return Ok(entry);
        }
        let section = Section::new(Kind::Entry, number.get());
        let entry = if let Some(bytes) = section.find_framed(&self.rows)? {
            Entry::decode(&bytes, number)?
        } else {
            let range = self.range_at(number)?.ok_or_else(|| section.missing())?;
            range.entry(number).ok_or_else(|| damaged_range(&range))?
        };
        let entry = Arc::new(entry);
        self.entries.put(number.get(), &entry);
        Ok(entry)
    }

    pub(super) fn ds_block(&self, number: DsBlockNumber) -> Result<Arc<DsBlock>, ArchiveError> {
        if let Some(block) = self.own_ds_block(number)? {
            return Ok(block);
        }
        let missing = || Section::new(Kind::DsBlock, number.get()).missing();
        let block = Arc::new(self.ds_block_of_range(number)?.ok_or_else(missing)?);
        self.ds_blocks.put(number.get(), &block);
        Ok(block)
    }

    /// Returns a DS block that has its own row, or that is in the cache.
    pub(super) fn own_ds_block(&self, number: DsBlockNumber) -> Result<Option<Arc<DsBlock>>, ArchiveError> {
        if let Some(block) = self.ds_blocks.get(number.get()) {
            return Ok(Some(block));
        }
        let section = Section::new(Kind::DsBlock, number.get());
        let Some(bytes) = section.find_framed(&self.rows)? else { return Ok(None) };
        let block =
            DsBlock::decode(&bytes).map_err(|error| ArchiveError::damaged(section.place(), error.to_string()))?;
        if block.header.number != number {
            return Err(ArchiveError::damaged(section.place(), "number is wrong"));
        }
        let block = Arc::new(block);
        self.ds_blocks.put(number.get(), &block);
        Ok(Some(block))
    }

    fn micro_blocks(&self, entry: &Entry) -> Result<Vec<MicroBlock>, ArchiveError> {
        let transactions = self.transactions(entry, 0..u32::MAX)?;
        let hashes: Vec<_> = transactions.iter().map(|(transaction, _)| transaction.hash()).collect();
        self.micro_blocks_with(entry, &hashes)
    }

    /// Returns the micro blocks of an entry. `hashes` are the hashes of all its transactions.
    fn micro_blocks_with(&self, entry: &Entry, hashes: &[TxHash]) -> Result<Vec<MicroBlock>, ArchiveError> {
        if entry.in_range {
            return self.micro_blocks_of_range(entry);
        }
        let section = Section::new(Kind::MicroBlocks, entry.number().get());
        let malformed = ArchiveError::malformed(section.place());
        let bytes = section.read(&self.rows, entry.micro_blocks_len, 0..entry.micro_blocks_len)?;
        let mut reader = Reader::new(&bytes);
        let mut rest = hashes;
        let mut blocks = Vec::new();
        while !reader.is_empty() {
            let block = MicroBlock::decode(reader.bytes("micro block").map_err(&malformed)?);
            let mut block = block.map_err(|error| ArchiveError::damaged(section.place(), error.to_string()))?;
            let count = usize::try_from(block.header.tx_count).unwrap_or(usize::MAX);
            let (own, after) = rest
                .split_at_checked(count)
                .ok_or_else(|| ArchiveError::damaged(section.place(), "more transactions than the block has"))?;
            block.tx_hashes = own.to_vec();
            rest = after;
            blocks.push(block);
        }
        Ok(blocks)
    }

    pub(super) fn transactions(
        &self,
        entry: &Entry,
        range: Range<u32>,
    ) -> Result<Vec<(Transaction, Receipt)>, ArchiveError> {
        let section = Section::new(Kind::Transactions, entry.number().get());
        let wanted = |group: &Located| group.first < range.end && group.first.saturating_add(group.count) > range.start;
        let groups: Vec<_> = entry.located().filter(wanted).collect();
        let (Some(first), Some(last)) = (groups.first(), groups.last()) else { return Ok(Vec::new()) };
        let (start, end) = (first.bytes.start, last.bytes.end);
        let bytes = section.read(&self.rows, entry.transactions_len(), start..end)?;
        let mut transactions = Vec::new();
        for group in &groups {
            let within = group.bytes.start.saturating_sub(start)..group.bytes.end.saturating_sub(start);
            let content = bytes.get(within).unwrap_or_default();
            let wanted = range.end.saturating_sub(group.first);
            transactions.extend(unpack(content, group.count, wanted, entry.logical_number(), section.place())?);
        }
        let skip = usize::try_from(range.start.saturating_sub(first.first)).unwrap_or(usize::MAX);
        let take = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX);
        Ok(transactions.into_iter().skip(skip).take(take).collect())
    }

    pub(super) fn record(&self, entry: &Entry) -> Result<BlockRecord, ArchiveError> {
        let transactions = self.transactions(entry, 0..u32::MAX)?;
        let hashes: Vec<_> = transactions.iter().map(|(transaction, _)| transaction.hash()).collect();
        let ds_block = entry.made_ds_block.then(|| self.ds_block(entry.head.ds_number)).transpose()?;
        Ok(BlockRecord {
            tx_block: TxBlock::clone(&*self.tx_block(entry)?),
            micro_blocks: self.micro_blocks_with(entry, &hashes)?,
            ds_block: ds_block.as_deref().cloned(),
            transactions,
            edits: self.edits(entry)?,
            repeats_number: entry.repeats_number,
        })
    }

    /// Returns the edits of a block, which change the state before its transactions.
    fn edits(&self, entry: &Entry) -> Result<StateDiff, ArchiveError> {
        if entry.edits_len == 0 {
            return Ok(StateDiff::default());
        }
        let section = Section::new(Kind::Edits, entry.number().get());
        let bytes = section.read(&self.rows, entry.edits_len, 0..entry.edits_len)?;
        StateDiff::decode(&bytes).map_err(ArchiveError::malformed(section.place()))
    }
}
