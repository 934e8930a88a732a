//! Runs of many seeds, on all processors.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::{self, Write as _},
    fs::{self, File},
    io::Write as _,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::{Mutex, mpsc},
    thread,
    time::Instant,
};

/// What has happened in a run, and how often.
pub(super) type Counts = BTreeMap<String, u64>;

/// The results of all seeds.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) counts: Counts,
    seeds: u64,
    /// Longest time from the end of failures to the next decision, in milliseconds.
    longest: u64,
    failed: BTreeSet<u64>,
}

/// The name of a count that is a maximum.
pub(super) const LONGEST: &str = "longest pause after failures, in ms";

pub(super) fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Returns whether a variable changes the seeds or the blocks of the tests.
pub(super) fn is_changed() -> bool {
    ["AGREEMENT_SEED", "AGREEMENT_FIRST", "AGREEMENT_SEEDS", "AGREEMENT_BLOCKS"]
        .iter()
        .any(|name| std::env::var_os(name).is_some())
}

impl Report {
    fn add(&mut self, counts: Counts) {
        self.seeds += 1;
        for (name, count) in counts {
            if name == LONGEST {
                self.longest = self.longest.max(count);
            } else {
                *self.counts.entry(name).or_default() += count;
            }
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} seeds without a failure, {} with one: {:?}", self.seeds, self.failed.len(), self.failed)?;
        writeln!(f, "{LONGEST}: {}", self.longest)?;
        self.counts.iter().try_for_each(|(name, count)| writeln!(f, "{name}: {count}"))
    }
}

/// The finished seeds of a long run, in a file with a line for each of them.
struct Progress(Option<File>);

impl Progress {
    /// Opens the file, whose first line states what is run. Returns the finished seeds.
    fn open(run: &str) -> (Self, BTreeMap<u64, Counts>) {
        let Ok(path) = std::env::var("AGREEMENT_PROGRESS") else { return (Self(None), BTreeMap::new()) };
        let (file, finished) = Self::read(Path::new(&path), run);
        (Self(Some(file)), finished)
    }

    fn read(path: &Path, run: &str) -> (File, BTreeMap<u64, Counts>) {
        let before = fs::read_to_string(path).unwrap_or_default();
        let mut file = File::options().append(true).create(true).open(path).unwrap();
        // The end of the run can have truncated the last line.
        let whole = &before[..before.rfind('\n').map_or(0, |end| end + 1)];
        file.set_len(whole.len().try_into().unwrap()).unwrap();
        match whole.lines().next() {
            None => writeln!(file, "{run}").unwrap(),
            Some(first) => assert_eq!(first, run, "{} belongs to another run", path.display()),
        }
        (file, whole.lines().skip(1).filter_map(parse).collect())
    }

    fn write(&mut self, seed: u64, counts: &Counts) {
        let Some(file) = &mut self.0 else { return };
        let mut line = seed.to_string();
        for (name, count) in counts {
            write!(line, "\t{name}={count}").unwrap();
        }
        writeln!(file, "{line}").unwrap();
    }
}

/// Reads the line of a seed.
fn parse(line: &str) -> Option<(u64, Counts)> {
    let mut fields = line.split('\t');
    let seed = fields.next()?.parse().ok()?;
    let count = |field: &str| {
        let (name, count) = field.rsplit_once('=')?;
        Some((name.to_owned(), count.parse().ok()?))
    };
    Some((seed, fields.map(count).collect::<Option<_>>()?))
}

/// Runs the seeds from 0 on, or only that of the variable `AGREEMENT_SEED`. `AGREEMENT_SEEDS` changes the end of the
/// range, and `AGREEMENT_FIRST` its start, so that several machines can share a long run.
///
/// A seed that fails is printed, and the others continue. Then the function panics.
pub(super) fn run_seeds(name: &str, is_long: bool, seeds: u64, run: impl Fn(u64) -> Counts + Sync) -> Report {
    let begun = Instant::now();
    let seeds = match number("AGREEMENT_SEED") {
        Some(seed) => seed..seed + 1,
        None => number("AGREEMENT_FIRST").unwrap_or(0)..number("AGREEMENT_SEEDS").unwrap_or(seeds),
    };
    assert!(!seeds.is_empty(), "{name}: expected AGREEMENT_FIRST below the end of the seeds, got {seeds:?}");
    // A single seed runs although it is finished.
    let resumes = is_long && number("AGREEMENT_SEED").is_none();
    let (mut progress, finished) = if resumes { Progress::open(name) } else { (Progress(None), BTreeMap::new()) };
    let due: Vec<u64> = seeds.filter(|seed| !finished.contains_key(seed)).collect();
    let mut report = Report::default();
    for counts in finished.into_values() {
        report.add(counts);
    }
    let (next, (sender, results)) = (Mutex::new(due.into_iter()), mpsc::channel());
    let work = |sender: mpsc::Sender<(u64, Option<Counts>)>| {
        loop {
            let Some(seed) = next.lock().unwrap().next() else { return };
            // The panic has printed its reason.
            let result = catch_unwind(AssertUnwindSafe(|| run(seed))).ok();
            sender.send((seed, result)).unwrap();
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            let sender = sender.clone();
            scope.spawn(|| work(sender));
        }
        drop(sender);
        for (seed, result) in results {
            if let Some(counts) = result {
                progress.write(seed, &counts);
                report.add(counts);
            } else {
                println!("{name}: seed {seed} failed; AGREEMENT_SEED={seed} runs it again");
                report.failed.insert(seed);
            }
        }
    });
    print!("{name}, {:?}: {report}", begun.elapsed());
    assert!(report.failed.is_empty(), "{name}: seeds {:?} failed; AGREEMENT_SEED runs one again", report.failed);
    report
}

#[test]
fn cut_line_of_the_progress_is_removed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("progress");
    for (before, expected) in [("", 0), ("ru", 0), ("run\n", 0), ("run\n3\ta=1\n4\ta=12\n5\ta=1", 2)] {
        fs::write(&path, before).unwrap();
        let (file, finished) = Progress::read(&path, "run");
        assert_eq!(finished.len(), expected, "{before:?}");
        Progress(Some(file)).write(5, &[("a".to_owned(), 13)].into());
        let (_, finished) = Progress::read(&path, "run");
        assert_eq!((finished.len(), finished[&5]["a"]), (expected + 1, 13), "{before:?}");
    }
}
