//! Profiles. A profile is a network with its defaults of options.

use std::{collections::BTreeMap, sync::LazyLock};

use serde::Serialize;
use silica_chain::{PUBLISHED_ACCOUNTS, PUBLISHED_BALANCE, PublishedAccount, config::NoncePolicy};
use silica_crypto::{KeyPair, SecretKey};
use silica_protocol::{Address, Qa};
use zeroize::Zeroizing;

/// The network of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Profile {
    /// Chain id 222 and port 5555, as the isolated server of the reference.
    #[default]
    Isolated,
    /// Chain id 333, as the developer test network.
    Testnet,
    /// Chain id 1, as the main network.
    Mainnet,
    /// Chain id 1 and port 4201, with the test accounts of zq2.
    Zq2,
}

/// Last bytes of the secret keys of the test accounts that a single node of zq2 funds. All other bytes are zero. The
/// keys are in `evm_scilla_js_tests/hardhat.config.ts`. Their Zilliqa addresses and [`ZQ2_BALANCE`] are in
/// `config-single-node.toml`.
///
/// zq2 also funds the Ethereum addresses of these keys. This node does not fund these addresses, because no transaction
/// of Zilliqa can have such a sender.
const ZQ2_KEYS: [u8; 3] = [2, 3, 4];
const ZQ2_BALANCE: Qa = Qa::new(5_000 * Qa::PER_ZIL);

impl Profile {
    /// Every profile.
    pub(crate) const ALL: [Self; 4] = [Self::Isolated, Self::Testnet, Self::Mainnet, Self::Zq2];

    /// Returns the name of the profile on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Isolated => "isolated",
            Self::Testnet => "testnet",
            Self::Mainnet => "mainnet",
            Self::Zq2 => "zq2",
        }
    }

    /// Returns the defaults of the profile: flags without dashes, and their values.
    #[cfg(feature = "cli")]
    pub(crate) const fn options(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Isolated => &[("chain-id", "222"), ("listen", "127.0.0.1:5555")],
            Self::Testnet => &[("chain-id", "333")],
            Self::Mainnet => &[("chain-id", "1"), ("developer", "off")],
            Self::Zq2 => &[("chain-id", "1"), ("listen", "127.0.0.1:4201"), ("scilla-rules", "latest")],
        }
    }

    /// Returns which nonces the node accepts in the block modes with a block for each transaction. In the other block
    /// modes, the pool keeps transactions with nonce gaps.
    ///
    /// zq2 keeps a transaction with a nonce gap as queued (`Zilliqa/zq2` e3306e1, `zilliqa/src/pool.rs`).
    pub(crate) const fn nonces(self) -> NoncePolicy {
        match self {
            Self::Isolated | Self::Testnet | Self::Mainnet => NoncePolicy::Exact,
            Self::Zq2 => NoncePolicy::Queue,
        }
    }

    /// Returns the accounts file of a new chain, in the format of the isolated server.
    pub(crate) fn accounts(self) -> Zeroizing<String> {
        match self {
            Self::Isolated | Self::Testnet | Self::Mainnet => {
                file(PUBLISHED_ACCOUNTS.iter().map(|a| (a.address(), a.secret_key())), PUBLISHED_BALANCE)
            }
            Self::Zq2 => funded(&ZQ2_KEYS.map(zq2_key), ZQ2_BALANCE),
        }
    }
}

/// Returns whether the secret key of an account is public: the account is a test account of a profile.
pub(crate) fn is_published(address: &Address) -> bool {
    static ADDRESSES: LazyLock<Vec<Address>> = LazyLock::new(|| {
        let ours = PUBLISHED_ACCOUNTS.iter().map(PublishedAccount::address);
        ours.chain(ZQ2_KEYS.map(|last| zq2_key(last).address())).collect()
    });
    ADDRESSES.contains(address)
}

fn zq2_key(last: u8) -> KeyPair {
    let mut bytes = [0; SecretKey::LEN];
    bytes[SecretKey::LEN - 1] = last;
    KeyPair::from(SecretKey::from_bytes(bytes).expect("small numbers are keys"))
}

/// Returns an accounts file with these keys, which gives each account this balance.
pub(crate) fn funded(keys: &[KeyPair], balance: Qa) -> Zeroizing<String> {
    let texts: Vec<_> = keys.iter().map(|key| (key.address(), key.secret().to_hex())).collect();
    file(texts.iter().map(|(address, secret_key)| (*address, secret_key.as_str())), balance)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    amount: String,
    nonce: u64,
    private_key: &'a str,
}

/// Maximum size of an account in the file, in bytes.
const ENTRY: usize = 256;

fn file<'a>(keys: impl Iterator<Item = (Address, &'a str)>, balance: Qa) -> Zeroizing<String> {
    let entry = |private_key| Entry { amount: balance.to_string(), nonce: 0, private_key };
    let entries: BTreeMap<String, Entry<'_>> =
        keys.map(|(address, secret_key)| (address.to_string(), entry(secret_key))).collect();
    // Reserve the whole memory first: a vector that grows leaves copies of the secret keys in freed memory.
    let mut text = Vec::with_capacity(entries.len().saturating_add(1).saturating_mul(ENTRY));
    serde_json::to_writer_pretty(&mut text, &entries).expect("maps of text have a JSON form");
    Zeroizing::new(String::from_utf8(text).expect("JSON is text"))
}

#[cfg(test)]
mod tests {
    use silica_chain::Genesis;

    use super::*;

    #[cfg(feature = "cli")]
    #[test]
    fn names_are_those_of_the_command_line() {
        use clap::ValueEnum;

        for profile in Profile::ALL {
            assert_eq!(Profile::from_str(profile.name(), false), Ok(profile));
        }
        assert_eq!(Profile::ALL.len(), Profile::value_variants().len());
    }

    #[test]
    fn accounts_of_zq2_are_those_it_funds() {
        let genesis = Genesis::from_accounts_json(&Profile::Zq2.accounts()).unwrap();
        assert!(genesis.warnings().is_empty());
        for address in [
            "8d393a22e4476ff8212de13fe1939de2a236f0a7",
            "9cb422d2fabe9622ed706ad5d9d3ffd2cdd1c001",
            "ace5f1e883d3e02a1b2c78f6909a8c0430c6fb12",
        ] {
            let account = &genesis.accounts()[&address.parse().unwrap()];
            assert_eq!(account.balance.to_zil_string(), "5000.000000000000");
        }
    }

    #[test]
    fn published_accounts_are_those_of_profiles_and_no_others() {
        for profile in Profile::ALL {
            let genesis = Genesis::from_accounts_json(&profile.accounts()).unwrap();
            let accounts = genesis.accounts().keys().filter(|address| !address.is_zero());
            assert!(accounts.clone().count() > 0 && accounts.clone().all(is_published));
        }
        assert!(!is_published(&Address::ZERO) && !is_published(&Address::new([7; 20])));
    }

    #[test]
    fn others_have_the_published_accounts() {
        for profile in [Profile::Isolated, Profile::Testnet, Profile::Mainnet] {
            let genesis = Genesis::from_accounts_json(&profile.accounts()).unwrap();
            assert_eq!(genesis.accounts(), Genesis::default().accounts());
        }
    }
}
