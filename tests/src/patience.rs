//! Limits of the time to wait for a process. The limits count the activity of the threads of the process, and not
//! wall-clock time.
//!
//! On a busy machine every process is slow, and a slow process resembles a process that hangs. But the threads of the
//! two processes differ. The threads of a slow process run, wait for a processor, or wait for the disk. All threads of
//! a process that hangs sleep. So only the time in which all threads sleep counts. A limit of processor time detects an
//! endless loop.

use std::{
    fmt::{self, Write as _},
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// Default limit of the total time in which all threads sleep.
const ASLEEP: Duration = Duration::from_mins(1);
/// Default limit of processor time.
const BUSY: Duration = Duration::from_mins(5);
/// Time between two checks of the process.
const RHYTHM: Duration = Duration::from_millis(50);
/// Clock ticks in a second of processor time. Linux reports this number of ticks to programs on all machines.
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

/// The limits of one wait for a process.
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
    /// Starts to wait for the process with this id, with the default limits.
    pub fn with(process: u32) -> Self {
        Self::limited(process, ASLEEP, BUSY)
    }

    /// Starts to wait for the process with this id. All threads can sleep at the same time for at most `most_asleep` in
    /// total, and the process can use at most `most_busy` of processor time.
    pub fn limited(process: u32, most_asleep: Duration, most_busy: Duration) -> Self {
        let process = PathBuf::from(format!("/proc/{process}"));
        let begun_busy = time_of(&process);
        Self { process, most_asleep, most_busy, begun_busy, asleep: Duration::ZERO, looked: Instant::now() }
    }

    /// Returns the time that counts: the time asleep up to the last check, plus the processor time up to this call.
    pub fn spent(&self) -> Duration {
        self.asleep + time_of(&self.process).saturating_sub(self.begun_busy)
    }

    /// Checks the process, if at least 50 ms have passed since the last check.
    ///
    /// # Errors
    ///
    /// [`Hang`] if a limit is reached.
    pub fn check(&mut self) -> Result<(), Hang> {
        let passed = self.looked.elapsed();
        if passed < RHYTHM {
            return Ok(());
        }
        self.looked = Instant::now();
        let threads = threads(&self.process);
        if !threads.iter().any(Thread::works) {
            // The test itself can have been delayed. The state of the threads in that time is unknown, so only a part
            // of it counts.
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
    /// Returns whether the thread runs, waits for a processor, or waits for the disk.
    fn works(&self) -> bool {
        ['R', 'D'].contains(&self.state)
    }
}

/// Returns the threads of a process, or no threads if the system does not report them.
fn threads(process: &Path) -> Vec<Thread> {
    let tasks = fs::read_dir(process.join("task")).into_iter().flatten().flatten();
    tasks.filter_map(|task| thread(&task.path())).collect()
}

fn thread(task: &Path) -> Option<Thread> {
    let stat = fs::read_to_string(task.join("stat")).ok()?;
    // The name is in parentheses, and can contain any character.
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
    // Ticks in user mode and in the kernel are the 12th and 13th value after the name.
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

        /// Waits until a limit is exceeded, and returns the timeout.
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
    fn process_that_sleeps_hangs() {
        let hang = Running::start("exec sleep 1000").exhaust(MOMENT, EVER);
        assert!(hang.asleep >= MOMENT && hang.busy < MOMENT, "{hang}");
        assert!(hang.threads.contains("sleep: S"), "{hang}");
    }

    #[test]
    fn endless_work_is_a_hang() {
        let hang = Running::start("while :; do :; done").exhaust(MOMENT, 2 * MOMENT);
        assert!(hang.asleep < MOMENT && hang.busy >= 2 * MOMENT, "{hang}");
    }

    #[test]
    fn process_that_is_gone_is_not_waited_for() {
        // This process would run without an end.
        let mut gone = Running::start("while :; do :; done");
        gone.0.kill().unwrap();
        gone.0.wait().unwrap();
        let hang = gone.exhaust(MOMENT, EVER);
        assert!(hang.asleep >= MOMENT && hang.busy.is_zero() && hang.threads.is_empty(), "{hang}");
    }
}
