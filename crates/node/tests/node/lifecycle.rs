//! Tests of the start, stop and restart of a node, and of the errors of a rejected start.

use std::{fs, path::Path, time::Duration};

use serde_json::{Value, json};
use silica_node::{
    BlockMode, Config, DbReport, MaintenanceError, Node, RequestError, RunningNode, StartError, check_db, rebuild_db,
};
use silica_protocol::{ChainId, Qa};

use crate::harness::{RICH, key, key_number, payment, result, signed};

async fn start_in(dir: &Path) -> RunningNode {
    Node::start(Config::in_dir(dir)).await.unwrap()
}

/// Checks that a start fails with an error text that has each of `words`.
async fn check_refused(config: Config, words: &[&str]) {
    let error = Node::start(config).await.unwrap_err().to_string();
    for word in words {
        assert!(error.contains(word), "{word:?} is missing in {error}");
    }
}

#[tokio::test]
async fn second_start_continues_the_chain() {
    let dir = tempfile::tempdir().unwrap();
    let node = start_in(dir.path()).await;
    let rich = key(RICH);
    let transaction = payment(&rich, 1, key_number(5).address(), 1);
    let hash = transaction.hash().to_string();
    result(node.addr(), "CreateTransaction", json!([signed(transaction, &rich)])).await;
    let block = result(node.addr(), "GetLatestTxBlock", json!([])).await;
    let read = result(node.addr(), "GetTransaction", json!([hash])).await;
    node.stop().await.unwrap();

    let node = start_in(dir.path()).await;
    assert_eq!(node.banner().latest.get(), 1);
    assert_eq!(result(node.addr(), "GetLatestTxBlock", json!([])).await, block);
    assert_eq!(result(node.addr(), "GetTransaction", json!([hash])).await, read);
    let next = signed(payment(&rich, 2, key_number(5).address(), 1), &rich);
    result(node.addr(), "CreateTransaction", json!([next])).await;
    node.stop().await.unwrap();
}

#[tokio::test]
async fn dropped_node_releases_its_directory() {
    let dir = tempfile::tempdir().unwrap();
    let config = || Config { block_mode: BlockMode::Manual, ..Config::in_dir(dir.path()) };
    let node = Node::start(config()).await.unwrap();
    let rich = key(RICH);
    let transaction = payment(&rich, 1, key_number(5).address(), 1);
    let hash = transaction.hash().to_string();
    result(node.addr(), "CreateTransaction", json!([signed(transaction, &rich)])).await;
    result(node.addr(), "IncreaseBlocknum", json!([1])).await;
    let pending = payment(&rich, 2, key_number(5).address(), 1);
    let pending_hash = pending.hash().to_string();
    result(node.addr(), "CreateTransaction", json!([signed(pending, &rich)])).await;
    drop(node);

    // Nothing has run the server's tasks since the drop.
    let node = Node::start(config()).await.unwrap();
    result(node.addr(), "GetTransaction", json!([hash])).await;
    let pending = json!({"code": 1, "confirmed": false, "pending": true});
    assert_eq!(result(node.addr(), "GetPendingTxn", json!([pending_hash])).await, pending);
    node.stop().await.unwrap();
}

#[tokio::test]
async fn stop_continues_after_its_future_is_dropped() {
    let dir = tempfile::tempdir().unwrap();
    let node = start_in(dir.path()).await;
    // The timeout polls the stop once.
    tokio::time::timeout(Duration::ZERO, node.stop()).await.unwrap_err();
    let next = async {
        loop {
            match Node::start(Config::in_dir(dir.path())).await {
                Ok(node) => break node,
                Err(error) => assert!(error.to_string().contains("in use"), "{error}"),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), next).await.unwrap().stop().await.unwrap();
}

#[tokio::test]
async fn genesis_accounts_set_balances_in_any_spelling_of_an_address() {
    let dir = tempfile::tempdir().unwrap();
    let (file, owner, new) = (dir.path().join("accounts.json"), key(RICH), key_number(9).address());
    let secret = owner.secret().to_hex();
    let spelled = owner.address().to_checksum();
    let accounts = json!({ spelled: { "privateKey": secret.as_str(), "amount": "1000", "nonce": 3 } });
    fs::write(&file, accounts.to_string()).unwrap();
    let builder = Node::builder().genesis_account(owner.address(), Qa::new(5)).genesis_account(new, Qa::new(7));
    let node = builder.configure(|config| config.accounts_file = Some(file)).start().await.unwrap();
    for (address, balance, nonce) in [(owner.address(), "5", 3), (new, "7", 0)] {
        let found: Value = node.request("GetBalance", [address.to_string()]).await.unwrap();
        assert_eq!(found, json!({ "balance": balance, "nonce": nonce }));
    }
    let addresses: Vec<_> = node.accounts().iter().map(|account| account.address).collect();
    assert_eq!(addresses, [owner.address()]);
}

#[tokio::test]
async fn errors_of_requests_name_the_method() {
    let node = Node::builder().start().await.unwrap();
    let error = node.request::<String>("GetNothing", [""]).await.unwrap_err();
    assert!(matches!(error, RequestError::Rpc { .. }), "{error:?}");
    assert!(error.to_string().starts_with("GetNothing failed: "), "{error}");
    let error = node.request::<u64>("GetNetworkId", [""]).await.unwrap_err();
    assert!(matches!(error, RequestError::Result { .. }), "{error:?}");
    assert!(error.to_string().contains("GetNetworkId") && error.to_string().contains("\"222\""), "{error}");
}

#[tokio::test]
async fn what_waited_waits_again() {
    let dir = tempfile::tempdir().unwrap();
    let config = || Config { block_mode: BlockMode::Manual, ..Config::in_dir(dir.path()) };
    let node = Node::start(config()).await.unwrap();
    let rich = key(RICH);
    let transaction = payment(&rich, 1, key_number(5).address(), 1);
    let hash = transaction.hash().to_string();
    result(node.addr(), "CreateTransaction", json!([signed(transaction, &rich)])).await;
    node.stop().await.unwrap();

    let node = Node::start(config()).await.unwrap();
    let waiting = json!({"code": 1, "confirmed": false, "pending": true});
    assert_eq!(result(node.addr(), "GetPendingTxn", json!([hash])).await, waiting);
    result(node.addr(), "IncreaseBlocknum", json!([1])).await;
    result(node.addr(), "GetTransaction", json!([hash])).await;
    node.stop().await.unwrap();
}

#[tokio::test]
async fn directory_in_use_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let node = start_in(dir.path()).await;
    let path = dir.path().display().to_string();
    check_refused(Config::in_dir(dir.path()), &[&path, "in use by another node"]).await;
    node.stop().await.unwrap();
    start_in(dir.path()).await.stop().await.unwrap();
}

#[tokio::test]
async fn port_in_use_is_named() {
    let node = Node::start(Config::ephemeral()).await.unwrap();
    let listen = node.addr();
    let words = [&*listen.to_string(), "port is in use", "choose another address"];
    check_refused(Config { listen, ..Config::ephemeral() }, &words).await;
    node.stop().await.unwrap();
}

#[tokio::test]
async fn chain_with_other_parameters_is_not_continued() {
    let dir = tempfile::tempdir().unwrap();
    let config = || Config::in_dir(dir.path());
    let made = Config { chain_id: Some(ChainId::new(333)), shards: Some(2), ..config() };
    Node::start(made).await.unwrap().stop().await.unwrap();

    let other = Config { chain_id: Some(ChainId::new(222)), ..config() };
    check_refused(other, &["id 333", "--chain-id requires 222"]).await;
    check_refused(Config { shards: Some(3), ..config() }, &["shards 2", "--shards requires 3"]).await;
    let other = Config { blocks_per_ds_epoch: Some(7), ..config() };
    check_refused(other, &["blocks per DS epoch 100", "--blocks-per-ds-epoch requires 7"]).await;

    let node = start_in(dir.path()).await;
    assert_eq!(result(node.addr(), "GetNetworkId", json!([])).await, "333");
    node.stop().await.unwrap();
}

#[tokio::test]
async fn accounts_come_from_a_file_once() {
    let dir = tempfile::tempdir().unwrap();
    let (file, other) = (dir.path().join("accounts.json"), dir.path().join("other.json"));
    let address = key_number(1).address();
    let secret = key_number(1).secret().to_hex().to_string();
    fs::write(&file, json!({address.to_string(): {"amount": "7", "nonce": 3, "privateKey": secret}}).to_string())
        .unwrap();
    fs::write(&other, json!({address.to_string(): {"amount": "8", "nonce": 3}}).to_string()).unwrap();
    let data = dir.path().join("data");
    let config = |file: &Path| Config { accounts_file: Some(file.to_owned()), ..Config::in_dir(&data) };

    let node = Node::start(config(&file)).await.unwrap();
    let expected = json!({"balance": "7", "nonce": 3});
    assert_eq!(result(node.addr(), "GetBalance", json!([address.to_string()])).await, expected);
    assert_eq!(node.banner().accounts.len(), 1);
    assert_eq!(node.banner().accounts[0].address, address);
    node.stop().await.unwrap();

    fs::remove_file(&file).unwrap();
    let node = start_in(&data).await;
    assert_eq!(result(node.addr(), "GetBalance", json!([address.to_string()])).await, expected);
    node.stop().await.unwrap();
    check_refused(config(&other), &["genesis accounts", "--accounts-file", "other.json"]).await;
    check_refused(config(&file), &["cannot read accounts file", "accounts.json"]).await;
}

#[tokio::test]
async fn broken_file_of_accounts_leaves_no_chain() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("accounts.json");
    fs::write(&file, "{\"12\": {}}").unwrap();
    let data = dir.path().join("data");
    let config = Config { accounts_file: Some(file), ..Config::in_dir(&data) };
    let error = Node::start(config).await.unwrap_err();
    assert!(matches!(error, StartError::Accounts { .. }), "{error}");
    assert!(!data.join("manifest.json").exists());
    start_in(&data).await.stop().await.unwrap();
}

#[tokio::test]
async fn directory_of_a_newer_program_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    start_in(dir.path()).await.stop().await.unwrap();
    let manifest = dir.path().join("manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace("\"format\": 2", "\"format\": 9")).unwrap();
    check_refused(Config::in_dir(dir.path()), &["has format 9", "up to 3", "newer silica"]).await;
}

#[tokio::test]
async fn exchanged_key_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    start_in(dir.path()).await.stop().await.unwrap();
    fs::write(dir.path().join("node.key"), key_number(9).secret().to_hex().as_str()).unwrap();
    check_refused(Config::in_dir(dir.path()), &["node.key is damaged", "expected the secret key of"]).await;
}

#[tokio::test]
async fn exchanged_store_is_noticed() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for dir in [&first, &second] {
        start_in(dir.path()).await.stop().await.unwrap();
    }
    fs::remove_dir_all(second.path().join("store")).unwrap();
    fs::rename(first.path().join("store"), second.path().join("store")).unwrap();
    let error = Node::start(Config::in_dir(second.path())).await.unwrap_err();
    assert!(matches!(error, StartError::Chain { .. }), "{error}");
}

#[tokio::test]
async fn lost_store_is_no_new_chain() {
    let dir = tempfile::tempdir().unwrap();
    start_in(dir.path()).await.stop().await.unwrap();
    fs::remove_dir_all(dir.path().join("store")).unwrap();
    check_refused(Config::in_dir(dir.path()), &["store is damaged", "its blocks are missing"]).await;
    assert!(check_db(dir.path()).unwrap_err().to_string().contains("its blocks are missing"));
}

#[tokio::test]
async fn price_of_gas_outlasts_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let node = start_in(dir.path()).await;
    result(node.addr(), "SetMinimumGasPrice", json!(["3000000000"])).await;
    node.stop().await.unwrap();
    let node = start_in(dir.path()).await;
    assert_eq!(result(node.addr(), "GetMinimumGasPrice", json!([])).await, "3000000000");
    node.stop().await.unwrap();
}

#[tokio::test]
async fn check_and_rebuild_find_the_chain_that_was_made() {
    let dir = tempfile::tempdir().unwrap();
    let node = start_in(dir.path()).await;
    let rich = key(RICH);
    result(node.addr(), "CreateTransaction", json!([signed(payment(&rich, 1, key_number(5).address(), 1), &rich)]))
        .await;
    result(node.addr(), "IncreaseBlocknum", json!([110])).await;
    let root = result(node.addr(), "GetLatestTxBlock", json!([])).await["header"]["StateRootHash"].clone();
    let in_use = check_db(dir.path()).unwrap_err().to_string();
    assert!(in_use.contains("in use by another node"), "{in_use}");
    node.stop().await.unwrap();

    let checked = check_db(dir.path()).unwrap();
    assert_eq!(checked.check.unwrap().record.transactions, 1);
    assert_eq!((checked.latest.unwrap().get(), json!(checked.state_root.to_string())), (111, root));
    let rebuilt = rebuild_db(dir.path()).unwrap();
    assert_eq!(rebuilt, DbReport { check: None, ..checked });
    assert_eq!(check_db(dir.path()).unwrap(), checked);
    assert!(matches!(check_db(&dir.path().join("none")), Err(MaintenanceError::DataDir(_))));
}

#[tokio::test]
async fn damaged_state_is_rebuilt_by_the_next_start() {
    let dir = tempfile::tempdir().unwrap();
    let node = start_in(dir.path()).await;
    result(node.addr(), "IncreaseBlocknum", json!([110])).await;
    node.stop().await.unwrap();
    for entry in fs::read_dir(dir.path().join("store/state")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::write(path, "damage").unwrap();
        }
    }
    let node = start_in(dir.path()).await;
    assert_eq!(result(node.addr(), "GetNumTxBlocks", json!([])).await, "111");
    node.stop().await.unwrap();
    check_db(dir.path()).unwrap();
}
