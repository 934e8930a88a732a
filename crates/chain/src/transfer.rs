//! Transfers: all changes of balances, derived from the record.
//!
//! The parts of a block change balances in this order:
//!
//! | Part | Kind | From | To | Amount |
//! |---|---|---|---|---|
//! | start of block 0 | genesis | | each account | its balance |
//! | start | edit | | edited account | set to a balance |
//! | transaction | fee | sender | | gas × gas price; failed transactions pay it too |
//! | successful payment | payment | sender | recipient | amount |
//! | successful deployment | deployment | sender | contract or library | amount |
//! | successful call | call | sender | contract | amount, if the contract accepted it |
//! | successful call | transition | emitting contract | recipient | amount of the message, under the condition below |
//! | end of a vacuous block | fees | | null account | fees of the DS epoch |
//! | end of a vacuous block | reward | null account | each member | its share of the coinbase reward, at most the balance of the null account |
//!
//! The recipient of a message receives the money if it has no code, or if it accepted: the flag `accepted` of a
//! transition is that of its recipient (Reference: execution#messages). A transition without the flag ran no contract.
//! In this case, the recipient received the money if it had no code. The table of deployments shows whether an address
//! had code at a place in the record.
//!
//! The record lacks two values, which the caller has if it keeps running balances:
//!
//! - The record has the account after an edit, and not before. So an edit has a new balance, and no amount. The amount
//!   is the new balance minus the running balance. An edit of a nonce or of a field also has the balance, which it does
//!   not change.
//! - A vacuous block pays at most the balance of the null account, which is an argument here. Only vacuous blocks
//!   change this balance, so [`ReserveLog`](crate::reserve_log::ReserveLog) computes it from fees and rewards alone.

use std::collections::BTreeMap;

use silica_protocol::{Address, BlockNumber, Qa, Receipt, Timestamp, Transaction, TransactionKind, TxHash};
use silica_state::ArchiveError;

use crate::{committee::Committees, epoch::Epochs, genesis::Genesis, reward::Settlement};

/// A change of balances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Place of the transfer in the record.
    pub place: TransferPlace,
    /// Hash of the transaction, or `None` for a transfer without a transaction.
    pub hash: Option<TxHash>,
    /// Timestamp of the block.
    pub timestamp: Timestamp,
    /// Kind of the transfer.
    pub kind: TransferKind,
    /// The account that pays, or `None` if no account pays.
    pub from: Option<Address>,
    /// The account that gets the money, or `None` if no account gets it. Fees belong to no account until the end of
    /// their DS epoch.
    pub to: Option<Address>,
    /// The moved amount, or the new balance after an edit.
    pub amount: TransferAmount,
}

/// The amount of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferAmount {
    /// The moved amount in Qa, not 0.
    Moved(Qa),
    /// The balance of the account after an edit, in Qa.
    SetTo(Qa),
}

/// Kind of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferKind {
    /// The balance of an account at genesis.
    Genesis,
    /// An edit by a developer.
    Edit,
    /// The fee of a transaction.
    Fee,
    /// A payment.
    Payment,
    /// The amount of a deployment.
    Deployment,
    /// The amount of a call that the contract accepted.
    Call,
    /// The amount of a message of a contract.
    Transition,
    /// The fees of a DS epoch, which return to the null account.
    Fees,
    /// The reward of a DS epoch.
    Reward,
}

/// A place of transfers in the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TransferPlace {
    /// Number of the block.
    pub block: BlockNumber,
    /// The part of the block.
    pub part: BlockPart,
    /// Position among the transfers of the part, from 0.
    pub index: u32,
}

/// A part of a block that changes balances, in the order of execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BlockPart {
    /// The changes before the transactions: the genesis accounts, and edits.
    Start,
    /// The transaction at a position of the block.
    Transaction(u32),
    /// The changes after the transactions: the payments of a vacuous block.
    End,
}

impl Transfer {
    /// Applies the transfer to running balances. An account that is missing has the balance 0. Returns `None` if a
    /// balance would be negative, or would exceed 128 bits.
    #[must_use]
    pub fn apply(&self, balances: &mut BTreeMap<Address, Qa>) -> Option<()> {
        let mut change = |address: Option<Address>, change: &dyn Fn(Qa) -> Option<Qa>| {
            let Some(address) = address else { return Some(()) };
            let balance = balances.entry(address).or_default();
            *balance = change(*balance)?;
            Some(())
        };
        match self.amount {
            TransferAmount::Moved(amount) => {
                change(self.from, &|balance| balance.checked_sub(amount))?;
                change(self.to, &|balance| balance.checked_add(amount))
            }
            TransferAmount::SetTo(new) => change(self.to, &|_| Some(new)),
        }
    }
}

/// The record of a chain, with the facts of the chain that the record does not have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TransferSource<'a> {
    pub(crate) state: &'a silica_state::Snapshot,
    pub(crate) genesis: &'a Genesis,
    pub(crate) epochs: Epochs,
    /// The members that vacuous blocks pay.
    pub(crate) committees: &'a Committees,
}

impl TransferSource<'_> {
    /// Returns the transfers before the transactions of a block: the genesis balances, or the edits. `has_edits`
    /// states whether the block has edits.
    pub(crate) fn of_start(&self, block: BlockNumber, has_edits: bool) -> Result<Vec<Transfer>, ArchiveError> {
        let mut part = Part::new(block, BlockPart::Start);
        if block.get() == 0 {
            for (address, account) in self.genesis.accounts() {
                part.moved(TransferKind::Genesis, None, Some(*address), account.balance);
            }
        }
        if has_edits {
            for (address, account) in self.state.edits_of(block)?.unwrap_or_default().accounts {
                part.push(TransferKind::Edit, None, Some(address), TransferAmount::SetTo(account.balance));
            }
        }
        Ok(part.transfers)
    }

    /// Returns the transfers of the transaction at a place of the record. They do not have the hash of the transaction.
    pub(crate) fn of_transaction(
        &self,
        block: BlockNumber,
        position: u32,
        transaction: &Transaction,
        receipt: &Receipt,
    ) -> Result<Vec<Transfer>, ArchiveError> {
        let (sender, amount) = (transaction.sender(), transaction.amount);
        let mut part = Part::new(block, BlockPart::Transaction(position));
        let fee = receipt.cumulative_gas.checked_cost(transaction.gas_price).unwrap_or(Qa::MAX);
        part.moved(TransferKind::Fee, Some(sender), None, fee);
        if !receipt.success {
            return Ok(part.transfers);
        }
        match transaction.kind() {
            Some(TransactionKind::Payment) => {
                part.moved(TransferKind::Payment, Some(sender), Some(transaction.to), amount);
            }
            Some(TransactionKind::Deployment) => {
                part.moved(TransferKind::Deployment, Some(sender), transaction.contract_address(), amount);
            }
            Some(TransactionKind::Call) if receipt.accepted == Some(true) => {
                part.moved(TransferKind::Call, Some(sender), Some(transaction.to), amount);
            }
            Some(TransactionKind::Call) | None => {}
        }
        for transition in &receipt.transitions {
            let (recipient, amount) = (transition.message.recipient, transition.message.amount);
            if amount.is_zero() {
                continue;
            }
            let moves = match transition.accepted {
                Some(accepted) => accepted,
                None => !self.had_code(&recipient, block, position)?,
            };
            if moves {
                part.moved(TransferKind::Transition, Some(transition.address), Some(recipient), amount);
            }
        }
        Ok(part.transfers)
    }

    /// Returns whether an account had code before the transaction at a place of the record.
    fn had_code(&self, address: &Address, block: BlockNumber, position: u32) -> Result<bool, ArchiveError> {
        Ok(self.state.deployment_place(address)?.is_some_and(|deployed| deployed < (block, position)))
    }

    /// Returns the transfers after the transactions of a block, and the balance of the null account after them.
    /// `reserve` is the balance of the null account before them. Only a vacuous block has such transfers.
    pub(crate) fn of_end(&self, block: BlockNumber, reserve: Qa) -> Result<(Vec<Transfer>, Qa), ArchiveError> {
        let mut part = Part::new(block, BlockPart::End);
        let rewards = self.state.rewards_of(block)?.filter(|_| self.epochs.is_vacuous(block));
        let Some(rewards) = rewards else { return Ok((part.transfers, reserve)) };
        // The block was executed with these numbers, so the sum fits into 128 bits.
        let members = self.committees.of(self.epochs.ds_block_of(block)).accounts();
        let settled = Settlement::new(reserve, rewards.ds_epoch_fees, rewards.in_header, members.len());
        let Some(settled) = settled else { return Ok((part.transfers, reserve)) };
        part.moved(TransferKind::Fees, None, Some(Address::ZERO), rewards.ds_epoch_fees);
        for (member, paid) in members.iter().zip(settled.payments()) {
            part.moved(TransferKind::Reward, Some(Address::ZERO), Some(*member), paid);
        }
        Ok((part.transfers, settled.reserve))
    }
}

/// The transfers of a part of a block.
struct Part {
    next: TransferPlace,
    transfers: Vec<Transfer>,
}

impl Part {
    fn new(block: BlockNumber, part: BlockPart) -> Self {
        Self { next: TransferPlace { block, part, index: 0 }, transfers: Vec::new() }
    }

    /// Adds a transfer, unless its amount is 0.
    fn moved(&mut self, kind: TransferKind, from: Option<Address>, to: Option<Address>, amount: Qa) {
        if !amount.is_zero() {
            self.push(kind, from, to, TransferAmount::Moved(amount));
        }
    }

    fn push(&mut self, kind: TransferKind, from: Option<Address>, to: Option<Address>, amount: TransferAmount) {
        let (place, timestamp) = (self.next, Timestamp::default());
        self.transfers.push(Transfer { place, hash: None, timestamp, kind, from, to, amount });
        self.next.index = self.next.index.saturating_add(1);
    }
}
