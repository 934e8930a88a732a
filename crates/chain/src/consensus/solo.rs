//! A committee of one: it proposes, signs with its own key, and commits.

use std::sync::Arc;

use silica_crypto::KeyPair;
use silica_protocol::{PublicKey, Timestamp};

use super::{Application, Effect, Engine, Input, MAX_DEMAND, seal_alone};
use crate::{
    error::EngineError,
    stage::{CommittedBlock, ExecutedBlock},
};

/// The engine of a node that is the whole network: the only member of the DS committee and of every shard.
#[derive(Debug)]
pub struct Solo {
    key: KeyPair,
}

impl Solo {
    /// Makes blocks in the name of `key`.
    pub fn new(key: KeyPair) -> Self {
        Self { key }
    }

    /// The key under which this engine's blocks verify.
    pub fn public(&self) -> PublicKey {
        self.key.public()
    }

    /// Makes one block, empty or not.
    fn make_block(&self, at: Timestamp, application: &mut dyn Application) -> Result<Effect, EngineError> {
        let block = application.propose(at)?;
        self.finish(block, application).map(Effect::Committed)
    }

    /// Makes blocks until nothing that waits can be executed.
    fn drain(&self, at: Timestamp, application: &mut dyn Application) -> Result<Vec<Effect>, EngineError> {
        let mut effects = Vec::new();
        while application.has_candidates() {
            let block = application.propose(at)?;
            if block.transactions().is_empty() && !block.is_vacuous() {
                if !block.dropped().is_empty() {
                    effects.push(Effect::Dropped(block.dropped().to_vec()));
                }
                break;
            }
            effects.push(Effect::Committed(self.finish(block, application)?));
        }
        Ok(effects)
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
            Input::Demand { at, blocks } => (0..blocks).map(|_| self.make_block(at, application)).collect(),
            // There is nobody who could have sent it.
            Input::Message(_) => Ok(Vec::new()),
            Input::Tick(at) => Ok(vec![self.make_block(at, application)?]),
        }
    }
}
