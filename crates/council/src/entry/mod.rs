//! Entries: what the committee decides at one of its heights.
//!
//! Heights alternate. Height 2·t − 1 decides the body of Tx block t, and height 2·t the seal of this body.

mod body;
mod seal;

use std::fmt;

use silica_protocol::{BlockNumber, hex, sha256};

pub use self::{
    body::{BlocksError, Body, BodyLimits},
    seal::{ItemSignatures, Seal, SealError},
};
use crate::{network::NetworkId, wire::Writer};

/// Height of the agreement, from 1.
///
/// # Examples
///
/// ```
/// use silica_council::{EntryKind, Height};
/// use silica_protocol::BlockNumber;
/// let height = Height::of_body(BlockNumber::new(3)).unwrap();
/// assert_eq!((height.get(), height.kind()), (5, EntryKind::Body));
/// assert_eq!(height.next(), Height::of_seal(BlockNumber::new(3)));
/// assert_eq!(Height::of_body(BlockNumber::new(0)), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Height(u64);

/// The kind of the entry at a height.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A body, at odd heights.
    Body,
    /// A seal, at even heights.
    Seal,
}

impl Height {
    /// Wraps a number. Returns `None` for 0, because the first height is 1.
    pub const fn new(number: u64) -> Option<Self> {
        if number == 0 { None } else { Some(Self(number)) }
    }

    /// Returns the number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the height of the body of a Tx block. Returns `None` for the genesis block, which the committee does not
    /// decide, and above half of the range.
    pub const fn of_body(block: BlockNumber) -> Option<Self> {
        match block.get().checked_mul(2) {
            Some(double) => match double.checked_sub(1) {
                Some(number) => Some(Self(number)),
                None => None,
            },
            None => None,
        }
    }

    /// Returns the height of the seal of a Tx block. Returns `None` in the same cases as [`of_body`](Self::of_body).
    pub const fn of_seal(block: BlockNumber) -> Option<Self> {
        match block.get().checked_mul(2) {
            Some(double) => Self::new(double),
            None => None,
        }
    }

    /// Returns the next height, or `None` at the end of the range.
    pub const fn next(self) -> Option<Self> {
        match self.0.checked_add(1) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// Returns the kind of the entry at this height.
    pub const fn kind(self) -> EntryKind {
        if self.0 % 2 == 1 { EntryKind::Body } else { EntryKind::Seal }
    }

    /// Returns the Tx block whose body or seal this height decides.
    pub const fn block(self) -> BlockNumber {
        BlockNumber::new(self.0.div_ceil(2))
    }
}

impl fmt::Display for Height {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Digest of an entry, on which the members vote. It covers all bytes of the entry, the height and the network.
///
/// A block hash does not cover timestamps, signatures of transactions and co-signatures. Therefore it cannot be the
/// id of an entry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId([u8; 32]);

impl EntryId {
    /// Wraps the bytes of an id.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns the id of a body with these canonical bytes.
    pub fn of_body(network: &NetworkId, height: Height, body: &[u8]) -> Self {
        Self::of(b"silica body", network, height, &[body])
    }

    /// Returns the id of a seal with these canonical bytes.
    pub fn of_seal(network: &NetworkId, height: Height, body: &Self, seal: &[u8]) -> Self {
        Self::of(b"silica seal", network, height, &[&body.0, seal])
    }

    fn of(tag: &[u8], network: &NetworkId, height: Height, parts: &[&[u8]]) -> Self {
        let mut writer = Writer::default();
        writer.bytes(tag);
        writer.fixed(network.as_bytes());
        writer.u64(height.get());
        for part in parts {
            writer.bytes(part);
        }
        Self(sha256(&[&writer.finish()]))
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EntryId({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heights_alternate_between_bodies_and_seals() {
        let block = BlockNumber::new;
        for t in 1..50 {
            let body = Height::of_body(block(t)).unwrap();
            let seal = Height::of_seal(block(t)).unwrap();
            assert_eq!((body.get(), body.kind(), body.block()), (2 * t - 1, EntryKind::Body, block(t)));
            assert_eq!((seal.get(), seal.kind(), seal.block()), (2 * t, EntryKind::Seal, block(t)));
            assert_eq!(body.next(), Some(seal));
            assert_eq!(seal.next(), Height::of_body(block(t + 1)));
        }
        assert_eq!((Height::new(0), Height::of_body(block(0)), Height::of_seal(block(0))), (None, None, None));
        let large = block(1 << 63);
        assert_eq!((Height::of_body(large), Height::of_seal(large)), (None, None));
        assert_eq!(Height::new(u64::MAX).unwrap().next(), None);
        assert_eq!(Height::new(u64::MAX).unwrap().block(), large);
    }

    #[test]
    fn ids_depend_on_kind_network_height_and_bytes() {
        let [a, b] = [1, 2].map(|byte| NetworkId::new([byte; 32]));
        let height = |number| Height::new(number).unwrap();
        let [x, y] = [1, 2].map(|byte| EntryId::new([byte; 32]));
        let ids = [
            EntryId::of_body(&a, height(1), b"x"),
            EntryId::of_body(&b, height(1), b"x"),
            EntryId::of_body(&a, height(2), b"x"),
            EntryId::of_body(&a, height(1), b"y"),
            EntryId::of_body(&a, height(1), b""),
            EntryId::of_seal(&a, height(1), &x, b"x"),
            EntryId::of_seal(&a, height(1), &y, b"x"),
            EntryId::of_seal(&a, height(1), &x, b"y"),
            EntryId::of_body(&a, height(1), &[&[0, 0, 0, 32][..], &[1; 32], &[0, 0, 0, 1], b"x"].concat()),
        ];
        for (position, id) in ids.iter().enumerate() {
            assert!(!ids[..position].contains(id), "id {position} repeats");
        }
    }

    /// The value is SHA-256 of the parts, computed with the module hashlib of Python.
    #[test]
    fn the_id_of_a_body_is_a_known_hash() {
        let id = EntryId::of_body(&NetworkId::new([1; 32]), Height::new(1).unwrap(), b"abc");
        assert_eq!(id.to_string(), "7aa9ff1527423124318e12a8e2808abd46b18ce27df623a4e4b9773383887583");
    }
}
