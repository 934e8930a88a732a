//! Log lines about work in the background: the progress of the history index while it is behind the chain at the start,
//! its failures, and the failure of packing.

use std::time::Duration;

use silica_chain::{Chain, Snapshot};
use tokio::{sync::watch, time};

use crate::progress::Progress;

/// Time between two reads of the progress and of the failures.
const RHYTHM: Duration = Duration::from_secs(1);

/// Logs the progress of the history index until the index has all blocks. Logs failures of the index and of packing
/// until the node stops.
pub(super) async fn report(chain: Chain, mut stopped: watch::Receiver<bool>) {
    let (mut progress, mut index_failures) = (Some(Progress::new("adding blocks to the history index")), 0);
    let mut pack_failure = None;
    loop {
        {
            let snapshot = chain.snapshot();
            if progress.as_mut().is_some_and(|progress| is_complete(&snapshot, progress)) {
                progress = None;
            }
            if let Some(failure) = snapshot.index_failure()
                && failure.count > index_failures
            {
                index_failures = failure.count;
                tracing::error!(
                    failures = index_failures,
                    error = failure.message,
                    "the history index failed; requests read the blocks until the index works again"
                );
            }
            let failure = snapshot.pack_failure().map(str::to_owned);
            if failure != pack_failure {
                pack_failure = failure;
                if let Some(error) = &pack_failure {
                    tracing::error!(
                        error,
                        "failed to pack older blocks; the blocks stay in the database until the record is opened again"
                    );
                }
            }
        }
        tokio::select! {
            () = time::sleep(RHYTHM) => {}
            _ = stopped.changed() => return,
        }
    }
}

/// Logs the progress. Returns whether the history index has all blocks, or does not exist.
fn is_complete(snapshot: &Snapshot, progress: &mut Progress) -> bool {
    let Some(indexed) = snapshot.index_progress().map(|progress| progress.blocks) else { return true };
    let blocks = snapshot.latest_tx_block().header.number.get().saturating_add(1);
    if indexed < blocks {
        progress.log(indexed, blocks);
        return false;
    }
    if progress.has_logged() {
        tracing::info!(blocks, "the history index has all blocks");
    }
    true
}
