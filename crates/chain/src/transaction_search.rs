//! Walks over the transactions of the record in their order, and returns selected ones in pages.
//!
//! A page has a bounded number of transactions, and the walk for a page reads a bounded number of transactions. The
//! page has the place where the next page begins.
//!
//! If the history index has the entries of the subject, the walk reads only the transactions at the places of the
//! index. The index can lack the newest blocks, and the walk reads all transactions of these blocks.

use std::ops::Range;

use silica_protocol::{Address, BlockNumber, Receipt, Transaction};
use silica_state::{ArchiveError, Head, IndexKey, IndexOrder, IndexPosition, IndexView, TransactionGroup};

use crate::snapshot::Snapshot;

/// The order of a list by time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HistoryOrder {
    /// The newest element comes first.
    #[default]
    NewestFirst,
    /// The oldest element comes first.
    OldestFirst,
}

/// A place in the record: a position among the transactions of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HistoryPlace {
    /// Number of the block.
    pub block: BlockNumber,
    /// Position in the block, from 0.
    pub position: u32,
}

/// Consecutive Tx blocks, from `first` to `last`. The blocks after the latest block do not exist, and have no
/// transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSpan {
    /// Number of the first block.
    pub first: BlockNumber,
    /// Number of the last block. If it is lower than `first`, the span is empty.
    pub last: BlockNumber,
}

impl BlockSpan {
    /// All blocks.
    pub const ALL: Self = Self { first: BlockNumber::new(0), last: BlockNumber::new(u64::MAX) };

    /// Returns the span of one block.
    pub const fn of(block: BlockNumber) -> Self {
        Self { first: block, last: block }
    }
}

/// A page of selected transactions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SearchPage<T> {
    /// The selected transactions in the requested order.
    pub(crate) found: Vec<T>,
    /// The last place that the walk read, from which the next page continues, or `None` on the last page.
    pub(crate) next: Option<HistoryPlace>,
    /// Number of steps of the walk, in the unit of [`SearchBounds::effort`].
    pub(crate) steps: usize,
}

/// A transaction that a search reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SearchedTransaction<'a> {
    pub(crate) place: HistoryPlace,
    /// Hash and timestamp of the block, among others.
    pub(crate) block: &'a Head,
    pub(crate) transaction: &'a Transaction,
    pub(crate) receipt: &'a Receipt,
}

/// The transactions that a search reads. A search calls its `select` for each of these transactions within its bounds.
/// The search can also call `select` for other transactions, so `select` has to check each transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SearchSubject<'a> {
    /// All transactions.
    Any,
    /// The transactions in which the address has an [`AddressRole`](crate::AddressRole).
    Address(&'a Address),
    /// The transactions whose receipt has an event.
    Events,
    /// The transactions whose receipt has an event of this contract.
    EventsOf(&'a Address),
    /// The transactions whose receipt has an event with this name.
    EventsNamed(&'a str),
}

impl<'a> SearchSubject<'a> {
    /// Returns the query to the history index, or `None` if the index has no entries for it.
    const fn query(self) -> Option<IndexKey<'a>> {
        match self {
            Self::Any => None,
            Self::Address(address) => Some(IndexKey::Address(address)),
            Self::Events => Some(IndexKey::Events),
            Self::EventsOf(contract) => Some(IndexKey::EventsOf(contract)),
            Self::EventsNamed(name) => Some(IndexKey::EventsNamed(name)),
        }
    }
}

/// The bounds of a walk for one page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SearchBounds<'a> {
    /// The transactions that the walk reads.
    pub(crate) subject: SearchSubject<'a>,
    /// The order of the transactions.
    pub(crate) order: HistoryOrder,
    /// The last place of the previous page, or `None` for the first page.
    pub(crate) after: Option<HistoryPlace>,
    /// The blocks whose transactions are read.
    pub(crate) within: BlockSpan,
    /// Maximum number of selected transactions. A limit of 0 means 1.
    pub(crate) limit: usize,
    /// Maximum number of steps. A transaction takes one step, and one more for each [`BYTES`] bytes that the
    /// transaction and its receipt have in the record. Each block that the walk reads on its way takes one step. The
    /// walk reads at least one transaction.
    pub(crate) effort: usize,
}

/// Bytes of a transaction and its receipt in the record for each further step of a walk. A payment has fewer bytes, so
/// it takes no further step.
const BYTES: usize = 256;

impl Snapshot {
    /// Walks over the transactions, and returns a page with the results of `select` that are not `None`.
    pub(crate) fn search_transactions<T>(
        &self,
        bounds: &SearchBounds<'_>,
        select: impl FnMut(SearchedTransaction<'_>) -> Option<T>,
    ) -> Result<SearchPage<T>, ArchiveError> {
        let index = bounds.subject.query().zip(self.state().index());
        let index = index.map(|(query, view)| Indexed { covered: view.covered(query), query, view });
        let mut search = Search { snapshot: self, bounds, select, index, found: Vec::new(), looked_at: 0, last: None };
        let is_over = match bounds.order {
            HistoryOrder::NewestFirst => search.backward()?,
            HistoryOrder::OldestFirst => search.forward()?,
        };
        let Search { found, last, looked_at: steps, .. } = search;
        Ok(SearchPage { found, next: last.filter(|_| !is_over), steps })
    }

    /// Returns the first block after `block` that has transactions, or `None` if no such block exists. Calls `step` for
    /// each block that the function reads. The stride doubles over blocks without transactions. So the number of blocks
    /// that the function reads grows with the logarithm of the number of blocks without transactions.
    pub(crate) fn next_with_transactions(
        &self,
        block: BlockNumber,
        mut step: impl FnMut(),
    ) -> Result<Option<BlockNumber>, ArchiveError> {
        let up_to = |block: u64| {
            let number = BlockNumber::new(block);
            Ok::<_, ArchiveError>(self.state().transactions_up_to(number)?.unwrap_or(0))
        };
        let head = self.latest_tx_block().header.number.get();
        let passed = up_to(block.get())?;
        if up_to(head)? == passed {
            return Ok(None);
        }
        let mut is_beyond = |block| {
            step();
            Ok::<_, ArchiveError>(up_to(block)? > passed)
        };
        // The blocks after `block` up to `low` have no transactions. The blocks up to `high` have at least one.
        let (mut low, mut stride) = (block.get(), 1_u64);
        let mut high = loop {
            let high = low.saturating_add(stride).min(head);
            if is_beyond(high)? {
                break high;
            }
            (low, stride) = (high, stride.saturating_mul(2));
        };
        while high.saturating_sub(low) > 1 {
            let middle = low.midpoint(high);
            if is_beyond(middle)? { high = middle } else { low = middle }
        }
        Ok(Some(BlockNumber::new(high)))
    }
}

/// Number of places that the walk reads from the index at once.
const PLACES: usize = 128;

/// The history index with the query of the walk.
struct Indexed<'a> {
    view: IndexView,
    query: IndexKey<'a>,
    /// Number of blocks that the index has, from block 0 on.
    covered: u64,
}

/// The result of a walk over the places of the index.
enum Walked {
    /// The page is full.
    Full,
    /// The walk has read all places in its range.
    All,
    /// The index is not available any more. The walk continues after [`Search::last`] without the index.
    Lost,
}

/// A walk for one page.
struct Search<'a, T, S> {
    snapshot: &'a Snapshot,
    bounds: &'a SearchBounds<'a>,
    select: S,
    /// `None` without an index.
    index: Option<Indexed<'a>>,
    found: Vec<T>,
    looked_at: usize,
    /// The last place that the search read.
    last: Option<HistoryPlace>,
}

impl<T, S: FnMut(SearchedTransaction<'_>) -> Option<T>> Search<'_, T, S> {
    /// Searches towards older transactions. Returns whether the search read the oldest transaction.
    fn backward(&mut self) -> Result<bool, ArchiveError> {
        let BlockSpan { first, last } = self.bounds.within;
        let newest = self.snapshot.latest_tx_block().header.number.min(last);
        let from = self.bounds.after.unwrap_or(HistoryPlace { block: newest, position: u32::MAX });
        let (mut block, mut end) = if from.block > newest { (newest, u32::MAX) } else { (from.block, from.position) };
        if block < first {
            return Ok(true);
        }
        loop {
            if self.is_indexed(block) {
                match self
                    .walk_index(HistoryPlace { block: first, position: 0 }, HistoryPlace { block, position: end })?
                {
                    Walked::Full => return Ok(false),
                    Walked::All => return Ok(true),
                    Walked::Lost => {
                        // The walk reads later places first, so it has finished all places after the last
                        // place that it read.
                        let last = self.last.filter(|last| *last < HistoryPlace { block, position: end });
                        (block, end) = last.map_or((block, end), |last| (last.block, last.position));
                    }
                }
            }
            end = end.min(self.count(block)?);
            while let Some(last) = end.checked_sub(1)
                && let Some(group) = self.snapshot.state().transaction_group(block, last)?
            {
                let positions = group.positions.start..end;
                end = positions.start;
                if !self.look_at_those(block, positions, weight(&group))? {
                    return Ok(false);
                }
            }
            match self.before(block)? {
                Some(before) => (block, end) = (before, u32::MAX),
                None => return Ok(true),
            }
        }
    }

    /// Searches towards newer transactions. Returns whether the search read the newest transaction.
    fn forward(&mut self) -> Result<bool, ArchiveError> {
        let BlockSpan { first, last } = self.bounds.within;
        let (mut block, mut start) = match self.bounds.after {
            Some(after) if after.block >= first => (after.block, after.position.saturating_add(1)),
            Some(_) | None => (first, 0),
        };
        let newest = self.snapshot.latest_tx_block().header.number.min(last);
        if block > newest {
            return Ok(true);
        }
        if self.is_indexed(block) {
            let covered = self.index.as_ref().map_or(0, |index| index.covered);
            let end = HistoryPlace { block: newest, position: u32::MAX };
            let end = end.min(HistoryPlace { block: BlockNumber::new(covered), position: 0 });
            match self.walk_index(HistoryPlace { block, position: start }, end)? {
                Walked::Full => return Ok(false),
                Walked::All if covered > newest.get() => return Ok(true),
                Walked::All => (block, start) = (BlockNumber::new(covered), 0),
                Walked::Lost => {
                    let last = self.last.map(|last| (last.block, last.position.saturating_add(1)));
                    (block, start) = last.unwrap_or((block, start));
                }
            }
        }
        loop {
            while let Some(group) = self.snapshot.state().transaction_group(block, start)? {
                let positions = start..group.positions.end;
                start = positions.end;
                if !self.look_at_those(block, positions, weight(&group))? {
                    return Ok(false);
                }
            }
            match self.behind(block)? {
                Some(behind) => (block, start) = (behind, 0),
                None => return Ok(true),
            }
        }
    }

    /// Returns whether the index has the entries of a block.
    fn is_indexed(&self, block: BlockNumber) -> bool {
        self.index.as_ref().is_some_and(|index| block.get() < index.covered)
    }

    /// Reads the transactions at the places of the index from `from` on, before `end`, until the page is full.
    fn walk_index(&mut self, from: HistoryPlace, end: HistoryPlace) -> Result<Walked, ArchiveError> {
        let newest_first = self.bounds.order == HistoryOrder::NewestFirst;
        let order = if newest_first { IndexOrder::NewestFirst } else { IndexOrder::OldestFirst };
        let (mut from, mut end) = (from, end);
        loop {
            let Some(to) = before(end).filter(|to| from <= *to) else { return Ok(Walked::All) };
            let Some(Indexed { view, query, .. }) = &mut self.index else { return Ok(Walked::Lost) };
            let Ok(places) = view.find(*query, indexed(from), indexed(to), order, PLACES) else {
                self.index = None;
                return Ok(Walked::Lost);
            };
            let is_end = places.len() < PLACES;
            let mut rest = places.as_slice();
            while let Some(first) = rest.first() {
                if self.is_full() {
                    return Ok(Walked::Full);
                }
                let Some(group) = self.snapshot.state().transaction_group(first.block, first.position)? else {
                    // The entry belongs to another object with the same first bytes.
                    rest = rest.get(1..).unwrap_or_default();
                    continue;
                };
                let of_group =
                    |place: &IndexPosition| place.block == first.block && group.positions.contains(&place.position);
                let count = rest.iter().take_while(|place| of_group(place)).count().max(1);
                let (now, later) = rest.split_at_checked(count).unwrap_or((rest, &[]));
                if !self.look_at_places(now, weight(&group))? {
                    return Ok(Walked::Full);
                }
                rest = later;
            }
            match places.last() {
                Some(last) if newest_first => end = HistoryPlace { block: last.block, position: last.position },
                Some(last) => {
                    from = HistoryPlace { block: last.block, position: last.position.saturating_add(1) };
                }
                None => {}
            }
            if is_end {
                return Ok(Walked::All);
            }
        }
    }

    /// Reads the transactions at places of one group until the page is full. Each transaction takes `weight` steps.
    /// Returns whether all of them were read.
    fn look_at_places(&mut self, places: &[IndexPosition], weight: usize) -> Result<bool, ArchiveError> {
        let positions = places.iter().map(|place| place.position);
        let (Some(block), Some(first), Some(last)) =
            (places.first().map(|place| place.block), positions.clone().min(), positions.max())
        else {
            return Ok(true);
        };
        let state = self.snapshot.state();
        let read = state.transactions(block, first..last.saturating_add(1))?.unwrap_or_default();
        let Some(head) = state.head_at(block)? else { return Ok(true) };
        for place in places {
            if self.is_full() {
                return Ok(false);
            }
            let at = usize::try_from(place.position.saturating_sub(first)).unwrap_or(usize::MAX);
            if let Some((transaction, receipt)) = read.get(at) {
                self.looked_at = self.looked_at.saturating_add(weight);
                let place = HistoryPlace { block, position: place.position };
                self.look_at(SearchedTransaction { place, block: &head, transaction, receipt });
            }
        }
        Ok(true)
    }

    fn is_full(&self) -> bool {
        // The search reads at least one transaction. Without a last place, the next page would have no beginning.
        let has_looked = self.last.is_some();
        has_looked && (self.found.len() >= self.bounds.limit.max(1) || self.looked_at >= self.bounds.effort)
    }

    /// Reads transactions of one group until the page is full. Each transaction takes `weight` steps. Returns whether
    /// all of them were read.
    fn look_at_those(
        &mut self,
        block: BlockNumber,
        positions: Range<u32>,
        weight: usize,
    ) -> Result<bool, ArchiveError> {
        if self.is_full() {
            return Ok(false);
        }
        let state = self.snapshot.state();
        let read = state.transactions(block, positions.clone())?.unwrap_or_default();
        let Some(head) = state.head_at(block)? else { return Ok(true) };
        let mut read: Vec<_> = positions.zip(&read).collect();
        if self.bounds.order == HistoryOrder::NewestFirst {
            read.reverse();
        }
        for (position, (transaction, receipt)) in read {
            if self.is_full() {
                return Ok(false);
            }
            self.looked_at = self.looked_at.saturating_add(weight);
            let place = HistoryPlace { block, position };
            self.look_at(SearchedTransaction { place, block: &head, transaction, receipt });
        }
        Ok(true)
    }

    fn look_at(&mut self, transaction: SearchedTransaction<'_>) {
        self.last = Some(transaction.place);
        self.found.extend((self.select)(transaction));
    }

    /// Returns the number of transactions in a block.
    fn count(&self, block: BlockNumber) -> Result<u32, ArchiveError> {
        Ok(self.snapshot.state().tx_header(block)?.map_or(0, |header| header.tx_count))
    }

    /// Returns the latest block before `block` that has transactions, or `None` if the walk ends.
    fn before(&mut self, block: BlockNumber) -> Result<Option<BlockNumber>, ArchiveError> {
        let first = self.bounds.within.first;
        let Some(before) = block.previous().filter(|before| *before >= first) else { return Ok(None) };
        self.looked_at = self.looked_at.saturating_add(1);
        Ok(self.snapshot.state().newest_with_transactions(before)?.filter(|before| *before >= first))
    }

    /// Returns the first block after `block` that has transactions, or `None` if the walk ends.
    fn behind(&mut self, block: BlockNumber) -> Result<Option<BlockNumber>, ArchiveError> {
        let last = self.bounds.within.last;
        if block >= last {
            return Ok(None);
        }
        let looked_at = &mut self.looked_at;
        let behind = self.snapshot.next_with_transactions(block, || *looked_at = looked_at.saturating_add(1))?;
        Ok(behind.filter(|behind| *behind <= last))
    }
}

/// Returns the last place before a place, or `None` before the first place of the chain.
fn before(place: HistoryPlace) -> Option<HistoryPlace> {
    let HistoryPlace { block, position } = place;
    match position.checked_sub(1) {
        Some(position) => Some(HistoryPlace { block, position }),
        None => block.previous().map(|block| HistoryPlace { block, position: u32::MAX }),
    }
}

const fn indexed(place: HistoryPlace) -> IndexPosition {
    IndexPosition { block: place.block, position: place.position }
}

/// Returns the number of steps for one transaction of a group: one step, and one for each [`BYTES`] bytes of its share.
/// The store reads a group as a whole, and all transactions of the group have equal shares of its bytes.
pub(crate) fn weight(group: &TransactionGroup) -> usize {
    let each = group.bytes.checked_div(group.positions.len()).unwrap_or(group.bytes);
    1_usize.saturating_add(each / BYTES)
}
