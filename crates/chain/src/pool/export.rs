//! The contents of a pool as bytes, so that waiting transactions survive a graceful restart.
//!
//! ```text
//! "silica-pool-1\n"
//! for each transaction, the oldest first:
//!   Tx epoch of its arrival       8 bytes, big endian
//!   whether it is for the DS committee   1 byte
//!   length of the transaction     4 bytes, big endian
//!   the transaction               as on the wire
//! SHA-256 of everything before    32 bytes
//! ```

use silica_protocol::{BlockNumber, Transaction, sha256};

use super::Pool;
use crate::{admission::Routing, error::PoolImportError};

const MARK: &str = "silica-pool-1\n";
const CHECKSUM_LEN: usize = 32;

/// A transaction that waited in a pool, to be admitted again.
#[derive(Debug)]
pub(crate) struct Exported {
    pub(crate) transaction: Transaction,
    /// Tx epoch of its arrival.
    pub(crate) inserted: BlockNumber,
    /// Whether it goes to the DS committee.
    pub(crate) priority: bool,
}

/// Writes the waiting transactions of a pool, the oldest `most` if there are more. The fate of dropped ones is not kept.
pub(crate) fn export(pool: &Pool, most: usize) -> Vec<u8> {
    let mut bytes = MARK.as_bytes().to_vec();
    for (transaction, inserted) in pool.by_arrival().take(most) {
        let body = transaction.transaction().encode();
        let length = u32::try_from(body.len()).expect("admission bounds transactions far below 4 GiB");
        bytes.extend_from_slice(&inserted.get().to_be_bytes());
        bytes.push(u8::from(transaction.routing() == Routing::CallToDs));
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(&body);
    }
    let checksum = sha256(&[&bytes]);
    bytes.extend_from_slice(&checksum);
    bytes
}

/// Reads what [`export`] wrote.
pub(crate) fn import(bytes: &[u8]) -> Result<Vec<Exported>, PoolImportError> {
    let body = bytes.strip_prefix(MARK.as_bytes()).ok_or(PoolImportError::Mark { expected: MARK })?;
    let (mut rest, checksum) = body.split_last_chunk::<CHECKSUM_LEN>().ok_or(PoolImportError::Checksum)?;
    if sha256(&[MARK.as_bytes(), rest]) != *checksum {
        return Err(PoolImportError::Checksum);
    }
    let mut entries = Vec::new();
    while !rest.is_empty() {
        let entry = u64::try_from(entries.len()).unwrap_or(u64::MAX);
        entries.push(read_entry(&mut rest).map_err(|what| PoolImportError::Entry { entry, what })?);
    }
    Ok(entries)
}

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
