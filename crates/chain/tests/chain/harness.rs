//! A network with one node and a store in memory. The test makes all blocks.

use std::{collections::BTreeMap, sync::Arc};

use silica_chain::{
    Chain, ChainConfig, CommittedBlock, Genesis, Producer, Snapshot,
    config::NoncePolicy,
    consensus::{Effect, Engine, Input, Solo, range_signer},
    open,
};
use silica_crypto::{KeyPair, SecretKey, sign};
use silica_protocol::{
    Account, Address, Gas, GasPrice, Nonce, PublicKey, Qa, Signature, Timestamp, Transaction, TxHash, Version,
};
use silica_state::{Store, StoreOptions};

/// Lowest gas price in Qa.
pub(crate) const PRICE: u128 = 2_000_000_000;
/// Fee of a payment at the lowest price, in Qa.
pub(crate) const FEE: u128 = 50 * PRICE;
/// Balance of each user at genesis, in Qa.
pub(crate) const FUNDS: u128 = 1_000 * Qa::PER_ZIL;
/// Number of users with money. Users are numbered from 1.
pub(crate) const USERS: u8 = 8;
/// Genesis time in microseconds.
pub(crate) const BEGIN: u64 = 1_700_000_000_000_000;

/// A chain, its producer and its engine.
pub(crate) struct Net {
    pub(crate) chain: Chain,
    pub(crate) producer: Producer,
    pub(crate) solo: Solo,
    pub(crate) now: u64,
    /// The highest nonce of each user in `pay_next`.
    pub(crate) sent: BTreeMap<u8, u64>,
}

/// Returns the key of a user. Users above [`USERS`] have no account at genesis.
pub(crate) fn key(number: u8) -> KeyPair {
    let mut bytes = [1; 32];
    bytes[31] = number;
    KeyPair::from_secret(SecretKey::from_bytes(bytes).unwrap())
}

pub(crate) fn user(number: u8) -> Address {
    key(number).address()
}

/// Returns the key that signs blocks.
pub(crate) fn node_key() -> KeyPair {
    KeyPair::from_secret(SecretKey::from_bytes([77; 32]).unwrap())
}

pub(crate) fn node() -> PublicKey {
    node_key().public()
}

pub(crate) fn genesis() -> Genesis {
    let account = Account { balance: Qa::new(FUNDS), ..Account::default() };
    Genesis::new((1..=USERS).map(|number| (user(number), account)).collect::<BTreeMap<_, _>>()).unwrap()
}

/// Returns a configuration with these shards and DS epochs, in which transactions with a nonce gap are pending.
pub(crate) fn config(shards: u32, blocks_per_ds_epoch: u64) -> ChainConfig {
    let mut config = ChainConfig { shards, blocks_per_ds_epoch, ..ChainConfig::isolated() };
    config.policy.nonces = NoncePolicy::Queue;
    config
}

pub(crate) fn memory() -> Store {
    Store::ephemeral(StoreOptions::default())
}

impl Net {
    pub(crate) fn new(config: ChainConfig) -> Self {
        Self::over(memory(), config)
    }

    pub(crate) fn over(store: Store, config: ChainConfig) -> Self {
        store.set_signer(range_signer(&node_key()));
        Self::unsealed(store, config)
    }

    /// Returns a chain without a range signer: it makes each empty block separately.
    pub(crate) fn unsealed(store: Store, config: ChainConfig) -> Self {
        let (chain, producer) = open(store, config, &genesis(), node(), Timestamp::new(BEGIN)).unwrap();
        Self { chain, producer, solo: Solo::new(node_key()), now: BEGIN, sent: BTreeMap::new() }
    }

    /// Closes the chain and opens its store again.
    pub(crate) fn reopen(self, config: ChainConfig) -> Self {
        let Self { producer, now, sent, .. } = self;
        Self { now, sent, ..Self::over(producer.into_store(), config) }
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        self.chain.snapshot()
    }

    pub(crate) fn height(&self) -> u64 {
        self.snapshot().latest_tx_block().header.number.get()
    }

    pub(crate) fn balance(&self, address: &Address) -> Option<u128> {
        self.snapshot().account(address).unwrap().map(|account| account.balance.get())
    }

    pub(crate) fn nonce(&self, address: &Address) -> u64 {
        self.snapshot().account(address).unwrap().map_or(0, |account| account.nonce.get())
    }

    /// Advances the time by one second, and returns it.
    pub(crate) fn later(&mut self) -> Timestamp {
        self.now += 1_000_000;
        Timestamp::new(self.now)
    }

    pub(crate) fn step(&mut self, input: Input) -> Vec<Effect> {
        self.solo.step(input, &mut self.producer).unwrap()
    }

    pub(crate) fn tick(&mut self) -> Arc<CommittedBlock> {
        let at = self.later();
        let [Effect::Committed(block)] = &self.step(Input::Tick(at))[..] else { panic!("a tick makes a block") };
        Arc::clone(block)
    }

    pub(crate) fn arrival(&mut self) -> Vec<Effect> {
        let at = self.later();
        self.step(Input::Arrival(at))
    }

    pub(crate) fn demand(&mut self, blocks: u64) -> Vec<Effect> {
        let at = self.later();
        self.step(Input::Demand { at, blocks })
    }

    /// Submits a payment with the next nonce of the account, plus `ahead`.
    pub(crate) fn pay(&mut self, from: u8, to: Address, amount: u128, ahead: u64) -> TxHash {
        let nonce = self.nonce(&user(from)) + 1 + ahead;
        self.submit(payment(from, nonce, to, amount, PRICE))
    }

    /// Submits a payment with the nonce that follows the nonce of the account and the nonces of earlier calls.
    pub(crate) fn pay_next(&mut self, from: u8, to: Address, amount: u128) -> TxHash {
        let nonce = self.nonce(&user(from)).max(self.sent.get(&from).copied().unwrap_or(0)) + 1;
        self.sent.insert(from, nonce);
        self.submit(payment(from, nonce, to, amount, PRICE))
    }

    pub(crate) fn submit(&mut self, transaction: Transaction) -> TxHash {
        self.try_submit(transaction).unwrap()
    }

    pub(crate) fn try_submit(&mut self, transaction: Transaction) -> Result<TxHash, String> {
        let verified = self.chain.admit(transaction, false).map_err(|error| error.to_string())?;
        let at = Timestamp::new(self.now);
        self.chain.submit(verified, at).map(|submitted| submitted.hash).map_err(|error| error.to_string())
    }

    /// Returns the status code of a transaction.
    pub(crate) fn status(&self, hash: &TxHash) -> Option<u8> {
        self.snapshot().status(hash).unwrap().map(|status| status.status.code())
    }
}

/// Returns a signed payment.
pub(crate) fn payment(from: u8, nonce: u64, to: Address, amount: u128, price: u128) -> Transaction {
    signed(
        from,
        Transaction {
            version: Version::of_chain(ChainConfig::isolated().chain_id),
            nonce: Nonce::new(nonce),
            to,
            amount: Qa::new(amount),
            gas_price: GasPrice::new(Qa::new(price)),
            gas_limit: Gas::new(50),
            code: String::new(),
            data: String::new(),
            sender_key: key(from).public(),
            signature: Signature::ZERO,
        },
    )
}

pub(crate) fn signed(from: u8, mut transaction: Transaction) -> Transaction {
    transaction.signature = sign(&transaction.core_bytes(), &key(from)).unwrap();
    transaction
}

/// Returns the committed blocks among the effects.
pub(crate) fn committed(effects: &[Effect]) -> Vec<Arc<CommittedBlock>> {
    effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Committed(block) => Some(Arc::clone(block)),
            Effect::Passed(_) | Effect::Dropped(_) => None,
        })
        .collect()
}
