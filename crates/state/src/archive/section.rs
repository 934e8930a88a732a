//! The values of the record: byte strings under consecutive numbers. Long byte strings are split into parts that fit
//! the engine.
//!
//! ```text
//! key    table (1)  number (8)  section (1)  part (4)        big endian, so that keys sort by number
//! value  up to 6,140 bytes, CRC-32C of key and bytes (4)
//! ```
//!
//! The length of a section is in the entry of the block, or in front of the section. The length determines the number
//! of parts, so a missing part is damage.

use std::{fmt, ops::Range};

use super::{
    error::ArchiveError,
    packs::{RowReader, Rows},
};
use crate::{
    codec::{SEAL_LEN, seal, unseal},
    db::{Batch, Db, MAX_VALUE},
};

/// Maximum number of bytes of a part, without its checksum.
pub(super) const PART: usize = MAX_VALUE - SEAL_LEN;
/// Bytes that the length in front of a section takes.
const FRAME: usize = 4;

/// A byte string of the record, stored in one or more parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Section {
    kind: Kind,
    number: u64,
}

/// The content of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The entry of a Tx block: the block, totals, and sizes of its other sections.
    Entry,
    /// The micro blocks of a Tx block, without the hashes of their transactions.
    MicroBlocks,
    /// The transactions of a Tx block with their receipts.
    Transactions,
    /// The edits of a Tx block, which change the state before its transactions.
    Edits,
    /// A DS block.
    DsBlock,
    /// An empty block range, under the number of its first block.
    Run,
}

impl Kind {
    /// Returns the table of the keys.
    pub(super) const fn table(self) -> u8 {
        self.code().0
    }

    /// Returns the first kind of section in the table of a key, or `None` if the table has no sections.
    pub(super) fn of_key(key: &[u8]) -> Option<Self> {
        let table = *key.first()?;
        [Self::Entry, Self::DsBlock, Self::Run].into_iter().find(|kind| kind.code().0 == table)
    }

    /// Returns the table and the section byte of a key.
    const fn code(self) -> (u8, u8) {
        match self {
            Self::Entry => (0x10, 0),
            Self::MicroBlocks => (0x10, 1),
            Self::Transactions => (0x10, 2),
            Self::Edits => (0x10, 3),
            Self::DsBlock => (0x11, 0),
            Self::Run => (0x15, 0),
        }
    }
}

/// Names a value or a part of the record in error texts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Place(PlaceKind);

#[derive(Clone, Copy, PartialEq, Eq)]
enum PlaceKind {
    Deployment,
    Head,
    HistoryIndex,
    Keys,
    Index,
    Label,
    Pack(u64),
    Section(Section, Option<u32>),
}

impl Place {
    /// The value that names the newest block.
    pub(super) const HEAD: Self = Self(PlaceKind::Head);
    /// All keys of the record together.
    pub(super) const KEYS: Self = Self(PlaceKind::Keys);
    /// The row of a deployment.
    pub(super) const DEPLOYMENT: Self = Self(PlaceKind::Deployment);
    /// The label of the chain, a text that the caller chooses.
    pub(super) const LABEL: Self = Self(PlaceKind::Label);
    /// The hash index.
    pub(super) const INDEX: Self = Self(PlaceKind::Index);
    /// The history index.
    pub(crate) const HISTORY_INDEX: Self = Self(PlaceKind::HistoryIndex);

    /// Returns the place of the pack whose first block has this number.
    pub(super) const fn pack(first: u64) -> Self {
        Self(PlaceKind::Pack(first))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            PlaceKind::Deployment => f.write_str("row of a deployment"),
            PlaceKind::Head => f.write_str("head"),
            PlaceKind::Keys => f.write_str("keys"),
            PlaceKind::HistoryIndex => f.write_str("history index"),
            PlaceKind::Index => f.write_str("hash index"),
            PlaceKind::Label => f.write_str("label of the chain"),
            PlaceKind::Pack(first) => write!(f, "pack from block {first}"),
            PlaceKind::Section(Section { kind, number }, part) => {
                let what = match kind {
                    Kind::Entry => "entry of block",
                    Kind::MicroBlocks => "micro blocks of block",
                    Kind::Transactions => "transactions of block",
                    Kind::Edits => "edits of block",
                    Kind::DsBlock => "DS block",
                    Kind::Run => "empty block range from block",
                };
                write!(f, "{what} {number}")?;
                part.map_or(Ok(()), |part| write!(f, ", part {part}"))
            }
        }
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Place({self})")
    }
}

impl Section {
    pub(super) const fn new(kind: Kind, number: u64) -> Self {
        Self { kind, number }
    }

    pub(super) const fn place(self) -> Place {
        Place(PlaceKind::Section(self, None))
    }

    const fn part_place(self, part: u32) -> Place {
        Place(PlaceKind::Section(self, Some(part)))
    }

    pub(super) fn key(self, part: u32) -> [u8; 14] {
        let (table, section) = self.kind.code();
        let mut key = [0; 14];
        let [first, number @ .., kind, a, b, c, d] = &mut key;
        (*first, *kind) = (table, section);
        *number = self.number.to_be_bytes();
        [*a, *b, *c, *d] = part.to_be_bytes();
        key
    }

    /// Adds the parts of the section to a batch. Returns `false` if the section has too many parts.
    pub(super) fn write(self, bytes: &[u8], batch: &mut Batch) -> bool {
        for (part, payload) in bytes.chunks(PART).enumerate() {
            let Ok(part) = u32::try_from(part) else { return false };
            let key = self.key(part);
            batch.insert(key, seal(&key, payload));
        }
        true
    }

    /// Adds the section with its length in front, for [`Section::read_framed`]. Returns `false` if the section is too
    /// long.
    pub(super) fn write_framed(self, bytes: &[u8], batch: &mut Batch) -> bool {
        let Ok(len) = u32::try_from(bytes.len()) else { return false };
        self.write(&[&len.to_be_bytes(), bytes].concat(), batch)
    }

    /// Reads `range` of a section of `len` bytes.
    pub(super) fn read(self, rows: &Rows, len: usize, range: Range<usize>) -> Result<Vec<u8>, ArchiveError> {
        // Reserves at most one part: `len` comes from the record and can be wrong.
        let mut bytes = Vec::with_capacity(range.len().min(PART));
        let (first, last) = (range.start.checked_div(PART).unwrap_or(0), range.end.div_ceil(PART));
        let mut reader = rows.reader();
        for part in first..last {
            let start = part.saturating_mul(PART);
            let expected = len.saturating_sub(start).min(PART);
            let part = u32::try_from(part).unwrap_or(u32::MAX);
            let value = self.find_part(&mut reader, part, Some(expected))?.ok_or_else(|| self.missing_part(part))?;
            let within = range.start.saturating_sub(start)..range.end.saturating_sub(start).min(expected);
            bytes.extend_from_slice(value.get(within).unwrap_or_default());
        }
        Ok(bytes)
    }

    /// Reads a section that [`Section::write_framed`] has written. A missing section is damage.
    pub(super) fn read_framed(self, rows: &Rows) -> Result<Vec<u8>, ArchiveError> {
        self.find_framed(rows)?.ok_or_else(|| self.missing())
    }

    /// Reads a section like [`Section::read_framed`]. Returns `None` if its first part is missing.
    pub(super) fn find_framed(self, rows: &Rows) -> Result<Option<Vec<u8>>, ArchiveError> {
        let Some(mut bytes) = self.find_part(&mut rows.reader(), 0, None)? else { return Ok(None) };
        let malformed = || ArchiveError::damaged(self.place(), "length is wrong");
        let len = u32::from_be_bytes(*bytes.first_chunk::<FRAME>().ok_or_else(malformed)?);
        let len = usize::try_from(len).ok().and_then(|len| len.checked_add(FRAME)).ok_or_else(malformed)?;
        if bytes.len() != len.min(PART) {
            return Err(malformed());
        }
        if len > PART {
            bytes.extend(self.read(rows, len, PART..len)?);
        }
        bytes.drain(..FRAME);
        Ok(Some(bytes))
    }

    /// Returns the error for a section of which the first part is missing.
    pub(super) fn missing(self) -> ArchiveError {
        self.missing_part(0)
    }

    fn missing_part(self, part: u32) -> ArchiveError {
        ArchiveError::damaged(self.part_place(part), "missing")
    }

    fn find_part(
        self,
        reader: &mut RowReader<'_>,
        part: u32,
        len: Option<usize>,
    ) -> Result<Option<Vec<u8>>, ArchiveError> {
        let key = self.key(part);
        let damaged = |reason: &str| ArchiveError::damaged(self.part_place(part), reason);
        let Some(value) = reader.get(&key)? else { return Ok(None) };
        let payload = unseal(&key, &value).ok_or_else(|| damaged("checksum is wrong"))?;
        if len.is_some_and(|len| len != payload.len()) {
            return Err(damaged("length is wrong"));
        }
        Ok(Some(payload.to_vec()))
    }

    /// Returns the highest number up to `number` that has a row in the table of `kind`, or `None` if there is no such
    /// row.
    pub(super) fn newest_up_to(kind: Kind, number: u64, db: &Db) -> Result<Option<u64>, ArchiveError> {
        let (table, _) = kind.code();
        let end = number.checked_add(1).map_or(vec![table.wrapping_add(1)], |end| Self::keys_from(kind, end).start);
        let Some(found) = db.scan(vec![table]..end).next_back() else { return Ok(None) };
        Ok(Self::number_of(&found?.0))
    }

    /// Returns the number of the block or DS block in a key of a section, or `None` if the key is too short.
    pub(super) fn number_of(key: &[u8]) -> Option<u64> {
        key.get(1..)?.first_chunk().map(|number| u64::from_be_bytes(*number))
    }

    /// Returns the key range of a table from a number on.
    pub(super) fn keys_from(kind: Kind, number: u64) -> Range<Vec<u8>> {
        let (table, _) = kind.code();
        let start = [&[table], &number.to_be_bytes()[..]].concat();
        start..vec![table.wrapping_add(1)]
    }
}

/// Returns how many parts a section of `len` bytes has.
pub(super) fn parts(len: usize) -> u32 {
    u32::try_from(len.div_ceil(PART)).unwrap_or(u32::MAX)
}

/// Returns the number of parts of a section with its length in front. `len` does not include the length.
pub(super) fn framed_parts(len: usize) -> u32 {
    parts(len.saturating_add(FRAME))
}
