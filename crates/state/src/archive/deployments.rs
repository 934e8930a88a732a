//! Where each contract and library was deployed.
//!
//! Its code and its init data are those of the transaction, so that they are stored once. Failed deployments leave no
//! trace here. A transaction has one contract, and an address one transaction, since it is made of sender and nonce.
//!
//! ```text
//! key    13  address (20)
//! value  Tx block and position of the transaction, two numbers; CRC-32C of key and numbers (4)
//! ```

use std::collections::BTreeMap;

use silica_protocol::{Address, BlockNumber, Receipt, Transaction};

use super::{error::ArchiveError, index::Position, section::Place};
use crate::{
    codec::{Malformed, Reader, Writer, seal, unseal},
    db::{Batch, Db},
};

const TABLE: u8 = 0x13;

/// Returns the contracts and libraries that the transactions of a block deployed, with the positions of these.
pub(super) fn of(transactions: &[(Transaction, Receipt)]) -> BTreeMap<Address, u32> {
    let deployed = (0..).zip(transactions).filter(|(_, (_, receipt))| receipt.success);
    deployed.filter_map(|(position, (transaction, _))| Some((transaction.contract_address()?, position))).collect()
}

/// Notes where the contracts of a block are.
pub(super) fn write(block: BlockNumber, transactions: &[(Transaction, Receipt)], batch: &mut Batch) {
    for (address, position) in of(transactions) {
        let (key, mut out) = (key(&address), Writer::new());
        out.number(block.get());
        out.number(u64::from(position));
        let value = seal(&key, out.as_slice());
        batch.insert(key, value);
    }
}

/// Returns where a contract was deployed.
pub(super) fn find(db: &Db, address: &Address) -> Result<Option<Position>, ArchiveError> {
    let key = key(address);
    match db.get(&key)? {
        Some(value) => read(&key, &value).map(Some),
        None => Ok(None),
    }
}

/// Lists what was deployed in blocks after the head, which can only be left over, for removal.
pub(super) fn discard_after(db: &Db, head: Option<BlockNumber>, batch: &mut Batch) -> Result<(), ArchiveError> {
    for value in db.scan(vec![TABLE]..vec![TABLE.saturating_add(1)]) {
        let (key, value) = value?;
        if head.is_none_or(|head| read(&key, &value).is_ok_and(|at| at.block > head.get())) {
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
