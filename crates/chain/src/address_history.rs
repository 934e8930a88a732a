//! Searches the record for the transactions of an address.
//!
//! There is no index of addresses, because its writes would slow down each payment (ADR 11). A query reads the record
//! instead. The search for one page reads a bounded number of transactions, and returns the last place that it read.
//! The next page begins after this place.

use std::ops::Range;

use silica_protocol::{Address, BlockNumber, Qa, Receipt, Transaction, TransactionKind, TxHash};
use silica_state::{ArchiveError, TransactionGroup};

use crate::snapshot::Snapshot;

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
    /// Maximum number of steps of the search for a page. A transaction takes one step, and one more for each 256 bytes
    /// of its equal share of its group in the record. So a payment takes one step. Each block that the search reads on
    /// its way takes one step. The search reads at least one transaction.
    pub effort: usize,
}

/// The order of transactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HistoryOrder {
    /// The newest transaction comes first.
    #[default]
    NewestFirst,
    /// The oldest transaction comes first.
    OldestFirst,
}

/// A place in the record: a position among the transactions of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HistoryPlace {
    /// Number of the block.
    pub block: BlockNumber,
    /// Position in the block, from 0.
    pub position: u32,
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

/// Bytes of a transaction and its receipt in the record for each further step of the search. A payment has fewer bytes,
/// so it takes no further step.
const BYTES: usize = 256;

impl Snapshot {
    /// Returns a page of the transactions of an address.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`]: the record could not be read.
    pub fn transactions_of(&self, request: &HistoryRequest) -> Result<HistoryPage, ArchiveError> {
        let mut search = Search { snapshot: self, request, found: Vec::new(), looked_at: 0, last: None };
        let is_over = match request.order {
            HistoryOrder::NewestFirst => search.backward()?,
            HistoryOrder::OldestFirst => search.forward()?,
        };
        let Search { found, last, .. } = search;
        Ok(HistoryPage { transactions: found, next: last.filter(|_| !is_over) })
    }
}

/// A search for one page.
struct Search<'a> {
    snapshot: &'a Snapshot,
    request: &'a HistoryRequest,
    found: Vec<AddressTransaction>,
    looked_at: usize,
    /// The last place that the search read.
    last: Option<HistoryPlace>,
}

impl Search<'_> {
    /// Searches towards older transactions. Returns whether the search read the oldest transaction.
    fn backward(&mut self) -> Result<bool, ArchiveError> {
        let head = self.snapshot.latest_tx_block().header.number;
        let from = self.request.after.unwrap_or(HistoryPlace { block: head, position: u32::MAX });
        let (mut block, mut end) = if from.block > head { (head, u32::MAX) } else { (from.block, from.position) };
        loop {
            end = end.min(self.count(block)?);
            while let Some(last) = end.checked_sub(1)
                && let Some(group) = self.snapshot.state().transaction_group(block, last)?
            {
                let positions = group.positions.start..end;
                end = positions.start;
                if !self.look_at_those(block, positions, weight(&group))? {
                    return Ok(false);
                }
            }
            match self.before(block)? {
                Some(before) => (block, end) = (before, u32::MAX),
                None => return Ok(true),
            }
        }
    }

    /// Searches towards newer transactions. Returns whether the search read the newest transaction.
    fn forward(&mut self) -> Result<bool, ArchiveError> {
        let (mut block, mut start) = match self.request.after {
            Some(after) => (after.block, after.position.saturating_add(1)),
            None => (BlockNumber::new(0), 0),
        };
        if block > self.snapshot.latest_tx_block().header.number {
            return Ok(true);
        }
        loop {
            while let Some(group) = self.snapshot.state().transaction_group(block, start)? {
                let positions = start..group.positions.end;
                start = positions.end;
                if !self.look_at_those(block, positions, weight(&group))? {
                    return Ok(false);
                }
            }
            match self.behind(block)? {
                Some(behind) => (block, start) = (behind, 0),
                None => return Ok(true),
            }
        }
    }

    fn is_full(&self) -> bool {
        // The search reads at least one transaction. Without a last place, the next page would have no beginning.
        let has_looked = self.last.is_some();
        has_looked && (self.found.len() >= self.request.limit.max(1) || self.looked_at >= self.request.effort)
    }

    /// Reads transactions of one group until the page is full. Each transaction takes `weight` steps. Returns whether
    /// all of them were read.
    fn look_at_those(
        &mut self,
        block: BlockNumber,
        positions: Range<u32>,
        weight: usize,
    ) -> Result<bool, ArchiveError> {
        if self.is_full() {
            return Ok(false);
        }
        let read = self.snapshot.state().transactions(block, positions.clone())?.unwrap_or_default();
        let mut read: Vec<_> = positions.zip(&read).collect();
        if self.request.order == HistoryOrder::NewestFirst {
            read.reverse();
        }
        for (position, (transaction, receipt)) in read {
            if self.is_full() {
                return Ok(false);
            }
            self.looked_at = self.looked_at.saturating_add(weight);
            self.look_at(HistoryPlace { block, position }, transaction, receipt);
        }
        Ok(true)
    }

    fn look_at(&mut self, place: HistoryPlace, transaction: &Transaction, receipt: &Receipt) {
        self.last = Some(place);
        let roles = roles(&self.request.address, transaction, receipt);
        if !roles.is_empty() {
            self.found.push(AddressTransaction {
                place,
                hash: transaction.hash(),
                sender: transaction.sender(),
                recipient: transaction.to,
                amount: transaction.amount,
                success: receipt.success,
                roles,
            });
        }
    }

    /// Returns the number of transactions in a block.
    fn count(&self, block: BlockNumber) -> Result<u32, ArchiveError> {
        Ok(self.snapshot.state().tx_header(block)?.map_or(0, |header| header.tx_count))
    }

    /// Returns the number of transactions in the blocks up to and including `block`.
    fn up_to(&self, block: u64) -> Result<u64, ArchiveError> {
        Ok(self.snapshot.state().transactions_up_to(BlockNumber::new(block))?.unwrap_or(0))
    }

    /// Returns the latest block before `block` that has transactions, or `None` if no such block exists.
    fn before(&mut self, block: BlockNumber) -> Result<Option<BlockNumber>, ArchiveError> {
        self.looked_at = self.looked_at.saturating_add(1);
        block.previous().map_or(Ok(None), |before| self.snapshot.state().newest_with_transactions(before))
    }

    /// Returns the first block after `block` that has transactions, or `None` if no such block exists. The search
    /// doubles its step over blocks without transactions.
    fn behind(&mut self, block: BlockNumber) -> Result<Option<BlockNumber>, ArchiveError> {
        let head = self.snapshot.latest_tx_block().header.number.get();
        let passed = self.up_to(block.get())?;
        if self.up_to(head)? == passed {
            return Ok(None);
        }
        let mut is_beyond = |block| {
            self.looked_at = self.looked_at.saturating_add(1);
            Ok::<_, ArchiveError>(self.up_to(block)? > passed)
        };
        // The blocks after `block` up to `low` have no transactions. The blocks up to `high` have at least one.
        let (mut low, mut step) = (block.get(), 1_u64);
        let mut high = loop {
            let high = low.saturating_add(step).min(head);
            if is_beyond(high)? {
                break high;
            }
            (low, step) = (high, step.saturating_mul(2));
        };
        while high.saturating_sub(low) > 1 {
            let middle = low.midpoint(high);
            if is_beyond(middle)? { high = middle } else { low = middle }
        }
        Ok(Some(BlockNumber::new(high)))
    }
}

/// Returns the number of steps for one transaction of a group: one step, and one for each [`BYTES`] bytes of its share.
/// The store reads a group as a whole, and all transactions of the group have equal shares of its bytes.
fn weight(group: &TransactionGroup) -> usize {
    let each = group.bytes.checked_div(group.positions.len()).unwrap_or(group.bytes);
    1_usize.saturating_add(each / BYTES)
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
