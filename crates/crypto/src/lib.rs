//! EC-Schnorr signatures and multisignatures over secp256k1, as Zilliqa defines them.
//!
//! ```
//! use silica_crypto::{KeyPair, VerifyError, verify};
//!
//! let key = KeyPair::from_hex("0x0f494b8312e8d257e51730c78f8fe3b47b6840c59aaaec7c2ebe404a2de8b25a")?;
//! let signature = key.sign(b"pay 1 ZIL")?;
//! assert_eq!(verify(b"pay 1 ZIL", &signature, &key.public_key()), Ok(()));
//! assert_eq!(verify(b"pay 9 ZIL", &signature, &key.public_key()), Err(VerifyError::Mismatch));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Items by task
//!
//! | Task | Items |
//! |---|---|
//! | read or create a key | [`KeyPair::from_hex`], [`KeyPair::generate`], [`KeyPair`]`::random` |
//! | sign and verify | [`KeyPair::sign`], [`verify`]; [`Nonces`] for another derivation of nonces |
//! | derive keys from a seed or a mnemonic | [`DerivableKey`], `Mnemonic` |
//! | read and write a keystore file of a wallet | `Keystore` |
//! | get a trusted state root from a block | [`verify_tx_block`] |
//! | sign as a committee, verify a co-signature | [`cosign`], [`multisig`] |
//! | execute the functions of Scilla | [`verify_ecdsa`], [`recover_ecdsa`], `bn254` |
//!
//! # Features
//!
//! - `native` (default): the curve by libsecp256k1, a library in C.
//! - `portable`: the curve by the crate `k256`, in pure Rust and without a C compiler. Both features give equal
//!   results. If both are on, `native` has priority. At least one must be on.
//! - `getrandom`: `KeyPair::random`, with random numbers of the operating system.
//! - `mnemonic`: `Mnemonic`, the words of BIP-39 with the key paths of Zilliqa wallets.
//! - `keystore`: `Keystore`, the files in which wallets keep a key under a password.
//! - `bn254`: the module `bn254`, the pairing-friendly curve of Scilla.
//!
//! # Constant time
//!
//! The time of these operations does not depend on secrets:
//!
//! - the creation of a [`SecretKey`] from bytes, and the comparison of two secret keys;
//! - the computation of a public key or commit point;
//! - the computation of a response k − r·d.
//!
//! With `native`, this holds as far as libsecp256k1 guarantees constant time. It also blinds the computation of points.
//! With `portable`, this holds as far as `k256` guarantees it: its operations on secrets are written to take constant
//! time on processors whose multiplication takes constant time. There is no blinding. The authors of `k256` report no
//! independent audit of its arithmetic.
//!
//! The derivation of nonces hashes secrets of fixed length. The number of attempts depends on secrets, but exceeds one
//! only about once in 2^127 signatures.
//!
//! Verification does not take constant time, because its inputs are public. The parsing of a [`SecretKey`] from text
//! does not take constant time either.
//!
//! # Invariants
//!
//! - Secret numbers are erased when the value that owns them is dropped. This excludes copies that the compiler,
//!   libsecp256k1 or `k256` leave in dead stack frames.
//! - No error text and no `Debug` text has secret bytes.
//! - Without `getrandom`, the crate has no source of randomness: callers pass a source as an argument. All other
//!   functions are deterministic.
//! - Of a transaction or Tx block, the crate checks only signatures and the list of micro blocks. Callers determine the
//!   keys of a committee, and check that each member has proved possession of its key.
//!
//! # Modules
//!
//! Layers, lowest first:
//!
//! - `error`, `number`, `bn254`:
//!   - `error` has all error types.
//!   - `number` converts numbers to bytes.
//!   - `bn254` has the pairing-friendly curve of Scilla.
//! - `curve`: arithmetic modulo the group order, and sums of points, by one of two implementations.
//! - `ecdsa`: the ECDSA functions of Scilla.
//! - `key`: [`SecretKey`]s, which are erased on drop, and [`KeyPair`]s.
//! - `derivation`, `nonce`:
//!   - `derivation` has [`DerivableKey`]s, which form a hierarchy of keys from one seed.
//!   - `nonce` has [`Nonces`], the secret numbers of signatures.
//! - `keystore`, `mnemonic`: `keystore` has keystore files of wallets, and `mnemonic` has mnemonics.
//! - `schnorr`: the signatures of [`KeyPair::sign`], and [`verify`].
//! - [`multisig`], `transaction`: `multisig` has one signature of several signers, and `transaction` has
//!   [`VerifySignature`].
//! - [`cosign`]: the two rounds of multisignatures for a block.
//! - `tx_block`: [`verify_tx_block`].

#[cfg(feature = "bn254")]
pub mod bn254;
pub mod cosign;
mod curve;
mod derivation;
mod ecdsa;
mod error;
mod key;
#[cfg(feature = "keystore")]
mod keystore;
#[cfg(feature = "mnemonic")]
mod mnemonic;
pub mod multisig;
mod nonce;
mod number;
mod schnorr;
#[cfg(test)]
mod testing;
mod transaction;
mod tx_block;

#[cfg(not(any(feature = "native", feature = "portable")))]
compile_error!("silica-crypto: expected the feature `native` (libsecp256k1) or `portable` (k256), got neither");

#[doc(no_inline)]
pub use silica_protocol as protocol;

#[cfg(feature = "getrandom")]
pub use crate::error::RandomError;
#[cfg(feature = "keystore")]
pub use crate::keystore::{Keystore, KeystoreError};
#[cfg(feature = "mnemonic")]
pub use crate::mnemonic::{Mnemonic, MnemonicError};
pub use crate::{
    derivation::DerivableKey,
    ecdsa::{recover_ecdsa, verify_ecdsa},
    error::{
        AggregateError, CoSignatureError, EcdsaError, PossessionError, ResponseError, RoundValueError, SecretKeyError,
        SignError, TxBlockError, VerifyError,
    },
    key::{KeyPair, SecretKey},
    nonce::Nonces,
    schnorr::verify,
    transaction::VerifySignature,
    tx_block::verify_tx_block,
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
