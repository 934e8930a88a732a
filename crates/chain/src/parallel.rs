//! Work on all processors.

use std::{num::NonZeroUsize, panic::resume_unwind, thread};

/// Returns the results of `run` for all items, in their order. Each thread except the last gets at least `share` items.
///
/// The threads end before the function returns. If `run` panics, the caller panics too.
pub(crate) fn map<'a, T: Sync, R: Send>(items: &'a [T], share: usize, run: impl Fn(&'a T) -> R + Sync) -> Vec<R> {
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let share = items.len().div_ceil(threads).max(share);
    if items.len() <= share {
        return items.iter().map(run).collect();
    }
    let run = &run;
    thread::scope(|scope| {
        let work = |share: &'a [T]| share.iter().map(run).collect::<Vec<R>>();
        let workers: Vec<_> = items.chunks(share).map(|share| scope.spawn(move || work(share))).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        for share in [1, 64, 2_000] {
            let items: Vec<u32> = (0..1_000).collect();
            assert_eq!(map(&items, share, |item| item * 2), items.iter().map(|item| item * 2).collect::<Vec<_>>());
        }
        assert!(map(&[], 1, |item: &u32| *item).is_empty());
    }

    #[test]
    #[should_panic(expected = "item 900")]
    fn panic_of_a_thread_is_that_of_the_caller() {
        map(&(0..1_000).collect::<Vec<u32>>(), 1, |item| assert_ne!(*item, 900, "item 900"));
    }
}
