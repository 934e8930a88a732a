//! Events of contracts, in pages.

use schemars::JsonSchema;
use serde::Deserialize;
use silica_chain::{BlockSpan, EventListRequest, ListedEvent};
use silica_protocol::{
    Address, BlockNumber,
    rpc::{
        cursor::EventCursor,
        list::{EventPageJson, EventRowJson},
    },
};

use super::transaction::EFFORT;
use crate::{
    head::Context,
    rpc::{
        CallError, Entry, Method,
        params::options::{Limit, Member, Options, Order, cursor_of, place_of},
    },
};

/// Rows of the method table for the methods in this file.
pub(super) const ENTRIES: &[Entry] = &[Entry::slow::<GetEvents>().of_weight(10)];

/// Events of contracts in pages, in the order of the blocks, transactions and receipts. An extension of this node.
///
/// A page ends early when it has read about 5 MB of the record. So a page can be short or empty, although later pages
/// have events. The last page has no `next`.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetEvents {
    /// Filters, start, order and size of the page; optional.
    #[serde(default)]
    options: Options<EventOptions>,
}

/// Options for the list of events.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
struct EventOptions {
    /// Address of the contract whose events are listed; all contracts if absent.
    contract: Option<Member<Address>>,
    /// The `next` of the previous page; absent for the first page.
    cursor: Option<Member<EventCursor>>,
    /// Number of the first Tx block whose events are listed; block 0 if absent.
    from_block: Option<Member<BlockNumber>>,
    /// Maximum number of events on the page.
    limit: Limit,
    /// Name of the listed events; all names if absent.
    name: Option<String>,
    /// Order of the events.
    order: Order,
    /// Number of the last Tx block whose events are listed; all later blocks if absent. The block need not exist yet.
    to_block: Option<Member<BlockNumber>>,
}

impl Method for GetEvents {
    const NAME: &'static str = "silica_getEvents";
    type Output = EventPageJson;

    fn call(self, at: &Context) -> Result<EventPageJson, CallError> {
        let EventOptions { contract, cursor, from_block, limit, name, order, to_block } = self.options.get()?;
        let number = |block: Option<Member<BlockNumber>>| block.map(|Member(block)| block);
        let BlockSpan { first, last } = BlockSpan::ALL;
        let blocks = BlockSpan { first: number(from_block).unwrap_or(first), last: number(to_block).unwrap_or(last) };
        let BlockSpan { first, last } = blocks;
        if last < first {
            let problem = format!("toBlock: expected a block from {first} on, as fromBlock, got {last}");
            return Err(CallError::parameter("options", &problem));
        }
        let cursor = cursor.map(|Member(cursor)| cursor);
        if let Some(got) = cursor.filter(|cursor| !(first..=last).contains(&cursor.place.block)) {
            let problem = format!("cursor: expected a cursor of blocks {first} to {last}, got \"{got}\"");
            return Err(CallError::parameter("options", &problem));
        }
        let request = EventListRequest {
            contract: contract.map(|Member(contract)| contract),
            name: name.as_deref(),
            blocks,
            order: order.into(),
            after: cursor
                .map(|EventCursor { place, index }| silica_chain::EventCursor { place: place_of(place), index }),
            limit: limit.get(),
            effort: EFFORT,
            numbered: false,
        };
        let page = at.snapshot.event_list(&request, |_| true)?;
        Ok(EventPageJson {
            events: page.events.into_iter().map(row).collect(),
            next: page.next.map(|next| EventCursor { place: cursor_of(next.place), index: next.index }.to_string()),
        })
    }
}

fn row(ListedEvent { place, index, hash, timestamp, event, .. }: ListedEvent) -> EventRowJson {
    EventRowJson {
        block: place.block.into(),
        contract: event.address.into(),
        hash: hash.into(),
        index,
        name: event.name,
        params: event.params.into_iter().map(Into::into).collect(),
        position: place.position,
        timestamp: timestamp.into(),
    }
}
