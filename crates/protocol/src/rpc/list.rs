//! Lists of blocks, transactions, contracts and accounts. A page has `next`, the cursor of the next page.

use alloc::{string::String, vec::Vec};

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text::{Dec, Hex};
use crate::{
    address::Address,
    amount::Qa,
    gas::Gas,
    hash::{BlockHash, CodeHash, TxHash},
    number::{BlockNumber, DsBlockNumber, Timestamp},
};

/// A page of the list of Tx blocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "BlockPage"))]
pub struct BlockPageJson {
    /// The rows, in the requested order.
    pub blocks: Vec<BlockRowJson>,
    /// The cursor of the next page; null on the last page.
    pub next: Option<String>,
}

/// A Tx block with transactions, or consecutive Tx blocks without transactions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "BlockRow"))]
#[serde(rename_all = "camelCase")]
pub struct BlockRowJson {
    /// Number of blocks in the row. It is 1 for a block with transactions.
    pub count: Dec<u64>,
    /// Number of the DS block in force at the last block.
    pub ds_block: Dec<DsBlockNumber>,
    /// Fees of the transactions, in Qa.
    pub fees: Dec<Qa>,
    /// Number of the first block.
    pub from: Dec<BlockNumber>,
    /// Gas that the transactions used.
    pub gas_used: Dec<Gas>,
    /// Hash of the last block.
    pub hash: Hex<BlockHash>,
    /// Timestamp of the last block, in microseconds since 1970.
    pub timestamp: Dec<Timestamp>,
    /// Number of the last block.
    pub to: Dec<BlockNumber>,
    /// Number of transactions.
    pub transactions: u32,
}

/// A page of the list of transactions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "TransactionPage"))]
pub struct TransactionPageJson {
    /// The cursor of the next page; null on the last page.
    pub next: Option<String>,
    /// The transactions, in the requested order.
    pub transactions: Vec<TransactionSummaryJson>,
}

/// A transaction in a Tx block, without its code, data and receipt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "TransactionSummary"))]
pub struct TransactionSummaryJson {
    /// Amount of the transaction, in Qa. A failed transaction does not move it.
    pub amount: Dec<Qa>,
    /// Number of the Tx block with the transaction.
    pub block: Dec<BlockNumber>,
    /// Address of the contract of a deployment, which can have failed; otherwise null.
    pub contract: Option<Hex<Address>>,
    /// Fee, in Qa.
    pub fee: Dec<Qa>,
    /// Hash of the transaction, for `GetTransaction`.
    pub hash: Hex<TxHash>,
    /// Kind of the transaction.
    pub kind: TransactionKindJson,
    /// Position among the transactions of the block, from 0.
    pub position: u32,
    /// Address of the recipient; the null address for a deployment.
    pub recipient: Hex<Address>,
    /// Address of the sender.
    pub sender: Hex<Address>,
    /// Whether the transaction succeeded.
    pub success: bool,
    /// Name of the transition of a call; otherwise null.
    pub tag: Option<String>,
    /// Timestamp of the Tx block, in microseconds since 1970.
    pub timestamp: Dec<Timestamp>,
}

/// Kind of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", schemars(rename = "TransactionKind"))]
pub enum TransactionKindJson {
    /// A call of a transition of a contract.
    Call,
    /// A deployment of a contract or library.
    Deployment,
    /// A payment without data.
    Payment,
}

/// A page of the list of contracts and libraries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ContractPage"))]
pub struct ContractPageJson {
    /// The page has the contracts of the Tx blocks up to this block.
    pub block: Dec<BlockNumber>,
    /// The contracts and libraries, in the order of their addresses.
    pub contracts: Vec<ContractRowJson>,
    /// The cursor of the next page; null on the last page.
    pub next: Option<String>,
}

/// A contract or library, with its deployment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ContractRow"))]
pub struct ContractRowJson {
    /// Address of the contract or library.
    pub address: Hex<Address>,
    /// Number of the Tx block of the deployment.
    pub block: Dec<BlockNumber>,
    /// Address of the sender of the deployment.
    pub creator: Hex<Address>,
    /// Hash of the deployment.
    pub hash: Hex<TxHash>,
    /// Whether it is a library.
    pub library: bool,
    /// Position of the deployment among the transactions of its block, from 0.
    pub position: u32,
}

/// A page of the list of accounts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "AccountPage"))]
pub struct AccountPageJson {
    /// The accounts, in the order of their addresses.
    pub accounts: Vec<AccountRowJson>,
    /// Number of the Tx block. The page has the state after this block.
    pub block: Dec<BlockNumber>,
    /// The cursor of the next page; null on the last page.
    pub next: Option<String>,
}

/// An account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "AccountRow"))]
#[serde(rename_all = "camelCase")]
pub struct AccountRowJson {
    /// Address of the account.
    pub address: Hex<Address>,
    /// Balance, in Qa.
    pub balance: Dec<Qa>,
    /// Hash of the code and init data of a contract or library; null for any other account.
    pub code_hash: Option<Hex<CodeHash>>,
    /// Number of transactions of the account, and of deployments of a contract.
    pub nonce: u64,
}
