//! The side of a signer. Its nonces are in memory only, and at most one attempt has nonces.

use std::{mem, sync::Arc};

use rand_core::CryptoRng;
use silica_crypto::{
    KeyPair,
    multisig::{self, Challenge, CommitPoint, CommitSecret, Response},
};
use silica_protocol::Signature;

use super::{
    error::Rejected,
    message::{CoSignMessage, CoSignRound, Content, ItemHashes, SessionId, SignedReady},
    set::{CoSignTask, SignerSet},
};
use crate::vote::signed;

/// A signer in one round of a height.
#[derive(Debug)]
pub(super) struct Signer {
    task: Arc<CoSignTask>,
    key: KeyPair,
    index: usize,
    round: u32,
    leader: usize,
    /// The least attempt that can be opened. Attempts ascend, so that no context of nonces repeats.
    least: u8,
    open: Option<Attempt>,
}

/// The open attempt. Its nonces are consumed by the responses, and are erased when the attempt ends.
#[derive(Debug)]
struct Attempt {
    ready: CoSignMessage,
    hashes: Vec<ItemHashes>,
    first: Vec<CommitSecret>,
    second: Vec<CommitSecret>,
    step: Step,
}

/// The message of the leader that is due.
#[derive(Debug)]
enum Step {
    Set,
    Challenge(SignerSet, CoSignRound, Vec<Signature>),
    First(SignerSet),
    Done,
}

impl Signer {
    pub(super) fn new(task: Arc<CoSignTask>, key: KeyPair, index: usize, round: u32, leader: usize) -> Self {
        Self { task, key, index, round, leader, least: 0, open: None }
    }

    /// Opens an attempt with new nonces, and drops the nonces of the attempt before. Returns `None` if this attempt or
    /// a later one was opened before.
    pub(super) fn open(&mut self, attempt: u8, rng: &mut impl CryptoRng) -> Option<CoSignMessage> {
        if attempt < self.least {
            return None;
        }
        self.open = None;
        self.least = attempt.checked_add(1)?;
        let session = self.session(attempt);
        let mut nonces = |round| -> Vec<CommitSecret> {
            let nonce = |item| CommitSecret::hedged(self.key.secret(), &context(&self.task, session, item, round), rng);
            (0..self.task.items.len()).map(nonce).collect()
        };
        let (first, second) = (nonces(CoSignRound::First), nonces(CoSignRound::Second));
        let pairs = first.iter().zip(&second);
        let hashes: Vec<_> =
            pairs.map(|(first, second)| ItemHashes([first.point().hash(), second.point().hash()])).collect();
        let ready = self.message(attempt, Content::Ready { body: self.task.body, hashes: hashes.clone() });
        self.open = Some(Attempt { ready: ready.clone(), hashes, first, second, step: Step::Set });
        Some(ready)
    }

    /// Handles a message of the leader. Returns the answer, or `None` if the message needs no answer.
    ///
    /// # Errors
    ///
    /// [`Rejected`] if the message is not due or false. A false challenge ends the attempt.
    pub(super) fn receive(
        &mut self,
        message: &CoSignMessage,
        rng: &mut impl CryptoRng,
    ) -> Result<Option<CoSignMessage>, Rejected> {
        if message.from != self.leader {
            return Err(Rejected::NotLeader { leader: self.leader, got: message.from });
        }
        if let Content::Ready { body, .. } = &message.content {
            if *body != self.task.body {
                return Err(Rejected::Body { expected: self.task.body, got: *body });
            }
            return self.join(message.session.attempt, rng);
        }
        let mut open = self.open.take().ok_or(Rejected::NotDue)?;
        let expected = open.ready.session;
        if message.session != expected {
            self.open = Some(open);
            return Err(Rejected::Session { expected, got: message.session });
        }
        let step = mem::replace(&mut open.step, Step::Done);
        let answer = match (step, &message.content) {
            (Step::Set, Content::Set { signers, readys }) => self.commit(&mut open, signers, readys),
            (Step::Challenge(set, round, first), Content::Challenge(of, points)) if round == *of => {
                // The challenge has consumed the nonces of this round, even if it is false.
                let responses = respond(&self.task, &self.key, &mut open, &set, (round, &first), points)?;
                open.step = match round {
                    CoSignRound::First => Step::First(set),
                    CoSignRound::Second => Step::Done,
                };
                Ok(Some(Content::Responses(round, responses)))
            }
            (Step::First(set), Content::First(signatures)) => self.show_second_points(&mut open, set, signatures),
            (step, _) => {
                open.step = step;
                Err(Rejected::NotDue)
            }
        };
        self.open = Some(open);
        Ok(answer?.map(|content| self.message(expected.attempt, content)))
    }

    /// Answers a `Ready` of the leader. Opens its attempt, or repeats the `Ready` of the open attempt, because the
    /// leader can have missed it.
    fn join(&mut self, attempt: u8, rng: &mut impl CryptoRng) -> Result<Option<CoSignMessage>, Rejected> {
        match &self.open {
            Some(open) if open.ready.session.attempt == attempt => {
                Ok(matches!(open.step, Step::Set).then(|| open.ready.clone()))
            }
            _ if attempt < super::session::MAX_ATTEMPTS => self.open(attempt, rng).map(Some).ok_or(Rejected::NotDue),
            _ => Err(Rejected::NotDue),
        }
    }

    /// Answers a `Set` with the points of the first round. Ignores a set without this member.
    fn commit(
        &self,
        open: &mut Attempt,
        signers: &[bool],
        readys: &[SignedReady],
    ) -> Result<Option<Content>, Rejected> {
        open.step = Step::Set;
        if signers.get(self.index) != Some(&true) {
            return Ok(None);
        }
        let hashes = readys.iter().map(|ready| ready.hashes.clone()).collect();
        let set = SignerSet::new(&self.task, self.leader, signers.to_vec(), hashes)?;
        for (member, ready) in set.positions().zip(readys) {
            if member == self.index {
                if ready.hashes != open.hashes {
                    return Err(Rejected::OwnHashes);
                }
                continue;
            }
            let content = Content::Ready { body: self.task.body, hashes: ready.hashes.clone() };
            let signature = ready.signature;
            let ready = CoSignMessage { session: open.ready.session, from: member, content, signature };
            super::early::verify(&ready, &self.task.network, &self.task.committee)?;
        }
        open.step = Step::Challenge(set, CoSignRound::First, Vec::new());
        Ok(Some(Content::Points(CoSignRound::First, points(&open.first))))
    }

    /// Verifies the signatures of the first round, and answers with the points of the second round.
    fn show_second_points(
        &self,
        open: &mut Attempt,
        set: SignerSet,
        signatures: &[Signature],
    ) -> Result<Option<Content>, Rejected> {
        let is_valid = self.task.check_items("first signatures", signatures.len()).and_then(|()| {
            let mut items = self.task.items.iter().zip(signatures).enumerate();
            items.try_for_each(|(item, (header, signature))| {
                multisig::verify(header, signature, &set.key)
                    .map_err(|source| Rejected::FirstSignature { item, source })
            })
        });
        if let Err(error) = is_valid {
            open.step = Step::First(set);
            return Err(error);
        }
        open.step = Step::Challenge(set, CoSignRound::Second, signatures.to_vec());
        Ok(Some(Content::Points(CoSignRound::Second, points(&open.second))))
    }

    fn session(&self, attempt: u8) -> SessionId {
        SessionId { height: self.task.height, round: self.round, attempt }
    }

    fn message(&self, attempt: u8, content: Content) -> CoSignMessage {
        CoSignMessage::new(&self.task.network, self.session(attempt), self.index, content, &self.key)
    }
}

/// Checks a challenge, and consumes the nonces of its round. The signer computes the challenges itself from the points,
/// its own copy of the headers and the first signatures.
fn respond(
    task: &CoSignTask,
    key: &KeyPair,
    open: &mut Attempt,
    set: &SignerSet,
    (round, first): (CoSignRound, &[Signature]),
    points: &[Vec<CommitPoint>],
) -> Result<Vec<Response>, Rejected> {
    let (nonces, first) = match round {
        CoSignRound::First => (mem::take(&mut open.first), None),
        CoSignRound::Second => (mem::take(&mut open.second), Some(first)),
    };
    set.check_all_points(round, points)?;
    let challenges = set.challenges(task, first, points)?;
    let respond = |(nonce, challenge): (CommitSecret, &Challenge)| nonce.respond(challenge, key.secret());
    Ok(nonces.into_iter().zip(&challenges).map(respond).collect::<Result<_, _>>()?)
}

fn points(nonces: &[CommitSecret]) -> Vec<CommitPoint> {
    nonces.iter().map(CommitSecret::point).collect()
}

/// Returns the context of a nonce. It names one signature only.
fn context(task: &CoSignTask, session: SessionId, item: usize, round: CoSignRound) -> Vec<u8> {
    let mut writer = signed(b"silica nonce v1", &task.network);
    writer.fixed(task.body.as_bytes());
    writer.u64(session.height.get());
    writer.u32(session.round);
    writer.u8(session.attempt);
    writer.count(item);
    writer.u8(match round {
        CoSignRound::First => 1,
        CoSignRound::Second => 2,
    });
    writer.finish()
}
