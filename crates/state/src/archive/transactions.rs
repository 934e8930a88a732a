//! Transactions with their receipts, packed in groups.
//!
//! A read takes a whole group, and no group refers to another group. A version, gas price, gas limit or gas used that
//! equals the value of the previous transaction takes one bit. A key or recipient that occurs earlier in the group is
//! stored as a number. Hashes and senders are not stored, because the reader computes them from the other fields. A
//! payment between accounts that are new in the group takes about 130 bytes.
//!
//! ```text
//! flags (1) [version] nonce recipient amount [gas price] [gas limit] key signature (64) [code] [data] [gas] [receipt]
//! ```

use silica_protocol::{
    Address, BlockNumber, Gas, GasPrice, Nonce, PublicKey, Qa, Receipt, Signature, Transaction, UnsignedTransaction,
    Version,
};

use super::{error::ArchiveError, receipts, section::Place};
use crate::codec::{Malformed, Reader, Writer};

/// Maximum number of transactions of a group.
const GROUP: usize = 32;
/// If a group has this number of bytes or more, the next transaction begins a new group. A lookup of one transaction
/// reads its whole group.
const GROUP_BYTES: usize = 4096;

/// Number of transactions of a group, and their length in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) count: u32,
    pub(super) len: u32,
}

mod flag {
    pub(super) const SAME_VERSION: u8 = 1;
    pub(super) const SAME_PRICE: u8 = 2;
    pub(super) const SAME_LIMIT: u8 = 4;
    pub(super) const CODE: u8 = 8;
    pub(super) const DATA: u8 = 16;
    pub(super) const FULL_RECEIPT: u8 = 32;
    pub(super) const SAME_GAS: u8 = 64;
}

/// Values of earlier transactions in the group, to which later transactions can refer.
#[derive(Default)]
struct Seen {
    version: u32,
    price: u128,
    limit: u64,
    gas: u64,
    keys: Vec<PublicKey>,
    recipients: Vec<Address>,
}

/// Packs the transactions of the block with the logical number `number`. Returns the bytes of all groups, one after the
/// other, and their sizes. Returns `None` if a group has more than `u32::MAX` bytes.
pub(super) fn pack(transactions: &[(Transaction, Receipt)], number: BlockNumber) -> Option<(Vec<u8>, Vec<Group>)> {
    let (mut bytes, mut groups) = (Vec::new(), Vec::new());
    let mut rest = transactions;
    while !rest.is_empty() {
        let (mut writer, mut seen, mut count) = (Writer::new(), Seen::default(), 0_u32);
        while let [(transaction, receipt), after @ ..] = rest {
            seen.write(transaction, receipt, number, &mut writer);
            count = count.checked_add(1)?;
            rest = after;
            if count as usize == GROUP || writer.as_slice().len() >= GROUP_BYTES {
                break;
            }
        }
        groups.push(Group { count, len: u32::try_from(writer.as_slice().len()).ok()? });
        bytes.append(&mut writer.finish());
    }
    Some((bytes, groups))
}

/// Unpacks the first `wanted` transactions of a group of `count` transactions. `number` is the logical number of the
/// block.
pub(super) fn unpack(
    bytes: &[u8],
    count: u32,
    wanted: u32,
    number: BlockNumber,
    place: Place,
) -> Result<Vec<(Transaction, Receipt)>, ArchiveError> {
    let (mut reader, mut seen) = (Reader::new(bytes), Seen::default());
    let mut transactions = Vec::new();
    for _ in 0..count.min(wanted) {
        transactions.push(seen.read(&mut reader, number).map_err(ArchiveError::malformed(place))?);
    }
    if wanted >= count {
        reader.finish("transactions").map_err(ArchiveError::malformed(place))?;
    }
    Ok(transactions)
}

impl Seen {
    fn write(&mut self, transaction: &Transaction, receipt: &Receipt, number: BlockNumber, out: &mut Writer) {
        let UnsignedTransaction { version, nonce, to, amount, gas_price, gas_limit, code, data, sender_key } =
            &**transaction;
        let (version, price, limit) = (version.packed(), gas_price.get().get(), gas_limit.get());
        let gas = receipt.cumulative_gas.get();
        let plain = *receipt == Receipt::payment(receipt.cumulative_gas, number);
        let flags = [
            (version == self.version, flag::SAME_VERSION),
            (price == self.price, flag::SAME_PRICE),
            (limit == self.limit, flag::SAME_LIMIT),
            (!code.is_empty(), flag::CODE),
            (!data.is_empty(), flag::DATA),
            (!plain, flag::FULL_RECEIPT),
            (gas == self.gas, flag::SAME_GAS),
        ];
        out.byte(flags.iter().fold(0, |byte, (set, flag)| if *set { byte | flag } else { byte }));
        if version != self.version {
            out.number(version);
        }
        out.number(nonce.get());
        write_known(&mut self.recipients, to, out);
        out.number(amount.get());
        if price != self.price {
            out.number(price);
        }
        if limit != self.limit {
            out.number(limit);
        }
        write_known(&mut self.keys, sender_key, out);
        out.raw(transaction.signature().as_bytes());
        for text in [code, data] {
            if !text.is_empty() {
                out.bytes(text.as_bytes());
            }
        }
        if gas != self.gas {
            out.number(gas);
        }
        if !plain {
            receipts::write(receipt, out);
        }
        (self.version, self.price, self.limit, self.gas) = (version, price, limit, gas);
    }

    fn read(&mut self, reader: &mut Reader<'_>, number: BlockNumber) -> Result<(Transaction, Receipt), Malformed> {
        let flags = reader.byte("flags")?;
        let has = |flag: u8| flags & flag != 0;
        if !has(flag::SAME_VERSION) {
            self.version = reader.number("version")?;
        }
        let nonce = Nonce::new(reader.number("nonce")?);
        let to = read_known(&mut self.recipients, reader, "recipient", Address::new)?;
        let amount = Qa::new(reader.number("amount")?);
        if !has(flag::SAME_PRICE) {
            self.price = reader.number("gas price")?;
        }
        if !has(flag::SAME_LIMIT) {
            self.limit = reader.number("gas limit")?;
        }
        let sender_key = read_known(&mut self.keys, reader, "key", PublicKey::new)?;
        let signature = Signature::new(reader.array("signature")?);
        let code = if has(flag::CODE) { read_text(reader, "code")? } else { String::new() };
        let data = if has(flag::DATA) { read_text(reader, "data")? } else { String::new() };
        if !has(flag::SAME_GAS) {
            self.gas = reader.number("gas")?;
        }
        let gas = Gas::new(self.gas);
        let receipt = if has(flag::FULL_RECEIPT) { receipts::read(reader)? } else { Receipt::payment(gas, number) };
        let unsigned = UnsignedTransaction {
            version: Version::from_packed(self.version),
            nonce,
            to,
            amount,
            gas_price: GasPrice::new(Qa::new(self.price)),
            gas_limit: Gas::new(self.limit),
            code,
            data,
            sender_key,
        };
        Ok((unsigned.with_signature(signature), receipt))
    }
}

/// Writes the position of a value among the earlier values of the group, counted from 1. Writes 0 and the value if it
/// is new.
fn write_known<T: AsRef<[u8]> + Copy + PartialEq>(seen: &mut Vec<T>, value: &T, out: &mut Writer) {
    if let Some(place) = seen.iter().position(|known| known == value) {
        out.len(place.saturating_add(1));
    } else {
        out.byte(0);
        out.raw(value.as_ref());
        seen.push(*value);
    }
}

fn read_known<T: Copy, const N: usize>(
    seen: &mut Vec<T>,
    reader: &mut Reader<'_>,
    what: &'static str,
    new: impl Fn([u8; N]) -> T,
) -> Result<T, Malformed> {
    if let Some(place) = reader.number::<usize>(what)?.checked_sub(1) {
        return seen.get(place).copied().ok_or(Malformed(what));
    }
    let value = new(reader.array(what)?);
    seen.push(value);
    Ok(value)
}

fn read_text(reader: &mut Reader<'_>, what: &'static str) -> Result<String, Malformed> {
    let bytes = reader.bytes(what)?;
    std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| Malformed(what))
}
