//! The seal of a body: its co-signatures.

use silica_chain::Proposal;
use silica_crypto::{CoSignatureError, cosign};
use silica_protocol::{CoSignatures, DecodeError, PublicKey, Signature};

use crate::{
    bounds::MAX_COSIGN_MESSAGE,
    wire::{Reader, Writer, value},
};

/// Bytes of the signatures of an item.
const ITEM: usize = 2 * Signature::LEN;

/// The co-signatures of all items of a body. The same members signed each item, in both rounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seal {
    /// The signers, in the order of the committee.
    pub signers: Vec<bool>,
    /// The signatures of each item, in the order of [`Body::items`](crate::Body::items).
    pub items: Vec<ItemSignatures>,
}

/// The two signatures of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemSignatures {
    /// Signature of the first round, over the header.
    pub cs1: Signature,
    /// Signature of the second round, over the header and the result of the first round.
    pub cs2: Signature,
}

/// Reason why a seal is not the seal of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// The seal has another number of items than the body.
    #[error("seal: expected the signatures of {expected} items, got {got}")]
    Items {
        /// Number of items of the body.
        expected: usize,
        /// Number of items of the seal.
        got: usize,
    },
    /// The committee did not sign an item.
    #[error("seal: item {item}: {source}")]
    Item {
        /// Position of the item, from 0.
        item: usize,
        /// The fault of the signatures.
        source: CoSignatureError,
    },
}

impl Seal {
    /// Returns the seal of signed blocks. Returns `None` if the blocks or the two rounds have different signers.
    pub fn of_proposal(proposal: &Proposal) -> Option<Self> {
        let ds = proposal.ds_block.iter().map(|block| &block.cosignatures);
        let micro = proposal.micro_blocks.iter().map(|block| &block.cosignatures);
        let items = ds.chain(micro).chain([&proposal.tx_block.cosignatures]);
        let signers = &proposal.tx_block.cosignatures.b2;
        let item = |item: &CoSignatures| {
            let is_same = item.b1 == *signers && item.b2 == *signers;
            is_same.then_some(ItemSignatures { cs1: item.cs1, cs2: item.cs2 })
        };
        let items = items.map(item).collect::<Option<_>>()?;
        Some(Self { signers: signers.clone(), items })
    }

    /// Copies the co-signatures to the blocks of the body.
    pub fn sign(&self, proposal: &mut Proposal) {
        let ds = proposal.ds_block.iter_mut().map(|block| &mut block.cosignatures);
        let micro = proposal.micro_blocks.iter_mut().map(|block| &mut block.cosignatures);
        let blocks = ds.chain(micro).chain([&mut proposal.tx_block.cosignatures]);
        blocks.zip(self.cosignatures()).for_each(|(block, cosignatures)| *block = cosignatures);
    }

    /// Returns the co-signatures of each block of the body, in the order of the items.
    pub fn cosignatures(&self) -> impl Iterator<Item = CoSignatures> {
        self.items.iter().map(|item| CoSignatures {
            cs1: item.cs1,
            b1: self.signers.clone(),
            cs2: item.cs2,
            b2: self.signers.clone(),
        })
    }

    /// Verifies that the committee signed each item in both rounds. Signatures of the first round must be over the
    /// final headers.
    ///
    /// # Errors
    ///
    /// [`SealError`] names the item and the fault.
    pub fn verify(&self, items: &[Vec<u8>], committee: &[PublicKey]) -> Result<(), SealError> {
        if self.items.len() != items.len() {
            return Err(SealError::Items { expected: items.len(), got: self.items.len() });
        }
        for (item, (cosignatures, header)) in self.cosignatures().zip(items).enumerate() {
            cosign::verify_first_round(&cosignatures, header, committee)
                .and_then(|()| cosign::verify(&cosignatures, header, committee))
                .map_err(|source| SealError::Item { item, source })?;
        }
        Ok(())
    }

    /// Returns the canonical bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.bits(&self.signers);
        writer.count(self.items.len());
        for item in &self.items {
            writer.fixed(item.cs1.as_bytes());
            writer.fixed(item.cs2.as_bytes());
        }
        writer.finish()
    }

    /// Reads the canonical bytes of a seal by a committee of `members` members. Encoding the result returns the same
    /// bytes. The function does not verify the signatures.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] if the bytes are not canonical, the committee of the seal has another size, or the number of
    /// signers is not the quorum of the committee.
    pub fn decode(bytes: &[u8], members: usize) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let signers = reader.bits("Seal.signers")?;
        if signers.len() != members {
            return Err(value("Seal.signers", format!("{members} bits"), signers.len()));
        }
        let (expected, got) = (cosign::quorum(members), signers.iter().filter(|signer| **signer).count());
        if expected != got {
            return Err(value("Seal.signers", format!("{expected} signers"), got));
        }
        let items = (0..reader.count("Seal.items", MAX_COSIGN_MESSAGE / ITEM)?)
            .map(|_| {
                let mut signature = || reader.fixed("Seal.items").map(Signature::new);
                Ok(ItemSignatures { cs1: signature()?, cs2: signature()? })
            })
            .collect::<Result<Vec<_>, DecodeError>>()?;
        reader.finish("Seal")?;
        Ok(Self { signers, items })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use silica_crypto::{KeyPair, VerifyError};

    use super::*;
    use crate::testing;

    /// Returns a committee of four, the items of a body, and its seal.
    fn sealed() -> (Vec<PublicKey>, Vec<Vec<u8>>, Seal) {
        let keys = testing::keys(4);
        let items = testing::body(9, true, 2).items();
        let seal = testing::seal(&keys, &[true, false, true, true], &items);
        (keys.iter().map(KeyPair::public_key).collect(), items, seal)
    }

    #[test]
    fn seals_verify_and_round_trip() {
        let (committee, items, seal) = sealed();
        assert_eq!(seal.verify(&items, &committee), Ok(()));
        assert_eq!(Seal::decode(&seal.encode(), 4), Ok(seal));
    }

    #[test]
    fn blocks_keep_their_seal() {
        let (_, _, seal) = sealed();
        let mut blocks = testing::body(9, true, 2).into_proposal();
        seal.sign(&mut blocks);
        assert_eq!(Seal::of_proposal(&blocks), Some(seal));
        let different = |change: &dyn Fn(&mut Proposal)| {
            let mut blocks = blocks.clone();
            change(&mut blocks);
            Seal::of_proposal(&blocks)
        };
        let bits = vec![true, true, true, false];
        assert_eq!(different(&|blocks| blocks.micro_blocks[1].cosignatures.b1 = bits.clone()), None);
        assert_eq!(different(&|blocks| blocks.micro_blocks[1].cosignatures.b2 = bits.clone()), None);
        assert_eq!(different(&|blocks| blocks.tx_block.cosignatures.b2 = bits.clone()), None);
        assert_eq!(different(&|blocks| blocks.ds_block.as_mut().unwrap().cosignatures.b1 = bits.clone()), None);
    }

    #[test]
    fn false_seals_are_rejected() {
        let (committee, items, seal) = sealed();
        let verify = |change: &dyn Fn(&mut Seal)| {
            let mut seal = seal.clone();
            change(&mut seal);
            seal.verify(&items, &committee)
        };
        let mismatch = |item, round| {
            let source = CoSignatureError::Signature { round, source: VerifyError::Mismatch };
            Err(SealError::Item { item, source })
        };
        assert_eq!(
            verify(&|seal| {
                seal.items.pop();
            }),
            Err(SealError::Items { expected: 4, got: 3 })
        );
        assert_eq!(verify(&|seal| seal.items.push(seal.items[0])), Err(SealError::Items { expected: 4, got: 5 }));
        assert_eq!(verify(&|seal| seal.items.swap(1, 2)), mismatch(1, 1));
        // Another valid signature of the first round does not match the second round.
        let other = testing::seal_with_seed(&testing::keys(4), &[true, false, true, true], &items, 99);
        assert_eq!(other.verify(&items, &committee), Ok(()));
        assert_eq!(verify(&|seal| seal.items[2].cs1 = other.items[2].cs1), mismatch(2, 2));
        assert_eq!(verify(&|seal| seal.items[3].cs2 = other.items[3].cs2), mismatch(3, 2));
        assert_eq!(verify(&|seal| seal.signers = vec![true, true, false, true]), mismatch(0, 1));
        let quorum = CoSignatureError::Quorum { round: 1, expected: 3, got: 4 };
        let quorum = Err(SealError::Item { item: 0, source: quorum });
        assert_eq!(verify(&|seal| seal.signers = vec![true; 4]), quorum);
        let mut headers = items.clone();
        headers[3] = testing::body(11, true, 2).items()[3].clone();
        assert_eq!(seal.verify(&headers, &committee), mismatch(3, 1));
    }

    #[test]
    fn other_spellings_are_rejected() {
        let (_, _, seal) = sealed();
        let bytes = seal.encode();
        let error = |bytes: &[u8], members| Seal::decode(bytes, members).unwrap_err().to_string();
        assert_eq!(error(&bytes, 5), "Seal.signers: expected 5 bits, got 4");
        let more = Seal { signers: vec![true; 4], ..seal };
        assert_eq!(error(&more.encode(), 4), "Seal.signers: expected 3 signers, got 4");
        let mut padded = bytes.clone();
        padded[2] |= 1;
        assert_eq!(error(&padded, 4), "Seal.signers: expected zeros after 4 bits, got a one");
        let longer = [&bytes[..], &[0]].concat();
        assert_eq!(error(&longer, 4), "Seal: expected no bytes after the last field, got 1 bytes");
        let items = [&bytes[..3], &[0, 0, 0, 129][..]].concat();
        assert_eq!(error(&items, 4), "Seal.items: expected at most 128, got 129");
        for len in 0..bytes.len() {
            assert!(Seal::decode(&bytes[..len], 4).is_err(), "{len} bytes");
        }
    }

    proptest! {
        #[test]
        fn a_changed_byte_changes_the_seal_or_is_rejected(at in any::<prop::sample::Index>(), bit in 0_u8..8) {
            let (_, _, seal) = sealed();
            let mut bytes = seal.encode();
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            if let Ok(decoded) = Seal::decode(&bytes, 4) {
                prop_assert_eq!(decoded.encode(), bytes);
                prop_assert_ne!(decoded, seal);
            }
        }
    }
}
