//! The status of a submitted transaction.
//!
//! The numbers in `status` and `modificationState` come from the pool (Reference: execution#statuses).

use alloc::{
    string::{String, ToString},
    vec::Vec,
};

#[cfg(feature = "schema")]
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
    transaction::{Transaction, UnsignedTransaction},
};

/// A submitted transaction with its status (`GetTransactionStatus`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct TransactionStatus {
    /// Hash of the transaction.
    #[serde(rename = "ID")]
    pub id: Hex<TxHash>,
    /// Key of the document in the store of the C++ node; typed clients require this member.
    #[serde(rename = "_id")]
    pub object_id: ObjectId,
    /// Amount of money for the recipient, in Qa.
    pub amount: Dec<Qa>,
    /// Source code of the contract to deploy; absent if empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code: String,
    /// JSON text: init data of a deployment, or message of a call; absent if empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub data: String,
    /// Tx epoch of the admission of the transaction.
    #[serde(rename = "epochInserted")]
    pub inserted: Dec<BlockNumber>,
    /// Tx epoch of the last change of the status.
    #[serde(rename = "epochUpdated")]
    pub updated: Dec<BlockNumber>,
    /// Gas limit of the transaction, in gas units.
    #[serde(rename = "gasLimit")]
    pub gas_limit: Dec<Gas>,
    /// Gas price, in Qa.
    #[serde(rename = "gasPrice")]
    pub gas_price: Dec<GasPrice>,
    /// Time of the last change of the status, in microseconds since 1970-01-01 UTC.
    #[serde(rename = "lastModified")]
    pub modified: Dec<Timestamp>,
    /// 0: dispatched; 1: in process; 2: confirmed or dropped.
    #[serde(rename = "modificationState")]
    pub modification_state: u8,
    /// Nonce of the transaction, from 1.
    pub nonce: Dec<Nonce>,
    /// Address of the sender.
    #[serde(rename = "senderAddr")]
    pub sender: Hex<Address>,
    /// Signature of the sender.
    pub signature: PrefixedUpperHex<Signature>,
    /// Number of the status: 3 means confirmed, and 10 or more means dropped.
    pub status: u8,
    /// Whether the transaction took effect; false before it is confirmed.
    pub success: bool,
    /// Address of the recipient; the null address for a deployment.
    #[serde(rename = "toAddr")]
    pub to: Hex<Address>,
    /// Chain id and message version in one number: `chain id * 65536 + message version`.
    pub version: Dec<u32>,
}

/// The members of [`TransactionStatus`] that the transaction itself does not contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionProgress {
    /// Number of the status.
    pub status: u8,
    /// 0: dispatched; 1: in process; 2: confirmed or dropped.
    pub modification_state: u8,
    /// Whether the transaction took effect.
    pub success: bool,
    /// Tx epoch of the admission of the transaction.
    pub inserted: BlockNumber,
    /// Tx epoch of the last change of the status.
    pub updated: BlockNumber,
    /// Time of the last change of the status.
    pub modified: Timestamp,
}

impl TransactionStatus {
    /// Returns the JSON form of a transaction with the hash `id`.
    pub fn new(id: TxHash, transaction: &Transaction, progress: TransactionProgress) -> Self {
        let UnsignedTransaction { version, nonce, to, amount, gas_price, gas_limit, code, data, sender_key: _ } =
            &**transaction;
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
            signature: transaction.signature().into(),
            status,
            success,
            to: (*to).into(),
            version: version.packed().into(),
        }
    }
}

/// Key of a document in the store of the C++ node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ObjectId {
    /// 24 hexadecimal digits: the first digits of the hash of the transaction.
    #[serde(rename = "$oid")]
    pub digits: String,
}

impl From<TxHash> for ObjectId {
    fn from(id: TxHash) -> Self {
        Self { digits: id.to_string().chars().take(24).collect() }
    }
}

/// The pending transactions (`GetPendingTxns`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct PendingTransactions {
    /// The transactions, in the order of their last change of status, newest first.
    #[serde(rename = "Txns")]
    pub transactions: Vec<PendingTransaction>,
}

/// A pending transaction with its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct PendingTransaction {
    /// Hash of the transaction.
    #[serde(rename = "TxnHash")]
    pub id: Hex<TxHash>,
    /// Number of the status of the transaction.
    #[serde(rename = "code")]
    pub status: u8,
}

/// Whether a transaction is confirmed, pending or dropped (`GetPendingTxn`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct PendingStatus {
    /// Number of the status of the transaction; 0 if the transaction is confirmed or unknown.
    #[serde(rename = "code")]
    pub status: u8,
    /// Whether the transaction is in a Tx block.
    pub confirmed: bool,
    /// Whether the transaction is pending; absent if the transaction is confirmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<bool>,
}

impl PendingStatus {
    /// The status of a transaction that is in a Tx block.
    pub const CONFIRMED: Self = Self { status: 0, confirmed: true, pending: None };
    /// The status of an unknown transaction.
    pub const UNKNOWN: Self = Self { status: 0, confirmed: false, pending: Some(false) };

    /// Returns the status of a pending transaction with this status number.
    pub const fn waiting(status: u8) -> Self {
        Self { status, confirmed: false, pending: Some(true) }
    }

    /// Returns the status of a dropped transaction with this status number.
    pub const fn dropped(status: u8) -> Self {
        Self { status, confirmed: false, pending: Some(false) }
    }
}
