//! State diffs: the changed accounts and entries of a block with their new values. A second application of a diff has
//! no effect.

use std::collections::BTreeMap;

use silica_protocol::{Account, Address, StorageKey};

use crate::codec::{Malformed, Reader, Writer};

/// The accounts and entries of contract storage that a block changes, with their values after the block.
///
/// # Examples
///
/// ```
/// use silica_protocol::{Account, Address, Qa};
/// use silica_state::StateDiff;
/// let diff = StateDiff::from_iter([(Address::new([1; 20]), Account::with_balance(Qa::new(5)))]);
/// assert_eq!(diff.accounts.len(), 1);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateDiff {
    /// The complete new values of the changed accounts. The store computes storage roots from the entries,
    /// and ignores a storage root in the diff.
    pub accounts: BTreeMap<Address, Account>,
    /// Changed entries of contract storage, by contract.
    pub storage: BTreeMap<Address, StorageDiff>,
}

/// New values of entries of one contract's storage. `None` removes the entry.
pub type StorageDiff = BTreeMap<StorageKey, Option<Vec<u8>>>;

impl FromIterator<(Address, Account)> for StateDiff {
    /// Collects the new values of accounts, without changes of contract storage.
    fn from_iter<I: IntoIterator<Item = (Address, Account)>>(accounts: I) -> Self {
        Self { accounts: accounts.into_iter().collect(), storage: BTreeMap::new() }
    }
}

impl StateDiff {
    /// Returns whether the diff changes no account and no entry.
    pub fn is_empty(&self) -> bool {
        self.accounts.is_empty() && self.storage.is_empty()
    }

    /// Returns the number of changed leaves.
    pub(crate) fn len(&self) -> usize {
        self.storage.values().map(BTreeMap::len).fold(self.accounts.len(), usize::saturating_add)
    }

    /// Returns whether a contract exists for which this diff sets entries, and `later` removes all these entries and
    /// sets no others. A merged diff would not show that this contract had storage. Its account would then get no
    /// storage root.
    pub(crate) fn is_undone_by(&self, later: &Self) -> bool {
        later.storage.iter().any(|(address, removed)| {
            let Some(entries) = self.storage.get(address) else { return false };
            let is_gone = |(key, value): (&StorageKey, &Option<Vec<u8>>)| value.is_none() || removed.contains_key(key);
            removed.values().all(Option::is_none)
                && entries.values().any(Option::is_some)
                && entries.iter().all(is_gone)
        })
    }

    /// Adds a later diff. The values of the later diff replace the earlier values.
    pub(crate) fn extend(&mut self, later: Self) {
        self.accounts.extend(later.accounts);
        for (address, entries) in later.storage {
            self.storage.entry(address).or_default().extend(entries);
        }
    }

    /// Encodes the diff for its file or for the edits of a block.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Writer::new();
        let mut value = Vec::new();
        out.len(self.accounts.len());
        for (address, account) in &self.accounts {
            value.clear();
            account.encode_into(&mut value);
            out.raw(address.as_bytes());
            out.bytes(&value);
        }
        out.len(self.storage.len());
        for (address, entries) in &self.storage {
            out.raw(address.as_bytes());
            out.len(entries.len());
            for (key, value) in entries {
                out.bytes(key.as_str().as_bytes());
                out.byte(u8::from(value.is_some()));
                out.bytes(value.as_deref().unwrap_or_default());
            }
        }
        out.finish()
    }

    /// Decodes a diff of [`StateDiff::encode`].
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        let mut diff = Self::default();
        for _ in 0..reader.number::<u64>("number of accounts")? {
            let address = Address::new(reader.array("address")?);
            let account = Account::decode(reader.bytes("account")?).map_err(|_| Malformed("account"))?;
            diff.accounts.insert(address, account);
        }
        for _ in 0..reader.number::<u64>("number of contracts")? {
            let address = Address::new(reader.array("contract")?);
            let mut entries = StorageDiff::new();
            for _ in 0..reader.number::<u64>("number of entries")? {
                let key = String::from_utf8(reader.bytes("storage key")?.to_vec());
                let key = StorageKey::from_text(key.map_err(|_| Malformed("storage key"))?);
                let present = reader.byte("storage value")? != 0;
                let value = reader.bytes("storage value")?;
                entries.insert(key, present.then(|| value.to_vec()));
            }
            diff.storage.insert(address, entries);
        }
        reader.finish("bytes after the end of the diff")?;
        Ok(diff)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use silica_protocol::{CodeHash, ContractAccount, MapKey, Nonce, Qa, StorageRoot};

    use super::*;

    fn any_diff() -> impl Strategy<Value = StateDiff> {
        let account = (any::<u128>(), any::<u64>(), any::<Option<[u8; 32]>>()).prop_map(|(balance, nonce, hash)| {
            let contract = hash.map(|hash| ContractAccount {
                code_hash: CodeHash::new(hash),
                storage_root: (hash[0] > 100).then(|| StorageRoot::new(hash)),
            });
            Account { balance: Qa::new(balance), nonce: Nonce::new(nonce), contract }
        });
        let address = any::<[u8; 20]>().prop_map(Address::new);
        let key = any::<(u8, u16)>().prop_map(|(contract, index)| {
            StorageKey::map_entry(&Address::new([contract; 20]), "field", [MapKey::uint(index.into())])
        });
        let entries = prop::collection::btree_map(key, any::<Option<Vec<u8>>>(), 0..8);
        let accounts = prop::collection::btree_map(address.clone(), account, 0..20);
        let storage = prop::collection::btree_map(address, entries, 0..4);
        (accounts, storage).prop_map(|(accounts, storage)| StateDiff { accounts, storage })
    }

    proptest! {
        #[test]
        fn round_trip(diff in any_diff()) {
            let bytes = diff.encode();
            prop_assert_eq!(StateDiff::decode(&bytes), Ok(diff));
            for len in 0..bytes.len() {
                prop_assert!(StateDiff::decode(&bytes[..len]).is_err());
            }
        }

        #[test]
        fn later_values_win(first in any_diff(), second in any_diff()) {
            let mut both = first.clone();
            both.extend(second.clone());
            for (address, account) in &both.accounts {
                prop_assert_eq!(Some(account), second.accounts.get(address).or(first.accounts.get(address)));
            }
            let again = both.clone();
            both.extend(second);
            prop_assert_eq!(both, again);
        }
    }
}
