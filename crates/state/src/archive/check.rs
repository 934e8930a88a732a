//! Verifies all blocks of the record and the hash index.

use silica_protocol::BlockNumber;

use super::{
    Archive,
    deployments::{self, Deployed},
    entry::Entry,
    error::ArchiveError,
    hash_index::{self, Position},
    ranges::damaged_range,
    record::{check_hashes, prepare},
    section::{Kind, Place, framed_parts, parts},
};

/// The counts from a check of the whole record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArchiveReport {
    /// Number of Tx blocks.
    pub tx_blocks: u64,
    /// Number of DS blocks.
    pub ds_blocks: u64,
    /// Number of transactions.
    pub transactions: u64,
    /// Number of state diffs that were stored when the check read their blocks.
    pub diffs: u64,
}

/// The first blocks of a record, which a check has verified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckedBlocks {
    /// Number of blocks, from block 0 on.
    pub blocks: u64,
    /// Number of rows of these blocks in the record.
    pub rows: u64,
    /// Counts of these blocks.
    pub report: ArchiveReport,
}

impl CheckedBlocks {
    /// Returns the number of the last block, or `None` without a block.
    pub fn last(&self) -> Option<BlockNumber> {
        self.blocks.checked_sub(1).map(BlockNumber::new)
    }
}

impl Archive {
    /// Verifies every hash, number and sum of the blocks after `from`, and the order of the hash index. The blocks of
    /// `from` are the result of an earlier call, and the caller has compared their last hash with the record. Calls
    /// `progress` after each block or empty block range, with the verified blocks and the number of all blocks.
    pub(crate) fn check(
        &self,
        from: CheckedBlocks,
        progress: &mut dyn FnMut(&CheckedBlocks, u64),
    ) -> Result<ArchiveReport, ArchiveError> {
        let Some(newest) = self.newest() else { return Ok(ArchiveReport::default()) };
        let mut done = from;
        let blocks = newest.number().get().saturating_add(1);
        let mut before = from.last().map(|last| self.read_any_entry(last)).transpose()?;
        while done.blocks < blocks {
            let number = BlockNumber::new(done.blocks);
            let CheckedBlocks { report, rows, .. } = &mut done;
            let entry = if let Some(range) = self.range_at(number)? {
                self.check_range(&range, before.as_ref(), report, rows)?
            } else {
                let entry = self.read_entry(number)?;
                let kept = self.check_block(&entry, before.as_ref(), rows)?;
                report.tx_blocks = report.tx_blocks.saturating_add(1);
                report.ds_blocks = report.ds_blocks.saturating_add(u64::from(entry.made_ds_block));
                report.transactions = entry.head.totals.transactions;
                report.diffs = report.diffs.saturating_add(u64::from(kept));
                entry
            };
            done.blocks = entry.number().get().saturating_add(1);
            before = Some(entry);
            progress(&done, blocks);
        }
        // The head and, if the chain has one, the label are rows that belong to no block.
        let rows = done.rows.saturating_add(1).saturating_add(u64::from(self.label()?.is_some()));
        let _hold = self.rows.hold();
        let (packs, packed) = self.rows.count_packed()?;
        let rows = rows.saturating_add(packs);
        let mut stored = packed;
        // The scans omit the rows of packed blocks, because a crash can leave such rows in the database.
        let before = self.rows.db().scan(Vec::new()..vec![Kind::Entry.table()]);
        let after = self.rows.db().scan(self.rows.first_key_after_packs()..vec![0xff; 2]);
        for row in before.chain(after) {
            row?;
            stored = stored.saturating_add(1);
        }
        if stored != rows {
            let reason = format!("expected {rows} values, got {stored}");
            return Err(ArchiveError::damaged(Place::KEYS, reason));
        }
        self.index.check()?;
        Ok(done.report)
    }

    /// Reads the entry of a block from the database, also if the block is in an empty block range.
    fn read_any_entry(&self, number: BlockNumber) -> Result<Entry, ArchiveError> {
        match self.range_at(number)? {
            Some(range) => range.entry(number).ok_or_else(|| damaged_range(&range)),
            None => self.read_entry(number),
        }
    }

    /// Verifies a block, and adds the number of its rows to `rows`. Returns whether the state diff of the block is
    /// stored.
    fn check_block(&self, entry: &Entry, before: Option<&Entry>, rows: &mut u64) -> Result<bool, ArchiveError> {
        let damaged = |reason: String| ArchiveError::damaged(entry.place(), reason);
        let record = self.record(entry)?;
        check_hashes(&record).map_err(|reason| damaged(reason.to_owned()))?;
        let diff = self.diff(entry.number())?;
        let diff_len = diff.as_ref().map_or(entry.diff_len, Vec::len);
        let again = prepare(&record, diff_len, before).map_err(|error| damaged(error.to_string()))?;
        if again.entry != *entry {
            return Err(damaged("totals or sizes are wrong".to_owned()));
        }
        let number = entry.number().get();
        for (position, (transaction, _)) in (0..).zip(&record.transactions) {
            self.check_indexed(transaction.hash().as_bytes(), number, position)?;
        }
        let of_block = [
            framed_parts(entry.encode().len()),
            parts(entry.micro_blocks_len),
            parts(entry.transactions_len()),
            parts(entry.edits_len),
            record.ds_block.map_or(0, |block| framed_parts(block.encode().len())),
        ];
        for deployed in deployments::of(&record.transactions) {
            let Deployed { address, position, .. } = deployed;
            if deployments::find(self.rows.db(), &address)? != Some(Position { block: number, position })
                || !deployments::has_sender(self.rows.db(), entry.number(), &deployed)?
            {
                return Err(ArchiveError::damaged(
                    Place::DEPLOYMENT,
                    format!("no row finds the deployment of {address} in block {number}"),
                ));
            }
            *rows = rows.saturating_add(2);
        }
        *rows = of_block.into_iter().map(u64::from).fold(*rows, u64::saturating_add);
        Ok(diff.is_some())
    }

    fn check_indexed(&self, hash: &[u8; 32], block: u64, position: u32) -> Result<(), ArchiveError> {
        let found = self.index.find(hash_index::Kind::Transaction, hash, BlockNumber::new(block))?;
        if found.contains(&Position { block, position }) {
            Ok(())
        } else {
            Err(ArchiveError::damaged(Place::INDEX, format!("a transaction of block {block} is not in the index")))
        }
    }
}
