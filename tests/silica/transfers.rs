//! Transfers: `silica_getTransfers`, and the subscription to transfers. The transfers of each account add up to its
//! balance.

use std::{collections::BTreeMap, thread, time::Duration};

use serde_json::{Value, json};
use silica_protocol::Address;
use silica_tests::{Node, Wallet, wallet::FEE};

use crate::{check_error, subscription::Client};

const RELAY: &str = include_str!("../data/contracts/relay.scilla");

/// A chain in which the first funded account sends all transactions.
struct Chain {
    node: Node,
    nonce: u64,
}

impl Chain {
    fn new() -> Self {
        Self::with(&[])
    }

    fn with(options: &[&str]) -> Self {
        let node = Node::start(&[&["--block-mode", "manual", "--blocks-per-ds-epoch", "6"], options].concat());
        Self { node, nonce: 0 }
    }

    /// Sends a transaction, and makes blocks until it is in one. Returns its hash and block.
    fn send(&mut self, to: Address, amount: u128, code: &str, data: Option<&Value>) -> (String, Value) {
        self.nonce += 1;
        let mut request = Wallet::funded(0).payment(self.nonce, to, amount);
        if let Some(data) = data {
            (request.gas_limit, request.code, request.data) = (100_000, code.to_owned(), data.to_string());
        }
        self.node.result("CreateTransaction", &json!([request.json()]));
        loop {
            self.node.result("silica_mine", &json!([1]));
            let pending = self.node.result("GetPendingTxns", &json!([]));
            if pending["Txns"] == json!([]) {
                break;
            }
        }
        let found = self.node.result("GetTransaction", &json!([request.hash()]));
        (request.hash(), found["receipt"].clone())
    }

    fn call(&mut self, contract: Address, amount: u128, tag: &str, params: &Value) -> (String, Value) {
        self.send(contract, amount, "", Some(&json!({"_tag": tag, "params": params})))
    }

    fn deploy(&mut self, amount: u128) -> Address {
        let init = json!([{"vname": "_scilla_version", "type": "Uint32", "value": "0"}]);
        let (hash, receipt) = self.send(Address::ZERO, amount, RELAY, Some(&init));
        assert_eq!(receipt["success"], true, "{receipt}");
        let contract = self.node.result("GetContractAddressFromTransactionID", &json!([hash]));
        contract.as_str().unwrap().parse().unwrap()
    }

    /// Returns the transfers of all pages.
    fn all(&self, mut options: Value) -> Vec<Value> {
        let mut found = Vec::new();
        loop {
            let page = self.node.result("silica_getTransfers", &json!([options]));
            found.extend(page["transfers"].as_array().unwrap().iter().cloned());
            if page["next"].is_null() {
                return found;
            }
            options["cursor"] = page["next"].clone();
        }
    }

    /// Returns the sums of all transfers up to a block.
    fn sums(&self, last: u64) -> BTreeMap<String, i128> {
        let mut sums: BTreeMap<String, i128> = BTreeMap::new();
        for transfer in self.all(json!({"order": "oldest", "limit": 1000, "toBlock": last.to_string()})) {
            if let Some(balance) = number(&transfer["balance"]) {
                assert_eq!((&transfer["kind"], &transfer["amount"]), (&json!("edit"), &Value::Null));
                sums.insert(transfer["to"].as_str().unwrap().to_owned(), balance);
                continue;
            }
            let amount = number(&transfer["amount"]).unwrap();
            for (member, sign) in [("from", -1), ("to", 1)] {
                if let Some(address) = transfer[member].as_str() {
                    *sums.entry(address.to_owned()).or_default() += sign * amount;
                }
            }
        }
        sums
    }

    /// Compares the sums of all transfers with the balances of all accounts.
    fn check_sums(&self) {
        let mut sums = self.sums(crate::height(&self.node));
        sums.retain(|_, sum| *sum != 0);
        let accounts = self.node.result("silica_listAccounts", &json!([{"limit": 1000}]));
        let balances = accounts["accounts"].as_array().unwrap().iter();
        let balances =
            balances.map(|row| (row["address"].as_str().unwrap().to_owned(), number(&row["balance"]).unwrap()));
        assert_eq!(sums, balances.filter(|(_, balance)| *balance != 0).collect());
    }
}

fn number(value: &Value) -> Option<i128> {
    value.as_str().map(|text| text.parse().unwrap())
}

fn address_param(name: &str, address: &Address) -> Value {
    json!({"vname": name, "type": "ByStr20", "value": format!("0x{address}")})
}

/// Kind, payer, recipient and amount of a transfer.
type Brief = (String, Option<String>, Option<String>, Option<String>);

fn brief(transfers: &[Value]) -> Vec<Brief> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let brief = |it: &Value| (text(&it["kind"]).unwrap(), text(&it["from"]), text(&it["to"]), text(&it["amount"]));
    transfers.iter().map(brief).collect()
}

#[test]
fn transfers_of_every_account_add_up_to_its_balance() {
    let mut chain = Chain::new();
    let (sender, stranger) = (Wallet::funded(0), Wallet::stranger(1));
    chain.check_sums();
    let (hash, _) = chain.send(stranger.address(), 5, "", None);
    let newest = chain.node.result("silica_getTransfers", &json!([{"limit": 2}]));
    let [payment, fee] = &newest["transfers"].as_array().unwrap()[..] else { panic!("{newest}") };
    let block = chain.node.result("GetTxBlock", &json!([payment["block"]]));
    let expected = json!({
        "amount": "5", "balance": null, "block": block["header"]["BlockNum"], "from": sender.hex(), "hash": hash,
        "kind": "payment", "position": 0, "timestamp": block["header"]["Timestamp"], "to": stranger.hex(),
    });
    assert_eq!(*payment, expected);
    assert_eq!((&fee["kind"], &fee["to"], &fee["amount"]), (&json!("fee"), &Value::Null, &json!(FEE.to_string())));

    let (relay, other) = (chain.deploy(30), chain.deploy(0));
    let (accepted, _) = chain.call(relay, 10, "Take", &json!([]));
    let (declined, _) = chain.call(relay, 10, "Decline", &json!([]));
    let (failed, receipt) = chain.call(relay, 10, "Fail", &json!([]));
    assert_eq!(receipt["success"], false);
    let amount = json!({"vname": "amount", "type": "Uint128", "value": "3"});
    let share = |second: &Address| {
        json!([address_param("first", &other), address_param("second", second), address_param("third", &other), amount])
    };
    let (shared, receipt) = chain.call(relay, 0, "Share", &share(&stranger.address()));
    assert_eq!(receipt["success"], true, "{receipt}");
    let (kept, receipt) = chain.call(relay, 0, "Share", &share(&relay));
    assert_eq!(receipt["success"], true, "{receipt}");
    let of = |hash: &String| {
        let all = chain.all(json!({"order": "oldest"}));
        let of: Vec<Value> = all.into_iter().filter(|it| it["hash"] == **hash && it["kind"] != "fee").collect();
        brief(&of)
    };
    let some = |address: &Address| Some(address.to_string());
    let transition = |to: &Address| ("transition".to_owned(), some(&relay), some(to), Some("3".to_owned()));
    let call = ("call".to_owned(), Some(sender.hex()), some(&relay), Some("10".to_owned()));
    assert_eq!(of(&accepted), [call]);
    assert_eq!((of(&declined), of(&failed)), (vec![], vec![]));
    assert_eq!(of(&shared), [transition(&other), transition(&stranger.address())]);
    assert_eq!(of(&kept), [transition(&other)], "a message without a tag moves no money to a contract");

    chain.node.result("silica_setBalance", &json!([stranger.hex(), "77"]));
    chain.node.result("silica_addBalance", &json!([other.to_string(), "5"]));
    chain.node.result("silica_setNonce", &json!([Wallet::stranger(2).hex(), 3]));
    chain.check_sums();
    chain.node.result("silica_mine", &json!([100_000]));
    chain.send(stranger.address(), 6, "", None);
    chain.check_sums();
    let edits = chain.all(json!({"addresses": [format!("0x{other}")]}));
    let edit = edits.iter().find(|it| it["kind"] == "edit").unwrap();
    assert_eq!((&edit["balance"], &edit["hash"], &edit["position"]), (&json!("11"), &Value::Null, &Value::Null));
}

#[test]
fn balance_after_each_block_is_the_sum_of_earlier_transfers() {
    let mut chain = Chain::new();
    let stranger = Wallet::stranger(1);
    let relay = chain.deploy(30);
    chain.call(relay, 10, "Take", &json!([]));
    chain.node.result("silica_setBalance", &json!([stranger.hex(), "77"]));
    chain.send(stranger.address(), 5, "", None);
    chain.node.result("silica_mine", &json!([300]));
    chain.send(stranger.address(), 6, "", None);
    let height = crate::height(&chain.node);
    while number(&chain.node.result("silica_nodeInfo", &json!([]))["indexedBlocks"]) != Some(i128::from(height) + 1) {
        thread::sleep(Duration::from_millis(20));
    }
    for block in (0..=height).step_by(7).chain(height - 5..=height) {
        for (address, sum) in chain.sums(block) {
            let result = chain.node.result("silica_getBalanceAt", &json!([address, block.to_string()]));
            assert_eq!(result, json!({"balance": sum.to_string(), "block": block.to_string()}), "{address}");
        }
    }
    let unknown = chain.node.result("silica_getBalanceAt", &json!([Wallet::stranger(9).hex(), "3"]));
    assert_eq!(unknown, json!({"balance": "0", "block": "3"}));
    let refused = |block: &str, problem: &str| {
        let params = json!([stranger.hex(), block]);
        check_error(&chain.node, "silica_getBalanceAt", &params, (-8, &format!("block: {problem}")));
    };
    refused("9000", &format!("expected a block up to the latest block {height}, got 9000"));

    let mut chain = Chain::with(&["--index", "addresses,events,blocks"]);
    chain.send(stranger.address(), 5, "", None);
    chain.node.result("silica_mine", &json!([99]));
    let latest = chain.node.result("silica_getBalanceAt", &json!([stranger.hex(), "100"]));
    assert_eq!(latest["balance"], "5", "the proof window needs no index");
    let problem =
        "block: expected a block from 51 on, because the node has no index of balances (--index balances), got 7";
    check_error(&chain.node, "silica_getBalanceAt", &json!([stranger.hex(), "7"]), (-8, problem));
}

#[test]
fn transfers_are_listed_by_address_and_by_block() {
    let mut chain = Chain::new();
    let (one, other) = (Wallet::stranger(1), Wallet::stranger(2));
    for amount in 1..=4 {
        chain.send(one.address(), amount, "", None);
        chain.send(other.address(), 10 * amount, "", None);
    }
    chain.node.result("silica_mine", &json!([3_000]));
    let amounts = |options: Value| -> Vec<String> {
        chain.all(options).iter().map(|it| it["amount"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(amounts(json!({"addresses": [one.hex()], "limit": 1})), ["4", "3", "2", "1"]);
    assert_eq!(amounts(json!({"addresses": [one.hex()], "order": "oldest"})), ["1", "2", "3", "4"]);
    let both = [other.address().to_bech32(), format!("0x{}", one.hex())];
    assert_eq!(
        amounts(json!({"addresses": both, "order": "oldest", "limit": 3})),
        ["1", "10", "2", "20", "3", "30", "4", "40"]
    );
    let of_one = chain.all(json!({"addresses": [one.hex()], "order": "oldest"}));
    let (first, last) = (&of_one[1]["block"], &of_one[2]["block"]);
    assert_eq!(amounts(json!({"addresses": [one.hex()], "fromBlock": first, "toBlock": last})), ["3", "2"]);
    assert_eq!(amounts(json!({"addresses": [one.hex()], "fromBlock": "999999"})), [""; 0]);
    let zero = "0".repeat(40);
    let rewards = chain.all(json!({"addresses": [zero], "limit": 1000}));
    let height = crate::height(&chain.node);
    let paid = rewards.iter().filter(|it| it["kind"] == "reward").count() as u64;
    assert_eq!(paid, (height + 1) / 6, "each sixth block pays a reward");

    let refused = |options: Value, problem: &str| {
        check_error(&chain.node, "silica_getTransfers", &json!([options]), (-8, &format!("options: {problem}")));
    };
    let expected = "addresses: expected an array of 1 to 10000 addresses, got";
    refused(json!({"addresses": []}), &format!("{expected} []"));
    refused(json!({"addresses": "x"}), &format!("{expected} \"x\""));
    refused(json!({"addresses": ["x"]}), &format!("{expected} [\"x\"]"));
    refused(json!({"fromBlock": "7", "toBlock": "5"}), "toBlock: expected at least fromBlock, 7, got 5");
    let (code, text) = chain.node.error("silica_getTransfers", &json!([{"addresses": vec![one.hex(); 10_001]}]));
    assert!(
        code == -8 && text.starts_with("options: addresses: expected an array of 1 to 10000 addresses"),
        "{text:.200}"
    );
    assert_eq!(amounts(json!({"addresses": vec![one.hex(); 10_000]})).len(), 4);
}

#[test]
fn subscribers_get_the_transfers_of_their_accounts() {
    let mut chain = Chain::new();
    let (sender, stranger) = (Wallet::funded(0), Wallet::stranger(1));
    let mut client = Client::connect(&chain.node);
    let [sender_hex, stranger_hex] = [&sender, &stranger].map(|wallet| format!("0x{}", wallet.hex()));
    client.subscribe(&json!({"query": "Transfers", "addresses": [stranger_hex, sender_hex]}));
    chain.send(stranger.address(), 5, "", None);
    let listed = chain.all(json!({"order": "oldest", "fromBlock": "1"}));
    let [fee, payment] = &listed[..] else { panic!("{listed:?}") };
    let mut value = vec![
        json!({"address": sender.hex(), "transfers": [fee, payment]}),
        json!({"address": stranger.hex(), "transfers": [payment]}),
    ];
    value.sort_by_key(|entry| entry["address"].as_str().unwrap().to_owned());
    assert_eq!(client.news(), [json!({"query": "Transfers", "value": value})]);
    chain.node.result("silica_mine", &json!([1]));
    assert_eq!(client.news(), [json!({"query": "Transfers"})]);
    chain.node.result("silica_setBalance", &json!([stranger.hex(), "9"]));
    let news = client.news();
    assert_eq!(news[0]["value"][0]["transfers"][0]["balance"], "9", "{news:?}");
    client.subscribe(&json!({"query": "Unsubscribe", "type": "Transfers"}));
    chain.node.result("silica_mine", &json!([1]));
    assert_eq!(client.news()[1], json!({"query": "Unsubscribe", "value": ["Transfers"]}));
    assert_eq!(client.ask(&json!({"query": "Transfers", "addresses": []}).to_string()), "invalid addresses field");
}
