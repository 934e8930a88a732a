//! Check and rebuild of a data directory that no node uses.

mod error;
mod progress_file;
#[cfg(test)]
mod tests;

use std::{
    fmt, fs, io,
    path::Path,
    time::{Duration, Instant},
};

use silica_chain::{BalanceError, ChainConfig, Committees, Genesis, ReplayError, consensus::range_signer};
use silica_crypto::KeyPair;
use silica_protocol::{BlockNumber, StateRoot};
use silica_state::{CheckReport, CheckedBlocks, Durability, OpenError, OpenOutcome, Snapshot, Store, StoreOptions};

pub use self::error::MaintenanceError;
use self::progress_file::CheckProgress;
use crate::{
    data_dir::{DataDir, Manifest},
    progress::Progress,
};

/// Time between two writes of the progress of a check.
const SAVED_EACH: Duration = Duration::from_secs(10);

/// The blocks that an earlier check has verified, for a check that continues the earlier check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Continued {
    /// The last block whose data the earlier check verified; `None` if it verified no block.
    pub verified: Option<BlockNumber>,
    /// The last block that the earlier check executed again; `None` if it executed no block.
    pub executed: Option<BlockNumber>,
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
    /// The work of an earlier check that this check did not repeat; `None` for a check from the first block.
    pub continued: Option<Continued>,
}

impl fmt::Display for DbReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { check, latest, state_root, continued } = self;
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
        if let Some(Continued { verified, executed }) = continued {
            let up_to = |block: &Option<BlockNumber>| block.map_or("none".to_owned(), |block| format!("up to {block}"));
            let (verified, executed) = (up_to(verified), up_to(executed));
            write!(f, "\ncontinued: an earlier check verified these blocks: {verified}; executed again: {executed}")?;
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
    Check { is_continued: false, each: SAVED_EACH, step: &mut || {} }.run(path)
}

/// Verifies a data directory like [`check_db`], but not the blocks that an earlier check has verified. The earlier
/// check was interrupted, or was a call of this function. The directory `check` keeps the progress and a second copy of
/// the chain, also after the check.
///
/// Damage of these blocks since the earlier check can remain unnoticed. Without an earlier check of this chain, the
/// function verifies all blocks, and logs the reason.
///
/// # Errors
///
/// The errors of [`check_db`].
pub fn continue_db_check(path: &Path) -> Result<DbReport, MaintenanceError> {
    Check { is_continued: true, each: SAVED_EACH, step: &mut || {} }.run(path)
}

/// A check of a data directory.
struct Check<'a> {
    /// Whether the check continues an earlier check, and keeps its own progress.
    is_continued: bool,
    /// Time between two writes of the progress.
    each: Duration,
    /// A function that the check calls after each step. Tests interrupt the check with this function.
    step: &'a mut dyn FnMut(),
}

impl Check<'_> {
    fn run(mut self, path: &Path) -> Result<DbReport, MaintenanceError> {
        let chain = ChainFiles::open(path)?;
        let store = chain.open_whole_store()?;
        let checked = self.check(&chain, &store);
        if !self.is_continued {
            chain.clear_scratch()?;
        }
        checked
    }

    fn check(&mut self, chain: &ChainFiles, store: &Store) -> Result<DbReport, MaintenanceError> {
        if store.snapshot().head().is_none() {
            return check_store(store);
        }
        let (mut progress, scratch) = self.begin(chain, store)?;
        let executed = scratch.snapshot().head().map(|head| head.number);
        let verified = progress.record.last();
        let continued = (verified.is_some() || executed.is_some()).then_some(Continued { verified, executed });
        let report = self.verify(chain, store, &mut progress)?;
        save(&progress, chain, store);
        // The scratch store has the balances of the last check without a fault only if no later check was interrupted.
        let base = executed.filter(|_| executed == progress.clean).map(|_| scratch.snapshot());
        if base.is_some() {
            self.add_up(chain, store, base.as_ref())?;
        }
        self.execute_again(chain, store, &scratch)?;
        if base.is_none() {
            self.add_up(chain, store, None)?;
        }
        if self.is_continued {
            scratch.close()?;
            progress.clean = progress.record.last();
            progress.write(&chain.data_dir, store)?;
        }
        Ok(DbReport { check: Some(report), continued, ..summary(store) })
    }

    /// Returns the progress of the earlier check with its scratch store. Without such a check, removes the files of
    /// earlier checks, and returns an empty scratch store.
    fn begin(&self, chain: &ChainFiles, store: &Store) -> Result<(CheckProgress, Store), MaintenanceError> {
        if self.is_continued {
            match CheckProgress::read(&chain.data_dir, store)? {
                Err(reason) => tracing::warn!(reason, "the check begins with block 0"),
                Ok(progress) => match chain.open_scratch() {
                    Ok(scratch) if is_part_of(&scratch, store)? => return Ok((progress, scratch)),
                    Ok(_) => tracing::warn!("the check begins with block 0: the store in check/ has another chain"),
                    Err(MaintenanceError::Open { source, .. }) if source.is_loss() => {
                        let error = &source as &dyn std::error::Error;
                        tracing::warn!(error, "the check begins with block 0: the store in check/ is damaged");
                    }
                    // The next check can succeed, for example after a full disk.
                    Err(error) => return Err(error),
                },
            }
        }
        chain.clear_scratch()?;
        Ok((CheckProgress::default(), chain.open_scratch()?))
    }

    /// Verifies the blocks after those of `progress`, the indexes and the state.
    fn verify(
        &mut self,
        chain: &ChainFiles,
        store: &Store,
        progress: &mut CheckProgress,
    ) -> Result<CheckReport, MaintenanceError> {
        let mut log = Progress::new("checking the stored blocks");
        let first_indexed = progress.clean.and_then(BlockNumber::next).unwrap_or(BlockNumber::new(0));
        let from = progress.record;
        let mut saved = Instant::now();
        let mut step = |checked: &CheckedBlocks, all| {
            log.log(checked.blocks, all);
            progress.record = *checked;
            if saved.elapsed() >= self.each {
                save(progress, chain, store);
                saved = Instant::now();
            }
            (self.step)();
        };
        store.check_after(from, first_indexed, &mut step).map_err(MaintenanceError::Check)
    }

    /// Compares all balances with the sums of the transfers: of all transfers, or of those after `since`.
    fn add_up(&mut self, chain: &ChainFiles, store: &Store, since: Option<&Snapshot>) -> Result<(), MaintenanceError> {
        let mut progress = Progress::new("adding up the transfers");
        let mut log = |number: BlockNumber, last: BlockNumber| {
            progress.log(number.get(), last.get());
            (self.step)();
        };
        let ChainFiles { config, genesis, committees, .. } = chain;
        let committees = committees.clone();
        Ok(silica_chain::check_balances(store, config, genesis, committees, since, &mut log)?)
    }

    /// Executes again the blocks that the scratch store does not have.
    fn execute_again(&mut self, chain: &ChainFiles, store: &Store, scratch: &Store) -> Result<(), MaintenanceError> {
        let mut progress = Progress::new("executing blocks again");
        let mut log = |number: BlockNumber, last: BlockNumber| {
            progress.log(number.get(), last.get());
            (self.step)();
        };
        let ChainFiles { config, genesis, committees, .. } = chain;
        silica_chain::check(store, scratch, config.clone(), genesis, committees.clone(), &mut log)?;
        Ok(())
    }
}

/// Writes the progress of an unfinished check. After an error, the check continues, because it does not need this file.
fn save(progress: &CheckProgress, chain: &ChainFiles, store: &Store) {
    if let Err(error) = progress.write(&chain.data_dir, store) {
        let error = &error as &dyn std::error::Error;
        tracing::warn!(
            error,
            "failed to write the progress of the check; after an interruption, the next check repeats the blocks after \
             the stored progress"
        );
    }
}

/// Returns whether the newest block of `scratch` is in `store`, or `scratch` is empty.
fn is_part_of(scratch: &Store, store: &Store) -> Result<bool, MaintenanceError> {
    let snapshot = scratch.snapshot();
    let Some(head) = snapshot.head() else { return Ok(true) };
    let hash = store.snapshot().hash_of(head.number).map_err(|error| MaintenanceError::Check(error.into()))?;
    let is_whole = !matches!(scratch.outcome(), OpenOutcome::NeedsReplay { .. });
    Ok(is_whole && hash == Some(head.hash))
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
        Ok(store) => silica_chain::check_rules(&store, &chain.config).map_err(ReplayError::from)?,
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
        continued: None,
    }
}

/// The files of a data directory, without its store.
pub(crate) struct ChainFiles {
    pub(crate) data_dir: DataDir,
    pub(crate) manifest: Manifest,
    config: ChainConfig,
    genesis: Genesis,
    /// The key of a single node; `None` for the chain of a network, whose members sign blocks together.
    key: Option<KeyPair>,
    committees: Committees,
}

impl ChainFiles {
    pub(crate) fn open(path: &Path) -> Result<Self, MaintenanceError> {
        let data_dir = DataDir::open(path)?;
        let manifest = data_dir.manifest_of_chain()?;
        let genesis = Genesis::from_accounts_json(&data_dir.accounts(&manifest)?)?;
        let (config, committees, key) = if let Some(network) = data_dir.network(&manifest)? {
            (network.parameters().chain_config(), network.committees(), None)
        } else {
            let key = data_dir.key(&manifest)?;
            (manifest.chain_config(), key.public_key().into(), Some(key))
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
        let mut progress = Progress::new("converting or indexing the chain");
        let opened =
            Store::open_with_progress(&self.data_dir.store(), options, &mut |done, all| progress.log(done, all));
        let store = opened.map_err(MaintenanceError::open(self.data_dir.path()))?;
        if let Some(key) = &self.key {
            store.set_signer(range_signer(key));
        }
        silica_chain::set_balance_rules(&store, &self.config, &self.genesis, self.committees.clone())
            .map_err(BalanceError::from)?;
        Ok(store)
    }

    /// Opens the temporary store for the repeated execution of the blocks.
    fn open_scratch(&self) -> Result<Store, MaintenanceError> {
        let path = self.data_dir.scratch().join(SCRATCH_STORE);
        let options = StoreOptions { durability: Durability::Relaxed, ..StoreOptions::default() };
        Store::open(&path, options).map_err(MaintenanceError::open(&path))
    }

    /// Removes the temporary files of checks.
    fn clear_scratch(&self) -> Result<(), MaintenanceError> {
        let path = self.data_dir.scratch();
        match fs::remove_dir_all(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(MaintenanceError::Scratch { path, source }),
            _ => Ok(()),
        }
    }
}

/// The name of the temporary store in the directory of a check.
const SCRATCH_STORE: &str = "store";
