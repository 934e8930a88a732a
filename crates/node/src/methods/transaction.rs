//! Transactions: submitting one, and reading one back.

use schemars::JsonSchema;
use serde::Deserialize;
use silica_chain::{Routing, Submitted};
use silica_protocol::{
    TxHash,
    rpc::transaction::{
        CreateTransactionResult, RecentTransactions, SubmissionInfo, SubmittedTransaction, TransactionJson,
    },
};

use crate::{
    driver::NodeHandle,
    rpc::{
        AboutTransaction, CallError, Command, Context, Method,
        params::{BareTxHash, Text},
    },
};

/// Submits a signed transaction.
///
/// Where every transaction gets its block at once, the answer comes when that block is on disk; otherwise when the
/// transaction waits for the next block.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct CreateTransaction {
    /// The transaction.
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

/// An executed transaction with its receipt.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct GetTransaction {
    /// The transaction.
    hash: Text<TxHash>,
}

impl Method for GetTransaction {
    const NAME: &'static str = "GetTransaction";
    type Output = TransactionJson;

    fn call(self, at: &Context) -> Result<TransactionJson, CallError> {
        let hash = self.hash.get().map_err(CallError::TxHash)?;
        let stored = at.snapshot.transaction(&hash)?.ok_or(CallError::TransactionUnknown)?;
        Ok(TransactionJson::new(hash, stored.transaction, stored.receipt))
    }
}

impl AboutTransaction for GetTransaction {
    fn hash(&self) -> Option<TxHash> {
        self.hash.peek().copied()
    }
}

/// An executed transaction with its receipt, also while its block is not yet final.
///
/// Here a transaction is executed when its block is final, so that this is [`GetTransaction`] with its own errors.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct GetSoftConfirmedTransaction {
    /// The transaction.
    hash: Text<BareTxHash>,
}

impl Method for GetSoftConfirmedTransaction {
    const NAME: &'static str = "GetSoftConfirmedTransaction";
    type Output = TransactionJson;

    fn call(self, at: &Context) -> Result<TransactionJson, CallError> {
        let BareTxHash(hash) = self.hash.get().map_err(CallError::SoftTxHash)?;
        let stored = at.snapshot.transaction(&hash)?.ok_or(CallError::NotSoftConfirmed)?;
        Ok(TransactionJson::new(hash, stored.transaction, stored.receipt))
    }
}

impl AboutTransaction for GetSoftConfirmedTransaction {
    fn hash(&self) -> Option<TxHash> {
        self.hash.peek().map(|BareTxHash(hash)| *hash)
    }
}

/// Hashes of the latest transactions of the chain, newest first, at most 100.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct GetRecentTransactions {}

impl Method for GetRecentTransactions {
    const NAME: &'static str = "GetRecentTransactions";
    type Output = RecentTransactions;

    fn call(self, at: &Context) -> Result<RecentTransactions, CallError> {
        Ok(at.snapshot.recent_transactions().iter().copied().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_has_its_text() {
        let check = |routing, text: &str| assert_eq!(serde_json::to_value(info(routing)).unwrap(), text);
        check(Routing::Payment, "Non-contract txn, sent to shard");
        check(Routing::Deployment, "Contract Creation txn, sent to shard");
        check(Routing::CallInShard, "Contract Txn, Shards Match of the sender and reciever");
        check(Routing::CallToDs, "Contract Txn, Sent To Ds");
    }
}
