//! Multisignatures: one signature of several signers, which is valid for the sum of their keys
//! (Reference: formats#multisignature).
//!
//! A leader collects the hashes of commit points, and then the points. It adds the points and the keys, and sends the
//! challenge. Then it collects a response from each signer, checks it, and adds the responses:
//!
//! ```
//! use silica_crypto::{KeyPair, SecretKey, multisig::{self, Challenge, CommitPoint, CommitSecret}};
//! # struct Rng(u8);
//! # impl rand_core::TryRng for Rng {
//! #     type Error = rand_core::Infallible;
//! #     fn try_next_u32(&mut self) -> Result<u32, Self::Error> { rand_core::utils::next_word_via_fill(self) }
//! #     fn try_next_u64(&mut self) -> Result<u64, Self::Error> { rand_core::utils::next_word_via_fill(self) }
//! #     fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> { self.0 += 1; bytes.fill(self.0); Ok(()) }
//! # }
//! # impl rand_core::TryCryptoRng for Rng {}
//! # let mut rng = Rng(0);
//! let signers = [KeyPair::generate(&mut rng), KeyPair::generate(&mut rng)];
//! let keys = signers.each_ref().map(KeyPair::public_key);
//! let message = b"a block header";
//!
//! // Each signer commits, first to the hash of a point, then to the point.
//! let secrets = [CommitSecret::generate(&mut rng), CommitSecret::generate(&mut rng)];
//! let hashes = secrets.each_ref().map(|secret| secret.point().hash());
//! let points = secrets.each_ref().map(CommitSecret::point);
//! assert_eq!(points.each_ref().map(CommitPoint::hash), hashes);
//!
//! // The leader makes the challenge.
//! let point = CommitPoint::aggregate(&points)?;
//! let key = multisig::aggregate_keys(&keys)?;
//! let challenge = Challenge::new(&point, &key, message)?;
//!
//! // Each signer responds, the leader checks and combines.
//! let mut responses = Vec::new();
//! for ((secret, signer), point) in secrets.into_iter().zip(&signers).zip(&points) {
//!     let response = secret.respond(&challenge, signer.secret())?;
//!     response.check(&challenge, &signer.public_key(), point)?;
//!     responses.push(response);
//! }
//! let signature = multisig::combine(&challenge, &responses)?;
//! assert_eq!(multisig::verify(message, &signature, &key), Ok(()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The sum of keys has no coefficients. A signer that chooses its key after the other keys are known could cancel these
//! keys. Therefore a committee must require a [proof of possession](verify_possession) for each key. For the same
//! reason, a signer must receive the points of other signers only after it has sent the hash of its own point.

use std::fmt;

use rand_core::CryptoRng;
use silica_protocol::{PublicKey, Signature, sha256};

use crate::{
    curve::{Scalar, is_point, sum, sum_of_points},
    error::{AggregateError, PossessionError, ResponseError, RoundValueError, SignError, VerifyError},
    key::{KeyPair, SecretKey, random_scalar},
    nonce::Nonces,
    number::{NoSum, join, reduce},
    schnorr::{self, Domain, challenge, respond, verify_in},
};

/// Prefix of the hash input of a commit point.
const COMMIT_POINT: &[u8] = &[0x01];

/// The nonce of one signer in one round. It is used for one challenge, and is erased on drop.
pub struct CommitSecret {
    nonce: Scalar,
    /// A signer sends the hash of the point first, and the point later. The field saves a second slow multiplication.
    point: CommitPoint,
}

impl CommitSecret {
    /// Creates a random nonce.
    ///
    /// A nonce that depends only on the message would repeat if the leader starts again with other signers. The second
    /// challenge would differ from the first, and two responses with the same nonce reveal the key.
    pub fn generate(rng: &mut impl CryptoRng) -> Self {
        Self::new(random_scalar(rng))
    }

    /// Creates a nonce from random bytes, the key of the signer, and the context of the signature.
    ///
    /// The context names the message, the attempt and the round of the signature, and is used once. If the random
    /// number generator is broken, the nonces of different contexts still differ, and stay secret.
    pub fn hedged(key: &SecretKey, context: &[u8], rng: &mut impl CryptoRng) -> Self {
        Self::new(Nonces::commit(key, context, rng).next_nonce())
    }

    fn new(nonce: Scalar) -> Self {
        let point = CommitPoint(nonce.base_point());
        Self { nonce, point }
    }

    /// Returns the point that the signer commits to.
    pub fn point(&self) -> CommitPoint {
        self.point
    }

    /// Computes the response to a challenge, and consumes the nonce.
    ///
    /// # Errors
    ///
    /// [`RoundValueError::Response`] if the response would be 0. The committee then needs a new round.
    pub fn respond(self, challenge: &Challenge, key: &SecretKey) -> Result<Response, RoundValueError> {
        respond(&self.nonce, &challenge.0, key.scalar()).map(Response).ok_or(RoundValueError::Response)
    }
}

impl fmt::Debug for CommitSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CommitSecret(..)")
    }
}

/// The commit point of a signer, or the sum of the commit points of all signers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitPoint(PublicKey);

impl CommitPoint {
    /// Parses the compressed form.
    ///
    /// # Errors
    ///
    /// [`RoundValueError::CommitPoint`] if the bytes are not a point.
    pub fn from_bytes(bytes: [u8; PublicKey::LEN]) -> Result<Self, RoundValueError> {
        let point = Self::unchecked(bytes);
        point.check().map(|()| point)
    }

    /// Wraps bytes that a signer sent. They need not be a point: the caller [checks](Self::check) them before their
    /// use. The check takes some 10 µs, so a caller first compares the [hash](Self::hash).
    pub const fn unchecked(bytes: [u8; PublicKey::LEN]) -> Self {
        Self(PublicKey::new(bytes))
    }

    /// Checks that the bytes are a point.
    ///
    /// # Errors
    ///
    /// [`RoundValueError::CommitPoint`] if the bytes are not a point.
    pub fn check(&self) -> Result<(), RoundValueError> {
        if is_point(&self.0) { Ok(()) } else { Err(RoundValueError::CommitPoint { bytes: self.0 }) }
    }

    /// Returns the compressed form.
    pub fn as_bytes(&self) -> &[u8; PublicKey::LEN] {
        self.0.as_bytes()
    }

    /// Returns the hash that a signer sends before the point.
    pub fn hash(&self) -> CommitHash {
        CommitHash(reduce(sha256(&[COMMIT_POINT, self.as_bytes()])))
    }

    /// Returns the sum of commit points.
    ///
    /// # Errors
    ///
    /// [`AggregateError::Empty`] if there are no points, [`AggregateError::Infinity`] if the sum is the point at
    /// infinity, and [`AggregateError::Point`] for unchecked bytes that are not a point.
    pub fn aggregate(points: &[Self]) -> Result<Self, AggregateError> {
        sum_of_points(&points.iter().map(|point| point.0).collect::<Vec<_>>()).map(Self)
    }
}

/// Hash of a commit point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitHash([u8; 32]);

impl CommitHash {
    /// Creates the hash from the bytes that a signer sent.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// The challenge of a round. Each signer computes a response to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Challenge(Scalar);

impl Challenge {
    /// Computes the challenge: the hash of the sum of the commit points, the sum of the keys, and the message.
    ///
    /// # Errors
    ///
    /// [`RoundValueError::EmptyMessage`] for a message without bytes. [`RoundValueError::Challenge`] if the hash is 0.
    /// The committee then needs a new round.
    pub fn new(point: &CommitPoint, key: &PublicKey, message: &[u8]) -> Result<Self, RoundValueError> {
        if message.is_empty() {
            return Err(RoundValueError::EmptyMessage);
        }
        Self::from_bytes(challenge(Domain::Collective, &point.0, key, message))
    }

    /// Creates a challenge from big-endian bytes. A signer should not respond to an unchecked challenge. The signer
    /// should compute the challenge from the values of the round, and compare it with the received challenge.
    ///
    /// # Errors
    ///
    /// [`RoundValueError::Challenge`] if the number is 0 or not below the order of the group.
    pub fn from_bytes(bytes: [u8; 32]) -> Result<Self, RoundValueError> {
        Scalar::from_bytes(bytes).map(Self).ok_or(RoundValueError::Challenge)
    }

    /// Returns the big-endian bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }
}

/// The response of one signer to the challenge of a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response(Scalar);

impl Response {
    /// Creates a response from big-endian bytes.
    ///
    /// # Errors
    ///
    /// [`RoundValueError::Response`] if the number is 0 or not below the order of the group.
    pub fn from_bytes(bytes: [u8; 32]) -> Result<Self, RoundValueError> {
        Scalar::from_bytes(bytes).map(Self).ok_or(RoundValueError::Response)
    }

    /// Returns the big-endian bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }

    /// Checks that the response comes from the signer with this key and this commit point.
    ///
    /// # Errors
    ///
    /// [`ResponseError::Key`] if the key is not a point. [`ResponseError::Mismatch`] if the response does not match the
    /// other arguments.
    pub fn check(&self, challenge: &Challenge, key: &PublicKey, point: &CommitPoint) -> Result<(), ResponseError> {
        match sum(&self.0, &challenge.0, key) {
            Ok(sum) if sum == point.0 => Ok(()),
            Err(NoSum::Key) => Err(ResponseError::Key { key: *key }),
            Ok(_) | Err(NoSum::Infinity) => Err(ResponseError::Mismatch),
        }
    }
}

/// Returns the sum of the keys of all signers. The signature of these signers is valid for this sum.
///
/// # Errors
///
/// [`AggregateError::Point`] if a key is not a point, [`AggregateError::Empty`] if there are no keys, and
/// [`AggregateError::Infinity`] if the sum is the point at infinity.
pub fn aggregate_keys(keys: &[PublicKey]) -> Result<PublicKey, AggregateError> {
    sum_of_points(keys)
}

/// Combines the responses of all signers to a signature.
///
/// # Errors
///
/// [`RoundValueError::Response`] if there are no responses or their sum is 0. In the second case, the committee needs a
/// new round.
pub fn combine(challenge: &Challenge, responses: &[Response]) -> Result<Signature, RoundValueError> {
    // A scalar cannot be 0. Therefore `None` stands for 0, which is the initial sum and can be an intermediate sum.
    let add = |sum: Option<Scalar>, response: &Response| match sum {
        Some(sum) => sum.plus(&response.0),
        None => Some(response.0.clone()),
    };
    let total = responses.iter().fold(None, add).ok_or(RoundValueError::Response)?;
    Ok(Signature::new(join(challenge.as_bytes(), total.as_bytes())))
}

/// Verifies a signature for the sum of the keys of its signers.
///
/// # Errors
///
/// The errors of [`schnorr::verify`].
pub fn verify(message: &[u8], signature: &Signature, aggregate: &PublicKey) -> Result<(), VerifyError> {
    verify_in(Domain::Collective, message, signature, aggregate)
}

/// Creates a proof of possession of a key. The proof is an ordinary signature over the serialized proof-of-work
/// submission that contains the key.
///
/// # Errors
///
/// [`SignError::EmptyMessage`] if the submission has no bytes.
pub fn prove_possession(submission: &[u8], key: &KeyPair) -> Result<Signature, SignError> {
    key.sign(submission)
}

/// Verifies a proof of possession, and checks that the submission contains this key.
///
/// # Errors
///
/// [`PossessionError::KeyAbsent`] if the submission does not contain the key. [`PossessionError::Signature`] if the
/// signature is invalid.
pub fn verify_possession(submission: &[u8], proof: &Signature, key: &PublicKey) -> Result<(), PossessionError> {
    if !submission.windows(PublicKey::LEN).any(|window| window == key.as_bytes()) {
        return Err(PossessionError::KeyAbsent { key: *key });
    }
    Ok(schnorr::verify(submission, proof, key)?)
}

#[cfg(test)]
mod tests {
    use chacha20::{ChaCha8Rng, rand_core::SeedableRng as _};
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{
        array, bytes, compressed, key_pair, order_plus, public_key, scalar, signature, slow_verify, vectors,
    };

    const MESSAGE: &[u8] = b"a message";

    fn signers(count: u64) -> Vec<KeyPair> {
        (0..count).map(|seed| KeyPair::generate(&mut ChaCha8Rng::seed_from_u64(seed << 32))).collect()
    }

    /// Runs all steps of a round for the given signers.
    fn sign_together(message: &[u8], signers: &[KeyPair], rng: &mut ChaCha8Rng) -> (Signature, PublicKey) {
        let secrets: Vec<_> = signers.iter().map(|_| CommitSecret::generate(rng)).collect();
        let points: Vec<_> = secrets.iter().map(CommitSecret::point).collect();
        let keys: Vec<_> = signers.iter().map(KeyPair::public_key).collect();
        let key = aggregate_keys(&keys).unwrap();
        let challenge = Challenge::new(&CommitPoint::aggregate(&points).unwrap(), &key, message).unwrap();
        let respond = |(secret, signer): (CommitSecret, &KeyPair)| secret.respond(&challenge, signer.secret()).unwrap();
        let responses: Vec<_> = secrets.into_iter().zip(signers).map(respond).collect();
        for ((response, key), point) in responses.iter().zip(&keys).zip(&points) {
            assert_eq!(response.check(&challenge, key, point), Ok(()));
        }
        (combine(&challenge, &responses).unwrap(), key)
    }

    /// Verifies a signature with this module and with k256. Both must agree.
    fn check(message: &[u8], signature: &Signature, key: &PublicKey) -> Result<(), VerifyError> {
        let verdict = verify(message, signature, key);
        assert_eq!(verdict.is_ok(), slow_verify(&[0x11], message, signature, key), "{verdict:?}");
        verdict
    }

    #[test]
    fn hedged_nonces_depend_on_key_context_and_random_numbers() {
        let [key, other] = [0, 1].map(|seed| KeyPair::generate(&mut ChaCha8Rng::seed_from_u64(seed << 32)));
        let point = |key: &KeyPair, context, seed| {
            CommitSecret::hedged(key.secret(), context, &mut ChaCha8Rng::seed_from_u64(seed)).point()
        };
        let points = [point(&key, b"a", 5), point(&key, b"b", 5), point(&key, b"a", 6), point(&other, b"a", 5)];
        for (position, point) in points.iter().enumerate() {
            assert!(!points[..position].contains(point), "point {position} repeats");
        }
        assert_eq!(points[0], point(&key, b"a", 5));
    }

    #[test]
    fn aggregates_keys() {
        for case in vectors("multisig", "aggregate_keys") {
            let keys: Vec<_> = case["public_keys"].as_array().unwrap().iter().map(public_key).collect();
            let expected = case["aggregate"].is_string().then(|| public_key(&case["aggregate"]));
            assert_eq!(aggregate_keys(&keys).ok(), expected, "{}", case["name"]);
        }
    }

    #[test]
    fn aggregation_names_the_invalid_part() {
        let key = signers(1)[0].public_key();
        let [prefix, x @ ..] = key.to_bytes();
        let bad = compressed(prefix, [0xff; 32]);
        assert_eq!(aggregate_keys(&[]), Err(AggregateError::Empty));
        assert_eq!(aggregate_keys(&[key, compressed(prefix ^ 1, x)]), Err(AggregateError::Infinity));
        assert_eq!(aggregate_keys(&[key, bad]), Err(AggregateError::Point { position: 1, bytes: bad }));
        assert_eq!(CommitPoint::aggregate(&[]), Err(AggregateError::Empty));
    }

    #[test]
    fn verifies_vectors() {
        for case in vectors("multisig", "verify") {
            let (message, signed) = (bytes(&case["message"]), signature(&case["signature"]));
            let key = public_key(&case["aggregate"]);
            assert_eq!(check(&message, &signed, &key).is_ok(), case["valid"].as_bool().unwrap(), "{}", case["name"]);
            if let Some(valid) = case["valid_as_plain_schnorr"].as_bool() {
                assert_eq!(schnorr::verify(&message, &signed, &key).is_ok(), valid, "{}", case["name"]);
            }
        }
    }

    #[test]
    fn rounds_step_by_step() {
        for case in vectors("multisig", "round") {
            let name = &case["name"];
            let message = bytes(&case["message"]);
            let parts = case["signers"].as_array().unwrap();
            let points: Vec<_> =
                parts.iter().map(|part| CommitPoint::from_bytes(array(&part["commit_point"])).unwrap()).collect();
            let keys: Vec<_> = parts.iter().map(|part| public_key(&part["public_key"])).collect();

            let point = CommitPoint::aggregate(&points).unwrap();
            let key = aggregate_keys(&keys).unwrap();
            assert_eq!(point.as_bytes(), &array(&case["aggregate_commit_point"]), "{name}");
            assert_eq!(key, public_key(&case["aggregate_public_key"]), "{name}");
            let challenge = Challenge::new(&point, &key, &message).unwrap();
            assert_eq!(challenge.as_bytes(), &array(&case["challenge"]), "{name}");

            let mut responses = Vec::new();
            for (part, point) in parts.iter().zip(&points) {
                let signer = key_pair(&part["private_key"]);
                let secret = CommitSecret::new(scalar(&part["commit_secret"]));
                assert_eq!(secret.point(), *point, "{name}");
                assert_eq!(point.hash(), CommitHash::new(array(&part["commit_point_hash"])), "{name}");
                let response = secret.respond(&challenge, signer.secret()).unwrap();
                assert_eq!(response.as_bytes(), &array(&part["response"]), "{name}");
                assert_eq!(response.check(&challenge, &signer.public_key(), point), Ok(()), "{name}");
                responses.push(response);
            }
            let combined = combine(&challenge, &responses).unwrap();
            assert_eq!(combined.as_bytes()[32..], bytes(&case["aggregate_response"]), "{name}");
            assert_eq!(combined, signature(&case["signature"]), "{name}");
            assert_eq!(check(&message, &combined, &key), Ok(()), "{name}");
        }
    }

    #[test]
    fn checks_responses() {
        for case in vectors("multisig", "verify_response") {
            let challenge = Challenge::from_bytes(array(&case["challenge"])).unwrap();
            let point = CommitPoint::from_bytes(array(&case["commit_point"])).unwrap();
            let key = public_key(&case["public_key"]);
            let valid = Response::from_bytes(array(&case["response"]))
                .is_ok_and(|response| response.check(&challenge, &key, &point).is_ok());
            assert_eq!(valid, case["valid"].as_bool().unwrap(), "{}", case["name"]);
        }
    }

    #[test]
    fn response_errors_name_the_argument() {
        let signer = &signers(1)[0];
        let secret = CommitSecret::generate(&mut ChaCha8Rng::seed_from_u64(9));
        let point = secret.point();
        let challenge = Challenge::new(&point, &signer.public_key(), MESSAGE).unwrap();
        let response = secret.respond(&challenge, signer.secret()).unwrap();
        assert_eq!(response.check(&challenge, &signer.public_key(), &point), Ok(()));
        let key = PublicKey::ZERO;
        assert_eq!(response.check(&challenge, &key, &point), Err(ResponseError::Key { key }));
        let other = Challenge::new(&point, &signer.public_key(), b"another message").unwrap();
        assert_eq!(response.check(&other, &signer.public_key(), &point), Err(ResponseError::Mismatch));
        let cancelling = Response(challenge.0.times(signer.secret().scalar()).negated());
        assert_eq!(cancelling.check(&challenge, &signer.public_key(), &point), Err(ResponseError::Mismatch));
    }

    #[test]
    fn round_values_are_checked_when_read() {
        for out_of_range in [[0; 32], order_plus(0), [0xff; 32]] {
            assert_eq!(Challenge::from_bytes(out_of_range), Err(RoundValueError::Challenge));
            assert_eq!(Response::from_bytes(out_of_range), Err(RoundValueError::Response));
        }
        let bytes = compressed(2, [0xff; 32]);
        assert_eq!(CommitPoint::from_bytes(bytes.to_bytes()), Err(RoundValueError::CommitPoint { bytes }));
        let point = CommitSecret::generate(&mut ChaCha8Rng::seed_from_u64(0)).point();
        assert_eq!(CommitPoint::from_bytes(*point.as_bytes()), Ok(point));
        assert_eq!(Challenge::new(&point, &signers(1)[0].public_key(), &[]), Err(RoundValueError::EmptyMessage));
    }

    #[test]
    fn a_response_of_zero_is_not_given() {
        let signer = &signers(1)[0];
        let challenge = Challenge::from_bytes([5; 32]).unwrap();
        let secret = CommitSecret::new(challenge.0.times(signer.secret().scalar()));
        assert_eq!(secret.respond(&challenge, signer.secret()), Err(RoundValueError::Response));
    }

    #[test]
    fn a_sum_of_responses_may_pass_zero_but_not_end_there() {
        let challenge = Challenge::from_bytes([5; 32]).unwrap();
        let [a, b] = [[1; 32], [2; 32]].map(|bytes| Response::from_bytes(bytes).unwrap());
        let opposite = Response(a.0.negated());
        let combined = combine(&challenge, &[a.clone(), opposite.clone(), b.clone()]).unwrap();
        assert_eq!(combined, combine(&challenge, &[b]).unwrap());
        assert_eq!(combine(&challenge, &[a, opposite]), Err(RoundValueError::Response));
        assert_eq!(combine(&challenge, &[]), Err(RoundValueError::Response));
    }

    #[test]
    fn a_missing_signer_is_noticed() {
        let signers = signers(3);
        let (signed, key) = sign_together(MESSAGE, &signers, &mut ChaCha8Rng::seed_from_u64(7));
        assert_eq!(check(MESSAGE, &signed, &key), Ok(()));
        let two = aggregate_keys(&[signers[0].public_key(), signers[1].public_key()]).unwrap();
        assert_eq!(check(MESSAGE, &signed, &two), Err(VerifyError::Mismatch));
    }

    #[test]
    fn ordinary_and_collective_signatures_do_not_pass_for_each_other() {
        let signers = signers(1);
        let key = signers[0].public_key();
        let (collective, _) = sign_together(MESSAGE, &signers, &mut ChaCha8Rng::seed_from_u64(7));
        let ordinary = signers[0].sign(MESSAGE).unwrap();
        assert_eq!(schnorr::verify(MESSAGE, &collective, &key), Err(VerifyError::Mismatch));
        assert_eq!(verify(MESSAGE, &ordinary, &key), Err(VerifyError::Mismatch));
    }

    #[test]
    fn possession_is_proven_for_the_key_in_the_submission() {
        let [owner, rogue] = <[KeyPair; 2]>::try_from(signers(2)).unwrap();
        let submission = [b"block 7", &owner.public_key().as_bytes()[..], b"nonce 9"].concat();
        let proof = prove_possession(&submission, &owner).unwrap();
        assert_eq!(verify_possession(&submission, &proof, &owner.public_key()), Ok(()));

        let forged = prove_possession(&submission, &rogue).unwrap();
        let mismatch = Err(PossessionError::Signature(VerifyError::Mismatch));
        assert_eq!(verify_possession(&submission, &forged, &owner.public_key()), mismatch);
        let absent = Err(PossessionError::KeyAbsent { key: rogue.public_key() });
        assert_eq!(verify_possession(&submission, &forged, &rogue.public_key()), absent);
        assert_eq!(prove_possession(&[], &owner), Err(SignError::EmptyMessage));
    }

    #[test]
    fn commit_secrets_do_not_print() {
        assert_eq!(format!("{:?}", CommitSecret::generate(&mut ChaCha8Rng::seed_from_u64(0))), "CommitSecret(..)");
        assert!(std::mem::needs_drop::<CommitSecret>());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn any_committee_signs(
            count in 1_u64..7,
            seed: u32,
            message in prop::collection::vec(any::<u8>(), 1..100),
            bit in 0_usize..512,
        ) {
            let (signed, key) = sign_together(&message, &signers(count), &mut ChaCha8Rng::seed_from_u64(u64::from(seed)));
            prop_assert_eq!(check(&message, &signed, &key), Ok(()));
            let mut mutated = signed.to_bytes();
            mutated[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(check(&message, &Signature::new(mutated), &key).is_err());
        }
    }
}
