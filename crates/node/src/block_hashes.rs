//! Search for a Tx block by its hash.
//!
//! The history index of the store finds a Tx block by its hash. A search reads the latest blocks that this index does
//! not have yet.
//!
//! A node can have no history index (`--index`), or a history index that is far behind the head. Then a search reads
//! blocks from the latest one downwards, and keeps their hashes in an index in memory. Later searches read the blocks
//! that are not in the index in memory.
//!
//! One search reads a limited number of blocks. The next search continues at the block where this search ended, until
//! the index in memory has 1,000,000 blocks. A search does not find older blocks. When new blocks exceed the limit, the
//! index drops the oldest blocks.

use std::collections::BTreeSet;

use silica_chain::Snapshot;
use silica_protocol::{BlockHash, BlockNumber};
use silica_state::ArchiveError;

/// The result of a search for a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HashLookup {
    /// The number of the block.
    Found(BlockNumber),
    /// No block of the chain has the hash.
    Absent,
    /// Neither the block with this number nor a later block has the hash. The next search reads older blocks.
    NotScanned(BlockNumber),
    /// Neither the block with this number nor a later block has the hash. Older blocks do not fit into the index.
    OutOfRange(BlockNumber),
}

/// Maximum number of blocks in the index, which take about 30 MB.
const MOST: usize = 1_000_000;

/// Maximum number of latest blocks that a search reads if the history index has all others.
const TAIL: u64 = 1_000;

/// The numbers of the blocks that searches have read, by their hashes.
#[derive(Debug)]
pub(crate) struct BlockHashes {
    /// The maximum number of blocks.
    most: usize,
    /// The first 8 bytes of each hash with the number, so that a block takes 16 bytes.
    numbers: BTreeSet<(u64, u64)>,
    /// The numbers of the oldest and the newest block in the index, and the hash of the newest block.
    seen: Option<(u64, u64, BlockHash)>,
    /// Whether the index has dropped blocks, which searches do not read again.
    dropped: bool,
}

impl Default for BlockHashes {
    fn default() -> Self {
        Self { most: MOST, numbers: BTreeSet::new(), seen: None, dropped: false }
    }
}

impl BlockHashes {
    /// Searches for the block with a hash. Reads at most `most` blocks that are older than the blocks of the index.
    pub(crate) fn find(&mut self, at: &Snapshot, hash: &BlockHash, most: u64) -> Result<HashLookup, ArchiveError> {
        let (found, missing) = at.find_indexed_block(hash)?;
        if let Some(number) = found {
            return Ok(HashLookup::Found(number));
        }
        let head = at.latest_tx_block().header.number.get();
        if missing <= head && missing <= TAIL.min(most) {
            let first = head.saturating_add(1).saturating_sub(missing);
            for number in first..=head {
                if hash_of(at, number)? == Some(*hash) {
                    return Ok(HashLookup::Found(BlockNumber::new(number)));
                }
            }
            return Ok(HashLookup::Absent);
        }
        let mut oldest = self.catch_up(at, most)?;
        let end = oldest.saturating_sub(most);
        loop {
            let numbers = self.numbers.range((prefix(hash), 0)..=(prefix(hash), u64::MAX));
            for (_, number) in numbers {
                if hash_of(at, *number)? == Some(*hash) {
                    return Ok(HashLookup::Found(BlockNumber::new(*number)));
                }
            }
            let Some(older) = oldest.checked_sub(1) else { return Ok(HashLookup::Absent) };
            if self.dropped || self.numbers.len() >= self.most {
                return Ok(HashLookup::OutOfRange(BlockNumber::new(oldest)));
            }
            if oldest <= end {
                return Ok(HashLookup::NotScanned(BlockNumber::new(oldest)));
            }
            oldest = older;
            self.see(at, older)?;
            if let Some((first, ..)) = &mut self.seen {
                *first = older;
            }
        }
    }

    /// Adds the blocks after the newest block of the index, and returns the number of the oldest block in the index. If
    /// the index would exceed its limit, drops its oldest blocks until three quarters of the limit remain.
    ///
    /// Clears the index if a revert replaced its blocks, if more than `most` blocks are new, or if the new blocks alone
    /// exceed three quarters of the limit.
    fn catch_up(&mut self, at: &Snapshot, most: u64) -> Result<u64, ArchiveError> {
        let head = at.latest_tx_block().header.number.get();
        let kept = u64::try_from(self.most.saturating_sub(self.most / 4)).unwrap_or(u64::MAX);
        let most = most.min(kept);
        let (oldest, next) = match self.seen {
            Some((oldest, newest, hash))
                if head.checked_sub(newest).is_some_and(|new| new <= most) && hash_of(at, newest)? == Some(hash) =>
            {
                let next = newest.saturating_add(1);
                (self.make_room(oldest, next, head, kept), next)
            }
            Some(_) | None => {
                self.numbers.clear();
                self.dropped = false;
                (head, head)
            }
        };
        for number in next..=head {
            self.see(at, number)?;
        }
        self.seen = Some((oldest, head, at.latest_tx_block_hash()));
        Ok(oldest)
    }

    /// Drops the oldest blocks if the index with the blocks from `next` to `head` would exceed its limit. With these
    /// blocks, the index then has `kept` blocks. Returns the number of its oldest block.
    fn make_room(&mut self, oldest: u64, next: u64, head: u64, kept: u64) -> u64 {
        let after = head.saturating_add(1);
        let new = usize::try_from(after.saturating_sub(next)).unwrap_or(usize::MAX);
        if self.numbers.len().saturating_add(new) <= self.most {
            return oldest;
        }
        let first = after.saturating_sub(kept);
        self.numbers.retain(|(_, number)| *number >= first);
        self.dropped = true;
        first
    }

    fn see(&mut self, at: &Snapshot, number: u64) -> Result<(), ArchiveError> {
        if let Some(hash) = hash_of(at, number)? {
            self.numbers.insert((prefix(&hash), number));
        }
        Ok(())
    }
}

fn prefix(hash: &BlockHash) -> u64 {
    hash.as_bytes().first_chunk().copied().map_or(0, u64::from_be_bytes)
}

fn hash_of(at: &Snapshot, number: u64) -> Result<Option<BlockHash>, ArchiveError> {
    at.tx_block_hash(BlockNumber::new(number))
}

#[cfg(test)]
mod tests {
    use silica_chain::{
        ChainConfig, Genesis,
        consensus::{Engine, Input, Solo},
        open,
    };
    use silica_protocol::Timestamp;
    use silica_state::{Store, StoreOptions};

    use super::*;
    use crate::data_dir::draw_key;

    /// Returns a new chain with `blocks` blocks after the genesis block.
    fn chain(blocks: u64) -> Snapshot {
        let (key, at) = (draw_key().unwrap(), Timestamp::new(1_600_000_000_000_000));
        let store = Store::ephemeral(StoreOptions::default());
        let (chain, mut producer) =
            open(store, ChainConfig::isolated(), &Genesis::default(), key.public_key(), at).unwrap();
        Solo::new(key).step(Input::Demand { at, blocks }, &mut producer).unwrap();
        chain.snapshot()
    }

    fn hash(at: &Snapshot, number: u64) -> BlockHash {
        at.tx_block(BlockNumber::new(number)).unwrap().unwrap().header.hash()
    }

    fn found(number: u64) -> HashLookup {
        HashLookup::Found(BlockNumber::new(number))
    }

    #[test]
    fn no_more_is_looked_at_than_is_needed() {
        let (at, mut hashes) = (chain(9), BlockHashes::default());
        for (number, seen) in [(9, 1), (7, 3), (8, 3), (0, 10)] {
            assert_eq!(hashes.find(&at, &hash(&at, number), 100).unwrap(), found(number));
            assert_eq!(hashes.numbers.len(), seen, "{number}");
        }
        assert_eq!(hashes.find(&at, &BlockHash::ZERO, 100).unwrap(), HashLookup::Absent);
        assert_eq!(hashes.numbers.len(), 10);
    }

    #[test]
    fn long_search_continues_at_its_end() {
        let (at, mut hashes) = (chain(9), BlockHashes::default());
        for oldest in [6, 3, 0] {
            let unseen = HashLookup::NotScanned(BlockNumber::new(oldest));
            let expected = if oldest == 0 { HashLookup::Absent } else { unseen };
            assert_eq!(hashes.find(&at, &BlockHash::ZERO, 3).unwrap(), expected);
            assert_eq!(hashes.find(&at, &hash(&at, oldest), 3).unwrap(), found(oldest));
            assert_eq!(hashes.numbers.len() as u64, 10 - oldest);
        }
    }

    #[test]
    fn no_more_is_kept_than_there_is_room_for() {
        let (at, longer) = (chain(9), chain(12));
        let mut hashes = BlockHashes { most: 4, ..BlockHashes::default() };
        let too_old = |number| HashLookup::OutOfRange(BlockNumber::new(number));
        for _ in 0..3 {
            assert_eq!(hashes.find(&at, &BlockHash::ZERO, 100).unwrap(), too_old(6));
            assert_eq!(hashes.find(&at, &hash(&at, 2), 100).unwrap(), too_old(6));
            assert_eq!(hashes.find(&at, &hash(&at, 6), 100).unwrap(), found(6));
        }
        // Use a block of the longer chain as newest block, as if the same chain had grown. The new blocks exceed three
        // quarters of the limit.
        hashes.seen = Some((5, 8, hash(&longer, 8)));
        assert_eq!(hashes.find(&longer, &hash(&longer, 11), 100).unwrap(), found(11));
        assert_eq!(hashes.numbers.len(), 2);
    }

    #[test]
    fn new_blocks_take_the_room_of_the_oldest() {
        let mut hashes = BlockHashes { most: 4, ..BlockHashes::default() };
        let at = chain(9);
        assert_eq!(hashes.find(&at, &BlockHash::ZERO, 100).unwrap(), HashLookup::OutOfRange(BlockNumber::new(6)));
        for (head, oldest) in [(10, 8), (11, 8), (12, 10), (15, 13)] {
            // Use the hash of the longer chain for the newest block, as if the same chain had grown.
            let at = chain(head);
            hashes.seen = hashes.seen.map(|(oldest, newest, _)| (oldest, newest, hash(&at, newest)));
            assert_eq!(
                hashes.find(&at, &BlockHash::ZERO, 100).unwrap(),
                HashLookup::OutOfRange(BlockNumber::new(oldest))
            );
            let mut numbers: Vec<u64> = hashes.numbers.iter().map(|(_, number)| *number).collect();
            numbers.sort_unstable();
            assert_eq!(numbers, (oldest..=head).collect::<Vec<_>>());
        }
    }

    #[test]
    fn blocks_that_are_too_many_to_catch_up_with_are_looked_at_from_the_latest_on() {
        let (first, at, mut hashes) = (chain(2), chain(9), BlockHashes::default());
        assert_eq!(hashes.find(&first, &BlockHash::ZERO, 3).unwrap(), HashLookup::Absent);
        hashes.seen = Some((0, 2, hash(&at, 2)));
        assert_eq!(hashes.find(&at, &hash(&at, 8), 6).unwrap(), found(8));
        assert_eq!(hashes.numbers.len(), 2);
    }

    #[test]
    fn blocks_that_others_replaced_are_forgotten() {
        let mut hashes = BlockHashes::default();
        for [at, other] in [[5, 9], [9, 5], [5, 5]].map(|lengths| lengths.map(chain)) {
            assert_eq!(hashes.find(&at, &hash(&at, 2), 100).unwrap(), found(2));
            assert_eq!(hashes.find(&other, &hash(&at, 2), 100).unwrap(), HashLookup::Absent);
            assert_eq!(hashes.find(&other, &hash(&other, 3), 100).unwrap(), found(3));
        }
    }
}
