//! The configuration of a chain: network parameters, rules of execution, and the policy of one node.

use std::num::NonZeroU64;

use silica_protocol::{ChainId, Gas, GasPrice, Qa, Transaction, TransactionKind};

use silica_scilla::rules::{Edition, Rules as ScillaRules};

use crate::epoch::Epochs;

/// Largest number of virtual shards: every Tx block holds a micro block for each.
pub const MAX_SHARDS: u32 = 1_000;

/// Parameters of a chain.
///
/// All members but [`policy`](Self::policy) decide which blocks are valid, and are fixed when the chain is created.
/// Blocks do not contain all of them, so a node stores them with the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainConfig {
    /// Identity of the network, part of every signed transaction.
    pub chain_id: ChainId,
    /// Number of virtual shards. The DS committee acts as one more.
    pub shards: u32,
    /// Tx blocks in a DS epoch; the last of them is vacuous. At least 2.
    pub blocks_per_ds_epoch: u64,
    /// Gas that the transactions of one shard may use in a Tx block.
    pub shard_gas_limit: Gas,
    /// Gas that the transactions of the DS committee may use in a Tx block.
    pub ds_gas_limit: Gas,
    /// Lowest price of gas that a DS block can name, and the node's own proposal for it.
    pub minimum_gas_price: GasPrice,
    /// Whether the leader may set another price of gas by hand, as isolated networks allow. Then a block is judged
    /// without regard to the price.
    pub operator_price: bool,
    /// Whether the leader may edit the state by hand, execute unsigned transactions, and repeat the logical block
    /// number, as isolated networks for developers allow.
    pub edits: bool,
    /// Paid out of the null account in each vacuous block.
    pub coinbase_reward: Qa,
    /// How transactions are executed.
    pub rules: Rules,
    /// The policy of this node.
    pub policy: Policy,
}

/// Rules of execution: the constants and the semantics of generation 8.1 (Reference: execution#rules).
///
/// The members are the points where generations differ, gathered so that another one can be reproduced later.
/// [`ChainConfig::check`] refuses values that this implementation does not carry out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct Rules {
    /// The rules of the contract language.
    pub scilla: ScillaRules,
    /// Whether deployments and calls are executed (`ENABLE_SC`). Otherwise they are refused with `Smart contract is
    /// disabled`.
    pub contracts: bool,
    /// Gas of a payment, and the lowest gas limit it may have (`NORMAL_TRAN_GAS`).
    pub payment_gas: Gas,
    /// Lowest charge of a deployment (`CONTRACT_CREATE_GAS`).
    pub deployment_gas: Gas,
    /// Lowest charge of a call (`CONTRACT_INVOKE_GAS`).
    pub call_gas: Gas,
    /// Charge for starting the checker (`SCILLA_CHECKER_INVOKE_GAS`).
    pub checker_gas: Gas,
    /// Charge for starting the interpreter, once for each contract that runs (`SCILLA_RUNNER_INVOKE_GAS`).
    pub runner_gas: Gas,
    /// Longest code of a deployment in bytes (`MAX_CODE_SIZE_IN_BYTES`).
    pub max_code_bytes: u64,
    /// The gas that a failed call pays.
    pub failed_call_gas: FailedCallGas,
    /// Gas for each message that a contract emits.
    pub per_message_gas: Gas,
    /// Order of transitions in a receipt.
    pub transition_order: TransitionOrder,
    /// Whether a message to a contract with an empty tag leaves a transition in the receipt.
    pub record_empty_tag_transition: bool,
    /// Chained calls that one transaction may make (`MAX_CONTRACT_EDGES`).
    pub edge_limit: u32,
    /// The calls that count for the limit of chained calls.
    pub edge_limit_counts: EdgeCount,
    /// Key under which a receipt files an error.
    pub error_key: ErrorKey,
    /// Whether the amount of a deployment moves to the contract.
    pub deploy_moves_amount: bool,
    /// Whether accounts created by a failed call stay.
    pub leak_side_effects: bool,
    /// Whether a shard refuses calls to contracts of another.
    pub strict_shards: bool,
    /// Whether a failed call keeps its events.
    pub event_logs_on_failure: bool,
}

/// The gas that a failed call pays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailedCallGas {
    /// The gas it used, at least the size penalty.
    Actual,
    /// Only the gas that was charged before the run.
    PreRunCharge,
}

/// Order of transitions in a receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransitionOrder {
    /// All messages of a run, then the runs they cause.
    BreadthFirst,
    /// Each message just before the run it causes.
    DepthFirst,
}

/// The calls that count for the limit of chained calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeCount {
    /// The calls between a run and the first.
    Path,
    /// All chained calls of the transaction.
    Total,
}

/// Key under which a receipt files an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKey {
    /// Number of chained calls that the transaction has attempted; 0 for the first run.
    CallsAttempted,
    /// Depth of the run.
    Depth,
}

/// The policy of one node within the rules of its chain. It can differ between two starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Which nonces are accepted, until the [producer](crate::Producer::set_nonce_policy) has another policy.
    pub nonces: NoncePolicy,
    /// Which blocks move the logical block number, until the [producer](crate::Producer::set_numbering) has another
    /// policy.
    pub numbering: Numbering,
    /// How much the pool holds, and for how long.
    pub pool: PoolLimits,
    /// Newest Tx blocks for which state proofs are served.
    pub proof_window: NonZeroU64,
    /// Price of gas that the operator set before the node was stopped, if any. Without effect where
    /// [`ChainConfig::operator_price`] is false.
    pub operator_price: Option<GasPrice>,
}

/// Which nonces are accepted into the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoncePolicy {
    /// Only the one that can be executed next; for modes in which every transaction gets its block at once.
    Exact,
    /// Any that is not used up; those ahead of their turn wait in the pool.
    Queue,
}

/// Which blocks move the logical block number: the one that contracts read and that receipts have.
///
/// The logical number of a block is its number minus the number of repeats before it. The record has a flag for each
/// block: whether the next block repeats the logical number. So the policy can change at any time, and the logical
/// number never decreases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbering {
    /// All of them.
    EveryBlock,
    /// Only those that are demanded. The number of others is repeated. Without effect on a chain that does not allow
    /// [edits](ChainConfig::edits).
    OnDemand,
}

/// How much the pool holds, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolLimits {
    /// Transactions altogether (`TXN_STORAGE_LIMIT`).
    pub transactions: usize,
    /// Transactions of one sender.
    pub per_sender: usize,
    /// Gapped transactions of one sender: those that its nonce or its balance does not permit yet.
    pub gapped_per_sender: usize,
    /// DS epochs after which a waiting transaction is dropped.
    pub lifetime_ds_epochs: u64,
    /// DS epochs for which the fate of a dropped transaction is remembered.
    pub memory_ds_epochs: u64,
}

impl ChainConfig {
    /// A local network for development with id 222. It has one virtual shard, and each transaction has its own block.
    pub fn isolated() -> Self {
        Self {
            chain_id: ChainId::new(222),
            shards: 1,
            blocks_per_ds_epoch: 100,
            shard_gas_limit: Gas::new(400_000),
            ds_gas_limit: Gas::new(500_000),
            minimum_gas_price: GasPrice::new(Qa::new(2_000_000_000)),
            operator_price: true,
            edits: true,
            coinbase_reward: Qa::new(176_000 * Qa::PER_ZIL),
            rules: Rules::V8_1,
            policy: Policy {
                nonces: NoncePolicy::Exact,
                numbering: Numbering::EveryBlock,
                pool: PoolLimits {
                    transactions: 100_000,
                    per_sender: 1_000,
                    gapped_per_sender: 64,
                    lifetime_ds_epochs: 3,
                    memory_ds_epochs: 3,
                },
                proof_window: const { NonZeroU64::new(50).expect("50 is not zero") },
                operator_price: None,
            },
        }
    }

    /// Checks that a chain can run with these parameters.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] names the first parameter that does not fit.
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.shards == 0 || self.shards > MAX_SHARDS {
            return Err(ConfigError::Shards { got: self.shards, most: MAX_SHARDS });
        }
        self.epochs()?;
        for (name, limit) in [("shard", self.shard_gas_limit), ("DS", self.ds_gas_limit)] {
            if limit < self.rules.payment_gas {
                return Err(ConfigError::GasLimit { name, got: limit, least: self.rules.payment_gas });
            }
        }
        if u64::from(self.shards)
            .checked_mul(self.shard_gas_limit.get())
            .and_then(|gas| gas.checked_add(self.ds_gas_limit.get()))
            .is_none()
        {
            return Err(ConfigError::GasLimitSum);
        }
        self.rules.check()
    }

    /// The numbering that a policy comes to: only a chain that allows [edits](Self::edits) repeats logical numbers.
    pub(crate) fn numbering(&self, requested: Numbering) -> Numbering {
        if self.edits { requested } else { Numbering::EveryBlock }
    }

    /// The arithmetic of this chain's DS epochs.
    ///
    /// # Errors
    ///
    /// [`ConfigError::BlocksPerDsEpoch`] when an epoch has fewer than two blocks.
    pub fn epochs(&self) -> Result<Epochs, ConfigError> {
        Epochs::new(self.blocks_per_ds_epoch).ok_or(ConfigError::BlocksPerDsEpoch { got: self.blocks_per_ds_epoch })
    }
}

impl Default for ChainConfig {
    fn default() -> Self {
        Self::isolated()
    }
}

impl Rules {
    /// Generation 8.1, with the rules of the contract language that Zilliqa 8.2 to 9.3.7 ran.
    pub const V8_1: Self = Self {
        scilla: ScillaRules::current(Edition::V0_13),
        contracts: true,
        payment_gas: Gas::new(50),
        deployment_gas: Gas::new(50),
        call_gas: Gas::new(10),
        checker_gas: Gas::new(100),
        runner_gas: Gas::new(300),
        max_code_bytes: 76_800,
        failed_call_gas: FailedCallGas::Actual,
        per_message_gas: Gas::ZERO,
        transition_order: TransitionOrder::DepthFirst,
        record_empty_tag_transition: true,
        edge_limit: 20,
        edge_limit_counts: EdgeCount::Total,
        error_key: ErrorKey::CallsAttempted,
        deploy_moves_amount: true,
        leak_side_effects: false,
        strict_shards: false,
        event_logs_on_failure: false,
    };

    /// Gas that a transaction pays at least once it is executed: for its texts, if they are long.
    pub(crate) fn least_gas(&self, kind: TransactionKind, tx: &Transaction) -> Gas {
        let bytes = |texts: &[&str]| {
            let sum = texts.iter().fold(0_usize, |sum, text| sum.saturating_add(text.len()));
            Gas::new(u64::try_from(sum).unwrap_or(u64::MAX))
        };
        match kind {
            TransactionKind::Payment => self.payment_gas,
            TransactionKind::Deployment => self.deployment_gas.max(bytes(&[&tx.code, &tx.data])),
            TransactionKind::Call => self.call_gas.max(bytes(&[&tx.data])),
        }
    }

    /// Rejects rules that this implementation does not support. The switches must have the values of
    /// [`V8_1`](Self::V8_1). The numbers and the rules of the contract language are free.
    fn check(&self) -> Result<(), ConfigError> {
        let supported = Self {
            scilla: self.scilla,
            contracts: self.contracts,
            payment_gas: self.payment_gas,
            deployment_gas: self.deployment_gas,
            call_gas: self.call_gas,
            checker_gas: self.checker_gas,
            runner_gas: self.runner_gas,
            max_code_bytes: self.max_code_bytes,
            edge_limit: self.edge_limit,
            ..Self::V8_1
        };
        if *self == supported { Ok(()) } else { Err(ConfigError::Rules) }
    }
}

/// Reason why a chain cannot run with some parameters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// There are no virtual shards, or too many.
    #[error("shards: expected 1 to {most}, got {got}")]
    Shards {
        /// The given number.
        got: u32,
        /// Largest number.
        most: u32,
    },
    /// A DS epoch has only its vacuous block.
    #[error("blocks per DS epoch: expected at least 2, got {got}")]
    BlocksPerDsEpoch {
        /// The given number.
        got: u64,
    },
    /// The gas limit of a micro block is below the gas of a payment.
    #[error("{name} gas limit: expected at least {least}, got {got}")]
    GasLimit {
        /// The committee with this limit.
        name: &'static str,
        /// The given limit.
        got: Gas,
        /// Gas of a payment.
        least: Gas,
    },
    /// The gas limits of all micro blocks together exceed 64 bits.
    #[error("gas limits: the sum over all shards exceeds 64 bits")]
    GasLimitSum,
    /// A rule of execution has a value that this implementation does not support.
    #[error("rules: expected the profile of generation 8.1")]
    Rules,
}
