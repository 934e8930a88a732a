//! Measurements of this process, and settings of its run.

use std::{
    fs,
    path::Path,
    process::{Command, exit, id},
    time::{Duration, Instant},
};

/// Returns the resident memory of this process in MiB.
pub fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0) / 1024
}

/// Returns the processor time of this process in milliseconds, in steps of 10 ms.
pub fn processor_time() -> u64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after_name.split_whitespace().skip(11).take(2).filter_map(|text| text.parse::<u64>().ok());
    ticks.sum::<u64>() * 10
}

/// Elapsed time and processor time from the start of the value on.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch {
    begun: Instant,
    processor: u64,
}

impl Stopwatch {
    /// Starts a measurement.
    pub fn start() -> Self {
        Self { begun: Instant::now(), processor: processor_time() }
    }

    /// Returns the elapsed time.
    pub fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Returns the processor time in milliseconds.
    pub fn processor(&self) -> u64 {
        processor_time() - self.processor
    }

    /// Returns the processor time for each of `count` items, in nanoseconds.
    pub fn processor_each(&self, count: u64) -> u64 {
        self.processor() * 1_000_000 / count.max(1)
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
