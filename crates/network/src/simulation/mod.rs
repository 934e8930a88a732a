//! Networks of members that agree by the engine, without sockets, threads and clocks. A run is a function of its seed.
//!
//! `AGREEMENT_SEEDS=1000` runs more seeds of each scenario, and `AGREEMENT_SEED=7` one of them.
mod effects;
mod member;
pub(crate) mod network;
mod world;

use std::collections::BTreeSet;

pub(crate) use self::member::ready;
use self::world::{Rates, World};

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Runs a scenario with each seed. Returns what has happened.
fn run(name: &str, members: usize, blocks: u64, seeds: u64, rates: impl Fn(&mut World)) -> BTreeSet<String> {
    let seeds = match number("AGREEMENT_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("AGREEMENT_SEEDS").unwrap_or(seeds),
    };
    let mut seen = BTreeSet::new();
    for seed in seeds {
        println!("{name}: seed {seed}");
        let mut world = World::new(seed, members);
        rates(&mut world);
        world.run(blocks);
        seen.append(&mut world.seen);
    }
    println!("{name}: {seen:?}");
    seen
}

#[test]
fn a_good_network_decides_in_the_first_round() {
    let seen = run("good", 4, 12, 2, |_| {});
    assert_eq!(seen, BTreeSet::new());
}

#[test]
fn members_crash_and_return() {
    let seen = run("crashes", 4, 8, 6, |world| world.rates = Rates { crash: 2, mistake: 100, ..Rates::default() });
    assert!(seen.contains("a crash") && seen.contains("a replayed log"), "{seen:?}");
}

#[test]
fn all_members_lose_power_at_once() {
    let seen = run("power", 4, 6, 4, |world| world.rates = Rates { power: 2, ..Rates::default() });
    assert!(seen.contains("a power failure") && seen.contains("a replayed log"), "{seen:?}");
}

#[test]
fn messages_are_lost_repeated_and_late() {
    let seen = run("loss", 4, 6, 4, |world| {
        world.rates = Rates { loss: 50, repeat: 100, delay: 300, mistake: 200, ..Rates::default() }
    });
    assert!(seen.contains("a later round"), "{seen:?}");
}

#[test]
fn a_divided_network_stops_and_resumes() {
    let seen =
        run("partition", 4, 6, 4, |world| world.rates = Rates { partition: 3, mistake: 100, ..Rates::default() });
    assert!(seen.contains("a partition") && seen.contains("a later round"), "{seen:?}");
}

#[test]
fn half_of_the_members_decides_nothing() {
    let mut world = World::new(1, 4);
    world.divide([0, 1], 60_000);
    world.run(3);
    let first = *world.decided_at.values().min().unwrap();
    assert!((60_000..=70_000).contains(&first), "{first} ms");
}

#[test]
fn three_of_four_members_go_on() {
    let mut world = World::new(2, 4);
    world.divide([3], 60_000);
    world.run(20);
    let times: Vec<_> = world.decided_at.values().copied().collect();
    assert!(times.len() >= 40 && times[39] < 60_000, "{times:?}");
    // The fourth member is absent for the others, and later behind. So none of its turns takes the time of a proposal.
    let longest = times.windows(2).map(|pair| pair[1] - pair[0]).max();
    assert!(longest <= Some(500), "{longest:?} ms: {times:?}");
    // The fourth member takes the entries that it missed from others.
    assert!(world.seen.contains("a synced entry"), "{:?}", world.seen);
}

#[test]
fn a_proposer_sends_false_entries() {
    let seen = run("false entries", 4, 8, 6, |world| world.forger = Some(1));
    for entry in ["a body from the future", "two bodies", "a false body", "a false seal", "an invalid entry"] {
        assert!(seen.contains(entry), "{entry}: {seen:?}");
    }
}

#[test]
fn clocks_differ() {
    let seen = run("clocks", 4, 6, 2, |world| world.skew([0, 900, -900, 3_600_000]));
    assert!(seen.contains("a withheld entry"), "{seen:?}");
}

#[test]
fn everything_happens_at_once() {
    run("all", 7, 6, 4, |world| {
        world.forger = Some(2);
        world.rates = Rates { crash: 1, power: 0, loss: 20, repeat: 20, mistake: 50, delay: 50, partition: 1 };
    });
}
