//! The contents of a pool as bytes, so that pending transactions survive a clean stop of the node.
//!
//! ```text
//! "silica-pool-2\n"
//! for each transaction, the oldest first:
//!   the bytes ff 74 78 ff
//!   number of entries                    4 bytes, big endian
//!   Tx epoch of its arrival              8 bytes, big endian
//!   whether it is for the DS committee   1 byte
//!   length of the transaction            4 bytes, big endian
//!   the transaction                      as on the wire
//!   SHA-256 of the entry up to here      its first 8 bytes
//! ```
//!
//! Each entry has a checksum, so that a damaged byte loses one transaction only. The reader searches for the four bytes
//! at the start of an entry. They are not valid UTF-8, so the code and the data of a transaction cannot contain them.
//!
//! An entry of version 1 has no start bytes, no number of entries and no checksum. One SHA-256 of all bytes is at the
//! end of the file. The reader accepts both versions.

use silica_protocol::{BlockNumber, Transaction, sha256};

use super::Pool;
use crate::admission::Routing;

const MARK_1: &str = "silica-pool-1\n";
const MARK_2: &str = "silica-pool-2\n";
const CHECKSUM_1_LEN: usize = 32;
const CHECKSUM_2_LEN: usize = 8;
const ENTRY: [u8; 4] = *b"\xfftx\xff";
/// Bytes of an entry without its transaction.
const FRAME_LEN: usize = ENTRY.len() + 4 + 8 + 1 + 4 + CHECKSUM_2_LEN;

/// The transactions in an exported pool.
#[derive(Debug)]
pub(crate) struct Contents {
    /// The readable transactions, the oldest first.
    pub(crate) entries: Vec<Exported>,
    /// Number of the damaged transactions.
    pub(crate) damaged: usize,
}

/// A transaction from an exported pool. It has to pass admission again.
#[derive(Debug)]
pub(crate) struct Exported {
    pub(crate) transaction: Transaction,
    /// Tx epoch of its arrival.
    pub(crate) inserted: BlockNumber,
    /// Whether the transaction is for the DS committee.
    pub(crate) priority: bool,
}

/// Returns the pending transactions of a pool as bytes, and their number. The bytes have the oldest transactions: at
/// most `most` transactions, and at most `longest` bytes. They do not contain the statuses of dropped transactions.
pub(crate) fn export(pool: &Pool, most: usize, longest: u64) -> (Vec<u8>, usize) {
    let mut bytes = MARK_2.as_bytes().to_vec();
    let room = usize::try_from(longest).unwrap_or(usize::MAX).saturating_sub(bytes.len());
    let lengths = pool.by_arrival().take(most).scan(0_usize, |length, (transaction, _)| {
        *length = length.saturating_add(FRAME_LEN).saturating_add(transaction.transaction().encode().len());
        Some(*length)
    });
    let count = lengths.take_while(|length| *length <= room).count();
    let of = u32::try_from(count).expect("the memory has no room for 2^32 transactions");
    for (transaction, inserted) in pool.by_arrival().take(count) {
        let body = transaction.transaction().encode();
        let length = u32::try_from(body.len()).expect("admission bounds transactions far below 4 GiB");
        let start = bytes.len();
        bytes.extend_from_slice(&ENTRY);
        bytes.extend_from_slice(&of.to_be_bytes());
        bytes.extend_from_slice(&inserted.get().to_be_bytes());
        bytes.push(u8::from(transaction.routing() == Routing::CallToDs));
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(&body);
        let checksum = checksum(bytes.get(start..).unwrap_or_default());
        bytes.extend_from_slice(&checksum);
    }
    (bytes, count)
}

/// Reads the bytes of [`export`]. Skips damaged entries, and counts them.
pub(crate) fn import(bytes: &[u8]) -> Result<Contents, PoolImportError> {
    let version_1 = bytes.starts_with(MARK_1.as_bytes()).then(|| import_1(bytes));
    if let Some(Ok(entries)) = version_1 {
        return Ok(Contents { entries, damaged: 0 });
    }
    let (mut entries, mut count, mut rest) = (Vec::new(), 0, bytes);
    while let Some(start) = find_entry(rest) {
        let mut end = start;
        if let Some((entry, of)) = read_entry_2(&mut end) {
            entries.push(entry);
            (count, rest) = (of, end);
        } else {
            // The length of a damaged entry can be wrong: the search continues after the first byte of the entry.
            rest = start.get(1..).unwrap_or_default();
        }
    }
    if entries.is_empty() && bytes != MARK_2.as_bytes() {
        return Err(match version_1 {
            // The mark itself can be damaged. Therefore the search for entries of version 2 runs before this error.
            Some(Err(error)) => error,
            _ if bytes.starts_with(MARK_2.as_bytes()) => PoolImportError::Checksum,
            _ => PoolImportError::Mark { expected: MARK_2 },
        });
    }
    let damaged = usize::try_from(count).unwrap_or(usize::MAX).saturating_sub(entries.len());
    Ok(Contents { entries, damaged })
}

/// Returns `bytes` from the first start of an entry on, or `None` if `bytes` has no start of an entry.
fn find_entry(bytes: &[u8]) -> Option<&[u8]> {
    let position = bytes.windows(ENTRY.len()).position(|window| window == ENTRY)?;
    bytes.get(position..)
}

/// Reads an entry of version 2. Also returns the number of entries in the file, which each entry contains. Returns
/// `None` if the entry is damaged.
fn read_entry_2(rest: &mut &[u8]) -> Option<(Exported, u32)> {
    let start = *rest;
    let _: [u8; ENTRY.len()] = take(rest)?;
    let count = u32::from_be_bytes(take(rest)?);
    let entry = read_entry(rest).ok()?;
    let read = start.len().saturating_sub(rest.len());
    let expected = checksum(start.get(..read)?);
    (take(rest)? == expected).then_some((entry, count))
}

fn checksum(entry: &[u8]) -> [u8; CHECKSUM_2_LEN] {
    *sha256(&[entry]).first_chunk().expect("a SHA-256 has 32 bytes")
}

fn import_1(bytes: &[u8]) -> Result<Vec<Exported>, PoolImportError> {
    let (checked, checksum) = bytes.split_last_chunk::<CHECKSUM_1_LEN>().ok_or(PoolImportError::Checksum)?;
    let mut rest = checked.strip_prefix(MARK_1.as_bytes()).ok_or(PoolImportError::Checksum)?;
    if sha256(&[checked]) != *checksum {
        return Err(PoolImportError::Checksum);
    }
    let mut entries = Vec::new();
    while !rest.is_empty() {
        let entry = u64::try_from(entries.len()).unwrap_or(u64::MAX);
        entries.push(read_entry(&mut rest).map_err(|what| PoolImportError::Entry { entry, what })?);
    }
    Ok(entries)
}

/// Reads the members that entries of both versions have.
fn read_entry(rest: &mut &[u8]) -> Result<Exported, &'static str> {
    let inserted = BlockNumber::new(u64::from_be_bytes(take(rest).ok_or("epoch")?));
    let [priority] = take(rest).ok_or("committee")?;
    let length = u32::from_be_bytes(take(rest).ok_or("length")?);
    let (body, after) =
        usize::try_from(length).ok().and_then(|length| rest.split_at_checked(length)).ok_or("length")?;
    *rest = after;
    let transaction = Transaction::decode(body).map_err(|_| "transaction")?;
    Ok(Exported { transaction, inserted, priority: priority != 0 })
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(*head)
}

/// Reason why no transaction could be read from the bytes of a pool.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PoolImportError {
    /// The bytes do not begin with the mark of a supported version.
    #[error("pool contents: expected the mark {expected:?} at the start, got other bytes")]
    Mark {
        /// The mark of the newest version.
        expected: &'static str,
    },
    /// The bytes are damaged, and no transaction is readable.
    #[error("pool contents: expected a matching checksum, got damaged bytes")]
    Checksum,
    /// The bytes end inside an entry, or a member of an entry is invalid.
    #[error("pool contents: entry {entry}: invalid or incomplete {what}")]
    Entry {
        /// Index of the entry, from 0.
        entry: u64,
        /// Name of the invalid member.
        what: &'static str,
    },
}
