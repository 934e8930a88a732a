//! The context of a block: the constant parameters of the chain, and the blocks that it follows.

use std::sync::Arc;

use silica_protocol::{BlockHash, BlockNumber, DsBlock, PublicKey, TxBlock};
use silica_state::{ArchiveError, Snapshot};

use crate::{
    config::{ChainConfig, ConfigError},
    epoch::Epochs,
    executor::ContractCache,
};

/// The blocks that the next block follows.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) hash: BlockHash,
    pub(crate) tx_block: Arc<TxBlock>,
    pub(crate) ds_hash: BlockHash,
    pub(crate) ds_block: Arc<DsBlock>,
    /// The block number that the transactions of the next block read.
    pub(crate) next_logical_number: BlockNumber,
}

impl Head {
    pub(crate) fn new(tx_block: Arc<TxBlock>, ds_block: Arc<DsBlock>, next_logical_number: BlockNumber) -> Self {
        let (hash, ds_hash) = (tx_block.header.hash(), ds_block.header.hash());
        Self { hash, tx_block, ds_hash, ds_block, next_logical_number }
    }

    /// Reads a block and the DS block in force at it; `None` when one of them is missing.
    pub(crate) fn read(state: &Snapshot, number: BlockNumber) -> Result<Option<Self>, ArchiveError> {
        let (Some(tx_block), Some(totals)) = (state.tx_block(number)?, state.totals(number)?) else { return Ok(None) };
        let ds_block = state.ds_block(tx_block.header.ds_block)?;
        let next_logical_number = totals.next_logical_number(number);
        Ok(ds_block.map(|ds_block| Self::new(tx_block, ds_block, next_logical_number)))
    }

    pub(crate) fn number(&self) -> BlockNumber {
        self.tx_block.header.number
    }
}

/// The parameters that are the same for every block.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    pub(crate) config: ChainConfig,
    pub(crate) epochs: Epochs,
    /// The only member of the DS committee and of each virtual shard.
    pub(crate) member: PublicKey,
    /// The contracts that were used recently.
    pub(crate) contract_cache: Arc<ContractCache>,
}

impl Network {
    /// Checks that a chain can run with these parameters.
    pub(crate) fn new(config: ChainConfig, member: PublicKey) -> Result<Self, ConfigError> {
        config.check()?;
        let epochs = config.epochs()?;
        let contract_cache = Arc::new(ContractCache::new(config.rules.scilla));
        Ok(Self { config, epochs, member, contract_cache })
    }
}
