//! The list of the events of contracts, in pages.

use std::collections::BTreeMap;

use silica_protocol::{Address, BlockNumber, EventLog, Receipt, Timestamp, Transaction, TxHash};
use silica_state::ArchiveError;

use crate::{
    snapshot::Snapshot,
    transaction_search::{BlockSpan, HistoryOrder, HistoryPlace, SearchBounds, SearchSubject},
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
        let EventListRequest { contract, name, blocks, order, after, effort, numbered, .. } = *request;
        let subject = match (&contract, name) {
            (Some(contract), _) => SearchSubject::EventsOf(contract),
            (None, Some(name)) => SearchSubject::EventsNamed(name),
            (None, None) => SearchSubject::Events,
        };
        let after = after.and_then(|after| resume(after, order));
        // `take` returns a value when the page is full. So the search ends at the first value.
        let bounds = SearchBounds { subject, order, after, within: blocks, limit: 1, effort };
        let mut walk = Walk { request, accepts, events: Vec::new(), cut: None, seen: None };
        let page = self.search_transactions(&bounds, |place, transaction: &Transaction, receipt: &Receipt| {
            walk.take(place, transaction, receipt)
        })?;
        let Walk { mut events, cut, .. } = walk;
        let mut next = cut.or(page.next.map(|place| EventCursor { place, index: None }));
        if numbered && let Some(end) = self.number(&mut events, effort)? {
            next = Some(end);
        }
        let mut time = (None, Timestamp::default());
        for event in &mut events {
            let block = event.place.block;
            if time.0 != Some(block) {
                time = (Some(block), self.state().time_of(block)?.unwrap_or_default());
            }
            event.timestamp = time.1;
        }
        Ok(EventListPage { events, next })
    }

    /// Sets the missing numbers of the events in their blocks. Reads the receipts of each block with a missing number,
    /// within `effort` steps. Reads at least one block. If the steps do not suffice, removes the events of the
    /// remaining blocks, and returns the place after the last remaining event.
    fn number(&self, events: &mut Vec<ListedEvent>, effort: usize) -> Result<Option<EventCursor>, ArchiveError> {
        let (mut left, mut done) = (None, 0_usize);
        for block in events.chunk_by_mut(|one, other| one.place.block == other.place.block) {
            if let Some(missing) = block.iter().find(|event| event.number.is_none()) {
                let first = left.is_none();
                let left = left.get_or_insert(effort);
                let steps = if first { usize::MAX } else { *left };
                let Some(numbers) = self.block_numbers(missing.place.block, steps)? else { break };
                *left = left.saturating_sub(numbers.steps);
                for event in block.iter_mut() {
                    let first = numbers.firsts.get(&event.place.position);
                    event.number = first.map(|first| first.saturating_add(event.index));
                }
            }
            done = done.saturating_add(block.len());
        }
        if done == events.len() {
            return Ok(None);
        }
        events.truncate(done);
        Ok(events.last().map(|last| EventCursor { place: last.place, index: None }))
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
        let page = self.search_transactions(&bounds, |place, _, receipt| {
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
    request: &'a EventListRequest<'a>,
    accepts: A,
    events: Vec<ListedEvent>,
    /// The end of the page, if the page ends within a transaction.
    cut: Option<EventCursor>,
    /// The first place of a block that the walk has not read, and the number of events before this place in the block.
    /// `None` unless the walk has read all earlier transactions of the block.
    seen: Option<(HistoryPlace, u32)>,
}

impl<A: FnMut(&EventLog) -> bool> Walk<'_, A> {
    /// Adds the selected events of a transaction. Returns a value if the page is full.
    fn take(&mut self, place: HistoryPlace, transaction: &Transaction, receipt: &Receipt) -> Option<()> {
        let first = self.first_number(place, receipt);
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
            self.events.push(ListedEvent {
                place,
                index,
                number: first.map(|first| first.saturating_add(index)),
                hash: *hash.get_or_insert_with(|| transaction.hash()),
                timestamp: Timestamp::default(),
                event: event.clone(),
            });
        }
        (self.events.len() >= limit).then_some(())
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
