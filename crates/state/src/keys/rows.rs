//! Rows of the index on disk: one for each key, and for a long one a row for each of its slices.
//!
//! ```text
//! table | contract (20)                  | key of 200 bytes or less
//! table | contract (20)                  | slice (200) | ff        there are longer keys that begin with the slice
//! long  | SHA-256 of contract, slice (20)| rest of the key          and so on
//! ```

use silica_protocol::{Address, sha256};

use super::{Limit, Span, Taken};
use crate::{
    codec::{seal, unseal},
    db::{Batch, Db, DbError, Scan},
    error::StateError,
};

/// The rows of a pair of tables.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub db: &'a Db,
    /// Table of the keys, or their first slices.
    pub top: u8,
    /// Table of the slices after the first.
    pub deep: u8,
}

/// Bytes of a key that a row holds.
const SLICE: usize = 200;
/// What follows a slice in the row that leads to longer keys.
const DEEPER: u8 = 0xff;
/// Bytes of a database key before the slice.
const LAYER: usize = 1 + Address::LEN;

impl<'a> Rows<'a> {
    /// Returns the beginning of the rows of keys that begin with some whole slices.
    fn layer(&self, contract: &Address, slices: &[u8]) -> Vec<u8> {
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

    /// Has a batch add a key, or replace what is stored with it.
    pub(super) fn insert(&self, batch: &mut Batch, contract: &Address, key: &str, payload: &[u8]) {
        let mut row = self.layer(contract, &[]);
        for (slices, rest) in splits(key.as_bytes()) {
            match rest.split_at_checked(SLICE).filter(|(_, deeper)| !deeper.is_empty()) {
                None => {
                    row.extend_from_slice(rest);
                    put(batch, &row, payload);
                }
                Some((slice, _)) => {
                    row.extend_from_slice(slice);
                    row.push(DEEPER);
                    put(batch, &row, &[]);
                    row = self
                        .layer(contract, key.as_bytes().get(..slices.len().saturating_add(SLICE)).unwrap_or_default());
                }
            }
        }
    }

    /// Removes a key, if it is there, and the way to it, if it is the last one there.
    pub(super) fn remove(&self, contract: &Address, key: &str) -> Result<(), DbError> {
        let mut ways: Vec<_> = splits(key.as_bytes()).collect();
        let Some((slices, rest)) = ways.pop() else { return Ok(()) };
        let mut layer = self.layer(contract, slices);
        self.db.remove(&[&*layer, rest].concat())?;
        while let Some((slices, rest)) = ways.pop() {
            if self.db.scan(layer.clone()..successor(layer)).next().transpose()?.is_some() {
                return Ok(());
            }
            layer = self.layer(contract, slices);
            self.db.remove(&[&*layer, rest.get(..SLICE).unwrap_or_default(), &[DEEPER]].concat())?;
        }
        Ok(())
    }

    /// Iterates over the keys of a span, with what is stored with each.
    pub(super) fn scan(self, span: Span<'a>) -> KeyScan<'a> {
        let mut scan = KeyScan { rows: self, span, key: Vec::new(), layers: Vec::new() };
        scan.descend();
        scan
    }

    /// Iterates over the keys of all contracts.
    pub(super) fn all(self) -> impl Iterator<Item = Result<(Address, String, Vec<u8>), StateError>> + use<'a> {
        let mut next = Some(vec![self.top]);
        let end = vec![self.top.saturating_add(1)];
        let contracts = std::iter::from_fn(move || {
            let row = self.db.scan(next.take()?..end.clone()).next()?;
            let contract = row.map_err(StateError::from).and_then(|(row, _)| {
                let contract = row.get(1..LAYER).and_then(Address::from_slice);
                contract.ok_or_else(|| damaged("row is too short"))
            });
            next = contract.as_ref().ok().map(|contract| successor(self.layer(contract, &[])));
            Some(contract)
        });
        contracts.flat_map(move |contract| {
            let (contract, failure) = match contract {
                Ok(contract) => (Some(contract), None),
                Err(error) => (None, Some(Err(error))),
            };
            let keys = contract.into_iter().flat_map(move |contract| self.of(contract));
            failure.into_iter().chain(keys)
        })
    }

    /// Returns the keys of one contract, a portion at a time, so that rows may be removed meanwhile.
    fn of(self, contract: Address) -> impl Iterator<Item = Result<(Address, String, Vec<u8>), StateError>> + use<'a> {
        let mut from = Some(String::new());
        std::iter::from_fn(move || {
            let start = from.take()?;
            let span = Span { contract: &contract, prefix: "", from: &start };
            match self.scan(span).next()? {
                Ok((key, payload)) => {
                    from = Some(super::after(key.clone()));
                    Some(Ok((contract, key, payload)))
                }
                Err(error) => Some(Err(error)),
            }
        })
    }

    /// Returns the first keys of a span.
    pub(super) fn take(&self, span: Span<'a>, limit: Limit) -> Result<Taken, StateError> {
        let mut taken = Taken::new(limit);
        for row in self.scan(span) {
            if !taken.has_room() {
                break;
            }
            taken.push(row?.0);
        }
        Ok(taken)
    }
}

/// The keys of a span. Memory is that of one key and a place for each of its slices.
pub(super) struct KeyScan<'a> {
    rows: Rows<'a>,
    span: Span<'a>,
    /// The slices on the way to where the last of `layers` is.
    key: Vec<u8>,
    layers: Vec<Scan>,
}

impl KeyScan<'_> {
    /// Goes on with the keys that begin with the slices.
    fn descend(&mut self) {
        let from = self.span.from.as_bytes().strip_prefix(&*self.key).unwrap_or_default();
        let prefix = self.span.prefix.as_bytes().get(self.key.len()..).unwrap_or_default();
        let layer = self.rows.layer(self.span.contract, &self.key);
        let start = [&*layer, &bound(from.max(prefix))].concat();
        let end = successor([&*layer, &bound(prefix)].concat());
        self.layers.push(self.rows.db.scan(start..end));
    }

    fn read(&mut self, row: &[u8], value: &[u8]) -> Result<Option<(String, Vec<u8>)>, StateError> {
        let payload = unseal(row, value).ok_or_else(|| damaged("wrong checksum"))?;
        let slice = row.get(LAYER..).unwrap_or_default();
        if slice.len() > SLICE {
            self.key.extend_from_slice(slice.get(..SLICE).unwrap_or_default());
            self.descend();
            return Ok(None);
        }
        let key = [&*self.key, slice].concat();
        let key = String::from_utf8(key).map_err(|_| damaged("key is no text"))?;
        Ok(Some((key, payload.to_vec())))
    }
}

impl Iterator for KeyScan<'_> {
    type Item = Result<(String, Vec<u8>), StateError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let read = match self.layers.last_mut()?.next() {
                Some(Ok((row, value))) => self.read(&row, &value),
                Some(Err(error)) => Err(error.into()),
                None => {
                    self.layers.pop();
                    self.key.truncate(self.key.len().saturating_sub(SLICE));
                    continue;
                }
            };
            match read {
                Ok(None) => {}
                Ok(Some(found)) => return Some(Ok(found)),
                Err(error) => {
                    self.layers.clear();
                    return Some(Err(error));
                }
            }
        }
    }
}

fn put(batch: &mut Batch, row: &[u8], payload: &[u8]) {
    batch.insert(row, seal(row, payload));
}

/// The slices of a key before each of its rows, and what is left for that.
fn splits(key: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let deepest = key.len().saturating_sub(1) / SLICE;
    (0..=deepest).filter_map(|depth| key.split_at_checked(depth.saturating_mul(SLICE)))
}

/// Returns how the row begins that leads to keys with a beginning.
fn bound(beginning: &[u8]) -> Vec<u8> {
    match beginning.split_at_checked(SLICE) {
        Some((slice, deeper)) if !deeper.is_empty() => [slice, &[DEEPER]].concat(),
        _ => beginning.to_vec(),
    }
}

/// Returns the first key that comes after all that begin so.
fn successor(mut beginning: Vec<u8>) -> Vec<u8> {
    while let Some(last) = beginning.pop() {
        if let Some(next) = last.checked_add(1) {
            beginning.push(next);
            break;
        }
    }
    beginning
}

fn damaged(reason: &'static str) -> StateError {
    StateError::Damaged { what: "index of the keys of contract storage".to_owned(), reason }
}
