//! State deltas: the changes of state of a block or micro block, in the form that the reference hashes.

use alloc::collections::{BTreeMap, BTreeSet};

use alloc::{borrow::ToOwned, string::String, vec::Vec};

use prost::Message;

use crate::{
    account::ACCOUNT_VERSION,
    address::Address,
    amount::Qa,
    contract::StorageKey,
    error::DecodeError,
    hash::{CodeHash, StateDeltaHash, sha256_or_zero},
    proto::{
        AddressAccount, ByteArray, ProtoAccount, ProtoAccountBase, ProtoAccountStore, StorageData2, decode,
        expect_bytes, expect_canonical, expect_present, expect_text, expect_value, expect_wrapped,
    },
};

/// The changes of state of a block or micro block.
///
/// # Examples
///
/// ```
/// use silica_protocol::{AccountDelta, Address, BalanceChange, Qa, StateDelta, StateDeltaHash};
/// let mut delta = StateDelta::default();
/// assert_eq!(delta.hash(), StateDeltaHash::ZERO);
/// let balance = BalanceChange::between(Qa::ZERO, Qa::new(7));
/// delta.accounts.insert(Address::ZERO, AccountDelta { balance, ..AccountDelta::default() });
/// assert_eq!(StateDelta::decode(&delta.encode()), Ok(delta));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateDelta {
    /// The changed accounts, by address. Reference nodes also list accounts that they only read.
    pub accounts: BTreeMap<Address, AccountDelta>,
}

/// The changes of an account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountDelta {
    /// Change of the balance of the account.
    pub balance: BalanceChange,
    /// Increase of the nonce of the account.
    pub nonce_increase: u64,
    /// Code and init data, if the block deployed a contract or library at this address.
    pub deployed: Option<DeployedContract>,
    /// The written storage entries with their new values.
    pub written: BTreeMap<StorageKey, Vec<u8>>,
    /// The removed storage entries.
    pub removed: BTreeSet<StorageKey>,
}

/// The contract or library that a deployment adds to an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeployedContract {
    /// Hash of the code and of the stored init data.
    pub code_hash: CodeHash,
    /// Source code of the contract or library.
    pub code: String,
    /// Text of the stored init data.
    pub init_data: String,
}

/// Difference between two balances: an absolute value and a sign.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BalanceChange {
    magnitude: Qa,
    increase: bool,
}

impl BalanceChange {
    /// Returns the change from `old` to `new`.
    pub const fn between(old: Qa, new: Qa) -> Self {
        Self { magnitude: Qa::new(new.get().abs_diff(old.get())), increase: new.get() > old.get() }
    }

    /// Returns the absolute value of the difference.
    pub const fn magnitude(self) -> Qa {
        self.magnitude
    }

    /// Returns whether the balance increased.
    pub const fn is_increase(self) -> bool {
        self.increase
    }
}

impl StateDelta {
    /// Returns the hash of the delta for a block header; zero if the delta lists no account.
    pub fn hash(&self) -> StateDeltaHash {
        let bytes = self.encode();
        let bytes = Some(&*bytes).filter(|bytes| !bytes.is_empty());
        StateDeltaHash::new(sha256_or_zero(bytes.as_slice()))
    }

    /// Returns the serialised form (`ProtoAccountStore`).
    pub fn encode(&self) -> Vec<u8> {
        let entries = self.accounts.iter().map(|(address, delta)| AddressAccount {
            address: address.as_bytes().to_vec(),
            account: Some(delta.to_message()),
        });
        ProtoAccountStore { entries: entries.collect() }.encode_to_vec()
    }

    /// Reads the serialised form.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] for a missing, invalid or not canonical field.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        const NAME: &str = "ProtoAccountStore";
        let message: ProtoAccountStore = decode(NAME, bytes)?;
        let entry = |entry: AddressAccount| {
            let address = Address::new(expect_bytes("AccountStore.address", &entry.address)?);
            let account = expect_present("AccountStore.account", entry.account)?;
            Ok((address, AccountDelta::from_message(account)?))
        };
        let delta = Self { accounts: message.entries.into_iter().map(entry).collect::<Result<_, _>>()? };
        expect_canonical(NAME, &delta.encode(), bytes)?;
        Ok(delta)
    }
}

impl AccountDelta {
    fn to_message(&self) -> ProtoAccount {
        let deployed = self.deployed.as_ref();
        let bytes_of = |read: fn(&DeployedContract) -> &[u8]| deployed.map_or_else(Vec::new, |it| read(it).to_vec());
        let written =
            |(key, data): (&StorageKey, &Vec<u8>)| StorageData2 { key: key.as_str().to_owned(), data: data.clone() };
        ProtoAccount {
            base: Some(ProtoAccountBase {
                version: ACCOUNT_VERSION,
                balance: Some(ByteArray::wrap(self.balance.magnitude.to_be_bytes())),
                nonce: Some(self.nonce_increase),
                codehash: bytes_of(|it| it.code_hash.as_bytes()),
                storageroot: Vec::new(),
            }),
            code: bytes_of(|it| it.code.as_bytes()),
            numbersign: self.balance.increase,
            storage2: self.written.iter().map(written).collect(),
            todelete: self.removed.iter().map(|key| key.as_str().to_owned()).collect(),
            initdata: bytes_of(|it| it.init_data.as_bytes()),
        }
    }

    fn from_message(message: ProtoAccount) -> Result<Self, DecodeError> {
        let base = expect_present("Account.base", message.base)?;
        expect_value("AccountBase.version", &ACCOUNT_VERSION, &base.version)?;
        // A delta has no storage root. This check names the field, and the canonical check would only report a
        // position.
        expect_bytes::<0>("AccountBase.storageroot", &base.storageroot)?;
        let magnitude = Qa::from_be_bytes(expect_wrapped("AccountBase.balance", base.balance.as_ref())?);
        if message.numbersign && magnitude.is_zero() {
            expect_value("Account.numbersign", &false, &true)?;
        }
        let deployed = match &*base.codehash {
            [] => {
                expect_bytes::<0>("Account.code", &message.code)?;
                expect_bytes::<0>("Account.initdata", &message.initdata)?;
                None
            }
            hash => Some(DeployedContract {
                code_hash: CodeHash::new(expect_bytes("AccountBase.codehash", hash)?),
                code: expect_text("Account.code", message.code)?,
                init_data: expect_text("Account.initdata", message.initdata)?,
            }),
        };
        let written = |data: StorageData2| (StorageKey::from_text(data.key), data.data);
        Ok(Self {
            balance: BalanceChange { magnitude, increase: message.numbersign },
            nonce_increase: expect_present("AccountBase.nonce", base.nonce)?,
            deployed,
            written: message.storage2.into_iter().map(written).collect(),
            removed: message.todelete.into_iter().map(StorageKey::from_text).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        arbitrary::{any_state_delta, check_refused, codec_properties, wrong_length},
        contract::MapKey,
    };

    codec_properties!(codec, StateDelta, any_state_delta());

    fn delta() -> StateDelta {
        let key = StorageKey::map_entry(&Address::ZERO, "n", [MapKey::uint(1)]);
        let account = AccountDelta {
            balance: BalanceChange::between(Qa::new(9), Qa::new(4)),
            nonce_increase: 1,
            deployed: Some(DeployedContract {
                code_hash: CodeHash::new([3; 32]),
                code: "c".to_owned(),
                init_data: "[]".to_owned(),
            }),
            written: [(key.clone(), b"\"2\"".to_vec())].into(),
            removed: [key].into(),
        };
        StateDelta { accounts: [(Address::ZERO, account)].into() }
    }

    /// Changes the protobuf message of an account, and checks the error of the decoder.
    #[track_caller]
    fn check_account(edit: impl FnOnce(&mut ProtoAccount), expected: &DecodeError) {
        check_store(|entry| edit(entry.account.as_mut().unwrap()), expected);
    }

    #[track_caller]
    fn check_store(edit: impl FnOnce(&mut AddressAccount), expected: &DecodeError) {
        let mut store = ProtoAccountStore::decode(&*delta().encode()).unwrap();
        edit(&mut store.entries[0]);
        check_refused(&StateDelta::decode(&store.encode_to_vec()), expected);
    }

    #[test]
    fn balance_changes_have_magnitude_and_sign() {
        let check = |old, new, magnitude, increase| {
            let change = BalanceChange::between(Qa::new(old), Qa::new(new));
            assert_eq!((change.magnitude(), change.is_increase()), (Qa::new(magnitude), increase));
        };
        check(0, 0, 0, false);
        check(5, 5, 0, false);
        check(2, 5, 3, true);
        check(5, 2, 3, false);
        check(0, u128::MAX, u128::MAX, true);
        check(u128::MAX, 0, u128::MAX, false);
    }

    #[test]
    fn nothing_touched_hashes_to_zero() {
        assert_eq!(StateDelta::default().encode(), [0; 0]);
        assert_eq!(StateDelta::default().hash(), StateDeltaHash::ZERO);
        assert_ne!(delta().hash(), StateDeltaHash::ZERO);
    }

    #[test]
    fn errors_name_the_field() {
        check_store(|entry| entry.address.clear(), &wrong_length("AccountStore.address", 20, 0));
        check_store(|entry| entry.account = None, &DecodeError::Missing { field: "AccountStore.account" });
        check_account(|account| account.base = None, &DecodeError::Missing { field: "Account.base" });
        check_account(|account| account.code = vec![0xff], &DecodeError::Text { field: "Account.code", position: 0 });
        check_account(
            |account| account.base.as_mut().unwrap().storageroot = vec![1; 32],
            &wrong_length("AccountBase.storageroot", 0, 32),
        );
        check_account(
            |account| account.base.as_mut().unwrap().codehash = vec![1; 31],
            &wrong_length("AccountBase.codehash", 32, 31),
        );
        // Code without a hash is not a deployment.
        check_account(|account| account.base.as_mut().unwrap().codehash.clear(), &wrong_length("Account.code", 0, 1));
        check_account(
            |account| {
                account.base.as_mut().unwrap().codehash.clear();
                account.code.clear();
            },
            &wrong_length("Account.initdata", 0, 2),
        );
    }

    #[test]
    fn increase_by_zero_is_rejected() {
        let value = |expected: &str, got: &str| DecodeError::Value {
            field: "Account.numbersign",
            expected: expected.to_owned(),
            got: got.to_owned(),
        };
        check_account(
            |account| {
                account.base.as_mut().unwrap().balance = Some(ByteArray::wrap([0; 16]));
                account.numbersign = true;
            },
            &value("false", "true"),
        );
    }

    #[test]
    fn disorder_is_not_canonical() {
        let mut store = ProtoAccountStore::decode(&*delta().encode()).unwrap();
        let mut second = store.entries[0].clone();
        second.address = vec![1; 20];
        store.entries.insert(0, second);
        let expected = DecodeError::NotCanonical { message: "ProtoAccountStore", position: 5 };
        check_refused(&StateDelta::decode(&store.encode_to_vec()), &expected);
        store.entries.swap(0, 1);
        assert!(StateDelta::decode(&store.encode_to_vec()).is_ok());
        // The same account occurs twice.
        store.entries[1].address = vec![0; 20];
        assert!(matches!(StateDelta::decode(&store.encode_to_vec()), Err(DecodeError::NotCanonical { .. })));
    }
}
