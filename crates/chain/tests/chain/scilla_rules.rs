//! The Scilla rules: their effect on receipts, and their storage with the chain.

use serde_json::json;
use silica_chain::{
    ChainConfig, DropReason, OpenError, ReplayError, RulesError, check, config::RuleChange, open, rebuild,
};
use silica_protocol::{BlockNumber, Gas, Qa, Receipt, SimulationRequest, Timestamp, UnsignedTransaction};
use silica_scilla::rules::{Edition, LibraryNames, Rules};

use crate::{
    contracts::{World, address_param, errors, hex, init, text_param},
    harness::{BEGIN, Net, config, genesis, memory, node, signed, user},
    replay::check_replay,
};

/// All sets of rules that a chain can have.
const ALL: [Rules; 4] =
    [Rules::UNNAMED, Rules::current(Edition::Latest), Rules::current(Edition::V0_13), Rules::current(Edition::V0_11)];

/// A contract that fails after the end of one procedure, within another procedure.
const REFUSES: &str = "scilla_version 0
library Refuses
let one = Uint32 1
contract Refuses ()
field count : Uint32 = Uint32 0
procedure Count ()
  n <- count;
  m = builtin add n one;
  count := m
end
procedure Refuse ()
  throw
end
transition Fail ()
  Count;
  Refuse
end
transition Add ()
  Count
end
";

#[test]
fn only_the_latest_revision_2_names_libraries_by_files_and_leaves_versions_to_the_interpreter() {
    const USER: &str = "scilla_version 0\nimport Numbers\ncontract User ()\nfield f : Uint32 = answer\n";
    let first = "latest/1".parse().unwrap();
    for rules in ALL.into_iter().chain([first]) {
        let by_files = rules == Rules::current(Edition::Latest);
        let mut world = World::with_rules(rules);
        let library = world.library();
        for (name, is_found) in [("Numbers", !by_files), ("Numbers.scillib", by_files)] {
            let pair = json!({
                "constructor": "Pair", "argtypes": ["String", "ByStr20"], "arguments": [name, hex(&library)]
            });
            let list = json!({"vname": "_extlibs", "type": "List (Pair String ByStr20)", "value": [pair]});
            let receipt = world.deploy(1, USER, &init(&[list]), 0).unwrap();
            assert_eq!(receipt.success, is_found, "{rules} {name}: {receipt:?}");
        }
        let version = json!([{"vname": "_scilla_version", "type": "Uint32", "value": "1"}]);
        let deployed = world.deploy(1, REFUSES, &version, 0);
        match deployed {
            Ok(receipt) => assert!(by_files && !receipt.success, "{rules}: {receipt:?}"),
            Err(_) => assert!(!by_files, "{rules}"),
        }
        check_replay(&world.net);
    }
}

/// Calls a transition. Compares the receipt with an earlier simulation and a later trace.
fn call(world: &mut World, to: silica_protocol::Address, tag: &str, params: &[serde_json::Value]) -> Receipt {
    let data = json!({ "_tag": tag, "params": params }).to_string();
    let request = SimulationRequest {
        sender: user(2),
        to,
        amount: Qa::ZERO,
        gas_price: None,
        gas_limit: Some(Gas::new(20_000)),
        code: String::new(),
        data: data.clone(),
        priority: false,
    };
    let simulated = world.net.test.chain().simulate(&request).unwrap().receipt;
    let transaction = signed(2, UnsignedTransaction { to, data, ..world.transaction(2) });
    let hash = transaction.hash();
    let receipt = world.run(2, transaction.into_unsigned()).unwrap();
    assert_eq!(simulated, receipt);
    assert_eq!(world.net.snapshot().trace(&hash).unwrap().receipt, receipt);
    receipt
}

fn raised(receipt: &Receipt) -> Vec<&str> {
    receipt.exceptions.iter().filter_map(|exception| exception.message.strip_prefix("Raised from ")).collect()
}

#[test]
fn receipts_have_the_exceptions_and_the_gas_of_the_rules() {
    let outcomes = ALL.map(|rules| {
        let mut world = World::with_rules(rules);
        let contract = world.deployed(1, REFUSES, &init(&[]));
        let failed = call(&mut world, contract, "Fail", &[]);
        let expected: &[&str] = match rules.edition() {
            Edition::Latest => &["Refuse", "Fail"],
            Edition::V0_11 | Edition::V0_13 => &["Count", "Fail"],
        };
        assert_eq!(raised(&failed), expected, "{rules}");
        let added = call(&mut world, contract, "Add", &[]);
        world.check_roots();
        check_replay(&world.net);
        added.cumulative_gas.get()
    });
    let [unnamed, latest, current, early] = outcomes;
    assert_eq!((unnamed, latest), (current, current));
    // The second initialisation of edition 0.11 adds 8 units: 6 for the libraries, 1 for the constraint and 1 for the
    // field.
    assert_eq!(early, current + 1);
}

#[test]
fn an_estimate_is_by_the_rules_of_the_chain() {
    let code = "scilla_version 0 contract Powers () transition T ()
        x = let a = Uint256 1 in let n = Uint32 4000 in builtin pow a n end";
    let [early, current] = [Edition::V0_11, Edition::V0_13].map(|edition| {
        let mut world = World::with_rules(Rules::current(edition));
        let to = world.deployed(1, code, &init(&[]));
        let data = json!({ "_tag": "T", "params": [] }).to_string();
        let request = SimulationRequest {
            sender: user(2),
            to,
            amount: Qa::ZERO,
            gas_price: None,
            gas_limit: None,
            code: String::new(),
            data,
            priority: false,
        };
        world.net.test.chain().estimate_gas(&request).unwrap().used.get()
    });
    // Edition 0.11 charges 80 units for each of 4,000 steps, and edition 0.13 for 9 steps. Edition 0.11 also charges 7
    // units for the second initialisation. Both results round to whole gas.
    let units = (4000 - 9) * 80 + 7;
    assert!((units / 8..=units / 8 + 1).contains(&(early - current)), "{early} and {current}");
}

#[test]
fn a_message_to_a_library_is_ignored_or_refused() {
    for rules in ALL {
        let mut world = World::with_rules(rules);
        let (library, relay) = (world.library(), world.relay());
        let direct = UnsignedTransaction {
            to: library,
            amount: Qa::new(5),
            data: r#"{"_tag":"A","params":[]}"#.into(),
            ..world.transaction(2)
        };
        let params = [address_param("to", &library), text_param("tag", "A")];
        let is_refused = rules == Rules::UNNAMED || rules.edition() == Edition::V0_11;
        if is_refused {
            assert_eq!(world.run(2, direct), Err(11), "{rules}");
            let receipt = world.call(2, relay, "Ask", &params, 7);
            assert_eq!(errors(&receipt), [(1, vec![23])], "{rules}");
        } else {
            let receipt = world.run(2, direct).unwrap();
            assert_eq!((receipt.success, receipt.accepted), (true, Some(false)), "{rules}");
            // The gas is only the charge for the start of the interpreter.
            assert_eq!(receipt.cumulative_gas, Gas::new(300), "{rules}");
            let receipt = call(&mut world, relay, "Ask", &params);
            assert_eq!((receipt.success, receipt.transitions[0].accepted), (true, Some(false)), "{rules}");
            let receipt = world.call(2, relay, "Ask", &params, 7);
            assert!(receipt.success && receipt.event_logs.is_empty(), "{rules}");
        }
        // A library gets no money.
        assert_eq!(world.net.balance(&library), Some(0), "{rules}");
        world.check_roots();
        check_replay(&world.net);
    }
}

#[test]
fn verdicts_that_became_stricter_hold_only_where_rules_are_named() {
    let code = "scilla_version 0\nlibrary L\ntype Answer = | True\ncontract C ()\n";
    for rules in ALL {
        let mut world = World::with_rules(rules);
        let is_named = rules != Rules::UNNAMED;
        let receipt = world.deploy(1, code, &init(&[]), 0).unwrap();
        assert_eq!(receipt.success, !is_named, "{rules}: {receipt:?}");
        // The program does not import this library. The node reads the name as its address.
        let library = world.library();
        let pair = json!({
            "constructor": "Pair", "argtypes": ["String", "ByStr20"], "arguments": [hex(&library), "0x12"]
        });
        let list = json!({"vname": "_extlibs", "type": "List (Pair String ByStr20)", "value": [pair]});
        let deployed = world.deploy(1, "scilla_version 0\ncontract C ()\n", &init(&[list]), 0);
        if rules.library_names() == LibraryNames::Imports {
            let receipt = deployed.unwrap();
            assert_eq!(receipt.success, !is_named, "{rules}: {receipt:?}");
        } else {
            assert!(deployed.is_err(), "a name is no address: {deployed:?}");
        }
        world.check_roots();
        check_replay(&world.net);
    }
}

fn with(rules: Rules) -> ChainConfig {
    let mut config = config(1, 100);
    config.rules.scilla = rules;
    config
}

#[test]
fn a_chain_is_continued_by_its_own_rules_only() {
    for rules in ALL {
        let mut net = Net::new(with(rules));
        net.tick();
        let mut store = net.test.into_store();
        let label = (rules != Rules::UNNAMED).then(|| rules.to_string());
        assert_eq!(store.label().unwrap(), label);
        for configured in ALL {
            let is_same = |error: &RulesError| matches!(error, RulesError::Other { stored, configured: other } if (*stored, *other) == (rules, configured));
            let outcomes = [
                rebuild(&store, with(configured), &genesis(), node(), &mut |_, _| {}),
                check(&store, &memory(), with(configured), &genesis(), node(), &mut |_, _| {}).map(drop),
            ];
            for outcome in outcomes {
                match outcome {
                    Ok(()) => assert_eq!(configured, rules),
                    Err(ReplayError::Rules(error)) => assert!(configured != rules && is_same(&error), "{error}"),
                    Err(error) => panic!("{error}"),
                }
            }
            if configured == rules {
                continue;
            }
            // The store in memory keeps the name of the rules, so each attempt needs a new store.
            let mut net = Net::new(with(rules));
            net.tick();
            let again = net.test.into_store();
            match open(again, with(configured), &genesis(), node(), Timestamp::new(BEGIN)) {
                Err(OpenError::Rules(error)) => assert!(is_same(&error), "{error}"),
                other => panic!("{rules} continues as {configured}: {other:?}"),
            }
        }
        let net = Net::over(store, with(rules));
        assert_eq!(net.height(), 1);
        store = net.test.into_store();
        assert_eq!(store.label().unwrap(), label);
    }
}

/// Returns the configuration of a chain whose rules change at these blocks.
fn changing(first: Rules, changes: &[(u64, Rules)]) -> ChainConfig {
    let changes = changes.iter().map(|(block, scilla)| RuleChange { block: BlockNumber::new(*block), scilla: *scilla });
    ChainConfig { rule_changes: changes.collect(), ..with(first) }
}

#[test]
fn each_block_is_by_its_rules() {
    let [latest, current] = [Edition::Latest, Edition::V0_13].map(Rules::current);
    // The contract runs in the blocks 2 to 7.
    let mut world = World::with_config(changing(current, &[(4, latest), (6, current)]));
    let contract = world.deployed(1, REFUSES, &init(&[]));
    let mut receipts = Vec::new();
    for block in 2..=7 {
        let rules = if (4..6).contains(&block) { latest } else { current };
        assert_eq!(world.net.snapshot().next_scilla_rules(), rules, "block {block}");
        let receipt = call(&mut world, contract, "Fail", &[]);
        let expected = if rules == latest { ["Refuse", "Fail"] } else { ["Count", "Fail"] };
        assert_eq!(raised(&receipt), expected, "block {block}");
        let record = world.net.test.producer().store().record(BlockNumber::new(block)).unwrap().unwrap();
        receipts.push((record.transactions[0].0.hash(), receipt));
    }
    // A trace is by the rules of the block of the transaction, and not by those of the next block.
    for (hash, receipt) in receipts {
        assert_eq!(world.net.snapshot().trace(&hash).unwrap().receipt, receipt);
    }
    world.check_roots();
    check_replay(&world.net);
    let store = world.net.test.into_store();
    assert_eq!(store.label().unwrap().unwrap(), "0.13/3 4:latest/3 6:0.13/3");
    let verify = |config| check(&store, &memory(), config, &genesis(), node(), &mut |_, _| {});
    verify(changing(current, &[(4, latest), (6, current)])).unwrap();
}

#[test]
fn a_call_fails_if_the_contract_is_invalid_under_later_rules() {
    let [latest, current] = [Edition::Latest, Edition::V0_13].map(Rules::current);
    let mut world = World::with_config(changing(latest, &[(5, current)]));
    let (library, relay) = (world.library(), world.relay());
    let pair = |name: &str, first: &str, second: &str| json!({"constructor": "Pair", "argtypes": ["String", "ByStr20"], "arguments": [name.to_owned() + first, second]});
    let list = |pair| json!({"vname": "_extlibs", "type": "List (Pair String ByStr20)", "value": [pair]});
    let user = "scilla_version 0\nimport Numbers\ncontract User ()\ntransition T ()\nend\n";
    let by_file = world.deployed(1, user, &init(&[list(pair("Numbers", ".scillib", &hex(&library)))]));
    assert!(call(&mut world, by_file, "T", &[]).success);
    // From block 5 on, `import Numbers` does not find the library that the contract lists as `Numbers.scillib`. The
    // node drops a direct call, and a message of another contract fails.
    let params: [serde_json::Value; 0] = [];
    let data = json!({"_tag": "T", "params": params}).to_string();
    let direct = UnsignedTransaction { to: by_file, data, ..world.transaction(2) };
    assert_eq!(world.run(2, direct), Err(DropReason::Libraries.code()));
    let failed = world.call(2, relay, "Ask", &[address_param("to", &by_file), text_param("tag", "T")], 0);
    assert_eq!(errors(&failed), [(1, vec![17])], "{failed:?}");
    world.check_roots();
    check_replay(&world.net);
}

#[test]
fn the_rules_of_existing_blocks_do_not_change() {
    let [latest, current, early] = [Edition::Latest, Edition::V0_13, Edition::V0_11].map(Rules::current);
    let start = [(3, latest), (9, early)];
    // The chain has the blocks 0 to 4.
    let cases = [
        (&start[..], None),
        (&[(3, latest)], None),
        (&[(3, latest), (5, early)], None),
        (&[(3, latest), (5, early), (6, current)], None),
        // The same rules in another form.
        (&[(2, current), (3, latest), (4, latest)], None),
        (&[], Some(3)),
        (&[(3, latest), (4, early)], Some(4)),
        (&[(2, latest)], Some(2)),
        (&[(4, latest)], Some(3)),
    ];
    for (changes, wrong) in cases {
        let mut net = Net::new(changing(current, &start));
        (0..4).for_each(|_| drop(net.tick()));
        let store = net.test.into_store();
        let config = changing(current, changes);
        let outcome = check(&store, &memory(), config.clone(), &genesis(), node(), &mut |_, _| {}).map(drop);
        match (outcome, wrong) {
            (Ok(()), None) => {}
            (Err(ReplayError::Rules(RulesError::Past { block, .. })), Some(wrong)) => assert_eq!(block.get(), wrong),
            other => panic!("{changes:?}: {other:?}"),
        }
        assert_eq!(store.label().unwrap().unwrap(), "0.13/3 3:latest/3 9:0.11/3", "a check writes nothing");
        match (open(store, config, &genesis(), node(), Timestamp::new(BEGIN)), wrong) {
            (Ok((_, producer)), None) => {
                let text = changes.iter().map(|(block, rules)| format!(" {block}:{rules}"));
                let label = producer.store().label().unwrap().unwrap();
                assert_eq!(label, [current.to_string()].into_iter().chain(text).collect::<String>());
            }
            (Err(OpenError::Rules(error)), Some(wrong)) => {
                assert!(error.to_string().starts_with(&format!("Scilla rules of block {wrong}: expected ")), "{error}");
            }
            other => panic!("{changes:?}: {other:?}"),
        }
    }
}

#[test]
fn invalid_rule_changes_and_labels_are_rejected() {
    let [latest, current] = [Edition::Latest, Edition::V0_13].map(Rules::current);
    for (first, changes, expected) in [
        (current, &[(1, latest)][..], "block of the rule change: expected a block after 1, got 1"),
        (current, &[(5, latest), (5, current)], "block of the rule change: expected a block after 5, got 5"),
        (Rules::UNNAMED, &[(5, latest)], "rule changes: expected Scilla rules with an identifier, "),
        (current, &[(5, Rules::UNNAMED)], "rule changes: expected Scilla rules with an identifier, "),
    ] {
        let error = changing(first, changes).check().unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    // Programs without support for changes read a label as the name of rules.
    assert!("0.13/3 4:latest/3".parse::<Rules>().is_err());
    for label in ["0.13/3 ", "0.13/3 4", "0.13/3 x:0.13/3", "0.13/3 4:0.13/9", "0.13/3 4:0.13"] {
        let store = memory();
        store.set_label(label).unwrap();
        let error = open(store, config(1, 100), &genesis(), node(), Timestamp::new(BEGIN)).unwrap_err();
        assert!(matches!(error, OpenError::Rules(RulesError::Unknown(_))), "{label}: {error}");
    }
}

#[test]
fn rules_of_a_later_program_are_named() {
    let store = memory();
    store.set_label("0.13/9").unwrap();
    let error = open(store, config(1, 100), &genesis(), node(), Timestamp::new(BEGIN)).unwrap_err();
    let OpenError::Rules(RulesError::Unknown(unknown)) = error else { panic!("{error}") };
    assert!(unknown.to_string().contains("0.13/9 are newer"), "{unknown}");
}
