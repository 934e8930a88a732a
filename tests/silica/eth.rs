//! Ethereum methods that read the chain (docs/interface.md).

use serde_json::{Value, json};
use silica_tests::{Node, Wallet, wallet::FEE};

use crate::{
    INVALID_PARAMS, check_error, check_result,
    contract::{HELLO, deploy_hello},
    documented, height,
};

/// Gas of a payment, in gas units.
const PAYMENT_GAS: u64 = 50;

/// Number of wei for one Qa. Amounts and gas prices use it.
const WEI: u128 = 1_000_000;

fn quantity(number: impl Into<u128>) -> Value {
    json!(format!("{:#x}", number.into()))
}

fn account(wallet: &Wallet) -> String {
    format!("0x{}", wallet.hex())
}

fn bytes(text: &str) -> String {
    text.bytes().fold("0x".to_owned(), |written, byte| written + &format!("{byte:02x}"))
}

fn prefixed(hash: &str) -> String {
    format!("0x{hash}")
}

/// Deploys the greeting contract. Returns the hash of the deployment, and the prefixed address of the contract.
fn deploy(node: &Node, nonce: u64) -> (String, String) {
    let (hash, contract) = deploy_hello(node, nonce);
    (hash, prefixed(&contract))
}

#[test]
fn network_has_the_bit_of_ethereum_in_its_id() {
    for (flag, id) in [("222", 32_990_u64), ("1", 32_769), ("333", 33_101)] {
        let node = Node::start(&["--chain-id", flag]);
        check_result(&node, "eth_chainId", &json!([]), &quantity(id));
        check_result(&node, "net_version", &json!([]), &json!(id.to_string()));
    }
}

#[test]
fn node_describes_itself() {
    let node = Node::start(&[]);
    let version = documented(&node, "web3_clientVersion", &json!([]));
    let own = node.result("GetVersion", &json!([]))["Version"].as_str().unwrap().to_owned();
    assert_eq!(version, json!(format!("silica/{own}")));
    check_result(&node, "net_listening", &json!([]), &json!(true));
    check_result(&node, "eth_syncing", &json!([]), &json!(false));
    check_result(&node, "eth_accounts", &json!([]), &json!([]));
    check_result(&node, "eth_gasPrice", &json!([]), &quantity(2_000_000_000 * WEI));
}

#[test]
fn sha3_is_keccak() {
    let node = Node::start(&[]);
    let check = |data: &str, hash: &str| check_result(&node, "web3_sha3", &json!([data]), &json!(hash));
    check("0x", "0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470");
    check("0x68656C6c6f", "0x1c8aff950685c2ed4bc3174f3472287b56d9517b9c948127319a09a7a36deac8");
}

#[test]
fn accounts_are_shown_in_wei_after_any_block_that_is_kept() {
    let node = Node::start(&["--block-mode", "manual"]);
    let (payer, stranger) = (Wallet::funded(0), Wallet::stranger(1));
    let before = crate::balance(&node, &payer.hex()).0;
    let payment = payer.payment(1, stranger.address(), 5);
    node.result("CreateTransaction", &json!([payment.json()]));
    node.result("IncreaseBlocknum", &json!([1]));
    node.result("IncreaseBlocknum", &json!([1]));
    let check = |wallet: &Wallet, block: Value, balance: u128, nonce: u64| {
        let params = json!([account(wallet), block]);
        check_result(&node, "eth_getBalance", &params, &quantity(balance * WEI));
        check_result(&node, "eth_getTransactionCount", &params, &quantity(nonce));
    };
    for tag in ["latest", "pending", "safe", "finalized", "0x1", "0x2"] {
        check(&payer, json!(tag), before - 5 - FEE, 1);
        check(&stranger, json!(tag), 5, 0);
    }
    for tag in ["earliest", "0x0"] {
        check(&payer, json!(tag), before, 0);
        check(&stranger, json!(tag), 0, 0);
    }
    // The block is optional, and an address can have letters of either case.
    check_result(&node, "eth_getBalance", &json!([account(&stranger)]), &quantity(5 * WEI));
    let capitals = prefixed(&stranger.hex().to_uppercase());
    check_result(&node, "eth_getBalance", &json!([capitals]), &quantity(5 * WEI));
}

#[test]
fn pending_counts_what_waits_without_a_gap() {
    let node = Node::start(&["--block-mode", "manual"]);
    let payer = Wallet::funded(0);
    let check = |tag: &str, count: u64| {
        check_result(&node, "eth_getTransactionCount", &json!([account(&payer), tag]), &quantity(count));
    };
    check("pending", 0);
    for (nonce, count) in [(1, 1), (2, 2), (4, 2), (3, 4)] {
        let payment = payer.payment(nonce, Wallet::stranger(1).address(), 5);
        node.result("CreateTransaction", &json!([payment.json()]));
        check("pending", count);
        check("latest", 0);
    }
    node.result("IncreaseBlocknum", &json!([1]));
    check("pending", 4);
    check("latest", 4);
    // The pending balance counts only blocks. It does not count pending payments.
    let payment = payer.payment(5, Wallet::stranger(1).address(), 5);
    node.result("CreateTransaction", &json!([payment.json()]));
    check_result(&node, "eth_getBalance", &json!([account(&Wallet::stranger(1)), "pending"]), &quantity(20 * WEI));
}

#[test]
fn state_outside_the_history_is_an_error() {
    let node = Node::start(&["--block-mode", "manual"]);
    node.result("IncreaseBlocknum", &json!([60]));
    for method in ["eth_getBalance", "eth_getTransactionCount", "eth_getCode"] {
        let ask = |block: &str| json!([account(&Wallet::funded(0)), block]);
        check_error(&node, method, &ask("0x3d"), (-32000, "block 61 not found"));
        let gone = "expected block 11 or later, the blocks whose states the node keeps, got block 0";
        check_error(&node, method, &ask("earliest"), (-32000, gone));
        node.result(method, &ask("0xb"));
    }
}

#[test]
fn code_is_the_source_from_the_deployment_on() {
    let node = Node::start(&[]);
    let (_, contract) = deploy(&node, 1);
    let source = bytes(HELLO);
    check_result(&node, "eth_getCode", &json!([contract, "latest"]), &json!(source));
    check_result(&node, "eth_getCode", &json!([contract, "0x1"]), &json!(source));
    check_result(&node, "eth_getCode", &json!([contract, "0x0"]), &json!("0x"));
    for address in [account(&Wallet::funded(0)), account(&Wallet::stranger(9))] {
        check_result(&node, "eth_getCode", &json!([address]), &json!("0x"));
    }
}

#[test]
fn blocks_are_those_of_the_chain() {
    let node = Node::start(&["--block-mode", "manual"]);
    let hashes: Vec<String> = (0..3)
        .map(|payer| {
            let payment = Wallet::funded(payer).payment(1, Wallet::stranger(1).address(), 1);
            node.result("CreateTransaction", &json!([payment.json()]));
            payment.hash()
        })
        .collect();
    node.result("IncreaseBlocknum", &json!([2]));
    for number in 0..3_u64 {
        let own = node.result("GetTxBlock", &json!([number.to_string()]));
        let block = documented(&node, "eth_getBlockByNumber", &json!([quantity(number), false]));
        assert_eq!(block["number"], quantity(number));
        for (name, own) in [
            ("hash", &own["body"]["BlockHash"]),
            ("parentHash", &own["header"]["PrevBlockHash"]),
            ("stateRoot", &own["header"]["StateRootHash"]),
        ] {
            assert_eq!(block[name], json!(prefixed(own.as_str().unwrap())), "{name}");
        }
        for (name, own) in [("gasLimit", &own["header"]["GasLimit"]), ("gasUsed", &own["header"]["GasUsed"])] {
            assert_eq!(block[name], quantity(own.as_str().unwrap().parse::<u64>().unwrap()), "{name}");
        }
        let micros: u64 = own["header"]["Timestamp"].as_str().unwrap().parse().unwrap();
        assert_eq!(block["timestamp"], quantity(micros / 1_000_000));
        check_result(&node, "eth_getBlockByHash", &json!([block["hash"], false]), &block);
        let full = node.result("eth_getBlockByNumber", &json!([quantity(number), true]));
        check_result(&node, "eth_getBlockByHash", &json!([block["hash"], true]), &full);
        let shown: Vec<&Value> = full["transactions"].as_array().unwrap().iter().map(|tx| &tx["hash"]).collect();
        assert_eq!(shown, block["transactions"].as_array().unwrap().iter().collect::<Vec<_>>());
    }
    let block = node.result("eth_getBlockByNumber", &json!(["0x1", false]));
    let mut shown: Vec<&str> = block["transactions"].as_array().unwrap().iter().map(|h| h.as_str().unwrap()).collect();
    let mut expected: Vec<String> = hashes.iter().map(|hash| prefixed(hash)).collect();
    shown.sort_unstable();
    expected.sort_unstable();
    assert_eq!(shown, expected);
    check_result(&node, "eth_blockNumber", &json!([]), &quantity(height(&node)));
    for tag in ["latest", "pending", "safe", "finalized"] {
        assert_eq!(node.result("eth_getBlockByNumber", &json!([tag]))["number"], quantity(2_u64), "{tag}");
    }
    assert_eq!(node.result("eth_getBlockByNumber", &json!(["earliest"]))["number"], quantity(0_u64));
}

#[test]
fn blocks_are_found_by_hash_as_the_chain_grows() {
    let node = Node::start(&["--block-mode", "manual"]);
    let hash_of = |number: u64| node.result("eth_getBlockByNumber", &json!([quantity(number), false]))["hash"].clone();
    let find = |hash: &Value| node.result("eth_getBlockByHash", &json!([hash, false]))["number"].clone();
    node.result("IncreaseBlocknum", &json!([30]));
    assert_eq!(find(&hash_of(20)), quantity(20_u64));
    node.result("IncreaseBlocknum", &json!([5]));
    for number in [35, 31, 30, 20, 19, 7, 0_u64] {
        assert_eq!(find(&hash_of(number)), quantity(number));
    }
    let unknown = prefixed(&"ab".repeat(32));
    assert_eq!(node.result("eth_getBlockByHash", &json!([unknown, true])), Value::Null);
}

#[test]
fn transactions_and_receipts_are_those_of_the_chain() {
    let node = Node::start(&["--block-mode", "manual"]);
    let (payer, stranger) = (Wallet::funded(1), Wallet::stranger(1));
    let payments = [1, 2].map(|nonce| payer.payment(nonce, stranger.address(), 7));
    for payment in &payments {
        node.result("CreateTransaction", &json!([payment.json()]));
    }
    node.result("IncreaseBlocknum", &json!([1]));
    let block = node.result("eth_getBlockByNumber", &json!(["0x1", true]));
    let mut used_before = 0_u64;
    for (index, payment) in (0_u64..).zip(&payments) {
        let hash = prefixed(&payment.hash());
        let read = documented(&node, "eth_getTransactionByHash", &json!([hash]));
        assert_eq!(block["transactions"][usize::try_from(index).unwrap()], read);
        for (name, expected) in [
            ("blockHash", block["hash"].clone()),
            ("blockNumber", quantity(1_u64)),
            ("chainId", quantity(32_990_u64)),
            ("from", json!(account(&payer))),
            ("gas", quantity(payment.gas_limit)),
            ("gasPrice", quantity(payment.gas_price * WEI)),
            ("input", json!("0x")),
            ("nonce", quantity(payment.nonce - 1)),
            ("to", json!(account(&stranger))),
            ("transactionIndex", quantity(index)),
            ("value", quantity(7 * WEI)),
        ] {
            assert_eq!(read[name], expected, "{name}");
        }
        let receipt = documented(&node, "eth_getTransactionReceipt", &json!([hash]));
        used_before += PAYMENT_GAS;
        for (name, expected) in [
            ("blockHash", block["hash"].clone()),
            ("contractAddress", Value::Null),
            ("cumulativeGasUsed", quantity(used_before)),
            ("effectiveGasPrice", quantity(payment.gas_price * WEI)),
            ("from", json!(account(&payer))),
            ("gasUsed", quantity(PAYMENT_GAS)),
            ("logs", json!([])),
            ("status", quantity(1_u64)),
            ("to", json!(account(&stranger))),
            ("transactionHash", json!(hash)),
            ("transactionIndex", quantity(index)),
        ] {
            assert_eq!(receipt[name], expected, "{name}");
        }
    }
    let waiting = payer.payment(3, stranger.address(), 7);
    node.result("CreateTransaction", &json!([waiting.json()]));
    for hash in [waiting.hash(), "0".repeat(64)] {
        check_result(&node, "eth_getTransactionReceipt", &json!([prefixed(&hash)]), &Value::Null);
        check_result(&node, "eth_getTransactionByHash", &json!([prefixed(&hash)]), &Value::Null);
    }
}

#[test]
fn receipts_show_deployments_and_failures() {
    let node = Node::start(&[]);
    let (deployment, contract) = deploy(&node, 1);
    let receipt = documented(&node, "eth_getTransactionReceipt", &json!([prefixed(&deployment)]));
    assert_eq!((&receipt["contractAddress"], &receipt["to"]), (&json!(contract), &Value::Null));
    let mut call = Wallet::funded(1).payment(1, contract.parse().unwrap(), 0);
    let params = json!([{"vname": "text", "type": "String", "value": "no"}]);
    (call.gas_limit, call.data) = (25_000, json!({"_tag": "SetGreeting", "params": params}).to_string());
    node.result("CreateTransaction", &json!([call.json()]));
    let receipt = documented(&node, "eth_getTransactionReceipt", &json!([prefixed(&call.hash())]));
    assert_eq!((&receipt["status"], &receipt["to"]), (&json!("0x0"), &json!(contract)));
    let read = node.result("eth_getTransactionByHash", &json!([prefixed(&call.hash())]));
    assert_eq!(read["input"], json!(bytes(&call.data)));
}

#[test]
fn methods_of_a_virtual_machine_are_refused_with_the_reason() {
    let node = Node::start(&[]);
    for method in [
        "eth_call",
        "eth_createAccessList",
        "eth_estimateGas",
        "eth_feeHistory",
        "eth_getStorageAt",
        "eth_maxPriorityFeePerGas",
        "eth_sendRawTransaction",
        "eth_sendTransaction",
        "eth_sign",
        "eth_signTransaction",
        "eth_signTypedData_v4",
    ] {
        let text = format!("the method {method} does not exist: this node executes Scilla and has no EVM");
        for params in [json!([]), json!([{"to": account(&Wallet::funded(0))}, "latest"]), json!(null)] {
            check_error(&node, method, &params, (-32601, &text));
        }
    }
    // Other Ethereum methods do not exist.
    let refused = node.call("eth_coinbase", &json!([])).unwrap_err();
    assert_eq!((refused.code, refused.data), (-32601, None));
}

#[test]
fn errors_of_misspelt_parameters_have_the_position() {
    let node = Node::start(&[]);
    let address = account(&Wallet::funded(0));
    let wrong = |method: &str, params: Value, position: usize, expected: &str, got: &str| {
        let text = format!("invalid argument {position}: expected {expected}, got {got:?}");
        check_error(&node, method, &params, (-32602, &text));
    };
    let (twenty, whole) = ("0x and 40 hexadecimal digits", "0x and 64 hexadecimal digits");
    let tag =
        "0x and a number in hexadecimal digits without leading zeros, latest, earliest, pending, safe or finalized";
    for method in ["eth_getBalance", "eth_getTransactionCount", "eth_getCode"] {
        for text in ["", "0x", &address[2..], &address[..41], "zil1fwh4ltdguhde9s7nysnp33d5wye6uqpugufkz7"] {
            wrong(method, json!([text, "latest"]), 0, twenty, text);
        }
        for text in ["", "0x", "0x01", "1", "newest", "0x10000000000000000"] {
            wrong(method, json!([address, text]), 1, tag, text);
        }
        for params in
            [json!([]), json!([1]), json!([address, 1]), json!([address, "latest", 1]), json!(null), json!({})]
        {
            check_error(&node, method, &params, INVALID_PARAMS);
        }
    }
    wrong("eth_getBlockByNumber", json!(["0x00", false]), 0, tag, "0x00");
    for method in ["eth_getBlockByHash", "eth_getTransactionByHash", "eth_getTransactionReceipt"] {
        for text in ["", "0x0", &"0".repeat(64), &format!("0x{}", "g".repeat(64))] {
            wrong(method, json!([text]), 0, whole, text);
        }
        for params in [json!([]), json!([null]), json!([7]), json!("0x0"), json!({})] {
            let refused = node.call(method, &params).unwrap_err();
            assert!([-32602, -32600].contains(&refused.code), "{method}{params}: {refused:?}");
        }
    }
    for full in [json!("true"), json!(1), json!(null), json!([])] {
        check_error(&node, "eth_getBlockByNumber", &json!(["latest", full]), INVALID_PARAMS);
        check_error(&node, "eth_getBlockByHash", &json!([prefixed(&"0".repeat(64)), full]), INVALID_PARAMS);
    }
    for text in ["", "00", "0x0", "0xzz"] {
        wrong("web3_sha3", json!([text]), 0, "0x and two hexadecimal digits for each byte", text);
    }
}
