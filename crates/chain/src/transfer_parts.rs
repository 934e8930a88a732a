//! The parts of blocks in which some addresses can have transfers, from the history index.
//!
//! The index has the transactions in which an address has a role, and the blocks that edit it. All payers and
//! recipients of a transaction have a role in it. The index lacks the genesis accounts and the rewards: block 0 is
//! always among the parts, and the numbers of vacuous blocks follow from the length of a DS epoch.

use std::collections::{BTreeSet, VecDeque};

use silica_protocol::{Address, BlockNumber};
use silica_state::{ArchiveError, IndexKey, IndexLost, IndexOrder, IndexPosition, IndexView};

use crate::{
    snapshot::Snapshot,
    transaction_search::HistoryOrder,
    transfer::{BlockPart, TransferPlace},
};

/// Number of places that the walk reads from the index at once.
const PLACES: usize = 128;
/// Number of steps of a query to the index for one address.
const ADDRESS_STEPS: usize = 16;

/// The parts with possible transfers of some addresses, in the blocks that the history index covers.
#[derive(Debug)]
pub(crate) struct IndexedParts<'a> {
    view: IndexView,
    addresses: &'a BTreeSet<Address>,
    order: HistoryOrder,
    /// The first and the last block of the parts.
    blocks: (BlockNumber, BlockNumber),
    /// The next parts in the order, as read from the index.
    ahead: VecDeque<(BlockNumber, BlockPart)>,
    /// Whether the index has no parts after those in `ahead`.
    is_end: bool,
}

impl<'a> IndexedParts<'a> {
    /// Returns the parts from block `first` to block `last`, as far as the index covers these blocks. Returns `None` if
    /// a walk without the index is cheaper:
    ///
    /// - The index has no block.
    /// - A query for each address takes more than `effort` steps, or more steps than the blocks and transactions.
    pub(crate) fn new(
        snapshot: &Snapshot,
        addresses: &'a BTreeSet<Address>,
        (first, last): (BlockNumber, BlockNumber),
        order: HistoryOrder,
        effort: usize,
    ) -> Result<Option<Self>, ArchiveError> {
        let state = snapshot.state();
        let Some(view) = state.index() else { return Ok(None) };
        let covered = view.covered(IndexKey::AddressOrEdit(&Address::ZERO));
        let Some(last) = covered.checked_sub(1).map(|newest| last.min(BlockNumber::new(newest))) else {
            return Ok(None);
        };
        if last < first {
            return Ok(None);
        }
        let up_to = |block| Ok::<_, ArchiveError>(state.transactions_up_to(block)?.unwrap_or(0));
        let before = first.previous().map_or(Ok(0), up_to)?;
        let blocks = last.get().saturating_sub(first.get());
        let walk = up_to(last)?.saturating_sub(before).saturating_add(blocks);
        let query = addresses.len().saturating_mul(ADDRESS_STEPS);
        let most = effort.min(usize::try_from(walk).unwrap_or(usize::MAX));
        let parts = Self { view, addresses, order, blocks: (first, last), ahead: VecDeque::new(), is_end: false };
        Ok((query <= most).then_some(parts))
    }

    /// Returns the last block of the parts.
    pub(crate) const fn last(&self) -> BlockNumber {
        self.blocks.1
    }

    /// Returns the next part that has the place `at` or a later place in the order, or `None` after the last part. Adds
    /// the steps of queries to `steps`.
    pub(crate) fn next(
        &mut self,
        at: TransferPlace,
        steps: &mut usize,
    ) -> Result<Option<(BlockNumber, BlockPart)>, IndexLost> {
        loop {
            let order = self.order;
            while self.ahead.front().is_some_and(|(block, part)| is_done(order, at, *block, *part)) {
                self.ahead.pop_front();
            }
            if let Some(next) = self.ahead.front() {
                return Ok(Some(*next));
            }
            if self.is_end {
                return Ok(None);
            }
            *steps = steps.saturating_add(self.addresses.len().saturating_mul(ADDRESS_STEPS));
            self.read(at)?;
        }
    }

    /// Returns those positions of the next transactions that are in this block and in the range `within`.
    pub(crate) fn positions(&self, block: BlockNumber, within: &std::ops::Range<u32>) -> BTreeSet<u32> {
        let positions = self.ahead.iter().map_while(|(of, part)| match part {
            BlockPart::Transaction(position) if *of == block && within.contains(position) => Some(*position),
            BlockPart::Transaction(_) | BlockPart::Start | BlockPart::End => None,
        });
        positions.collect()
    }

    /// Reads the next parts from the index.
    fn read(&mut self, at: TransferPlace) -> Result<(), IndexLost> {
        let is_forward = self.order == HistoryOrder::OldestFirst;
        let order = if is_forward { IndexOrder::OldestFirst } else { IndexOrder::NewestFirst };
        let place = |block, position| IndexPosition { block, position };
        let (mut from, mut to) = (place(self.blocks.0, 0), place(self.blocks.1, u32::MAX));
        let begin = match at.part {
            BlockPart::Start => place(at.block, 0),
            BlockPart::Transaction(position) => place(at.block, position),
            BlockPart::End => place(at.block, u32::MAX),
        };
        (from, to) = if is_forward { (from.max(begin), to) } else { (from, to.min(begin)) };
        let mut places = BTreeSet::new();
        for address in self.addresses {
            places.extend(self.view.find(IndexKey::AddressOrEdit(address), from, to, order, PLACES)?);
            while places.len() > PLACES {
                if is_forward {
                    places.pop_last()
                } else {
                    places.pop_first()
                };
            }
            // Only the first places in the order count. So the next query ends at the last of the known places.
            if places.len() == PLACES {
                match (places.first(), places.last()) {
                    (_, Some(last)) if is_forward => to = *last,
                    (Some(first), _) => from = *first,
                    _ => {}
                }
            }
        }
        self.is_end = places.len() < PLACES;
        if self.blocks.0.get() == 0 && (is_forward && begin == place(self.blocks.0, 0) || !is_forward && self.is_end) {
            places.insert(place(BlockNumber::new(0), 0));
        }
        for IndexPosition { block, position } in places {
            if position == 0 {
                self.ahead.push_back((block, BlockPart::Start));
            }
            self.ahead.push_back((block, BlockPart::Transaction(position)));
        }
        if !is_forward {
            self.ahead.make_contiguous().reverse();
        }
        Ok(())
    }
}

/// Returns whether all places of a part are before `at` in the order.
fn is_done(order: HistoryOrder, at: TransferPlace, block: BlockNumber, part: BlockPart) -> bool {
    match order {
        HistoryOrder::OldestFirst => (block, part) < (at.block, at.part),
        HistoryOrder::NewestFirst => (block, part) > (at.block, at.part),
    }
}
