//! The chain of a running node: its driver, and the agreement of a member of a network.

use std::sync::Arc;

use silica_chain::consensus::Solo;
#[cfg(feature = "network")]
use tokio::task::spawn_blocking;

#[cfg(feature = "network")]
use super::member::{self, ByAgreement};
use super::{
    StartError, StopError,
    open::Opened,
    pool::{export_pool, remove_pool},
};
use crate::{
    clock::Clock,
    config::Config,
    data_dir::DataDir,
    driver::{self, NodeHandle, RunningDriver},
};

/// The chain of a running node.
#[derive(Debug)]
pub(super) struct RunningChain {
    pub(super) handle: NodeHandle,
    driver: RunningDriver,
    /// The data directory; `None` for a chain in memory.
    pub(super) data_dir: Option<Arc<DataDir>>,
    /// The agreement of a member of a network.
    #[cfg(feature = "network")]
    agreement: Option<Arc<silica_network::Agreement>>,
}

impl RunningChain {
    /// Starts the driver of a chain, and the agreement of a member. Then removes the file of the pool, whose
    /// transactions are in the pool of the chain.
    #[cfg_attr(not(feature = "network"), expect(clippy::unused_async, reason = "the start of an agreement needs it"))]
    pub(super) async fn start(opened: Opened, config: &Config, developer: bool) -> Result<Self, StartError> {
        let Opened {
            data_dir,
            accounts: _,
            key,
            chain,
            producer,
            #[cfg(feature = "network")]
            member,
        } = opened;
        // On a full disk, the file of the pool stays, because the next stop could not write it again.
        let is_disk_full = producer.has_failed();
        let data_dir = data_dir.map(Arc::new);
        // A method for developers may have set the clock forward. In this case, the clock must not start before the
        // time of the latest block. A node without these methods uses the system clock.
        let latest = chain.snapshot().latest_tx_block().timestamp;
        let clock = if developer { Clock::not_before(latest) } else { Clock::default() };
        let mode = config.block_mode;
        #[cfg(feature = "network")]
        let started = match &member {
            Some(_) => driver::start(chain, producer, ByAgreement, mode, clock, data_dir.clone()),
            None => driver::start(chain, producer, Solo::new(key.clone()), mode, clock, data_dir.clone()),
        };
        #[cfg(not(feature = "network"))]
        let started = driver::start(chain, producer, Solo::new(key), mode, clock, data_dir.clone());
        let (handle, driver) = started.map_err(StartError::System)?;
        #[cfg(feature = "network")]
        let agreement = match (member, &data_dir) {
            (Some(member), Some(data_dir)) => {
                match member::start(&handle, member, key, data_dir, config.acknowledge).await {
                    Ok(agreement) => Some(agreement),
                    Err(error) => {
                        close_after(driver).await;
                        return Err(error);
                    }
                }
            }
            _ => None,
        };
        if let Some(data_dir) = data_dir.as_ref().filter(|_| !is_disk_full) {
            remove_pool(data_dir);
        }
        Ok(Self {
            handle,
            driver,
            data_dir,
            #[cfg(feature = "network")]
            agreement,
        })
    }

    /// Stops the driver, stores the pending transactions, and closes the chain. Blocks the thread.
    pub(super) fn close(self) -> Result<(), StopError> {
        // Stop the votes before the driver. Otherwise this node could vote for a block that it then does not commit.
        #[cfg(feature = "network")]
        if let Some(agreement) = &self.agreement {
            agreement.stop();
        }
        let Self { driver, handle, data_dir, .. } = self;
        let closed = driver.stop().map_err(|_| StopError::Panicked).and_then(|producer| {
            let kept = data_dir.as_ref().map_or(Ok(()), |data_dir| export_pool(data_dir, &handle));
            if let Err(error) = &kept {
                // Log the error here. If the store then fails to close, the function returns only the error of the
                // store.
                tracing::error!(
                    error = error as &dyn std::error::Error,
                    "failed to store all pending transactions; the stop continues"
                );
            }
            // Close the chain even if the node failed to store the pending transactions.
            producer.into_store().close().map_err(StopError::Store)?;
            kept
        });
        // Requests in progress can own the directory too. Without the store, they cannot use it.
        if let (Some(data_dir), true) = (&data_dir, !matches!(closed, Err(StopError::Panicked))) {
            data_dir.release();
        }
        closed
    }
}

/// Closes the chain after the start of the agreement has failed.
#[cfg(feature = "network")]
async fn close_after(driver: RunningDriver) {
    let closed = spawn_blocking(|| {
        let producer = driver.stop().map_err(|_| StopError::Panicked)?;
        producer.into_store().close().map_err(StopError::Store)
    });
    if let Err(error) = closed.await.map_err(|_| StopError::Panicked).flatten() {
        tracing::error!(
            error = &error as &dyn std::error::Error,
            "failed to close the chain after a failed start; the next start recovers the chain as after a crash"
        );
    }
}
