//! The key that signs transactions. It comes from a file, from the environment, or from the published keys of test
//! accounts. The command line never has a key, because other users can read the command line. No error text has a part
//! of a key.

use std::{
    env,
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use clap::{Args, value_parser};
use silica_chain::PUBLISHED_ACCOUNTS;
use silica_crypto::{KeyPair, Keystore, SecretKey};
use silica_protocol::ChainId;
use zeroize::Zeroizing;

use super::error::ClientError;
use crate::client::url::NodeUrl;

/// The environment variable that can have a secret key.
const VARIABLE: &str = "SILICA_KEY";

/// The environment variable that can have the password of a keystore file.
const PASSWORD: &str = "SILICA_PASSWORD";

const KEY_FILE: &str = "--key-file";
const PASSWORD_FILE: &str = "--password-file";

/// Maximum size of a key file or a password file, in bytes. A keystore file has about 600 bytes.
const LONGEST: u64 = 16 * 1024;

/// Options that select the key. Without an option, the key is in the environment variable `SILICA_KEY`.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct KeyArgs {
    /// File with the secret key of the sender, or - for standard input [default: the key in the environment variable
    /// `SILICA_KEY`]. The file has 64 hexadecimal digits, or is a keystore of a wallet. Only the owner of the file may
    /// have permission to read the file.
    #[arg(long, value_name = "FILE", conflicts_with = "test_account")]
    pub key_file: Option<PathBuf>,
    /// File with the password of the keystore [default: the password in the environment variable `SILICA_PASSWORD`].
    /// Only the owner of the file may have permission to read the file.
    #[arg(long, value_name = "FILE", requires = "key_file")]
    pub password_file: Option<PathBuf>,
    /// Sign with the key of a test account, by its number in `silica account list`. These keys are public.
    #[arg(long, value_name = "N", value_parser = value_parser!(u8).range(1..=11))]
    pub test_account: Option<u8>,
}

impl KeyArgs {
    /// Reads the selected key.
    ///
    /// # Errors
    ///
    /// No source gives a key, a file cannot be read, the value is not a key, the keystore or its password is invalid,
    /// or other users have permissions for a file.
    pub(super) fn read(&self) -> Result<KeyPair, ClientError> {
        if let Some(number) = self.test_account {
            return published(number).ok_or(ClientError::NoKey);
        }
        match &self.key_file {
            Some(path) => of_file(path, self.password_file.as_deref()),
            None => of_environment(),
        }
    }

    /// Rejects the key of a test account, unless the node is on this machine or has the chain id of the isolated
    /// server. On any other network, other users could take the money of the account.
    pub(super) fn check_network(&self, url: &NodeUrl, chain: ChainId) -> Result<(), ClientError> {
        if self.test_account.is_none() || chain == ChainId::ISOLATED || url.is_loopback() {
            return Ok(());
        }
        Err(ClientError::TestAccount { url: url.to_string(), chain: chain.get(), expected: ChainId::ISOLATED.get() })
    }
}

/// Returns the key of the test account with this number. The first number is 1. Returns `None` if no account has the
/// number.
pub(super) fn published(number: u8) -> Option<KeyPair> {
    let account = PUBLISHED_ACCOUNTS.get(usize::from(number).checked_sub(1)?)?;
    KeyPair::from_hex(account.secret_key()).ok()
}

fn of_environment() -> Result<KeyPair, ClientError> {
    match env::var_os(VARIABLE) {
        Some(text) => read_key(VARIABLE, &Zeroizing::new(text.to_string_lossy().into_owned())),
        None => Err(ClientError::NoKey),
    }
}

fn of_file(path: &Path, password: Option<&Path>) -> Result<KeyPair, ClientError> {
    if is_like_a_key(path) {
        return Err(ClientError::KeyAsPath);
    }
    let failed = |source| ClientError::File { action: "read", path: path.to_owned(), source };
    let text = if path.as_os_str() == "-" {
        read_text(io::stdin().lock()).map_err(failed)?
    } else {
        let file = File::open(path).map_err(failed)?;
        check_private(KEY_FILE, path, &file)?;
        read_text(file).map_err(failed)?
    };
    // A keystore is a JSON object.
    match password {
        _ if text.trim_start().starts_with('{') => of_keystore(&text, password),
        Some(_) => Err(ClientError::UnusedPassword),
        None => read_key(KEY_FILE, &text),
    }
}

/// Decrypts a keystore with a password from a file or the environment.
fn of_keystore(text: &str, password: Option<&Path>) -> Result<KeyPair, ClientError> {
    let keystore: Keystore = text.parse()?;
    let password = if let Some(path) = password {
        read_password(path)?
    } else {
        let text = env::var_os(PASSWORD).ok_or(ClientError::NoPassword)?;
        let text = text.into_string().map_err(|_| ClientError::PasswordText { place: PASSWORD })?;
        check_password(PASSWORD, Zeroizing::new(text))?
    };
    Ok(keystore.decrypt(&password)?)
}

/// Reads a password from a file, without the line break at its end.
pub(super) fn read_password(path: &Path) -> Result<Zeroizing<String>, ClientError> {
    let failed = |source| ClientError::File { action: "read", path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    check_private(PASSWORD_FILE, path, &file)?;
    let text = read_text(file).map_err(failed)?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    let line = line.strip_suffix('\r').unwrap_or(line);
    check_password(PASSWORD_FILE, Zeroizing::new(line.to_owned()))
}

fn check_password(place: &'static str, text: Zeroizing<String>) -> Result<Zeroizing<String>, ClientError> {
    if text.is_empty() || text.contains('\n') { Err(ClientError::PasswordText { place }) } else { Ok(text) }
}

/// Returns whether the given path looks like a secret key.
fn is_like_a_key(path: &Path) -> bool {
    let text = path.to_string_lossy();
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(&text);
    digits.len() >= SecretKey::LEN && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn read_text(from: impl Read) -> io::Result<Zeroizing<String>> {
    let mut text = Zeroizing::new(String::new());
    from.take(LONGEST.saturating_add(1)).read_to_string(&mut text)?;
    if u64::try_from(text.len()).is_ok_and(|length| length > LONGEST) {
        return Err(io::Error::other(format!("expected at most {LONGEST} bytes, got more")));
    }
    Ok(text)
}

fn read_key(place: &str, text: &str) -> Result<KeyPair, ClientError> {
    KeyPair::from_hex(text.trim()).map_err(|source| ClientError::Key { place: place.to_owned(), source })
}

#[cfg(unix)]
fn check_private(option: &'static str, path: &Path, file: &File) -> Result<(), ClientError> {
    use std::os::unix::fs::MetadataExt;
    /// Permission bits of all users except the owner.
    const OTHERS: u32 = 0o077;
    let failed = |source| ClientError::File { action: "read", path: path.to_owned(), source };
    let metadata = file.metadata().map_err(failed)?;
    let (path, mode) = (path.to_owned(), metadata.mode() & 0o777);
    if metadata.is_dir() {
        return Err(ClientError::KeyIsNoFile { option, path, what: "a directory" });
    }
    if mode & OTHERS == 0 {
        return Ok(());
    }
    // The advice of `KeyIsOpen`, `chmod 600`, does not fit a device or a pipe.
    if !metadata.is_file() {
        return Err(ClientError::KeyIsNoFile { option, path, what: "not a regular file, and others can read it" });
    }
    Err(ClientError::KeyIsOpen { option, path, mode })
}

#[cfg(not(unix))]
fn check_private(_: &'static str, _: &Path, _: &File) -> Result<(), ClientError> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::*;

    const KEY: &str = "e53d1c3edaffc7a7bab5418eb836cf75819a82872b4a1a0f1c7fcf5c3e020b89";

    fn of_text(text: &str, mode: u32) -> Result<KeyPair, ClientError> {
        use std::os::unix::fs::PermissionsExt;
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), text).unwrap();
        fs::set_permissions(file.path(), fs::Permissions::from_mode(mode)).unwrap();
        of_file(file.path(), None)
    }

    #[test]
    fn keys_are_read_from_files_of_their_owner() {
        let expected = published(2).unwrap().address();
        for text in [KEY.to_owned(), format!("0x{KEY}\n"), format!("  {}\r\n", KEY.to_uppercase())] {
            assert_eq!(of_text(&text, 0o600).unwrap().address(), expected);
        }
        assert_eq!(of_text(KEY, 0o400).unwrap().address(), expected);
        for mode in [0o640, 0o604, 0o620, 0o666] {
            let error = of_text(KEY, mode).unwrap_err().to_string();
            assert!(error.contains("chmod 600") && error.contains(&format!("{mode:03o}")), "{error}");
        }
    }

    #[test]
    fn keystores_are_read_with_the_password_of_a_file() {
        use std::os::unix::fs::PermissionsExt;
        let key = published(2).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = directory.path().join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            path
        };
        let file = write("wallet.json", &Keystore::new(&key, "a password").unwrap().to_string());
        for text in ["a password", "a password\n", "a password\r\n"] {
            assert_eq!(of_file(&file, Some(&write("password", text))).unwrap(), key);
        }
        let refused = |text: &str, expected: &str| {
            let password = write("password", text);
            let error = of_file(&file, Some(&password)).unwrap_err().to_string();
            assert!(error.contains(expected) && !error.contains("another"), "{error}");
        };
        refused("another password", "the password does not match");
        refused("", "--password-file: expected one line");
        refused("another\nline", "--password-file: expected one line");
        let plain = write("plain.key", &key.secret().to_hex());
        let error = of_file(&plain, Some(&write("password", "a password"))).unwrap_err().to_string();
        assert!(error.contains("--password-file") && error.contains("keystore"), "{error}");
        for text in ["", "two\nlines"] {
            assert!(check_password(PASSWORD, text.to_owned().into()).is_err(), "{text:?}");
        }
        let password = write("password", "a password");
        fs::set_permissions(&password, fs::Permissions::from_mode(0o644)).unwrap();
        let error = of_file(&file, Some(&password)).unwrap_err().to_string();
        assert!(error.contains("--password-file") && error.contains("chmod 600"), "{error}");
        let error = of_text("{\"version\": 3", 0o600).unwrap_err().to_string();
        assert!(error.contains("expected JSON"), "{error}");
    }

    #[test]
    fn only_the_mode_of_a_file_is_a_hint() {
        let directory = tempfile::tempdir().unwrap();
        for (path, what) in [(Path::new("/dev/null"), "which is not a regular file"), (directory.path(), "a directory")]
        {
            let error = of_file(path, None).unwrap_err().to_string();
            assert!(error.contains(what) && !error.contains("chmod"), "{error}");
        }
    }

    #[test]
    fn key_in_place_of_a_path_is_not_shown() {
        for text in [KEY.to_owned(), format!("0x{KEY}"), format!("0X{}", KEY.to_uppercase()), KEY[..40].to_owned()] {
            let error = of_file(Path::new(&text), None).unwrap_err().to_string();
            assert!(!error.to_lowercase().contains(&KEY[..8]) && error.contains("the path of a file"), "{error}");
        }
    }

    #[test]
    fn published_keys_are_for_test_networks() {
        let args = |test_account| KeyArgs { test_account, ..KeyArgs::default() };
        let check = |test_account, url: &str, chain, ok| {
            let checked = args(test_account).check_network(&url.parse().unwrap(), ChainId::new(chain));
            assert_eq!(checked.is_ok(), ok, "{test_account:?} {url} {chain}");
        };
        check(Some(1), "http://127.0.0.1:5555", 1, true);
        check(Some(1), "http://localhost:5555", 333, true);
        check(Some(1), "http://[::1]:5555", 333, true);
        check(Some(1), "http://example.org", 222, true);
        check(Some(1), "http://example.org", 1, false);
        check(Some(1), "http://10.0.0.1", 333, false);
        check(None, "http://example.org", 1, true);
    }

    #[test]
    fn test_accounts_are_numbered_from_one() {
        assert_eq!(published(1).unwrap().address(), PUBLISHED_ACCOUNTS[0].address());
        assert_eq!(published(11).unwrap().address(), PUBLISHED_ACCOUNTS[10].address());
        assert!(published(0).is_none() && published(12).is_none());
    }

    proptest! {
        #[test]
        fn errors_hide_the_key(key in "[0-9a-f]{20,90}[^0-9a-f]?") {
            if let Err(error) = read_key(VARIABLE, &key) {
                let texts = format!("{error} {:?} {}", error, std::error::Error::source(&error).unwrap());
                prop_assert!(!texts.contains(&key[..8]), "{}", texts);
            }
        }
    }
}
