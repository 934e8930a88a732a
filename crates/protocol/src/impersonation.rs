//! Placeholders for public keys of accounts that a developer impersonates. Transactions of these accounts have no
//! signature.

use crate::{address::Address, key::PublicKey};

/// Number of zero bytes before the address.
const PADDING: usize = PublicKey::LEN - Address::LEN;

impl PublicKey {
    /// Returns the placeholder for the public key of `address`: zeros, then the address. The placeholder cannot be a
    /// real key, because a key begins with 2 or 3.
    ///
    /// # Examples
    ///
    /// ```
    /// use silica_protocol::{Address, PublicKey};
    /// let address = Address::new([7; 20]);
    /// let key = PublicKey::in_place_of(&address);
    /// assert_eq!(key.impersonated(), Some(address));
    /// assert_eq!(PublicKey::new([2; 33]).impersonated(), None);
    /// ```
    pub fn in_place_of(address: &Address) -> Self {
        let mut bytes = [0; Self::LEN];
        for (byte, of_address) in bytes.iter_mut().skip(PADDING).zip(address.as_bytes()) {
            *byte = *of_address;
        }
        Self::new(bytes)
    }

    /// Returns the address of a placeholder, or `None` for other bytes.
    pub fn impersonated(&self) -> Option<Address> {
        let (padding, address) = self.as_bytes().split_at_checked(PADDING)?;
        let address = Address::new(address.try_into().ok()?);
        padding.iter().all(|byte| *byte == 0).then_some(address)
    }
}
