//! Log lines about the progress of long work.

use std::time::{Duration, Instant};

/// Time between two log lines, and before the first line.
const RHYTHM: Duration = Duration::from_secs(1);

/// Progress of work on blocks. Work of less than one second has no log line.
#[derive(Debug)]
pub(crate) struct Progress {
    what: &'static str,
    last: Instant,
    has_logged: bool,
}

impl Progress {
    pub(crate) fn new(what: &'static str) -> Self {
        Self { what, last: Instant::now(), has_logged: false }
    }

    /// Reports that `done` of `all` blocks are done. Logs a line if the last line is at least one second old.
    pub(crate) fn log(&mut self, done: u64, all: u64) {
        if let Some(message) = self.message(done, all, Instant::now()) {
            tracing::info!("{message}");
            self.has_logged = true;
        }
    }

    /// Returns whether the work took so long that it has a log line.
    pub(crate) const fn has_logged(&self) -> bool {
        self.has_logged
    }

    /// Returns the log line at the time `now`; `None` if the last line is less than one second old.
    fn message(&mut self, done: u64, all: u64, now: Instant) -> Option<String> {
        if now.saturating_duration_since(self.last) < RHYTHM {
            return None;
        }
        self.last = now;
        Some(format!("{}: {done} of {all} blocks", self.what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_within_a_second_is_done_in_silence() {
        let mut progress = Progress::new("counting");
        let begun = progress.last;
        for millis in 0..1_000 {
            assert_eq!(progress.message(millis, 1_000, begun + Duration::from_millis(millis)), None);
        }
    }

    #[test]
    fn longer_work_is_logged_once_a_second() {
        let mut progress = Progress::new("counting");
        let begun = progress.last;
        let mut messages = Vec::new();
        for done in 0..=350 {
            messages.extend(progress.message(done, 350, begun + Duration::from_millis(done * 10)));
        }
        let expected = ["100 of 350", "200 of 350", "300 of 350"].map(|part| format!("counting: {part} blocks"));
        assert_eq!(messages, expected);
    }

    #[test]
    fn pause_is_followed_by_one_message() {
        let mut progress = Progress::new("counting");
        let late = progress.last + Duration::from_mins(1);
        assert_eq!(progress.message(7, 9, late).as_deref(), Some("counting: 7 of 9 blocks"));
        assert_eq!(progress.message(8, 9, late + RHYTHM / 2), None);
        assert_eq!(progress.message(9, 9, late + RHYTHM).as_deref(), Some("counting: 9 of 9 blocks"));
    }
}
