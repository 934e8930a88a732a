//! The accounts file of the isolated server (Reference: execution#accounts-file).

use std::{collections::BTreeMap, fmt};

use serde_json::Value;
use silica_crypto::{KeyPair, SecretKey, SecretKeyError};
use silica_protocol::{Account, Address, Nonce};
use zeroize::{Zeroize, Zeroizing};

/// An accounts file: an object with addresses of 40 hexadecimal digits as keys. Each account has `amount`, a text with
/// Qa. `nonce` and `privateKey` are optional. If several entries have the same key, the last entry counts, as in the
/// file of the reference.
///
/// Neither `Debug` nor an error shows a secret key. Keys are overwritten in memory when they are dropped.
#[derive(Clone, Debug)]
pub struct AccountsFile {
    entries: Vec<AccountEntry>,
}

/// An account in the file.
#[derive(Clone)]
pub struct AccountEntry {
    address: Address,
    account: Account,
    secret_key: Option<Zeroizing<String>>,
}

impl fmt::Debug for AccountEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccountEntry")
            .field("address", &self.address)
            .field("account", &self.account)
            .finish_non_exhaustive()
    }
}

impl AccountsFile {
    /// Reads the file.
    ///
    /// # Errors
    ///
    /// [`GenesisError`] names the account, the member, the expected value and the kind of the given value.
    pub fn parse(text: &str) -> Result<Self, GenesisError> {
        let mut entries: BTreeMap<String, Value> =
            serde_json::from_str(text).map_err(|error| GenesisError::json(&error))?;
        let read: Result<_, _> = entries.iter().map(|(key, value)| AccountEntry::read(key, value)).collect();
        entries.values_mut().for_each(erase);
        Ok(Self { entries: read? })
    }

    /// Returns the accounts, ascending by the text of the address in the file.
    pub fn entries(&self) -> &[AccountEntry] {
        &self.entries
    }
}

impl AccountEntry {
    fn read(key: &str, value: &Value) -> Result<Self, GenesisError> {
        let address: Address = key.parse().map_err(|_| GenesisError::Address { got: key.to_owned() })?;
        let wrong = |member, expected, got: &Value| GenesisError::Member { address, member, expected, got: kind(got) };
        let members = value.as_object().ok_or_else(|| wrong("account", "an object", value))?;
        let member = |name| members.get(name).unwrap_or(&Value::Null);
        let text = |name, expected| member(name).as_str().ok_or_else(|| wrong(name, expected, member(name)));
        let amount = text("amount", "a text of decimal digits")?;
        let balance = amount.parse().map_err(|source| GenesisError::Amount { address, source })?;
        let nonce = if member("nonce").is_null() { Some(0) } else { member("nonce").as_u64() };
        let nonce = nonce.ok_or_else(|| wrong("nonce", "a whole number below 2^64", member("nonce")))?;
        let secret_key = if member("privateKey").is_null() {
            None
        } else {
            Some(Zeroizing::new(text("privateKey", "a text of 64 hexadecimal digits")?.to_owned()))
        };
        Ok(Self { address, account: Account { balance, nonce: Nonce::new(nonce), contract: None }, secret_key })
    }

    /// Returns the address of the account.
    pub fn address(&self) -> Address {
        self.address
    }

    /// Returns the initial account.
    pub fn account(&self) -> Account {
        self.account
    }

    /// Returns the text of the secret key in the file without a check, or `None` if the file has no key for this
    /// account.
    pub fn secret_key(&self) -> Option<&str> {
        self.secret_key.as_deref().map(String::as_str)
    }

    /// Returns the address that belongs to the secret key, or `None` if the file has no key for this account.
    ///
    /// # Errors
    ///
    /// [`SecretKeyError`]: the text is not a secret key.
    pub fn owner(&self) -> Option<Result<Address, SecretKeyError>> {
        let secret = self.secret_key()?.parse::<SecretKey>();
        Some(secret.map(|secret| KeyPair::from(secret).address()))
    }
}

/// Overwrites all texts of a value, because each of them can be a secret key.
fn erase(value: &mut Value) {
    match value {
        Value::String(text) => text.zeroize(),
        Value::Array(values) => values.iter_mut().for_each(erase),
        Value::Object(members) => members.values_mut().for_each(erase),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns the kind of a value, without its content.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Array(_) => "an array",
        Value::Bool(_) => "a boolean",
        Value::Null => "nothing",
        Value::Number(_) => "a number",
        Value::Object(_) => "an object",
        Value::String(_) => "a text",
    }
}

/// Reason why an accounts file is invalid.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GenesisError {
    /// The text is not a JSON object. The error shows no part of the text, which can contain secret keys.
    #[error("accounts: expected an object of accounts by address, at line {line}, column {column}")]
    Json {
        /// Line of the fault, from 1.
        line: usize,
        /// Column of the fault.
        column: usize,
    },
    /// A key is not an address.
    #[error("accounts: expected an address of 40 hexadecimal digits as key, got {got:?}")]
    Address {
        /// The key.
        got: String,
    },
    /// A member of an account is missing or has another JSON type.
    #[error("account {address}: {member}: expected {expected}, got {got}")]
    Member {
        /// Address of the account.
        address: Address,
        /// Name of the member.
        member: &'static str,
        /// The expected value.
        expected: &'static str,
        /// The JSON type of the given value. The error does not show the value, which can be a secret key.
        got: &'static str,
    },
    /// An amount is not a number of Qa.
    #[error("account {address}: invalid amount")]
    Amount {
        /// Address of the account.
        address: Address,
        /// The error of the amount.
        source: silica_protocol::NumberError,
    },
    /// The sum of all balances exceeds 128 bits.
    #[error("accounts: expected a sum of all amounts of at most 2^128 - 1 Qa, got a larger sum")]
    Supply,
}

impl GenesisError {
    pub(crate) fn json(error: &serde_json::Error) -> Self {
        Self::Json { line: error.line(), column: error.column() }
    }
}

#[cfg(test)]
mod tests {
    use silica_protocol::Qa;

    use super::*;

    const FIRST: &str = "7bb3b0e8a59f3f61d9bff038f4aeb42cae2ecce8";
    const FIRST_KEY: &str = "db11cfa086b92497c8ed5a4cc6edb3a5bfe3a640c43ffb9fc6aa0873c56f2ee3";

    fn check(entry: &str, expected: &str) {
        let error = AccountsFile::parse(&format!(r#"{{"{FIRST}": {entry}}}"#)).unwrap_err();
        assert_eq!(error.to_string(), expected, "{entry}");
    }

    #[test]
    fn the_last_of_repeated_addresses_counts() {
        let text = format!(r#"{{"{FIRST}": {{"amount": "1", "nonce": 1}}, "{FIRST}": {{"amount": "2", "nonce": 3}}}}"#);
        let file = AccountsFile::parse(&text).unwrap();
        let expected = Account { balance: Qa::new(2), nonce: Nonce::new(3), contract: None };
        assert_eq!(file.entries().iter().map(AccountEntry::account).collect::<Vec<_>>(), [expected]);
    }

    #[test]
    fn a_wrong_member_is_named_and_not_shown() {
        let account = format!("account {FIRST}: ");
        check(&format!("\"{FIRST_KEY}\""), &format!("{account}account: expected an object, got a text"));
        check("{}", &format!("{account}amount: expected a text of decimal digits, got nothing"));
        check(r#"{"amount": 1}"#, &format!("{account}amount: expected a text of decimal digits, got a number"));
        check(r#"{"amount": "-1"}"#, &format!("{account}invalid amount"));
        let nonce = format!("{account}nonce: expected a whole number below 2^64, got ");
        check(r#"{"amount": "1", "nonce": -1}"#, &format!("{nonce}a number"));
        check(r#"{"amount": "1", "nonce": "1"}"#, &format!("{nonce}a text"));
        check(
            &format!(r#"{{"amount": "1", "privateKey": ["{FIRST_KEY}"]}}"#),
            &format!("{account}privateKey: expected a text of 64 hexadecimal digits, got an array"),
        );
    }

    #[test]
    fn a_text_of_another_shape_is_placed_and_not_shown() {
        let check = |text: &str, expected: &str| {
            assert_eq!(AccountsFile::parse(text).unwrap_err().to_string(), expected, "{text}");
        };
        let shape = "accounts: expected an object of accounts by address, at line 1, column";
        check("[]", &format!("{shape} 0"));
        check(&format!("\"{FIRST_KEY}\""), &format!("{shape} 66"));
        check("{", &format!("{shape} 1"));
        check(
            r#"{"12": {"amount": "1"}}"#,
            "accounts: expected an address of 40 hexadecimal digits as key, got \"12\"",
        );
    }

    #[test]
    fn debug_shows_no_key() {
        let text = format!(r#"{{"{FIRST}": {{"amount": "1", "privateKey": "{FIRST_KEY}"}}}}"#);
        let file = AccountsFile::parse(&text).unwrap();
        assert_eq!(file.entries()[0].secret_key(), Some(FIRST_KEY));
        assert!(!format!("{file:?}").contains(&FIRST_KEY[..8]));
    }
}
