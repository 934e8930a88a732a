//! The pairing-friendly curve `alt_bn128`, also called BN254, with the byte formats of Scilla.
//!
//! Coordinates are big endian. A coordinate that is not below the order of the field is reduced modulo this order, and
//! not rejected: the reference builds its curve library without that check. Both coordinates of the point at infinity
//! are zero.

use ark_bn254::{Bn254, Fq, Fq2, G1Affine, G2Affine};
use ark_ec::{AffineRepr, CurveGroup, pairing::Pairing};
use ark_ff::{BigInteger, PrimeField, Zero};

/// A point of the first group as x and y. The bytes are not checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct G1Bytes {
    /// The x coordinate, big endian.
    pub x: [u8; 32],
    /// The y coordinate, big endian.
    pub y: [u8; 32],
}

/// A point of the second group as x and y, each with its imaginary part first. The bytes are not checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct G2Bytes {
    /// The x coordinate: imaginary part and real part, each 32 bytes, big endian.
    pub x: [u8; 64],
    /// The y coordinate: imaginary part and real part, each 32 bytes, big endian.
    pub y: [u8; 64],
}

impl G1Bytes {
    /// Returns the sum of two points, or `None` if one of them is not on the curve.
    pub fn add(&self, other: &Self) -> Option<Self> {
        Some(Self::encode((self.decode()? + other.decode()?).into_affine()))
    }

    /// Returns the product of the point and a big-endian number of 256 bits. The number may be above the group order.
    /// Returns `None` if the point is not on the curve.
    pub fn mul(&self, scalar: &[u8; 32]) -> Option<Self> {
        Some(Self::encode(self.decode()?.mul_bigint(limbs(scalar)).into_affine()))
    }

    /// Returns the inverse of the point, or `None` if the point is not on the curve.
    pub fn neg(&self) -> Option<Self> {
        Some(Self::encode(-self.decode()?))
    }

    fn decode(&self) -> Option<G1Affine> {
        let (x, y) = (field(&self.x), field(&self.y));
        if x.is_zero() && y.is_zero() {
            return Some(G1Affine::identity());
        }
        // Each point on the curve is in the group, because the curve has prime order.
        Some(G1Affine::new_unchecked(x, y)).filter(G1Affine::is_on_curve)
    }

    fn encode(point: G1Affine) -> Self {
        point.xy().map_or(Self { x: [0; 32], y: [0; 32] }, |(x, y)| Self { x: bytes(x), y: bytes(y) })
    }
}

impl G2Bytes {
    fn decode(&self) -> Option<G2Affine> {
        let (x, y) = (extension(&self.x), extension(&self.y));
        if x.is_zero() && y.is_zero() {
            return Some(G2Affine::identity());
        }
        let point = Some(G2Affine::new_unchecked(x, y)).filter(G2Affine::is_on_curve)?;
        point.is_in_correct_subgroup_assuming_on_curve().then_some(point)
    }
}

/// Returns whether the product of the pairings is one. Returns `None` if one of the points is not in its group.
pub fn is_pairing_product_one(pairs: &[(G1Bytes, G2Bytes)]) -> Option<bool> {
    let points: Option<Vec<_>> = pairs.iter().map(|(one, two)| Some((one.decode()?, two.decode()?))).collect();
    let (ones, twos): (Vec<_>, Vec<_>) = points?.into_iter().unzip();
    Some(Bn254::multi_pairing(ones, twos).is_zero())
}

fn field(bytes: &[u8]) -> Fq {
    Fq::from_be_bytes_mod_order(bytes)
}

fn extension(bytes: &[u8; 64]) -> Fq2 {
    let (imaginary, real) = bytes.split_at(32);
    Fq2::new(field(real), field(imaginary))
}

fn bytes(of: Fq) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (to, from) in bytes.iter_mut().zip(of.into_bigint().to_bytes_be()) {
        *to = from;
    }
    bytes
}

/// Returns a big-endian number as limbs of 64 bits, the least significant limb first.
fn limbs(number: &[u8; 32]) -> [u64; 4] {
    let mut limbs = [0; 4];
    for (limb, bytes) in limbs.iter_mut().rev().zip(number.chunks_exact(8)) {
        *limb = bytes.iter().fold(0, |limb, byte| limb << 8 | u64::from(*byte));
    }
    limbs
}

#[cfg(test)]
mod tests {
    use ark_bn254::{G1Projective, G2Projective};
    use ark_ec::PrimeGroup;

    use super::*;

    fn number(value: u64) -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes[24..].copy_from_slice(&value.to_be_bytes());
        bytes
    }

    const INFINITY: G1Bytes = G1Bytes { x: [0; 32], y: [0; 32] };

    fn generator() -> G1Bytes {
        G1Bytes { x: number(1), y: number(2) }
    }

    /// Returns a multiple of the generator of the second group.
    fn second(factor: u64) -> G2Bytes {
        let point = G2Projective::generator().mul_bigint([factor]).into_affine();
        let (x, y) = point.xy().unwrap();
        let join = |of: Fq2| [bytes(of.c1), bytes(of.c0)].concat().try_into().unwrap();
        G2Bytes { x: join(x), y: join(y) }
    }

    #[test]
    fn multiples_are_repeated_sums() {
        let two = generator().add(&generator()).unwrap();
        assert_eq!(generator().mul(&number(2)), Some(two));
        assert_eq!(two.add(&generator()), generator().mul(&number(3)));
        assert_eq!(two.add(&generator().neg().unwrap()), Some(generator()));
        assert_eq!(generator().add(&generator().neg().unwrap()), Some(INFINITY));
        assert_eq!(generator().mul(&number(0)), Some(INFINITY));
        assert_eq!(INFINITY.add(&two), Some(two));
        assert_eq!(INFINITY.neg(), Some(INFINITY));
    }

    #[test]
    fn all_bits_of_a_factor_count() {
        let order = ark_bn254::Fr::MODULUS.to_bytes_be().try_into().unwrap();
        assert_eq!(generator().mul(&order), Some(INFINITY));
        let all = ark_bn254::Fr::from_be_bytes_mod_order(&[255; 32]);
        let expected = G1Bytes::encode((G1Projective::generator() * all).into_affine());
        assert_eq!(generator().mul(&[255; 32]), Some(expected));
    }

    #[test]
    fn coordinates_are_taken_modulo_the_order_of_the_field() {
        let plus = |value: u64| {
            let mut sum = Fq::MODULUS;
            assert!(!sum.add_with_carry(&value.into()));
            sum.to_bytes_be().try_into().unwrap()
        };
        assert_eq!(G1Bytes { x: plus(1), y: plus(2) }.add(&INFINITY), Some(generator()));
        assert_eq!(G1Bytes { x: plus(0), y: plus(0) }.add(&generator()), Some(generator()));
    }

    #[test]
    fn points_beside_the_curve_are_refused() {
        let beside = G1Bytes { x: number(1), y: number(3) };
        assert_eq!(beside.add(&generator()), None);
        assert_eq!(generator().add(&beside), None);
        assert_eq!(beside.mul(&number(0)), None);
        assert_eq!(beside.neg(), None);
        assert_eq!(is_pairing_product_one(&[(beside, second(1))]), None);
        let mut outside = second(1);
        outside.y[63] ^= 1;
        assert_eq!(is_pairing_product_one(&[(generator(), outside)]), None);
    }

    #[test]
    fn points_of_the_twist_beside_the_group_are_refused() {
        // The twist has a large cofactor. Therefore nearly every point on the twist is outside of the group.
        let found = (1_u64..50).find_map(|x| {
            let point = G2Affine::get_point_from_x_unchecked(Fq2::new(x.into(), Fq::zero()), true)?;
            (!point.is_in_correct_subgroup_assuming_on_curve()).then_some(point)
        });
        let (x, y) = found.unwrap().xy().unwrap();
        let join = |of: Fq2| [bytes(of.c1), bytes(of.c0)].concat().try_into().unwrap();
        assert_eq!(is_pairing_product_one(&[(generator(), G2Bytes { x: join(x), y: join(y) })]), None);
    }

    #[test]
    fn pairings_are_bilinear() {
        let times = |factor| generator().mul(&number(factor)).unwrap();
        assert_eq!(is_pairing_product_one(&[]), Some(true));
        assert_eq!(is_pairing_product_one(&[(generator(), second(1))]), Some(false));
        assert_eq!(is_pairing_product_one(&[(INFINITY, second(1))]), Some(true));
        let nowhere = G2Bytes { x: [0; 64], y: [0; 64] };
        assert_eq!(is_pairing_product_one(&[(generator(), nowhere)]), Some(true));
        let balanced = [(times(6), second(1)), (times(2).neg().unwrap(), second(3))];
        assert_eq!(is_pairing_product_one(&balanced), Some(true));
        let unbalanced = [(times(6), second(1)), (times(2).neg().unwrap(), second(4))];
        assert_eq!(is_pairing_product_one(&unbalanced), Some(false));
    }
}
