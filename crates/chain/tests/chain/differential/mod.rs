//! Random transactions of every kind, executed in different ways. All ways must give the same result.
//!
//! ```text
//! random transactions ─▶ blocks ─┬─▶ one transaction in each block, in the same order: same receipts and storage
//!                                ├─▶ a new store that verifies each block: same blocks
//!                                ├─▶ traces of the latest transactions: same receipts, successive changes
//!                                └─▶ a naive executor without gas and tries: same money and values
//! ```
//!
//! `SILICA_SEEDS=N` sets the number of seeds, and `SILICA_SEED=N` the first seed. A failure prints its seed.

mod model;
mod scenario;
mod storage;
mod traces;
mod transfers;

use std::{collections::BTreeMap, env, ops::ControlFlow, sync::Arc};

use eth_trie::{EthTrie, MemoryDB, Trie};
use silica_chain::{ChainConfig, CommittedBlock, Snapshot};
use silica_protocol::{
    Account, Address, BlockNumber, CodeHash, ContractAccount, Gas, Receipt, StorageKey, Transaction,
    rpc::contract_state::StateWriter,
};
use silica_scilla::rules::{Edition, Rules};

use self::{model::Model, scenario::Scenario};
use crate::{
    blocks,
    harness::{Net, USERS, config, node, user},
    load::check_twice,
    replay::check_replay,
};

/// Number of seeds, unless the environment sets another number.
const SEEDS: u64 = 2;
/// Number of blocks with random transactions.
const ROUNDS: u64 = 9;
/// Number of latest blocks whose transactions are traced. For each trace, the earlier transactions of the block are
/// executed again.
const TRACED: usize = 2;
/// Number of empty blocks at the start of each chain that the test compares. A contract pays for the digits of the
/// number of its block, so these numbers must have the same length. There are fewer than 900 transactions, so all
/// numbers have three digits.
const EMPTY: u64 = 100;

/// Checks of the state that the headers do not cover.
struct Checks {
    model: Model,
    total: u128,
}

impl Checks {
    fn new(net: &Net) -> Self {
        let mut model = Model { rules: net.test.chain().config().rules.scilla, ..Model::default() };
        for (address, balance, nonce) in accounts(net) {
            model.accounts.insert(address, model::Account { balance, nonce, program: None });
        }
        Self { model, total: money(net) }
    }

    /// Checks the state after a block.
    fn check(&mut self, net: &Net, block: &CommittedBlock, contracts: &[Address]) {
        assert_eq!(money(net), self.total, "money is conserved");
        for (transaction, receipt) in block.transactions() {
            self.model.apply(block.tx_block().header.number, transaction, receipt);
        }
        let own = [Address::ZERO, Address::from_public_key(&node())];
        let mut there = BTreeMap::new();
        for (address, balance, nonce) in accounts(net).into_iter().filter(|(address, ..)| !own.contains(address)) {
            there.insert(address, (balance, nonce));
        }
        let modelled = self.model.accounts.iter().filter(|(address, _)| !own.contains(address));
        let modelled: BTreeMap<_, _> = modelled.map(|(at, account)| (*at, (account.balance, account.nonce))).collect();
        assert_eq!(there, modelled, "balances and nonces");
        let state = net.test.producer().store().snapshot();
        let root_of_accounts = root(state.state().accounts().map(|account| {
            let (address, account) = account.unwrap();
            (address.to_string(), account.encode())
        }));
        assert_eq!(block.tx_block().header.state_root.to_bytes(), root_of_accounts);
        for contract in contracts {
            check_contract(net, &self.model, contract);
        }
    }
}

/// Compares the storage of a contract with the model, its storage root with an independent trie, and its fields with
/// the model.
fn check_contract(net: &Net, model: &Model, contract: &Address) {
    let state = net.test.producer().store().snapshot();
    let entries: BTreeMap<StorageKey, Vec<u8>> = state.state().storage(contract).unwrap().map(Result::unwrap).collect();
    let leaves = entries.iter().map(|(key, value)| (key.variable_hash().to_string(), value.clone()));
    let account = state.account(contract).unwrap().unwrap().contract.unwrap();
    assert_eq!(account.storage_root.unwrap().to_bytes(), root(leaves), "storage root of {contract}");
    let metadata: Vec<String> = ["_addr", "_depth", "_hasmap", "_type", "_version"]
        .map(|name| format!("{contract}{}{name}", StorageKey::SEPARATOR))
        .into();
    let is_field = |key: &StorageKey| !metadata.iter().any(|prefix| key.as_str().starts_with(prefix));
    let fields: BTreeMap<_, _> = entries.into_iter().filter(|(key, _)| is_field(key)).collect();
    assert_eq!(fields, model.entries(contract), "entries of {contract}");
    let mut text = Vec::new();
    let mut writer = StateWriter::of_fields(None);
    let mut entries = net.snapshot().contract_fields(contract).unwrap();
    let visited = entries.visit(|path, value| {
        writer.add(path, value, &mut text);
        ControlFlow::Continue(())
    });
    assert!(visited.unwrap().is_continue());
    writer.finish(&mut text);
    let read: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(&text).unwrap();
    assert_eq!(read, model.fields(contract), "fields of {contract}");
}

/// Returns the root of an independent trie.
fn root(leaves: impl Iterator<Item = (String, Vec<u8>)>) -> [u8; 32] {
    let mut trie = EthTrie::new(Arc::new(MemoryDB::new(false)));
    for (key, value) in leaves {
        trie.insert(key.as_bytes(), &value).unwrap();
    }
    trie.root_hash().unwrap().0
}

fn accounts(net: &Net) -> Vec<(Address, u128, u64)> {
    let state = net.test.producer().store().snapshot();
    let accounts = state.state().accounts().map(Result::unwrap);
    accounts.map(|(address, account)| (address, account.balance.get(), account.nonce.get())).collect()
}

/// Returns the sum of all money: the balances, and the fees of the DS epoch until its last block has credited them.
fn money(net: &Net) -> u128 {
    let head = net.test.producer().store().snapshot().head().unwrap().clone();
    let credited = net.test.chain().config().epochs().unwrap().is_vacuous(head.number);
    let fees = if credited { 0 } else { head.totals.ds_epoch_fees.get() };
    accounts(net).iter().map(|(_, balance, _)| balance).sum::<u128>() + fees
}

/// Returns an account without the code hash, which depends on the block of the deployment.
fn timeless(state: &Snapshot, address: &Address) -> Option<Account> {
    let account = state.account(address).unwrap()?;
    let contract = account.contract.map(|contract| ContractAccount { code_hash: CodeHash::ZERO, ..contract });
    Some(Account { contract, ..account })
}

fn timeless_receipt(receipt: &Receipt) -> Receipt {
    Receipt { epoch: BlockNumber::new(0), ..receipt.clone() }
}

/// Executes transactions again, each in a separate block.
fn one_by_one(config: ChainConfig, blocks: &[Arc<CommittedBlock>]) -> Net {
    let mut net = Net::new(config);
    net.demand(EMPTY);
    for (transaction, receipt) in blocks.iter().flat_map(|block| block.transactions()) {
        net.submit(Transaction::clone(transaction.transaction()));
        let mut block = net.tick();
        if block.transactions().is_empty() {
            // The vacuous block has no transactions.
            block = net.tick();
        }
        let [(again, receipt_again)] = block.transactions() else {
            panic!("{} alone is dropped: {:?}", transaction.hash(), net.status(&transaction.hash()));
        };
        assert_eq!(again.hash(), transaction.hash());
        assert_eq!(timeless_receipt(receipt_again), timeless_receipt(receipt), "{} alone", transaction.hash());
    }
    net
}

/// Returns the Scilla rules for a seed.
fn rules(seed: u64) -> Rules {
    match seed % 4 {
        0 => Rules::UNNAMED,
        1 => Rules::current(Edition::V0_13),
        2 => Rules::current(Edition::V0_11),
        _ => Rules::current(Edition::Latest),
    }
}

fn run(seed: u64) {
    let mut scenario = Scenario::new(seed);
    let mut config = config(scenario.choose(&[1, 2, 3]), scenario.choose(&[7, 1_000]));
    config.shard_gas_limit = Gas::new(scenario.choose(&[40_000, 400_000]));
    config.rules.scilla = rules(seed);
    let mut net = Net::new(config.clone());
    net.demand(EMPTY);
    let mut checks = Checks::new(&net);
    let mut blocks = Vec::new();
    while blocks.len() < usize::try_from(ROUNDS).unwrap() {
        scenario.submit(&mut net);
        let at = net.later();
        if blocks.len().is_multiple_of(4) {
            check_twice(&mut net, at);
        }
        let block = net.tick();
        scenario.settle(&block);
        blocks::check(&net, &block);
        checks.check(&net, &block, scenario.contracts());
        blocks.push(block);
    }
    scenario.check_variety(seed);
    check_replay(&net);
    for block in blocks.iter().rev().take(TRACED) {
        traces::check(&net, block);
    }
    let apart = one_by_one(config, &blocks);
    assert_eq!(money(&apart), checks.total, "money is conserved");
    check_replay(&apart);
    for contract in scenario.contracts() {
        check_contract(&apart, &checks.model, contract);
    }
    for address in checks.model.accounts.keys().filter(|address| !address.is_zero()) {
        if *address != Address::from_public_key(&node()) {
            assert_eq!(timeless(&apart.snapshot(), address), timeless(&net.snapshot(), address), "account {address}");
        }
    }
}

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is {text:?}, and no number")))
}

#[test]
fn whatever_is_executed_comes_to_the_same_in_every_way() {
    let first = number("SILICA_SEED").unwrap_or(1);
    for seed in first..first + number("SILICA_SEEDS").unwrap_or(SEEDS) {
        println!("seed {seed}");
        run(seed);
    }
}

#[test]
fn the_same_order_after_the_same_deployments_has_the_same_state_root() {
    let seed = number("SILICA_SEED").unwrap_or(1);
    println!("seed {seed}");
    let mut scenario = Scenario::new(seed);
    // No block is vacuous. Otherwise the chains would pay rewards at different times.
    let config = config(2, 1_000);
    let mut net = Net::new(config.clone());
    net.demand(EMPTY);
    let mut blocks = Vec::new();
    for round in 0..ROUNDS {
        if round == 0 {
            scenario.submit_deployments(&mut net);
        } else {
            scenario.submit_without_deployments(&mut net);
        }
        let block = net.tick();
        scenario.settle(&block);
        blocks.push(block);
    }
    let mut apart = Net::new(config);
    apart.demand(EMPTY);
    let mut blocks = blocks.into_iter();
    for (transaction, _) in blocks.next().unwrap().transactions() {
        apart.submit(Transaction::clone(transaction.transaction()));
    }
    apart.tick();
    for (transaction, _) in blocks.flat_map(|block| block.transactions().to_vec()) {
        apart.submit(Transaction::clone(transaction.transaction()));
        apart.tick();
    }
    let root = |net: &Net| net.snapshot().latest_tx_block().header.state_root;
    assert!(apart.height() > net.height());
    assert_eq!(root(&apart), root(&net));
    assert!((1..=USERS).any(|number| apart.nonce(&user(number)) > 1));
}
