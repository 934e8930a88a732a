//! The identity of a member's connections.

use std::{fmt, str::FromStr};

/// The digits of base 58, in the alphabet of Bitcoin.
const ALPHABET: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
/// The bytes in front of an Ed25519 key: a multihash without a hash function, of 36 bytes, and a protobuf message with
/// the type of the key and its length.
const PREFIX: [u8; 6] = [0x00, 0x24, 0x08, 0x01, 0x12, 0x20];
/// Length of a peer id, in bytes.
const LEN: usize = 38;
/// Length of the text of a peer id, in characters. Every peer id begins with `12D3KooW`.
const DIGITS: usize = 52;

/// Identity of the connections of a member: its Ed25519 public key. The text is a peer id of libp2p.
///
/// The type does not check that the key is a point of the curve.
///
/// # Examples
///
/// ```
/// use silica_council::PeerId;
/// let peer: PeerId = "12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN".parse()?;
/// assert_eq!(peer.to_string(), "12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN");
/// # Ok::<(), silica_council::PeerIdError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PeerId([u8; 32]);

/// A text is not the peer id of an Ed25519 key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a peer id of an Ed25519 key, which has 52 characters and begins with 12D3KooW")]
pub struct PeerIdError;

impl PeerId {
    /// Wraps the bytes of an Ed25519 public key.
    pub const fn new(key: [u8; 32]) -> Self {
        Self(key)
    }

    /// Returns the bytes of the Ed25519 public key.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl FromStr for PeerId {
    type Err = PeerIdError;

    fn from_str(text: &str) -> Result<Self, PeerIdError> {
        if text.len() != DIGITS {
            return Err(PeerIdError);
        }
        let mut bytes = [0_u8; LEN];
        for digit in text.bytes() {
            let digit = ALPHABET.iter().position(|known| *known == digit).ok_or(PeerIdError)?;
            let mut carry = u32::try_from(digit).map_err(|_| PeerIdError)?;
            for byte in bytes.iter_mut().rev() {
                carry = u32::from(*byte).wrapping_mul(58).wrapping_add(carry);
                let [.., low] = carry.to_be_bytes();
                *byte = low;
                carry >>= 8;
            }
            if carry != 0 {
                return Err(PeerIdError);
            }
        }
        let key = bytes.strip_prefix(&PREFIX).and_then(|key| key.try_into().ok()).ok_or(PeerIdError)?;
        let peer = Self(key);
        // The first digit stands for the first byte, which is zero. Any other text of this number has another length.
        if peer.to_string() == text { Ok(peer) } else { Err(PeerIdError) }
    }
}

impl fmt::Display for PeerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The first byte is zero, and has the digit 1 of its own. The number has the other 51 digits.
        let mut digits = [0_u8; DIGITS];
        for byte in PREFIX.iter().chain(&self.0) {
            let mut carry = u32::from(*byte);
            for digit in digits.iter_mut().rev() {
                carry = u32::from(*digit).wrapping_mul(256).wrapping_add(carry);
                *digit = u8::try_from(carry % 58).unwrap_or_default();
                carry /= 58;
            }
        }
        digits.iter().try_for_each(|digit| {
            let digit = ALPHABET.get(usize::from(*digit)).copied().unwrap_or(b'1');
            fmt::Write::write_char(f, char::from(digit))
        })
    }
}

impl fmt::Debug for PeerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PeerId({self})")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The pair is an example of the specification of peer ids of libp2p.
    #[test]
    fn a_published_peer_id_has_its_key() {
        let key = "1ed1e8fae2c4a144b8be8fd4b47bf3d3b34b871c3cacf6010f0e42d474fce27e";
        let peer = PeerId::new(silica_protocol::hex::decode(key).unwrap().try_into().unwrap());
        assert_eq!(peer.to_string(), "12D3KooWBtg3aaRMjxwedh83aGiUkwSxDwUZkzuJcfaqUmo7R3pq");
    }

    #[test]
    fn other_texts_are_rejected() {
        let id = PeerId::new([7; 32]).to_string();
        let texts = [
            String::new(),
            "QmYyQSo1c1Ym7orWxLYvCrM2EmxFTANf8wXmmE7DWjhx5N".to_owned(),
            id[1..].to_owned(),
            format!("1{id}"),
            format!("{}0", &id[..51]),
            format!("{}l", &id[..51]),
            format!("2{}", &id[1..]),
            "z".repeat(52),
            "1".repeat(52),
        ];
        for text in texts {
            assert_eq!(text.parse::<PeerId>(), Err(PeerIdError), "{text}");
        }
    }

    proptest! {
        #[test]
        fn texts_round_trip(key: [u8; 32]) {
            let text = PeerId::new(key).to_string();
            prop_assert!(text.len() == 52 && text.starts_with("12D3KooW"), "{}", text);
            prop_assert_eq!(text.parse(), Ok(PeerId::new(key)));
        }
    }
}
