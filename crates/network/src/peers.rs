//! The members that are connected.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use arc_malachitebft_app::{
    engine::network::{NetworkEvent, NetworkMsg, NetworkRef, PersistentPeersOp},
    net::{self, Multiaddr},
    types::PeerId,
};
use arc_malachitebft_network::ChannelNames;
use async_trait::async_trait;
use ractor::{Actor, ActorProcessingErr, ActorRef, rpc::CallResult};

use crate::{context::Ctx, shared::Shared};

/// Time between two checks of the mesh.
const CHECK: Duration = Duration::from_secs(5);

/// Minimum number of members in the mesh at which `libp2p-gossipsub` adds no further members by itself.
const MESH: usize = 4;

/// A message of the network of the engine, or of this actor to itself.
#[derive(Debug)]
pub(crate) enum PeerEvent {
    Network(Box<NetworkEvent<Ctx>>),
    /// The time for a check of the mesh has come.
    Check,
}

impl From<NetworkEvent<Ctx>> for PeerEvent {
    fn from(event: NetworkEvent<Ctx>) -> Self {
        Self::Network(Box::new(event))
    }
}

/// The members that are connected, but do not receive the votes of this member.
///
/// If the machine of a member loses its power or its link, the other members can keep the old connection for minutes,
/// until their system notices its end. The member then connects again, and the others have two connections.
/// `libp2p-gossipsub` announces the subscriptions of a member only on the first of several connections. So the member
/// with one connection gets no announcement, and does not add the other to its mesh. It sends no votes to the other,
/// also after the end of the old connection. Therefore this member closes all connections to such a member, and
/// connects again.
#[derive(Debug, Default)]
struct Unsubscribed(BTreeMap<PeerId, bool>);

impl Unsubscribed {
    /// Returns the members that were outside of the mesh in two successive checks. `connected` has the connected
    /// members, and whether they are in the mesh.
    fn check(&mut self, connected: &[(PeerId, bool)]) -> Vec<PeerId> {
        let is_small = connected.iter().filter(|(_, is_in_mesh)| *is_in_mesh).count() < MESH;
        let outside = connected.iter().filter(|(_, is_in_mesh)| is_small && !is_in_mesh).map(|(peer, _)| *peer);
        let before = std::mem::take(&mut self.0);
        let mut found = Vec::new();
        for peer in outside {
            // A new connection has as much time as the first one.
            let is_second = before.get(&peer) == Some(&false);
            if is_second {
                found.push(peer);
            }
            self.0.insert(peer, is_second);
        }
        found
    }
}

/// The connections and the announcements of the other members.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// The steps of the connections of members.
    steps: BTreeMap<PeerId, Steps>,
    histories: Histories,
    unsubscribed: Unsubscribed,
}

/// The steps after which a member counts as connected. They can come in both orders.
#[derive(Clone, Copy, Debug, Default)]
struct Steps {
    /// The member has identified itself with the protocols of this network.
    identified: bool,
    /// The member can receive messages. A message before this step would be lost.
    subscribed: bool,
}

/// For each other member, the lowest height of its certificates without a gap.
#[derive(Debug, Default)]
struct Histories {
    first: BTreeMap<usize, u64>,
    /// The heights of the last warning: that of this member, and the lowest of the others.
    warned: Option<(u64, u64)>,
}

impl Histories {
    /// Returns the lowest first height of the connected members, if all of them lack the certificate of the next height
    /// of this member. Returns `None` if the last warning had the same heights.
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
    pub(crate) network: NetworkRef<Ctx>,
    /// The addresses of the other members, with their identities.
    pub(crate) addresses: Vec<Multiaddr>,
}

impl Peers {
    /// Returns the connected members, and whether they are in the mesh of the votes.
    async fn mesh(&self) -> Vec<(PeerId, bool)> {
        let dump = self.network.call(NetworkMsg::DumpState, None).await;
        let Ok(CallResult::Success(Some(dump))) = dump else { return Vec::new() };
        let votes = ChannelNames::default().consensus;
        let connected = self.shared.peers.lock().clone();
        let known = connected.into_iter().filter_map(|peer| {
            let info = dump.peers.get(&net::PeerId::from_bytes(&peer.to_bytes()).ok()?)?;
            Some((peer, info.topics.contains(&votes)))
        });
        known.collect()
    }

    /// Closes all connections to a member, and connects again.
    async fn reconnect(&self, peer: &PeerId) {
        let identity = format!("/p2p/{peer}");
        let Some(address) = self.addresses.iter().find(|it| it.to_string().ends_with(&identity)) else { return };
        for change in [PersistentPeersOp::Remove(address.clone()), PersistentPeersOp::Add(address.clone())] {
            // An error means that the network of the engine has ended, and the agreement with it.
            drop(self.network.call(|reply| NetworkMsg::UpdatePersistentPeers(change, reply), None).await);
        }
    }
}

#[async_trait]
impl Actor for Peers {
    type Msg = PeerEvent;
    type State = State;
    type Arguments = ();

    async fn pre_start(&self, myself: ActorRef<PeerEvent>, (): ()) -> Result<State, ActorProcessingErr> {
        myself.send_interval(CHECK, || PeerEvent::Check);
        Ok(State::default())
    }

    async fn handle(
        &self,
        _: ActorRef<PeerEvent>,
        event: PeerEvent,
        State { steps, histories, unsubscribed }: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        let shared = &self.shared;
        let others = shared.committee.len().saturating_sub(1);
        let event = match event {
            PeerEvent::Network(event) => *event,
            PeerEvent::Check => {
                for peer in unsubscribed.check(&self.mesh().await) {
                    let member = shared.name_of_peer(&peer);
                    tracing::warn!(member, "a connected member does not receive the votes; this member connects again");
                    self.reconnect(&peer).await;
                }
                return Ok(());
            }
        };
        // A member with another network file can subscribe before it identifies itself. Then its identification ends
        // the connection.
        if let NetworkEvent::PeerConnected(peer) | NetworkEvent::PeerSubscribed(peer, _) = &event
            && shared.member_of(peer).is_some()
        {
            let steps = steps.entry(*peer).or_default();
            if matches!(event, NetworkEvent::PeerConnected(_)) {
                steps.identified = true;
            } else {
                steps.subscribed = true;
            }
            if steps.identified && steps.subscribed && shared.peers.lock().insert(*peer) {
                let connected = shared.count_peers();
                tracing::info!(member = shared.name_of_peer(peer), connected, of = others, "a member has connected");
                shared.connected.notify_waiters();
            }
        }
        if let NetworkEvent::Status(peer, status) = &event
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
        if let NetworkEvent::PeerDisconnected(peer) = &event {
            steps.remove(peer);
            if shared.peers.lock().remove(peer) {
                let connected = shared.count_peers();
                tracing::warn!(member = shared.name_of_peer(peer), connected, of = others, "a member has disconnected");
            }
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
    /// Value sync gets the height of the engine only from messages. A message before the subscription of value sync is
    /// lost, and a member that is behind would then request no blocks.
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
    use arc_malachitebft_app::types::Keypair;
    use arc_malachitebft_network::PeerIdExt as _;

    use super::*;

    #[test]
    fn members_outside_of_a_small_mesh_are_found() {
        let [member, other] = [(); 2].map(|()| PeerId::from_libp2p(&Keypair::generate_ed25519().public().to_peer_id()));
        let mut unsubscribed = Unsubscribed::default();
        let mut check = |connected: &[(PeerId, bool)]| unsubscribed.check(connected);
        let outside = [(member, false), (other, true)];
        assert_eq!([check(&outside), check(&outside)], [vec![], vec![member]]);
        assert_eq!([check(&outside), check(&outside)], [vec![], vec![member]], "a new connection has the same time");
        assert_eq!([check(&[(other, true)]), check(&outside)], [vec![], vec![]], "the member was away");
        assert_eq!([check(&[(member, true), (other, true)]), check(&outside)], [vec![], vec![]]);
        let mut large = vec![(other, true); MESH];
        large.push((member, false));
        assert_eq!([check(&large), check(&large)], [vec![], vec![]], "other members forward the votes");
    }

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
