//! Opens a chain: writes the genesis blocks to an empty store, or reads the newest blocks of a store with a chain.
//!
//! The time of an opening does not depend on the length of the chain, because the function reads only a few blocks. If
//! the store has lost its state, the function executes the blocks again.

use std::sync::Arc;

use silica_protocol::{PublicKey, Timestamp};
use silica_state::{BlockRecord, Snapshot, StateDiff, Store};

use crate::{
    balance_rules,
    committee::Committees,
    config::ChainConfig,
    epoch_accounting::FullBlockCounter,
    genesis::Genesis,
    handle::Chain,
    load::{OpenError, read_published},
    network::Network,
    producer::{Producer, Written},
    replay, scilla_rules,
    shared::Shared,
};

/// Opens the chain in `store`. If the store is empty, creates a chain with `genesis` and the genesis time `now`.
///
/// `committees` has the keys that verify the blocks. A single node passes its public key. If the store [lacks
/// room](Store::lacks_room), the producer [has failed](Producer::has_failed), and the chain can only be read.
///
/// # Errors
///
/// [`OpenError`]: the parameters are invalid, the parameters or the key of the chain differ from the arguments, or the
/// store could not be read or written.
pub fn open(
    store: Store,
    config: ChainConfig,
    genesis: &Genesis,
    committees: impl Into<Committees>,
    now: Timestamp,
) -> Result<(Chain, Producer), OpenError> {
    let network = Network::new(config, committees.into())?;
    scilla_rules::keep(&store, &network.config)?;
    replay::catch_up(&store, &network, genesis, &mut |_, _| {})?;
    let state = store.snapshot();
    let state = match state.head() {
        Some(_) => state,
        None => write_genesis(&store, genesis, network.committees.of_genesis().first(), now)?,
    };
    let published = read_published(state, &network)?;
    let full_blocks = FullBlockCounter::uncounted(&published.head);
    let genesis = Arc::new(genesis.clone());
    balance_rules::set(&store, &genesis, network.epochs, network.committees.clone());
    let shared = Arc::new(Shared::new(network, genesis, published));
    let (chain, written) = (Chain::new(Arc::clone(&shared)), Written::default());
    // The producer makes no block before the disk has room for it.
    let failed = store.lacks_room();
    Ok((chain, Producer { shared, store, full_blocks, written, failed }))
}

/// Commits DS block 0 and Tx block 0. The header of Tx block 0 has the state root of the genesis accounts.
fn write_genesis(store: &Store, genesis: &Genesis, member: PublicKey, now: Timestamp) -> Result<Snapshot, OpenError> {
    let diff = StateDiff { accounts: genesis.accounts().clone(), ..StateDiff::default() };
    let state = store.extend(store.prepare(), &diff)?;
    let record = BlockRecord::genesis(state.root(), member, now);
    store.commit(&record, state).map_err(OpenError::Commit)
}
