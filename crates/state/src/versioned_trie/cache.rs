//! A cache of pages with a limit in bytes.

use std::{
    collections::{HashMap, VecDeque},
    hash::{BuildHasherDefault, DefaultHasher, Hash, Hasher},
    sync::atomic::{AtomicUsize, Ordering},
};

use parking_lot::{Mutex, MutexGuard};

/// Number of shards. Each has its own lock, so that readers seldom wait for each other.
const SHARDS: usize = 16;

/// Values with keys. Insertions evict values by the clock algorithm: a value that was read since its last turn stays
/// for another turn. Values of [`Class::Node`] stay for more turns.
///
/// Keys are divided into shards by their hash, so readers of different shards do not wait for each other.
#[derive(Debug)]
pub(crate) struct Cache<K, V> {
    shards: [Mutex<Shard<K, V>>; SHARDS],
    /// Maximum bytes of a shard.
    limit: AtomicUsize,
}

#[derive(Debug)]
struct Shard<K, V> {
    entries: HashMap<K, Entry<V>, BuildHasherDefault<DefaultHasher>>,
    /// Every key of `entries` once, in the order of eviction.
    queue: VecDeque<K>,
    bytes: usize,
}

#[derive(Debug)]
struct Entry<V> {
    value: V,
    bytes: usize,
    class: Class,
    /// Number of turns for which the value stays.
    turns: u8,
}

/// The importance of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// A leaf page, or another value that few reads need.
    Leaf,
    /// A node page. Many leaf pages are below it, so the next read of it comes sooner.
    Node,
}

impl Class {
    /// Returns the number of turns for which a value stays after its insertion or after a read.
    const fn turns(self, is_read: bool) -> u8 {
        match (self, is_read) {
            (Self::Leaf, false) => 0,
            (Self::Leaf, true) => 1,
            (Self::Node, _) => 4,
        }
    }
}

impl<K: Copy + Eq + Hash, V: Clone> Cache<K, V> {
    /// Approximate memory of an entry, in bytes: its places in the table and in the queue, both on average two thirds
    /// full.
    const OVERHEAD: usize = (size_of::<(K, Entry<V>)>() + size_of::<K>()) * 3 / 2;

    /// Makes an empty cache for at most `limit` bytes.
    pub(crate) fn new(limit: u64) -> Self {
        let shard = || Shard { entries: HashMap::default(), queue: VecDeque::new(), bytes: 0 };
        Self { shards: std::array::from_fn(|_| Mutex::new(shard())), limit: AtomicUsize::new(of_shard(limit)) }
    }

    /// Changes the limit to at most `limit` bytes. Later insertions evict values above a lower limit.
    pub(crate) fn set_limit(&self, limit: u64) {
        self.limit.store(of_shard(limit), Ordering::Relaxed);
    }

    /// Returns the value of a key, or `None` if the cache does not have it.
    pub(crate) fn get(&self, key: &K) -> Option<V> {
        let mut shard = self.shard(key)?;
        let entry = shard.entries.get_mut(key)?;
        entry.turns = entry.class.turns(true);
        Some(entry.value.clone())
    }

    /// Inserts a value of about `bytes` bytes, and evicts values of the same shard while the shard exceeds its part of
    /// the limit. Does not keep a value that exceeds this part alone.
    pub(crate) fn insert(&self, key: K, value: V, (bytes, class): (usize, Class)) {
        let bytes = bytes.saturating_add(Self::OVERHEAD);
        // These values are dropped after the lock is released, because they can be large trees.
        let mut dropped = Vec::new();
        let Some(mut shard) = self.shard(&key) else { return };
        let shard = &mut *shard;
        if let Some(entry) = shard.entries.get_mut(&key) {
            shard.bytes = shard.bytes.saturating_sub(entry.bytes).saturating_add(bytes);
            (entry.bytes, entry.class) = (bytes, class);
            dropped.push(std::mem::replace(&mut entry.value, value));
        } else {
            shard.queue.push_back(key);
            shard.entries.insert(key, Entry { value, bytes, class, turns: class.turns(false) });
            shard.bytes = shard.bytes.saturating_add(bytes);
        }
        let limit = self.limit.load(Ordering::Relaxed);
        while shard.bytes > limit {
            let Some(key) = shard.queue.pop_front() else { break };
            match shard.entries.get_mut(&key) {
                Some(entry) if entry.turns > 0 => {
                    entry.turns = entry.turns.saturating_sub(1);
                    shard.queue.push_back(key);
                }
                _ => {
                    if let Some(entry) = shard.entries.remove(&key) {
                        shard.bytes = shard.bytes.saturating_sub(entry.bytes);
                        dropped.push(entry.value);
                    }
                }
            }
        }
    }

    /// Returns the approximate memory of all entries in bytes.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).bytes).fold(0, usize::saturating_add)
    }

    fn shard(&self, key: &K) -> Option<MutexGuard<'_, Shard<K, V>>> {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let at = usize::try_from(hasher.finish() >> 32).ok()? % SHARDS;
        self.shards.get(at).map(lock)
    }
}

/// Returns the bytes of one shard.
fn of_shard(limit: u64) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX) / SHARDS
}

fn lock<K, V>(shard: &Mutex<Shard<K, V>>) -> MutexGuard<'_, Shard<K, V>> {
    shard.lock()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bound_holds_and_what_is_used_stays() {
        let cache = Cache::new(SHARDS as u64 * 4000);
        cache.insert(u32::MAX, 0_u32, (100, Class::Leaf));
        for number in 0..10_000_u32 {
            cache.insert(number, number, (100, Class::Leaf));
            assert_eq!(cache.get(&u32::MAX), Some(0));
            assert!(cache.bytes() <= SHARDS * 4000);
        }
        assert_eq!(cache.get(&9_999), Some(9_999));
        assert_eq!(cache.get(&1), None);
    }

    #[test]
    fn node_pages_outlive_leaf_pages() {
        let cache = Cache::new(SHARDS as u64 * 4000);
        (0..100_u32).for_each(|number| cache.insert(number, number, (100, Class::Node)));
        (100..1_000_u32).for_each(|number| cache.insert(number, number, (100, Class::Leaf)));
        assert!((0..100).all(|number| cache.get(&number) == Some(number)));
        (1_000..20_000_u32).for_each(|number| cache.insert(number, number, (100, Class::Leaf)));
        assert!((0..100).all(|number| cache.get(&number).is_none()), "they are evicted in the end");
    }

    #[test]
    fn lower_limit_holds_after_insertions() {
        let cache = Cache::new(SHARDS as u64 * 4000);
        (0..1_000_u32).for_each(|number| cache.insert(number, number, (100, Class::Leaf)));
        let before = cache.bytes();
        cache.set_limit(SHARDS as u64 * 1000);
        (1_000..2_000_u32).for_each(|number| cache.insert(number, number, (100, Class::Leaf)));
        assert!(before > SHARDS * 3000 && cache.bytes() <= SHARDS * 1000);
        assert_eq!(cache.get(&1_999), Some(1_999));
    }

    #[test]
    fn value_is_replaced() {
        let cache = Cache::new(1 << 20);
        cache.insert("key", 1, (100, Class::Leaf));
        let before = cache.bytes();
        cache.insert("key", 2, (200, Class::Leaf));
        assert_eq!((cache.get(&"key"), cache.bytes()), (Some(2), before + 100));
    }

    #[test]
    fn value_above_the_bound_is_not_kept() {
        let cache = Cache::new(1000);
        cache.insert("key", 1, (10_000, Class::Leaf));
        assert_eq!((cache.get(&"key"), cache.bytes()), (None, 0));
    }
}
