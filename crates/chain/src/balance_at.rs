//! The balance of an account after an earlier block.

use silica_protocol::{Address, BlockNumber, Qa};

use crate::snapshot::{ProofError, Snapshot};

/// Reason why the balance after a block is not available.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BalanceAtError {
    /// The block does not exist yet.
    #[error("expected a block up to the latest block {head}, got {block}")]
    NotMined {
        /// Number of the block.
        block: BlockNumber,
        /// Number of the latest block.
        head: BlockNumber,
    },
    /// The history index has no balances, and the state after the block is not in the state history.
    #[error(
        "expected a block from {earliest} on, because the node has no index of balances (--index balances), got {block}"
    )]
    NoIndex {
        /// Number of the block.
        block: BlockNumber,
        /// Number of the oldest block of the state history.
        earliest: BlockNumber,
    },
    /// The history index has not reached the block yet, and the state after the block is not in the state history.
    #[error(
        "expected one of the first {covered} blocks, which the index of balances has, got block {block}; retry later"
    )]
    NotIndexed {
        /// Number of the block.
        block: BlockNumber,
        /// Number of blocks that the index has, from block 0 on.
        covered: u64,
    },
    /// The state after the block could not be read.
    #[error(transparent)]
    State(ProofError),
}

impl Snapshot {
    /// Returns the balance of an account after a Tx block; 0 if the account did not exist. An index of balances has the
    /// balances after all blocks that it covers. For other blocks, the balance is available only in the proof window.
    ///
    /// # Errors
    ///
    /// [`BalanceAtError`]: the block does not exist, its balances are not available, or they could not be read.
    pub fn balance_at(&self, address: &Address, block: BlockNumber) -> Result<Qa, BalanceAtError> {
        let head = self.latest_tx_block().header.number;
        if block > head {
            return Err(BalanceAtError::NotMined { block, head });
        }
        if let Some(mut view) = self.state().index()
            && let Ok(Some(balance)) = view.balance(address, block)
        {
            return Ok(balance);
        }
        match self.account_at(address, block) {
            Ok(account) => Ok(account.unwrap_or_default().balance),
            Err(ProofError::Expired { earliest }) => Err(match self.index_progress() {
                Some(index) if index.kinds.balances => BalanceAtError::NotIndexed { block, covered: index.blocks },
                Some(_) | None => BalanceAtError::NoIndex { block, earliest },
            }),
            Err(error) => Err(BalanceAtError::State(error)),
        }
    }
}
