//! EC-Schnorr signatures and multisignatures over secp256k1, as Zilliqa defines them.
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
//! - `error`, `scalar`, [`bn254`], `ecdsa`: all error types; arithmetic modulo the group order, and the sum s·G + r·P,
//!   by libsecp256k1; the pairing-friendly curve and the ECDSA functions of Scilla.
//! - `key`: [`SecretKey`]s, which are erased on drop, and [`KeyPair`]s.
//! - `derivation`, `nonce`: [`DerivableKey`]s, which form a hierarchy of keys from one seed; [`Nonces`], the secret
//!   numbers of signatures.
//! - `schnorr`: [`sign`] and [`verify`].
//! - [`multisig`]: one signature of several signers.
//! - [`cosign`]: the two rounds of multisignatures for a block.
//!
//! # Constant time
//!
//! The time of these operations does not depend on secrets, as far as libsecp256k1 guarantees constant time:
//!
//! - the creation of a [`SecretKey`] from bytes, and the comparison of two secret keys;
//! - the computation of a public key or commit point, which libsecp256k1 also blinds;
//! - the computation of a response k − r·d.
//!
//! The derivation of nonces hashes secrets of fixed length. The number of attempts depends on secrets, but exceeds one
//! only about once in 2^127 signatures.
//!
//! Verification does not take constant time, because its inputs are public. The parsing of a [`SecretKey`] from text
//! does not take constant time either.
//!
//! # Invariants
//!
//! - Secret numbers are erased when the value that owns them is dropped. This excludes copies that the compiler or
//!   libsecp256k1 leave in dead stack frames.
//! - No error text and no `Debug` text has secret bytes.
//! - The crate has no source of randomness: callers pass one as an argument. Functions without that argument are
//!   deterministic.
//! - The crate signs bytes. It has no type for a transaction or a block header. Callers determine the keys of a
//!   committee, and check that each member has proved possession of its key.

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
