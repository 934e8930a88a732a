//! Members whose files are old copies, and members of which two processes run.

use std::{fs, path::Path};

use silica_state::{Store, StoreOptions};

use crate::members::{FalseSettings, Network, REMEDY, wait, wait_for_blocks, wait_for_height};

/// Part of the reason why a member stops voting if another process has voted with its key.
const OTHER_VOTES: &str = "expected no vote of this member except those of this process, got another one";

/// Copies a directory with its files and directories.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

#[test]
fn member_with_old_files_of_the_agreement_does_not_start() {
    let (network, mut members) = Network::voting();
    let (directory, old) = (network.directory_of(3), network.directory_of(3).with_extension("old"));
    let store = members.pop().unwrap().stop();
    copy(&directory, &old);
    members.push(network.start_again(3, store));
    wait_for_blocks(&members, 3);
    network.wait_past_drift();
    let store = members.pop().unwrap().stop();
    fs::remove_dir_all(&directory).unwrap();
    copy(&old, &directory);
    let error = network.error_again(3, store);
    let wal = directory.join("wal");
    assert!(error.starts_with(&format!("agreement log {}: expected the votes at height ", wal.display())), "{error}");
    let expected = ", the next one of the chain, got those at height ";
    assert!(error.contains(expected) && error.ends_with(REMEDY), "{error}");
    assert_eq!(fs::read(wal).unwrap(), fs::read(old.join("wal")).unwrap(), "the refused log stays as it is");
    // The remedy of the error.
    fs::remove_dir_all(&directory).unwrap();
    members.push(network.start(3));
    wait_for_blocks(&members, 4);
    network.check_quorum(members);
}

/// A member alone does not begin, so its files stay as the start leaves them.
#[test]
fn member_dates_its_first_start_by_the_head() {
    let network = Network::new(4, "interval = \"20ms\"");
    let mut members: Vec<_> = (0..4).map(|index| network.start(index)).collect();
    wait_for_height(&members, 2);
    let store = members.pop().unwrap().stop();
    drop(members);
    let directory = network.directory_of(3);
    let file = directory.join("first-start");
    let start = |store| {
        // The clock is an hour behind the blocks.
        let member = network.start_over(3, store, FalseSettings::of(3).clock(-3_600_000)).unwrap();
        let store = member.stop();
        let at: u64 = fs::read_to_string(&file).unwrap().trim_end().parse().unwrap();
        assert!(at > network.file.parameters().genesis_time.get(), "{at}");
        store
    };
    fs::remove_dir_all(&directory).unwrap();
    let store = start(store);
    // The directory is an old copy, from a time before the first height.
    let copy = || {
        fs::write(&file, "1\n").unwrap();
        fs::write(directory.join("wal"), "").unwrap();
    };
    copy();
    let store = start(store);
    // The creation of the directory was interrupted before the last file.
    copy();
    fs::remove_file(network.journal(3)).unwrap();
    drop(start(store));
}

#[test]
fn member_with_an_old_data_directory_stops_voting() {
    let network = Network::new(4, "interval = \"20ms\"");
    let chain = network.directory_of(3).with_extension("chain");
    let directories = [network.directory_of(3), chain.clone()];
    let store = || Store::open(&chain, StoreOptions::default()).unwrap();
    let mut members: Vec<_> = (0..3).map(|index| network.start(index)).collect();
    let member = network.start_again(3, store());
    member.wait_for_height(3);
    wait("vote", || member.status().votes() && !network.directory_of(3).join("first-start").exists());
    member.stop().close().unwrap();
    for directory in &directories {
        copy(directory, &directory.with_added_extension("old"));
    }
    members.push(network.start_again(3, store()));
    wait_for_blocks(&members, 6);
    members.pop().unwrap().stop().close().unwrap();
    for directory in directories {
        fs::remove_dir_all(&directory).unwrap();
        copy(&directory.with_added_extension("old"), &directory);
    }
    let old = network.start_again(3, store());
    let reason = old.wait_for_failure();
    assert!(reason.starts_with("height ") && reason.contains(OTHER_VOTES), "{reason}");
    // The remedy of the reason. The next start does not vote at the height after the failure.
    assert!(reason.ends_with("start this member again: the member then votes after a newer block"), "{reason}");
    old.stop().close().unwrap();
    members.push(network.start_again(3, store()));
    wait("waiting member", || members[3].status().waits);
    network.check_quorum(members);
}

/// The second process has the keys and no other file, as on another machine. It is possible that the other members
/// connect to it only after the end of the first process.
#[test]
fn second_process_of_a_member_stops_voting_and_harms_no_other_member() {
    let (network, mut members) = Network::voting();
    network.wait_past_drift();
    let twin = network.start_with(3, FalseSettings::of(3).twin()).unwrap();
    // The next blocks can end the wait of the second process.
    network.wait_past_drift();
    // Each height has one decision, and each block two heights. A certificate has a part of the votes.
    let votes = || 2 * members[0].height() - members[0].status().absent["m3"];
    let (first, before) = (&members[3], votes());
    let reasons = || [first, &twin].map(|process| process.status().failed);
    wait("votes", || votes() >= before + 20 || reasons().iter().any(Option::is_some));
    let reason = first.status().failed;
    drop(members.pop());
    wait("failure", || reason.is_some() || twin.status().failed.is_some());
    let reasons = [reason, twin.status().failed];
    assert!(reasons.iter().flatten().all(|reason| reason.contains(OTHER_VOTES)), "{reasons:?}");
    let target = wait_for_blocks(&members, 4);
    network.check_equal(&members, target);
}
