//! The pause of a node, and the secret that clients need to change it.

use std::sync::{
    OnceLock,
    atomic::{AtomicBool, Ordering},
};

/// The pause of a node. A paused node makes no block and accepts no transaction. It still processes queries.
///
/// The driver begins and ends the pause, between two blocks.
#[derive(Debug, Default)]
pub(crate) struct Pause {
    /// The secret that `TogglePause` and `CheckPause` require. Without a secret, both methods reject every call.
    id: OnceLock<String>,
    paused: AtomicBool,
}

impl Pause {
    /// Sets the secret. Only the first call has an effect.
    pub(crate) fn allow(&self, id: String) {
        self.id.get_or_init(|| id);
    }

    /// Returns whether `id` is the secret.
    pub(crate) fn knows(&self, id: &str) -> bool {
        self.id.get().is_some_and(|own| own == id)
    }

    /// Returns whether the node is paused.
    pub(crate) fn lasts(&self) -> bool {
        self.paused.load(Ordering::Acquire)
    }

    /// Begins or ends the pause, and returns whether the node is paused now.
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
