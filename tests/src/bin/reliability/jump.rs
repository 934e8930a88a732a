//! Kills the node with SIGKILL while it makes many blocks at once, repeatedly with one data directory.
//!
//! After each kill, `silica db check` checks the directory as the crash left it, and the node starts again. Every block
//! that a client has read must exist with the same bytes, and have a link to the previous block. Every acknowledged
//! payment must exist as well.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use silica_tests::{Dice, Directory, Node, Wallet, chain::number, node::run as run_silica};

use crate::kill::check_clean;

/// Largest number of blocks in one request.
const MOST: u64 = 60_000;
/// Number of blocks that are checked after each start.
const SAMPLES: u64 = 20;

/// The blocks that clients have read.
#[derive(Debug, Default)]
struct Seen {
    blocks: Vec<(u64, Value)>,
    payments: u64,
}

/// Runs `loops` trials: a request for blocks, a kill, and a check.
///
/// # Panics
///
/// If a check fails.
pub(crate) fn run(loops: u64, seed: u64) {
    let mut dice = Dice::new(seed);
    let directory = Directory::new();
    let data = directory.path().join("data");
    println!("{loops} loops, seed {seed}, data in {}", data.display());
    let mut seen = Seen::default();
    let mut slowest_check = Duration::ZERO;
    let mut answered = 0;
    for turn in 1..=loops {
        let node = Node::start_in(&data, &[]);
        let begin = seen.check(&node, &mut dice);
        seen.pay(&node);
        let (blocks, life) = (1_000 + dice.below(MOST), Duration::from_millis(dice.below(250)));
        let waits = dice.below(4) == 0;
        if waits {
            node.result("IncreaseBlocknum", &json!([blocks]));
            answered += 1;
            seen.latest(&node);
        } else {
            let mut client = node.connect();
            let demand =
                json!({"id": 1, "jsonrpc": "2.0", "method": "IncreaseBlocknum", "params": [blocks]}).to_string();
            let head = format!("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", demand.len());
            client.write(&[head, demand].concat().into_bytes()).expect("the node reads");
            let begun = Instant::now();
            while begun.elapsed() < life {
                seen.latest(&node);
            }
        }
        node.kill();
        let made = seen.height() - begin;
        let end = if waits { "the answer".to_owned() } else { format!("{life:?}") };
        println!("loop {turn}: {made} of {blocks} blocks seen, killed after {end}");
        slowest_check = slowest_check.max(check_clean(&data));
    }
    let before = seen.height();
    rebuild(&data);
    let node = Node::start_in(&data, &[]);
    seen.check(&node, &mut dice);
    assert!(node.stop().status.success(), "the node stops as it should");
    println!(
        "{loops} kills among demands, {answered} of them after the answer: {before} blocks and {} payments were seen, none \
         lost or changed, by a rebuild neither; slowest check {slowest_check:?}",
        seen.payments
    );
}

impl Seen {
    /// Returns the number of the newest block that a client has read.
    fn height(&self) -> u64 {
        self.blocks.iter().map(|(number, _)| *number).max().unwrap_or(0)
    }

    /// Checks the noted blocks. Then reads a sample of further blocks, and notes the blocks of the sample. Returns the
    /// number of the newest block.
    fn check(&mut self, node: &Node, dice: &mut Dice) -> u64 {
        for (number, block) in &self.blocks {
            assert_eq!(read(node, *number), *block, "block {number} as it was seen");
        }
        let latest = self.latest(node);
        for _ in 0..SAMPLES {
            let number = 1 + dice.below(latest.max(1));
            if number <= latest {
                self.blocks.push((number, linked(node, number)));
            }
        }
        linked(node, latest);
        let balance = node.result("GetBalance", &json!([Wallet::funded(0).hex()]));
        assert_eq!(balance.get("nonce"), Some(&json!(self.payments)), "acknowledged payments");
        latest
    }

    /// Reads the latest block, and notes it. Returns its number.
    fn latest(&mut self, node: &Node) -> u64 {
        let block = node.result("GetLatestTxBlock", &json!([]));
        let latest = block.pointer("/header/BlockNum").map_or(0, number);
        if self.height() < latest {
            self.blocks.push((latest, block));
        }
        latest
    }

    /// Sends a payment. The node acknowledges the payment when the payment is in a block.
    fn pay(&mut self, node: &Node) {
        let payment = Wallet::funded(0).payment(self.payments + 1, Wallet::funded(1).address(), 1);
        node.result("CreateTransaction", &json!([payment.json()]));
        self.payments += 1;
    }
}

fn read(node: &Node, number: u64) -> Value {
    node.result("GetTxBlock", &json!([number.to_string()]))
}

/// Reads a block, and checks its link to the previous block.
fn linked(node: &Node, number: u64) -> Value {
    let block = read(node, number);
    if let Some(before) = number.checked_sub(1) {
        let (link, hash) = (block.pointer("/header/PrevBlockHash"), read(node, before));
        assert_eq!(link, hash.pointer("/body/BlockHash"), "what block {number} is linked to");
    }
    block
}

fn rebuild(data: &Path) {
    let rebuild = run_silica(&["db", "rebuild", "--data-dir", data.to_str().expect("temporary paths are UTF-8")]);
    assert!(rebuild.status.success(), "db rebuild fails:\n{}", rebuild.output);
}
