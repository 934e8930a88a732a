//! The head that a request reads.

use std::sync::OnceLock;

use hyper::body::Bytes;
use silica_chain::{Chain, Snapshot};
use silica_protocol::{BlockNumber, ChainId, rpc::error::RpcError};

/// The chain at the head that a request reads. A request takes one context and keeps it until its response is complete.
///
/// Only the chain stores the published head. All contexts of one head share its cached results, which the
/// [snapshot](Snapshot::derived) keeps.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    /// The chain at this head.
    pub(crate) snapshot: Snapshot,
    /// The chain id of the network.
    pub(crate) chain_id: ChainId,
}

/// The results that stay the same until the next head, by the position of their method in the method table.
type CachedAnswers = Box<[OnceLock<Bytes>]>;

impl Context {
    /// Takes a snapshot of the chain at its latest head.
    pub(crate) fn new(chain: &Chain) -> Self {
        Self { snapshot: chain.snapshot(), chain_id: chain.config().chain_id }
    }

    /// Returns the number of the latest Tx block.
    pub(crate) fn head(&self) -> BlockNumber {
        self.snapshot.latest_tx_block().header.number
    }

    /// Returns the cached result of the method at `position` in a table of `slots` methods. The first call for a head
    /// computes the result with `render`.
    ///
    /// # Errors
    ///
    /// The error of `render`, which is not cached. [`RpcError::INTERNAL_ERROR`] if `position` is not below `slots`.
    pub(crate) fn per_head(
        &self,
        (position, slots): (usize, usize),
        render: fn(&Self) -> Result<Bytes, RpcError>,
    ) -> Result<&Bytes, RpcError> {
        let answers: Option<&CachedAnswers> = self.snapshot.derived(|| (0..slots).map(|_| OnceLock::new()).collect());
        let answer = answers.and_then(|answers| answers.get(position)).ok_or(RpcError::INTERNAL_ERROR)?;
        if let Some(answer) = answer.get() {
            return Ok(answer);
        }
        let rendered = render(self)?;
        Ok(answer.get_or_init(|| rendered))
    }
}
