//! The work of the host of an engine. The host proposes, judges, publishes, and processes decisions.

use std::{collections::VecDeque, sync::Arc};

use arc_malachitebft_app::consensus::{Effect, Input, LivenessMsg, LocallyProposedValue, SignedConsensusMsg};
use arc_malachitebft_app::types::core::{CommitCertificate, Round, Timeouts, Validity, ValueOrigin};
use chacha20::ChaCha8Rng;
use silica_council::{
    CoSignRound, Content, Council, Decided, Effect as CoSignEffect, Entry, EntryKind, Height, ProposalError, Recipient,
    Rule, Verdict, Withheld, propose_timeout_of,
};
use silica_protocol::Timestamp;

use crate::{
    context::Ctx,
    simulation::{
        member::{Member, Running, Status, is_unsigned, proposed},
        world::{Event, Message, World},
    },
    timeouts::session_time_of,
};

impl World {
    /// Executes the effects of an engine in order. A crash can happen between two of them.
    pub(super) fn apply(&mut self, member: usize, effects: Vec<Effect<Ctx>>) {
        let starts = self.members[member].starts;
        let mut queue = VecDeque::from(effects);
        while let Some(effect) = queue.pop_front() {
            if !self.passes(member, "before an effect") || self.members[member].starts != starts {
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
                if let Some(running) = self.members[member].running() {
                    // The member makes no proposal for an earlier round.
                    running.waits = None;
                }
                if round > 0 {
                    self.see("a later round");
                }
                if height.kind() == EntryKind::Seal {
                    self.co_sign(member, |council, rng| council.start_round(height, round, rng));
                }
            }
            Effect::PublishConsensusMsg(message, _) => {
                self.members[member].flush();
                self.publish(member, message);
            }
            Effect::PublishLivenessMsg(message, _) => {
                let others = self.others(member);
                self.send(member, others, &Message::Liveness(message));
            }
            Effect::RepublishVote(vote, _) => self.publish(member, SignedConsensusMsg::Vote(vote)),
            Effect::RepublishRoundCertificate(certificate, _) => {
                let message = LivenessMsg::SkipRoundCertificate(certificate);
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
                self.decide(member, certificate);
            }
            Effect::Finalize(_, _, evidence, _) => self.watch_evidence(member, &evidence),
            Effect::CertVerifiedSyncValue(value, proposer, _) => {
                let (height, round) = (value.certificate.height.council().unwrap(), value.certificate.round);
                self.see("a synced entry");
                let bytes: Arc<[u8]> = value.value_bytes.to_vec().into();
                let (valid_round, proposer) = (Round::ZERO, usize::from(proposer.0));
                let Some(Input::ProposedValue(value, _)) =
                    self.judge(member, member, height, round, valid_round, proposer, &bytes)
                else {
                    let is_running = self.members[member].running().is_some();
                    assert!(!is_running, "seed {}: member {member}: no verdict on {height}", self.seed);
                    return Vec::new();
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

    /// Sends a vote or proposal to all other members. Drops a vote that the member must not send, which has no
    /// signature.
    fn publish(&mut self, member: usize, message: SignedConsensusMsg<Ctx>) {
        if is_unsigned(&message) {
            return self.see("a vote that a member with new files does not send");
        }
        self.watch_vote(member, &message);
        if !self.send_two_votes(member, &message) {
            let others = self.others(member);
            self.send(member, others, &Message::Consensus(message));
        }
        self.passes(member, "after a vote or proposal");
    }

    /// Processes a decision: stores it, and lets the next height begin.
    fn decide(&mut self, member: usize, certificate: CommitCertificate<Ctx>) {
        let (height, id) = (certificate.height.council().unwrap(), certificate.value_id.into());
        // A member has one process. A faulty member also votes outside of its engine.
        let is_other = self.members[member].has_other_vote(&certificate) && !self.liars.contains(&member);
        assert!(!is_other, "seed {}: member {member} has a vote of another process at {height}", self.seed);
        if height.kind() == EntryKind::Seal {
            self.members[member].certificates.insert(height, certificate.clone());
        }
        if !self.passes(member, "before a decision is processed") {
            return;
        }
        let decided = self.members[member].decide(height, id);
        match decided.unwrap_or_else(|error| panic!("seed {}: member {member}: {error:?}", self.seed)) {
            Decided::Body => {
                if !self.passes(member, "before a decided body is in the journal") {
                    return;
                }
                self.members[member].keep_decision(id);
                self.members[member].certificates.insert(height, certificate);
                if !self.passes(member, "after a decided body is in the journal") {
                    return;
                }
            }
            Decided::Block(_) => {
                self.check(member);
                if !self.passes(member, "before the journal of a block is removed") {
                    return;
                }
                self.members[member].clear_journal();
                if !self.passes(member, "after the journal of a block is removed") {
                    return;
                }
            }
        }
        // A member that is behind does not wait for the time of the next block.
        let is_behind = height.next().is_some_and(|next| self.decided.contains_key(&next));
        let pause = if height.kind() == EntryKind::Body || is_behind { 0 } else { 200 };
        let starts = self.members[member].starts;
        self.schedule(pause, Event::Start { member, starts });
    }

    /// Proposes an entry, if the member has one.
    pub(super) fn get_value(&mut self, member: usize, height: Height, round: u32) -> Vec<Input<Ctx>> {
        let Member { votes, starts, .. } = self.members[member];
        let now = self.members[member].clock(self.time);
        let Some(Running { producer, council, waits, .. }) = self.members[member].running().filter(|_| votes) else {
            return Vec::new();
        };
        let entry = match council.propose(producer, height, round, now) {
            Ok(entry) => entry,
            Err(ProposalError::NoSeal) => {
                *waits = Some(round);
                return Vec::new();
            }
            Err(ProposalError::Empty { due }) => {
                *waits = Some(round);
                self.see("a body that waits for a transaction");
                self.schedule(100, Event::Propose { member, starts, height, round, due });
                return Vec::new();
            }
            Err(error) => panic!("seed {}: member {member}: {error}", self.seed),
        };
        if self.lies(member, self.rates.forge) {
            self.forge(member, height, round, &entry);
            return Vec::new();
        }
        let (id, bytes, round) = (entry.id, Arc::clone(&entry.bytes), Round::new(round));
        if !self.keep(member, height, entry, true) {
            return Vec::new();
        }
        let message = Message::Entry { height, round, valid_round: Round::Nil, proposer: member, bytes };
        let others = self.others(member);
        self.send(member, others, &message);
        vec![Input::Propose(LocallyProposedValue::new(height.into(), round, id.into()))]
    }

    /// Makes an entry durable before the member votes for it. Returns whether the member runs on.
    fn keep(&mut self, member: usize, height: Height, entry: Entry, is_own: bool) -> bool {
        self.members[member].write(height, entry, is_own);
        if !self.passes(member, "before an entry is flushed") {
            return false;
        }
        self.members[member].flush();
        self.passes(member, "after an entry is flushed")
    }

    /// Proposes in a round that waits for a transaction, when there is one or when a body without transactions is due.
    pub(super) fn propose_later(&mut self, member: usize, height: Height, round: u32, due: Timestamp) {
        let (now, starts) = (self.members[member].clock(self.time), self.members[member].starts);
        let is_next = self.members[member].height() == Some(height);
        let Some(Running { chain, waits, .. }) = self.members[member].running() else { return };
        if *waits != Some(round) || !is_next {
            return;
        }
        if now < due && !chain.has_candidates() {
            return self.schedule(100, Event::Propose { member, starts, height, round, due });
        }
        *waits = None;
        for input in self.get_value(member, height, round) {
            let effects = self.members[member].process(input);
            self.apply(member, effects);
        }
    }

    /// Judges the entry of another member, and writes a valid entry to the journal. An entry with the member itself as
    /// its sender is from value sync, so the member judges this entry as decided.
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
                if !self.keep(to, height, entry, false) {
                    return None;
                }
                Some(proposed(height, round, proposer, id, Validity::Valid))
            }
            Verdict::Invalid { id, reason } => {
                assert!(self.liars.contains(&proposer), "seed {}: member {to}: {reason}", self.seed);
                self.see("an invalid entry");
                Some(proposed(height, round, proposer, id, Validity::Invalid))
            }
            Verdict::Later(at) => {
                let delay = (at.get() - now.get()).div_ceil(1_000);
                let round_ends = propose_timeout_of(self.network.parameters().propose_timeout, round.as_u32().unwrap());
                self.see("a withheld entry");
                if u128::from(delay) > round_ends.as_millis() {
                    return None;
                }
                let message = Message::Entry { height, round, valid_round, proposer, bytes: Arc::clone(bytes) };
                self.schedule(delay, Event::Message { from, to, message });
                None
            }
            Verdict::Withheld(Withheld::Height { expected: Some(expected), got }) if got > expected => {
                // The member is behind by at most one block, so it judges the entry again later.
                if got.get() > expected.get() + 2 {
                    return None;
                }
                let message = Message::Entry { height, round, valid_round, proposer, bytes: Arc::clone(bytes) };
                self.schedule(100, Event::Message { from, to, message });
                None
            }
            Verdict::Withheld(Withheld::Height { .. }) => None,
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
        let Member { status: Status::Running(running), rng, starts, .. } = &mut self.members[member] else {
            return;
        };
        let (effects, starts) = (call(&mut running.council, rng), *starts);
        for effect in effects {
            if self.members[member].starts != starts || self.members[member].running().is_none() {
                return;
            }
            match effect {
                CoSignEffect::Send(recipient, message) => {
                    let to = match recipient {
                        Recipient::All => self.others(member),
                        Recipient::One(to) => vec![to],
                    };
                    let point = point_before(&message.content);
                    if !self.passes(member, point) {
                        return;
                    }
                    self.watch_co_signature(member, &message);
                    if !self.send_false_co_signature(member, &to, &message) {
                        self.send(member, to, &Message::CoSign(message.encode()));
                    }
                }
                CoSignEffect::Timer(timer) => {
                    let delay = session_time_of(timer).as_millis();
                    self.schedule(u64::try_from(delay).unwrap(), Event::CoSignTimer { member, starts, timer });
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
                CoSignEffect::Fault { member: of, reason } => {
                    assert!(self.liars.contains(&of), "seed {}: member {of}: {reason}", self.seed);
                    self.see("a fault in a session");
                }
            }
        }
    }
}

/// Returns the name of the point before a co-signature message at which a member can crash.
fn point_before(content: &Content) -> &'static str {
    match content {
        Content::Ready { .. } => "before Ready",
        Content::Set { .. } => "before Set",
        Content::Points(CoSignRound::First, _) => "before the first points",
        Content::Challenge(CoSignRound::First, _) => "before the first challenge",
        Content::Responses(CoSignRound::First, _) => "before the first responses",
        Content::First(_) => "before the first signatures",
        Content::Points(CoSignRound::Second, _) => "before the second points",
        Content::Challenge(CoSignRound::Second, _) => "before the second challenge",
        Content::Responses(CoSignRound::Second, _) => "before the second responses",
    }
}
