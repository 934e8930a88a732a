//! The curve by the crate `k256`, which is pure Rust.

use std::fmt;

use k256::{
    AffinePoint, FieldBytes, ProjectivePoint,
    elliptic_curve::{
        Group, PrimeField,
        ops::{LinearCombination, Reduce},
        point::{AffineCoordinates, DecompressPoint},
        scalar::IsHigh,
        sec1::ToSec1Point,
        subtle::{Choice, ConstantTimeEq},
    },
};
use silica_protocol::PublicKey;
use zeroize::{Zeroize, Zeroizing};

use crate::{
    error::{AggregateError, EcdsaError},
    number::{NoSum, ORDER, halves},
};

/// A number from 1 to n - 1, where n is the order of the group. The number may be secret.
///
/// The crate `k256` computes with scalars, and compares them, in constant time. The bytes are erased on drop.
#[derive(Clone)]
pub(crate) struct Scalar([u8; 32]);

impl Scalar {
    /// Creates a scalar from big-endian bytes. Returns `None` if the number is 0 or not below n.
    pub(crate) fn from_bytes(bytes: [u8; 32]) -> Option<Self> {
        let mut number = number(&bytes)?;
        let is_zero: bool = number.is_zero().into();
        number.zeroize();
        (!is_zero).then_some(Self(bytes))
    }

    pub(crate) fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    pub(crate) fn times(&self, factor: &Self) -> Self {
        Self::new(&Zeroizing::new(*self.number() * *factor.number()))
    }

    /// Returns the sum, or `None` if it is 0 modulo n.
    pub(crate) fn plus(&self, addend: &Self) -> Option<Self> {
        let sum = Zeroizing::new(*self.number() + *addend.number());
        let is_zero: bool = sum.is_zero().into();
        (!is_zero).then(|| Self::new(&sum))
    }

    pub(crate) fn negated(&self) -> Self {
        Self::new(&Zeroizing::new(-*self.number()))
    }

    /// Returns the product of this scalar and the generator, in constant time. The multiplication is not blinded.
    pub(crate) fn base_point(&self) -> PublicKey {
        let point = ProjectivePoint::mul_by_generator(&self.number());
        encode(&point).expect("a multiple of the generator is infinite only if the factor is 0 modulo n")
    }

    fn new(number: &k256::Scalar) -> Self {
        Self(number.to_bytes().into())
    }

    fn number(&self) -> Zeroizing<k256::Scalar> {
        Zeroizing::new(number(&self.0).expect("a scalar is below n"))
    }
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for Scalar {}

impl Drop for Scalar {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scalar(..)")
    }
}

/// Returns s·G + r·P for the point P of `key`. All arguments are public.
pub(crate) fn sum(s: &Scalar, r: &Scalar, key: &PublicKey) -> Result<PublicKey, NoSum> {
    let point = decode(key).ok_or(NoSum::Key)?;
    encode(&combine(&s.number(), &r.number(), point)).ok_or(NoSum::Infinity)
}

/// Returns whether the bytes are the compressed form of a point.
pub(crate) fn is_point(bytes: &PublicKey) -> bool {
    decode(bytes).is_some()
}

/// Returns the sum of points. Fails if `points` is empty, if an element is not a point, or if the sum is the point at
/// infinity.
pub(crate) fn sum_of_points(points: &[PublicKey]) -> Result<PublicKey, AggregateError> {
    let mut sum = ProjectivePoint::IDENTITY;
    for (position, bytes) in points.iter().enumerate() {
        sum += decode(bytes).ok_or(AggregateError::Point { position, bytes: *bytes })?;
    }
    if points.is_empty() {
        return Err(AggregateError::Empty);
    }
    encode(&sum).ok_or(AggregateError::Infinity)
}

/// Returns whether an ECDSA signature over a digest is valid for the key.
pub(crate) fn verify_ecdsa(digest: [u8; 32], signature: &[u8; 64], key: &[u8; 33]) -> Result<bool, EcdsaError> {
    let key = decode(&PublicKey::new(*key)).ok_or(EcdsaError::Key)?;
    let (r, s) = read_ecdsa(signature)?;
    let Some(inverse) = Option::<k256::Scalar>::from(s.invert_vartime()) else { return Ok(false) };
    if bool::from(s.is_high()) || bool::from(r.is_zero()) {
        return Ok(false);
    }
    let point = combine(&(reduce(digest) * inverse), &(r * inverse), key);
    let is_infinite: bool = point.is_identity().into();
    Ok(!is_infinite && reduce(point.to_affine().x().into()) == r)
}

/// Recovers the uncompressed public key of an ECDSA signature over a digest.
pub(crate) fn recover_ecdsa(digest: [u8; 32], signature: &[u8; 64], recovery_id: u32) -> Result<[u8; 65], EcdsaError> {
    if recovery_id > 3 {
        return Err(EcdsaError::RecoveryId);
    }
    let (r, s) = read_ecdsa(signature)?;
    recover(digest, &r, &s, recovery_id).ok_or(EcdsaError::Unrecoverable)
}

fn recover(digest: [u8; 32], r: &k256::Scalar, s: &k256::Scalar, recovery_id: u32) -> Option<[u8; 65]> {
    let inverse = Option::<k256::Scalar>::from(r.invert_vartime()).filter(|_| !bool::from(s.is_zero()))?;
    let mut x: [u8; 32] = r.to_bytes().into();
    if recovery_id & 2 != 0 {
        x = plus_order(x)?;
    }
    let nonce = decompress(x, recovery_id & 1 != 0)?;
    let key = combine(&-(reduce(digest) * inverse), &(*s * inverse), nonce);
    let is_infinite: bool = key.is_identity().into();
    let encoded = key.to_affine().to_sec1_point(false);
    encoded.as_bytes().try_into().ok().filter(|_| !is_infinite)
}

/// Returns the sum of a coordinate and n, or `None` if the sum has more than 256 bits. The order of the field has 256
/// bits, and [`decompress`] rejects a coordinate that is not below it.
fn plus_order(mut x: [u8; 32]) -> Option<[u8; 32]> {
    let mut carry = false;
    for (byte, order) in x.iter_mut().zip(ORDER).rev() {
        (*byte, carry) = byte.carrying_add(order, carry);
    }
    (!carry).then_some(x)
}

/// Returns a·G + b·P for public arguments.
fn combine(a: &k256::Scalar, b: &k256::Scalar, point: ProjectivePoint) -> ProjectivePoint {
    ProjectivePoint::lincomb(&[(ProjectivePoint::GENERATOR, *a), (point, *b)])
}

fn read_ecdsa(signature: &[u8; 64]) -> Result<(k256::Scalar, k256::Scalar), EcdsaError> {
    let (r, s) = halves(signature);
    number(&r).zip(number(&s)).ok_or(EcdsaError::Signature)
}

/// Returns a number below n, which may be 0. Returns `None` for a number that is not below n.
fn number(bytes: &[u8; 32]) -> Option<k256::Scalar> {
    k256::Scalar::from_repr((*bytes).into()).into()
}

fn reduce(bytes: [u8; 32]) -> k256::Scalar {
    <k256::Scalar as Reduce<FieldBytes>>::reduce(&bytes.into())
}

fn decode(key: &PublicKey) -> Option<ProjectivePoint> {
    let [prefix @ (2 | 3), x @ ..] = key.to_bytes() else { return None };
    decompress(x, prefix == 3)
}

fn decompress(x: [u8; 32], is_odd: bool) -> Option<ProjectivePoint> {
    let point: Option<AffinePoint> = AffinePoint::decompress(&x.into(), Choice::from(u8::from(is_odd))).into();
    point.map(ProjectivePoint::from)
}

/// Returns the compressed form of a point, or `None` for the point at infinity.
fn encode(point: &ProjectivePoint) -> Option<PublicKey> {
    PublicKey::try_from(point.to_affine().to_sec1_point(true).as_bytes()).ok()
}
