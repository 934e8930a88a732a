//! State proofs for a contract that is written directly into the first state.

use std::collections::BTreeMap;

use silica_chain::{
    ChainConfig, Proposal,
    consensus::{Application, seal_alone},
    open,
};
use silica_protocol::{
    Account, Address, BlockNumber, CodeHash, ContractAccount, Qa, StorageKey, Timestamp, VariableHash,
};
use silica_state::{BlockRecord, StateDiff, Store, proof::trie::verify};

use crate::harness::{BEGIN, Net, genesis, memory, node, node_key};

const CONTRACT: Address = Address::new([0xc0; 20]);

/// Returns a store whose first state has a contract with one variable.
fn with_contract() -> Store {
    let store = memory();
    store.set_label(&ChainConfig::isolated().rules.scilla.to_string()).unwrap();
    let mut accounts = genesis().accounts().clone();
    let contract = ContractAccount { code_hash: CodeHash::new([1; 32]), storage_root: None };
    accounts.insert(CONTRACT, Account { contract: Some(contract), balance: Qa::new(5), ..Account::default() });
    let entries = BTreeMap::from([(variable("count"), Some(b"\"42\"".to_vec()))]);
    let diff = StateDiff { accounts, storage: BTreeMap::from([(CONTRACT, entries)]) };
    let state = store.extend(store.prepare(), &diff).unwrap();
    let record = BlockRecord::genesis(state.root(), node(), Timestamp::new(BEGIN));
    store.commit(&record, state).unwrap();
    store
}

fn variable(name: &str) -> StorageKey {
    StorageKey::field(&CONTRACT, name)
}

fn check_proof(net: &Net, name: &str, block: Option<u64>, expected: Option<&[u8]>) {
    let snapshot = net.snapshot();
    let hash: VariableHash = variable(name).variable_hash();
    let block = block.map(BlockNumber::new);
    let proof = snapshot.state_proof(&CONTRACT, &hash, block).unwrap();
    let number = block.unwrap_or(snapshot.latest_tx_block().header.number);
    let root = snapshot.tx_block(number).unwrap().unwrap().header.state_root;
    // The verification uses only the state root in the header and the two lists of nodes.
    let account = verify(root.as_bytes(), CONTRACT.to_string().as_bytes(), &proof.account).unwrap();
    let account = Account::decode(&account.unwrap()).unwrap();
    let storage_root = account.contract.unwrap().storage_root.unwrap();
    let value = verify(storage_root.as_bytes(), hash.to_string().as_bytes(), &proof.state).unwrap();
    assert_eq!(value.as_deref(), expected);
}

#[test]
fn variables_are_proved_against_the_header_of_any_block_of_the_window() {
    let mut net = Net::over(with_contract(), ChainConfig::isolated());
    for from in 1..=5 {
        net.pay_next(from, Address::new([from; 20]), 1);
        net.tick();
    }
    for block in [None, Some(0), Some(3), Some(5)] {
        check_proof(&net, "count", block, Some(b"\"42\""));
        check_proof(&net, "absent", block, None);
    }
}

#[test]
fn contracts_take_no_payments() {
    let mut net = Net::over(with_contract(), ChainConfig::isolated());
    let error = net.try_submit(crate::harness::payment(1, 1, CONTRACT, 1, crate::harness::PRICE)).unwrap_err();
    assert_eq!(error, "Contract account won't accept normal txn");
}

#[test]
fn blocks_of_such_a_chain_are_judged_like_others() {
    let mut net = Net::over(with_contract(), ChainConfig::isolated());
    let (chain, mut producer) =
        open(with_contract(), ChainConfig::isolated(), &genesis(), node(), Timestamp::new(BEGIN)).unwrap();
    net.pay_next(1, Address::new([1; 20]), 1);
    net.tick();
    let record = net.test.producer().store().snapshot().record(BlockNumber::new(1)).unwrap().unwrap();
    let proposal = Proposal::from(record);
    let block = producer.verify(&proposal).unwrap();
    producer.commit(seal_alone(block, &node_key()).unwrap()).unwrap();
    assert_eq!(chain.snapshot().latest_tx_block_hash(), net.snapshot().latest_tx_block_hash());
}
