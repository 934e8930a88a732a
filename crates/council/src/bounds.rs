//! Bounds of messages and committees.

use silica_crypto::cosign;

/// Largest number of members. With one shard, the co-signature messages of a committee of this size fit
/// [`MAX_COSIGN_MESSAGE`].
pub const MAX_MEMBERS: usize = 64;

/// Largest co-signature message, in bytes.
pub const MAX_COSIGN_MESSAGE: usize = 16 * 1024;

/// Lowest limit of the size of a body, in bytes. The largest headers and a transaction of the largest size fit.
pub(crate) const MIN_MAX_BODY: u32 = 256 << 10;

/// Largest number of virtual shards of a chain.
const MAX_SHARDS: usize = 1_000;

/// Bytes of a co-signature message without the values of its items: kind, session, sender, counts and signature, and
/// a bitmap of the largest committee.
const COSIGN_FRAME: usize = 512;

/// Bytes of an item in a `Set` for each signer: two hashes.
const HASHES: usize = 64;

/// Bytes of the signature of a signer in a `Set`.
const SIGNATURE: usize = 64;

/// Returns the largest number of virtual shards with which each co-signature message of a committee fits
/// [`MAX_COSIGN_MESSAGE`].
///
/// The longest message is `Set`: for each signer and item, it has two hashes. The items of a block are its DS block,
/// the micro block of each shard and of the DS committee, and its Tx block.
pub(crate) fn max_shards(members: usize) -> u32 {
    let signers = cosign::quorum(members).max(1);
    let room = MAX_COSIGN_MESSAGE.saturating_sub(COSIGN_FRAME).checked_div(signers).unwrap_or_default();
    let items = room.saturating_sub(SIGNATURE) / HASHES;
    u32::try_from(items.saturating_sub(3).min(MAX_SHARDS)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_committees_have_few_shards() {
        let expected = [(2, 120), (4, 78), (7, 45), (10, 31), (31, 7), (MAX_MEMBERS, 1)];
        assert_eq!(expected.map(|(members, _)| (members, max_shards(members))), expected);
    }

    /// The agreement needs more than two thirds of the members. A block needs the exact number of signers of the
    /// quorum.
    #[test]
    fn signers_are_the_quorum_of_every_committee() {
        for members in 1..=MAX_MEMBERS {
            assert_eq!(cosign::quorum(members), members * 2 / 3 + 1, "{members} members");
        }
        // The smallest committee for which the two numbers differ.
        assert_ne!(cosign::quorum(1_003), 1_003 * 2 / 3 + 1);
    }
}
