//! Pools of blocking threads for work that takes long, so that it delays neither blocks nor short answers.
//!
//! Each pool bounds how much of its work runs at once. The bound holds until the work ends, even if the client has gone
//! meanwhile.

use std::{sync::Arc, thread, time::Duration};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::spawn_blocking,
    time::timeout,
};

use crate::request_id::carried;

/// Reason why work in a pool has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BlockingError {
    /// All threads of the pool were busy for too long.
    #[error("Too many simulations at once, try again later")]
    Busy,
    /// The work panicked.
    #[error("it panicked")]
    Panicked,
}

/// How long a simulation waits for a thread.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Queries that run at once. Each may have a large answer in memory that is not sent yet.
pub(crate) const QUERIES: usize = 4;

/// The pools of a node.
#[derive(Debug)]
pub(crate) struct BlockingPools {
    /// Simulations, which use a processor each.
    simulations: Arc<Semaphore>,
    /// Queries that read much.
    queries: Arc<Semaphore>,
    /// Dumps of the chain, which take longer than any query.
    dumps: Arc<Semaphore>,
}

impl Default for BlockingPools {
    /// Threads for as many simulations as half of the processors, for [`QUERIES`] queries, and for one dump.
    fn default() -> Self {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let pool = |size| Arc::new(Semaphore::new(size));
        Self { simulations: pool(processors.div_ceil(2)), queries: pool(QUERIES), dumps: pool(1) }
    }
}

impl BlockingPools {
    /// Runs a simulation.
    ///
    /// # Errors
    ///
    /// All threads are busy for 10 s, or the simulation panicked.
    pub(crate) async fn simulate<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, BlockingError> {
        let permit = timeout(LONGEST_WAIT, Arc::clone(&self.simulations).acquire_owned()).await;
        let permit = permit.map_err(|_| BlockingError::Busy)?.map_err(|_| BlockingError::Busy)?;
        run(Some(permit), work).await.ok_or(BlockingError::Panicked)
    }

    /// Waits for a permit to run a query.
    pub(crate) async fn query_permit(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.queries).acquire_owned().await.ok()
    }

    /// Runs a query; `None` if it panicked.
    pub(crate) async fn query<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        run(self.query_permit().await, work).await
    }

    /// Writes a dump; `None` if that panicked.
    pub(crate) async fn dump<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        run(Arc::clone(&self.dumps).acquire_owned().await.ok(), work).await
    }

    /// Returns how many dumps could begin now.
    #[cfg(test)]
    pub(crate) fn free_dumps(&self) -> usize {
        self.dumps.available_permits()
    }
}

/// Runs `work` on a blocking thread; `None` if it panicked.
async fn run<T: Send + 'static>(
    permit: Option<OwnedSemaphorePermit>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let done = spawn_blocking(carried(move || {
        let result = work();
        // Keep the permit until here: the future may be dropped while the work goes on.
        drop(permit);
        result
    }));
    done.await.ok()
}
