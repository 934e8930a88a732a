//! How long keys are taken apart, so that each part fits into a key of the database.

use silica_protocol::{Address, sha256};

use crate::error::StateError;

/// Bytes of a slice of a key.
pub(super) const SLICE: usize = 200;
/// What follows a slice in the item that leads to longer keys.
const DEEPER: u8 = 0xff;
/// Bytes of a database key before the item.
pub(super) const LAYER: usize = 1 + Address::LEN;

/// Two tables for one kind of key.
#[derive(Clone, Copy)]
pub(super) struct Tables {
    /// Of the keys, or their first slices.
    pub top: u8,
    /// Of the slices after the first.
    pub deep: u8,
}

impl Tables {
    /// Returns how the database keys begin of what is left of keys that begin with some whole slices.
    pub(super) fn layer(self, contract: &Address, slices: &[u8]) -> Vec<u8> {
        let mut layer = Vec::with_capacity(LAYER.saturating_add(SLICE).saturating_add(1));
        if slices.is_empty() {
            layer.push(self.top);
            layer.extend_from_slice(contract.as_bytes());
        } else {
            layer.push(self.deep);
            layer.extend(sha256(&[contract.as_bytes(), slices]).into_iter().take(Address::LEN));
        }
        layer
    }
}

/// The slices of a key before each of its items, and what is left for that.
pub(super) fn splits(key: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let deepest = key.len().saturating_sub(1) / SLICE;
    (0..=deepest).filter_map(|depth| key.split_at_checked(depth.saturating_mul(SLICE)))
}

/// Returns the item of keys with a beginning.
pub(super) fn item(beginning: &[u8]) -> Vec<u8> {
    match beginning.split_at_checked(SLICE) {
        Some((slice, deeper)) if !deeper.is_empty() => [slice, &[DEEPER]].concat(),
        _ => beginning.to_vec(),
    }
}

/// Returns the first key that comes after all that begin so.
pub(super) fn successor(mut beginning: Vec<u8>) -> Vec<u8> {
    while let Some(last) = beginning.pop() {
        if let Some(next) = last.checked_add(1) {
            beginning.push(next);
            break;
        }
    }
    beginning
}

pub(super) fn damaged(reason: &'static str) -> StateError {
    StateError::Damaged { what: "index of the keys of contract storage".to_owned(), reason }
}
