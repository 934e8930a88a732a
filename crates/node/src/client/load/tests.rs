//! Tests of `silica load` with a node in this process.

use clap::Parser;

use super::*;
use crate::{BlockMode, Node, RunningNode};

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    args: LoadArgs,
}

fn args(text: &str) -> LoadArgs {
    Line::try_parse_from(std::iter::once("load").chain(text.split_whitespace())).unwrap().args
}

async fn start(mode: BlockMode) -> RunningNode {
    Node::builder().block_mode(mode).start().await.unwrap()
}

async fn transactions(node: &RunningNode) -> String {
    node.request("GetNumTransactions", ()).await.unwrap()
}

async fn check(mode: BlockMode, further: &str) {
    let node = start(mode).await;
    let base = format!("--target {} --payments 60 --senders 7 --connections 3 --time-limit 30 {further}", node.addr());
    for _ in 0..2 {
        let report = load(args(&base)).await.unwrap().to_string();
        assert!(report.starts_with("60 payments in "), "{report}");
    }
    // Two loads with 60 payments each. Only the first load funds the seven senders, with one payment each.
    assert_eq!(transactions(&node).await, "127");
    node.stop().await.unwrap();
}

#[tokio::test]
async fn load_lands_in_instant_mode() {
    check(BlockMode::Instant, "").await;
}

#[tokio::test]
async fn load_lands_at_intervals_in_batches() {
    check(BlockMode::Interval(Duration::from_millis(20)), "--batch 8").await;
}

#[tokio::test]
async fn tokens_are_transferred() {
    for (mode, further) in [(BlockMode::Instant, ""), (BlockMode::Interval(Duration::from_millis(20)), "--batch 8")] {
        let node = start(mode).await;
        let base = "--tokens --payments 40 --senders 5 --connections 3 --time-limit 30";
        let report = load(args(&format!("{base} --target {} {further}", node.addr()))).await.unwrap().to_string();
        assert!(report.starts_with("40 transfers of tokens in "), "{report}");
        // In addition to the 40 transfers: one deployment, and one payment and one token transfer for each of the five
        // senders.
        assert_eq!(transactions(&node).await, "51");
        node.stop().await.unwrap();
    }
}

#[tokio::test]
async fn load_stays_on_this_machine() {
    let error = load(args("--target 192.0.2.1:5555")).await.unwrap_err();
    assert!(matches!(error, LoadError::Remote { .. }), "{error}");
}

#[tokio::test]
async fn load_ends_when_its_time_is_over() {
    let node = start(BlockMode::Manual).await;
    let error = load(args(&format!("--target {} --payments 1 --time-limit 1", node.addr()))).await.unwrap_err();
    assert!(matches!(error, LoadError::TimeLimit { .. }), "{error}");
    node.stop().await.unwrap();
}

type Load = tokio::task::JoinHandle<Result<LoadReport, LoadError>>;

/// Starts a load, and returns it when the pool has `pending` of its payments. Only a block that funds the senders is
/// made.
async fn begin(node: &RunningNode, senders: usize, pending: usize, further: &str) -> Load {
    let load = begin_to_fund(node, senders, further).await;
    mine(node).await;
    wait_for_pending(node, pending).await;
    load
}

/// Starts a load, and returns it when the pool has the payments that fund the senders.
async fn begin_to_fund(node: &RunningNode, senders: usize, further: &str) -> Load {
    let args = args(&format!("--target {} --senders {senders} {further}", node.addr()));
    // The future of a load cannot change its thread.
    let load = tokio::task::spawn_blocking(|| tokio::runtime::Handle::current().block_on(load(args)));
    wait_for_pending(node, senders).await;
    load
}

async fn wait_for_pending(node: &RunningNode, count: usize) {
    while node.chain().waiting() < count {
        sleep(PAUSE).await;
    }
}

async fn mine(node: &RunningNode) {
    node.request::<serde_json::Value>("silica_mine", (1,)).await.unwrap();
}

/// Makes blocks until a load ends.
async fn finish(node: &RunningNode, load: Load) -> String {
    while !load.is_finished() {
        mine(node).await;
        sleep(5 * PAUSE).await;
    }
    load.await.unwrap().unwrap().to_string()
}

#[tokio::test]
async fn dropped_payments_are_sent_again() {
    let node = start(BlockMode::Manual).await;
    let load = begin(&node, 1, 6, "--payments 6 --time-limit 20").await;
    // The latest payment is first.
    let pending: Vec<_> = node.chain().snapshot().pending().into_iter().map(|(hash, _)| hash).collect();
    for hash in &pending[3..5] {
        assert!(node.chain().withdraw(hash, crate::clock::now()));
    }
    let report = finish(&node, load).await;
    assert!(report.contains("sent again        2 payments that the pool had dropped"), "{report}");
    node.stop().await.unwrap();
}

#[tokio::test]
async fn dropped_payments_do_not_block_their_connection() {
    let node = Node::builder().block_mode(BlockMode::Manual).configure(|config| config.max_gapped = 2);
    let node = node.start().await.unwrap();
    // The pool has at most 1,000 payments of the sender. The last payments can enter the pool only after the dropped
    // ones.
    let load = begin(&node, 1, 1_000, "--payments 1010 --time-limit 60").await;
    assert_eq!(node.chain().withdraw_all(crate::clock::now()), 1_000);
    let report = finish(&node, load).await;
    assert!(report.contains("payments that the pool had dropped"), "{report}");
    node.stop().await.unwrap();
}

#[tokio::test]
async fn time_limit_counts_the_payments_of_all_senders() {
    let node = start(BlockMode::Manual).await;
    let load = begin(&node, 3, 6, "--payments 6 --time-limit 5").await;
    let error = load.await.unwrap().unwrap_err();
    assert_eq!(error.to_string(), "expected all transactions in blocks within 5s, 6 are missing");
    node.stop().await.unwrap();
}

#[tokio::test]
async fn time_limit_counts_the_senders_without_money() {
    let node = start(BlockMode::Manual).await;
    let load = begin_to_fund(&node, 5, "--payments 5 --time-limit 3").await;
    let pending: Vec<_> = node.chain().snapshot().pending().into_iter().map(|(hash, _)| hash).collect();
    for hash in &pending[1..3] {
        assert!(node.chain().withdraw(hash, crate::clock::now()));
    }
    mine(&node).await;
    let error = load.await.unwrap().unwrap_err();
    assert_eq!(error.to_string(), "expected all transactions in blocks within 3s, 2 are missing");
    node.stop().await.unwrap();
}
