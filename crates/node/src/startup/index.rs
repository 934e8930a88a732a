//! Log lines about the history index, as long as it is behind the chain.

use std::time::Duration;

use silica_chain::Chain;
use tokio::{sync::watch, time};

use crate::progress::Progress;

/// Time between two reads of the progress.
const RHYTHM: Duration = Duration::from_secs(1);

/// Logs the progress of the history index until it has all blocks, or the node stops.
pub(super) async fn report(chain: Chain, mut stopped: watch::Receiver<bool>) {
    let mut progress = Progress::new("adding blocks to the history index");
    loop {
        let snapshot = chain.snapshot();
        let Some(index) = snapshot.index_progress() else { return };
        let blocks = snapshot.latest_tx_block().header.number.get().saturating_add(1);
        if index.blocks >= blocks {
            if progress.has_logged() {
                tracing::info!(blocks, "the history index has all blocks");
            }
            return;
        }
        drop(snapshot);
        progress.log(index.blocks, blocks);
        tokio::select! {
            () = time::sleep(RHYTHM) => {}
            _ = stopped.changed() => return,
        }
    }
}
