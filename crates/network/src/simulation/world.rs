//! The scheduler of a simulation: time, messages, timers and failures.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use arc_malachitebft_app::consensus::{Effect, Input, LivenessMsg, PeerId, SignedConsensusMsg};
use arc_malachitebft_app::types::core::{
    CommitCertificate, ExtendedCommitCertificate, Round, Timeout, ValueResponse, VoteExtensions,
};
use chacha20::{ChaCha8Rng, rand_core::SeedableRng as _};
use silica_chain::{Epochs, state::BlockRecord};
use silica_council::{CoSignMessage, EntryId, EntryKind, Height, NetworkFile, Timer};
use silica_protocol::{BlockNumber, Qa, Timestamp};

use crate::{
    context::Ctx,
    simulation::{
        member::{Member, Running, Status},
        network,
    },
    timeouts::is_behind,
};

/// Longest time from the end of all failures to the next decision, in milliseconds.
const RESUMES: u64 = 30_000;

/// How often failures happen: in thousandths of all events, of all messages, and in milliseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rates {
    pub(super) crash: u64,
    pub(super) power: u64,
    pub(super) partition: u64,
    pub(super) loss: u64,
    pub(super) repeat: u64,
    /// How often a member is wrong about the connection to another.
    pub(super) mistake: u64,
    /// Longest additional delay of a message.
    pub(super) delay: u64,
}

/// A message between members.
#[derive(Clone, Debug)]
pub(super) enum Message {
    Consensus(SignedConsensusMsg<Ctx>),
    Liveness(LivenessMsg<Ctx>),
    Entry { height: Height, round: Round, valid_round: Round, proposer: usize, bytes: Arc<[u8]> },
    CoSign(Vec<u8>),
}

pub(super) enum Event {
    Message { from: usize, to: usize, message: Message },
    Timeout { member: usize, starts: u64, id: u64 },
    CoSignTimer { member: usize, starts: u64, timer: Timer },
    Start { member: usize, starts: u64 },
    Sync,
}

pub(super) struct World {
    pub(super) seed: u64,
    pub(super) random: ChaCha8Rng,
    pub(super) network: Arc<NetworkFile>,
    pub(super) members: Vec<Member>,
    pub(super) rates: Rates,
    /// A member whose proposals are false.
    pub(super) forger: Option<usize>,
    /// What has happened in the run.
    pub(super) seen: BTreeSet<String>,
    /// Time in milliseconds.
    pub(super) time: u64,
    pub(super) timers: Vec<Vec<(Timeout, u64)>>,
    pub(super) decided: BTreeMap<Height, EntryId>,
    /// The time of the first decision of each height.
    pub(super) decided_at: BTreeMap<Height, u64>,
    /// Whether failures have ended.
    is_quiet: bool,
    /// The members of one part of a divided network, and the end of the division.
    part: (BTreeSet<usize>, u64),
    events: BTreeMap<(u64, u64), Event>,
    count: u64,
    nonces: BTreeMap<usize, u64>,
    supply: Qa,
    records: BTreeMap<BlockNumber, BlockRecord>,
    bytes: BTreeMap<Height, Vec<u8>>,
    checked: Vec<Height>,
    /// When each member was last seen behind others.
    behind: Vec<Option<Height>>,
}

impl World {
    pub(super) fn new(seed: u64, members: usize) -> Self {
        let network = network::network(members);
        let member = |index| Member::new(&network, index, seed, 0);
        let supply = network::genesis().accounts().values().map(|account| account.balance.get()).sum();
        let first = Height::new(1).unwrap();
        Self {
            seed,
            random: ChaCha8Rng::seed_from_u64(seed << 40 | 1 << 63),
            members: (0..members).map(member).collect(),
            network,
            rates: Rates::default(),
            forger: None,
            seen: BTreeSet::new(),
            time: 0,
            timers: vec![Vec::new(); members],
            decided: BTreeMap::new(),
            decided_at: BTreeMap::new(),
            is_quiet: false,
            part: (BTreeSet::new(), 0),
            events: BTreeMap::new(),
            count: 0,
            nonces: BTreeMap::new(),
            supply: Qa::new(supply),
            records: BTreeMap::new(),
            bytes: BTreeMap::new(),
            checked: vec![first; members],
            behind: vec![None; members],
        }
    }

    /// Divides the network into some members and all others, until a time in milliseconds.
    pub(super) fn divide(&mut self, part: impl IntoIterator<Item = usize>, until: u64) {
        self.part = (part.into_iter().collect(), until);
    }

    /// Sets the differences of the clocks, in milliseconds.
    pub(super) fn skew(&mut self, skews: [i64; 4]) {
        self.members.iter_mut().zip(skews).for_each(|(member, skew)| member.skew = skew);
    }

    pub(super) fn see(&mut self, what: impl Into<String>) {
        self.seen.insert(what.into());
    }

    /// Draws a number below `below`.
    pub(super) fn draw(&mut self, below: u64) -> u64 {
        network::draw(&mut self.random, below)
    }

    /// Returns the number of a new timer.
    pub(super) fn next_timer(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    /// Returns whether an event with this rate in thousandths happens.
    pub(super) fn happens(&mut self, rate: u64) -> bool {
        rate > 0 && !self.is_quiet && self.draw(1_000) < rate
    }

    pub(super) fn schedule(&mut self, delay: u64, event: Event) {
        self.count += 1;
        self.events.insert((self.time + delay, self.count), event);
    }

    /// Sends a message to other members.
    pub(super) fn send(&mut self, from: usize, to: impl IntoIterator<Item = usize>, message: &Message) {
        for to in to {
            let is_divided = self.time < self.part.1 && self.part.0.contains(&from) != self.part.0.contains(&to);
            let Rates { loss, repeat, delay, .. } = self.rates;
            if is_divided || self.happens(loss) {
                continue;
            }
            for _ in 0..=u64::from(self.happens(repeat)) {
                let late = if self.is_quiet || delay == 0 { 0 } else { self.draw(delay) };
                let delay = 1 + self.draw(10) + late;
                self.schedule(delay, Event::Message { from, to, message: message.clone() });
            }
        }
    }

    pub(super) fn others(&self, member: usize) -> Vec<usize> {
        (0..self.members.len()).filter(|other| *other != member).collect()
    }

    /// Sets the members that a member regards as absent: those that are down, behind or in another part, and some by
    /// mistake.
    fn note_absent(&mut self, member: usize) {
        let Some(height) = self.members[member].height() else { return };
        for other in self.others(member) {
            let tip = self.members[other].height().map(|height| height.get() - 1);
            let is_down = tip.is_none_or(|tip| is_behind(tip, height));
            let is_divided = self.time < self.part.1 && self.part.0.contains(&member) != self.part.0.contains(&other);
            let mistake = self.rates.mistake;
            self.members[member].absent[other] = (is_down || is_divided) != self.happens(mistake);
        }
    }

    /// Stops a member.
    pub(super) fn crash(&mut self, member: usize) {
        let until = self.time + self.draw(8_000);
        self.members[member].crash(until);
        self.timers[member].clear();
    }

    fn restart_due(&mut self) {
        for member in 0..self.members.len() {
            if let Status::Down(_, until) = &self.members[member].status
                && (*until <= self.time || self.is_quiet)
            {
                self.note_absent(member);
                let effects = self.members[member].restart();
                if self.members[member].starts > 1 && effects.len() > 4 {
                    self.see("a replayed log");
                }
                self.apply(member, effects);
            }
        }
    }

    /// Makes blocks with failures, and then some blocks without failures.
    pub(super) fn run(&mut self, blocks: u64) {
        self.schedule(0, Event::Sync);
        let bad = Height::of_seal(BlockNumber::new(blocks)).unwrap();
        let end = Height::of_seal(BlockNumber::new(blocks + 2)).unwrap();
        let mut healed = None;
        while !(self.members.iter_mut().all(|member| member.height() > Some(end))) {
            self.restart_due();
            let Some(((time, _), event)) = self.events.pop_first() else { panic!("seed {}: no event", self.seed) };
            self.time = self.time.max(time);
            if healed.is_none() && (self.decided.contains_key(&bad) || self.time > 300_000) {
                self.is_quiet = true;
                self.part.1 = 0;
                healed = Some(self.time);
            }
            let limit = healed.unwrap_or(300_000) + 120_000;
            let heights: Vec<_> = self.members.iter_mut().map(Member::height).collect();
            assert!(self.time < limit, "seed {}: no progress: {heights:?}", self.seed);
            self.fail();
            self.handle(event);
        }
        self.check();
        let healed = healed.unwrap_or_default();
        let next = self.decided_at.values().copied().filter(|at| *at > healed).min().unwrap_or_default();
        assert!(next - healed <= RESUMES, "seed {}: {next} ms, failures until {healed} ms", self.seed);
        let member = self.members[0].running().unwrap();
        network::check(member.producer.store(), &self.network);
    }

    /// Lets a failure happen.
    fn fail(&mut self) {
        let Rates { crash, power, partition, .. } = self.rates;
        let count = u64::try_from(self.members.len()).unwrap();
        if self.happens(crash) {
            let member = usize::try_from(self.draw(count)).unwrap();
            self.see("a crash");
            self.crash(member);
        }
        if self.happens(power) {
            self.see("a power failure");
            (0..self.members.len()).for_each(|member| self.crash(member));
        }
        if self.time >= self.part.1 && self.happens(partition) {
            self.see("a partition");
            let part = (0..self.members.len()).filter(|_| self.draw(2) == 0).collect();
            self.part = (part, self.time + self.draw(30_000));
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Message { from, to, message } => self.receive(from, to, message),
            Event::Timeout { member, starts, id } => {
                let Some(at) = self.timers[member].iter().position(|(_, timer)| *timer == id) else { return };
                let (timeout, _) = self.timers[member].remove(at);
                if self.members[member].starts == starts {
                    let effects = self.members[member].process(Input::TimeoutElapsed(timeout));
                    self.apply(member, effects);
                }
            }
            Event::CoSignTimer { member, starts, timer } => {
                if self.members[member].starts == starts {
                    self.co_sign(member, |council, rng| council.timer(timer, rng));
                }
            }
            Event::Start { member, starts } => {
                if self.members[member].starts == starts
                    && let Some(height) = self.members[member].height()
                {
                    if height.kind() == EntryKind::Body {
                        self.pay(member);
                    }
                    self.note_absent(member);
                    let effects = self.members[member].start(height);
                    self.apply(member, effects);
                }
            }
            Event::Sync => {
                self.check();
                self.schedule(500, Event::Sync);
                (0..self.members.len()).for_each(|member| self.sync(member));
            }
        }
    }

    fn receive(&mut self, from: usize, to: usize, message: Message) {
        let member = &mut self.members[to];
        if member.running().is_none() {
            return;
        }
        let input = match message {
            Message::Consensus(SignedConsensusMsg::Vote(vote)) | Message::Liveness(LivenessMsg::Vote(vote)) => {
                Input::Vote(vote)
            }
            Message::Consensus(SignedConsensusMsg::Proposal(proposal)) => Input::Proposal(proposal),
            Message::Liveness(LivenessMsg::PolkaCertificate(certificate)) => Input::PolkaCertificate(certificate),
            Message::Liveness(LivenessMsg::SkipRoundCertificate(certificate)) => Input::RoundCertificate(certificate),
            Message::CoSign(bytes) => {
                let message = CoSignMessage::decode(&bytes).unwrap();
                self.co_sign(to, |council, rng| council.receive(message, rng).unwrap_or_default());
                return;
            }
            Message::Entry { height, round, valid_round, proposer, bytes } => {
                let Some(input) = self.judge(from, to, height, round, valid_round, proposer, &bytes) else { return };
                input
            }
        };
        let effects = self.members[to].process(input);
        self.apply(to, effects);
    }

    /// Gives a member that is behind a decided entry of another member, with its certificate.
    fn sync(&mut self, member: usize) {
        let height = self.members[member].height();
        let was_behind = std::mem::replace(&mut self.behind[member], height);
        let Some(height) = height.filter(|height| was_behind == Some(*height)) else { return };
        let is_started = self.members[member].running().is_some_and(|running| running.engine.height() == height.into());
        for other in self.others(member) {
            let is_divided = self.time < self.part.1 && self.part.0.contains(&member) != self.part.0.contains(&other);
            let Some(certificate) = self.members[other].certificates.get(&height).cloned() else { continue };
            let Some(bytes) = self.members[other].decided_bytes(height) else { continue };
            if is_divided || !is_started {
                continue;
            }
            let extensions = VoteExtensions::default();
            let certificate =
                ExtendedCommitCertificate::from_commit_certificate_and_extensions(certificate, extensions);
            let peer = [&[0, 0x24, 8, 1, 0x12, 0x20][..], &[u8::try_from(other).unwrap(); 32]].concat();
            let response = ValueResponse::new(PeerId::from_bytes(&peer).unwrap(), bytes.into(), certificate);
            let effects = self.members[member].process(Input::SyncValueResponse(response));
            self.apply(member, effects);
            return;
        }
    }

    /// Submits payments to a member and to some others.
    fn pay(&mut self, first: usize) {
        for _ in 0..self.draw(3) {
            let payer = usize::try_from(self.draw(8)).unwrap();
            let nonce = self.nonces.entry(payer).or_default();
            *nonce += 1;
            let payment = network::payment(payer, *nonce);
            for member in 0..self.members.len() {
                let (now, goes) = (self.members[member].clock(self.time), member == first || self.draw(4) > 0);
                let Some(Running { chain, .. }) = self.members[member].running().filter(|_| goes) else { continue };
                if let Ok(admitted) = chain.admit(payment.clone(), false) {
                    let _known = chain.submit(admitted, now);
                }
            }
        }
    }

    /// Returns the time of the fastest clock that is near the others: at most 1 s more than the true time.
    fn time_of_blocks(&self) -> Timestamp {
        let start = self.network.parameters().genesis_time.get() + 60_000_000;
        Timestamp::new(start + (self.time + 1_000) * 1_000)
    }

    /// Records a decision, and checks that all members decide the same entry.
    pub(super) fn note(&mut self, member: usize, certificate: &CommitCertificate<Ctx>) {
        let (height, id) = (certificate.height.council().unwrap(), certificate.value_id.into());
        if certificate.round > Round::ZERO {
            self.see("a later round");
        }
        let first = *self.decided.entry(height).or_insert(id);
        self.decided_at.entry(height).or_insert(self.time);
        assert_eq!(first, id, "seed {}: member {member}, height {height}", self.seed);
    }

    /// Checks that all members have the same bytes, records, states and money.
    fn check(&mut self) {
        let epochs = Epochs::new(self.network.parameters().blocks_per_ds_epoch).unwrap();
        for index in 0..self.members.len() {
            let (seed, member) = (self.seed, &mut self.members[index]);
            let Some(Running { producer, .. }) = member.running() else { continue };
            let snapshot = producer.store().snapshot();
            let head = snapshot.head().unwrap().clone();
            let mut height = self.checked[index];
            while height.block() <= head.number {
                let bytes = silica_council::entry_bytes(&snapshot, height).unwrap().unwrap();
                let first = self.bytes.entry(height).or_insert_with(|| bytes.clone());
                assert_eq!(*first, bytes, "seed {seed}: member {index}, height {height}");
                let record = snapshot.record(height.block()).unwrap().unwrap();
                let first = self.records.entry(height.block()).or_insert_with(|| record.clone());
                assert_eq!(*first, record, "seed {seed}: member {index}, height {height}");
                height = height.next().unwrap();
            }
            self.checked[index] = height;
            let (latest, drift) = (self.time_of_blocks(), self.network.parameters().drift);
            let latest = latest.get() + u64::try_from(drift.as_micros()).unwrap();
            assert!(head.timestamp.get() <= latest, "seed {seed}: member {index}: {}", head.timestamp);
            if let Some(record) = self.records.get(&head.number) {
                assert_eq!(snapshot.state().root(), record.tx_block.header.state_root, "seed {seed}: member {index}");
            }
            let fees = if epochs.is_vacuous(head.number) { Qa::ZERO } else { head.totals.ds_epoch_fees };
            let accounts = snapshot.state().accounts().map(|account| account.unwrap().1.balance.get());
            let money = Qa::new(accounts.sum()).checked_add(fees);
            assert_eq!(money, Some(self.supply), "seed {seed}: member {index}");
        }
    }

    /// Returns the effects of an effect that the scheduler does not know.
    pub(super) fn unexpected(&self, effect: &Effect<Ctx>) -> ! {
        panic!("seed {}: {effect:?}", self.seed)
    }
}
