//! ECDSA over secp256k1 with SHA-256, with the byte formats of Scilla.
//!
//! A signature is r and s, each a big-endian number of 32 bytes.

use secp256k1::{
    Message,
    ecdsa::{RecoverableSignature, RecoveryId, Signature},
};
use sha2::{Digest, Sha256};

/// Reason why the arguments of an ECDSA function have no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EcdsaError {
    /// The key is not the compressed form of a point.
    #[error("key: expected a compressed point of secp256k1")]
    Key,
    /// The recovery id is above 3.
    #[error("recovery id: expected 0, 1, 2 or 3")]
    RecoveryId,
    /// r or s is not below the order of the group.
    #[error("signature: expected r and s below the order of secp256k1")]
    Signature,
    /// No public key matches the signature.
    #[error("signature: no public key matches it")]
    Unrecoverable,
}

/// Returns whether the signature over the SHA-256 of the message is valid for the key.
///
/// A signature with s above half of the group order is invalid, as in libsecp256k1.
///
/// # Errors
///
/// [`EcdsaError::Key`] and [`EcdsaError::Signature`] name the malformed argument.
pub fn verify_ecdsa(message: &[u8], signature: &[u8; 64], key: &[u8; 33]) -> Result<bool, EcdsaError> {
    let key = secp256k1::PublicKey::from_byte_array_compressed(*key).map_err(|_| EcdsaError::Key)?;
    let signature = Signature::from_compact(signature).map_err(|_| EcdsaError::Signature)?;
    Ok(signature.verify(digest(message), &key).is_ok())
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
    let id = match recovery_id {
        0 => RecoveryId::Zero,
        1 => RecoveryId::One,
        2 => RecoveryId::Two,
        3 => RecoveryId::Three,
        _ => return Err(EcdsaError::RecoveryId),
    };
    let signature = RecoverableSignature::from_compact(signature, id).map_err(|_| EcdsaError::Signature)?;
    let key = signature.recover_ecdsa(digest(message)).map_err(|_| EcdsaError::Unrecoverable)?;
    Ok(key.serialize_uncompressed())
}

fn digest(message: &[u8]) -> Message {
    Message::from_digest(Sha256::digest(message).into())
}

#[cfg(test)]
mod tests {
    use secp256k1::SecretKey;

    use super::*;
    use crate::testing::order_plus;

    const MESSAGE: &[u8] = b"pay 1 ZIL";

    fn signed() -> ([u8; 64], u32, secp256k1::PublicKey) {
        let secret = SecretKey::from_secret_bytes([7; 32]).unwrap();
        let (id, signature) =
            RecoverableSignature::sign_ecdsa_recoverable(digest(MESSAGE), &secret).serialize_compact();
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
    fn what_is_wrong_is_named() {
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
