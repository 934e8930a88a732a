//! The context of a block: the constant parameters of the chain, and the previous blocks.

use std::{collections::BTreeSet, sync::Arc};

use silica_crypto::multisig;
use silica_protocol::{BlockHash, BlockNumber, DsBlock, PublicKey, TxBlock};
use silica_state::{ArchiveError, Snapshot};

use crate::{
    committee::Committees,
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
    pub(crate) committees: Committees,
    /// The contract cache of block production.
    pub(crate) contract_cache: ContractCache,
}

impl Network {
    /// Checks the parameters, and returns them with an empty contract cache.
    pub(crate) fn new(config: ChainConfig, committees: Committees) -> Result<Self, ConfigError> {
        config.check()?;
        check_committee(committees.of_genesis().keys(), &config)?;
        let epochs = config.epochs()?;
        let contract_cache = ContractCache::new(config.rules.scilla);
        Ok(Self { config, epochs, committees, contract_cache })
    }
}

/// Maximum number of members. Up to this number, a block needs the signatures of ⌊2n/3⌋ + 1 of n members: the number of
/// members that decides the block. A block of 1,003 members needs 670 signatures, but 669 members decide it.
const MOST_MEMBERS: usize = 1_002;

/// Checks the members of a committee. With several members, no node decides alone, so the chain permits no edits and no
/// price of an operator.
fn check_committee(keys: &[PublicKey], config: &ChainConfig) -> Result<(), ConfigError> {
    if keys.is_empty() {
        return Err(ConfigError::NoMember);
    }
    if keys.len() > MOST_MEMBERS {
        return Err(ConfigError::TooManyMembers { most: MOST_MEMBERS, got: keys.len() });
    }
    let mut known = BTreeSet::new();
    for key in keys {
        multisig::aggregate_keys(&[*key]).map_err(|_| ConfigError::Member { key: *key })?;
        if !known.insert(key) {
            return Err(ConfigError::RepeatedMember { key: *key });
        }
    }
    match (keys.len(), config.operator_price, config.edits) {
        (1, _, _) | (_, false, false) => Ok(()),
        (members, true, _) => Err(ConfigError::SeveralMembers { option: "operator price", members }),
        (members, false, true) => Err(ConfigError::SeveralMembers { option: "edits", members }),
    }
}

#[cfg(test)]
mod tests {
    use silica_protocol::{GasPrice, Qa};

    use super::*;
    use crate::testing::key;

    #[test]
    fn price_of_zero_and_foreign_member_are_rejected() {
        let (config, member) = (ChainConfig::isolated(), Committees::from(key(1).public_key()));
        assert!(Network::new(config.clone(), member.clone()).is_ok());
        for key in [PublicKey::ZERO, PublicKey::new([0xff; 33])] {
            assert_eq!(Network::new(config.clone(), key.into()).unwrap_err(), ConfigError::Member { key });
        }
        let free = ChainConfig { minimum_gas_price: GasPrice::new(Qa::ZERO), ..config };
        assert_eq!(Network::new(free, member).unwrap_err(), ConfigError::GasPrice);
    }

    #[test]
    fn quorum_is_the_smallest_number_above_two_thirds() {
        let quorum = silica_crypto::cosign::quorum;
        assert!((2..=MOST_MEMBERS).all(|members| quorum(members) == members * 2 / 3 + 1));
        assert_ne!(quorum(MOST_MEMBERS + 1), (MOST_MEMBERS + 1) * 2 / 3 + 1);
    }

    #[test]
    fn committees_have_different_members_and_no_rights_of_one_node() {
        let [first, second] = [1, 2].map(|number| key(number).public_key());
        let shared = ChainConfig { operator_price: false, edits: false, ..ChainConfig::isolated() };
        let error = |config: ChainConfig, members: &[PublicKey]| {
            Network::new(config, Committees::fixed(members.iter().copied())).unwrap_err()
        };
        assert!(Network::new(shared.clone(), Committees::fixed([first, second])).is_ok());
        assert_eq!(error(shared.clone(), &[]), ConfigError::NoMember);
        assert_eq!(error(shared.clone(), &[first, second, first]), ConfigError::RepeatedMember { key: first });
        let members = |count| std::iter::repeat_n(first, count).collect::<Vec<_>>();
        assert_eq!(error(shared.clone(), &members(1_002)), ConfigError::RepeatedMember { key: first });
        let too_many = ConfigError::TooManyMembers { most: 1_002, got: 1_003 };
        assert_eq!(error(shared.clone(), &members(1_003)), too_many);
        let edits = ChainConfig { edits: true, ..shared.clone() };
        let price = ChainConfig { operator_price: true, ..shared };
        for (config, option) in [(price, "operator price"), (edits, "edits")] {
            assert_eq!(error(config, &[first, second]), ConfigError::SeveralMembers { option, members: 2 });
        }
    }
}
