//! The transactions of an address: result of `silica_getTransactionsForAddress`.

use alloc::{string::String, vec::Vec};

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text::{Dec, Hex};
use crate::{address::Address, amount::Qa, hash::TxHash, number::BlockNumber};

/// A page of the transactions of an address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "AddressHistory"))]
pub struct AddressHistoryJson {
    /// The cursor of the next page; null on the last page.
    pub next: Option<String>,
    /// The transactions, in the requested order. A page that is not the last one can have fewer transactions than the
    /// limit, or none.
    pub transactions: Vec<AddressTransactionJson>,
}

/// A transaction in which an address has a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "AddressTransaction"))]
pub struct AddressTransactionJson {
    /// Amount of the transaction, in Qa. A failed transaction does not move it.
    pub amount: Dec<Qa>,
    /// Number of the Tx block with the transaction.
    pub block: Dec<BlockNumber>,
    /// Hash of the transaction, for `GetTransaction`.
    pub hash: Hex<TxHash>,
    /// Position among the transactions of the block, from 0.
    pub position: u32,
    /// Address of the recipient; the null address for a deployment.
    pub recipient: Hex<Address>,
    /// The roles of the address in the transaction.
    pub roles: Vec<AddressRoleJson>,
    /// Address of the sender.
    pub sender: Hex<Address>,
    /// Whether the transaction succeeded.
    pub success: bool,
}

/// A role of an address in a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", schemars(rename = "AddressRole"))]
pub enum AddressRoleJson {
    /// The address is the contract of the deployment, which can have failed.
    Contract,
    /// The address is the recipient of the transaction.
    Recipient,
    /// The address is the sender of the transaction.
    Sender,
    /// A contract at the address sent a message in the transaction, or the address received a message from a contract.
    Transition,
}
