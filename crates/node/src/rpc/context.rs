//! What is known at one head, and the answers that stay the same until the next.

use std::sync::{Arc, OnceLock};

use hyper::body::Bytes;
use silica_chain::{Chain, Snapshot};
use silica_protocol::{BlockNumber, ChainId, rpc::error::RpcError};

use super::method::METHODS;
use crate::reverts::{Reverts, Tip};

/// What a query is answered from. One is made for each head; a request takes one and keeps it.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) snapshot: Snapshot,
    pub(crate) chain_id: ChainId,
    /// How often the chain was taken back before.
    pub(crate) reverts: Arc<Reverts>,
    /// The answer of each row of the method table whose answer stays, once somebody asked.
    answers: Box<[OnceLock<Bytes>]>,
}

impl Context {
    /// Takes a snapshot of the chain.
    pub(crate) fn new(chain: &Chain, reverts: Arc<Reverts>) -> Self {
        let answers = METHODS.iter().map(|_| OnceLock::new()).collect();
        Self { snapshot: chain.snapshot(), chain_id: chain.config().chain_id, reverts, answers }
    }

    /// The latest Tx block, for those who follow the chain.
    pub(crate) fn tip(&self) -> Tip {
        Tip { number: self.head(), reverts: self.reverts.count() }
    }

    /// Number of the latest Tx block.
    pub(crate) fn head(&self) -> BlockNumber {
        self.snapshot.latest_tx_block().header.number
    }

    /// Returns the answer of the method at `position` of the table, which is computed by the first who asks.
    pub(super) fn per_head(
        &self,
        position: usize,
        render: fn(&Self) -> Result<Bytes, RpcError>,
    ) -> Result<&Bytes, RpcError> {
        let answer = self.answers.get(position).ok_or(RpcError::INTERNAL_ERROR)?;
        if let Some(answer) = answer.get() {
            return Ok(answer);
        }
        let rendered = render(self)?;
        Ok(answer.get_or_init(|| rendered))
    }
}
