//! Reads over HTTP: what the node spends on a request, beside the least server that speaks the same protocols.
//!
//! The peer is a bare hyper server that reads the request with `serde_json` and answers with a constant of the same
//! length. All servers are processes of their own, so that the time measured is processor time of the server alone,
//! whatever the client and the rest of the machine do meanwhile.

mod client;
mod server;

use std::{env, time::Duration};

use criterion::{Criterion, Throughput};

use self::{client::Client, server::Server};

/// The requests that are measured, as a client of the isolated server writes them.
const REQUESTS: [(&str, &str); 3] = [
    ("GetBalance", r#"["7bb3b0e8a59f3f61d9bff038f4aeb42cae2ecce8"]"#),
    ("GetLatestTxBlock", r#"[""]"#),
    ("GetBlockchainInfo", r#"[""]"#),
];

/// Blocks of the longer of two chains, between which no difference should be seen.
const LONG: u32 = 5_000;

/// Turns of the comparison, and requests in each.
const TURNS: usize = 30;
const REQUESTS_IN_TURN: u32 = 10_000;

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
    for (method, params) in REQUESTS {
        let request = format!(r#"{{"id":"1","jsonrpc":"2.0","method":"{method}","params":{params}}}"#);
        let bare = Server::bare(&Client::connect(node.port(), &request).answer());
        let mut subjects = [("bare", &bare), ("node", &node), ("node_5000_blocks", &long)]
            .map(|(name, server)| Subject { name, server, client: Client::connect(server.port(), &request) });
        measure(&mut criterion, method, &mut subjects);
        turn_by_turn(method, &mut subjects);
    }
    criterion.final_summary();
}

/// A server and a client that keeps it busy with one request.
struct Subject<'a> {
    name: &'static str,
    server: &'a Server,
    client: Client,
}

impl Subject<'_> {
    /// Returns the processor time that the server spends on so many requests.
    fn spend(&mut self, requests: u64) -> Duration {
        let before = self.server.processor_time();
        self.client.ask(requests);
        self.server.processor_time().saturating_sub(before)
    }
}

/// Reports the processor time of the server for each request.
fn measure(criterion: &mut Criterion, method: &str, subjects: &mut [Subject<'_>]) {
    let mut group = criterion.benchmark_group(format!("rpc/{method}"));
    group.throughput(Throughput::Elements(1));
    for subject in subjects {
        group.bench_function(subject.name, |bencher| bencher.iter_custom(|requests| subject.spend(requests)));
    }
    group.finish();
}

/// Compares the servers turn by turn, so that whatever else the machine does slows them alike.
#[expect(clippy::print_stdout, reason = "criterion prints its results there too")]
fn turn_by_turn(method: &str, subjects: &mut [Subject<'_>; 3]) {
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..TURNS {
        for (subject, times) in subjects.iter_mut().zip(&mut times) {
            times.push(subject.spend(REQUESTS_IN_TURN.into()) / REQUESTS_IN_TURN);
        }
    }
    let [bare, node, long] = times.map(median);
    println!(
        "turn by turn, medians of processor time: {method} {node:?}, bare {bare:?}: {} % of its requests in a second; \
         with {LONG} blocks {long:?}, {} %",
        bare.as_nanos() * 100 / node.as_nanos(),
        bare.as_nanos() * 100 / long.as_nanos(),
    );
}

fn median(mut times: Vec<Duration>) -> Duration {
    let middle = times.len() / 2;
    *times.select_nth_unstable(middle).1
}
