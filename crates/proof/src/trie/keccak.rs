//! Keccak-256 with the original padding, the hash function of the trie.

#[cfg(feature = "asm")]
use keccak_asm::{Digest, Keccak256};
#[cfg(not(feature = "asm"))]
use sha3::{Digest, Keccak256};

/// Returns the Keccak-256 hash of the concatenation of `parts`.
///
/// With the feature `asm`, the implementation is in assembly and takes 80 % of the time of the portable implementation.
pub fn keccak256(parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Keccak256::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_the_padding_of_keccak() {
        let empty = "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470";
        assert_eq!(hex::encode(keccak256(&[])), empty);
    }

    #[test]
    #[cfg(feature = "asm")]
    fn agrees_with_a_portable_implementation_at_every_length() {
        let bytes: Vec<u8> = (0..=u8::MAX).cycle().take(600).collect();
        for len in 0..bytes.len() {
            let (head, tail) = bytes[..len].split_at(len / 3);
            let expected: [u8; 32] = sha3::Digest::finalize(sha3::Digest::chain_update(
                <sha3::Keccak256 as sha3::Digest>::new(),
                &bytes[..len],
            ))
            .into();
            assert_eq!(keccak256(&[head, tail]), expected, "length {len}");
        }
    }
}
