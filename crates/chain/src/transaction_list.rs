//! The list of the transactions in the chain or in a block, with the fields that a table of transactions shows.

use serde::Deserialize;
use silica_protocol::{Address, BlockNumber, Qa, Timestamp, TransactionKind, TxHash};
use silica_state::ArchiveError;

use crate::{
    snapshot::Snapshot,
    transaction_search::{
        BlockSpan, HistoryOrder, HistoryPlace, SearchBounds, SearchPage, SearchSubject, SearchedTransaction,
    },
};

/// A request for a page of the list of transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionListRequest {
    /// The only block whose transactions are listed, or `None` for all blocks.
    pub block: Option<BlockNumber>,
    /// The order of the transactions.
    pub order: HistoryOrder,
    /// `next` of the previous page, or `None` for the first page.
    pub after: Option<HistoryPlace>,
    /// Maximum number of transactions on a page. A limit of 0 means 1.
    pub limit: usize,
    /// Maximum number of steps of the search for a page, as in [`HistoryRequest`](crate::HistoryRequest::effort).
    pub effort: usize,
}

/// A page of transaction summaries, and the place of the next page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionListPage {
    /// The transactions in the requested order.
    pub transactions: Vec<TransactionSummary>,
    /// The place of the last transaction, or `None` on the last page.
    pub next: Option<HistoryPlace>,
}

/// The fields of an executed transaction that a table of transactions shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionSummary {
    /// Place of the transaction in the record.
    pub place: HistoryPlace,
    /// Hash of the transaction.
    pub hash: TxHash,
    /// Timestamp of the block.
    pub timestamp: Timestamp,
    /// Address of the sender.
    pub sender: Address,
    /// Address of the recipient. It is zero for a deployment.
    pub recipient: Address,
    /// Address of the contract or library of a deployment, even if the deployment failed.
    pub contract: Option<Address>,
    /// Amount of the transaction in Qa, even if it failed.
    pub amount: Qa,
    /// Kind of the transaction. `None` only if the record is damaged, because admission rejects a transaction without a
    /// kind.
    pub kind: Option<TransactionKind>,
    /// The transition that a call names, or `None` if its data name none.
    pub tag: Option<String>,
    /// Whether the transaction succeeded.
    pub success: bool,
    /// Fee in Qa.
    pub fee: Qa,
}

impl Snapshot {
    /// Returns up to `most` transactions whose hashes begin with these lower-case hexadecimal digits, in the order of
    /// the first eight bytes of the hashes. Returns none for other texts. The cost grows with `most`, and not with the
    /// number of transactions.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`]: the record could not be read.
    pub fn transactions_with_prefix(
        &self,
        digits: &str,
        most: usize,
    ) -> Result<Vec<(TxHash, HistoryPlace)>, ArchiveError> {
        let found = self.state().transactions_with_prefix(digits, most)?;
        Ok(found.into_iter().map(|(hash, block, position)| (hash, HistoryPlace { block, position })).collect())
    }

    /// Returns a page of the list of transactions.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`]: the record could not be read.
    pub fn transaction_list(&self, request: &TransactionListRequest) -> Result<TransactionListPage, ArchiveError> {
        let TransactionListRequest { block, order, after, limit, effort } = *request;
        let within = block.map_or(BlockSpan::ALL, BlockSpan::of);
        let bounds = SearchBounds { subject: SearchSubject::Any, order, after, within, limit, effort };
        let SearchPage { found: transactions, next, .. } =
            self.search_transactions(&bounds, |transaction| Some(summary(transaction)))?;
        Ok(TransactionListPage { transactions, next })
    }
}

fn summary(searched: SearchedTransaction<'_>) -> TransactionSummary {
    let SearchedTransaction { place, block, transaction, receipt } = searched;
    let kind = transaction.kind();
    let is_call = kind == Some(TransactionKind::Call);
    TransactionSummary {
        place,
        hash: transaction.hash(),
        timestamp: block.timestamp,
        sender: transaction.sender(),
        recipient: transaction.to,
        contract: transaction.contract_address(),
        amount: transaction.amount,
        kind,
        tag: is_call.then(|| tag(&transaction.data)).flatten(),
        success: receipt.success,
        fee: receipt.cumulative_gas.checked_cost(transaction.gas_price).unwrap_or(Qa::MAX),
    }
}

/// Returns the transition that the data of a call name, or `None` if the data are not a JSON object with a transition.
fn tag(data: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Call {
        #[serde(rename = "_tag")]
        tag: String,
    }
    // serde also reads a struct from an array. An array is not a call.
    if !data.trim_ascii_start().starts_with('{') {
        return None;
    }
    serde_json::from_str::<Call>(data).ok().map(|call| call.tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tag_is_the_transition_of_a_call() {
        assert_eq!(tag(r#"{"_tag":"Pay","params":[{"vname":"a","value":{"b":[1]}}]}"#), Some("Pay".to_owned()));
        for data in ["", "7", "{}", r#"{"_tag":7}"#, r#"["_tag"]"#, r#"{"_tag":"Pay""#] {
            assert_eq!(tag(data), None, "{data}");
        }
        let deep = format!(r#"{{"params":{}{},"_tag":"Pay"}}"#, "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(tag(&deep), Some("Pay".to_owned()), "the parse skips deep data without recursion");
    }
}
