//! The failure cases of a session, each by itself. A test moves the messages by hand.
#![expect(clippy::wildcard_enum_match_arm, reason = "a test handles the cases that it is about")]

use std::collections::VecDeque;

use chacha20::{ChaCha8Rng, rand_core::SeedableRng as _};
use silica_crypto::{
    KeyPair, VerifyError,
    cosign::quorum,
    multisig::{CommitPoint, Response},
};
use silica_protocol::{BlockNumber, Signature};

use super::*;
use crate::{
    entry::{EntryId, Height, Seal},
    network::NetworkId,
    testing,
};

fn task(members: usize, block: u64) -> CoSignTask {
    CoSignTask {
        network: NetworkId::new([7; 32]),
        height: Height::of_seal(BlockNumber::new(block)).unwrap(),
        body: EntryId::new([1; 32]),
        items: vec![b"one".to_vec(), b"two".to_vec()],
        committee: testing::keys(members).iter().map(KeyPair::public_key).collect(),
    }
}

/// Sessions whose messages are in a queue. Member 0 is the leader of round 0.
struct Table {
    keys: Vec<KeyPair>,
    sessions: Vec<Session>,
    rng: ChaCha8Rng,
    queue: VecDeque<(usize, CoSignMessage)>,
    timers: Vec<Timer>,
    results: Vec<Effect>,
}

impl Table {
    fn new(members: usize, block: u64) -> Self {
        let keys = testing::keys(members);
        let session = |(index, key): (usize, &KeyPair)| {
            Session::new(task(members, block), key.clone(), index, EarlyReadys::default())
        };
        let sessions = keys.iter().enumerate().map(session).collect();
        let (queue, timers, results) = (VecDeque::new(), Vec::new(), Vec::new());
        Self { keys, sessions, rng: ChaCha8Rng::seed_from_u64(0), queue, timers, results }
    }

    fn start(members: usize, block: u64) -> Self {
        let mut table = Self::new(members, block);
        table.start_round(0, 0);
        table
    }

    fn start_round(&mut self, round: u32, leader: usize) {
        for member in 0..self.sessions.len() {
            let effects = self.sessions[member].start_round(round, leader, &mut self.rng);
            self.act(member, effects);
        }
    }

    fn act(&mut self, from: usize, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Send(Recipient::All, message) => {
                    let others = (0..self.sessions.len()).filter(|member| *member != from);
                    self.queue.extend(others.map(|member| (member, message.clone())));
                }
                Effect::Send(Recipient::One(member), message) => self.queue.push_back((member, message)),
                Effect::Timer(timer) => self.timers.push(timer),
                result => self.results.push(result),
            }
        }
    }

    /// Delivers all messages, after `filter` has dropped or changed them.
    fn deliver(&mut self, mut filter: impl FnMut(CoSignMessage) -> Option<CoSignMessage>) {
        while let Some((to, message)) = self.queue.pop_front() {
            if let Some(message) = filter(message) {
                let effects = self.sessions[to].receive(message, &mut self.rng).unwrap_or_default();
                self.act(to, effects);
            }
        }
    }

    /// Ends all running timers of this kind at the leader.
    fn time(&mut self, leader: usize, kind: TimerKind) {
        let (due, rest) = std::mem::take(&mut self.timers).into_iter().partition(|timer| timer.kind == kind);
        self.timers = rest;
        let due: Vec<_> = due;
        for timer in due {
            let effects = self.sessions[leader].timer(timer, &mut self.rng);
            self.act(leader, effects);
        }
    }

    /// Returns a copy of a message with another content, signed by its sender.
    fn forge(&self, message: &CoSignMessage, content: Content) -> CoSignMessage {
        let key = &self.keys[message.from];
        CoSignMessage::new(&NetworkId::new([7; 32]), message.session, message.from, content, key)
    }

    fn receive(&mut self, to: usize, message: &CoSignMessage) -> Result<Vec<Effect>, Rejected> {
        self.sessions[to].receive(message.clone(), &mut self.rng)
    }

    fn seal(&self) -> &Seal {
        let [Effect::Sealed(seal)] = &self.results[..] else { panic!("{:?}", self.results) };
        seal
    }
}

fn kind(message: &CoSignMessage) -> u8 {
    message.encode()[0]
}

/// Delivers messages before the message of this kind, and returns the messages of this kind.
fn until(table: &mut Table, of: u8) -> Vec<(usize, CoSignMessage)> {
    let mut kept = Vec::new();
    while let Some((to, message)) = table.queue.pop_front() {
        if kind(&message) == of {
            kept.push((to, message));
        } else if let Ok(effects) = table.receive(to, &message) {
            table.act(to, effects);
        }
    }
    kept
}

#[test]
fn a_quorum_seals_the_body() {
    for members in [2, 3, 4, 7] {
        let mut table = Table::start(members, 1);
        table.deliver(Some);
        let task = task(members, 1);
        assert_eq!(table.seal().verify(&task.items, &task.committee), Ok(()));
    }
}

#[test]
fn each_member_signs_from_time_to_time() {
    let mut counts = [0; 4];
    for block in 0..4 {
        let mut table = Table::start(4, block + 1);
        table.deliver(Some);
        counts.iter_mut().zip(&table.seal().signers).for_each(|(count, signer)| *count += u32::from(*signer));
    }
    assert_eq!(counts[0], 4, "the leader always signs");
    assert!(counts[1..].iter().all(|count| (1..4).contains(count)), "{counts:?}");
}

#[test]
fn a_silent_member_is_excluded_at_each_step() {
    for step in [3, 5, 7, 9] {
        let mut table = Table::start(4, 1);
        table.deliver(|message| (message.from != 2 || kind(&message) != step).then_some(message));
        assert!(table.results.is_empty(), "step {step}");
        table.time(0, TimerKind::Step);
        table.deliver(|message| (message.from != 2).then_some(message));
        assert_eq!(table.seal().signers, [true, true, false, true], "step {step}");
    }
}

#[test]
fn a_member_that_is_silent_from_the_start_costs_the_time_of_stragglers() {
    let mut table = Table::start(4, 1);
    table.deliver(|message| (message.from != 2).then_some(message));
    assert!(table.results.is_empty());
    table.time(0, TimerKind::Stragglers);
    table.deliver(|message| (message.from != 2).then_some(message));
    assert_eq!(table.seal().signers, [true, true, false, true]);
}

#[test]
fn false_values_name_their_member() {
    for step in [3, 5, 7, 9] {
        let mut table = Table::start(4, 1);
        let messages = until(&mut table, step);
        let (to, message) = messages.into_iter().find(|(_, message)| message.from == 2).unwrap();
        let content = match message.content.clone() {
            Content::Points(round, mut points) => {
                points.swap(0, 1);
                Content::Points(round, points)
            }
            Content::Responses(round, mut responses) => {
                responses[1] = Response::from_bytes([9; 32]).unwrap();
                Content::Responses(round, responses)
            }
            content => content,
        };
        let expected = match content {
            Content::Points(..) => Rejected::Point { member: 2, item: 0 },
            _ => Rejected::Response { member: 2, item: 1 },
        };
        let forged = table.forge(&message, content);
        let effects = table.receive(to, &forged).unwrap();
        let fault = Effect::Fault { member: 2, reason: expected };
        assert_eq!(effects[0], fault, "step {step}");
        table.act(to, effects);
        table.deliver(|message| (message.from != 2).then_some(message));
        assert_eq!(table.results.len(), 2, "step {step}: {:?}", table.results);
        table.results.remove(0);
        assert_eq!(table.seal().signers, [true, true, false, true], "step {step}");
    }
}

/// The member has sent the hash of these bytes before, and the bytes are not a point of the curve.
#[test]
fn bytes_that_are_no_point_are_evidence() {
    let bad = [CommitPoint::unchecked([5; 33]); 2];
    let mut table = Table::start(4, 1);
    let readys = until(&mut table, 1);
    for (to, message) in readys {
        let content = match message.content.clone() {
            Content::Ready { body, .. } if message.from == 2 => {
                Content::Ready { body, hashes: bad.map(|point| ItemHashes([point.hash(); 2])).to_vec() }
            }
            content => content,
        };
        let message = table.forge(&message, content);
        let effects = table.receive(to, &message).unwrap_or_default();
        table.act(to, effects);
    }
    let messages = until(&mut table, 3);
    let (_, message) = messages.into_iter().find(|(_, message)| message.from != 0).unwrap();
    let shown = CoSignMessage { from: 2, ..message };
    let message = table.forge(&shown, Content::Points(CoSignRound::First, bad.to_vec()));
    let effects = table.receive(0, &message).unwrap();
    let reason = Rejected::Point { member: 2, item: 0 };
    assert_eq!(effects[0], Effect::Fault { member: 2, reason });
    table.act(0, effects);
    table.deliver(|message| (message.from != 2).then_some(message));
    table.results.remove(0);
    assert_eq!(table.seal().signers, [true, true, false, true]);
}

#[test]
fn lists_of_another_length_name_their_member() {
    for step in [3, 5] {
        let mut table = Table::start(4, 1);
        let messages = until(&mut table, step);
        let (to, message) = messages.into_iter().find(|(_, message)| message.from == 2).unwrap();
        let content = match message.content.clone() {
            Content::Points(round, points) => Content::Points(round, points[..1].to_vec()),
            Content::Responses(round, responses) => Content::Responses(round, responses[..1].to_vec()),
            content => content,
        };
        let forged = table.forge(&message, content);
        let effects = table.receive(to, &forged).unwrap();
        let is_length = |reason: &Rejected| matches!(reason, Rejected::Length { expected: 2, got: 1, .. });
        assert!(matches!(&effects[0], Effect::Fault { member: 2, reason, .. } if is_length(reason)), "{effects:?}");
    }
}

#[test]
fn a_session_fails_with_too_few_members() {
    let mut table = Table::start(4, 1);
    table.deliver(|message| (message.from == 0 || kind(&message) == 1).then_some(message));
    table.time(0, TimerKind::Step);
    assert_eq!(table.results, [Effect::Failed(SessionFailure::TooFew { left: 2, needed: 3 })]);
    assert_eq!(table.sessions[0].end(), None);
    // The next round of the leader begins with all members.
    table.results.clear();
    table.start_round(1, 0);
    table.deliver(Some);
    assert_eq!(table.seal().signers.len(), 4);
}

#[test]
fn a_session_fails_after_all_attempts() {
    let mut table = Table::start(31, 1);
    for attempt in 0..MAX_ATTEMPTS {
        assert!(table.results.is_empty(), "attempt {attempt}");
        // One signer is silent in each attempt.
        let mut silent = None;
        let mut filter = |message: CoSignMessage| {
            let shows_points = message.from != 0 && kind(&message) == 3;
            let is_silent = shows_points && *silent.get_or_insert(message.from) == message.from;
            (!is_silent).then_some(message)
        };
        table.deliver(&mut filter);
        if attempt > 0 {
            table.time(0, TimerKind::Stragglers);
            table.deliver(&mut filter);
        }
        table.time(0, TimerKind::Step);
    }
    assert_eq!(table.results, [Effect::Failed(SessionFailure::Attempts { most: MAX_ATTEMPTS })]);
}

/// Lets one faulty signer make each attempt fail. The signer sends a false point, or none. A round has time for
/// `attempts` steps in which a signer is silent. Returns the round of leader 0 that ends with a seal.
fn round_of_seal(members: usize, faulty: usize, is_silent: bool, attempts: usize) -> u32 {
    let mut table = Table::new(members, 1);
    let keys = testing::keys(members);
    for round in 0..8 {
        table.start_round(round, 0);
        let mut spoiler = None;
        for _ in 0..attempts {
            table.deliver(|mut message| {
                let SessionId { attempt, .. } = message.session;
                let is_faulty = (1..=faulty).contains(&message.from) && kind(&message) == 3;
                if !is_faulty || spoiler.is_some_and(|it| it >= attempt) {
                    return Some(message);
                }
                spoiler = Some(attempt);
                let Content::Points(_, points) = &mut message.content else { return None };
                points.swap(0, 1);
                let (session, key) = (message.session, &keys[message.from]);
                let forged = CoSignMessage::new(&NetworkId::new([7; 32]), session, message.from, message.content, key);
                (!is_silent).then_some(forged)
            });
            if table.results.iter().any(|effect| matches!(effect, Effect::Sealed(_))) {
                return round;
            }
            table.time(0, TimerKind::Step);
        }
        table.queue.clear();
    }
    panic!("no seal: {:?}", table.results);
}

#[test]
fn faulty_signers_spoil_no_more_attempts_than_they_are() {
    assert_eq!(round_of_seal(16, 5, true, 2), 2, "silent signers");
    assert_eq!(round_of_seal(16, 5, false, 1), 0, "false points take no time");
    assert_eq!(round_of_seal(25, 8, true, 2), 4, "silent signers");
    assert_eq!(round_of_seal(25, 8, false, 1), 1, "more false points than a round has attempts");
}

/// Member 2 was only slow. Without it, the session of a later round has no quorum when member 3 stops.
#[test]
fn an_excluded_member_returns_if_the_others_are_too_few() {
    let mut table = Table::start(4, 1);
    table.deliver(|message| (message.from != 2 || kind(&message) != 3).then_some(message));
    table.time(0, TimerKind::Step);
    table.queue.clear();
    table.start_round(1, 0);
    table.deliver(|message| (message.from != 3).then_some(message));
    assert_eq!(table.results, [Effect::Failed(SessionFailure::Ended { attempt: 1 })]);
    table.results.clear();
    table.time(0, TimerKind::Step);
    table.deliver(|message| (message.from != 3).then_some(message));
    table.time(0, TimerKind::Stragglers);
    table.deliver(|message| (message.from != 3).then_some(message));
    assert_eq!(table.seal().signers, [true, true, true, false]);
}

#[test]
fn the_end_of_a_round_is_a_named_failure() {
    let mut table = Table::start(4, 1);
    table.deliver(|_| None);
    let ended = Effect::Failed(SessionFailure::Ended { attempt: 0 });
    let effects = table.sessions[0].start_round(1, 1, &mut ChaCha8Rng::seed_from_u64(9));
    assert_eq!(effects[0], ended);
    assert_eq!(Table::start(4, 1).sessions[0].end(), Some(ended));
    assert_eq!(Table::start(4, 1).sessions[1].end(), None);
}

#[test]
fn only_the_first_set_of_an_attempt_is_answered() {
    let mut table = Table::start(4, 1);
    let sets = until(&mut table, 2);
    let (_, set) = sets.iter().find(|(to, _)| *to == 1).unwrap();
    assert!(
        matches!(&table.receive(1, set).unwrap()[..], [Effect::Send(Recipient::One(0), points)] if kind(points) == 3)
    );
    assert_eq!(table.receive(1, set), Err(Rejected::NotDue));
    let Content::Set { readys, .. } = &set.content else { panic!("{set:?}") };
    let other = Content::Set { signers: vec![true, true, true, false], readys: readys.clone() };
    let other = table.forge(set, other);
    assert_eq!(table.receive(1, &other), Err(Rejected::NotDue));
}

#[test]
fn a_false_set_is_not_answered() {
    let mut table = Table::start(4, 1);
    let sets = until(&mut table, 2);
    let (_, set) = sets.iter().find(|(to, _)| *to == 1).unwrap().clone();
    let Content::Set { signers, readys } = &set.content else { panic!("{set:?}") };
    let members: Vec<_> = (0..4).filter(|member| signers[*member]).collect();
    let at = |member: usize| members.iter().position(|other| *other == member).unwrap();
    let other = members[2];
    let mut check = |signers: &[bool], readys: Vec<SignedReady>, expected: Result<Vec<Effect>, Rejected>| {
        let content = Content::Set { signers: signers.to_vec(), readys };
        let false_set = table.forge(&set, content);
        assert_eq!(table.receive(1, &false_set), expected);
    };
    let mut changed = readys.clone();
    changed[at(1)].hashes.swap(0, 1);
    check(signers, changed, Err(Rejected::OwnHashes));
    let mut changed = readys.clone();
    changed[at(other)].hashes.swap(0, 1);
    check(signers, changed, Err(Rejected::Signature { from: other, source: VerifyError::Mismatch }));
    let mut changed = readys.clone();
    changed[at(other)].hashes.pop();
    check(signers, changed, Err(Rejected::Length { field: "hashes", expected: 2, got: 1 }));
    let all = [&readys[..], &readys[..1]].concat();
    check(&[true; 4], all, Err(Rejected::Signers { expected: 3, got: 4 }));
    check(&[false, true, true, true], readys.clone(), Err(Rejected::Signers { expected: 3, got: 3 }));
    check(&[true; 3], readys.clone(), Err(Rejected::Length { field: "signers", expected: 4, got: 3 }));
    // A set without this member is valid.
    check(&[true, false, true, true], readys.clone(), Ok(Vec::new()));
    // The member still answers the true set.
    assert_eq!(table.receive(1, &set).map(|effects| effects.len()), Ok(1));
}

#[test]
fn a_false_challenge_ends_the_attempt() {
    for round in [4, 8] {
        let mut table = Table::start(4, 1);
        let challenges = until(&mut table, round);
        let (_, challenge) = challenges.iter().find(|(to, _)| *to == 1).unwrap().clone();
        let Content::Challenge(of, points) = &challenge.content else { panic!("{challenge:?}") };
        let mut changed = points.clone();
        changed[2].swap(0, 1);
        let forged = table.forge(&challenge, Content::Challenge(*of, changed));
        assert!(matches!(table.receive(1, &forged), Err(Rejected::Point { item: 0, .. })));
        // The false challenge has consumed the nonces, so the member does not answer the true challenge.
        assert_eq!(table.receive(1, &challenge), Err(Rejected::NotDue));
    }
}

#[test]
fn a_challenge_is_answered_once() {
    let mut table = Table::start(4, 1);
    let challenges = until(&mut table, 4);
    let (_, challenge) = challenges.iter().find(|(to, _)| *to == 1).unwrap();
    assert_eq!(table.receive(1, challenge).map(|effects| effects.len()), Ok(1));
    assert_eq!(table.receive(1, challenge), Err(Rejected::NotDue));
}

#[test]
fn points_of_the_second_round_need_true_first_signatures() {
    let mut table = Table::start(4, 1);
    let firsts = until(&mut table, 6);
    let (_, first) = firsts.iter().find(|(to, _)| *to == 1).unwrap();
    let Content::First(signatures) = &first.content else { panic!("{first:?}") };
    let swapped = vec![signatures[1], signatures[0]];
    let forged = table.forge(first, Content::First(swapped));
    let mismatch = Rejected::FirstSignature { item: 0, source: VerifyError::Mismatch };
    assert_eq!(table.receive(1, &forged), Err(mismatch));
    let forged = table.forge(first, Content::First(vec![signatures[0]]));
    let length = Rejected::Length { field: "first signatures", expected: 2, got: 1 };
    assert_eq!(table.receive(1, &forged), Err(length));
    assert_eq!(table.receive(1, first).map(|effects| effects.len()), Ok(1));
}

#[test]
fn attempts_ascend() {
    let mut table = Table::start(4, 1);
    let readys = until(&mut table, 1);
    let (_, ready) = readys.iter().find(|(to, message)| *to == 1 && message.from == 0).unwrap().clone();
    let mut of_attempt = |attempt: u8| {
        let session = SessionId { attempt, ..ready.session };
        let content = ready.content.clone();
        let message = CoSignMessage::new(&NetworkId::new([7; 32]), session, 0, content, &table.keys[0]);
        table.sessions[1].receive(message, &mut table.rng).map(|effects| match &effects[..] {
            [Effect::Send(Recipient::One(0), answer)] => answer.clone(),
            other => panic!("{other:?}"),
        })
    };
    // The same attempt repeats the same points, and a later attempt has new ones.
    let first = of_attempt(0).unwrap();
    assert_eq!(of_attempt(0), Ok(first.clone()));
    let third = of_attempt(2).unwrap();
    assert_ne!(first.content, third.content);
    assert_eq!(third.session.attempt, 2);
    assert_eq!(of_attempt(1), Err(Rejected::NotDue));
    assert_eq!(of_attempt(MAX_ATTEMPTS), Err(Rejected::NotDue));
    assert_eq!(of_attempt(u8::MAX), Err(Rejected::NotDue));
}

#[test]
fn a_member_that_restarts_answers_nothing_of_the_earlier_session() {
    let mut table = Table::start(4, 1);
    let challenges = until(&mut table, 4);
    let (_, challenge) = challenges.iter().find(|(to, _)| *to == 1).unwrap().clone();
    table.sessions[1] = Session::new(task(4, 1), table.keys[1].clone(), 1, EarlyReadys::default());
    let effects = table.sessions[1].start_round(0, 0, &mut table.rng);
    assert_eq!(table.receive(1, &challenge), Err(Rejected::NotDue));
    // The leader excludes this member for the round, and the others seal.
    table.act(1, effects);
    for (to, message) in challenges {
        let effects = table.receive(to, &message).unwrap_or_default();
        table.act(to, effects);
    }
    table.deliver(Some);
    table.time(0, TimerKind::Step);
    table.deliver(|message| (message.from != 1).then_some(message));
    assert_eq!(table.seal().signers, [true, false, true, true]);
}

#[test]
fn a_leader_that_decides_last_has_all_early_messages() {
    let mut table = Table::new(4, 1);
    let mut early = EarlyReadys::default();
    for member in 1..4 {
        let effects = table.sessions[member].start_round(0, 0, &mut table.rng);
        let [Effect::Send(Recipient::One(0), ready)] = &effects[..] else { panic!("{effects:?}") };
        let task = task(4, 1);
        assert_eq!(early.keep(ready.clone(), &task.network, &task.committee), Ok(()));
        let false_one = CoSignMessage { signature: Signature::new([1; 64]), ..ready.clone() };
        assert!(matches!(early.keep(false_one, &task.network, &task.committee), Err(Rejected::Signature { .. })));
        let set = Content::Set { signers: Vec::new(), readys: Vec::new() };
        let other = CoSignMessage { content: set, ..ready.clone() };
        assert_eq!(early.keep(other, &task.network, &task.committee), Err(Rejected::NotDue));
    }
    table.sessions[0] = Session::new(task(4, 1), table.keys[0].clone(), 0, early);
    let effects = table.sessions[0].start_round(0, 0, &mut table.rng);
    table.act(0, effects);
    table.deliver(Some);
    assert_eq!(table.seal().signers.iter().filter(|signer| **signer).count(), quorum(4));
}

#[test]
fn a_message_of_a_later_round_waits_for_the_round() {
    let mut table = Table::start(4, 1);
    table.queue.clear();
    for member in [0, 2, 3] {
        let effects = table.sessions[member].start_round(1, 1, &mut table.rng);
        table.act(member, effects);
    }
    table.deliver(Some);
    assert!(matches!(table.results[..], [Effect::Failed(SessionFailure::Ended { .. })]));
    table.results.clear();
    let effects = table.sessions[1].start_round(1, 1, &mut table.rng);
    table.act(1, effects);
    table.deliver(Some);
    assert!(table.seal().signers[1]);
}

#[test]
fn a_new_round_drops_the_session_of_the_earlier_one() {
    let mut table = Table::start(4, 1);
    let challenges = until(&mut table, 4);
    let (_, challenge) = challenges.iter().find(|(to, _)| *to == 1).unwrap().clone();
    table.start_round(1, 2);
    let rejected = table.receive(1, &challenge);
    let expected = SessionId { round: 1, ..challenge.session };
    assert_eq!(rejected, Err(Rejected::Session { expected, got: challenge.session }));
    table.results.clear();
    table.deliver(Some);
    assert!(table.seal().signers[2]);
    // Neither the earlier round nor the current one begins again.
    assert_eq!(table.sessions[1].start_round(0, 0, &mut table.rng), []);
    assert_eq!(table.sessions[1].start_round(1, 0, &mut table.rng), []);
}

#[test]
fn messages_of_other_senders_and_bodies_are_rejected() {
    let mut table = Table::start(4, 1);
    let sets = until(&mut table, 2);
    let (_, set) = sets.iter().find(|(to, _)| *to == 1).unwrap().clone();
    let network = NetworkId::new([7; 32]);
    let from = |table: &Table, from: usize, key: usize, content: &Content| {
        CoSignMessage::new(&network, set.session, from, content.clone(), &table.keys[key])
    };
    let message = from(&table, 4, 3, &set.content);
    assert_eq!(table.receive(1, &message), Err(Rejected::Sender { members: 4, got: 4 }));
    let message = from(&table, 0, 3, &set.content);
    let signature = Rejected::Signature { from: 0, source: VerifyError::Mismatch };
    assert_eq!(table.receive(1, &message), Err(signature));
    let message = from(&table, 3, 3, &set.content);
    assert_eq!(table.receive(1, &message), Err(Rejected::NotLeader { leader: 0, got: 3 }));
    let other = EntryId::new([2; 32]);
    let ready = Content::Ready { body: other, hashes: Vec::new() };
    let body = Err(Rejected::Body { expected: EntryId::new([1; 32]), got: other });
    let message = from(&table, 0, 0, &ready);
    assert_eq!(table.receive(1, &message), body);
    let message = from(&table, 3, 3, &ready);
    assert_eq!(table.receive(0, &message), body);
    let ready = Content::Ready { body: EntryId::new([1; 32]), hashes: Vec::new() };
    let message = from(&table, 3, 3, &ready);
    let length = Rejected::Length { field: "hashes", expected: 2, got: 0 };
    assert_eq!(table.receive(0, &message), Err(length));
    let earlier = SessionId { height: Height::new(1).unwrap(), ..set.session };
    // The session rejects a message of another height before it verifies the signature, which is of another key.
    let message = CoSignMessage::new(&network, earlier, 0, set.content.clone(), &table.keys[3]);
    assert_eq!(table.receive(1, &message), Err(Rejected::Session { expected: set.session, got: earlier }));
}

#[test]
fn a_timer_of_an_earlier_step_has_no_effect() {
    let mut table = Table::start(4, 1);
    let timers = table.timers.clone();
    let _challenges = until(&mut table, 4);
    for timer in timers {
        assert_eq!(table.sessions[0].timer(timer, &mut table.rng), []);
    }
}

#[test]
fn a_leader_without_a_quorum_asks_again() {
    let mut table = Table::start(4, 1);
    table.deliver(|_| None);
    table.time(0, TimerKind::Step);
    let asked: Vec<_> = table.queue.iter().map(|(to, message)| (*to, kind(message))).collect();
    assert_eq!(asked, [(1, 1), (2, 1), (3, 1)]);
    table.deliver(Some);
    assert!(table.seal().signers[0]);
}

#[test]
fn a_round_that_has_ended_does_not_begin_again() {
    let mut table = Table::new(4, 1);
    assert!(!table.sessions[0].start_round(1, 0, &mut table.rng).is_empty());
    table.sessions[0].end();
    for round in [0, 1] {
        assert_eq!(table.sessions[0].start_round(round, 0, &mut table.rng), Vec::new(), "{round}");
    }
    assert!(!table.sessions[0].start_round(2, 0, &mut table.rng).is_empty());
}
