//! EC-Schnorr signatures and multisignatures over secp256k1, as Zilliqa has them.
//!
//! ```
//! use silica_crypto::{KeyPair, SecretKey, VerifyError, sign, verify};
//!
//! let key = KeyPair::from_secret(SecretKey::from_bytes([7; 32])?);
//! let signature = sign(b"pay 1 ZIL", &key)?;
//! assert_eq!(verify(b"pay 1 ZIL", &signature, &key.public()), Ok(()));
//! assert_eq!(verify(b"pay 9 ZIL", &signature, &key.public()), Err(VerifyError::Mismatch));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Modules
//!
//! Layers, lowest first:
//!
//! - `error`, `scalar`, [`bn254`], `ecdsa`: all error types; arithmetic modulo the group order, and the sum s·G + r·P, by
//!   libsecp256k1; the curves that the contract language needs beyond Schnorr.
//! - `key`: [`SecretKey`]s, which are never printed and are overwritten when dropped, and [`KeyPair`]s.
//! - `derivation`, `nonce`: [`DerivableKey`]s, the hierarchy of keys of a seed; [`Nonces`], the secret number behind each
//!   signature.
//! - `schnorr`: [`sign`] and [`verify`].
//! - [`multisig`]: several signers, one signature.
//! - [`cosign`]: the two rounds of multisignatures under a block.
//!
//! # What takes constant time, and what does not
//!
//! Constant time in the secrets, as far as libsecp256k1 is: reading a [`SecretKey`] from bytes, comparing two,
//! computing a public key or commit point (blinded besides), and computing a response k − r·d. Deriving nonces hashes
//! secrets of fixed length. The number of nonces that are tried depends on secrets, but exceeds one about once in
//! 2¹²⁷ signatures.
//!
//! Not constant time: everything about verification, whose inputs are public, and reading a [`SecretKey`] from text.
//!
//! # Invariants
//!
//! - Secret numbers are overwritten when the value that owns them is dropped. Copies that the compiler or
//!   libsecp256k1 leave in dead stack frames are beyond that.
//! - No error and no `Debug` text shows secret bytes.
//! - There is no source of randomness here: it arrives as an argument. What takes none is deterministic.
//! - The crate knows bytes to be signed, but no transaction and no block header. Which keys make up a committee, and
//!   that they proved possession, is for its callers to know.

pub mod bn254;
pub mod cosign;
mod derivation;
mod ecdsa;
mod error;
mod key;
pub mod multisig;
mod nonce;
mod scalar;
mod schnorr;
#[cfg(test)]
mod testing;

pub use crate::{
    derivation::DerivableKey,
    ecdsa::{EcdsaError, recover_ecdsa, verify_ecdsa},
    error::{
        AggregateError, CoSignatureError, PossessionError, ResponseError, RoundValueError, SecretKeyError, SignError,
        VerifyError,
    },
    key::{KeyPair, SecretKey},
    nonce::Nonces,
    schnorr::{sign, sign_with, sign_with_rng, verify},
};
