//! Pools of blocking threads for long work. On these threads, long work does not delay blocks and short responses.
//!
//! Each pool limits the number of simultaneous tasks. A task counts until it ends, even if its client has disconnected.

use std::{sync::Arc, thread, time::Duration};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::spawn_blocking,
    time::timeout,
};

use crate::request_id::carried;

/// Reason why a task of a pool has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BlockingError {
    /// All threads of the pool were busy for [`LONGEST_WAIT`].
    #[error("Too many simulations at once, try again later")]
    Busy,
    /// The task panicked.
    #[error("a task of the node panicked; the log has the source location")]
    Panicked,
}

/// Maximum time for which a simulation waits for a thread.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Number of simultaneous queries. Each can hold a large unsent response in memory.
pub(crate) const QUERIES: usize = 4;

/// The pools of a node.
#[derive(Debug)]
pub(crate) struct BlockingPools {
    /// Simulations. Each uses one processor.
    simulations: Arc<Semaphore>,
    /// Queries that read whole blocks or old states.
    queries: Arc<Semaphore>,
    /// Dumps of the chain. They have a pool of their own, because they take longer than a query.
    dumps: Arc<Semaphore>,
}

impl Default for BlockingPools {
    /// Creates pools for [`QUERIES`] queries, for one dump, and for simulations on half of the processors, rounded up.
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
    /// All threads were busy for 10 s, or the simulation panicked.
    pub(crate) async fn simulate<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, BlockingError> {
        let permit = timeout(LONGEST_WAIT, Arc::clone(&self.simulations).acquire_owned()).await;
        let permit = permit.map_err(|_| BlockingError::Busy)?.map_err(|_| BlockingError::Busy)?;
        run(Some(permit), work).await.ok_or(BlockingError::Panicked)
    }

    /// Waits for a permit to run a query. The result has a permit, because no code closes the semaphore.
    pub(crate) async fn query_permit(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.queries).acquire_owned().await.ok()
    }

    /// Runs a query. Returns `None` if the query panicked.
    pub(crate) async fn query<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        run(self.query_permit().await, work).await
    }

    /// Runs a dump. Returns `None` if the dump panicked.
    pub(crate) async fn dump<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        run(Arc::clone(&self.dumps).acquire_owned().await.ok(), work).await
    }

    /// Returns the number of dumps that can begin immediately.
    #[cfg(test)]
    pub(crate) fn free_dumps(&self) -> usize {
        self.dumps.available_permits()
    }
}

/// Runs `work` on a blocking thread. Returns `None` if `work` panicked.
async fn run<T: Send + 'static>(
    permit: Option<OwnedSemaphorePermit>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let done = spawn_blocking(carried(move || {
        let result = work();
        // Keep the permit until the work ends. A caller can drop the future earlier.
        drop(permit);
        result
    }));
    done.await.ok()
}
