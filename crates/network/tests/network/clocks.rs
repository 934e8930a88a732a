//! Members whose clocks differ. The `drift` of the networks is 2 s, and the time for the first proposal is 2 s
//! unless the test sets another one.

use std::cell::Cell;

use crate::members::{FalseSettings, Member, Network, wait, wait_for_height};

/// Starts members whose clocks are ahead by these numbers of milliseconds.
fn start(network: &Network, ahead: [i64; 4]) -> Vec<Member> {
    let settings = (0..).zip(ahead).map(|(index, ahead)| (index, FalseSettings::of(index).clock(ahead)));
    settings.map(|(index, settings)| network.start_with(index, settings).unwrap()).collect()
}

/// Waits until all members have the block `height`. Returns the highest round that a member had until then.
fn highest_round(members: &[Member], height: u64) -> u32 {
    let highest = Cell::new(0);
    wait("block", || {
        highest.set(members.iter().map(|member| member.status().round).fold(highest.get(), u32::max));
        members.iter().all(|member| member.height() >= height)
    });
    highest.get()
}

#[test]
fn clocks_within_the_drift_need_no_further_round() {
    for ahead in [[0, 900, 0, -900], [1_500, 0, 0, 0], [0, 0, -1_500, 0]] {
        let network = Network::alone(4, "interval = \"20ms\"\npropose-timeout = \"10s\"");
        let members = start(&network, ahead);
        // A member that is not connected yet misses its first turn.
        wait_for_height(&members, 2);
        assert_eq!(highest_round(&members, 10), 0, "{ahead:?}");
        network.check_equal(&members, 10);
    }
}

/// The difference is above `drift`, and below the sum of `drift` and the time for a proposal.
#[test]
fn member_with_a_clock_beyond_the_drift_takes_all_blocks() {
    for ahead in [3_000, -3_000] {
        let network = Network::new(4, "interval = \"20ms\"");
        let members = start(&network, [0, 0, 0, ahead]);
        wait_for_height(&members, 6);
        network.check_equal(&members, 6);
    }
}

#[test]
fn member_with_a_false_clock_takes_all_blocks_and_is_absent_from_the_decisions_of_bodies() {
    for ahead in [5_000, -5_000, 3_600_000, -3_600_000] {
        let network = Network::new(4, "interval = \"20ms\"");
        let members = start(&network, [0, 0, 0, ahead]);
        wait_for_height(&members, 4);
        network.check_equal(&members, 4);
        let absent = &members[0].status().absent;
        assert!(absent["m3"] >= 4, "{ahead}: {absent:?}");
    }
}

/// No three clocks are near each other. The time for a proposal grows with the round, until it covers the difference.
#[test]
fn members_without_a_common_clock_decide_in_a_later_round() {
    let network = Network::new(4, "interval = \"20ms\"");
    let members = start(&network, [0, 0, 5_000, 5_000]);
    let round = highest_round(&members, 1);
    assert!(round >= 2, "{round}");
    network.check_equal(&members, 1);
    assert!(members.iter().all(|member| member.status().failed.is_none()));
}
