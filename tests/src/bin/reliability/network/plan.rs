//! The trials that a seed determines.

use std::{fmt, time::Duration};

use silica_tests::Dice;

/// Number of trials after which the kinds repeat.
const CYCLE: usize = 27;
/// Number of trials in a cycle that kill all members.
const ALL_IN_CYCLE: usize = 2;

/// What happens to the members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Kind {
    /// SIGKILL of one member.
    Kill,
    /// SIGKILL of all members at once.
    KillAll,
    /// Two members have no connection to the other two.
    Halves,
    /// One member has no connection.
    Alone,
    /// The disk of the last member is full.
    FullDisk,
    /// One member stands still: SIGSTOP, and later SIGCONT.
    Slow,
    /// SIGTERM and a start of each member, one after another.
    Rolling,
}

impl Kind {
    pub(super) const ALL: [Self; 7] =
        [Self::Kill, Self::KillAll, Self::Halves, Self::Alone, Self::FullDisk, Self::Slow, Self::Rolling];

    /// Returns the name in the output.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::KillAll => "kill all",
            Self::Halves => "partition 2/2",
            Self::Alone => "partition 1/3",
            Self::FullDisk => "full disk",
            Self::Slow => "slow member",
            Self::Rolling => "rolling restart",
        }
    }
}

/// One trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trial {
    pub(super) kind: Kind,
    /// The affected member. The order of a rolling restart begins with this member.
    pub(super) member: usize,
    /// Time from the begin of the load to the fault.
    pub(super) before: Duration,
    /// Time from the fault to its end.
    pub(super) away: Duration,
    /// Time from the return of a killed member to another kill. During this time, the member reads its journal, and gets
    /// blocks of the others.
    pub(super) again: Option<Duration>,
    /// Whether a partition closes the connections. Otherwise, messages wait until its end.
    pub(super) closes: bool,
}

impl fmt::Display for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, member, before, away, again, closes } = self;
        let how = match (kind, closes) {
            (Kind::Halves | Kind::Alone, true) => ", closed connections",
            (Kind::Halves | Kind::Alone, false) => ", delayed messages",
            (Kind::Kill | Kind::KillAll | Kind::FullDisk | Kind::Slow | Kind::Rolling, _) => "",
        };
        write!(f, "{}{how}, member {member}, after {before:?} for {away:?}", kind.name())?;
        again.map_or(Ok(()), |again| write!(f, ", and again after {again:?}"))
    }
}

/// Returns the trials of a seed. Seven trials in succession have each kind once, and most others kill one member. Of 27
/// trials, 20 kill one member and 2 kill all.
pub(super) fn plan(trials: u64, seed: u64) -> Vec<Trial> {
    let mut dice = Dice::new(seed);
    let mut kinds = Vec::new();
    let mut killed = 0;
    (0..trials)
        .map(|_| {
            if kinds.is_empty() {
                kinds = cycle(&mut dice);
            }
            let kind = kinds.pop().unwrap_or(Kind::Kill);
            let member = match kind {
                // Each member in turn.
                Kind::Kill => {
                    killed += 1;
                    killed % super::MEMBERS
                }
                Kind::FullDisk => super::MEMBERS - 1,
                Kind::KillAll | Kind::Halves | Kind::Alone | Kind::Slow | Kind::Rolling => dice.index(super::MEMBERS),
            };
            let is_kill = matches!(kind, Kind::Kill | Kind::KillAll);
            Trial {
                kind,
                member,
                before: Duration::from_millis(dice.below(1_500)),
                away: Duration::from_millis(dice.below(5_000)),
                again: is_kill.then(|| Duration::from_millis(dice.below(1_500))).filter(|_| dice.below(4) == 0),
                closes: dice.below(2) == 0,
            }
        })
        .collect()
}

/// Returns the kinds of a cycle. The last kind is the first trial.
fn cycle(dice: &mut Dice) -> Vec<Kind> {
    let mut rest = vec![Kind::Kill; CYCLE - Kind::ALL.len()];
    rest.iter_mut().take(ALL_IN_CYCLE - 1).for_each(|kind| *kind = Kind::KillAll);
    let mut first = Kind::ALL.to_vec();
    for part in [&mut rest, &mut first] {
        for last in (1..part.len()).rev() {
            part.swap(last, dice.index(last + 1));
        }
    }
    rest.append(&mut first);
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seed_determines_the_plan() {
        assert_eq!(plan(60, 5), plan(60, 5));
        assert_ne!(plan(60, 5), plan(60, 6));
        assert_eq!(plan(30, 5), plan(60, 5)[..30]);
    }

    #[test]
    fn plan_has_all_kinds() {
        let kinds = |trials: &[Trial]| {
            let mut kinds: Vec<Kind> = trials.iter().map(|trial| trial.kind).collect();
            kinds.sort();
            kinds
        };
        let trials = plan(135, 7);
        assert_eq!(kinds(&trials[..7]), Kind::ALL);
        let count = |kind| kinds(&trials).iter().filter(|it| **it == kind).count();
        assert_eq!(Kind::ALL.map(count), [100, 10, 5, 5, 5, 5, 5]);
        let mut killed: Vec<usize> = trials.iter().filter(|it| it.kind == Kind::Kill).map(|it| it.member).collect();
        killed.sort_unstable();
        assert_eq!(killed, [vec![0; 25], vec![1; 25], vec![2; 25], vec![3; 25]].concat());
    }
}
