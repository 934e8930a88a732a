//! Uses payments with an unmodified `zilliqa-rs`: creates an account, pays it, waits for confirmation, and reads all
//! data.
//!
//! `SILICA_URL` is the URL of the node, and `SILICA_KEY` the private key of a funded account. Other programs must not
//! use this account during the test. `SILICA_MEMBERS` is the number of members of the committee, 1 by default. All
//! parts of the test use this account, so one test function calls all of them.

use std::env;

use sha2::{Digest, Sha256};
use zilliqa_rs::{
    Error,
    core::{CreateTransactionResponse, TxHash, ZilAddress, parse_zil},
    middlewares::Middleware,
    providers::{Http, Provider},
    signers::LocalWallet,
    transaction::TransactionBuilder,
};

const CHAIN_ID: u16 = 222;
const GAS: u64 = 50;

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("set {name}"))
}

fn members() -> usize {
    env::var("SILICA_MEMBERS").map_or(1, |members| members.parse().unwrap())
}

fn connect(wallet: &LocalWallet) -> impl Middleware + use<> {
    Provider::<Http>::try_from(variable("SILICA_URL").as_str())
        .unwrap()
        .with_chain_id(CHAIN_ID)
        .with_signer(wallet.clone())
}

fn refusal<T: std::fmt::Debug>(answer: Result<T, Error>) -> String {
    answer.expect_err("the call is refused").to_string()
}

#[tokio::test]
async fn new_account_is_paid_and_everything_is_read_back() {
    let payer: LocalWallet = variable("SILICA_KEY").parse().unwrap();
    let client = connect(&payer);
    let gas_price: u128 = client.get_minimum_gas_price().await.unwrap().parse().unwrap();
    let fee = gas_price * u128::from(GAS);

    an_account_without_payments_is_not_created(&client).await;
    let hash = an_account_is_paid_and_pays_in_turn(&client, &payer, fee).await;
    the_payment_is_found_again(&client, &hash).await;
    rejection_has_a_reason(&client, &payer).await;
    blocks_listings_and_statistics_agree(&client).await;
    the_committee_has_its_members(&client).await;
    an_account_without_code_has_nothing_to_prove(&client, &payer).await;
}

async fn an_account_without_payments_is_not_created(client: &impl Middleware) {
    let stranger = LocalWallet::create_random().unwrap();
    let refused = refusal(client.get_balance(&stranger.address).await);
    assert!(refused.contains("Account is not created"), "{refused}");
}

async fn an_account_is_paid_and_pays_in_turn(client: &impl Middleware, payer: &LocalWallet, fee: u128) -> TxHash {
    let created = LocalWallet::create_random().unwrap();
    let before = client.get_balance(&payer.address).await.unwrap();

    let paid = parse_zil("25").unwrap();
    let payment = TransactionBuilder::default().pay(paid, created.address.clone()).build();
    let sent = client.send_transaction(payment).await.unwrap();
    let confirmed = sent.confirm().await.unwrap();
    assert!(confirmed.receipt.success);
    assert_eq!(confirmed.receipt.cumulative_gas, GAS.to_string());

    let after = client.get_balance(&payer.address).await.unwrap();
    assert_eq!(after.nonce, before.nonce + 1);
    assert_eq!(after.balance, before.balance - paid - fee);
    assert_eq!(client.get_balance(&created.address).await.unwrap().balance, paid);

    let back = parse_zil("1").unwrap();
    let payment = TransactionBuilder::default().pay(back, payer.address.clone()).build();
    connect(&created).send_transaction(payment).await.unwrap().confirm().await.unwrap();
    let left = client.get_balance(&created.address).await.unwrap();
    assert_eq!((left.nonce, left.balance), (1, paid - back - fee));
    confirmed.id.parse().unwrap()
}

async fn the_payment_is_found_again(client: &impl Middleware, hash: &TxHash) {
    let read = client.get_transaction(hash).await.unwrap();
    assert_eq!(read.amount, parse_zil("25").unwrap().to_string());
    assert_eq!(read.version, "14548993");

    let epoch = &read.receipt.epoch_num;
    let block = client.get_tx_block(epoch).await.unwrap();
    assert_eq!(&block.header.block_num, epoch);
    let hashes = client.get_transactions_for_tx_block(epoch).await.unwrap();
    assert!(hashes.iter().flatten().any(|listed| *listed == read.id));
    let page = client.get_transactions_for_tx_block_ex(epoch, "0").await.unwrap();
    assert!(page.transactions.iter().flatten().any(|listed| *listed == read.id));
    let bodies = client.get_txn_bodies_for_tx_block(epoch).await.unwrap();
    assert!(bodies.iter().any(|body| body.id == read.id));
    let page = client.get_txn_bodies_for_tx_block_ex(epoch, "0").await.unwrap();
    assert!(page.transactions.iter().any(|body| body.id == read.id));
    let soft = client.get_soft_confirmed_transaction(hash).await.unwrap();
    assert_eq!((soft.id, soft.receipt.epoch_num), (read.id.clone(), read.receipt.epoch_num.clone()));
    assert!(client.get_recent_transactions().await.unwrap().txn_hashes.contains(&read.id));
    let status = client.get_transaction_status(hash).await.unwrap();
    assert_eq!((status.modification_state, status.status), (2, 3));
}

async fn rejection_has_a_reason(client: &impl Middleware, payer: &LocalWallet) {
    let nonce = client.get_balance(&payer.address).await.unwrap().nonce;
    let payment = TransactionBuilder::default().nonce(nonce).pay(1, payer.address.clone()).build();
    let refused = refusal(client.send_transaction_without_confirm::<CreateTransactionResponse>(payment).await);
    assert!(refused.contains(&format!("Nonce ({nonce}) lower than current ({nonce})")), "{refused}");
}

async fn blocks_listings_and_statistics_agree(client: &impl Middleware) {
    let latest = client.get_latest_tx_block().await.unwrap();
    let number: u32 = latest.header.block_num.parse().unwrap();
    let previous = client.get_tx_block(&(number - 1).to_string()).await.unwrap();
    assert_eq!(latest.header.prev_block_hash, previous.body.block_hash);
    let listing = client.tx_block_listing(1).await.unwrap();
    assert_eq!((listing.data[0].block_num, listing.max_pages), (number, number / 10 + 1));

    let latest_ds = client.get_latest_ds_block().await.unwrap();
    let ds_number = &latest_ds.header.block_num;
    assert_eq!(client.get_ds_block(ds_number).await.unwrap().signature, latest_ds.signature);
    let verbose = client.get_ds_block_verbose(ds_number).await.unwrap();
    assert_eq!((&verbose.header.header.block_num, &verbose.signature), (ds_number, &latest_ds.signature));
    assert_eq!(verbose.header.members_ejected, Vec::<String>::new());
    let verbose = client.get_tx_block_verbose(&latest.header.block_num).await.unwrap();
    assert_eq!(verbose.body.block_hash, latest.body.block_hash);
    assert_eq!(client.ds_block_listing(1).await.unwrap().data[0].block_num.to_string(), *ds_number);
    assert_eq!(client.get_miner_info(ds_number).await.unwrap().dscommittee.len(), members());

    let info = client.get_blockchain_info().await.unwrap();
    assert_eq!(info.num_tx_blocks, (number + 1).to_string());
    assert_eq!(info.num_tx_blocks, client.get_num_tx_blocks().await.unwrap());
    assert_eq!(info.num_dsblocks, client.get_num_ds_blocks().await.unwrap());
    assert_eq!(info.num_transactions, client.get_num_transactions().await.unwrap());
    assert_eq!(info.current_mini_epoch, client.get_current_mini_epoch().await.unwrap());
    assert_eq!(info.current_dsepoch, client.get_current_ds_epoch().await.unwrap());
    assert_eq!(info.num_txns_tx_epoch, client.get_num_txns_tx_epoch(&number.to_string()).await.unwrap());
    assert_eq!(info.num_txns_dsepoch, client.get_num_txns_ds_epoch(ds_number).await.unwrap());
    assert_eq!(info.transaction_rate, client.get_transaction_rate().await.unwrap());
    assert_eq!(info.tx_block_rate, client.get_tx_block_rate().await.unwrap());
    assert_eq!(info.dsblock_rate, client.get_ds_block_rate().await.unwrap());
    assert_eq!(client.get_prev_difficulty().await.unwrap(), latest_ds.header.difficulty);
    assert_eq!(client.get_prev_ds_difficulty().await.unwrap(), latest_ds.header.difficulty_ds);

    let supply = client.get_total_coin_supply().await.unwrap();
    let whole: u128 = supply.split_once('.').unwrap().0.parse().unwrap();
    assert!(client.get_total_coin_supply_as_int().await.unwrap().abs_diff(whole) <= 1);
}

async fn the_committee_has_its_members(client: &impl Middleware) {
    let info = client.get_blockchain_info().await.unwrap();
    let committee = client.get_current_ds_comm().await.unwrap();
    assert_eq!((committee.dscomm.len(), &committee.current_ds_epoch), (members(), &info.current_dsepoch));
    assert_eq!(committee.current_tx_epoch, info.current_mini_epoch);
    let shards = client.get_sharding_structure().await.unwrap();
    assert_eq!(shards.num_peers, info.sharding_structure.num_peers);
    assert_eq!(client.get_num_peers().await.unwrap(), info.num_peers);
    assert_eq!(client.get_node_type().await.unwrap(), "Seed");
}

async fn an_account_without_code_has_nothing_to_prove(client: &impl Middleware, payer: &LocalWallet) {
    let address: ZilAddress = payer.address.clone();
    let init = refusal(client.get_smart_contract_init(&address).await);
    assert!(init.contains("Address not contract address"), "{init}");
    let variable = hex::encode(Sha256::digest(format!("{address}\x16counter\x16")));
    let proof = refusal(client.get_state_proof(&address, &variable, "latest").await);
    assert!(proof.contains("Address not contract address"), "{proof}");
    let proof = refusal(client.get_state_proof(&address, &variable, "9999999").await);
    assert!(proof.contains("Requested txBlock not mined yet"), "{proof}");
}
