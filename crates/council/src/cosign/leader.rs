//! The side of the leader. It collects and checks the values of the signers, and has no nonces.

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
    sync::Arc,
};

use silica_crypto::multisig::{self, Challenge, CommitPoint, Response};
use silica_protocol::Signature;

use super::{
    error::{Rejected, SessionFailure},
    message::{CoSignMessage, CoSignRound, Content, ItemHashes, SignedReady},
    session::{MAX_ATTEMPTS, TimerKind},
    set::{CoSignTask, SignerSet},
};
use crate::entry::{ItemSignatures, Seal};

/// An action of the leader after a message or a timer.
#[derive(Debug)]
pub(super) enum Action {
    /// Open this attempt at the signer of the leader, and send the `Ready` of this signer to all members.
    Open(u8),
    /// Send the `Ready` of the leader again, to one member or to all.
    Remind(Option<usize>),
    /// Sign and send this content to all members.
    Send(Content),
    /// Call [`Leader::timer`] after the time of this kind.
    Timer(TimerKind),
    /// A member sent a false value.
    Fault(usize, Rejected),
    /// The session ends with a seal.
    Sealed(Seal),
    /// The session ends without a seal.
    Failed(SessionFailure),
}

/// The leader of one round of a height.
#[derive(Debug)]
pub(super) struct Leader {
    task: Arc<CoSignTask>,
    index: usize,
    attempt: u8,
    /// Members that were silent or sent false values in this round, or in an earlier one of this leader.
    excluded: BTreeSet<usize>,
    phase: Phase,
    /// Counts the phases, so that a timer of an earlier phase has no effect.
    step: u32,
}

#[derive(Debug)]
enum Phase {
    /// Waits for the `Ready` of a quorum.
    Collecting {
        readys: BTreeMap<usize, SignedReady>,
        is_enough: bool,
    },
    /// Waits for the points of all signers.
    Points {
        set: SignerSet,
        first: Option<Vec<Signature>>,
        points: BTreeMap<usize, Vec<CommitPoint>>,
    },
    /// Waits for the responses of all signers.
    Responses {
        set: SignerSet,
        first: Option<Vec<Signature>>,
        points: BTreeMap<usize, Vec<CommitPoint>>,
        challenges: Vec<Challenge>,
        responses: BTreeMap<usize, Vec<Response>>,
    },
    Ended,
}

impl Leader {
    /// Creates the leader, and begins attempt 0 without the members in `excluded`.
    pub(super) fn new(task: Arc<CoSignTask>, index: usize, excluded: BTreeSet<usize>) -> (Self, Vec<Action>) {
        let mut leader = Self { task, index, attempt: 0, excluded, phase: Phase::Ended, step: 0 };
        let actions = leader.begin();
        (leader, actions)
    }

    pub(super) fn step(&self) -> u32 {
        self.step
    }

    pub(super) fn attempt(&self) -> u8 {
        self.attempt
    }

    pub(super) fn has_ended(&self) -> bool {
        matches!(self.phase, Phase::Ended)
    }

    fn begin(&mut self) -> Vec<Action> {
        self.enter(Phase::Collecting { readys: BTreeMap::new(), is_enough: false });
        vec![Action::Open(self.attempt), Action::Timer(TimerKind::Step)]
    }

    fn enter(&mut self, phase: Phase) {
        self.step = self.step.wrapping_add(1);
        self.phase = phase;
    }

    /// Handles a message of a member. The signature is verified.
    pub(super) fn receive(&mut self, message: &CoSignMessage) -> Result<Vec<Action>, Rejected> {
        let from = message.from;
        if self.excluded.contains(&from) || self.has_ended() {
            return Err(Rejected::NotDue);
        }
        if let Content::Ready { body, hashes } = &message.content {
            if *body != self.task.body {
                return Err(Rejected::Body { expected: self.task.body, got: *body });
            }
            self.task.check_items("hashes", hashes.len())?;
            return self.ready(message, hashes);
        }
        let expected = super::message::SessionId { attempt: self.attempt, ..message.session };
        if message.session != expected {
            return Err(Rejected::Session { expected, got: message.session });
        }
        match &message.content {
            Content::Points(round, points) => self.points(*round, from, points),
            Content::Responses(round, responses) => self.responses(*round, from, responses),
            Content::Ready { .. } | Content::Set { .. } | Content::Challenge(..) | Content::First(_) => {
                Err(Rejected::NotDue)
            }
        }
    }

    /// Handles the end of a timer. A timer that began in an earlier phase has no effect.
    pub(super) fn timer(&mut self, kind: TimerKind, step: u32) -> Vec<Action> {
        if step != self.step {
            return Vec::new();
        }
        match (&self.phase, kind) {
            (Phase::Collecting { is_enough: true, .. }, TimerKind::Stragglers) => self.choose(),
            (Phase::Collecting { is_enough, .. }, TimerKind::Step) => {
                // The other members are too few for a quorum, so the session needs the excluded members. Such a member
                // can be slow, and correct.
                if !is_enough {
                    self.excluded.clear();
                }
                vec![Action::Remind(None), Action::Timer(TimerKind::Step)]
            }
            (Phase::Points { set, points, .. }, TimerKind::Step) => {
                let silent = set.positions().filter(|member| !points.contains_key(member)).collect();
                self.exclude(silent)
            }
            (Phase::Responses { set, responses, .. }, TimerKind::Step) => {
                let silent = set.positions().filter(|member| !responses.contains_key(member)).collect();
                self.exclude(silent)
            }
            (Phase::Collecting { .. } | Phase::Ended, _)
            | (Phase::Points { .. } | Phase::Responses { .. }, TimerKind::Stragglers) => Vec::new(),
        }
    }

    /// Ends the session, because the round ends. Returns the members that stay excluded in later rounds of the height,
    /// and the failure, if the session has not ended before.
    pub(super) fn end(self) -> (BTreeSet<usize>, Option<SessionFailure>) {
        let failure = (!self.has_ended()).then_some(SessionFailure::Ended { attempt: self.attempt });
        (self.excluded, failure)
    }

    fn ready(&mut self, message: &CoSignMessage, hashes: &[ItemHashes]) -> Result<Vec<Action>, Rejected> {
        let (from, attempt) = (message.from, message.session.attempt);
        let Phase::Collecting { readys, is_enough } = &mut self.phase else { return Err(Rejected::NotDue) };
        if attempt < self.attempt {
            // The member has restarted, or has missed the start of the attempt.
            return Ok(vec![Action::Remind(Some(from))]);
        }
        if attempt > self.attempt {
            return Err(Rejected::NotDue);
        }
        readys.insert(from, SignedReady { hashes: hashes.to_vec(), signature: message.signature });
        let possible = self.task.committee.len().saturating_sub(self.excluded.len());
        if readys.len() < self.task.quorum() || !readys.contains_key(&self.index) {
            return Ok(Vec::new());
        }
        if readys.len() == possible {
            return Ok(self.choose());
        }
        let was_enough = mem::replace(is_enough, true);
        Ok(if was_enough { Vec::new() } else { vec![Action::Timer(TimerKind::Stragglers)] })
    }

    /// Chooses the signers: the leader, and the first members in an order that begins one member later at each Tx
    /// block. So each member that answers in time signs some of the blocks.
    fn choose(&mut self) -> Vec<Action> {
        let Phase::Collecting { mut readys, .. } = mem::replace(&mut self.phase, Phase::Ended) else {
            return Vec::new();
        };
        let members = self.task.committee.len();
        let shift = self.task.height.block().get().checked_rem(u64::try_from(members).unwrap_or(1));
        let shift = shift.and_then(|shift| usize::try_from(shift).ok()).unwrap_or_default();
        let order = (0..members).cycle().skip(shift).take(members).filter(|member| *member != self.index);
        let others = order.filter(|member| readys.contains_key(member));
        let chosen: BTreeSet<_> = [self.index].into_iter().chain(others).take(self.task.quorum()).collect();
        readys.retain(|member, _| chosen.contains(member));
        let signers: Vec<_> = (0..members).map(|member| chosen.contains(&member)).collect();
        let hashes = readys.values().map(|ready| ready.hashes.clone()).collect();
        match SignerSet::new(&self.task, self.index, signers.clone(), hashes) {
            Ok(set) => {
                self.enter(Phase::Points { set, first: None, points: BTreeMap::new() });
                let readys = readys.into_values().collect();
                vec![Action::Send(Content::Set { signers, readys }), Action::Timer(TimerKind::Step)]
            }
            Err(_) => self.next_attempt(),
        }
    }

    fn points(&mut self, of: CoSignRound, from: usize, given: &[CommitPoint]) -> Result<Vec<Action>, Rejected> {
        let Phase::Points { set, first, points } = &mut self.phase else { return Err(Rejected::NotDue) };
        let round = round(first.as_ref());
        if of != round || points.contains_key(&from) {
            return Err(Rejected::NotDue);
        }
        if set.key_of(from).is_none() {
            return Err(Rejected::NotSigner { got: from });
        }
        if let Err(fault) = set.check_points(round, from, given) {
            return Ok(self.fault(from, fault));
        }
        points.insert(from, given.to_vec());
        if points.len() < set.len() {
            return Ok(Vec::new());
        }
        let all: Vec<_> = points.values().cloned().collect();
        // No member is at fault if a sum or a challenge is zero.
        let Ok(challenges) = set.challenges(&self.task, first.as_deref(), &all) else { return Ok(self.next_attempt()) };
        let Phase::Points { set, first, points } = mem::replace(&mut self.phase, Phase::Ended) else {
            return Ok(Vec::new());
        };
        self.enter(Phase::Responses { set, first, points, challenges, responses: BTreeMap::new() });
        Ok(vec![Action::Send(Content::Challenge(round, all)), Action::Timer(TimerKind::Step)])
    }

    fn responses(&mut self, of: CoSignRound, from: usize, given: &[Response]) -> Result<Vec<Action>, Rejected> {
        let Phase::Responses { set, first, points, challenges, responses } = &mut self.phase else {
            return Err(Rejected::NotDue);
        };
        let round = round(first.as_ref());
        if of != round || responses.contains_key(&from) {
            return Err(Rejected::NotDue);
        }
        let key = set.key_of(from).ok_or(Rejected::NotSigner { got: from })?;
        if given.len() != challenges.len() {
            let length = Rejected::Length { field: "responses", expected: challenges.len(), got: given.len() };
            return Ok(self.fault(from, length));
        }
        let points = points.get(&from).map(Vec::as_slice).unwrap_or_default();
        let mut checked = given.iter().zip(challenges.iter()).zip(points);
        let is_false = |((response, challenge), point): ((&Response, &Challenge), &CommitPoint)| {
            response.check(challenge, key, point).is_err()
        };
        if let Some(item) = checked.position(is_false) {
            return Ok(self.fault(from, Rejected::Response { member: from, item }));
        }
        responses.insert(from, given.to_vec());
        if responses.len() < set.len() {
            return Ok(Vec::new());
        }
        Ok(self.combine())
    }

    /// Combines the responses of all signers to the signatures of a round.
    fn combine(&mut self) -> Vec<Action> {
        let Phase::Responses { set, first, challenges, responses, .. } = mem::replace(&mut self.phase, Phase::Ended)
        else {
            return Vec::new();
        };
        let combine = |(item, challenge): (usize, &Challenge)| {
            let responses: Vec<_> = responses.values().filter_map(|all| all.get(item).cloned()).collect();
            multisig::combine(challenge, &responses)
        };
        let Ok(signatures) = challenges.iter().enumerate().map(combine).collect::<Result<Vec<_>, _>>() else {
            return self.next_attempt();
        };
        let Some(first) = first else {
            self.enter(Phase::Points { set, first: Some(signatures.clone()), points: BTreeMap::new() });
            return vec![Action::Send(Content::First(signatures)), Action::Timer(TimerKind::Step)];
        };
        let items = first.into_iter().zip(signatures).map(|(cs1, cs2)| ItemSignatures { cs1, cs2 }).collect();
        vec![Action::Sealed(Seal { signers: set.bits, items })]
    }

    fn fault(&mut self, member: usize, fault: Rejected) -> Vec<Action> {
        let mut actions = vec![Action::Fault(member, fault)];
        actions.append(&mut self.exclude(vec![member]));
        actions
    }

    /// Excludes members for this round and later rounds of this leader at the height, and begins the next attempt.
    fn exclude(&mut self, members: Vec<usize>) -> Vec<Action> {
        self.excluded.extend(members);
        self.next_attempt()
    }

    fn next_attempt(&mut self) -> Vec<Action> {
        let (left, needed) = (self.task.committee.len().saturating_sub(self.excluded.len()), self.task.quorum());
        let failure = match self.attempt.checked_add(1) {
            _ if left < needed => {
                self.excluded.clear();
                SessionFailure::TooFew { left, needed }
            }
            Some(next) if next < MAX_ATTEMPTS => {
                self.attempt = next;
                return self.begin();
            }
            _ => SessionFailure::Attempts { most: MAX_ATTEMPTS },
        };
        self.enter(Phase::Ended);
        vec![Action::Failed(failure)]
    }
}

/// Returns the round of an attempt: the second one if the signatures of the first round exist.
fn round(first: Option<&Vec<Signature>>) -> CoSignRound {
    if first.is_some() { CoSignRound::Second } else { CoSignRound::First }
}
