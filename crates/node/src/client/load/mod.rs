//! `silica load`: signed payments or token transfers over keep-alive connections to a node. Each connection sends a
//! request when it has the response to its previous request.
//!
//! ```text
//! plan (senders, keys, token) ─▶ fund ─▶ sign ─▶ send, measured ─▶ wait until all are in blocks ─▶ check ─▶ report
//! ```
//!
//! Each sender belongs to one connection, which sends the transactions of this sender in the order of their nonces.
//! Therefore the load is valid for a node that accepts only the next nonce, and for a node that keeps transactions with
//! nonce gaps.
//!
//! The pool can drop a transaction that the node has accepted: under a constant overload, a transaction with a great
//! hash expires (Reference: execution#order-in-a-block). The later transactions of its sender then have a nonce gap. So
//! the command checks the next transaction of a sender without progress, and sends it again if the pool has dropped it.

mod latency;
mod order;
mod plan;
mod rpc;
#[cfg(test)]
mod tests;
mod token;

use std::{
    fmt,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use clap::{Args, value_parser};
use tokio::{task::JoinSet, time::sleep};

use self::{
    latency::Latencies,
    plan::{Plan, Share},
    rpc::{RpcClient, Submission},
};
use super::http::HttpError;
use crate::listen::{DEFAULT_LISTEN, socket_address};

/// Arguments of `silica load`.
#[derive(Clone, Debug, Args)]
pub(crate) struct LoadArgs {
    /// Address and port of the node, without TLS.
    #[arg(long, value_name = "ADDR:PORT", default_value_t = DEFAULT_LISTEN, value_parser = socket_address)]
    pub target: SocketAddr,
    /// Number of payments, of all senders together.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = value_parser!(u32).range(1..=10_000_000))]
    pub payments: u32,
    /// Send token transfers instead of payments. The command deploys the token contract first.
    #[arg(long)]
    pub tokens: bool,
    /// Number of sending accounts. The command first pays money to each of them.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = value_parser!(u32).range(1..=100_000))]
    pub senders: u32,
    /// Number of keep-alive connections.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = value_parser!(u32).range(1..=10_000))]
    pub connections: u32,
    /// Number of payments or transfers in one request.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u32).range(1..=1_000))]
    pub batch: u32,
    /// Time limit of the load, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = value_parser!(u64).range(1..=86_400))]
    pub time_limit: u64,
    /// Allow a target that is not on this machine.
    #[arg(long)]
    pub allow_remote: bool,
}

/// Time between two queries for nonces. Also the time before a retry, when the pool was full.
const PAUSE: Duration = Duration::from_millis(20);

/// Time without progress after which the command checks whether the pool has dropped transactions.
const CHECK: Duration = Duration::from_secs(2);

/// Reason why a load failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum LoadError {
    /// The target is on another machine.
    #[error("expected a target on this machine, or --allow-remote, got {target}")]
    Remote {
        /// Address of the target.
        target: SocketAddr,
    },
    /// A request got no usable response.
    #[error("request to {target} failed")]
    Connection {
        /// Address of the node.
        target: SocketAddr,
        /// The error of the HTTP client.
        source: HttpError,
    },
    /// The node returned an unexpected response.
    #[error("{method}: {got}")]
    Answer {
        /// The method that was called.
        method: &'static str,
        /// The response.
        got: String,
    },
    /// The test accounts do not have enough money.
    #[error("the test accounts have too little money to fund {senders} senders")]
    Funds {
        /// Number of senders that need money.
        senders: usize,
    },
    /// The node rejected a transaction.
    #[error("the node rejected a transaction: {reason}")]
    Refused {
        /// The error of the node.
        reason: String,
    },
    /// The time limit passed before all transactions were in blocks.
    #[error("expected all transactions in blocks within {limit:?}, {missing} are missing")]
    TimeLimit {
        /// The time limit.
        limit: Duration,
        /// Number of transactions that are in no block.
        missing: u64,
    },
    /// A task panicked.
    #[error("a task of the load test panicked")]
    Panicked,
}

/// The measurements of a load.
#[derive(Clone, Debug)]
pub(crate) struct LoadReport {
    /// The kind of the transactions: payments or token transfers.
    kind: &'static str,
    transactions: u64,
    requests: u64,
    retries: u64,
    repeated: u64,
    sending: Duration,
    landing: Duration,
    blocks: u64,
    latencies: Latencies,
}

impl fmt::Display for LoadReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = |time: Duration| u128::from(self.transactions) * 1_000_000 / time.as_micros().max(1);
        let Self { kind, transactions, requests, retries, repeated, sending, landing, blocks, latencies } = self;
        writeln!(f, "{transactions} {kind} in {requests} requests, {retries} of them rejected by a full pool")?;
        if *repeated > 0 {
            writeln!(f, "sent again {repeated:>8} {kind} that the pool had dropped")?;
        }
        writeln!(f, "accepted   {:>8} per second, in {sending:.3?}", rate(*sending))?;
        writeln!(f, "in blocks  {:>8} per second, in {landing:.3?}, all of them, in {blocks} blocks", rate(*landing))?;
        write!(f, "latency    {latencies}")
    }
}

/// Sends a load, and waits until all its transactions are in blocks.
///
/// # Errors
///
/// Fails with a [`LoadError`], and discards the measurements.
pub(crate) async fn load(args: LoadArgs) -> Result<LoadReport, LoadError> {
    let target = args.target;
    if !target.ip().is_loopback() && !args.allow_remote {
        return Err(LoadError::Remote { target });
    }
    let limit = Duration::from_secs(args.time_limit);
    let mut client = RpcClient::connect(target).await?;
    let mut plan = Plan::new(&args, &mut client, limit).await?;
    plan.fund(&mut client, limit).await?;
    let shares = plan.sign(&args);
    let plan = Arc::new(plan);
    let first_block = client.latest_block().await?;

    let begun = Instant::now();
    let sent = send_all(target, shares, &plan, begun + limit).await?;
    let sending = begun.elapsed();
    let repeated = plan.wait_until_landed(&mut client, begun + limit, limit).await?;
    let landing = begun.elapsed();

    let blocks = client.latest_block().await?.saturating_sub(first_block);
    plan.check(&mut client).await?;
    let (kind, transactions) = (if args.tokens { "transfers of tokens" } else { "payments" }, plan.total());
    let Sent { requests, retries, repeated: before, times } = sent;
    let (repeated, latencies) = (repeated + before, Latencies::of(times));
    Ok(LoadReport { kind, transactions, requests, retries, repeated, sending, landing, blocks, latencies })
}

/// The results of one or more connections.
#[derive(Debug, Default)]
struct Sent {
    requests: u64,
    retries: u64,
    repeated: u64,
    times: Vec<Duration>,
}

async fn send_all(
    target: SocketAddr,
    shares: Vec<Share>,
    plan: &Arc<Plan>,
    deadline: Instant,
) -> Result<Sent, LoadError> {
    let mut connections = JoinSet::new();
    for share in shares {
        let client = RpcClient::connect(target).await?;
        connections.spawn(send(client, share, Arc::clone(plan), deadline));
    }
    let mut total = Sent::default();
    while let Some(sent) = connections.join_next().await {
        let sent = sent.map_err(|_| LoadError::Panicked)??;
        total.requests += sent.requests;
        total.retries += sent.retries;
        total.repeated += sent.repeated;
        total.times.extend(sent.times);
    }
    Ok(total)
}

/// Sends the transactions of one connection until `deadline`. Retries transactions that a full pool rejected.
async fn send(mut client: RpcClient, share: Share, plan: Arc<Plan>, deadline: Instant) -> Result<Sent, LoadError> {
    let mut sent = Sent { times: Vec::with_capacity(share.len()), ..Sent::default() };
    for mut batch in share {
        let mut checked = Instant::now();
        loop {
            let begun = Instant::now();
            if begun > deadline {
                return Ok(sent);
            }
            let outcome = client.submit(&batch).await?;
            sent.times.push(begun.elapsed());
            sent.requests += 1;
            let Submission::PoolFull { accepted } = outcome else { break };
            batch.drain(..accepted);
            sent.retries += 1;
            if let Some(rejected) = batch.first()
                && checked.elapsed() > CHECK
            {
                sent.repeated += plan.repeat_before(&mut client, rejected, deadline).await?;
                checked = Instant::now();
            }
            sleep(PAUSE).await;
        }
    }
    Ok(sent)
}
