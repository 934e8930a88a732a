//! Derivation of many keys from one seed, as in hierarchical deterministic wallets (BIP-32).

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha512;
use zeroize::Zeroizing;

use crate::{curve::Scalar, error::SecretKeyError, key::SecretKey};

/// The HMAC key of the derivation of the first key (BIP-32).
const MASTER: &[u8] = b"Bitcoin seed";

/// The first hardened index. The public key of a hardened child cannot be derived from the public key of its parent.
const HARDENED: u32 = 1 << 31;

/// A secret key from which other keys are derived.
///
/// # Examples
///
/// The example derives the first account of a Zilliqa wallet. The coin type of Zilliqa is 313 (BIP-44):
///
/// ```
/// use silica_crypto::DerivableKey;
///
/// let account = DerivableKey::from_seed(&[7; 64])?.hardened(44)?.hardened(313)?.hardened(0)?;
/// let first = account.child(0)?.child(0)?;
/// assert_ne!(first.secret(), account.child(0)?.child(1)?.secret());
/// # Ok::<(), silica_crypto::SecretKeyError>(())
/// ```
#[derive(Clone)]
pub struct DerivableKey {
    secret: SecretKey,
    chain_code: Zeroizing<[u8; 32]>,
}

impl DerivableKey {
    /// Derives the first key from a seed.
    ///
    /// # Errors
    ///
    /// [`SecretKeyError::Range`] if the seed gives no valid key. This is true of about one seed in 2^127.
    pub fn from_seed(seed: &[u8]) -> Result<Self, SecretKeyError> {
        let (left, chain_code) = halves(MASTER, &[seed]);
        Ok(Self { secret: SecretKey::from_bytes(*left)?, chain_code })
    }

    /// Derives the child with this index, which must be below 2^31.
    ///
    /// # Errors
    ///
    /// [`SecretKeyError::Range`] if the index is 2^31 or more, or gives no valid key. About one index in 2^127 gives no
    /// valid key.
    pub fn child(&self, index: u32) -> Result<Self, SecretKeyError> {
        let parent = self.secret.public_key();
        self.derive(parent.as_bytes(), Some(index).filter(|index| *index < HARDENED))
    }

    /// Derives the hardened child with this index, which must be below 2^31.
    ///
    /// # Errors
    ///
    /// The errors of [`child`](Self::child).
    pub fn hardened(&self, index: u32) -> Result<Self, SecretKeyError> {
        let mut parent = Zeroizing::new([0; 33]);
        let (_, number) = parent.split_at_mut(1);
        number.copy_from_slice(&*self.secret.to_bytes());
        self.derive(&*parent, index.checked_add(HARDENED).filter(|index| *index >= HARDENED))
    }

    /// Returns the secret key.
    pub fn secret(&self) -> &SecretKey {
        &self.secret
    }

    fn derive(&self, parent: &[u8], index: Option<u32>) -> Result<Self, SecretKeyError> {
        let index = index.ok_or(SecretKeyError::Range)?;
        let (left, chain_code) = halves(&*self.chain_code, &[parent, &index.to_be_bytes()]);
        let addend = Scalar::from_bytes(*left).ok_or(SecretKeyError::Range)?;
        let sum = self.secret.scalar().plus(&addend).ok_or(SecretKeyError::Range)?;
        Ok(Self { secret: SecretKey::from_bytes(*sum.as_bytes())?, chain_code })
    }
}

impl fmt::Debug for DerivableKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DerivableKey(..)")
    }
}

/// Returns the two halves of an HMAC-SHA-512 over the concatenated parts.
fn halves(key: &[u8], parts: &[&[u8]]) -> (Zeroizing<[u8; 32]>, Zeroizing<[u8; 32]>) {
    let mut mac = Hmac::<Sha512>::new_from_slice(key).expect("HMAC takes keys of any length");
    for part in parts {
        mac.update(part);
    }
    let mut digest = mac.finalize().into_bytes();
    let (mut left, mut right) = (Zeroizing::new([0; 32]), Zeroizing::new([0; 32]));
    let (first, second) = digest.split_at_mut(32);
    left.copy_from_slice(first);
    right.copy_from_slice(second);
    zeroize::Zeroize::zeroize(&mut *first);
    zeroize::Zeroize::zeroize(&mut *second);
    (left, right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_of_the_standard() {
        // The keys m, m/0' and m/0'/1 of the first test vector of BIP-32, from its extended keys.
        let master = DerivableKey::from_seed(&hex::decode("000102030405060708090a0b0c0d0e0f").unwrap()).unwrap();
        let check = |key: &DerivableKey, expected: &str| assert_eq!(key.secret().to_hex().as_str(), expected);
        check(&master, "e8f32e723decf4051aefac8e2c93c9c5b214313817cdb01a1494b917c8436b35");
        let first = master.hardened(0).unwrap();
        check(&first, "edb2e14f9ee77d26dd93b4ecede8d16ed408ce149b6cd80b0715a2d911a0afea");
        check(&first.child(1).unwrap(), "3c6cb8d0f6a264c91ea8b5030fadaa8e538b020f0a387421a12de9319dc93368");
    }

    #[test]
    fn index_beyond_the_last_is_refused() {
        let master = DerivableKey::from_seed(&[1; 16]).unwrap();
        for index in [HARDENED, u32::MAX] {
            assert_eq!(master.child(index).unwrap_err(), SecretKeyError::Range);
            assert_eq!(master.hardened(index).unwrap_err(), SecretKeyError::Range);
        }
        assert_ne!(master.child(HARDENED - 1).unwrap().secret(), master.hardened(HARDENED - 1).unwrap().secret());
    }

    #[test]
    fn debug_hides_the_key() {
        assert_eq!(format!("{:?}", DerivableKey::from_seed(&[1; 16]).unwrap()), "DerivableKey(..)");
    }
}
