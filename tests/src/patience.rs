//! Limits of waiting for a process, by the activity of its threads and not by wall-clock time.
//!
//! On a busy machine every process is slow, and looks from outside like a process that hangs. Their threads differ. The
//! threads of a slow process run, wait for a processor, or wait for the disk. All threads of a process that hangs
//! sleep. So only the time in which every thread sleeps counts. An endless loop is detected by its processor time.

use std::{
    fmt::{self, Write as _},
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// Maximum of the time in which all threads sleep, in sum, before the awaited event.
const ASLEEP: Duration = Duration::from_mins(1);
/// Processor time that may be used until then.
const BUSY: Duration = Duration::from_mins(5);
/// Time between two checks of the process.
const RHYTHM: Duration = Duration::from_millis(50);
/// Ticks in a second of processor time, as Linux counts it for programs on every machine.
const TICKS_PER_SECOND: u64 = 100;

/// A timeout: the process did not reach the expected state in time.
#[derive(Clone, Debug)]
pub struct Hang {
    asleep: Duration,
    busy: Duration,
    threads: String,
}

impl fmt::Display for Hang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { asleep, busy, threads } = self;
        write!(f, "it slept for {asleep:.1?} and has used {busy:.1?} of processor time; its threads:\n{threads}")
    }
}

/// The limits of one wait for one process.
#[derive(Debug)]
pub struct Patience {
    process: PathBuf,
    most_asleep: Duration,
    most_busy: Duration,
    begun_busy: Duration,
    asleep: Duration,
    looked: Instant,
}

impl Patience {
    /// Begins to wait for the process with this id.
    pub fn with(process: u32) -> Self {
        Self::limited(process, ASLEEP, BUSY)
    }

    /// Begins to wait for the process with this id. All of its threads may sleep at the same time for at most
    /// `most_asleep` in total, and it may use at most `most_busy` of processor time.
    pub fn limited(process: u32, most_asleep: Duration, most_busy: Duration) -> Self {
        let process = PathBuf::from(format!("/proc/{process}"));
        let begun_busy = time_of(&process);
        Self { process, most_asleep, most_busy, begun_busy, asleep: Duration::ZERO, looked: Instant::now() }
    }

    /// Returns the time of the process up to the last check: the time asleep plus the processor time.
    pub fn spent(&self) -> Duration {
        self.asleep + time_of(&self.process).saturating_sub(self.begun_busy)
    }

    /// Checks the process, if enough time has passed since the last check.
    ///
    /// # Errors
    ///
    /// [`Hang`] if a limit is exceeded.
    pub fn check(&mut self) -> Result<(), Hang> {
        let passed = self.looked.elapsed();
        if passed < RHYTHM {
            return Ok(());
        }
        self.looked = Instant::now();
        let threads = threads(&self.process);
        if !threads.iter().any(Thread::works) {
            // This process may have been delayed itself; the state of the threads in that time is unknown.
            self.asleep += passed.min(4 * RHYTHM);
        }
        let busy = time_of(&self.process).saturating_sub(self.begun_busy);
        if self.asleep < self.most_asleep && busy < self.most_busy {
            return Ok(());
        }
        let mut text = String::new();
        for Thread { name, state, waits_in } in &threads {
            writeln!(text, "  {name}: {state} {waits_in}").expect("strings accept every write");
        }
        Err(Hang { asleep: self.asleep, busy, threads: text })
    }
}

#[derive(Debug)]
struct Thread {
    name: String,
    state: char,
    waits_in: String,
}

impl Thread {
    /// Runs, or is ready to, or waits for the disk.
    fn works(&self) -> bool {
        ['R', 'D'].contains(&self.state)
    }
}

/// The threads of a process; none where the system does not tell.
fn threads(process: &Path) -> Vec<Thread> {
    let tasks = fs::read_dir(process.join("task")).into_iter().flatten().flatten();
    tasks.filter_map(|task| thread(&task.path())).collect()
}

fn thread(task: &Path) -> Option<Thread> {
    let stat = fs::read_to_string(task.join("stat")).ok()?;
    // The name stands in parentheses, and may hold anything.
    let (before, after) = stat.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    let state = after.trim_start().chars().next()?;
    let waits_in = fs::read_to_string(task.join("wchan")).unwrap_or_default();
    Some(Thread { name: name.to_owned(), state, waits_in })
}

/// Returns the processor time of all threads of the process with this id, in steps of ten milliseconds. Returns zero if
/// the system does not report it.
pub fn processor_time(process: u32) -> Duration {
    time_of(&PathBuf::from(format!("/proc/{process}")))
}

fn time_of(process: &Path) -> Duration {
    let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
    // In user mode and in the kernel: the twelfth and thirteenth value after the name.
    let values = stat.rsplit_once(')').map(|(_, values)| values).unwrap_or_default().split_whitespace();
    let ticks: u64 = values.skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use std::{
        process::{Child, Command},
        thread,
    };

    use super::*;

    struct Running(Child);

    impl Running {
        fn start(script: &str) -> Self {
            Self(Command::new("sh").args(["-c", script]).spawn().unwrap())
        }

        /// Waits for as long as patience lasts.
        fn exhaust(&self, most_asleep: Duration, most_busy: Duration) -> Hang {
            let mut patience = Patience::limited(self.0.id(), most_asleep, most_busy);
            loop {
                if let Err(hang) = patience.check() {
                    return hang;
                }
                thread::sleep(Duration::from_millis(5));
            }
        }
    }

    impl Drop for Running {
        fn drop(&mut self) {
            drop(self.0.kill());
            drop(self.0.wait());
        }
    }

    const MOMENT: Duration = Duration::from_millis(300);
    const EVER: Duration = Duration::from_hours(1);

    #[test]
    fn sleep_is_a_hang() {
        let hang = Running::start("exec sleep 1000").exhaust(MOMENT, EVER);
        assert!(hang.asleep >= MOMENT && hang.busy < MOMENT, "{hang}");
        assert!(hang.threads.contains("sleep: S"), "{hang}");
    }

    #[test]
    fn work_is_no_sleep_but_may_not_last_for_ever() {
        let hang = Running::start("while :; do :; done").exhaust(MOMENT, 2 * MOMENT);
        assert!(hang.asleep < MOMENT && hang.busy >= 2 * MOMENT, "{hang}");
    }

    #[test]
    fn process_that_is_gone_is_not_waited_for() {
        // It would work for ever.
        let mut gone = Running::start("while :; do :; done");
        gone.0.kill().unwrap();
        gone.0.wait().unwrap();
        let hang = gone.exhaust(MOMENT, EVER);
        assert!(hang.asleep >= MOMENT && hang.busy.is_zero() && hang.threads.is_empty(), "{hang}");
    }
}
