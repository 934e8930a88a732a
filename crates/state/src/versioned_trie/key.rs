//! Keys of leaves, and names of their pages.

use std::{cmp::Ordering, fmt};

use silica_proof::trie::digit_path;
use silica_protocol::{Address, VariableHash};

use crate::layout::space;

/// Number of digits of the longest key.
pub(crate) const MAX_DIGITS: usize = 64;

/// The key of a leaf. Its lower-case hexadecimal digits, as ASCII, are the key in the Merkle-Patricia trie.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    bytes: [u8; 32],
    len: u8,
}

impl Key {
    /// Returns the key of an account.
    pub(crate) fn account(address: &Address) -> Self {
        let mut bytes = [0; 32];
        let (head, _) = bytes.split_at_mut(Address::LEN);
        head.copy_from_slice(address.as_bytes());
        Self { bytes, len: 20 }
    }

    /// Returns the key of an entry of contract storage.
    pub(crate) const fn variable(hash: &VariableHash) -> Self {
        Self { bytes: hash.to_bytes(), len: 32 }
    }

    /// Joins the digits of a prefix and the bytes of the remaining digits. If the prefix has an odd number of digits,
    /// `rest` begins with the low half of its first byte. Returns `None` if the result does not have `len` bytes.
    pub(crate) fn join(prefix: &[u8], rest: &[u8], len: usize) -> Option<Self> {
        let mut bytes = [0; 32];
        let whole = prefix.len() / 2;
        if whole.checked_add(rest.len())? != len || len > 32 {
            return None;
        }
        let (pairs, odd) = prefix.as_chunks();
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            *byte = high << 4 | low;
        }
        bytes.get_mut(whole..len)?.copy_from_slice(rest);
        if let [digit] = odd {
            let byte = bytes.get_mut(whole)?;
            *byte = *byte & 0xf | digit << 4;
        }
        Some(Self { bytes, len: u8::try_from(len).ok()? })
    }

    fn first(&self) -> u64 {
        self.bytes.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
    }

    /// Returns the key without digits.
    pub(crate) const fn zero() -> Self {
        Self { bytes: [0; 32], len: 0 }
    }

    /// Returns the bytes of the key from the byte with the digit at `depth` on.
    pub(crate) fn rest_from(&self, depth: usize) -> &[u8] {
        self.as_slice().get(depth >> 1..).unwrap_or_default()
    }

    /// Returns a key with the first `depth` digits of `self`. `rest` is the result of [`Key::rest_from`] for another
    /// key.
    pub(crate) fn with_rest(&self, depth: usize, rest: &[u8]) -> Self {
        let mut key = *self;
        let len = usize::from(self.len);
        if let Some(end) = key.bytes.get_mut(depth >> 1..len)
            && end.len() == rest.len()
        {
            end.copy_from_slice(rest);
        }
        key
    }

    /// Returns whether the key begins with the digits of a prefix.
    pub(crate) fn begins_with(&self, prefix: &[u8]) -> bool {
        prefix.len() <= self.digits() && prefix.iter().enumerate().all(|(depth, digit)| self.digit(depth) == *digit)
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or(&self.bytes)
    }

    /// Returns the number of digits.
    pub(crate) fn digits(&self) -> usize {
        usize::from(self.len) << 1
    }

    /// Returns the digit at `depth`, or 0 after the end.
    pub(crate) fn digit(&self, depth: usize) -> u8 {
        let byte = self.bytes.get(depth >> 1).copied().unwrap_or(0);
        if depth & 1 == 0 { byte >> 4 } else { byte & 0xf }
    }

    /// Returns the nibble of the trie key at a position. A digit is one character, so it has two nibbles.
    pub(crate) fn nibble(&self, at: usize) -> u8 {
        let [class, second] = digit_path(self.digit(at >> 1));
        if at & 1 == 0 { class } else { second }
    }

    /// Returns the key with another digit at `depth`.
    pub(crate) fn with_digit(&self, depth: usize, digit: u8) -> Self {
        let mut key = *self;
        if let Some(byte) = key.bytes.get_mut(depth >> 1) {
            *byte = if depth & 1 == 0 { *byte & 0xf | digit << 4 } else { *byte & 0xf0 | digit };
        }
        key
    }

    /// Returns the address of the account with this key, or `None` if no account can have this key.
    pub(crate) fn to_address(self) -> Option<Address> {
        Address::try_from(self.as_slice()).ok()
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        // Most keys differ in their first bytes, and a comparison of these as a number is faster than a comparison of
        // all bytes.
        self.first().cmp(&other.first()).then_with(|| (self.bytes, self.len).cmp(&(other.bytes, other.len)))
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The owner of a trie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Owner {
    /// The account trie.
    Accounts,
    /// The storage trie of a contract.
    Contract(Address),
}

impl Owner {
    /// Returns the length of the keys of the trie in bytes.
    pub(crate) const fn key_len(&self) -> usize {
        match self {
            Self::Accounts => 20,
            Self::Contract(_) => 32,
        }
    }

    /// Returns the name of the page of a prefix: table, contract, and one byte for each digit. The checksum of the page
    /// includes the name.
    pub(crate) fn page_name(&self, prefix: &[u8]) -> Vec<u8> {
        let mut name = Vec::with_capacity(prefix.len().saturating_add(32));
        match self {
            Self::Accounts => name.push(space::ACCOUNTS),
            Self::Contract(address) => {
                name.push(space::STORAGE);
                name.extend_from_slice(address.as_bytes());
            }
        }
        name.extend_from_slice(prefix);
        name
    }

    /// Returns the database key of the root pointers of the trie. For the account trie, this is the manifest.
    pub(crate) fn pointer_key(&self) -> Vec<u8> {
        match self {
            Self::Accounts => vec![space::MANIFEST],
            Self::Contract(address) => [&[space::POINTERS], &address.as_bytes()[..]].concat(),
        }
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accounts => f.write_str("the account trie"),
            Self::Contract(address) => write!(f, "the storage trie of {address}"),
        }
    }
}

/// The digits of a prefix, one in each byte. A prefix is not longer than a key.
#[derive(Clone, Debug)]
pub(crate) struct Prefix {
    digits: [u8; MAX_DIGITS],
    len: usize,
}

impl Default for Prefix {
    fn default() -> Self {
        Self { digits: [0; MAX_DIGITS], len: 0 }
    }
}

impl Prefix {
    /// Returns the first `depth` digits of a key.
    pub(crate) fn of(key: &Key, depth: usize) -> Self {
        let mut prefix = Self::default();
        (0..depth).for_each(|at| prefix.push(key.digit(at)));
        prefix
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        self.digits.get(..self.len).unwrap_or(&self.digits)
    }

    pub(crate) const fn depth(&self) -> usize {
        self.len
    }

    pub(crate) fn push(&mut self, digit: u8) {
        if let Some(place) = self.digits.get_mut(self.len) {
            *place = digit;
            self.len = self.len.wrapping_add(1);
        }
    }

    pub(crate) const fn pop(&mut self) {
        self.len = self.len.saturating_sub(1);
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().iter().try_for_each(|digit| write!(f, "{digit:x}"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn key_is_joined_from_any_prefix(bytes: [u8; 20], depth in 0usize..40) {
            let key = Key::account(&Address::new(bytes));
            let prefix = Prefix::of(&key, depth);
            prop_assert_eq!(Key::join(prefix.as_slice(), &bytes[depth / 2..], 20), Some(key));
            prop_assert_eq!(Key::join(prefix.as_slice(), &bytes[depth / 2..], 32), None);
        }
    }
}
