//! The stored form of a page: a part of a run.

use super::{
    damaged,
    entry::{IndexPosition, KEY, Key, SUBJECT, Subject, Value, kind},
};
use crate::{
    archive::ArchiveError,
    codec::{Malformed, Reader, SEAL_LEN, Writer, seal, unseal},
    db::{Db, MAX_VALUE},
};

/// Table of the pages.
const PAGES: u8 = 0x01;
/// Maximum bytes of the entries of a page.
pub(super) const CAPACITY: usize = MAX_VALUE - SEAL_LEN - HEADER;
/// Maximum bytes before the entries of a page: the key of the next page with its flag, and a number of 128 bits.
const HEADER: usize = 1 + KEY + 19;
const WHAT: &str = "page of the history index";

/// An entry: its key, and its contents.
pub(super) type Entry = (Key, Value);

/// A page of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    /// The first entry of the next page, or `None` for the last page of a run. So a reader always detects a missing
    /// page.
    pub(super) next: Option<Key>,
    /// The sum of the changes in earlier pages of the run that belong to the subject of the first entry of this page.
    /// So a reader of one page gets the sum of all changes of a subject up to a place.
    pub(super) carry: u128,
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

/// The entries of a page that is being written.
#[derive(Debug, Default)]
pub(super) struct PageWriter {
    first: Option<Key>,
    last: Option<Key>,
    carry: u128,
    /// The sum of the changes of the subject of the last entry, in this page and before it.
    sum: u128,
    bytes: Writer,
}

impl PageWriter {
    /// Adds an entry, which is after all earlier entries. Returns `false` without a change if the page has no room for
    /// it.
    pub(super) fn push(&mut self, (key, value): Entry) -> bool {
        let mut entry = Writer::new();
        write_entry(&mut entry, self.last, key, value);
        if self.bytes.as_slice().len().saturating_add(entry.as_slice().len()) > CAPACITY {
            return false;
        }
        self.bytes.raw(entry.as_slice());
        let same = self.last.is_some_and(|last| last.subject == key.subject);
        self.sum = if same || self.last.is_none() { self.sum } else { 0 }.wrapping_add(value.change);
        self.first.get_or_insert(key);
        self.last = Some(key);
        true
    }

    /// Writes the page. `next` is the first entry of the next page. Returns the writer of the next page.
    pub(super) fn write(self, db: &Db, run: u32, next: Option<Key>) -> Result<Self, ArchiveError> {
        let same = self.last.zip(next).is_some_and(|(last, next)| last.subject == next.subject);
        let carry = if same { self.sum } else { 0 };
        let Some(first) = self.first else { return Ok(Self::default()) };
        let key = page_key(run, first);
        let mut payload = Writer::new();
        payload.byte(u8::from(next.is_some()));
        payload.raw(&next.unwrap_or_default().to_bytes());
        payload.number(self.carry);
        payload.raw(self.bytes.as_slice());
        db.insert(&key, &seal(&key, payload.as_slice()))?;
        Ok(Self { carry, sum: carry, ..Self::default() })
    }
}

/// Reads a page.
pub(super) fn read(key: &[u8], value: &[u8]) -> Result<Page, ArchiveError> {
    let payload = unseal(key, value).ok_or_else(|| damaged("checksum of a page is wrong"))?;
    let page = decode(payload).map_err(|_| damaged("content of a page is wrong"))?;
    if page.entries.is_empty() { Err(damaged("a page has no entries")) } else { Ok(page) }
}

fn decode(payload: &[u8]) -> Result<Page, Malformed> {
    let mut reader = Reader::new(payload);
    let has_next = reader.byte(WHAT)? != 0;
    let next = Key::from_bytes(reader.array::<KEY>(WHAT)?);
    let mut page = Page { next: has_next.then_some(next), carry: reader.number(WHAT)?, entries: Vec::new() };
    while !reader.is_empty() {
        let last = page.entries.last().map(|entry| entry.0);
        page.entries.push(read_entry(&mut reader, last)?);
    }
    Ok(page)
}

/// Writes an entry after the entry `last`:
///
/// - the number of bytes that the subject and the subject of `last` have in common at their beginning;
/// - if the subjects differ: the number of further bytes, and these bytes. The remaining bytes of the subject are 0;
/// - the block, or if the subjects are equal, the difference to the block of `last`;
/// - the position, the kinds, and the change if the kinds have one.
fn write_entry(out: &mut Writer, last: Option<Key>, Key { subject, place }: Key, Value { kinds, change }: Value) {
    let before = last.map_or([0; SUBJECT], |last| last.subject.0);
    let shared = subject.0.iter().zip(&before).take_while(|(one, other)| one == other).count();
    let IndexPosition { block, position } = IndexPosition::of_place(place);
    out.len(shared);
    let base = if shared < SUBJECT {
        let end = subject.0.iter().rposition(|byte| *byte != 0).map_or(0, |last| last.saturating_add(1));
        out.bytes(subject.0.get(shared..end).unwrap_or_default());
        0
    } else {
        last.map_or(0, Key::block)
    };
    out.number(block.get().saturating_sub(base));
    out.number(position);
    out.byte(kinds);
    if kinds & kind::CHANGE != 0 {
        out.number(zigzag(change));
    }
}

fn read_entry(reader: &mut Reader<'_>, last: Option<Key>) -> Result<Entry, Malformed> {
    let mut subject = last.map_or([0; SUBJECT], |last| last.subject.0);
    let shared: usize = reader.number(WHAT)?;
    let base = if shared < SUBJECT {
        let rest = reader.bytes(WHAT)?;
        let (to, zeros) =
            subject.get_mut(shared..).and_then(|tail| tail.split_at_mut_checked(rest.len())).ok_or(Malformed(WHAT))?;
        to.copy_from_slice(rest);
        zeros.fill(0);
        0
    } else {
        last.map_or(0, Key::block)
    };
    let block = reader.number::<u64>(WHAT)?.checked_add(base).ok_or(Malformed(WHAT))?;
    let place = IndexPosition { block: block.into(), position: reader.number(WHAT)? }.place();
    let kinds = reader.byte(WHAT)?;
    let change = if kinds & kind::CHANGE == 0 { 0 } else { unzigzag(reader.number(WHAT)?) };
    Ok((Key { subject: Subject(subject), place }, Value { kinds, change }))
}

/// Returns a number that is small for a small increase, and for a small decrease modulo 2^128.
const fn zigzag(change: u128) -> u128 {
    let sign = if change >> 127 == 0 { 0 } else { u128::MAX };
    (change << 1) ^ sign
}

const fn unzigzag(number: u128) -> u128 {
    let sign = if number & 1 == 0 { 0 } else { u128::MAX };
    (number >> 1) ^ sign
}

#[cfg(test)]
mod tests {
    use proptest::{collection::btree_map, prelude::*};

    use super::*;

    fn key() -> impl Strategy<Value = Key> {
        let subject = prop_oneof![
            (0_u8..3, 0_u8..3).prop_map(|(first, last)| {
                let mut subject = [0; SUBJECT];
                (subject[0], subject[SUBJECT - 1]) = (first, last);
                subject
            }),
            any::<[u8; SUBJECT]>(),
        ];
        (subject, prop_oneof![0_u64..5000, any::<u64>()])
            .prop_map(|(subject, place)| Key { subject: Subject(subject), place })
    }

    fn value() -> impl Strategy<Value = Value> {
        let change = prop_oneof![0_u128..300, any::<u128>(), (0_u128..300).prop_map(u128::wrapping_neg)];
        (0_u8..64, prop::option::of(change)).prop_map(|(kinds, change)| Value {
            kinds: kinds | if change.is_some() { kind::CHANGE } else { 0 },
            change: change.unwrap_or(0),
        })
    }

    proptest! {
        #[test]
        fn pages_are_read_as_they_are_written(entries in btree_map(key(), value(), 1..600)) {
            let (db, mut page) = (Db::in_memory(), PageWriter::default());
            for entry in &entries {
                let entry = (*entry.0, *entry.1);
                if !page.push(entry) {
                    page = page.write(&db, 7, Some(entry.0)).unwrap();
                    prop_assert!(page.push(entry));
                }
            }
            page.write(&db, 7, None).unwrap();
            let (mut read_entries, mut sums, mut next) = (Vec::new(), 0_u128, Some(*entries.first_key_value().unwrap().0));
            let mut subject = None;
            while let Some(first) = next {
                let key = page_key(7, first);
                prop_assert_eq!(read_page_key(&key), Some((7, first)));
                let page = read(&key, &db.get(&key).unwrap().unwrap()).unwrap();
                prop_assert_eq!(page.entries[0].0, first);
                prop_assert_eq!(page.carry, if subject == Some(first.subject) { sums } else { 0 });
                for (key, value) in &page.entries {
                    sums = if subject == Some(key.subject) { sums } else { 0 }.wrapping_add(value.change);
                    subject = Some(key.subject);
                }
                read_entries.extend(page.entries);
                next = page.next;
            }
            prop_assert_eq!(read_entries, entries.into_iter().collect::<Vec<_>>());
        }

        #[test]
        fn other_bytes_cause_no_panic(bytes: Vec<u8>) {
            let _: Result<Page, Malformed> = decode(&bytes);
        }
    }
}
