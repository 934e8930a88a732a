//! Each header member has the value that the reference defines
//! (Reference: execution#tx-block-header, execution#micro-blocks).

use silica_chain::{CommittedBlock, Epochs, Snapshot};
use silica_crypto::cosign;
use silica_protocol::{
    BlockNumber, CommitteeHash, DsBlock, DsBlockNumber, Gas, MbInfoHash, MicroBlock, Qa, Receipt, ReceiptsHash,
    StateDeltaHash, TxBlock, TxHash, TxRoot, sha256,
};

use crate::harness::{Net, PRICE, config, node, payment, user};

/// Checks a committed block and its stored form.
pub(crate) fn check(net: &Net, block: &CommittedBlock) {
    let config = net.test.chain().config();
    let epochs = config.epochs().unwrap();
    let snapshot = net.snapshot();
    let header = &block.tx_block().header;
    let number = header.number;

    assert_eq!(block.hash().to_bytes(), sha256(&[&header.encode()]), "the hash is that of the header");
    let latest = snapshot.latest_tx_block().header.number == number;
    assert!(!latest || snapshot.latest_tx_block_hash() == block.hash());
    assert_eq!(TxBlock::decode(&block.tx_block().encode()).as_ref(), Ok(&**block.tx_block()));
    assert_eq!(snapshot.tx_block(number).unwrap().unwrap(), *block.tx_block());
    let previous = snapshot.tx_block(number.previous().unwrap()).unwrap().unwrap();
    assert_eq!(header.prev_hash, previous.header.hash(), "blocks are linked");
    assert!(block.tx_block().timestamp > previous.timestamp, "time moves on");
    check_tx_block_sums(block, epochs);
    check_signed("Tx block", &header.encode(), &block.tx_block().cosignatures);

    let mut transactions = block.transactions().iter();
    for micro_block in block.micro_blocks() {
        let own: Vec<_> = transactions.by_ref().take(micro_block.tx_hashes.len()).collect();
        let hashes: Vec<TxHash> = own.iter().map(|(transaction, _)| transaction.hash()).collect();
        let receipts: Vec<&Receipt> = own.iter().map(|(_, receipt)| receipt).collect();
        let fees = own
            .iter()
            .map(|(tx, receipt)| receipt.cumulative_gas.checked_cost(tx.transaction().gas_price).unwrap().get());
        assert_eq!(micro_block.tx_hashes, hashes);
        check_micro_block(net, block, micro_block, &receipts, fees.sum());
    }
    assert!(transactions.next().is_none(), "every transaction is in a micro block");
    check_ds_block(&snapshot, block, epochs);
    check_stored(&snapshot, block);
}

fn check_tx_block_sums(block: &CommittedBlock, epochs: Epochs) {
    let header = &block.tx_block().header;
    let micro_blocks = block.micro_blocks();
    let sum = |read: fn(&MicroBlock) -> u64| micro_blocks.iter().map(read).sum::<u64>();
    assert_eq!(header.version, 1);
    assert_eq!(header.gas_limit.get(), sum(|block| block.header.gas_limit.get()));
    assert_eq!(header.gas_used.get(), sum(|block| block.header.gas_used.get()));
    assert_eq!(u64::from(header.tx_count), sum(|block| u64::from(block.header.tx_count)));
    assert_eq!(header.rewards.get(), micro_blocks.iter().map(|block| block.header.rewards.get()).sum::<u128>());
    assert_eq!(header.mb_info_hash, MbInfoHash::of(&block.tx_block().micro_blocks));
    assert_eq!(header.ds_block, epochs.ds_block_of(header.number));
    assert_eq!(header.miner, node());
    assert_eq!(header.committee_hash, CommitteeHash::of(&[node()]));
    let infos: Vec<_> =
        block.tx_block().micro_blocks.iter().map(|info| (info.hash, info.tx_root, info.shard)).collect();
    let expected: Vec<_> =
        micro_blocks.iter().map(|block| (block.header.hash(), block.header.tx_root, block.header.shard)).collect();
    assert_eq!(infos, expected, "micro block infos resolve");
    let deltas: Vec<_> =
        micro_blocks.iter().map(|block| block.header.state_delta_hash).filter(|hash| !hash.is_zero()).collect();
    match &deltas[..] {
        [] => assert_eq!(header.state_delta_hash, StateDeltaHash::ZERO),
        [only] => assert_eq!(header.state_delta_hash, *only),
        _ => assert_ne!(header.state_delta_hash, StateDeltaHash::ZERO),
    }
}

fn check_micro_block(net: &Net, block: &CommittedBlock, micro_block: &MicroBlock, receipts: &[&Receipt], fees: u128) {
    let config = net.test.chain().config();
    let vacuous = config.epochs().unwrap().is_vacuous(block.tx_block().header.number);
    let header = &micro_block.header;
    let ds = header.shard.get() == config.shards;
    let texts: Vec<String> = receipts.iter().map(|receipt| receipt.to_styled_json()).collect();
    assert_eq!(header.version, 1);
    assert_eq!(header.prev_hash, block.tx_block().header.prev_hash);
    assert_eq!(header.gas_limit, if ds { config.ds_gas_limit } else { config.shard_gas_limit });
    assert_eq!(header.gas_used.get(), receipts.iter().map(|receipt| receipt.cumulative_gas.get()).sum::<u64>());
    assert!(header.gas_used <= header.gas_limit);
    let reward = if vacuous && ds { config.coinbase_reward } else { Qa::new(fees) };
    assert_eq!(header.rewards, reward);
    assert_eq!(header.epoch, block.tx_block().header.number);
    assert_eq!(header.tx_root, TxRoot::of(&micro_block.tx_hashes));
    assert_eq!(usize::try_from(header.tx_count).unwrap(), micro_block.tx_hashes.len());
    assert_eq!(header.receipts_hash, ReceiptsHash::of(&texts));
    assert_eq!(header.miner, node());
    assert_eq!(header.ds_block, block.tx_block().header.ds_block);
    assert_eq!(header.committee_hash, CommitteeHash::of(&[node()]));
    assert_eq!(header.state_delta_hash.is_zero(), receipts.is_empty() && !(vacuous && ds));
    assert!(receipts.iter().all(|receipt| receipt.epoch == header.epoch));
    assert!(!vacuous || receipts.is_empty(), "a vacuous block has no transactions");
    check_signed("micro block", &header.encode(), &micro_block.cosignatures);
}

fn check_ds_block(snapshot: &Snapshot, block: &CommittedBlock, epochs: Epochs) {
    let header = &block.tx_block().header;
    assert_eq!(block.ds_block().is_some(), epochs.starts_with(header.number), "DS blocks come when they are due");
    let latest = snapshot.latest_tx_block().header.number == header.number;
    assert!(!latest || snapshot.latest_ds_block().header.number == header.ds_block);
    let Some(ds_block) = block.ds_block() else { return };
    let ds_header = &ds_block.header;
    let previous = snapshot.ds_block(ds_header.number.previous().unwrap()).unwrap().unwrap();
    assert_eq!(DsBlock::decode(&ds_block.encode()).as_ref(), Ok(&**ds_block));
    assert_eq!(ds_header.prev_hash, previous.header.hash(), "DS blocks are linked");
    assert_eq!(ds_header.version, 2);
    assert_eq!(ds_header.number, header.ds_block);
    assert_eq!(ds_header.epoch, epochs.first_block_of(ds_header.number));
    assert_eq!(ds_header.epoch, header.number);
    assert_eq!((ds_header.difficulty, ds_header.ds_difficulty), (3, 5));
    assert_eq!(ds_header.leader, node());
    assert!(ds_header.pow_winners.is_empty() && ds_header.removed.is_empty());
    assert!(!ds_header.sharding_hash.is_zero());
    assert!(ds_block.timestamp > previous.timestamp || ds_header.number.get() == 1);
    check_signed("DS block", &ds_header.encode(), &ds_block.cosignatures);
}

/// Checks that readers get the committed block.
fn check_stored(snapshot: &Snapshot, block: &CommittedBlock) {
    let number = block.tx_block().header.number;
    for (transaction, receipt) in block.transactions() {
        let stored = snapshot.transaction(&transaction.hash()).unwrap().unwrap();
        assert_eq!((stored.block, &stored.receipt), (number, receipt));
        assert_eq!(stored.transaction, **transaction.transaction());
    }
    let listed = snapshot.block_transactions(number).unwrap_or_default();
    let expected: Vec<_> = block.micro_blocks().iter().map(|block| block.tx_hashes.clone()).collect();
    assert!(listed == expected || block.transactions().is_empty());
}

fn check_signed(what: &str, header: &[u8], cosignatures: &silica_protocol::CoSignatures) {
    cosign::verify_first_round(cosignatures, header, &[node()]).unwrap_or_else(|error| panic!("{what}: {error}"));
    cosign::verify(cosignatures, header, &[node()]).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!((&cosignatures.b1[..], &cosignatures.b2[..]), (&[true][..], &[true][..]));
}

#[test]
fn genesis_blocks_look_as_the_reference_makes_them() {
    let net = Net::new(config(1, 10));
    let snapshot = net.snapshot();
    let block = snapshot.latest_tx_block();
    assert_eq!(block.header.number, BlockNumber::new(0));
    assert_eq!((block.header.gas_limit, block.header.gas_used), (Gas::new(1), Gas::new(1)));
    assert_eq!(block.header.rewards, Qa::new(1));
    assert_eq!(block.header.ds_block, DsBlockNumber::new(0));
    assert_eq!(block.header.miner, node());
    assert!(!block.header.state_root.is_zero(), "the first state is committed to");
    assert!(block.micro_blocks.is_empty());
    let ds_block = snapshot.latest_ds_block();
    assert_eq!(ds_block.header, silica_protocol::DsBlockHeader::genesis(node()));
}

#[test]
fn every_header_member_is_what_it_should_be() {
    let mut net = Net::new(config(3, 5));
    for round in 0..12_u64 {
        for from in 1..=6 {
            net.pay_next(from, user(9), u128::from(round) * 10 + 1);
        }
        let block = net.tick();
        check(&net, &block);
    }
}

#[test]
fn transactions_go_to_the_micro_block_of_their_senders_shard() {
    let mut net = Net::new(config(3, 50));
    for from in 1..=8 {
        net.pay(from, user(9), 1, 0);
    }
    let block = net.tick();
    assert_eq!(block.micro_blocks().len(), 4);
    let mut placed = 0;
    for micro_block in block.micro_blocks() {
        for hash in &micro_block.tx_hashes {
            let sender = net.snapshot().transaction(hash).unwrap().unwrap().transaction.sender();
            assert_eq!(micro_block.header.shard, sender.shard(3));
            placed += 1;
        }
    }
    assert_eq!(placed, 8);
}

#[test]
fn gas_limits_bound_a_micro_block_and_what_does_not_fit_waits() {
    let mut config = config(1, 50);
    config.shard_gas_limit = Gas::new(120);
    let mut net = Net::new(config);
    let hashes: Vec<_> = (1..=5).map(|from| net.pay(from, user(9), 1, 0)).collect();
    let block = net.tick();
    assert_eq!(block.transactions().len(), 2);
    assert_eq!(block.tx_block().header.gas_used, Gas::new(100));
    let mut states: Vec<_> = hashes.iter().map(|hash| net.status(hash).unwrap()).collect();
    states.sort_unstable();
    assert_eq!(states, [3, 3, 5, 5, 5]);
    assert_eq!(net.tick().transactions().len(), 2);
    assert_eq!(net.tick().transactions().len(), 1);
}

#[test]
fn the_gas_limit_of_a_transaction_is_set_aside_whole() {
    let mut config = config(1, 50);
    config.shard_gas_limit = Gas::new(400);
    let mut net = Net::new(config);
    let large = |from, extra| {
        let transaction = payment(from, 1, user(9), 1, PRICE + extra);
        crate::harness::signed(
            from,
            silica_protocol::UnsignedTransaction { gas_limit: Gas::new(380), ..transaction.into_unsigned() },
        )
    };
    let first = net.submit(large(1, 9));
    let second = net.submit(large(2, 8));
    let small = net.submit(payment(3, 1, user(9), 1, PRICE));
    let block = net.tick();
    let included: Vec<_> = block.transactions().iter().map(|(tx, _)| tx.hash()).collect();
    assert_eq!(included, [first, small], "350 units are left for a limit of 380, though 50 would be used");
    assert_eq!(net.status(&second), Some(5));
}
