//! Profiles: networks, and the defaults that each of them has.

use std::{collections::BTreeMap, sync::LazyLock};

use clap::ValueEnum;
use serde::Serialize;
use silica_chain::{PUBLISHED_ACCOUNTS, PUBLISHED_BALANCE, PublishedAccount, config::NoncePolicy};
use silica_crypto::{KeyPair, SecretKey};
use silica_protocol::{Address, Qa};
use zeroize::Zeroizing;

/// The network of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Profile {
    /// Chain 222 on port 5555, as the isolated server.
    #[default]
    Isolated,
    /// Chain 333, as the developer test network.
    Testnet,
    /// Chain 1, as the main network.
    Mainnet,
    /// Chain 1 on port 4201 with the test keys of zq2.
    Zq2,
}

/// Secret keys of the accounts that a single node of zq2 funds for its tests: `evm_scilla_js_tests/hardhat.config.ts` has
/// the keys, `config-single-node.toml` the addresses that belong to them here, with this much money. The same keys have
/// other addresses under Ethereum's rules, which zq2 funds too; nothing could be signed for those here.
const ZQ2_KEYS: [u8; 3] = [2, 3, 4];
const ZQ2_BALANCE: Qa = Qa::new(5_000 * Qa::PER_ZIL);

impl Profile {
    /// Every profile.
    pub(crate) const ALL: [Self; 4] = [Self::Isolated, Self::Testnet, Self::Mainnet, Self::Zq2];

    /// Returns its name on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Isolated => "isolated",
            Self::Testnet => "testnet",
            Self::Mainnet => "mainnet",
            Self::Zq2 => "zq2",
        }
    }

    /// Returns its defaults: options without dashes, and their values.
    pub(crate) const fn options(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Isolated => &[("chain-id", "222"), ("listen", "127.0.0.1:5555")],
            Self::Testnet => &[("chain-id", "333")],
            Self::Mainnet => &[("chain-id", "1"), ("developer", "off")],
            Self::Zq2 => &[("chain-id", "1"), ("listen", "127.0.0.1:4201"), ("scilla-rules", "latest")],
        }
    }

    /// Returns which nonces the node accepts in block mode `instant`. In other block modes, all transactions wait.
    ///
    /// `Zilliqa/zq2` e3306e1, `zilliqa/src/pool.rs`, keeps a transaction whose nonce is ahead as queued.
    pub(crate) const fn nonces(self) -> NoncePolicy {
        match self {
            Self::Isolated | Self::Testnet | Self::Mainnet => NoncePolicy::Exact,
            Self::Zq2 => NoncePolicy::Queue,
        }
    }

    /// Returns the accounts of a new chain, in the format of the isolated server.
    pub(crate) fn accounts(self) -> Zeroizing<String> {
        match self {
            Self::Isolated | Self::Testnet | Self::Mainnet => {
                file(PUBLISHED_ACCOUNTS.iter().map(|a| (a.address(), a.secret_key())), PUBLISHED_BALANCE)
            }
            Self::Zq2 => funded(&ZQ2_KEYS.map(zq2_key), ZQ2_BALANCE),
        }
    }
}

/// Returns whether an account is one whose secret key is published: one of the test accounts of some profile.
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
    KeyPair::from_secret(SecretKey::from_bytes(bytes).expect("small numbers are keys"))
}

/// Returns the file of accounts that gives each key this amount.
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

/// Maximum size of the text of an account, in bytes.
const ENTRY: usize = 256;

fn file<'a>(keys: impl Iterator<Item = (Address, &'a str)>, balance: Qa) -> Zeroizing<String> {
    let entry = |private_key| Entry { amount: balance.to_string(), nonce: 0, private_key };
    let entries: BTreeMap<String, Entry<'_>> =
        keys.map(|(address, secret_key)| (address.to_string(), entry(secret_key))).collect();
    // A text that grows leaves copies behind.
    let mut text = Vec::with_capacity(entries.len().saturating_add(1).saturating_mul(ENTRY));
    serde_json::to_writer_pretty(&mut text, &entries).expect("maps of text have a JSON form");
    Zeroizing::new(String::from_utf8(text).expect("JSON is text"))
}

#[cfg(test)]
mod tests {
    use silica_chain::Genesis;

    use super::*;

    #[test]
    fn names_are_those_of_the_command_line() {
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
