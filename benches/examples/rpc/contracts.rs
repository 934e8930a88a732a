//! Contracts: a token whose state clients query, and a contract with logs in many blocks.

use serde_json::{Value, json};
use silica_protocol::Address;
use silica_tests::Wallet;

use crate::{
    client::Requests,
    request,
    run::{Run, Turn},
    server::Server,
};

/// The row of the request for logs.
pub(crate) const LOGS: &str = "eth_getLogs_10000_blocks";

/// Number of blocks of the request for logs. Each block has a payment, and each tenth block also has an event.
const BLOCKS_WITH_LOGS: usize = 10_000;
const BLOCKS_FOR_A_LOG: usize = 10;

/// Number of requests for logs in a turn.
const REQUESTS_IN_TURN: usize = 3;

/// Number of holders of the token.
const HOLDERS: u64 = 100;
/// Tokens of each holder, as JSON.
pub(crate) const MINTED: &str = "\"1000\"";
/// Tokens of all holders, as JSON.
pub(crate) const SUPPLY: &str = "\"100000\"";

/// Gas limit of a deployment or call.
const GAS_LIMIT: u64 = 20_000;

/// An account that sends transactions to a node.
struct Sender<'a> {
    node: &'a Server,
    wallet: Wallet,
    nonce: u64,
}

impl<'a> Sender<'a> {
    fn new(node: &'a Server, wallet: Wallet) -> Self {
        Self { node, wallet, nonce: 0 }
    }

    /// Sends a deployment, a call or, without data, a payment of 0 Qa. Returns the address of a deployed contract.
    fn send(&mut self, to: Address, code: &str, data: &Value) -> Option<Address> {
        self.nonce += 1;
        let mut payment = self.wallet.payment(self.nonce, to, 0);
        if !data.is_null() {
            (payment.gas_limit, payment.code, payment.data) = (GAS_LIMIT, code.to_owned(), data.to_string());
        }
        let answer = self.node.ask(&request("CreateTransaction", &json!([payment.json()])));
        let value: Value = serde_json::from_str(&answer).expect("the response is JSON");
        assert!(value.pointer("/result/TranID").is_some(), "{answer}");
        let contract = value.pointer("/result/ContractAddress").and_then(Value::as_str).map(str::parse);
        contract.transpose().expect("the node writes addresses")
    }

    /// Deploys a contract in a new block. The init data also get the version of Scilla.
    fn deploy(&mut self, code: &str, init: &[Value]) -> Address {
        let version = json!({"vname": "_scilla_version", "type": "Uint32", "value": "0"});
        let init = [&[version], init].concat();
        let contract = self.send(Address::ZERO, code, &Value::Array(init));
        self.node.make_blocks(1);
        contract.expect("a deployment has the address of the contract")
    }
}

/// Returns the address of a holder of the token in the form of a map key.
pub(crate) fn holder(number: u64) -> String {
    format!("0x{}", Wallet::stranger(number).address())
}

/// Deploys a token on a node, and mints tokens for its holders. Returns the address of the token.
pub(crate) fn token(node: &Server) -> Address {
    let mut owner = Sender::new(node, Wallet::funded(2));
    let param = |name: &str, of: &str, value: Value| json!({"vname": name, "type": of, "value": value});
    let own = format!("0x{}", owner.wallet.address());
    let init = [
        param("contract_owner", "ByStr20", own.into()),
        param("name", "String", "Token".into()),
        param("symbol", "String", "TKN".into()),
        param("decimals", "Uint32", "0".into()),
        param("init_supply", "Uint128", "0".into()),
        param("default_operators", "List ByStr20", json!([])),
    ];
    let code = include_str!("../../../contracts/fungible_token/fungible_token.scilla");
    let token = owner.deploy(code, &init);
    for number in 0..HOLDERS {
        let amount = MINTED.trim_matches('"').into();
        let params = [param("recipient", "ByStr20", holder(number).into()), param("amount", "Uint128", amount)];
        owner.send(token, "", &json!({"_tag": "Mint", "params": params}));
        node.make_blocks(1);
    }
    token
}

/// Measures the processor time of the node for `eth_getLogs` of one contract over many blocks.
pub(crate) fn logs(run: &Run) {
    let (blocks, node) = (run.share(BLOCKS_WITH_LOGS), Server::node(1));
    let (mut caller, mut payer) = (Sender::new(&node, Wallet::funded(0)), Sender::new(&node, Wallet::funded(1)));
    let contract = caller.deploy(include_str!("../../../tests/data/contracts/relay.scilla"), &[]);
    for block in 0..blocks {
        if block % BLOCKS_FOR_A_LOG == 0 {
            caller.send(contract, "", &json!({"_tag": "Take", "params": []}));
        }
        payer.send(Wallet::stranger(0).address(), "", &Value::Null);
        node.make_blocks(1);
    }
    let filter = json!({"address": format!("0x{contract}"), "fromBlock": "0x0", "toBlock": format!("0x{blocks:x}")});
    let body = request("eth_getLogs", &json!([filter]));
    let answer: Value = serde_json::from_str(&node.ask(&body)).expect("the response is JSON");
    let count = answer.get("result").and_then(Value::as_array).map_or(0, Vec::len);
    assert_eq!(count, blocks.div_ceil(BLOCKS_FOR_A_LOG), "{answer}");
    let turn = Turn::new(&node, &Requests::new([&body], "\"logIndex\":"), REQUESTS_IN_TURN);
    let [time] = run.turn_by_turn([turn]);
    println!("{LOGS}: {time:?} for {count} logs in {blocks} blocks");
}
