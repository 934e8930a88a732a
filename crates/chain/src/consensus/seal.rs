//! Sealing: the collective signatures under the DS block, the micro blocks and the Tx block of a Tx epoch.

use silica_crypto::{KeyPair, SignError, cosign};
use silica_protocol::{CoSignatures, PublicKey};

use crate::{
    error::SealError,
    stage::{ExecutedBlock, Proposal, SealedBlock},
};

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

/// Takes the signatures of `proposal`, of which `block` was executed, after verifying that `committee` made them all.
///
/// The committee stands for the DS committee and for every shard, which have the same single member.
///
/// # Errors
///
/// [`SealError::Signature`] names the block that is not signed as it should be, [`SealError::Mismatch`] says that the
/// proposal is of another block.
pub fn seal_with(
    mut block: ExecutedBlock,
    proposal: &Proposal,
    committee: &[PublicKey],
) -> Result<SealedBlock, SealError> {
    let verify = |name: &'static str, header: &[u8], cosignatures: &CoSignatures| {
        cosign::verify_first_round(cosignatures, header, committee)
            .and_then(|()| cosign::verify(cosignatures, header, committee))
            .map(|()| cosignatures.clone())
            .map_err(|source| SealError::Signature { block: name, source })
    };
    let blocks = &mut block.blocks;
    if blocks.micro.len() != proposal.micro_blocks.len() {
        return Err(SealError::Mismatch);
    }
    match (&mut blocks.ds, &proposal.ds_block) {
        (Some(ours), Some(theirs)) if ours.header == theirs.header => {
            ours.cosignatures = verify("DS block", &ours.header.encode(), &theirs.cosignatures)?;
        }
        (None, None) => {}
        (Some(_), _) | (None, Some(_)) => return Err(SealError::Mismatch),
    }
    for (ours, theirs) in blocks.micro.iter_mut().zip(&proposal.micro_blocks) {
        if ours.header != theirs.header {
            return Err(SealError::Mismatch);
        }
        ours.cosignatures = verify("micro block", &ours.header.encode(), &theirs.cosignatures)?;
    }
    if blocks.tx.header != proposal.tx_block.header {
        return Err(SealError::Mismatch);
    }
    let header = blocks.tx.header.encode();
    blocks.tx.cosignatures = verify("Tx block", &header, &proposal.tx_block.cosignatures)?;
    Ok(SealedBlock { block })
}
