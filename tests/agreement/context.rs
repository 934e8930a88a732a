//! The types of the engine: the members of a network, their votes and their signatures.

use std::{fmt, sync::Arc};

use arc_malachitebft_core_consensus::ConsensusMsg;
use arc_malachitebft_core_types::{
    self as types, CertificateError, NilOrVal, Round, SignedExtension, SignedMessage, SigningScheme, Timeout, Timeouts,
    VoteType, VotingPower,
};
use silica_council::{EntryId, EntryProposal, Height, NetworkId, Vote as CouncilVote, VoteKind, proposer};
use silica_crypto::KeyPair;
use silica_protocol::{PublicKey, Signature};

/// The context of one network.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub(crate) network: NetworkId,
    pub(crate) members: Arc<[Seat]>,
}

/// Position of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position(pub(crate) usize);

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl types::Address for Position {}

/// A height of the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct EngineHeight(pub(crate) u64);

impl fmt::Display for EngineHeight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl types::Height for EngineHeight {
    const INITIAL: Self = Self(1);
    const ZERO: Self = Self(0);

    fn increment_by(&self, n: u64) -> Self {
        Self(self.0 + n)
    }

    fn decrement_by(&self, n: u64) -> Option<Self> {
        self.0.checked_sub(n).map(Self)
    }

    fn as_u64(&self) -> u64 {
        self.0
    }
}

impl From<Height> for EngineHeight {
    fn from(height: Height) -> Self {
        Self(height.get())
    }
}

impl EngineHeight {
    pub(crate) fn get(self) -> Height {
        Height::new(self.0).unwrap()
    }
}

/// The value on which members vote: the id of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Value(pub(crate) EntryId);

impl types::Value for Value {
    type Id = EntryId;

    fn id(&self) -> EntryId {
        self.0
    }
}

/// A member of the committee.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seat {
    pub(crate) position: Position,
    pub(crate) key: PublicKey,
}

impl types::Validator<Context> for Seat {
    fn address(&self) -> &Position {
        &self.position
    }

    fn public_key(&self) -> &PublicKey {
        &self.key
    }

    fn voting_power(&self) -> VotingPower {
        1
    }
}

/// The committee.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Committee(pub(crate) Arc<[Seat]>);

impl types::ValidatorSet<Context> for Committee {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn total_voting_power(&self) -> VotingPower {
        u64::try_from(self.0.len()).unwrap()
    }

    fn get_by_address(&self, address: &Position) -> Option<&Seat> {
        self.0.get(address.0)
    }

    fn get_by_index(&self, index: usize) -> Option<&Seat> {
        self.0.get(index)
    }
}

/// Bodies and seals travel outside the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NoPart;

impl types::ProposalPart<Context> for NoPart {
    fn is_first(&self) -> bool {
        true
    }

    fn is_last(&self) -> bool {
        true
    }
}

/// The timers are those of the simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NoTimeouts;

impl Timeouts<Context> for NoTimeouts {
    fn duration_for(&self, _: Timeout) -> std::time::Duration {
        std::time::Duration::ZERO
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Proposal {
    pub(crate) height: EngineHeight,
    pub(crate) round: Round,
    pub(crate) value: Value,
    pub(crate) pol_round: Round,
    pub(crate) address: Position,
}

impl types::Proposal<Context> for Proposal {
    fn height(&self) -> EngineHeight {
        self.height
    }

    fn round(&self) -> Round {
        self.round
    }

    fn value(&self) -> &Value {
        &self.value
    }

    fn take_value(self) -> Value {
        self.value
    }

    fn pol_round(&self) -> Round {
        self.pol_round
    }

    fn validator_address(&self) -> &Position {
        &self.address
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Vote {
    pub(crate) kind: VoteType,
    pub(crate) height: EngineHeight,
    pub(crate) round: Round,
    pub(crate) value: NilOrVal<EntryId>,
    pub(crate) address: Position,
}

impl types::Vote<Context> for Vote {
    fn height(&self) -> EngineHeight {
        self.height
    }

    fn round(&self) -> Round {
        self.round
    }

    fn value(&self) -> &NilOrVal<EntryId> {
        &self.value
    }

    fn take_value(self) -> NilOrVal<EntryId> {
        self.value
    }

    fn vote_type(&self) -> VoteType {
        self.kind
    }

    fn validator_address(&self) -> &Position {
        &self.address
    }

    fn extension(&self) -> Option<&SignedExtension<Context>> {
        None
    }

    fn take_extension(&mut self) -> Option<SignedExtension<Context>> {
        None
    }

    fn extend(self, _: SignedExtension<Context>) -> Self {
        self
    }
}

/// EC-Schnorr, as in the blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EcSchnorr;

impl SigningScheme for EcSchnorr {
    type DecodingError = String;
    type PrivateKey = KeyPair;
    type PublicKey = PublicKey;
    type Signature = Signature;

    fn decode_signature(bytes: &[u8]) -> Result<Signature, String> {
        bytes.try_into().map(Signature::new).map_err(|_| "64 bytes".to_owned())
    }

    fn encode_signature(signature: &Signature) -> Vec<u8> {
        signature.as_bytes().to_vec()
    }

    fn decode_public_key(bytes: &[u8]) -> Result<PublicKey, String> {
        bytes.try_into().map(PublicKey::new).map_err(|_| "33 bytes".to_owned())
    }

    fn encode_public_key(key: &PublicKey) -> Vec<u8> {
        key.as_bytes().to_vec()
    }
}

impl types::Context for Context {
    type Address = Position;
    type Extension = ();
    type Height = EngineHeight;
    type Proposal = Proposal;
    type ProposalPart = NoPart;
    type SigningScheme = EcSchnorr;
    type Timeouts = NoTimeouts;
    type Validator = Seat;
    type ValidatorSet = Committee;
    type Value = Value;
    type Vote = Vote;

    fn select_proposer<'a>(&self, committee: &'a Committee, height: EngineHeight, round: Round) -> &'a Seat {
        &committee.0[proposer(committee.0.len(), height.get(), round.as_u32().unwrap())]
    }

    fn new_proposal(
        &self,
        height: EngineHeight,
        round: Round,
        value: Value,
        pol_round: Round,
        address: Position,
    ) -> Proposal {
        Proposal { height, round, value, pol_round, address }
    }

    fn new_prevote(&self, height: EngineHeight, round: Round, value: NilOrVal<EntryId>, address: Position) -> Vote {
        Vote { kind: VoteType::Prevote, height, round, value, address }
    }

    fn new_precommit(&self, height: EngineHeight, round: Round, value: NilOrVal<EntryId>, address: Position) -> Vote {
        Vote { kind: VoteType::Precommit, height, round, value, address }
    }
}

fn council_vote(vote: &Vote) -> CouncilVote {
    let kind = if vote.kind == VoteType::Prevote { VoteKind::Prevote } else { VoteKind::Precommit };
    let value = if let NilOrVal::Val(id) = vote.value { Some(id) } else { None };
    CouncilVote { kind, height: vote.height.get(), round: vote.round.as_u32().unwrap(), value }
}

fn council_proposal(proposal: &Proposal) -> EntryProposal {
    EntryProposal {
        height: proposal.height.get(),
        round: proposal.round.as_u32().unwrap(),
        value: proposal.value.0,
        valid_round: proposal.pol_round.as_u32(),
    }
}

impl Context {
    pub(crate) fn sign_vote(&self, vote: Vote, key: &KeyPair) -> SignedMessage<Self, Vote> {
        let signature = council_vote(&vote).sign(&self.network, key);
        SignedMessage::new(vote, signature)
    }

    pub(crate) fn sign_proposal(&self, proposal: Proposal, key: &KeyPair) -> SignedMessage<Self, Proposal> {
        let signature = council_proposal(&proposal).sign(&self.network, key);
        SignedMessage::new(proposal, signature)
    }

    pub(crate) fn verify(&self, message: &SignedMessage<Self, ConsensusMsg<Self>>, key: &PublicKey) -> bool {
        let signature = &message.signature;
        match &message.message {
            ConsensusMsg::Vote(vote) => council_vote(vote).verify(&self.network, signature, key).is_ok(),
            ConsensusMsg::Proposal(proposal) => {
                council_proposal(proposal).verify(&self.network, signature, key).is_ok()
            }
        }
    }

    /// Verifies the votes of a certificate, of which `needed` different members must have signed.
    pub(crate) fn verify_votes(
        &self,
        votes: impl IntoIterator<Item = (Vote, Signature)>,
        needed: usize,
    ) -> Result<(), CertificateError<Self>> {
        let mut signers = std::collections::BTreeSet::new();
        for (vote, signature) in votes {
            let key = self.members[vote.address.0].key;
            if council_vote(&vote).verify(&self.network, &signature, &key).is_ok() {
                signers.insert(vote.address);
            }
        }
        let count = |members: usize| u64::try_from(members).unwrap();
        if signers.len() >= needed {
            return Ok(());
        }
        Err(CertificateError::NotEnoughVotingPower {
            signed: count(signers.len()),
            total: count(self.members.len()),
            expected: count(needed),
        })
    }
}
