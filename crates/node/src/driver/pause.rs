//! Whether the node is paused, and who may say so.

use std::sync::{
    OnceLock,
    atomic::{AtomicBool, Ordering},
};

/// A pause of the node: while it lasts no block is made and no transaction is taken, and reads go on.
///
/// The driver begins and ends it, between two blocks; everybody may look.
#[derive(Debug, Default)]
pub(crate) struct Pause {
    /// What whoever toggles or asks has to know; nobody may while there is none.
    id: OnceLock<String>,
    paused: AtomicBool,
}

impl Pause {
    /// Lets those toggle it who know `id`. The first one stays.
    pub(crate) fn allow(&self, id: String) {
        self.id.get_or_init(|| id);
    }

    /// Whether this is the id that has to be known.
    pub(crate) fn knows(&self, id: &str) -> bool {
        self.id.get().is_some_and(|own| own == id)
    }

    /// Whether the node is paused.
    pub(crate) fn lasts(&self) -> bool {
        self.paused.load(Ordering::Acquire)
    }

    /// Begins or ends it, and returns whether it lasts now.
    pub(crate) fn toggle(&self) -> bool {
        !self.paused.fetch_xor(true, Ordering::AcqRel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_that_was_not_given_is_no_id() {
        let pause = Pause::default();
        assert!(!pause.knows("") && !pause.knows("999"));
        pause.allow("999".to_owned());
        pause.allow(String::new());
        assert!(pause.knows("999") && !pause.knows("") && !pause.knows("9990"));
    }

    #[test]
    fn every_toggle_turns_it_over() {
        let pause = Pause::default();
        assert!(!pause.lasts());
        assert!(pause.toggle() && pause.lasts());
        assert!(!pause.toggle() && !pause.lasts());
    }
}
