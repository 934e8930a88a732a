//! A member without an engine, which sends the messages of a test, and records the votes of the others.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use arc_malachitebft_app::{
    streaming::{StreamContent, StreamId, StreamMessage},
    types::{
        Keypair,
        core::{NilOrVal, Round, VoteType},
    },
};
use arc_malachitebft_network::{
    Channel, ChannelNames, Config, DiscoveryConfig, Event, GossipSubConfig, Multiaddr, NetworkIdentity, PeerId,
    ProtocolNames, PubSubMaxSizePerTopic, PubSubProtocol, TransportProtocol,
};
use arc_malachitebft_sync::RawMessage;
use borsh::{BorshDeserialize, BorshSerialize};
use chacha20::{ChaCha8Rng, rand_core::SeedableRng as _};
use parking_lot::Mutex;
use silica_chain::consensus::Application;
use silica_council::{
    CoSignMessage, CoSignRound, Content, Council, Entry, EntryId, EntryProposal, Height, ItemHashes, NetworkFile,
    NetworkId, SessionId, Vote, VoteKind, proposer,
};
use silica_crypto::{
    KeyPair,
    multisig::{CommitPoint, CommitSecret, Response},
};
use silica_protocol::{Timestamp, hex};
use tokio::{runtime::Runtime, sync::mpsc};

use crate::members::{Network, key, now, peer_key, wait};

/// Bytes of an entry in one message.
pub(crate) const CHUNK: u32 = 128 * 1024;

/// Largest number of messages of a channel that a hostile member records.
const RECORDED: usize = 100;

/// A message between members, as it is on the wire.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) enum Part {
    Entry { header: Header, signature: [u8; 64], position: u16, bytes: Vec<u8> },
    CoSign { to: Option<u16>, message: Vec<u8> },
    Transactions(Vec<u8>),
    Confirmed { batch: [u8; 32], except: Vec<u16> },
}

#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Header {
    pub(crate) height: u64,
    pub(crate) round: u32,
    pub(crate) valid_round: Option<u32>,
    pub(crate) id: [u8; 32],
    pub(crate) len: u32,
}

#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
enum Signed {
    Vote { kind: VoteType, height: u64, round: Round, value: NilOrVal<[u8; 32]>, member: u16, signature: [u8; 64] },
    Proposal { height: u64, round: Round, value: [u8; 32], valid_round: Round, member: u16, signature: [u8; 64] },
}

#[derive(Clone, Debug, BorshSerialize)]
struct Certificate {
    height: u64,
    round: Round,
    value: [u8; 32],
    signatures: Vec<(u16, [u8; 64])>,
}

/// What a hostile member does with each message of another member.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Habit {
    Silent,
    /// It sends each co-signature message again under its own name.
    Echo,
    /// It takes part in co-signature sessions until its response, which is false.
    FalseResponses,
    /// Its answers to requests for decided entries are false.
    FalseAnswers,
}

/// Number of kinds of false answers.
pub(crate) const ANSWERS: usize = 8;

/// A message of a hostile member.
enum Outgoing {
    Publish(Channel, Vec<u8>),
    /// A request for decided entries.
    Request(PeerId, Vec<u8>),
}

/// The votes of the members, by member, height, round and kind.
#[derive(Default)]
struct Votes {
    first: BTreeMap<(u16, u64, Round, bool), NilOrVal<[u8; 32]>>,
    double: Vec<String>,
    /// The members that can exchange messages with this member.
    subscribed: BTreeSet<PeerId>,
    /// Number of answers to co-signature messages, and to requests for decided entries.
    answers: usize,
    /// The first messages of each channel.
    messages: Vec<(Channel, Vec<u8>)>,
    /// The answers of members to requests for decided entries.
    entries: Vec<Vec<u8>>,
    /// The members that have requested decided entries.
    requested: BTreeSet<PeerId>,
}

/// A member without an engine.
pub(crate) struct Hostile {
    _runtime: Runtime,
    sender: mpsc::UnboundedSender<Outgoing>,
    votes: Arc<Mutex<Votes>>,
    network: NetworkId,
    pub(crate) index: usize,
    pub(crate) key: KeyPair,
    pub(crate) peer: PeerId,
}

/// Returns two bodies of a member on the head of a chain, and their height.
pub(crate) fn two_bodies(file: &NetworkFile, index: usize, chain: &mut dyn Application) -> (Height, [Entry; 2]) {
    let height = Height::new(2 * chain.head().header.number.get() + 1).unwrap();
    let bodies = [0, 1_000].map(|later| {
        let mut council = Council::new(file, key(index)).unwrap();
        council.propose(chain, height, 0, Timestamp::new(now().get() + later)).unwrap()
    });
    (height, bodies)
}

fn address(text: &str) -> Multiaddr {
    let port = text.rsplit_once(':').unwrap().1;
    format!("/ip4/127.0.0.1/tcp/{port}").parse().unwrap()
}

fn config(network: &Network, index: usize) -> Config {
    let file = NetworkFile::parse(&network.text_of(index)).unwrap();
    let addresses = file.addresses();
    let listen = addresses.iter().find(|address| address.member == index).unwrap();
    let others = addresses.iter().filter(|address| address.member != index);
    let others = others.map(|it| {
        let peer = &network.file.members()[it.member].peer;
        format!("{}/p2p/{peer}", address(&it.agreement)).parse().unwrap()
    });
    let id = &hex::encode(network.file.id().as_bytes())[..16];
    Config {
        listen_addr: address(&listen.agreement),
        persistent_peers: others.collect(),
        persistent_peers_only: true,
        discovery: DiscoveryConfig {
            enabled: false,
            persistent_peers_only: true,
            max_connections_per_ip: 256,
            ip_throttle_duration: std::time::Duration::ZERO,
            ..DiscoveryConfig::default()
        },
        idle_connection_timeout: std::time::Duration::from_mins(15),
        transport: TransportProtocol::Tcp,
        gossipsub: GossipSubConfig::default(),
        pubsub_protocol: PubSubProtocol::GossipSub,
        channel_names: ChannelNames::default(),
        rpc_max_size: 10 << 20,
        pubsub_max_size: 8 << 20,
        pubsub_max_size_per_topic: PubSubMaxSizePerTopic::default(),
        sync_request_timeout: std::time::Duration::from_secs(10),
        sync_max_request_size: 1 << 20,
        sync_parallel_requests: 5,
        enable_consensus: true,
        enable_sync: true,
        protocol_names: ProtocolNames {
            consensus: format!("/silica/{id}/consensus/v1"),
            discovery_kad: format!("/silica/{id}/discovery/kad/v1"),
            discovery_regres: format!("/silica/{id}/discovery/regres/v1"),
            sync: format!("/silica/{id}/sync/v1"),
            validator_proof: format!("/silica/{id}/proof/v1"),
        },
    }
}

/// Encodes a message as a stream of its own.
fn encode(part: &Part, stream: u64) -> Vec<u8> {
    let id = StreamId::new(stream.to_be_bytes().to_vec().into());
    borsh::to_vec(&StreamMessage::new(id, 0, StreamContent::Data(part.clone()))).unwrap()
}

impl Votes {
    fn record(&mut self, channel: Channel, bytes: &[u8]) {
        if self.messages.iter().filter(|(of, _)| *of == channel).count() < RECORDED {
            self.messages.push((channel, bytes.to_vec()));
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        let Ok(Signed::Vote { kind, height, round, value, member, .. }) = borsh::from_slice(bytes) else { return };
        let at = (member, height, round, kind == VoteType::Precommit);
        let first = *self.first.entry(at).or_insert(value);
        if first != value {
            self.double.push(format!("{at:?}: {first:?} and {value:?}"));
        }
    }
}

impl Hostile {
    /// Starts the member. Messages reach the others when they are connected.
    pub(crate) fn start(network: &Network, index: usize, habit: Habit) -> Self {
        Self::start_as(network, index, habit, peer_key(index))
    }

    /// Starts the member with this secret key of its connections.
    #[expect(clippy::wildcard_enum_match_arm, reason = "a hostile member ignores all other events")]
    pub(crate) fn start_as(network: &Network, index: usize, habit: Habit, mut peer_key: [u8; 32]) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let (config, key, id) = (config(network, index), key(index), network.file.id());
        let (sender, mut queue) = mpsc::unbounded_channel();
        let votes = Arc::<Mutex<Votes>>::default();
        let (record, own_key, again) = (Arc::clone(&votes), key.clone(), sender.clone());
        let peer = runtime.block_on(async move {
            let keypair = Keypair::ed25519_from_bytes(&mut peer_key).unwrap();
            let identity = NetworkIdentity::new(format!("m{index}"), keypair, Some(index.to_string()));
            let registry = arc_malachitebft_app::metrics::SharedRegistry::new(
                arc_malachitebft_app::metrics::Registry::default(),
                None,
            );
            let (mut receive, control) =
                arc_malachitebft_network::spawn(identity, config, registry).await.unwrap().split();
            let (peer, control) = (control.peer_id(), Arc::new(control));
            let replies = Arc::clone(&control);
            tokio::spawn(async move {
                while let Some(message) = queue.recv().await {
                    match message {
                        Outgoing::Publish(Channel::Sync, bytes) => {
                            drop(control.broadcast(Channel::Sync, bytes.into()).await);
                        }
                        Outgoing::Publish(channel, bytes) => drop(control.publish(channel, bytes.into()).await),
                        Outgoing::Request(peer, bytes) => drop(control.sync_request(peer, bytes.into()).await),
                    }
                }
            });
            tokio::spawn(async move {
                let mut stream = 1 << 40;
                while let Some(event) = receive.recv().await {
                    match event {
                        Event::PeerSubscribed(peer, _) => drop(record.lock().subscribed.insert(peer)),
                        Event::LivenessMessage(channel, _, bytes) => record.lock().record(channel, &bytes),
                        Event::ConsensusMessage(channel, _, _, bytes) => {
                            let mut votes = record.lock();
                            votes.record(channel, &bytes);
                            if channel == Channel::Consensus {
                                votes.add(&bytes);
                            } else if channel == Channel::ProposalParts {
                                stream += 1;
                                let part = borsh::from_slice::<StreamMessage<Part>>(&bytes).unwrap().content;
                                let StreamContent::Data(part) = part else { continue };
                                if let Some(part) = answer(habit, part, (&id, index, &own_key)) {
                                    votes.answers += 1;
                                    drop(again.send(Outgoing::Publish(Channel::ProposalParts, encode(&part, stream))));
                                }
                            }
                        }
                        Event::Sync(RawMessage::Request { request_id, peer, body }) if habit == Habit::FalseAnswers => {
                            let answer = {
                                let mut votes = record.lock();
                                votes.requested.insert(peer);
                                votes.answers += 1;
                                false_answer(votes.answers, &body, votes.entries.first())
                            };
                            drop(replies.sync_reply(request_id, answer.into()).await);
                        }
                        Event::Sync(RawMessage::Response { body, .. }) => record.lock().entries.push(body.to_vec()),
                        _ => {}
                    }
                }
            });
            peer
        });
        Self { _runtime: runtime, sender, votes, network: network.file.id(), index, key, peer }
    }

    /// Waits until this number of members receives messages of this one.
    #[track_caller]
    pub(crate) fn wait_for_members(&self, count: usize) {
        wait("connection", || self.votes.lock().subscribed.len() >= count);
    }

    pub(crate) fn send_bytes(&self, channel: Channel, bytes: Vec<u8>) {
        assert!(self.sender.send(Outgoing::Publish(channel, bytes)).is_ok());
    }

    /// Requests decided entries from all members, with this range or these bytes.
    pub(crate) fn request(&self, bytes: &[u8]) {
        for peer in &self.votes.lock().subscribed {
            assert!(self.sender.send(Outgoing::Request(*peer, bytes.to_vec())).is_ok());
        }
    }

    /// Announces that this member has the certificates of these heights.
    pub(crate) fn announce(&self, first: u64, last: u64) {
        self.send_bytes(Channel::Sync, borsh::to_vec(&(self.peer, last, first)).unwrap());
    }

    /// Returns the first messages of each channel that have arrived.
    pub(crate) fn messages(&self) -> Vec<(Channel, Vec<u8>)> {
        self.votes.lock().messages.clone()
    }

    /// Returns the answers of members to requests for decided entries.
    pub(crate) fn entries(&self) -> Vec<Vec<u8>> {
        self.votes.lock().entries.clone()
    }

    pub(crate) fn send(&self, part: &Part, stream: u64) {
        self.send_bytes(Channel::ProposalParts, encode(part, stream));
    }

    /// Returns the signature of a header.
    pub(crate) fn sign(&self, header: &Header) -> [u8; 64] {
        let mut bytes = vec![0];
        bytes.extend(b"silica entry header v1");
        bytes.extend(self.network.as_bytes());
        bytes.extend(borsh::to_vec(header).unwrap());
        *self.key.sign(&bytes).unwrap().as_bytes()
    }

    /// Sends a vote in round 0 of a height.
    pub(crate) fn vote(&self, kind: VoteType, height: u64, value: Option<[u8; 32]>) {
        let of = if kind == VoteType::Prevote { VoteKind::Prevote } else { VoteKind::Precommit };
        let at = Height::new(height).unwrap();
        let vote = Vote { kind: of, height: at, round: 0, value: value.map(EntryId::new) };
        let signed = Signed::Vote {
            kind,
            height,
            round: Round::new(0),
            value: value.map_or(NilOrVal::Nil, NilOrVal::Val),
            member: u16::try_from(self.index).unwrap(),
            signature: *vote.sign(&self.network, &self.key).as_bytes(),
        };
        self.send_bytes(Channel::Consensus, borsh::to_vec(&signed).unwrap());
    }

    /// Proposes an entry of one part, or the first part of a longer one.
    pub(crate) fn propose(&self, header: Header, bytes: Vec<u8>) {
        let value = EntryId::new(header.id);
        let proposal = EntryProposal {
            height: Height::new(header.height).unwrap(),
            round: header.round,
            value,
            valid_round: header.valid_round,
        };
        let signature = *proposal.sign(&self.network, &self.key).as_bytes();
        let signed = Signed::Proposal {
            height: header.height,
            round: Round::new(header.round),
            value: header.id,
            valid_round: Round::Nil,
            member: u16::try_from(self.index).unwrap(),
            signature,
        };
        self.send_bytes(Channel::Consensus, borsh::to_vec(&signed).unwrap());
        let signature = self.sign(&header);
        let stream = u64::from_be_bytes(*header.id.first_chunk().unwrap());
        self.send(&Part::Entry { header, signature, position: 0, bytes }, stream);
    }

    /// Proposes bodies of one part in round 0 of a height.
    pub(crate) fn propose_bodies(&self, height: Height, bodies: &[Entry]) {
        for body in bodies {
            let len = u32::try_from(body.bytes.len()).unwrap();
            let header = Header { height: height.get(), round: 0, valid_round: None, id: *body.id.as_bytes(), len };
            self.propose(header, body.bytes.to_vec());
        }
    }

    /// Votes for each of several entries in round 0 of a height.
    pub(crate) fn vote_for_all(&self, height: Height, entries: &[Entry]) {
        for kind in [VoteType::Prevote, VoteType::Precommit] {
            for entry in entries {
                self.vote(kind, height.get(), Some(*entry.id.as_bytes()));
            }
        }
    }

    /// Forgets the members that have requested decided entries.
    pub(crate) fn forget_requests(&self) {
        self.votes.lock().requested.clear();
    }

    /// Returns whether the member with this identity has requested decided entries.
    pub(crate) fn has_request_of(&self, peer: &str) -> bool {
        self.votes.lock().requested.iter().any(|it| it.to_string() == peer)
    }

    /// Returns the number of answers to co-signature messages, and to requests for decided entries.
    pub(crate) fn answers(&self) -> usize {
        self.votes.lock().answers
    }

    /// Checks that no member has sent two different votes of one kind in a round.
    #[track_caller]
    pub(crate) fn check_votes(&self) {
        let votes = self.votes.lock();
        assert!(votes.first.len() > 10, "{} votes", votes.first.len());
        assert_eq!(votes.double, Vec::<String>::new());
    }
}

fn answer(habit: Habit, part: Part, (network, index, key): (&NetworkId, usize, &KeyPair)) -> Option<Part> {
    match (habit, part) {
        (Habit::Echo, Part::CoSign { to, message }) => {
            let CoSignMessage { session, content, .. } = CoSignMessage::decode(&message).ok()?;
            Some(Part::CoSign { to, message: CoSignMessage::new(network, session, index, content, key).encode() })
        }
        (Habit::FalseResponses, Part::CoSign { message, .. }) => {
            let CoSignMessage { session, from, content, .. } = CoSignMessage::decode(&message).ok()?;
            let leader = proposer(4, session.height, session.round);
            let content = false_content(&content, session, index).filter(|_| from == leader)?;
            let message = CoSignMessage::new(network, session, index, content, key).encode();
            Some(Part::CoSign { to: u16::try_from(leader).ok(), message })
        }
        _ => None,
    }
}

/// Returns the answer to a message of the leader.
fn false_content(content: &Content, session: SessionId, index: usize) -> Option<Content> {
    // All messages of a session have the same nonces.
    let mut rng = ChaCha8Rng::seed_from_u64(session.height.get() << 8 | u64::from(session.attempt));
    let mut points = |items: usize| -> Vec<_> {
        (0..items).map(|_| [(); 2].map(|()| CommitSecret::generate(&mut rng).point())).collect()
    };
    match content {
        Content::Ready { body, hashes: items } => {
            let hashes = |pair: [CommitPoint; 2]| ItemHashes(pair.each_ref().map(CommitPoint::hash));
            let hashes = points(items.len()).into_iter().map(hashes).collect();
            Some(Content::Ready { body: *body, hashes })
        }
        Content::Set { signers, readys } if signers[index] => {
            let first = points(readys[0].hashes.len()).into_iter().map(|[first, _]| first);
            Some(Content::Points(CoSignRound::First, first.collect()))
        }
        Content::Challenge(round, points) => {
            let response = Response::from_bytes([1; 32]).unwrap();
            Some(Content::Responses(*round, vec![response; points[0].len()]))
        }
        Content::Set { .. } | Content::Points(..) | Content::Responses(..) | Content::First(_) => None,
    }
}

/// Returns an answer to a request for decided entries. `entries` is a correct answer to another request.
fn false_answer(count: usize, request: &[u8], entries: Option<&Vec<u8>>) -> Vec<u8> {
    let (first, last): (u64, u64) = borsh::from_slice(request).unwrap();
    let answer = |first: u64, signatures: &[(u16, [u8; 64])]| {
        let value = |height| {
            let (value, signatures) = ([7; 32], signatures.to_vec());
            let certificate = Certificate { height, round: Round::new(0), value, signatures };
            (borsh::to_vec(&(certificate.clone(), vec![1_u8; 100])).unwrap(), certificate)
        };
        let values: Vec<_> = (first..=last.min(first.saturating_add(9))).map(value).collect();
        borsh::to_vec(&(first, values)).unwrap()
    };
    match count % ANSWERS {
        0 => Vec::new(),
        1 => vec![0xff; 200],
        // The largest answer of this network has 9 MiB.
        2 => vec![1; (9 << 20) + 1],
        3 => entries.cloned().unwrap_or_default(),
        4 => answer(first, &[]),
        5 => answer(first, &[(0, [1; 64]), (1, [1; 64]), (2, [1; 64])]),
        6 => answer(first.saturating_sub(1), &[]),
        _ => borsh::to_vec(&(first, Vec::<u8>::new())).unwrap(),
    }
}
