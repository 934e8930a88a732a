//! The scheduler of a simulation: time, messages, timers and failures.

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
    sync::Arc,
};

use arc_malachitebft_app::consensus::{Effect, Input, LivenessMsg, PeerId, SignedConsensusMsg};
use arc_malachitebft_app::types::core::{ExtendedCommitCertificate, Round, Timeout, ValueResponse, VoteExtensions};
use chacha20::{ChaCha8Rng, rand_core::SeedableRng as _};
use silica_chain::{Epochs, consensus::Application as _};
use silica_council::{
    BlockTiming, CoSignMessage, EntryId, EntryKind, Height, NetworkFile, NewFiles, Timer, propose_timeout_of,
};
use silica_protocol::{BlockNumber, Timestamp};

use crate::{
    context::Ctx,
    signer::VoteVerifier,
    simulation::{
        PARTITIONS,
        member::{Member, Running, Status},
        network::{self, Shape},
        verifier::SharedVerifier,
        watch::Watch,
    },
    timeouts::is_behind,
};

/// The rates of failures in ten-thousandths of all events or messages, and the delays of messages in milliseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rates {
    pub(super) crash: u64,
    pub(super) power: u64,
    pub(super) partition: u64,
    pub(super) loss: u64,
    pub(super) repeat: u64,
    /// How often a member is wrong about the connection to another.
    pub(super) mistake: u64,
    /// How often the clock of a member steps.
    pub(super) step: u64,
    /// How often a member that crashes loses the files of its agreement.
    pub(super) file_loss: u64,
    /// How often a faulty member sends a false proposal.
    pub(super) forge: u64,
    /// How often a faulty member sends a false vote or co-signature message.
    pub(super) lie: u64,
    /// Longest additional delay of a message.
    pub(super) delay: u64,
    /// Least delay of a message, also after the end of all failures.
    pub(super) latency: u64,
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
    CatchUp { member: usize, starts: u64 },
    Propose { member: usize, starts: u64, height: Height, round: u32, due: Timestamp },
    Sync,
}

pub(super) struct World {
    pub(super) seed: u64,
    pub(super) random: ChaCha8Rng,
    pub(super) network: Arc<NetworkFile>,
    pub(super) members: Vec<Member>,
    pub(super) rates: Rates,
    /// The members that send false messages.
    pub(super) liars: BTreeSet<usize>,
    /// The point at which a member crashes, and the number of the pass at which the crash happens, from 1.
    pub(super) kill: Option<(&'static str, u64)>,
    /// What has happened in the run, and how often.
    pub(super) seen: BTreeMap<&'static str, u64>,
    /// Time in milliseconds.
    pub(super) time: u64,
    pub(super) timers: Vec<Vec<(Timeout, u64)>>,
    pub(super) decided: BTreeMap<Height, EntryId>,
    /// The time of the first decision of each height.
    pub(super) decided_at: BTreeMap<Height, u64>,
    /// Longest time from the end of failures to the next decision, in milliseconds.
    pub(super) longest: u64,
    pub(super) watch: Watch,
    /// Whether failures have ended.
    is_quiet: bool,
    /// The interrupted directions between two members, and the end of the interruption.
    cut: (BTreeSet<(usize, usize)>, u64),
    events: BTreeMap<(u64, u64), Event>,
    count: u64,
    /// A payment that all members get, and that has to be in a block soon.
    owed: Option<(usize, u64)>,
    /// The height of each member at the last check whether it is behind.
    behind: Vec<Option<Height>>,
}

impl World {
    pub(super) fn new(seed: u64, shape: Shape) -> Self {
        let (network, members) = (network::file(shape), shape.members);
        let verifier = SharedVerifier::new(VoteVerifier { network: network.id() });
        let member = |index| Member::new(&network, index, seed, verifier.clone());
        Self {
            seed,
            random: ChaCha8Rng::seed_from_u64(seed << 40 | 1 << 63),
            members: (0..members).map(member).collect(),
            network,
            rates: Rates::default(),
            liars: BTreeSet::new(),
            kill: None,
            seen: BTreeMap::new(),
            time: 0,
            timers: vec![Vec::new(); members],
            decided: BTreeMap::new(),
            decided_at: BTreeMap::new(),
            longest: 0,
            watch: Watch::new(members),
            is_quiet: false,
            cut: (BTreeSet::new(), 0),
            events: BTreeMap::new(),
            count: 0,
            owed: None,
            behind: vec![None; members],
        }
    }

    /// Divides the network into some members and all others, until a time in milliseconds.
    pub(super) fn divide(&mut self, part: impl IntoIterator<Item = usize>, until: u64) {
        let part: BTreeSet<_> = part.into_iter().collect();
        self.interrupt(|from, to| part.contains(&from) != part.contains(&to), until);
    }

    /// Interrupts some directions between members, until a time in milliseconds.
    pub(super) fn interrupt(&mut self, is_cut: impl Fn(usize, usize) -> bool, until: u64) {
        let pairs = (0..self.members.len()).flat_map(|from| (0..self.members.len()).map(move |to| (from, to)));
        self.cut = (pairs.filter(|(from, to)| from != to && is_cut(*from, *to)).collect(), until);
    }

    fn is_cut(&self, from: usize, to: usize) -> bool {
        self.time < self.cut.1 && self.cut.0.contains(&(from, to))
    }

    /// Sets the differences of the clocks, in milliseconds.
    pub(super) fn skew(&mut self, skews: [i64; 4]) {
        self.members.iter_mut().zip(skews).for_each(|(member, skew)| member.skew = skew);
    }

    pub(super) fn see(&mut self, what: &'static str) {
        *self.seen.entry(what).or_default() += 1;
    }

    /// Draws a number below `below`.
    pub(super) fn draw(&mut self, below: u64) -> u64 {
        network::draw(&mut self.random, below)
    }

    pub(super) fn pick(&mut self, below: usize) -> usize {
        usize::try_from(self.draw(u64::try_from(below).unwrap())).unwrap()
    }

    /// Returns the number of a new timer.
    pub(super) fn next_timer(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    /// Returns whether a failure with this rate in ten-thousandths happens.
    pub(super) fn happens(&mut self, rate: u64) -> bool {
        rate > 0 && !self.is_quiet && self.draw(10_000) < rate
    }

    /// Passes a point of a member at which it can crash. Returns whether the member runs.
    pub(super) fn passes(&mut self, member: usize, point: &'static str) -> bool {
        let is_due = match &mut self.kill {
            Some((at, left)) if *at == point => {
                *left = left.saturating_sub(1);
                *left == 0
            }
            _ => false,
        };
        if is_due {
            self.kill = None;
            self.see(point);
        }
        let crash = self.rates.crash;
        if self.members[member].running().is_some() && (is_due || self.happens(crash)) {
            self.see("a crash");
            self.crash(member);
        }
        self.members[member].running().is_some()
    }

    pub(super) fn schedule(&mut self, delay: u64, event: Event) {
        self.count += 1;
        self.events.insert((self.time + delay, self.count), event);
    }

    /// Sends a message to other members.
    pub(super) fn send(&mut self, from: usize, to: impl IntoIterator<Item = usize>, message: &Message) {
        for to in to {
            let Rates { loss, repeat, delay, latency, .. } = self.rates;
            if self.is_cut(from, to) {
                continue;
            }
            if self.happens(loss) {
                self.see("a lost message");
                continue;
            }
            for _ in 0..=u64::from(self.happens(repeat)) {
                let late = if self.is_quiet || delay == 0 { 0 } else { self.draw(delay) };
                let delay = 1 + latency + self.draw(10) + late;
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
            let is_cut = self.is_cut(member, other) || self.is_cut(other, member);
            let mistake = self.rates.mistake;
            self.members[member].absent[other] = (is_down || is_cut) != self.happens(mistake);
        }
    }

    /// Stops a member. A part of its unflushed data is lost.
    pub(super) fn crash(&mut self, member: usize) {
        let until = self.time + self.draw(8_000);
        let kept = self.members[member].unflushed().map(|count| self.pick(count + 1));
        self.members[member].crash(until, kept);
        self.timers[member].clear();
        let has_voted = self.watch.checked[member].block() > BlockNumber::new(2);
        if has_voted && self.members.iter().all(|member| !member.has_new_files()) && self.happens(self.rates.file_loss)
        {
            self.lose_files(member);
        }
    }

    /// Deletes the files of the agreement of a member that is down, or its whole directory.
    fn lose_files(&mut self, member: usize) {
        let (now, drift) = (self.members[member].clock(self.time), self.network.parameters().drift);
        let (first, next) = (BlockNumber::new(1), self.watch.checked[member]);
        // The rule for new files protects no member with an empty chain whose first start is near the first block.
        let is_late =
            NewFiles::after(first, self.watch.records[&first].tx_block.timestamp, now, drift) == NewFiles::Wait;
        let others = self.others(member);
        let has_certificate =
            |height| others.iter().any(|other| self.members[*other].certificates.contains_key(&height));
        let can_follow = (1..next.get()).filter_map(Height::new).all(has_certificate);
        if is_late && can_follow && self.draw(2) == 0 {
            self.see("a loss of a directory");
            self.members[member].lose_files(now, true);
            self.watch.forget(member);
        } else if self.draw(2) == 0 {
            self.see("a loss of files before a start with a slow clock");
            self.members[member].lose_files(self.network.parameters().genesis_time, false);
        } else {
            self.see("a loss of files");
            self.members[member].lose_files(now, false);
        }
    }

    fn restart_due(&mut self) {
        for member in 0..self.members.len() {
            if let Status::Down(_, until) = &self.members[member].status
                && (*until <= self.time || self.is_quiet)
            {
                self.note_absent(member);
                let effects = self.members[member].restart(self.liars.contains(&member));
                if mem::take(&mut self.members[member].has_forgotten) {
                    self.see("a faulty member that forgets its votes");
                    self.watch.forget_votes(member);
                }
                if self.members[member].starts > 1 && effects.len() > 4 {
                    self.see("a replayed log");
                }
                self.check(member);
                self.apply(member, effects);
            }
        }
    }

    /// Makes blocks with failures, and then some blocks without failures.
    pub(super) fn run(&mut self, blocks: u64) {
        self.run_in_phases(blocks, blocks, 300_000);
    }

    /// Makes blocks. After each `phase` blocks, or after `longest` milliseconds, failures end for some blocks.
    pub(super) fn run_in_phases(&mut self, blocks: u64, phase: u64, longest: u64) {
        self.schedule(0, Event::Sync);
        while self.blocks() < blocks {
            let (last, end) = (blocks.min(self.blocks() + phase), self.time + longest);
            self.is_quiet = false;
            while self.blocks() < last && self.time <= end {
                self.step();
            }
            self.heal();
        }
        self.check_chain(0);
    }

    /// Returns the number of decided blocks.
    pub(super) fn blocks(&self) -> u64 {
        let last = self.decided.keys().next_back();
        last.map_or(0, |last| if last.kind() == EntryKind::Seal { last.block().get() } else { last.block().get() - 1 })
    }

    /// Ends all failures. All members have to decide the next blocks, with a payment that all of them get.
    fn heal(&mut self) {
        let (healed, payer) = (self.time, self.pick(network::PAYERS));
        (self.is_quiet, self.cut.1) = (true, 0);
        let longest = self.longest_pause();
        let nonce = self.watch.nonces.get(&payer).copied().unwrap_or_default() + 1;
        self.owed = Some((payer, nonce));
        // Members can already have the next body, and a vacuous block has no transactions.
        let epochs = Epochs::new(self.network.parameters().blocks_per_ds_epoch).unwrap();
        let first = BlockNumber::new(self.blocks() + 2);
        let last = if epochs.is_vacuous(first) { first.next().unwrap() } else { first };
        let end = Height::of_seal(last).unwrap();
        loop {
            let heights: Vec<_> = self.members.iter_mut().map(Member::height).collect();
            if heights.iter().all(|height| *height > Some(end)) {
                break;
            }
            assert!(self.time < healed + 120_000, "seed {}: no progress since {healed} ms: {heights:?}", self.seed);
            self.step();
        }
        let next = self.decided_at.values().copied().filter(|at| *at > healed).min().unwrap_or_default();
        self.longest = self.longest.max(next - healed);
        assert!(next - healed <= longest, "seed {}: {next} ms, failures until {healed} ms", self.seed);
        let got = self.watch.nonces.get(&payer).copied().unwrap_or_default();
        assert!(got >= nonce, "seed {}: payment {nonce} of payer {payer} is in no block", self.seed);
        self.owed = None;
    }

    /// Returns the longest time to the next decision if no further failure happens. It is the time of the latest round,
    /// of two rounds for each faulty member, and of one more round. Such a member leads or delays its two rounds. Slow
    /// messages need more rounds, until the time of a round is enough. A round has the time for a proposal, and half of
    /// it for late votes.
    fn longest_pause(&mut self) -> u64 {
        let rounds = self.members.iter_mut().filter_map(Member::running).map(|running| running.engine.round());
        let round = rounds.filter_map(|round| round.as_u32()).max().unwrap_or_default();
        let (first, faults) = (self.network.parameters().propose_timeout, (self.members.len() - 1) / 3);
        let rounds = 2 + 2 * faults + usize::try_from(self.rates.latency / 25).unwrap();
        let rounds = (round..).take(rounds).map(|round| propose_timeout_of(first, round).as_millis() * 3 / 2);
        1_000 + u64::try_from(rounds.sum::<u128>()).unwrap()
    }

    /// Processes the next event.
    pub(super) fn step(&mut self) {
        self.restart_due();
        let Some(((time, _), event)) = self.events.pop_first() else { panic!("seed {}: no event", self.seed) };
        self.time = self.time.max(time);
        self.fail();
        self.handle(event);
    }

    /// Makes failures happen at their rates.
    fn fail(&mut self) {
        let Rates { crash, power, partition, step, .. } = self.rates;
        if self.happens(crash) {
            let member = self.pick(self.members.len());
            self.see("a crash");
            self.crash(member);
        }
        if self.happens(power) {
            self.see("a power failure");
            (0..self.members.len()).for_each(|member| self.crash(member));
        }
        if self.happens(step) {
            self.see("a step of a clock");
            let member = self.pick(self.members.len());
            // A clock with an error of at least 1 s keeps this error.
            if self.members[member].skew.abs() < 1_000 {
                self.members[member].skew = 900 - i64::try_from(self.draw(1_801)).unwrap();
            }
        }
        if self.time >= self.cut.1 && self.happens(partition) {
            let until = self.time + self.draw(30_000);
            let (one, other) = (self.pick(self.members.len()), self.pick(self.members.len()));
            let kind = self.draw(5);
            match kind {
                0 => self.interrupt(|from, _| from == one, until),
                1 => self.interrupt(|_, to| to == one, until),
                2 => self.interrupt(|from, to| (from, to) == (one, other), until),
                3 => self.interrupt(|from, to| (from, to) == (one, other) || (to, from) == (one, other), until),
                _ => {
                    let part: Vec<_> = (0..self.members.len()).filter(|_| self.draw(2) == 0).collect();
                    self.divide(part, until);
                }
            }
            // The two members can be the same, and a part can be empty.
            if !self.cut.0.is_empty() {
                self.see(PARTITIONS[usize::try_from(kind).unwrap()]);
            }
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
                        if !self.is_body_due(member, height) {
                            return self.schedule(100, Event::Start { member, starts });
                        }
                    }
                    self.note_absent(member);
                    let effects = self.members[member].start(height);
                    self.apply(member, effects);
                    if self.decided.contains_key(&height) {
                        self.schedule(30, Event::CatchUp { member, starts });
                    }
                }
            }
            Event::CatchUp { member, starts } => {
                if self.members[member].starts == starts {
                    self.catch_up(member);
                }
            }
            Event::Propose { member, starts, height, round, due } => {
                if self.members[member].starts == starts {
                    self.propose_later(member, height, round, due);
                }
            }
            Event::Sync => {
                self.schedule(500, Event::Sync);
                for member in 0..self.members.len() {
                    let height = self.members[member].height();
                    if height == mem::replace(&mut self.behind[member], height) {
                        self.catch_up(member);
                    }
                }
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
                self.members[to].seen = self.members[to].seen.max(Some(height));
                let Some(input) = self.judge(from, to, height, round, valid_round, proposer, &bytes) else { return };
                input
            }
        };
        let effects = self.members[to].process(input);
        self.apply(to, effects);
    }

    /// Passes a decided entry of another member and its certificate to a member that is behind.
    fn catch_up(&mut self, member: usize) {
        let Some(height) = self.members[member].height() else { return };
        let is_started = self.members[member].running().is_some_and(|running| running.engine.height() == height.into());
        for other in self.others(member) {
            let is_cut = self.is_cut(member, other) || self.is_cut(other, member);
            let Some(certificate) = self.members[other].certificates.get(&height).cloned() else { continue };
            let Some(bytes) = self.members[other].decided_bytes(height) else { continue };
            if is_cut || !is_started {
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

    /// Submits payments to a member and to some others. A payer sends a payment again until it is in a block.
    fn pay(&mut self, first: usize) {
        let mut payments = Vec::new();
        // With blocks on demand, members wait for payments.
        let most = if matches!(self.network.parameters().blocks, BlockTiming::Interval(_)) { 3 } else { 1 };
        let most = if most == 1 && self.draw(80) == 0 { 2 } else { most };
        for _ in 0..self.draw(most) {
            let payer = self.pick(network::PAYERS);
            let nonce = self.watch.nonces.get(&payer).copied().unwrap_or_default() + 1 + self.draw(2);
            payments.push(((payer, nonce), false));
        }
        payments.extend(self.owed.map(|owed| (owed, true)));
        for ((payer, nonce), is_owed) in payments {
            let payment = network::payment(payer, nonce);
            for member in 0..self.members.len() {
                let goes = member == first || !is_owed && self.draw(4) > 0;
                let now = self.members[member].clock(self.time);
                let Some(Running { chain, .. }) = self.members[member].running().filter(|_| goes) else { continue };
                if let Ok(admitted) = chain.admit(payment.clone(), false) {
                    let _known = chain.submit(admitted, now);
                }
            }
        }
    }

    /// Returns whether a member begins the height of a body.
    fn is_body_due(&mut self, member: usize, height: Height) -> bool {
        let BlockTiming::OnDemand { max_idle, .. } = self.network.parameters().blocks else { return true };
        let now = self.members[member].clock(self.time);
        let is_begun = self.decided.contains_key(&height) || self.members[member].seen >= Some(height);
        let Some(Running { chain, producer, .. }) = self.members[member].running() else { return false };
        let last = producer.head().timestamp.get() + u64::try_from(max_idle.as_micros()).unwrap();
        is_begun || chain.has_candidates() || now.get() >= last
    }

    /// Panics with an effect that the scheduler does not process.
    pub(super) fn unexpected(&self, effect: &Effect<Ctx>) -> ! {
        panic!("seed {}: {effect:?}", self.seed)
    }
}
