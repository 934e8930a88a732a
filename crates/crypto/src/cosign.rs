//! The two-round co-signature of blocks (formats page, section 2.6).
//!
//! The committee signs the serialised header, and then the header with that first signature and the bitmap of its
//! signers. Position i of a bitmap is member i of the committee, in the order of its list.

use silica_protocol::{CoSignatures, PublicKey, Signature};

use crate::{
    error::{CoSignatureError, SignError},
    key::KeyPair,
    multisig::{self, aggregate_keys},
    nonce::Nonces,
    schnorr::{Domain, sign_in},
};

/// Returns the number of signers that a committee of `members` needs, neither more nor less: 0.667 of it, rounded up.
///
/// The reference (`src/libConsensus/ConsensusCommon.cpp`) multiplies doubles; its result is the same for every
/// committee below 49,000 members.
pub const fn quorum(members: usize) -> usize {
    (members * 667).div_ceil(1000)
}

/// Returns what the committee signs in the second round, or `None` when the bitmap has more than 65,535 bits, for the
/// number of which there are two bytes.
pub fn second_round_message(header: &[u8], cs1: &Signature, b1: &[bool]) -> Option<Vec<u8>> {
    let count = u16::try_from(b1.len()).ok()?;
    let mut message = Vec::with_capacity(header.len() + Signature::LEN + 2 + b1.len().div_ceil(8));
    message.extend_from_slice(header);
    message.extend_from_slice(cs1.as_bytes());
    message.extend_from_slice(&count.to_be_bytes());
    message.extend(b1.chunks(8).map(pack));
    Some(message)
}

/// Packs up to eight bits, the first as the most significant.
fn pack(bits: &[bool]) -> u8 {
    bits.iter().zip((0..8).rev()).fold(0, |byte, (bit, shift)| byte | (u8::from(*bit) << shift))
}

/// Co-signs a header as the only member of its committee.
///
/// # Errors
///
/// [`SignError::EmptyMessage`] when the header has no bytes.
pub fn cosign_alone(header: &[u8], key: &KeyPair) -> Result<CoSignatures, SignError> {
    let sign = |message: &[u8]| sign_in(Domain::Collective, message, key, Nonces::collective(key.secret(), message));
    let b1 = vec![true];
    let cs1 = sign(header)?;
    let message = second_round_message(header, &cs1, &b1).expect("one bit is countable");
    Ok(CoSignatures { cs1, b1, cs2: sign(&message)?, b2: vec![true] })
}

/// Verifies that a committee signed a block: the second round, which covers header, first signature and first bitmap.
///
/// The first signature is not verified on its own, because newer reference nodes make it over a provisional header.
///
/// # Errors
///
/// [`CoSignatureError`] says which bitmap or signature is wrong, and how.
pub fn verify(cosignatures: &CoSignatures, header: &[u8], committee: &[PublicKey]) -> Result<(), CoSignatureError> {
    let CoSignatures { cs1, b1, cs2, b2 } = cosignatures;
    let message = second_round_message(header, cs1, b1).ok_or(CoSignatureError::BitmapLength {
        round: 1,
        expected: committee.len(),
        got: b1.len(),
    })?;
    verify_round(2, &message, cs2, b2, committee)
}

/// Verifies the first round, where it was made over the final header.
///
/// # Errors
///
/// [`CoSignatureError`] says whether bitmap or signature is wrong, and how.
pub fn verify_first_round(
    cosignatures: &CoSignatures,
    header: &[u8],
    committee: &[PublicKey],
) -> Result<(), CoSignatureError> {
    verify_round(1, header, &cosignatures.cs1, &cosignatures.b1, committee)
}

fn verify_round(
    round: u8,
    message: &[u8],
    signature: &Signature,
    bitmap: &[bool],
    committee: &[PublicKey],
) -> Result<(), CoSignatureError> {
    if bitmap.len() != committee.len() {
        return Err(CoSignatureError::BitmapLength { round, expected: committee.len(), got: bitmap.len() });
    }
    let signers: Vec<_> = committee.iter().zip(bitmap).filter(|(_, signed)| **signed).map(|(key, _)| *key).collect();
    let expected = quorum(committee.len());
    if signers.len() != expected {
        return Err(CoSignatureError::Quorum { round, expected, got: signers.len() });
    }
    let key = aggregate_keys(&signers).map_err(|source| CoSignatureError::Aggregate { round, source })?;
    multisig::verify(message, signature, &key).map_err(|source| CoSignatureError::Signature { round, source })
}
