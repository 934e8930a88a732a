//! Accounts: the values of the account trie.

use alloc::vec::Vec;

use crate::{
    amount::Qa,
    error::DecodeError,
    hash::{CodeHash, StorageRoot},
    number::Nonce,
    proto::{ProtoAccountBase, decode, expect_bytes, expect_canonical, expect_present, expect_value, expect_wrapped},
};

/// The state of an account, without the storage of its contract.
///
/// # Examples
///
/// ```
/// use silica_protocol::{Account, Nonce, Qa};
/// let account = Account { balance: Qa::new(5), nonce: Nonce::new(1), contract: None };
/// assert_eq!(Account::decode(&account.encode()), Ok(account));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Balance of the account, in Qa.
    pub balance: Qa,
    /// Nonce of the account. The next transaction of the account has this nonce plus 1.
    pub nonce: Nonce,
    /// The contract or library of the account; `None` for other accounts.
    pub contract: Option<ContractAccount>,
}

/// The part of an account that only contracts and libraries have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContractAccount {
    /// Hash of the code and the stored init data.
    pub code_hash: CodeHash,
    /// Root of the storage trie. `None` or zero before the contract has storage. A contract that lost all its storage
    /// has the root of the empty trie.
    pub storage_root: Option<StorageRoot>,
}

/// Version of the format of accounts.
pub(crate) const ACCOUNT_VERSION: u32 = 1;

/// Largest length of an encoded account: 6 bytes before the balance, 16 of balance, 11 of nonce, 34 for each hash.
const LEN_MAX: usize = 101;

impl Account {
    /// Returns an account with this balance, with nonce 0, and without a contract.
    pub const fn with_balance(balance: Qa) -> Self {
        Self { balance, nonce: Nonce::new(0), contract: None }
    }

    /// Appends the value of the account in the account trie (`ProtoAccountBase`) to `out`.
    ///
    /// The node encodes and decodes accounts more often than other values. Therefore the encoder and the decoder are
    /// handwritten. A test compares them with the protobuf message.
    pub fn encode_into(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&HEAD);
        out.extend_from_slice(&self.balance.to_be_bytes());
        out.push(NONCE);
        prost::encoding::encode_varint(self.nonce.get(), out);
        if let Some(contract) = &self.contract {
            out.extend_from_slice(&CODE_HASH);
            out.extend_from_slice(contract.code_hash.as_bytes());
            if let Some(root) = contract.storage_root.filter(|root| !root.is_zero()) {
                out.extend_from_slice(&STORAGE_ROOT);
                out.extend_from_slice(root.as_bytes());
            }
        }
    }

    /// Returns the value of the account in the account trie (`ProtoAccountBase`).
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(LEN_MAX);
        self.encode_into(&mut out);
        out
    }

    /// Reads the value of an account in the account trie.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] for a missing, invalid or not canonical field.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        match Self::maybe_canonical(bytes) {
            Some(account) => Ok(account),
            None => Self::decode_message(bytes),
        }
    }

    /// Reads the canonical form. Returns `None` for any other form. The caller then runs the slower decoder to find the
    /// fault.
    fn maybe_canonical(bytes: &[u8]) -> Option<Self> {
        let (balance, rest) = bytes.strip_prefix(&HEAD)?.split_first_chunk()?;
        let mut rest = rest.strip_prefix(&[NONCE])?;
        let (before, nonce) = (rest.len(), prost::encoding::decode_varint(&mut rest).ok()?);
        if before.checked_sub(rest.len())? != prost::encoding::encoded_len_varint(nonce) {
            return None;
        }
        Some(Self {
            balance: Qa::from_be_bytes(*balance),
            nonce: Nonce::new(nonce),
            contract: if rest.is_empty() { None } else { Some(ContractAccount::maybe_canonical(rest)?) },
        })
    }

    fn decode_message(bytes: &[u8]) -> Result<Self, DecodeError> {
        const NAME: &str = "ProtoAccountBase";
        let message: ProtoAccountBase = decode(NAME, bytes)?;
        let account = Self::from_message(&message)?;
        expect_canonical(NAME, &account.encode(), bytes)?;
        Ok(account)
    }

    fn from_message(message: &ProtoAccountBase) -> Result<Self, DecodeError> {
        expect_value("AccountBase.version", &ACCOUNT_VERSION, &message.version)?;
        let balance = expect_wrapped("AccountBase.balance", message.balance.as_ref())?;
        let nonce = expect_present("AccountBase.nonce", message.nonce)?;
        let storage_root = match &*message.storageroot {
            [] => None,
            root => Some(StorageRoot::new(expect_bytes("AccountBase.storageroot", root)?)),
        };
        let contract = match (&*message.codehash, storage_root) {
            ([], None) => None,
            ([], Some(_)) => return Err(DecodeError::Missing { field: "AccountBase.codehash" }),
            (hash, storage_root) => {
                let code_hash = CodeHash::new(expect_bytes("AccountBase.codehash", hash)?);
                Some(ContractAccount { code_hash, storage_root })
            }
        };
        Ok(Self { balance: Qa::from_be_bytes(balance), nonce: Nonce::new(nonce), contract })
    }
}

impl ContractAccount {
    fn maybe_canonical(bytes: &[u8]) -> Option<Self> {
        let (code_hash, rest) = bytes.strip_prefix(&CODE_HASH)?.split_first_chunk()?;
        let storage_root = match rest {
            [] => None,
            root => Some(StorageRoot::try_from(root.strip_prefix(&STORAGE_ROOT)?).ok().filter(|root| !root.is_zero())?),
        };
        Some(Self { code_hash: CodeHash::new(*code_hash), storage_root })
    }
}

/// The bytes before the balance: version 1, and the start of the wrapped balance.
const HEAD: [u8; 6] = [0x08, 1, 0x12, 18, 0x0a, 16];
// The tags of the later fields. A hash has its length, 32, after the tag.
const NONCE: u8 = 0x18;
const CODE_HASH: [u8; 2] = [0x22, 32];
const STORAGE_ROOT: [u8; 2] = [0x2a, 32];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use prost::Message;

    use super::*;
    use crate::{
        arbitrary::{any_account, codec_properties},
        proto::ByteArray,
    };

    codec_properties!(codec, Account, any_account());

    /// Returns the bytes of the account from the protobuf message.
    fn encode_message(account: &Account) -> Vec<u8> {
        let bytes_of = |hash: Option<[u8; 32]>| hash.map(Vec::from).unwrap_or_default();
        ProtoAccountBase {
            version: ACCOUNT_VERSION,
            balance: Some(ByteArray::wrap(account.balance.to_be_bytes())),
            nonce: Some(account.nonce.get()),
            codehash: bytes_of(account.contract.map(|contract| contract.code_hash.to_bytes())),
            storageroot: bytes_of(
                account.contract.and_then(|contract| contract.storage_root).map(StorageRoot::to_bytes),
            ),
        }
        .encode_to_vec()
    }

    fn check_error(bytes: &[u8], expected: &DecodeError) {
        assert_eq!(Account::decode(bytes).as_ref(), Err(expected));
    }

    proptest! {
        #[test]
        fn handwritten_codec_equals_the_message(account in any_account()) {
            let bytes = account.encode();
            prop_assert!(bytes.len() <= LEN_MAX);
            prop_assert_eq!(&bytes, &encode_message(&account));
            prop_assert_eq!(Account::maybe_canonical(&bytes), Some(account));
            prop_assert_eq!(Account::decode_message(&bytes), Ok(account));
        }
    }

    #[test]
    fn zero_root_is_omitted() {
        let contract = ContractAccount { code_hash: CodeHash::new([7; 32]), storage_root: Some(StorageRoot::ZERO) };
        let account = Account { contract: Some(contract), ..Account::default() };
        let mut bytes = account.encode();
        assert_eq!(Account::decode(&bytes).unwrap().contract.unwrap().storage_root, None);
        bytes.extend(STORAGE_ROOT);
        bytes.extend([0; 32]);
        check_error(&bytes, &DecodeError::NotCanonical { message: "ProtoAccountBase", position: 58 });
    }

    #[test]
    fn errors_name_the_field() {
        let good = Account::default().encode();
        let edit = |at: usize, byte: u8| {
            let mut bytes = good.clone();
            bytes[at] = byte;
            bytes
        };
        check_error(
            &[],
            &DecodeError::Value { field: "AccountBase.version", expected: "1".to_owned(), got: "0".to_owned() },
        );
        check_error(&good[..22], &DecodeError::Missing { field: "AccountBase.nonce" });
        check_error(&[8, 1, 24, 0], &DecodeError::Missing { field: "AccountBase.balance" });
        check_error(
            &[8, 1, 18, 3, 10, 1, 0, 24, 0],
            &DecodeError::Length { field: "AccountBase.balance", expected: 16, got: 1 },
        );
        check_error(
            &[&good[..], &[0x22, 1, 0]].concat(),
            &DecodeError::Length { field: "AccountBase.codehash", expected: 32, got: 1 },
        );
        check_error(
            &[&good[..], &[0x2a, 32], &[1; 32]].concat(),
            &DecodeError::Missing { field: "AccountBase.codehash" },
        );
        check_error(
            &[&good[..], &[0x30, 0]].concat(),
            &DecodeError::NotCanonical { message: "ProtoAccountBase", position: 24 },
        );
        assert!(matches!(
            Account::decode(&edit(3, 17)),
            Err(DecodeError::Malformed { message: "ProtoAccountBase", .. })
        ));
    }

    #[test]
    fn longer_form_of_nonce_is_refused() {
        let mut bytes = Account::default().encode();
        bytes.truncate(23);
        bytes.extend([0x80, 0]);
        check_error(&bytes, &DecodeError::NotCanonical { message: "ProtoAccountBase", position: 23 });
    }
}
