//! Keystore files: a secret key that a password encrypts, in the form of zilliqa-js and gozilliqa.
//!
//! The files have the form of Web3 Secret Storage, version 3, with the cipher AES-128-CTR. The authentication code
//! differs from that of Ethereum. It is HMAC-SHA-256 with the derived key. Its input is the second half of the derived
//! key, the ciphertext, the initial counter and the name of the cipher (Reference: formats#keystore-file).

use std::{fmt, str::FromStr};

use aes::Aes128;
use ctr::{
    Ctr128BE,
    cipher::{KeyIvInit, StreamCipher},
};
use hmac::{Hmac, KeyInit, Mac};
use rand_core::CryptoRng;
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use silica_protocol::{Address, hex};
use zeroize::Zeroizing;

#[cfg(feature = "getrandom")]
use crate::error::RandomError;
use crate::{
    error::SecretKeyError,
    key::{KeyPair, SecretKey},
};

/// The cipher of all supported files.
const CIPHER: &str = "aes-128-ctr";
/// Length of a derived key, in bytes.
const DERIVED: usize = 32;
/// Parameters of scrypt in new files: log₂ n, r and p. gozilliqa ignores the parameters of a file, and uses these.
const NEW: (u8, u32, u32) = (13, 8, 1);
/// Number of rounds of PBKDF2 that zilliqa-js writes also into files with scrypt.
const ROUNDS: u32 = 262_144;
/// Maximum memory of scrypt, in bytes. The parameters n = 262144, r = 8 and p = 1, which geth writes, need 256 MiB.
const MOST_MEMORY: u64 = 257 << 20;
/// Maximum of n · r · p: twice the product of the parameters that geth writes.
const MOST_WORK: u64 = 1 << 22;
/// Maximum number of rounds of PBKDF2.
const MOST_ROUNDS: u32 = 10_000_000;

/// A secret key, encrypted with a password. `Display` writes the JSON of a file, and `FromStr` reads it.
///
/// The key is only as safe as the password. All wallets of the ecosystem can read the parameters of new files, but
/// these parameters let an attacker test many passwords.
///
/// Files of Ethereum wallets have another authentication code. [`decrypt`](Self::decrypt) returns
/// [`KeystoreError::Password`] for them.
///
/// # Examples
///
/// ```
/// use silica_crypto::{KeyPair, Keystore, KeystoreError};
/// # struct Rng(u8);
/// # impl rand_core::TryRng for Rng {
/// #     type Error = rand_core::Infallible;
/// #     fn try_next_u32(&mut self) -> Result<u32, Self::Error> { rand_core::utils::next_word_via_fill(self) }
/// #     fn try_next_u64(&mut self) -> Result<u64, Self::Error> { rand_core::utils::next_word_via_fill(self) }
/// #     fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> { self.0 += 1; bytes.fill(self.0); Ok(()) }
/// # }
/// # impl rand_core::TryCryptoRng for Rng {}
/// # let mut rng = Rng(0);
/// let key = KeyPair::from_hex(&"01".repeat(32))?;
/// let text = Keystore::encrypt(&key, "a password", &mut rng).to_string();
///
/// let file: Keystore = text.parse()?;
/// assert_eq!(file.decrypt("a password")?, key);
/// assert_eq!(file.decrypt("another password"), Err(KeystoreError::Password));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Keystore {
    address: Option<Address>,
    id: String,
    kdf: Kdf,
    salt: Vec<u8>,
    iv: [u8; 16],
    ciphertext: [u8; SecretKey::LEN],
    mac: [u8; 32],
}

/// The function that derives a key from the password, with parameters below the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kdf {
    Scrypt { log_n: u8, r: u32, p: u32 },
    Pbkdf2 { rounds: u32 },
}

/// Reason why a text is not a keystore, or why it gives no key. The error shows no salt, no ciphertext and no
/// authentication code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeystoreError {
    /// The text is not JSON, or a member is missing or has the wrong type.
    #[error("keystore: expected JSON with the members of a keystore, got another text at line {line}, column {column}")]
    Json {
        /// Line of the fault, from 1.
        line: usize,
        /// Column of the fault.
        column: usize,
    },
    /// The version of the file is not 3.
    #[error("keystore: expected version 3, got {got}")]
    Version {
        /// The version of the file.
        got: u64,
    },
    /// A member has a value that no supported keystore has.
    #[error("keystore: {member}: expected {expected}, got {got}")]
    Member {
        /// Name of the member.
        member: &'static str,
        /// Description of the valid values.
        expected: &'static str,
        /// The given value, or the number of characters of a value that can be secret.
        got: String,
    },
    /// The derivation of the key would take too much time or memory.
    #[error("keystore: {parameter}: expected at most {most}, got {got}")]
    Excessive {
        /// Description of the parameter.
        parameter: &'static str,
        /// The limit.
        most: u64,
        /// The value in the file.
        got: u64,
    },
    /// The password is wrong, or the file is damaged.
    #[error("keystore: the password does not match")]
    Password,
    /// The decrypted bytes are not a secret key.
    #[error("keystore: the decrypted bytes are not a secret key")]
    Key(#[source] SecretKeyError),
    /// The address of the file is not the address of its key.
    #[error("keystore: expected the address {expected} of the key, got {got}")]
    Address {
        /// The address of the key.
        expected: Address,
        /// The address of the file.
        got: Address,
    },
}

/// The JSON of a file.
#[derive(Deserialize, Serialize)]
struct File {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    crypto: CryptoMember,
    #[serde(default)]
    id: String,
    version: u64,
}

#[derive(Deserialize, Serialize)]
struct CryptoMember {
    cipher: String,
    cipherparams: CipherParams,
    ciphertext: String,
    kdf: String,
    kdfparams: KdfParams,
    mac: String,
}

#[derive(Deserialize, Serialize)]
struct CipherParams {
    iv: String,
}

/// The parameters of both functions: zilliqa-js writes them all. `prf` is a member in files of other wallets.
#[derive(Deserialize, Serialize)]
struct KdfParams {
    salt: String,
    n: Option<u64>,
    c: Option<u64>,
    r: Option<u64>,
    p: Option<u64>,
    dklen: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prf: Option<String>,
}

impl Keystore {
    /// Encrypts the secret key of a key pair with scrypt. Takes salt, initial counter and id from `rng`.
    pub fn encrypt(key: &KeyPair, password: &str, rng: &mut impl CryptoRng) -> Self {
        let mut random = ([0; 32], [0; 16], [0; 16]);
        rng.fill_bytes(&mut random.0);
        rng.fill_bytes(&mut random.1);
        rng.fill_bytes(&mut random.2);
        Self::encrypt_with(key, password, random)
    }

    /// Encrypts as [`encrypt`](Self::encrypt), with random numbers of the operating system.
    ///
    /// # Errors
    ///
    /// [`RandomError`] if the operating system has no random numbers.
    #[cfg(feature = "getrandom")]
    pub fn new(key: &KeyPair, password: &str) -> Result<Self, RandomError> {
        let mut random = ([0; 32], [0; 16], [0; 16]);
        getrandom::fill(&mut random.0)?;
        getrandom::fill(&mut random.1)?;
        getrandom::fill(&mut random.2)?;
        Ok(Self::encrypt_with(key, password, random))
    }

    fn encrypt_with(key: &KeyPair, password: &str, (salt, iv, id): ([u8; 32], [u8; 16], [u8; 16])) -> Self {
        let (log_n, r, p) = NEW;
        let kdf = Kdf::Scrypt { log_n, r, p };
        let derived = kdf.derive(password, &salt);
        let mut ciphertext = *key.secret().to_bytes();
        apply_cipher(&derived, &iv, &mut ciphertext);
        let mac = code(&derived, &ciphertext, &iv).finalize().into_bytes().into();
        Self { address: Some(key.address()), id: uuid(id), kdf, salt: salt.to_vec(), iv, ciphertext, mac }
    }

    /// Decrypts the key. With the parameters of wallets, this takes between 0.03 s and 1 s in an optimised build.
    ///
    /// # Errors
    ///
    /// [`KeystoreError::Password`] if the password is wrong. [`KeystoreError::Key`] and [`KeystoreError::Address`] if
    /// the file has no key, or the key of another address.
    pub fn decrypt(&self, password: &str) -> Result<KeyPair, KeystoreError> {
        let derived = self.kdf.derive(password, &self.salt);
        code(&derived, &self.ciphertext, &self.iv).verify(&self.mac.into()).map_err(|_| KeystoreError::Password)?;
        let mut bytes = Zeroizing::new(self.ciphertext);
        apply_cipher(&derived, &self.iv, &mut bytes);
        let key = KeyPair::from(SecretKey::from_bytes(*bytes).map_err(KeystoreError::Key)?);
        match self.address {
            Some(got) if got != key.address() => Err(KeystoreError::Address { expected: key.address(), got }),
            _ => Ok(key),
        }
    }

    /// Returns the address in the file, or `None` if the file has no address. The function needs no password. Only
    /// [`decrypt`](Self::decrypt) compares the address with the key.
    pub fn address(&self) -> Option<Address> {
        self.address
    }
}

impl FromStr for Keystore {
    type Err = KeystoreError;

    /// Reads the JSON of a file. Rejects parameters that need too much time or memory.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let file: File = serde_json::from_str(text)
            .map_err(|error| KeystoreError::Json { line: error.line(), column: error.column() })?;
        if file.version != 3 {
            return Err(KeystoreError::Version { got: file.version });
        }
        let CryptoMember { cipher, cipherparams, ciphertext, kdf, kdfparams, mac } = file.crypto;
        if cipher != CIPHER {
            return Err(member("crypto.cipher", "aes-128-ctr", &cipher));
        }
        let read = |text: &str| text.parse().map_err(|_| member("address", "40 hexadecimal digits", text));
        let salt = &kdfparams.salt;
        Ok(Self {
            address: file.address.as_deref().map(read).transpose()?,
            id: file.id,
            kdf: Kdf::read(&kdf, &kdfparams)?,
            salt: hex::decode(salt)
                .map_err(|_| member("crypto.kdfparams.salt", "hexadecimal digits", &length(salt)))?,
            iv: bytes("crypto.cipherparams.iv", "32 hexadecimal digits", &cipherparams.iv)?,
            ciphertext: bytes("crypto.ciphertext", "64 hexadecimal digits", &ciphertext)?,
            mac: bytes("crypto.mac", "64 hexadecimal digits", &mac)?,
        })
    }
}

impl fmt::Display for Keystore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The file has the parameters of both functions, as a file of zilliqa-js.
        let (kdf, (log_n, r, p), rounds) = match self.kdf {
            Kdf::Scrypt { log_n, r, p } => ("scrypt", (log_n, r, p), ROUNDS),
            Kdf::Pbkdf2 { rounds } => ("pbkdf2", NEW, rounds),
        };
        let file = File {
            address: self.address.map(|address| address.to_string()),
            crypto: CryptoMember {
                cipher: CIPHER.to_owned(),
                cipherparams: CipherParams { iv: hex::encode(self.iv) },
                ciphertext: hex::encode(self.ciphertext),
                kdf: kdf.to_owned(),
                kdfparams: KdfParams {
                    salt: hex::encode(&self.salt),
                    n: Some(1 << log_n),
                    c: Some(rounds.into()),
                    r: Some(r.into()),
                    p: Some(p.into()),
                    dklen: DERIVED as u64,
                    prf: None,
                },
                mac: hex::encode(self.mac),
            },
            id: self.id.clone(),
            version: 3,
        };
        f.write_str(&serde_json::to_string(&file).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Keystore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keystore").field("address", &self.address).field("kdf", &self.kdf).finish_non_exhaustive()
    }
}

impl Kdf {
    fn read(name: &str, params: &KdfParams) -> Result<Self, KeystoreError> {
        if params.dklen != DERIVED as u64 {
            return Err(member("crypto.kdfparams.dklen", "32", &params.dklen.to_string()));
        }
        match name {
            "scrypt" => Self::read_scrypt(params),
            "pbkdf2" if params.prf.as_deref().is_none_or(|prf| prf == "hmac-sha256") => {
                let rounds = params.c.filter(|rounds| *rounds > 0);
                let rounds = rounds.ok_or_else(|| {
                    member("crypto.kdfparams.c", "a number of rounds of at least 1", &shown(params.c))
                })?;
                limit("rounds of PBKDF2", MOST_ROUNDS.into(), rounds)?;
                Ok(Self::Pbkdf2 { rounds: u32::try_from(rounds).unwrap_or(MOST_ROUNDS) })
            }
            "pbkdf2" => Err(member("crypto.kdfparams.prf", "hmac-sha256", params.prf.as_deref().unwrap_or_default())),
            _ => Err(member("crypto.kdf", "scrypt or pbkdf2", name)),
        }
    }

    fn read_scrypt(params: &KdfParams) -> Result<Self, KeystoreError> {
        let invalid = || {
            let got = format!("n {}, r {}, p {}", shown(params.n), shown(params.r), shown(params.p));
            member("crypto.kdfparams", "n, a power of two above 1, and r and p of at least 1", &got)
        };
        let (Some(n), Some(r), Some(p)) = (params.n, params.r, params.p) else { return Err(invalid()) };
        if !n.is_power_of_two() || n < 2 || r == 0 || p == 0 {
            return Err(invalid());
        }
        limit(
            "memory of scrypt in bytes, 128 · r · (n + p + 1)",
            MOST_MEMORY,
            n.saturating_add(p).saturating_add(1).saturating_mul(r).saturating_mul(128),
        )?;
        limit("work of scrypt, n · r · p", MOST_WORK, n.saturating_mul(r).saturating_mul(p))?;
        let log_n = u8::try_from(n.ilog2()).map_err(|_| invalid())?;
        let (r, p) = (u32::try_from(r).map_err(|_| invalid())?, u32::try_from(p).map_err(|_| invalid())?);
        scrypt::Params::new(log_n, r, p).map_err(|_| invalid())?;
        Ok(Self::Scrypt { log_n, r, p })
    }

    fn derive(self, password: &str, salt: &[u8]) -> Zeroizing<[u8; DERIVED]> {
        let mut derived = Zeroizing::new([0; DERIVED]);
        match self {
            Self::Scrypt { log_n, r, p } => {
                let params = scrypt::Params::new(log_n, r, p).expect("the parameters were checked before");
                scrypt::scrypt(password.as_bytes(), salt, &params, &mut *derived).expect("32 bytes are a valid length");
            }
            Self::Pbkdf2 { rounds } => {
                pbkdf2::pbkdf2_hmac::<Sha256>(password.as_bytes(), salt, rounds, &mut *derived);
            }
        }
        derived
    }
}

fn apply_cipher(derived: &[u8; DERIVED], iv: &[u8; 16], bytes: &mut [u8; SecretKey::LEN]) {
    let key: &[u8; 16] = derived.first_chunk().expect("a derived key has two halves of 16 bytes");
    Ctr128BE::<Aes128>::new(key.into(), iv.into()).apply_keystream(bytes);
}

/// Returns an HMAC over the parts of a file that its authentication code covers. The caller finishes or verifies it.
fn code(derived: &[u8; DERIVED], ciphertext: &[u8], iv: &[u8]) -> Hmac<Sha256> {
    let second: &[u8; 16] = derived.last_chunk().expect("a derived key has two halves of 16 bytes");
    let mut mac = Hmac::<Sha256>::new_from_slice(derived).expect("HMAC takes keys of any length");
    for part in [second, ciphertext, iv, CIPHER.as_bytes()] {
        mac.update(part);
    }
    mac
}

/// Returns the text of a random UUID (RFC 9562, version 4).
fn uuid(random: [u8; 16]) -> String {
    let bits = u128::from_be_bytes(random) & !(0xf << 76 | 0b11 << 62) | 4 << 76 | 0b10 << 62;
    let digits = format!("{bits:032x}");
    let part = |range| digits.get(range).unwrap_or_default();
    format!("{}-{}-{}-{}-{}", part(0..8), part(8..12), part(12..16), part(16..20), part(20..32))
}

fn bytes<const N: usize>(name: &'static str, expected: &'static str, text: &str) -> Result<[u8; N], KeystoreError> {
    let mut bytes = [0; N];
    hex::decode_to_slice(text, &mut bytes).map_err(|_| member(name, expected, &length(text)))?;
    Ok(bytes)
}

/// Returns the error of a member. Shows at most 64 characters of the value.
fn member(member: &'static str, expected: &'static str, got: &str) -> KeystoreError {
    KeystoreError::Member { member, expected, got: got.chars().take(64).collect() }
}

fn length(text: &str) -> String {
    format!("{} characters", text.chars().count())
}

fn shown(number: Option<u64>) -> String {
    number.map_or_else(|| "none".to_owned(), |number| number.to_string())
}

fn limit(parameter: &'static str, most: u64, got: u64) -> Result<(), KeystoreError> {
    if got > most { Err(KeystoreError::Excessive { parameter, most, got }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use chacha20::{ChaCha8Rng, rand_core::SeedableRng as _};
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::{all_vectors, vectors};

    const PASSWORD: &str = "a password";

    fn file(index: usize) -> Value {
        all_vectors("keystore")[index]["keystore"].clone()
    }

    /// Changes a member of a valid file, and returns the error.
    fn refusal(pointer: &str, value: Value) -> KeystoreError {
        let mut file = file(0);
        *file.pointer_mut(pointer).unwrap() = value;
        file.to_string().parse::<Keystore>().unwrap_err()
    }

    #[test]
    fn files_of_wallets_give_their_keys() {
        for case in vectors("keystore", "decrypt") {
            let file: Keystore = case["keystore"].to_string().parse().unwrap();
            let key = file.decrypt(case["password"].as_str().unwrap()).unwrap();
            assert_eq!(key.secret().to_hex().as_str(), case["private_key"].as_str().unwrap(), "{}", case["name"]);
            assert_eq!(file.address(), Some(key.address()));
            assert_eq!(file.to_string().parse(), Ok(file));
        }
    }

    #[test]
    fn new_files_have_the_members_of_the_files_of_zilliqa_js() {
        fn members(value: &Value, path: &str, found: &mut Vec<String>) {
            let Some(object) = value.as_object() else { return found.push(path.to_owned()) };
            object.iter().for_each(|(name, value)| members(value, &format!("{path}/{name}"), found));
        }
        let key = KeyPair::generate(&mut ChaCha8Rng::seed_from_u64(0));
        let made: Value =
            serde_json::from_str(&Keystore::encrypt(&key, PASSWORD, &mut ChaCha8Rng::seed_from_u64(1)).to_string())
                .unwrap();
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        members(&made, "", &mut ours);
        members(&file(0), "", &mut theirs);
        ours.sort_unstable();
        theirs.sort_unstable();
        assert_eq!(ours, theirs);
        let id: Vec<_> = made["id"].as_str().unwrap().split('-').collect();
        assert_eq!(id.iter().map(|part| part.len()).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
        assert!(id[2].starts_with('4') && id[3].starts_with(['8', '9', 'a', 'b']), "{id:?}");
    }

    #[test]
    fn wrong_password_is_an_error_of_its_own() {
        let key = KeyPair::generate(&mut ChaCha8Rng::seed_from_u64(0));
        let made = Keystore::encrypt(&key, PASSWORD, &mut ChaCha8Rng::seed_from_u64(1));
        assert_eq!(made.decrypt(PASSWORD), Ok(key));
        assert_eq!(made.decrypt("a passworD"), Err(KeystoreError::Password));
        assert_eq!(made.decrypt(""), Err(KeystoreError::Password));
        for change in [
            |file: &mut Keystore| file.ciphertext[31] ^= 1,
            |file: &mut Keystore| file.iv[0] ^= 1,
            |file: &mut Keystore| file.mac[0] ^= 1,
            |file: &mut Keystore| file.salt[0] ^= 1,
        ] {
            let mut damaged = made.clone();
            change(&mut damaged);
            assert_eq!(damaged.decrypt(PASSWORD), Err(KeystoreError::Password));
        }
    }

    #[test]
    fn files_of_the_same_key_differ() {
        let key = KeyPair::generate(&mut ChaCha8Rng::seed_from_u64(0));
        let made = [1, 100].map(|seed| Keystore::encrypt(&key, PASSWORD, &mut ChaCha8Rng::seed_from_u64(seed)));
        assert!(made[0].salt != made[1].salt && made[0].iv != made[1].iv && made[0].id != made[1].id);
    }

    #[test]
    fn address_of_another_key_is_refused() {
        let (key, other) = (
            KeyPair::generate(&mut ChaCha8Rng::seed_from_u64(0)),
            KeyPair::generate(&mut ChaCha8Rng::seed_from_u64(9)).address(),
        );
        let mut made = Keystore::encrypt(&key, PASSWORD, &mut ChaCha8Rng::seed_from_u64(1));
        made.address = Some(other);
        assert_eq!(made.decrypt(PASSWORD), Err(KeystoreError::Address { expected: key.address(), got: other }));
        made.address = None;
        assert_eq!(made.to_string().parse::<Keystore>().unwrap().decrypt(PASSWORD), Ok(key));
    }

    #[test]
    fn parameters_of_hostile_files_are_limited() {
        let n = "/crypto/kdfparams/n";
        let excess = |pointer, value| {
            let KeystoreError::Excessive { most, got, .. } = refusal(pointer, value) else { panic!("{pointer}") };
            (most, got)
        };
        assert_eq!(excess(n, json!(1 << 19)), (MOST_MEMORY, 1024 * ((1 << 19) + 2)));
        assert_eq!(excess(n, json!(1_u64 << 63)), (MOST_MEMORY, u64::MAX));
        assert_eq!(excess("/crypto/kdfparams/p", json!(65)), (MOST_WORK, 65 << 16));
        assert_eq!(excess("/crypto/kdfparams/r", json!(1 << 20)), (MOST_MEMORY, (8194 << 20) * 128));
        for (pointer, value) in [(n, 0), (n, 1), (n, 8191), ("/crypto/kdfparams/r", 0), ("/crypto/kdfparams/p", 0)] {
            assert!(matches!(refusal(pointer, json!(value)), KeystoreError::Member { member: "crypto.kdfparams", .. }));
        }
        let mut rounds = file(1);
        rounds["crypto"]["kdfparams"]["c"] = json!(10_000_001);
        assert!(matches!(
            rounds.to_string().parse::<Keystore>(),
            Err(KeystoreError::Excessive { got: 10_000_001, .. })
        ));
        let mut geth = file(0);
        geth["crypto"]["kdfparams"]["n"] = json!(262_144);
        assert!(geth.to_string().parse::<Keystore>().is_ok());
    }

    #[test]
    fn errors_name_the_member_but_no_value() {
        let named = |pointer, value, expected: &str| {
            let KeystoreError::Member { member, .. } = refusal(pointer, value) else { panic!("{pointer}") };
            assert_eq!(member, expected);
        };
        named("/crypto/cipher", json!("aes-256-ctr"), "crypto.cipher");
        named("/crypto/kdf", json!("argon2"), "crypto.kdf");
        named("/crypto/kdfparams/dklen", json!(64), "crypto.kdfparams.dklen");
        named("/crypto/kdfparams/salt", json!("xy"), "crypto.kdfparams.salt");
        named("/crypto/cipherparams/iv", json!("00"), "crypto.cipherparams.iv");
        named("/crypto/ciphertext", json!("00".repeat(33)), "crypto.ciphertext");
        named("/crypto/mac", json!(""), "crypto.mac");
        named("/address", json!("nowhere"), "address");
        assert_eq!(refusal("/version", json!(1)), KeystoreError::Version { got: 1 });
        let error = refusal("/crypto/mac", json!({"secret": 5})).to_string();
        assert!(error.contains("line 1") && !error.contains("secret"), "{error}");
        let key = KeyPair::generate(&mut ChaCha8Rng::seed_from_u64(0));
        let made = Keystore::encrypt(&key, PASSWORD, &mut ChaCha8Rng::seed_from_u64(1));
        let shown = format!("{made:?}");
        assert!(!shown.contains(&hex::encode(made.ciphertext)) && shown.contains("scrypt") | shown.contains("Scrypt"));
    }
}
