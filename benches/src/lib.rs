//! Helpers of the benchmarks: blocks with a state diff and without transactions, a long record of payments, programs
//! that take much processor time for their gas, and measurements of a process.

pub mod measure;
pub mod peer;
pub mod record;
pub mod worst;

use std::{
    ffi::OsStr,
    ops::{Range, RangeInclusive},
};

use silica_protocol::{
    Account, Address, BlockHash, BlockNumber, CoSignatures, CodeHash, ContractAccount, DsBlock, DsBlockHeader, MapKey,
    MbInfoHash, Nonce, PublicKey, Qa, StateRoot, StorageKey, Timestamp, TxBlock, TxBlockHeader,
};
use silica_state::{BlockRecord, CommitError, Snapshot, StateDiff, StateError, StateView, Store};

/// Pseudo-random numbers (xorshift64). The same seed gives the same numbers.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Returns a generator with this seed.
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

    /// Returns a number below `bound`; 0 if `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next_u64().checked_rem(bound).unwrap_or(0)
    }

    /// Returns a number below `bound` with the Zipf distribution of exponent 1: the probability of `n` is in proportion
    /// to `1 / (n + 1)`. Returns 0 if `bound` is 0.
    ///
    /// The sum of `1 / rank` over the ranks from a power of two up to the next one is the same for all powers, apart
    /// from the rejections. So the function selects a power of two, then one of these ranks, and rejects a rank with
    /// the probability `1 - power / rank`. This needs no floating point.
    pub fn zipf(&mut self, bound: u64) -> u64 {
        if bound == 0 {
            return 0;
        }
        let powers = u64::from(bound.ilog2()) + 1;
        loop {
            let power = 1 << self.below(powers);
            let rank = power | self.below(power);
            if rank <= bound && self.below(rank) < power {
                return rank - 1;
            }
        }
    }
}

/// The distribution of the accounts that the blocks change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Each account has the same probability.
    #[default]
    Uniform,
    /// The probability of an account is in proportion to the reciprocal of its number, counted from 1.
    Zipf,
}

impl Access {
    /// Returns the number of a random account among `count` accounts.
    pub fn next(self, random: &mut Random, count: u64) -> u64 {
        match self {
            Self::Uniform => random.below(count),
            Self::Zipf => random.zipf(count),
        }
    }
}

/// Reads an access distribution from the value of the variable `ACCESS`. Without a value, it is [`Access::Uniform`].
///
/// # Errors
///
/// The value is neither `uniform` nor `zipf`. The error names the variable, the accepted values and the given value.
pub fn access_setting(given: Option<&OsStr>) -> Result<Access, String> {
    match given.map(|given| (given, given.to_str())) {
        None | Some((_, Some("uniform"))) => Ok(Access::Uniform),
        Some((_, Some("zipf"))) => Ok(Access::Zipf),
        Some((given, _)) => Err(format!("ACCESS: expected uniform or zipf, got {}", given.display())),
    }
}

/// Reads a number from the value of an argument or variable with this name. Returns `None` without a value.
///
/// # Errors
///
/// The value is not a decimal number in the range. The error names the variable, the accepted values and the given
/// value.
pub fn number_setting(name: &str, given: Option<&OsStr>, range: RangeInclusive<u64>) -> Result<Option<u64>, String> {
    let Some(given) = given else { return Ok(None) };
    let number = given.to_str().and_then(|text| text.parse().ok()).filter(|number| range.contains(number));
    number.map(Some).ok_or_else(|| {
        let (first, last) = (range.start(), range.end());
        format!("{name}: expected a number from {first} to {last}, got {}", given.display())
    })
}

/// Returns the address of the account with this number.
pub fn address(number: u64) -> Address {
    let digest = silica_protocol::sha256(&[&number.to_be_bytes()]);
    let [head @ .., _, _, _, _, _, _, _, _, _, _, _, _] = digest;
    Address::new(head)
}

/// Returns an account with a random balance.
pub fn account(random: &mut Random, nonce: u64) -> Account {
    Account { balance: Qa::new(u128::from(random.next_u64()) << 10), nonce: Nonce::new(nonce), contract: None }
}

/// Returns the state diff that creates the accounts `0..count`.
pub fn genesis(count: u64) -> StateDiff {
    accounts(&mut Random::new(1), 0..count)
}

/// Returns the state diff that creates accounts with these numbers.
pub fn accounts(random: &mut Random, numbers: Range<u64>) -> StateDiff {
    let accounts = numbers.map(|number| (address(number), account(random, 0)));
    StateDiff { accounts: accounts.collect(), ..StateDiff::default() }
}

/// Returns a state diff that changes at most `updates` random accounts of `0..count`.
pub fn updates(random: &mut Random, count: u64, updates: u64, nonce: u64, access: Access) -> StateDiff {
    let accounts = (0..updates).map(|_| (address(access.next(random, count)), account(random, nonce)));
    StateDiff { accounts: accounts.collect(), ..StateDiff::default() }
}

/// Address of the contract whose storage the benchmarks change.
pub const CONTRACT: Address = Address::new([0xc0; 20]);

/// Number of entries that each contract of [`Subject::Contracts`] has.
pub const PER_CONTRACT: u64 = 2;

/// What a run loads and changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Subject {
    /// Accounts without contracts.
    #[default]
    Accounts,
    /// Entries of the contract [`CONTRACT`].
    Entries,
    /// Contracts with [`PER_CONTRACT`] entries each. A change gives one of the entries a new value.
    Contracts,
}

impl Subject {
    /// Reads a subject from the value of the variable `OF`. Without a value, it is [`Subject::Accounts`].
    ///
    /// # Errors
    ///
    /// The value is not a name of a subject. The error names the variable, the accepted values and the given value.
    pub fn setting(given: Option<&OsStr>) -> Result<Self, String> {
        match given.map(|given| (given, given.to_str())) {
            None | Some((_, Some("accounts"))) => Ok(Self::Accounts),
            Some((_, Some("entries"))) => Ok(Self::Entries),
            Some((_, Some("contracts"))) => Ok(Self::Contracts),
            Some((given, _)) => Err(format!("OF: expected accounts, entries or contracts, got {}", given.display())),
        }
    }

    /// Returns the contract and the key of the entry with this number. For [`Subject::Contracts`], each number has
    /// another contract. Returns `None` for accounts, which have no entries.
    pub fn entry(self, number: u64) -> Option<(Address, StorageKey)> {
        let (contract, key) = match self {
            Self::Accounts => return None,
            Self::Entries => (CONTRACT, number),
            Self::Contracts => (address(number), number % PER_CONTRACT),
        };
        Some((contract, balance_key(&contract, key)))
    }

    /// Returns the state diff that creates the items with these numbers.
    pub fn create(self, random: &mut Random, numbers: &[u64]) -> StateDiff {
        match self {
            Self::Accounts => {
                let accounts = numbers.iter().map(|number| (address(*number), account(random, 0)));
                StateDiff { accounts: accounts.collect(), ..StateDiff::default() }
            }
            Self::Entries => entries(random, numbers.iter().copied()),
            Self::Contracts => {
                let contracts = || numbers.iter().map(|number| address(*number));
                let accounts = contracts().map(|contract| (contract, contract_account())).collect();
                let storage = contracts()
                    .map(|contract| (contract, (0..PER_CONTRACT).map(|key| entry(random, &contract, key)).collect()))
                    .collect();
                StateDiff { accounts, storage }
            }
        }
    }

    /// Returns whether a state has the item with this number.
    ///
    /// # Errors
    ///
    /// The error of the store.
    pub fn is_in(self, state: &StateView, number: u64) -> Result<bool, StateError> {
        match self.entry(number) {
            None => Ok(state.account(&address(number))?.is_some()),
            Some((contract, key)) => Ok(state.storage_value(&contract, &key.variable_hash())?.is_some()),
        }
    }

    /// Returns a state diff that changes at most `updates` random items of `0..count`.
    pub fn change(self, random: &mut Random, count: u64, updates: u64, nonce: u64, access: Access) -> StateDiff {
        if self == Self::Accounts {
            return self::updates(random, count, updates, nonce, access);
        }
        let mut diff = StateDiff::default();
        for _ in 0..updates {
            let number = access.next(random, count);
            let Some((contract, key)) = self.entry(number) else { continue };
            diff.storage.entry(contract).or_default().insert(key, Some(value(random)));
        }
        diff
    }

    /// Returns the numbers below `count` in the order of the trie, in lists of `step` numbers. The iterator makes one
    /// part of the numbers after another, with about `part` numbers in memory.
    pub fn ordered(self, count: u64, step: usize, part: u64) -> impl Iterator<Item = Vec<u64>> {
        let parts = count.div_ceil(part.max(1)).next_power_of_two().min(256);
        let numbers = move |part| {
            let place = |number| {
                let key = self.entry(number).filter(|_| self == Self::Entries);
                (key.map_or_else(|| address(number).to_bytes(), |(_, key)| in_trie(&key)), number)
            };
            let mut numbers: Vec<_> = (0..count)
                .map(place)
                .filter(|(place, _)| place.first().is_some_and(|first| u64::from(*first) * parts / 256 == part))
                .collect();
            numbers.sort_unstable();
            numbers.into_iter().map(|(_, number)| number).collect::<Vec<_>>()
        };
        (0..parts).flat_map(move |part| numbers(part).chunks(step.max(1)).map(<[u64]>::to_vec).collect::<Vec<_>>())
    }
}

/// Returns the first bytes of the key of an entry in the trie.
fn in_trie(key: &StorageKey) -> [u8; 20] {
    let [head @ .., _, _, _, _, _, _, _, _, _, _, _, _] = key.variable_hash().to_bytes();
    head
}

fn contract_account() -> Account {
    let contract = ContractAccount { code_hash: CodeHash::new([7; 32]), storage_root: None };
    Account { contract: Some(contract), ..Account::default() }
}

/// Returns the state diff that creates a contract without storage.
pub fn contract() -> StateDiff {
    StateDiff { accounts: [(CONTRACT, contract_account())].into(), ..StateDiff::default() }
}

fn value(random: &mut Random) -> Vec<u8> {
    format!("\"{}\"", random.next_u64()).into_bytes()
}

fn balance_key(contract: &Address, number: u64) -> StorageKey {
    StorageKey::map_entry(contract, "balances", [MapKey::address(address(number))])
}

fn entry(random: &mut Random, contract: &Address, number: u64) -> (StorageKey, Option<Vec<u8>>) {
    (balance_key(contract, number), Some(value(random)))
}

/// Returns a state diff of entries of the contract: a map from accounts to amounts.
pub fn entries(random: &mut Random, numbers: impl IntoIterator<Item = u64>) -> StateDiff {
    let entries = numbers.into_iter().map(|number| entry(random, &CONTRACT, number)).collect();
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
pub fn commit(store: &Store, diff: &StateDiff) -> Result<Snapshot, CommitError> {
    let state = store.extend(store.prepare(), diff).expect("the state can be read");
    let snapshot = store.snapshot();
    let head = snapshot.head().map(|head| (head.number, head.hash));
    store.commit(&block(head, state.root()), state)
}

/// Returns an unsigned block without transactions. `head` is number and hash of the previous block.
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

#[cfg(test)]
mod tests {
    use silica_state::StoreOptions;

    use super::*;

    #[test]
    fn zipf_frequencies_are_reciprocal_ranks() {
        let mut random = Random::new(3);
        let mut counts = [0_u64; 1000];
        for _ in 0..1_000_000 {
            counts[usize::try_from(random.zipf(1000)).unwrap()] += 1;
        }
        // The sum of `1 / rank` over 1,000 ranks is 7.4855.
        for rank in [1, 2, 3, 4, 7, 8, 100] {
            let expected = 1_000_000 * 10_000 / 74_855 / rank;
            let got = counts[usize::try_from(rank - 1).unwrap()];
            assert!(got.abs_diff(expected) < expected / 10, "rank {rank}: {got} instead of {expected}");
        }
        assert!(counts[500..].iter().sum::<u64>().abs_diff(92_600) < 2_000);
        assert_eq!((random.zipf(0), random.zipf(1)), (0, 0));
    }

    #[test]
    fn ordered_numbers_follow_the_trie_and_are_complete() {
        for subject in [Subject::Accounts, Subject::Entries, Subject::Contracts] {
            let lists: Vec<_> = subject.ordered(1000, 30, 300).collect();
            assert!(lists.iter().all(|list| list.len() <= 30));
            let mut numbers = lists.concat();
            let place = |number: &u64| match subject.entry(*number) {
                Some((_, key)) if subject == Subject::Entries => key.variable_hash().to_bytes().to_vec(),
                _ => address(*number).to_bytes().to_vec(),
            };
            assert!(numbers.is_sorted_by_key(place), "{subject:?}");
            numbers.sort_unstable();
            assert_eq!(numbers, (0..1000).collect::<Vec<_>>());
        }
    }

    #[test]
    fn created_and_changed_items_are_found() {
        for subject in [Subject::Accounts, Subject::Entries, Subject::Contracts] {
            let (store, mut random) = (Store::ephemeral(StoreOptions::default()), Random::new(1));
            commit(&store, &contract()).unwrap();
            for list in subject.ordered(50, 20, 100) {
                commit(&store, &subject.create(&mut random, &list)).unwrap();
            }
            let before = store.snapshot();
            let diff = subject.change(&mut random, 50, 10, 1, Access::Uniform);
            let after = commit(&store, &diff).unwrap();
            for number in 0..50 {
                let account = |snapshot: &Snapshot| snapshot.account(&address(number)).unwrap();
                let entry = |snapshot: &Snapshot| {
                    let (contract, key) = subject.entry(number)?;
                    Some(snapshot.storage_value(&contract, &key.variable_hash()).unwrap().unwrap())
                };
                assert_eq!(account(&before).is_some(), subject != Subject::Entries);
                let is_changed = match subject.entry(number) {
                    Some((contract, key)) => diff.storage.get(&contract).is_some_and(|of| of.contains_key(&key)),
                    None => diff.accounts.contains_key(&address(number)),
                };
                assert_eq!((account(&before), entry(&before)) != (account(&after), entry(&after)), is_changed);
            }
        }
    }

    #[test]
    fn malformed_setting_is_an_error_with_the_accepted_values() {
        let access = |text: &str| access_setting(Some(OsStr::new(text)));
        assert_eq!(access_setting(None), Ok(Access::Uniform));
        assert_eq!((access("uniform"), access("zipf")), (Ok(Access::Uniform), Ok(Access::Zipf)));
        for wrong in ["ziff", "Zipf", ""] {
            assert_eq!(access(wrong), Err(format!("ACCESS: expected uniform or zipf, got {wrong}")));
        }
        assert_eq!(Subject::setting(None), Ok(Subject::Accounts));
        assert_eq!(Subject::setting(Some(OsStr::new("entries"))), Ok(Subject::Entries));
        let wrong = "OF: expected accounts, entries or contracts, got entry".to_owned();
        assert_eq!(Subject::setting(Some(OsStr::new("entry"))), Err(wrong));
        let step = |text: &str| number_setting("LOAD_STEP", Some(OsStr::new(text)), 1..=1000);
        assert_eq!(number_setting("LOAD_STEP", None, 1..=1000), Ok(None));
        assert_eq!((step("1"), step("1000")), (Ok(Some(1)), Ok(Some(1000))));
        for wrong in ["1O", "0", "1001", "-1", ""] {
            let message = format!("LOAD_STEP: expected a number from 1 to 1000, got {wrong}");
            assert_eq!(step(wrong), Err(message));
        }
    }
}
