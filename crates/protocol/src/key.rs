//! Public keys and signatures as bytes. The crate `crypto` checks whether a key is a point of the curve.

use crate::bytes::fixed_bytes;

fixed_bytes! {
    /// A public key in compressed SEC1 form: one byte 2 or 3 for the parity of y, then 32 bytes of x.
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
