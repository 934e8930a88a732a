//! Uses contracts with an unmodified `zilliqa-rs`: deploys them, calls them with success and failure, reads their
//! state, and verifies proofs with `eth_trie`.
//!
//! `SILICA_URL` is the URL of the node, and `SILICA_KEY` the private key of a funded account. Other programs must not
//! use this account during the test. All parts of the test use this account, so one test function calls all of them.
//!
//! The SDK generates functions from the contracts in `contracts/`, except for contracts with maps of their own data
//! types. The SDK cannot read a receipt with a message to an account without a contract, because it requires the member
//! `accepted`.

#![expect(clippy::await_holding_refcell_ref, reason = "the functions that the SDK makes are called so")]

use std::{env, path::Path, sync::Arc};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use silica_client_rs::{Proved, prove, root_of};
use zilliqa_rs::{
    Error,
    contract::{BaseContract, HelloWorld, Init, Relay, ScillaVariable, ToScillaValue},
    core::{BNum, CreateTransactionResponse, DeployContractResponse, GetTransactionResponse, TxHash, ZilAddress},
    middlewares::Middleware,
    providers::{Http, Provider},
    signers::LocalWallet,
    transaction::{TransactionBuilder, TransactionParams},
};

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("set {name}"))
}

fn connect(wallet: &LocalWallet) -> Arc<impl Middleware + use<>> {
    let provider = Provider::<Http>::try_from(variable("SILICA_URL").as_str()).unwrap();
    Arc::new(provider.with_chain_id(222).with_signer(wallet.clone()))
}

fn example(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Returns an address in the form of Scilla values.
fn shown(address: &ZilAddress) -> String {
    format!("0x{}", address.trim_start_matches("0x").to_lowercase())
}

fn param<T: ToScillaValue>(name: &str, scilla_type: &str, value: T) -> ScillaVariable {
    ScillaVariable::new_from_str(name, scilla_type, value)
}

/// Returns a parameter with a value for which the SDK has no type.
fn json_param(name: &str, scilla_type: &str, value: &Value) -> ScillaVariable {
    serde_json::from_value(json!({"vname": name, "type": scilla_type, "value": value})).unwrap()
}

fn large() -> Option<TransactionParams> {
    Some(TransactionParams { gas_limit: Some(60_000), ..Default::default() })
}

async fn deploy<M: Middleware>(
    client: &Arc<M>,
    code: String,
    mut params: Vec<ScillaVariable>,
) -> (BaseContract<M>, ZilAddress) {
    params.insert(0, param("_scilla_version", "Uint32", "0"));
    let gas = TransactionParams { gas_limit: Some(60_000), gas_price: Some(2_000_000_000), ..Default::default() };
    let request = TransactionBuilder::from(gas)
        .to_address(ZilAddress::nil())
        .amount(0)
        .code(code)
        .data(serde_json::to_string(&Init(params)).unwrap())
        .build();
    let sent: DeployContractResponse = client.send_transaction_without_confirm(request).await.unwrap();
    assert!(client.get_transaction(&sent.response.tran_id).await.unwrap().receipt.success);
    let found = client.get_contract_address_from_transaction_id(&sent.response.tran_id).await.unwrap();
    assert_eq!(found, shown(&sent.contract_address)[2..]);
    (BaseContract::new(sent.contract_address.clone(), client.clone()), sent.contract_address)
}

async fn deploy_token<M: Middleware>(
    client: &Arc<M>,
    owner: &ZilAddress,
    supply: u128,
) -> (BaseContract<M>, ZilAddress) {
    let params = vec![
        param("contract_owner", "ByStr20", owner),
        param("name", "String", "Gold"),
        param("symbol", "String", "GLD"),
        param("decimals", "Uint32", 2u32),
        param("init_supply", "Uint128", supply),
        param("default_operators", "List (ByStr20)", Vec::<ZilAddress>::new()),
    ];
    deploy(client, example("contracts/fungible_token/fungible_token.scilla"), params).await
}

/// Sends a call whose receipt the SDK cannot read, and checks that the call succeeded.
async fn send(client: &impl Middleware, to: &ZilAddress, tag: &str, params: &[ScillaVariable]) -> TxHash {
    let request = TransactionBuilder::default()
        .to_address(to.clone())
        .gas_price(2_000_000_000)
        .gas_limit(60_000)
        .data(json!({"_tag": tag, "params": params}).to_string())
        .build();
    let sent: CreateTransactionResponse = client.send_transaction_without_confirm(request).await.unwrap();
    assert_eq!(sent.info, "Contract Txn, Shards Match of the sender and reciever");
    let status = client.get_transaction_status(&sent.tran_id).await.unwrap();
    assert!(status.success, "{status:?}");
    sent.tran_id
}

/// Returns the error codes of a failed receipt, and the texts of its exceptions.
fn failure(answer: &GetTransactionResponse) -> (Vec<(u64, Vec<u64>)>, Vec<&str>) {
    let receipt = &answer.receipt;
    assert!(!receipt.success);
    assert!(receipt.event_logs.is_none() && receipt.transitions.is_none());
    let errors = receipt.errors.clone().unwrap().into_iter().collect();
    (errors, receipt.exceptions.as_ref().unwrap().iter().map(|e| e.message.as_str()).collect())
}

#[tokio::test]
async fn contracts_are_deployed_called_and_proved() {
    let payer: LocalWallet = variable("SILICA_KEY").parse().unwrap();
    let client = connect(&payer);
    let other = LocalWallet::create_random().unwrap();
    let payment = TransactionBuilder::default().pay(1_000_000_000_000_000, other.address.clone()).build();
    client.send_transaction(payment).await.unwrap().confirm().await.unwrap();

    a_greeting_is_changed_and_read(&client, &payer, &other).await;
    parameters_of_every_type_are_kept(&client, &payer).await;
    a_failing_call_says_where_it_failed(&client).await;
    a_call_of_what_is_no_contract_is_refused(&client, &payer).await;
    an_order_on_the_exchange_is_filled(&client, &payer, &other).await;
    a_campaign_imports_a_library(&client, &payer).await;
    variables_are_proved(&client, &payer, &other).await;
    storage_roots_are_those_of_another_trie(&client, &payer, &other).await;
}

async fn a_greeting_is_changed_and_read<M: Middleware>(client: &Arc<M>, payer: &LocalWallet, other: &LocalWallet) {
    let contract = HelloWorld::deploy(client.clone(), payer.address.clone()).await.unwrap();
    let called = contract.greet().call().await.unwrap();
    assert_eq!(called.receipt.accepted, Some(false));
    let event = called.receipt.event_log("Greeting").unwrap();
    assert_eq!(event.address, shown(contract.address()));
    let params = json!([
        {"vname": "to", "type": "ByStr20", "value": shown(&payer.address)},
        {"vname": "text", "type": "String", "value": "Hello, world"},
    ]);
    assert_eq!(serde_json::to_value(&event.params).unwrap(), params);

    contract.set_greeting("Good \"morning\"\n".to_owned()).call().await.unwrap();
    assert_eq!(contract.greeting().await.unwrap(), "Good \"morning\"\n");
    assert_eq!(contract.owner().await.unwrap(), payer.address);
    let stranger = HelloWorld::attach(contract.address().clone(), connect(other));
    let refused = stranger.set_greeting("Mine".to_owned()).call().await.unwrap();
    let thrown = format!(
        r#"Exception thrown: (Message [(_exception : (String "NotTheOwner")) ; (caller : (ByStr20 {}))])"#,
        shown(&other.address)
    );
    assert_eq!(failure(&refused), (vec![(0, vec![7])], vec![thrown.as_str(), "Raised from SetGreeting"]));
    stranger.greet().call().await.unwrap();
    stranger.greet().call().await.unwrap();
    let visits = json!({shown(&payer.address): "1", shown(&other.address): "2"});
    let state: Value = client.get_smart_contract_state(contract.address()).await.unwrap();
    assert_eq!(state, json!({"_balance": "0", "greeting": "Good \"morning\"\n", "visits": visits}));
    assert_eq!(contract.visits().await.unwrap().len(), 2);

    let code = client.get_smart_contract_code(contract.address()).await.unwrap().code;
    assert_eq!(code, example("contracts/hello_world/hello_world.scilla"));
    let init = client.get_smart_contract_init(contract.address()).await.unwrap();
    let names: Vec<_> = init.iter().map(|param| param.vname.as_str()).collect();
    assert_eq!(names, ["_scilla_version", "owner", "_creation_block", "_this_address"]);
    let owned = client.get_smart_contracts(&payer.address).await.unwrap().0;
    assert!(owned.iter().any(|owned| owned.address == *contract.address()));
    // The SDK shortens the code: it removes comments and empty lines.
    let short = HelloWorld::deploy_compressed(client.clone(), payer.address.clone()).await.unwrap();
    assert!(client.get_smart_contract_code(short.address()).await.unwrap().code.len() < code.len());
    assert_eq!(short.greeting().await.unwrap(), "Hello, world");
}

async fn parameters_of_every_type_are_kept<M: Middleware>(client: &Arc<M>, payer: &LocalWallet) {
    let (_, token) = deploy_token(client, &payer.address, 1000).await;
    let share = (payer.address.clone(), 7u128);
    let params = vec![
        param("big", "Int256", "-1"),
        param("key", "ByStr33", format!("0x{}", "03".repeat(33))),
        param("bytes", "ByStr", "0x"),
        param("since", "BNum", BNum::new("100")),
        param("flag", "Bool", true),
        param("maybe", "Option (Uint32)", Some(5u32)),
        param("shares", "List (Pair (ByStr20) (Uint128))", vec![share.clone()]),
        param("token", "ByStr20", &token),
    ];
    let (contract, address) = deploy(client, example("tests/data/contracts/parameters.scilla"), params).await;
    let shape = format!("{}.Shape", shown(&address));
    let circle = json!({"constructor": format!("{}.Circle", shown(&address)), "argtypes": [], "arguments": ["9"]});
    let some = |list: Vec<bool>| Some(list);
    for (tag, params) in [
        (
            "TakeSigned",
            vec![
                param("a", "Int32", i32::MIN),
                param("b", "Int64", i64::MAX),
                param("c", "Int128", i128::MIN),
                param("d", "Int256", i128::MAX),
            ],
        ),
        (
            "TakeUnsigned",
            vec![
                param("a", "Uint32", u32::MAX),
                param("b", "Uint64", u64::MAX),
                param("c", "Uint128", u128::MAX),
                param("d", "Uint256", u128::MAX),
            ],
        ),
        ("TakeText", vec![param("a", "String", "some \\ \"text\"")]),
        (
            "TakeBytes",
            vec![
                param("a", "ByStr", "0x00ff"),
                param("b", "ByStr4", "0xdeadbeef"),
                param("c", "ByStr20", &payer.address),
                param("d", "ByStr33", format!("0x{}", "ab".repeat(33))),
            ],
        ),
        ("TakeBlock", vec![param("a", "BNum", BNum::new("200"))]),
        (
            "TakeData",
            vec![
                param("a", "Bool", false),
                param("b", "Option (Uint32)", None::<u32>),
                param("c", "Pair (String) (Int32)", ("left".to_owned(), -1i32)),
                param("d", "List (Pair (ByStr20) (Uint128))", vec![share.clone(), share.clone()]),
                param("f", "List (Option (List (Bool)))", vec![some(vec![true, false]), None, some(vec![])]),
            ],
        ),
        ("TakeShape", vec![json_param("a", &shape, &circle)]),
    ] {
        let called = contract.call(tag, params, large()).await.unwrap();
        assert!(called.receipt.success, "{tag}: {:?}", called.receipt);
    }
    let state: Value = contract.get_state().await.unwrap();
    let share = json!({
        "argtypes": ["ByStr20", "Uint128"], "arguments": [shown(&payer.address), "7"], "constructor": "Pair",
    });
    let (yes, no) = (
        json!({"argtypes": [], "arguments": [], "constructor": "True"}),
        json!({"argtypes": [], "arguments": [], "constructor": "False"}),
    );
    let list = "List (Bool)";
    let maybe = |name: &str, arguments: Value| json!({"argtypes": [list], "arguments": arguments, "constructor": name});
    assert_eq!(
        state,
        json!({
            "_balance": "0",
            "int32": i32::MIN.to_string(), "int64": i64::MAX.to_string(), "int128": i128::MIN.to_string(),
            "int256": i128::MAX.to_string(), "uint32": u32::MAX.to_string(), "uint64": u64::MAX.to_string(),
            "uint128": u128::MAX.to_string(), "uint256": u128::MAX.to_string(), "text": "some \\ \"text\"",
            "bystr": "0x00ff", "bystr4": "0xdeadbeef", "bystr20": shown(&payer.address),
            "bystr33": format!("0x{}", "ab".repeat(33)), "block": "200", "bool": no,
            "option": {"argtypes": ["Uint32"], "arguments": [], "constructor": "None"},
            "pair": {"argtypes": ["String", "Int32"], "arguments": ["left", "-1"], "constructor": "Pair"},
            "list": [share, share],
            "nested": [maybe("Some", json!([[yes, no]])), maybe("None", json!([])), maybe("Some", json!([[]]))],
            "shape": circle, "shapes": {},
        })
    );

    // A nested map, and each request for a part of it.
    let put = |a: &str, b: i32, c: &str| {
        vec![param("a", "BNum", a), param("b", "Int32", b), param("c", "String", c), json_param("d", &shape, &circle)]
    };
    contract.call("PutShape", put("1", -1, "x \"y\""), None).await.unwrap();
    contract.call("PutShape", put("1", -1, ""), None).await.unwrap();
    let sub = async |name: &str, indices: &[&str]| {
        client.get_smart_contract_sub_state(&address, name, indices).await.unwrap()
    };
    let inner = json!({"x \"y\"": circle, "": circle});
    assert_eq!(sub("shapes", &[]).await, json!({"shapes": {"1": {"-1": inner}}}));
    assert_eq!(sub("shapes", &["1", "-1"]).await, json!({"shapes": {"1": {"-1": inner}}}));
    assert_eq!(sub("shapes", &["1", "-1", ""]).await, json!({"shapes": {"1": {"-1": {"": circle}}}}));
    assert_eq!(sub("shapes", &["1", "-1", "x \"y\""]).await, json!({"shapes": {"1": {"-1": {"x \"y\"": circle}}}}));
    assert_eq!(sub("shapes", &["1", "0"]).await, Value::Null);
    assert_eq!(sub("no_field", &[]).await, Value::Null);
    assert_eq!(sub("", &[]).await, contract.get_state::<Value>().await.unwrap());
}

async fn a_failing_call_says_where_it_failed<M: Middleware>(client: &Arc<M>) {
    let relay = Relay::deploy(client.clone()).await.unwrap();
    let other = Relay::deploy(client.clone()).await.unwrap();
    let to = other.address();
    let failed = |by: &ZilAddress| {
        format!("Exception thrown: (Message [(_exception : (String \"Failed\")) ; (by : (ByStr20 {}))])", shown(by))
    };
    let (here, there) = (failed(relay.address()), failed(to));
    let poor = "The balance is too low to transfer all the funds in the messages: balance = 0, amount to transfer = 1";
    let forward = async |tag: &str, amount: u128| relay.forward(to.clone(), tag.to_owned(), amount).call().await;
    for (answer, errors, exceptions) in [
        (relay.fail().call().await, (0, vec![7]), vec![here.as_str(), "Raised from Count", "Raised from Fail"]),
        (forward("Fail", 0).await, (1, vec![7]), vec![there.as_str(), "Raised from Count", "Raised from Fail"]),
        (forward("Take", 1).await, (0, vec![7]), vec![poor]),
        (forward("Gone", 0).await, (1, vec![7]), vec!["No contract transition for tag found: Gone"]),
        (relay.repeat(21).call().await, (21, vec![15]), vec![]),
    ] {
        assert_eq!(failure(&answer.unwrap()), (vec![errors], exceptions));
    }
    assert_eq!(relay.taken().await.unwrap(), 0);

    relay.take().amount(500).call().await.unwrap();
    let sent = forward("Take", 200).await.unwrap();
    let [message] = sent.receipt.transitions.as_deref().unwrap() else { panic!("{:?}", sent.receipt) };
    assert_eq!((message.accepted, message.depth, message.addr.clone()), (true, 0, shown(relay.address())));
    assert_eq!((message.msg._amount.as_str(), message.msg._recipient.clone()), ("200", shown(to)));
    assert_eq!(client.get_balance(relay.address()).await.unwrap().balance, 300);
    assert_eq!(client.get_balance(to).await.unwrap().balance, 200);
    let repeated = relay.repeat(3).call().await.unwrap();
    let depths: Vec<_> = repeated.receipt.transitions.unwrap().iter().map(|message| message.depth).collect();
    assert_eq!(depths, [0, 1, 2]);
}

async fn a_call_of_what_is_no_contract_is_refused<M: Middleware>(client: &Arc<M>, payer: &LocalWallet) {
    let refused =
        async |to: &ZilAddress| match BaseContract::new(to.clone(), client.clone()).call("Take", vec![], None).await {
            Err(Error::JsonRpcError(error)) => error.to_string(),
            answer => panic!("{answer:?}"),
        };
    assert!(refused(&payer.address).await.contains("Non - contract address called"));
    assert!(refused(&LocalWallet::create_random().unwrap().address).await.contains("To addr is null"));
}

async fn an_order_on_the_exchange_is_filled<M: Middleware>(client: &Arc<M>, payer: &LocalWallet, other: &LocalWallet) {
    let taker = connect(other);
    let (gold, gold_at) = deploy_token(client, &payer.address, 100).await;
    let (_, iron_at) = deploy_token(client, &other.address, 5000).await;
    let (exchange, exchange_at) =
        deploy(client, example("contracts/token_exchange/token_exchange.scilla"), vec![]).await;
    let allow = |amount: u128| vec![param("spender", "ByStr20", &exchange_at), param("amount", "Uint128", amount)];
    gold.call("IncreaseAllowance", allow(10), None).await.unwrap();
    BaseContract::new(iron_at.clone(), taker.clone()).call("IncreaseAllowance", allow(500), None).await.unwrap();
    let order = |give: &ZilAddress| {
        vec![
            param("give", "ByStr20", give),
            param("give_amount", "Uint128", 10u128),
            param("want", "ByStr20", &iron_at),
            param("want_amount", "Uint128", 500u128),
            param("last_block", "BNum", BNum::new("1000000")),
        ]
    };
    let no_token = exchange.call("OpenOrder", order(&payer.address), None).await.unwrap();
    assert_eq!(failure(&no_token).0, [(0, vec![7])]);
    let opened = exchange.call("OpenOrder", order(&gold_at), None).await.unwrap();
    assert!(opened.receipt.event_log("OrderOpened").is_some());
    send(&*taker, &exchange_at, "FillOrder", &[param("id", "Uint32", 1u32)]).await;
    for (token, holder, amount) in
        [(&gold_at, payer, "90"), (&gold_at, other, "10"), (&iron_at, payer, "500"), (&iron_at, other, "4500")]
    {
        let holder = shown(&holder.address);
        let held = client.get_smart_contract_sub_state(token, "balances", &[&holder]).await.unwrap();
        assert_eq!(held, json!({"balances": {holder: amount}}));
    }
}

async fn a_campaign_imports_a_library<M: Middleware>(client: &Arc<M>, payer: &LocalWallet) {
    let library = vec![param("_library", "Bool", true)];
    let (_, escrow) = deploy(client, example("contracts/escrow/Escrow.scillib"), library).await;
    let pairs = json!([
        {"constructor": "Pair", "argtypes": ["String", "ByStr20"], "arguments": ["Escrow", shown(&escrow)]}
    ]);
    let params = vec![
        json_param("_extlibs", "List(Pair String ByStr20)", &pairs),
        param("owner", "ByStr20", &payer.address),
        param("last_block", "BNum", BNum::new("1000000")),
        param("goal", "Uint128", 1000u128),
    ];
    let (campaign, address) = deploy(client, example("contracts/crowdfunding/crowdfunding.scilla"), params).await;
    let donation = TransactionParams { amount: Some(600), ..Default::default() };
    let donated = campaign.call("Donate", vec![], Some(donation)).await.unwrap();
    assert_eq!(donated.receipt.accepted, Some(true));
    assert_eq!(client.get_balance(&address).await.unwrap().balance, 600);
    let early = campaign.call("Claim", vec![], None).await.unwrap();
    let thrown = r#"Exception thrown: (Message [(_exception : (String "Error")) ; (code : (Int32 -2))])"#;
    // The exceptions do not list the procedures of the call.
    assert_eq!(failure(&early).1, [thrown, "Raised from Claim"]);
}

/// Returns the variable hash of a field or an entry.
fn variable_hash(contract: &ZilAddress, name: &str, indices: &[&str]) -> String {
    let address = shown(contract);
    let parts = [&address[2..], name].into_iter().chain(indices.iter().copied());
    hex::encode(Sha256::digest(parts.map(|part| format!("{part}\x16")).collect::<String>()))
}

/// Requests the proof of an entry in the latest state, and verifies it.
async fn proved(client: &impl Middleware, contract: &ZilAddress, name: &str, indices: &[&str]) -> Proved {
    let block = client.get_latest_tx_block().await.unwrap().header;
    let hash = variable_hash(contract, name, indices);
    let answer = client.get_state_proof(contract, &hash, &block.block_num).await.unwrap();
    let nodes = |member: &str| {
        answer[member].as_array().unwrap().iter().map(|node| hex::decode(node.as_str().unwrap()).unwrap()).collect()
    };
    let root = hex::decode(block.state_root_hash).unwrap();
    prove(&root, &shown(contract)[2..], &hash, nodes("accountProof"), nodes("stateProof")).unwrap()
}

async fn variables_are_proved<M: Middleware>(client: &Arc<M>, payer: &LocalWallet, other: &LocalWallet) {
    let (token, at) = deploy_token(client, &payer.address, 1000).await;
    let (from, to) = (shown(&payer.address), shown(&other.address));
    let amount = param("amount", "Uint128", 400u128);
    send(&**client, &at, "Transfer", &[param("to", "ByStr20", &other.address), amount]).await;
    let spend = vec![param("spender", "ByStr20", &other.address), param("amount", "Uint128", 7u128)];
    token.call("IncreaseAllowance", spend, None).await.unwrap();
    let (from, to) = (json!(from).to_string(), json!(to).to_string());
    for (name, indices, value) in [
        ("total_supply", vec![], Some("\"1000\"")),
        ("balances", vec![from.as_str()], Some("\"600\"")),
        ("balances", vec![to.as_str()], Some("\"400\"")),
        ("allowances", vec![from.as_str(), to.as_str()], Some("\"7\"")),
        ("allowances", vec![to.as_str(), from.as_str()], None),
        ("balances", vec![], None),
        ("nothing", vec![], None),
        ("operators", vec![], Some("\x12\0")),
        ("_depth", vec!["allowances"], Some("2")),
    ] {
        let proved = proved(&**client, &at, name, &indices).await;
        assert_eq!(proved.value.as_deref(), value.map(str::as_bytes), "{name} {indices:?}");
    }
    let relay = Relay::deploy(client.clone()).await.unwrap();
    relay.take().amount(12345).call().await.unwrap();
    let balance = client.get_balance(relay.address()).await.unwrap().balance;
    assert_eq!((proved(&**client, relay.address(), "taken", &[]).await.balance, balance), (12345, 12345));
}

async fn storage_roots_are_those_of_another_trie<M: Middleware>(
    client: &Arc<M>,
    payer: &LocalWallet,
    other: &LocalWallet,
) {
    let params = vec![
        param("initial_owners", "List (ByStr20)", vec![payer.address.clone(), other.address.clone()]),
        param("initial_threshold", "Uint32", 2u32),
    ];
    let (wallet, at) = deploy(client, example("contracts/multisig_wallet/multisig_wallet.scilla"), params).await;
    let owner = LocalWallet::create_random().unwrap().address;
    wallet.call("ProposeOwner", vec![param("owner", "ByStr20", &owner)], None).await.unwrap();
    wallet.call("ProposeThreshold", vec![param("number", "Uint32", 1u32)], None).await.unwrap();
    wallet.call("Revoke", vec![param("id", "Uint32", 2u32)], None).await.unwrap();

    // All entries of this contract, from the rules for keys and values alone.
    let own = shown(&at);
    let proposal =
        |action: String| format!(r#"{{"constructor":"{own}.Proposal","argtypes":[],"arguments":[{action},"0"]}}"#);
    let add = format!(r#"{{"constructor":"{own}.AddOwner","argtypes":[],"arguments":["{}"]}}"#, shown(&owner));
    let set = format!(r#"{{"constructor":"{own}.SetThreshold","argtypes":[],"arguments":["1"]}}"#);
    let yes = r#"{"constructor":"True","argtypes":[],"arguments":[]}"#;
    let quoted = |address: &ZilAddress| format!("\"{}\"", shown(address));
    let (first, second) = (quoted(&payer.address), quoted(&other.address));
    let types = [
        ("owners", "Map (ByStr20) (Bool)".to_owned(), "1"),
        ("owner_count", "Uint32".to_owned(), "0"),
        ("threshold", "Uint32".to_owned(), "0"),
        ("era", "Uint32".to_owned(), "0"),
        ("next_id", "Uint32".to_owned(), "0"),
        ("proposals", format!("Map (Uint32) ({own}.Proposal)"), "1"),
        ("signatures", "Map (Uint32) (Map (ByStr20) (Bool))".to_owned(), "2"),
        ("signature_counts", "Map (Uint32) (Uint32)".to_owned(), "1"),
    ];
    let (one, two) = ("\"1\"", "\"2\"");
    let mut entries: Vec<(String, Vec<u8>)> = vec![
        (variable_hash(&at, "_version", &[]), b"0".to_vec()),
        (variable_hash(&at, "_addr", &[]), hex::decode(&own[2..]).unwrap()),
    ];
    for (field, scilla_type, depth) in &types {
        entries.push((variable_hash(&at, "_type", &[field]), scilla_type.clone().into_bytes()));
        entries.push((variable_hash(&at, "_depth", &[field]), depth.as_bytes().to_vec()));
    }
    for (field, indices, value) in [
        ("owners", vec![first.as_str()], yes),
        ("owners", vec![second.as_str()], yes),
        ("owner_count", vec![], two),
        ("threshold", vec![], two),
        ("era", vec![], "\"0\""),
        ("next_id", vec![], "\"3\""),
        ("proposals", vec![one], proposal(add).as_str()),
        ("proposals", vec![two], proposal(set).as_str()),
        ("signatures", vec![one, first.as_str()], yes),
        // The contract removed the last signature, so an empty map remains.
        ("signatures", vec![two], "\x12\0"),
        ("signature_counts", vec![one], one),
        ("signature_counts", vec![two], "\"0\""),
    ] {
        entries.push((variable_hash(&at, field, &indices), value.as_bytes().to_vec()));
    }
    let root = root_of(entries.iter().map(|(key, value)| (key.as_str(), value.as_slice())));
    assert_eq!(proved(&**client, &at, "era", &[]).await.storage_root, root);
}
