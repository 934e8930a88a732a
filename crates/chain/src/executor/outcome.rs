//! The end of a deployment or call: errors of a run, and the settlement with the sender.

use silica_protocol::{Account, Address, Exception, Gas, GasPrice, Qa, ReceiptError};
use silica_state::StateError;

use super::{DropOrFatal, Overlay};
use crate::{accounts::StateReader, admission::VerifiedTransaction, config::Rules, pool::DropReason};

/// Reason why a run ends early.
#[derive(Debug)]
pub(super) enum CallFailure {
    /// The transaction fails with this error and with exceptions of the interpreter.
    Failed(ReceiptError, Vec<Exception>),
    /// A read of the state failed.
    Fatal(StateError),
}

impl CallFailure {
    /// Returns a failure without exceptions of the interpreter.
    pub(super) const fn with(error: ReceiptError) -> Self {
        Self::Failed(error, Vec::new())
    }
}

impl From<StateError> for CallFailure {
    fn from(error: StateError) -> Self {
        Self::Fatal(error)
    }
}

/// The deposit of the sender, which is taken before a contract runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deposit {
    sender: Address,
    limit: Gas,
    price: GasPrice,
    /// Size charge: the least gas of a failed transaction.
    least: Gas,
}

impl Deposit {
    /// Returns the deposit for a transaction, and the account of the sender. The sender must be able to pay deposit and
    /// amount. The checks have the order of the reference (Reference: execution#deployments, execution#calls).
    pub(super) fn of<W: StateReader>(
        transaction: &VerifiedTransaction,
        rules: &Rules,
        overlay: &mut Overlay<W>,
    ) -> Result<(Self, Account), DropOrFatal> {
        let (tx, sender) = (transaction.transaction(), transaction.sender());
        let cost = tx.gas_limit.checked_cost(tx.gas_price).ok_or(DropReason::Arithmetic)?;
        let account = overlay.account(&sender)?.ok_or(DropReason::InvalidSender)?;
        let least = rules.least_gas(transaction.kind(), tx);
        if tx.gas_limit < least {
            return Err(DropReason::InsufficientGasLimit.into());
        }
        let needed = cost.checked_add(tx.amount).ok_or(DropReason::InsufficientBalance)?;
        if account.balance < needed {
            return Err(DropReason::InsufficientBalance.into());
        }
        Ok((Self { sender, limit: tx.gas_limit, price: tx.gas_price, least }, account))
    }

    /// Returns the unused gas of a failed transaction whose run left `left` gas.
    pub(super) fn left_of_failure(self, left: u64) -> u64 {
        left.min(self.limit.checked_sub(self.least).map_or(0, Gas::get))
    }

    /// Takes the deposit from the sender. [`of`](Self::of) has checked the balance.
    pub(super) fn take<W: StateReader>(self, overlay: &mut Overlay<W>) -> Result<(), DropOrFatal> {
        let paid = self.limit.checked_cost(self.price).ok_or(DropReason::Arithmetic)?;
        let sender = overlay.account(&self.sender)?.ok_or(DropReason::InvalidSender)?;
        let balance = sender.balance.checked_sub(paid).ok_or(DropReason::Arithmetic)?;
        Ok(overlay.set(&self.sender, Account { balance, ..sender })?)
    }

    /// Pays the money for unused gas back to the sender, and increments the nonce. Returns the gas used and the fee.
    pub(super) fn settle<W: StateReader>(self, left: u64, overlay: &mut Overlay<W>) -> Result<(Gas, Qa), DropOrFatal> {
        let refund = Gas::new(left).checked_cost(self.price).ok_or(DropReason::Arithmetic)?;
        let used = self.limit.checked_sub(Gas::new(left)).ok_or(DropReason::Arithmetic)?;
        let fee = used.checked_cost(self.price).ok_or(DropReason::Arithmetic)?;
        let sender = overlay.account(&self.sender)?.ok_or(DropReason::InvalidSender)?;
        let balance = sender.balance.checked_add(refund).ok_or(DropReason::Arithmetic)?;
        let nonce = sender.nonce.next().ok_or(DropReason::Arithmetic)?;
        overlay.set(&self.sender, Account { balance, nonce, ..sender })?;
        Ok((used, fee))
    }
}

/// Transfers money from one account to another. Returns false if the balance is too low or the new balance would exceed
/// 128 bits.
pub(super) fn transfer<W: StateReader>(
    from: &Address,
    to: &Address,
    amount: Qa,
    overlay: &mut Overlay<W>,
) -> Result<bool, StateError> {
    let payer = overlay.account(from)?.unwrap_or_default();
    let Some(balance) = payer.balance.checked_sub(amount) else { return Ok(false) };
    if from == to || amount.is_zero() {
        return Ok(true);
    }
    let payee = overlay.account(to)?.unwrap_or_default();
    let Some(increased) = payee.balance.checked_add(amount) else { return Ok(false) };
    overlay.set(from, Account { balance, ..payer })?;
    overlay.set(to, Account { balance: increased, ..payee })?;
    Ok(true)
}
