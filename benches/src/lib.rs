//! Helpers of the benchmarks: blocks with a state diff and no transactions, and programs with much processor time for
//! their gas.

pub mod peer;
pub mod worst;

use silica_protocol::{
    Account, Address, BlockHash, BlockNumber, CoSignatures, CodeHash, ContractAccount, DsBlock, DsBlockHeader,
    MbInfoHash, Nonce, PublicKey, Qa, StateRoot, StorageKey, Timestamp, TxBlock, TxBlockHeader,
};
use silica_state::{BlockRecord, CommitError, Snapshot, StateDiff, Store};

/// Pseudo-random numbers, the same in each run (xorshift64).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Begins a sequence.
    pub const fn new(seed: u64) -> Self {
        Self(seed ^ 0x9e37_79b9_7f4a_7c15)
    }

    /// Returns the next number.
    pub const fn next_u64(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Returns a number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next_u64().checked_rem(bound).unwrap_or(0)
    }
}

/// The address of account number `number`.
pub fn address(number: u64) -> Address {
    let digest = silica_protocol::sha256(&[&number.to_be_bytes()]);
    let [head @ .., _, _, _, _, _, _, _, _, _, _, _, _] = digest;
    Address::new(head)
}

/// Account number `number` as of some block.
pub fn account(random: &mut Random, nonce: u64) -> Account {
    Account { balance: Qa::new(u128::from(random.next_u64()) << 10), nonce: Nonce::new(nonce), contract: None }
}

/// The change of state that creates accounts `0..count`.
pub fn genesis(count: u64) -> StateDiff {
    let mut random = Random::new(1);
    let accounts = (0..count).map(|number| (address(number), account(&mut random, 0)));
    StateDiff { accounts: accounts.collect(), ..StateDiff::default() }
}

/// A change of `updates` accounts drawn from `0..count`.
pub fn updates(random: &mut Random, count: u64, updates: u64, nonce: u64) -> StateDiff {
    let accounts = (0..updates).map(|_| (address(random.below(count)), account(random, nonce)));
    StateDiff { accounts: accounts.collect(), ..StateDiff::default() }
}

/// The contract whose storage is changed.
pub const CONTRACT: Address = Address::new([0xc0; 20]);

/// The change of state that creates a contract without storage.
pub fn contract() -> StateDiff {
    let contract = ContractAccount { code_hash: CodeHash::new([7; 32]), storage_root: None };
    let account = Account { contract: Some(contract), ..Account::default() };
    StateDiff { accounts: [(CONTRACT, account)].into(), ..StateDiff::default() }
}

/// A change of entries of the contract's storage: a map from accounts to amounts.
pub fn entries(random: &mut Random, numbers: impl IntoIterator<Item = u64>) -> StateDiff {
    let entry = |number| {
        let key = StorageKey::entry(&CONTRACT, "balances", &[format!("\"0x{}\"", address(number))]);
        (key, Some(format!("\"{}\"", random.next_u64()).into_bytes()))
    };
    let entries = numbers.into_iter().map(entry).collect();
    StateDiff { storage: [(CONTRACT, entries)].into(), ..StateDiff::default() }
}

/// Commits a block with a state diff.
///
/// # Errors
///
/// The error of the store.
///
/// # Panics
///
/// When the state cannot be read.
pub fn commit(store: &Store, diff: StateDiff) -> Result<Snapshot, CommitError> {
    let state = store.prepare(diff).expect("the state can be read");
    let snapshot = store.snapshot();
    let head = snapshot.head().map(|head| (head.number, head.hash));
    store.commit(&block(head, state.root()), state)
}

/// An unsigned block without transactions.
pub fn block(head: Option<(BlockNumber, BlockHash)>, state_root: StateRoot) -> BlockRecord {
    let member = PublicKey::new([2; 33]);
    let (number, prev_hash) = match head {
        Some((number, hash)) => (number.next().unwrap_or(BlockNumber::MISSING), hash),
        None => (BlockNumber::new(0), BlockHash::ZERO),
    };
    let header = TxBlockHeader {
        number,
        prev_hash,
        state_root,
        mb_info_hash: MbInfoHash::of(&[]),
        ..TxBlockHeader::genesis(member)
    };
    let cosignatures = CoSignatures::unsigned(1);
    let timestamp = Timestamp::new(number.get());
    BlockRecord {
        tx_block: TxBlock { header, micro_blocks: Vec::new(), cosignatures: cosignatures.clone(), timestamp },
        micro_blocks: Vec::new(),
        ds_block: head.is_none().then(|| DsBlock { header: DsBlockHeader::genesis(member), cosignatures, timestamp }),
        transactions: Vec::new(),
        edits: StateDiff::default(),
        repeats_number: false,
    }
}
