//! Many consecutive Tx blocks in one response.

use schemars::JsonSchema;
use serde::Deserialize;
use silica_chain::Snapshot;
use silica_protocol::{BlockNumber, rpc::block::BlockWithTransactionsJson};
use silica_state::StateError;

use super::tx_block::{Bodies, BodiesText, shape, write_json};
use crate::{
    head::Context,
    http::Chunks,
    rpc::{
        CallError, ChunkedResult, Entry, RESULT_CHUNK, Streamed,
        params::{Text, options::Options},
    },
};

/// Rows of the method table for the methods in this file.
pub(super) const ENTRIES: &[Entry] = &[Entry::streamed::<GetBlocks>().of_weight(100)];

/// Maximum number of blocks of a request.
const MOST: u64 = 10_000;

/// Consecutive Tx blocks in one response, the oldest first. An extension of this node.
///
/// The result has one element for each block, also for blocks without transactions. An element is the result of
/// `GetTxBlock`. With the option `bodies` it also has the transactions of the block, as `GetTransaction` returns them.
/// A request has at most 10,000 blocks, and all of them must exist.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetBlocks {
    /// Number of the first block.
    from: Text<BlockNumber>,
    /// Number of the last block.
    to: Text<BlockNumber>,
    /// Parts of the blocks; optional.
    #[serde(default)]
    options: Options<BlocksOptions>,
}

/// Options for consecutive Tx blocks.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct BlocksOptions {
    /// Whether the blocks have their transactions with receipts. The default is false.
    bodies: Option<bool>,
}

impl Streamed for GetBlocks {
    const NAME: &'static str = "silica_getBlocks";
    type Output = Vec<BlockWithTransactionsJson>;

    fn begin(self, at: &Context) -> Result<ChunkedResult, CallError> {
        let (from, to) = (self.from.named("from")?, self.to.named("to")?);
        let BlocksOptions { bodies } = self.options.get()?;
        let head = at.head();
        if from > head {
            let problem = format!("expected a Tx block of the chain, up to {head}, got {from}");
            return Err(CallError::parameter("from", &problem));
        }
        if to < from || to > head {
            let problem = format!("expected a Tx block from {from} to {head}, got {to}");
            return Err(CallError::parameter("to", &problem));
        }
        let last = from.get().saturating_add(MOST - 1);
        if to.get() > last {
            let problem = format!("expected at most {MOST} blocks, which end at block {last}, got {to}");
            return Err(CallError::parameter("to", &problem));
        }
        let (snapshot, with_bodies) = (at.snapshot.clone(), bodies.unwrap_or(false));
        let text = BlocksText { snapshot, next: Some(from), last: to, with_bodies, before: b'[', bodies: None };
        Ok(ChunkedResult::begin(Self::NAME, text)?)
    }
}

/// JSON text with consecutive Tx blocks in an array.
struct BlocksText {
    snapshot: Snapshot,
    /// The next block; `None` after the last block.
    next: Option<BlockNumber>,
    last: BlockNumber,
    with_bodies: bool,
    /// The character before the next block.
    before: u8,
    /// The transactions of the block before `next` that the response does not have yet.
    bodies: Option<BodiesText>,
}

impl Chunks for BlocksText {
    type Error = StateError;

    fn next_chunk(&mut self, out: &mut Vec<u8>) -> Result<bool, StateError> {
        let end = out.len().saturating_add(RESULT_CHUNK);
        while out.len() < end {
            if let Some(bodies) = &mut self.bodies {
                if !bodies.next_chunk(out)? {
                    self.bodies = None;
                }
                continue;
            }
            let Some(number) = self.next else {
                out.push(b']');
                return Ok(false);
            };
            self.next = number.next().filter(|next| *next <= self.last);
            self.write_block(number, out)?;
        }
        Ok(true)
    }
}

impl BlocksText {
    /// Appends a block up to its first transaction.
    fn write_block(&mut self, number: BlockNumber, out: &mut Vec<u8>) -> Result<(), StateError> {
        /// The text after the last transaction of a block.
        const END: &str = "]}";
        let block = self.snapshot.tx_block(number)?.ok_or(StateError::Expired)?;
        out.push(std::mem::replace(&mut self.before, b','));
        let json = BlockWithTransactionsJson::new(shape(&block, &self.snapshot), self.with_bodies.then(Vec::new));
        write_json(out, "a block", &json)?;
        let positions = 0..block.header.tx_count;
        if self.with_bodies && !positions.is_empty() {
            // The transactions are the last member of a block.
            out.truncate(out.len().saturating_sub(END.len()));
            let bodies = Bodies { snapshot: self.snapshot.clone(), number, positions };
            self.bodies = Some(BodiesText { head: String::new(), bodies, tail: END.to_owned() });
        }
        Ok(())
    }
}
