//! The votes that this member must not send: votes after a failure, and votes at heights at which it can have voted
//! before the loss of its files.
//!
//! The engine counts a vote of its own before it sends the vote, and stops if the vote has no signature. So a vote that
//! this member must not send gets an invalid signature. The engine then neither counts nor logs the vote, and [`Gate`]
//! drops the vote.

use std::sync::Arc;

use arc_malachitebft_app::{
    consensus::{LivenessMsg, SignedConsensusMsg},
    engine::network::{NetworkMsg, NetworkRef},
    types::core::{SignedMessage, ValidatorProof, VoteExtensionScope},
};
use arc_malachitebft_signing::{Error, Signer};
use async_trait::async_trait;
use ractor::{Actor, ActorProcessingErr, ActorRef};

use crate::{
    context::Ctx,
    shared::Shared,
    signer::VoteSigner,
    types::{EngineProposal, EngineSignature, EngineVote},
};

/// The signature of a vote or proposal that this member must not send. It is valid for no key.
const NONE: EngineSignature = EngineSignature([0; 64]);

/// The signer of the engine.
#[derive(Debug)]
pub(crate) struct Ballot {
    pub(crate) shared: Arc<Shared>,
    pub(crate) signer: VoteSigner,
}

#[async_trait]
impl Signer<Ctx> for Ballot {
    async fn sign_vote(&self, vote: EngineVote) -> Result<SignedMessage<Ctx, EngineVote>, Error> {
        if !self.shared.votes() {
            return Ok(SignedMessage::new(vote, NONE));
        }
        self.shared.own.lock().add(&vote);
        self.signer.sign_vote(vote).await
    }

    async fn sign_proposal(&self, proposal: EngineProposal) -> Result<SignedMessage<Ctx, EngineProposal>, Error> {
        if self.shared.votes() {
            self.signer.sign_proposal(proposal).await
        } else {
            Ok(SignedMessage::new(proposal, NONE))
        }
    }

    async fn sign_vote_extension(
        &self,
        scope: VoteExtensionScope<Ctx>,
        (): (),
    ) -> Result<SignedMessage<Ctx, ()>, Error> {
        self.signer.sign_vote_extension(scope, ()).await
    }

    async fn sign_validator_proof(&self, key: Vec<u8>, peer: Vec<u8>) -> Result<ValidatorProof<Ctx>, Error> {
        self.signer.sign_validator_proof(key, peer).await
    }
}

/// The actor between the engine and its network.
#[derive(Debug)]
pub(crate) struct Gate {
    pub(crate) network: NetworkRef<Ctx>,
}

#[async_trait]
impl Actor for Gate {
    type Msg = NetworkMsg<Ctx>;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<Self::Msg>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle(&self, _: ActorRef<Self::Msg>, message: Self::Msg, (): &mut ()) -> Result<(), ActorProcessingErr> {
        if !is_unsigned(&message) {
            self.network.cast(message)?;
        }
        Ok(())
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "all other messages have no own signature")]
fn is_unsigned(message: &NetworkMsg<Ctx>) -> bool {
    let signature = match message {
        NetworkMsg::PublishConsensusMsg(SignedConsensusMsg::Vote(vote)) => &vote.signature,
        NetworkMsg::PublishConsensusMsg(SignedConsensusMsg::Proposal(proposal)) => &proposal.signature,
        NetworkMsg::PublishLivenessMsg(LivenessMsg::Vote(vote)) => &vote.signature,
        _ => return false,
    };
    *signature == NONE
}

#[cfg(test)]
mod tests {
    use arc_malachitebft_app::types::core::{NilOrVal, Round, VoteType};
    use arc_malachitebft_signing::Verifier as _;
    use silica_council::NetworkId;
    use silica_crypto::KeyPair;

    use super::*;
    use crate::{
        signer::VoteVerifier,
        simulation::ready,
        types::{EngineHeight, MemberIndex, ValueId},
    };

    #[test]
    fn vote_without_a_signature_is_invalid_and_stays_here() {
        let network = NetworkId::new([7; 32]);
        let key = KeyPair::from_hex(&"01".repeat(32)).unwrap();
        let vote = EngineVote {
            kind: VoteType::Prevote,
            height: EngineHeight(1),
            round: Round::new(0),
            value: NilOrVal::Val(ValueId([1; 32])),
            member: MemberIndex(0),
        };
        let signer = VoteSigner { network, key: key.clone() };
        let signed = ready(signer.sign_vote(vote.clone())).unwrap();
        for (signed, is_valid) in [(signed, true), (SignedMessage::new(vote, NONE), false)] {
            let verifier = VoteVerifier { network };
            let result = ready(verifier.verify_signed_vote(&signed.message, &signed.signature, &key.public_key()));
            assert_eq!(result.unwrap().is_valid(), is_valid);
            let messages = [
                NetworkMsg::PublishConsensusMsg(SignedConsensusMsg::Vote(signed.clone())),
                NetworkMsg::PublishLivenessMsg(LivenessMsg::Vote(signed)),
            ];
            assert!(messages.iter().all(|message| is_unsigned(message) != is_valid));
        }
    }
}
