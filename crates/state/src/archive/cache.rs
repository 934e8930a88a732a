//! A cache of decoded values of the record. The key of a value is the number of its block.

use std::{fmt, sync::Arc};

use parking_lot::Mutex;

/// A cache with a fixed number of slots. The slot of a value is its number modulo the number of slots. Therefore
/// consecutive blocks have different slots. A new value replaces the value in its slot.
pub(super) struct Cache<T>(Box<[Mutex<Slot<T>>]>);

type Slot<T> = Option<(u64, Arc<T>)>;

impl<T> Cache<T> {
    pub(super) fn new(slots: usize) -> Self {
        Self((0..slots).map(|_| Mutex::new(None)).collect())
    }

    pub(super) fn get(&self, number: u64) -> Option<Arc<T>> {
        let slot = self.slot(number)?.lock();
        slot.as_ref().filter(|(cached, _)| *cached == number).map(|(_, value)| Arc::clone(value))
    }

    pub(super) fn put(&self, number: u64, value: &Arc<T>) {
        if let Some(slot) = self.slot(number) {
            *slot.lock() = Some((number, Arc::clone(value)));
        }
    }

    fn slot(&self, number: u64) -> Option<&Mutex<Slot<T>>> {
        let slots = u64::try_from(self.0.len()).ok()?;
        self.0.get(usize::try_from(number.checked_rem(slots)?).ok()?)
    }
}

impl<T> fmt::Debug for Cache<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").field("slots", &self.0.len()).finish_non_exhaustive()
    }
}
