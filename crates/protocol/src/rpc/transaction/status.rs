//! The status of a submitted transaction.
//!
//! The numbers of `status` and `modificationState` are those of the pool (Reference: execution#statuses).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    address::Address,
    amount::Qa,
    gas::{Gas, GasPrice},
    hash::TxHash,
    key::Signature,
    number::{BlockNumber, Nonce, Timestamp},
    rpc::text::{Dec, Hex, PrefixedUpperHex},
    transaction::Transaction,
};

/// A submitted transaction and where it stands (`GetTransactionStatus`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TransactionStatus {
    /// Hash of the transaction.
    #[serde(rename = "ID")]
    pub id: Hex<TxHash>,
    /// Key of the record in the document store of the C++ node; typed clients insist on it.
    #[serde(rename = "_id")]
    pub object_id: ObjectId,
    /// Money that moves to the recipient, in Qa.
    pub amount: Dec<Qa>,
    /// Source of the contract to deploy; absent when empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code: String,
    /// JSON text: init parameters of a deployment, message of a call; absent when empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub data: String,
    /// Tx epoch in which the transaction was accepted.
    #[serde(rename = "epochInserted")]
    pub inserted: Dec<BlockNumber>,
    /// Tx epoch in which its status last changed.
    #[serde(rename = "epochUpdated")]
    pub updated: Dec<BlockNumber>,
    /// Gas that the transaction may use at most, in units.
    #[serde(rename = "gasLimit")]
    pub gas_limit: Dec<Gas>,
    /// Price of a unit of gas, in Qa.
    #[serde(rename = "gasPrice")]
    pub gas_price: Dec<GasPrice>,
    /// When its status last changed, in microseconds since 1970-01-01 UTC.
    #[serde(rename = "lastModified")]
    pub modified: Dec<Timestamp>,
    /// 0 dispatched, 1 in process, 2 confirmed or dropped.
    #[serde(rename = "modificationState")]
    pub modification_state: u8,
    /// Place among the sender's transactions, from 1.
    pub nonce: Dec<Nonce>,
    /// Account of the sender.
    #[serde(rename = "senderAddr")]
    pub sender: Hex<Address>,
    /// Signature of the sender.
    pub signature: PrefixedUpperHex<Signature>,
    /// Number of the status: 3 is confirmed, 10 and above are dropped.
    pub status: u8,
    /// Whether the transaction took effect; false before it is confirmed.
    pub success: bool,
    /// Recipient; zero for a deployment.
    #[serde(rename = "toAddr")]
    pub to: Hex<Address>,
    /// Chain id and message version, packed.
    pub version: Dec<u32>,
}

/// What [`TransactionStatus`] says beyond the transaction itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionProgress {
    /// Number of the status.
    pub status: u8,
    /// 0 dispatched, 1 in process, 2 confirmed or dropped.
    pub modification_state: u8,
    /// Whether the transaction took effect.
    pub success: bool,
    /// Tx epoch in which the transaction was accepted.
    pub inserted: BlockNumber,
    /// Tx epoch in which its status last changed.
    pub updated: BlockNumber,
    /// When its status last changed.
    pub modified: Timestamp,
}

impl TransactionStatus {
    /// Makes the shape of a transaction whose hash is `id`.
    pub fn new(id: TxHash, transaction: &Transaction, progress: TransactionProgress) -> Self {
        let Transaction { version, nonce, to, amount, gas_price, gas_limit, code, data, sender_key: _, signature } =
            transaction;
        let TransactionProgress { status, modification_state, success, inserted, updated, modified } = progress;
        Self {
            id: id.into(),
            object_id: id.into(),
            amount: (*amount).into(),
            code: code.clone(),
            data: data.clone(),
            inserted: inserted.into(),
            updated: updated.into(),
            gas_limit: (*gas_limit).into(),
            gas_price: (*gas_price).into(),
            modified: modified.into(),
            modification_state,
            nonce: (*nonce).into(),
            sender: transaction.sender().into(),
            signature: (*signature).into(),
            status,
            success,
            to: (*to).into(),
            version: version.packed().into(),
        }
    }
}

/// Key of a document in the store of the C++ node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ObjectId {
    /// Twenty-four hexadecimal digits; here the first of the transaction's hash.
    #[serde(rename = "$oid")]
    pub digits: String,
}

impl From<TxHash> for ObjectId {
    fn from(id: TxHash) -> Self {
        Self { digits: id.to_string().chars().take(24).collect() }
    }
}

/// Transactions that are neither confirmed nor dropped (`GetPendingTxns`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PendingTransactions {
    /// The transactions, those whose status changed last first.
    #[serde(rename = "Txns")]
    pub transactions: Vec<PendingTransaction>,
}

/// A transaction that is neither confirmed nor dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PendingTransaction {
    /// Hash of the transaction.
    #[serde(rename = "TxnHash")]
    pub id: Hex<TxHash>,
    /// Number of its status.
    #[serde(rename = "code")]
    pub status: u8,
}

/// Whether a transaction is confirmed, waiting or dropped (`GetPendingTxn`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PendingStatus {
    /// Number of its status; 0 when it is confirmed or not known.
    #[serde(rename = "code")]
    pub status: u8,
    /// Whether it is in a Tx block.
    pub confirmed: bool,
    /// Whether it waits; absent when it is confirmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<bool>,
}

impl PendingStatus {
    /// The transaction is in a Tx block.
    pub const CONFIRMED: Self = Self { status: 0, confirmed: true, pending: None };
    /// The transaction is not known.
    pub const UNKNOWN: Self = Self { status: 0, confirmed: false, pending: Some(false) };

    /// The transaction waits, for the reason that this status number gives.
    pub const fn waiting(status: u8) -> Self {
        Self { status, confirmed: false, pending: Some(true) }
    }

    /// The transaction was dropped, for the reason that this status number gives.
    pub const fn dropped(status: u8) -> Self {
        Self { status, confirmed: false, pending: Some(false) }
    }
}
