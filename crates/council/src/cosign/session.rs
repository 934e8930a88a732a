//! The part of one member in the co-signature of a body: as a signer, and as the leader of some rounds.

use std::{
    collections::{BTreeSet, VecDeque},
    mem,
    sync::Arc,
};

use rand_core::CryptoRng;
use silica_crypto::KeyPair;

use super::{
    early::{EarlyReadys, verify},
    error::{Rejected, SessionFailure},
    leader::{Action, Leader},
    member::Signer,
    message::{CoSignMessage, Content, SessionId},
    set::CoSignTask,
};
use crate::entry::{Height, Seal};

/// Largest number of attempts of a round.
pub const MAX_ATTEMPTS: u8 = 8;

/// The kind of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimerKind {
    /// The time for members that are later than a quorum, some 50 ms.
    Stragglers,
    /// The time for a step of the session: a message to the members and their answers. It grows with each round.
    Step,
}

/// A timer. A timer of an earlier step, round or height has no effect when it ends, so the caller does not need to
/// cancel it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timer {
    /// The kind.
    pub kind: TimerKind,
    height: Height,
    round: u32,
    step: u32,
}

impl Timer {
    /// Returns the round of the height in which the timer began.
    pub const fn round(&self) -> u32 {
        self.round
    }
}

/// The recipients of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recipient {
    /// All other members.
    All,
    /// One other member.
    One(usize),
}

/// An action of the caller for a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Send a message.
    Send(Recipient, CoSignMessage),
    /// Start a timer, and call [`Session::timer`] when it ends.
    Timer(Timer),
    /// Propose this seal. Its signatures are valid.
    Sealed(Seal),
    /// The leader of this round proposes nothing.
    Failed(SessionFailure),
    /// A member sent a false value.
    Fault {
        /// Position of the member.
        member: usize,
        /// The fault.
        reason: Rejected,
    },
}

/// A member that co-signs a decided body.
///
/// The session has no clock and no random numbers of its own. It keeps nonces in memory only. After a restart, the
/// member creates a new session, which has new nonces and answers no message of the earlier session.
#[derive(Debug)]
pub struct Session {
    task: Arc<CoSignTask>,
    key: KeyPair,
    index: usize,
    /// The latest round.
    round: u32,
    /// Whether a round has begun. Its end does not change this.
    has_begun: bool,
    signer: Option<Signer>,
    leader: Option<Leader>,
    /// The members that this member excludes as the leader of later rounds. A round has time for a few attempts only,
    /// so without this set, each of several faulty signers could make one attempt of every round fail.
    excluded: BTreeSet<usize>,
    early: EarlyReadys,
    own_ready: Option<CoSignMessage>,
}

impl Session {
    /// Creates the session of the member at position `index`. `early` has the messages that arrived before the member
    /// decided the body.
    pub fn new(task: CoSignTask, key: KeyPair, index: usize, early: EarlyReadys) -> Self {
        let task = Arc::new(task);
        let (excluded, own_ready) = (BTreeSet::new(), None);
        Self { task, key, index, round: 0, has_begun: false, signer: None, leader: None, excluded, early, own_ready }
    }

    /// Returns what the committee signs.
    pub fn task(&self) -> &CoSignTask {
        &self.task
    }

    /// Ends the session, and returns the messages that arrived early for later heights.
    pub fn into_early(self) -> EarlyReadys {
        self.early
    }

    /// Begins a round with this leader. The nonces of the earlier round are dropped. The session of an earlier round
    /// fails if this member leads it. A round that is not above the current one has no effect.
    pub fn start_round(&mut self, round: u32, leader: usize, rng: &mut impl CryptoRng) -> Vec<Effect> {
        // A second begin of a round would derive its nonces from the same context.
        if self.has_begun && round <= self.round {
            return Vec::new();
        }
        let mut run = Run::default();
        run.effects.extend(self.end());
        self.has_begun = true;
        self.round = round;
        self.own_ready = None;
        self.signer = Some(Signer::new(Arc::clone(&self.task), self.key.clone(), self.index, round, leader));
        let early = self.early.take(self.task.height, round);
        if leader == self.index {
            let (leader, actions) = Leader::new(Arc::clone(&self.task), self.index, mem::take(&mut self.excluded));
            self.leader = Some(leader);
            self.act(actions, rng, &mut run);
        } else if let Some(ready) = self.signer.as_mut().and_then(|signer| signer.open(0, rng)) {
            run.effects.push(Effect::Send(Recipient::One(leader), ready));
        }
        run.queue.extend(early);
        self.run(rng, &mut run);
        run.effects
    }

    /// Ends the round, for example because the time for a proposal is over. Returns the failure of an open session of
    /// this leader.
    pub(super) fn end(&mut self) -> Option<Effect> {
        self.signer = None;
        let (excluded, failure) = self.leader.take()?.end();
        self.excluded = excluded;
        failure.map(Effect::Failed)
    }

    /// Handles a message of another member.
    ///
    /// # Errors
    ///
    /// [`Rejected`] names the reason. The caller drops the message, and can count it.
    pub fn receive(&mut self, message: CoSignMessage, rng: &mut impl CryptoRng) -> Result<Vec<Effect>, Rejected> {
        // The verification of the signature takes the most time, so it comes last.
        let got = message.session;
        let expected = SessionId { height: self.task.height, round: self.round, attempt: got.attempt };
        if got > expected || (got == expected && self.signer.is_none()) {
            self.early.keep(message, &self.task.network, &self.task.committee)?;
            return Ok(Vec::new());
        }
        if got != expected {
            return Err(Rejected::Session { expected, got });
        }
        verify(&message, &self.task.network, &self.task.committee)?;
        let mut run = Run::default();
        self.handle(&message, rng, &mut run)?;
        self.run(rng, &mut run);
        Ok(run.effects)
    }

    /// Handles the end of a timer.
    pub fn timer(&mut self, timer: Timer, rng: &mut impl CryptoRng) -> Vec<Effect> {
        let mut run = Run::default();
        let is_due = (timer.height, timer.round) == (self.task.height, self.round);
        if let Some(leader) = self.leader.as_mut().filter(|_| is_due) {
            let actions = leader.timer(timer.kind, timer.step);
            self.act(actions, rng, &mut run);
            self.run(rng, &mut run);
        }
        run.effects
    }

    /// Handles early messages, and messages of this member to itself, until none is left.
    fn run(&mut self, rng: &mut impl CryptoRng, run: &mut Run) {
        while let Some(message) = run.queue.pop_front() {
            // An early message can be about another body. It is dropped, as if it had arrived now.
            let _rejected = self.handle(&message, rng, run);
        }
    }

    fn handle(&mut self, message: &CoSignMessage, rng: &mut impl CryptoRng, run: &mut Run) -> Result<(), Rejected> {
        let is_for_leader = match message.content {
            Content::Points(..) | Content::Responses(..) => true,
            Content::Ready { .. } => self.leader.is_some(),
            Content::Set { .. } | Content::Challenge(..) | Content::First(_) => false,
        };
        if is_for_leader {
            let actions = self.leader.as_mut().ok_or(Rejected::NotDue)?.receive(message)?;
            self.act(actions, rng, run);
            return Ok(());
        }
        let signer = self.signer.as_mut().ok_or(Rejected::NotDue)?;
        if let Some(answer) = signer.receive(message, rng)? {
            self.answer(message.from, answer, run);
        }
        Ok(())
    }

    /// Sends an answer to the leader, which can be this member.
    fn answer(&self, leader: usize, answer: CoSignMessage, run: &mut Run) {
        if leader == self.index {
            run.queue.push_back(answer);
        } else {
            run.effects.push(Effect::Send(Recipient::One(leader), answer));
        }
    }

    /// Executes the actions of the leader.
    fn act(&mut self, actions: Vec<Action>, rng: &mut impl CryptoRng, run: &mut Run) {
        for action in actions {
            match action {
                Action::Open(attempt) => {
                    self.own_ready = self.signer.as_mut().and_then(|signer| signer.open(attempt, rng));
                    if let Some(ready) = &self.own_ready {
                        run.effects.push(Effect::Send(Recipient::All, ready.clone()));
                        run.queue.push_back(ready.clone());
                    }
                }
                Action::Remind(member) => {
                    let to = member.map_or(Recipient::All, Recipient::One);
                    run.effects.extend(self.own_ready.clone().map(|ready| Effect::Send(to, ready)));
                }
                Action::Send(content) => {
                    let Some(leader) = &self.leader else { continue };
                    let session = SessionId { height: self.task.height, round: self.round, attempt: leader.attempt() };
                    let message = CoSignMessage::new(&self.task.network, session, self.index, content, &self.key);
                    run.effects.push(Effect::Send(Recipient::All, message.clone()));
                    run.queue.push_back(message);
                }
                Action::Timer(kind) => {
                    let step = self.leader.as_ref().map_or(0, Leader::step);
                    run.effects.push(Effect::Timer(Timer { kind, height: self.task.height, round: self.round, step }));
                }
                Action::Fault(member, reason) => {
                    run.effects.push(Effect::Fault { member, reason });
                }
                Action::Sealed(seal) => {
                    debug_assert_eq!(seal.verify(&self.task.items, &self.task.committee), Ok(()));
                    run.effects.push(Effect::Sealed(seal));
                }
                Action::Failed(failure) => run.effects.push(Effect::Failed(failure)),
            }
        }
    }
}

/// Effects for the caller, and messages of this member to itself.
#[derive(Debug, Default)]
struct Run {
    effects: Vec<Effect>,
    queue: VecDeque<CoSignMessage>,
}
