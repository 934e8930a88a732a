//! The network of a simulation: its file, its accounts and its payments.

use std::{collections::BTreeMap, fmt::Write as _, sync::Arc};

use chacha20::{ChaCha8Rng, rand_core::Rng as _};
use silica_chain::{
    Chain, Genesis, Producer,
    state::{Store, StoreOptions},
};
use silica_council::{Member, NetworkFile, PeerId};
use silica_crypto::KeyPair;
use silica_protocol::{Account, Address, ChainId, PublicKey, Qa, Transaction};

/// Number of accounts with money.
pub(super) const PAYERS: usize = 8;

pub(super) fn key(index: usize) -> KeyPair {
    KeyPair::from_hex(&format!("{:064x}", 0x0101_0101 + index)).unwrap()
}

fn payer(number: usize) -> KeyPair {
    key(1_000 + number % PAYERS)
}

/// Returns the payment of a payer with this nonce.
pub(super) fn payment(number: usize, nonce: u64) -> Transaction {
    let payment = Transaction::payment(Address::new([9; 20]), Qa::new(1_000)).chain_id(ChainId::new(333));
    payment.nonce(nonce).sign(&payer(number)).unwrap()
}

/// Returns a payment with another signature, which is valid too. The payment has the same hash.
pub(super) fn signed_again(payment: Transaction, random: &mut ChaCha8Rng) -> Transaction {
    let key = payer(payers()[&payment.sender_key]);
    let payment = payment.into_unsigned();
    let signature = key.sign_with_rng(&payment.signing_payload(), random).unwrap();
    payment.with_signature(signature)
}

/// Returns the payers by their keys.
pub(super) fn payers() -> BTreeMap<PublicKey, usize> {
    (0..PAYERS).map(|number| (payer(number).public_key(), number)).collect()
}

/// The parameters in which the networks of different runs differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) members: usize,
    pub(super) blocks_per_ds_epoch: u64,
    /// Whether a block without transactions comes only after 5 s.
    pub(super) is_on_demand: bool,
}

impl Shape {
    /// Returns a network with DS epochs of five blocks, and with blocks at an interval.
    pub(super) const fn of(members: usize) -> Self {
        Self { members, blocks_per_ds_epoch: 5, is_on_demand: false }
    }
}

/// Returns a network with DS epochs of five blocks.
pub(crate) fn network(members: usize) -> Arc<NetworkFile> {
    file(Shape::of(members))
}

/// Returns the file of a network.
pub(super) fn file(shape: Shape) -> Arc<NetworkFile> {
    let timing = if shape.is_on_demand { "blocks = \"on-demand\"\nmax-idle = \"5s\"\n" } else { "" };
    let mut text = format!(
        r#"[network]
name = "simulation"
chain-id = 333
genesis-time = 1790000000000000
shards = 1
blocks-per-ds-epoch = {}
shard-gas-limit = 400000
ds-gas-limit = 500000
minimum-gas-price = 2000000000
coinbase-reward = "176000000000000000"
accounts = {{ file = "accounts.json", sha256 = "{}" }}
propose-timeout = "1s"
{timing}"#,
        shape.blocks_per_ds_epoch,
        "11".repeat(32)
    );
    for index in 0..shape.members {
        let peer = PeerId::new([u8::try_from(index).unwrap(); 32]);
        let member = Member::new(format!("m{index}"), &key(index), peer, "simulation", ChainId::new(333));
        write!(text, "{member}").unwrap();
    }
    Arc::new(NetworkFile::parse(&text).unwrap())
}

pub(super) fn genesis() -> Genesis {
    let account = Account::with_balance(Qa::new(10_u128.pow(18)));
    Genesis::new((0..PAYERS).map(|number| (payer(number).address(), account)).collect()).unwrap()
}

/// Opens the chain of the network.
pub(super) fn open(store: Store, network: &NetworkFile) -> (Chain, Producer) {
    let parameters = network.parameters();
    let (config, time) = (parameters.chain_config(), parameters.genesis_time);
    silica_chain::open(store, config, &genesis(), network.committees(), time).unwrap()
}

/// Executes all blocks of a store again, and compares each header, state root, receipt and signature.
pub(super) fn check(store: &Store, network: &NetworkFile) {
    let (scratch, config) = (Store::ephemeral(StoreOptions::default()), network.parameters().chain_config());
    silica_chain::check(store, &scratch, config, &genesis(), network.committees(), &mut |_, _| {}).unwrap();
}

/// Returns the next number below `below`.
pub(super) fn draw(random: &mut ChaCha8Rng, below: u64) -> u64 {
    random.next_u64() % below
}
