//! The entry of a Tx block in the record: the block, the totals up to it, and the sizes of its other values.

use std::{ops::Range, sync::Arc};

use silica_protocol::{BlockHash, BlockNumber, DsBlockNumber, Qa, StateRoot, Timestamp, TxBlock};

use super::{
    error::ArchiveError,
    section::{Kind, Place, Section},
    transactions::Group,
};
use crate::codec::{Malformed, Reader, Writer};

/// Sums over a block and all earlier blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Number of transactions in the block and all earlier blocks.
    pub transactions: u64,
    /// Number of transactions in this DS epoch, up to this block.
    pub ds_epoch_transactions: u64,
    /// Fees of the transactions in this DS epoch, up to this block. The gas of a fee is the gas in the receipt.
    pub ds_epoch_fees: Qa,
    /// Number of blocks [whose next block has the same logical block number](crate::BlockRecord::repeats_number).
    pub repeats: u64,
}

impl Totals {
    /// Returns the logical block number of the transactions in block `number + 1`. `self` has the totals up to block
    /// `number`. On a chain without repeats of the logical block number, the result is `number + 1`.
    #[must_use]
    pub fn next_logical_number(&self, number: BlockNumber) -> BlockNumber {
        let logical = number.next().and_then(|next| next.get().checked_sub(self.repeats));
        logical.map_or(BlockNumber::MISSING, BlockNumber::new)
    }
}

/// The fields of a Tx block that most queries need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Number of the Tx block.
    pub number: BlockNumber,
    /// Hash of the Tx block.
    pub hash: BlockHash,
    /// Number of the newest DS block at the Tx block.
    pub ds_number: DsBlockNumber,
    /// Root of the account trie.
    pub state_root: StateRoot,
    /// Timestamp of the Tx block.
    pub timestamp: Timestamp,
    /// Totals up to the Tx block.
    pub totals: Totals,
}

/// The entry of one Tx block in the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) tx_block: Arc<TxBlock>,
    pub(crate) head: Head,
    /// Whether DS block `head.ds_number` was made with this block.
    pub(super) made_ds_block: bool,
    /// Whether the next block has the same logical block number.
    pub(super) repeats_number: bool,
    /// The newest block that has transactions, up to and including this block. `None` if no block has transactions.
    pub(super) newest_with_transactions: Option<BlockNumber>,
    /// Whether the block is in an empty block range. Then the record has no other data of the block, and the Tx block
    /// is not signed.
    pub(super) in_range: bool,
    pub(super) diff_len: usize,
    pub(super) micro_blocks_len: usize,
    pub(super) groups: Vec<Group>,
    pub(super) edits_len: usize,
}

/// A group of transactions, with its positions in the block and in the section of transactions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Located {
    /// Position of the first transaction of the group in the block.
    pub(super) first: u32,
    pub(super) count: u32,
    /// Byte range of the group in the section of transactions.
    pub(super) bytes: Range<usize>,
}

/// Layout of an entry without edits, if [`Totals::repeats`] is 0.
const LAYOUT: u8 = 1;
/// Layout of an entry with edits, if [`Totals::repeats`] is 0. The length of the edits comes last.
const LAYOUT_WITH_EDITS: u8 = 2;
/// Layout of an entry if [`Totals::repeats`] is not 0. Such an entry ends with the length of the edits, the number of
/// repeats, and whether the next block repeats the logical block number.
const LAYOUT_WITH_REPEATS: u8 = 3;

impl Entry {
    pub(super) fn encode(&self) -> Vec<u8> {
        let Self { tx_block, head, made_ds_block, newest_with_transactions, diff_len, micro_blocks_len, .. } = self;
        let Self { groups, edits_len, repeats_number, .. } = self;
        let repeats = head.totals.repeats;
        let mut out = Writer::new();
        let layout = match (repeats, *edits_len) {
            (0, 0) => LAYOUT,
            (0, _) => LAYOUT_WITH_EDITS,
            _ => LAYOUT_WITH_REPEATS,
        };
        out.byte(layout);
        out.bytes(&tx_block.encode());
        out.number(head.ds_number.get());
        out.byte(u8::from(*made_ds_block));
        out.number(head.totals.transactions);
        out.number(head.totals.ds_epoch_transactions);
        out.number(head.totals.ds_epoch_fees.get());
        // The distance in blocks to the newest block with transactions, plus one. 0 means that no block has
        // transactions.
        let back = newest_with_transactions.and_then(|newest| head.number.get().checked_sub(newest.get()));
        out.number(back.map_or(0, |back| back.saturating_add(1)));
        out.len(*diff_len);
        out.len(*micro_blocks_len);
        out.len(groups.len());
        for group in groups {
            out.number(group.count);
            out.number(group.len);
        }
        if layout != LAYOUT {
            out.len(*edits_len);
        }
        if layout == LAYOUT_WITH_REPEATS {
            out.number(repeats);
            out.byte(u8::from(*repeats_number));
        }
        out.finish()
    }

    pub(super) fn decode(bytes: &[u8], number: BlockNumber) -> Result<Self, ArchiveError> {
        let place = place(number);
        let malformed = ArchiveError::malformed(place);
        let mut reader = Reader::new(bytes);
        let layout = reader.byte("layout").map_err(&malformed)?;
        if !(LAYOUT..=LAYOUT_WITH_REPEATS).contains(&layout) {
            return Err(malformed(Malformed("layout")));
        }
        let block = reader.bytes("Tx block").map_err(&malformed)?;
        let tx_block = TxBlock::decode(block).map_err(|error| ArchiveError::damaged(place, error.to_string()))?;
        if tx_block.header.number != number {
            return Err(malformed(Malformed("number of Tx block")));
        }
        Self::decode_rest(&mut reader, tx_block, layout)
            .and_then(|entry| reader.finish("entry").map(|()| entry))
            .map_err(malformed)
    }

    fn decode_rest(reader: &mut Reader<'_>, tx_block: TxBlock, layout: u8) -> Result<Self, Malformed> {
        let ds_number = DsBlockNumber::new(reader.number("DS block")?);
        let made_ds_block = flag(reader, "DS block")?;
        let mut totals = Totals {
            transactions: reader.number("total of transactions")?,
            ds_epoch_transactions: reader.number("transactions of DS epoch")?,
            ds_epoch_fees: Qa::new(reader.number("fees of DS epoch")?),
            repeats: 0,
        };
        let newest_with_transactions = match reader.number::<u64>("newest transactions")?.checked_sub(1) {
            None => None,
            Some(back) => {
                let newest = tx_block.header.number.get().checked_sub(back).ok_or(Malformed("newest transactions"))?;
                Some(BlockNumber::new(newest))
            }
        };
        let diff_len = reader.number("length of diff")?;
        let micro_blocks_len = reader.number("length of micro blocks")?;
        // No memory is reserved for `count`, because a damaged count can be large. Each group takes at least two bytes,
        // so decoding of a count that is too large fails at the end of the bytes.
        let count: usize = reader.number("groups")?;
        let mut groups = Vec::new();
        for _ in 0..count {
            groups.push(Group { count: reader.number("groups")?, len: reader.number("groups")? });
        }
        let edits_len = if layout == LAYOUT { 0 } else { reader.number("length of edits")? };
        let mut repeats_number = false;
        if layout == LAYOUT_WITH_REPEATS {
            totals.repeats = reader.number("total of repeats")?;
            repeats_number = flag(reader, "repeat")?;
        }
        if totals.repeats > tx_block.header.number.get() || (totals.repeats == 0 && layout == LAYOUT_WITH_REPEATS) {
            return Err(Malformed("total of repeats"));
        }
        let head = Head {
            number: tx_block.header.number,
            hash: tx_block.header.hash(),
            ds_number,
            state_root: tx_block.header.state_root,
            timestamp: tx_block.timestamp,
            totals,
        };
        let (tx_block, in_range) = (Arc::new(tx_block), false);
        Ok(Self {
            tx_block,
            head,
            made_ds_block,
            repeats_number,
            newest_with_transactions,
            in_range,
            diff_len,
            micro_blocks_len,
            groups,
            edits_len,
        })
    }

    pub(super) const fn number(&self) -> BlockNumber {
        self.head.number
    }

    /// Returns the block number that the transactions of the block read, and that their receipts have.
    pub(super) fn logical_number(&self) -> BlockNumber {
        logical_number(self.head.number, &self.head.totals, self.repeats_number)
    }

    pub(super) const fn place(&self) -> Place {
        place(self.head.number)
    }

    /// Returns the groups of transactions with their positions.
    pub(super) fn located(&self) -> impl Iterator<Item = Located> + '_ {
        self.groups.iter().scan((0_u32, 0_usize), |(first, start), Group { count, len }| {
            let end = start.checked_add(usize::try_from(*len).ok()?)?;
            let located = Located { first: *first, count: *count, bytes: *start..end };
            (*first, *start) = (first.checked_add(*count)?, end);
            Some(located)
        })
    }

    /// Returns the group that contains the transaction at a position, or `None` if the block has no such transaction.
    pub(super) fn group_of(&self, position: u32) -> Option<Located> {
        self.located().find(|group| group.first.saturating_add(group.count) > position)
    }

    /// Returns the number of transactions of the block.
    pub(super) fn transaction_count(&self) -> u32 {
        self.groups.iter().fold(0, |sum, group| sum.saturating_add(group.count))
    }

    /// Returns the length of the section of transactions in bytes.
    pub(super) fn transactions_len(&self) -> usize {
        self.located().last().map_or(0, |group| group.bytes.end)
    }
}

/// Returns the logical block number of a block from the totals up to it.
pub(super) fn logical_number(number: BlockNumber, totals: &Totals, repeats_number: bool) -> BlockNumber {
    let repeats_before = totals.repeats.saturating_sub(u64::from(repeats_number));
    BlockNumber::new(number.get().saturating_sub(repeats_before))
}

fn flag(reader: &mut Reader<'_>, what: &'static str) -> Result<bool, Malformed> {
    match reader.byte(what)? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Malformed(what)),
    }
}

const fn place(number: BlockNumber) -> Place {
    Section::new(Kind::Entry, number.get()).place()
}
