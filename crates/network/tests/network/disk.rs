//! A chain whose disk can fail.

use std::{
    ops::RangeInclusive,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use silica_chain::{
    BuildError, CommitError, CommittedBlock, Edit, EditError, ExecutedBlock, InvalidBlock, PassError, Producer,
    Proposal, ProposeError, SealedBlock,
    consensus::{Application, Cause},
};
use silica_protocol::{BlockNumber, Timestamp, TxBlock};

/// A chain that executes no block of another member while its disk fails.
pub(crate) struct Disk {
    pub(crate) producer: Producer,
    pub(crate) fails: bool,
    /// Whether the next commit of a block panics.
    pub(crate) panics: Arc<AtomicBool>,
}

impl Application for Disk {
    fn head(&self) -> Arc<TxBlock> {
        self.producer.head()
    }

    fn propose(&mut self, at: Timestamp, cause: Cause) -> Result<ExecutedBlock, ProposeError> {
        self.producer.propose(at, cause)
    }

    fn propose_edit(&mut self, at: Timestamp, edit: &Edit) -> Result<ExecutedBlock, EditError> {
        self.producer.propose_edit(at, edit)
    }

    fn verify(&mut self, proposal: &Proposal) -> Result<ExecutedBlock, InvalidBlock> {
        if self.fails { Err(BuildError::Failed.into()) } else { self.producer.verify(proposal) }
    }

    fn commit(&mut self, block: SealedBlock) -> Result<Arc<CommittedBlock>, CommitError> {
        assert!(!self.panics.load(Ordering::Relaxed), "a block that ends the thread of the chain");
        self.producer.commit(block)
    }

    fn write(&mut self, block: SealedBlock) -> Result<(), CommitError> {
        self.producer.write(block)
    }

    fn flush(&mut self) -> Result<Vec<Arc<CommittedBlock>>, CommitError> {
        self.producer.flush()
    }

    fn pass(&mut self, at: Timestamp, blocks: u64) -> Result<Option<RangeInclusive<BlockNumber>>, PassError> {
        self.producer.pass(at, blocks)
    }

    fn has_candidates(&self) -> bool {
        self.producer.has_candidates()
    }
}
