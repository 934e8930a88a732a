//! Signatures of votes and proposals. The crate `council` defines the signed bytes.

use arc_malachitebft_app::types::core::{NilOrVal, SignedMessage, ValidatorProof, VoteExtensionScope, VoteType};
use arc_malachitebft_signing::{Error, Signer, VerificationResult, Verifier};
use async_trait::async_trait;
use silica_council::{EntryProposal, NetworkId, Vote, VoteKind};
use silica_crypto::{KeyPair, verify};
use silica_protocol::PublicKey;

use crate::{
    context::Ctx,
    types::{EngineProposal, EngineSignature, EngineVote},
};

/// Converts a vote of the engine to the form that the crate `council` signs. Returns `None` if the vote has height 0,
/// or has no round.
fn council_vote(vote: &EngineVote) -> Option<Vote> {
    let kind = match vote.kind {
        VoteType::Prevote => VoteKind::Prevote,
        VoteType::Precommit => VoteKind::Precommit,
    };
    let value = match vote.value {
        NilOrVal::Nil => None,
        NilOrVal::Val(id) => Some(id.into()),
    };
    Some(Vote { kind, height: vote.height.council()?, round: vote.round.as_u32()?, value })
}

/// Converts a proposal of the engine to the form that the crate `council` signs. Returns `None` if the proposal has
/// height 0, or has no round.
fn council_proposal(proposal: &EngineProposal) -> Option<EntryProposal> {
    Some(EntryProposal {
        height: proposal.height.council()?,
        round: proposal.round.as_u32()?,
        value: proposal.value.into(),
        valid_round: proposal.valid_round.as_u32(),
    })
}

/// Verifies the votes and proposals of a network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VoteVerifier {
    pub(crate) network: NetworkId,
}

/// Signs the votes and proposals of a member.
#[derive(Clone, Debug)]
pub(crate) struct VoteSigner {
    pub(crate) network: NetworkId,
    pub(crate) key: KeyPair,
}

#[async_trait]
impl Verifier<Ctx> for VoteVerifier {
    async fn verify_signed_vote(
        &self,
        vote: &EngineVote,
        signature: &EngineSignature,
        key: &PublicKey,
    ) -> Result<VerificationResult, Error> {
        let valid = council_vote(vote).is_some_and(|vote| vote.verify(&self.network, &signature.into(), key).is_ok());
        Ok(VerificationResult::from_bool(valid))
    }

    async fn verify_signed_proposal(
        &self,
        proposal: &EngineProposal,
        signature: &EngineSignature,
        key: &PublicKey,
    ) -> Result<VerificationResult, Error> {
        let proposal = council_proposal(proposal);
        let valid = proposal.is_some_and(|it| it.verify(&self.network, &signature.into(), key).is_ok());
        Ok(VerificationResult::from_bool(valid))
    }

    // No vote of this network has an extension.
    async fn verify_signed_vote_extension(
        &self,
        _: &VoteExtensionScope<Ctx>,
        (): &(),
        _: &EngineSignature,
        _: &PublicKey,
    ) -> Result<VerificationResult, Error> {
        Ok(VerificationResult::Invalid)
    }

    async fn verify_validator_proof(&self, proof: &ValidatorProof<Ctx>) -> Result<VerificationResult, Error> {
        let valid = proof
            .decoded_public_key()
            .is_ok_and(|key| verify(&proof.preimage(), &(&proof.signature).into(), &key).is_ok());
        Ok(VerificationResult::from_bool(valid))
    }
}

#[async_trait]
impl Signer<Ctx> for VoteSigner {
    async fn sign_vote(&self, vote: EngineVote) -> Result<SignedMessage<Ctx, EngineVote>, Error> {
        let signed = council_vote(&vote).ok_or_else(Error::new)?.sign(&self.network, &self.key);
        Ok(SignedMessage::new(vote, signed.into()))
    }

    async fn sign_proposal(&self, proposal: EngineProposal) -> Result<SignedMessage<Ctx, EngineProposal>, Error> {
        let signed = council_proposal(&proposal).ok_or_else(Error::new)?.sign(&self.network, &self.key);
        Ok(SignedMessage::new(proposal, signed.into()))
    }

    async fn sign_vote_extension(&self, _: VoteExtensionScope<Ctx>, (): ()) -> Result<SignedMessage<Ctx, ()>, Error> {
        Err(Error::new())
    }

    async fn sign_validator_proof(&self, key: Vec<u8>, peer: Vec<u8>) -> Result<ValidatorProof<Ctx>, Error> {
        let signature = self.key.sign(&ValidatorProof::<Ctx>::signing_bytes(&key, &peer));
        let signature = signature.map_err(|error| Error::from_source(Box::new(error)))?;
        Ok(ValidatorProof::new(key, peer, signature.into()))
    }
}
