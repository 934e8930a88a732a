//! EC-Schnorr signatures over secp256k1 (Reference: formats#schnorr-sign, formats#schnorr-verify).
//!
//! A signature of the message m with the key P = d·G is r ‖ s. Here r = SHA-256(Q ‖ P ‖ m) mod n, s = k − r·d mod n, Q
//! = k·G, and k is the nonce. Points are hashed in compressed form. The verifier computes Q = s·G + r·P, and compares r
//! with the hash. An s above half of the group order is valid too. Each nonce gives another signature, so a message has
//! about n valid signatures for each key.

use rand_core::CryptoRng;
use silica_protocol::{PublicKey, Signature, sha256};

use crate::{
    curve::{Scalar, sum},
    error::{SignError, VerifyError},
    key::KeyPair,
    nonce::Nonces,
    number::{NoSum, halves, join, reduce},
};

impl KeyPair {
    /// Signs a message with a nonce of RFC 6979. A second signature of the same message is therefore equal to the
    /// first.
    ///
    /// # Errors
    ///
    /// [`SignError::EmptyMessage`], because the reference rejects empty messages.
    pub fn sign(&self, message: &[u8]) -> Result<Signature, SignError> {
        self.sign_with(message, Nonces::deterministic(self.secret(), message))
    }

    /// Signs a message with a nonce derived from key, message and random bytes.
    ///
    /// # Errors
    ///
    /// [`SignError::EmptyMessage`], because the reference rejects empty messages.
    pub fn sign_with_rng(&self, message: &[u8], rng: &mut impl CryptoRng) -> Result<Signature, SignError> {
        self.sign_with(message, Nonces::hedged(self.secret(), message, rng))
    }

    /// Signs a message with the given nonces. The caller must have created these nonces for this message and this key
    /// only.
    ///
    /// # Errors
    ///
    /// [`SignError::EmptyMessage`], because the reference rejects empty messages.
    pub fn sign_with(&self, message: &[u8], nonces: Nonces) -> Result<Signature, SignError> {
        sign_in(Domain::Signature, message, self, nonces)
    }
}

/// Verifies a signature. Does not allocate memory.
///
/// With the feature `native`, the function takes about 4 % more time than libsecp256k1 takes for an ECDSA signature
/// (bench `schnorr`). Both times include the parsing of key and signature. The difference has three causes: the
/// inversion for the affine point, the preparation of the arguments, and one more block of SHA-256.
///
/// # Errors
///
/// [`VerifyError::EmptyMessage`], [`VerifyError::Challenge`], [`VerifyError::Response`] and [`VerifyError::Key`] name
/// the malformed argument. [`VerifyError::Mismatch`]: the signature does not match the message and the key.
pub fn verify(message: &[u8], signature: &Signature, key: &PublicKey) -> Result<(), VerifyError> {
    verify_in(Domain::Signature, message, signature, key)
}

/// The purpose of a challenge. The hash input of an ordinary signature has no prefix. The hash input of a collective
/// signature begins with the byte `0x11`.
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

/// Signs with the nonce `k`. Returns `None` if r or s would be 0.
fn sign_with_nonce(domain: Domain, message: &[u8], key: &KeyPair, k: &Scalar) -> Option<Signature> {
    let r = Scalar::from_bytes(challenge(domain, &k.base_point(), &key.public_key(), message))?;
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
    let commitment = commitment(signature, key)?;
    let (r, _) = halves(signature.as_bytes());
    if challenge(domain, &commitment, key, message) == r { Ok(()) } else { Err(VerifyError::Mismatch) }
}

/// Returns s·G + r·P. For a valid signature, this sum is the commitment of the signer.
pub(crate) fn commitment(signature: &Signature, key: &PublicKey) -> Result<PublicKey, VerifyError> {
    let (r, s) = halves(signature.as_bytes());
    let r = Scalar::from_bytes(r).ok_or(VerifyError::Challenge)?;
    let s = Scalar::from_bytes(s).ok_or(VerifyError::Response)?;
    sum(&s, &r, key).map_err(|reason| match reason {
        NoSum::Key => VerifyError::Key { key: *key },
        NoSum::Infinity => VerifyError::Mismatch,
    })
}

/// Returns the hash of commitment, key and message, reduced modulo n.
pub(crate) fn challenge(domain: Domain, commitment: &PublicKey, key: &PublicKey, message: &[u8]) -> [u8; 32] {
    let prefix: &[u8] = match domain {
        Domain::Signature => &[],
        Domain::Collective => &[0x11],
    };
    reduce(sha256(&[prefix, commitment.as_bytes(), key.as_bytes(), message]))
}

/// Returns k − r·d, or `None` if it is 0. Takes constant time in `k` and `d`.
pub(crate) fn respond(k: &Scalar, r: &Scalar, d: &Scalar) -> Option<Scalar> {
    d.times(r).negated().plus(k)
}

#[cfg(test)]
mod tests {
    use chacha20::{ChaCha8Rng, rand_core::SeedableRng as _};
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;
    use crate::{
        key::SecretKey,
        testing::{
            all_vectors, any_key_pair, any_scalar, array, bytes, compressed, key_pair, order_plus, public_key, scalar,
            signature, slow_verify, vectors,
        },
    };

    const MESSAGE: &[u8] = b"a message";

    fn signer(seed: u64) -> KeyPair {
        KeyPair::generate(&mut ChaCha8Rng::seed_from_u64(seed))
    }

    /// Verifies a signature with this module and with k256. Both must agree.
    fn check(message: &[u8], signature: &Signature, key: &PublicKey) -> Result<(), VerifyError> {
        let verdict = verify(message, signature, key);
        assert_eq!(verdict.is_ok(), slow_verify(&[], message, signature, key), "{verdict:?}");
        verdict
    }

    #[test]
    fn signs_with_given_nonces() {
        for case in vectors("schnorr", "sign_fixed_k") {
            let (key, message) = (key_pair(&case["private_key"]), bytes(&case["message"]));
            let signed = sign_with_nonce(Domain::Signature, &message, &key, &scalar(&case["k"]));
            assert_eq!(signed, Some(signature(&case["signature"])), "{}", case["name"]);
            assert_eq!(key.public_key(), public_key(&case["public_key"]));
            assert_eq!(check(&message, &signed.unwrap(), &key.public_key()), Ok(()));
        }
    }

    #[test]
    fn signs_deterministically() {
        for case in vectors("schnorr", "sign_rfc6979") {
            let (key, message) = (key_pair(&case["private_key"]), bytes(&case["message"]));
            let k = scalar(&case["k"]);
            assert_eq!(k.base_point(), public_key(&case["commitment"]));
            if case["challenge_preimage"].is_string() {
                let preimage = [k.base_point().as_bytes(), key.public_key().as_bytes(), &message[..]].concat();
                assert_eq!(preimage, bytes(&case["challenge_preimage"]));
            }
            assert_eq!(key.sign(&message), Ok(signature(&case["signature"])), "{}", case["name"]);
        }
    }

    #[test]
    fn signs_as_zilliqa_js() {
        for case in vectors("schnorr", "sign_hmac_drbg") {
            let (key, message) = (key_pair(&case["private_key"]), bytes(&case["message"]));
            let personalisation = bytes(&case["personalisation"])[..32].try_into().unwrap();
            let nonces = Nonces::zilliqa_js(&message, &array(&case["entropy"]), &personalisation);
            assert_eq!(key.sign_with(&message, nonces), Ok(signature(&case["signature"])), "{}", case["name"]);
        }
    }

    #[test]
    fn signs_with_random_numbers() {
        let key = signer(0);
        let signed = [0, 1, 1].map(|seed| key.sign_with_rng(MESSAGE, &mut ChaCha8Rng::seed_from_u64(seed)).unwrap());
        assert_ne!(signed[0], signed[1]);
        assert_eq!(signed[1], signed[2]);
        assert_ne!(Ok(signed[0]), key.sign(MESSAGE));
        assert_eq!(check(MESSAGE, &signed[0], &key.public_key()), Ok(()));
    }

    #[test]
    fn empty_messages_are_not_signed() {
        let key = signer(0);
        assert_eq!(key.sign(&[]), Err(SignError::EmptyMessage));
        assert_eq!(key.sign_with_rng(&[], &mut ChaCha8Rng::seed_from_u64(0)), Err(SignError::EmptyMessage));
        assert_eq!(key.sign_with(&[], Nonces::deterministic(key.secret(), &[])), Err(SignError::EmptyMessage));
    }

    #[test]
    fn a_response_of_zero_is_not_given() {
        let [r, d] = [[7; 32], [9; 32]].map(|bytes| Scalar::from_bytes(bytes).unwrap());
        assert_eq!(respond(&r.times(&d), &r, &d), None);
    }

    #[test]
    fn verifies_vectors() {
        for case in vectors("schnorr", "verify") {
            assert_eq!(verifies(&case), case["valid"].as_bool().unwrap(), "{}", case["name"]);
        }
    }

    /// Verifies a test vector. A signature or key with a wrong length does not verify.
    fn verifies(case: &Value) -> bool {
        let signature = Signature::try_from(&bytes(&case["signature"])[..]).ok();
        let key = PublicKey::try_from(&bytes(&case["public_key"])[..]).ok();
        let (Some(signature), Some(key)) = (signature, key) else { return false };
        check(&bytes(&case["message"]), &signature, &key).is_ok()
    }

    #[test]
    fn verifies_published_transactions() {
        let cases = all_vectors("transactions");
        assert!(cases.len() > 30);
        for case in cases {
            let request = &case["request"];
            let signed = signature(&request["signature"]);
            let verdict = check(&bytes(&case["core_info"]), &signed, &public_key(&request["pubKey"]));
            assert_eq!(verdict.is_ok(), case["signature_valid"].as_bool().unwrap(), "{}", case["name"]);
        }
    }

    #[test]
    fn errors_name_the_argument() {
        let key = signer(0);
        let signed = key.sign(MESSAGE).unwrap();
        let (r, s) = halves(signed.as_bytes());
        let check_halves = |r, s| check(MESSAGE, &Signature::new(join(&r, &s)), &key.public_key());
        assert_eq!(check_halves(r, s), Ok(()));
        assert_eq!(check(&[], &signed, &key.public_key()), Err(VerifyError::EmptyMessage));
        for out_of_range in [[0; 32], order_plus(0), order_plus(1), [0xff; 32]] {
            assert_eq!(check_halves(out_of_range, s), Err(VerifyError::Challenge));
            assert_eq!(check_halves(r, out_of_range), Err(VerifyError::Response));
        }
        for in_range in [[1; 32], order_plus(-1)] {
            assert_eq!(check_halves(in_range, s), Err(VerifyError::Mismatch));
            assert_eq!(check_halves(r, in_range), Err(VerifyError::Mismatch));
        }
        let [prefix, x @ ..] = key.public_key().to_bytes();
        for key in [PublicKey::ZERO, compressed(4, x), compressed(prefix, [0; 32]), compressed(prefix, [0xff; 32])] {
            assert_eq!(check(MESSAGE, &signed, &key), Err(VerifyError::Key { key }));
        }
        assert_eq!(check(MESSAGE, &signed, &compressed(prefix ^ 1, x)), Err(VerifyError::Mismatch));
        assert_eq!(check(MESSAGE, &signed, &signer(1).public_key()), Err(VerifyError::Mismatch));
        assert_eq!(check(b"another message", &signed, &key.public_key()), Err(VerifyError::Mismatch));
    }

    #[test]
    fn a_sum_at_infinity_is_a_mismatch() {
        let key = signer(0);
        let r = Scalar::from_bytes([5; 32]).unwrap();
        let s = r.times(key.secret().scalar()).negated();
        let forged = Signature::new(join(r.as_bytes(), s.as_bytes()));
        assert_eq!(check(MESSAGE, &forged, &key.public_key()), Err(VerifyError::Mismatch));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn signatures_verify(d in any_scalar(), message in prop::collection::vec(any::<u8>(), 1..300)) {
            let key = KeyPair::from(SecretKey::from_bytes(d).unwrap());
            let signed = key.sign(&message).unwrap();
            prop_assert_eq!(check(&message, &signed, &key.public_key()), Ok(()));
            prop_assert_eq!(key.sign(&message), Ok(signed));
        }

        #[test]
        fn arbitrary_bytes_do_not_verify(
            r: [u8; 32],
            s: [u8; 32],
            x: [u8; 32],
            prefix in 0_u8..6,
            message in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let signed = Signature::new(join(&r, &s));
            prop_assert!(check(&message, &signed, &compressed(prefix, x)).is_err());
        }

        #[test]
        fn no_flipped_bit_goes_unnoticed(key in any_key_pair(), place in 0_usize..97 + 9, bit in 0_u8..8) {
            let mut message = MESSAGE.to_vec();
            let mut signed = key.sign(&message).unwrap().to_bytes();
            let mut public = key.public_key().to_bytes();
            match place {
                0..64 => signed[place] ^= 1 << bit,
                64..97 => public[place - 64] ^= 1 << bit,
                _ => message[place - 97] ^= 1 << bit,
            }
            prop_assert!(check(&message, &Signature::new(signed), &PublicKey::new(public)).is_err());
        }
    }
}
