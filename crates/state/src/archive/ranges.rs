//! Finds empty block ranges in the record, and reads their blocks.
//!
//! ```text
//! 15  first Tx block (8)  00  part (4)    the range
//! 16  first DS block (8)                  first Tx block of the range, CRC-32C; only for ranges with DS blocks
//! ```

use std::{
    collections::VecDeque,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::{Mutex, MutexGuard};
use silica_protocol::{
    BlockHash, BlockNumber, CoSignatures, DsBlock, DsBlockHeader, DsBlockNumber, MicroBlock, MicroBlockHeader,
    Timestamp, TxBlock,
};

use super::{
    Archive, ArchiveReport, Written,
    entry::Entry,
    error::{AppendError, ArchiveError},
    range::{BlockSigner, EmptyBlockRange, StoredRange},
    section::{Kind, Place, Section, framed_parts},
    view::{BlockOutline, BlockRewards},
};
use crate::{
    codec::{Reader, Writer, seal, unseal},
    db::Batch,
};

/// Table of the first DS block of each range.
const BY_DS_BLOCK: u8 = 0x16;
/// Maximum number of decoded ranges in memory.
const KEPT: usize = 8;

/// The range in which a DS block was made, the header of the DS block, and the first Tx block under this DS block.
type InRange = (Arc<StoredRange>, DsBlockHeader, BlockNumber);

/// The most recently read empty block ranges, and the signer of their blocks.
#[derive(Debug, Default)]
pub(super) struct Ranges {
    kept: Mutex<VecDeque<Arc<StoredRange>>>,
    seal: OnceLock<Arc<dyn BlockSigner>>,
    /// Whether the record may have ranges. If it has no ranges, a lookup needs no scan.
    any: AtomicBool,
}

impl Ranges {
    /// Returns an empty cache with the signer of `other`.
    pub(super) fn like(other: &Self) -> Self {
        let any = AtomicBool::new(other.any.load(Ordering::Acquire));
        Self { kept: Mutex::default(), seal: other.seal.clone(), any }
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<Arc<StoredRange>>> {
        self.kept.lock()
    }

    fn keep(&self, range: Arc<StoredRange>) {
        let mut kept = self.kept();
        kept.push_front(range);
        kept.truncate(KEPT);
    }

    fn find(&self, number: BlockNumber) -> Option<Arc<StoredRange>> {
        let mut kept = self.kept();
        let at = kept.iter().position(|range| range.range.covers(number))?;
        let range = kept.remove(at)?;
        kept.push_front(Arc::clone(&range));
        Some(range)
    }

    /// Returns a function that signs the headers of a block of the range. The function fails if the signer is missing
    /// or cannot sign the header, or if its key differs from the key in the range.
    fn signer<'a>(
        &'a self,
        range: &EmptyBlockRange,
        number: BlockNumber,
    ) -> impl Fn(&[u8]) -> Result<CoSignatures, ArchiveError> + 'a {
        let member = range.member();
        let seal = self.seal.get().filter(|seal| seal.public_key() == member);
        move |header| {
            let signed = seal.and_then(|seal| seal.seal(header));
            signed.ok_or(ArchiveError::NoSeal { number, member })
        }
    }
}

impl Archive {
    /// Sets the signer of the blocks of empty block ranges. Only the first call has an effect.
    pub(crate) fn set_signer(&self, seal: Arc<dyn BlockSigner>) {
        self.ranges.seal.get_or_init(|| seal);
    }

    /// Returns the signer of the blocks of empty block ranges, or `None` if no signer is set.
    pub(crate) fn seal(&self) -> Option<Arc<dyn BlockSigner>> {
        self.ranges.seal.get().map(Arc::clone)
    }

    /// Appends an empty block range with the state diffs of its blocks, as [`Archive::write`] appends a block.
    pub(crate) fn write_range(
        &self,
        range: EmptyBlockRange,
        diffs: &[(BlockNumber, Vec<u8>)],
    ) -> Result<(), AppendError> {
        let mut written = self.begin()?;
        let last = written.last().map(|written| Arc::clone(&written.entry)).or_else(|| self.newest());
        let last = last.ok_or(AppendError::NoDsBlock)?;
        let first = range.first();
        let expected = last.number().next().unwrap_or(BlockNumber::MISSING);
        if first != expected {
            return Err(AppendError::Number { expected, got: first });
        }
        if range.prev_hash() != last.head.hash {
            return Err(AppendError::PrevHash { expected: last.head.hash, got: range.prev_hash() });
        }
        let (ds_number, _) = range.ds_block_before();
        if ds_number != last.head.ds_number {
            return Err(AppendError::DsNumber { expected: last.head.ds_number, got: ds_number });
        }
        if !range.closings().map(|(number, _)| number).eq(diffs.iter().map(|(number, _)| *number)) {
            return Err(AppendError::RangeChanges { first });
        }
        if range.is_too_long() {
            return Err(AppendError::TooLarge { what: "range parts" });
        }
        let newest_with_transactions = last.newest_with_transactions;
        let stored = Arc::new(StoredRange { range, before: last.head.totals, newest_with_transactions });
        let entry = stored.entry(stored.range.last()).ok_or_else(|| damaged_range(&stored))?;
        let mut batch = Batch::default();
        if !Section::new(Kind::Run, first.get()).write_framed(&stored.encode(), &mut batch) {
            return Err(AppendError::TooLarge { what: "bytes" });
        }
        if let Some(ds_block) = stored.range.first_ds_block() {
            let (key, mut out) = (ds_key(ds_block), Writer::new());
            out.number(first.get());
            let value = seal(&key, out.as_slice());
            batch.insert(key, value);
        }
        self.write_head(&entry.head, &mut batch);
        for ((number, hash), (_, diff)) in stored.range.closings().zip(diffs) {
            self.changes.append(number, hash, diff).map_err(AppendError::Changes)?;
        }
        self.broken.store(true, Ordering::Release);
        self.rows.db().apply(batch).map_err(ArchiveError::from)?;
        let blocks = stored.range.blocks();
        self.ranges.any.store(true, Ordering::Release);
        self.ranges.keep(stored);
        written.push(Written { entry: Arc::new(entry), blocks, index: Vec::new() });
        self.broken.store(false, Ordering::Release);
        Ok(())
    }

    /// Returns the empty block range that contains a block, or `None` if no range contains it.
    pub(super) fn range_at(&self, number: BlockNumber) -> Result<Option<Arc<StoredRange>>, ArchiveError> {
        if !self.ranges.any.load(Ordering::Acquire) {
            return Ok(None);
        }
        if let Some(range) = self.ranges.find(number) {
            return Ok(Some(range));
        }
        let Some(first) = Section::newest_up_to(Kind::Run, number.get(), self.rows.db())? else { return Ok(None) };
        Ok(Some(self.range_from(first)?).filter(|range| range.range.covers(number)))
    }

    /// Returns the range whose first block is `first`, from the cache if possible.
    fn range_from(&self, first: u64) -> Result<Arc<StoredRange>, ArchiveError> {
        if let Some(range) = self.ranges.find(BlockNumber::new(first)) {
            return Ok(range);
        }
        let range = Arc::new(self.read_range(Section::new(Kind::Run, first))?);
        self.ranges.keep(Arc::clone(&range));
        Ok(range)
    }

    /// Returns the hash of a block. For a block of an empty block range, the function does not read the entry.
    pub(super) fn hash_at(&self, number: BlockNumber) -> Result<BlockHash, ArchiveError> {
        self.known_of(number, |entry| entry.head.hash, |range| range.range.hash_of(number))
    }

    /// Returns the timestamp of a block. For a block of an empty block range, the function does not read the entry.
    pub(super) fn time_at(&self, number: BlockNumber) -> Result<Timestamp, ArchiveError> {
        self.known_of(number, |entry| entry.head.timestamp, |range| Some(range.range.time_of(number)))
    }

    /// Returns the number of transactions up to a block. For a block of an empty block range, the function does
    /// not read the entry.
    pub(super) fn transactions_up_to(&self, number: BlockNumber) -> Result<u64, ArchiveError> {
        self.known_of(number, |entry| entry.head.totals.transactions, |range| Some(range.before.transactions))
    }

    /// Returns the sum of repeats up to a block. For a block of an empty block range, the function does not read
    /// the entry.
    pub(super) fn repeats_up_to(&self, number: BlockNumber) -> Result<u64, ArchiveError> {
        self.known_of(number, |entry| entry.head.totals.repeats, |range| Some(range.before.repeats))
    }

    /// Returns the newest block that has transactions and is not after block `number`. For a block of an empty block
    /// range, the function does not read the entry.
    pub(super) fn newest_with_transactions_at(&self, number: BlockNumber) -> Result<Option<BlockNumber>, ArchiveError> {
        self.known_of(number, |entry| entry.newest_with_transactions, |range| Some(range.newest_with_transactions))
    }

    /// Returns the rewards of a block. For a block of an empty block range, the function does not read the entry.
    pub(super) fn rewards_at(&self, number: BlockNumber) -> Result<BlockRewards, ArchiveError> {
        let of_entry = |entry: &Entry| BlockRewards {
            in_header: entry.tx_block.header.rewards,
            ds_epoch_fees: entry.head.totals.ds_epoch_fees,
        };
        self.known_of(number, of_entry, |range| range.rewards_of(number))
    }

    /// Returns the outline of a block. Does not compute a block of an empty block range.
    pub(super) fn outline_at(&self, number: BlockNumber) -> Result<BlockOutline, ArchiveError> {
        let of_entry = |entry: &Entry| BlockOutline {
            transactions: entry.tx_block.header.tx_count,
            has_edits: entry.edits_len > 0,
            empty_range: None,
        };
        if let Some(entry) = self.entries.get(number.get()).filter(|entry| !entry.in_range) {
            return Ok(of_entry(&entry));
        }
        let of_range = |range: &StoredRange| BlockOutline {
            transactions: 0,
            has_edits: false,
            empty_range: Some(range.range.first()..=range.range.last()),
        };
        match self.range_at(number)? {
            Some(range) => Ok(of_range(&range)),
            None => Ok(of_entry(&*self.entry(number)?)),
        }
    }

    /// Returns a value of a block from its entry, or from its empty block range without computing the block.
    fn known_of<T>(
        &self,
        number: BlockNumber,
        of_entry: impl FnOnce(&Entry) -> T,
        of_range: impl FnOnce(&StoredRange) -> Option<T>,
    ) -> Result<T, ArchiveError> {
        if let Some(entry) = self.entries.get(number.get()) {
            return Ok(of_entry(&entry));
        }
        match self.range_at(number)? {
            Some(range) => of_range(&range).ok_or_else(|| damaged_range(&range)),
            None => Ok(of_entry(&*self.entry(number)?)),
        }
    }

    fn read_range(&self, section: Section) -> Result<StoredRange, ArchiveError> {
        let bytes = section.read_framed(&self.rows)?;
        let range = StoredRange::decode(&bytes).map_err(ArchiveError::malformed(section.place()))?;
        if Section::new(Kind::Run, range.range.first().get()) == section {
            Ok(range)
        } else {
            Err(ArchiveError::damaged(section.place(), "number is wrong"))
        }
    }

    /// Returns the signed Tx block of an entry.
    pub(super) fn tx_block(&self, entry: &Entry) -> Result<Arc<TxBlock>, ArchiveError> {
        let number = entry.number();
        if !entry.in_range {
            return Ok(Arc::clone(&entry.tx_block));
        }
        if let Some(block) = self.sealed.get(number.get()) {
            return Ok(block);
        }
        let range = self.range_of(entry)?;
        let cosignatures = self.ranges.signer(&range.range, number)(&entry.tx_block.header.encode())?;
        let block = Arc::new(TxBlock { cosignatures, ..TxBlock::clone(&entry.tx_block) });
        self.sealed.put(number.get(), &block);
        Ok(block)
    }

    /// Returns the signed micro blocks of a block of an empty block range.
    pub(super) fn micro_blocks_of_range(&self, entry: &Entry) -> Result<Vec<MicroBlock>, ArchiveError> {
        let range = self.range_of(entry)?;
        let (number, timestamp) = (entry.number(), entry.head.timestamp);
        let block = range.range.block(number).ok_or_else(|| damaged_range(&range))?;
        let seal = self.ranges.signer(&range.range, number);
        let signed = |header: MicroBlockHeader| {
            let cosignatures = seal(&header.encode())?;
            Ok(MicroBlock { header, tx_hashes: Vec::new(), cosignatures, timestamp })
        };
        block.micro_blocks.into_iter().map(signed).collect()
    }

    /// Returns the signed DS block if it was made in an empty block range, otherwise `None`.
    pub(super) fn ds_block_of_range(&self, number: DsBlockNumber) -> Result<Option<DsBlock>, ArchiveError> {
        let Some((range, header, at)) = self.ds_block_in_range(number)? else { return Ok(None) };
        let cosignatures = self.ranges.signer(&range.range, at)(&header.encode())?;
        Ok(Some(DsBlock { header, cosignatures, timestamp: range.range.time_of(at) }))
    }

    /// Returns the header of a DS block without signing it.
    pub(super) fn ds_header(&self, number: DsBlockNumber) -> Result<DsBlockHeader, ArchiveError> {
        if let Some(block) = self.own_ds_block(number)? {
            return Ok(block.header.clone());
        }
        match self.ds_block_in_range(number)? {
            Some((_, header, _)) => Ok(header),
            None => Err(Section::new(Kind::DsBlock, number.get()).missing()),
        }
    }

    /// Returns the range in which a DS block was made, the header of the DS block, and the first Tx block under this DS
    /// block. Returns `None` if no range contains the DS block.
    fn ds_block_in_range(&self, number: DsBlockNumber) -> Result<Option<InRange>, ArchiveError> {
        let end = ds_key(DsBlockNumber::new(number.get().saturating_add(1)));
        let Some(found) = self.rows.db().scan(vec![BY_DS_BLOCK]..end.to_vec()).next_back() else { return Ok(None) };
        let (key, value) = found?;
        let Some(range) = self.range_at(read_place(&key, &value)?)? else {
            return Err(ArchiveError::damaged(Place::KEYS, "the empty block range of a DS block is missing"));
        };
        if number > range.range.last_ds_block().0 {
            return Ok(None);
        }
        let (header, at) = range.range.ds_block(number).ok_or_else(|| damaged_range(&range))?;
        Ok(Some((range, header, at)))
    }

    fn range_of(&self, entry: &Entry) -> Result<Arc<StoredRange>, ArchiveError> {
        self.range_at(entry.number())?
            .ok_or_else(|| ArchiveError::damaged(entry.place(), "its empty block range is missing"))
    }

    /// Returns the empty block range that contains a block, or `None` if no range contains it.
    pub(crate) fn block_range(&self, number: BlockNumber) -> Result<Option<EmptyBlockRange>, ArchiveError> {
        Ok(self.range_at(number)?.map(|range| range.range.clone()))
    }

    /// Determines whether the record has ranges. Adds the removal of a range after the head to `batch`. Such a range
    /// was never acknowledged.
    pub(super) fn list_ranges_after(&self, head: Option<BlockNumber>, batch: &mut Batch) -> Result<(), ArchiveError> {
        self.ranges.any.store(Section::newest_up_to(Kind::Run, u64::MAX, self.rows.db())?.is_some(), Ordering::Release);
        let next = head.map_or(0, |head| head.get().saturating_add(1));
        for value in self.rows.db().scan(Section::keys_from(Kind::Run, next)) {
            let (key, _) = value?;
            if head.is_none() || Section::number_of(&key) != Some(next) {
                return Err(ArchiveError::damaged(Place::HEAD, "the record has rows of blocks after the newest"));
            }
            batch.remove(&*key);
        }
        self.list_ds_blocks_after(next, batch)
    }

    /// Adds to `batch` the removal of pointers from DS blocks to ranges: the ranges that begin at block `next` or
    /// later.
    pub(super) fn list_ds_blocks_after(&self, next: u64, batch: &mut Batch) -> Result<(), ArchiveError> {
        let pointers = self.rows.db().scan(vec![BY_DS_BLOCK]..vec![BY_DS_BLOCK.wrapping_add(1)]);
        for pointer in pointers.rev() {
            let (key, value) = pointer?;
            if read_place(&key, &value)?.get() < next {
                break;
            }
            batch.remove(&*key);
        }
        Ok(())
    }

    /// Verifies a range, and adds its counts to `report` and the number of its values to `values`. Returns the entry of
    /// its last block.
    pub(super) fn check_range(
        &self,
        stored: &Arc<StoredRange>,
        before: Option<&Entry>,
        report: &mut ArchiveReport,
        values: &mut u64,
    ) -> Result<Entry, ArchiveError> {
        let StoredRange { range, before: totals, newest_with_transactions } = &**stored;
        let section = Section::new(Kind::Run, range.first().get());
        let damaged = |reason: &str| ArchiveError::damaged(section.place(), reason);
        let before = before.filter(|before| before.number().next() == Some(range.first()));
        let before = before.ok_or_else(|| damaged("it does not follow the previous block"))?;
        let ds_hash = self.ds_header(before.head.ds_number)?.hash();
        if range.prev_hash() != before.head.hash || range.ds_block_before() != (before.head.ds_number, ds_hash) {
            return Err(damaged("its hashes differ from those of the previous block"));
        }
        if range.root_before_range() != before.head.state_root {
            return Err(damaged("its first state differs from that of the previous block"));
        }
        if *totals != before.head.totals || *newest_with_transactions != before.newest_with_transactions {
            return Err(damaged("totals are wrong"));
        }
        if range.timestamp() <= before.head.timestamp || !range.is_whole() {
            return Err(damaged("its blocks do not have the stored hashes"));
        }
        *values = values.saturating_add(u64::from(framed_parts(stored.encode().len())));
        if let Some(ds_block) = range.first_ds_block() {
            let key = ds_key(ds_block);
            let place = self.rows.db().get(&key)?.map(|value| read_place(&key, &value)).transpose()?;
            if place != Some(range.first()) {
                return Err(damaged("the row of its DS blocks is wrong"));
            }
            *values = values.saturating_add(1);
            let made = range.last_ds_block().0.get().saturating_sub(ds_block.get()).saturating_add(1);
            report.ds_blocks = report.ds_blocks.saturating_add(made);
        }
        for (number, hash) in range.closings() {
            let kept = self.changes.read(number, &hash).map_err(ArchiveError::Changes)?;
            report.diffs = report.diffs.saturating_add(u64::from(kept.is_some()));
        }
        report.tx_blocks = report.tx_blocks.saturating_add(range.blocks());
        stored.entry(range.last()).ok_or_else(|| damaged_range(stored))
    }
}

/// Returns the error for a range whose computed blocks do not match its stored hashes.
pub(super) fn damaged_range(range: &StoredRange) -> ArchiveError {
    let place = Section::new(Kind::Run, range.range.first().get()).place();
    ArchiveError::damaged(place, "its blocks do not have the stored hashes")
}

fn ds_key(number: DsBlockNumber) -> [u8; 9] {
    let mut key = [BY_DS_BLOCK; 9];
    let [_, rest @ ..] = &mut key;
    *rest = number.get().to_be_bytes();
    key
}

pub(super) fn read_place(key: &[u8], value: &[u8]) -> Result<BlockNumber, ArchiveError> {
    let payload = unseal(key, value).ok_or_else(|| ArchiveError::damaged(Place::KEYS, "checksum is wrong"))?;
    let mut reader = Reader::new(payload);
    let number = reader.number("number of block").map_err(ArchiveError::malformed(Place::KEYS))?;
    reader.finish("number of block").map_err(ArchiveError::malformed(Place::KEYS))?;
    Ok(BlockNumber::new(number))
}
