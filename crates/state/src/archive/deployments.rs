//! For each contract and library: the position of its deployment in the record, and the sender of the deployment.
//!
//! Code and init data are stored once, in the transaction. Failed deployments have no row. A transaction deploys at
//! most one contract. The address of a contract derives from sender and nonce, so each address has at most one
//! deployment.
//!
//! ```text
//! key    13  address (20)
//! value  Tx block and position of the transaction, two numbers; CRC-32C of key and numbers (4)
//!
//! key    14  sender (20)  Tx block (8)  position (4)
//! value  address of the contract or library (20); CRC-32C of key and address (4)
//! ```

use silica_protocol::{Address, BlockNumber, Receipt, Transaction};

use super::{error::ArchiveError, hash_index::Position, section::Place};
use crate::{
    codec::{Malformed, Reader, Writer, seal, unseal},
    db::{Batch, Db, DbError, Value},
};

/// The table of deployed contracts and libraries by address.
const TABLE: u8 = 0x13;
/// The table of deployed contracts and libraries by sender.
const BY_SENDER: u8 = 0x14;

/// A contract or library, its sender, and the position of its transaction in the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Deployed {
    pub(super) address: Address,
    pub(super) sender: Address,
    pub(super) position: u32,
}

/// Returns the contracts and libraries that the transactions of a block deployed.
pub(super) fn of(transactions: &[(Transaction, Receipt)]) -> impl Iterator<Item = Deployed> + '_ {
    let deployed = (0..).zip(transactions).filter(|(_, (_, receipt))| receipt.success);
    deployed.filter_map(|(position, (transaction, _))| {
        Some(Deployed { address: transaction.contract_address()?, sender: transaction.sender(), position })
    })
}

/// Adds the rows of the deployments of a block to `batch`.
pub(super) fn write(block: BlockNumber, transactions: &[(Transaction, Receipt)], batch: &mut Batch) {
    for deployed in of(transactions) {
        let (key, mut out) = (key(&deployed.address), Writer::new());
        out.number(block.get());
        out.number(u64::from(deployed.position));
        let value = seal(&key, out.as_slice());
        batch.insert(key, value);
        write_sender(block, &deployed, batch);
    }
}

fn write_sender(block: BlockNumber, deployed: &Deployed, batch: &mut Batch) {
    let key = sender_key(&deployed.sender, block.get(), deployed.position);
    let value = seal(&key, deployed.address.as_bytes());
    batch.insert(key, value);
}

/// Makes the rows by sender from the rows by contract, for a record of a format up to 2.
///
/// `read` returns the transaction at a position, or `None` if the position has no transaction.
pub(super) fn write_senders(
    db: &Db,
    batch: &mut Batch,
    read: impl Fn(Position) -> Result<Option<Transaction>, ArchiveError>,
) -> Result<(), ArchiveError> {
    for value in db.scan(vec![TABLE]..vec![TABLE.saturating_add(1)]) {
        let (key, value) = value?;
        let Position { block, position } = self::read(&key, &value)?;
        let transaction = read(Position { block, position })?;
        let address = transaction.as_ref().and_then(|transaction| transaction.contract_address());
        let address = address.filter(|address| self::key(address)[..] == *key);
        let Some((address, sender)) = address.zip(transaction.as_ref().map(|transaction| transaction.sender())) else {
            return Err(ArchiveError::damaged(Place::DEPLOYMENT, "its transaction deployed another contract"));
        };
        write_sender(BlockNumber::new(block), &Deployed { address, sender, position }, batch);
    }
    Ok(())
}

/// Returns whether the record has the correct row by sender of a deployment.
pub(super) fn has_sender(db: &Db, block: BlockNumber, deployed: &Deployed) -> Result<bool, ArchiveError> {
    let key = sender_key(&deployed.sender, block.get(), deployed.position);
    let value = db.get(&key)?;
    Ok(value.is_some_and(|value| unseal(&key, &value) == Some(deployed.address.as_bytes())))
}

/// Returns the contracts and libraries that an account deployed up to a block, in the order of the transactions.
pub(super) fn of_sender(db: &Db, sender: &Address, newest: BlockNumber) -> Result<Vec<Address>, ArchiveError> {
    let end = newest.get().saturating_add(1);
    let rows = db.scan(sender_key(sender, 0, 0).to_vec()..sender_key(sender, end, 0).to_vec());
    let address = |row: Result<(Value, Value), DbError>| {
        let (key, value) = row?;
        let payload =
            unseal(&key, &value).ok_or_else(|| ArchiveError::damaged(Place::DEPLOYMENT, "checksum is wrong"))?;
        Address::try_from(payload).map_err(|_| ArchiveError::damaged(Place::DEPLOYMENT, "value is not an address"))
    };
    rows.map(address).collect()
}

/// Returns up to `limit` contracts and libraries that blocks up to `newest` deployed, in the order of their addresses.
/// The first address is after `after` if it is given.
pub(super) fn list(
    db: &Db,
    after: Option<&Address>,
    newest: BlockNumber,
    limit: usize,
) -> Result<Vec<(Address, Position)>, ArchiveError> {
    let mut from = after.map_or_else(|| vec![TABLE], |after| key(after).to_vec());
    if after.is_some() {
        // This byte makes the lowest key after the key of the address.
        from.push(0);
    }
    let rows = db.scan(from..vec![TABLE.saturating_add(1)]).map(|row| {
        let (key, value) = row?;
        let address = key.get(1..).and_then(|address| Address::try_from(address).ok());
        let address = address.ok_or_else(|| ArchiveError::damaged(Place::DEPLOYMENT, "key has a wrong length"))?;
        Ok((address, read(&key, &value)?))
    });
    let is_visible =
        |row: &Result<(Address, Position), ArchiveError>| !row.as_ref().is_ok_and(|(_, at)| at.block > newest.get());
    rows.filter(is_visible).take(limit).collect()
}

/// Returns the position of the transaction that deployed a contract or library, or `None` if the address has no
/// deployment.
pub(super) fn find(db: &Db, address: &Address) -> Result<Option<Position>, ArchiveError> {
    let key = key(address);
    match db.get(&key)? {
        Some(value) => read(&key, &value).map(Some),
        None => Ok(None),
    }
}

/// Adds the removal of all deployment rows of a block to `batch`.
pub(super) fn discard(block: BlockNumber, transactions: &[(Transaction, Receipt)], batch: &mut Batch) {
    for Deployed { address, sender, position } in of(transactions) {
        batch.remove(key(&address));
        batch.remove(sender_key(&sender, block.get(), position));
    }
}

/// Adds the removal of rows of blocks after the head to `batch`. An interrupted append can leave such rows.
pub(super) fn discard_after(db: &Db, head: Option<BlockNumber>, batch: &mut Batch) -> Result<(), ArchiveError> {
    for value in db.scan(vec![TABLE]..vec![TABLE.saturating_add(1)]) {
        let (key, value) = value?;
        if head.is_none_or(|head| read(&key, &value).is_ok_and(|at| at.block > head.get())) {
            batch.remove(&*key);
        }
    }
    for value in db.scan(vec![BY_SENDER]..vec![BY_SENDER.saturating_add(1)]) {
        let (key, _) = value?;
        if head.is_none_or(|head| block_of(&key).is_none_or(|block| block > head.get())) {
            batch.remove(&*key);
        }
    }
    Ok(())
}

fn key(address: &Address) -> [u8; 21] {
    let mut key = [TABLE; 21];
    let [_, rest @ ..] = &mut key;
    *rest = *address.as_bytes();
    key
}

/// Bytes of table and sender at the beginning of a key.
const SENDER: usize = 1 + Address::LEN;

fn sender_key(sender: &Address, block: u64, position: u32) -> [u8; SENDER + 12] {
    let mut key = [BY_SENDER; SENDER + 12];
    let parts = sender.as_bytes().iter().copied().chain(block.to_be_bytes()).chain(position.to_be_bytes());
    key.iter_mut().skip(1).zip(parts).for_each(|(byte, part)| *byte = part);
    key
}

/// Returns the block of a row in one of the two deployment tables. Returns `None` for a row of another table.
pub(super) fn block_of_row(key: &[u8], value: &[u8]) -> Result<Option<u64>, ArchiveError> {
    let malformed = || ArchiveError::damaged(Place::DEPLOYMENT, "key has a wrong length");
    match key.first() {
        Some(&TABLE) => Ok(Some(read(key, value)?.block)),
        Some(&BY_SENDER) => block_of(key).map(Some).ok_or_else(malformed),
        _ => Ok(None),
    }
}

/// Returns the block number in the key of a row by sender, or `None` if the key is too short.
fn block_of(key: &[u8]) -> Option<u64> {
    key.get(SENDER..)?.first_chunk().map(|bytes| u64::from_be_bytes(*bytes))
}

fn read(key: &[u8], value: &[u8]) -> Result<Position, ArchiveError> {
    let payload = unseal(key, value).ok_or_else(|| ArchiveError::damaged(Place::DEPLOYMENT, "checksum is wrong"))?;
    let mut reader = Reader::new(payload);
    let mut position = || {
        let block = reader.number("number of block")?;
        let position = reader.number("position")?;
        reader.finish("bytes after a position").map(|()| Position { block, position })
    };
    let position: Result<Position, Malformed> = position();
    position.map_err(ArchiveError::malformed(Place::DEPLOYMENT))
}
