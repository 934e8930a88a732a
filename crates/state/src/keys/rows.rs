//! Keys on disk with a stored value. A key has one row, and a long key one row for each of its slices.
//!
//! ```text
//! table | contract (20)                  | key of at most 200 bytes
//! table | contract (20)                  | slice (200) | ff         for all longer keys that begin with the slice
//! long  | SHA-256 of contract, slice (20)| rest of the key           or its next slice and ff, and so on
//! ```

use silica_protocol::Address;

use super::{
    Span,
    layer::{Descent, Extent, LAYER, SLICE, Tables, damaged, item, successor},
};
use crate::{
    codec::{seal, unseal},
    db::{Batch, Db, DbError, Scan},
    error::StateError,
};

/// The rows of a pair of tables.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub db: &'a Db,
    pub tables: Tables,
}

impl<'a> Rows<'a> {
    /// Adds a key with its payload to a batch. Replaces an earlier payload of the key.
    pub(super) fn insert(&self, batch: &mut Batch, contract: &Address, key: &str, payload: &[u8]) {
        for (layer, rest) in self.tables.way(contract, key.as_bytes()) {
            let item = item(rest);
            let payload = if item.len() > SLICE { &[] } else { payload };
            let row = [layer, item].concat();
            let value = seal(&row, payload);
            batch.insert(row, value);
        }
    }

    /// Removes a key. Also removes rows that stand for longer keys, if no such key is left.
    pub(super) fn remove(&self, contract: &Address, key: &str) -> Result<(), DbError> {
        let mut way: Vec<_> = self.tables.way(contract, key.as_bytes()).collect();
        let Some((mut below, rest)) = way.pop() else { return Ok(()) };
        self.db.remove(&[&*below, rest].concat())?;
        while let Some((layer, rest)) = way.pop() {
            if self.db.scan(below.clone()..successor(below)).next().transpose()?.is_some() {
                return Ok(());
            }
            self.db.remove(&[&*layer, &item(rest)].concat())?;
            below = layer;
        }
        Ok(())
    }

    /// Iterates over the keys of a span with their payloads.
    pub(super) fn scan(self, span: Span<'a>) -> KeyScan<'a> {
        let mut scan = KeyScan { rows: self, way: Descent::new(self.tables, span), layers: Vec::new() };
        scan.descend();
        scan
    }

    /// Iterates over the keys of all contracts with their payloads. The caller can remove rows during the iteration.
    pub(super) fn all(self) -> impl Iterator<Item = Result<(Address, String, Vec<u8>), StateError>> + use<'a> {
        let mut next = Some(vec![self.tables.top]);
        let end = vec![self.tables.top.saturating_add(1)];
        let contracts = std::iter::from_fn(move || {
            let row = self.db.scan(next.take()?..end.clone()).next()?;
            let contract = row.map_err(StateError::from).and_then(|(row, _)| {
                let contract = row.get(1..LAYER).and_then(|bytes| Address::try_from(bytes).ok());
                contract.ok_or_else(|| damaged("row is too short"))
            });
            let rows = |contract: &Address| [&[self.tables.top], &contract.as_bytes()[..]].concat();
            next = contract.as_ref().ok().map(|contract| successor(rows(contract)));
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

    /// Iterates over the keys of one contract. Each step is a new scan, so that the caller can remove rows.
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
}

/// An iterator over the keys of a span. In memory, the iterator has one key, and one scan for each layer of the key.
pub(super) struct KeyScan<'a> {
    rows: Rows<'a>,
    /// The position of the last of `layers`.
    way: Descent<'a>,
    layers: Vec<Scan>,
}

impl KeyScan<'_> {
    /// Begins the scan of the layer at the current position.
    fn descend(&mut self) {
        let Extent { rows, first, prefix } = self.way.extent();
        let (start, end) = ([&*rows, &first].concat(), successor([&*rows, &prefix].concat()));
        self.layers.push(self.rows.db.scan(start..end));
    }

    fn read(&mut self, row: &[u8], value: &[u8]) -> Result<Option<(String, Vec<u8>)>, StateError> {
        let payload = unseal(row, value).ok_or_else(|| damaged("wrong checksum"))?;
        let slice = row.get(LAYER..).unwrap_or_default();
        if slice.len() > SLICE {
            self.way.down(slice.get(..SLICE).unwrap_or_default());
            self.descend();
            return Ok(None);
        }
        let key = [self.way.slices(), slice].concat();
        let key = String::from_utf8(key).map_err(|_| damaged("key is not UTF-8"))?;
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
                    self.way.up();
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
