//! A [`TestChain`] with numbered users, in which the test makes all blocks.
//!
//! The methods of `TestChain` execute each transaction in a separate block. These tests put several transactions into a
//! block, and compare the status of transactions without a block. Therefore they submit and make blocks separately.

use std::{collections::BTreeMap, sync::Arc};

use silica_chain::{
    ChainConfig, CommittedBlock, Genesis, Snapshot, TestChain,
    config::NoncePolicy,
    consensus::{Effect, Input, range_signer},
};
use silica_crypto::{KeyPair, SecretKey};
use silica_protocol::{Account, Address, PublicKey, Qa, Timestamp, Transaction, TxHash, UnsignedTransaction};
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
/// Time between two actions in microseconds.
const SECOND: u64 = 1_000_000;

/// A chain, and the nonces that its users have used.
pub(crate) struct Net {
    pub(crate) test: TestChain,
    /// The highest nonce of each user in `pay_next`.
    sent: BTreeMap<u8, u64>,
}

/// Returns the key of a user. Users above [`USERS`] have no account at genesis.
pub(crate) fn key(number: u8) -> KeyPair {
    let mut bytes = [1; 32];
    bytes[31] = number;
    KeyPair::from(SecretKey::from_bytes(bytes).unwrap())
}

pub(crate) fn user(number: u8) -> Address {
    key(number).address()
}

/// Returns the key that signs blocks.
pub(crate) fn node_key() -> KeyPair {
    KeyPair::from(SecretKey::from_bytes([77; 32]).unwrap())
}

pub(crate) fn node() -> PublicKey {
    node_key().public_key()
}

pub(crate) fn genesis() -> Genesis {
    let account = Account::with_balance(Qa::new(FUNDS));
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
        let chain = TestChain::builder().config(config).genesis(genesis()).node_key(node_key()).store(store);
        Self { test: chain.start_time(Timestamp::new(BEGIN)).build().unwrap(), sent: BTreeMap::new() }
    }

    /// Closes the chain and opens its store again.
    pub(crate) fn reopen(self, config: ChainConfig) -> Self {
        let Self { test, sent } = self;
        let next = test.next_time();
        let mut net = Self { sent, ..Self::over(test.into_store(), config) };
        net.test.set_time(next);
        net
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        self.test.chain().snapshot()
    }

    pub(crate) fn height(&self) -> u64 {
        self.test.height().get()
    }

    /// Returns the balance of an account in Qa; `None` if it does not exist.
    pub(crate) fn balance(&self, address: &Address) -> Option<u128> {
        self.snapshot().account(address).unwrap().map(|account| account.balance.get())
    }

    pub(crate) fn nonce(&self, address: &Address) -> u64 {
        self.test.nonce(address).get()
    }

    /// Returns the time of the latest action.
    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::new(self.test.next_time().get() - SECOND)
    }

    /// Sets the time of the latest action.
    pub(crate) fn set_now(&mut self, now: Timestamp) {
        self.test.set_time(Timestamp::new(now.get() + SECOND));
    }

    /// Advances the time by one second, and returns it.
    pub(crate) fn later(&mut self) -> Timestamp {
        let at = self.test.next_time();
        self.set_now(at);
        at
    }

    pub(crate) fn step(&mut self, input: Input) -> Vec<Effect> {
        self.test.step(input).unwrap()
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
        let chain = self.test.chain();
        let verified = chain.admit(transaction, false).map_err(|error| error.to_string())?;
        chain.submit(verified, self.now()).map(|submitted| submitted.hash).map_err(|error| error.to_string())
    }

    /// Returns the status code of a transaction.
    pub(crate) fn status(&self, hash: &TxHash) -> Option<u8> {
        self.snapshot().status(hash).unwrap().map(|status| status.status.code())
    }
}

/// Returns a signed payment.
pub(crate) fn payment(from: u8, nonce: u64, to: Address, amount: u128, price: u128) -> Transaction {
    let payment = Transaction::payment(to, Qa::new(amount)).chain_id(ChainConfig::isolated().chain_id);
    payment.nonce(nonce).gas_price(Qa::new(price)).sign(&key(from)).unwrap()
}

pub(crate) fn signed(from: u8, transaction: UnsignedTransaction) -> Transaction {
    transaction.sign(&key(from)).unwrap()
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
