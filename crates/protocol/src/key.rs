//! Public keys and signatures as bytes, undecoded: whether a key is a point of the curve is for `crypto` to say.

use crate::bytes::fixed_bytes;

fixed_bytes! {
    /// A public key in SEC1 compressed form, 33 bytes.
    PublicKey, 33
}
fixed_bytes! {
    /// An EC-Schnorr signature: the challenge `r` and the response `s`, 32 bytes each, big endian.
    Signature, 64
}
