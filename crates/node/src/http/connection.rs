//! The life of a connection: its requests, one after another, its deadlines, its eviction, and its upgrade to a
//! WebSocket.

use std::{
    convert::Infallible,
    future::Future,
    net::IpAddr,
    pin::{Pin, pin},
    sync::Arc,
};

use futures_util::{StreamExt, stream::FuturesUnordered};
use hyper::{
    Request, Response,
    body::Incoming,
    server::conn::http1::{self, UpgradeableConnection},
    service::{Service, service_fn},
    upgrade::OnUpgrade,
};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::{
    net::TcpStream,
    sync::{SemaphorePermit, watch},
    time::interval,
};

use super::{
    Caller, Handler, HttpLimits, MemoryLease, ResponseBody,
    budget::ResourceLimits,
    deadline::{ConnectionDeadline, TrackedStream},
    listener::{Gate, stopped},
    request_body::READ_AT_ONCE,
    routes::{RequestContext, respond},
};

/// Serves a connection until it ends.
pub(super) async fn serve_connection<A: Handler>(
    (stream, peer): (TcpStream, IpAddr),
    handler: Arc<A>,
    limits: HttpLimits,
    (gate, resources): (&Gate, &Arc<ResourceLimits>),
    stop: watch::Receiver<bool>,
) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "connection ended");
        return;
    }
    let deadline = Arc::new(ConnectionDeadline::new(limits));
    let io = TokioIo::new(TrackedStream { stream, deadline: Arc::clone(&deadline) });
    let upgrade = Mutex::new(None);
    let ended = {
        let context = RequestContext {
            handler: &*handler,
            gate,
            resources,
            peer,
            deadline: &deadline,
            upgrading: &upgrade,
            stop: &stop,
        };
        let service = service_fn(|request| respond(request, &context));
        let mut builder = http1::Builder::new();
        builder.header_read_timeout(None).half_close(true).max_buf_size(READ_AT_ONCE);
        let connection = pin!(builder.serve_connection(io, service).with_upgrades());
        speak_http(connection, limits, resources, &deadline, stop.clone()).await
    };
    let upgrade = upgrade.into_inner();
    if let (Ended::InOrder, Some(Upgrading { upgrade, caller, place })) = (ended, upgrade) {
        match upgrade.await {
            Ok(upgraded) => {
                let lease = MemoryLease::new(Arc::clone(resources), limits);
                handler.handle_websocket(TokioIo::new(upgraded), caller, lease, stop).await;
            }
            Err(error) => tracing::debug!(%error, "connection ended"),
        }
        drop(place);
    }
}

/// A connection during its upgrade to a WebSocket, with its connection slot.
pub(super) struct Upgrading<'a> {
    pub(super) upgrade: OnUpgrade,
    pub(super) caller: Caller,
    pub(super) place: SemaphorePermit<'a>,
}

/// How the HTTP part of a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// The client or the server closed the connection, or the connection became a WebSocket.
    InOrder,
    /// The server evicted the connection, or an error ended it.
    Early,
}

/// Serves requests until the connection ends, a signal ends it, or it becomes a WebSocket.
async fn speak_http<S>(
    mut connection: Pin<&mut UpgradeableConnection<TokioIo<TrackedStream>, S>>,
    limits: HttpLimits,
    resources: &ResourceLimits,
    deadline: &ConnectionDeadline,
    mut stop: watch::Receiver<bool>,
) -> Ended
where
    S: Service<Request<Incoming>, Response = Response<ResponseBody>, Error = Infallible>,
{
    // Each request polls the connection several times. `FuturesUnordered` polls a signal only after its wake-up, so a
    // request does not take the locks of these signals, which all connections share.
    let mut signals = FuturesUnordered::<Pin<Box<dyn Future<Output = ConnectionSignal> + Send + '_>>>::new();
    signals.push(Box::pin(async { ConnectionSignal::GiveUp(until_given_up(limits, resources, deadline).await) }));
    signals.push(Box::pin(async {
        stopped(&mut stop).await;
        ConnectionSignal::Stop
    }));
    loop {
        let signal = tokio::select! {
            biased;
            result = connection.as_mut() => {
                let Err(error) = result else { return Ended::InOrder };
                tracing::debug!(%error, "connection ended");
                return Ended::Early;
            }
            Some(signal) = signals.next() => signal,
        };
        match signal {
            ConnectionSignal::Stop if deadline.is_incomplete() => {
                tracing::debug!("closed a connection with an incomplete request");
                return Ended::Early;
            }
            ConnectionSignal::Stop => connection.as_mut().graceful_shutdown(),
            ConnectionSignal::GiveUp(reason) => {
                tracing::debug!(reason, "closed a connection");
                return Ended::Early;
            }
        }
    }
}

/// Reason why a connection must end.
enum ConnectionSignal {
    /// The server is stopping.
    Stop,
    /// The server evicts the connection for this reason.
    GiveUp(&'static str),
}

/// Waits until the server has to evict the connection, and returns the reason.
async fn until_given_up(limits: HttpLimits, resources: &ResourceLimits, deadline: &ConnectionDeadline) -> &'static str {
    let mut check = interval(limits.request_timeout / 2);
    loop {
        tokio::select! {
            _ = check.tick() => if deadline.has_passed() {
                return "too slow or idle";
            },
            () = resources.slot_wanted.notified() => if deadline.should_evict() {
                return "slow or idle while others waited";
            },
            () = resources.memory_wanted.notified() => if deadline.holds_memory() && deadline.should_evict() {
                return "slow with a large body while others waited";
            },
        }
    }
}
