//! Submission of transactions, and queries for transactions and their receipts.

use schemars::JsonSchema;
use serde::Deserialize;
use silica_chain::{AddressRole, AddressTransaction, HistoryPage, HistoryRequest, Routing, Submitted};
use silica_protocol::{
    Address, TxHash,
    rpc::{
        address_history::{AddressHistoryJson, AddressRoleJson, AddressTransactionJson},
        cursor::PlaceCursor,
        error::{RpcError, RpcErrorCode},
        transaction::{
            CreateTransactionResult, RecentTransactions, SubmissionInfo, SubmittedTransaction, TransactionJson,
        },
    },
};
use silica_state::FoundTransaction;

use crate::{
    driver::NodeHandle,
    head::Context,
    rpc::{
        CallError, Command, Entry, HashErrors, Method, TransactionQuery,
        params::{
            BareTxHash, Text,
            options::{Limit, Member, Options, Order, cursor_of, place_of},
        },
    },
};

/// Rows of the method table for the methods in this file.
pub(super) const ENTRIES: &[Entry] = &[
    Entry::command::<CreateTransaction>().of_weight(5),
    Entry::per_head::<GetRecentTransactions>(),
    Entry::about::<GetSoftConfirmedTransaction>(),
    Entry::about::<GetTransaction>(),
    Entry::slow::<GetTransactionsForAddress>().of_weight(10),
];

/// Submits a signed transaction.
///
/// In a block mode with instant blocks, the node responds after the block of the transaction is on disk. In other
/// modes, it responds when the transaction is in the pool. A member of a network then responds as its option
/// `--acknowledge` states.
#[derive(Debug, Deserialize, JsonSchema)]
struct CreateTransaction {
    /// The signed transaction.
    transaction: SubmittedTransaction,
}

impl Command for CreateTransaction {
    const NAME: &'static str = "CreateTransaction";
    type Output = CreateTransactionResult;

    async fn run(self, node: &NodeHandle) -> Result<CreateTransactionResult, CallError> {
        let request = self.transaction.0?;
        node.require_no_pause()?;
        let transaction = node.chain().admit(request.transaction, request.priority)?;
        let Submitted { hash, routing, contract } = node.submit(transaction).await?;
        Ok(CreateTransactionResult { contract: contract.map(Into::into), info: info(routing), id: hash.into() })
    }
}

pub(super) fn info(routing: Routing) -> SubmissionInfo {
    match routing {
        Routing::Payment => SubmissionInfo::Payment,
        Routing::Deployment => SubmissionInfo::Deployment,
        Routing::CallInShard => SubmissionInfo::CallInShard,
        Routing::CallToDs => SubmissionInfo::CallToDs,
    }
}

/// The error for a transaction that the method does not find.
pub(super) const TRANSACTION_UNKNOWN: RpcError =
    RpcError::from_static(RpcErrorCode::DATABASE_ERROR, "Txn Hash not Present");

/// The errors of `GetTransaction` for a text that is not a hash.
const HASH: HashErrors = HashErrors {
    digit: RpcError::from_static(RpcErrorCode::MISC_ERROR, "Unable to Process"),
    size: TRANSACTION_UNKNOWN,
};

/// An executed transaction with its receipt.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetTransaction {
    /// Hash of the transaction.
    hash: Text<TxHash>,
}

impl TransactionQuery for GetTransaction {
    const NAME: &'static str = "GetTransaction";
    const IS_CACHED: bool = true;
    type Output = TransactionJson;

    fn hash(self) -> Result<TxHash, CallError> {
        self.hash.get().map_err(|fault| HASH.of(fault))
    }

    fn answer(found: &FoundTransaction, _: &Context) -> Result<TransactionJson, CallError> {
        let stored = found.read()?.ok_or(TRANSACTION_UNKNOWN)?;
        Ok(TransactionJson::new(*found.hash(), stored.transaction, stored.receipt))
    }
}

/// An executed transaction with its receipt, also before its block is final.
///
/// On this node each block is final. The method therefore has the results of `GetTransaction`, with errors of its own.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetSoftConfirmedTransaction {
    /// Hash of the transaction.
    hash: Text<BareTxHash>,
}

/// The errors of `GetSoftConfirmedTransaction` for a text that is not a hash.
const SOFT_CONFIRMED_HASH: HashErrors = HashErrors {
    digit: RpcError::from_static(RpcErrorCode::MISC_ERROR, "Unable to Process"),
    size: RpcError::from_static(RpcErrorCode::INVALID_PARAMS, "Size not appropriate"),
};

/// The error for a transaction that is in no block.
const NOT_SOFT_CONFIRMED: RpcError = RpcError::from_static(RpcErrorCode::DATABASE_ERROR, "Txn Hash not soft confirmed");

impl TransactionQuery for GetSoftConfirmedTransaction {
    const NAME: &'static str = "GetSoftConfirmedTransaction";
    const IS_CACHED: bool = true;
    type Output = TransactionJson;

    fn hash(self) -> Result<TxHash, CallError> {
        self.hash.get().map(|BareTxHash(hash)| hash).map_err(|fault| SOFT_CONFIRMED_HASH.of(fault))
    }

    fn answer(found: &FoundTransaction, _: &Context) -> Result<TransactionJson, CallError> {
        let stored = found.read()?.ok_or(NOT_SOFT_CONFIRMED)?;
        Ok(TransactionJson::new(*found.hash(), stored.transaction, stored.receipt))
    }
}

/// Hashes of the latest transactions of the chain, the newest first, at most 100.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetRecentTransactions {}

impl Method for GetRecentTransactions {
    const NAME: &'static str = "GetRecentTransactions";
    type Output = RecentTransactions;

    fn call(self, at: &Context) -> Result<RecentTransactions, CallError> {
        Ok(at.snapshot.recent_transactions().iter().copied().collect())
    }
}

/// Transactions of an address, the newest or the oldest first. An extension of this node.
///
/// The result has the transactions in which the address has a role: sender, recipient, deployed contract, or sender or
/// recipient of a contract message. The work for one page is at most 20,000 units. Each block and each transaction
/// takes one unit, and a large transaction takes more. A page can therefore have few transactions, or none. The last
/// page has no `next`. New blocks do not change a page.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetTransactionsForAddress {
    /// The address whose transactions the result has.
    address: Text<Address>,
    /// Order, size and start of the page; optional.
    #[serde(default)]
    options: Options<HistoryOptions>,
}

/// Options for the list of the transactions of an address.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct HistoryOptions {
    /// The `next` of the previous page; absent for the first page.
    cursor: Option<Member<PlaceCursor>>,
    /// Maximum number of transactions on the page.
    limit: Limit,
    /// Order of the transactions.
    order: Order,
}

/// Maximum work for one page, in the unit of `HistoryRequest::effort`: a payment takes 1.
pub(super) const EFFORT: usize = 20_000;

impl Method for GetTransactionsForAddress {
    const NAME: &'static str = "silica_getTransactionsForAddress";
    type Output = AddressHistoryJson;

    fn call(self, at: &Context) -> Result<AddressHistoryJson, CallError> {
        let address = self.address.named("address")?;
        let HistoryOptions { cursor, limit, order } = self.options.get()?;
        let after = cursor.map(|Member(cursor)| place_of(cursor));
        let request = HistoryRequest { address, order: order.into(), after, limit: limit.get(), effort: EFFORT };
        let HistoryPage { transactions, next } = at.snapshot.transactions_of(&request)?;
        Ok(AddressHistoryJson {
            next: next.map(|next| cursor_of(next).to_string()),
            transactions: transactions.into_iter().map(address_transaction).collect(),
        })
    }
}

fn address_transaction(found: AddressTransaction) -> AddressTransactionJson {
    let AddressTransaction { place, hash, sender, recipient, amount, success, roles } = found;
    AddressTransactionJson {
        amount: amount.into(),
        block: place.block.into(),
        hash: hash.into(),
        position: place.position,
        recipient: recipient.into(),
        roles: roles.into_iter().map(role).collect(),
        sender: sender.into(),
        success,
    }
}

const fn role(role: AddressRole) -> AddressRoleJson {
    match role {
        AddressRole::Contract => AddressRoleJson::Contract,
        AddressRole::Recipient => AddressRoleJson::Recipient,
        AddressRole::Sender => AddressRoleJson::Sender,
        AddressRole::Transition => AddressRoleJson::Transition,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_routing_has_its_text() {
        let check = |routing, text: &str| assert_eq!(serde_json::to_value(info(routing)).unwrap(), text);
        check(Routing::Payment, "Non-contract txn, sent to shard");
        check(Routing::Deployment, "Contract Creation txn, sent to shard");
        check(Routing::CallInShard, "Contract Txn, Shards Match of the sender and reciever");
        check(Routing::CallToDs, "Contract Txn, Sent To Ds");
    }
}
