//! ECDSA over secp256k1 with SHA-256, with the byte formats of Scilla.
//!
//! A signature is r and s, each a big-endian number of 32 bytes.

use silica_protocol::sha256;

use crate::{curve, error::EcdsaError};

/// Returns whether the signature over the SHA-256 of the message is valid for the key.
///
/// A signature with s above half of the group order is invalid, as in libsecp256k1.
///
/// # Errors
///
/// [`EcdsaError::Key`] and [`EcdsaError::Signature`] name the malformed argument.
pub fn verify_ecdsa(message: &[u8], signature: &[u8; 64], key: &[u8; 33]) -> Result<bool, EcdsaError> {
    curve::verify_ecdsa(sha256(&[message]), signature, key)
}

/// Recovers the public key of a signature over the SHA-256 of the message. The result is uncompressed: the byte 4, x
/// and y.
///
/// Unlike [`verify_ecdsa`], this function accepts an s above half of the group order.
///
/// # Errors
///
/// [`EcdsaError::RecoveryId`] and [`EcdsaError::Signature`] name the malformed argument. [`EcdsaError::Unrecoverable`]:
/// no public key matches the arguments.
pub fn recover_ecdsa(message: &[u8], signature: &[u8; 64], recovery_id: u32) -> Result<[u8; 65], EcdsaError> {
    curve::recover_ecdsa(sha256(&[message]), signature, recovery_id)
}

#[cfg(test)]
mod tests {
    use secp256k1::{Message, SecretKey, ecdsa::RecoverableSignature};

    use super::*;
    use crate::testing::order_plus;

    const MESSAGE: &[u8] = b"pay 1 ZIL";

    fn signed() -> ([u8; 64], u32, secp256k1::PublicKey) {
        let secret = SecretKey::from_secret_bytes([7; 32]).unwrap();
        let (id, signature) =
            RecoverableSignature::sign_ecdsa_recoverable(Message::from_digest(sha256(&[MESSAGE])), &secret)
                .serialize_compact();
        (signature, id as u32, secp256k1::PublicKey::from_secret_key(&secret))
    }

    /// Returns the signature with n - s in place of s. Its recovery id has the other parity.
    fn high(signature: [u8; 64]) -> [u8; 64] {
        let mut high = signature;
        let s = SecretKey::from_secret_bytes(signature[32..].try_into().unwrap()).unwrap();
        high[32..].copy_from_slice(s.negate().as_secret_bytes());
        high
    }

    #[test]
    fn a_signature_verifies_with_its_own_message_only() {
        let (signature, _, key) = signed();
        assert_eq!(verify_ecdsa(MESSAGE, &signature, &key.serialize()), Ok(true));
        assert_eq!(verify_ecdsa(b"pay 9 ZIL", &signature, &key.serialize()), Ok(false));
        assert_eq!(verify_ecdsa(MESSAGE, &high(signature), &key.serialize()), Ok(false));
    }

    #[test]
    fn the_key_recovers() {
        let (signature, id, key) = signed();
        assert_eq!(recover_ecdsa(MESSAGE, &signature, id), Ok(key.serialize_uncompressed()));
        assert_eq!(recover_ecdsa(MESSAGE, &high(signature), id ^ 1), Ok(key.serialize_uncompressed()));
    }

    #[test]
    fn error_names_the_invalid_part() {
        let (signature, _, key) = signed();
        assert_eq!(recover_ecdsa(MESSAGE, &signature, 4), Err(EcdsaError::RecoveryId));
        assert_eq!(recover_ecdsa(MESSAGE, &[0; 64], 0), Err(EcdsaError::Unrecoverable));
        assert_eq!(verify_ecdsa(MESSAGE, &signature, &[0; 33]), Err(EcdsaError::Key));
        let mut large = signature;
        large[..32].copy_from_slice(&order_plus(0));
        assert_eq!(verify_ecdsa(MESSAGE, &large, &key.serialize()), Err(EcdsaError::Signature));
        assert_eq!(recover_ecdsa(MESSAGE, &large, 0), Err(EcdsaError::Signature));
        assert_eq!(verify_ecdsa(MESSAGE, &[0; 64], &key.serialize()), Ok(false));
    }
}
