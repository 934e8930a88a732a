//! False and contradicting messages of faulty members.

use arc_malachitebft_app::consensus::SignedConsensusMsg;
use arc_malachitebft_app::types::core::{NilOrVal, Round, VoteType};
use arc_malachitebft_signing::Signer as _;
use chacha20::{ChaCha8Rng, rand_core::SeedableRng as _};
use silica_council::{Body, CoSignMessage, Content, Entry, EntryId, EntryKind, Height, ItemSignatures, Seal};
use silica_crypto::{
    KeyPair,
    multisig::{CommitPoint, Response},
};
use silica_protocol::{BlockHash, Signature, StateRoot, Timestamp};

use crate::{
    context::Ctx,
    simulation::{
        member::ready,
        network,
        world::{Message, World},
    },
    types::{EngineProposal, EngineVote, ValueId},
};

/// A false entry: its bytes and its recipients.
type Forged = (Vec<u8>, Vec<usize>);

impl World {
    /// Returns whether a member sends a false message now. Faulty members also send them after the end of all failures.
    pub(super) fn lies(&mut self, member: usize, rate: u64) -> bool {
        self.liars.contains(&member) && self.draw(10_000) < rate
    }

    /// Sends a false entry, two different entries, or none, with the signature of the member.
    pub(super) fn forge(&mut self, member: usize, height: Height, round: u32, entry: &Entry) {
        let mut valid_round = Round::Nil;
        let entries = match height.kind() {
            EntryKind::Body if self.draw(8) == 0 => {
                self.see("a body from the future");
                // The members must check the timestamp although the proposal names an earlier round.
                valid_round = Round::ZERO;
                vec![self.changed(member, height, entry, |body| {
                    body.timestamp = Timestamp::new(body.timestamp.get() + 3_600_000_000);
                })]
            }
            EntryKind::Body if self.draw(2) == 0 => self.two_bodies(member, height, entry),
            EntryKind::Body => vec![self.false_body(member, height, entry)],
            EntryKind::Seal => self.false_seal(member, entry).into_iter().collect(),
        };
        let has_two = entries.len() > 1;
        for (bytes, to) in entries {
            let id = self.id(member, height, &bytes);
            let (round, value, index) = (Round::new(round), id.into(), self.members[member].index());
            let proposal =
                EngineProposal { height: height.into(), round, value, valid_round: Round::Nil, member: index };
            let signed = ready(self.members[member].signer.sign_proposal(proposal)).unwrap();
            let proposal = SignedConsensusMsg::Proposal(signed);
            let entry = Message::Entry { height, round, valid_round, proposer: member, bytes: bytes.into() };
            self.send(member, to.clone(), &entry);
            self.send(member, to.clone(), &Message::Consensus(proposal));
            if has_two {
                for kind in [VoteType::Prevote, VoteType::Precommit] {
                    let value = NilOrVal::Val(value);
                    self.vote(EngineVote { kind, height: height.into(), round, value, member: index }, to.clone());
                }
            }
        }
    }

    fn id(&mut self, member: usize, height: Height, bytes: &[u8]) -> EntryId {
        let network = self.network.id();
        let council = self.members[member].running().map(|running| &running.council);
        match council.and_then(|council| council.decided_body()) {
            Some(body) if height.kind() == EntryKind::Seal => EntryId::of_seal(&network, height, &body.id, bytes),
            _ => EntryId::of_body(&network, height, bytes),
        }
    }

    /// Signs a vote, and sends it to some members.
    fn vote(&mut self, vote: EngineVote, to: Vec<usize>) {
        let member = usize::from(vote.member.0);
        let signed = ready(self.members[member].signer.sign_vote(vote)).unwrap();
        self.send(member, to, &Message::Consensus(SignedConsensusMsg::Vote(signed)));
    }

    /// Returns the bytes of a changed body, for all other members.
    fn changed(&self, member: usize, height: Height, entry: &Entry, change: impl FnOnce(&mut Body)) -> Forged {
        let limits = self.network.parameters().body_limits();
        let mut body = Body::decode(height, &entry.bytes, &limits).unwrap();
        change(&mut body);
        (body.encode(), self.others(member))
    }

    /// Returns two valid bodies for different members.
    fn two_bodies(&mut self, member: usize, height: Height, entry: &Entry) -> Vec<Forged> {
        let limits = self.network.parameters().body_limits();
        let is_empty = Body::decode(height, &entry.bytes, &limits).unwrap().transactions.is_empty();
        let (other, _) = if is_empty || self.draw(3) == 0 {
            self.see("two bodies");
            self.changed(member, height, entry, |body| body.timestamp = body.timestamp.next().unwrap())
        } else {
            self.see("two signatures of a transaction");
            let mut random = ChaCha8Rng::seed_from_u64(self.draw(u64::MAX));
            self.changed(member, height, entry, |body| {
                if let Some(payment) = body.transactions.first_mut() {
                    *payment = network::signed_again(payment.clone(), &mut random);
                }
            })
        };
        let (even, odd) = self.others(member).into_iter().partition(|other| other % 2 == 0);
        vec![(entry.bytes.to_vec(), even), (other, odd)]
    }

    fn false_body(&mut self, member: usize, height: Height, entry: &Entry) -> Forged {
        self.see("a false body");
        let kind = self.draw(7);
        let (mut bytes, to) = self.changed(member, height, entry, |body| match kind {
            0 => body.header.prev_hash = BlockHash::new([7; 32]),
            1 => body.header.number = body.header.number.next().unwrap(),
            2 => body.micro_headers.truncate(1),
            3 => body.transactions.extend(body.transactions.first().cloned()),
            4 => {
                if let Some(transaction) = body.transactions.first_mut() {
                    *transaction = transaction.clone().into_unsigned().with_signature(Signature::new([9; 64]));
                }
            }
            _ => body.header.state_root = StateRoot::new([7; 32]),
        });
        if kind == 5 || bytes == *entry.bytes {
            // Another spelling of the body.
            bytes.push(0);
        }
        (bytes, to)
    }

    fn false_seal(&mut self, member: usize, entry: &Entry) -> Option<Forged> {
        let seal = Seal::decode(&entry.bytes, self.members.len()).unwrap();
        let mut forged = seal.clone();
        if self.draw(3) == 0 {
            self.see("a seal that is not proposed");
            return None;
        }
        match self.draw(5) {
            0 => forged.signers.rotate_left(1),
            1 => drop(forged.items.pop()),
            2 => forged.items.swap(0, 1),
            3 => forged.items[0] = ItemSignatures { cs1: seal.items[0].cs2, cs2: seal.items[0].cs1 },
            _ => forged.signers = vec![true; self.members.len()],
        }
        self.see("a false seal");
        Some((forged.encode(), self.others(member)))
    }

    /// Sends a vote to some members, and a contradicting vote to the others, if the member is faulty.
    pub(super) fn send_two_votes(&mut self, member: usize, message: &SignedConsensusMsg<Ctx>) -> bool {
        let SignedConsensusMsg::Vote(vote) = message else { return false };
        if !self.lies(member, self.rates.lie) {
            return false;
        }
        if self.draw(4) == 0 {
            self.vote_for_another(member, &vote.message);
            return true;
        }
        self.see("two votes");
        let value = match vote.message.value {
            NilOrVal::Nil => NilOrVal::Val(ValueId([7; 32])),
            NilOrVal::Val(_) => NilOrVal::Nil,
        };
        let parity = self.draw(2);
        let is_even = |other: &usize| u64::try_from(other % 2).unwrap() == parity;
        let (some, others) = self.others(member).into_iter().partition(is_even);
        self.send(member, some, &Message::Consensus(message.clone()));
        self.vote(EngineVote { value, ..vote.message.clone() }, others);
        true
    }

    /// Sends a vote in the name of another member, with the signature of the faulty member.
    fn vote_for_another(&mut self, member: usize, vote: &EngineVote) {
        self.see("a vote in the name of another");
        let others = self.others(member);
        let place = self.pick(others.len());
        let other = self.members[others[place]].index();
        let value = NilOrVal::Val(ValueId([7; 32]));
        let vote = EngineVote { value, member: other, ..vote.clone() };
        let signed = ready(self.members[member].signer.sign_vote(vote)).unwrap();
        self.send(member, others, &Message::Consensus(SignedConsensusMsg::Vote(signed)));
    }

    /// Sends no co-signature message, a false one, or two of them, if the member is faulty.
    pub(super) fn send_false_co_signature(&mut self, member: usize, to: &[usize], message: &CoSignMessage) -> bool {
        if !self.lies(member, self.rates.lie) {
            return false;
        }
        match self.draw(3) {
            0 => self.see("a co-signature message that is not sent"),
            kind => {
                if kind == 1 {
                    self.see("a second co-signature message");
                    self.send(member, to.to_vec(), &Message::CoSign(message.encode()));
                } else {
                    self.see("a false co-signature message");
                }
                let content = self.changed_content(message.content.clone());
                let key = self.members[member].signer.key.clone();
                let forged = CoSignMessage::new(&self.network.id(), message.session, member, content, &key);
                self.send(member, to.to_vec(), &Message::CoSign(forged.encode()));
            }
        }
        true
    }

    fn changed_content(&mut self, mut content: Content) -> Content {
        let turn = usize::try_from(self.draw(1 << 20)).unwrap();
        let mut point = || {
            let key = KeyPair::generate(&mut self.random).public_key();
            CommitPoint::from_bytes(key.to_bytes()).unwrap()
        };
        match &mut content {
            Content::Ready { hashes, body } if turn % 3 > 0 => {
                let places = turn % hashes.len();
                hashes.rotate_left(places);
                if turn % 3 == 1 {
                    *body = EntryId::new([99; 32]);
                }
            }
            Content::Ready { hashes, .. } => drop(hashes.pop()),
            Content::Set { signers, .. } if turn % 2 == 0 => signers.rotate_left(1),
            Content::Set { readys, .. } => readys[0].signature = Signature::new([1; 64]),
            Content::Points(_, points) => {
                let at = turn % points.len();
                points[at] = point();
            }
            Content::Challenge(_, points) => {
                let (signer, item) = (turn % points.len(), turn % points[0].len());
                points[signer][item] = point();
            }
            Content::Responses(_, responses) => {
                let at = turn % responses.len();
                responses[at] = Response::from_bytes([1; 32]).unwrap();
            }
            Content::First(signatures) => {
                let at = turn % signatures.len();
                signatures[at] = Signature::new([1; 64]);
            }
        }
        content
    }
}
