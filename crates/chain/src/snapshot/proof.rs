//! Proofs of accounts, and of the state of a contract.

use silica_protocol::{Address, BlockNumber, VariableHash};
use silica_state::{HistoryError, StateError, StateView, proof::StateProof};

use super::Snapshot;

impl Snapshot {
    /// Proves the variable `variable` of the contract at `address`, or its absence, in the state after the Tx block
    /// `block`. `None` means the latest block.
    ///
    /// # Errors
    ///
    /// [`ProofError`]: the block is outside the proof window, the account does not exist, is not a contract or has no
    /// storage, or the state could not be read.
    pub fn state_proof(
        &self,
        address: &Address,
        variable: &VariableHash,
        block: Option<BlockNumber>,
    ) -> Result<StateProof, ProofError> {
        self.prove(block, |view| {
            let account = view.account(address)?.ok_or(ProofError::UnknownAccount)?;
            let contract = account.contract.ok_or(ProofError::NotAContract)?;
            contract.storage_root.ok_or(ProofError::NoStorage)?;
            Ok(view.storage_proof(address, variable)?)
        })
    }

    /// Proves the account at `address`, or its absence, in the state after the Tx block `block`. `None` means the
    /// latest block.
    ///
    /// # Errors
    ///
    /// [`ProofError`]: the block is outside the proof window, or the state could not be read.
    pub fn account_proof(&self, address: &Address, block: Option<BlockNumber>) -> Result<StateProof, ProofError> {
        self.prove(block, |view| Ok(view.account_proof(address)?))
    }

    fn prove(
        &self,
        block: Option<BlockNumber>,
        prove: impl FnOnce(StateView) -> Result<StateProof, ProofError>,
    ) -> Result<StateProof, ProofError> {
        let block = self.proof_block(block)?;
        let proof = self.published.state.at(block).map_err(ProofError::from).and_then(prove);
        if let Err(ProofError::State(StateError::Expired)) = proof {
            // The block left the proof window while its state was read.
            let head = self.shared.published().head.number();
            return Err(ProofError::Expired { earliest: self.shared.earliest_proof(head) });
        }
        proof
    }

    /// Returns the number of the block for a proof if the block is in the proof window. `None` means the latest block.
    ///
    /// # Errors
    ///
    /// [`ProofError::NotMined`] or [`ProofError::Expired`]: the block is outside the proof window.
    /// [`state_proof`](Self::state_proof) returns these errors too. Callers use this function to check the block before
    /// other parameters.
    pub fn proof_block(&self, block: Option<BlockNumber>) -> Result<BlockNumber, ProofError> {
        let latest = self.published.head.number();
        let block = block.unwrap_or(latest);
        let earliest = self.shared.earliest_proof(latest);
        match block {
            block if block > latest => Err(ProofError::NotMined { block }),
            block if block < earliest => Err(ProofError::Expired { earliest }),
            block => Ok(block),
        }
    }
}

/// Reason why there is no state proof.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProofError {
    /// The block does not exist yet.
    #[error("Requested txBlock not mined yet")]
    NotMined {
        /// Number of the block.
        block: BlockNumber,
    },
    /// The block is older than the proof window.
    #[error("Proof from requested txBlock is expired, earliest: {earliest}")]
    Expired {
        /// The oldest block of the proof window.
        earliest: BlockNumber,
    },
    /// The account does not exist in the state after the block.
    #[error("Address does not exist in requested epoch")]
    UnknownAccount,
    /// The account is not a contract.
    #[error("Address not contract address")]
    NotAContract,
    /// The contract has no storage.
    #[error("Proof not found")]
    NoStorage,
    /// The computation of the state after the block failed.
    #[error("failed to read the state of a block")]
    History(#[source] HistoryError),
    /// A read of the state failed.
    #[error("failed to read state")]
    State(#[from] StateError),
}

impl From<HistoryError> for ProofError {
    /// The state history can be shorter than the proof window: after an increase of the window, the older states are
    /// missing.
    fn from(error: HistoryError) -> Self {
        if let HistoryError::Expired { earliest } = error { Self::Expired { earliest } } else { Self::History(error) }
    }
}
