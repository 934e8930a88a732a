//! Opening a chain: the genesis blocks in an empty store, or the newest block of one that is not.
//!
//! The time to open a chain does not depend on its length: only the newest blocks are read. If the store has lost its
//! state, the blocks are executed again.

use std::sync::Arc;

use silica_protocol::{CoSignatures, DsBlock, DsBlockHeader, PublicKey, Timestamp, TxBlock};
use silica_state::{BlockRecord, Snapshot, StateDiff, Store};

use crate::{
    config::ChainConfig,
    epoch_accounting::FullBlockCounter,
    genesis::{Genesis, genesis_header},
    handle::Chain,
    load::{OpenError, read_published},
    network::Network,
    producer::{Producer, Written},
    replay, scilla_rules,
    shared::Shared,
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
    let full_blocks = FullBlockCounter::uncounted(&published.head);
    let shared = Arc::new(Shared::new(network, published));
    let (chain, genesis, written) = (Chain::new(Arc::clone(&shared)), genesis.clone(), Written::default());
    // No block is made before there is room for it.
    let failed = store.lacks_room();
    Ok((chain, Producer { shared, store, genesis, full_blocks, written, failed }))
}

/// Commits DS block 0 and Tx block 0, whose state root is that of the genesis accounts.
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
