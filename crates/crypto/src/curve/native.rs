//! The curve by libsecp256k1, a library in C.

use std::fmt;

use secp256k1::{
    Message,
    ecdsa::{RecoverableSignature, RecoveryId, Signature},
};
use silica_protocol::PublicKey;

use crate::{
    error::{AggregateError, EcdsaError},
    number::{NoSum, join},
};

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

/// Returns whether the bytes are the compressed form of a point.
pub(crate) fn is_point(bytes: &PublicKey) -> bool {
    decode(bytes).is_some()
}

/// Returns the sum of points. Fails if `points` is empty, if an element is not a point, or if the sum is the point at
/// infinity.
pub(crate) fn sum_of_points(points: &[PublicKey]) -> Result<PublicKey, AggregateError> {
    let points: Vec<_> = points
        .iter()
        .enumerate()
        .map(|(position, bytes)| decode(bytes).ok_or(AggregateError::Point { position, bytes: *bytes }))
        .collect::<Result<_, _>>()?;
    if points.is_empty() {
        return Err(AggregateError::Empty);
    }
    let sum =
        secp256k1::PublicKey::combine_keys(&points.iter().collect::<Vec<_>>()).map_err(|_| AggregateError::Infinity)?;
    Ok(PublicKey::new(sum.serialize()))
}

/// Returns whether an ECDSA signature over a digest is valid for the key.
pub(crate) fn verify_ecdsa(digest: [u8; 32], signature: &[u8; 64], key: &[u8; 33]) -> Result<bool, EcdsaError> {
    let key = secp256k1::PublicKey::from_byte_array_compressed(*key).map_err(|_| EcdsaError::Key)?;
    let signature = Signature::from_compact(signature).map_err(|_| EcdsaError::Signature)?;
    Ok(signature.verify(Message::from_digest(digest), &key).is_ok())
}

/// Recovers the uncompressed public key of an ECDSA signature over a digest.
pub(crate) fn recover_ecdsa(digest: [u8; 32], signature: &[u8; 64], recovery_id: u32) -> Result<[u8; 65], EcdsaError> {
    let id = match recovery_id {
        0 => RecoveryId::Zero,
        1 => RecoveryId::One,
        2 => RecoveryId::Two,
        3 => RecoveryId::Three,
        _ => return Err(EcdsaError::RecoveryId),
    };
    let signature = RecoverableSignature::from_compact(signature, id).map_err(|_| EcdsaError::Signature)?;
    let key = signature.recover_ecdsa(Message::from_digest(digest)).map_err(|_| EcdsaError::Unrecoverable)?;
    Ok(key.serialize_uncompressed())
}

/// Returns the point of a compressed key, or `None` if the bytes are not a point.
fn decode(key: &PublicKey) -> Option<secp256k1::PublicKey> {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{any_key_pair, any_scalar};

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn two_steps_give_the_same_sum(s in any_scalar(), r in any_scalar(), key in any_key_pair()) {
            let (s, r, key) = (Scalar::from_bytes(s).unwrap(), Scalar::from_bytes(r).unwrap(), key.public_key());
            prop_assert_eq!(sum_in_two_steps(&s, &r, &key), sum(&s, &r, &key));
        }

        #[test]
        fn two_steps_may_end_at_infinity(r in any_scalar(), key in any_key_pair()) {
            let r = Scalar::from_bytes(r).unwrap();
            let s = r.times(key.secret().scalar()).negated();
            prop_assert_eq!(sum_in_two_steps(&s, &r, &key.public_key()), Err(NoSum::Infinity));
        }
    }
}
