//! The messages of each member that wait for the thread of the chain.

use std::sync::Arc;

/// Places for messages of each member. The queue of the thread of the chain has no bound. Without the limit of places,
/// a member could fill the memory, and delay the messages of the others.
#[derive(Debug)]
pub(crate) struct Places {
    most: usize,
    members: Vec<Arc<()>>,
}

/// A place of a member. Its drop returns the place.
#[derive(Debug)]
pub(crate) struct Place(
    #[expect(dead_code, reason = "the number of references is the number of places in use")] Arc<()>,
);

impl Places {
    /// Creates `most` places for each of some members.
    pub(crate) fn new(members: usize, most: usize) -> Self {
        Self { most, members: (0..members).map(|_| Arc::default()).collect() }
    }

    /// Takes a place of a member. Returns `None` if all its places are in use. Only one thread takes places.
    pub(crate) fn take(&self, member: usize) -> Option<Place> {
        let places = self.members.get(member)?;
        // The first reference is that of this list.
        (Arc::strong_count(places) <= self.most).then(|| Place(Arc::clone(places)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_member_has_places_of_its_own() {
        let places = Places::new(2, 2);
        let mut taken: Vec<_> = (0..3).map(|_| places.take(0)).collect();
        assert_eq!(taken.iter().map(Option::is_some).collect::<Vec<_>>(), [true, true, false]);
        assert!(places.take(1).is_some() && places.take(2).is_none());
        taken.remove(0);
        assert!(places.take(0).is_some());
    }
}
