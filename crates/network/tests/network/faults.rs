//! Members that send false messages, fail and come back.

use std::{fs, thread, time::Duration};

use silica_council::{EntryId, Height, proposer};
use silica_state::{Store, StoreOptions};

use crate::{
    hostile::{CHUNK, Habit, Header, Hostile, two_bodies},
    members::{FalseSettings, Member, Network, PANIC, REMEDY, now, wait, wait_for_blocks, wait_for_height},
};

/// A network of four members, of which one is hostile. The first proposer is member 1.
fn with_hostile(index: usize, habit: Habit) -> (Network, Vec<Member>, Hostile) {
    let network = Network::new(4, "interval = \"20ms\"");
    let hostile = Hostile::start(&network, index, habit);
    let members: Vec<_> = (0..4).filter(|it| *it != index).map(|it| network.start(it)).collect();
    hostile.wait_for_members(3);
    (network, members, hostile)
}

#[test]
fn a_member_floods_entries_of_its_rounds() {
    let (network, members, hostile) = with_hostile(3, Habit::Silent);
    for block in 1..=5 {
        for height in [2 * block - 1, 2 * block + 1] {
            let at = Height::new(height).unwrap();
            let rounds = (0..100).filter(|round| proposer(4, at, *round) == 3);
            for round in rounds {
                let bytes = [height.to_be_bytes().as_slice(), &round.to_be_bytes()].concat();
                let id = *EntryId::of_body(&network.file.id(), at, &bytes).as_bytes();
                let whole = Header { height, round, valid_round: None, id, len: u32::try_from(bytes.len()).unwrap() };
                hostile.propose(whole, bytes);
                let half = Header { height, round, valid_round: None, id: [1; 32], len: 2 * CHUNK };
                hostile.propose(half, vec![1; usize::try_from(CHUNK).unwrap()]);
            }
        }
        wait_for_height(&members, block);
    }
    network.check_equal(&members, 5);
    hostile.check_votes();
}

#[test]
fn a_member_proposes_two_bodies() {
    let (network, members, hostile) = with_hostile(1, Habit::Silent);
    let (_, mut producer) = network.chain(Store::ephemeral(StoreOptions::default()));
    let (height, bodies) = two_bodies(&network.file, 1, &mut producer);
    hostile.propose_bodies(height, &bodies);
    wait_for_height(&members, 2);
    network.check_equal(&members, 2);
    hostile.check_votes();
    assert!(members.iter().any(|member| member.status().double_votes > 0));
}

#[test]
fn a_proposer_ends_in_the_middle_of_an_entry() {
    let (network, members, hostile) = with_hostile(1, Habit::Silent);
    let header = Header { height: 1, round: 0, valid_round: None, id: [9; 32], len: 2 * CHUNK };
    hostile.propose(header, vec![1; usize::try_from(CHUNK).unwrap()]);
    wait_for_height(&members, 2);
    network.check_equal(&members, 2);
    hostile.check_votes();
}

#[test]
fn a_member_sends_false_co_signature_messages() {
    let (network, members, hostile) = with_hostile(3, Habit::Echo);
    wait_for_height(&members, 4);
    assert!(members.iter().all(|member| member.status().dropped > 0));
    network.check_equal(&members, 4);
    hostile.check_votes();
}

#[test]
fn a_member_sends_false_responses() {
    let (network, members, hostile) = with_hostile(3, Habit::FalseResponses);
    wait_for_height(&members, 6);
    network.check_equal(&members, 6);
    // The answer to each session is a `Ready`. If the member is a signer, it has two further answers.
    assert!(hostile.answers() > 8, "{}", hostile.answers());
    assert!(members.iter().any(|member| member.status().dropped > 0));
    hostile.check_votes();
}

#[test]
fn a_member_whose_host_panics_stops_voting() {
    let network = Network::new(4, "interval = \"20ms\"");
    let members: Vec<_> = (0..4).map(|index| network.start(index)).collect();
    wait_for_height(&members, 2);
    // The panic ends the hosts of the three members that receive the batch.
    members[3].send_batch(PANIC.to_vec());
    for member in &members[..3] {
        let reason = member.wait_for_failure();
        assert_eq!(member.status().failed, Some(reason));
    }
    assert_eq!(members[3].status().failed, None);
}

/// The first panic is in the work of the agreement, and the second one is before such work.
#[test]
fn a_member_whose_chain_panics_stops_voting() {
    let network = Network::new(4, "interval = \"20ms\"");
    let mut members: Vec<_> = (0..4).map(|index| network.start(index)).collect();
    wait_for_height(&members, 2);
    members[2].panic_at_the_next_block();
    members[2].wait_for_panic();
    let expected = "the thread of the chain has ended; the log has the reason; start this member again";
    assert_eq!(members[2].status().failed, Some(expected.into()));
    assert!(!members[2].status().votes());
    let target = members[0].height() + 2;
    for index in [0, 1, 3] {
        members[index].wait_for_height(target);
    }
    members[3].panic_now();
    members[3].wait_for_panic();
    assert_eq!(members[3].wait_for_failure(), expected);
    // The blocks of the two members are still readable.
    network.check_equal(&members, 2);
    assert!(members[..2].iter().all(|member| member.status().votes()));
}

/// Stops a network so that the log of member 0 has votes. Returns the stores.
fn stop_with_votes(network: &Network, mut members: Vec<Member>) -> Vec<Store> {
    wait_for_height(&members, 3);
    network.wait_for_votes(&members);
    // Without a quorum, the height stays, and its votes are in the log.
    let mut last: Vec<_> = members.drain(2..).map(Member::stop).collect();
    let log = network.directory_of(0).join("wal");
    wait("vote in the log", || fs::metadata(&log).unwrap().len() > 100);
    let mut stores: Vec<_> = members.into_iter().map(Member::stop).collect();
    stores.append(&mut last);
    stores
}

#[test]
fn faults_of_the_log() {
    let network = Network::new(4, "interval = \"20ms\"");
    let stores = stop_with_votes(&network, (0..4).map(|index| network.start(index)).collect());
    let log = network.directory_of(0).join("wal");
    // A crash can truncate the last entry.
    let bytes = fs::read(&log).unwrap();
    fs::write(&log, &bytes[..bytes.len() - 3]).unwrap();
    let members: Vec<_> = (0..).zip(stores).map(|(index, store)| network.start_again(index, store)).collect();
    wait_for_blocks(&members, 3);
    let mut stores = stop_with_votes(&network, members);
    let others = stores.split_off(1);
    let others: Vec<_> = (1..).zip(others).map(|(index, store)| network.start_again(index, store)).collect();
    // The data of the first entry are behind the header of the log, and the header of the entry.
    let mut bad = fs::read(&log).unwrap();
    bad[12 + 13] ^= 1;
    fs::write(&log, &bad).unwrap();
    let error = network.error_again(0, stores.remove(0));
    assert!(error.contains("expected an entry with its checksum at byte 12, got "), "{error}");
    // The log stays as it is, so a second start fails too.
    assert_eq!(fs::read(&log).unwrap(), bad);
    fs::remove_file(&log).unwrap();
    let error = network.start_with(0, FalseSettings::of(0)).err().unwrap().to_string();
    let expected = "expected the file wal with the votes of this member, got none; ";
    assert!(error.contains(expected) && error.ends_with(REMEDY), "{error}");
    let target = wait_for_blocks(&others, 3);
    network.check_equal(&others, target);
}

/// A member alone does not begin, so the log stays as the start leaves it.
#[test]
fn member_that_waits_starts_with_an_empty_log() {
    let network = Network::new(4, "interval = \"20ms\"");
    let store = stop_with_votes(&network, (0..4).map(|index| network.start(index)).collect()).swap_remove(0);
    let directory = network.directory_of(0);
    let header = fs::read(directory.join("wal")).unwrap()[..12].to_vec();
    // An hour from now.
    fs::write(directory.join("first-start"), format!("{}\n", now().get() + 3_600_000_000)).unwrap();
    let member = network.start_again(0, store);
    assert!(member.status().waits);
    drop(member);
    assert_eq!(fs::read(directory.join("wal")).unwrap(), header);
}

#[test]
fn a_member_is_killed_between_any_two_steps() {
    // Four of five members are a quorum, so each block has the votes of the killed member.
    let network = Network::new(5, "interval = \"20ms\"");
    let hostile = Hostile::start(&network, 4, Habit::Silent);
    let members: Vec<_> = (0..3).map(|index| network.start(index)).collect();
    let mut store = Store::ephemeral(StoreOptions::default());
    for steps in (2..30).step_by(5) {
        let killed = network.start_over(3, store, FalseSettings::of(3).steps(steps)).unwrap();
        killed.wait_for_steps();
        store = killed.stop();
    }
    let mut members = members;
    members.push(network.start_again(3, store));
    let target = wait_for_blocks(&members, 3);
    network.check_equal(&members, target);
    hostile.check_votes();
}

#[test]
fn a_decided_entry_is_in_the_journal_of_a_member_that_could_not_execute_it() {
    let network = Network::new(4, "interval = \"20ms\"");
    let start = |index, store, settings: fn(FalseSettings) -> FalseSettings| {
        network.start_over(index, store, settings(FalseSettings::of(index))).unwrap()
    };
    // The members read their journal, begin, and judge or propose the first body. They do not process its decision.
    let new = || Store::ephemeral(StoreOptions::default());
    let members: Vec<_> = (0..3).map(|index| start(index, new(), |it| it.steps(3))).collect();
    members.iter().for_each(Member::wait_for_steps);
    thread::sleep(Duration::from_secs(1));
    let stores: Vec<_> = members.into_iter().map(Member::stop).collect();
    let members = (0..).zip(stores).map(|(index, store)| start(index, store, FalseSettings::fails_at_start));
    let members: Vec<_> = members.collect();
    wait_for_height(&members, 2);
    network.check_equal(&members, 2);
}

#[test]
fn a_member_with_another_state_root_stops() {
    let network = Network::new(4, "interval = \"20ms\"");
    let members: Vec<_> = (0..3).map(|index| network.start(index)).collect();
    let other = network.start_with(3, FalseSettings::of(3).reward(1)).unwrap();
    let reason = other.wait_for_failure();
    assert!(reason.starts_with("height 7: the decided entry "), "{reason}");
    assert!(reason.contains(" is invalid here; state root: expected ") && reason.contains(", got "), "{reason}");
    assert_eq!(other.height(), 3);
    // Messages can be on their way at the failure. From then on, the log of votes stays as it is, beyond the timeouts
    // of a round.
    let log = || fs::read(network.directory_of(3).join("wal")).unwrap();
    thread::sleep(Duration::from_millis(500));
    let votes = log();
    thread::sleep(Duration::from_secs(6));
    assert!(log() == votes, "the member has voted after its failure");
    wait_for_height(&members, 8);
    network.check_equal(&members, 8);
}

/// No block has a contract, so both rules give equal results.
#[test]
fn a_member_with_other_rules_stops_at_their_block_and_goes_on_with_the_right_file() {
    const CHANGE: u64 = 6;
    let network = Network::new(4, "interval = \"20ms\"");
    let changed = |index| FalseSettings::of(index).rules_from(CHANGE);
    let mut members: Vec<_> = (0..3).map(|index| network.start_with(index, changed(index)).unwrap()).collect();
    let other = network.start(3);
    let reason = other.wait_for_failure();
    assert!(reason.starts_with("height 11: the decided entry "), "{reason}");
    let expected = "Body.scilla_rules: expected 0.13/3 in block 6, as in the network file of this member, got latest/3";
    assert!(reason.ends_with(expected), "{reason}");
    assert_eq!(other.height(), CHANGE - 1);
    let store = other.stop();
    members.push(network.start_over(3, store, changed(3)).unwrap());
    wait_for_height(&members, CHANGE + 2);
    network.check_equal(&members, CHANGE + 2);
    network.check_quorum(members);
}
