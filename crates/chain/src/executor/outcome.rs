//! How a deployment or call ends: the way out of a run, and the settlement with the sender.

use silica_protocol::{Account, Address, Exception, Gas, GasPrice, Qa, ReceiptError};
use silica_state::StateError;

use super::{Overlay, Stop};
use crate::{accounts::World, pool::DropReason};

/// What ends a run early.
#[derive(Debug)]
pub(super) enum Halt {
    /// The transaction fails, for this reason and with what the interpreter said.
    Failed(ReceiptError, Vec<Exception>),
    /// The state could not be read.
    Fatal(StateError),
}

impl Halt {
    /// A failure that the node itself found.
    pub(super) const fn with(error: ReceiptError) -> Self {
        Self::Failed(error, Vec::new())
    }
}

impl From<StateError> for Halt {
    fn from(error: StateError) -> Self {
        Self::Fatal(error)
    }
}

/// The sender's deposit for gas, taken before a contract runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deposit {
    pub(super) sender: Address,
    pub(super) limit: Gas,
    pub(super) price: GasPrice,
}

impl Deposit {
    /// Takes the deposit from the sender, who can pay it.
    pub(super) fn take<W: World>(self, overlay: &mut Overlay<W>) -> Result<(), Stop> {
        let paid = self.limit.checked_cost(self.price).ok_or(DropReason::Arithmetic)?;
        let sender = overlay.account(&self.sender)?.ok_or(DropReason::InvalidSender)?;
        let balance = sender.balance.checked_sub(paid).ok_or(DropReason::Arithmetic)?;
        Ok(overlay.set(&self.sender, Account { balance, ..sender })?)
    }

    /// Gives back what is left, and uses up the nonce. Returns what was used, and what that costs.
    pub(super) fn settle<W: World>(self, left: u64, overlay: &mut Overlay<W>) -> Result<(Gas, Qa), Stop> {
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

/// Moves money from one account to another, and says whether there was enough.
pub(super) fn transfer<W: World>(
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

/// The length of texts in bytes, as the gas that a transaction with them pays at least.
pub(super) fn penalty(least: Gas, texts: &[&str]) -> Gas {
    let bytes = texts.iter().fold(0_usize, |sum, text| sum.saturating_add(text.len()));
    least.max(Gas::new(u64::try_from(bytes).unwrap_or(u64::MAX)))
}
