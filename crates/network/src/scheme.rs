//! The signature scheme of the engine: EC-Schnorr with the keys of the members.

use arc_malachitebft_app::types::core::SigningScheme;
use silica_crypto::KeyPair;
use silica_protocol::PublicKey;

use crate::types::EngineSignature;

/// EC-Schnorr on the curve secp256k1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EcSchnorr;

/// Bytes have another length than a key or signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: expected {expected} bytes, got {got}")]
pub(crate) struct LengthError {
    field: &'static str,
    expected: usize,
    got: usize,
}

fn fixed<const N: usize>(field: &'static str, bytes: &[u8]) -> Result<[u8; N], LengthError> {
    bytes.try_into().map_err(|_| LengthError { field, expected: N, got: bytes.len() })
}

impl SigningScheme for EcSchnorr {
    type DecodingError = LengthError;
    type Signature = EngineSignature;
    type PublicKey = PublicKey;
    type PrivateKey = KeyPair;

    fn decode_signature(bytes: &[u8]) -> Result<EngineSignature, LengthError> {
        fixed("signature", bytes).map(EngineSignature)
    }

    fn encode_signature(signature: &EngineSignature) -> Vec<u8> {
        signature.0.to_vec()
    }

    fn decode_public_key(bytes: &[u8]) -> Result<PublicKey, LengthError> {
        fixed("public key", bytes).map(PublicKey::new)
    }

    fn encode_public_key(key: &PublicKey) -> Vec<u8> {
        key.as_bytes().to_vec()
    }
}
