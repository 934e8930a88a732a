//! A cache of key ranges without entries. Queries find these ranges.
//!
//! Removed keys stay on disk until no readable state contains them. A query over a million such keys finds no entry.
//! With this cache, later queries to this state or a newer state skip the range. When a block adds a key, the cache
//! removes the key from its range.

use std::{collections::BTreeMap, ops::Bound};

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use silica_protocol::Address;

use super::{KeyList, after};
use crate::version::Version;

/// Minimum number of consecutive keys without entries. Shorter ranges are not recorded.
const WORTH: usize = 16;
/// Maximum number of ranges of all contracts together.
const MOST: usize = 1024;
/// Maximum bytes of a key that is a bound of a range.
const LONGEST: usize = 1024;

/// The recorded ranges.
#[derive(Debug, Default)]
pub(super) struct Absent(RwLock<Known>);

#[derive(Debug, Default)]
struct Known {
    /// The newest version in a call of [`Absent::note_added`].
    newest: Version,
    /// Ranges by contract and first key. Ranges of a contract do not overlap.
    ranges: BTreeMap<(Address, Box<str>), Range>,
}

#[derive(Clone, Debug)]
struct Range {
    /// The first key after the range.
    end: Box<str>,
    /// The first version without an entry in the range. Later versions also have no entry in the range.
    since: Version,
}

impl Absent {
    fn read(&self) -> RwLockReadGuard<'_, Known> {
        self.0.read()
    }

    fn write(&self) -> RwLockWriteGuard<'_, Known> {
        self.0.write()
    }

    /// Removes keys from the ranges: the keys that a new version adds. The caller must call this function before it
    /// publishes the state of this version.
    pub(super) fn note_added(&self, version: Version, added: &[(Address, Box<str>)]) {
        let mut known = self.write();
        known.newest = version;
        for (contract, key) in added {
            known.take_out(contract, key);
        }
    }

    /// Records that a version has no entry with a key from `from` (inclusive) to `end` (exclusive). Does nothing if the
    /// version is not the newest version, or if a bound has more than [`LONGEST`] bytes.
    pub(super) fn note(&self, contract: &Address, from: &str, end: &str, version: Version) {
        let mut known = self.write();
        // Only ranges of the newest version are recorded, because a version after `version` may have entries in the
        // range.
        if version == known.newest && from.len().max(end.len()) <= LONGEST {
            known.add(contract, from, end);
        }
    }

    /// Returns the first key from `from` on that may have an entry in a version, and the beginning of the next range
    /// without entries. The beginning is `None` if no such range follows.
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
    /// Returns the number of recorded ranges.
    pub(super) fn len(&self) -> usize {
        self.read().ranges.len()
    }
}

impl Known {
    /// Returns the range that contains a key, and the beginning of the range. Returns `None` if no range contains the
    /// key.
    fn around(&self, contract: &Address, key: &str) -> Option<(&str, &Range)> {
        if self.ranges.is_empty() {
            return None;
        }
        let ((owner, start), range) = self.ranges.range(..=(*contract, key.into())).next_back()?;
        (owner == contract && key < &*range.end).then_some((&**start, range))
    }

    /// Adds a range of the newest version, and merges it with ranges that overlap or touch it.
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

    /// Removes a key from the range that contains it. The keys before and after the key stay in ranges.
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
            // All ranges are removed at once, because later queries find useful ranges again.
            self.ranges.clear();
        }
        self.ranges.insert((*contract, start), range);
    }
}

/// The keys without entries since the last entry that a reader has found.
#[derive(Clone, Debug)]
pub(crate) struct Gap {
    from: String,
    keys: usize,
}

impl Gap {
    pub(crate) fn new(from: String) -> Self {
        Self { from, keys: 0 }
    }

    /// Passes the next keys. Calls `note` with the beginning and the end of each range of at least [`WORTH`] keys
    /// without entries.
    pub(crate) fn pass(&mut self, keys: &KeyList, has_entry: impl Fn(usize) -> bool, mut note: impl FnMut(&str, &str)) {
        // The position where the gap begins in these keys. `None` if the gap began before them.
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
