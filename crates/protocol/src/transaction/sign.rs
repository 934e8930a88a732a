//! Signatures of transactions, without the curve.

use core::error::Error;

use super::{Transaction, UnsignedTransaction};
use crate::key::{PublicKey, Signature};

/// A key that signs. `silica-crypto` implements this trait for its key pairs. The crate of a hardware wallet or of a
/// remote signer can implement this trait for its own type.
pub trait Signer {
    /// Reason why the signer does not sign.
    type Error: Error + Send + Sync + 'static;

    /// Returns the public key of the signer.
    fn public_key(&self) -> PublicKey;

    /// Signs bytes with EC-Schnorr.
    ///
    /// # Errors
    ///
    /// Reasons of the signer, such as a lost connection.
    fn sign(&self, payload: &[u8]) -> Result<Signature, Self::Error>;
}

impl UnsignedTransaction {
    /// Signs the transaction. The key of the signer replaces [`sender_key`](Self::sender_key).
    ///
    /// # Errors
    ///
    /// The error of the signer.
    pub fn sign<S: Signer + ?Sized>(mut self, signer: &S) -> Result<Transaction, S::Error> {
        self.sender_key = signer.public_key();
        let signature = signer.sign(&self.signing_payload())?;
        Ok(self.with_signature(signature))
    }

    /// Adds a signature of [`signing_payload`](Self::signing_payload). The function does not verify the signature.
    pub const fn with_signature(self, signature: Signature) -> Transaction {
        Transaction { unsigned: self, signature }
    }
}
