//! Secret keys and key pairs. A secret key is erased on drop, and has no text output except [`SecretKey::to_hex`].

use std::{fmt, str::FromStr, sync::Arc};

use rand_core::CryptoRng;
use silica_protocol::{Address, PublicKey, hex};
use zeroize::{Zeroize, Zeroizing};

#[cfg(feature = "getrandom")]
use crate::error::RandomError;
use crate::{curve::Scalar, error::SecretKeyError};

/// A secret key: a number from 1 to n - 1, where n is the order of secp256k1.
///
/// The type has no `Display`, and its `Debug` omits the bytes. Comparison takes constant time. Clones share the bytes,
/// which are erased when the last clone is dropped. Only [`to_bytes`](Self::to_bytes) and [`to_hex`](Self::to_hex) copy
/// the bytes.
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
pub struct SecretKey(Arc<Scalar>);

impl SecretKey {
    /// Length of a secret key, in bytes.
    pub const LEN: usize = 32;

    /// Creates a key from big-endian bytes.
    ///
    /// # Errors
    ///
    /// [`SecretKeyError::Range`] if the number is 0 or not below the order of the group.
    pub fn from_bytes(mut bytes: [u8; Self::LEN]) -> Result<Self, SecretKeyError> {
        let scalar = Scalar::from_bytes(bytes);
        bytes.zeroize();
        scalar.map(Self::new).ok_or(SecretKeyError::Range)
    }

    /// Parses 64 hexadecimal digits in any letter case, with or without `0x`. Does not take constant time.
    ///
    /// # Errors
    ///
    /// [`SecretKeyError`] names the fault: the length, a character, or the range of the number.
    #[expect(clippy::missing_panics_doc, reason = "the length and the digits are checked before")]
    pub fn from_hex(text: &str) -> Result<Self, SecretKeyError> {
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

    /// Creates a random key.
    pub fn generate(rng: &mut impl CryptoRng) -> Self {
        Self::new(random_scalar(rng))
    }

    fn new(scalar: Scalar) -> Self {
        Self(Arc::new(scalar))
    }

    /// Returns the big-endian bytes. The result is erased on drop.
    pub fn to_bytes(&self) -> Zeroizing<[u8; Self::LEN]> {
        Zeroizing::new(*self.0.as_bytes())
    }

    /// Returns 64 lower-case hexadecimal digits. The result is erased on drop.
    pub fn to_hex(&self) -> Zeroizing<String> {
        Zeroizing::new(hex::encode(self.0.as_bytes()))
    }

    /// Computes the public key.
    pub fn public_key(&self) -> PublicKey {
        self.0.base_point()
    }

    pub(crate) fn scalar(&self) -> &Scalar {
        &self.0
    }
}

impl FromStr for SecretKey {
    type Err = SecretKeyError;

    /// Parses the text as [`from_hex`](Self::from_hex).
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::from_hex(text)
    }
}

impl TryFrom<[u8; Self::LEN]> for SecretKey {
    type Error = SecretKeyError;

    /// Creates a key as [`from_bytes`](Self::from_bytes).
    fn try_from(bytes: [u8; Self::LEN]) -> Result<Self, Self::Error> {
        Self::from_bytes(bytes)
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey(..)")
    }
}

/// A secret key and its public key, which is computed only once.
///
/// # Examples
///
/// ```
/// use silica_crypto::{KeyPair, verify};
/// let key = KeyPair::from_hex("0x0101010101010101010101010101010101010101010101010101010101010101")?;
/// assert_eq!(
///     format!("{key:?}"),
///     "KeyPair { public: PublicKey(031b84c5567b126440995d3ed5aaba0565d71e1834604819ff9c17f5e9d5dd078f), .. }",
/// );
/// let signature = key.sign(b"pay 1 ZIL")?;
/// verify(b"pay 1 ZIL", &signature, &key.public_key())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct KeyPair {
    secret: SecretKey,
    public: PublicKey,
}

impl KeyPair {
    /// Parses the secret key from 64 hexadecimal digits in any letter case, with or without `0x`. Does not take
    /// constant time.
    ///
    /// # Errors
    ///
    /// [`SecretKeyError`] names the fault: the length, a character, or the range of the number.
    pub fn from_hex(text: &str) -> Result<Self, SecretKeyError> {
        SecretKey::from_hex(text).map(Self::from)
    }

    /// Creates a random key pair with random numbers of the operating system.
    ///
    /// # Errors
    ///
    /// [`RandomError`] if the operating system has no random numbers.
    #[cfg(feature = "getrandom")]
    pub fn random() -> Result<Self, RandomError> {
        let mut bytes = Zeroizing::new([0; SecretKey::LEN]);
        loop {
            getrandom::fill(&mut *bytes)?;
            if let Some(scalar) = Scalar::from_bytes(*bytes) {
                return Ok(SecretKey::new(scalar).into());
            }
        }
    }

    /// Creates a random key pair.
    pub fn generate(rng: &mut impl CryptoRng) -> Self {
        SecretKey::generate(rng).into()
    }

    /// Returns the secret key.
    pub fn secret(&self) -> &SecretKey {
        &self.secret
    }

    /// Returns the public key.
    pub fn public_key(&self) -> PublicKey {
        self.public
    }

    /// Returns the address of the account of this key pair.
    pub fn address(&self) -> Address {
        Address::from_public_key(&self.public)
    }
}

impl From<SecretKey> for KeyPair {
    /// Computes the public key of a secret key.
    fn from(secret: SecretKey) -> Self {
        let public = secret.public_key();
        Self { secret, public }
    }
}

impl FromStr for KeyPair {
    type Err = SecretKeyError;

    /// Parses the text as [`from_hex`](Self::from_hex).
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::from_hex(text)
    }
}

impl fmt::Debug for KeyPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyPair").field("public", &self.public).finish_non_exhaustive()
    }
}

/// Returns a random scalar. Draws new bytes if the random bytes are not a scalar, which happens about once in 2^128
/// draws.
pub(crate) fn random_scalar(rng: &mut impl CryptoRng) -> Scalar {
    let mut bytes = Zeroizing::new([0; 32]);
    loop {
        rng.fill_bytes(&mut *bytes);
        if let Some(scalar) = Scalar::from_bytes(*bytes) {
            return scalar;
        }
    }
}

#[cfg(test)]
mod tests {
    use chacha20::{ChaCha8Rng, rand_core::SeedableRng as _};
    use rand_core::{Infallible, TryCryptoRng, TryRng};

    use super::*;
    use crate::testing::{array, key_pair, order_plus, public_key, vectors};

    #[test]
    fn public_keys_of_secret_keys() {
        for case in vectors("schnorr", "keypair") {
            assert_eq!(
                key_pair(&case["private_key"]).public_key(),
                public_key(&case["public_key"]),
                "{}",
                case["name"]
            );
        }
        for case in vectors("schnorr", "keypair_invalid") {
            let read = SecretKey::from_bytes(array(&case["private_key"]));
            assert_eq!(read, Err(SecretKeyError::Range), "{}", case["name"]);
        }
    }

    #[test]
    fn addresses_of_key_pairs() {
        for case in vectors("addresses", "pubkey_to_address") {
            if case["private_key"].is_string() {
                let pair = key_pair(&case["private_key"]);
                assert_eq!(pair.public_key(), public_key(&case["public_key"]));
                assert_eq!(pair.address().to_string(), case["address"].as_str().unwrap());
            }
        }
    }

    #[test]
    fn text_in_any_case_with_or_without_prefix() {
        let digits = "0f494b8312e8d257e51730c78f8fe3b47b6840c59aaaec7c2ebe404a2de8b25a";
        let key: SecretKey = digits.parse().unwrap();
        assert_eq!(*key.to_hex(), digits);
        assert_eq!(digits.to_uppercase().parse(), Ok(key.clone()));
        assert_eq!(format!("0x{digits}").parse(), Ok(key.clone()));
        assert_eq!(SecretKey::from_bytes(*key.to_bytes()), Ok(key));
    }

    #[test]
    fn key_pairs_have_the_conversions_of_their_secret_key() {
        let digits = "0f494b8312e8d257e51730c78f8fe3b47b6840c59aaaec7c2ebe404a2de8b25a";
        let secret = SecretKey::from_hex(digits).unwrap();
        let pair = KeyPair::from(secret.clone());
        assert_eq!(KeyPair::from_hex(digits), Ok(pair.clone()));
        assert_eq!(format!("0x{digits}").parse(), Ok(pair));
        assert_eq!(SecretKey::try_from(*secret.to_bytes()), Ok(secret));
        assert_eq!(KeyPair::from_hex("0x"), Err(SecretKeyError::Length { got: 0 }));
        assert_eq!(SecretKey::try_from([0; 32]), Err(SecretKeyError::Range));
    }

    #[cfg(feature = "getrandom")]
    #[test]
    fn random_keys_differ() {
        assert_ne!(KeyPair::random().unwrap(), KeyPair::random().unwrap());
    }

    #[test]
    fn errors_name_the_fault_but_not_the_text() {
        let check = |text: &str, expected: SecretKeyError| {
            let error = text.parse::<SecretKey>().unwrap_err();
            assert_eq!(error, expected);
            for message in [error.to_string(), format!("{error:?}")] {
                assert!(!message.contains("abcde"), "{message}");
            }
        };
        let digits = "abcde".repeat(13);
        check("", SecretKeyError::Length { got: 0 });
        check("0x", SecretKeyError::Length { got: 0 });
        check(&digits, SecretKeyError::Length { got: 65 });
        check(&digits[..63], SecretKeyError::Length { got: 63 });
        check(&format!("{}é", &digits[..62]), SecretKeyError::Digit { position: 62 });
        check(&format!("x{}", &digits[..63]), SecretKeyError::Digit { position: 0 });
        check(&"0".repeat(64), SecretKeyError::Range);
        check(&hex::encode(order_plus(0)), SecretKeyError::Range);
    }

    #[test]
    fn secrets_are_not_printed() {
        let pair = KeyPair::generate(&mut ChaCha8Rng::seed_from_u64(0));
        let secret = pair.secret().to_hex();
        let array = format!("{:?}", *pair.secret().to_bytes());
        for text in [format!("{pair:?}"), format!("{pair:#?}"), format!("{:?}", pair.secret())] {
            assert!(!text.contains(&secret[..8]) && !text.contains(&array[1..12]), "{text}");
        }
    }

    #[test]
    fn secrets_are_overwritten_on_drop() {
        assert!(std::mem::needs_drop::<SecretKey>());
        assert!(std::mem::needs_drop::<KeyPair>());
    }

    #[test]
    fn clones_share_their_bytes() {
        let pair = KeyPair::generate(&mut ChaCha8Rng::seed_from_u64(0));
        let place = |pair: &KeyPair| pair.secret().scalar().as_bytes().as_ptr();
        assert_eq!(place(&pair), place(&pair.clone()));
        assert_eq!(place(&pair), place(&KeyPair::from(pair.secret().clone())));
    }

    #[test]
    fn equality_is_that_of_the_secret() {
        let pair = KeyPair::generate(&mut ChaCha8Rng::seed_from_u64(0));
        assert_eq!(pair, pair.clone());
        assert_eq!(pair.secret(), &SecretKey::from_bytes(*pair.secret().to_bytes()).unwrap());
        assert_ne!(pair.secret(), KeyPair::generate(&mut ChaCha8Rng::seed_from_u64(1)).secret());
    }

    #[test]
    fn generation_skips_what_is_no_key() {
        let mut draws = Draws(vec![[3; 32], order_plus(0), [0xff; 32], [0; 32]]);
        assert_eq!(*SecretKey::generate(&mut draws).to_bytes(), [3; 32]);
        assert!(draws.0.is_empty());
    }

    /// A random number generator that returns its elements, the last element first, one for each request.
    struct Draws(Vec<[u8; 32]>);

    impl TryRng for Draws {
        type Error = Infallible;

        fn try_next_u32(&mut self) -> Result<u32, Infallible> {
            rand_core::utils::next_word_via_fill(self)
        }

        fn try_next_u64(&mut self) -> Result<u64, Infallible> {
            rand_core::utils::next_word_via_fill(self)
        }

        fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
            let drawn = self.0.pop().unwrap();
            bytes.copy_from_slice(&drawn[..bytes.len()]);
            Ok(())
        }
    }

    impl TryCryptoRng for Draws {}
}
