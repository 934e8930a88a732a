//! The configuration of a chain: network parameters, rules of execution, and the policy of a node.

use std::num::NonZeroU64;

use silica_protocol::{BlockNumber, ChainId, Gas, GasPrice, PublicKey, Qa, TransactionKind, UnsignedTransaction};
use silica_scilla::rules::{Edition, Rules as ScillaRules};

use crate::epoch::Epochs;

/// Maximum number of virtual shards. Every Tx block has a micro block for each shard.
pub const MAX_SHARDS: u32 = 1_000;

/// Parameters of a chain.
///
/// All members except [`policy`](Self::policy) decide which blocks are valid. They are constant from the creation of
/// the chain on, except the rule changes after the newest block. Blocks do not contain all of them, so a node stores
/// them with the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainConfig {
    /// Identifier of the network. Every signed transaction contains it.
    pub chain_id: ChainId,
    /// Number of virtual shards, from 1 to [`MAX_SHARDS`]. The DS committee executes transactions too, and is not
    /// counted.
    pub shards: u32,
    /// Number of Tx blocks in a DS epoch, at least 2. The last Tx block of a DS epoch is vacuous.
    pub blocks_per_ds_epoch: u64,
    /// Gas limit of the micro block of a shard.
    pub shard_gas_limit: Gas,
    /// Gas limit of the micro block of the DS committee.
    pub ds_gas_limit: Gas,
    /// Lowest minimum gas price of a DS block, unless the operator has set a price. The computation of the gas price
    /// takes this price as the only proposal of the miners.
    pub minimum_gas_price: GasPrice,
    /// Whether an operator may set the minimum gas price, as on isolated networks. If so, the verification of a block
    /// does not check the price.
    pub operator_price: bool,
    /// Whether blocks may contain edits and unsigned transactions, and may repeat the logical block number, as on
    /// isolated networks for developers.
    pub edits: bool,
    /// Coinbase reward that a vacuous block pays out of the null account.
    pub coinbase_reward: Qa,
    /// The rules of execution.
    pub rules: Rules,
    /// Changes of the Scilla rules, ascending by block. Without a change, all blocks have [`Rules::scilla`].
    pub rule_changes: Vec<RuleChange>,
    /// The policy of this node.
    pub policy: Policy,
}

/// A change of the Scilla rules at a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleChange {
    /// The first Tx block with the rules, at least 2.
    pub block: BlockNumber,
    /// The Scilla rules from this block on.
    pub scilla: ScillaRules,
}

impl RuleChange {
    /// Returns the Scilla rules of a Tx block. `first` are the rules of the first blocks, and `changes` are ascending
    /// by block.
    pub fn rules_at(first: ScillaRules, changes: &[Self], block: BlockNumber) -> ScillaRules {
        changes.iter().rev().find(|change| change.block <= block).map_or(first, |change| change.scilla)
    }
}

/// The rules of execution: constants and semantics of the generation 8.1 (Reference: execution#rules).
///
/// The members are the rules that differ between the generations of Zilliqa. [`ChainConfig::check`] rejects values that
/// this implementation does not support.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct Rules {
    /// The Scilla rules of the first blocks. [`ChainConfig::scilla_rules`] returns the Scilla rules of any block.
    pub scilla: ScillaRules,
    /// Whether the chain executes deployments and calls (`ENABLE_SC`). If not, admission rejects them with
    /// `Smart contract is disabled`.
    pub contracts: bool,
    /// Gas of a payment, and its lowest gas limit (`NORMAL_TRAN_GAS`).
    pub payment_gas: Gas,
    /// Lowest charge of a deployment (`CONTRACT_CREATE_GAS`).
    pub deployment_gas: Gas,
    /// Lowest charge of a call (`CONTRACT_INVOKE_GAS`).
    pub call_gas: Gas,
    /// Charge for starting the checker (`SCILLA_CHECKER_INVOKE_GAS`).
    pub checker_gas: Gas,
    /// Charge for starting the interpreter, once for each run (`SCILLA_RUNNER_INVOKE_GAS`).
    pub runner_gas: Gas,
    /// Maximum length of the code of a deployment, in bytes (`MAX_CODE_SIZE_IN_BYTES`).
    pub max_code_bytes: u64,
    /// The gas that a failed call pays.
    pub failed_call_gas: FailedCallGas,
    /// Gas for each message that a contract emits.
    pub per_message_gas: Gas,
    /// Order of transitions in a receipt.
    pub transition_order: TransitionOrder,
    /// Whether a receipt has a transition for a message with an empty tag to a contract.
    pub record_empty_tag_transition: bool,
    /// Maximum number of chained calls of a transaction (`MAX_CONTRACT_EDGES`).
    pub edge_limit: u32,
    /// The calls that count toward the limit of chained calls.
    pub edge_limit_counts: EdgeCount,
    /// Key of an error in a receipt.
    pub error_key: ErrorKey,
    /// Whether a deployment transfers its amount to the contract.
    pub deploy_moves_amount: bool,
    /// Whether accounts that a failed call created stay in the state.
    pub leak_side_effects: bool,
    /// Whether a shard rejects calls to contracts of another shard.
    pub strict_shards: bool,
    /// Whether a failed call keeps its events.
    pub event_logs_on_failure: bool,
}

/// The gas that a failed call pays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailedCallGas {
    /// The gas that the call used, and at least the size charge.
    Actual,
    /// Only the gas that the node charges before the run.
    PreRunCharge,
}

/// Order of transitions in a receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransitionOrder {
    /// First the transitions for all messages of a run, and then the transitions of the chained calls.
    BreadthFirst,
    /// After the transition for a message, the transitions of the chained call of this message.
    DepthFirst,
}

/// The calls that count toward the limit of chained calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeCount {
    /// The chained calls on the path from the first run to the current run.
    Path,
    /// All chained calls of the transaction.
    Total,
}

/// Key of an error in a receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKey {
    /// Number of chained calls that the transaction has attempted. It is 0 for the first run.
    CallsAttempted,
    /// Depth of the run in the tree of chained calls.
    Depth,
}

/// The policy of one node within the rules of its chain. Each start can set another policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The nonces that the node accepts. [`Producer::set_nonce_policy`](crate::Producer::set_nonce_policy) changes this
    /// policy at run time.
    pub nonces: NoncePolicy,
    /// The blocks that increase the logical block number. [`Producer::set_numbering`](crate::Producer::set_numbering)
    /// changes this policy at run time.
    pub numbering: Numbering,
    /// The number of pending transactions that the pool keeps, and how long it keeps statuses.
    pub pool: PoolLimits,
    /// Length of the proof window: the number of latest Tx blocks with state proofs.
    pub proof_window: NonZeroU64,
    /// Minimum gas price that the operator set before the last stop, if any. The price has no effect if
    /// [`ChainConfig::operator_price`] is false.
    pub operator_price: Option<GasPrice>,
    /// Maximum bytes of the transactions in a block that this node proposes, if there is a maximum. The encoding of a
    /// transaction counts, and four bytes for its length. The pool keeps transactions without room.
    pub block_bytes: Option<usize>,
}

/// The nonces that the pool accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoncePolicy {
    /// Only the next nonce of the sender. The node uses this policy if it makes a block at the arrival of each
    /// transaction.
    Exact,
    /// All unused nonces. Transactions with a nonce gap are pending until the gap is closed.
    Queue,
}

/// The blocks that increase the logical block number, which contracts and receipts have.
///
/// The logical number of a block is its number minus the number of repeats before it. The record has a flag for each
/// block: whether the next block repeats the logical number. Therefore the policy can change at any time, and the
/// logical number never decreases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbering {
    /// Every block increases the logical block number.
    EveryBlock,
    /// Only blocks on request increase the logical block number. All other blocks repeat the number. This policy has no
    /// effect on a chain that does not permit [edits](ChainConfig::edits).
    OnDemand,
}

/// The limits of the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolLimits {
    /// Maximum number of pending transactions (`TXN_STORAGE_LIMIT`).
    pub transactions: usize,
    /// Maximum number of pending transactions of a sender.
    pub per_sender: usize,
    /// Maximum number of gapped transactions of a sender.
    pub gapped_per_sender: usize,
    /// Number of DS epochs after which the pool drops a pending transaction.
    pub lifetime_ds_epochs: u64,
    /// Number of DS epochs for which the pool keeps the status of a dropped transaction.
    pub memory_ds_epochs: u64,
}

impl ChainConfig {
    /// Returns the configuration of a local network for development, with chain id 222, one virtual shard, and the
    /// policy [`NoncePolicy::Exact`].
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
            rule_changes: Vec::new(),
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
                block_bytes: None,
            },
        }
    }

    /// Checks that a chain can run with these parameters.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] names the first invalid parameter.
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
        if self.minimum_gas_price.get().is_zero() {
            return Err(ConfigError::GasPrice);
        }
        let mut last = BlockNumber::new(1);
        for change in &self.rule_changes {
            if change.block <= last {
                return Err(ConfigError::RuleChange { got: change.block, last });
            }
            let mut rules = [self.rules.scilla, change.scilla].into_iter();
            if rules.any(|rules| rules == ScillaRules::UNNAMED) {
                return Err(ConfigError::UnnamedRules);
            }
            last = change.block;
        }
        self.rules.check()
    }

    /// Returns the Scilla rules of a Tx block.
    pub fn scilla_rules(&self, block: BlockNumber) -> ScillaRules {
        RuleChange::rules_at(self.rules.scilla, &self.rule_changes, block)
    }

    /// Returns the effective numbering: only a chain that permits [edits](Self::edits) repeats logical numbers.
    pub(crate) fn numbering(&self, requested: Numbering) -> Numbering {
        if self.edits { requested } else { Numbering::EveryBlock }
    }

    /// Returns the division of the Tx blocks of this chain into DS epochs.
    ///
    /// # Errors
    ///
    /// [`ConfigError::BlocksPerDsEpoch`]: a DS epoch has fewer than two blocks.
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
    /// The rules of the generation 8.1, with the Scilla rules of Zilliqa 8.2 to 9.3.7.
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

    /// Returns the lowest charge of an executed transaction. For a deployment or call, this is at least the size
    /// charge.
    pub(crate) fn least_gas(&self, kind: TransactionKind, tx: &UnsignedTransaction) -> Gas {
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

    /// Rejects rules that this implementation does not support. The members that the function copies from `self` can
    /// have any value. All others must have the values of [`V8_1`](Self::V8_1).
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

/// Reason why a chain cannot run with the given parameters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The number of virtual shards is 0 or above the maximum.
    #[error("shards: expected 1 to {most}, got {got}")]
    Shards {
        /// The given number.
        got: u32,
        /// Maximum number of virtual shards.
        most: u32,
    },
    /// A DS epoch has fewer than two blocks.
    #[error("blocks per DS epoch: expected at least 2, got {got}")]
    BlocksPerDsEpoch {
        /// The given number.
        got: u64,
    },
    /// The gas limit of a micro block is below the gas of a payment.
    #[error("{name} gas limit: expected at least {least}, got {got}")]
    GasLimit {
        /// The kind of committee: `shard` or `DS`.
        name: &'static str,
        /// The given limit.
        got: Gas,
        /// Gas of a payment.
        least: Gas,
    },
    /// The sum of the gas limits of all micro blocks exceeds 64 bits.
    #[error("gas limits: expected a sum over all committees below 2^64, got a larger sum")]
    GasLimitSum,
    /// A change of the Scilla rules is not after the first block and after the change before.
    #[error("block of the rule change: expected a block after {last}, got {got}")]
    RuleChange {
        /// The block of the change.
        got: BlockNumber,
        /// The block of the change before, or block 1.
        last: BlockNumber,
    },
    /// The chain has rule changes, but its Scilla rules have no identifier.
    #[error("rule changes: expected Scilla rules with an identifier, got the rules of a chain without an identifier")]
    UnnamedRules,
    /// The minimum gas price is 0.
    #[error("minimum gas price: expected at least 1 Qa, got 0")]
    GasPrice,
    /// The committee has no member.
    #[error("members of the committee: expected at least 1, got 0")]
    NoMember,
    /// The committee has more members than the limit. Above the limit, a block can need more signatures than the number
    /// of members that decides it.
    #[error("members of the committee: expected at most {most}, got {got}")]
    TooManyMembers {
        /// The highest number of members.
        most: usize,
        /// The given number of members.
        got: usize,
    },
    /// A member of the committee is not the compressed form of a point, so no signature of a block verifies.
    #[error("member of the committee: expected a compressed point of secp256k1, got {key}")]
    Member {
        /// The given key.
        key: PublicKey,
    },
    /// Several members of the committee have the same key.
    #[error("members of the committee: expected different keys, got {key} twice")]
    RepeatedMember {
        /// The repeated key.
        key: PublicKey,
    },
    /// The parameter lets one node decide about blocks, but the committee has several members.
    #[error("{option}: expected off with {members} members of the committee, got on")]
    SeveralMembers {
        /// Name of the parameter.
        option: &'static str,
        /// Number of members.
        members: usize,
    },
    /// A rule of execution has a value that this implementation does not support.
    #[error("rules: expected the rules of generation 8.1, got other rules")]
    Rules,
}
