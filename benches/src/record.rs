//! A long record: blocks of ten payments between a thousand accounts, written through the interface of the store.
//!
//! The payments, their hashes, the receipts, the state and the hashes in the headers are those of real blocks. These
//! parts are not: the signatures of payments are random, the keys of the senders are no points of the curve, the state
//! delta has a random hash, and only the last block before a stop is signed. A store and a node do not verify them
//! before they execute the blocks again. All payments follow from the state, so a later process continues the record.
//!
//! An error ends the program by a panic.
#![expect(clippy::missing_panics_doc, reason = "the head of the module has it")]

use std::{collections::BTreeMap, fs, path::Path};

use silica_chain::{ChainConfig, TestChain};
use silica_crypto::{KeyPair, SecretKey, cosign::cosign_alone};
use silica_protocol::{
    Account, Address, BlockHash, Gas, MbInfo, MbInfoHash, Nonce, PublicKey, Qa, Receipt, ReceiptsHash, Signature,
    StateDeltaHash, Timestamp, Transaction, TxHash, TxRoot, UnsignedTransaction, Version, sha256,
};
use silica_state::{Append, BlockRecord, StateDiff, Store, StoreOptions};

use crate::Random;

/// Number of accounts that pay each other.
pub const ACCOUNTS: u64 = 1_000;
/// Number of payments in a block. Each payment of a block has another sender.
pub const PER_BLOCK: u64 = 10;
/// Number of blocks after which each account has sent one payment more.
const ROUND: u64 = ACCOUNTS / PER_BLOCK;
/// Length of the DS epoch in a new chain. The generator makes no DS block, so all blocks must be in one DS epoch.
const EPOCH: u64 = 1 << 40;
/// Gas price of the payments, in Qa.
const PRICE: Qa = Qa::new(2_000_000_000);
/// Gas of a payment.
const GAS: u64 = 50;

/// A store and the writer of its record.
#[derive(Debug)]
pub struct Recorder {
    store: Store,
    key: KeyPair,
    /// The newest block.
    last: BlockRecord,
    hash: BlockHash,
    accounts: Vec<(Address, Account)>,
    /// Number of blocks of payments.
    blocks: u64,
}

impl Recorder {
    /// Opens the store of a data directory. If the store is empty, makes a chain with one block. If the chain comes from
    /// a node, the node must have made one block, and all blocks must be in the first DS epoch.
    pub fn open(dir: &Path, options: StoreOptions) -> Self {
        let key = key_of(dir);
        let store = Store::open(&dir.join("store"), options).expect("the store opens");
        let store = if store.snapshot().head().is_none() { begin(store, &key) } else { store };
        let snapshot = store.snapshot();
        let head = snapshot.head().expect("the chain has a block").number;
        let last = snapshot.record(head).expect("the record can be read").expect("the head exists");
        let accounts: Vec<_> = (0..ACCOUNTS)
            .map(|number| {
                let address = Address::from_public_key(&sender(number));
                (address, snapshot.account(&address).expect("the state can be read").unwrap_or_default())
            })
            .collect();
        let firsts = (0..ROUND).filter_map(|block| accounts.get(place(block, 0)));
        let blocks = firsts.map(|(_, account)| account.nonce.get()).sum();
        let hash = last.tx_block.header.hash();
        let mut recorder = Self { store, key, last, hash, accounts, blocks };
        if recorder.accounts.iter().any(|(_, account)| account.balance.is_zero()) {
            recorder.fund();
        }
        recorder
    }

    /// Returns the store.
    pub const fn store(&self) -> &Store {
        &self.store
    }

    /// Returns the number of payments in the record.
    pub const fn payments(&self) -> u64 {
        self.blocks * PER_BLOCK
    }

    /// Appends a block of payments, and does not flush the block. A node opens only a chain whose last block is signed.
    pub fn append(&mut self, signed: bool) {
        let mut random = Random::new(self.blocks);
        let mut changed = BTreeMap::new();
        let mut transactions = Vec::new();
        let number = self.last.tx_block.header.number.next().expect("numbers do not end");
        let fee = PRICE.get() * u128::from(GAS);
        for position in 0..PER_BLOCK {
            let payment = payment(self.blocks, position);
            let amount = payment.amount.get();
            for (account, change) in [(place(self.blocks, position), true), (place(self.blocks, position + 1), false)] {
                let (address, account) = self.accounts.get_mut(account).expect("the account exists");
                let balance = account.balance.get();
                account.balance = Qa::new(if change { balance - amount - fee } else { balance + amount });
                account.nonce = Nonce::new(account.nonce.get() + u64::from(change));
                changed.insert(*address, *account);
            }
            let mut signature = [0; 64];
            signature.as_chunks_mut().0.iter_mut().for_each(|part| *part = random.next_u64().to_be_bytes());
            let transaction = payment.with_signature(Signature::new(signature));
            transactions.push((transaction, Receipt::payment(Gas::new(GAS), number)));
        }
        self.blocks += 1;
        let diff = StateDiff { accounts: changed, ..StateDiff::default() };
        self.write(transactions, StateDiff::default(), &diff, signed);
    }

    /// Flushes all appended blocks.
    pub fn flush(&self) {
        self.store.flush().expect("the disk can be written");
    }

    /// Writes the index and a checkpoint, and closes the store.
    pub fn close(self) {
        self.store.close().expect("the store closes");
    }

    /// Gives money to all accounts, as an edit of a developer.
    fn fund(&mut self) {
        for (_, account) in &mut self.accounts {
            account.balance = Qa::new(10_u128.pow(24));
        }
        let diff = StateDiff { accounts: self.accounts.iter().copied().collect(), ..StateDiff::default() };
        self.write(Vec::new(), diff.clone(), &diff, true);
        self.flush();
    }

    fn write(&mut self, transactions: Vec<(Transaction, Receipt)>, edits: StateDiff, diff: &StateDiff, signed: bool) {
        let state = self.store.extend(self.store.prepare(), diff).expect("the state can be read");
        let BlockRecord { mut tx_block, mut micro_blocks, .. } = self.last.clone();
        let number = tx_block.header.number.next().expect("numbers do not end");
        let timestamp = Timestamp::new(tx_block.timestamp.get() + 1_000_000);
        let delta = StateDeltaHash::new(sha256(&[&number.get().to_be_bytes()]));
        let count = u64::try_from(transactions.len()).expect("a block is small");
        let mut hashes: Vec<TxHash> = transactions.iter().map(|(transaction, _)| transaction.hash()).collect();
        let mut texts: Vec<String> = transactions.iter().map(|(_, receipt)| receipt.to_styled_json()).collect();
        let (mut gas, mut rewards) = (Gas::new(GAS * count), Qa::new(PRICE.get() * u128::from(GAS * count)));
        let header = &mut tx_block.header;
        (header.gas_used, header.rewards, header.state_delta_hash) = (gas, rewards, delta);
        // The first micro block has all transactions.
        for block in &mut micro_blocks {
            let header = &mut block.header;
            (header.prev_hash, header.epoch, header.state_delta_hash) = (self.hash, number, delta);
            (header.gas_used, header.rewards) = (std::mem::take(&mut gas), std::mem::take(&mut rewards));
            block.tx_hashes = std::mem::take(&mut hashes);
            header.tx_count = u32::try_from(block.tx_hashes.len()).expect("a block is small");
            header.tx_root = TxRoot::of(&block.tx_hashes);
            header.receipts_hash = ReceiptsHash::of(&std::mem::take(&mut texts));
            block.timestamp = timestamp;
        }
        let infos = micro_blocks.iter().map(|block| {
            let header = &block.header;
            MbInfo { hash: header.hash(), tx_root: header.tx_root, shard: header.shard }
        });
        tx_block.micro_blocks = infos.collect();
        let header = &mut tx_block.header;
        (header.number, header.prev_hash, header.state_root) = (number, self.hash, state.root());
        header.mb_info_hash = MbInfoHash::of(&tx_block.micro_blocks);
        header.tx_count = u32::try_from(count).expect("a block is small");
        tx_block.timestamp = timestamp;
        if signed {
            tx_block.cosignatures = cosign_alone(&tx_block.header.encode(), &self.key).expect("the key signs");
        }
        self.hash = tx_block.header.hash();
        let record = BlockRecord { tx_block, micro_blocks, ds_block: None, transactions, edits, repeats_number: false };
        self.store.append(Append::Block(&record), state).expect("the block is appended");
        self.last = BlockRecord { transactions: Vec::new(), ..record };
    }
}

/// Returns the hash of a payment of the record, by its number from 0.
pub fn payment_hash(number: u64) -> TxHash {
    payment(number / PER_BLOCK, number % PER_BLOCK).hash()
}

/// Returns a payment of a block of payments. Each sender pays to the account after it.
fn payment(block: u64, position: u64) -> UnsignedTransaction {
    let place = |position| place(block, position) as u64;
    UnsignedTransaction {
        version: Version::of_chain(222.into()),
        nonce: Nonce::new(block / ROUND + 1),
        to: Address::from_public_key(&sender(place(position + 1))),
        amount: Qa::new(1_000_000_000_000 + u128::from(block)),
        gas_price: PRICE.into(),
        gas_limit: Gas::new(GAS),
        code: String::new(),
        data: String::new(),
        sender_key: sender(place(position)),
    }
}

/// Returns the place of an account in the list of accounts: the sender at this position of a block of payments.
fn place(block: u64, position: u64) -> usize {
    usize::try_from((block % ROUND * PER_BLOCK + position) % ACCOUNTS).expect("the list is short")
}

/// Returns the key of an account. It has the form of a public key, and no secret key.
fn sender(number: u64) -> PublicKey {
    let mut key = [2; 33];
    let digest = sha256(&[b"record", &number.to_be_bytes()]);
    key.iter_mut().skip(1).zip(digest).for_each(|(byte, digit)| *byte = digit);
    PublicKey::new(key)
}

/// Returns the key of the node of a data directory, or a fixed key if the directory has no key.
fn key_of(dir: &Path) -> KeyPair {
    match fs::read_to_string(dir.join("node.key")) {
        Ok(text) => KeyPair::from_hex(text.trim()).expect("the file has a key"),
        Err(_) => KeyPair::from(SecretKey::from_bytes([7; 32]).expect("the number is a secret key")),
    }
}

/// Makes a chain with one empty block after the genesis block.
fn begin(store: Store, key: &KeyPair) -> Store {
    let config = ChainConfig { blocks_per_ds_epoch: EPOCH, ..ChainConfig::isolated() };
    let chain = TestChain::builder().config(config).node_key(key.clone()).store(store).build();
    let mut chain = chain.expect("a new chain opens");
    chain.mine(1).expect("a block is made");
    chain.into_store()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_continues_after_a_stop_and_has_all_payments() {
        let dir = tempfile::tempdir().unwrap();
        let options = StoreOptions { checkpoint_blocks: 100, ..StoreOptions::default() };
        let (packs, mut payments) = (dir.path().join("store/chain/pages"), 0);
        // A thread packs the first 1,024 blocks when two checkpoints have them.
        for more in [11_000, 50] {
            let mut recorder = Recorder::open(dir.path(), options);
            assert_eq!(recorder.payments(), payments);
            while recorder.payments() < payments + more || !packs.exists() {
                recorder.append(false);
                if recorder.payments().is_multiple_of(100) {
                    recorder.flush();
                }
            }
            recorder.append(true);
            recorder.flush();
            payments = recorder.payments();
            recorder.close();
        }
        let recorder = Recorder::open(dir.path(), options);
        let snapshot = recorder.store().snapshot();
        assert_eq!((recorder.payments(), snapshot.head().unwrap().totals.transactions), (payments, payments));
        for number in 0..payments {
            let found = snapshot.transaction(&payment_hash(number)).unwrap().unwrap();
            assert_eq!(found.block.get(), 3 + number / PER_BLOCK);
        }
        assert_eq!(recorder.store().check(&mut |_, _| {}).unwrap().record.transactions, payments);
    }
}
