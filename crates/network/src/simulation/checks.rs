//! The checks of the invariants, after each step.

use std::collections::btree_map::Entry;

use arc_malachitebft_app::consensus::{MisbehaviorEvidence, SignedConsensusMsg};
use arc_malachitebft_app::types::core::CommitCertificate;
use silica_chain::Epochs;
use silica_council::{Body, CoSignMessage, Content, EntryId, EntryKind, Height, Vote, VoteKind};
use silica_protocol::{Qa, Timestamp};

use crate::{
    context::Ctx,
    simulation::{
        member::{Running, start_of},
        network,
        watch::Watch,
        world::World,
    },
};

impl World {
    /// Checks that a member signs no two different votes or proposals of one round, also after a crash.
    pub(super) fn watch_vote(&mut self, member: usize, message: &SignedConsensusMsg<Ctx>) {
        let is_first = match message {
            SignedConsensusMsg::Vote(vote) => {
                let vote = &vote.message;
                let place = (member, vote.kind, vote.height.0, vote.round);
                self.watch.votes.insert(place, vote.clone()).is_none_or(|earlier| earlier == *vote)
            }
            SignedConsensusMsg::Proposal(proposal) => {
                let proposal = &proposal.message;
                let place = (member, proposal.height.0, proposal.round);
                let earlier = self.watch.proposals.insert(place, proposal.value);
                earlier.is_none_or(|earlier| earlier == proposal.value)
            }
        };
        assert!(is_first, "seed {}: member {member} contradicts its earlier vote: {message:?}", self.seed);
    }

    /// Checks that the evidence names only members that send false messages.
    pub(super) fn watch_evidence(&mut self, member: usize, evidence: &MisbehaviorEvidence<Ctx>) {
        for other in 0..self.members.len() {
            let index = self.members[other].index();
            if evidence.votes.get(&index).is_some() || evidence.proposals.get(&index).is_some() {
                self.see("evidence");
                assert!(
                    self.liars.contains(&other),
                    "seed {}: member {member} has evidence against {other}",
                    self.seed
                );
            }
        }
    }

    /// Checks that a member answers for a decided body only, and that it answers once for each of its points.
    pub(super) fn watch_co_signature(&mut self, member: usize, message: &CoSignMessage) {
        let (seed, session) = (self.seed, message.session);
        let body = Height::of_body(session.height.block()).unwrap();
        assert!(self.decided.contains_key(&body), "seed {seed}: member {member} signs no decided body: {message:?}");
        match &message.content {
            Content::Points(round, points) => {
                self.watch.shown.insert((member, session, *round), points.clone());
            }
            Content::Responses(round, responses) => {
                assert_eq!(self.members[member].height(), Some(session.height), "seed {seed}: member {member}");
                let points = &self.watch.shown[&(member, session, *round)];
                assert_eq!(points.len(), responses.len(), "seed {seed}: member {member}");
                for (point, response) in points.iter().zip(responses) {
                    let earlier = self.watch.answered.insert(*point.as_bytes(), *response.as_bytes());
                    assert!(earlier.is_none(), "seed {seed}: member {member} answers twice with one point");
                }
            }
            Content::Ready { .. } | Content::Set { .. } | Content::Challenge(..) | Content::First(_) => {}
        }
    }

    /// Records a decision, and checks that all members decide the same entry. The first certificate has to have votes
    /// of a quorum.
    pub(super) fn note(&mut self, member: usize, certificate: &CommitCertificate<Ctx>) {
        let (height, id): (Height, EntryId) = (certificate.height.council().unwrap(), certificate.value_id.into());
        if let Entry::Vacant(place) = self.decided.entry(height) {
            place.insert(id);
            self.decided_at.insert(height, self.time);
            let round = certificate.round.as_u32().unwrap();
            let vote = Vote { kind: VoteKind::Precommit, height, round, value: Some(id) };
            let (network, committee) = (self.network.id(), self.network.committee());
            let is_signed = |index: u16| {
                let vote_of = certificate.commit_signatures.iter().find(|it| it.address.0 == index);
                let key = &committee[usize::from(index)];
                vote_of.is_some_and(|it| vote.verify(&network, &(&it.signature).into(), key).is_ok())
            };
            let votes = (0..u16::try_from(committee.len()).unwrap()).filter(|index| is_signed(*index)).count();
            assert!(3 * votes > 2 * committee.len(), "seed {}: {votes} votes at height {height}", self.seed);
        }
        assert_eq!(self.decided[&height], id, "seed {}: member {member}, height {height}", self.seed);
    }

    /// Checks that a member has the same bytes, records, states and money as the others.
    pub(super) fn check(&mut self, index: usize) {
        let seed = self.seed;
        let latest = self.latest_timestamp();
        let Some(Running { producer, .. }) = self.members[index].running() else { return };
        let snapshot = producer.store().snapshot();
        let head = snapshot.head().unwrap().clone();
        let Watch { payers, nonces, records, bytes, checked, supply, .. } = &mut self.watch;
        let last = checked[index].block().get() - 1;
        assert!(head.number.get() >= last, "seed {seed}: member {index} has lost block {last}");
        if head.number.get() == last {
            return;
        }
        while checked[index].block() <= head.number {
            let height = checked[index];
            let entry = silica_council::entry_bytes(&snapshot, height, self.network.parameters()).unwrap().unwrap();
            if let Some(first) = bytes.get(&height) {
                assert_eq!(*first, entry, "seed {seed}: member {index}, height {height}");
            } else {
                if height.kind() == EntryKind::Body {
                    let limits = self.network.parameters().body_limits();
                    for transaction in Body::decode(height, &entry, &limits).unwrap().transactions {
                        let nonce = nonces.entry(payers[&transaction.sender_key]).or_default();
                        *nonce += 1;
                        assert_eq!(transaction.nonce.get(), *nonce, "seed {seed}: height {height}");
                    }
                }
                bytes.insert(height, entry);
            }
            let record = snapshot.record(height.block()).unwrap().unwrap();
            let first = records.entry(height.block()).or_insert_with(|| record.clone());
            assert_eq!(*first, record, "seed {seed}: member {index}, height {height}");
            checked[index] = height.next().unwrap();
        }
        assert!(head.timestamp <= latest, "seed {seed}: member {index}: {} is after {latest}", head.timestamp);
        let root = records[&head.number].tx_block.header.state_root;
        assert_eq!(snapshot.state().root(), root, "seed {seed}: member {index}");
        let epochs = Epochs::new(self.network.parameters().blocks_per_ds_epoch).unwrap();
        let fees = if epochs.is_vacuous(head.number) { Qa::ZERO } else { head.totals.ds_epoch_fees };
        let accounts = snapshot.state().accounts().map(|account| account.unwrap().1.balance.get());
        let money = Qa::new(accounts.sum()).checked_add(fees);
        assert_eq!(money, Some(*supply), "seed {seed}: member {index}");
    }

    /// Returns the latest time that a block can have: the time of the fastest clock near the others, plus the drift.
    fn latest_timestamp(&self) -> Timestamp {
        let parameters = self.network.parameters();
        let drift = u64::try_from(parameters.drift.as_micros()).unwrap();
        Timestamp::new(start_of(&self.network).get() + (self.time + 1_000) * 1_000 + drift)
    }

    /// Executes the chain of a member again, with each signature, receipt and root.
    pub(super) fn check_chain(&mut self, index: usize) {
        let running = self.members[index].running().unwrap();
        network::check(running.producer.store(), &self.network);
    }
}
