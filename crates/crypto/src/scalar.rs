//! Arithmetic modulo the group order, and the two point multiplications that the other modules use.

use std::fmt;

use secp256k1::{
    Message,
    constants::CURVE_ORDER,
    ecdsa::{RecoverableSignature, RecoveryId},
};
use silica_protocol::PublicKey;

/// A number from 1 to n - 1, where n is the order of the group. The number may be secret.
///
/// libsecp256k1 parses scalars, computes with them, and compares them in constant time. The bytes are erased on drop.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Scalar(secp256k1::SecretKey);

impl Scalar {
    /// Creates a scalar from big-endian bytes. Returns `None` if the number is 0 or not below n.
    pub(crate) fn from_bytes(bytes: [u8; 32]) -> Option<Self> {
        secp256k1::SecretKey::from_secret_bytes(bytes).ok().map(Self)
    }

    pub(crate) fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_secret_bytes()
    }

    pub(crate) fn times(&self, factor: &Self) -> Self {
        let mut factor = secp256k1::Scalar::from(factor.0);
        let product = self.0.mul_tweak(&factor);
        factor.non_secure_erase();
        Self(product.expect("a product is 0 modulo a prime only if a factor is"))
    }

    /// Returns the sum, or `None` if it is 0 modulo n.
    pub(crate) fn plus(&self, addend: &Self) -> Option<Self> {
        let mut addend = secp256k1::Scalar::from(addend.0);
        let sum = self.0.add_tweak(&addend);
        addend.non_secure_erase();
        sum.ok().map(Self)
    }

    pub(crate) fn negated(&self) -> Self {
        Self(self.0.negate())
    }

    /// Returns the product of this scalar and the generator, in constant time.
    ///
    /// libsecp256k1 blinds this multiplication. The crate `secp256k1` creates new blinding values after each use with a
    /// second multiplication, which doubles the time of a signature. This is acceptable, because signing is rare.
    pub(crate) fn base_point(&self) -> PublicKey {
        PublicKey::new(secp256k1::PublicKey::from_secret_key(&self.0).serialize())
    }
}

impl Drop for Scalar {
    fn drop(&mut self) {
        self.0.non_secure_erase();
    }
}

impl fmt::Debug for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scalar(..)")
    }
}

/// Reduces a public digest modulo n. Each digest is below 2n, so that one subtraction is enough.
pub(crate) fn reduce(mut digest: [u8; 32]) -> [u8; 32] {
    if digest >= CURVE_ORDER {
        let mut borrow = false;
        for (byte, order) in digest.iter_mut().zip(CURVE_ORDER).rev() {
            (*byte, borrow) = byte.borrowing_sub(order, borrow);
        }
    }
    digest
}

/// Reason why [`sum`] has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoSum {
    /// The key is not the compressed form of a point.
    Key,
    /// The sum is the point at infinity.
    Infinity,
}

/// Returns s·G + r·P for the point P of `key`. Does not take constant time, because all arguments are public.
///
/// ECDSA recovery computes x⁻¹·(t·R − z·G) for the point R with the coordinate x, in one double multiplication inside
/// libsecp256k1. With R = P, t = r·x and z = −s·x, the result is s·G + r·P. The recovery also decodes P.
pub(crate) fn sum(s: &Scalar, r: &Scalar, key: &PublicKey) -> Result<PublicKey, NoSum> {
    let [prefix, x @ ..] = *key.as_bytes();
    let parity = match prefix {
        2 => RecoveryId::Zero,
        3 => RecoveryId::One,
        _ => return Err(NoSum::Key),
    };
    let Some(x) = Scalar::from_bytes(x) else { return sum_in_two_steps(s, r, key) };
    match recover(&x, &r.times(&x), &s.times(&x).negated(), parity) {
        Some(sum) => Ok(sum),
        None if decode(key).is_some() => Err(NoSum::Infinity),
        None => Err(NoSum::Key),
    }
}

/// Returns the point of a compressed key, or `None` if the bytes are not a point.
pub(crate) fn decode(key: &PublicKey) -> Option<secp256k1::PublicKey> {
    secp256k1::PublicKey::from_byte_array_compressed(key.to_bytes()).ok()
}

fn recover(x: &Scalar, t: &Scalar, z: &Scalar, parity: RecoveryId) -> Option<PublicKey> {
    let signature = RecoverableSignature::from_compact(&join(x.as_bytes(), t.as_bytes()), parity).ok()?;
    let point = signature.recover_ecdsa(Message::from_digest(*z.as_bytes())).ok()?;
    Some(PublicKey::new(point.serialize()))
}

/// Returns the same sum as [`sum`], without ECDSA recovery, for a key whose x coordinate is not below the group order.
/// This is true of about one key in 2^127. For such a key, the recovery would need a reduced x coordinate and a flag,
/// and does not support x = n.
fn sum_in_two_steps(s: &Scalar, r: &Scalar, key: &PublicKey) -> Result<PublicKey, NoSum> {
    let multiple = decode(key).ok_or(NoSum::Key)?.mul_tweak(&r.0.into()).map_err(|_| NoSum::Infinity)?;
    let sum = multiple.add_exp_tweak(&s.0.into()).map_err(|_| NoSum::Infinity)?;
    Ok(PublicKey::new(sum.serialize()))
}

/// Concatenates two halves of a signature.
pub(crate) fn join(first: &[u8; 32], second: &[u8; 32]) -> [u8; 64] {
    let mut joined = [0; 64];
    let (head, tail) = joined.split_at_mut(32);
    head.copy_from_slice(first);
    tail.copy_from_slice(second);
    joined
}

#[cfg(test)]
mod tests {
    use k256::elliptic_curve::PrimeField;
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{
        any_key_pair, any_scalar, compressed, order_plus, points_above_order, slow_reduce, slow_scalar, slow_sum,
    };

    fn scalar(bytes: [u8; 32]) -> Scalar {
        Scalar::from_bytes(bytes).unwrap()
    }

    fn one() -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes[31] = 1;
        bytes
    }

    #[test]
    fn scalars_end_below_the_order() {
        assert_eq!(Scalar::from_bytes([0; 32]), None);
        assert_eq!(Scalar::from_bytes(one()).unwrap().as_bytes(), &one());
        assert_eq!(Scalar::from_bytes(order_plus(-1)).unwrap().as_bytes(), &order_plus(-1));
        assert_eq!(Scalar::from_bytes(order_plus(0)), None);
        assert_eq!(Scalar::from_bytes(order_plus(1)), None);
        assert_eq!(Scalar::from_bytes([0xff; 32]), None);
    }

    #[test]
    fn opposites_have_no_sum() {
        assert_eq!(scalar(one()).plus(&scalar(order_plus(-1))), None);
        assert_eq!(scalar(one()).negated(), scalar(order_plus(-1)));
    }

    #[test]
    fn scalars_are_overwritten_on_drop_and_do_not_print() {
        assert!(std::mem::needs_drop::<Scalar>());
        assert_eq!(format!("{:?}", scalar([0xab; 32])), "Scalar(..)");
    }

    #[test]
    fn digests_are_reduced_around_the_order() {
        for digest in (-4..4).map(order_plus).chain([[0; 32], [0xff; 32], one()]) {
            assert_eq!(reduce(digest), slow_reduce(digest));
        }
        assert_eq!(reduce(order_plus(0)), [0; 32]);
        assert_eq!(reduce(order_plus(1)), one());
    }

    #[test]
    fn sum_agrees_for_keys_at_and_above_the_order() {
        let scalars = [one(), order_plus(-1), order_plus(-2), [0x5a; 32]];
        for key in points_above_order() {
            for (s, r) in scalars.iter().flat_map(|s| scalars.iter().map(move |r| (*s, *r))) {
                let expected = slow_sum(s, r, &key).unwrap();
                assert_eq!(sum(&scalar(s), &scalar(r), &key), Ok(expected), "{key} {s:?} {r:?}");
            }
        }
    }

    #[test]
    fn sum_refuses_what_is_no_point() {
        let prime_less_one = [&[0xff; 27][..], &[0xfe, 0xff, 0xff, 0xfc, 0x2e]].concat().try_into().unwrap();
        let prime = [&[0xff; 27][..], &[0xfe, 0xff, 0xff, 0xfc, 0x2f]].concat().try_into().unwrap();
        let five = {
            let mut bytes = [0; 32];
            bytes[31] = 5;
            bytes
        };
        // No point has the x coordinate 0, 5, n + 1 or p - 1. Numbers from p on are not coordinates.
        for x in [[0; 32], five, order_plus(1), prime_less_one, prime, [0xff; 32]] {
            for key in [compressed(2, x), compressed(3, x)] {
                assert_eq!(slow_sum(one(), one(), &key), None, "{key}");
                assert_eq!(sum(&scalar(one()), &scalar(one()), &key), Err(NoSum::Key), "{key}");
            }
        }
        let [_, x @ ..] = scalar([9; 32]).base_point().to_bytes();
        for prefix in [0, 1, 4, 5, 6, 7, 0x82, 0xff] {
            let key = compressed(prefix, x);
            assert_eq!(sum(&scalar(one()), &scalar(one()), &key), Err(NoSum::Key), "{key}");
        }
        assert_eq!(sum(&scalar(one()), &scalar(one()), &PublicKey::ZERO), Err(NoSum::Key));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn digests_are_reduced(digest: [u8; 32], ones in 0_usize..=32) {
            prop_assert_eq!(reduce(digest), slow_reduce(digest));
            let mut large = digest;
            large[..ones].fill(0xff);
            prop_assert_eq!(reduce(large), slow_reduce(large));
        }

        #[test]
        fn arithmetic_agrees(a in any_scalar(), b in any_scalar()) {
            let (slow_a, slow_b) = (slow_scalar(a).unwrap(), slow_scalar(b).unwrap());
            let bytes = |number: k256::Scalar| <[u8; 32]>::from(number.to_repr());
            let (a, b) = (scalar(a), scalar(b));
            prop_assert_eq!(*a.times(&b).as_bytes(), bytes(slow_a * slow_b));
            prop_assert_eq!(*a.negated().as_bytes(), bytes(-slow_a));
            prop_assert_eq!(a.plus(&b).map(|sum| *sum.as_bytes()), slow_scalar(bytes(slow_a + slow_b)).map(bytes));
            prop_assert_eq!(a == b, slow_a == slow_b);
        }

        #[test]
        fn sum_agrees(s in any_scalar(), r in any_scalar(), key in any_key_pair()) {
            let key = key.public();
            let expected = slow_sum(s, r, &key).ok_or(NoSum::Infinity);
            let (s, r) = (scalar(s), scalar(r));
            prop_assert_eq!(sum(&s, &r, &key), expected);
            prop_assert_eq!(sum_in_two_steps(&s, &r, &key), expected);
        }

        #[test]
        fn sum_may_be_infinity(r in any_scalar(), key in any_key_pair()) {
            let r = scalar(r);
            let s = r.times(key.secret().scalar()).negated();
            prop_assert_eq!(slow_sum(*s.as_bytes(), *r.as_bytes(), &key.public()), None);
            prop_assert_eq!(sum(&s, &r, &key.public()), Err(NoSum::Infinity));
            prop_assert_eq!(sum_in_two_steps(&s, &r, &key.public()), Err(NoSum::Infinity));
        }
    }
}
