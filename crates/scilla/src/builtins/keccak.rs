//! Keccak-256 with the original padding: in assembly with the feature `asm`, otherwise in Rust.

#[cfg(feature = "asm")]
use keccak_asm::{Digest, Keccak256 as Implementation};
#[cfg(not(feature = "asm"))]
use sha3::{Digest, Keccak256 as Implementation};

/// A hash in progress.
pub(super) struct Keccak256(Implementation);

impl Keccak256 {
    pub(super) fn new() -> Self {
        Self(Implementation::new())
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        // The implementations use different versions of the crate `digest`, so the calls name the imported trait.
        Digest::update(&mut self.0, bytes);
    }

    pub(super) fn finish(self) -> Vec<u8> {
        Digest::finalize(self.0).to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_the_padding_of_keccak() {
        let digest = Keccak256::new().finish();
        assert_eq!(digest.len(), 32);
        assert!(digest.starts_with(&[0xc5, 0xd2, 0x46, 0x01, 0x86, 0xf7, 0x23, 0x3c]));
    }

    #[test]
    #[cfg(feature = "asm")]
    fn agrees_with_a_portable_implementation_at_every_length() {
        let bytes: Vec<u8> = (0..=u8::MAX).cycle().take(600).collect();
        for len in 0..bytes.len() {
            let (head, tail) = bytes[..len].split_at(len / 3);
            let mut hasher = Keccak256::new();
            hasher.update(head);
            hasher.update(tail);
            let expected = <sha3::Keccak256 as sha3::Digest>::digest(&bytes[..len]);
            assert_eq!(hasher.finish(), expected.to_vec(), "length {len}");
        }
    }
}
