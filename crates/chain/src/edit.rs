//! Edits of the state, for developers of contracts.
//!
//! The node checks an edit against the state, and converts it into new values. A block records and applies these
//! values. So a replay needs neither the contract nor its types, and the state root in the header covers the edit.

use silica_protocol::{Account, Address, BlockNumber, Nonce, Qa};
use silica_state::{Snapshot, StateDiff};

use crate::{
    executor::{self, EditError, Overlay},
    network::Network,
    state_delta::state_diff,
};

/// A change of the state without a transaction. An edit of the balance or the nonce of a missing account creates the
/// account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Sets the balance of an account.
    Balance {
        /// Address of the account.
        address: Address,
        /// The new balance, at most [`Edit::MOST_BALANCE`].
        balance: Qa,
    },
    /// Adds money to an account.
    Fund {
        /// Address of the account.
        address: Address,
        /// The amount to add. The new balance is at most [`Edit::MOST_BALANCE`].
        amount: Qa,
    },
    /// Sets the nonce of an account.
    Nonce {
        /// Address of the account.
        address: Address,
        /// The new nonce: at least the current one, and at most [`Edit::MOST_NONCE`].
        nonce: Nonce,
    },
    /// Sets a field of a contract, or sets or removes an entry of a map.
    Field {
        /// The contract whose field the edit sets.
        contract: Address,
        /// Name of the field.
        field: String,
        /// Keys of the entry as texts, the outermost first.
        keys: Vec<String>,
        /// The value in the JSON form of Scilla, or `None` to remove the entry of a map.
        value: Option<String>,
    },
}

impl Edit {
    /// Highest balance after an edit, in Qa. It is far above the supply of each network, and far below the maximum of
    /// 128 bits, so that later rewards and sums do not overflow.
    pub const MOST_BALANCE: Qa = Qa::new(1_000_000_000_000_000_000_000_000_000_000);

    /// Highest nonce after an edit. All clients can read it exactly as a JSON number, and enough nonces remain above
    /// it.
    pub const MOST_NONCE: Nonce = Nonce::new(1 << 53);

    /// Returns the new values of the accounts and storage entries that the edit changes.
    pub(crate) fn plan(&self, network: &Network, state: &Snapshot) -> Result<StateDiff, EditError> {
        let mut overlay = Overlay::new(state.clone());
        let reserved = |address: &Address| if address.is_zero() { Err(EditError::NullAccount) } else { Ok(()) };
        match self {
            Self::Balance { address, balance } => {
                reserved(address)?;
                let account = overlay.account(address)?.unwrap_or_default();
                if *balance > Self::MOST_BALANCE {
                    return Err(EditError::Balance { got: *balance, most: Self::MOST_BALANCE });
                }
                overlay.set(address, Account { balance: *balance, ..account })?;
            }
            Self::Fund { address, amount } => {
                reserved(address)?;
                let account = overlay.account(address)?.unwrap_or_default();
                let balance = account.balance.checked_add(*amount).filter(|balance| *balance <= Self::MOST_BALANCE);
                let balance = balance.ok_or_else(|| EditError::Amount {
                    got: *amount,
                    // A reward can increase the balance above the maximum.
                    most: Self::MOST_BALANCE.checked_sub(account.balance).unwrap_or(Qa::ZERO),
                })?;
                overlay.set(address, Account { balance, ..account })?;
            }
            Self::Nonce { address, nonce } => {
                reserved(address)?;
                let account = overlay.account(address)?.unwrap_or_default();
                if account.contract.is_some() {
                    return Err(EditError::NonceOfContract);
                }
                if *nonce < account.nonce {
                    return Err(EditError::NonceTooLow { got: *nonce, least: account.nonce });
                }
                if *nonce > Self::MOST_NONCE {
                    return Err(EditError::NonceTooHigh { got: *nonce, most: Self::MOST_NONCE });
                }
                overlay.set(address, Account { nonce: *nonce, ..account })?;
            }
            Self::Field { contract, field, keys, value } => {
                let edit = executor::FieldEdit { contract, field, keys, value: value.as_deref() };
                let number = state.head().map_or(BlockNumber::new(0), |head| head.number);
                let rules = network.config.scilla_rules(number.next().unwrap_or(number));
                executor::edit_field(edit, &network.contract_cache.with_rules(rules), &mut overlay)?;
            }
        }
        Ok(state_diff(&overlay.changes()?))
    }
}
