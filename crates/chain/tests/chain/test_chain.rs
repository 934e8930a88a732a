//! The chain for tests.

use serde_json::json;
use silica_chain::{ChainConfig, ReplicaError, TestChain, TestChainError, config::NoncePolicy};
use silica_crypto::{KeyPair, verify_tx_block};
use silica_protocol::{Address, BlockNumber, ChainId, InitData, Qa, Timestamp, Transaction, TransitionCall};

const CODE: &str = r"
scilla_version 0
contract Counter ()
field count : Uint32 = Uint32 0
transition Set (value : Uint32)
  count := value
end
transition Fail ()
  throw
end
";

const FEE: u128 = 50 * 2_000_000_000;

fn zil(amount: u128) -> Qa {
    Qa::from_zil(amount).unwrap()
}

/// Returns a chain with an account and a contract of this account.
fn with_contract() -> (TestChain, KeyPair, Address) {
    let mut chain = TestChain::new();
    let user = chain.funded_account(zil(1_000)).unwrap();
    let contract = chain.deploy(&user, CODE, ()).unwrap().address;
    (chain, user, contract)
}

#[test]
fn payments_and_accounts_are_exact() {
    let mut chain = TestChain::new();
    let [one, two] = [7, 0].map(|amount| chain.funded_account(zil(amount)).unwrap());
    assert_ne!(one, two);
    assert_eq!((chain.balance(&one.address()), chain.nonce(&one.address()).get()), (zil(7), 0));
    let paid = chain.pay(&one, two.address(), zil(2)).unwrap();
    assert!(paid.receipt.success);
    assert_eq!(chain.balance(&one.address()).get(), zil(5).get() - FEE);
    assert_eq!((chain.balance(&two.address()), chain.nonce(&one.address()).get()), (zil(2), 1));
    let stored = chain.chain().snapshot().transaction(&paid.hash).unwrap().unwrap();
    assert_eq!((stored.receipt, stored.block), (paid.receipt, chain.height()));
}

#[test]
fn calls_change_the_state_of_a_contract() {
    let (mut chain, user, contract) = with_contract();
    assert_eq!(chain.contract_state(&contract).unwrap(), json!({"_balance": "0", "count": "0"}));
    assert!(chain.call(&user, contract, "Set", json!({ "value": 5 })).unwrap().receipt.success);
    assert_eq!(chain.contract_state(&contract).unwrap()["count"], "5");
    assert!(!chain.call(&user, contract, "Fail", ()).unwrap().receipt.success);
    assert_eq!(chain.contract_field(&contract, "count"), Some("5".into()));
    assert_eq!(chain.contract_field(&contract, "other"), None);
    assert_eq!(chain.contract_state(&user.address()), None);
    assert_eq!(chain.contract_state(&Address::new([9; 20])), None);
}

#[test]
fn failed_deployment_is_an_error_with_its_receipt() {
    let (mut chain, user, _) = with_contract();
    let code = "scilla_version 0 contract Zero ()
        field a : Uint32 = let one = Uint32 1 in let zero = Uint32 0 in builtin div one zero";
    let error = chain.deploy(&user, code, ()).unwrap_err();
    assert!(matches!(&error, TestChainError::Failed { receipt, .. } if !receipt.success), "{error}");
}

#[test]
fn invalid_code_and_parameters_are_errors_without_a_block() {
    let (mut chain, user, contract) = with_contract();
    let height = chain.height();
    let error = chain.deploy(&user, "scilla_version 0\ncontract C (", ()).unwrap_err();
    assert!(matches!(error, TestChainError::Compile(_)), "{error}");
    assert!(error.to_string().starts_with("contract.scilla:2:"), "{error}");
    let error = chain.deploy(&user, CODE, json!({ "owner": user.address() })).unwrap_err();
    assert_eq!(error.to_string(), "no parameter has the name owner");
    let error = chain.call(&user, contract, "Set", json!({ "value": "-1" })).unwrap_err();
    assert!(matches!(error, TestChainError::Params(_)), "{error}");
    let error = chain.call(&user, contract, "Unset", ()).unwrap_err();
    assert_eq!(error.to_string(), "the contract has no transition Unset");
    let error = chain.call(&user, user.address(), "Set", ()).unwrap_err();
    assert!(matches!(error, TestChainError::Interface(_)), "{error}");
    assert_eq!(chain.height(), height);
}

#[test]
fn transactions_with_other_values_are_sent() {
    let (mut chain, user, contract) = with_contract();
    let invalid = Transaction::deploy("scilla_version 0\ncontract", &InitData::builder().build());
    assert!(!chain.send(&user, invalid).unwrap().receipt.success);
    let unknown = Transaction::call(contract, &TransitionCall::new("Unset"));
    assert!(!chain.send(&user, unknown).unwrap().receipt.success);
}

#[test]
fn parameters_of_a_data_type_have_the_names_of_their_contract() {
    let mut chain = TestChain::new();
    let user = chain.funded_account(zil(1_000)).unwrap();
    let code = "scilla_version 0
        library Paint
        type Colour = | Red | Blue
        contract Paint (owner : ByStr20, names : List String)
        field last : Option Colour = None {Colour}
        transition Set (colour : Colour) some = Some {Colour} colour; last := some end";
    let names = json!({ "owner": user.address(), "names": ["Ann", "Bob"] });
    let contract = chain.deploy(&user, code, names).unwrap().address;
    let blue = json!({ "constructor": format!("{contract:#x}.Blue"), "argtypes": [], "arguments": [] });
    assert!(chain.call(&user, contract, "Set", json!({ "colour": blue })).unwrap().receipt.success);
    assert_eq!(chain.contract_field(&contract, "last").unwrap()["arguments"], json!([blue]));
}

#[test]
fn rejected_transaction_is_an_error() {
    let mut chain = TestChain::new();
    let user = chain.funded_account(zil(1)).unwrap();
    let error = chain.pay(&user, Address::new([1; 20]), zil(1)).unwrap_err();
    assert!(matches!(error, TestChainError::Admission(_) | TestChainError::Submission(_)), "{error}");
    let foreign = Transaction::payment(Address::new([1; 20]), zil(0)).chain_id(ChainId::new(1)).nonce(1);
    assert!(matches!(chain.submit(foreign.sign(&user).unwrap()), Err(TestChainError::Admission(_))));
}

#[test]
fn transaction_with_a_nonce_gap_is_pending() {
    let mut config = ChainConfig::isolated();
    config.policy.nonces = NoncePolicy::Queue;
    let mut chain = TestChain::builder().config(config).build().unwrap();
    let user = chain.funded_account(zil(1)).unwrap();
    let gap = Transaction::payment(Address::new([1; 20]), zil(0)).chain_id(ChainId::new(222)).nonce(2);
    assert!(matches!(chain.submit(gap.sign(&user).unwrap()), Err(TestChainError::Pending { .. })));
}

#[test]
fn builder_sets_accounts_chain_id_and_time() {
    let (address, start) = (Address::new([3; 20]), Timestamp::new(5_000_000));
    let builder = TestChain::builder().chain_id(ChainId::new(7)).genesis_account(address, zil(9)).start_time(start);
    let mut chain = builder.build().unwrap();
    assert_eq!(chain.balance(&address), zil(9));
    assert_eq!(chain.chain().config().chain_id, ChainId::new(7));
    assert_eq!(chain.chain().snapshot().latest_tx_block().timestamp, start);
    chain.mine(1).unwrap();
    assert_eq!(chain.chain().snapshot().latest_tx_block().timestamp, Timestamp::new(6_000_000));
    chain.set_time(Timestamp::new(90_000_000));
    chain.funded_account(zil(1)).unwrap();
    assert_eq!(chain.chain().snapshot().latest_tx_block().timestamp, Timestamp::new(90_000_000));
    chain.mine(200).unwrap();
    assert_eq!(chain.height(), BlockNumber::new(202));
}

#[test]
fn revert_restores_the_snapshot() {
    let (mut chain, user, contract) = with_contract();
    let (before, root) = (chain.snapshot().unwrap(), chain.chain().snapshot().state_root());
    let (height, nonce) = (chain.height(), chain.nonce(&user.address()));
    let first = chain.call(&user, contract, "Set", json!({ "value": 5 })).unwrap();
    chain.mine(3).unwrap();
    for _ in 0..2 {
        chain.revert(&before).unwrap();
        assert_eq!((chain.height(), chain.nonce(&user.address())), (height, nonce));
        assert_eq!(chain.chain().snapshot().state_root(), root);
        assert_eq!(chain.contract_state(&contract).unwrap()["count"], "0");
        // The clock is restored too, so the same action gives the same block.
        let again = chain.call(&user, contract, "Set", json!({ "value": 5 })).unwrap();
        assert_eq!((again.hash, again.receipt), (first.hash, first.receipt.clone()));
    }
}

#[test]
fn equal_actions_give_equal_chains() {
    let hash = || {
        let (mut chain, user, contract) = with_contract();
        chain.call(&user, contract, "Set", json!({ "value": 5 })).unwrap();
        chain.mine(150).unwrap();
        chain.chain().snapshot().latest_tx_block_hash()
    };
    assert_eq!(hash(), hash());
}

#[test]
fn replica_verifies_all_blocks() {
    let (mut chain, user, contract) = with_contract();
    chain.call(&user, contract, "Set", json!({ "value": 5 })).unwrap();
    chain.mine(150).unwrap();
    let mut replica = chain.replica().unwrap();
    assert_eq!(replica.verify_all().unwrap(), chain.height().get());
    let (ours, theirs) = (chain.chain().snapshot(), replica.chain().snapshot());
    assert_eq!(ours.latest_tx_block_hash(), theirs.latest_tx_block_hash());
    assert_eq!(theirs.contract_state_json(&contract).unwrap(), ours.contract_state_json(&contract).unwrap());
    assert_eq!(replica.verify_all().unwrap(), 0);
}

#[test]
fn replica_rejects_a_block_with_another_root() {
    let (chain, ..) = with_contract();
    let block = chain.chain().snapshot().tx_block(BlockNumber::new(1)).unwrap().unwrap();
    let mut replica = chain.replica().unwrap();
    let mut tx_block = (*block).clone();
    tx_block.header.state_root = silica_protocol::StateRoot::ZERO;
    let forged = silica_chain::Proposal {
        tx_block,
        micro_blocks: vec![],
        ds_block: None,
        transactions: vec![],
        edits: silica_state::StateDiff::default(),
        repeats_number: false,
    };
    assert!(matches!(replica.import(&forged), Err(ReplicaError::Invalid(_))));
    assert_eq!(replica.verify_all().unwrap(), chain.height().get());
}

#[test]
fn committee_of_one_member_verifies_the_blocks_of_an_engine() {
    let (mut chain, ..) = with_contract();
    chain.mine(120).unwrap();
    let (snapshot, committee) = (chain.chain().snapshot(), [chain.node_key().public_key()]);
    for number in 1..=chain.height().get() {
        let block = snapshot.tx_block(BlockNumber::new(number)).unwrap().unwrap();
        assert_eq!(verify_tx_block(&block, &committee), Ok(block.header.state_root), "{number}");
    }
    let stranger = [KeyPair::from_hex(&"01".repeat(32)).unwrap().public_key()];
    assert!(verify_tx_block(snapshot.latest_tx_block(), &stranger).is_err());
}
