//! The members that are connected.

use std::{collections::BTreeMap, sync::Arc};

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

/// The heights from which on the other members have all certificates.
#[derive(Debug, Default)]
pub(crate) struct Histories {
    first: BTreeMap<usize, u64>,
    /// The heights of the last warning: that of this member, and the lowest of the others.
    warned: Option<(u64, u64)>,
}

impl Histories {
    /// Returns the lowest first height of the connected members, if all of them lack the certificate of the next height
    /// of this member. Returns the same height once.
    fn lack(&mut self, next: u64, connected: impl Iterator<Item = usize>) -> Option<u64> {
        // A member that has announced nothing can have all certificates.
        let first = connected.map(|member| self.first.get(&member).copied()).min().flatten()?;
        let is_new = next > 0 && first > next && self.warned != Some((next, first));
        is_new.then(|| {
            self.warned = Some((next, first));
            first
        })
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
    type State = Histories;
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<PeerEvent>, (): ()) -> Result<Histories, ActorProcessingErr> {
        Ok(Histories::default())
    }

    async fn handle(
        &self,
        _: ActorRef<PeerEvent>,
        event: PeerEvent,
        histories: &mut Histories,
    ) -> Result<(), ActorProcessingErr> {
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
            histories.first.insert(member, status.history_min_height.0);
            let (connected, next) = (shared.connected_members(), shared.status.lock().height);
            if let Some(first) = histories.lack(next, connected.into_iter()) {
                tracing::warn!(
                    next,
                    first,
                    "no connected member has the certificates of the next height, so this member cannot follow; begin \
                     with a dump in a new data directory"
                );
            }
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
    /// Returns the positions of the members that are connected.
    fn connected_members(&self) -> Vec<usize> {
        self.peers.lock().iter().filter_map(|peer| self.member_of(peer)).collect()
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_that_all_connected_members_lack_are_found_once() {
        let first = [(0, 2_001), (1, 2_005), (2, 1)].into();
        let mut histories = Histories { first, warned: None };
        let mut lack = |next, connected: &[usize]| histories.lack(next, connected.iter().copied());
        assert_eq!(lack(7, &[0, 1, 2]), None, "member 2 has all");
        assert_eq!(lack(7, &[0, 1, 3]), None, "member 3 can have all");
        assert_eq!(lack(7, &[]), None);
        assert_eq!(lack(0, &[0, 1]), None, "the agreement has not begun");
        assert_eq!(lack(2_001, &[0, 1]), None);
        assert_eq!([lack(7, &[0, 1]), lack(7, &[0, 1])], [Some(2_001), None]);
        assert_eq!([lack(9, &[0, 1]), lack(9, &[1])], [Some(2_001), Some(2_005)]);
    }
}
