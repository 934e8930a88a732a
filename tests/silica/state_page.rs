//! `silica_getSmartContractStatePage`: each entry of a state once, and invalid requests.

use serde_json::{Value, json};
use silica_protocol::Address;
use silica_tests::{Directory, Node, Wallet};

use crate::{INVALID_PARAMS, check_error, contract::Chain, height, no_address};

const PAGE: &str = "silica_getSmartContractStatePage";

pub(crate) const STORE: &str = r#"scilla_version 0
contract Store ()
field counts : Map String Uint32 = Emp String Uint32
field deep : Map String (Map String Uint32) = Emp String (Map String Uint32)
field last : String = "zz"
field none : Map String String = Emp String String
transition Nothing ()
end
"#;

/// Deploys a contract, and adds 15 entries to it up to block 14.
fn store(node: Node) -> (Chain, Address) {
    let mut chain = Chain::over(node);
    let (contract, _) = chain.deploy(STORE, &[]);
    for number in 0..9 {
        set(&chain.node, &contract, "counts", &json!([format!("k{number}")]), &json!(number.to_string()));
    }
    for (outer, inner) in [("a", "x"), ("a", "y\"\\"), ("b", "x")] {
        set(&chain.node, &contract, "deep", &json!([outer, inner]), &json!("7"));
    }
    set(&chain.node, &contract, "deep", &json!(["c"]), &json!([]));
    (chain, contract)
}

fn set(node: &Node, contract: &Address, field: &str, keys: &Value, value: &Value) {
    node.result("silica_setContractField", &json!([contract.to_string(), field, keys, value]));
}

/// Returns the entries of all pages of `limit` entries. `between` acts on the node before each page.
fn pages(node: &Node, contract: &Address, field: &str, limit: u32, block: &Value, between: impl Fn(u32)) -> Vec<Value> {
    let (mut entries, mut cursor) = (Vec::new(), Value::Null);
    for page in 0.. {
        between(page);
        let params = json!([contract.to_string(), field, cursor, limit, block]);
        let answer = node.result(PAGE, &params);
        if !block.is_null() {
            assert_eq!(&answer["block"], block);
        }
        let found = answer["entries"].as_array().unwrap();
        assert!(found.len() <= limit as usize);
        entries.extend(found.iter().cloned());
        cursor = answer["next"].clone();
        if cursor.is_null() {
            return entries;
        }
        assert_eq!(found.len(), limit as usize, "only the last page is shorter");
    }
    unreachable!()
}

#[test]
fn pages_of_any_size_have_each_entry_once() {
    let (chain, contract) = store(Node::start(&[]));
    let node = &chain.node;
    let all = pages(node, &contract, "", 1000, &Value::Null, |_| ());
    let names: Vec<String> = all
        .iter()
        .map(|entry| {
            let keys = entry["indices"].as_array().unwrap().iter().map(|key| format!("/{}", key.as_str().unwrap()));
            format!("{}{}", entry["variable"].as_str().unwrap(), keys.collect::<String>())
        })
        .collect();
    let counts = (0..9).map(|number| format!("counts/k{number}"));
    let others = ["deep/a/x", "deep/a/y\"\\", "deep/b/x", "deep/c", "last", "none"].map(str::to_owned);
    let expected: Vec<String> = counts.chain(others).collect();
    assert_eq!(names, expected);
    assert_eq!(all[13], json!({"variable": "last", "indices": [], "value": "zz"}));
    assert_eq!(all[2], json!({"variable": "counts", "indices": ["k2"], "value": "2"}));
    assert_eq!(all[12], json!({"variable": "deep", "indices": ["c"], "value": {}}));
    for limit in [1, 2, 5, 14, 15] {
        assert_eq!(pages(node, &contract, "", limit, &Value::Null, |_| ()), all, "{limit}");
        assert_eq!(pages(node, &contract, "deep", limit, &Value::Null, |_| ()), all[9..13], "{limit}");
    }
    assert_eq!(pages(node, &contract, "last", 1, &Value::Null, |_| ()), all[13..14]);
    let usual = node.result(PAGE, &json!([contract.to_bech32(), ""]));
    assert_eq!(usual["entries"], json!(all));
    for params in [
        json!([contract.to_bech32()]),
        json!([contract.to_bech32(), null]),
        json!([contract.to_bech32(), null, null, 100]),
    ] {
        assert_eq!(node.result(PAGE, &params), usual, "{params}");
    }
    let usual = node.result(PAGE, &json!([contract.to_bech32(), "none"]));
    assert_eq!(usual, json!({"block": height(node).to_string(), "entries": all[14..], "next": null}));
}

#[test]
fn pages_of_a_block_are_of_its_state() {
    let data = Directory::new();
    let (chain, contract) = store(Node::start_in(data.path(), &[]));
    let node = &chain.node;
    let block = json!(height(node).to_string());
    let before = pages(node, &contract, "counts", 2, &block, |_| ());
    assert_eq!(before.len(), 9);
    // The test adds and removes entries before and after the position of the cursor.
    let disturb = |page: u32| {
        set(node, &contract, "counts", &json!([format!("k{page}0")]), &json!("5"));
        set(node, &contract, "counts", &json!([format!("k{page}")]), &Value::Null);
        set(node, &contract, "counts", &json!([format!("k{}", 8 - page)]), &json!("6"));
    };
    assert_eq!(pages(node, &contract, "counts", 2, &block, disturb), before);
    let now = pages(node, &contract, "counts", 2, &Value::Null, |_| ());
    assert_ne!(now, before);
    chain.node.stop();
    let restarted = Node::start_in(data.path(), &[]);
    assert_eq!(pages(&restarted, &contract, "counts", 3, &block, |_| ()), before);
    assert_eq!(pages(&restarted, &contract, "counts", 3, &Value::Null, |_| ()), now);
}

#[test]
fn wrong_requests_are_refused_by_name() {
    let (chain, contract) = store(Node::start(&[]));
    let node = &chain.node;
    let address = contract.to_string();
    for params in [
        json!([]),
        json!([address, 5]),
        json!([address, ["counts"]]),
        json!([address, "counts", 1]),
        json!([address, "counts", null, "2"]),
        json!([address, "counts", null, -1]),
        json!([address, "counts", null, 1.5]),
        json!([address, "counts", null, 2, 5]),
        json!([address, "counts", null, 2, "5", "surplus"]),
        json!({"address": address}),
    ] {
        check_error(node, PAGE, &params, INVALID_PARAMS);
    }
    let first = node.result(PAGE, &json!([address, "counts", null, 1]))["next"].as_str().unwrap().to_owned();
    let no_field = |got: &str| format!("field: expected the name of a field of the contract, got {got:?}");
    let no_cursor = |got: &str| format!("cursor: expected the value of next from a page of this field, got {got:?}");
    let (odd, cut) = (&first[1..], &first[..first.len() - 2]);
    for (params, error) in [
        (json!([address, "nothing"]), (-8, &*no_field("nothing"))),
        (json!([address, "_addr"]), (-8, &*no_field("_addr"))),
        (json!([address, "counts\u{16}\"k1\""]), (-8, &no_field("counts\u{16}\"k1\""))),
        (json!([address, "counts", null, 0]), (-8, "limit: expected a number from 1 to 1000, got 0")),
        (json!([address, "counts", null, 1001]), (-8, "limit: expected a number from 1 to 1000, got 1001")),
        (json!([address, "counts", ""]), (-8, &no_cursor(""))),
        (json!([address, "counts", "zz"]), (-8, &no_cursor("zz"))),
        (json!([address, "counts", odd]), (-8, &no_cursor(odd))),
        (json!([address, "counts", "ff16"]), (-8, &no_cursor("ff16"))),
        (json!([address, "counts", cut]), (-8, &no_cursor(cut))),
        (json!([address, "deep", first]), (-8, &no_cursor(&first))),
        (json!([address, "counts", null, 1, "x"]), (-8, "block: expected decimal digits, got \"x\"")),
        (json!([address, "counts", null, 1, "+1"]), (-8, "block: expected decimal digits, got \"+1\"")),
        (
            json!([address, "counts", null, 1, "15"]),
            (-8, "block: expected a Tx block from 0 to 14, whose states the node keeps, got 15"),
        ),
        (json!([address, "counts", null, 1, "0"]), (-5, "Address does not exist")),
        (json!(["zil1x", "counts"]), (-8, &no_address("zil1x"))),
        (json!([Wallet::stranger(1).hex(), "counts"]), (-5, "Address does not exist")),
        (json!([Wallet::funded(0).hex(), "counts"]), (-5, "Address not contract address")),
    ] {
        check_error(node, PAGE, &params, error);
    }
    node.result("silica_mine", &json!([60]));
    let gone = (-8, "block: expected a Tx block from 25 to 74, whose states the node keeps, got 14");
    check_error(node, PAGE, &json!([address, "counts", first, 1, "14"]), gone);
    assert_eq!(pages(node, &contract, "counts", 4, &json!("25"), |_| ()).len(), 9);
}
