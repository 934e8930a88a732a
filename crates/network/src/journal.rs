//! The journal: the entries for which this member can have voted, and the decisions of bodies, until their block is
//! committed.
//!
//! The engine's own log has votes and the ids of entries. The journal has the bytes, so that a member that starts again
//! after a crash votes as before. A record is on disk before the engine gets the id.
//!
//! ```text
//! "silica journal v1"  network id (32)
//! then records: length of the content (4)  kind (1)  height (8)  entry id (32)  CRC-32C of these fields (4)
//!               content  CRC-32C of the content (4)
//! ```
//!
//! Numbers are in big endian. A crash can truncate the last record, or leave zeros in place of its end: the length of a
//! file can grow before its bytes are on disk. The opening removes a truncated record, and a record whose last checksum
//! is zero. Its append had not returned, so no vote depends on it. If a block of the disk ends 1 to 3 bytes before the
//! end of the record, fewer zeros are left, and the record counts as damaged. The first checksum covers the length.
//! Without it, a damaged length could look like an incomplete record, and would hide later records.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use silica_council::{EntryId, Height, NetworkId};

use crate::first_start::REMEDY;

const MAGIC: &[u8] = b"silica journal v1";
const HEAD: usize = MAGIC.len() + 32;
/// Bytes of a record before its content, without their checksum.
const FIELDS: usize = 4 + 1 + 8 + 32;
/// Bytes of a record before and after its content.
const FRAME: usize = FIELDS + 4 + 4;
/// Largest content. A network file permits bodies of at most 16 MiB.
const MOST: usize = 17 * 1024 * 1024;

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordKind {
    /// The bytes of an entry of another member, for which this member can have voted.
    Entry,
    /// The bytes of an entry that this member has proposed.
    Own,
    /// A body is decided. The content is its certificate.
    Decided,
}

/// A record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JournalRecord {
    pub(crate) kind: RecordKind,
    pub(crate) height: Height,
    pub(crate) id: EntryId,
    pub(crate) content: Vec<u8>,
}

/// Reason why the journal cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// A read or write failed.
    #[error("cannot read or write the agreement journal {}", path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file does not begin as a journal of this network.
    #[error("agreement journal {}: expected a journal of network {expected}, got another file; {REMEDY}", path.display())]
    Foreign {
        /// Path of the file.
        path: PathBuf,
        /// Id of the network.
        expected: NetworkId,
    },
    /// A record is damaged. A crash leaves at most one incomplete record, at the end of the file, and the opening
    /// removes this record. The documentation of the module has a rare exception.
    #[error(
        "agreement journal {}: expected undamaged data at byte {offset}, got damaged data; {REMEDY}",
        path.display()
    )]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// Offset of the record.
        offset: u64,
    },
}

/// The journal of a member.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    /// End of the last whole record.
    end: u64,
    /// Whether a failed append can have left a part of its record behind the end.
    is_torn: bool,
}

impl Journal {
    /// Opens the journal in a directory, and returns its records. Returns `None` if the directory has no journal.
    pub(crate) fn open(
        directory: &Path,
        network: NetworkId,
    ) -> Result<Option<(Self, Vec<JournalRecord>)>, JournalError> {
        let path = directory.join("journal");
        let failed = |source| JournalError::Io { path: path.clone(), source };
        let mut file = match OpenOptions::new().read(true).write(true).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        let foreign = || JournalError::Foreign { path: path.clone(), expected: network };
        let records = bytes.strip_prefix(MAGIC).and_then(|rest| rest.strip_prefix(network.as_bytes().as_slice()));
        let (records, whole, rest) = read(records.ok_or_else(foreign)?);
        let end = u64::try_from(HEAD.saturating_add(whole)).unwrap_or(u64::MAX);
        match rest {
            Rest::Empty => {}
            Rest::Cut => {
                file.set_len(end).map_err(failed)?;
                file.sync_all().map_err(failed)?;
            }
            Rest::Damaged => return Err(JournalError::Damaged { path, offset: end }),
        }
        let end = file.seek(SeekFrom::End(0)).map_err(failed)?;
        Ok(Some((Self { path, file, end, is_torn: false }, records)))
    }

    /// Creates an empty journal in place of an existing one.
    pub(crate) fn create(directory: &Path, network: NetworkId) -> Result<Self, JournalError> {
        let path = directory.join("journal");
        let failed = |source| JournalError::Io { path: path.clone(), source };
        let draft = directory.join("journal.new");
        let mut file =
            OpenOptions::new().create(true).truncate(true).read(true).write(true).open(&draft).map_err(failed)?;
        file.write_all(&[MAGIC, network.as_bytes()].concat()).map_err(failed)?;
        file.sync_all().map_err(failed)?;
        fs::rename(&draft, &path).map_err(failed)?;
        File::open(directory).and_then(|directory| directory.sync_all()).map_err(failed)?;
        let end = u64::try_from(HEAD).unwrap_or(u64::MAX);
        Ok(Self { path, file, end, is_torn: false })
    }

    /// Appends a record, and makes it durable. After an error, the next append removes the bytes of the failed one.
    pub(crate) fn append(&mut self, record: &JournalRecord) -> Result<(), JournalError> {
        self.write(&encode(record)).map_err(|source| JournalError::Io { path: self.path.clone(), source })
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.is_torn {
            self.cut()?;
        }
        self.is_torn = true;
        self.file.write_all(bytes)?;
        self.file.sync_data()?;
        self.end = self.end.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        self.is_torn = false;
        Ok(())
    }

    /// Removes the bytes after the last complete record, and flushes the file. The next record can begin in the same
    /// block of the disk as a removed one. Without the flush, a loss of power could leave that block with the old
    /// length of the file, which looks like damage.
    fn cut(&mut self) -> io::Result<()> {
        self.file.set_len(self.end)?;
        self.file.sync_all()?;
        self.file.seek(SeekFrom::Start(self.end))?;
        self.is_torn = false;
        Ok(())
    }

    /// Replaces the open file. Returns the earlier one.
    #[cfg(test)]
    pub(crate) fn replace_file(&mut self, file: File) -> File {
        std::mem::replace(&mut self.file, file)
    }

    /// Returns the bytes of an entry at a height, if the journal has them. Reads the whole journal.
    pub(crate) fn entry(&self, height: Height, id: EntryId) -> Result<Option<Arc<[u8]>>, JournalError> {
        let bytes = fs::read(&self.path).map_err(|source| JournalError::Io { path: self.path.clone(), source })?;
        let end = usize::try_from(self.end).unwrap_or(usize::MAX);
        let (records, ..) = read(bytes.get(HEAD..end).unwrap_or_default());
        let of = |it: &JournalRecord| it.kind != RecordKind::Decided && it.height == height && it.id == id;
        Ok(records.into_iter().find(of).map(|record| record.content.into()))
    }

    /// Removes all records, and makes the removal durable. After an error, the next append tries again. Until then, a
    /// crash can leave the records, which belong to a committed block and have no effect.
    pub(crate) fn clear(&mut self) -> Result<(), JournalError> {
        self.end = u64::try_from(HEAD).unwrap_or(u64::MAX);
        self.is_torn = true;
        self.cut().map_err(|source| JournalError::Io { path: self.path.clone(), source })
    }
}

fn encode(record: &JournalRecord) -> Vec<u8> {
    let JournalRecord { kind, height, id, content } = record;
    let kind = match kind {
        RecordKind::Entry => 0_u8,
        RecordKind::Decided => 1,
        RecordKind::Own => 2,
    };
    let len = u32::try_from(content.len()).unwrap_or(u32::MAX);
    let mut bytes = Vec::with_capacity(FRAME.saturating_add(content.len()));
    bytes.extend(len.to_be_bytes());
    bytes.push(kind);
    bytes.extend(height.get().to_be_bytes());
    bytes.extend(id.as_bytes());
    bytes.extend(crc32c::crc32c(&bytes).to_be_bytes());
    bytes.extend(content);
    bytes.extend(crc32c::crc32c(content).to_be_bytes());
    bytes
}

/// The bytes after the last complete record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    Empty,
    /// The beginning of a record that a crash has truncated, and zeros.
    Cut,
    Damaged,
}

/// Reads records up to the first incomplete or damaged one. Returns the records, the number of their bytes, and the
/// kind of the bytes after them.
fn read(bytes: &[u8]) -> (Vec<JournalRecord>, usize, Rest) {
    let (mut records, mut rest) = (Vec::new(), bytes);
    let end = loop {
        match read_one(rest) {
            Ok((record, after)) => {
                records.push(record);
                rest = after;
            }
            Err(end) => break end,
        }
    };
    (records, bytes.len().saturating_sub(rest.len()), end)
}

/// Reads the first record of `bytes`. Returns the record and the bytes after it.
fn read_one(bytes: &[u8]) -> Result<(JournalRecord, &[u8]), Rest> {
    if bytes.is_empty() {
        return Err(Rest::Empty);
    }
    let (fields, rest) = bytes.split_at_checked(FIELDS).ok_or(Rest::Cut)?;
    let (crc, rest) = rest.split_first_chunk::<4>().ok_or(Rest::Cut)?;
    if crc32c::crc32c(fields) != u32::from_be_bytes(*crc) {
        // A whole record does not end in zeros: the checksum of an entry or a certificate is not zero.
        let is_unwritten = crc[3] == 0 && rest.iter().all(|byte| *byte == 0);
        return Err(if is_unwritten { Rest::Cut } else { Rest::Damaged });
    }
    let (len, kind, height, id) = fields_of(fields).ok_or(Rest::Damaged)?;
    let (content, rest) = rest.split_at_checked(len).ok_or(Rest::Cut)?;
    let (crc, rest) = rest.split_first_chunk::<4>().ok_or(Rest::Cut)?;
    if crc32c::crc32c(content) != u32::from_be_bytes(*crc) {
        // The valid checksum of the fields proves that no other record begins in these bytes.
        let is_unwritten = rest.is_empty() && *crc == [0; 4];
        return Err(if is_unwritten { Rest::Cut } else { Rest::Damaged });
    }
    Ok((JournalRecord { kind, height, id, content: content.into() }, rest))
}

/// Reads the fields before the content.
fn fields_of(bytes: &[u8]) -> Option<(usize, RecordKind, Height, EntryId)> {
    let (len, rest) = bytes.split_first_chunk::<4>()?;
    let len = usize::try_from(u32::from_be_bytes(*len)).ok().filter(|len| *len <= MOST)?;
    let (kind, rest) = rest.split_first()?;
    let kind = match kind {
        0 => RecordKind::Entry,
        1 => RecordKind::Decided,
        2 => RecordKind::Own,
        _ => return None,
    };
    let (height, id) = rest.split_first_chunk::<8>()?;
    Some((len, kind, Height::new(u64::from_be_bytes(*height))?, EntryId::new(id.try_into().ok()?)))
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    const NETWORK: NetworkId = NetworkId::new([7; 32]);

    fn record(height: u64, kind: RecordKind, content: &[u8]) -> JournalRecord {
        let height = Height::new(height).unwrap();
        JournalRecord { kind, height, id: EntryId::new([9; 32]), content: content.into() }
    }

    fn records() -> Vec<JournalRecord> {
        vec![
            record(1, RecordKind::Entry, b"first body"),
            record(1, RecordKind::Decided, b""),
            record(3, RecordKind::Entry, &[5; 3_000]),
        ]
    }

    fn filled() -> (TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(directory.path(), NETWORK).unwrap();
        for record in records() {
            journal.append(&record).unwrap();
        }
        let path = directory.path().join("journal");
        (directory, path)
    }

    #[test]
    fn records_are_read_again_and_more_are_appended() {
        let (directory, _) = filled();
        let (mut journal, read) = Journal::open(directory.path(), NETWORK).unwrap().unwrap();
        assert_eq!(read, records());
        journal.append(&record(4, RecordKind::Entry, b"x")).unwrap();
        let (mut journal, read) = Journal::open(directory.path(), NETWORK).unwrap().unwrap();
        assert_eq!(read.len(), 4);
        journal.clear().unwrap();
        journal.append(&record(5, RecordKind::Entry, b"y")).unwrap();
        let (_, read) = Journal::open(directory.path(), NETWORK).unwrap().unwrap();
        assert_eq!(read, [record(5, RecordKind::Entry, b"y")]);
    }

    #[test]
    fn entry_is_found_by_its_height_and_id() {
        let directory = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(directory.path(), NETWORK).unwrap();
        let body =
            |height, id| JournalRecord { id: EntryId::new([id; 32]), ..record(height, RecordKind::Entry, &[id]) };
        let decided = JournalRecord { kind: RecordKind::Decided, ..body(1, 1) };
        for record in [&decided, &body(1, 1), &body(1, 2), &JournalRecord { kind: RecordKind::Own, ..body(3, 3) }] {
            journal.append(record).unwrap();
        }
        let find = |journal: &Journal, height, id| {
            journal.entry(Height::new(height).unwrap(), EntryId::new([id; 32])).unwrap().map(|bytes| bytes.to_vec())
        };
        assert_eq!(find(&journal, 1, 1), Some(vec![1]));
        assert_eq!(find(&journal, 1, 2), Some(vec![2]));
        assert_eq!(find(&journal, 3, 3), Some(vec![3]));
        assert_eq!(find(&journal, 3, 2), None);
        journal.append(&body(3, 4)).unwrap();
        assert_eq!(find(&journal, 3, 4), Some(vec![4]));
        journal.clear().unwrap();
        assert_eq!(find(&journal, 3, 4), None);
    }

    /// A failed removal is repeated before the next record, and a durable removal is not repeated.
    #[test]
    fn removal_of_all_records_is_durable() {
        let (directory, path) = filled();
        let (mut journal, _) = Journal::open(directory.path(), NETWORK).unwrap().unwrap();
        let writable = journal.replace_file(File::open(&path).unwrap());
        journal.clear().unwrap_err();
        assert!(journal.is_torn);
        journal.file = writable;
        journal.clear().unwrap();
        assert!(!journal.is_torn);
        journal.append(&record(5, RecordKind::Entry, b"y")).unwrap();
        let (_, read) = Journal::open(directory.path(), NETWORK).unwrap().unwrap();
        assert_eq!(read, [record(5, RecordKind::Entry, b"y")]);
    }

    #[test]
    fn append_after_a_full_disk_leaves_whole_records() {
        let (directory, path) = filled();
        let (mut journal, _) = Journal::open(directory.path(), NETWORK).unwrap().unwrap();
        let writable = journal.replace_file(File::open(&path).unwrap());
        let lost = record(4, RecordKind::Entry, b"lost");
        let error = journal.append(&lost).unwrap_err().to_string();
        assert_eq!(error, format!("cannot read or write the agreement journal {}", path.display()));
        // A full disk takes a part of the record.
        journal.file = writable;
        journal.file.write_all(&encode(&lost)[..20]).unwrap();
        let next = record(5, RecordKind::Entry, b"next");
        journal.append(&next).unwrap();
        journal.append(&next).unwrap();
        let (_, read) = Journal::open(directory.path(), NETWORK).unwrap().unwrap();
        assert_eq!(read[..3], records());
        assert_eq!(read[3..], [next.clone(), next]);
    }

    #[test]
    fn every_cut_leaves_the_whole_records() {
        let (directory, path) = filled();
        let whole = fs::read(&path).unwrap();
        let ends: Vec<usize> = records()
            .iter()
            .scan(HEAD, |end, record| {
                *end += encode(record).len();
                Some(*end)
            })
            .collect();
        for len in (HEAD..whole.len()).step_by(7) {
            fs::write(&path, &whole[..len]).unwrap();
            let (_, read) = Journal::open(directory.path(), NETWORK).unwrap().unwrap();
            assert_eq!(read.len(), ends.iter().filter(|end| **end <= len).count(), "{len}");
            // The second opening finds a file without a cut record.
            assert!(ends.iter().chain([&HEAD]).any(|end| fs::metadata(&path).unwrap().len() == *end as u64));
        }
        for len in 0..HEAD {
            fs::write(&path, &whole[..len]).unwrap();
            let error = Journal::open(directory.path(), NETWORK).unwrap_err();
            assert!(matches!(error, JournalError::Foreign { .. }), "{len}: {error}");
        }
    }

    /// Each changed bit gives an error that names the record.
    #[test]
    fn every_changed_bit_is_an_error() {
        let (directory, path) = filled();
        let whole = fs::read(&path).unwrap();
        let starts: Vec<usize> = records()
            .iter()
            .scan(HEAD, |next, record| Some(std::mem::replace(next, *next + encode(record).len())))
            .collect();
        // The long content is sampled.
        for at in (HEAD..starts[2] + FRAME).chain((starts[2]..whole.len()).step_by(101)).chain([whole.len() - 1]) {
            for bit in 0..8 {
                let mut bytes = whole.clone();
                bytes[at] ^= 1 << bit;
                fs::write(&path, &bytes).unwrap();
                let error = Journal::open(directory.path(), NETWORK).unwrap_err();
                let expected = starts.iter().rev().find(|start| **start <= at).unwrap();
                assert!(
                    matches!(error, JournalError::Damaged { offset, .. } if offset == *expected as u64),
                    "{at}: {error}"
                );
                assert!(error.to_string().ends_with(REMEDY), "{error}");
                assert_eq!(fs::read(&path).unwrap(), bytes, "{at}");
            }
        }
    }

    #[test]
    fn file_that_has_grown_before_its_bytes_is_cut() {
        let (directory, path) = filled();
        let mut bytes = fs::read(&path).unwrap();
        let len = bytes.len();
        bytes.resize(len + 5_000, 0);
        fs::write(&path, &bytes).unwrap();
        let (_, read) = Journal::open(directory.path(), NETWORK).unwrap().unwrap();
        assert_eq!(read, records());
        assert_eq!(fs::metadata(&path).unwrap().len(), len as u64);
    }

    /// A loss of power can leave zeros in place of the end of the last record, from a block of the disk on.
    #[test]
    fn last_record_that_ends_in_zeros_is_cut() {
        let (directory, path) = filled();
        let whole = fs::read(&path).unwrap();
        let [.., last] = &records()[..] else { unreachable!() };
        let start = whole.len() - encode(last).len();
        for from in (start..start + FRAME).chain((start..whole.len() - 4).step_by(101)).chain([whole.len() - 4]) {
            let mut bytes = whole.clone();
            bytes[from..].fill(0);
            fs::write(&path, &bytes).unwrap();
            let (_, read) = Journal::open(directory.path(), NETWORK).unwrap().unwrap();
            assert_eq!(read, records()[..2], "{from}");
            assert_eq!(fs::read(&path).unwrap(), whole[..start], "{from}");
        }
        // Fewer zeros do not prove that the record was not flushed.
        for zeros in 1..4 {
            let mut bytes = whole.clone();
            bytes[whole.len() - zeros..].fill(0);
            assert_ne!(bytes, whole);
            fs::write(&path, &bytes).unwrap();
            let error = Journal::open(directory.path(), NETWORK).unwrap_err();
            assert!(matches!(error, JournalError::Damaged { offset, .. } if offset == start as u64), "{error}");
        }
        // A flush has made each record before the last one durable.
        let first = HEAD + encode(&records()[0]).len();
        for from in [HEAD, HEAD + FIELDS, HEAD + FIELDS + 4, first - 4] {
            let mut bytes = whole.clone();
            bytes[from..first].fill(0);
            fs::write(&path, &bytes).unwrap();
            let error = Journal::open(directory.path(), NETWORK).unwrap_err();
            assert!(matches!(error, JournalError::Damaged { offset, .. } if offset == HEAD as u64), "{from}: {error}");
        }
    }

    #[test]
    fn journal_of_another_network_is_rejected() {
        let (directory, _) = filled();
        let error = Journal::open(directory.path(), NetworkId::new([8; 32])).unwrap_err().to_string();
        assert!(error.contains("expected a journal of network 0808"), "{error}");
        let empty = tempfile::tempdir().unwrap();
        assert!(Journal::open(empty.path(), NETWORK).unwrap().is_none());
    }
}
