//! Derivation of nonces, the secret numbers of signatures.
//!
//! A signature does not contain its nonce, so each signer can choose the derivation. Two different signatures with the
//! same key must never have the same nonce, because they would reveal the key. All derivations use the generator
//! HMAC-DRBG of NIST SP 800-90A with HMAC-SHA-256, with different seeds. RFC 6979 is the same generator: its steps b to
//! g create the generator, and its step h gets numbers from it.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use rand_core::CryptoRng;
use sha2::Sha256;
use silica_protocol::sha256;
use zeroize::Zeroizing;

use crate::{curve::Scalar, key::SecretKey, number::reduce};

/// The text that zilliqa-js appends to its personalization string (`packages/zilliqa-js-crypto/src/schnorr.ts`).
const ZILLIQA_JS_ALGORITHM: &[u8; 16] = b"Schnorr+SHA256  ";

/// Part of the seed for a collective signature by a single signer. It makes the nonces differ from the nonces of
/// ordinary signatures. The text and the random bytes of [`Nonces::hedged`] have different lengths. Therefore the seeds
/// differ for all random bytes.
const COLLECTIVE: &[u8] = b"multisignature by a committee of one";

/// Part of the seed for the nonce of one signer among several. The seed also has 32 random bytes, so it differs from
/// the seeds of [`Nonces::hedged`] and of a committee of one for all random bytes.
const COMMIT: &[u8] = b"multisignature by several signers";

/// A sequence of nonces for one signature. The first nonce almost always gives a valid signature. Otherwise, the signer
/// tries the next nonce.
#[derive(Debug)]
pub struct Nonces(HmacDrbg);

impl Nonces {
    /// Derives nonces from the key and the SHA-256 of the message by RFC 6979. A second signature of the same message
    /// is therefore equal to the first.
    pub fn deterministic(key: &SecretKey, message: &[u8]) -> Self {
        Self::rfc6979(key, message, &[])
    }

    /// Derives nonces like [`deterministic`](Self::deterministic), with 32 random bytes as the additional data of RFC
    /// 6979, section 3.6. If the random number generator is broken, the nonces are as secure as deterministic nonces.
    pub fn hedged(key: &SecretKey, message: &[u8], rng: &mut impl CryptoRng) -> Self {
        let mut additional = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *additional);
        Self::rfc6979(key, message, &*additional)
    }

    /// Derives nonces in the same way as zilliqa-js: from the message and 64 random bytes, without the key.
    ///
    /// Only the random bytes protect the key. They must be unpredictable, and must never be used twice.
    pub fn zilliqa_js(message: &[u8], entropy: &[u8; 32], personalisation: &[u8; 32]) -> Self {
        Self(HmacDrbg::new(&[entropy, message, personalisation, ZILLIQA_JS_ALGORITHM]))
    }

    /// Derives the nonces of a collective signature with a single signer. This signer makes its challenge itself, so
    /// the nonces can be deterministic. An ordinary signature of the same message has a different challenge. If the two
    /// signatures had the same nonce, they would reveal the key. Therefore collective signatures have a separate seed.
    pub(crate) fn collective(key: &SecretKey, message: &[u8]) -> Self {
        Self::rfc6979(key, message, COLLECTIVE)
    }

    /// Derives a nonce of one signer among several from the key, the context of the signature, and 32 random bytes. If
    /// the random number generator is broken, nonces of different contexts still differ.
    pub(crate) fn commit(key: &SecretKey, context: &[u8], rng: &mut impl CryptoRng) -> Self {
        let mut random = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *random);
        let context = sha256(&[context]);
        Self(HmacDrbg::new(&[key.scalar().as_bytes(), &context, &*random, COMMIT]))
    }

    fn rfc6979(key: &SecretKey, message: &[u8], additional: &[u8]) -> Self {
        Self(HmacDrbg::new(&[key.scalar().as_bytes(), &reduce(sha256(&[message])), additional]))
    }

    pub(crate) fn next_nonce(&mut self) -> Scalar {
        loop {
            if let Some(nonce) = Scalar::from_bytes(*self.0.generate()) {
                return nonce;
            }
        }
    }
}

/// The generator. Each request returns 32 bytes. Key and value are erased on drop.
struct HmacDrbg {
    key: Hmac<Sha256>,
    value: Zeroizing<[u8; 32]>,
    /// Whether the generator still has to update key and value after the last request.
    answered: bool,
}

impl HmacDrbg {
    fn new(seed: &[&[u8]]) -> Self {
        let mut drbg = Self { key: keyed(&[0; 32]), value: Zeroizing::new([1; 32]), answered: false };
        drbg.update(0, seed);
        drbg.update(1, seed);
        drbg
    }

    /// Returns the next 32 bytes. The generator delays the update after a request until the next request, because most
    /// signatures need only one request.
    fn generate(&mut self) -> &[u8; 32] {
        if self.answered {
            self.update(0, &[]);
        }
        self.answered = true;
        self.value = self.next_value();
        &self.value
    }

    fn update(&mut self, round: u8, data: &[&[u8]]) {
        let mut mac = self.key.clone();
        mac.update(&*self.value);
        mac.update(&[round]);
        for part in data {
            mac.update(part);
        }
        let key: Zeroizing<[u8; 32]> = Zeroizing::new(mac.finalize().into_bytes().into());
        self.key = keyed(&key);
        self.value = self.next_value();
    }

    fn next_value(&self) -> Zeroizing<[u8; 32]> {
        let mut mac = self.key.clone();
        mac.update(&*self.value);
        Zeroizing::new(mac.finalize().into_bytes().into())
    }
}

impl fmt::Debug for HmacDrbg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HmacDrbg(..)")
    }
}

fn keyed(key: &[u8; 32]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("HMAC takes keys of any length")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{array, bytes, key_pair, scalar, vectors};
    use chacha20::{ChaCha8Rng, rand_core::SeedableRng as _};

    fn first(mut nonces: Nonces) -> Scalar {
        nonces.next_nonce()
    }

    #[test]
    fn deterministic_nonces_are_those_of_rfc_6979() {
        for case in vectors("schnorr", "sign_rfc6979") {
            let nonces = Nonces::deterministic(key_pair(&case["private_key"]).secret(), &bytes(&case["message"]));
            assert_eq!(first(nonces), scalar(&case["k"]), "{}", case["name"]);
        }
    }

    #[test]
    fn zilliqa_js_nonces_are_those_of_zilliqa_js() {
        for case in vectors("schnorr", "sign_hmac_drbg") {
            let personalisation = bytes(&case["personalisation"]);
            let (random, algorithm) = personalisation.split_at(32);
            assert_eq!(algorithm, ZILLIQA_JS_ALGORITHM);
            assert_eq!(case["nonce"], case["message"]);
            let (entropy, random) = (array(&case["entropy"]), random.try_into().unwrap());
            let nonces = Nonces::zilliqa_js(&bytes(&case["message"]), &entropy, random);
            assert_eq!(first(nonces), scalar(&case["k"]), "{}", case["name"]);
        }
    }

    /// The expected values come from an independent implementation with the module `hmac` of Python.
    #[test]
    fn generator_continues_after_a_refused_value() {
        let seed: Vec<u8> = (0..64).collect();
        let mut drbg = HmacDrbg::new(&[&seed[..20], &seed[20..]]);
        let drawn = [(); 3].map(|()| hex::encode(drbg.generate()));
        assert_eq!(
            drawn,
            [
                "acb4c0527346343f45266a99a5ea86e9493b69635f509ed6871d4c871f93613b",
                "605527fd6e0367631059fbc871d16d1c1944a4faa9a40c68ed4e301ac351b750",
                "10b0a2997b2b372497590365ab08aa21c552daaf158882877619ca427286d564",
            ]
        );
    }

    #[test]
    fn nonces_depend_on_key_message_and_purpose() {
        let (key, other) = (
            SecretKey::generate(&mut ChaCha8Rng::seed_from_u64(0)),
            SecretKey::generate(&mut ChaCha8Rng::seed_from_u64(1)),
        );
        let nonces = [
            first(Nonces::deterministic(&key, b"a")),
            first(Nonces::deterministic(&key, b"b")),
            first(Nonces::deterministic(&other, b"a")),
            first(Nonces::hedged(&key, b"a", &mut ChaCha8Rng::seed_from_u64(0))),
            first(Nonces::hedged(&key, b"a", &mut ChaCha8Rng::seed_from_u64(1))),
            first(Nonces::hedged(&other, b"a", &mut ChaCha8Rng::seed_from_u64(0))),
            first(Nonces::collective(&key, b"a")),
            first(Nonces::collective(&key, b"b")),
            first(Nonces::commit(&key, b"a", &mut ChaCha8Rng::seed_from_u64(0))),
            first(Nonces::commit(&key, b"b", &mut ChaCha8Rng::seed_from_u64(0))),
            first(Nonces::commit(&key, b"a", &mut ChaCha8Rng::seed_from_u64(1))),
            first(Nonces::commit(&other, b"a", &mut ChaCha8Rng::seed_from_u64(0))),
        ];
        for (position, nonce) in nonces.iter().enumerate() {
            assert!(!nonces[..position].contains(nonce), "nonce {position} repeats");
        }
        assert_eq!(nonces[0], first(Nonces::deterministic(&key, b"a")));
    }

    #[test]
    fn nonces_do_not_print() {
        let nonces = Nonces::deterministic(&SecretKey::generate(&mut ChaCha8Rng::seed_from_u64(0)), b"a");
        assert_eq!(format!("{nonces:?}"), "Nonces(HmacDrbg(..))");
    }
}
