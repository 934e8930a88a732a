//! Members of a network in one process, each with an engine, a runtime and a chain in memory of its own, on loopback.
#![cfg(test)]

mod attacks;
mod clocks;
mod copies;
mod disk;
mod faults;
mod faulty;
mod hostile;
mod members;
mod relay;

use std::time::{Duration, Instant};

use silica_network::StartError;

use crate::members::{
    FalseSettings, Member, Network, REMEDY, pay, pay_everywhere, wait, wait_for_blocks, wait_for_height,
};

#[test]
fn four_members_decide_equal_blocks_with_transactions() {
    let network = Network::new(4, "interval = \"50ms\"");
    let members: Vec<_> = (0..4).map(|index| network.start(index)).collect();
    for (nonce, member) in (1..).zip(&members) {
        pay(&members, nonce, 10);
        member.wait_for_payments(nonce);
    }
    wait_for_height(&members, 12);
    network.check_equal(&members, 12);
    // Late messages of correct members do not count.
    assert!(members.iter().all(|member| member.status().dropped == 0));
}

#[test]
fn member_that_was_away_takes_part_again() {
    let (network, mut members) = Network::voting();
    let absent = members.pop().unwrap().stop();
    members[0].wait_for_height(members[0].height() + 6);
    members.push(network.start_again(3, absent));
    let target = wait_for_blocks(&members, 6);
    network.check_equal(&members, target);
    network.check_quorum(members);
}

#[test]
fn two_members_of_four_make_no_block_until_a_third_is_there() {
    let network = Network::new(4, "interval = \"20ms\"");
    let mut members: Vec<_> = (0..2).map(|index| network.start(index)).collect();
    std::thread::sleep(Duration::from_millis(500));
    assert!(members.iter().all(|member| member.height() == 0));
    members.push(network.start(2));
    wait_for_height(&members, 3);
    network.check_equal(&members, 3);
}

#[test]
fn all_members_stop_and_go_on() {
    let network = Network::new(4, "interval = \"20ms\"");
    let members: Vec<_> = (0..4).map(|index| network.start(index)).collect();
    wait_for_height(&members, 4);
    let stopped: Vec<_> = members.into_iter().map(Member::stop).collect();
    let members: Vec<_> = (0..4).zip(stopped).map(|(index, stopped)| network.start_again(index, stopped)).collect();
    let target = members.iter().map(Member::height).max().unwrap() + 4;
    wait_for_height(&members, target);
    network.check_equal(&members, target);
}

#[test]
fn blocks_on_demand_come_with_transactions() {
    let network = Network::new(4, "max-idle = \"60m\"\nmin-gap = \"1ms\"");
    let members: Vec<_> = (0..4).map(|index| network.start(index)).collect();
    for nonce in 1..=3 {
        pay(&members, nonce, 7);
        for member in &members {
            member.wait_for_payments(nonce);
        }
    }
    let height = members[0].height();
    assert!(height <= 4, "{height}");
    network.check_equal(&members, height);
}

/// The first proposer has no transaction when its turn begins.
#[test]
fn proposer_without_a_transaction_proposes_the_next_one() {
    let network = Network::new(4, "max-idle = \"60m\"\nmin-gap = \"1ms\"\npropose-timeout = \"30s\"");
    let members: Vec<_> = (0..4).map(|index| network.start(index)).collect();
    for member in &members {
        wait("height", || member.status().height == 1);
    }
    std::thread::sleep(Duration::from_millis(500));
    let begun = Instant::now();
    pay_everywhere(&members, 1, 7);
    wait_for_height(&members, 1);
    assert!(begun.elapsed() < Duration::from_secs(20), "the first round has a block");
}

/// The member has lost its data directory, and has only its keys.
#[test]
fn member_with_a_new_directory_takes_all_blocks() {
    let (network, mut members) = Network::voting();
    network.wait_past_drift();
    drop(members.pop().unwrap().stop());
    std::fs::remove_dir_all(network.directory_of(3)).unwrap();
    // As after an upgrade, each of these members has the certificates of two processes.
    for index in 0..3 {
        let store = members.remove(index).stop();
        members.insert(index, network.start_again(index, store));
    }
    wait_for_blocks(&members, 4);
    members.push(network.start(3));
    wait_for_blocks(&members, 4);
    network.check_quorum(members);
}

/// The member can have voted at the height of the others before it lost its directory.
#[test]
fn member_with_a_new_directory_votes_after_a_newer_block() {
    let (network, mut members) = Network::voting();
    network.wait_past_drift();
    drop(members.pop().unwrap().stop());
    let absent = members.pop().unwrap().stop();
    std::fs::remove_dir_all(network.directory_of(3)).unwrap();
    // Two members and this one would be a quorum.
    let new = network.start(3);
    wait("waiting member", || new.status().waits && new.height() >= members[0].height());
    // The last decisions can be on their way.
    std::thread::sleep(Duration::from_secs(1));
    let height = members[0].height();
    std::thread::sleep(Duration::from_secs(8));
    assert!(new.status().waits && members.iter().all(|member| member.height() == height));
    members.push(network.start_again(2, absent));
    members.push(new);
    network.check_quorum(members);
}

/// The chain can come from a dump, which has no votes.
#[test]
fn member_with_a_chain_and_without_votes_votes_after_a_newer_block() {
    let (network, mut members) = Network::voting();
    let absent = members.pop().unwrap().stop();
    std::fs::remove_dir_all(network.directory_of(3)).unwrap();
    let member = network.start_again(3, absent);
    wait("waiting member", || member.status().waits);
    members.push(member);
    network.check_quorum(members);
}

#[test]
fn member_that_was_away_waits_for_no_transaction() {
    let network = Network::new(4, "max-idle = \"60m\"\nmin-gap = \"1ms\"");
    let mut members: Vec<_> = (0..4).map(|index| network.start(index)).collect();
    pay(&members, 1, 7);
    wait_for_height(&members, 1);
    let absent = members.pop().unwrap().stop();
    for nonce in 2..=5 {
        pay_everywhere(&members, nonce, 7);
        for member in &members {
            member.wait_for_payments(nonce);
        }
    }
    // The network has no further transaction, and the next empty block would come after an hour.
    members.push(network.start_again(3, absent));
    members[3].wait_for_payments(5);
    let height = members[0].height();
    members[3].wait_for_height(height);
    network.check_equal(&members, height);
}

#[test]
fn faults_of_the_start_are_named() {
    let network = Network::new(4, "interval = \"20ms\"");
    let member = network.start(0);
    let error = network.try_start(0, &member).err().unwrap();
    assert!(matches!(error, StartError::Locked { .. }), "{error}");
    let error = network.start_with(1, FalseSettings::of(1).peer_key(2)).err().unwrap().to_string();
    assert!(error.starts_with("peer key: expected the key of 12D3KooW"), "{error}");
    let error = network.start_with(1, FalseSettings::of(1).key(77)).err().unwrap().to_string();
    assert!(error.starts_with("key: expected the key of a member"), "{error}");
    let without = |text: &str| {
        let (before, address) = text.split_once("\n[[address]]\nname = \"m1\"\nagreement = ").unwrap();
        before.to_owned() + address.split_once('\n').unwrap().1
    };
    let error = network.start_with(1, FalseSettings::of(1).file(without)).err().unwrap().to_string();
    assert_eq!(error, "address: expected an address of member m1 in the network file, got none");
    let members: Vec<_> = [member].into_iter().chain((1..4).map(|index| network.start(index))).collect();
    wait_for_height(&members, 2);
    let mut stopped: Vec<_> = members.into_iter().map(Member::stop).collect();
    std::fs::write(network.journal(0), "something else").unwrap();
    let error = network.error_again(0, stopped.remove(0));
    assert!(error.contains("expected a journal of network ") && error.ends_with(REMEDY), "{error}");
    std::fs::remove_file(network.journal(1)).unwrap();
    let error = network.error_again(1, stopped.remove(0));
    assert!(error.contains("expected the file journal with the votes of this member, got none; "), "{error}");
    assert!(error.ends_with(REMEDY), "{error}");
}

/// The votes and the entries of the present height are in other files.
#[test]
fn member_with_damaged_certificates_starts_without_them() {
    let (network, mut members) = Network::voting();
    let (store, path) = (members.pop().unwrap().stop(), network.directory_of(3).join("certificates"));
    std::fs::write(path.join("conf"), "something else").unwrap();
    let error = network.start_with(3, FalseSettings::of(3)).err().unwrap().to_string();
    let remedy = "if the database is damaged, delete it, and start the member again; the votes";
    assert!(error.contains(&path.display().to_string()) && error.contains(remedy), "{error}");
    std::fs::remove_dir_all(path).unwrap();
    members.push(network.start_again(3, store));
    network.check_quorum(members);
}
