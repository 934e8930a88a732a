//! Seeded simulations of a network: members propose, judge, decide and co-sign, and members crash, send false messages,
//! and lose messages. A referee takes the place of the agreement, and counts the votes of each round.
//!
//! A run is a function of its seed. `COUNCIL_SEEDS=1000` runs 1,000 seeds, and `COUNCIL_SEED=7` runs seed 7.

mod forgeries;
mod node;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use chacha20::ChaCha8Rng;
use silica_chain::{Epochs, state::BlockRecord};
use silica_protocol::{Qa, StateRoot};

use self::node::{Node, Running, State};
use super::*;
use crate::{
    cosign::{Recipient, TimerKind},
    record::entry_bytes,
    testing,
    time::propose_timeout_of,
};

/// Longest time of a co-signature session, in milliseconds.
const SESSION: u64 = 4_000;
/// Rounds of a height in which messages can be lost, members crash and proposers send false entries.
const BAD_ROUNDS: u32 = 4;

enum Event {
    Message { to: usize, bytes: Vec<u8> },
    Timer { node: usize, starts: u64, timer: Timer },
}

struct World {
    seed: u64,
    random: u64,
    network: Arc<NetworkFile>,
    nodes: Vec<Node>,
    /// Time in milliseconds.
    time: u64,
    events: BTreeMap<(u64, u64), Event>,
    count: u64,
    /// Rates of lost messages, of crashes, of full disks and of false proposals, in thousandths.
    loss: u64,
    crashes: u64,
    full: u64,
    forgeries: u64,
    /// Whether none of these events happens at present.
    is_quiet: bool,
    decided: BTreeMap<Height, EntryId>,
    bytes: BTreeMap<Height, Arc<[u8]>>,
    /// The first proposals of each member.
    proposed: BTreeMap<(usize, Height, u32), EntryId>,
    nonces: BTreeMap<usize, u64>,
    supply: Qa,
    genesis_root: StateRoot,
    /// The record of each block, from the first member that committed the block.
    records: BTreeMap<BlockNumber, BlockRecord>,
    /// The height up to which each member is checked.
    checked: BTreeMap<usize, Height>,
    /// What has happened in the run.
    seen: BTreeSet<String>,
}

/// Returns the next number below `below`, by the generator `SplitMix64`.
fn next(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ mixed >> 31) % below
}

impl World {
    fn new(seed: u64, members: usize) -> Self {
        let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678;
        let network = Arc::new(testing::network(members, &[]));
        // The clocks of some members differ from the time of the simulation by more than the drift.
        let skew = |index: usize, random: &mut u64| match next(random, 4) {
            0 if index < network.faults() => 6_000,
            1 if index < network.faults() => -6_000,
            _ => i64::try_from(next(random, 1_001)).unwrap() - 500,
        };
        let mut nodes: Vec<_> = (0..members)
            .map(|index| {
                let skew = skew(index, &mut random);
                Node::new(&network, index, seed, skew)
            })
            .collect();
        let genesis_root = nodes[0].snapshot().unwrap().state().root();
        let accounts = testing::genesis();
        let supply = accounts.accounts().values().map(|account| account.balance.get()).sum();
        let [loss, crashes, full, forgeries] = [100, 8, 60, 400].map(|most| next(&mut random, most + 1));
        Self {
            seed,
            random,
            network,
            nodes,
            time: 0,
            events: BTreeMap::new(),
            count: 0,
            loss,
            crashes,
            full,
            forgeries,
            is_quiet: false,
            decided: BTreeMap::new(),
            bytes: BTreeMap::new(),
            proposed: BTreeMap::new(),
            nonces: BTreeMap::new(),
            supply: Qa::new(supply),
            genesis_root,
            records: BTreeMap::new(),
            checked: BTreeMap::new(),
            seen: BTreeSet::new(),
        }
    }

    fn draw(&mut self, below: u64) -> u64 {
        next(&mut self.random, below)
    }

    fn pick(&mut self, below: usize) -> usize {
        usize::try_from(self.draw(u64::try_from(below).unwrap())).unwrap()
    }

    /// Returns whether an event with this rate in thousandths happens.
    fn happens(&mut self, rate: u64) -> bool {
        !self.is_quiet && self.draw(1_000) < rate
    }

    fn see(&mut self, what: impl Into<String>) {
        self.seen.insert(what.into());
    }

    /// Crashes a member at the rate of crashes. Returns whether the member runs.
    fn survives(&mut self, index: usize) -> bool {
        if self.happens(self.crashes) {
            let until = self.time + self.draw(15_000);
            self.see("a crash");
            self.nodes[index].crash(until);
        }
        matches!(self.nodes[index].state, State::Running(_))
    }

    /// Makes blocks, and then brings all members to the head.
    fn run(mut self, blocks: u64) -> Self {
        let mut height = Height::new(1).unwrap();
        while height.block().get() <= blocks {
            if height.kind() == EntryKind::Body {
                self.pay();
            }
            let mut round = 0;
            while !self.decided.contains_key(&height) {
                self.is_quiet = round >= BAD_ROUNDS;
                assert!(round < BAD_ROUNDS + 20, "seed {}: height {height} is not decided", self.seed);
                self.catch_up();
                self.round(height, round);
                self.check();
                round += 1;
            }
            height = height.next().unwrap();
        }
        self.is_quiet = true;
        self.catch_up();
        self.check();
        let last = self.nodes.last_mut().and_then(Node::running).unwrap();
        testing::check(last.disk.producer.store(), &self.network);
        let end: Vec<_> = self.nodes.iter_mut().map(Node::height).collect();
        assert!(end.iter().all(|at| *at == Some(height)), "seed {}: {end:?}", self.seed);
        self
    }

    /// Submits payments to some members.
    fn pay(&mut self) {
        for _ in 0..self.draw(6) {
            let payer = self.pick(testing::PAYERS);
            let nonce = self.nonces.entry(payer).or_default();
            *nonce += 1;
            let payment = testing::payment(payer, *nonce, 1_000);
            let time = self.time;
            for index in 0..self.nodes.len() {
                if !self.happens(200) {
                    self.nodes[index].submit(payment.clone(), time);
                }
            }
        }
    }

    /// Starts members, and gives members that are behind the decided entries.
    fn catch_up(&mut self) {
        for index in 0..self.nodes.len() {
            if let State::Down { until, .. } = &self.nodes[index].state
                && (*until <= self.time || self.is_quiet)
            {
                self.nodes[index].restart();
            }
            let is_full = self.happens(self.full);
            if let Some(running) = self.nodes[index].running() {
                running.disk.is_full = is_full;
            }
        }
        for index in 0..self.nodes.len() {
            while let Some(height) = self.nodes[index].height()
                && let Some(id) = self.decided.get(&height).copied()
            {
                let bytes = (0..self.nodes.len()).find_map(|other| self.nodes[other].bytes_of(height, id));
                let bytes = bytes.filter(|bytes| **bytes == *self.bytes[&height]);
                let Some(bytes) = bytes else { break };
                self.see("an entry of another member");
                if !self.decide(index, height, id, Some(&bytes)) {
                    break;
                }
            }
        }
    }

    /// Passes a decision to a member. Returns whether the member has processed it.
    fn decide(&mut self, index: usize, height: Height, id: EntryId, bytes: Option<&[u8]>) -> bool {
        if !self.survives(index) {
            return false;
        }
        match self.nodes[index].decide(height, id, bytes) {
            Ok(()) => self.survives(index),
            Err(DecideError::Commit { .. } | DecideError::Chain { .. }) => {
                self.see("a full disk");
                assert_eq!(self.nodes[index].height(), Some(height));
                false
            }
            Err(error) => panic!("seed {}: member {index}: {error}", self.seed),
        }
    }

    /// Runs a round of a height: a session, a proposal, the votes, and the decision.
    fn round(&mut self, height: Height, round: u32) {
        if height.kind() == EntryKind::Seal {
            self.session(height, round);
        }
        let members = self.nodes.len();
        let proposer = proposer(members, height, round);
        let time = self.time;
        self.time +=
            u64::try_from(propose_timeout_of(self.network.parameters().propose_timeout, round).as_millis()).unwrap();
        if !self.survives(proposer) {
            return;
        }
        let Some(entry) = self.nodes[proposer].propose(height, round, time) else { return };
        let earlier = self.proposed.insert((proposer, height, round), entry.id);
        assert!(earlier.is_none_or(|earlier| earlier == entry.id), "seed {}: two proposals in a round", self.seed);
        let forgeries = self.forgeries;
        if self.happens(forgeries) && self.forge(height, round, time, &entry) {
            return;
        }
        let votes = self.votes(height, round, time, &entry.bytes, &mut |index| index == proposer);
        if votes.len() < self.network.quorum() {
            return;
        }
        self.decided.insert(height, entry.id);
        self.bytes.insert(height, Arc::clone(&entry.bytes));
        for index in 0..members {
            if self.nodes[index].height() == Some(height) {
                // The referee gives the bytes to a member that did not get the proposal.
                let bytes = if votes.contains(&index) { None } else { Some(&*entry.bytes) };
                self.decide(index, height, entry.id, bytes);
            }
        }
    }

    /// Sends a first proposal. Returns the members that vote for it. The proposal is not lost on the way to a member
    /// for which `certain` returns `true`.
    fn votes(
        &mut self,
        height: Height,
        round: u32,
        time: u64,
        bytes: &[u8],
        certain: &mut dyn FnMut(usize) -> bool,
    ) -> Vec<usize> {
        let mut votes = Vec::new();
        let loss = self.loss;
        for index in 0..self.nodes.len() {
            if (!certain(index) && self.happens(loss)) || !self.survives(index) {
                continue;
            }
            let rule = Rule::FirstProposal { round, now: self.nodes[index].clock(time) };
            let (is_behind, seed) = (self.nodes[index].height() != Some(height), self.seed);
            match self.nodes[index].judge(height, bytes, rule).unwrap() {
                Verdict::Valid(id) => {
                    assert!(!is_behind);
                    if self.survives(index) {
                        votes.push(index);
                    }
                    // A quorum of prevotes for an entry would make every member vote for it.
                    let again = self.nodes[index].judge(height, bytes, Rule::Accepted);
                    assert!(again.is_none_or(|again| matches!(again, Verdict::Valid(other) if other == id)));
                }
                Verdict::Withheld(Withheld::Height { .. }) => assert!(is_behind),
                Verdict::Withheld(Withheld::Chain(_)) => self.see("a body that a full disk withholds"),
                Verdict::Withheld(Withheld::Old { .. }) | Verdict::Later(_) => self.see("a clock far away"),
                verdict @ (Verdict::Invalid { .. } | Verdict::Withheld(_)) => {
                    panic!("seed {seed}: member {index}: {verdict:?}")
                }
            }
        }
        votes
    }

    /// Runs the session of a round, until the leader has a seal or the time is over.
    fn session(&mut self, height: Height, round: u32) {
        self.events.clear();
        let end = self.time + SESSION;
        for index in 0..self.nodes.len() {
            self.with(index, |council, rng| council.start_round(height, round, rng));
        }
        let mut is_sealed = false;
        while let Some(((time, _), event)) = self.events.pop_first()
            && time < end
            && !is_sealed
        {
            self.time = self.time.max(time);
            is_sealed |= match event {
                Event::Message { to, bytes } => {
                    let message = CoSignMessage::decode(&bytes).unwrap();
                    // A member rejects, for example, the message of an attempt that has ended.
                    self.survives(to) && self.with(to, |council, rng| council.receive(message, rng).unwrap_or_default())
                }
                Event::Timer { node, starts, timer } => {
                    self.nodes[node].starts == starts && self.with(node, |council, rng| council.timer(timer, rng))
                }
            };
        }
    }

    /// Calls the council of a running member, and executes the effects. Returns whether the session has a seal.
    fn with(&mut self, index: usize, call: impl FnOnce(&mut Council, &mut ChaCha8Rng) -> Vec<Effect>) -> bool {
        let Node { state: State::Running(running), rng, starts, .. } = &mut self.nodes[index] else { return false };
        let (effects, starts) = (call(&mut running.council, rng), *starts);
        let mut is_sealed = false;
        for effect in effects {
            match effect {
                Effect::Send(recipient, message) => {
                    self.nodes[index].watch(&message, &self.decided);
                    let all: Vec<_> = match recipient {
                        Recipient::All => (0..self.nodes.len()).filter(|to| *to != index).collect(),
                        Recipient::One(to) => vec![to],
                    };
                    let loss = self.loss;
                    for to in all {
                        if !self.happens(loss) {
                            let delay = 1 + self.draw(20);
                            self.schedule(delay, Event::Message { to, bytes: message.encode() });
                        }
                    }
                }
                Effect::Timer(timer) => {
                    let delay = if timer.kind == TimerKind::Stragglers { 50 } else { 200 };
                    self.schedule(delay, Event::Timer { node: index, starts, timer });
                }
                Effect::Sealed(_) => is_sealed = true,
                Effect::Failed(failure) => {
                    self.see(format!("a failed session: {failure:?}").split_once(" {").unwrap().0);
                }
                Effect::Fault { .. } => panic!("seed {}: a fault of a correct member: {effect:?}", self.seed),
            }
        }
        is_sealed
    }

    fn schedule(&mut self, delay: u64, event: Event) {
        self.count += 1;
        self.events.insert((self.time + delay, self.count), event);
    }

    /// Checks that all members have the same bytes, states and money.
    fn check(&mut self) {
        let epochs = Epochs::new(self.network.parameters().blocks_per_ds_epoch).unwrap();
        for index in 0..self.nodes.len() {
            let Some(snapshot) = self.nodes[index].snapshot() else { continue };
            let seed = self.seed;
            let head = snapshot.head().unwrap().clone();
            let mut height = self.checked.get(&index).copied().unwrap_or(Height::new(1).unwrap());
            while height.block() <= head.number {
                let bytes = entry_bytes(&snapshot, height, self.network.parameters()).unwrap();
                assert_eq!(bytes.as_deref(), Some(&*self.bytes[&height]), "seed {seed}: member {index}: {height}");
                let record = node::record(&snapshot, height);
                let first = self.records.entry(height.block()).or_insert_with(|| record.clone());
                assert_eq!(*first, record, "seed {seed}: member {index}");
                height = height.next().unwrap();
            }
            self.checked.insert(index, height);
            assert_eq!(snapshot.state().root(), self.root_of(head.number), "seed {seed}: member {index}");
            let fees = if epochs.is_vacuous(head.number) { Qa::ZERO } else { head.totals.ds_epoch_fees };
            let money = node::money(&snapshot).checked_add(fees);
            assert_eq!(money, Some(self.supply), "seed {seed}: member {index}");
            let Some(Running { council, .. }) = self.nodes[index].running() else { continue };
            if let Some(body) = council.decided_body() {
                let of_body = Height::of_body(head.number.next().unwrap()).unwrap();
                assert_eq!(Some(&body.id), self.decided.get(&of_body), "seed {seed}: member {index}");
            }
        }
    }

    /// Returns the state root in the header of a block.
    fn root_of(&self, number: BlockNumber) -> StateRoot {
        let genesis = || self.genesis_root;
        self.records.get(&number).map_or_else(genesis, |record| record.tx_block.header.state_root)
    }
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
fn members_agree_in_every_run() {
    let mut seen = BTreeSet::new();
    let seeds = match number("COUNCIL_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("COUNCIL_SEEDS").unwrap_or(14),
    };
    let are_all = seeds.end >= 14;
    for seed in seeds {
        println!("seed {seed}");
        let members = [4, 4, 7, 2][usize::try_from(seed % 4).unwrap()];
        seen.extend(World::new(seed, members).run(12).seen);
    }
    println!("{seen:?}");
    let expected = [
        "a body that a full disk withholds",
        "a clock far away",
        "a crash",
        "a failed session: Ended",
        "a false body",
        "a false seal",
        "a full disk",
        "an entry of another member",
        "two bodies of one proposer",
    ];
    // The runs reach all expected events.
    assert!(!are_all || expected.iter().all(|what| seen.contains(*what)), "{seen:?}");
}

#[test]
fn a_seed_is_one_run() {
    let run = |seed| {
        let world = World::new(seed, 4).run(3);
        (world.time, world.count, world.decided)
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}
