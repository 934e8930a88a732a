//! The bytes of a pack in the page file, and of its row in the database (`docs/storage.md#packs`).
//!
//! ```text
//! row    18  first Tx block (8)       blocks after the first; counts of blocks and rows; position, length of the pack
//! pack   slot of each block (8)       block less the first block of the pack (4), offset of its part (4)
//! part   count of rows (4), checksum over all lengths (4); for each row: section (1) part (4) length (2); the values
//! ```
//!
//! The values are the values of the rows, with their checksums. All numbers of a pack are big endian.

use super::{
    error::ArchiveError,
    section::{Kind, Place, Section},
};
use crate::{
    codec::{Malformed, Reader, SEAL_LEN, Writer, seal, unseal},
    db::Value,
};

/// Table of the packs in the database.
pub(super) const TABLE: u8 = 0x18;
/// Bytes of a slot.
pub(super) const SLOT: usize = 8;
/// Bytes before the lengths of a part: the count of rows and the checksum.
const BEFORE_LENGTHS: usize = 4 + SEAL_LEN;
/// Bytes of the lengths of one row.
const LENGTHS: usize = 7;

/// A pack in the page file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pack {
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) blocks: u64,
    pub(super) rows: u64,
    /// First byte of the pack in the page file.
    pub(super) position: u64,
    pub(super) len: u32,
}

impl Pack {
    /// Returns the position after the last byte.
    pub(super) const fn end(&self) -> u64 {
        self.position.saturating_add(self.len as u64)
    }

    /// Returns whether the pack has all blocks from its first to its last block.
    pub(super) const fn is_dense(&self) -> bool {
        self.last.saturating_sub(self.first).saturating_add(1) == self.blocks
    }

    /// Returns the number of bytes of all slots.
    pub(super) fn slots_len(&self) -> usize {
        usize::try_from(self.blocks).unwrap_or(usize::MAX).saturating_mul(SLOT)
    }

    /// Returns the key of the row of the pack whose first block is `first`.
    pub(super) fn key(first: u64) -> [u8; 9] {
        let mut key = [TABLE; 9];
        let [_, number @ ..] = &mut key;
        *number = first.to_be_bytes();
        key
    }

    /// Returns the value of the row.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Writer::new();
        out.number(self.last.saturating_sub(self.first));
        for number in [self.blocks, self.rows, self.position, self.len.into()] {
            out.number(number);
        }
        seal(&Self::key(self.first), out.as_slice())
    }

    /// Reads a pack from its row.
    pub(super) fn decode(key: &[u8], value: &[u8]) -> Result<Self, ArchiveError> {
        let first = Section::number_of(key).unwrap_or_default();
        let payload = unseal(key, value).ok_or_else(|| damaged(first, "checksum is wrong"))?;
        let mut reader = Reader::new(payload);
        let mut read = || {
            let last = first.checked_add(reader.number("blocks")?).ok_or(Malformed("blocks"))?;
            let (blocks, rows) = (reader.number("count of blocks")?, reader.number("count of rows")?);
            let (position, len) = (reader.number("position")?, reader.number("length")?);
            reader.finish("pack").map(|()| Self { first, last, blocks, rows, position, len })
        };
        read().map_err(ArchiveError::malformed(Place::pack(first)))
    }

    /// Returns an error for damage of this pack.
    pub(super) fn damaged(&self, reason: &str) -> ArchiveError {
        damaged(self.first, reason)
    }

    /// Returns the slots of the pack from its first bytes. A slot has the block less the first block, and the offset of
    /// the part.
    pub(super) fn slots(&self, bytes: &[u8]) -> Result<Vec<(u64, u64)>, ArchiveError> {
        let slots = bytes.get(..self.slots_len()).unwrap_or_default();
        let slots: Vec<_> = slots.as_chunks::<SLOT>().0.iter().map(|bytes| slot(*bytes)).collect();
        let (first, last) = (slots.first().map(|(block, _)| *block), slots.last().map(|(block, _)| *block));
        let ascends = slots.is_sorted_by(|(block, offset), (next, after)| block < next && offset < after);
        if first != Some(0) || last != self.last.checked_sub(self.first) || !ascends {
            return Err(self.damaged("a slot is wrong"));
        }
        Ok(slots)
    }

    /// Returns the keys and values of all rows, in the order of the keys. `bytes` are the bytes of the pack.
    pub(super) fn rows(&self, bytes: &[u8]) -> Result<Vec<(Value, Value)>, ArchiveError> {
        let slots = self.slots(bytes)?;
        let mut rest = bytes.get(self.slots_len()..).unwrap_or_default();
        let (mut rows, mut position) = (Vec::new(), self.slots_len());
        for (block, offset) in slots {
            let block = self.first.saturating_add(block);
            let wrong = || self.damaged("the lengths of a block are wrong");
            if usize::try_from(offset) != Ok(position) {
                return Err(self.damaged("a slot is wrong"));
            }
            let lengths = decode_lengths(block, rest).ok_or_else(wrong)?;
            let before = rest.len();
            rest = rest.get(head_len(rest)..).ok_or_else(wrong)?;
            for RowPlace { section, part, len } in lengths {
                let (value, after) = rest.split_at_checked(len).ok_or_else(wrong)?;
                rows.push((Value::from(&row_key(block, section, part)[..]), Value::from(value)));
                rest = after;
            }
            position = position.saturating_add(before.saturating_sub(rest.len()));
        }
        if !rest.is_empty() || u64::try_from(rows.len()) != Ok(self.rows) {
            return Err(self.damaged("the number of its rows is wrong"));
        }
        Ok(rows)
    }
}

fn damaged(first: u64, reason: &str) -> ArchiveError {
    ArchiveError::damaged(Place::pack(first), reason)
}

/// A row of a block in a pack.
pub(super) struct RowPlace {
    pub(super) section: u8,
    pub(super) part: u32,
    /// Length of the value in bytes.
    pub(super) len: usize,
}

/// The rows of one block: its number, and section, part and value of each row.
pub(super) type BlockRows = (u64, Vec<(u8, u32, Value)>);

/// Returns a pack and its bytes. Returns `None` if `blocks` is empty, or if a length is too large.
pub(super) fn encode(blocks: &[BlockRows], position: u64) -> Option<(Pack, Vec<u8>)> {
    let ((first, _), (last, _)) = (blocks.first()?, blocks.last()?);
    let (mut slots, mut parts, mut count) = (Vec::new(), Vec::new(), 0_u64);
    let before = blocks.len().checked_mul(SLOT)?;
    for (number, rows) in blocks {
        slots.extend(u32::try_from(number.checked_sub(*first)?).ok()?.to_be_bytes());
        slots.extend(u32::try_from(before.checked_add(parts.len())?).ok()?.to_be_bytes());
        let mut lengths = Vec::new();
        for (section, part, value) in rows {
            lengths.push(*section);
            lengths.extend(part.to_be_bytes());
            lengths.extend(u16::try_from(value.len()).ok()?.to_be_bytes());
        }
        parts.extend(u32::try_from(rows.len()).ok()?.to_be_bytes());
        count = count.checked_add(u64::try_from(rows.len()).ok()?)?;
        let sealed = seal(&Pack::key(*number), &lengths);
        // The checksum comes before the lengths, so that its place does not depend on them.
        let (lengths, checksum) = sealed.split_at_checked(lengths.len())?;
        parts.extend([checksum, lengths].concat());
        for (_, _, value) in rows {
            parts.extend_from_slice(value);
        }
    }
    slots.append(&mut parts);
    let (blocks, len) = (u64::try_from(blocks.len()).ok()?, u32::try_from(slots.len()).ok()?);
    Some((Pack { first: *first, last: *last, blocks, rows: count, position, len }, slots))
}

/// Returns the block less the first block of the pack, and the offset of the part.
pub(super) fn slot(bytes: [u8; SLOT]) -> (u64, u64) {
    let both = u64::from_be_bytes(bytes);
    (both >> 32, both & u64::from(u32::MAX))
}

/// Returns the number of bytes before the values of a part, from its first bytes. The result can be wrong if the part
/// is damaged.
pub(super) fn head_len(bytes: &[u8]) -> usize {
    let rows = bytes.first_chunk().map_or(u32::MAX, |rows| u32::from_be_bytes(*rows));
    usize::try_from(rows).unwrap_or(usize::MAX).saturating_mul(LENGTHS).saturating_add(BEFORE_LENGTHS)
}

/// Returns the rows of a part from its bytes before the values. Returns `None` if the checksum is wrong, or if bytes
/// are missing.
pub(super) fn decode_lengths(number: u64, bytes: &[u8]) -> Option<Vec<RowPlace>> {
    let (checksum, lengths) = bytes.get(4..head_len(bytes))?.split_at_checked(SEAL_LEN)?;
    let sealed = [lengths, checksum].concat();
    let lengths = unseal(&Pack::key(number), &sealed)?;
    let row = |[section, a, b, c, d, e, f]: &[u8; LENGTHS]| {
        let (part, len) = (u32::from_be_bytes([*a, *b, *c, *d]), u16::from_be_bytes([*e, *f]));
        RowPlace { section: *section, part, len: len.into() }
    };
    Some(lengths.as_chunks::<LENGTHS>().0.iter().map(row).collect())
}

/// Returns block, section and part of a key of table `10`, or `None` for another key.
pub(super) fn of_block(key: &[u8]) -> Option<(u64, u8, u32)> {
    let (table, rest) = key.split_first()?;
    let (number, rest) = rest.split_first_chunk()?;
    let (section, part) = rest.split_first()?;
    let part = <[u8; 4]>::try_from(part).ok()?;
    (*table == Kind::Entry.table()).then(|| (u64::from_be_bytes(*number), *section, u32::from_be_bytes(part)))
}

fn row_key(number: u64, section: u8, part: u32) -> Vec<u8> {
    [&[Kind::Entry.table()][..], &number.to_be_bytes(), &[section], &part.to_be_bytes()].concat()
}
