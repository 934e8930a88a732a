//! The trials that a seed determines.

use std::{fmt, time::Duration};

use silica_tests::Dice;

/// The kinds of trials that a topology permits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mix {
    /// The kinds that come first, once each.
    pub(super) once: &'static [Kind],
    /// The kinds of the further trials of a cycle, with their numbers. The next cycle follows.
    pub(super) more: &'static [(Kind, usize)],
    /// Longest time without a connection.
    pub(super) longest_cut: Duration,
}

/// Longest time of a fault other than a cut.
const LONGEST: Duration = Duration::from_secs(5);

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
    /// The process of one member is stopped with SIGSTOP, and later continued with SIGCONT.
    Frozen,
    /// The process of one member stops and continues alternately. It is stopped for most of the time.
    Slow,
    /// SIGTERM and a start of each member, one after another.
    Rolling,
    /// The machine of one member ends without a packet to the others, and starts again.
    PowerLoss,
    /// The link of one member is so narrow that its packets wait, and that some are lost.
    Narrow,
}

impl Kind {
    /// Returns the name in the output.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::KillAll => "kill all",
            Self::Halves => "partition 2/2",
            Self::Alone => "partition 1/3",
            Self::FullDisk => "full disk",
            Self::Frozen => "frozen member",
            Self::Slow => "slow member",
            Self::Rolling => "rolling restart",
            Self::PowerLoss => "power loss",
            Self::Narrow => "narrow link",
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
    /// Time from the return of a killed member to another kill. During this time, the member reads its journal, and
    /// gets blocks of the others.
    pub(super) again: Option<Duration>,
    /// Whether the members notice a partition. Otherwise, messages wait until its end.
    pub(super) closes: bool,
}

impl fmt::Display for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, member, before, away, again, .. } = self;
        write!(f, "{}, member {member}, after {before:?} for {away:?}", kind.name())?;
        again.map_or(Ok(()), |again| write!(f, ", and again after {again:?}"))
    }
}

impl Trial {
    /// Returns the members that have no connection to the others during a partition.
    pub(super) fn side(&self) -> Vec<usize> {
        match self.kind {
            Kind::Halves => vec![self.member, (self.member + 1) % super::MEMBERS],
            Kind::Alone => vec![self.member],
            Kind::Kill
            | Kind::KillAll
            | Kind::FullDisk
            | Kind::Frozen
            | Kind::Slow
            | Kind::Rolling
            | Kind::PowerLoss
            | Kind::Narrow => Vec::new(),
        }
    }
}

/// Returns the trials of a seed. The first trials of a cycle have each kind once.
pub(super) fn plan(trials: u64, seed: u64, mix: &Mix) -> Vec<Trial> {
    let mut dice = Dice::new(seed);
    let mut kinds = Vec::new();
    let mut killed = 0;
    (0..trials)
        .map(|_| {
            if kinds.is_empty() {
                kinds = cycle(&mut dice, mix);
            }
            let kind = kinds.pop().unwrap_or(Kind::Kill);
            let member = match kind {
                // Each member in turn.
                Kind::Kill => {
                    killed += 1;
                    killed % super::MEMBERS
                }
                Kind::FullDisk => super::MEMBERS - 1,
                Kind::KillAll
                | Kind::Halves
                | Kind::Alone
                | Kind::Frozen
                | Kind::Slow
                | Kind::Rolling
                | Kind::PowerLoss
                | Kind::Narrow => dice.index(super::MEMBERS),
            };
            let is_kill = matches!(kind, Kind::Kill | Kind::KillAll);
            let is_cut = matches!(kind, Kind::Halves | Kind::Alone | Kind::PowerLoss);
            let longest = if is_cut { mix.longest_cut } else { LONGEST };
            Trial {
                kind,
                member,
                before: Duration::from_millis(dice.below(1_500)),
                away: Duration::from_millis(dice.below(u64::try_from(longest.as_millis()).unwrap_or(u64::MAX))),
                again: is_kill.then(|| Duration::from_millis(dice.below(1_500))).filter(|_| dice.below(4) == 0),
                closes: dice.below(2) == 0,
            }
        })
        .collect()
}

/// Returns the kinds of a cycle. The last kind is the first trial.
fn cycle(dice: &mut Dice, mix: &Mix) -> Vec<Kind> {
    let mut rest: Vec<Kind> = mix.more.iter().flat_map(|(kind, count)| vec![*kind; *count]).collect();
    let mut first = mix.once.to_vec();
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
    use super::{
        super::{namespaces, relay},
        *,
    };

    #[test]
    fn seed_determines_the_plan() {
        let plan = |trials, seed| plan(trials, seed, &relay::MIX);
        assert_eq!(plan(60, 5), plan(60, 5));
        assert_ne!(plan(60, 5), plan(60, 6));
        assert_eq!(plan(30, 5), plan(60, 5)[..30]);
    }

    #[test]
    fn plan_has_all_kinds() {
        for (mix, cycle, counts) in [
            (&relay::MIX, 28, vec![100, 10, 5, 5, 5, 5, 5, 5]),
            (&namespaces::MIX, 16, vec![20, 5, 15, 15, 5, 5, 10, 5]),
        ] {
            let kinds = |trials: &[Trial]| {
                let mut kinds: Vec<Kind> = trials.iter().map(|trial| trial.kind).collect();
                kinds.sort();
                kinds
            };
            let trials = plan(5 * cycle, 7, mix);
            assert_eq!(kinds(&trials[..mix.once.len()]), mix.once);
            let count = |kind: &Kind| kinds(&trials).iter().filter(|it| *it == kind).count();
            assert_eq!(mix.once.iter().map(count).collect::<Vec<_>>(), counts);
            let kills = trials.iter().filter(|it| it.kind == Kind::Kill);
            let mut killed: Vec<usize> = kills.map(|it| it.member).collect();
            killed.sort_unstable();
            let each = killed.len() / super::super::MEMBERS;
            assert_eq!(killed, [vec![0; each], vec![1; each], vec![2; each], vec![3; each]].concat());
        }
    }
}
