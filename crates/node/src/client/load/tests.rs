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
