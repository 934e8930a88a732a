//! The types of this network in the form that the engine requires.

use arc_malachitebft_app::types::core::{
    self as engine, Context, NilOrVal, Round, SignedExtension, VoteType, VotingPower,
};
use silica_council::proposer;
use silica_protocol::PublicKey;

use crate::{
    part::Part,
    scheme::EcSchnorr,
    timeouts::HeightTimeouts,
    types::{EngineHeight, EngineMember, EngineProposal, EngineVote, MemberIndex, Members, ValueId},
};

/// The types of this network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ctx;

impl engine::Address for MemberIndex {}

impl engine::Height for EngineHeight {
    const ZERO: Self = Self(0);
    const INITIAL: Self = Self(1);

    fn increment_by(&self, n: u64) -> Self {
        Self(self.0.saturating_add(n))
    }

    fn decrement_by(&self, n: u64) -> Option<Self> {
        self.0.checked_sub(n).map(Self)
    }

    fn as_u64(&self) -> u64 {
        self.0
    }
}

impl engine::Value for ValueId {
    type Id = Self;

    fn id(&self) -> Self {
        *self
    }
}

impl engine::Validator<Ctx> for EngineMember {
    fn address(&self) -> &MemberIndex {
        &self.index
    }

    fn public_key(&self) -> &PublicKey {
        &self.key
    }

    fn voting_power(&self) -> VotingPower {
        1
    }
}

impl engine::ValidatorSet<Ctx> for Members {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn total_voting_power(&self) -> VotingPower {
        u64::try_from(self.0.len()).unwrap_or(u64::MAX)
    }

    fn get_by_address(&self, address: &MemberIndex) -> Option<&EngineMember> {
        self.0.get(usize::from(address.0))
    }

    fn get_by_index(&self, index: usize) -> Option<&EngineMember> {
        self.0.get(index)
    }
}

impl engine::Vote<Ctx> for EngineVote {
    fn height(&self) -> EngineHeight {
        self.height
    }

    fn round(&self) -> Round {
        self.round
    }

    fn value(&self) -> &NilOrVal<ValueId> {
        &self.value
    }

    fn take_value(self) -> NilOrVal<ValueId> {
        self.value
    }

    fn vote_type(&self) -> VoteType {
        self.kind
    }

    fn validator_address(&self) -> &MemberIndex {
        &self.member
    }

    // Votes have no extensions: the parameters of each height disable them.
    fn extension(&self) -> Option<&SignedExtension<Ctx>> {
        None
    }

    fn take_extension(&mut self) -> Option<SignedExtension<Ctx>> {
        None
    }

    fn extend(self, _: SignedExtension<Ctx>) -> Self {
        self
    }
}

impl engine::Proposal<Ctx> for EngineProposal {
    fn height(&self) -> EngineHeight {
        self.height
    }

    fn round(&self) -> Round {
        self.round
    }

    fn value(&self) -> &ValueId {
        &self.value
    }

    fn take_value(self) -> ValueId {
        self.value
    }

    fn pol_round(&self) -> Round {
        self.valid_round
    }

    fn validator_address(&self) -> &MemberIndex {
        &self.member
    }
}

impl engine::ProposalPart<Ctx> for Part {
    fn is_first(&self) -> bool {
        true
    }

    fn is_last(&self) -> bool {
        true
    }
}

impl Context for Ctx {
    type Address = MemberIndex;
    type Height = EngineHeight;
    type ProposalPart = Part;
    type Proposal = EngineProposal;
    type Validator = EngineMember;
    type ValidatorSet = Members;
    type Timeouts = HeightTimeouts;
    type Value = ValueId;
    type Vote = EngineVote;
    type Extension = ();
    type SigningScheme = EcSchnorr;

    fn select_proposer<'a>(&self, members: &'a Members, height: EngineHeight, round: Round) -> &'a EngineMember {
        let place = |height| proposer(members.0.len(), height, round.as_u32().unwrap_or_default());
        let place = height.council().map_or(0, place);
        members.0.get(place).expect("a network file has at least two members")
    }

    fn new_proposal(
        &self,
        height: EngineHeight,
        round: Round,
        value: ValueId,
        valid_round: Round,
        member: MemberIndex,
    ) -> EngineProposal {
        EngineProposal { height, round, value, valid_round, member }
    }

    fn new_prevote(
        &self,
        height: EngineHeight,
        round: Round,
        value: NilOrVal<ValueId>,
        member: MemberIndex,
    ) -> EngineVote {
        EngineVote { kind: VoteType::Prevote, height, round, value, member }
    }

    fn new_precommit(
        &self,
        height: EngineHeight,
        round: Round,
        value: NilOrVal<ValueId>,
        member: MemberIndex,
    ) -> EngineVote {
        EngineVote { kind: VoteType::Precommit, height, round, value, member }
    }
}
