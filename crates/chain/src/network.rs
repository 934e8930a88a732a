//! The context of a block: the constant parameters of the chain, and the previous blocks.

use std::sync::Arc;

use silica_crypto::multisig;
use silica_protocol::{BlockHash, BlockNumber, DsBlock, PublicKey, TxBlock};
use silica_state::{ArchiveError, Snapshot};

use crate::{
    config::{ChainConfig, ConfigError},
    epoch::Epochs,
    executor::ContractCache,
};

/// The latest Tx block and the latest DS block.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) hash: BlockHash,
    pub(crate) tx_block: Arc<TxBlock>,
    pub(crate) ds_hash: BlockHash,
    pub(crate) ds_block: Arc<DsBlock>,
    /// Logical block number of the next block.
    pub(crate) next_logical_number: BlockNumber,
}

impl Head {
    pub(crate) fn new(tx_block: Arc<TxBlock>, ds_block: Arc<DsBlock>, next_logical_number: BlockNumber) -> Self {
        let (hash, ds_hash) = (tx_block.header.hash(), ds_block.header.hash());
        Self { hash, tx_block, ds_hash, ds_block, next_logical_number }
    }

    /// Reads a Tx block and its DS block. Returns `None` if one of them is missing.
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

/// The constant parameters of a chain.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    pub(crate) config: ChainConfig,
    pub(crate) epochs: Epochs,
    /// The only member of the DS committee and of each virtual shard.
    pub(crate) member: PublicKey,
    /// The contract cache of block production.
    pub(crate) contract_cache: Arc<ContractCache>,
}

impl Network {
    /// Checks the parameters, and returns them with an empty contract cache.
    pub(crate) fn new(config: ChainConfig, member: PublicKey) -> Result<Self, ConfigError> {
        config.check()?;
        multisig::aggregate_keys(&[member]).map_err(|_| ConfigError::Member { key: member })?;
        let epochs = config.epochs()?;
        let contract_cache = Arc::new(ContractCache::new(config.rules.scilla));
        Ok(Self { config, epochs, member, contract_cache })
    }
}

#[cfg(test)]
mod tests {
    use silica_protocol::{GasPrice, Qa};

    use super::*;
    use crate::testing::key;

    #[test]
    fn price_of_zero_and_foreign_member_are_rejected() {
        let (config, member) = (ChainConfig::isolated(), key(1).public_key());
        assert!(Network::new(config.clone(), member).is_ok());
        for key in [PublicKey::ZERO, PublicKey::new([0xff; 33])] {
            assert_eq!(Network::new(config.clone(), key).unwrap_err(), ConfigError::Member { key });
        }
        let free = ChainConfig { minimum_gas_price: GasPrice::new(Qa::ZERO), ..config };
        assert_eq!(Network::new(free, member).unwrap_err(), ConfigError::GasPrice);
    }
}
