//! Transactions: their submission, their status, and their form after execution.

mod json;
mod request;
mod status;

use alloc::{string::String, vec::Vec};

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::{
    json::TransactionJsonError,
    request::{SubmittedTransaction, TransactionRequest, TransactionRequestError},
    status::{
        ObjectId, PendingStatus, PendingTransaction, PendingTransactions, TransactionProgress, TransactionStatus,
    },
};
use super::{
    receipt::ReceiptJson,
    text::{Dec, Hex, PrefixedUpperHex},
};
use crate::{
    address::Address,
    amount::Qa,
    gas::{Gas, GasPrice},
    hash::TxHash,
    key::{PublicKey, Signature},
    number::Nonce,
    receipt::Receipt,
    transaction::{Transaction, UnsignedTransaction},
};

/// The result of `CreateTransaction`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct CreateTransactionResult {
    /// Address of the new contract, for deployments only.
    #[serde(rename = "ContractAddress", default, skip_serializing_if = "Option::is_none")]
    pub contract: Option<Hex<Address>>,
    /// The committee that executes the transaction, as text for people.
    #[serde(rename = "Info")]
    pub info: SubmissionInfo,
    /// Hash of the transaction, for `GetTransaction`.
    #[serde(rename = "TranID")]
    pub id: Hex<TxHash>,
}

/// The committee that executes a submitted transaction. The texts are part of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(inline))]
pub enum SubmissionInfo {
    /// The shard of the sender executes the payment.
    #[serde(rename = "Non-contract txn, sent to shard")]
    Payment,
    /// The shard of the sender executes the deployment.
    #[serde(rename = "Contract Creation txn, sent to shard")]
    Deployment,
    /// The common shard of sender and contract executes the call. The misspelling comes from versions up to 7.1, and
    /// clients compare the text.
    #[serde(rename = "Contract Txn, Shards Match of the sender and reciever")]
    CallInShard,
    /// The DS committee executes the call.
    #[serde(rename = "Contract Txn, Sent To Ds")]
    CallToDs,
}

/// An executed transaction (`GetTransaction`, `GetTxnBodiesForTxBlock`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Transaction"))]
pub struct TransactionJson {
    /// Hash of the transaction.
    #[serde(rename = "ID")]
    pub id: Hex<TxHash>,
    /// Amount of money for the recipient, in Qa.
    pub amount: Dec<Qa>,
    /// Source code of the deployed contract; absent unless the transaction is a deployment.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code: String,
    /// JSON text: init data of a deployment, or message of a call; absent if empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub data: String,
    /// Gas limit of the transaction, in gas units.
    #[serde(rename = "gasLimit")]
    pub gas_limit: Dec<Gas>,
    /// Gas price, in Qa.
    #[serde(rename = "gasPrice")]
    pub gas_price: Dec<GasPrice>,
    /// Nonce of the transaction, from 1.
    pub nonce: Dec<Nonce>,
    /// The receipt of the transaction.
    pub receipt: ReceiptJson,
    /// Public key of the sender.
    #[serde(rename = "senderPubKey")]
    pub sender_key: PrefixedUpperHex<PublicKey>,
    /// Signature of the sender.
    pub signature: PrefixedUpperHex<Signature>,
    /// Address of the recipient; the null address for a deployment.
    #[serde(rename = "toAddr")]
    pub to: Hex<Address>,
    /// Chain id and message version in one number: `chain id * 65536 + message version`.
    pub version: Dec<u32>,
}

impl TransactionJson {
    /// Returns the JSON form of a transaction with the hash `id`.
    pub fn new(id: TxHash, transaction: Transaction, receipt: Receipt) -> Self {
        let signature = transaction.signature();
        let UnsignedTransaction { version, nonce, to, amount, gas_price, gas_limit, code, data, sender_key } =
            transaction.into_unsigned();
        Self {
            id: id.into(),
            amount: amount.into(),
            code,
            data,
            gas_limit: gas_limit.into(),
            gas_price: gas_price.into(),
            nonce: nonce.into(),
            receipt: receipt.into(),
            sender_key: sender_key.into(),
            signature: signature.into(),
            to: to.into(),
            version: version.packed().into(),
        }
    }
}

/// The latest transactions, newest first (`GetRecentTransactions`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct RecentTransactions {
    /// Hashes of at most 100 transactions.
    #[serde(rename = "TxnHashes")]
    pub hashes: Vec<Hex<TxHash>>,
    /// Number of hashes.
    #[serde(rename = "number")]
    pub count: u64,
}

impl FromIterator<TxHash> for RecentTransactions {
    fn from_iter<I: IntoIterator<Item = TxHash>>(hashes: I) -> Self {
        let hashes: Vec<_> = hashes.into_iter().map(Hex).collect();
        Self { count: hashes.len() as u64, hashes }
    }
}
