//! The listeners of a server, and its connections.

use std::{future::poll_fn, io, net::SocketAddr, sync::Arc, task::Poll, time::Duration};

use hyper::{Method, Request};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
    time::timeout,
};

use super::{
    Access, Handler, HttpLimits, budget::ResourceLimits, connection::serve_connection, rate_limit::Limiter,
    routes::FOR_OPERATORS, studio::Studio,
};
use crate::metrics::{Metrics, Open};

/// The bound listeners of a server, before it accepts connections.
#[derive(Debug)]
pub(crate) struct Server {
    listeners: Vec<TcpListener>,
    limits: HttpLimits,
    gate: Gate,
    metrics: Arc<Metrics>,
}

/// The checks of a request before its body is read.
#[derive(Debug, Default)]
pub(super) struct Gate {
    pub(super) serves: Serves,
    pub(super) access: Access,
    /// The rate limit of each client; `None` for no limit.
    pub(super) limiter: Option<Arc<Limiter>>,
    /// The web page of the node; `None` if the server does not serve it.
    pub(super) studio: Option<Studio>,
}

impl Gate {
    /// Returns whether the response is a page for operators, which web pages of other origins must not read. A POST
    /// request is JSON-RPC on every path, and its response is never a page.
    pub(super) fn is_for_operators<B>(&self, request: &Request<B>) -> bool {
        let is_read = || [Method::GET, Method::HEAD].contains(request.method());
        self.serves == Serves::Pages || (is_read() && FOR_OPERATORS.contains(&request.uri().path()))
    }
}

/// The content that a server serves at its addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Serves {
    /// JSON-RPC and every page.
    #[default]
    All,
    /// JSON-RPC, and the pages that are not for operators.
    Public,
    /// Pages without JSON-RPC.
    Pages,
}

impl Server {
    /// Returns a server without listeners.
    pub(crate) fn new(limits: HttpLimits, serves: Serves, access: Access, metrics: Arc<Metrics>) -> Self {
        let limiter = limits.each_second.map(Limiter::new).map(Arc::new);
        let gate = Gate { serves, access, limiter, studio: None };
        Self { listeners: Vec::new(), limits, gate, metrics }
    }

    /// Binds `address`, and returns the bound address, which has the port that the system chose for port 0. Connections
    /// wait in the queue of the system until [`Server::serve`] runs.
    pub(crate) async fn bind(&mut self, address: SocketAddr) -> io::Result<SocketAddr> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        self.listeners.push(listener);
        Ok(address)
    }

    /// Adds the studio to the content that the server serves.
    pub(crate) fn serve_studio(&mut self) {
        self.gate.studio = Some(Studio::default());
    }

    /// Accepts the next connection of any listener.
    async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let mut accepted = Poll::Pending;
        poll_fn(|cx| {
            for listener in &self.listeners {
                accepted = listener.poll_accept(cx);
                if accepted.is_ready() {
                    break;
                }
            }
            std::mem::replace(&mut accepted, Poll::Pending)
        })
        .await
    }

    /// Serves until `stop` becomes true. Then sends the responses to complete requests, for at most
    /// [`HttpLimits::grace`].
    pub(crate) async fn serve<A: Handler>(mut self, handler: Arc<A>, stop: watch::Receiver<bool>) {
        let mut stop_seen = stop.clone();
        let resources = Arc::new(ResourceLimits::new(self.limits, Arc::clone(&self.metrics)));
        let gate = Arc::new(std::mem::take(&mut self.gate));
        let mut connections = JoinSet::new();
        let mut waiting = None;
        loop {
            tokio::select! {
                accepted = self.accept(), if waiting.is_none() => match accepted {
                    Ok(accepted) => waiting = Some(accepted),
                    Err(error) => {
                        tracing::warn!(%error, "failed to accept a connection; the next attempt is in 100 ms");
                        // The process may have no free file descriptor. Evict idle connections, because they hold
                        // descriptors.
                        resources.slot_wanted.notify_waiters();
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                },
                place = resources.acquire_slot(), if waiting.is_some() => if let Some((stream, peer)) = waiting.take() {
                    let (handler, limits, stop) = (Arc::clone(&handler), self.limits, stop.clone());
                    let (resources, gate) = (Arc::clone(&resources), Arc::clone(&gate));
                    connections.spawn(async move {
                        let _open = Open::count(&resources.metrics.connections);
                        serve_connection((stream, peer.ip()), handler, limits, (&gate, &resources), stop).await;
                        drop(place);
                    });
                },
                Some(_) = connections.join_next() => {}
                () = stopped(&mut stop_seen) => break,
            }
        }
        drop(self.listeners);
        let finished = async { while connections.join_next().await.is_some() {} };
        if timeout(self.limits.grace, finished).await.is_err() {
            tracing::warn!(connections = connections.len(), "closed connections whose requests did not finish");
        }
    }
}

/// Waits until `stop` becomes true or its sender is dropped.
pub(crate) async fn stopped(stop: &mut watch::Receiver<bool>) {
    drop(stop.wait_for(|stop| *stop).await);
}
