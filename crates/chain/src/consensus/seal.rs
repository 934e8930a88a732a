//! Sealing: the collective signatures under the DS block, the micro blocks and the Tx block of a Tx epoch.

use std::sync::Arc;

use silica_crypto::{CoSignatureError, KeyPair, SignError, cosign};
use silica_protocol::{CoSignatures, PublicKey};
use silica_state::BlockSigner;

use crate::stage::{ExecutedBlock, Proposal, SealedBlock};

/// Signs a block as the only member of all its committees.
///
/// # Errors
///
/// [`SealError::Sign`] for an empty header, which no block has.
pub fn seal_alone(mut block: ExecutedBlock, key: &KeyPair) -> Result<SealedBlock, SealError> {
    let sign = |header: &[u8]| -> Result<CoSignatures, SignError> { cosign::cosign_alone(header, key) };
    if let Some(ds_block) = &mut block.blocks.ds {
        ds_block.cosignatures = sign(&ds_block.header.encode())?;
    }
    for micro_block in &mut block.blocks.micro {
        micro_block.cosignatures = sign(&micro_block.header.encode())?;
    }
    let tx_block = &mut block.blocks.tx;
    tx_block.cosignatures = sign(&tx_block.header.encode())?;
    Ok(SealedBlock { block })
}

/// Returns the signer of the blocks in empty block ranges, for [`Store::set_signer`](silica_state::Store::set_signer).
/// It signs for the only member of all committees.
pub fn range_signer(key: &KeyPair) -> Arc<dyn BlockSigner> {
    Arc::new(Alone(key.clone()))
}

/// The only member of all committees.
#[derive(Debug)]
struct Alone(KeyPair);

impl BlockSigner for Alone {
    fn public(&self) -> PublicKey {
        self.0.public()
    }

    fn seal(&self, header: &[u8]) -> Option<CoSignatures> {
        cosign::cosign_alone(header, &self.0).ok()
    }
}

/// Takes the signatures of `proposal`, of which `block` was executed, after verifying that `committee` made them all.
///
/// The committee is the DS committee and each shard: all of them have the same single member.
///
/// # Errors
///
/// [`SealError::Signature`] names a block with a wrong signature. [`SealError::Mismatch`] means that the proposal
/// belongs to another block.
pub fn seal_with(block: ExecutedBlock, proposal: &Proposal, committee: &[PublicKey]) -> Result<SealedBlock, SealError> {
    check_same(&block, proposal)?;
    seal_as(block, Signed::verify(proposal, committee)?)
}

/// A proposal with valid signatures of its committee on all blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signed<'a>(&'a Proposal);

impl<'a> Signed<'a> {
    /// Verifies that `committee`, the only one, made all signatures of `proposal`.
    ///
    /// # Errors
    ///
    /// [`SealError::Signature`] names the first block that is not signed as it should be.
    pub(crate) fn verify(proposal: &'a Proposal, committee: &[PublicKey]) -> Result<Self, SealError> {
        let verify = |name: &'static str, header: &[u8], cosignatures: &CoSignatures| {
            cosign::verify_first_round(cosignatures, header, committee)
                .and_then(|()| cosign::verify(cosignatures, header, committee))
                .map_err(|source| SealError::Signature { block: name, source })
        };
        let Proposal { tx_block, micro_blocks, ds_block, transactions: _, edits: _, repeats_number: _ } = proposal;
        if let Some(ds_block) = ds_block {
            verify("DS block", &ds_block.header.encode(), &ds_block.cosignatures)?;
        }
        for micro_block in micro_blocks {
            verify("micro block", &micro_block.header.encode(), &micro_block.cosignatures)?;
        }
        verify("Tx block", &tx_block.header.encode(), &tx_block.cosignatures)?;
        Ok(Self(proposal))
    }
}

/// Takes the signatures of a proposal, of which `block` was executed.
///
/// # Errors
///
/// [`SealError::Mismatch`]: the proposal is of another block.
pub(crate) fn seal_as(mut block: ExecutedBlock, signed: Signed<'_>) -> Result<SealedBlock, SealError> {
    let Signed(proposal) = signed;
    check_same(&block, proposal)?;
    let blocks = &mut block.blocks;
    if let (Some(ours), Some(theirs)) = (&mut blocks.ds, &proposal.ds_block) {
        ours.cosignatures = theirs.cosignatures.clone();
    }
    for (ours, theirs) in blocks.micro.iter_mut().zip(&proposal.micro_blocks) {
        ours.cosignatures = theirs.cosignatures.clone();
    }
    blocks.tx.cosignatures = proposal.tx_block.cosignatures.clone();
    Ok(SealedBlock { block })
}

/// Checks that a proposal has the headers of a block.
fn check_same(block: &ExecutedBlock, proposal: &Proposal) -> Result<(), SealError> {
    let ours = &block.blocks;
    let micro_blocks = ours.micro.iter().map(|block| &block.header);
    let same = ours.ds.as_ref().map(|block| &block.header) == proposal.ds_block.as_ref().map(|block| &block.header)
        && micro_blocks.eq(proposal.micro_blocks.iter().map(|block| &block.header))
        && ours.tx.header == proposal.tx_block.header;
    if same { Ok(()) } else { Err(SealError::Mismatch) }
}

/// Reason why a block was not sealed.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    /// A header could not be signed.
    #[error("signing a header")]
    Sign(#[from] SignError),
    /// A block is not signed by its committee.
    #[error("signatures of the {block}")]
    Signature {
        /// Which block.
        block: &'static str,
        /// The fault of the signatures.
        source: CoSignatureError,
    },
    /// The signatures are those of another block.
    #[error("signatures are of another block")]
    Mismatch,
}
