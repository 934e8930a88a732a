//! A cache of pages with a limit in bytes.

use std::{
    collections::{HashMap, VecDeque},
    hash::{BuildHasherDefault, DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use parking_lot::{Mutex, MutexGuard};

/// Number of shards. Each has its own lock, so that readers seldom wait for each other.
const SHARDS: usize = 16;

/// Values of pages, with the database keys of the pages as keys. Insertions evict values by the clock algorithm: a
/// value that was read since its last turn stays for another turn.
///
/// Keys are divided into shards by their hash, so readers of different shards do not wait for each other.
#[derive(Debug)]
pub(crate) struct Cache<V> {
    shards: [Mutex<Shard<V>>; SHARDS],
    limit: usize,
}

#[derive(Debug)]
struct Shard<V> {
    entries: HashMap<Arc<[u8]>, Entry<V>, BuildHasherDefault<DefaultHasher>>,
    /// Every key of `entries` once, in the order of eviction.
    queue: VecDeque<Arc<[u8]>>,
    bytes: usize,
}

#[derive(Debug)]
struct Entry<V> {
    value: V,
    bytes: usize,
    used: bool,
}

/// Approximate memory of an entry without key and value, in bytes.
const OVERHEAD: usize = 120;

impl<V: Clone> Cache<V> {
    /// Makes an empty cache for at most `limit` bytes.
    pub(crate) fn new(limit: u64) -> Self {
        let shard = || Shard { entries: HashMap::default(), queue: VecDeque::new(), bytes: 0 };
        let limit = usize::try_from(limit).unwrap_or(usize::MAX) / SHARDS;
        Self { shards: std::array::from_fn(|_| Mutex::new(shard())), limit }
    }

    /// Returns the value of a key, or `None` if the cache does not have it.
    pub(crate) fn get(&self, key: &[u8]) -> Option<V> {
        let mut shard = self.shard(key)?;
        let entry = shard.entries.get_mut(key)?;
        entry.used = true;
        Some(entry.value.clone())
    }

    /// Inserts a value of about `bytes` bytes, and evicts values of the same shard while the shard exceeds its part of
    /// the limit. Does not keep a value that exceeds this part alone.
    pub(crate) fn insert(&self, key: &[u8], value: V, bytes: usize) {
        let bytes = bytes.saturating_add(OVERHEAD).saturating_add(key.len());
        // Dropped after the lock, because values can be large trees.
        let mut dropped = Vec::new();
        let Some(mut shard) = self.shard(key) else { return };
        let shard = &mut *shard;
        if let Some(entry) = shard.entries.get_mut(key) {
            shard.bytes = shard.bytes.saturating_sub(entry.bytes).saturating_add(bytes);
            entry.bytes = bytes;
            dropped.push(std::mem::replace(&mut entry.value, value));
        } else {
            let key: Arc<[u8]> = key.into();
            shard.queue.push_back(Arc::clone(&key));
            shard.entries.insert(key, Entry { value, bytes, used: false });
            shard.bytes = shard.bytes.saturating_add(bytes);
        }
        while shard.bytes > self.limit {
            let Some(key) = shard.queue.pop_front() else { break };
            match shard.entries.get_mut(&key) {
                Some(entry) if entry.used => {
                    entry.used = false;
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

    fn shard(&self, key: &[u8]) -> Option<MutexGuard<'_, Shard<V>>> {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let at = usize::try_from(hasher.finish() >> 32).ok()? % SHARDS;
        self.shards.get(at).map(lock)
    }
}

fn lock<V>(shard: &Mutex<Shard<V>>) -> MutexGuard<'_, Shard<V>> {
    shard.lock()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bound_holds_and_what_is_used_stays() {
        let cache = Cache::new(SHARDS as u64 * 4000);
        cache.insert(b"hot", 0_u32, 100);
        for number in 0..10_000_u32 {
            cache.insert(&number.to_be_bytes(), number, 100);
            assert_eq!(cache.get(b"hot"), Some(0));
            assert!(cache.bytes() <= SHARDS * 4000);
        }
        assert_eq!(cache.get(&9_999_u32.to_be_bytes()), Some(9_999));
        assert_eq!(cache.get(&1_u32.to_be_bytes()), None);
    }

    #[test]
    fn value_is_replaced() {
        let cache = Cache::new(1 << 20);
        cache.insert(b"key", 1, 100);
        let before = cache.bytes();
        cache.insert(b"key", 2, 200);
        assert_eq!((cache.get(b"key"), cache.bytes()), (Some(2), before + 100));
    }

    #[test]
    fn value_above_the_bound_is_not_kept() {
        let cache = Cache::new(1000);
        cache.insert(b"key", 1, 10_000);
        assert_eq!((cache.get(b"key"), cache.bytes()), (None, 0));
    }
}
