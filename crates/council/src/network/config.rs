//! The parameters of the chain, from the network file.

use silica_chain::{
    ChainConfig,
    config::{NoncePolicy, Numbering, Policy, Rules},
};

use super::Parameters;

impl Parameters {
    /// Returns the configuration of the chain.
    ///
    /// No operator sets the gas price, and no block has edits, because all members have to compute equal blocks. The
    /// pool keeps transactions with a nonce gap, because transactions can reach a member in another order.
    pub fn chain_config(&self) -> ChainConfig {
        let default = ChainConfig::isolated();
        ChainConfig {
            chain_id: self.chain_id,
            shards: self.shards,
            blocks_per_ds_epoch: self.blocks_per_ds_epoch,
            shard_gas_limit: self.shard_gas_limit,
            ds_gas_limit: self.ds_gas_limit,
            minimum_gas_price: self.minimum_gas_price,
            operator_price: false,
            edits: false,
            coinbase_reward: self.coinbase_reward,
            rules: Rules { scilla: self.scilla_rules, ..default.rules },
            rule_changes: self.rule_changes.clone(),
            policy: Policy {
                nonces: NoncePolicy::Queue,
                numbering: Numbering::EveryBlock,
                operator_price: None,
                block_bytes: Some(self.transaction_bytes()),
                ..default.policy
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use silica_chain::config::RuleChange;
    use silica_protocol::{BlockNumber, ChainId, Gas, GasPrice, Qa};

    use super::*;
    use crate::{network::NetworkFile, testing};

    fn config_of(text: &str) -> ChainConfig {
        NetworkFile::parse(text).unwrap().parameters().chain_config()
    }

    #[test]
    fn each_parameter_of_the_file_reaches_the_chain() {
        let base = config_of(&testing::network_file(4));
        base.check().unwrap();
        let other_id = ChainConfig { chain_id: ChainId::new(334), ..base.clone() };
        assert_eq!(config_of(&testing::network_file_with("example-4", 334, 4)), other_id);
        let bytes = |bytes| Policy { block_bytes: Some(bytes), ..base.policy };
        assert_eq!(base.policy, bytes((4 << 20) - 3 * 1_024));
        let cases = [
            (
                "shards = 1",
                "shards = 3",
                ChainConfig { shards: 3, policy: bytes((4 << 20) - 4 * 1_024), ..base.clone() },
            ),
            ("\"4MiB\"", "\"256KiB\"", ChainConfig { policy: bytes(253 << 10), ..base.clone() }),
            ("ds-epoch = 100", "ds-epoch = 7", ChainConfig { blocks_per_ds_epoch: 7, ..base.clone() }),
            ("limit = 400000", "limit = 90", ChainConfig { shard_gas_limit: Gas::new(90), ..base.clone() }),
            ("limit = 500000", "limit = 90", ChainConfig { ds_gas_limit: Gas::new(90), ..base.clone() }),
            (
                "price = 2000000000",
                "price = 5",
                ChainConfig { minimum_gas_price: GasPrice::new(Qa::new(5)), ..base.clone() },
            ),
            ("\"176000000000000000\"", "5", ChainConfig { coinbase_reward: Qa::new(5), ..base.clone() }),
            (
                "max-body = \"4MiB\"",
                "scilla-rules = \"0.11/1\"",
                ChainConfig { rules: Rules { scilla: "0.11/1".parse().unwrap(), ..base.rules }, ..base.clone() },
            ),
            (
                "[[member]]",
                "[[rules-from]]\nblock = 9\nscilla-rules = \"latest/3\"\n[[member]]",
                ChainConfig {
                    rule_changes: vec![RuleChange { block: BlockNumber::new(9), scilla: "latest/3".parse().unwrap() }],
                    ..base
                },
            ),
        ];
        for (old, new, expected) in cases {
            let text = testing::network_file(4);
            assert!(text.contains(old), "{old}");
            assert_eq!(config_of(&text.replacen(old, new, 1)), expected, "{new}");
        }
    }

    #[test]
    fn no_member_decides_alone() {
        let config = config_of(&testing::network_file(4));
        assert!(!config.operator_price && !config.edits);
        assert_eq!(config.policy.operator_price, None);
        assert_eq!((config.policy.nonces, config.policy.numbering), (NoncePolicy::Queue, Numbering::EveryBlock));
    }
}
