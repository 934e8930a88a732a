//! The first state of a chain.

use std::collections::{BTreeMap, BTreeSet};

use silica_crypto::SecretKeyError;
use silica_protocol::{Account, Address, PublicKey, Qa, StateRoot, TxBlockHeader};

use crate::accounts_file::{AccountEntry, AccountsFile, GenesisError};

/// Sum of the genesis balances on the main network, without the null account (`TOTAL_GENESIS_TOKEN`).
pub const GENESIS_TOKENS: Qa = Qa::new(12_600_000_000 * Qa::PER_ZIL);
/// Mining reserve: the balance of the null account at genesis, which pays the rewards (`TOTAL_COINBASE_REWARD`).
pub const MINING_RESERVE: Qa = Qa::new(8_400_000_000 * Qa::PER_ZIL);
/// Default balance of a published account.
pub const PUBLISHED_BALANCE: Qa = Qa::new(900_000_000_000 * Qa::PER_ZIL);

/// An account with a published secret key. Anyone can spend its money.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublishedAccount {
    address: &'static str,
    secret_key: &'static str,
}

/// The accounts that public test suites use: the accounts of the isolated server, and two further accounts, from which
/// suites for local networks pay.
///
/// The first nine keys are in the accounts file of the reference (Reference: execution#accounts-file). The file of the
/// generation 9.3 has the third, fourth, fifth and ninth key with their Ethereum addresses. In the generation 8.1,
/// these keys cannot spend from Ethereum addresses. Here each key has its Zilliqa address.
pub const PUBLISHED_ACCOUNTS: [PublishedAccount; 11] = [
    PublishedAccount {
        address: "7bb3b0e8a59f3f61d9bff038f4aeb42cae2ecce8",
        secret_key: "db11cfa086b92497c8ed5a4cc6edb3a5bfe3a640c43ffb9fc6aa0873c56f2ee3",
    },
    PublishedAccount {
        address: "d90f2e538ce0df89c8273cad3b63ec44a3c4ed82",
        secret_key: "e53d1c3edaffc7a7bab5418eb836cf75819a82872b4a1a0f1c7fcf5c3e020b89",
    },
    PublishedAccount {
        address: "381f4008505e940ad7681ec3468a719060caf796",
        secret_key: "d96e9eb5b782a80ea153c937fa83e5948485fbfc8b7e7c069d7b914dbc350aba",
    },
    PublishedAccount {
        address: "b028055ea3bc78d759d10663da40d171dec992aa",
        secret_key: "e7f59a4beb997a02a13e0d5e025b39a6f0adc64d37bb1e6a849a4863b4680411",
    },
    PublishedAccount {
        address: "f6dad9e193fa2959a849b81caf9cb6ecde466771",
        secret_key: "589417286a3213dceb37f8f89bd164c3505a4cec9200c61f7c6db13a30a71b45",
    },
    PublishedAccount {
        address: "10200e3da08ee88729469d6eabc055cb225821e7",
        secret_key: "5430365143ce0154b682301d0ab731897221906a7054bbf5bd83c7663a6cbc40",
    },
    PublishedAccount {
        address: "ac941274c3b6a50203cc5e7939b7dad9f32a0c12",
        secret_key: "1080d2cca18ace8225354ac021f9977404cee46f1d12e9981af8c36322eac1a4",
    },
    PublishedAccount {
        address: "ec902fe17d90203d0bddd943d97b29576ece3177",
        secret_key: "254d9924fc1dcdca44ce92d80255c6a0bb690f867abde80e626fbfef4d357004",
    },
    PublishedAccount {
        address: "ff6d421bf5aab7bde5d6f15f180abc4d21dcc28d",
        secret_key: "410b0e0a86625a10c554f8248a77c7198917bd9135c15bb28922684826bb9f14",
    },
    PublishedAccount {
        address: "c2035715831ab100ec42e562ce341b834bed1f4c",
        secret_key: "b8fc4e270594d87d3f728d0873a38fb0896ea83bd6f96b4f3c9ff0a29122efe4",
    },
    PublishedAccount {
        address: "6cd3667ba79310837e33f0aecbe13688a6cbca32",
        secret_key: "b87f4ba7dcd6e60f2cca8352c89904e3993c5b2b0b608d255002edcda6374de4",
    },
];

/// The first state of a chain.
///
/// # Examples
///
/// ```
/// use silica_chain::Genesis;
///
/// let genesis = Genesis::from_accounts_json(
///     r#"{"7bb3b0e8a59f3f61d9bff038f4aeb42cae2ecce8": {"amount": "1000000000000000000", "nonce": 0}}"#,
/// )?;
/// // The null account, which pays rewards, is added.
/// assert_eq!(genesis.accounts().len(), 2);
/// # Ok::<(), silica_chain::GenesisError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Genesis {
    accounts: BTreeMap<Address, Account>,
    warnings: Vec<GenesisWarning>,
}

/// An inconsistency in the accounts file. The node accepts the file: it does not sign with these keys, and an existing
/// chain can have such a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GenesisWarning {
    /// The secret key does not belong to the address of the account.
    #[error("account {address}: expected the private key of this account, got the private key of account {owner}")]
    KeyMismatch {
        /// Address of the account.
        address: Address,
        /// Address that belongs to the key.
        owner: Address,
    },
    /// The text is not a secret key.
    #[error("account {address}: expected a valid private key, got an invalid one: {reason}")]
    KeyUnreadable {
        /// Address of the account.
        address: Address,
        /// The fault of the key.
        reason: SecretKeyError,
    },
    /// Two or more keys in different spellings name the same address. The last key in the order of bytes counts.
    #[error(
        "account {address}: expected one spelling of the address, got several; the last one in the order of bytes counts"
    )]
    Repeated {
        /// Address of the account.
        address: Address,
    },
}

impl PublishedAccount {
    /// Returns the address.
    #[expect(clippy::missing_panics_doc, reason = "a test reads every published address")]
    pub fn address(&self) -> Address {
        self.address.parse().expect("a test reads every published address")
    }

    /// Returns the secret key in hexadecimal digits.
    pub fn secret_key(&self) -> &'static str {
        self.secret_key
    }
}

impl Genesis {
    /// Creates the first state from `accounts`. Adds the null account with the mining reserve if it is missing.
    ///
    /// # Errors
    ///
    /// [`GenesisError::Supply`]: the sum of all balances exceeds 128 bits.
    pub fn new(mut accounts: BTreeMap<Address, Account>) -> Result<Self, GenesisError> {
        accounts.entry(Address::ZERO).or_insert(Account::with_balance(MINING_RESERVE));
        let supply = accounts.values().try_fold(Qa::ZERO, |sum, account| sum.checked_add(account.balance));
        supply.ok_or(GenesisError::Supply)?;
        Ok(Self { accounts, warnings: Vec::new() })
    }

    /// Reads the [accounts file](AccountsFile) of the isolated server.
    ///
    /// # Errors
    ///
    /// [`GenesisError`] names the entry and its fault.
    pub fn from_accounts_json(text: &str) -> Result<Self, GenesisError> {
        let file = AccountsFile::parse(text)?;
        let (mut accounts, mut repeated) = (BTreeMap::new(), BTreeSet::new());
        for entry in file.entries() {
            if accounts.insert(entry.address(), entry.account()).is_some() {
                repeated.insert(entry.address());
            }
        }
        let repeated = repeated.into_iter().map(|address| GenesisWarning::Repeated { address });
        let warnings = file.entries().iter().filter_map(check_key).chain(repeated).collect();
        Ok(Self { warnings, ..Self::new(accounts)? })
    }

    /// Returns the accounts, including the null account.
    pub fn accounts(&self) -> &BTreeMap<Address, Account> {
        &self.accounts
    }

    /// Returns the inconsistencies in the accounts file.
    pub fn warnings(&self) -> &[GenesisWarning] {
        &self.warnings
    }
}

impl Default for Genesis {
    /// Returns the [published accounts](PUBLISHED_ACCOUNTS) with [their balance](PUBLISHED_BALANCE), and the null
    /// account.
    fn default() -> Self {
        let account = Account::with_balance(PUBLISHED_BALANCE);
        Self::new(PUBLISHED_ACCOUNTS.iter().map(|published| (published.address(), account)).collect())
            .expect("the published balances fit 128 bits")
    }
}

fn check_key(entry: &AccountEntry) -> Option<GenesisWarning> {
    let address = entry.address();
    match entry.owner()? {
        Ok(owner) => (owner != address).then_some(GenesisWarning::KeyMismatch { address, owner }),
        Err(reason) => Some(GenesisWarning::KeyUnreadable { address, reason }),
    }
}

/// Returns the header of Tx block 0: the header of the reference, with the root of the first state instead of zero.
pub(crate) fn genesis_header(member: PublicKey, state_root: StateRoot) -> TxBlockHeader {
    TxBlockHeader { state_root, ..TxBlockHeader::genesis(member) }
}

#[cfg(test)]
mod tests {
    use silica_crypto::KeyPair;

    use super::*;

    const FIRST: &str = "7bb3b0e8a59f3f61d9bff038f4aeb42cae2ecce8";
    const FIRST_KEY: &str = "db11cfa086b92497c8ed5a4cc6edb3a5bfe3a640c43ffb9fc6aa0873c56f2ee3";

    #[test]
    fn published_accounts_belong_to_their_keys() {
        for published in PUBLISHED_ACCOUNTS {
            let key = KeyPair::from_hex(published.secret_key()).unwrap();
            assert_eq!(key.address(), published.address());
        }
        assert_eq!(PUBLISHED_ACCOUNTS[0].address().to_string(), FIRST);
        assert_eq!(PUBLISHED_ACCOUNTS[8].address().to_string(), "ff6d421bf5aab7bde5d6f15f180abc4d21dcc28d");
        assert_eq!(PUBLISHED_ACCOUNTS[9].address().to_string(), "c2035715831ab100ec42e562ce341b834bed1f4c");
        assert_eq!(PUBLISHED_ACCOUNTS[10].address().to_string(), "6cd3667ba79310837e33f0aecbe13688a6cbca32");
    }

    #[test]
    fn the_default_has_the_published_accounts_and_the_reserve() {
        let genesis = Genesis::default();
        assert_eq!(genesis.accounts().len(), PUBLISHED_ACCOUNTS.len() + 1);
        assert_eq!(genesis.accounts()[&Address::ZERO].balance.get(), 8_400_000_000_000_000_000_000);
        assert_eq!(genesis.accounts()[&FIRST.parse().unwrap()].balance.get(), 9 * 10_u128.pow(23));
        assert_eq!(GENESIS_TOKENS.get(), 12_600_000_000_000_000_000_000);
    }

    #[test]
    fn a_null_account_in_the_file_stays_as_it_is() {
        let zero = "0".repeat(40);
        let genesis = Genesis::from_accounts_json(&format!(r#"{{"{zero}": {{"amount": "5", "nonce": 0}}}}"#)).unwrap();
        assert_eq!(genesis.accounts()[&Address::ZERO].balance, Qa::new(5));
    }

    #[test]
    fn two_spellings_of_an_address_only_warn() {
        let address = FIRST.parse().unwrap();
        let upper = FIRST.to_uppercase();
        let genesis = Genesis::from_accounts_json(&format!(
            r#"{{"{FIRST}": {{"amount": "1"}}, "{upper}": {{"amount": "2"}}, "0x{FIRST}": {{"amount": "3"}}}}"#
        ))
        .unwrap();
        assert_eq!(genesis.accounts()[&address].balance, Qa::new(1));
        assert_eq!(genesis.warnings(), [GenesisWarning::Repeated { address }]);
    }

    #[test]
    fn foreign_and_unreadable_keys_only_warn() {
        let entry = |key: &str| format!(r#"{{"{FIRST}": {{"privateKey": "{key}", "amount": "1", "nonce": 0}}}}"#);
        let warnings = |key: &str| Genesis::from_accounts_json(&entry(key)).unwrap().warnings().to_vec();
        assert_eq!(warnings(FIRST_KEY), []);
        assert!(matches!(
            warnings(PUBLISHED_ACCOUNTS[1].secret_key())[..],
            [GenesisWarning::KeyMismatch { owner, .. }] if owner == PUBLISHED_ACCOUNTS[1].address()
        ));
        assert!(matches!(warnings("12")[..], [GenesisWarning::KeyUnreadable { .. }]));
    }

    #[test]
    fn money_beyond_128_bits_is_refused() {
        let text = format!(r#"{{"{FIRST}": {{"amount": "{}"}}}}"#, u128::MAX);
        let error = Genesis::from_accounts_json(&text).unwrap_err();
        let expected = "accounts: expected a sum of all amounts of at most 2^128 - 1 Qa, got a larger sum";
        assert_eq!(error.to_string(), expected);
    }
}
