//! Requests over HTTP: the processor time of the node for a request, compared with a minimal server of the same
//! protocols.
//!
//! The peer is a bare hyper server. It reads the request with `serde_json` and returns a constant of the same length.
//! All servers are separate processes. So the measured time is processor time of the server only, independent of the
//! client and of other work on the machine.

mod client;
mod server;

use std::{env, time::Duration};

use criterion::{Criterion, Throughput};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use silica_crypto::VerifySignature;
use silica_protocol::Address;
use silica_tests::{Payment, Wallet};

use self::{client::Client, server::Server};

/// Number of requests in a batch.
const BATCH: usize = 100;

/// Number of blocks in the longer of two chains. Both chains should have the same response times.
const LONG: u32 = 5_000;

/// Number of turns of the comparison.
const TURNS: usize = 30;
/// Number of single requests in each turn.
const REQUESTS_IN_TURN: u32 = 10_000;
/// Number of batches in each turn.
const BATCHES_IN_TURN: u32 = 200;
/// Number of payments in each turn. Each payment is new, because a node accepts it only once.
const PAYMENTS_IN_TURN: u32 = 300;

fn main() {
    if let Ok(role) = env::var(server::ROLE) {
        return server::serve(&role);
    }
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(3))
        .configure_from_args();
    let (node, long) = (Server::node(1), Server::node(LONG));
    let paid = Wallet::funded(0).payment(1, Wallet::stranger(0).address(), 1);
    let pay = |server: &Server| {
        let answer = server.ask(&request("CreateTransaction", &json!([paid.json()])));
        server.make_blocks(1);
        answer
    };
    let accepted = pay(&node);
    assert_eq!(accepted.len(), pay(&long).len(), "both nodes take the payment");
    assert!(accepted.contains("TranID"), "{accepted}");
    let balance = request("GetBalance", &json!([Wallet::funded(1).hex()]));
    let batch = format!("[{}]", vec![balance.as_str(); BATCH].join(","));
    let reads = [
        ("GetBalance", balance, REQUESTS_IN_TURN),
        ("GetLatestTxBlock", request("GetLatestTxBlock", &json!([""])), REQUESTS_IN_TURN),
        ("GetBlockchainInfo", request("GetBlockchainInfo", &json!([""])), REQUESTS_IN_TURN),
        ("GetTransaction", request("GetTransaction", &json!([paid.hash()])), REQUESTS_IN_TURN),
        ("GetBalance_batch_of_100", batch, BATCHES_IN_TURN),
    ];
    for (name, body, turn) in reads {
        let bodies = [body];
        let answer = Client::connect(node.port(), &bodies).answer();
        assert!(answer.contains("\"result\"") && !answer.contains("\"error\""), "{answer}");
        let bare = Server::bare(&answer);
        let mut subjects = Subject::all(&bare, &node, &long, &bodies);
        measure(&mut criterion, name, &mut subjects);
        turn_by_turn(name, &mut subjects, turn);
    }
    // Each payment is sent once. So criterion, which chooses the number of calls, does not measure them.
    let payments = payments();
    let bodies: Vec<_> =
        payments.iter().map(|payment| request("CreateTransaction", &json!([payment.json()]))).collect();
    let bare = Server::bare(&accepted);
    let mut subjects = Subject::all(&bare, &node, &long, &bodies);
    let [bare, node, _] = turn_by_turn("CreateTransaction", &mut subjects, PAYMENTS_IN_TURN);
    compare_with_verification(&payments, bare, node);
    logs(&mut criterion);
    criterion.final_summary();
}

/// Number of blocks of a request for logs. Each block has a payment, and each tenth block also has an event.
const BLOCKS_WITH_LOGS: u64 = 10_000;
const BLOCKS_FOR_A_LOG: u64 = 10;

/// Measures the processor time of the node for `eth_getLogs` of one contract over many blocks.
fn logs(criterion: &mut Criterion) {
    let node = Server::node(1);
    let mut nonces = [0_u64; 2];
    let mut send = |from: usize, to, code: &str, data: &Value| {
        let nonce = nonces.get_mut(from).expect("there are two senders");
        *nonce += 1;
        let mut payment = Wallet::funded(from).payment(*nonce, to, 0);
        if !data.is_null() {
            (payment.gas_limit, payment.code, payment.data) = (20_000, code.to_owned(), data.to_string());
        }
        let answer: Value = serde_json::from_str(&node.ask(&request("CreateTransaction", &json!([payment.json()]))))
            .expect("the response is JSON");
        let contract = answer.pointer("/result/ContractAddress").and_then(Value::as_str).map(str::parse::<Address>);
        contract.transpose().expect("the node writes addresses")
    };
    let init = json!([{"vname": "_scilla_version", "type": "Uint32", "value": "0"}]);
    let contract = send(0, Address::ZERO, include_str!("../../../tests/data/contracts/relay.scilla"), &init);
    let contract = contract.expect("a deployment has the address of the contract");
    node.make_blocks(1);
    for block in 0..BLOCKS_WITH_LOGS {
        if block % BLOCKS_FOR_A_LOG == 0 {
            send(0, contract, "", &json!({"_tag": "Take", "params": []}));
        }
        send(1, Wallet::stranger(0).address(), "", &Value::Null);
        node.make_blocks(1);
    }
    let filter =
        json!({"address": format!("0x{contract}"), "fromBlock": "0x0", "toBlock": format!("0x{BLOCKS_WITH_LOGS:x}")});
    let mut client = Client::connect(node.port(), &[request("eth_getLogs", &json!([filter]))]);
    let answer: Value = serde_json::from_str(&client.answer()).expect("the response is JSON");
    let count = answer.get("result").and_then(Value::as_array).map_or(0, Vec::len);
    assert_eq!(u64::try_from(count), Ok(BLOCKS_WITH_LOGS / BLOCKS_FOR_A_LOG), "{answer}");
    let mut group = criterion.benchmark_group("rpc/eth_getLogs_10000_blocks");
    group.bench_function("1000_logs", |bencher| {
        bencher.iter_custom(|requests| {
            let before = node.processor_time();
            client.ask(requests);
            node.processor_time().saturating_sub(before)
        });
    });
    group.finish();
}

/// Returns a request in the form of the clients of the isolated server.
fn request(method: &str, params: &Value) -> String {
    format!(r#"{{"id":"1","jsonrpc":"2.0","method":"{method}","params":{params}}}"#)
}

/// Returns payments of all funded accounts except the first.
fn payments() -> Vec<Payment> {
    let payers: Vec<_> = Wallet::all_funded().skip(1).collect();
    let count = TURNS * PAYMENTS_IN_TURN as usize + 1;
    let nonces = (1..).flat_map(|nonce| payers.iter().map(move |payer| (nonce, payer)));
    let payments = nonces.map(|(nonce, payer)| payer.payment(nonce, Wallet::stranger(1).address(), 1));
    payments.take(count).collect()
}

/// Prints the processor time of `CreateTransaction` relative to the time of the verification of a signature and of the
/// bare server together.
#[expect(clippy::print_stdout, reason = "criterion prints its results there too")]
fn compare_with_verification(payments: &[Payment], bare: Duration, node: Duration) {
    let signed: Vec<_> = payments.iter().map(Payment::signed).collect();
    let begun = thread_time();
    for transaction in &signed {
        transaction.verify_signature().expect("the signature is right");
    }
    let payments = u32::try_from(signed.len()).expect("there are few payments");
    let verification = thread_time().saturating_sub(begun) / payments;
    let percent = node.as_nanos() * 100 / (verification + bare).as_nanos();
    println!("verification of a signature {verification:?}; CreateTransaction: {percent} % of verification and bare");
}

/// Returns the processor time of this thread.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).expect("the time is positive")
}

/// A server, and a client that sends it one request repeatedly.
struct Subject<'a> {
    name: &'static str,
    server: &'a Server,
    client: Client,
}

impl<'a> Subject<'a> {
    fn all(bare: &'a Server, node: &'a Server, long: &'a Server, bodies: &[String]) -> [Self; 3] {
        [("bare", bare), ("node", node), ("node_5000_blocks", long)].map(|(name, server)| Self {
            name,
            server,
            client: Client::connect(server.port(), bodies),
        })
    }

    /// Returns the processor time of the server for this number of requests.
    fn spend(&mut self, requests: u64) -> Duration {
        let before = self.server.processor_time();
        self.client.ask(requests);
        self.server.processor_time().saturating_sub(before)
    }
}

/// Measures the processor time of the server per request.
fn measure(criterion: &mut Criterion, method: &str, subjects: &mut [Subject<'_>]) {
    let mut group = criterion.benchmark_group(format!("rpc/{method}"));
    group.throughput(Throughput::Elements(1));
    for subject in subjects {
        group.bench_function(subject.name, |bencher| bencher.iter_custom(|requests| subject.spend(requests)));
    }
    group.finish();
}

/// Measures the servers in turns, so that other load slows all of them equally. Prints and returns the median times.
#[expect(clippy::print_stdout, reason = "criterion prints its results there too")]
fn turn_by_turn(name: &str, subjects: &mut [Subject<'_>; 3], requests: u32) -> [Duration; 3] {
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..TURNS {
        for (subject, times) in subjects.iter_mut().zip(&mut times) {
            times.push(subject.spend(requests.into()) / requests);
        }
    }
    let [bare, node, long] = times.map(median);
    println!(
        "turn by turn, medians of processor time: {name} {node:?}, bare {bare:?}: {} % of its requests in a second; \
         with {LONG} blocks {long:?}, {} %",
        bare.as_nanos() * 100 / node.as_nanos(),
        bare.as_nanos() * 100 / long.as_nanos(),
    );
    [bare, node, long]
}

fn median(mut times: Vec<Duration>) -> Duration {
    let middle = times.len() / 2;
    *times.select_nth_unstable(middle).1
}
