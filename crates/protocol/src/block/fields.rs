//! Writes the fields of headers as protobuf bytes, without a message type of `prost`.
//!
//! A node that makes millions of empty blocks at once hashes a header for each block. The bytes equal the bytes of the
//! messages in [`proto`](crate::proto). Tests compare the two encodings.

use alloc::vec::Vec;

use crate::hash::{BlockHash, CommitteeHash};

/// Initial capacity in bytes. Most headers are shorter.
const USUAL: usize = 384;

/// The encoded fields. Field numbers must be below 16, and nested messages shorter than 128 bytes, because tags and
/// lengths have one byte each.
pub(super) struct Fields(Vec<u8>);

impl Fields {
    pub(super) fn new() -> Self {
        Self(Vec::with_capacity(USUAL))
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.0
    }

    /// Writes a number, even if it is zero.
    pub(super) fn number(&mut self, field: u8, number: u64) {
        self.0.push(field << 3);
        let mut rest = number;
        loop {
            let [low, ..] = rest.to_le_bytes();
            rest >>= 7;
            if rest == 0 {
                return self.0.push(low);
            }
            self.0.push(low | 0x80);
        }
    }

    /// Writes a number unless it is zero.
    pub(super) fn implicit(&mut self, field: u8, number: u64) {
        if number != 0 {
            self.number(field, number);
        }
    }

    pub(super) fn bytes(&mut self, field: u8, bytes: &[u8]) {
        self.nested(field, |fields| fields.0.extend_from_slice(bytes));
    }

    /// Writes bytes as a nested message with one field.
    pub(super) fn wrapped(&mut self, field: u8, bytes: &[u8]) {
        self.nested(field, |fields| fields.bytes(1, bytes));
    }

    /// Writes a nested message or bytes, with a length of one byte.
    pub(super) fn nested(&mut self, field: u8, write: impl FnOnce(&mut Self)) {
        self.0.push(field << 3 | 2);
        let at = self.0.len();
        self.0.push(0);
        write(self);
        let len = self.0.len().saturating_sub(at).saturating_sub(1);
        if let Some(place) = self.0.get_mut(at) {
            *place = u8::try_from(len).unwrap_or(u8::MAX);
        }
    }

    /// Writes the fields that every header begins with.
    pub(super) fn base(&mut self, version: u32, committee_hash: &CommitteeHash, prev_hash: &BlockHash) {
        self.nested(1, |fields| {
            fields.implicit(1, version.into());
            fields.bytes(2, committee_hash.as_bytes());
            fields.bytes(3, prev_hash.as_bytes());
        });
    }
}
