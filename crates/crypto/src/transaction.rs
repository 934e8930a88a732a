//! Signatures of transactions.

use silica_protocol::{PublicKey, Signature, Signer, Transaction};

use crate::{
    error::{SignError, VerifyError},
    key::KeyPair,
    schnorr::verify,
};

impl Signer for KeyPair {
    type Error = SignError;

    fn public_key(&self) -> PublicKey {
        Self::public_key(self)
    }

    fn sign(&self, payload: &[u8]) -> Result<Signature, SignError> {
        Self::sign(self, payload)
    }
}

/// The verification of values that carry their signature.
pub trait VerifySignature {
    /// Verifies the signature.
    ///
    /// # Errors
    ///
    /// [`VerifyError`] as for [`verify`].
    fn verify_signature(&self) -> Result<(), VerifyError>;
}

impl VerifySignature for Transaction {
    /// Verifies the signature of the transaction with the key of the sender.
    ///
    /// # Examples
    ///
    /// A changed transaction has a false signature:
    ///
    /// ```
    /// use silica_crypto::{KeyPair, VerifyError, VerifySignature};
    /// use silica_protocol::{Address, ChainId, Qa, Transaction};
    ///
    /// let key = KeyPair::from_hex(&"07".repeat(32))?;
    /// let payment = Transaction::payment(Address::new([7; 20]), Qa::parse("1 ZIL")?).chain_id(ChainId::new(222));
    /// let signed = payment.clone().nonce(1).sign(&key)?;
    /// assert_eq!(signed.verify_signature(), Ok(()));
    ///
    /// let changed = payment.nonce(2).build(key.public_key())?.with_signature(signed.signature());
    /// assert_eq!(changed.verify_signature(), Err(VerifyError::Mismatch));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn verify_signature(&self) -> Result<(), VerifyError> {
        verify(&self.signing_payload(), &self.signature(), &self.sender_key)
    }
}
