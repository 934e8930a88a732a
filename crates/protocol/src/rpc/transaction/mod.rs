//! Transactions: as clients submit them, as clients read them back, and their status in between.

mod request;
mod status;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::{
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
    transaction::Transaction,
};

/// What `CreateTransaction` answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CreateTransactionResult {
    /// Address of the new contract, for deployments only.
    #[serde(rename = "ContractAddress", default, skip_serializing_if = "Option::is_none")]
    pub contract: Option<Hex<Address>>,
    /// Where the transaction went, for people.
    #[serde(rename = "Info")]
    pub info: SubmissionInfo,
    /// Hash of the transaction, to be given to `GetTransaction`.
    #[serde(rename = "TranID")]
    pub id: Hex<TxHash>,
}

/// Where a submitted transaction went. The texts are part of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum SubmissionInfo {
    /// A payment went to the sender's shard.
    #[serde(rename = "Non-contract txn, sent to shard")]
    Payment,
    /// A deployment went to the sender's shard.
    #[serde(rename = "Contract Creation txn, sent to shard")]
    Deployment,
    /// A call went to the shard that sender and contract share. (Nodes had this misspelling up to 7.1; documents and
    /// the customer keep it.)
    #[serde(rename = "Contract Txn, Shards Match of the sender and reciever")]
    CallInShard,
    /// A call went to the DS committee.
    #[serde(rename = "Contract Txn, Sent To Ds")]
    CallToDs,
}

/// An executed transaction (`GetTransaction`, `GetTxnBodiesForTxBlock`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Transaction")]
pub struct TransactionJson {
    /// Hash of the transaction.
    #[serde(rename = "ID")]
    pub id: Hex<TxHash>,
    /// Money that moves to the recipient, in Qa.
    pub amount: Dec<Qa>,
    /// Source of the deployed contract; absent unless the transaction is a deployment.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code: String,
    /// JSON text: init parameters of a deployment, message of a call; absent when empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub data: String,
    /// Gas that the transaction may use at most, in units.
    #[serde(rename = "gasLimit")]
    pub gas_limit: Dec<Gas>,
    /// Price of a unit of gas, in Qa.
    #[serde(rename = "gasPrice")]
    pub gas_price: Dec<GasPrice>,
    /// Place among the sender's transactions, from 1.
    pub nonce: Dec<Nonce>,
    /// What became of the transaction.
    pub receipt: ReceiptJson,
    /// Key of the sender.
    #[serde(rename = "senderPubKey")]
    pub sender_key: PrefixedUpperHex<PublicKey>,
    /// Signature of the sender.
    pub signature: PrefixedUpperHex<Signature>,
    /// Recipient; zero for a deployment.
    #[serde(rename = "toAddr")]
    pub to: Hex<Address>,
    /// Chain id and message version, packed.
    pub version: Dec<u32>,
}

impl TransactionJson {
    /// Makes the shape of a transaction whose hash is `id`.
    pub fn new(id: TxHash, transaction: Transaction, receipt: Receipt) -> Self {
        let Transaction { version, nonce, to, amount, gas_price, gas_limit, code, data, sender_key, signature } =
            transaction;
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

/// Transactions of late, newest first (`GetRecentTransactions`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecentTransactions {
    /// Hashes of at most a hundred transactions.
    #[serde(rename = "TxnHashes")]
    pub hashes: Vec<Hex<TxHash>>,
    /// How many there are.
    #[serde(rename = "number")]
    pub count: u64,
}

impl FromIterator<TxHash> for RecentTransactions {
    fn from_iter<I: IntoIterator<Item = TxHash>>(hashes: I) -> Self {
        let hashes: Vec<_> = hashes.into_iter().map(Hex).collect();
        Self { count: hashes.len() as u64, hashes }
    }
}
