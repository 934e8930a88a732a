//! Networks with several members: each block has another proposer, and all members execute and sign it.

use std::collections::BTreeSet;

use chacha20::{ChaCha8Rng, rand_core::SeedableRng as _};
use silica_chain::{
    Chain, ChainConfig, Committees, InvalidBlock, Producer, Proposal, TransferKind, TransferRequest,
    consensus::{Application, Cause, range_signer, seal_alone, seal_with},
    open,
};
use silica_crypto::{
    KeyPair, cosign,
    multisig::{self, Challenge, CommitPoint, CommitSecret},
};
use silica_protocol::{
    Address, BlockNumber, CoSignatures, CommitteeHash, DsBlockNumber, InitData, Qa, ShardId, Signature, Timestamp,
    Transaction, TransitionCall, sha256,
};

use crate::harness::{BEGIN, FUNDS, PRICE, USERS, config, genesis, key, memory, payment, user};

const MEMBERS: u8 = 4;
const SHARDS: u32 = 2;
const EPOCH: u64 = 4;
const COUNTER: &str = "scilla_version 0 contract Counter () field count : Uint32 = Uint32 0 transition Add () \
                       one = Uint32 1; old <- count; new = builtin add old one; count := new end";

/// Returns the key of a member, from 0. The member has no account at genesis.
fn member(number: u8) -> KeyPair {
    key(100 + number)
}

fn committees() -> Committees {
    Committees::fixed((0..MEMBERS).map(|number| member(number).public_key()))
}

fn shared_config() -> ChainConfig {
    ChainConfig { operator_price: false, edits: false, ..config(SHARDS, EPOCH) }
}

/// Returns the multisignature of `signers` for a message.
fn sign(message: &[u8], signers: &[KeyPair], random: &mut ChaCha8Rng) -> Signature {
    let keys: Vec<_> = signers.iter().map(KeyPair::public_key).collect();
    let nonces: Vec<_> = signers.iter().map(|_| CommitSecret::generate(random)).collect();
    let points: Vec<_> = nonces.iter().map(CommitSecret::point).collect();
    let (point, key) = (CommitPoint::aggregate(&points).unwrap(), multisig::aggregate_keys(&keys).unwrap());
    let challenge = Challenge::new(&point, &key, message).unwrap();
    let responses = nonces.into_iter().zip(signers).map(|(nonce, key)| nonce.respond(&challenge, key.secret()));
    multisig::combine(&challenge, &responses.collect::<Result<Vec<_>, _>>().unwrap()).unwrap()
}

/// Co-signs a header as these members.
fn cosign(header: &[u8], signers: &[u8], random: &mut ChaCha8Rng) -> CoSignatures {
    let keys: Vec<_> = signers.iter().map(|number| member(*number)).collect();
    let bits: Vec<_> = (0..MEMBERS).map(|number| signers.contains(&number)).collect();
    let mut signed =
        CoSignatures { cs1: sign(header, &keys, random), b1: bits.clone(), ..CoSignatures::unsigned(MEMBERS.into()) };
    signed.cs2 = sign(&signed.message_for_second_round(header).unwrap(), &keys, random);
    CoSignatures { b2: bits, ..signed }
}

/// Co-signs all blocks of a proposal as these members.
fn seal(proposal: &Proposal, signers: &[u8], random: &mut ChaCha8Rng) -> Proposal {
    let mut sealed = proposal.clone();
    if let Some(block) = &mut sealed.ds_block {
        block.cosignatures = cosign(&block.header.encode(), signers, random);
    }
    for block in &mut sealed.micro_blocks {
        block.cosignatures = cosign(&block.header.encode(), signers, random);
    }
    sealed.tx_block.cosignatures = cosign(&sealed.tx_block.header.encode(), signers, random);
    sealed
}

/// All members of a network.
struct Members {
    nodes: Vec<(Chain, Producer)>,
    now: u64,
    random: ChaCha8Rng,
}

impl Members {
    fn new() -> Self {
        let node = |_| open(memory(), shared_config(), &genesis(), committees(), Timestamp::new(BEGIN)).unwrap();
        Self { nodes: (0..MEMBERS).map(node).collect(), now: BEGIN, random: ChaCha8Rng::seed_from_u64(0) }
    }

    /// Submits a transaction at each member.
    fn submit(&self, transaction: &Transaction) {
        for (chain, _) in &self.nodes {
            chain.submit(chain.admit(transaction.clone(), false).unwrap(), Timestamp::new(self.now)).unwrap();
        }
    }

    fn height(&self) -> u64 {
        self.nodes[0].0.snapshot().latest_tx_block().header.number.get()
    }

    /// Makes the proposal of the next block as one of the members.
    fn propose(&mut self) -> Proposal {
        self.now += 1_000_000;
        let proposer = usize::try_from(self.height() % u64::from(MEMBERS)).unwrap();
        let (now, (_, producer)) = (Timestamp::new(self.now), &mut self.nodes[proposer]);
        producer.propose(now, Cause::Event).unwrap().to_proposal()
    }

    /// Makes the next block: all members execute the proposal, and a quorum of other members for each block signs it.
    fn make(&mut self) -> Proposal {
        let proposal = self.propose();
        let absent = u8::try_from(self.height() % 3).unwrap();
        let signers: Vec<_> = (0..MEMBERS).filter(|number| *number != absent).collect();
        assert_eq!(signers.len(), cosign::quorum(MEMBERS.into()));
        let sealed = seal(&proposal, &signers, &mut self.random);
        for (_, producer) in &mut self.nodes {
            let executed = producer.verify(&proposal).unwrap();
            producer.commit(seal_with(executed, &sealed, &committees()).unwrap()).unwrap();
        }
        sealed
    }

    /// Returns the digest of the record of each member.
    fn records(&self) -> Vec<[u8; 32]> {
        let digest = |(_, producer): &(Chain, Producer)| {
            let rows: Vec<_> = producer.store().snapshot().record_rows().map(Result::unwrap).collect();
            sha256(&rows.iter().flat_map(|row| [row.key(), row.value()]).collect::<Vec<_>>())
        };
        self.nodes.iter().map(digest).collect()
    }
}

fn deployment(nonce: u64) -> Transaction {
    let deployment = Transaction::deploy(COUNTER, &InitData::builder().build()).chain_id(shared_config().chain_id);
    deployment.nonce(nonce).gas_price(Qa::new(PRICE)).sign(&key(1)).unwrap()
}

/// Makes four DS epochs with payments, a contract and its calls.
fn busy() -> Members {
    let mut members = Members::new();
    members.submit(&deployment(1));
    let contract = deployment(1).contract_address().unwrap();
    let call = |nonce| {
        let call = Transaction::call(contract, &TransitionCall::new("Add")).chain_id(shared_config().chain_id);
        call.nonce(nonce).gas_price(Qa::new(PRICE)).sign(&key(1)).unwrap()
    };
    for block in 1..=4 * EPOCH {
        for from in 2..=USERS {
            members.submit(&payment(from, block, user(20 + from), 5, PRICE));
        }
        if block > 1 {
            members.submit(&call(block));
        }
        members.make();
    }
    members
}

#[test]
fn all_members_have_equal_records_after_blocks_of_each_proposer() {
    let mut members = busy();
    let records = members.records();
    assert!(records.iter().all(|record| *record == records[0]));
    let snapshot = members.nodes[0].0.snapshot();
    assert_eq!(snapshot.latest_ds_block().header.number, DsBlockNumber::new(5));
    assert!(snapshot.statistics().transactions > 100);

    // The chain opens again, and its blocks and balances hold.
    let (_, producer) = members.nodes.pop().unwrap();
    let (chain, producer) =
        open(producer.into_store(), shared_config(), &genesis(), committees(), Timestamp::new(1)).unwrap();
    assert_eq!(chain.snapshot().latest_tx_block(), snapshot.latest_tx_block());
    let store = producer.into_store();
    silica_chain::check_balances(&store, &shared_config(), &genesis(), committees(), None, &mut |_, _| {}).unwrap();
    let last =
        silica_chain::check(&store, &memory(), shared_config(), &genesis(), committees(), &mut |_, _| {}).unwrap();
    assert_eq!(last, BlockNumber::new(4 * EPOCH));
    let foreign = Committees::fixed((1..MEMBERS).map(|number| member(number).public_key()));
    let error = open(store, shared_config(), &genesis(), foreign, Timestamp::new(1)).unwrap_err().to_string();
    assert!(error.starts_with("the chain in the data directory has a committee hash of "), "{error}");
}

#[test]
fn hashes_select_the_leaders() {
    let members = busy();
    let snapshot = members.nodes[0].0.snapshot();
    let keys: Vec<_> = (0..MEMBERS).map(|number| member(number).public_key()).collect();
    let of_hash = |bytes: &[u8; 32]| keys[usize::from(u16::from_be_bytes([bytes[30], bytes[31]])) % keys.len()];
    let ds_block = |number| snapshot.ds_block(DsBlockNumber::new(number)).unwrap().unwrap();
    let mut leaders = BTreeSet::new();
    for number in 1..=4 * EPOCH {
        let record = members.nodes[0].1.store().snapshot().record(BlockNumber::new(number)).unwrap().unwrap();
        let header = &record.tx_block.header;
        assert_eq!(header.committee_hash, CommitteeHash::of(&keys));
        let in_force = ds_block(header.ds_block.get());
        assert_eq!(header.miner, in_force.header.leader, "{number}");
        let expected = match header.ds_block.get() {
            0 | 1 => keys[0],
            later => of_hash(ds_block(later - 1).header.hash().as_bytes()),
        };
        assert_eq!(in_force.header.leader, expected, "{number}");
        let latest = match &record.ds_block {
            Some(block) => block.header.hash(),
            None => header.prev_hash,
        };
        let (of_ds, of_shards) = record.micro_blocks.split_last().unwrap();
        assert_eq!(of_ds.header.miner, header.miner, "{number}");
        for block in of_shards {
            assert_eq!(block.header.miner, of_hash(latest.as_bytes()), "{number}");
            leaders.insert(block.header.miner);
        }
    }
    assert!(leaders.len() > 2, "{leaders:?}");
}

#[test]
fn each_member_gets_its_share_of_the_reward() {
    let members = busy();
    let snapshot = members.nodes[0].0.snapshot();
    let share = shared_config().coinbase_reward.get() / u128::from(MEMBERS);
    let balance = |address: &Address| snapshot.account(address).unwrap().map_or(0, |account| account.balance.get());
    for number in 0..MEMBERS {
        assert_eq!(balance(&member(number).address()), 4 * share, "{number}");
    }
    let second = BTreeSet::from([member(1).address()]);
    let request = TransferRequest {
        addresses: Some(&second),
        first: BlockNumber::new(0),
        last: BlockNumber::MISSING,
        order: silica_chain::HistoryOrder::OldestFirst,
        from: None,
        limit: 100,
        effort: usize::MAX,
    };
    let transfers = snapshot.transfers(&request).unwrap().transfers;
    let blocks: Vec<_> = transfers.iter().map(|transfer| transfer.place.block.get()).collect();
    assert!(transfers.iter().all(|transfer| transfer.kind == TransferKind::Reward && transfer.place.index == 2));
    assert_eq!(blocks, [EPOCH - 1, 2 * EPOCH - 1, 3 * EPOCH - 1, 4 * EPOCH - 1]);
    let everyone = (1..=USERS).map(user).chain((0..MEMBERS).map(|number| member(number).address()));
    let paid = everyone.chain((20..=20 + USERS).map(user)).map(|address| balance(&address)).sum::<u128>();
    // The last block began a DS epoch, so its fees belong to no account yet.
    let fees = snapshot.latest_tx_block().header.rewards.get();
    let supply = genesis().accounts().values().map(|account| account.balance.get()).sum::<u128>();
    assert_eq!(paid + balance(&Address::ZERO) + fees, supply);
    assert!(paid > u128::from(USERS) * FUNDS - FUNDS);
}

#[test]
fn figures_count_all_members() {
    let members = busy();
    let snapshot = members.nodes[1].0.snapshot();
    let keys: Vec<_> = (0..MEMBERS).map(|number| member(number).public_key()).collect();
    let figures = snapshot.statistics();
    assert_eq!((figures.peers, &figures.shard_sizes[..]), (12, &[4, 4][..]));
    assert_eq!(snapshot.ds_committee(), keys);
    let shard: Vec<_> = snapshot.shard_members(ShardId::new(1)).unwrap().into_iter().map(|member| member.key).collect();
    assert_eq!((shard, snapshot.shard_members(ShardId::new(SHARDS))), (keys.clone(), None));
    let miners = snapshot.miner_info(DsBlockNumber::new(2)).unwrap();
    assert_eq!((miners.ds_committee, miners.shards), (keys.clone(), vec![keys; 2]));
}

#[test]
fn seals_by_other_signers_are_rejected() {
    let mut members = Members::new();
    members.submit(&payment(1, 1, user(9), 5, PRICE));
    let proposal = members.propose();
    let mut check = |signers: &[u8], change: &dyn Fn(&mut Proposal), expected: &str| {
        let mut sealed = seal(&proposal, signers, &mut members.random);
        change(&mut sealed);
        let executed = members.nodes[2].1.verify(&proposal).unwrap();
        let error = seal_with(executed, &sealed, &committees()).unwrap_err();
        let source = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        assert_eq!(format!("{error}: {source}"), expected);
    };
    let same: &dyn Fn(&mut Proposal) = &|_| {};
    let ds = "invalid signatures of the DS block: round 1:";
    check(&[0, 1], same, &format!("{ds} expected exactly 3 signers, got 2"));
    check(&[0, 1, 2, 3], same, &format!("{ds} expected exactly 3 signers, got 4"));
    check(
        &[0, 1, 2],
        &|it| it.ds_block.as_mut().unwrap().cosignatures.b1 = vec![false, true, true, true],
        "invalid signatures of the DS block: failed to verify the collective signature of round 1",
    );
    check(
        &[0, 1, 2],
        &|it| it.tx_block.cosignatures.cs2 = it.tx_block.cosignatures.cs1,
        "invalid signatures of the Tx block: failed to verify the collective signature of round 2",
    );
    check(
        &[0, 1, 2],
        &|it| it.micro_blocks[0].cosignatures.b2.push(false),
        "invalid signatures of the micro block: round 2: expected a bitmap of 4 bits, got 5",
    );
    let executed = members.nodes[0].1.verify(&proposal).unwrap();
    let error = seal_alone(executed, &member(0)).unwrap_err();
    assert_eq!(error.to_string(), "members of the committee: expected 1 for a block that one member signs, got 4");
}

#[test]
fn bodies_with_another_leader_are_rejected() {
    let mut members = Members::new();
    let proposal = members.propose();
    let mut check = |change: &dyn Fn(&mut Proposal), expected: &str| {
        let mut changed = proposal.clone();
        change(&mut changed);
        let error = members.nodes[3].1.verify(&changed).unwrap_err();
        assert!(matches!(error, InvalidBlock::Field { .. }), "{error}");
        assert!(error.to_string().starts_with(expected), "{error}");
    };
    let other = member(3).public_key();
    check(&|it| it.tx_block.header.miner = other, "Tx block: miner: expected ");
    check(&|it| it.ds_block.as_mut().unwrap().header.leader = other, "DS block: leader: expected ");
    let first = proposal.micro_blocks[0].header.miner;
    let another = (0..MEMBERS).map(|number| member(number).public_key()).find(|key| *key != first).unwrap();
    check(&|it| it.micro_blocks[0].header.miner = another, "micro block: miner: expected ");
}

#[test]
fn several_members_have_no_empty_block_ranges() {
    let mut members = Members::new();
    let (_, producer) = &mut members.nodes[0];
    producer.store().set_signer(range_signer(&member(0)));
    assert_eq!(producer.pass(Timestamp::new(BEGIN + 1), 20).unwrap(), None);
}

#[test]
fn another_share_of_the_reward_is_rejected() {
    let mut members = Members::new();
    let reward = shared_config().coinbase_reward;
    let generous = ChainConfig { coinbase_reward: Qa::new(2 * reward.get()), ..shared_config() };
    let (_, mut other) = open(memory(), generous, &genesis(), committees(), Timestamp::new(BEGIN)).unwrap();
    for _ in 1..EPOCH - 1 {
        let sealed = members.make();
        let executed = other.verify(&sealed).unwrap();
        other.commit(seal_with(executed, &sealed, &committees()).unwrap()).unwrap();
    }
    let mut proposal = members.propose();
    assert_eq!((proposal.tx_block.header.number.get(), proposal.tx_block.header.rewards), (EPOCH - 1, reward));
    members.nodes[1].1.verify(&proposal).unwrap();
    let vacuous = other.propose(Timestamp::new(members.now), Cause::Event).unwrap();
    proposal.tx_block.header.state_root = vacuous.tx_block().header.state_root;
    let error = members.nodes[1].1.verify(&proposal).unwrap_err();
    assert!(matches!(error, InvalidBlock::Field { block: "Tx block", field: "state_root", .. }), "{error}");
}

#[test]
fn a_stored_range_of_empty_blocks_is_refused() {
    let store = memory();
    store.set_signer(range_signer(&member(0)));
    let alone = member(0).public_key();
    let (_, mut producer) = open(store, shared_config(), &genesis(), alone, Timestamp::new(BEGIN)).unwrap();
    assert!(producer.pass(Timestamp::new(BEGIN + 1), 20).unwrap().is_some());
    let store = producer.into_store();
    silica_chain::check(&store, &memory(), shared_config(), &genesis(), alone, &mut |_, _| {}).unwrap();
    let error = silica_chain::check(&store, &memory(), shared_config(), &genesis(), committees(), &mut |_, _| {});
    let error = error.unwrap_err();
    let causes = std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source());
    let text = causes.map(ToString::to_string).collect::<Vec<_>>().join(": ");
    assert!(text.contains("empty block range: expected a committee with one member, got several members"), "{text}");
    let error = open(store, shared_config(), &genesis(), committees(), Timestamp::new(1)).unwrap_err().to_string();
    assert!(error.starts_with("the chain in the data directory has a committee hash of "), "{error}");
}
