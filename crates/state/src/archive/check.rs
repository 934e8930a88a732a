//! Verifies all blocks of the record and the hash index.

use silica_protocol::BlockNumber;

use super::{
    Archive,
    deployments::{self, Deployed},
    entry::Entry,
    error::ArchiveError,
    hash_index::{self, Position},
    record::{check_hashes, prepare},
    section::{Place, framed_parts, parts},
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
    /// Number of stored state diffs.
    pub diffs: u64,
}

impl Archive {
    /// Reads all blocks and the index. Verifies every hash, number and sum. Calls `progress` after each block or empty
    /// block range, with the number of checked blocks and the number of all blocks.
    pub(crate) fn check(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<ArchiveReport, ArchiveError> {
        let Some(newest) = self.newest() else { return Ok(ArchiveReport::default()) };
        let mut report = ArchiveReport::default();
        let mut before = None;
        let blocks = newest.number().get().saturating_add(1);
        // Values that belong to no block: the head, and the label if the chain has one.
        let mut values = 1_u64.saturating_add(u64::from(self.label()?.is_some()));
        let mut next = 0;
        while next < blocks {
            let number = next;
            if let Some(range) = self.range_at(BlockNumber::new(number))? {
                let entry = self.check_range(&range, before.as_ref(), &mut report, &mut values)?;
                next = entry.number().get().saturating_add(1);
                before = Some(entry);
                progress(next, blocks);
                continue;
            }
            next = next.saturating_add(1);
            let entry = self.read_entry(BlockNumber::new(number))?;
            let kept = self.check_block(&entry, before.as_ref(), &mut values)?;
            report.tx_blocks = report.tx_blocks.saturating_add(1);
            report.ds_blocks = report.ds_blocks.saturating_add(u64::from(entry.made_ds_block));
            report.transactions = entry.head.totals.transactions;
            report.diffs = report.diffs.saturating_add(u64::from(kept));
            before = Some(entry);
            progress(number.saturating_add(1), blocks);
        }
        let mut stored = 0_u64;
        for value in self.db.scan(Vec::new()..vec![0xff; 2]) {
            value?;
            stored = stored.saturating_add(1);
        }
        if stored != values {
            let reason = format!("expected {values} values, got {stored}");
            return Err(ArchiveError::damaged(Place::KEYS, reason));
        }
        self.index.check()?;
        Ok(report)
    }

    /// Verifies a block, and adds the number of its values to `values`. Returns whether the state diff of the block is
    /// stored.
    fn check_block(&self, entry: &Entry, before: Option<&Entry>, values: &mut u64) -> Result<bool, ArchiveError> {
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
            if deployments::find(&self.db, &address)? != Some(Position { block: number, position })
                || !deployments::has_sender(&self.db, entry.number(), &deployed)?
            {
                return Err(ArchiveError::damaged(
                    Place::DEPLOYMENT,
                    format!("no row finds the deployment of {address} in block {number}"),
                ));
            }
            *values = values.saturating_add(2);
        }
        *values = of_block.into_iter().map(u64::from).fold(*values, u64::saturating_add);
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
