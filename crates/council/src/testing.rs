//! Helpers of the tests.

use std::fmt::Write as _;

use rand_core::{Infallible, TryCryptoRng, TryRng};
use silica_crypto::{
    KeyPair,
    multisig::{self, Challenge, CommitPoint, CommitSecret},
};
use silica_protocol::{
    Address, BlockHash, BlockNumber, ChainId, CoSignatures, CommitteeHash, DsBlockHeader, DsBlockNumber, Gas,
    MicroBlockHeader, Qa, ReceiptsHash, ShardId, StateDeltaHash, Timestamp, Transaction, TxBlockHeader, TxRoot, sha256,
};

use crate::{
    entry::{Body, ItemSignatures, Seal},
    network::{Member, PeerId},
};

/// Returns the key pairs of `count` members.
pub(crate) fn keys(count: usize) -> Vec<KeyPair> {
    let key = |index: usize| KeyPair::from_hex(&format!("{:064x}", 0x0101_0101 + index)).unwrap();
    (0..count).map(key).collect()
}

/// Returns the text of a network file with `count` members.
pub(crate) fn network_file(count: usize) -> String {
    network_file_with("example-4", 333, count)
}

/// Returns the text of a network file with this name, chain id and number of members.
pub(crate) fn network_file_with(name: &str, chain_id: u16, count: usize) -> String {
    let keys = keys(count);
    let mut text = format!(
        r#"[network]
name = "{name}"
chain-id = {chain_id}
genesis-time = 1790000000000000
genesis-key = "{}"
shards = 1
blocks-per-ds-epoch = 100
shard-gas-limit = 400000
ds-gas-limit = 500000
minimum-gas-price = 2000000000
coinbase-reward = "176000000000000000"
accounts = {{ file = "accounts.json", sha256 = "{}" }}
blocks = "interval"
interval = "1s"
drift = "2s"
propose-timeout = "1s"
max-body = "4MiB"

"#,
        keys[0].public_key(),
        "11".repeat(32),
    );
    for (index, key) in keys.iter().enumerate() {
        let peer = PeerId::new([u8::try_from(index).unwrap(); 32]);
        let member = Member::new(format!("m{index}"), key, peer, name, ChainId::new(chain_id));
        writeln!(
            text,
            "\n[[member]]\nname = \"m{index}\"\nkey = \"{}\"\npossession = \"{}\"\npeer = \"{peer}\"",
            member.key, member.possession
        )
        .unwrap();
    }
    text.push_str("\n[[address]]\nname = \"m0\"\nagreement = \"10.0.0.1:4211\"\nstream = \"https://a.example:4201\"\n");
    text
}

/// A random number generator. Each request returns the SHA-256 of a counter.
pub(crate) struct Digests(pub(crate) u64);

impl TryRng for Digests {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        rand_core::utils::next_word_via_fill(self)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        rand_core::utils::next_word_via_fill(self)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.0 += 1;
        let digest = sha256(&[&self.0.to_be_bytes()]);
        bytes.iter_mut().zip(digest.into_iter().cycle()).for_each(|(byte, random)| *byte = random);
        Ok(())
    }
}

impl TryCryptoRng for Digests {}

/// Returns the body of a Tx block with one shard, and with this number of payments.
pub(crate) fn body(block: u64, with_ds: bool, payments: u64) -> Body {
    let keys = keys(2);
    let payment = |nonce: u64| {
        let payment = Transaction::payment(Address::new([9; 20]), Qa::new(nonce.into())).chain_id(ChainId::new(333));
        payment.nonce(nonce).sign(&keys[1]).unwrap()
    };
    let transactions: Vec<_> = (1..=payments).map(payment).collect();
    let leader = keys[0].public_key();
    let micro_header = |shard: u32| {
        let of_shard = if shard == 0 { payments - payments / 3 } else { payments / 3 };
        MicroBlockHeader {
            version: 1,
            committee_hash: CommitteeHash::new([2; 32]),
            prev_hash: BlockHash::new([3; 32]),
            shard: ShardId::new(shard),
            gas_limit: Gas::new(400_000),
            gas_used: Gas::new(50 * of_shard),
            rewards: Qa::new(u128::from(of_shard) * 100_000_000_000),
            epoch: BlockNumber::new(block),
            tx_root: TxRoot::new([4; 32]),
            tx_count: u32::try_from(of_shard).unwrap(),
            miner: leader,
            ds_block: DsBlockNumber::new(1),
            state_delta_hash: StateDeltaHash::new([5; 32]),
            receipts_hash: ReceiptsHash::new([6; 32]),
        }
    };
    Body {
        timestamp: Timestamp::new(1_790_000_000_000_000 + block),
        ds_header: with_ds.then(|| DsBlockHeader { number: DsBlockNumber::new(1), ..DsBlockHeader::genesis(leader) }),
        header: TxBlockHeader {
            number: BlockNumber::new(block),
            tx_count: u32::try_from(payments).unwrap(),
            ..TxBlockHeader::genesis(leader)
        },
        micro_headers: vec![micro_header(0), micro_header(1)],
        transactions,
    }
}

/// Returns the seal of items by the given signers, made directly with the functions of a multisignature.
pub(crate) fn seal(keys: &[KeyPair], signers: &[bool], items: &[Vec<u8>]) -> Seal {
    seal_with_seed(keys, signers, items, 1 << 40)
}

/// Returns the seal of items with nonces of this seed.
pub(crate) fn seal_with_seed(keys: &[KeyPair], signers: &[bool], items: &[Vec<u8>], seed: u64) -> Seal {
    let mut rng = Digests(seed);
    let keys: Vec<_> = keys.iter().zip(signers).filter(|(_, signer)| **signer).map(|(key, _)| key).collect();
    let public: Vec<_> = keys.iter().map(|key| key.public_key()).collect();
    let aggregate = multisig::aggregate_keys(&public).unwrap();
    let mut sign = |message: &[u8]| {
        let secrets: Vec<_> = keys.iter().map(|_| CommitSecret::generate(&mut rng)).collect();
        let points: Vec<_> = secrets.iter().map(CommitSecret::point).collect();
        let challenge = Challenge::new(&CommitPoint::aggregate(&points).unwrap(), &aggregate, message).unwrap();
        let responses: Vec<_> = secrets
            .into_iter()
            .zip(&keys)
            .map(|(nonce, key)| nonce.respond(&challenge, key.secret()).unwrap())
            .collect();
        multisig::combine(&challenge, &responses).unwrap()
    };
    let mut sign_item = |header: &Vec<u8>| {
        let cs1 = sign(header);
        let first = CoSignatures { cs1, b1: signers.to_vec(), ..CoSignatures::unsigned(0) };
        ItemSignatures { cs1, cs2: sign(&first.message_for_second_round(header).unwrap()) }
    };
    Seal { signers: signers.to_vec(), items: items.iter().map(&mut sign_item).collect() }
}
