//! Tests of dumps with accidental and deliberate changes.

use super::{file::FileReader, *};
use crate::{Config, Node, When};

/// Creates a data directory with a few blocks, and returns the bytes of its dump.
async fn sample(parent: &Path) -> Vec<u8> {
    let data_dir = parent.join("data");
    let config = Config {
        data_dir: Some(data_dir.clone()),
        listen: ([127, 0, 0, 1], 0).into(),
        developer: When::On,
        ..Config::default()
    };
    let node = Node::start(config).await.unwrap();
    node.handle().mine(3).await.unwrap();
    node.stop().await.unwrap();
    let file = parent.join("chain.dump");
    let report = dump_db(&data_dir, &file).unwrap();
    let bytes = fs::read(&file).unwrap();
    assert_eq!(report.bytes, u64::try_from(bytes.len()).unwrap());
    bytes
}

/// Reads a dump to its end, and returns the sections after the first one.
fn read(bytes: &[u8]) -> Result<Vec<(Kind, Vec<u8>)>, DumpFault> {
    let (mut file, _) = FileReader::new(bytes)?;
    let mut sections = Vec::new();
    loop {
        let section = file.next()?;
        sections.push((section.kind, section.content));
        if section.kind == Kind::End {
            return Ok(sections);
        }
    }
}

/// Version of the dump of [`sample`].
const VERSION: u8 = 2;

/// Builds a dump from sections, by the documented format.
fn put_together(version: u8, sections: &[(Kind, Vec<u8>)]) -> Vec<u8> {
    let mut file = [&b"silica dump\n\0\0\0"[..], &[version]].concat();
    let mut digest = silica_protocol::sha256(&[&file]);
    for (kind, content) in sections {
        let mut section = vec![*kind as u8];
        section.extend(u32::try_from(content.len()).unwrap().to_be_bytes());
        section.extend(content);
        digest = silica_protocol::sha256(&[&digest, &section]);
        file.extend(section);
        file.extend(digest);
    }
    file
}

/// Checks that the load of a dump fails for this reason, and leaves no files.
fn check_refused(parent: &Path, bytes: &[u8], reason: impl Fn(&DumpFault) -> bool, what: &str) {
    let (file, copy) = (parent.join("changed.dump"), parent.join("copy"));
    fs::write(&file, bytes).unwrap();
    let fault = load(&file, &copy).unwrap_err();
    assert!(reason(&fault), "{what}: {fault:?}");
    assert!(!copy.exists() && !parent.join("copy.loading").exists(), "{what}");
}

#[tokio::test]
async fn each_cut_and_each_changed_byte_is_found() {
    let parent = tempfile::tempdir().unwrap();
    let bytes = sample(parent.path()).await;
    read(&bytes).unwrap();
    for at in 0..bytes.len() {
        match read(&bytes[..at]) {
            Err(DumpFault::Cut { .. }) if at > 0 => {}
            Err(DumpFault::Foreign) if at == 0 => {}
            other => panic!("cut at {at}: {other:?}"),
        }
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        match read(&changed) {
            Err(DumpFault::Foreign) if at < 12 => {}
            Err(DumpFault::Version { known: 4, .. }) if (12..16).contains(&at) => {}
            // A changed length can make the section longer than the file.
            Err(DumpFault::Damaged { .. } | DumpFault::Cut { .. }) if at >= 16 => {}
            other => panic!("changed at {at}: {other:?}"),
        }
    }
    assert!(matches!(read(&[&bytes[..], &[0]].concat()), Err(DumpFault::Damaged { .. })));
    for at in (0..bytes.len()).step_by(bytes.len() / 7) {
        check_refused(parent.path(), &bytes[..at], |_| true, "cut");
    }
}

#[test]
fn chain_is_loaded_where_its_directory_can_be_put() {
    let parent = tempfile::tempdir().unwrap();
    let (link, file) = (parent.path().join("link"), parent.path().join("file"));
    require_empty(&parent.path().join("none")).unwrap();
    require_empty(parent.path()).unwrap();
    std::os::unix::fs::symlink(parent.path().join("none"), &link).unwrap();
    fs::write(&file, "").unwrap();
    for place in [&link, &file, parent.path()] {
        assert!(matches!(require_empty(place), Err(DumpFault::Occupied { .. })), "{}", place.display());
    }
    assert!(matches!(require_empty(Path::new("/proc")), Err(DumpFault::MountPoint { .. })));
}

#[tokio::test]
async fn intentional_change_is_found() {
    let parent = tempfile::tempdir().unwrap();
    let bytes = sample(parent.path()).await;
    let (_, head) = FileReader::new(&bytes[..]).unwrap();
    let mut sections = read(&bytes).unwrap();
    sections.insert(0, (Kind::Head, head.to_bytes().unwrap()));
    assert_eq!(put_together(VERSION, &sections), bytes);
    let change = |kind: Kind, change: &dyn Fn(&mut Vec<u8>)| {
        let mut sections = sections.clone();
        let (_, content) = sections.iter_mut().find(|(of, _)| *of == kind).unwrap();
        change(content);
        put_together(VERSION, &sections)
    };
    let with_head = |head: FileHead| change(Kind::Head, &|content| *content = head.to_bytes().unwrap());
    let is_no_chain = |fault: &DumpFault| matches!(fault, DumpFault::Inconsistent { .. });
    let does_not_verify = |fault: &DumpFault| matches!(fault, DumpFault::Chain(_));
    let refused = |bytes: &[u8], reason: &dyn Fn(&DumpFault) -> bool, what: &str| {
        check_refused(parent.path(), bytes, reason, what);
    };
    let root = silica_protocol::StateRoot::new([7; 32]);
    refused(&with_head(FileHead { state_root: root, ..head }), &is_no_chain, "another root at one place");
    refused(&with_head(FileHead { chain_id: 1, ..head }), &is_no_chain, "another chain");
    let hash = silica_protocol::BlockHash::new([7; 32]);
    refused(&with_head(FileHead { block_hash: hash, ..head }), &does_not_verify, "another hash");
    let block = head.block.previous().unwrap();
    refused(&with_head(FileHead { block, ..head }), &does_not_verify, "another block");
    refused(&change(Kind::Manifest, &|content| content.truncate(9)), &does_not_verify, "part of the manifest");
    refused(&change(Kind::Identity, &|content| content[0] ^= 1), &does_not_verify, "another key");
    refused(&change(Kind::Accounts, &|content| content.push(b' ')), &does_not_verify, "other accounts");
    refused(&change(Kind::Rows, &|content| *content.last_mut().unwrap() ^= 1), &is_no_chain, "a row without its seal");
    refused(&change(Kind::Rows, &|content| content.truncate(content.len() - 1)), &is_no_chain, "part of a row");
    refused(&change(Kind::End, &|content| content[7] ^= 1), &is_no_chain, "another count");
    let first_row_len = |rows: &[u8]| 3 + usize::from(rows[0]) + usize::from(u16::from_be_bytes([rows[1], rows[2]]));
    let mut fewer = sections.clone();
    for (kind, content) in &mut fewer {
        if *kind == Kind::Rows {
            content.drain(..first_row_len(content));
        } else if *kind == Kind::End {
            content[7] -= 1;
        }
    }
    refused(&put_together(VERSION, &fewer), &does_not_verify, "a missing row");
    let without = |kind| {
        let sections: Vec<_> = sections.iter().filter(|(of, _)| *of != kind).cloned().collect();
        put_together(VERSION, &sections)
    };
    for kind in [Kind::Manifest, Kind::Identity, Kind::Accounts] {
        refused(&without(kind), &does_not_verify, "a missing file");
    }
    refused(&without(Kind::Head), &|fault| matches!(fault, DumpFault::Damaged { .. }), "no head");
    // The sample has the chain of a single node.
    refused(&put_together(4, &sections), &is_no_chain, "the version of a network");
    refused(
        &put_together(5, &sections),
        &|fault| matches!(fault, DumpFault::Version { found: 5, known: 4 }),
        "version 5",
    );
    let of_network = |change: &dyn Fn(&mut Manifest)| {
        let data_dir = DataDir::create(&parent.path().join("data")).unwrap();
        let mut manifest = data_dir.manifest_of_chain().unwrap();
        manifest.network = Some("07".repeat(32));
        change(&mut manifest);
        let text = data_dir.manifest_text(&manifest).unwrap();
        let mut sections = sections.clone();
        sections.iter_mut().find(|(of, _)| *of == Kind::Manifest).unwrap().1 = text.into_bytes();
        sections
    };
    let without_key = of_network(&|manifest| *manifest = manifest.clone().without_key());
    refused(&put_together(VERSION, &without_key), &is_no_chain, "a network in another version");
    refused(&put_together(4, &of_network(&|_| ())), &is_no_chain, "the key of a member");
    // The network file is missing: the section of the key is in its place.
    refused(&put_together(4, &without_key), &does_not_verify, "a key as network file");
    let mut moved = sections.clone();
    moved.swap(1, 2);
    refused(&put_together(VERSION, &moved), &|fault| matches!(fault, DumpFault::Damaged { .. }), "another order");
    fs::write(parent.path().join("chain.dump"), &bytes).unwrap();
    load(&parent.path().join("chain.dump"), &parent.path().join("copy")).unwrap();
}

#[test]
fn second_of_two_files_does_not_take_the_place_of_the_first() {
    let parent = tempfile::tempdir().unwrap();
    for name in [give_name, claim_name] {
        let [first, second, path] = ["first", "second", "chain.dump"].map(|name| parent.path().join(name));
        for draft in [&first, &second] {
            fs::write(draft, draft.as_os_str().as_encoded_bytes()).unwrap();
        }
        name(&first, &path).unwrap();
        assert_eq!(name(&second, &path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), first.as_os_str().as_encoded_bytes());
        assert!(second.exists());
        fs::remove_file(&path).unwrap();
        name(&parent.path().join("none"), &path).unwrap_err();
        assert!(!path.exists());
    }
}

#[tokio::test]
async fn next_start_removes_what_a_crash_has_left_of_a_file() {
    let parent = tempfile::tempdir().unwrap();
    sample(parent.path()).await;
    let data_dir = parent.path().join("data");
    let dumps = data_dir.join("dumps");
    fs::create_dir(&dumps).unwrap();
    let (whole, draft) = (dumps.join("a.new"), draft_of(&dumps.join("a.new")));
    DumpName::new(draft.file_name().unwrap().to_str().unwrap()).unwrap_err();
    for file in [&whole, &draft] {
        fs::write(file, "key").unwrap();
    }
    let config = Config { data_dir: Some(data_dir), listen: ([127, 0, 0, 1], 0).into(), ..Config::default() };
    Node::start(config).await.unwrap().stop().await.unwrap();
    assert!(whole.exists() && !draft.exists());
}

#[test]
fn names_are_files_and_no_places() {
    for name in ["a", "A.b-c_9", &"x".repeat(64)] {
        assert_eq!(DumpName::new(name), Ok(DumpName(name.to_owned())));
    }
    for name in ["", ".", "..", ".a", "a/b", "/", "a\\b", "a b", "\u{e4}", "a\n", &"x".repeat(65)] {
        DumpName::new(name).unwrap_err();
    }
}
