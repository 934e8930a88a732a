//! Entries of the index: the first eight bytes of a hash, and a position in the record.

/// Bytes of an entry on disk.
pub(super) const ENTRY: usize = 16;

/// The kind of object that has the hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Only earlier versions of this program wrote entries of micro blocks. No query reads them.
    MicroBlock,
    Transaction,
}

/// A position in the record: a block, and a position among the objects of one kind in the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    pub(crate) block: u64,
    pub(crate) position: u32,
}

/// The first eight bytes of a hash, and the position of the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    pub(super) prefix: u64,
    /// Block number (40 bits), kind (1 bit), position (23 bits).
    pub(super) place: u64,
}

impl Entry {
    /// Returns the entry of a hash. Returns `None` if the block number needs more than 40 bits, or the position more
    /// than 23 bits.
    pub(crate) fn new(kind: Kind, hash: &[u8; 32], at: Position) -> Option<Self> {
        if at.block >> 40 != 0 || at.position >> 23 != 0 {
            return None;
        }
        let kind = match kind {
            Kind::Transaction => 0,
            Kind::MicroBlock => 1 << 23,
        };
        Some(Self { prefix: prefix(hash), place: at.block << 24 | kind | u64::from(at.position) })
    }

    pub(super) const fn kind(self) -> Kind {
        if self.place & 1 << 23 == 0 { Kind::Transaction } else { Kind::MicroBlock }
    }

    pub(super) fn position(self) -> Position {
        let position = u32::try_from(self.place & 0x7f_ffff).unwrap_or(u32::MAX);
        Position { block: self.place >> 24, position }
    }

    pub(super) fn to_bytes(self) -> [u8; ENTRY] {
        (u128::from(self.prefix) << 64 | u128::from(self.place)).to_be_bytes()
    }

    pub(super) fn from_bytes(bytes: &[u8; ENTRY]) -> Self {
        let [prefix, place] = [0, 8]
            .map(|at| bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |number| u64::from_be_bytes(*number)));
        Self { prefix, place }
    }
}

pub(super) fn prefix(hash: &[u8; 32]) -> u64 {
    hash.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}
