//! Measurements of this process, and settings of its run.

use std::{
    fs,
    path::Path,
    process::{Command, exit, id},
    time::{Duration, Instant},
};

use rustix::time::{ClockId, clock_gettime};

/// Returns the resident memory of this process in MiB.
pub fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0) / 1024
}

/// Returns the time of a clock.
pub fn time_of(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Elapsed time, and processor time of this process, from the start of the value on.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch {
    begun: Instant,
    processor: Duration,
}

impl Stopwatch {
    /// Starts a measurement.
    pub fn start() -> Self {
        Self { begun: Instant::now(), processor: time_of(ClockId::ProcessCPUTime) }
    }

    /// Returns the elapsed time.
    pub fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Returns the processor time.
    pub fn processor(&self) -> Duration {
        time_of(ClockId::ProcessCPUTime).saturating_sub(self.processor)
    }

    /// Returns the processor time for each of `count` items.
    pub fn processor_each(&self, count: u64) -> Duration {
        let nanos = self.processor().as_nanos() / u128::from(count.max(1));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// Returns the median, the 99th percentile and the largest of these times; zeros without a time.
pub fn percentiles(times: &[Duration]) -> [Duration; 3] {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let last = sorted.len().saturating_sub(1);
    [500, 990, 1000].map(|permille| sorted.get((sorted.len() * permille / 1000).min(last)).copied().unwrap_or_default())
}

/// Returns the bytes of all files below a directory.
pub fn size_of(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let size = entries.map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size_of(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    });
    size.sum()
}

/// Kills this process with SIGKILL, which has the effect of a crash.
#[expect(clippy::print_stderr, reason = "it is the error of the program")]
pub fn kill() -> ! {
    let status = Command::new("kill").args(["-9", &id().to_string()]).status();
    eprintln!("not killed: {status:?}");
    exit(1)
}

/// Returns the setting, or ends the program with the error.
#[expect(clippy::print_stderr, reason = "it is the error of the program")]
pub fn valid<T>(setting: Result<T, String>) -> T {
    setting.unwrap_or_else(|error| {
        eprintln!("{error}");
        exit(2)
    })
}
