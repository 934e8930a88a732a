//! State deltas: what a block or micro block changed, as its header's hash covers it.

use std::collections::{BTreeMap, BTreeSet};

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
    /// Every account that was touched, changed or not.
    pub accounts: BTreeMap<Address, AccountDelta>,
}

/// The changes of one account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountDelta {
    /// Change of the balance.
    pub balance: BalanceChange,
    /// By how much the nonce grew.
    pub nonce_increase: u64,
    /// Code and init data, if the account became a contract or library.
    pub deployed: Option<DeployedContract>,
    /// Entries of storage that were written.
    pub written: BTreeMap<StorageKey, Vec<u8>>,
    /// Entries of storage that were removed.
    pub removed: BTreeSet<StorageKey>,
}

/// What a deployment adds to an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeployedContract {
    /// Hash of code and init data.
    pub code_hash: CodeHash,
    /// Source of the contract or library.
    pub code: String,
    /// Stored text of the init data.
    pub init_data: String,
}

/// A difference between two balances.
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

    /// Returns the difference without its sign.
    pub const fn magnitude(self) -> Qa {
        self.magnitude
    }

    /// Whether the balance grew.
    pub const fn is_increase(self) -> bool {
        self.increase
    }
}

impl StateDelta {
    /// Returns the hash that headers carry, zero when no account was touched.
    pub fn hash(&self) -> StateDeltaHash {
        let bytes = self.encode();
        StateDeltaHash::new(if bytes.is_empty() { sha256_or_zero(&[]) } else { sha256_or_zero(&[&bytes]) })
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
    /// [`DecodeError`] with the field that does not fit.
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
        // Roots are never part of a delta; the canonical check would say where, this says which.
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
