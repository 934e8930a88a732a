//! Splits long keys into parts, so that each part fits into a key of the database.

use std::iter;

use sha2::{Digest, Sha256};
use silica_protocol::Address;

use super::Span;
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
    /// The layers on the way to a key: how their rows begin, and what is left of the key in each.
    pub(super) fn way<'k>(self, contract: &Address, key: &'k [u8]) -> impl Iterator<Item = (Vec<u8>, &'k [u8])> {
        let mut next = Some((Layer::top(self, contract), key));
        iter::from_fn(move || {
            let (layer, rest) = next.take()?;
            let rows = layer.rows();
            next = rest
                .split_at_checked(SLICE)
                .filter(|(_, deeper)| !deeper.is_empty())
                .map(|(slice, deeper)| (layer.below(slice), deeper));
            Some((rows, rest))
        })
    }
}

/// Where what is left of the keys is that begin with some whole slices.
#[derive(Clone)]
struct Layer {
    table: u8,
    /// The table of the layers below.
    deep: u8,
    contract: Address,
    /// Of the contract and the slices. The layer below goes on from it, so that a key is hashed once, however long it
    /// is.
    digest: Sha256,
}

impl Layer {
    fn top(Tables { top, deep }: Tables, contract: &Address) -> Self {
        Self { table: top, deep, contract: *contract, digest: Sha256::new_with_prefix(contract.as_bytes()) }
    }

    fn below(&self, slice: &[u8]) -> Self {
        #[cfg(test)]
        hashed::add(slice.len());
        Self { table: self.deep, digest: self.digest.clone().chain_update(slice), ..*self }
    }

    /// Returns how the database keys of the layer begin.
    fn rows(&self) -> Vec<u8> {
        let mut rows = Vec::with_capacity(LAYER.saturating_add(SLICE).saturating_add(1));
        rows.push(self.table);
        if self.table == self.deep {
            rows.extend(self.digest.clone().finalize().into_iter().take(Address::LEN));
        } else {
            rows.extend_from_slice(self.contract.as_bytes());
        }
        rows
    }
}

/// Where a scan of a span is: the layers from that of all keys of the contract down to the one that is being read.
pub(super) struct Descent<'a> {
    span: Span<'a>,
    layers: Vec<Layer>,
    slices: Vec<u8>,
    /// Bytes of the slices that the beginning of the span has as well.
    along: usize,
}

/// What a scan reads of a layer.
pub(super) struct Extent {
    /// How the rows begin.
    pub rows: Vec<u8>,
    /// The first item that may be of the span.
    pub first: Vec<u8>,
    /// How all items of the span begin.
    pub prefix: Vec<u8>,
}

impl<'a> Descent<'a> {
    pub(super) fn new(tables: Tables, span: Span<'a>) -> Self {
        Self { span, layers: vec![Layer::top(tables, span.contract)], slices: Vec::new(), along: 0 }
    }

    /// The slices that the keys of the layer begin with.
    pub(super) fn slices(&self) -> &[u8] {
        &self.slices
    }

    /// Goes to the layer of the keys that go on with a slice.
    pub(super) fn down(&mut self, slice: &[u8]) {
        if let Some(layer) = self.layers.last() {
            self.layers.push(layer.below(slice));
        }
        let is_along = self.along == self.slices.len();
        if is_along && self.from().starts_with(slice) {
            self.along = self.along.saturating_add(slice.len());
        }
        self.slices.extend_from_slice(slice);
    }

    /// Goes back to the layer before.
    pub(super) fn up(&mut self) {
        self.layers.pop();
        self.slices.truncate(self.slices.len().saturating_sub(SLICE));
        self.along = self.along.min(self.slices.len());
    }

    /// What is left of the beginning of the span in this layer, if that is on the way to it.
    fn from(&self) -> &'a [u8] {
        let from = self.span.from.as_bytes().get(self.along..).filter(|_| self.along == self.slices.len());
        from.unwrap_or_default()
    }

    /// What is to be read of the layer.
    pub(super) fn extent(&self) -> Extent {
        let prefix = item(self.span.prefix.as_bytes().get(self.slices.len()..).unwrap_or_default());
        let first = item(self.from()).max(prefix.clone());
        Extent { rows: self.layers.last().map(Layer::rows).unwrap_or_default(), first, prefix }
    }
}

/// Returns the item of keys with a beginning. Items are in the order of these beginnings.
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

/// How much was hashed for the layers of long keys, on one thread.
#[cfg(test)]
pub(super) mod hashed {
    use std::cell::Cell;

    thread_local!(static BYTES: Cell<usize> = const { Cell::new(0) });

    pub(super) fn add(bytes: usize) {
        BYTES.set(BYTES.get().saturating_add(bytes));
    }

    /// Returns the bytes that were hashed since this was last asked.
    pub(in super::super) fn take() -> usize {
        BYTES.take()
    }
}
