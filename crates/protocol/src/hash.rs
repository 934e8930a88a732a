//! Hashes of 32 bytes, one type for each kind of hashed value, and the hash functions.

use sha2::{Digest, Sha256};

use crate::bytes::fixed_bytes;

/// Returns the SHA-256 of the concatenation of `parts`.
pub fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize().into()
}

/// Returns the SHA-256 of the concatenation of `parts`, or zero if `parts` is empty. The protocol hashes lists in this
/// way.
pub(crate) fn sha256_or_zero(parts: &[&[u8]]) -> [u8; 32] {
    if parts.is_empty() { [0; 32] } else { sha256(parts) }
}

fixed_bytes! {
    /// Hash of a transaction: SHA-256 of its core information.
    ///
    /// # Examples
    ///
    /// ```
    /// use silica_protocol::{HexError, TxHash};
    /// let text = "0a9b4733bff6be2d48020f42e561a89d735eeb809eda257b6a56712223e842eb";
    /// let hash: TxHash = text.parse()?;
    /// assert_eq!(hash.to_string(), text);
    /// assert_eq!("0a9b".parse::<TxHash>(), Err(HexError::Length { expected: 64, got: 4 }));
    /// # Ok::<(), HexError>(())
    /// ```
    TxHash, 32
}
fixed_bytes! {
    /// Hash of a Tx, DS or micro block: SHA-256 of its serialised header.
    BlockHash, 32
}
fixed_bytes! {
    /// Root of the account trie, a Keccak-256 hash.
    StateRoot, 32
}
fixed_bytes! {
    /// Root of the storage trie of a contract, a Keccak-256 hash.
    StorageRoot, 32
}
fixed_bytes! {
    /// SHA-256 of the code and the stored init data of a contract.
    CodeHash, 32
}
fixed_bytes! {
    /// SHA-256 of the serialised state delta of a block or micro block; zero without changes.
    StateDeltaHash, 32
}
fixed_bytes! {
    /// SHA-256 of the concatenated transaction hashes of a micro block; zero without transactions.
    TxRoot, 32
}
fixed_bytes! {
    /// SHA-256 of the concatenated receipt texts of a micro block; zero without transactions.
    ReceiptsHash, 32
}
fixed_bytes! {
    /// SHA-256 of the concatenated micro block infos of a Tx block; zero without micro blocks.
    MbInfoHash, 32
}
fixed_bytes! {
    /// SHA-256 of the serialised key list of a committee.
    CommitteeHash, 32
}
fixed_bytes! {
    /// SHA-256 of the serialised sharding structure.
    ShardingHash, 32
}
fixed_bytes! {
    /// SHA-256 of a [`StorageKey`](crate::StorageKey), which begins with the address of the contract. This hash is the
    /// key of the entry in the storage trie.
    VariableHash, 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_hashed_as_one_text() {
        // The test vector of FIPS 180-2, appendix B.1.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".parse();
        assert_eq!(abc, Ok(TxHash::new(sha256(&[b"abc"]))));
        assert_eq!(sha256(&[b"a", b"", b"bc"]), sha256(&[b"abc"]));
    }

    #[test]
    fn no_parts_are_zero_and_an_empty_part_is_not() {
        assert_eq!(sha256_or_zero(&[]), [0; 32]);
        assert_eq!(sha256_or_zero(&[b""]), sha256(&[]));
    }
}
