//! Public keys and signatures as bytes, undecoded: whether a key is a point of the curve is for `crypto` to say.

use crate::{address::Address, bytes::fixed_bytes};

fixed_bytes! {
    /// A public key in SEC1 compressed form: 2 or 3 for the parity of y, then x, 33 bytes.
    ///
    /// # Examples
    ///
    /// ```
    /// use silica_protocol::{Address, PublicKey};
    /// let key: PublicKey = "0x0314738163B9BB67AD11AA464FE69A1147DF263E8970D7DCFD8F993DDD39E81BD9".parse()?;
    /// assert_eq!(format!("{key:X}"), "0314738163B9BB67AD11AA464FE69A1147DF263E8970D7DCFD8F993DDD39E81BD9");
    /// assert_eq!(Address::from_public_key(&key).to_string(), "4baf5fada8e5db92c3d3242618c5b47133ae003c");
    /// # Ok::<(), silica_protocol::HexError>(())
    /// ```
    PublicKey, 33
}
fixed_bytes! {
    /// An EC-Schnorr signature: the challenge `r` and the response `s`, 32 bytes each, big endian.
    Signature, 64
}

/// Bytes before the address in what stands in place of a key.
const PADDING: usize = PublicKey::LEN - Address::LEN;

impl PublicKey {
    /// Returns what stands in place of the key in a transaction that nobody signed, which a network for developers makes
    /// for any address: zeros and the address. It is no key, for these begin with 2 or 3.
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

    /// Returns the address for which this stands in place of a key, or `None` for what may be a key.
    pub fn impersonated(&self) -> Option<Address> {
        let (padding, address) = self.as_bytes().split_at_checked(PADDING)?;
        let address = Address::new(address.try_into().ok()?);
        padding.iter().all(|byte| *byte == 0).then_some(address)
    }
}
