//! Iteration over a range of keys.

use std::{
    collections::VecDeque,
    ops::{Bound, Range},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use super::{DbError, Engine, Value};

/// An iterator over a range of keys. It holds no object of the engine, because the engine can be closed during the
/// iteration.
pub(crate) struct Scan {
    engine: Engine,
    /// The range of keys that the scan has not fetched.
    rest: (Bound<Vec<u8>>, Bound<Vec<u8>>),
    /// Fetched entries before `rest`.
    fetched: VecDeque<(Value, Value)>,
    /// Number of entries of the next fetch.
    portion: usize,
    retired: Arc<AtomicBool>,
    ended: bool,
}

/// Number of entries of the first fetch. Each later fetch has eight times as many entries, at most `LARGEST_PORTION`,
/// because each fetch searches for its first key in the tree of the engine.
const PORTION: usize = 1;
const LARGEST_PORTION: usize = 64;

impl Scan {
    pub(super) fn new(engine: Engine, retired: Arc<AtomicBool>, range: Range<Vec<u8>>) -> Self {
        let rest = (Bound::Included(range.start), Bound::Excluded(range.end));
        Self { engine, rest, fetched: VecDeque::new(), portion: PORTION, retired, ended: false }
    }

    fn fetch(&mut self) -> Result<(), DbError> {
        if !is_ordered(&self.rest) {
            return Ok(());
        }
        match &self.engine {
            Engine::Sled(sled) => {
                let range = (self.rest.clone(), self.portion);
                let found = sled.read(|db| db.range(range.0).take(range.1).collect::<sled::Result<Vec<_>>>())?;
                self.fetched.extend(found.into_iter().map(|(key, value)| (Value(key), Value(value))));
            }
            Engine::Memory(memory) => self.fetched.extend(memory.first(&self.rest)),
        }
        self.portion = self.portion.saturating_mul(8).min(LARGEST_PORTION);
        if let Some((last, _)) = self.fetched.back() {
            self.rest.0 = Bound::Excluded(last.to_vec());
        }
        Ok(())
    }

    fn first(&mut self) -> Result<Option<(Value, Value)>, DbError> {
        if self.fetched.is_empty() {
            self.fetch()?;
        }
        Ok(self.fetched.pop_front())
    }

    fn last(&mut self) -> Result<Option<(Value, Value)>, DbError> {
        let last = match &self.engine {
            _ if !is_ordered(&self.rest) => None,
            Engine::Sled(sled) => {
                let range = self.rest.clone();
                let last = sled.read(|db| db.range(range).next_back().transpose())?;
                last.map(|(key, value)| (Value(key), Value(value)))
            }
            Engine::Memory(memory) => memory.last(&self.rest),
        };
        if let Some((key, _)) = &last {
            self.rest.1 = Bound::Excluded(key.to_vec());
        }
        Ok(last.or_else(|| self.fetched.pop_back()))
    }

    /// Returns `read`. If the handle was retired before the end of the read, returns [`DbError::Retired`] instead, and
    /// ends the iteration.
    fn in_service(&mut self, read: Result<Option<(Value, Value)>, DbError>) -> Option<Result<(Value, Value), DbError>> {
        if self.ended {
            return None;
        }
        let retired = self.retired.load(Ordering::SeqCst);
        // A caller that continues after an error must not get the items after it.
        self.ended = retired || read.is_err();
        if retired { Some(Err(DbError::Retired)) } else { read.transpose() }
    }
}

impl Iterator for Scan {
    type Item = Result<(Value, Value), DbError>;

    fn next(&mut self) -> Option<Self::Item> {
        let read = self.first();
        self.in_service(read)
    }
}

impl DoubleEndedIterator for Scan {
    fn next_back(&mut self) -> Option<Self::Item> {
        let read = self.last();
        self.in_service(read)
    }
}

/// Returns whether the bounds of a range are in order. `BTreeMap::range` panics if the start is after the end.
fn is_ordered(bounds: &(Bound<Vec<u8>>, Bound<Vec<u8>>)) -> bool {
    match bounds {
        (Bound::Included(start) | Bound::Excluded(start), Bound::Excluded(end)) => start < end,
        (Bound::Included(start) | Bound::Excluded(start), Bound::Included(end)) => start <= end,
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => true,
    }
}
