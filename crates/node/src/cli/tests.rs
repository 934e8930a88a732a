//! Tests of command lines and of the configurations that they give.

use std::{num::NonZeroU32, time::Duration};

use clap::CommandFactory;
use silica_protocol::ChainId;
use silica_scilla::rules::Edition;

use super::{usage::without_env, *};
use crate::{
    block_mode::BlockMode,
    client::{GetProofArgs, VerifyArgs},
    config::{Config, Durability, Settings, When},
    listen::WebSocketPort,
    parent::Parent,
    rpc::RpcLimits,
};

fn parse(arguments: &str) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(std::iter::once("silica").chain(arguments.split_whitespace()))
}

#[test]
fn definition_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn no_arguments_run_the_defaults() {
    let cli = parse("").unwrap();
    assert!(cli.command.is_none());
    assert_eq!(format!("{:?}", Config::from(cli.run)), format!("{:?}", Config::default()));
}

#[test]
fn every_flag_reaches_the_configuration() {
    let cli = parse(
        "--data-dir d --listen 127.0.0.1:80 --websocket 127.0.0.1:81 --chain-id 333 --block-mode interval=250 \
         --pause-id 999 --accounts-file f --shards 3 --blocks-per-ds-epoch 5 --scilla-rules 0.11 --proof-window 60 --cache-mb 16 --durability relaxed --max-body-bytes 7 --developer off --studio on \
         --max-bodies-mb 9 --max-connections 8 --max-batch 4 --max-batch-answer-mb 2 --request-timeout 3 --idle-timeout 6 \
         --rate-limit 11 --stop-timeout 4 --allowed-hosts node,10.0.0.7 --allowed-origins https://a.b \
         --trusted-proxies 10.0.0.0/8 --methods Get* --operator-listen 127.0.0.1:82 --show-keys \
         --max-pending 12 --max-gapped 5",
    )
    .unwrap();
    let config = Config::from(cli.run);
    assert_eq!(config.data_dir, Some("d".into()));
    assert_eq!(config.listen, ([127, 0, 0, 1], 80).into());
    assert_eq!(config.websocket, Some(WebSocketPort::At(([127, 0, 0, 1], 81).into())));
    assert_eq!(config.chain_id, Some(ChainId::new(333)));
    assert_eq!(config.block_mode, BlockMode::Interval(Duration::from_millis(250)));
    assert_eq!((config.pause_id.as_deref(), config.accounts_file), (Some("999"), Some("f".into())));
    assert_eq!((config.shards, config.blocks_per_ds_epoch, config.show_keys), (Some(3), Some(5), true));
    assert_eq!(config.scilla_rules, Some(Edition::V0_11));
    assert_eq!((config.proof_window, config.cache_bytes), (60, 16 << 20));
    assert_eq!((config.durability, config.developer), (Durability::Relaxed, When::Off));
    assert_eq!(config.studio, When::On);
    assert_eq!((config.max_pending, config.max_gapped), (12, 5));
    assert_eq!((config.http.body_bytes, config.http.connections), (7, 8));
    assert_eq!(config.http.bodies_bytes, 9 << 20);
    assert_eq!(config.rpc, RpcLimits { batch: 4, batch_answer_bytes: 2 << 20, answer_bytes: 9 << 19 });
    let seconds = Duration::from_secs;
    assert_eq!((config.http.request_timeout, config.http.idle_timeout), (seconds(3), seconds(6)));
    assert_eq!((config.http.each_second, config.http.grace), (NonZeroU32::new(11), seconds(2)));
    assert_eq!(config.access.hosts, "node,10.0.0.7".parse().unwrap());
    assert_eq!(config.access.origins, "https://a.b".parse().unwrap());
    assert_eq!(config.access.proxies, "10.0.0.0/8".parse().unwrap());
    assert_eq!(config.operator_listen, Some(([127, 0, 0, 1], 82).into()));
    assert_eq!(config.methods, Some("Get*".parse().unwrap()));
    assert_eq!(Config::from(parse("--ephemeral").unwrap().run).data_dir, None);
}

#[test]
fn parent_is_named_or_not() {
    let parent = |arguments: &str| parse(arguments).unwrap().run.exit_with_parent;
    assert_eq!(parent(""), None);
    assert_eq!(parent("--exit-with-parent --ephemeral"), Some(Parent::Any));
    assert_eq!(parent("--exit-with-parent=77"), Some(Parent::Process(77)));
    check_refused("--exit-with-parent=yes", &["--exit-with-parent", "expected any, or the number of a process"]);
}

#[test]
fn short_help_is_short_and_long_help_ends_with_examples() {
    let short = Cli::command().render_help().to_string();
    assert!(short.lines().count() <= 60, "{} lines\n{short}", short.lines().count());
    assert!(short.contains("--listen") && short.contains("--ephemeral") && !short.contains("--max-batch"));
    let long = Cli::command().render_long_help().to_string();
    assert!(long.trim_end().ends_with(EXAMPLES.lines().last().unwrap()), "{long}");
    let place = |words: &str| long.find(words).unwrap_or_else(|| panic!("{words} is missing in {long}"));
    assert!(place("--listen") < place("--exit-with-parent") && place("--block-mode") < place("--max-batch"));
}

#[test]
fn subcommands_are_recognised() {
    assert!(matches!(parse("run --shards 2").unwrap().command, Some(Command::Run(RunArgs { shards: Some(2), .. }))));
    assert!(matches!(
        parse("db check --data-dir d").unwrap().command,
        Some(Command::Db(DbCommand::Check { continues: false, .. }))
    ));
    assert!(matches!(parse("db rebuild").unwrap().command, Some(Command::Db(DbCommand::Rebuild(_)))));
    assert!(matches!(parse("load --payments 5").unwrap().command, Some(Command::Load(LoadArgs { payments: 5, .. }))));
    assert!(matches!(parse("openrpc").unwrap().command, Some(Command::Openrpc)));
    assert!(matches!(
        parse(&format!("proof get {ADDRESS}")).unwrap().command,
        Some(Command::Proof(ProofCommand::Get(GetProofArgs { variable: None, .. })))
    ));
    assert!(matches!(
        parse(&format!("proof verify --root {ROOT} --address {ADDRESS} proof.json")).unwrap().command,
        Some(Command::Proof(ProofCommand::Verify(VerifyArgs { file: Some(_), url: None, .. })))
    ));
}

/// Checks that the parser rejects the arguments with a message that has each of `words`.
fn check_refused(arguments: &str, words: &[&str]) {
    let message = parse(arguments).unwrap_err().to_string();
    for word in words {
        assert!(message.contains(word), "{word} is missing in {message}");
    }
}

const ADDRESS: &str = "6d84363526a2d764835f8cf52dfeefe80a360fac";
const ROOT: &str = "6142ce35237ba92eb734a5442f4d22dbc4f00c7acf88d0ab07333b60e83dd93e";

#[test]
fn proofs_are_verified_with_a_root_of_something() {
    let check = |arguments: &str, words: &[&str]| {
        check_refused(&format!("proof verify {arguments}"), words);
    };
    check("", &["--root", "--url", "--address"]);
    check(&format!("--address {ADDRESS} f"), &["--root", "--url"]);
    check(&format!("--root {ROOT}"), &["--address"]);
    check(&format!("--root {ROOT} --address 12"), &["--address", "expected 40", "12"]);
    check(&format!("--root {ROOT} --address zil1qqqq"), &["--address", "bech32"]);
    check(&format!("--root 12 --address {ADDRESS}"), &["--root", "64"]);
    let good = format!("--root {ROOT} --address {ADDRESS}");
    check(&format!("{good} --index 1"), &["--variable"]);
    check(&format!("{good} --variable a --variable-hash {ROOT}"), &["--variable", "--variable-hash"]);
    check(&format!("{good} --variable a.b"), &["--variable", "letters, digits and underscores"]);
    check(&format!("{good} --variable-hash 12"), &["--variable-hash", "64"]);
    check(&format!("{good} --block 1"), &["--url"]);
    let url = format!("{good} --variable a --url");
    check(&format!("{url} ftp://a"), &["--url", "http://HOST"]);
    check(&format!("{url} http://a:b"), &["--url", "http://HOST"]);
    check(&format!("{url} http://a:99999"), &["--url", "http://HOST"]);
    check(&format!("{url} a:1"), &["--url", "http://HOST"]);
    check(&format!("{url} http://a --block first"), &["--block", "number or latest"]);
    check(&format!("{url} http://a file.json"), &["--url", "FILE"]);
    // Without a variable, the node proves the account.
    assert!(parse(&format!("proof verify {good} --url http://a")).is_ok());
}

#[test]
fn errors_name_the_flag_and_the_expected_value() {
    check_refused("--block-mode fast", &["--block-mode", "instant, interval=MS", "fast"]);
    for mode in ["instant+interval=0", "instant+interval", "instant+", "instant+interval=5=5", "manual=5"] {
        check_refused(&format!("--block-mode {mode}"), &["instant+interval=MS", mode]);
    }
    check_refused("--block-mode interval=0", &["1 to 86400000", "interval=0"]);
    check_refused("--shards 0", &["--shards", "1..=1000"]);
    check_refused("--scilla-rules 0.12", &["--scilla-rules", "expected 0.13, 0.11 or latest, got \"0.12\""]);
    check_refused("--shards 1001", &["--shards", "1..=1000"]);
    check_refused("--blocks-per-ds-epoch 1", &["--blocks-per-ds-epoch", "2.."]);
    check_refused("--proof-window 49", &["--proof-window", "50..=10000"]);
    check_refused("--max-pending 0", &["--max-pending", "1..=10000000"]);
    check_refused("--max-gapped 1001", &["--max-gapped", "1..=1000"]);
    check_refused("--chain-id 70000", &["--chain-id", "70000"]);
    for address in ["here", "localhost:5555", "5555", ":5555", "127.0.0.1"] {
        check_refused(
            &format!("--listen {address}"),
            &["--listen", address, "numeric address and a port, such as 127"],
        );
    }
    check_refused("--websocket localhost:1", &["--websocket", "numeric address and a port", "or off"]);
    check_refused("load --target localhost:1", &["--target", "numeric address and a port"]);
    check_refused("--durability never", &["--durability", "flush", "relaxed"]);
    check_refused("--allowed-hosts a:80", &["--allowed-hosts", "host names or addresses without ports", "a:80"]);
    check_refused("--allowed-origins null", &["--allowed-origins", "https://ide.example", "\"null\""]);
    check_refused("--trusted-proxies 10.0.0.0/64", &["--trusted-proxies", "10.0.0.0/8", "10.0.0.0/64"]);
    check_refused("--methods Gte*", &["--methods", "Get*", "Gte*"]);
    check_refused("--developer yes", &["--developer", "auto", "on", "off", "yes"]);
    check_refused("--studio 127.0.0.1:80", &["--studio", "auto", "on", "off", "127.0.0.1:80"]);
    check_refused("--listen 127.0.0.1:1 db check", &["db"]);
    check_refused("db", &["check", "rebuild"]);
}

#[test]
fn file_has_the_lowest_precedence_for_a_data_directory() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s.toml");
    let find = |toml: &str, words: &[&str]| {
        std::fs::write(&path, toml).unwrap();
        let words = [&["silica", "db", "check", "--config", path.to_str().unwrap()], words].concat();
        let matches = without_env(Cli::command()).try_get_matches_from(words).unwrap();
        let (_, matches) = matches.subcommand().unwrap();
        Settings::data_dir(matches.subcommand().unwrap().1).map_err(|error| error.to_string())
    };
    assert_eq!(find("data-dir = 'd'\nshards = 3", &[]), Ok("d".into()));
    assert_eq!(find("data-dir = 'd'", &["--data-dir", "e"]), Ok("e".into()));
    assert_eq!(find("shards = 3", &[]), Ok("silica-data".into()));
    assert!(find("shards = 3\nephemeral = true", &[]).unwrap_err().contains("ephemeral (by "));
    assert_eq!(find("ephemeral = true", &["--data-dir", "e"]), Ok("e".into()));
    assert!(find("shard = 3", &[]).unwrap_err().contains("did you mean \"shards\"?"));
}
