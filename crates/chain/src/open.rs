//! Opening a chain: the genesis blocks in an empty store, or the newest block of one that is not.
//!
//! Nothing here takes longer the longer the chain: only its newest blocks are looked at, unless the store lost its state
//! and has to execute blocks again.

use std::sync::Arc;

use silica_crypto::cosign;
use silica_protocol::{
    BlockNumber, CoSignatures, DsBlock, DsBlockHeader, DsBlockNumber, Gas, PublicKey, Timestamp, TxBlock,
};
use silica_state::{BlockRecord, Snapshot, StateDiff, Store};

use crate::{
    config::{ChainConfig, Policy},
    error::OpenError,
    genesis::{Genesis, genesis_header},
    handle::Chain,
    network::{Head, Network},
    producer::{Producer, Written},
    replay, scilla_rules,
    shared::{Published, RECENT, Shared, Times},
    terms::FullBlocks,
};

/// Opens the chain in `store`, or begins one with `genesis` and the genesis time `now` if the store is empty.
///
/// `member` is the key of the only member of all committees, under which blocks verify. If the store
/// [lacks room](Store::lacks_room), the producer [has failed](Producer::has_failed), and the chain can be read.
///
/// # Errors
///
/// [`OpenError`]: the parameters or the key are not those of the chain, or the store could not be read or written.
pub fn open(
    store: Store,
    config: ChainConfig,
    genesis: &Genesis,
    member: PublicKey,
    now: Timestamp,
) -> Result<(Chain, Producer), OpenError> {
    let network = Network::new(config, member)?;
    scilla_rules::keep(&store, network.config.rules.scilla)?;
    replay::catch_up(&store, &network, genesis, &mut |_, _| {})?;
    let state = store.snapshot();
    let state = match state.head() {
        Some(_) => state,
        None => write_genesis(&store, genesis, member, now)?,
    };
    let published = read_published(state, &network)?;
    let full_blocks = FullBlocks::uncounted(&published.head);
    let shared = Arc::new(Shared::new(network, published));
    let (chain, genesis, written) = (Chain::new(Arc::clone(&shared)), genesis.clone(), Written::default());
    // No block is made before there is room for it.
    let failed = store.lacks_room();
    Ok((chain, Producer { shared, store, genesis, full_blocks, written, failed }))
}

/// Reads what readers see of a chain that ends with the newest block of `state`.
pub(crate) fn read_published(state: Snapshot, network: &Network) -> Result<Published, OpenError> {
    let head = read_head(&state, network)?;
    let times = read_times(&state, &head)?;
    let recent = state.recent_transactions(RECENT)?.into();
    let operator_price = network.config.policy.operator_price.filter(|_| network.config.operator_price);
    let floor_price = network.config.minimum_gas_price;
    let Policy { nonces, numbering, .. } = network.config.policy;
    let numbering = network.config.numbering(numbering);
    Ok(Published { head, state, times, recent, nonces, numbering, operator_price, floor_price })
}

/// Commits DS block 0 and Tx block 0, whose state root is that of the first accounts.
fn write_genesis(store: &Store, genesis: &Genesis, member: PublicKey, now: Timestamp) -> Result<Snapshot, OpenError> {
    let state = store.prepare(StateDiff { accounts: genesis.accounts().clone(), ..StateDiff::default() })?;
    let header = genesis_header(member, state.root());
    let record = BlockRecord {
        tx_block: TxBlock { header, micro_blocks: Vec::new(), cosignatures: CoSignatures::unsigned(1), timestamp: now },
        micro_blocks: Vec::new(),
        ds_block: Some(DsBlock {
            header: DsBlockHeader::genesis(member),
            cosignatures: CoSignatures::unsigned(1),
            timestamp: now,
        }),
        transactions: Vec::new(),
        edits: StateDiff::default(),
        repeats_number: false,
    };
    store.commit(&record, state).map_err(OpenError::Commit)
}

/// Reads the newest blocks and checks that they are this network's, linked and signed.
fn read_head(state: &Snapshot, network: &Network) -> Result<Head, OpenError> {
    let number = state.head().map_or(BlockNumber::new(0), |head| head.number);
    let missing = |what| OpenError::Head { number, what };
    let head = Head::read(state, number)?.ok_or(missing("or its DS block is missing"))?;
    let Head { tx_block, ds_block, .. } = &head;
    check_network(tx_block, ds_block, network)?;
    check_signed(tx_block, ds_block, network)?;
    if let Some(previous) = number.previous() {
        let previous = state.tx_header(previous)?.ok_or(missing("the block before it is missing"))?;
        if previous.hash() != tx_block.header.prev_hash {
            return Err(missing("is not linked to the block before it"));
        }
    }
    Ok(head)
}

fn check_network(tx_block: &TxBlock, ds_block: &DsBlock, network: &Network) -> Result<(), OpenError> {
    let Network { config, epochs, member, .. } = network;
    let header = &tx_block.header;
    if ds_block.header.leader != *member {
        return Err(OpenError::Key { stored: ds_block.header.leader, asked: *member });
    }
    if header.number.get() == 0 {
        return Ok(());
    }
    let compare = |name, stored: String, asked: String| {
        if stored == asked { Ok(()) } else { Err(OpenError::Parameter { name, stored, asked }) }
    };
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
    let verify = |cosignatures: &CoSignatures, header: &[u8]| {
        cosign::verify(cosignatures, header, &[network.member])
            .map_err(|source| OpenError::Signature { number, source })
    };
    verify(&tx_block.cosignatures, &tx_block.header.encode())?;
    verify(&ds_block.cosignatures, &ds_block.header.encode())
}

fn read_times(state: &Snapshot, head: &Head) -> Result<Times, OpenError> {
    let Some(previous) = head.number().previous() else { return Ok(Times::default()) };
    Ok(Times {
        first_tx: state.time_of(BlockNumber::new(1))?,
        previous_tx: state.time_of(previous)?,
        first_ds: state.ds_block(DsBlockNumber::new(1))?.map(|block| block.timestamp),
    })
}
