//! Requests neither create nor destroy money (Reference: execution#conservation-of-money).

use std::collections::BTreeSet;

use serde_json::{Value, json};
use silica_protocol::Address;
use silica_tests::{
    Dice, Node, Wallet,
    wallet::{FEE, FUNDS, GAS_PRICE},
};

use crate::{balance, height};

/// Returns the sum of all balances, plus the fees of the DS epoch that no account has received.
fn total(node: &Node, accounts: &BTreeSet<Address>, epoch_length: u64) -> u128 {
    let held: u128 = accounts
        .iter()
        .filter_map(|address| node.call("GetBalance", &json!([address.to_string()])).ok())
        .map(|account| account["balance"].as_str().unwrap().parse::<u128>().unwrap())
        .sum();
    let latest = height(node);
    // The header of the genesis block has a nominal amount that no account paid.
    let epoch_start = (latest / epoch_length * epoch_length).max(1);
    let uncredited: u128 = (epoch_start..=latest)
        .filter(|_| !(latest + 1).is_multiple_of(epoch_length))
        .map(|number| {
            let block = node.result("GetTxBlock", &json!([number.to_string()]));
            block["header"]["TxnFees"].as_str().unwrap().parse::<u128>().unwrap()
        })
        .sum();
    held + uncredited
}

#[test]
fn money_is_conserved_after_every_block_under_random_load() {
    const EPOCH: u64 = 7;
    let node = Node::start(&["--block-mode", "manual", "--blocks-per-ds-epoch", "7", "--shards", "2"]);
    let mut wallets: Vec<Wallet> = Wallet::all_funded().collect();
    let funded = wallets.len();
    wallets.extend((0..20).map(Wallet::stranger));
    let mut accounts: BTreeSet<Address> = wallets.iter().map(Wallet::address).collect();
    accounts.insert(Address::ZERO);
    node.result("IncreaseBlocknum", &json!([1]));
    let miner = node.result("GetLatestTxBlock", &json!([]))["header"]["MinerPubKey"].as_str().unwrap().to_owned();
    accounts.insert(Address::from_public_key(&miner.parse().unwrap()));

    let supply = funded as u128 * FUNDS + 8_400_000_000_000_000_000_000;
    let mut dice = Dice::new(1);
    for _ in 0..40 {
        let mut next: Vec<u64> = wallets
            .iter()
            .map(|wallet| {
                node.call("GetBalance", &json!([wallet.hex()])).map_or(1, |a| a["nonce"].as_u64().unwrap() + 1)
            })
            .collect();
        let batch: Vec<Value> = (0..dice.below(40))
            .map(|id| {
                let payer = dice.index(wallets.len());
                let payee = &wallets[dice.index(wallets.len())];
                let amount = match dice.below(4) {
                    0 => 0,
                    1 => u128::from(dice.below(1000)),
                    2 => FEE * u128::from(dice.below(10)),
                    _ => FUNDS / 2,
                };
                let mut payment = wallets[payer].payment(next[payer], payee.address(), amount);
                payment.gas_price = GAS_PRICE + u128::from(dice.below(3));
                payment.gas_limit = 50 + dice.below(100);
                // Some payments leave a nonce gap, and some repeat a nonce.
                next[payer] += [1, 1, 1, 1, 0, 2][dice.index(6)];
                json!({"id": id, "jsonrpc": "2.0", "method": "CreateTransaction", "params": [payment.json()]})
            })
            .collect();
        if !batch.is_empty() {
            node.post_json(Value::from(batch).to_string());
        }
        node.result("IncreaseBlocknum", &json!([1]));
        assert_eq!(total(&node, &accounts, EPOCH), supply, "after block {}", height(&node));
    }
    let moved: u64 = node.result("GetNumTransactions", &json!([])).as_str().unwrap().parse().unwrap();
    assert!(moved > 100, "only {moved} payments were executed");
    assert!(balance(&node, &wallets[0].hex()).1 > 0);
}
