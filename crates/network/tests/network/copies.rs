//! Members whose files are old copies, and members of which two processes run.

use std::{fs, path::Path};

use crate::members::{Network, wait_for_blocks, wait_for_height};

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
    let network = Network::new(4, "interval = \"20ms\"");
    let mut members: Vec<_> = (0..4).map(|index| network.start(index)).collect();
    wait_for_height(&members, 3);
    network.wait_for_votes(&members);
    let (directory, old) = (network.directory_of(3), network.directory_of(3).with_extension("old"));
    let store = members.pop().unwrap().stop();
    copy(&directory, &old);
    members.push(network.start_again(3, store));
    wait_for_blocks(&members, 3);
    let store = members.pop().unwrap().stop();
    fs::remove_dir_all(&directory).unwrap();
    copy(&old, &directory);
    let error = network.error_again(3, store);
    let wal = directory.join("wal");
    assert!(error.starts_with(&format!("agreement log {}: expected the votes at height ", wal.display())), "{error}");
    let expected = ", the next one of the chain, got those at height ";
    let remedy = "; the member does not know its votes, so start it with its keys in a new data directory";
    assert!(error.contains(expected) && error.contains(remedy), "{error}");
    assert_eq!(fs::read(wal).unwrap(), fs::read(old.join("wal")).unwrap(), "the refused log stays as it is");
    // The remedy of the error.
    fs::remove_dir_all(&directory).unwrap();
    members.push(network.start(3));
    wait_for_blocks(&members, 4);
    network.wait_for_votes(&members);
    drop(members.remove(0));
    let target = wait_for_blocks(&members, 4);
    network.check_equal(&members, target);
}
