//! EC-Schnorr over secp256k1: sign and verify (formats page, section 2).
//!
//! A signature of the message m under the key P = d·G is r ‖ s with r = SHA-256(Q ‖ P ‖ m) mod n and s = k − r·d mod n,
//! where Q = k·G for the nonce k, and points are hashed in compressed form. The verifier computes Q = s·G + r·P and
//! compares r with the hash. There is no rule of low s: each message has about n signatures under each key.

use rand_core::CryptoRng;
use silica_protocol::{PublicKey, Signature, sha256};

use crate::{
    error::{SignError, VerifyError},
    key::KeyPair,
    nonce::Nonces,
    scalar::{NoSum, Scalar, join, reduce, sum},
};

/// Signs a message with a nonce derived by RFC 6979, so that signing again gives the same signature.
///
/// # Errors
///
/// [`SignError::EmptyMessage`], as the reference node refuses empty messages.
pub fn sign(message: &[u8], key: &KeyPair) -> Result<Signature, SignError> {
    sign_with(message, key, Nonces::deterministic(key.secret(), message))
}

/// Signs a message with a nonce derived from key, message and random bytes.
///
/// # Errors
///
/// [`SignError::EmptyMessage`], as the reference node refuses empty messages.
pub fn sign_with_rng(message: &[u8], key: &KeyPair, rng: &mut impl CryptoRng) -> Result<Signature, SignError> {
    sign_with(message, key, Nonces::hedged(key.secret(), message, rng))
}

/// Signs a message with the given nonces, which must have been made for this message and key and nothing else.
///
/// # Errors
///
/// [`SignError::EmptyMessage`], as the reference node refuses empty messages.
pub fn sign_with(message: &[u8], key: &KeyPair, nonces: Nonces) -> Result<Signature, SignError> {
    sign_in(Domain::Signature, message, key, nonces)
}

/// Verifies a signature, for about the cost of one ECDSA verification and without allocating.
///
/// # Errors
///
/// [`VerifyError::EmptyMessage`], [`VerifyError::Challenge`], [`VerifyError::Response`] and [`VerifyError::Key`] say
/// which argument is not what it claims to be; [`VerifyError::Mismatch`] that the arguments do not belong together.
pub fn verify(message: &[u8], signature: &Signature, key: &PublicKey) -> Result<(), VerifyError> {
    verify_in(Domain::Signature, message, signature, key)
}

/// What a hash is for: ordinary signatures hash no prefix, the collective challenge the byte `0x11`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Domain {
    Signature,
    Collective,
}

pub(crate) fn sign_in(
    domain: Domain,
    message: &[u8],
    key: &KeyPair,
    mut nonces: Nonces,
) -> Result<Signature, SignError> {
    if message.is_empty() {
        return Err(SignError::EmptyMessage);
    }
    loop {
        if let Some(signature) = sign_with_nonce(domain, message, key, &nonces.next_nonce()) {
            return Ok(signature);
        }
    }
}

/// Signs with the nonce `k`, or returns `None` when r or s would be 0.
fn sign_with_nonce(domain: Domain, message: &[u8], key: &KeyPair, k: &Scalar) -> Option<Signature> {
    let r = Scalar::from_bytes(challenge(domain, &k.base_point(), &key.public(), message))?;
    let s = respond(k, &r, key.secret().scalar())?;
    Some(Signature::new(join(r.as_bytes(), s.as_bytes())))
}

pub(crate) fn verify_in(
    domain: Domain,
    message: &[u8],
    signature: &Signature,
    key: &PublicKey,
) -> Result<(), VerifyError> {
    if message.is_empty() {
        return Err(VerifyError::EmptyMessage);
    }
    let (r, s) = halves(signature);
    let r = Scalar::from_bytes(r).ok_or(VerifyError::Challenge)?;
    let s = Scalar::from_bytes(s).ok_or(VerifyError::Response)?;
    let commitment = sum(&s, &r, key).map_err(|reason| match reason {
        NoSum::Key => VerifyError::Key { key: *key },
        NoSum::Infinity => VerifyError::Mismatch,
    })?;
    if challenge(domain, &commitment, key, message) == *r.as_bytes() { Ok(()) } else { Err(VerifyError::Mismatch) }
}

/// Returns the hash of commitment, key and message, reduced modulo n.
pub(crate) fn challenge(domain: Domain, commitment: &PublicKey, key: &PublicKey, message: &[u8]) -> [u8; 32] {
    let prefix: &[u8] = match domain {
        Domain::Signature => &[],
        Domain::Collective => &[0x11],
    };
    reduce(sha256(&[prefix, commitment.as_bytes(), key.as_bytes(), message]))
}

/// Returns k − r·d, or `None` when it is 0. Constant time in `k` and `d`.
pub(crate) fn respond(k: &Scalar, r: &Scalar, d: &Scalar) -> Option<Scalar> {
    d.times(r).negated().plus(k)
}

fn halves(signature: &Signature) -> ([u8; 32], [u8; 32]) {
    let bytes = signature.as_bytes();
    let half = |bytes: Option<&[u8; 32]>| *bytes.expect("a signature is twice 32 bytes long");
    (half(bytes.first_chunk()), half(bytes.last_chunk()))
}
