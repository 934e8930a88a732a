//! The members that are connected.

use std::sync::Arc;

use arc_malachitebft_app::engine::network::NetworkEvent;
use async_trait::async_trait;
use ractor::{Actor, ActorProcessingErr, ActorRef};

use crate::{context::Ctx, shared::Shared};

/// A message of the network of the engine.
#[derive(Debug)]
pub(crate) struct PeerEvent(NetworkEvent<Ctx>);

impl From<NetworkEvent<Ctx>> for PeerEvent {
    fn from(event: NetworkEvent<Ctx>) -> Self {
        Self(event)
    }
}

/// The actor that notes the connected members.
#[derive(Debug)]
pub(crate) struct Peers {
    pub(crate) shared: Arc<Shared>,
}

#[async_trait]
impl Actor for Peers {
    type Msg = PeerEvent;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<PeerEvent>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle(&self, _: ActorRef<PeerEvent>, event: PeerEvent, (): &mut ()) -> Result<(), ActorProcessingErr> {
        let shared = &self.shared;
        let others = shared.committee.len().saturating_sub(1);
        // A message before the subscription would be lost.
        if let NetworkEvent::PeerSubscribed(peer, _) = &event.0
            && shared.member_of(peer).is_some()
            && shared.peers.lock().insert(*peer)
        {
            let connected = shared.count_peers();
            tracing::info!(member = shared.name_of_peer(peer), connected, of = others, "a member has connected");
            shared.connected.notify_waiters();
        }
        if let NetworkEvent::Status(peer, status) = &event.0
            && let Some(member) = shared.member_of(peer)
        {
            shared.tips.lock().insert(member, status.tip_height.0);
            shared.wake.send_replace(());
        }
        if let NetworkEvent::PeerDisconnected(peer) = &event.0
            && shared.peers.lock().remove(peer)
        {
            let connected = shared.count_peers();
            tracing::warn!(member = shared.name_of_peer(peer), connected, of = others, "a member has disconnected");
        }
        Ok(())
    }
}

impl Shared {
    /// Publishes the number of connected members, and returns it.
    fn count_peers(&self) -> usize {
        let count = self.peers.lock().len();
        self.status.lock().peers = count;
        count
    }

    /// Waits until the engine is complete, and a quorum of the members is connected, this member included.
    ///
    /// Value sync learns the height of the engine only from messages. A message before its subscription is lost, and a
    /// member that is behind would then request no blocks.
    pub(crate) async fn can_begin(&self) {
        loop {
            let changed = self.connected.notified();
            tokio::pin!(changed);
            // From here on, a notification wakes this task.
            changed.as_mut().enable();
            if self.links.get().is_some() && self.peers.lock().len().saturating_add(1) >= self.quorum {
                return;
            }
            changed.await;
        }
    }
}
