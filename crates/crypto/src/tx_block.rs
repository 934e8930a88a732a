//! The verification of a Tx block by the keys of its committee.

use silica_protocol::{MbInfoHash, PublicKey, StateRoot, TxBlock};

use crate::{cosign, error::TxBlockError};

/// Verifies that a committee signed a Tx block, and returns the state root of the block.
///
/// The function verifies the header, the list of micro blocks, and the second round of the co-signature, as
/// [`cosign::verify`] describes. No signature covers the timestamp of the block.
///
/// The caller determines `committee`: the keys of the DS committee of the DS epoch, in the order of its member list. A
/// node that produces blocks alone is a committee of one member.
///
/// # Errors
///
/// [`TxBlockError::CoSignature`] names the fault of the signatures. [`TxBlockError::MicroBlocks`]: the list of micro
/// blocks does not match the header.
///
/// # Examples
///
/// ```
/// use silica_crypto::{KeyPair, cosign, verify_tx_block};
/// use silica_protocol::{CoSignatures, TxBlock, TxBlockHeader, Timestamp};
///
/// let node = KeyPair::from_hex(&"01".repeat(32))?;
/// let header = TxBlockHeader::genesis(node.public_key());
/// # let block = TxBlock {
/// #     cosignatures: cosign::cosign_alone(&header.encode(), &node)?,
/// #     header,
/// #     micro_blocks: vec![],
/// #     timestamp: Timestamp::new(0),
/// # };
/// # let bytes = block.encode();
/// // `bytes` is the result of `GetRawTxBlock`.
/// let block = TxBlock::decode(&bytes)?;
/// let root = verify_tx_block(&block, &[node.public_key()])?;
/// assert_eq!(root, block.header.state_root);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn verify_tx_block(block: &TxBlock, committee: &[PublicKey]) -> Result<StateRoot, TxBlockError> {
    cosign::verify(&block.cosignatures, &block.header.encode(), committee)?;
    let (expected, got) = (block.header.mb_info_hash, MbInfoHash::of(&block.micro_blocks));
    if expected != got {
        return Err(TxBlockError::MicroBlocks { expected, got });
    }
    Ok(block.header.state_root)
}

#[cfg(test)]
mod tests {
    use silica_protocol::TxBlockHeader;

    use super::*;
    use crate::{
        error::{CoSignatureError, VerifyError},
        key::KeyPair,
        testing::{all_vectors, bytes, public_key},
    };

    /// Returns the published Tx blocks with known committees.
    fn published() -> Vec<(TxBlock, Vec<PublicKey>)> {
        let known = |case: &serde_json::Value| case["cosignature"].is_object() && case["kind"] == "tx_block";
        let cases: Vec<_> = all_vectors("blocks").into_iter().filter(known).collect();
        assert!(!cases.is_empty());
        let committee = |case: &serde_json::Value| {
            case["cosignature"]["committee"].as_array().unwrap().iter().map(public_key).collect()
        };
        cases
            .iter()
            .map(|case| (TxBlock::decode(&bytes(&case["serialized_block"])).unwrap(), committee(case)))
            .collect()
    }

    #[test]
    fn published_blocks_give_their_state_root() {
        for (block, committee) in published() {
            assert_eq!(verify_tx_block(&block, &committee), Ok(block.header.state_root));
        }
    }

    #[test]
    fn changes_to_a_block_are_noticed() {
        let mismatch = || Err(CoSignatureError::Signature { round: 2, source: VerifyError::Mismatch }.into());
        for (block, mut committee) in published() {
            let mut changed = block.clone();
            changed.header.state_root = StateRoot::ZERO;
            assert_eq!(verify_tx_block(&changed, &committee), mismatch());

            let mut changed = block.clone();
            changed.micro_blocks.swap(0, 1);
            let (expected, got) = (block.header.mb_info_hash, MbInfoHash::of(&changed.micro_blocks));
            assert_eq!(verify_tx_block(&changed, &committee), Err(TxBlockError::MicroBlocks { expected, got }));

            committee.swap(0, 9);
            assert_eq!(verify_tx_block(&block, &committee), mismatch());
        }
    }

    #[test]
    fn a_single_member_is_a_committee() {
        let [node, other] = ["01", "02"].map(|byte| KeyPair::from_hex(&byte.repeat(32)).unwrap());
        let header = TxBlockHeader { state_root: StateRoot::new([7; 32]), ..TxBlockHeader::genesis(node.public_key()) };
        let cosignatures = cosign::cosign_alone(&header.encode(), &node).unwrap();
        let block = TxBlock { header, micro_blocks: vec![], cosignatures, ..TxBlock::missing() };
        assert_eq!(verify_tx_block(&block, &[node.public_key()]), Ok(StateRoot::new([7; 32])));
        let mismatch = CoSignatureError::Signature { round: 2, source: VerifyError::Mismatch };
        assert_eq!(verify_tx_block(&block, &[other.public_key()]), Err(mismatch.into()));
    }
}
