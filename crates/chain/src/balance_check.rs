//! A check of all balances: the transfers of each account from the genesis on add up to its balance.

use std::collections::BTreeMap;

use silica_protocol::{Address, BlockNumber, Qa};
use silica_state::{ArchiveError, Snapshot, StateError, Store};

use crate::{
    committee::Committees,
    config::{ChainConfig, ConfigError},
    genesis::Genesis,
    transfer::{BlockPart, Transfer, TransferPlace, TransferSource},
};

/// Adds up the transfers of all blocks of `store`, and compares the sums with the balances at the head. With `since`,
/// adds only the transfers after the newest block of `since` to the balances of `since`, which an earlier call has
/// compared. `progress` gets the number of each read block, and the number of the last block.
///
/// # Errors
///
/// [`BalanceError`]: a balance differs, the parameters are invalid, or the store could not be read.
pub fn check_balances(
    store: &Store,
    config: &ChainConfig,
    genesis: &Genesis,
    committees: impl Into<Committees>,
    since: Option<&Snapshot>,
    progress: &mut dyn FnMut(BlockNumber, BlockNumber),
) -> Result<(), BalanceError> {
    let state = store.snapshot();
    let Some(head) = state.head().map(|head| head.number) else { return Ok(()) };
    let (epochs, committees) = (config.epochs()?, committees.into());
    let source = TransferSource { state: &state, genesis, epochs, committees: &committees };
    let mut sums = Sums { source, balances: BTreeMap::new() };
    let mut block = BlockNumber::new(0);
    if let Some(since) = since.filter(|since| since.head().is_some()) {
        for account in since.state().accounts() {
            let (address, account) = account?;
            sums.balances.insert(address, account.balance);
        }
        block = since.head().and_then(|head| head.number.next()).unwrap_or(block);
    }
    while block <= head {
        let last = sums.add(block)?;
        progress(last, head);
        block = last.next().unwrap_or(BlockNumber::MISSING);
    }
    let differs = |address, expected, got| BalanceError::Differs { address, block: head, expected, got };
    for account in state.state().accounts() {
        let (address, account) = account?;
        let expected = sums.balances.remove(&address).unwrap_or_default();
        if account.balance != expected {
            return Err(differs(address, expected, account.balance));
        }
    }
    match sums.balances.into_iter().find(|(_, balance)| !balance.is_zero()) {
        Some((address, expected)) => Err(differs(address, expected, Qa::ZERO)),
        None => Ok(()),
    }
}

/// The sums of the transfers so far.
struct Sums<'a> {
    source: TransferSource<'a>,
    balances: BTreeMap<Address, Qa>,
}

impl Sums<'_> {
    /// Adds the transfers of a block. For a block of an empty block range, adds those of all blocks up to the next
    /// vacuous block of the range, or to its end. Returns the last added block.
    fn add(&mut self, block: BlockNumber) -> Result<BlockNumber, BalanceError> {
        let source = self.source;
        let missing = BalanceError::Missing { number: block };
        let outline = source.state.outline(block)?.ok_or(missing)?;
        let mut last = block;
        if let Some(range) = outline.empty_range {
            last = source.epochs.vacuous_from(block).min(*range.end());
        } else {
            self.apply(&source.of_start(block, outline.has_edits)?)?;
            let mut first = 0;
            while let Some(group) = source.state.transaction_group(block, first)? {
                let positions = first..group.positions.end;
                let read = source.state.transactions(block, positions.clone())?.unwrap_or_default();
                for (position, (transaction, receipt)) in positions.zip(&read) {
                    self.apply(&source.of_transaction(block, position, transaction, receipt)?)?;
                }
                first = group.positions.end;
            }
        }
        let reserve = self.balances.get(&Address::ZERO).copied().unwrap_or_default();
        let (transfers, _) = source.of_end(last, reserve)?;
        self.apply(&transfers)?;
        Ok(last)
    }

    fn apply(&mut self, transfers: &[Transfer]) -> Result<(), BalanceError> {
        for transfer in transfers {
            let applied = transfer.apply(&mut self.balances);
            applied.ok_or_else(|| BalanceError::Range { transfer: Box::new(transfer.clone()) })?;
        }
        Ok(())
    }
}

/// Reason why the check of balances failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BalanceError {
    /// A balance differs from the sum of the transfers.
    #[error(
        "account {address}: expected a balance of {expected} Qa, the sum of all transfers up to block {block}, got \
         {got} Qa"
    )]
    Differs {
        /// Address of the account.
        address: Address,
        /// Number of the latest block.
        block: BlockNumber,
        /// The sum of the transfers.
        expected: Qa,
        /// The balance in the state.
        got: Qa,
    },
    /// A transfer makes the sum of an account negative, or larger than 128 bits.
    #[error(
        "{}: expected balances from 0 to 2^128 - 1 Qa after the transfer, got a balance outside this range",
        place(.transfer.place)
    )]
    Range {
        /// The transfer.
        transfer: Box<Transfer>,
    },
    /// A block is missing.
    #[error("block {number} is missing")]
    Missing {
        /// Number of the block.
        number: BlockNumber,
    },
    /// The parameters of the chain are invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A read of the record failed.
    #[error("failed to read blocks")]
    Archive(#[from] ArchiveError),
    /// A read of the state failed.
    #[error("failed to read state")]
    State(#[from] StateError),
}

/// Returns a text that names the place of a transfer.
fn place(place: TransferPlace) -> String {
    let TransferPlace { block, part, index } = place;
    match part {
        BlockPart::Start => format!("block {block}, transfer {index} before the transactions"),
        BlockPart::Transaction(position) => format!("block {block}, transaction {position}, transfer {index}"),
        BlockPart::End => format!("block {block}, transfer {index} after the transactions"),
    }
}
