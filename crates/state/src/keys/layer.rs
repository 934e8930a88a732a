//! Splits long keys into slices, so that each slice fits into a key of the database.

use std::iter;

use sha2::{Digest, Sha256};
use silica_protocol::Address;

use super::Span;
use crate::error::StateError;

/// Bytes of a slice of a key. A key of more bytes continues in another layer.
pub(super) const SLICE: usize = 200;
/// The byte after a slice in an item that stands for longer keys. It does not occur in UTF-8.
const DEEPER: u8 = 0xff;
/// Bytes of a database key before the item.
pub(super) const LAYER: usize = 1 + Address::LEN;

/// The two tables for one kind of key.
#[derive(Clone, Copy)]
pub(super) struct Tables {
    /// Table of the keys of at most [`SLICE`] bytes, and of the first slices of longer keys.
    pub top: u8,
    /// Table of all slices after the first.
    pub deep: u8,
}

impl Tables {
    /// Returns the layers of a key, the top layer first. Each element has the beginning of the layer's database keys,
    /// and the rest of the key in the layer.
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

/// A layer: the part of the tables with the rests of all keys that begin with the same slices.
#[derive(Clone)]
struct Layer {
    table: u8,
    /// Table of the layers below.
    deep: u8,
    contract: Address,
    /// Digest of the contract and the slices. The layer below continues this digest, so that each byte of a key is
    /// hashed once.
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

    /// Returns the beginning of the database keys of the layer.
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

/// The position of a scan: the layers from the top layer of the contract down to the current layer.
pub(super) struct Descent<'a> {
    span: Span<'a>,
    layers: Vec<Layer>,
    slices: Vec<u8>,
    /// Number of bytes of `slices` that are also the beginning of `span.from`.
    along: usize,
}

/// The part of a layer that a scan reads.
pub(super) struct Extent {
    /// Beginning of the database keys.
    pub rows: Vec<u8>,
    /// The first item that may be in the span.
    pub first: Vec<u8>,
    /// Beginning of all items of the span.
    pub prefix: Vec<u8>,
}

impl<'a> Descent<'a> {
    pub(super) fn new(tables: Tables, span: Span<'a>) -> Self {
        Self { span, layers: vec![Layer::top(tables, span.contract)], slices: Vec::new(), along: 0 }
    }

    /// Returns the slices at the beginning of all keys of the current layer.
    pub(super) fn slices(&self) -> &[u8] {
        &self.slices
    }

    /// Moves down to the layer of the keys that continue with a slice.
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

    /// Moves up to the previous layer.
    pub(super) fn up(&mut self) {
        self.layers.pop();
        self.slices.truncate(self.slices.len().saturating_sub(SLICE));
        self.along = self.along.min(self.slices.len());
    }

    /// Returns the rest of `span.from` in this layer, or no bytes if the slices differ from the beginning of
    /// `span.from`.
    fn from(&self) -> &'a [u8] {
        let from = self.span.from.as_bytes().get(self.along..).filter(|_| self.along == self.slices.len());
        from.unwrap_or_default()
    }

    /// Returns the part of the current layer that the scan reads.
    pub(super) fn extent(&self) -> Extent {
        let prefix = item(self.span.prefix.as_bytes().get(self.slices.len()..).unwrap_or_default());
        let first = item(self.from()).max(prefix.clone());
        Extent { rows: self.layers.last().map(Layer::rows).unwrap_or_default(), first, prefix }
    }
}

/// Returns the item of keys that begin with `beginning`. Items sort like their beginnings.
pub(super) fn item(beginning: &[u8]) -> Vec<u8> {
    match beginning.split_at_checked(SLICE) {
        Some((slice, deeper)) if !deeper.is_empty() => [slice, &[DEEPER]].concat(),
        _ => beginning.to_vec(),
    }
}

/// Returns the first key after all keys that begin with `beginning`.
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
    StateError::Damaged { what: "key index".to_owned(), reason }
}

/// Counts the bytes that this thread hashes for layers.
#[cfg(test)]
pub(super) mod hashed {
    use std::cell::Cell;

    thread_local!(static BYTES: Cell<usize> = const { Cell::new(0) });

    pub(super) fn add(bytes: usize) {
        BYTES.set(BYTES.get().saturating_add(bytes));
    }

    /// Returns the number of bytes hashed since the last call.
    pub(in super::super) fn take() -> usize {
        BYTES.take()
    }
}
