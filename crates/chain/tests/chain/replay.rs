//! Verification of the blocks of another node. Valid blocks give the same result, and each change of a block is found.

use silica_chain::{
    CommittedBlock, InvalidBlock, Proposal,
    consensus::{Application, Cause, seal_alone, seal_with},
};
use silica_protocol::{
    BlockNumber, DsBlock, Gas, GasPrice, MicroBlock, Nonce, Qa, StateRoot, Timestamp, Transaction, TxBlock,
    UnsignedTransaction,
};
use silica_state::StateDiff;

use crate::harness::{Net, PRICE, config, key, memory, node, node_key, payment, signed, user};

/// Executes the whole chain again on a second node. The two nodes must have the same blocks.
pub(crate) fn check_replay(net: &Net) {
    let mut replica = net.test.replica().unwrap();
    let source = net.test.producer().store().snapshot();
    for number in 1..=net.height() {
        let record = source.record(BlockNumber::new(number)).unwrap().unwrap();
        let block = Proposal::from(record.clone());
        replica.import(&block).unwrap_or_else(|error| panic!("block {number}: {error}"));
        // The record has the receipts too.
        assert_eq!(replica.producer().store().snapshot().record(BlockNumber::new(number)).unwrap(), Some(record));
    }
    assert_eq!(replica.chain().snapshot().latest_tx_block_hash(), net.snapshot().latest_tx_block_hash());
}

/// Two nodes with the same chain of three blocks. The proposal is block 4 of the first node. A DS epoch has four
/// blocks, so the proposal has a DS block.
struct Pair {
    judge: Net,
    proposal: Proposal,
}

impl Pair {
    fn new() -> Self {
        let config = config(2, 4);
        let mut proposer = Net::new(config.clone());
        let mut judge = Net::over(memory(), config);
        for _ in 1..=3 {
            let block = proposer.tick();
            take(&mut judge, &block);
        }
        for from in 1..=4 {
            proposer.pay(from, user(9), 5, 0);
        }
        let at = proposer.later();
        let executed = proposer.test.producer_mut().propose(at, Cause::Event).unwrap();
        assert!(executed.ds_block().is_some());
        Self { judge, proposal: executed.to_proposal() }
    }

    fn verdict(&mut self) -> String {
        let error = self.judge.test.producer_mut().verify(&self.proposal).unwrap_err();
        let sources = std::iter::successors(std::error::Error::source(&error), |error| error.source());
        sources.fold(error.to_string(), |text, source| format!("{text}: {source}"))
    }
}

fn take(net: &mut Net, block: &CommittedBlock) {
    let proposal = proposal_of(block);
    let executed = net.test.producer_mut().verify(&proposal).unwrap();
    net.test.producer_mut().commit(seal_with(executed, &proposal, &node().into()).unwrap()).unwrap();
}

fn proposal_of(block: &CommittedBlock) -> Proposal {
    Proposal {
        tx_block: TxBlock::clone(block.tx_block()),
        micro_blocks: block.micro_blocks().to_vec(),
        ds_block: block.ds_block().map(|block| DsBlock::clone(block)),
        transactions: block.transactions().iter().map(|(tx, _)| Transaction::clone(tx.transaction())).collect(),
        edits: StateDiff::default(),
        repeats_number: false,
    }
}

/// Changes a valid proposal, and compares the first error.
fn check(change: impl FnOnce(&mut Proposal), expected: &str) {
    let mut pair = Pair::new();
    change(&mut pair.proposal);
    let verdict = pair.verdict();
    assert!(verdict.contains(expected), "expected {expected:?} in {verdict:?}");
}

#[test]
fn a_good_proposal_is_accepted() {
    let mut pair = Pair::new();
    let block = pair.judge.test.producer_mut().verify(&pair.proposal).unwrap();
    assert_eq!(block.to_proposal(), pair.proposal);
}

#[test]
fn number_link_and_time_must_follow_the_head() {
    check(|it| it.tx_block.header.number = BlockNumber::new(9), "number: expected the number after 3, got 9");
    check(|it| it.tx_block.header.prev_hash = silica_protocol::BlockHash::ZERO, "previous hash: expected");
    check(|it| it.tx_block.timestamp = Timestamp::new(5), "timestamp: expected later than");
}

#[test]
fn ds_blocks_come_when_they_are_due() {
    check(|it| it.ds_block = None, "DS block before Tx block 4: expected one, got none");
    let mut pair = Pair::new();
    let block = pair.judge.tick();
    let mut proposal = proposal_of(&block);
    let now = pair.judge.now();
    let executed = pair.judge.test.producer_mut().propose(now, Cause::Event).unwrap();
    proposal.tx_block = executed.tx_block().clone();
    proposal.micro_blocks = executed.micro_blocks().to_vec();
    let error = pair.judge.test.producer_mut().verify(&proposal).unwrap_err();
    assert_eq!(error.to_string(), "DS block before Tx block 5: expected none, got one");
}

#[test]
fn every_member_of_the_tx_block_is_compared() {
    let field = |change: fn(&mut TxBlock), name: &str| {
        check(|it| change(&mut it.tx_block), &format!("Tx block: {name}: expected"));
    };
    field(|block| block.header.version = 2, "version");
    field(|block| block.header.committee_hash = silica_protocol::CommitteeHash::ZERO, "committee_hash");
    field(|block| block.header.gas_limit = Gas::new(1), "gas_limit");
    field(|block| block.header.gas_used = Gas::new(1), "gas_used");
    field(|block| block.header.rewards = Qa::new(1), "rewards");
    field(|block| block.header.state_root = StateRoot::ZERO, "state_root");
    field(|block| block.header.state_delta_hash = silica_protocol::StateDeltaHash::ZERO, "state_delta_hash");
    field(|block| block.header.mb_info_hash = silica_protocol::MbInfoHash::ZERO, "mb_info_hash");
    field(|block| block.header.tx_count = 9, "tx_count");
    field(|block| block.header.miner = key(1).public_key(), "miner");
    field(|block| block.header.ds_block = silica_protocol::DsBlockNumber::new(9), "ds_block");
    field(|block| block.micro_blocks.truncate(1), "micro_blocks");
}

#[test]
fn every_member_of_a_micro_block_is_compared() {
    let field = |change: fn(&mut MicroBlock), name: &str| {
        check(|it| change(&mut it.micro_blocks[2]), &format!("micro block: {name}: expected"));
    };
    field(|block| block.header.version = 2, "version");
    field(|block| block.header.committee_hash = silica_protocol::CommitteeHash::ZERO, "committee_hash");
    field(|block| block.header.prev_hash = silica_protocol::BlockHash::ZERO, "prev_hash");
    field(|block| block.header.shard = silica_protocol::ShardId::new(0), "shard");
    field(|block| block.header.gas_limit = Gas::new(1), "gas_limit");
    field(|block| block.header.gas_used = Gas::new(1), "gas_used");
    field(|block| block.header.rewards = Qa::new(1), "rewards");
    field(|block| block.header.epoch = BlockNumber::new(1), "epoch");
    field(|block| block.header.tx_root = silica_protocol::TxRoot::new([1; 32]), "tx_root");
    field(|block| block.header.tx_count = 9, "tx_count");
    field(|block| block.header.miner = key(1).public_key(), "miner");
    field(|block| block.header.ds_block = silica_protocol::DsBlockNumber::new(9), "ds_block");
    field(|block| block.header.state_delta_hash = silica_protocol::StateDeltaHash::new([1; 32]), "state_delta_hash");
    field(|block| block.header.receipts_hash = silica_protocol::ReceiptsHash::new([1; 32]), "receipts_hash");
    field(|block| block.timestamp = Timestamp::new(1), "timestamp");
    check(|it| it.micro_blocks.truncate(2), "micro blocks: expected 3, got 2");
}

#[test]
fn every_member_of_the_ds_block_is_compared() {
    let field = |change: fn(&mut DsBlock), name: &str| {
        check(|it| change(it.ds_block.as_mut().unwrap()), &format!("DS block: {name}: expected"));
    };
    field(|block| block.header.version = 1, "version");
    field(|block| block.header.committee_hash = silica_protocol::CommitteeHash::ZERO, "committee_hash");
    field(|block| block.header.prev_hash = silica_protocol::BlockHash::ZERO, "prev_hash");
    field(|block| block.header.ds_difficulty = 6, "ds_difficulty");
    field(|block| block.header.difficulty = 4, "difficulty");
    field(|block| block.header.leader = key(1).public_key(), "leader");
    field(|block| block.header.number = silica_protocol::DsBlockNumber::new(9), "number");
    field(|block| block.header.epoch = BlockNumber::new(9), "epoch");
    field(|block| block.header.sharding_hash = silica_protocol::ShardingHash::ZERO, "sharding_hash");
    field(|block| block.header.removed = vec![key(1).public_key()], "removed");
    field(|block| block.timestamp = Timestamp::new(1), "timestamp");
}

#[test]
fn gas_price_is_exact_without_an_operator_price() {
    let mut config = config(1, 4);
    config.operator_price = false;
    let mut proposer = Net::new(config.clone());
    let mut judge = Net::over(memory(), config);
    let at = proposer.later();
    let mut proposal = proposer.test.producer_mut().propose(at, Cause::Event).unwrap().to_proposal();
    judge.test.producer_mut().verify(&proposal).unwrap();
    proposal.ds_block.as_mut().unwrap().header.gas_price = GasPrice::new(Qa::new(PRICE + 1));
    let error = judge.test.producer_mut().verify(&proposal).unwrap_err();
    assert!(matches!(error, InvalidBlock::Field { block: "DS block", field: "gas_price", .. }), "{error}");
}

#[test]
fn transactions_must_be_those_that_are_named() {
    check(|it| it.transactions.truncate(3), "transactions: expected 4, got 3");
    check(|it| it.transactions[0] = changed(&it.transactions[0], |tx| tx.amount = Qa::new(6)), "hash: expected");
    check(
        |it| it.transactions[0] = forged(&it.transactions[0], |tx| tx.amount = Qa::new(7)),
        "admission rejects the transaction: Unable to verify transaction",
    );
}

/// Finds the first micro block that has transactions, and replaces its first transaction.
fn swap_in(proposal: &mut Proposal, transaction: Transaction) {
    let block = proposal.micro_blocks.iter_mut().find(|block| !block.tx_hashes.is_empty()).unwrap();
    block.tx_hashes[0] = transaction.hash();
    proposal.transactions[0] = transaction;
}

/// Returns a changed transaction with a new signature of its sender.
fn changed(transaction: &Transaction, change: fn(&mut UnsignedTransaction)) -> Transaction {
    let from = (1..=8).find(|number| user(*number) == transaction.sender()).unwrap();
    signed(from, unsigned_change(transaction, change))
}

/// Returns a changed transaction with its old signature.
fn forged(transaction: &Transaction, change: fn(&mut UnsignedTransaction)) -> Transaction {
    unsigned_change(transaction, change).with_signature(transaction.signature())
}

fn unsigned_change(transaction: &Transaction, change: fn(&mut UnsignedTransaction)) -> UnsignedTransaction {
    let mut unsigned = transaction.clone().into_unsigned();
    change(&mut unsigned);
    unsigned
}

fn check_swapped(change: fn(&mut UnsignedTransaction), expected: &str) {
    check(
        |it| {
            let transaction = changed(&it.transactions[0], change);
            swap_in(it, transaction);
        },
        expected,
    );
}

#[test]
fn transactions_must_be_executable_where_they_are() {
    check_swapped(|tx| tx.version = silica_protocol::Version::from_packed(65_537), "CHAIN_ID incorrect");
    check_swapped(|tx| tx.nonce = Nonce::new(2), "a lower nonce of the sender is missing");
    check_swapped(|tx| tx.nonce = Nonce::new(0), "dropped the transaction with status 27");
    check_swapped(|tx| tx.amount = Qa::MAX, "dropped the transaction with status 21");
    check_swapped(|tx| tx.gas_limit = Gas::new(49), "dropped the transaction with status 20");
    check_swapped(|tx| tx.gas_limit = Gas::new(400_001), "dropped the transaction with status 14");
    check_swapped(|tx| tx.to = silica_protocol::Address::ZERO, "expected a payment, a deployment or a call, got");
    check_swapped(|tx| tx.data = "{}".to_owned(), "dropped the transaction with status 22");
}

#[test]
fn transactions_must_be_in_their_senders_shard() {
    check(
        |it| {
            let stranger = (1..=8).find(|number| user(*number).shard(2).get() == 1).unwrap();
            let local = it.micro_blocks.iter().position(|block| !block.tx_hashes.is_empty()).unwrap();
            assert_eq!(local, 0);
            swap_in(it, payment(stranger, 1, user(9), 1, PRICE));
        },
        "committee: expected 1, got 0",
    );
}

#[test]
fn a_vacuous_block_takes_no_transactions() {
    let mut net = Net::new(config(1, 2));
    let at = net.later();
    let vacuous = net.test.producer_mut().propose(at, Cause::Event).unwrap();
    assert!(vacuous.is_vacuous());
    let mut proposal = vacuous.to_proposal();
    let transaction = payment(1, 1, user(9), 1, PRICE);
    proposal.micro_blocks[0].tx_hashes.push(transaction.hash());
    proposal.transactions.push(transaction);
    let error = net.test.producer_mut().verify(&proposal).unwrap_err();
    assert!(matches!(error, InvalidBlock::Field { block: "micro block", field: "tx_hashes", .. }), "{error}");
}

#[test]
fn signatures_must_be_the_committees() {
    let mut net = Net::new(config(2, 3));
    net.pay(1, user(9), 1, 0);
    let at = net.later();
    let propose = |net: &mut Net| net.test.producer_mut().propose(at, Cause::Event).unwrap();
    let executed = propose(&mut net);
    let unsigned = executed.to_proposal();
    let signed = |key: &silica_crypto::KeyPair, net: &mut Net| {
        let sealed = seal_alone(propose(net), key).unwrap();
        let mut proposal = unsigned.clone();
        proposal.tx_block = sealed.tx_block().clone();
        proposal.micro_blocks = sealed.micro_blocks().to_vec();
        proposal.ds_block = sealed.ds_block().cloned();
        proposal
    };
    let good = signed(&node_key(), &mut net);
    assert!(seal_with(propose(&mut net), &good, &node().into()).is_ok());
    let mut check = |change: &dyn Fn(&mut Proposal), expected: &str| {
        let mut proposal = good.clone();
        change(&mut proposal);
        let error = seal_with(propose(&mut net), &proposal, &node().into()).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    check(&|it| it.ds_block.clone_from(&unsigned.ds_block), "invalid signatures of the DS block");
    check(&|it| it.micro_blocks[1] = unsigned.micro_blocks[1].clone(), "invalid signatures of the micro block");
    check(&|it| it.tx_block = unsigned.tx_block.clone(), "invalid signatures of the Tx block");
    check(&|it| it.tx_block.cosignatures.b2 = vec![true, true], "invalid signatures of the Tx block");
    check(&|it| it.tx_block.header.version = 7, "the signatures belong to another block");
    check(&|it| it.ds_block = None, "the signatures belong to another block");
    check(&|it| it.micro_blocks.truncate(2), "the signatures belong to another block");
    let foreign = signed(&key(1), &mut net);
    let error = seal_with(propose(&mut net), &foreign, &node().into()).unwrap_err();
    assert_eq!(error.to_string(), "invalid signatures of the DS block");
}

#[test]
fn only_the_next_block_is_committed() {
    let mut net = Net::new(config(1, 10));
    let at = net.later();
    let stale = net.test.producer_mut().propose(at, Cause::Event).unwrap();
    net.tick();
    let sealed = seal_alone(stale, &node_key()).unwrap();
    let error = net.test.producer_mut().commit(sealed).unwrap_err();
    assert_eq!(error.to_string(), "block 1 does not follow block 1");
    assert_eq!(net.height(), 1);
}
