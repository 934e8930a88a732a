//! Sealing: the co-signatures of the DS block, the micro blocks and the Tx block of a Tx epoch.

use std::sync::Arc;

use silica_crypto::{CoSignatureError, KeyPair, SignError, cosign};
use silica_protocol::{CoSignatures, PublicKey};
use silica_state::BlockSigner;

use crate::{
    committee::{Committee, Committees},
    stage::{ExecutedBlock, Proposal, SealedBlock},
};

/// Signs a block as the only member of all its committees.
///
/// # Errors
///
/// [`SealError::Members`]: the committee has several members. [`SealError::Sign`]: a header is empty. No block has an
/// empty header.
pub fn seal_alone(mut block: ExecutedBlock, key: &KeyPair) -> Result<SealedBlock, SealError> {
    let members = block.blocks.tx.cosignatures.b1.len();
    if members != 1 {
        return Err(SealError::Members { got: members });
    }
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

/// Returns a signer for the blocks of empty block ranges. The signer signs as the only member of all committees.
/// [`Store::set_signer`](silica_state::Store::set_signer) takes the signer.
pub fn range_signer(key: &KeyPair) -> Arc<dyn BlockSigner> {
    Arc::new(Alone(key.clone()))
}

/// The only member of all committees.
#[derive(Debug)]
struct Alone(KeyPair);

impl BlockSigner for Alone {
    fn public_key(&self) -> PublicKey {
        self.0.public_key()
    }

    fn seal(&self, header: &[u8]) -> Option<CoSignatures> {
        cosign::cosign_alone(header, &self.0).ok()
    }
}

/// Verifies the signatures of `proposal`, and copies them to `block`, which is the result of its execution.
///
/// # Errors
///
/// [`SealError::Signature`] names the block with an invalid signature. [`SealError::Mismatch`]: the headers of
/// `proposal` and `block` differ.
pub fn seal_with(block: ExecutedBlock, proposal: &Proposal, committees: &Committees) -> Result<SealedBlock, SealError> {
    check_same(&block, proposal)?;
    seal_as(block, Signed::verify(proposal, committees)?)
}

/// A proposal whose committee signed all its blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signed<'a>(&'a Proposal);

impl<'a> Signed<'a> {
    /// Verifies that the committees made all signatures of `proposal`.
    ///
    /// # Errors
    ///
    /// [`SealError::Signature`] names the first block with an invalid signature.
    pub(crate) fn verify(proposal: &'a Proposal, committees: &Committees) -> Result<Self, SealError> {
        let verify = |name: &'static str, header: &[u8], cosignatures: &CoSignatures, committee: &Committee| {
            let keys = committee.keys();
            cosign::verify_first_round(cosignatures, header, keys)
                .and_then(|()| cosign::verify(cosignatures, header, keys))
                .map_err(|source| SealError::Signature { block: name, source })
        };
        let Proposal { tx_block, micro_blocks, ds_block, transactions: _, edits: _, repeats_number: _ } = proposal;
        if let Some(ds_block) = ds_block {
            let signers = committees.signers_of(ds_block.header.number);
            verify("DS block", &ds_block.header.encode(), &ds_block.cosignatures, signers)?;
        }
        let committee = committees.of(tx_block.header.ds_block);
        for micro_block in micro_blocks {
            verify("micro block", &micro_block.header.encode(), &micro_block.cosignatures, committee)?;
        }
        verify("Tx block", &tx_block.header.encode(), &tx_block.cosignatures, committee)?;
        Ok(Self(proposal))
    }
}

/// Copies the signatures of a proposal to `block`, which is the result of its execution.
///
/// # Errors
///
/// [`SealError::Mismatch`]: the headers of the proposal and of `block` differ.
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

/// Checks that a proposal and a block have equal headers.
fn check_same(block: &ExecutedBlock, proposal: &Proposal) -> Result<(), SealError> {
    let ours = &block.blocks;
    let micro_blocks = ours.micro.iter().map(|block| &block.header);
    let same = ours.ds.as_ref().map(|block| &block.header) == proposal.ds_block.as_ref().map(|block| &block.header)
        && micro_blocks.eq(proposal.micro_blocks.iter().map(|block| &block.header))
        && ours.tx.header == proposal.tx_block.header;
    if same { Ok(()) } else { Err(SealError::Mismatch) }
}

/// Reason why a block could not be sealed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// One member cannot sign the blocks of a committee with several members.
    #[error("members of the committee: expected 1 for a block that one member signs, got {got}")]
    Members {
        /// Number of members.
        got: usize,
    },
    /// A header could not be signed.
    #[error("failed to sign a header")]
    Sign(#[from] SignError),
    /// A signature of a block is invalid.
    #[error("invalid signatures of the {block}")]
    Signature {
        /// Kind of the block.
        block: &'static str,
        /// The error of the verification.
        source: CoSignatureError,
    },
    /// The headers of the signed proposal and of the executed block differ.
    #[error("the signatures belong to another block")]
    Mismatch,
}
