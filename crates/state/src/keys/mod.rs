//! The key index: the keys of contract storage in their order.
//!
//! A storage trie has its entries in the order of hashes. The index has their plain keys in the order of their bytes.
//! Therefore a query for the entries of one map reads no other entries:
//!
//! ```text
//! candidates = keys on disk ∪ recent keys in memory          the view looks up each candidate in its trie, which
//!     ▲             ▲               ▲                        verifies the entry, and skips keys without entry
//!   range     newest checkpoint   blocks since
//! ```
//!
//! The index contains at least the keys of every readable state, so it needs no versions. A new key is in memory until
//! the next checkpoint writes it. The first checkpoint without a removed key lists this key for removal. The key is
//! removed from disk when the previous checkpoint is dropped (docs/storage.md). Until then, queries record ranges in
//! which all keys are removed, so that later queries skip these ranges.

mod absent;
mod layer;
mod pages;
mod recent;
mod rows;
#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, reason = "the numbers of the tests are small, and an overflow fails them")]
mod tests;

use std::sync::Arc;

use silica_protocol::Address;

use self::{absent::Absent, layer::Tables, pages::Pages, rows::Rows};
pub(crate) use self::{absent::Gap, recent::Recent};
use crate::{
    db::{Batch, Db},
    error::StateError,
    layout::space,
    version::Version,
};

/// The keys that a state diff adds and removes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeyChanges {
    /// Plain keys that have an entry after the diff, but not before it, with their contracts.
    pub added: Vec<(Address, Box<str>)>,
    /// Plain keys without an entry after the diff, with their contracts. Such a key may also have had no entry before
    /// the diff.
    pub gone: Vec<(Address, Box<str>)>,
}

impl KeyChanges {
    pub(crate) fn append(&mut self, mut other: Self) {
        self.added.append(&mut other.added);
        self.gone.append(&mut other.gone);
    }
}

/// The plain keys of one contract that begin with `prefix` and are not before `from`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span<'a> {
    pub contract: &'a Address,
    pub prefix: &'a str,
    pub from: &'a str,
}

/// The limit of one read of keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    pub keys: usize,
    /// Approximate bytes of all keys together.
    pub bytes: usize,
}

/// Keys in their order, in one allocation.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeyList {
    text: String,
    /// The end of each key in `text`.
    ends: Vec<usize>,
}

impl KeyList {
    pub(crate) fn push(&mut self, key: &str) {
        self.text.push_str(key);
        self.ends.push(self.text.len());
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn get(&self, at: usize) -> Option<&str> {
        let end = *self.ends.get(at)?;
        let start = at.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        self.text.get(start..end)
    }

    fn last(&self) -> Option<&str> {
        self.get(self.len().checked_sub(1)?)
    }

    #[cfg(test)]
    fn to_vec(&self) -> Vec<String> {
        (0..self.len()).map(|at| self.get(at).unwrap().to_owned()).collect()
    }
}

/// The first keys of a span. Some of these keys may have no entry.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    /// Keys in ascending order, each once.
    pub keys: KeyList,
    /// The key at which the next span begins, or `None` at the end.
    pub next: Option<String>,
}

/// Keys from one source in their order, up to a limit.
struct Taken {
    keys: KeyList,
    left: Limit,
    /// Whether the limit ended the read, so that more keys may follow.
    cut: bool,
}

impl Taken {
    fn new(limit: Limit) -> Self {
        Self { keys: KeyList::default(), left: limit, cut: false }
    }

    /// Returns whether the limit permits another key. A limit of at least one key and one byte permits one key of any
    /// length.
    fn has_room(&mut self) -> bool {
        self.cut = self.left.keys == 0 || self.left.bytes == 0;
        !self.cut
    }

    fn push(&mut self, key: &str) {
        self.left.keys = self.left.keys.saturating_sub(1);
        self.left.bytes = self.left.bytes.saturating_sub(key.len());
        self.keys.push(key);
    }
}

/// The key index.
#[derive(Debug)]
pub(crate) struct Keys {
    db: Db,
    recent: Arc<Recent>,
    absent: Absent,
}

/// The limit of one read of keys while a checkpoint is written.
const PORTION: Limit = Limit { keys: 1024, bytes: 1 << 20 };

impl Keys {
    /// Returns the index of a database, with no keys in memory.
    pub(crate) fn new(db: Db) -> Self {
        Self { db, recent: Arc::default(), absent: Absent::default() }
    }

    /// Starts the undo log of versions after `version`. Does nothing if the undo log exists. `version` must be the
    /// newest version. The next checkpoint removes the log.
    pub(crate) fn remember(&self, version: Version) {
        self.recent.remember(version);
    }

    /// Returns the index of an earlier version with the handle `db`. Returns `None` if the undo log does not reach back
    /// to that version. Both indexes share the keys in memory, so the caller must have retired the handle of `self`.
    pub(crate) fn back_at(&self, version: Version, db: Db) -> Option<Self> {
        let absent = Absent::default();
        absent.note_added(version, &[]);
        self.recent.undo_after(version).then(|| Self { db, recent: Arc::clone(&self.recent), absent })
    }

    const fn pages(&self) -> Pages<'_> {
        Pages { db: &self.db, tables: Tables { top: space::KEYS, deep: space::LONG_KEYS } }
    }

    /// Returns the keys listed for removal, each with the number of the first checkpoint without it.
    const fn listed(&self) -> Rows<'_> {
        Rows { db: &self.db, tables: Tables { top: space::GONE_KEYS, deep: space::LONG_GONE_KEYS } }
    }

    /// Adds the changed keys of one or more blocks. The caller must add them in the order of the blocks, and before a
    /// reader gets the new state.
    pub(crate) fn note(&self, version: Version, changes: KeyChanges) {
        self.absent.note_added(version, &changes.added);
        self.recent.note(version, changes);
    }

    /// Records that a version has no entry with a key from `from` (inclusive) to `end` (exclusive). Ignores the range
    /// if the version is not the newest version.
    pub(crate) fn note_absent(&self, contract: &Address, from: &str, end: &str, version: Version) {
        self.absent.note(contract, from, end, version);
    }

    /// Returns the first keys of a span. They include each key before [`Candidates::next`] that has an entry in the
    /// state of `version`. `older` has the keys of states that were computed again after a restart.
    pub(crate) fn candidates(
        &self,
        span: Span<'_>,
        version: Version,
        older: Option<&Recent>,
        limit: Limit,
    ) -> Result<Candidates, StateError> {
        let (from, absent) = self.absent.skip(span.contract, span.from.max(span.prefix), version);
        if !from.starts_with(span.prefix) {
            return Ok(Candidates::default());
        }
        let span = Span { from: &from, ..span };
        let absent = absent.filter(|absent| absent.starts_with(span.prefix));
        let until = absent.as_deref();
        // Memory is read before the pages: keys move only from memory to pages, so a key that moves during the read is
        // not missed.
        let recent = [Some(&*self.recent), older].into_iter().flatten().map(|recent| recent.take(span, until, limit));
        let mut taken: Vec<Taken> = recent.collect();
        taken.push(self.pages().take(span, until, limit)?);
        let cut = taken.iter().filter(|taken| taken.cut).filter_map(|taken| taken.keys.last());
        let end = cut.min().map(str::to_owned);
        taken.retain(|taken| taken.keys.len() > 0);
        let keys = match &mut *taken {
            [only] => std::mem::take(&mut only.keys),
            several => merge(several, end.as_deref()),
        };
        Ok(Candidates { keys, next: end.map(after).or(absent) })
    }

    /// Removes the keys that only checkpoints before the newest finished checkpoint had. `number` is the number of the
    /// newest checkpoint. Views of versions before `floor` must be unreadable.
    pub(crate) fn begin_checkpoint(&self, number: u64, floor: Version) -> Result<(), StateError> {
        let mut listed = self.listed().all();
        loop {
            let portion = listed.by_ref().take(PORTION.keys).collect::<Result<Vec<_>, _>>()?;
            if portion.is_empty() {
                break;
            }
            // An unfinished checkpoint may have listed a key for removal that the current checkpoint uses.
            let is_finished =
                |payload: &[u8]| payload.first_chunk().is_some_and(|bytes| u64::from_be_bytes(*bytes) <= number);
            let gone = portion.iter().filter(|(_, _, payload)| is_finished(payload));
            self.pages().remove(gone.map(|(contract, key, _)| (contract, key.as_str())))?;
            for (contract, key, _) in &portion {
                self.listed().remove(contract, key)?;
            }
        }
        self.recent.release(floor);
        Ok(())
    }

    /// Writes the keys that the state of `version` has and the previous checkpoint does not have. Lists for removal the
    /// keys that the state does not have. The caller must have added the changes of `version`, and must write the
    /// manifest afterwards.
    pub(crate) fn write_checkpoint(&self, number: u64, version: Version) -> Result<(), StateError> {
        let mut from = None;
        while let Some(portion) = self.recent.due(version, from.as_ref(), PORTION) {
            self.pages().insert(portion.added.iter().map(|(contract, key)| (contract, &**key)))?;
            let mut batch = Batch::default();
            for (contract, key) in &portion.gone {
                self.listed().insert(&mut batch, contract, key, &number.to_be_bytes());
            }
            self.db.apply(batch)?;
            self.recent.written(&portion.added);
            from = Some(portion.next);
        }
        Ok(())
    }

    /// Calls `visit` with each key of a contract on disk. The second argument is whether the newest checkpoint can lack
    /// an entry with this key. Such a key is listed for removal, or the next checkpoint writes or lists it.
    pub(crate) fn visit(&self, contract: &Address, mut visit: impl FnMut(&str, bool)) -> Result<(), StateError> {
        let span = Span { contract, prefix: "", from: "" };
        let mut listed = self.listed().scan(span).map(|row| row.map(|(key, _)| key)).peekable();
        let mut keys = self.pages().scan(span)?;
        while let Some(key) = keys.next_key()? {
            while listed.peek().is_some_and(|listed| matches!(listed, Ok(listed) if listed.as_str() < key)) {
                listed.next();
            }
            if listed.peek().is_some_and(Result::is_err) {
                listed.next().transpose()?;
            }
            let is_listed = matches!(listed.peek(), Some(Ok(listed)) if listed == key);
            visit(key, is_listed || self.recent.has(contract, key));
        }
        Ok(())
    }
}

/// Merges the keys of several sources, up to `end` if it is given.
fn merge(sources: &[Taken], end: Option<&str>) -> KeyList {
    let mut sources: Vec<_> = sources.iter().map(|taken| (&taken.keys, 0_usize)).collect();
    let mut merged = KeyList::default();
    while let Some(next) = sources.iter().filter_map(|(keys, at)| keys.get(*at)).min()
        && end.is_none_or(|end| next <= end)
    {
        merged.push(next);
        for (keys, at) in &mut sources {
            if keys.get(*at) == Some(next) {
                *at = at.saturating_add(1);
            }
        }
    }
    merged
}

/// Returns the key that comes directly after a key.
pub(crate) fn after(mut key: String) -> String {
    key.push('\0');
    key
}
