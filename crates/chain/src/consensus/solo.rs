//! The engine of a committee with one member. The member proposes, signs and commits all blocks.

use std::sync::Arc;

use silica_crypto::KeyPair;
use silica_protocol::{PublicKey, Timestamp};

use super::{Application, Cause, Effect, Engine, EngineError, Input, MAX_DEMAND, seal_alone};
use crate::{
    edit::Edit,
    stage::{CommittedBlock, ExecutedBlock},
};

/// Maximum number of empty blocks that share one flush.
const GROUP: u32 = 64;

/// Minimum number of remaining blocks for which the engine requests an empty block range.
const RUN: u64 = 16;

/// Whether a written block changes the pool.
enum Written {
    Empty,
    WithTransactions,
}

/// The engine of a single node: the only member of the DS committee and of every shard.
#[derive(Debug)]
pub struct Solo {
    key: KeyPair,
}

impl Solo {
    /// Returns an engine that signs all blocks with `key`.
    pub fn new(key: KeyPair) -> Self {
        Self { key }
    }

    /// Returns the public key that verifies the signatures of this engine.
    pub fn public_key(&self) -> PublicKey {
        self.key.public_key()
    }

    /// Produces `blocks` blocks, empty or not. At most [`GROUP`] empty blocks share one flush. If at least [`RUN`]
    /// blocks remain and the pool has no candidates, the engine makes an empty block range.
    fn make_blocks(
        &self,
        blocks: u64,
        at: Timestamp,
        application: &mut dyn Application,
    ) -> Result<Vec<Effect>, EngineError> {
        let mut effects = Vec::new();
        let mut waiting = 0_u32;
        let (mut left, mut can_pass) = (blocks, true);
        while left > 0 {
            if can_pass && left >= RUN && !application.has_candidates() {
                effects.extend(application.flush()?.into_iter().map(Effect::Committed));
                waiting = 0;
                if let Some(passed) = application.pass(at, left)? {
                    let count = passed.end().get().saturating_sub(passed.start().get()).saturating_add(1);
                    left = left.saturating_sub(count);
                    effects.push(Effect::Passed(passed));
                    continue;
                }
                can_pass = false;
            }
            left = left.saturating_sub(1);
            let written = self.write_block(at, application);
            waiting = waiting.saturating_add(1);
            if waiting == GROUP || !matches!(written, Ok(Written::Empty)) {
                effects.extend(application.flush()?.into_iter().map(Effect::Committed));
                waiting = 0;
            }
            written?;
        }
        effects.extend(application.flush()?.into_iter().map(Effect::Committed));
        Ok(effects)
    }

    fn write_block(&self, at: Timestamp, application: &mut dyn Application) -> Result<Written, EngineError> {
        let block = application.propose(at, Cause::Demand)?;
        // A block with dropped transactions changes the pool too: its commit removes them, so that the next proposal
        // does not check them again.
        let changes_pool = !block.transactions().is_empty() || !block.dropped().is_empty();
        let written = if changes_pool { Written::WithTransactions } else { Written::Empty };
        application.write(seal_alone(block, &self.key)?)?;
        Ok(written)
    }

    /// Produces one block, empty or not.
    fn make_block(&self, at: Timestamp, application: &mut dyn Application) -> Result<Effect, EngineError> {
        let block = application.propose(at, Cause::Event)?;
        self.finish(block, application).map(Effect::Committed)
    }

    /// Produces blocks until no pending transaction can be executed.
    fn drain(&self, at: Timestamp, application: &mut dyn Application) -> Result<Vec<Effect>, EngineError> {
        let mut effects = Vec::new();
        while application.has_candidates() {
            let block = application.propose(at, Cause::Event)?;
            if block.transactions().is_empty() && !block.is_vacuous() {
                if block.dropped().is_empty() {
                    break;
                }
                // The proposal has removed the dropped transactions from the pool. The next proposal can contain other
                // transactions.
                effects.push(Effect::Dropped(block.dropped().to_vec()));
                continue;
            }
            effects.push(Effect::Committed(self.finish(block, application)?));
        }
        Ok(effects)
    }

    /// Produces the block of an edit. If a vacuous block is due, this function produces the vacuous block first.
    fn edit(&self, edit: &Edit, at: Timestamp, application: &mut dyn Application) -> Result<Vec<Effect>, EngineError> {
        let mut effects = Vec::new();
        loop {
            let block = application.propose_edit(at, edit)?;
            let is_other = block.is_vacuous();
            effects.push(Effect::Committed(self.finish(block, application)?));
            if !is_other {
                return Ok(effects);
            }
        }
    }

    fn finish(
        &self,
        block: ExecutedBlock,
        application: &mut dyn Application,
    ) -> Result<Arc<CommittedBlock>, EngineError> {
        let sealed = seal_alone(block, &self.key)?;
        Ok(application.commit(sealed)?)
    }
}

impl Engine for Solo {
    fn step(&mut self, input: Input, application: &mut dyn Application) -> Result<Vec<Effect>, EngineError> {
        match input {
            Input::Arrival(at) => self.drain(at, application),
            Input::Demand { blocks, .. } if blocks > MAX_DEMAND => {
                Err(EngineError::Demand { got: blocks, most: MAX_DEMAND })
            }
            Input::Demand { at, blocks } => self.make_blocks(blocks, at, application),
            Input::Edit { at, edit } => self.edit(&edit, at, application),
            // There is no other node that could send a message.
            Input::Message(_) => Ok(Vec::new()),
            Input::Tick(at) => Ok(vec![self.make_block(at, application)?]),
        }
    }
}
