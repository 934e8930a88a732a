//! Searches the record for the transactions of an address.
//!
//! The history index has the places of these transactions (ADR 21). If the index does not have a block, the search
//! reads all transactions of this block (ADR 11). The search for one page reads a bounded number of transactions, and
//! returns the last place that it read. The next page begins after this place.

use silica_protocol::{Address, Qa, Receipt, Transaction, TransactionKind, TxHash};
use silica_state::ArchiveError;

use crate::{
    snapshot::Snapshot,
    transaction_search::{
        BlockSpan, HistoryOrder, HistoryPlace, SearchBounds, SearchPage, SearchSubject, SearchedTransaction,
    },
};

/// A request for transactions of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryRequest {
    /// Address whose transactions are searched.
    pub address: Address,
    /// The order of the transactions.
    pub order: HistoryOrder,
    /// `next` of the previous page, or `None` for the first page.
    pub after: Option<HistoryPlace>,
    /// Maximum number of transactions on a page. A limit of 0 means 1.
    pub limit: usize,
    /// Maximum number of steps of the search for a page. A transaction takes one step, and one more step for each 256
    /// bytes of its share of its group in the record. All transactions of a group have equal shares. So a payment takes
    /// one step. Each block that the search reads takes one step too. The search reads at least one transaction.
    pub effort: usize,
}

/// A page of the transactions of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryPage {
    /// The transactions in the requested order. A page can be empty, although a later page has transactions.
    pub transactions: Vec<AddressTransaction>,
    /// The last place that the search read, from which the next page continues, or `None` on the last page.
    pub next: Option<HistoryPlace>,
}

/// A transaction that concerns an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressTransaction {
    /// Place of the transaction in the record.
    pub place: HistoryPlace,
    /// Hash of the transaction.
    pub hash: TxHash,
    /// Address of the sender.
    pub sender: Address,
    /// Address of the recipient. It is zero for a deployment.
    pub recipient: Address,
    /// Amount of the transaction in Qa, even if it failed.
    pub amount: Qa,
    /// Whether the transaction succeeded.
    pub success: bool,
    /// The roles of the address in the transaction, at least one.
    pub roles: Vec<AddressRole>,
}

/// The role of an address in a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressRole {
    /// The address is the sender.
    Sender,
    /// The address is the recipient of a payment or of a call.
    Recipient,
    /// The address is the contract or library of a deployment, even if the deployment failed.
    Contract,
    /// The address is the sender or the recipient of a message in the receipt.
    Transition,
}

impl Snapshot {
    /// Returns a page of the transactions of an address.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`]: the record could not be read.
    pub fn transactions_of(&self, request: &HistoryRequest) -> Result<HistoryPage, ArchiveError> {
        let HistoryRequest { address, order, after, limit, effort } = *request;
        let (subject, within) = (SearchSubject::Address(&address), BlockSpan::ALL);
        let bounds = SearchBounds { subject, order, after, within, limit, effort };
        let select = |SearchedTransaction { place, transaction, receipt, .. }: SearchedTransaction<'_>| {
            let roles = roles(&address, transaction, receipt);
            (!roles.is_empty()).then(|| AddressTransaction {
                place,
                hash: transaction.hash(),
                sender: transaction.sender(),
                recipient: transaction.to,
                amount: transaction.amount,
                success: receipt.success,
                roles,
            })
        };
        let SearchPage { found, next, .. } = self.search_transactions(&bounds, select)?;
        Ok(HistoryPage { transactions: found, next })
    }
}

/// Returns the roles of an address in a transaction.
fn roles(address: &Address, transaction: &Transaction, receipt: &Receipt) -> Vec<AddressRole> {
    let is_deployment = transaction.kind() == Some(TransactionKind::Deployment);
    let mut roles = Vec::new();
    if transaction.sender() == *address {
        roles.push(AddressRole::Sender);
    }
    if !is_deployment && transaction.to == *address {
        roles.push(AddressRole::Recipient);
    }
    if is_deployment && transaction.contract_address() == Some(*address) {
        roles.push(AddressRole::Contract);
    }
    if receipt.transitions.iter().any(|it| it.address == *address || it.message.recipient == *address) {
        roles.push(AddressRole::Transition);
    }
    roles
}
