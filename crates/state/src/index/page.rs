//! The stored form of a page: a part of a run.

use super::{
    damaged,
    entry::{ENTRY, KEY, Key},
};
use crate::{
    archive::ArchiveError,
    codec::{SEAL_LEN, Writer, seal, unseal},
    db::{Db, MAX_VALUE},
};

/// Table of the pages.
const PAGES: u8 = 0x01;
/// Maximum number of entries of a page.
pub(super) const CAPACITY: usize = (MAX_VALUE - SEAL_LEN - 1 - KEY) / ENTRY;

/// An entry: its key, and its kinds.
pub(super) type Entry = (Key, u8);

/// A page of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    /// The first entry of the next page, or `None` for the last page of a run. So a missing page is always noticed.
    pub(super) next: Option<Key>,
    /// The entries in ascending order, at least one.
    pub(super) entries: Vec<Entry>,
}

/// Returns the database key of the page that begins with an entry.
pub(super) fn page_key(run: u32, first: Key) -> Vec<u8> {
    [&[PAGES], &run.to_be_bytes()[..], &first.to_bytes()].concat()
}

/// Returns the run and the first entry of the page with a database key, or `None` for other keys.
pub(super) fn read_page_key(key: &[u8]) -> Option<(u32, Key)> {
    let (run, first) = key.strip_prefix(&[PAGES])?.split_first_chunk()?;
    Some((u32::from_be_bytes(*run), Key::from_bytes(first.try_into().ok()?)))
}

/// Returns a database key after all pages of runs up to `run`.
pub(super) fn after_run(run: u32) -> Vec<u8> {
    run.checked_add(1).map_or(vec![PAGES.wrapping_add(1)], |next| [&[PAGES], &next.to_be_bytes()[..]].concat())
}

pub(super) fn write(db: &Db, run: u32, entries: &[Entry], next: Option<Key>) -> Result<(), ArchiveError> {
    let Some((first, _)) = entries.first() else { return Ok(()) };
    let key = page_key(run, *first);
    let mut payload = Writer::new();
    payload.byte(u8::from(next.is_some()));
    payload.raw(&next.unwrap_or_default().to_bytes());
    for (key, kinds) in entries {
        payload.raw(&key.to_bytes());
        payload.byte(*kinds);
    }
    Ok(db.insert(&key, &seal(&key, payload.as_slice()))?)
}

pub(super) fn read(key: &[u8], value: &[u8]) -> Result<Page, ArchiveError> {
    let payload = unseal(key, value).ok_or_else(|| damaged("checksum of a page is wrong"))?;
    let header =
        payload.split_first().and_then(|(flag, rest)| rest.split_first_chunk().map(|(next, rest)| (flag, next, rest)));
    let (flag, next, content) = header.ok_or_else(|| damaged("a page is too short"))?;
    let (entries, rest) = content.as_chunks::<ENTRY>();
    let entries: Vec<Entry> = entries
        .iter()
        .filter_map(|entry| entry.split_last())
        .filter_map(|(kinds, key)| Some((Key::from_bytes(key.try_into().ok()?), *kinds)))
        .collect();
    if entries.is_empty() || !rest.is_empty() {
        return Err(damaged("length of a page is wrong"));
    }
    Ok(Page { next: (*flag != 0).then(|| Key::from_bytes(*next)), entries })
}
