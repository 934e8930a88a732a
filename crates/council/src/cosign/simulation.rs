//! Seeded simulations of sessions: messages are lost, repeated and reordered, and members are silent, send false
//! messages or crash.
//!
//! A run is a function of its seed. `COUNCIL_SEEDS=1000` runs 1,000 seeds, and `COUNCIL_SEED=7` runs seed 7.
#![expect(
    clippy::wildcard_enum_match_arm,
    clippy::needless_pass_by_value,
    reason = "a test handles the cases that it is about"
)]

use std::collections::{BTreeMap, BTreeSet};

use chacha20::{ChaCha8Rng, rand_core::SeedableRng as _};
use silica_crypto::{KeyPair, cosign::quorum, multisig::CommitPoint};
use silica_protocol::{BlockNumber, Signature};

use super::*;
use crate::{
    entry::{EntryId, Height, Seal},
    network::NetworkId,
    testing,
};

/// Time of a round, in milliseconds.
const ROUND: u64 = 4_000;
/// Rounds in which messages can be lost or repeated, and members can crash. Later rounds have a good network.
const BAD_ROUNDS: u32 = 3;

/// How a member deviates from the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Behaviour {
    Correct,
    /// Sends nothing.
    Silent,
    /// Crashes after this number of sent messages, and starts again after a time.
    Crash {
        after: usize,
        restart: u64,
    },
    /// Changes the values in its messages of this kind, from 1 to 9.
    Lie(u8),
    /// Does not send messages of this kind.
    Withhold(u8),
    /// Sends a changed copy after each message of this kind.
    Equivocate(u8),
}

struct Node {
    key: KeyPair,
    behaviour: Behaviour,
    session: Option<Session>,
    rng: ChaCha8Rng,
    /// Number of starts. Timers of an earlier start are lost.
    start: u64,
    sent: usize,
}

#[derive(Debug)]
enum Event {
    Message { to: usize, bytes: Vec<u8> },
    Timer { node: usize, start: u64, timer: Timer },
    Round(u32),
    Restart(usize),
}

/// Returns the number of a message in the sequence of a session, from 1 to 9.
fn kind(message: &CoSignMessage) -> u8 {
    message.encode()[0]
}

struct World {
    seed: u64,
    random: u64,
    time: u64,
    events: BTreeMap<(u64, u64), Event>,
    count: u64,
    round: u32,
    task: CoSignTask,
    nodes: Vec<Node>,
    /// Loss and repetition of messages, in percent.
    loss: u64,
    repeats: u64,
    /// The seals and failures of each round.
    seals: BTreeMap<u32, Seal>,
    failures: BTreeMap<u32, SessionFailure>,
    faults: BTreeSet<usize>,
    /// The points that each correct member has shown in a session, and its response to each point.
    shown: BTreeMap<(usize, SessionId, CoSignRound), Vec<CommitPoint>>,
    answered: BTreeMap<[u8; 33], [u8; 32]>,
    hashes: BTreeMap<[u8; 32], SessionId>,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0xd1b5_4a32_d192_ed03;
        let members = 4 + usize::try_from(next(&mut random, 7)).unwrap();
        let faults = (members - 1) / 3;
        let block = 1 + next(&mut random, 100);
        let keys = testing::keys(members);
        let items = (0..=next(&mut random, 3)).map(|item| format!("header {item} of {block}").into_bytes()).collect();
        let task = CoSignTask {
            network: NetworkId::new([7; 32]),
            height: Height::of_seal(BlockNumber::new(block)).unwrap(),
            body: EntryId::new([u8::try_from(block).unwrap(); 32]),
            items,
            committee: keys.iter().map(KeyPair::public_key).collect(),
        };
        let mut behaviours = vec![Behaviour::Correct; members];
        for _ in 0..next(&mut random, u64::try_from(faults).unwrap() + 1) {
            let member = usize::try_from(next(&mut random, u64::try_from(members).unwrap())).unwrap();
            let kind = u8::try_from(1 + next(&mut random, 9)).unwrap();
            behaviours[member] = match next(&mut random, 5) {
                0 => Behaviour::Silent,
                1 => Behaviour::Crash {
                    after: usize::try_from(next(&mut random, 10)).unwrap(),
                    restart: 1 + next(&mut random, ROUND),
                },
                2 => Behaviour::Lie(kind),
                3 => Behaviour::Withhold(kind),
                _ => Behaviour::Equivocate(kind),
            };
        }
        let node = |(index, (key, behaviour)): (usize, (KeyPair, Behaviour))| Node {
            key,
            behaviour,
            session: None,
            rng: ChaCha8Rng::seed_from_u64(seed << 32 | u64::try_from(index).unwrap() << 24),
            start: 0,
            sent: 0,
        };
        let nodes = keys.into_iter().zip(behaviours).enumerate().map(node).collect();
        let (loss, repeats) = (next(&mut random, 4) * 3, next(&mut random, 3) * 10);
        Self {
            seed,
            random,
            time: 0,
            events: BTreeMap::new(),
            count: 0,
            round: 0,
            task,
            nodes,
            loss,
            repeats,
            seals: BTreeMap::new(),
            failures: BTreeMap::new(),
            faults: BTreeSet::new(),
            shown: BTreeMap::new(),
            answered: BTreeMap::new(),
            hashes: BTreeMap::new(),
        }
    }

    fn draw(&mut self, below: u64) -> u64 {
        next(&mut self.random, below)
    }

    fn leader(&self, round: u32) -> usize {
        let turn = self.task.height.block().get() + 1 + u64::from(round);
        usize::try_from(turn % u64::try_from(self.nodes.len()).unwrap()).unwrap()
    }

    fn schedule(&mut self, delay: u64, event: Event) {
        self.count += 1;
        self.events.insert((self.time + delay, self.count), event);
    }

    /// Runs rounds until one of them has a seal of a correct leader, in a good network.
    fn run(mut self) -> Self {
        self.schedule(0, Event::Round(0));
        while let Some(((time, _), event)) = self.events.pop_first() {
            self.time = time;
            match event {
                Event::Round(round) => {
                    if round > 0 && self.end_of_round(round - 1) {
                        return self;
                    }
                    assert!(round < BAD_ROUNDS + 20, "seed {}: no seal", self.seed);
                    self.round = round;
                    self.schedule(ROUND, Event::Round(round + 1));
                    for node in 0..self.nodes.len() {
                        // Members decide the body at different times, and enter the round then.
                        if self.nodes[node].session.is_none() && round == 0 {
                            let delay = self.draw(30);
                            self.schedule(delay, Event::Restart(node));
                        } else {
                            self.enter(node);
                        }
                    }
                }
                Event::Restart(node) => {
                    let early = EarlyReadys::default();
                    let key = self.nodes[node].key.clone();
                    self.nodes[node].session = Some(Session::new(self.task.clone(), key, node, early));
                    self.enter(node);
                }
                Event::Timer { node, start, timer } => {
                    let Node { session: Some(session), rng, start: now, .. } = &mut self.nodes[node] else { continue };
                    if *now == start {
                        let effects = session.timer(timer, rng);
                        self.act(node, effects);
                    }
                }
                Event::Message { to, bytes } => {
                    let Node { session: Some(session), rng, .. } = &mut self.nodes[to] else { continue };
                    let message = CoSignMessage::decode(&bytes).unwrap();
                    if let Ok(effects) = session.receive(message, rng) {
                        self.act(to, effects);
                    }
                }
            }
        }
        unreachable!("a round schedules the next one")
    }

    fn enter(&mut self, node: usize) {
        let (round, leader) = (self.round, self.leader(self.round));
        let Node { session: Some(session), rng, .. } = &mut self.nodes[node] else { return };
        let effects = session.start_round(round, leader, rng);
        self.act(node, effects);
    }

    /// Checks the session of a round. Returns whether the run is over.
    fn end_of_round(&mut self, round: u32) -> bool {
        let leader = self.leader(round);
        let mut failed = None;
        if let Some(Effect::Failed(failure)) = self.nodes[leader].session.as_mut().and_then(Session::end) {
            failed = Some(failure);
            self.failures.entry(round).or_insert(failure);
        }
        let (seed, sealed) = (self.seed, self.seals.contains_key(&round));
        let is_correct = self.nodes[leader].behaviour == Behaviour::Correct;
        if is_correct {
            assert!(sealed != self.failures.contains_key(&round), "seed {seed}, round {round}: {failed:?}");
        }
        if is_correct && round >= BAD_ROUNDS {
            assert!(sealed, "seed {seed}, round {round}: {:?} in a good network", self.failures.get(&round));
            return true;
        }
        false
    }

    fn act(&mut self, node: usize, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Send(to, message) => self.send(node, to, message),
                Effect::Timer(timer) => {
                    let delay = if timer.kind == TimerKind::Stragglers { 50 } else { 200 };
                    let start = self.nodes[node].start;
                    self.schedule(delay, Event::Timer { node, start, timer });
                }
                Effect::Sealed(seal) => {
                    assert_eq!(seal.verify(&self.task.items, &self.task.committee), Ok(()), "seed {}", self.seed);
                    let signers = seal.signers.iter().filter(|signer| **signer).count();
                    assert_eq!(signers, quorum(self.nodes.len()), "seed {}", self.seed);
                    assert_eq!(Seal::decode(&seal.encode(), self.nodes.len()).as_ref(), Ok(&seal));
                    self.seals.insert(self.round, seal);
                }
                Effect::Failed(failure) => {
                    // A failure of an earlier round is reported at the start of the next.
                    let round = if matches!(failure, SessionFailure::Ended { .. }) { continue } else { self.round };
                    self.failures.insert(round, failure);
                }
                Effect::Fault { member, .. } => {
                    self.faults.insert(member);
                }
            }
        }
    }

    fn send(&mut self, node: usize, to: Recipient, message: CoSignMessage) {
        let (behaviour, is_bad) = (self.nodes[node].behaviour, self.round < BAD_ROUNDS);
        if matches!(behaviour, Behaviour::Correct | Behaviour::Crash { .. }) {
            self.watch(node, &message);
        }
        let is_kind = |of| kind(&message) == of;
        match behaviour {
            Behaviour::Silent => return,
            Behaviour::Withhold(of) if is_kind(of) => return,
            Behaviour::Lie(of) if is_kind(of) => {
                let forged = self.changed(node, &message);
                return self.transmit(node, to, &forged);
            }
            Behaviour::Equivocate(of) if is_kind(of) => {
                self.transmit(node, to, &message);
                let other = self.changed(node, &message);
                return self.transmit(node, to, &other);
            }
            Behaviour::Crash { after, restart } if is_bad => {
                self.nodes[node].sent += 1;
                if self.nodes[node].sent % (after + 1) == after && self.nodes[node].session.take().is_some() {
                    self.nodes[node].start += 1;
                    self.schedule(restart, Event::Restart(node));
                    return;
                }
                if self.nodes[node].session.is_none() {
                    return;
                }
            }
            _ => {}
        }
        self.transmit(node, to, &message);
    }

    fn transmit(&mut self, from: usize, to: Recipient, message: &CoSignMessage) {
        let bytes = message.encode();
        for member in (0..self.nodes.len()).filter(|member| *member != from) {
            if to != Recipient::All && to != Recipient::One(member) {
                continue;
            }
            let is_bad = self.round < BAD_ROUNDS;
            let mut copies = 1;
            if is_bad && self.draw(100) < self.loss {
                copies = 0;
            } else if is_bad && self.draw(100) < self.repeats {
                copies = 2;
            }
            for _ in 0..copies {
                let delay = 1 + self.draw(if is_bad { 40 } else { 5 });
                self.schedule(delay, Event::Message { to: member, bytes: bytes.clone() });
            }
        }
    }

    /// Returns the message with other values, signed by the member.
    fn changed(&mut self, node: usize, message: &CoSignMessage) -> CoSignMessage {
        let turn = usize::try_from(self.draw(1 << 20)).unwrap();
        let random = |rng: &mut ChaCha8Rng| KeyPair::generate(rng).public_key();
        let rng = &mut self.nodes[node].rng;
        let mut content = message.content.clone();
        match &mut content {
            Content::Ready { hashes, body } if turn % 3 > 0 => {
                let places = turn % hashes.len();
                hashes.rotate_left(places);
                if turn % 3 == 1 {
                    *body = EntryId::new([99; 32]);
                }
            }
            Content::Ready { hashes, .. } => {
                hashes.pop();
            }
            Content::Set { signers, .. } if turn % 2 == 0 => signers.rotate_left(1),
            Content::Set { readys, .. } => readys[0].signature = Signature::new([1; 64]),
            Content::Points(_, points) => {
                let at = turn % points.len();
                points[at] = CommitPoint::from_bytes(random(rng).to_bytes()).unwrap();
            }
            Content::Challenge(_, points) => {
                let (signer, item) = (turn % points.len(), turn % points[0].len());
                points[signer][item] = CommitPoint::from_bytes(random(rng).to_bytes()).unwrap();
            }
            Content::Responses(_, responses) => {
                let at = turn % responses.len();
                responses[at] = silica_crypto::multisig::Response::from_bytes([1; 32]).unwrap();
            }
            Content::First(signatures) => {
                let at = turn % signatures.len();
                signatures[at] = Signature::new([1; 64]);
            }
        }
        CoSignMessage::new(&self.task.network, message.session, message.from, content, &self.nodes[node].key)
    }

    /// Checks the messages of a correct member: no nonce is used in two sessions or for two challenges.
    fn watch(&mut self, node: usize, message: &CoSignMessage) {
        let (seed, session) = (self.seed, message.session);
        match &message.content {
            Content::Ready { hashes, .. } => {
                for hash in hashes.iter().flat_map(|ItemHashes(both)| both) {
                    let earlier = self.hashes.insert(*hash.as_bytes(), session);
                    assert!(earlier.is_none_or(|earlier| earlier == session), "seed {seed}: a nonce repeats");
                }
            }
            Content::Points(round, points) => {
                self.shown.insert((node, session, *round), points.clone());
            }
            Content::Responses(round, responses) => {
                let points = &self.shown[&(node, session, *round)];
                assert_eq!(points.len(), responses.len());
                for (point, response) in points.iter().zip(responses) {
                    let earlier = self.answered.insert(*point.as_bytes(), *response.as_bytes());
                    assert!(earlier.is_none(), "seed {seed}: member {node} answers two challenges with one nonce");
                }
            }
            Content::Set { .. } | Content::Challenge(..) | Content::First(_) => {}
        }
    }
}

/// Returns the next number below `below`, by the generator `SplitMix64`.
fn next(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ mixed >> 31) % below
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
fn sessions_end_with_a_seal_or_a_named_failure() {
    let (mut seals, mut failures, mut faults) = (0, BTreeSet::new(), 0);
    let seeds = match number("COUNCIL_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("COUNCIL_SEEDS").unwrap_or(60),
    };
    let are_all = seeds.end >= 60;
    for seed in seeds {
        let world = World::new(seed).run();
        seals += world.seals.len();
        faults += world.faults.len();
        let name = |failure: &SessionFailure| format!("{failure:?}").split(' ').next().unwrap().to_owned();
        failures.extend(world.failures.values().map(name));
    }
    println!("{seals} seals, {faults} faults, failures: {failures:?}");
    // The runs reach seals, faults and several kinds of failures.
    assert!(!are_all || (seals >= 60 && faults > 0 && failures.len() >= 2));
}

#[test]
fn a_seed_is_one_run() {
    let run = |seed| {
        let world = World::new(seed).run();
        (world.time, world.count, world.seals)
    };
    assert_eq!(run(5), run(5));
    assert_ne!(run(5), run(6));
}

/// In a good network, a session has one attempt and nine messages in a row.
#[test]
fn correct_members_need_one_attempt() {
    for members in 4..=10 {
        let mut world = World::new(members);
        world.nodes.iter_mut().for_each(|node| node.behaviour = Behaviour::Correct);
        world.round = BAD_ROUNDS;
        for node in 0..world.nodes.len() {
            world.schedule(0, Event::Restart(node));
        }
        while let Some(((time, _), event)) = world.events.pop_first() {
            world.time = time;
            match event {
                Event::Restart(node) => {
                    let key = world.nodes[node].key.clone();
                    let session = Session::new(world.task.clone(), key, node, EarlyReadys::default());
                    world.nodes[node].session = Some(session);
                    world.enter(node);
                }
                Event::Message { to, bytes } => {
                    let message = CoSignMessage::decode(&bytes).unwrap();
                    assert_eq!(message.session.attempt, 0);
                    let Node { session: Some(session), rng, .. } = &mut world.nodes[to] else { continue };
                    if let Ok(effects) = session.receive(message, rng) {
                        world.act(to, effects);
                    }
                }
                Event::Timer { .. } | Event::Round(_) => {}
            }
        }
        assert_eq!((world.seals.len(), world.failures.len()), (1, 0), "{members} members");
    }
}
