//! The list of the events of contracts, in pages.

use std::collections::BTreeMap;

use silica_protocol::{Address, BlockHash, BlockNumber, EventLog, Receipt, Timestamp, TxHash};
use silica_state::ArchiveError;

use crate::{
    snapshot::Snapshot,
    transaction_search::{BlockSpan, HistoryOrder, HistoryPlace, SearchBounds, SearchSubject, SearchedTransaction},
};

/// A request for a page of the list of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventListRequest<'a> {
    /// The only contract whose events are listed, or `None` for all contracts.
    pub contract: Option<Address>,
    /// The only name of the listed events, or `None` for all names.
    pub name: Option<&'a str>,
    /// The blocks whose events are listed.
    pub blocks: BlockSpan,
    /// The order of the events: of their transactions, and of their indexes in the receipt.
    pub order: HistoryOrder,
    /// `next` of the previous page, or `None` for the first page.
    pub after: Option<EventCursor>,
    /// Maximum number of events on a page. A limit of 0 means 1.
    pub limit: usize,
    /// Maximum number of steps of the search for a page, as in [`HistoryRequest`](crate::HistoryRequest::effort). The
    /// numbers of the events in their blocks can take the same number of steps again.
    pub effort: usize,
    /// Whether the events get their numbers in their blocks.
    pub numbered: bool,
}

/// The place in the list of events where a page ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventCursor {
    /// Place of the last transaction that the page has read.
    pub place: HistoryPlace,
    /// Index in the receipt of the last event of the page, if the page ends within the transaction. `None` if the page
    /// has read all events of the transaction.
    pub index: Option<u32>,
}

/// A page of events, and the place of the next page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventListPage {
    /// The events in the requested order. A page can be empty, although a later page has events.
    pub events: Vec<ListedEvent>,
    /// The place where the next page begins, or `None` on the last page.
    pub next: Option<EventCursor>,
}

/// An event of a successful transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedEvent {
    /// Place of the transaction in the record.
    pub place: HistoryPlace,
    /// Index among the events of the receipt, from 0.
    pub index: u32,
    /// Number among all events of the block, from 0; `None` unless [`EventListRequest::numbered`] is true.
    pub number: Option<u32>,
    /// Hash of the transaction.
    pub hash: TxHash,
    /// Hash of the block.
    pub block_hash: BlockHash,
    /// Timestamp of the block.
    pub timestamp: Timestamp,
    /// The contract, the name and the parameters.
    pub event: EventLog,
}

impl Snapshot {
    /// Returns a page of the list of events. The list has the events of successful transactions that the request
    /// selects, and for which `accepts` returns `true`.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`]: the record could not be read.
    pub fn event_list(
        &self,
        request: &EventListRequest<'_>,
        accepts: impl FnMut(&EventLog) -> bool,
    ) -> Result<EventListPage, ArchiveError> {
        let EventListRequest { contract, name, blocks, order, after, effort, .. } = *request;
        let subject = match (&contract, name) {
            (Some(contract), _) => SearchSubject::EventsOf(contract),
            (None, Some(name)) => SearchSubject::EventsNamed(name),
            (None, None) => SearchSubject::Events,
        };
        let after = after.and_then(|after| resume(after, order));
        // `take` returns a value when the page is full. So the search ends at the first value.
        let bounds = SearchBounds { subject, order, after, within: blocks, limit: 1, effort };
        let mut walk = Walk {
            snapshot: self,
            request,
            accepts,
            events: Vec::new(),
            cut: None,
            seen: None,
            numbers: None,
            left: None,
            failure: None,
        };
        let page = self.search_transactions(&bounds, |transaction| walk.take(transaction))?;
        if let Some(failure) = walk.failure {
            return Err(failure);
        }
        let next = walk.cut.or(page.next.map(|place| EventCursor { place, index: None }));
        Ok(EventListPage { events: walk.events, next })
    }

    /// Returns the numbers of the events of a block, or `None` if `effort` steps do not suffice.
    fn block_numbers(&self, block: BlockNumber, effort: usize) -> Result<Option<BlockNumbers>, ArchiveError> {
        let bounds = SearchBounds {
            subject: SearchSubject::Events,
            order: HistoryOrder::OldestFirst,
            after: None,
            within: BlockSpan::of(block),
            limit: usize::MAX,
            effort,
        };
        let mut next = 0_u32;
        let page = self.search_transactions(&bounds, |SearchedTransaction { place, receipt, .. }| {
            let first = next;
            next = next.saturating_add(count(receipt));
            (next > first).then_some((place.position, first))
        })?;
        let numbers = BlockNumbers { firsts: page.found.into_iter().collect(), steps: page.steps };
        Ok(page.next.is_none().then_some(numbers))
    }
}

/// The numbers of the events of a block.
struct BlockNumbers {
    /// For each transaction with events: the number of its first event, by the position of the transaction in the
    /// block.
    firsts: BTreeMap<u32, u32>,
    /// Number of steps of the search.
    steps: usize,
}

/// Returns the last place that the search for the next page skips, or `None` if the search skips no place. If the
/// previous page ended within a transaction, the search reads this transaction again.
fn resume(EventCursor { place, index }: EventCursor, order: HistoryOrder) -> Option<HistoryPlace> {
    let HistoryPlace { block, position } = place;
    if index.is_none() {
        return Some(place);
    }
    match (order, position.checked_sub(1)) {
        (HistoryOrder::NewestFirst, _) => Some(HistoryPlace { block, position: position.saturating_add(1) }),
        (HistoryOrder::OldestFirst, Some(position)) => Some(HistoryPlace { block, position }),
        (HistoryOrder::OldestFirst, None) => block.previous().map(|block| HistoryPlace { block, position: u32::MAX }),
    }
}

/// Returns the number of events of a transaction. A failed transaction has none.
fn count(receipt: &Receipt) -> u32 {
    if receipt.success { u32::try_from(receipt.event_logs.len()).unwrap_or(u32::MAX) } else { 0 }
}

/// The events of the page so far.
struct Walk<'a, A> {
    snapshot: &'a Snapshot,
    request: &'a EventListRequest<'a>,
    accepts: A,
    events: Vec<ListedEvent>,
    /// The end of the page, if the page ends within a transaction, or if too few steps are left for the numbers of the
    /// events.
    cut: Option<EventCursor>,
    /// The first place of a block that the walk has not read, and the number of events before this place in the block.
    /// `None` unless the walk has read all earlier transactions of the block.
    seen: Option<(HistoryPlace, u32)>,
    /// The numbers of the events of a block, if a further search has read them.
    numbers: Option<(BlockNumber, BlockNumbers)>,
    /// Number of steps left for further searches; `None` before the first one.
    left: Option<usize>,
    /// The failure of a further search, which ends the walk.
    failure: Option<ArchiveError>,
}

impl<A: FnMut(&EventLog) -> bool> Walk<'_, A> {
    /// Adds the selected events of a transaction. Returns `None` unless the page ends.
    fn take(&mut self, searched: SearchedTransaction<'_>) -> Option<()> {
        let SearchedTransaction { place, block, transaction, receipt } = searched;
        let mut first = self.first_number(place, receipt);
        if !receipt.success {
            return None;
        }
        let limit = self.request.limit.max(1);
        let mut found: Vec<(u32, &EventLog)> = (0..).zip(&receipt.event_logs).collect();
        if self.request.order == HistoryOrder::NewestFirst {
            found.reverse();
        }
        let mut hash = None;
        for (index, event) in found {
            if !self.selects(place, index, event) {
                continue;
            }
            if self.events.len() >= limit {
                self.cut = self.events.last().map(|last| EventCursor { place, index: Some(last.index) });
                return Some(());
            }
            if self.request.numbered && first.is_none() {
                // The walk has just read the block, so the caches of the store have it.
                match self.searched_number(place) {
                    Ok(Some(number)) => first = Some(number),
                    Ok(None) => {
                        self.cut = self.events.last().map(|last| EventCursor { place: last.place, index: None });
                        return Some(());
                    }
                    Err(failure) => {
                        self.failure = Some(failure);
                        return Some(());
                    }
                }
            }
            self.events.push(ListedEvent {
                place,
                index,
                number: first.map(|first| first.saturating_add(index)),
                hash: *hash.get_or_insert_with(|| transaction.hash()),
                block_hash: block.hash,
                timestamp: block.timestamp,
                event: event.clone(),
            });
        }
        (self.events.len() >= limit).then_some(())
    }

    /// Returns how many events of the block precede the events of a transaction, by a search through the block. Returns
    /// `None` if the steps do not suffice. They suffice for one block at least.
    fn searched_number(&mut self, HistoryPlace { block, position }: HistoryPlace) -> Result<Option<u32>, ArchiveError> {
        if self.numbers.as_ref().is_none_or(|(of, _)| *of != block) {
            let steps = self.left.unwrap_or(usize::MAX);
            let Some(numbers) = self.snapshot.block_numbers(block, steps)? else { return Ok(None) };
            let left = self.left.unwrap_or(self.request.effort);
            self.left = Some(left.saturating_sub(numbers.steps));
            self.numbers = Some((block, numbers));
        }
        Ok(self.numbers.as_ref().and_then(|(_, numbers)| numbers.firsts.get(&position).copied()))
    }

    fn selects(&mut self, place: HistoryPlace, index: u32, event: &EventLog) -> bool {
        let EventListRequest { contract, name, order, after, .. } = *self.request;
        let is_new = match after {
            Some(EventCursor { place: last, index: Some(end) }) if last == place => match order {
                HistoryOrder::NewestFirst => index < end,
                HistoryOrder::OldestFirst => index > end,
            },
            _ => true,
        };
        is_new
            && contract.is_none_or(|contract| event.address == contract)
            && name.is_none_or(|name| event.name == name)
            && (self.accepts)(event)
    }

    /// Returns how many events of the block precede the events of a transaction. Returns `None` if the request needs no
    /// such numbers, or if the walk has not read all earlier transactions of the block.
    fn first_number(&mut self, place: HistoryPlace, receipt: &Receipt) -> Option<u32> {
        let first = match self.seen {
            Some((next, events)) if next == place => Some(events),
            _ => (place.position == 0).then_some(0),
        };
        let next = HistoryPlace { position: place.position.saturating_add(1), ..place };
        self.seen = first.map(|first| (next, first.saturating_add(count(receipt))));
        first.filter(|_| self.request.numbered)
    }
}
