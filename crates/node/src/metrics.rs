//! Metrics of a running node, in the text format of Prometheus.
//!
//! For each request, the metrics cost two reads of the clock, a short lock and an atomic addition. Values that are
//! available at any time, for example the height of the chain, are not counted. The endpoint passes them as [`Gauges`].

use std::{
    fmt,
    path::PathBuf,
    sync::{OnceLock, atomic::AtomicU64},
    time::Duration,
};

#[cfg(feature = "network")]
use prometheus_client::encoding::text::encode_registry;
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram, info::Info},
    registry::{Registry, Unit},
};
use silica_protocol::rpc::error::RpcErrorCode;

/// Media type of the response.
pub(crate) const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Upper bounds of the buckets of the latency histogram, in seconds.
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

/// All metrics of a node.
pub(crate) struct Metrics {
    registry: Registry,
    latencies: Latencies,
    /// For each method of the table, its name, and its latencies after the first call. Unknown names are not counted,
    /// so that clients cannot create labels.
    methods: Box<[(&'static str, OnceLock<Histogram>)]>,
    errors: Family<Code, Counter>,
    statuses: Family<Status, Counter>,
    ok: Counter,
    pub(crate) connections: Gauge,
    pub(crate) sessions: Gauge,
    at_head: AtHead,
}

/// Values that the endpoint reads at each request for the metrics.
#[derive(Clone, Debug)]
pub(crate) struct Gauges {
    /// Number of the latest Tx block.
    pub(crate) tx_block: u64,
    /// Number of the latest DS block.
    pub(crate) ds_block: u64,
    /// Number of transactions in all blocks.
    pub(crate) transactions: u64,
    /// Number of transactions in the pool.
    pub(crate) waiting: usize,
    /// Whether the node accepts requests and makes blocks.
    pub(crate) is_ready: bool,
    /// Number of compiled contracts in the contract cache.
    pub(crate) programs: usize,
    /// Approximate memory of the contract cache, in bytes.
    pub(crate) program_bytes: u64,
    /// The agreement of a member of a network; `None` in a single node.
    #[cfg(feature = "network")]
    pub(crate) agreement: Option<silica_network::Status>,
}

#[cfg(feature = "network")]
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Member {
    member: String,
}

/// Adds the values of the agreement of a member to the text of the metrics.
#[cfg(feature = "network")]
fn write_agreement(status: &silica_network::Status, text: &mut String) -> fmt::Result {
    let mut registry = Registry::with_prefix("silica_agreement");
    let peers = u64::try_from(status.peers).unwrap_or(u64::MAX);
    for (name, help, value) in [
        ("height", "Height of the agreement: two heights decide a block", status.height),
        ("round", "Round of the height", status.round.into()),
        ("peers", "Connected members, without this one", peers),
        ("votes", "Whether this member votes", u64::from(status.votes())),
    ] {
        let gauge = Gauge::<i64>::default();
        gauge.set(whole(value));
        registry.register(name, help, gauge);
    }
    let counter = |value: u64| {
        let counter = Counter::<u64, AtomicU64>::default();
        counter.inc_by(value);
        counter
    };
    for (name, help, value) in [
        ("sealed_sessions", "Co-signature sessions that this member led to a seal", status.sealed),
        ("failed_sessions", "Co-signature sessions that this member led, and that failed", status.unsealed),
        ("dropped_messages", "Messages of other members that are invalid, or too many", status.dropped),
        ("double_votes", "Pairs of different votes or proposals of a member for one round", status.double_votes),
        ("journal_flushes", "Flushes of the journal to disk", status.flushes),
    ] {
        registry.register(name, help, counter(value));
    }
    let seconds = Counter::<f64, AtomicU64>::default();
    seconds.inc_by(status.flush_time.as_secs_f64());
    registry.register_with_unit("journal_flush", "Time of the flushes of the journal", Unit::Seconds, seconds);
    let absent = Family::<Member, Counter>::default();
    for (member, count) in &status.absent {
        absent.get_or_create(&Member { member: member.clone() }).inc_by(*count);
    }
    registry.register("absent_votes", "Decisions whose certificate has no vote of the member", absent);
    encode_registry(text, &registry)
}

/// The registered metrics for the values of [`Gauges`].
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

impl Metrics {
    /// Registers all metrics. `methods` has the names of the method table, in the order of the table.
    pub(crate) fn new(methods: impl IntoIterator<Item = &'static str>) -> Self {
        let mut registry = Registry::with_prefix("silica");
        let latencies: Latencies = Family::new_with_constructor(|| Histogram::new(LATENCIES));
        let (errors, statuses) = (Family::<Code, Counter>::default(), Family::<Status, Counter>::default());
        let (connections, sessions) = (Gauge::default(), Gauge::default());
        let at_head = AtHead::default();
        registry.register("build", "The program", Info::new([("version", env!("CARGO_PKG_VERSION"))]));
        registry.register_with_unit(
            "rpc_request_duration",
            "Time from the parameters of a call to its response, or to the first chunk of a long response",
            Unit::Seconds,
            latencies.clone(),
        );
        registry.register("rpc_errors", "Calls whose response is an error", errors.clone());
        registry.register("http_requests", "Requests with a response", statuses.clone());
        registry.register("http_connections", "Open connections", connections.clone());
        registry.register("websocket_sessions", "Open WebSocket sessions", sessions.clone());
        registry.register("block_height", "Number of the latest Tx block", at_head.tx_block.clone());
        registry.register("ds_block_height", "Number of the latest DS block", at_head.ds_block.clone());
        registry.register("transactions", "Transactions in blocks", at_head.transactions.clone());
        registry.register("pool_transactions", "Transactions that wait for a block", at_head.waiting.clone());
        registry.register(
            "ready",
            "1 if the node accepts requests and makes blocks, otherwise 0",
            at_head.ready.clone(),
        );
        registry.register("code_cache_programs", "Compiled contracts in the contract cache", at_head.programs.clone());
        registry.register_with_unit(
            "code_cache",
            "Approximate memory of the contract cache",
            Unit::Bytes,
            at_head.program_bytes.clone(),
        );
        registry.register_with_unit("store", "Files of the data directory", Unit::Bytes, at_head.store_bytes.clone());
        let ok = statuses.get_or_create(&Status { status: 200 }).clone();
        let methods = methods.into_iter().map(|name| (name, OnceLock::new())).collect();
        Self { registry, latencies, methods, errors, statuses, ok, connections, sessions, at_head }
    }

    /// Counts a call of the method at `position` of the table. The call took the time `took`.
    pub(crate) fn called(&self, position: usize, took: Duration) {
        let Some((method, latencies)) = self.methods.get(position) else { return };
        let of = || self.latencies.get_or_create(&Method { method }).clone();
        latencies.get_or_init(of).observe(took.as_secs_f64());
    }

    /// Counts an error in a response.
    pub(crate) fn failed(&self, code: RpcErrorCode) {
        self.errors.get_or_create(&Code { code: code.get() }).inc();
    }

    /// Counts a response with the HTTP status `status`.
    pub(crate) fn answered(&self, status: u16) {
        match status {
            200 => self.ok.inc(),
            status => self.statuses.get_or_create(&Status { status }).inc(),
        };
    }

    /// Returns all metrics as text. Reads the sizes of the files in `data_dir`. The call can block.
    pub(crate) fn text(&self, gauges: &Gauges, data_dir: Option<PathBuf>) -> String {
        let AtHead { tx_block, ds_block, transactions, waiting, ready, programs, program_bytes, store_bytes } =
            &self.at_head;
        tx_block.set(whole(gauges.tx_block));
        ds_block.set(whole(gauges.ds_block));
        transactions.inner().store(gauges.transactions, std::sync::atomic::Ordering::Relaxed);
        waiting.set(whole(u64::try_from(gauges.waiting).unwrap_or(u64::MAX)));
        ready.set(i64::from(gauges.is_ready));
        programs.set(whole(u64::try_from(gauges.programs).unwrap_or(u64::MAX)));
        program_bytes.set(whole(gauges.program_bytes));
        store_bytes.set(whole(data_dir.map_or(0, size_of)));
        let mut text = String::new();
        #[cfg(feature = "network")]
        if let Some(status) = &gauges.agreement
            && write_agreement(status, &mut text).is_err()
        {
            text.clear();
        }
        match encode(&mut text, &self.registry) {
            Ok(()) => text,
            Err(fmt::Error) => String::new(),
        }
    }
}

/// Metrics without methods, for tests.
#[cfg(test)]
impl Default for Metrics {
    fn default() -> Self {
        Self::new([])
    }
}

fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Returns the sum of the sizes of all files below a directory, in bytes. Ignores files that cannot be read, or that
/// were removed during the call.
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

/// A guard that counts an open connection or session in a gauge until the drop of the guard.
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
