//! Log lines about the history index: its progress while it is behind the chain at the start, and its failures.

use std::time::Duration;

use silica_chain::{Chain, Snapshot};
use tokio::{sync::watch, time};

use crate::progress::Progress;

/// Time between two reads of the progress and of the failures.
const RHYTHM: Duration = Duration::from_secs(1);

/// Logs the progress of the history index until it has all blocks. Logs its failures until the node stops.
pub(super) async fn report(chain: Chain, mut stopped: watch::Receiver<bool>) {
    let (mut progress, mut failures) = (Some(Progress::new("adding blocks to the history index")), 0);
    loop {
        {
            let snapshot = chain.snapshot();
            if snapshot.index_progress().is_none() {
                return;
            }
            if progress.as_mut().is_some_and(|progress| is_complete(&snapshot, progress)) {
                progress = None;
            }
            if let Some(failure) = snapshot.index_failure()
                && failure.count > failures
            {
                failures = failure.count;
                tracing::error!(
                    failures,
                    error = failure.message,
                    "the history index failed; requests read the blocks, and the node repairs the index"
                );
            }
        }
        tokio::select! {
            () = time::sleep(RHYTHM) => {}
            _ = stopped.changed() => return,
        }
    }
}

/// Logs the progress. Returns whether the history index has all blocks.
fn is_complete(snapshot: &Snapshot, progress: &mut Progress) -> bool {
    let indexed = snapshot.index_progress().unwrap_or_default().blocks;
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
