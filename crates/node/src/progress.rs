//! Telling the operator how far something is that takes long.

use std::time::{Duration, Instant};

/// Time between two messages, and before the first.
const RHYTHM: Duration = Duration::from_secs(1);

/// Work that is counted in blocks. Nothing is said about work that is done within a second.
#[derive(Debug)]
pub(crate) struct Progress {
    what: &'static str,
    last: Instant,
}

impl Progress {
    pub(crate) fn new(what: &'static str) -> Self {
        Self { what, last: Instant::now() }
    }

    /// Notes that `done` blocks of `all` are done, and says so if it is time.
    pub(crate) fn tell(&mut self, done: u64, all: u64) {
        if self.last.elapsed() >= RHYTHM {
            self.last = Instant::now();
            tracing::info!("{}: {done} of {all} blocks", self.what);
        }
    }
}
