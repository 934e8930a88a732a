//! The list of events. All pages together are equal to a read of all receipts. The tests vary the order, the contract,
//! the name, the span of blocks, the limit and the effort. Blocks also arrive between two pages.

use proptest::{collection::vec, prelude::*};
use serde_json::json;
use silica_chain::{
    BlockSpan, EventCursor, EventListRequest, HistoryOrder, HistoryPlace, ListedEvent, Snapshot,
    config::{ChainConfig, NoncePolicy},
};
use silica_protocol::{Address, BlockNumber, Gas, Nonce, Qa, TxHash, UnsignedTransaction};

use crate::{
    contracts::{RELAY, address_param, init},
    harness::{Net, PRICE, USERS, config, payment, signed, user},
};

const ORDERS: [HistoryOrder; 2] = [HistoryOrder::NewestFirst, HistoryOrder::OldestFirst];

/// The number of contracts of a chain.
const CONTRACTS: usize = 3;

/// A transaction of a random chain.
#[derive(Clone, Copy, Debug)]
enum Action {
    /// A payment, without events.
    Pay,
    /// A call with one event.
    Take(usize),
    /// A call that fails, without events.
    Fail(usize),
    /// A call with events of one contract or of two contracts: `Forwarded`, and `Taken` of the second contract.
    Forward(usize, usize),
}

/// A chain with some contracts, whose users send several transactions into a block.
struct Events {
    net: Net,
    contracts: Vec<Address>,
    sent: Vec<u64>,
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        2 => Just(Action::Pay),
        2 => (0..CONTRACTS).prop_map(Action::Take),
        1 => (0..CONTRACTS).prop_map(Action::Fail),
        3 => (0..CONTRACTS, 0..CONTRACTS).prop_map(|(from, to)| Action::Forward(from, to)),
    ]
}

/// A block, or some empty blocks if it has no transactions.
fn block() -> impl Strategy<Value = Vec<Action>> {
    prop_oneof![1 => Just(Vec::new()), 5 => vec(action(), 1..8)]
}

impl Events {
    fn new(blocks: &[Vec<Action>]) -> Self {
        let mut config: ChainConfig = config(1, 40);
        config.policy.nonces = NoncePolicy::Queue;
        let mut events = Self { net: Net::new(config), contracts: Vec::new(), sent: vec![0; usize::from(USERS) + 1] };
        for _ in 0..CONTRACTS {
            let nonce = events.sent[1];
            let data = init(&[]).to_string();
            events.send(1, |of| UnsignedTransaction { code: RELAY.to_owned(), data, ..of });
            events.net.tick();
            events.contracts.push(Address::of_contract(&user(1), Nonce::new(nonce)));
        }
        for block in blocks {
            events.happen(block);
        }
        events
    }

    /// Signs and submits a transaction with the next nonce of a user.
    fn send(&mut self, from: u8, complete: impl FnOnce(UnsignedTransaction) -> UnsignedTransaction) -> TxHash {
        let sent = &mut self.sent[usize::from(from)];
        *sent += 1;
        let blank = payment(from, *sent, Address::ZERO, 0, PRICE).into_unsigned();
        let transaction = complete(UnsignedTransaction { gas_limit: Gas::new(20_000), ..blank });
        self.net.submit(signed(from, transaction))
    }

    /// Makes a block with these transactions, or empty blocks.
    fn happen(&mut self, block: &[Action]) {
        for (number, action) in block.iter().enumerate() {
            let from = 1 + u8::try_from(number % usize::from(USERS)).unwrap();
            let call = |tag: &str, params: &[serde_json::Value]| json!({"_tag": tag, "params": params}).to_string();
            let (to, data) = match *action {
                Action::Pay => (user(9), String::new()),
                Action::Take(contract) => (self.contracts[contract], call("Take", &[])),
                Action::Fail(contract) => (self.contracts[contract], call("Fail", &[])),
                Action::Forward(contract, other) => {
                    let params = [address_param("to", &self.contracts[other]), address_param("payee", &user(9))];
                    (self.contracts[contract], call("Forward", &params))
                }
            };
            self.send(from, |of| UnsignedTransaction { to, data, amount: Qa::new(10), ..of });
        }
        if block.is_empty() { drop(self.net.demand(9)) } else { drop(self.net.tick()) }
    }

    /// Returns all events from a read of all receipts, the oldest first.
    fn all(&self) -> Vec<ListedEvent> {
        let at = self.net.snapshot();
        let mut all = Vec::new();
        for block in (0..=at.latest_tx_block().header.number.get()).map(BlockNumber::new) {
            let (timestamp, block_hash) =
                (at.tx_block(block).unwrap().unwrap().timestamp, at.tx_block_hash(block).unwrap().unwrap());
            let mut number = 0;
            for ((transaction, receipt), position) in at.block_bodies(block, 0..u32::MAX).unwrap().into_iter().zip(0..)
            {
                assert!(receipt.success || receipt.event_logs.is_empty());
                for (event, index) in receipt.event_logs.into_iter().zip(0..) {
                    let place = HistoryPlace { block, position };
                    let hash = transaction.hash();
                    all.push(ListedEvent { place, index, number: Some(number), hash, block_hash, timestamp, event });
                    number += 1;
                }
            }
        }
        all
    }

    /// Returns the events of all pages. Calls `between` after each page.
    fn pages(&mut self, mut request: EventListRequest<'_>, mut between: impl FnMut(&mut Self)) -> Vec<ListedEvent> {
        let mut all: Vec<ListedEvent> = Vec::new();
        for _ in 0..100_000 {
            let page = self.net.snapshot().event_list(&request, |_| true).unwrap();
            assert!(page.events.len() <= request.limit);
            all.extend(page.events);
            let Some(next) = page.next else { return all };
            assert_ne!(request.after, Some(next), "each page continues the list");
            request.after = Some(next);
            between(self);
        }
        panic!("the list has no end");
    }
}

fn request(order: HistoryOrder) -> EventListRequest<'static> {
    EventListRequest {
        contract: None,
        name: None,
        blocks: BlockSpan::ALL,
        order,
        after: None,
        limit: usize::MAX,
        effort: usize::MAX,
        numbered: true,
    }
}

/// Returns the events that a request selects, from all events.
fn selected(all: &[ListedEvent], request: &EventListRequest<'_>) -> Vec<ListedEvent> {
    let BlockSpan { first, last } = request.blocks;
    let is_selected = |of: &&ListedEvent| {
        request.contract.is_none_or(|contract| of.event.address == contract)
            && request.name.is_none_or(|name| of.event.name == name)
            && (first..=last).contains(&of.place.block)
    };
    let mut found: Vec<_> = all.iter().filter(is_selected).cloned().collect();
    for event in &mut found {
        event.number = event.number.filter(|_| request.numbered);
    }
    if request.order == HistoryOrder::NewestFirst {
        found.reverse();
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn events_of_all_pages_are_those_of_all_receipts(
        blocks in vec(block(), 1..10), limit in 1..9_usize, effort in 1..60_usize, first in 0..30_u64, length in 0..30_u64,
    ) {
        let mut events = Events::new(&blocks);
        let all = events.all();
        let spans = [
            BlockSpan::ALL,
            BlockSpan { first: BlockNumber::new(first), last: BlockNumber::new(first + length) },
            BlockSpan { first: BlockNumber::new(first + 1), last: BlockNumber::new(first) },
        ];
        let contracts = [None, Some(events.contracts[0]), Some(events.contracts[2]), Some(user(1))];
        for order in ORDERS {
            for blocks in spans {
                for contract in contracts {
                    for name in [None, Some("Taken"), Some("Forwarded"), Some("taken")] {
                        let whole = EventListRequest { contract, name, blocks, ..request(order) };
                        let expected = selected(&all, &whole);
                        prop_assert_eq!(&events.pages(whole, |_| ()), &expected);
                        let small = EventListRequest { limit, effort, ..whole };
                        prop_assert_eq!(&events.pages(small, |_| ()), &expected);
                    }
                }
            }
            let bare = EventListRequest { numbered: false, limit, ..request(order) };
            prop_assert_eq!(events.pages(bare, |_| ()), selected(&all, &bare));
        }
    }

    #[test]
    fn blocks_between_pages_repeat_and_skip_no_event(
        blocks in vec(block(), 1..8), between in vec(block(), 1..5), limit in 1..4_usize,
    ) {
        for order in ORDERS {
            let mut events = Events::new(&blocks);
            let before = events.all();
            let mut arrivals = between.iter();
            let request = EventListRequest { limit, ..request(order) };
            let found = events.pages(request, |events| {
                if let Some(block) = arrivals.next() {
                    events.happen(block);
                }
            });
            let expected = if order == HistoryOrder::OldestFirst { events.all() } else { before };
            let expected = selected(&expected, &request);
            prop_assert_eq!(found, expected);
        }
    }
}

#[test]
fn page_ends_within_a_transaction_and_accepts_a_part_of_the_events() {
    let mut events = Events::new(&[vec![Action::Forward(0, 1), Action::Forward(1, 1)]]);
    let all = events.all();
    let names: Vec<_> = all.iter().map(|of| (of.place.position, of.index, &*of.event.name)).collect();
    assert_eq!(names, [(0, 0, "Forwarded"), (0, 1, "Taken"), (1, 0, "Forwarded"), (1, 1, "Taken")]);
    let at: Snapshot = events.net.snapshot();
    let page = at.event_list(&EventListRequest { limit: 1, ..request(HistoryOrder::OldestFirst) }, |_| true).unwrap();
    assert_eq!(page.next, Some(EventCursor { place: all[0].place, index: Some(0) }));
    let page = at.event_list(&EventListRequest { limit: 2, ..request(HistoryOrder::OldestFirst) }, |_| true).unwrap();
    assert_eq!((page.events, page.next), (all[..2].to_vec(), Some(EventCursor { place: all[0].place, index: None })));
    let page = at.event_list(&request(HistoryOrder::OldestFirst), |event| event.name == "Taken").unwrap();
    assert_eq!((page.events, page.next), (vec![all[1].clone(), all[3].clone()], None));
    // Cursors without an event of the chain.
    for (block, position) in [(0, 0), (2, 7), (99, 0), (u64::MAX, u32::MAX)] {
        for index in [None, Some(0), Some(u32::MAX)] {
            let place = HistoryPlace { block: BlockNumber::new(block), position };
            let after = Some(EventCursor { place, index });
            for order in ORDERS {
                let found = events.pages(EventListRequest { after, ..request(order) }, |_| ());
                let is_after = (block > all[0].place.block.get()) == (order == HistoryOrder::NewestFirst);
                assert_eq!(found.len(), if is_after { all.len() } else { 0 }, "{after:?} {order:?}");
            }
        }
    }
}
