//! The state machine of a member.
//!
//! ```text
//!  height 2t − 1                                  height 2t
//!
//!  propose ─▶ body ─┐                             session ─▶ seal = propose
//!                   ├─▶ candidate ─▶ decide ─▶ decided body ─────────┬─▶ decide ─▶ committed block
//!  body ─▶ judge ───┘                             seal ─▶ judge ─────┘
//! ```

mod candidates;
mod decided;
mod error;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
mod verdict;

use std::sync::Arc;

use rand_core::CryptoRng;
use silica_chain::{
    CommittedBlock, Epochs, ExecutedBlock, InvalidBlock,
    consensus::{Application, Cause},
};
use silica_crypto::KeyPair;
use silica_protocol::{BlockNumber, PublicKey, Timestamp, TxBlock};

use self::{
    candidates::{Candidate, Candidates},
    decided::DecidedBody,
};
pub use self::{
    error::{DecideError, NotMember, ProposalError},
    verdict::{Entry, InvalidEntry, Rule, Verdict, Withheld},
};
use crate::{
    cosign::{CoSignMessage, CoSignTask, EarlyReadys, Effect, Rejected, Session, Timer},
    entry::{Body, EntryId, EntryKind, Height},
    network::{BlockTiming, NetworkFile, NetworkId, Parameters},
    proposer::proposer,
    time::{TimeRule, TimeVerdict, judge_decided, judge_first_proposal, judge_repeated, next_timestamp},
    wire::value,
};

/// A member of a network, which proposes, judges and commits entries, and co-signs bodies.
///
/// The caller runs the agreement, and keeps a journal. It flushes the bytes of an entry before this member votes for
/// the entry, and the decision of a body before the next height. This applies to seals too: if a quorum votes for a
/// seal whose bytes are lost, no other seal can be decided. After a restart, the caller creates a new council on the
/// reopened chain. If the journal of the caller has a decided body after the head, the caller passes the bytes of this
/// body to [`decide`](Self::decide) again. Then the caller passes its own proposals of the next height to
/// [`restore_own`](Self::restore_own), and other entries to [`judge`](Self::judge).
///
/// For another height than [`next_height`](Self::next_height), [`propose`](Self::propose), [`judge`](Self::judge) and
/// `decide` have no effect, and their result names both heights.
#[derive(Debug)]
pub struct Council {
    network: NetworkId,
    parameters: Parameters,
    committee: Vec<PublicKey>,
    key: KeyPair,
    index: usize,
    next: NextBlock,
    /// Messages `Ready` that arrived before this member decided the body.
    early: EarlyReadys,
}

/// The data of a member about the next block.
#[derive(Debug, Default)]
struct NextBlock {
    number: BlockNumber,
    candidates: Candidates,
    own: Option<OwnBody>,
    decided: Option<DecidedBody>,
}

/// A body that this member has proposed.
#[derive(Debug)]
struct OwnBody {
    entry: Entry,
    timestamp: Timestamp,
    /// The latest round in which the member proposed the body; `None` if this is not known.
    round: Option<u32>,
}

/// The result of a decision.
#[derive(Clone, Debug)]
pub enum Decided {
    /// The body is decided, and the height of its seal is next. The co-signature session waits for a round.
    Body,
    /// The seal is decided, and the block is committed.
    Block(Arc<CommittedBlock>),
}

impl Council {
    /// Creates the member with this key.
    ///
    /// # Errors
    ///
    /// [`NotMember`]: the network has no member with this key.
    pub fn new(network: &NetworkFile, key: KeyPair) -> Result<Self, NotMember> {
        let (committee, got) = (network.committee(), key.public_key());
        let index = committee.iter().position(|member| *member == got).ok_or(NotMember { got })?;
        let parameters = network.parameters().clone();
        let early = EarlyReadys::default();
        Ok(Self { network: network.id(), parameters, committee, key, index, next: NextBlock::default(), early })
    }

    /// Returns the position of this member in the committee.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Returns the height that is due if `head` is the number of the last committed block. It is the height of the body
    /// of the next block, or of the seal if the body is decided. Returns `None` at the end of the range.
    pub fn next_height(&self, head: BlockNumber) -> Option<Height> {
        let next = head.next()?;
        let is_decided = self.next.number == next && self.next.decided.is_some();
        if is_decided { Height::of_seal(next) } else { Height::of_body(next) }
    }

    /// Returns the decided body whose seal is due; `None` if the body of the next block is not decided.
    pub fn decided_body(&self) -> Option<&Entry> {
        self.next.decided.as_ref().map(|decided| &decided.entry)
    }

    /// Returns the entry that this member proposes in a round.
    ///
    /// In the same round, the member proposes the same body again. In a later round or after a restart, it proposes the
    /// body again if the timestamp is still near the clock. A seal is the result of the session of this member.
    ///
    /// # Errors
    ///
    /// [`ProposalError`] in these cases:
    ///
    /// - The height is not due, or the chain could not build a block.
    /// - The body is too large, or has no transactions and is not due yet.
    /// - The session has no seal yet.
    pub fn propose(
        &mut self,
        application: &mut dyn Application,
        height: Height,
        round: u32,
        now: Timestamp,
    ) -> Result<Entry, ProposalError> {
        let head = self.follow(application);
        let expected = self.next_height(head.header.number);
        if expected != Some(height) {
            return Err(ProposalError::Height { expected, got: height });
        }
        if let Some(decided) = &self.next.decided {
            return decided.own.clone().ok_or(ProposalError::NoSeal);
        }
        let rule = TimeRule::of_round(&self.parameters, round);
        if let Some(own) = &mut self.next.own {
            // If each member always proposed its old body, no proposal would be near the clocks of the others.
            let is_near = judge_first_proposal(own.timestamp, head.timestamp, now, &rule) == TimeVerdict::Valid;
            if own.round == Some(round) || is_near {
                own.round = Some(round);
                return Ok(own.entry.clone());
            }
        }
        self.build(application, &head, height, round, now)
    }

    fn build(
        &mut self,
        application: &mut dyn Application,
        head: &TxBlock,
        height: Height,
        round: u32,
        now: Timestamp,
    ) -> Result<Entry, ProposalError> {
        let at = next_timestamp(head.timestamp, now).unwrap_or(now);
        let executed = application.propose(at, Cause::Event)?;
        let body = Body::of_proposal(executed.to_proposal(), self.parameters.named_rules(height.block()))?;
        if let Some(due) = self.needlessly_empty(&body, head) {
            return Err(ProposalError::Empty { due });
        }
        let (timestamp, bytes) = (body.timestamp, body.encode());
        let (most, got) = (self.parameters.body_limits().bytes, bytes.len());
        if got > most {
            return Err(ProposalError::Size { most, got });
        }
        let entry = Entry { id: EntryId::of_body(&self.network, height, &bytes), bytes: bytes.into() };
        self.next.candidates.add(Candidate { entry: entry.clone(), executed });
        self.next.own = Some(OwnBody { entry: entry.clone(), timestamp, round: Some(round) });
        Ok(entry)
    }

    /// Restores an entry that this member proposed before a restart, so that [`propose`](Self::propose) returns the
    /// entry again. Returns the verdict on the entry. The member proposes only a valid entry again.
    pub fn restore_own(&mut self, application: &mut dyn Application, height: Height, bytes: &[u8]) -> Verdict {
        let verdict = self.judge(application, height, bytes, Rule::Accepted);
        if let Verdict::Valid(id) = verdict {
            let entry = Entry { id, bytes: bytes.into() };
            if let Some(decided) = &mut self.next.decided {
                decided.own = Some(entry);
            } else if let Ok(body) = Body::decode(height, bytes, &self.parameters.body_limits()) {
                self.next.own = Some(OwnBody { entry, timestamp: body.timestamp, round: None });
            }
        }
        verdict
    }

    /// Returns the verdict on the canonical bytes of an entry. A valid body becomes a candidate, so that its decision
    /// needs no second execution. The function executes the body: 8,000 payments need some 500 ms on two processors.
    pub fn judge(&mut self, application: &mut dyn Application, height: Height, bytes: &[u8], rule: Rule) -> Verdict {
        let head = self.follow(application);
        let expected = self.next_height(head.header.number);
        if expected != Some(height) {
            return Verdict::Withheld(Withheld::Height { expected, got: height });
        }
        if let Some(decided) = &mut self.next.decided {
            return decided.judge(bytes);
        }
        let id = EntryId::of_body(&self.network, height, bytes);
        let body = match Body::decode(height, bytes, &self.parameters.body_limits()) {
            Ok(body) => body,
            Err(error) => return Verdict::Invalid { id, reason: error.into() },
        };
        if let Err(reason) = self.check_rules(height, &body) {
            return Verdict::Invalid { id, reason };
        }
        if let Some(verdict) = self.judge_time(id, &body, &head, rule) {
            return verdict;
        }
        if !self.next.candidates.has(id) {
            let executed = match application.verify(&body.into_proposal()) {
                Ok(executed) => executed,
                Err(error) if error.is_local() => return Verdict::Withheld(Withheld::Chain(error)),
                Err(error) => return Verdict::Invalid { id, reason: error.into() },
            };
            self.next.candidates.add(Candidate { entry: Entry { id, bytes: bytes.into() }, executed });
        }
        Verdict::Valid(id)
    }

    /// Compares the Scilla rules that a body names with the network file.
    fn check_rules(&self, height: Height, body: &Body) -> Result<(), InvalidEntry> {
        let block = height.block();
        let (first, expected) = (self.parameters.scilla_rules, self.parameters.named_rules(block));
        if body.scilla_rules == expected {
            Ok(())
        } else if body.scilla_rules == Some(first) {
            // Such a body is not canonical.
            let expected = format!("no name for {first}, the rules of block 1");
            Err(value("Body.scilla_rules", expected, first).into())
        } else {
            let [expected, got] = [expected, body.scilla_rules].map(|named| named.unwrap_or(first));
            Err(InvalidEntry::Rules { block, expected, got })
        }
    }

    /// Judges the timestamp of a body, and whether a body without transactions is due. Returns `None` if both are
    /// valid.
    fn judge_time(&self, id: EntryId, body: &Body, head: &TxBlock, rule: Rule) -> Option<Verdict> {
        let (got, last) = (body.timestamp, head.timestamp);
        let (verdict, now) = match rule {
            Rule::Accepted => (judge_decided(got, last), None),
            Rule::Repeated { now } => (judge_repeated(got, last, now, self.parameters.drift), None),
            Rule::FirstProposal { round, now } => {
                let rule = TimeRule::of_round(&self.parameters, round);
                (judge_first_proposal(got, last, now, &rule), Some(now))
            }
        };
        match (verdict, now) {
            (TimeVerdict::Invalid, _) => {
                Some(Verdict::Invalid { id, reason: InvalidEntry::Timestamp { head: last, got } })
            }
            (TimeVerdict::Later(at), _) => Some(Verdict::Later(at)),
            (TimeVerdict::Withheld, now) => {
                Some(Verdict::Withheld(Withheld::Old { now: now.unwrap_or_default(), got }))
            }
            (TimeVerdict::Valid, None) => None,
            (TimeVerdict::Valid, Some(_)) => {
                self.needlessly_empty(body, head).map(|due| Verdict::Withheld(Withheld::Empty { due }))
            }
        }
    }

    /// Returns the earliest timestamp of a body without transactions, if `body` is such a body and its timestamp is
    /// earlier. The function does not read the clock, because the time rule has compared the timestamp with the clock.
    fn needlessly_empty(&self, body: &Body, head: &TxBlock) -> Option<Timestamp> {
        let BlockTiming::OnDemand { max_idle, .. } = self.parameters.blocks else { return None };
        let idle = u64::try_from(max_idle.as_micros()).unwrap_or(u64::MAX);
        let due = Timestamp::new(head.timestamp.get().saturating_add(idle));
        let epochs = Epochs::new(self.parameters.blocks_per_ds_epoch);
        let is_vacuous = epochs.is_some_and(|epochs| epochs.is_vacuous(body.header.number));
        (body.transactions.is_empty() && !is_vacuous && body.timestamp < due).then_some(due)
    }

    /// Processes a decision of the committee. `bytes` can be `None` if this member still has the entry: its own latest
    /// proposal, or one of the latest four bodies or seals that it found valid.
    ///
    /// A second call with the same body has no effect. After a failed commit, the caller recovers the chain, and calls
    /// the function again: the block is the same.
    ///
    /// # Errors
    ///
    /// [`DecideError`]. If the error [is fatal](DecideError::is_fatal), the member has to stop.
    pub fn decide(
        &mut self,
        application: &mut dyn Application,
        height: Height,
        id: EntryId,
        bytes: Option<&[u8]>,
    ) -> Result<Decided, DecideError> {
        let head = self.follow(application);
        let expected = self.next_height(head.header.number);
        match (&self.next.decided, height.kind()) {
            (Some(decided), EntryKind::Body) if Some(height.block()) == head.header.number.next() => {
                let expected = decided.entry.id;
                if id == expected {
                    Ok(Decided::Body)
                } else {
                    Err(DecideError::Conflict { height, expected, got: id })
                }
            }
            _ if expected != Some(height) => Err(DecideError::Height { expected, got: height }),
            (Some(_), _) => self.decide_seal(application, height, id, bytes),
            (None, _) => self.decide_body(application, height, id, bytes),
        }
    }

    fn decide_body(
        &mut self,
        application: &mut dyn Application,
        height: Height,
        id: EntryId,
        bytes: Option<&[u8]>,
    ) -> Result<Decided, DecideError> {
        let Candidate { entry, executed } = match self.next.candidates.decide(id) {
            Some(candidate) => candidate,
            None => self.execute(application, height, id, bytes)?,
        };
        let Some(seal_height) = height.next() else {
            return Err(DecideError::Height { expected: None, got: height });
        };
        let task = CoSignTask {
            network: self.network,
            height: seal_height,
            body: id,
            items: items(&executed),
            committee: self.committee.clone(),
        };
        let session = Session::new(task, self.key.clone(), self.index, std::mem::take(&mut self.early));
        self.next.own = None;
        self.next.decided = Some(DecidedBody::new(height, entry, executed, session));
        Ok(Decided::Body)
    }

    /// Executes a decided body that is not a candidate.
    fn execute(
        &self,
        application: &mut dyn Application,
        height: Height,
        id: EntryId,
        bytes: Option<&[u8]>,
    ) -> Result<Candidate, DecideError> {
        let own = self.next.own.as_ref().filter(|own| own.entry.id == id).map(|own| &*own.entry.bytes);
        let bytes = bytes.or(own).ok_or(DecideError::Missing { height, id })?;
        let got = EntryId::of_body(&self.network, height, bytes);
        if got != id {
            return Err(DecideError::Bytes { height, expected: id, got });
        }
        let invalid = |expected, got, reason: InvalidEntry| {
            let reason = Box::new(reason);
            DecideError::Invalid { height, id, expected, got, reason }
        };
        let body = Body::decode(height, bytes, &self.parameters.body_limits());
        let body = body.map_err(|error| invalid(None, None, error.into()))?;
        let got = body.header.state_root;
        self.check_rules(height, &body).map_err(|error| invalid(None, Some(got), error))?;
        match application.verify(&body.into_proposal()) {
            Ok(executed) => Ok(Candidate { entry: Entry { id, bytes: bytes.into() }, executed }),
            Err(reason) if reason.is_local() => Err(DecideError::Chain { height, reason }),
            Err(reason) => {
                let InvalidBlock::Field { state_root, .. } = &reason else {
                    return Err(invalid(None, Some(got), reason.into()));
                };
                Err(invalid(Some(*state_root), Some(got), reason.into()))
            }
        }
    }

    fn decide_seal(
        &mut self,
        application: &mut dyn Application,
        height: Height,
        id: EntryId,
        bytes: Option<&[u8]>,
    ) -> Result<Decided, DecideError> {
        let Some(mut decided) = self.next.decided.take() else {
            return Err(DecideError::Missing { height, id });
        };
        let committed = self.commit(application, &mut decided, height, id, bytes);
        // The body stays decided after an error.
        self.next.decided = Some(decided);
        let block = committed?;
        self.follow(application);
        Ok(Decided::Block(block))
    }

    /// Seals and commits the decided body.
    fn commit(
        &self,
        application: &mut dyn Application,
        decided: &mut DecidedBody,
        height: Height,
        id: EntryId,
        bytes: Option<&[u8]>,
    ) -> Result<Arc<CommittedBlock>, DecideError> {
        let known = decided.bytes_of(id);
        let bytes = bytes.or(known.as_deref()).ok_or(DecideError::Missing { height, id })?;
        let got = decided.seal_id(bytes);
        if got != id {
            return Err(DecideError::Bytes { height, expected: id, got });
        }
        let root = Some(decided.state_root);
        let seal = decided.verify(id, bytes).map_err(Box::new);
        let seal = seal.map_err(|reason| DecideError::Invalid { height, id, expected: root, got: root, reason })?;
        let executed = if let Some(executed) = decided.executed.take() {
            executed
        } else {
            let Entry { id, bytes } = &decided.entry;
            self.execute(application, decided.height, *id, Some(bytes))?.executed
        };
        let sealed = decided.sign(executed, &seal);
        let sealed = sealed.map_err(|reason| DecideError::Seal { height, id, reason })?;
        application.commit(sealed).map_err(|reason| DecideError::Commit { height, reason })
    }

    /// Begins a round of the seal of the decided body. The leader of the session is the proposer of the round. A round
    /// of another height has no effect.
    pub fn start_round(&mut self, height: Height, round: u32, rng: &mut impl CryptoRng) -> Vec<Effect> {
        let leader = proposer(self.committee.len(), height, round);
        match &mut self.next.decided {
            Some(decided) if decided.session.task().height == height => {
                let effects = decided.session.start_round(round, leader, rng);
                decided.note(effects)
            }
            _ => Vec::new(),
        }
    }

    /// Handles a co-signature message of another member. Before the body is decided, only messages `Ready` are kept.
    ///
    /// # Errors
    ///
    /// [`Rejected`] names the reason. The caller drops the message, and can count it.
    pub fn receive(&mut self, message: CoSignMessage, rng: &mut impl CryptoRng) -> Result<Vec<Effect>, Rejected> {
        let Some(decided) = &mut self.next.decided else {
            self.early.keep(message, &self.network, &self.committee)?;
            return Ok(Vec::new());
        };
        let effects = decided.session.receive(message, rng)?;
        Ok(decided.note(effects))
    }

    /// Handles the end of a timer of the session.
    pub fn timer(&mut self, timer: Timer, rng: &mut impl CryptoRng) -> Vec<Effect> {
        let Some(decided) = &mut self.next.decided else { return Vec::new() };
        let effects = decided.session.timer(timer, rng);
        decided.note(effects)
    }

    /// Drops the data of earlier blocks if the chain has a new block. Returns the head.
    fn follow(&mut self, application: &dyn Application) -> Arc<TxBlock> {
        let head = application.head();
        let number = head.header.number.next().unwrap_or(BlockNumber::MISSING);
        if self.next.number != number {
            let before = std::mem::replace(&mut self.next, NextBlock { number, ..NextBlock::default() });
            if let Some(decided) = before.decided {
                self.early = decided.session.into_early();
            }
        }
        head
    }
}

/// Returns the serialised headers of an executed block, as [`Body::items`].
fn items(executed: &ExecutedBlock) -> Vec<Vec<u8>> {
    let ds = executed.ds_block().map(|block| block.header.encode());
    let micro = executed.micro_blocks().iter().map(|block| block.header.encode());
    ds.into_iter().chain(micro).chain([executed.tx_block().header.encode()]).collect()
}
