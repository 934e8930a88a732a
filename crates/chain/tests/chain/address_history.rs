//! Transactions of an address. All pages together have each transaction once: in both orders, with each limit, and if
//! blocks arrive between two pages.

use serde_json::json;
use silica_chain::{AddressRole, AddressTransaction, HistoryOrder, HistoryPlace, HistoryRequest};
use silica_protocol::{Address, BlockNumber, UnsignedTransaction};

use crate::{
    contracts::{World, init, text_param},
    harness::{Net, config, signed, user},
};

/// Returns a chain with blocks of up to 100 payments among four users. There are empty block ranges between these
/// blocks.
fn net() -> Net {
    let mut net = Net::new(config(2, 50));
    for round in 0..12_u8 {
        for payment in 0..[3, 0, 100, 1][usize::from(round % 4)] {
            net.pay_next(1 + payment % 3, user(1 + (round + payment / 3) % 4), 1);
        }
        net.tick();
        if round % 3 == 0 {
            net.demand(40);
        }
    }
    net
}

fn request(address: Address, order: HistoryOrder) -> HistoryRequest {
    HistoryRequest { address, order, after: None, limit: usize::MAX, effort: usize::MAX }
}

/// Returns the transactions of all pages, and the number of pages. Calls `between` after each page.
fn pages(
    net: &mut Net,
    mut request: HistoryRequest,
    mut between: impl FnMut(&mut Net),
) -> (Vec<AddressTransaction>, usize) {
    let mut all = Vec::new();
    for count in 1.. {
        let page = net.snapshot().transactions_of(&request).unwrap();
        assert!(page.transactions.len() <= request.limit);
        all.extend(page.transactions);
        let Some(next) = page.next else { return (all, count) };
        if let Some(after) = request.after {
            assert_eq!(next > after, request.order == HistoryOrder::OldestFirst, "{after:?} {next:?}");
            assert_ne!(next, after);
        }
        request.after = Some(next);
        between(net);
    }
    unreachable!()
}

/// Returns the transactions of an address from a read of all blocks, the oldest first, and the number of transactions
/// of all addresses.
fn expected(net: &Net, address: &Address) -> (Vec<AddressTransaction>, usize) {
    let store = net.test.producer().store().snapshot();
    let (mut found, mut count) = (Vec::new(), 0);
    for block in (0..=net.height()).map(BlockNumber::new) {
        for ((transaction, receipt), position) in
            store.transactions(block, 0..u32::MAX).unwrap().unwrap().iter().zip(0..)
        {
            count += 1;
            let sent = (transaction.sender() == *address).then_some(AddressRole::Sender);
            let received = (transaction.to == *address).then_some(AddressRole::Recipient);
            let roles: Vec<_> = sent.into_iter().chain(received).collect();
            if !roles.is_empty() {
                found.push(AddressTransaction {
                    place: HistoryPlace { block, position },
                    hash: transaction.hash(),
                    sender: transaction.sender(),
                    recipient: transaction.to,
                    amount: transaction.amount,
                    success: receipt.success,
                    roles,
                });
            }
        }
    }
    (found, count)
}

#[test]
fn pages_of_any_size_and_effort_have_each_transaction_once() {
    let mut net = net();
    for address in [user(1), user(4), user(5)] {
        let (forward, _) = expected(&net, &address);
        let backward: Vec<_> = forward.iter().rev().cloned().collect();
        assert_eq!(forward.is_empty(), address == user(5));
        for (limit, effort) in [(1, 1), (1, 7), (7, 1), (2, 64), (64, 65), (1000, 10), (10, 1000), (1000, 1000)] {
            for (order, expected) in [(HistoryOrder::OldestFirst, &forward), (HistoryOrder::NewestFirst, &backward)] {
                let request = HistoryRequest { limit, effort, ..request(address, order) };
                assert_eq!(pages(&mut net, request, |_| ()).0, *expected, "{order:?} {limit} {effort}");
            }
        }
    }
}

#[test]
fn page_reads_no_more_than_its_effort() {
    let mut net = net();
    let (_, transactions) = expected(&net, &user(5));
    assert_eq!(transactions, 312);
    for order in [HistoryOrder::OldestFirst, HistoryOrder::NewestFirst] {
        for effort in [1, 10, 100, 311, 312] {
            let (found, count) = pages(&mut net, HistoryRequest { effort, ..request(user(5), order) }, |_| ());
            assert!(found.is_empty());
            // The blocks on the way take a part of the effort.
            let expected = transactions.div_ceil(effort)..=(2 * transactions).div_ceil(effort);
            assert!(expected.contains(&count), "{order:?} {effort}: {count} pages");
        }
    }
}

#[test]
fn ways_from_block_to_block_take_effort() {
    const PAYMENTS: usize = 30;
    let mut net = Net::new(config(1, 50));
    for _ in 0..PAYMENTS {
        net.pay_next(1, user(2), 1);
        net.tick();
        net.demand(40);
    }
    for (order, least) in [(HistoryOrder::NewestFirst, 2), (HistoryOrder::OldestFirst, 8)] {
        let request = HistoryRequest { effort: PAYMENTS, ..request(user(2), order) };
        let (found, count) = pages(&mut net, request, |_| ());
        assert_eq!(found.len(), PAYMENTS);
        assert!((least..PAYMENTS).contains(&count), "{order:?}: {count} pages");
    }
}

#[test]
fn new_blocks_move_no_page_that_was_begun() {
    let mut net = net();
    let (mut before, _) = expected(&net, &user(1));
    before.reverse();
    let disturb = |net: &mut Net| {
        net.pay_next(1, user(1), 1);
        net.tick();
        net.demand(20);
    };
    let request = HistoryRequest { limit: 9, ..request(user(1), HistoryOrder::NewestFirst) };
    let (found, count) = pages(&mut net, request, disturb);
    assert_eq!(found, before);
    assert!(count > 10);
}

/// A contract that stores a text, and emits the text four times in an event.
const LOUD: &str = r#"scilla_version 0
contract Loud ()
field text : String = ""
transition Learn (new : String)
  text := new
end
transition Tell ()
  t <- text;
  e = { _eventname : "Told"; a : t; b : t; c : t; d : t };
  event e
end
"#;

#[test]
fn large_receipts_make_short_pages() {
    const EFFORT: usize = 200;
    let mut world = World::new();
    let contract = world.deployed(1, LOUD, &init(&[]));
    assert!(world.call(1, contract, "Learn", &[text_param("new", &"x".repeat(5_000))], 0).success);
    for _ in 0..2 {
        for from in 2..=7 {
            let data = json!({"_tag": "Tell", "params": []}).to_string();
            world.net.submit(signed(from, UnsignedTransaction { to: contract, data, ..world.transaction(from) }));
        }
        assert_eq!(world.net.tick().transactions().len(), 6);
    }
    let net = &mut world.net;
    for order in [HistoryOrder::OldestFirst, HistoryOrder::NewestFirst] {
        let request = HistoryRequest { effort: EFFORT, ..request(contract, order) };
        let (found, _) = pages(net, request.clone(), |_| ());
        assert_eq!(found.len(), 2 + 12);
        let mut page = net.snapshot().transactions_of(&request).unwrap();
        let mut longest = 0;
        while let Some(next) = page.next {
            let bytes = page.transactions.iter().map(|found| {
                let stored = net.snapshot().transaction(&found.hash).unwrap().unwrap();
                stored.receipt.to_compact_json().len()
            });
            let bytes: Vec<_> = bytes.collect();
            longest = longest.max(bytes.iter().filter(|bytes| **bytes > 20_000).count());
            // The last transaction can exceed the limit.
            assert!(bytes.iter().rev().skip(1).sum::<usize>() <= EFFORT * 256, "{order:?} {bytes:?}");
            page = net.snapshot().transactions_of(&HistoryRequest { after: Some(next), ..request.clone() }).unwrap();
        }
        assert_eq!(longest, 3, "20,000 bytes take an effort of 80");
    }
}
