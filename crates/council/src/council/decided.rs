//! A decided body, whose seal is due.

use std::sync::Arc;

use silica_chain::{Committees, ExecutedBlock, SealError, SealedBlock, consensus::seal_with};
use silica_protocol::StateRoot;

use super::verdict::{Entry, InvalidEntry, Verdict};
use crate::{
    cosign::{Effect, Session},
    entry::{EntryId, Height, Seal},
};

/// Largest number of valid seals that a member keeps.
const MAX_SEALS: usize = 4;

/// The decided body of the next block.
#[derive(Debug)]
pub(super) struct DecidedBody {
    /// Height of the body.
    pub(super) height: Height,
    pub(super) entry: Entry,
    pub(super) state_root: StateRoot,
    /// The executed block. A failed commit consumes it.
    pub(super) executed: Option<ExecutedBlock>,
    pub(super) session: Session,
    /// The seal that the session of this member made, or that this member proposed before a restart. A seal of a later
    /// round does not replace it.
    pub(super) own: Option<Entry>,
    /// The latest valid seals.
    seals: Vec<Entry>,
}

impl DecidedBody {
    pub(super) fn new(height: Height, entry: Entry, executed: ExecutedBlock, session: Session) -> Self {
        let state_root = executed.tx_block().header.state_root;
        Self { height, entry, state_root, executed: Some(executed), session, own: None, seals: Vec::new() }
    }

    /// Returns the id of the seal with these bytes.
    pub(super) fn seal_id(&self, bytes: &[u8]) -> EntryId {
        let task = self.session.task();
        EntryId::of_seal(&task.network, task.height, &task.body, bytes)
    }

    /// Returns the verdict on the canonical bytes of a seal.
    pub(super) fn judge(&mut self, bytes: &[u8]) -> Verdict {
        let id = self.seal_id(bytes);
        match self.verify(id, bytes) {
            Ok(_) => Verdict::Valid(id),
            Err(reason) => Verdict::Invalid { id, reason },
        }
    }

    /// Reads and verifies a seal, and keeps its bytes.
    pub(super) fn verify(&mut self, id: EntryId, bytes: &[u8]) -> Result<Seal, InvalidEntry> {
        let task = self.session.task();
        let seal = Seal::decode(bytes, task.committee.len())?;
        if self.bytes_of(id).is_none() {
            seal.verify(&task.items, &task.committee)?;
            self.keep(Entry { id, bytes: bytes.into() });
        }
        Ok(seal)
    }

    fn keep(&mut self, entry: Entry) {
        if self.seals.len() >= MAX_SEALS {
            self.seals.remove(0);
        }
        self.seals.push(entry);
    }

    /// Returns the bytes of a seal that this member made or found valid; `None` for another seal.
    pub(super) fn bytes_of(&self, id: EntryId) -> Option<Arc<[u8]>> {
        let known = self.own.iter().chain(&self.seals).find(|entry| entry.id == id);
        known.map(|entry| Arc::clone(&entry.bytes))
    }

    /// Seals the executed block.
    pub(super) fn sign(&self, executed: ExecutedBlock, seal: &Seal) -> Result<SealedBlock, SealError> {
        let mut proposal = executed.to_proposal();
        seal.sign(&mut proposal);
        seal_with(executed, &proposal, &Committees::fixed(self.session.task().committee.iter().copied()))
    }

    /// Keeps the first seal of the session as the proposal of this member. Returns the effects as they are.
    pub(super) fn note(&mut self, effects: Vec<Effect>) -> Vec<Effect> {
        for effect in &effects {
            if let (Effect::Sealed(seal), None) = (effect, &self.own) {
                let bytes = seal.encode();
                self.own = Some(Entry { id: self.seal_id(&bytes), bytes: bytes.into() });
            }
        }
        effects
    }
}
