//! Secret keys that neither print nor linger, and key pairs.

use std::{fmt, str::FromStr};

use rand_core::CryptoRng;
use silica_protocol::{Address, PublicKey};
use zeroize::{Zeroize, Zeroizing};

use crate::{error::SecretKeyError, scalar::Scalar};

/// A secret key: a number from 1 to the order of secp256k1 less 1.
///
/// It has no `Display`, its `Debug` shows nothing of it, it is compared in constant time, and its bytes are
/// overwritten on drop. They leave it only through [`to_bytes`](Self::to_bytes) and [`to_hex`](Self::to_hex).
///
/// # Examples
///
/// ```
/// use silica_crypto::{SecretKey, SecretKeyError};
/// let key: SecretKey = "0f494b8312e8d257e51730c78f8fe3b47b6840c59aaaec7c2ebe404a2de8b25a".parse()?;
/// assert_eq!(format!("{key:?}"), "SecretKey(..)");
/// assert_eq!(SecretKey::from_bytes([0; 32]), Err(SecretKeyError::Range));
/// # Ok::<(), SecretKeyError>(())
/// ```
///
/// ```compile_fail
/// println!("{}", silica_crypto::SecretKey::from_bytes([1; 32]).unwrap());
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct SecretKey(Scalar);

impl SecretKey {
    /// Length in bytes.
    pub const LEN: usize = 32;

    /// Reads big-endian bytes.
    ///
    /// # Errors
    ///
    /// [`SecretKeyError::Range`] when the number is 0 or not below the order of the group.
    pub fn from_bytes(mut bytes: [u8; Self::LEN]) -> Result<Self, SecretKeyError> {
        let scalar = Scalar::from_bytes(bytes);
        bytes.zeroize();
        scalar.map(Self).ok_or(SecretKeyError::Range)
    }

    /// Draws a key.
    pub fn generate(rng: &mut impl CryptoRng) -> Self {
        Self(random_scalar(rng))
    }

    /// Returns the big-endian bytes, which are overwritten when the result is dropped.
    pub fn to_bytes(&self) -> Zeroizing<[u8; Self::LEN]> {
        Zeroizing::new(*self.0.as_bytes())
    }

    /// Returns 64 lower-case hexadecimal digits, which are overwritten when the result is dropped.
    pub fn to_hex(&self) -> Zeroizing<String> {
        Zeroizing::new(hex::encode(self.0.as_bytes()))
    }

    /// Computes the public key.
    pub fn public(&self) -> PublicKey {
        self.0.base_point()
    }

    pub(crate) fn scalar(&self) -> &Scalar {
        &self.0
    }
}

impl FromStr for SecretKey {
    type Err = SecretKeyError;

    /// Reads 64 hexadecimal digits in any letter case, with or without `0x`. Not constant time.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.strip_prefix("0x").unwrap_or(text);
        if digits.len() != 2 * Self::LEN {
            return Err(SecretKeyError::Length { got: digits.chars().count() });
        }
        if let Some(position) = digits.chars().position(|digit| !digit.is_ascii_hexdigit()) {
            return Err(SecretKeyError::Digit { position });
        }
        let mut bytes = Zeroizing::new([0; Self::LEN]);
        hex::decode_to_slice(digits, &mut *bytes).expect("there are two digits for each byte");
        Self::from_bytes(*bytes)
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey(..)")
    }
}

/// A secret key and its public key, which is computed once.
///
/// # Examples
///
/// ```
/// use silica_crypto::{KeyPair, SecretKey};
/// let pair = KeyPair::from_secret(SecretKey::from_bytes([1; 32])?);
/// assert_eq!(
///     format!("{pair:?}"),
///     "KeyPair { public: PublicKey(031b84c5567b126440995d3ed5aaba0565d71e1834604819ff9c17f5e9d5dd078f), .. }",
/// );
/// # Ok::<(), silica_crypto::SecretKeyError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct KeyPair {
    secret: SecretKey,
    public: PublicKey,
}

impl KeyPair {
    /// Completes a secret key.
    pub fn from_secret(secret: SecretKey) -> Self {
        let public = secret.public();
        Self { secret, public }
    }

    /// Draws a key pair.
    pub fn generate(rng: &mut impl CryptoRng) -> Self {
        Self::from_secret(SecretKey::generate(rng))
    }

    /// Returns the secret key.
    pub fn secret(&self) -> &SecretKey {
        &self.secret
    }

    /// Returns the public key.
    pub fn public(&self) -> PublicKey {
        self.public
    }

    /// Returns the address of the account that this key pair signs for.
    pub fn address(&self) -> Address {
        Address::from_public_key(&self.public)
    }
}

impl fmt::Debug for KeyPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyPair").field("public", &self.public).finish_non_exhaustive()
    }
}

/// Draws until the bytes are a scalar, which takes a second attempt about once in 2¹²⁸.
pub(crate) fn random_scalar(rng: &mut impl CryptoRng) -> Scalar {
    let mut bytes = Zeroizing::new([0; 32]);
    loop {
        rng.fill_bytes(&mut *bytes);
        if let Some(scalar) = Scalar::from_bytes(*bytes) {
            return scalar;
        }
    }
}
