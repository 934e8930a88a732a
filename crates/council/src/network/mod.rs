//! The network file: the parameters and members that all nodes of a network share, and addresses.

mod accounts;
mod config;
mod error;
mod member;
mod parse;
mod peer;
mod table;
#[cfg(test)]
mod tests;
mod unit;
mod write;

use std::{fmt, time::Duration};

use silica_chain::{Committees, config::RuleChange, scilla::rules::Rules};
use silica_crypto::cosign;
use silica_protocol::{ChainId, Gas, GasPrice, PublicKey, Qa, Timestamp, hex, sha256};

pub use self::{
    accounts::AccountsFileError,
    error::NetworkFileError,
    member::Member,
    parse::{is_host_and_port, is_network_name},
    peer::{PeerId, PeerIdError},
};
use crate::wire::Writer;

/// The text in front of the canonical form. Another form would have another text.
const TAG: &[u8] = b"silica network v1";

/// A valid network file.
///
/// The shared part is the tables `network` and `member`. Every node of a network has the same shared part, and the hash
/// of the shared part is the [`NetworkId`]. The tables `rules-from` have the changes of the rules. A quorum of the
/// members has the same changes up to the next block. The tables `address` can differ from node to node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkFile {
    pub(self) parameters: Parameters,
    pub(self) members: Vec<Member>,
    pub(self) addresses: Vec<MemberAddress>,
}

/// A network file whose committee can be incomplete: it has any number of members from 0 to the maximum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkDraft {
    pub(self) parameters: Parameters,
    pub(self) members: Vec<Member>,
}

/// The table `network`: the parameters of the chain and of the agreement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Name of the network: 1 to 64 lower-case letters, digits and hyphens.
    pub name: String,
    /// Chain id that every transaction contains.
    pub chain_id: ChainId,
    /// Timestamp of the genesis blocks.
    pub genesis_time: Timestamp,
    /// Number of virtual shards, without the DS committee.
    pub shards: u32,
    /// Number of Tx blocks in a DS epoch, at least 2.
    pub blocks_per_ds_epoch: u64,
    /// Gas limit of the micro block of a shard.
    pub shard_gas_limit: Gas,
    /// Gas limit of the micro block of the DS committee.
    pub ds_gas_limit: Gas,
    /// Lowest minimum gas price of a DS block.
    pub minimum_gas_price: GasPrice,
    /// Coinbase reward of a vacuous block.
    pub coinbase_reward: Qa,
    /// The file with the accounts of the genesis.
    pub accounts: AccountsFile,
    /// When the committee makes blocks.
    pub blocks: BlockTiming,
    /// Maximum difference between the timestamp of a proposal and the clock of a member.
    pub drift: Duration,
    /// Time in which the proposal of round 0 has to arrive.
    pub propose_timeout: Duration,
    /// Maximum length of the canonical form of a body, in bytes.
    pub max_body: u32,
    /// Rules of the contract language from block 1 on. They do not depend on the build of a member.
    pub scilla_rules: Rules,
    /// The tables `rules-from`: changes of the rules, ascending by block. They are not part of the network id, so that
    /// the members of a running network can agree on a change.
    pub rule_changes: Vec<RuleChange>,
}

/// The file with the accounts of the genesis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountsFile {
    /// Path of the file, relative to the network file. It is not part of the network id.
    pub file: String,
    /// SHA-256 of the file.
    pub sha256: [u8; 32],
}

/// When the committee makes blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockTiming {
    /// A block at each interval, with or without transactions.
    Interval(Duration),
    /// A block when there are transactions.
    OnDemand {
        /// Longest time without a block. After this time, the members make a block without transactions.
        max_idle: Duration,
        /// Shortest time between two blocks.
        min_gap: Duration,
    },
}

/// The table `address`: how this node reaches a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberAddress {
    /// Position of the member in the committee.
    pub member: usize,
    /// Host and port of the agreement.
    pub agreement: String,
}

/// SHA-256 of the canonical form of the shared part of a network file. It is part of every digest and every vote.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NetworkId([u8; 32]);

impl NetworkId {
    /// Wraps the bytes of an id.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for NetworkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for NetworkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NetworkId({self})")
    }
}

impl NetworkFile {
    /// Returns the table `network`.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Returns the members in the order of the committee.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Returns the addresses, in the order of the file.
    pub fn addresses(&self) -> &[MemberAddress] {
        &self.addresses
    }

    /// Returns the keys of the committee in their order.
    pub fn committee(&self) -> Vec<PublicKey> {
        self.members.iter().map(|member| member.key).collect()
    }

    /// Returns the committees of the chain: all members sign all blocks.
    pub fn committees(&self) -> Committees {
        Committees::fixed(self.committee())
    }

    /// Returns the exact number of members that sign a block.
    pub fn quorum(&self) -> usize {
        cosign::quorum(self.members.len())
    }

    /// Returns the maximum number of faulty members with which the network still makes blocks. A faulty member has
    /// stopped, or sends false messages. In a network of 2 or 3 members, the number is 0.
    pub fn faults(&self) -> usize {
        self.members.len().saturating_sub(1) / 3
    }

    /// Returns the id of the network.
    pub fn id(&self) -> NetworkId {
        NetworkId(sha256(&[&self.canonical()]))
    }

    /// Returns the canonical form of the shared part. Two files have the same form if and only if all fields of the
    /// shared part have equal values. Spaces, comments, units and the order of fields do not change the form. The form
    /// contains the hash of the accounts file, and not its path.
    pub fn canonical(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.fixed(TAG);
        self.parameters.write(&mut writer);
        writer.count(self.members.len());
        for member in &self.members {
            writer.bytes(member.name.as_bytes());
            writer.fixed(member.key.as_bytes());
            writer.fixed(member.possession.as_bytes());
            writer.fixed(member.peer.as_bytes());
        }
        // The first networks had no field for the rules. They keep their ids.
        let rules = self.parameters.scilla_rules;
        if rules != Rules::V0_13_3 {
            writer.bytes(rules.to_string().as_bytes());
        }
        writer.finish()
    }
}

impl NetworkDraft {
    /// Returns the table `network`.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Returns the members in the order of the file.
    pub fn members(&self) -> &[Member] {
        &self.members
    }
}

impl Parameters {
    fn write(&self, writer: &mut Writer) {
        writer.bytes(self.name.as_bytes());
        writer.u16(self.chain_id.get());
        writer.u64(self.genesis_time.get());
        writer.u32(self.shards);
        writer.u64(self.blocks_per_ds_epoch);
        writer.u64(self.shard_gas_limit.get());
        writer.u64(self.ds_gas_limit.get());
        writer.fixed(&self.minimum_gas_price.get().to_be_bytes());
        writer.fixed(&self.coinbase_reward.to_be_bytes());
        writer.fixed(&self.accounts.sha256);
        match self.blocks {
            BlockTiming::Interval(interval) => {
                writer.u8(0);
                writer.u64(milliseconds(interval));
            }
            BlockTiming::OnDemand { max_idle, min_gap } => {
                writer.u8(1);
                writer.u64(milliseconds(max_idle));
                writer.u64(milliseconds(min_gap));
            }
        }
        writer.u64(milliseconds(self.drift));
        writer.u64(milliseconds(self.propose_timeout));
        writer.u32(self.max_body);
    }
}

/// Returns the whole milliseconds of a duration of the file, which has at most one hour.
fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
