//! A member of a simulation: its chain, its journal and its council.

use std::{collections::BTreeMap, sync::Arc};

use chacha20::{ChaCha8Rng, rand_core::SeedableRng as _};
use silica_chain::{
    Chain,
    consensus::Application as _,
    state::{BlockRecord, Snapshot, Store},
};
use silica_protocol::{Qa, Timestamp, Transaction};

use super::super::*;
use crate::{
    cosign::{CoSignRound, Content, SessionId},
    record::entry_bytes,
    testing::{self, Disk},
};

/// Time of the start of a simulation, in microseconds after the genesis.
const START: u64 = 60_000_000;

/// A record in the journal of a member.
#[derive(Clone)]
pub(super) struct Journalled {
    pub(super) height: Height,
    pub(super) entry: Entry,
    /// Whether the member proposed the entry itself.
    is_own: bool,
    is_decided: bool,
}

/// A running member.
pub(super) struct Running {
    pub(super) chain: Chain,
    pub(super) disk: Disk,
    pub(super) council: Council,
}

pub(super) enum State {
    Running(Box<Running>),
    /// The member has crashed. It starts again at this time, in milliseconds.
    Down {
        store: Box<Store>,
        until: u64,
    },
    /// The member is between two states.
    Moving,
}

pub(super) struct Node {
    pub(super) index: usize,
    network: Arc<NetworkFile>,
    key: KeyPair,
    pub(super) state: State,
    pub(super) journal: Vec<Journalled>,
    pub(super) rng: ChaCha8Rng,
    /// Difference of its clock to the time of the simulation, in milliseconds.
    pub(super) skew: i64,
    /// Number of starts. Timers of an earlier start are lost.
    pub(super) starts: u64,
    /// The points that the member has shown in a session, and its response to each point.
    shown: BTreeMap<(SessionId, CoSignRound), Vec<[u8; 33]>>,
    answered: BTreeMap<[u8; 33], [u8; 32]>,
}

impl Node {
    pub(super) fn new(network: &Arc<NetworkFile>, index: usize, seed: u64, skew: i64) -> Self {
        let store = Store::ephemeral(silica_chain::state::StoreOptions::default());
        let mut node = Self {
            index,
            network: Arc::clone(network),
            key: testing::keys(index + 1).remove(index),
            state: State::Down { store: Box::new(store), until: 0 },
            journal: Vec::new(),
            rng: ChaCha8Rng::seed_from_u64(seed << 32 | u64::try_from(index).unwrap() << 24),
            skew,
            starts: 0,
            shown: BTreeMap::new(),
            answered: BTreeMap::new(),
        };
        node.restart();
        node
    }

    pub(super) fn running(&mut self) -> Option<&mut Running> {
        match &mut self.state {
            State::Running(running) => Some(running),
            State::Down { .. } | State::Moving => None,
        }
    }

    /// Stops the member. Its memory is lost, and its store and its journal stay.
    pub(super) fn crash(&mut self, until: u64) {
        let state = std::mem::replace(&mut self.state, State::Moving);
        self.state = match state {
            State::Running(running) => State::Down { store: Box::new(running.disk.producer.into_store()), until },
            State::Down { .. } | State::Moving => state,
        };
    }

    /// Starts the member from its store and its journal.
    pub(super) fn restart(&mut self) {
        let state = std::mem::replace(&mut self.state, State::Moving);
        let State::Down { store, .. } = state else { panic!("the member is running") };
        let (chain, producer) = testing::open(*store, &self.network);
        let mut disk = Disk::new(producer);
        let mut council = Council::new(&self.network, self.key.clone()).unwrap();
        let due = council.next_height(disk.head().header.number).unwrap();
        self.journal.retain(|record| record.height >= due);
        for Journalled { height, entry, is_own, is_decided } in &self.journal {
            if *is_decided {
                council.decide(&mut disk, *height, entry.id, Some(&entry.bytes)).unwrap();
                assert_eq!(council.next_height(disk.head().header.number), height.next());
            } else if council.next_height(disk.head().header.number) == Some(*height) {
                let verdict = if *is_own {
                    council.restore_own(&mut disk, *height, &entry.bytes)
                } else {
                    council.judge(&mut disk, *height, &entry.bytes, Rule::Accepted)
                };
                assert!(matches!(verdict, Verdict::Valid(id) if id == entry.id), "{verdict:?}");
            }
        }
        self.starts += 1;
        self.state = State::Running(Box::new(Running { chain, disk, council }));
    }

    /// Returns the clock of the member at a time in milliseconds.
    pub(super) fn clock(&self, time: u64) -> Timestamp {
        let start = self.network.parameters().genesis_time.get() + START;
        Timestamp::new((start + time * 1_000).saturating_add_signed(self.skew * 1_000))
    }

    pub(super) fn height(&mut self) -> Option<Height> {
        let Running { disk, council, .. } = self.running()?;
        council.next_height(disk.head().header.number)
    }

    pub(super) fn propose(&mut self, height: Height, round: u32, time: u64) -> Option<Entry> {
        let now = self.clock(time);
        let Running { disk, council, .. } = self.running()?;
        match council.propose(disk, height, round, now) {
            Ok(entry) => {
                self.write(height, &entry, true, false);
                Some(entry)
            }
            // The member is behind, or its session has no seal.
            Err(ProposalError::NoSeal | ProposalError::Height { .. }) => None,
            Err(error) => panic!("member {}: {error}", self.index),
        }
    }

    /// Judges an entry, and writes a valid entry to the journal before the vote.
    pub(super) fn judge(&mut self, height: Height, bytes: &[u8], rule: Rule) -> Option<Verdict> {
        let Running { disk, council, .. } = self.running()?;
        let verdict = council.judge(disk, height, bytes, rule);
        if let Verdict::Valid(id) = verdict {
            self.write(height, &Entry { id, bytes: bytes.into() }, false, false);
        }
        Some(verdict)
    }

    pub(super) fn decide(&mut self, height: Height, id: EntryId, bytes: Option<&[u8]>) -> Result<(), DecideError> {
        let Some(Running { disk, council, .. }) = self.running() else { return Ok(()) };
        let decided = council.decide(disk, height, id, bytes)?;
        let body = council.decided_body().cloned();
        match decided {
            Decided::Body => self.write(height, &body.unwrap(), false, true),
            Decided::Block(block) => {
                assert_eq!(block.tx_block().header.number, height.block());
                self.journal.retain(|record| record.height > height);
            }
        }
        Ok(())
    }

    fn write(&mut self, height: Height, entry: &Entry, is_own: bool, is_decided: bool) {
        // A decided record comes first, because a restart needs the decided body before other entries.
        let at = if is_decided { 0 } else { self.journal.len() };
        self.journal.insert(at, Journalled { height, entry: entry.clone(), is_own, is_decided });
    }

    pub(super) fn submit(&mut self, transaction: Transaction, time: u64) {
        let now = self.clock(time);
        let Some(Running { chain, .. }) = self.running() else { return };
        // The chain can have this transaction already.
        if let Ok(admitted) = chain.admit(transaction, false) {
            let _submitted = chain.submit(admitted, now);
        }
    }

    pub(super) fn snapshot(&mut self) -> Option<Snapshot> {
        self.running().map(|running| running.disk.producer.store().snapshot())
    }

    /// Returns the bytes of an entry, from the record, the decided body or the journal.
    pub(super) fn bytes_of(&mut self, height: Height, id: EntryId) -> Option<Arc<[u8]>> {
        let snapshot = self.snapshot()?;
        if let Some(bytes) = entry_bytes(&snapshot, height, self.network.parameters()).unwrap() {
            return Some(bytes.into());
        }
        let known = self.journal.iter().find(|record| record.entry.id == id);
        known.map(|record| Arc::clone(&record.entry.bytes))
    }

    /// Checks a message that the member sends. The member answers only for the decided body, and once with each nonce.
    pub(super) fn watch(&mut self, message: &CoSignMessage, decided: &BTreeMap<Height, EntryId>) {
        let (session, index) = (message.session, self.index);
        let body = Height::of_body(session.height.block()).unwrap();
        assert!(decided.contains_key(&body), "member {index} co-signs an undecided body");
        match &message.content {
            Content::Ready { body: id, .. } => assert_eq!(decided.get(&body), Some(id)),
            Content::Points(round, points) => {
                let points = points.iter().map(|point| *point.as_bytes()).collect();
                self.shown.insert((session, *round), points);
            }
            Content::Responses(round, responses) => {
                assert_eq!(self.height(), Some(session.height), "member {index} answers for another height");
                for (point, response) in self.shown[&(session, *round)].iter().zip(responses) {
                    let before = self.answered.insert(*point, *response.as_bytes());
                    assert!(before.is_none(), "member {index} answers two challenges with one nonce");
                }
            }
            Content::Set { .. } | Content::Challenge(..) | Content::First(_) => {}
        }
    }
}

/// Returns the record of a block.
pub(super) fn record(snapshot: &Snapshot, height: Height) -> BlockRecord {
    snapshot.record(height.block()).unwrap().unwrap()
}

/// Returns the money of all accounts.
pub(super) fn money(snapshot: &Snapshot) -> Qa {
    Qa::new(snapshot.state().accounts().map(|account| account.unwrap().1.balance.get()).sum())
}
