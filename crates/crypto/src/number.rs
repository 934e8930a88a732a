//! Numbers below the order of the group, as bytes.

/// Order of the group, big endian.
pub(crate) const ORDER: [u8; 32] = [
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 0xba, 0xae, 0xdc,
    0xe6, 0xaf, 0x48, 0xa0, 0x3b, 0xbf, 0xd2, 0x5e, 0x8c, 0xd0, 0x36, 0x41, 0x41,
];

/// Reduces a public digest modulo n. Each digest is below 2n, so that one subtraction is enough.
pub(crate) fn reduce(mut digest: [u8; 32]) -> [u8; 32] {
    if digest >= ORDER {
        let mut borrow = false;
        for (byte, order) in digest.iter_mut().zip(ORDER).rev() {
            (*byte, borrow) = byte.borrowing_sub(order, borrow);
        }
    }
    digest
}

/// Reason why `curve::sum` has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoSum {
    /// The key is not the compressed form of a point.
    Key,
    /// The sum is the point at infinity.
    Infinity,
}

/// Concatenates two halves of a signature.
pub(crate) fn join(first: &[u8; 32], second: &[u8; 32]) -> [u8; 64] {
    let mut joined = [0; 64];
    let (head, tail) = joined.split_at_mut(32);
    head.copy_from_slice(first);
    tail.copy_from_slice(second);
    joined
}

/// Splits a signature.
pub(crate) fn halves(joined: &[u8; 64]) -> ([u8; 32], [u8; 32]) {
    let half = |bytes: Option<&[u8; 32]>| *bytes.expect("a signature is twice 32 bytes long");
    (half(joined.first_chunk()), half(joined.last_chunk()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{order_plus, slow_reduce, small};

    #[test]
    fn digests_are_reduced_around_the_order() {
        for digest in (-4..4).map(order_plus).chain([[0; 32], [0xff; 32], small(1)]) {
            assert_eq!(reduce(digest), slow_reduce(digest));
        }
        assert_eq!(reduce(order_plus(0)), [0; 32]);
        assert_eq!(reduce(order_plus(1)), small(1));
    }

    #[test]
    fn order_is_that_of_the_curve() {
        assert_eq!(ORDER, secp256k1::constants::CURVE_ORDER);
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
    }
}
