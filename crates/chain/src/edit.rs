//! Edits of the state by hand, for developers of contracts.
//!
//! An edit is checked against the state, and converted into new values. A block records and applies these values. So a
//! replay needs neither the contract nor its types, and the state root in the header covers the edit.

use silica_protocol::{Account, Address, Nonce, Qa};
use silica_state::{Snapshot, StateDiff};

use crate::{
    builder::state_diff,
    executor::{self, EditError, Overlay},
    network::Network,
};

/// A change of the state that no transaction makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// An account has this much money from now on. It is created if there is none.
    Balance {
        /// The account.
        address: Address,
        /// How much.
        balance: Qa,
    },
    /// An account has so much more money. It is created if there is none.
    Fund {
        /// The account.
        address: Address,
        /// How much more.
        amount: Qa,
    },
    /// An account has another nonce. It is created if it does not exist.
    Nonce {
        /// The account.
        address: Address,
        /// How many; not fewer than before.
        nonce: Nonce,
    },
    /// A field of a contract, or an entry of its map, has another value.
    Field {
        /// The contract.
        contract: Address,
        /// The name of the field.
        field: String,
        /// Keys of its map as text, the outermost first.
        keys: Vec<String>,
        /// The value in the JSON form of the language; `None` removes the entry of a map.
        value: Option<String>,
    },
}

impl Edit {
    /// Maximum of the balance after an edit. It exceeds the supply of each network many times. It is also far below the
    /// maximum of the formats, so that later rewards and sums do not overflow.
    pub const MOST_BALANCE: Qa = Qa::new(1_000_000_000_000_000_000_000_000_000_000);

    /// The largest nonce that an edit gives an account: what JSON numbers hold exactly in all clients, and leaves more
    /// than enough for transactions.
    pub const MOST_NONCE: Nonce = Nonce::new(1 << 53);

    /// Returns the new values of the entries that the edit changes.
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
                    // Rewards may have raised the balance above the maximum.
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
                executor::edit_field(edit, &network.contract_cache, &mut overlay)?;
            }
        }
        Ok(state_diff(&overlay.changes()?))
    }
}
