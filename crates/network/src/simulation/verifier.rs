//! The verifier of all members. Each vote and proposal is verified once, and not once by each member and in each
//! certificate.

use std::{collections::BTreeMap, sync::Arc};

use arc_malachitebft_app::types::core::{ValidatorProof, VoteExtensionScope};
use arc_malachitebft_signing::{Error, VerificationResult, Verifier};
use async_trait::async_trait;
use parking_lot::Mutex;
use silica_protocol::PublicKey;

use crate::{
    context::Ctx,
    signer::VoteVerifier,
    types::{EngineProposal, EngineSignature, EngineVote},
};

/// Largest number of known results.
const MOST: usize = 10_000;

/// A signed message: its bytes, its signature and the key.
type Signed = (Vec<u8>, EngineSignature, PublicKey);

/// A verifier that calls [`VoteVerifier`] once for the same message, signature and key.
#[derive(Clone)]
pub(super) struct SharedVerifier {
    verifier: VoteVerifier,
    known: Arc<Mutex<BTreeMap<Signed, bool>>>,
}

impl SharedVerifier {
    pub(super) fn new(verifier: VoteVerifier) -> Self {
        Self { verifier, known: Arc::default() }
    }

    async fn verify(
        &self,
        signed: Signed,
        verified: impl Future<Output = Result<VerificationResult, Error>>,
    ) -> Result<VerificationResult, Error> {
        let known = self.known.lock().get(&signed).copied();
        let is_valid = if let Some(is_valid) = known { is_valid } else { verified.await?.is_valid() };
        let mut known = self.known.lock();
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(signed, is_valid);
        Ok(VerificationResult::from_bool(is_valid))
    }
}

#[async_trait]
impl Verifier<Ctx> for SharedVerifier {
    async fn verify_signed_vote(
        &self,
        vote: &EngineVote,
        signature: &EngineSignature,
        key: &PublicKey,
    ) -> Result<VerificationResult, Error> {
        let signed = (borsh::to_vec(&(0_u8, vote)).unwrap(), signature.clone(), *key);
        self.verify(signed, self.verifier.verify_signed_vote(vote, signature, key)).await
    }

    async fn verify_signed_proposal(
        &self,
        proposal: &EngineProposal,
        signature: &EngineSignature,
        key: &PublicKey,
    ) -> Result<VerificationResult, Error> {
        let signed = (borsh::to_vec(&(1_u8, proposal)).unwrap(), signature.clone(), *key);
        self.verify(signed, self.verifier.verify_signed_proposal(proposal, signature, key)).await
    }

    async fn verify_signed_vote_extension(
        &self,
        scope: &VoteExtensionScope<Ctx>,
        extension: &(),
        signature: &EngineSignature,
        key: &PublicKey,
    ) -> Result<VerificationResult, Error> {
        self.verifier.verify_signed_vote_extension(scope, extension, signature, key).await
    }

    async fn verify_validator_proof(&self, proof: &ValidatorProof<Ctx>) -> Result<VerificationResult, Error> {
        self.verifier.verify_validator_proof(proof).await
    }
}
