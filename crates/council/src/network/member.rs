//! The members of a network, and the proofs that they have the secret keys.

use silica_crypto::{KeyPair, PossessionError, multisig};
use silica_protocol::{ChainId, PublicKey, Signature};

use super::peer::PeerId;
use crate::wire::Writer;

/// The text in front of a signed proof. The first byte is zero, and no serialised transaction or header begins with
/// zero.
const TAG: &[u8] = b"\0silica member v1";

/// A member of the committee.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Name of the member, unique in the network.
    pub name: String,
    /// Key that signs votes and blocks.
    pub key: PublicKey,
    /// Proof that the member has the secret key: an ordinary signature.
    pub possession: Signature,
    /// Identity of the connections of the member.
    pub peer: PeerId,
}

impl Member {
    /// Creates a member with a proof of possession for the network with this name and chain id.
    ///
    /// # Panics
    ///
    /// Never: the signed message is not empty.
    pub fn new(name: String, key: &KeyPair, peer: PeerId, network: &str, chain_id: ChainId) -> Self {
        let submission = submission(network, chain_id, &key.public_key(), &peer);
        let possession = multisig::prove_possession(&submission, key).expect("the submission has bytes");
        Self { name, key: key.public_key(), possession, peer }
    }

    /// Verifies the proof of possession for the network with this name and chain id.
    ///
    /// A committee adds keys without coefficients. Without a proof, a member could choose its key so that it cancels
    /// the keys of others.
    ///
    /// # Errors
    ///
    /// [`PossessionError::Signature`] if the proof is false, or belongs to another network, key or peer.
    pub fn verify_possession(&self, network: &str, chain_id: ChainId) -> Result<(), PossessionError> {
        multisig::verify_possession(&submission(network, chain_id, &self.key, &self.peer), &self.possession, &self.key)
    }
}

/// Returns the signed bytes of a proof. They contain no network id, because the network id depends on the proofs.
fn submission(network: &str, chain_id: ChainId, key: &PublicKey, peer: &PeerId) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.fixed(TAG);
    writer.bytes(network.as_bytes());
    writer.u16(chain_id.get());
    writer.fixed(key.as_bytes());
    writer.fixed(peer.as_bytes());
    writer.finish()
}

#[cfg(test)]
mod tests {
    use silica_crypto::VerifyError;

    use super::*;

    #[test]
    fn a_proof_belongs_to_one_network_key_and_peer() {
        let keys = ["01", "02"].map(|byte| KeyPair::from_hex(&byte.repeat(32)).unwrap());
        let chain = ChainId::new(333);
        let member = Member::new("a".to_owned(), &keys[0], PeerId::new([1; 32]), "net", chain);
        assert_eq!(member.verify_possession("net", chain), Ok(()));
        let mismatch = Err(PossessionError::Signature(VerifyError::Mismatch));
        assert_eq!(member.verify_possession("net2", chain), mismatch);
        assert_eq!(member.verify_possession("net", ChainId::new(334)), mismatch);
        let other = Member { key: keys[1].public_key(), ..member.clone() };
        assert_eq!(other.verify_possession("net", chain), mismatch);
        let other = Member { peer: PeerId::new([2; 32]), ..member.clone() };
        assert_eq!(other.verify_possession("net", chain), mismatch);
        let other = Member { possession: Signature::new([1; 64]), ..member };
        assert_eq!(other.verify_possession("net", chain), mismatch);
    }

    #[test]
    fn a_proof_is_no_transaction() {
        let key = KeyPair::from_hex(&"01".repeat(32)).unwrap().public_key();
        assert_eq!(submission("net", ChainId::new(1), &key, &PeerId::new([1; 32]))[0], 0);
    }
}
