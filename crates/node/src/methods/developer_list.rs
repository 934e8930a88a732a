//! Lists for developers: the savepoints and the pool.

use schemars::JsonSchema;
use serde::Deserialize;
use silica_chain::{PoolPage, TransactionStatus};
use silica_protocol::{
    Address,
    rpc::{
        cursor::NumberCursor,
        list::{PoolPageJson, PoolTransactionJson, SnapshotPageJson, SnapshotRowJson},
    },
};

use super::chain_list::kind;
use crate::{
    driver::{NodeHandle, SavepointFacts},
    rpc::{
        CallError, Command, Entry,
        params::options::{Limit, Member, Options},
    },
};

/// Rows of the method table for the methods in this file.
pub(super) const ENTRIES: &[Entry] =
    &[Entry::for_developers::<GetPool>().of_weight(5), Entry::for_developers::<ListSnapshots>()];

/// Savepoints that `silica_revert` accepts, in the order of their creation, in pages.
#[derive(Debug, Deserialize, JsonSchema)]
struct ListSnapshots {
    /// Start and size of the page; optional.
    #[serde(default)]
    options: Options<SnapshotListOptions>,
}

/// Options for the list of savepoints.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct SnapshotListOptions {
    /// The `next` of the previous page; absent for the first page.
    cursor: Option<Member<NumberCursor>>,
    /// Maximum number of savepoints on the page.
    limit: Limit,
}

impl Command for ListSnapshots {
    const NAME: &'static str = "silica_listSnapshots";
    type Output = SnapshotPageJson;

    async fn run(self, node: &NodeHandle) -> Result<SnapshotPageJson, CallError> {
        let SnapshotListOptions { cursor, limit } = self.options.get()?;
        let after = cursor.map(|Member(NumberCursor(after))| after);
        let mut found = node.savepoints().await?;
        found.retain(|savepoint| after.is_none_or(|after| u64::from(savepoint.number) > after));
        let is_last = found.len() <= limit.get();
        found.truncate(limit.get());
        let next = found.last().map(|savepoint| savepoint.number.to_string()).filter(|_| !is_last);
        Ok(SnapshotPageJson { next, snapshots: found.into_iter().map(snapshot_row).collect() })
    }
}

fn snapshot_row(SavepointFacts { number, block, mode, transactions }: SavepointFacts) -> SnapshotRowJson {
    SnapshotRowJson { block: block.into(), block_mode: mode.to_string(), id: number, transactions }
}

/// Pending transactions in the order of their arrival, in pages.
///
/// A transaction that is pending during all requests appears once. New transactions are at the end.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetPool {
    /// Sender, start and size of the page; optional.
    #[serde(default)]
    options: Options<PoolOptions>,
}

/// Options for the list of pending transactions.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct PoolOptions {
    /// The `next` of the previous page; absent for the first page.
    cursor: Option<Member<NumberCursor>>,
    /// Maximum number of transactions on the page.
    limit: Limit,
    /// Address of the sender; all senders if absent.
    sender: Option<Member<Address>>,
}

impl Command for GetPool {
    const NAME: &'static str = "silica_getPool";
    type Output = PoolPageJson;

    async fn run(self, node: &NodeHandle) -> Result<PoolPageJson, CallError> {
        let PoolOptions { cursor, limit, sender } = self.options.get()?;
        let after = cursor.map(|Member(NumberCursor(after))| after);
        let sender = sender.map(|Member(sender)| sender);
        let PoolPage { transactions, next } = node.context().snapshot.pool_page(after, sender.as_ref(), limit.get());
        Ok(PoolPageJson {
            next: next.map(|next| next.to_string()),
            transactions: transactions.iter().map(pool_transaction).collect::<Result<_, _>>()?,
        })
    }
}

fn pool_transaction(pending: &TransactionStatus) -> Result<PoolTransactionJson, CallError> {
    let transaction = &pending.transaction;
    Ok(PoolTransactionJson {
        amount: transaction.amount.into(),
        epoch: pending.inserted.into(),
        gas_limit: transaction.gas_limit.into(),
        gas_price: transaction.gas_price.into(),
        hash: pending.hash.into(),
        kind: kind(transaction.kind(), &pending.hash)?,
        nonce: transaction.nonce.get(),
        recipient: transaction.to.into(),
        sender: pending.sender.into(),
        status: pending.status.code(),
    })
}
