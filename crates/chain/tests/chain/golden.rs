//! Golden vectors of whole chains of a single node: no change of the code may change a byte of them.
//!
//! Each line of `data/golden/<name>.txt` is a block: its number, the hash of the Tx block, the state root, and the hash
//! of all headers, signatures and receipts. The last line has the hash of all rows of the record.

use std::fmt::Write as _;

use serde_json::json;
use silica_chain::{
    ChainConfig, Edit, Genesis, TestChain,
    config::{NoncePolicy, Numbering},
    consensus::{Input, range_signer},
};
use silica_protocol::{Address, BlockNumber, ChainId, CoSignatures, Nonce, Qa, Timestamp, Transaction, sha256};
use silica_scilla::rules::{Edition, Rules};
use silica_state::{BlockRecord, Store};

use crate::{
    contracts::{World, init},
    edits::fund,
    harness::{BEGIN, Net, config, key, memory, node_key, user},
};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

/// Returns the lines of a chain.
fn lines(store: &Store) -> String {
    let snapshot = store.snapshot();
    let mut text = String::new();
    for number in (0..=snapshot.head().unwrap().number.get()).map(BlockNumber::new) {
        let record = snapshot.record(number).unwrap().unwrap();
        let header = &record.tx_block.header;
        writeln!(text, "{number} {} {} {}", header.hash(), header.state_root, hex(&digest(&record))).unwrap();
    }
    let rows: Vec<_> = snapshot.record_rows().map(Result::unwrap).collect();
    let parts: Vec<&[u8]> = rows.iter().flat_map(|row| [row.key(), row.value()]).collect();
    writeln!(text, "record {} {}", rows.len(), hex(&sha256(&parts))).unwrap();
    text
}

/// Returns a hash over the headers with their signatures, the hashes of the transactions, and the receipts.
fn digest(record: &BlockRecord) -> [u8; 32] {
    let mut parts = Vec::new();
    let mut add = |header: Vec<u8>, signed: &CoSignatures| {
        let signatures = [signed.cs1.as_bytes().as_slice(), signed.cs2.as_bytes().as_slice()].concat();
        parts.extend([
            header,
            signatures,
            [&signed.b1[..], &signed.b2[..]].concat().iter().map(|bit| u8::from(*bit)).collect(),
        ]);
    };
    if let Some(block) = &record.ds_block {
        add(block.header.encode(), &block.cosignatures);
    }
    for block in &record.micro_blocks {
        add(block.header.encode(), &block.cosignatures);
    }
    add(record.tx_block.header.encode(), &record.tx_block.cosignatures);
    for (transaction, receipt) in &record.transactions {
        parts.extend([transaction.hash().as_bytes().to_vec(), receipt.to_styled_json().into_bytes()]);
    }
    sha256(&parts.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

fn check(net: &Net, golden: &str) {
    assert_eq!(lines(net.test.producer().store()), golden);
}

/// Makes a chain with pseudorandom payments, demands, arrivals and edits. The seed determines the chain.
fn seeded(seed: u64, config: ChainConfig) -> Net {
    let edits = config.edits;
    let mut net = Net::new(config);
    let mut random = seed;
    let mut next = |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    for _ in 0..40 {
        match next(8) {
            0 => drop(net.tick()),
            1 => drop(net.demand(1 + next(40))),
            2 if edits => drop(net.edit(fund(u8::try_from(20 + next(4)).unwrap(), 1 + u128::from(next(99))))),
            3 if edits => {
                let nonce = Nonce::new(net.nonce(&user(8)) + 1 + next(5));
                net.edit(Edit::Nonce { address: user(8), nonce });
            }
            _ => {
                for _ in 0..=next(6) {
                    let (from, to) = (1 + next(8), 1 + next(12));
                    let [from, to] = [from, to].map(|number| u8::try_from(number).unwrap());
                    net.pay_next(from, user(to), u128::from(next(1_000_000)));
                }
                net.arrival();
            }
        }
    }
    net
}

#[test]
fn payments_edits_and_ranges_with_one_shard() {
    check(&seeded(1, config(1, 10)), include_str!("../data/golden/one_shard.txt"));
}

#[test]
fn payments_edits_and_ranges_with_three_shards() {
    check(&seeded(2, config(3, 7)), include_str!("../data/golden/three_shards.txt"));
}

#[test]
fn repeated_logical_numbers() {
    let mut config = config(1, 5);
    config.policy.numbering = Numbering::OnDemand;
    check(&seeded(3, config), include_str!("../data/golden/on_demand.txt"));
}

#[test]
fn price_by_the_rules_and_no_edits() {
    let config = ChainConfig { operator_price: false, edits: false, ..config(2, 4) };
    check(&seeded(4, config), include_str!("../data/golden/no_developer.txt"));
}

#[test]
fn reserve_that_runs_out() {
    let config = ChainConfig { coinbase_reward: Qa::new(2_500_000_000_000_000_000_000), ..config(1, 3) };
    check(&seeded(5, config), include_str!("../data/golden/reserve.txt"));
}

#[test]
fn contracts_with_calls_and_failures() {
    let mut world = World::new();
    let hello = world.hello();
    let relay = world.relay();
    world.library();
    let to = [
        json!({"vname": "to", "type": "ByStr20", "value": format!("0x{hello}")}),
        json!({"vname": "payee", "type": "ByStr20", "value": format!("0x{}", user(9))}),
    ];
    for (contract, tag) in [(relay, "Forward"), (relay, "Fail"), (relay, "Take"), (hello, "Missing")] {
        let params = if tag == "Forward" { &to[..] } else { &[] };
        world.call(1, contract, tag, params, 50);
    }
    assert!(!world.deploy(2, "scilla_version 0 contract", &init(&[]), 0).unwrap().success);
    world.net.demand(120);
    check(&world.net, include_str!("../data/golden/contracts.txt"));
}

/// Makes a chain as each profile of the node starts it: the chain id, the accounts, the nonces and the Scilla rules.
#[test]
fn all_profiles() {
    let mut text = String::new();
    for (name, chain_id, nonces, latest) in [
        ("isolated", 222, NoncePolicy::Exact, false),
        ("testnet", 333, NoncePolicy::Exact, false),
        ("mainnet", 1, NoncePolicy::Exact, false),
        ("zq2", 1, NoncePolicy::Queue, true),
    ] {
        let mut config = ChainConfig { chain_id: ChainId::new(chain_id), ..ChainConfig::isolated() };
        config.policy.nonces = nonces;
        if latest {
            config.rules.scilla = Rules::current(Edition::Latest);
        }
        let store = memory();
        store.set_signer(range_signer(&node_key()));
        let genesis = if latest { crate::harness::genesis() } else { Genesis::default() };
        let chain = TestChain::builder().config(config).genesis(genesis).node_key(node_key()).store(store);
        let mut chain = chain.start_time(Timestamp::new(BEGIN)).build().unwrap();
        let sender = if latest {
            key(1)
        } else {
            silica_crypto::KeyPair::from_hex(silica_chain::PUBLISHED_ACCOUNTS[0].secret_key()).unwrap()
        };
        for amount in 1..=3 {
            chain.send(&sender, Transaction::payment(Address::new([7; 20]), Qa::new(amount))).unwrap();
        }
        let at = chain.next_time();
        chain.step(Input::Demand { at, blocks: 110 }).unwrap();
        write!(text, "{name}\n{}", lines(chain.producer().store())).unwrap();
    }
    assert_eq!(text, include_str!("../data/golden/profiles.txt"));
}
