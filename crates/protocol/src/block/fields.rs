//! Writes the fields of headers one after the other, without building their protobuf message.
//!
//! A node that makes many blocks at once hashes millions of headers. The bytes equal those of the messages in
//! [`proto`](crate::proto); tests compare them.

use crate::hash::{BlockHash, CommitteeHash};

/// Bytes for which there is room at once: more than most headers have.
const USUAL: usize = 384;

/// The encoded fields. Field numbers are below 16, and nested messages are shorter than 128 bytes.
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

    /// A number that is left out when it is zero.
    pub(super) fn implicit(&mut self, field: u8, number: u64) {
        if number != 0 {
            self.number(field, number);
        }
    }

    pub(super) fn bytes(&mut self, field: u8, bytes: &[u8]) {
        self.nested(field, |fields| fields.0.extend_from_slice(bytes));
    }

    /// Writes bytes as a nested message.
    pub(super) fn wrapped(&mut self, field: u8, bytes: &[u8]) {
        self.nested(field, |fields| fields.bytes(1, bytes));
    }

    /// A message, or bytes.
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

    /// Writes the fields at the beginning of every header.
    pub(super) fn base(&mut self, version: u32, committee_hash: &CommitteeHash, prev_hash: &BlockHash) {
        self.nested(1, |fields| {
            fields.implicit(1, version.into());
            fields.bytes(2, committee_hash.as_bytes());
            fields.bytes(3, prev_hash.as_bytes());
        });
    }
}
