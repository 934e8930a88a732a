//! The Scilla rules: their effect on receipts, and their storage with the chain.

use serde_json::json;
use silica_chain::{ChainConfig, OpenError, ReplayError, RulesError, check, open, rebuild};
use silica_protocol::{Gas, Qa, Receipt, SimulationRequest, Timestamp, UnsignedTransaction};
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
                other => panic!("{rules} goes on as {configured}: {other:?}"),
            }
        }
        let net = Net::over(store, with(rules));
        assert_eq!(net.height(), 1);
        store = net.test.into_store();
        assert_eq!(store.label().unwrap(), label);
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
