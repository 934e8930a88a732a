//! The key that signs transactions. It comes from a file, from the environment, or from the published keys of test
//! accounts. The command line never has a key, because other users can read it. No error text has a part of a key.

use std::{
    env,
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use clap::{Args, value_parser};
use silica_chain::PUBLISHED_ACCOUNTS;
use silica_crypto::{KeyPair, SecretKey};
use silica_protocol::ChainId;
use zeroize::Zeroizing;

use super::error::ClientError;
use crate::client::url::NodeUrl;

/// The environment variable that can have a secret key.
const VARIABLE: &str = "SILICA_KEY";

/// Maximum size of a key file, in bytes.
const LONGEST: u64 = 256;

/// Chain id of the isolated server, whose test accounts have published keys.
const ISOLATED: ChainId = ChainId::new(222);

/// Options that select the key. Without an option, the key is in the environment variable `SILICA_KEY`.
#[derive(Clone, Debug, Default, Args)]
pub struct KeyArgs {
    /// File with the secret key of the sender, as 64 hexadecimal digits, or - for standard input [default: the key in
    /// the environment, as `SILICA_KEY`]. Only its owner may have permission to read the file.
    #[arg(long, value_name = "FILE", conflicts_with = "test_account")]
    pub key_file: Option<PathBuf>,
    /// Sign with the key of a test account, by its number in `silica account list`. These keys are public.
    #[arg(long, value_name = "N", value_parser = value_parser!(u8).range(1..=11))]
    pub test_account: Option<u8>,
}

impl KeyArgs {
    /// Reads the selected key.
    ///
    /// # Errors
    ///
    /// No source gives a key, the value is not a key, or other users have permissions for the file.
    pub(super) fn read(&self) -> Result<KeyPair, ClientError> {
        if let Some(number) = self.test_account {
            return published(number).ok_or(ClientError::NoKey);
        }
        match &self.key_file {
            Some(path) => of_file(path),
            None => of_environment(),
        }
    }

    /// Rejects the key of a test account, unless the node is on this machine or has the chain id of the isolated
    /// server. On any other network, other users could take the money of the account.
    pub(super) fn check_network(&self, url: &NodeUrl, chain: ChainId) -> Result<(), ClientError> {
        if self.test_account.is_none() || chain == ISOLATED || url.is_loopback() {
            return Ok(());
        }
        Err(ClientError::TestAccount { url: url.to_string(), chain: chain.get(), expected: ISOLATED.get() })
    }
}

/// Returns the key of the test account with this number, from 1.
pub(super) fn published(number: u8) -> Option<KeyPair> {
    let account = PUBLISHED_ACCOUNTS.get(usize::from(number).checked_sub(1)?)?;
    account.secret_key().parse().ok().map(KeyPair::from_secret)
}

fn of_environment() -> Result<KeyPair, ClientError> {
    match env::var_os(VARIABLE) {
        Some(text) => read_key(VARIABLE, &Zeroizing::new(text.to_string_lossy().into_owned())),
        None => Err(ClientError::NoKey),
    }
}

fn of_file(path: &Path) -> Result<KeyPair, ClientError> {
    if is_like_a_key(path) {
        return Err(ClientError::KeyAsPath);
    }
    let failed = |source| ClientError::File { action: "read", path: path.to_owned(), source };
    let text = if path.as_os_str() == "-" {
        read_text(io::stdin().lock()).map_err(failed)?
    } else {
        let file = File::open(path).map_err(failed)?;
        check_private(path, &file)?;
        read_text(file).map_err(failed)?
    };
    read_key("--key-file", &text)
}

/// Returns whether the given path looks like a secret key.
fn is_like_a_key(path: &Path) -> bool {
    let text = path.to_string_lossy();
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(&text);
    digits.len() >= SecretKey::LEN && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn read_text(from: impl Read) -> io::Result<Zeroizing<String>> {
    let mut text = Zeroizing::new(String::new());
    from.take(LONGEST).read_to_string(&mut text)?;
    Ok(text)
}

fn read_key(place: &str, text: &str) -> Result<KeyPair, ClientError> {
    let key = text.trim().parse().map_err(|source| ClientError::Key { place: place.to_owned(), source })?;
    Ok(KeyPair::from_secret(key))
}

#[cfg(unix)]
fn check_private(path: &Path, file: &File) -> Result<(), ClientError> {
    use std::os::unix::fs::MetadataExt;
    /// Permission bits of all users except the owner.
    const OTHERS: u32 = 0o077;
    let failed = |source| ClientError::File { action: "read", path: path.to_owned(), source };
    let metadata = file.metadata().map_err(failed)?;
    let (path, mode) = (path.to_owned(), metadata.mode() & 0o777);
    if metadata.is_dir() {
        return Err(ClientError::KeyIsNoFile { path, what: "a directory" });
    }
    if mode & OTHERS == 0 {
        return Ok(());
    }
    // The advice of `KeyIsOpen`, `chmod 600`, does not fit a device or a pipe.
    if !metadata.is_file() {
        return Err(ClientError::KeyIsNoFile { path, what: "not a regular file, and others can read it" });
    }
    Err(ClientError::KeyIsOpen { path, mode })
}

#[cfg(not(unix))]
fn check_private(_: &Path, _: &File) -> Result<(), ClientError> {
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
        of_file(file.path())
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
    fn only_the_mode_of_a_file_is_a_hint() {
        let directory = tempfile::tempdir().unwrap();
        for (path, what) in [(Path::new("/dev/null"), "which is not a regular file"), (directory.path(), "a directory")]
        {
            let error = of_file(path).unwrap_err().to_string();
            assert!(error.contains(what) && !error.contains("chmod"), "{error}");
        }
    }

    #[test]
    fn key_in_place_of_a_path_is_not_shown() {
        for text in [KEY.to_owned(), format!("0x{KEY}"), format!("0X{}", KEY.to_uppercase()), KEY[..40].to_owned()] {
            let error = of_file(Path::new(&text)).unwrap_err().to_string();
            assert!(!error.to_lowercase().contains(&KEY[..8]) && error.contains("the path of a file"), "{error}");
        }
    }

    #[test]
    fn published_keys_are_for_test_networks() {
        let args = |test_account| KeyArgs { key_file: None, test_account };
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
        fn errors_show_nothing_of_a_key(key in "[0-9a-f]{20,90}[^0-9a-f]?") {
            if let Err(error) = read_key(VARIABLE, &key) {
                let texts = format!("{error} {:?} {}", error, std::error::Error::source(&error).unwrap());
                prop_assert!(!texts.contains(&key[..8]), "{}", texts);
            }
        }
    }
}
