//! Check and rebuild of a data directory that no node uses.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
};

use silica_chain::{
    BalanceError, ChainConfig, Committees, Genesis, GenesisError, ReplayError, consensus::range_signer,
};
use silica_crypto::KeyPair;
use silica_protocol::{BlockNumber, StateRoot};
use silica_state::{CheckReport, CloseError, Durability, OpenError, OpenOutcome, StateError, Store, StoreOptions};

use crate::{
    data_dir::{DataDir, DataDirError, Manifest, remedy},
    progress::Progress,
};

/// Reason why a data directory was not checked or rebuilt, or the first fault of its content.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MaintenanceError {
    /// The data directory cannot be used.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The accounts file of the genesis block is invalid.
    #[error("the genesis accounts are invalid")]
    Accounts(#[from] GenesisError),
    /// The store failed to open.
    #[error("cannot open the chain in {}{}", path.display(), remedy(source))]
    Open {
        /// Path of the data directory or of the store.
        path: PathBuf,
        /// The fault of the store.
        source: OpenError,
    },
    /// The state is lost.
    #[error("the derived state is lost: {reason}; run `silica db rebuild` or start the node to rebuild it")]
    StateLost {
        /// The fault of the state.
        reason: String,
    },
    /// A stored value is damaged.
    #[error("the store is damaged")]
    Check(#[source] StateError),
    /// The result of the repeated execution of a block differs from the record.
    #[error("the chain is damaged")]
    Replay(#[from] ReplayError),
    /// A balance differs from the sum of the transfers in the record.
    #[error("the balances differ from the record")]
    Balances(#[from] BalanceError),
    /// The store cannot be closed without an error.
    #[error("cannot close the chain")]
    Close(#[from] CloseError),
    /// The temporary directory for the repeated execution of the blocks cannot be used.
    #[error("cannot use {}", path.display())]
    Scratch {
        /// Path of the temporary directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// The result of a check or rebuild without faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DbReport {
    /// The counts of the check; `None` after a rebuild.
    pub check: Option<CheckReport>,
    /// Number of the latest Tx block; `None` if the chain has no block.
    pub latest: Option<BlockNumber>,
    /// Root of the state after the latest Tx block; zero without a block.
    pub state_root: StateRoot,
}

impl MaintenanceError {
    /// Returns a function that converts an error from opening the store at `path`.
    fn open(path: &Path) -> impl FnOnce(OpenError) -> Self {
        let path = path.to_owned();
        |source| Self::Open { path, source }
    }
}

impl fmt::Display for DbReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { check, latest, state_root } = self;
        match latest {
            Some(latest) => write!(f, "latest block {latest}, state root {state_root}")?,
            None => write!(f, "no block yet")?,
        }
        if let Some(CheckReport { record, accounts, index_entries, .. }) = check {
            write!(
                f,
                "\nclean: {} Tx blocks, {} DS blocks and {} transactions verified and executed again, {accounts} accounts, \
                 {index_entries} entries of the history index",
                record.tx_blocks, record.ds_blocks, record.transactions
            )?;
        }
        Ok(())
    }
}

/// Verifies the content of a data directory: checksums, hashes, links and signatures. Then executes all blocks again,
/// and compares the results. Then adds up the transfers of each account, and compares the sums with the balances.
///
/// # Errors
///
/// [`MaintenanceError`]: the directory cannot be used, or its content has a fault. The error has the first fault.
pub fn check_db(path: &Path) -> Result<DbReport, MaintenanceError> {
    let chain = ChainFiles::open(path)?;
    let store = chain.open_whole_store()?;
    let report = check_store(&store)?;
    if store.snapshot().head().is_some() {
        chain.execute_again(&store)?;
        chain.add_up(&store)?;
    }
    Ok(report)
}

/// Verifies the content of a store, but does not execute its blocks.
pub(crate) fn check_store(store: &Store) -> Result<DbReport, MaintenanceError> {
    let mut progress = Progress::new("checking the stored blocks");
    let report = store.check(&mut |done, all| progress.log(done, all)).map_err(MaintenanceError::Check)?;
    Ok(DbReport { check: Some(report), ..summary(store) })
}

/// Recreates the state of a data directory from its blocks.
///
/// # Errors
///
/// [`MaintenanceError`]: the directory cannot be used, or its blocks are damaged.
pub fn rebuild_db(path: &Path) -> Result<DbReport, MaintenanceError> {
    let chain = ChainFiles::open(path)?;
    // Keep a readable state if the present rules cannot execute the blocks, because a rebuild could not replace this
    // state.
    match chain.open_whole_store() {
        Ok(store) => silica_chain::check_rules(&store, chain.config.rules.scilla).map_err(ReplayError::from)?,
        Err(MaintenanceError::StateLost { .. } | MaintenanceError::Open { source: OpenError::Damaged { .. }, .. }) => {}
        Err(error) => return Err(error),
    }
    Store::discard_state(&chain.data_dir.store()).map_err(MaintenanceError::open(path))?;
    let store = chain.build_state()?;
    let report = summary(&store);
    store.close()?;
    Ok(report)
}

fn summary(store: &Store) -> DbReport {
    let snapshot = store.snapshot();
    let head = snapshot.head();
    DbReport {
        check: None,
        latest: head.map(|head| head.number),
        state_root: head.map_or(StateRoot::ZERO, |head| head.state_root),
    }
}

/// The files of a data directory, without its store.
pub(crate) struct ChainFiles {
    pub(crate) data_dir: DataDir,
    pub(crate) manifest: Manifest,
    config: ChainConfig,
    genesis: Genesis,
    key: KeyPair,
    committees: Committees,
}

impl ChainFiles {
    pub(crate) fn open(path: &Path) -> Result<Self, MaintenanceError> {
        let data_dir = DataDir::open(path)?;
        let empty = || DataDirError::Empty { path: path.to_owned() };
        let manifest = data_dir.manifest()?.ok_or_else(empty)?;
        let genesis = Genesis::from_accounts_json(&data_dir.accounts(&manifest)?)?;
        let key = data_dir.key(&manifest)?;
        let (config, committees) = match data_dir.network(&manifest)? {
            Some(network) => (network.parameters().chain_config(), network.committees()),
            None => (manifest.chain_config(), key.public_key().into()),
        };
        Ok(Self { data_dir, manifest, config, genesis, key, committees })
    }

    /// Opens a store whose blocks and state are complete. A store without state is an error.
    pub(crate) fn open_whole_store(&self) -> Result<Store, MaintenanceError> {
        let store = self.open_store(StoreOptions { repair: false, ..StoreOptions::default() })?;
        self.data_dir.check_not_lost(&self.manifest, &store)?;
        if let OpenOutcome::NeedsReplay { reason, .. } = store.outcome() {
            return Err(MaintenanceError::StateLost { reason: reason.clone() });
        }
        Ok(store)
    }

    /// Opens a store. If its state is lost, executes the blocks to compute the state.
    pub(crate) fn build_state(&self) -> Result<Store, MaintenanceError> {
        let store = self.open_store(StoreOptions::default())?;
        self.data_dir.check_not_lost(&self.manifest, &store)?;
        let mut progress = Progress::new("executing blocks again");
        let mut log = |number: BlockNumber, last: BlockNumber| progress.log(number.get(), last.get());
        let Self { config, genesis, committees, .. } = self;
        silica_chain::rebuild(&store, config.clone(), genesis, committees.clone(), &mut log)?;
        Ok(store)
    }

    fn open_store(&self, options: StoreOptions) -> Result<Store, MaintenanceError> {
        let mut progress = Progress::new("indexing blocks again");
        let opened =
            Store::open_with_progress(&self.data_dir.store(), options, &mut |done, all| progress.log(done, all));
        let store = opened.map_err(MaintenanceError::open(self.data_dir.path()))?;
        if self.manifest.network.is_none() {
            store.set_signer(range_signer(&self.key));
        }
        silica_chain::set_balance_rules(&store, &self.config, &self.genesis, self.committees.clone())
            .map_err(BalanceError::from)?;
        Ok(store)
    }

    /// Compares all balances with the sums of the transfers.
    fn add_up(&self, store: &Store) -> Result<(), MaintenanceError> {
        let mut progress = Progress::new("adding up the transfers");
        let mut log = |number: BlockNumber, last: BlockNumber| progress.log(number.get(), last.get());
        let Self { config, genesis, committees, .. } = self;
        Ok(silica_chain::check_balances(store, config, genesis, committees.clone(), &mut log)?)
    }

    /// Executes all blocks in a temporary store, and then removes that store.
    fn execute_again(&self, store: &Store) -> Result<(), MaintenanceError> {
        let path = self.data_dir.scratch();
        let unusable = |source| MaintenanceError::Scratch { path: path.clone(), source };
        let clear = || match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unusable(error)),
            _ => Ok(()),
        };
        clear()?;
        let options = StoreOptions { durability: Durability::Relaxed, ..StoreOptions::default() };
        let scratch = Store::open(&path, options).map_err(MaintenanceError::open(&path))?;
        let mut progress = Progress::new("executing blocks again");
        let mut log = |number: BlockNumber, last: BlockNumber| progress.log(number.get(), last.get());
        let Self { config, genesis, committees, .. } = self;
        let checked = silica_chain::check(store, &scratch, config.clone(), genesis, committees.clone(), &mut log);
        drop(scratch);
        clear()?;
        checked?;
        Ok(())
    }
}
