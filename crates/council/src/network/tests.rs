//! Tests of the network file as a whole.

use proptest::prelude::*;
use silica_crypto::KeyPair;
use silica_protocol::BlockNumber;

use super::*;
use crate::testing;

/// Returns the text of a valid file with four members.
fn text() -> String {
    testing::network_file(4)
}

fn parse(text: &str) -> NetworkFile {
    NetworkFile::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Replaces a line that begins with `field`, and returns the error.
#[track_caller]
fn error_of(field: &str, line: &str) -> String {
    let text = text();
    let position = text.lines().position(|old| old.starts_with(field)).unwrap();
    let lines: Vec<_> = text.lines().enumerate().map(|(at, old)| if at == position { line } else { old }).collect();
    NetworkFile::parse(&lines.join("\n")).expect_err(line).to_string()
}

#[test]
fn a_file_has_its_parts() {
    let file = parse(&text());
    let parameters = file.parameters();
    assert_eq!((parameters.name.as_str(), parameters.chain_id.get(), parameters.shards), ("example-4", 333, 1));
    assert_eq!(parameters.genesis_time.get(), 1_790_000_000_000_000);
    assert_eq!(parameters.coinbase_reward.get(), 176_000_000_000_000_000);
    assert_eq!(parameters.accounts.file, "accounts.json");
    assert_eq!(parameters.blocks, BlockTiming::Interval(Duration::from_secs(1)));
    assert_eq!((parameters.drift, parameters.propose_timeout), (Duration::from_secs(2), Duration::from_secs(1)));
    assert_eq!(parameters.max_body, 4 << 20);
    assert_eq!(file.members().len(), 4);
    assert_eq!(file.members()[1].name, "m1");
    assert_eq!(file.committee(), testing::keys(4).iter().map(KeyPair::public_key).collect::<Vec<_>>());
    assert_eq!((file.quorum(), file.faults()), (3, 1));
    let address = MemberAddress { member: 0, agreement: "10.0.0.1:4211".to_owned() };
    assert_eq!(file.addresses(), [address]);
}

#[test]
fn fields_with_a_default_can_be_omitted() {
    let omitted = ["blocks =", "interval =", "drift =", "propose-timeout =", "max-body ="];
    let text = text();
    let lines = text.lines().filter(|line| !omitted.iter().any(|field| line.starts_with(field)));
    let file = parse(&lines.collect::<Vec<_>>().join("\n"));
    let complete = text.replace("propose-timeout = \"1s\"", "propose-timeout = \"3s\"");
    assert_eq!(file, parse(&complete));
    // The default does not depend on the build.
    assert_eq!(file, parse(&complete.replace("drift =", "scilla-rules = \"0.13/3\"\ndrift =")));
}

#[test]
fn blocks_on_demand_have_options_of_their_own() {
    let text = text().replace("blocks = \"interval\"\ninterval = \"1s\"", "blocks = \"on-demand\"\nmin-gap = \"0ms\"");
    let timing = BlockTiming::OnDemand { max_idle: Duration::from_mins(1), min_gap: Duration::ZERO };
    assert_eq!(parse(&text).parameters().blocks, timing);
}

#[test]
fn committees_of_two_and_three_have_no_faults() {
    for members in [2, 3] {
        let file = parse(&testing::network_file(members));
        assert_eq!((file.quorum(), file.faults()), (members, 0));
    }
}

/// The expected id is a recorded value. Another canonical form needs another tag.
#[test]
fn the_network_id_is_stable() {
    let id = parse(&text()).id().to_string();
    assert_eq!(id, "3db8a13b0254425f7abae2f810504dd7860646fe7b9a297aff52ec4b422501a1");
}

#[test]
fn form_of_the_text_does_not_change_the_network_id() {
    let text = text();
    let id = parse(&text).id();
    let upper_case = |text: &str| {
        let lines = text.lines().map(|line| match line.split_once("possession = ") {
            Some((_, digits)) => format!("possession = {}", digits.to_uppercase()),
            None => line.to_owned(),
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    let same = [
        format!("# comment\n\n{text}"),
        text.replace("chain-id = 333", "chain-id = 0x14d  # in base 16"),
        text.replace("interval = \"1s\"", "interval = \"1000ms\""),
        text.replace("max-body = \"4MiB\"", "max-body = \"4096KiB\""),
        text.replace("coinbase-reward = \"176000000000000000\"", "coinbase-reward = 176000000000000000"),
        text.replace("accounts.json", "../other.json"),
        text.replace("10.0.0.1:4211", "[::1]:9"),
        text.split("[[address]]").next().unwrap().to_owned(),
        upper_case(&text),
    ];
    for other in same {
        assert_ne!(text, other);
        assert_eq!(parse(&other).id(), id, "{other}");
    }
}

#[test]
fn each_shared_field_changes_the_network_id() {
    let text = text();
    let mut ids = vec![parse(&text).id()];
    let changes = [
        ("genesis-time = 1790000000000000", "genesis-time = 1790000000000001"),
        ("shards = 1", "shards = 2"),
        ("blocks-per-ds-epoch = 100", "blocks-per-ds-epoch = 101"),
        ("shard-gas-limit = 400000", "shard-gas-limit = 400001"),
        ("ds-gas-limit = 500000", "ds-gas-limit = 500001"),
        ("minimum-gas-price = 2000000000", "minimum-gas-price = 2000000001"),
        ("coinbase-reward = \"176000000000000000\"", "coinbase-reward = 0"),
        ("sha256 = \"11", "sha256 = \"12"),
        ("interval = \"1s\"", "interval = \"2s\""),
        ("blocks = \"interval\"\ninterval = \"1s\"", "blocks = \"on-demand\"\nmax-idle = \"1s\""),
        ("blocks = \"interval\"\ninterval = \"1s\"", "blocks = \"on-demand\"\nmin-gap = \"1s\""),
        ("drift = \"2s\"", "drift = \"3s\""),
        ("propose-timeout = \"1s\"", "propose-timeout = \"2s\""),
        ("max-body = \"4MiB\"", "max-body = \"2MiB\""),
        ("max-body = \"4MiB\"", "scilla-rules = \"0.13/2\""),
        ("name = \"m1\"", "name = \"m9\""),
    ];
    for (old, new) in changes {
        let changed = text.replace(old, new);
        assert_ne!(changed, text, "{old}");
        ids.push(parse(&changed).id());
    }
    // The name and the chain id are in each proof, and the order of members is the order of the committee.
    ids.push(parse(&testing::network_file_with("other", 333, 4)).id());
    ids.push(parse(&testing::network_file_with("example-4", 334, 4)).id());
    ids.push(parse(&testing::network_file(5)).id());
    let mut swapped = parse(&text);
    swapped.members.swap(0, 1);
    ids.push(swapped.id());
    let mut peer = parse(&text);
    peer.members[0].peer = PeerId::new([99; 32]);
    ids.push(peer.id());
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count);
}

#[test]
fn rule_changes_are_ascending_and_do_not_change_the_network_id() {
    let with = |tables: &str| NetworkFile::parse(&format!("{}\n{tables}", text()));
    let change = |block: u64, rules: &str| format!("[[rules-from]]\nblock = {block}\nscilla-rules = \"{rules}\"\n");
    let file = with(&(change(2, "latest/3") + &change(9, "0.13/2"))).unwrap();
    let changes = [(2, "latest/3"), (9, "0.13/2")]
        .map(|(block, rules)| RuleChange { block: BlockNumber::new(block), scilla: rules.parse().unwrap() });
    assert_eq!(file.parameters().rule_changes, changes);
    assert_eq!(file.id(), parse(&text()).id());
    let named = [1, 2, 8, 9].map(|block| file.parameters().named_rules(BlockNumber::new(block)));
    let [latest, early] = changes.map(|change| Some(change.scilla));
    assert_eq!(named, [None, latest, latest, early]);
    let line = |offset| text().lines().count() + 1 + offset;
    let least = |least: u64| format!("rules-from.block: expected a number from {least} to 18446744073709551615, got");
    let rules = "rules-from.scilla-rules: expected Scilla rules that this program supports, such as 0.13/3, got";
    for (tables, at, expected) in [
        (change(1, "latest/3"), 2, format!("{} 1", least(2))),
        (change(9, "latest/3") + &change(9, "0.13/3"), 5, format!("{} 9", least(10))),
        (change(2, "latest"), 3, format!("{rules} \"latest\"")),
        (change(2, "latest/99"), 3, format!("{rules} \"latest/99\"")),
        ("[[rules-from]]\nblock = 2\n".to_owned(), 1, format!("{rules} no value")),
        (
            "[[rules-from]]\nscilla-rules = \"0.13/3\"\n".to_owned(),
            1,
            "rules-from.block: expected the number of a Tx block, got no value".to_owned(),
        ),
        (
            change(2, "latest/3") + "shards = 1\n",
            4,
            "rules-from.shards: expected one of block, scilla-rules, got an unknown name".to_owned(),
        ),
        (
            "[rules-from]\n".to_owned(),
            1,
            "rules-from: expected tables, each under [[rules-from]], got a table".to_owned(),
        ),
    ] {
        assert_eq!(with(&tables).unwrap_err().to_string(), format!("line {}: {expected}", line(at)), "{tables}");
    }
}

#[test]
fn each_field_of_the_network_has_its_error() {
    let cases = [
        ("name = ", "name = \"\"", "line 2: network.name: expected 1 to 64 lower-case letters, digits and hyphens, got \"\"".to_owned()),
        ("name = ", "name = \"Net\"", "line 2: network.name: expected 1 to 64 lower-case letters, digits and hyphens, got \"Net\"".to_owned()),
        ("name = ", "name = 4", "line 2: network.name: expected 1 to 64 lower-case letters, digits and hyphens, got 4".to_owned()),
        ("name = ", "", "line 1: network.name: expected 1 to 64 lower-case letters, digits and hyphens, got no value".to_owned()),
        ("chain-id", "chain-id = 0", "line 3: network.chain-id: expected a number from 1 to 65535, got 0".to_owned()),
        ("chain-id", "chain-id = 65536", "line 3: network.chain-id: expected a number from 1 to 65535, got 65536".to_owned()),
        ("chain-id", "chain-id = \"333\"", "line 3: network.chain-id: expected a number from 1 to 65535, got \"333\"".to_owned()),
        ("chain-id", "chain_id = 333", "line 1: network.chain-id: expected a number from 1 to 65535, got no value".to_owned()),
        ("genesis-time", "genesis-time = -1", "line 4: network.genesis-time: expected a number from 1 to 9223372036854775807, got -1".to_owned()),
        ("genesis-time", "genesis-time = 2026-01-01", "line 4: network.genesis-time: expected a number from 1 to 9223372036854775807, got 2026-01-01".to_owned()),
        ("shards", "shards = 0", "line 5: network.shards: expected a number from 1 to 120, got 0".to_owned()),
        ("shards", "shards = 79", "line 5: network.shards: expected at most 78 with 4 members, got 79".to_owned()),
        ("blocks-per", "blocks-per-ds-epoch = 1", "line 6: network.blocks-per-ds-epoch: expected a number from 2 to 18446744073709551615, got 1".to_owned()),
        ("shard-gas", "shard-gas-limit = 49", "line 7: network.shard-gas-limit: expected a number from 50 to 4294967295, got 49".to_owned()),
        ("ds-gas", "ds-gas-limit = 1.5", "line 8: network.ds-gas-limit: expected a number from 50 to 4294967295, got 1.5".to_owned()),
        ("minimum", "minimum-gas-price = 0", "line 9: network.minimum-gas-price: expected an amount of at least 1 Qa, got 0".to_owned()),
        ("minimum", "minimum-gas-price = \"1 ZIL\"", "line 9: network.minimum-gas-price: expected an amount of at least 1 Qa, got \"1 ZIL\"".to_owned()),
        ("coinbase", "coinbase-reward = \"340282366920938463463374607431768211456\"", "line 10: network.coinbase-reward: expected an amount in Qa, got \"340282366920938463463374607431768211456\"".to_owned()),
        ("coinbase", "coinbase-reward = \"\"", "line 10: network.coinbase-reward: expected an amount in Qa, got \"\"".to_owned()),
        ("accounts", "accounts = \"a\"", "line 11: network.accounts: expected a table, got \"a\"".to_owned()),
        ("accounts", "accounts = { sha256 = \"00\" }", "line 11: network.accounts.file: expected a path, got no value".to_owned()),
        ("accounts", "accounts = { file = \"\", sha256 = \"00\" }", "line 11: network.accounts.file: expected a path, got \"\"".to_owned()),
        ("accounts", "accounts = { file = \"a\", sha256 = \"00\" }", "line 11: network.accounts.sha256: expected 64 hexadecimal digits, got \"00\"".to_owned()),
        ("blocks =", "blocks = \"often\"", "line 12: network.blocks: expected \"interval\" or \"on-demand\", got \"often\"".to_owned()),
        ("blocks =", "blocks = \"on-demand\"", "line 13: network.interval: expected no value, because blocks is \"on-demand\", got \"1s\"".to_owned()),
        ("blocks =", "min-gap = \"1s\"", "line 12: network.min-gap: expected no value, because blocks is \"interval\", got \"1s\"".to_owned()),
        ("interval", "interval = 1", "line 13: network.interval: expected a duration from 1ms to 3600000ms, with the unit ms, s or m, got 1".to_owned()),
        ("interval", "interval = \"0s\"", "line 13: network.interval: expected a duration from 1ms to 3600000ms, with the unit ms, s or m, got \"0s\"".to_owned()),
        ("drift", "drift = \"11s\"", "line 14: network.drift: expected a duration from 1ms to 10000ms, with the unit ms, s or m, got \"11s\"".to_owned()),
        ("propose", "propose-timeout = \"1h\"", "line 15: network.propose-timeout: expected a duration from 10ms to 30000ms, with the unit ms, s or m, got \"1h\"".to_owned()),
        ("max-body", "max-body = \"4MB\"", "line 16: network.max-body: expected a size from 256KiB to 16MiB, with the unit KiB or MiB, got \"4MB\"".to_owned()),
        ("max-body", "max-body = \"255KiB\"", "line 16: network.max-body: expected a size from 256KiB to 16MiB, with the unit KiB or MiB, got \"255KiB\"".to_owned()),
        ("max-body", "max-body = \"17MiB\"", "line 16: network.max-body: expected a size from 256KiB to 16MiB, with the unit KiB or MiB, got \"17MiB\"".to_owned()),
        ("max-body", "max-boby = \"4MiB\"", "line 16: network.max-boby: expected one of name, chain-id, genesis-time, shards, blocks-per-ds-epoch, shard-gas-limit, ds-gas-limit, minimum-gas-price, coinbase-reward, accounts, blocks, interval, max-idle, min-gap, drift, propose-timeout, max-body, scilla-rules, got an unknown name".to_owned()),
        ("max-body", "scilla-rules = \"0.13/9999\"", "line 16: network.scilla-rules: expected Scilla rules that this program supports, such as 0.13/3, got \"0.13/9999\"".to_owned()),
        ("max-body", "scilla-rules = 13", "line 16: network.scilla-rules: expected Scilla rules that this program supports, such as 0.13/3, got 13".to_owned()),
        ("max-body", "max-body = ", "line 16: ".to_owned()),
        ("max-body", "shards = 2", "line 16: duplicate key".to_owned()),
        ("[network]", "[net]", "line 1: network: expected a table, got no value".to_owned()),
    ];
    for (field, line, expected) in cases {
        let error = error_of(field, line);
        assert!(error.starts_with(&expected), "{line}\nexpected {expected}\ngot      {error}");
    }
}

/// Returns the error of a file whose `[[member]]` tables are changed.
#[track_caller]
fn error_after(change: impl FnOnce(String) -> String) -> String {
    NetworkFile::parse(&change(text())).unwrap_err().to_string()
}

#[test]
fn each_field_of_a_member_has_its_error() {
    let file = parse(&text());
    let [first, second] = [0, 1].map(|at| file.members()[at].clone());
    let replace = |old: &str, new: &str| {
        error_after(|text| {
            assert!(text.contains(old), "{old}");
            text.replacen(old, new, 1)
        })
    };
    assert_eq!(
        replace("name = \"m1\"", "name = \"m0\""),
        "line 26: member.name: expected a value of this member only, got the value of member \"m0\""
    );
    assert_eq!(
        replace("name = \"m1\"", "name = 1"),
        "line 26: member.name: expected 1 to 64 lower-case letters, digits and hyphens, got 1"
    );
    assert_eq!(
        replace(&second.key.to_string(), &first.key.to_string()),
        "line 27: member.key: expected a value of this member only, got the value of member \"m0\""
    );
    let off_curve = format!("02{}", "00".repeat(32));
    assert_eq!(
        replace(&second.key.to_string(), &off_curve),
        format!(
            "line 27: member.key: expected 66 hexadecimal digits of a compressed point of secp256k1, got \"{off_curve}\""
        )
    );
    assert_eq!(
        replace(&second.peer.to_string(), &first.peer.to_string()),
        "line 29: member.peer: expected a value of this member only, got the value of member \"m0\""
    );
    assert_eq!(
        replace(&second.peer.to_string(), "Qm"),
        "line 29: member.peer: expected the peer id of an Ed25519 key, got \"Qm\""
    );
    let proof = "line 28: member.possession: expected a proof of this key and peer for the network \"example-4\" with chain id 333";
    let mismatch = format!("{proof}, got signature does not match message and public key");
    assert_eq!(replace(&second.possession.to_string(), &first.possession.to_string()), mismatch);
    assert_eq!(replace(&second.peer.to_string(), &PeerId::new([99; 32]).to_string()), mismatch);
    let range = "expected r from 1 to n - 1 (n is the order of secp256k1), got 0 or a number above n - 1";
    assert_eq!(replace(&second.possession.to_string(), &"00".repeat(64)), format!("{proof}, got signature: {range}"));
    assert_eq!(
        replace(&second.possession.to_string(), "00"),
        "line 28: member.possession: expected 128 hexadecimal digits of a proof of possession, got \"00\""
    );
    assert_eq!(
        replace("name = \"m1\"", "name = \"m1\"\nweight = 2"),
        "line 27: member.weight: expected one of name, key, possession, peer, got an unknown name"
    );
    assert_eq!(
        replace(&format!("peer = \"{}\"", second.peer), ""),
        "line 25: member.peer: expected the peer id of an Ed25519 key, got no value"
    );
    assert_eq!(
        replace("name = \"example-4\"", "name = \"example-5\"").split(", got").next(),
        Some(
            "line 22: member.possession: expected a proof of this key and peer for the network \"example-5\" with chain id 333"
        )
    );
}

#[test]
fn the_number_of_members_is_bounded() {
    let error = NetworkFile::parse(&testing::network_file(1)).unwrap_err();
    assert_eq!(error.to_string(), "line 19: member: expected 2 to 64 tables, got 1");
    let none = text().split("[[member]]").next().unwrap().to_owned();
    let error = NetworkFile::parse(&none).unwrap_err();
    assert_eq!(error.to_string(), "line 1: member: expected tables, each under [[member]], got no value");
    let error = NetworkFile::parse(&format!("{none}\n[member]\nname = \"a\"")).unwrap_err();
    assert_eq!(error.to_string(), "line 20: member: expected tables, each under [[member]], got a table");
    let error = NetworkFile::parse(&testing::network_file(65)).unwrap_err();
    assert_eq!(error.to_string(), "line 19: member: expected 2 to 64 tables, got 65");
}

#[test]
fn each_field_of_an_address_has_its_error() {
    let at = text().lines().position(|line| line == "[[address]]").unwrap() + 1;
    let replace = |old: &str, new: &str| {
        error_after(|text| {
            let (head, tail) = text.split_once("[[address]]").unwrap();
            assert!(tail.contains(old), "{old}");
            format!("{head}[[address]]{}", tail.replacen(old, new, 1))
        })
    };
    let line = |offset: usize| at + offset;
    assert_eq!(
        replace("\"m0\"", "\"x\""),
        format!("line {}: address.name: expected the name of a member, got \"x\"", line(1))
    );
    for wrong in ["10.0.0.1", "10.0.0.1:0", "10.0.0.1:65536", ":1", "[::g]:1", "a b:1", "a:+1", "a:"] {
        assert_eq!(
            replace("10.0.0.1:4211", wrong),
            format!("line {}: address.agreement: expected host:port, got {wrong:?}", line(2))
        );
    }
    assert_eq!(
        replace("4211\"\n", "4211\"\nstream = \"https://a.example\"\n"),
        format!("line {}: address.stream: expected one of name, agreement, got an unknown name", line(3))
    );
    assert_eq!(
        error_after(|text| format!("{text}\n[[address]]\nname = \"m0\"\nagreement = \"a:1\"\n")),
        format!("line {}: address.name: expected a value of this member only, got the value of member \"m0\"", line(5))
    );
}

#[test]
fn a_text_that_is_no_toml_has_a_line() {
    let error = NetworkFile::parse("[network]\nname = \"a\"\nchain-id = = 3\n").unwrap_err();
    assert!(matches!(error, NetworkFileError::Syntax { line: 3, .. }), "{error}");
    assert_eq!(NetworkFile::parse("").unwrap_err().to_string(), "line 1: network: expected a table, got no value");
    let error = NetworkFile::parse(&format!("{}\n[extra]\n", text())).unwrap_err().to_string();
    assert!(
        error.ends_with(": extra: expected one of network, rules-from, member, address, got an unknown name"),
        "{error}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// A changed byte leaves the shared part as it is, or changes the network id, or leads to an error with a line.
    #[test]
    fn a_changed_byte_is_noticed(at in any::<prop::sample::Index>(), byte in 32_u8..127) {
        let text = text();
        let lines = text.lines().count();
        let mut bytes = text.clone().into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let changed = String::from_utf8(bytes).unwrap();
        match NetworkFile::parse(&changed) {
            Ok(file) => {
                let original = parse(&text);
                prop_assert_eq!(file.id() == original.id(), file.canonical() == original.canonical());
            }
            Err(NetworkFileError::Syntax { line, .. } | NetworkFileError::Field { line, .. }) => {
                prop_assert!((1..=lines).contains(&line), "{}", line);
            }
        }
    }

    #[test]
    fn arbitrary_text_does_not_panic(text in "(\\[\\[?(network|member|address|accounts)\\]?\\]\n|[a-z-]{1,12} = (\"[a-z0-9]*\"|[0-9]+|\\{\\}|\\[\\])\n){0,12}") {
        prop_assert!(NetworkFile::parse(&text).is_err());
    }
}

/// The genesis blocks name member 0, so a field with that key could contradict the members.
#[test]
fn the_leader_of_the_genesis_is_no_field() {
    let error = error_of("shards", "genesis-key = \"02\"\nshards = 1");
    assert!(error.starts_with("line 5: network.genesis-key: expected one of name, "), "{error}");
}

#[test]
fn a_check_reports_every_fault() {
    let changes = [
        ("chain-id = 333", "chain-id = 0"),
        ("drift = \"2s\"", "drift = 2"),
        ("name = \"m1\"", "name = \"M1\""),
        ("name = \"m3\"", "name = \"m2\""),
    ];
    let changed = changes.iter().fold(text(), |text, (old, new)| text.replacen(old, new, 1));
    let faults = NetworkFile::check(&format!("{changed}\n[extra]\n")).unwrap_err();
    let fields: Vec<_> = faults
        .iter()
        .map(|fault| match fault {
            NetworkFileError::Field { field, .. } => field.as_str(),
            NetworkFileError::Syntax { reason, .. } => reason.as_str(),
        })
        .collect();
    assert_eq!(fields, ["network.chain-id", "network.drift", "member.name", "member.name", "extra"]);
    assert_eq!(NetworkFile::parse(&changed).unwrap_err(), faults[0]);
}

#[test]
fn a_draft_has_any_number_of_members() {
    for members in [0, 1, 4] {
        let text = testing::network_file(4);
        let tables: Vec<_> = text.split("[[address]]").next().unwrap().split("[[member]]").collect();
        let draft = NetworkDraft::parse(&tables[..=members].join("[[member]]")).unwrap();
        assert_eq!((draft.members().len(), draft.parameters()), (members, parse(&text).parameters()));
    }
    let error = NetworkDraft::parse(&testing::network_file(65)).unwrap_err().to_string();
    assert!(error.ends_with(": member: expected 0 to 64 tables, got 65"), "{error}");
    let error = NetworkDraft::parse(&text().replacen("name = \"example-4\"", "", 1)).unwrap_err().to_string();
    assert!(error.starts_with("line 1: network.name: expected "), "{error}");
}
