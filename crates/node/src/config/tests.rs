//! Tests of options from the command line, the TOML file and profiles together.

use std::{ffi::OsString, fs, path::Path};

use clap::{Args, Command, builder::Resettable};
use silica_protocol::ChainId;

use super::{file::File, settings::command, *};
use crate::{block_mode::BlockMode, config::Durability};

const WORDS: &str = "legal winner thank year wave sausage worth useful legal winner thank yellow";

/// Combines the options of a command line with `toml` as its TOML file.
fn gather(line: &str, toml: Option<&str>) -> Result<Settings, ConfigError> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s.toml");
    let mut words: Vec<OsString> = std::iter::once("silica").chain(line.split_whitespace()).map(Into::into).collect();
    if let Some(toml) = toml {
        fs::write(&path, toml).unwrap();
        words.push("--config".into());
        words.push(path.into());
    }
    Settings::gather(&command().try_get_matches_from(words).unwrap())
}

fn config(line: &str, toml: &str) -> Config {
    gather(line, Some(toml)).unwrap().config()
}

#[test]
fn no_options_give_the_defaults() {
    let config = gather("", None).unwrap().config();
    assert_eq!(format!("{config:?}"), format!("{:?}", Config::default()));
}

#[test]
fn every_option_can_be_in_a_file() {
    let config = config(
        "",
        "data-dir = 'd'\nlisten = '127.0.0.1:80'\nwebsocket = 'off'\nchain-id = 7\nblock-mode = 'manual'\nshards = 3\n\
         proof-window = 60\ncache-mb = 0x10\ndurability = 'relaxed'\nmax-connections = 1_000\nlog = 'warn'\n\
         allowed-hosts = 'a, b'\nallowed-origins = 'https://a'\ntrusted-proxies = '::1'\nmethods = 'Get*'\n\
         operator-listen = '127.0.0.1:90'",
    );
    assert_eq!((config.access.hosts, config.access.origins), ("a,b".parse().unwrap(), "https://a".parse().unwrap()));
    assert_eq!((config.access.proxies, config.methods), ("::1".parse().unwrap(), Some("Get*".parse().unwrap())));
    assert_eq!(config.operator_listen, Some(([127, 0, 0, 1], 90).into()));
    assert_eq!(config.data_dir, Some("d".into()));
    assert_eq!(config.listen, ([127, 0, 0, 1], 80).into());
    assert_eq!((config.chain_id, config.shards), (Some(ChainId::new(7)), Some(3)));
    assert_eq!((config.block_mode, config.durability), (BlockMode::Manual, Durability::Relaxed));
    assert_eq!((config.proof_window, config.cache_bytes, config.http.connections), (60, 16 << 20, 1000));
}

#[test]
fn flag_precedes_file_and_file_precedes_profile() {
    let toml = "profile = 'zq2'\nchain-id = 7\nshards = 2";
    let config = config("--shards 3", toml);
    assert_eq!((config.shards, config.chain_id), (Some(3), Some(ChainId::new(7))));
    assert_eq!((config.listen.port(), config.profile), (4201, Profile::Zq2));
    let text = gather("--shards 3", Some(toml)).unwrap().to_string();
    for line in ["shards = 3 # --shards", "listen = \"127.0.0.1:4201\" # profile zq2", "cache-mb = 256 # default"] {
        assert!(text.lines().any(|found| found == line), "{line} is missing in\n{text}");
    }
    let of_file = |start: &str| text.lines().any(|line| line.starts_with(start) && line.ends_with(":2"));
    assert!(of_file("chain-id = 7 # ") && !of_file("shards"), "{text}");
}

#[test]
fn environment_is_between_flag_and_file() {
    // The tests of this process share its environment. Therefore the option reads a variable that cargo always sets.
    let matches = RunArgs::augment_args(Command::new("silica"))
        .mut_arg("shards", |arg| arg.env("CARGO_PKG_VERSION_MINOR"))
        .try_get_matches_from(["silica"])
        .unwrap();
    let text = Settings::gather(&matches).unwrap().to_string();
    let minor = std::env::var("CARGO_PKG_VERSION_MINOR").unwrap();
    assert!(text.contains(&format!("shards = {minor} # SILICA_SHARDS")), "{text}");
}

/// Combines the options of a command line, where the variable `CARGO_PKG_NAME` gives the value of one option. The tests
/// of this process share its environment, and cannot set variables.
fn gather_with_a_variable(option: &'static str, words: &[&str]) -> Settings {
    let matches = RunArgs::augment_args(Command::new("silica"))
        .mut_args(|arg| arg.env(Resettable::Reset))
        .mut_arg(option, |arg| arg.env("CARGO_PKG_NAME"))
        .try_get_matches_from([&["silica"], words].concat())
        .unwrap();
    Settings::gather(&matches).unwrap()
}

#[test]
fn flag_precedes_a_contrary_variable() {
    let config = |option, words: &[&str]| gather_with_a_variable(option, words).config();
    assert_eq!(config("data_dir", &[]).data_dir, Some(env!("CARGO_PKG_NAME").into()));
    assert_eq!(config("data_dir", &["--ephemeral"]).data_dir, None);
    let with_words = config("accounts_file", &["--mnemonic", WORDS]);
    assert_eq!((with_words.mnemonic.map(|(_, accounts)| accounts), with_words.accounts_file), (Some(10), None));
    let error = gather("--ephemeral --data-dir d", None).unwrap_err().to_string();
    assert_eq!(error, "ephemeral (by --ephemeral) cannot be used with data-dir (by --data-dir)");
}

#[test]
fn printed_options_can_be_read_again() {
    for line in ["", "--profile zq2 --block-mode interval=5", "--ephemeral --websocket off", "--data-dir a\"\\\u{7f}b"]
    {
        let settings = gather(line, None).unwrap();
        let again = gather("", Some(&settings.to_string())).unwrap();
        let facts = |settings: &Settings| format!("{:?}", Config { origins: Origins::default(), ..settings.config() });
        assert_eq!(facts(&again), facts(&settings), "{line}\n{settings}");
    }
}

#[test]
fn source_of_higher_precedence_wins() {
    assert_eq!(config("--ephemeral", "data-dir = 'd'").data_dir, None);
    assert_eq!(config("--data-dir d", "ephemeral = true").data_dir, Some("d".into()));
    assert_eq!(config("--data-dir d", "ephemeral = false").data_dir, Some("d".into()));
    let error = gather("", Some("ephemeral = true\ndata-dir = 'd'")).unwrap_err().to_string();
    assert!(error.contains("ephemeral") && error.contains(":1") && error.contains("data-dir") && error.contains(":2"));
}

#[test]
fn secrets_are_not_printed() {
    let toml = format!("mnemonic = '{WORDS}'\naccounts = 3");
    let settings = gather("", Some(&toml)).unwrap();
    assert_eq!(settings.config().mnemonic, Some((WORDS.parse().unwrap(), 3)));
    let text = settings.to_string();
    assert!(text.contains("# mnemonic is set, by ") && !text.contains("legal"), "{text}");
    assert!(!format!("{:?}", settings.config()).contains("legal"));
    check("mnemonic = 'legal winners thank year'", &[":1: mnemonic: expected WORDS", "12, 15", "got 4"]);
    let wrong = WORDS.replace("year", "jahr");
    for error in [
        gather("", Some(&format!("mnemonic = '{wrong}'"))).unwrap_err().to_string(),
        command().try_get_matches_from(["silica", "--mnemonic", &wrong]).unwrap_err().to_string(),
    ] {
        assert!(error.contains("position 4") && !error.contains("jahr") && !error.contains("legal"), "{error}");
    }
}

/// Checks that a file is rejected with a message that has each of `words`.
fn check(toml: &str, words: &[&str]) {
    let error = gather("", Some(toml)).unwrap_err().to_string();
    for word in words {
        assert!(error.contains(word), "{word:?} is missing in {error}");
    }
}

#[test]
fn errors_name_file_line_key_and_values() {
    check("# x\n\nchain_id = 3", &["s.toml:3: unknown key \"chain_id\"; did you mean \"chain-id\"?"]);
    check("chian-id = 3", &["did you mean \"chain-id\"?"]);
    check("completely-else = 3", &["s.toml:1: unknown key \"completely-else\""]);
    check("config = 'x'", &["unknown key \"config\""]);
    check("\ncache-mb = 7", &["s.toml:2: cache-mb: expected MB, got 7: ", "8..=1048576"]);
    check("cache-mb = 'much'", &["cache-mb: expected MB, got \"much\""]);
    check("cache-mb = 1.5", &["cache-mb: expected MB, got a fraction"]);
    check("allowed-hosts = 'a:1'", &["s.toml:1: allowed-hosts: expected HOSTS, got \"a:1\": expected host names"]);
    check("trusted-proxies = 'x'", &["trusted-proxies: expected PROXIES, got \"x\": expected addresses or networks"]);
    check("methods = ['Get*']", &["methods: expected METHODS, got an array"]);
    check("durability = 'never'", &["durability: expected flush or relaxed, got \"never\""]);
    check("profile = 'x'", &["profile: expected isolated or testnet or mainnet or zq2, got \"x\""]);
    check("block-mode = 'fast'", &["block-mode", "instant, interval=MS"]);
    check("ephemeral = 'yes'", &["ephemeral: expected true or false, got text"]);
    check("listen = ['a']", &["listen: expected ADDR:PORT, got an array"]);
    check("[http]\na = 1", &["s.toml:1: unknown key \"http\""]);
    check("listen", &["s.toml:1: expected TOML"]);
    check("shards = 1\nshards = 2", &["s.toml:2: expected TOML", "duplicate"]);
    check("accounts = 3", &["accounts", "s.toml:1", "requires mnemonic"]);
}

#[test]
fn file_that_is_not_utf8_is_rejected_with_its_line() {
    let error = File::parse(b"shards = 1\n# caf\xe9\n", Path::new("s.toml")).unwrap_err().to_string();
    assert_eq!(error, "s.toml:2: expected TOML: got bytes that are not UTF-8");
}

#[test]
fn missing_file_is_named() {
    let matches = command().try_get_matches_from(["silica", "--config", "/none/s.toml"]).unwrap();
    let error = Settings::gather(&matches).unwrap_err().to_string();
    assert!(error.contains("cannot read configuration file /none/s.toml"), "{error}");
}

#[test]
fn methods_for_developers_are_off_for_other_machines() {
    let check = |listening: &[&str], expected| {
        let listening: Vec<_> = listening.iter().map(|addr| addr.parse().unwrap()).collect();
        assert_eq!(When::Auto.is_on(&listening), expected, "{listening:?}");
        assert!(When::On.is_on(&listening) && !When::Off.is_on(&listening));
    };
    check(&["127.0.0.1:5555"], true);
    check(&["127.8.0.1:5555", "[::1]:4401", "[::ffff:127.0.0.1]:1"], true);
    check(&["0.0.0.0:5555"], false);
    check(&["[::]:5555"], false);
    check(&["127.0.0.1:5555", "192.168.0.7:4401"], false);
    check(&["[::ffff:10.0.0.1]:1"], false);
}
