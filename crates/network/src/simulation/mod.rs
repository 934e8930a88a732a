//! Networks of members that agree with the engine, without sockets, threads and clocks. A run is a function of its
//! seed.
//!
//! `AGREEMENT_SEEDS=1000` runs the seeds 0 to 999 of each scenario, and with `AGREEMENT_FIRST=600` the seeds 600 to
//! 999. `AGREEMENT_SEED=7` runs seed 7. `AGREEMENT_BLOCKS=500` changes the number of blocks of the mixture. With the
//! name of a file in `AGREEMENT_PROGRESS`, the mixture writes its finished seeds to the file, and leaves them out at
//! the next run. A run of one seed uses no file. If a variable changes the seeds or the blocks, no test checks that its
//! events have happened.
mod checks;
mod effects;
mod liars;
mod member;
mod mixture;
pub(crate) mod network;
mod runner;
mod verifier;
mod watch;
mod world;

use arc_malachitebft_app::{
    consensus::Input,
    types::core::{NilOrVal, Round, VoteType},
};
use arc_malachitebft_signing::Signer as _;
use silica_council::Height;

pub(crate) use self::member::ready;
use self::{
    network::Shape,
    runner::{Counts, is_changed, number, run_seeds},
    world::{Rates, World},
};
use crate::types::{EngineVote, ValueId};

/// Seeds and blocks of the mixture.
const MIXTURE: (u64, u64) = (100, 100);

/// The ways in which a member loses files.
const LOSSES: [&str; 3] =
    ["a loss of files", "a loss of files before a start with a slow clock", "a loss of a directory"];

/// The ways in which messages are interrupted for a time.
const PARTITIONS: [&str; 5] = [
    "a partition of the messages from a member",
    "a partition of the messages to a member",
    "a partition of the messages from one member to another",
    "a partition of two members",
    "a partition of the network into two parts",
];

/// Runs a scenario with each seed. Returns what has happened.
fn run(name: &str, members: usize, blocks: u64, seeds: u64, change: impl Fn(&mut World) + Sync) -> Counts {
    let report = run_seeds(name, false, seeds, |seed| {
        let mut world = World::new(seed, Shape::of(members));
        change(&mut world);
        world.run(blocks);
        world.counts()
    });
    report.counts
}

/// Checks that something of each kind has happened, if no variable changes the run.
fn assert_seen(seen: &Counts, names: &[&str]) {
    for name in names.iter().filter(|_| !is_changed()) {
        assert!(seen.contains_key(*name), "{name}: {seen:?}");
    }
}

#[test]
fn a_good_network_decides_in_the_first_round() {
    let seen = run("good", 4, 12, 2, |_| {});
    let names: Vec<_> = seen.keys().map(String::as_str).collect();
    assert_eq!(names, ["decided blocks", "simulated seconds"]);
}

#[test]
fn a_seed_is_one_run() {
    assert_eq!(mixture::trace(5, 6), mixture::trace(5, 6));
    assert_ne!(mixture::trace(5, 6), mixture::trace(6, 6));
}

#[test]
fn members_crash_and_return() {
    let seen = run("crashes", 4, 8, 6, |world| world.rates = Rates { crash: 20, mistake: 1_000, ..Rates::default() });
    assert_seen(&seen, &["a crash", "a replayed log"]);
}

#[test]
fn all_members_lose_power_at_once() {
    let seen = run("power", 4, 6, 4, |world| world.rates = Rates { power: 20, ..Rates::default() });
    assert_seen(&seen, &["a power failure", "a replayed log"]);
}

#[test]
fn messages_are_lost_repeated_and_late() {
    let seen = run("loss", 4, 6, 4, |world| {
        world.rates = Rates { loss: 500, repeat: 1_000, delay: 300, mistake: 2_000, ..Rates::default() }
    });
    assert_seen(&seen, &["a lost message", "a later round"]);
}

#[test]
fn slow_messages_need_later_rounds() {
    let seen = run("latency", 4, 3, 2, |world| world.rates.latency = 300);
    assert_seen(&seen, &["a later round"]);
}

#[test]
fn members_with_wrong_views_of_the_connections_decide() {
    let seen = run("views", 4, 3, 2, |world| {
        world.rates = Rates { mistake: 10_000, latency: 50, ..Rates::default() };
    });
    // Without blocks, the failures end after 300 s.
    assert!(is_changed() || seen["simulated seconds"] < 200, "{seen:?}");
}

#[test]
fn a_divided_network_decides_after_the_division() {
    let seen =
        run("partition", 4, 6, 20, |world| world.rates = Rates { partition: 30, mistake: 1_000, ..Rates::default() });
    assert_seen(&seen, &PARTITIONS);
    assert_seen(&seen, &["a later round"]);
}

#[test]
fn half_of_the_members_decides_nothing() {
    let mut world = World::new(1, Shape::of(4));
    world.divide([0, 1], 60_000);
    world.run(3);
    let first = *world.decided_at.values().min().unwrap();
    assert!((60_000..=70_000).contains(&first), "{first} ms");
}

#[test]
fn three_of_four_members_go_on() {
    let mut world = World::new(2, Shape::of(4));
    world.divide([3], 60_000);
    world.run(20);
    let times: Vec<_> = world.decided_at.values().copied().collect();
    assert!(times.len() >= 40 && times[39] < 60_000, "{times:?}");
    // The fourth member is absent for the others, and later behind. So none of its turns takes the time of a proposal.
    let longest = times.windows(2).map(|pair| pair[1] - pair[0]).max();
    assert!(longest <= Some(500), "{longest:?} ms: {times:?}");
    // The fourth member takes the entries that it missed from others.
    assert!(world.seen.contains_key("a synced entry"), "{:?}", world.seen);
}

#[test]
fn a_member_lies() {
    let seen = run("lies", 4, 12, 8, |world| {
        world.liars = [1].into();
        (world.rates.forge, world.rates.lie) = (7_000, 2_000);
    });
    assert_seen(
        &seen,
        &[
            "a body from the future",
            "two bodies",
            "two signatures of a transaction",
            "a false body",
            "a false seal",
            "a seal that is not proposed",
            "an invalid entry",
            "two votes",
            "a vote in the name of another",
            "evidence",
            "a co-signature message that is not sent",
            "a second co-signature message",
            "a false co-signature message",
            "a fault in a session",
        ],
    );
}

#[test]
fn a_faulty_member_forgets_its_votes() {
    let (mut world, faulty) = (World::new(3, Shape::of(4)), 1);
    world.liars = [faulty].into();
    world.run(2);
    let vote_of = |world: &World, kind, height: Height| {
        let place = (faulty, kind, height.get(), Round::ZERO);
        world.watch.votes.get(&place).map(|vote| vote.value)
    };
    // A certificate from another member can contain a false precommit of the faulty member. The faulty member logs this
    // precommit before its own.
    let end = world.time + 300_000;
    let height = loop {
        assert!(world.time < end, "no height has a prevote and no precommit of the faulty member");
        let height = world.members[faulty].height().unwrap();
        if vote_of(&world, VoteType::Prevote, height).is_some() {
            break height;
        }
        world.step();
    };
    assert!(matches!(vote_of(&world, VoteType::Prevote, height), Some(NilOrVal::Val(_))));
    assert_eq!(vote_of(&world, VoteType::Precommit, height), None);
    let (value, member) = (NilOrVal::Val(ValueId([9; 32])), world.members[faulty].index());
    let vote = EngineVote { kind: VoteType::Precommit, height: height.into(), round: Round::ZERO, value, member };
    let vote = ready(world.members[faulty].signer.sign_vote(vote)).unwrap();
    world.members[faulty].append(Input::Vote(vote));
    while vote_of(&world, VoteType::Precommit, height).is_none() {
        assert!(world.time < end, "the faulty member sends no precommit");
        world.step();
    }
    // Without its log and without the proposal, the member votes for nil after the timeout of the proposal.
    world.crash(faulty);
    world.divide([faulty], world.time + 60_000);
    let end = world.time + 30_000;
    while world.time < end {
        world.step();
    }
    assert_eq!(vote_of(&world, VoteType::Prevote, height), Some(NilOrVal::Nil));
    assert!(world.seen.contains_key("a faulty member that forgets its votes"));
    world.run(world.blocks() + 2);
}

#[test]
fn clocks_differ() {
    let seen = run("clocks", 4, 6, 2, |world| {
        world.skew([0, 900, -900, 3_600_000]);
        world.rates.step = 50;
    });
    assert_seen(&seen, &["a withheld entry", "a step of a clock"]);
}

#[test]
fn a_member_with_new_files_waits() {
    let seen = run("new files", 4, 30, 4, |world| {
        world.rates = Rates { crash: 10, file_loss: 5_000, ..Rates::default() };
    });
    assert_seen(&seen, &LOSSES);
    assert_seen(&seen, &["a vote that a member with new files does not send"]);
}

#[test]
fn a_member_crashes_at_each_point() {
    let points = [
        "before an entry is flushed",
        "after an entry is flushed",
        "after a vote or proposal",
        "before a decision is processed",
        "before a decided body is in the journal",
        "after a decided body is in the journal",
        "before the journal of a block is removed",
        "after the journal of a block is removed",
        "before Ready",
        "before Set",
        "before the first points",
        "before the first challenge",
        "before the first responses",
        "before the first signatures",
        "before the second points",
        "before the second challenge",
        "before the second responses",
    ];
    let seen = run("points", 4, 2, u64::try_from(points.len()).unwrap(), |world| {
        let point = points[usize::try_from(world.seed).unwrap() % points.len()];
        world.kill = Some((point, 1 + world.draw(4)));
    });
    assert!(is_changed() || seen["a crash"] == u64::try_from(points.len()).unwrap(), "{seen:?}");
    assert_seen(&seen, &points);
}

#[test]
fn blocks_on_demand_wait_for_transactions() {
    let shape = Shape { is_on_demand: true, ..Shape::of(4) };
    let report = run_seeds("demand", false, 2, |seed| {
        let mut world = World::new(seed, shape);
        world.run(12);
        world.counts()
    });
    assert!(is_changed() || report.counts["simulated seconds"] > 20, "{report}");
}

#[test]
fn networks_with_many_failures_go_on() {
    let blocks = number("AGREEMENT_BLOCKS").unwrap_or(MIXTURE.1);
    let name = format!("mixture of {blocks} blocks");
    let report = run_seeds(&name, true, MIXTURE.0, |seed| mixture::run(seed, blocks));
    assert_seen(&report.counts, &LOSSES);
    assert_seen(&report.counts, &PARTITIONS);
    assert_seen(
        &report.counts,
        &["a crash", "a power failure", "a lost message", "evidence", "a later round", "a fault in a session"],
    );
}
