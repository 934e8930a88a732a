//! The committees of a network: the ordered members that make and sign the blocks of each DS epoch.

use std::sync::Arc;

use silica_protocol::{Address, BlockHash, DsBlockNumber, PublicKey};

/// The committees of all DS epochs.
///
/// A DS epoch has one committee. Its members are the DS committee, and also the members of every virtual shard. All DS
/// epochs of a network have the same committee. The committee of a single node is made from its public key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committees {
    all: Committee,
}

/// The members of a DS epoch, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Committee {
    keys: Arc<[PublicKey]>,
    /// The accounts of the members, which vacuous blocks pay.
    accounts: Arc<[Address]>,
}

impl Committees {
    /// Returns the committees of a network whose members never change.
    ///
    /// The opening of a chain rejects a committee without members, with a key that is not a point of the curve, or with
    /// the same key twice.
    pub fn fixed(members: impl IntoIterator<Item = PublicKey>) -> Self {
        let keys: Arc<[PublicKey]> = members.into_iter().collect();
        let accounts = keys.iter().map(Address::from_public_key).collect();
        Self { all: Committee { keys, accounts } }
    }

    /// Returns the committee of a DS epoch.
    pub(crate) fn of(&self, _: DsBlockNumber) -> &Committee {
        &self.all
    }

    /// Returns the keys whose co-signatures a DS block has: the committee of the DS epoch before it.
    pub(crate) fn signers_of(&self, ds_block: DsBlockNumber) -> &Committee {
        self.of(ds_block.previous().unwrap_or(ds_block))
    }

    /// Returns the member of a network with one member, or `None` for a larger network.
    pub(crate) fn only_member(&self) -> Option<(PublicKey, Address)> {
        match (&*self.all.keys, &*self.all.accounts) {
            ([key], [account]) => Some((*key, *account)),
            _ => None,
        }
    }

    /// Returns the accounts of the members of all committees.
    pub(crate) fn accounts(&self) -> impl Iterator<Item = &Address> {
        self.all.accounts.iter()
    }

    /// Returns the committee of the genesis blocks.
    pub(crate) fn of_genesis(&self) -> &Committee {
        self.of(DsBlockNumber::new(0))
    }
}

impl From<PublicKey> for Committees {
    fn from(member: PublicKey) -> Self {
        Self::fixed([member])
    }
}

impl Committee {
    /// Returns the keys of the members.
    pub(crate) fn keys(&self) -> &[PublicKey] {
        &self.keys
    }

    /// Returns the accounts of the members.
    pub(crate) fn accounts(&self) -> &[Address] {
        &self.accounts
    }

    /// Returns the number of members.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns the first member. It leads the first two DS epochs. A committee that was checked is not empty.
    pub(crate) fn first(&self) -> PublicKey {
        self.keys.first().copied().unwrap_or(PublicKey::ZERO)
    }

    /// Returns the leader that a block hash selects (Reference: execution#leaders).
    ///
    /// The last two bytes of the hash, modulo the number of members, are the place of the leader.
    pub(crate) fn leader(&self, hash: &BlockHash) -> PublicKey {
        let [.., high, low] = *hash.as_bytes();
        let place = usize::from(u16::from_be_bytes([high, low])).checked_rem(self.len()).unwrap_or_default();
        self.keys.get(place).copied().unwrap_or_else(|| self.first())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::key;

    #[test]
    fn the_last_two_bytes_of_a_hash_select_the_leader() {
        let keys: Vec<_> = (1..=5).map(|number| key(number).public_key()).collect();
        let committees = Committees::fixed(keys.clone());
        let committee = committees.of(DsBlockNumber::new(7));
        let leader = |high, low| {
            let mut hash = [0xff; 32];
            [hash[30], hash[31]] = [high, low];
            committee.leader(&BlockHash::new(hash))
        };
        for (bytes, place) in [((0, 0), 0), ((0, 4), 4), ((0, 5), 0), ((1, 0), 256 % 5), ((0xff, 0xff), 65_535 % 5)] {
            assert_eq!(leader(bytes.0, bytes.1), keys[place], "{bytes:?}");
        }
        assert_eq!(Committees::from(keys[3]).of_genesis().leader(&BlockHash::new([9; 32])), keys[3]);
        assert_eq!(committees.only_member(), None);
        assert_eq!(Committees::from(keys[3]).only_member(), Some((keys[3], Address::from_public_key(&keys[3]))));
    }
}
