//! The rules by which a record changes balances, for the history index.

use std::sync::Arc;

use silica_protocol::{Address, BlockNumber, Receipt, Transaction};
use silica_state::{ArchiveError, BalanceChanges, BalanceRules, Snapshot, Store};

use crate::{
    committee::Committees,
    config::{ChainConfig, ConfigError},
    epoch::Epochs,
    genesis::Genesis,
    transfer::{BlockPart, Transfer, TransferAmount, TransferSource},
};

/// Sets the rules of balances of a store, so that its history index can have balances. [`open`](crate::open) also sets
/// them.
///
/// # Errors
///
/// [`ConfigError`]: the parameters are invalid.
pub fn set_balance_rules(
    store: &Store,
    config: &ChainConfig,
    genesis: &Genesis,
    committees: impl Into<Committees>,
) -> Result<(), ConfigError> {
    set(store, &Arc::new(genesis.clone()), config.epochs()?, committees.into());
    Ok(())
}

/// Sets the rules of balances of a store.
pub(crate) fn set(store: &Store, genesis: &Arc<Genesis>, epochs: Epochs, committees: Committees) {
    let genesis = Arc::clone(genesis);
    store.set_balance_rules(Arc::new(Rules { genesis, epochs, committees }));
}

/// The rules of a chain.
#[derive(Debug)]
struct Rules {
    genesis: Arc<Genesis>,
    epochs: Epochs,
    /// The members that vacuous blocks pay.
    committees: Committees,
}

impl BalanceRules for Rules {
    fn next_settlement(&self, block: BlockNumber) -> BlockNumber {
        self.epochs.vacuous_from(block)
    }

    fn add_changes(
        &self,
        chain: &Snapshot,
        block: BlockNumber,
        has_edits: bool,
        transactions: &[(Transaction, Receipt)],
        changes: &mut BalanceChanges<'_>,
    ) -> Result<(), ArchiveError> {
        let Self { ref genesis, epochs, ref committees } = *self;
        let source = TransferSource { state: chain, genesis, epochs, committees };
        add(source.of_start(block, has_edits)?, changes)?;
        for (position, (transaction, receipt)) in (0..).zip(transactions) {
            add(source.of_transaction(block, position, transaction, receipt)?, changes)?;
        }
        if epochs.is_vacuous(block) {
            let reserve = changes.balance(&Address::ZERO)?;
            add(source.of_end(block, reserve)?.0, changes)?;
        }
        Ok(())
    }
}

fn add(transfers: Vec<Transfer>, changes: &mut BalanceChanges<'_>) -> Result<(), ArchiveError> {
    for Transfer { place, from, to, amount, .. } in transfers {
        let position = match place.part {
            BlockPart::Transaction(position) => position,
            BlockPart::Start | BlockPart::End => 0,
        };
        match (amount, to) {
            (TransferAmount::Moved(amount), to) => changes.transfer(position, from, to, amount),
            (TransferAmount::SetTo(balance), Some(account)) => changes.set(&account, balance)?,
            (TransferAmount::SetTo(_), None) => {}
        }
    }
    Ok(())
}
