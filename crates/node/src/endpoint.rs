//! What stands behind the server: JSON-RPC for bodies and messages, notifications for subscribers.

use hyper::body::Bytes;
use tokio::sync::watch;

use crate::{
    driver::NodeHandle,
    http::{Answer, Reply, Upgrade},
    rpc::Service,
    subscription::Lobby,
};

/// What stands behind the server.
#[derive(Debug)]
pub(crate) struct Endpoint {
    service: Service,
    lobby: Lobby,
}

impl Endpoint {
    /// `developer` says whether methods for developers are answered.
    pub(crate) fn new(node: NodeHandle, developer: bool) -> Self {
        Self { service: Service::new(node.clone(), developer), lobby: Lobby::new(node) }
    }
}

impl Answer for Endpoint {
    async fn answer(&self, body: Bytes) -> Reply {
        self.service.answer(body).await
    }

    async fn converse(&self, stream: Upgrade, stop: watch::Receiver<bool>) {
        self.lobby.receive(&self.service, stream, stop).await;
    }
}
