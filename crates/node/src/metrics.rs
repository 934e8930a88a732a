//! What is counted while the node runs, in the form in which Prometheus collects it.
//!
//! Counting costs a request two looks at the clock, a short lock and an atomic number. What can be read when it is asked for, as the
//! height of the chain, is not counted at all.

use std::{
    fmt,
    path::PathBuf,
    sync::{OnceLock, atomic::AtomicU64},
    time::Duration,
};

use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram, info::Info},
    registry::{Registry, Unit},
};
use silica_protocol::rpc::error::RpcErrorCode;

use crate::{driver::NodeHandle, rpc::METHODS};

/// Media type of the text.
pub(crate) const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Upper ends of the classes of latency, in seconds.
const LATENCIES: [f64; 13] = [1e-5, 5e-5, 1e-4, 5e-4, 1e-3, 5e-3, 1e-2, 5e-2, 0.1, 0.5, 1.0, 5.0, 10.0];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Method {
    method: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Code {
    code: i32,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Status {
    status: u16,
}

type Latencies = Family<Method, Histogram, fn() -> Histogram>;

/// Everything that is counted.
pub(crate) struct Metrics {
    registry: Registry,
    latencies: Latencies,
    /// Those of each method, at its place in the table, once it was called. A name that is no method has none, so that
    /// clients cannot invent labels.
    by_method: Box<[OnceLock<Histogram>]>,
    errors: Family<Code, Counter>,
    statuses: Family<Status, Counter>,
    ok: Counter,
    pub(crate) connections: Gauge,
    pub(crate) sessions: Gauge,
    at_head: AtHead,
}

/// What is read when it is asked for.
#[derive(Default)]
struct AtHead {
    tx_block: Gauge,
    ds_block: Gauge,
    transactions: Counter<u64, AtomicU64>,
    waiting: Gauge,
    ready: Gauge,
    programs: Gauge,
    program_bytes: Gauge,
    store_bytes: Gauge,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("silica");
        let latencies: Latencies = Family::new_with_constructor(|| Histogram::new(LATENCIES));
        let (errors, statuses) = (Family::<Code, Counter>::default(), Family::<Status, Counter>::default());
        let (connections, sessions) = (Gauge::default(), Gauge::default());
        let at_head = AtHead::default();
        registry.register("build", "The program", Info::new([("version", env!("CARGO_PKG_VERSION"))]));
        registry.register_with_unit(
            "rpc_request_duration",
            "Time from the parameters of a call to its answer, or to the first piece of a long one",
            Unit::Seconds,
            latencies.clone(),
        );
        registry.register("rpc_errors", "Calls that were answered with an error", errors.clone());
        registry.register("http_requests", "Requests that were answered", statuses.clone());
        registry.register("http_connections", "Open connections", connections.clone());
        registry.register("websocket_sessions", "Open WebSocket sessions", sessions.clone());
        registry.register("block_height", "Number of the latest Tx block", at_head.tx_block.clone());
        registry.register("ds_block_height", "Number of the latest DS block", at_head.ds_block.clone());
        registry.register("transactions", "Transactions in blocks", at_head.transactions.clone());
        registry.register("pool_transactions", "Transactions that wait for a block", at_head.waiting.clone());
        registry.register("ready", "1 if the node takes requests and makes blocks, or else 0", at_head.ready.clone());
        registry.register("code_cache_programs", "Checked contracts in memory", at_head.programs.clone());
        registry.register_with_unit(
            "code_cache",
            "Memory that checked contracts take, about",
            Unit::Bytes,
            at_head.program_bytes.clone(),
        );
        registry.register_with_unit("store", "Files of the data directory", Unit::Bytes, at_head.store_bytes.clone());
        let ok = statuses.get_or_create(&Status { status: 200 }).clone();
        let by_method = METHODS.iter().map(|_| OnceLock::new()).collect();
        Self { registry, latencies, by_method, errors, statuses, ok, connections, sessions, at_head }
    }
}

impl Metrics {
    /// Counts a call of the method at `position` of the table.
    pub(crate) fn called(&self, position: usize, took: Duration) {
        let (Some(place), Some(method)) = (self.by_method.get(position), METHODS.get(position)) else { return };
        let of = || self.latencies.get_or_create(&Method { method: method.name }).clone();
        place.get_or_init(of).observe(took.as_secs_f64());
    }

    /// Counts an error that was answered.
    pub(crate) fn failed(&self, code: RpcErrorCode) {
        self.errors.get_or_create(&Code { code: code.get() }).inc();
    }

    /// Counts an answer.
    pub(crate) fn answered(&self, status: u16) {
        match status {
            200 => self.ok.inc(),
            status => self.statuses.get_or_create(&Status { status }).inc(),
        };
    }

    /// Writes everything as text. Reads the sizes of the files in `data_dir`, which may take its time.
    pub(crate) fn text(&self, node: &NodeHandle, data_dir: Option<PathBuf>) -> String {
        let AtHead { tx_block, ds_block, transactions, waiting, ready, programs, program_bytes, store_bytes } =
            &self.at_head;
        let figures = node.context().snapshot.statistics();
        tx_block.set(whole(figures.latest_tx_block.get()));
        ds_block.set(whole(figures.latest_ds_block.get()));
        transactions.inner().store(figures.transactions, std::sync::atomic::Ordering::Relaxed);
        waiting.set(whole(u64::try_from(node.chain().waiting()).unwrap_or(u64::MAX)));
        ready.set(i64::from(node.readiness().is_ok()));
        let cached = node.chain().code_cache();
        programs.set(whole(u64::try_from(cached.programs).unwrap_or(u64::MAX)));
        program_bytes.set(whole(cached.bytes));
        store_bytes.set(whole(data_dir.map_or(0, size_of)));
        let mut text = String::new();
        match encode(&mut text, &self.registry) {
            Ok(()) => text,
            Err(fmt::Error) => String::new(),
        }
    }
}

fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Sum of the sizes of all files below a directory. What cannot be read, or has just gone, counts nothing.
fn size_of(directory: PathBuf) -> u64 {
    let (mut sum, mut left) = (0_u64, vec![directory]);
    while let Some(directory) = left.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(found) if found.is_dir() => left.push(entry.path()),
                Ok(found) => sum = sum.saturating_add(found.len()),
                Err(_) => {}
            }
        }
    }
    sum
}

/// Something that is open for as long as this is kept.
#[derive(Debug)]
pub(crate) struct Open(Gauge);

impl Open {
    pub(crate) fn count(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.dec();
    }
}
