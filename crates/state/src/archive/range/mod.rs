//! Empty block ranges: the stored form of consecutive empty blocks.
//!
//! Two ordinary empty blocks of a DS epoch differ only in number, timestamp, and the hashes that depend on earlier
//! blocks. Therefore the stored form of a range is one template, plus the changes at each DS epoch. A range consists of
//! *range parts*. A range part has at most [`LONGEST`] blocks, all of one DS epoch, and the hash of its last block. The
//! first read of a block computes the hashes of its range part, and compares the last hash with the stored hash.
//!
//! ```text
//! template ─▶ Cursor ─┬─ open: a DS block            range part 1, range part 2, …
//!                     ├─ plain: an ordinary block     opening? plain … plain closing?
//!                     └─ close: a vacuous block
//! ```
//!
//! One [`Cursor`] makes the headers, both when a range is built and when a block of the range is read. Signatures are
//! not stored. A [`BlockSigner`] computes them at a read.

mod rewards;

use std::{fmt, sync::OnceLock};

use silica_protocol::{
    BlockHash, BlockNumber, CoSignatures, DsBlockHeader, DsBlockNumber, GasPrice, MbInfo, MbInfoHash, MicroBlockHeader,
    PublicKey, Qa, StateDeltaHash, StateRoot, Timestamp, TxBlock, TxBlockHeader,
};

use super::entry::{Entry, Head, Totals};
use crate::codec::{Malformed, Reader, Writer};

/// Maximum number of blocks of a range part. The first read of a block computes the hashes of all blocks of its range
/// part.
const LONGEST: u64 = 128;
/// Maximum number of range parts of a range.
const PARTS: usize = 64;

/// Layout of a range on a chain without repeats.
const LAYOUT: u8 = 1;
/// Layout of a range on a chain with repeats. The number of repeats comes after the three other totals.
const LAYOUT_WITH_REPEATS: u8 = 2;
/// Flag of a range part that begins with a DS block.
const OPENS: u8 = 1;
/// Flag of a range part that ends with a vacuous block.
const CLOSES: u8 = 2;

/// A signer for the blocks of empty block ranges.
///
/// A read of a block calls the signer. The signature must be the same at each read, because a block must not change.
pub trait BlockSigner: fmt::Debug + Send + Sync {
    /// Returns the public key of the signatures.
    fn public_key(&self) -> PublicKey;

    /// Signs a header as the only member of its committee. Returns `None` if the signer cannot sign it.
    fn seal(&self, header: &[u8]) -> Option<CoSignatures>;
}

/// The common fields of the blocks of an empty block range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeTemplate {
    /// Header of the first block as an ordinary block. Its DS block number and the hash of its micro blocks are
    /// ignored.
    pub tx_block: TxBlockHeader,
    /// Headers of the micro blocks of an ordinary block, in the order of the list in the Tx block.
    pub micro_blocks: Vec<MicroBlockHeader>,
    /// Header of the first DS block after the DS block that is in force before the range.
    pub ds_block: DsBlockHeader,
    /// Timestamp of the first block. Each later block is one microsecond later.
    pub timestamp: Timestamp,
}

impl RangeTemplate {
    /// Sets all ignored fields to fixed values, so that equal templates have equal encodings.
    fn normal(mut self) -> Self {
        let Self { tx_block, micro_blocks, ds_block, timestamp: _ } = &mut self;
        tx_block.mb_info_hash = MbInfoHash::ZERO;
        tx_block.ds_block = DsBlockNumber::new(ds_block.number.get().saturating_sub(1));
        for header in micro_blocks.iter_mut() {
            (header.prev_hash, header.epoch, header.ds_block) =
                (tx_block.prev_hash, tx_block.number, tx_block.ds_block);
        }
        if let Some(last) = micro_blocks.last_mut() {
            (last.rewards, last.state_delta_hash) = (tx_block.rewards, tx_block.state_delta_hash);
        }
        (ds_block.epoch, ds_block.gas_price) = (tx_block.number, GasPrice::new(Qa::ZERO));
        (ds_block.ds_difficulty, ds_block.difficulty) = (0, 0);
        self
    }
}

/// The fields in which a DS block differs from the previous DS block, except number and hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeDsBlock {
    /// Difficulty of joining the DS committee.
    pub ds_difficulty: u8,
    /// Difficulty of joining a shard.
    pub difficulty: u8,
    /// Minimum gas price.
    pub gas_price: GasPrice,
}

/// The fields in which a vacuous block differs from an ordinary block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeVacuousBlock {
    /// State root after the block.
    pub state_root: StateRoot,
    /// The reward, which is in the last micro block and in the Tx block.
    pub rewards: Qa,
    /// Hash of the state delta of the block, which is also in the last micro block.
    pub state_delta_hash: StateDeltaHash,
}

/// An empty block range. [`RangeBuilder`] makes it, or the record decodes it.
#[derive(Clone, Debug)]
pub struct EmptyBlockRange {
    template: RangeTemplate,
    parts: Vec<RangePart>,
}

/// A range part: blocks of one DS epoch.
#[derive(Clone, Debug)]
struct RangePart {
    /// Number of blocks of the range before this range part.
    start: u64,
    /// The DS block made with the first block of this part, and its hash.
    opening: Option<(RangeDsBlock, BlockHash)>,
    /// Number of ordinary blocks.
    plain: u64,
    /// The vacuous block after the ordinary blocks.
    closing: Option<RangeVacuousBlock>,
    /// Hash of the last block of this part.
    last: BlockHash,
    /// Hashes of all blocks of this part, computed at the first read. `None` if the hash of the last block differs from
    /// `last`.
    hashes: OnceLock<Option<Box<[BlockHash]>>>,
}

/// A block of an empty block range, without signatures.
#[derive(Clone, Debug)]
pub(super) struct RangeBlock {
    pub(super) tx_block: TxBlock,
    pub(super) micro_blocks: Vec<MicroBlockHeader>,
    pub(super) hash: BlockHash,
    /// Whether the DS block in force was made with this block.
    pub(super) opens: bool,
}

impl EmptyBlockRange {
    /// Returns the number of the first block.
    pub fn first(&self) -> BlockNumber {
        self.template.tx_block.number
    }

    /// Returns the number of blocks, at least 1.
    pub fn blocks(&self) -> u64 {
        self.parts.last().map_or(0, |part| part.start.saturating_add(part.blocks()))
    }

    /// Returns the number of the last block.
    pub fn last(&self) -> BlockNumber {
        BlockNumber::new(self.first().get().saturating_add(self.blocks().saturating_sub(1)))
    }

    /// Returns the hash of the last block.
    pub fn last_hash(&self) -> BlockHash {
        self.parts.last().map_or(BlockHash::ZERO, |part| part.last)
    }

    /// Returns the hash of the block before the first block of the range.
    pub fn prev_hash(&self) -> BlockHash {
        self.template.tx_block.prev_hash
    }

    /// Returns the timestamp of the first block.
    pub fn timestamp(&self) -> Timestamp {
        self.template.timestamp
    }

    /// Returns the minimum gas price in a DS block of the range, or `None` if the range has no such DS block.
    pub fn gas_price_of(&self, number: DsBlockNumber) -> Option<GasPrice> {
        let skipped = number.get().checked_sub(self.template.ds_block.number.get())?;
        let mut made = self.parts.iter().filter_map(|part| part.opening);
        made.nth(usize::try_from(skipped).ok()?).map(|(ds_block, _)| ds_block.gas_price)
    }

    /// Returns the state root after the last block.
    pub fn state_root(&self) -> StateRoot {
        self.root_before(self.parts.len())
    }

    /// Returns number and hash of the DS block in force at the last block.
    pub fn last_ds_block(&self) -> (DsBlockNumber, BlockHash) {
        self.ds_before(self.parts.len())
    }

    /// Returns the state root before the first block.
    pub(super) fn root_before_range(&self) -> StateRoot {
        self.root_before(0)
    }

    /// Returns number and hash of the DS block in force before the first block.
    pub(super) fn ds_block_before(&self) -> (DsBlockNumber, BlockHash) {
        self.ds_before(0)
    }

    /// Returns the number of the first DS block made in the range, or `None` if the range has no DS block.
    pub(super) fn first_ds_block(&self) -> Option<DsBlockNumber> {
        let (before, last) = (self.ds_block_before().0, self.last_ds_block().0);
        (before < last).then_some(self.template.ds_block.number)
    }

    /// Returns whether the range has more than [`PARTS`] range parts, so that it cannot be stored.
    pub(super) fn is_too_long(&self) -> bool {
        self.parts.len() > PARTS
    }

    /// Returns the public key of the only member of all committees.
    pub(super) fn member(&self) -> PublicKey {
        self.template.tx_block.miner
    }

    /// Returns number and hash of each block that changes the state. These are the vacuous blocks.
    pub(super) fn closings(&self) -> impl Iterator<Item = (BlockNumber, BlockHash)> + '_ {
        self.parts.iter().filter(|part| part.closing.is_some()).map(|part| {
            let end = part.start.saturating_add(part.blocks());
            (self.number_at(end.saturating_sub(1)), part.last)
        })
    }

    /// Returns the hash of a block. Returns `None` if the block is not in the range, or its hash cannot be computed
    /// because the range is damaged.
    pub(super) fn hash_of(&self, number: BlockNumber) -> Option<BlockHash> {
        let (part, at) = self.find(number)?;
        if at.checked_add(1) == Some(part.blocks()) {
            return Some(part.last);
        }
        self.hashes(part)?.get(usize::try_from(at).ok()?).copied()
    }

    /// Returns the last of the consecutive blocks, from `number` on, that do not change the state and are in the range
    /// part of block `number`. Returns `None` if block `number` is not in the range, or changes the state.
    pub(super) fn unchanged_until(&self, number: BlockNumber) -> Option<BlockNumber> {
        let (part, at) = self.find(number)?;
        let last = part.plain.checked_sub(1).filter(|last| at <= *last)?;
        Some(self.number_at(part.start.saturating_add(last)))
    }

    pub(super) fn covers(&self, number: BlockNumber) -> bool {
        (self.first()..=self.last()).contains(&number)
    }

    /// Returns the timestamp of a block of the range. Does not check that the block is in the range.
    pub fn time_of(&self, number: BlockNumber) -> Timestamp {
        let place = number.get().saturating_sub(self.first().get());
        Timestamp::new(self.template.timestamp.get().saturating_add(place))
    }

    /// Computes a block of the range. Returns `None` if the block is not in the range, or the range is damaged.
    pub(super) fn block(&self, number: BlockNumber) -> Option<RangeBlock> {
        let (part, at) = self.find(number)?;
        let hashes = self.hashes(part)?;
        let mut cursor = self.cursor(part);
        if let Some(before) = at.checked_sub(1) {
            cursor.hash = *hashes.get(usize::try_from(before).ok()?)?;
            cursor.next = number.get();
        }
        part.make(&mut cursor, at);
        let timestamp = self.time_of(number);
        let Cursor { tx: header, micro: micro_blocks, infos, hash, .. } = cursor;
        let tx_block = TxBlock { header, micro_blocks: infos, cosignatures: CoSignatures::unsigned(1), timestamp };
        Some(RangeBlock { tx_block, micro_blocks, hash, opens: at == 0 && part.opening.is_some() })
    }

    /// Computes the header of a DS block of the range. Returns the header, and the number of the first Tx block under
    /// this DS block. Returns `None` if the DS block is not in the range, or the range is damaged.
    pub(super) fn ds_block(&self, number: DsBlockNumber) -> Option<(DsBlockHeader, BlockNumber)> {
        let skipped = number.get().checked_sub(self.template.ds_block.number.get())?;
        let mut opening = self.parts.iter().filter(|part| part.opening.is_some());
        let part = opening.nth(usize::try_from(skipped).ok()?)?;
        let header = self.cursor(part).ds;
        let (_, hash) = part.opening?;
        (header.number == number && header.hash() == hash).then(|| (header, self.number_at(part.start)))
    }

    /// Computes all blocks, and returns whether they have the stored hashes.
    pub(super) fn is_whole(&self) -> bool {
        let ds_block = |part: &RangePart| part.opening.is_none_or(|(_, hash)| self.cursor(part).ds.hash() == hash);
        self.parts.iter().all(|part| ds_block(part) && self.make_hashes(part).is_some())
    }

    fn number_at(&self, place: u64) -> BlockNumber {
        BlockNumber::new(self.first().get().saturating_add(place))
    }

    /// Returns the range part of a block, and the position of the block in this part. Returns `None` if the block is
    /// not in the range.
    fn find(&self, number: BlockNumber) -> Option<(&RangePart, u64)> {
        let place = number.get().checked_sub(self.first().get())?;
        let after = self.parts.partition_point(|part| part.start <= place);
        let part = self.parts.get(after.checked_sub(1)?)?;
        let at = place.checked_sub(part.start).filter(|at| *at < part.blocks())?;
        Some((part, at))
    }

    fn hashes<'a>(&self, part: &'a RangePart) -> Option<&'a [BlockHash]> {
        part.hashes.get_or_init(|| self.make_hashes(part)).as_deref()
    }

    fn make_hashes(&self, part: &RangePart) -> Option<Box<[BlockHash]>> {
        let mut cursor = self.cursor(part);
        let make = |at| {
            part.make(&mut cursor, at);
            cursor.hash
        };
        let hashes: Box<[BlockHash]> = (0..part.blocks()).map(make).collect();
        (hashes.last() == Some(&part.last)).then_some(hashes)
    }

    /// Returns a cursor at the first Tx block of a range part. If the range part begins with a DS block, the cursor has
    /// already made this DS block.
    fn cursor(&self, part: &RangePart) -> Cursor {
        let before = self.parts.partition_point(|other| other.start < part.start);
        let mut cursor = Cursor::new(&self.template);
        cursor.next = self.number_at(part.start).get();
        cursor.tx.state_root = self.root_before(before);
        (cursor.ds_number, cursor.ds_hash) = self.ds_before(before);
        if let Some(last) = before.checked_sub(1).and_then(|last| self.parts.get(last)) {
            cursor.hash = last.last;
        }
        if let Some((ds_block, hash)) = part.opening {
            cursor.open(&ds_block);
            cursor.ds_hash = hash;
        }
        cursor
    }

    fn before(&self, parts: usize) -> impl DoubleEndedIterator<Item = &RangePart> {
        self.parts.iter().take(parts)
    }

    fn root_before(&self, parts: usize) -> StateRoot {
        let closing = self.before(parts).rev().find_map(|part| part.closing);
        closing.map_or(self.template.tx_block.state_root, |closing| closing.state_root)
    }

    fn ds_before(&self, parts: usize) -> (DsBlockNumber, BlockHash) {
        let RangeTemplate { ds_block, .. } = &self.template;
        let made = self.before(parts).filter(|part| part.opening.is_some()).count();
        let made = u64::try_from(made).unwrap_or(u64::MAX);
        let number = ds_block.number.get().saturating_sub(1).saturating_add(made);
        let opening = self.before(parts).rev().find_map(|part| part.opening);
        (DsBlockNumber::new(number), opening.map_or(ds_block.prev_hash, |(_, hash)| hash))
    }
}

impl RangePart {
    fn blocks(&self) -> u64 {
        self.plain.saturating_add(u64::from(self.closing.is_some()))
    }

    /// Makes the block at position `at`, which must be the next block of the cursor.
    fn make(&self, cursor: &mut Cursor, at: u64) {
        match &self.closing {
            Some(closing) if at == self.plain => cursor.close(closing),
            _ => cursor.plain(),
        }
    }
}

/// Makes the headers of a range, one after the other.
struct Cursor {
    /// Header of the newest Tx block that the cursor has made. At first, a header with values of the template.
    tx: TxBlockHeader,
    micro: Vec<MicroBlockHeader>,
    infos: Vec<MbInfo>,
    /// Reward and state delta hash of an ordinary block. A vacuous block has other values.
    ordinary: (Qa, StateDeltaHash),
    /// Hash of the block before the next Tx block.
    hash: BlockHash,
    /// Number of the next Tx block.
    next: u64,
    /// Header of the newest DS block that the cursor has made, or the header in the template.
    ds: DsBlockHeader,
    /// Number and hash of the DS block in force.
    ds_number: DsBlockNumber,
    ds_hash: BlockHash,
}

impl Cursor {
    fn new(template: &RangeTemplate) -> Self {
        let RangeTemplate { tx_block, micro_blocks, ds_block, timestamp: _ } = template;
        let info =
            |header: &MicroBlockHeader| MbInfo { hash: BlockHash::ZERO, tx_root: header.tx_root, shard: header.shard };
        Self {
            infos: micro_blocks.iter().map(info).collect(),
            micro: micro_blocks.clone(),
            ordinary: (tx_block.rewards, tx_block.state_delta_hash),
            hash: tx_block.prev_hash,
            next: tx_block.number.get(),
            tx: tx_block.clone(),
            ds_number: DsBlockNumber::new(ds_block.number.get().saturating_sub(1)),
            ds_hash: ds_block.prev_hash,
            ds: ds_block.clone(),
        }
    }

    /// Makes the next DS block. The caller sets `ds_hash`.
    fn open(&mut self, ds_block: &RangeDsBlock) {
        let RangeDsBlock { ds_difficulty, difficulty, gas_price } = *ds_block;
        self.ds_number = DsBlockNumber::new(self.ds_number.get().saturating_add(1));
        let (number, prev_hash, epoch) = (self.ds_number, self.ds_hash, BlockNumber::new(self.next));
        let before = self.ds.clone();
        self.ds = DsBlockHeader { number, prev_hash, epoch, ds_difficulty, difficulty, gas_price, ..before };
    }

    /// Makes the next block as an ordinary block.
    fn plain(&mut self) {
        let (rewards, delta) = self.ordinary;
        self.make(rewards, delta);
    }

    /// Makes the next block as the vacuous block of its DS epoch.
    fn close(&mut self, closing: &RangeVacuousBlock) {
        self.tx.state_root = closing.state_root;
        self.make(closing.rewards, closing.state_delta_hash);
    }

    fn make(&mut self, rewards: Qa, state_delta_hash: StateDeltaHash) {
        let number = BlockNumber::new(self.next);
        if let Some(last) = self.micro.last_mut() {
            (last.rewards, last.state_delta_hash) = (rewards, state_delta_hash);
        }
        for (header, info) in self.micro.iter_mut().zip(&mut self.infos) {
            (header.prev_hash, header.epoch, header.ds_block) = (self.hash, number, self.ds_number);
            info.hash = header.hash();
        }
        (self.tx.rewards, self.tx.state_delta_hash) = (rewards, state_delta_hash);
        (self.tx.prev_hash, self.tx.number, self.tx.ds_block) = (self.hash, number, self.ds_number);
        self.tx.mb_info_hash = MbInfoHash::of(&self.infos);
        self.hash = self.tx.hash();
        self.next = self.next.saturating_add(1);
    }
}

/// Builds an empty block range, one range part at a time.
pub struct RangeBuilder {
    cursor: Cursor,
    range: EmptyBlockRange,
}

impl fmt::Debug for RangeBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RangeBuilder").field("range", &self.range).finish_non_exhaustive()
    }
}

impl RangeBuilder {
    /// Maximum number of ordinary blocks that [`push`](Self::push) adds.
    pub const LONGEST: u64 = LONGEST - 1;

    /// Begins an empty block range.
    pub fn new(template: RangeTemplate) -> Self {
        let template = template.normal();
        Self { cursor: Cursor::new(&template), range: EmptyBlockRange { template, parts: Vec::new() } }
    }

    /// Returns the number of the block that the builder makes next.
    pub fn next_number(&self) -> BlockNumber {
        BlockNumber::new(self.cursor.next)
    }

    /// Returns the header of the latest DS block of the range, or the header in the template if the range has no DS
    /// block.
    pub fn ds_block(&self) -> &DsBlockHeader {
        &self.cursor.ds
    }

    /// Returns whether the range has the maximum number of range parts. A longer range cannot be stored.
    pub fn is_full(&self) -> bool {
        self.range.parts.len() >= PARTS
    }

    /// Adds a range part: the DS block if given, then `plain` ordinary blocks, then the vacuous block if given. Adds at
    /// most [`LONGEST`](Self::LONGEST) ordinary blocks. Does nothing if the range part would have no Tx block.
    pub fn push(&mut self, ds_block: Option<RangeDsBlock>, plain: u64, closing: Option<RangeVacuousBlock>) {
        let plain = plain.min(Self::LONGEST);
        if plain == 0 && closing.is_none() {
            return;
        }
        let opening = ds_block.map(|ds_block| {
            self.cursor.open(&ds_block);
            self.cursor.ds_hash = self.cursor.ds.hash();
            (ds_block, self.cursor.ds_hash)
        });
        let (start, last, hashes) = (self.range.blocks(), BlockHash::ZERO, OnceLock::new());
        let mut part = RangePart { start, opening, plain, closing, last, hashes };
        for at in 0..part.blocks() {
            part.make(&mut self.cursor, at);
        }
        part.last = self.cursor.hash;
        self.range.parts.push(part);
    }

    /// Returns the range, or `None` if it has no blocks.
    pub fn finish(self) -> Option<EmptyBlockRange> {
        (self.range.blocks() > 0).then_some(self.range)
    }
}

/// An empty block range with the totals before the range, in the form that the record stores.
#[derive(Clone, Debug)]
pub(super) struct StoredRange {
    pub(super) range: EmptyBlockRange,
    /// Totals up to the block before the range.
    pub(super) before: Totals,
    /// The newest block before the range that has transactions, or `None` if no such block exists.
    pub(super) newest_with_transactions: Option<BlockNumber>,
}

impl StoredRange {
    /// Computes the entry of a block of the range. Its Tx block is not signed. Returns `None` if the block is not in
    /// the range, or the range is damaged.
    pub(super) fn entry(&self, number: BlockNumber) -> Option<Entry> {
        let RangeBlock { tx_block, hash, opens, .. } = self.range.block(number)?;
        let is_same_epoch = tx_block.header.ds_block == self.range.ds_block_before().0;
        let totals = if is_same_epoch {
            self.before
        } else {
            let Totals { transactions, repeats, .. } = self.before;
            Totals { transactions, repeats, ..Totals::default() }
        };
        Some(Entry {
            head: Head {
                number,
                hash,
                ds_number: tx_block.header.ds_block,
                state_root: tx_block.header.state_root,
                timestamp: tx_block.timestamp,
                totals,
            },
            tx_block: std::sync::Arc::new(tx_block),
            made_ds_block: opens,
            repeats_number: false,
            newest_with_transactions: self.newest_with_transactions,
            in_range: true,
            diff_len: 0,
            micro_blocks_len: 0,
            groups: Vec::new(),
            edits_len: 0,
        })
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let Self { range: EmptyBlockRange { template, parts }, before, newest_with_transactions } = self;
        let RangeTemplate { tx_block, micro_blocks, ds_block, timestamp } = template;
        let mut out = Writer::new();
        out.byte(if before.repeats == 0 { LAYOUT } else { LAYOUT_WITH_REPEATS });
        out.bytes(&tx_block.encode());
        out.len(micro_blocks.len());
        for header in micro_blocks {
            out.bytes(&header.encode());
        }
        out.bytes(&ds_block.encode());
        out.number(timestamp.get());
        out.number(before.transactions);
        out.number(before.ds_epoch_transactions);
        out.number(before.ds_epoch_fees.get());
        if before.repeats > 0 {
            out.number(before.repeats);
        }
        // The distance in blocks from the newest block with transactions to the first block of the range. 0 means that
        // no block has transactions.
        let back = newest_with_transactions.and_then(|newest| tx_block.number.get().checked_sub(newest.get()));
        out.number(back.unwrap_or(0));
        out.len(parts.len());
        for part in parts {
            part.encode(&mut out);
        }
        out.finish()
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        let with_repeats = match reader.byte("layout")? {
            LAYOUT => false,
            LAYOUT_WITH_REPEATS => true,
            _ => return Err(Malformed("layout")),
        };
        let tx_block = TxBlockHeader::decode(reader.bytes("Tx block")?).map_err(|_| Malformed("Tx block"))?;
        let mut micro_blocks = Vec::new();
        for _ in 0..reader.number::<u32>("micro blocks")? {
            let header = MicroBlockHeader::decode(reader.bytes("micro block")?);
            micro_blocks.push(header.map_err(|_| Malformed("micro block"))?);
        }
        let ds_block = DsBlockHeader::decode(reader.bytes("DS block")?).map_err(|_| Malformed("DS block"))?;
        let timestamp = Timestamp::new(reader.number("timestamp")?);
        let mut before = Totals {
            transactions: reader.number("total of transactions")?,
            ds_epoch_transactions: reader.number("transactions of DS epoch")?,
            ds_epoch_fees: Qa::new(reader.number("fees of DS epoch")?),
            repeats: 0,
        };
        let first = tx_block.number.get();
        if with_repeats {
            before.repeats = reader.number("total of repeats")?;
            if before.repeats == 0 || before.repeats >= first {
                return Err(Malformed("total of repeats"));
            }
        }
        let newest_with_transactions = match reader.number("newest transactions")? {
            0 => None,
            back => Some(BlockNumber::new(first.checked_sub(back).ok_or(Malformed("newest transactions"))?)),
        };
        let (mut parts, mut start) = (Vec::new(), 0_u64);
        let count: usize = reader.number("number of range parts")?;
        // This check limits the time to read a block of a range, which grows with the number of its parts.
        if count > PARTS {
            return Err(Malformed("number of range parts"));
        }
        for _ in 0..count {
            let part = RangePart::decode(&mut reader, start)?;
            start = start.checked_add(part.blocks()).ok_or(Malformed("range part"))?;
            parts.push(part);
        }
        reader.finish("empty block range")?;
        if start == 0 || first.checked_add(start).is_none() || ds_block.number.get() == 0 {
            return Err(Malformed("empty block range"));
        }
        let template = RangeTemplate { tx_block, micro_blocks, ds_block, timestamp };
        if template.clone().normal() != template {
            return Err(Malformed("empty block range"));
        }
        Ok(Self { range: EmptyBlockRange { template, parts }, before, newest_with_transactions })
    }
}

impl RangePart {
    fn encode(&self, out: &mut Writer) {
        let Self { start: _, opening, plain, closing, last, hashes: _ } = self;
        let (opens, closes) = (opening.map_or(0, |_| OPENS), closing.map_or(0, |_| CLOSES));
        out.byte(opens | closes);
        out.number(*plain);
        if let Some((RangeDsBlock { ds_difficulty, difficulty, gas_price }, hash)) = opening {
            out.byte(*ds_difficulty);
            out.byte(*difficulty);
            out.number(gas_price.get().get());
            out.raw(hash.as_bytes());
        }
        if let Some(RangeVacuousBlock { state_root, rewards, state_delta_hash }) = closing {
            out.raw(state_root.as_bytes());
            out.number(rewards.get());
            out.raw(state_delta_hash.as_bytes());
        }
        out.raw(last.as_bytes());
    }

    fn decode(reader: &mut Reader<'_>, start: u64) -> Result<Self, Malformed> {
        let flags = reader.byte("range part")?;
        let plain = reader.number("range part")?;
        if flags & !(OPENS | CLOSES) != 0 || plain >= LONGEST || (plain == 0 && flags & CLOSES == 0) {
            return Err(Malformed("range part"));
        }
        let mut opening = None;
        if flags & OPENS != 0 {
            let (ds_difficulty, difficulty) = (reader.byte("DS block")?, reader.byte("DS block")?);
            let gas_price = GasPrice::new(Qa::new(reader.number("DS block")?));
            let hash = BlockHash::new(reader.array("DS block")?);
            opening = Some((RangeDsBlock { ds_difficulty, difficulty, gas_price }, hash));
        }
        let mut closing = None;
        if flags & CLOSES != 0 {
            let state_root = StateRoot::new(reader.array("vacuous block")?);
            let rewards = Qa::new(reader.number("vacuous block")?);
            let state_delta_hash = StateDeltaHash::new(reader.array("vacuous block")?);
            closing = Some(RangeVacuousBlock { state_root, rewards, state_delta_hash });
        }
        let last = BlockHash::new(reader.array("range part")?);
        Ok(Self { start, opening, plain, closing, last, hashes: OnceLock::new() })
    }
}
