//! Members whose connections are slow, break, and stop.

use std::{array, env, sync::mpsc::channel};

use chacha20::{ChaCha8Rng, rand_core::SeedableRng as _};

use crate::{
    hostile::{Habit, Hostile, two_bodies},
    members::{FalseSettings, Member, Network, now, pay, wait, wait_for_blocks, wait_for_height},
    relay::{Relays, Way, draw},
};

/// Creates a network of four members. Prints the seed of its faults. The variable `AGREEMENT_SEED` sets the seed, but
/// the members do not run in the same order again.
fn faulty() -> (Network, ChaCha8Rng) {
    let seed = env::var("AGREEMENT_SEED").map_or_else(|_| now().get(), |seed| seed.parse().unwrap());
    println!("AGREEMENT_SEED={seed}");
    let mut network = Network::new(4, "interval = \"20ms\"\npropose-timeout = \"1s\"");
    network.relays = Some(Relays::start(&network.file, seed));
    (network, ChaCha8Rng::seed_from_u64(seed))
}

/// Checks that all members have equal blocks. Also checks that no member has failed, or voted twice in a round.
#[track_caller]
fn check(network: &Network, members: &[Member]) {
    let target = wait_for_blocks(members, 1);
    network.check_equal(members, target);
    let votes = |member: &Member| (member.status().failed, member.status().double_votes);
    assert!(members.iter().all(|member| votes(member) == (None, 0)));
}

#[test]
fn members_decide_over_slow_connections_that_break() {
    let (network, _) = faulty();
    let members: Vec<_> = (0..4).map(|index| network.start(index)).collect();
    for nonce in 1..=4 {
        pay(&members, nonce, 10);
        for member in &members {
            member.wait_for_payments(nonce);
        }
    }
    wait("broken connection", || network.relays.as_ref().unwrap().broken() >= 4);
    check(&network, &members);
}

/// The member proposes two valid bodies in each of its turns, and votes for both of them.
#[test]
fn a_member_proposes_two_bodies_over_slow_connections_that_break() {
    let (network, _) = faulty();
    let hostile = Hostile::start(&network, 1, Habit::Silent);
    let members: Vec<_> = [0, 2, 3].into_iter().map(|index| network.start(index)).collect();
    hostile.wait_for_members(3);
    for _ in 0..2 {
        wait("turn of the member", || members[0].height() % 4 == 0);
        let (file, (sender, bodies)) = (network.file.clone(), channel());
        members[0].run(Box::new(move |chain| sender.send(two_bodies(&file, 1, chain)).unwrap()));
        let (height, bodies) = bodies.recv().unwrap();
        hostile.propose_bodies(height, &bodies);
        hostile.vote_for_all(height, &bodies);
        wait_for_height(&members, height.block().get());
    }
    let target = wait_for_blocks(&members, 1);
    network.check_equal(&members, target);
    hostile.check_votes();
    assert!(members.iter().any(|member| member.status().double_votes > 0));
}

/// A process ends after any step of its work.
#[test]
fn members_that_end_again_and_again_take_part_over_slow_connections_that_break() {
    let (network, mut random) = faulty();
    let mut members: Vec<_> = (0..4).map(|index| network.start(index)).collect();
    network.wait_for_votes(&members);
    for _ in 0..3 {
        let index = usize::try_from(draw(&mut random, 4)).unwrap();
        let store = members.remove(index).stop();
        wait_for_blocks(&members, 1);
        let settings = FalseSettings::of(index).steps(2 + draw(&mut random, 20));
        let member = network.start_over(index, store, settings).unwrap();
        member.wait_for_steps();
        members.insert(index, network.start_again(index, member.stop()));
        wait_for_blocks(&members, 1);
    }
    check(&network, &members);
    network.check_quorum(members);
}

/// First, no message of the member arrives, and then no message arrives at the member. The connections stay open.
#[test]
fn member_without_messages_takes_part_again() {
    const MEMBER: usize = 3;
    let (network, _) = faulty();
    let members: Vec<_> = (0..4).map(|index| network.start(index)).collect();
    network.wait_for_votes(&members);
    let relays = network.relays.as_ref().unwrap();
    let sends: [Way; MEMBER] = array::from_fn(|to| (MEMBER, to));
    let receives = sends.map(|(member, other)| (other, member));
    for ways in [sends, receives] {
        relays.stop(ways);
        // The last messages are at their end after a block.
        wait_for_blocks(&members[..MEMBER], 1);
        // Each height has one decision. The certificate of a decision has a part of the votes.
        let votes = || {
            let status = members[0].status();
            status.height - status.absent["m3"]
        };
        let (before, height) = (votes(), members[MEMBER].height());
        wait_for_blocks(&members[..MEMBER], 3);
        // The decision of the present height can be in the count already.
        assert!(votes() <= before + 1, "{ways:?}: {} votes", votes() - before);
        assert!(ways == sends || members[MEMBER].height() == height, "blocks of member {MEMBER}");
        relays.stop([]);
        wait_for_blocks(&members, 1);
    }
    check(&network, &members);
    network.check_quorum(members);
}
