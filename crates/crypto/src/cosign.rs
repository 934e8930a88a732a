//! The two-round co-signature of blocks (Reference: formats#co-signature-of-a-block).
//!
//! The committee first signs the serialized header. In the second round, it signs the header together with the first
//! signature and the bitmap of its signers. Position i of a bitmap stands for member i of the committee, in the order
//! of its member list.

use silica_protocol::{CoSignatures, PublicKey, Signature};

use crate::{
    error::{CoSignatureError, SignError},
    key::KeyPair,
    multisig::{self, aggregate_keys},
    nonce::Nonces,
    schnorr::{Domain, sign_in},
};

/// Returns the exact number of signers that a committee of `members` members needs: 0.667 × `members`, rounded up.
///
/// The reference multiplies floating-point numbers (`src/libConsensus/ConsensusCommon.cpp`). Its result is the same for
/// every committee below 49,000 members.
pub const fn quorum(members: usize) -> usize {
    (members * 667).div_ceil(1000)
}

/// Co-signs a header as the only member of its committee.
///
/// # Errors
///
/// [`SignError::EmptyMessage`] if the header has no bytes.
#[expect(clippy::missing_panics_doc, reason = "two bytes count one bit")]
pub fn cosign_alone(header: &[u8], key: &KeyPair) -> Result<CoSignatures, SignError> {
    let sign = |message: &[u8]| sign_in(Domain::Collective, message, key, Nonces::collective(key.secret(), message));
    let mut cosignatures = CoSignatures { cs1: sign(header)?, b1: vec![true], cs2: Signature::ZERO, b2: vec![true] };
    cosignatures.cs2 = sign(&cosignatures.message_for_second_round(header).expect("two bytes count one bit"))?;
    Ok(cosignatures)
}

/// Verifies that a committee signed a block. The function verifies the second round, which covers the header, the first
/// signature and the first bitmap.
///
/// The function does not verify the first signature, because newer nodes of the reference sign a provisional header in
/// the first round.
///
/// # Errors
///
/// [`CoSignatureError`] names the round and the fault: the bitmap, the number of signers, the keys or the signature.
pub fn verify(cosignatures: &CoSignatures, header: &[u8], committee: &[PublicKey]) -> Result<(), CoSignatureError> {
    let uncountable =
        CoSignatureError::BitmapLength { round: 1, expected: committee.len(), got: cosignatures.b1.len() };
    let message = cosignatures.message_for_second_round(header).ok_or(uncountable)?;
    verify_round(2, &message, &cosignatures.cs2, &cosignatures.b2, committee)
}

/// Verifies the first round. The first signature must be over the final header.
///
/// # Errors
///
/// [`CoSignatureError`] names the round and the fault: the bitmap, the number of signers, the keys or the signature.
pub fn verify_first_round(
    cosignatures: &CoSignatures,
    header: &[u8],
    committee: &[PublicKey],
) -> Result<(), CoSignatureError> {
    verify_round(1, header, &cosignatures.cs1, &cosignatures.b1, committee)
}

fn verify_round(
    round: u8,
    message: &[u8],
    signature: &Signature,
    bitmap: &[bool],
    committee: &[PublicKey],
) -> Result<(), CoSignatureError> {
    if bitmap.len() != committee.len() {
        return Err(CoSignatureError::BitmapLength { round, expected: committee.len(), got: bitmap.len() });
    }
    let signers: Vec<_> = committee.iter().zip(bitmap).filter(|(_, signed)| **signed).map(|(key, _)| *key).collect();
    let expected = quorum(committee.len());
    if signers.len() != expected {
        return Err(CoSignatureError::Quorum { round, expected, got: signers.len() });
    }
    let key = aggregate_keys(&signers).map_err(|source| CoSignatureError::Aggregate { round, source })?;
    multisig::verify(message, signature, &key).map_err(|source| CoSignatureError::Signature { round, source })
}

#[cfg(test)]
mod tests {
    use chacha20::{ChaCha8Rng, rand_core::SeedableRng as _};
    use serde_json::Value;

    use super::*;
    use crate::{
        error::{AggregateError, VerifyError},
        schnorr,
        testing::{all_vectors, bytes, public_key, signature, vectors},
    };

    const HEADER: &[u8] = b"a block header";

    /// A published block, its co-signatures, and the keys of its committee.
    struct Block {
        header: Vec<u8>,
        cosignatures: CoSignatures,
        committee: Vec<PublicKey>,
    }

    impl Block {
        fn new(case: &Value) -> Self {
            let bits = |value: &Value| serde_json::from_value(value.clone()).unwrap();
            let (body, cosignature) = (&case["json"]["body"], &case["cosignature"]);
            let cosignatures = match case["kind"].as_str().unwrap() {
                "tx_block" => CoSignatures {
                    cs1: signature(&body["CS1"]),
                    b1: bits(&body["B1"]),
                    cs2: signature(&body["HeaderSign"]),
                    b2: bits(&body["B2"]),
                },
                _ => CoSignatures {
                    cs1: signature(&case["cs1"]),
                    b1: bits(&case["b1"]),
                    cs2: signature(&case["cs2"]),
                    b2: bits(&case["b2"]),
                },
            };
            let committee = cosignature["committee"].as_array().unwrap().iter().map(public_key).collect();
            Self { header: bytes(&case["header"]), cosignatures, committee }
        }

        fn all() -> Vec<Self> {
            all_vectors("blocks").iter().filter(|case| case["cosignature"].is_object()).map(Self::new).collect()
        }

        fn verify(&self) -> Result<(), CoSignatureError> {
            verify(&self.cosignatures, &self.header, &self.committee)
        }
    }

    #[test]
    fn packs_bit_vectors() {
        for case in vectors("multisig", "bit_vector") {
            let bits: Vec<_> = case["bits"].as_str().unwrap().chars().map(|bit| bit == '1').collect();
            let cosignatures = CoSignatures { b1: bits, ..CoSignatures::unsigned(0) };
            let expected = [HEADER, Signature::ZERO.as_bytes(), &bytes(&case["encoded"])].concat();
            assert_eq!(cosignatures.message_for_second_round(HEADER), Some(expected), "{}", case["name"]);
        }
    }

    #[test]
    fn quorum_is_the_least_count_of_two_thirds() {
        let expected = [(0, 0), (1, 1), (2, 2), (3, 3), (4, 3), (5, 4), (6, 5), (9, 7), (10, 7), (600, 401)];
        assert_eq!(expected.map(|(members, _)| (members, quorum(members))), expected);
        assert_eq!(quorum(999), 667);
        assert_eq!(quorum(1000), 667);
        assert_eq!(quorum(1001), 668);
        for members in 1..3000 {
            assert!(quorum(members) * 1000 >= members * 667);
            assert!((quorum(members) - 1) * 1000 < members * 667);
        }
    }

    #[test]
    fn published_blocks_are_signed_by_their_committees() {
        let cases: Vec<_> = all_vectors("blocks").into_iter().filter(|case| case["cosignature"].is_object()).collect();
        assert_eq!(cases.len(), 3);
        for case in cases {
            let name = &case["name"];
            let block = Block::new(&case);
            let expected = &case["cosignature"];
            assert_eq!(block.header, bytes(&expected["round1_message"]), "{name}");
            assert_eq!(block.cosignatures.cs1, signature(&expected["round1_signature"]), "{name}");
            let message = block.cosignatures.message_for_second_round(&block.header).unwrap();
            assert_eq!(message, bytes(&expected["round2_message"]), "{name}");
            assert_eq!(block.cosignatures.cs2, signature(&expected["round2_signature"]), "{name}");
            for (round, bitmap) in [(1, &block.cosignatures.b1), (2, &block.cosignatures.b2)] {
                let signers: Vec<_> =
                    block.committee.iter().zip(bitmap).filter(|(_, bit)| **bit).map(|(key, _)| *key).collect();
                if let Some(key) = expected.get(format!("round{round}_aggregate_key")) {
                    assert_eq!(aggregate_keys(&signers), Ok(public_key(key)), "{name}");
                }
            }
            assert_eq!(verify_first_round(&block.cosignatures, &block.header, &block.committee), Ok(()), "{name}");
            assert_eq!(block.verify(), Ok(()), "{name}");
        }
    }

    #[test]
    fn changes_to_a_block_are_noticed() {
        let mismatch = Err(CoSignatureError::Signature { round: 2, source: VerifyError::Mismatch });
        let check = |change: fn(&mut Block)| {
            for mut block in Block::all() {
                change(&mut block);
                assert_eq!(block.verify(), mismatch);
            }
        };
        check(|block| block.header[40] ^= 1);
        check(|block| block.cosignatures.b1.swap(0, 9));
        check(|block| block.cosignatures.b2.swap(0, 9));
        check(|block| block.committee.swap(0, 9));
        check(|block| block.cosignatures.cs2 = block.cosignatures.cs1);
        check(|block| block.cosignatures.cs1 = block.cosignatures.cs2);
        check(|block| block.cosignatures.b1.push(false));
    }

    #[test]
    fn exactly_the_quorum_signs() {
        for count in [0, 1, 6, 8, 10] {
            let mut block = Block::all().swap_remove(0);
            block.cosignatures.b2 = (0..10).map(|member| member < count).collect();
            assert_eq!(block.verify(), Err(CoSignatureError::Quorum { round: 2, expected: 7, got: count }));
        }
    }

    #[test]
    fn bitmaps_have_a_bit_for_each_member() {
        let mut block = Block::all().swap_remove(0);
        let error = |round, got| Err(CoSignatureError::BitmapLength { round, expected: 10, got });
        block.cosignatures.b2.push(false);
        assert_eq!(block.verify(), error(2, 11));
        block.cosignatures.b2.truncate(9);
        assert_eq!(block.verify(), error(2, 9));
        block.cosignatures.b1 = vec![true; 65_536];
        assert_eq!(block.verify(), error(1, 65_536));
        assert_eq!(verify_first_round(&block.cosignatures, &block.header, &block.committee), error(1, 65_536));
    }

    #[test]
    fn an_empty_committee_signs_nothing() {
        let cosignatures = CoSignatures { cs1: Signature::ZERO, b1: vec![], cs2: Signature::ZERO, b2: vec![] };
        let error = CoSignatureError::Aggregate { round: 2, source: AggregateError::Empty };
        assert_eq!(verify(&cosignatures, HEADER, &[]), Err(error));
    }

    #[test]
    fn signs_alone_in_both_rounds() {
        let key = KeyPair::generate(&mut ChaCha8Rng::seed_from_u64(0));
        let cosignatures = cosign_alone(HEADER, &key).unwrap();
        assert_eq!(verify(&cosignatures, HEADER, &[key.public_key()]), Ok(()));
        assert_eq!(verify_first_round(&cosignatures, HEADER, &[key.public_key()]), Ok(()));
        assert_eq!((&cosignatures.b1, &cosignatures.b2), (&vec![true], &vec![true]));
        assert_eq!(cosign_alone(HEADER, &key), Ok(cosignatures.clone()));

        let other = KeyPair::generate(&mut ChaCha8Rng::seed_from_u64(1)).public_key();
        let mismatch = Err(CoSignatureError::Signature { round: 2, source: VerifyError::Mismatch });
        assert_eq!(verify(&cosignatures, HEADER, &[other]), mismatch);
        assert_eq!(verify(&cosignatures, b"another header", &[key.public_key()]), mismatch);
        assert_eq!(cosign_alone(&[], &key), Err(SignError::EmptyMessage));
    }

    /// Two signatures with the same nonce and different challenges reveal the key, because they are two linear
    /// equations with two unknowns.
    #[test]
    fn signing_alone_shares_no_nonce_with_ordinary_signatures() {
        let key = KeyPair::generate(&mut ChaCha8Rng::seed_from_u64(0));
        let cosignatures = cosign_alone(HEADER, &key).unwrap();
        let message = cosignatures.message_for_second_round(HEADER).unwrap();
        let signed = [
            cosignatures.cs1,
            cosignatures.cs2,
            key.sign(HEADER).unwrap(),
            key.sign(&message).unwrap(),
            key.sign(&[&[0x11], HEADER].concat()).unwrap(),
            key.sign(&[&[0x11], &message[..]].concat()).unwrap(),
        ];
        let commitments = signed.map(|signature| schnorr::commitment(&signature, &key.public_key()).unwrap());
        for (position, commitment) in commitments.iter().enumerate() {
            assert!(!commitments[..position].contains(commitment), "commitment {position} repeats");
        }
    }
}
