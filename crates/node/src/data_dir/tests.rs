//! Tests of new, foreign and damaged data directories.

use silica_protocol::Qa;
use silica_scilla::rules::Edition;

use super::*;

const ACCOUNTS_TEXT: &str = "{}";
const PARAMETERS: Parameters =
    Parameters { chain_id: 222, shards: 1, blocks_per_ds_epoch: 100, scilla_rules: Rules::current(Edition::V0_13) };

/// Creates a data directory with a key, accounts and a manifest.
fn made(path: &Path) -> (DataDir, Manifest) {
    let dir = DataDir::create(path).unwrap();
    assert_eq!(dir.manifest().unwrap(), None);
    let manifest = Manifest::new(PARAMETERS, ACCOUNTS_TEXT, &dir.new_key().unwrap());
    dir.write_accounts(ACCOUNTS_TEXT).unwrap();
    dir.write_manifest(&manifest).unwrap();
    (dir, manifest)
}

#[test]
fn new_directory_becomes_a_chains() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("a/b");
    let (dir, manifest) = made(&path);
    let key = dir.key(&manifest).unwrap();
    dir.keep_gas_price(Some(GasPrice::new(Qa::new(7)))).unwrap();
    drop(dir);

    let dir = DataDir::open(&path).unwrap();
    let read = dir.manifest().unwrap().unwrap();
    assert_eq!(read, Manifest { gas_price: Some("7".to_owned()), ..manifest });
    assert_eq!(*dir.accounts(&read).unwrap(), ACCOUNTS_TEXT);
    assert_eq!(dir.key(&read).unwrap(), key);
}

#[cfg(unix)]
#[test]
fn secrets_are_readable_by_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let parent = tempfile::tempdir().unwrap();
    made(parent.path());
    for name in [KEY, ACCOUNTS] {
        let mode = fs::metadata(parent.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn directory_is_used_by_one_process() {
    let parent = tempfile::tempdir().unwrap();
    let dir = DataDir::create(parent.path()).unwrap();
    let error = DataDir::create(parent.path()).unwrap_err();
    assert!(error.to_string().contains("is in use by another node or command"), "{error}");
    drop(dir);
    DataDir::create(parent.path()).unwrap();
}

#[test]
fn files_of_something_else_are_left_alone() {
    let parent = tempfile::tempdir().unwrap();
    fs::write(parent.path().join("thesis.tex"), "x").unwrap();
    let error = DataDir::create(parent.path()).unwrap_err();
    assert!(error.to_string().contains("thesis.tex"), "{error}");
    assert!(!parent.path().join(LOCK).exists());
}

#[test]
fn interrupted_first_start_is_taken_up_again() {
    let parent = tempfile::tempdir().unwrap();
    let dir = DataDir::create(parent.path()).unwrap();
    let key = dir.new_key().unwrap();
    fs::write(parent.path().join("accounts.json.new"), "{").unwrap();
    drop(dir);
    assert_eq!(DataDir::create(parent.path()).unwrap().new_key().unwrap(), key);
}

#[test]
fn store_without_manifest_is_no_new_chain() {
    let parent = tempfile::tempdir().unwrap();
    fs::create_dir(parent.path().join(STORE)).unwrap();
    let error = DataDir::create(parent.path()).unwrap_err();
    assert!(matches!(error, DataDirError::Foreign { .. }), "{error}");
}

#[test]
fn only_a_chain_is_opened() {
    let parent = tempfile::tempdir().unwrap();
    assert!(matches!(DataDir::open(parent.path()), Err(DataDirError::Empty { .. })));
    assert!(matches!(DataDir::open(&parent.path().join("none")), Err(DataDirError::Empty { .. })));
}

/// Checks that a manifest is rejected with a message that has `words`.
fn check_manifest(text: &str, words: &str) {
    let parent = tempfile::tempdir().unwrap();
    let dir = DataDir::create(parent.path()).unwrap();
    fs::write(parent.path().join(MANIFEST), text).unwrap();
    let error = dir.manifest().unwrap_err().to_string();
    assert!(error.contains(words), "{error}");
}

#[test]
fn manifest_of_a_newer_program_is_refused_by_its_number() {
    check_manifest(r#"{"format":4,"engine":"other"}"#, "has format 4, this program supports formats up to 3");
    check_manifest(r#"{"format":0}"#, "damaged");
    check_manifest(r#"{"format":1}"#, "damaged");
    check_manifest(r#"{"format":2}"#, "damaged");
    check_manifest(r#"{"format":3}"#, "damaged");
    check_manifest(r#"{"form"#, "damaged");
    check_manifest("", "damaged");
}

#[test]
fn rules_are_kept_and_a_chain_without_them_stays_without() {
    let parent = tempfile::tempdir().unwrap();
    let (dir, manifest) = made(parent.path());
    assert_eq!(manifest.scilla_rules(), Rules::current(Edition::V0_13));
    let text = || fs::read_to_string(parent.path().join(MANIFEST)).unwrap();
    assert!(text().contains("\"format\": 2,") && text().contains("\"scilla_rules\": \"0.13/3\""), "{}", text());
    // The manifest in the form of a program without named rules.
    let unnamed = Manifest { scilla_rules: None, ..manifest };
    dir.write_manifest(&unnamed).unwrap();
    assert!(text().contains("\"format\": 1,") && !text().contains("rules"), "{}", text());
    dir.keep_gas_price(Some(GasPrice::new(Qa::new(7)))).unwrap();
    let read = dir.manifest().unwrap().unwrap();
    assert_eq!((read.scilla_rules, read.scilla_rules()), (None, Rules::UNNAMED));
    assert!(text().contains("\"format\": 1,"), "{}", text());
}

#[test]
fn rules_that_are_not_known_are_named() {
    let rules =
        |rules: &str| format!(r#"{{"format":2,"manifest":{{"scilla_rules":"{rules}","more":1}},"checksum":""}}"#);
    let parent = tempfile::tempdir().unwrap();
    let dir = DataDir::create(parent.path()).unwrap();
    fs::write(parent.path().join(MANIFEST), rules("0.13/9")).unwrap();
    let error = dir.manifest().unwrap_err();
    let source = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
    assert!(source.contains("0.13/9 are newer than this program"), "{error}: {source}");
    check_manifest(&rules("0.12/1"), "damaged");
}

#[test]
fn a_format_that_does_not_go_with_the_rules_is_noticed() {
    let parent = tempfile::tempdir().unwrap();
    let (dir, manifest) = made(parent.path());
    for manifest in [manifest.clone(), Manifest { scilla_rules: None, ..manifest }] {
        dir.write_manifest(&manifest).unwrap();
        let path = parent.path().join(MANIFEST);
        let text = fs::read_to_string(&path).unwrap();
        let (format, other) = (manifest.format(), 3 - manifest.format());
        fs::write(&path, text.replace(&format!("\"format\": {format}"), &format!("\"format\": {other}"))).unwrap();
        let error = dir.manifest().unwrap_err().to_string();
        assert!(error.contains(&format!("expected format {format}, got {other}")), "{error}");
    }
}

#[test]
fn the_manifest_of_a_member_has_a_format_of_its_own() {
    let parent = tempfile::tempdir().unwrap();
    let (dir, manifest) = made(parent.path());
    let text = || fs::read_to_string(parent.path().join(MANIFEST)).unwrap();
    assert_eq!(manifest.network, None);
    assert!(!text().contains("network"), "{}", text());
    let member = Manifest { network: Some("ab".repeat(32)), ..manifest };
    dir.write_manifest(&member).unwrap();
    assert!(text().contains("\"format\": 3,"), "{}", text());
    assert_eq!(dir.manifest().unwrap(), Some(member));
}

#[test]
fn changed_bytes_are_noticed() {
    let parent = tempfile::tempdir().unwrap();
    let (dir, manifest) = made(parent.path());
    let open = || -> Result<(), DataDirError> {
        let manifest = dir.manifest()?.unwrap();
        dir.key(&manifest)?;
        dir.accounts(&manifest).map(drop)
    };
    open().unwrap();
    for name in [MANIFEST, KEY, ACCOUNTS] {
        let path = parent.path().join(name);
        let original = fs::read(&path).unwrap();
        let first_digit = original.iter().position(u8::is_ascii_digit).unwrap_or(0);
        for position in [0, first_digit, original.len() / 2] {
            let mut changed = original.clone();
            changed[position] ^= 1;
            fs::write(&path, &changed).unwrap();
            let error = open().unwrap_err();
            let newer = matches!(error, DataDirError::Newer { .. });
            assert!(newer || error.to_string().contains("is damaged"), "{name} {position}: {error}");
        }
        fs::write(&path, [0xff]).unwrap();
        assert!(open().unwrap_err().to_string().contains("is damaged"), "{name}");
        if name != MANIFEST {
            fs::remove_file(&path).unwrap();
            assert!(open().unwrap_err().to_string().contains("it is missing"), "{name}");
        }
        dir.write(name, &original).unwrap();
    }
    assert_eq!(dir.manifest().unwrap(), Some(manifest));
}

#[test]
fn key_of_another_node_is_noticed() {
    let parent = tempfile::tempdir().unwrap();
    let (dir, manifest) = made(parent.path());
    fs::write(parent.path().join(KEY), draw_key().unwrap().secret().to_hex().as_str()).unwrap();
    assert!(dir.key(&manifest).unwrap_err().to_string().contains("expected the secret key of"));
}

#[test]
fn pool_is_read_until_it_is_removed() {
    let parent = tempfile::tempdir().unwrap();
    let dir = DataDir::create(parent.path()).unwrap();
    assert_eq!(dir.load_pool().unwrap(), None);
    dir.write_pool(b"waiting").unwrap();
    for _ in 0..2 {
        assert_eq!(dir.load_pool().unwrap().as_deref(), Some(&b"waiting"[..]));
    }
    dir.remove_pool().unwrap();
    assert_eq!(dir.load_pool().unwrap(), None);
}

#[test]
fn pool_that_cannot_be_read_does_not_replace_an_earlier_one() {
    let parent = tempfile::tempdir().unwrap();
    let dir = DataDir::create(parent.path()).unwrap();
    for name in [UNREADABLE_POOL, "pool.unreadable.2"] {
        File::create(parent.path().join(POOL)).unwrap().set_len(LONGEST_POOL + 1).unwrap();
        assert_eq!(dir.load_pool().unwrap(), None);
        assert!(parent.path().join(name).exists() && !parent.path().join(POOL).exists());
    }
}
