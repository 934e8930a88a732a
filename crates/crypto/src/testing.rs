//! Helpers of the tests: test vectors, deterministic random numbers, and arithmetic with k256, which is independent of
//! libsecp256k1.

use std::fs;

use chacha20::{ChaCha8Rng, rand_core::SeedableRng as _};
use k256::{
    AffinePoint, ProjectivePoint,
    elliptic_curve::{Group, PrimeField, group::GroupEncoding, ops::Reduce, point::DecompressPoint, subtle::Choice},
};
use proptest::prelude::*;
use serde_json::Value;
use silica_protocol::{PublicKey, Signature, sha256};

use crate::{
    curve::Scalar,
    key::{KeyPair, SecretKey},
    number::ORDER,
};

/// Returns the test vectors of one kind from a file. Panics if there are none.
pub(crate) fn vectors(file: &str, kind: &str) -> Vec<Value> {
    let mut cases = all_vectors(file);
    cases.retain(|case| case["kind"] == kind);
    assert!(!cases.is_empty(), "{file} has no {kind}");
    cases
}

pub(crate) fn all_vectors(file: &str) -> Vec<Value> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/vectors/");
    let text = fs::read_to_string(format!("{folder}{file}.json")).unwrap();
    let mut document: Value = serde_json::from_str(&text).unwrap();
    serde_json::from_value(document["cases"].take()).unwrap()
}

/// Decodes hexadecimal text in any letter case, with or without `0x`.
pub(crate) fn bytes(value: &Value) -> Vec<u8> {
    let text = value.as_str().unwrap();
    hex::decode(text.strip_prefix("0x").unwrap_or(text)).unwrap()
}

pub(crate) fn array<const N: usize>(value: &Value) -> [u8; N] {
    bytes(value).try_into().unwrap()
}

pub(crate) fn public_key(value: &Value) -> PublicKey {
    PublicKey::new(array(value))
}

pub(crate) fn signature(value: &Value) -> Signature {
    Signature::new(array(value))
}

pub(crate) fn key_pair(value: &Value) -> KeyPair {
    KeyPair::from(SecretKey::from_bytes(array(value)).unwrap())
}

pub(crate) fn scalar(value: &Value) -> Scalar {
    Scalar::from_bytes(array(value)).unwrap()
}

/// Returns the group order plus `distance`, as bytes.
pub(crate) fn order_plus(distance: i8) -> [u8; 32] {
    let mut bytes = ORDER;
    bytes[31] = bytes[31].checked_add_signed(distance).unwrap();
    bytes
}

/// Returns a number below 256, as big-endian bytes.
pub(crate) fn small(number: u8) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes[31] = number;
    bytes
}

/// Returns a strategy for key pairs.
pub(crate) fn any_key_pair() -> impl Strategy<Value = KeyPair> {
    any::<u64>().prop_map(|seed| KeyPair::generate(&mut ChaCha8Rng::seed_from_u64(seed)))
}

/// Returns a strategy for scalars. The strategy prefers numbers at both ends of the range.
pub(crate) fn any_scalar() -> impl Strategy<Value = [u8; 32]> {
    let small = (1_u8..5).prop_map(|number| {
        let mut bytes = [0; 32];
        bytes[31] = number;
        bytes
    });
    let large = (-5_i8..0).prop_map(order_plus);
    let middle = any::<[u8; 32]>().prop_filter("in range", |bytes| Scalar::from_bytes(*bytes).is_some());
    prop_oneof![1 => small, 1 => large, 6 => middle]
}

/// Returns points whose x coordinate is not below the order of the group. One x coordinate is n.
pub(crate) fn points_above_order() -> Vec<PublicKey> {
    let near_order = (0..32).map(order_plus);
    let below_prime = (1_u8..32).map(|distance| {
        // The prime is 2²⁵⁶ − 2³² − 977.
        let mut bytes = [0xff; 32];
        bytes[27] = 0xfe;
        bytes[30] = 0xfc;
        bytes[31] = 0x2f - distance;
        bytes
    });
    let keys = |x: [u8; 32]| [2, 3].map(|prefix| compressed(prefix, x));
    let points: Vec<_> = near_order.chain(below_prime).flat_map(keys).filter(|key| point(key).is_some()).collect();
    assert!(points.contains(&compressed(2, ORDER)));
    points
}

pub(crate) fn compressed(prefix: u8, x: [u8; 32]) -> PublicKey {
    let mut bytes = [prefix; 33];
    bytes[1..].copy_from_slice(&x);
    PublicKey::new(bytes)
}

/// Decodes a compressed point with k256.
pub(crate) fn point(key: &PublicKey) -> Option<ProjectivePoint> {
    let [prefix @ (2 | 3), x @ ..] = *key.as_bytes() else { return None };
    let point: Option<AffinePoint> = AffinePoint::decompress(&x.into(), Choice::from(prefix & 1)).into();
    point.map(ProjectivePoint::from)
}

/// Encodes a point with k256. Returns `None` for the point at infinity.
pub(crate) fn encode(point: ProjectivePoint) -> Option<PublicKey> {
    let infinite: bool = point.is_identity().into();
    (!infinite).then(|| PublicKey::try_from(&point.to_affine().to_bytes()[..]).unwrap())
}

/// Creates a scalar with k256. Returns `None` for 0, and for numbers of n or more.
pub(crate) fn slow_scalar(bytes: [u8; 32]) -> Option<k256::Scalar> {
    let number: Option<k256::Scalar> = k256::Scalar::from_repr(bytes.into()).into();
    number.filter(|number| *number != k256::Scalar::ZERO)
}

/// Reduces a digest modulo n with k256.
pub(crate) fn slow_reduce(digest: [u8; 32]) -> [u8; 32] {
    <k256::Scalar as Reduce<k256::FieldBytes>>::reduce(&digest.into()).to_repr().into()
}

/// Returns s·G + r·P, computed directly with k256.
pub(crate) fn slow_sum(s: [u8; 32], r: [u8; 32], key: &PublicKey) -> Option<PublicKey> {
    encode(ProjectivePoint::GENERATOR * slow_scalar(s)? + point(key)? * slow_scalar(r)?)
}

/// Verifies a signature with k256, in the steps of the reference (Reference: formats#schnorr-verify).
pub(crate) fn slow_verify(prefix: &[u8], message: &[u8], signature: &Signature, key: &PublicKey) -> bool {
    let (r, s) = signature.as_bytes().split_at(32);
    let Some(commitment) = slow_sum(s.try_into().unwrap(), r.try_into().unwrap(), key) else { return false };
    let digest = sha256(&[prefix, commitment.as_bytes(), key.as_bytes(), message]);
    !message.is_empty() && slow_reduce(digest) == *r
}
