//! Requests over HTTP: the processor time of the node for a request, compared with a minimal server of the same
//! protocols.
//!
//! ```sh
//! rpc() { cargo run --profile dist -p silica-benches --example rpc -- "$@"; }
//! rpc         # measures all rows
//! rpc NAME    # measures the rows whose names contain NAME, for example `rpc GetTransaction`
//! ```
//!
//! The variable `DIVISOR` divides the numbers of turns, requests, payments and blocks, for tests. Its default is 1.
//!
//! The peer is a bare hyper server. It reads the request with `serde_json` and returns a constant of the same length.
//! All servers are separate processes. So the measured time is processor time of the server only, independent of the
//! client and of other work on the machine.
#![expect(clippy::print_stdout, reason = "it is what the program is for")]

mod client;
mod contracts;
mod payments;
mod run;
mod server;

use std::{env, iter::once, time::Duration};

use mimalloc::MiMalloc;
use serde_json::{Value, json};
use silica_benches::measure::valid;
use silica_tests::Wallet;

use self::{
    client::{Client, Requests},
    run::{Run, Turn},
    server::Server,
};

/// The allocator of the node.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// The rows that compare two chains with the peer.
const READS: [&str; 8] = [
    "GetBalance",
    "GetLatestTxBlock",
    "GetBlockchainInfo",
    "GetTransaction_read_before",
    "TxBlockListing",
    "GetSmartContractSubState_field",
    "GetSmartContractSubState_map_entry",
    "GetBalance_batch_of_100",
];

/// Number of requests in a batch.
const BATCH: usize = 100;

/// Number of blocks in the longer of two chains. Both chains should have the same response times.
const LONG: usize = 5_000;

/// Number of single requests in each turn.
const REQUESTS_IN_TURN: usize = 10_000;
/// Number of batches in each turn.
const BATCHES_IN_TURN: usize = 200;

fn main() {
    if let Ok(role) = env::var(server::ROLE) {
        return server::serve(&role);
    }
    let rows: Vec<_> = READS.into_iter().chain(payments::ROWS).chain(once(contracts::LOGS)).collect();
    let run = valid(Run::from_environment(&rows));
    if READS.iter().any(|name| run.has(name)) {
        reads(&run);
    }
    if run.has(payments::FIRST_READ) {
        payments::first_reads(&run);
    }
    if run.has(payments::CREATE) {
        payments::create(&run);
    }
    if run.has(contracts::LOGS) {
        contracts::logs(&run);
    }
}

/// Measures the reads on two chains that differ only in their length.
fn reads(run: &Run) {
    let nodes = [1, run.share(LONG)].map(Server::node);
    let paid = Wallet::funded(0).payment(1, Wallet::stranger(0).address(), 1);
    let tokens = nodes.each_ref().map(|node| {
        let answer = node.ask(&request("CreateTransaction", &json!([paid.json()])));
        assert!(answer.contains("TranID"), "{answer}");
        node.make_blocks(1);
        contracts::token(node)
    });
    let ([short, long], [token, other]) = (&nodes, tokens);
    assert_eq!(token, other, "the token has the same address on both chains");
    let sub_state = |field: &str, keys: &Value| request("GetSmartContractSubState", &json!([token, field, keys]));
    let balance = request("GetBalance", &json!([Wallet::funded(1).hex()]));
    let batch = format!("[{}]", vec![balance.as_str(); BATCH].join(","));
    let bodies = [
        (balance, REQUESTS_IN_TURN, "\"balance\":"),
        (request("GetLatestTxBlock", &json!([""])), REQUESTS_IN_TURN, "\"BlockNum\":"),
        (request("GetBlockchainInfo", &json!([""])), REQUESTS_IN_TURN, "\"NumTxBlocks\":"),
        (request("GetTransaction", &json!([paid.hash()])), REQUESTS_IN_TURN, "\"success\":true"),
        (request("TxBlockListing", &json!([1])), REQUESTS_IN_TURN, "\"maxPages\":"),
        (sub_state("total_supply", &json!([])), REQUESTS_IN_TURN, contracts::SUPPLY),
        (sub_state("balances", &json!([contracts::holder(0)])), REQUESTS_IN_TURN, contracts::MINTED),
        (batch, BATCHES_IN_TURN, "\"balance\":"),
    ];
    for (name, (body, requests, expected)) in READS.into_iter().zip(bodies).filter(|(name, _)| run.has(name)) {
        let (bare, list) = (Server::bare(&short.ask(&body)), Requests::new([&body], expected));
        let turn = |server| Turn::new(server, &list, run.share(requests));
        let times = run.turn_by_turn([turn(&bare), turn(short), turn(long)]);
        print_ratios(run, name, times);
    }
}

/// Prints the median times of a request, and how many requests a node handles relative to the peer.
fn print_ratios(run: &Run, name: &str, [bare, short, long]: [Duration; 3]) {
    println!(
        "{name}: {short:?}, bare {bare:?}: {} % of its requests in a second; with {} blocks {long:?}, {} %",
        bare.as_nanos() * 100 / short.as_nanos().max(1),
        run.share(LONG),
        bare.as_nanos() * 100 / long.as_nanos().max(1),
    );
}

/// Returns a request in the form of the clients of the isolated server.
fn request(method: &str, params: &Value) -> String {
    format!(r#"{{"id":"1","jsonrpc":"2.0","method":"{method}","params":{params}}}"#)
}
