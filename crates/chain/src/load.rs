//! Reads the head of a stored chain, and checks that the chain belongs to this network.
//!
//! The time of this read does not depend on the length of the chain, because the module reads only a few blocks.

use std::sync::Arc;

use silica_crypto::{CoSignatureError, cosign};
use silica_protocol::{BlockNumber, CoSignatures, CommitteeHash, DsBlock, DsBlockNumber, Gas, PublicKey, TxBlock};
use silica_state::{ArchiveError, Snapshot, StateError};

use crate::{
    committee::Committee,
    config::{ConfigError, Policy},
    network::{Head, Network},
    replay::ReplayError,
    scilla_rules::RulesError,
    shared::{Derived, Published, RECENT, Times},
};

/// Reads the published head of a chain that ends with the newest block of `state`.
pub(crate) fn read_published(state: Snapshot, network: &Network) -> Result<Published, OpenError> {
    let head = read_head(&state, network)?;
    let times = read_times(&state, &head)?;
    let recent = state.recent_transactions(RECENT)?.into();
    let operator_price = network.config.policy.operator_price.filter(|_| network.config.operator_price);
    let floor_price = network.config.minimum_gas_price;
    let Policy { nonces, numbering, .. } = network.config.policy;
    let numbering = network.config.numbering(numbering);
    let (reverts, derived) = (Arc::default(), Derived::default());
    Ok(Published { head, state, reverts, times, recent, nonces, numbering, operator_price, floor_price, derived })
}

/// Reads the newest blocks, and checks their network, their links and their signatures.
fn read_head(state: &Snapshot, network: &Network) -> Result<Head, OpenError> {
    let number = state.head().map_or(BlockNumber::new(0), |head| head.number);
    let missing = |what| OpenError::Head { number, what };
    let head = Head::read(state, number)?.ok_or(missing("the block or its DS block is missing"))?;
    let Head { tx_block, ds_block, .. } = &head;
    check_network(tx_block, ds_block, network)?;
    check_signed(tx_block, ds_block, network)?;
    if let Some(previous) = number.previous() {
        let previous = state.tx_header(previous)?.ok_or(missing("the previous block is missing"))?;
        if previous.hash() != tx_block.header.prev_hash {
            return Err(missing("the previous hash differs from the hash of the previous block"));
        }
    }
    Ok(head)
}

fn check_network(tx_block: &TxBlock, ds_block: &DsBlock, network: &Network) -> Result<(), OpenError> {
    let Network { config, epochs, committees, .. } = network;
    let header = &tx_block.header;
    let (stored, committee) = (ds_block.header.leader, committees.of(header.ds_block));
    if !committee.keys().contains(&stored) {
        return Err(OpenError::Key { stored, configured: committee.first() });
    }
    if header.number.get() == 0 {
        return Ok(());
    }
    let compare = |name, stored: String, configured: String| {
        if stored == configured { Ok(()) } else { Err(OpenError::Parameter { name, stored, configured }) }
    };
    let (stored, configured) = (header.committee_hash, CommitteeHash::of(committee.keys()));
    compare("a committee hash of", stored.to_string(), configured.to_string())?;
    let shards = tx_block.micro_blocks.len().saturating_sub(1);
    compare("a number of shards of", shards.to_string(), config.shards.to_string())?;
    compare("a DS block number of", header.ds_block.to_string(), epochs.ds_block_of(header.number).to_string())?;
    let gas_limit = config.shard_gas_limit.get().saturating_mul(u64::from(config.shards));
    let gas_limit = Gas::new(gas_limit.saturating_add(config.ds_gas_limit.get()));
    compare("a gas limit of", header.gas_limit.to_string(), gas_limit.to_string())
}

fn check_signed(tx_block: &TxBlock, ds_block: &DsBlock, network: &Network) -> Result<(), OpenError> {
    let number = tx_block.header.number;
    if number.get() == 0 {
        return Ok(());
    }
    let committees = &network.committees;
    let verify = |cosignatures: &CoSignatures, header: &[u8], committee: &Committee| {
        let verified = cosign::verify(cosignatures, header, committee.keys());
        verified.map_err(|source| OpenError::Signature { number, source })
    };
    verify(&tx_block.cosignatures, &tx_block.header.encode(), committees.of(tx_block.header.ds_block))?;
    verify(&ds_block.cosignatures, &ds_block.header.encode(), committees.signers_of(ds_block.header.number))
}

fn read_times(state: &Snapshot, head: &Head) -> Result<Times, OpenError> {
    let Some(previous) = head.number().previous() else { return Ok(Times::default()) };
    Ok(Times {
        first_tx: state.time_of(BlockNumber::new(1))?,
        previous_tx: state.time_of(previous)?,
        first_ds: state.ds_block(DsBlockNumber::new(1))?.map(|block| block.timestamp),
    })
}

/// Reason why a chain could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The chain cannot run with these parameters.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The Scilla rules of the chain differ from the configuration, or could not be read or written.
    #[error(transparent)]
    Rules(#[from] RulesError),
    /// A parameter of the newest block differs from the configuration.
    #[error("the chain in the data directory has {name} {stored}, but the configuration requires {configured}")]
    Parameter {
        /// Name of the parameter.
        name: &'static str,
        /// The value in the newest block.
        stored: String,
        /// The value in the configuration.
        configured: String,
    },
    /// Another key signed the chain in the store.
    #[error("the chain in the data directory is signed by {stored}, but the key of this node is {configured}")]
    Key {
        /// Key of the chain.
        stored: PublicKey,
        /// Key of this node.
        configured: PublicKey,
    },
    /// The newest block or its predecessor is missing, or the newest block does not contain the hash of its
    /// predecessor.
    #[error("block {number} in the data directory: {what}")]
    Head {
        /// Number of the block.
        number: BlockNumber,
        /// Text that names the fault.
        what: &'static str,
    },
    /// The signature of the newest block is invalid.
    #[error("failed to verify the signature of block {number} in the data directory")]
    Signature {
        /// Number of the block.
        number: BlockNumber,
        /// The error of the verification.
        source: CoSignatureError,
    },
    /// A read or the computation of the state failed.
    #[error("failed to read state")]
    State(#[from] StateError),
    /// A read of blocks failed.
    #[error("failed to read blocks")]
    Archive(#[from] ArchiveError),
    /// A write of the genesis failed.
    #[error("failed to write the genesis block")]
    Commit(#[source] silica_state::CommitError),
    /// The repeated execution of the blocks failed after a loss of the state. A build with other rules of execution may
    /// have produced the blocks.
    #[error("failed to execute the blocks again with the rules of this version")]
    Replay(#[from] ReplayError),
}
