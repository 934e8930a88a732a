//! What the host of an engine does: it proposes, judges, publishes, and processes decisions.

use std::{collections::VecDeque, sync::Arc};

use arc_malachitebft_app::consensus::{Effect, Input, LocallyProposedValue, SignedConsensusMsg};
use arc_malachitebft_app::types::core::{Round, Timeouts, Validity, ValueOrigin};
use arc_malachitebft_signing::Signer as _;
use chacha20::ChaCha8Rng;
use silica_council::{
    Body, CoSignMessage, Content, Council, Effect as CoSignEffect, Entry, EntryId, EntryKind, Height, ProposalError,
    Recipient, Rule, Seal, TimerKind, Verdict,
};
use silica_protocol::{StateRoot, Timestamp};

use crate::{
    context::Ctx,
    simulation::{
        member::{Running, Status, proposed, ready},
        world::{Event, Message, World},
    },
    types::EngineProposal,
};

impl World {
    /// Executes the effects of an engine in order. A crash can happen between two of them.
    pub(super) fn apply(&mut self, member: usize, effects: Vec<Effect<Ctx>>) {
        let starts = self.members[member].starts;
        let mut queue = VecDeque::from(effects);
        while let Some(effect) = queue.pop_front() {
            let crash = self.rates.crash;
            if self.happens(crash) {
                self.see("a crash");
                self.crash(member);
            }
            if self.members[member].starts != starts || self.members[member].running().is_none() {
                return;
            }
            let inputs = self.execute(member, effect);
            for input in inputs {
                queue.extend(self.members[member].process(input));
            }
        }
    }

    /// Executes an effect. Returns new inputs of the engine.
    fn execute(&mut self, member: usize, effect: Effect<Ctx>) -> Vec<Input<Ctx>> {
        match effect {
            Effect::CancelAllTimeouts(_) => self.timers[member].clear(),
            Effect::CancelTimeout(timeout, _) => self.timers[member].retain(|(timer, _)| *timer != timeout),
            Effect::ScheduleTimeout(timeout, _) => {
                let timeouts = self.members[member].running().unwrap().timeouts;
                let delay = Timeouts::<Ctx>::duration_for(&timeouts, timeout).as_millis();
                let id = self.next_timer();
                self.timers[member].push((timeout, id));
                let starts = self.members[member].starts;
                self.schedule(u64::try_from(delay).unwrap(), Event::Timeout { member, starts, id });
            }
            Effect::StartRound(height, round, _, _, _) => {
                self.members[member].flush();
                let (height, round) = (height.council().unwrap(), round.as_u32().unwrap());
                if height.kind() == EntryKind::Seal {
                    self.co_sign(member, |council, rng| council.start_round(height, round, rng));
                }
            }
            Effect::PublishConsensusMsg(message, _) => {
                self.members[member].flush();
                self.members[member].watch(&message);
                let others = self.others(member);
                self.send(member, others, &Message::Consensus(message));
            }
            Effect::PublishLivenessMsg(message, _) => {
                let others = self.others(member);
                self.send(member, others, &Message::Liveness(message));
            }
            Effect::RepublishVote(vote, _) => {
                let others = self.others(member);
                self.send(member, others, &Message::Consensus(SignedConsensusMsg::Vote(vote)));
            }
            Effect::RepublishRoundCertificate(certificate, _) => {
                let message = arc_malachitebft_app::consensus::LivenessMsg::SkipRoundCertificate(certificate);
                let others = self.others(member);
                self.send(member, others, &Message::Liveness(message));
            }
            Effect::GetValue(height, round, _, _) => {
                return self.get_value(member, height.council().unwrap(), round.as_u32().unwrap());
            }
            // A member drops the parts of an entry that come from another member than its proposer.
            Effect::RestreamProposal(_, _, _, proposer, ..) if usize::from(proposer.0) != member => {}
            Effect::RestreamProposal(height, round, valid_round, proposer, id, _) => {
                let journal = &self.members[member].journal;
                if let Some(record) = journal.iter().find(|record| record.entry.id == id.into()) {
                    let (bytes, proposer) = (Arc::clone(&record.entry.bytes), usize::from(proposer.0));
                    let entry =
                        Message::Entry { height: height.council().unwrap(), round, valid_round, proposer, bytes };
                    let others = self.others(member);
                    self.send(member, others, &entry);
                }
            }
            Effect::WalAppend(_, input, _) => self.members[member].append(input),
            Effect::Decide(certificate, _, _) => {
                self.members[member].flush();
                self.note(member, &certificate);
                let height = certificate.height.council().unwrap();
                match self.members[member].decide(certificate) {
                    Ok(()) => {
                        let pause = if height.kind() == EntryKind::Body { 0 } else { 200 };
                        let starts = self.members[member].starts;
                        self.schedule(pause, Event::Start { member, starts });
                    }
                    Err(error) => panic!("seed {}: member {member}: {error:?}", self.seed),
                }
            }
            Effect::Finalize(_, _, evidence, _) => {
                if !evidence.is_empty() {
                    self.see("evidence");
                }
            }
            Effect::CertVerifiedSyncValue(value, proposer, _) => {
                let (height, round) = (value.certificate.height.council().unwrap(), value.certificate.round);
                self.see("a synced entry");
                let bytes: Arc<[u8]> = value.value_bytes.to_vec().into();
                let (valid_round, proposer) = (Round::ZERO, usize::from(proposer.0));
                let Some(Input::ProposedValue(value, _)) =
                    self.judge(member, member, height, round, valid_round, proposer, &bytes)
                else {
                    panic!("seed {}: no verdict on a decided entry", self.seed)
                };
                return vec![Input::ProposedValue(value, ValueOrigin::Sync)];
            }
            other @ (Effect::CertRejectedSyncValue(..)
            | Effect::SignVote(..)
            | Effect::SignProposal(..)
            | Effect::VerifySignature(..)
            | Effect::VerifyCommitCertificate(..)
            | Effect::VerifyExtendedCommitCertificate(..)
            | Effect::VerifyPolkaCertificate(..)
            | Effect::VerifyRoundCertificate(..)
            | Effect::ExtendVote(..)
            | Effect::VerifyVoteExtension(..)) => self.unexpected(&other),
        }
        Vec::new()
    }

    /// Proposes an entry, if the member has one.
    fn get_value(&mut self, member: usize, height: Height, round: u32) -> Vec<Input<Ctx>> {
        let now = self.members[member].clock(self.time);
        let Some(Running { producer, council, waits, .. }) = self.members[member].running() else { return Vec::new() };
        let entry = match council.propose(producer, height, round, now) {
            Ok(entry) => entry,
            Err(ProposalError::NoSeal) => {
                *waits = Some(round);
                return Vec::new();
            }
            Err(error) => panic!("seed {}: member {member}: {error}", self.seed),
        };
        if self.forger == Some(member) && self.happens(700) {
            self.forge(member, height, round, &entry);
            return Vec::new();
        }
        let (id, bytes, round) = (entry.id, Arc::clone(&entry.bytes), Round::new(round));
        self.members[member].write(height, entry, round, member);
        let message = Message::Entry { height, round, valid_round: Round::Nil, proposer: member, bytes };
        let others = self.others(member);
        self.send(member, others, &message);
        vec![Input::Propose(LocallyProposedValue::new(height.into(), round, id.into()))]
    }

    /// Judges the entry of another member, and writes a valid entry to the journal. A member judges an entry from
    /// itself as decided: it has the entry from value sync.
    #[expect(clippy::too_many_arguments, reason = "these are the fields of the message")]
    pub(super) fn judge(
        &mut self,
        from: usize,
        to: usize,
        height: Height,
        round: Round,
        valid_round: Round,
        proposer: usize,
        bytes: &Arc<[u8]>,
    ) -> Option<Input<Ctx>> {
        let now = self.members[to].clock(self.time);
        let rule = match (valid_round, round) {
            _ if from == to => Rule::Accepted,
            (Round::Nil, Round::Some(round)) => Rule::FirstProposal { round, now },
            _ => Rule::Repeated { now },
        };
        let Running { producer, council, .. } = self.members[to].running()?;
        match council.judge(producer, height, bytes, rule) {
            Verdict::Valid(id) => {
                let entry = Entry { id, bytes: Arc::clone(bytes) };
                self.members[to].write(height, entry, round, proposer);
                Some(proposed(height, round, proposer, id, Validity::Valid))
            }
            Verdict::Invalid { id, reason } => {
                assert_eq!(Some(proposer), self.forger, "seed {}: member {to}: {reason}", self.seed);
                self.see("an invalid entry");
                Some(proposed(height, round, proposer, id, Validity::Invalid))
            }
            Verdict::Later(at) => {
                let delay = (at.get() - now.get()).div_ceil(1_000);
                let message = Message::Entry { height, round, valid_round, proposer, bytes: Arc::clone(bytes) };
                self.schedule(delay, Event::Message { from, to, message });
                self.see("a withheld entry");
                None
            }
            Verdict::Withheld(silica_council::Withheld::Height { expected: Some(expected), got }) if got > expected => {
                // The member is behind. It tries again later, as from a buffer.
                let message = Message::Entry { height, round, valid_round, proposer, bytes: Arc::clone(bytes) };
                self.schedule(100, Event::Message { from, to, message });
                None
            }
            Verdict::Withheld(silica_council::Withheld::Height { .. }) => None,
            Verdict::Withheld(_) => {
                self.see("a withheld entry");
                None
            }
        }
    }

    /// Calls the council of a member about co-signatures, and executes the effects.
    pub(super) fn co_sign(
        &mut self,
        member: usize,
        call: impl FnOnce(&mut Council, &mut ChaCha8Rng) -> Vec<CoSignEffect>,
    ) {
        let super::member::Member { status: Status::Running(running), rng, starts, .. } = &mut self.members[member]
        else {
            return;
        };
        let (effects, starts) = (call(&mut running.council, rng), *starts);
        for effect in effects {
            match effect {
                CoSignEffect::Send(recipient, message) => {
                    self.check_message(member, &message);
                    let to = match recipient {
                        Recipient::All => self.others(member),
                        Recipient::One(to) => vec![to],
                    };
                    self.send(member, to, &Message::CoSign(message.encode()));
                }
                CoSignEffect::Timer(timer) => {
                    let delay = if timer.kind == TimerKind::Stragglers { 50 } else { 200 };
                    self.schedule(delay, Event::CoSignTimer { member, starts, timer });
                }
                CoSignEffect::Sealed(_) => {
                    let height = self.members[member].height().unwrap();
                    if let Some(round) = self.members[member].running().and_then(|running| running.waits.take()) {
                        for input in self.get_value(member, height, round) {
                            let effects = self.members[member].process(input);
                            self.apply(member, effects);
                        }
                    }
                }
                CoSignEffect::Failed(_) => self.see("a failed session"),
                CoSignEffect::Fault { .. } => panic!("seed {}: {effect:?}", self.seed),
            }
        }
    }

    /// Checks that a member answers for a decided body only.
    fn check_message(&mut self, member: usize, message: &CoSignMessage) {
        let body = Height::of_body(message.session.height.block()).unwrap();
        assert!(self.decided.contains_key(&body), "seed {}: member {member}: {message:?}", self.seed);
        if matches!(message.content, Content::Responses(..)) {
            assert_eq!(self.members[member].height(), Some(message.session.height), "seed {}", self.seed);
        }
    }

    /// Sends a false entry, or two different bodies, with the signature of the member.
    fn forge(&mut self, member: usize, height: Height, round: u32, entry: &Entry) {
        let network = self.network.id();
        let others = self.others(member);
        let mut valid_round = Round::Nil;
        let entries: Vec<(Vec<u8>, EntryId, Vec<usize>)> = match height.kind() {
            EntryKind::Body => {
                let limits = self.network.parameters().body_limits();
                let mut body = Body::decode(height, &entry.bytes, &limits).unwrap();
                let kind = self.draw(3);
                if kind == 0 {
                    self.see("a body from the future");
                    // The name of an earlier round must not hide the time.
                    valid_round = Round::ZERO;
                    body.timestamp = Timestamp::new(body.timestamp.get() + 3_600_000_000);
                    let bytes = body.encode();
                    let id = EntryId::of_body(&network, height, &bytes);
                    vec![(bytes, id, others)]
                } else if kind == 1 {
                    self.see("two bodies");
                    body.timestamp = body.timestamp.next().unwrap();
                    let other = body.encode();
                    let id = EntryId::of_body(&network, height, &other);
                    let (even, odd) = others.into_iter().partition(|other| other % 2 == 0);
                    vec![(entry.bytes.to_vec(), entry.id, even), (other, id, odd)]
                } else {
                    self.see("a false body");
                    body.header.state_root = StateRoot::new([7; 32]);
                    let bytes = body.encode();
                    let id = EntryId::of_body(&network, height, &bytes);
                    vec![(bytes, id, others)]
                }
            }
            EntryKind::Seal => {
                self.see("a false seal");
                let mut seal = Seal::decode(&entry.bytes, self.members.len()).unwrap();
                seal.items.swap(0, 1);
                let bytes = seal.encode();
                let running = self.members[member].running().unwrap();
                let id = EntryId::of_seal(&network, height, &running.council.decided_body().unwrap().id, &bytes);
                vec![(bytes, id, others)]
            }
        };
        for (bytes, id, to) in entries {
            let (round, value, index) = (Round::new(round), id.into(), self.members[member].index());
            let proposal =
                EngineProposal { height: height.into(), round, value, valid_round: Round::Nil, member: index };
            let signed = ready(self.members[member].signer.sign_proposal(proposal)).unwrap();
            let proposal = SignedConsensusMsg::Proposal(signed);
            let entry = Message::Entry { height, round, valid_round, proposer: member, bytes: bytes.into() };
            self.send(member, to.clone(), &entry);
            self.send(member, to, &Message::Consensus(proposal));
        }
    }
}
