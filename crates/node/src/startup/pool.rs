//! Storage of the pool between a stop and the next start.

use silica_chain::{Chain, PoolImport};

use super::{StartError, StopError};
use crate::{
    clock,
    data_dir::{DataDir, LONGEST_POOL},
    driver::NodeHandle,
};

/// Adds the transactions that were pending at the last stop to the pool. Their file stays, because the start can still
/// fail: see [`remove_pool`].
pub(super) fn import_pool(data_dir: Option<&DataDir>, chain: &Chain) -> Result<(), StartError> {
    let Some(data_dir) = data_dir else { return Ok(()) };
    let Some(bytes) = data_dir.load_pool()? else { return Ok(()) };
    match chain.import_pool(&bytes, clock::now()) {
        Ok(PoolImport { admitted, refused, damaged: 0 }) => {
            tracing::info!(admitted, refused, "loaded the pending transactions of the last run");
        }
        Ok(PoolImport { admitted, refused, damaged }) => {
            tracing::warn!(admitted, refused, damaged, "the pool file is damaged; some pending transactions are lost");
        }
        Err(error) => tracing::warn!(%error, "failed to load the pool file; its pending transactions are lost"),
    }
    Ok(())
}

/// Removes the file of the pending transactions, if it exists.
pub(super) fn remove_pool(data_dir: &DataDir) {
    if let Err(error) = data_dir.remove_pool() {
        let error = &error as &dyn std::error::Error;
        tracing::warn!(error, "failed to remove the pool file; the next start can load old transactions");
    }
}

/// Stores the pending transactions. If the write fails, for example on a full disk, retries with three quarters of
/// them, the oldest first.
///
/// # Errors
///
/// [`StopError::Pool`] if a write failed and some transactions are lost.
pub(super) fn export_pool(data_dir: &DataDir, handle: &NodeHandle) -> Result<(), StopError> {
    let waiting = handle.chain().waiting();
    if waiting == 0 {
        // A start on a full disk leaves the file, although its transactions are no longer pending.
        remove_pool(data_dir);
        return Ok(());
    }
    let (mut most, mut kept, mut failure) = (waiting, 0, None);
    while most > 0 {
        let (bytes, count) = handle.chain().export_oldest(most, LONGEST_POOL);
        match data_dir.write_pool(&bytes) {
            Ok(()) => {
                kept = count;
                break;
            }
            Err(source) => failure = failure.or(Some(source)),
        }
        // A full disk can have space for fewer transactions.
        most = most.saturating_sub(most.div_ceil(4));
    }
    let lost = waiting.saturating_sub(kept);
    if let Some(source) = failure {
        return Err(StopError::Pool { kept, lost, source: Box::new(source) });
    }
    if lost > 0 {
        tracing::warn!(
            kept,
            lost,
            max_bytes = LONGEST_POOL,
            "the pool file has its maximum size; the newest pending transactions are lost"
        );
    }
    Ok(())
}
