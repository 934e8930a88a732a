//! Transactions: the fields that a sender signs, the signed form, and the kinds of transactions.

mod builder;
mod encode;
mod sign;

use alloc::string::String;
use core::ops::Deref;

pub use self::{
    builder::{BuildError, SignTransactionError, TransactionBuilder},
    sign::Signer,
};
use crate::{
    address::Address,
    amount::Qa,
    gas::{Gas, GasPrice},
    key::{PublicKey, Signature},
    number::Nonce,
    version::Version,
};

/// A transaction without a signature.
///
/// [`sign`](Self::sign) and [`with_signature`](Self::with_signature) make a [`Transaction`] of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsignedTransaction {
    /// Chain id and message version.
    pub version: Version,
    /// Nonce of the transaction: the nonce of the account of the sender plus 1.
    pub nonce: Nonce,
    /// Address of the recipient; the null address for a deployment.
    pub to: Address,
    /// Amount of money for the recipient.
    pub amount: Qa,
    /// Gas price of the transaction.
    pub gas_price: GasPrice,
    /// Gas limit of the transaction.
    pub gas_limit: Gas,
    /// Source code of the contract; empty if absent.
    pub code: String,
    /// JSON text: init data of a deployment, or message of a call; empty if absent.
    pub data: String,
    /// Public key of the sender.
    pub sender_key: PublicKey,
}

/// A transaction with a signature.
///
/// All fields of [`UnsignedTransaction`] can be read, and none can be changed. A `Transaction` comes from
/// [`TransactionBuilder::sign`], [`UnsignedTransaction::sign`], [`UnsignedTransaction::with_signature`],
/// [`decode`](Self::decode) or [`from_request_json`](Self::from_request_json). The type does not guarantee that the
/// signature is valid: the crate `silica-crypto` verifies it.
///
/// # Examples
///
/// ```compile_fail
/// fn raise(transaction: &mut silica_protocol::Transaction) {
///     transaction.gas_limit = silica_protocol::Gas::new(100);
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    unsigned: UnsignedTransaction,
    signature: Signature,
}

impl Transaction {
    /// Returns the signature of the [payload](UnsignedTransaction::signing_payload) with the key of the sender.
    pub const fn signature(&self) -> Signature {
        self.signature
    }

    /// Returns the transaction without its signature.
    pub fn into_unsigned(self) -> UnsignedTransaction {
        self.unsigned
    }
}

impl Deref for Transaction {
    type Target = UnsignedTransaction;

    fn deref(&self) -> &Self::Target {
        &self.unsigned
    }
}

/// The kind of a transaction. Recipient, code and data determine it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TransactionKind {
    /// A transfer of money to an account.
    Payment,
    /// The creation of a contract or library.
    Deployment,
    /// The call of a transition of a contract.
    Call,
}

impl UnsignedTransaction {
    /// Returns the kind of the transaction, or `None` for an invalid combination of fields, such as code with a
    /// recipient that is not the null address (Reference: execution#transaction-kinds).
    pub fn kind(&self) -> Option<TransactionKind> {
        match (self.to.is_zero(), self.code.is_empty(), self.data.is_empty()) {
            (false, true, true) => Some(TransactionKind::Payment),
            (false, true, false) => Some(TransactionKind::Call),
            (true, false, _) => Some(TransactionKind::Deployment),
            (true, true, _) | (false, false, _) => None,
        }
    }

    /// Returns the address of the sender. This is the address of the public key, or the impersonated address if the key
    /// is a placeholder.
    pub fn sender(&self) -> Address {
        self.sender_key.impersonated().unwrap_or_else(|| Address::from_public_key(&self.sender_key))
    }

    /// Returns the address of the contract that a deployment creates. Returns `None` for other transactions, and for an
    /// invalid deployment with nonce 0.
    pub fn contract_address(&self) -> Option<Address> {
        match self.kind()? {
            TransactionKind::Deployment => Some(Address::of_contract(&self.sender(), self.nonce.previous()?)),
            TransactionKind::Payment | TransactionKind::Call => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::version::ChainId;

    fn transaction(to: Address, code: &str, data: &str) -> UnsignedTransaction {
        UnsignedTransaction {
            version: Version::of_chain(ChainId::new(1)),
            nonce: Nonce::new(9),
            to,
            amount: Qa::ZERO,
            gas_price: GasPrice::default(),
            gas_limit: Gas::ZERO,
            code: code.to_owned(),
            data: data.to_owned(),
            sender_key: PublicKey::new([2; 33]),
        }
    }

    #[track_caller]
    fn check_kind(to: Address, code: &str, data: &str, expected: Option<TransactionKind>) {
        assert_eq!(transaction(to, code, data).kind(), expected);
    }

    #[test]
    fn kind_is_decided_by_what_is_empty() {
        let to = Address::new([1; 20]);
        check_kind(to, "", "", Some(TransactionKind::Payment));
        check_kind(to, "", "{}", Some(TransactionKind::Call));
        check_kind(Address::ZERO, "c", "[]", Some(TransactionKind::Deployment));
        check_kind(Address::ZERO, "c", "", Some(TransactionKind::Deployment));
        check_kind(Address::ZERO, "", "", None);
        check_kind(Address::ZERO, "", "{}", None);
        check_kind(to, "c", "", None);
        check_kind(to, "c", "{}", None);
    }

    #[test]
    fn contract_is_named_by_the_nonce_before() {
        let mut deployment = transaction(Address::ZERO, "c", "[]");
        let before = Address::of_contract(&deployment.sender(), Nonce::new(8));
        assert_eq!(deployment.contract_address(), Some(before));
        deployment.nonce = Nonce::new(0);
        assert_eq!(deployment.contract_address(), None);
        assert_eq!(transaction(Address::new([1; 20]), "", "{}").contract_address(), None);
    }
}
