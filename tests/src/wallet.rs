//! Accounts with their keys, and the transactions that they sign.

use std::sync::Arc;

use serde_json::{Value, json};
use silica_crypto::KeyPair;
use silica_protocol::{Address, Gas, GasPrice, Nonce, Qa, Transaction, UnsignedTransaction, Version};

/// Published secret keys of the accounts with money on a new chain. Nine keys come from the isolated server, and two
/// keys from public test suites for local networks. The keys protect no money.
pub const FUNDED_KEYS: [&str; 11] = [
    "db11cfa086b92497c8ed5a4cc6edb3a5bfe3a640c43ffb9fc6aa0873c56f2ee3",
    "e53d1c3edaffc7a7bab5418eb836cf75819a82872b4a1a0f1c7fcf5c3e020b89",
    "d96e9eb5b782a80ea153c937fa83e5948485fbfc8b7e7c069d7b914dbc350aba",
    "e7f59a4beb997a02a13e0d5e025b39a6f0adc64d37bb1e6a849a4863b4680411",
    "589417286a3213dceb37f8f89bd164c3505a4cec9200c61f7c6db13a30a71b45",
    "5430365143ce0154b682301d0ab731897221906a7054bbf5bd83c7663a6cbc40",
    "1080d2cca18ace8225354ac021f9977404cee46f1d12e9981af8c36322eac1a4",
    "254d9924fc1dcdca44ce92d80255c6a0bb690f867abde80e626fbfef4d357004",
    "410b0e0a86625a10c554f8248a77c7198917bd9135c15bb28922684826bb9f14",
    "b8fc4e270594d87d3f728d0873a38fb0896ea83bd6f96b4f3c9ff0a29122efe4",
    "b87f4ba7dcd6e60f2cca8352c89904e3993c5b2b0b608d255002edcda6374de4",
];

/// The `version` member for the default chain: chain id 222 and message version 1.
pub const VERSION: u32 = 14_548_993;
/// Gas of a payment, in gas units.
pub const PAYMENT_GAS: u64 = 50;
/// Gas price on a new chain, in Qa.
pub const GAS_PRICE: u128 = 2_000_000_000;
/// Fee of a payment at this gas price, in Qa.
pub const FEE: u128 = GAS_PRICE * PAYMENT_GAS as u128;
/// Balance of each funded account on a new chain, in Qa.
pub const FUNDS: u128 = 900_000_000_000_000_000_000_000;

/// An account with its key pair.
#[derive(Debug)]
pub struct Wallet {
    key: Arc<KeyPair>,
}

impl Wallet {
    /// Returns one of the accounts with money on a new chain.
    ///
    /// # Panics
    ///
    /// If `index` is 11 or more.
    pub fn funded(index: usize) -> Self {
        Self::from_hex(FUNDED_KEYS.get(index).expect("there are not that many funded accounts"))
    }

    /// Returns all accounts with money on a new chain.
    pub fn all_funded() -> impl Iterator<Item = Self> {
        FUNDED_KEYS.into_iter().map(Self::from_hex)
    }

    /// Returns the account of a secret key.
    ///
    /// # Panics
    ///
    /// If the text is not a secret key.
    pub fn from_hex(secret: &str) -> Self {
        Self { key: Arc::new(KeyPair::from_hex(secret).expect("the text is a secret key")) }
    }

    /// Returns an account without money. The same number gives the same account.
    pub fn stranger(number: u64) -> Self {
        Self::from_hex(&format!("{:064x}", u128::from(number) + (1 << 100)))
    }

    /// Returns the address of the account.
    pub fn address(&self) -> Address {
        self.key.address()
    }

    /// Returns the address in lower-case hexadecimal digits, the form in most responses.
    pub fn hex(&self) -> String {
        self.address().to_string()
    }

    /// Returns the public key in the form of a request.
    pub fn public_key(&self) -> String {
        self.key.public_key().to_string()
    }

    /// Returns a payment with the gas price of a new chain. [`Payment::signed`] and [`Payment::json`] sign the payment.
    pub fn payment(&self, nonce: u64, to: Address, amount: u128) -> Payment {
        Payment {
            key: Arc::clone(&self.key),
            version: VERSION,
            nonce,
            to,
            amount,
            gas_price: GAS_PRICE,
            gas_limit: PAYMENT_GAS,
            code: String::new(),
            data: String::new(),
        }
    }
}

/// A transaction before it is signed. Tests can set any field to any value.
#[derive(Clone, Debug)]
pub struct Payment {
    key: Arc<KeyPair>,
    /// Chain id and message version in one number.
    pub version: u32,
    /// Nonce of the transaction.
    pub nonce: u64,
    /// Address of the recipient.
    pub to: Address,
    /// Amount of money for the recipient, in Qa.
    pub amount: u128,
    /// Gas price, in Qa.
    pub gas_price: u128,
    /// Gas limit, in gas units.
    pub gas_limit: u64,
    /// Source code of a contract; empty if absent.
    pub code: String,
    /// JSON text: init data of a deployment, or message of a call; empty if absent.
    pub data: String,
}

impl Payment {
    /// Returns the signed transaction.
    ///
    /// # Panics
    ///
    /// Never: every message can be signed.
    pub fn signed(&self) -> Transaction {
        let transaction = UnsignedTransaction {
            version: Version::from_packed(self.version),
            nonce: Nonce::new(self.nonce),
            to: self.to,
            amount: Qa::new(self.amount),
            gas_price: GasPrice::new(Qa::new(self.gas_price)),
            gas_limit: Gas::new(self.gas_limit),
            code: self.code.clone(),
            data: self.data.clone(),
            sender_key: self.key.public_key(),
        };
        transaction.sign(&*self.key).expect("every message can be signed")
    }

    /// Signs the transaction, and returns the parameter of `CreateTransaction`.
    pub fn json(&self) -> Value {
        let signed = self.signed();
        json!({
            "version": self.version,
            "nonce": self.nonce,
            "toAddr": self.to.to_checksum(),
            "amount": self.amount.to_string(),
            "pubKey": self.key.public_key().to_string(),
            "gasPrice": self.gas_price.to_string(),
            "gasLimit": self.gas_limit.to_string(),
            "code": self.code,
            "data": self.data,
            "signature": signed.signature().to_string(),
            "priority": false,
        })
    }

    /// Returns the hash of the signed transaction.
    pub fn hash(&self) -> String {
        self.signed().hash().to_string()
    }
}
