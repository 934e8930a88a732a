//! The queue of batches from other members. A thread takes each batch, and verifies the signatures of its transactions.

use std::collections::VecDeque;

use parking_lot::{Condvar, Mutex};

/// Number of waiting batches that the members share equally. The share of a member is rounded up.
const QUEUED: usize = 256;

/// A queue with a share for each member. The queue returns one batch of each member in turn. So a member that sends too
/// many batches delays the batches of another member by one batch.
#[derive(Debug)]
pub(crate) struct BatchQueue {
    share: usize,
    queues: Mutex<Queues>,
    changed: Condvar,
}

#[derive(Debug)]
struct Queues {
    members: Vec<VecDeque<Vec<u8>>>,
    /// The member whose turn is next.
    turn: usize,
    is_closed: bool,
}

impl BatchQueue {
    /// Creates the queue of a network with this number of members.
    pub(crate) fn new(members: usize) -> Self {
        let queues = Queues { members: vec![VecDeque::new(); members], turn: 0, is_closed: false };
        Self { share: QUEUED.div_ceil(members.max(1)), queues: Mutex::new(queues), changed: Condvar::new() }
    }

    /// Adds a batch. Returns `false` if the share of the member is full, and drops the batch.
    pub(crate) fn push(&self, member: usize, batch: Vec<u8>) -> bool {
        let mut queues = self.queues.lock();
        let Some(queue) = queues.members.get_mut(member).filter(|queue| queue.len() < self.share) else { return false };
        queue.push_back(batch);
        drop(queues);
        self.changed.notify_one();
        true
    }

    /// Waits for a batch, and takes it. Returns `None` after [`close`](Self::close).
    pub(crate) fn pop(&self) -> Option<Vec<u8>> {
        let mut queues = self.queues.lock();
        loop {
            if queues.is_closed {
                return None;
            }
            if let Some(batch) = queues.take() {
                return Some(batch);
            }
            self.changed.wait(&mut queues);
        }
    }

    /// Closes the queue. [`pop`](Self::pop) then returns `None` in each thread.
    pub(crate) fn close(&self) {
        self.queues.lock().is_closed = true;
        self.changed.notify_all();
    }
}

impl Queues {
    /// Takes a batch of the next member that has one.
    fn take(&mut self) -> Option<Vec<u8>> {
        let count = self.members.len();
        let mut order = (0..count).cycle().skip(self.turn).take(count);
        let member = order.find(|member| self.members.get(*member).is_some_and(|queue| !queue.is_empty()))?;
        self.turn = member.saturating_add(1) % count;
        self.members.get_mut(member)?.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, thread};

    use super::*;

    #[test]
    fn member_with_many_batches_does_not_fill_the_queue() {
        let queue = BatchQueue::new(4);
        let taken = (0..300).filter(|_| queue.push(3, vec![3])).count();
        assert_eq!(taken, 64);
        for number in 0..64 {
            assert!(queue.push(1, vec![1, number]));
        }
        assert!(!queue.push(1, vec![1]) && !queue.push(4, vec![4]));
        assert!(queue.push(2, vec![2]));
        let first: Vec<_> = (0..6).map(|_| queue.pop().unwrap()).collect();
        assert_eq!(first, [vec![1, 0], vec![2], vec![3], vec![1, 1], vec![3], vec![1, 2]]);
    }

    #[test]
    fn thread_waits_for_a_batch_and_for_the_end() {
        let queue = Arc::new(BatchQueue::new(2));
        let other = Arc::clone(&queue);
        let thread = thread::spawn(move || (other.pop(), other.pop()));
        assert!(queue.push(0, vec![7]));
        while !queue.queues.lock().members[0].is_empty() {
            thread::yield_now();
        }
        queue.close();
        assert_eq!(thread.join().unwrap(), (Some(vec![7]), None));
    }
}
