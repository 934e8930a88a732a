//! The accounts of the genesis, from the file that a network file names.

use silica_chain::{Genesis, GenesisError};
use silica_protocol::{hex, sha256};

use super::AccountsFile;

/// Reason why the bytes of an accounts file are not the accounts of the network.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AccountsFileError {
    /// The network file has the hash of other bytes.
    #[error("network.accounts.sha256: expected {expected}, got {got}")]
    Digest {
        /// The hash in the network file, in hexadecimal.
        expected: String,
        /// The hash of the bytes, in hexadecimal.
        got: String,
    },
    /// The bytes are not text.
    #[error("network.accounts.file: expected text in UTF-8, got another byte at position {at}")]
    Text {
        /// Position of the first invalid byte, from 0.
        at: usize,
    },
    /// The text has no valid accounts.
    #[error("network.accounts.file: expected accounts, got an invalid file")]
    Accounts(#[from] GenesisError),
}

impl AccountsFile {
    /// Reads the accounts of the genesis from the bytes of the file.
    ///
    /// # Errors
    ///
    /// [`AccountsFileError`] names the field, the expected and the given value. The function compares the hash first.
    pub fn genesis(&self, bytes: &[u8]) -> Result<Genesis, AccountsFileError> {
        let got = sha256(&[bytes]);
        if got != self.sha256 {
            let [expected, got] = [&self.sha256, &got].map(hex::encode);
            return Err(AccountsFileError::Digest { expected, got });
        }
        let text = std::str::from_utf8(bytes).map_err(|error| AccountsFileError::Text { at: error.valid_up_to() })?;
        Ok(Genesis::from_accounts_json(text)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file_of(bytes: &[u8]) -> AccountsFile {
        AccountsFile { file: "accounts.json".to_owned(), sha256: sha256(&[bytes]) }
    }

    #[test]
    fn accounts_have_the_hash_of_the_network_file() {
        let text = format!("{{\"{}\": {{\"amount\": \"5\", \"nonce\": 0}}}}", "11".repeat(20));
        let genesis = file_of(text.as_bytes()).genesis(text.as_bytes()).unwrap();
        // The second account is the null account.
        assert_eq!(genesis.accounts().len(), 2);
        let changed = text.replace("\"5\"", "\"6\"");
        let error = file_of(text.as_bytes()).genesis(changed.as_bytes()).unwrap_err();
        let [expected, got] = [&text, &changed].map(|text| hex::encode(sha256(&[text.as_bytes()])));
        assert_eq!(error.to_string(), format!("network.accounts.sha256: expected {expected}, got {got}"));
    }

    #[test]
    fn bytes_that_are_no_accounts_are_rejected() {
        assert!(matches!(file_of(b"{}\xff").genesis(b"{}\xff"), Err(AccountsFileError::Text { at: 2 })));
        assert!(matches!(file_of(b"[]").genesis(b"[]"), Err(AccountsFileError::Accounts(_))));
    }
}
