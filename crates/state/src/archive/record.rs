//! The data of an appended block, and their conversion to values of the record.

use silica_protocol::{
    BlockNumber, CoSignatures, DsBlock, DsBlockHeader, DsBlockNumber, MbInfoHash, MicroBlock, PublicKey, Qa, Receipt,
    ReceiptsHash, StateRoot, Timestamp, Transaction, TxBlock, TxBlockHeader, TxHash, TxRoot,
};

use super::{
    deployments,
    entry::{Entry, Head, Totals, logical_number},
    error::AppendError,
    hash_index::{self, Position},
    section::{Kind, Section},
    transactions,
};
use crate::{codec::Writer, db::Batch, diff::StateDiff};

/// A Tx block and all data that are committed with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockRecord {
    /// The Tx block.
    pub tx_block: TxBlock,
    /// The micro blocks, in the order of the list in the Tx block.
    pub micro_blocks: Vec<MicroBlock>,
    /// The DS block that was made with the Tx block, if any. Block 0 has DS block 0.
    pub ds_block: Option<DsBlock>,
    /// The transactions with their receipts, in the order of the micro blocks.
    pub transactions: Vec<(Transaction, Receipt)>,
    /// The edits, which change the state before the transactions. The record contains them, because no other data
    /// determine them.
    pub edits: StateDiff,
    /// Whether the next block has the same logical block number. The logical number of a block is its number less the
    /// number of repeats in earlier blocks. Transactions read the logical number as the block number, and their
    /// receipts contain it.
    pub repeats_number: bool,
}

impl BlockRecord {
    /// Returns the record of Tx block 0 and DS block 0 of a chain, without co-signatures. The header has the root of
    /// the first state. `member` is the public key of the first member of the DS committee.
    pub fn genesis(state_root: StateRoot, member: PublicKey, timestamp: Timestamp) -> Self {
        let cosignatures = CoSignatures::unsigned(1);
        let header = TxBlockHeader { state_root, ..TxBlockHeader::genesis(member) };
        Self {
            tx_block: TxBlock { header, micro_blocks: Vec::new(), cosignatures: cosignatures.clone(), timestamp },
            micro_blocks: Vec::new(),
            ds_block: Some(DsBlock { header: DsBlockHeader::genesis(member), cosignatures, timestamp }),
            transactions: Vec::new(),
            edits: StateDiff::default(),
            repeats_number: false,
        }
    }
}

/// A block that is ready to be written.
pub(super) struct Prepared {
    pub(super) entry: Entry,
    pub(super) batch: Batch,
    pub(super) index: Vec<hash_index::Entry>,
}

/// Converts a block to its values in the record, without the row that names the newest block. The block follows
/// `newest`, and its state diff has `diff_len` bytes. Does not verify what [`check_hashes`] verifies.
pub(super) fn prepare(record: &BlockRecord, diff_len: usize, newest: Option<&Entry>) -> Result<Prepared, AppendError> {
    let BlockRecord { tx_block, micro_blocks, ds_block, transactions, edits, repeats_number } = record;
    let head = next_head(record, newest)?;
    let hashes = check_parts(record)?;
    let index = index_entries(head.number, hashes).ok_or(AppendError::TooLarge { what: "transactions" })?;
    let logical_number = logical_number(head.number, &head.totals, *repeats_number);
    let (bodies, groups) =
        transactions::pack(transactions, logical_number).ok_or(AppendError::TooLarge { what: "bytes" })?;
    let micro_blocks = pack_micro_blocks(micro_blocks);
    let edits = if edits.is_empty() { Vec::new() } else { edits.encode() };
    let before = newest.and_then(|newest| newest.newest_with_transactions);
    let entry = Entry {
        tx_block: std::sync::Arc::new(tx_block.clone()),
        made_ds_block: ds_block.is_some(),
        repeats_number: *repeats_number,
        newest_with_transactions: if transactions.is_empty() { before } else { Some(head.number) },
        in_range: false,
        diff_len,
        micro_blocks_len: micro_blocks.len(),
        edits_len: edits.len(),
        groups,
        head,
    };
    let number = entry.number().get();
    let mut batch = Batch::default();
    let written = Section::new(Kind::Entry, number).write_framed(&entry.encode(), &mut batch)
        && Section::new(Kind::MicroBlocks, number).write(&micro_blocks, &mut batch)
        && Section::new(Kind::Transactions, number).write(&bodies, &mut batch)
        && Section::new(Kind::Edits, number).write(&edits, &mut batch)
        && ds_block.as_ref().is_none_or(|block| {
            Section::new(Kind::DsBlock, block.header.number.get()).write_framed(&block.encode(), &mut batch)
        });
    if !written {
        return Err(AppendError::TooLarge { what: "bytes" });
    }
    deployments::write(entry.number(), transactions, &mut batch);
    Ok(Prepared { entry, batch, index })
}

/// Checks that the given block follows the newest block, and computes the head and totals after the given block.
fn next_head(record: &BlockRecord, newest: Option<&Entry>) -> Result<Head, AppendError> {
    let header = &record.tx_block.header;
    let expected = newest.map_or(BlockNumber::new(0), |newest| newest.number().next().unwrap_or(BlockNumber::MISSING));
    if header.number != expected {
        return Err(AppendError::Number { expected, got: header.number });
    }
    if let Some(newest) = newest
        && header.prev_hash != newest.head.hash
    {
        return Err(AppendError::PrevHash { expected: newest.head.hash, got: header.prev_hash });
    }
    Ok(Head {
        number: header.number,
        hash: header.hash(),
        ds_number: next_ds_number(record, newest)?,
        state_root: header.state_root,
        timestamp: record.tx_block.timestamp,
        totals: next_totals(record, newest)?,
    })
}

fn next_ds_number(record: &BlockRecord, newest: Option<&Entry>) -> Result<DsBlockNumber, AppendError> {
    let newest = newest.map(|newest| newest.head.ds_number);
    let Some(block) = &record.ds_block else { return newest.ok_or(AppendError::NoDsBlock) };
    let expected = newest.map_or(DsBlockNumber::new(0), |newest| newest.next().unwrap_or(DsBlockNumber::MISSING));
    if block.header.number == expected {
        Ok(expected)
    } else {
        Err(AppendError::DsNumber { expected, got: block.header.number })
    }
}

fn next_totals(record: &BlockRecord, newest: Option<&Entry>) -> Result<Totals, AppendError> {
    let cost =
        |(transaction, receipt): &(Transaction, Receipt)| receipt.cumulative_gas.checked_cost(transaction.gas_price);
    let fees = record.transactions.iter().map(cost).try_fold(Qa::ZERO, |sum, cost| sum.checked_add(cost?));
    let ds_block = record.tx_block.header.ds_block;
    let epoch = newest.filter(|newest| newest.tx_block.header.ds_block == ds_block);
    let epoch = epoch.map_or(Totals::default(), |newest| newest.head.totals);
    let count = u64::try_from(record.transactions.len()).unwrap_or(u64::MAX);
    let before = newest.map_or(Totals::default(), |newest| newest.head.totals);
    let totals = || {
        Some(Totals {
            transactions: before.transactions.checked_add(count)?,
            ds_epoch_transactions: epoch.ds_epoch_transactions.checked_add(count)?,
            ds_epoch_fees: epoch.ds_epoch_fees.checked_add(fees?)?,
            repeats: before.repeats.checked_add(u64::from(record.repeats_number))?,
        })
    };
    totals().ok_or(AppendError::TooLarge { what: "fees" })
}

/// Checks that the micro blocks match the list of the Tx block, and that the transactions match the lists of the micro
/// blocks. Returns the hashes of the transactions.
fn check_parts(record: &BlockRecord) -> Result<Vec<TxHash>, AppendError> {
    let BlockRecord { tx_block, micro_blocks, transactions, .. } = record;
    let inconsistent = |what| AppendError::Inconsistent { what };
    let listed = tx_block.micro_blocks.iter().map(|info| info.hash);
    if tx_block.header.mb_info_hash != MbInfoHash::of(&tx_block.micro_blocks)
        || !micro_blocks.iter().map(|block| block.header.hash()).eq(listed)
    {
        return Err(inconsistent("the list of micro blocks"));
    }
    let counted = |block: &MicroBlock| u32::try_from(block.tx_hashes.len()) == Ok(block.header.tx_count);
    let hashes: Vec<_> = transactions.iter().map(|(transaction, _)| transaction.hash()).collect();
    if u32::try_from(hashes.len()) != Ok(tx_block.header.tx_count)
        || !micro_blocks.iter().all(counted)
        || !micro_blocks.iter().flat_map(|block| &block.tx_hashes).eq(&hashes)
    {
        return Err(inconsistent("the transactions"));
    }
    Ok(hashes)
}

/// Verifies two hashes in the headers of the micro blocks: the hash over all transaction hashes, and the hash of the
/// receipts. [`prepare`] does not verify these hashes.
pub(super) fn check_hashes(record: &BlockRecord) -> Result<(), &'static str> {
    let mut receipts = record.transactions.iter().map(|(_, receipt)| receipt.to_styled_json());
    for (block, info) in record.micro_blocks.iter().zip(&record.tx_block.micro_blocks) {
        let root = TxRoot::of(&block.tx_hashes);
        let texts: Vec<_> = receipts.by_ref().take(block.tx_hashes.len()).collect();
        if root != block.header.tx_root || root != info.tx_root {
            return Err("transactions do not have the hash of their micro block");
        }
        if ReceiptsHash::of(&texts) != block.header.receipts_hash {
            return Err("receipts do not have the hash of their micro block");
        }
    }
    Ok(())
}

fn pack_micro_blocks(micro_blocks: &[MicroBlock]) -> Vec<u8> {
    let mut out = Writer::new();
    for block in micro_blocks {
        let MicroBlock { header, tx_hashes: _, cosignatures, timestamp } = block;
        let (header, cosignatures, timestamp) = (header.clone(), cosignatures.clone(), *timestamp);
        out.bytes(&MicroBlock { header, tx_hashes: Vec::new(), cosignatures, timestamp }.encode());
    }
    out.finish()
}

/// Returns the index entries of a block. Returns `None` if the block number needs more than 40 bits, or a position more
/// than 23 bits.
pub(super) fn index_entries(
    block: BlockNumber,
    hashes: impl IntoIterator<Item = TxHash>,
) -> Option<Vec<hash_index::Entry>> {
    let at = |position| Position { block: block.get(), position };
    let entry = |(position, hash): (u32, TxHash)| {
        hash_index::Entry::new(hash_index::Kind::Transaction, hash.as_bytes(), at(position))
    };
    (0..).zip(hashes).map(entry).collect()
}
