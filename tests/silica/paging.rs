//! Lists in pages while the chain grows, is reverted, and is indexed: no page misses or repeats an element.

use std::{
    collections::BTreeSet,
    fs,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::Duration,
};

use serde_json::{Value, json};
use silica_protocol::Address;
use silica_tests::{Directory, Node, Wallet};

use crate::height;

const RELAY: &str = include_str!("../data/contracts/relay.scilla");

/// The answer to a request that a revert has interrupted. The client sends the request again.
const REVERTED: &str = "The chain was reverted meanwhile, try again";

/// A list with elements of one contract.
#[derive(Clone, Copy, Debug)]
enum List {
    Transactions,
    Events,
    Transfers,
}

/// A list and its order.
type Walk = (List, &'static str);

/// Each list in each order. No list has two elements with the same place.
const WALKS: [Walk; 6] = [
    (List::Transactions, "newest"),
    (List::Transactions, "oldest"),
    (List::Events, "newest"),
    (List::Events, "oldest"),
    (List::Transfers, "newest"),
    (List::Transfers, "oldest"),
];

/// A place in the chain: a block, and a position in the block.
type Place = (u64, u64);

/// Returns the place of an element.
fn place(element: &Value) -> Place {
    (element["block"].as_str().unwrap().parse().unwrap(), element["position"].as_u64().unwrap())
}

/// A node with a contract whose calls the lists have.
struct Busy {
    node: Node,
    contract: Address,
    nonce: AtomicU64,
}

impl Busy {
    /// Deploys the contract on a new node, which makes blocks on request.
    fn new(node: Node) -> Self {
        let mut busy = Self { node, contract: Address::ZERO, nonce: AtomicU64::new(0) };
        let init = json!([{"vname": "_scilla_version", "type": "Uint32", "value": "0"}]);
        let deployed = busy.send(RELAY, 0, &init);
        busy.contract = deployed["ContractAddress"].as_str().unwrap().parse().unwrap();
        busy.mine(1);
        busy
    }

    fn send(&self, code: &str, amount: u128, data: &Value) -> Value {
        let nonce = self.nonce.fetch_add(1, Ordering::SeqCst) + 1;
        let mut payment = Wallet::funded(0).payment(nonce, self.contract, amount);
        (payment.gas_limit, payment.code, payment.data) = (20_000, code.to_owned(), data.to_string());
        self.node.result("CreateTransaction", &json!([payment.json()]))
    }

    /// Sends calls with an amount and one event each.
    fn take(&self, calls: u64) {
        for _ in 0..calls {
            self.send("", 1, &json!({"_tag": "Take", "params": []}));
        }
    }

    fn mine(&self, blocks: u64) {
        self.node.result("silica_mine", &json!([blocks]));
    }

    /// Makes rounds of one block with up to three calls, and sometimes empty blocks.
    fn grow(&self, rounds: u64) {
        for round in 0..rounds {
            self.take(1 + round % 3);
            self.mine(if round % 5 == 4 { 7 } else { 1 });
        }
    }

    /// Returns a page and its `next`, or `None` if a revert has interrupted the request.
    fn page(&self, (list, order): Walk, limit: u64, cursor: &Value) -> Option<(Vec<Value>, Value)> {
        let contract = self.contract.to_string();
        let mut options = json!({"cursor": cursor, "limit": limit, "order": order});
        let (method, member, params) = match list {
            List::Transactions => ("silica_getTransactionsForAddress", "transactions", json!([contract, options])),
            List::Events => {
                options["contract"] = json!(contract);
                ("silica_getEvents", "events", json!([options]))
            }
            List::Transfers => {
                options["addresses"] = json!([contract]);
                ("silica_getTransfers", "transfers", json!([options]))
            }
        };
        match self.node.call(method, &params) {
            Ok(page) => Some((page[member].as_array().unwrap().clone(), page["next"].clone())),
            Err(error) if error.message == REVERTED => None,
            Err(error) => panic!("{method} {params}: {error:?}"),
        }
    }

    /// Returns the elements of all pages from a cursor on.
    fn pages(&self, walk: Walk, limit: u64, mut cursor: Value) -> Vec<Value> {
        let mut found = Vec::new();
        loop {
            let Some((elements, next)) = self.page(walk, limit, &cursor) else { continue };
            found.extend(elements);
            if next.is_null() {
                return found;
            }
            cursor = next;
        }
    }

    /// Returns all elements from the oldest on. Compares their places with the receipts of all blocks.
    fn all(&self, list: List) -> Vec<Value> {
        let all = self.pages((list, "oldest"), 1000, Value::Null);
        let mut places = Vec::new();
        for block in 1..=height(&self.node) {
            // A block without transactions has an error.
            let Ok(bodies) = self.node.call("GetTxnBodiesForTxBlock", &json!([block.to_string()])) else { continue };
            for (position, body) in (0_u64..).zip(bodies.as_array().unwrap()) {
                assert_eq!(body["receipt"]["success"], true, "{body}");
                let is_call = body["receipt"]["event_logs"].is_array();
                if is_call || matches!(list, List::Transactions) {
                    places.push((block, position));
                }
            }
        }
        assert_eq!(all.iter().map(place).collect::<Vec<_>>(), places, "{list:?}");
        all
    }

    /// Waits until the history index has all blocks.
    fn wait_for_index(&self) {
        while self.indexed() <= height(&self.node) {
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn indexed(&self) -> u64 {
        self.node.result("silica_nodeInfo", &json!([]))["indexedBlocks"].as_str().unwrap().parse().unwrap()
    }
}

/// Returns elements from the oldest on.
fn oldest_first(walk: Walk, mut elements: Vec<Value>) -> Vec<Value> {
    if walk.1 == "newest" {
        elements.reverse();
    }
    elements
}

#[test]
fn pages_that_are_read_while_blocks_arrive_have_each_element_once() {
    let busy = Busy::new(Node::start(&["--block-mode", "manual"]));
    busy.grow(20);
    let before = WALKS.map(|walk| busy.all(walk.0).len());
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let readers = WALKS.map(|walk| {
            let (busy, is_over) = (&busy, &is_over);
            let read = move || {
                let mut passes = Vec::new();
                while !is_over.load(Ordering::SeqCst) {
                    passes.push(oldest_first(walk, busy.pages(walk, 3, Value::Null)));
                }
                (walk, passes)
            };
            scope.spawn(read)
        });
        busy.grow(40);
        is_over.store(true, Ordering::SeqCst);
        for (reader, before) in readers.into_iter().zip(before) {
            let (walk, passes) = reader.join().unwrap();
            let all = busy.all(walk.0);
            assert!(passes.iter().any(|pass| pass.len() < all.len()), "{walk:?}: no block arrived during a pass");
            for pass in passes {
                // A pass has the elements up to the latest block of one of its pages.
                assert!(pass.len() >= before, "{walk:?}: {} of {before}", pass.len());
                assert_eq!(pass, all[..pass.len()], "{walk:?}");
            }
        }
    });
}

#[test]
fn pages_that_are_read_while_the_index_is_built_have_each_element_once() {
    let directory = Directory::new();
    let data = directory.path().join("data");
    let busy = Busy::new(Node::start_in(&data, &["--block-mode", "manual", "--index", "off"]));
    busy.grow(10);
    busy.mine(400_000);
    busy.grow(10);
    let expected = WALKS.map(|walk| busy.pages((walk.0, "oldest"), 1000, Value::Null));
    let Busy { node, contract, nonce } = busy;
    node.stop();
    let busy = Busy { node: Node::start_in(&data, &["--block-mode", "manual"]), contract, nonce };
    let mut coverages = BTreeSet::new();
    loop {
        let indexed = busy.indexed();
        coverages.insert(indexed);
        for (walk, expected) in WALKS.iter().zip(&expected) {
            assert_eq!(&oldest_first(*walk, busy.pages(*walk, 7, Value::Null)), expected, "{walk:?} {indexed}");
        }
        if indexed > height(&busy.node) {
            break;
        }
    }
    assert!(coverages.len() > 1, "the index was complete before the first request");
}

/// A cursor in a removed block names the same place among the blocks that replace it (docs/explorers.md).
#[test]
fn pages_continue_at_the_same_place_after_a_revert() {
    let busy = Busy::new(Node::start(&["--block-mode", "manual"]));
    busy.grow(10);
    let (nonce, kept_blocks) = (busy.nonce.load(Ordering::SeqCst), height(&busy.node));
    let savepoint = busy.node.result("silica_snapshot", &json!([]));
    let kept = WALKS.map(|walk| busy.all(walk.0));
    busy.grow(20);
    // The first pages, up to one that ends in the middle of the removed blocks.
    let cursors = WALKS.map(|walk| {
        let mut cursor = Value::Null;
        loop {
            let (elements, next) = busy.page(walk, 3, &cursor).unwrap();
            let last = place(elements.last().unwrap());
            let is_between = (kept_blocks + 6..kept_blocks + 16).contains(&last.0);
            assert!(!next.is_null());
            if is_between {
                return (last, next);
            }
            cursor = next;
        }
    });
    busy.node.result("silica_revert", &json!([savepoint]));
    busy.nonce.store(nonce, Ordering::SeqCst);
    for ((walk, (_, cursor)), kept) in WALKS.iter().zip(&cursors).zip(&kept) {
        let rest = busy.pages(*walk, 3, cursor.clone());
        if walk.1 == "newest" {
            assert_eq!(&oldest_first(*walk, rest), kept, "{walk:?}: all blocks that stayed are before the cursor");
        } else {
            assert_eq!(rest, [] as [Value; 0], "{walk:?}: no block is after the cursor");
        }
    }
    // Other blocks replace the removed ones, also those at the cursors.
    for round in 0..30 {
        busy.take(3 - round % 3);
        busy.mine(1);
    }
    for is_indexed in [false, true] {
        if is_indexed {
            busy.wait_for_index();
        }
        for ((walk, (last, cursor)), kept) in WALKS.iter().zip(&cursors).zip(&kept) {
            let all = busy.all(walk.0);
            assert_eq!(&all[..kept.len()], kept, "{walk:?}");
            let is_behind = |element: &&Value| {
                if walk.1 == "newest" { place(element) < *last } else { place(element) > *last }
            };
            let expected: Vec<Value> = all.iter().filter(is_behind).cloned().collect();
            let rest = oldest_first(*walk, busy.pages(*walk, 3, cursor.clone()));
            assert_eq!(rest, expected, "{walk:?}");
        }
    }
}

#[test]
fn pages_that_are_read_during_reverts_have_each_element_that_stays_once() {
    let busy = Busy::new(Node::start(&["--block-mode", "manual"]));
    busy.grow(8);
    let (nonce, kept_blocks) = (busy.nonce.load(Ordering::SeqCst), height(&busy.node));
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let readers = WALKS.map(|walk| {
            let (busy, is_over) = (&busy, &is_over);
            let read = move || {
                let mut passes = 0;
                let mut kept: Option<Vec<Value>> = None;
                while !is_over.load(Ordering::SeqCst) {
                    let pass = oldest_first(walk, busy.pages(walk, 2, Value::Null));
                    let places: Vec<Place> = pass.iter().map(place).collect();
                    assert!(places.is_sorted_by(|one, next| one < next), "{walk:?}: {places:?}");
                    let stayed: Vec<Value> =
                        pass.into_iter().filter(|element| place(element).0 <= kept_blocks).collect();
                    assert_eq!(&stayed, kept.get_or_insert_with(|| stayed.clone()), "{walk:?}");
                    passes += 1;
                }
                (walk, passes, kept.unwrap())
            };
            scope.spawn(read)
        });
        for round in 0..25_u64 {
            let savepoint = busy.node.result("silica_snapshot", &json!([]));
            for _ in 0..=round % 4 {
                busy.take(1 + round % 3);
                busy.mine(1);
            }
            busy.node.result("silica_revert", &json!([savepoint]));
            busy.nonce.store(nonce, Ordering::SeqCst);
        }
        busy.grow(3);
        is_over.store(true, Ordering::SeqCst);
        busy.wait_for_index();
        for reader in readers {
            let (walk, passes, kept) = reader.join().unwrap();
            assert!(passes > 1, "{walk:?}");
            assert_eq!(busy.all(walk.0)[..kept.len()], kept, "{walk:?}");
        }
    });
}

/// The log names a failure of the index. The lists are complete during the failure and after its end.
#[test]
fn failure_of_the_index_is_logged_and_repaired() {
    let directory = Directory::new();
    let data = directory.path().join("data");
    let busy = Busy::new(Node::start_in(&data, &["--block-mode", "manual"]));
    busy.grow(10);
    let expected = WALKS.map(|walk| busy.pages((walk.0, "oldest"), 1000, Value::Null));
    let Busy { node, contract, nonce } = busy;
    node.stop();
    let index = data.join("store/index");
    fs::remove_dir_all(&index).unwrap();
    fs::write(&index, "no directory").unwrap();
    let busy = Busy { node: Node::start_in(&data, &["--block-mode", "manual"]), contract, nonce };
    busy.node.wait_for("the history index failed");
    let is_complete = |busy: &Busy| {
        for (walk, expected) in WALKS.iter().zip(&expected) {
            assert_eq!(&oldest_first(*walk, busy.pages(*walk, 7, Value::Null)), expected, "{walk:?}");
        }
    };
    assert_eq!(busy.indexed(), 0);
    is_complete(&busy);
    fs::remove_file(&index).unwrap();
    // After a failure, the node waits for some blocks before it opens the index again.
    while busy.indexed() <= height(&busy.node) {
        busy.mine(1);
        thread::sleep(Duration::from_millis(5));
    }
    is_complete(&busy);
}
