//! Arithmetic modulo the group order, the sums of points that the other modules use, and ECDSA.
//!
//! Two implementations have the same items. The feature `native` selects the module `native`, and has priority over the
//! feature `portable`.

#[cfg(feature = "native")]
mod native;
#[cfg(any(test, all(feature = "portable", not(feature = "native"))))]
mod portable;

#[cfg(feature = "native")]
pub(crate) use native::{Scalar, is_point, recover_ecdsa, sum, sum_of_points, verify_ecdsa};
#[cfg(all(feature = "portable", not(feature = "native")))]
pub(crate) use portable::{Scalar, is_point, recover_ecdsa, sum, sum_of_points, verify_ecdsa};

#[cfg(test)]
mod tests {
    use k256::elliptic_curve::PrimeField;
    use proptest::prelude::*;
    use silica_protocol::PublicKey;

    use super::*;
    use crate::{
        number::NoSum,
        testing::{any_key_pair, any_scalar, compressed, order_plus, points_above_order, slow_scalar, slow_sum, small},
    };

    fn scalar(bytes: [u8; 32]) -> Scalar {
        Scalar::from_bytes(bytes).unwrap()
    }

    #[test]
    fn scalars_end_below_the_order() {
        assert_eq!(Scalar::from_bytes([0; 32]), None);
        assert_eq!(Scalar::from_bytes(small(1)).unwrap().as_bytes(), &small(1));
        assert_eq!(Scalar::from_bytes(order_plus(-1)).unwrap().as_bytes(), &order_plus(-1));
        assert_eq!(Scalar::from_bytes(order_plus(0)), None);
        assert_eq!(Scalar::from_bytes(order_plus(1)), None);
        assert_eq!(Scalar::from_bytes([0xff; 32]), None);
    }

    #[test]
    fn opposites_have_no_sum() {
        assert_eq!(scalar(small(1)).plus(&scalar(order_plus(-1))), None);
        assert_eq!(scalar(small(1)).negated(), scalar(order_plus(-1)));
    }

    #[test]
    fn scalars_are_overwritten_on_drop_and_do_not_print() {
        assert!(std::mem::needs_drop::<Scalar>());
        assert_eq!(format!("{:?}", scalar([0xab; 32])), "Scalar(..)");
    }

    #[test]
    fn sum_agrees_for_keys_at_and_above_the_order() {
        let scalars = [small(1), order_plus(-1), order_plus(-2), [0x5a; 32]];
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
        // No point has the x coordinate 0, 5, n + 1 or p - 1. Numbers from p on are not coordinates.
        for x in [[0; 32], small(5), order_plus(1), prime_less_one, prime, [0xff; 32]] {
            for key in [compressed(2, x), compressed(3, x)] {
                assert_eq!(slow_sum(small(1), small(1), &key), None, "{key}");
                assert_eq!(sum(&scalar(small(1)), &scalar(small(1)), &key), Err(NoSum::Key), "{key}");
            }
        }
        let [_, x @ ..] = scalar([9; 32]).base_point().to_bytes();
        for prefix in [0, 1, 4, 5, 6, 7, 0x82, 0xff] {
            let key = compressed(prefix, x);
            assert_eq!(sum(&scalar(small(1)), &scalar(small(1)), &key), Err(NoSum::Key), "{key}");
        }
        assert_eq!(sum(&scalar(small(1)), &scalar(small(1)), &PublicKey::ZERO), Err(NoSum::Key));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

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
            let key = key.public_key();
            let expected = slow_sum(s, r, &key).ok_or(NoSum::Infinity);
            let (s, r) = (scalar(s), scalar(r));
            prop_assert_eq!(sum(&s, &r, &key), expected);
        }

        #[test]
        fn sum_may_be_infinity(r in any_scalar(), key in any_key_pair()) {
            let r = scalar(r);
            let s = r.times(key.secret().scalar()).negated();
            prop_assert_eq!(slow_sum(*s.as_bytes(), *r.as_bytes(), &key.public_key()), None);
            prop_assert_eq!(sum(&s, &r, &key.public_key()), Err(NoSum::Infinity));
        }
    }
}

/// Compares both implementations.
#[cfg(test)]
#[cfg(feature = "native")]
mod comparison {
    use proptest::prelude::*;
    use silica_protocol::PublicKey;

    use super::{native, portable};
    use crate::{
        number::{halves, join},
        testing::{any_key_pair, any_scalar, compressed, order_plus, points_above_order, small},
    };

    /// Returns a scalar of each implementation. The result is a pair of `None` for bytes that are not a scalar.
    fn both(bytes: [u8; 32]) -> Option<(native::Scalar, portable::Scalar)> {
        let (native, portable) = (native::Scalar::from_bytes(bytes), portable::Scalar::from_bytes(bytes));
        assert_eq!(native.is_some(), portable.is_some());
        native.zip(portable)
    }

    fn check_sum(s: [u8; 32], r: [u8; 32], key: &PublicKey) {
        let Some(((s, r), (s2, r2))) = both(s).zip(both(r)).map(|(s, r)| ((s.0, r.0), (s.1, r.1))) else { return };
        assert_eq!(native::sum(&s, &r, key), portable::sum(&s2, &r2, key), "{key}");
        assert_eq!(native::is_point(key), portable::is_point(key), "{key}");
    }

    fn check_ecdsa(digest: [u8; 32], signature: &[u8; 64], key: &[u8; 33]) {
        assert_eq!(
            native::verify_ecdsa(digest, signature, key),
            portable::verify_ecdsa(digest, signature, key),
            "{signature:?} {key:?}",
        );
        for id in 0..5 {
            assert_eq!(
                native::recover_ecdsa(digest, signature, id),
                portable::recover_ecdsa(digest, signature, id),
                "{signature:?} {id}",
            );
        }
    }

    #[test]
    fn agree_at_the_ends_of_the_ranges() {
        // Half of the order, rounded down, is the largest valid s of ECDSA.
        let mut half = [0; 32];
        hex::decode_to_slice("7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0", &mut half).unwrap();
        let mut above_half = half;
        above_half[31] += 1;
        let ends = [order_plus(-1), order_plus(0), order_plus(1), [0xff; 32]];
        let numbers = [&[small(0), small(1), small(2), half, above_half][..], &ends].concat();
        let g = native::Scalar::from_bytes(small(1)).unwrap().base_point();
        let mut keys = points_above_order();
        keys.extend([g, PublicKey::ZERO, compressed(4, [1; 32]), compressed(2, [0xff; 32]), compressed(3, small(5))]);
        for (a, b) in numbers.iter().flat_map(|a| numbers.iter().map(move |b| (*a, *b))) {
            for key in &keys {
                check_sum(a, b, key);
            }
            for digest in numbers.iter().copied() {
                check_ecdsa(digest, &join(&a, &b), g.as_bytes());
            }
        }
        for keys in keys.windows(3) {
            assert_eq!(native::sum_of_points(keys), portable::sum_of_points(keys));
        }
        assert_eq!(native::sum_of_points(&[]), portable::sum_of_points(&[]));
    }

    /// A nonce point whose x coordinate is not below the group order has no known discrete logarithm. The signature
    /// with this coordinate is valid for a key that the recovery computes.
    #[test]
    fn agree_on_a_nonce_point_above_the_order() {
        let mut recovered = 0;
        for r in 1..60 {
            let signature = join(&small(r), &[7; 32]);
            check_ecdsa([9; 32], &signature, &[2; 33]);
            for id in 2..4 {
                if let Ok(key) = portable::recover_ecdsa([9; 32], &signature, id) {
                    recovered += 1;
                    let [_, x @ .., y] = key;
                    let x = *x.first_chunk().unwrap();
                    let key = compressed(2 + (y & 1), x);
                    check_ecdsa([9; 32], &signature, key.as_bytes());
                    assert_eq!(portable::verify_ecdsa([9; 32], &signature, key.as_bytes()), Ok(true));
                }
            }
        }
        assert!(recovered > 20, "{recovered}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn agree_on_arithmetic(a in any_scalar(), b in any_scalar(), bytes: [u8; 32]) {
            both(bytes);
            let ((a, b), (a2, b2)) = {
                let (a, b) = (both(a).unwrap(), both(b).unwrap());
                ((a.0, b.0), (a.1, b.1))
            };
            prop_assert_eq!(*a.times(&b).as_bytes(), *a2.times(&b2).as_bytes());
            prop_assert_eq!(*a.negated().as_bytes(), *a2.negated().as_bytes());
            prop_assert_eq!(a.plus(&b).map(|sum| *sum.as_bytes()), a2.plus(&b2).map(|sum| *sum.as_bytes()));
            prop_assert_eq!(a.base_point(), a2.base_point());
            prop_assert_eq!(a == b, a2 == b2);
            prop_assert_eq!(format!("{a:?}"), format!("{a2:?}"));
        }

        #[test]
        fn agree_on_sums(s in any_scalar(), r in any_scalar(), key in any_key_pair(), x: [u8; 32], prefix in 0_u8..6) {
            check_sum(s, r, &key.public_key());
            check_sum(s, r, &compressed(prefix, x));
            let opposite = portable::Scalar::from_bytes(r).unwrap();
            let opposite = opposite.times(&portable::Scalar::from_bytes(*key.secret().to_bytes()).unwrap()).negated();
            check_sum(*opposite.as_bytes(), r, &key.public_key());
        }

        #[test]
        fn agree_on_ecdsa(digest: [u8; 32], key in any_key_pair(), other: [u8; 64], bit in 0_usize..512) {
            let secret = secp256k1::SecretKey::from_secret_bytes(*key.secret().to_bytes()).unwrap();
            let message = secp256k1::Message::from_digest(digest);
            let signature = secp256k1::ecdsa::sign(message, &secret).serialize_compact();
            let public = key.public_key();
            prop_assert_eq!(portable::verify_ecdsa(digest, &signature, public.as_bytes()), Ok(true));
            let (r, s) = halves(&signature);
            let high = portable::Scalar::from_bytes(s).unwrap().negated();
            let mut changed = signature;
            changed[bit / 8] ^= 1 << (bit % 8);
            for signature in [signature, join(&r, high.as_bytes()), changed, other] {
                check_ecdsa(digest, &signature, public.as_bytes());
            }
        }
    }
}
