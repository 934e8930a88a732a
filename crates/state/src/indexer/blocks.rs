//! Reads the entries of blocks for the history index from the record.

use std::fmt;

use silica_protocol::{Address, BlockNumber, Qa, Receipt, Transaction};

use crate::{
    archive::ArchiveError,
    index::{BlockEntries, IndexEntries, IndexKinds, IndexPosition, SumBefore, damaged},
    snapshot::Snapshot,
};

/// Number of entries after which [`EntrySource::read`] reads no further block.
const MANY_ENTRIES: usize = 1 << 13;
/// Maximum number of blocks that [`EntrySource::read`] reads. In an empty block range, a sequence of blocks without
/// entries and the next block of the range that can have entries count as one block.
const MANY_BLOCKS: usize = 1 << 10;

/// The rules of a chain that determine the changes of balances from the record. The history index stores these changes.
pub trait BalanceRules: fmt::Debug + Send + Sync {
    /// Returns the first block from `block` on that can change balances although it has neither edits nor transactions.
    fn next_settlement(&self, block: BlockNumber) -> BlockNumber;

    /// Adds all changes of balances by a block to `changes`. `transactions` are those of the block. `has_edits` is
    /// whether the block has edits.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`]: the record could not be read.
    fn add_changes(
        &self,
        chain: &Snapshot,
        block: BlockNumber,
        has_edits: bool,
        transactions: &[(Transaction, Receipt)],
        changes: &mut BalanceChanges<'_>,
    ) -> Result<(), ArchiveError>;
}

/// The changes of balances by a block.
#[expect(missing_debug_implementations, reason = "the function has no text")]
pub struct BalanceChanges<'a> {
    block: BlockNumber,
    entries: &'a mut IndexEntries,
    sum_before: &'a SumBefore<'a>,
}

impl BalanceChanges<'_> {
    /// Returns the balance of an address after the changes so far, or 0 if it has no account.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`]: the history index could not be read.
    pub fn balance(&self, address: &Address) -> Result<Qa, ArchiveError> {
        let before = (self.sum_before)(address)?;
        Ok(Qa::new(before.wrapping_add(self.entries.sum_of(address))))
    }

    /// Adds a transfer. `position` is the position of its transaction, or 0 without a transaction.
    pub fn transfer(&mut self, position: u32, from: Option<Address>, to: Option<Address>, amount: Qa) {
        let place = IndexPosition { block: self.block, position };
        // The changes are numbers modulo 2^128. A sum of all changes of an account is its balance, which fits.
        for (address, change) in [(from, amount.get().wrapping_neg()), (to, amount.get())] {
            if let Some(address) = address {
                self.entries.add_change(&address, place, change);
            }
        }
    }

    /// Sets the balance of an address before the transactions of the block.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`]: the history index could not be read.
    pub fn set(&mut self, address: &Address, balance: Qa) -> Result<(), ArchiveError> {
        let change = balance.get().wrapping_sub(self.balance(address)?.get());
        self.entries.add_change(address, IndexPosition { block: self.block, position: 0 }, change);
        Ok(())
    }
}

/// The source of entries: the record, and the rules of balances.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntrySource<'a> {
    pub(crate) chain: &'a Snapshot,
    /// `None` if the index has no balances.
    pub(crate) rules: Option<&'a dyn BalanceRules>,
    pub(crate) kinds: IndexKinds,
}

impl EntrySource<'_> {
    /// Reads the entries of the blocks from `first` on, below `end`. Stops after [`MANY_ENTRIES`] entries or
    /// [`MANY_BLOCKS`] blocks. `sum_before` returns the sum of the changes of the balance of an address before `first`.
    /// Returns `None` if the chain has no block `first`.
    pub(crate) fn read(
        self,
        first: BlockNumber,
        end: u64,
        sum_before: &SumBefore<'_>,
    ) -> Result<Option<BlockEntries>, ArchiveError> {
        let head = self.chain.head().map(|head| head.number);
        let newest = end.checked_sub(1).map(BlockNumber::new).min(head);
        let Some(newest) = newest.filter(|newest| first <= *newest) else { return Ok(None) };
        let (mut next, mut last, mut entries) = (first, first, IndexEntries::default());
        for _ in 0..MANY_BLOCKS {
            last = self.add(next, newest, &mut entries, sum_before)?;
            if last >= newest || entries.len() >= MANY_ENTRIES {
                break;
            }
            next = BlockNumber::new(last.get().saturating_add(1));
        }
        let hash = self.chain.hash_of(last)?.ok_or_else(|| missing(last))?;
        Ok(Some(BlockEntries { first, last, hash, entries }))
    }

    /// Adds the entries of a block. For a block of an empty block range, adds the entries of all blocks up to the next
    /// block that can have entries, but not after `newest`. Returns the last of these blocks.
    fn add(
        self,
        block: BlockNumber,
        newest: BlockNumber,
        entries: &mut IndexEntries,
        sum_before: &SumBefore<'_>,
    ) -> Result<BlockNumber, ArchiveError> {
        let Self { chain, rules, kinds } = self;
        let outline = chain.outline(block)?.ok_or_else(|| missing(block))?;
        let (mut last, mut transactions) = (block, Vec::new());
        match outline.empty_range {
            Some(range) if !kinds.blocks => {
                last = (*range.end()).min(newest);
                if let Some(rules) = rules {
                    last = last.min(rules.next_settlement(block));
                }
            }
            Some(_) => {}
            None => {
                transactions = chain.transactions(block, 0..u32::MAX)?.unwrap_or_default();
                entries
                    .add_transactions(kinds, block, &transactions)
                    .ok_or_else(|| damaged(format!("block {block} has too many transactions")))?;
            }
        }
        if outline.has_edits && kinds.addresses {
            for address in chain.edits_of(block)?.unwrap_or_default().accounts.keys() {
                entries.add_edit(address, block);
            }
        }
        if let Some(rules) = rules {
            let mut changes = BalanceChanges { block: last, entries, sum_before };
            rules.add_changes(chain, last, outline.has_edits, &transactions, &mut changes)?;
        }
        if kinds.blocks {
            entries.add_block(last, &chain.hash_of(last)?.ok_or_else(|| missing(last))?);
        }
        Ok(last)
    }
}

fn missing(block: BlockNumber) -> ArchiveError {
    damaged(format!("the record has no block {block}"))
}
