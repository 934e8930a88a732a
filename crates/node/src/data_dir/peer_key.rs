//! The keys of a member of a network with several validators.

use std::io;

use ring::signature::{Ed25519KeyPair, KeyPair as _};
use silica_crypto::KeyPair;
use zeroize::Zeroizing;

use super::{DataDir, DataDirError, MANIFEST, PEER_KEY, io_error};

/// Length of the secret key, in bytes.
const LEN: usize = 32;

/// The secret Ed25519 key of the connections of a member: the seed of RFC 8032. It is erased on drop.
pub(crate) struct PeerKey(Zeroizing<[u8; LEN]>);

impl PeerKey {
    /// Creates a key from random numbers of the operating system.
    fn random() -> io::Result<Self> {
        let mut seed = Zeroizing::new([0; LEN]);
        getrandom::fill(&mut *seed).map_err(io::Error::other)?;
        Ok(Self(seed))
    }

    /// Reads 64 hexadecimal digits. The error text has no part of the digits.
    fn from_hex(text: &str) -> Result<Self, String> {
        let mut seed = Zeroizing::new([0; LEN]);
        let read = hex::decode_to_slice(text, &mut *seed);
        read.map_err(|_| format!("expected 64 hexadecimal digits, got {} other bytes", text.len()))?;
        Ok(Self(seed))
    }

    /// Returns the secret seed.
    #[cfg(feature = "network")]
    pub(crate) fn seed(&self) -> [u8; LEN] {
        *self.0
    }

    /// Returns the public key.
    pub(crate) fn public(&self) -> [u8; LEN] {
        let pair = Ed25519KeyPair::from_seed_unchecked(&*self.0).expect("the seed has 32 bytes");
        pair.public_key().as_ref().try_into().expect("a public key has 32 bytes")
    }
}

impl DataDir {
    /// Returns the keys of a member. Creates each key that does not exist. Fails if the directory has a chain.
    pub(crate) fn member_keys(&self) -> Result<(KeyPair, PeerKey), DataDirError> {
        if self.path.join(MANIFEST).exists() {
            return Err(DataDirError::SingleNode { path: self.path.clone() });
        }
        // Write the peer key first. It prevents the start of a single node with the other key.
        let peer = self.new_peer_key()?;
        Ok((self.new_key()?, peer))
    }

    /// Returns the keys of a member. Fails if a key is missing.
    #[cfg(feature = "network")]
    pub(crate) fn existing_member_keys(&self) -> Result<(KeyPair, PeerKey), DataDirError> {
        let missing =
            |name| move || self.damaged(name, "it is missing; `silica network join` makes the keys of a member");
        let peer = self.read(PEER_KEY)?.ok_or_else(missing(PEER_KEY))?;
        let peer = PeerKey::from_hex(peer.trim_end()).map_err(|reason| self.damaged(PEER_KEY, &reason))?;
        Ok((self.read_key()?.ok_or_else(missing(super::KEY))?, peer))
    }

    fn new_peer_key(&self) -> Result<PeerKey, DataDirError> {
        if let Some(text) = self.read(PEER_KEY)? {
            return PeerKey::from_hex(text.trim_end()).map_err(|reason| self.damaged(PEER_KEY, &reason));
        }
        let path = self.path.join(PEER_KEY);
        let key = PeerKey::random().map_err(|source| io_error("draw a key for", &path, source))?;
        let mut text = Zeroizing::new([b'\n'; 2 * LEN + 1]);
        if let Some(digits) = text.get_mut(..2 * LEN) {
            hex::encode_to_slice(key.0.as_slice(), digits).expect("the digits are two for each byte");
        }
        self.write(PEER_KEY, &*text)?;
        Ok(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pair is the first test of RFC 8032, section 7.1.
    #[test]
    fn a_published_seed_has_its_public_key() {
        let key = PeerKey::from_hex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60").unwrap();
        let public = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
        assert_eq!(hex::encode(key.public()), public);
    }

    #[test]
    fn keys_are_kept_and_never_overwritten() {
        let directory = tempfile::tempdir().unwrap();
        let data_dir = DataDir::create(&directory.path().join("a")).unwrap();
        data_dir.check_single_node().unwrap();
        let (key, peer) = data_dir.member_keys().unwrap();
        let (again, peer_again) = data_dir.member_keys().unwrap();
        assert_eq!((key.public_key(), peer.public()), (again.public_key(), peer_again.public()));
        assert!(matches!(data_dir.check_single_node(), Err(DataDirError::Member { .. })));
        data_dir.write(PEER_KEY, b"abc\n").unwrap();
        let error = data_dir.member_keys().map(drop).unwrap_err().to_string();
        assert!(error.ends_with("peer.key is damaged: expected 64 hexadecimal digits, got 3 other bytes"), "{error}");
    }
}
