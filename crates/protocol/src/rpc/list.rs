//! Lists of blocks, transactions, events, contracts and accounts. A page has `next`, the cursor of the next page.

use alloc::{string::String, vec::Vec};

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    contract::{ContractParamJson, TokenStandardJson},
    text::{Dec, Hex},
};
use crate::{
    address::Address,
    amount::Qa,
    gas::{Gas, GasPrice},
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

/// A page of the list of transfers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "TransferPage"))]
pub struct TransferPageJson {
    /// The cursor of the next page; null on the last page.
    pub next: Option<String>,
    /// The transfers, in the requested order.
    pub transfers: Vec<TransferJson>,
}

/// A change of balances.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Transfer"))]
pub struct TransferJson {
    /// The moved amount, in Qa; null for an edit.
    pub amount: Option<Dec<Qa>>,
    /// The balance of the account after an edit, in Qa; otherwise null.
    pub balance: Option<Dec<Qa>>,
    /// Number of the Tx block.
    pub block: Dec<BlockNumber>,
    /// The account that pays; null if the money comes from no account.
    pub from: Option<Hex<Address>>,
    /// Hash of the transaction; null without a transaction.
    pub hash: Option<Hex<TxHash>>,
    /// Kind of the transfer.
    pub kind: TransferKindJson,
    /// Position of the transaction in the block, from 0; null without a transaction.
    pub position: Option<u32>,
    /// Timestamp of the Tx block, in microseconds since 1970.
    pub timestamp: Dec<Timestamp>,
    /// The account that gets the money; null if the money goes to no account.
    pub to: Option<Hex<Address>>,
}

/// Kind of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", schemars(rename = "TransferKind"))]
pub enum TransferKindJson {
    /// The amount of a call that the contract accepted.
    Call,
    /// The amount of a successful deployment.
    Deployment,
    /// An edit by a developer, which sets the balance. An edit of a nonce or a field sets the same balance again.
    Edit,
    /// The fee of a transaction, also of a failed one. No account gets the fee until the end of the DS epoch.
    Fee,
    /// The fees of a DS epoch, which the null account gets.
    Fees,
    /// The balance of an account at genesis.
    Genesis,
    /// A payment.
    Payment,
    /// The reward of a DS epoch, which the null account pays.
    Reward,
    /// The amount of a message of a contract, if the recipient of the message took the amount.
    Transition,
}

/// A page of the list of events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "EventPage"))]
pub struct EventPageJson {
    /// The events, in the requested order.
    pub events: Vec<EventRowJson>,
    /// The cursor of the next page; null on the last page.
    pub next: Option<String>,
}

/// An event of a successful transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "EventRow"))]
pub struct EventRowJson {
    /// Number of the Tx block with the transaction.
    pub block: Dec<BlockNumber>,
    /// Address of the contract that emitted the event.
    pub contract: Hex<Address>,
    /// Hash of the transaction, for `GetTransaction`.
    pub hash: Hex<TxHash>,
    /// Index among the events of the receipt, from 0.
    pub index: u32,
    /// Name of the event.
    pub name: String,
    /// Parameters of the event.
    pub params: Vec<ContractParamJson>,
    /// Position of the transaction among the transactions of the block, from 0.
    pub position: u32,
    /// Timestamp of the Tx block, in microseconds since 1970.
    pub timestamp: Dec<Timestamp>,
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
    /// Whether the row is a library, and not a contract.
    pub library: bool,
    /// Name of the contract or library in its code; null if the code has no name.
    pub name: Option<String>,
    /// Position of the deployment among the transactions of its block, from 0.
    pub position: u32,
    /// The token; null if the contract does not have the fields of a token standard.
    pub token: Option<TokenDescriptionJson>,
}

/// The description of a token by its contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "TokenDescription"))]
pub struct TokenDescriptionJson {
    /// The parameter `decimals` of the deployment; null if there is no such parameter of type `Uint32`.
    pub decimals: Option<u32>,
    /// The parameter `name` of the deployment; null if there is no such parameter of type `String`.
    pub name: Option<String>,
    /// The standard whose fields the contract has.
    pub standard: TokenStandardJson,
    /// The parameter `symbol` of the deployment; null if there is no such parameter of type `String`.
    pub symbol: Option<String>,
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
    /// Nonce of the account. For a contract or library, it is 0 unless a developer changed it.
    pub nonce: u64,
}

/// A page of the holders of a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "HolderPage"))]
pub struct HolderPageJson {
    /// Number of the Tx block. The page has the state after this block.
    pub block: Dec<BlockNumber>,
    /// The holders, in the order of the stored keys.
    pub holders: Vec<HolderJson>,
    /// The cursor of the next page; null on the last page.
    pub next: Option<String>,
}

/// A holder of a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Holder"))]
#[serde(rename_all = "camelCase")]
pub struct HolderJson {
    /// Amount of a fungible token, in decimal digits; null for a non-fungible token.
    pub amount: Option<String>,
    /// Address of the holder, with the prefix `0x`.
    pub holder: String,
    /// Id of a non-fungible token, in decimal digits; null for a fungible token.
    pub token_id: Option<String>,
}

/// A page of the tokens of a holder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "TokenPage"))]
pub struct TokenPageJson {
    /// Number of the Tx block. The page has the state after this block.
    pub block: Dec<BlockNumber>,
    /// The cursor of the next page; null on the last page.
    pub next: Option<String>,
    /// The tokens, in the order of the addresses of their contracts. A page can be empty, although a later page has
    /// tokens.
    pub tokens: Vec<HeldTokenJson>,
}

/// A token contract in which an address has a balance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "HeldToken"))]
pub struct HeldTokenJson {
    /// The balance in decimal digits, above 0: an amount in the smallest unit, or a number of non-fungible tokens.
    pub balance: String,
    /// Address of the contract.
    pub contract: Hex<Address>,
    /// The parameter `decimals : Uint32` of the deployment; null if there is no such parameter.
    pub decimals: Option<u32>,
    /// The parameter `name : String` of the deployment; null if there is no such parameter.
    pub name: Option<String>,
    /// The standard whose fields the contract has.
    pub standard: TokenStandardJson,
    /// The parameter `symbol : String` of the deployment; null if there is no such parameter.
    pub symbol: Option<String>,
}

/// A page of the savepoints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "SnapshotPage"))]
pub struct SnapshotPageJson {
    /// The cursor of the next page; null on the last page.
    pub next: Option<String>,
    /// The savepoints, in the order of their creation.
    pub snapshots: Vec<SnapshotRowJson>,
}

/// A savepoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "SnapshotRow"))]
#[serde(rename_all = "camelCase")]
pub struct SnapshotRowJson {
    /// Number of the latest Tx block at the savepoint.
    pub block: Dec<BlockNumber>,
    /// The block mode at the savepoint.
    pub block_mode: String,
    /// Number of the savepoint, for `silica_revert`.
    pub id: u32,
    /// Number of pending and dropped transactions that the savepoint keeps.
    pub transactions: usize,
}

/// A page of the pending transactions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "PoolPage"))]
pub struct PoolPageJson {
    /// The cursor of the next page; null on the last page.
    pub next: Option<String>,
    /// The transactions, in the order of their arrival.
    pub transactions: Vec<PoolTransactionJson>,
}

/// A pending transaction, without its code and data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "PoolTransaction"))]
#[serde(rename_all = "camelCase")]
pub struct PoolTransactionJson {
    /// Amount of the transaction, in Qa.
    pub amount: Dec<Qa>,
    /// Tx epoch in which the pool accepted the transaction.
    pub epoch: Dec<BlockNumber>,
    /// Gas limit of the transaction.
    pub gas_limit: Dec<Gas>,
    /// Gas price of the transaction, in Qa.
    pub gas_price: Dec<GasPrice>,
    /// Hash of the transaction.
    pub hash: Hex<TxHash>,
    /// Kind of the transaction.
    pub kind: TransactionKindJson,
    /// Nonce of the transaction.
    pub nonce: u64,
    /// Address of the recipient; the null address for a deployment.
    pub recipient: Hex<Address>,
    /// Address of the sender.
    pub sender: Hex<Address>,
    /// Status code, as in `GetTransactionStatus`: 1 until a block has tried the transaction, 4 if a lower nonce is
    /// missing, 5 if a block had no room.
    pub status: u8,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "SearchResult"))]
pub struct SearchResultJson {
    /// Whether there are no further matches. It is false if there are more than 20 matches, or if the search has not
    /// read all contracts. It is also false if a block with the searched hash can be older than the blocks that the
    /// search has read. In this case, a repeated request continues the search.
    pub complete: bool,
    /// The matches, at most 20.
    pub matches: Vec<SearchMatchJson>,
}

/// An object that a searched text names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "SearchMatch"))]
pub struct SearchMatchJson {
    /// The parameter of the methods for the object: a block number, a hash or an address.
    pub id: String,
    /// Kind of the object.
    pub kind: MatchKindJson,
    /// Another name of the object: the hash of a block, block and position of a transaction, the bech32 form of an
    /// address. For a contract that the search has found by its name: the name of the contract, and the name and the
    /// symbol of its token in brackets.
    pub label: String,
}

/// Kind of an object that a search finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", schemars(rename = "MatchKind"))]
pub enum MatchKindJson {
    /// An account without code.
    Account,
    /// A Tx block.
    Block,
    /// A contract or library.
    Contract,
    /// A DS block.
    DsBlock,
    /// A transaction in a Tx block.
    Transaction,
}
