//! The bytes that members sign when they agree, for each purpose.
//!
//! The same kind of key signs agreement messages and transactions. The first byte of an agreement message is zero, and
//! no serialised transaction or header begins with zero. Therefore no signature is valid for both.

use silica_crypto::{KeyPair, VerifyError, verify};
use silica_protocol::{PublicKey, Signature};

use crate::{
    entry::{EntryId, Height},
    network::NetworkId,
    wire::Writer,
};

/// Writes the start of a signed message: zero, the tag of the purpose, and the network id.
pub(crate) fn signed(tag: &[u8], network: &NetworkId) -> Writer {
    let mut writer = Writer::default();
    writer.u8(0);
    writer.bytes(tag);
    writer.fixed(network.as_bytes());
    writer
}

/// The kind of a vote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum VoteKind {
    /// The first vote of a round.
    Prevote,
    /// The second vote of a round, after a quorum of prevotes.
    Precommit,
}

/// A vote of a member.
///
/// # Examples
///
/// ```
/// use silica_council::{EntryId, Height, NetworkId, Vote, VoteKind};
/// use silica_crypto::KeyPair;
///
/// let key = KeyPair::from_hex(&"01".repeat(32))?;
/// let network = NetworkId::new([1; 32]);
/// let vote =
///     Vote { kind: VoteKind::Prevote, height: Height::new(1).unwrap(), round: 0, value: Some(EntryId::new([2; 32])) };
/// let signature = vote.sign(&network, &key);
/// assert_eq!(vote.verify(&network, &signature, &key.public_key()), Ok(()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vote {
    /// The kind.
    pub kind: VoteKind,
    /// Height of the agreement.
    pub height: Height,
    /// Round of the height, from 0.
    pub round: u32,
    /// The entry, or `None` for no entry of this round.
    pub value: Option<EntryId>,
}

/// The proposal of an entry by the proposer of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryProposal {
    /// Height of the agreement.
    pub height: Height,
    /// Round of the height, from 0.
    pub round: u32,
    /// The proposed entry.
    pub value: EntryId,
    /// The earlier round in which a quorum sent prevotes for this entry; `None` for a first proposal.
    pub valid_round: Option<u32>,
}

impl Vote {
    /// Returns the bytes that the member signs.
    pub fn signed_bytes(&self, network: &NetworkId) -> Vec<u8> {
        let tag: &[u8] = match self.kind {
            VoteKind::Prevote => b"silica prevote v1",
            VoteKind::Precommit => b"silica precommit v1",
        };
        let mut writer = signed(tag, network);
        writer.u64(self.height.get());
        writer.u32(self.round);
        writer.u8(u8::from(self.value.is_some()));
        writer.fixed(self.value.unwrap_or(EntryId::new([0; 32])).as_bytes());
        writer.finish()
    }

    /// Signs the vote. The same vote has the same signature.
    pub fn sign(&self, network: &NetworkId, key: &KeyPair) -> Signature {
        sign(&self.signed_bytes(network), key)
    }

    /// Verifies the signature of a vote.
    ///
    /// # Errors
    ///
    /// The errors of [`silica_crypto::verify`].
    pub fn verify(&self, network: &NetworkId, signature: &Signature, key: &PublicKey) -> Result<(), VerifyError> {
        verify(&self.signed_bytes(network), signature, key)
    }
}

impl EntryProposal {
    /// Returns the bytes that the proposer signs.
    pub fn signed_bytes(&self, network: &NetworkId) -> Vec<u8> {
        let mut writer = signed(b"silica proposal v1", network);
        writer.u64(self.height.get());
        writer.u32(self.round);
        writer.fixed(self.value.as_bytes());
        writer.u8(u8::from(self.valid_round.is_some()));
        writer.u32(self.valid_round.unwrap_or_default());
        writer.finish()
    }

    /// Signs the proposal. The same proposal has the same signature.
    pub fn sign(&self, network: &NetworkId, key: &KeyPair) -> Signature {
        sign(&self.signed_bytes(network), key)
    }

    /// Verifies the signature of a proposal.
    ///
    /// # Errors
    ///
    /// The errors of [`silica_crypto::verify`].
    pub fn verify(&self, network: &NetworkId, signature: &Signature, key: &PublicKey) -> Result<(), VerifyError> {
        verify(&self.signed_bytes(network), signature, key)
    }
}

/// Signs the bytes of an agreement message.
pub(crate) fn sign(message: &[u8], key: &KeyPair) -> Signature {
    key.sign(message).expect("agreement messages have bytes")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing;

    const NETWORK: NetworkId = NetworkId::new([7; 32]);

    fn vote() -> Vote {
        let height = Height::new(5).unwrap();
        Vote { kind: VoteKind::Prevote, height, round: 0, value: Some(EntryId::new([0; 32])) }
    }

    #[test]
    fn each_field_of_a_vote_is_signed() {
        let (vote, key) = (vote(), &testing::keys(1)[0]);
        let signature = vote.sign(&NETWORK, key);
        assert_eq!(vote.verify(&NETWORK, &signature, &key.public_key()), Ok(()));
        let others = [
            Vote { kind: VoteKind::Precommit, ..vote },
            Vote { height: Height::new(6).unwrap(), ..vote },
            Vote { round: 1, ..vote },
            Vote { value: None, ..vote },
            Vote { value: Some(EntryId::new([1; 32])), ..vote },
        ];
        for other in others {
            let verdict = other.verify(&NETWORK, &signature, &key.public_key());
            assert_eq!(verdict, Err(VerifyError::Mismatch), "{other:?}");
        }
        let network = NetworkId::new([8; 32]);
        assert_eq!(vote.verify(&network, &signature, &key.public_key()), Err(VerifyError::Mismatch));
    }

    #[test]
    fn each_field_of_a_proposal_is_signed() {
        let key = &testing::keys(1)[0];
        let Vote { height, round, .. } = vote();
        let proposal = EntryProposal { height, round, value: EntryId::new([1; 32]), valid_round: None };
        let signature = proposal.sign(&NETWORK, key);
        assert_eq!(proposal.verify(&NETWORK, &signature, &key.public_key()), Ok(()));
        let others = [
            EntryProposal { height: Height::new(6).unwrap(), ..proposal },
            EntryProposal { round: 1, ..proposal },
            EntryProposal { value: EntryId::new([2; 32]), ..proposal },
            EntryProposal { valid_round: Some(0), ..proposal },
            EntryProposal { valid_round: Some(1), ..proposal },
        ];
        for other in others {
            let verdict = other.verify(&NETWORK, &signature, &key.public_key());
            assert_eq!(verdict, Err(VerifyError::Mismatch), "{other:?}");
        }
    }

    proptest! {
        /// The messages of all purposes begin with zero, and differ in a byte before the end of the shorter message.
        #[test]
        fn no_message_is_the_start_of_another(height in 1_u64.., round: u32, id: [u8; 32], network: [u8; 32]) {
            let (network, height, value) = (NetworkId::new(network), Height::new(height).unwrap(), EntryId::new(id));
            let messages = [
                Vote { kind: VoteKind::Prevote, height, round, value: Some(value) }.signed_bytes(&network),
                Vote { kind: VoteKind::Prevote, height, round, value: None }.signed_bytes(&network),
                Vote { kind: VoteKind::Precommit, height, round, value: Some(value) }.signed_bytes(&network),
                EntryProposal { height, round, value, valid_round: None }.signed_bytes(&network),
                EntryProposal { height, round, value, valid_round: Some(0) }.signed_bytes(&network),
            ];
            for (position, message) in messages.iter().enumerate() {
                prop_assert_eq!(message[0], 0);
                for other in &messages[..position] {
                    prop_assert!(!message.starts_with(other) && !other.starts_with(message));
                }
            }
        }
    }
}
