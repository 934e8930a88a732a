//! Runs: sorted sequences of entries on disk. A run is written once, and read page by page.

use super::{
    damaged,
    entry::{Key, Subject},
    page::{self, Entry, Page, PageWriter, after_run, page_key, read_page_key},
};
use crate::{archive::ArchiveError, db::Db};

/// A run that is complete on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) id: u32,
    /// The first entry.
    pub(super) first: Key,
    /// Number of entries, at least 1.
    pub(super) entries: u64,
    /// The newest block of all entries.
    pub(super) newest_block: u64,
}

/// The entries for a query: the keys from `from` to `to`, both included, with one of `kinds`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) from: Key,
    pub(super) to: Key,
    pub(super) kinds: u8,
    pub(super) newest_first: bool,
    /// Maximum number of entries.
    pub(super) most: usize,
}

impl Wanted {
    pub(super) const fn has(&self, entry: &Entry) -> bool {
        entry.1.kinds & self.kinds != 0
    }
}

impl Run {
    /// Returns the first or last `most` entries for the query, in its order. The number of reads grows with the number
    /// of entries between `from` and the last returned entry, and not with the size of the run.
    pub(super) fn find(&self, db: &Db, wanted: &Wanted) -> Result<Vec<Key>, ArchiveError> {
        let Wanted { from, to, newest_first, most, .. } = *wanted;
        let mut found = Vec::new();
        if to < self.first || most == 0 {
            return Ok(found);
        }
        let mut page = self.page_up_to(db, if newest_first { to } else { from.max(self.first) })?;
        loop {
            let within = page.entries.iter().filter(|entry| (from..=to).contains(&entry.0) && wanted.has(entry));
            let rest = most.saturating_sub(found.len());
            let (first, next) = (page.entries.first().map_or(to, |entry| entry.0), page.next);
            if newest_first {
                found.extend(within.rev().take(rest).map(|entry| entry.0));
                if found.len() >= most || first <= from || first <= self.first {
                    return Ok(found);
                }
                page = self.page_before(db, first)?;
            } else {
                found.extend(within.take(rest).map(|entry| entry.0));
                match next.filter(|next| found.len() < most && *next <= to) {
                    Some(next) => page = self.page_at(db, next)?,
                    None => return Ok(found),
                }
            }
        }
    }

    /// Returns the sum of the changes of the subject of `to` up to `to`, modulo 2^128. Reads one page.
    pub(super) fn sum(&self, db: &Db, to: Key) -> Result<u128, ArchiveError> {
        if to < self.first {
            return Ok(0);
        }
        let Page { carry, entries, .. } = self.page_up_to(db, to)?;
        let is_carried = entries.first().is_some_and(|first| first.0.subject == to.subject);
        let within = entries.iter().filter(|(key, _)| key.subject == to.subject && *key <= to);
        Ok(within.fold(if is_carried { carry } else { 0 }, |sum, (_, value)| sum.wrapping_add(value.change)))
    }

    /// Returns the page whose first entry is `first`.
    pub(super) fn page_at(&self, db: &Db, first: Key) -> Result<Page, ArchiveError> {
        let key = page_key(self.id, first);
        let value = db.get(&key)?.ok_or_else(|| damaged("a page is missing"))?;
        page::read(&key, &value)
    }

    /// Returns the last page that begins at `key` or before. `key` is not before the first entry.
    fn page_up_to(&self, db: &Db, key: Key) -> Result<Page, ArchiveError> {
        let mut end = page_key(self.id, key);
        end.push(0);
        let page = self.last_page(db, end)?;
        if page.next.is_some_and(|next| next <= key) { Err(damaged("a page is missing")) } else { Ok(page) }
    }

    /// Returns the page before the page that begins with `first`. `first` must not be the beginning of the first page.
    fn page_before(&self, db: &Db, first: Key) -> Result<Page, ArchiveError> {
        let page = self.last_page(db, page_key(self.id, first))?;
        if page.next == Some(first) { Ok(page) } else { Err(damaged("a page is missing")) }
    }

    /// Returns the last page whose database key is before `end`.
    fn last_page(&self, db: &Db, end: Vec<u8>) -> Result<Page, ArchiveError> {
        let last = db.scan(page_key(self.id, self.first)..end).next_back();
        let (key, value) = last.ok_or_else(|| damaged("a page is missing"))??;
        page::read(&key, &value)
    }
}

/// Reads the entries of a run in ascending order.
#[derive(Debug)]
pub(super) struct Cursor {
    run: Run,
    page: Page,
    at: usize,
    read: u64,
    /// The subject of the last consumed entry, and the sum of its changes so far.
    sum: (Subject, u128),
}

impl Cursor {
    pub(super) fn new(db: &Db, run: Run) -> Result<Self, ArchiveError> {
        Ok(Self { run, page: run.page_at(db, run.first)?, at: 0, read: 0, sum: Default::default() })
    }

    /// Returns the next entry without consuming it, or `None` after the last entry. Verifies the number of entries of
    /// the run, the order of its pages, and the sums of the changes.
    pub(super) fn peek(&mut self, db: &Db) -> Result<Option<Entry>, ArchiveError> {
        if let Some(entry) = self.page.entries.get(self.at) {
            return Ok(Some(*entry));
        }
        let Some(next) = self.page.next else {
            let is_whole = self.read == self.run.entries;
            return if is_whole { Ok(None) } else { Err(damaged("the number of entries of a run is wrong")) };
        };
        let last = self.page.entries.last().map(|entry| entry.0);
        self.page = self.run.page_at(db, next)?;
        self.at = 0;
        let first = self.page.entries.first().copied();
        if last >= first.map(|entry| entry.0) {
            return Err(damaged("the pages of a run are not in order"));
        }
        if first.is_some_and(|(key, _)| self.sum_of(key.subject) != self.page.carry) {
            return Err(damaged("the sum of the changes before a page is wrong"));
        }
        Ok(first)
    }

    /// Consumes the entry that [`Cursor::peek`] returned.
    pub(super) fn skip(&mut self) {
        if let Some((key, value)) = self.page.entries.get(self.at) {
            self.sum = (key.subject, self.sum_of(key.subject).wrapping_add(value.change));
        }
        self.at = self.at.saturating_add(1);
        self.read = self.read.saturating_add(1);
    }

    /// Returns the sum of the changes of a subject in the consumed entries. No entry of a later subject may have been
    /// consumed.
    fn sum_of(&self, subject: Subject) -> u128 {
        if self.sum.0 == subject { self.sum.1 } else { 0 }
    }
}

/// Writes a run.
#[derive(Debug)]
pub(super) struct RunWriter {
    pub(super) id: u32,
    page: PageWriter,
    first: Option<Key>,
    entries: u64,
    newest_block: u64,
}

impl RunWriter {
    pub(super) fn new(id: u32) -> Self {
        Self { id, page: PageWriter::default(), first: None, entries: 0, newest_block: 0 }
    }

    /// Adds an entry, which is after all earlier entries.
    pub(super) fn push(&mut self, db: &Db, entry: Entry) -> Result<(), ArchiveError> {
        if !self.page.push(entry) {
            self.page = std::mem::take(&mut self.page).write(db, self.id, Some(entry.0))?;
            self.page.push(entry);
        }
        self.first.get_or_insert(entry.0);
        self.entries = self.entries.saturating_add(1);
        self.newest_block = self.newest_block.max(entry.0.block());
        Ok(())
    }

    /// Writes the last page. Returns `None` if the run has no entries.
    pub(super) fn finish(self, db: &Db) -> Result<Option<Run>, ArchiveError> {
        let Self { id, page, first, entries, newest_block } = self;
        page.write(db, id, None)?;
        Ok(first.map(|first| Run { id, first, entries, newest_block }))
    }
}

/// Removes up to `budget` pages of a run that is not in the manifest. Returns the number of removed pages.
pub(super) fn remove_some(db: &Db, run: u32, budget: usize) -> Result<usize, ArchiveError> {
    let pages = db.scan(page_key(run, Key::default())..after_run(run)).take(budget);
    let keys = pages.map(|page| page.map(|(key, _)| key)).collect::<Result<Vec<_>, _>>()?;
    for key in &keys {
        db.remove(key)?;
    }
    Ok(keys.len())
}

/// Returns the ids of all runs on disk. Reads one page of each.
pub(super) fn stored_runs(db: &Db) -> Result<Vec<u32>, ArchiveError> {
    let (mut runs, end) = (Vec::new(), after_run(u32::MAX));
    let mut from = page_key(0, Key::default());
    while from < end
        && let Some(page) = db.scan(from.clone()..end.clone()).next()
    {
        let (key, _) = page?;
        let (run, _) = read_page_key(&key).ok_or_else(|| damaged("the key of a page is wrong"))?;
        runs.push(run);
        from = after_run(run);
    }
    Ok(runs)
}
