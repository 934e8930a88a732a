//! A cache of key ranges without entries, as earlier queries found them.
//!
//! Removed keys stay on disk until no readable state contains them. A query over a million of such keys finds no entry.
//! With this cache, later queries to the same state or a newer one skip the range. When a block adds a key, the key is
//! taken out of the ranges.

use std::{collections::BTreeMap, ops::Bound};

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use silica_protocol::Address;

use super::{KeyList, after};
use crate::version::Version;

/// Keys without entries, one after the other, from which on it is worth to keep their range.
const WORTH: usize = 16;
/// Ranges that are kept at most, of all contracts together.
const MOST: usize = 1024;
/// Bytes of the longest key that is kept as a bound.
const LONGEST: usize = 1024;

/// The ranges that are known.
#[derive(Debug, Default)]
pub(super) struct Absent(RwLock<Known>);

#[derive(Debug, Default)]
struct Known {
    /// The newest version whose changes of keys were noted.
    newest: Version,
    /// By contract and first key. No two of a contract have a key in common.
    ranges: BTreeMap<(Address, Box<str>), Range>,
}

#[derive(Clone, Debug)]
struct Range {
    /// The first key after the range.
    end: Box<str>,
    /// No version from this one on has an entry in the range.
    since: Version,
}

impl Absent {
    fn read(&self) -> RwLockReadGuard<'_, Known> {
        self.0.read()
    }

    fn write(&self) -> RwLockWriteGuard<'_, Known> {
        self.0.write()
    }

    /// Notes the keys that a version adds to the one before. It precedes the first look at its state.
    pub(super) fn note_added(&self, version: Version, added: &[(Address, Box<str>)]) {
        let mut known = self.write();
        known.newest = version;
        for (contract, key) in added {
            known.take_out(contract, key);
        }
    }

    /// Notes that a version has no entry from one key to before another.
    pub(super) fn note(&self, contract: &Address, from: &str, end: &str, version: Version) {
        let mut known = self.write();
        // Later versions may have entries there.
        if version == known.newest && from.len().max(end.len()) <= LONGEST {
            known.add(contract, from, end);
        }
    }

    /// Returns the first key from `from` on that may have an entry in a version, and where the next range of keys
    /// begins that have none.
    pub(super) fn skip(&self, contract: &Address, from: &str, version: Version) -> (String, Option<String>) {
        let known = self.read();
        let mut from = from.to_owned();
        while let Some((_, range)) = known.around(contract, &from).filter(|(_, range)| range.since <= version) {
            from = range.end.to_string();
        }
        let later = (Bound::Excluded((*contract, from.clone().into())), Bound::Unbounded);
        let mut later = known.ranges.range(later).take_while(|((other, _), _)| other == contract);
        let next = later.find(|(_, range)| range.since <= version).map(|((_, start), _)| start.to_string());
        (from, next)
    }
}

#[cfg(test)]
impl Absent {
    /// Number of ranges that are known.
    pub(super) fn len(&self) -> usize {
        self.read().ranges.len()
    }
}

impl Known {
    /// Returns the range that has a key, and where it begins.
    fn around(&self, contract: &Address, key: &str) -> Option<(&str, &Range)> {
        if self.ranges.is_empty() {
            return None;
        }
        let ((owner, start), range) = self.ranges.range(..=(*contract, key.into())).next_back()?;
        (owner == contract && key < &*range.end).then_some((&**start, range))
    }

    /// Adds a range of the newest version, together with those that it meets.
    fn add(&mut self, contract: &Address, from: &str, end: &str) {
        let before = self.ranges.range(..=(*contract, from.into())).next_back();
        let before = before.filter(|((owner, _), range)| owner == contract && from <= &*range.end);
        let mut from: Box<str> = before.map_or(from, |((_, start), _)| start).into();
        let mut end: Box<str> = end.into();
        let later = self.ranges.range((*contract, from.clone())..);
        let met = later.take_while(|((owner, start), _)| owner == contract && **start <= *end);
        let met: Vec<_> = met.map(|((_, start), range)| (start.clone(), range.end.clone())).collect();
        for (start, its_end) in met {
            self.ranges.remove(&(*contract, start.clone()));
            from = from.min(start);
            end = end.max(its_end);
        }
        self.insert(contract, from, Range { end, since: self.newest });
    }

    /// Takes a key out of the range that has it.
    fn take_out(&mut self, contract: &Address, key: &str) {
        let Some((start, range)) = self.around(contract, key) else { return };
        let (start, range): (Box<str>, _) = (start.into(), range.clone());
        self.ranges.remove(&(*contract, start.clone()));
        let behind = after(key.to_owned());
        if *start < *key {
            self.insert(contract, start, Range { end: key.into(), ..range });
        }
        if *behind < *range.end {
            self.insert(contract, behind.into(), range);
        }
    }

    fn insert(&mut self, contract: &Address, start: Box<str>, range: Range) {
        if self.ranges.len() >= MOST {
            // What is still worth it is found out again.
            self.ranges.clear();
        }
        self.ranges.insert((*contract, start), range);
    }
}

/// The keys without entries that a reader has come across since the last entry.
#[derive(Clone, Debug)]
pub(crate) struct Gap {
    from: String,
    keys: usize,
}

impl Gap {
    pub(crate) fn new(from: String) -> Self {
        Self { from, keys: 0 }
    }

    /// Goes through the next keys. Ranges without entries that are large enough are handed to `note`, from a key to
    /// before another.
    pub(crate) fn pass(&mut self, keys: &KeyList, has_entry: impl Fn(usize) -> bool, mut note: impl FnMut(&str, &str)) {
        // Where the gap begins in these keys, unless it has begun before.
        let mut first = None;
        let key = |at: usize| keys.get(at).unwrap_or_default();
        let from = |first: Option<usize>| {
            first.and_then(|first: usize| first.checked_sub(1)).map(|last| after(key(last).to_owned()))
        };
        for at in 0..keys.len() {
            if !has_entry(at) {
                self.keys = self.keys.saturating_add(1);
                continue;
            }
            if self.keys >= WORTH {
                note(&from(first).unwrap_or_else(|| std::mem::take(&mut self.from)), key(at));
            }
            self.keys = 0;
            first = Some(at.saturating_add(1));
        }
        if let Some(from) = from(first) {
            self.from = from;
        }
        if let Some(last) = keys.last().filter(|_| self.keys >= WORTH) {
            note(&self.from, &after(last.to_owned()));
        }
    }
}
