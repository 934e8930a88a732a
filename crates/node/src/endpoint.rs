//! The handler of the server. It serves JSON-RPC, notifications for subscribers, and pages for operators.

use std::{path::PathBuf, sync::Arc};

use http_body_util::{BodyExt, Collected};
use hyper::body::Bytes;
use tokio::{sync::watch, task::spawn_blocking};

use crate::{
    driver::NodeHandle,
    home::Home,
    http::{
        Answered, Caller, HOME, Handler, HttpLimits, METRICS, Memory, MemoryLease, Page, READY, RejectReason, Upgrade,
    },
    metrics::{self, Gauges, Metrics},
    rpc::{Offer, RpcLimits, Service},
    subscription::SubscriptionHub,
};

/// Units of the rate limit that the server counts when an HTTP request arrives. The service does not count them again
/// for the first call.
const ARRIVED: u32 = 1;

/// The handler of JSON-RPC, subscriptions and pages.
#[derive(Debug)]
pub(crate) struct Endpoint {
    service: Service,
    hub: SubscriptionHub,
    node: NodeHandle,
    metrics: Arc<Metrics>,
    home: Home,
    /// The directory whose size the metrics report; `None` for a chain in memory.
    data_dir: Option<PathBuf>,
}

impl Endpoint {
    pub(crate) fn new(
        node: NodeHandle,
        offer: Offer,
        limits: RpcLimits,
        metrics: Arc<Metrics>,
        home: Home,
        data_dir: Option<PathBuf>,
    ) -> Self {
        Self {
            service: Service::new(node.clone(), offer, limits, Arc::clone(&metrics)),
            hub: SubscriptionHub::new(node.clone(), Arc::clone(&metrics)),
            node,
            metrics,
            home,
            data_dir,
        }
    }

    /// Returns the response to the body of a request of this process, which may call all methods without a rate limit.
    /// Returns `None` if the memory budget of `limits` is too small for the response, or if the response is truncated.
    pub(crate) async fn answer_local(&self, body: Vec<u8>, limits: HttpLimits) -> Option<Bytes> {
        let lease = MemoryLease::alone(limits, Arc::clone(&self.metrics));
        let answered = self.service.answer(body.into(), &Caller::local(), 0, lease.memory()).await;
        let body = lease.body(answered.reply?).await?;
        body.collect().await.ok().map(Collected::to_bytes)
    }

    /// Returns the page `/ready`, which states whether the node accepts requests and makes blocks.
    fn readiness(&self) -> Page {
        let readiness = self.node.readiness();
        let text = match readiness {
            Ok(()) => r#"{"ready":true}"#.to_owned(),
            Err(reason) => format!(r#"{{"ready":false,"reason":"{reason}"}}"#),
        };
        Page { is_well: readiness.is_ok(), media_type: "application/json", text }
    }

    async fn counts(&self) -> Option<Page> {
        let (metrics, node, data_dir) = (Arc::clone(&self.metrics), self.node.clone(), self.data_dir.clone());
        let text = spawn_blocking(move || metrics.text(&gauges(&node), data_dir)).await.ok()?;
        Some(Page { is_well: true, media_type: metrics::MEDIA_TYPE, text })
    }
}

/// Reads the current values of the gauges.
fn gauges(node: &NodeHandle) -> Gauges {
    let figures = node.context().snapshot.statistics();
    let cached = node.chain().code_cache();
    Gauges {
        tx_block: figures.latest_tx_block.get(),
        ds_block: figures.latest_ds_block.get(),
        transactions: figures.transactions,
        waiting: node.chain().waiting(),
        is_ready: node.readiness().is_ok(),
        programs: cached.programs,
        program_bytes: cached.bytes,
        #[cfg(feature = "network")]
        agreement: node.agreement_status(),
    }
}

impl Handler for Endpoint {
    async fn answer(&self, body: Bytes, caller: &Caller, memory: Memory) -> Answered {
        self.service.answer(body, caller, ARRIVED, memory).await
    }

    fn reject(&self, reason: RejectReason, text: &str) -> Vec<u8> {
        Service::reject_body(reason, text)
    }

    fn has_page(&self, path: &str) -> bool {
        [READY, METRICS].contains(&path)
    }

    async fn page(&self, path: &str) -> Option<Page> {
        match path {
            READY => Some(self.readiness()),
            METRICS => self.counts().await,
            HOME => {
                let latest = self.node.context().snapshot.latest_tx_block().header.number;
                Some(Page { is_well: true, media_type: "text/html; charset=utf-8", text: self.home.html(latest) })
            }
            _ => None,
        }
    }

    async fn handle_websocket(&self, stream: Upgrade, caller: Caller, lease: MemoryLease, stop: watch::Receiver<bool>) {
        self.hub.receive(&self.service, (stream, caller), lease, stop).await;
    }
}
