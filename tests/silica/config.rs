//! Flags, environment, TOML file and profile, in this order of precedence, and the settings that a data directory
//! keeps.

use std::{fs, path::Path};

use serde_json::json;
use silica_tests::{
    Directory, Node, Wallet,
    node::{Finished, command, run},
};

use crate::balance;

const WORDS: &str = "legal winner thank year wave sausage worth useful legal winner thank yellow";

/// Checks that a process ended with an error and a message with each of `words`.
#[track_caller]
fn check_refused(end: &Finished, words: &[&str]) {
    assert!(!end.status.success(), "{}", end.output);
    for word in words {
        assert!(end.output.contains(word), "{word:?} is missing in\n{}", end.output);
    }
}

#[test]
fn sources_have_their_precedence() {
    let directory = Directory::new();
    let file = directory.path().join("silica.toml");
    fs::write(&file, "profile = \"zq2\"\ncache-mb = 9\nshards = 4\nproof-window = 60\n").unwrap();
    let file = file.to_str().unwrap();
    let mut command = command(&["config", "print", "--config", file, "--shards", "2"]);
    let output = command.env("SILICA_CACHE_MB", "17").env("SILICA_SHARDS", "3").output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    for line in [
        "shards = 2 # --shards",
        "cache-mb = 17 # SILICA_CACHE_MB",
        &format!("proof-window = 60 # {file}:4"),
        "chain-id = 1 # profile zq2",
        "durability = \"flush\" # default",
    ] {
        assert!(text.lines().any(|found| found == line), "{line:?} is missing in\n{text}");
    }
    // The output is a configuration file with the same settings.
    let printed = directory.path().join("printed.toml");
    fs::write(&printed, &text).unwrap();
    let again = run(&["config", "print", "--config", printed.to_str().unwrap()]).output;
    let values = |text: &str| -> Vec<String> {
        text.lines().filter_map(|line| line.split_once(" # ")).map(|(value, _)| value.to_owned()).collect()
    };
    assert_eq!(values(&again), values(&text));
}

#[test]
fn printed_defaults_do_not_contradict_a_single_node() {
    let directory = Directory::new();
    let file = directory.path().join("silica.toml");
    fs::write(&file, run(&["config", "print"]).output).unwrap();
    let data = directory.path().join("data");
    assert!(Node::start_in(&data, &["--config", file.to_str().unwrap()]).stop().status.success());
}

#[test]
fn mistake_in_the_file_is_named_by_its_line() {
    let directory = Directory::new();
    let file = directory.path().join("silica.toml");
    let path = file.to_str().unwrap();
    for (text, words) in [
        ("\nchian-id = 3\n", vec![":2: unknown key \"chian-id\"; did you mean \"chain-id\"?"]),
        ("cache-mb = 7\n", vec![":1: cache-mb: expected MB, got 7", "8..=1048576"]),
        ("listen = \"here\"\n", vec![":1: listen: expected ADDR:PORT, got \"here\"", "as 127.0.0.1:5555"]),
        ("a = [\n", vec!["expected TOML"]),
    ] {
        fs::write(&file, text).unwrap();
        let end = run(&["--ephemeral", "--config", path]);
        check_refused(&end, &words);
        check_refused(&end, &[path]);
    }
    check_refused(&run(&["--config", "/none/silica.toml"]), &["/none/silica.toml"]);
}

/// Runs a command with environment variables, and returns its result.
fn run_with_variables(variables: &[(&str, &str)], args: &[&str]) -> Finished {
    let output = command(args).envs(variables.iter().copied()).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    Finished { status: output.status, output: String::from_utf8(text).unwrap() }
}

#[test]
fn flag_takes_precedence_over_a_contrary_variable() {
    let printed = |variable, args: &[&str], expected: &str| {
        let end = run_with_variables(&[variable], &[&["config", "print"], args].concat());
        assert!(end.output.lines().any(|line| line == expected), "{expected:?} is missing in\n{}", end.output);
    };
    printed(("SILICA_EPHEMERAL", "true"), &["--data-dir", "d"], "data-dir = \"d\" # --data-dir");
    printed(("SILICA_DATA_DIR", "d"), &["--ephemeral"], "ephemeral = true # --ephemeral");
    printed(("SILICA_MNEMONIC", WORDS), &["--accounts-file", "f"], "accounts-file = \"f\" # --accounts-file");
    printed(("SILICA_ACCOUNTS_FILE", "f"), &["--mnemonic", WORDS], "# mnemonic is set, by --mnemonic");
    let both = [("SILICA_EPHEMERAL", "true"), ("SILICA_DATA_DIR", "d")];
    check_refused(&run_with_variables(&both, &["config", "print"]), &["by SILICA_EPHEMERAL", "by SILICA_DATA_DIR"]);
}

#[test]
fn mistake_in_the_environment_is_named_by_its_variable() {
    let check = |variable: (&str, &str), args: &[&str], words: &[&str]| {
        let end = run_with_variables(&[variable], args);
        check_refused(&end, words);
        assert!(!end.output.contains("legal"), "{}", end.output);
    };
    check(("SILICA_CACHE_MB", "7"), &["config", "print"], &["'7' for SILICA_CACHE_MB: 7 is not in 8..=1048576"]);
    check(("SILICA_CACHE_MB", ""), &[], &["'' for SILICA_CACHE_MB"]);
    check(("SILICA_URL", "ftp://a"), &["block"], &["'ftp://a' for SILICA_URL: expected http://HOST"]);
    check(("SILICA_MNEMONIC", "legal winner"), &[], &["SILICA_MNEMONIC", "12, 15, 18, 21 or 24", "got 2"]);
    // The flag takes precedence, so the error names the flag.
    check(("SILICA_CACHE_MB", "7"), &["--cache-mb", "7"], &["'7' for '--cache-mb <MB>'"]);
    check(("SILICA_CACHE_MB", "7"), &["--shards", "0"], &["'0' for '--shards <N>'"]);
}

#[test]
fn commands_for_a_data_directory_read_the_file() {
    let directory = Directory::new();
    let file = directory.path().join("silica.toml");
    fs::write(&file, format!("data-dir = {:?}\n", directory.path().join("data"))).unwrap();
    let config = ("SILICA_CONFIG", file.to_str().unwrap());
    Node::start_in(&directory.path().join("data"), &[]).stop();
    let end = run_with_variables(&[config], &["db", "check"]);
    assert!(end.status.success() && end.output.contains("clean"), "{}", end.output);
    let end = run_with_variables(&[config], &["db", "check", "--data-dir", "/none/data"]);
    check_refused(&end, &["/none/data"]);
}

#[test]
fn profiles_have_their_chains_and_accounts() {
    let chain = |profile: &str| {
        let node = Node::start(&["--profile", profile]);
        node.result("GetNetworkId", &json!([])).as_str().unwrap().to_owned()
    };
    assert_eq!(chain("testnet"), "333");
    assert_eq!(chain("mainnet"), "1");
    let node = Node::start(&["--profile", "zq2"]);
    assert_eq!(node.result("GetNetworkId", &json!([])), "1");
    // The account of the secret key 2.
    assert_eq!(balance(&node, "8d393a22e4476ff8212de13fe1939de2a236f0a7").0, 5_000 * 10_u128.pow(12));
}

#[test]
fn profile_of_another_chain_is_refused_with_both_values() {
    let directory = Directory::new();
    let data = directory.path().join("data");
    Node::start_in(&data, &["--profile", "mainnet"]).stop();
    let end = Node::try_start_in(&data, &["--profile", "testnet"]).unwrap_err();
    check_refused(&end, &["chain with id 1", "profile testnet requires 333"]);
    let end = Node::try_start_in(&data, &["--profile", "zq2"]).unwrap_err();
    check_refused(&end, &["accounts of profile isolated", "--profile requires those of zq2"]);
    Node::start_in(&data, &["--profile", "mainnet"]).stop();
    Node::start_in(&data, &[]);
}

#[test]
fn words_give_the_accounts_of_a_wallet() {
    let directory = Directory::new();
    let data = directory.path().join("data");
    let node = Node::start_in(&data, &["--mnemonic", WORDS, "--accounts", "2"]);
    // zilliqa-js derives the same addresses.
    for address in ["dda52b7725798135ae5c08395554dd5794764a93", "0cb67ceba33ebd6e223f45df8122228080d994e5"] {
        assert_eq!(balance(&node, address).0, silica_tests::wallet::FUNDS);
    }
    for address in ["d899027a7d3df3aaa63077dabdd785fa1936c99e".to_owned(), Wallet::funded(0).hex()] {
        assert!(node.call("GetBalance", &json!([address])).is_err());
    }
    assert!(!node.stop().output.contains("legal"));
    let end = Node::try_start_in(&data, &["--mnemonic", WORDS, "--accounts", "3"]).unwrap_err();
    check_refused(&end, &["genesis accounts of its own", "--mnemonic requires its first 3 accounts"]);
    assert!(!end.output.contains("legal"));
    Node::start_in(&data, &["--mnemonic", WORDS, "--accounts", "2"]);
}

#[test]
fn mnemonic_words_are_never_shown() {
    let check = |arguments: &[&str], words: &[&str]| {
        let end = run(arguments);
        assert!(!end.output.contains("legal") && !end.output.contains("jahr"), "{}", end.output);
        for word in words {
            assert!(end.output.contains(word), "{word:?} is missing in\n{}", end.output);
        }
    };
    check(&["config", "print", "--mnemonic", WORDS], &["# mnemonic is set, by --mnemonic"]);
    check(&["--ephemeral", "--mnemonic", &WORDS.replace("year", "jahr")], &["--mnemonic", "position 4"]);
    check(&["--ephemeral", "--mnemonic", "legal winner"], &["--mnemonic", "12, 15, 18, 21 or 24", "got 2"]);
    check(&["--ephemeral", "--accounts", "2"], &["accounts (by --accounts) requires mnemonic"]);
}

/// Returns the output of `silica config print` for a command line and an environment, without the comments.
fn effective(args: &[&str], variables: &[(String, String)]) -> Vec<String> {
    let mut print = command(&[&["config", "print"], args].concat());
    print.envs(variables.iter().map(|(name, value)| (name, value)));
    let output = print.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter_map(|line| Some(line.split_once(" # ")?.0.to_owned())).collect()
}

#[test]
fn service_and_container_have_methods_for_developers_off() {
    let operations = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/operations");
    let off = "developer = \"off\"".to_owned();
    let service = fs::read_to_string(operations.join("silica.service")).unwrap();
    let starts: Vec<_> = service.lines().filter_map(|line| line.strip_prefix("ExecStart=")).collect();
    assert_eq!(starts.len(), 1);
    let mut words: Vec<_> = starts[0].split(' ').skip(1).collect();
    let config = words.iter().position(|word| *word == "--config").expect("the service has a file of options");
    // The file belongs to the operator, so the test reads only the flags of the service.
    words.drain(config..config + 2);
    assert!(effective(&words, &[]).contains(&off), "{words:?}");

    let container = fs::read_to_string(operations.join("Containerfile")).unwrap();
    let variables: Vec<_> = container
        .lines()
        .filter_map(|line| line.strip_prefix("ENV "))
        .flat_map(|line| line.split(' '))
        .map(|variable| variable.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())).unwrap())
        .collect();
    assert!(container.lines().any(|line| line == "ENTRYPOINT [\"/silica\"]") && !container.contains("\nCMD"));
    assert!(effective(&[], &variables).contains(&off), "{variables:?}");
}

#[test]
fn container_has_the_options_and_licences_of_a_release() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let [release, container] =
        ["release.md", "operations/Containerfile"].map(|name| fs::read_to_string(docs.join(name)).unwrap());
    let build = release.lines().find(|line| line.starts_with("cargo build --profile dist")).unwrap();
    let options: Vec<_> = build.split(' ').collect();
    assert!(options.contains(&"network"), "{build}");
    let of_container = container.lines().find(|line| line.contains("cargo build")).unwrap();
    assert!(options.iter().all(|option| of_container.split(' ').any(|word| word == *option)), "{of_container}");
    for file in ["LICENSE-APACHE", "LICENSE-MIT", "/image/licenses/NOTICE"] {
        assert!(container.contains(file), "{file}");
    }
    assert!(release.contains("`/licenses/NOTICE`"));
}
